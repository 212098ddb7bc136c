from __future__ import annotations

import math
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.compare import Want, compare
from opcheck.compare.bounded import FULL
from opcheck.dtypes import DTYPES, round_to
from opcheck.engine import bounds
from opcheck.engine.bounds import Allowance, Arithmetic, Floats, Part, Places, Reals, Tier
from opcheck.model import Comparison, Tolerance

FLOAT16, FLOAT32, FLOAT64 = (DTYPES[name] for name in ("float16", "float32", "float64"))
#: A bound so much wider than half an ULP of float32 that this does not matter.
WIDE = 1e-3


def arithmetic(u: float = WIDE, floor: float = 0.0) -> Arithmetic:
    return Arithmetic(u, 1.0, floor, 0.0, math.inf)


@dataclass
class Fake:
    """A bound by hand: the tier's u for each element alone, `common` times it for its group."""

    layout: tuple[int, int, int]
    kinds: tuple[Tier, ...] = (Tier("plain", arithmetic()),)
    common: float | None = None
    limit: float = 0.5
    zeros: Any = False
    free: Any = None
    looked_at: list[int] = field(default_factory=list)

    def tiers(self, declared: Collection[str]) -> tuple[Tier, ...]:
        first, *rest = self.kinds
        return (first, *(replace(t, remark="") if t.name in declared else t for t in rest))

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        out[...] = np.abs(y) * self.kinds[0].arithmetic.u / 4

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        self.looked_at += groups.tolist()
        u = tier.arithmetic.u
        own, shared = np.full(y.shape, u), np.full((len(y), 1), (self.common or 0.0) * u)
        zeros = np.broadcast_to(np.asarray(self.zeros), y.shape)
        unjudged = (own + shared >= self.limit) & (y > tier.arithmetic.floor) & ~zeros
        excused = None
        if self.free is not None and tier.excuse == "free":
            free = np.broadcast_to(np.asarray(self.free), y.shape)
            excused = np.where(free, 0.0, np.nan), np.where(free, np.inf, np.nan)
        common = None if self.common is None else (shared, -np.log1p(-np.minimum(shared, 0.999)))
        return Allowance(own, common, zeros, unjudged, excused)


def judged(
    y: Any,
    got: Any,
    bound: Fake | None = None,
    dtype: Any = FLOAT32,
    declared: Collection[str] = (),
    **rest: Any,
) -> Comparison:
    y = np.asarray(y, np.float64)
    bound = bound or Fake((1, y.size, 1))
    want = Want("y", dtype, y, bound=bound, **rest)
    with np.errstate(over="ignore"):
        return compare(want, np.asarray(got).astype(dtype.numpy), declared=declared)


def share(y: float, got: float, bound: Fake | None = None, dtype: Any = FLOAT32) -> float:
    return judged([y], [got], bound, dtype).used


# ── an element ──────────────────────────────────────────────────────────────────────────────────


def test_the_allowed_error_grows_with_the_value():
    assert math.isclose(share(100.0, 100.05), 0.5, rel_tol=1e-2)
    assert math.isclose(share(100.0, 99.8), 2.0, rel_tol=1e-2)
    assert share(0.5, 0.5) == 0


def test_half_an_ulp_is_allowed_beside_it():
    exact = Fake((1, 1, 1), (Tier("plain", arithmetic(1e-9)),))
    between = 1 + 2.0**-11
    assert 0.99 < share(between, 1.0, exact, FLOAT16) <= 1
    assert share(between + 1e-6, 1.0, exact, FLOAT16) > 1


def test_an_answer_of_zero_has_the_floor_alone():
    tier = Tier("plain", arithmetic(floor=1e-30))
    for wrong in (1e-29, 1e-8, 0.5):
        assert share(0.0, wrong, Fake((1, 1, 1), (tier,))) > 1
    assert share(0.0, 5e-31, Fake((1, 1, 1), (tier,))) < 1


def test_the_floor_is_added():
    tier = Tier("plain", arithmetic(0.0, floor=1e-30))
    assert math.isclose(share(2e-30, 1.5e-30, Fake((1, 1, 1), (tier,))), 0.5, rel_tol=1e-3)


