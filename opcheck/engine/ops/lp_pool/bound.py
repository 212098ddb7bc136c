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
    Allowance,
    Arithmetic,
    Floats,
    Mask,
    Part,
    Places,
    Reals,
    Tier,
    expected,
    narrow,
)
from opcheck.engine.windows import Windows
from opcheck.model import Array

#: From this relative error on an element is unjudged.
_HALF = 0.5
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
        plain = expected(self.dtype)
        inside = "float64" if self.dtype.name == "float64" else "float32"
        remark = f"right but where Σ|x|^p leaves the range of {inside}"
        first = Tier(inside, plain)
        beyond = Tier("range", plain, remark, OUT_OF_RANGE)
        name = self.dtype.name
        if name in ("float32", "float64"):
            return first, beyond
        if name in declared:
            return first, Tier(name, narrow(self.dtype), "", OUT_OF_ITS_OWN_RANGE), beyond
        remark = f"computed in {name}; declare accumulate={name}"
        return first, beyond, Tier(name, narrow(self.dtype), remark, OUT_OF_RANGE)

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        """u·((f + 2)/p + f + 2)·y, and half an ULP of y for the 16-bit types.

        r is more: it has one u besides, and all that depends on the window.
        """
        plain = expected(self.dtype)
        factor = 0.99 * plain.u * ((plain.library + 2) / self.p + plain.library + 2)
        with np.errstate(all="ignore"):
            np.multiply(y, factor, out=out)
            if self.dtype.numpy.itemsize == 2:
                out += np.where(y > 0, half_ulp(y.astype(np.float64, copy=False), self.dtype), 0)

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        """What `tier` allows the elements with these row-major places, whose values are `y`."""
        local, down, up = np.zeros((3, *y.shape))
        low, high = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
        exact, lost = np.zeros(y.shape, np.bool_), np.zeros(y.shape, np.bool_)
        with np.errstate(all="ignore"):
            for portion, elements, counts in self.windows.gathered(self.x, groups):
                sums = _Sums(np.abs(elements), counts, self.p)
                here = portion, 0
                local[here], down[here], up[here] = self._errors(tier, sums)
                low[here], high[here], lost[here] = self._excused(tier, sums, y[here], local[here])
                exact[here] = sums.zero
            wide = local + down >= _HALF
        unjudged = (wide & (y > tier.arithmetic.floor)) | ~np.isnan(low)
        unjudged &= np.isfinite(y)
        return Allowance(local, (down, up), exact, unjudged, (low, high), lost)

    def _errors(self, tier: Tier, sums: _Sums) -> tuple[Floats, Floats, Floats]:
        """An element's own error, and the logarithms of what its sum may lose and gain.

        Terms that are not flushed are subnormal, and may be rounded up by as much.
        """
        arithmetic = tier.arithmetic
        own, added, flushed = sums.own(arithmetic), sums.added(arithmetic), sums.flushed(arithmetic)
        if tier.excuse != OUT_OF_ITS_OWN_RANGE:
            # Out of range the answer is judged as if no range were left, and excused below. But
            # the range of a narrow dtype ends so high above 0 that ordinary values are outside;
            # they are not let off: what may be flushed excuses its own size.
            flushed = np.where(sums.out_of_range(arithmetic), 0.0, flushed)
        less, share = -np.log1p(-added), -np.expm1(self.p * np.log1p(-flushed))
        down = less - np.log1p(-flushed)
        up = np.minimum(less, sums.twice()) + np.log1p(2 * share) / self.p
        usual = sums.usual
        return np.where(usual, own, 0.0), np.where(usual, down, 0.0), np.where(usual, up, 0.0)

    def _excused(
        self, tier: Tier, sums: _Sums, y: Floats, own: Floats
    ) -> tuple[Floats, Floats, Mask]:
        """The ends of what an element out of range may be instead, and which may be lost.

        A sum that is too large becomes infinite, which a compensated sum or a reciprocal root
        turn into NaN, or the largest number there is. One too small loses terms, down to none, and
        the reciprocal of a maximum as small is infinite.
        """
        large, small = np.zeros((2, *y.shape), np.bool_)
        arithmetic = tier.arithmetic
        if tier.excuse == OUT_OF_RANGE:
            arithmetic = expected(self.dtype)
            small = sums.too_small(arithmetic) & sums.usual
        if tier.excuse:
            large = sums.too_large(arithmetic) & sums.usual
        root = np.exp(math.log(arithmetic.largest) / self.p)  # infinite for p below 1
        shrunk, grown = np.exp(-own), np.exp(own)
        low = np.where(large, root * shrunk, np.where(small, 0.0, np.nan))
        # An answer just above float64's largest number may have been that just as well.
        low = np.where(large & np.isinf(y), limits(self.dtype)[1] * shrunk, low)
        high = np.where(large & np.isfinite(y), root, np.where(large | small, y, np.nan)) * grown
        # What is let pass has been rounded to the output's dtype.
        low = np.where(low > 0, low - half_ulp(low, self.dtype), low)
        return low, high + half_ulp(high, self.dtype), large | small


