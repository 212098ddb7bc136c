"""Backends for tests of the command line, each right or wrong in one known way.

By their names they work in the process of the tests; `py:tests.cli.fakes:SLOW` and its like in
processes of their own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opcheck.backends.base import Backend
from opcheck.errors import BackendUnavailable, NotExpressible, NotSupported
from opcheck.model import Array, BackendInfo, Task

#: The environment variable with the name of a file that says that `slow` is at work.
RUNNING = "OPCHECK_TEST_RUNNING"
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


def axis_of(task: Task) -> int:
    axis = task.attrs.get("axis", -1)
    assert isinstance(axis, int)
    return axis


def right(task: Task, x: Array) -> list[Array]:
    """Hardmax-13 as the specification has it; a row with NaN gets no one."""
    axis = axis_of(task)
    if not -x.ndim <= axis < x.ndim:
        raise Refused(f"axis {axis} of a tensor of rank {x.ndim}")
    return [hardmax(x, axis)]


def last_of_ties(task: Task, x: Array) -> list[Array]:
    """Takes the last maximum, and any axis."""
    return [hardmax(x, axis_of(task) % x.ndim, last=True)]


def rude(task: Task, x: Array) -> list[Array]:
    raise RuntimeError(HOSTILE + "!" * 10_000_000)


def declines(task: Task, x: Array) -> list[Array]:
    raise NotSupported(HOSTILE + "!" * 10_000_000)


def claims(task: Task, x: Array) -> list[Array]:
    """Says of float32 what opcheck's own adapters say of a node that no ONNX model states."""
    raise NotExpressible("no ONNX model states this")


def falls_back(task: Task, x: Array) -> list[Array]:
    raise BackendUnavailable("asked for the NPU, got the CPU")


def but_for_opset_13(error: Exception) -> Callable[[Task, Array], Any]:
    """Right, but at opset 13 there is an error instead."""

    def run(task: Task, x: Array) -> list[Array]:
        if task.opset == 13:
            raise error
        return right(task, x)

    return run


def lacks_float32(task: Task, x: Array) -> list[Array]:
    raise NotSupported(f"no kernel for {x.dtype}")


def dies(task: Task, x: Array) -> list[Array]:
    """Right along axis 0, fatal along another."""
    if task.attrs["axis"] != 0:
        print("the last words", flush=True)
        os.abort()
    return right(task, x)


def greedy(task: Task, x: Array) -> list[Array]:
    """Right, with 600 MiB of memory along any axis but 0."""
    if task.attrs["axis"] != 0:
        np.ones(600 << 20, np.uint8)
    return right(task, x)


def slow(task: Task, x: Array) -> list[Array]:
    """Right, after 10 ms along axis 0, after 30 s along another."""
    print("running", file=sys.stderr)
    if file := os.environ.get(RUNNING):
        Path(file).touch()
    time.sleep(0.01 if axis_of(task) == 0 else 30)
    return right(task, x)


def unsteady(task: Task, x: Array) -> list[Array]:
    """Wrong: at once along axis 0, a moment later along another."""
    print("I beg your pardon")
    time.sleep(0.3 if axis_of(task) else 0)
    return [1 - right(task, x)[0]]


def refuses(task: Task, x: Array) -> list[Array]:
    raise Refused("no")


NARROW = Fake(lambda task, x: [right(task, x)[0].astype(np.float16)], "narrow")
RIGHT = Fake(right, "right")
LAST_OF_TIES = Fake(last_of_ties, "last_of_ties")
SLOW = Fake(slow, "slow")
UNSTEADY = Fake(unsteady, "unsteady")
DIES = Fake(dies, "dies")
GREEDY = Fake(greedy, "greedy")

FAKES: dict[str, Backend] = {
    fake.address: fake
    for fake in [
        RIGHT,
        LAST_OF_TIES,
        NARROW,
        Fake(lambda task, x: [right(task, x)[0].reshape(-1)], "flat"),
        Fake(lambda task, x: right(task, x) * 2, "twice"),
        Fake(lambda task, x: [np.zeros_like(x)], "zeros"),
        Fake(lambda task, x: [right(task, x)[0].tolist()], "lists"),
        Fake(refuses, "refuses"),
        Fake(rude, "rude"),
        Fake(declines, "declines"),
        Fake(lacks_float32, "lacks_float32"),
        Fake(claims, "claims"),
        Fake(but_for_opset_13(NotSupported("opset 13")), "declines_opset_13"),
        Fake(but_for_opset_13(Refused("opset 13")), "refuses_opset_13"),
        Fake(falls_back, "falls_back"),
    ]
}
