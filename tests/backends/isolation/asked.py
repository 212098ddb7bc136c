"""Cases for `faulty`, and pools that are asked them."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import psutil

from opcheck.backends.isolation.cleanup import SCRATCH
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.execution.expected import question
from opcheck.model import Case, LiveResult, Question, Reply
from opcheck.suite import load
from tests.inline import judge_all

FAULTY = "py:tests.backends.isolation.faulty:"
MEBI = 1 << 20


def case_file(folder: Path, names: Iterable[str]) -> Path:
    """A case file of Hardmax: each has another right answer than its neighbours."""
    lines = ["op: Hardmax", "opset: 13", "dtype: float32", "clause: largest", "cases:"]
    for number, name in enumerate(names):
        rows = [[float((number >> bit) & 1), 0.5, 0.25] for bit in range(8)]
        lines += [f"- name: {name}", "  attrs: {axis: -1}", f"  inputs: {{input: {rows}}}"]
        if name.endswith(("grows", "spike")):  # to touch much memory takes long on some machines
            lines.append("  timeout: 60")
    file = folder / "faults.yaml"
    file.write_text("\n".join(lines))
    return file


def cases_named(*names: str) -> tuple[Case, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return load([case_file(Path(folder), names)])


def questions(*names: str) -> list[Question]:
    return [question(case) for case in cases_named(*names)]


@contextmanager
def pool_of(backend: str, workers: int = 1, **settings: Any) -> Iterator[Pool]:
    """The pool of a backend in `faulty`, connected; its folder is empty afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(BackendSettings(f"{FAULTY}{backend}", Path(folder), **settings), workers)
        try:
            pool.connected()
            yield pool
        finally:
            pool.close()
            assert not list(Path(folder).iterdir())
            assert not processes_of(folder)


def answers(cases: Sequence[Case], pool: Pool) -> list[LiveResult]:
    return list(judge_all(cases, [pool]))


def replies(pool: Pool, questions: Iterable[Question]) -> list[Reply]:
    """All replies to `questions`, which are asked at once, in their order."""
    return wait_for(pool, [pool.ask(question) for question in questions])


def wait_for(pool: Pool, tickets: Sequence[int]) -> list[Reply]:
    found: dict[int, Reply] = {}
    end = time.monotonic() + 60
    while not found.keys() >= set(tickets):
        assert time.monotonic() < end, f"no reply to {set(tickets) - found.keys()}"
        look(pool, found)
    return [found[ticket] for ticket in tickets]


def look(pool: Pool, found: dict[int, Reply]) -> None:
    """Take the replies that are there, or come within a moment."""
    readable = wait(pool.connections, 0.02) if pool.connections else []
    for ticket, reply in pool.replies(readable):
        assert ticket not in found
        found[ticket] = reply


def process_of(pool: Pool) -> int:
    """The number of the process of a pool's first worker."""
    process = pool._slots[0].process
    assert process
    return process._popen.pid


def processes_of(folder: str | Path) -> list[psutil.Process]:
    """Everything alive whose scratch folder lies in `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            own = process.environ().get(SCRATCH, "")
        except (psutil.Error, OSError):
            continue
        if Path(folder) in Path(own).parents:
            found.append(process)
    return found
