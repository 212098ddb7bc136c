from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.engine.double_double import Pair, two_product, two_sum

MP = mpmath.MPContext()
MP.prec = 300


def pair(number: Any) -> Pair:
    """The Pair nearest to a number of more digits."""
    high = float(number)
    return Pair(np.array([high]), np.array([float(MP.mpf(number) - MP.mpf(high))]))


def value(x: Pair, place: int = 0) -> Fraction:
    return Fraction(float(x.high.flat[place])) + Fraction(float(x.low.flat[place]))


def precise(x: Pair) -> Any:
    return MP.mpf(float(x.high[0])) + MP.mpf(float(x.low[0]))


#: Of all sizes that a Pair may have.
floats = st.builds(math.ldexp, st.floats(-1, 1), st.integers(-200, 200)).filter(
    lambda x: x == 0 or abs(x) > 2.0**-400
)
pairs = st.builds(
    lambda high, part: Pair(np.array([high]), np.array([high * 2.0**-54 * part])),
    floats.filter(bool),
    st.floats(-1, 1),
)


@given(a=floats, b=floats)
def test_a_sum_of_two_floats_is_exact(a: float, b: float) -> None:
    result = two_sum(np.array([a]), np.array([b]))
    assert value(result) == Fraction(a) + Fraction(b)
    assert result.high[0] == a + b


@given(a=floats, b=floats)
def test_a_product_of_two_floats_is_exact(a: float, b: float) -> None:
    result = two_product(np.array([a]), np.array([b]))
    assert value(result) == Fraction(a) * Fraction(b)
    assert result.high[0] == a * b


@pytest.mark.parametrize("of", [operator.add, operator.sub, operator.mul, operator.truediv])
@settings(max_examples=200, deadline=None)
@given(a=pairs, b=pairs)
def test_the_four_operations_keep_a_hundred_bits(of: Any, a: Pair, b: Pair) -> None:
    want = of(value(a), value(b))
    result = of(a, b)
    assert abs(value(result) - want) <= Fraction(2) ** -100 * abs(want)
    assert abs(result.low[0]) <= np.spacing(abs(result.high[0])) / 2


@given(a=pairs, b=floats.filter(bool))
def test_the_other_operand_may_be_an_array_or_a_float(a: Pair, b: float) -> None:
    array = np.array([b])
    for of in (operator.add, operator.sub, operator.mul, operator.truediv):
        want = of(a, Pair(array, np.zeros(1)))
        for result in (of(a, array), of(a, b)):
            assert (result.high[0], result.low[0]) == (want.high[0], want.low[0])


def test_an_array_leaves_the_operation_to_the_pair() -> None:
    with pytest.raises(TypeError):
        np.ones(3) * Pair(np.ones(3), np.zeros(3))  # type: ignore[operator]


def test_what_cancels_leaves_the_low_digits() -> None:
    third = pair(MP.mpf(1) / 3)
    assert value(third - third.high) == Fraction(float(third.low[0]))
    assert value(third + -third) == 0


@settings(max_examples=100, deadline=None)
@given(x=st.floats(-300, 300))
def test_exp_keeps_98_bits(x: float) -> None:
    got = precise(pair(MP.mpf(x) / 3).exp())
    want = MP.exp(precise(pair(MP.mpf(x) / 3)))
    assert abs(got - want) <= MP.mpf(2) ** -98 * want


@settings(max_examples=100, deadline=None)
@given(x=st.builds(math.ldexp, st.floats(1, 2), st.integers(-400, 400)))
def test_log_keeps_98_bits_of_its_size_or_of_one(x: float) -> None:
    for number in (pair(x), pair(MP.mpf(x) * 4 / 3), pair(1 + MP.mpf(x) * MP.mpf(2) ** -450)):
        want = MP.log(precise(number))
        assert abs(precise(number.log()) - want) <= MP.mpf(2) ** -98 * max(1, abs(want))


@settings(max_examples=100, deadline=None)
@given(x=st.builds(math.ldexp, st.floats(1, 2), st.integers(-400, 400)))
def test_sqrt_keeps_a_hundred_bits(x: float) -> None:
    number = pair(MP.mpf(x) / 3)
    want = MP.sqrt(precise(number))
    assert abs(precise(number.sqrt()) - want) <= MP.mpf(2) ** -100 * want