class _Sums:
    """S and what r needs of it, for n windows; logarithms, so that nothing leaves the range.

    Nothing here is meant where a window is not `usual`: it is all `zero` or holds NaN or inf.
    """

    def __init__(self, magnitudes: Floats, counts: Places, p: float) -> None:
        largest = magnitudes.max(axis=1)
        self.zero: Mask = largest == 0
        self.usual: Mask = np.isfinite(largest) & ~self.zero
        self._counts = counts
        self._p = p
        self._present: Mask = magnitudes > 0
        self._ln_x: Floats = np.log(np.where(self._present, magnitudes, 1.0))
        ln_largest = np.log(largest)
        above = np.where(self._present, p * (self._ln_x - ln_largest[:, None]), -np.inf)
        scaled = np.exp(above)
        total = scaled.sum(axis=1)
        self._w: Floats = scaled / total[:, None]
        self._ln_s: Floats = p * ln_largest + np.log(total)
        self._ln_y: Floats = ln_largest + np.log(total) / p

    def own(self, arithmetic: Arithmetic) -> Floats:
        """r without the additions and φ."""
        u, f = arithmetic.u, arithmetic.library
        logarithms = 5 * (self._w * np.abs(self._ln_x)).sum(axis=1) + 6 * np.abs(self._ln_y)
        return np.asarray(u * ((f + 2) / self._p + logarithms + f + 3))

    def added(self, arithmetic: Arithmetic) -> Floats:
        """1 − (1 − u·A)^(1/p)."""
        lost = np.minimum(arithmetic.u, self._w)
        return self._through_the_root(lost.sum(axis=1) - lost.max(axis=1))

    def twice(self) -> Floats:
        """ln(2 − max w)/p: the additions add no term but the largest a second time."""
        return np.asarray(np.log1p(1 - self._w.max(axis=1)) / self._p)

    def flushed(self, arithmetic: Arithmetic) -> Floats:
        """1 − (1 − φ)^(1/p); for p < 1 it is not the power that is flushed first, but x."""
        power = max(self._p, 1.0) * self._ln_x
        tiny = self._present & (power < math.log(2 * arithmetic.smallest))
        share = np.where(tiny, self._w, 0.0).sum(axis=1)
        # All of them: their shares need not add up to 1 exactly.
        share = np.where((tiny == self._present).all(axis=1), 1.0, np.minimum(share, 1.0))
        return self._through_the_root(share)

    def _through_the_root(self, share: Floats) -> Floats:
        """What the p-norm loses with a share of S."""
        return np.asarray(-np.expm1(np.log1p(-share) / self._p))

    def too_large(self, arithmetic: Arithmetic) -> Mask:
        """Where S, or what rounding may make of it, is above the largest number."""
        error = self.own(arithmetic) + self.added(arithmetic)
        most = self._ln_s + self._p * np.log1p(error)
        return np.asarray(most > math.log(arithmetic.largest))

    def too_small(self, arithmetic: Arithmetic) -> Mask:
        """Where S is so small that flushed terms show in its last place."""
        least = np.log(np.maximum(self._counts, 1)) + math.log(arithmetic.smallest / arithmetic.u)
        small = self._ln_s < least
        if self._p < 1:
            small |= self.flushed(arithmetic) > 2 * arithmetic.u
        return np.asarray(small)

    def out_of_range(self, arithmetic: Arithmetic) -> Mask:
        """Where S is too large or too small."""
        return self.too_large(arithmetic) | self.too_small(arithmetic)
