"""An implementation's arithmetic: unit roundoff, range, library; and Python's operators."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, ldexp
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DTYPES, DType, limits

#: The binary digits of mpmath's numbers.
WORKING_DIGITS = 160
#: The unit roundoffs of values, by `Arithmetic.values`: what the reference itself rounds to.
VALUE_GRIDS = (2.0**-53, 2.0**-63, 2.0**-WORKING_DIGITS)


class Accuracy(NamedTuple):
    """Error allowed to one call of a library function.

    `ulp` is the error in units in the last place of the result. `argument` is an error that
    reduction brings to the argument, in unit roundoffs of it; in x^p, that is p·ln x.
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
#: Accuracy of all other functions.
PLAIN = Accuracy(4)
_BYTES_OF_HALF = 2


class Grid(NamedTuple):
    """Numbers that results are rounded to.

    `dtype` has them; `u` is the unit roundoff, a relative error, and `step` the absolute one below
    the normal numbers, half the smallest subnormal number; 0 if that is left out.
    """

    dtype: DType
    u: float
    step: float = 0.0


def grid(dtype: DType, *, subnormal: bool = True) -> Grid:
    """Return the grid of a floating `dtype`; u is 2^−precision, such as 2⁻²⁴ of float32.

    `step` is half the smallest subnormal number, or 0 unless `subnormal`.
    """
    step = 0.0
    if subnormal:
        step = ldexp(0.5, dtype.min_exponent)
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
        ulp: The accuracy of library functions in ULP; None for that of `LIBRARY`.
        flushes: Intermediate results below `floor` may become 0.
        scatters: Carry the variance that independent roundings would give.
        cut: The unit roundoff to which an implementation may have rounded the inputs, which counts
            as scatter alone; 0 for none.
        half: The arithmetic of tensors of 16 bits, where it is another than that of wider ones in
            the same formula or graph; None for float32.
        everywhere: A 16-bit arithmetic goes on after a cast to a wider type that the text requires,
            such as a stage in float32.
        keeps_casts: A Cast to a 16-bit type within a graph may leave its rounding out; see
            `bounded.movement.cast_to_half`.
        values: How wide the values are that all of this is about, from 0 for float64 on; see
            `bounded.array.value_dtypes()`.
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
    keeps_casts: bool = False
    values: int = 0

    def turned_into(self, other: "Arithmetic") -> "Arithmetic":
        """Return `other` with what holds for all of a node, whatever type a part of it has.

        That is this one's `flushes`, `scatters`, `everywhere` and `keeps_casts`, and the wider of
        both `values`. All else is that of `other`, such as grid, range and `half`.
        """
        return replace(
            other,
            flushes=self.flushes,
            scatters=self.scatters,
            values=max(other.values, self.values),
            everywhere=self.everywhere,
            keeps_casts=self.keeps_casts,
        )

    @cached_property
    def u(self) -> float:
        """Unit roundoff of every operation, such as 2⁻²⁴ in float32."""
        return self.grid.u

    @cached_property
    def floor(self) -> float:
        """The size below which results may be flushed to 0: twice the smallest normal number.

        One engine flushes up to that. In 16 bits it would be a notable part of usual numbers, and
        the limit is the smallest normal number itself. 0 without a `smallest`.
        """
        is_half = self.grid.dtype.numpy.itemsize == _BYTES_OF_HALF
        return self.smallest if is_half else 2 * self.smallest

    @cached_property
    def largest_sum(self) -> float:
        """The largest finite sum: `largest`, or that of the dtype of `grid` if it reaches further.

        Sums are accumulated there, also where results are `stored` in a narrower type.
        """
        return max(self.largest, limits(self.grid.dtype)[1])

    def accuracy(self, name: str) -> Accuracy:
        """Return the accuracy of the library function of this array API name.

        A function that is not in `LIBRARY` has `PLAIN`, whatever its name. `self.ulp`, unless it is
        None, replaces the ULP of either, not the argument term.
        """
        accuracy = LIBRARY.get(name, PLAIN)
        if self.ulp is None:
            return accuracy
        return accuracy._replace(ulp=self.ulp)


