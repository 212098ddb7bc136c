"""Softmax along axis 1 of a block that is float32 or float64, in a few passes over it.

NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

import numpy as np

from opcheck.engine.blocks import slices
from opcheck.engine.bounds import Reals

#: If the sum of e^x is no less, then what lacks digits because e^x is subnormal is next to nothing.
_ENOUGH = 2.0**-20

#: Rows of fewer elements are divided by their sums only after these are written out.
_SHORT = 32
#: Rows of fewer are added up by products with ones, which BLAS computes in threads if larger.
_FEW, _PRODUCT = 256, 8192
#: The most numbers that are added one after the other.
_IN_ORDER = 512


def softmax(x: Reals, y: Reals) -> None:
    """Softmax into `y`, of a contiguous matrix's rows or along the middle axis of (a, N, b).

    `y` is no memory of `x`. It takes longer to find the maxima than to compute the exponentials, so
    that is not done until a sum without them turns out to be too large, or too small.
    """
    np.exp(x, out=y)
    sums = _sums(y)
    if not in_range(sums):
        np.subtract(x, _maxima(x), out=y)
        np.exp(y, out=y)
        sums = _sums(y)
    if y.ndim == 2 and y.shape[1] < _SHORT:
        # One loop over all, where broadcasting has one for each row.
        np.divide(y, np.repeat(sums, y.shape[1]).reshape(y.shape), out=y)
    else:
        np.divide(y, sums, out=y)


def in_range(sums: Reals) -> bool:
    """Whether these sums of e^x are good enough; one that is NaN is not."""
    least, most = np.minimum.reduce(sums, axis=None), np.maximum.reduce(sums, axis=None)
    return bool(least >= _ENOUGH and most < np.inf)


def _maxima(x: Reals) -> Reals:
    """The maxima along axis 1, which is kept with size 1."""
    if x.ndim == 3:
        return np.asarray(x.max(axis=1, keepdims=True))
    # NumPy finds the place of the maximum several times faster than the maximum itself.
    return np.asarray(np.take_along_axis(x, x.argmax(axis=1, keepdims=True), axis=1))


def _sums(y: Reals) -> Reals:
    """The sums along axis 1, which is kept with size 1."""
    number, length = y.shape[:2]
    if y.ndim == 3:
        # NumPy adds number after number here, and the more of them, the more digits get lost.
        parts = (y[:, p].sum(axis=1, keepdims=True) for p in slices(length, _IN_ORDER))
        return np.asarray(sum(parts))
    if length >= _FEW:
        # Unlike `sum`, it has next to no overhead for each row.
        return np.asarray(np.einsum("ij->i", y))[:, np.newaxis]
    ones, sums = np.ones(length, y.dtype), np.empty((number, 1), y.dtype)
    at_once = _PRODUCT // length
    whole = number - number % at_once
    stacked = y[:whole].reshape(-1, at_once, length)
    np.matmul(stacked, ones, out=sums[:whole].reshape(-1, at_once))
    np.matmul(y[whole:], ones, out=sums[whole:, 0])
    return sums
