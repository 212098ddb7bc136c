"""Every operation against fractions: within its bound, and those that are exact, exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.precise.double_double import (
    DoubleDouble,
    add,
    divide,
    multiply,
    square_root,
    times,
    two_product,
    two_sum,
)
from opcheck.precise.double_double.arithmetic import watched_add

U2 = Fraction(1, 2**106)

floats = st.builds(math.ldexp, st.floats(-1, 1), st.integers(-150, 150)).filter(
    lambda x: x == 0 or abs(x) > 2.0**-300
)
#: Significands whose product or quotient falls next to where rounding changes.
hard = st.sampled_from([1.0, 1 + 2.0**-52, 2 - 2.0**-52, 1.5, 4 / 3, 1 - 2.0**-53])
pairs = st.builds(
    lambda high, part: (np.array([high]), np.array([high * 2.0**-54 * part])),
    (floats | hard).filter(bool),
    st.floats(-1, 1) | st.sampled_from([0.0, 1.0, -0.5]),
)


def exact(x: DoubleDouble) -> Fraction:
    return Fraction(float(x[0][0])) + Fraction(float(x[1][0]))


def is_normal(x: DoubleDouble) -> bool:
    return bool(x[0][0] + x[1][0] == x[0][0])


@given(a=floats | hard, b=floats | hard)
def test_a_sum_and_a_product_of_two_floats_are_exact(a: float, b: float) -> None:
    one, two = np.array([a]), np.array([b])
    assert exact(two_sum(one, two)) == Fraction(a) + Fraction(b)
    assert exact(two_product(one, two)) == Fraction(a) * Fraction(b)
    assert is_normal(two_sum(one, two))
    assert is_normal(two_product(one, two))


@pytest.mark.parametrize(
    ("operation", "truth", "bound"),
    [
        (add, Fraction.__add__, 4),
        (multiply, Fraction.__mul__, 8),
        (divide, Fraction.__truediv__, 16),
    ],
)
@settings(max_examples=300)
@given(x=pairs, y=pairs)
def test_an_operation_keeps_to_its_bound(
    operation: Callable[[DoubleDouble, DoubleDouble], DoubleDouble],
    truth: Callable[[Fraction, Fraction], Fraction],
    bound: int,
    x: DoubleDouble,
    y: DoubleDouble,
) -> None:
    want, got = truth(exact(x), exact(y)), operation(x, y)
    assert abs(exact(got) - want) <= bound * U2 * abs(want)
    assert is_normal(got)


@given(x=pairs, b=floats | hard)
def test_a_product_with_a_float_keeps_to_its_bound(x: DoubleDouble, b: float) -> None:
    want = exact(x) * Fraction(b)
    assert abs(exact(times(x, np.array([b]))) - want) <= 2 * U2 * abs(want)


@given(x=pairs)
def test_a_square_root_keeps_to_its_bound(x: DoubleDouble) -> None:
    x = (np.abs(x[0]), x[1])
    got = exact(square_root(x))
    # |√a − g| <= b·√a follows from |a − g²| <= b·a, and a little.
    assert abs(got * got - exact(x)) <= 2 * 4 * U2 * exact(x)


@given(x=pairs, y=pairs)
def test_a_watched_sum_is_the_sum_and_knows_when_it_is_exact(
    x: DoubleDouble, y: DoubleDouble
) -> None:
    got, inexact = watched_add(x, y)
    assert exact(got) == exact(add(x, y))
    if not inexact[0]:
        assert exact(got) == exact(x) + exact(y)


def test_a_watched_sum_is_exact_where_106_bits_hold_it_and_not_beyond() -> None:
    one, zero = np.array([1.0]), np.array([0.0])
    small, smaller = np.array([2.0**-100]), np.array([2.0**-200])
    assert not watched_add((one, zero), (small, zero))[1][0]
    assert watched_add((one, small), (smaller, zero))[1][0]
