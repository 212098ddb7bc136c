"""Sums, products and extremes of bounded numbers, in whatever order they are computed; and
movement and casts, where elements take along all that is known of them."""

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.numbers import plain
from opcheck.numbers.arithmetic import FLOAT32, Arithmetic, expected, grid, narrow
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import Bounded, Errors, Floats, Lost, is_finite, pair, size_of
from opcheck.numbers.bounded.choice import Indices, extreme, trunc, truth
from opcheck.numbers.bounded.elementwise import divide, either, plus, result

Axes: TypeAlias = int | Sequence[int] | None
#: What the products of error terms may add to a first-order bound.
_SECOND_ORDER = 1.01


def axes_of(axis: Axes, rank: int) -> tuple[int, ...]:
    """The axes that `axis` means, counted from the front; None means all."""
    if axis is None:
        return tuple(range(rank))
    return (axis % rank,) if isinstance(axis, int) else tuple(a % rank for a in axis)


def _counted(e: Floats, v: Any) -> Floats:
    """The bounds of results, without those of results that are no numbers."""
    return e if np.isfinite(e).all() else np.where(is_finite(np.asarray(v)), e, 0.0)


def _in_sum(lost: Lost | None, total: Floats, v: Any, arithmetic: Arithmetic) -> Lost | None:
    """Lost elements of sums `v`, from those of their terms and from `total`, the sum of |terms|.

    In some order a partial sum is as large as all terms of one sign. Compensation makes NaN of it.
    """
    v, largest = np.asarray(v), arithmetic.largest_sum
    if lost is None and np.max(total, initial=0) * _SECOND_ORDER <= largest:
        return None
    over = ~((total + size_of(v)) / 2 * _SECOND_ORDER <= largest) & is_finite(v)
    return np.where(over if lost is None else over | (lost > 0), arrays.ANYTHING, 0)


def _flushed(size: Floats, arithmetic: Arithmetic, terms: Any) -> Any:
    """Error of sums whose small terms, `terms` together, are flushed to 0."""
    return np.minimum(size, terms * arithmetic.floor) if arithmetic.flushes else None


def _flushed_in_sum(x: Bounded, size: Floats, add_up: Callable[[Any], Any]) -> Any:
    """Error of sums of `x`, in any order, whose small partial sums are flushed to 0.

    Partial sums of one sign grow, so that only small terms are lost. Any other flushed sum is one
    of a positive and a negative partial sum, which are gone then. So there are at most as many of
    these as there are terms of either sign, and each loses less than the floor.
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


def sum(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`; each addition loses at most u of its result.

    Nor can it lose more than the smaller of its operands. So of all orders, also of those that a
    fused multiply-add or several accumulators make, none errs by more than Σ min(u·S, w) over all
    terms but the largest, where S = Σ w and w = |x| + e; nor by more than (n − 1)·u·S.
    """
    axes = axes_of(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)

    options: Any = {"axis": axes, "keepdims": keepdims}
    if count == 1:
        return x.moved(lambda part: np.sum(part, **options, dtype=part.dtype))
    add_up = partial(np.sum, **options)

    def digits(size: Floats, total: Floats, u: float) -> Any:
        every = total * (builtins.max(count - 1, 0) * u)
        if count <= 2:
            return every
        kept = np.minimum(size, (total if keepdims else np.expand_dims(total, axes)) * u)
        return np.minimum(every, add_up(kept) - np.max(kept, **options))

    made = _added(x, add_up, digits, lambda old, total, u: _walk(old.v, axes, u))
    made.addends = x if keepdims else None
    return made


def _added(
    x: Bounded,
    add_up: Callable[[Any], Any],
    digits: Callable[[Floats, Floats, float], Any],
    walk: Callable[[Bounded, Floats, float], Any],
) -> Bounded:
    """`add_up(x)`, which loses `digits(|x|, Σ|x|, u)` by rounding, with the variance `walk`."""
    v = add_up(x.v)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(old.v)
        size = size if old.e is None else size + old.e
        total = add_up(size)
        e = digits(size, total, u) * _SECOND_ORDER
        e = plus(e, None if old.e is None else add_up(old.e), _flushed_in_sum(old, size, add_up))
        q = None
        if old.arithmetic.scatters:
            q = np.reshape(walk(old, total, u), np.shape(v))
            q = plus(q, None if old.q is None else add_up(old.q))
        return Errors(_counted(e, v), q, _in_sum(_lost(add_up, old.lost), total, v, old.arithmetic))

    return result(v, x, errors, k=0.0, least=x.sure, squared=x.never_negative())


