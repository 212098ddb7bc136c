"""Faults of functions that return places along an axis: `argmax` and `top_k`.

A fault takes the right function and a matrix whose lines are the rows, as in
`opcheck.engine.mutants.rows`. It returns the place in each row, (n,), -1 for a row without one; of
`top_k`, places (n, k).
"""

import sys
from collections.abc import Callable, Container
from functools import partial
from operator import methodcaller
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import BELOW_0, FLOATS, SIGNED, UNSIGNED, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, faults, faulty
from opcheck.engine.mutants.rows import (
    LOWEST,
    Matrix,
    RowChange,
    RowFunction,
    along,
    but_one,
    but_the_first,
    left_out,
    of_changed,
    of_first,
    of_sums,
)
from opcheck.numbers import Array, plain

#: Places in a row.
Places: TypeAlias = Array
#: Elements of blocks and lanes, down to a pair.
GROUPS = (256, 128, 64, 32, 16, 8, 4, 2)
#: What is taken from -0, so that it is less than +0.
_SMALLEST = 5e-324
_TINY = 1e-30
_first = methodcaller("argmax", axis=1)
_top = methodcaller("max", axis=1)


def of_places(change: RowChange, *operands: Any, **options: Any) -> Array:
    """Fault of `argmax`: `change` of the rows.

    All but integers of 64 bits are compared as float64, which is fast, and has infinities.
    """
    return along(_first, partial(_in_float64, change), *operands, **options)


def _in_float64(change: RowChange, right: RowFunction, m: Matrix) -> Array:
    """Return the change of rows of float64, or of integers of 64 bits as they are."""
    is_beyond_float64 = m.dtype in (np.int64, np.uint64)
    return change(right, m if is_beyond_float64 else m.astype(np.float64, copy=False))


# ── elements that are compared as others ──────────────────────────────────────────────────────


def zeros_apart(step: float, m: Matrix) -> Matrix:
    """Mutant: -0 is less than +0."""
    return m - np.where((m == 0) & np.signbit(m), step, 0.0)


def infinity_is_nothing(m: Matrix) -> Matrix:
    """Mutant: +inf is -inf."""
    return np.where(np.isposinf(m), -np.inf, m)


def softmax(m: Matrix) -> Matrix:
    """Mutant: elements are those of the row's softmax, in float32."""
    narrow = m.astype(np.float32)
    e = np.exp(narrow - _top(narrow)[:, None])
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float64)


def exponentials(m: Matrix) -> Matrix:
    """Mutant: elements are their exponentials, in float32."""
    return np.exp(m.astype(np.float32))


def bits(m: Matrix) -> Matrix:
    """Mutant: elements are their bits, as integers."""
    return m.view(f"i{m.itemsize}").astype(np.float64)


def bits_of_the_other_sign(m: Matrix) -> Matrix:
    """Mutant: elements are their bits, as integers of the other sign."""
    kind = "u" if m.dtype.kind == "i" else "i"
    return m.view(f"{kind}{m.itemsize}")


def without_nan(m: Matrix) -> Matrix:
    """Mutant: NaN is -inf."""
    return np.where(np.isnan(m), -np.inf, m)


def nearly_equal(m: Matrix) -> Matrix:
    """Mutant: what `numpy.isclose` takes for the maximum is one."""
    return np.where(np.isclose(m, _top(m)[:, None]), np.inf, m)


# ── NaN ───────────────────────────────────────────────────────────────────────────────────────


def empty_by_nan(right: RowFunction, m: Matrix) -> Places:
    """Mutant: a row with NaN has no place."""
    return np.where(np.isnan(m).any(axis=1), -1, right(m))


