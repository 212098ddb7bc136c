"""The rows of the shipped cases, and backends that compute whole tensors from honest rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path

import numpy as np

from opcheck.model import AttrValue, Case, Computed, Task, Values
from opcheck.suite import load, materialize
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import honest
from tests.miniatures import Fake, Run

SUITE = Path(__file__).parents[3] / "cases" / "onnx" / "softmax.yaml"
LONGEST = 10_000
#: About how many elements of one case are tried.
SOME = 1000


@cache
def cases() -> tuple[Case, ...]:
    """The shipped cases that are judged by the bound."""
    return tuple(
        case
        for case in load([SUITE])
        if isinstance(case.expect, Computed | Values) and case.tolerance is None
    )


@cache
def rows_of_the_suite(dtype: str) -> dict[int, Array]:
    """The rows of these cases, by their length, each once, of large tensors only the first ones.

    Rows longer than `LONGEST` are left out, and those that are NaN by the formula.
    """
    found: dict[int, list[Array]] = {}
    for case in cases():
        (spec,) = case.inputs
        if spec.dtype.name != dtype or max(spec.shape, default=0) > LONGEST:
            continue
        rows = by_rows(materialize(spec), case.op.since, case.attrs.get("axis"))
        columns = rows.shape[1]
        if 0 < columns <= LONGEST:
            rows = rows[: max(1, SOME // columns)]
            found.setdefault(columns, []).append(rows[regular(rows)])
    each_once = ((columns, _each_once(np.concatenate(parts))) for columns, parts in found.items())
    return {columns: rows for columns, rows in each_once if len(rows)}


def _each_once(rows: Array) -> Array:
    _, first = np.unique(rows.astype(np.float64), axis=0, return_index=True)
    return rows[np.sort(first)]


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
