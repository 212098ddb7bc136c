"""Maxima, means and norms over windows, and over all spatial axes at once."""

from dataclasses import replace
from functools import partial
from itertools import product
from math import ceil, floor, inf, log2, prod
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import Windows, check_size, elements_at, listed, up, windows_of
from opcheck.engine.operators import formula_builder, leave_open, operator
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.numbers.faulty import bare, seen

NAMES = """AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool
MaxUnpool"""

_OF_NONE = "nothing is said of what is made of no values"
ENDS = "it is not said whether windows count that start in the padding at the end"
TIES = "it is not said which of equal elements is meant"


def _without_nan(x):
    if (seen(x) != seen(x)).any():
        leave_open("no text says whether NaN is a maximum")
    return x


def _norm(x, p, **over):
    return xp.pow(xp.sum(xp.pow(xp.abs(x), p), **over), xp.real(1) / p)


#: The reductions of all elements of a channel, by operator; after the text's others as honest.
GLOBAL: dict[str, tuple[Any, ...]] = {
    "GlobalAveragePool": (xp.mean, lambda x, **over: xp.sum(x / prod(x.shape[2:]), **over)),
    # Powers of shares of the maximum, or the mean of the powers times how many.
    "GlobalLpPool": (_norm, lambda x, p, **over: xp.inexact(_norm(x, p, **over), 4 + 2 / p)),
    "GlobalMaxPool": (lambda x, **over: xp.max(_without_nan(x), **over),),
}


@formula_builder(1, 22)
def _over_all(function, X, **p):
    """Both versions of `function(x, axis, keepdims)`, or of one that takes p too."""
    reject(X.ndim < 3, f"input of rank {X.ndim}; allowed: 3 or more, N×C×D1×…×Dn")
    decline(not all(X.shape[2:]), _OF_NONE)
    return function(X, axis=tuple(range(2, X.ndim)), keepdims=True, **p)


@formula_builder(each={1: 1, 2: 2, 22: 2})
def _norms_of_all(function, since, X, *, p):
    if not (p >= 1 or (since == 1 and p > 0)) or p == inf:
        raise InvalidNode(f"p {p}; allowed: numbers from 1 on, in version 1 above 0")
    if since == 1 and (p < 1 or X.ndim != 4):
        leave_open("version 1 knows no norm below 1, and outputs of the shape N×C×1×1 alone")
    return _over_all(function)[1](X, p=float(p))


OPS = {name: operator(name, exact="Max" in name) for name in NAMES.split() if name != "LpPool"}
LP_POOL = operator("LpPool", low=0.0)
for _name, _functions in GLOBAL.items():
    OPS[_name].formula_and_alternatives(
        _norms_of_all if _name == "GlobalLpPool" else _over_all, *_functions
    )


def _planned(since, X, kernel_shape, strides, pads, auto_pad, dilations=None, ceil_mode=0, **flag):
    """The windows, and the padding behind each axis."""
    windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    axes, is_same = windows.axes, auto_pad.startswith("SAME")
    for name, value in flag.items():
        reject(value not in (0, 1), f"{name} {value}; allowed: 0, 1")
    if auto_pad == "VALID" and ceil_mode and since < 11:
        leave_open("before version 11, of MaxPool 12, the formula of VALID knows no ceil_mode")
    rest = any((a.length if is_same else a.length - a.width + 1) % a.stride for a in axes)
    if auto_pad != "NOTSET" and since == 11 and rest and not ceil_mode:
        leave_open("version 11 rounds down what all others round up")
    inside = _started_within(axes)
    if auto_pad == "NOTSET" and inside != [a.size for a in axes]:
        if since < 22 or not ceil_mode:
            leave_open(ENDS)
        if ceil_mode:
            axes = tuple(replace(a, size=size) for a, size in zip(axes, inside, strict=True))
    ends = [a.span for a in axes] if is_same else (pads or [0] * 2 * len(axes))[len(axes) :]
    return replace(windows, axes=axes), ends


