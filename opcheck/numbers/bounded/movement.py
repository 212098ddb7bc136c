"""Movement of bounded numbers, where elements take along all that is known of them; and casts.

What gives more than `MOST_AXES` (60) axes raises NotSupported.
"""

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.numbers.arithmetic import FLOAT32, Arithmetic, expected, grid, narrow
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import (
    Bounded,
    Errors,
    Floats,
    Mask,
    Reals,
    both_bounded,
    magnitude_of,
)
from opcheck.numbers.bounded.choice import Choices, Truth, trunc, truth, where
from opcheck.numbers.bounded.elementwise import union
from opcheck.numbers.context import lifted
from opcheck.numbers.plain import Axes

#: Bytes of a 16-bit type.
_HALF = 2
#: A right answer may be off by so many deviations, as far as scatter is judged.
_FURTHEST = 60


def broadcast_to(x: Bounded, shape: Sequence[int]) -> Bounded:
    """Return `x` repeated along axes of length 1, and along new ones in front.

    Raises ValueError for a shape to which `x` does not broadcast.
    """
    return x.moved(np.broadcast_to, shape)


def expand_dims(x: Bounded, axis: int | Sequence[int]) -> Bounded:
    """Return `x` with new axes of length 1, at these places among the axes of the result.

    Raises AxisError for a place that the result lacks, ValueError for one that is repeated.
    """
    return x.moved(np.expand_dims, axis)


def flip(x: Bounded, axis: Axes = None) -> Bounded:
    """Return `x` with the order of its elements reversed along `axis`; None means all axes.

    Raises AxisError for an axis that `x` lacks, ValueError for one that is repeated.
    """
    return x.moved(np.flip, axis)


def permute_dims(x: Bounded, axes: Sequence[int]) -> Bounded:
    """Return `x` with its axes in the order `axes`.

    Raises ValueError if these are not all axes of `x`, each once; some may be counted from the end.
    """
    return x.moved(np.permute_dims, axes)


def reshape(x: Bounded, shape: int | Sequence[int]) -> Bounded:
    """Return the elements of `x`, in C order, in another shape.

    One length may be −1, which is computed. Raises ValueError if the number of elements does not
    fit, for two lengths of −1, and for one next to a length of 0.
    """
    return x.moved(np.reshape, shape)


def squeeze(x: Bounded, axis: Axes = None) -> Bounded:
    """Return `x` without these axes, or without all of length 1 if `axis` is None.

    `axis` is an int or a tuple. Raises ValueError for an axis of another length or repeated, and
    AxisError for one that `x` lacks.
    """
    return x.moved(np.squeeze, axis)


def tile(x: Bounded, repetitions: Sequence[int]) -> Bounded:
    """Return `x` repeated as a whole along each axis, the last ones if `repetitions` are fewer.

    If they are more, `x` gets new axes in front. Raises ValueError for a number below 0.
    """
    return x.moved(np.tile, repetitions)


def take(x: Bounded, index: Any, axis: int) -> Bounded:
    """Return the elements at `index` along `axis`; where an index may be another, any of those.

    The axes of `index`, a plain array or `Choices`, replace the axis. An unsure element has the
    value at `index.v`, and an error that reaches all others admitted; see `hull`. Raises IndexError
    for an index beyond the axis, and AxisError for an axis that `x` lacks.
    """
    if not isinstance(index, Choices):
        return x.moved(np.take, index, axis)
    chosen = x.moved(np.take, index.v, axis)
    admitted = x.moved(np.take, index.admitted, axis)
    return hull(chosen, admitted, axis % x.ndim + index.v.ndim)


def take_along_axis(x: Bounded, index: Any, axis: int) -> Bounded:
    """Return the element at each index along `axis`; where it may be another, any of those.

    `index`, a plain array or `Choices`, has the shape of `x` but along `axis`, and the result has
    its shape. An unsure element has the value at `index.v`, and an error that reaches all others
    admitted; see `hull`. Raises ValueError for another rank, IndexError for an index beyond the
    axis and for other axes that do not broadcast, and AxisError for an axis that `x` lacks.
    """
    if not isinstance(index, Choices):
        return x.moved(np.take_along_axis, index, axis)
    chosen = x.moved(np.take_along_axis, index.v, axis)
    place = axis % x.ndim
    wide = x.moved(lambda part: part[..., None])
    admitted = wide.moved(np.take_along_axis, index.admitted, place)
    return hull(chosen, admitted, x.ndim)


