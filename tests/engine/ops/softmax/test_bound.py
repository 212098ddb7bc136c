from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from opcheck.engine.bounds import Tier

from opcheck.dtypes import DTYPES
from tests.engine.ops.softmax.asked import (
    DOUBLE,
    FLOATS,
    SINGLE,
    allowance_of,
    common_of,
    exact_of,
    quickly,
    tier_of,
)
from tests.engine.ops.softmax.formula import Errors, errors

# ── the formula ───────────────────────────────────────────────────────────────────────────────


def assert_is_the_formula(x: Any) -> list[tuple[Tier, Errors]]:
    """What every tier allows the rows of `x` is what the loops give, which are returned."""
    seen = []
    out = exact_of(x)
    for tier in out.bound.tiers(()):
        allowance = out.bound.allowance(tier, np.arange(len(x)), out.values)
        down, up = common_of(allowance)
        assert down.shape == up.shape == (len(x), 1)
        assert allowance.excused is None
        assert allowance.lost is None
        for i, row in enumerate(x.astype(np.float64).tolist()):
            want = errors(row, tier.arithmetic, shifts=tier.name == "log-sum-exp")
            assert allowance.local[i].tolist() == pytest.approx(want.own, rel=1e-9)
            # Beside E, which is at least 4u, so little of C is nothing. The least sum is searched,
            # and ln s is that of a rounded y.
            nothing = 1e-9 * tier.arithmetic.u + (2.0**-51 if tier.name == "log-sum-exp" else 0)
            assert down[i, 0] == pytest.approx(want.down, rel=1e-9, abs=nothing)
            searched = 1e-6 if want.common > 0.1 else 1e-9
            assert up[i, 0] == pytest.approx(want.up, rel=searched, abs=nothing)
            for y, e, unjudged in zip(out.values[i], want.own, allowance.unjudged[i], strict=True):
                assert unjudged == (e + want.wide >= 0.5 and y > tier.arithmetic.floor)
            seen.append((tier, want))
    return seen


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 65, 700])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 10.0, 60.0])
def test_both_errors_are_the_formula_at_every_tier(name: str, length: int, spread: float) -> None:
    random = np.random.default_rng(length)
    x = (spread * random.normal(size=(6, length))).astype(DTYPES[name].numpy)
    x[0], x[1] = np.sort(x[0]), np.sort(x[1])[::-1]
    assert_is_the_formula(x)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("offset", [-1e3, 1e7, -1e8, 1e17, 1e30, 1e38])
def test_and_far_from_zero(name: str, offset: float) -> None:
    x = offset + np.random.default_rng(3).normal(size=(4, 33))
    x[0, 4:] -= 1e38
    assert_is_the_formula(x.astype(name))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_and_where_nothing_but_the_least_sum_limits_a_row(name: str) -> None:
    # Equal numbers, a light tail, a heavy one, and one that is half of it in falling terms.
    x = np.zeros((4, 3000))
    x[1:, 1:] = np.array([[-6.5], [-1.0], [-6.0]]) - np.linspace(0, 3, 2999) * [[0], [0], [1]]
    seen = assert_is_the_formula(x.astype(DTYPES[name].numpy))
    large = [want for tier, want in seen if tier.name == name and want.common >= 0.5]
    assert len(large) >= 3
    assert all(math.log(1.2) < want.up < math.log(20) for want in large)


def test_known_bounds() -> None:
    x = np.array([[0, 0, 0, 0], [7, -np.inf, -np.inf, -np.inf]], np.float32)
    allowance = allowance_of(x)
    down, up = common_of(allowance)
    # Four equal elements: exp(0 - ln s) and a division; three additions and ln 4.
    assert (allowance.local[0] / SINGLE).tolist() == [12] * 4
    assert down[0, 0] / SINGLE == pytest.approx(3 + 3 * math.log(4))
    assert up[0, 0] == pytest.approx(-math.log1p(-down[0, 0]), rel=1e-12)
    # One element that is the sum itself.
    assert allowance.local[1, 0] / SINGLE == 4
    assert down[1, 0] == up[1, 0] == 0
    assert not allowance.unjudged.any()

    # e^-50 vanishes in the sum: its size is what its addition costs.
    tiny = math.exp(-50)
    allowance = allowance_of(np.array([[50, 0]], np.float32))
    assert (allowance.local / SINGLE).tolist() == [[4, 3 * 50 + 16 + 4]]
    assert common_of(allowance)[0][0, 0] == pytest.approx(
        # The terms' errors, the addition at depth 1 + 8, the new maximum read backwards, ln s.
        SINGLE * tiny * (3 * 50 + 8 + 10 / SINGLE + (8 + 2 + 3 * 50) + 3)
    )


