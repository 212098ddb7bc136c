"""MatMulInteger and ConvInteger, QLinearMatMul and QLinearConv: products of numbers in few bits.

All versions, with a product that is MatMul's or Conv's:

- MatMulInteger, ConvInteger: Y = (A - a_zero_point) * (B - b_zero_point), in int32;
- QLinearMatMul, QLinearConv: y = saturate(round(sums * (a_scale * b_scale / y_scale)) +
  y_zero_point), of the same sums, and a bias in their unit.

The parts of the file: what the texts leave open; scales and zero points beside their tensor; sums
of products; the operators of integers; requantizing, and the operators with scales; mutants of
sums; mutants of scales.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import Windows
from opcheck.engine.operators import (
    NamedMutants,
    Operator,
    formulas_of_versions,
    leave_open,
    operator,
)
from opcheck.engine.ops.conv import OPEN_SIZES, Attributes, matmul, products, windows_of_filters
from opcheck.engine.ops.matmul import matrix_product
from opcheck.engine.ops.quantization import (
    OTHER_SIGNEDNESS,
    TO_INTEGERS,
    Convert,
    Target,
    converted,
    quantized,
    real,
    same_bits,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import ONE_ELEMENT_AS_A_SCALAR
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array
from opcheck.numbers.plain import values_of as exact_values

NAMES = """ConvInteger MatMulInteger QLinearConv QLinearMatMul"""

CONV_INTEGER = operator("ConvInteger", exact=True)
MATMUL_INTEGER = operator("MatMulInteger", exact=True)
QLINEAR_CONV = operator("QLinearConv")
QLINEAR_MATMUL = operator("QLinearMatMul")

# ── what the texts leave open ─────────────────────────────────────────────────────────────────

SHAPE_OF_SCALES = Ruling(
    "shape-of-scales",
    "The text does not state whether scales or zero points may have another shape that stretches"
    " to the one it names.",
    ("stretched", "refused"),
)


# ── scales and zero points ────────────────────────────────────────────────────────────────────

#: The axis of a tensor that has a scale, or zero point, for each entry: the rows or columns of
#: matrices, filters, or none.
Entries: TypeAlias = int | None
ROWS, COLUMNS, FILTERS, NONE = -2, -1, 0, None
#: From a scale or zero point, its tensor and its entries to one that broadcasts to the tensor.
Place: TypeAlias = Callable[[Array, Array, Entries], Array]


class Placed(NamedTuple):
    """A scale or zero point, reshaped to broadcast to its tensor.

    Attributes:
        reshaped: It, with axes of length 1 where it has one number for all entries.
        is_stated: True if the text names the shape that it had.
    """

    reshaped: Array
    is_stated: bool


def aligned(parameter: Array, x: Array, entries: Entries) -> Array:
    """Return a scale or zero point so that it broadcasts to `x`: a scalar, or one for each entry.

    entries: the axis of x whose entries have their own: ROWS, COLUMNS, FILTERS or NONE. A scalar is
    returned as it is. A shape that the text does not name, and that stretches to the entries, is
    stretched or refused: SHAPE_OF_SCALES.

    Raises InvalidNode for a shape that does not stretch, and for another than the text's if it is
    refused; NotSupported, while judging, for scales or zero points of each element of a matrix.
    """
    if not parameter.ndim:
        return parameter
    place = aligned_with_matrices if entries in (ROWS, COLUMNS) else aligned_with_filters
    placed = place(parameter, x, entries)
    if not placed.is_stated:
        is_refused = SHAPE_OF_SCALES.reading() == "refused"
        reject(is_refused, f"scales or zero points {list(parameter.shape)} for {list(x.shape)}")
    return placed.reshaped


def aligned_with_matrices(parameter: Array, x: Array, entries: Entries) -> Placed:
    """Return a scale or zero point so that it broadcasts to matrices, or to stacks of them.

    "It could be a scalar or a 1-D tensor …, or an N-D tensor" with a 1 in place of the other axis.
    parameter: of rank 1 or more; x: [M, K], a stack of them, or a vector; entries: ROWS or COLUMNS.

    Raises InvalidNode if it does not broadcast to x; NotSupported, while judging, if it has other
    elements for each entry of the other axis.
    """
    # One for each entry of each matrix: the shape of x with 1 in place of the other axis.
    full = tuple(
        length if x.ndim > 1 and (n - x.ndim == entries or n - x.ndim < -2) else 1
        for n, length in enumerate(x.shape)
    )
    of_rows = (-1, 1) if entries == ROWS else (-1,)
    reshaped = xp.reshape(parameter, of_rows) if parameter.ndim == 1 and x.ndim > 1 else parameter
    check_stretches(parameter, x, reshaped.shape, x.shape)
    last_of_full = full[x.ndim - reshaped.ndim :]
    pairs = zip(reshaped.shape, last_of_full, strict=True)
    if any(length not in (1, of_full) for length, of_full in pairs):
        leave_open("nothing is said of scales or zero points of each element")
    # "1-D" for a matrix, "N-D" for a stack of them.
    stated_rank = 1 if x.ndim == 2 else x.ndim
    is_stated = reshaped.shape == last_of_full and parameter.ndim == stated_rank
    return Placed(reshaped, is_stated)


def aligned_with_filters(parameter: Array, x: Array, entries: Entries) -> Placed:
    """Return a scale or zero point so that it broadcasts to filters, or to an input.

    "It's a scalar or a 1-D tensor", of filters alone. parameter: of rank 1 or more; x: [M, C, k1,
    …]; entries: FILTERS, or NONE for one entry.

    Raises InvalidNode for a rank above 1, and for another number than 1 and that of the entries.
    """
    has_filters = x.ndim and entries == FILTERS
    full = (x.shape[0] if has_filters else 1, *[1] * (x.ndim - 1))
    reshaped = (
        xp.reshape(parameter, (-1, *full[1:])) if parameter.ndim == 1 and x.ndim > 1 else parameter
    )
    if parameter.ndim > 1:
        raise InvalidNode(f"scales or zero points {list(parameter.shape)} for {list(x.shape)}")
    check_stretches(parameter, x, reshaped.shape, full)
    is_stated = reshaped.shape == full[x.ndim - reshaped.ndim :] and entries == FILTERS
    return Placed(reshaped, is_stated)


def check_stretches(
    parameter: Array, x: Array, shape: Sequence[int], wanted: Sequence[int]
) -> None:
    """Raise InvalidNode unless `shape` broadcasts to `wanted`, which stays as it is.

    parameter, x: a scale or zero point and its tensor, whose shapes the message shows.
    """
    pairs = zip(shape[::-1], wanted[::-1], strict=False)
    is_wrong = len(shape) > len(wanted) or any(n not in (1, m) for n, m in pairs)
    reject(is_wrong, f"scales or zero points {list(parameter.shape)} for {list(x.shape)}")


def wide(x: Array) -> Array:
    """Return integers of few bits in int64, and floats of few bits in float64.

    Floats are of the kind of numbers in force.
    """
    if x.dtype.kind in "iu":
        return x.astype(np.int64)
    return xp.astype(exact_values(x), np.float64)


# ── sums of products ──────────────────────────────────────────────────────────────────────────

#: The product of two tensors; a third argument multiplies matrices.
Product: TypeAlias = Callable[..., Array]
#: A tensor without its zero point, which may be None, and has these entries.
Difference: TypeAlias = Callable[[Array, Array, Entries], Array]


@dataclass(frozen=True)
class Factors:
    """Both operands of a product.

    Attributes:
        product: MatMul's or Conv's.
        raw: The operands, as numbers of few bits.
        differences: The same without their zero points.
    """

    product: Product
    raw: tuple[Array, Array]
    differences: tuple[Array, Array]


def without_zero_point(x: Array, zero: Array, entries: Entries, place: Place = aligned) -> Array:
    """Return x - zero_point, in int64 or float64, in the shape of x; x if there is no zero point.

    entries: the axis of x that has a zero point for each entry; place: puts them there. Raises
    InvalidNode for a zero point that does not stretch to the entries, or in another shape than the
    text's if SHAPE_OF_SCALES refuses that; while judging, NotSupported for one of each element.
    """
    if zero is None:
        return wide(x)
    return wide(x) - place(wide(zero), x, entries)


@dataclass(frozen=True)
class Sums:
    """How sums of products are made; mutants do otherwise.

    Attributes:
        difference: Subtracts a zero point.
        error: What is added by mistake, from the factors; None for nothing.
    """

    difference: Difference = without_zero_point
    error: Callable[[Factors], Array] | None = None

    def factors(
        self,
        product: Product,
        entries: tuple[Entries, Entries],
        operands: tuple[Array, Array],
        zeros: tuple[Array, Array],
    ) -> Factors:
        """Return the operands, and the same in int64 or float64 less their zero points (None: 0).

        product: MatMul's or Conv's, which is not called here; entries: the axis of each operand
        that has its own zero points. Raises InvalidNode for a zero point that does not stretch to
        the entries, or in another shape than the text's if SHAPE_OF_SCALES refuses it;
        NotSupported, while judging, for one of each element.
        """
        first = self.difference(operands[0], zeros[0], entries[0])
        second = self.difference(operands[1], zeros[1], entries[1])
        return Factors(product, operands, (first, second))

    def of(self, factors: Factors) -> Array:
        """Return the sums of products, in int64 or float64.

        "The production MUST never overflow. The accumulation may overflow if and only if in 32
        bits." Raises NotSupported, while judging, for integer sums beyond 32 bits, and InvalidNode
        if the product refuses the operands' shapes.
        """
        y = factors.product(*factors.differences)
        if not isinstance(y, xp.Number) and not (np.abs(y) < 1 << 31).all():
            leave_open("sums beyond 32 bits")
        return y if self.error is None else y + self.error(factors)


def of_matrices(a: Array, b: Array, multiply: Callable[[Array, Array], Array] = xp.matmul) -> Array:
    """Return MatMul's product of matrices, vectors, or stacks that broadcast.

    Raises InvalidNode for scalars, and for shapes that do not fit.
    """
    product: Array = matrix_product(multiply, a, b)
    return product


def of_windows(
    windows: Windows,
    group: int,
    x: Array,
    w: Array,
    multiply: Callable[[Array, Array], Array] = matmul,
) -> Array:
    """Return Conv's product without a bias, N×M×O1×…×On.

    windows: over x; x: N×C×D1×…×Dn; w: M×C/group×k1×…×kn. Their shapes are checked before.
    """
    by_filters = partial(products, windows, group, multiply=multiply)
    return xp.bilinear(w, x, by_filters, prod(w.shape[1:]))


# ── MatMulInteger and ConvInteger ─────────────────────────────────────────────────────────────


@formulas_of_versions(10)
def matmul_integer(
    sums: Sums, A: Array, B: Array, a_zero_point: Array = None, b_zero_point: Array = None
) -> Array:
    """Return (A - a_zero_point) @ (B - b_zero_point) in int32; zero points of rows and columns.

    A, B: 8-bit integers, as numpy.matmul takes them. A zero point is a scalar, one for each row of
    A or column of B, or None for 0. Other shapes that stretch are stretched or refused:
    SHAPE_OF_SCALES. sums: the steps, which mutants change.

    Raises InvalidNode for scalars A or B, for shapes that do not fit each other, and for zero
    points that do not stretch to the rows or columns. Raises NotSupported, while judging, for zero
    points of each element, and for sums beyond 32 bits, which otherwise wrap around.
    """
    zeros = a_zero_point, b_zero_point
    factors = sums.factors(of_matrices, (ROWS, COLUMNS), (A, B), zeros)
    return sums.of(factors).astype(np.int32)


@formulas_of_versions(10)
def conv_integer(
    sums: Sums,
    x: Array,
    w: Array,
    x_zero_point: Array = None,
    w_zero_point: Array = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the convolution of x - x_zero_point and w - w_zero_point, in int32.

    x: N×C×D1×…×Dn; w: M×C/group×k1×…×kn; the result: N×M×O1×…×On. x_zero_point is a scalar,
    w_zero_point a scalar or [M], and None is 0; other shapes that stretch are stretched or refused:
    SHAPE_OF_SCALES. Padding holds the zero point, and so 0 of the difference. Where no window fits,
    the output is empty or refused: NO_WINDOW_FITS, SIZE_BELOW_0. sums: the steps, which mutants
    change.

    Raises InvalidNode for shapes, attributes and zero points that do not fit each other, and where
    a reading refuses. Raises NotSupported, while judging, for sums beyond 32 bits, which otherwise
    wrap around; MemoryError for an output that is too large.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        group=group,
    )
    windows = windows_of_filters(x, w, None, attributes, OPEN_SIZES)
    product = partial(of_windows, windows, group)
    factors = sums.factors(product, (NONE, FILTERS), (x, w), (x_zero_point, w_zero_point))
    return sums.of(factors).astype(np.int32)


MATMUL_INTEGER.formula(build=matmul_integer)(Sums())
CONV_INTEGER.formula(build=conv_integer)(Sums())


# ── requantizing ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Scaled:
    """A tensor with its scale and zero point, and which entries have their own."""

    x: Array
    scale: Array
    zero: Array
    entries: Entries = None


@dataclass(frozen=True)
class Accumulated:
    """Sums of products with all that an output follows from.

    Attributes:
        factors: What is multiplied.
        scales_of_factors: The scale of each factor, which broadcasts to it.
        sums: The sums of products of differences.
        bias: What is added to the sums, None for nothing.
        a, b: The scales of the factors, which broadcast to the sums.
        y: The scale of the output.
    """

    factors: Factors
    scales_of_factors: tuple[Array, Array]
    sums: Array
    bias: Array
    a: Array
    b: Array
    y: Array

    def with_bias(self) -> Array:
        """Return the sums, and the bias if there is one."""
        return self.sums if self.bias is None else self.sums + self.bias


#: The quotients that are rounded and saturate.
Quotients: TypeAlias = Callable[[Accumulated], Array]


def by_factor(accumulated: Accumulated) -> Array:
    """Return the sums times a_scale * b_scale / y_scale, as float32 has it or anything finer.

    The bias, if there is one, is added to the sums before. Sums that float32 does not hold may be
    rounded.
    """
    exact = accumulated.with_bias()
    factor = accumulated.a * accumulated.b / accumulated.y
    if isinstance(exact, xp.Number):
        return exact * factor
    y = real(exact)
    is_lost = exact.astype(np.float32) != exact
    return (xp.inexact(y, is_lost) if is_lost.any() else y) * factor


def dequantized(accumulated: Accumulated) -> Array:
    """Return the product of both factors, each times its scale first, over the output's scale.

    The bias, if there is one, is added times both scales.
    """
    first, second = accumulated.factors.differences
    a, b = accumulated.scales_of_factors
    y = accumulated.factors.product(real(first) * a, real(second) * b)
    if accumulated.bias is not None:
        y = y + real(accumulated.bias) * (accumulated.a * accumulated.b)
    return y / accumulated.y


@dataclass(frozen=True)
class Requantizer:
    """How an output with a scale is made; mutants do otherwise.

    Attributes:
        quotients: The numbers that are rounded.
        convert: Rounds them, adds the zero point and saturates; see `quantized`.
        place: Makes a scale broadcast to its tensor.
        sums: The sums of products.
    """

    quotients: Quotients = by_factor
    convert: Convert = converted
    place: Place = aligned
    sums: Sums = Sums()


#: From the scales of both factors and these to scales that broadcast to the sums.
Onto: TypeAlias = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


def requantized(
    how: Requantizer,
    product: Product,
    onto: Onto,
    *,
    first: Scaled,
    second: Scaled,
    output: Scaled,
    bias: Array = None,
    is_exact: bool = False,
) -> Array:
    """Return saturate(round(sums * (a_scale * b_scale / y_scale)) + y_zero_point).

    first, second: the factors, whose `product` without their zero points are the sums. output: its
    scale and zero point, which are scalars; it has the zero point's type, and its `x` is not used.
    onto: makes the factors' scales broadcast to the sums. bias: is added to the sums and broadcasts
    to them, None for nothing. is_exact: True if float32 holds the sums, and them times powers of
    two, in any order. how: the steps, which mutants change. Where rounding errors admit several
    numbers of an element, the result is `Choices`, which list them.

    Raises InvalidNode if a scale and its zero point have other shapes, if they do not stretch to
    their tensor's entries (or by SHAPE_OF_SCALES in another way than the text's), if y_scale has
    several elements (or by ONE_ELEMENT_AS_A_SCALAR a rank above 0), and if the factors do not fit
    each other. Raises NotSupported, while judging, if a scale is not between 2^-40 and 2^40 in
    magnitude, as 0 and NaN are not; for scales of each element of a matrix; for sums beyond 32
    bits; and, if the output is of floats, for a zero point other than 0 beside fractions, and where
    rounding may leave the range.
    """
    for tensor in (first, second, output):
        if tensor.scale.shape != tensor.zero.shape:
            raise InvalidNode("a scale and its zero point have different shapes")
    entries = first.entries, second.entries
    operands = first.x, second.x
    factors = how.sums.factors(product, entries, operands, (first.zero, second.zero))
    sums = how.sums.of(factors)
    check_scale_of_output(output.scale)
    a = how.place(first.scale, first.x, first.entries)
    b = how.place(second.scale, second.x, second.entries)
    accumulated = Accumulated(
        factors,
        (a, b),
        sums,
        bias,
        *onto(a, b, first.x, second.x),
        xp.reshape(output.scale, ()),
    )
    check_magnitudes(accumulated)
    zero: Array = xp.reshape(output.zero, ())
    out = dtypes.of(zero)
    assert out is not None  # The schema lists the types of zero points.
    return quantized(
        [how.quotients(accumulated)],
        exact_values(zero),
        Target(out),
        is_exact & are_powers_of_two(accumulated),
        how.convert,
    )


def check_scale_of_output(scale: Array) -> None:
    """Raise InvalidNode for several scales of an output.

    One of rank 1 or more is a scalar, or is refused so: ONE_ELEMENT_AS_A_SCALAR.
    """
    if not scale.ndim:
        return
    shape = list(scale.shape)
    reject(scale.size != 1, f"scales {shape} of an output; allowed: one")
    is_refused = ONE_ELEMENT_AS_A_SCALAR.reading() == "refused"
    reject(is_refused, f"a scale of shape {shape}; allowed: a scalar")


def values_of_scales(accumulated: Accumulated) -> list[Any]:
    """Return the scales of both factors and of the output, as plain arrays of float64."""
    scales = (accumulated.a, accumulated.b, accumulated.y)
    return [np.asarray(xp.values_of(scale), np.float64) for scale in scales]


def check_magnitudes(accumulated: Accumulated) -> None:
    """Raise NotSupported, while judging, for scales beyond 2^-40 and 2^40 in magnitude.

    0 and NaN are such. Products of others stay within the range of float32.
    """
    scales = values_of_scales(accumulated)
    if not all(((np.abs(x) > 2.0**-40) & (np.abs(x) < 2.0**40)).all() for x in scales):
        leave_open("nothing is said of scales that are 0, or that may leave the range of products")


def are_powers_of_two(accumulated: Accumulated) -> Any:
    """Return a mask of the sums whose scales are all positive powers of two.

    Products and quotients with these round nothing. The mask broadcasts to the sums.
    """
    a, b, y = (np.frexp(scale)[0] == 0.5 for scale in values_of_scales(accumulated))
    return a & b & y


def onto_matrices(a: Array, b: Array, x: Array, w: Array) -> tuple[Array, Array]:
    """Return the scales of rows, `a`, and columns, `b`, so that they broadcast to the product.

    x, w: the factors. The product has no axis of a vector, and so the scale of the other factor
    loses its 1 in that place.
    """
    if w.ndim == 1 and a.ndim:
        a = xp.reshape(a, a.shape[:-1])
    if x.ndim == 1 and b.ndim:
        b = xp.reshape(b, (*b.shape[:-2], *b.shape[-1:]))
    return a, b


def onto_channels(a: Array, b: Array, x: Array, w: Array) -> tuple[Array, Array]:
    """Return the scales so that they broadcast to N×M×O1×…×On: filters' M×1×…×1 loses an axis.

    a: the input's, a scalar or of one element; x and w are not used.
    """
    return a, xp.reshape(b, b.shape[:-1]) if b.ndim else b


# ── QLinearMatMul and QLinearConv ─────────────────────────────────────────────────────────────


@formulas_of_versions(10, 21)
def qlinear_matmul(
    how: Requantizer,
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """Return the product of both matrices, or stacks of them, in the numbers of y.

    a, b: as numpy.matmul takes them; their scales and zero points are scalars, or one for each row
    of a and column of b. y_scale, y_zero_point: of one element; y has the point's type, and is
    `Choices` where rounding admits several numbers. Other shapes of scales that stretch are
    stretched or refused: SHAPE_OF_SCALES. how: the steps, which mutants change.

    Raises InvalidNode if a and b do not fit each other, if a scale and its zero point have
    different shapes, or ones that do not stretch to the rows or columns, and if y_scale has several
    elements or is ruled out by ONE_ELEMENT_AS_A_SCALAR. Raises NotSupported, while judging, if a
    scale is 0, NaN, or beyond 2^-40 or 2^40, for scales of each element, for sums beyond 32 bits,
    and, if y is of floats, for a zero point other than 0 beside fractions, and where rounding may
    leave the range.
    """
    # Float32 holds the sum of fewer than 256 products of 8 bits, each below 2^16.
    is_exact = a.dtype.kind in "iu" and b.dtype.kind in "iu" and a.shape[-1:] < (1 << 8,)
    return requantized(
        how,
        of_matrices,
        onto_matrices,
        first=Scaled(a, a_scale, a_zero_point, ROWS),
        second=Scaled(b, b_scale, b_zero_point, COLUMNS),
        output=Scaled(None, y_scale, y_zero_point),
        is_exact=is_exact,
    )


@formulas_of_versions(10)
def qlinear_conv(
    how: Requantizer,
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    B: Array = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the convolution of quantized tensors, in the numbers of y.

    Args:
        how: The steps, which mutants change.
        x: [N, C, D1, D2 …]; its scale and zero point are scalars.
        w: [M, C/group, k1, k2 …]; its scale and zero point are scalars or [M].
        B: int32 [M], in the unit of the sums: x_scale · w_scale.
        y_scale, y_zero_point: Of one element; y has the point's type, and is `Choices` where
            rounding admits several numbers.

    Raises:
        InvalidNode: If shapes or attributes do not fit, if a scale and its zero point have
            different shapes, or by readings that refuse: NO_WINDOW_FITS and SIZE_BELOW_0 an
            output without windows, SHAPE_OF_SCALES other shapes, ONE_ELEMENT_AS_A_SCALAR [1].
        NotSupported: While judging, if a scale is 0, NaN, or beyond 2^-40 or 2^40, or sums are
            beyond 32 bits.
        MemoryError: For an output that is too large.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        group=group,
    )
    windows = windows_of_filters(x, w, B, attributes, OPEN_SIZES)
    bias = None if B is None else B.astype(np.int64).reshape(-1, *[1] * (x.ndim - 2))
    return requantized(
        how,
        partial(of_windows, windows, group),
        onto_channels,
        first=Scaled(x, x_scale, x_zero_point, NONE),
        second=Scaled(w, w_scale, w_zero_point, FILTERS),
        output=Scaled(None, y_scale, y_zero_point),
        bias=bias,
    )


# The texts state what numbers stand for, and not when they are scaled.
for _operator, _versions in ((QLINEAR_MATMUL, qlinear_matmul), (QLINEAR_CONV, qlinear_conv)):
    _operator.formula_and_alternatives(_versions, Requantizer(), Requantizer(dequantized))


# ── mutants of sums ───────────────────────────────────────────────────────────────────────────


def zero_points_added(x: Array, zero: Array, entries: Entries) -> Array:
    """Mutant of `without_zero_point`: x + zero_point, in int64, of x in integers of 8 bits.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    if zero is None:
        return without_zero_point(x, None, entries)
    return x.astype(np.int64) + aligned(zero, x, entries)


