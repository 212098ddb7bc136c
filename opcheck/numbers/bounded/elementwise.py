"""Functions of bounded numbers, element by element."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opcheck.numbers import plain
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import Bounded, Errors, Floats, Lost, Reals, is_finite, size_of

Bound: TypeAlias = Floats | None
_Function: TypeAlias = Callable[[Reals], Reals]
#: Errors of an exponent up to which those of the exponential are.
_LARGE = 40.0
#: The largest error of numbers up to 1, with room for their roundings.
_AT_MOST_1 = 1.01


def plus(*parts: Any, how: Callable[[Any, Any], Any] = operator.add) -> Any:
    """The sum of those parts that there are, None if there is none."""
    there = [part for part in parts if part is not None]
    return reduce(how, there) if there else None


def either(*masks: Lost | None) -> Lost | None:
    """Return the union of the masks that exist, None if there is none."""
    union: Lost | None = plus(*masks, how=operator.or_)
    return union


def _worse(lost: Lost | None, where: Callable[[], Any]) -> Lost | None:
    return None if lost is None else np.where((lost > 0) & where(), arrays.ANYTHING, 0)


def result(
    v: Reals,
    like: Bounded,
    errors: Callable[[], Errors],
    *,
    k: float = 1.0,
    least: float = 0.0,
    squared: bool = False,
    shares: bool = False,
) -> Bounded:
    """Return an operation's result, rounded with an error of `k` unit roundoffs.

    Where results are stored in a narrower type, that rounding comes last.
    """
    own = like.arithmetic
    made = Bounded(v, like.dtype, own, errors, k=k, least=least, squared=squared, shares=shares)
    if own.stored is None:
        return made
    return replace(
        made,
        _errors=lambda: made.settled().errors,
        k=1.0,
        grid=own.stored,
        least=made.sure,
        shares=False,
    )


def vanished(v: Reals, e: Bound, where: Callable[[], arrays.Mask]) -> Bound:
    """The errors of `v`, also where it is 0 only because it was too small for its dtype.

    `where()` tells for what operands 0 is not the exact result.
    """
    # An object of mpmath's compares to a plain bool.
    zero = np.asarray(v == 0)
    return plus(e, np.where(zero & where(), 5e-324, 0.0)) if np.count_nonzero(zero) else e


@cache
def real(name: str) -> Callable[..., Any]:
    """The function `name` of arrays of float64, longdouble or mpmath's numbers, in their dtype."""
    of_numpy = None if name == "erf" else getattr(np, name)

    def function(*given: Any) -> Any:
        # Arithmetic on mpmath's numbers of rank 0 leaves the bare number.
        operands = [np.asarray(one) for one in given]
        kind = operands[0].dtype.char
        if of_numpy is not None and kind != "O":
            return of_numpy(*operands)
        if kind == "d":
            return plain.erf(operands[0])
        from opcheck.numbers import precise

        if kind == "O":
            return precise.of_objects(name)(*operands)
        # NumPy has no erf, and Python's knows float64 only.
        return precise.erf_of_longdoubles(operands[0])

    return function


def _sum(add_up: Callable[[Any, Any], Any], a: Any, b: Any) -> Bounded:
    """A sum or a difference, rounded once."""
    a, b = arrays.pair(a, b)

    def errors() -> Errors:
        x, y = a.settled(), b.settled()
        shift = _shift(x, y) or _shift(y, x)
        # What was lost may have another sign than the sum, or than what else was.
        others = _worse(y.lost, lambda: add_up(0, y.v) * v <= 0)
        lost = either(x.lost, y.lost, others, _worse(x.lost, lambda: x.v * v <= 0))
        return Errors(plus(x.e, y.e), plus(x.q, y.q), lost, shift=shift)

    v = np.asarray(add_up(a.v, b.v))
    squared = add_up is np.add and a.never_negative() and b.never_negative()
    least, shares = min(a.sure, b.sure), a.size != b.size
    made = result(v, a, errors, least=least, squared=squared, shares=shares)
    if squared and (small := _next_to_nothing(a, b)) is not None:
        made.for_logarithm = result(v, a, lambda: _capped(errors(), v, small), k=0.0, squared=True)
    return made