def test_known_bounds_of_a_row_that_is_too_long_for_its_arithmetic() -> None:
    x = np.zeros((1, 1024), DTYPES["bfloat16"].numpy)
    allowance = allowance_of(x, "bfloat16")
    down, up = common_of(allowance)
    u, ln_s = 2.0**-8, math.log(1024)
    # To first order a term loses its own size, a quarter of u, and 18 levels of them all lose u.
    assert down[0, 0] == pytest.approx(u * (1023 / 4 + 18 + 3 * ln_s))
    # Each of 1023 additions loses u·M: M·(1 + 1023u) = 1.
    assert up[0, 0] == pytest.approx(math.log1p(1023 * u) + u * 3 * ln_s / (1 - 2 * u))
    assert allowance.unjudged.all()
    assert not allowance_of(x, "float32").unjudged.any()
    assert not allowance_of(x, "stored").unjudged.any()

    # A row that climbs through all numbers from -1 is rescaled all the time, by 3u each time.
    slowly = np.arange(0xBF80, 0xBB80, -1, dtype=np.uint16).view(x.dtype).reshape(1, -1)
    assert (slowly[0, 0], slowly[0, -1] > -0.004) == (-1, True)
    assert 4 < common_of(allowance_of(slowly, "bfloat16"))[1][0, 0] < math.inf


def test_the_logarithm_of_the_sum_is_the_most_that_the_raw_log_sum_exp_can_lose() -> None:
    ln_s = math.log(8)
    for offset, fallen, risen in (
        (1e6, SINGLE * 1e6, SINGLE * 1e6),
        (6e7, ln_s, ln_s),
        # Twice ln s is less than half a step: max + ln s is max.
        (1e8, 0, ln_s),
        (1e38, 0, ln_s),
    ):
        x = np.full((1, 8), offset, np.float32)
        plain, raw = allowance_of(x), allowance_of(x, "log-sum-exp")
        for one, other, lost in zip(common_of(plain), common_of(raw), (fallen, risen), strict=True):
            assert other[0, 0] - one[0, 0] == pytest.approx(lost)
        assert not plain.unjudged.any()
        assert raw.unjudged.all() == (risen > 0.5)


def test_only_the_elements_far_below_the_maximum_may_be_unjudged() -> None:
    # 3·gap/256 + (2·2 + 4 + …)/256 is half somewhere beyond 36.
    x = np.array([[0, -1, -30, -40, -70, -85, -90, -np.inf]], DTYPES["bfloat16"].numpy)
    unjudged = allowance_of(x, "bfloat16").unjudged[0].tolist()
    # e^-90 is not above the floor, which judges it.
    assert unjudged == [False, False, False, True, True, True, False, False]


# ── rows that are settled before, and where the rows lie ──────────────────────────────────────


@pytest.mark.parametrize("name", FLOATS)
def test_nothing_is_allowed_where_the_answer_is_exact_or_no_number(name: str) -> None:
    nan, inf = math.nan, math.inf
    x = np.array([[0, nan, -inf], [inf, 0, -inf], [-inf] * 3, [1, -inf, 0]], DTYPES[name].numpy)
    out = exact_of(x)
    _, quick = quickly(out)
    assert np.isnan(quick[:3]).all()
    # Nothing, or half a step, which no number of a 16-bit type is away.
    short = DTYPES[name].numpy.itemsize == 2
    assert quick[3, 1, 0] == (2.0 ** (DTYPES[name].min_exponent - 1) if short else 0)
    assert (quick[3, ::2] > 0).all()
    for tier in out.bound.tiers(()):
        allowance = out.bound.allowance(tier, np.arange(4), out.values)
        down, up = common_of(allowance)
        assert allowance.exact.tolist() == [[False] * 3] * 3 + [[False, True, False]]
        assert not allowance.unjudged.any()
        assert (allowance.local[:3] == 0).all()
        assert (down[:3] == 0).all()
        assert (up[:3] == 0).all()
        assert (allowance.local[3] > 0).all()
        assert np.isfinite(allowance.local).all()


def test_what_has_vanished_is_left_to_the_floor() -> None:
    allowance = allowance_of(np.array([[0, -3e38, -1e4]], np.float32))
    assert not allowance.exact.any()
    assert allowance.local.max() < 30 * SINGLE


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_groups_are_numbered_through_what_lies_beside_the_axis(axis: int) -> None:
    x = np.random.default_rng(30).normal(size=(4, 5, 6)).astype(np.float32)
    out = exact_of(x, axis)
    outer, length, inner = out.bound.layout
    assert (outer, length, inner) == [(1, 4, 30), (4, 5, 6), (20, 6, 1)][axis]
    rows, y = (np.moveaxis(part, axis, -1).reshape(-1, length) for part in (x, out.values))
    some = np.array([3, 17, 0, 11])
    tier = tier_of(out.bound, "float32")
    got, want = out.bound.allowance(tier, some, y[some]), allowance_of(rows[some])
    assert got.local.tolist() == want.local.tolist()
    for one, other in zip(common_of(got), common_of(want), strict=True):
        assert one.tolist() == other.tolist()

    _, accepted = quickly(out)
    _, of_rows = quickly(exact_of(rows))
    moved = np.moveaxis(accepted, 1, 2).reshape(-1, length)
    assert moved.tolist() == of_rows[..., 0].tolist()


