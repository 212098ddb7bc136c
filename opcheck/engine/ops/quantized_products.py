"""Products of numbers in few bits: MatMul and Conv of integers, and requantized."""

from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.operators import formula_builder, leave_open, operator
from opcheck.engine.ops.conv import conv, matmul, products
from opcheck.engine.ops.matmul import matrix_product
from opcheck.engine.ops.quantization import (
    TO_INTEGERS,
    UNSIGNED,
    Target,
    quantized,
    real,
    same_bits,
)
from opcheck.errors import InvalidNode, reject
from opcheck.numbers.plain import values_of as exact_values

NAMES = """ConvInteger MatMulInteger QLinearConv QLinearMatMul"""
CONV, MATMUL, Q_CONV, Q_MATMUL = (operator(n, exact="Integer" in n) for n in NAMES.split())

#: Of two operands the axis that has a scale or zero point for each entry, None where none has.
MATRICES, FILTERS = (-2, -1), (None, 0)


def beside(one, x, axis):
    """A scale or zero point beside `x`: one number, or one for each entry of `axis`."""
    if not one.ndim:
        return one
    if axis in MATRICES:
        full = tuple(
            length if x.ndim > 1 and (n - x.ndim == axis or n - x.ndim < -2) else 1
            for n, length in enumerate(x.shape)
        )
        vector, shape = x.ndim == 2, (-1, *[1] * (-1 - axis))
    else:
        full = (x.shape[0] if x.ndim and axis == 0 else 1, *[1] * (x.ndim - 1))
        vector, shape = axis == 0, (-1, *full[1:])
    made = xp.reshape(one, shape) if one.ndim == 1 and x.ndim > 1 else one
    most, fits = (x.ndim, x.shape) if axis in MATRICES else (1, full)
    ends = zip(made.shape[::-1], fits[::-1], strict=False)
    if one.ndim > most or any(length not in (1, other) for length, other in ends):
        raise InvalidNode(f"scales or zero points {list(one.shape)} for {list(x.shape)}")
    right = made.shape == full[x.ndim - made.ndim :]
    if not right or (one.ndim != 1 if vector else axis not in MATRICES or one.ndim != x.ndim):
        leave_open("nothing is said of scales or zero points of such a shape")
    return made


def less(x, zero, axis, place=beside):
    wide, shift = (
        one
        if one is None
        else one.astype(np.int64)
        if one.dtype.kind in "iu"
        else xp.astype(exact_values(one), np.float64)
        for one in (x, zero)
    )
    return wide if zero is None else wide - place(shift, x, axis)


def summed(product, axes, x, w, x_zero, w_zero, without=less, more=None):
    """Sums of products of numbers `without` their zero points, and terms added by mistake."""
    a, b = without(x, x_zero, axes[0]), without(w, w_zero, axes[1])
    y = product(a, b)
    if not isinstance(y, xp.Number) and not (np.abs(y) < 1 << 31).all():
        leave_open("sums beyond 32 bits")
    return y if more is None else y + more(product, x, w, a, b)


def of_matrices(x, w, multiply=xp.matmul):
    return matrix_product(multiply, x, w)


@formula_builder(10)
def matmul_integer(options, A, B, a_zero_point=None, b_zero_point=None):
    y = summed(of_matrices, MATRICES, A, B, a_zero_point, b_zero_point, **options)
    return y.astype(np.int32)


def convolved(step, x, w, B=None, **attrs):
    """`step(product)` of a product that convolves."""

    def convolution(X, W, B, windows, group):
        def product(a, b, multiply=matmul):
            times = partial(products, windows, group, multiply=multiply)
            return xp.bilinear(b, a, times, prod(W.shape[1:]))

        return step(product)

    return conv(convolution)[11](x, w, B, **attrs)


@formula_builder(10)
def conv_integer(options, x, w, x_zero_point=None, w_zero_point=None, **attrs):
    y = convolved(
        lambda product: summed(product, FILTERS, x, w, x_zero_point, w_zero_point, **options),
        x,
        w,
        **attrs,
    )
    return y.astype(np.int32)


RIGHT: Any = {}
MATMUL.formula(build=matmul_integer)(RIGHT)
CONV.formula(build=conv_integer)(RIGHT)


def by_factor(product, x, w, sums, bias, a, b, y):
    exact = sums if bias is None else sums + bias
    if isinstance(exact, xp.Number):
        return exact * (a * b / y)
    made = real(exact)
    lost = exact.astype(np.float32) != exact
    return (xp.inexact(made, lost) if lost.any() else made) * (a * b / y)


def dequantized(product, x, w, sums, bias, a, b, y):
    """Sums of products of floats, over the output's scale."""
    found = product(x, w)
    return (found if bias is None else found + real(bias) * (a * b)) / y


