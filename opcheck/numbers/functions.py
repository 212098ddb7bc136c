"""The functions that formulas are written with, for arrays of any kind of numbers.

Names and meaning are those of the Python array API standard. What is not in it, or differs from
it, is in its docstring here. Every function leaves its work to the kind of its first operand that
is not plain: to `opcheck.numbers.plain` (NumPy), `bounded` or `faulty`.

Operands broadcast as in NumPy. Results have the type of the operands, NumPy's common one of several
plain ones; of plain integers, `sqrt`, `divide` and functions of the library but `erf` give floats.
NaN gives NaN unless a docstring says otherwise. Functions of floating numbers round as the kind
does. Bounded numbers of more than 60 axes raise NotSupported. Python's own `abs`, `max`, `min`,
`pow`, `round` and `sum` are hidden in this module.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Kind
from opcheck.numbers.context import dispatch, lifted
from opcheck.numbers.protocol import Booleans, Operand, Places, Tensor

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "astype",
    "at_most_1",
    "atan",
    "atanh",
    "bilinear",
    "broadcast_to",
    "ceil",
    "clip",
    "concat",
    "cos",
    "cosh",
    "cumulative_prod",
    "cumulative_sum",
    "divide",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "expm1",
    "flip",
    "floor",
    "fmod",
    "full_like",
    "greater",
    "greater_equal",
    "inexact",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "pad",
    "permute_dims",
    "pow",
    "prod",
    "remainder",
    "reshape",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "squeeze",
    "stack",
    "subtract",
    "sum",
    "sums",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "top_k",
    "trunc",
    "values_of",
    "where",
    "zeros_like",
]

#: Lengths or axes.
Integers: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]
#: The axes of a reduction, below 0 from the end; None means all, and () none.
Axes: TypeAlias = int | tuple[int, ...] | None


# Arithmetic.


def abs(x: Tensor) -> Tensor:
    """Return |x|, which rounds nothing; NaN of NaN. The least signed integer stays negative."""
    return dispatch("abs", x)


def negative(x: Tensor) -> Tensor:
    """Return −x, which rounds nothing. Integers wrap around; TypeError for booleans."""
    return dispatch("negative", x)


def add(a: Operand, b: Operand) -> Tensor:
    """Return a + b, rounded once; integers wrap around.

    Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("add", a, b)


def subtract(a: Operand, b: Operand) -> Tensor:
    """Return a − b, rounded once; integers wrap around.

    Raises ValueError for shapes that do not broadcast, and TypeError for two booleans.
    """
    return dispatch("subtract", a, b)


def multiply(a: Operand, b: Operand) -> Tensor:
    """Return a·b, rounded once; integers wrap around, and 0·∞ is NaN.

    Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("multiply", a, b)


def divide(a: Operand, b: Operand) -> Tensor:
    """Return a/b, which an implementation may compute as a·(1/b).

    A division by 0 gives an infinity, or NaN for 0/0; two integers give a float. Raises ValueError
    for shapes that do not broadcast.
    """
    return dispatch("divide", a, b)


def remainder(a: Operand, b: Operand) -> Tensor:
    """Return the remainder of a/b with the sign of `b`, as Python's %.

    Where `b` is infinite, `a` itself, or `b` if `a` has the other sign and is not 0. NaN where `a`
    is infinite or `b` is 0, but 0 for an integer divided by 0. Raises ValueError for shapes that do
    not broadcast.
    """
    return dispatch("remainder", a, b)


def fmod(a: Operand, b: Operand) -> Tensor:
    """Return the remainder of a/b with the sign of `a`, as C's fmod; beyond the standard.

    NaN where `a` is infinite or `b` is 0, but 0 for an integer divided by 0; `a` itself where `b`
    is infinite. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("fmod", a, b)


def pow(x: Operand, p: Operand) -> Tensor:
    """Return x^p; x^0 and 1^p are 1 even for NaN, and a fraction as power of x < 0 gives NaN.

    Integers wrap around. Raises ValueError for shapes that do not broadcast, and for an integer
    with a negative integer as power.
    """
    return dispatch("pow", x, p)


