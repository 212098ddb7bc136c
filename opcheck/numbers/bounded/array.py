"""Arrays that know how far a sound implementation may lie from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DTYPES, DType
from opcheck.numbers.arithmetic import Arithmetic, Grid
from opcheck.numbers.kinds import Number

#: Values: float64, or for float64 tensors something wider (see `VALUES`).
Reals: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_FLOAT32 = DTYPES["float32"]


@cache
def VALUES() -> tuple[np.dtype[Any], ...]:  # noqa: N802
    """The NumPy dtypes of values, the narrowest first: float64, longdouble, mpmath's numbers.

    Those of float64 tensors are at least the second. That is left out where longdouble is hardly
    wider than float64, which `finfo` tells and not the platform's name: on one processor it depends
    on the compiler.
    """
    there, here = np.finfo(np.longdouble), np.finfo(np.float64)
    wider = there.nmant >= here.nmant + 11 and there.minexp < 2 * here.minexp
    kinds = (np.float64, np.longdouble, np.object_) if wider else (np.float64, np.object_)
    return tuple(np.dtype(kind) for kind in kinds)


@dataclass(frozen=True, eq=False)
class Common:
    """A relative error that all elements of a group share, such as that of a row's sum.

    `size` is how large it may be, `group` the number of each element's group; both broadcast to
    the array's shape.
    """

    size: Floats
    group: NDArray[np.intp]

    def moved(self, shape: tuple[int, ...], move: Callable[[Any], Any]) -> Common:
        """The same for elements of an array of this shape that are moved elsewhere."""
        size, group = (np.broadcast_to(part, shape) for part in (self.size, self.group))
        return Common(move(size), move(group))


class Bounded(Number):
    """Values, and how far an implementation of the formula so far may lie from them.

    Attributes:
        v: The values, computed so accurately that they count as exact.
        e: A bound on the absolute error before the last rounding; None for no error at all.
        k: The last rounding: an error of at most `k` unit roundoffs of `grid`. It is kept apart
            because an output that was rounded to its own type is not rounded once more.
        q: The variance that independent roundings would give, without the last one; None where
            the arithmetic does not ask for it, or there is no error.
        lost: Elements for which an intermediate result left the range of the arithmetic, or that
            could be anything; None for no element.
        common: A relative error in common with other elements, which comes on top of `e`.
        dtype: The NumPy dtype of the tensor that the array stands for.
    """

    __slots__ = (
        "_settled", "arithmetic", "common", "dtype", "e", "grid", "k", "lost", "q", "v",
    )  # fmt: skip

    def __init__(
        self,
        v: Reals,
        dtype: np.dtype[Any],
        arithmetic: Arithmetic,
        e: Floats | None = None,
        *,
        k: float = 0.0,
        grid: Grid | None = None,
        q: Floats | None = None,
        lost: Mask | None = None,
        common: Common | None = None,
    ) -> None:
        self.v, self.dtype, self.arithmetic = v, dtype, arithmetic
        self.e = _spread(e, v.shape)
        self.k, self.grid = k, grid or arithmetic.grid
        self.q = _spread(q, v.shape)
        self.lost = _spread(lost, v.shape)
        self.common = common
        self._settled: Bounded | None = None

    @classmethod
    def kind(cls) -> Any:
        """The functions of bounded numbers."""
        from opcheck.numbers import bounded

        return bounded

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.v.shape

    @property
    def exact(self) -> bool:
        """True if no rounding has touched the values."""
        return self.e is None and not self.k and self.common is None

    def settled(self) -> Self:
        """The same array with all its errors in `e` and `q`: what an operation sees of it."""
        if self._settled is None:
            self._settled = self if self.exact else self._settle()
        return self._settled  # type: ignore[return-value]

    def _settle(self) -> Bounded:
        arithmetic, grid = self.arithmetic, self.grid
        size = size_of(self.v)
        if self.e is not None:
            size = size + self.e
        error = size * (self.k * grid.u)
        if self.k:
            error += grid.step
        if self.common is not None:
            error += size * self.common.size * (1 + self.k * grid.u)
        if self.e is not None:
            error += self.e
        lost = self.lost
        if arithmetic.flushes and self.k:
            small = (size < arithmetic.floor) & ((self.v != 0) | (size > 0))
            if small.any():
                error += np.where(small, arithmetic.floor, 0.0)
        # False for NaN too, so that whatever is strange is looked at.
        if not size.max(initial=0) <= arithmetic.largest:
            finite = is_finite(self.v)
            error = np.where(finite, error, 0.0)
            over = finite & ~(size <= arithmetic.largest)
            if over.any():
                lost = over if lost is None else lost | over
                error = np.where(np.isnan(error), np.inf, error)
        settled = Bounded(self.v, self.dtype, arithmetic, error, q=self.variance(), lost=lost)
        settled._settled = settled
        return settled

    def variance(self) -> Floats | None:
        """The variance that independent roundings give, the last one included."""
        if not self.arithmetic.scatters:
            return None
        v = size_of(self.v)
        q = (v * self.grid.u) ** 2 / 3 if self.k else np.zeros(v.shape)
        if self.q is not None:
            q = q + self.q
        return np.where(np.isfinite(v), q, 0.0)

    def moved(self, move: Callable[[Any], Any]) -> Bounded:
        """The array with its elements moved, left out or repeated, which costs no accuracy."""
        return Bounded(
            move(self.v),
            self.dtype,
            self.arithmetic,
            None if self.e is None else move(self.e),
            k=self.k,
            grid=self.grid,
            q=None if self.q is None else move(self.q),
            lost=None if self.lost is None else move(self.lost),
            common=self.common and self.common.moved(self.shape, move),
        )

    def __getitem__(self, index: Any) -> Bounded:
        return self.moved(lambda part: np.asarray(part[index]))

    def __repr__(self) -> str:
        return f"Bounded({self.v!r}, error={self.settled().e!r})"


def _spread(part: NDArray[Any] | None, shape: tuple[int, ...]) -> Any:
    if part is None or part.shape == shape:
        return part
    return np.broadcast_to(part, shape)


def size_of(v: Reals) -> Floats:
    """The absolute value of each element, in float64, infinite where it holds no such number."""
    return np.abs(v).astype(np.float64, copy=False)


def is_finite(v: Reals) -> Mask:
    """Where values are finite, also those that float64 cannot hold."""
    if v.dtype != object:
        return np.asarray(np.isfinite(v))
    from opcheck.numbers import precise

    return precise.finite(v)


def bounded(x: NDArray[Any], dtype: DType, arithmetic: Arithmetic) -> Bounded:
    """A tensor of a floating `dtype` as it is, without any error.

    In arithmetic that flushes, an implementation may read its subnormal numbers as 0.
    """
    with np.errstate(invalid="ignore"):  # A signalling NaN is a value like any other.
        v = as_values(x, VALUES()[arithmetic.values])
    e = None
    if arithmetic.flushes:
        size = np.abs(v).astype(np.float64, copy=False)
        small = (size < arithmetic.smallest) & (size > 0)
        e = np.where(small, size, 0.0) if small.any() else None
    return Bounded(v, dtype.numpy, arithmetic, e)


def as_values(x: Any, kind: np.dtype[Any]) -> Reals:
    """Plain numbers as values of this NumPy dtype, which holds them all."""
    array = np.asarray(x)
    if kind != object:
        return array.astype(kind)
    from opcheck.numbers import precise

    return precise.objects(array)


def constant(x: Any, like: Bounded) -> Bounded:
    """A constant of the formula: its digits are rounded to the arithmetic's numbers.

    Integers, booleans and whatever those numbers hold exactly have no error.
    """
    array = np.asarray(x)
    v = as_values(array, like.v.dtype)
    if array.dtype.kind != "f":
        return Bounded(v, like.dtype, like.arithmetic)
    grid = like.arithmetic.grid
    wide = array.astype(np.float64)
    held = wide == wide.astype(grid.dtype.numpy if grid.dtype.numpy.kind == "f" else _FLOAT32.numpy)
    inexact = not held.all() or grid.u > _ROUNDOFF
    return Bounded(v, like.dtype, like.arithmetic, k=1.0 if inexact else 0.0)


_ROUNDOFF = 2.0**-24


def pair(a: Any, b: Any) -> tuple[Bounded, Bounded]:
    """Both operands as bounded arrays, at least one of which is one already."""
    if not isinstance(a, Bounded):
        return constant(a, b), b
    return a, b if isinstance(b, Bounded) else constant(b, a)
