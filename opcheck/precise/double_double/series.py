"""Power series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opcheck.precise.double_double.arithmetic import DoubleDouble, add, multiply, times
from opcheck.precise.double_double.constants import pairs


@dataclass(frozen=True)
class Series:
    """c1·x + c2·x² + …; the first coefficients, `exact`, up to u², the others as `plain` float64.

    With those of the others that is as precise as float64, with the first as a double-double.
    """

    exact: Sequence[tuple[float, float]]
    plain: Sequence[float]

    def __call__(self, x: DoubleDouble) -> DoubleDouble:
        """The value for small `x`, by Horner's rule."""
        plain = np.full_like(x[0], self.plain[-1])
        for coefficient in reversed(self.plain[:-1]):
            plain = plain * x[0] + coefficient
        value = times(x, plain)
        for high, low in reversed(self.exact):
            value = add(value, (np.full_like(plain, high), np.full_like(plain, low)))
            value = multiply(value, x)
        return value


def series(coefficients: Sequence[Fraction], exact: int) -> Series:
    """The series with these coefficients, the first `exact` of them as double-doubles."""
    high, low = pairs(coefficients[:exact])
    plain = [float(coefficient) for coefficient in coefficients[exact:]]
    return Series(list(zip(high.tolist(), low.tolist(), strict=True)), plain)
