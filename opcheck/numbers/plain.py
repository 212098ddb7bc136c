"""Plain numbers: NumPy's own functions, which have the standard's names, and the few it lacks.

Integers wrap around, as NumPy's do. NumPy's warnings are left to the caller's `errstate`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import widened

Array = NDArray[Any]
_erf = np.frompyfunc(math.erf, 1, 1)


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def astype(x: Any, dtype: Any, *, computes: bool = False) -> Array:
    """`x` in another type."""
    return np.asarray(x).astype(dtype, copy=False)


def argmax(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The place of the first maximum, which the first NaN is; NumPy is slow with 16 bits."""
    is_short = x.dtype.kind not in "biuO" and x.dtype.itemsize == 2
    return np.argmax(widened(x) if is_short else x, axis=axis, keepdims=keepdims)


def erf(x: Array) -> Array:
    """The error function, in float64 and then in the dtype of `x`."""
    return np.asarray(_erf(x.astype(np.float64)), x.dtype)


def mean(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """The sum over `axis`, divided by how many there are; NaN of none, without a warning."""
    total = np.sum(x, axis=axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return np.asarray(np.divide(total, math.prod(x.shape[a] for a in axes)), total.dtype)


def inexact(x: Array, roundoffs: Any, deviation: Any = None) -> Array:
    """`x` with an allowance of this many unit roundoffs for an implementation's own reasons."""
    return x


def at_most_1(x: Array) -> Array:
    """`x`, whose elements no implementation computes as more than 1 in size, such as shares."""
    return x


def matmul(a: Any, b: Any) -> Any:
    """NumPy's, but for longdouble, which it multiplies three times as slowly as others do."""
    if a.dtype != np.longdouble or min(a.ndim, b.ndim) < 2:
        return np.matmul(a, b)
    return np.einsum("...mk,...nk->...mn", a, np.ascontiguousarray(b.swapaxes(-1, -2)))


def bilinear(a: Any, b: Any, product: Callable[..., Any], terms: int, addend: Any = None) -> Any:
    """`product(a, b)`, sums of `terms` products of both, or that plus `addend`."""
    y = product(a, b)
    return y if addend is None else y + addend


def values_of(x: Array) -> NDArray[np.float64]:
    """The values of `x` in float64, from which `inexact` tells rounding."""
    return x.astype(np.float64)


def sums(x: Array, add_up: Callable[[Array], Array], terms: Any) -> Array:
    """`add_up(x)`, which adds up some elements of `x` for each of its outputs.

    `terms`, an integer or an array that broadcasts to the output, says how many these are.
    """
    return add_up(x)


def top_k(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """The `k` largest or smallest elements along `axis` in order, and their indices.

    Of equal elements the one with the lower index comes first; NaN counts as the largest.
    """
    # NumPy cannot sort NaN of ml_dtypes' types.
    key = x if x.dtype.kind in "biuf" else x.astype(np.float32)
    order = np.argsort(np.flip(key, axis) if largest else key, axis=axis, stable=True)
    if largest:
        order = np.flip(x.shape[axis] - 1 - order, axis)
    indices = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, indices, axis), indices
