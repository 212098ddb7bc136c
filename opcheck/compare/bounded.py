"""Values against the error bound of an operator's formula, element by element.

With an exact value y and an error r that the bound allows, every number that some value in
[y − r, y + r] rounds to is right. If elements have an error in common, such as the sum of their
row, `row_shares` also tests that they agree about it. The rules in `elements` hold here too.

The tiers of a bound are tried in order; the first that all elements fit decides. These words are
used of them:

- A *tier* is an arithmetic with a formulation, a way to write the operator. A tier of a poorer
  arithmetic has a *remark*, the text of a warning. A *ranged* tier allows results out of range.
- A *room* is the error that a tier allows each element: `own`, and one `shared` with a group.
- An element is *lost* if an intermediate result may have left the range of the arithmetic, and
  *unknown* if its value is beyond what can be computed.
- The *floor* is the size below which engines may flush numbers to 0.
- *Scatter* is the size of errors next to the *deviation* that independent roundings would have.
- Of a *whole* model bounds may grow beyond use; what they leave open, scatter decides.

A `want` has a bound here, but in `pardon` it may have none.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from opcheck.compare import elements
from opcheck.compare.elements import Findings, Floats, Mask, Places, Want
from opcheck.dtypes import DType, half_ulp, round_to
from opcheck.engine import Expected, Room, Tier
from opcheck.engine.orders import other_orders, running_sums
from opcheck.errors import NotSupported
from opcheck.model import Array
from opcheck.numbers.bounded.array import ANYTHING, UNORDERED, Common

#: From this allowed relative error on, an element is unjudged.
UNJUDGED = 0.5
#: Covers what the bounds of common errors leave out, the products of two errors.
_SECOND_ORDER = 1.005
#: Twice the smallest normal float32: below it engines flush to zero.
_FLUSHED = 2.0**-125
#: Elements below so many times the floor take no part in a test of their row or of scatter.
_TIMES_FLOOR = 16
#: One step of a float64, four times: the rounding of a quotient got/y.
_ROUNDING_OF_QUOTIENT = 2.0**-51
#: The steps that the search of `row_shares` may take; in practice three or four are enough.
_MAX_NEWTON_STEPS = 30


class Decision(NamedTuple):
    """The judgment of an output by the tiers of its bound.

    Attributes:
        tier: The tier that decides: the first that all elements fit; if none does, the one with the
            fewest wrong elements. It has a remark if the arithmetic that it allows is a poorer one.
        fits: All elements fit a tier.
        findings: Wrong elements. There are none if they fit a tier without a remark; they are those
            by the first tier if the deciding one has a remark; else those by the deciding one.
        rows_disagree: Of these, an element is right by itself, and wrong next to its row.
        shares: Returns all places with the shares by which they are wrong.
        unjudged: A mask of the elements that the first tier cannot judge.
    """

    tier: Tier
    fits: bool
    findings: Findings
    rows_disagree: bool
    shares: Callable[[], list[tuple[Places, Floats]]]
    unjudged: Mask


class ByElement(NamedTuple):
    """The judgment of each element by one tier, all in the shape of the output.

    Attributes:
        shares: Its error as a part of the allowed one; above 1 is wrong.
        allowed: The absolute error that it is allowed; it may be infinite.
        disagrees: It is right by itself, and wrong next to its row.
        unjudged: Its allowed error is too large, or unknown, for a judgment.
    """

    shares: Floats
    allowed: Floats
    disagrees: Mask
    unjudged: Mask


def examine(want: Want, got: Array, dtype: DType, declared: Collection[str]) -> Decision:
    """Judge `got`, in `dtype` and the shape of `want.values`, by the tiers of its bound.

    A tier is an arithmetic that an implementation may use; a poorer one has a remark. They are
    tried in order, until all elements that the first one finds wrong fit one, which decides. If it
    has a remark, the findings stay those of the first, else nothing is wrong. If none fits, that
    with the fewest wrong elements decides. A `ranged` tier, which also allows a result out of the
    arithmetic's range, brings its remark only if such an element was lost so; else the first tier
    decides, and nothing is wrong. `declared` are the names of 16-bit types in which the backend
    says it computes: their tiers have no remark. `want` has a bound, and float64 values. `got` may
    have any byte order.

    A tier after the first one that is not computed is left out, and so is a narrower one that
    allows elements anything, if they are further off than its roundings scatter, or do not follow
    the right values. Raises what the formula raises where a tier is evaluated for the first time,
    such as NotSupported in the first.
    """
    got = elements.native(got)
    tiers = _computed_tiers(want.expected, declared)
    first = next(tiers)
    by_first = judge(want, got, dtype, first)
    wrong = by_first.shares > 1
    of_first = Findings(got.size, steps=0 if dtype.kind == "float" else None)
    _note(of_first, want, got, by_first, dtype)

    def shares_by(tier: Tier) -> Callable[[], list[tuple[Places, Floats]]]:
        """Return what judges all by a tier once more: shares are needed for a picture alone."""
        return lambda: [(np.arange(got.size), judge(want, got, dtype, tier).shares)]

    decision = Decision(
        tier=first,
        fits=not wrong.any(),
        findings=of_first,
        rows_disagree=bool(by_first.disagrees.any()),
        shares=shares_by(first),
        unjudged=by_first.unjudged,
    )
    if decision.fits:
        return decision
    nearest = decision
    for tier in tiers:
        wrong_alone = judge(want, got, dtype, tier, alone=True).shares > 1
        is_worse = np.count_nonzero(wrong_alone) >= nearest.findings.count
        if (wrong_alone & wrong).any() and is_worse:
            # Next to their groups, which takes long to judge, as many are wrong or more.
            continue
        by_tier = judge(want, got, dtype, tier)
        is_narrower = tier.arithmetic.everywhere
        if is_narrower and _scatters_beyond(want, got, tier, wrong & by_tier.unjudged):
            continue
        if not ((by_tier.shares > 1) & wrong).any():
            explains = not tier.ranged or (want.expected.range_loss(tier) & wrong).any()
            if tier.remark and explains:
                return decision._replace(tier=tier, fits=True)
            return decision._replace(
                tier=first if tier.ranged else tier,
                fits=True,
                findings=replace(of_first, used=1.0, wrong=None, worst=[]),
                rows_disagree=False,
                shares=shares_by(tier),
            )
        of_tier = Findings(got.size, steps=of_first.steps)
        _note(of_tier, want, got, by_tier, dtype)
        of_tier.unjudged = of_first.unjudged
        if of_tier.count < nearest.findings.count:
            nearest = decision._replace(
                tier=tier,
                findings=of_tier,
                rows_disagree=bool(by_tier.disagrees.any()),
                shares=shares_by(tier),
            )
    return nearest


def _computed_tiers(bound: Expected, declared: Collection[str]) -> Iterator[Tier]:
    """Yield the tiers of a bound as they are tried: the first one, and others that are computed.

    In a coarser arithmetic, rounding may decide what the first one knows, such as the branch of an
    If: that tier is left out. `declared` names 16-bit types in which the backend says it computes.
    """
    first, *others = bound.tiers(declared)
    yield first
    yield from (tier for tier in others if _is_computed(bound, tier))


def lacks_an_allowed_tier(bound: Expected, declared: Collection[str]) -> bool:
    """Return True if a tier without a remark, as of a type that is `declared`, is not computed."""
    return not all(_is_computed(bound, tier) for tier in bound.tiers(declared) if not tier.remark)


def _is_computed(bound: Expected, tier: Tier) -> bool:
    """Return True if a bound has this tier; False if opcheck does not support it."""
    try:
        bound.room(tier)
    except NotSupported:
        return False
    return True


def fits_at_least(want: Want, got: Array, dtype: DType) -> bool:
    """Return True if `got` is right by the least error that the bound allows, known at once.

    That is a relative error that the first tier allows every element. The bound itself, which takes
    much longer, is not computed. `want` has a bound; `got` is in `dtype`, the shape of
    `want.values` and native byte order. After False, `got` may be right: so for values that were
    rounded, for integers and booleans, and where an element is NaN. Raises what the operator's
    formula raises where it is evaluated for the first time.
    """
    bound = want.expected
    if want.rounded is not None or dtype.kind != "float":
        return False
    with np.errstate(all="ignore"):
        y = want.values if want.rest is None else want.values + want.rest
        off = bound.certain(bound.tiers()[0]) * np.abs(y)
        if dtype.name == "float64":
            fits = np.abs(_errors(want, got)) <= off
        else:
            fits = (round_to(y - off, dtype) <= got) & (got <= round_to(y + off, dtype))
    return bool(fits.all()) and not elements.outside(got, want.low, want.high).any()


def pardon(want: Want, got: Array, declared: Collection[str], wrong: Mask) -> tuple[str, Floats]:
    """Excuse elements that are `wrong` by a stated tolerance, by the floor and the range rules.

    Returns the remark of the tier that excuses most of them (of several the first), "" without a
    bound, and a share of each element: its error as a part of `want.floor`, up to which any error
    is right; 0 if a result out of the arithmetic's range explains it, or if the value is an
    infinity or NaN that is unknown; infinite if nothing does, as for a zero of the wrong sign.
    With a bound, the floor excuses no element that the tier allows no error or that is outside of
    the operator's range. `want` has float64 values; `got` any byte order; `wrong` and the shares
    have their shape.

    Raises what the formula raises where a tier is evaluated for the first time, such as
    NotSupported beyond a budget.
    """
    got = elements.native(got)
    actual = elements.wide(got)
    with np.errstate(all="ignore"):
        error = np.abs(_errors(want, actual))
        shares = np.where((error <= want.floor) & (error != 0), error / want.floor, np.inf)
    if want.bound is None:
        return "", shares
    shares[elements.outside(actual, want.low, want.high)] = np.inf
    fewest: int | None = None
    remark = ""
    admitted = shares
    for tier in _computed_tiers(want.bound, declared):
        by_tier = shares.copy()
        room = want.bound.room(tier)
        by_tier[room.own == 0] = np.inf
        by_tier[_out_of_range(want, actual, room, tier)] = 0.0
        by_tier[~np.isfinite(want.values) & room.unknown] = 0.0
        count = int(np.count_nonzero((by_tier > 1) & wrong))
        if fewest is None or count < fewest:
            fewest = count
            remark = tier.remark
            admitted = by_tier
        if not count:
            break
    return remark, admitted


def _note(findings: Findings, want: Want, got: Array, by_element: ByElement, dtype: DType) -> None:
    """Add the elements of an output, judged by one tier of its bound, to its `findings`, in place.

    Those with a share above 1 are wrong: they have more than the allowed error. The number of
    unjudged ones is added, and unless `findings.steps` is None, the largest ULP distance, which is
    UNORDERED between NaN and a number. `got`, in the shape of the values, is in native byte order.
    """
    y = want.values

    def places() -> Places:
        """Return the places of all elements."""
        return np.arange(y.size)

    def allowed(i: int) -> str:
        """Return the error allowed to an element of the flat output, in words.

        It is "of its row" for an element that is right by itself, and wrong next to its row.
        """
        if not np.isfinite(y.flat[i]) or by_element.allowed.flat[i] == 0:
            return "exact"
        error = f"±{by_element.allowed.flat[i]:.3g}"
        if by_element.disagrees.flat[i]:
            return f"{error} of its row"
        return error

    findings.add(places, by_element.shares, allowed)
    findings.unjudged += int(np.count_nonzero(by_element.unjudged))
    if findings.steps is not None and y.size:
        with np.errstate(all="ignore"):
            findings.step(int(elements.distance(round_to(y, dtype), got).max()))


@np.errstate(all="ignore")
def judge(want: Want, got: Array, dtype: DType, tier: Tier, *, alone: bool = False) -> ByElement:
    """Judge every element by one tier, and if not `alone` next to its group.

    Elements of a group, such as a row, share an error: they must agree about it. Integers and
    booleans have the share 0 or an infinite one; only of a whole model they are unjudged, where
    several are right. Of floats, NaN is right for NaN, an infinity for the same one, and anything
    for an infinity or NaN that is unknown. `got` has the shape of `want.values` and native byte
    order; `want` has a bound.

    Raises what the formula raises where the tier is evaluated for the first time, such as
    NotSupported beyond a budget.
    """
    y = want.values
    nothing = np.zeros(y.shape, np.bool_)
    room = want.expected.room(tier)
    if dtype.kind != "float":
        shares = np.where(_fits_integers(y, got, room), 0.0, np.inf)
        unjudged = _several_integers(y, room) if want.whole else nothing
        return ByElement(shares, room.own, nothing, unjudged)
    is_vague = _vague_by_overflow(y, room.own, room, tier).any()
    if not is_vague and not elements.outside(got, want.low, want.high).any():
        shares = np.abs(_errors(want, got)) / room.own
        if shares.max(initial=0) <= 1:
            # Each element keeps to its own error, without those in common and of rounding.
            return ByElement(shares, room.own, nothing, _unjudged(want, room.own, room, tier))
    return _judge_floats(want, got, dtype, tier, alone)


def _errors(want: Want, got: Array) -> Floats:
    """Return got − y of each element in float64, with the part of y that its float64 leaves out.

    NaN of equal infinities and of NaN. NumPy may warn about these: callers ignore it.
    """
    error = np.subtract(got, want.values, dtype=np.float64)
    return error if want.rest is None else error - want.rest


def _unjudged(want: Want, slack: Floats, room: Room, tier: Tier) -> Mask:
    """Mask elements whose allowed error, `slack`, is half of their size or more, or unknown.

    `slack` is without the error that elements of a group share, which is added here. Infinities and
    NaN are judged, unless unknown, and so are elements no larger than twice the floor, below which
    numbers may become 0. In a whole model, the size of an element is at least the root mean square
    of all that are not much larger, and it is its allowed error that is compared with twice the
    floor.
    """
    y = want.values
    size = np.abs(y)
    if room.shared is not None:
        slack = slack + size * room.shared.up
    finite = np.isfinite(y)
    least = 2 * want.expected.floor(tier)
    if want.whole:  # Its zeros are off as the others are.
        size = np.maximum(size, _sizes(y))
        is_above_floor = slack > least
    else:
        is_above_floor = size > least
    vague = finite & (slack >= UNJUDGED * size) & is_above_floor
    return np.asarray(vague | room.unknown)


def _judge_floats(want: Want, got: Array, dtype: DType, tier: Tier, alone: bool) -> ByElement:
    """Judge floats by one tier, and if not `alone` next to their group, in all cases.

    Right is a number to which some value within the allowed error rounds, an infinity only if that
    error is finite and no poorer arithmetic's; NaN for NaN, the same infinity, and anything for an
    infinity or NaN that is unknown. NaN and other infinities are right for a finite value only if
    the element is lost: an intermediate result may have left the range. Numbers outside of the
    operator's range are wrong. `got` has the shape of `want.values` and native byte order.

    Raises what the formula raises where the tier is evaluated for the first time, such as
    NotSupported beyond a budget.
    """
    y = want.values
    room = want.expected.room(tier)
    actual = elements.wide(got)
    error = _errors(want, got)
    # The error that each is allowed in common with no other.
    own = room.own
    if want.rounded is not None:
        own = own + half_ulp(y, want.rounded)
    below, above = _slacks(y, own, room)
    slack = np.where(error < 0, below, above)
    finite = np.isfinite(y)
    beyond = elements.outside(actual, want.low, want.high)
    fits = _is_between(want, got, dtype, (below, above)) & finite & ~beyond
    fits &= _is_excused(want, got, dtype, tier, slack)
    # A result out of the range of the arithmetic explains what came for these.
    lost = _out_of_range(want, actual, room, tier) & finite
    same = ~finite & ((actual == y) | (np.isnan(actual) & np.isnan(y)) | room.unknown)
    right = fits | lost | same
    # Values lie within a factor of 2 of the numbers that they round to.
    last_place = half_ulp(np.fmin(np.abs(y) + slack, 2 * np.abs(actual)), dtype)
    allowed = np.where(finite, slack + np.where(slack > 0, last_place, 0.0), 0.0)
    # Without an allowed error, the distance is still in parts of the last rounding.
    shares = elements.ratio(np.abs(error), allowed + np.where(slack > 0, 0.0, last_place), fits)
    shares[(error == 0) & fits] = 0.0
    # NaN and values out of range have no finite error.
    shares[beyond & ~right] = np.inf
    shares[right & ~fits] = 0.0
    next_to_row = np.zeros(y.shape)
    if room.shared is not None and got.size > 1 and not alone:
        next_to_row = _next_to_their_group(y, error, own, last_place, room.shared, fits)
        shares = np.where(lost, 0.0, np.maximum(shares, next_to_row))
    return ByElement(shares, allowed, next_to_row > 1, _unjudged(want, own, room, tier))


def _is_excused(want: Want, got: Array, dtype: DType, tier: Tier, slack: Floats) -> Mask:
    """Mask elements that a tier excuses if they are within their allowed error, `slack`.

    An infinity is excused only if that error is finite, in a whole model no larger than the value;
    by a tier with a remark, unless it is ranged, only if the value itself rounds to one. Such a
    tier excuses what overflows in it only as far as its roundings explain it. Raises what the
    formula raises where the tier is evaluated without limits for the first time.
    """
    y = want.values
    is_finite = np.isfinite(elements.wide(got))
    is_limited = np.abs(y) >= slack if want.whole else np.isfinite(slack)
    excused = is_limited | is_finite
    if tier.remark and not tier.ranged:
        excused &= is_finite | ~np.isfinite(elements.wide(round_to(y, dtype)))
        vague = _vague_by_overflow(y, slack, want.expected.room(tier), tier)
        if vague.any():
            excused &= ~vague | _fits_without_limits(want, got, dtype, tier)
    return np.asarray(excused)


def _is_between(want: Want, got: Array, dtype: DType, slacks: tuple[Floats, Floats]) -> Mask:
    """Mask elements to which a value within the allowed errors rounds, in the floating `dtype`.

    `slacks` are those below and above the wanted values. Ties are rounded to even: an element on
    the other side needs an error. False for NaN in either.
    """
    rest = 0.0 if want.rest is None else want.rest
    below, above = slacks
    low = round_to(want.values + (rest - below), dtype)
    high = round_to(want.values + (rest + above), dtype)
    return np.asarray((got >= low) & (got <= high))


def _fits_without_limits(want: Want, got: Array, dtype: DType, tier: Tier) -> Mask:
    """Mask elements that the tier's roundings alone explain, without overflow and flushing.

    In some orders of a long product partial ones overflow in float16; an implementation that keeps
    to another order is no worse than that arithmetic. No element, if the tier without limits is not
    computed. Otherwise raises what the formula raises where it is evaluated for the first time.
    """
    unlimited = tier.without_limits()
    if not _is_computed(want.expected, unlimited):
        return np.zeros(got.shape, np.bool_)
    room = want.expected.room(unlimited)
    return _is_between(want, got, dtype, _slacks(want.values, room.own, room))


def _vague_by_overflow(y: Floats, slack: Floats, room: Room, tier: Tier) -> Mask:
    """Mask elements of which a 16-bit arithmetic, unless declared, leaves nothing by overflow.

    They are lost, and `slack`, the allowed error, is at least half of the element. It does not
    excuse these: the 0 that a quotient by an infinite sum becomes is wrong. What overflows in some
    order alone is right as far as roundings explain it. All False for other tiers.
    """
    if room.lost is None or not tier.is_poorer:
        return np.zeros(y.shape, np.bool_)
    return np.asarray((room.lost > 0) & (slack >= UNJUDGED * np.abs(y)))


def _out_of_range(want: Want, actual: Floats, room: Room, tier: Tier) -> Mask:
    """Mask elements of `actual` that an intermediate result out of the range explains.

    They are lost in the tier and came as 0, infinite or NaN, if the tier is `ranged`; as infinite
    or NaN, if an expected or declared arithmetic flushes; in other tiers there are none. A 0 is not
    explained if the value itself is out of the range, and nothing that is flushed makes it less.
    An infinity is not explained that the level of the loss does not admit; see
    `_has_a_wrong_infinity`. `actual` is in float64. A number outside of the operator's own range is
    not explained. Raises what the formula raises where a tier is evaluated for the first time.
    """
    beyond = elements.outside(actual, want.low, want.high) & ~np.isnan(actual)
    beyond |= _has_a_wrong_infinity(want.values, actual, room)
    if tier.ranged:
        is_out_of_range = np.abs(want.values) - room.own > tier.arithmetic.largest
        may_be_zero = (actual == 0) & ~is_out_of_range
        gone = (~np.isfinite(actual) | may_be_zero) & ~beyond
        return np.asarray(want.expected.range_loss(tier) & gone)
    if tier.arithmetic.flushes and not tier.remark and room.lost is not None:
        # A declared arithmetic has its range too.
        return np.asarray((room.lost > 0) & ~np.isfinite(actual) & ~beyond)
    return np.zeros(actual.shape, np.bool_)


def _has_a_wrong_infinity(y: Floats, actual: Floats, room: Room) -> Mask:
    """Mask infinities that cannot stand in the place of lost elements, whatever the order was.

    That is one of the other sign than the value's, unless the element is lost as `ANYTHING`, and
    either where NaN alone may stand. Of a value that is 0 no sign is wrong. All False if nothing
    is lost.
    """
    if room.lost is None:
        return np.zeros(y.shape, np.bool_)
    is_other_sign = np.sign(actual) * np.sign(y) < 0
    is_wrong = is_other_sign & (room.lost != ANYTHING)
    return np.asarray(np.isinf(actual) & (is_wrong | (room.lost == UNORDERED)))


def _slacks(y: Floats, own: Floats, room: Room) -> tuple[Floats, Floats]:
    """Return the allowed errors below and above each value, shared ones included.

    `own` are those without. The shared one is a factor from 1 / (1 + down) to 1 + up of the value
    with its own error. Errors are not negative, and may be infinite.
    """
    if room.shared is None:
        return own, own
    size = np.abs(y)
    down = room.shared.down * _SECOND_ORDER
    up = room.shared.up * _SECOND_ORDER
    # Of an infinite own error and no shared one, the product would be NaN.
    away_from_0 = own + np.where((size + own > 0) & (up > 0), (size + own) * up, 0.0)
    # What an own error takes beyond 0 the factor takes away from it, too.
    towards_0 = np.where(own <= size, own + size * (1 - 1 / (1 + down)), away_from_0)
    below = np.where(y < 0, away_from_0, towards_0)
    above = np.where(y < 0, towards_0, away_from_0)
    return below, above


def _several_integers(y: Floats, room: Room) -> Mask:
    """Mask integers and booleans for which more than one number is right, within their error.

    `room.admitted` may list what is right, along a last axis. That an element is lost, so that any
    value is right, does not count.
    """
    several = np.floor(y + room.own) > np.ceil(y - room.own)
    if room.admitted is not None:
        several |= (room.admitted != room.admitted[..., :1]).any(axis=-1)
    return np.asarray(several)


def _fits_integers(y: Floats, got: Array, room: Room) -> Mask:
    """Mask integers and booleans that are right.

    These are whole numbers from y less the allowed error, rounded up, to y plus it, rounded down;
    elements that are lost, of which any value may come; and those that `room.admitted` lists, where
    NaN is equal to NaN.
    """
    low = np.ceil(y - room.own)
    high = np.floor(y + room.own)
    actual = elements.wide(got)
    fits = (actual >= low) & (actual <= high)
    if room.lost is not None:
        fits |= room.lost > 0
    if room.admitted is not None:
        actual = got[..., None]
        are_nan = (room.admitted != room.admitted) & (actual != actual)
        fits |= ((room.admitted == actual) | are_nan).any(axis=-1)
    return np.asarray(fits)


def _next_to_their_group(
    y: Floats, error: Floats, own: Floats, last_place: Floats, shared: Common, right_alone: Mask
) -> Floats:
    """Return each element's share of its own error next to the common one; 0 for those left out.

    `error` is got − y, `own` the error that each is allowed in common with no other, and
    `last_place` that of its last rounding; these arrays, and the result, have the shape of the
    output. `shared` is the error that a group has in common. `right_alone` masks the elements that
    are right by themselves. Left out are all others, those so small that they may become 0 or
    allowed half of their size, and all if groups differ in size.
    """
    rows_of = shared.rows(y.shape)
    if rows_of is None:
        return np.zeros(y.shape)
    index = rows_of(np.arange(y.size).reshape(y.shape))
    y_rows = rows_of(y)
    absolute = rows_of(own + last_place)
    size = np.abs(y_rows)
    is_clear = (size > _TIMES_FLOOR * _FLUSHED) & (absolute < UNJUDGED * size)
    takes_part = rows_of(right_alone) & is_clear
    divisor = np.where(takes_part, y_rows, 1.0)
    off = np.where(takes_part, rows_of(error) / divisor, 0.0)

    def of_each_row(limit: Floats) -> Floats:
        """Return a limit of the common error, which broadcasts to the output, as (rows, 1)."""
        of_each_element = np.broadcast_to(limit, y.shape)
        return np.asarray(rows_of(of_each_element)[:, :1] * _SECOND_ORDER)

    down = of_each_row(shared.down)
    up = of_each_row(shared.up)
    # The common factor, of a size that the row shows, multiplies an element's own error too.
    factor = 1 + np.minimum(up, 2 * np.abs(off).max(axis=1, keepdims=True, initial=0))
    tolerance = absolute / np.abs(divisor) * factor + _ROUNDING_OF_QUOTIENT * np.abs(off)
    tolerance = np.where(takes_part, tolerance, np.inf)
    # That factor, from 1 / (1 + down) to 1 + up, less 1 is the common error.
    _, shares_by_row = row_shares(off, tolerance, 1 - 1 / (1 + down), up)
    shares = np.empty(y.size)
    shares[index.reshape(-1)] = shares_by_row.reshape(-1)
    return shares.reshape(own.shape)


def ends(want: Want, written: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest right value of each element, in the output's dtype.

    They are those of the expected arithmetic, within the operator's range. `written` are the values
    rounded, in the output's shape; if one is infinite or NaN, so are both ends. An integer that may
    be any number has the ends of its type. `want` has a bound. Raises what the formula raises where
    that is computed for the first time.
    """
    bound = want.expected
    finite = np.isfinite(elements.wide(written))
    room = bound.room(bound.tiers()[0])
    if bound.dtype.kind == "int":
        return bound.integer_ends(room)
    rest = 0.0 if bound.rest is None else bound.rest

    def end(slack: Floats) -> Array:
        """Return the values plus this, within the operator's range and rounded.

        Those that are infinite or NaN as written stay so.
        """
        value = np.clip(bound.values + (rest + slack), want.low, want.high)
        return np.where(finite, round_to(value, bound.dtype), written)

    below, above = _slacks(bound.values, room.own, room)
    return end(-below), end(above)


