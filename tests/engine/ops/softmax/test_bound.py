from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opcheck.dtypes import DTYPES, DType, round_to
from opcheck.engine import Exact, exactly
from opcheck.engine.bounds import Allowance, Arithmetic, Bound, Part, Tier, smallest_normal
from opcheck.model import OpVersion

FLOATS = ("bfloat16", "float16", "float32", "float64")
SINGLE, DOUBLE = 2.0**-24, 2.0**-53


def exact_of(x: Any, axis: int = -1) -> Exact:
    (out,) = exactly(OpVersion("", "Softmax", 13), [x], {"axis": axis})
    assert isinstance(out, Exact)
    return out


def tier_of(bound: Bound, name: str) -> Tier:
    (tier,) = (tier for tier in bound.tiers(()) if tier.name == name)
    return tier


def allowance_of(x: Any, name: str = "float32") -> Allowance:
    """What a tier allows to the rows of a matrix."""
    out = exact_of(x)
    return out.bound.allowance(tier_of(out.bound, name), np.arange(len(x)), out.values)


# ── the formula, transcribed ──────────────────────────────────────────────────────────────────


def errors(row: list[float], arithmetic: Arithmetic) -> tuple[list[float], float]:
    """E and C of a row of finite numbers, in loops."""
    u, f, n = arithmetic.u, arithmetic.library, len(row)
    top = max(row)
    gap = [top - x for x in row]
    s = math.fsum(math.exp(-g) for g in gap)
    y = [math.exp(-g) / s for g in gap]
    ln_s = math.log(s)

    own = []
    for g, share in zip(gap, y, strict=True):
        if share == 0:
            g = 0.0
        call = max(2 * f, f + ln_s) if g > 0 else f if ln_s > u else 0
        own.append(u * (3 * g + call + 4) + arithmetic.stored)

    first = gap.index(0)
    rest = [y[j] for j in range(n) if j != first]
    terms = math.fsum(min(1.0, share / u) for share in rest)
    depth = math.ceil(math.log2(n)) + 8
    additions = min(n - 1, terms + depth * min(1.0, math.fsum(rest) / u))
    seen = math.fsum(3 * y[j] * gap[j] + f * y[j] * (gap[j] > 0) for j in range(n))
    summed = [(additions, max(rescaled([(gap, y)]), rescaled([(gap[::-1], y[::-1])])))]
    for lanes in (2**k for k in range(1, n.bit_length()) if 2**k <= n):
        each = math.ceil(n / lanes)
        fewer = min(each - 1 + lanes.bit_length() - 1, additions)
        contiguous = [slice(i * each, (i + 1) * each) for i in range(lanes)]
        strided = [slice(i, n, lanes) for i in range(lanes)]
        for parts in (contiguous, strided):
            summed.append((fewer, rescaled([(gap[part], y[part]) for part in parts])))
    adding = max(few + (f + 1) * mass for few, mass in summed)
    return own, u * (seen + adding + 3 * ln_s) + arithmetic.stored


def rescaled(lanes: list[tuple[list[float], list[float]]]) -> float:
    """The mass that an online softmax multiplies at new maxima, in lanes and when they merge."""
    total, tops = 0.0, []
    for gap, y in lanes:
        mass, least = 0.0, math.inf
        for g, share in zip(gap, y, strict=True):
            total += mass if g < least else 0
            least, mass = min(least, g), mass + share
        tops.append((least, mass))
    while len(tops) > 1:
        pairs = list(zip(tops[::2], tops[1::2], strict=True))
        total += math.fsum(max(one, other)[1] for one, other in pairs if one[0] != other[0])
        tops = [(min(one[0], other[0]), one[1] + other[1]) for one, other in pairs]
    return total


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 65, 700])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 10.0, 60.0])
def test_both_errors_are_the_formula_at_every_tier(name: str, length: int, spread: float) -> None:
    random = np.random.default_rng(length)
    x = (spread * random.normal(size=(6, length))).astype(DTYPES[name].numpy)
    x[0], x[1] = np.sort(x[0]), np.sort(x[1])[::-1]
    out = exact_of(x)
    for tier in out.bound.tiers(()):
        allowance = out.bound.allowance(tier, np.arange(6), out.values)
        assert allowance.common is not None
        assert allowance.common.shape == (6, 1)
        assert allowance.limit == (math.inf if tier.name == "log-sum-exp" else 0.5)
        assert allowance.free is None
        for i, row in enumerate(x.astype(np.float64).tolist()):
            own, common = errors(row, tier.arithmetic)
            if tier.name == "log-sum-exp":
                common += tier.arithmetic.u * abs(max(row))
            assert allowance.local[i].tolist() == pytest.approx(own, rel=1e-9)
            # Beside E, which is at least 4u, so little of C is nothing.
            nothing = 1e-9 * tier.arithmetic.u
            assert allowance.common[i, 0] == pytest.approx(common, rel=1e-9, abs=nothing)


