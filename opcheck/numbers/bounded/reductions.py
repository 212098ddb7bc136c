"""Sums, products, extremes and contractions of bounded numbers.

Implementations add and multiply in any order: one after the other, in lanes, by a tree, fused or
not. The bounds hold for each of them; docs/bounds.md derives them.
"""

import builtins
import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Arithmetic
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import (
    Bounded,
    Errors,
    Floats,
    Lost,
    Mask,
    both_bounded,
    is_finite,
    magnitude_of,
)
from opcheck.numbers.bounded.choice import extreme
from opcheck.numbers.bounded.elementwise import (
    Bound,
    add_present,
    anything_where,
    divide,
    result,
    union,
)
from opcheck.numbers.plain import Axes, axes_of

#: A linear function of arrays, such as a sum over axes.
Linear: TypeAlias = Callable[[Any], Any]
#: Takes size, total and u: |x| + e of each term, the sums of these, and the unit roundoff. Returns
#: a bound on what roundings add to the error of each sum.
RoundingRule: TypeAlias = Callable[[Floats, Floats, float], Floats]
#: Takes the terms, total and u as above. Returns the variance of the roundings of each sum.
VarianceRule: TypeAlias = Callable[[Bounded, Floats, float], Floats]
#: What the products of error terms may add to a first-order bound.
_SECOND_ORDER = 1.01
#: The level of a lost result whose sign is known: compensated summation makes NaN of an infinity,
#: and so does a factor that was flushed to 0.
_OF_ONE_SIGN = arrays.OVERFLOWED | arrays.UNORDERED
#: A step may double a product that is flushed; 2 to more than so many steps is infinite anyway.
_MOST_DOUBLINGS = 1000


def _count_before(x: Bounded, axis: int) -> Any:
    """Return 0, 1, 2 …, the number of elements before each along `axis`, with length 1 elsewhere.

    Raises IndexError for an axis that `x` lacks.
    """
    lengths = [1] * x.ndim
    lengths[axis] = -1
    return np.arange(x.shape[axis]).reshape(lengths)


# Sums.


