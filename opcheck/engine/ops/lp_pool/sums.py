"""What the error bound of LpPool asks of a window: its sum, and what an arithmetic makes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opcheck.engine.bounds import Arithmetic, Floats, Mask, Places


class Sums:
    """S of n windows and its shares; logarithms, so that nothing leaves the range.

    Nothing here is meant where a window is not `usual`: it is all `zero` or holds NaN or inf.
    """

    def __init__(self, magnitudes: Floats, counts: Places, p: float) -> None:
        largest = magnitudes.max(axis=1)
        self.zero: Mask = largest == 0
        self.usual: Mask = np.isfinite(largest) & ~self.zero
        self.counts = counts
        self.p = p
        self.present: Mask = magnitudes > 0
        self.ln_x: Floats = np.log(np.where(self.present, magnitudes, 1.0))
        ln_largest = np.log(largest)
        above = np.where(self.present, p * (self.ln_x - ln_largest[:, None]), -np.inf)
        scaled = np.exp(above)
        total = scaled.sum(axis=1)
        self.w: Floats = scaled / total[:, None]
        self.ln_s: Floats = p * ln_largest + np.log(total)
        self.ln_y: Floats = ln_largest + np.log(total) / p

    @cached_property
    def logarithms(self) -> Floats:
        """5·Σ w·|ln |x|| + 6·|ln y|."""
        return np.asarray(5 * (self.w * np.abs(self.ln_x)).sum(axis=1) + 6 * np.abs(self.ln_y))

    @cached_property
    def twice(self) -> Floats:
        """ln(2 − max w)/p: the additions add no term but the largest a second time."""
        return np.asarray(np.log1p(1 - self.w.max(axis=1)) / self.p)


@dataclass(frozen=True, eq=False)
class Errors:
    """What computing `sums` in an arithmetic may cost; each part is worked out once."""

    sums: Sums
    arithmetic: Arithmetic

    def computed_in(self, arithmetic: Arithmetic) -> Errors:
        """The same in another arithmetic."""
        return self if arithmetic == self.arithmetic else Errors(self.sums, arithmetic)

    @cached_property
    def own(self) -> Floats:
        """r without the additions and φ."""
        u, f = self.arithmetic.u, self.arithmetic.library
        return np.asarray(u * ((f + 2) / self.sums.p + self.sums.logarithms + f + 3))

    @cached_property
    def added(self) -> Floats:
        """1 − (1 − u·A)^(1/p)."""
        lost = np.minimum(self.arithmetic.u, self.sums.w)
        return self._through_the_root(lost.sum(axis=1) - lost.max(axis=1))

    @cached_property
    def flushed(self) -> Floats:
        """1 − (1 − φ)^(1/p); for p < 1 it is not the power that is flushed first, but x."""
        power = max(self.sums.p, 1.0) * self.sums.ln_x
        tiny = self.sums.present & (power < math.log(2 * self.arithmetic.smallest))
        share = np.where(tiny, self.sums.w, 0.0).sum(axis=1)
        # All of them: their shares need not add up to 1 exactly.
        whole = (tiny == self.sums.present).all(axis=1)
        return self._through_the_root(np.where(whole, 1.0, np.minimum(share, 1.0)))

    @cached_property
    def too_large(self) -> Mask:
        """Where S, or what rounding may make of it, is above the largest number."""
        most = self.sums.ln_s + self.sums.p * np.log1p(self.own + self.added)
        return np.asarray(most > math.log(self.arithmetic.largest))

    @cached_property
    def too_small(self) -> Mask:
        """Where S is so small that flushed terms show in its last place."""
        u, smallest = self.arithmetic.u, self.arithmetic.smallest
        least = np.log(np.maximum(self.sums.counts, 1)) + math.log(smallest / u)
        small = self.sums.ln_s < least
        return np.asarray(small | (self.flushed > 2 * u) if self.sums.p < 1 else small)

    def _through_the_root(self, share: Floats) -> Floats:
        """What the p-norm loses with a share of S."""
        return np.asarray(-np.expm1(np.log1p(-share) / self.sums.p))