#: The fewest elements whose scatter is judged.
_ENOUGH = 100
#: The largest scatter allowed, in parts of the expected one. Correct implementations (tests/bounds)
#: reach 19, released engines 2; factors rounded to TF32 reach 100 and more.
SCATTER = 60.0
#: As `SCATTER`, of an arithmetic that is declared, of which no wider one has to be told apart.
DECLARED_SCATTER = 10.0
#: The same beyond what running sums in the type come to, between which and the right value the
#: other orders are.
_BEYOND_SUMS = 1.0
#: Data not drawn at random are judged if honest orders scatter by at most SCATTER divided by this.
_OF_HONEST = 3
#: Narrower numbers to which factors may have been rounded, by their unit roundoff.
_CUTS = {
    2.0**-8: "bfloat16",
    2.0**-11: "float16 or TF32",
    2.0**-16: "two bfloat16",
    2.0**-24: "float32",
}
#: Narrower numbers explain a scatter of up to so many times their own.
_EXPLAINED = 3.0
#: The same in whole models, of which few numbers may come: honest engines reach as many times what
#: is expected.
_EXPLAINED_OF_MODELS = 10.0
#: Two answers to the same data, of one arithmetic, scatter alike; so many times as far is another.
DRIFT = 10.0
#: Beyond so many times what the others are, an element stands alone.
_LONE = 30.0
#: The fewest elements among which one can stand alone.
_FEW = 8
#: The worst element of a model's output may be off by so many times more than all are.
_WORST_OF_MODEL = 10
#: Errors of a model, relative to its output, that no narrower type excuses.
_MOST_OF_MODELS = 0.125
#: Ratios from here on are written with an exponent.
_TOO_LONG_TO_WRITE = 10**9
#: Answers whose slope over the right values is less do not follow them.
_LEAST_SLOPE = 0.5
#: The slope tells this where the right values vary by so many deviations of the roundings. Honest
#: answers would then be off by three deviations, all towards one value.
_TELLING = 6.0
#: One in so many elements, the smallest or those furthest off, may be an exception.
_EIGHTH = 8
#: Elements so many times larger than one do not count for its size.
_LARGER = 1024


