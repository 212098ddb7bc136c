"""Sums, products and extremes of bounded numbers, in whatever order they are computed."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.dtypes import limits
from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Arithmetic
from opcheck.numbers.bounded.array import (
    ANYTHING,
    OVERFLOWED,
    Bounded,
    Errors,
    Floats,
    Lost,
    Reals,
    any_lost,
    is_finite,
    pair,
    size_of,
)
from opcheck.numbers.bounded.choice import extreme
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
    """What is lost of sums `v`, from what is of their terms and from `total`, the sum of |terms|.

    In some order a partial sum is as large as all terms of one sign together.
    """
    v, largest = np.asarray(v), limits(arithmetic.grid.dtype)[1]
    if lost is None and total.max(initial=0) <= largest:
        return None
    size = size_of(v)
    # All terms of the sum's sign, and all others.
    ahead, behind = (total + size) / 2, (total - size) / 2
    over = ~(ahead <= largest) & is_finite(v)
    lost = over if lost is None else over | lost
    return np.where((lost > 0) & ((size <= largest) | (behind > largest)), ANYTHING, lost)


def _flushed(size: Floats, arithmetic: Arithmetic, terms: Any = 1) -> Any:
    """What sums lose of terms, each or `terms` together, if whatever is small becomes 0."""
    return np.minimum(size, terms * arithmetic.floor) if arithmetic.flushes else None


def sum(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`, of which an addition loses at most u of its result.

    Nor can it lose more than the smaller of its operands. So of all orders, also of those that a
    fused multiply-add or several accumulators make, none errs by more than Σ min(u·S, w) over all
    terms but the largest, where S = Σ w and w = |x| + e; nor by more than (n − 1)·u·S.
    """
    axes = axes_of(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)

    def add_up(part: Any, keep: bool = keepdims) -> Any:
        return np.sum(part, axis=axes, keepdims=keep)

    if count == 1:
        return x.moved(lambda part: np.sum(part, axis=axes, keepdims=keepdims, dtype=part.dtype))
    v = add_up(x.v)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(old.v)
        if old.e is not None:
            size = size + old.e
        total, flushed = add_up(size, True), _flushed(size, old.arithmetic)
        digits = total * (builtins.max(count - 1, 0) * u)
        if count > 2:
            kept = np.minimum(size, total * u)
            most = np.max(kept, axis=axes, keepdims=True)
            digits = np.minimum(digits, add_up(kept, True) - most)
        e = digits.reshape(np.shape(v)) * _SECOND_ORDER
        e = plus(e, *(None if part is None else add_up(part) for part in (old.e, flushed)))
        q = None
        if old.arithmetic.scatters:
            walk = _walk(old.v, axes, u).reshape(np.shape(v))
            q = plus(walk, None if old.q is None else add_up(old.q))
        lost = any_lost(old.lost, axes, keepdims)
        lost = _in_sum(lost, total.reshape(np.shape(v)), v, old.arithmetic)
        return Errors(_counted(e, v), q, lost)

    return result(v, x, errors, k=0.0, least=x.sure)


def _walk(v: Reals, axes: tuple[int, ...], u: float) -> Floats:
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
    v = add_up(x.v)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(old.v)
        size = size if old.e is None else size + old.e
        total, flushed = add_up(size), _flushed(size, old.arithmetic)
        e = total * (np.maximum(np.asarray(terms) - 1, 0) * u * _SECOND_ORDER)
        e = plus(e, *(None if part is None else add_up(part) for part in (old.e, flushed)))
        q = None
        if old.arithmetic.scatters:
            # The partial sums of terms of one sign grow evenly.
            evenly = total**2 * (np.asarray(terms) * u * u / 9)
            q = plus(evenly, None if old.q is None else add_up(old.q))
        lost = _levels(add_up, old.lost)
        return Errors(_counted(e, v), q, _in_sum(lost, total, v, old.arithmetic))

    return result(v, x, errors, k=0.0, least=x.sure)


def _levels(add_up: Callable[[Any], Any], lost: Lost | None) -> Lost | None:
    """What is lost of anything that `add_up` adds up."""
    if lost is None:
        return None
    some, all_of_it = (add_up((lost > n).astype(np.float64)) > 0 for n in (0, OVERFLOWED))
    return np.where(all_of_it, ANYTHING, some)


