"""Plain numbers: NumPy's own functions, which have the standard's names, and the few it lacks.

Integers wrap around, as NumPy's do. NumPy's warnings are left to the caller's `errstate`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import widened

Array = NDArray[Any]
_erf = np.frompyfunc(math.erf, 1, 1)


#: The kinds of NumPy's own types; ml_dtypes' types have others.
_REAL_KINDS = "biuf"
_BYTES_OF_HALF = 2
_RANK_OF_MATRIX = 2


def __getattr__(name: str) -> Any:
    """Return NumPy's function."""
    return getattr(np, name)


def astype(x: Any, dtype: Any, *, computes: bool = False) -> Array:
    """Return `x` in another type."""
    return np.asarray(x).astype(dtype, copy=False)


def argmax(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the place of the first maximum, which the first NaN is."""
    is_half = x.dtype.kind not in "biuO" and x.dtype.itemsize == _BYTES_OF_HALF
    if is_half:
        x = widened(x)  # NumPy is slow with 16 bits.
    return np.argmax(x, axis=axis, keepdims=keepdims)


def erf(x: Array) -> Array:
    """Return the error function, computed in float64, in the dtype of `x`."""
    return np.asarray(_erf(x.astype(np.float64)), x.dtype)


def mean(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the sum over `axis`, divided by the count; NaN of none, without a warning."""
    total = np.sum(x, axis=axis, keepdims=keepdims)
    axes: Sequence[int]
    if axis is None:
        axes = range(x.ndim)
    elif isinstance(axis, int):
        axes = [axis]
    else:
        axes = axis
    count = math.prod(x.shape[a] for a in axes)
    return np.asarray(np.divide(total, count), total.dtype)


def inexact(x: Array, roundoffs: Any, deviation: Any = None) -> Array:
    """Return `x`: an allowance of unit roundoffs changes no plain number."""
    return x


def at_most_1(x: Array) -> Array:
    """Return `x`, numbers from 0 to 1 that no implementation computes as more than 1."""
    return x


def matmul(a: Any, b: Any) -> Any:
    """Return NumPy's matrix product; of longdouble by einsum, which is three times as fast."""
    has_vector = min(a.ndim, b.ndim) < _RANK_OF_MATRIX
    if a.dtype != np.longdouble or has_vector:
        return np.matmul(a, b)
    return np.einsum("...mk,...nk->...mn", a, np.ascontiguousarray(b.swapaxes(-1, -2)))


def bilinear(a: Any, b: Any, product: Callable[..., Any], terms: int, addend: Any = None) -> Any:
    """Return `product(a, b)`, sums of `terms` products of both, or that plus `addend`."""
    y = product(a, b)
    return y if addend is None else y + addend


def values_of(x: Array) -> NDArray[np.float64]:
    """Return the values of `x` in float64."""
    return x.astype(np.float64)


def sums(x: Array, add_up: Callable[[Array], Array], terms: Any) -> Array:
    """Return `add_up(x)`, which adds up some elements of `x` for each of its outputs.

    `terms`, an integer or an array that broadcasts to the output, is the number of these elements.
    """
    return add_up(x)


def top_k(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """Return the `k` largest or smallest elements along `axis` in order, and their indices.

    Of equal elements the one with the lower index comes first; NaN counts as the largest.
    """
    # NumPy cannot sort NaN of ml_dtypes' types.
    key = x if x.dtype.kind in _REAL_KINDS else x.astype(np.float32)
    if largest:
        # Backwards, so that the first of equal elements is the last of a stable order.
        backwards = np.argsort(np.flip(key, axis), axis=axis, stable=True)
        order = np.flip(x.shape[axis] - 1 - backwards, axis)
    else:
        order = np.argsort(key, axis=axis, stable=True)
    indices = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, indices, axis), indices