class Scattering(NamedTuple):
    """How far errors of an output scatter.

    Attributes:
        ratio: The scatter in parts of what the expected arithmetic explains.
        message: Why the scatter is too far; "" if it is not.
        explained: False if no narrower arithmetic explains why a model's errors scatter too far;
            True without a message, and for what is not a model.
        remark: What was left out of a model, if that explains why errors scatter too far, else "".
            With a remark there is no message.
    """

    ratio: float
    message: str = ""
    explained: bool = True
    remark: str = ""


def scattering(want: Want, got: Array, part: Mask | None = None) -> Scattering | None:
    """Return how errors on random data scatter, by the sound formulation that explains them best.

    A formulation is a way to write the operator that an implementation may follow; the first one
    that explains the errors ends the search. The result has no message then, nor if leaving out a
    model's casts explains them, which is its remark then. Otherwise the message has how many times
    as far they scatter, and what factors look rounded to; for a whole model, a reason. That the
    data are random is not checked.

    `want` has a bound. `got` has the shape of `want.values`; infinities and NaN do not count, but
    those that a model should not have scatter infinitely far. `part` masks the elements that count,
    None for all. None if no formulation has a deviation to compare with, or for too few elements:
    fewer than 100 that count, or in a whole model none.

    A formulation that raises NotSupported is left out; other errors of a formula are raised.
    """
    least: _Off | None = None
    for formulation in _scatters(want, got, part=part):
        if formulation.explains:
            return Scattering(formulation.ratio)
        if least is None or formulation.ratio < least.ratio:
            least = formulation
    if least is None:
        return None
    remark = _remark_without_casts(want, got, part)
    if remark:
        return Scattering(least.ratio, remark=remark)
    arithmetic = want.expected.tiers()[0].name
    message = f"{_scatter_in_words(least.ratio)} as far as {arithmetic} arithmetic explains"
    # The scatter next to what inputs rounded to each narrower type would bring.
    ratios = {cut: scatter(want, got, cut, part) or np.inf for cut in _CUTS}
    if want.whole:
        reason, explained = _explanation_in_model(want, got, part, least, ratios)
        return Scattering(least.ratio, f"{message}, {reason}", explained)
    # The type that explains it best has the ratio nearest to 1.
    best = min(ratios, key=lambda cut: abs(np.log(ratios[cut])))
    if 1 / _EXPLAINED < ratios[best] < _EXPLAINED:
        message += f", as if factors were rounded to {_CUTS[best]}"
    return Scattering(least.ratio, message)