def hull(chosen: Bounded, admitted: Bounded, axis: int) -> Bounded:
    """Return the choice, with an error that reaches all that are admitted along `axis`.

    `axis` is one of `admitted` that `chosen` has not, -1 for the last; the shapes are equal without
    it. The choice is among those admitted, and an element with fewer choices repeats one. An
    element is lost (it may be an infinity or NaN) if an admitted one is. Where an infinity or NaN
    is one of several different choices, the value is finite, and its error infinite. The last
    rounding is among the errors, and k is 0. In arithmetic that scatters, an element with more than
    one choice scatters as far as the others are away.
    """
    chosen = chosen.with_rounding()
    admitted = admitted.with_rounding()
    own_error = 0.0 if admitted.e is None else admitted.e
    v = _finite_of_several(chosen.v, admitted.v, axis)
    away = magnitude_of(admitted.v - np.expand_dims(v, axis))
    e = np.max(away + own_error, axis=axis)
    q = None
    if chosen.arithmetic.scatters:
        own_variance = 0.0 if chosen.q is None else chosen.q
        q = own_variance + np.max(away, axis=axis) ** 2
    lost = admitted.lost
    if lost is not None:
        lost = np.asarray(np.bitwise_or.reduce(lost, axis=axis))
    return Bounded(v, chosen.dtype, chosen.arithmetic, Errors(e, q, lost))


def _finite_of_several(chosen: Reals, admitted: Reals, axis: int) -> Reals:
    """Return the values `chosen`, but finite ones where several different ones are admitted.

    In place of an infinity or NaN stands the first finite value along `axis` of `admitted`, or 0
    without any: no error can reach from an infinity or NaN to a number. Where all that are admitted
    are the same, nothing changes.
    """
    if arrays.is_finite(chosen).all():
        return chosen
    other = _first_finite(admitted, axis)
    each = np.expand_dims(chosen, axis)
    are_same = np.asarray((admitted == each) | ((admitted != admitted) & (each != each)), np.bool_)
    is_replaced = ~arrays.is_finite(chosen) & ~are_same.all(axis=axis)
    return np.where(is_replaced, other, chosen)


def _first_finite(v: Reals, axis: int) -> Reals:
    """Return the first finite value along `axis`, which the result lacks; 0 where there is none."""
    finite = arrays.is_finite(v)
    first = np.argmax(finite, axis=axis, keepdims=True)
    values = np.take_along_axis(np.where(finite, v, np.zeros_like(v)), first, axis)
    return np.squeeze(values, axis=axis)


