"""Ten thousand tiny cases in one run: is the memory flat, and how many are there a second?

    python benchmarks/many_cases.py [CASES [JOBS]]

`opcheck run -b onnxruntime -j JOBS` on case files made for it, whose processes are looked at after
every tenth of the results; next to it a bare loop over the same models, which makes a session for
each and runs it once. opcheck runs each three times, and judges it. With two jobs or more, a run of
one job comes first. docs/scale.md has figures.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import psutil

from opcheck.execution.expected import question
from opcheck.graph import model_of
from opcheck.suite import load

ROOT = Path(__file__).parent.parent
AXES = (-1, 0)


def case_files(folder: Path, count: int) -> Path:
    """`count` cases of Hardmax on two axes, each with other numbers, in files of 10,000."""
    for first in range(0, count, 10_000):
        lines = ["op: Hardmax", "opset: 13", "dtype: float32", "clause: many", "cases:"]
        for number in range(first, min(first + 10_000, count)):
            lines += [
                f"- name: c{number}",
                f"  attrs: {{axis: {AXES[number % 2]}}}",
                f"  inputs: {{input: {{shape: [3, 5], permutation: [0, 1], seed: {number}}}}}",
            ]
        (folder / f"many-{first}.yaml").write_text("\n".join(lines))
    return folder


def mebibytes(process: psutil.Process) -> float:
    """Resident memory."""
    return float(process.memory_info().rss) / 2**20


def kind(process: psutil.Process, parent: psutil.Process) -> str:
    """What a process of a run does."""
    line = process.cmdline()
    if "worker" in " ".join(line):
        return "worker"
    return "judge" if line == parent.cmdline() else "guard"


def isolated(files: Path, count: int, jobs: int) -> float:
    """Cases a second of a whole run, counted from its first result; prints memory and bytes."""
    words = ["-m", "opcheck", "run", "-b", "onnxruntime", "--format", "json", "-j", str(jobs)]
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.Popen(
        [sys.executable, *words, files],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert run.stdout
    with run:
        size = len(run.stdout.readline())
        parent = psutil.Process(run.pid)
        for number in range(1, count + 1):
            size += len(run.stdout.readline())
            if number == 1:
                start = time.perf_counter()
                others = parent.children(recursive=True)
                kinds = [f"{kind(p, parent):>10}" for p in others]
                print(f"{'results':>8} {'parent':>10}", *kinds, " MiB")
            if number % (count // 10) == 0:
                print(f"{number:>8} {mebibytes(parent):>10.1f}", end="")
                print(*(f" {mebibytes(other):>9.1f}" for other in others), flush=True)
        took = time.perf_counter() - start
        size += len(run.stdout.read())
    whole = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"first result after {start - begin:.1f} s, end after {whole:.1f} s;", end=" ")
    print(f"{busy:.1f} s of processors, largest process {used.ru_maxrss / 1024:.0f} MiB;", end=" ")
    print(f"{size:,} bytes, {size / count:,.0f} a result", flush=True)
    return count / took


def bare(models: list[tuple[bytes, dict[str, Any]]]) -> float:
    """Cases a second of a loop that does nothing but make sessions and run them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    start = time.perf_counter()
    for model, feed in models:
        onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]).run(None, feed)
    return len(models) / (time.perf_counter() - start)


def main() -> None:
    """Measure and print both, and their ratio."""
    given = [int(word) for word in sys.argv[1:]]
    count, jobs = [*given, *(10_000, 1)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        files = case_files(Path(folder), count)
        asked = [question(case) for case in load([files])]
        models = []
        for one in asked:
            inputs = [np.array(array) for array in one.inputs]
            models.append((model_of(one.task).SerializeToString(), one.task.feed(inputs)))
        before = bare(models)
        rates = {each: isolated(files, count, each) for each in sorted({1, jobs})}
        after = bare(models)
    loop = (before + after) / 2
    for each, rate in rates.items():
        print(f"-j {each}: {rate:,.0f} cases/s, bare loop {loop:,.0f} cases/s: {rate / loop:.2f}")


if __name__ == "__main__":
    main()
