"""Precise numbers: mpmath's, to as many binary digits as its context has.

They decide what a value rounds to. They have neither negative zero nor types: where a formula gives
0, an infinity or NaN, plain and bounded numbers decide.
"""

import math
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from mpmath import MPContext
from mpmath.libmp.libmpf import round_int
from numpy.typing import NDArray

from opcheck.dtypes import DType, limits
from opcheck.numbers.arithmetic import WORKING_DIGITS

Objects: TypeAlias = NDArray[np.object_]
#: A context of our own. Other users of mpmath keep their number of digits, and errors, which are
#: computed when first asked for, have ours.
_mp = MPContext()
_mp.prec = WORKING_DIGITS
_INF = _mp.mpf("inf")
_NAN = _mp.mpf("nan")
_is_finite = np.frompyfunc(_mp.isfinite, 1, 1)
_numbers = np.frompyfunc(_mp.convert, 1, 1)
#: The table of erf: it has so many places for each unit, up to the last, beyond which erf is 1 in
#: longdouble, and so many terms of the series at each.
_PLACES_A_UNIT = 16
_LAST_UNIT = 7
_TERMS = 19
#: Compute with so many binary digits, until the context ends.
digits: Callable[[int], AbstractContextManager[Any]] = _mp.workprec


def objects(x: Any) -> Objects:
    """Return plain numbers, an array or one, as mpmath's in an array of objects, exactly.

    The array has the shape of `x`. Infinities and NaN stay, −0 becomes 0, booleans become 0 and 1.
    mpmath's own numbers stay as they are. Raises TypeError for texts without a number.
    """
    array = np.asarray(x)
    if array.dtype.kind == "V":  # ml_dtypes
        array = array.astype(np.float64)
    with np.errstate(invalid="ignore"):  # NaN is a value like any other.
        return np.asarray(_numbers(array), object)


def longdoubles(x: Objects) -> NDArray[np.longdouble]:
    """Return mpmath's numbers within float64's range in longdouble, rounded in two steps.

    The float64 next to each, and what is left of it, are added up. NaN for infinities, and for
    numbers beyond that range.
    """
    high = x.astype(np.float64)
    return np.asarray(high.astype(np.longdouble) + (x - high).astype(np.float64))


@cache
def _series_of_erf() -> NDArray[np.longdouble]:
    """Return the Taylor coefficients of erf at 0, 1/16, 2/16 … 7, of shape (places, terms + 1).

    They are computed once, and the same array is returned each time.
    """
    rows = []
    with digits(WORKING_DIGITS):
        for place in range(_LAST_UNIT * _PLACES_A_UNIT + 1):
            x = _mp.mpf(place) / _PLACES_A_UNIT
            # The derivative is g = 2/√π·exp(−x²), and that of g is −2x·g.
            slopes = [_mp.mpf(0), 2 / _mp.sqrt(_mp.pi) * _mp.exp(-x * x)]
            for k in range(1, _TERMS):
                slopes.append(-2 * (x * slopes[k] + slopes[k - 1]) / k)
            rows.append([_mp.erf(x), *(slope / k for k, slope in enumerate(slopes[1:], 1))])
        return longdoubles(np.array(rows, object))


