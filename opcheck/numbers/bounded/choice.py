"""Comparisons, selections and steps of bounded numbers, which need not be certain.

Where the error of an operand leaves more than one outcome, all of them are admitted: as a `Truth`
for comparisons, as `Choices` for indices, and as a larger error for numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Kind
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import (
    Bounded,
    Errors,
    Floats,
    Mask,
    Reals,
    as_values,
    both_bounded,
    is_finite,
    magnitude_of,
)
from opcheck.numbers.bounded.elementwise import add_present, anything_where, real_function, union

#: Deviations within which scatter may change which number is the extreme.
_FAR = 4.0


# Booleans.


@dataclass(frozen=True, eq=False)
class Truth(Kind):
    """Booleans `v`; those that are `unsure` may be the other one too."""

    v: Mask
    unsure: Mask

    def __and__(self, other: Any) -> Any:
        return logical_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return logical_and(other, self)

    def __or__(self, other: Any) -> Any:
        return logical_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return logical_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return logical_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return logical_xor(other, self)

    def __invert__(self) -> Any:
        return logical_not(self)


#: Booleans; plain ones are sure, and of plain numbers 0 alone is false.
Condition: TypeAlias = Truth | NDArray[Any] | bool


def truth(v: Mask, unsure: Mask | None) -> Truth | Mask:
    """Return a Truth, or plain booleans `v` where all of them are sure.

    `unsure` masks those that may be the other one too, because of errors. It broadcasts to the
    shape of `v`; None if all are sure.
    """
    if unsure is None or not unsure.any():
        return v
    return Truth(v, np.broadcast_to(unsure, v.shape))


def truth_parts(x: Condition) -> tuple[Mask, Mask]:
    """Return the booleans of `x`, and a mask of those that may be the other one too, in one shape.

    Of a plain array or number, 0 alone is false and all are sure.
    """
    if isinstance(x, Truth):
        return x.v, x.unsure
    v = np.asarray(x, np.bool_)
    return v, np.zeros(v.shape, np.bool_)


def logical_not(x: Condition) -> Truth | Mask:
    """Return not x, as unsure as `x` is; plain booleans if all are sure."""
    v, unsure = truth_parts(x)
    return truth(~v, unsure)


def logical_and(a: Condition, b: Condition) -> Truth | Mask:
    """Return a and b: unsure unless one of them is surely false, or both are sure.

    Plain booleans if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    v, v_unsure = truth_parts(a)
    w, w_unsure = truth_parts(b)
    return truth(v & w, (v_unsure & (w | w_unsure)) | (w_unsure & (v | v_unsure)))


def logical_or(a: Condition, b: Condition) -> Truth | Mask:
    """Return a or b: unsure unless one of them is surely true, or both are sure.

    Plain booleans if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    return logical_not(logical_and(logical_not(a), logical_not(b)))


def logical_xor(a: Condition, b: Condition) -> Truth | Mask:
    """Return either a or b but not both: unsure if one of them is.

    Plain booleans if all are sure. Raises ValueError for shapes that do not broadcast.
    """
    v, v_unsure = truth_parts(a)
    w, w_unsure = truth_parts(b)
    return truth(v ^ w, v_unsure | w_unsure)


# Comparisons.


def less(a: Any, b: Any) -> Truth | Mask:
    """Return a < b, False for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.less, a, b)


def less_equal(a: Any, b: Any) -> Truth | Mask:
    """Return a ≤ b, False for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.less_equal, a, b)


def greater(a: Any, b: Any) -> Truth | Mask:
    """Return a > b, False for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.greater, a, b)


def greater_equal(a: Any, b: Any) -> Truth | Mask:
    """Return a ≥ b, False for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.greater_equal, a, b)


def equal(a: Any, b: Any) -> Truth | Mask:
    """Return a = b, False for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.equal, a, b)


