"""Pow, all versions: its base decides in which type it is computed."""

from functools import partial

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.ops.arithmetic import each_version_of_pair
from opcheck.engine.undefined import undefined_where
from opcheck.numbers import Array

OP = operator("Pow", led=True)
versions = partial(each_version_of_pair, "Pow")
#: Powers of integers with floating exponents are sure up to here, as float32 holds them.
LARGEST_SURE = 2**24
#: The least distance from a whole number, relative to the power, that no rounding bridges.
SURE_DISTANCE = 2.0**-18


@OP.formula(build=versions)
def power(x: Array, y: Array) -> Array:
    """Return x^y in the type of `x`; x and y broadcast.

    Of floats, a fraction as exponent makes NaN of a negative x; x^0 and 1^y are 1, of NaN too. Of
    integers x the fraction is cut off, as casts do it, so that 2^-1 is 0. Of those alone some may
    be anything: powers that the type does not hold, 0 to a negative power, and powers of a floating
    y that rounding may decide. Raises NotSupported, while judging, if all are such, and in graphs.
    """
    if x.dtype.kind not in "iu":
        return xp.pow(x, y)
    return integer_power(x, y)


def integer_power(x: Array, y: Array) -> Array:
    """Return x^y of integers x in their type, its fraction cut off; x and y broadcast.

    y: integers or floats. Where the text does not define the result it may be anything: powers that
    the type of `x` does not hold, 0 to a negative power, with a floating y powers beyond 2^24 and
    NaN, and powers so near to a whole number that rounding may reach it. Raises NotSupported, while
    judging, if all are such, and in graphs.
    """
    is_whole = y.dtype.kind in "iu"
    exponent = y if is_whole else xp.values_of(y)
    exact = np.power(x.astype(np.longdouble), exponent.astype(np.longdouble))
    distance = np.abs(exact - np.rint(exact))
    # The 64th root of an integer of 64 bits is below 2, and no whole number but of 1: a power that
    # is exactly whole has an exponent that is a multiple of 1/32, or is only rounded to be whole.
    is_whole_power = (distance == 0) & ((exponent * 32 % 1 == 0) | (x == 1))
    low, high = dtypes.limits(dtypes.of(x)) if is_whole else (-LARGEST_SURE, LARGEST_SURE)
    is_held = (exact >= low) & (exact <= high)
    is_sure = is_whole_power | (distance >= SURE_DISTANCE * np.abs(exact))
    is_undefined = ~(is_held & is_sure)
    # Casts of numbers that are not held depend on the processor.
    powers = np.trunc(np.where(is_undefined, 0, exact)).astype(x.dtype)
    if is_whole:
        # Beyond 64 only the powers of 1, 0 and -1 are held; an odd exponent stays odd, for -1.
        times = np.clip(y, 0, 64 + y % 2).astype(x.dtype)
        powers = np.where(y >= 0, np.power(x, times), powers)
    return undefined_where(powers, is_undefined, "how powers are rounded")


@OP.alternative("with the exponent in the base's type", build=versions)
def power_in_one_type(x: Array, y: Array) -> Array:
    """Return x^y in the type of `x`; x and y broadcast.

    If x is a float, y of another type is rounded to x's first. Of integers x it is `power` itself:
    y rounded would turn 9^0.5 into 9^0. Of those, raises NotSupported, while judging, if all powers
    may be anything, and in graphs.
    """
    if x.dtype.kind in "iu" or x.dtype == y.dtype:
        return power(x, y)
    # Rounded, and not with an error: only of whole numbers does a negative base have powers.
    return xp.pow(x, xp.lifted(xp.values_of(y).astype(x.dtype)))


@OP.alternative("where powers are products of many factors", build=versions)
def power_by_products(x: Array, y: Array) -> Array:
    """Return x^y in the type of `x`, with the errors of |y| factors where y is a whole number.

    The values are those of `power`; of floats each product adds a rounding to the error. Of
    integers, raises NotSupported, while judging, if all powers may be anything, and in graphs.
    """
    if x.dtype.kind in "iu":
        return power(x, y)
    times = xp.values_of(y)
    return xp.inexact(power(x, y), np.where(times % 1 == 0, np.abs(times), 0))
