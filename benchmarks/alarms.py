"""How often the gate of `opcheck bench` is wrong: about a build that is as before, or slower.

    python benchmarks/alarms.py FOLDER [--runs 50] [--slower 10] [-k WORDS]

Two builds are one module, FOLDER/build.py, that lets opcheck's engine compute and then spins for so
many per cent of the time that took: none, or as many as asked for. They are timed in turns, each
run started separately, with `opcheck bench --save`, and held against the run of the unchanged build
before it with `opcheck bench --compare`. What counts is the exit code: 3 closes the gate. Beside it
stands in how many runs any row was called slower or faster at all.

Runs are kept in FOLDER, and those that are there already are not made again, but compared again, by
the rules of today. A hundred take half an hour to two hours.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from opcheck.report.timings import read
from opcheck.timing import compare_runs

ROOT = Path(__file__).parent.parent
BUILD = """\
import time

from opcheck.backends.connect import connect

EXTRA = {extra}


class Build:
    version = "1"

    def __init__(self):
        self.engine = connect("numpy")

    def prepare(self, task):
        return Run(self.engine.prepare(task))


class Run:
    def __init__(self, task):
        self.task = task

    def run(self, inputs):
        start = time.process_time()
        outputs = self.task.run(inputs)
        end = time.process_time()
        end += EXTRA * (end - start)
        while time.process_time() < end:
            pass
        return outputs
"""
#: From some µs to some ms a call, in caches and beyond them.
ROWS = "small or classes or short_rows or one_long_row or kernel_3_stride_2 or kernel_2 or global"
CLOSED = 3


def bench(folder: Path, log: str, *words: str) -> int:
    """The exit code of `opcheck bench`, whose output is kept in a file."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "opcheck", "bench", *words]
    with (folder / log).open("w") as out:
        code = subprocess.run(
            command, cwd=folder, env=environment, stdout=out, stderr=out, check=False
        ).returncode
    if code not in (0, CLOSED):
        sys.exit(f"exit code {code}, see {folder / log}")
    return code


def timed(folder: Path, name: str, extra: float, words: str) -> None:
    """A run of the build that is slower by `extra`, kept under this name."""
    if (folder / f"{name}.jsonl").exists():
        return
    (folder / "build.py").write_text(BUILD.format(extra=extra))
    bench(folder, f"{name}.txt", "-b", "py:build:Build", "-k", words, "--save", f"{name}.part")
    (folder / f"{name}.part").replace(folder / f"{name}.jsonl")


def closes(folder: Path, old: str, new: str) -> bool:
    """Whether the gate closes."""
    log, files = f"{new}.compared.txt", (f"{old}.jsonl", f"{new}.jsonl")
    return bench(folder, log, "--compare", *files) == CLOSED


def called(folder: Path, old: str, new: str) -> Counter[str]:
    """How many rows are called slower, faster, the same and unclear."""
    before, after = (read(folder / f"{name}.jsonl").rows for name in (old, new))
    return Counter(change.verdict for change in compare_runs(before, after).changes)


def main() -> None:
    """Time and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--slower", type=float, default=10.0, help="in per cent")
    parser.add_argument("-k", dest="words", default=ROWS)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    before = "same_0"
    timed(asked.folder, before, 0.0, asked.words)
    closed: dict[str, list[int]] = {"same": [], "slower": []}
    rows: dict[str, Counter[str]] = {"same": Counter(), "slower": Counter()}
    moved = 0
    for number in range(1, asked.runs + 1):
        for build, extra in (("slower", asked.slower / 100), ("same", 0.0)):
            name = f"{build}_{number}"
            timed(asked.folder, name, extra, asked.words)
            closed[build].append(closes(asked.folder, before, name))
            found = called(asked.folder, before, name)
            rows[build] += found
            moved += build == "same" and bool(found["slower"] or found["faster"])
        before = f"same_{number}"
        print(
            f"after {number}: as before: gate closed {sum(closed['same'])}×, any row called slower"
            f" or faster in {moved}; slower by {asked.slower:g} %: gate closed"
            f" {sum(closed['slower'])}×",
            flush=True,
        )
    for build, counts in rows.items():
        told = ", ".join(f"{100 * n / counts.total():.1f} % {word}" for word, n in counts.items())
        print(f"rows of the build {build}: {told}")


if __name__ == "__main__":
    main()