def scattering_as_declared(want: Want, got: Array, tier: Tier) -> Scattering | None:
    """Return how errors on random data scatter, by the arithmetic of a tier that is declared.

    The message says how many times as far they do, if that is more than DECLARED_SCATTER, else "".
    `want` has a bound and is not of a whole model; `got` has the shape of its values, and
    infinities and NaN do not count. None if the tier has no deviation to compare with, or for fewer
    than 100 elements that count. A formula that raises NotSupported has none; its other errors are
    raised.
    """
    least: float | None = None
    with np.errstate(all="ignore"):
        deviations = [*want.expected.deviations_of(tier)]
        for error, most in _errors_by_order(want, got, tier, DECLARED_SCATTER):
            ratio = min(_ratios(error, np.isfinite(error), deviations), default=None)
            if ratio is None:
                return None
            if ratio <= most:
                return Scattering(ratio)
            least = ratio if least is None else least
    if least is None:
        return None
    return Scattering(least, f"{_scatter_in_words(least)} as far as {tier.name} explains")


def _errors_by_order(
    want: Want, got: Array, tier: Tier, most: float
) -> Iterator[tuple[Floats, float]]:
    """Yield the errors of answers, and how far they are beyond those of running sums in a tier.

    With each comes how many deviations they may scatter: `most`, and about one beyond the sums.
    Independent roundings do not explain running sums of terms of one sign, which stop growing. An
    answer between such a sum and the right value has no error then. Nothing more is yielded for a
    tier whose sums are in float32, or if the sums take too long. `want` has a bound and is not of a
    model; `got` has the shape of its values. Raises what the formula raises, but for NotSupported.
    """
    error = _errors(want, elements.wide(got))
    yield error, most
    dtype = tier.arithmetic.grid.dtype
    if not dtype.is_half:
        return
    bound = want.expected
    least = np.zeros(error.shape)
    greatest = np.zeros(error.shape)
    try:
        for answer in running_sums(bound.evaluation.node, dtype):
            of_sum = _errors(want, elements.wide(elements.native(answer[bound.place])))
            of_sum = np.where(np.isfinite(of_sum), of_sum, 0.0)
            least = np.minimum(least, of_sum)
            greatest = np.maximum(greatest, of_sum)
    except NotSupported:  # It takes too long.
        return
    beyond = np.where(error < least, error - least, np.maximum(0.0, error - greatest))
    yield beyond, _BEYOND_SUMS