def last_nan(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the last NaN of a row is its maximum."""
    return np.where(np.isnan(m).any(axis=1), last_of_ties(right, m), right(m))


def behind_nan(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the maximum starts anew behind each NaN."""
    last = m.shape[1] - 1
    nan = np.isnan(m)
    start = np.where(nan.any(axis=1), last + 1 - nan[:, ::-1].argmax(axis=1), 0)
    behind = np.where(np.arange(last + 1) >= start[:, None], m, -np.inf)
    return np.maximum(right(behind), np.minimum(start, last))


def all_empty_by_nan(right: RowFunction, m: Matrix) -> Any:
    """Mutant: with one NaN no row has a place."""
    return -1 if np.isnan(m).any() else right(m)


# ── where the maximum starts ──────────────────────────────────────────────────────────────────


def started(start: float, right: RowFunction, m: Matrix) -> Places:
    """Mutant: a row without a number above `start` has no place."""
    return np.where(np.fmax.reduce(m, axis=1) > start, right(without_nan(m)), -1)


def started_with_index_0(start: float, right: RowFunction, m: Matrix) -> Places:
    """Mutant: of a row without a number above `start` it is the first element."""
    return np.maximum(started(start, right, m), 0)


# ── of equal maxima, another than the first ───────────────────────────────────────────────────


def in_order(key: Callable[[Places], Places], right: RowFunction, m: Matrix) -> Places:
    """Mutant: elements are looked at in the order of `key(places)`; the first of equals wins."""
    order = np.argsort(key(np.arange(m.shape[1])), kind="stable")
    return order[right(m[:, order])]


last_of_ties = partial(in_order, np.negative)


def none_of_ties(right: RowFunction, m: Matrix) -> Places:
    """Mutant: a row with several maxima has no place."""
    return np.where(right(m) == last_of_ties(right, m), right(m), -1)


def last_of_ties_in_rows_of(lengths: Container[int], right: RowFunction, m: Matrix) -> Places:
    """Mutant: the last of equal elements wins, in rows of some lengths."""
    return last_of_ties(right, m) if m.shape[1] in lengths else right(m)


def last_of_ties_apart(distance: int, right: RowFunction, m: Matrix) -> Places:
    """Mutant: of equal maxima so far apart or farther the last wins."""
    last = last_of_ties(right, m)
    return np.where(last - right(m) >= distance, last, right(m))


def later_blocks_first(width: int, places: Places) -> Places:
    """Return keys by which the last block of `width` elements comes first."""
    return -(places // width)


def later_half_first(places: Places) -> Places:
    """Return keys by which the second half of a row comes first.

    Of an odd number the first half has one more.
    """
    half = -(-len(places) // 2)
    return -(places // half)


def lower_lanes_first(width: int, places: Places) -> Places:
    """Return keys by which all elements of a lane come before those of the next."""
    return places % width


# ── parts of rows, and places that are kept in few bits ───────────────────────────────────────


def filled_up_with_zeros(width: int, right: RowFunction, m: Matrix) -> Places:
    """Mutant: zeros behind a row, up to a whole vector, are above all of a negative row."""
    return np.where((m.shape[1] % width > 0) & (_top(m) < 0), -1, right(m))


def first_forgotten(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the first of several elements is not looked at."""
    return right(but_the_first(m)) + (m.shape[1] > 1)


def in_bits(count: int, right: RowFunction, m: Matrix) -> Places:
    """Mutant: places are kept in so many bits."""
    return right(m) % (1 << count)


def in_floats(dtype: Any, right: RowFunction, m: Matrix) -> Places:
    """Mutant: places are rounded to a floating type; the last stands for those beyond it."""
    rounded = right(m).astype(dtype).astype(np.float64)
    return np.minimum(rounded, m.shape[1] - 1).astype(np.intp)


def always_first(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the first element wins."""
    return 0


def always_last(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the last element wins."""
    return m.shape[1] - 1


# ── rows that are not kept apart ──────────────────────────────────────────────────────────────


def maximum_carried_over(right: RowFunction, m: Matrix) -> Places:
    """Mutant: a row that is not above all rows before it has no place."""
    tops = _top(m)
    before = np.append(np.nan, np.fmax.accumulate(tops)[:-1])
    return np.where(tops <= before, -1, right(m))


def maximum_of_all_rows(right: RowFunction, m: Matrix) -> Places:
    """Mutant: only rows that reach the maximum of the whole tensor have a place."""
    return np.where(_top(m) < np.fmax.reduce(m, axis=None), -1, right(m))


PLACES: tuple[Mutant, ...] = faults(
    "argmax",
    of_places,
    (
        "zeros_apart",
        "-0 was less than +0",
        partial(of_changed, partial(zeros_apart, _SMALLEST)),
        FLOATS,
    ),
    (
        "infinity_is_nothing",
        "+inf was taken for -inf",
        partial(of_changed, infinity_is_nothing),
        FLOATS,
    ),
    (
        "softmax_first",
        "the maximum of the row's softmax was sought",
        partial(of_changed, softmax),
        (*FLOATS, *SIGNED[2:], *UNSIGNED[2:]),
    ),
    (
        "exponentials",
        "the exponentials of the elements were compared",
        partial(of_changed, exponentials),
    ),
    faulty(
        "argmax",
        "bits",
        "the elements were compared by their bits, as integers",
        partial(along, _first, partial(of_changed, bits)),
        (*FLOATS, *UNSIGNED),
    ),
    ("magnitudes", "the magnitudes were compared", partial(of_changed, np.abs), BELOW_0),
    ("nan_skipped", "NaN was skipped", partial(of_changed, without_nan), FLOATS),
    (
        "nan_leaves_its_row_empty",
        "a row with NaN stayed empty, as no element equals its maximum",
        empty_by_nan,
        FLOATS,
    ),
    (
        "last_nan",
        "the last NaN of a row won",
        last_nan,
        FLOATS,
    ),
    (
        "starts_anew_behind_nan",
        "the maximum started anew behind each NaN, which no number is less than or equal to",
        behind_nan,
        FLOATS,
    ),
    (
        "nan_leaves_all_rows_empty",
        "a NaN in one row left every row without a one",
        all_empty_by_nan,
        FLOATS,
    ),
    *(
        (
            f"starts_at_{name}",
            f"the maximum started at {start:g}, so that a row with nothing above stayed empty",
            partial(started, start),
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
        partial(started_with_index_0, 0.0),
        BELOW_0,
    ),
    (
        "starts_at_the_lowest_float32_and_index_0",
        "the maximum started at -3.40282e+38 with index 0, so that the first element won where "
        "all are lower",
        partial(started_with_index_0, LOWEST),
        el.LONG,
    ),
    ("last_of_ties", "the last of equal maxima won", last_of_ties),
    (
        "no_one_if_tied",
        "a row with several maxima stayed empty",
        none_of_ties,
    ),
    (
        "nearly_equal",
        "what numpy.isclose takes for the maximum was one, and the first of them won",
        partial(of_changed, nearly_equal),
        el.BEYOND_FLOAT16,
    ),
    # Rows that have a kernel of their own: a warp's, a block's, and one of several passes.
    *(
        (
            f"last_of_ties_of_{name}",
            f"in rows of {words} elements the last of equal maxima won",
            partial(last_of_ties_in_rows_of, lengths),
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
            partial(last_of_ties_apart, distance),
        )
        for distance in GROUPS[:-1]
    ),
    *(
        (
            f"later_block_of_{width}",
            f"blocks of {width} elements had their first maximum each, of which the last won",
            partial(in_order, partial(later_blocks_first, width)),
        )
        for width in (1024, *GROUPS[:-1])
    ),
    (
        "later_half",
        "both halves of a row had their first maximum, of which the later won",
        partial(in_order, later_half_first),
    ),
    *(
        (
            f"lowest_of_{width}_lanes",
            f"each of {width} lanes had its first maximum, of which the lowest lane's won",
            partial(in_order, partial(lower_lanes_first, width)),
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
                partial(of_first, partial(whole_vectors, width)),
            ),
            (
                "zero",
                f"rows were filled up to whole vectors of {width} with zeros, which won",
                partial(filled_up_with_zeros, width),
                BELOW_0,
            ),
        )
    ),
    *(
        (
            f"row_stops_at_{stop}",
            f"only the first {stop} elements of a row were looked at",
            partial(of_first, partial(min, stop)),
        )
        for stop in (1024, 256)
    ),
    *(
        (
            f"argmax_in_{count}_bits",
            f"the place of the maximum in its row had {count} bits",
            partial(in_bits, count),
        )
        for count in (16, 8, 7, 4)
    ),
    *(
        (
            f"argmax_in_{np.dtype(dtype).name}",
            f"the place of the maximum in its row was kept in {np.dtype(dtype).name}",
            partial(in_floats, dtype),
        )
        for dtype in (np.float16, ml_dtypes.bfloat16)
    ),
    (
        "last_element_forgotten",
        "the last element of a row was not looked at",
        partial(of_first, but_one),
    ),
    (
        "first_element_forgotten",
        "the first element of a row was not looked at",
        first_forgotten,
    ),
    ("minimum", "the minimum won", partial(of_changed, np.negative)),
    ("always_first", "the first element won whatever the others are", always_first),
    ("always_last", "the last element won whatever the others are", always_last),
    (
        "maximum_carried_over",
        "the maximum of the rows before was kept, so that a row that is not above it stayed empty",
        maximum_carried_over,
    ),
    (
        "maximum_of_all_rows",
        "only rows that reach the maximum of the whole tensor had a place",
        maximum_of_all_rows,
    ),
)

#: Wrong `argmax` of some tensors alone.
LAST_OF_TIES = partial(of_places, last_of_ties)
IN_8_BITS = partial(of_places, partial(in_bits, 8))

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
        faulty("sum", name, text, partial(of_sums, partial(left_out, np.inf, kept)))
        for name, text, kept in _ROWS_KEPT
    ),
    *(
        faulty(
            "argmax",
            f"{name}_in_argmax",
            f"{text} when maxima were searched",
            partial(of_places, partial(left_out, -1, kept)),
            aliases=(name,),
        )
        for name, text, kept in _ROWS_KEPT
    ),
)


# ── the places of the first k ─────────────────────────────────────────────────────────────────


def of_tops(
    change: RowChange,
    original: Callable[..., tuple[Array, Places]],
    x: Array,
    k: int,
    axis: int,
    largest: bool,
) -> tuple[Array, Places]:
    """Fault of `top_k`: `change` of the rows makes the places of the first `k`.

    A row that is cut too short for `k` is whole. An empty `x` and a `k` of 0 are computed right. A
    place of -1 means the last element.
    """
    if not x.size or not k:
        return original(x, k, axis, largest)
    lined = np.moveaxis(x, axis, -1)
    whole = lined.reshape(-1, x.shape[axis])

    def right(m: Matrix) -> Places:
        _, places = plain.top_k(m if m.shape[1] >= k else whole, k, 1, largest)
        return places

    places = np.moveaxis(change(right, whole).reshape(*lined.shape[:-1], k), -1, axis)
    return np.take_along_axis(x, places % x.shape[axis], axis), places


def top_of_the_other_end(
    original: Callable[..., tuple[Array, Places]], x: Array, k: int, axis: int, largest: bool
) -> tuple[Array, Places]:
    """Mutant: the smallest for the largest, and the reverse."""
    return original(x, k, axis, not largest)


def later_ties_kept(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the last of equal elements are kept, in the order of their places."""
    kept = np.sort(last_of_ties(right, m), axis=1)
    order = right(np.take_along_axis(m, kept, 1))
    return np.take_along_axis(kept, order, 1)


def later_tie_kept_if_one(right: RowFunction, m: Matrix) -> Places:
    """Mutant: the last of equal elements wins where k is 1."""
    return last_of_ties(right, m) if right(m).shape[1] == 1 else right(m)


TOPS: tuple[Mutant, ...] = faults(
    "top_k",
    of_tops,
    ("later_ties_come_first", "of equal elements the last came first", last_of_ties),
    (
        "later_ties_kept",
        "of elements equal to the last one that is kept, the last were",
        later_ties_kept,
    ),
    (
        "later_tie_kept_if_one",
        "of equal elements the last was kept where k is 1",
        later_tie_kept_if_one,
    ),
    *(
        (
            f"top_unstable_beyond_{n}",
            f"rows of more than {n} elements were sorted so that of equal ones the last came first",
            partial(last_of_ties_in_rows_of, range(n + 1, sys.maxsize)),
        )
        for n in (16, 32, 256, 1024)
    ),
    faulty(
        "top_k",
        "top_of_the_other_end",
        "the largest were taken for the smallest, and the other way round",
        top_of_the_other_end,
    ),
    (
        "top_of_magnitudes",
        "magnitudes were compared",
        partial(of_changed, np.abs),
        (*SIGNED, *FLOATS),
    ),
    (
        "top_zeros_apart",
        "-0 was less than +0",
        partial(of_changed, partial(zeros_apart, _TINY)),
        FLOATS,
    ),
    (
        "top_of_bits",
        "elements were compared by their bits, as integers of the other sign",
        partial(of_changed, bits_of_the_other_sign),
        (*FLOATS, *SIGNED, *UNSIGNED),
    ),
    *(
        (
            f"top_compared_in_{np.dtype(dtype).name}",
            f"elements were compared in {np.dtype(dtype).name}",
            partial(of_changed, partial(np.asarray, dtype=dtype)),
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
            partial(of_first, partial(whole_vectors, width)),
        )
        for width in el.WIDTHS
    ),
    *(
        (
            f"top_of_{stop}_elements",
            f"only the first {stop} elements of a row were looked at",
            partial(of_first, partial(min, stop)),
        )
        for stop in (65536, 1024, 256)
    ),
    *(
        (
            f"top_in_{count}_bits",
            f"the places of the elements in their row had {count} bits",
            partial(in_bits, count),
        )
        for count in (16, 8)
    ),
)

FAULTS: tuple[Mutant, ...] = (*PLACES, *LEFT_OUT, *TOPS)
