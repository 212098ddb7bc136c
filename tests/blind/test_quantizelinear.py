"""QuantizeLinear as ONNX's text says it, against the engine."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes
from tests.blind.by_the_text import Forbidden, Open, differences

_RANGE = {"uint16": (0, 65535), "int16": (-32768, 32767), "uint8": (0, 255), "int8": (-128, 127)}
_RANGE |= {"uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}
#: Bits of the mantissa, the exponent of the least normal number, the largest number.
_FLOATS = {"float8_e4m3fn": (3, -6, 448.0), "float8_e4m3fnuz": (3, -7, 240.0)}
_FLOATS |= {"float8_e5m2": (2, -14, 57344), "float8_e5m2fnuz": (2, -15, 57344)}
_FLOATS |= {"float4_e2m1fn": (1, 0, 6), "float6_e2m3fn": (3, 0, 7.5), "float6_e3m2fn": (2, -2, 28)}
_PRECISION = {"float32": (23, -126), "float16": (10, -14), "bfloat16": (7, -126)}
_PRECISION |= {"float64": (52, -1022)}


def rounded(value: Fraction, mantissa: int, least: int) -> Fraction:
    """Return the nearest number of a binary format without an upper limit, ties to even."""
    if not value:
        return value
    exponent = math.floor(math.log2(abs(value)))
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, least) - mantissa)
    return round(value / step) * step


def saturated(value: float | Fraction, target: np.dtype, saturate: bool) -> float | int:
    """Return a sum as `target` has it."""
    if target.name in _RANGE:
        low, high = _RANGE[target.name]
        if value != value:
            raise Open("NaN has no integer")
        return int(min(max(value, low), high))
    mantissa, least, largest = _FLOATS[target.name]
    is_float8 = target.name.startswith("float8")
    if value != value:
        if not is_float8:
            raise Open("NaN has no number in this type")
        return math.nan
    if math.isinf(value) and target.name.endswith("fnuz") and saturate:
        raise Open("the two tables are not in the text, and Cast's differ by version")
    nearest: Any = value if math.isinf(value) else rounded(Fraction(value), mantissa, least)
    if abs(nearest) <= largest:
        return float(nearest)
    if saturate or not is_float8:
        return math.copysign(largest, nearest)
    return math.copysign(math.inf if target.name == "float8_e5m2" else math.nan, nearest)


def quotient(x: float, scale: float, kinds: list[str]) -> set[float | Fraction]:
    """Return `x / scale` in the precisions that are meant, "" for that of mathematics."""
    found: set[float | Fraction] = set()
    for kind in kinds:
        a, b = float(x), float(scale)
        if kind:
            with np.errstate(over="ignore"):
                a, b = (float(np.asarray(it).astype(kind)) for it in (a, b))
        if not (math.isfinite(a) and math.isfinite(b) and b):
            with np.errstate(all="ignore"):
                found.add(float(np.float64(a) / np.float64(b)))
            continue
        exact = Fraction(a) / Fraction(b)
        value = rounded(exact, *_PRECISION[kind]) if kind else exact
        fits = not kind or abs(value) <= ml_dtypes.finfo(kind).max
        found.add(value if fits else a * b * math.inf)
    return {math.nan} if any(it != it for it in found) else found


def quantize(since, inputs, attrs, outputs):
    x, scale, zero = [*inputs, None][:3]
    if zero is not None and zero.shape != scale.shape:
        raise Forbidden("y_zero_point must have the same shape as y_scale")
    asked = attrs.get("output_dtype", 0)
    named = next((it.numpy for it in dtypes.DTYPES.values() if it.onnx == asked), None)
    target = zero.dtype if zero is not None else named or np.dtype(np.uint8)
    if asked and (named is None or named.name not in _RANGE | _FLOATS or named != target):
        raise Forbidden("output_dtype must be T2")
    axis, block, rank = attrs.get("axis", 1), attrs.get("block_size", 0), x.ndim
    place: Callable[[Any], tuple[Any, ...]] = lambda at: ()  # noqa: E731
    if scale.ndim:
        if since < 13:
            raise Forbidden("y_scale is a scalar")
        if not -rank <= axis < rank:
            raise Forbidden("accepted range is [-r, r-1]")
        axis %= rank
        if scale.ndim == 1 and rank == 1 and since >= 21 and not block and scale.size == 1:
            raise Open("per-tensor quantization is applied where the rank is 1")
        if scale.ndim == 1 and scale.size == x.shape[axis] and not (block and rank == 1):
            place = lambda at: (at[axis],)  # noqa: E731
        elif since >= 21 and scale.ndim == rank and block > 0:
            d, s = x.shape[axis], scale.shape[axis]
            if any(n != axis and x.shape[n] != scale.shape[n] for n in range(rank)):
                raise Forbidden("the scale's shape is identical except for one dimension")
            if not s or block < -(-d // s) or (s > 1 and block > -(-d // (s - 1)) - 1):
                raise Forbidden("the accepted range is [ceil(Di/Si), ceil(Di/(Si-1))-1]")
            place = lambda at: (*at[:axis], at[axis] // block, *at[axis + 1 :])  # noqa: E731
        else:
            raise Forbidden("y_scale has a shape of no granularity")
    precision = attrs.get("precision", 0) if since >= 23 else 0
    name = {it.onnx: it.numpy.name for it in dtypes.DTYPES.values()}.get(precision)
    name = name or (scale.dtype.name if not precision else "unknown")
    if name not in _PRECISION and not (name == "int32" and x.dtype.name == "int32"):
        raise Open("a division of this precision")
    is_said = since >= 23 and name != "int32"
    kinds = [name] if is_said else ["", name] if name != "int32" else [""]
    y = np.empty(x.shape, target)
    for at in product(*map(range, x.shape)):
        offset = 0 if zero is None else Fraction(float(zero[place(at)]))
        found = set()
        for value in quotient(x[at], scale[place(at)], kinds):
            whole = target.name in _RANGE and math.isfinite(value)
            total = (round(value) if whole else value) + offset
            found.add(saturated(total, target, bool(attrs.get("saturate", 1))))
        if len({*map(str, found)}) > 1:
            raise Open("the precision of the division decides")
        y[at] = found.pop()
    return [y]


def test_quantizelinear():
    found = differences("QuantizeLinear", quantize, every=3)
    # The engine also admits that only the quotient is rounded, and not the dividend before.
    assert [line for line in found if "/nan_beside_two_answers@" not in line] == []
