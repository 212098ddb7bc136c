"""The value of a norm: worked out by hand, in fractions, and in decimals of 200 digits."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opcheck.precise import Precise
from tests.precise.asking import METHODS, Method, ask, by
from tests.precise.nearest import DTYPES, as_floats, nearest, norm, number

NAMES = sorted(DTYPES)
NAN, INF = math.nan, math.inf
#: Bits of a significand, the ULP of 1, and the smallest subnormal.
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
STEP = {name: Fraction(2, 2**digits) for name, digits in DIGITS.items()}
SPECK = {name: float(number(1, name)) for name in NAMES}


def pool(x: Any, name: str, p: float, method: Method | None = None, kernel: int = 0) -> Precise:
    """One window over each row of `x`, [rows, N], or windows of `kernel` elements.

    A whole p goes to version 22, which has it as an integer, another to version 1.
    """
    rows = np.asarray(x).astype(DTYPES[name][0])
    since, power = (22, int(p)) if p == int(p) else (1, p)
    with by(method):
        window = (kernel or rows.shape[1],)
        return ask("LpPool", since, rows[:, None, :], kernel_shape=window, p=power)


def check(x: Any, name: str, p: float, method: Method) -> Precise:
    rows = np.asarray(x).astype(DTYPES[name][0])
    got = pool(rows, name, p, method)
    assert got.method == method
    want = [nearest(norm(row, p), name) for row in rows.astype(np.float64).tolist()]
    assert as_floats(got.values) == [value for value, _ in want]
    for distance, (_, true) in zip(got.distance.ravel(), want, strict=True):
        assert abs(distance - float(true)) <= 2.0**-32
    return got


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("x", "p", "want"),
    [
        ([3, -4], 2, 5),
        ([3, 4, -5], 3, 6),
        ([1, -2, 3, -4], 1, 10),
        ([2.0] * 32, 2.5, 8),
        ([0, 0, -7], 2, 7),
        ([0, 0, -7], 5, 7),
        ([0, -0.0], 3, 0),
        ([30, 120, 272, 315], 4, 353),
        ([27, 84, 110, 133], 5, 144),
    ],
)
def test_norms_that_are_whole(
    x: list[float], p: float, want: float, method: Method, name: str
) -> None:
    """32 elements of 2 have (32 · 2^2.5)^(1/2.5) = 2·2^2; 353 and 144 are the sums of Norrie and of
    Lander and Parkin. Rounded to bfloat16, 353 is 352 and 315 is 316.
    """
    if name == "bfloat16" and (p != int(p) or 272 in x):
        return
    got = pool([x], name, p, method)
    assert as_floats(got.values) == [want]
    assert got.distance.tolist() == [[[0.5]]]


@pytest.mark.parametrize("method", METHODS)
def test_numbers_of_the_specification_of_opcheck(method: Method) -> None:
    """√(25 + 36) of the page that says what ceil_mode means, and a p that is no whole number."""
    assert as_floats(pool([[5, 6]], "float64", 2, method).values) == [math.sqrt(61)]
    assert as_floats(pool([[5, 6]], "float32", 2, method).values) == [float(np.float32(61**0.5))]
    check([[5, 6, 0.3]], "float64", 2.5, method)


@pytest.mark.parametrize("method", METHODS)
def test_p_is_the_number_of_binary32(method: Method) -> None:
    """3.7 means 3.7000000476837158."""
    got = pool([[1, 2, 3]], "float64", 3.7, method)
    assert as_floats(got.values) == [nearest(norm([1, 2, 3], float(np.float32(3.7))), "float64")[0]]
    assert as_floats(got.values) != [nearest(norm([1, 2, 3], 3.7), "float64")[0]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [1, 2, 3, 7, 2.5, 3.6999969482421875, 20, 1000])
@pytest.mark.parametrize("spread", [0.5, 6.0])
def test_random_windows(method: Method, name: str, p: float, spread: float) -> None:
    if name == "bfloat16" and p != int(p):
        return
    generator = np.random.default_rng(11)
    for n in (2, 5, 9):
        rows = np.exp(generator.normal(size=(3, n)) * spread) * generator.choice([-1, 1], (3, n))
        check(np.clip(rows, -60000, 60000), name, p, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [1, 2, 3, 2.5])
def test_powers_may_overflow_and_underflow_where_the_norm_does_not(
    method: Method, p: float
) -> None:
    for name, size in (("float16", 300.0), ("float32", 3e38 / 4), ("float64", 1e308 / 4)):
        check([[size, size, size / 3], [-size, size / 7, 0]], name, p, method)
    for name, size in (("float16", 6e-8), ("float32", 1e-44), ("float64", 5e-324)):
        check([[size, size, size], [size, 4 * size, 9 * size]], name, p, method)
    wide = [[1.7e308, 5e-324, 1.0], [1e-200, 5e-324, 3e-200]]
    check(wide, "float64", p, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_the_largest_number_and_beyond(method: Method, name: str) -> None:
    """The largest number and half an ULP more is a tie, which overflows; a hair less does not."""
    beyond = Fraction(DTYPES[name][2])
    largest, half = (
        float(beyond * part) for part in (1 - Fraction(1, 2 ** DIGITS[name]), STEP[name] / 4)
    )
    rows = [[largest, half, 0], [largest, half * 0.99, 0], [largest, largest, largest]]
    got = pool(rows, name, 1, method)
    assert as_floats(got.values) == [INF, largest, INF]
    assert got.distance[0, 0, 0] == 0
    for p in (1, 2, 3):
        check(rows, name, p, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_ties_of_sums_go_to_the_even_number(method: Method, name: str) -> None:
    """Half an ULP above 1 goes down, one and a half go up, and a speck more than half goes up.

    The speck is the smallest subnormal, in float64 a thousand bits away.
    """
    step = float(STEP[name])
    down = pool([[1, step / 2, 0]], name, 1, method)
    up = pool([[1, step / 2, step]], name, 1, method)
    assert as_floats(down.values) == [1]
    assert as_floats(up.values) == [1 + 2 * step]
    assert down.distance == up.distance == 0
    assert as_floats(pool([[1, step / 2, SPECK[name]]], name, 1, method).values) == [1 + step]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["float16", "float64"])
def test_ties_of_square_roots_go_to_the_even_number(method: Method, name: str) -> None:
    """1 + s + s²/4 is the square of 1 + s/2, half an ULP above 1, and of three squares the sum."""
    step = float(STEP[name])
    tie = [1, math.sqrt(step), step / 2]
    got = pool([tie], name, 2, method)
    assert as_floats(got.values) == [1]
    assert got.distance == 0
    assert as_floats(pool([[*tie, SPECK[name]]], name, 2, method).values) == [1 + step]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "k"),
    [("bfloat16", 29), ("float16", 229), ("float32", 1864137), ("float64", 1000799917193445)],
)
def test_ties_of_cube_roots_go_to_the_even_number(method: Method, name: str, k: int) -> None:
    """1³ + 6³ + 8³ = 9³; of k, 6k, 8k and 9k only the last has one bit too many.

    The cube of the smallest subnormal is 3400 bits away in float64.
    """
    assert (9 * k).bit_length() == DIGITS[name] + 1
    assert k % 2 == 1
    even = float(9 * k - 1 if (9 * k - 1) % 4 == 0 else 9 * k + 1)
    got = pool([[k, 6 * k, -8 * k]], name, 3, method)
    assert as_floats(got.values) == [even]
    assert got.distance == 0
    above = pool([[k, 6 * k, 8 * k, SPECK[name]]], name, 3, method)
    assert as_floats(above.values) == [float(9 * k + 1)]


@pytest.mark.parametrize("method", METHODS)
def test_a_tie_with_a_p_that_is_no_whole_number(method: Method) -> None:
    """7 · 4^(5/2) + 19 · 1^(5/2) = 9^(5/2): of 4 · 229, 229 and 9 · 229 the last has 12 bits."""
    row = [4.0 * 229] * 7 + [229.0] * 19
    got = pool([row], "float16", 2.5, method)
    assert as_floats(got.values) == [2060]
    assert got.distance == 0
    assert as_floats(pool([[*row, SPECK["float16"]]], "float16", 2.5, method).values) == [2062]


@pytest.mark.parametrize("method", METHODS)
def test_nan_wins_over_infinity_and_infinity_over_numbers(method: Method) -> None:
    rows = [[NAN, INF, 1], [1, -INF, 0], [-INF, INF, NAN], [1, 2, 2]]
    got = pool(rows, "float32", 2, method)
    assert np.isnan(got.values[[0, 2]]).all()
    assert as_floats(got.values[[1, 3]]) == [INF, 3]
    assert np.isinf(got.distance[:3]).all()
    assert got.distance[3] == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_nan_is_always_the_same_one(name: str) -> None:
    """Whatever its sign and its digits were."""
    dtype, unsigned, _ = DTYPES[name]
    odd = -np.array([[1, NAN]]).astype(dtype)
    odd.view(unsigned)[0, 1] += 1
    got = pool(odd, name, 2)
    want = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8 << 48}
    assert got.values.view(unsigned).ravel().tolist() == [want[name]]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_small_counts_next_to_a_midpoint(method: Method) -> None:
    """√(1 + 2^-52 + 4·2^-92 − 2^-94) is above 1 + 2^-53; without the four it would be below."""
    row = [1, 2.0**-26 * (1 - 2.0**-43), 2.0**-46, 2.0**-46, 2.0**-46, 2.0**-46]
    assert check([row], "float64", 2, method).values == 1 + 2.0**-52
    assert check([row[:2]], "float64", 2, method).values == 1


@pytest.mark.parametrize("p", [1, 2, 3, 2.5])
def test_a_window_of_thousands(p: float) -> None:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(2, 5000))
    if p == 2.5:
        rows = rows[:, :300]
    check(rows, "float32", p, "double-double")
    check(rows, "float64", p, "double-double")
    check(rows[:1], "float64", p, "mpmath")


@pytest.mark.parametrize("p", [2**16, 2**40, 2**62, 3.0e38])
def test_a_p_beyond_all_reason(p: float) -> None:
    """The largest element times count^(1/p), where the others vanish; all by mpmath."""
    rows = np.array([[1.0, 0.5, 0.25], [1.5, 1.5, 1.0], [1, 0.75, 0]])
    since, power = (22, int(p)) if p < 1e30 else (1, p)
    for name in ("float32", "float64"):
        x = rows.astype(name)[:, None, :]
        with by("double-double"):
            got = ask("LpPool", since, x, kernel_shape=(3,), p=power)
        assert got.method == "mpmath"
        first, second, third = as_floats(got.values)
        assert first == third == 1
        with decimal.localcontext() as context:
            context.prec = 60
            grown = (Decimal(2).ln() / Decimal(float(np.float32(p)))).exp() * 3 / 2
        assert second == nearest(Fraction(grown), name)[0]


def test_shapes_and_p_decide_the_method_and_nothing_else_does() -> None:
    def method(outputs: int, p: float, fill: float = 1.0) -> str:
        x = np.full((1, 1, 8 * outputs), fill)
        return ask("LpPool", 1, x, kernel_shape=(8,), strides=(8,), p=p).method

    assert [method(1024, 2.0), method(1025, 2.0)] == ["mpmath", "double-double"]
    assert [method(341, 2.5), method(342, 2.5)] == ["mpmath", "double-double"]
    assert method(342, 2.5, NAN) == method(342, 2.5, 0.0) == "double-double"