def test_known_bounds() -> None:
    x = np.array([[0, 0, 0, 0], [7, -np.inf, -np.inf, -np.inf]], np.float32)
    allowance = allowance_of(x)
    assert allowance.common is not None
    # Four equal elements: exp(0 - ln s) and a division; three additions and ln 4.
    assert (allowance.local[0] / SINGLE).tolist() == [12] * 4
    assert allowance.common[0, 0] / SINGLE == pytest.approx(3 + 3 * math.log(4))
    # One element that is the sum itself.
    assert allowance.local[1, 0] / SINGLE == 4
    assert allowance.common[1, 0] == 0

    # e^-50 vanishes in the sum: its size is what its addition costs.
    tiny = math.exp(-50)
    allowance = allowance_of(np.array([[50, 0]], np.float32))
    assert allowance.common is not None
    assert (allowance.local / SINGLE).tolist() == [[4, 3 * 50 + 16 + 4]]
    assert allowance.common[0, 0] == pytest.approx(
        # The terms' errors, the addition at depth 1 + 8, the new maximum read backwards, ln s.
        SINGLE * tiny * (3 * 50 + 8 + 10 / SINGLE + (8 + 2 + 3 * 50) + 3)
    )


# ── quick acceptance ──────────────────────────────────────────────────────────────────────────

WHOLE: Part = (slice(None), slice(None), slice(None))
#: What y may be given in; a narrower output's is given in float64 only.
GIVEN = [(name, "float64") for name in FLOATS] + [("float32", "float32")]


def quickly(out: Exact, given: str = "float64", part: Part = WHOLE) -> tuple[Any, Any]:
    """A part of y, as it is given, and what is quickly accepted there."""
    y = out.values.reshape(out.bound.layout)[part].astype(given)
    accepted = np.full(y.shape, -1, given)
    before = y.tobytes()
    out.bound.quick(part, y, accepted)
    assert y.tobytes() == before
    return y, accepted


def half_step(y: float, dtype: DType) -> Fraction:
    exponent = max(math.frexp(y)[1] - dtype.precision, dtype.min_exponent)
    return Fraction(2) ** exponent / 2


def room(y: float, own: float, dtype: DType) -> Fraction:
    """What an element may be off alone: its own error.

    A normal number is rounded within it; half a step more is for what is rounded more coarsely.
    """
    rounded = dtype.numpy.itemsize == 2 or y < smallest_normal(dtype)
    return Fraction(own) * Fraction(y) + (half_step(y, dtype) if rounded else 0)


def assert_every_tier_allows_it(out: Exact, given: str = "float64", part: Part = WHOLE) -> None:
    """With nothing in common, and all that rounding y to how it is given may have cost."""
    outer, length, inner = out.bound.layout
    values = out.values.reshape(outer, length, inner)
    least = Fraction(float(np.finfo(given).smallest_subnormal))
    seen = [array.reshape(-1).tolist() for array in (values[part], *quickly(out, given, part))]
    for tier in out.bound.tiers(()):
        rows = np.moveaxis(values, 1, 2).reshape(-1, length)
        allowance = out.bound.allowance(tier, np.arange(len(rows)), rows)
        own, exact = (
            np.moveaxis(each.reshape(outer, inner, length), 2, 1)[part].reshape(-1).tolist()
            for each in (allowance.local, allowance.exact)
        )
        for y, got, accepted, e, no_error in zip(*seen, own, exact, strict=True):
            if math.isnan(y):
                assert math.isnan(accepted)
            elif no_error:
                # No number of the dtype is so near to 0.
                assert 0 <= accepted < 2.0**out.dtype.min_exponent
            else:
                rounding = abs(Fraction(got) - Fraction(y))
                # What is accepted is a number as well, rounded as coarsely where it is subnormal.
                spare = least / 2 if accepted < np.finfo(given).smallest_normal else 0
                assert Fraction(accepted) + rounding <= room(y, e, out.dtype) + spare


