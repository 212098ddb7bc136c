"""Maxima and means over windows, and over all spatial axes at once, in all their versions."""

from dataclasses import replace
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck import opset
from opcheck.engine.axes import Windows, windows_of
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool MaxPool
"""

_OF_NONE = "nothing is said of what is made of no values"


def _without_nan(x):
    if (bare(x) != bare(x)).any():
        is_open("no text says whether NaN is a maximum")
    return x


def _norm(x, p, **over):
    return xp.pow(xp.sum(xp.pow(xp.abs(x), p), **over), xp.real(1) / p)


#: What is made of all elements of a channel, by operator; after the text's others as honest.
GLOBAL: dict[str, tuple[Any, ...]] = {
    "GlobalAveragePool": (xp.mean, lambda x, **over: xp.sum(x / prod(x.shape[2:]), **over)),
    # Powers of shares of the maximum, or the mean of the powers times how many.
    "GlobalLpPool": (_norm, lambda x, p, **over: xp.inexact(_norm(x, p, **over), 4 + 2 / p)),
    "GlobalMaxPool": (lambda x, **over: xp.max(_without_nan(x), **over),),
}


def _over_all(versions, function):
    """The formulas of all versions of `function(x, axis, keepdims)`, or one that takes p too."""

    def over(X, *p):
        if X.ndim < 3:
            raise InvalidNode(f"input of rank {X.ndim}; allowed: 3 or more, N×C×D1×…×Dn")
        if not all(X.shape[2:]):
            raise NotSupported(_OF_NONE)
        return function(X, *p, axis=tuple(range(2, X.ndim)), keepdims=True)

    def of_norm(since, X, *, p):
        if not (p >= 1 or (since == 1 and p > 0)) or p == inf:
            raise InvalidNode(f"p {p}; allowed: numbers from 1 on, in version 1 above 0")
        if since == 1 and (p < 1 or X.ndim != 4):
            is_open("version 1 knows no norm below 1, and outputs of the shape N×C×1×1 alone")
        return over(X, float(p))

    first, later = (partial(of_norm, since) for since in (1, 2))
    of_norms = {1: first, 2: later, 22: later}
    return of_norms if 2 in versions else dict.fromkeys(versions, lambda X: over(X))


OPS = {name: operator(name, exact="Max" in name) for name in NAMES.split()}
for _name, (_function, *_others) in GLOBAL.items():
    _all = partial(_over_all, opset.versions("", _name))
    OPS[_name].formula(by=_all)(_function)
    for _other in _others:
        OPS[_name].also_honest("", by=_all)(_other)


def _planned(since, X, flag, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode):
    """The windows, and the padding behind each axis."""
    windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    axes, is_same = windows.axes, auto_pad.startswith("SAME")
    if flag not in (0, 1):
        raise InvalidNode(f"an attribute of {flag}; allowed: 0, 1")
    if auto_pad == "VALID" and ceil_mode and since < 11:
        is_open("before version 11, of MaxPool 12, the formula of VALID knows no ceil_mode")
    rest = any((a.length if is_same else a.length - a.width + 1) % a.stride for a in axes)
    if auto_pad != "NOTSET" and since == 11 and rest and not ceil_mode:
        is_open("version 11 rounds down what all others round up")
    inside = [min(a.size, -(-(a.length + a.begin) // a.stride)) for a in axes]
    if auto_pad == "NOTSET" and inside != [a.size for a in axes]:
        if since < 22 or not ceil_mode:
            is_open("it is not said whether windows count that start in the padding at the end")
        if ceil_mode:
            axes = tuple(replace(a, size=size) for a, size in zip(axes, inside, strict=True))
    ends = [a.span for a in axes] if is_same else (pads or [0] * 2 * len(axes))[len(axes) :]
    return replace(windows, axes=axes), ends


def of_means(function):
    """AveragePool in all versions, from `function(X, windows, terms, padded, include)`."""

    def formula(since, X, *, kernel_shape, strides, pads, auto_pad, count_include_pad=0,
                dilations=None, ceil_mode=0):  # fmt: skip
        windows, ends = _planned(since, X, count_include_pad, kernel_shape, strides, pads,
                                 auto_pad, dilations, ceil_mode)  # fmt: skip
        padded = [replace(a, begin=0, length=a.length + a.begin + end)
                  for a, end in zip(windows.axes, ends, strict=True)]  # fmt: skip
        hangs = any(a.span > a.length for a in padded)
        if hangs if count_include_pad else not windows.terms.all():
            is_open("nothing is said of means of nothing, nor whether what hangs over counts")
        size = Windows(windows.outer, tuple(padded)).terms
        return function(X, windows, windows.terms, size, count_include_pad)

    a, b, c, d = (partial(formula, since) for since in (1, 11, 19, 22))
    return {1: a, 7: a, 10: a, 11: b, 19: c, 22: d}


@OPS["AveragePool"].formula(by=of_means)
def mean(X, windows, terms, padded, include):
    """The sum over each window, divided by how many elements it has, with padding or without."""
    # A float16 would round how many there are.
    count = (padded if include else terms).astype(np.float64)
    return xp.astype(xp.sums(X, windows.sums, terms) / count, X.dtype)


def of_maxima(function, checked=_without_nan):
    """MaxPool in all versions, from `function(X, windows, storage_order, outputs)`."""

    def formula(since, X, *, kernel_shape, strides, pads, auto_pad, storage_order=0,
                dilations=None, ceil_mode=0, outputs=1):  # fmt: skip
        windows, _ = _planned(since, X, storage_order, kernel_shape, strides, pads, auto_pad,
                              dilations, ceil_mode)  # fmt: skip
        if not windows.terms.all() or outputs > 1 + (since >= 8):
            raise NotSupported(_OF_NONE)
        return function(checked(X), windows, storage_order, outputs)

    a, b, c, d = (partial(formula, since) for since in (1, 8, 12, 22))
    return {1: a, 8: b, 10: b, 11: b, 12: c, 22: d}


@OPS["MaxPool"].formula(by=of_maxima)
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
                is_open("it is not said which of equal elements is meant")
            found[-1].append(first.reshape(part.shape))
    y, *indices = [xp.concat([*parts], axis=2) for parts in zip(*found, strict=True)]
    if indices and storage_order and (n, channels) != (1, 1):
        is_open("it is not said whether batches and channels come in the order of columns")
    corner = np.ogrid[tuple(map(slice, y.shape))][:2]
    at = [(*corner, *np.unravel_index(places, lengths)) for places in indices]
    order: Any = "CF"[storage_order]
    return y, *(np.ravel_multi_index(one, X.shape, order=order).astype(np.int64) for one in at)


def padding_is_zero(X, windows, *asked):
    y, *indices = maximum(X, windows, *asked)
    partly = windows.terms < prod(a.kernel for a in windows.axes)
    return np.where(partly, np.maximum(y, 0), y).astype(y.dtype), *indices


def indices_within_the_plane(X, windows, *asked):
    y, *indices = maximum(X, windows, *asked)
    return y, *(one % prod(X.shape[2:]) for one in indices)


OPS["MaxPool"].mutant("padding held zeros", by=of_maxima)(padding_is_zero)
OPS["MaxPool"].mutant("indices began anew with each channel", 8, 10, 11, 12, 22, by=of_maxima)(
    indices_within_the_plane
)
