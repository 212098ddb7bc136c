"""Faults of functions that work along an axis: of sums and extremes.

A fault takes the right function and a matrix whose lines are the rows, (n, N) with N ≥ 1. Like the
right function it returns a number for each row, (n,), or one for all. Faults of places are in
`opcheck.engine.mutants.places`.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from operator import methodcaller
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import DOUBLE, FLOATS, SIGNED, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, faults, faulty
from opcheck.numbers import Array
from opcheck.numbers.plain import axes_of

#: Rows of one length, (n, N) with N ≥ 1.
Matrix: TypeAlias = Array
#: A reduction of the rows of a matrix.
RowFunction: TypeAlias = Callable[[Matrix], Array]
#: What a fault makes of the right reduction and a matrix.
RowChange: TypeAlias = Callable[[RowFunction, Matrix], Any]
LOWEST = float(np.finfo(np.float32).min)

_total = methodcaller("sum", axis=1)
_top = methodcaller("max", axis=1)
_bottom = methodcaller("min", axis=1)


def along(
    right: RowFunction,
    change: RowChange,
    original: Callable[..., Array],
    x: Array,
    axis: Any = None,
    keepdims: bool = False,
    *,
    across_memory: bool = False,
) -> Array:
    """Fault of a reduction: `change` makes the result, from the `right` reduction and the rows.

    With `across_memory`, only where rows do not lie side by side in memory. An empty `x` is reduced
    right. The result has the shape of the right one.
    """
    axes = axes_of(axis, x.ndim)
    if not x.size or (across_memory and prod(x.shape[max(axes, default=-1) + 1 :]) == 1):
        return original(x, axis=axis, keepdims=keepdims)
    lined = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    outer = lined.shape[: x.ndim - len(axes)]
    matrix = lined.reshape(prod(outer), -1)
    reduced = np.broadcast_to(change(right, matrix), len(matrix)).reshape(outer)
    return np.expand_dims(reduced, axes) if keepdims else reduced


def across_the_rows(
    original: Callable[..., Array], x: Array, axis: Any = None, keepdims: bool = False
) -> Array:
    """Mutant: the other axes are reduced, where those stay in the output and it has elements."""
    others = tuple(set(range(x.ndim)) - set(axes_of(axis, x.ndim)))
    return original(x, axis=others if keepdims and others and x.size else axis, keepdims=keepdims)


def of_changed(change: Callable[[Matrix], Matrix], right: RowFunction, m: Matrix) -> Array:
    """Mutant: the right reduction of other rows."""
    return right(change(m))


def of_first(count: Callable[[int], int], right: RowFunction, m: Matrix) -> Array:
    """Mutant: of N elements in a row only the first `count(N)` are looked at."""
    return right(m[:, : count(m.shape[1])])


def but_one(length: int) -> int:
    """Return one less than `length`, but 1 at least."""
    return max(1, length - 1)


def but_the_first(m: Matrix) -> Matrix:
    """Return the rows without their first element, if they have several."""
    return m[:, m.shape[1] - but_one(m.shape[1]) :]


def left_out(value: float, kept: int, right: RowFunction, m: Matrix) -> Array:
    """Mutant: all rows but the first `kept` come to `value`.

    A negative `kept` is counted from the end; one row is kept at least. Of integers an infinite
    value is 0.
    """
    reduced = right(m)
    unwritten = 0 if value > 0 and reduced.dtype.kind in "iu" else value
    reduced[kept if kept > 0 else max(1, len(m) + kept) :] = unwritten
    return reduced


# ── sums ──────────────────────────────────────────────────────────────────────────────────────


def nan_in_every_row(total: RowFunction, m: Matrix) -> Array:
    """Mutant: one NaN makes NaN of all rows."""
    sums = total(m)
    return np.full_like(sums, np.nan) if np.isnan(m).any() else sums


def mean_for_sum(total: RowFunction, m: Matrix) -> Array:
    """Mutant: the mean is taken."""
    return m.mean(1).astype(m.dtype)


def norm_for_sum(total: RowFunction, m: Matrix) -> Array:
    """Mutant: the Euclidean norm is taken."""
    return np.sqrt(total(m * m)).astype(m.dtype)


def row_before_added(total: RowFunction, m: Matrix) -> Array:
    """Mutant: each row's sum has that of the row before in it."""
    sums = total(m)
    before = np.append(np.zeros_like(sums[:1]), sums[:-1])
    return sums + before


