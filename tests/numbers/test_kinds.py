"""Every kind of numbers has every function, and all kinds agree on what a formula computes."""

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.numbers import bounded, faulty, plain, precise
from opcheck.numbers.arithmetic import (
    EXACT,
    FLOAT32,
    FLOAT64,
    VALUE_GRIDS,
    Number,
    expected,
    narrow,
    stored,
)
from opcheck.numbers.bounded.array import value_dtypes
from opcheck.numbers.bounded.elementwise import real_function
from opcheck.numbers.faulty import Faulty
from tests.numbers.machine import Machine, Sloppy
from tests.numbers.test_bounded import FORMULAS, lifted
from tests.wording import Wording

KINDS: dict[str, Callable[[Any], Any]] = {
    "bounded": lambda x: lifted(x, FLOAT32, np.float32),
    "of float64": lambda x: lifted(x, FLOAT64, np.float64),
    "precise": lambda x: lifted(x, EXACT, np.float64),
    "faulty": lambda x: Faulty(np.asarray(x)) if np.asarray(x).dtype.kind == "f" else x,
}


def exact(x: Any) -> Any:
    """An array of mpmath's numbers, without errors."""
    return bounded.array.bounded(x, EXACT)


def values(found: Any) -> Any:
    """The values of an array of any kind, in float64."""
    return np.asarray(found.v if isinstance(found, Number) else found, np.float64)


#: What the array API standard lacks.
BEYOND = set("at_most_1 bilinear erf fmod inexact pad sums top_k values_of".split())


def test_names_are_those_of_numpy_and_every_kind_has_them(wording: Wording) -> None:
    beyond_numpy = {name for name in xp.NAMES if not hasattr(np, name)}
    assert beyond_numpy == BEYOND - {"fmod", "inexact", "pad"}
    assert {name for name in xp.NAMES if not hasattr(bounded, name)} == set()
    for name in xp.NAMES - {"astype"}:
        assert getattr(xp, name).__name__ == name
        assert callable(getattr(plain, name))
        assert callable(getattr(faulty, name))
    with pytest.raises(AttributeError) as raised:
        xp.sigmoid(np.ones(1))
    assert raised.value == wording


@pytest.mark.parametrize("name", sorted(xp.NAMES))
def test_a_function_is_written_out_for_formulas_and_for_bounded_numbers(name: str) -> None:
    functions = getattr(xp, name), getattr(bounded, name)
    for function in functions:
        assert inspect.getsource(function).startswith(f"def {name}(")
        assert function.__doc__
    assert len({tuple(inspect.signature(function).parameters) for function in functions}) == 1


def test_the_first_operand_of_a_kind_decides_also_in_a_list() -> None:
    x = Sloppy(np.ones((2, 2), np.float32), Machine(np.random.default_rng(0)))
    for found in (
        *(x + 1, 1 + x, 2 * x - x, -x, abs(x), x / 2, 2 / x, 3 - x, x**2, 2**x, x @ x),
        xp.concat([np.ones((2, 2), np.float32), x]),
        xp.stack((x, x)),
        xp.where(True, 0.5, x),
    ):
        assert isinstance(found, Sloppy)
    assert isinstance(xp.add(np.ones(2), np.ones(2)), np.ndarray)
    assert (x < 2).all()
    assert not ((x >= 2) | (x != 1) | (x > 1)).any()
    assert ((x <= 1) & (x == 1)).all()
    assert (x.ndim, x.size, np.shape(x)) == (2, 4, (2, 2))
    # NumPy's own functions and arrays leave it to the kind.
    assert isinstance(np.ones((2, 2), np.float32) * x, Sloppy)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_a_formula_makes_are_of_the_kind_in_force(kind: str) -> None:
    with xp.lifting(KINDS[kind]):
        made = [xp.astype(np.arange(3), np.float32), xp.real(0.5)]
    assert all(isinstance(one, Number) for one in made)
    assert isinstance(xp.real(0.5), float)
    assert isinstance(xp.astype(np.arange(3), np.float32), np.ndarray)


