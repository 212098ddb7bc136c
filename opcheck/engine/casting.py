"""One element type to another, each value rounded once: what Cast and its kin have in common."""

from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, NARROW, DType, round_to
from opcheck.engine import texts
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array
from opcheck.numbers import primitive
from opcheck.numbers.faulty import bare

#: Every integer up to here is a number of float64.
_EXACT = 1 << 53


def check_castable(dtype: DType | None) -> None:
    """Raise NotSupported for complex numbers."""
    if dtype is None or dtype.kind == "complex":
        raise NotSupported(f"unsupported by opcheck: casts of {dtype}")


@primitive
def cast_to(x: Array, dtype: DType) -> Array:
    """`x` in another type.

    Floats are rounded to nearest, ties to even, and infinite where they are out of range. To
    integers they are cut off; where these cannot hold them, nothing is said of the result, and they
    come out as the nearest end, NaN as 0. Integers keep their lowest bits. Raises NotSupported for
    texts of which the standard says nothing.
    """
    check_castable(own := dtypes.of(x))
    check_castable(dtype)
    if own and own.kind == "string" and dtype != own:
        x = texts.read(x, dtype)
    if own and own.name in NARROW:
        x = x.astype(np.int8 if own.kind == "int" else np.float64)
    match dtype.kind:
        case "string":
            return x if x.dtype == object else texts.written(x)
        case "bool":
            return np.asarray(x != 0)
        case "int" if x.dtype.kind in "biu":
            return x.astype(dtype.numpy)
        case "int":
            # ONNX's node tests have the lowest bits of what types of 4 and 2 bits cannot hold.
            whole = _cut_off(x.astype(np.float64), DTYPES["int64"] if dtype.bits < 8 else dtype)
            return whole.astype(dtype.numpy)
        case _ if dtype.name == "float64" or x.dtype == dtype.numpy:
            return x.astype(dtype.numpy)
        case _:
            return round_to(_as_float64(x), dtype)


def to_minifloat(x: Array, dtype: DType, saturate: int, round_mode: str) -> Array:
    """Numbers of float64 in a type of 8 bits or less, rounded to nearest, ties to even.

    In float8e8m0, which has powers of two alone, as `round_mode` says. Out of range they come out
    as the nearest end where they `saturate`; nothing is said of types that are not of 8 bits.
    """
    low, high = dtypes.limits(dtype)
    outside = (x < low) | (x > high)
    if saturate:
        x = np.clip(x, low, high)
    if dtype.name == "float8e8m0":
        part, exponent = np.frexp(x)
        up = {"up": part > 0.5, "down": part >= 1, "nearest": part >= 0.75}  # Of 0.5 to 1.
        if round_mode not in up:
            raise InvalidNode(f"round_mode {round_mode!r}; allowed: {', '.join(up)}")
        x = np.where(np.isnan(x), x, np.ldexp(1.0, exponent - 1 + up[round_mode]))
        x = x if saturate else np.where(outside, np.nan, x)
    return round_to(x, dtype)


def _as_float64(x: Array) -> Array:
    """`x` in float64; integers beyond 2^53 by rounding to odd, which a later rounding undoes.

    Of the two neighbors in float64, that one is taken whose last digit is odd: rounded again, to
    two digits less or fewer, it gives what the integer itself gives.
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    low = x & x.dtype.type(0x7FF)
    odd = (x - low) | ((low != 0).astype(x.dtype) << x.dtype.type(11))
    exact = (x <= _EXACT) & (x >= (-_EXACT if x.dtype.kind == "i" else 0))
    return np.where(exact, x, odd).astype(np.float64)


def _cut_off(x: Array, dtype: DType) -> Array:
    low, high = map(int, dtypes.limits(dtype))
    values = np.trunc(np.where(np.isnan(x), 0.0, x))
    # The largest number of 64 bits is none of float64, but one more is.
    inside = (values >= low) & (values < high + 1)
    whole = np.where(inside, values, 0.0).astype(np.int64 if low else np.uint64)
    ends = np.where(values < 0, np.array(low, dtype.numpy), np.array(high, dtype.numpy))
    return np.where(inside, whole.astype(dtype.numpy), ends)


def cast_any(x: Any, dtype: DType, saturate: int = 1, round_mode: str = "up") -> Any:
    """`x`, of any kind of numbers, in another type."""
    plain = bare(x)
    if isinstance(plain, np.ndarray):
        if dtype.kind == "minifloat" and dtypes.of(plain) != dtype:
            check_castable(own := dtypes.of(plain))
            if own and own.kind == "string":
                plain = texts.read(plain, dtype)
            return to_minifloat(_as_float64(plain), dtype, saturate, round_mode)
        return xp.astype(cast_to(plain, dtype), dtype.numpy)
    check_castable(dtype)
    return xp.astype(x, dtype.numpy)