def differences_wrap(x: Array, zero: Array, entries: Entries) -> Array:
    """Mutant of `without_zero_point`: the difference is taken in the tensor's own type.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    if zero is None:
        return without_zero_point(x, None, entries)
    return (x - aligned(zero, x, entries)).astype(x.dtype).astype(np.int64)


def differences_saturate(x: Array, zero: Array, entries: Entries) -> Array:
    """Mutant of `without_zero_point`: the difference is cut to the tensor's own type.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    if zero is None:
        return without_zero_point(x, None, entries)
    difference = x.astype(np.int64) - aligned(zero, x, entries)
    return np.clip(difference, *dtypes.limits(dtypes.of(x)))


def signs_mistaken(x: Array, zero: Array, entries: Entries) -> Array:
    """Mutant of `without_zero_point`: signed numbers are read as unsigned, and those as signed.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    zero = None if zero is None else same_bits(zero, **OTHER_SIGNEDNESS)
    return without_zero_point(same_bits(x, **OTHER_SIGNEDNESS), zero, entries)


def first_entry(parameter: Array, x: Array, entries: Entries) -> Array:
    """Mutant of `aligned`: the first entry's scale or zero point is that of all.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    return aligned(parameter, x, entries)[(slice(0, 1),) * parameter.ndim]


