"""Precise numbers: mpmath's, to as many binary digits as its context says.

They decide what a value rounds to. They know neither negative zero nor types: where a formula gives
0, an infinity or NaN, plain and bounded numbers tell more.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from mpmath import MPContext
from mpmath.libmp.libmpf import round_int
from numpy.typing import NDArray

from opcheck.dtypes import DType, limits
from opcheck.numbers.arithmetic import WORKING_DIGITS

Objects: TypeAlias = NDArray[np.object_]
#: A context of our own: whoever else computes with mpmath keeps their number of digits, and errors,
#: which are computed when somebody asks, have ours.
_mp = MPContext()
_mp.prec = WORKING_DIGITS
_INF, _NAN = _mp.mpf("inf"), _mp.mpf("nan")
_is_finite = np.frompyfunc(_mp.isfinite, 1, 1)
_numbers = np.frompyfunc(_mp.convert, 1, 1)
#: Compute with so many binary digits, until the context ends.
digits: Callable[[int], AbstractContextManager[Any]] = _mp.workprec


def objects(x: Any) -> Objects:
    """Plain numbers as mpmath's, exactly."""
    array = np.asarray(x)
    if array.dtype.kind == "V":  # ml_dtypes
        array = array.astype(np.float64)
    with np.errstate(invalid="ignore"):  # NaN is a value like any other.
        return np.asarray(_numbers(array), object)


def longdoubles(x: Objects) -> NDArray[np.longdouble]:
    """mpmath's numbers within float64's range in longdouble, rounded in two steps."""
    high = x.astype(np.float64)
    return np.asarray(high.astype(np.longdouble) + (x - high).astype(np.float64))


@cache
def _series_of_erf() -> NDArray[np.longdouble]:
    """The Taylor coefficients of erf at 0, 1/16, 2/16 … 7, beyond which it is 1."""
    found = []
    with digits(WORKING_DIGITS):
        for place in range(7 * 16 + 1):
            x = _mp.mpf(place) / 16
            # The derivative is g = 2/√π·exp(−x²), and that of g is −2x·g.
            slopes = [_mp.mpf(0), 2 / _mp.sqrt(_mp.pi) * _mp.exp(-x * x)]
            for k in range(1, 19):
                slopes.append(-2 * (x * slopes[k] + slopes[k - 1]) / k)
            found.append([_mp.erf(x), *(slope / k for k, slope in enumerate(slopes[1:], 1))])
        return longdoubles(np.array(found, object))


def erf_of_longdoubles(x: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    """The error function, to some 2⁻⁶³ of it."""
    size = np.minimum(np.abs(x), np.longdouble(7))
    place = np.where(np.isnan(x), 0, size * 16).astype(np.intp)
    h, series = size - place / np.longdouble(16), _series_of_erf().T
    total: NDArray[np.longdouble] = series[-1][place]
    for coefficients in series[-2::-1]:
        total = total * h + coefficients[place]
    return np.asarray(np.copysign(total, x))


def finite(x: Objects) -> NDArray[np.bool_]:
    """Mask finite numbers of mpmath."""
    return np.asarray(_is_finite(x), np.bool_)


def rounded(x: Any, y: Any, bits: int, more: int, dtype: DType, *, last: bool) -> float | None:
    """A number rounded once to a dtype, to nearest, ties to even; None where that is not certain.

    It was computed as `x` with `bits` binary digits and as `y` with `more`. Half of the digits of y
    count as right if it confirms half of those of x. If these are the `last` digits, what they do
    not tell from a midpoint of two numbers is that midpoint. NaN where it is infinite or NaN.
    """
    if not _mp.isfinite(y):
        return float("nan")
    with digits(2 * more):
        apart, size = _mp.fabs(y - x), _mp.fabs(y)
        confirmed = apart <= _mp.ldexp(size, -bits // 2)
        error = _mp.ldexp(size, -more // 2) if confirmed else apart
        low, high = (_nearest(y + sign * error, dtype) for sign in (-1, 1))
    if low == high and _mp.isfinite(x):
        return low
    if not (last and confirmed):
        return None
    with digits(more // 2):
        return _nearest(+y, dtype)


def _nearest(number: Any, dtype: DType) -> float:
    sign, mantissa, exponent, length = number._mpf_
    # How many of the last bits the dtype has no room for; all of a number below half its least.
    shift = max(length - dtype.precision, dtype.min_exponent - exponent)
    if shift > length:
        return 0.0
    if shift > 0:
        mantissa, exponent = round_int(mantissa, shift, "n"), exponent + shift
    try:
        value = math.ldexp(mantissa, exponent)
    except OverflowError:
        value = math.inf
    value = value if value <= limits(dtype)[1] else math.inf
    return -value if sign else value


def _real(function: Callable[..., Any], *operands: Any) -> Any:
    """NaN where a function of real numbers is not defined."""
    if any(x != x for x in operands) and function is not _power:
        return _NAN
    try:
        found = function(*operands)
    except (ValueError, ZeroDivisionError):
        return _NAN
    return _NAN if isinstance(found, _mp.mpc) else found


def _power(x: Any, p: Any) -> Any:
    if p == 0 or x == 1:
        return _mp.mpf(1)
    if p != p or x != x:
        return _NAN
    if x == 0:
        return _mp.mpf(0) if p > 0 else _INF
    if _mp.isinf(p) and x < 0:
        return _mp.mpf(1) if x == -1 else _power(-x, p)
    if _mp.isinf(x):
        return (-1 if x < 0 and p % 2 == 1 else 1) * (_INF if p > 0 else _mp.mpf(0))
    return _mp.power(x, p)


def _remainder(a: Any, b: Any) -> Any:
    if not _mp.isfinite(a) or b == 0:
        return _NAN
    if _mp.isinf(b):
        return a if (a >= 0) == (b > 0) or a == 0 else b
    return a % b


#: Functions that mpmath has not, or not so.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": lambda x: -x if x < 0 else x,
    "negative": lambda x: -x,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b != 0 else _NAN if a == 0 else a * _INF,
    "pow": _power,
    "remainder": _remainder,
    "fmod": lambda a, b: (-1 if a < 0 else 1) * _remainder(abs(a), abs(b)),
    "trunc": lambda x: _mp.ceil(x) if x < 0 else _mp.floor(x),
    "round": _mp.nint,  # ties to even
    "maximum": lambda a, b: a if a >= b else b,
    "minimum": lambda a, b: a if a <= b else b,
}


@cache
def of_objects(name: str) -> Callable[..., Any]:
    """The function `name` of arrays of mpmath's numbers."""
    one = partial(_real, _FUNCTIONS.get(name) or getattr(_mp, name))
    # NumPy makes a single object of an array of rank 0.
    return lambda *operands: np.asarray(np.frompyfunc(one, len(operands), 1)(*operands), object)
