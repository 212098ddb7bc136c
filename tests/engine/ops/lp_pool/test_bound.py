from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from opcheck.engine.bounds import Allowance, Arithmetic, Tier, expected, narrow, smallest_normal
from opcheck.engine.exact import Exact

from opcheck.dtypes import DTYPES, DType, round_to
from tests.engine.ops.lp_pool.exactly import pooled, rows, step, tensor

NAMES = ("float16", "bfloat16", "float32", "float64")
HALVES = ("float16", "bfloat16")
#: bfloat16 came after fractional p had gone.
POWERS = [
    (name, p)
    for name in NAMES
    for p in (0.5, 1, 2, 2.5, 3, 100)
    if name != "bfloat16" or p == int(p)
]


def tier(out: Exact, name: str, declared: Collection[str] = ()) -> Tier:
    (found,) = (tier for tier in out.bound.tiers(declared) if tier.name == name)
    return found


def allowed(out: Exact, name: str, declared: Collection[str] = ()) -> Allowance:
    """The allowance of every element."""
    y = out.values.reshape(-1, 1)
    return out.bound.allowance(tier(out, name, declared), np.arange(len(y)), y)


def errors(allowance: Allowance) -> tuple[float, float, float]:
    """Of the one element, the logarithms of its own error and of what its sum loses and gains."""
    assert allowance.common is not None
    down, up = allowance.common
    assert down.shape == up.shape == allowance.local.shape
    return allowance.local.item(), down.item(), up.item()


def room(allowance: Allowance) -> Any:
    """How far from y, as a part of it, each element may be on either side."""
    assert allowance.common is not None
    down, up = allowance.common
    below, above = -np.expm1(-allowance.local - down), np.expm1(allowance.local + up)
    return np.minimum(below, above).ravel()


def one(values: list[float], p: float, name: str = "float32") -> Exact:
    return rows(tensor(values, name).reshape(1, len(values)), p)


#: The exponents of the smallest and the largest number, roughly.
EXPONENTS = {
    "float16": (-24, 15),
    "bfloat16": (-133, 127),
    "float32": (-149, 127),
    "float64": (-1074, 1023),
}


def quickly(out: Exact, given_in: str = "float64", part: slice = slice(None)) -> tuple[Any, Any]:
    """y, as it is given, and what is quickly accepted there."""
    with np.errstate(over="ignore"):
        y = out.values.reshape(-1, 1, 1)[part].astype(given_in)
    accepted = np.full(y.shape, -1, given_in)
    before = y.tobytes()
    out.bound.quick((part, slice(None), slice(None)), y, accepted)
    assert y.tobytes() == before
    return y.ravel(), accepted.ravel()


def assert_every_tier_allows_it(out: Exact) -> None:
    """With all that rounding y to how it is given may have cost."""
    name = out.dtype.name
    for declared in ((), (name,)):
        for kind in out.bound.tiers(declared):
            r = room(allowed(out, kind.name, declared))
            for given_in in ("float64", "float32") if name == "float32" else ("float64",):
                for each in zip(*quickly(out, given_in), out.values.ravel(), r, strict=True):
                    assert_allowed(out.dtype, np.finfo(given_in), *map(float, each))


def assert_allowed(
    dtype: DType, held: np.finfo[Any], known: float, accepted: float, y: float, r: float
) -> None:
    """That `accepted`, beside y rounded to `known`, is within r·y.

    A normal number is rounded within it; half a step more is for what is rounded more coarsely.
    """
    if not math.isfinite(known):
        assert not math.isfinite(accepted)
    elif y == 0:
        assert accepted == 0
    else:
        room = Fraction(r) * Fraction(y)
        if dtype.numpy.itemsize == 2 or y < smallest_normal(dtype):
            room += step(Fraction(y), dtype) / 2
        # What is accepted is a number as well, rounded as coarsely where it is subnormal.
        if accepted < held.smallest_normal:
            room += Fraction(float(held.smallest_subnormal)) / 2
        assert accepted > 0 or y < smallest_normal(dtype)
        assert Fraction(accepted) + abs(Fraction(known) - Fraction(y)) <= room


