"""Processor time of a run with this checkout, in parts of that with another one.

    python benchmarks/processor_time.py FOLDER [SHARD]

FOLDER is another checkout with a `.venv`. Both judge onnxruntime by the same share of the suite
(7/16), one after the other, three times. The time is that of opcheck and of all processes that it
started, in user and in system mode; it includes the loading of the suite. A first round, not
counted, fills the caches. Level core need not have the same cases in both: the time for each result
is printed, too.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

ROUNDS = 3
HERE = Path(__file__).resolve().parent.parent


def measured(checkout: Path, shard: str) -> tuple[float, int]:
    """Return the processor time of a run in seconds, and how many results it has."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [".venv/bin/opcheck", "run", "-b", "onnxruntime", "-j", "1", "--shard", shard]
    # Reports go to standard output; which results are red does not matter here.
    run = subprocess.run(
        [*command, "--format", "json"],
        cwd=checkout,
        env={**os.environ, "OPCHECK_KEEP": "0"},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = sum(json.loads(line).get("type") == "result" for line in run.stdout.splitlines())
    user = after.ru_utime - before.ru_utime
    system = after.ru_stime - before.ru_stime
    return user + system, results


def main() -> None:
    """Print each round and the medians."""
    other = Path(sys.argv[1]).resolve()
    shard = sys.argv[2] if len(sys.argv) > 2 else "7/16"
    times: dict[Path, list[float]] = {HERE: [], other: []}
    for number in range(ROUNDS + 1):
        for checkout, of_checkout in times.items():
            seconds, results = measured(checkout, shard)
            each = 1000 * seconds / max(results, 1)
            print(f"{checkout}: {seconds:.1f} s, {results} results, {each:.2f} ms each", flush=True)
            if number:
                of_checkout.append(seconds)
    print(f"ratio of medians: {median(times[HERE]) / median(times[other]):.2f}")


if __name__ == "__main__":
    main()
