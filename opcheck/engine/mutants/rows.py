"""Faults of functions that work along an axis: of sums, extremes, and their places.

A fault is a function of a matrix whose lines are the rows, (n, N) with N ≥ 1, and gives one number
for each row, (n,), or one for all.
"""

import operator
import sys
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.mutants.mutant import (
    BEYOND_FLOAT16,
    DOUBLE,
    FLOATS,
    LONG,
    SIGNED,
    UNSIGNED,
    Mutant,
    faults,
    faulty,
    whole_vectors,
)
from opcheck.numbers import FaultFunction, plain
from opcheck.numbers.bounded.reductions import axes_of

Matrix: TypeAlias = Any

#: Elements of a vector register; of larger groups, down to a pair.
WIDTHS = (4, 8, 16, 32)
GROUPS = (256, 128, 64, 32, 16, 8, 4, 2)
TAILS = (128, 32, 16, 8, 4, 2)
LOWEST = float(np.finfo(np.float32).min)


def along(change: Callable[[Matrix], Any], across_memory: bool = False) -> FaultFunction:
    """The fault of a reduction; where rows lie across memory only, if that is asked for."""

    def fault(original: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = axes_of(axis, x.ndim)
        length = prod(x.shape[a] for a in axes)
        inner = prod(x.shape[a] for a in range(max(axes, default=-1) + 1, x.ndim))
        if not x.size or not length or (across_memory and inner == 1):
            return original(x, axis=axis, keepdims=keepdims)
        lined = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        outer = lined.shape[: x.ndim - len(axes)]
        found = np.broadcast_to(change(lined.reshape(-1, length)), prod(outer)).reshape(outer)
        return np.expand_dims(found, axes) if keepdims else found

    return fault


def across_the_rows(original: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The reduction along all other axes; it is the fault itself, and needs no `along`."""
    others = tuple(set(range(x.ndim)) - set(axes_of(axis, x.ndim)))
    return original(x, axis=others if keepdims and others else axis, keepdims=keepdims)


def _seen(count: Callable[[int], int], m: Matrix) -> Matrix:
    """The first `count(length)` columns."""
    return m[:, : count(m.shape[1])]


def _of_seen(of: Callable[[Matrix], Any], count: Callable[[int], int], m: Matrix) -> Any:
    return of(_seen(count, m))


def _but_one(length: int) -> int:
    return max(1, length - 1)


def _but_the_first(m: Matrix) -> Matrix:
    """The columns behind the first one; of a single one, that."""
    return m[:, 1:] if m.shape[1] > 1 else m


def _total(m: Matrix) -> Any:
    return m.sum(axis=1)


def _in_turn(dtype: Any, m: Matrix) -> Any:
    """Added up one after the other in `dtype`."""
    return np.add.accumulate(m.astype(dtype), axis=1)[:, -1].astype(m.dtype)


SUMS: tuple[Mutant, ...] = faults(
    "sum", along,
    faulty("sum", "sum_across_the_rows",
           "elements were added up across the rows, not along them", across_the_rows),
    ("nan_in_every_row", "one NaN made NaN of all rows",
     lambda m: np.full_like(_total(m), np.nan) if np.isnan(m).any() else _total(m)),
    ("sum_is_the_mean", "the mean was taken, not the sum", lambda m: m.mean(axis=1)),
    ("sum_is_a_norm", "the Euclidean norm was taken, not the sum",
     lambda m: np.sqrt(_total(m * m))),
    ("sum_without_the_last", "the last element of each row was left out of the sum",
     partial(_of_seen, _total, _but_one)),
    ("sum_without_the_first", "the first element of each row was left out of the sum",
     lambda m: _total(_but_the_first(m))),
    *((f"sum_of_{count}_elements", f"only the first {count} elements of each row were added up",
       partial(_of_seen, _total, partial(min, count))) for count in (4096, 1024)),
    *(faulty("sum", f"sum_of_{count}_elements_across_memory",
             f"of a row across memory only the first {count} elements were added up",
             along(partial(_of_seen, _total, partial(min, count)), across_memory=True),
             unless=("matrix_of",)) for count in (256, 64, 16)),
    ("sum_of_the_row_before_added", "the sum was not reset between rows",
     lambda m: (s := _total(m)) + np.append(np.zeros_like(s[:1]), s[:-1])),
    *((f"sum_of_whole_vectors_of_{width}",
       f"the sum left out what remains after the last whole vector of {width}",
       partial(_of_seen, _total, partial(whole_vectors, width))) for width in WIDTHS),
    ("sum_in_float16", "the sum was taken in float16", partial(_in_turn, np.float16)),
    ("sum_in_bfloat16", "the sum was taken in bfloat16", partial(_in_turn, ml_dtypes.bfloat16)),
    ("sum_in_float32", "the sum was taken in float32", partial(_in_turn, np.float32), DOUBLE),
)  # fmt: skip


def _top(m: Matrix) -> Any:
    return m.max(axis=1)


EXTREMES: tuple[Mutant, ...] = faults(
    "max", along,
    ("maximum_of_1024_elements",
     "the maximum was searched among the first 1024 elements of each row",
     partial(_of_seen, _top, partial(min, 1024))),
    *((f"maximum_of_{which}_of_{width}", f"the maximum {text}", change)
      for width in WIDTHS for which, text, change in (
          ("whole_vectors", f"left out what remains after the last whole vector of {width}",
           partial(_of_seen, _top, partial(whole_vectors, width))),
          ("one_lane", f"of one lane of {width} was taken for that of the row",
           partial(lambda width, m: _top(m[:, ::width]), width)))),
    *((f"maximum_starts_at_{name}", f"the running maximum started at {start:g}",
       partial(lambda start, m: np.maximum(_top(m), m.dtype.type(start)), start), only)
      for name, start, only in (
          ("the_lowest_float32", LOWEST, DOUBLE), ("minus_1e9", -1e9, BEYOND_FLOAT16),
          ("minus_1e4", -1e4, None), ("0", 0.0, None))),
    faulty("max", "maximum_across_the_rows",
           "the maximum was taken across the rows, not along them", across_the_rows),
    ("maximum_of_the_bits", "the maximum was found by comparing bits as integers",
     lambda m: m[np.arange(len(m)), m.view(f"i{m.dtype.itemsize}").argmax(axis=1)]),
    ("shift_by_the_first_half", "the maximum of the second half of each row was lost",
     partial(_of_seen, _top, lambda length: length // 2 + 1)),
    ("shift_by_the_maximum_before", "the running maximum was not reset between rows",
     lambda m: np.maximum.accumulate(_top(m))),
    ("shift_by_the_whole_maximum",
     "the maximum of the whole tensor was taken, not that of each row", np.max),
    *((f"shift_by_the_{name}", f"the {words} each row was taken, not the maximum", change)
      for name, words, change in (
          ("first_element", "first element of", lambda m: m[:, 0]),
          ("last_element", "last element of", lambda m: m[:, -1]),
          ("magnitude", "largest magnitude of", lambda m: _top(np.abs(m))),
          ("mean", "mean of", lambda m: m.mean(axis=1, dtype=m.dtype)),
          ("minimum", "minimum of", lambda m: m.min(axis=1)))),
)  # fmt: skip


def _comparable(m: Matrix) -> Matrix:
    """The numbers in a type that NumPy compares fast and that knows infinities."""
    return m.astype(np.float64) if m.dtype.kind != "f" or m.dtype.itemsize < 8 else m


def maxima(m: Matrix) -> Any:
    """Every maximum of each row, or every NaN of it."""
    return (m == _top(m)[:, None]) | np.isnan(m)


def _first(mask: Any) -> Any:
    return mask.argmax(axis=1)


def _last(mask: Any) -> Any:
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)


def _right(m: Matrix) -> Any:
    return _first(maxima(m))


def _last_maximum(m: Matrix) -> Any:
    return _last(maxima(m))


def _clean(m: Matrix) -> Any:
    """True for the rows without a NaN."""
    return ~np.isnan(m).any(axis=1)


def _no_one(places: Any, empty: Any) -> Any:
    """No place in the rows that are `empty`."""
    return np.where(empty, -1, places)


def _skipping_nan(m: Matrix) -> Any:
    return _right(np.where(np.isnan(m), -np.inf, m))


def _behind_nan(m: Matrix) -> Any:
    """Only elements after the last NaN of a row compete."""
    last = np.where(_clean(m), -1, _last(np.isnan(m)))
    behind = np.arange(m.shape[1]) > last[:, None]
    left = np.where(behind, m, -np.inf)
    among = behind & (left == _top(left)[:, None])
    return np.where(among.any(axis=1), _first(among), last)


def _started(start: float, m: Matrix) -> Any:
    found = _skipping_nan(m)
    return _no_one(found, ~(m[np.arange(len(m)), found] > start))


def _last_if_far(distance: int, m: Matrix) -> Any:
    among = maxima(m)
    a, z = _first(among), _last(among)
    return np.where(z - a >= distance, z, a)


def _lowest_lane(width: int, m: Matrix) -> Any:
    """Each of `width` lanes finds its first maximum; among equal ones the lowest lane wins."""
    at = np.arange(m.shape[1])
    turn = at % width * m.shape[1] + at
    return np.where(maxima(m), turn, width * m.shape[1]).argmin(axis=1)


def _later_block(width: int, m: Matrix) -> Any:
    """Blocks of `width` elements find their first maxima; among equal ones the last wins."""
    among = maxima(m)
    start = _last(among) // width * width
    return _first(among & (np.arange(m.shape[1]) >= start[:, None]))


def _nearly_equal(m: Matrix) -> Any:
    """The first element that `numpy.isclose` takes for the maximum."""
    most = _top(m)[:, None]
    close = np.isfinite(most) & (np.abs(m - most) <= 1e-8 + 1e-5 * np.abs(most))
    return _first(maxima(m) | close)


def _among(count: Callable[[int], int], m: Matrix) -> Any:
    """The first maximum among the first `count(length)` columns, of all where that is none."""
    return _right(m[:, : count(m.shape[1]) or None])


def _zeros_in_tail(width: int, m: Matrix) -> Any:
    """The last vector is filled up with zeros, which may win and are then cut off."""
    return _no_one(_right(m), (m.shape[1] % width > 0) & (_top(m) < 0))


def _index_in(dtype: Any, m: Matrix) -> Any:
    rounded = _right(m).astype(dtype).astype(np.float64)
    return np.minimum(rounded, m.shape[1] - 1).astype(np.intp)


def _in_bits(bits: int, m: Matrix) -> Any:
    return _right(m) % (1 << bits)


def _carried_over(m: Matrix) -> Any:
    """The running maximum does not start anew, so that only what exceeds it is found."""
    tops = _top(m)
    before = np.append(-np.inf, np.fmax.accumulate(tops)[:-1])
    stale = tops <= before
    stale[0] = False
    return _no_one(_right(m), stale)


def _of(change: Callable[[Matrix], Matrix]) -> Callable[[Matrix], Any]:
    """The place of the maximum of other numbers."""
    return lambda m: _right(change(m))


def _softmax(m: Matrix) -> Matrix:
    narrow = m.astype(np.float32)
    e = np.exp(narrow - _top(narrow)[:, None])
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float64)


def _argmax(change: Callable[[Matrix], Any]) -> FaultFunction:
    """Places in a row, −1 for a row without one."""
    return along(lambda m: change(_comparable(m)))


PLACES: tuple[Mutant, ...] = faults(
    "argmax", _argmax,
    ("zeros_apart", "-0 was less than +0",
     _of(lambda m: m + np.where((m == 0) & np.signbit(m), -5e-324, 0.0))),
    ("infinity_is_nothing", "+inf was taken for -inf",
     _of(lambda m: np.where(np.isposinf(m), -np.inf, m))),
    ("softmax_first", "the maximum of the row's softmax was sought", _of(_softmax)),
    ("exponentials", "the exponentials of the elements were compared",
     _of(lambda m: np.exp(m.astype(np.float32)).astype(np.float64))),
    faulty("argmax", "bits", "the elements were compared by their bits, as integers",
           along(_of(lambda m: m.view(f"i{m.dtype.itemsize}").astype(np.float64)))),
    ("magnitudes", "the magnitudes were compared", _of(np.abs)),
    ("nan_skipped", "NaN was skipped", _skipping_nan),
    ("nan_leaves_its_row_empty",
     "a row with NaN stayed empty, as no element equals its maximum",
     lambda m: _no_one(_right(m), ~_clean(m))),
    ("last_nan", "the last NaN of a row won",
     lambda m: np.where(_clean(m), _right(m), _last_maximum(m))),
    ("starts_anew_behind_nan",
     "the maximum started anew behind each NaN, which no number is less than or equal to",
     _behind_nan),
    ("nan_leaves_all_rows_empty", "a NaN in one row left every row without a one",
     lambda m: _no_one(_right(m), not _clean(m).all())),
    *((f"starts_at_{name}",
       f"the maximum started at {start:g}, so that a row with nothing above stayed empty",
       partial(_started, start)) for name, start in (
           ("minus_infinity", -np.inf), ("the_lowest_float32", LOWEST),
           ("the_lowest_float16", -65504.0), ("minus_1000", -1e3), ("minus_1", -1.0),
           ("0", 0.0))),
    ("starts_at_0_and_index_0",
     "the maximum started at 0 with index 0, so that the first element of a negative row won",
     lambda m: np.maximum(_started(0.0, m), 0)),
    ("starts_at_the_lowest_float32_and_index_0",
     "the maximum started at -3.40282e+38 with index 0, so that the first element won where "
     "all are lower", lambda m: np.maximum(_started(LOWEST, m), 0), LONG),
    ("last_of_ties", "the last of equal maxima won", _last_maximum),
    ("no_one_if_tied", "a row with several maxima stayed empty",
     lambda m: _no_one(_right(m), maxima(m).sum(axis=1) > 1)),
    ("nearly_equal",
     "what numpy.isclose takes for the maximum was one, and the first of them won",
     _nearly_equal, BEYOND_FLOAT16),
    # Rows that have a kernel of their own: a warp's, a block's, and one of several passes.
    *((f"last_of_ties_of_{name}", f"in rows of {words} elements the last of equal maxima won",
       partial(lambda lengths, m: (_last_maximum if m.shape[1] in lengths else _right)(m), lengths))
      for name, words, lengths in (
          ("up_to_32", "up to 32", range(33)), ("33_to_1024", "33 to 1,024", range(33, 1025)),
          ("more_than_1024", "more than 1,024", range(1025, sys.maxsize)))),
    *((f"last_of_ties_{distance}_apart",
       f"of equal maxima {distance} or more elements apart the last won",
       partial(_last_if_far, distance)) for distance in GROUPS[:-1]),
    *((f"later_block_of_{width}",
       f"blocks of {width} elements had their first maximum each, of which the last won",
       partial(_later_block, width)) for width in (1024, *GROUPS[:-1])),
    ("later_half", "both halves of a row had their first maximum, of which the later won",
     lambda m: _later_block(-(-m.shape[1] // 2), m)),
    *((f"lowest_of_{width}_lanes",
       f"each of {width} lanes had its first maximum, of which the lowest lane's won",
       partial(_lowest_lane, width)) for width in GROUPS),
    *((f"row_tail_of_{width}_{name}", text, change)
      for width in TAILS for name, text, change in (
          ("ignored",
           f"what is left of a row after the last whole vector of {width} was not looked at",
           partial(_among, partial(whole_vectors, width))),
          ("zero", f"rows were filled up to whole vectors of {width} with zeros, which won",
           partial(_zeros_in_tail, width)))),
    *((f"row_stops_at_{stop}", f"only the first {stop} elements of a row were looked at",
       partial(_among, partial(min, stop))) for stop in (1024, 256)),
    *((f"argmax_in_{bits}_bits", f"the place of the maximum in its row had {bits} bits",
       partial(_in_bits, bits)) for bits in (16, 8, 7, 4)),
    *((f"argmax_in_{np.dtype(dtype).name}",
       f"the place of the maximum in its row was kept in {np.dtype(dtype).name}",
       partial(_index_in, dtype)) for dtype in (np.float16, ml_dtypes.bfloat16)),
    ("last_element_forgotten", "the last element of a row was not looked at",
     partial(_among, _but_one)),
    ("first_element_forgotten", "the first element of a row was not looked at",
     lambda m: _right(_but_the_first(m)) + (m.shape[1] > 1)),
    ("minimum", "the minimum won", _of(np.negative)),
    ("always_first", "the first element won whatever the others are", lambda m: 0),
    ("always_last", "the last element won whatever the others are", lambda m: m.shape[1] - 1),
    ("maximum_carried_over",
     "the maximum of the rows before was kept, so that a row that is not above it stayed empty",
     _carried_over),
    ("maximum_of_all_rows", "only rows that reach the maximum of the whole tensor had a place",
     lambda m: _no_one(_right(m), _top(m) < np.fmax.reduce(m, axis=None))),
)  # fmt: skip


def _left_out(right: Callable[[Matrix], Any], value: float, kept: int, m: Matrix) -> Any:
    """All rows but the first `kept` come to `value`; counted from the end, one is kept at least."""
    found = right(m)
    found[kept if kept > 0 else max(1, len(m) + kept) :] = value
    return found


#: Such a row has no place, or is divided by an infinite sum.
LEFT_OUT: tuple[Mutant, ...] = tuple(
    faulty(primitive, name, text, make(partial(_left_out, right, value, kept)))
    for primitive, make, right, value in (
        ("sum", along, _total, np.inf), ("argmax", _argmax, _right, -1))
    for name, text, kept in (
        ("last_row_missing", "the last row was left out", -1),
        ("first_row_only", "only the first row was computed", 1),
        ("rows_stop_at_65535", "only the first 65,535 rows were computed", 65535),
        ("rows_stop_at_1024", "only the first 1,024 rows were computed", 1024))
)  # fmt: skip


#: The places of the first `k` of each row, from the matrix, `k`, and True for the largest.
Few: TypeAlias = Callable[[Matrix, int, bool], Any]


def _top_k(places: Few) -> FaultFunction:
    def fault(original: Any, x: Any, k: int, axis: int, largest: bool) -> Any:
        if not x.size or not k:
            return original(x, k, axis, largest)
        lined = np.moveaxis(x, axis, -1)
        found = places(lined.reshape(-1, x.shape[axis]), k, largest)
        found = np.moveaxis(found.reshape(*lined.shape[:-1], k), -1, axis)
        return np.take_along_axis(x, found % x.shape[axis], axis), found

    return fault


def _few(m: Matrix, k: int, largest: bool) -> Any:
    return plain.top_k(m, k, 1, largest)[1]


def _compared(change: Callable[[Matrix], Matrix]) -> Few:
    return lambda m, k, largest: _few(change(m), k, largest)


def _last_few(m: Matrix, k: int, largest: bool) -> Any:
    return m.shape[1] - 1 - _few(np.flip(m, 1), k, largest)


def _last_of_equals_kept(m: Matrix, k: int, largest: bool) -> Any:
    kept = np.sort(_last_few(m, k, largest), axis=1)
    return np.take_along_axis(kept, _few(np.take_along_axis(m, kept, 1), k, largest), 1)


def _few_among(count: Callable[[int], int], m: Matrix, k: int, largest: bool) -> Any:
    """Those among the first `count(length)` of a row, if these are enough."""
    seen = _seen(count, m)
    return _few(seen if seen.shape[1] >= k else m, k, largest)


def _as_bits(kind: str) -> Few:
    return _compared(lambda m: m.view(f"{kind}{m.dtype.itemsize}"))


_WIDE = ("int32", "int64", "uint32", "uint64")

TOPS: tuple[Mutant, ...] = faults(
    "top_k", _top_k,
    ("later_ties_come_first", "of equal elements the last came first", _last_few),
    ("later_ties_kept", "of elements equal to the last one that is kept, the last were",
     _last_of_equals_kept),
    ("later_tie_kept_if_one", "of equal elements the last was kept where k is 1",
     lambda m, k, largest: (_last_few if k == 1 else _few)(m, k, largest)),
    *((f"top_unstable_beyond_{n}", f"rows of more than {n} elements were sorted so that of "
       "equal ones the last came first", partial(
           lambda n, m, *rest: (_last_few if m.shape[1] > n else _few)(m, *rest), n))
      for n in (16, 32, 256, 1024)),
    ("top_of_the_other_end", "the largest were taken for the smallest, and the other way round",
     lambda m, k, largest: _few(m, k, not largest)),
    ("top_of_magnitudes", "magnitudes were compared", _compared(np.abs), (*SIGNED, *FLOATS)),
    ("top_zeros_apart", "-0 was less than +0",
     _compared(lambda m: m + np.where((m == 0) & np.signbit(m), -1e-30, 0.0)), FLOATS),
    ("top_of_signed_bits", "elements were compared by their bits, as signed integers",
     _as_bits("i"), (*FLOATS, *UNSIGNED)),
    ("top_of_unsigned_bits", "elements were compared by their bits, as unsigned integers",
     _as_bits("u"), (*FLOATS, *SIGNED)),
    *((f"top_compared_in_{np.dtype(dtype).name}",
       f"elements were compared in {np.dtype(dtype).name}",
       _compared(operator.methodcaller("astype", dtype)), only) for dtype, only in (
           (np.float32, (*DOUBLE, *_WIDE)), (np.float64, ("int64", "uint64")),
           (np.float16, ("float32", "float64", "int16", "uint16", *_WIDE)),
           (ml_dtypes.bfloat16, ("float16", "float32", "float64", "int16", "uint16", *_WIDE)),
           (np.int32, ("int64", "uint64", "uint32")))),
    *((f"top_of_whole_vectors_of_{width}",
       f"what is left of a row after the last whole vector of {width} was not looked at",
       partial(_few_among, partial(whole_vectors, width))) for width in WIDTHS),
    *((f"top_of_{stop}_elements", f"only the first {stop} elements of a row were looked at",
       partial(_few_among, partial(min, stop))) for stop in (65536, 1024, 256)),
    *((f"top_in_{bits}_bits", f"the places of the elements in their row had {bits} bits",
       partial(lambda bits, *row: _few(*row) % (1 << bits), bits)) for bits in (16, 8)),
)  # fmt: skip


#: Wrong `argmax` of some tensors alone.
LAST_OF_TIES = _argmax(_last_maximum)
IN_8_BITS = _argmax(partial(_in_bits, 8))


FAULTS: tuple[Mutant, ...] = (*SUMS, *EXTREMES, *PLACES, *LEFT_OUT, *TOPS)