def formula(
    values: list[float], p: float, arithmetic: Arithmetic, flushed: bool
) -> tuple[float, float, float]:
    """r, d and g, as they are written, with 40 digits."""
    with mpmath.workdps(40):
        power = [
            mpmath.power(abs(mpmath.mpf(v)), mpmath.mpf(p)) if v else mpmath.mpf(0) for v in values
        ]
        total = mpmath.fsum(power)
        y = mpmath.power(total, 1 / mpmath.mpf(p))
        share = [each / total for each in power]
        u, f = arithmetic.u, arithmetic.library
        added = sum(sorted(min(1, w / u) for w in share)[:-1])
        logarithms = sum(
            w * abs(mpmath.log(abs(v))) for w, v in zip(share, values, strict=True) if v
        )
        r = u * ((f + 2) / p + 5 * logarithms + f + 6 * abs(mpmath.log(y)) + 3)
        phi = mpmath.mpf(0)
        if flushed:
            phi += sum(
                w
                for w, each, v in zip(share, power, values, strict=True)
                # A root is larger than what it is taken of.
                if 0 < min(each, abs(v)) < 2 * arithmetic.smallest
            )
        root = 1 / mpmath.mpf(p)
        sums = -mpmath.log(1 - u * added)
        d = root * (sums - mpmath.log(1 - phi))
        g = root * (min(sums, mpmath.log(2 - max(share))) + mpmath.log(1 + 2 * phi))
        return float(r), float(d), float(g)


WINDOWS: dict[str, list[float]] = {
    "one element": [0.75],
    "equal": [1.0] * 9,
    "ordinary": [0.5, -1.25, 2.0, 0.0, 3.0],
    "dominated": [8.0] + [2.0**-9] * 30,
    "many": [0.5 + i / 64 for i in range(64)],
    "large": [100.0, 120.0],
    "small": [0.01, 0.02, 0.03],
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("name", "p"), [each for each in POWERS if each[1] < 100])
def test_r_and_d_and_g_are_the_formula(name: str, p: float, window: str) -> None:
    dtype = DTYPES[name]
    out = one(WINDOWS[window], p, name)
    values = tensor(WINDOWS[window], name).astype(float).ravel().tolist()
    first, *_ = out.bound.tiers(())
    want = formula(values, p, expected(dtype), flushed=True)
    assert errors(allowed(out, first.name)) == pytest.approx(want, rel=1e-9, abs=1e-25)
    if name in HALVES:
        want = formula(values, p, narrow(dtype), flushed=True)
        got = errors(allowed(out, name, declared=(name,)))
        assert got == pytest.approx(want, rel=1e-9, abs=1e-25)


def test_a_constant_worked_out_by_hand() -> None:
    # Four ones, p = 2: A = 3, no logarithm but ln y = ln 2.
    r, d, g = errors(allowed(one([1, 1, 1, 1], 2), "float32"))
    assert r == pytest.approx(2.0**-24 * ((8 + 2) / 2 + 8 + 6 * math.log(2) + 3), rel=1e-9, abs=0)
    assert d == g == pytest.approx(2.0**-24 * 3 / 2, rel=1e-6, abs=0)


def test_a_dominated_window_does_not_pay_for_its_length() -> None:
    # 4095 additions, but the small terms together are far below the last place of the large one.
    long = errors(allowed(one([1.0] + [2.0**-20] * 4095, 2), "float32"))
    # A = 4095·2^-40/2^-24 = 1/16
    want = (2.0**-24 * ((8 + 2) / 2 + 8 + 3), 2.0**-24 / 16 / 2, 2.0**-24 / 16 / 2)
    assert long == pytest.approx(want, rel=1e-3, abs=0)