def test_the_remainder_beyond_float64_counts():
    bound = Fake((1, 1, 1), (Tier("plain", arithmetic(1e-20)),))
    half = 2.0**-53
    assert judged([1.0], [1.0], bound, FLOAT64, rest=np.array([half])).problem is None
    assert judged([1.0], [1.0], bound, FLOAT64, rest=np.array([2 * half])).problem == "values"
    assert judged([1.0], [1 + 2 * half], bound, FLOAT64, rest=np.array([half])).problem is None


def test_what_was_rounded_before_may_be_off_by_that():
    bound = Fake((1, 1, 1), (Tier("plain", arithmetic(1e-20)),))
    assert judged([1.0], [1 + 2.0**-52], bound, FLOAT64).problem == "values"
    assert judged([1.0], [1 + 2.0**-52], bound, FLOAT64, rounded=FLOAT64).problem is None
    assert judged([1.0], [1 + 2.0**-51], bound, FLOAT64, rounded=FLOAT64).problem == "values"


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1e-30, 2.0])
def test_no_bound_admits_these_for_a_finite_value(wrong):
    lax = Fake((1, 2, 1), (Tier("plain", arithmetic(0.4)),), limit=0.1)
    found = judged([0.5, 0.5], [0.5, wrong], lax, low=0.0, high=1.0)
    assert (found.problem, found.wrong) == ("values", 1)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_are_matched_by_their_like_only(special):
    assert judged([special, 1.0], [special, 1.0]).problem is None
    for other in (math.nan, math.inf, -math.inf, 0.0):
        if str(other) != str(special):
            assert judged([special, 1.0], [other, 1.0]).wrong == 1


def test_infinity_is_right_where_the_allowed_error_reaches_what_rounds_to_it():
    assert judged([65500.0], [math.inf], dtype=FLOAT16).problem is None
    assert judged([65400.0], [math.inf], dtype=FLOAT16).problem == "values"
    assert judged([65560.0], [65504.0], dtype=FLOAT16).problem is None
    assert judged([65560.0], [math.inf], dtype=FLOAT16).problem is None


def test_an_exact_element_admits_nothing():
    bound = Fake((1, 2, 1), (Tier("plain", arithmetic(WIDE, floor=1e-20)),), zeros=[True, False])
    assert judged([0.0, 0.0], [0.0, 1e-21], bound).problem is None
    found = judged([0.0, 0.0], [1e-30, 1e-21], bound)
    assert [(e.index, e.allowed) for e in found.worst] == [((0,), "exact")]


# ── a group ─────────────────────────────────────────────────────────────────────────────────────


def test_an_error_in_common_may_be_larger_than_an_element_s_own():
    y = np.linspace(0.1, 0.2, 8)
    alone = Fake((1, 8, 1), common=0.0)
    together = Fake((1, 8, 1), common=10.0)
    assert judged(y, y * 1.005, alone).problem == "values"
    assert judged(y, y * 1.005, together).problem is None
    assert judged(y, y * 1.02, together).problem == "values"


def test_one_wrong_element_blames_no_other():
    y = np.linspace(0.1, 0.2, 8)
    got = y.copy()
    got[3] *= 1.2
    found = judged(y, got, Fake((1, 8, 1), common=10.0))
    assert [element.index for element in found.worst] == [(3,)]
    assert found.remark == ""


def test_elements_that_disagree_about_it_are_wrong():
    y = np.linspace(0.1, 0.2, 8)
    ripple = y * (1 + 0.005 * (-1.0) ** np.arange(8))
    found = judged(y, ripple, Fake((1, 8, 1), common=10.0))
    assert (found.problem, found.wrong) == ("values", 8)
    assert found.remark == "the elements of a row disagree about its sum"
    assert found.worst[0].allowed.endswith(" of its row")
    assert math.isclose(found.used, 5, rel_tol=0.02)


def test_groups_lie_along_the_middle_of_the_layout():
    y = np.ones((2, 3, 4))
    got = y.copy()
    got[1, 2, 3], got[0, 0, 1] = 1.005, 0.99
    found = judged(y, got, Fake((2, 3, 4)))
    assert [element.index for element in found.worst] == [(0, 0, 1), (1, 2, 3)]
    assert judged(y, got, Fake((2, 12, 1))).wrong == 2
    turned = np.asfortranarray(got.astype(np.float32))
    assert compare(Want("y", FLOAT32, y, bound=Fake((2, 3, 4))), turned).wrong == 2


