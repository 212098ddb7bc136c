"""Windows to pool, of shape (n, K): ordinary ones, and those on which sums and powers go worst.

Where a distribution has to do with the range of |x|^p, it follows the dtype computed in: float64
for float64, else float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import TypeAlias

import ml_dtypes
import numpy as np

from tests.bounds.arithmetic import Array, unit, wide

Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class Wanted:
    """Windows of `shape` (n, K) in `dtype`, to be pooled with `p`."""

    shape: tuple[int, int]
    p: float
    dtype: np.dtype

    @property
    def largest(self) -> float:
        """The largest number of the windows' own dtype."""
        return float(ml_dtypes.finfo(self.dtype).max)

    @property
    def range(self) -> Range:
        return Range.of(computed_in(self.dtype))

    def with_powers(self, exponents: Array) -> Array:
        """Numbers whose p-th powers are 2 to these exponents, or infinity."""
        with np.errstate(over="ignore", under="ignore"):
            return np.exp2(exponents / self.p)


@dataclass(frozen=True)
class Range:
    """What a dtype that is computed in can hold, as binary logarithms: of its smallest normal
    number, of its largest one, and of its unit roundoff.
    """

    least: float
    most: float
    lost: float

    @staticmethod
    def of(dtype: np.dtype) -> Range:
        info = ml_dtypes.finfo(dtype)
        # float64's own largest would be too large for log2.
        return Range(float(info.minexp), float(info.maxexp), log2(unit(dtype)))


def computed_in(dtype: np.dtype) -> np.dtype:
    """What is computed in for a tensor of `dtype`."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def normal(rng: Rng, want: Wanted) -> Array:
    return rng.standard_normal(want.shape)


def uniform(rng: Rng, want: Wanted) -> Array:
    return rng.random(want.shape)


def tenths(rng: Rng, want: Wanted) -> Array:
    return rng.integers(1, 11, want.shape) * rng.choice([-0.1, 0.1], want.shape)


def times(factor: float) -> Callable[[Rng, Wanted], Array]:
    return lambda rng, want: factor * rng.standard_normal(want.shape)


def decades(rng: Rng, want: Wanted) -> Array:
    """Magnitudes from 1e-3 to 1e3, evenly in the logarithm."""
    return 10 ** rng.uniform(-3, 3, want.shape) * rng.choice([-1, 1], want.shape)


def whole_range(rng: Rng, want: Wanted) -> Array:
    """Windows of some size each, with powers anywhere in the dtype's range."""
    n, size = want.shape
    middle = rng.uniform(want.range.least, want.range.most - log2(size), (n, 1))
    return want.with_powers(np.minimum(middle + rng.normal(0, 4, want.shape), want.range.most))


def top(rng: Rng, want: Wanted) -> Array:
    """Sums close to the largest number, and a little above."""
    size = want.shape[1]
    return want.with_powers(want.range.most - log2(size) + rng.uniform(-0.3, 0.02, want.shape))


def bottom(rng: Rng, want: Wanted) -> Array:
    """Sums close to where a flushed term begins to count."""
    return want.with_powers(want.range.least - want.range.lost + rng.uniform(-1, 2, want.shape))


def below(rng: Rng, want: Wanted) -> Array:
    """Terms that some implementations flush, beside one that makes the sum just large enough."""
    n, size = want.shape
    exponents = want.range.least + rng.uniform(-2, 2, want.shape)
    places = rng.integers(0, size, n)
    exponents[np.arange(n), places] = (
        want.range.least - want.range.lost + log2(size) + rng.uniform(0, 1, n)
    )
    return want.with_powers(exponents)


def dominated(rng: Rng, want: Wanted) -> Array:
    n, size = want.shape
    x = 1e-4 * rng.standard_normal(want.shape)
    x[np.arange(n), rng.integers(0, size, n)] = rng.uniform(0.5, 2, n)
    return x


def stagnating(rng: Rng, want: Wanted) -> Array:
    """A running sum that starts with the one never gets past it."""
    x = np.full(want.shape, want.with_powers(np.array(want.range.lost)))
    x[:, 0] = 1
    return x * np.exp2(rng.integers(-2, 3, (want.shape[0], 1)))


def constant(rng: Rng, want: Wanted) -> Array:
    return np.ones(want.shape) * rng.uniform(0.05, 3, (want.shape[0], 1))


def sparse(rng: Rng, want: Wanted) -> Array:
    """Many zeros, of both signs, and windows of nothing else."""
    return rng.standard_normal(want.shape) * (rng.random(want.shape) < 1 / 3)


def subnormal(rng: Rng, want: Wanted) -> Array:
    """Below the normal numbers of float32, alone or beside an ordinary number."""
    n, size = want.shape
    x = 1e-40 * rng.integers(1, 100, want.shape)
    x[: n // 2, size // 2] = rng.standard_normal(n // 2)
    return x


def edge(rng: Rng, want: Wanted) -> Array:
    """Norms about where the answer becomes infinite."""
    n, size = want.shape
    x = np.zeros(want.shape)
    x[:, 0] = want.largest
    if size > 1:
        # The norm is to be `1 + over` times the largest number; half a step beyond is the edge.
        over = unit(want.dtype) / 2
        second = want.largest * np.expm1(want.p * np.log1p(over)) ** (1 / want.p)
        x[:, 1] = second * (1 + rng.normal(0, 1e-3, n))
    return x


DISTRIBUTIONS: dict[str, Callable[[Rng, Wanted], Array]] = {
    "N(0,1)": normal,
    "U(0,1)": uniform,
    "tenths": tenths,
    "1e3": times(1e3),
    "1e-3": times(1e-3),
    "1e-6": times(1e-6),
    "decades": decades,
    "whole range": whole_range,
    "top": top,
    "bottom": bottom,
    "below": below,
    "dominated": dominated,
    "stagnating": stagnating,
    "constant": constant,
    "sparse": sparse,
    "subnormal": subnormal,
    "edge": edge,
}


def windows(name: str, shape: tuple[int, int], p: float, dtype: np.dtype) -> Array:
    """`shape` windows of a distribution in `dtype`, finite, the same for the same arguments."""
    rng = np.random.default_rng([*shape, int(10 * p), *name.encode()])
    want = Wanted(shape, p, dtype)
    return np.clip(DISTRIBUTIONS[name](rng, want), -want.largest, want.largest).astype(dtype)


def in_range(x: Array, p: float, dtype: np.dtype | None = None, room: float = 2e-4) -> Array:
    """Which windows have a sum of powers that every implementation in `dtype` can hold.

    The sum is below the largest number by `room`, a binary logarithm, and so large that the flush
    of all terms below the smallest normal number loses less than its rounding.
    """
    range = Range.of(dtype or computed_in(x.dtype))
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = p * np.log2(np.abs(wide(x)))
        most = exponents.max(-1, keepdims=True)
        total = most + np.log2(np.exp2(exponents - most).sum(-1, keepdims=True))
    total = np.where(most == -np.inf, most, total)[:, 0]
    small = range.least - range.lost + log2(x.shape[1])
    return (total == -np.inf) | ((total >= small) & (total <= range.most - room))
