"""e^x."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from opcheck.precise.answer import Floats, Ints
from opcheck.precise.double_double import constants
from opcheck.precise.double_double.arithmetic import (
    DoubleDouble,
    add,
    multiply,
    two_product,
    two_sum,
)
from opcheck.precise.double_double.series import series

_STEPS, _MOST = 64, 22


def _three_parts(x: Fraction) -> tuple[float, float, float]:
    """`x` in [1/2, 1) as its first 33 bits, the next 33, and the rest as a float64."""
    first = Fraction(math.floor(x * 2**33), 2**33)
    second = Fraction(math.floor((x - first) * 2**66), 2**66)
    return float(first), float(second), float(x - first - second)


_LN2 = constants.natural_logarithm(Fraction(2))
_PARTS = _three_parts(_LN2)
_PER_LN2 = float(1 / _LN2)
#: (e^x − 1 − x)/x: x/2! + x²/3! + … + x¹¹/12!.
_AFTER_X = series([Fraction(1, math.factorial(n)) for n in range(2, 13)], exact=5)


def exponential(x: DoubleDouble) -> tuple[DoubleDouble, Ints]:
    """e^x = y · 2^k for |x| < 2^16, up to 8u² + |k| · 2^-120; y in [0.7, 1.42].

    e^x = 2^k · e^(j/64) · e^s with k = rint(x/ln 2) and j = rint(64r), |s| <= 1/128 (and a little),
    of the rest r = x − k · ln 2, |r| < 0.35. Errors, relative to e^x, in u² = 2^-106:

    - r. ln 2 is three parts, the last of which ends below 2^-120. |k| < 2^17, so k times the first
      two has at most 50 bits and is exact; the third product is exact as a double-double. Of the
      sum x[0] − k·P1 − k·P2 + (x[1] − k·P3) all low parts are kept and added last; they are below
      2^-53, so the two roundings that matter there lose 2^-107 each: 1, and |k| · 2^-120 / u².
    - e^s − 1 = s + s²(1/2! + s/3! + … + s¹⁰/12!): what is cut off is below 2^-91/13! < 2^-123.
      The terms from s⁷/7! on are computed in float64: their relative errors of less than 2^-51
      count 2^-51 · 2^-49/7! < 2^-112. Errors of the double-double steps are multiplied by s² and
      more, but for the last addition and product: 4u² · 2^-7 and 8u² · 2^-7. Together 0.2.
    - e^(j/64), from a table: 1. Its product with e^s − 1: 8u² · 2^-7, 0.1. The sum of both: 4.
    """
    k = np.rint(x[0] * _PER_LN2)
    r = _reduced(x, k)
    j = np.rint(r[0] * _STEPS)
    s = add(two_sum(r[0], j / -_STEPS), (r[1], np.zeros_like(j)))
    at = (j + _MOST).astype(np.int64)
    high, low = constants.exponentials(_STEPS, _MOST)
    step = (high[at], low[at])
    less_one = add(s, multiply(_AFTER_X(s), s))
    return add(step, multiply(step, less_one)), k.astype(np.int64)


def _reduced(x: DoubleDouble, k: Floats) -> DoubleDouble:
    """x − k · ln 2."""
    one, two, three = _PARTS
    high, rest_1 = two_sum(x[0], -k * one)
    high, rest_2 = two_sum(high, -k * two)
    product, rest_3 = two_product(k, np.full_like(k, three))
    low, rest_4 = two_sum(x[1], -product)
    high, rest_5 = two_sum(high, low)
    return two_sum(high, ((rest_1 + rest_2) + rest_5) + (rest_4 - rest_3))