def not_equal(a: Any, b: Any) -> Truth | Mask:
    """Return a ≠ b, True for NaN; a `Truth`, with some booleans unsure, where errors admit both.

    Integers are unsure, too, where an operand is lost (it may be any number); so are floats (it may
    be infinite or NaN), but only in arithmetic that flushes small results to 0. Plain booleans if
    all are sure. One operand may be a plain number or array. Raises ValueError for shapes that do
    not broadcast.
    """
    return _compare(np.not_equal, a, b)


def _compare(compare: np.ufunc, a: Any, b: Any) -> Truth | Mask:
    """Return the comparison by a ufunc, unsure where the intervals of the operands meet.

    Unsure means that either answer is right. Plain booleans if all are sure, as they are of NaN;
    else a `Truth`. An element is unsure too if an operand is lost: an integer, which may be any; or
    a float, which may be an infinity or NaN, but only in arithmetic that flushes small results to
    0. Elsewhere a lost float counts by its value and error. One operand may be a plain number or
    array. Raises ValueError for shapes that do not broadcast.
    """
    a, b = both_bounded(a, b)
    x = a.with_rounding()
    y = b.with_rounding()
    v = np.asarray(compare(x.v, y.v), np.bool_)
    error = add_present(x.e, y.e)
    if error is None:
        return v
    unsure = (magnitude_of(x.v - y.v) <= error) & (error > 0)
    is_integer = x.dtype.kind in "iu"
    lost = union(x.lost, y.lost) if is_integer or x.arithmetic.flushes else None
    if lost is not None:
        unsure = unsure | (lost > 0)
    return truth(v, unsure)


def isnan(x: Bounded) -> Mask:
    """Mask the elements whose value is NaN, whatever their errors."""
    return np.asarray(x.v != x.v, np.bool_)


def isfinite(x: Bounded) -> Mask:
    """Mask the elements whose value is neither infinite nor NaN, whatever their errors."""
    return is_finite(x.v)


def isinf(x: Bounded) -> Mask:
    """Mask the elements whose value is infinite, whatever their errors."""
    return ~is_finite(x.v) & ~isnan(x)


# Selection.


def where(condition: Condition, a: Any, b: Any) -> Bounded:
    """Return `a` where `condition` holds, else `b`; where that is unsure, either.

    There the value is the one that the condition's `v` chooses, with an error that reaches both.
    If one of both is infinite or NaN, and the other is not the same, the value is finite, the error
    infinite, and the element lost with its last rounding: anything may stand there. Otherwise an
    infinite or NaN value has no error. Errors in common become errors of each element. The result
    is exact if both operands are and the condition is sure.

    `a` or `b` may be a plain number or array. Raises TypeError if neither of them is bounded, and
    ValueError for shapes that do not broadcast.
    """
    if not isinstance(a, Bounded) and not isinstance(b, Bounded):
        raise TypeError("an unsure condition chooses between bounded numbers only")
    a, b = both_bounded(a, b)
    chosen, unsure = truth_parts(condition)
    v = np.where(chosen, a.v, b.v)
    is_sure = not unsure.any()
    if not is_sure:
        v = _finite_where_unsure(v, np.where(chosen, b.v, a.v), unsure)
    if a.exact and b.exact and is_sure:
        return Bounded(v, a.dtype, a.arithmetic)
    has_common = a.has_common or b.has_common
    # Last roundings stay apart only where both operands have the same, nothing is in common, and
    # the choice is sure.
    keep_rounding = a.k == b.k and a.grid == b.grid and is_sure and not has_common

    def errors() -> Errors:
        """Return the errors of the choice between `a` and `b`.

        Their `e` includes the last roundings and what was in common, unless `keep_rounding`: then
        nothing was in common, and the last rounding of either is left to the result's `k`.
        """
        if keep_rounding:
            return _errors_of_choice(chosen, a, b)
        x = a.with_rounding()
        y = b.with_rounding()
        if is_sure:
            return _errors_of_choice(chosen, x, y)
        return _errors_of_unsure_choice(chosen, unsure, x, y, v)

    if keep_rounding:
        min_relative_error = min(a.min_relative_error, b.min_relative_error)
    else:
        min_relative_error = min(a.min_total_relative_error, b.min_total_relative_error)
    selected: Bounded = a.with_joined_values(
        v, errors, keep_rounding=keep_rounding, min_relative_error=min_relative_error
    )
    return selected


