"""Functions of a library of bounded numbers, and powers.

A function of x̂ lies between its least and its greatest value on the interval x ± e, and is good to
as many units in the last place as the arithmetic states (`arithmetic.LIBRARY`). docs/bounds.md
derives the rules.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import (
    Bounded,
    Common,
    Errors,
    Floats,
    Lost,
    Reals,
    is_finite,
    magnitude_of,
)
from opcheck.numbers.bounded.elementwise import (
    Bound,
    add_present,
    anything_where,
    real_function,
    result,
    union,
    with_vanished,
)

_Function: TypeAlias = Callable[[Reals], Reals]
#: Errors of an exponent up to which those of the exponential count as common ones.
_LARGE_EXPONENT_ERROR = 40.0
#: Errors of an exponent below which e^δ − 1 ≤ δ·(1 + δ); this holds up to 1.79.
_SMALL_EXPONENT_ERROR = 0.5
#: The largest slope of erf, 2/√π, rounded up.
_SLOPE_OF_ERF = 1.1284
#: Half of the distance between poles of the tangent, π/2, rounded down.
_HALF_OF_PERIOD = 1.5
#: A square root halves relative errors, up to second-order terms.
_SHARE_OF_ROOT = 0.49
#: A power p multiplies relative errors by p, up to second-order terms; p counts up to the limit.
_SHARE_OF_POWER = 0.9
_LARGE_POWER = 1e3
#: Powers that NumPy takes several times as long for as a root or two products.
_ROOT = 0.5
_CUBE = 3

#: Takes function, x, v and e: the values' function, its arguments with their last roundings, v =
#: function(x) and how far the arguments may be off. Returns a bound on the error of v, without its
#: own rounding, and the lost elements; None for none.
_ErrorRule: TypeAlias = Callable[[_Function, Bounded, Reals, Floats], tuple[Bound, Lost | None]]


def exp(x: Bounded) -> Bounded:
    """Return e^x. An error of the argument is a relative one of the result: e^(x+t) = e^x·e^t.

    It is 0 of −∞, ∞ of ∞ and where e^x is beyond the values' own type (`value_dtypes()`). An
    absolute error that arguments have in common becomes a relative one in common. Results are never
    negative.
    """
    accuracy = x.arithmetic.accuracy("exp")
    function = real_function("exp")
    v = function(x.v)

    def errors() -> Errors:
        """Return the errors that come of the arguments', and of reducing these."""
        old = x.with_rounding()
        e, common = _exponentials_in_common(old.e, x.errors.shift)
        e = _with_argument_error(e, old, accuracy.argument)
        lost = None
        if e is not None:
            e, lost = _error_of_exponential(function, old, v, e)
        e = with_vanished(v, e, lambda: is_finite(old.v))
        return Errors(e, _variance_of_image(function, old.v, v, old.q), lost, common)

    return result(
        v,
        x,
        errors,
        k=2 * accuracy.ulp,
        nonnegative=True,
        may_share_error=x.may_share_error,
    )


def sqrt(x: Bounded) -> Bounded:
    """Return the square root, rounded once; NaN below 0, −0 of −0.

    An element is lost if its argument has an error and may be below 0, unless `x` is
    `never_negative`: any number, an infinity or NaN may stand there. Its error is infinite then,
    and its value stays.
    """
    function = real_function("sqrt")
    v = function(x.v)
    least = 0.0 if x.never_negative() else -np.inf

    def error_of_root(
        function: _Function, old: Bounded, v: Reals, e: Floats
    ) -> tuple[Bound, Lost | None]:
        """Return the error of v = √(x ± e), and the lost elements: an `_ErrorRule`."""
        return _error_of_interval(function, old, v, arrays.errors_around(old.v, e), least=least)

    return result(
        v,
        x,
        lambda: _errors_of_function("sqrt", x, v, error_of_root),
        min_relative_error=_SHARE_OF_ROOT * x.min_total_relative_error,
        nonnegative=True,
    )