def _scatters_beyond(want: Want, got: Array, tier: Tier, part: Mask) -> bool:
    """Return True if no formulation of a tier explains the errors of answers to random data.

    None does if all are much further off than its roundings scatter, or if the answers do not
    follow the right values. The elements in `part` count, however few: those for which the tier's
    bound says nothing, such as a long sum in float16, for which 0 is within the bound. False for
    other data, for a whole model, and if the tier has no deviation to compare with. `want` has a
    bound. `got` has the shape of its values; infinities and NaN do not count. A formula that raises
    NotSupported has none.
    """
    if want.whole or not want.of_random_data or not part.any():
        return False
    with np.errstate(all="ignore"):
        deviations = [*want.expected.deviations_of(tier)]
        return bool(deviations) and not any(
            _explains(want.values + shift, error - shift, deviation, part, most)
            for error, most in _errors_by_order(want, got, tier, SCATTER)
            for shift, deviation in deviations
        )


def _explains(y: Floats, error: Floats, deviation: Floats, part: Mask, most: float) -> bool:
    """Return True if a formulation's roundings explain the errors of the elements in `part`.

    Their root mean square is then at most so many deviations, and the answers follow `y`, the
    values of this formulation: 0 everywhere does not, and neither do exchanged rows. All have one
    shape. Infinite errors, NaN, and elements without a deviation do not count.
    """
    counts = part & np.isfinite(error) & (deviation > 0)
    y = y[counts]
    error = error[counts]
    deviation = deviation[counts]
    if root_mean_square(error / deviation) > most:
        return False
    if y.size < _FEW:
        return True
    differences = y - np.mean(y)
    spread = root_mean_square(differences)
    if spread <= _TELLING * root_mean_square(deviation):
        return True
    slope = 1 + np.mean(differences * error) / spread**2
    return bool(slope >= _LEAST_SLOPE)