def _finite_where_unsure(v: Reals, other: Reals, unsure: Mask) -> Reals:
    """Return the values `v` of a choice, but finite ones where the choice is unsure and matters.

    `other` are those of the operand that was not chosen. Where the choice is `unsure`, `v` infinite
    or NaN and `other` something else, the value is `other`, or 0 if that is not finite either: no
    error can reach from an infinity or NaN to a number.
    """
    are_same = np.asarray((v == other) | ((v != v) & (other != other)), np.bool_)
    is_replaced = unsure & ~is_finite(v) & ~are_same
    if not is_replaced.any():
        return v
    finite = np.where(is_finite(other), other, np.zeros_like(other))
    return np.where(is_replaced, finite, v)


def _errors_of_choice(chosen: Mask, x: Bounded, y: Bounded) -> Errors:
    """Return `e`, `q` and `lost` of `x` where `chosen`, else those of `y`: bound, variance, mask.

    Errors in common and the last roundings (`k`) are left out. The operands broadcast.
    """
    return Errors(
        e=_choose_part(chosen, x.e, y.e, 0.0),
        q=_choose_part(chosen, x.q, y.q, 0.0),
        lost=_choose_part(chosen, x.lost, y.lost, 0),
    )


def _errors_of_unsure_choice(
    chosen: Mask, unsure: Mask, x: Bounded, y: Bounded, v: Reals
) -> Errors:
    """Return the errors of the choice `v`, of which `e` reaches both operands where it is `unsure`.

    There an element is lost (an infinity or NaN may stand there) if that of either operand is, as
    `ANYTHING` if the lost one has not the sign of `v`. The variance is that of the chosen operand.
    `x` and `y` have their last roundings in their errors.
    """
    sure = _errors_of_choice(chosen, x, y)
    farther = np.maximum(_distance_to_end(x, v), _distance_to_end(y, v))
    e = np.where(unsure, farther, 0.0 if sure.e is None else sure.e)
    lost = sure.lost
    of_either = union(
        x.lost,
        y.lost,
        anything_where(x.lost, lambda: x.v * v <= 0),
        anything_where(y.lost, lambda: y.v * v <= 0),
    )
    if lost is not None and of_either is not None:
        lost = np.where(unsure, of_either, lost)
    return Errors(e, sure.q, lost)


def _distance_to_end(x: Bounded, v: Reals) -> Floats:
    """Return the distance of `v` from the farther end of x's interval.

    NaN if either is, and if both are the same infinity.
    """
    distance = magnitude_of(x.v - v)
    return distance + (0.0 if x.e is None else x.e)


def _choose_part(chosen: Mask, a: Any, b: Any, default: float) -> Any:
    """Return the part of an `Errors`, `a`, where `chosen`, else `b`; None if both are.

    `default`, for no error, stands in for one that is None.
    """
    if a is None and b is None:
        return None
    return np.where(chosen, default if a is None else a, default if b is None else b)


