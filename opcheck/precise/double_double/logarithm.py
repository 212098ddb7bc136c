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
    two_sum,
)
from opcheck.precise.double_double.series import series

_STEPS = 64
#: (artanh(s) − s)/s, of z = s²: z/3 + z²/5 + … + z⁵/11.
_AFTER_S = series([Fraction(1, n) for n in range(3, 12, 2)], exact=2)


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
    - What is cut off after s¹¹/11 is below 2^-7 · 2^-96/13 < 2^-106: 1. The terms from s⁷/7 on are
      computed in float64: 2^-51 · 2^-7 · 2^-48/7 < 2^-108. Relative errors of s²/3 + s⁴/5 + …, some
      60u², are multiplied by 2^-7 · 2^-17. Together 1.3.
    - ln c, from a table: 1. The two sums: 4u² · 2^-7 and 4u² · ln 2, 3.
    """
    c = np.rint(x[0] * _STEPS) / _STEPS
    top = two_sum(x[0] - c, x[1])
    s = divide(top, add(two_sum(x[0], c), (x[1], np.zeros_like(c))))
    twice = (2 * s[0], 2 * s[1])
    at = (c * _STEPS).astype(np.int64) - _STEPS
    table = constants.logarithms(_STEPS)
    return add((table[0][at], table[1][at]), add(twice, multiply(twice, _AFTER_S(multiply(s, s)))))
