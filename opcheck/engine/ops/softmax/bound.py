"""How far a correct Softmax may lie off: what every plain way to compute it may lose.

In a row of N elements let gap_i = max − x_i, s = Σ e^(−gap_j) and y_i = e^(−gap_i)/s, all exact.
Let u be the unit roundoff of the arithmetic and f·u the error of one call of exp. Then an
implementation answers y_i·e^(δ_i + τ), with |δ_i| ≤ E_i the element's own error and τ that of its
row, to first order |τ| ≤ C. How they add up to a verdict is the comparison's.

    E_i = u·( 3·gap_i + max(2f, f + ln s)·[gap_i > 0] + f·[gap_i = 0 and ln s > u] + 4 )
    C   = u·( 3·Σ y_j·gap_j + f·Σ_{gap_j > 0} y_j + (A + R) + 3·ln s )

The element:

- 3·gap_i: x − max rounds, which is up to u·gap in the exponent and so in its power. Within exp
  another product may round, x·log2 e or n·ln 2, and its constant has. exp((x − max) − ln s) rounds
  once more. Not all of them are at their worst together: half an ULP is u only at a power of two,
  and where gap is one, gap·log2 e is not. The sum is at most (1 + 1 + ln 2 + 0.22)·gap.
- 2f: exp of the element, and, where the row is worked on in blocks, exp of the difference of its
  block's maximum from the row's. f + ln s: exp once, with ln s subtracted before, which rounds.
  For the maximum itself exp(0) = 1 is no error, unless ln s was subtracted.
- 4: a division, or a reciprocal and its product; the product with the block's factor; one spare.

The row's sum, relative to s:

- 3·Σ y·gap + f·Σ y: the errors of its terms, weighted by their share.
- A + R: the additions, and what an online algorithm loses at each new maximum, in whatever order
  and in several lanes: see `summing`.
- 3·ln s: where the logarithm is used, 2 for it and 1 for subtracting it.

A sum that is too large takes the row down by e^-C at most, and one too small takes it up by
1/(1 − C). Where C is not small, it says less than what `summing.least_sum` says of the additions,
with the other errors apart.

Nothing here grows with |max|: x − max shifts a row to where it is the same. Subtracting the raw
log-sum-exp max + ln s does not. Its rounding, u·|max| and never more than ln s, is common to the
row: the tier of that name has it in the exponent of the common factor.

A 16-bit tensor may also keep its exponentials in its own dtype, which rounds each of them once
more: + u_T in E, and in C for their sum. Or everything is computed in it: u_T for u and 2 for f.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from opcheck.dtypes import DType, half_ulp
from opcheck.engine.bounds import (
    UNJUDGED,
    Allowance,
    Floats,
    Mask,
    Part,
    Places,
    Reals,
    Tier,
    expected,
    has_16_bits,
    inside,
    narrow,
    stored,
    undeclared,
)
from opcheck.engine.ops.softmax.summing import SMALL, least_sum, summing
from opcheck.model import Array

#: u lost to each unit of |x - max|: one to the subtraction, two to the exponential's reduction.
_PER_GAP = 3.0

#: A gap beyond which nothing is left of an element in any dtype.
_VANISHED = 1000.0
#: Below this, float32 has the sum of a maximum and a small number to 2^-10.
_EXACT_ENOUGH = 2.0**14

_SHIFTS = "not shift invariant: subtracts the raw log-sum-exp"


@dataclass(frozen=True, eq=False)
class SoftmaxBound:
    """The error bound of Softmax along the middle axis of `x`, seen as (A, N, B).

    `top` are the rows' maxima, (A, 1, B).
    """

    dtype: DType
    x: Array
    top: Floats

    @property
    def layout(self) -> tuple[int, int, int]:
        """The rows lie along the middle axis."""
        outer, length, inner = self.x.shape
        return outer, length, inner

    def tiers(self, declared: Collection[str]) -> tuple[Tier, ...]:
        """What is expected, what is declared, and then what is tolerated with a remark."""
        plain, name = expected(self.dtype), self.dtype.name
        tiers = [
            Tier(inside(self.dtype).name, plain),
            Tier("log-sum-exp", plain, _SHIFTS, excuse="shift"),
        ]
        if has_16_bits(self.dtype):
            done = undeclared(f"computed in {name}", name, declared)
            # Who computes everything in it keeps the exponentials in it too.
            kept = undeclared(f"exp kept in {name}", "stored", declared) if done else ""
            tiers += [Tier("stored", stored(self.dtype), kept)]
            tiers += [Tier(name, narrow(self.dtype), done)]
        return tuple(sorted(tiers, key=lambda tier: bool(tier.remark)))

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        """u·(3·gap + f + 3)·y, and half an ULP of y for the 16-bit types.

        E has one u more at least, so this fits each element, and with t = 0 the row. A row whose
        maximum has it all, so that ln s is no more than u, has u·(3·gap + 3)·y.
        """
        plain = expected(self.dtype)
        with np.errstate(all="ignore"):
            base = np.full((1, 1, 1), plain.library / _PER_GAP + 1, y.dtype)
            # A row that is NaN says nothing about the others.
            if np.fmax.reduce(y, axis=None, initial=0) > 1 - 2 * plain.u:
                alone = y.max(axis=1, keepdims=True) > 1 - 2 * plain.u
                base = np.where(alone, y.dtype.type(1), base)
            top, x = self.top[part[0], :, part[2]].astype(y.dtype), self.x[part]
            if x.dtype != out.dtype:
                out[...] = x
                x = out
            if np.abs(top).max(initial=0) < _EXACT_ENOUGH:
                np.subtract(top + base, x, out=out)
            else:
                np.subtract(top, x, out=out)
                out += base
            # Where the gap is larger, y is 0.
            np.minimum(out, _VANISHED, out=out)
            out *= y
            # A hundredth is for what rounds here.
            out *= 0.99 * _PER_GAP * plain.u
            if has_16_bits(self.dtype):
                out += half_ulp(y.astype(np.float64, copy=False), self.dtype)

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        """E and C for the rows with these numbers; 0 in rows whose exact value is no number."""
        outer, inner = np.divmod(groups, self.x.shape[2])
        x = self.x[outer, :, inner].astype(np.float64)
        top = self.top[outer, 0, inner][:, np.newaxis]
        judged: Mask = np.asarray(np.isfinite(y).all(axis=1, keepdims=True))
        with np.errstate(all="ignore"):
            local, common, raised, ln_s = _errors(x - top, y, tier)
            fallen, risen = np.zeros((2, *top.shape))
            if tier.excuse == "shift":
                rounding = tier.arithmetic.u * np.abs(top)
                # max + ln s rounds to no worse than max, and to max where that is nearest by far.
                risen = np.minimum(rounding, ln_s)
                fallen = np.where(rounding <= 2 * ln_s, risen, 0.0)
            down, up = common + fallen, raised + risen
            open_ = (local + common + risen >= UNJUDGED) & (y > tier.arithmetic.floor)
        return Allowance(
            np.where(judged, local, 0.0),
            (np.where(judged, down, 0.0), np.where(judged, up, 0.0)),
            exact=judged & np.isneginf(x),
            unjudged=judged & open_,
        )


def _errors(d: Floats, y: Floats, tier: Tier) -> tuple[Floats, Floats, Floats, Floats]:
    """E, C, the logarithm of the largest factor that a row's common error can be, and ln s.

    From `d` = x - max and `y`, both (n, N); the first is (n, N), the others are (n, 1).
    """
    u, f, stored = tier.arithmetic.u, tier.arithmetic.library, tier.arithmetic.stored
    # What has vanished altogether is judged by the floor alone.
    gap = np.where(y > 0, -d, 0.0)
    below = d < 0
    top = y.max(axis=1, keepdims=True)
    off_top = np.where(below, y, 0.0).sum(axis=1, keepdims=True)
    ties = y.shape[1] - 1 - below.sum(axis=1, keepdims=True)
    others = off_top + ties * top
    # s is 1/y_top, but where that is nearly 1 this keeps its digits.
    ln_s = np.log1p(others / top)

    exponential = np.where(gap > 0, np.maximum(2 * f, f + ln_s), np.where(ln_s > u, f, 0.0))
    local = u * (_PER_GAP * gap + exponential + 4) + stored

    seen = _PER_GAP * (y * gap).sum(axis=1, keepdims=True) + f * off_top
    summed, rescaled = summing(d, y, off_top, others, u, f)
    common = u * (seen + summed + 3 * ln_s) + stored
    raised = -np.log1p(-np.minimum(common, 1.0))
    many = (common > SMALL)[:, 0]
    if many.any():
        # To first order the sum could vanish. It cannot: what has been lost, was lost beside it.
        rest = u * (seen + rescaled + 3 * ln_s)[many] + stored
        # A factor 1 - k is no less than e^(-k/(1 - k)), and no single one is worse than these.
        left = np.exp(-rest / (1 - f * u - stored))
        raised[many] = np.minimum(raised[many], -np.log(least_sum(y[many], u, left)))
    return local, common, raised, ln_s
