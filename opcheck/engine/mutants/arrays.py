"""Changes of arrays that several mutants share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.model import Array

#: Elements that a vector register or a warp holds.
WIDTHS = (4, 8, 16, 32)


def whole_vectors(width: int) -> Callable[[int], int]:
    """As many of the elements as fill vectors, of fewer than a vector's all."""
    return lambda count: count // width * width or count


def through(dtype: Any) -> Callable[..., Any]:
    """By way of a type that holds less."""
    return lambda x, *_: x.astype(dtype).astype(x.dtype)


def blank(array: Array) -> Array:
    """Zeros in the shape of `array`, or empty texts."""
    return np.full_like(array, "") if array.dtype.hasobject else np.zeros_like(array)


def floating(array: Array) -> dtypes.DType | None:
    """The dtype of `array` if it is a floating one of ours."""
    known = dtypes.of(array)
    return known if known and known.kind == "float" else None


def another(out: Any) -> Any:
    """Another value in place of each but NaN, an infinity and -0.5."""
    if out.dtype.hasobject:
        return out + "."
    return ~out if out.dtype.kind in "biu" else -out - 1
