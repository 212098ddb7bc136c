"""DequantizeLinear as its text says, against the engine."""

from typing import Any

import ml_dtypes
import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences

FLOATS: dict[int, Any] = {1: np.float32, 10: np.float16, 16: ml_dtypes.bfloat16}


def granularity(
    since: int, x: np.ndarray, scale: np.ndarray, attrs: dict[str, Any]
) -> tuple[str, int]:
    """Tell whether scales are per "tensor", "axis" or "block", and along which axis."""
    axis = attrs.get("axis", 1)
    if scale.ndim == 0:
        return "tensor", 0
    if since < 13:
        raise Forbidden("'x_scale' and 'x_zero_point' are both scalars")
    block = attrs.get("block_size", 0)
    blocked = since >= 21 and scale.ndim == x.ndim and (x.ndim > 1 or block != 0)
    if not blocked and scale.ndim != 1:
        raise Forbidden("the scale is neither a scalar nor 1-D nor of the rank of the input")
    if since == 19 and x.ndim == 1:
        raise Open("When the rank of the input is 1, per-tensor quantization is applied")
    if not -x.ndim <= axis < x.ndim:
        raise Forbidden("Accepted range is [-r, r-1]")
    axis %= x.ndim
    if not blocked:
        if scale.shape[0] != x.shape[axis]:
            raise Forbidden("a 1-D tensor, with the length of the quantization axis")
        return "axis", axis
    if block <= 0:
        raise Forbidden("The block size is a positive integer")
    want = tuple(-(-d // block) if n == axis else d for n, d in enumerate(x.shape))
    if scale.shape != want:
        raise Forbidden("the same shape as the input, except for one dimension, ceil(Di/B)")
    return "block", axis


def dequantize(since: int, inputs: list[np.ndarray | None], attrs, outputs) -> list[np.ndarray]:
    x, scale, zero = (*inputs, None, None)[:3]
    assert x is not None
    assert scale is not None
    kind, axis = granularity(since, x, scale, attrs)
    if zero is not None and zero.shape != scale.shape:
        raise Forbidden("`x_scale` and `x_zero_point` must have the same shape")
    if zero is not None and x.dtype == np.int32 and zero.any():
        raise Forbidden("In the case of dequantizing int32, there's no zero point")
    into = scale.dtype
    if said := attrs.get("output_dtype", 0):
        if said not in FLOATS:
            raise Forbidden("T3 is float, float16 or bfloat16")
        into = np.dtype(FLOATS[said])
    if into not in map(np.dtype, FLOATS.values()):
        raise Forbidden("the type of x_scale is none of the output")
    y = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        if kind == "tensor":
            of: tuple[int, ...] = ()
        elif kind == "axis":
            of = (at[axis],)
        else:
            of = tuple(k // attrs["block_size"] if n == axis else k for n, k in enumerate(at))
        offset = 0.0 if zero is None else np.float64(zero[of])
        with np.errstate(invalid="ignore", over="ignore"):
            y[at] = (np.float64(x[at]) - offset) * np.float64(scale[of])
    with np.errstate(over="ignore"):
        return [y.astype(into)]


def test_dequantizelinear_is_what_its_text_says() -> None:
    assert differences("DequantizeLinear", dequantize, every=4) == []
