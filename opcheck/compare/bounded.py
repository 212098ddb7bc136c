"""Values against what an operator's formula allows, element by element.

The exact value y is not rounded before it is compared. With r what the formula's error bound allows
around it, every number that some value in [y − r, y + r] rounds to is right. Where elements have an
error in common, such as the sum of their row, `rows` tests in addition that they agree about it.
What `elements` says of every tolerance holds here too.

The tiers of a bound are tried in order; the first that all elements fit decides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from opcheck.compare import rows
from opcheck.compare.elements import Floats, Mask, outside, ratio, wide
from opcheck.compare.findings import Findings
from opcheck.compare.ulp import distance, native
from opcheck.dtypes import DType, half_ulp, round_to
from opcheck.engine import Expected, Room, Tier
from opcheck.model import Array

#: From this relative error on an element is unjudged: what it may be says little.
UNJUDGED = 0.5
#: The row test leaves out what is so small that the floor is a good part of it.
_ABOVE_FLOOR = 16


@dataclass(frozen=True, eq=False)
class Reference:
    """What one output is compared with.

    The value is `values` + `rest`, both float64 in the output's shape. Where it was rounded to a
    dtype, as a literal is to float64, `rounded` is that dtype. [`low`, `high`] is the operator's
    range, an end None where it has none.
    """

    values: Floats
    bound: Expected
    rest: Floats | None = None
    rounded: DType | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Decision:
    """The tier that decides, and what was found.

    `found` and `shares` are about the first tier if the deciding one has a remark; if none fits
    they are about the tier with the fewest wrong elements. `apart`: an element was wrong only next
    to the others of its group. `undecided`: more than half of the elements are unjudged.
    """

    tier: Tier
    fits: bool
    found: Findings
    apart: bool
    undecided: bool
    shares: Floats


@dataclass(frozen=True, eq=False)
class Judged:
    """Each element's share of what a tier allows it, and the absolute error that this is.

    Elements `apart` are wrong only next to their group.
    """

    tier: Tier
    shares: Floats
    allowed: Floats
    apart: Mask
    unjudged: int


def examine(
    reference: Reference, got: Array, dtype: DType, declared: Collection[str]
) -> Decision:
    """Judge `got`, in `dtype` and of the shape of `reference.values`, with any memory layout.

    Tiers `declared` bring no remark.
    """
    got = native(got)
    first, *others = reference.bound.tiers(declared)
    judged = judge(reference, got, dtype, first)
    undecided = 2 * judged.unjudged > got.size
    if not (wrong := judged.shares > 1).any():
        return _decision(reference, got, dtype, judged, first, True, undecided)
    tried = [judged]
    for tier in others:
        attempt = judge(reference, got, dtype, tier)
        tried.append(attempt)
        if not (attempt.shares[wrong] > 1).any():
            # A larger range excuses nothing that it did not cost.
            if tier.ranged and not (reference.bound.range_loss(tier) & wrong).any():
                shown = Judged(
                    first, np.where(wrong, attempt.shares, judged.shares), attempt.allowed,
                    attempt.apart, judged.unjudged,
                )  # fmt: skip
                return _decision(reference, got, dtype, shown, first, True, undecided)
            shown = judged if tier.remark else attempt
            return _decision(reference, got, dtype, shown, tier, True, undecided)
    best = min(tried, key=lambda one: int(np.count_nonzero(one.shares > 1)))
    return _decision(reference, got, dtype, best, best.tier, False, undecided)


def judge(reference: Reference, got: Array, dtype: DType, tier: Tier) -> Judged:
    """What a tier says of every element."""
    y, room = reference.values, reference.bound.room(tier)
    if not got.size:
        return Judged(tier, np.zeros(y.shape), np.zeros(y.shape), np.zeros(y.shape, bool), 0)
    if dtype.kind != "float":
        return _whole(y, got, room, tier)
    actual = wide(got)
    finite = np.isfinite(y)
    with np.errstate(all="ignore"):
        error = actual - y
        if reference.rest is not None:
            error = error - reference.rest
        own = room.own
        if reference.rounded is not None:
            own = own + half_ulp(y, reference.rounded)
        slack = own if room.shared is None else own + np.abs(y) * room.shared
        rest = 0.0 if reference.rest is None else reference.rest
        # A tie may be broken either way only where there is room for it.
        ends = [round_to(y + (rest + sign * slack), dtype) for sign in (-1, 1)]
        fits = (got >= ends[0]) & (got <= ends[1]) & finite
        if not _may_overflow(tier):
            fits &= np.isfinite(actual) | ~np.isfinite(wide(round_to(y, dtype)))
        # What was rounded lies within a factor of 2 of what it was rounded to.
        last_place = half_ulp(np.fmin(np.abs(y) + slack, 2 * np.abs(actual)), dtype)
    allowed = np.where(finite, slack + np.where(slack > 0, last_place, 0.0), 0.0)
    shares = ratio(np.abs(error), allowed + np.where(slack > 0, 0.0, last_place), fits)
    shares[(error == 0) & fits] = 0.0
    apart = np.zeros(y.shape)
    if room.shared is not None and got.size > 1:
        apart = _next_to_their_group(y, error, own, last_place, room, finite & fits)
        shares = np.maximum(shares, apart)
    same = (actual == y) | (np.isnan(actual) & np.isnan(y))
    shares = np.where(finite, shares, np.where(same, 0.0, np.inf))
    never = finite & ((~np.isfinite(actual) & ~fits) | outside(actual, reference.low, reference.high))
    shares[never] = np.inf
    if tier.ranged:
        gone = ~np.isfinite(actual) | (actual == 0)
        shares[reference.bound.range_loss(tier) & gone & finite] = 0.0
    unjudged = finite & (slack >= UNJUDGED * np.abs(y)) & (np.abs(y) > 2 * tier.arithmetic.floor)
    return Judged(tier, shares, allowed, (apart > 1) & ~never, int(np.count_nonzero(unjudged)))


def _may_overflow(tier: Tier) -> bool:
    """False for a poorer arithmetic: unless declared, it is no excuse to lose an answer."""
    return tier.ranged or not tier.remark


def _whole(y: Floats, got: Array, room: Room, tier: Tier) -> Judged:
    """Integers: all of those within reach are right."""
    low, high = np.ceil(y - room.own), np.floor(y + room.own)
    actual = wide(got)
    fits = (actual >= low) & (actual <= high)
    if room.lost is not None:
        fits |= room.lost
    shares = np.where(fits, 0.0, np.inf)
    return Judged(tier, shares, room.own, np.zeros(y.shape, np.bool_), 0)


def _next_to_their_group(
    y: Floats, error: Floats, own: Floats, last_place: Floats, room: Room, part: Mask
) -> Floats:
    """Each element's share of its own error next to the one in common; 0 for those left out.

    Elements that are wrong by themselves take no part: the others may agree without them.
    """
    groups, sizes = np.unique(room.group, return_counts=True)
    length = int(sizes[0]) if sizes.size else 0
    if length < 2 or not (sizes == length).all():
        return np.zeros(y.shape)
    order = np.argsort(room.group, axis=None, kind="stable").reshape(len(groups), length)

    def grouped(values: Floats) -> Floats:
        return values.reshape(-1)[order]

    y, error, absolute = grouped(y), grouped(error), grouped(own + last_place)
    size = np.abs(y)
    part = grouped(part) & (size > _ABOVE_FLOOR * _FLOORS) & (absolute < UNJUDGED * size)
    divisor = np.where(part, y, 1.0)
    off = np.where(part, error / divisor, 0.0)
    shared = grouped(room.shared)[:, :1]
    grown = 1 + np.minimum(shared, 2 * np.abs(off).max(axis=1, keepdims=True, initial=0))
    tolerance = absolute / np.abs(divisor) * grown + 2.0**-51 * np.abs(off)
    each = rows.shares(off, np.where(part, tolerance, np.inf), shared, shared)[1]
    found = np.empty(y.size)
    found[order.reshape(-1)] = each.reshape(-1)
    return found.reshape(room.own.shape)


#: Twice the smallest normal float32, below which engines flush to zero.
_FLOORS = 2.0**-125


def _decision(
    reference: Reference,
    got: Array,
    dtype: DType,
    judged: Judged,
    tier: Tier,
    fits: bool,
    undecided: bool,
) -> Decision:
    found = Findings(got.size, steps=0 if dtype.kind == "float" else None)
    y = reference.values
    places = np.arange(got.size).reshape(got.shape)
    found.add(places, judged.shares, lambda i: _described(judged, y, i))
    found.unjudged = judged.unjudged
    if dtype.kind == "float" and got.size:
        with np.errstate(all="ignore"):
            found.step(int(distance(round_to(y, dtype), got).max()))
    return Decision(tier, fits, found, bool(judged.apart.any()), undecided, judged.shares)


def _described(judged: Judged, y: Floats, i: int) -> str:
    """What was allowed to one element."""
    if not np.isfinite(y.flat[i]) or judged.allowed.flat[i] == 0:
        return "exact"
    beside = " of its row" if judged.apart.flat[i] else ""
    return f"±{judged.allowed.flat[i]:.3g}{beside}"


def ends(bound: Expected, written: Array, low: float | None, high: float | None) -> tuple[Array, Array]:
    """The lowest and the highest value that the expected arithmetic admits, in the output's dtype.

    `written` is the value rounded; where it is infinite or NaN, so are both ends. Each element is
    taken by itself: those of a group have to agree besides.
    """
    dtype = bound.dtype
    first = bound.tiers()[0]
    room = bound.room(first)
    y = bound.values
    slack = room.own if room.shared is None else room.own + np.abs(y) * room.shared
    rest = 0.0 if bound.rest is None else bound.rest
    found = []
    for sign in (-1, 1):
        end = y + (rest + sign * slack)
        end = end if low is None else np.maximum(end, low)
        end = end if high is None else np.minimum(end, high)
        found.append(np.where(np.isfinite(wide(written)), round_to(end, dtype), written))
    return found[0], found[1]