def sqrt(x: Tensor) -> Tensor:
    """Return the square root of each element, rounded once; NaN below 0, −0 of −0."""
    return dispatch("sqrt", x)


# Functions of the library.


def exp(x: Tensor) -> Tensor:
    """Return e^x, 0 of −∞ and ∞ of large elements; NaN of NaN."""
    return dispatch("exp", x)


def expm1(x: Tensor) -> Tensor:
    """Return e^x − 1, accurate for small `x` too; −1 of −∞, NaN of NaN."""
    return dispatch("expm1", x)


def log(x: Tensor) -> Tensor:
    """Return the natural logarithm; −∞ of 0, and NaN below 0."""
    return dispatch("log", x)


def log1p(x: Tensor) -> Tensor:
    """Return ln(1 + x), accurate for small `x` too; −∞ of −1, and NaN below −1."""
    return dispatch("log1p", x)


def sin(x: Tensor) -> Tensor:
    """Return the sine of `x` in radians; NaN of infinities."""
    return dispatch("sin", x)


def cos(x: Tensor) -> Tensor:
    """Return the cosine of `x` in radians; NaN of infinities."""
    return dispatch("cos", x)


def tan(x: Tensor) -> Tensor:
    """Return the tangent of `x` in radians; NaN of infinities."""
    return dispatch("tan", x)


def asin(x: Tensor) -> Tensor:
    """Return the inverse sine in radians, from −π/2 to π/2; NaN beyond [−1, 1]."""
    return dispatch("asin", x)


def acos(x: Tensor) -> Tensor:
    """Return the inverse cosine in radians, from 0 to π; NaN beyond [−1, 1]."""
    return dispatch("acos", x)


def atan(x: Tensor) -> Tensor:
    """Return the inverse tangent in radians, from −π/2 to π/2, which infinities have."""
    return dispatch("atan", x)


def sinh(x: Tensor) -> Tensor:
    """Return the hyperbolic sine; infinities of infinities and of large elements."""
    return dispatch("sinh", x)


def cosh(x: Tensor) -> Tensor:
    """Return the hyperbolic cosine; ∞ of infinities and of large elements."""
    return dispatch("cosh", x)


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent, −1 and 1 of infinities."""
    return dispatch("tanh", x)


def asinh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine; infinities of infinities."""
    return dispatch("asinh", x)


def acosh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine; NaN below 1."""
    return dispatch("acosh", x)


def atanh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent; infinities of −1 and 1, and NaN beyond."""
    return dispatch("atanh", x)


def erf(x: Tensor) -> Tensor:
    """Return the error function 2/√π · ∫₀ˣ e^(−t²) dt, which the array API standard does not have.

    −1 and 1 of infinities; NaN of NaN. Of plain integers the fraction is cut off; of complex
    numbers the imaginary part is lost.
    """
    return dispatch("erf", x)


# Steps.


def sign(x: Tensor) -> Tensor:
    """Return −1, 0 or 1 by the sign of each element; 0 of −0, and NaN of NaN."""
    return dispatch("sign", x)


def floor(x: Tensor) -> Tensor:
    """Return the largest integer not above each element, in the type of `x`.

    Infinities and NaN stay.
    """
    return dispatch("floor", x)


def ceil(x: Tensor) -> Tensor:
    """Return the smallest integer not below each element, in the type of `x`.

    Infinities and NaN stay.
    """
    return dispatch("ceil", x)


def trunc(x: Tensor) -> Tensor:
    """Return each element without its fraction, in the type of `x`; infinities and NaN stay."""
    return dispatch("trunc", x)


def round(x: Tensor) -> Tensor:
    """Return the nearest integer, ties to even, in the type of `x`; infinities and NaN stay."""
    return dispatch("round", x)


# Comparisons and choice. Where errors leave an answer open, bounded numbers admit both.


