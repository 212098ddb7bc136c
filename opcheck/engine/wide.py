"""Arithmetic with more digits than float64, for the exact answers of float64 operators.

Two kinds of numbers that work alike: NumPy's longdouble where that is wider than float64, else
pairs of float64. NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.bounds import Floats
from opcheck.engine.double_double import Pair, two_sum

_Operand: TypeAlias = "Extended | Floats | float"


class Wide(Protocol):
    """An array of numbers with more digits than float64.

    The operators also take an array of float64 or a float on their right side.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        ...

    def __getitem__(self, index: Any) -> Self: ...
    def __add__(self, other: Self | Floats | float) -> Self: ...
    def __sub__(self, other: Self | Floats | float) -> Self: ...
    def __mul__(self, other: Self | Floats | float) -> Self: ...
    def __truediv__(self, other: Self | Floats | float) -> Self: ...

    def exp(self, exponent: int = 0) -> Self:
        """e^self · 2^exponent; 0 for -inf."""
        ...

    def log(self) -> Self:
        """The natural logarithm of numbers > 0."""
        ...

    def sqrt(self) -> Self:
        """The square root of numbers ≥ 0."""
        ...

    def power(self, p: float) -> Self:
        """self^p for numbers ≥ 0 and p > 0."""
        ...

    def total(self) -> Self:
        """The sum over the last axis, which is kept with size 1, added in pairs."""
        ...

    def split(self, exponent: Any = 0) -> tuple[Floats, Floats]:
        """self · 2^exponent: the nearest float64, also where that is subnormal, and the rest."""
        ...


@dataclass(frozen=True, eq=False)
class Extended:
    """Numbers in NumPy's longdouble; the methods are described at `Wide`."""

    number: NDArray[np.longdouble]

    #: NumPy's arrays shall not try to add an Extended to each of their elements.
    __array_ufunc__: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.number.shape

    def __getitem__(self, index: Any) -> Extended:
        return Extended(np.asarray(self.number[index]))

    def __add__(self, other: _Operand) -> Extended:
        return Extended(np.add(self.number, _number(other)))

    def __sub__(self, other: _Operand) -> Extended:
        return Extended(np.subtract(self.number, _number(other)))

    def __mul__(self, other: _Operand) -> Extended:
        return Extended(np.multiply(self.number, _number(other)))

    def __truediv__(self, other: _Operand) -> Extended:
        return Extended(np.divide(self.number, _number(other)))

    def exp(self, exponent: int = 0) -> Extended:  # noqa: D102
        # A product, as ldexp takes half as long as exp does.
        return Extended(np.exp(self.number) * np.ldexp(np.longdouble(1), exponent))

    def log(self) -> Extended:  # noqa: D102
        return Extended(np.log(self.number))

    def sqrt(self) -> Extended:  # noqa: D102
        return Extended(np.sqrt(self.number))

    def power(self, p: float) -> Extended:  # noqa: D102
        return Extended(np.power(self.number, np.longdouble(p)))

    def total(self) -> Extended:  # noqa: D102
        return Extended(self.number.sum(axis=-1, keepdims=True))

    def split(self, exponent: Any = 0) -> tuple[Floats, Floats]:  # noqa: D102
        exact = self.number * np.ldexp(np.longdouble(1), exponent)
        nearest = exact.astype(np.float64)
        rest = (exact - nearest).astype(np.float64)
        return nearest, np.where(np.isfinite(rest), rest, 0.0)


def extended() -> bool:
    """Whether longdouble has more digits and more range than float64, as `finfo` tells.

    The platform's name would not do: on one and the same processor it depends on the compiler.
    """
    there, here = np.finfo(np.longdouble), np.finfo(np.float64)
    return bool(there.nmant > here.nmant and there.minexp < 2 * here.minexp)


def widen(x: Floats) -> Wide:
    """`x` as wide numbers of the kind this platform has."""
    return Extended(x.astype(np.longdouble)) if extended() else Pair(x, np.zeros_like(x))


def exp_of_difference(a: Floats, b: Floats, exponent: int = 0) -> Wide:
    """e^(a - b) · 2^exponent, with no digit lost to the subtraction; 0 for a = -inf."""
    difference = two_sum(a, -b)
    # The rounding error is no number where the difference is infinite; there it does not matter.
    low = np.where(np.isfinite(difference.low), difference.low, 0.0)
    if not extended():
        return Pair(difference.high, low).exp(exponent)
    result = Extended(difference.high.astype(np.longdouble)).exp(exponent)
    # e^low is 1 + low to more digits than there are.
    return result + result * low


def _number(operand: _Operand) -> Any:
    return operand.number if isinstance(operand, Extended) else operand
