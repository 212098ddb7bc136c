"""Four operators written down from their specifications alone, in mpmath and in fractions.

They share nothing with the engine: no formula, no rounding, no window arithmetic. They are slow.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import mpmath
import numpy as np

from tests import brute

Attrs: TypeAlias = Mapping[str, Any]

#: The significand's bits, and the exponents of the smallest subnormal and beyond the largest.
FORMATS = {
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
}
MP = mpmath.MPContext()
#: Far more bits than any value here needs, but those that were made to be ties.
MP.prec = 4000
_exp = cache(MP.exp)


def nearest(y: Any, name: str) -> float:
    """The number of a format that is nearest to `y`, ties to even."""
    if MP.isnan(y) or MP.isinf(y) or y == 0:
        return float(y)
    precision, least, beyond = FORMATS[name]
    sign, mantissa, exponent, length = y._mpf_
    last = max(exponent + length - precision, least)
    if exponent + length < least:
        return 0.0
    # Python rounds fractions to the nearest integer, ties to the even one.
    steps = round(Fraction(mantissa) * Fraction(2) ** (exponent - last))
    size = steps * Fraction(2) ** last
    return (-1) ** sign * (math.inf if size >= Fraction(2) ** beyond else float(size))


def softmax(row: Sequence[float]) -> list[Any]:
    """`Softmax(input, axis) = Exp(input) / ReduceSum(Exp(input), axis=axis, keepdims=1)`."""
    powers = [_exp(MP.mpf(x)) for x in row]
    total = MP.fsum(powers)
    if total == 0 or MP.isinf(total):
        return [MP.nan] * len(row)
    return [power / total for power in powers]


def norm(window: Sequence[float], p: float) -> Any:
    """The p-norm; of a window of padding only it is 0."""
    if any(map(math.isnan, window)):
        return MP.nan
    if any(map(math.isinf, window)):
        return MP.inf
    sizes = [abs(MP.mpf(x)) for x in window if x]
    if p != int(p):
        exponent = MP.mpf(float(np.float32(p)))
        return MP.fsum(MP.exp(exponent * MP.log(x)) for x in sizes) ** (1 / exponent)
    total = MP.fsum(x ** int(p) for x in sizes)
    return MP.root(total, int(p)) if total else total


def rows_of(since: int, shape: Sequence[int], attrs: Attrs) -> list[brute.Row]:
    """The rows of Softmax and Hardmax: coerced to a matrix up to version 11, then along an axis."""
    axis = attrs.get("axis", 1 if since < 13 else -1) % len(shape)
    return brute.along(shape, [axis]) if since >= 13 else brute.coerced(shape, axis)


def in_rows(x: Any, rows: list[brute.Row]) -> list[Any]:
    """Softmax of each row of `x`, in the flat tensor's order."""
    values, out = x.reshape(-1).astype(np.float64).tolist(), [MP.nan] * x.size
    for row in rows:
        for place, y in zip(row, softmax([values[place] for place in row]), strict=True):
            out[place] = y
    return out


def by_rows(x: Any, rows: list[brute.Row], name: str) -> Any:
    """Softmax of each row of `x`, rounded."""
    out = np.array([nearest(y, name) for y in in_rows(x, rows)], np.float64)
    return out.reshape(x.shape).astype(x.dtype)


def windows(length: int, axis: int, attrs: Attrs) -> list[list[int]]:
    """The places that each window along a spatial axis holds, padding left out.

    `output_spatial_shape[i] = floor((input + pad - ((kernel - 1) * dilation + 1)) / stride + 1)`,
    or ceil if ceil_mode; VALID: `ceil((input - ((kernel - 1) * dilation + 1) + 1) / stride)`; SAME:
    `ceil(input / stride)`, the odd element of padding at the end for UPPER, else at the beginning.
    """
    rank = len(attrs["kernel_shape"])
    kernel = attrs["kernel_shape"][axis]
    stride, dilation = (attrs.get(name, [1] * rank)[axis] for name in ("strides", "dilations"))
    begin, end = (attrs.get("pads", [0] * 2 * rank)[n] for n in (axis, axis + rank))
    width, auto_pad = (kernel - 1) * dilation + 1, attrs.get("auto_pad", "NOTSET")
    if auto_pad == "VALID":
        count = math.ceil(Fraction(length - width + 1, stride))
    elif auto_pad == "NOTSET":
        to_whole = math.ceil if attrs.get("ceil_mode", 0) else math.floor
        count = to_whole(Fraction(length + begin + end - width, stride) + 1)
    else:
        count = math.ceil(Fraction(length, stride))
        total = max((count - 1) * stride + width - length, 0)
        begin = total // 2 if auto_pad == "SAME_UPPER" else math.ceil(total / 2)
    every = [[n * stride - begin + j * dilation for j in range(kernel)] for n in range(count)]
    return [[place for place in window if 0 <= place < length] for window in every]


def lp_pool(x: Any, attrs: Attrs, name: str) -> Any:
    """The p-norm of every window of `x`, rounded."""
    spatial = [windows(n, axis, attrs) for axis, n in enumerate(x.shape[2:])]
    out = np.zeros((*x.shape[:2], *map(len, spatial)))
    for index in np.ndindex(out.shape):
        image = x[index[:2]]
        places = product(*(spatial[axis][n] for axis, n in enumerate(index[2:])))
        window = [float(image[place]) for place in places]
        out[index] = nearest(norm(window, attrs.get("p", 2)), name)
    return out.astype(x.dtype)
