"""Ten thousand tiny cases in one run: is the memory flat, and how many are there a second?

    python benchmarks/many_cases.py [CASES [JOBS]] [--quota CORES]

`opcheck run -b onnxruntime -j JOBS` on case files made for it, whose processes are looked at after
every tenth of the results; next to it a bare loop over the same models, which makes a session for
each and runs it once, and a loop that does the least that a verdict takes. With two jobs or more, a
run of one job comes first, on one core and on all: a job is two processes, one that judges and one
that is judged. docs/scale.md has figures.

`--quota 0.2` asks what a core for each process would give, on a machine that has fewer: from the
first result on, each process of a run is in a control group of its own, which Linux lets run a
fifth of the time; so are the two loops. It needs root. Two jobs are five processes, and so take one
core in all. It flatters: what takes the same time under any quota, such as to wake a process,
weighs a fifth of what it would, and no two cores want the same memory at once. It belittles: a
process often finds its caches used by others. So the ratios are estimates.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
#: Microseconds in which a quota is to be used. Linux takes no quota below 1,000, which is 0.2 of
#: this: a process that has used its own is soon at work again, and holds up few answers of others.
PERIOD = 5_000
#: Puts a process into a group of its own.
Hold = Callable[[int], None]


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


@contextmanager
def groups(quota: float | None) -> Iterator[Hold]:
    """Control groups that may use `quota` of a core each, or what they like; removed in the end."""
    if quota is None:
        yield lambda pid: None
        return
    cpu = Path("/sys/fs/cgroup/cpu")  # of version 1; version 2 has one folder for all
    root = cpu if cpu.is_dir() else cpu.parent
    used = str(int(quota * PERIOD))
    limits = {"cpu.cfs_period_us": str(PERIOD), "cpu.cfs_quota_us": used}
    limits = limits if root == cpu else {"cpu.max": f"{used} {PERIOD}"}
    lines = [one.split(":", 2) for one in Path("/proc/self/cgroup").read_text().splitlines()]
    home = next(path for _, names, path in lines if names == ("cpu" if root == cpu else ""))
    made: list[Path] = []

    def hold(pid: int) -> None:
        group = root / f"opcheck-{os.getpid()}-{len(made)}"
        try:
            group.mkdir()
            made.append(group)
            for name, text in limits.items():
                (group / name).write_text(text)
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            sys.exit(f"--quota needs root, and control groups with `cpu`: {error}")

    try:
        yield hold
    finally:
        for group in made:
            for pid in (group / "cgroup.procs").read_text().split():
                (root / home.strip("/") / "cgroup.procs").write_text(pid)
            group.rmdir()


def kind(process: psutil.Process, parent: psutil.Process) -> str:
    """What a process of a run does."""
    line = process.cmdline()
    if "worker" in " ".join(line):
        return "worker"
    return "judge" if line == parent.cmdline() else "guard"


def busy(process: psutil.Process) -> float:
    """Seconds of processors that a process has taken."""
    return sum(process.cpu_times()[:2])


def isolated(files: Path, count: int, jobs: int, cores: int, hold: Hold) -> float:
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
                each = [parent, *parent.children(recursive=True)]
                for one in each:
                    hold(one.pid)
                first = [*map(busy, each)]
                kinds = [f"{kind(p, parent):>10}" for p in each[1:]]
                print(f"{'results':>8} {'parent':>10}", *kinds, " MiB")
            if number % (count // 10) == 0:
                print(f"{number:>8}", *(f"{mebibytes(one):>10.1f}" for one in each), flush=True)
            if number == count // 10 * 9:  # of ten, for processes begin to end at the last
                taken = [1000 * (busy(p) - b) / number for p, b in zip(each, first, strict=True)]
        took = time.perf_counter() - start
        size += len(run.stdout.read())
    print(f"{'':>8}", *(f"{one:>10.3f}" for one in taken), f" ms a case, {sum(taken):.3f} in all")
    whole = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"first result after {start - begin:.1f} s, end after {whole:.1f} s;", end=" ")
    print(f"{seconds:.1f} s of processors,", end=" ")
    print(f"largest process {used.ru_maxrss / 1024:.0f} MiB;", end=" ")
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="?", type=int, default=10_000)
    parser.add_argument("jobs", nargs="?", type=int, default=1)
    parser.add_argument("--quota", type=float, help="of a core for each process")
    given = parser.parse_args()
    if given.quota is not None and not 0.2 <= given.quota <= 1:
        parser.error("--quota is from 0.2 to 1")
    count, jobs = given.cases, given.jobs
    with tempfile.TemporaryDirectory() as folder:
        files = case_files(Path(folder), count)
        models = []
        for one in map(question, load([files])):
            inputs = [np.array(array) for array in one.inputs]
            models.append((model_of(one.task).SerializeToString(), one.task.feed(inputs)))
        with groups(given.quota) as hold:
            hold(os.getpid())
            before, least = bare(models), plain(count)
        cores = len(os.sched_getaffinity(0))
        alone = {(1, 1)} if jobs > 1 and given.quota is None else set()
        asked = sorted(alone | {(1, cores), (jobs, cores)})
        rates = {}
        for each, on in asked:
            with groups(given.quota) as hold:
                rates[each, on] = isolated(files, count, each, on, hold)
        with groups(given.quota) as hold:
            hold(os.getpid())
            after = bare(models)
    loop = (before + after) / 2
    print(f"bare loop: {loop:,.0f} cases/s ({before:,.0f} before, {after:,.0f} after)")
    print(f"the least that asks as opcheck does: {least:,.0f} cases/s, {least / loop:.2f} of it")
    for (each, on), rate in rates.items():
        of = f"{rate / loop:.2f} of the bare loop, {rate / rates[asked[0]]:.2f} of the first run"
        print(f"-j {each}, cores {on}: {rate:,.0f} cases/s, {of}")


if __name__ == "__main__":
    main()
