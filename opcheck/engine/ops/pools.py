"""AveragePool and MaxPool over windows, and the three pools over all spatial axes at once.

All versions, for X of shape N×C×D1×…×Dn, where a window holds the elements that are no padding:

- AveragePool: the sum of a window's elements divided by their number, or, with count_include_pad,
  by that of its places inside of the padded input;
- MaxPool: the largest element, and if asked for its index in X as a list;
- GlobalAveragePool, GlobalMaxPool: the same of all elements of a channel;
- GlobalLpPool: their norm, (Σ |x|^p)^(1/p).

The parts of the file: what the texts leave open; NaN in maxima; the global pools; the windows;
AveragePool; MaxPool. Mutants follow their operators. LpPool, MaxUnpool and MaxRoiPool have files of
their own.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    NO_WINDOW_FITS,
    AxisWindows,
    Windows,
    up,
    windows_of,
)
from opcheck.engine.operators import check_one_of, formulas_of_versions, leave_open, operator
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NAN_IN_MAXIMUM, flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, decline, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen

NAMES = """AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool MaxPool"""

AVERAGE_POOL = operator("AveragePool")
MAX_POOL = operator("MaxPool", exact=True)
GLOBAL_AVERAGE_POOL = operator("GlobalAveragePool")
GLOBAL_LP_POOL = operator("GlobalLpPool", low=0.0)
GLOBAL_MAX_POOL = operator("GlobalMaxPool", exact=True)

#: Axes over which a channel is reduced.
Axes: TypeAlias = tuple[int, ...]

# ── what the texts leave open ─────────────────────────────────────────────────────────────────

DROPPED_WINDOW = Ruling(
    "window-in-the-padding-under-ceil-mode",
    "Before version 22 the formula of ceil_mode counts a last window that starts in the padding at"
    " the end, and no text states what it holds.",
    ("dropped", "counted"),
)
COUNTED_WINDOW = Ruling(
    "window-in-the-padding",
    "The text does not state whether a last window counts that starts in the padding at the end.",
    ("counted", "dropped"),
)
MEAN_OF_NOTHING = Ruling(
    "mean-of-nothing",
    "The text does not define the mean of a window without elements.",
    ("nan", "zero"),
)
VALID_UNDER_CEIL_MODE = Ruling(
    "valid-under-ceil-mode",
    "The formula of VALID does not mention ceil_mode.",
    ("as_without_ceil_mode", "rounded_up"),
)
ROUNDED_DOWN = Ruling(
    "sizes-rounded-down",
    "The formulas of version 11 round sizes under auto_pad down; all others round them up, and so"
    " do the attribute's own words.",
    ("rounded_up", "rounded_down"),
)
INDEX_OF_TIES = Ruling(
    "index-of-equal-elements",
    "The text does not state which of equal elements of a window an index is of.",
    ("first", "last"),
    by_element=True,
)
INDEX_BY_COLUMNS = Ruling(
    "index-by-columns",
    "The text does not state whether column-major order includes batches and channels.",
    ("of_the_whole_tensor", "of_each_plane"),
)
P_BELOW_1 = Ruling(
    "p-below-1",
    "In version 1 p may be any number, and below 1 the formula gives no norm.",
    ("formula", "refused"),
)
GLOBAL_RANK = Ruling(
    "global-rank",
    'GlobalLpPool-1 has outputs of "N x C x 1 x 1" whatever the rank of the input.',
    ("rank_of_the_input", "rank_4"),
)
#: Why a node without an answer is declined.
OF_NOTHING = "nothing is said of what is made of no values"
#: What is left open, while judging, of whole nodes.
ENDS = "nothing is said of the maximum of a window that starts in the padding at the end"
#: Of single elements that may be anything.
TIES = "which of more than two equal elements is meant"


# ── NaN in maxima ─────────────────────────────────────────────────────────────────────────────


def is_nan(x: Array) -> NDArray[np.bool_]:
    """Return a mask, plain booleans, of the elements that are NaN; integers never are."""
    values = seen(x)
    mask: NDArray[np.bool_] = np.asarray(values != values, bool)
    return mask


def with_nan_as_read(x: Array, axes: int | Axes) -> Array:
    """Return what the maximum along `axes` is taken of, where NaN is as NAN_IN_MAXIMUM reads it.

    If the maximum of NaN and a number is the number, NaN is −∞ where there is a number along the
    axes. If it is NaN, and without NaN, `x` is returned as it is.
    """
    is_none = is_nan(x)
    if not is_none.any() or NAN_IN_MAXIMUM.reading() == "nan":
        return x
    has_number = ~is_none.all(axis=axes, keepdims=True)
    return xp.where(is_none & has_number, xp.full_like(x, -np.inf), x)


# ── global pools ──────────────────────────────────────────────────────────────────────────────


def mean_of_all(x: Array, axes: Axes) -> Array:
    """Return the mean of each channel along `axes`, which are kept with length 1."""
    return xp.mean(x, axis=axes, keepdims=True)


def sum_of_shares(x: Array, axes: Axes) -> Array:
    """Return the mean along `axes`, kept with length 1, as a sum of elements over their number."""
    return xp.sum(x / prod(x.shape[2:]), axis=axes, keepdims=True)


def maximum_of_all(x: Array, axes: Axes) -> Array:
    """Return the maximum of each channel along `axes`, which are kept with length 1.

    Of NaN and numbers it is NaN or the largest number: NAN_IN_MAXIMUM.
    """
    return xp.max(with_nan_as_read(x, axes), axis=axes, keepdims=True)


def norm_of_all(x: Array, axes: Axes, p: float) -> Array:
    """Return (Σ |x|^p)^(1/p) of each channel along `axes`, which are kept; p > 0."""
    total = xp.sum(xp.pow(xp.abs(x), p), axis=axes, keepdims=True)
    return xp.pow(total, xp.real(1) / p)


def scaled_norm_of_all(x: Array, axes: Axes, p: float) -> Array:
    """Return (Σ |x|^p)^(1/p) along `axes`, kept with length 1, with the errors of two other ways.

    Values are those of `norm_of_all`. The ways are a norm of shares of the largest element, times
    that element, and a norm from the mean of the powers.
    """
    return xp.inexact(norm_of_all(x, axes, p), 4 + 2 / p)


def spatial_axes(X: Array) -> Axes:
    """Return the axes of X behind batches and channels, 2 to n + 1 of N×C×D1×…×Dn.

    Raises InvalidNode if there are none; NotSupported if one of them is empty.
    """
    reject(X.ndim < 3, f"input of rank {X.ndim}; allowed: 3 or more, N×C×D1×…×Dn")
    decline(not all(X.shape[2:]), OF_NOTHING)
    return tuple(range(2, X.ndim))


@formulas_of_versions(1, 22)
def global_pool(reduce: Callable[[Array, Axes], Array], X: Array) -> Array:
    """Return each channel of X, N×C×D1×…×Dn, reduced to one element, N×C×1×…×1.

    reduce: the mean or the maximum along axes, which are kept; of NaN and numbers the maximum is
    NaN or the largest number, NAN_IN_MAXIMUM. Raises InvalidNode for X of rank below 3;
    NotSupported if a spatial axis is empty.
    """
    return reduce(X, spatial_axes(X))


@formulas_of_versions(each={1: 1, 2: 2, 22: 2})
def global_lp_pool(
    norm: Callable[[Array, Axes, float], Array], since: int, X: Array, *, p: float
) -> Array:
    """Return the norm (Σ |x|^p)^(1/p) of each channel of X, N×C×D1×…×Dn, as N×C×1×…×1.

    In version 1 p may be a fraction; one below 1 is computed or refused: P_BELOW_1. There, of
    another rank than 4, the output may have four axes: GLOBAL_RANK. norm: computes it; since: the
    version whose text decides.

    Raises InvalidNode for a p below 1 (in version 1, of 0 or less), infinite or NaN, and for X of
    rank below 3; NotSupported if a spatial axis is empty.
    """
    is_allowed = p >= 1 or (since == 1 and p > 0)
    if not is_allowed or p == inf:
        raise InvalidNode(f"p {p}; allowed: numbers from 1 on, in version 1 above 0")
    check_norm(p)
    y = norm(X, spatial_axes(X), float(p))
    if since == 1 and X.ndim != 4 and GLOBAL_RANK.reading() == "rank_4":
        return xp.reshape(y, (*X.shape[:2], 1, 1))
    return y


def check_norm(p: float) -> None:
    """Raise InvalidNode for a p below 1 if P_BELOW_1 refuses it; else it is computed with."""
    if p < 1:
        reject(P_BELOW_1.reading() == "refused", f"p {p}; below 1 there is no norm")


GLOBAL_AVERAGE_POOL.formula_and_alternatives(global_pool, mean_of_all, sum_of_shares)
GLOBAL_LP_POOL.formula_and_alternatives(global_lp_pool, norm_of_all, scaled_norm_of_all)
GLOBAL_MAX_POOL.formula_and_alternatives(global_pool, maximum_of_all)


# ── windows ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Attributes:
    """The attributes of a pool that say where its windows are; None where left out."""

    kernel_shape: Sequence[int]
    strides: Sequence[int] | None
    dilations: Sequence[int] | None
    pads: Sequence[int] | None
    auto_pad: str
    ceil_mode: bool

    def windows_over(self, X: Array, open_sizes: Collection[Ruling]) -> Windows:
        """Return the windows over X, N×C×D1×…×Dn, in the number that the attributes give.

        open_sizes: the rulings that decide for this operator if an output of size 0 or less is
        empty or refused, and the like. Raises InvalidNode for X of rank below 3, lists of another
        length than its spatial axes need, kernels, strides and dilations below 1, pads below 0 or
        beside an auto_pad, an unknown auto_pad or ceil_mode, and where no window fits; MemoryError
        for an output that is too large.
        """
        return windows_of(
            X.shape,
            self.kernel_shape,
            strides=self.strides,
            dilations=self.dilations,
            pads=self.pads,
            auto_pad=self.auto_pad,
            ceil_mode=self.ceil_mode,
            open_sizes=open_sizes,
        )

    def padding_at_the_ends(self, windows: Windows) -> Sequence[int]:
        """Return how many elements of padding count_include_pad counts behind each spatial axis.

        Without pads, as for VALID, none. Under SAME all that windows reach counts: instead of the
        padding the span of all windows is returned, which is never less.
        """
        if self.auto_pad.startswith("SAME"):
            return [axis.span for axis in windows.axes]
        if self.pads is None:
            return [0] * len(windows.axes)
        return self.pads[len(windows.axes) :]


def started_within(windows: Windows) -> Windows:
    """Return the windows without those that start in the padding at the end of an axis.

    These are the last ones of the axis, if there are any.
    """
    axes = (
        replace(axis, size=min(axis.size, up(axis.length + axis.begin, axis.stride)))
        for axis in windows.axes
    )
    return replace(windows, axes=tuple(axes))


def rounded_up_if_valid(windows: Windows, attributes: Attributes) -> Windows:
    """Return the windows over the input, in the number that VALID with ceil_mode has.

    Where rounding the size up gives one more, that one counts or not: VALID_UNDER_CEIL_MODE.
    Without ceil_mode or VALID the windows are returned as they are.
    """
    if attributes.auto_pad != "VALID" or not attributes.ceil_mode:
        return windows
    axes = tuple(replace(axis, size=up(axis.room, axis.stride) + 1) for axis in windows.axes)
    is_same = axes == windows.axes
    if is_same or VALID_UNDER_CEIL_MODE.reading() == "as_without_ceil_mode":
        return windows
    return replace(windows, axes=axes)


def rounded_down(axis: AxisWindows) -> AxisWindows:
    """Return the windows along an axis under auto_pad, as many as the formulas of version 11 have.

    There may be none. The padding of SAME follows from their number.
    """
    if not axis.same:
        return replace(axis, size=(axis.room + 1) // axis.stride)
    size = axis.length // axis.stride
    return replace(axis, size=size, begin=(axis.padding(size) + axis.is_lower) // 2)


# ── AveragePool ───────────────────────────────────────────────────────────────────────────────

#: By how many a window's sum is divided, from the windows over X, from the same over X with its
#: padding, and from count_include_pad; it broadcasts to the output.
Divisor: TypeAlias = Callable[[Windows, Windows, int], NDArray[np.intp]]


@formulas_of_versions(each={1: 1, 7: 1, 10: 1, 11: 11, 19: 19, 22: 22})
def average_pool(
    divisor: Divisor,
    since: int,
    X: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the mean of each window over X, N×C×D1×…×Dn, as N×C×O1×…×On.

    "divided by the number of elements (exclude pad when attribute count_include_pad is zero)". What
    hangs over the end under ceil_mode is no pixel that was added, and never counts. divisor: makes
    the numbers of elements. since: the version whose text decides. Readings decide if last windows
    count that start in the padding at the end, DROPPED_WINDOW and COUNTED_WINDOW, or that rounding
    up adds, VALID_UNDER_CEIL_MODE and ROUNDED_DOWN; if an output of size 0 is refused,
    NO_WINDOW_FITS; and if the mean of none of X is NaN or 0, MEAN_OF_NOTHING.

    Raises InvalidNode for X of rank below 3, attributes of another length than its spatial axes
    need or too small, pads beside an auto_pad, an unknown auto_pad, a ceil_mode other than 0 and 1
    if FLAG_OF_ANOTHER_NUMBER refuses it, and where no window fits; MemoryError for an output that
    is too large. A window that starts before the padding at the end and holds padding alone may be
    anything, if padding does not count: raises NotSupported, while judging, if all are such, and in
    graphs.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=flag("ceil_mode", ceil_mode),
    )
    windows = windows_of_means(since, X, attributes)
    ends = attributes.padding_at_the_ends(windows)
    padded = replace(
        windows,
        axes=tuple(
            replace(axis, begin=0, length=axis.length + axis.begin + end)
            for axis, end in zip(windows.axes, ends, strict=True)
        ),
    )
    count = divisor(windows, padded, count_include_pad)
    # Padding alone, which does not count: the text divides by 0 elements.
    is_open = are_in_padding(windows) & (not count_include_pad)
    total = xp.sums(X, windows.sums, windows.terms)
    # A float16 would round the count.
    y = xp.astype(total / count.astype(np.float64), X.dtype)
    is_at_the_end = (count == 0) & ~is_open
    if is_at_the_end.any() and MEAN_OF_NOTHING.reading() == "zero":
        y = xp.where(is_at_the_end, xp.zeros_like(y), y)
    return undefined_where(y, is_open, "means of nothing")


def are_in_padding(windows: Windows) -> NDArray[np.bool_]:
    """Return a mask of windows of padding alone that start before the padding at the end.

    It has the spatial shape of the output, O1×…×On.
    """
    kept = started_within(windows)
    mask = np.zeros([axis.size for axis in windows.axes], np.bool_)
    mask[tuple(slice(axis.size) for axis in kept.axes)] = kept.terms == 0
    return mask


def windows_of_means(since: int, X: Array, attributes: Attributes) -> Windows:
    """Return the windows of AveragePool, in the number that the readings in force give.

    A last window that starts in the padding at the end counts under auto_pad. Otherwise it is
    dropped with ceil_mode since version 22; before, and without ceil_mode, it is dropped or
    counted: DROPPED_WINDOW, COUNTED_WINDOW. An output of size 0 is empty or refused:
    NO_WINDOW_FITS. Sizes are rounded up or not for VALID with ceil_mode before version 11,
    VALID_UNDER_CEIL_MODE, and up or down under auto_pad in version 11, ROUNDED_DOWN.

    Raises InvalidNode for attributes that do not fit X or are out of range, and where no window
    fits; MemoryError for an output that is too large.
    """
    windows = attributes.windows_over(X, (NO_WINDOW_FITS,))
    if since < 11:
        windows = rounded_up_if_valid(windows, attributes)
    if since == 11 and attributes.auto_pad != "NOTSET" and not attributes.ceil_mode:
        axes = tuple(map(rounded_down, windows.axes))
        if axes != windows.axes and ROUNDED_DOWN.reading() == "rounded_down":
            windows = replace(windows, axes=axes)
    kept = started_within(windows)
    if attributes.auto_pad != "NOTSET" or kept == windows:
        return windows
    if not attributes.ceil_mode:
        is_dropped = COUNTED_WINDOW.reading() == "dropped"
    else:
        is_dropped = since >= 22 or DROPPED_WINDOW.reading() == "dropped"
    return kept if is_dropped else windows


def elements_that_count(
    windows: Windows, padded: Windows, count_include_pad: int
) -> NDArray[np.intp]:
    """Return the number of elements of each window, with padding unless count_include_pad is 0.

    It broadcasts to the output. windows: over X; padded: over X with its padding.
    """
    return padded.terms if count_include_pad else windows.terms


AVERAGE_POOL.formula(build=average_pool)(elements_that_count)


@AVERAGE_POOL.mutant("what hangs over the padding counted", 10, 11, 19, 22, build=average_pool)
def whole_windows(windows: Windows, padded: Windows, count_include_pad: int) -> NDArray[np.intp]:
    """Mutant: a sum is divided by the size of the kernel, whatever hangs over the padding."""
    if not count_include_pad:
        return windows.terms
    return np.full_like(padded.terms, prod(axis.kernel for axis in windows.axes))


#: The padding at the beginning and the end of an axis that counts, from the padding there is.
CountedPadding: TypeAlias = Callable[[int, int], tuple[int, int]]


def counting(
    padding: CountedPadding, windows: Windows, padded: Windows, count_include_pad: int
) -> NDArray[np.intp]:
    """Mutant: with count_include_pad, only a part of the padding counts, at either end `padding`.

    It returns the number of elements of each window. windows: over X; padded: over X with all of
    its padding.
    """
    if not count_include_pad:
        return windows.terms
    axes = []
    for axis, whole in zip(windows.axes, padded.axes, strict=True):
        begin, end = padding(axis.begin, whole.length - axis.length - axis.begin)
        length = axis.length + begin + end
        axes.append(replace(axis, begin=axis.begin - begin, length=length))
    return replace(windows, axes=tuple(axes)).terms


def of_beginnings(begin: int, end: int) -> tuple[int, int]:
    """Mutant: padding counts at the beginnings alone."""
    return begin, 0


def of_ends(begin: int, end: int) -> tuple[int, int]:
    """Mutant: padding counts at the ends alone."""
    return 0, end


def of_beginnings_twice(begin: int, end: int) -> tuple[int, int]:
    """Mutant: at an end there counts no more padding than at the beginning."""
    return begin, min(begin, end)


def of_ends_twice(begin: int, end: int) -> tuple[int, int]:
    """Mutant: at a beginning there counts no more padding than at the end."""
    return min(begin, end), end


AVERAGE_POOL.mutant_table(
    {
        name: (f"count_include_pad counted {text}", partial(counting, padding))
        for name, text, padding in (
            ("counted_pads_ends_ignored", "no padding at the ends of axes", of_beginnings),
            ("counted_pads_beginnings_ignored", "no padding at the beginnings of axes", of_ends),
            (
                "counted_pads_beginnings_for_both",
                "as much padding at the end of an axis as at its beginning, and no more",
                of_beginnings_twice,
            ),
            (
                "counted_pads_ends_for_both",
                "as much padding at the beginning of an axis as at its end, and no more",
                of_ends_twice,
            ),
        )
    },
    7,
    10,
    11,
    19,
    22,
    build=average_pool,
    is_asked=False,
)


# ── MaxPool ───────────────────────────────────────────────────────────────────────────────────

#: Y, and the indices if the node has two outputs, from X, the windows, storage_order and the number
#: of outputs.
Maxima: TypeAlias = Callable[[Array, Windows, int, int], tuple[Array, ...]]


@formulas_of_versions(each={1: 1, 8: 8, 10: 8, 11: 8, 12: 12, 22: 22})
def max_pool(
    maxima: Maxima,
    since: int,
    X: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    storage_order: int = 0,
    strides: Sequence[int] | None,
    outputs: int = 1,
) -> tuple[Array, ...]:
    """Return the maximum of each window over X, N×C×D1×…×Dn, and if asked for its index.

    Both have the shape N×C×O1×…×On. maxima: computes them; of NaN and numbers either counts,
    NAN_IN_MAXIMUM, and of two equal maxima the first or last has the index, INDEX_OF_TIES. since:
    the version. outputs: 2 if the node has indices. An output of size 0 is empty or refused,
    NO_WINDOW_FITS; sizes of VALID with ceil_mode before version 12 are rounded up or not,
    VALID_UNDER_CEIL_MODE. Since version 22, under ceil_mode without auto_pad, windows that start in
    the padding at the end are dropped.

    Raises InvalidNode for X of rank below 3, attributes of wrong lengths or too small, pads beside
    an auto_pad, an unknown auto_pad or storage_order, a ceil_mode other than 0 and 1 if
    FLAG_OF_ANOTHER_NUMBER refuses it, and where no window fits. Raises NotSupported for a window of
    padding alone, and indices in version 1; while judging, also for one that starts in the padding
    at the end before version 22 or without ceil_mode. Indices of more than two equal maxima may be
    anything. Raises MemoryError for an output that is too large.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=flag("ceil_mode", ceil_mode),
    )
    check_one_of("storage_order", storage_order, 0, 1)
    windows = attributes.windows_over(X, (NO_WINDOW_FITS,))
    if since < 12:
        windows = rounded_up_if_valid(windows, attributes)
    kept = started_within(windows)
    if attributes.auto_pad == "NOTSET" and kept != windows:
        if since < 22 or not attributes.ceil_mode:
            leave_open(ENDS)
        windows = kept if attributes.ceil_mode else windows
    decline(not windows.terms.all() or outputs > 1 + (since >= 8), OF_NOTHING)
    return maxima(X, windows, storage_order, outputs)


