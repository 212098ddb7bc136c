"""Wrong steps of Softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.model import Task
from tests.cases.softmax_by_steps import (
    Idea,
    Matrix,
    Rows,
    coerced,
    legal_axis,
    legal_dtype,
    maximum,
    rows_of,
    total_of,
    wide,
)
from tests.miniatures import Refused

# ── what a row is ─────────────────────────────────────────────────────────────────────────────


def as_version(since: int) -> Callable[[Task], Task]:
    return lambda task: replace(task, op=replace(task.op, since=since))


def by_default(axis: int) -> Callable[[Task], Task]:
    return lambda task: replace(task, attrs={"axis": axis, **task.attrs})


def asks(change: Callable[[Any], Any]) -> Callable[[Task], Task]:
    return lambda task: replace(task, attrs={name: change(v) for name, v in task.attrs.items()})


def another_axis(change: Callable[[int, int], int]) -> Idea:
    """Another axis of the same tensor: `change` takes the axis and the rank."""
    return Idea(rows=lambda task, shape, axis: rows_of(task, shape, change(axis, len(shape))))


def unchecked(axis: Callable[[int, int], int]) -> Idea:
    """What `axis` makes of an axis that is out of range, and of its rank."""

    def lenient(task: Task, rank: int) -> int:
        try:
            return legal_axis(task, rank)
        except Refused:
            stated: Any = task.attrs.get("axis", -1 if task.op.since >= 13 else 1)
            return axis(int(stated), max(rank, 1))

    return Idea(axis=lenient)


def minus_one_by_default(task: Task, rank: int) -> int:
    return legal_axis(task, rank) if task.attrs else rank - 1


def as_if_transposed(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    return rows_of(task, shape[::-1], axis)


def without_the_last(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    rows = rows_of(task, shape, axis)
    return rows[:-1] if len(rows) > 1 else rows


def never_along_the_first(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    """Of more than four dimensions, the first is taken for a batch."""
    return rows_of(task, shape, axis or 1 if len(shape) > 4 else axis)


def flattened_above_4(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    """More than four dimensions are taken for two."""
    return coerced(shape, axis) if len(shape) > 4 else rows_of(task, shape, axis)


def one_inner_element(task: Task, shape: tuple[int, ...], axis: int) -> Rows:
    """Neighbours in a row are taken to lie side by side in memory."""
    return np.sort(rows_of(task, shape, axis), axis=None).reshape(rows_of(task, shape, axis).shape)


# ── the numbers ───────────────────────────────────────────────────────────────────────────────


def through(dtype: Any) -> Callable[[Any], Any]:
    """The input's values as they are in a narrower type."""

    def narrowed(x: Any) -> Any:
        loses = ml_dtypes.finfo(x.dtype).nmant > ml_dtypes.finfo(dtype).nmant
        return wide(x.astype(dtype) if loses else x)

    return narrowed