# ── tiers ───────────────────────────────────────────────────────────────────────────────────────

TIERS = (
    Tier("plain", arithmetic(1e-4)),
    Tier("stored", arithmetic(1e-3), "kept in float16"),
    Tier("poor", arithmetic(1e-2), "computed in float16"),
)


@pytest.mark.parametrize(
    ("error", "problem", "tier", "remark"),
    [
        (5e-5, None, "plain", ""),
        (5e-4, "precision", "stored", "kept in float16"),
        (5e-3, "precision", "poor", "computed in float16"),
        (5e-2, "values", "plain", ""),
    ],
)
def test_the_first_tier_that_fits_decides(error, problem, tier, remark):
    found = judged([1.0, 1.0], [1.0, 1 + error], Fake((1, 2, 1), TIERS))
    assert (found.problem, found.tier, found.remark) == (problem, tier, remark)
    assert found.wrong == (problem is not None)


def test_what_is_declared_needs_no_remark():
    found = judged([1.0], [1.005], Fake((1, 1, 1), TIERS), declared=("stored", "poor"))
    assert (found.problem, found.tier, found.wrong) == (None, "poor", 0)
    assert math.isclose(found.used, 0.5, rel_tol=0.02)
    other = judged([1.0], [1.005], Fake((1, 1, 1), TIERS), declared=("stored",))
    assert other.problem == "precision"


def test_one_tier_has_to_fit_every_group():
    """And if none does, the elements are shown that no tier excuses."""
    y, got = np.ones((3, 2)), np.ones((3, 2))
    got[0, 0], got[1, 1], got[2, 0] = 1.0005, 1.005, 1.5
    found = judged(y, got, Fake((3, 2, 1), TIERS))
    assert (found.problem, found.tier) == ("values", "poor")
    assert found.remark == "too far off even for poor"
    assert [element.index for element in found.worst] == [(2, 0)]


def test_a_tier_may_excuse_elements_between_two_ends():
    tiers = (Tier("plain", arithmetic()), Tier("range", arithmetic(), "out of range", "free"))
    bound = Fake((1, 2, 1), tiers, free=[True, False])
    for lost in (0.0, 7.0, math.inf):
        assert judged([1.0, 1.0], [lost, 1.0], bound).problem == "precision"
        assert judged([1.0, 1.0], [1.0, lost], bound).problem == "values"
    for wrong in (math.nan, -1.0):
        assert judged([1.0, 1.0], [wrong, 1.0], bound).problem == "values"


# ── what nothing can be said about ──────────────────────────────────────────────────────────────


def test_unjudged_elements_are_counted_and_excuse_nothing():
    y = [0.5, 0.0, 0.0]
    bound = Fake((1, 3, 1), limit=WIDE)
    found = judged(y, [0.5, 0.0, 0.0], bound)
    assert (found.problem, found.unjudged, found.total) == (None, 1, 3)
    assert judged(y, [0.5, 0.25, 0.0], bound).problem == "values"
    assert judged(y, [0.4, 0.0, 0.0], bound).problem == "values"
    assert judged(y, [-0.1, 0.0, 0.0], bound, low=0.0).problem == "values"


def test_a_case_that_decides_less_than_half_of_its_elements_is_no_case():
    found = judged([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], Fake((1, 3, 1), limit=WIDE))
    assert (found.problem, found.unjudged) == ("undecided", 2)


def test_but_what_is_wrong_even_then_is_wrong():
    found = judged([0.5, 0.5, 0.0], [0.5, math.nan, 0.0], Fake((1, 3, 1), limit=WIDE))
    assert (found.problem, found.wrong) == ("values", 1)


# ── large outputs ───────────────────────────────────────────────────────────────────────────────

ROW = 64
LARGE = 3 * FULL // ROW


# ── a stated tolerance, beside which the floor and the range rules hold ─────────────────────────

EXACTLY = Tolerance(ulp=0)
FLOORED = (Tier("plain", arithmetic(floor=0.25)),)


def by_tolerance(y: Any, got: Any, bound: Any, tolerance: Tolerance = EXACTLY, **rest: Any) -> Any:
    want = Want("y", FLOAT32, np.asarray(y, np.float64), bound=bound, **rest)
    return compare(want, np.asarray(got, np.float32), tolerance)


