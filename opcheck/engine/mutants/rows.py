"""Faults of functions that work along an axis: of sums, extremes, and their places.

A fault takes the right function and a matrix whose lines are the rows, (n, N) with N ≥ 1. Like the
right function it returns a number for each row, (n,), or one for all; of `top_k`, places (n, k).
"""

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from operator import methodcaller
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import BELOW_0, DOUBLE, FLOATS, SIGNED, UNSIGNED, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, faults, faulty
from opcheck.numbers import plain
from opcheck.numbers.bounded.reductions import axes_of

Matrix: TypeAlias = Any
#: A reduction of the rows of a matrix.
RowFunction: TypeAlias = Callable[[Matrix], Any]
#: What a fault makes of the right reduction and a matrix.
RowChange: TypeAlias = Callable[[RowFunction, Matrix], Any]
#: Elements of blocks and lanes, down to a pair.
GROUPS = (256, 128, 64, 32, 16, 8, 4, 2)
LOWEST = float(np.finfo(np.float32).min)
_first = methodcaller("argmax", axis=1)


def _along(
    right: RowFunction,
    change: RowChange,
    original: Any,
    x: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    across_memory: bool = False,
) -> Any:
    """The fault of a reduction; where rows lie across memory only, if that is asked for."""
    axes = axes_of(axis, x.ndim)
    if not x.size or (across_memory and prod(x.shape[max(axes, default=-1) + 1 :]) == 1):
        return original(x, axis=axis, keepdims=keepdims)
    lined = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    outer = lined.shape[: x.ndim - len(axes)]
    matrix = lined.reshape(prod(outer), -1)
    found = np.broadcast_to(change(right, matrix), len(matrix)).reshape(outer)
    return np.expand_dims(found, axes) if keepdims else found


