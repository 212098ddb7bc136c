"""One number, rounded correctly from approximations that get better until they suffice."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from opcheck.precise.formats import Format

#: How many bits beyond the format's the first approximation has: enough that a value that is not
#: within 2^-64 ULP of a midpoint, and none is by chance, is decided by it.
_BITS_BEYOND = 64


def rounded(
    approximation: Callable[[int], tuple[int, int]],
    is_exactly: Callable[[Fraction], bool],
    form: Format,
) -> tuple[float, float]:
    """The number of `form` nearest to a real y > 0, and y's distance from a midpoint in ULP.

    `approximation(bits)` gives integers m > 0 and e with |m·2^e − y| ≤ 2^-bits · m·2^e, so that y
    lies in an interval. Either no midpoint lies in it, and then all of it rounds to one number.
    Or one does, and `is_exactly` tells whether y is that midpoint: then the even neighbour is
    nearest. Or the interval is narrowed, to twice the bits; as y is no midpoint, this ends (Ziv).

    Numbers of a binade [2^b, 2^(b+1)) are multiples of u = 2^max(b − precision + 1, least), their
    midpoints odd multiples of u/2. Should the interval reach over the end of m's binade, then the
    multiples of m's own u/2 only add to the midpoints there, and 2^b, which is none, lies nearest
    to all of it.
    """
    bits = form.precision + _BITS_BEYOND
    while True:
        m, e = approximation(bits)
        top = m.bit_length() + e
        if top < form.least - _BITS_BEYOND:
            return 0.0, 0.5
        half = max(top - form.precision, form.least) - 1
        # Everything in units of 2^fine, in which u/2 is 2^unit.
        fine = min(e - bits, half)
        unit = half - fine
        middle, error = m << (e - fine), m << (e - fine - bits)
        last = (middle + error) >> unit
        midpoint = last if last & 1 else last - 1
        if midpoint << unit < middle - error:
            count = ((middle >> unit) + 1) >> 1
            return _number(count, half + 1), _distance(middle, unit)
        if is_exactly(Fraction(midpoint) * Fraction(2) ** half):
            count = (midpoint + 1) >> 1
            return _number(count - (count & 1), half + 1), 0.0
        bits *= 2


def _number(count: int, unit: int) -> float:
    """count · 2^unit, which float64 holds unless it is too large; too large for `form` or not."""
    try:
        return math.ldexp(count, unit)
    except OverflowError:
        return math.inf


def _distance(middle: int, unit: int) -> float:
    """How far middle / 2^(unit+1) is from the nearest odd multiple of a half."""
    rest = middle & ((2 << unit) - 1)
    return float(Fraction(abs(rest - (1 << unit)), 2 << unit))
