"""Ten thousand tiny cases in one run: is the memory flat, and how many are there a second?

    python benchmarks/many_cases.py [CASES]

`opcheck run -b onnxruntime` on a case file made for it, whose processes are looked at after every
tenth of the results; beside it a bare loop over the same models, which makes a session for each
and runs it once. opcheck runs each three times, and judges it.
"""

from __future__ import annotations

import os
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


def case_file(folder: Path, count: int) -> Path:
    """`count` cases of Hardmax on two axes, each with other numbers."""
    lines = ["op: Hardmax", "opset: 13", "dtype: float32", "clause: many", "cases:"]
    for number in range(count):
        lines += [
            f"- name: c{number}",
            f"  attrs: {{axis: {AXES[number % 2]}}}",
            f"  inputs: {{input: {{shape: [3, 5], permutation: [0, 1], seed: {number}}}}}",
        ]
    file = folder / "many.yaml"
    file.write_text("\n".join(lines))
    return file


def mebibytes(process: psutil.Process) -> float:
    """Resident memory."""
    return float(process.memory_info().rss) / 2**20


def isolated(file: Path, count: int) -> float:
    """Cases a second of a whole run, counted from its first result; prints its memory."""
    run = subprocess.Popen(
        [sys.executable, "-m", "opcheck", "run", "-b", "onnxruntime", "--format", "json", file],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert run.stdout
    with run:
        run.stdout.readline()
        parent = psutil.Process(run.pid)
        workers = [p for p in parent.children() if "worker" in " ".join(p.cmdline())]
        print(f"{'results':>8} {'parent':>10} {'worker':>10}  MiB")
        start = 0.0
        for number in range(1, count + 1):
            run.stdout.readline()
            start = start or time.perf_counter()
            if number % (count // 10) == 0 or number == 1:
                print(f"{number:>8} {mebibytes(parent):>10.1f}", end="")
                print(*(f" {mebibytes(worker):>10.1f}" for worker in workers), flush=True)
        took = time.perf_counter() - start
        run.stdout.read()
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
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        file = case_file(Path(folder), count)
        asked = [question(case) for case in load([file])]
        models = []
        for one in asked:
            inputs = [np.array(array) for array in one.inputs]
            models.append((model_of(one.task).SerializeToString(), one.task.feed(inputs)))
        before = bare(models)
        here = isolated(file, count)
        after = bare(models)
    loop = (before + after) / 2
    print(f"opcheck {here:,.0f} cases/s, bare loop {loop:,.0f} cases/s: {here / loop:.2f}")


if __name__ == "__main__":
    main()
