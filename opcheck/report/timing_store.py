"""A benchmark in files: as JSON lines and in pyperf's JSON.

JSON lines are a header, a line for each case with all samples, and a footer. Without a footer, or
if its `complete` is false, the benchmark was cut short. Statistics are computed from the samples
when they are read.

pyperf's JSON is for `pyperf show`, `stats`, `hist` and `compare_to`: version 1.0 of that format,
which pyperf describes by its classes Run, Benchmark and BenchmarkSuite
(https://pyperf.readthedocs.io/en/latest/api.html):

    {"version": "1.0", "metadata": {…}, "benchmarks": [
        {"metadata": {"name": "…", …}, "runs": [
            {"metadata": {"loops": 8, …}, "values": [seconds of a call, …]}, …]}, …]}

A run is one process. Metadata holds for everything below. Texts in it are one line and not empty;
values are above 0.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from opcheck.grouping import group_by
from opcheck.model.timing import Bench, Machine, Sample, Timed, Timing
from opcheck.reading.validation import shown
from opcheck.report.files import write_text
from opcheck.report.store import Reading, line, stored

# Nothing takes less than a picosecond, or more than 30 years.
_Seconds = Annotated[float, Field(ge=1e-12, le=1e9)]
_Waited = Annotated[float, Field(ge=0, le=1e9)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]


def _samples(**columns: list[Any]) -> tuple[Sample, ...]:
    rounds = columns["round"]
    columns["waited"] = columns.get("waited") or [0.0] * len(rounds)
    if len({*map(len, columns.values())}) > 1:
        raise ValueError("the columns must be of equal length")
    if len(set(rounds)) < len(rounds):
        raise ValueError("a round must occur once")
    return tuple(map(Sample, *(columns[field.name] for field in dataclasses.fields(Sample))))


def _timed(**fields: Any) -> Timed:
    timed = Timed(**fields)
    if len({one.backend for one in timed.timings}) < len(timed.timings):
        raise ValueError("a backend must occur once")
    return timed


FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28


@dataclass(frozen=True)
class Stored:
    """A benchmark in a file; not `complete` if it was cut short."""

    bench: Bench
    rows: tuple[Timed, ...]
    complete: bool


def lines(bench: Bench, rows: Sequence[Timed], *, complete: bool) -> Iterator[str]:
    """The whole file, line by line; not `complete` if more will come."""
    yield line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})
    for row in rows:
        fields = vars(row) | {"copy": _columns(row.copy), "yardstick": _columns(row.yardstick)}
        fields["timings"] = [vars(one) | {"samples": _columns(one.samples)} for one in row.timings]
        yield line({"type": "timed", **fields})
    yield line({"type": "footer", "cases": len(rows), "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a whole file, or leave it as it was; raises Unwritable."""
    write_text(path, "".join(f"{one}\n" for one in lines(bench, rows, complete=complete)))


def read(path: Path) -> Stored:
    """The benchmark in a file; raises CaseFileError."""
    return _BenchReading(path).read()


_Line: TypeAlias = Timed | dict[str, Any]


class _BenchReading(Reading[Bench, _Line, Stored]):
    name = "benchmark"
    hint = "`opcheck bench --save FILE` writes one"
    format = FORMAT
    limit = longest = LIMIT

    @staticmethod
    @cache
    def types() -> Mapping[str, Any]:
        """Classes of the lines by type."""
        columns: dict[str, Any] = dict.fromkeys(("round", "worker"), list[_Count])
        columns |= {"loops": list[Annotated[_Count, Field(ge=1)]]}
        columns |= {"seconds": list[_Seconds], "waited": list[_Waited]}
        samples = stored(Sample, _samples, ["waited"], **columns)
        timing = stored(Timing, later=["printed"], prepared=tuple[_Waited, ...], samples=samples)
        row = {"type": Literal["timed"], "moved": _Count, "copy": samples, "yardstick": samples}
        row["timings"] = tuple[timing, ...]  # type: ignore[valid-type]
        machine = stored(Machine, cores=_Count, memory=_Count)
        bench = stored(Bench, later=["warm"], machine=machine, threads=_Count, workers=_Count)
        begin = {"type": Literal["bench"], "format": Literal[1], "bench": bench}
        return {
            "bench": stored(dict, lambda bench: bench, **begin),
            "timed": stored(Timed, _timed, ["sweep", "digest"], **row),
            "footer": stored(dict, type=Literal["footer"], cases=int, complete=bool),
        }

    def use(self, bench: Bench, lines: Iterator[tuple[int, _Line]]) -> Stored:
        """The benchmark of these lines."""
        rows: dict[str, Timed] = {}
        complete = False
        for number, fields in lines:
            if isinstance(fields, Timed):
                if fields.case in rows:
                    self.fail(number, f"the case {shown(fields.case)} occurs twice")
                rows[fields.case] = fields
                continue
            cases, complete = fields["cases"], fields["complete"]
            if cases != len(rows):
                message = f"the footer counts {cases:,} cases; there are {len(rows):,}"
                self.fail(number, message, "lines are missing, or were added")
        return Stored(bench, tuple(rows.values()), complete)


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {f.name: [getattr(one, f.name) for one in samples] for f in dataclasses.fields(Sample)}


def pyperf_text(bench: Bench, rows: Sequence[Timed]) -> str:
    """Every timing with samples, of which there is one, as `case [backend]`."""
    timed = [(row, timing) for row in rows for timing in row.timings if timing.samples]
    benchmarks = [_benchmark(bench, *pair) for pair in timed]
    machine = bench.machine
    metadata = {
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
    suite = {"version": "1.0", "metadata": _stated(metadata), "benchmarks": benchmarks}
    return json.dumps(suite, allow_nan=False, separators=(",", ":")) + "\n"


def _benchmark(bench: Bench, row: Timed, timing: Timing) -> dict[str, Any]:
    metadata = {
        "name": f"{row.case} [{timing.backend}]",
        "backend_version": bench.backends.get(timing.backend, ""),
        "operator": row.op,
        "dtype": row.dtype,
        "shapes": row.shapes,
        "bytes_moved": row.moved,
    }
    runs = []
    # One for each process and number of calls in a sample.
    by_run = group_by(timing.samples, lambda sample: (sample.worker, sample.loops))
    for worker, loops in sorted(by_run):
        about: dict[str, float] = {"loops": loops, "worker": worker}
        if worker < len(timing.prepared):
            about["prepare_seconds"] = timing.prepared[worker]
        values = [sample.seconds for sample in by_run[worker, loops]]
        runs.append({"metadata": about, "values": values})
    return {"metadata": _stated(metadata), "runs": runs}


def _stated(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Remove empty texts, and write each in one line."""
    lines = {k: " ".join(v.split()) if isinstance(v, str) else v for k, v in metadata.items()}
    return {name: value for name, value in lines.items() if value != ""}