def test_lifting_ends_with_its_block_also_if_a_formula_fails() -> None:
    with pytest.raises(KeyError), xp.lifting(KINDS["bounded"], {"exp": print}, set()):
        raise KeyError
    assert isinstance(xp.real(0.5), float)


def test_a_helper_can_be_replaced_as_functions_can() -> None:
    @xp.primitive
    def doubled(x: Any, times: int = 2) -> Any:
        """Twice x."""
        return x * times

    assert (doubled(3), doubled.__doc__) == (6, "Twice x.")
    seen: set[str] = set()
    with xp.lifting(
        lambda x: x, {"doubled": lambda function, x, **how: function(x, times=5)}, seen
    ):
        assert doubled(3) == 15
    assert seen == {"doubled"}


def test_faulty_numbers_replace_what_they_are_told_to() -> None:
    x, seen = Faulty(np.array([[1.0, 4.0]], np.float32)), set[str]()
    faults = {
        "sqrt": lambda function, x: function(x) + 1,
        "multiply": lambda function, a, b: function(a, a),
        "sum": lambda function, x, axis=None, keepdims=False: function(
            x[..., :1], axis=axis, keepdims=keepdims
        ),
    }
    with xp.lifting(lambda x: x, faults, seen):
        assert faulty.bare(xp.sqrt(x)).tolist() == [[2, 3]]
        assert faulty.bare(x * 7).tolist() == [[1, 16]]
        assert faulty.bare(xp.sum(x, axis=1)).tolist() == [1]
        assert faulty.bare(x + 1).tolist() == [[2, 5]]
        # Booleans and indices stay plain, formulas index with them.
        assert isinstance(xp.argmax(x, axis=1), np.ndarray)
        assert isinstance(x > 2, np.ndarray)
        values, places = xp.top_k(x, 1, 1, True)
    assert (faulty.bare(values).tolist(), places.tolist()) == ([[4]], [[1]])
    assert seen == {"sqrt", "multiply", "sum", "add", "argmax", "greater", "top_k"}
    assert faulty.bare([x, 3])[1] == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_has_the_same_values_on_every_kind(name: str, kind: str) -> None:
    x, y = np.random.default_rng(7).standard_normal((2, 3, 6))
    right = FORMULAS[name](Faulty(x), Faulty(y)).v
    lift = KINDS[kind]
    with precise.digits(200), xp.lifting(lift):
        found = FORMULAS[name](lift(x), lift(y))
    assert found.shape == right.shape
    # The first stage of LayerNormalization is in float32, whatever its tensors are.
    rtol = 3e-6 if name == "LayerNormalization" else 1e-12
    np.testing.assert_allclose(values(found), right, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", "expm1 log1p sin tan asin atan sinh tanh asinh atanh".split())
def test_tiny_numbers_keep_their_digits(name: str) -> None:
    tiny = np.array([1e-60, -1e-300])
    with precise.digits(120):
        found = values(getattr(xp, name)(exact(tiny)))
    np.testing.assert_array_equal(found, tiny)


def test_numbers_of_another_context_are_taken_as_they_are() -> None:
    with mpmath.workprec(400):
        third = mpmath.mpf(1) / 3
    assert _fraction(exact(np.array([third], object)).v[0]) == _fraction(third)


UNARY = "abs negative exp expm1 log log1p sqrt erf sign floor ceil trunc round sin cos tan".split()
UNARY += "asin acos atan sinh cosh tanh asinh acosh atanh".split()
BINARY = "add subtract multiply divide pow remainder fmod maximum minimum".split()
SPECIAL = [0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 3.0, 700.0, -700.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_agree_with_numpy_s_also_where_they_are_not_defined(name):
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        right = getattr(plain, name)(x)
        wide = real_function(name)(x.astype(np.longdouble)).astype(np.float64)
        one = real_function(name)(x)
    with precise.digits(120):
        found = values(getattr(xp, name)(exact(x)))
        objects = real_function(name)(precise.objects(x)).astype(np.float64)
    for got in (found, wide, one, objects):
        np.testing.assert_allclose(got, right, rtol=1e-13)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers_agree_with_numpy_s(name: str) -> None:
    a, b = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        right = getattr(plain, name)(a, b)
    with precise.digits(120):
        found = values(getattr(xp, name)(exact(a), exact(b)))
    # mpmath knows one zero only, and no sign of it.
    signless = (
        (right == 0) | (found == 0) | (np.isinf(right) & (b == 0)) | (np.isinf(found) & (a == 0))
    )
    np.testing.assert_allclose(found[~signless], right[~signless], rtol=1e-13)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=8), st.integers(1, 9))