def _started_within(axes):
    """How many windows along each axis start before the padding at its end."""
    return [min(axis.size, up(axis.length + axis.begin, axis.stride)) for axis in axes]


@formula_builder(each={1: 1, 7: 1, 10: 1, 11: 11, 19: 19, 22: 22})
def of_means(function, since, X, *, count_include_pad=0, **asked):
    """AveragePool in all versions, from `function(X, windows, terms, padded, include)`."""
    windows, ends = _planned(since, X, count_include_pad=count_include_pad, **asked)
    padded = [
        replace(a, begin=0, length=a.length + a.begin + end)
        for a, end in zip(windows.axes, ends, strict=True)
    ]
    if not (count_include_pad or windows.terms.all()):
        leave_open("nothing is said of means of nothing")
    # What hangs over the end under ceil_mode is no pixel that was added, and never counts.
    size = Windows(windows.outer, tuple(padded)).terms if count_include_pad else windows.terms
    return function(X, windows, windows.terms, size, count_include_pad)


@OPS["AveragePool"].formula(build=of_means)
def mean(X, windows, terms, padded, include):
    """The sum over each window, divided by how many elements it has, with padding or without."""
    # A float16 would round how many there are.
    count = (padded if include else terms).astype(np.float64)
    return xp.astype(xp.sums(X, windows.sums, terms) / count, X.dtype)


@OPS["AveragePool"].mutant("what hangs over the padding counted", 10, 11, 19, 22, build=of_means)
def whole_windows(X, windows, terms, padded, include):
    whole = prod(a.kernel for a in windows.axes)
    return mean(X, windows, terms, np.full_like(padded, whole), include)


@formula_builder(each={1: 1, 8: 8, 10: 8, 11: 8, 12: 12, 22: 22}, options=["checked"])
def of_maxima(function, since, X, *, storage_order=0, outputs=1, checked=_without_nan, **asked):
    """MaxPool in all versions, from `function(X, windows, storage_order, outputs)`."""
    windows, _ = _planned(since, X, storage_order=storage_order, **asked)
    decline(not windows.terms.all() or outputs > 1 + (since >= 8), _OF_NONE)
    return function(checked(X), windows, storage_order, outputs)


@OPS["MaxPool"].formula(build=of_maxima)
def maximum(X, windows, storage_order, outputs):
    """The maxima, and if asked for where they are in the flat input."""
    (n, channels, *lengths), size, found = X.shape, prod(X.shape[2:]), []
    planes = xp.reshape(X, (n, channels, size))
    for part in windows.portions(n * channels * prod(a.kernel for a in windows.axes)):
        places = part.places(lengths)
        # The first element of a window stands for its padding, too.
        places = np.where(places < 0, np.where(places < 0, size, places).min(axis=0), places)
        under = xp.take(planes, places, axis=2)
        y = xp.max(under, axis=2)
        found.append([xp.reshape(y, part.shape)])
        if outputs > 1:
            hits = xp.equal(under, xp.expand_dims(y, axis=2))
            first = np.where(hits, places, size - 1).min(axis=2)
            if (first != np.where(hits, places, -1).max(axis=2)).any():
                leave_open(TIES)
            found[-1].append(first.reshape(part.shape))
    y, *indices = [xp.concat([*parts], axis=2) for parts in zip(*found, strict=True)]
    if indices and storage_order and (n, channels) != (1, 1):
        leave_open("it is not said whether batches and channels come in the order of columns")
    corner = np.ogrid[tuple(map(slice, y.shape))][:2]
    at = [(*corner, *np.unravel_index(places, lengths)) for places in indices]
    order: Any = "CF"[storage_order]
    return y, *(np.ravel_multi_index(one, X.shape, order=order).astype(np.int64) for one in at)


@OPS["MaxPool"].fast_path(build=partial(of_maxima, checked=lambda X: X))
def by_axes(X, windows, storage_order, outputs):
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return windows.reduced(X, np.maximum, lowest)