def with_ieee(
    narrow: "Bounded | Truth | Choices | NDArray[Any]",
    wide: "Bounded | Truth | Choices | NDArray[Any]",
    enough: bool,
) -> "Bounded | Truth | Choices | NDArray[Any]":
    """Return an output of mpmath's numbers, with IEEE's zeros, infinities and NaN.

    `narrow` and `wide` are the same output, with IEEE's values and with mpmath's, which has no −0.
    An element of `wide` is taken where it is finite, and not 0 unless IEEE has NaN there; all
    others are those of `narrow`, with its errors. If `narrow` values have digits `enough` for the
    arithmetic, `wide` is taken only where `narrow` is 0, NaN, infinite or beyond 2¹⁰⁰⁰ in size.
    `narrow` itself if nothing is taken. If one is not bounded, `wide` itself.
    """
    if not isinstance(narrow, Bounded) or not isinstance(wide, Bounded):
        return wide
    v = narrow.v
    zero = v == 0
    # Where IEEE has NaN, as of ∞ − ∞, a finite difference may well be 0.
    is_better = is_finite(wide.v) & (np.isnan(v) | np.asarray(wide.v != 0, np.bool_))
    if enough:
        # NaN is not within the range either.
        is_within = np.abs(v) <= arrays.CUT
        is_better &= zero | ~is_within
    if not is_better.any():
        return narrow
    with np.errstate(all="ignore"):
        # An object may be Python's −0.0 too.
        zeros = v.astype(np.float64).astype(np.object_)
        objects = np.where(zero, zeros, as_values(v, wide.v.dtype))
        return where(is_better, wide, narrow.with_values(objects, narrow._errors))


# Extremes.


def maximum(a: Any, b: Any) -> Bounded:
    """Return the larger element of two; NaN if one is. One of both may be a plain number or array.

    Its least and greatest value are the larger ones of the operands' least and greatest values.
    Raises ValueError for shapes that do not broadcast.
    """
    a, b = both_bounded(a, b)
    larger = _extreme(np.maximum, a, b)
    larger.nonnegative = a.never_negative() or b.never_negative()
    return larger


def minimum(a: Any, b: Any) -> Bounded:
    """Return the smaller element of two; NaN if one is. One of both may be a plain number or array.

    Its least and greatest value are the smaller ones of the operands' least and greatest values.
    Raises ValueError for shapes that do not broadcast.
    """
    a, b = both_bounded(a, b)
    smaller = _extreme(np.minimum, a, b)
    smaller.nonnegative = a.never_negative() and b.never_negative()
    return smaller


def _extreme(choose: np.ufunc, a: Bounded, b: Bounded) -> Bounded:
    """Return the extreme element of two that `choose`, `np.maximum` or `np.minimum`, finds.

    NaN if one is. Errors reach the extremes of the operands' ends. `nonnegative` is False: the
    callers set it. Raises ValueError for shapes that do not broadcast.
    """

    def elementwise(combine: np.ufunc) -> Callable[..., Any]:
        """Return the ufunc itself, which joins masks of both operands: `extreme` asks for that."""
        return combine

    return extreme(choose, elementwise, choose(a.v, b.v), a, b)


def clip(x: Bounded, low: Any, high: Any) -> Bounded:
    """Return min(max(x, low), high): `high` where it is below `low`, NaN where one of them is.

    The limits may be plain numbers or arrays; None is no limit, and `x` itself is returned without
    both. An error reaches the results of all ends. Raises ValueError for shapes that do not
    broadcast.
    """
    if low is None:
        return x if high is None else minimum(x, high)
    if high is None:
        return maximum(x, low)
    low, _ = both_bounded(low, x)
    high, _ = both_bounded(high, x)

    def clipped(x: Any, low: Any, high: Any) -> Any:
        """Return plain values within their limits, which broadcast; it rises with all three."""
        return np.minimum(np.maximum(x, low), high)

    def of_three(combine: np.ufunc) -> Callable[..., Any]:
        """Return the function that joins masks of all three by a ufunc: `extreme` asks for that."""
        return lambda x, low, high: combine(combine(x, low), high)

    return extreme(clipped, of_three, clipped(x.v, low.v, high.v), x, low, high)


