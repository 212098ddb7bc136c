"""A run that is killed at half and goes on: is its stream that of one that ran through?

    python benchmarks/resuming.py [CASES]

`opcheck run` on a case file made for it, of which every tenth case has ties, with a backend that
takes the last of equal maxima. One run gets to its end; another is killed (SIGKILL, so that nothing
is told to it) when half of its results are written, and resumed. Prints the first line that
differs in anything but times, and exits with 1 if there is one; and how long each took, as parts of
the run that got to its end.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BACKEND = "py:tests.cli.fakes:LAST_OF_TIES"


def case_file(folder: Path, count: int) -> Path:
    """`count` cases of Hardmax, each with other numbers."""
    lines = ["op: Hardmax", "opset: 13", "dtype: float32", "clause: many", "cases:"]
    for number in range(count):
        values = "choice: [1, 2]" if number % 10 == 0 else "permutation: [0, 1]"
        lines += [
            f"- name: c{number}",
            f"  attrs: {{axis: {number % 2}}}",
            f"  inputs: {{input: {{shape: [3, 5], {values}, seed: {number}}}}}",
        ]
    file = folder / "many.yaml"
    file.write_text("\n".join(lines))
    return file


def start(file: Path, *words: str) -> subprocess.Popen[bytes]:
    """A run of the cases."""
    return subprocess.Popen(
        [sys.executable, "-m", "opcheck", "run", "-q", "-b", BACKEND, file.name, *words],
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_at(process: subprocess.Popen[bytes], stream: Path, lines: int) -> None:
    """Kill a run as soon as so many lines are written, maybe in the midst of the next."""
    while not stream.exists() or stream.read_bytes().count(b"\n") < lines:
        if process.poll() is not None:
            raise SystemExit("it came to its end before it was killed")
        time.sleep(0.05)
    process.kill()
    process.wait()


def without_times(stream: Path) -> Iterator[dict[str, object]]:
    """The lines of a stored run, but for what cannot be the same twice."""
    with stream.open(encoding="utf-8") as file:
        for line in file:
            fields = json.loads(line)
            yield {key: item for key, item in fields.items() if key not in ("seconds", "started")}


def main(count: int) -> None:
    """Print what differs, and how long it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, whole, part = case_file(folder, count), folder / "whole.jsonl", folder / "part.jsonl"
        moments = [time.perf_counter()]
        start(file, "--report", f"json={whole.name}").wait()
        moments.append(time.perf_counter())
        kill_at(start(file, "--report", f"json={part.name}"), part, count // 2)
        moments.append(time.perf_counter())
        there = part.read_bytes().count(b"\n") - 1
        start(file, "--resume", part.name).wait()
        moments.append(time.perf_counter())
        through, before, after = (later - one for one, later in itertools.pairwise(moments))
        print(f"{count:,} cases: killed with {there:,} results, then resumed")
        print(
            f"of the whole run's time: {before / through:.2f} before, {after / through:.2f} after"
        )
        pairs = itertools.zip_longest(without_times(whole), without_times(part))
        for number, (one, other) in enumerate(pairs, 1):
            if one != other:
                print(f"line {number} differs:\n{json.dumps(one)}\n{json.dumps(other)}")
                raise SystemExit(1)
        print(f"{number:,} lines are the same, but for times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