def log(x: Bounded) -> Bounded:
    """Return the natural logarithm; −∞ of 0, NaN below 0.

    The errors are those of `x.for_logarithm`, if there is one: the same sum with smaller errors. An
    element is lost if its argument has an error and may be 0 or less: any number, an infinity or
    NaN may stand there. Its error is infinite then, and its value stays. Where `x` is
    `never_negative`, an end of the argument below 0 does not count, and the error is that of the
    other end.
    """
    return _rising("log", x if x.for_logarithm is None else x.for_logarithm)


def expm1(x: Bounded) -> Bounded:
    """Return e^x − 1; −1 of −∞, and ∞ where e^x is beyond the dtype of the values."""
    return _rising("expm1", x)


def log1p(x: Bounded) -> Bounded:
    """Return ln(1 + x); −∞ of −1, NaN below −1.

    An element is lost if its argument has an error and may be −1 or less: any number, an infinity
    or NaN may stand there. Its error is infinite then, and its value stays.
    """
    return _rising("log1p", x)


def sin(x: Bounded) -> Bounded:
    """Return the sine; NaN of infinities. Its slope is at most 1, so that errors do not grow."""
    return _library("sin", x, _error_by_slope_1)


def cos(x: Bounded) -> Bounded:
    """Return the cosine; NaN of infinities. Its slope is at most 1, so that errors do not grow."""
    return _library("cos", x, _error_by_slope_1)


def tan(x: Bounded) -> Bounded:
    """Return the tangent; NaN of infinities.

    An element is lost (an infinity or NaN may stand there), with an infinite error, if a pole may
    be between its argument's ends.
    """
    return _library("tan", x, _error_of_tan)


def asin(x: Bounded) -> Bounded:
    """Return the inverse sine; NaN beyond [−1, 1].

    An element whose argument has an error and may be beyond is lost: NaN may stand there, and its
    own error is infinite.
    """
    return _rising("asin", x)


def acos(x: Bounded) -> Bounded:
    """Return the inverse cosine; NaN beyond [−1, 1].

    An element whose argument has an error and may be beyond is lost: NaN may stand there, and its
    own error is infinite.
    """
    return _rising("acos", x)


def atan(x: Bounded) -> Bounded:
    """Return the inverse tangent; ±π/2 of infinities."""
    return _rising("atan", x)


def sinh(x: Bounded) -> Bounded:
    """Return the hyperbolic sine; infinite of infinities and beyond the values' own type."""
    return _rising("sinh", x)


def cosh(x: Bounded) -> Bounded:
    """Return the hyperbolic cosine; ∞ of infinities and beyond the values' own type."""
    return _library("cosh", x, _error_of_cosh)


def tanh(x: Bounded) -> Bounded:
    """Return the hyperbolic tangent; ±1 of infinities."""
    return _rising("tanh", x)


def asinh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic sine; infinities of infinities."""
    return _rising("asinh", x)


def acosh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic cosine; NaN below 1.

    An element whose argument has an error and may be below 1 is lost: NaN may stand there, and its
    own error is infinite.
    """
    return _rising("acosh", x)