def _next_to_nothing(a: Bounded, b: Bounded) -> Bounded | None:
    """The operand of a sum that vanishes somewhere beside the other one, a number of the type."""
    number, other = (a, b) if a.size == 1 and a.exact else (b, a)
    grid = number.arithmetic.grid.dtype.numpy
    if number.size != 1 or not number.exact or number.v.astype(np.float64).astype(grid) != number.v:
        return None
    unit = number.arithmetic.u * size_of(number.v)
    return other if np.count_nonzero(size_of(other.v) < unit) and unit > 0 else None


def _capped(found: Errors, v: Reals, small: Bounded) -> Errors:
    """The errors of a sum with a number, which is rounded by no more than the `small` operand."""
    arithmetic, size = small.arithmetic, np.where(is_finite(v), size_of(v), 0.0)
    most = plus(size_of(small.v), small.settled().e)
    # What is lost of a value itself is allowed too.
    own = size * np.finfo(v.dtype).eps if v.dtype != object else 0.0
    most = np.where(most > 0, np.maximum(most, own), 0.0)
    rounding = np.minimum(plus(size * arithmetic.u, found.e), most)
    q = plus(found.q, rounding**2 / 3) if arithmetic.scatters else None
    return Errors(plus(found.e, rounding), q, found.lost)


def add(a: Any, b: Any) -> Bounded:
    """Return a + b, rounded once."""
    return _sum(np.add, a, b)


def subtract(a: Any, b: Any) -> Bounded:
    """Return a − b, rounded once."""
    return _sum(np.subtract, a, b)


def _shift(x: Bounded, spread: Bounded) -> arrays.Common | None:
    """The error of an operand that is spread over `x`, if it is."""
    if spread.e is None or not 0 < spread.size < x.size:
        return None
    if np.broadcast_shapes(x.shape, spread.shape) != x.shape:
        return None
    shape = (1,) * (x.ndim - spread.ndim) + spread.shape
    size = spread.e.reshape(shape)
    return arrays.Common(size, size, np.arange(spread.size).reshape(shape))


def multiply(a: Any, b: Any) -> Bounded:
    """a·b, rounded once."""
    a, b = arrays.pair(a, b)
    v = np.asarray(a.v * b.v)

    def errors() -> Errors:
        x, y, common = _sharing(a, b)
        e = None if x.e is None else size_of(y.v) * x.e
        if y.e is not None:
            e = plus(e, size_of(x.v) * y.e if x.e is None else (size_of(x.v) + x.e) * y.e)
        e = vanished(v, _certain(e, x, y), lambda: (x.v != 0) & (y.v != 0))
        q = plus(_scaled(x.q, size_of(y.v)), _scaled(y.q, size_of(x.v)))
        by_0 = (_worse(x.lost, lambda: _may_be_0(y)), _worse(y.lost, lambda: _may_be_0(x)))
        return Errors(e, q, either(x.lost, y.lost, *by_0), common)

    squared = a is b or (a.never_negative() and b.never_negative())
    return result(v, a, errors, least=_sure_of_both(a, b), squared=squared, shares=_may_share(a, b))


def _may_share(a: Bounded, b: Bounded) -> bool:
    """Return True unless `_sharing` finds no error that elements of a product share."""
    return a.size != b.size or a.shares or b.shares


def _sure_of_both(a: Bounded, b: Bounded) -> float:
    """A relative error that each element of a product has for itself.

    That of an operand which is spread over the other one is common to many.
    """
    return sum(x.sure for x, y in ((a, b), (b, a)) if x.size >= y.size)


def _may_be_0(x: Bounded) -> Any:
    return size_of(x.v) <= (0.0 if x.e is None else x.e)