def requantized(
    product,
    axes,
    onto,
    x,
    w,
    y,
    bias=None,
    sure=False,
    *,
    way=by_factor,
    finish=quantized,
    place=beside,
    without=less,
    more=None,
):
    """Sums of products in the numbers of an output; each has its scale and zero point."""
    if any(scale.shape != zero.shape for *_, scale, zero in (x, w, y)):
        raise InvalidNode("a scale and its zero point have different shapes")
    (x, x_scale, x_zero), (w, w_scale, w_zero) = x, w
    sums = summed(product, axes, x, w, x_zero, w_zero, without, more)
    if y[0].ndim:
        reject(y[0].size != 1, f"scales {list(y[0].shape)} of an output; allowed: one")
        leave_open("it is not said whether one element makes a scalar")
    y_scale, y_zero = (xp.reshape(one, ()) for one in y)
    a, b = place(x_scale, x, axes[0]), place(w_scale, w, axes[1])
    scales = *onto(a, b, x, w), y_scale
    values = [np.asarray(xp.values_of(one), np.float64) for one in scales]
    if not all(((abs(one) > 2.0**-40) & (abs(one) < 2.0**40)).all() for one in values):
        leave_open("nothing is said of scales that are 0, or that may leave the range of products")
    if way is dequantized:
        x, w = real(less(x, x_zero, axes[0])) * a, real(less(w, w_zero, axes[1])) * b
    first, second, third = (np.frexp(one)[0] == 0.5 for one in values)
    out = dtypes.of(y_zero)
    assert out is not None  # The schema lists the types of zero points.
    return finish(
        [way(product, x, w, sums, bias, *scales)],
        exact_values(y_zero),
        Target(out),
        sure & first & second & third,
    )


def over_matrices(a, b, x, w):
    """The scales of rows and columns beside a product, which has no axis for a vector."""
    a = xp.reshape(a, a.shape[:-1]) if w.ndim == 1 and a.ndim else a
    return a, xp.reshape(b, (*b.shape[:-2], *b.shape[-1:])) if x.ndim == 1 and b.ndim else b


