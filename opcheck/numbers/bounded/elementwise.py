"""Functions of bounded numbers, element by element.

Each operation propagates the errors of its operands and adds its own rounding: *running error
analysis* (Wilkinson; Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.3). The
rounding itself stays apart, as `Bounded.k`. The rules are derived in docs/bounds.md. There x̂ is an
implementation's number for x, and |x̂ − x| is at most the error of x.
"""

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opcheck.numbers import plain
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import (
    Bounded,
    Common,
    Errors,
    Floats,
    Lost,
    Mask,
    Reals,
    is_finite,
    magnitude_of,
)

#: A bound or a variance; None for zeros.
Bound: TypeAlias = Floats | None
#: The largest error of numbers from 0 to 1, with room for their roundings.
_AT_MOST_1 = 1.01


def add_present(*parts: Any) -> Any:
    """Return the sum of the parts that are not None, which broadcast; None if all are."""
    present = [part for part in parts if part is not None]
    return reduce(operator.add, present) if present else None


def union(*masks: Lost | None) -> Lost | None:
    """Return the union of masks or levels of lost elements, by `|`, without those that are None.

    Lost are those that may be infinite or NaN. The masks broadcast. None if all are None.
    """
    present = [mask for mask in masks if mask is not None]
    return reduce(operator.or_, present) if present else None


def anything_where(lost: Lost | None, mask: Callable[[], Any]) -> Lost | None:
    """Return the level `ANYTHING` for those of `lost` that are also in `mask()`; 0 elsewhere.

    `ANYTHING` means that NaN or an infinity of either sign may stand there. None if `lost` is; else
    `mask()` is called, and broadcasts to its shape.
    """
    if lost is None:
        return None
    return np.where((lost > 0) & mask(), arrays.ANYTHING, 0)


def result(
    v: Reals,
    like: Bounded,
    errors: Callable[[], Errors],
    *,
    k: float = 1.0,
    min_relative_error: float = 0.0,
    nonnegative: bool = False,
    may_share_error: bool = False,
) -> Bounded:
    """Return an operation's result `v`, rounded with an error of `k` unit roundoffs.

    It has the dtype and arithmetic of `like`. `errors()` returns those before the rounding, and is
    called when they are asked for. In arithmetic that stores results in a narrower type, the
    rounding to that comes last, with k = 1; the operation's own, and what is in common, is among
    the errors then. The other arguments are the fields of `Bounded`.
    """
    arithmetic = like.arithmetic
    computed = Bounded(
        v,
        like.dtype,
        arithmetic,
        errors,
        k=k,
        min_relative_error=min_relative_error,
        nonnegative=nonnegative,
        may_share_error=may_share_error,
    )
    if arithmetic.stored is None:
        return computed
    return replace(
        computed,
        _errors=lambda: computed.with_rounding().errors,
        k=1.0,
        grid=arithmetic.stored,
        min_relative_error=computed.min_total_relative_error,
        may_share_error=False,
    )


def with_vanished(v: Reals, e: Bound, is_nonzero: Callable[[], Mask]) -> Bound:
    """Return the errors `e` of the values `v`, more where `v` is 0 for want of range in its dtype.

    `is_nonzero()` masks the elements whose exact result is not 0; it is called if `v` has a 0.
    Where both hold, the smallest subnormal of float64 is added. `e` itself, which may be None, if
    `v` has no 0.
    """
    # An object of mpmath's compares to a plain bool.
    zero = np.asarray(v == 0)
    if not np.count_nonzero(zero):
        return e
    vanished: Bound = add_present(e, np.where(zero & is_nonzero(), arrays.TINY, 0.0))
    return vanished