@pytest.mark.parametrize("tolerance", [EXACTLY, Tolerance(ulp=3), Tolerance(rtol=1e-6)])
def test_what_the_floor_admits_is_right_whatever_the_tolerance(tolerance: Tolerance) -> None:
    bound = Fake((1, 3, 1), FLOORED)
    y, got = [0, 1, 1], [0.25, 0.75, 1.125]
    found = by_tolerance(y, got, bound, tolerance)
    assert (found.problem, found.wrong, found.used) == (None, 0, 1.0)
    far = by_tolerance(y, [0.2501, 0.75, 1.125], bound, tolerance)
    assert (far.problem, far.wrong, far.worst[0].index) == ("values", 1, (0,))
    strict = by_tolerance(y, got, bound, replace(tolerance, strict=True))
    assert (strict.problem, strict.wrong) == ("values", 3)


def test_the_tolerance_is_not_widened_by_the_bound_s_own_error() -> None:
    bound = Fake((1, 1, 1), (Tier("plain", arithmetic(u=0.5, floor=1e-3)),))
    assert by_tolerance([1], [1.002], bound).problem == "values"
    assert by_tolerance([1], [1.0009], bound).problem is None


@pytest.mark.parametrize(
    ("y", "got", "more"),
    [
        (0, 0.1, {"bound": Fake((1, 1, 1), FLOORED, zeros=True)}),
        (0, -0.1, {"low": 0.0}),
        (1, 1.1, {"high": 1.0}),
        (0, np.nan, {}),
        (np.inf, 0.1, {}),
    ],
    ids=["exact", "below the range", "above the range", "NaN", "infinite"],
)
def test_the_floor_excuses_nothing_else(y: float, got: float, more: Any) -> None:
    fields = {"bound": Fake((1, 1, 1), FLOORED), **more}
    assert by_tolerance([y], [got], **fields).problem == "values"


def test_a_floor_is_no_excuse_for_the_sign_of_a_zero() -> None:
    zeros = Tolerance(ulp=0, signed_zeros=True)
    bound = Fake((1, 2, 1), FLOORED)
    assert by_tolerance([0.0, 1], [-0.0, 1], bound, zeros).wrong == 1
    assert by_tolerance([0.0, 1], [-0.0, 1], bound).wrong == 0


def test_a_tier_excuses_what_is_out_of_range_whatever_the_tolerance() -> None:
    free = np.array([[False, True]])
    kinds = (Tier("plain", arithmetic()), Tier("range", arithmetic(), "out of range", "free"))
    bound = Fake((1, 2, 1), kinds, free=free)
    found = by_tolerance([1, 1], [1, 7], bound)
    assert (found.problem, found.remark, found.wrong) == ("precision", "out of range", 1)
    assert by_tolerance([1, 1], [7, 7], bound).problem == "values"
    want = Want("y", FLOAT32, np.ones(2), bound=bound)
    got = np.array([1, 7], np.float32)
    assert compare(want, got, EXACTLY, declared=["range"]).problem is None


def test_the_picture_shows_as_wrong_what_neither_admits() -> None:
    bound = Fake((1, 3, 1), FLOORED)
    found = by_tolerance([0, 1, 1], [0.125, 2, 1], bound)
    assert found.picture().cells[0][0] in "yz"
    assert found.picture().cells[0][1:] == "Z."


def test_an_output_without_analysis_has_the_floor_of_its_dtype_alone() -> None:
    smallest = 2.0**-126
    for dtype, got, problem in (
        (FLOAT32, 2 * smallest, None),
        (FLOAT32, 2.01 * smallest, "values"),
        (FLOAT16, 2.0**-24, "values"),
    ):
        bound = bounds.FloorOnly(dtype, 1)
        want = Want("y", dtype, np.zeros(1), bound=bound)
        assert compare(want, np.array([got], dtype.numpy), EXACTLY).problem == problem