@OPS["MaxPool"].mutant("padding held zeros", build=of_maxima)
def padding_is_zero(X, windows, *asked):
    y, *indices = maximum(X, windows, *asked)
    partly = windows.terms < prod(a.kernel for a in windows.axes)
    return np.where(partly, np.maximum(y, 0), y).astype(y.dtype), *indices


@OPS["MaxPool"].mutant("indices began anew with each channel", 8, 10, 11, 12, 22, build=of_maxima)
def indices_within_the_plane(X, windows, *asked):
    y, *indices = maximum(X, windows, *asked)
    return y, *(one % prod(X.shape[2:]) for one in indices)


# MaxUnpool: values back where MaxPool found them, and zeros between.
@formula_builder(9, 11, 22)
def by_places(function, X, I, output_shape=None, *, kernel_shape, strides, pads):  # noqa: E741
    """All versions, from `function(X, places, shape)`, where the output has that shape."""
    n = X.ndim - 2
    given = (kernel_shape, strides or (1,) * n, pads or (0,) * (2 * n))
    if n < 1 or [*map(len, given)] != [n, n, 2 * n] or X.shape != I.shape:
        raise InvalidNode(f"X {list(X.shape)}, indices {list(I.shape)}, attributes {given}")
    if min(*given[0], *given[1]) < 1 or min(given[2]) < 0:
        raise InvalidNode(f"attributes {given}; allowed: 1 or more, pads from 0 on")
    shape = [
        *X.shape[:2],
        *(
            (length - 1) * stride + kernel
            for length, kernel, stride in zip(X.shape[2:], *given[:2], strict=True)
        ),
    ]
    asked = None if output_shape is None else listed("output_shape", output_shape)
    if asked is None:
        padding = np.reshape(np.array(given[2], object), (2, n)).sum(axis=0)
        shape[2:] = [size - less for size, less in zip(shape[2:], padding, strict=True)]
    elif len(asked) != X.ndim:
        raise InvalidNode(f"output_shape {asked} for X of rank {X.ndim}")
    reject(min(asked or shape) < 0, f"an output of shape {asked or shape}; allowed: 0 or more")
    check_size(asked or shape)
    places = elements_at(I, prod(asked or shape), back=False)
    if asked not in (None, shape):
        places = _beside(places, shape, asked)
    return function(X, places, asked or shape)


def _beside(places, shape, asked):
    """By the text indices are of the output, by ONNX's node test of a corner of that shape."""
    fits = prod(shape) > places.max(initial=-1) and all(map(int.__ge__, asked, shape))
    moved = np.ravel_multi_index(np.unravel_index(places, shape), asked) if fits else None
    if moved is None or (moved != places).any():
        leave_open("it is not said which shape indices are in")
    return places if moved is None else moved


@OPS["MaxUnpool"].formula(build=by_places)
def unpooled(X, places, shape):
    """Each value at its place. Of overlapping windows several may name one."""
    source = np.full(prod(shape), X.size)
    source[places] = np.arange(X.size).reshape(X.shape)
    flat = xp.reshape(X, (-1,))
    values = bare(flat)
    if not np.array_equal(values[source[places.reshape(-1)]], values, equal_nan=True):
        leave_open("nothing is said of several values of one place")
    return xp.reshape(xp.take(xp.pad(flat, [(0, 1)]), source, axis=0), tuple(shape))


# Other places, of planes of so many elements.
OPS["MaxUnpool"].mutant_table(
    {
        "indices_of_planes": (
            "indices began anew with each channel",
            lambda places, plane, shape: (
                places % max(1, plane)
                + plane * np.arange(prod(shape[:2])).reshape(*shape[:2], *[1] * (len(shape) - 2))
            ),
        ),
        "by_columns": (
            "indices counted in column-major order",
            lambda places, plane, shape: np.ravel_multi_index(
                np.unravel_index(places.reshape(-1), shape), shape, order="F"
            ),
        ),
    },
    build=lambda change: by_places(
        lambda X, places, shape: unpooled(
            X, change(places, prod(shape[2:]), shape).reshape(X.shape), shape
        )
    ),
)