def _scatter_in_words(ratio: float) -> str:
    """Return the beginning of a message: how many times as far errors scatter."""
    times = f"{ratio:,.0f}" if ratio < _TOO_LONG_TO_WRITE else f"{ratio:.0e}"
    return f"errors scatter {times} times"


def _remark_without_casts(want: Want, got: Array, part: Mask | None) -> str:
    """Return a remark if a model's errors are explained by leaving out its casts to 16 bits, or "".

    `part` masks the elements that count, None for all. "" too for what is not a model. An
    evaluation that raises NotSupported explains nothing; other errors of a formula are raised.
    """
    without = [tier for tier in want.expected.tiers() if tier.arithmetic.keeps_casts]
    if not without:
        return ""
    deviations = want.expected.deviations_without_casts()
    with np.errstate(all="ignore"):
        error = _errors(want, elements.wide(got))
        if any(off.explains for off in _scatters_of_model(want, error, deviations, part)):
            return without[0].remark
    return ""


def _explanation_in_model(
    want: Want, got: Array, part: Mask | None, off: "_Off", ratios: Mapping[float, float]
) -> tuple[str, bool]:
    """Return words for the scatter of a model's output, and True if a narrower type explains it.

    `off` is the scatter by the expected arithmetic, which is too far. `ratios` are the scatter by
    the types in `_CUTS`, by their unit roundoff; below 10, a type explains it, and the words name
    the finest such type. `part` masks the elements that count, None for all. Nothing explains a few
    elements that stand alone, or errors of an eighth of the output's size.
    """
    if (off.has_lone_errors and off.rms_of_others <= SCATTER) or off.ratio <= SCATTER:
        return f"{off.worst:,.3g} times in few elements: no narrower type explains that", False
    actual = elements.wide(got)
    counts = np.isfinite(actual) & np.isfinite(want.values)
    if part is not None:
        counts &= part
    deviation = off_by(want.values[counts], actual[counts])
    if deviation >= _MOST_OF_MODELS:
        return f"and are {deviation:.2g} of its size: more than a narrower type explains", False
    # A ratio may be far below 1: a part of a model may be computed so, and the rest not.
    explaining = [cut for cut in _CUTS if ratios[cut] < _EXPLAINED_OF_MODELS]
    if not explaining:
        return "and no narrower type explains that", False
    narrower = _CUTS[min(explaining)]
    return f"as if some part was computed in {narrower}: see opcheck locate", True


def scatters_independently(want: Want) -> bool:
    """Return True if on the data of `want` honest orders of computing scatter as the theory says.

    Those are the plain answer, sums one by one in both directions, and functions that are off to
    either side. The theory takes roundings for independent, which those of equal or periodic terms
    are not. `want` has a bound. False too if a formula raises NotSupported, as beyond a budget, or
    if an order gives a scatter of NaN. An order with too few elements counts as scattering well.
    Raises what else the node's formula raises.
    """
    bound = want.expected
    try:
        for answer in other_orders(bound.evaluation.node):
            ratio = scatter(want, elements.native(answer[bound.place]))
            # NaN is not within the limit either.
            if ratio is not None and not ratio <= SCATTER / _OF_HONEST:
                return False
    except NotSupported:  # It takes too long.
        return False
    return True