@cache
def real_function(name: str) -> Callable[..., Any]:
    """Return the function `name` of values: arrays of float64, longdouble or mpmath's numbers.

    It takes plain arrays, or bare numbers of mpmath, of one dtype, and returns an array of it. A
    name is NumPy's, or "erf". Raises AttributeError for another one.
    """
    of_numpy = None if name == "erf" else getattr(np, name)

    def function(*operands: Any) -> Any:
        """Return the values of the function of arrays of one dtype, or of bare numbers of mpmath.

        That is NumPy's function, mpmath's for its numbers, and opcheck's own for erf.
        """
        # Arithmetic on mpmath's numbers of rank 0 leaves the bare number.
        arrays_ = [np.asarray(operand) for operand in operands]
        kind = arrays_[0].dtype.char
        if of_numpy is not None and kind != "O":
            return of_numpy(*arrays_)
        if kind == "d":
            return plain.erf(arrays_[0])
        from opcheck.numbers import precise

        if kind == "O":
            return precise.of_objects(name)(*arrays_)
        # NumPy has no erf, and Python's is of float64 only.
        return precise.erf_of_longdoubles(arrays_[0])

    return function


# Sums and differences.


def add(a: Any, b: Any) -> Bounded:
    """Return a + b, rounded once; ∞ − ∞ is NaN. One of both may be a plain number or array.

    If neither is negative and one is a single exact number, next to which the other vanishes
    somewhere, as in 1 + e^x, the result has `for_logarithm`, the same sum with smaller errors,
    which `log` uses. Raises ValueError for shapes that do not broadcast.
    """
    a, b = arrays.both_bounded(a, b)
    v = np.asarray(np.add(a.v, b.v))
    nonnegative = a.never_negative() and b.never_negative()

    def errors() -> Errors:
        """Return the errors of the sum that come of those of its operands."""
        return _errors_of_sum(np.add, a, b, v)

    total = result(
        v,
        a,
        errors,
        min_relative_error=min(a.min_total_relative_error, b.min_total_relative_error),
        nonnegative=nonnegative,
        may_share_error=a.size != b.size,
    )
    small = _vanishing_operand(a, b) if nonnegative else None
    if small is not None:
        total.for_logarithm = result(
            v, a, lambda: _errors_next_to_number(errors(), v, small), k=0.0, nonnegative=True
        )
    return total


def subtract(a: Any, b: Any) -> Bounded:
    """Return a − b, rounded once; ∞ − ∞ is NaN. One of both may be a plain number or array.

    Raises ValueError for shapes that do not broadcast.
    """
    a, b = arrays.both_bounded(a, b)
    v = np.asarray(np.subtract(a.v, b.v))
    return result(
        v,
        a,
        lambda: _errors_of_sum(np.subtract, a, b, v),
        min_relative_error=min(a.min_total_relative_error, b.min_total_relative_error),
        may_share_error=a.size != b.size,
    )


def _errors_of_sum(combine: np.ufunc, a: Bounded, b: Bounded, v: Reals) -> Errors:
    """Return the errors of v = a ± b: by the triangle inequality those of the operands add up.

    `combine` is NumPy's `add` or `subtract`. The operands' last roundings are included, not that of
    the sum. The error of an operand that is broadcast over the other one is the `shift` too, an
    error that elements have in common. An element is lost if an operand is: it may be an infinity
    of its sign; or `ANYTHING` (NaN, or an infinity of either sign) where the lost operand has not
    the sign of `v`.
    """
    x = a.with_rounding()
    y = b.with_rounding()
    shift = _common_shift(x, y)
    if shift is None:
        shift = _common_shift(y, x)
    # What was lost may have another sign than the sum, or than what else was.
    lost = union(
        x.lost,
        y.lost,
        anything_where(y.lost, lambda: combine(0, y.v) * v <= 0),
        anything_where(x.lost, lambda: x.v * v <= 0),
    )
    return Errors(add_present(x.e, y.e), add_present(x.q, y.q), lost, shift=shift)