def divide(a: Any, b: Any) -> Bounded:
    """a/b: a division, or a product with the reciprocal, which rounds twice."""
    is_share = isinstance(b, Bounded) and b.addends is a
    a, b = arrays.pair(a, b)
    v = np.asarray(real("divide")(a.v, b.v))

    def errors() -> Errors:
        x, y, common = _sharing(a, b, divides=True)
        lost, size = x.lost, size_of(y.v)
        if y.e is None:
            e = None if x.e is None else x.e / size
        else:
            room = size - y.e
            e = plus(x.e, size_of(v) * y.e) / np.where(room > 0, room, 0.0)
            near_zero = (room <= 0) & (y.e > 0)
            if near_zero.any():
                lost = either(lost, np.broadcast_to(near_zero * arrays.ANYTHING, v.shape))
                e = np.where(near_zero, np.inf, e)
        e = vanished(v, _certain(e, x, y), lambda: (x.v != 0) & is_finite(y.v))
        if y.lost is not None:
            # What is too large divides to 0, and another infinity to NaN.
            if y.arithmetic.flushes:
                e = plus(e, np.where(y.lost > 0, size_of(v), 0.0))
            nan = (y.lost > 1) if x.lost is None else (y.lost > 1) | (x.lost > 0)
            lost = either(lost, _worse(y.lost, lambda: nan))
        mine = _scaled(x.q, 1 / size)
        q = plus(mine, _scaled(y.q, size_of(v) / size))
        if is_share and mine is not None:
            # The errors of a share of a sum are in the sum too, and cancel where it is nearly all.
            q = np.maximum(q - 2 * v * mine, 0.0)
        return Errors(e, q, lost, common)

    squared = a.never_negative() and b.never_negative()
    least, shares = _sure_of_both(a, b), _may_share(a, b)
    return result(v, a, errors, k=2.0, least=least, squared=squared, shares=shares)


def _scaled(q: Bound, slope: Floats) -> Bound:
    return None if q is None else q * slope**2


def _certain(e: Bound, a: Bounded, b: Bounded) -> Bound:
    """Errors of a product or quotient, without those of operands that are infinite or 0."""
    if e is None or np.isfinite(e).all():
        return e
    infinite = ~(is_finite(a.v) & is_finite(b.v))
    exact = [np.zeros(x.shape, np.bool_) if x.e is None else x.e == 0 for x in (a, b)]
    return np.where(infinite | (exact[0] & exact[1]), 0.0, e)


def _sharing(
    a: Bounded, b: Bounded, *, divides: bool = False
) -> tuple[Bounded, Bounded, arrays.Common | None]:
    """The operands of a product or quotient, and a relative error that its elements share.

    That is the error of an operand that is spread over the other one, such as the sum that a row
    is divided by; or what one of them shared before. It is no part of the operands any more.
    """
    if not _may_share(a, b):
        return a.settled(), b.settled(), None
    shape = np.broadcast_shapes(a.shape, b.shape)
    for place in (1,) if divides else (1, 0):
        spread, other = (a, b)[place], (a, b)[1 - place]
        fits = 0 < spread.size < other.size and other.shape == shape
        if fits and not spread.exact and not other.has_common:
            common, rest = _of_spread(spread.settled(), len(shape), divides)
            return *((other.settled(), rest) if place else (rest, other.settled())), common
    for place in (0,) if divides else (0, 1):
        keeps, other = (a, b)[place], (a, b)[1 - place]
        own = keeps.errors.common if keeps.shares else None
        if own is not None and keeps.shape == shape:
            plain = keeps.like(keeps.v, replace(keeps.errors, common=None)).settled()
            return *((other.settled(), plain) if place else (plain, other.settled())), own
    return a.settled(), b.settled(), None


def _of_spread(spread: Bounded, rank: int, divides: bool) -> tuple[arrays.Common, Bounded]:
    """The relative error of an operand, common to all that it is spread over, and the rest."""
    assert spread.e is not None
    small = spread.e / size_of(spread.v)
    known = np.isfinite(small)
    small = np.where(known, small, 0.0)
    # An operand that may be next to nothing is a product that may be, or a quotient without end.
    large = np.where(small < 1, small / (1 - small), np.inf)
    down, up = (small, large) if divides else (large, small)
    errors = Errors(np.where(known, 0.0, spread.e), spread.q, spread.lost)
    rest = Bounded(spread.v, spread.dtype, spread.arithmetic, errors)
    rest._settled = True
    shape = (1,) * (rank - spread.ndim) + spread.shape
    group = np.arange(spread.size).reshape(shape)
    return arrays.Common(down.reshape(shape), up.reshape(shape), group), rest


