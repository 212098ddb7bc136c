import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.dtypes import DTYPES, limits
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import InvalidNode
from tests.engine.ops.lp_pool_exactly import (
    TYPES,
    VERSIONED,
    lp_pool,
    norm,
    pooled,
    rounded,
    rows,
    tensor,
)
from tests.precise.by_the_text import windows

NAMES = TYPES[22]
NAN, INF = math.nan, math.inf


def refusal(version: int, x: Any = None, **attrs: Any) -> str:
    with pytest.raises(InvalidNode) as error:
        lp_pool(version, tensor(range(5)) if x is None else x, **({"kernel_shape": (2,)} | attrs))
    return str(error.value)


def flat(array: Any) -> list[float]:
    return [float(value) for value in array.ravel()]


# ── the formula, in loops ─────────────────────────────────────────────────────────────────────


@st.composite
def poolings(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, list[int]]]:
    rank = draw(st.integers(1, 3))
    sides = [draw(st.integers(0, 5)) for _ in range(rank)]
    attrs: dict[str, list[int]] = {name: [] for name in ("kernel_shape", "strides", "dilations")}
    begins, ends = [], []
    for side in sides:
        attrs["kernel_shape"].append(draw(st.integers(1, 3)))
        attrs["strides"].append(draw(st.integers(1, 3)))
        attrs["dilations"].append(draw(st.integers(1, 2)))
        width = (attrs["kernel_shape"][-1] - 1) * attrs["dilations"][-1] + 1
        begins.append(draw(st.integers(0, 3)))
        ends.append(draw(st.integers(max(0, width - side - begins[-1]), 5)))
    outer = (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    return (*outer, *sides), {**attrs, "pads": begins + ends}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(poolings(), st.sampled_from([1, 2, 3, 5]), st.booleans(), st.integers(0, 99))
def test_every_element_is_the_norm_of_its_window(name, pooling, p, up, seed):
    shape, attrs = pooling
    x = np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[name].numpy)
    stated: dict[str, Any] = {**attrs, "p": p, "ceil_mode": int(up)}
    got = pooled(22, x, **stated)
    spatial = [windows(side, axis, stated) for axis, side in enumerate(shape[2:])]
    assert got.values.shape == (*shape[:2], *map(len, spatial))
    for index in np.ndindex(got.values.shape):
        places = product(*(spatial[axis][n] for axis, n in enumerate(index[2:])))
        total = sum(abs(float(x[(*index[:2], *place)])) ** p for place in places)
        assert math.isclose(got.values[index], total ** (1 / p), rel_tol=1e-14)
    assert got.rounded().dtype == x.dtype


# ── literals ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("version", "name"), VERSIONED)
def test_three_four_five(version: int, name: str) -> None:
    x = tensor([3, -4, 0, 12, 5], name)
    assert flat(lp_pool(version, x, kernel_shape=(2,))) == [5, 4, 12, 13]
    assert flat(lp_pool(version, x, kernel_shape=(2,), p=1)) == [7, 4, 12, 17]
    # 3³ + 4³ + 5³ = 6³
    assert flat(lp_pool(version, tensor([3, 4, -5], name), kernel_shape=(3,), p=3)) == [6]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_same_puts_the_odd_padding_where_its_name_says(auto_pad: str) -> None:
    x = tensor([1, 2, 4, 8])
    want = {"SAME_UPPER": [3, 6, 12, 8], "SAME_LOWER": [1, 3, 6, 12]}[auto_pad]
    for version in TYPES:
        assert flat(lp_pool(version, x, kernel_shape=(2,), p=1, auto_pad=auto_pad)) == want


def test_same_with_dilation() -> None:
    x = tensor([1, 2, 4, 8, 16, 32, 64])
    got = lp_pool(18, x, kernel_shape=(3,), dilations=(2,), p=1, auto_pad="SAME_UPPER")
    assert flat(got) == [5, 10, 21, 42, 84, 40, 80]


def test_a_window_that_hangs_over_holds_real_values_only_and_is_not_rescaled() -> None:
    got = lp_pool(18, tensor([1, 2, 3, 4, 5, 6]), kernel_shape=(3,), strides=(2,), ceil_mode=1)
    want = [math.sqrt(1 + 4 + 9), math.sqrt(9 + 16 + 25), math.sqrt(25 + 36)]
    assert flat(got) == [np.float32(value) for value in want]