def crossed(parameter: Array, x: Array, entries: Entries) -> Array:
    """Mutant of `aligned`: in square matrices, zero points or scales of rows are put to columns.

    And those of columns to rows. Other operands are right.

    Raises InvalidNode for a shape that does not stretch to the entries, or that SHAPE_OF_SCALES
    refuses; NotSupported, while judging, for one of each element.
    """
    is_square = entries in (ROWS, COLUMNS) and parameter.ndim == 1 and x.shape[:1] == x.shape[1:]
    if not is_square:
        return aligned(parameter, x, entries)
    return aligned(parameter, x, COLUMNS if entries == ROWS else ROWS)


def products_of_zero_points(factors: Factors) -> Array:
    """Mutant of sums: minus the product of both zero points, which (x - a) * (w - b) contains."""
    x, w = factors.raw
    without_a, without_b = factors.differences
    return -factors.product(wide(x) - without_a, wide(w) - without_b)


def padded_with_0(factors: Factors) -> Array:
    """Mutant of sums: the error of padding x with 0 in place of its zero point.

    Padding then is 0 - zero_point, and not 0: each sum lacks zero_point times the filter's elements
    in the padding. They are all elements of the filter but those in x.
    """
    x, _ = factors.raw
    difference, filters = factors.differences
    zero_points = wide(x) - difference
    zero_point = zero_points.ravel()[:1].sum()
    sums_of_filters = filters.sum(axis=tuple(range(1, filters.ndim)))
    sums_of_filters = sums_of_filters.reshape(-1, *[1] * (filters.ndim - 2))
    return factors.product(zero_points, filters) - zero_point * sums_of_filters