def values_of(x: Bounded) -> Floats:
    """The values of `x` in float64."""
    return x.v.astype(np.float64)


def inexact(x: Bounded, roundoffs: Any, deviation: Any = None) -> Bounded:
    """`x` with an allowance of this many unit roundoffs for an implementation's own reasons.

    `deviation` is that of errors like these, in unit roundoffs of 1, where it is known.
    """

    def errors() -> Errors:
        old = x.settled()
        more = size_of(old.v) * (np.asarray(roundoffs) * old.arithmetic.u)
        q = old.q
        if deviation is not None and old.arithmetic.scatters:
            q = (0.0 if q is None else q) + (np.asarray(deviation) * old.arithmetic.u) ** 2 / 3
        return Errors(plus(old.e, np.where(np.isfinite(more), more, 0.0)), q, old.lost)

    return Bounded(x.v, x.dtype, x.arithmetic, errors, least=x.sure, squared=x.squared)


def at_most_1(x: Bounded) -> Bounded:
    """`x`, whose elements no implementation computes as more than 1 in size, such as shares."""

    def errors() -> Errors:
        whole = x.settled()
        if whole.e is None or (whole.e <= _AT_MOST_1).all():
            return x.errors
        return Errors(np.fmin(whole.e, _AT_MOST_1), whole.q, whole.lost)

    if x.exact:
        return x
    return replace(x.like(x.v, errors, squared=x.squared), least=min(x.least, 1.0))


def negative(x: Bounded) -> Bounded:
    """Return −x, which rounds nothing."""
    return x.like(np.negative(x.v), x._errors)


def abs(x: Bounded) -> Bounded:
    """Return the absolute values, which rounds nothing and leaves no element negative."""
    return x.like(np.abs(x.v), x._errors, squared=True)


class ErrorShape(NamedTuple):
    """Propagation of an argument's error to a function's value.

    `slope(x, e)` is the largest slope between x − e and x + e, where that is all that is used, and
    `exponential` means that an error of the argument is a relative error of the value. Any other
    function rises or falls between its `turns`, so that it takes its extremes at the ends of an
    interval or at a turn; `rises` is False where that is not so.
    """

    slope: Callable[[Reals, Floats], Any] | None = None
    rises: bool = True
    exponential: bool = False
    turns: tuple[float, ...] = ()


_RISING = ErrorShape()
_SHAPES: Mapping[str, ErrorShape] = {
    "exp": ErrorShape(exponential=True),
    "sin": ErrorShape(slope=lambda x, e: 1.0, rises=False),
    "cos": ErrorShape(slope=lambda x, e: 1.0, rises=False),
    # At most 2/√π·e^(−x²), for the x nearest to 0; erf itself takes much longer.
    "erf": ErrorShape(slope=lambda x, e: 1.1284 * np.exp(-(np.maximum(size_of(x) - e, 0.0) ** 2))),
    "cosh": ErrorShape(turns=(0.0,)),
}


def _library(name: str, x: Bounded) -> Bounded:
    """A function of the library, as accurate as the arithmetic says; a root is rounded once."""
    if name == "log" and x.for_logarithm is not None:
        x = x.for_logarithm
    accuracy, shape = x.arithmetic.accuracy(name), _SHAPES.get(name, _RISING)
    is_exp, is_root = shape.exponential, name == "sqrt"
    function = real(name)
    v = function(x.v)

    def errors() -> Errors:
        old = x.settled()
        e = old.e
        # What arguments are off by together, their exponentials are in proportion.
        common = x.errors.shift if is_exp else None
        if common is not None:
            together = np.where(common.up < _LARGE, common.up, 0.0)
            e = np.maximum(e - together, 0.0)
            common = arrays.Common(np.expm1(together), np.expm1(together), common.group)
        if accuracy.argument:
            e = plus(e, size_of(old.v) * (accuracy.argument * old.arithmetic.u))
            e = e if e is None or np.isfinite(e).all() else np.where(is_finite(old.v), e, 0.0)
        e = arrays.reach(old.v, e) if shape is _RISING else e
        least = 0.0 if is_root and x.never_negative() else -np.inf
        e, lost = _through(function, old, v, e, shape, least)
        if is_exp:
            e = vanished(v, e, lambda: is_finite(old.v))
        return Errors(e, _slope_squared(function, old.v, v, old.q), lost, common)

    if is_root:
        return result(v, x, errors, least=0.49 * x.sure, squared=True)
    return result(v, x, errors, k=2 * accuracy.ulp, squared=is_exp, shares=is_exp and x.shares)