def test_a_window_wholly_in_padding_is_0() -> None:
    got = lp_pool(18, tensor([3, 4]), kernel_shape=(2,), pads=(3, 2))
    assert flat(got) == [0, 0, 3, 5, 4, 0]
    up: dict[str, Any] = {"strides": (3,), "pads": (1, 2), "ceil_mode": 1}
    assert flat(lp_pool(22, tensor([3, 7, 5, 12]), kernel_shape=(2,), **up)) == [3, 13, 0]


def test_the_axes_do_not_get_mixed_up() -> None:
    x = np.arange(1.0, 13).reshape(1, 1, 3, 4).astype(np.float32)
    got = lp_pool(18, x, kernel_shape=(1, 2), strides=(2, 1), pads=(1, 0, 0, 1), p=1)
    # Rows −1 (padding) and 1 (5 6 7 8), pairs along the last axis.
    assert got.tolist() == [[[[0, 0, 0, 0], [11, 13, 15, 8]]]]


# ── attributes and defaults of each version ───────────────────────────────────────────────────


@pytest.mark.parametrize("version", list(TYPES))
def test_defaults_are_p_2_stride_1_no_padding(version: int) -> None:
    x = tensor([3, 4, 12, 5])
    assert flat(lp_pool(version, x, kernel_shape=(2,))) == [5, np.float32(math.sqrt(160)), 13]
    stated = {"p": 2, "strides": (1,), "pads": (0, 0), "auto_pad": "NOTSET"}
    assert lp_pool(version, x, kernel_shape=(2,), **stated).tolist() == (
        lp_pool(version, x, kernel_shape=(2,)).tolist()
    )


@pytest.mark.parametrize("version", [1, 2, 11])
@pytest.mark.parametrize("attr", [{"ceil_mode": 0}, {"dilations": (1,)}])
def test_ceil_mode_and_dilations_came_with_18(version: int, attr: dict[str, Any]) -> None:
    assert f"LpPool-{version}: no attribute {next(iter(attr))}; " in refusal(version, **attr)
    assert lp_pool(18, tensor([3, 4]), kernel_shape=(2,), **attr).item() == 5


def test_bfloat16_came_with_22() -> None:
    for version in (1, 2, 11, 18):
        assert "X of type bfloat16; allowed: float16, float32, float64" in refusal(
            version, tensor([1, 2], "bfloat16")
        )


def test_p_of_version_1_is_a_binary32_number() -> None:
    x = tensor([1, 1], "float64")
    # 2^(1/3.7000000476837158), not 2^(1/3.7)
    assert lp_pool(1, x, kernel_shape=(2,), p=3.7).item() == 2 ** (1 / 3.7000000476837158)
    assert lp_pool(1, x, kernel_shape=(2,), p=3.7).item() != 2 ** (1 / 3.7)
    assert lp_pool(1, x, kernel_shape=(2,), p=0.5).item() == 4


@pytest.mark.parametrize("p", [0.0, -1.0, NAN, INF, -INF, 1e39, 1e-60])
def test_p_of_version_1_is_finite_and_positive(p: float) -> None:
    held = {1e39: INF, 1e-60: 0.0}.get(p, p)  # by a model
    assert refusal(1, p=p) == f"LpPool-1: p {held}; allowed: numbers that are above 0 in float32"


@pytest.mark.parametrize("version", [2, 11, 18, 22])
@pytest.mark.parametrize("p", [0, -1, -(2**63)])
def test_p_of_later_versions_is_an_integer_from_1_on(version: int, p: int) -> None:
    assert refusal(version, p=p) == f"LpPool-{version}: p {p}; allowed: integers from 1 on"


@pytest.mark.parametrize("version", list(TYPES))
def test_what_window_arithmetic_refuses_names_the_operator(version: int) -> None:
    with pytest.raises(InvalidNode, match=f"LpPool-{version}: attribute kernel_shape is mandatory"):
        lp_pool(version, tensor([1]))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"kernel_shape": (2, 2)}, "kernel_shape [2, 2] has length 2; allowed: 1"),
        ({"auto_pad": "VALID", "pads": (0, 0)}, "pads [0, 0] and auto_pad VALID; allowed: one"),
    ]
    for attrs, start in refused:
        assert refusal(version, **attrs).startswith(f"LpPool-{version}: {start}")
    low = np.ones((2, 2), np.float32)
    assert refusal(version, low).startswith(f"LpPool-{version}: input of rank 2; allowed: 3")