def below_the_maximum(name: str) -> st.SearchStrategy[float]:
    """Gaps: ties, ordinary, with ln s near u, with y subnormal, so wide that nothing is left."""
    ends = {"float64": (34, 40, 700, 750)}.get(name, (14, 20, 80, 110))
    ordinary = st.sampled_from([0.0, 0.0, 1.0, math.inf]) | st.floats(0, 5)
    return ordinary | st.floats(*ends[:2]) | st.floats(*ends[2:]) | st.floats(200, 6e4)


def maxima(name: str) -> st.SearchStrategy[float]:
    far = [6e4, -6e4] if name == "float16" else [1e5, -3e7, 2.0**26, 1e30, -1e30]
    return st.sampled_from([0.0, 0.0, -100.0, 2.0**14 - 1, 2.0**14, *far])


def blocks(shape: tuple[int, ...]) -> st.SearchStrategy[Part]:
    def within(size: int) -> st.SearchStrategy[slice]:
        ends = st.tuples(st.integers(0, size - 1), st.integers(1, size))
        return ends.map(lambda pair: slice(pair[0], max(pair[0] + 1, pair[1])))

    return st.tuples(*map(within, shape))


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_tier_allows_each_element_what_is_quickly_accepted(
    name: str, given_in: str, data: st.DataObject
) -> None:
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 2)))
    gaps = data.draw(arrays(np.float64, shape, elements=below_the_maximum(name)))
    top = data.draw(arrays(np.float64, (shape[0], 1, shape[2]), elements=maxima(name)))
    x = top - gaps
    if data.draw(st.booleans()):
        place = data.draw(st.tuples(*(st.integers(0, side - 1) for side in shape)))
        x[place] = data.draw(st.sampled_from([math.nan, math.inf]))
    out = exact_of(round_to(x, DTYPES[name]), axis=1)
    assert_every_tier_allows_it(out, given_in, data.draw(blocks(shape)))


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
@pytest.mark.parametrize("top", [0.0, -1e4, 2.0**15, 2.0**24, -(2.0**26), 1e30])
def test_wherever_a_row_lies_every_tier_allows_it(name: str, given_in: str, top: float) -> None:
    if name == "float16":
        top = math.copysign(min(abs(top), 6e4), top)
    below = np.array([0, 0.5, 1, 4, 7, 8, 16, 17, 32, 64, 88, 96, 103, 512, 736, 745, 999, 3e4])
    pairs = top - np.stack([0 * below, below], axis=1)
    assert_every_tier_allows_it(exact_of(round_to(pairs, DTYPES[name])), given_in)
    for ties in (3, 5, 7, 9, 11, 13, 15):
        x = np.tile(top - below, (ties, 1)).reshape(1, -1)
        assert_every_tier_allows_it(exact_of(round_to(x, DTYPES[name])), given_in)


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
def test_a_maximum_that_is_the_sum_may_not_use_an_exponential(name: str, given_in: str) -> None:
    u = DOUBLE if name == "float64" else SINGLE
    gap = -math.log(u)  # where ln s is u
    x = np.stack([np.zeros(81), np.linspace(-0.9 * gap, -1.1 * gap, 81)], axis=1)
    x = round_to(x, DTYPES[name])
    out = exact_of(x)
    assert_every_tier_allows_it(out, given_in)
    _, accepted = quickly(out, given_in)
    rounding = half_step(0.75, out.dtype) if name in ("float16", "bfloat16") else 0
    at_top = (accepted[:, 0, 0] - float(rounding)) / u
    alone = np.exp(x[:, 1].astype(np.float64)) < u
    assert alone.any()
    assert at_top[alone] == pytest.approx(0.99 * 3)
    assert at_top[:20] == pytest.approx(0.99 * 11)
    for row, of_row in enumerate(accepted):
        _, piece = quickly(out, given_in, (slice(row, row + 1), *WHOLE[1:]))
        assert piece[0].tolist() == of_row.tolist()


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_a_row_that_is_no_number_leaves_the_others_as_they_are(special: float) -> None:
    x = np.array([[0, -200], [0, 0], [special, special], [3, -1]], np.float32)
    out = exact_of(x)
    for name in ("float32", "float64"):
        _, accepted = quickly(out, name)
        assert np.isnan(accepted[2]).all()
        for row in (0, 1, 3):
            _, alone = quickly(exact_of(x[row : row + 1]), name)
            assert accepted[row : row + 1].tolist() == alone.tolist()
        # exp(0) is 1 where the maximum is all there is: nothing but what follows it.
        assert accepted[0, 0, 0] == pytest.approx(0.99 * 3 * SINGLE)