def root_mean_square(x: Floats) -> float:
    """Return the root of the mean square of an array of any shape, 0 for no elements."""
    return float(np.sqrt(np.mean(x**2))) if x.size else 0.0


def off_by(y: Floats, x: Floats) -> float:
    """Return the deviations of `x` relative to the size of `y`, both root mean squares.

    `x` and `y` have one shape. If an eighth of the elements are off by more than an eighth of their
    own size, the result is at least the 7/8 quantile of such relative deviations; an element's own
    size is the root mean square of those that are not much larger. 0 for equal arrays, NaN and
    equal infinities included; infinite if one has an infinity or NaN where the other has not, or if
    all of `y` is 0 and `x` is not.
    """
    with np.errstate(all="ignore"):
        error = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        if not error.any():
            return 0.0
        # An infinity of both, as in a mask, is neither an error nor a size.
        y = np.where(np.isfinite(y), y, 0.0)
        deviation = np.divide(root_mean_square(error), root_mean_square(y))
        by_element = np.where(error == 0, 0.0, error / _sizes(y))
        worst = np.quantile(by_element, 1 - 1 / _EIGHTH)
        if worst > _MOST_OF_MODELS:
            deviation = max(deviation, worst)
    return float(deviation) if np.isfinite(deviation) else np.inf


class _Off(NamedTuple):
    """Errors of an output, each over the deviation that one sound formulation expects.

    Attributes:
        rms: Their root mean square over all elements that count; infinite for lost values.
        worst: The largest, of a whole model; 0 for other outputs.
        size: The number of elements that count, of a whole model; 0 for other outputs.
        far: An element of a model is off by half its size, which the deviations do not explain.
    """

    rms: float
    worst: float = 0.0
    size: int = 0
    far: bool = False

    @property
    def has_lone_errors(self) -> bool:
        """True if few elements of a model are much further off than the others."""
        return self.worst > _LONE * self.rms_of_others

    @property
    def explains(self) -> bool:
        """True if a right answer may be as far off.

        Of a model, no element is then off by half its size beyond what is expected, and no lone one
        by more than SCATTER deviations.
        """
        is_near = not self.far and not (self.has_lone_errors and self.worst > SCATTER)
        return self.ratio <= SCATTER and is_near

    @property
    def ratio(self) -> float:
        """The ratio that is compared with SCATTER."""
        return max(self.rms, self.worst / _WORST_OF_MODEL)

    @property
    def rms_of_others(self) -> float:
        """The root mean square without the worst element; infinite if few elements count."""
        if self.size < _FEW:
            return np.inf
        squares = self.size * self.rms**2 - self.worst**2
        return float(np.sqrt(max(0.0, squares) / (self.size - 1)))


def scatter(want: Want, got: Array, cut: float = 0.0, part: Mask | None = None) -> float | None:
    """Return the root mean square of each error over its expected deviation.

    That is about 1 for the expected arithmetic, in any order, and hundreds for anything narrower; 1
    if the rounding to the output's dtype explains it alone and there is no `cut`. Of a model's
    output it is at least a tenth of the worst element's, and infinite if it lost a number. Of
    several sound formulations the nearest counts.

    Elements count that are finite, well above what may be flushed, and expected to deviate. None
    for fewer than 100 of them, of a whole model for none, and without a theory of the errors.
    Whether the data are random, as the theory assumes, is the caller's to know. `cut` is the unit
    roundoff of numbers to which inputs were rounded, 0 for none; `part` masks the elements that
    count, None for all. `want` has a bound. A formulation that raises NotSupported is left out;
    other errors of a formula are raised.
    """
    ratios = [off.ratio for off in _scatters(want, got, cut, part)]
    return min(ratios, default=None)


def _scatters(want: Want, got: Array, cut: float = 0.0, part: Mask | None = None) -> Iterator[_Off]:
    """Yield the scatter by each sound formulation, if there are enough elements.

    100 must count, except of a whole model, where one is enough. Infinities, NaN and elements so
    small that they may be flushed do not count, in whole models only expected infinities and NaN.
    The ratio is 1, and the only one, if the last rounding alone explains the errors and there is no
    `cut`: the unit roundoff of numbers to which inputs were rounded, 0 for none. `part` masks the
    elements that count, None for all. `want` has a bound. A formulation that raises NotSupported is
    left out; other errors of a formula are raised.
    """
    bound = want.expected
    y = want.values
    if y.size < _ENOUGH and not want.whole:
        return
    with np.errstate(all="ignore"):
        error = _errors(want, elements.wide(got))
        if want.whole:
            yield from _scatters_of_model(want, error, bound.deviations(cut), part)
            return
        floor = bound.floor(bound.tiers()[0])
        counts = np.isfinite(error) & (np.abs(y) > _TIMES_FLOOR * floor)
        if part is not None:
            counts &= part
        if np.count_nonzero(counts) < _ENOUGH:
            return
        # If the last rounding alone explains it, the deviation need not be computed.
        last = half_ulp(y[counts], bound.dtype) / np.sqrt(3)
        if not cut and root_mean_square(error[counts] / last) <= SCATTER:
            yield _Off(1.0)
            return
        yield from map(_Off, _ratios(error, counts, bound.deviations(cut)))


def _ratios(
    error: Floats, counts: Mask, deviations: Iterable[tuple[Floats, Floats]]
) -> Iterator[float]:
    """Yield for each formulation the root mean square of errors over their expected deviations.

    `error` is got − y. `deviations` has the distance of each formulation from the expected values,
    and its deviation, in the shape of `error`. Elements count that the mask `counts` has and whose
    deviation is not 0; a formulation with fewer than 100 is left out.
    """
    for shift, deviation in deviations:
        rounded = counts & (deviation > 0)
        if np.count_nonzero(rounded) >= _ENOUGH:
            yield root_mean_square((error - shift)[rounded] / deviation[rounded])


def may_scatter_far(want: Want) -> Mask:
    """Mask elements of a model that may be off by half their size and still scatter as expected.

    That is by every sound formulation; all are masked if there is no theory of errors. `want` has a
    bound. A formulation that raises NotSupported is left out; other errors of a formula are raised.
    """
    may_be_far = np.ones(want.values.shape, np.bool_)
    with np.errstate(all="ignore"):
        for shift, deviation in want.expected.deviations():
            y = want.values + shift
            may_be_far &= SCATTER * deviation >= UNJUDGED * np.maximum(np.abs(y), _sizes(y))
    return may_be_far