def extreme(
    choose: Callable[..., Any],
    joined_by: Callable[[np.ufunc], Callable[..., Any]],
    v: Reals,
    *operands: Bounded,
) -> Bounded:
    """Return the extreme `v` = choose(*operands), NaN if one is, as a bounded array.

    Extremes rise with each operand, so that the ends of the result are the extremes of their ends.
    `choose` takes plain values, of two operands or more, or of one whose axes it reduces; `v` is
    what it gives. The operands are of one dtype and arithmetic. `joined_by(combine)` returns a
    function that combines masks of the operands, or levels of their lost elements (those that may
    be infinite or NaN), by the ufunc `combine` to ones of the shape of `v`.

    Exact operands give an exact extreme; otherwise it has the last roundings of all among its
    errors, which are computed when asked for, and k = 0. `nonnegative` is left to the callers.
    """
    first = operands[0]
    if first.v.dtype == np.object_:
        # To compare mpmath's numbers loses NaN.
        is_nan = joined_by(np.logical_or)(*(np.asarray(x.v != x.v) for x in operands))
        v = np.where(is_nan, as_values(np.nan, first.v.dtype), v)
    if all(x.exact for x in operands):
        return Bounded(v, first.dtype, first.arithmetic)

    def errors() -> Errors:
        """Return the errors of the extreme, with the last roundings of the operands in `e`.

        Where operands are lost, it is lost too if it would be infinite or NaN with them so, or if
        they may be NaN. Elsewhere, in arithmetic that flushes, `e` reaches what it would be.
        """
        old = [x.with_rounding() for x in operands]
        away = _distance_of_extremes(choose, v, old, far=False)
        e = np.where(np.isnan(away) | ~is_finite(np.asarray(v)), 0.0, away)
        q = _variance_of_steps(choose, v, *old)
        if all(x.lost is None for x in old):
            return Errors(e, q)
        lost = joined_by(np.bitwise_or)(*(np.int8(0) if x.lost is None else x.lost for x in old))
        far_away = _distance_of_extremes(choose, v, old, far=True)
        gone = ~np.isfinite(far_away) | (lost > arrays.OVERFLOWED)
        if first.arithmetic.flushes:
            e = np.where(gone, e, np.maximum(away, far_away))
        return Errors(e, q, np.where(gone, lost, 0))

    return Bounded(
        v,
        first.dtype,
        first.arithmetic,
        errors,
        min_relative_error=min(x.min_total_relative_error for x in operands),
    )


def _distance_of_extremes(
    choose: Callable[..., Any], v: Reals, operands: list[Bounded], *, far: bool
) -> Floats:
    """Return how far extremes of all least and of all greatest operands are from `v`.

    The larger of both distances, in the shape of `v`. If `far`, the ends of lost operands, which
    may be infinite or NaN, are infinite. NaN where `v` or an operand is, and for equal infinities.
    """
    ends = [x.ends(far=far) for x in operands]
    low = magnitude_of(choose(*(least for least, _ in ends)) - v)
    high = magnitude_of(choose(*(greatest for _, greatest in ends)) - v)
    distance: Floats = np.maximum(low, high)
    return distance


# Steps.


def sign(x: Bounded) -> Bounded:
    """Return −1, 0 or 1 by the sign of each element; 0 of −0, NaN of NaN.

    In the dtype of `x`. Where errors reach a step, the value is the middle of the admitted ones,
    and the error reaches them all; in arithmetic that carries variances the value stays as it is.
    """
    return _step("sign", x)


def floor(x: Bounded) -> Bounded:
    """Return the largest integer not above each element; infinities and NaN stay.

    In the dtype of `x`. Where errors reach a step, the value is the middle of the admitted ones,
    and the error reaches them all; in arithmetic that carries variances the value stays as it is.
    """
    return _step("floor", x)


def ceil(x: Bounded) -> Bounded:
    """Return the smallest integer not below each element; infinities and NaN stay.

    In the dtype of `x`. Where errors reach a step, the value is the middle of the admitted ones,
    and the error reaches them all; in arithmetic that carries variances the value stays as it is.
    """
    return _step("ceil", x)


