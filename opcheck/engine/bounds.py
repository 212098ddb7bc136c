"""How far a correct implementation may lie off: the vocabulary of error bounds.

An operator whose answers are rounded gives, beside an output's exact value y, a `Bound`: what the
analysis of a plain implementation allows each element. The elements of an output fall into groups
(for Softmax a row, else a single element) whose errors may have a cause in common, such as one
normaliser for all: there has to be one common error that leaves each element no more than its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DTYPES, DType, limits

Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]
#: A block of an array of three dimensions.
Part: TypeAlias = tuple[slice, slice, slice]

#: From this relative error on an element is unjudged.
UNJUDGED = 0.5
#: Accuracy of one call of a library function (exp, pow, log) in unit roundoffs: about 4 ULP.
LIBRARY = 8.0


def roundoff(dtype: DType) -> float:
    """The unit roundoff of a floating dtype: half the distance from 1 to the next number."""
    return math.ldexp(1.0, -dtype.precision)


def smallest_normal(dtype: DType) -> float:
    """The smallest positive number of a floating dtype that has its full precision."""
    return math.ldexp(1.0, dtype.min_exponent + dtype.precision - 1)


@dataclass(frozen=True)
class Arithmetic:
    """What an implementation computes with.

    `u` is the unit roundoff of the dtype computed in, `library` the error of one library call in
    u, `smallest` and `largest` the ends of that dtype's normal range. `floor` is an absolute error
    allowed to any element. `stored` is the unit roundoff of a narrower dtype in which intermediate
    results are kept, 0 where there is none.
    """

    u: float
    library: float
    floor: float
    smallest: float
    largest: float
    stored: float = 0.0


def inside(dtype: DType) -> DType:
    """What is expected to be computed in: float64 for float64, else float32."""
    return DTYPES["float64" if dtype.name == "float64" else "float32"]


def has_16_bits(dtype: DType) -> bool:
    """Whether `dtype` is float16 or bfloat16, which are expected to be computed in float32."""
    return dtype.numpy.itemsize == 2


def undeclared(what: str, word: str, declared: Collection[str]) -> str:
    """The remark on a tier: `what` it is, and that `word` declares it; "" if that was done."""
    return "" if word in declared else f"{what}; declare accumulate={word}"


def expected(dtype: DType) -> Arithmetic:
    """The arithmetic of the dtype `inside`.

    The floor is twice the smallest normal number, because engines flush subnormals to zero, and
    one of them a little early; float16 needs none, being far from the end of float32's range.
    """
    held = inside(dtype)
    small = smallest_normal(held)
    floor = 0.0 if dtype.name == "float16" else 2 * small
    return Arithmetic(roundoff(held), LIBRARY, floor, small, limits(held)[1])


def stored(dtype: DType) -> Arithmetic:
    """float32 inside, but intermediate results are kept in `dtype`, one of the 16-bit types."""
    plain = expected(dtype)
    floor = plain.floor + _half_step(dtype)
    return Arithmetic(plain.u, plain.library, floor, plain.smallest, plain.largest, roundoff(dtype))


def narrow(dtype: DType) -> Arithmetic:
    """Everything in `dtype`, one of the 16-bit types, each operation rounded to it.

    A library call is computed wider and rounded, so it is good to 1 ULP.
    """
    floor = expected(dtype).floor + _half_step(dtype)
    return Arithmetic(roundoff(dtype), 2.0, floor, smallest_normal(dtype), limits(dtype)[1])


def _half_step(dtype: DType) -> float:
    return math.ldexp(0.5, dtype.min_exponent)


@dataclass(frozen=True)
class Tier:
    """A kind of arithmetic, from the one that is expected to the least that is tolerated.

    An output that needs a tier with a `remark` is a warning which that remark explains. `excuse`
    is for the operator: what, beyond its arithmetic, the tier lets pass.
    """

    name: str
    arithmetic: Arithmetic
    remark: str = ""
    excuse: str = ""


@dataclass(frozen=True, eq=False)
class Allowance:
    """What is allowed to n groups of N elements; arrays of shape (n, N), `common` of (n, 1).

    An answer to the exact value y may be y·T·F with a factor F of its own in [e^-l, e^l], where l
    is `local`, and a factor T that all elements of a group share, in [e^-d, e^u] where (d, u) is
    `common`, or 1 where that is None. Large errors are errors of exponents, hence the logarithms.

    `exact` marks the elements that admit no error at all. `unjudged` are those that may err by
    half of their value or more: what is allowed to them says little. `excused`, if it is not
    None, holds two ends: a value between them is let pass too; NaN where nothing is. So are
    infinity and NaN for the elements that may be `lost`.
    """

    local: Floats
    common: tuple[Floats, Floats] | None
    exact: Mask
    unjudged: Mask
    excused: tuple[Floats, Floats] | None = None
    lost: Mask | None = None


class Bound(Protocol):
    """What correct implementations may answer to one set of inputs, for one output.

    The output, in row-major order, has the shape `layout` = (A, N, B), and [a, :, b] is a group,
    whose number is a·B + b.
    """

    @property
    def layout(self) -> tuple[int, int, int]:
        """A, N and B."""
        ...

    def tiers(self, declared: Collection[str]) -> tuple[Tier, ...]:
        """The kinds of arithmetic to try, in this order; those `declared` bring no remark."""
        ...

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        """Fill `out`, of `y`'s dtype and shape, with errors that every tier allows.

        `y` is output[part]: exact in float64 or, where the output is float32, rounded to that,
        and then what the rounding may have cost is taken off. The floor is not included. Where
        all elements of a group keep to it, they also agree about what they have in common. It has
        to be cheap: it settles large outputs.
        """
        ...

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        """What `tier` allows the groups with these numbers, whose exact values are `y`, (n, N)."""
        ...


@dataclass(frozen=True, eq=False)
class FloorOnly:
    """The bound of `size` elements of `dtype` about which no analysis is known: the floor alone."""

    dtype: DType
    size: int

    @property
    def layout(self) -> tuple[int, int, int]:
        """Each element is a group."""
        return self.size, 1, 1

    def tiers(self, declared: Collection[str]) -> tuple[Tier, ...]:
        """The arithmetic that is expected."""
        return (Tier(inside(self.dtype).name, expected(self.dtype)),)

    def quick(self, part: Part, y: Reals, out: Reals) -> None:
        """Allow nothing."""
        out.fill(0)

    def allowance(self, tier: Tier, groups: Places, y: Floats) -> Allowance:
        """Allow nothing but the floor, to any element."""
        return Allowance(np.zeros(y.shape), None, np.zeros(y.shape, bool), np.zeros(y.shape, bool))
