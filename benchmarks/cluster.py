"""Two workers of a cluster against one, on tiny cases: how much faster are they, and what is kept?

    python benchmarks/cluster.py [CASES [ROUNDS]]

`opcheck run -b onnxruntime --cluster local:N`, in turns: one worker, with all else, on one core,
and two workers on two. A worker and its backend are two processes, so that one worker on two cores
is as fast as two. Prints seconds of the whole, and of judging, from the first result to the last;
the memory of the process that collects, at results 1 and 1000, each 10,000th, and the footer; and
whether results are equal but for their times. Last, the same of `-j 2` without a cluster.
docs/scale.md has figures.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.many_cases import ROOT, case_files, mebibytes, pinned


def run(files: Path, cores: int, *how: str) -> tuple[float, float, str, str]:
    """Seconds of the whole and of judging, the parent's memory, and a digest of the results."""
    words = ["-m", "opcheck", "run", "-b", "onnxruntime", "--format", "json"]
    begin, first, marks, digest = time.perf_counter(), 0.0, [], blake2b()
    with subprocess.Popen(
        [sys.executable, *words, *how, files],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        preexec_fn=pinned(cores),
    ) as process:
        assert process.stdout
        parent, number = psutil.Process(process.pid), 0
        for number, line in enumerate(process.stdout):
            record = json.loads(line)
            if "verdict" not in record:  # the header, and what ends a run
                marks += [f"{mebibytes(parent):.0f}"] * bool(number)
                continue
            first = first or time.perf_counter()
            last = time.perf_counter()
            if number in (1, 1000) or number % 10_000 == 0:
                marks.append(f"{mebibytes(parent):.0f}")
            timeless = {key: value for key, value in record.items() if "second" not in key}
            digest.update(json.dumps(timeless, sort_keys=True).encode())
    whole = time.perf_counter() - begin
    return whole, last - first, ", ".join(marks), digest.hexdigest()[:12]


def main() -> None:
    """Run both in turns, and print the ratios of their medians."""
    cases, rounds = ([int(word) for word in sys.argv[1:]] + [20_000, 2][len(sys.argv) - 1 :])[:2]
    found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        files = case_files(Path(folder), cases)
        for _ in range(rounds):
            for workers, times in found.items():
                how = "--cluster", f"local:{workers}"
                whole, judging, memory, digest = run(files, workers, *how)
                times.append((whole, judging))
                print(f"local:{workers} {whole:.1f} s, judging {judging:.1f} s, ", end="")
                print(f"parent {memory} MiB, results {digest}", flush=True)
        whole, judging, memory, digest = run(files, 2, "-j", "2")
        print(f"-j 2 {whole:.1f} s, judging {judging:.1f} s, parent {memory} MiB, results {digest}")
    for n, what in enumerate(("whole", "judging")):
        one, two = (statistics.median(each[n] for each in times) for times in found.values())
        print(f"{what}: two workers are {one / two:.2f} times as fast as one on one core")


if __name__ == "__main__":
    main()
