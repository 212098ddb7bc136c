"""The functions that formulas are written with, for arrays of any kind of numbers.

Names and meaning are those of the Python array API standard. What is not in it, or differs from
it, is in its docstring here. Every function leaves its work to the kind of its first operand that
is not plain: to `opcheck.numbers.plain` (NumPy), `bounded` or `faulty`.

Operands broadcast as in NumPy. Functions that compute with floating numbers round as the kind does.
Python's own `abs`, `max`, `min`, `pow`, `round` and `sum` are hidden in this module.
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
#: The axes of a reduction; None means all.
Axes: TypeAlias = int | Integers | None


# Arithmetic.


def abs(x: Tensor) -> Tensor:
    """Return the absolute value of each element, which rounds nothing."""
    return dispatch("abs", x)


def negative(x: Tensor) -> Tensor:
    """Return −x, which rounds nothing."""
    return dispatch("negative", x)


def add(a: Operand, b: Operand) -> Tensor:
    """Return a + b, rounded once."""
    return dispatch("add", a, b)


def subtract(a: Operand, b: Operand) -> Tensor:
    """Return a − b, rounded once."""
    return dispatch("subtract", a, b)


def multiply(a: Operand, b: Operand) -> Tensor:
    """Return a·b, rounded once."""
    return dispatch("multiply", a, b)


def divide(a: Operand, b: Operand) -> Tensor:
    """Return a/b, which an implementation may compute as a·(1/b)."""
    return dispatch("divide", a, b)


def remainder(a: Operand, b: Operand) -> Tensor:
    """Return the remainder of a/b with the sign of `b`."""
    return dispatch("remainder", a, b)


def fmod(a: Operand, b: Operand) -> Tensor:
    """Return the remainder of a/b with the sign of `a`, as C's fmod; beyond the standard."""
    return dispatch("fmod", a, b)


def pow(x: Operand, p: Operand) -> Tensor:
    """Return x^p."""
    return dispatch("pow", x, p)


def sqrt(x: Tensor) -> Tensor:
    """Return the square root of each element, rounded once."""
    return dispatch("sqrt", x)


# Functions of the library.


def exp(x: Tensor) -> Tensor:
    """Return e^x."""
    return dispatch("exp", x)


def expm1(x: Tensor) -> Tensor:
    """Return e^x − 1, accurate for small `x` too."""
    return dispatch("expm1", x)


def log(x: Tensor) -> Tensor:
    """Return the natural logarithm."""
    return dispatch("log", x)


def log1p(x: Tensor) -> Tensor:
    """Return ln(1 + x), accurate for small `x` too."""
    return dispatch("log1p", x)


def sin(x: Tensor) -> Tensor:
    """Return the sine of `x` in radians."""
    return dispatch("sin", x)


def cos(x: Tensor) -> Tensor:
    """Return the cosine of `x` in radians."""
    return dispatch("cos", x)


def tan(x: Tensor) -> Tensor:
    """Return the tangent of `x` in radians."""
    return dispatch("tan", x)


def asin(x: Tensor) -> Tensor:
    """Return the inverse sine in radians, from −π/2 to π/2."""
    return dispatch("asin", x)


def acos(x: Tensor) -> Tensor:
    """Return the inverse cosine in radians, from 0 to π."""
    return dispatch("acos", x)


def atan(x: Tensor) -> Tensor:
    """Return the inverse tangent in radians, from −π/2 to π/2."""
    return dispatch("atan", x)


def sinh(x: Tensor) -> Tensor:
    """Return the hyperbolic sine."""
    return dispatch("sinh", x)


def cosh(x: Tensor) -> Tensor:
    """Return the hyperbolic cosine."""
    return dispatch("cosh", x)


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return dispatch("tanh", x)


def asinh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine."""
    return dispatch("asinh", x)


def acosh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine."""
    return dispatch("acosh", x)


def atanh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent."""
    return dispatch("atanh", x)


def erf(x: Tensor) -> Tensor:
    """Return the error function 2/√π · ∫₀ˣ e^(−t²) dt; beyond the standard."""
    return dispatch("erf", x)


# Steps.


def sign(x: Tensor) -> Tensor:
    """Return −1, 0 or 1 by the sign of each element."""
    return dispatch("sign", x)


def floor(x: Tensor) -> Tensor:
    """Return the largest integer not above each element, in the type of `x`."""
    return dispatch("floor", x)


def ceil(x: Tensor) -> Tensor:
    """Return the smallest integer not below each element, in the type of `x`."""
    return dispatch("ceil", x)


def trunc(x: Tensor) -> Tensor:
    """Return each element without its fraction, in the type of `x`."""
    return dispatch("trunc", x)


def round(x: Tensor) -> Tensor:
    """Return the nearest integer, ties to even, in the type of `x`."""
    return dispatch("round", x)


# Comparisons and choice. Where errors leave an answer open, bounded numbers admit both.


def less(a: Operand, b: Operand) -> Booleans:
    """Return a < b."""
    return dispatch("less", a, b)


def less_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≤ b."""
    return dispatch("less_equal", a, b)


