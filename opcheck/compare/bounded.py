"""Values against the error bound of an operator's formula, element by element.

With an exact value y and an error r that the bound allows, every number that some value in
[y − r, y + r] rounds to is right. If elements have an error in common, such as the sum of their
row, `row_shares` also tests that they agree about it. The rules in `elements` hold here too.

The tiers of a bound are tried in order; the first that all elements fit decides.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np

from opcheck.compare import elements
from opcheck.compare.elements import Findings, Floats, Mask, Places, Want
from opcheck.dtypes import DType, half_ulp, round_to
from opcheck.engine import Room, Tier
from opcheck.engine.orders import other_orders
from opcheck.errors import NotSupported
from opcheck.model import Array
from opcheck.numbers.bounded.array import Common

#: From this allowed relative error on, an element is unjudged.
UNJUDGED = 0.5
_SECOND_ORDER = 1.005


class Decision(NamedTuple):
    """The tier that decides, and the findings.

    `found` and `shares()`, of all elements by places, are of the first tier if the deciding one has
    a remark, or if none `fits`, of the one with the fewest wrong elements. `apart`: an element is
    wrong only next to its group. `unjudged` are elements that the first tier says nothing about.
    """

    tier: Tier
    fits: bool
    found: Findings
    apart: bool
    shares: Callable[[], list[tuple[Places, Floats]]]
    unjudged: Mask


class ByElement(NamedTuple):
    """Each element's share and allowed error; those `apart` are wrong only next to their group."""

    shares: Floats
    allowed: Floats
    apart: Mask
    unjudged: Mask


def examine(want: Want, got: Array, dtype: DType, declared: Collection[str]) -> Decision:
    """Judge `got`, in `dtype` and the shape of `want.values`; `declared` tiers bring no remark."""
    got = elements.native(got)
    first, *others = want.expected.tiers(declared)
    judged = judge(want, got, dtype, first)
    wrong, apart, unjudged = judged.shares > 1, bool(judged.apart.any()), judged.unjudged
    whole = Findings(got.size, steps=0 if dtype.kind == "float" else None)
    _note(whole, want, got, judged, dtype)

    def decision(tier: Tier, shown: Tier, fits: bool, found: Findings, apart: bool) -> Decision:
        def shares() -> list[tuple[Places, Floats]]:
            return [(np.arange(got.size), judge(want, got, dtype, shown).shares)]

        return Decision(tier, fits, found, apart, shares, unjudged)

    if not wrong.any():
        return decision(first, first, True, whole, False)
    best, fewest = (first, whole, apart), whole.count
    for tier in others:
        alone = judge(want, got, dtype, tier, alone=True).shares > 1
        if (alone & wrong).any() and np.count_nonzero(alone) >= fewest:
            # No group makes an element right: they need not be compared, which takes long.
            continue
        judged = judge(want, got, dtype, tier)
        if not ((judged.shares > 1) & wrong).any():
            # A range decides only if wrong elements were lost to it.
            if tier.remark and (not tier.ranged or (want.expected.range_loss(tier) & wrong).any()):
                return decision(tier, first, True, whole, apart)
            found = Findings(got.size, steps=whole.steps, unjudged=whole.unjudged, used=1.0)
            return decision(first if tier.ranged else tier, tier, True, found, False)
        found = Findings(got.size, steps=whole.steps)
        _note(found, want, got, judged, dtype)
        found.unjudged = whole.unjudged
        if found.count < fewest:
            best, fewest = (tier, found, bool(judged.apart.any())), found.count
    tier, found, apart = best
    return decision(tier, tier, False, found, apart)