def test_a_sum_that_stagnates_may_lose_most_of_itself_but_gains_no_term_more_than_once() -> None:
    # 1024 terms of 1/2048 are lost beside 1, one by one: of S = 1.5 the first is left.
    r, d, g = errors(allowed(one([1.0] + [2.0**-11] * 1024, 1, "float16"), "float16"))
    assert d == pytest.approx(math.log(1.5))
    assert r < 0.02
    # Or each is rounded up to twice its size, which makes 2 of 1.5.
    assert g == pytest.approx(math.log(2 / 1.5))
    # Equal ones in bfloat16: as many as there are, as long as none is above u·S = S/256.
    _, d, g = errors(allowed(one([1.0] * 1000, 1, "bfloat16"), "bfloat16"))
    assert d == pytest.approx(math.log(1000))
    assert g == pytest.approx(math.log(1.999))


def test_padding_is_no_element_but_a_zero_is_one() -> None:
    x = tensor([1, 1, 0])
    out = pooled(22, x, kernel_shape=(3,), pads=(1, 1), p=1)
    windows = [[1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0]]
    want = [formula(values, 1, expected(DTYPES["float32"]), False) for values in windows]
    allowance = allowed(out, "float32")
    assert allowance.common is not None
    assert allowance.local.ravel() == pytest.approx([r for r, _, _ in want], rel=1e-9, abs=0)
    down, up = allowance.common
    assert down.ravel() == pytest.approx([d for _, d, _ in want], rel=1e-6, abs=1e-25)
    assert up.ravel() == pytest.approx([g for _, _, g in want], rel=1e-6, abs=1e-25)


def fields(allowance: Allowance) -> list[Any]:
    """All its arrays."""
    assert allowance.common is not None
    assert allowance.excused is not None
    masks = [allowance.exact, allowance.unjudged, allowance.lost]
    return [allowance.local, *allowance.common, *allowance.excused, *masks]


def test_each_element_is_a_group_of_its_own() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    out = pooled(22, x, kernel_shape=(2, 2))
    assert out.bound.layout == (2 * 3 * 3 * 4, 1, 1)
    whole = allowed(out, "range")
    y = out.values.reshape(-1, 1)
    some = np.array([70, 3, 3, 41])
    part = out.bound.allowance(tier(out, "range"), some, y[some])
    none = out.bound.allowance(tier(out, "range"), some[:0], y[:0])
    for of_whole, of_part, of_none in zip(*map(fields, (whole, part, none)), strict=True):
        np.testing.assert_array_equal(of_part, of_whole[some])
        assert of_whole.shape == y.shape
        assert of_part.shape == (4, 1)
        assert of_none.shape == (0, 1)


def test_a_window_of_zeros_or_padding_is_exact() -> None:
    out = pooled(22, tensor([0, 0, 3]), kernel_shape=(2,), pads=(2, 2))
    for name in ("float32", "range"):
        allowance = allowed(out, name)
        assert allowance.exact.ravel().tolist() == [True, True, True, False, False, True]
        _, _, _, low, high, _, unjudged, lost = fields(allowance)
        assert not unjudged.any()
        assert not lost.any()
        assert np.isnan([low, high]).all()
    _, accepted = quickly(out)
    assert (accepted == 0).tolist() == [True, True, True, False, False, True]


@pytest.mark.parametrize("name", NAMES)
def test_windows_with_nan_or_infinity_have_no_room(name: str) -> None:
    out = pooled(22, tensor([1, math.nan, 1, math.inf, 1], name), kernel_shape=(2,))
    for kind in out.bound.tiers((name,)):
        allowance = allowed(out, kind.name, declared=(name,))
        local, down, up, low, high, exact, unjudged, lost = fields(allowance)
        assert not np.any([local, down, up, exact, unjudged, lost])
        assert np.isnan([low, high]).all()
    _, accepted = quickly(out)
    # Beside y itself it does not matter: nothing is near what is no number.
    assert not np.isfinite(accepted).any()


# ── range ─────────────────────────────────────────────────────────────────────────────────────


