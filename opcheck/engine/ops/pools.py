"""AveragePool, MaxPool and LpPool over windows, and the three pools over all spatial axes at once.

All versions, for X of shape N×C×D1×…×Dn, where a window holds the elements that are no padding:

- AveragePool: the sum of a window's elements divided by their number, or, with count_include_pad,
  by that of its places inside of the padded input;
- MaxPool: the largest element, and if asked for its index in X as a list;
- LpPool: (Σ |x|^p)^(1/p);
- GlobalAveragePool, GlobalMaxPool, GlobalLpPool: the same of all elements of a channel.

The parts of the file: what the texts leave open; the global pools; the windows; AveragePool;
MaxPool; LpPool. Mutants follow their operators. MaxUnpool and MaxRoiPool have files of their own.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor, inf, log2, prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    NO_WINDOW_FITS,
    PART_OF_A_WINDOW,
    SIZE_BELOW_0,
    SIZE_UNDER_SAME,
    AxisWindows,
    Windows,
    up,
    windows_of,
)
from opcheck.engine.operators import formula_builder, leave_open, operator
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NAN_IN_MAXIMUM
from opcheck.errors import InvalidNode, decline, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen

NAMES = """AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool"""

AVERAGE_POOL = operator("AveragePool")
MAX_POOL = operator("MaxPool", exact=True)
LP_POOL = operator("LpPool", low=0.0)
GLOBAL_AVERAGE_POOL = operator("GlobalAveragePool")
GLOBAL_LP_POOL = operator("GlobalLpPool")
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
WITHOUT_KERNEL_SHAPE = Ruling(
    "without-kernel-shape",
    "LpPool-1 does not state what a kernel_shape means that is left out.",
    ("refused", "whole_extent"),
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
#: Reasons to decline.
OF_NOTHING = "nothing is said of what is made of no values"
ENDS = "nothing is said of the maximum of a window that starts in the padding at the end"
TIES = "any of more than two equal elements may be meant"


# ── NaN in maxima ─────────────────────────────────────────────────────────────────────────────


def is_nan(x: Array) -> NDArray[np.bool_]:
    """Return True for each NaN; integers never are."""
    values = seen(x)
    found: NDArray[np.bool_] = np.asarray(values != values, bool)
    return found


def with_nan_as_read(x: Array, axes: int | Axes) -> Array:
    """Return what the maximum along `axes` is taken of: NAN_IN_MAXIMUM.

    If the maximum of NaN and a number is the number, NaN is below all numbers next to one.
    """
    is_none = is_nan(x)
    if not is_none.any() or NAN_IN_MAXIMUM.reading() == "nan":
        return x
    has_number = ~is_none.all(axis=axes, keepdims=True)
    return np.where(is_none & has_number, x.dtype.type(-np.inf), x)


# ── global pools ──────────────────────────────────────────────────────────────────────────────


def mean_of_all(x: Array, axes: Axes) -> Array:
    """Return the mean of each channel."""
    return xp.mean(x, axis=axes, keepdims=True)


def sum_of_shares(x: Array, axes: Axes) -> Array:
    """Return the mean with each element divided by how many there are, before the sum."""
    return xp.sum(x / prod(x.shape[2:]), axis=axes, keepdims=True)


def maximum_of_all(x: Array, axes: Axes) -> Array:
    """Return the maximum of each channel."""
    return xp.max(with_nan_as_read(x, axes), axis=axes, keepdims=True)


def norm_of_all(x: Array, axes: Axes, p: float) -> Array:
    """Return (Σ |x|^p)^(1/p) of each channel."""
    total = xp.sum(xp.pow(xp.abs(x), p), axis=axes, keepdims=True)
    return xp.pow(total, xp.real(1) / p)


def scaled_norm_of_all(x: Array, axes: Axes, p: float) -> Array:
    """Return the norm by powers of shares of the maximum, or by the mean of powers."""
    return xp.inexact(norm_of_all(x, axes, p), 4 + 2 / p)


def spatial_axes(X: Array) -> Axes:
    """Return the axes behind batches and channels.

    Raises InvalidNode if there are none, NotSupported if one of them is empty.
    """
    reject(X.ndim < 3, f"input of rank {X.ndim}; allowed: 3 or more, N×C×D1×…×Dn")
    decline(not all(X.shape[2:]), OF_NOTHING)
    return tuple(range(2, X.ndim))


@formula_builder(1, 22)
def global_pool(reduce: Callable[[Array, Axes], Array], X: Array) -> Array:
    """Return each channel of X, N×C×D1×…×Dn, reduced to one element, N×C×1×…×1."""
    return reduce(X, spatial_axes(X))


@formula_builder(each={1: 1, 2: 2, 22: 2})
def global_lp_pool(
    norm: Callable[[Array, Axes, float], Array], since: int, X: Array, *, p: float
) -> Array:
    """Return the norm of each channel of X, N×C×D1×…×Dn, as N×C×1×…×1.

    Version 1 has fractional p as well, and outputs of four axes: P_BELOW_1, GLOBAL_RANK.
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
    """Refuse a p below 1 if P_BELOW_1 is read so."""
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
    ceil_mode: int

    def windows_over(self, X: Array, open_sizes: Collection[Ruling]) -> Windows:
        """Return the windows over X; see `windows_of`."""
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
        """Return the padding behind each axis; under SAME at least as much as windows hold."""
        if self.auto_pad.startswith("SAME"):
            return [axis.span for axis in windows.axes]
        if self.pads is None:
            return [0] * len(windows.axes)
        return self.pads[len(windows.axes) :]


