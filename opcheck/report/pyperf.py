"""A benchmark in pyperf's JSON, for `pyperf show`, `stats`, `hist` and `compare_to`.

Version 1.0 of that format, which pyperf describes by its classes Run, Benchmark and BenchmarkSuite
(https://pyperf.readthedocs.io/en/latest/api.html):

    {"version": "1.0", "metadata": {…}, "benchmarks": [
        {"metadata": {"name": "…", …}, "runs": [
            {"metadata": {"loops": 8, …}, "values": [seconds of a call, …]}, …]}, …]}

A run is one process. Metadata holds for everything below. Texts in it are one line and not empty;
values are above 0.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from opcheck.model.timing import Bench, Timed, Timing
from opcheck.report.plain_text import alike

_Value: TypeAlias = str | int | float


def text(bench: Bench, rows: Sequence[Timed]) -> str:
    """Every timing with samples, of which there is one, as `case [backend]`."""
    timed = [(row, timing) for row in rows for timing in row.timings if timing.samples]
    benchmarks = [_benchmark(bench, *pair) for pair in timed]
    suite = {"version": "1.0", "metadata": _environment(bench), "benchmarks": benchmarks}
    return json.dumps(suite, allow_nan=False, separators=(",", ":")) + "\n"


def _environment(bench: Bench) -> dict[str, _Value]:
    machine = bench.machine
    return _said(
        {
            # pyperf's own names; it warns about differences.
            "unit": "second",
            # Without the time zone, as pyperf writes it.
            "date": datetime.fromisoformat(bench.started).replace(tzinfo=None).isoformat(" "),
            "cpu_model_name": machine.processor,
            "cpu_count": machine.cores,
            "cpu_governor": machine.governor,
            "load_avg_1min": machine.load,
            "platform": machine.platform,
            "python_version": bench.python,
            "opcheck_version": bench.opcheck,
            "threads": bench.threads,
            "caches": "cold" if bench.cold else "warm",
            **{f"{name}_version": version for name, version in bench.packages.items()},
        }
    )


def _benchmark(bench: Bench, row: Timed, timing: Timing) -> dict[str, Any]:
    metadata: dict[str, _Value] = {
        "name": f"{row.case} [{timing.backend}]",
        "backend_version": bench.backends.get(timing.backend, ""),
        "operator": row.op,
        "dtype": row.dtype,
        "shapes": row.shapes,
        "bytes_moved": row.moved,
    }
    runs: list[dict[str, Any]] = []
    # One for each process and number of calls in a sample.
    by_run = alike(timing.samples, lambda sample: (sample.worker, sample.loops))
    for (worker, loops), samples in sorted(by_run.items(), key=lambda run: run[0]):
        about: dict[str, _Value] = {"loops": loops, "worker": worker}
        if worker < len(timing.prepared):
            about["prepare_seconds"] = timing.prepared[worker]
        runs.append({"metadata": about, "values": [sample.seconds for sample in samples]})
    return {"metadata": _said(metadata), "runs": runs}


def _said(metadata: Mapping[str, _Value]) -> dict[str, _Value]:
    """Remove empty texts, and write each in one line."""
    lines = {k: " ".join(v.split()) if isinstance(v, str) else v for k, v in metadata.items()}
    return {name: value for name, value in lines.items() if value != ""}
