"""Casts of numbers of 16 bits; NumPy has no fast arithmetic of these.

Inputs may have any strides and byte order, and are not modified.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.model import Array

Singles: TypeAlias = NDArray[np.float32]


def widened(x: Array) -> Singles:
    """`x` of float16 or bfloat16 as float32, which has each of their numbers."""
    with np.errstate(invalid="ignore"):  # a NaN that signals is a value like any other
        return x.astype(np.float32, order="C")


def narrowed(values: Singles, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """`values` as `dtype`, float16 or bfloat16, to nearest, ties to even, in `out` if given.

    What is too large becomes infinite. NaN stays NaN with its sign; one that signals may warn.
    """
    with np.errstate(over="ignore", under="ignore"):
        cast = values.astype(dtype.newbyteorder("="), order="C")
    if out is None:
        return cast
    # Strided casts are slow.
    np.copyto(out.view(np.uint16), cast.view(np.uint16))
    return out