def started_within(windows: Windows) -> Windows:
    """Return those windows that start before the padding at the end of each axis."""
    axes = (
        replace(axis, size=min(axis.size, up(axis.length + axis.begin, axis.stride)))
        for axis in windows.axes
    )
    return replace(windows, axes=tuple(axes))


def rounded_up_if_valid(windows: Windows, attributes: Attributes) -> Windows:
    """Return as many windows under VALID and ceil_mode as VALID_UNDER_CEIL_MODE gives."""
    if attributes.auto_pad != "VALID" or not attributes.ceil_mode:
        return windows
    axes = tuple(replace(axis, size=up(axis.room, axis.stride) + 1) for axis in windows.axes)
    is_same = axes == windows.axes
    if is_same or VALID_UNDER_CEIL_MODE.reading() == "as_without_ceil_mode":
        return windows
    return replace(windows, axes=axes)


def rounded_down(axis: AxisWindows) -> AxisWindows:
    """Return as many windows under auto_pad as the formulas of version 11 have."""
    if not axis.same:
        return replace(axis, size=(axis.room + 1) // axis.stride)
    size = axis.length // axis.stride
    return replace(axis, size=size, begin=(axis.padding(size) + axis.is_lower) // 2)


# ── AveragePool ───────────────────────────────────────────────────────────────────────────────

#: By how many a window's sum is divided, from the windows over X, from the same over X with its
#: padding, and from count_include_pad; it broadcasts to the output.
Divisor: TypeAlias = Callable[[Windows, Windows, int], NDArray[np.intp]]


@formula_builder(each={1: 1, 7: 1, 10: 1, 11: 11, 19: 19, 22: 22})
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
    """Return the mean of each window over X, N×C×D1×…×Dn.

    "divided by the number of elements (exclude pad when attribute count_include_pad is zero)". What
    hangs over the end under ceil_mode is no pixel that was added, and never counts.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    check_flag("count_include_pad", count_include_pad)
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
    if not (count_include_pad or started_within(windows).terms.all()):
        leave_open("nothing is said of means of nothing")
    # A float16 would round how many there are.
    total = xp.sums(X, windows.sums, windows.terms)
    y = xp.astype(total / count.astype(np.float64), X.dtype)
    if not count.all() and MEAN_OF_NOTHING.reading() == "zero":
        return xp.where(count == 0, xp.zeros_like(y), y)
    return y


def check_flag(name: str, value: int) -> None:
    """Raise InvalidNode for other than 0 and 1."""
    reject(value not in (0, 1), f"{name} {value}; allowed: 0, 1")


def windows_of_means(since: int, X: Array, attributes: Attributes) -> Windows:
    """Return the windows of AveragePool, in the number that the readings in force give.

    "Sliding windows that would start in the right padded region are ignored" is of version 22, and
    of ceil_mode.
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
    """Return the number of elements of each window, with padding or without."""
    return padded.terms if count_include_pad else windows.terms


AVERAGE_POOL.formula(build=average_pool)(elements_that_count)


@AVERAGE_POOL.mutant("what hangs over the padding counted", 10, 11, 19, 22, build=average_pool)
def whole_windows(windows: Windows, padded: Windows, count_include_pad: int) -> NDArray[np.intp]:
    """Mutant: a sum is divided by the size of the kernel, whatever hangs over the padding."""
    if not count_include_pad:
        return windows.terms
    return np.full_like(padded.terms, prod(axis.kernel for axis in windows.axes))


# ── MaxPool ───────────────────────────────────────────────────────────────────────────────────

#: Y, and the indices if the node has two outputs, from X, the windows, storage_order and the number
#: of outputs.
Maxima: TypeAlias = Callable[[Array, Windows, int, int], tuple[Array, ...]]


@formula_builder(each={1: 1, 8: 8, 10: 8, 11: 8, 12: 12, 22: 22})
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
    """Return the maximum of each window over X, N×C×D1×…×Dn, and if asked for its index."""
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    check_flag("storage_order", storage_order)
    windows = attributes.windows_over(X, (NO_WINDOW_FITS,))
    if since < 12:
        windows = rounded_up_if_valid(windows, attributes)
    kept = started_within(windows)
    if attributes.auto_pad == "NOTSET" and kept != windows:
        if since < 22 or not ceil_mode:
            leave_open(ENDS)
        windows = kept if ceil_mode else windows
    decline(not windows.terms.all() or outputs > 1 + (since >= 8), OF_NOTHING)
    return maxima(X, windows, storage_order, outputs)


@MAX_POOL.formula(build=max_pool)
def maxima_of_windows(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Return the maxima and, of two outputs, where they are in X as a list."""
    batch, channels, *lengths = X.shape
    size = prod(lengths)
    planes = xp.reshape(X, (batch, channels, size))
    maxima = []
    indices = []
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
            indices.append(place_of_maximum(is_maximum, places, size).reshape(part.shape))
    y = xp.concat(maxima, axis=2)
    if outputs == 1:
        return (y,)
    joined: Array = xp.concat(indices, axis=2)
    return y, indices_in_list(joined, X.shape, storage_order)


def place_of_maximum(
    is_maximum: NDArray[np.bool_], places: NDArray[np.intp], size: int
) -> NDArray[np.intp]:
    """Return the place of the maximum of each window in its plane; of ties, INDEX_OF_TIES.

    is_maximum: [N, C, elements of a window, windows]; places: [elements of a window, windows], each
    below `size`.
    """
    first: NDArray[np.intp] = np.where(is_maximum, places, size - 1).min(axis=2)
    last: NDArray[np.intp] = np.where(is_maximum, places, -1).max(axis=2)
    if (first == last).all():
        return first
    is_between = is_maximum & (places > first[:, :, np.newaxis]) & (places < last[:, :, np.newaxis])
    if is_between.any():
        leave_open(TIES)
    return last if INDEX_OF_TIES.reading() == "last" else first


def indices_in_list(
    places: NDArray[np.intp], shape: Sequence[int], storage_order: int
) -> NDArray[np.int64]:
    """Return places in planes, N×C×O1×…×On, as indices in a tensor of this shape.

    "0 is row major, and 1 is column major"; of several planes: INDEX_BY_COLUMNS.
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
    """Return the maxima along one axis after the other, with NaN as the maximum."""
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
    """Mutant: the maximum of a window that reaches into padding is 0 at least."""
    y, *indices = maxima_of_windows(X, windows, storage_order, outputs)
    is_padded = windows.terms < prod(axis.kernel for axis in windows.axes)
    return np.where(is_padded, np.maximum(y, 0), y).astype(y.dtype), *indices


@MAX_POOL.mutant("indices began anew with each channel", 8, 10, 11, 12, 22, build=max_pool)
def indices_within_the_plane(
    X: Array, windows: Windows, storage_order: int, outputs: int
) -> tuple[Array, ...]:
    """Mutant: indices count within a plane."""
    y, *indices = maxima_of_windows(X, windows, storage_order, outputs)
    size = prod(X.shape[2:])
    return y, *(index % size for index in indices)


# ── LpPool ────────────────────────────────────────────────────────────────────────────────────

#: The norms of windows, from X, p and the windows.
Norms: TypeAlias = Callable[[Array, float, Windows], Array]


@dataclass(frozen=True)
class LpText:
    """What a version of LpPool's text states otherwise than others.

    Attributes:
        is_first: p may be a fraction, and kernel_shape may be left out.
        open_sizes: What is open about sizes; see `windows_of`.
    """

    is_first: bool
    open_sizes: tuple[Ruling, ...]


#: Only since version 18 the text has formulas of sizes, and before 11 not even under SAME.
_OPEN_SINCE_18 = (NO_WINDOW_FITS, PART_OF_A_WINDOW)
_OPEN_SINCE_11 = (*_OPEN_SINCE_18, SIZE_BELOW_0)
_OPEN_SINCE_1 = (*_OPEN_SINCE_11, SIZE_UNDER_SAME)
LP_TEXTS: Mapping[int, LpText] = {
    1: LpText(is_first=True, open_sizes=_OPEN_SINCE_1),
    2: LpText(is_first=False, open_sizes=_OPEN_SINCE_1),
    11: LpText(is_first=False, open_sizes=_OPEN_SINCE_11),
    18: LpText(is_first=False, open_sizes=_OPEN_SINCE_18),
    22: LpText(is_first=False, open_sizes=_OPEN_SINCE_18),
}


@formula_builder(each=LP_TEXTS, alike=(2, 11, 18))
def lp_pool(
    norms: Norms,
    text: LpText,
    X: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] | None,
    p: float,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the norm of each window over X, N×C×D1×…×Dn; padding adds nothing to it.

    Version 1 has fractional p as well, and kernel_shape may be left out: P_BELOW_1,
    WITHOUT_KERNEL_SHAPE.
    """
    if text.is_first:
        reject(not 0 < p < inf, f"p {p}; allowed: numbers that are above 0 in float32")
        check_norm(p)
    else:
        reject(p < 1, f"p {p}; allowed: integers from 1 on")
    if kernel_shape is None:
        is_refused = not text.is_first or WITHOUT_KERNEL_SHAPE.reading() == "refused"
        reject(is_refused, "attribute kernel_shape is mandatory")
        kernel_shape = X.shape[2:]
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    windows = rounded_up_if_valid(attributes.windows_over(X, text.open_sizes), attributes)
    kept = started_within(windows)
    is_open = ceil_mode and auto_pad == "NOTSET" and kept != windows
    if is_open and COUNTED_WINDOW.reading() == "dropped":
        windows = kept
    return norms(X, float(p), windows)


@LP_POOL.formula(build=lp_pool)
def norms_of(X: Array, p: float, windows: Windows) -> Array:
    """Return (Σ |x|^p)^(1/p) of each window."""
    total = xp.sums(xp.pow(xp.abs(X), p), windows.sums, windows.terms)
    return xp.pow(total, xp.real(1) / p)


@LP_POOL.fast_path(build=lp_pool)
def norms_beyond_the_range(X: Array, p: float, windows: Windows) -> Array:
    """Return the norms, by shares of the largest element where powers nearly leave the range."""
    norms = np.asarray(norms_of(X, p, windows))
    info = np.finfo(X.dtype)
    # Sums of powers lose digits below so many times the smallest normal number.
    least = (windows.most * float(info.tiny) / float(info.eps)) ** (1 / p)
    # NaN is among them, as it compares with nothing.
    is_lost = ~((norms > 1.01 * least) & (norms < inf))
    if p == 1 or not is_lost.any():
        return norms
    largest = largest_magnitudes(X, p, windows)
    # Zeros, infinities and NaN are right where they come from such elements.
    places = np.flatnonzero(is_lost & (largest > 0) & (largest < inf))
    for portion, rows in windows.gathered(X, places):
        sizes = np.abs(rows)
        top = sizes.max(axis=1, keepdims=True)
        norms.flat[places[portion]] = ((sizes / top) ** p).sum(axis=1) ** (1 / p) * top[:, 0]
    return norms


@LP_POOL.alternative("", build=lp_pool)
def scaled(X: Array, p: float, windows: Windows) -> Array:
    """Return the norms by powers of shares of the window's maximum, or by the mean of powers."""
    return xp.inexact(norms_of(X, p, windows), 4 + 2 / p)


# ── mutants of LpPool ─────────────────────────────────────────────────────────────────────────


def largest_magnitudes(X: Array, p: float, windows: Windows) -> Array:
    """Return the largest magnitude of each window, NaN where it holds one; a mutant, too."""
    return windows.reduced(np.abs(X), np.maximum, 0)


def norms_for_p_1(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: magnitudes are added up, whatever p."""
    return norms_of(X, 1.0, windows)


def large_p_is_infinity(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: a p above 16 gives the largest magnitude."""
    return largest_magnitudes(X, p, windows) if p > 16 else norms_of(X, p, windows)


def signs_kept(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: no absolute value is taken, and a negative sum has a negative root."""
    powers = np.power(np.abs(X), p)
    total = windows.sums(powers * np.sign(X) if p % 2 else powers)
    return np.copysign(np.power(np.abs(total), 1 / p), total).astype(X.dtype)


def signs_kept_for_p_1(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: for p of 1 the elements are added up as they are."""
    return windows.sums(X) if p == 1 else norms_of(X, p, windows)


def windows_of_one_copied(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: a window of one element is that element, with its sign."""
    is_copied = all(axis.kernel == 1 for axis in windows.axes)
    return windows.sums(X) if is_copied else norms_of(X, p, windows)


def tiny_values_are_zero(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: values below float32's epsilon are 0."""
    return norms_of(np.where(np.abs(X) < 2**-23, 0, X), p, windows)


def nan_dropped_and_rescaled(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: the norms of the elements that are not NaN, scaled up to the whole window."""
    is_none = np.isnan(X)
    size = prod(axis.kernel for axis in windows.axes)
    remaining = np.maximum(1, size - windows.sums(is_none.astype(np.int64)))
    norms = norms_of(np.where(is_none, X.dtype.type(0), X), p, windows)
    return (norms * (size / remaining) ** (1 / p)).astype(X.dtype)


def windows_with_infinities(X: Array, p: float, windows: Windows, *, value: float) -> Array:
    """Mutant: the norm of a window with an infinity is `value`."""
    has_infinity = windows.sums(np.isinf(X).astype(np.int64)) > 0
    return np.where(has_infinity, value, norms_of(X, p, windows))


def root_4_ulp_too_large(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: the root is 4 ULP too large, as by way of a power."""
    norms = norms_of(X, p, windows)
    return norms if p == 1 else norms * (1 + 4 * np.finfo(norms.dtype).eps)


def at_least_1e_5(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: norms below 1e-5 are raised to that."""
    norms = norms_of(X, p, windows)
    return np.maximum(norms, norms.dtype.type(1e-5))


def p_in_64_bits(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: p is its shortest decimal text, and not the float32 that a model holds."""
    return norms_of(X, float(str(np.float32(p))), windows)


def same_power(p: float) -> float:
    """Return the power of |x|, which is p."""
    return p


def power_of_two_below(p: float) -> float:
    """Mutant of a power: above 4 the largest power of two up to p."""
    return 2.0 ** floor(log2(p)) if p > 4 else p


def root_of(total: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return total^(1/p)."""
    root: NDArray[np.float64] = np.power(total, 1 / p)
    return root


def root_with_epsilon(epsilon: float, total: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Mutant of a root: an epsilon is added to the sum."""
    return root_of(total + epsilon, p)


def root_by_inverse(
    change: Callable[[float], float], total: NDArray[np.float64], p: float
) -> NDArray[np.float64]:
    """Mutant of a root: 1/p is changed."""
    root: NDArray[np.float64] = np.power(total, change(1 / p))
    return root


def half(inverse: float) -> float:
    """Mutant of 1/p: the square root is taken, whatever p."""
    return 0.5


def integer_division(inverse: float) -> float:
    """Mutant of 1/p: 0 for whole numbers above 1."""
    is_whole = not (1 / inverse) % 1
    return 0.0 if inverse < 1 and is_whole else inverse


def cut_to_6_digits(inverse: float) -> float:
    """Mutant of 1/p: cut off after six decimals."""
    return floor(inverse * 1e6) / 1e6


def in_float16(inverse: float) -> float:
    """Mutant of 1/p: a float16."""
    return float(np.float16(inverse))


def in_float32(inverse: float) -> float:
    """Mutant of 1/p: a float32."""
    return float(np.float32(inverse))


def norms_by(
    X: Array,
    p: float,
    windows: Windows,
    *,
    power: Callable[[float], float] = same_power,
    root: Callable[[NDArray[np.float64], float], NDArray[np.float64]] = root_of,
) -> Array:
    """Mutant: another power of |x|, or another root of the sum."""
    powers = np.power(np.abs(X), power(p))
    return root(windows.sums(powers).astype(np.float64), p).astype(X.dtype)


def with_inverse(change: Callable[[float], float]) -> Norms:
    """Return the norms with another 1/p."""
    return partial(norms_by, root=partial(root_by_inverse, change))


LP_POOL.mutant_table(
    {
        "p_is_1": ("magnitudes were added up, whatever p", norms_for_p_1),
        "large_p_is_infinity": (
            "a p above 16 was taken for infinity, and the norm for the largest magnitude",
            large_p_is_infinity,
        ),
        "powers_by_squaring_alone": (
            "powers above the fourth were made by squaring alone, which stops at a power of two",
            partial(norms_by, power=power_of_two_below),
        ),
        "maximum": ("the largest magnitude was taken for the norm", largest_magnitudes),
        "signs_kept": (
            "the absolute value was forgotten, and a negative sum had a negative root",
            signs_kept,
        ),
        "signs_kept_for_p_1": (
            "values were added up with their signs where p is 1",
            signs_kept_for_p_1,
        ),
        "windows_of_one_copied": (
            "windows of one element were copied, and kept their signs",
            windows_of_one_copied,
        ),
        "tiny_values_are_zero": (
            "values below 2^-23, float32's epsilon, counted as 0",
            tiny_values_are_zero,
        ),
        "nan_dropped_and_rescaled": (
            "NaN was dropped, and what is left of the window was scaled up to a whole one",
            nan_dropped_and_rescaled,
        ),
        "infinity_beats_nan": (
            "a window of an infinity and a NaN gave infinity",
            partial(windows_with_infinities, value=np.inf),
        ),
        "infinity_gives_nan": (
            "a window with an infinity gave NaN, as where infinity is divided by itself",
            partial(windows_with_infinities, value=np.nan),
        ),
        "root_4_ulp_too_large": (
            "the root came out 4 ULP too large, as by way of a power",
            root_4_ulp_too_large,
        ),
        "at_least_1e_5": ("norms below 1e-5 were raised to that", at_least_1e_5),
        "square_root_always": ("the square root was taken whatever p", with_inverse(half)),
        "integer_division": (
            "1/p was an integer division, and every norm was 1, the sum to the power of 0",
            with_inverse(integer_division),
        ),
        "inverse_of_p_of_6_digits": (
            "1/p was cut off after six decimals",
            with_inverse(cut_to_6_digits),
        ),
        "inverse_of_p_in_float16": ("1/p was a float16", with_inverse(in_float16)),
        "inverse_of_p_in_float32": ("1/p was a float32", with_inverse(in_float32)),
        **{
            f"epsilon_of_1e_{digits}": (
                f"1e-{digits} was added to the sum before the root",
                partial(norms_by, root=partial(root_with_epsilon, 10.0**-digits)),
            )
            for digits in (30, 12, 5)
        },
    },
    build=lp_pool,
)
LP_POOL.mutant(
    "p was read as its shortest decimal text, and not as the float32 that a model holds",
    1,
    build=lp_pool,
)(p_in_64_bits)