def exp(x: Bounded) -> Bounded:
    """Return e^x."""
    return _library("exp", x)


def expm1(x: Bounded) -> Bounded:
    """Return e^x − 1."""
    return _library("expm1", x)


def log(x: Bounded) -> Bounded:
    """Return the natural logarithm."""
    return _library("log", x)


def log1p(x: Bounded) -> Bounded:
    """Return ln(1 + x)."""
    return _library("log1p", x)


def sin(x: Bounded) -> Bounded:
    """Return the sine."""
    return _library("sin", x)


def cos(x: Bounded) -> Bounded:
    """Return the cosine."""
    return _library("cos", x)


def tan(x: Bounded) -> Bounded:
    """Return the tangent."""
    return _library("tan", x)


def asin(x: Bounded) -> Bounded:
    """Return the inverse sine."""
    return _library("asin", x)


def acos(x: Bounded) -> Bounded:
    """Return the inverse cosine."""
    return _library("acos", x)


def atan(x: Bounded) -> Bounded:
    """Return the inverse tangent."""
    return _library("atan", x)


def sinh(x: Bounded) -> Bounded:
    """Return the hyperbolic sine."""
    return _library("sinh", x)


def cosh(x: Bounded) -> Bounded:
    """Return the hyperbolic cosine."""
    return _library("cosh", x)


def tanh(x: Bounded) -> Bounded:
    """Return the hyperbolic tangent."""
    return _library("tanh", x)


def asinh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic sine."""
    return _library("asinh", x)


def acosh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic cosine."""
    return _library("acosh", x)


def atanh(x: Bounded) -> Bounded:
    """Return the inverse hyperbolic tangent."""
    return _library("atanh", x)


def erf(x: Bounded) -> Bounded:
    """Return the error function."""
    return _library("erf", x)


def sqrt(x: Bounded) -> Bounded:
    """Return the square root, rounded once."""
    return _library("sqrt", x)


def pow(x: Any, p: Any) -> Bounded:
    """x^p by a library function, or by exp(p·ln x), whose errors grow with |p·ln x|."""
    x, p = arrays.pair(x, p)
    accuracy = x.arithmetic.accuracy("pow")
    # NumPy takes several times as long for the power. Below 0 it may be another than the root.
    known = None if p.v.ndim or x.v.dtype == object else float(p.v)
    if known == 0.5 and (x.v >= 0).all():
        v = np.sqrt(x.v)
    elif known in (1, 3):
        v = x.v if known == 1 else x.v * x.v * x.v
    else:
        v = real("pow")(x.v, p.v)

    def errors() -> Errors:
        old, power = x.settled(), p.settled()
        size, u = size_of(v), old.arithmetic.u
        logarithm = np.abs(np.log(size_of(old.v)))
        finite = np.isfinite(logarithm) & is_finite(power.v)
        relative = np.where(finite, logarithm, 0.0) * np.where(finite, size_of(power.v), 0.0)
        e: Any = np.where(size > 0, size * np.expm1(accuracy.argument * u * relative), 0.0)
        lost = None
        if old.e is not None or power.e is not None:
            spread, lost = _spread_of_power(old, power, v)
            e = np.where(np.isfinite(spread), e, 0.0) + spread
        e = vanished(v, np.where(is_finite(v), e, 0.0), lambda: old.v != 0)
        q = None
        if old.q is not None:
            slope = np.where(old.v != 0, size_of(power.v) * size / size_of(old.v), 0.0)
            q = np.where(np.isfinite(slope), slope, 0.0) ** 2 * old.q
        return Errors(e, q, either(old.lost, power.lost, lost))

    scale = float(np.min(size_of(p.v), initial=np.inf)) if p.exact else 0.0
    least = 0.9 * min(scale, 1e3) * x.sure
    is_even = p.exact and bool(np.asarray(p.v % 2 == 0).all())
    squared = is_even or x.never_negative()
    return result(v, x, errors, k=2 * accuracy.ulp, least=least, squared=squared)