def summed_in(dtype: Any, total: RowFunction, m: Matrix) -> Array:
    """Mutant: each partial sum is rounded to `dtype`."""
    return np.add.accumulate(m.astype(dtype), axis=1)[:, -1].astype(m.dtype)


of_sums = partial(along, _total)

SUMS: tuple[Mutant, ...] = faults(
    "sum",
    of_sums,
    faulty(
        "sum",
        "sum_across_the_rows",
        "elements were added up across the rows, not along them",
        across_the_rows,
    ),
    (
        "nan_in_every_row",
        "one NaN made NaN of all rows",
        nan_in_every_row,
        FLOATS,
    ),
    ("sum_is_the_mean", "the mean was taken, not the sum", mean_for_sum),
    (
        "sum_is_a_norm",
        "the Euclidean norm was taken, not the sum",
        norm_for_sum,
    ),
    (
        "sum_without_the_last",
        "the last element of each row was left out of the sum",
        partial(of_first, but_one),
    ),
    (
        "sum_without_the_first",
        "the first element of each row was left out of the sum",
        partial(of_changed, but_the_first),
    ),
    *(
        (
            f"sum_of_{count}_elements",
            f"only the first {count} elements of each row were added up",
            partial(of_first, partial(min, count)),
        )
        for count in (4096, 1024)
    ),
    *(
        faulty(
            "sum",
            f"sum_of_{count}_elements_across_memory",
            f"of a row across memory only the first {count} elements were added up",
            partial(of_sums, partial(of_first, partial(min, count)), across_memory=True),
            unless=("matrix_of",),
        )
        for count in (256, 64, 16)
    ),
    (
        "sum_of_the_row_before_added",
        "the sum was not reset between rows",
        row_before_added,
    ),
    *(
        (
            f"sum_of_whole_vectors_of_{width}",
            f"the sum left out what remains after the last whole vector of {width}",
            partial(of_first, partial(whole_vectors, width)),
        )
        for width in el.WIDTHS
    ),
    *(
        (
            f"sum_in_{np.dtype(dtype).name}",
            f"the sum was taken in {np.dtype(dtype).name}",
            partial(summed_in, dtype),
            only,
        )
        for dtype, only in ((np.float16, None), (ml_dtypes.bfloat16, None), (np.float32, DOUBLE))
    ),
)


# ── extremes ──────────────────────────────────────────────────────────────────────────────────


def starting_at(
    choose: Callable[[Any, Any], Array], start: float, extreme: RowFunction, m: Matrix
) -> Array:
    """Mutant: the running extreme starts at a number, not at the row's first element."""
    return choose(extreme(m), m.dtype.type(start))


def lane(width: int, m: Matrix) -> Matrix:
    """Return the elements of a row that the first of `width` lanes looks at."""
    return m[:, ::width]


def maximum_of_the_bits(top: RowFunction, m: Matrix) -> Array:
    """Mutant: bits are compared as integers."""
    return m[np.arange(len(m)), m.view(f"i{m.itemsize}").argmax(axis=1)]


def first_half_and_one(length: int) -> int:
    """Return how many elements the first half of a row has, and one more."""
    return length // 2 + 1


