"""Sums along the first axis, in an order that depends on its length alone."""

from __future__ import annotations

import numpy as np

from opcheck.precise.answer import Bools
from opcheck.precise.double_double.arithmetic import DoubleDouble, add, watched_add


def levels(count: int) -> int:
    """How many additions lie one upon another in a sum of `count` terms: ⌈log2 count⌉."""
    return max(count - 1, 0).bit_length()


def total(x: DoubleDouble) -> DoubleDouble:
    """The sum of one term or more, none negative, up to 4u² for each of its levels.

    The first half is added to the last, element by element, until one term is left; an odd one in
    the middle waits. Nothing is negative, so no error grows in relation to its sum.
    """
    while len(x[0]) > 1:
        first, middle, last = _thirds(x)
        x = _joined(add(first, last), middle)
    return x[0][0], x[1][0]


def watched_total(x: DoubleDouble) -> tuple[DoubleDouble, Bools]:
    """What `total` gives, and which of the sums are exact."""
    exact = np.ones(x[0].shape[1:], np.bool_)
    while len(x[0]) > 1:
        first, middle, last = _thirds(x)
        sums, inexact = watched_add(first, last)
        exact &= ~inexact.any(axis=0)
        x = _joined(sums, middle)
    return (x[0][0], x[1][0]), exact


def _thirds(x: DoubleDouble) -> tuple[DoubleDouble, DoubleDouble, DoubleDouble]:
    """The first half, what is odd in the middle, and the last half."""
    count = len(x[0])
    cuts = (slice(count // 2), slice(count // 2, -(count // 2)), slice(-(count // 2), None))
    first, middle, last = ((x[0][cut], x[1][cut]) for cut in cuts)
    return first, middle, last


def _joined(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    return np.concatenate((x[0], y[0])), np.concatenate((x[1], y[1]))
