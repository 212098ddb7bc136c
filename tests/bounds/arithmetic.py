"""What implementations are made of: sums in many orders, inexact functions, lost bits, flushing.

Sums run along the last axis, which they keep with length 1, in the dtype of their terms.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Sum: TypeAlias = Callable[[Array], Array]
#: Says at each place of an array in which direction a function errs: +1, -1 or 0.
Signs: TypeAlias = Callable[[Array], Array]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
#: One call of exp, log or pow may err by this many unit roundoffs: about 4 ULP.
LIBRARY = 8


def unit(dtype: Any) -> float:
    """The unit roundoff: half the distance from 1 to the next number."""
    return float(ml_dtypes.finfo(dtype).eps) / 2


def wide(values: Array) -> Array:
    """`values` in a dtype that knows more of them, where the machine has one."""
    return values.astype(np.longdouble if values.dtype == np.float64 else np.float64)


def product(a: Array, b: Array) -> tuple[Array, Array]:
    """a·b exactly, as the rounded product and what it has lost, if nothing over- or underflows."""
    high = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(values: Array) -> tuple[Array, Array]:
    """Each value as a sum of two with half the digits, the products of which are exact."""
    scaled = values * values.dtype.type(2 ** (ml_dtypes.finfo(values.dtype).nmant // 2 + 1) + 1)
    high = scaled - (scaled - values)
    return high, values - high


def sequential(terms: Array) -> Array:
    return np.add.accumulate(terms, axis=-1)[..., -1:]


def backwards(terms: Array) -> Array:
    return sequential(terms[..., ::-1])


def pairwise(terms: Array, combine: Callable[[Array, Array], Array] = np.add) -> Array:
    """Neighbours first, then neighbouring pairs, and so on: a balanced tree."""
    while terms.shape[-1] > 1:
        even = terms.shape[-1] // 2 * 2
        pairs = combine(terms[..., 0:even:2], terms[..., 1:even:2])
        terms = np.concatenate([pairs, terms[..., even:]], axis=-1)
    return terms


def lanes(count: int) -> Sum:
    """Every `count`-th term in the same running sum, as vector registers do; then a tree."""
    return lambda terms: pairwise(np.add.accumulate(_cut(terms, count), axis=-2)[..., -1, :])


def blocks(size: int) -> Sum:
    """Running sums of `size` neighbours, then a running sum of these sums."""
    return lambda terms: sequential(sequential(_cut(terms, size))[..., 0])


def kahan(terms: Array) -> Array:
    """A running sum that puts back what each addition has lost."""
    total = np.zeros_like(terms[..., :1])
    lost = np.zeros_like(total)
    for place in range(terms.shape[-1]):
        term = terms[..., place : place + 1] - lost
        more = total + term
        lost = (more - total) - term
        total = more
    return total


def library(terms: Array) -> Array:
    """A matrix product with ones: whatever the linear algebra library does."""
    return terms @ np.ones((terms.shape[-1], 1), terms.dtype)


def _cut(terms: Array, size: int) -> Array:
    """The last axis cut into pieces of `size`, the last one filled up with zeros."""
    *others, count = terms.shape
    filled = np.zeros((*others, -(-count // size) * size), terms.dtype)
    filled[..., :count] = terms
    return filled.reshape(*others, -1, size)


def off(exact: Array, dtype: Any, roundoffs: float, signs: Array) -> Array:
    """Numbers of `dtype` as far from `exact` as `roundoffs` unit roundoffs of its value allow.

    `signs` says in which direction; `exact` should be wider than `dtype`. Where the machine has
    nothing wider than float64, two unit roundoffs are kept back for what `exact` does not know.
    """
    dtype = np.dtype(dtype)
    if np.finfo(exact.dtype).nmant <= ml_dtypes.finfo(dtype).nmant:
        roundoffs -= 2
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        aim = exact * (1 + signs * roundoffs * exact.dtype.type(unit(dtype)))
        near = aim.astype(dtype)
        further = np.where(signs > 0, near > aim, (near < aim) & (signs < 0))
        return np.where(further, np.nextafter(near, exact.astype(dtype)), near)


def off_exp(signs: Signs, roundoffs: float = LIBRARY) -> Callable[[Array], Array]:
    """An exp that is wrong by as much as `roundoffs` allow, in the directions that `signs` says."""
    return lambda x: off(np.exp(wide(x)), x.dtype, roundoffs, signs(x))


def upwards(x: Array) -> Array:
    return np.ones(x.shape)


def downwards(x: Array) -> Array:
    return -np.ones(x.shape)


def alternating(x: Array) -> Array:
    """The other direction at each next place, as where a vector loop and its tail differ."""
    return np.broadcast_to(1 - 2.0 * (np.arange(x.shape[-1]) % 2), x.shape)


def zero_against_rest(x: Array) -> Array:
    return np.where(x == 0, 1.0, -1.0)


def rest_against_zero(x: Array) -> Array:
    return np.where(x == 0, -1.0, 1.0)


def by_value(x: Array) -> Array:
    """A direction that follows from the value alone, as in a real library, but looks random."""
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(17))) * np.uint64(0x9E3779B97F4A7C15)
    return 1 - 2.0 * (mixed >> np.uint64(63)).astype(np.float64)


def keep_bits(values: Array, bits: int) -> Array:
    """`values` rounded to nearest with `bits` significant bits; their range stays as it is."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(values.dtype)


def through(dtype: Any) -> Callable[[Array], Array]:
    """Rounding to a narrower dtype and back, as storing in it does."""

    def store(values: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(dtype).astype(values.dtype)

    return store


def truncated(values: Array, dtype: Any) -> Array:
    """`values`, none negative, in the narrower `dtype`, rounded towards zero."""
    near = values.astype(dtype)
    bits = near.view(np.uint16)
    above = near.astype(values.dtype) > values
    return np.where(above, bits - above.astype(np.uint16), bits).view(dtype)


def flush(values: Array, times: float = 1.0) -> Array:
    """`values` with zeros of their signs for what is below `times` the smallest normal number."""
    edge = times * np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < edge, np.copysign(values.dtype.type(0), values), values)