def trunc(x: Bounded) -> Bounded:
    """Return each element without its fraction; infinities and NaN stay.

    In the dtype of `x`. Where errors reach a step, the value is the middle of the admitted ones,
    and the error reaches them all; in arithmetic that carries variances the value stays as it is.
    """
    return _step("trunc", x)


def round(x: Bounded) -> Bounded:
    """Return the nearest integer, ties to even; infinities and NaN stay.

    In the dtype of `x`. Where errors reach a step, the value is the middle of the admitted ones,
    and the error reaches them all; in arithmetic that carries variances the value stays as it is.
    """
    return _step("round", x)


def _step(name: str, x: Bounded) -> Bounded:
    """Return a function that rises by steps, such as "ceil", by its array API name.

    The result has the dtype of `x`, and no last rounding. Where `x` may be on either side of a
    step, the value is the middle of the admitted ones, which may be no integer, and the error
    reaches them all; in arithmetic that carries variances (it `scatters`) the value stays that of
    `x.v`. Elsewhere there is no error, or an infinite one where that of `x` is. Lost elements,
    which may be out of range, stay so.
    """
    function = real_function(name)
    x = x.with_rounding()
    v = function(x.v)
    if x.e is None:
        return Bounded(v, x.dtype, x.arithmetic)
    low = function(x.v - x.e)
    high = function(x.v + x.e)
    unsure = np.asarray(low != high) & np.isfinite(x.e) & is_finite(v)
    if not unsure.any() and np.isfinite(x.e).all():
        return Bounded(v, x.dtype, x.arithmetic, Errors(lost=x.lost))
    q = _variance_of_steps(function, v, x)
    if not x.arithmetic.scatters:
        # What scatters does so about the value, not about the middle.
        v = np.where(unsure, (low + high) / 2, v)
    error_of_unsure = np.maximum(magnitude_of(high - v), magnitude_of(low - v))
    error_of_sure = np.where(np.isinf(x.e), np.inf, 0.0)
    e = np.where(unsure, error_of_unsure, error_of_sure)
    return Bounded(v, x.dtype, x.arithmetic, Errors(e, q, x.lost))


def _variance_of_steps(function: Callable[..., Any], v: Any, *operands: Bounded) -> Floats | None:
    """Return the variance of v = function(*operands), which may jump, and whose operands scatter.

    `function` takes the operands' values. Its larger change over `_FAR` (4) deviations of all
    operands, up or down together, counts as 4 deviations: so that a jump nearby counts, and what
    lies farther off does not. None where no operand scatters.
    """
    if all(x.q is None for x in operands):
        return None
    far = [_FAR * np.sqrt(0.0 if x.q is None else x.q) for x in operands]
    above = function(*(x.v + by for x, by in zip(operands, far, strict=True)))
    below = function(*(x.v - by for x, by in zip(operands, far, strict=True)))
    off = np.maximum(magnitude_of(above - v), magnitude_of(below - v))
    return np.asarray(off / _FAR).astype(np.float64) ** 2


def remainder(a: Any, b: Any) -> Bounded:
    """Return the remainder of a/b with the sign of `b`, rounded once.

    Where `b` is infinite, `a` itself, or `b` if `a` has the other sign and is not 0. NaN where `a`
    is infinite or `b` is 0. If an operand has errors, any element may be off by |b| and these; it
    is lost where `b` only may be 0. One of both may be a plain number or array. Raises ValueError
    for shapes that do not broadcast.
    """
    return _remainder("remainder", a, b)


def fmod(a: Any, b: Any) -> Bounded:
    """Return the remainder of a/b with the sign of `a`, rounded once.

    `a` itself where `b` is infinite, NaN where `a` is infinite or `b` is 0. If an operand has
    errors, any element may be off by |b| and these; it is lost where `b` only may be 0. One of both
    may be a plain number or array. Raises ValueError for shapes that do not broadcast.
    """
    return _remainder("fmod", a, b)