def _sizes(y: Floats) -> Floats:
    """Return for each element the root mean square of those at most `_LARGER` times as large.

    Zeros, infinities and NaN do not count in it. The smallest eighth of the others, and zeros,
    infinities and NaN, have the size of the smallest beyond that eighth; all have 0 if no other
    number is there. The result has the shape of `y`.
    """
    size = np.where(np.isfinite(y), np.abs(y), 0.0)
    ascending = np.sort(size[size > 0])
    if not ascending.size:
        return size
    least = np.maximum(size, ascending[ascending.size // _EIGHTH])
    counts = np.searchsorted(ascending, _LARGER * least, side="right")
    sums_of_squares = np.cumsum(ascending**2)
    return np.asarray(np.sqrt(sums_of_squares[counts - 1] / counts))


def _scatters_of_model(
    want: Want, error: Floats, deviations: Iterator[tuple[Floats, Floats]], part: Mask | None
) -> Iterator[_Off]:
    """Yield the scatter of a model's output by each formulation; infinite, once, for lost values.

    `error` is got − y; `deviations` has the distance of each formulation from the expected values,
    and its deviation; `part` masks the elements that count, None for all. A value is lost if it is
    not finite, but both the expected one and the engine's plain one are; if the plain one is not
    either, the element does not count, and neither does an expected infinity or NaN. Nothing is
    yielded if none counts. A deviation is at least what rounding the element's size once may bring,
    and 16 times the floor. Raises what evaluating the plain model raises if a value is not finite.
    """
    bound = want.expected
    y = want.values
    counts = np.isfinite(y)
    if part is not None:
        counts &= part
    if not counts.any():
        return
    gone = counts & ~np.isfinite(error)
    if gone.any():
        # What leaves the range in the engine's own arithmetic may in others.
        plain = elements.wide(bound.evaluation.plain[bound.place])
        if (gone & np.isfinite(plain)).any():
            yield _Off(np.inf)
            return
        counts &= ~gone
    first = bound.tiers()[0]
    for shift, deviation in deviations:
        # What a model loses of its zeros, as a part of numbers that are as large, it may lose.
        sizes = _sizes(y + shift)
        off = np.abs(error - shift)
        least = np.hypot(first.arithmetic.u * sizes, _TIMES_FLOOR * bound.floor(first))
        ratios = (off / np.hypot(deviation, least))[counts]
        far = (ratios > SCATTER) & (off > UNJUDGED * sizes)[counts]
        yield _Off(
            rms=root_mean_square(ratios),
            worst=float(ratios.max(initial=0)),
            size=ratios.size,
            far=bool(far.any()),
        )


def row_shares(off: Floats, own: Floats, down: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return λ of each row, (n, 1), and each element's share of its own tolerance, (n, N).

    The elements of a Softmax row are divided by one sum, whose error is the same relative error t
    of all of them. Each element may add its own, so that

        |q_i − 1 − t| ≤ l_i   for all i,   and   −d ≤ t ≤ c

    with the quotients q_i = got_i/y_i, the elements' own tolerances l_i and the ends of the common
    error. The share that a row uses is the smallest factor λ for which some t satisfies this with
    all l_i, d and c multiplied by λ. The row is right if λ ≤ 1. Otherwise the wrong elements are
    those too far from the median.

    `off` = got/y − 1 and `own`, the elements' tolerances, infinite for those that take no part,
    have the shape (n, N). `down` and `up`, the limits of the common error below and above 0, have
    (n, 1) and may be infinite. Shares are at most λ in right rows; in others, one is above 1. An
    element that takes no part, or has the tolerance 0, has the share 0.
    """
    part = np.isfinite(own)
    off = np.where(part, off, 0.0)
    own = np.where(part, own, 0.0)
    # The limits of the common error are one more element: off by 0, with a tolerance on each side.
    above = _with_limit(off, own, part, limit=down, sign=-1)
    below = _with_limit(off, own, part, limit=up, sign=1)
    scale = np.zeros(down.shape)
    # The search for λ is Newton's on a convex function that consists of straight pieces. From the
    # left it climbs, and ends after as many steps as it meets pieces. At its end, the largest lower
    # end of the common error t is no larger than the least upper one, and is the t that fits.
    for _ in range(_MAX_NEWTON_STEPS):
        common, high, room_above = _extreme(above, scale, -1)
        _, low, room_below = _extreme(below, scale, 1)
        room = room_above + room_below
        step = np.where(room > 0, (high - low) / np.where(room > 0, room, 1), 0)
        # A step back is rounding, next to the end.
        if np.all(step <= scale):
            break
        scale = np.maximum(scale, step)
    wrong = scale[:, 0] > 1
    if wrong.any():
        middle = np.nanmedian(np.where(part, off, np.nan)[wrong], axis=1, keepdims=True)
        common[wrong] = np.clip(middle, -down[wrong], up[wrong])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.abs(off - common) / own
    # The rounding of a large common error shows in small shares.
    each = np.where(wrong[:, None], each, np.minimum(each, scale))
    return scale, np.where(part & (own > 0), each, 0.0)


class _Side(NamedTuple):
    """The elements of rows, and the limit of the common error on one side, all (n, N + 1)."""

    off: Floats
    own: Floats
    #: `off`, but infinite for elements that take no part, so that they are never extreme.
    off_of_part: Floats


def _with_limit(off: Floats, own: Floats, part: Mask, *, limit: Floats, sign: int) -> _Side:
    """Return rows with the limit of the common error, (n, 1), as one more element.

    `sign` is −1 if the largest element of `_extreme` is sought, 1 for the smallest. An infinite
    `limit` takes no part.
    """
    bounded = np.isfinite(limit)
    off = np.concatenate([off, np.zeros(limit.shape)], axis=1)
    own = np.concatenate([own, np.where(bounded, limit, 0.0)], axis=1)
    takes_part = np.concatenate([part, bounded], axis=1)
    return _Side(off, own, np.where(takes_part, off, sign * np.inf))


def _extreme(side: _Side, scale: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
    """Return the largest off − λ·own for the sign −1, the smallest off + λ·own for 1.

    Also its `off` and `own`; all are (n, 1), as is λ, the `scale`. An extreme of no elements is 0.
    """
    ends = side.off_of_part + sign * scale * side.own
    place = ends.argmin(axis=1) if sign > 0 else ends.argmax(axis=1)
    at = (np.arange(len(ends)), place)
    end = ends[at][:, None]
    return np.where(np.isfinite(end), end, 0.0), side.off[at][:, None], side.own[at][:, None]
