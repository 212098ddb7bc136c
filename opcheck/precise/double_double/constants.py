"""Constants of more than 100 bits, computed in integers, which are the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from opcheck.precise.double_double.arithmetic import DoubleDouble

#: Values below are integers in units of 2^-_BITS. Each division drops less than one unit, and no
#: sum has more than 200 terms: their errors stay below 2^-200.
_BITS = 210


@cache
def exponentials(steps: int, most: int) -> DoubleDouble:
    """e^(j/steps) for j = −most … most, each up to u²."""
    return pairs([_exponential(Fraction(j, steps)) for j in range(-most, most + 1)])


@cache
def logarithms(steps: int) -> DoubleDouble:
    """ln(j/steps) for j = steps … 2·steps, each up to u²."""
    return pairs([natural_logarithm(Fraction(j, steps)) for j in range(steps, 2 * steps + 1)])


def natural_logarithm(x: Fraction) -> Fraction:
    """ln x for x in [1, 2], within 2^-190: 2·(s + s³/3 + s⁵/5 + …) with s = (x − 1)/(x + 1)."""
    s = (x - 1) / (x + 1)
    power, square = int(s * 2**_BITS), s * s
    total, n = 0, 1
    while power:
        total += power // n
        power = power * square.numerator // square.denominator
        n += 2
    return Fraction(2 * total, 2**_BITS)


def _exponential(x: Fraction) -> Fraction:
    """e^x for |x| < 1, within 2^-190: 1 + x + x²/2! + x³/3! + …, of |x|, inverted where x < 0."""
    total, term, n = 0, 2**_BITS, 1
    while term:
        total += term
        term = term * abs(x.numerator) // (x.denominator * n)
        n += 1
    value = Fraction(total, 2**_BITS)
    return 1 / value if x < 0 else value


def pairs(values: Sequence[Fraction]) -> DoubleDouble:
    """Each of `values` as a double-double, up to u²."""
    # Fraction to float rounds correctly.
    high = [float(value) for value in values]
    low = [float(value - Fraction(h)) for value, h in zip(values, high, strict=True)]
    return np.array(high), np.array(low)
