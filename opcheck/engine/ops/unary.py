"""Functions of one tensor that round nothing, all versions.

Abs, BitwiseNot, Ceil, Floor, Identity, Neg, Not, Relu, Round, Sign.
"""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import family
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import has_nan, maximum
from opcheck.numbers import Array, Tensor
from opcheck.numbers.faulty import bare

NAMES = """Abs BitwiseNot Ceil Floor Identity Neg Not Relu Round Sign"""


LEAST_INTEGER = Ruling(
    "opposite-of-the-least-integer",
    "The type does not have the opposite of its least integer.",
    ("wraps", "saturates", "zero"),
    by_element=True,
)
SIGN_OF_NAN = Ruling(
    "sign-of-nan",
    "The text defines the sign of numbers above, below and equal to 0, and NaN is none of them.",
    ("nan", "zero", "one", "minus_one"),
    by_element=True,
)


def with_opposite_of_least(x: Tensor, y: Tensor) -> Tensor:
    """Return `y`, which is -x or |x|, with what becomes of the least integer: LEAST_INTEGER.

    That stays as it is, becomes the largest integer, or 0. Floats and unsigned integers have no
    such number.
    """
    if x.dtype.kind != "i":
        return y
    limits = np.iinfo(x.dtype)
    is_least = x == limits.min
    if not is_least.any():
        return y
    replacements = {"wraps": limits.min, "saturates": limits.max, "zero": 0}
    value = replacements[LEAST_INTEGER.reading()]
    replaced: Tensor = np.where(is_least, x.dtype.type(value), bare(y))
    return replaced


def absolute(X: Tensor) -> Tensor:
    """Return the absolute value of each element of any numeric type, Abs: "y = abs(x)".

    That of the least integer is itself, the largest integer or 0: LEAST_INTEGER. NaN stays NaN.
    """
    return with_opposite_of_least(X, xp.abs(X))


def negative(X: Tensor) -> Tensor:
    """Return the opposite of each element, Neg: "y = -x".

    That of the least integer is itself, the largest integer or 0: LEAST_INTEGER.
    """
    return with_opposite_of_least(X, xp.negative(X))


def bitwise_not(X: Array) -> Array:
    """Return the bits of X inverted, BitwiseNot: X has integers."""
    return ~X


def identity(input: Tensor) -> Tensor:
    """Return the input itself, Identity: of any type and shape."""
    return input


def relu(X: Tensor) -> Tensor:
    """Return the larger of 0 and each element, Relu: "y = max(0, x)".

    Of NaN that is NaN or 0: NAN_IN_MAXIMUM.
    """
    return maximum(X, 0)


def sign(input: Tensor) -> Tensor:
    """Return the sign of each element.

    "If input > 0, output 1. if input < 0, output -1. if input == 0, output 0." That of NaN is NaN,
    0, 1 or -1: SIGN_OF_NAN.
    """
    y = xp.sign(input)
    if not has_nan(input):
        return y
    replacements = {"zero": 0, "one": 1, "minus_one": -1}
    reading = SIGN_OF_NAN.reading()
    if reading == "nan":
        return y
    return xp.where(xp.isnan(input), xp.full_like(y, replacements[reading]), y)


OPERATORS = family(
    {
        "Abs": absolute,
        "BitwiseNot": bitwise_not,
        "Ceil": xp.ceil,
        "Floor": xp.floor,
        "Identity": identity,
        "Neg": negative,
        "Not": xp.logical_not,
        "Relu": relu,
        "Round": xp.round,
        "Sign": sign,
    },
    exact=True,
)


def cut_off(X: Tensor) -> Tensor:
    """Mutant of Floor and Ceil: rounded towards zero."""
    return xp.trunc(X)


for _name in ("Floor", "Ceil"):
    OPERATORS[_name].mutant("numbers were cut off towards zero")(cut_off)


@OPERATORS["Round"].mutant("1/2 was added, and the sum rounded down")
def half_added(X: Tensor) -> Tensor:
    """Mutant: halves are rounded up."""
    return xp.floor(X + X.dtype.type(0.5))


@OPERATORS["Round"].mutant("halves were rounded away from zero")
def half_added_to_the_magnitude(X: Tensor) -> Tensor:
    """Mutant: halves are rounded away from zero."""
    return xp.sign(X) * half_added(xp.abs(X))


@OPERATORS["Sign"].mutant("zero counted as positive")
def zero_is_positive(input: Tensor) -> Tensor:
    """Mutant: the sign of 0 is 1."""
    one = input * 0 + 1
    return xp.where(xp.less(input, 0), -one, one)
