"""e^x, ln x and sums, against published digits, integers, and decimals of 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.precise import double_double as dd
from opcheck.precise.double_double import constants

U2 = Fraction(1, 2**106)


def exact(x: dd.DoubleDouble, place: int = 0) -> Fraction:
    return Fraction(float(x[0].flat[place])) + Fraction(float(x[1].flat[place]))


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def of(x: float, low: float = 0.0) -> dd.DoubleDouble:
    return dd.two_sum(np.array([x]), np.array([low]))


def test_published_digits() -> None:
    """OEIS A001113, A068985 and A002392's neighbour A002162: e, 1/e and ln 2."""
    e = Fraction("2.71828182845904523536028747135266249775724709369995")
    inverse = Fraction("0.36787944117144232159552377016146086744581113103176")
    ln_2 = Fraction("0.69314718055994530941723212145817656807550013436025")
    for x, want in ((1.0, e), (-1.0, inverse)):
        y, k = dd.exponential(of(x))
        assert abs(exact(y) * Fraction(2) ** int(k[0]) - want) <= 8 * U2 * want
    assert abs(exact(dd.logarithm(of(2.0))) - ln_2) <= 8 * U2
    assert abs(constants.natural_logarithm(Fraction(2)) - ln_2) < Fraction(1, 10**49)
    high, low = dd.ln2()
    assert abs(Fraction(high) + Fraction(low) - ln_2) <= U2


def test_e_to_the_zero_and_ln_1_are_exact() -> None:
    y, k = dd.exponential(of(0.0))
    assert (exact(y), k[0]) == (1, 0)
    assert exact(dd.logarithm(of(1.0))) == 0


@pytest.mark.parametrize("low", [0.0, 2.0**-54, -(2.0**-54) * 0.7])
@given(x=st.floats(-1000, 1) | st.floats(-65000, 65000) | st.floats(-1e-5, 1e-5))
def test_a_power_of_e_keeps_to_its_bound(low: float, x: float) -> None:
    argument = of(x, x * low)
    y, k = dd.exponential(argument)
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**6), 10**6
        want = decimal(exact(argument)).exp()
        error = abs(decimal(exact(y)) * Decimal(2) ** int(k[0]) / want - 1)
    bound = 8 * U2 + abs(int(k[0])) * Fraction(1, 2**120)
    assert error <= decimal(bound)
    assert 0.7 <= y[0][0] <= 1.42


@given(x=st.floats(1, 2), part=st.floats(-1, 1))
def test_a_logarithm_keeps_to_its_bound(x: float, part: float) -> None:
    argument = of(x, abs(part) * 2.0**-54 if x == 1 else part * 2.0**-54)
    with localcontext() as context:
        context.prec = 60
        error = abs(decimal(exact(dd.logarithm(argument))) - decimal(exact(argument)).ln())
    assert error <= decimal(8 * U2)


@pytest.mark.parametrize("j", range(65))
def test_around_every_entry_of_the_tables(j: int) -> None:
    """Where the neighbouring entry is about to be taken, the rest is largest."""
    for x in (1 + j / 64, np.nextafter(1 + j / 64 + 1 / 128, 0), 1 + j / 64 + 1 / 128):
        if x <= 2:
            y, k = dd.exponential(dd.logarithm(of(float(x))))
            got = exact(y) * Fraction(2) ** int(k[0])
            assert abs(got - Fraction(float(x))) <= 17 * U2 * Fraction(float(x))


@pytest.mark.parametrize(("count", "want"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1025, 11)])
def test_levels_of_a_sum(count: int, want: int) -> None:
    assert dd.levels(count) == want


@given(terms=st.lists(st.floats(0, 1) | st.floats(0, 2.0**200), min_size=1, max_size=40))
def test_a_sum_keeps_to_its_bound_and_tells_when_it_is_exact(terms: list[float]) -> None:
    column = np.array(terms)[:, None]
    column = np.where(column < 2.0**-300, 0.0, column)
    want = sum(Fraction(float(term)) for term in column.ravel())
    x = (column, np.zeros_like(column))
    got, is_exact = dd.watched_total(x)
    assert exact(got) == exact(dd.total(x))
    assert abs(exact(got) - want) <= 4 * dd.levels(len(terms)) * U2 * want
    assert not is_exact[0] or exact(got) == want


def test_an_exact_sum_is_known_as_such() -> None:
    column = np.array([[1.0], [2.0**-100], [3.0]])
    assert dd.watched_total((column, np.zeros_like(column)))[1][0]
    column = np.array([[1.0], [2.0**-200], [2.0**-100]])
    assert not dd.watched_total((column, np.zeros_like(column)))[1][0]