def _spread_of_power(x: Bounded, p: Bounded, v: Reals) -> tuple[Floats, arrays.Mask | None]:
    """Return the largest distance of (x ± e)^(p ± e) from v, and where it is unknown."""
    power = real("pow")
    x_e, p_e = (np.zeros(()) if one.e is None else arrays.reach(one.v, one.e) for one in (x, p))
    low = x.v - x_e
    low = np.where((x.v >= 0) & (low < 0), low * 0, low) if x.never_negative() else low
    ends = [
        power(base, exponent)
        for base in (low, x.v + x_e)
        for exponent in ((p.v,) if p.e is None else (p.v - p_e, p.v + p_e))
    ]
    spread = np.max([size_of(end - v) for end in ends], axis=0)
    unknown = ~np.isfinite(spread) & is_finite(v)
    return (np.where(unknown, np.inf, spread), unknown) if unknown.any() else (spread, None)


def _through(
    function: _Function, x: Bounded, v: Reals, e: Bound, shape: ErrorShape, least: float
) -> tuple[Bound, Lost | None]:
    """Largest distance of function(x ± e) from v = function(x), and the lost elements.

    Of an `x` that was lost, an implementation has an infinity or NaN. Where the function of that is
    a finite number, it is one of those that `e` reaches, if the arithmetic's range counts.
    """
    if e is None:
        return None, None
    if shape.slope is not None and (x.lost is None or not shape.rises):
        return np.where(is_finite(x.v), e * shape.slope(x.v, e), 0.0), _worse(x.lost, lambda: True)
    if shape.exponential and x.lost is None and e.max(initial=0) < 0.5:
        # e^δ − 1 ≤ δ·(1 + δ) for what is so small.
        return size_of(v) * (e * (1 + e)), None
    low, high = x.v - e, x.v + e
    if least > -np.inf:
        low = np.where((low < least) & (x.v >= least), least, low)
    # NaN where the interval leaves the function's domain, which no square does.
    larger = np.fmax if x.never_negative() else np.maximum
    error = larger(size_of(function(high) - v), size_of(function(low) - v))
    for turn in shape.turns:
        away = size_of(function(np.full((), turn, x.v.dtype)) - v)
        error = np.where((low <= turn) & (turn <= high), larger(error, away), error)
    certain = (e == 0) | ~is_finite(x.v)
    error = np.where(certain, 0.0, error)
    unknown = ~np.isfinite(error) | (~is_finite(v) & ~certain)
    lost = unknown * arrays.ANYTHING if unknown.any() else None
    error = np.where(unknown, np.inf, error)
    if x.lost is not None:
        images = [function(end) for end in x.ends(far=True)]
        away = np.max([size_of(image - v) for image in images], axis=0)
        gone = ~np.isfinite(away) | (x.lost > 1)
        lost = either(lost, np.where(gone, x.lost, 0))
        if x.arithmetic.flushes:
            error = np.where(gone, error, np.maximum(error, np.where(x.lost > 0, away, 0.0)))
    return error, lost


def _slope_squared(function: _Function, x: Reals, v: Reals, q: Bound) -> Bound:
    """The variance of function(x), where x has the variance q: by the slope over a deviation."""
    if q is None:
        return None
    deviation = np.sqrt(q)
    ahead, behind = size_of(function(x + deviation) - v), size_of(function(x - deviation) - v)
    step = np.fmax(ahead, behind)
    return np.where(np.isfinite(step) & (q > 0), step, 0.0) ** 2
