"""An implementation's arithmetic: unit roundoff, range, library; and Python's operators."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, ldexp
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DTYPES, DType, limits

#: The unit roundoffs of values, by `Arithmetic.values`: what the reference itself rounds to.
#: mpmath's numbers have `WORKING_DIGITS`.
WORKING_DIGITS = 160
VALUE_GRIDS = (2.0**-53, 2.0**-63, 2.0**-WORKING_DIGITS)


class Accuracy(NamedTuple):
    """Error allowed to one call of a library function.

    `ulp` is the error in units in the last place of the result. `argument` is a further relative
    error, in unit roundoffs for each unit of the size that the entry's function states, which
    argument reduction brings.
    """

    ulp: float
    argument: float = 0.0


#: Accuracy of the library functions, by their array API names; other functions have `PLAIN`.
#: 4 units of 2u are what OpenCL's full profile grants most of them. Of a million float32 numbers no
#: released engine measured here needs more, but for ONNX Runtime's asin, which needs 4.3, and for
#: defects (docs/library-functions.md). The argument terms are measured on implementations that
#: compute exp by exp2 and pow by exp and log (tests/bounds).
LIBRARY: Mapping[str, Accuracy] = {
    "exp": Accuracy(4, argument=2),
    "pow": Accuracy(4, argument=6),
    "asin": Accuracy(5),
}
PLAIN = Accuracy(4)


class Grid(NamedTuple):
    """Numbers that results are rounded to: `u` is the unit roundoff, `step` half a subnormal."""

    dtype: DType
    u: float
    step: float = 0.0


def grid(dtype: DType, *, subnormal: bool = True) -> Grid:
    """The grid of a floating dtype."""
    step = ldexp(0.5, dtype.min_exponent) if subnormal else 0.0
    return Grid(dtype, ldexp(1.0, -dtype.precision), step)


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic of an implementation.

    Attributes:
        grid: The numbers that every operation rounds to.
        stored: The narrower numbers that every result is rounded to besides, if any. Sums keep
            their accumulator in `grid`.
        largest: The largest finite number; beyond it, an intermediate result is lost.
        smallest: The smallest normal number.
        ulp: The accuracy of library functions in ULP, where it is not that of the table.
        flushes: Intermediate results below twice `smallest` may become 0.
        scatters: Carry the variance that independent roundings would give.
        cut: The unit roundoff to which an implementation may have rounded the inputs, where they
            scatter; 0 for none.
        half: What tensors of 16 bits are computed in, where that is not float32, while others are
            not: see `bounded.astype`.
        everywhere: Stages for which the text states a wider type are computed in it too; see
            `bounded.astype`.
        values: How wide the values are that all of this is about, from 0 for float64 on; see
            `bounded.array.VALUES`.
    """

    grid: Grid
    largest: float
    smallest: float
    stored: Grid | None = None
    ulp: float | None = None
    flushes: bool = False
    scatters: bool = False
    cut: float = 0.0
    half: "Arithmetic | None" = None
    everywhere: bool = False
    values: int = 0

    @cached_property
    def u(self) -> float:
        """The unit roundoff of every operation."""
        return self.grid.u

    @cached_property
    def floor(self) -> float:
        """Limit of flushing to zero; in float32 and wider twice the smallest normal number.

        One engine flushes up to that. In 16 bits it would be a notable part of usual numbers.
        """
        is_short = self.grid.dtype.numpy.itemsize == 2
        return self.smallest if is_short else 2 * self.smallest

    @cached_property
    def largest_sum(self) -> float:
        """The largest finite sum: the accumulator, in `grid`, may reach further than storage."""
        return max(self.largest, limits(self.grid.dtype)[1])

    def accuracy(self, name: str) -> Accuracy:
        """The accuracy of a library function."""
        found = LIBRARY.get(name, PLAIN)
        return found if self.ulp is None else found._replace(ulp=self.ulp)


def _of(dtype: DType, **options: object) -> Arithmetic:
    smallest = ldexp(1.0, dtype.min_exponent + dtype.precision - 1)
    # Subnormal rounding is no part of the grid of a wide type: it lies below the output's floor.
    rounded = grid(dtype, subnormal=dtype.precision < 24)
    return replace(Arithmetic(rounded, limits(dtype)[1], smallest), **options)  # type: ignore[arg-type]


FLOAT32 = _of(DTYPES["float32"])
FLOAT64 = _of(DTYPES["float64"], values=1)
#: Without errors, on numbers of as many digits as their context says.
EXACT = replace(FLOAT64, grid=Grid(DTYPES["float64"], 0.0), largest=inf, smallest=0.0, values=2)


def expected(dtype: DType) -> Arithmetic:
    """The arithmetic expected of a tensor type: float64 for float64, float32 for all others."""
    return FLOAT64 if dtype.name == "float64" else FLOAT32


def stored(dtype: DType) -> Arithmetic:
    """float32 arithmetic whose results are kept in a 16-bit type between operations."""
    return replace(FLOAT32, stored=grid(dtype), largest=limits(dtype)[1], flushes=True)


def narrow(dtype: DType) -> Arithmetic:
    """Arithmetic in a 16-bit type throughout; library functions are good to 1 ULP."""
    return _of(dtype, ulp=1.0, flushes=True)


class Kind:
    """Base of arrays whose kind of numbers has the functions that are called on them.

    It is no ABC: `isinstance`, which every function of a formula calls, is much slower of those.
    """

    #: NumPy's arrays leave operations with it to it.
    __array_ufunc__: ClassVar[None] = None
    #: The module with this kind's functions.
    module: ClassVar[str] = "opcheck.numbers.bounded"
    v: NDArray[Any]
    #: The shape of the array.
    shape = property(attrgetter("v.shape"))

    @classmethod
    def kind(cls) -> Any:
        """The module with this kind's functions."""
        return sys.modules[cls.module]


def method(name: str) -> Callable[..., Any]:
    """The function `name` of an operator's operands."""
    return lambda self, *other: getattr(self.kind(), name)(self, *other)


def methods(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function `name` of both operands, and of both the other way round."""
    return method(name), lambda self, other: getattr(self.kind(), name)(other, self)


class Number(Kind):
    """An array of some kind of numbers, with the operators of NumPy's arrays.

    It holds the array `v`; `dtype` is the NumPy dtype of the tensor that it stands for.
    """

    dtype: np.dtype[Any]
    __hash__ = object.__hash__
    #: The rank of the array, and the number of elements.
    ndim, size = (property(attrgetter(f"v.{name}")) for name in ("ndim", "size"))

    __add__, __radd__ = methods("add")
    __sub__, __rsub__ = methods("subtract")
    __mul__, __rmul__ = methods("multiply")
    __truediv__, __rtruediv__ = methods("divide")
    __pow__, __rpow__ = methods("pow")
    __matmul__, __neg__, __abs__ = map(method, ("matmul", "negative", "abs"))
    __lt__, __le__ = method("less"), method("less_equal")
    __gt__, __ge__ = method("greater"), method("greater_equal")
    __eq__, __ne__ = method("equal"), method("not_equal")

    def __bool__(self) -> bool:
        raise TypeError("an array of numbers is neither true nor false; use xp.where")