# ── special values, ranges, shapes ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("p", [1, 2, 3, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_nan_wins_over_infinity_and_infinity_over_numbers(name: str, p: int) -> None:
    x = tensor([1, NAN, INF, -INF, 2, 0, 0, -NAN], name)
    with np.errstate(all="raise"):
        got = lp_pool(22, x, kernel_shape=(2,), p=p)
    np.testing.assert_array_equal(flat(got), [NAN, NAN, INF, INF, 2, 0, NAN])


@pytest.mark.parametrize("p", [1, 2, 3, 40, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_zeros_give_exactly_0(name: str, p: int) -> None:
    got = lp_pool(22, tensor([0, -0.0, 0], name), kernel_shape=(2,), pads=(1, 1), p=p)
    assert flat(got) == [0, 0, 0, 0]
    assert not np.signbit(got).any()


@pytest.mark.parametrize("p", [2, 3, 40])
@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_powers_do_a_finite_answer_is_given(name: str, p: int) -> None:
    ends = [2.0 ** DTYPES[name].min_exponent, limits(DTYPES[name])[1]]
    for value in ends:
        x = tensor([value, 0, 0], name)
        assert flat(lp_pool(22, x, kernel_shape=(2,), p=p)) == [value, 0]
    # Both ends in one tensor: no window may suffer from its neighbour's scale.
    assert flat(lp_pool(22, tensor(ends, name), kernel_shape=(1,), p=p)) == ends


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_beyond_the_largest_number_is_infinite(name: str) -> None:
    x = tensor([limits(DTYPES[name])[1]] * 2, name)
    for p in (1, 2):
        assert lp_pool(22, x, kernel_shape=(2,), p=p).item() == INF


@pytest.mark.parametrize("name", NAMES)
def test_empty_dimensions_give_outputs_of_the_right_shape(name: str) -> None:
    empty: list[tuple[tuple[int, ...], dict[str, Any], tuple[int, ...]]] = [
        ((0, 2, 5), {"kernel_shape": (2,)}, (0, 2, 4)),
        ((2, 0, 5), {"kernel_shape": (2,)}, (2, 0, 4)),
        ((1, 1, 0), {"kernel_shape": (2,), "pads": (1, 1)}, (1, 1, 1)),
        ((1, 1, 0, 3), {"kernel_shape": (1, 2), "pads": (1, 0, 0, 0)}, (1, 1, 1, 2)),
        ((1, 1, 4), {"kernel_shape": (5,)}, (1, 1, 0)),
    ]
    for shape, attrs, want in empty:
        got = lp_pool(22, np.ones(shape, DTYPES[name].numpy), **attrs)
        assert (got.shape, got.dtype) == (want, DTYPES[name].numpy)
        assert not got.astype(float).any()


# ── rounding ──────────────────────────────────────────────────────────────────────────────────

POWERS = [
    (name, p)
    for name in NAMES
    for p in (1, 2, 3, 10, 2.5, 0.5)
    if p == int(p) or name != "bfloat16"
]


def drawn(name: str, kind: str, count: int, length: int) -> Any:
    """Rows of random numbers, all of them finite."""
    dtype, rng, shape = DTYPES[name], np.random.default_rng([len(kind), length]), (count, length)
    largest = math.log2(limits(dtype)[1])
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


@pytest.mark.parametrize(("name", "p"), POWERS)
def test_answers_are_correctly_rounded_and_in_float64_nearly_always(name: str, p: float) -> None:
    off: list[bool] = []
    for kind in ("ordinary", "of all sizes", "near the largest", "subnormal"):
        for length in (2, 9):
            values = drawn(name, kind, 40, length)
            answers = flat(rows(values, p).rounded())
            right = [rounded(norm(row, p), DTYPES[name]) for row in values.tolist()]
            off += [a != b for a, b in zip(answers, right, strict=True)]
    assert sum(off) <= (len(off) / 100 if name == "float64" else 0)


def exactly_rounded(x: Any) -> list[float]:
    """The sums of the magnitudes of each row, as golden files have them."""
    ((out,), _) = correctly_rounded(rows(x, 1).evaluation.node)
    return flat(out)


@pytest.mark.parametrize("name", NAMES)
def test_a_tie_is_broken_by_what_is_far_below_it(name: str) -> None:
    dtype = DTYPES[name]
    # 1 and half the distance to the next number is a tie; ties go to the even 1.
    half, tiny = 2.0**-dtype.precision, 2.0 ** (-10 if name == "float16" else -40)
    for row, want in [([1, half, 0], 1), ([1, half, half * tiny], 1 + 2 * half)]:
        # What stands in other windows is not asked.
        x = tensor([*row, *[INF] * 3, *[0] * 3], name).reshape(3, 3)
        assert exactly_rounded(x) == [want, INF, 0]


@pytest.mark.parametrize("p", [1, 2, 64, 1000, 1 << 53, (1 << 62) + 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_power_may_be_as_large_as_its_type_allows(name: str, p: int) -> None:
    values = drawn(name, "ordinary", 10, 3)
    answers = flat(rows(values, p).rounded())
    for row, answer in zip(values.tolist(), answers, strict=True):
        # Above 2^53 the others are as good as gone: these rows hold no near tie of two maxima.
        exact = norm(row, p) if p < 2000 else Fraction(max(map(abs, row)))
        assert answer == rounded(exact, DTYPES[name])


def test_the_ends_of_what_float64_holds() -> None:
    largest = limits(DTYPES["float64"])[1]
    # Half a step is 2^970; the last five bring 2^970 - 2^960 beyond it, each too little to do so.
    x = np.array([[largest, 2.0**970 - 2.0**960, *[2.0**958] * 5], [largest, 2.0**969, *[0] * 5]])
    assert exactly_rounded(x) == [INF, largest]
    assert flat(rows(np.full((2, 4), largest), 1).rounded()) == [INF, INF]
    for row, p, want in [([3.0, 4.0], 2, 5), ([2.0] * 16, 4, 4), ([3.0] * 4, 1, 12)]:
        out = rows(np.array([row]), p)
        assert (out.values.item(), out.rest.item()) == (want, 0)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.9])
def test_numbers_next_to_nothing_beside_others_do_not_cost_digits(p: float) -> None:
    x, held = np.random.default_rng(0).normal(size=(50, 8)), float(np.float32(p))
    x[:, 0] = 1e-320
    x[:, 1:3] *= 1e200
    want = [rounded(norm(row, held), DTYPES["float64"]) for row in x.tolist()]
    assert sum(a != b for a, b in zip(flat(rows(x, held).rounded()), want, strict=True)) <= 1


# ── what norms obey ───────────────────────────────────────────────────────────────────────────

numbers = st.lists(st.floats(-8, 8, width=16), min_size=4, max_size=4)


@given(numbers, st.sampled_from([1, 2, 3, 7, 2.5]), st.integers(-40, 40))
@settings(max_examples=60, deadline=None)
def test_a_power_of_two_scales_the_answer_exactly(values, p, exponent):
    for name in ("float32", "float64"):
        one = lp_pool(1, tensor(values, name), kernel_shape=(4,), p=p)
        other = lp_pool(1, tensor(np.ldexp(values, exponent), name), kernel_shape=(4,), p=p)
        assert other.item() == math.ldexp(one.item(), exponent)


@given(numbers, st.floats(0.5, 40, width=32), st.floats(0.5, 40, width=32))
@settings(max_examples=60, deadline=None)
def test_a_larger_p_gives_no_larger_norm(values: list[float], p: float, q: float) -> None:
    p, q = sorted((p, q))
    for name in ("float16", "float32"):
        x = tensor(values, name)
        low, high = (lp_pool(1, x, kernel_shape=(4,), p=power).item() for power in (q, p))
        assert max(map(abs, values)) <= low <= high or high == INF


@given(numbers, st.permutations(range(4)), st.sampled_from([1, 2, 3]))
@settings(max_examples=40, deadline=None)
def test_signs_and_order_do_not_matter(values: list[float], order: list[int], p: int) -> None:
    x = tensor(values, "bfloat16")
    want = rounded(norm(x.astype(float).ravel().tolist(), p), DTYPES["bfloat16"])
    for variant in (x, -x, x[..., order]):
        assert lp_pool(22, variant, kernel_shape=(4,), p=p).item() == want