def sum(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the sum over `axis`, each addition of which loses at most u of its result.

    With S = Σ w and w = |x| + e, no order loses more than (n − 1)·u·S (Jeannerod and Rump). Nor can
    an addition lose more than the smaller of its operands, so that no order loses more than Σ
    min(u·S, w) over all terms but the largest.

    0 of no elements, without error; a single term is not rounded. All roundings are among the
    errors, and k is 0, unless the arithmetic stores results in a narrower type. None means all
    axes; `keepdims` leaves them in, with length 1, and makes `x` the result's `addends`, which
    `divide` uses. Raises AxisError for an axis that `x` lacks, ValueError for one that is repeated.
    """
    axes = axes_of(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)
    if count == 1:
        return x.moved(lambda part: np.sum(part, axis=axes, keepdims=keepdims, dtype=part.dtype))

    additions = builtins.max(count - 1, 0)

    def add_up(part: Any) -> Any:
        """Return the sums of values or errors over the axes."""
        return np.sum(part, axis=axes, keepdims=keepdims)

    def rounding(size: Floats, total: Floats, u: float) -> Floats:
        """Return the smaller of both bounds; `size` is w, and `total` its sum S."""
        in_any_order: Floats = total * (additions * u)
        if additions <= 1:
            return in_any_order
        total_of_each = total if keepdims else np.expand_dims(total, axes)
        lost_of_each = np.minimum(size, total_of_each * u)
        largest = np.max(lost_of_each, axis=axes, keepdims=keepdims)
        without_largest: Floats = add_up(lost_of_each) - largest
        return np.minimum(in_any_order, without_largest)

    def variance(x: Bounded, total: Floats, u: float) -> Floats:
        """Return the variance of a sum that is taken one term after the other."""
        return _variance_of_running_sum(x.v, axes, u)

    total = _summed(x, add_up, rounding, variance)
    total.addends = x if keepdims else None
    return total


def mean(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the sum over `axis`, divided by the number of its elements; NaN of none.

    The errors are those of `sum`, and of a division. None means all axes; `keepdims` leaves them
    in, with length 1. Raises AxisError for an axis that `x` lacks, ValueError for one that is
    repeated.
    """
    count = math.prod(x.shape[a] for a in axes_of(axis, x.ndim))
    return divide(sum(x, axis, keepdims), count)


def cumulative_sum(x: Bounded, axis: int = 0) -> Bounded:
    """Return the running sums along `axis`, each in any order, with roundings up to (n − 1)·u·S.

    They have the shape of `x`, and each includes its own element: it is one of n terms, and S is
    the sum of their |x| + e. Raises IndexError for an axis that `x` lacks.
    """
    additions = _count_before(x, axis)
    add_up = partial(np.cumsum, axis=axis)

    def rounding(size: Floats, total: Floats, u: float) -> Floats:
        """Return (n − 1)·u·S for each running sum."""
        bound: Floats = total * (additions * u)
        return bound

    def variance(x: Bounded, total: Floats, u: float) -> Floats:
        """Return u²/3·Σ s² of all running sums s up to each, of which the first is not rounded."""
        partial_sums = np.where(additions > 0, magnitude_of(add_up(x.v)), 0.0)
        squares: Floats = add_up(partial_sums**2) * (u * u / 3)
        return squares

    return _summed(x, add_up, rounding, variance)


def sums(x: Bounded, add_up: Linear, terms: Any) -> Bounded:
    """Return `add_up(x)`, each element of which is a sum of `terms` elements of `x`, in any order.

    `add_up` is linear, and called with plain arrays in the shape of `x`: values at once, and errors
    and magnitudes when these are asked for. `terms`, an integer or an array that broadcasts to the
    output, is the number of elements that each output adds up; sums of one term at most are not
    rounded. Raises what `add_up` raises.
    """
    if np.max(terms, initial=0) <= 1:
        return x.moved(add_up)
    count = np.asarray(terms)

    def rounding(size: Floats, total: Floats, u: float) -> Floats:
        """Return (n − 1)·u·S for each sum of n terms."""
        bound: Floats = total * (np.maximum(count - 1, 0) * u)
        return bound

    def variance(x: Bounded, total: Floats, u: float) -> Floats:
        """Return n·u²·S²/9 for each sum of n terms."""
        # The partial sums of terms of one sign grow evenly: Σ (j/n)²·S² is about n·S²/3.
        bound: Floats = total**2 * (count * u * u / 9)
        return bound

    return _summed(x, add_up, rounding, variance)


def _summed(x: Bounded, add_up: Linear, rounding: RoundingRule, variance: VarianceRule) -> Bounded:
    """Return `add_up(x)`: the terms' errors add up, and roundings come on top.

    `rounding(w, S, u)` and `variance(x, S, u)` return the error and the variance of the roundings
    for each sum, with w = |x| + e and S the sum of w; the error is multiplied by 1.01 for terms of
    second order. The last rounding is among these, and k is 0, unless the arithmetic stores results
    in a narrower type. A sum that is infinite or NaN has no error, and one that may leave the range
    is lost. The result is never negative if `x` is not.
    """
    v = add_up(x.v)

    def errors() -> Errors:
        """Return the errors of the sums, those of the terms with their last roundings included."""
        old = x.with_rounding()
        u = old.arithmetic.u
        size = magnitude_of(old.v)
        if old.e is not None:
            size = size + old.e
        total = add_up(size)
        e = rounding(size, total, u) * _SECOND_ORDER
        propagated = None if old.e is None else add_up(old.e)
        e = add_present(e, propagated, _error_of_flushed_sums(old, size, add_up))
        q = None
        if old.arithmetic.scatters:
            q = np.reshape(variance(old, total, u), np.shape(v))
            q = add_present(q, None if old.q is None else add_up(old.q))
        of_terms = None if old.lost is None else _lost_with_terms(add_up, old.v, old.lost, v)
        lost = of_terms
        if _may_leave_range(total, old.arithmetic):
            above, below = _by_sign(old)
            lost = union(lost, _lost_in_sums(add_up(above), add_up(below), v, old.arithmetic))
        return Errors(_without_nonfinite(e, v), q, lost)

    return result(
        v,
        x,
        errors,
        k=0.0,
        min_relative_error=x.min_total_relative_error,
        nonnegative=x.never_negative(),
    )


def _variance_of_running_sum(v: arrays.Reals, axes: tuple[int, ...], u: float) -> Floats:
    """Return the variance of the roundings of a running sum, u²/3·Σ sⱼ² of all partial sums sⱼ.

    The first term is not one of these. The sum is over `axes` of the values `v`, which the result
    lacks; 0 where it is not finite, and of one term.
    """
    lined = np.moveaxis(v.astype(np.float64), axes, range(len(axes)))
    # A length of −1 cannot be found out for rows without elements.
    count = math.prod(lined.shape[: len(axes)])
    lined = lined.reshape(count, *lined.shape[len(axes) :])
    partial_sums = np.cumsum(lined, axis=0)[1:]
    squares: Floats = np.sum(partial_sums * partial_sums, axis=0) * (u * u / 3)
    return np.where(np.isfinite(squares), squares, 0.0)


def _without_nonfinite(e: Floats, v: Any) -> Floats:
    """Return the bounds `e` of results, 0 for results `v` that are infinite or NaN.

    `e` itself if it is finite.
    """
    if np.isfinite(e).all():
        return e
    return np.where(is_finite(np.asarray(v)), e, 0.0)


def _by_sign(x: Bounded) -> tuple[Floats, Floats]:
    """Return how large each number of `x` may be above 0, and how large below 0, without its sign.

    That is |x| + e on the number's own side, and e − |x| on the other, if that is above 0. `x` has
    its last roundings in e.
    """
    error = np.zeros(()) if x.e is None else x.e
    size = magnitude_of(x.v)
    own = size + error
    other = np.maximum(error - size, 0.0)
    return np.where(x.v >= 0, own, other), np.where(x.v <= 0, own, other)


def _may_leave_range(total: Floats, arithmetic: Arithmetic) -> bool:
    """Return True if a partial sum may exceed the largest number; `total` are sums of |terms| + e.

    A total that is NaN may, too.
    """
    return not bool(np.max(total, initial=0) * _SECOND_ORDER <= arithmetic.largest_sum)


def _lost_with_terms(add_up: Linear, terms: arrays.Reals, lost: Lost, v: Any) -> Lost:
    """Return the lost elements of the sums v = add_up(terms) of which a term is lost.

    `lost` has the levels of the terms, in their shape. If all lost terms of a sum have its sign,
    NaN or an infinity of that sign may stand there; else, and of a term that may be of either sign,
    `ANYTHING`. 0 for sums without a lost term.
    """

    def any_of(mask: Mask) -> Mask:
        """Mask the sums with a term of which this mask of the terms is true."""
        return np.asarray(add_up(mask.astype(np.float64)) > 0)

    v = np.asarray(v)
    has_positive = any_of((lost > 0) & (terms > 0))
    has_negative = any_of((lost > 0) & (terms < 0))
    has_either = any_of((lost == arrays.ANYTHING) | ((lost > 0) & (terms == 0)))
    keeps_sign = np.where(v > 0, ~has_negative, np.where(v < 0, ~has_positive, False))
    is_lost = has_positive | has_negative | has_either
    level = np.where(keeps_sign & ~has_either, _OF_ONE_SIGN, arrays.ANYTHING)
    return np.where(is_lost, level, 0)


def _lost_in_sums(positive: Floats, negative: Floats, v: Any, arithmetic: Arithmetic) -> Lost:
    """Return the lost elements of sums `v`: those of which a partial sum may leave the range.

    In some order a partial sum is as large as all terms above 0, `positive`, or as all below 0,
    −`negative`, both with the errors of the terms. If only that of the sum's own sign may exceed
    the largest number, no partial sum is an infinity of the other sign: NaN and one of its own sign
    may stand there. Of a sum in which both may, or that is 0, `ANYTHING`. 0 elsewhere.
    """
    v = np.asarray(v)

    def is_beyond(partial_sum: Floats) -> Mask:
        """Mask the partial sums that may exceed the largest number; also those that are NaN."""
        return np.asarray(~(partial_sum * _SECOND_ORDER <= arithmetic.largest_sum))

    of_its_sign = np.where(v < 0, negative, positive)
    of_the_other = np.where(v < 0, positive, negative)
    level = np.where(is_beyond(of_the_other) | (v == 0), arrays.ANYTHING, _OF_ONE_SIGN)
    is_lost = is_beyond(np.maximum(of_its_sign, of_the_other)) & is_finite(v)
    return np.where(is_lost, level, 0)


def _error_of_flushed_sums(x: Bounded, size: Floats, add_up: Linear) -> Any:
    """Return the error of sums of `x`, in any order, whose small partial sums are flushed to 0.

    `size` is |x| + e, and `x` has its last rounding in e. None in arithmetic that does not flush.

    Partial sums of one sign grow, so that only small terms vanish. Any other flushed sum is one of
    a positive and a negative partial sum, which are gone then. So there are at most as many of
    these as there are terms of either sign, and each loses less than the floor, below which sums
    may become 0. Nor does a term lose more than its size, or than the floor.
    """
    if not x.arithmetic.flushes:
        return None
    floor = x.arithmetic.floor
    small = np.where(size < floor, size, 0.0)
    low, high = x.ends()
    positive = add_up((high > 0).astype(np.float64))
    negative = add_up((low < 0).astype(np.float64))
    cancelled = floor * np.minimum(positive, negative)
    return np.minimum(add_up(small) + cancelled, add_up(np.minimum(size, floor)))


# Products.


def prod(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the product over `axis`, each multiplication rounded, in any order; 1 of no elements.

    All roundings are among the errors, and k is 0, unless the arithmetic stores results in a
    narrower type. None means all axes; `keepdims` leaves them in, with length 1. Raises AxisError
    for an axis that `x` lacks, ValueError for one that is repeated.
    """
    axes = axes_of(axis, x.ndim)
    factors = math.prod(x.shape[a] for a in axes)

    def along_axes(combine: np.ufunc) -> Callable[[Any], Any]:
        """Return the function that joins elements over the axes by a ufunc; see `_multiplied`."""
        return partial(combine.reduce, axis=axes, keepdims=keepdims)

    return _multiplied(x, builtins.max(factors - 1, 0), along_axes)


def cumulative_prod(x: Bounded, axis: int = 0) -> Bounded:
    """Return the running products along `axis`, each multiplication rounded, in any order.

    They have the shape of `x`, and each includes its own element. Raises IndexError for an axis
    that `x` lacks.
    """

    def along_axis(combine: np.ufunc) -> Callable[[Any], Any]:
        """Return the function that joins each element with those before; see `_multiplied`."""
        return partial(combine.accumulate, axis=axis)

    return _multiplied(x, _count_before(x, axis), along_axis)


def _multiplied(
    x: Bounded, steps: Any, along: Callable[[np.ufunc], Callable[[Any], Any]]
) -> Bounded:
    """Return the products that `along(np.multiply)` takes, each in `steps` multiplications.

    `steps` is an integer, or an array that broadcasts to the result. `along(combine)` returns the
    function that joins the elements of an array in the shape of `x` to one in the shape of the
    result by the ufunc `combine`: factors, their relative variances, and levels of lost elements.

    Π (1 + δᵢ) of n factors is 1 + θ with |θ| ≤ γₙ = n·u / (1 − n·u) (Higham, lemma 3.1). All
    roundings are among the errors. A product that is infinite or NaN has no error, and one of which
    a partial product may leave the range is lost.
    """
    multiply = along(np.multiply)
    v = multiply(x.v)

    def errors() -> Errors:
        """Return the errors of the products, those of the factors and all roundings included."""
        old = x.with_rounding()
        u = old.arithmetic.u
        size = magnitude_of(np.asarray(v))
        each = magnitude_of(old.v)
        # What the multiplications round, and then what the factors are off by.
        e = size * (steps * u * _SECOND_ORDER)
        if old.e is not None:
            largest = multiply(each + old.e)
            e = e + (largest - size) * (1 + (steps + 1) * u)
        # In some order a partial product is that of all factors above 1, or of those below.
        error_of_each = np.zeros(()) if old.e is None else old.e
        most = multiply(np.maximum(each + error_of_each, 1.0))
        least = multiply(np.clip(each - error_of_each, 0.0, 1.0))
        lost = _lost_in_products(size, most, steps, old.arithmetic.largest)
        if lost is not None:
            may_turn = np.asarray((error_of_each > 0) & (each <= error_of_each), np.int8)
            lost = _with_signs(lost, size, along(np.bitwise_or)(np.broadcast_to(may_turn, x.shape)))
        if old.lost is not None:
            lost = union(lost, along(np.bitwise_or)(old.lost))
        if old.arithmetic.flushes:
            e = e + _error_of_flushed_products(size, most, least, steps, old.arithmetic.floor)
        q = None
        if old.arithmetic.scatters:
            # Relative variances of factors add up.
            q = (size * u) ** 2 * ((steps + 1) / 3)
            if old.q is not None:
                relative = np.nan_to_num(old.q / each**2, posinf=np.inf)
                q = q + size**2 * along(np.add)(relative)
        return Errors(_without_nonfinite(e, v), q, lost)

    return result(v, x, errors, k=0.0)


def _lost_in_products(size: Floats, most: Floats, steps: Any, largest: float) -> Lost | None:
    """Return the lost products: those of which a partial product may exceed `largest`.

    `size` is |v| of each product, `most` the size of its largest partial product, and `steps` the
    number of its multiplications. NaN or an infinity of the product's sign may stand there. 0 for
    others, also for those whose `size` is infinite or NaN. None if none is multiplied.
    """
    has_steps = np.asarray(steps) > 0
    if not np.any(has_steps):
        return None
    is_beyond = np.isfinite(size) & ~(most * _SECOND_ORDER <= largest)
    return np.where(is_beyond & has_steps, _OF_ONE_SIGN, 0)


def _with_signs(lost: Lost, size: Floats, may_turn: Lost) -> Lost:
    """Return the levels of `lost` products, by what is known of the signs of their factors.

    `may_turn` is true of the products with a factor whose sign is not sure: `ANYTHING` may stand
    there. A product of the `size` 0 has a factor 0, which makes NaN of an infinity: `UNORDERED`.
    """
    level = np.where(size == 0, arrays.UNORDERED, lost)
    return np.where(lost > 0, np.where(may_turn, arrays.ANYTHING, level), 0)


def _error_of_flushed_products(
    size: Floats, most: Floats, least: Floats, steps: Any, floor: float
) -> Any:
    """Return the error of products of this `size` whose small partial products are flushed.

    Partial products are from `least` to `most` in size. Each of `steps` multiplications may make 0
    of what is below the `floor`, or round it up to twice as much. 0 for products of which no
    partial product is that small.
    """
    doubled = size * (2.0 ** np.minimum(steps, _MOST_DOUBLINGS) - 1)
    flushed = np.minimum(doubled, steps * most * floor)
    return np.where((least < floor) & (size > 0), flushed, 0.0)


# Extremes.


def max(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the largest element over `axis`; NaN if one is.

    Its least and greatest value are the largest ones of the elements' least and greatest values.
    None means all axes; `keepdims` leaves them in, with length 1. Raises AxisError for an axis that
    `x` lacks, ValueError if there is no element to choose from or an axis is repeated.
    """
    return _extreme(np.maximum, x, axis, keepdims)


def min(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the smallest element over `axis`; NaN if one is.

    Its least and greatest value are the smallest ones of the elements' least and greatest values.
    None means all axes; `keepdims` leaves them in, with length 1. Raises AxisError for an axis that
    `x` lacks, ValueError if there is no element to choose from or an axis is repeated.
    """
    return _extreme(np.minimum, x, axis, keepdims)


def _extreme(choose: np.ufunc, x: Bounded, axis: Axes, keepdims: bool) -> Bounded:
    """Return the extreme over `axis` that `choose`, `np.maximum` or `np.minimum`, finds.

    The errors are those of `choice.extreme`. None means all axes; `keepdims` leaves them in, with
    length 1. Raises AxisError for an axis that `x` lacks, ValueError if there is no element to
    choose from or an axis is repeated.
    """
    axes = axes_of(axis, x.ndim)
    last = x.ndim - 1

    def along_axes(combine: np.ufunc) -> Callable[[Any], Any]:
        """Return the function that joins elements over the axes by a ufunc; see `extreme`."""
        return partial(combine.reduce, axis=axes, keepdims=keepdims)

    if axes == (last,) and x.shape[last] and x.v.dtype != object:
        # NumPy finds the place in a short row several times as fast as the number there.
        find = np.argmax if choose is np.maximum else np.argmin
        v = np.take_along_axis(x.v, find(x.v, axis=last, keepdims=True), last)
        if not keepdims:
            v = v[..., 0]
    else:
        v = along_axes(choose)(x.v)
    return extreme(along_axes(choose), along_axes, v, x)


# Contractions.


def matmul(a: Any, b: Any) -> Bounded:
    """Return the matrix product, each element a sum of products in any order, fused or not.

    The shapes are those of `np.matmul`; 0 for products of no terms. One of both may be a plain
    array. The errors are those of `bilinear`. Raises ValueError for lengths that do not fit or a
    `b` of rank 0, IndexError for an `a` of rank 0.
    """
    return bilinear(a, b, plain.matmul, a.shape[-1])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Bounded:
    """Return the sum of products over `axes`, in any order, fused or not.

    `axes` is as for `np.tensordot`: how many, the last of `a` and the first of `b`, or those of `a`
    and those of `b` in two sequences. One of both may be a plain array. The errors are those of
    `bilinear`. Raises ValueError for lengths that differ, IndexError for axes that there are not.
    """
    of_a = range(-axes, 0) if isinstance(axes, int) else axes[0]
    terms = math.prod(a.shape[axis] for axis in of_a)
    return bilinear(a, b, lambda x, y: np.tensordot(x, y, axes), terms)


def bilinear(
    a: Any, b: Any, product: Callable[..., Any], terms: int, addend: Any = None
) -> Bounded:
    """Return `product(a, b)`, or that plus `addend`: sums of `terms` products, in any order.

    An inner product y of n terms loses at most (n − 1)·u·S + u·|y| with S = Σ |aᵢ·bᵢ|, to first
    order in n·u. The second part is the last rounding, k = 1. The addend counts as a term; without
    terms, there is no rounding. `product` takes plain arrays in the shapes of `a` and `b`: values
    at once, and errors and magnitudes when these are asked for.

    One of `a` and `b`, and the addend, may be plain arrays. Raises what `product` raises, and
    ValueError for an addend that does not broadcast.
    """
    a, b = both_bounded(a, b)
    v = product(a.v, b.v)
    min_relative_error = a.min_total_relative_error + b.min_total_relative_error
    if addend is not None:
        addend, _ = both_bounded(addend, a)
        v = v + addend.v
        min_relative_error = builtins.min(min_relative_error, addend.min_total_relative_error)
        terms = terms + 1

    def errors() -> Errors:
        """Return the errors of the sums of products, without the last rounding.

        They are those of the operands, of the additions and of flushing. A sum is lost if a term
        is, or if a partial sum may leave the range.
        """
        x = a.with_rounding()
        y = b.with_rounding()
        extra = None if addend is None else addend.with_rounding()
        left = magnitude_of(x.v)
        right = magnitude_of(y.v)
        # This is S; `total` is S with the errors of the terms.
        size = product(left, right)
        e = _propagated_error(x, y, product)
        if extra is not None:
            size = size + magnitude_of(extra.v)
            e = add_present(e, extra.e)
        total = size if e is None else size + e
        # With one term there is the product's rounding alone.
        if terms > 1:
            e = add_present(e, total * ((terms - 1) * x.arithmetic.u * _SECOND_ORDER))
        if x.arithmetic.flushes:
            e = add_present(e, np.minimum(total, terms * x.arithmetic.floor))
        if e is not None:
            e = _without_nonfinite(e, v)
        q = None
        if x.arithmetic.scatters:
            q = _variance_of_products(x, y, product, terms, v)
            q = add_present(q, None if extra is None else extra.q)
            q = np.where(np.isfinite(q), q, 0.0)
        lost = union(
            _anything_with(lambda part: product(part, np.ones_like(right)), x.lost),
            _anything_with(lambda part: product(np.ones_like(left), part), y.lost),
            None if extra is None else anything_where(extra.lost, lambda: True),
        )
        if _may_leave_range(total, x.arithmetic):
            positive, negative = _sums_by_sign(x, y, extra, product)
            lost = union(lost, _lost_in_sums(positive, negative, v, x.arithmetic))
        return Errors(e, q, lost)

    return result(
        v,
        a,
        errors,
        k=1.0 if terms else 0.0,
        min_relative_error=min_relative_error,
    )


def _sums_by_sign(
    x: Bounded, y: Bounded, extra: Bounded | None, product: Callable[..., Any]
) -> tuple[Any, Any]:
    """Return the sums of all terms above 0, and of all below 0 without their sign, in any order.

    The terms are those of product(x, y), and `extra`, None for none. Each counts as the largest
    and as the smallest that its errors admit. `x`, `y` and `extra` have their last roundings in
    their errors.
    """
    x_above, x_below = _by_sign(x)
    y_above, y_below = _by_sign(y)
    positive = product(x_above, y_above) + product(x_below, y_below)
    negative = product(x_above, y_below) + product(x_below, y_above)
    if extra is None:
        return positive, negative
    extra_above, extra_below = _by_sign(extra)
    return positive + extra_above, negative + extra_below


def _anything_with(add_up: Linear, lost: Lost | None) -> Lost | None:
    """Return `ANYTHING` for the sums of products of which a factor is lost, 0 for others.

    `lost` has the shape of the factors, and None stays None; `add_up` counts the factors of a sum
    for which it is given ones.
    """
    if lost is None:
        return None
    is_lost = np.asarray(add_up((lost > 0).astype(np.float64)) > 0)
    return np.where(is_lost, arrays.ANYTHING, 0)


def _propagated_error(x: Bounded, y: Bounded, product: Callable[..., Any]) -> Bound:
    """Return the error of product(x, y) that comes of those of x and y; None if neither has any.

    With these, d of x and e of y, it is product(d, |y|) + product(|x| + d, e).
    """
    e = None
    if x.e is not None:
        e = product(x.e, magnitude_of(y.v))
    if y.e is not None:
        largest = magnitude_of(x.v)
        if x.e is not None:
            largest = largest + x.e
        e = add_present(e, product(largest, y.e))
    return e


def _variance_of_products(
    x: Bounded, y: Bounded, product: Callable[..., Any], terms: int, v: Any
) -> Any:
    """Return the variance of v, sums of n products a·b of x and y: n is `terms`.

    That of roundings is u²/3·(Σ(ab)²·(n/2 + 1) + v²·n/3): partial sums are a walk of independent
    steps upon an even growth, and the products are rounded, too. Those of x and y come on top.
    """
    u = x.arithmetic.u
    squares_of_x = magnitude_of(x.v) ** 2
    squares_of_y = magnitude_of(y.v) ** 2
    squares = product(squares_of_x, squares_of_y)
    walk = squares * (terms / 2) + magnitude_of(np.asarray(v)) ** 2 * (terms / 3)
    q = (walk + squares) * (u * u / 3)
    q = add_present(q, None if x.q is None else product(x.q, squares_of_y))
    return add_present(q, None if y.q is None else product(squares_of_x, y.q))
