"""Backends that compute whole tensors from honest rows, for the shipped cases."""

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path

import numpy as np

from opcheck.model import AttrValue, Case, Computed, Task, Values
from opcheck.suite import load
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import honest
from tests.miniatures import Fake, Run

SUITE = Path(__file__).parents[3] / "cases" / "onnx" / "softmax.yaml"


@cache
def cases() -> tuple[Case, ...]:
    """The shipped cases that are judged by the bound."""
    return tuple(
        case
        for case in load([SUITE])
        if isinstance(case.expect, Computed | Values) and case.tolerance is None
    )


def by_rows(x: Array, since: int, axis: AttrValue | None) -> Array:
    """`x` as the matrix (n, N) of what Softmax since this version normalises together."""
    if axis is None:
        axis = 1 if since < 13 else -1
    assert isinstance(axis, int)
    if since < 13:
        front = axis + x.ndim if axis < 0 else axis
        return x.reshape(prod(x.shape[:front]), prod(x.shape[front:]))
    last = np.moveaxis(x, axis, -1)
    return last.reshape(prod(last.shape[:-1]), last.shape[-1])


def regular(rows: Array) -> Array:
    """Which rows have a finite maximum; the others are NaN throughout."""
    return np.isfinite(rows.astype(np.float64).max(axis=1, initial=-np.inf))


def backend(name: str) -> Fake:
    """A backend that computes every version of Softmax in the arithmetic called `name`."""

    def prepared(task: Task) -> Run:
        def run(inputs: Sequence[Array]) -> list[Array]:
            (x,) = inputs
            axis = task.attrs.get("axis")
            rows = by_rows(x, task.op.since, axis)
            # inf/inf, 0/0 and NaN make a whole row NaN.
            y = np.full_like(rows, np.nan)
            if rows.size:
                y[regular(rows)] = honest.answer(name, rows[regular(rows)])
            if task.op.since < 13:
                return [y.reshape(x.shape)]
            last = -1 if axis is None else axis
            assert isinstance(last, int)
            return [np.moveaxis(y.reshape(np.moveaxis(x, last, -1).shape), -1, last)]

        return run

    return Fake(prepared)