def test_quick_acceptance_worked_out_by_hand() -> None:
    out = exact_of(np.array([[0, -1, -100, -np.inf], [0, -20, -104, -3e38]], np.float32))
    top = 1 / (1 + math.exp(-1))
    # u·(3·gap + 8 + 3)·y, or + 3 beside a maximum that has it all; a hundredth is kept back.
    want = [
        [11 * top, (3 + 11) * top * math.exp(-1), (300 + 11) * top * math.exp(-100), 0],
        [3, (60 + 3) * math.exp(-20), (312 + 3) * math.exp(-104), 0],
    ]
    for name in ("float32", "float64"):
        _, accepted = quickly(out, name)
        single = name == "float32"
        for got, expected in zip(accepted.flat, np.ravel(want), strict=True):
            exact = 0.99 * SINGLE * expected
            assert got == pytest.approx(exact, rel=1e-6, abs=2.0**-150 if single else 0)


@pytest.mark.parametrize("shift", [2.0**14 - 1, 2.0**14, 1e5, -1e5, 2.0**20])
def test_quick_acceptance_does_not_depend_on_where_a_row_lies(shift: float) -> None:
    x = np.random.default_rng(5).integers(-30, 1, (3, 20)).astype(np.float32)
    for name in ("float32", "float64"):
        (_, here), (_, there) = (quickly(exact_of(x + np.float32(at)), name) for at in (0, shift))
        np.testing.assert_allclose(there, here, rtol=1e-3)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_quick_acceptance_of_a_16_bit_type_holds_half_a_step_of_it(name: str) -> None:
    dtype = DTYPES[name]
    x = np.linspace(0, -20, 200).reshape(1, -1).astype(dtype.numpy)
    out = exact_of(x)
    y, accepted = quickly(out)
    off = np.abs(out.rounded().astype(np.float64).reshape(y.shape) - y)
    assert (off <= accepted).all()
    assert (off > 0.9 * accepted).any()


def test_quick_acceptance_takes_any_block_and_pieces_of_rows() -> None:
    x = np.random.default_rng(6).normal(size=(3, 7, 4)).astype(np.float32)
    x[1, 2, 3] = 300.0
    out = exact_of(x, axis=1)
    for name in ("float32", "float64"):
        _, whole = quickly(out, name)
        for size in (1, 2, 3, 7):
            for a, n, b in itertools.product(range(3), range(0, 7, size), range(0, 4, 2)):
                part = slice(a, a + 1), slice(n, n + size), slice(b, b + 2)
                _, piece = quickly(out, name, part)
                assert_every_tier_allows_it(out, name, part)
                # Beside a maximum that has it all less is accepted than what there would be room
                # for; a piece without it knows no more than that there is room.
                assert (piece >= whole[part]).all()
                assert piece[..., :1].tolist() == whole[part][..., :1].tolist()
        assert quickly(out, name, (slice(1, 2), slice(0, 4), slice(3, 4)))[1].tolist() == (
            whole[1:2, :4, 3:].tolist()
        )


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
        assert allowance.common is not None
        assert allowance.exact.tolist() == [[False] * 3] * 3 + [[False, True, False]]
        assert (allowance.local[:3] == 0).all()
        assert (allowance.common[:3] == 0).all()
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
    assert got.common is not None
    assert want.common is not None
    assert got.local.tolist() == want.local.tolist()
    assert got.common.tolist() == want.common.tolist()

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
        assert here.common is not None
        assert there.common is not None
        assert there.local.tolist() == here.local.tolist()
        top = x.max(axis=1, keepdims=True).astype(np.float64)
        more = np.abs(top + shift) - np.abs(top) if name == "log-sum-exp" else 0.0 * top
        np.testing.assert_allclose(there.common, here.common + SINGLE * more, rtol=1e-12)


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