def atanh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic tangent; infinities of ±1, NaN beyond.

    An element whose argument has an error and may be ±1 or beyond is lost: an infinity or NaN may
    stand there, and its own error is infinite.
    """
    return _rising("atanh", x)


def erf(x: Bounded) -> Bounded:
    """Return the error function; ±1 of infinities."""
    return _library("erf", x, _error_of_erf)


def _rising(name: str, x: Bounded) -> Bounded:
    """Return what a function that rises or falls wherever it is defined has at `x`.

    `name` is the function's in the array API. NaN where it is not defined. An element is lost (an
    infinity or NaN may stand there), and its error infinite, where an end of its argument leaves
    the function's domain, or has an infinite value.
    """
    return _library(name, x, _error_of_rising)


def _library(name: str, x: Bounded, rule: _ErrorRule) -> Bounded:
    """Return a function of the library, good to as many ULP as the arithmetic states.

    A unit in the last place is up to 2·u, so that k is twice as many. `name` is that of the array
    API; `rule` returns the error that comes of the argument's, and the lost elements (those that
    may be infinite or NaN), and is called when errors are asked for. NaN where the function is not
    defined.
    """
    v = real_function(name)(x.v)
    accuracy = x.arithmetic.accuracy(name)
    return result(v, x, lambda: _errors_of_function(name, x, v, rule), k=2 * accuracy.ulp)


def _errors_of_function(name: str, x: Bounded, v: Reals, rule: _ErrorRule) -> Errors:
    """Return the errors of a function's values `v` that come of those of its arguments, by `rule`.

    What reducing the arguments adds is among these; the function's own `ulp` is not: it is the last
    rounding. `rule` is not called if no argument has an error.
    """
    function = real_function(name)
    old = x.with_rounding()
    e = _with_argument_error(old.e, old, x.arithmetic.accuracy(name).argument)
    lost = None
    if e is not None:
        e, lost = rule(function, old, v, e)
    return Errors(e, _variance_of_image(function, old.v, v, old.q), lost)


def _with_argument_error(e: Bound, x: Bounded, roundoffs: float) -> Bound:
    """Return the errors `e` of arguments `x`, and so many roundoffs of each on top.

    A function's reduction of its argument brings these. `e` itself, which may be None, if
    `roundoffs` is 0. Otherwise 0 for infinities and NaN.
    """
    if not roundoffs:
        return e
    total: Floats = add_present(e, magnitude_of(x.v) * (roundoffs * x.arithmetic.u))
    if np.isfinite(total).all():
        return total
    return np.where(is_finite(x.v), total, 0.0)


def _exponentials_in_common(e: Bound, shift: Common | None) -> tuple[Bound, Common | None]:
    """Return what is left of errors without the common `shift`, and the exponentials' common error.

    e^(x+t) = e^x·e^t, so that an error t that arguments have in common is a factor that results
    have in common, from e^−t to e^t. Where t is 40 or more, it stays in `e`. Without errors or a
    `shift`, `e` as it is and None.
    """
    if shift is None or e is None:
        return e, None
    together = np.where(shift.up < _LARGE_EXPONENT_ERROR, shift.up, 0.0)
    factor = np.expm1(together)
    return np.maximum(e - together, 0.0), Common(factor, factor, shift.group)


def _error_of_exponential(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = exp(x ± e), and the lost elements: an `_ErrorRule`.

    For errors δ of x below 0.5, exp(δ) − 1 ≤ δ·(1 + δ). If any is 0.5 or more, or an argument is
    lost (it may be infinite or NaN), all are distances to the exponentials of x − e and x + e. None
    for no lost element.
    """
    if x.lost is None and e.max(initial=0) < _SMALL_EXPONENT_ERROR:
        return magnitude_of(v) * (e * (1 + e)), None
    return _error_of_interval(function, x, v, e)