def test_the_quick_acceptance_settles_large_outputs():
    bound = Fake((LARGE, ROW, 1))
    y = np.full((LARGE, ROW), 0.5)
    got = y.astype(np.float32)
    got[LARGE // 2, 3] *= 1.0002
    assert compare(Want("y", FLOAT32, y, bound=bound), got).problem is None
    assert bound.looked_at == [LARGE // 2]
    got[7, 5], got[LARGE - 1, 0] = 0.6, math.nan
    found = compare(Want("y", FLOAT32, y, bound=bound), got)
    assert [element.index for element in found.worst] == [(7, 5), (LARGE - 1, 0)]
    assert found.max_ulp is None


def test_a_single_large_group_tells_its_part_of_the_quick_acceptance():
    y = np.full(2 * FULL, 0.5)
    bound = Fake((1, y.size, 1))
    found = compare(Want("y", FLOAT32, y, bound=bound), (y * 1.0001).astype(np.float32))
    assert (found.problem, bound.looked_at) == (None, [])
    assert math.isclose(found.used, 0.4, rel_tol=0.01)


def test_nan_does_not_hide_what_is_out_of_range_beside_it():
    tier = Tier("plain", arithmetic(floor=1e-20))
    y = np.full((LARGE, ROW), 1e-30)
    got = y.astype(np.float32)
    got[3, 3], got[3, 5], got[4, 0] = math.nan, -1e-30, -1e-30
    found = compare(Want("y", FLOAT32, y, low=0.0, bound=Fake((LARGE, ROW, 1), (tier,))), got)
    assert [element.index for element in found.worst] == [(3, 3), (3, 5), (4, 0)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_nan_is_a_wrong_value_and_no_warning_of_numpys(dtype: str) -> None:
    for y in (np.full((2, ROW), 0.5), np.full((LARGE, ROW), 0.5)):
        got = y.astype(DTYPES[dtype].numpy)
        got[1, 5], got[1, 7] = math.nan, -math.nan
        want = Want("y", DTYPES[dtype], y, 0.0, 1.0, Fake((len(y), ROW, 1)))
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = compare(want, got)
        assert [element.index for element in found.worst] == [(1, 5), (1, 7)]


def test_infinity_for_infinity_is_settled_by_no_shortcut():
    y = np.full((LARGE, ROW), 1e39)
    got = np.full(y.shape, np.inf, np.float32)
    got[5, 5] = 1.0
    found = compare(Want("y", FLOAT32, y, bound=Fake((LARGE, ROW, 1))), got)
    assert [element.index for element in found.worst] == [(5, 5)]


@given(
    places=st.lists(st.integers(0, LARGE * ROW - 1), max_size=5),
    errors=st.lists(st.sampled_from([1e-4, 5e-4, 2e-3, math.inf, math.nan]), min_size=5),
    layout=st.sampled_from([(LARGE, ROW, 1), (1, ROW, LARGE), (12, ROW, LARGE // 12)]),
)
def test_large_outputs_are_judged_like_small_ones(places, errors, layout):
    shape = layout if layout[2] > 1 else layout[:2]
    y = np.full(shape, 0.5)
    got = round_to(y, FLOAT32)
    for place, error in zip(places, errors, strict=False):
        got.flat[place] = 0.5 * (1 + error)
    found = compare(Want("y", FLOAT32, y, bound=Fake(layout), low=0.0), got)
    wrong = {p for p in places if not abs(got.flat[p] - 0.5) <= 0.5 * WIDE * 1.01}
    assert found.wrong == len(wrong)
    assert (found.problem is None) == (not wrong)


# ── the vocabulary ──────────────────────────────────────────────────────────────────────────────


def test_floors_and_roundoffs_are_those_of_the_arithmetic_inside():
    assert bounds.roundoff(FLOAT32) == 2.0**-24
    assert bounds.smallest_normal(FLOAT32) == 2.0**-126
    assert bounds.smallest_normal(FLOAT16) == 2.0**-14
    for name, floor in [("float16", 0), ("bfloat16", 2.0**-125), ("float32", 2.0**-125)]:
        plain = bounds.expected(DTYPES[name])
        assert (plain.u, plain.library, plain.floor) == (2.0**-24, 8, floor)
    assert bounds.expected(FLOAT64).floor == 2.0**-1021
    assert bounds.expected(FLOAT64).u == 2.0**-53
    assert bounds.stored(FLOAT16).stored == bounds.narrow(FLOAT16).u == 2.0**-11
    assert bounds.stored(FLOAT16).floor == bounds.narrow(FLOAT16).floor == 2.0**-25
    assert bounds.stored(DTYPES["bfloat16"]).floor == 2.0**-125 + 2.0**-134
    assert bounds.narrow(FLOAT16).largest == 65504
