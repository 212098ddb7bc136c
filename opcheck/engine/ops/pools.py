"""Maxima and means over windows, and over all spatial axes at once, in all their versions."""

from dataclasses import replace
from functools import partial
from math import inf, prod

import numpy as np

from opcheck import numbers as xp
from opcheck import opset
from opcheck.engine.operators import FLUSHED, is_open, operator
from opcheck.engine.windows import Windows, windows_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool MaxPool
"""

OF_NONE = "nothing is said of what is made of no values"
OF_RANK = "a batch axis and a channel axis come before any that is pooled"


def _without_nan(x):
    if (bare(x) != bare(x)).any():
        is_open("no text says whether NaN is a maximum")
    return x


def _norm(x, p, **over):
    return xp.pow(xp.sum(xp.pow(xp.abs(x), p), **over), xp.real(1) / p)


def _scaled_norm(x, p, **over):
    """Powers of shares of the maximum, or the mean of the powers times how many."""
    return xp.inexact(_norm(x, p, **over), 4 + 2 / p)


#: What is made of all elements of a channel, by operator; after the text's others as honest.
GLOBAL = {
    "GlobalAveragePool": (xp.mean, lambda x, **over: xp.sum(x / prod(x.shape[2:]), **over)),
    "GlobalLpPool": (_norm, _scaled_norm),
    "GlobalMaxPool": (lambda x, **over: xp.max(_without_nan(x), **over),),
}


def _over_all(versions, function):
    """The formulas of all versions of `function(x, axis, keepdims)`, or one that takes p too."""

    def over(X, *p):
        if X.ndim < 3:
            raise InvalidNode(f"input of rank {X.ndim}; allowed: 3 or more, N×C×D1×…×Dn")
        if not all(X.shape[2:]):
            raise NotSupported(OF_NONE)
        return function(X, *p, axis=tuple(range(2, X.ndim)), keepdims=True)

    def of_values(X):
        return over(X)

    def of_any_p(X, *, p):
        if not 0 < p < inf:
            raise InvalidNode(f"p {p}; allowed: numbers that are above 0 in float32")
        if p < 1 or X.ndim != 4:
            is_open("version 1 knows no norm below 1, and outputs of the shape N×C×1×1 alone")
        return over(X, p)

    def of_whole_p(X, *, p):
        if p < 1:
            raise InvalidNode(f"p {p}; allowed: integers from 1 on")
        return over(X, float(p))

    of_norms = {1: of_any_p, 2: of_whole_p, 22: of_whole_p}
    return of_norms if 2 in versions else dict.fromkeys(versions, of_values)


for _name, (_function, *_others) in GLOBAL.items():
    _op = operator(_name, exact=_name == "GlobalMaxPool")
    _all = partial(_over_all, opset.versions("", _name))
    _op.formula(by=_all)(_function)
    for _other in _others:
        _op.also_honest("", by=_all)(_other)
    _op.equivalent("refuses_rank_1 vector_becomes_a_row wrong_where_rank_2", OF_RANK)
    _op.equivalent("last_two_axes_exchanged written_channels_last " + " ".join(
        f"row_tail_of_{n}_untouched" for n in (4, 8, 16, 32)), "outputs are N×C×1×…×1")  # fmt: skip
    if not _op.exact:
        _op.equivalent(*FLUSHED)
    if _name == "GlobalLpPool":
        _op.equivalent("version_1_always", "a whole p means the same in version 1", "2",
                       "22 float16", "22 float32", "22 float64")  # fmt: skip
        _op.equivalent("axes_of_rank_5_exchanged", "of ranks other than 4 the shape is open", "1")
        _op.equivalent(" ".join(f"sum_of_{n}_elements_across_memory" for n in (16, 64, 256)),
                       "the elements of a channel lie together")  # fmt: skip
    if _name == "GlobalAveragePool":
        _op.equivalent("overflow_saturates", "no mean is beyond its elements")


def _planned(since, X, flag, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode):
    """The windows, and the padding behind each axis."""
    windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    axes, is_same = windows.axes, auto_pad.startswith("SAME")
    if flag not in (0, 1):
        raise InvalidNode(f"an attribute of {flag}; allowed: 0, 1")
    if not all(windows.shape[2:]):
        is_open("nothing is said of inputs into which no window fits")
    if auto_pad == "VALID" and ceil_mode and since < 11:
        is_open("before version 11, of MaxPool 12, the formula of VALID knows no ceil_mode")
    rest = any((a.length if is_same else a.length - a.width + 1) % a.stride for a in axes)
    if auto_pad != "NOTSET" and since == 11 and rest and not ceil_mode:
        is_open("version 11 rounds down what all others round up")
    inside = [min(a.size, -(-(a.length + a.begin) // a.stride)) for a in axes]
    if inside != [a.size for a in axes] and (since < 22 or not ceil_mode):
        is_open("it is not said whether windows count that start in the padding at the end")
    if ceil_mode:
        axes = tuple(replace(a, size=size) for a, size in zip(axes, inside, strict=True))
    ends = [a.span for a in axes] if is_same else (pads or [0] * 2 * len(axes))[len(axes) :]
    return replace(windows, axes=axes), ends


def of_means(function):
    """AveragePool in all versions, from `function(X, windows, counts, size)`."""

    def formula(since, X, *, kernel_shape, strides, pads, auto_pad, count_include_pad=0,
                dilations=None, ceil_mode=0):  # fmt: skip
        windows, ends = _planned(since, X, count_include_pad, kernel_shape, strides, pads,
                                 auto_pad, dilations, ceil_mode)  # fmt: skip
        padded = [replace(a, begin=0, length=a.length + a.begin + end)
                  for a, end in zip(windows.axes, ends, strict=True)]  # fmt: skip
        hangs = any(a.span > a.length for a in padded)
        if hangs if count_include_pad else not windows.terms.all():
            is_open("nothing is said of means of nothing, nor whether what hangs over counts")
        padded = Windows(windows.outer, tuple(padded)).terms
        return function(X, windows, windows.terms, padded, count_include_pad)

    early, *others = (partial(formula, since) for since in (1, 11, 19, 22))
    return dict(zip((1, 7, 10, 11, 19, 22), (early, early, early, *others), strict=True))


MEAN = operator("AveragePool")


@MEAN.formula(by=of_means)
def mean(X, windows, terms, padded, include):
    """The sum over each window, divided by how many elements it has, with padding or without."""
    return xp.sums(X, windows.sums, terms) / (padded if include else terms)


def _divided(divisor):
    """The sums, divided by `divisor(windows, terms, padded, include)`."""
    return lambda X, windows, *counts: (
        windows.sums(X.astype(np.float64)) / divisor(windows, *counts)).astype(X.dtype)  # fmt: skip


def _kernel(windows):
    return prod(axis.kernel for axis in windows.axes)


def of_maxima(function):
    """MaxPool in all versions, from `function(X, windows, storage_order, outputs)`."""

    def formula(since, X, *, kernel_shape, strides, pads, auto_pad, storage_order=0,
                dilations=None, ceil_mode=0, outputs=1):  # fmt: skip
        windows, _ = _planned(since, X, storage_order, kernel_shape, strides, pads, auto_pad,
                              dilations, ceil_mode)  # fmt: skip
        if not windows.terms.all():
            raise NotSupported(OF_NONE)
        return function(_without_nan(X), windows, storage_order, outputs)

    early, middle, late = (partial(formula, since) for since in (1, 12, 22))
    return {1: early, 8: early, 10: early, 11: early, 12: middle, 22: late}


MAX = operator("MaxPool", exact=True)


@MAX.formula(by=of_maxima)
def maximum(X, windows, storage_order, outputs):
    """The maxima, and if asked for where they are in the flat input."""
    y, places = _maxima(X, windows, outputs > 1)
    return (y, *(_flat(part, X.shape, storage_order) for part in places))


def _maxima(X, windows, asked):
    size, found = prod(X.shape[2:]), []
    planes = xp.reshape(X, (*X.shape[:2], size))
    for part in windows.portions(X.shape[0] * X.shape[1] * _kernel(windows)):
        places = part.places(X.shape[2:])
        # The first element of a window stands for its padding, too.
        places = np.where(places < 0, np.where(places < 0, size, places).min(axis=0), places)
        under = xp.take(planes, places, axis=2)
        y = xp.max(under, axis=2)
        found.append([xp.reshape(y, part.shape)])
        if asked:
            hits = xp.equal(under, xp.expand_dims(y, axis=2))
            first = np.where(hits, places, size).min(axis=2)
            if (first != np.where(hits, places, -1).max(axis=2)).any():
                is_open("it is not said which of equal elements is meant")
            found[-1].append(first.reshape(part.shape))
    y, *places = [xp.concat([*parts], axis=2) for parts in zip(*found, strict=True)]
    return y, places


def _flat(places, shape, storage_order):
    """Indices into the flat tensor of places in each plane."""
    if storage_order and shape[:2] != (1, 1):
        is_open("it is not said whether batches and channels come in the order of columns")
    index = (*np.ogrid[tuple(map(slice, places.shape))][:2], *np.unravel_index(places, shape[2:]))
    return np.ravel_multi_index(index, shape, order="CF"[storage_order]).astype(np.int64)


def _indices(change):
    """Places, changed by `change(places, shape, windows, storage_order)`."""
    return lambda X, windows, order, outputs: [
        part if n == 0 else change(part[0], X.shape, windows, order)
        for n, part in enumerate(_maxima(X, windows, outputs > 1)) if n == 0 or part]  # fmt: skip


def _of_padded(places, shape, windows, order):
    wide = [a.length + 2 * a.begin for a in windows.axes]
    index = zip(np.unravel_index(places, shape[2:]), windows.axes, strict=True)
    places = np.ravel_multi_index([part + a.begin for part, a in index], wide)
    return _flat(places, (*shape[:2], *wide), order)


def _padded_with_zero(X, windows, *asked):
    y, *indices = maximum(X, windows, *asked)
    return np.where(windows.terms < _kernel(windows), np.maximum(y, y.dtype.type(0)), y), *indices


MEAN.mutant_table({
    "hanging_windows_divided_by_the_kernel": (
        "a window that hung over the end was divided by the size of the kernel",
        _divided(lambda windows, terms, padded, include: np.where(
            padded < _kernel(windows), _kernel(windows), padded if include else terms))),
    "divided_by_the_width": (
        "sums were divided by the width of the dilated kernel",
        _divided(lambda windows, terms, padded, include: (padded if include else terms)
                 * prod(a.width / a.kernel for a in windows.axes))),
}, by=of_means)  # fmt: skip
MAX.mutant("padding held zeros", by=of_maxima, name="padding_is_zero")(_padded_with_zero)
MAX.mutant_table({
    "indices_within_the_plane": ("indices began anew with each channel", _indices(
        lambda places, shape, windows, order: _flat(places, shape, order) % prod(shape[2:]))),
    "indices_within_the_batch": ("indices began anew with each batch", _indices(
        lambda places, shape, windows, order: _flat(places, shape, order) % prod(shape[1:]))),
    "indices_into_the_padded_input": ("indices counted the padding, too", _indices(_of_padded)),
}, 8, 10, 11, 12, 22, by=of_maxima)  # fmt: skip