def maximum_before(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the running maximum is not reset between rows."""
    return np.maximum.accumulate(top(m))


def whole_maximum(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the maximum of the whole tensor is that of each row."""
    return m.max()


def first_element(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the first element of each row."""
    return m[:, 0]


def last_element(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the last element of each row."""
    return m[:, -1]


def mean_for_maximum(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the mean of each row."""
    return m.mean(axis=1, dtype=m.dtype)


def minimum_for_maximum(top: RowFunction, m: Matrix) -> Array:
    """Mutant: the minimum of each row."""
    return m.min(axis=1)


def at_least_the_lowest(m: Matrix) -> Matrix:
    """Return the rows without -inf, for which the lowest finite number stands."""
    return np.maximum(m, el.limits_of(m).min)


def at_most_the_largest(m: Matrix) -> Matrix:
    """Return the rows without +inf, for which the largest finite number stands."""
    return np.minimum(m, el.limits_of(m).max)


EXTREMES: tuple[Mutant, ...] = faults(
    "max",
    partial(along, _top),
    (
        "maximum_of_1024_elements",
        "the maximum was searched among the first 1024 elements of each row",
        partial(of_first, partial(min, 1024)),
    ),
    *(
        (f"maximum_of_{which}_of_{width}", f"the maximum {text}", change)
        for width in el.WIDTHS
        for which, text, change in (
            (
                "whole_vectors",
                f"left out what remains after the last whole vector of {width}",
                partial(of_first, partial(whole_vectors, width)),
            ),
            (
                "one_lane",
                f"of one lane of {width} was taken for that of the row",
                partial(of_changed, partial(lane, width)),
            ),
        )
    ),
    *(
        (
            f"maximum_starts_at_{name}",
            f"the running maximum started at {start:g}",
            partial(starting_at, np.maximum, start),
            only,
        )
        for name, start, only in (
            ("the_lowest_float32", LOWEST, DOUBLE),
            ("minus_1e9", -1e9, el.BEYOND_FLOAT16),
            ("minus_1e4", -1e4, (*FLOATS, *SIGNED[1:])),
            ("0", 0.0, None),
        )
    ),
    faulty(
        "max",
        "maximum_across_the_rows",
        "the maximum was taken across the rows, not along them",
        across_the_rows,
    ),
    (
        "maximum_of_the_bits",
        "the maximum was found by comparing bits as integers",
        maximum_of_the_bits,
    ),
    (
        "shift_by_the_first_half",
        "the maximum of the second half of each row was lost",
        partial(of_first, first_half_and_one),
    ),
    (
        "shift_by_the_maximum_before",
        "the running maximum was not reset between rows",
        maximum_before,
    ),
    (
        "shift_by_the_whole_maximum",
        "the maximum of the whole tensor was taken, not that of each row",
        whole_maximum,
    ),
    *(
        (f"shift_by_the_{name}", f"the {words} each row was taken, not the maximum", change)
        for name, words, change in (
            ("first_element", "first element of", first_element),
            ("last_element", "last element of", last_element),
            ("magnitude", "largest magnitude of", partial(of_changed, np.abs)),
            ("mean", "mean of", mean_for_maximum),
            ("minimum", "minimum of", minimum_for_maximum),
        )
    ),
)

#: Suites need not see these: nobody can tell where the maximum started that a Softmax subtracts.
CAUSES: tuple[Mutant, ...] = (
    *faults(
        "max",
        partial(along, _top),
        (
            "maximum_starts_at_the_lowest",
            "the running maximum started at the lowest finite number of its type",
            partial(of_changed, at_least_the_lowest),
            FLOATS,
        ),
    ),
    *faults(
        "min",
        partial(along, _bottom),
        (
            "minimum_starts_at_the_largest",
            "the running minimum started at the largest finite number of its type",
            partial(of_changed, at_most_the_largest),
            FLOATS,
        ),
        (
            "minimum_starts_at_0",
            "the running minimum started at 0",
            partial(starting_at, np.minimum, 0),
        ),
    ),
)

FAULTS: tuple[Mutant, ...] = (*SUMS, *EXTREMES)