def less(a: Operand, b: Operand) -> Booleans:
    """Return a < b, False for NaN.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("less", a, b)


def less_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≤ b, False for NaN.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("less_equal", a, b)


def greater(a: Operand, b: Operand) -> Booleans:
    """Return a > b, False for NaN.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("greater", a, b)


def greater_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≥ b, False for NaN.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("greater_equal", a, b)


def equal(a: Operand, b: Operand) -> Booleans:
    """Return a = b, False for NaN, True for zeros of either sign.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("equal", a, b)


def not_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≠ b, True for NaN, False for zeros of either sign.

    Of bounded numbers it is a `Truth`, unsure where the errors admit both answers; plain booleans
    if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("not_equal", a, b)


def isnan(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element whose value is NaN: plain booleans in the shape of `x`."""
    return cast(NDArray[np.bool_], dispatch("isnan", x))


def isinf(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element whose value is infinite: plain booleans in the shape of `x`."""
    return cast(NDArray[np.bool_], dispatch("isinf", x))


def isfinite(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element whose value is neither infinite nor NaN, as plain booleans."""
    return cast(NDArray[np.bool_], dispatch("isfinite", x))


def logical_not(x: Booleans) -> Booleans:
    """Return not x, for booleans; of plain numbers 0 alone is false."""
    return dispatch("logical_not", x)


def logical_and(a: Booleans, b: Booleans) -> Booleans:
    """Return a and b, for booleans. Raises ValueError for shapes that do not broadcast."""
    return dispatch("logical_and", a, b)


def logical_or(a: Booleans, b: Booleans) -> Booleans:
    """Return a or b, for booleans. Raises ValueError for shapes that do not broadcast."""
    return dispatch("logical_or", a, b)


def logical_xor(a: Booleans, b: Booleans) -> Booleans:
    """Return either a or b but not both, for booleans.

    Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("logical_xor", a, b)


def where(condition: Booleans, a: Operand, b: Operand) -> Tensor:
    """Return `a` where `condition` holds, else `b`, in the shape that all three broadcast to.

    Where errors leave the condition open, the result admits both. Raises ValueError for shapes that
    do not broadcast, and TypeError for an open condition between two plain arrays.
    """
    return dispatch("where", condition, a, b)


def maximum(a: Operand, b: Operand) -> Tensor:
    """Return the larger element of two; NaN if one is.

    Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("maximum", a, b)


def minimum(a: Operand, b: Operand) -> Tensor:
    """Return the smaller element of two; NaN if one is.

    Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("minimum", a, b)


def clip(x: Tensor, low: Operand | None, high: Operand | None) -> Tensor:
    """Return min(max(x, low), high): `high` where it is below `low`, NaN where one of the three is.

    None is no limit; `x` itself without both. Raises ValueError for shapes that do not broadcast.
    """
    return dispatch("clip", x, low, high)


def top_k(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Places]:
    """Return the `k` largest or smallest elements along `axis` in order, and their indices.

    Both have the shape of `x`, but length `k` along `axis`. Of equal elements the one with the
    lower index comes first; NaN counts as the largest. Where errors of bounded numbers leave more
    than one order, the indices are `Choices`, which list all that each may be. Beyond the standard.

    Raises IndexError if `k` is larger than the axis, AxisError for an axis that `x` lacks. A `k` of
    0 or less gives no element.
    """
    return cast(tuple[Tensor, Places], dispatch("top_k", x, k, axis, largest))


# Reductions. An implementation may add and multiply in any order.


def sum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis`, in the type of a floating `x`; 0 of no elements.

    Plain integers and booleans are added up in 64 bits, and wrap around. `keepdims` leaves the axes
    in, with length 1. Raises AxisError for an axis that `x` lacks, ValueError for one that is
    repeated.
    """
    return dispatch("sum", x, axis=axis, keepdims=keepdims)


def mean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis` divided by the number of its elements; NaN of none.

    It has the type of a floating `x`. Of plain integers it is one of 64 bits, without the fraction,
    and arbitrary of none. `keepdims` leaves the axes in, with length 1. Raises AxisError for an
    axis that `x` lacks, ValueError for one that is repeated.
    """
    return dispatch("mean", x, axis=axis, keepdims=keepdims)


def prod(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the product over `axis`, in the type of a floating `x`; 1 of no elements.

    Plain integers and booleans are multiplied in 64 bits, and wrap around. `keepdims` leaves the
    axes in, with length 1. Raises AxisError for an axis that `x` lacks, ValueError for one
    that is repeated.
    """
    return dispatch("prod", x, axis=axis, keepdims=keepdims)


def max(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the largest element over `axis`; NaN if there is one.

    `keepdims` leaves the axes in, with length 1. Raises ValueError if there is no element to choose
    from or an axis is repeated, and AxisError for an axis that `x` lacks.
    """
    return dispatch("max", x, axis=axis, keepdims=keepdims)


def min(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over `axis`; NaN if there is one.

    `keepdims` leaves the axes in, with length 1. Raises ValueError if there is no element to choose
    from or an axis is repeated, and AxisError for an axis that `x` lacks.
    """
    return dispatch("min", x, axis=axis, keepdims=keepdims)


def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Places:
    """Return the index of the first maximum along `axis`, of all elements in C order if it is None.

    The first NaN counts as the maximum. Where errors of bounded numbers leave several open, the
    result is `Choices`, which list all that each may be. `keepdims` leaves the axis in, with length
    1.

    Raises ValueError if there is no element to choose from, and AxisError for an axis that `x`
    lacks.
    """
    return dispatch("argmax", x, axis=axis, keepdims=keepdims)


def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Places:
    """Return the index of the first minimum along `axis`, of all elements in C order if it is None.

    The first NaN counts as the minimum. Where errors of bounded numbers leave several open, the
    result is `Choices`, which list all that each may be. `keepdims` leaves the axis in, with length
    1.

    Raises ValueError if there is no element to choose from, and AxisError for an axis that `x`
    lacks.
    """
    return dispatch("argmin", x, axis=axis, keepdims=keepdims)


def cumulative_sum(x: Tensor, axis: int = 0) -> Tensor:
    """Return the running sums along `axis`, each with its own element, in the shape of `x`.

    They have the type of a floating `x`; plain integers are added up in 64 bits, and wrap around.
    Raises IndexError, such as NumPy's AxisError, for an axis that `x` lacks.
    """
    return dispatch("cumulative_sum", x, axis=axis)


def cumulative_prod(x: Tensor, axis: int = 0) -> Tensor:
    """Return the running products along `axis`, each with its own element, in the shape of `x`.

    They have the type of a floating `x`; plain integers are multiplied in 64 bits, and wrap around.
    Raises IndexError, such as NumPy's AxisError, for an axis that `x` lacks.
    """
    return dispatch("cumulative_prod", x, axis=axis)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the matrix product of the last two axes: (…, m, k) and (…, k, n) give (…, m, n).

    Other axes broadcast. An operand of rank 1 is a row on the left and a column on the right, whose
    axis the result lacks. It is 0 where k is 0. Raises ValueError for lengths that do not fit, and
    ValueError, or IndexError for bounded numbers, for an operand of rank 0.
    """
    return dispatch("matmul", a, b)


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Return the sum of products over `axes`, as NumPy's function.

    These are the last axes of `a` and the first of `b`, as many as an integer says; or those of `a`
    and those of `b` in two sequences. The result has the other axes of `a` and then those of `b`.
    Raises ValueError for lengths that differ, and IndexError for axes that there are not.
    """
    return dispatch("tensordot", a, b, axes=axes)


def bilinear(
    a: Operand,
    b: Operand,
    product: Callable[[Any, Any], Any],
    terms: int,
    addend: Operand | None = None,
) -> Tensor:
    """Return `product(a, b)`, or that plus `addend`; beyond the standard.

    Each element of `product(a, b)` is a sum of at most `terms` products of an element of `a` and
    one of `b`, such as a matrix product or a convolution. `product` must be bilinear: it is called
    with plain arrays alone, of values and, for bounded numbers, of errors and magnitudes too.
    `addend` broadcasts to the result; None for no addend. Raises what `product` raises, and
    ValueError for an addend that does not broadcast.
    """
    return dispatch("bilinear", a, b, product, terms, addend)


def sums(x: Tensor, add_up: Callable[[Any], Any], terms: int | NDArray[Any]) -> Tensor:
    """Return `add_up(x)`, each element of which is a sum of elements of `x`; beyond the standard.

    `add_up` must be linear: it is called with plain arrays alone, of values and, for bounded
    numbers, of errors and magnitudes too. `terms`, an integer or an array that broadcasts to the
    output, is the number of elements that each output adds up. Raises what `add_up` raises.
    """
    return dispatch("sums", x, add_up, terms)


# Movement, which rounds nothing.


def broadcast_to(x: Tensor, shape: Integers) -> Tensor:
    """Return `x` repeated along axes of length 1, and along new ones in front.

    Raises ValueError for a shape to which `x` does not broadcast.
    """
    return dispatch("broadcast_to", x, shape)


def concat(arrays: Sequence[Operand], axis: int = 0) -> Tensor:
    """Return the arrays one after the other along an axis that they have.

    Other axes have equal lengths. Plain types become NumPy's common one; next to bounded arrays all
    get the type of the first of these. Raises ValueError for no array, for rank 0 and for lengths
    or ranks that differ, and AxisError for an axis that they lack.
    """
    return dispatch("concat", arrays, axis=axis)


def expand_dims(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    """Return `x` with new axes of length 1, at these places among the axes of the result.

    Places below 0 count from its end. Raises AxisError for a place that the result lacks, and
    ValueError for a place that is repeated.
    """
    return dispatch("expand_dims", x, axis=axis)


def flip(x: Tensor, axis: Axes = None) -> Tensor:
    """Return `x` with the order of its elements reversed along `axis`; None means all axes.

    Raises AxisError for an axis that `x` lacks, ValueError for one that is repeated.
    """
    return dispatch("flip", x, axis=axis)


def pad(
    x: Tensor,
    widths: int | Integers | Sequence[Sequence[int]],
    constant_values: float = 0,
) -> Tensor:
    """Return `x` with constants around it, as NumPy's function; beyond the standard.

    `widths` are the numbers of elements before and after: one integer for all, one pair, or a pair
    for each axis. In an integer type of `x` a constant loses its fraction. Raises ValueError for
    widths below 0 and for a wrong number of them, and OverflowError for an integer that the type
    of `x` lacks.
    """
    return dispatch("pad", x, widths, constant_values=constant_values)


def permute_dims(x: Tensor, axes: Integers) -> Tensor:
    """Return `x` with its axes in the order `axes`.

    Raises ValueError if these are not all axes of `x`, each once; some may be counted from the end.
    """
    return dispatch("permute_dims", x, axes=axes)


def reshape(x: Tensor, shape: int | Integers) -> Tensor:
    """Return the elements of `x` in C order in another shape.

    One length may be −1, which is computed. Raises ValueError if the number of elements does not
    fit, for two lengths of −1, and for one next to a length of 0.
    """
    return dispatch("reshape", x, shape)


def squeeze(x: Tensor, axis: Axes = None) -> Tensor:
    """Return `x` without these axes, or without all of length 1 if `axis` is None.

    Raises ValueError for an axis of another length or repeated, and AxisError for one that `x`
    lacks.
    """
    return dispatch("squeeze", x, axis=axis)


def stack(arrays: Sequence[Operand], axis: int = 0) -> Tensor:
    """Return arrays of one shape side by side along a new axis, at this place of the result.

    Plain types become NumPy's common one; next to bounded arrays all get the type of the first of
    these. Raises ValueError for no array and for shapes that differ, and AxisError for a place that
    the result lacks.
    """
    return dispatch("stack", arrays, axis=axis)


def take(x: Tensor, index: Any, axis: int) -> Tensor:
    """Return the elements at `index` along `axis`, which the axes of `index` replace.

    Indices below 0 count from the end. Where an index of bounded numbers is open, the result admits
    each element that it may mean. Raises IndexError for an index beyond the axis, and AxisError for
    an axis that `x` lacks.
    """
    return dispatch("take", x, index, axis=axis)


def take_along_axis(x: Tensor, index: Any, axis: int) -> Tensor:
    """Return the elements at `index`, in its shape, which is that of `x` but along `axis`.

    Other axes broadcast, too. Indices below 0 count from the end. Where an index of bounded numbers
    is open, the result admits each element that it may mean.

    Raises ValueError for another rank, IndexError for an index beyond the axis and for other axes
    that do not broadcast, and AxisError for an axis that `x` lacks.
    """
    return dispatch("take_along_axis", x, index, axis=axis)


def tile(x: Tensor, repetitions: Integers) -> Tensor:
    """Return `x` repeated as a whole along each axis, as often as `repetitions` says for it.

    With fewer of these, they are for the last axes; with more, `x` gets new axes in front. Raises
    ValueError for a number below 0.
    """
    return dispatch("tile", x, repetitions)


# Creation and casts.


def full_like(x: Tensor, value: Any) -> Tensor:
    """Return a constant in the shape and type of `x`.

    Among bounded numbers it has no error, even if the type rounds it. A float loses its fraction in
    an integer type; one that the type cannot hold becomes an arbitrary integer. Raises
    OverflowError for a Python integer that an integer type lacks.
    """
    return dispatch("full_like", x, value)


def zeros_like(x: Tensor) -> Tensor:
    """Return zeros in the shape and type of `x`."""
    return dispatch("zeros_like", x)


def astype(x: Operand, dtype: Any, *, computes: bool = False) -> Tensor:
    """Return `x`, an array or a number, in another type.

    Plain floats become numbers of the kind on which the formula is evaluated. A float loses its
    fraction in an integer type. One that the type cannot hold becomes an arbitrary integer if it is
    plain; if it is bounded, the element is lost: any integer is admitted.

    If `dtype` has 16 bits, what follows is computed in float32, as of all tensors of such types; or
    if it `computes`, in `dtype` itself, for a text that requires this.

    Raises TypeError for bounded numbers and a type that is neither boolean, integer nor floating.
    """
    if isinstance(x, Kind):
        return cast(Tensor, x.kind().astype(x, dtype, computes=computes))
    return lifted(plain.astype(x, dtype))


# Errors of implementations, all beyond the standard. Plain numbers have none.


def inexact(x: Tensor, roundoffs: Any, deviation: Any = None) -> Tensor:
    """Return `x` with an error of `roundoffs` unit roundoffs for an implementation's own reasons.

    It comes on top of the errors that `x` has. A roundoff is u times the element. `deviation` d
    says how such errors scatter: uniformly within d·u, not times the element; None where it is not
    known. Both broadcast to the shape of `x`. Plain and faulty numbers are returned as they are.
    Asking bounded ones for their errors raises ValueError if the shapes do not broadcast.
    """
    return dispatch("inexact", x, roundoffs, deviation)


def at_most_1(x: Tensor) -> Tensor:
    """Return `x`, numbers from 0 to 1 that no implementation computes as more than 1.

    Bounded numbers keep their values, and their errors shrink to little more than 1. Others are
    returned as they are.
    """
    return dispatch("at_most_1", x)


def values_of(x: Tensor) -> NDArray[np.float64]:
    """Return the values of `x` in float64, as a new plain array without errors, in its shape.

    Formulas use them where Python code must decide something. Values beyond float64's range are
    infinite, and integers beyond 2⁵³ are rounded.
    """
    return cast(NDArray[np.float64], dispatch("values_of", x))