@OPS["MaxUnpool"].mutant("values of windows that overlap were added up", build=by_places)
def added(X, places, shape):
    y = np.zeros(prod(shape), X.dtype)
    np.add.at(y, places.reshape(-1), X.reshape(-1))
    return y.reshape(shape)


# MaxRoiPool: maxima over the bins of regions of images. The text says neither how coordinates are
# rounded, nor whether a region holds its end, nor where its bins begin and end. An answer is
# decided where the maximum of all that may lie in a bin is among what must lie in it.
@formula_builder(1, 22)
def of_regions(read, X, rois, *, pooled_shape, spatial_scale):
    """Both versions, from `read(rois)`, the batch, x1, y1, x2 and y2 of each region."""
    if X.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        wrong = f"X {list(X.shape)}, rois {list(rois.shape)}"
        raise InvalidNode(f"{wrong}; allowed: rank 4, [*, 5]")
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        raise InvalidNode(f"pooled_shape {list(pooled_shape)}; allowed: two numbers from 1 on")
    shape = (rois.shape[0], X.shape[1], *pooled_shape)
    check_size(shape)
    if not all(shape):
        return np.zeros(shape, X.dtype)
    regions = read(bare(rois).astype(np.float64))
    batches, corners = regions[:, 0], regions[:, 1:] * spatial_scale
    if not (np.abs(regions * spatial_scale) < 2.0**31).all() or (batches % 1).any():
        raise NotSupported("nothing is said of what is no batch, or far from every image")
    found, images = [], elements_at(batches.astype(np.int64), X.shape[0], back=False)
    for batch, (x1, y1, x2, y2) in zip(images, corners, strict=True):
        rows = bins(y1, y2, pooled_shape[0], X.shape[2])
        columns = bins(x1, x2, pooled_shape[1], X.shape[3])
        for both in product(rows, columns):
            found.append(_maximum(X[batch], *zip(*both, strict=True)))
    y = xp.reshape(xp.stack(found), (rois.shape[0], *pooled_shape, X.shape[1]))
    return xp.permute_dims(y, (0, 3, 1, 2))


