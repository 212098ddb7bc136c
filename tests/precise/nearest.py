"""Correct rounding by looking at three neighbours, and exact values, in fractions and decimals.

Slow, and with nothing of what is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = {
    "float16": (np.dtype(np.float16), np.dtype(np.uint16), 2**16),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), np.dtype(np.uint16), 2**128),
    "float32": (np.dtype(np.float32), np.dtype(np.uint32), 2**128),
    "float64": (np.dtype(np.float64), np.dtype(np.uint64), 2**1024),
}
#: Digits after which decimals stop: far beyond float64, and short of no value met here.
DIGITS = 200
_TINY = Decimal("1e-5000")


def number(bits: int, name: str) -> Fraction:
    """The number with these bits, for an infinity the power of two that would follow."""
    dtype, unsigned, beyond = DTYPES[name]
    value = float(np.array([bits], unsigned).view(dtype)[0])
    return Fraction(beyond) if math.isinf(value) else Fraction(value)


def nearest(y: Fraction, name: str) -> tuple[float, Fraction]:
    """The number nearest to y >= 0, ties to even, and y's distance from a midpoint in ULP."""
    dtype, unsigned, beyond = DTYPES[name]
    infinity = int(np.array([math.inf]).astype(dtype).view(unsigned)[0])
    if y >= beyond:
        # The numbers that would follow, as far apart as those from `beyond` to twice that.
        step = beyond - number(infinity - 1, name)
        steps = y / (2 * step)
        while steps >= beyond / step:
            steps /= 2
        return math.inf, abs(steps % 1 - Fraction(1, 2))
    guess = float(y) if y < Fraction(2) ** 1023 else float(y / 2) * 2
    with np.errstate(over="ignore"):
        start = int(np.array([guess]).astype(dtype).view(unsigned)[0])
    below = next(bits for bits in (start, start - 1, start - 2) if number(bits, name) <= y)
    low, high = number(below, name), number(below + 1, name)
    place = (y - low) / (high - low)
    up = place > Fraction(1, 2) or (place == Fraction(1, 2) and below % 2 == 1)
    with np.errstate(over="ignore"):
        found = float(np.array([below + up], unsigned).view(dtype)[0])
    return found, abs(place - Fraction(1, 2))


def softmax(row: Sequence[float]) -> list[Fraction]:
    """e^x over the sum of e^x, to DIGITS digits; −inf is 0, and the smallest share 10^-5000."""
    with localcontext() as context:
        context.prec = DIGITS
        context.Emin = -(10**9)
        top = max(row)
        powers = [Decimal(0) if x == -math.inf else (Decimal(x) - Decimal(top)).exp() for x in row]
        total = sum(powers)
        return [
            Fraction(power / total) if power > _TINY or not power else Fraction(_TINY)
            for power in powers
        ]


def norm(window: Sequence[float], p: float) -> Fraction:
    """(Σ |x|^p)^(1/p), to DIGITS digits."""
    return _norm(tuple(window), p)


@cache  # each method is compared with it
def _norm(window: tuple[float, ...], p: float) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS + 20
        context.Emin = -(10**9)
        context.Emax = 10**9
        total = sum((Decimal(abs(x)) ** Decimal(p) for x in window if x), Decimal(0))
        if not total:
            return Fraction(0)
        if p == 1:
            return sum((Fraction(abs(x)) for x in window), Fraction(0))
        root = total.sqrt() if p == 2 else (total.ln() / Decimal(p)).exp()
        return Fraction(root)


def as_floats(values: Any) -> list[float]:
    """All elements, as float64."""
    return [float(value) for value in np.asarray(values).astype(np.float64).ravel()]
