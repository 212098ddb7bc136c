"""What an error bound makes of some groups of elements: each element's share of what it is allowed.

Pure arithmetic on arrays of shape (n, N), n groups of N elements; `bounded` says which groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opcheck.compare import rows
from opcheck.compare.elements import Floats, Mask, outside, ratio
from opcheck.dtypes import DType, half_ulp, limits
from opcheck.engine.bounds import Allowance

#: The row test leaves out what is so small that the floor is a good part of it.
_ABOVE_FLOOR = 16
#: Beyond this an element's own error says nothing about what it has in common with others.
_HALF = 0.5


@dataclass(frozen=True)
class Output:
    """What is known of an output as a whole.

    [`low`, `high`] is the operator's range, an end None where it has none. The exact values were
    rounded to `rounded` before they came here, or not at all if that is None.
    """

    dtype: DType
    low: float | None
    high: float | None
    rounded: DType | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """Some groups: the exact values `y` + `rest` and, in float64, what came out."""

    y: Floats
    rest: Floats | None
    got: Floats

    def error(self) -> Floats:
        """got − y, signed; NaN or infinite where one of them is."""
        with np.errstate(invalid="ignore", over="ignore"):
            off = self.got - self.y
            return off if self.rest is None else off - self.rest


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdict on each element: its share, and in `allowed` the absolute error it may have.

    Elements `apart` are wrong only beside their group.
    """

    shares: Floats
    allowed: Floats
    apart: Mask


def judge(
    groups: Groups, allowance: Allowance, floor: float, output: Output, *, may_overflow: bool
) -> Judged:
    """The shares of `groups` under `allowance`, with the tier's `floor`.

    Unless the tier `may_overflow`, infinity is right only where the exact value rounds to it.
    """
    y, got, error = groups.y, groups.got, groups.error()
    finite = np.isfinite(y)
    decided = finite & ~allowance.exact
    down, up = allowance.common or (0.0, 0.0)

    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        above = np.where(decided & (y > 0), y * np.expm1(up + allowance.local), 0.0)
        below = np.where(decided & (y > 0), y * -np.expm1(-down - allowance.local), 0.0)
        # What was rounded lies within a factor of 2 of what it was rounded to.
        reached = np.fmin(np.where(np.isfinite(above), y + above, np.inf), 2 * np.abs(got))
    last_place = half_ulp(reached, output.dtype)
    if output.rounded is not None:
        last_place = last_place + half_ulp(y, output.rounded)
    allowed = np.where(decided, np.where(error > 0, above, below) + last_place + floor, 0.0)
    alone = ratio(np.abs(error), allowed, np.abs(error) <= allowed)
    alone[error == 0] = 0.0

    # An infinity was finite before it was rounded; so far it had to come.
    infinite = decided & np.isposinf(got)
    if infinite.any():
        largest = limits(output.dtype)[1]
        with np.errstate(over="ignore"):
            short = largest - np.where(infinite, y, 0.0) + half_ulp(np.array(largest), output.dtype)
        short = np.maximum(short, 0.0)
        room = above + floor if may_overflow else np.zeros(above.shape)
        alone = np.where(
            infinite, np.where(short == 0, 0.0, ratio(short, room, short <= room)), alone
        )

    each = np.zeros(y.shape)
    if allowance.common is not None and y.shape[1] > 1:
        part = decided & np.isfinite(got) & (allowance.local < _HALF) & (alone <= 1)
        part &= y > _ABOVE_FLOOR * max(floor, 2.0**output.dtype.min_exponent)
        each = _beside_their_group(groups.y, error, part, allowance, last_place + floor)
    same = (got == y) | (np.isnan(got) & np.isnan(y))
    shares = np.where(finite, np.maximum(alone, each), np.where(same, 0.0, np.inf))
    never = finite & ((~np.isfinite(got) & ~infinite) | outside(got, output.low, output.high))
    shares[never] = np.inf
    shares[_excused(allowance, got)] = 0.0
    return Judged(shares, allowed, (each > 1) & ~never)


def by_floor(groups: Groups, allowance: Allowance, floor: float, output: Output) -> Floats:
    """Each element's error as a share of `floor`, 0 where a range rule excuses it, else infinite.

    These rules hold beside a tolerance that a case states. Two zeros differ in their signs only,
    which is the tolerance's affair.
    """
    got, error = groups.got, np.abs(groups.error())
    part = (error <= floor) & (error != 0) & ~allowance.exact
    part &= ~outside(got, output.low, output.high)
    shares = np.full(error.shape, np.inf)
    np.divide(error, floor, out=shares, where=part)
    shares[_excused(allowance, got)] = 0.0
    return shares


def _excused(allowance: Allowance, got: Floats) -> Mask:
    """Where an element may be what came out because its computation leaves the range."""
    excused = np.zeros(got.shape, np.bool_)
    if allowance.excused is not None:
        low, high = allowance.excused
        excused |= (got >= low) & (got <= high)
    if allowance.lost is not None:
        excused |= allowance.lost & (np.isnan(got) | np.isposinf(got))
    return excused


def _beside_their_group(
    y: Floats, error: Floats, part: Mask, allowance: Allowance, absolute: Floats
) -> Floats:
    """Each element's share of its own error beside the error in common; 0 for those not in `part`.

    Those that are wrong by themselves are no part: the others may agree without them.
    """
    assert allowance.common is not None
    divisor = np.where(part, y, 1.0)
    off = np.where(part, error / divisor, 0.0)
    with np.errstate(over="ignore"):
        down, up = -np.expm1(-allowance.common[0]), np.expm1(allowance.common[1])
    # An element's own error is relative to what the common one has made of its value.
    grown = 1 + np.minimum(up, 2 * np.abs(off).max(axis=1, keepdims=True, initial=0))
    own = np.expm1(np.minimum(allowance.local, _HALF)) * grown + absolute / divisor
    own += 2.0**-51 * np.abs(off)  # what rounds here
    return rows.shares(off, np.where(part, own, np.inf), down, up)[1]