def mean(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`, divided by how many there are."""
    count = math.prod(x.shape[a] for a in axes_of(axis, x.ndim))
    return divide(sum(x, axis, keepdims), count)


def prod(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The product over `axis`, each multiplication rounded."""
    axes = axes_of(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)
    v = np.prod(x.v, axis=axes, keepdims=keepdims)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(np.asarray(v))
        e = size * (builtins.max(count - 1, 0) * u * _SECOND_ORDER)
        parts = size_of(old.v)
        if old.e is not None:
            grown = np.prod(parts + old.e, axis=axes, keepdims=keepdims)
            e = e + (grown - size) * (1 + count * u)
        e, lost = _partial(old, e, size, axes, keepdims)
        q = None
        if old.arithmetic.scatters:
            q = (size * u) ** 2 * (count / 3)
            if old.q is not None:
                q = q + size**2 * np.nansum(old.q / parts**2, axis=axes, keepdims=keepdims)
        return Errors(_counted(e, v), q, lost)

    return result(v, x, errors, k=0.0)


def _partial(
    x: Bounded, e: Floats, size: Floats, axes: tuple[int, ...], keepdims: bool
) -> tuple[Floats, Lost | None]:
    """The errors of products of some `size`, where partial ones may leave the range, and the lost.

    In some order a partial product is the product of all factors above 1, or of those below.
    """
    over = {"axis": axes, "keepdims": keepdims}
    parts, room, arithmetic = size_of(x.v), 0.0 if x.e is None else x.e, x.arithmetic
    most = np.asarray(np.prod(np.maximum(parts + room, 1.0), **over))
    lost = any_lost(x.lost, axes, keepdims)
    if not most.max(initial=0) <= arithmetic.largest:
        large = np.isfinite(size) & ~(most <= arithmetic.largest)
        lost = either(lost, np.where(large, ANYTHING, 0))
    if arithmetic.flushes:
        least = np.prod(np.minimum(np.maximum(parts - room, 0.0), 1.0), **over)
        small = (least < arithmetic.floor) & (size > 0)
        steps = builtins.max(math.prod(x.shape[a] for a in axes) - 1, 0)
        # Each step may make nothing of what is so small, or round it up to twice as much.
        doubled = size * (2.0 ** builtins.min(steps, 1000) - 1)
        more = np.minimum(doubled, steps * most * arithmetic.floor)
        e = e + np.where(small, more, 0.0)
    return e, lost


def _extreme(
    choose: Callable[..., Any], x: Bounded, axis: Axes = None, keepdims: bool = False
) -> Bounded:
    """The largest or the smallest element; NaN if one is NaN."""
    axes = axes_of(axis, x.ndim)
    v = choose(x.v, axis=axes, keepdims=keepdims)
    if x.exact:
        return Bounded(v, x.dtype, x.arithmetic)

    def errors() -> Errors:
        old = x.settled()
        if old.e is None:
            return Errors()
        lost = any_lost(old.lost, axes, keepdims)
        e, lost = extreme(partial(choose, axis=axes, keepdims=keepdims), v, [old], lost)
        q = None if old.q is None else np.max(old.q, axis=axes, keepdims=keepdims)
        return Errors(e, q, lost)

    return Bounded(v, x.dtype, x.arithmetic, errors, least=x.sure)


max, min = partial(_extreme, np.max), partial(_extreme, np.min)


def cumulative_sum(x: Bounded, axis: int = 0) -> Bounded:
    """The running sums along `axis`, each in whatever order."""
    v = np.cumsum(x.v, axis=axis)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(old.v)
        size = size if old.e is None else size + old.e
        flushed = _flushed(size, old.arithmetic)
        size = np.cumsum(size, axis=axis)
        lengths = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
        place = np.arange(x.shape[axis]).reshape(lengths)
        e = size * (place * u * _SECOND_ORDER)
        more = (None if part is None else np.cumsum(part, axis=axis) for part in (old.e, flushed))
        e = plus(e, *more)
        q = None
        if old.arithmetic.scatters:
            steps = np.cumsum(np.where(place > 0, size_of(v), 0.0) ** 2, axis=axis)
            q = plus(steps * (u * u / 3), None if old.q is None else np.cumsum(old.q, axis=axis))
        lost = None if old.lost is None else np.bitwise_or.accumulate(old.lost, axis=axis)
        return Errors(_counted(e, v), q, _in_sum(lost, size, v, old.arithmetic))

    return result(v, x, errors, k=0.0)


def matmul(a: Any, b: Any) -> Bounded:
    """The matrix product, each element a sum of products in whatever order, fused or not."""
    return bilinear(a, b, plain.matmul, a.shape[-1])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Bounded:
    """The sum of products over `axes`, in whatever order, fused or not."""
    over = range(-axes, 0) if isinstance(axes, int) else axes[0]
    terms = math.prod(a.shape[axis] for axis in over)
    return bilinear(a, b, lambda x, y: np.tensordot(x, y, axes), terms)


def bilinear(
    a: Any, b: Any, product: Callable[[Any, Any], Any], terms: int, more: Any = None
) -> Bounded:
    """`product(a, b)` + `more`: sums of `terms` products and perhaps a term, in whatever order."""
    a, b = pair(a, b)
    v = product(a.v, b.v)
    least = a.sure + b.sure
    if more is not None:
        more, _ = pair(more, a)
        v, least, terms = v + more.v, builtins.min(least, more.sure), terms + 1

    def errors() -> Errors:
        x, y = a.settled(), b.settled()
        u = x.arithmetic.u
        left, right = size_of(x.v), size_of(y.v)
        size = product(left, right)
        extra = None if more is None else more.settled()
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
        lost = either(
            _levels(lambda part: product(part, np.ones_like(right)), x.lost),
            _levels(lambda part: product(np.ones_like(left), part), y.lost),
            None if extra is None else extra.lost,
        )
        lost = _in_sum(lost, rounding, v, x.arithmetic)
        return Errors(None if e is None else _counted(e, v), q, lost)

    return result(v, a, errors, k=1.0 if terms else 0.0, least=least)
