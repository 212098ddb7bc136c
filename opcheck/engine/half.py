"""Numbers of 16 bits: their casts, and integers that compare as they do.

float16 is cast by its bits, since NumPy is slow with subnormal numbers. Inputs may have any
strides and byte order, and are not modified.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.model import Array

Singles: TypeAlias = NDArray[np.float32]
Keys: TypeAlias = NDArray[np.int16]
#: float32's exponent; all of it is set for what is no finite number.
_EXPONENT = 0x7F800000
#: Digits that float32 has and float16 has not, and the power of two between their exponents' zeros.
_DIGITS, _APART = 13, 2.0**112
#: 2^-14 in float32, below which the numbers of float16 lie as far apart as above it.
_SMALLEST_NORMAL = 0x38800000
#: 65520, from which on float16 rounds to infinity. As unsigned integers all of NaN, infinity and
#: what has a sign are above it as well.
_TOO_LARGE = 0x477FF000


def widened(x: Array, out: Singles | None = None) -> Singles:
    """`x` of float16 or bfloat16 as float32, which has each of their numbers, in `out` if given."""
    wide = np.empty(x.shape, np.float32) if out is None else out
    if not _is_float16(x.dtype):
        np.copyto(wide, x)
        return wide
    bits = wide.view(np.int32)
    signed = _bits(x, "i2")
    np.copyto(bits, signed)
    # Exponent and digits go where float32 has them, the sign to all bits before.
    np.left_shift(bits, _DIGITS, out=bits)
    np.bitwise_and(bits, ~0x70000000, out=bits)
    # A product, and not a larger exponent, since float16's subnormal numbers are normal here.
    np.multiply(wide, np.float32(_APART), out=wide)
    if signed.max(initial=0) >= 0x7C00 or _bits(x, "u2").max(initial=0) >= 0xFC00:
        np.bitwise_or(bits, _EXPONENT, out=bits, where=np.abs(wide) >= 65536)
    return wide


def narrowed(values: Singles, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """`values` as `dtype`, float16 or bfloat16, to nearest, ties to even, in `out` if given.

    What is too large becomes infinite. NaN stays NaN with its sign; one that signals may warn.
    """
    if not _is_float16(dtype):
        cast = values.astype(dtype.newbyteorder("="), order="C")
        if out is None:
            return cast
        # Strided casts are slow.
        np.copyto(_bits(out, "u2"), _bits(cast, "u2"))
        return out
    short = np.empty(values.shape, dtype.newbyteorder("=")) if out is None else out
    bits, target = values.view(np.uint32), _bits(short, "u2")
    if bits.max(initial=0) < _TOO_LARGE:
        _to_float16(values, target)
        return short
    # NaN as infinity, with a digit set afterwards.
    size, nan = np.abs(values), np.isnan(values)
    np.copyto(size, np.inf, where=nan)
    _to_float16(np.minimum(size, np.float32(65536)), target)
    np.bitwise_or(target, (bits >> 16).astype(np.uint16) & 0x8000, out=target)
    np.bitwise_or(target, 0x0200, out=target, where=nan)
    return short


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


def _to_float16(values: Singles, target: NDArray[np.uint16]) -> None:
    """The bits of `values` in float16; these are in [0, 65536], which stands for infinity."""
    power = np.maximum(values.view(np.uint32), _SMALLEST_NORMAL)
    np.bitwise_and(power, _EXPONENT, out=power)
    np.add(power, _DIGITS << 23, out=power)
    # Beside a number 2^13 times as large, float32 has as many digits left as float16.
    beside = power.view(np.float32)
    rounded = np.add(values, beside)
    np.subtract(rounded, beside, out=rounded)
    np.multiply(rounded, np.float32(1 / _APART), out=rounded)
    bits = rounded.view(np.uint32)
    np.right_shift(bits, _DIGITS, out=bits)
    np.copyto(target, bits, casting="unsafe")


def _bits(x: Array, code: str) -> Array:
    """`x` as integers of 16 bits, in its own byte order."""
    return x.view(np.dtype(code).newbyteorder("=" if x.dtype.isnative else "S"))


def _is_float16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f"