def excused(
    values: list[float], p: float, name: str, declared: Collection[str] = ()
) -> dict[str, tuple[float, float] | None]:
    """For each tier, the ends of what the one element may be instead, or None; or lost with it."""
    out = one(values, p, name)
    found = {}
    for kind in out.bound.tiers(declared):
        _, _, _, low, high, _, unjudged, lost = fields(allowed(out, kind.name, declared))
        ends = None if np.isnan(low) else (low.item(), high.item())
        assert np.isnan(low) == np.isnan(high)
        assert lost.item() is (ends is not None)
        assert unjudged.item() or ends is None or np.isinf(out.values).all()
        found[kind.name] = ends
    return found


def free(
    values: list[float], p: float, name: str, declared: Collection[str] = ()
) -> dict[str, bool]:
    """For each tier whether the one element is excused."""
    return {kind: ends is not None for kind, ends in excused(values, p, name, declared).items()}


@pytest.mark.parametrize(
    ("name", "root", "least"),
    # The root of the largest number and a bit, the root of smallest/u.
    [("float32", 2.0**64, 2.0**-51), ("float64", 2.0**512, math.sqrt(2) * 2.0**-485)],
)
def test_only_what_leaves_the_range_is_excused(name: str, root: float, least: float) -> None:
    cases = {
        (root, 0.0): True,
        (root * 0.999, 0.0): False,
        (root * 0.999, root * 0.999): True,
        (least * 1.01, least * 1.01): False,
        (least * 0.99, least * 0.99): True,
        (0.0, least * 1.01): True,
    }
    for values, excused in cases.items():
        assert free(list(values), 2, name) == {name: False, "range": excused}


def test_a_sum_that_is_too_large_is_lost_or_the_largest_number() -> None:
    # Σ = 2·2^128, saturated at 2^128; y = √2·2^64.
    ends = excused([2.0**64, 2.0**64], 2, "float32")["range"]
    own, _, _ = errors(allowed(one([2.0**64, 2.0**64], 2), "range"))
    root = 2.0**64 - 2.0**39  # of the largest number, 2^128 − 2^104
    # Half a step of float32 is 2^39 just below 2^64 and 2^40 above.
    want = (root * math.exp(-own) - 2.0**39, root * math.exp(own) + 2.0**40)
    assert ends == pytest.approx(want, rel=1e-12)
    # float64's own answer may be infinite, and the largest number is in reach of what is right.
    largest = float(np.finfo(np.float64).max)
    ends = excused([largest, largest], 1, "float64")["range"]
    assert ends == (pytest.approx(largest, rel=1e-11), math.inf)


def test_a_sum_that_is_too_small_is_lost_or_loses_any_part_of_itself() -> None:
    out = one([2.0**-70, 2.0**-70], 2)
    own, _, _ = errors(allowed(out, "range"))
    low, high = excused([2.0**-70, 2.0**-70], 2, "float32")["range"] or (-1, -1)
    assert low == 0
    want = math.sqrt(2) * 2.0**-70 * math.exp(own) + 2.0**-94  # half a step of float32
    assert high == pytest.approx(want, rel=1e-12, abs=0)


def test_what_is_excused_or_may_err_by_much_of_its_value_is_unjudged() -> None:
    def unjudged(values: list[float], p: float, name: str, kind: str) -> bool:
        return bool(allowed(one(values, p, name), kind).unjudged.item())

    assert not unjudged([2.0**64], 2, "float32", "float32")
    assert unjudged([2.0**64], 2, "float32", "range")
    assert unjudged([2.0**-70], 2, "float32", "range")
    # r is 0.13 and 0.14, d is ln(256/187) = 0.31 and ln(256/177) = 0.37.
    assert not unjudged([1.0] * 70, 1, "bfloat16", "bfloat16")
    assert unjudged([1.0] * 80, 1, "bfloat16", "bfloat16")
    assert unjudged([1.0] * 300, 1, "bfloat16", "bfloat16")
    assert not unjudged([1.0] * 300, 1, "bfloat16", "float32")


