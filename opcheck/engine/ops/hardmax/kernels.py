"""The kernels of Hardmax, one a version.

The answers are exact, so there is no error bound: the only legal values are 0 and 1.
"""

from __future__ import annotations

import numpy as np

from opcheck.engine.axes import coerced_to_2d, from_either_end, from_the_front
from opcheck.model import Array


def first_maximum(x: Array, axis: int) -> Array:
    """One at the first maximum of `x` along `axis`, zero elsewhere; same shape and dtype.

    +0 and -0 are equal, so the first of them wins. A row with NaN, which the text leaves open,
    gets its one at the first NaN.
    """
    out = np.zeros(x.shape, x.dtype.newbyteorder("="))
    if x.size:
        # bfloat16 has no argmax of its own in NumPy; float32 holds its values exactly.
        ordered = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        np.put_along_axis(out, np.argmax(ordered, axis=axis, keepdims=True), 1, axis)
    return out


def hardmax_1(input: Array, *, axis: int = 1) -> tuple[Array]:
    """Hardmax-1: per row of the input coerced to 2-D; documents no negative axis."""
    return _coerced(input, from_the_front(axis, input.ndim))


def hardmax_11(input: Array, *, axis: int = 1) -> tuple[Array]:
    """Hardmax-11: per row of the input coerced to 2-D, axis in [-r, r-1]."""
    return _coerced(input, from_either_end(axis, input.ndim))


def hardmax_13(input: Array, *, axis: int = -1) -> tuple[Array]:
    """Hardmax-13: along one axis, in [-r, r-1]."""
    return (first_maximum(input, from_either_end(axis, input.ndim)),)


def _coerced(input: Array, axis: int) -> tuple[Array]:
    rows = input.reshape(coerced_to_2d(input.shape, axis))
    return (first_maximum(rows, axis=1).reshape(input.shape),)
