"""Numbers in few bits: y = saturate(x / scale + zero point) and x = (y − zero point)·scale."""

from functools import partial

import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, NARROW
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import is_open, operator
from opcheck.engine.ops.cast import to_minifloat
from opcheck.engine.ops.contractions import _matmul
from opcheck.engine.ops.conv import by_windows, of_windows
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.numbers.bounded.array import Bounded
from opcheck.numbers.bounded.choice import Indices
from opcheck.numbers.faulty import bare

NAMES = """
ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul
QuantizeLinear
"""
DEQUANTIZE = operator("DequantizeLinear")
QUANTIZE = operator("QuantizeLinear")
DYNAMIC = operator("DynamicQuantizeLinear")
MATMUL = operator("MatMulInteger", exact=True)
CONV = operator("ConvInteger", exact=True)
Q_MATMUL, Q_CONV = operator("QLinearMatMul"), operator("QLinearConv")
_VERSIONS = (13, 19, 21, 23, 24, 25, 28)


def exact_values(x: Array) -> Array:
    """Integers or minifloats of any type in float64."""
    return x.astype(np.float64)


def in_blocks(length, size, count):
    """The block of each element."""
    return np.arange(length) // size


def spread(x, scale, zero, axis, block_size, blocks=in_blocks):
    """The scale and the zero point of each element of `x`; without an axis they are scalars."""
    shapes = {scale.shape, scale.shape if zero is None else zero.shape}
    if shapes == {()} or (shapes <= {(), (1,)} and shapes != {x.shape}):
        if (1,) in shapes:
            is_open("it is not said whether one element makes a scalar")
        if axis not in (None, 1) and not -x.ndim <= axis < x.ndim:
            is_open("it is not said whether an axis without use must be one")
        return (one if one is None else xp.reshape(one, ()) for one in (scale, zero))
    if len(shapes) > 1:
        raise InvalidNode(f"a zero point {list(zero.shape)} for scales {list(scale.shape)}")
    if axis is None:
        raise InvalidNode(f"scales of shape {list(scale.shape)}; allowed: a scalar")
    if scale.ndim == 1 and axis == 1 == x.ndim:
        is_open("an axis beyond those of a vector may be of no need")
        axis = 0
    axis = from_either_end(axis, x.ndim)
    if scale.ndim == 1 and (x.ndim > 1 or not block_size):
        if block_size:
            is_open("nothing is said of blocks along a whole axis")
        shape, at = x.shape[axis : axis + 1], np.arange(x.shape[axis])
    else:
        if block_size < 1 or scale.ndim != x.ndim:
            raise InvalidNode(f"scales of rank {scale.ndim} and blocks of {block_size}")
        count = -(-x.shape[axis] // block_size)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        at = blocks(x.shape[axis], block_size, count)
    if scale.shape != shape:
        raise InvalidNode(f"scales of shape {list(scale.shape)}; allowed: {list(shape)}")
    if scale.ndim == x.ndim:
        return (one if one is None else xp.take(one, at, axis=axis) for one in (scale, zero))
    lined = (-1, *[1] * (x.ndim - axis - 1))
    return (one if one is None else xp.reshape(one, lined) for one in (scale, zero))


def of_products(product, place=spread):
    """All versions of DequantizeLinear, from `product(x, zero, scale, out)` in that type."""

    def formula(x, x_scale, x_zero_point=None, *, axis=1, block_size=0, output_dtype=0):
        out = dtypes.named(output_dtype) if output_dtype else dtypes.of(np.empty(0, x_scale.dtype))
        if out is None or out.kind != "float":
            raise InvalidNode(f"an output of type {out}; allowed: floats")
        scale, zero = place(x, x_scale, x_zero_point, axis, block_size)
        if zero is not None and x.dtype == np.int32 and zero.any():
            is_open("there is no zero point of int32")
        return product(x, np.zeros((), x.dtype) if zero is None else zero, scale, out)

    def scalars(x, x_scale, x_zero_point=None):
        return formula(x, x_scale, x_zero_point, axis=None)

    return {10: scalars, **dict.fromkeys(_VERSIONS, formula)}


def difference(x, zero):
    """Without their scale, and what float32 cannot hold of it rounded."""
    exact = exact_values(x) - exact_values(zero)
    made, held = xp.astype(exact, np.float64), exact.astype(np.float32) == exact
    return made if held.all() else xp.inexact(made, ~held)


def in_float32(x, zero, scale, out):
    """The product as float32 has it, or anything finer."""
    return difference(x, zero) * factor(scale)


def factor(scale):
    """The scale, which in float8e8m0 is no number to multiply by."""
    is_power = scale.dtype == DTYPES["float8e8m0"].numpy
    return xp.astype(exact_values(scale), np.float64) if is_power else scale


def in_type_of_output(x, zero, scale, out):
    """The product of factors in the output's type."""
    wide = xp.astype(exact_values(x) - exact_values(zero), np.float64)
    a, b = (xp.astype(one, out.numpy, computes=True) for one in (wide, factor(scale)))
    return a * b


DEQUANTIZE.formula(by=of_products)(in_float32)
# "The output type also determines the precision of the multiplication", since version 23; before
# it nothing is said.
DEQUANTIZE.also_honest("", by=of_products)(in_type_of_output)


SHIFTED = [one for one in (*NARROW, "int8", "int16", "uint8", "uint16") if one != "float8e8m0"]
WRAPPED = [one for one in SHIFTED if DTYPES[one].kind == "int"]


def wrapped(x, zero):
    """Their difference in their own type, of integers."""
    return (x.astype(np.int64) - zero.astype(np.int64)).astype(x.dtype)


def same_bits(x, **types):
    """`x` read in another type of as many bits."""
    return x.view(DTYPES[types[x.dtype.name]].numpy) if x.dtype.name in types else x


#: Other types that the numbers may be mistaken for.
UNSIGNED = {"int8": "uint8", "int16": "uint16", "uint8": "int8", "uint16": "int16"}

#: Wrong products, and the types in which they are wrong: int32 has no zero point.
PRODUCTS = {
    "zero_point_added": ("the zero point was added", SHIFTED,
        lambda x, zero, scale, out: (exact_values(x) + exact_values(zero)) * factor(scale)),
    "zero_point_unscaled": ("the zero point was subtracted after the product", SHIFTED,
        lambda x, zero, scale, out: exact_values(x) * factor(scale) - exact_values(zero)),
    "difference_wraps": ("the difference was taken in the tensor's own type", WRAPPED,
        lambda x, zero, scale, out: exact_values(wrapped(x, zero)) * factor(scale)),
    "divided_by_scale": ("it was divided by the scale", None,
        lambda x, zero, scale, out: (exact_values(x) - exact_values(zero)) / factor(scale)),
    "signs_mistaken": (
        "signed numbers were taken for unsigned ones, and those for signed", [*UNSIGNED],
        lambda x, zero, scale, out: in_float32(
            same_bits(x, **UNSIGNED), same_bits(zero, **UNSIGNED), scale, out)),
}  # fmt: skip
for _name, (_text, _only, _product) in PRODUCTS.items():
    DEQUANTIZE.mutant(_text, name=_name, only=_only, by=of_products)(_product)


def _along(new):
    """Scales of one axis, along another one that is as long."""

    def place(x, scale, zero, axis, block_size):
        fits = axis is not None and scale.ndim == 1 and x.shape[new:][:1] == scale.shape
        return spread(x, scale, zero, new if fits else axis, block_size)

    return place


PLACES = {
    "scales_along_first_axis": ("the scales lay along the first axis where it is as long",
                                13, _along(0)),
    "scales_along_last_axis": ("the scales lay along the last axis where it is as long",
                               13, _along(-1)),
    "first_scale_for_all": ("the first scale served for all", 13,
        lambda x, scale, zero, axis, block_size: (
            one if one is None else one[(slice(0, 1),) * one.ndim]
            for one in spread(x, scale, zero, axis, block_size))),
    "blocks_in_turns": ("the blocks' elements were taken in turns", 21, partial(
        spread, blocks=lambda length, size, count: np.arange(length) % max(1, count))),
    "blocks_of_equal_length": (
        "an axis was split into blocks that are as equal as can be", 21, partial(
            spread, blocks=lambda length, size, count: np.arange(length) // -(-length // count))),
}  # fmt: skip


def since(first, by, place):
    """The formulas of the versions that have what is at stake."""
    return {version: made for version, made in by(place=place).items() if version >= first}


for _name, (_text, _first, _place) in PLACES.items():
    DEQUANTIZE.mutant(_text, name=_name, by=partial(since, _first, partial(
        of_products, in_float32)))(_place)  # fmt: skip


def whole(quotients, zero, out, saturate=1, sure=False):
    """Numbers of `out` from quotients: the nearest, shifted by `zero` and saturated.

    The first of `quotients` decides; of bounded ones all is admitted that the errors of any leave,
    but where the first is `sure`.
    """

    def convert(q):
        if out.kind == "int":
            shifted = xp.round(q) + zero
            return bare(xp.clip(shifted, *dtypes.limits(out))).astype(out.numpy)
        return to_minifloat(bare(q + zero), out, saturate or out.bits < 8, "up")

    first = quotients[0]
    values = first.v if isinstance(first, Bounded) else bare(first)
    if np.isnan(values).any() and (out.kind == "int" or out.bits < 8):
        is_open("nothing is said of what NaN becomes")
    if not isinstance(first, Bounded):
        return convert(first)
    ends = []
    for settled in (q.settled() for q in quotients):
        e = 0.0 if settled.e is None else np.where(sure, 0.0, settled.e)
        ends += [convert(settled.v - e), convert(settled.v + e)]
    return admitted(convert(values), *(
        how.reduce([end.astype(np.float64) for end in ends]).astype(out.numpy)
        for how in (np.fmin, np.fmax)))  # fmt: skip


def admitted(y, low, high):
    """`y`, and whatever else lies from `low` to `high`."""
    if ((low == high) | (low != low)).all():
        return y
    if dtypes.of(y).kind != "int":
        return Indices(y, np.stack([y, low, high], axis=-1))
    first, last = low.astype(np.int64), high.astype(np.int64)
    each = first[..., None] + np.arange(1 + (last - first).max())
    return Indices(y, np.minimum(each, last[..., None]).astype(y.dtype))


def of_quotients(quotient, place=spread):
    """All versions of QuantizeLinear, from `quotient(x, scale, dtype)` by a division in that."""

    def formula(x, y_scale, y_zero_point=None, *, axis=1, saturate=1, block_size=0, output_dtype=0,
                precision=0):  # fmt: skip
        stated = dtypes.named(output_dtype) if output_dtype else None
        given = None if y_zero_point is None else dtypes.of(y_zero_point)
        if output_dtype and given not in (None, stated):
            raise InvalidNode(f"an output of {stated}, with a zero point of {given}")
        out = stated or given or DTYPES["uint8"]
        divides = dtypes.named(precision) if precision else dtypes.of(np.empty(0, y_scale.dtype))
        if divides is None:
            raise InvalidNode(f"precision {precision} names no type")
        if precision and divides.kind != "float":
            is_open("nothing is said of divisions in what is no float")
        scale, zero = place(x, y_scale, y_zero_point, axis, block_size)
        values = xp.values_of(scale) if scale.dtype.kind == "f" else exact_values(scale)
        if not (np.isfinite(values) & (values != 0)).all():
            is_open("nothing is said of scales that are no numbers to divide by")
        shift = 0 if zero is None else exact_values(zero)
        own = xp.values_of(x) if x.dtype.kind == "f" else exact_values(x)
        power = np.frexp(values)[0] == np.copysign(0.5, values)
        power = power & ((own.astype(np.float32) == own) | ~np.isfinite(own))
        if not ((size := np.abs(values)) >= 2.0**-100).all() or not (size <= 2.0**100).all():
            is_open("an implementation may flush this scale, or what it divides 1 to")
        return whole(quotient(x, scale, divides), shift, out, saturate, power)

    def scalars(x, y_scale, y_zero_point=None):
        return formula(x, y_scale, y_zero_point, axis=None)

    return {10: scalars, **dict.fromkeys(_VERSIONS, formula)}


def real(x):
    """Numbers of any type as those of the kind in force."""
    dtype = dtypes.of(np.empty(0, x.dtype))
    return x if dtype and dtype.kind == "float" else xp.astype(exact_values(x), np.float64)


def finite_in(dtype, *operands):
    """Call it open where a type of 16 bits has infinities for finite numbers."""
    for x in map(xp.values_of, operands):
        if (np.isfinite(x) & (np.abs(x) > dtypes.limits(dtype)[1])).any():
            is_open(f"{dtype} does not hold what is divided")


@QUANTIZE.formula(by=of_quotients)
def divided(x, scale, dtype):
    """Quotients as float32 has them, and as `dtype` does where that is narrower."""
    a, b = real(x), real(scale)
    wide = [one if (np.float32(v := xp.values_of(one)) == v).all() else xp.inexact(one, 1)
            for one in (a, b)]  # fmt: skip
    if dtype.name not in ("float16", "bfloat16"):
        return [wide[0] / wide[1]]
    finite_in(dtype, a, b)
    narrow = [xp.astype(one, dtype.numpy, computes=True) for one in (a, b)]
    return [wide[0] / wide[1], narrow[0] / narrow[1]]


@DYNAMIC.formula(11)
def of_range(x):
    """Scale and zero point from the least and the greatest element, and 0."""
    if not x.size:
        is_open("nothing is said of the range of nothing")
        return np.zeros(x.shape, np.uint8), np.zeros((), x.dtype), np.zeros((), np.uint8)
    low, high = xp.minimum(xp.min(x), 0.0), xp.maximum(xp.max(x), 0.0)
    scale = (high - low) / 255.0
    values = xp.values_of(scale)
    if not (np.isfinite(values) & (values > 2.0**-100)).all():
        is_open("nothing is said of what is divided by 0, or of what is no number")
    zero = whole([-low / scale], 0, DTYPES["uint8"])
    zeros = zero.admitted if isinstance(zero, Indices) else [zero]
    found = [whole([x / scale], exact_values(one), DTYPES["uint8"]) for one in np.ravel(zeros)]
    every = [one.admitted if isinstance(one, Indices) else one[..., None] for one in found]
    first = found[0].v if isinstance(found[0], Indices) else found[0]
    y = first if len(found) == 1 and every[0].shape[-1] == 1 else Indices(
        first, np.concatenate(every, axis=-1))  # fmt: skip
    return y, scale, zero


def less(x, zero, axis):
    """`x` without its zero point, which is one number, or one for each entry along `axis`."""
    if zero is None:
        return x.astype(np.int64)
    if zero.ndim == 1 and x.ndim > 1:
        if zero.shape == (1,) != x.shape[axis : axis + 1 or None]:
            is_open("it is not said whether one element makes a scalar")
        elif zero.shape[0] != x.shape[axis]:
            raise InvalidNode(f"{zero.shape[0]} zero points for {x.shape[axis]} lines")
        zero = np.expand_dims(zero, tuple(range(1, -axis)))
    return x.astype(np.int64) - zero.astype(np.int64)


def held(y):
    """Sums in int32."""
    if np.size(y) and not (np.abs(y) < 1 << 31).all():
        is_open("an accumulation may overflow in 32 bits")
    return y.astype(np.int32)


def of_sums(sums):
    """MatMulInteger, from `sums(a, b)` of the numbers without their zero points."""

    def formula(A, B, a_zero_point=None, b_zero_point=None):
        return held(sums(less(A, a_zero_point, -2), less(B, b_zero_point, -1)))

    return {10: formula}


MATMUL.formula(by=of_sums)(partial(_matmul, np.matmul))


def of_convolution(convolution):
    """ConvInteger, from a `convolution` of the numbers without their zero points."""
    windows = of_windows(convolution)[11]

    def formula(x, w, x_zero_point=None, w_zero_point=None, *, auto_pad, dilations, group,
                kernel_shape, pads, strides):  # fmt: skip
        return held(windows(
            less(x, x_zero_point, 0), less(w, w_zero_point, -w.ndim), auto_pad=auto_pad,
            dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads,
            strides=strides))  # fmt: skip

    return {10: formula}


CONV.formula(by=of_convolution)(by_windows)


def lined(one, x, axis):
    """A scale or a zero point beside `x`, for each entry along `axis` where it is a vector."""
    if one.ndim == 1 and x.ndim > 1:
        return xp.reshape(one, (-1, *[1] * (-axis - 1)))
    return one


def requantized(sums, scale, zero, out):
    """Sums, scaled and made whole again, by one factor, or by one after the other."""
    a, b, y = scale
    if not (xp.values_of(y) != 0).all():
        is_open("nothing is said of a scale of 0")
    exact = xp.astype(sums, np.float64)
    return whole([exact * (a * b / y), exact * a * b / y], zero, out)


@Q_MATMUL.formula(10, 21)
def q_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
    for scale, zero in ((a_scale, a_zero_point), (b_scale, b_zero_point), (y_scale, y_zero_point)):
        if scale.shape != zero.shape:
            raise InvalidNode(f"a zero point {list(zero.shape)} for scales {list(scale.shape)}")
    left, right = (exact_values(x) - exact_values(lined(zero, x, axis)) for x, zero, axis in (
        (a, a_zero_point, -2), (b, b_zero_point, -1)))  # fmt: skip
    scales = lined(a_scale, a, -2), lined(b_scale, b, -1), lined(y_scale, a, -2)
    shift = exact_values(lined(y_zero_point, a, -2))
    return requantized(_matmul(np.matmul, left, right), scales, shift, dtypes.of(y_zero_point))


@Q_CONV.formula(10)
def q_conv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B=None, *,
           auto_pad, dilations, group, kernel_shape, pads, strides):  # fmt: skip
    if w_scale.shape != w_zero_point.shape:
        raise InvalidNode(f"{list(w_zero_point.shape)} zero points, {list(w_scale.shape)} scales")
    sums = of_windows(by_windows)[11](
        less(x, x_zero_point, 0), less(w, w_zero_point, -w.ndim), None if B is None else
        B.astype(np.int64), auto_pad=auto_pad, dilations=dilations, group=group,
        kernel_shape=kernel_shape, pads=pads, strides=strides)  # fmt: skip
    scales = x_scale, lined(w_scale, w, 1 - w.ndim), y_scale
    return requantized(sums, scales, exact_values(y_zero_point), dtypes.of(y_zero_point))
