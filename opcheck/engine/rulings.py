"""Rulings that several operators share, and the functions that follow them.

A ruling of one operator stands in that operator's file. Here are those that come up in many texts:
what NaN is next to a number, where it stands in their order, on which side of a limit it lies, what
a flag means that is neither 0 nor 1, and what a negative axis or index means that no sentence
mentions (`axes.from_the_front` follows that on axes).

The functions take and return numbers of any kind, as `opcheck.numbers` has them, and broadcast.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.readings import Ruling
from opcheck.errors import reject
from opcheck.numbers import Operand, Tensor
from opcheck.numbers.faulty import seen

NAN_IN_MAXIMUM = Ruling(
    "nan-in-maximum",
    "The text does not define the maximum of NaN and a number.",
    ("nan", "number"),
    by_element=True,
)
NAN_IN_MINIMUM = Ruling(
    "nan-in-minimum",
    "The text does not define the minimum of NaN and a number.",
    ("nan", "number"),
    by_element=True,
)
NAN_ON_NO_SIDE = Ruling(
    "nan-on-no-side",
    "The text defines the function on either side of a limit, and NaN lies on neither.",
    ("nan", "zero"),
    by_element=True,
)
NAN_IN_ORDER = Ruling(
    "nan-in-order",
    "The text does not define where NaN stands in the order of numbers: above or below them all, "
    "or nowhere, so that no comparison with it is true.",
    ("largest", "smallest", "never_exceeded"),
)
NEGATIVE_AXIS = Ruling(
    "negative-axis",
    "The text of this version does not mention negative axes.",
    ("refused", "from_the_back"),
)
#: -1 is the default.
NEGATIVE_AXIS_BUT_THE_LAST = Ruling(
    NEGATIVE_AXIS.id,
    "The text of this version mentions no negative axis but -1.",
    ("from_the_back", "refused"),
)
NEGATIVE_INDEX = Ruling(
    "negative-index",
    "The text of this version mentions no negative index.",
    ("refused", "from_the_back"),
)
FLAG_OF_ANOTHER_NUMBER = Ruling(
    "flag-of-another-number",
    "The text states what a flag of 0 means, and of 1, and nothing of other numbers.",
    ("as_1", "as_0", "refused"),
)
ONE_ELEMENT_AS_A_SCALAR = Ruling(
    "one-element-as-a-scalar",
    "The text asks for a scalar, and does not state whether one element of shape [1] is one. "
    "ONNX's own function bodies pass such tensors.",
    ("scalar", "refused"),
)
ZERO_TIMES_NO_NUMBER = Ruling(
    "zero-times-no-number",
    "By the text's formula a coefficient of 0 makes NaN of infinity and NaN. Implementations, BLAS "
    "for one, leave out a term with such a coefficient, whatever it holds.",
    ("product", "left_out"),
)
LIMIT_AT_INFINITY = Ruling(
    "limit-at-infinity",
    "The formula makes NaN of an infinite input, where the function has a limit.",
    ("formula", "limit"),
    by_element=True,
)


def flag(name: str, value: int) -> bool:
    """Return True if a flag of this name is set: 1 is, and 0 is not.

    Another number is taken for 1, for 0, or refused: FLAG_OF_ANOTHER_NUMBER. Raises InvalidNode by
    the last reading.
    """
    if value in (0, 1):
        return value == 1
    reading = FLAG_OF_ANOTHER_NUMBER.reading()
    reject(reading == "refused", f"{name} {value}; allowed: 0 and 1")
    return reading == "as_1"


def has_nan(*operands: Any) -> bool:
    """Return True if an element of an operand is NaN; None and integers never are."""
    for operand in operands:
        if isinstance(operand, float):
            if operand != operand:
                return True
        elif _may_hold_nan(operand) and np.any(xp.isnan(operand)):
            return True
    return False


def _may_hold_nan(x: Any) -> bool:
    """Return True for a tensor of floating or complex numbers, of any width."""
    return hasattr(x, "dtype") and x.dtype.kind not in "biuOSU"


def maximum(x: Operand, y: Operand) -> Tensor:
    """Return the larger of two numbers; of NaN and a number, either one: NAN_IN_MAXIMUM."""
    if has_nan(x, y) and NAN_IN_MAXIMUM.reading() == "number":
        return xp.maximum(_number_of(x, y), _number_of(y, x))
    return xp.maximum(x, y)


def minimum(x: Operand, y: Operand) -> Tensor:
    """Return the smaller of two numbers; of NaN and a number, either one: NAN_IN_MINIMUM."""
    if has_nan(x, y) and NAN_IN_MINIMUM.reading() == "number":
        return xp.minimum(_number_of(x, y), _number_of(y, x))
    return xp.minimum(x, y)


def _number_of(x: Operand, other: Operand) -> Tensor:
    """Return `x`, and `other` where `x` is NaN; both broadcast."""
    return xp.where(xp.isnan(x), other, x)


def of_either_side(x: Tensor, y: Tensor) -> Tensor:
    """Return `y`, a function of `x` by its sides of a limit.

    Where x is NaN, it is NaN or 0: NAN_ON_NO_SIDE. x and y: of one shape.
    """
    if not has_nan(x):
        return y
    if NAN_ON_NO_SIDE.reading() == "zero":
        return xp.where(xp.isnan(x), xp.zeros_like(y), y)
    return xp.where(xp.isnan(x), x, y)


def with_limit(x: Tensor, y: Tensor, limit: Operand) -> Tensor:
    """Return `y`, a function of `x`; where the formula makes NaN of infinity, that or the limit.

    `limit` broadcasts to `y`: LIMIT_AT_INFINITY. Where y is not NaN, or x is not infinite, it
    stays.
    """
    if not np.any(xp.isinf(x)):
        return y
    is_made = xp.isnan(y) & xp.isinf(x)
    if np.any(is_made) and LIMIT_AT_INFINITY.reading() == "limit":
        return xp.where(is_made, limit, y)
    return y


def extremes_beside_nan(x: Tensor, axis: int, reading: str, *, largest: bool) -> NDArray[np.bool_]:
    """Return a mask of the largest or smallest elements along `axis`, by a reading of NAN_IN_ORDER.

    x: of any kind of numbers; the mask is plain, in its shape, and has all of equal extremes. If
    NaN is never exceeded, one that comes first stays the extreme, and any later one is passed over.
    In a row of NaN alone each is an extreme. Raises ValueError for an axis of length 0.
    """
    values = seen(x)
    is_nan = np.asarray(values != values, bool)
    worst = -np.inf if largest else np.inf
    choose = np.max if largest else np.min
    numbers = np.where(is_nan, np.full_like(values, worst), values)
    is_best = (numbers == choose(numbers, axis=axis, keepdims=True)) & ~is_nan
    if reading == "never_exceeded":
        is_first = np.zeros(is_nan.shape, bool)
        np.moveaxis(is_first, axis, 0)[:1] = True
        begins_with_nan = (is_nan & is_first).any(axis=axis, keepdims=True)
        return np.where(begins_with_nan, is_first, is_best)
    nan_is_best = (reading == "largest") == largest
    has_only_nan = is_nan.all(axis=axis, keepdims=True)
    takes_nan = is_nan.any(axis=axis, keepdims=True) if nan_is_best else has_only_nan
    return np.where(takes_nan, is_nan, is_best)