def _remainder(name: str, a: Any, b: Any) -> Bounded:
    """Return the remainder `name`, "remainder" or "fmod", of a/b, rounded once.

    If an operand has errors, any element may be off by |b| and these, as the remainder jumps next
    to a multiple of b. It is lost where b may be 0, but is not exactly: NaN may stand there. One of
    both may be a plain number or array. Raises ValueError for shapes that do not broadcast.
    """
    a, b = both_bounded(a, b)
    x = a.with_rounding()
    y = b.with_rounding()
    function = real_function(name)
    v = function(x.v, y.v)
    if x.e is None and y.e is None:
        return Bounded(v, x.dtype, x.arithmetic, k=1.0)
    # Next to a multiple of b the remainder jumps.
    e = np.broadcast_to(magnitude_of(y.v) + add_present(x.e, y.e), v.shape)
    lost = union(x.lost, y.lost)
    if y.e is not None:
        may_be_0 = (magnitude_of(y.v) <= y.e) & (y.e > 0)
        lost = union(lost, may_be_0 * arrays.ANYTHING if may_be_0.any() else None)
    errors = Errors(e, _variance_of_steps(function, v, x, y), lost)
    return Bounded(v, x.dtype, x.arithmetic, errors, k=1.0)


# Indices.


@dataclass(frozen=True, eq=False)
class Choices(Kind):
    """Indices, labels or numbers of few bits, each of which may be any of several.

    They are what errors of bounded numbers leave open where these choose an index, or are rounded
    to a type of so few numbers that each can be listed.

    Attributes:
        v: One of those that each may be: what the formula's values give.
        admitted: All that each may be, along one axis more than `v` has, the last. Where an element
            may be fewer than others, its own `v` or another of them is repeated.
    """

    v: NDArray[Any]
    admitted: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the tensor that these are."""
        return self.v.dtype


def argmax(x: Bounded, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first maximum along `axis`, with every index that the errors admit.

    `Choices`, or plain ones if each is sure. None means all elements, in C order. The first NaN
    counts as the maximum, and `keepdims` leaves the axis in, with length 1. In arithmetic that
    flushes small results to 0, a lost element may be infinite; elsewhere it counts by its value and
    error.

    Raises ValueError if there is no element to choose from, and AxisError for an axis that `x`
    lacks.
    """
    x = x.with_rounding()
    v = np.argmax(x.v, axis=axis, keepdims=keepdims)
    v = _with_first_nan(x.v, v, axis, keepdims)
    if x.e is None:
        return v
    low, high = x.ends(far=x.arithmetic.flushes)
    return possible_indices(v, high >= low.max(axis=axis, keepdims=True), axis)


