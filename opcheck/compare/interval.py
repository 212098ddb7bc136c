"""The ends between which an element of an output must lie, for those who cannot ask a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opcheck.compare.allowed import Groups, Output, judge
from opcheck.compare.elements import Floats, Mask, wide
from opcheck.compare.tensors import Want, range_end
from opcheck.compare.ulp import CHUNK
from opcheck.dtypes import DType, of, round_to
from opcheck.engine.bounds import Allowance, Bound
from opcheck.model import Array


def stepped(array: Array, steps: int) -> Array:
    """`array`, of a floating dtype, so many ULP upwards, at most to infinity; NaN stays NaN.

    No more steps are made than lead from 0 to infinity.
    """
    bits = array.view(f"i{array.itemsize}")
    least = np.iinfo(bits.dtype).min
    # Negative numbers in the order of their values, −0 in the place of 0.
    place = np.where(bits < 0, least - bits, bits)
    endless = int(np.array(np.inf).astype(array.dtype).view(bits.dtype))
    count = min(abs(steps), endless)
    if steps > 0:
        moved = np.where(place > endless - count, endless, place + count)
    else:
        moved = np.where(place < count - endless, -endless, place - count)
    back = np.where(moved < 0, least - moved, moved).astype(bits.dtype).view(array.dtype)
    return np.where(np.isnan(array), array, back)


def interval(want: Want, written: Array) -> tuple[Array, Array]:
    """The lowest and the highest value that the bound of `want` admits, in the dtype of `written`.

    `written` is what `want` asks for, rounded. What is judged is the arithmetic that is expected,
    and each element by itself: those of a row have to agree besides. Where `written` is infinite
    or NaN, so are both ends.
    """
    dtype, bound = of(written), want.bound
    assert dtype is not None
    assert bound is not None
    low, high = written.copy(), written.copy()
    before, length, after = bound.layout
    flat = (written.reshape(bound.layout), low.reshape(bound.layout), high.reshape(bound.layout))
    step = max(1, CHUNK // max(1, length))
    for start in range(0, before * after if written.size else 0, step):
        numbers = np.arange(start, min(start + step, before * after))
        a, b = np.divmod(numbers, after)
        ends = _Ends(want, bound, dtype, flat[0][a, :, b], numbers)
        flat[1][a, :, b], flat[2][a, :, b] = ends.end(-1), ends.end(1)
    return low, high


class _Ends:
    """The search for the ends of some groups."""

    def __init__(self, want: Want, bound: Bound, dtype: DType, written: Array, numbers: Any):
        self.shape = written.shape
        self.written = written.reshape(-1, 1)
        self.dtype = dtype
        self.tier = bound.tiers(())[0]
        y = wide(written)
        self.y = y.reshape(-1, 1)
        allowance = bound.allowance(self.tier, numbers, y)
        # Each element is a group of its own here.
        self.allowance = Allowance(
            self._each(allowance.local),
            allowance.common and (self._each(allowance.common[0]), self._each(allowance.common[1])),
            self._each(allowance.exact),
            self._each(allowance.unjudged),
        )
        # The exact value was rounded once before it came here.
        self.output = Output(dtype, want.low, range_end(want.high, dtype), dtype)

    def _each(self, values: Any) -> Any:
        return np.broadcast_to(values, self.shape).reshape(-1, 1)

    def end(self, direction: int) -> Array:
        """The farthest value that is admitted in a direction, 1 or −1."""
        finite = np.isfinite(self.y)
        judged = self._judged(stepped(self.written, direction))
        with np.errstate(over="ignore", invalid="ignore"):
            guess = round_to(self.y + direction * judged.allowed, self.dtype)
        got = np.where(finite, self._in_range(guess), self.written)
        got = _while(got, lambda one: ~self._admits(one) & finite, -direction)
        # Steps outwards end at infinity.
        return _while(
            got,
            lambda one: self._admits(stepped(one, direction)) & np.isfinite(wide(one)),
            direction,
        ).reshape(self.shape)

    def _in_range(self, guess: Array) -> Array:
        for end, pick in ((self.output.low, np.maximum), (self.output.high, np.minimum)):
            if end is not None:
                guess = pick(guess, round_to(np.array(end), self.dtype))
        return guess

    def _judged(self, got: Array) -> Any:
        groups = Groups(self.y, None, wide(got))
        floor = self.tier.arithmetic.floor
        return judge(groups, self.allowance, floor, self.output, may_overflow=not self.tier.remark)

    def _admits(self, got: Array) -> Mask:
        shares: Floats = self._judged(got).shares
        return np.asarray(shares <= 1)


def _while(got: Array, condition: Callable[[Array], Mask], steps: int) -> Array:
    """`got`, moved on where the condition holds until it holds nowhere."""
    while (moves := condition(got)).any():
        got = np.where(moves, stepped(got, steps), got)
    return got
