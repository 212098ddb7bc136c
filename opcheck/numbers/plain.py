"""Plain numbers: NumPy's own functions, which have the standard's names, and the few it lacks.

Integers wrap around, as NumPy's do. NumPy's warnings are left to the caller's `errstate`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import NDArray

from opcheck.dtypes import widened

Array = NDArray[Any]
#: An axis or several; None means all.
Axes: TypeAlias = int | Sequence[int] | None
_erf = np.frompyfunc(math.erf, 1, 1)


#: The kinds of NumPy's own types; ml_dtypes' types have others.
_REAL_KINDS = "biuf"
_BYTES_OF_HALF = 2
_RANK_OF_MATRIX = 2


def __getattr__(name: str) -> Any:
    """Return NumPy's function of this name; raises AttributeError if NumPy has none."""
    return getattr(np, name)


def astype(x: Any, dtype: Any, *, computes: bool = False) -> Array:
    """Return `x`, an array or a number, in another type: itself if it has that type already.

    Casts are NumPy's: a float loses its fraction in an integer type, and one that is too large,
    infinite or NaN becomes an arbitrary integer. `computes` is for other kinds of numbers and has
    no effect.
    """
    return np.asarray(x).astype(dtype, copy=False)


def axes_of(axis: Axes, rank: int) -> tuple[int, ...]:
    """Return the axes that `axis` means to a reduction, counted from the front; None means all.

    At rank 0, an int 0 or −1 means none, as NumPy's reductions have it; in a sequence either is out
    of range. Raises AxisError, which is a ValueError, for an axis that is out of range, and
    ValueError for one that is repeated.
    """
    if axis is None:
        return tuple(range(rank))
    if not rank and isinstance(axis, int) and axis in (0, -1):
        return ()
    return normalize_axis_tuple(axis, rank)


def argmax(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the first maximum along `axis`, of the flat array if that is None.

    The first NaN counts as the maximum. `keepdims` leaves the axis in, with length 1; for None, all
    axes. Raises ValueError if there is no element to choose from, and AxisError, which is a
    ValueError, for an axis that `x` lacks.
    """
    is_half = x.dtype.kind not in "biuO" and x.dtype.itemsize == _BYTES_OF_HALF
    if is_half:
        x = widened(x)  # NumPy is slow with 16 bits.
    return np.argmax(x, axis=axis, keepdims=keepdims)


def erf(x: Array) -> Array:
    """Return the error function in the shape and dtype of `x`; NaN of NaN.

    It is computed in float64. An integer type cuts the fraction off.
    """
    return np.asarray(_erf(x.astype(np.float64)), x.dtype)


def mean(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the sum over `axis`, an int or a tuple, divided by the number of its elements.

    None means all axes; `keepdims` leaves them in, with length 1. Floats keep their dtype, and the
    mean of none is NaN. Integers and booleans are added up in 64 bits as `np.sum` does; their mean
    is such an integer, without its fraction, and an arbitrary one of none.

    Raises AxisError, which is a ValueError, for an axis that `x` lacks, and ValueError for one that
    is repeated.
    """
    total = np.sum(x, axis=axis, keepdims=keepdims)
    count = math.prod(x.shape[a] for a in axes_of(axis, x.ndim))
    return np.asarray(np.divide(total, count), total.dtype)


def inexact(x: Array, roundoffs: Any, deviation: Any = None) -> Array:
    """Return `x` itself: what a formula allows beyond roundings changes no plain number."""
    return x


def at_most_1(x: Array) -> Array:
    """Return `x` itself, numbers from 0 to 1: plain numbers have no error to limit."""
    return x


def matmul(a: Any, b: Any) -> Any:
    """Return NumPy's matrix product; of longdouble by einsum, which is three times as fast.

    Raises ValueError as `np.matmul` does: for operands of rank 0, for inner lengths that differ and
    for other axes that do not broadcast.
    """
    has_vector = min(a.ndim, b.ndim) < _RANK_OF_MATRIX
    if a.dtype != np.longdouble or has_vector:
        return np.matmul(a, b)
    return np.einsum("...mk,...nk->...mn", a, np.ascontiguousarray(b.swapaxes(-1, -2)))


def bilinear(a: Any, b: Any, product: Callable[..., Any], terms: int, addend: Any = None) -> Any:
    """Return `product(a, b)`, or that plus `addend`: sums of products of elements of both.

    `terms`, how many each sum has at most, is for other kinds of numbers and has no effect. Raises
    what `product` raises, and ValueError for an addend that does not broadcast.
    """
    y = product(a, b)
    return y if addend is None else y + addend


def values_of(x: Array) -> NDArray[np.float64]:
    """Return a copy of `x` in float64, to which integers beyond 2⁵³ are rounded."""
    return x.astype(np.float64)


def sums(x: Array, add_up: Callable[[Array], Array], terms: Any) -> Array:
    """Return `add_up(x)`, each element of which is a sum of elements of `x`.

    `terms`, how many each sum has, an integer or an array that broadcasts to the output, is for
    other kinds of numbers and has no effect. Raises what `add_up` raises.
    """
    return add_up(x)


def top_k(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """Return the `k` largest or smallest elements along `axis` in order, and their int64 indices.

    Both have the shape of `x`, but length `k` along `axis`. Of equal elements, of several NaN and
    of zeros of either sign the one with the lower index comes first. NaN counts as the largest.

    Raises IndexError if `k` is larger than the axis, and AxisError, which is a ValueError, if there
    is no such axis. A `k` of 0 or less gives no element.
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