def _common_shift(x: Bounded, smaller: Bounded) -> Common | None:
    """Return the absolute error that elements of x ± `smaller` have in common: that of `smaller`.

    `smaller` is broadcast over `x`, and the elements of the result to which one of its elements was
    added are a group. None if it has no error, no fewer elements than `x`, or none at all, and if
    the result has another shape than `x`.
    """
    if smaller.e is None or not 0 < smaller.size < x.size:
        return None
    if np.broadcast_shapes(x.shape, smaller.shape) != x.shape:
        return None
    shape = (1,) * (x.ndim - smaller.ndim) + smaller.shape
    size = smaller.e.reshape(shape)
    return Common(size, size, np.arange(smaller.size).reshape(shape))


def _vanishing_operand(a: Bounded, b: Bounded) -> Bounded | None:
    """Return the operand that vanishes somewhere next to the other one, a single exact number.

    It vanishes where it is smaller than a roundoff of that number, as e^x does in 1 + e^x. The
    number is `a` if that is a single exact one, else `b`. None if neither is, if the arithmetic's
    type does not hold the number, or if nothing vanishes.
    """
    number, other = (b, a)
    if a.size == 1 and a.exact:
        number, other = (a, b)
    if number.size != 1 or not number.exact:
        return None
    held = number.v.astype(np.float64).astype(number.arithmetic.grid.dtype.numpy)
    if held != number.v:
        return None
    unit = number.arithmetic.u * magnitude_of(number.v)
    vanishes = np.count_nonzero(magnitude_of(other.v) < unit) and unit > 0
    return other if vanishes else None


def _errors_next_to_number(total: Errors, v: Reals, small: Bounded) -> Errors:
    """Return the errors of a sum v of a number of the type and a `small` operand, all included.

    Rounding loses no more than the smaller operand, because the other one is itself a number of the
    type: |fl(a + b) − (a + b)| ≤ min(|a|, |b|). `total` has the errors of v without that rounding,
    which is added here. Its lost elements, which may be infinite or NaN, stay so.
    """
    arithmetic = small.arithmetic
    size = np.where(is_finite(v), magnitude_of(v), 0.0)
    most = add_present(magnitude_of(small.v), small.with_rounding().e)
    # What is lost of a value itself is allowed too.
    own = 0.0 if v.dtype == object else size * np.finfo(v.dtype).eps
    most = np.where(most > 0, np.maximum(most, own), 0.0)
    rounding = np.minimum(add_present(size * arithmetic.u, total.e), most)
    q = add_present(total.q, rounding**2 / 3) if arithmetic.scatters else None
    return Errors(add_present(total.e, rounding), q, total.lost)


# Products and quotients.


def multiply(a: Any, b: Any) -> Bounded:
    """Return a·b, rounded once; 0·∞ is NaN. One of both may be a plain number or array.

    The product of an array with itself, the same object, is never negative. The error of a factor
    that is broadcast over the other one is one that elements have in common. Raises ValueError for
    shapes that do not broadcast.
    """
    a, b = arrays.both_bounded(a, b)
    v = np.asarray(a.v * b.v)
    is_square = a is b
    return result(
        v,
        a,
        lambda: _errors_of_product(a, b, v),
        min_relative_error=_own_relative_error(a, b),
        nonnegative=is_square or (a.never_negative() and b.never_negative()),
        may_share_error=_may_share_error(a, b),
    )