def test_precise_sums_and_quotients_are_those_of_fractions(numerators, divisor):
    row = [one / 1024 for one in numerators]
    with precise.digits(400):
        x = exact(np.array(row))
        total = xp.sum(x * x, axis=0)
        assert _fraction(total.v[()]) == sum(Fraction(one) ** 2 for one in row)
        mean = xp.mean(x, axis=0) / divisor
        want = sum(map(Fraction, row)) / len(row) / divisor
        assert abs(_fraction(mean.v[()]) - want) <= abs(want) * Fraction(1, 2**380)


def _fraction(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


@given(st.lists(st.floats(1e-280, 1e300), min_size=1, max_size=5))
def test_numbers_come_back_from_mpmath_as_they_went(row: list[float]) -> None:
    x = np.array(row).astype(np.longdouble) / 3
    theirs = mpmath.mp.prec
    with precise.digits(80):
        objects = precise.objects(x)
        assert mpmath.mp.prec == theirs
        assert precise.longdoubles(objects).tolist() == x.tolist()
    assert precise.objects(np.array([True, 3])).tolist() == [1, 3]


def test_the_error_function_of_longdoubles_is_that_of_mpmath() -> None:
    x = np.longdouble([*np.linspace(-7.5, 7.5, 1501), 1e-300, -1e-9, 0.03125])
    with precise.digits(160):
        want = precise.of_objects("erf")(precise.objects(x / 3))
        found = precise.objects(precise.erf_of_longdoubles(x / 3))
        assert all(abs(a - b) <= abs(b) * 2.0**-62 for a, b in zip(found, want, strict=True))
    ends = precise.erf_of_longdoubles(np.array([-0.0, np.inf, -8, np.nan], np.longdouble))
    assert [*map(str, ends)] == ["-0.0", "1.0", "-1.0", "nan"]


def test_precise_choices_are_those_of_plain_numbers() -> None:
    x = np.array([[1.0, np.nan, 3.0, 3.0], [2.0, 0.0, -1.0, 2.0]])
    p = exact(x)
    assert p.dtype == np.float64
    for axis in (0, 1, None):
        assert np.array_equal(xp.argmax(p, axis=axis), np.argmax(x, axis=axis))
        assert np.array_equal(xp.argmin(p, axis=axis), np.argmin(x, axis=axis))
        np.testing.assert_array_equal(values(xp.max(p, axis=axis)), np.max(x, axis=axis))
    for name in ("isnan", "isfinite", "isinf"):
        assert np.array_equal(getattr(xp, name)(p), getattr(np, name)(x))
    assert values(xp.clip(p[1:], 0, 1)).tolist() == [[1, 0, 0, 1]]
    assert values(xp.astype(p[1:] * 0.75, np.int64)).tolist() == [[1, 0, 0, 1]]
    assert xp.astype(p[1:], np.bool_).tolist() == [[True, False, True, True]]
    found, places = xp.top_k(p[1:], 2, 1, True)
    assert (values(found).tolist(), places.tolist()) == ([[2, 2]], [[0, 3]])


def test_of_equal_numbers_the_first_comes_first() -> None:
    x = np.array([3.0, 1.0, 3.0, np.nan, 1.0])
    for largest, want in ((True, [3, 0, 2, 1, 4]), (False, [1, 4, 0, 2, 3])):
        for k in range(6):
            found, places = plain.top_k(x, k, 0, largest)
            assert places.tolist() == want[:k]
            np.testing.assert_array_equal(found, x[want[:k]])


def test_arithmetics_are_those_of_their_types() -> None:
    for name, floor in (("float16", 2.0**-125), ("bfloat16", 2.0**-125), ("float32", 2.0**-125)):
        inside = expected(DTYPES[name])
        assert (inside.u, inside.floor, inside.flushes) == (2.0**-24, floor, False)
    assert (expected(DTYPES["float64"]).u, FLOAT64.floor) == (2.0**-53, 2.0**-1021)
    half = DTYPES["float16"]
    assert (narrow(half).u, narrow(half).largest, narrow(half).floor) == (2.0**-11, 65504, 2.0**-14)
    found = stored(half)
    assert (found.u, found.stored.u, found.stored.step) == (2.0**-24, 2.0**-11, 2.0**-25)
    assert narrow(half).accuracy("exp").ulp == 1
    assert [FLOAT32.accuracy(name).ulp for name in ("exp", "asin", "tanh")] == [4, 5, 4]


def test_a_longdouble_is_used_where_it_has_more_digits_and_more_range(monkeypatch):
    float64 = np.finfo(np.float64)
    for nmant, minexp, enough in (
        (63, -16382, True),  # x86
        (112, -16382, True),  # ARM and RISC-V, on Linux
        (52, -1022, False),  # where it is float64
        (105, -1022, False),  # PowerPC: a pair of float64
    ):
        finfo = {np.longdouble: SimpleNamespace(nmant=nmant, minexp=minexp), np.float64: float64}
        with monkeypatch.context() as patch:
            patch.setattr(np, "finfo", finfo.__getitem__)
            kinds = value_dtypes.__wrapped__()
        assert (np.dtype(np.longdouble) in kinds) is enough
        assert (kinds[0], kinds[-1]) == (np.float64, np.object_)
    assert len(VALUE_GRIDS) >= len(value_dtypes())


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble, np.object_])
def test_values_may_be_of_any_width(dtype: Any) -> None:
    kinds = [np.dtype(kind) for kind in value_dtypes()]
    if np.dtype(dtype) not in kinds:
        pytest.skip("longdouble is no wider than float64 here")
    from dataclasses import replace

    x, y = np.random.default_rng(8).uniform(0.5, 1, (2, 2, 3))
    arithmetic = replace(FLOAT32, values=kinds.index(np.dtype(dtype)))
    lift: Any = lambda a: lifted(a, arithmetic, np.float32)  # noqa: E731
    for name in ("Gelu", "Softmax", "MatMul", "Pow", "Clip", "movement", "TopK"):
        with precise.digits(160), xp.lifting(lift):
            found = FORMULAS[name](lift(x), lift(y)).with_rounding()
        right = FORMULAS[name](Faulty(x), Faulty(y)).v
        assert found.v.dtype == dtype
        np.testing.assert_allclose(found.v.astype(np.float64), right, rtol=1e-13)
        with xp.lifting(lambda a: lifted(a, FLOAT32, np.float32)):
            usual = FORMULAS[name](
                *(lifted(one, FLOAT32, np.float32) for one in (x, y))
            ).with_rounding()
        np.testing.assert_allclose(found.e.astype(np.float64), usual.e, rtol=1e-6)


@pytest.mark.parametrize(("power", "right"), [(2**53 + 1, -math.inf), (2**53 + 2, math.inf)])
def test_an_infinity_to_an_odd_power_beyond_53_bits_is_negative(power: int, right: float) -> None:
    exact = precise.of_objects("pow")(mpmath.mpf("-inf"), power)
    assert float(exact) == right
