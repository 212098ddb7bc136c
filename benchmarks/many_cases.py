"""Ten thousand tiny cases in one run: is the memory flat, and how many are there a second?

    python benchmarks/many_cases.py [CASES [JOBS]]

`opcheck run -b onnxruntime -j JOBS` on case files made for it, whose processes are looked at after
every tenth of the results; next to it a bare loop over the same models, which makes a session for
each and runs it once, and a loop that does the least that a verdict takes. With two jobs or more, a
run of one job comes first, on one core and on all: a job is two processes, one that judges and one
that is judged. docs/scale.md has figures.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import psutil
from onnx import helper

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


def pinned(count: int) -> Callable[[], None]:
    """What a process calls to keep to the first so many of the cores that there are."""
    return partial(os.sched_setaffinity, 0, sorted(os.sched_getaffinity(0))[:count])


def kind(process: psutil.Process, parent: psutil.Process) -> str:
    """What a process of a run does."""
    line = process.cmdline()
    if "worker" in " ".join(line):
        return "worker"
    return "judge" if line == parent.cmdline() else "guard"


def isolated(files: Path, count: int, jobs: int, cores: int) -> float:
    """Cases a second of a whole run on `cores`, from its first result; prints memory and bytes."""
    words = ["-m", "opcheck", "run", "-b", "onnxruntime", "--format", "json", "-j", str(jobs)]
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.Popen(
        [sys.executable, *words, files],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        preexec_fn=pinned(cores),
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


def session_of(model: bytes) -> Any:
    """A session as the adapter makes it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def bare(models: list[tuple[bytes, dict[str, Any]]]) -> float:
    """Cases a second of a loop that does nothing but make sessions and run them."""
    start = time.perf_counter()
    for model, feed in models:
        session_of(model).run(None, feed)
    return len(models) / (time.perf_counter() - start)


def plain(count: int) -> float:
    """Cases a second of the least that asks as opcheck does: in one process, and judged unseen.

    It makes the data and the model, runs it three times, computes each answer, compares, and makes
    a line of JSON. There are no guards, bounds or records.
    """
    start = time.perf_counter()
    for number in range(count):
        axis = AXES[number % 2]
        x = np.argsort(np.random.PCG64(number).random_raw(15)).astype(np.float32).reshape(3, 5)
        data = x, np.ascontiguousarray(x[::-1, ::-1]), x
        node = helper.make_node("Hardmax", ["input"], ["output"], axis=axis)
        ports = [helper.make_tensor_value_info("input", 1, [3, 5])]
        outputs = [helper.make_tensor_value_info("output", 1, [None, None])]
        graph = helper.make_graph([node], "graph", ports, outputs)
        opset = [helper.make_opsetid("", 13)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=7).SerializeToString()
        session = session_of(model)
        answers = [session.run(None, {"input": each})[0] for each in data]
        wants = [(each == each.max(axis, keepdims=True)).astype(np.float32) for each in data]
        right = [a.tobytes() == want.tobytes() for a, want in zip(answers, wants, strict=True)]
        json.dumps({"case": f"Hardmax/c{number}", "verdict": "pass" if all(right) else "fail"})
    return count / (time.perf_counter() - start)


def main() -> None:
    """Measure and print all, and their ratios."""
    given = [int(word) for word in sys.argv[1:]]
    count, jobs = [*given, *(10_000, 1)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        files = case_files(Path(folder), count)
        models = []
        for one in map(question, load([files])):
            inputs = [np.array(array) for array in one.inputs]
            models.append((model_of(one.task).SerializeToString(), one.task.feed(inputs)))
        before, least = bare(models), plain(count)
        cores = len(os.sched_getaffinity(0))
        asked = sorted({(1, 1), (1, cores), (jobs, cores)} if jobs > 1 else {(1, cores)})
        rates = {each: isolated(files, count, *each) for each in asked}
        after = bare(models)
    loop = (before + after) / 2
    print(f"bare loop: {loop:,.0f} cases/s")
    print(f"the least that asks as opcheck does: {least:,.0f} cases/s, {least / loop:.2f} of it")
    for (each, on), rate in rates.items():
        of = f"{rate / loop:.2f} of the bare loop, {rate / rates[asked[0]]:.2f} of the first run"
        print(f"-j {each}, cores {on}: {rate:,.0f} cases/s, {of}")


if __name__ == "__main__":
    main()
