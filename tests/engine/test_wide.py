from __future__ import annotations

import math
import operator
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from opcheck.engine import wide
from opcheck.engine.double_double import Pair
from opcheck.engine.wide import Extended, Wide

MP = mpmath.MPContext()
MP.prec = 300

KINDS = {"longdouble": Extended, "pairs": Pair}
#: Bits that every operation and function keeps.
GOOD_TO = {"longdouble": 61, "pairs": 94}


@pytest.fixture(params=["longdouble", "pairs"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pairs":
        monkeypatch.setattr(wide, "extended", lambda: False)
    elif not wide.extended():
        pytest.skip("longdouble is no wider than float64 here")
    return str(request.param)


def precise(x: Wide) -> list[Any]:
    values, rest = x.split()
    return [
        MP.mpf(float(high)) + MP.mpf(float(low))
        for high, low in zip(values.flat, rest.flat, strict=True)
    ]


def near(got: Wide, want: list[Any], kind: str) -> None:
    for value, exact in zip(precise(got), want, strict=True):
        assert abs(value - exact) <= MP.mpf(2) ** -GOOD_TO[kind] * abs(exact)


def test_the_platform_chooses_the_kind(kind: str) -> None:
    assert isinstance(wide.widen(np.ones(2)), KINDS[kind])


def test_a_longdouble_is_used_where_it_has_more_digits_and_more_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    float64 = np.finfo(np.float64)
    for nmant, minexp, enough in (
        (63, -16382, True),  # x86
        (112, -16382, True),  # ARM and RISC-V, on Linux
        (52, -1022, False),  # where it is float64
        (105, -1022, False),  # PowerPC: a pair of float64
        (52, -16382, False),  # nowhere
    ):
        finfo = {np.longdouble: SimpleNamespace(nmant=nmant, minexp=minexp), np.float64: float64}
        monkeypatch.setattr(np, "finfo", finfo.__getitem__)
        assert wide.extended() is enough


def test_numbers_come_back_as_they_went_in(kind: str) -> None:
    x = np.array([[1 / 3, -0.0, 1e300], [5e-324, -1e-310, 7]])
    values, rest = wide.widen(x).split()
    assert values.tolist() == x.tolist()
    assert rest.tolist() == np.zeros((2, 3)).tolist()


@pytest.mark.parametrize("of", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_arithmetic_keeps_more_digits_than_float64(of: Any, kind: str) -> None:
    a, b = np.random.default_rng(40).uniform(1, 9, (2, 50))
    third = wide.widen(a) / 3.0
    want = [of(x / 3, MP.mpf(y)) for x, y in zip(map(MP.mpf, a), b, strict=True)]
    # What cancels is good to the operands' last digit.
    for got in (of(third, b), of(third, wide.widen(b))):
        for value, exact in zip(precise(got), want, strict=True):
            assert abs(value - exact) <= MP.mpf(2) ** -GOOD_TO[kind] * max(9, abs(exact))


def test_functions_keep_more_digits_than_float64(kind: str) -> None:
    x = np.array([0.1, 0.7, 1.0, 3.5, 80.0])
    precise_x = [MP.mpf(value) for value in x]
    near(wide.widen(x).exp(), [MP.exp(value) for value in precise_x], kind)
    near(wide.widen(-x).exp(-9), [MP.exp(-value) / 512 for value in precise_x], kind)
    near(wide.widen(x[x != 1]).log(), [MP.log(value) for value in precise_x if value != 1], kind)
    near(wide.widen(x).sqrt(), [MP.sqrt(value) for value in precise_x], kind)
    for p in (1, 2, 3, 10, 2.5, 1 / 3):
        near(wide.widen(x).power(p), [value ** MP.mpf(p) for value in precise_x], kind)
    near(wide.widen(x) * x, [value * value for value in precise_x], kind)


def test_a_total_is_along_the_last_axis_and_keeps_it(kind: str) -> None:
    x = np.random.default_rng(41).uniform(0, 1, (2, 3, 777))
    total = wide.widen(x).total()
    assert total.shape == (2, 3, 1)
    near(total, [MP.fsum(map(float, row)) for row in x.reshape(6, 777)], kind)


def test_the_exponential_of_a_difference_loses_nothing_to_the_subtraction(kind: str) -> None:
    a = np.array([1e-17, 1 / 3, -1e-300, 650.0])
    b = np.array([300.0, 300.1, 512.0, 650 + 2**-40])
    want = [MP.exp(MP.mpf(x) - MP.mpf(y)) for x, y in zip(a, b, strict=True)]
    near(wide.exp_of_difference(a, b), want, kind)
    near(wide.exp_of_difference(a, b, 40), [value * 2**40 for value in want], kind)


def test_the_exponential_of_an_infinite_or_huge_difference(kind: str) -> None:
    a = np.array([-np.inf, -1.7e308, -1e300, np.inf, np.nan, 1.0])
    b = np.array([1.0, 1.7e308, 1e290 / 3, np.inf, 1.0, np.nan])
    with np.errstate(all="ignore"):
        values, rest = wide.exp_of_difference(a, b).split()
    assert values[:3].tolist() == [0] * 3
    assert np.isnan(values[3:]).all()
    assert rest.tolist() == [0] * 6


def test_a_split_leaves_at_most_half_a_step(kind: str) -> None:
    x = np.random.default_rng(42).uniform(1, 2, 200)
    values, rest = (wide.widen(x) / 3.0).split(-3)
    for value, left, exact in zip(values, rest, x, strict=True):
        assert value == float(MP.mpf(exact) / 24)
        assert 0 < abs(left) <= math.ulp(value) / 2 or MP.mpf(exact) / 24 == value