def fits_at_least(want: Want, got: Array, dtype: DType) -> bool:
    """Return True if `got`, as in `examine`, is right by the least error that the bound allows.

    The bound itself, which takes much longer, is not computed: False says nothing.
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
    """Judge elements that are `wrong` by a stated tolerance by the floor and the range rules.

    Returns the remark of the tier that admits most, and each element's share of the floor: 0 if a
    range rule excuses it, infinite if no rule does. Signs of zeros are not judged.
    """
    got = elements.native(got)
    actual = elements.wide(got)
    with np.errstate(all="ignore"):
        error = np.abs(_errors(want, actual))
        shares = np.where((error <= want.floor) & (error != 0), error / want.floor, np.inf)
    if want.bound is None:
        return "", shares
    shares[elements.outside(actual, want.low, want.high)] = np.inf
    found: list[tuple[int, str, Floats]] = []
    for tier in want.bound.tiers(declared):
        those = shares.copy()
        room = want.bound.room(tier)
        those[room.own == 0] = np.inf
        those[_out_of_range(want, actual, room, tier)] = 0.0
        those[~np.isfinite(want.values) & room.unknown] = 0.0
        left = int(np.count_nonzero((those > 1) & wrong))
        found.append((left, tier.remark, those))
        if not left:
            break
    return min(found, key=lambda one: one[0])[1:]


def _note(found: Findings, want: Want, got: Array, judged: ByElement, dtype: DType) -> None:
    y = want.values

    def allowed(i: int) -> str:
        if not np.isfinite(y.flat[i]) or judged.allowed.flat[i] == 0:
            return "exact"
        return f"±{judged.allowed.flat[i]:.3g}{' of its row' * bool(judged.apart.flat[i])}"

    found.add(lambda: np.arange(y.size), judged.shares, allowed)
    found.unjudged += int(np.count_nonzero(judged.unjudged))
    if found.steps is not None and y.size:
        with np.errstate(all="ignore"):
            found.step(int(elements.distance(round_to(y, dtype), got).max()))


@np.errstate(all="ignore")
def judge(want: Want, got: Array, dtype: DType, tier: Tier, *, alone: bool = False) -> ByElement:
    """Judge every element by one tier, and if not `alone` next to its group."""
    y = want.values
    nothing = np.zeros(y.shape, np.bool_)
    room = want.expected.room(tier)
    if dtype.kind != "float":
        shares = np.where(_whole(y, got, room), 0.0, np.inf)
        return ByElement(shares, room.own, nothing, _open(y, room) if want.whole else nothing)
    is_vague = _vague_by_overflow(y, room.own, room, tier).any()
    if not is_vague and not elements.outside(got, want.low, want.high).any():
        shares = np.abs(_errors(want, got)) / room.own
        if shares.max(initial=0) <= 1:
            # Each element keeps to its own error, without those in common and of rounding.
            return ByElement(shares, room.own, nothing, _unjudged(want, room.own, room, tier))
    return _judge(want, got, dtype, tier, alone)


def _errors(want: Want, got: Array) -> Floats:
    error = np.subtract(got, want.values, dtype=np.float64)
    return error if want.rest is None else error - want.rest


def _unjudged(want: Want, slack: Floats, room: Room, tier: Tier) -> Mask:
    y = want.values
    size = np.abs(y)
    if room.shared is not None:
        slack = slack + size * room.shared.up
    finite, least = np.isfinite(y), 2 * want.expected.floor(tier)
    if want.whole:  # Its zeros are off as the others are.
        size = np.maximum(size, _sizes(y))
        return np.asarray(finite & (slack >= UNJUDGED * size) & (slack > least) | room.unknown)
    vague = (slack >= UNJUDGED * size) & (size > least) & finite
    return np.asarray(vague | room.unknown)


def _judge(want: Want, got: Array, dtype: DType, tier: Tier, alone: bool) -> ByElement:
    """Judge floats; right are those that fit, lost ones, and equal infinities and NaN."""
    y, room = want.values, want.expected.room(tier)
    # The error that each is allowed in common with no other.
    actual, error, own = elements.wide(got), _errors(want, got), room.own
    if want.rounded is not None:
        own = own + half_ulp(y, want.rounded)
    slacks = _slacks(y, own, room)
    slack = np.where(error < 0, *slacks)
    finite, beyond = np.isfinite(y), elements.outside(actual, want.low, want.high)
    fits = _is_between(want, got, dtype, slacks) & finite & ~beyond
    # An infinity is wrong even if any number is right.
    says_something = np.abs(y) >= slack if want.whole else np.isfinite(slack)
    fits &= says_something | np.isfinite(actual)
    if tier.remark and not tier.ranged:
        # A poorer arithmetic, unless declared, is no excuse for an infinity or NaN.
        fits &= np.isfinite(actual) | ~np.isfinite(elements.wide(round_to(y, dtype)))
        vague = _vague_by_overflow(y, slack, room, tier)
        if vague.any():
            fits &= ~vague | _fits_without_limits(want, got, dtype, tier)
    lost = _out_of_range(want, actual, room, tier) & finite
    same = ~finite & ((actual == y) | (np.isnan(actual) & np.isnan(y)) | room.unknown)
    right = fits | lost | same
    # Values lie within a factor of 2 of the numbers that they round to.
    last_place = half_ulp(np.fmin(np.abs(y) + slack, 2 * np.abs(actual)), dtype)
    allowed = np.where(finite, slack + np.where(slack > 0, last_place, 0.0), 0.0)
    shares = elements.ratio(np.abs(error), allowed + np.where(slack > 0, 0.0, last_place), fits)
    shares[(error == 0) & fits] = 0.0
    # What is no number has no finite error.
    shares[beyond & ~right] = np.inf
    shares[right & ~fits] = 0.0
    apart = np.zeros(y.shape)
    if room.shared is not None and got.size > 1 and not alone:
        apart = _next_to_their_group(y, error, own, last_place, room.shared, fits)
        shares = np.where(lost, 0.0, np.maximum(shares, apart))
    return ByElement(shares, allowed, apart > 1, _unjudged(want, own, room, tier))


def _is_between(want: Want, got: Array, dtype: DType, slacks: tuple[Floats, Floats]) -> Mask:
    """Mask elements no further below and above their values than this, as `dtype` rounds it.

    A tie may be broken either way only within the allowed error.
    """
    rest = 0.0 if want.rest is None else want.rest
    below, above = slacks
    low = round_to(want.values + (rest - below), dtype)
    high = round_to(want.values + (rest + above), dtype)
    return np.asarray((got >= low) & (got <= high))


def _fits_without_limits(want: Want, got: Array, dtype: DType, tier: Tier) -> Mask:
    """Mask elements that the tier's roundings alone explain, without overflow and flushing.

    In some orders of a long product partial ones overflow in float16; an implementation that keeps
    to another order is no worse than that arithmetic.
    """
    room = want.expected.room(tier.without_limits())
    return _is_between(want, got, dtype, _slacks(want.values, room.own, room))


def _vague_by_overflow(y: Floats, slack: Floats, room: Room, tier: Tier) -> Mask:
    """Mask elements of which a poorer arithmetic, unless declared, leaves nothing by overflow.

    It is no excuse for these: the 0 that a quotient by an infinite sum becomes is wrong. What
    overflows in some order alone is right as far as roundings explain it.
    """
    is_poorer = tier.arithmetic.everywhere and bool(tier.remark)
    if room.lost is None or not is_poorer:
        return np.zeros(y.shape, np.bool_)
    return np.asarray(room.lost & (slack >= UNJUDGED * np.abs(y)))


def _out_of_range(want: Want, actual: Floats, room: Room, tier: Tier) -> Mask:
    """Mask elements that result if an intermediate result leaves the range."""
    beyond = elements.outside(actual, want.low, want.high) & ~np.isnan(actual)
    if tier.ranged:
        gone = (~np.isfinite(actual) | (actual == 0)) & ~beyond
        return np.asarray(want.expected.range_loss(tier) & gone)
    if tier.arithmetic.flushes and not tier.remark and room.lost is not None:
        # A declared arithmetic has its range too.
        return np.asarray(room.lost & ~np.isfinite(actual) & ~beyond)
    return np.zeros(actual.shape, np.bool_)


def _slacks(y: Floats, own: Floats, room: Room) -> tuple[Floats, Floats]:
    """Return the allowed errors below and above each value, shared ones included."""
    if room.shared is None:
        return own, own
    size = np.abs(y)
    down, up = (end * _SECOND_ORDER for end in (room.shared.down, room.shared.up))
    # An element's own error may be infinite without one in common.
    more = own + np.where((size + own > 0) & (up > 0), (size + own) * up, 0.0)
    less = np.where(own <= size, own + size * (1 - 1 / (1 + down)), more)
    return np.where(y < 0, more, less), np.where(y < 0, less, more)


def _open(y: Floats, room: Room) -> Mask:
    """Integers and booleans that may be more than one number."""
    found = np.floor(y + room.own) > np.ceil(y - room.own)
    if room.admitted is not None:
        found |= (room.admitted != room.admitted[..., :1]).any(axis=-1)
    return np.asarray(found)


def _whole(y: Floats, got: Array, room: Room) -> Mask:
    """Integers: all of those within reach are right."""
    low, high = np.ceil(y - room.own), np.floor(y + room.own)
    actual = elements.wide(got)
    fits = (actual >= low) & (actual <= high)
    if room.lost is not None:
        fits |= room.lost
    if room.admitted is not None:
        one, both = got[..., None], room.admitted
        fits |= ((both == one) | ((both != both) & (one != one))).any(axis=-1)
    return np.asarray(fits)


def _next_to_their_group(
    y: Floats, error: Floats, own: Floats, last_place: Floats, shared: Common, part: Mask
) -> Floats:
    """Each element's share of its own error next to the common one; 0 for those left out.

    Elements that are wrong by themselves take no part.
    """
    if (rows_of := shared.rows(y.shape)) is None:
        return np.zeros(y.shape)
    index = rows_of(np.arange(y.size).reshape(y.shape))
    y, error, absolute, part = (rows_of(one) for one in (y, error, own + last_place, part))
    size = np.abs(y)
    # The row test leaves out elements below so many times the floor.
    # Twice the smallest normal float32, below which engines flush to zero.
    part = part & (size > 16 * (2.0**-125)) & (absolute < UNJUDGED * size)
    divisor = np.where(part, y, 1.0)
    off = np.where(part, error / divisor, 0.0)
    sides = ((end, own.shape if end.shape else part.shape) for end in (shared.down, shared.up))
    down, up = (rows_of(np.broadcast_to(*end))[:, :1] * _SECOND_ORDER for end in sides)
    grown = 1 + np.minimum(up, 2 * np.abs(off).max(axis=1, keepdims=True, initial=0))
    tolerance = absolute / np.abs(divisor) * grown + 2.0**-51 * np.abs(off)
    each = row_shares(off, np.where(part, tolerance, np.inf), 1 - 1 / (1 + down), up)[1]
    found = np.empty(y.size)
    found[index.reshape(-1)] = each.reshape(-1)
    return found.reshape(own.shape)


def ends(want: Want, written: Array) -> tuple[Array, Array]:
    """The lowest and the highest right value of each element, in the output's dtype.

    `written` is the value rounded; if it is infinite or NaN, so are both ends.
    """
    bound, finite = want.expected, np.isfinite(elements.wide(written))
    room, y = bound.room(bound.tiers()[0]), bound.values
    below, above = _slacks(y, room.own, room)
    rest = 0.0 if bound.rest is None else bound.rest
    reach = (np.clip(y + (rest + by), want.low, want.high) for by in (-below, above))
    low, high = (np.where(finite, round_to(end, bound.dtype), written) for end in reach)
    return low, high


#: The fewest elements whose scatter is judged.
_ENOUGH = 100
#: The largest scatter allowed, in parts of the expected one. Correct implementations (tests/bounds)
#: reach 19, released engines 2; factors rounded to TF32 reach 100 and more.
SCATTER = 60.0
#: Honest answers scatter by no more than so much less, on random data and on any that is judged.
_OF_HONEST = 3
#: Narrower numbers to which factors may have been rounded, by their unit roundoff.
_CUTS = {
    2.0**-8: "bfloat16",
    2.0**-11: "float16 or TF32",
    2.0**-16: "two bfloat16",
    2.0**-24: "float32",
}
#: Narrower numbers explain a scatter of up to so many times their own; in whole models, of which
#: few numbers may come, honest engines reach as many times what is expected.
_EXPLAINED, _EXPLAINED_OF_MODELS = 3.0, 10.0
#: Two answers to the same data, of one arithmetic, scatter alike; so many times as far is another.
DRIFT = 10.0
#: Beyond so many times what the others are, an element stands alone; among so many at least.
_LONE, _FEW = 30.0, 8
#: Errors of a model, relative to its output, that no narrower type excuses.
_MOST_OF_MODELS = 0.125


class Scattering(NamedTuple):
    """The scatter of errors on random data, in parts of what the expected arithmetic explains.

    `message` says why that is too far, or is "". `explained`: some narrower arithmetic explains it.
    """

    ratio: float
    message: str = ""
    explained: bool = True


def scattering(want: Want, got: Array, part: Mask | None = None) -> Scattering | None:
    """Return how errors on random data scatter; None for too few elements, or without a theory.

    Only a `part` of the elements may count.
    """
    found: list[_Off] = []
    for off in _scatters(want, got, part=part):
        found.append(off)
        if off.ratio <= SCATTER and not off.far and not (off.few and off.worst > SCATTER):
            # One sound formulation that explains the errors is enough.
            return Scattering(off.ratio)
    if not found:
        return None
    least = min(found, key=lambda off: off.ratio)
    name = want.expected.tiers()[0].name
    many = f"{least.ratio:,.0f}" if least.ratio < 10**9 else f"{least.ratio:.0e}"
    message = f"errors scatter {many} times as far as {name} arithmetic explains"
    ratios = {cut: scatter(want, got, cut, part) or np.inf for cut in _CUTS}
    if want.whole:
        actual = elements.wide(got)
        counts = np.isfinite(actual) & np.isfinite(want.values) & (True if part is None else part)
        harm = off_by(want.values[counts], actual[counts])
        # A part of a model may be computed so, and the rest not.
        fine = [cut for cut in _CUTS if ratios[cut] < _EXPLAINED_OF_MODELS]
        explained = False
        if (least.few and least.others <= SCATTER) or least.ratio <= SCATTER:
            said = f"{least.worst:,.3g} times in few elements: no narrower type explains that"
        elif explained := bool(fine) and harm < _MOST_OF_MODELS:
            said = f"as if some part was computed in {_CUTS[min(fine)]}: see opcheck locate"
        elif harm < _MOST_OF_MODELS:
            said = "and no narrower type explains that"
        else:
            said = f"and are {harm:.2g} of its size: more than a narrower type explains"
        return Scattering(least.ratio, f"{message}, {said}", explained)
    best = min(ratios, key=lambda cut: abs(np.log(ratios[cut])))
    alike = 1 / _EXPLAINED < ratios[best] < _EXPLAINED
    said = f"{message}, as if factors were rounded to {_CUTS[best]}" if alike else message
    return Scattering(least.ratio, said)


def scatters_independently(want: Want) -> bool:
    """Return True if on the data of `want` honest orders of computing scatter as the theory says.

    The theory takes roundings for independent, which those of equal or periodic terms are not.
    """
    bound = want.expected
    try:
        for answer in other_orders(bound.evaluation.node):
            found = scatter(want, elements.native(answer[bound.place]))
            if found is not None and not found <= SCATTER / _OF_HONEST:
                return False
    except NotSupported:  # It takes too long.
        return False
    return True


def root_mean_square(x: Floats) -> float:
    """The root of the mean square, 0 for nothing."""
    return float(np.sqrt(np.mean(x**2))) if x.size else 0.0


def off_by(y: Floats, x: Floats) -> float:
    """The deviations of `x` relative to the size of `y`; infinity where that says nothing.

    That is of all of them; of an eighth of them, if these are off by much of their own size.
    """
    with np.errstate(all="ignore"):
        error = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        if not error.any():
            return 0.0
        # An infinity of both, as in a mask, is no error and no size.
        y = np.where(np.isfinite(y), y, 0.0)
        found = np.divide(root_mean_square(error), root_mean_square(y))
        worst = np.quantile(np.where(error == 0, 0.0, error / _sizes(y)), 7 / 8)
        found = max(found, worst) if worst > _MOST_OF_MODELS else found
    return float(found) if np.isfinite(found) else np.inf


class _Off(NamedTuple):
    """Errors over their expected deviations: of all elements, and of a model's worst one.

    `far`: an element of a model is off by half its size, which these do not explain.
    """

    rms: float
    worst: float = 0.0
    many: int = 0
    far: bool = False

    @property
    def few(self) -> bool:
        """True if few elements of a model are much further off than the others."""
        return self.worst > _LONE * self.others

    @property
    def ratio(self) -> float:
        # The worst element of a model's output may be off by so many times more than all are.
        return max(self.rms, self.worst / 10)

    @property
    def others(self) -> float:
        """The root mean square without the worst element; of few ones it says nothing."""
        rest = self.many * self.rms**2 - self.worst**2
        return float(np.sqrt(max(0.0, rest) / (self.many - 1))) if self.many >= _FEW else np.inf


def scatter(want: Want, got: Array, cut: float = 0.0, part: Mask | None = None) -> float | None:
    """Return the root mean square of each error over its expected deviation.

    That is about 1 for the expected arithmetic, in any order, and hundreds for anything narrower;
    None for too few elements. Of a model's output it is at least a tenth of the worst element's. Of
    several sound formulations the nearest counts. `cut` is the unit roundoff of numbers to which
    inputs were rounded; `part` as in `scattering`.
    """
    return min((off.ratio for off in _scatters(want, got, cut, part)), default=None)


def _scatters(want: Want, got: Array, cut: float = 0.0, part: Mask | None = None) -> Iterator[_Off]:
    """Yield the scatter by each sound formulation, as long as there are enough elements."""
    bound, y = want.expected, want.values
    if y.size < _ENOUGH and not want.whole:
        return
    with np.errstate(all="ignore"):
        error = _errors(want, elements.wide(got))
        if want.whole:
            yield from _scatters_of_model(want, error, cut, part)
            return
        counts = np.isfinite(error) & (np.abs(y) > 16 * bound.floor(bound.tiers()[0]))
        counts &= True if part is None else part
        if not counts.any():
            return
        # If the last rounding alone explains it, the deviation need not be computed.
        last = half_ulp(y[counts], bound.dtype) / np.sqrt(3)
        if not cut and root_mean_square(error[counts] / last) <= SCATTER:
            yield _Off(1.0)
            return
        for shift, deviation in bound.deviations(cut):
            of_it = counts & (deviation > 0)
            if np.count_nonzero(of_it) >= _ENOUGH:
                yield _Off(root_mean_square((error - shift)[of_it] / deviation[of_it]))


def unsettled(want: Want) -> Mask:
    """Elements of a model that may be off by half their size, as far as scatter says."""
    found = np.ones(want.values.shape, np.bool_)
    with np.errstate(all="ignore"):
        for shift, deviation in want.expected.deviations():
            y = want.values + shift
            found &= SCATTER * deviation >= UNJUDGED * np.maximum(np.abs(y), _sizes(y))
    return found


def _sizes(y: Floats) -> Floats:
    """The root mean square of the elements at most 1,024 times as large as each.

    Larger elements say nothing of it. The smallest eighth, and zeros, have the size of the others.
    """
    size = np.where(np.isfinite(y), np.abs(y), 0.0)
    order = np.sort(size[size > 0])
    if not order.size:
        return size
    least = np.maximum(size, order[order.size // 8])
    ends = np.searchsorted(order, 1024 * least, side="right")
    return np.asarray(np.sqrt(np.cumsum(order**2)[ends - 1] / ends))


def _scatters_of_model(want: Want, error: Floats, cut: float, part: Mask | None) -> Iterator[_Off]:
    bound, y = want.expected, want.values
    counts = np.isfinite(y) if part is None else np.isfinite(y) & part
    if not counts.any():
        return
    gone = counts & ~np.isfinite(error)
    if gone.any():
        # What leaves the range in the engine's own arithmetic may in others.
        plain = elements.wide(bound.evaluation.node.plain[bound.place])
        if (gone & np.isfinite(plain)).any():
            yield _Off(np.inf)
            return
        counts &= ~gone
    first = bound.tiers()[0]
    for shift, deviation in bound.deviations(cut):
        # What a model loses of its zeros, as a part of numbers that are as large, it may lose.
        sizes, off = _sizes(y + shift), np.abs(error - shift)
        least = np.hypot(first.arithmetic.u * sizes, 16 * bound.floor(first))
        ratios = (off / np.hypot(deviation, least))[counts]
        far = (ratios > SCATTER) & (off > UNJUDGED * sizes)[counts]
        worst = float(ratios.max(initial=0))
        yield _Off(root_mean_square(ratios), worst, ratios.size, bool(far.any()))


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
    (n, 1) and may be infinite. Shares are at most λ in right rows; in others, one is above 1.
    """
    part = np.isfinite(own)
    off, own = np.where(part, off, 0.0), np.where(part, own, 0.0)
    # The limits of the common error are one more element: off by 0, with a tolerance on each side.
    above, below = _beside(off, own, part, down, -1), _beside(off, own, part, up, 1)
    scale = np.zeros(down.shape)
    # The search for λ is Newton's on a convex function that consists of straight pieces. From the
    # left it climbs, and ends after as many steps as it meets pieces, in practice three or four.
    for _ in range(30):
        most, high, room_above = _extreme(above, scale, -1)
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
        most[wrong] = np.clip(middle, -down[wrong], up[wrong])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.abs(off - most) / own
    # The rounding of a large common error shows in small shares.
    each = np.where(wrong[:, None], each, np.minimum(each, scale))
    return scale, np.where(part & (own > 0), each, 0.0)


def _beside(off: Floats, own: Floats, part: Mask, limit: Floats, sign: int) -> tuple[Floats, ...]:
    """Add an element to `off` and `own`; and `off` again, out of the way for those without part."""
    bounded = np.isfinite(limit)
    off = np.concatenate([off, np.zeros(limit.shape)], axis=1)
    own = np.concatenate([own, np.where(bounded, limit, 0.0)], axis=1)
    return off, own, np.where(np.concatenate([part, bounded], axis=1), off, sign * np.inf)


def _extreme(side: tuple[Floats, ...], scale: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
    """The largest off − λ·own for the sign −1, the smallest off + λ·own for 1; its off and own."""
    off, own, aside = side
    ends = aside + sign * scale * own
    place = np.arange(len(ends)), (ends.argmin if sign > 0 else ends.argmax)(axis=1)
    end = ends[place][:, None]
    return np.where(np.isfinite(end), end, 0.0), off[place][:, None], own[place][:, None]
