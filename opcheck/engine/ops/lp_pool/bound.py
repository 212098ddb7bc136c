"""How far a correct LpPool may lie off.

For one window of K values that are no padding, with S = Σ |x|^p, y = S^(1/p), shares
w = |x|^p / S, u the unit roundoff of what is computed with and f the error of a library call
in u, a plain implementation answers y·T·F with F in [e^-r, e^r] and T in [e^-d, e^g],

    r = u·((f + 2)/p + 5·Σ w·|ln |x|| + f + 6·|ln y| + 3)
    d = −(ln(1 − u·A) + ln(1 − φ))/p
    g = (min(−ln(1 − u·A), ln(2 − max w)) + ln(1 + 2φ))/p
    A = Σ min(1, w/u) over all terms but the largest

- f/p: the power of each term, seen through the root, which divides a relative error of S by p.
- A: the additions, in any order. One errs by at most u times its result, and by no more than its
  smaller operand, since the larger one is a candidate for the result. So a tree of additions errs
  by no more than Σ min(u·S, w·S) over all its leaves but the largest, by induction over its nodes:
  a node adds two subtrees. If the largest leaf of the smaller one is u·S or more, it pays u·S for
  the node, which it had not paid before. If not, all leaves of that subtree pay for themselves, as
  if they were left out, and the result is no less than the larger operand. The root makes of it
  (1 − u·A)^(1/p), which loses more than u·A/p where terms are many: a sum may stagnate. It
  cannot grow as much: each addition to a running sum adds its term twice at most.
- 2/p: an average that is multiplied by K again.
- 5·Σ w·|ln |x||: |x|^p as exp(p·ln |x|). A logarithm is good to 2 ULP, which is 4 u of its value,
  and the product rounds; the exponent's absolute error is the term's relative one.
- f: the root. 6·|ln y|: the root as exp(ln S / p), like the terms, and 1/p is rounded.
- 3: 1/p, scaling by the window's maximum, the last multiplication.
- φ: the share of S in terms below twice the smallest normal number, which may be flushed to 0
  (some engines do so a little early): d loses their size. One rounded to a subnormal number may
  grow by as much, and an addition may then add that twice: g gains their size and theirs again.

The formula holds for every p; that p = 1 and 2 need no logarithms is for the implementation to
know, which may raise them to a power like any other. Beyond it there are half a step of the
output's dtype and the floor for flushed answers. A window of zeros gives exactly 0.

Range. S leaves the dtype computed in long before y does. Where rounding leaves S at the largest
number or below and u·S ≥ K times the smallest normal one, the answer is owed. Elsewhere it is
still the right answer, and judged as if no range were left, but another has an excuse: infinity
and NaN; where S is too large, the root of the largest number; where it is too small, whatever
lies between 0 and y.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from opcheck.dtypes import DType, half_ulp, limits
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
    undeclared,
)
from opcheck.engine.ops.lp_pool.sums import Errors, Sums
from opcheck.engine.windows import Windows
from opcheck.model import Array

#: What a tier excuses: elements whose S leaves the range of float32 or float64 …
OUT_OF_RANGE = "out of range"
#: … or that of the tier's own, narrower dtype.
OUT_OF_ITS_OWN_RANGE = "out of its own range"


@dataclass(frozen=True, eq=False)
class LpPoolBound:
    """The bound of one output; each element is a group of its own.

    `x` is the input, `p` a number above 0.
    """

    dtype: DType
    x: Array
    p: float
    windows: Windows

    @property
    def layout(self) -> tuple[int, int, int]:
        """A group is one element."""
        return math.prod(self.windows.shape), 1, 1

    def tiers(self, declared: Collection[str]) -> tuple[Tier, ...]:
        """float32 or float64 inside, then with S out of its range, or in a narrower dtype.

        One computed in a 16-bit dtype without saying so has no excuse but float32's range: an
        overflow in float16 fails.
        """
        plain, name, held = expected(self.dtype), self.dtype.name, inside(self.dtype).name
        remark = f"right but where Σ|x|^p leaves the range of {held}"
        first = Tier(held, plain)
        beyond = Tier("range", plain, remark, OUT_OF_RANGE)
        if not has_16_bits(self.dtype):
            return first, beyond
        poor, remark = narrow(self.dtype), undeclared(f"computed in {name}", name, declared)
        if remark:
            return first, beyond, Tier(name, poor, remark, OUT_OF_RANGE)
        return first, Tier(name, poor, "", OUT_OF_ITS_OWN_RANGE), beyond

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        """u·((f + 2)/p + f + 2)·y, and half an ULP of y for the 16-bit types.

        r is more: it has one u besides, and all that depends on the window.
        """
        plain = expected(self.dtype)
        factor = 0.99 * plain.u * ((plain.library + 2) / self.p + plain.library + 2)
        with np.errstate(all="ignore"):
            np.multiply(y, factor, out=out)
            if has_16_bits(self.dtype):
                out += np.where(y > 0, half_ulp(y.astype(np.float64, copy=False), self.dtype), 0)

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        """What `tier` allows the elements with these row-major places, whose values are `y`."""
        local, down, up = np.zeros((3, *y.shape))
        low, high = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
        exact, lost = np.zeros(y.shape, np.bool_), np.zeros(y.shape, np.bool_)
        with np.errstate(all="ignore"):
            for portion, elements, counts in self.windows.gathered(self.x, groups):
                sums = Sums(np.abs(elements), counts, self.p)
                errors = Errors(sums, tier.arithmetic)
                here = portion, 0
                local[here], down[here], up[here] = self._errors(tier, errors)
                low[here], high[here], lost[here] = self._excused(
                    tier, errors, y[here], local[here]
                )
                exact[here] = sums.zero
            wide = local + down >= UNJUDGED
        unjudged = (wide & (y > tier.arithmetic.floor)) | ~np.isnan(low)
        unjudged &= np.isfinite(y)
        return Allowance(local, (down, up), exact, unjudged, (low, high), lost)

    def _errors(self, tier: Tier, errors: Errors) -> tuple[Floats, Floats, Floats]:
        """An element's own error, and the logarithms of what its sum may lose and gain.

        Terms that are not flushed are subnormal, and may be rounded up by as much.
        """
        flushed = errors.flushed
        if tier.excuse != OUT_OF_ITS_OWN_RANGE:
            # Out of range the answer is judged as if no range were left, and excused below. But
            # the range of a narrow dtype ends so high above 0 that ordinary values are outside;
            # they are not let off: what may be flushed excuses its own size.
            flushed = np.where(errors.too_large | errors.too_small, 0.0, flushed)
        less, share = -np.log1p(-errors.added), -np.expm1(self.p * np.log1p(-flushed))
        down = less - np.log1p(-flushed)
        up = np.minimum(less, errors.sums.twice) + np.log1p(2 * share) / self.p
        own, down, up = (np.where(errors.sums.usual, e, 0.0) for e in (errors.own, down, up))
        return own, down, up

    def _excused(
        self, tier: Tier, errors: Errors, y: Floats, own: Floats
    ) -> tuple[Floats, Floats, Mask]:
        """The ends of what an element out of range may be instead, and which may be lost.

        A sum that is too large becomes infinite, which a compensated sum or a reciprocal root
        turn into NaN, or the largest number there is. One too small loses terms, down to none, and
        the reciprocal of a maximum as small is infinite.
        """
        large, small = np.zeros((2, *y.shape), np.bool_)
        if tier.excuse == OUT_OF_RANGE:
            errors = errors.computed_in(expected(self.dtype))
            small = errors.too_small & errors.sums.usual
        if tier.excuse:
            large = errors.too_large & errors.sums.usual
        root = np.exp(math.log(errors.arithmetic.largest) / self.p)  # infinite for p below 1
        shrunk, grown = np.exp(-own), np.exp(own)
        low = np.where(large, root * shrunk, np.where(small, 0.0, np.nan))
        # An answer just above float64's largest number may have been that just as well.
        low = np.where(large & np.isinf(y), limits(self.dtype)[1] * shrunk, low)
        high = np.where(large & np.isfinite(y), root, np.where(large | small, y, np.nan)) * grown
        # What is let pass has been rounded to the output's dtype.
        low = np.where(low > 0, low - half_ulp(low, self.dtype), low)
        return low, high + half_ulp(high, self.dtype), large | small
