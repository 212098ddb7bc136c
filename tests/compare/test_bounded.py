import math
import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from opcheck.compare import Want, are_plainly_right, compare, elements as steps
from opcheck.compare.bounded import _fits_integers, ends, fits_at_least, scatter
from opcheck.compare.elements import native
from opcheck.compare.outputs import CUT, compare_outputs, computed_want, in_its_dtype, stated_want
from opcheck.dtypes import DTYPES, identical, round_to
from opcheck.engine import Expected, Room, Tier
from opcheck.model import Foreign, OpVersion, Tolerance
from opcheck.numbers.arithmetic import Arithmetic, Grid
from opcheck.numbers.bounded import Common
from opcheck.numbers.bounded.array import ANYTHING, OVERFLOWED, UNORDERED
from tests.computed import exactly
from tests.expecting import of_type
from tests.wording import Wording

FLOAT16, FLOAT32, FLOAT64 = (DTYPES[name] for name in ("float16", "float32", "float64"))
#: A bound so much wider than half an ULP of float32 that this does not matter.
WIDE = 1e-3
ROW = np.linspace(0.1, 0.2, 8)
POOL, SOFTMAX = OpVersion("", "LpPool", 22), OpVersion("", "Softmax", 13)
HARDMAX, NONE = OpVersion("", "Hardmax", 13), OpVersion("", "Nobody", 1)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def arithmetic(u: float = WIDE, floor: float = 0.0) -> Arithmetic:
    return Arithmetic(Grid(FLOAT32, u), math.inf, floor / 2, flushes=floor > 0)


@dataclass
class Fake:
    """A bound by hand: the tier's u for each element, `common` times it for all along an axis.

    An element with `zeros` is exact, one that is `free` was lost.
    """

    kinds: tuple[Tier, ...] = (Tier("plain", arithmetic()),)
    common: float | None = None
    axis: int = -1
    zeros: Any = False
    free: Any = False
    unknown: Any = False
    values: Any = None

    def tiers(self, declared: Collection[str] = ()) -> tuple[Tier, ...]:
        first, *rest = self.kinds
        return (first, *(replace(t, remark="") if t.name in declared else t for t in rest))

    def floor(self, tier: Tier) -> float:
        return tier.arithmetic.floor

    def certain(self, tier: Tier) -> float:
        return tier.arithmetic.u / 4

    def room(self, tier: Tier) -> Room:
        y, u = self.values, tier.arithmetic.u
        own = np.where(self.zeros, 0.0, np.abs(y) * u + tier.arithmetic.floor)
        lost = np.broadcast_to(np.asarray(self.free), y.shape)
        if self.common is None:
            return Room(own, None, lost, unknown=np.broadcast_to(self.unknown, y.shape))
        group = np.arange(y.size // y.shape[self.axis])
        group = np.expand_dims(group.reshape(np.delete(y.shape, self.axis)), self.axis % y.ndim)
        size = np.full(group.shape, self.common * u)
        return Room(own, Common(size, size / (1 - size), group), lost)

    def range_loss(self, tier: Tier) -> Any:
        return np.broadcast_to(np.asarray(self.free) > 0, self.values.shape)


def judged(y, got, bound=None, dtype=FLOAT32, declared=(), **rest):
    y = np.asarray(y, np.float64)
    made: Any = replace(bound or Fake(), values=y)
    with np.errstate(over="ignore"):
        got = np.asarray(got).astype(dtype.numpy)
    return compare(Want("y", dtype, y, bound=made, **rest), got, declared=declared)


def share(y: float, got: float, bound: Fake | None = None, dtype: Any = FLOAT32) -> float:
    return judged([y], [got], bound, dtype).used


def plain(u: float = WIDE, floor: float = 0.0) -> Fake:
    return Fake((Tier("plain", arithmetic(u, floor)),))


def test_the_allowed_error_grows_with_the_value_and_holds_half_an_ulp() -> None:
    assert math.isclose(share(100.0, 100.05), 0.5, rel_tol=1e-2)
    assert math.isclose(share(100.0, 99.8), 2.0, rel_tol=1e-2)
    assert share(0.5, 0.5) == 0
    assert judged([0.5], [0.5]).max_ulp == 0
    assert judged([0.0], [0.0], Fake(zeros=True), FLOAT64).used == 0
    # What is exact has half a step for rounding.
    assert judged([1 + 2.0**-25], [1.0], Fake(zeros=True)).used == 0.5
    between = 1 + 2.0**-11
    assert 0.99 < share(between, 1.0, plain(1e-9), FLOAT16) <= 1
    assert share(between + 1e-6, 1.0, plain(1e-9), FLOAT16) > 1


def test_the_floor_is_added_and_is_all_that_an_answer_of_zero_has() -> None:
    for wrong in (1e-29, 1e-8, 0.5):
        assert share(0.0, wrong, plain(floor=1e-30)) > 1
    assert share(0.0, 5e-31, plain(floor=1e-30)) < 1
    assert math.isclose(share(2e-30, 1.5e-30, plain(0.0, 1e-30)), 0.5, rel_tol=1e-3)


def test_the_remainder_beyond_float64_counts() -> None:
    half = 2.0**-53
    for got, rest, problem in (
        (1.0, half, None),
        (1.0, 2 * half, "values"),
        (1 + 2 * half, half, None),
    ):
        assert judged([1.0], [got], plain(1e-20), FLOAT64, rest=np.array([rest])).problem == problem
    for sign, is_right in ((1, True), (-1, False)):
        bound: Any = replace(plain(1e-20), values=np.ones(1))
        want = Want("y", FLOAT32, np.ones(1), bound=bound, rest=np.array([0.25]))
        got = np.float32([1 + sign / 4])
        assert fits_at_least(want, got, FLOAT32) is is_right
        for other in ({"rounded": FLOAT64}, {"high": 1.0}, {"low": 1.5}):
            assert not fits_at_least(replace(want, **other), got, FLOAT32)  # type: ignore[arg-type]
        assert not fits_at_least(want, got, DTYPES["int32"])


def test_what_was_rounded_before_may_be_off_by_that() -> None:
    assert judged([1.0], [1 + 2.0**-52], plain(1e-20), FLOAT64).problem == "values"
    for got, problem in ((1 + 2.0**-52, None), (1 + 2.0**-51, "values")):
        assert judged([1.0], [got], plain(1e-20), FLOAT64, rounded=FLOAT64).problem == problem


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1e-30, 2.0])
def test_no_bound_admits_these_for_a_finite_value(wrong: float) -> None:
    found = judged([0.5, 0.5], [0.5, wrong], plain(0.4), low=0.0, high=1.0)
    assert (found.problem, found.wrong) == ("values", 1)


