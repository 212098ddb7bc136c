"""Numbers of 16 bits: their casts, and integers that compare as they do.

Inputs may have any strides and byte order, and are not modified.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.model import Array

Singles: TypeAlias = NDArray[np.float32]
Keys: TypeAlias = NDArray[np.int16]


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
    np.copyto(_bits(out, "u2"), _bits(cast, "u2"))
    return out


def ordered(x: Array) -> Keys:
    """Integers that compare as the numbers `x` of float16 or bfloat16 do, -0 and +0 alike.

    All of NaN are one integer, above that of infinity, so that the first maximum is the first NaN.
    """
    bits = _bits(x, "i2")
    sign = np.right_shift(bits, 15, dtype=np.int16, order="C")
    # Two's complement in place of sign and size.
    keys = np.bitwise_and(bits, 0x7FFF, dtype=np.int16, order="C")
    np.bitwise_xor(keys, sign, out=keys)
    np.subtract(keys, sign, out=keys)
    infinity = 0x7C00 if _is_float16(x.dtype) else 0x7F80
    if keys.max(initial=0) > infinity or keys.min(initial=0) < -infinity:
        np.copyto(keys, 0x7FFF, where=np.abs(keys) > infinity)
    return keys


def _bits(x: Array, code: str) -> Array:
    """`x` as integers of 16 bits, in its own byte order."""
    return x.view(np.dtype(code).newbyteorder("=" if x.dtype.isnative else "S"))


def _is_float16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f"
