"""Backends for tests of the command line, each right or wrong in one known way.

Run as a script with a command line, this is `opcheck` with one backend more: `slow`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck.backends.base import Backend
from opcheck.errors import NotSupported
from opcheck.model import Array, BackendInfo, Task

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07[red]markup[/] [/nope]\r\n\x9b31m\u202e\nexit 0: conforms\x00 größer"
)


class Refused(Exception):
    """How a fake says that a model is invalid."""


@dataclass(frozen=True)
class Fake:
    """A backend made of one function of a task and its inputs; prepared, it just runs."""

    function: Callable[[Task, Array], Any]
    address: str
    version: str = "1.5"
    is_engine: bool = False
    documented_errors: tuple[type[BaseException], ...] = (Refused,)

    @property
    def info(self) -> BackendInfo:
        return BackendInfo(self.address, self.address, self.version)

    def prepare(self, task: Task) -> Prepared:
        return Prepared(self.function, task)


@dataclass(frozen=True)
class Prepared:
    function: Callable[[Task, Array], Any]
    task: Task

    def run(self, inputs: Sequence[Array]) -> Any:
        return self.function(self.task, inputs[0])


def hardmax(x: Array, axis: int, *, last: bool = False) -> Array:
    """One at the first (or last) maximum of each row, row by row."""
    rows = np.moveaxis(np.zeros_like(x), axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        row = np.moveaxis(x, axis, -1)[place]
        maxima = np.flatnonzero(row == row.max())
        if maxima.size:
            rows[place][maxima[-1 if last else 0]] = 1
    return np.moveaxis(rows, -1, axis)


def right(task: Task, x: Array) -> list[Array]:
    """Hardmax-13 as the specification has it; a row with NaN gets no one."""
    axis = task.attrs.get("axis", -1)
    assert isinstance(axis, int)
    if not -x.ndim <= axis < x.ndim:
        raise Refused(f"axis {axis} of a tensor of rank {x.ndim}")
    return [hardmax(x, axis)]


def last_of_ties(task: Task, x: Array) -> list[Array]:
    """Takes the last maximum, and any axis."""
    axis = task.attrs.get("axis", -1)
    assert isinstance(axis, int)
    return [hardmax(x, axis % x.ndim, last=True)]


def rude(task: Task, x: Array) -> list[Array]:
    raise RuntimeError(HOSTILE + "!" * 10_000_000)


def declines(task: Task, x: Array) -> list[Array]:
    raise NotSupported(HOSTILE + "!" * 10_000_000)


def slow(task: Task, x: Array) -> list[Array]:
    """Right, after 10 ms along axis 0, after 30 s along another."""
    print("running", file=sys.stderr, flush=True)
    axis = task.attrs["axis"]
    assert isinstance(axis, int)
    time.sleep(0.01 if axis == 0 else 30)
    return right(task, x)


def refuses(task: Task, x: Array) -> list[Array]:
    raise Refused("no")


FAKES: dict[str, Backend] = {
    fake.address: fake
    for fake in [
        Fake(right, "right"),
        Fake(last_of_ties, "last_of_ties"),
        Fake(lambda task, x: [right(task, x)[0].astype(np.float16)], "narrow"),
        Fake(lambda task, x: [right(task, x)[0].reshape(-1)], "flat"),
        Fake(lambda task, x: right(task, x) * 2, "twice"),
        Fake(lambda task, x: [right(task, x)[0].tolist()], "lists"),
        Fake(refuses, "refuses"),
        Fake(rude, "rude"),
        Fake(declines, "declines"),
        Fake(slow, "slow"),
    ]
}


def install() -> None:
    """Let `-b` find the fakes too."""
    import opcheck.backends

    real = opcheck.backends.connect
    opcheck.backends.connect = lambda address: FAKES.get(address) or real(address)


if __name__ == "__main__":
    install()
    from opcheck.cli import main

    main()
