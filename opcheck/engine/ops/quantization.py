"""Numbers in few bits: y = saturate(x / scale + zero point) and x = (y − zero point)·scale."""

from functools import partial

import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, NARROW
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode
from opcheck.model import Array

NAMES = """
DequantizeLinear
"""
DEQUANTIZE = operator("DequantizeLinear")
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