@formula_builder(10, 21)
def qlinear_matmul(how, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
    # Sums and products with powers of two that float32 holds exactly, in any order.
    sure = a.dtype.kind in "iu" and b.dtype.kind in "iu" and a.shape[-1:] < (1 << 8,)
    operands = (a, a_scale, a_zero_point), (b, b_scale, b_zero_point), (y_scale, y_zero_point)
    return requantized(of_matrices, MATRICES, over_matrices, *operands, None, sure, **how)


@formula_builder(10)
def qlinear_conv(
    options,
    x,
    x_scale,
    x_zero_point,
    w,
    w_scale,
    w_zero_point,
    y_scale,
    y_zero_point,
    B=None,
    **attrs,
):
    operands = (x, x_scale, x_zero_point), (w, w_scale, w_zero_point), (y_scale, y_zero_point)
    bias = None if B is None else B.astype(np.int64).reshape(-1, *[1] * (x.ndim - 2))
    return convolved(
        lambda product: requantized(
            product,
            FILTERS,
            lambda a, b, x, w: (a, xp.reshape(b, b.shape[:-1]) if b.ndim else b),
            *operands,
            bias,
            **options,
        ),
        x,
        w,
        B,
        **attrs,
    )


FLOATS: Any = {"way": dequantized}
for op, by in ((Q_MATMUL, qlinear_matmul), (Q_CONV, qlinear_conv)):
    # The texts say what numbers stand for, and not when they are scaled.
    op.formula_and_alternatives(by, RIGHT, FLOATS)


def with_other(change, x, zero, axis):
    return less(x, zero, axis) if zero is None else change(x, beside(zero, x, axis))


def crossed(one, x, axis):
    """In squares, the values of rows for columns, and the other way round."""
    square = axis in MATRICES and one.ndim == 1 and x.shape[:1] == x.shape[1:]
    return beside(one, x, -3 - axis if square else axis)


def first(one, x, axis):
    return beside(one, x, axis)[(slice(0, 1),) * one.ndim]


def in_pairs(a, b):
    terms = a[..., :, :, None] * b[..., None, :, :]
    pairs = np.add.reduceat(terms, np.arange(0, terms.shape[-2], 2), axis=-2)
    return np.clip(pairs, -1 << 15, (1 << 15) - 1).sum(axis=-2)


def lost_in_pairs(product, x, w, a, b):
    """The error where the pairs are of raw numbers, as in AVX2's vpmaddubsw."""
    raw = [less(one, None, None) for one in (x, w)]
    fits = x.dtype == np.uint8 and w.dtype == np.int8
    return product(*raw, in_pairs) - product(*raw, np.matmul) if fits else 0


def around(product, x, w, a, b):
    """The error of padding with 0 in place of the zero point."""
    zeros = less(x, None, None) - a
    of_all = b.sum(axis=tuple(range(1, b.ndim)))
    return product(zeros, b) - zeros.ravel()[:1].sum() * of_all.reshape(-1, *[1] * (b.ndim - 2))


#: Mistakes by which sums of products go wrong.
SUMS: Any = {
    "zero_points_added": (
        "zero points were added",
        {"without": partial(with_other, lambda x, zero: x.astype(np.int64) + zero)},
    ),
    "differences_wrap": (
        "differences wrapped around in 8 bits",
        {
            "without": partial(
                with_other, lambda x, zero: (x - zero).astype(x.dtype).astype(np.int64)
            )
        },
    ),
    "differences_saturate": (
        "differences were cut to 8 bits",
        {
            "without": partial(
                with_other,
                lambda x, zero: np.clip(x.astype(np.int64) - zero, *dtypes.limits(dtypes.of(x))),
            )
        },
    ),
    "signs_mistaken": (
        "signed numbers were taken for unsigned ones, and those for signed",
        {
            "without": lambda x, zero, axis: less(
                same_bits(x, **UNSIGNED),
                zero if zero is None else same_bits(zero, **UNSIGNED),
                axis,
            )
        },
    ),
    "first_zero_point_for_all": (
        "the first zero point served for all",
        {"without": partial(less, place=first)},
    ),
    "no_product_of_zero_points": (
        "the products of both zero points were left out",
        {
            "more": lambda product, x, w, a, b: (
                -product(*(less(raw, None, None) - one for raw, one in ((x, a), (w, b))))
            )
        },
    ),
}
OF_ROWS: Any = {
    "zero_points_crossed": (
        "zero points of rows went to columns, and the other way, in squares",
        {"without": partial(less, place=crossed)},
    )
}
OF_PADDING: Any = {"padded_with_0": ("padding was 0 in place of the zero point", {"more": around})}
PAIRS: Any = {
    "pairs_saturate": (
        "products were added in pairs that saturate in 16 bits",
        {"more": lost_in_pairs},
    )
}


def factor(change):
    return {
        "way": lambda product, x, w, sums, bias, a, b, y: (
            (sums if bias is None else sums + bias) * change(a, b, y)
        )
    }


#: Mistakes by which requantizing goes wrong.
SCALES: Any = {
    **{
        name: (text, {"finish": partial(quantized, convert=TO_INTEGERS[same][1])})
        for name, text, same in (
            ("halves_away_from_zero", "halves were rounded away from 0", "ties_away_ints"),
            ("halves_up", "halves were rounded up", "ties_up_ints"),
            ("cut_off", "fractions were cut off", "truncated_ints"),
            ("rounded_with_zero_point", "the zero point was added before rounding", "rounded_last"),
            (
                "saturated_before_zero_point",
                "numbers saturated before the zero point was added",
                "saturates_first",
            ),
            ("wraps_around", "numbers out of range wrapped around", "wraps"),
        )
    },
    "no_output_zero_point": (
        "the output's zero point was ignored",
        {"finish": lambda quotients, zero, *of: quantized(quotients, zero * 0, *of)},
    ),
    "multiplied_by_output_scale": (
        "the output's scale multiplied",
        factor(lambda a, b, y: a * b * y),
    ),
    "first_scale_ignored": ("the first operand's scale was ignored", factor(lambda a, b, y: b / y)),
    "second_scale_ignored": (
        "the second operand's scale was ignored",
        factor(lambda a, b, y: a / y),
    ),
    "output_scale_ignored": ("the output's scale was ignored", factor(lambda a, b, y: a * b)),
    "first_scale_for_all": ("the first scale served for all", {"place": first}),
    **{
        f"factor_in_{kind.__name__}": (
            f"the factor was rounded to {kind.__name__}",
            factor(lambda a, b, y, kind=kind: (a * b / y).astype(kind).astype(np.float32)),
        )
        for kind in (np.float16, ml_dtypes.bfloat16)
    },
}
OF_BIAS: Any = {
    "bias_not_scaled": (
        "the bias was added to the output's numbers",
        {
            "way": lambda product, x, w, sums, bias, a, b, y: (
                sums * (a * b / y) + (0 if bias is None else bias)
            )
        },
    ),
    "first_bias_for_all": (
        "of the bias the first element served for all",
        {
            "way": lambda product, x, w, sums, bias, *scales: by_factor(
                product, x, w, sums, None if bias is None else bias[:1], *scales
            )
        },
    ),
}
for op, by, table in (
    (MATMUL, matmul_integer, OF_ROWS),
    (CONV, conv_integer, OF_PADDING),
    (
        Q_MATMUL,
        qlinear_matmul,
        {
            **OF_ROWS,
            **SCALES,
            "scales_crossed": (
                "scales of rows went to columns, and the other way",
                {"place": crossed},
            ),
        },
    ),
    (Q_CONV, qlinear_conv, {**OF_PADDING, **SCALES, **OF_BIAS}),
):
    op.mutant_table({**SUMS, **table}, build=by, only=["int8", "uint8"])
    op.mutant_table(PAIRS, build=by, only=["uint8"])
