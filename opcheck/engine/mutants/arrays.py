"""Changes of arrays that mutants share, and groups of dtypes in which something is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.model import Array

#: Elements that a vector register or a warp holds.
WIDTHS = (4, 8, 16, 32)
#: Every floating type.
FLOATS = tuple(name for name, dtype in dtypes.BASIC.items() if dtype.kind == "float")
#: Every type of real numbers that NumPy computes with.
REALS = tuple(n for n, d in dtypes.BASIC.items() if d.kind in ("float", "int"))
#: The types of integers, and of complex numbers.
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *COMPLEX)
#: Types that hold more than float16 does, that have the digits of float32, and float64 alone.
BEYOND_FLOAT16 = ("bfloat16", "float32", "float64")
LONG = ("float32", "float64")
DOUBLE = ("float64",)


def whole_vectors(width: int) -> Callable[[int], int]:
    """As many of the elements as fill vectors, of fewer than a vector's all."""
    return lambda count: count // width * width or count


def through(dtype: Any) -> Callable[..., Any]:
    """By way of a type that holds less."""
    return lambda x, *_: x.astype(dtype).astype(x.dtype)


def blank(array: Array) -> Array:
    """Zeros in the shape of `array`, or empty texts."""
    return np.full_like(array, "") if array.dtype.hasobject else np.zeros_like(array)


def another(out: Any) -> Any:
    """Another value in place of each but NaN, an infinity and -0.5."""
    if out.dtype.hasobject:
        return out + "."
    return ~out if out.dtype.kind in "biu" else -out - 1