def argmin(x: Bounded, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first minimum along `axis`, with every index that the errors admit.

    `Choices`, or plain ones if each is sure. None means all elements, in C order. The first NaN
    counts as the minimum, and `keepdims` leaves the axis in, with length 1. In arithmetic that
    flushes small results to 0, a lost element may be infinite; elsewhere it counts by its value and
    error.

    Raises ValueError if there is no element to choose from, and AxisError for an axis that `x`
    lacks.
    """
    x = x.with_rounding()
    v = np.argmin(x.v, axis=axis, keepdims=keepdims)
    v = _with_first_nan(x.v, v, axis, keepdims)
    if x.e is None:
        return v
    low, high = x.ends(far=x.arithmetic.flushes)
    return possible_indices(v, -low >= (-high).max(axis=axis, keepdims=True), axis)


def _with_first_nan(x: Reals, index: Any, axis: int | None, keepdims: bool) -> Any:
    """Return `index`, the extreme's, or that of the first NaN, which NumPy misses in objects.

    `x` are the values in which `axis`, None for all elements, and `keepdims` gave the index. Of
    other values than mpmath's, `index` as it is.
    """
    if x.dtype != np.object_:
        return index
    nan = np.asarray(x != x, np.bool_)
    has_nan = nan.any(axis=axis, keepdims=keepdims)
    return np.where(has_nan, np.argmax(nan, axis=axis, keepdims=keepdims), index)


def possible_indices(v: Any, possible: Mask, axis: int | None) -> Any:
    """Return indices `v` along `axis` with those that are `possible`; `v` itself if each is sure.

    `possible` masks the elements of the array that was searched; `v` has its shape without `axis`,
    or with length 1 there. With `axis` None, v is one index in C order. `Choices` list, for each of
    `v`, the possible ones in order; where these are fewer than elsewhere, v's own index fills up.
    Sure are those with one possible element or, because of NaN, none.
    """
    if axis is None:
        lined = possible.reshape(1, -1)
    else:
        lined = np.moveaxis(possible, axis, -1)
    counts = lined.sum(-1)
    most = int(counts.max(initial=0))
    if most <= 1:
        return v
    # The possible ones come first, in order; the rest repeats the chosen one.
    order = np.argsort(~lined, axis=-1, stable=True)[..., :most]
    flat = v.reshape((1,) if axis is None else counts.shape)
    admitted = np.where(np.arange(most) < counts[..., None], order, flat[..., None])
    return Choices(v, admitted.reshape(*np.shape(v), most))


def top_k(
    x: Bounded, k: int, axis: int, largest: bool
) -> tuple[Bounded, Choices | NDArray[np.int64]]:
    """Return the `k` largest or smallest elements along `axis` in order, and their indices.

    NaN counts as the largest number, and of equal elements the one with the lower index comes
    first. The indices are plain if errors leave one order only; otherwise they are `Choices`, with
    all that may be there. The error in each place reaches what is there if all elements are as
    small, or all as large, as their errors allow. Lost elements count by their values, and are not
    lost any more. A `k` of 0 or less gives no element.

    Raises IndexError if `k` is larger than the axis, AxisError for an axis that `x` lacks.
    """
    x = x.with_rounding()
    values, order = plain.top_k(x.v, k, axis, largest)
    if x.exact:
        return Bounded(values, x.dtype, x.arithmetic), order

    def values_in_order(v: Reals) -> Reals:
        """Return the `k` largest or smallest of other values of the shape of `x`, in order."""
        return plain.top_k(v, k, axis, largest)[0]

    low, high = x.ends()
    lows = values_in_order(low)
    highs = values_in_order(high)
    e = np.maximum(magnitude_of(values - lows), magnitude_of(highs - values))
    bounded = Bounded(
        values, x.dtype, x.arithmetic, Errors(e, _variance_of_steps(values_in_order, values, x))
    )
    possible = _may_be_in_place(low, high, lows, highs, axis)
    # Each place is an index of its own, with the elements along the last axis of `possible`.
    places_last = possible_indices(np.moveaxis(order, axis, -1), possible, possible.ndim - 1)
    if not isinstance(places_last, Choices):
        return bounded, order
    # The places go back to `axis`, one of those before the last, which has all admitted.
    return bounded, Choices(order, np.moveaxis(places_last.admitted, -2, axis % x.ndim))


def _may_be_in_place(low: Reals, high: Reals, lows: Reals, highs: Reals, axis: int) -> Mask:
    """Mask the elements that may be in each place, of shape (…, places, elements).

    An element, from `low` to `high`, may be in a place if its interval meets that of the place,
    from `lows` to `highs`. These have places along `axis` where the others have elements; the mask
    has both at the end instead. False for NaN.
    """
    own_low = np.moveaxis(low, axis, -1)[..., None, :]
    own_high = np.moveaxis(high, axis, -1)[..., None, :]
    place_low = np.moveaxis(lows, axis, -1)[..., :, None]
    place_high = np.moveaxis(highs, axis, -1)[..., :, None]
    possible: Mask = (own_high >= place_low) & (own_low <= place_high)
    return possible
