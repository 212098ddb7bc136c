"""Quantization, in exact fractions."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.oracles import (
    Array,
    Random,
    Sample,
    chance,
    normal,
    one_of,
    oracle,
    shape,
    sizes,
    trimmed,
    whole,
)
from benchmarks.oracles.windows import convolved, drawn_filters

#: Integer types, and their least and greatest numbers.
ENDS: dict[Any, tuple[int, int]] = {
    np.int8: (-128, 127),
    np.uint8: (0, 255),
    np.int16: (-32768, 32767),
    np.uint16: (0, 65535),
    ml_dtypes.int4: (-8, 7),
    ml_dtypes.uint4: (0, 15),
}
#: A quotient so near to a half may be rounded either way in float32.
_NEAR = Fraction(1, 1000)


def rounded(exact: Fraction) -> int | None:
    """The nearest integer; None next to a half."""
    return None if abs(exact % 1 - Fraction(1, 2)) < _NEAR else round(exact)


def drawn(rng: Random, dims: Any, dtype: Any) -> Array:
    return whole(rng, dims, *ENDS[dtype], dtype)


def spread(parameter: Array, dims: list[int], axis: int, block: int) -> Array:
    """A parameter of a tensor, of an axis, or of blocks, for each element."""
    if block:
        return np.repeat(parameter, block, axis)
    if parameter.ndim:
        parameter = parameter.reshape([-1 if n == axis else 1 for n in range(len(dims))])
    return np.broadcast_to(parameter, dims)


class Parameters:
    """Scales and zero points in one of three ways."""

    def __init__(self, rng: Random, dtype: Any) -> None:
        self.dims = shape(rng, (1, 3))
        self.axis = int(rng.integers(len(self.dims)))
        self.how = one_of(rng, "tensor", "axis", "blocks")
        self.block = int(rng.integers(1, 4)) if self.how == "blocks" else 0
        own = [] if self.how == "tensor" else [self.dims[self.axis]]
        if self.block:
            own = [*self.dims]
            self.dims[self.axis] *= self.block
        self.scale = np.asarray(2.0 ** rng.integers(-3, 3, own)).astype(np.float32)
        if chance(rng, 0.5):
            self.scale = np.asarray(rng.random(own) + 0.1).astype(np.float32)
        self.zero = np.asarray(drawn(rng, own, dtype))
        self.attrs = {} if self.how == "tensor" else {"axis": self.axis}
        self.attrs |= {"block_size": self.block} if self.block else {}

    def each(self) -> tuple[Array, Array]:
        """The scale and the zero point of each element."""
        scales = spread(self.scale, self.dims, self.axis, self.block)
        return scales, spread(self.zero, self.dims, self.axis, self.block)


@oracle("QuantizeLinear")
def quantized(rng: Random) -> Sample | None:
    dtype = one_of(rng, *ENDS)
    own = Parameters(rng, dtype)
    x = normal(rng, own.dims, one_of(rng, 1, 10, 100))
    scales, zeros = own.each()
    low, high = ENDS[dtype]
    y = np.zeros(own.dims, np.int64)
    for index in np.ndindex(*own.dims):
        near = rounded(Fraction(float(x[index])) / Fraction(float(scales[index])))
        if near is None:
            return None
        y[index] = min(max(near + int(zeros[index]), low), high)
    return Sample(21, (x, own.scale, own.zero), (y.astype(dtype),), own.attrs)


@oracle("DequantizeLinear")
def dequantized(rng: Random) -> Sample:
    dtype = one_of(rng, *ENDS)
    own = Parameters(rng, dtype)
    x = drawn(rng, own.dims, dtype)
    scales, zeros = own.each()
    y = (x.astype(np.float64) - zeros.astype(np.float64)) * scales
    return Sample(21, (x, own.scale, own.zero), (y,), own.attrs)


@oracle("DynamicQuantizeLinear")
def dynamically_quantized(rng: Random) -> Sample | None:
    x = normal(rng, shape(rng, (1, 2)), one_of(rng, 1, 100)) + np.float32(one_of(rng, 0, 3, -3))
    high, low = max(0.0, float(x.max())), min(0.0, float(x.min()))
    scale = np.float32(np.float32(np.float32(high) - np.float32(low)) / np.float32(255))
    zero = rounded(-Fraction(low) / Fraction(float(scale)))
    near = [rounded(Fraction(float(v)) / Fraction(float(scale))) for v in x.flat]
    if zero is None or None in near:
        return None
    zero = min(max(zero, 0), 255)
    y = [min(max((n or 0) + zero, 0), 255) for n in near]
    outputs = (np.array(y, np.uint8).reshape(x.shape), np.asarray(scale), np.uint8(zero))
    return Sample(11, (x.astype(np.float32),), outputs, rtol=1e-6, atol=0)


@oracle("QLinearMatMul")
def quantized_product(rng: Random) -> Sample | None:
    types = [one_of(rng, np.int8, np.uint8) for _ in range(3)]
    rows, inner, columns = sizes(rng, 3)
    a, b = drawn(rng, (rows, inner), types[0]), drawn(rng, (inner, columns), types[1])
    scales = [np.float32(n) for n in (*(rng.random(2) * 0.1 + 0.01), one_of(rng, 0.5, 1, 2))]
    zeros = [drawn(rng, (), dtype) for dtype in types]
    factor = Fraction(float(scales[0])) * Fraction(float(scales[1])) / Fraction(float(scales[2]))
    low, high = ENDS[types[2]]
    y = np.zeros((rows, columns), np.int64)
    for row, column in np.ndindex(rows, columns):
        total = sum(
            (int(a[row, k]) - int(zeros[0])) * (int(b[k, column]) - int(zeros[1]))
            for k in range(inner)
        )
        near = rounded(total * factor)
        if near is None:
            return None
        y[row, column] = min(max(near + int(zeros[2]), low), high)
    inputs = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2])
    return Sample(21, inputs, (y.astype(types[2]),))


@oracle("QLinearConv")
def quantized_convolution(rng: Random) -> Sample | None:
    filters = drawn_filters(rng)
    if filters is None:
        return None
    types = [one_of(rng, np.int8, np.uint8) for _ in range(3)]
    x, w = drawn(rng, filters.x, types[0]), drawn(rng, filters.w, types[1])
    kinds = filters.w[0]
    each = [kinds] if chance(rng, 0.5) else []
    x_scale, y_scale = np.float32(rng.random() * 0.1 + 0.01), np.float32(one_of(rng, 2, 4, 8))
    w_scale = np.asarray(rng.random(each) * 0.1 + 0.01).astype(np.float32)
    x_zero, w_zero = drawn(rng, (), types[0]), drawn(rng, each, types[1])
    y_zero = drawn(rng, (), types[2])
    bias = whole(rng, kinds, -999, 999, np.int32) if chance(rng, 0.5) else None
    zeros = w_zero.astype(np.int64).reshape(-1, *[1] * (w.ndim - 1))
    lifted = x.astype(np.int64) - int(x_zero)
    sums = convolved(lifted, w.astype(np.int64) - zeros, filters.geometry, filters.group)
    low, high = ENDS[types[2]]
    y = np.zeros(sums.shape, np.int64)
    for index in np.ndindex(*sums.shape):
        kind = index[1]
        total = int(sums[index]) + (0 if bias is None else int(bias[kind]))
        own = float(np.broadcast_to(w_scale, [kinds])[kind])
        near = rounded(total * Fraction(float(x_scale)) * Fraction(own) / Fraction(float(y_scale)))
        if near is None:
            return None
        y[index] = min(max(near + int(y_zero), low), high)
    inputs = (x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias)
    return Sample(10, trimmed(*inputs), (y.astype(types[2]),), filters.attrs)