def _errors_of_product(a: Bounded, b: Bounded, v: Reals) -> Errors:
    """Return the errors of v = a·b: x̂·ŷ − x·y = (x̂ − x)·y + x̂·(ŷ − y), with |x̂| ≤ |x| + e.

    The last roundings of the factors are included, not that of the product. There is no error next
    to a factor that is infinite or NaN. What elements have in common is `common`, and not in `e`.
    An element is lost if a factor is, and `ANYTHING` (NaN, or an infinity of either sign) where the
    other one may be 0.
    """
    x, y, common = _operands_of_product(a, b)
    e = None
    if x.e is not None:
        e = magnitude_of(y.v) * x.e
    if y.e is not None:
        largest = magnitude_of(x.v)
        if x.e is not None:
            largest = largest + x.e
        e = add_present(e, largest * y.e)
    e = with_vanished(v, _without_certain(e, x, y), lambda: (x.v != 0) & (y.v != 0))
    q = add_present(_scaled(x.q, magnitude_of(y.v)), _scaled(y.q, magnitude_of(x.v)))
    # An infinity times 0 is NaN.
    lost = union(
        x.lost,
        y.lost,
        anything_where(x.lost, lambda: _may_be_0(y)),
        anything_where(y.lost, lambda: _may_be_0(x)),
    )
    return Errors(e, q, lost, common)


def divide(a: Any, b: Any) -> Bounded:
    """Return a/b: a division, or a product with the reciprocal, which rounds twice.

    A division by 0 gives an infinity or, for 0/0, NaN. Where a divisor only may be 0, the element
    is lost: any number, an infinity or NaN may stand there, and its error is infinite. One of both
    may be a plain number or array. If `b` is the sum of `a`, the same object, over axes that were
    kept, a smaller variance is expected. The error of a divisor that is broadcast over `a` is one
    that elements have in common. Raises ValueError for shapes that do not broadcast.
    """
    is_share_of_sum = isinstance(b, Bounded) and b.addends is a
    a, b = arrays.both_bounded(a, b)
    v = np.asarray(real_function("divide")(a.v, b.v))
    return result(
        v,
        a,
        lambda: _errors_of_quotient(a, b, v, is_share_of_sum=is_share_of_sum),
        k=2.0,
        min_relative_error=_own_relative_error(a, b),
        nonnegative=a.never_negative() and b.never_negative(),
        may_share_error=_may_share_error(a, b),
    )


def _errors_of_quotient(a: Bounded, b: Bounded, v: Reals, *, is_share_of_sum: bool) -> Errors:
    """Return the errors of v = a/b; infinite, and the element lost, where the divisor may be 0.

    The last roundings of both are included, not that of the quotient; what elements have in common
    is `common`, and not in `e`. If `is_share_of_sum`, b is a sum of the elements of a, and a
    smaller variance is expected. A lost dividend stays lost. A lost divisor may be infinite: then
    the quotient is 0, which `e` reaches in arithmetic that flushes, or, of a lost dividend or if
    the divisor may be NaN, lost as `ANYTHING`.
    """
    x, y, common = _operands_of_quotient(a, b)
    e, lost = _error_bound_of_quotient(x, y, v)
    e = with_vanished(v, _without_certain(e, x, y), lambda: (x.v != 0) & is_finite(y.v))
    if y.lost is not None:
        if y.arithmetic.flushes:
            e = add_present(e, np.where(y.lost > 0, magnitude_of(v), 0.0))
        is_nan = y.lost > arrays.OVERFLOWED
        if x.lost is not None:
            is_nan = is_nan | (x.lost > 0)
        lost = union(lost, anything_where(y.lost, lambda: is_nan))
    size = magnitude_of(y.v)
    variance_of_x = _scaled(x.q, 1 / size)
    q = add_present(variance_of_x, _scaled(y.q, magnitude_of(v) / size))
    if is_share_of_sum and variance_of_x is not None:
        # The errors of a share of a sum are in the sum too, and cancel where it is nearly all.
        share = np.where(np.asarray(v < 0, np.bool_), -magnitude_of(v), magnitude_of(v))
        q = np.maximum(q - 2 * share * variance_of_x, 0.0)
    return Errors(e, q, lost, common)