def _across(original: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    others = tuple(set(range(x.ndim)) - set(axes_of(axis, x.ndim)))
    return original(x, axis=others if keepdims and others and x.size else axis, keepdims=keepdims)


def _of(change: Callable[[Matrix], Matrix]) -> RowChange:
    return lambda right, m: right(change(m))


def _of_first(count: Callable[[int], int]) -> RowChange:
    return _of(lambda m: m[:, : count(m.shape[1])])


def _but_one(length: int) -> int:
    return max(1, length - 1)


def _but_the_first(m: Matrix) -> Matrix:
    return m[:, m.shape[1] - _but_one(m.shape[1]) :]


def _left_out(value: float, kept: int, right: RowFunction, m: Matrix) -> Any:
    """All rows but the first `kept` come to `value`; counted from the end, one is kept at least."""
    found = right(m)
    left = 0 if value > 0 and found.dtype.kind in "iu" else value
    found[kept if kept > 0 else max(1, len(m) + kept) :] = left
    return found


_sum = partial(_along, methodcaller("sum", axis=1))

SUMS: tuple[Mutant, ...] = faults(
    "sum",
    _sum,
    faulty(
        "sum",
        "sum_across_the_rows",
        "elements were added up across the rows, not along them",
        _across,
    ),
    (
        "nan_in_every_row",
        "one NaN made NaN of all rows",
        lambda total, m: np.full_like(total(m), np.nan) if np.isnan(m).any() else total(m),
        FLOATS,
    ),
    ("sum_is_the_mean", "the mean was taken, not the sum", lambda _, m: m.mean(1).astype(m.dtype)),
    (
        "sum_is_a_norm",
        "the Euclidean norm was taken, not the sum",
        lambda total, m: np.sqrt(total(m * m)).astype(m.dtype),
    ),
    (
        "sum_without_the_last",
        "the last element of each row was left out of the sum",
        _of_first(_but_one),
    ),
    (
        "sum_without_the_first",
        "the first element of each row was left out of the sum",
        _of(_but_the_first),
    ),
    *(
        (
            f"sum_of_{count}_elements",
            f"only the first {count} elements of each row were added up",
            _of_first(partial(min, count)),
        )
        for count in (4096, 1024)
    ),
    *(
        faulty(
            "sum",
            f"sum_of_{count}_elements_across_memory",
            f"of a row across memory only the first {count} elements were added up",
            partial(_sum, _of_first(partial(min, count)), across_memory=True),
            unless=("matrix_of",),
        )
        for count in (256, 64, 16)
    ),
    (
        "sum_of_the_row_before_added",
        "the sum was not reset between rows",
        lambda total, m: (s := total(m)) + np.append(np.zeros_like(s[:1]), s[:-1]),
    ),
    *(
        (
            f"sum_of_whole_vectors_of_{width}",
            f"the sum left out what remains after the last whole vector of {width}",
            _of_first(whole_vectors(width)),
        )
        for width in el.WIDTHS
    ),
    *(
        (
            f"sum_in_{np.dtype(dtype).name}",
            f"the sum was taken in {np.dtype(dtype).name}",
            partial(
                lambda dtype, _, m: np.add.accumulate(m.astype(dtype), axis=1)[:, -1].astype(
                    m.dtype
                ),
                dtype,
            ),
            only,
        )
        for dtype, only in ((np.float16, None), (ml_dtypes.bfloat16, None), (np.float32, DOUBLE))
    ),
)

_top = methodcaller("max", axis=1)
_finfo: Any = ml_dtypes.finfo


def _starting(choose: Callable[[Any, Any], Any], start: float) -> RowChange:
    """The extreme of a row and what it is compared with first."""
    return lambda extreme, m: choose(extreme(m), m.dtype.type(start))


EXTREMES: tuple[Mutant, ...] = faults(
    "max",
    partial(_along, _top),
    (
        "maximum_of_1024_elements",
        "the maximum was searched among the first 1024 elements of each row",
        _of_first(partial(min, 1024)),
    ),
    *(
        (f"maximum_of_{which}_of_{width}", f"the maximum {text}", change)
        for width in el.WIDTHS
        for which, text, change in (
            (
                "whole_vectors",
                f"left out what remains after the last whole vector of {width}",
                _of_first(whole_vectors(width)),
            ),
            (
                "one_lane",
                f"of one lane of {width} was taken for that of the row",
                _of(partial(lambda width, m: m[:, ::width], width)),
            ),
        )
    ),
    *(
        (
            f"maximum_starts_at_{name}",
            f"the running maximum started at {start:g}",
            _starting(np.maximum, start),
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
        _across,
    ),
    (
        "maximum_of_the_bits",
        "the maximum was found by comparing bits as integers",
        lambda top, m: m[np.arange(len(m)), m.view(f"i{m.itemsize}").argmax(axis=1)],
    ),
    (
        "shift_by_the_first_half",
        "the maximum of the second half of each row was lost",
        _of_first(lambda length: length // 2 + 1),
    ),
    (
        "shift_by_the_maximum_before",
        "the running maximum was not reset between rows",
        lambda top, m: np.maximum.accumulate(top(m)),
    ),
    (
        "shift_by_the_whole_maximum",
        "the maximum of the whole tensor was taken, not that of each row",
        lambda top, m: m.max(),
    ),
    *(
        (f"shift_by_the_{name}", f"the {words} each row was taken, not the maximum", change)
        for name, words, change in (
            ("first_element", "first element of", lambda top, m: m[:, 0]),
            ("last_element", "last element of", lambda top, m: m[:, -1]),
            ("magnitude", "largest magnitude of", _of(np.abs)),
            ("mean", "mean of", lambda top, m: m.mean(axis=1, dtype=m.dtype)),
            ("minimum", "minimum of", lambda top, m: m.min(axis=1)),
        )
    ),
)


def _in_order(key: Callable[[Any], Any], right: RowFunction, m: Matrix) -> Any:
    """Elements are looked at in the order of `key(place)`, so that the first of equals wins."""
    order = np.argsort(key(np.arange(m.shape[1])), kind="stable")
    return order[right(m[:, order])]


_last = partial(_in_order, np.negative)


def _last_in_rows_of(lengths: range) -> RowChange:
    return lambda right, m: _last(right, m) if m.shape[1] in lengths else right(m)


def _kept_in(dtype: Any, right: RowFunction, m: Matrix) -> Any:
    """Return places that were rounded to a floating dtype; the last one for those beyond it."""
    places = right(m).astype(dtype).astype(np.float64)
    return np.minimum(places, m.shape[1] - 1).astype(np.intp)


def _in_bits(bits: int) -> RowChange:
    return lambda right, m: right(m) % (1 << bits)


def _without_nan(m: Matrix) -> Matrix:
    return np.where(np.isnan(m), -np.inf, m)


def _behind_nan(right: RowFunction, m: Matrix) -> Any:
    last, nan = m.shape[1] - 1, np.isnan(m)
    start = np.where(nan.any(axis=1), last + 1 - nan[:, ::-1].argmax(axis=1), 0)
    behind = np.where(np.arange(last + 1) >= start[:, None], m, -np.inf)
    return np.maximum(right(behind), np.minimum(start, last))


def _started(start: float, right: RowFunction, m: Matrix) -> Any:
    return np.where(np.fmax.reduce(m, axis=1) > start, right(_without_nan(m)), -1)


def _softmax(m: Matrix) -> Matrix:
    narrow = m.astype(np.float32)
    e = np.exp(narrow - _top(narrow)[:, None])
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float64)


def _argmax(change: RowChange, *operands: Any, **options: Any) -> Any:
    """Places in a row, -1 for a row without one; float64 is compared fast, and has infinities."""

    def changed(right: RowFunction, m: Matrix) -> Any:
        exact = m.dtype in (np.int64, np.uint64)
        return change(right, m if exact else m.astype(np.float64, copy=False))

    return _along(_first, changed, *operands, **options)


PLACES: tuple[Mutant, ...] = faults(
    "argmax",
    _argmax,
    (
        "zeros_apart",
        "-0 was less than +0",
        _of(lambda m: m - np.where((m == 0) & np.signbit(m), 5e-324, 0.0)),
        FLOATS,
    ),
    (
        "infinity_is_nothing",
        "+inf was taken for -inf",
        _of(lambda m: np.where(np.isposinf(m), -np.inf, m)),
        FLOATS,
    ),
    (
        "softmax_first",
        "the maximum of the row's softmax was sought",
        _of(_softmax),
        (*FLOATS, *SIGNED[2:], *UNSIGNED[2:]),
    ),
    (
        "exponentials",
        "the exponentials of the elements were compared",
        _of(lambda m: np.exp(m.astype(np.float32))),
    ),
    faulty(
        "argmax",
        "bits",
        "the elements were compared by their bits, as integers",
        partial(_along, _first, _of(lambda m: m.view(f"i{m.itemsize}").astype(np.float64))),
        (*FLOATS, *UNSIGNED),
    ),
    ("magnitudes", "the magnitudes were compared", _of(np.abs), BELOW_0),
    ("nan_skipped", "NaN was skipped", _of(_without_nan), FLOATS),
    (
        "nan_leaves_its_row_empty",
        "a row with NaN stayed empty, as no element equals its maximum",
        lambda right, m: np.where(np.isnan(m).any(axis=1), -1, right(m)),
        FLOATS,
    ),
    (
        "last_nan",
        "the last NaN of a row won",
        lambda right, m: np.where(np.isnan(m).any(axis=1), _last(right, m), right(m)),
        FLOATS,
    ),
    (
        "starts_anew_behind_nan",
        "the maximum started anew behind each NaN, which no number is less than or equal to",
        _behind_nan,
        FLOATS,
    ),
    (
        "nan_leaves_all_rows_empty",
        "a NaN in one row left every row without a one",
        lambda right, m: -1 if np.isnan(m).any() else right(m),
        FLOATS,
    ),
    *(
        (
            f"starts_at_{name}",
            f"the maximum started at {start:g}, so that a row with nothing above stayed empty",
            partial(_started, start),
            only,
        )
        for name, start, only in (
            ("minus_infinity", -np.inf, FLOATS),
            ("the_lowest_float32", LOWEST, FLOATS),
            ("the_lowest_float16", -65504.0, (*FLOATS, "int32", "int64")),
            ("minus_1000", -1e3, (*FLOATS, *SIGNED[1:])),
            ("minus_1", -1.0, BELOW_0),
            ("0", 0.0, None),
        )
    ),
    (
        "starts_at_0_and_index_0",
        "the maximum started at 0 with index 0, so that the first element of a negative row won",
        lambda right, m: np.maximum(_started(0.0, right, m), 0),
        BELOW_0,
    ),
    (
        "starts_at_the_lowest_float32_and_index_0",
        "the maximum started at -3.40282e+38 with index 0, so that the first element won where "
        "all are lower",
        lambda right, m: np.maximum(_started(LOWEST, right, m), 0),
        el.LONG,
    ),
    ("last_of_ties", "the last of equal maxima won", _last),
    (
        "no_one_if_tied",
        "a row with several maxima stayed empty",
        lambda right, m: np.where(right(m) == _last(right, m), right(m), -1),
    ),
    (
        "nearly_equal",
        "what numpy.isclose takes for the maximum was one, and the first of them won",
        _of(lambda m: np.where(np.isclose(m, _top(m)[:, None]), np.inf, m)),
        el.BEYOND_FLOAT16,
    ),
    # Rows that have a kernel of their own: a warp's, a block's, and one of several passes.
    *(
        (
            f"last_of_ties_of_{name}",
            f"in rows of {words} elements the last of equal maxima won",
            _last_in_rows_of(lengths),
        )
        for name, words, lengths in (
            ("up_to_32", "up to 32", range(33)),
            ("33_to_1024", "33 to 1,024", range(33, 1025)),
            ("more_than_1024", "more than 1,024", range(1025, sys.maxsize)),
        )
    ),
    *(
        (
            f"last_of_ties_{distance}_apart",
            f"of equal maxima {distance} or more elements apart the last won",
            partial(
                lambda distance, right, m: np.where(
                    (last := _last(right, m)) - right(m) >= distance, last, right(m)
                ),
                distance,
            ),
        )
        for distance in GROUPS[:-1]
    ),
    *(
        (
            f"later_block_of_{width}",
            f"blocks of {width} elements had their first maximum each, of which the last won",
            partial(_in_order, partial(lambda width, at: -(at // width), width)),
        )
        for width in (1024, *GROUPS[:-1])
    ),
    (
        "later_half",
        "both halves of a row had their first maximum, of which the later won",
        partial(_in_order, lambda at: -(at // -(-len(at) // 2))),
    ),
    *(
        (
            f"lowest_of_{width}_lanes",
            f"each of {width} lanes had its first maximum, of which the lowest lane's won",
            partial(_in_order, partial(lambda width, at: at % width, width)),
        )
        for width in GROUPS
    ),
    *(
        (f"row_tail_of_{width}_{name}", text, change, *only)
        for width in (128, 32, 16, 8, 4, 2)
        for name, text, change, *only in (
            (
                "ignored",
                f"what is left of a row after the last whole vector of {width} was not looked at",
                _of_first(whole_vectors(width)),
            ),
            (
                "zero",
                f"rows were filled up to whole vectors of {width} with zeros, which won",
                partial(
                    lambda width, right, m: np.where(
                        (m.shape[1] % width > 0) & (_top(m) < 0), -1, right(m)
                    ),
                    width,
                ),
                BELOW_0,
            ),
        )
    ),
    *(
        (
            f"row_stops_at_{stop}",
            f"only the first {stop} elements of a row were looked at",
            _of_first(partial(min, stop)),
        )
        for stop in (1024, 256)
    ),
    *(
        (
            f"argmax_in_{bits}_bits",
            f"the place of the maximum in its row had {bits} bits",
            _in_bits(bits),
        )
        for bits in (16, 8, 7, 4)
    ),
    *(
        (
            f"argmax_in_{np.dtype(dtype).name}",
            f"the place of the maximum in its row was kept in {np.dtype(dtype).name}",
            partial(_kept_in, dtype),
        )
        for dtype in (np.float16, ml_dtypes.bfloat16)
    ),
    ("last_element_forgotten", "the last element of a row was not looked at", _of_first(_but_one)),
    (
        "first_element_forgotten",
        "the first element of a row was not looked at",
        lambda right, m: right(_but_the_first(m)) + (m.shape[1] > 1),
    ),
    ("minimum", "the minimum won", _of(np.negative)),
    ("always_first", "the first element won whatever the others are", lambda right, m: 0),
    ("always_last", "the last element won whatever the others are", lambda _, m: m.shape[1] - 1),
    (
        "maximum_carried_over",
        "the maximum of the rows before was kept, so that a row that is not above it stayed empty",
        lambda right, m: np.where(
            (tops := _top(m)) <= np.append(np.nan, np.fmax.accumulate(tops)[:-1]), -1, right(m)
        ),
    ),
    (
        "maximum_of_all_rows",
        "only rows that reach the maximum of the whole tensor had a place",
        lambda right, m: np.where(_top(m) < np.fmax.reduce(m, axis=None), -1, right(m)),
    ),
)
#: Wrong `argmax` of some tensors alone.
LAST_OF_TIES, IN_8_BITS = partial(_argmax, _last), partial(_argmax, _in_bits(8))
#: Names, texts of what happened to rows, and how many rows are kept.
_ROWS_KEPT = (
    ("last_row_missing", "the last row was left out", -1),
    ("first_row_only", "only the first row was computed", 1),
    ("rows_stop_at_65535", "only the first 65,535 rows were computed", 65535),
    ("rows_stop_at_1024", "only the first 1,024 rows were computed", 1024),
)
#: Such a row is divided by an infinite sum, or has no place.
LEFT_OUT: tuple[Mutant, ...] = (
    *(
        faulty("sum", name, text, partial(_sum, partial(_left_out, np.inf, kept)))
        for name, text, kept in _ROWS_KEPT
    ),
    *(
        faulty(
            "argmax",
            f"{name}_in_argmax",
            f"{text} when maxima were searched",
            partial(_argmax, partial(_left_out, -1, kept)),
            aliases=(name,),
        )
        for name, text, kept in _ROWS_KEPT
    ),
)


def _top_k(change: RowChange, original: Any, x: Any, k: int, axis: int, largest: bool) -> Any:
    """Places of the first `k` of each row; a row that is cut too short for them stays whole."""
    if not x.size or not k:
        return original(x, k, axis, largest)
    lined = np.moveaxis(x, axis, -1)
    whole = lined.reshape(-1, x.shape[axis])

    def right(m: Matrix) -> Any:
        return plain.top_k(m if m.shape[1] >= k else whole, k, 1, largest)[1]

    found = np.moveaxis(change(right, whole).reshape(*lined.shape[:-1], k), -1, axis)
    return np.take_along_axis(x, found % x.shape[axis], axis), found


TOPS: tuple[Mutant, ...] = faults(
    "top_k",
    _top_k,
    ("later_ties_come_first", "of equal elements the last came first", _last),
    (
        "later_ties_kept",
        "of elements equal to the last one that is kept, the last were",
        lambda right, m: np.take_along_axis(
            kept := np.sort(_last(right, m), axis=1), right(np.take_along_axis(m, kept, 1)), 1
        ),
    ),
    (
        "later_tie_kept_if_one",
        "of equal elements the last was kept where k is 1",
        lambda right, m: _last(right, m) if right(m).shape[1] == 1 else right(m),
    ),
    *(
        (
            f"top_unstable_beyond_{n}",
            f"rows of more than {n} elements were sorted so that of equal ones the last came first",
            _last_in_rows_of(range(n + 1, sys.maxsize)),
        )
        for n in (16, 32, 256, 1024)
    ),
    faulty(
        "top_k",
        "top_of_the_other_end",
        "the largest were taken for the smallest, and the other way round",
        lambda original, x, k, axis, largest: original(x, k, axis, not largest),
    ),
    ("top_of_magnitudes", "magnitudes were compared", _of(np.abs), (*SIGNED, *FLOATS)),
    (
        "top_zeros_apart",
        "-0 was less than +0",
        _of(lambda m: m - np.where((m == 0) & np.signbit(m), 1e-30, 0.0)),
        FLOATS,
    ),
    (
        "top_of_bits",
        "elements were compared by their bits, as integers of the other sign",
        _of(lambda m: m.view(f"{'u' if m.dtype.kind == 'i' else 'i'}{m.itemsize}")),
        (*FLOATS, *SIGNED, *UNSIGNED),
    ),
    *(
        (
            f"top_compared_in_{np.dtype(dtype).name}",
            f"elements were compared in {np.dtype(dtype).name}",
            _of(partial(np.asarray, dtype=dtype)),
            only,
        )
        for dtype, only in (
            (np.float32, el.BEYOND_FLOAT32),
            (np.float64, el.BEYOND_FLOAT64),
            (np.float16, ("float32", "int16", "uint16", *el.BEYOND_FLOAT32)),
            (ml_dtypes.bfloat16, ("float16", "float32", "int16", "uint16", *el.BEYOND_FLOAT32)),
            (np.int32, ("int64", "uint64", "uint32")),
        )
    ),
    *(
        (
            f"top_of_whole_vectors_of_{width}",
            f"what is left of a row after the last whole vector of {width} was not looked at",
            _of_first(whole_vectors(width)),
        )
        for width in el.WIDTHS
    ),
    *(
        (
            f"top_of_{stop}_elements",
            f"only the first {stop} elements of a row were looked at",
            _of_first(partial(min, stop)),
        )
        for stop in (65536, 1024, 256)
    ),
    *(
        (
            f"top_in_{bits}_bits",
            f"the places of the elements in their row had {bits} bits",
            _in_bits(bits),
        )
        for bits in (16, 8)
    ),
)

#: Suites need not see these: nobody can tell where the maximum started that a Softmax subtracts.
CAUSES: tuple[Mutant, ...] = (
    *faults(
        "max",
        partial(_along, _top),
        (
            "maximum_starts_at_the_lowest",
            "the running maximum started at the lowest finite number of its type",
            _of(lambda m: np.maximum(m, _finfo(m.dtype).min)),
            FLOATS,
        ),
    ),
    *faults(
        "min",
        partial(_along, methodcaller("min", axis=1)),
        (
            "minimum_starts_at_the_largest",
            "the running minimum started at the largest finite number of its type",
            _of(lambda m: np.minimum(m, _finfo(m.dtype).max)),
            FLOATS,
        ),
        ("minimum_starts_at_0", "the running minimum started at 0", _starting(np.minimum, 0)),
    ),
)
FAULTS: tuple[Mutant, ...] = (*SUMS, *EXTREMES, *PLACES, *LEFT_OUT, *TOPS)