def test_the_last_place_before_the_end_of_the_range_belongs_to_rounding() -> None:
    # S = the largest number, which an addition or a power rounded up would leave.
    assert free([(2.0**24 - 1) * 2.0**104], 1, "float32")["range"]
    assert not free([(2.0**24 - 2048) * 2.0**104], 1, "float32")["range"]


def test_float16_is_within_the_range_of_float32_where_it_leaves_its_own() -> None:
    assert free([300, 300], 2, "float16") == {"float32": False, "range": False, "float16": False}
    declared = free([300, 300], 2, "float16", declared=("float16",))
    assert declared == {"float32": False, "float16": True, "range": False}
    # 300^16 is beyond float32 as well, in whatever tier the others of the tensor need.
    assert free([300], 16, "float16") == {"float32": False, "range": True, "float16": True}


def test_terms_that_a_declared_float16_flushes_excuse_their_own_size_only() -> None:
    values = [0.5, 2.0**-7, 2.0**-8]  # 2^-14 and 2^-16 may be flushed, below twice 2^-14
    out = one(values, 2, "float16")
    arithmetic = narrow(DTYPES["float16"])
    found = errors(allowed(out, "float16", declared=("float16",)))
    assert found == pytest.approx(formula(values, 2, arithmetic, True), rel=1e-9)
    # S is small for float16, but undeclared nobody may flush.
    strict = errors(allowed(one([0.125, 2.0**-7], 2, "float16"), "float16"))
    assert strict == pytest.approx(formula([0.125, 2.0**-7], 2, arithmetic, False), rel=1e-9)
    # Nothing is flushed here, though S is below K·smallest/u.
    _, *sums = errors(allowed(one([0.25, 0.25], 2, "float16"), "float16", declared=("float16",)))
    assert max(sums) < 0.001
    for count in range(1, 20):  # whether or not their shares add up to 1
        out = one([0.25] * count, 10, "float16")
        allowance = allowed(out, "float16", declared=("float16",))
        _, d, g = errors(allowance)
        assert d == math.inf
        assert math.log(3) / 10 * (1 - 1e-9) <= g <= math.log(3 * 2) / 10
        assert allowance.unjudged.item()
        assert not free([0.25] * count, 10, "float16", declared=("float16",))["float16"]
    assert not free([2.0**-8, 2.0**-8], 2, "float16")["float16"]


def test_within_the_range_a_flushed_term_costs_its_share() -> None:
    values = [1.0, 2.0**-7]
    arithmetic = narrow(DTYPES["float16"])
    found = errors(allowed(one(values, 2, "float16"), "float16"))
    assert found == pytest.approx(formula(values, 2, arithmetic, flushed=True), rel=1e-9)
    _, d, g = formula(values, 2, arithmetic, flushed=False)
    assert found[1] > d + 2.0**-16
    assert found[2] > g + 2.0**-15


def test_below_1_it_is_the_element_that_is_flushed() -> None:
    # Its root is nowhere near the end of the range.
    assert free([2.0**-126], 0.5, "float32") == {"float32": False, "range": True}
    assert free([2.0**-125], 0.5, "float32") == {"float32": False, "range": False}
    # Beside 1 it is √(2^-130) of the sum, less than an ULP, and its own share of r.
    assert not free([1.0, 2.0**-130], 0.5, "float32")["range"]
    assert free([2.0**-90, 2.0**-130], 0.5, "float32")["range"]


def test_outside_the_range_the_right_answer_is_still_the_right_one() -> None:
    tiny = [1e-30, 2e-30]  # squares are 0 in float32
    out = one(tiny, 2)
    values = tensor(tiny).astype(float).ravel().tolist()
    want = formula(values, 2, expected(DTYPES["float32"]), flushed=False)
    for name in ("float32", "range"):
        assert errors(allowed(out, name)) == pytest.approx(want, rel=1e-9, abs=1e-25)


# ── tiers and the quick acceptance ────────────────────────────────────────────────────────────