def test_a_bound_ends_where_the_operator_s_range_does() -> None:
    assert judged([0.9, 0.5], [1.1, 0.5], plain(0.4)).problem is None
    for other in (0.5, 7.0):
        found = judged([0.9, 0.5], [1.1, other], plain(0.4), high=1.0)
        assert found.problem == "values"
        assert (0,) in [element.index for element in found.worst]


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_are_matched_by_their_like_only(special: float) -> None:
    found = judged([special, 1.0], [special, 1.0])
    assert (found.problem, found.used) == (None, 0)
    for got in (special, 7.0):
        assert judged([special], [got], Fake(unknown=True)).problem == "undecided"
    for other in (math.nan, math.inf, -math.inf, 0.0):
        if str(other) != str(special):
            assert judged([special, 1.0], [other, 1.0]).wrong == 1


def test_infinity_is_right_where_the_allowed_error_reaches_what_rounds_to_it() -> None:
    for y, got, problem in (
        (65500.0, math.inf, None),
        (65400.0, math.inf, "values"),
        (65560.0, 65504.0, None),
        (65560.0, math.inf, None),
    ):
        assert judged([y], [got], dtype=FLOAT16).problem == problem
    assert judged([40000.0], [math.inf], plain(1.5), FLOAT16).problem == "undecided"
    # A poorer arithmetic is no excuse for it, unless it is declared.
    poor = Fake((Tier("plain", arithmetic(1e-9)), Tier("poor", arithmetic(), None, "poor")))
    for names, problem in (((), "values"), (("poor",), None)):
        assert judged([65500.0], [math.inf], poor, FLOAT16, names).problem == problem


def test_an_exact_element_admits_nothing() -> None:
    bound = replace(plain(floor=1e-20), zeros=[True, False])
    assert judged([0.0, 0.0], [0.0, 1e-21], bound).problem is None
    found = judged([0.0, 0.0], [1e-30, 1e-21], bound)
    assert [(e.index, e.allowed) for e in found.worst] == [((0,), "exact")]


def test_an_error_in_common_may_be_larger_than_an_element_s_own() -> None:
    for common, factor, problem in (
        (0.0, 1.005, "values"),
        (10.0, 1.005, None),
        (10.0, 1.02, "values"),
    ):
        assert judged(ROW, ROW * factor, Fake(common=common)).problem == problem


def test_too_small_by_a_factor_is_nearer_than_too_large_by_it() -> None:
    # A sum that is off by 100 % leaves half or, as nothing but an end of it, anything.
    half = Fake((Tier("plain", arithmetic(1e-9)),), common=0.999e9)
    # Nothing is known of such a row, but what is wrong even then is wrong.
    for y in ([ROW], [-ROW]):
        found = [judged(y, np.multiply(y, by), half).problem for by in (0.55, 100, 0.45, 0)]
        assert found == ["undecided", "undecided", "values", "values"]
    # By a half it is 1 − 1/1.5 of the value too small, or the value too large, and a little more.
    for got, allowed in ((0.5, "±0.335"), (3, "±1.01")):
        found = judged([1, 1], [got, got], Fake(common=500))
        assert {one.allowed for one in found.worst} == {allowed}


def test_one_wrong_element_blames_no_other() -> None:
    got = ROW.copy()
    got[3] *= 1.2
    found = judged(ROW, got, Fake(common=10.0))
    assert [element.index for element in found.worst] == [(3,)]
    assert found.remark == ""


@pytest.mark.parametrize(("axis", "used"), [(0, 5), (1, 5), (2, 5), (2, 1.5)])
def test_elements_that_disagree_about_it_are_wrong(
    axis: int, used: float, wording: Wording
) -> None:
    y = np.moveaxis(np.tile(ROW, (2, 3, 1)), -1, axis)
    ripple = np.moveaxis(np.tile(1 + used / 1000 * (-1.0) ** np.arange(8), (2, 3, 1)), -1, axis)
    found = judged(y, y * ripple, Fake(common=10.0, axis=axis))
    assert (found.problem, found.wrong) == ("values", 48)
    assert found.remark == wording
    assert found.worst[0].allowed.endswith(" of its row")
    assert math.isclose(found.used, used, rel_tol=0.02)
    turned = Want("y", FLOAT32, y, bound=replace(Fake(common=10.0, axis=axis), values=y))  # type: ignore[arg-type]
    assert compare(turned, np.asfortranarray((y * ripple).astype(np.float32))).wrong == 48


def test_beside_a_large_error_in_common_an_element_may_be_off_by_more() -> None:
    """Of values a fifth larger its own error is, to be safe, larger by two fifths."""
    ripple = 1.2 + 0.0028 * (-1.0) ** np.arange(8)
    assert judged(ROW, ROW * ripple, Fake(common=500)).used == pytest.approx(2.8 / 1.4056, 1e-3)


def test_nearly_subnormal_elements_take_no_part_in_a_row() -> None:
    for size, problem in ((15, None), (16, None), (17, "values")):
        y = np.append(ROW, 2 * [size * 2.0**-125])
        got = y * np.append(np.ones(8), [1.005, 0.995])
        assert judged(y, got, Fake(common=10.0)).problem == problem