def _error_bound_of_quotient(x: Bounded, y: Bounded, v: Reals) -> tuple[Bound, Lost | None]:
    """Return a bound on the error of v = x/y, and the lost elements.

    x̂/ŷ − x/y = (x̂ − x)/ŷ − (x/y)·(ŷ − y)/ŷ, with |ŷ| ≥ |y| − e. Where that is not above 0, the
    bound is infinite, and the element lost at the level `ANYTHING` (NaN or any infinity may stand
    there); elements of x that are lost stay so. None for no error, and for no lost element.
    """
    size = magnitude_of(y.v)
    if y.e is None:
        return (None if x.e is None else x.e / size), x.lost
    least = size - y.e
    e = add_present(x.e, magnitude_of(v) * y.e) / np.where(least > 0, least, 0.0)
    near_zero = (least <= 0) & (y.e > 0)
    if not near_zero.any():
        return e, x.lost
    lost = union(x.lost, np.broadcast_to(near_zero * arrays.ANYTHING, v.shape))
    return np.where(near_zero, np.inf, e), lost


def _may_share_error(a: Bounded, b: Bounded) -> bool:
    """Return True if elements of a product or quotient may have an error in common.

    That is so where an operand has fewer elements than the other, over which it is broadcast, or
    has such an error already. Of as many elements, as in [3, 1] by [1, 3], it is not noticed.
    """
    return a.size != b.size or a.may_share_error or b.may_share_error


def _own_relative_error(a: Bounded, b: Bounded) -> float:
    """Return a relative error that each element of a product or quotient is allowed at the least.

    It is the sum of those of the operands, their last roundings included. That of an operand of
    fewer elements, which is broadcast over the other one, is common to many, and left out.
    """
    own = 0.0
    if a.size >= b.size:
        own += a.min_total_relative_error
    if b.size >= a.size:
        own += b.min_total_relative_error
    return own


def _may_be_0(x: Bounded) -> Any:
    """Mask the elements that an implementation may have as 0: |v| ≤ e, so exact zeros too."""
    error = 0.0 if x.e is None else x.e
    return magnitude_of(x.v) <= error


def _scaled(q: Bound, slope: Floats) -> Bound:
    """Return the variance of `slope` times a number with the variance q, by the delta method.

    None if q is.
    """
    return None if q is None else q * slope**2


def _without_certain(e: Bound, a: Bounded, b: Bounded) -> Bound:
    """Return the errors `e` of a product or quotient of `a` and `b`, 0 where there can be none.

    That is where an operand is infinite or NaN, or where both have the error 0: `e` may be NaN or
    infinite there, of an infinity times an error of 0, or of 0/0. `e` itself if it is finite or
    None.
    """
    if e is None or np.isfinite(e).all():
        return e
    infinite = ~(is_finite(a.v) & is_finite(b.v))
    exact = _where_error_is_0(a) & _where_error_is_0(b)
    return np.where(infinite | exact, 0.0, e)


def _where_error_is_0(x: Bounded) -> Mask:
    """Mask the elements whose error before the last rounding is stated as 0.

    All False where `x.e` is None, although no element has an error then: `_without_certain` masks
    what an error of 0 was multiplied by, and None was multiplied by nothing.
    """
    if x.e is None:
        return np.zeros(x.shape, np.bool_)
    return np.asarray(x.e == 0)


class _Operands(NamedTuple):
    """Operands of a product or quotient, and a relative error that its elements have in common.

    The common error, None if there is none, is not among those of the operands any more.
    """

    a: Bounded
    b: Bounded
    common: Common | None


def _operands_of_product(a: Bounded, b: Bounded) -> _Operands:
    """Return the factors without an error that elements of the product have in common; and that.

    It is the error of a factor that is broadcast over the other one, as `_is_broadcast` decides, or
    what the elements of one had in common before; None if there is neither, and all is among the
    errors of the factors. Their last roundings always are.
    """
    if not _may_share_error(a, b):
        return _Operands(a.with_rounding(), b.with_rounding(), None)
    shape = np.broadcast_shapes(a.shape, b.shape)
    if _is_broadcast(b, a, shape):
        common, rest = _split_factor(b.with_rounding(), len(shape))
        return _Operands(a.with_rounding(), rest, common)
    if _is_broadcast(a, b, shape):
        common, rest = _split_factor(a.with_rounding(), len(shape))
        return _Operands(rest, b.with_rounding(), common)
    if a.has_common and a.shape == shape:
        return _Operands(_without_common(a), b.with_rounding(), a.errors.common)
    if b.has_common and b.shape == shape:
        return _Operands(a.with_rounding(), _without_common(b), b.errors.common)
    return _Operands(a.with_rounding(), b.with_rounding(), None)