def erf_of_longdoubles(x: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    """Return the error function in the shape of `x`, to some 2⁻⁶³ of it.

    It is the Taylor series at the nearest multiple of 1/16 below |x|. ±1 from ±7 on, infinities
    included; NaN of NaN; −0 of −0.
    """
    size = np.minimum(np.abs(x), np.longdouble(_LAST_UNIT))
    place = np.where(np.isnan(x), 0, size * _PLACES_A_UNIT).astype(np.intp)
    h = size - place / np.longdouble(_PLACES_A_UNIT)
    series = _series_of_erf().T
    total: NDArray[np.longdouble] = series[-1][place]
    for coefficients in series[-2::-1]:
        total = total * h + coefficients[place]
    return np.asarray(np.copysign(total, x))


def finite(x: Objects) -> NDArray[np.bool_]:
    """Mask the numbers of mpmath that are neither infinite nor NaN, in their shape."""
    return np.asarray(_is_finite(x), np.bool_)


def rounded(x: Any, y: Any, bits: int, more_bits: int, dtype: DType, *, last: bool) -> float | None:
    """Return a number rounded once to `dtype`, to nearest, ties to even; None if it is uncertain.

    `x` and `y` are mpmath's: the number computed with `bits` binary digits, and with `more_bits`.
    If they agree in half of `bits`, half of the digits of y count as right; otherwise y is off by
    at most the distance of both. It is certain if all that it may be rounds to one number, and x is
    finite. If `last`, because no more digits are to be tried, a y that agrees with x, but is too
    near to a midpoint to be certain, is rounded to half of its digits first: so it counts as the
    midpoint.

    To an integer dtype, which holds it, y is certain if it equals x; a fraction is cut off, and the
    result is an int. NaN where y is infinite or NaN, for all dtypes, and an infinity for a finite
    number beyond a floating dtype's range.
    """
    if not _mp.isfinite(y):
        return float("nan")
    if dtype.kind == "int":
        return int(y) if x == y else None
    with digits(2 * more_bits):
        apart = _mp.fabs(y - x)
        size = _mp.fabs(y)
        confirmed = apart <= _mp.ldexp(size, -bits // 2)
        error = _mp.ldexp(size, -more_bits // 2) if confirmed else apart
        low = _nearest(y - error, dtype)
        high = _nearest(y + error, dtype)
    if low == high and _mp.isfinite(x):
        return low
    if not (last and confirmed):
        return None
    with digits(more_bits // 2):
        return _nearest(+y, dtype)


def _nearest(number: Any, dtype: DType) -> float:
    """Return the number of a floating `dtype` nearest to a finite one of mpmath's, ties to even.

    Infinite beyond the dtype's range; 0.0 or −0.0 for half the smallest subnormal number or less.
    """
    is_negative, mantissa, exponent, length = number._mpf_
    # How many of the last bits the dtype has no room for; all of a number below half its least.
    shift = max(length - dtype.precision, dtype.min_exponent - exponent)
    if shift > length:
        return 0.0
    if shift > 0:
        mantissa = round_int(mantissa, shift, "n")
        exponent = exponent + shift
    try:
        value = math.ldexp(mantissa, exponent)
    except OverflowError:
        value = math.inf
    if value > limits(dtype)[1]:
        value = math.inf
    return -value if is_negative else value


# Functions that mpmath lacks, or defines in another way.


def _absolute(x: Any) -> Any:
    """Return |x|, which mpmath calls otherwise."""
    return -x if x < 0 else x


def _quotient(a: Any, b: Any) -> Any:
    """Return a/b; of a division by 0, NaN for 0/0 or an infinity of the sign of a."""
    if b != 0:
        return a / b
    return _NAN if a == 0 else a * _INF


def _power(x: Any, p: Any) -> Any:
    """Return x^p, with IEEE's special cases (IEEE 754-2019, section 9.2.1) but for signs of 0.

    So x^0 and 1^p are 1, even for NaN; 0^p is +∞ for p < 0; and (−1)^±∞ is 1. A complex number for
    a negative base and a fraction as exponent.
    """
    if p == 0 or x == 1:
        return _mp.mpf(1)
    if p != p or x != x:
        return _NAN
    if x == 0:
        return _mp.mpf(0) if p > 0 else _INF
    if _mp.isinf(p) and x < 0:
        return _mp.mpf(1) if x == -1 else _power(-x, p)
    if _mp.isinf(x):
        is_odd = p % 2 == 1
        size = _INF if p > 0 else _mp.mpf(0)
        return -size if x < 0 and is_odd else size
    return _mp.power(x, p)


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder of a/b with the sign of b; NaN if a is infinite or NaN, or b is 0.

    If b is infinite, it is a itself, or b if a has the other sign.
    """
    if not _mp.isfinite(a) or b == 0:
        return _NAN
    if _mp.isinf(b):
        has_sign_of_b = (a >= 0) == (b > 0)
        return a if has_sign_of_b or a == 0 else b
    return a % b


def _fmod(a: Any, b: Any) -> Any:
    """Return the remainder of a/b with the sign of a; a itself if b is infinite.

    NaN if a is infinite or NaN, or b is 0.
    """
    sign = -1 if a < 0 else 1
    return sign * _remainder(abs(a), abs(b))


def _trunc(x: Any) -> Any:
    """Return x without its fraction; infinities stay."""
    return _mp.ceil(x) if x < 0 else _mp.floor(x)


def _maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers that are not NaN."""
    return a if a >= b else b


def _minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers that are not NaN."""
    return a if a <= b else b


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "negative": operator.neg,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _quotient,
    "pow": _power,
    "remainder": _remainder,
    "fmod": _fmod,
    "trunc": _trunc,
    "round": _mp.nint,  # ties to even
    "maximum": _maximum,
    "minimum": _minimum,
}


@cache
def of_objects(name: str) -> Callable[..., Any]:
    """Return the function `name` of arrays of mpmath's numbers, which broadcast as in NumPy.

    It is that of `_FUNCTIONS`, else mpmath's. It returns an array of objects, to the digits in
    force when it is called, and raises nothing of a number: it is NaN where the function of real
    numbers is not defined, and where an operand is NaN, but for NaN^0 and 1^NaN. Poles are
    infinite.

    Raises AttributeError if neither `_FUNCTIONS` nor mpmath has the function.
    """
    function = _FUNCTIONS.get(name) or getattr(_mp, name)

    def of_numbers(*operands: Any) -> Any:
        """Return the function of single numbers of mpmath; NaN where it has no real value."""
        if any(x != x for x in operands) and function is not _power:
            return _NAN
        try:
            value = function(*operands)
        except (ValueError, ZeroDivisionError):
            return _NAN
        return _NAN if isinstance(value, _mp.mpc) else value

    def of_arrays(*operands: Any) -> Objects:
        """Return the function of arrays, element by element, as an array also of rank 0."""
        # NumPy makes a single object of an array of rank 0.
        return np.asarray(np.frompyfunc(of_numbers, len(operands), 1)(*operands), object)

    return of_arrays
