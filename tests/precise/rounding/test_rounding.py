"""Both ways of rounding, against a search among neighbours in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opcheck.precise.formats import FORMATS
from opcheck.precise.rounding import many, one
from tests.precise.nearest import nearest, number

names = st.sampled_from(sorted(FORMATS))


@st.composite
def values(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A format and a value in its range: between two numbers of any size, or next to a midpoint."""
    name = draw(names)
    bits = draw(st.integers(0, largest(name)))
    low, high = number(bits, name), number(bits + 1, name)
    parts = (st.integers(0, 64), st.integers(1, 64))
    place = draw(
        st.builds(lambda n, d: min(Fraction(n, d), Fraction(1)), *parts)
        | st.builds(lambda k, s: Fraction(1, 2) + s * Fraction(1, 2**k), st.integers(1, 300), SIGNS)
        | st.builds(lambda k: Fraction(1, 2**k), st.integers(1, 300))
    )
    return name, low + place * (high - low)


SIGNS = st.sampled_from([-1, 0, 1])


def largest(name: str) -> int:
    """The bits of the largest finite number."""
    form = FORMATS[name]
    top = np.array([np.inf], form.dtype).view(f"u{form.dtype.itemsize}")
    return int(top[0]) - 1


def cast(got: float, name: str) -> float:
    with np.errstate(over="ignore"):
        return float(np.array(got).astype(FORMATS[name].dtype))


def by_one(y: Fraction, name: str) -> tuple[float, float]:
    def approximation(bits: int) -> tuple[int, int]:
        exponent = y.numerator.bit_length() - y.denominator.bit_length() - bits - 2
        return int(y / Fraction(2) ** exponent), exponent

    return one.rounded(approximation, lambda midpoint: midpoint == y, FORMATS[name])


@given(case=values())
@example(case=("float16", Fraction(65520)))
@example(case=("float16", Fraction(65520) - Fraction(1, 2**200)))
@example(case=("float64", Fraction(2) ** 1024 - Fraction(2) ** 970))
@example(case=("float64", Fraction(1, 2**1075)))
@example(case=("float64", Fraction(1, 2**1075) + Fraction(1, 2**1500)))
@example(case=("float32", Fraction(1, 2**5000)))
@example(case=("bfloat16", 1 - Fraction(1, 2**200)))
@example(case=("bfloat16", 1 + Fraction(1, 2**200)))
def test_one_number_is_rounded_correctly(case: tuple[str, Fraction]) -> None:
    name, y = case
    if y:
        want, distance = nearest(y, name)
        got, far = by_one(y, name)
        assert cast(got, name) == want
        assert abs(Fraction(far) - distance) < Fraction(1, 2**50)


def test_an_approximation_that_errs_as_much_as_it_may_is_enough() -> None:
    """Whichever end of its interval y lies at, also one beyond a power of two."""
    for error in (-1, 0, 1):
        for y in (1 - Fraction(1, 2**70), Fraction(1), 1 + Fraction(1, 2**70), Fraction(257, 256)):

            def approximation(bits: int, y: Fraction = y, error: int = error) -> tuple[int, int]:
                m = int(y * 2 ** (bits + 20))
                return m + error * (m >> (bits + 1)), -bits - 20

            got, _ = one.rounded(
                approximation, lambda midpoint, y=y: midpoint == y, FORMATS["bfloat16"]
            )
            assert got == nearest(y, "bfloat16")[0]


def test_a_near_tie_asks_for_more_digits_and_a_tie_does_not() -> None:
    asked: list[int] = []

    def approximation(bits: int) -> tuple[int, int]:
        asked.append(bits)
        y = Fraction(257, 256) + Fraction(1, 2**300)
        return int(y * 2 ** (bits + 2)), -bits - 2

    assert one.rounded(approximation, lambda _: False, FORMATS["bfloat16"])[0] == 1 + 2**-7
    assert asked == [72, 144, 288, 576]
    asked.clear()
    assert one.rounded(approximation, lambda _: True, FORMATS["bfloat16"]) == (1.0, 0.0)
    assert asked == [72]


def by_many(y: Fraction, name: str, error: float = 2.0**-100) -> tuple[float, float, bool]:
    scale = y.numerator.bit_length() - y.denominator.bit_length()
    unit = y / Fraction(2) ** scale
    high = float(unit)
    low = float(unit - Fraction(high))
    with np.errstate(over="ignore"):
        answer = many.rounded(
            (np.array([high]), np.array([low])), np.array([scale]), error, FORMATS[name]
        )
    return float(answer.values[0]), float(answer.distance[0]), bool(answer.unsure[0])


@given(case=values())
@example(case=("float16", Fraction(65520)))
@example(case=("float16", Fraction(65520) - Fraction(1, 2**60)))
@example(case=("float64", Fraction(2) ** 1024 - Fraction(2) ** 970 + Fraction(2) ** 890))
@example(case=("float64", Fraction(1, 2**1075) + Fraction(1, 2**1140)))
@example(case=("bfloat16", 1 - Fraction(1, 2**90)))
@example(case=("float64", 1 - Fraction(1, 2**54) - Fraction(1, 2**110)))
def test_many_numbers_are_rounded_correctly_or_it_is_said_that_one_is_not_sure(
    case: tuple[str, Fraction],
) -> None:
    name, y = case
    if not y:
        return
    want, distance = nearest(y, name)
    got, far, unsure = by_many(y, name)
    limit = 4 * 2.0**-100 * 2.0 ** FORMATS[name].precision
    if unsure:
        assert distance <= limit
    else:
        assert cast(got, name) == want
        assert abs(Fraction(far) - distance) <= limit + 2.0**-50


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_where_the_value_is_exact_a_tie_goes_to_the_even_number(name: str) -> None:
    form = FORMATS[name]
    for count in (1, 2, 3, 2**form.precision - 1):
        y = Fraction(2 * count + 1, 2)
        high = np.array([float(y)])
        low = np.array([float(y - Fraction(float(y)))])
        scale = np.array([0])
        assert many.rounded((high, low), scale, 2.0**-100, form, np.array([False])).unsure[0] == (
            count >= 2 ** (form.precision - 1)
        )
        answer = many.rounded((high, low), scale, 2.0**-100, form, np.array([True]))
        assert not answer.unsure[0]
        assert answer.values[0] == nearest(y, name)[0]


def test_nothing_is_0_and_as_far_from_a_midpoint_as_can_be() -> None:
    zero = np.zeros(1)
    answer = many.rounded((zero, zero), np.array([-(2**30)]), 2.0**-90, FORMATS["float64"])
    assert (answer.values[0], answer.distance[0], answer.unsure[0]) == (0, 0.5, False)


def test_a_midpoint_in_the_range_is_told_to_the_caller_once() -> None:
    """The midpoint that is asked about is the right one, in a subnormal's binade too."""
    seen: list[Fraction] = []

    def is_exactly(midpoint: Fraction) -> bool:
        seen.append(midpoint)
        return True

    for y in (Fraction(2049), Fraction(3, 2**25), Fraction(65520), Fraction(1, 2**25)):
        one.rounded(
            lambda bits, y=y: (int(y * 2**bits * 2**25), -bits - 25), is_exactly, FORMATS["float16"]
        )
    assert seen == [2049, Fraction(3, 2**25), 65520, Fraction(1, 2**25)]
    assert cast(by_one(Fraction(65520), "float16")[0], "float16") == math.inf