def saturated_pairs(factors: Factors) -> Array:
    """Mutant of sums: the error of 16 bits in which two neighboring products saturate together.

    AVX2's vpmaddubsw does so, of uint8 x and int8 w before zero points are taken away. A plain 0
    for operands of other types.
    """
    x, w = factors.raw
    if x.dtype != np.uint8 or w.dtype != np.int8:
        return 0
    return factors.product(wide(x), wide(w), in_pairs) - factors.product(
        wide(x), wide(w), np.matmul
    )


def in_pairs(a: Array, b: Array) -> Array:
    """Return a @ b with pairs of neighboring products whose sum saturates in 16 bits, for a mutant.

    a: [..., M, K]; b: [..., K, N]; both int64. Of an odd K the last product is alone.
    """
    terms = a[..., :, :, None] * b[..., None, :, :]
    pairs = np.add.reduceat(terms, np.arange(0, terms.shape[-2], 2), axis=-2)
    return np.clip(pairs, -1 << 15, (1 << 15) - 1).sum(axis=-2)


#: Mutants of sums, by name: a text, and the sums.
SumsTable: TypeAlias = NamedMutants[Sums]
OF_SUMS: SumsTable = {
    "zero_points_added": ("zero points were added", Sums(difference=zero_points_added)),
    "differences_wrap": (
        "differences wrapped around in 8 bits",
        Sums(difference=differences_wrap),
    ),
    "differences_saturate": (
        "differences were cut to 8 bits",
        Sums(difference=differences_saturate),
    ),
    "signs_mistaken": (
        "signed numbers were taken for unsigned ones, and those for signed",
        Sums(difference=signs_mistaken),
    ),
    "first_zero_point_for_all": (
        "the first zero point served for all",
        Sums(difference=partial(without_zero_point, place=first_entry)),
    ),
    "no_product_of_zero_points": (
        "the products of both zero points were left out",
        Sums(error=products_of_zero_points),
    ),
}
OF_ROWS: SumsTable = {
    "zero_points_crossed": (
        "zero points of rows went to columns, and the other way, in squares",
        Sums(difference=partial(without_zero_point, place=crossed)),
    )
}
OF_PADDING: SumsTable = {
    "padded_with_0": ("padding was 0 in place of the zero point", Sums(error=padded_with_0))
}
OF_PAIRS: SumsTable = {
    "pairs_saturate": (
        "products were added in pairs that saturate in 16 bits",
        Sums(error=saturated_pairs),
    )
}