def test_an_empty_tensor_has_no_groups() -> None:
    for shape, axis in (((0, 3), 1), ((3, 0), 1), ((2, 0, 4), 0)):
        outer, length, inner = exact_of(np.zeros(shape, np.float32), axis).bound.layout
        assert outer * inner == 0
        assert length > 0


@settings(max_examples=30, deadline=None)
@given(
    x=arrays(np.float32, (2, 6), elements=st.integers(-40, 40).map(float)),
    shift=st.integers(-(2**18), 2**18),
)
def test_only_the_log_sum_exp_tier_knows_of_a_shift(x: Any, shift: int) -> None:
    for name in ("float32", "log-sum-exp"):
        here, there = allowance_of(x, name), allowance_of(x + np.float32(shift), name)
        assert there.local.tolist() == here.local.tolist()
        top = x.max(axis=1, keepdims=True).astype(np.float64)
        ln_s = np.log(np.exp(x - top).sum(axis=1, keepdims=True))
        # How far it may fall is the same, or nothing where max + ln s is max.
        lost = [np.minimum(SINGLE * np.abs(top + at), ln_s) for at in (0, shift)]
        more = lost[1] - lost[0] if name == "log-sum-exp" else 0.0 * top
        (_, one), (_, other) = common_of(here), common_of(there)
        np.testing.assert_allclose(other, one + more, rtol=1e-9, atol=1e-15)


# ── tiers ─────────────────────────────────────────────────────────────────────────────────────

RAW = "not shift invariant: subtracts the raw log-sum-exp"
SHORT = "exp kept in float16; declare accumulate=stored"
ALL_SHORT = "computed in float16; declare accumulate=float16"


@pytest.mark.parametrize(
    ("name", "declared", "tiers"),
    [
        ("float32", (), [("float32", ""), ("log-sum-exp", RAW)]),
        ("float64", (), [("float64", ""), ("log-sum-exp", RAW)]),
        ("float64", ("stored", "float16"), [("float64", ""), ("log-sum-exp", RAW)]),
        (
            "float16",
            (),
            [("float32", ""), ("log-sum-exp", RAW), ("stored", SHORT), ("float16", ALL_SHORT)],
        ),
        (
            "float16",
            ("stored",),
            [("float32", ""), ("stored", ""), ("log-sum-exp", RAW), ("float16", ALL_SHORT)],
        ),
        (
            "float16",
            ("float16",),
            [("float32", ""), ("stored", ""), ("float16", ""), ("log-sum-exp", RAW)],
        ),
        (
            "float16",
            ("bfloat16",),
            [("float32", ""), ("log-sum-exp", RAW), ("stored", SHORT), ("float16", ALL_SHORT)],
        ),
    ],
)
def test_declared_tiers_come_first_and_without_a_remark(
    name: str, declared: tuple[str, ...], tiers: list[tuple[str, str]]
) -> None:
    bound = exact_of(np.zeros((1, 2), DTYPES[name].numpy)).bound
    assert [(tier.name, tier.remark) for tier in bound.tiers(declared)] == tiers


def test_remarks_name_the_dtype() -> None:
    bound = exact_of(np.zeros((1, 2), DTYPES["bfloat16"].numpy)).bound
    assert [tier.remark for tier in bound.tiers(())][2:] == [
        "exp kept in bfloat16; declare accumulate=stored",
        "computed in bfloat16; declare accumulate=bfloat16",
    ]


def test_a_tier_computes_in_its_arithmetic() -> None:
    units = {}
    for name in FLOATS:
        bound = exact_of(np.zeros((1, 2), DTYPES[name].numpy)).bound
        for tier in bound.tiers(()):
            arithmetic = tier.arithmetic
            units[name, tier.name] = arithmetic.u, arithmetic.library, arithmetic.stored
    assert units == {
        ("float64", "float64"): (DOUBLE, 8, 0),
        ("float64", "log-sum-exp"): (DOUBLE, 8, 0),
        ("float32", "float32"): (SINGLE, 8, 0),
        ("float32", "log-sum-exp"): (SINGLE, 8, 0),
        ("float16", "float32"): (SINGLE, 8, 0),
        ("float16", "log-sum-exp"): (SINGLE, 8, 0),
        ("float16", "stored"): (SINGLE, 8, 2.0**-11),
        ("float16", "float16"): (2.0**-11, 2, 0),
        ("bfloat16", "float32"): (SINGLE, 8, 0),
        ("bfloat16", "log-sum-exp"): (SINGLE, 8, 0),
        ("bfloat16", "stored"): (SINGLE, 8, 2.0**-8),
        ("bfloat16", "bfloat16"): (2.0**-8, 2, 0),
    }