def _walk(v: arrays.Reals, axes: tuple[int, ...], u: float) -> Floats:
    """The variance of the roundings of a running sum: of all partial sums, in squares."""
    lined = np.moveaxis(v.astype(np.float64), axes, range(len(axes)))
    lined = lined.reshape(-1, *lined.shape[len(axes) :])
    running = np.cumsum(lined, axis=0)[1:]
    squares: Floats = np.sum(running * running, axis=0) * (u * u / 3)
    return np.where(np.isfinite(squares), squares, 0.0)


def sums(x: Bounded, add_up: Callable[[Any], Any], terms: Any) -> Bounded:
    """`add_up(x)`, which adds up `terms` elements for each output; see `plain.sums`."""
    if np.max(terms, initial=0) <= 1:
        return x.moved(add_up)
    count = np.asarray(terms)
    # The partial sums of terms of one sign grow evenly.
    return _added(
        x,
        add_up,
        lambda size, total, u: total * (np.maximum(count - 1, 0) * u),
        lambda old, total, u: total**2 * (count * u * u / 9),
    )


def _lost(add_up: Callable[[Any], Any], lost: Lost | None) -> Lost | None:
    return None if lost is None else np.asarray(add_up((lost > 0).astype(np.float64)) > 0)


def mean(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`, divided by how many there are."""
    return divide(sum(x, axis, keepdims), math.prod(x.shape[a] for a in axes_of(axis, x.ndim)))


def prod(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The product over `axis`, each multiplication rounded."""
    axes = axes_of(axis, x.ndim)
    factors = math.prod(x.shape[a] for a in axes)
    return _multiplied("reduce", x, builtins.max(factors - 1, 0), axis=axes, keepdims=keepdims)


def _multiplied(how: str, x: Bounded, steps: Any, **options: Any) -> Bounded:
    """Products by this method of NumPy's; each takes so many multiplications."""

    def over(combine: np.ufunc) -> Callable[[Any], Any]:
        return partial(getattr(combine, how), **options)

    multiply = over(np.multiply)
    v = multiply(x.v)

    def errors() -> Errors:
        old = x.settled()
        u, size, each = old.arithmetic.u, size_of(np.asarray(v)), size_of(old.v)
        room = np.zeros(()) if old.e is None else old.e
        e = size * (steps * u * _SECOND_ORDER)
        if old.e is not None:
            e = e + (multiply(each + room) - size) * (1 + (steps + 1) * u)
        # In some order a partial product is that of all factors above 1, or of those below.
        most = multiply(np.maximum(each + room, 1.0))
        least = multiply(np.clip(each - room, 0.0, 1.0))
        beyond = np.isfinite(size) & ~(most * _SECOND_ORDER <= old.arithmetic.largest)
        several = np.asarray(steps) > 0
        lost = np.where(beyond & several, arrays.ANYTHING, 0) if np.any(several) else None
        if old.lost is not None:
            lost = either(lost, over(np.bitwise_or)(old.lost))
        if old.arithmetic.flushes:
            # Each step may make nothing of what is so small, or round it up to twice as much.
            doubled = size * (2.0 ** np.minimum(steps, 1000) - 1)
            more = np.minimum(doubled, steps * most * old.arithmetic.floor)
            e = e + np.where((least < old.arithmetic.floor) & (size > 0), more, 0.0)
        q = None
        if old.arithmetic.scatters:
            q = (size * u) ** 2 * ((steps + 1) / 3)
            if old.q is not None:
                q = q + size**2 * over(np.add)(np.nan_to_num(old.q / each**2, posinf=np.inf))
        return Errors(_counted(e, v), q, lost)

    return result(v, x, errors, k=0.0)


def _extreme(choose: np.ufunc, x: Bounded, axis: Axes, keepdims: bool) -> Bounded:
    axes, last = axes_of(axis, x.ndim), x.ndim - 1
    options: Any = {"axis": axes, "keepdims": keepdims}
    if axes == (last,) and x.shape[last] and x.v.dtype != object:
        # NumPy finds the place in a short row several times as fast as the number there.
        place = (np.argmax if choose is np.maximum else np.argmin)(x.v, axis=last, keepdims=True)
        v = np.take_along_axis(x.v, place, last)
        v = v if keepdims else v[..., 0]
    else:
        v = choose.reduce(x.v, **options)
    chosen = partial(choose.reduce, **options)
    return extreme(chosen, lambda how: partial(how.reduce, **options), v, x)


def max(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the largest element over `axis`; NaN if one is."""
    return _extreme(np.maximum, x, axis, keepdims)


def min(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """Return the smallest element over `axis`; NaN if one is."""
    return _extreme(np.minimum, x, axis, keepdims)


def cumulative_sum(x: Bounded, axis: int = 0) -> Bounded:
    """The running sums along `axis`, each in whatever order."""
    place, add_up = _places(x, axis), partial(np.cumsum, axis=axis)

    def walk(old: Bounded, total: Floats, u: float) -> Any:
        return add_up(np.where(place > 0, size_of(add_up(old.v)), 0.0) ** 2) * (u * u / 3)

    return _added(x, add_up, lambda size, total, u: total * (place * u), walk)


def cumulative_prod(x: Bounded, axis: int = 0) -> Bounded:
    """The running products along `axis`, each multiplication rounded."""
    return _multiplied("accumulate", x, _places(x, axis), axis=axis)


def _places(x: Bounded, axis: int) -> Any:
    """The number of elements before each along `axis`."""
    lengths = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
    return np.arange(x.shape[axis]).reshape(lengths)


def matmul(a: Any, b: Any) -> Bounded:
    """The matrix product, each element a sum of products in whatever order, fused or not."""
    return bilinear(a, b, plain.matmul, a.shape[-1])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Bounded:
    """The sum of products over `axes`, in whatever order, fused or not."""
    over = range(-axes, 0) if isinstance(axes, int) else axes[0]
    terms = math.prod(a.shape[axis] for axis in over)
    return bilinear(a, b, lambda x, y: np.tensordot(x, y, axes), terms)


def bilinear(
    a: Any, b: Any, product: Callable[..., Any], terms: int, addend: Any = None
) -> Bounded:
    """`product(a, b)` + `addend`: sums of `terms` products and perhaps a term, in any order."""
    a, b = pair(a, b)
    v = product(a.v, b.v)
    least = a.sure + b.sure
    if addend is not None:
        addend, _ = pair(addend, a)
        v, least, terms = v + addend.v, builtins.min(least, addend.sure), terms + 1

    def errors() -> Errors:
        x, y = a.settled(), b.settled()
        u = x.arithmetic.u
        left, right = size_of(x.v), size_of(y.v)
        size = product(left, right)
        extra = None if addend is None else addend.settled()
        e = None if x.e is None else product(x.e, right)
        if y.e is not None:
            e = plus(e, product(left if x.e is None else left + x.e, y.e))
        if extra is not None:
            size, e = size + size_of(extra.v), plus(e, extra.e)
        # With one term there is the product's rounding alone.
        rounding = size if e is None else size + e
        e = plus(e, rounding * ((terms - 1) * u * _SECOND_ORDER) if terms > 1 else None)
        e = plus(e, _flushed(rounding, x.arithmetic, terms))
        q = None
        if x.arithmetic.scatters:
            squares = product(left**2, right**2)
            # Partial sums are a walk of independent steps upon an even growth.
            walk = squares * (terms / 2) + size_of(np.asarray(v)) ** 2 * (terms / 3)
            q = (walk + squares) * (u * u / 3)
            q = plus(q, None if x.q is None else product(x.q, right**2))
            q = plus(q, None if y.q is None else product(left**2, y.q))
            q = plus(q, None if extra is None else extra.q)
            q = np.where(np.isfinite(q), q, 0.0)
        of_a = _lost(lambda part: product(part, np.ones_like(right)), x.lost)
        of_b = _lost(lambda part: product(np.ones_like(left), part), y.lost)
        lost = either(of_a, of_b, None if extra is None else extra.lost)
        lost = _in_sum(lost, rounding, v, x.arithmetic)
        return Errors(None if e is None else _counted(e, v), q, lost)

    return result(v, a, errors, k=1.0 if terms else 0.0, least=least)


def broadcast_to(x: Bounded, shape: Sequence[int]) -> Bounded:
    """Return `x` repeated along axes of length 1, and along new ones in front."""
    return x.moved(lambda part: np.broadcast_to(part, shape))


def expand_dims(x: Bounded, axis: int | Sequence[int]) -> Bounded:
    """Return `x` with new axes of length 1, at these places of the result."""
    return x.moved(lambda part: np.expand_dims(part, axis))


def flip(x: Bounded, axis: Axes = None) -> Bounded:
    """Return `x` with the order of its elements reversed along `axis`."""
    axes = axes_of(axis, x.ndim)
    return x.moved(lambda part: np.flip(part, axes))


def permute_dims(x: Bounded, axes: Sequence[int]) -> Bounded:
    """Return `x` with its axes in the order `axes`."""
    return x.moved(lambda part: np.permute_dims(part, axes))


def reshape(x: Bounded, shape: int | Sequence[int]) -> Bounded:
    """Return the elements of `x` in another shape; one length may be −1, which is computed."""
    return x.moved(lambda part: np.reshape(part, shape))


def squeeze(x: Bounded, axis: Axes = None) -> Bounded:
    """Return `x` without these axes, which have length 1."""
    return x.moved(lambda part: np.squeeze(part, axis))


def tile(x: Bounded, repetitions: Sequence[int]) -> Bounded:
    """Return `x` repeated as a whole along each axis."""
    return x.moved(lambda part: np.tile(part, repetitions))


def take(x: Bounded, index: Any, axis: int) -> Bounded:
    """The elements at `index` along `axis`; where an index may be another, any of those."""
    if not isinstance(index, Indices):
        return x.moved(lambda part: np.take(part, index, axis))
    place = axis % x.ndim + index.v.ndim
    chosen = x.moved(lambda part: np.take(part, index.v, axis))
    return _hull(chosen, x.moved(lambda part: np.take(part, index.admitted, axis)), place)


def take_along_axis(x: Bounded, index: Any, axis: int) -> Bounded:
    """The element at each index along `axis`; where it may be another, any of those."""
    if not isinstance(index, Indices):
        return x.moved(lambda part: np.take_along_axis(part, index, axis))
    place, wide = axis % x.ndim, x.moved(lambda part: part[..., None])
    admitted = wide.moved(lambda part: np.take_along_axis(part, index.admitted, place))
    return _hull(x.moved(lambda part: np.take_along_axis(part, index.v, axis)), admitted, x.ndim)


def _hull(chosen: Bounded, admitted: Bounded, place: int) -> Bounded:
    """Return the choice, with an error that reaches all possible choices."""
    chosen, admitted = chosen.settled(), admitted.settled()
    room = 0.0 if admitted.e is None else admitted.e
    e = np.max(size_of(admitted.v - np.expand_dims(chosen.v, place)) + room, axis=place)
    lost = admitted.lost
    lost = None if lost is None else np.asarray(np.bitwise_or.reduce(lost, axis=place))
    return Bounded(chosen.v, chosen.dtype, chosen.arithmetic, Errors(e, chosen.q, lost))


def _joined(join: Callable[..., Any], given: Sequence[Any], axis: int) -> Bounded:
    first = next(x for x in given if isinstance(x, Bounded))
    parts = [pair(x, first)[0] for x in given]
    v = join([x.v for x in parts], axis=axis)
    if all(x.exact for x in parts):
        return first.like(v, arrays.NO_ERRORS)
    alike = all(x.k == parts[0].k and x.grid == parts[0].grid for x in parts)
    alike = alike and not any(x.has_common for x in parts)

    def of(name: str, default: Any) -> Any:
        held = [getattr(x if alike else x.settled(), name) for x in parts]
        if all(part is None for part in held):
            return None
        pairs = zip(parts, held, strict=True)
        filled = [np.full(x.shape, default) if part is None else part for x, part in pairs]
        return join(filled, axis=axis)

    least = builtins.min(x.least if alike else x.sure for x in parts)
    first = parts[0]
    return first.beside(v, lambda: Errors(of("e", 0.0), of("q", 0.0), of("lost", 0)), alike, least)


def concat(arrays: Sequence[Any], axis: int = 0) -> Bounded:
    """Return the arrays one after the other along an axis that they have."""
    return _joined(np.concat, arrays, axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> Bounded:
    """Return arrays of one shape side by side along a new axis."""
    return _joined(np.stack, arrays, axis)


def pad(x: Bounded, widths: Any, constant_values: float = 0.0) -> Bounded:
    """Constants around the array, without any error."""

    def framed(part: Any, value: Any) -> Any:
        return None if part is None else np.pad(part, widths, constant_values=value)

    if x.exact:
        return x.like(framed(x.v, constant_values), arrays.NO_ERRORS)
    # The last rounding is the array's own, and no constant's but 0.
    keeps = not constant_values and not x.has_common

    def errors() -> Errors:
        old = x if keeps else x.settled()
        return Errors(framed(old.e, 0.0), framed(old.q, 0.0), framed(old.lost, 0))

    return x.beside(framed(x.v, constant_values), errors, keeps, 0.0)


def full_like(x: Bounded, value: float) -> Bounded:
    """A constant in the shape of `x`."""
    v = arrays.as_values(np.full(x.v.shape, value), x.v.dtype)
    return Bounded(v, x.dtype, x.arithmetic)


def zeros_like(x: Bounded) -> Bounded:
    """Return zeros in the shape of `x`."""
    return full_like(x, 0)


def astype(x: Bounded, dtype: Any, *, computes: bool = False) -> Any:
    """`x` in another type: a narrower float rounds, an integer cuts the fraction off.

    Arithmetic goes on as expected of that type. A value that an integer type cannot hold
    is lost: no specification says what becomes of it.
    """
    wanted = np.dtype(dtype)
    if wanted.kind == "b":
        room = x.settled().e
        unsure = None if room is None else (size_of(x.v) <= room) & (room > 0)
        return truth(np.asarray(x.v != 0), unsure)
    kind = dtypes.of(np.empty(0, wanted))
    if kind is None or kind.kind not in ("float", "int"):
        raise TypeError(f"no bounded numbers of type {wanted}")
    if kind.kind == "int":
        return _to_integer(x, kind)
    return _to_float(x, kind, _arithmetic(x.arithmetic, kind, computes))


def _to_float(x: Bounded, dtype: dtypes.DType, arithmetic: Arithmetic) -> Bounded:
    if x.dtype == dtype.numpy:
        return replace(x, arithmetic=arithmetic, squared=False)
    v = arrays.as_values(x.v, arrays.VALUES()[arithmetic.values])
    own = dtypes.of(np.empty(0, x.dtype))
    rounds = own is None or own.kind != "float" or grid(dtype).u > grid(own).u
    if x.exact and not rounds:
        # Every number of the old type is one of the new.
        return Bounded(v, dtype.numpy, arithmetic)
    made = Bounded(v, dtype.numpy, arithmetic, lambda: x.settled().errors, least=x.sure)
    if rounds:
        made.k, made.grid = 1.0, grid(dtype)
    return made


def _arithmetic(old: Arithmetic, dtype: dtypes.DType, computes: bool) -> Arithmetic:
    """The arithmetic of what follows a cast to `dtype`."""
    # Results that are rounded to a type of 16 bits, or stored in one.
    is_half = old.stored is not None or old.grid.dtype.numpy.itemsize == 2
    half = old.half or (old if is_half else None)
    if dtype.numpy.itemsize > 2:
        new = half if half and computes and old.everywhere else expected(dtype)
    else:
        new = narrow(dtype) if computes else half or FLOAT32
    values = builtins.max(new.values, old.values)
    return replace(
        new,
        flushes=old.flushes,
        scatters=old.scatters,
        values=values,
        half=half,
        everywhere=old.everywhere,
    )


def _to_integer(x: Bounded, dtype: dtypes.DType) -> Bounded:
    low, high = dtypes.limits(dtype)
    cut = trunc(x)
    size = cut.v.astype(np.float64)
    outside = ~((size >= low) & (size <= high))
    lost = either(cut.lost, outside if outside.any() else None)
    return Bounded(cut.v, dtype.numpy, x.arithmetic, Errors(cut.e, lost=lost))
