"""The operations. Their bounds are those proven in

- Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic building blocks of
  double-word arithmetic", ACM Trans. Math. Softw. 44 (2017): algorithms 6, 7, 10 and 17;
- Lefèvre, Louvet, Muller, Picot, Rideau, "Accurate calculation of Euclidean norms using
  double-word arithmetic", ACM Trans. Math. Softw. 49 (2023): the square root;

rounded up to whole multiples of u², which also covers their terms in u³.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from opcheck.precise.answer import Bools, Floats

#: The sum of both, the second at most half an ULP of the first.
DoubleDouble: TypeAlias = tuple[Floats, Floats]

#: The unit roundoff of float64.
U = 2.0**-53
#: Veltkamp's constant, which halves a significand of 53 bits.
_SPLITTER = 2.0**27 + 1


def two_sum(a: Floats, b: Floats) -> DoubleDouble:
    """a + b, exactly (Knuth)."""
    s = a + b
    of_b = s - a
    return s, (a - (s - of_b)) + (b - of_b)


def _quick_two_sum(a: Floats, b: Floats) -> DoubleDouble:
    """a + b, exactly, where a is 0 or |a| >= |b| (Dekker)."""
    s = a + b
    return s, b - (s - a)


def _split(a: Floats) -> DoubleDouble:
    """`a` as the sum of two numbers of 26 bits (Veltkamp)."""
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def two_product(a: Floats, b: Floats) -> DoubleDouble:
    """a · b, exactly (Dekker)."""
    p = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    return p, rest


def add(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """x + y, up to 4u² of the sum whatever their signs (algorithm 6: 3u²)."""
    high, rest = two_sum(x[0], y[0])
    low, low_rest = two_sum(x[1], y[1])
    high, rest = _quick_two_sum(high, rest + low)
    return _quick_two_sum(high, low_rest + rest)


def watched_add(x: DoubleDouble, y: DoubleDouble) -> tuple[DoubleDouble, Bools]:
    """What `add` gives, and where it is not exact: where one of its two roundings left a rest."""
    high, rest = two_sum(x[0], y[0])
    low, low_rest = two_sum(x[1], y[1])
    low, first = two_sum(rest, low)
    high, rest = _quick_two_sum(high, low)
    low, second = two_sum(low_rest, rest)
    return _quick_two_sum(high, low), (first != 0) | (second != 0)


def times(x: DoubleDouble, b: Floats) -> DoubleDouble:
    """x · b, up to 2u² (algorithm 7: 3/2 u² + 4u³)."""
    high, rest = two_product(x[0], b)
    high, low = _quick_two_sum(high, x[1] * b)
    return _quick_two_sum(high, low + rest)


def multiply(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """x · y, up to 8u² (algorithm 10: 7u²)."""
    high, rest = two_product(x[0], y[0])
    return _quick_two_sum(high, rest + (x[0] * y[1] + x[1] * y[0]))


def divide(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """x / y, up to 16u² (algorithm 17: 15u² + 56u³)."""
    quotient = x[0] / y[0]
    product = times(y, quotient)
    # x − quotient · y is small: the difference of the high parts is exact.
    rest = (x[0] - product[0]) + (x[1] - product[1])
    return _quick_two_sum(quotient, rest / y[0])


def square_root(x: DoubleDouble) -> DoubleDouble:
    """√x for x > 0, up to 4u² (25/8 u²)."""
    root = np.sqrt(x[0])
    square = two_product(root, root)
    # x − root² is small: the difference of the high parts is exact, as is that with the rest.
    rest = ((x[0] - square[0]) - square[1]) + x[1]
    return _quick_two_sum(root, rest / (2 * root))