def rounded_to_bits(values: Any, bits: int) -> Any:
    """To so many bits of significand."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits).astype(values.dtype)


def exp_good_to(bits: int) -> Callable[[Matrix], Matrix]:
    """An exponential whose relative error waves up and down, up to 2^-bits."""
    return lambda d: np.exp(d) * (1 + 2.0**-bits * np.cos(37 * np.maximum(d, -1e4))).astype(d.dtype)


def schraudolph(d: Matrix) -> Matrix:
    """e^d from the bits of a float: a straight line between the powers of two."""
    t = np.maximum(d / np.log(2), -1000)
    whole = np.floor(t)
    return np.where(np.isneginf(d), 0, np.ldexp(1 + t - whole, whole.astype(int))).astype(d.dtype)


def clamped(low: float) -> Callable[[Matrix], Matrix]:
    return lambda d: np.exp(np.maximum(d, low).astype(d.dtype))


def running_sum(dtype: Any) -> Callable[[Matrix], Matrix]:
    """Added up one after the other in `dtype`."""

    def added(e: Matrix) -> Matrix:
        total = np.zeros((len(e), 1), dtype)
        for column in range(e.shape[1]):
            total = (total + e[:, column : column + 1].astype(dtype)).astype(dtype)
        return total.astype(e.dtype)

    return added


def of_whole_vectors(width: int) -> Callable[[Matrix], Matrix]:
    """The sum leaves out what remains after the last whole vector."""
    return lambda e: total_of(e[:, : e.shape[1] // width * width or e.shape[1]])


def maximum_of_whole_vectors(width: int) -> Callable[[Matrix], Matrix]:
    """The maximum leaves out what remains after the last whole vector."""
    return lambda x: maximum(x[:, : x.shape[1] // width * width or x.shape[1]])


def maximum_of_one_lane(width: int) -> Callable[[Matrix], Matrix]:
    """The maxima of the other lanes are lost."""
    return lambda x: maximum(x[:, ::width])


def maximum_of_the_bits(x: Matrix) -> Matrix:
    """Numbers compared as integers: those below 0 come in the wrong order."""
    largest = x.view(f"i{x.dtype.itemsize}").argmax(axis=1)
    return np.take_along_axis(x, largest[:, np.newaxis], axis=1)


def padded_to(width: int) -> Callable[[Matrix], Matrix]:
    """The last vector is filled up with the last element."""
    return lambda e: total_of(e) + (-e.shape[1] % width) * e[:, -1:]


def truncated(y: Any, dtype: np.dtype[Any]) -> Any:
    """Towards zero instead of to the nearest."""
    near = y.astype(dtype)
    below = np.nextafter(near, np.zeros_like(near))
    return np.where(near.astype(y.dtype) > y, below, near)


def flushed(y: Any, dtype: np.dtype[Any]) -> Any:
    near = y.astype(dtype)
    return np.where(
        np.abs(near) < ml_dtypes.finfo(dtype).smallest_normal, np.zeros_like(near), near
    )


def each_share(change: Callable[[Matrix], Matrix]) -> Idea:
    """The right shares, changed afterwards."""
    return Idea(shares=lambda idea, matrix: change(idea.normalised(matrix)).astype(matrix.dtype))


def alternating(size: float) -> Idea:
    return each_share(lambda y: y * (1 + size * np.resize([1.0, -1.0], y.shape[1])))


def swallowing_nan(idea: Idea, matrix: Matrix) -> Matrix:
    """NaN itself stays, but neither the maximum nor the sum sees it."""
    e = np.exp(matrix - np.fmax.reduce(matrix, axis=1, keepdims=True))
    return e / np.nansum(e, axis=1, keepdims=True)


def nan_is_nothing(idea: Idea, matrix: Matrix) -> Matrix:
    """A NaN gets no share."""
    nan = np.isnan(matrix)
    rest = idea.normalised(np.where(nan, -np.inf, matrix).astype(matrix.dtype))
    return np.where(nan, 0, rest).astype(matrix.dtype)


def nan_everywhere(idea: Idea, matrix: Matrix) -> Matrix:
    """One NaN spoils the rows beside its own."""
    y = idea.normalised(matrix)
    return np.full_like(y, np.nan) if np.isnan(matrix).any() else y


def online(scaled: Callable[[Matrix, Matrix, Matrix], Matrix], careful: bool = True) -> Idea:
    """One pass for maximum and sum, in blocks of a row.

    `scaled` brings a sum from the old maximum to the new one. Unless `careful`, -inf is taken away
    from -inf before a number turns up.
    """

    def shares(idea: Idea, matrix: Matrix) -> Matrix:
        blocks = np.array_split(matrix, min(matrix.shape[1], 64), axis=1)
        top, total = np.full_like(matrix[:, :1], -np.inf), np.zeros_like(matrix[:, :1])
        for block in blocks:
            new = np.maximum(top, maximum(block))
            base = np.where(np.isneginf(new), 0, new) if careful else new
            total = scaled(total, top, base) + total_of(np.exp(block - base))
            top = new
        return np.exp(matrix - top) / total

    return Idea(shares=shares)


def rescaled(total: Matrix, old: Matrix, new: Matrix) -> Matrix:
    return total * np.exp(old - new)


def kept_from_the_row_before(x: Matrix) -> Matrix:
    """The maximum is not reset between rows."""
    return np.maximum.accumulate(maximum(x), axis=0)


def starting_at(start: float) -> Callable[[Matrix], Matrix]:
    """The running maximum starts at `start`."""
    return lambda x: np.maximum(maximum(x), np.array(start, np.float64).astype(x.dtype))


def stale(idea: Idea, matrix: Matrix) -> Matrix:
    """The sum of the row before is added to that of each row."""
    e = np.exp(matrix - maximum(matrix))
    s = total_of(e)
    return e / (s + np.concatenate([np.zeros_like(s[:1]), s[:-1]]))


def refuses(when: Callable[[Task, Any], bool]) -> Idea:
    def dtype(task: Task, x: Any) -> None:
        legal_dtype(task, x)
        if when(task, x):
            raise Refused("not this one")

    return Idea(dtype=dtype)


def log_softmax(idea: Idea, matrix: Matrix) -> Matrix:
    d = matrix - maximum(matrix)
    return d - np.log(total_of(np.exp(d)))


def log_sum_exp(idea: Idea, matrix: Matrix) -> Matrix:
    """The logarithm of the sum is added to the maximum before it is taken away."""
    top = maximum(matrix)
    return np.exp(matrix - (top + np.log(total_of(np.exp(matrix - top)))))


def nan_at_infinity(idea: Idea, matrix: Matrix) -> Matrix:
    """NaN where an element is +inf, and 0 beside it."""
    infinite: Any = np.isposinf(matrix)
    split = infinite.any(axis=1, keepdims=True) & ~np.isnan(matrix).any(axis=1, keepdims=True)
    y = np.where(split, np.where(infinite, np.nan, 0), idea.normalised(matrix))
    return y.astype(matrix.dtype)


def kept_in_the_type(idea: Idea, matrix: Matrix) -> Matrix:
    """The exponentials are stored in the tensor's type and read back."""
    d = wide(matrix)
    e = wide(np.exp(d - maximum(d)).astype(matrix.dtype))
    return e / total_of(e)


def log_of_the_sum(idea: Idea, matrix: Matrix) -> Matrix:
    d = matrix - maximum(matrix)
    return np.exp(d - np.log(total_of(np.exp(d))))