# ── mutants of scales ─────────────────────────────────────────────────────────────────────────


def no_output_zero_point(q: Array, zero: Array, out: Target) -> Array:
    """Mutant: the output's zero point is not added."""
    return converted(q, zero * 0, out)


def multiplied_by_output_scale(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: the output's scale multiplies."""
    return accumulated.with_bias() * (accumulated.a * accumulated.b * accumulated.y)


def first_scale_ignored(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: the first factor has no scale."""
    return accumulated.with_bias() * (accumulated.b / accumulated.y)


def second_scale_ignored(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: the second factor has no scale."""
    return accumulated.with_bias() * (accumulated.a / accumulated.y)


def output_scale_ignored(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: the output has no scale."""
    return accumulated.with_bias() * (accumulated.a * accumulated.b)


def factor_in(kind: Any, accumulated: Accumulated) -> Array:
    """Mutant: the factor a_scale * b_scale / y_scale is rounded to a type of 16 bits, `kind`."""
    factor = accumulated.a * accumulated.b / accumulated.y
    return accumulated.with_bias() * factor.astype(kind).astype(np.float32)


def bias_not_scaled(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: the bias is in the output's unit, and not multiplied by the factor."""
    bias = 0 if accumulated.bias is None else accumulated.bias
    return accumulated.sums * (accumulated.a * accumulated.b / accumulated.y) + bias


def first_bias_for_all(accumulated: Accumulated) -> Array:
    """Mutant of `by_factor`: each filter has the first one's bias."""
    bias = None if accumulated.bias is None else accumulated.bias[:1]
    return by_factor(replace(accumulated, bias=bias))


#: Mutants of outputs with scales, by name: a text, and the requantizer.
ScalesTable: TypeAlias = NamedMutants[Requantizer]
OF_SCALES: ScalesTable = {
    **{
        name: (text, Requantizer(convert=TO_INTEGERS[same][1]))
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
        Requantizer(convert=no_output_zero_point),
    ),
    "multiplied_by_output_scale": (
        "the output's scale multiplied",
        Requantizer(multiplied_by_output_scale),
    ),
    "first_scale_ignored": (
        "the first operand's scale was ignored",
        Requantizer(first_scale_ignored),
    ),
    "second_scale_ignored": (
        "the second operand's scale was ignored",
        Requantizer(second_scale_ignored),
    ),
    "output_scale_ignored": (
        "the output's scale was ignored",
        Requantizer(output_scale_ignored),
    ),
    "first_scale_for_all": (
        "the first scale served for all",
        Requantizer(place=first_entry),
    ),
    **{
        f"factor_in_{kind.__name__}": (
            f"the factor was rounded to {kind.__name__}",
            Requantizer(partial(factor_in, kind)),
        )
        for kind in (np.float16, ml_dtypes.bfloat16)
    },
}
SCALES_OF_ROWS: ScalesTable = {
    "scales_crossed": (
        "scales of rows went to columns, and the other way",
        Requantizer(place=crossed),
    )
}
OF_BIAS: ScalesTable = {
    "bias_not_scaled": (
        "the bias was added to the output's numbers",
        Requantizer(bias_not_scaled),
    ),
    "first_bias_for_all": (
        "of the bias the first element served for all",
        Requantizer(first_bias_for_all),
    ),
}


def with_sums(table: SumsTable) -> NamedMutants[Requantizer]:
    """Return mutants of sums as those of outputs with scales."""
    return {name: (text, Requantizer(sums=sums)) for name, (text, sums) in table.items()}


def declare_mutants(
    op: Operator,
    versions: Any,
    mutants: NamedMutants[Any],
    of_pairs: NamedMutants[Any],
) -> None:
    """Declare the mutants of an operator; those of pairs concern uint8 alone.

    versions: makes the formulas of what a table has after each text. Raises WrongOperator for one
    that contradicts the schema.
    """
    op.mutant_table(mutants, build=versions, only=["int8", "uint8"])
    op.mutant_table(of_pairs, build=versions, only=["uint8"])


declare_mutants(MATMUL_INTEGER, matmul_integer, {**OF_SUMS, **OF_ROWS}, OF_PAIRS)
declare_mutants(CONV_INTEGER, conv_integer, {**OF_SUMS, **OF_PADDING}, OF_PAIRS)
declare_mutants(
    QLINEAR_MATMUL,
    qlinear_matmul,
    {**with_sums(OF_SUMS), **with_sums(OF_ROWS), **OF_SCALES, **SCALES_OF_ROWS},
    with_sums(OF_PAIRS),
)
declare_mutants(
    QLINEAR_CONV,
    qlinear_conv,
    {**with_sums(OF_SUMS), **with_sums(OF_PADDING), **OF_SCALES, **OF_BIAS},
    with_sums(OF_PAIRS),
)
