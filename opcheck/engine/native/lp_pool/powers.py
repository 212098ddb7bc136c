"""|x|^p and its root in native mode: by products, square and cube roots as far as they go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine.half import widened
from opcheck.engine.native.blocks import as_laid_out
from opcheck.model import Array
from opcheck.numbers.arithmetic import expected

#: Up to this p float32 has some range left for powers.
_IN_FLOAT32 = 8
#: Up to this p a whole power is multiplied.
_MULTIPLIED = 64


@dataclass(frozen=True)
class Powers:
    """How the p-norms of at most `most` numbers of `dtype` are computed, `wide` in float64."""

    dtype: DType
    p: float
    most: int
    wide: bool = False

    @cached_property
    def held(self) -> DType:
        """The dtype to compute in."""
        wide = self.wide or self._whole > _IN_FLOAT32
        return DTYPES["float64"] if wide else expected(self.dtype).grid.dtype

    @cached_property
    def safe(self) -> tuple[float, float]:
        """The least and the greatest norm that no overflow or underflow can have changed.

        Sums of powers lose something to underflow where they are below `most` times the smallest
        normal number by the unit roundoff. Sums of the numbers themselves never do.
        """
        if self.p == 1:
            return 0.0, np.inf
        with np.errstate(all="ignore"):
            arithmetic = expected(self.held)
            least = np.float64(self.most) * arithmetic.smallest / arithmetic.u
            greatest = np.float64(limits(self.held)[1]) / 2
            low, high = least ** (1 / self.p), greatest ** (1 / self.p)
        return 1.01 * float(low), 0.99 * float(high)

    @cached_property
    def largest(self) -> float:
        """The largest number of which `most` have a norm in that range."""
        with np.errstate(all="ignore"):
            return float(self.safe[1] / np.float64(self.most) ** (1 / self.p))

    def raise_to(self, x: Array, out: Array, room: Array) -> None:
        """Fill `out` with |x|^p; `room`, flat, is overwritten too, and `x` is elsewhere.

        All are of the dtype computed in. What counts is how often `x` is read.
        """
        if self.p == 2:
            np.square(x, out=out)
            return
        if self.p == 1 or self._whole > _MULTIPLIED:
            np.absolute(x, out=out)
            if self.p != 1:
                np.power(out, self.p, out=out)
            return
        base = np.absolute(x, out=room[: x.size].reshape(x.shape))
        power = base
        for bit in f"{self._whole:b}"[1:]:
            power = np.square(power, out=out)
            if bit == "1":
                np.multiply(out, base, out=out)

    @cached_property
    def begins_with_sqrt(self) -> bool:
        """Whether the first step of a root is a square root."""
        return self._whole <= _MULTIPLIED and self._whole % 2 == 0

    def finish_root(self, y: Array) -> None:
        """Take the root of `y` in place, but for a square root with which it begins."""
        p: float = self.p
        if self._whole <= _MULTIPLIED:
            p = self._whole // 2 if self.begins_with_sqrt else self._whole
            while p % 2 == 0:
                np.sqrt(y, out=y)
                p //= 2
            while p % 3 == 0:
                np.cbrt(y, out=y)
                p //= 3
        if p != 1:
            np.power(y, 1 / p, out=y)

    def root(self, y: Array) -> Array:
        """The root of `y`."""
        y = np.sqrt(y) if self.begins_with_sqrt else np.absolute(y)
        self.finish_root(y)
        return y

    @cached_property
    def _whole(self) -> int:
        """p, or more than is multiplied where p is not whole."""
        return int(self.p) if self.p == int(self.p) else _MULTIPLIED + 1


#: Remembered with what was worked out for them.
powers_of = lru_cache(maxsize=64)(Powers)


def values(x: Array, room: Array) -> Array:
    """`x` as it is computed with, contiguous and aligned: itself or a copy in `room`."""
    if x.dtype == room.dtype and as_laid_out(x):
        return x
    copy = room[: x.size].reshape(x.shape)
    if x.dtype.itemsize > 2:
        np.copyto(copy, x)
    elif copy.dtype.itemsize == 4:
        widened(x, copy)
    else:
        np.copyto(copy, widened(x))
    return copy