@MAX_POOL.formula(build=max_pool)
def maxima_of_windows(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Return the maxima (Y,) or, of two outputs, Y and where they are in X as a list, int64.

    windows: each with an element. Of NaN and numbers the maximum is NaN or the largest number,
    NAN_IN_MAXIMUM. The index is that of the first or of the last of equal elements, INDEX_OF_TIES;
    `storage_order` 1 counts by columns of each plane or of the whole tensor, INDEX_BY_COLUMNS.
    The index of more than two equal maxima may be anything, TIES: raises NotSupported, while
    judging, where something is computed of it.
    """
    batch, channels, *lengths = X.shape
    size = prod(lengths)
    planes = xp.reshape(X, (batch, channels, size))
    maxima = []
    indices = []
    are_undefined = []
    for part in windows.portions(batch * channels * prod(axis.kernel for axis in windows.axes)):
        places = part.places(lengths)
        # The first element of a window stands for its padding, too.
        first = np.where(places < 0, size, places).min(axis=0)
        places = np.where(places < 0, first, places)
        under = with_nan_as_read(xp.take(planes, places, axis=2), 2)
        y = xp.max(under, axis=2)
        maxima.append(xp.reshape(y, part.shape))
        if outputs > 1:
            is_maximum = xp.equal(under, xp.expand_dims(y, axis=2))
            if is_nan(y).any():
                is_maximum = is_maximum | (is_nan(under) & is_nan(y)[:, :, np.newaxis])
            ends = ends_of_maxima(is_maximum, places, size)
            indices.append(one_of_ends(*ends).reshape(part.shape))
            are_undefined.append(have_others(is_maximum, places, *ends).reshape(part.shape))
    y = xp.concat(maxima, axis=2)
    if outputs == 1:
        return (y,)
    joined: Array = xp.concat(indices, axis=2)
    index = indices_in_list(joined, X.shape, storage_order)
    return y, undefined_where(index, np.concatenate(are_undefined, axis=2), TIES)


def one_of_ends(first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first or the last place of the maximum of each window, by INDEX_OF_TIES.

    first, last: [N, C, windows], as `ends_of_maxima` returns them; equal where there is one
    maximum.
    """
    if (first == last).all():
        return first
    return last if INDEX_OF_TIES.reading() == "last" else first


def have_others(
    is_maximum: NDArray[np.bool_],
    places: NDArray[np.intp],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Return a mask of windows that have more than two places of their maximum, [N, C, windows].

    is_maximum: [N, C, elements of a window, windows]; places: of the elements in a plane, [elements
    of a window, windows], of which some may be repeated; first, last: the first and the last place
    of each maximum, [N, C, windows].
    """
    is_between = (places > first[:, :, np.newaxis]) & (places < last[:, :, np.newaxis])
    return np.asarray((is_maximum & is_between).any(axis=2), np.bool_)


def ends_of_maxima(
    is_maximum: NDArray[np.bool_], places: NDArray[np.intp], size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last place of the maximum of each window in its plane.

    They are equal where there is one. is_maximum: a mask, with a maximum in each window, [N, C,
    elements of a window, windows]; places: [elements of a window, windows], each below `size`. The
    results are [N, C, windows].
    """
    first = np.where(is_maximum, places, size - 1).min(axis=2)
    last = np.where(is_maximum, places, -1).max(axis=2)
    return np.asarray(first, np.intp), np.asarray(last, np.intp)


def indices_in_list(
    places: NDArray[np.intp], shape: Sequence[int], storage_order: int
) -> NDArray[np.int64]:
    """Return places in planes, N×C×O1×…×On, as indices in a tensor of this shape, int64.

    shape: N×C×D1×…×Dn. "0 is row major, and 1 is column major"; of several planes column-major
    order is that of each, or of the whole tensor: INDEX_BY_COLUMNS.
    """
    batch, channels, *lengths = shape
    of_plane = np.ogrid[: places.shape[0], : places.shape[1]]
    numbers_of_plane = [x.reshape(*x.shape, *[1] * len(lengths)) for x in of_plane]
    within = np.unravel_index(places, lengths)
    order: Literal["C", "F"] = "F" if storage_order else "C"
    is_open = storage_order and (batch, channels) != (1, 1)
    if is_open and INDEX_BY_COLUMNS.reading() == "of_each_plane":
        plane = numbers_of_plane[0] * channels + numbers_of_plane[1]
        indices = plane * prod(lengths) + np.ravel_multi_index(within, lengths, order=order)
        return indices.astype(np.int64)
    every = (*numbers_of_plane, *within)
    return np.ravel_multi_index(every, tuple(shape), order=order).astype(np.int64)


@MAX_POOL.fast_path(build=max_pool)
def maxima_by_axes(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Return the maxima (Y,), taken along one axis after the other; NaN where a window holds NaN.

    X: a plain array. Of two outputs it is what `maxima_of_windows` gives: by the readings of
    NAN_IN_MAXIMUM, INDEX_OF_TIES and INDEX_BY_COLUMNS, and with NotSupported, while judging, for
    the index of more than two equal maxima.
    """
    if outputs > 1:
        both: tuple[Array, ...] = maxima_of_windows(X, windows, storage_order, outputs)
        return both
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    y: Array = windows.reduced(X, np.maximum, lowest)
    return (y,)


@MAX_POOL.mutant("padding held zeros", build=max_pool)
def padding_is_zero(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Mutant: the maximum of a window that reaches into padding is 0 at least.

    Raises NotSupported, while judging, for the index of more than two equal maxima.
    """
    y, *indices = maxima_of_windows(X, windows, storage_order, outputs)
    is_padded = windows.terms < prod(axis.kernel for axis in windows.axes)
    at_least_0: Array = np.where(is_padded, np.maximum(y, 0), y)
    return at_least_0.astype(y.dtype), *indices


@MAX_POOL.mutant("indices began anew with each channel", 8, 10, 11, 12, 22, build=max_pool)
def indices_within_the_plane(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Mutant: indices count within a plane.

    Raises NotSupported, while judging, for the index of more than two equal maxima.
    """
    y, *indices = maxima_of_windows(X, windows, storage_order, outputs)
    size = prod(X.shape[2:])
    return y, *(index % size for index in indices)
