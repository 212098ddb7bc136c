"""LpPool (1, 2, 11, 18, 22): (Σ |x|^p)^(1/p) over every window; padding adds nothing."""

import math

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.windows import windows_of
from opcheck.errors import InvalidNode

OP = operator("LpPool", low=0.0, batch=lambda since, rank, attrs: (0, 1))


def by_windows(norms):
    """The formulas of all versions, from `norms(X, p, windows)`."""

    def version_1(X, *, kernel_shape, p, strides, pads, auto_pad):
        # p is a binary32 number and may be fractional; without kernel_shape nothing is defined.
        with np.errstate(over="ignore"):
            held = float(np.float32(p))
        if not 0 < held < math.inf:
            raise InvalidNode(f"p {p}; allowed: numbers that are above 0 in float32")
        if kernel_shape is None:
            raise InvalidNode("attribute kernel_shape is mandatory")
        return norms(X, held, windows_of(X.shape, kernel_shape, strides, None, pads, auto_pad))

    def from_2(X, *, kernel_shape, p, strides, pads, auto_pad, dilations=None, ceil_mode=0):
        if p < 1:
            raise InvalidNode(f"p {p}; allowed: integers from 1 on")
        windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        return norms(X, float(p), windows)

    return {1: version_1, 2: from_2, 11: from_2, 18: from_2, 22: from_2}


@OP.formula(by=by_windows)
def plain(X, p, windows):
    return xp.pow(xp.sums(xp.pow(xp.abs(X), p), windows.sums, windows.terms), xp.real(1) / p)


@OP.also_honest("", by=by_windows)
def scaled(X, p, windows):
    """Powers of shares of the window's maximum, or the mean of the powers times how many."""
    return xp.inexact(plain(X, p, windows), 4 + 2 / p)
