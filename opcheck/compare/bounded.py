"""Values against an operator's error bound, which follows each element's conditioning.

The exact value y is not rounded before it is compared, so that an element is allowed

    |got − y| ≤ r·y + ½ulp(y·(1 + r)) + floor

with r the relative error, up or down, that its own and its group's errors add up to
(`engine.bounds`). Where a group has an error in common, `rows` tests in addition that its elements
agree about it. What `elements` says of every tolerance holds here too, but that infinity is right
where the allowed error reaches what rounds to it.

The tiers of a bound are tried in order; the first that all elements fit decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np

from opcheck.compare.allowed import Groups, Judged, Output, by_floor, judge
from opcheck.compare.elements import Floats, Mask, outside, wide
from opcheck.compare.findings import Findings, Places
from opcheck.compare.ulp import CHUNK, distance, native
from opcheck.dtypes import DType, round_to
from opcheck.engine.bounds import Allowance, Bound, Part, Reals, Tier
from opcheck.model import Array

#: Outputs up to this size are looked at in full. In larger ones the groups that pass the quick
#: acceptance are settled by it.
FULL = CHUNK


@dataclass(frozen=True, eq=False)
class Reference:
    """The exact values of one output, and their bound.

    The value is `values` + `rest`, both float64 in the output's shape. Where it was rounded to a
    dtype, as a literal is to float64, `rounded` is that dtype.
    """

    values: Floats
    bound: Bound
    rest: Floats | None = None
    rounded: DType | None = None


@dataclass(frozen=True, eq=False)
class Decision:
    """The tier that decides, and what was found.

    `found` is about the first tier if the deciding one has a remark, but for the elements that the
    deciding one leaves unjudged; if none fits it is about the tier with the fewest wrong elements.
    `apart`: an element was wrong only beside its group. `undecided`: more than half of the
    elements are unjudged even at the first tier. `told` is the tier that `found` is about, and
    `looked_at` are the numbers of the groups in `view` that were looked at in full.
    """

    tier: Tier
    fits: bool
    found: Findings
    apart: bool
    undecided: bool
    view: View
    told: Tier
    looked_at: Places


@dataclass
class _Attempt:
    """What one tier makes of some groups."""

    tier: Tier
    found: Findings
    apart: bool = False
    failed: list[Places] = field(default_factory=list)


def examine(
    reference: Reference,
    got: Array,
    dtype: DType,
    low: float | None,
    high: float | None,
    declared: Collection[str],
) -> Decision:
    """Judge `got`, in `dtype` and of the shape of `reference.values`, with any memory layout.

    [`low`, `high`] is the operator's range, an end None where it has none. Tiers `declared`
    bring no remark.
    """
    view = View(reference, native(got), Output(dtype, low, high, reference.rounded))
    expected, *others = reference.bound.tiers(declared)
    groups = view.groups()
    first = view.attempt(expected, groups)
    first.found.used = max(first.found.used, view.used)
    undecided = 2 * first.found.unjudged > got.size
    if not first.failed:
        return Decision(expected, True, first.found, False, undecided, view, expected, groups)
    tried = [first]
    failed = np.concatenate(first.failed)
    for tier in others:
        # Each tier allows what the first does, so only the groups that failed are looked at.
        attempt = view.attempt(tier, failed)
        if not attempt.failed:
            first.found.unjudged = attempt.found.unjudged
            told = first if tier.remark else attempt
            return Decision(tier, True, told.found, told.apart, undecided, view, told.tier, groups)
        tried.append(attempt)
    best = min(tried, key=lambda attempt: attempt.found.count)
    return Decision(best.tier, False, best.found, best.apart, undecided, view, best.tier, groups)


def pardon(
    reference: Reference,
    got: Array,
    output: Output,
    declared: Collection[str],
    wrong: Places,
) -> tuple[Tier, Floats]:
    """Return the tier whose floor and range rules admit most of the `wrong` elements.

    They are wrong by a stated tolerance, and named by their places in row-major order; of equals,
    the first tier counts. The shares are those of all elements, infinite where it says nothing.
    """
    view = View(reference, native(got), output)
    _, length, after = view.bound.layout
    numbers = np.unique(wrong // (length * after) * after + wrong % after)
    found: list[tuple[int, Tier, Floats]] = []
    for tier in view.bound.tiers(declared):
        shares = np.full(got.size, np.inf)
        for start in range(0, numbers.size, view.step):
            part = view.part(tier, numbers[start : start + view.step])
            floor = tier.arithmetic.floor
            shares[part.places] = by_floor(part.groups, part.allowance, floor, output)
        found.append((int(np.count_nonzero(shares[wrong] > 1)), tier, shares))
        if not found[-1][0]:
            break
    return min(found, key=lambda one: one[0])[1:]


@dataclass(frozen=True, eq=False)
class _Groups:
    """Some groups under one tier: where their elements lie, and what is allowed to them."""

    places: Places
    groups: Groups
    raw: Array
    allowance: Allowance


class View:
    """An output and its reference in the layout of the bound."""

    def __init__(self, reference: Reference, got: Array, output: Output) -> None:
        self.bound, self.output = reference.bound, output
        layout = self.bound.layout
        self.y, self.got = reference.values.reshape(layout), got.reshape(layout)
        self.rest = None if reference.rest is None else reference.rest.reshape(layout)
        #: The largest part of its quick acceptance that a group settled by it uses.
        self.used = 0.0
        # A hundredth is for what rounds in the quick acceptance, as it is in the bounds'.
        self.floor = 0.99 * self.bound.tiers(())[0].arithmetic.floor
        self._buffers: list[Reals] | None = None

    def groups(self) -> Places:
        """The numbers of the groups that have to be looked at in full.

        Of those that the quick acceptance settles this is the one nearest to failing it, so that
        its share can be told, unless it is large itself.
        """
        before, length, after = self.bound.layout
        if self.y.size <= FULL:
            return np.arange(before * after)
        left, nearest = [], 0
        for part in self.parts():
            quotient, wrong = self.quick(part)
            first = part[0].start * after + part[2].start
            # No error where none is allowed is NaN here, and no part of anything.
            most = float(np.fmax.reduce(quotient, axis=None, initial=0))
            if wrong is not None or most > 1:
                each = np.fmax.reduce(quotient, axis=1, initial=0)
                failed = each > 1 if wrong is None else (each > 1) | wrong.any(axis=1)
                a, b = np.nonzero(failed)
                left.append(first + a * after + b)
                most = float(each.max(initial=0, where=~failed))
            if most > self.used:
                place = np.argwhere(quotient == quotient.dtype.type(most))[0]
                self.used, nearest = most, int(first + place[0] * after + place[2])
        if length <= FULL:
            self.used = 0.0
            left.append(np.array([nearest]))
        return np.unique(np.concatenate(left)) if left else np.arange(0)

    def parts(self) -> Iterator[Part]:
        """The layout in blocks of at most CHUNK elements, a group in one if it fits."""
        shape = self.bound.layout
        size = [1, 1, 1]
        for axis in (1, 2, 0):
            size[axis] = max(1, min(shape[axis], CHUNK // prod(size)))
        steps = [range(0, whole, step) for whole, step in zip(shape, size, strict=True)]
        for corner in product(*steps):
            a, n, b = (slice(c, c + step) for c, step in zip(corner, size, strict=True))
            yield a, n, b

    def quick(self, part: Part) -> tuple[Reals, Mask | None]:
        """The errors of a block in parts of the quick acceptance, and what is wrong anyhow."""
        got = self.got[part]
        y, error, allowed = (self._scratch(got.shape, number) for number in range(3))
        with np.errstate(all="ignore"):
            y[...] = self.y[part]
            if got.dtype == error.dtype:
                np.subtract(got, y, out=error)
            else:
                error[...] = got
                error -= y
            if self.rest is not None:
                error -= self.rest[part]
            np.abs(error, out=error)
            self.bound.quick(part, y, allowed)
            quotient = np.divide(error, allowed, out=self._scratch(got.shape, 3))
            if self.floor and np.fmax.reduce(quotient, axis=None, initial=0) > 1:
                allowed += np.where(y > 0, self.floor, 0)
                np.divide(error, allowed, out=quotient)
            low, high = self.output.low, self.output.high
            # NaN is the greatest of all here, and passes no comparison.
            strange = not np.isfinite(error.max())
            strange |= bool(low is not None and got.min() < low)
            strange |= bool(high is not None and got.max() > high)
            wrong = ~np.isfinite(error) | outside(got, low, high) if strange else None
        return quotient, wrong

    def _scratch(self, shape: tuple[int, ...], number: int) -> Reals:
        """An array to work in; made anew for every block it would cost more than the work.

        float32 where the output is: its bound then has room for an exact value rounded to that.
        """
        if self._buffers is None:
            single = self.output.dtype.name == "float32"
            self._buffers = [
                np.empty(CHUNK, np.float32) if single else np.empty(CHUNK) for _ in range(4)
            ]
        return self._buffers[number][: prod(shape)].reshape(shape)

    def attempt(self, tier: Tier, numbers: Places) -> _Attempt:
        """What `tier` says about the groups with these numbers."""
        before, _, after = self.bound.layout
        whole = numbers.size == before * after
        attempt = _Attempt(tier, Findings(self.y.size, steps=0 if whole else None))
        for start in range(0, numbers.size, self.step):
            self._attempt(attempt, numbers[start : start + self.step])
        return attempt

    @property
    def step(self) -> int:
        """How many groups are looked at together."""
        return max(1, CHUNK // max(1, self.bound.layout[1]))

    def part(self, tier: Tier, numbers: Places) -> _Groups:
        """The groups with these numbers, `step` at most, under `tier`."""
        _, length, after = self.bound.layout
        a, b = np.divmod(numbers, after)
        y, raw = self.y[a, :, b], self.got[a, :, b]
        groups = Groups(y, None if self.rest is None else self.rest[a, :, b], wide(raw))
        places = (a[:, None] * length + np.arange(length)) * after + b[:, None]
        return _Groups(places, groups, raw, self.bound.allowance(tier, numbers, y))

    def judged(self, tier: Tier, part: _Groups) -> Judged:
        """What `tier` says about some groups."""
        # A poorer arithmetic that was not declared is no excuse to lose an answer altogether.
        may, floor = not tier.remark, tier.arithmetic.floor
        return judge(part.groups, part.allowance, floor, self.output, may_overflow=may)

    def _attempt(self, attempt: _Attempt, numbers: Places) -> None:
        part = self.part(attempt.tier, numbers)
        judged, y = self.judged(attempt.tier, part), part.groups.y
        attempt.found.add(part.places, judged.shares, lambda i: _told(judged, y, i))
        attempt.found.unjudged += int(np.count_nonzero(part.allowance.unjudged))
        steps = distance(round_to(y, self.output.dtype), part.raw)
        attempt.found.step(int(steps.max(initial=0)))
        failed = (judged.shares > 1).any(axis=1)
        if failed.any():
            attempt.failed.append(numbers[failed])
            attempt.apart |= bool(judged.apart.any())


def _told(judged: Judged, y: Floats, i: int) -> str:
    """What was allowed to one element."""
    if not np.isfinite(y.flat[i]) or judged.allowed.flat[i] == 0:
        return "exact"
    beside = " of its row" if judged.apart.flat[i] else ""
    return f"±{judged.allowed.flat[i]:.3g}{beside}"