def _operands_of_quotient(a: Bounded, b: Bounded) -> _Operands:
    """Return dividend and divisor without an error that the quotients have in common; and that.

    It is the error of a divisor that is broadcast over the dividend, as `_is_broadcast` decides,
    such as the sum that a row is divided by; or what the elements of the dividend had in common
    before; None if there is neither, and all is among the errors of both. Their last roundings
    always are.
    """
    if not _may_share_error(a, b):
        return _Operands(a.with_rounding(), b.with_rounding(), None)
    shape = np.broadcast_shapes(a.shape, b.shape)
    if _is_broadcast(b, a, shape):
        common, rest = _split_divisor(b.with_rounding(), len(shape))
        return _Operands(a.with_rounding(), rest, common)
    if a.has_common and a.shape == shape:
        return _Operands(_without_common(a), b.with_rounding(), a.errors.common)
    return _Operands(a.with_rounding(), b.with_rounding(), None)


def _is_broadcast(smaller: Bounded, larger: Bounded, shape: tuple[int, ...]) -> bool:
    """Return True if `smaller` has errors, and is repeated over `larger`, of the result's `shape`.

    False if `larger` has no more elements or another shape, and if it has an error in common
    already.
    """
    is_smaller = 0 < smaller.size < larger.size and larger.shape == shape
    return is_smaller and not smaller.exact and not larger.has_common


def _without_common(x: Bounded) -> Bounded:
    """Return `x` with its last rounding among its errors, but without the error in common."""
    return x.with_values(x.v, replace(x.errors, common=None)).with_rounding()


def _split_factor(factor: Bounded, rank: int) -> tuple[Common, Bounded]:
    """Return the relative error t of a factor, common to all that it is broadcast over; the rest.

    The products are multiplied by 1 − t to 1 + t, and 1 − t is 1 / (1 + t / (1 − t)). `rank` is the
    product's; the rest is the factor with its values, and errors only where they are not in common,
    as of an element 0. The factor has errors, and its last rounding is among them.
    """
    small, rest = _split_relative(factor)
    return _common_of(factor, rank, down=_inverse_error(small), up=small), rest


def _split_divisor(divisor: Bounded, rank: int) -> tuple[Common, Bounded]:
    """Return the relative error t of a divisor, common to all that it is broadcast over; the rest.

    The quotients are multiplied by 1 / (1 + t) to 1 / (1 − t) = 1 + t / (1 − t). `rank` is the
    quotient's; the rest is the divisor with its values, and errors only where they are not in
    common, as of an element 0. The divisor has errors, and its last rounding is among them.
    """
    small, rest = _split_relative(divisor)
    return _common_of(divisor, rank, down=small, up=_inverse_error(small)), rest


def _inverse_error(t: Floats) -> Floats:
    """Return t / (1 − t): how far 1 / (1 − t) is from 1, infinitely far if t is 1 or more."""
    return np.where(t < 1, t / (1 - t), np.inf)


def _split_relative(x: Bounded) -> tuple[Floats, Bounded]:
    """Return the relative errors of an operand, and the operand with the errors that are left.

    Where a relative error is not finite, as of an element 0, it is 0, and the absolute error is
    left; elsewhere none is. Variance and lost elements (which may be infinite or NaN) stay with the
    operand. It has errors, and its last rounding is among them.
    """
    assert x.e is not None
    relative = x.e / magnitude_of(x.v)
    known = np.isfinite(relative)
    relative = np.where(known, relative, 0.0)
    errors = Errors(np.where(known, 0.0, x.e), x.q, x.lost)
    rest = Bounded(x.v, x.dtype, x.arithmetic, errors)
    rest._with_rounding = True  # All of its roundings are included.
    return relative, rest


