"""Softmax in steps, each of which can be taken wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from opcheck.model import Task
from tests import brute
from tests.miniatures import Fake, Refused, of_operand

#: Places in the flat tensor, as many in every row.
Rows: TypeAlias = Any
#: The numbers in those places, in the type that is computed in.
Matrix: TypeAlias = Any


def legal_axis(task: Task, rank: int) -> int:
    axis: Any = task.attrs.get("axis", -1 if task.op.since >= 13 else 1)
    if not (0 if task.op.since == 1 else -rank) <= axis < rank:
        raise Refused(f"axis {axis} of rank {rank}")
    return int(axis % rank)


def legal_dtype(task: Task, x: Any) -> None:
    names = {"float16", "float32", "float64"} | ({"bfloat16"} if task.op.since >= 13 else set())
    if x.dtype.name not in names:
        raise Refused(f"input of type {x.dtype}")


@cache
def along(shape: tuple[int, ...], axis: int) -> Rows:
    return np.array(brute.along(shape, [axis]), np.intp)


@cache
def coerced(shape: tuple[int, ...], axis: int) -> Rows:
    return np.array(brute.coerced(shape, axis), np.intp)


def rows_of(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    return along(shape, axis) if task.op.since >= 13 else coerced(shape, axis)


def wide(x: Any) -> Any:
    """In the type that is computed in."""
    return x if x.dtype == np.float64 else x.astype(np.float32)


def exponential(d: Matrix) -> Matrix:
    return np.exp(d)


def maximum(x: Matrix) -> Matrix:
    return x.max(axis=1, keepdims=True)


def total_of(e: Matrix) -> Matrix:
    return e.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Idea:
    """What is done at each step of Softmax; the defaults are right.

    `task` changes what is asked, `axis` and `dtype` say what is legal, `rows` are normalised apart,
    `wide` makes the numbers computed with. In each row, `shift` is taken away, `exp` is taken of
    the rest and divided by its `sum`, unless `shares` does it all; `narrow` makes numbers of the
    output's dtype, and `output` is what is returned.
    """

    task: Callable[[Task], Task] = lambda task: task
    axis: Callable[[Task, int], int] = legal_axis
    dtype: Callable[[Task, Any], None] = legal_dtype
    rows: Callable[[Task, tuple[int, ...], int], Rows] = rows_of
    wide: Callable[[Any], Any] = wide
    shift: Callable[[Matrix], Matrix] = maximum
    exp: Callable[[Matrix], Matrix] = exponential
    sum: Callable[[Matrix], Matrix] = total_of
    shares: Callable[[Idea, Matrix], Matrix] | None = None
    narrow: Callable[[Any, np.dtype[Any]], Any] = lambda y, dtype: y.astype(dtype)
    output: Callable[[Any], Any] = lambda out: [out]

    def run(self, task: Task, x: Any) -> Any:
        # A warning of NumPy's would be another mistake than the one meant.
        with np.errstate(all="ignore"):
            return self._run(self.task(task), x)

    def _run(self, task: Task, x: Any) -> Any:
        self.dtype(task, x)
        axis = self.axis(task, x.ndim)
        out = np.zeros(x.size, x.dtype)
        places = np.asarray(self.rows(task, x.shape, axis), np.intp)
        if places.size:
            matrix = self.wide(x).reshape(-1)[places]
            made = self.shares(self, matrix) if self.shares else self.normalised(matrix)
            out[places] = self.narrow(made, x.dtype)
        return self.output(out.reshape(x.shape))

    def normalised(self, matrix: Matrix) -> Matrix:
        """Exp(x - shift) / sum."""
        e = self.exp(matrix - self.shift(matrix))
        return e / self.sum(e)


def softmax(idea: Idea) -> Fake:
    """A backend that has this idea of Softmax."""
    return Fake(of_operand(idea.run))
