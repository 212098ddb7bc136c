from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.precise.ops.lp_pool import ties

HALVES = Fraction(5, 2)


@pytest.mark.parametrize(
    ("y", "x", "p", "want"),
    [
        (Fraction(6), [3, 4, 5], Fraction(3), True),
        (Fraction(6), [3, 4, 5.000000001], Fraction(3), False),
        (Fraction(6), [3, 4, 5], Fraction(2), False),
        (Fraction(5, 8), [3 / 8, 0.5], Fraction(2), True),
        # 32 of 2^2.5: (2^5 · 2^2.5)^(1/2.5) = 2^3.
        (Fraction(8), [2] * 32, HALVES, True),
        (Fraction(8), [2] * 31, HALVES, False),
        # Squares: 4^2.5 = 32, 1: Σ = 32·31 + 32 = 1024 = 16^2.5.
        (Fraction(16), [4] * 31 + [1] * 32, HALVES, True),
        # The same times 2: √2 is a factor of both sides, and drops out.
        (Fraction(32), [8] * 31 + [2] * 32, HALVES, True),
        # Radicals of different kinds never add up to one.
        (Fraction(3), [1, 2], HALVES, False),
        (Fraction(16), [4] * 31 + [2] * 32, HALVES, False),
        # Fourth roots: 16^(5/4) = 32 and 1 are whole, 3^5 = 7·32 + 19; of 4 there is none.
        (Fraction(81), [16] * 7 + [1] * 19, Fraction(5, 4), True),
        (Fraction(9), [4] * 7 + [1] * 19, Fraction(5, 4), False),
        # Wholes add up, but their root is none.
        (Fraction(3), [1, 1], HALVES, False),
        # Powers too long to be written down.
        (Fraction(3), [1, 1], Fraction(2**62), False),
        (Fraction(3, 2), [1, 1.25], Fraction(2**40 + 1, 2), False),
    ],
)
def test_whether_it_is_the_norm(y: Fraction, x: list[float], p: Fraction, want: bool) -> None:
    assert ties.is_norm(y, Counter(map(float, x)), p) is want


@given(
    x=st.lists(st.integers(1, 60), min_size=2, max_size=5),
    p=st.integers(1, 6),
    scale=st.integers(-300, 300),
)
def test_whole_powers_against_integers(x: list[int], p: int, scale: int) -> None:
    total = sum(value**p for value in x)
    guess = round(total ** (1 / p))
    y = Fraction(guess) * Fraction(2) ** scale
    got = ties.is_norm(y, Counter(value * 2.0**scale for value in x), Fraction(p))
    assert got == (guess**p == total)