TIERS = (
    Tier("plain", arithmetic(1e-4)),
    Tier("stored", arithmetic(1e-3), None, "kept in float16"),
    Tier("poor", arithmetic(1e-2, 1e-30), None, "computed in float16"),
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
    found = judged([1.0, 1.0], [1.0, 1 + error], Fake(TIERS))
    assert (found.problem, found.tier, found.remark) == (problem, tier, remark)
    assert found.wrong == (problem is not None)


@pytest.mark.parametrize(
    ("count", "change", "remark"),
    [
        (16, lambda y: -np.floor(y), CUT),
        (15, lambda y: -np.floor(y), "computed in float16"),
        (16, lambda y: -np.ceil(y), "computed in float16"),
        (16, lambda y: 1 - np.floor(y), "computed in float16"),
        (17, lambda y: np.append(-np.floor(y[:-1]), -np.ceil(y[-1])), "computed in float16"),
    ],
)
def test_what_is_cut_off_is_nearer_to_0_by_less_than_one_place(count, change, remark):
    tiers = (
        Tier("plain", arithmetic(2**-24)),
        Tier("poor", arithmetic(2**-9), None, TIERS[2].remark),
    )
    y = 1025.3 + np.arange(count) + np.arange(count) % 2 * 0.4
    found = judged(-y, change(y), Fake(tiers), FLOAT16)
    assert (found.problem, found.remark) == ("precision", remark)


def test_what_is_declared_needs_no_remark() -> None:
    found = judged([1.0], [1.005], Fake(TIERS), declared=("stored", "poor"))
    assert (found.problem, found.tier, found.wrong, found.used) == (None, "poor", 0, 1)
    assert judged([1.0], [1.005], Fake(TIERS), declared=("stored",)).problem == "precision"


def test_one_tier_has_to_fit_all_elements_and_if_none_does_those_are_shown_that_none_excuses(
    wording,
):
    y, got = np.ones((3, 2)), np.ones((3, 2))
    got[0, 0], got[1, 1], got[2, 0] = 1.0005, 1.005, 1.5
    found = judged(y, got, Fake(TIERS))
    assert (found.problem, found.tier) == ("values", "poor")
    assert found.remark == wording
    assert [element.index for element in found.worst] == [(2, 0)]
    wide = Tier("plain", arithmetic(0.6)), Tier("stored", arithmetic(0.7), None, "kept in float16")
    assert judged([1.0, 1.0, 0.0], [1.65, 5.0, 0.0], Fake(wide)).unjudged == 2


@pytest.mark.parametrize("ranged", [True, False])
def test_what_was_lost_may_be_lost_where_range_is_the_tier_s_or_declared(ranged: bool) -> None:
    """Infinite or NaN, and 0 by a range alone; nothing outside the operator's own range."""
    last = Tier("range", arithmetic(floor=1e-30), None, "out of range", ranged=ranged)
    bound = Fake((Tier("plain", arithmetic()), last), free=[True, False])
    declared = () if ranged else ("range",)
    excused = "precision" if ranged else None
    for gone in (math.inf, math.nan, *[0.0] * ranged):
        how: Any = {"declared": declared, "low": 0.0}
        assert judged([1.0, 1.0], [gone, 1.0], bound, **how).problem == excused
        assert judged([1.0, 1.0], [1.0, gone], bound, **how).problem == "values"
    for wrong in (7.0, -1.0, -math.inf, 0.5, *([0.0] * (not ranged))):
        found = judged([1.0, 1.0], [wrong, 1.0], bound, declared=declared, low=0.0)
        assert found.problem == "values", wrong
    # Where the operator's range ends, no sum of its can have overflowed.
    ended = judged([1.0, 1.0], [math.inf, 1.0], bound, declared=declared, high=2.0)
    assert ended.problem == "values"
    if not ranged:
        assert judged([1.0, 1.0], [math.inf, 1.0], bound).problem == "values"
        alone = Fake((Tier("plain", arithmetic(floor=1e-30)),), free=[True, False])
        assert judged([1.0, 1.0], [math.inf, 1.0], alone).used == 0


@pytest.mark.parametrize(
    ("level", "admitted"),
    [
        (OVERFLOWED, {math.inf}),
        (UNORDERED, set()),
        (OVERFLOWED | UNORDERED, {math.inf}),
        (ANYTHING, {math.inf, -math.inf}),
    ],
)
@pytest.mark.parametrize("ranged", [True, False])
def test_infinities_are_admitted_by_what_was_lost(level, admitted, ranged) -> None:
    last = Tier("range", arithmetic(floor=1e-30), None, "out of range", ranged=ranged)
    bound = Fake((Tier("plain", arithmetic()), last), free=[level, 0])
    declared = () if ranged else ("range",)
    for gone in (math.inf, -math.inf):
        found = judged([1.0, 1.0], [gone, 1.0], bound, declared=declared)
        assert (found.problem == "values") == (gone not in admitted)
        # Of a negative value, the signs are the other way round.
        turned = judged([-1.0, 1.0], [-gone, 1.0], bound, declared=declared)
        assert turned.problem == found.problem
    assert judged([1.0, 1.0], [math.nan, 1.0], bound, declared=declared).problem != "values"


def test_unjudged_elements_are_counted_and_excuse_nothing() -> None:
    y, bound = [0.5, 0.0, 0.0], plain(0.6)
    found = judged(y, y, bound)
    assert (found.problem, found.unjudged, found.total) == (None, 1, 3)
    assert judged(y, y, plain(0.5)).unjudged == 1
    assert judged(y, [0.5, 0.25, 0.0], bound).problem == "values"
    assert judged(y, [-0.1, 0.0, 0.0], bound, low=0.0).problem == "values"
    assert judged(y, [0.1, 0.0, 0.0], bound).problem == "values"
    most = judged([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], bound)
    assert (most.problem, most.unjudged) == ("undecided", 2)
    found = judged([0.5, 0.5, 0.0], [0.5, math.nan, 0.0], bound)
    assert (found.problem, found.wrong) == ("values", 1)
    # Where any number may be right, what is none is wrong all the same.
    for wrong in (math.nan, math.inf, -math.inf):
        assert judged([0.5], [wrong], plain(math.inf)).problem == "values"
    assert judged([0.5], [7.0], plain(math.inf)).problem == "undecided"


def test_what_an_output_s_own_type_flushes_is_judged() -> None:
    """Scores of doubles are float32, where e^-200 and e^-95 are 0, or nearly."""
    version = OpVersion("ai.onnx.ml", "LinearRegressor", 1)
    attrs = {"targets": 3, "coefficients": (200.0, 105.0, 0.0), "post_transform": "SOFTMAX"}
    want = computed_want(version, "Y", exactly(version, [np.ones((1, 1))], attrs)[0])
    right = np.float32([[1, 0, 0]])
    assert (compare(want, right).problem, compare(want, right).unjudged) == (None, 0)
    assert compare(want, np.float32([[1, 1e-37, 0]])).problem == "values"


EXACTLY = Tolerance(ulp=0)
FLOORED = (Tier("plain", arithmetic(floor=0.25)),)


def by_tolerance(y, got, bound, tolerance=EXACTLY, **rest):
    values = np.asarray(y, np.float64)
    made: Any = replace(bound, values=values)
    want = Want("y", FLOAT32, values, floor=bound.kinds[0].arithmetic.floor, bound=made)
    declared = rest.pop("declared", ())
    got = np.asarray(got, np.float32)
    return compare(replace(want, **rest), got, tolerance, declared=declared)


@pytest.mark.parametrize("tolerance", [EXACTLY, Tolerance(ulp=3), Tolerance(rtol=1e-6)])
def test_what_the_floor_admits_is_right_whatever_the_tolerance(tolerance: Tolerance) -> None:
    y, got = [0, 1, 1], [0.25, 0.75, 1.125]
    found = by_tolerance(y, got, Fake(FLOORED), tolerance)
    assert (found.problem, found.wrong, found.used) == (None, 0, 1.0)
    far = by_tolerance(y, [0.2501, 0.75, 1.125], Fake(FLOORED), tolerance)
    assert (far.problem, far.wrong, far.worst[0].index) == ("values", 1, (0,))
    strict = by_tolerance(y, got, Fake(FLOORED), replace(tolerance, strict=True))
    assert (strict.problem, strict.wrong) == ("values", 3)


def test_the_tolerance_is_not_widened_by_the_bound_s_own_error() -> None:
    bound = plain(0.5, 1e-3)
    assert by_tolerance([1], [1.002], bound).problem == "values"
    assert by_tolerance([1], [1.0009], bound).problem is None
    made: Any = replace(bound, values=np.ones(1))
    one, got = [Want("y", FLOAT32, np.ones(1), bound=made)], [np.array([1.002], np.float32)]
    assert are_plainly_right(one, got)
    assert not are_plainly_right(one, got, EXACTLY)


@pytest.mark.parametrize(
    ("y", "got", "more"),
    [
        (0, 0.1, {"bound": Fake(FLOORED, zeros=True)}),
        (0, -0.1, {"low": 0.0}),
        (1, 1.1, {"high": 1.0}),
        (0, np.nan, {}),
        (np.inf, 0.1, {}),
    ],
    ids=["exact", "below the range", "above the range", "NaN", "infinite"],
)
def test_the_floor_excuses_nothing_else(y: float, got: float, more: Any) -> None:
    assert by_tolerance([y], [got], **{"bound": Fake(FLOORED), **more}).problem == "values"


def test_what_cannot_be_known_is_excused_where_it_is_not_finite() -> None:
    bound = Fake(FLOORED, unknown=True)
    found = by_tolerance([np.nan, 1], [7, 1], bound)
    assert (found.problem, found.used) == (None, 0)
    assert by_tolerance([np.nan, 1], [7, 7], bound).wrong == 1


def test_a_floor_is_no_excuse_for_the_sign_of_a_zero() -> None:
    zeros = Tolerance(ulp=0, signed_zeros=True)
    assert by_tolerance([0.0, 1], [-0.0, 1], Fake(FLOORED), zeros).wrong == 1
    assert by_tolerance([0.0, 1], [-0.0, 1], Fake(FLOORED)).wrong == 0


def test_a_tier_excuses_what_is_out_of_range_whatever_the_tolerance() -> None:
    ranged = Tier("range", arithmetic(), None, "out of range", ranged=True)
    bound = Fake((Tier("plain", arithmetic()), ranged), free=np.array([False, True]))
    floor = {"floor": 0.25}
    found = by_tolerance([1, 1], [1, math.inf], bound, **floor)
    assert (found.problem, found.remark, found.wrong) == ("precision", "out of range", 1)
    assert by_tolerance([1, 1], [math.inf, math.inf], bound, **floor).problem == "values"
    declared = by_tolerance([1, 1], [1, math.inf], bound, declared=["range"], **floor)
    assert (declared.problem, declared.used) == (None, 0)


def test_the_picture_shows_as_wrong_what_neither_admits() -> None:
    found = by_tolerance([0, 1, 1], [0.125, 2, 1], Fake(FLOORED))
    assert found.picture
    assert found.picture().cells[0][0] in "yz"
    assert found.picture().cells[0][1:] == "Z."


@pytest.mark.parametrize(
    ("dtype", "got", "problem"),
    [
        (FLOAT32, 2.0**-125, None),
        (FLOAT32, 2.01 * 2.0**-126, "values"),
        (FLOAT16, 2.0**-24, "values"),
    ],
)
def test_an_output_that_is_stated_has_the_floor_of_its_dtype_alone(dtype, got, problem):
    want = stated_want(SOFTMAX, "y", np.zeros(1), dtype)
    assert compare(want, np.array([got], dtype.numpy), EXACTLY).problem == problem
    for op, other in ((SOFTMAX, None), (SOFTMAX, DTYPES["int64"]), (HARDMAX, dtype), (NONE, dtype)):
        assert stated_want(op, "y", np.zeros(1), other).floor == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_nan_hides_nothing_beside_it_and_warns_of_nothing(dtype: str) -> None:
    y = np.full((12, 64), 0.5)
    y[7] = math.inf
    got = y.astype(DTYPES[dtype].numpy)
    got[1, 5], got[1, 7], got[4, 0], got[7, 2] = math.nan, -math.nan, -1e-3, 1.0
    bound: Any = Fake(values=y)
    want = Want("y", DTYPES[dtype], y, 0.0, None, bound)
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(want, got)
    assert [element.index for element in found.worst] == [(1, 5), (1, 7), (4, 0), (7, 2)]


def expected(op: OpVersion, x: Any, **attrs: Any) -> Expected:
    (out,) = exactly(op, [x], attrs)
    return of_type(Expected, out)


def stepped(x: Any, to: float) -> Any:
    with np.errstate(all="ignore"):
        return np.nextafter(x, np.asarray(to).astype(x.dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_an_end_is_admitted_and_the_number_beyond_it_is_not(dtype: str, p: int) -> None:
    x = np.random.default_rng(p).normal(size=(1, 2, 7)).astype(DTYPES[dtype].numpy)
    x[0, 0, :3] = 0
    answer = expected(POOL, x, kernel_shape=(3,), p=p)
    want, written = computed_want(POOL, "Y", answer), answer.rounded()
    found = ends(want, written)
    assert found[0][0, 0, 0] == 0 == found[1][0, 0, 0]
    for end, far in zip(found, (-np.inf, np.inf), strict=True):
        for place in np.ndindex(written.shape):
            got = written.copy()
            got[place] = end[place]
            assert compare(want, got).problem is None
            # Half a step that rounding has is another formulation's room at times.
            got[place] = stepped(stepped(stepped(end, far), far), far)[place] * (
                1 + 40 * np.sign(far) * 2.0**-24
            )
            assert compare(want, got).problem is not None or end[place] == 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_ends_lie_around_what_is_written_and_in_the_operator_s_range(dtype: str) -> None:
    x = np.array([[0, 1, -50], [np.nan, 0, 0], [-np.inf, 0, 700]]).astype(DTYPES[dtype].numpy)
    answer = expected(SOFTMAX, x)
    want, at = computed_want(SOFTMAX, "y", answer), answer.rounded()
    low, high = (native(end).astype(float) for end in ends(want, at))
    at = at.astype(float)
    assert np.isnan(low[1]).all()
    assert np.isnan(high[1]).all()
    assert (low[::2] >= 0).all()
    assert (low[::2] <= at[::2]).all()
    assert (at[::2] <= high[::2]).all()
    # What is −inf becomes 0 whatever the arithmetic.
    assert low[2, 0] == high[2, 0] == 0
    assert low[0, 1] <= at[0, 1] <= high[0, 1]
    none = expected(SOFTMAX, np.zeros((0, 3), np.float32))
    assert ends(computed_want(SOFTMAX, "y", none), none.rounded())[0].shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scatter_is_about_1_for_the_arithmetic_expected_and_much_more_for_a_narrower_one(dtype):
    x = np.random.default_rng(3).normal(size=(1, 40, 60)).astype(dtype)
    reference = computed_want(POOL, "Y", expected(POOL, x, kernel_shape=(5,), p=2))

    def computed(x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, 5, axis=2)
        return np.sqrt((windows * windows).sum(-1))

    honest = scatter(reference, computed(x))
    narrow = scatter(reference, computed(x.astype(np.float16).astype(dtype)))
    assert honest is not None
    assert narrow is not None
    assert honest == 1.0  # as far as the last rounding alone, or less
    assert narrow > 300
    few = expected(POOL, x[:, :1, :20], kernel_shape=(5,), p=2)
    assert scatter(computed_want(POOL, "Y", few), few.rounded()) is None


def f32(values: Any) -> Any:
    return np.asarray(values, np.float32)


def running(add: np.ufunc, first: Any, terms: Any) -> Any:
    """The result of a loop in float32, from `first` on."""
    with np.errstate(all="ignore"):
        return add.accumulate(f32([first, *terms]))[-1]


TERMS = np.random.default_rng(4).normal(size=(2, 18)).astype(np.float32)
BIASED = [TERMS[0].reshape(1, 1, 18), TERMS[1].reshape(1, 1, 18), f32([1000])]
CANCELLING = [f32([[[1e20, 1e20]]]), f32([[[1e20, -1e20]]])]
TINY = [np.full((1, 1, 1000), 1e-19, np.float32)] * 2
UP_AND_DOWN, AXIS = f32([[1e30, 1e30, 1e-30, 1e-30]]), np.array([1])
WIDE_ROW = [f32([[3e38, 3e38, -3e38, -3e38], [1, 2, 3, 4], [4, 3, 2, 1]]), np.ones(4, np.float32)]


def normalized(first: Any) -> Any:
    x = WIDE_ROW[0].astype(np.float64)
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    y[0] = y[0] if first is None else first
    return y


@pytest.mark.parametrize(
    ("op", "inputs", "got", "problem"),
    [
        ("Conv-11", BIASED, running(np.add, 1000, TERMS[0] * TERMS[1]), None),
        ("Conv-11", BIASED, 1000 + TERMS[0].astype(float) @ TERMS[1] + 0.01, "values"),
        ("Conv-11", CANCELLING, running(np.add, np.inf, [-np.inf]), "precision"),
        ("Conv-11", CANCELLING, np.inf, "precision"),
        ("Conv-11", CANCELLING, 1e35, "values"),
        ("Conv-11", TINY, 0, "precision"),
        ("Conv-11", TINY, 3e-35, "values"),
        (
            "ReduceSum-13",
            [f32([[3e38, 3e38, -3e38]]), AXIS],
            running(np.add, 0, [3e38, 3e38, -3e38]),
            "precision",
        ),
        ("ReduceSum-13", [f32([[2e38, -2e38, 1e38]]), AXIS], np.nan, "values"),
        (
            "ReduceProd-18",
            [UP_AND_DOWN, AXIS],
            running(np.multiply, 1, UP_AND_DOWN[0]),
            "precision",
        ),
        (
            "ReduceProd-18",
            [UP_AND_DOWN, AXIS],
            running(np.multiply, 1, UP_AND_DOWN[0, ::-1]),
            "precision",
        ),
        ("ReduceProd-18", [UP_AND_DOWN, AXIS], 100, "values"),
        ("ReduceProd-18", [f32([[1e15, 1e15, 1e-15, 1e-15]]), AXIS], np.inf, "values"),
        ("LayerNormalization-17", WIDE_ROW, normalized(None), None),
        *(
            ("LayerNormalization-17", WIDE_ROW, normalized(gone), "precision")
            for gone in (np.nan, np.inf, 0)
        ),
        # Folded, x·a is 0 where a, some 3e-39, is flushed; nothing makes more of it.
        *(
            ("LayerNormalization-17", WIDE_ROW, normalized(wrong), "values")
            for wrong in (12345, -15, -7)
        ),
        ("Gelu-20", [f32([1e20])], np.nan, "values"),
        # Beyond float64 a bound is one all the same.
        ("Exp-13", [np.array([800.0])], np.inf, None),
        ("Exp-13", [np.array([800.0])], 42, "values"),
        ("Softplus-1", [f32([20000])], -42, "values"),
        # ln(e^x + 1) by the text's own words; what subtracts a maximum has no such excuse.
        ("Softplus-22", [f32([100, 20000])], np.inf, "precision"),
        ("Softplus-22", [f32([80, 100])], np.inf, "values"),
        # 1 + e^x may be 1 there, but no more than 1 + 2e^x.
        ("Softplus-22", [f32([-20, -30])], 0, None),
        ("Softplus-22", [f32([-20, -30])], 5e-8, "values"),
        ("Softplus-22", [f32([-np.inf])], 1e-30, "values"),
        ("LogSoftmax-13", [f32([[0, 1000]])], np.inf, "values"),
        # One pass knows nothing of this variance, but that it is no less than 0.
        ("GroupNormalization-21", [f32([[[10000, 10000.01]]]), f32([1]), f32([0])], 1e4, "values"),
    ],
)
def test_what_an_order_may_lose_is_no_failure_and_all_else_is(op, inputs, got, problem):
    name, since = op.split("-")
    version = OpVersion("", name, int(since))
    stated = {"Gelu": {"approximate": "tanh"}, "GroupNormalization": {"num_groups": 1}}
    attrs: Any = stated.get(name, {})
    answer = of_type(Expected, exactly(version, inputs, attrs, 1)[0])
    got = np.broadcast_to(np.asarray(got, answer.dtype.numpy), answer.values.shape)
    assert compare(computed_want(version, "y", answer), got).problem == problem


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "since", "axes", "channels", "attrs"),
    [
        ("LayerNormalization", 17, 3, (5,), {}),
        ("GroupNormalization", 21, (1, 2, 3), (2, 1, 1), {"num_groups": 1}),
    ],
)
def test_stage_two_in_the_type_of_the_tensor_is_what_the_text_says(
    name: str, since: int, axes: Any, channels: Any, attrs: Any, dtype: str
) -> None:
    kind, rng = DTYPES[dtype].numpy, np.random.default_rng(1)
    x = rng.normal(1, 2, (2, 2, 1, 5)).astype(kind)
    scale, bias = rng.normal(size=(2, max(channels))).astype(kind)
    version = OpVersion("", name, since)
    answer = of_type(Expected, exactly(version, [x, scale, bias], attrs, 1)[0])
    w = x.astype(np.float32)
    first = (w - w.mean(axes, keepdims=True)) / np.sqrt(w.var(axes, keepdims=True) + f32(1e-5))
    got = first.astype(kind) * scale.reshape(channels) + bias.reshape(channels)
    assert compare(computed_want(version, "y", answer), got).problem is None
    wrong = np.where(got == got.max(), -got, got)
    assert compare(computed_want(version, "y", answer), wrong).problem == "values"


def in_float16(x: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Y, Mean and InvStdDev of rows, with every operation and every sum in float16."""
    kind, count = np.float16, x.shape[-1]

    def mean(terms: Any) -> Any:
        return (np.cumsum(terms, axis=-1, dtype=kind)[..., -1:] / kind(count)).astype(kind)

    deviations = x - mean(x)
    inverse = kind(1) / np.sqrt(mean(deviations * deviations) + kind(1e-5))
    assert inverse.dtype == kind
    return deviations * inverse * scale, f32(mean(x)), f32(inverse)


LAYERS = OpVersion("", "LayerNormalization", 17)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_stage_one_in_float16_is_a_warning_unless_it_is_declared(size: float) -> None:
    x = (size * np.random.default_rng(0).normal(size=(4, 64))).astype(np.float16)
    scale = np.ones(64, np.float16)
    wants = [computed_want(LAYERS, "y", answer) for answer in exactly(LAYERS, [x, scale], {}, 3)]
    for want, got in zip(wants, in_float16(x, scale), strict=True):
        found = compare(want, got)
        assert found.problem == "precision"
        assert found.remark.endswith("declare accumulate=float16")
        assert compare(want, got, declared=("float16",)).problem is None


def test_a_share_too_small_for_float64_may_become_0_before_its_logarithm() -> None:
    """e^-131072 is no number of float64, in which errors are stated, and not of longdouble."""
    version = OpVersion("", "LogSoftmax", 13)
    x = np.array([[0, -131072]], DTYPES["bfloat16"].numpy)
    want = computed_want(version, "output", exactly(version, [x], {"axis": 1}, 1)[0])
    assert compare(want, np.array([[0, -np.inf]], x.dtype)).problem == "precision"
    assert compare(want, np.array([[1, -np.inf]], x.dtype)).problem == "values"


def product_in_float16(x: Any, y: Any) -> Any:
    """The product of two matrices, with each product and each partial sum in float16."""
    total = np.zeros((1, 1), np.float16)
    for k in range(x.shape[-1]):
        total = total + x[:, k : k + 1] * y[k : k + 1]
    return total


def test_errors_scatter_as_declared_arithmetic_explains() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(11, 1031)).astype(np.float16)
    y = rng.normal(size=(1031, 13)).astype(np.float16)
    version = OpVersion("", "MatMul", 13)
    want = replace(
        computed_want(version, "Y", exactly(version, [x, y], {}, 1)[0]), of_random_data=True
    )
    got = product_in_float16(x, y)
    assert compare(want, got).problem == "precision"
    assert compare(want, got, declared=("float16",)).problem is None
    # Of another type than the declared one it stays a warning.
    assert compare(want, got, declared=("bfloat16",)).problem == "precision"
    # A mistake within the bound of the declared type is none of its roundings.
    without_some = product_in_float16(x[:, :-100], y[:-100])
    assert compare(want, without_some, declared=("float16",)).problem == "precision"
    smaller = (got * np.float16(0.8)).astype(np.float16)
    assert compare(want, smaller, declared=("float16",)).problem == "precision"


def running_sums(x: Any) -> Any:
    """The sums of rows, each partial sum rounded to the type of the terms."""
    total = np.zeros(len(x), x.dtype)
    for column in x.T:
        total = (total + column).astype(x.dtype)
    return total


def sums_of_lanes(x: Any) -> Any:
    """The sums of rows by eight running sums, which are then added up."""
    lanes = [running_sums(x[:, lane::8]) for lane in range(8)]
    return running_sums(np.stack(lanes, axis=1))


def sums_of(dtype: str, low: float, count: int) -> tuple[Want, Any]:
    """What is right of the sums of 128 rows of numbers from `low` to 1, drawn at random."""
    kind = DTYPES[dtype].numpy
    x = np.random.default_rng(0).uniform(low, 1, (128, count)).astype(kind)
    inputs = [x, np.array([1], np.int64)]
    answer = exactly(OpVersion("", "ReduceSum", 13), inputs, {"keepdims": 0}, 1)[0]
    want = computed_want(OpVersion("", "ReduceSum", 13), "reduced", answer)
    return replace(want, of_random_data=True), x


@pytest.mark.parametrize("count", [300, 4096, 16384])
@pytest.mark.parametrize("low", [-1, 0])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sums", [running_sums, sums_of_lanes])
def test_honest_sums_in_a_declared_type_are_right(
    sums: Any, dtype: str, low: float, count: int
) -> None:
    """Those of terms of one sign stop growing: in bfloat16 at 256, in float16 at 2,048."""
    want, x = sums_of(dtype, low, count)
    assert compare(want, sums(x), declared=(dtype,)).problem is None
    assert compare(want, sums(x)).problem in (None, "precision")


@pytest.mark.parametrize(
    ("dtype", "low", "count"),
    [
        ("float16", 0, 300),
        ("float16", 0, 4096),
        ("float16", -1, 4096),
        ("bfloat16", -1, 300),
        ("bfloat16", -1, 4096),
    ],
)
@pytest.mark.parametrize("is_declared", [False, True])
def test_zeros_for_long_sums_are_wrong_and_so_are_exchanged_rows(
    dtype: str, low: float, count: int, is_declared: bool
) -> None:
    """The bound of 16-bit sums so long allows any answer."""
    want, x = sums_of(dtype, low, count)
    declared = (dtype,) if is_declared else ()
    right = sums_of_lanes(x)
    assert compare(want, np.zeros_like(right), declared=declared).problem == "values"
    if low < 0:
        assert compare(want, np.roll(right, 1), declared=declared).problem == "values"


def test_stage_one_that_overflows_in_float16_is_wrong_whatever_is_computed_in_it() -> None:
    x = np.array([[800, -800, 400, -400]], np.float16)
    answer = exactly(LAYERS, [x, np.ones(4, np.float16)], {}, 1)[0]
    found = compare(computed_want(LAYERS, "y", answer), np.zeros((1, 4), np.float16))
    assert found.problem == "values"


def test_a_channel_that_overflows_in_float16_is_wrong_though_its_answer_is_near() -> None:
    x = np.array([[[640, -768, 12, 100]]], np.float16)
    scale, bias = np.array([2], np.float16), np.array([3], np.float16)
    answer = exactly(OpVersion("", "InstanceNormalization", 22), [x, scale, bias], {}, 1)[0]
    # The variance is infinite in float16, so that the bias is left.
    found = compare(computed_want(LAYERS, "output", answer), np.full(x.shape, 3, np.float16))
    assert found.problem == "values"


def test_a_divisor_that_bfloat16_cannot_tell_from_0_is_a_warning() -> None:
    kind = DTYPES["bfloat16"].numpy.type
    x = np.random.default_rng(0).normal(10, 1, (1, 1, 1031)).astype(kind)
    ones = np.ones(1, kind)
    answer = exactly(OpVersion("", "InstanceNormalization", 22), [x, ones, ones], {}, 1)[0]
    # 2048 plus 10 is 2064: the mean is off by about its spread.
    mean = (np.cumsum(x, dtype=kind)[-1] / kind(1031)).astype(kind)
    deviations = x - mean
    variance = (np.cumsum(deviations * deviations, dtype=kind)[-1] / kind(1031)).astype(kind)
    got = deviations / np.sqrt(variance + kind(1e-5)) + kind(1)
    found = compare(computed_want(LAYERS, "output", answer), got.astype(kind))
    assert found.problem == "precision"


def test_a_product_that_overflows_in_another_order_alone_is_poorer_arithmetic() -> None:
    x = np.random.default_rng(4).uniform(0.95, 1.05, 900).astype(np.float16)
    factors_above_1 = np.prod(x[x > 1].astype(np.float64))
    assert factors_above_1 > np.finfo(np.float16).max
    version = OpVersion("", "CumProd", 26)
    want = computed_want(version, "y", exactly(version, [x, np.int64(0)], {}, 1)[0])
    got = np.cumprod(x, dtype=np.float16)
    found = compare(want, got)
    assert (found.problem, found.remark[-26:]) == ("precision", "declare accumulate=float16")
    got[-1] = 0
    assert compare(want, got).problem == "values"


@pytest.mark.parametrize("declared", [(), ("float16",)])
def test_an_output_of_float32_is_not_flushed_as_one_of_float16_is(declared: Any) -> None:
    x = (1e-3 * np.random.default_rng(0).normal(size=(4, 64))).astype(np.float16)
    answers = exactly(LAYERS, [x, np.ones(64, np.float16)], {}, 3)
    mean = computed_want(LAYERS, "Mean", answers[1])
    right = of_type(Expected, answers[1]).rounded()
    assert abs(right).max() < 3e-4
    assert compare(mean, right, declared=declared).problem is None
    assert compare(mean, right + f32(1e-4), declared=declared).problem == "values"


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_a_window_computed_in_its_16_bits_is_a_warning_unless_declared(op: str, name: str) -> None:
    kind, count = DTYPES[name].numpy.type, 37
    number = 10 if name == "float16" else 16
    version = OpVersion("", op, 17)
    (answer,) = exactly(version, [np.array(count)], {"output_datatype": number}, 1)
    turns = np.array([kind(kind(kind(2 * math.pi) * kind(n)) / kind(count)) for n in range(count)])
    once, twice = np.cos(turns).astype(kind), np.cos(turns * kind(2)).astype(kind)
    parts = {
        "HannWindow": kind(0.5) - kind(0.5) * once,
        "HammingWindow": kind(25 / 46) - kind(21 / 46) * once,
        "BlackmanWindow": kind(0.42) - kind(0.5) * once + kind(0.08) * twice,
    }
    want = computed_want(version, "y", answer)
    assert compare(want, parts[op]).problem == "precision"
    assert compare(want, parts[op], declared=(name,)).problem is None
    assert compare(want, parts[op] + kind(0.125)).problem == "values"


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["Softmax", "Div"])
def test_what_is_plainly_right_is_right(name: str, dtype: str) -> None:
    rng, kind = np.random.default_rng(0), DTYPES[dtype].numpy
    x = [rng.normal(size=(9, 50)).astype(kind) for _ in range(1 if name == "Softmax" else 2)]
    version = OpVersion("", name, 13 if name == "Softmax" else 14)
    want = computed_want(version, "y", exactly(version, x, {}, 1)[0])
    found = set()
    for ulp in range(20):
        got = steps.stepped(round_to(want.values, DTYPES[dtype]), ulp * (1 - 2 * (ulp % 2)))
        found.add(plain := are_plainly_right([want], [got]))
        assert not plain or compare(want, got).problem is None
    assert found == {True, False}


@pytest.mark.parametrize(
    ("more", "got"),
    [
        ({"form": "sequence"}, f32([1, 2])),
        ({"any_order": 0}, f32([1, 2])),
        ({"dtype": None}, f32([1, 2])),
        ({}, np.array([1.0, 2])),
        ({}, f32([[1, 2]])),
        ({}, f32([1, 3])),
        ({}, Foreign("a")),
        ({"values": np.zeros(0)}, f32([])),
    ],
)
def test_what_is_not_plainly_right_is_compared(more: Any, got: Any) -> None:
    want = Want("y", FLOAT32, np.array([1.0, 2]))
    assert are_plainly_right([want], [f32([1, 2])])
    assert not are_plainly_right([want], [f32([1, 2])] * 2)
    assert not are_plainly_right([replace(want, **more)], [got])


@pytest.mark.parametrize(
    ("dtype", "values", "made"),
    [
        ("float32", [0.1], f32([0.1])),
        ("complex64", [0.1j], np.complex64([0.1j])),
        ("bool", [True], np.array([True])),
        (
            "float8e4m3fnuz",
            [240.0, np.nan],
            np.array([240, np.nan], DTYPES["float8e4m3fnuz"].numpy),
        ),
        (None, f32([0.1]), f32([0.1])),
        (None, [3], np.array([3])),
        (None, [0.1], None),
    ],
)
def test_stated_values_in_their_dtype(dtype: Any, values: Any, made: Any, wording: Wording) -> None:
    want = Want("y", dtype and DTYPES[dtype], np.asarray(values))
    if made is None:
        with pytest.raises(ValueError, match="y: only the") as raised:
            in_its_dtype(want)
        assert raised.value == wording
    else:
        assert identical(in_its_dtype(want), made)


@pytest.mark.parametrize(
    ("axis", "places", "values", "is_right"),
    [
        (1, [[2, 0, 1]], [[30, 10, 20]], True),
        (1, [[2, 0, 1]], [[10, 30, 20]], False),
        (1, [[0, 1, 2]], [[10, 20, 30]], True),
        (0, [[0, 2, 1]], [[10, 30, 20]], False),
        (1, [[1, 0]], [[20, 10]], False),
        ("rows", [[0, 2, 1]], [[10, 30, 20]], False),
        (1, [[0, 1, 2, 3]], [[10, 20, 30, 40]], False),
    ],
)
def test_what_may_come_in_any_order_comes_in_one(axis: Any, places: Any, values: Any, is_right):
    right = [
        Want("v", FLOAT32, np.array([[10.0, 20, 30]]), any_order=axis),
        Want("i", DTYPES["int64"], np.array([[0, 1, 2]]), any_order=axis),
    ]
    found = compare_outputs(right, [f32(values), np.array(places)], EXACTLY)
    assert (not any(one.problem for one in found)) is is_right
    assert compare_outputs(right, [f32(values), Foreign("a")], EXACTLY)[1].problem == "type"


def test_rows_may_come_in_any_order() -> None:
    rows = np.array([[0, 1], [0, 2], [1, 0]])
    y = np.array([1.0, 2, 3])
    right = [
        Want("v", FLOAT32, y, any_order="rows"),
        Want("w", FLOAT32, 2 * y, any_order="rows"),
        Want("i", DTYPES["int64"], rows, any_order="rows"),
    ]
    for order in ([2, 0, 1], [0, 1, 2], [0, 2, 1]):
        for other, problem in ((order, None), ([1, 0, 2], "values")):
            got = [f32(y[other]), f32(2 * y[order]), rows[order]]
            assert [one.problem for one in compare_outputs(right, got, EXACTLY)] == [
                problem,
                None,
                None,
            ]


def test_the_sign_of_a_complex_zero_is_not_passed_over() -> None:
    zeros = np.array([complex(0, -0.0), complex(-0.0, 0)])
    want = Want("y", DTYPES["complex128"], zeros)
    assert are_plainly_right([want], [zeros.copy()])
    assert not are_plainly_right([want], [np.zeros(2, np.complex128)])
    assert not are_plainly_right([want], [zeros[:1]])


def test_booleans_and_indices_may_be_any_of_those_that_errors_admit() -> None:
    class Choice(Fake):
        def room(self, tier: Tier) -> Room:
            return Room(np.zeros(2), admitted=np.array([[0, 3], [1, 1]]))

        dtype = DTYPES["int64"]

    values = np.array([0, 1])
    want = Want("places", DTYPES["int64"], values, bound=Choice())  # type: ignore
    for got, problem in (([0, 1], None), ([3, 1], None), ([3, 3], "values"), ([2, 1], "values")):
        found = compare(want, np.array(got))
        assert (found.problem, found.used) == (problem, math.inf if problem else 0)
    assert compare(replace(want, whole=True), np.array([0, 1])).unjudged == 1
    room = Room(np.zeros((1, 3)), admitted=np.array([[[math.nan, 1]] * 3]))
    assert _fits_integers(np.array([[5, 5, 5]]), np.array([[math.nan, 1, 2]]), room).tolist() == [
        [1, 1, 0]
    ]
