"""ln x."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from opcheck.precise.double_double import constants
from opcheck.precise.double_double.arithmetic import (
    DoubleDouble,
    add,
    divide,
    multiply,
    times,
    two_sum,
)

_STEPS = 64
#: 1/n for n = 3 and 5 as double-doubles, for n = 7 … 13 as float64.
_EXACT = [(float(c), float(c - Fraction(float(c)))) for c in (Fraction(1, n) for n in (3, 5))]
_PLAIN = [1 / n for n in (7, 9, 11, 13)]


def ln2() -> tuple[float, float]:
    """The natural logarithm of 2, up to u²."""
    high, low = constants.logarithms(_STEPS)
    return float(high[-1]), float(low[-1])


def logarithm(x: DoubleDouble) -> DoubleDouble:
    """ln x for x in [1, 2], up to an absolute error of 8u².

    ln x = ln c + 2·(s + s³/3 + s⁵/5 + …) with c = rint(64x)/64 and s = (x − c)/(x + c), |s| < 2^-8.
    Absolute errors, in u² = 2^-106:

    - s. x − c is exact, as both are multiples of 2^-52 and near each other; x + c: 4u², relative,
      and the quotient 16u²: of 2s that is 20u² · 2^-7, 0.2.
    - What is cut off after s¹³/13 is below 2^-7 · 2^-112/15 < 2^-122. The terms from s⁷/7 on are
      computed in float64: 2^-51 · 2^-7 · 2^-48/7 < 2^-108. Relative errors of s²/3 + s⁴/5 + …, some
      60u², are multiplied by 2^-7 · 2^-17. Together 0.3.
    - ln c, from a table: 1. The two sums: 4u² · 2^-7 and 4u² · ln 2, 3.
    """
    c = np.rint(x[0] * _STEPS) / _STEPS
    top = two_sum(x[0] - c, x[1])
    s = divide(top, add(two_sum(x[0], c), (x[1], np.zeros_like(c))))
    z = multiply(s, s)
    plain = np.full_like(c, _PLAIN[-1])
    for coefficient in reversed(_PLAIN[:-1]):
        plain = plain * z[0] + coefficient
    sum_ = times(z, plain)
    for high, low in reversed(_EXACT):
        sum_ = add(sum_, (np.full_like(plain, high), np.full_like(plain, low)))
        sum_ = multiply(sum_, z)
    twice = (2 * s[0], 2 * s[1])
    at = (c * _STEPS).astype(np.int64) - _STEPS
    table = constants.logarithms(_STEPS)
    return add((table[0][at], table[1][at]), add(twice, multiply(twice, sum_)))