def bins(a, b, count, length):
    """The elements that must lie in each bin of [a, b], may, and do by whole coordinates."""
    if a < 0 or b > length:
        leave_open("nothing is said of what lies outside the image")
    low, high = (floor(a), floor(b)), (ceil(a), ceil(b) + 1)
    start = floor(a + 0.5)
    size = max(1, floor(b + 0.5) + 1 - start)

    def cut(ends, i, up):
        total = ends[0] * (count - i) + ends[1] * i
        return max(0, -(-total // count) if up else total // count)

    for i in range(count):
        whole = start + i * size // count, start - (-(i + 1) * size // count)
        yield (
            slice(cut(high, i, True), cut(low, i + 1, False)),
            slice(cut(low, i, False), cut(high, i + 1, True)),
            slice(*(max(0, end) for end in whole)),
        )


def _maximum(image, sure, possible, own):
    """The maximum of each channel of one bin, from its rows and columns; 0 of an empty one."""
    least, most, found = (image[:, *part] for part in (sure, possible, own))
    if not least.size:
        leave_open("nothing is said of bins that may hold nothing")
    elif (xp.max(least, axis=(1, 2)) != xp.max(most, axis=(1, 2))).any():
        leave_open("it is not said which elements lie in a bin")
    return xp.max(found, axis=(1, 2)) if found.size else np.zeros(image.shape[0], image.dtype)


OPS["MaxRoiPool"].formula(build=of_regions)(lambda rois: rois)
OPS["MaxRoiPool"].mutant_table(
    {
        "x_and_y_exchanged": ("y came before x", lambda rois: rois[:, [0, 2, 1, 4, 3]]),
        "first_image_for_all": (
            "all regions were of the first image",
            lambda rois: rois * [0, 1, 1, 1, 1],
        ),
        "images_in_turn": (
            "each image had its own region, in order",
            lambda rois: np.column_stack([np.arange(rois.shape[0]), rois[:, 1:]]),
        ),
        "ends_as_sizes": (
            "x2 and y2 were width and height",
            lambda rois: rois + np.pad(rois[:, 1:3], [(0, 0), (3, 0)]),
        ),
    },
    build=of_regions,
)


# LpPool: (Σ |x|^p)^(1/p) over every window; padding adds nothing.
@formula_builder(each={1: 1, 2: 2, 11: 2, 18: 2, 22: 2})
def by_windows(norms, since, X, *, p, kernel_shape, **asked):
    """The formulas of all versions, from `norms(X, p, windows)`."""
    # In version 1 p may be fractional; without kernel_shape nothing is defined.
    allowed = "numbers that are above 0 in float32" if since == 1 else "integers from 1 on"
    reject(p < 1 if since > 1 else not 0 < p < inf, f"p {p}; allowed: {allowed}")
    reject(kernel_shape is None, "attribute kernel_shape is mandatory")
    windows = windows_of(X.shape, kernel_shape, **asked)
    if asked.get("ceil_mode"):
        _check_rounded_up(windows.axes, asked["auto_pad"])
    return norms(X, float(p), windows)


def _check_rounded_up(axes, auto_pad):
    """Leave open what the text leaves open of LpPool's sizes under ceil_mode."""
    if auto_pad == "NOTSET" and _started_within(axes) != [axis.size for axis in axes]:
        leave_open(ENDS)
    if auto_pad == "VALID" and any((axis.length - axis.width) % axis.stride for axis in axes):
        leave_open("the formula of VALID knows no ceil_mode")


@LP_POOL.formula(build=by_windows)
def norms_of(X, p, windows):
    return xp.pow(xp.sums(xp.pow(xp.abs(X), p), windows.sums, windows.terms), xp.real(1) / p)


@LP_POOL.fast_path(build=by_windows)
def beyond_the_range(X, p, windows):
    """The norms, of shares of the largest element where powers leave the range, or nearly."""
    norms = np.asarray(norms_of(X, p, windows))
    info = np.finfo(X.dtype)
    # Sums of powers lose digits below so many times the smallest normal number.
    least = (windows.most * float(info.tiny) / float(info.eps)) ** (1 / p)
    lost = ~((norms > 1.01 * least) & (norms < inf))
    if p == 1 or not lost.any():
        return norms
    largest = windows.reduced(np.abs(X), np.maximum, 0)
    # Zeros, infinities and NaN are right where they come from such elements.
    places = np.flatnonzero(lost & (largest > 0) & (largest < inf))
    for portion, rows in windows.gathered(X, places):
        sizes = np.abs(rows)
        top = sizes.max(axis=1, keepdims=True)
        norms.flat[places[portion]] = ((sizes / top) ** p).sum(axis=1) ** (1 / p) * top[:, 0]
    return norms


@LP_POOL.alternative("", build=by_windows)
def scaled(X, p, windows):
    """Powers of shares of the window's maximum, or the mean of the powers times how many."""
    return xp.inexact(norms_of(X, p, windows), 4 + 2 / p)


def of_norms(change):
    return lambda X, p, windows: change(norms_of(X, p, windows), np.abs(X), p, windows)


def of_powers(power=lambda p: p, root=lambda total, p: np.power(total, 1 / p)):
    return lambda X, p, windows: root(
        windows.sums(np.power(np.abs(X), power(p))).astype(np.float64), p
    ).astype(X.dtype)


def with_root(change):
    return of_powers(root=lambda total, p: np.power(total, change(1 / p)))


def signed(X, p, windows):
    powers = np.power(np.abs(X), p)
    total = windows.sums(powers * np.sign(X) if p % 2 else powers)
    return np.copysign(np.power(np.abs(total), 1 / p), total).astype(X.dtype)


def without_nan(X, p, windows):
    """Norms of the elements that are not NaN, scaled up to the whole window."""
    nan = np.isnan(X)
    size = prod(axis.kernel for axis in windows.axes)
    rest = np.maximum(1, size - windows.sums(nan.astype(np.int64)))
    norms = norms_of(np.where(nan, X.dtype.type(0), X), p, windows)
    return (norms * (size / rest) ** (1 / p)).astype(X.dtype)


def largest(X, p, windows):
    return windows.reduced(np.abs(X), np.maximum, 0)


LP_POOL.mutant_table(
    {
        "p_is_1": (
            "magnitudes were added up, whatever p",
            lambda X, p, windows: norms_of(X, 1.0, windows),
        ),
        "large_p_is_infinity": (
            "a p above 16 was taken for infinity, and the norm for the largest magnitude",
            lambda X, p, windows: (largest if p > 16 else norms_of)(X, p, windows),
        ),
        "powers_by_squaring_alone": (
            "powers above the fourth were made by squaring alone, which stops at a power of two",
            of_powers(lambda p: 2.0 ** floor(log2(p)) if p > 4 else p),
        ),
        "maximum": ("the largest magnitude was taken for the norm", largest),
        "signs_kept": (
            "the absolute value was forgotten, and a negative sum had a negative root",
            signed,
        ),
        "signs_kept_for_p_1": (
            "values were added up with their signs where p is 1",
            lambda X, p, windows: windows.sums(X) if p == 1 else norms_of(X, p, windows),
        ),
        "windows_of_one_copied": (
            "windows of one element were copied, and kept their signs",
            lambda X, p, w: w.sums(X) if all(a.kernel == 1 for a in w.axes) else norms_of(X, p, w),
        ),
        "tiny_values_are_zero": (
            "values below 2^-23, float32's epsilon, counted as 0",
            lambda X, p, windows: norms_of(np.where(np.abs(X) < 2**-23, 0, X), p, windows),
        ),
        "nan_dropped_and_rescaled": (
            "NaN was dropped, and what is left of the window was scaled up to a whole one",
            without_nan,
        ),
        "infinity_beats_nan": (
            "a window of an infinity and a NaN gave infinity",
            of_norms(
                lambda y, m, p, windows: np.where(windows.sums(np.isinf(m) * 1) > 0, np.inf, y)
            ),
        ),
        "infinity_gives_nan": (
            "a window with an infinity gave NaN, as where infinity is divided by itself",
            of_norms(
                lambda y, m, p, windows: np.where(windows.sums(np.isinf(m) * 1) > 0, np.nan, y)
            ),
        ),
        "root_4_ulp_too_large": (
            "the root came out 4 ULP too large, as by way of a power",
            of_norms(lambda y, m, p, windows: y if p == 1 else y * (1 + 4 * np.finfo(y.dtype).eps)),
        ),
        "at_least_1e_5": (
            "norms below 1e-5 were raised to that",
            of_norms(lambda y, m, p, windows: np.maximum(y, y.dtype.type(1e-5))),
        ),
        "square_root_always": ("the square root was taken whatever p", with_root(lambda part: 0.5)),
        "integer_division": (
            "1/p was an integer division, and every norm was 1, the sum to the power of 0",
            with_root(lambda part: part if part >= 1 or (1 / part) % 1 else 0.0),
        ),
        "inverse_of_p_of_6_digits": (
            "1/p was cut off after six decimals",
            with_root(lambda part: floor(part * 1e6) / 1e6),
        ),
        "inverse_of_p_in_float16": ("1/p was a float16", with_root(lambda p: float(np.float16(p)))),
        "inverse_of_p_in_float32": ("1/p was a float32", with_root(lambda p: float(np.float32(p)))),
        **{
            f"epsilon_of_1e_{digits}": (
                f"1e-{digits} was added to the sum before the root",
                of_powers(
                    root=lambda total, p, epsilon=10.0**-digits: np.power(total + epsilon, 1 / p)
                ),
            )
            for digits in (30, 12, 5)
        },
    },
    build=by_windows,
)
LP_POOL.mutant(
    "p was read as its shortest decimal text, and not as the float32 that a model holds",
    1,
    name="p_in_64_bits",
    build=by_windows,
)(lambda X, p, windows: norms_of(X, float(str(np.float32(p))), windows))
