from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine import wide
from tests.engine.ops.lp_pool.exactly import norm, pooled, rounded, rows, step, tensor

KINDS = ("ordinary", "of all sizes", "near the largest", "subnormal")
WHOLE = (1, 2, 3, 5, 10)
FRACTIONAL = (2.5, 0.5)


@pytest.fixture
def double_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opcheck.engine.wide.extended", lambda: False)


def drawn(dtype: DType, kind: str, count: int, length: int) -> Any:
    """Rows of random numbers, all of them finite."""
    rng = np.random.default_rng(len(kind) * 1000 + length)
    shape, largest = (count, length), math.log2(limits(dtype)[1])
    if kind == "ordinary":
        values = rng.standard_normal(shape)
    elif kind == "of all sizes":
        values = np.ldexp(rng.uniform(-1, 1, shape), rng.integers(dtype.min_exponent, 14, shape))
        values = np.ldexp(values, rng.integers(0, int(largest) - 13, shape))
    elif kind == "near the largest":
        values = rng.uniform(0.2, 1, shape) * limits(dtype)[1]
    else:
        values = np.ldexp(rng.uniform(-60, 60, shape), dtype.min_exponent)
    with np.errstate(under="ignore"):
        return values.astype(dtype.numpy)


def misrounded(name: str, p: float, count: int = 60) -> Iterator[bool]:
    """For rows of all kinds, whether the answer is not the nearest; never is it one beyond."""
    dtype = DTYPES[name]
    for kind in KINDS:
        for length in (2, 9):
            values = drawn(dtype, kind, count, length)
            answers = rows(values, p).rounded().ravel().tolist()
            for row, answer in zip(values.tolist(), answers, strict=True):
                exact = norm(row, p)
                nearest = rounded(exact, dtype)
                yield answer != nearest
                if answer != nearest:
                    assert abs(Fraction(answer) - Fraction(nearest)) <= step(exact, dtype), row


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_narrow_answers_are_rounded_correctly(name: str) -> None:
    powers = WHOLE if name == "bfloat16" else WHOLE + FRACTIONAL
    assert not any(wrong for p in powers for wrong in misrounded(name, p))


def test_float64_is_rounded_correctly_in_999_of_1000_by_the_platforms_wide_numbers() -> None:
    wrong = [wrong for p in WHOLE + FRACTIONAL for wrong in misrounded("float64", p)]
    assert sum(wrong) <= len(wrong) / 1000


@pytest.mark.usefixtures("double_double")
def test_float64_is_rounded_correctly_by_double_doubles() -> None:
    assert not wide.extended()
    assert not any(wrong for p in WHOLE + FRACTIONAL for wrong in misrounded("float64", p))


def left_out(p: float) -> float:
    """How far value and rest are off together, in units in the last place."""
    values = drawn(DTYPES["float64"], "ordinary", 200, 9)
    out = rows(values, p)
    assert out.rest is not None
    worst = 0.0
    for row, *parts in zip(values.tolist(), out.values.ravel(), out.rest.ravel(), strict=True):
        exact = norm(row, p)
        off = abs(exact - sum(map(Fraction, parts))) / step(exact, DTYPES["float64"])
        worst = max(worst, float(off))
    return worst


@pytest.mark.skipif(not wide.extended(), reason="longdouble is no wider than float64 here")
@pytest.mark.parametrize("p", [*WHOLE, 2.5])
def test_longdouble_is_off_by_less_than_two_of_its_own_steps(p: float) -> None:
    assert left_out(p) < 2 * 2.0**-11


@pytest.mark.usefixtures("double_double")
@pytest.mark.parametrize("p", [*WHOLE, *FRACTIONAL])
def test_double_double_is_off_by_next_to_nothing(p: float) -> None:
    assert left_out(p) < 2.0**-42


@pytest.mark.parametrize("wide_path", [False, True])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_a_tie_is_broken_by_what_is_far_below_it(
    name: str, wide_path: bool, request: pytest.FixtureRequest
) -> None:
    if wide_path:
        request.getfixturevalue("double_double")
    dtype = DTYPES[name]
    # 1 and half the distance to the next number is a tie; ties go to the even 1.
    half, tiny = 2.0**-dtype.precision, 2.0**dtype.min_exponent
    for row, want in [([1, half, 0], 1), ([1, half, tiny], 1 + 2 * half)]:
        # What stands in other windows is not asked.
        x = tensor([*row, *[math.inf] * 3, *[0] * 3], name).reshape(3, 3)
        assert rows(x, 1).rounded().ravel().tolist() == [want, math.inf, 0]


def test_an_infinity_elsewhere_does_not_hide_how_far_apart_numbers_are() -> None:
    x = tensor([2.0**60, 2.0**36, 1, math.inf, 0, 0]).reshape(2, 3)
    assert rows(x, 1).rounded().ravel().tolist() == [2.0**60 + 2.0**37, math.inf]


@pytest.mark.parametrize("wide_path", [False, True])
def test_a_tie_beside_the_largest_number_goes_to_infinity(
    wide_path: bool, request: pytest.FixtureRequest
) -> None:
    if wide_path:
        request.getfixturevalue("double_double")
    largest = limits(DTYPES["float64"])[1]
    # Half a step is 2^970; the last five bring 2^970 - 2^960 beyond it, each too little to do so.
    x = np.array([[largest, 2.0**970 - 2.0**960, *[2.0**958] * 5], [largest, 2.0**969, *[0] * 5]])
    out = rows(x, 1)
    assert out.rounded().ravel().tolist() == [math.inf, largest]
    assert out.rest is not None
    assert out.rest.ravel().tolist() == [0, 2.0**969]


@pytest.mark.parametrize("wide_path", [False, True])
def test_an_answer_that_float64_holds_leaves_no_rest(
    wide_path: bool, request: pytest.FixtureRequest
) -> None:
    if wide_path:
        request.getfixturevalue("double_double")
    for row, p, want in [([3.0, 4.0], 2, 5), ([2.0] * 16, 4, 4), ([3.0] * 4, 1, 12)]:
        out = rows(np.array([row]), p)
        assert out.values.item() == want
        assert out.rest is not None
        assert out.rest.item() == 0


@pytest.mark.parametrize("p", [1, 2, 3, 64, 65, 1000, 1 << 53, (1 << 62) + 1])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_power_may_be_as_large_as_its_type_allows(name: str, p: int) -> None:
    values = drawn(DTYPES[name], "ordinary", 40, 3)
    answers = rows(values, p).rounded().ravel().tolist()
    for row, answer in zip(values.tolist(), answers, strict=True):
        # Above 2^53 the others are as good as gone: 40 rows hold no near tie of two maxima.
        exact = norm(row, p) if p < 2000 else Fraction(max(map(abs, row)))
        assert answer == rounded(exact, DTYPES[name])


def test_a_small_power_of_one_element_is_undone_by_its_root() -> None:
    for p in (1e-30, 0.001, 0.3):
        for name in ("float16", "float32", "float64"):
            x = tensor([0.1, -3, 0, 7], name)
            got = pooled(1, x, kernel_shape=(1,), p=p).rounded()
            assert got.tolist() == np.abs(x).tolist()