def concat(arrays: Sequence[Any], axis: int = 0) -> Bounded:
    """Return the arrays one after the other along an axis that they have.

    At least one is bounded; the first of these gives the dtype and arithmetic, and plain ones are
    constants, which may round. Raises ValueError for rank 0 and for lengths or ranks that differ,
    and AxisError for an axis that they lack.
    """
    return _joined(np.concat, arrays, axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> Bounded:
    """Return arrays of one shape side by side along a new axis, at this place of the result.

    At least one is bounded; the first of these gives the dtype and arithmetic, and plain ones are
    constants, which may round. Raises ValueError for shapes that differ, and AxisError for a place
    that the result lacks.
    """
    return _joined(np.stack, arrays, axis)


def _joined(join: Callable[..., Any], operands: Sequence[Any], axis: int) -> Bounded:
    """Return `join(operands, axis)` as a bounded array, of operands of which one at least is.

    The first of these gives the dtype and arithmetic, and plain operands are constants like it.
    `join` is NumPy's `concat` or `stack`. Last roundings stay apart only if they are the same in
    all operands, and nothing is in common; otherwise all are among the errors. Raises ValueError
    for shapes that do not fit, AxisError for a missing axis.
    """
    first = next(x for x in operands if isinstance(x, Bounded))
    parts = [both_bounded(x, first)[0] for x in operands]
    v = join([x.v for x in parts], axis=axis)
    if all(x.exact for x in parts):
        return first.with_values(v, arrays.NO_ERRORS)
    keep_rounding = _are_rounded_alike(parts)

    def errors() -> Errors:
        """Return the joined errors; `e` includes the last roundings unless `keep_rounding`."""
        seen = parts if keep_rounding else [x.with_rounding() for x in parts]
        return Errors(
            e=_join_errors(join, [(x.shape, x.e) for x in seen], axis, 0.0),
            q=_join_errors(join, [(x.shape, x.q) for x in seen], axis, 0.0),
            lost=_join_errors(join, [(x.shape, x.lost) for x in seen], axis, 0),
        )

    if keep_rounding:
        min_relative_error = builtins.min(x.min_relative_error for x in parts)
    else:
        min_relative_error = builtins.min(x.min_total_relative_error for x in parts)
    return parts[0].with_joined_values(
        v, errors, keep_rounding=keep_rounding, min_relative_error=min_relative_error
    )


def _join_errors(
    join: Callable[..., Any],
    parts: Sequence[tuple[tuple[int, ...], Any]],
    axis: int,
    default: float,
) -> Any:
    """Return one field of errors, joined of `parts`: pairs of an array's shape and its errors.

    `default` stands for errors that are None; None if all are.
    """
    if all(errors is None for _, errors in parts):
        return None
    filled = [np.full(shape, default) if errors is None else errors for shape, errors in parts]
    return join(filled, axis=axis)


def _are_rounded_alike(parts: Sequence[Bounded]) -> bool:
    """Return True if all have the same last rounding, and no error in common."""
    first = parts[0]
    alike = all(x.k == first.k and x.grid == first.grid for x in parts)
    return alike and not any(x.has_common for x in parts)


def pad(x: Bounded, widths: Any, constant_values: float = 0) -> Bounded:
    """Return `x` with constants around it, which have no error.

    `widths` are the numbers of elements before and after: one integer for all, one pair, or a pair
    for each axis. The last rounding of `x` stays apart only next to zeros, and if nothing is in
    common; otherwise it is among the errors. Raises ValueError for widths below 0 and for a wrong
    number of them.
    """

    def framed(part: Any, value: float) -> Any:
        """Return the values or a field of the errors with `value` around them; None if None."""
        if part is None:
            return None
        return np.pad(part, widths, constant_values=value)

    v = framed(x.v, float(constant_values))
    if x.exact:
        return x.with_values(v, arrays.NO_ERRORS)
    # The last rounding is the array's own, and of a constant only 0 has it too.
    keep_rounding = not constant_values and not x.has_common

    def errors() -> Errors:
        """Return the errors of `x` with none around them, its last rounding unless it is kept."""
        old = x if keep_rounding else x.with_rounding()
        return Errors(framed(old.e, 0.0), framed(old.q, 0.0), framed(old.lost, 0))

    return x.with_joined_values(v, errors, keep_rounding=keep_rounding, min_relative_error=0.0)


def full_like(x: Bounded, value: float) -> Bounded:
    """Return a constant in the shape, dtype and arithmetic of `x`, without any error.

    It has none even if `value` is not a number of that arithmetic.
    """
    v = arrays.as_values(np.full(x.v.shape, value), x.v.dtype)
    return Bounded(v, x.dtype, x.arithmetic)


def zeros_like(x: Bounded) -> Bounded:
    """Return zeros in the shape, dtype and arithmetic of `x`, without any error."""
    return full_like(x, 0)


# Casts.


def astype(x: Bounded | Truth, dtype: Any, *, computes: bool = False) -> Any:
    """Return `x` in another type: a narrower float rounds, an integer cuts the fraction off.

    Booleans are x ≠ 0, a `Truth` if some are unsure. What follows in a floating type is computed as
    expected of a tensor of that type, in float32 for 16 bits, or if it `computes`, in the type
    itself; see `_arithmetic_after_cast` for arithmetic that is narrower already. A value that an
    integer type cannot hold, by its error or as NaN, is lost: any may come, as no specification
    defines it. What such an integer is cast to is lost too.

    Of a `Truth`, true is 1; what is unsure is 0 or 1: `Choices` in an integer type, and numbers
    with an error of 1 in a floating one.

    Raises TypeError for a type that is neither boolean, integer nor floating, such as a minifloat,
    and for a `Truth` in a floating type where the kind in force is not that of bounded numbers.
    """
    wanted = np.dtype(dtype)
    if isinstance(x, Truth):
        return _of_truth(x, wanted, computes=computes)
    if wanted.kind == "b":
        return _to_boolean(x)
    kind = dtypes.of(np.empty(0, wanted))
    if kind is None or kind.kind not in ("float", "int"):
        raise TypeError(f"no bounded numbers of type {wanted}")
    if kind.kind == "int":
        return _to_integer(x, kind)
    return _to_float(x, kind, _arithmetic_after_cast(x.arithmetic, kind, computes))


def _of_truth(x: Truth, dtype: np.dtype[Any], *, computes: bool) -> Truth | Choices | Bounded:
    """Return a `Truth` in another type: itself, `Choices` of 0 and 1, or numbers with errors.

    These are for booleans, integers, and floats. Raises TypeError for another type, and for floats
    where `lifting` leaves floats plain.
    """
    if dtype.kind == "b":
        return x
    if dtype.kind in "iu":
        both = np.stack([x.v, x.v ^ x.unsure], axis=-1)
        return Choices(x.v.astype(dtype), both.astype(dtype))
    zero, one = map(lifted, np.array([0, 1], dtype))
    number: Bounded = astype(where(x, one, zero), dtype, computes=computes)
    return number


def _to_boolean(x: Bounded) -> Truth | Mask:
    """Return x ≠ 0, unsure where an error reaches 0, and of lost integers, which may be any.

    True of NaN; a lost float counts by its value and error. Plain booleans if all are sure, else a
    `Truth`.
    """
    x = x.with_rounding()
    unsure = None
    if x.e is not None:
        unsure = (magnitude_of(x.v) <= x.e) & (x.e > 0)
    if x.dtype.kind in "iu" and x.lost is not None:
        unsure = union(unsure, x.lost > 0)
    return truth(np.asarray(x.v != 0), unsure)


def _to_integer(x: Bounded, dtype: dtypes.DType) -> Bounded:
    """Return `x` without its fraction, as numbers of the integer type `dtype`.

    What is or may be beyond the type's range, or NaN, is lost: any integer may come of it. What was
    lost before stays so. The values stay floats, and may be no integer next to a step: see `_step`.
    """
    low, high = dtypes.limits(dtype)
    whole = trunc(x)
    value = whole.v.astype(np.float64)
    e = 0.0 if whole.e is None else whole.e
    # The largest number of 64 bits is none of float64; one more is a power of two.
    outside = ~((value - e >= low) & (value + e < high + 1))
    lost = union(whole.lost, outside if outside.any() else None)
    return Bounded(whole.v, dtype.numpy, x.arithmetic, Errors(whole.e, lost=lost))


def _to_float(x: Bounded, dtype: dtypes.DType, arithmetic: Arithmetic) -> Bounded:
    """Return `x` in another floating type, rounded to it if that has fewer digits, or x has none.

    Integers have none. What follows is computed in `arithmetic`. In the same type, nothing but that
    changes. A lost integer may be any, and has an infinite error. Values beyond the type's range
    stay as they are.
    """
    if x.dtype.kind in "iu" and x.lost is not None:
        x = _with_errors_for_lost(x, x.lost > 0)
    if x.dtype == dtype.numpy:
        return replace(x, arithmetic=arithmetic, nonnegative=False)
    v = arrays.as_values(x.v, arrays.value_dtypes()[arithmetic.values])
    own = dtypes.of(np.empty(0, x.dtype))
    rounds = own is None or own.kind != "float" or grid(dtype).u > grid(own).u
    if x.exact and not rounds:
        # The new type has all digits of the old one.
        return Bounded(v, dtype.numpy, arithmetic)
    cast = Bounded(
        v,
        dtype.numpy,
        arithmetic,
        lambda: x.with_rounding().errors,
        min_relative_error=x.min_total_relative_error,
    )
    if rounds:
        cast.k = 1.0
        cast.grid = grid(dtype)
    return cast


def _with_errors_for_lost(x: Bounded, is_lost: Mask) -> Bounded:
    """Return `x`, integers, with infinite errors where it `is_lost`, and no lost elements.

    A lost integer may be any. A value that is infinite or NaN there becomes 0, which an error can
    be around. The last rounding is among the errors.
    """
    x = x.with_rounding()
    zeros = np.zeros_like(x.v)
    v = np.where(is_lost & ~arrays.is_finite(x.v), zeros, x.v)
    e = np.where(is_lost, np.inf, 0.0 if x.e is None else x.e)
    return Bounded(v, x.dtype, x.arithmetic, Errors(e))


def cast_to_half(x: Bounded) -> Bounded:
    """Return what a Cast gave, `x` of a 16-bit type, as numbers of that type, in its shape.

    `x` comes from `astype`: a last rounding is that to its type. Every implementation rounds. So
    an element is the number next to its value, or infinite; its error is the distance to the other
    numbers that an implementation may have there, mostly 0. An element that may be infinite or not
    is lost, with the largest number as an end; unless its error is as large as its value: then it
    has that error. NaN stays, without an error.

    In an arithmetic that `keeps_casts` an implementation may leave out the rounding. Values and
    errors stay as they are, except for what is infinite in any case.
    """
    dtype = _float_type(x)
    v = x.v.astype(np.float64)
    e = _error_before_cast(x, v)
    # What the value and both ends of its error are rounded to.
    number = dtypes.round_to(v, dtype).astype(np.float64)
    low = dtypes.round_to(v - e, dtype).astype(np.float64)
    high = dtypes.round_to(v + e, dtype).astype(np.float64)
    is_beyond = np.isinf(low) | np.isinf(high)
    if x.arithmetic.keeps_casts:
        is_infinite = is_beyond & (low == high)
        values = np.where(is_infinite, arrays.as_values(number, x.v.dtype), x.v)
        return x.with_values(values, x._errors, nonnegative=x.nonnegative)
    is_unsure = is_beyond & (low < high)
    # An error as large as the value decides nothing, overflow included.
    is_lost = is_unsure & (e < np.abs(v))
    _, largest = dtypes.limits(dtype)
    # What may be infinite or not is a finite number here, and so are its ends.
    number = np.where(is_unsure, np.clip(number, -largest, largest), number)
    low = np.where(is_lost, np.maximum(low, -largest), np.where(is_unsure, v - e, low))
    high = np.where(is_lost, np.minimum(high, largest), np.where(is_unsure, v + e, high))
    error = _distance_to_ends(number, low, high)
    lost = union(x.lost, is_lost if is_lost.any() else None)
    values = arrays.as_values(number, x.v.dtype)
    if not error.any() and lost is None:
        return Bounded(values, x.dtype, x.arithmetic)
    errors = Errors(error, _variance_after_cast(x, v, number), lost)
    return Bounded(values, x.dtype, x.arithmetic, errors, nonnegative=x.nonnegative)


def _float_type(x: Bounded) -> dtypes.DType:
    """Return the element type of the tensor that `x` stands for; AssertionError if it has none."""
    dtype = dtypes.of(np.empty(0, x.dtype))
    assert dtype is not None
    return dtype


def _error_before_cast(x: Bounded, v: Floats) -> Floats:
    """Return the error bound of each element of `x` before its last rounding; 0 for none.

    `v` are its values in float64; what that loses of them is in the bound. In arithmetic that
    flushes, what is too small may be read as 0. For infinities and NaN it is 0.
    """
    e = np.abs(x.v - v).astype(np.float64)
    e = np.where(np.isfinite(v), e, 0.0)
    if x.e is not None:
        e = e + x.e
    if x.arithmetic.flushes:
        magnitude = np.abs(v)
        e = np.where(magnitude < x.arithmetic.floor, np.maximum(e, magnitude), e)
    return e


def _distance_to_ends(number: Floats, low: Floats, high: Floats) -> Floats:
    """Return how far the farther of two ends is from a `number` between; 0 where they are equal.

    0 also where an end is NaN.
    """
    with np.errstate(invalid="ignore"):  # of infinities that are equal
        return np.where(low < high, np.maximum(high - number, number - low), 0.0)


def _variance_after_cast(x: Bounded, v: Floats, number: Floats) -> Floats | None:
    """Return the variance of what a Cast makes of the values `v`: a `number` of its type.

    None where the arithmetic does not scatter. Where no value within `_FURTHEST` deviations rounds
    to another number, it is 0. Elsewhere it is that of the values and of one rounding to the type,
    but at most the square of the distance to these other numbers.
    """
    if not x.arithmetic.scatters:
        return None
    dtype = _float_type(x)
    before = np.zeros(v.shape) if x.q is None else x.q
    furthest = _FURTHEST * np.sqrt(before)
    low = dtypes.round_to(v - furthest, dtype).astype(np.float64)
    high = dtypes.round_to(v + furthest, dtype).astype(np.float64)
    off = _distance_to_ends(number, low, high)
    rounding = dtypes.half_ulp(v, dtype) ** 2 / 3
    return np.where(off > 0, np.minimum(off**2, before + rounding), 0.0)


def _arithmetic_after_cast(old: Arithmetic, dtype: dtypes.DType, computes: bool) -> Arithmetic:
    """Return the arithmetic of what follows a cast to the floating `dtype`.

    `old` is that of the number that is cast. A type of 16 bits is computed in itself if it
    `computes`, else in `old.half`, without that in `old` if it is of 16 bits, or in float32. A
    wider type is computed as expected of it; or, if it `computes`, `old` is of 16 bits and
    `old.everywhere` is set, in `old.half` or without that in `old`. What holds for all of a node
    stays: `Arithmetic.turned_into`.
    """
    # Of 16 bits are results that are rounded to such a type, or stored in one.
    is_half = old.stored is not None or old.grid.dtype.numpy.itemsize == _HALF
    half = old.half or (old if is_half else None)
    if dtype.numpy.itemsize > _HALF:
        new = expected(dtype)
        if half and is_half and computes and old.everywhere:
            new = half
    elif computes:
        new = narrow(dtype)
    else:
        new = half or FLOAT32
    return replace(old.turned_into(new), half=half)
