"""The helper that others are measured with is measured here, by numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tests.precise.nearest import nearest, norm, softmax


@pytest.mark.parametrize(
    ("y", "name", "want", "distance"),
    [
        (Fraction(1), "float16", 1, 0.5),
        (Fraction(2049), "float16", 2048, 0),
        (Fraction(2051), "float16", 2052, 0),
        (Fraction(4099, 2), "float16", 2050, 0.25),
        (Fraction(257), "bfloat16", 256, 0),
        (Fraction(1, 2**25), "float16", 0, 0),
        (Fraction(3, 2**26), "float16", 2.0**-24, 0.25),
        (Fraction(65519), "float16", 65504, 1 / 32),
        (Fraction(65520), "float16", math.inf, 0),
        (Fraction(3 * (65536 + 16)), "float16", math.inf, 0.125),
        (Fraction(2) ** 200, "float32", math.inf, 0.5),
        (Fraction(2) ** 1024, "float64", math.inf, 0.5),
        (Fraction(1, 2**1075), "float64", 0, 0),
    ],
)
def test_the_nearest_number(y: Fraction, name: str, want: float, distance: float) -> None:
    assert nearest(y, name) == (want, distance)


def test_exact_values() -> None:
    half, also = softmax([7.5, 7.5])
    assert half == also == Fraction(1, 2)
    # 1/(1 + e), whose digits are those of the logistic function at −1.
    assert str(float(softmax([0, 1])[0])) == "0.2689414213699951"
    assert abs(norm([3, -4], 2) - 5) < Fraction(1, 10**190)
    assert abs(norm([3, 4, 5], 3) - 6) < Fraction(1, 10**190)
    assert norm([1, -2.5], 1) == Fraction(7, 2)