def _common_of(x: Bounded, rank: int, *, down: Floats, up: Floats) -> Common:
    """Return the relative error that all repeats of an element of `x` share.

    `x` is broadcast to an array of this rank, with new axes in front. The error is a factor from
    1 / (1 + `down`) to 1 + `up`; both have the shape of `x`. The repeats of an element are a group,
    numbered in C order.
    """
    shape = (1,) * (rank - x.ndim) + x.shape
    group = np.arange(x.size).reshape(shape)
    return Common(down.reshape(shape), up.reshape(shape), group)


# Signs.


def negative(x: Bounded) -> Bounded:
    """Return −x, which rounds nothing; the errors and the last rounding stay."""
    return x.with_values(np.negative(x.v), x._errors)


def abs(x: Bounded) -> Bounded:
    """Return |x|, which rounds nothing and leaves no element negative.

    The errors and the last rounding stay, but an absolute error is not in common any more.
    """
    v = np.abs(x.v)
    if not x.may_share_error:
        return x.with_values(v, x._errors, nonnegative=True)
    # Where the sign was changed, the error has the other direction.
    return x.with_values(v, lambda: replace(x.errors, shift=None), nonnegative=True)


# Allowances that a formula states.


def values_of(x: Bounded) -> Floats:
    """Return a copy of the values of `x` in float64, without errors; infinite beyond its range."""
    return x.v.astype(np.float64)


def inexact(x: Bounded, roundoffs: Any, deviation: Any = None) -> Bounded:
    """Return `x` with an error of this many unit roundoffs for an implementation's own reasons.

    It is added to the errors of `x`, whose last rounding becomes one of them. A roundoff is u·|v|.
    `deviation` d, or None where it is not known, adds the variance (d·u)²/3 in arithmetic that
    scatters: it is in units of u, not of the element. Both broadcast to the shape of `x`; if they
    do not, asking for the errors raises ValueError. To infinities and NaN no error is added.
    """

    def errors() -> Errors:
        """Return the errors of `x` with its last rounding, and with the allowance."""
        old = x.with_rounding()
        u = old.arithmetic.u
        allowance = magnitude_of(old.v) * (np.asarray(roundoffs) * u)
        q = old.q
        if deviation is not None and old.arithmetic.scatters:
            before = 0.0 if q is None else q
            q = before + (np.asarray(deviation) * u) ** 2 / 3
        e = add_present(old.e, np.where(np.isfinite(allowance), allowance, 0.0))
        return Errors(e, q, old.lost)

    return Bounded(
        x.v,
        x.dtype,
        x.arithmetic,
        errors,
        min_relative_error=x.min_total_relative_error,
        nonnegative=x.nonnegative,
    )


def at_most_1(x: Bounded) -> Bounded:
    """Return `x`, numbers from 0 to 1 that no implementation computes as more than 1.

    The values and the last rounding stay. If an error is above 1.01 with the last rounding, all
    errors include that, and larger ones become 1.01. An exact `x` is returned itself.
    """

    def errors() -> Errors:
        """Return the errors of `x`; those with its last rounding, cut to 1.01, if one is above."""
        old = x.with_rounding()
        if old.e is None or (old.e <= _AT_MOST_1).all():
            return x.errors
        return Errors(np.fmin(old.e, _AT_MOST_1), old.q, old.lost)

    if x.exact:
        return x
    limited = x.with_values(x.v, errors, nonnegative=x.nonnegative)
    return replace(limited, min_relative_error=min(x.min_relative_error, 1.0))