def _error_of_rising(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = function(x ± e), and the lost elements: an `_ErrorRule`.

    The function is monotone, so that its extremes are at the interval's ends. An element is lost
    (an infinity or NaN may stand there), and its error infinite, where an end leaves the function's
    domain or has an infinite value. It is lost too where its argument is, unless the function of an
    infinity is finite. None for no lost element.
    """
    return _error_of_interval(function, x, v, arrays.errors_around(x.v, e))


def _error_by_slope_1(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = function(x ± e), and the lost elements: an `_ErrorRule`.

    The slope is at most 1, so that the error is at most e (mean value theorem). Elements whose
    argument is lost are so, at the level `ANYTHING` (NaN or any infinity may stand there); None for
    none. No error of infinities and NaN.
    """
    lost = anything_where(x.lost, lambda: True)
    return np.where(is_finite(x.v), e * 1.0, 0.0), lost


def _error_of_erf(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = erf(x ± e), and the lost elements: an `_ErrorRule`.

    It is e times the largest slope (mean value theorem), 2/√π·e^(−t²) for the t of the interval
    nearest to 0. To compute erf at the ends takes much longer; it is done for all if an argument is
    lost, and so may be infinite or NaN. No error of infinities and NaN. None for no lost element.
    """
    if x.lost is not None:
        return _error_of_interval(function, x, v, e)
    nearest = np.maximum(magnitude_of(x.v) - e, 0.0)
    slope = _SLOPE_OF_ERF * np.exp(-(nearest**2))
    return np.where(is_finite(x.v), e * slope, 0.0), None


def _error_of_cosh(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = function(x ± e), and the lost elements: an `_ErrorRule`.

    The function is cosh, which turns at 0: its extremes are at the interval's ends, or there. An
    element is lost (an infinity or NaN may stand there), and its error infinite, where an end has
    an infinite value. It is lost too where its argument is. None for no lost element.
    """
    return _error_of_interval(function, x, v, e, turn=0.0)


def _error_of_tan(
    function: _Function, x: Bounded, v: Reals, e: Floats
) -> tuple[Bound, Lost | None]:
    """Return the error of v = tan(x ± e), and the lost elements: an `_ErrorRule`.

    The tangent rises from one pole to the next, π farther on. So a pole is between the ends if the
    tangent falls from one to the other, and may be if e is 1.5 or more. There an element is lost,
    and its error infinite. None for no lost element.
    """
    e = arrays.errors_around(x.v, e)
    error, lost = _error_of_interval(function, x, v, e)
    falls = function(x.v + e) < function(x.v - e)
    has_pole = np.asarray(falls | (e >= _HALF_OF_PERIOD), np.bool_)
    if not has_pole.any():
        return error, lost
    return np.where(has_pole, np.inf, error), union(lost, has_pole * arrays.ANYTHING)


def _error_of_interval(
    function: _Function,
    x: Bounded,
    v: Reals,
    e: Any,
    *,
    least: float = -np.inf,
    turn: float | None = None,
) -> tuple[Floats, Lost | None]:
    """Return the largest distance of function(x ± e) from v = function(x), and the lost elements.

    The function takes its extremes at the ends of an interval (*interval extension*), or at its
    `turn`, None for none. If x is not below `least`, no implementation's argument is. An element
    is lost, and its error infinite, where an end leaves the function's domain or has an infinite
    value; None for no lost element. But an end at 0 or below that leaves the domain does not count
    where x is never negative: an element whose argument may be flushed to 0 is lost if the function
    is infinite there, with the error of the other end. There is no error where `e` is 0 or x is
    infinite or NaN.

    An `x` that is lost may be infinite or NaN in an implementation, and the element stays lost.
    But where the function of that infinity is a finite number, the element is not lost; in
    arithmetic that flushes small results to 0, the error reaches this number.
    """
    low = x.v - e
    high = x.v + e
    if least > -np.inf:
        low = np.where((low < least) & (x.v >= least), least, low)
    # NaN where the interval leaves the function's domain, which no square does below 0.
    at_low = magnitude_of(function(low) - v)
    lost_at_0: Lost | None = None
    if x.never_negative():
        lost_at_0 = _lost_at_0(function, v, x)
        at_low = np.where((low <= 0) & ~np.isfinite(at_low), 0.0, at_low)
    error = np.maximum(magnitude_of(function(high) - v), at_low)
    if turn is not None:
        at_turn = magnitude_of(function(np.full((), turn, x.v.dtype)) - v)
        error = np.where((low <= turn) & (turn <= high), np.maximum(error, at_turn), error)
    certain = (e == 0) | ~is_finite(x.v)
    error = np.where(certain, 0.0, error)
    unknown = ~np.isfinite(error) | (~is_finite(v) & ~certain)
    lost = union(lost_at_0, unknown * arrays.ANYTHING if unknown.any() else None)
    error = np.where(unknown, np.inf, error)
    if x.lost is None:
        return error, lost
    return _with_images_of_lost(function, x, v, error, lost)


def _lost_at_0(function: _Function, v: Reals, x: Bounded) -> Lost | None:
    """Return the lost elements of v = function(x), whose arguments may be flushed to 0.

    That is if the function is infinite there. `x` is never negative. None if the function is finite
    at 0, or no argument above 0 is below the floor of arithmetic that flushes.
    """
    if not x.arithmetic.flushes:
        return None
    may_be_0 = (x.v > 0) & (magnitude_of(x.v) < x.arithmetic.floor)
    if not may_be_0.any():
        return None
    at_0 = np.asarray(function(np.full((), 0.0, v.dtype)))
    if not np.isinf(at_0.astype(np.float64)):
        return None
    level = np.where(at_0 * v > 0, arrays.OVERFLOWED, arrays.ANYTHING)
    return np.where(may_be_0, level, 0)


def _with_images_of_lost(
    function: _Function, x: Bounded, v: Reals, error: Floats, lost: Lost | None
) -> tuple[Floats, Lost | None]:
    """Return errors and lost elements of v = function(x), with those of lost arguments.

    Lost arguments, of which `x` has some, may be infinite or NaN in an implementation; `error` and
    `lost`, None for none, are the errors and lost elements without them. An element is lost, at its
    argument's level, where the function of an infinite end is not finite; as `ANYTHING` where that
    has not the sign of v. Where it is finite, the error reaches it in arithmetic that flushes, and
    the element is lost only if the argument may be NaN, as `UNORDERED`.
    """
    images = [function(end) for end in x.ends(far=True)]
    away = np.max([magnitude_of(image - v) for image in images], axis=0)
    assert x.lost is not None
    is_far = ~np.isfinite(away)
    may_be_nan = x.lost > arrays.OVERFLOWED
    if x.arithmetic.flushes:
        reached = np.maximum(error, np.where(x.lost > 0, away, 0.0))
        error = np.where(is_far | may_be_nan, error, reached)
    is_turned = np.any([image * v < 0 for image in images], axis=0)
    of_far = np.where(is_turned & (x.lost > 0), arrays.ANYTHING, x.lost)
    of_nan = np.where(may_be_nan, arrays.UNORDERED, 0)
    return error, union(lost, np.where(is_far, of_far, of_nan))


def _variance_of_image(function: _Function, x: Reals, v: Reals, q: Bound) -> Bound:
    """Return the variance of v = function(x), where x has the variance q; None if q is None.

    It is the square of the function's change over one deviation √q of x, up or down, the larger one
    (delta method). A change that is NaN does not count; 0 where it is infinite.
    """
    if q is None:
        return None
    deviation = np.sqrt(q)
    ahead = magnitude_of(function(x + deviation) - v)
    behind = magnitude_of(function(x - deviation) - v)
    step = np.fmax(ahead, behind)
    return np.where(np.isfinite(step) & (q > 0), step, 0.0) ** 2


# Powers.


def pow(x: Any, p: Any) -> Bounded:
    """Return x^p by a library function, or by exp(p·ln x), whose errors grow with |p·ln x|.

    x^0 and 1^p are 1 even for NaN; a fraction as power of x < 0 gives NaN. Where the errors of the
    operands reach infinities or NaN, the element is lost, with an infinite error. It is lost too
    where an operand is. One of both may be a plain number or array. Raises ValueError for shapes
    that do not broadcast.
    """
    x, p = arrays.both_bounded(x, p)
    v = _power_values(x.v, p.v)
    smallest_power = 0.0
    if p.exact:
        smallest_power = float(np.min(magnitude_of(p.v), initial=np.inf))
    share = _SHARE_OF_POWER * min(smallest_power, _LARGE_POWER)
    is_even = p.exact and bool(np.asarray(p.v % 2 == 0).all())
    return result(
        v,
        x,
        lambda: _errors_of_power(x, p, v),
        k=2 * x.arithmetic.accuracy("pow").ulp,
        min_relative_error=share * x.min_total_relative_error,
        nonnegative=is_even or x.never_negative(),
    )


def _power_values(x: Reals, p: Reals) -> Reals:
    """Return the values of x^p, by a root or by products where these are faster.

    That is so for a `p` of rank 0 that is 1 or 3, or 1/2 if no x is below 0, of values that are not
    mpmath's. For 1 it is `x` itself, not a copy.
    """
    values: Reals
    if p.ndim or x.dtype == object:
        values = real_function("pow")(x, p)
        return values
    power = float(p)
    # Below 0 NumPy's power may be another than the root.
    if power == _ROOT and (x >= 0).all():
        values = np.sqrt(x)
    elif power == 1:
        values = x
    elif power == _CUBE:
        values = x * x * x
    else:
        values = real_function("pow")(x, p)
    return values


def _errors_of_power(x: Bounded, p: Bounded, v: Reals) -> Errors:
    """Return the errors of v = x^p: those that come of its operands, and of a rounded p·ln x.

    Where a corner of both intervals has an infinite power or NaN, the error is infinite and the
    element lost (an infinity or NaN may stand there), as where an operand is. The variance of `p`
    does not count.
    """
    base = x.with_rounding()
    power = p.with_rounding()
    size = magnitude_of(v)
    e = _error_of_rounded_exponent(base, power, size)
    lost: Lost | None = None
    if base.e is not None or power.e is not None:
        spread, lost = _spread_of_power(base, power, v)
        e = np.where(np.isfinite(spread), e, 0.0) + spread
    bound = with_vanished(v, np.where(is_finite(v), e, 0.0), lambda: base.v != 0)
    q = None
    if base.q is not None:
        slope = np.where(base.v != 0, magnitude_of(power.v) * size / magnitude_of(base.v), 0.0)
        q = np.where(np.isfinite(slope), slope, 0.0) ** 2 * base.q
    return Errors(bound, q, union(base.lost, power.lost, lost))


def _error_of_rounded_exponent(x: Bounded, p: Bounded, size: Floats) -> Floats:
    """Return the error of powers of this size, |x^p|, if p·ln x was rounded before the exponential.

    A relative error δ of p·ln x, the arithmetic's `argument` of "pow", makes e^(|p·ln x|·δ) − 1 of
    the result. 0 where p·ln x is not finite.
    """
    roundoff = x.arithmetic.accuracy("pow").argument * x.arithmetic.u
    logarithm = np.abs(np.log(magnitude_of(x.v)))
    finite = np.isfinite(logarithm) & is_finite(p.v)
    exponent = np.where(finite, logarithm, 0.0) * np.where(finite, magnitude_of(p.v), 0.0)
    return np.where(size > 0, size * np.expm1(roundoff * exponent), 0.0)


def _spread_of_power(x: Bounded, p: Bounded, v: Reals) -> tuple[Floats, Lost | None]:
    """Return the largest distance of (x ± e)^(p ± e) from v, and the lost elements.

    A power is monotone in either operand, so that its extremes are at the corners of both
    intervals. An x that is never negative is not followed below 0. The distance is infinite, and
    the element lost (an infinity or NaN may stand there), where v is finite, and a corner is not or
    a negative power has its pole between them. None for no lost element.
    """
    power = real_function("pow")
    x_error = np.zeros(()) if x.e is None else arrays.errors_around(x.v, x.e)
    low = x.v - x_error
    high = x.v + x_error
    if x.never_negative():
        low = np.where((x.v >= 0) & (low < 0), low * 0, low)
    exponents = [p.v]
    if p.e is not None:
        p_error = arrays.errors_around(p.v, p.e)
        exponents = [p.v - p_error, p.v + p_error]
    corners = [power(base, exponent) for base in (low, high) for exponent in exponents]
    spread = np.max([magnitude_of(corner - v) for corner in corners], axis=0)
    # A negative power has a pole at 0, between ends of both signs.
    has_pole = np.asarray((low < 0) & (high > 0) & (exponents[0] < 0), np.bool_)
    spread = np.where(has_pole, np.inf, spread)
    unknown = ~np.isfinite(spread) & is_finite(v)
    if not unknown.any():
        return spread, None
    return np.where(unknown, np.inf, spread), unknown * arrays.ANYTHING