def _arithmetic_of(dtype: DType) -> Arithmetic:
    """Return the arithmetic whose operations round to a floating dtype, without flushing.

    Its range is that of the dtype. Below the smallest normal number only types of 16 bits round.
    """
    # Subnormal rounding is not part of the grid of a wide type: it lies below the output's floor.
    is_wide = dtype.precision >= DTYPES["float32"].precision
    return Arithmetic(grid(dtype, subnormal=not is_wide), limits(dtype)[1], dtype.smallest_normal)


FLOAT32 = _arithmetic_of(DTYPES["float32"])
FLOAT64 = replace(_arithmetic_of(DTYPES["float64"]), values=1)
#: Without errors, on numbers of as many digits as the context of mpmath has.
EXACT = replace(FLOAT64, grid=Grid(DTYPES["float64"], 0.0), largest=inf, smallest=0.0, values=2)


def expected(dtype: DType) -> Arithmetic:
    """Return the arithmetic expected of a tensor type: float64 for that, float32 for all others."""
    return FLOAT64 if dtype.name == "float64" else FLOAT32


def stored(dtype: DType) -> Arithmetic:
    """Return float32 arithmetic whose results are kept in a 16-bit type between operations.

    It flushes: numbers up to twice the smallest normal float32 may become 0. Numbers beyond the
    range of `dtype` are lost: they may become infinite.
    """
    return replace(FLOAT32, stored=grid(dtype), largest=limits(dtype)[1], flushes=True)


def narrow(dtype: DType) -> Arithmetic:
    """Return arithmetic in a 16-bit type throughout; library functions are good to 1 ULP.

    It flushes: what is below the smallest normal number may become 0.
    """
    return replace(_arithmetic_of(dtype), ulp=1.0, flushes=True)


class Kind:
    """Base of arrays that are not plain: `kind()` is the module with the functions for them.

    It is not an ABC: `isinstance`, which every function of a formula calls, is much slower of
    those.
    """

    #: In an operation with a NumPy array, the operator of this class is called, not NumPy's.
    __array_ufunc__: ClassVar[None] = None
    #: The name of the module with this kind's functions.
    module: ClassVar[str] = "opcheck.numbers.bounded"
    #: The values.
    v: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.v.shape

    def __bool__(self) -> bool:
        """Raise TypeError: an array is neither true nor false, whatever its size."""
        raise TypeError("an array of numbers is neither true nor false; use xp.where")

    @classmethod
    def kind(cls) -> Any:
        """Return the module with this kind's functions; raises KeyError if it is not imported."""
        return sys.modules[cls.module]


class Number(Kind):
    """An array of some kind of numbers, with the operators of NumPy's arrays.

    It holds the array `v`; `dtype` is the NumPy dtype of the tensor that it stands for.
    """

    dtype: np.dtype[Any]
    __hash__ = object.__hash__

    @property
    def ndim(self) -> int:
        """The rank of the array."""
        return self.v.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.v.size

    def __getitem__(self, index: Any) -> Any:
        """Raise NotImplementedError: each kind has its own."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self.kind().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.kind().add(other, self)

    def __sub__(self, other: Any) -> Any:
        return self.kind().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.kind().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return self.kind().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.kind().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.kind().divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.kind().divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return self.kind().pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.kind().pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return self.kind().matmul(self, other)

    def __neg__(self) -> Any:
        return self.kind().negative(self)

    def __abs__(self) -> Any:
        return self.kind().abs(self)

    def __lt__(self, other: Any) -> Any:
        return self.kind().less(self, other)

    def __le__(self, other: Any) -> Any:
        return self.kind().less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return self.kind().greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return self.kind().greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return self.kind().equal(self, other)

    def __ne__(self, other: object) -> Any:
        return self.kind().not_equal(self, other)