def greater(a: Operand, b: Operand) -> Booleans:
    """Return a > b."""
    return dispatch("greater", a, b)


def greater_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≥ b."""
    return dispatch("greater_equal", a, b)


def equal(a: Operand, b: Operand) -> Booleans:
    """Return a = b."""
    return dispatch("equal", a, b)


def not_equal(a: Operand, b: Operand) -> Booleans:
    """Return a ≠ b."""
    return dispatch("not_equal", a, b)


def isnan(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element that is NaN."""
    return cast(NDArray[np.bool_], dispatch("isnan", x))


def isinf(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element that is infinite."""
    return cast(NDArray[np.bool_], dispatch("isinf", x))


def isfinite(x: Operand) -> NDArray[np.bool_]:
    """Return True for each element that is neither infinite nor NaN."""
    return cast(NDArray[np.bool_], dispatch("isfinite", x))


def logical_not(x: Booleans) -> Booleans:
    """Return not x, for booleans."""
    return dispatch("logical_not", x)


def logical_and(a: Booleans, b: Booleans) -> Booleans:
    """Return a and b, for booleans."""
    return dispatch("logical_and", a, b)


def logical_or(a: Booleans, b: Booleans) -> Booleans:
    """Return a or b, for booleans."""
    return dispatch("logical_or", a, b)


def logical_xor(a: Booleans, b: Booleans) -> Booleans:
    """Return either a or b but not both, for booleans."""
    return dispatch("logical_xor", a, b)


def where(condition: Booleans, a: Operand, b: Operand) -> Tensor:
    """Return `a` where `condition` holds, else `b`."""
    return dispatch("where", condition, a, b)


def maximum(a: Operand, b: Operand) -> Tensor:
    """Return the larger element of two; NaN if one is."""
    return dispatch("maximum", a, b)


def minimum(a: Operand, b: Operand) -> Tensor:
    """Return the smaller element of two; NaN if one is."""
    return dispatch("minimum", a, b)


def clip(x: Tensor, low: Operand, high: Operand) -> Tensor:
    """Return min(max(x, low), high)."""
    return dispatch("clip", x, low, high)


def top_k(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Places]:
    """Return the `k` largest or smallest elements along `axis` in order, and their indices.

    Of equal elements the one with the lower index comes first; NaN counts as the largest. Beyond
    the standard.
    """
    return cast(tuple[Tensor, Places], dispatch("top_k", x, k, axis, largest))


# Reductions. An implementation may add and multiply in any order.


def sum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis`, in the type of `x`."""
    return dispatch("sum", x, axis=axis, keepdims=keepdims)


def mean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis` divided by the number of its elements; NaN of none."""
    return dispatch("mean", x, axis=axis, keepdims=keepdims)


def prod(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the product over `axis`, in the type of `x`."""
    return dispatch("prod", x, axis=axis, keepdims=keepdims)


def max(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the largest element over `axis`; NaN if there is one."""
    return dispatch("max", x, axis=axis, keepdims=keepdims)


def min(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over `axis`; NaN if there is one."""
    return dispatch("min", x, axis=axis, keepdims=keepdims)


def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Places:
    """Return the index of the first maximum along `axis`, of all elements if it is None.

    The first NaN counts as the maximum.
    """
    return dispatch("argmax", x, axis=axis, keepdims=keepdims)


def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Places:
    """Return the index of the first minimum along `axis`, of all elements if it is None.

    The first NaN counts as the minimum.
    """
    return dispatch("argmin", x, axis=axis, keepdims=keepdims)


def cumulative_sum(x: Tensor, axis: int = 0) -> Tensor:
    """Return the running sums along `axis`, in the shape of `x`."""
    return dispatch("cumulative_sum", x, axis=axis)


def cumulative_prod(x: Tensor, axis: int = 0) -> Tensor:
    """Return the running products along `axis`, in the shape of `x`."""
    return dispatch("cumulative_prod", x, axis=axis)


def matmul(a: Operand, b: Operand) -> Tensor:
    """Return the matrix product of the last two axes: (…, m, k) and (…, k, n) give (…, m, n)."""
    return dispatch("matmul", a, b)


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Return the sum of products over `axes`, as NumPy's function."""
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
    with errors and magnitudes too.
    """
    return dispatch("bilinear", a, b, product, terms, addend)


def sums(x: Tensor, add_up: Callable[[Any], Any], terms: int | NDArray[Any]) -> Tensor:
    """Return `add_up(x)`, each element of which is a sum of elements of `x`; beyond the standard.

    `terms`, an integer or an array that broadcasts to the output, is the number of these elements.
    """
    return dispatch("sums", x, add_up, terms)


# Movement, which rounds nothing.


def broadcast_to(x: Tensor, shape: Integers) -> Tensor:
    """Return `x` repeated along axes of length 1, and along new ones in front."""
    return dispatch("broadcast_to", x, shape)


def concat(arrays: Sequence[Operand], axis: int = 0) -> Tensor:
    """Return the arrays one after the other along an axis that they have."""
    return dispatch("concat", arrays, axis=axis)


def expand_dims(x: Tensor, axis: int | Integers) -> Tensor:
    """Return `x` with new axes of length 1, at these places of the result."""
    return dispatch("expand_dims", x, axis=axis)


def flip(x: Tensor, axis: Axes = None) -> Tensor:
    """Return `x` with the order of its elements reversed along `axis`."""
    return dispatch("flip", x, axis=axis)


def pad(
    x: Tensor,
    widths: int | Integers | Sequence[Sequence[int]],
    constant_values: float = 0,
) -> Tensor:
    """Return `x` with constants around it, as NumPy's function; beyond the standard."""
    return dispatch("pad", x, widths, constant_values=constant_values)


def permute_dims(x: Tensor, axes: Integers) -> Tensor:
    """Return `x` with its axes in the order `axes`."""
    return dispatch("permute_dims", x, axes=axes)


def reshape(x: Tensor, shape: int | Integers) -> Tensor:
    """Return the elements of `x` in another shape; one length may be −1, which is computed."""
    return dispatch("reshape", x, shape)


def squeeze(x: Tensor, axis: Axes = None) -> Tensor:
    """Return `x` without these axes, which have length 1."""
    return dispatch("squeeze", x, axis=axis)


def stack(arrays: Sequence[Operand], axis: int = 0) -> Tensor:
    """Return arrays of one shape side by side along a new axis."""
    return dispatch("stack", arrays, axis=axis)


def take(x: Tensor, index: Any, axis: int) -> Tensor:
    """Return the elements at `index`, of any shape, along `axis`."""
    return dispatch("take", x, index, axis=axis)


def take_along_axis(x: Tensor, index: Any, axis: int) -> Tensor:
    """Return the elements at `index`, which has the shape of `x` but along `axis`."""
    return dispatch("take_along_axis", x, index, axis=axis)


def tile(x: Tensor, repetitions: Integers) -> Tensor:
    """Return `x` repeated as a whole along each axis."""
    return dispatch("tile", x, repetitions)


# Creation and casts.


def full_like(x: Tensor, value: Any) -> Tensor:
    """Return a constant in the shape and type of `x`."""
    return dispatch("full_like", x, value)


def zeros_like(x: Tensor) -> Tensor:
    """Return zeros in the shape and type of `x`."""
    return dispatch("zeros_like", x)


def astype(x: Operand, dtype: Any, *, computes: bool = False) -> Tensor:
    """Return `x` in another type; floats that a formula makes of integers are of the kind in force.

    What follows is computed in float32 where that is a 16-bit type, as in all tensors of such
    types. It is computed in that type itself if it `computes`, as where the text requires it.
    """
    if isinstance(x, Kind):
        return cast(Tensor, x.kind().astype(x, dtype, computes=computes))
    return lifted(plain.astype(x, dtype))


# Errors of implementations, all beyond the standard. Plain numbers have none.


def inexact(x: Tensor, roundoffs: Any, deviation: Any = None) -> Tensor:
    """Return `x` with an error of `roundoffs` unit roundoffs for an implementation's own reasons.

    `deviation` is that of errors like these, in unit roundoffs of 1, where it is known. Both
    broadcast to the shape of `x`.
    """
    return dispatch("inexact", x, roundoffs, deviation)


def at_most_1(x: Tensor) -> Tensor:
    """Return `x`, numbers from 0 to 1 that no implementation computes as more than 1."""
    return dispatch("at_most_1", x)


def values_of(x: Tensor) -> NDArray[np.float64]:
    """Return the values of `x` in float64, as a plain array without errors."""
    return cast(NDArray[np.float64], dispatch("values_of", x))