@pytest.mark.parametrize("p", [1, 2, 3, 7, 10, 64, 65, 100, 0.5, 1 / 3, 2.5, 3.7])
def test_power_keeps_94_bits(p: float) -> None:
    for x in (1.0, 0.1, 3.0, 1 - 2**-53, 0.75, 1e-2):
        number = pair(MP.mpf(x) * 6 / 7)
        want = precise(number) ** MP.mpf(p)
        assert abs(precise(number.power(p)) - want) <= MP.mpf(2) ** -94 * want


def test_functions_of_zero_and_of_the_infinite() -> None:
    nought = Pair(np.zeros(1), np.zeros(1))
    with np.errstate(all="ignore"):
        assert value(nought.exp()) == 1
        assert value(nought.sqrt()) == 0
        assert value(nought.power(2)) == value(nought.power(2.5)) == 0
        assert Pair(np.array([-np.inf]), np.zeros(1)).exp().high[0] == 0
        assert math.isnan(Pair(np.array([np.nan]), np.zeros(1)).exp().high[0])


def test_an_exponent_keeps_powers_in_range() -> None:
    # e^-700 is near the end of float64's range, so its low part is beyond it.
    got = precise(pair(-700).exp(600))
    want = MP.exp(-700) * MP.mpf(2) ** 600
    assert abs(got - want) <= MP.mpf(2) ** -98 * want


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 1000])
def test_a_total_is_the_sum_of_the_last_axis(length: int) -> None:
    random = np.random.default_rng(length)
    terms = random.normal(size=(3, length)) * 2.0 ** random.integers(-60, 60, (3, length))
    result = Pair(terms, terms * 2.0**-55).total()
    assert result.shape == (3, 1)
    for i, row in enumerate(terms):
        parts = [Fraction(float(term)) for term in row]
        want = sum(parts) * (1 + Fraction(2) ** -55)
        assert abs(value(result, i) - want) <= Fraction(2) ** -98 * sum(map(abs, parts))


def test_parts_are_taken_by_index() -> None:
    x = Pair(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) / 2**60)
    part = x[:, 1]
    assert part.shape == (2,)
    assert part.high.tolist() == [1, 4]
    assert part.low.tolist() == [1 / 2**60, 4 / 2**60]


# ── splitting: a value of float64 and what is left ────────────────────────────────────────────


def test_a_normal_number_is_split_into_its_parts() -> None:
    third = pair(MP.mpf(1) / 3)
    for exponent in (0, -900, 500):
        values, rest = third.split(exponent)
        assert values[0] == math.ldexp(1 / 3, exponent)
        assert rest[0] == math.ldexp(float(third.low[0]), exponent)


@settings(max_examples=200, deadline=None)
@given(
    whole=st.integers(0, 2**55),
    part=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)]),
    hair=st.sampled_from([-(2.0**-60), 0.0, 2.0**-60]),
)
def test_a_subnormal_is_rounded_once(whole: int, part: Fraction, hair: float) -> None:
    # In units of the smallest number, scaled by 2^600 while it is worked with.
    number = whole + part + Fraction(hair) * (whole + part)
    x = Pair(np.array([math.ldexp(float(number), -474)]), np.zeros(1))
    x = x + math.ldexp(float(number - Fraction(float(number))), -474)
    values, rest = x.split(-600)
    exact = value(x) * Fraction(2) ** 474
    assert Fraction(float(values[0])) == Fraction(float(exact * Fraction(2) ** -1074))
    if exact < 2**52:
        assert rest[0] == 0


def test_exponents_of_a_split_may_differ() -> None:
    values, rest = Pair(np.array([1.0, 1.0]), np.array([2.0**-60, 0.0])).split(np.array([3, -3]))
    assert values.tolist() == [8, 0.125]
    assert rest.tolist() == [2.0**-57, 0]


def test_a_split_beyond_the_range_is_infinite() -> None:
    third = pair(MP.mpf(1) / 3)
    with np.errstate(all="ignore"):
        for values, rest in (third.split(1026), (-third).split(1500)):
            assert abs(values[0]) == np.inf
            assert rest.tolist() == [0]
        assert third.split(1025)[0].tolist() == [math.ldexp(1 / 3, 1025)]


def test_a_split_of_nan_leaves_nothing() -> None:
    values, rest = Pair(np.array([np.nan]), np.array([np.nan])).split()
    assert math.isnan(values[0])
    assert rest.tolist() == [0]