def told(name: str, declared: Collection[str] = ()) -> list[tuple[str, str]]:
    return [(kind.name, kind.remark) for kind in one([1], 2, name).bound.tiers(declared)]


def test_tiers_go_from_the_expected_to_the_tolerated() -> None:
    beyond = "right but where Σ|x|^p leaves the range of"
    assert told("float64") == [("float64", ""), ("range", f"{beyond} float64")]
    assert told("float32") == [("float32", ""), ("range", f"{beyond} float32")]
    for name in HALVES:
        assert told(name) == [
            ("float32", ""),
            ("range", f"{beyond} float32"),
            (name, f"computed in {name}; declare accumulate={name}"),
        ]
        assert told(name, declared=(name,)) == [
            ("float32", ""),
            (name, ""),
            ("range", f"{beyond} float32"),
        ]
    assert told("float32", declared=("float16",)) == told("float32")
    assert told("float16", declared=("bfloat16",)) == told("float16")


@pytest.mark.parametrize(("name", "p"), POWERS)
def test_whatever_is_accepted_quickly_every_tier_allows(name: str, p: float) -> None:
    rng = np.random.default_rng(3)
    lowest, highest = EXPONENTS[name]
    near = np.ldexp(rng.standard_normal((80, 5)), rng.integers(-9, 10, (80, 1)))
    far = np.ldexp(rng.standard_normal((80, 5)), rng.integers(lowest, highest, (80, 1)))
    lone = np.ldexp(rng.standard_normal((40, 5)), [[-6, lowest, lowest, lowest, lowest]])
    assert_every_tier_allows_it(rows(round_to(np.concatenate([near, far, lone]), DTYPES[name]), p))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_there_is_in_a_window(name: str, data: st.DataObject) -> None:
    anything = st.floats(width={"float64": 64, "float16": 16}.get(name, 32))
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 6)))
    x = data.draw(arrays(np.float64, shape, elements=anything | st.sampled_from([0.0, 1.0, 0.1])))
    p = data.draw(st.sampled_from([p for each, p in POWERS if each == name]))
    assert_every_tier_allows_it(rows(round_to(x, DTYPES[name]), p))


def test_the_quick_acceptance_is_the_part_that_depends_on_no_window() -> None:
    # f = 8; a hundredth is kept back.
    want = 0.99 * 2.0**-24 * (10 / 2 + 8 + 2) * 5
    for given_in in ("float64", "float32"):
        y, accepted = quickly(one([3, 4], 2), given_in)
        assert y.item() == 5
        assert accepted.item() == pytest.approx(want, rel=1e-6)
    _, accepted = quickly(one([3, 4], 2, "float16"))
    assert accepted.item() == pytest.approx(want + 2.0**-9)
    _, accepted = quickly(one([3, 4], 2, "float64"))
    assert accepted.item() == pytest.approx(want * 2.0**-29, abs=0)


@pytest.mark.parametrize("name", HALVES)
def test_the_quick_acceptance_of_a_16_bit_type_holds_half_a_step_of_it(name: str) -> None:
    dtype = DTYPES[name]
    x = np.random.default_rng(4).normal(size=(200, 3))
    for exponent in (0, dtype.min_exponent + 4):
        out = rows(round_to(np.ldexp(x, exponent), dtype), 2)
        y, accepted = quickly(out)
        off = np.abs(out.rounded().astype(np.float64).ravel() - y)
        assert (off <= accepted).all()
        assert (off > 0.9 * accepted).any()


def test_a_block_of_the_quick_acceptance_may_be_any_block() -> None:
    out = rows(np.array([[1, 2], [0, 0], [3, math.nan], [4, 5], [6, math.inf], [7, 8]]), 2)
    _, whole = quickly(out)
    for start, stop in itertools.combinations(range(7), 2):
        _, piece = quickly(out, part=slice(start, stop))
        np.testing.assert_array_equal(piece, whole[start:stop])
    assert quickly(out, part=slice(0, 0))[1].shape == (0,)
