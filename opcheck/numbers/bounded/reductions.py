"""Sums, products and extremes of bounded numbers, in whatever order they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from opcheck.numbers.bounded.array import Bounded, Floats, Reals, is_finite, pair, size_of
from opcheck.numbers.bounded.elementwise import divide, either, plus, result

Axes: TypeAlias = int | Sequence[int] | None
#: What the products of error terms may add to a first-order bound.
_SECOND_ORDER = 1.01


def _axes(axis: Axes, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    return (axis % rank,) if isinstance(axis, int) else tuple(a % rank for a in axis)


def sum(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`, of which an addition loses at most u of its result.

    Nor can it lose more than the smaller of its operands. So of all orders, also of those that a
    fused multiply-add or several accumulators make, none errs by more than Σ min(u·S, w) over all
    terms but the largest, where S = Σ w and w = |x| + e; nor by more than (n − 1)·u·S.
    """
    axes = _axes(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)
    if count == 1:
        return x.moved(lambda part: np.sum(part, axis=axes, keepdims=keepdims, dtype=part.dtype))
    x = x.settled()
    u = x.arithmetic.u

    def add_up(part: Any) -> Any:
        return np.sum(part, axis=axes, keepdims=keepdims)

    v = add_up(x.v)
    size = size_of(x.v)
    if x.e is not None:
        size = size + x.e
    total = np.sum(size, axis=axes, keepdims=True)
    lost_digits = total * ((count - 1) * u)
    if count > 2:
        kept = np.minimum(size, total * u)
        kept_all = np.sum(kept, axis=axes, keepdims=True) - np.max(kept, axis=axes, keepdims=True)
        lost_digits = np.minimum(lost_digits, kept_all)
    e = np.reshape(lost_digits, v.shape) * _SECOND_ORDER
    if x.e is not None:
        e = e + add_up(x.e)
    if count == 0:
        e = np.zeros(v.shape)
    e = np.where(is_finite(v), e, 0.0)
    q = None
    if x.arithmetic.scatters:
        q = plus(_walk(x.v, axes, u).reshape(v.shape), None if x.q is None else add_up(x.q))
    return result(v, x, e, k=0.0, q=q, lost=_any(x.lost, axes, keepdims))


def _walk(v: Reals, axes: tuple[int, ...], u: float) -> Floats:
    """The variance of the roundings of a running sum: of all partial sums, in squares."""
    lined = np.moveaxis(v.astype(np.float64), axes, range(len(axes)))
    lined = lined.reshape(-1, *lined.shape[len(axes) :])
    running = np.cumsum(lined, axis=0)[1:]
    squares: Floats = np.sum(running * running, axis=0) * (u * u / 3)
    return np.where(np.isfinite(squares), squares, 0.0)


def _any(mask: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return None if mask is None else np.any(mask, axis=axes, keepdims=keepdims)


def sums(x: Bounded, add_up: Callable[[Any], Any], terms: Any) -> Bounded:
    """`add_up(x)`, which adds up `terms` elements for each output; see `plain.sums`."""
    if np.max(terms, initial=0) <= 1:
        return x.moved(add_up)
    x = x.settled()
    u = x.arithmetic.u
    v = add_up(x.v)
    size = size_of(x.v)
    total = add_up(size if x.e is None else size + x.e)
    e = total * (np.maximum(np.asarray(terms) - 1, 0) * u * _SECOND_ORDER)
    if x.e is not None:
        e = e + add_up(x.e)
    e = np.where(is_finite(v), e, 0.0)
    q = None
    if x.arithmetic.scatters:
        # The partial sums of terms of one sign grow evenly.
        q = plus(total**2 * (np.asarray(terms) * u * u / 9), None if x.q is None else add_up(x.q))
    lost = None if x.lost is None else np.asarray(add_up(x.lost.astype(np.float64)) > 0)
    return result(v, x, e, k=0.0, q=q, lost=lost)


def mean(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The sum over `axis`, divided by how many there are."""
    count = math.prod(x.shape[a] for a in _axes(axis, x.ndim))
    return divide(sum(x, axis, keepdims), count)


def prod(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The product over `axis`, each multiplication rounded."""
    axes = _axes(axis, x.ndim)
    count = math.prod(x.shape[a] for a in axes)
    x = x.settled()
    v = np.prod(x.v, axis=axes, keepdims=keepdims)
    size = size_of(v)
    e = size * (max_(count - 1, 0) * x.arithmetic.u * _SECOND_ORDER)
    if x.e is not None:
        grown = np.prod(size_of(x.v) + x.e, axis=axes, keepdims=keepdims)
        e = e + (grown - size) * (1 + count * x.arithmetic.u)
    # What overflows or underflows on the way depends on the order.
    e = np.where(np.isfinite(size), e, 0.0)
    q = (size * x.arithmetic.u) ** 2 * (count / 3) if x.arithmetic.scatters else None
    if q is not None and x.q is not None:
        with np.errstate(all="ignore"):
            q = q + size**2 * np.nansum(x.q / size_of(x.v) ** 2, axis=axes, keepdims=keepdims)
    return result(v, x, e, k=0.0, q=q, lost=_any(x.lost, axes, keepdims))


max_ = max


def max(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The largest element; NaN if one is NaN."""
    return _extreme(np.max, x, axis, keepdims)


def min(x: Bounded, axis: Axes = None, keepdims: bool = False) -> Bounded:
    """The smallest element; NaN if one is NaN."""
    return _extreme(np.min, x, axis, keepdims)


def _extreme(choose: Callable[..., Any], x: Bounded, axis: Axes, keepdims: bool) -> Bounded:
    axes = _axes(axis, x.ndim)
    x = x if x.exact else x.settled()
    v = choose(x.v, axis=axes, keepdims=keepdims)
    if x.e is None:
        return Bounded(v, x.dtype, x.arithmetic)
    ends = [choose(end, axis=axes, keepdims=keepdims) for end in (x.v - x.e, x.v + x.e)]
    e = np.maximum(*(size_of(end - v) for end in ends))
    e = np.where(np.isfinite(e), e, 0.0)
    q = None if x.q is None else np.max(x.q, axis=axes, keepdims=keepdims)
    lost = None
    if x.lost is not None:
        chosen = x.v == choose(x.v, axis=axes, keepdims=True)
        lost = _any(x.lost & chosen, axes, keepdims)
    return Bounded(v, x.dtype, x.arithmetic, e, q=q, lost=lost)


def cumulative_sum(x: Bounded, axis: int = 0) -> Bounded:
    """The running sums along `axis`, each in whatever order."""
    x = x.settled()
    u = x.arithmetic.u
    v = np.cumsum(x.v, axis=axis)
    size = np.cumsum(size_of(x.v) if x.e is None else size_of(x.v) + x.e, axis=axis)
    place = np.arange(x.shape[axis]).reshape([-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])
    e = size * (place * u * _SECOND_ORDER)
    if x.e is not None:
        e = e + np.cumsum(x.e, axis=axis)
    e = np.where(is_finite(v), e, 0.0)
    q = None
    if x.arithmetic.scatters:
        steps = np.cumsum(np.where(place > 0, v.astype(np.float64), 0.0) ** 2, axis=axis)
        q = plus(steps * (u * u / 3), None if x.q is None else np.cumsum(x.q, axis=axis))
    lost = None if x.lost is None else np.logical_or.accumulate(x.lost, axis=axis)
    return result(v, x, e, k=0.0, q=q, lost=lost)


def matmul(a: Any, b: Any) -> Bounded:
    """The matrix product, each element a sum of products in whatever order, fused or not."""
    a, b = pair(a, b)
    return _contracted(a, b, np.matmul, a.shape[-1])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Bounded:
    """The sum of products over `axes`, in whatever order, fused or not."""
    a, b = pair(a, b)
    over = range(-axes, 0) if isinstance(axes, int) else axes[0]
    terms = math.prod(a.shape[axis] for axis in over)
    return _contracted(a, b, lambda x, y: np.tensordot(x, y, axes), terms)


def _contracted(a: Bounded, b: Bounded, product: Callable[[Any, Any], Any], terms: int) -> Bounded:
    a, b = a.settled(), b.settled()
    u = a.arithmetic.u
    v = product(a.v, b.v)
    left, right = size_of(a.v), size_of(b.v)
    e = None
    if a.e is not None:
        e = product(a.e, right)
        if b.e is not None:
            e = e + product(left + a.e, b.e)
    elif b.e is not None:
        e = product(left, b.e)
    size = product(left, right)
    # With one term there is the product's rounding alone.
    rounding = size if e is None else size + e
    own = rounding * ((terms - 1) * u * _SECOND_ORDER) if terms > 1 else None
    e = plus(e, own)
    if e is not None:
        e = np.where(is_finite(v), e, 0.0)
    q = None
    if a.arithmetic.scatters:
        squares = product(left**2, right**2)
        # Partial sums are a walk of independent steps upon an even growth.
        walk = squares * (terms / 2) + v.astype(np.float64) ** 2 * (terms / 3)
        q = (walk + squares) * (u * u / 3)
        q = plus(q, None if a.q is None else product(a.q, right**2))
        q = plus(q, None if b.q is None else product(left**2, b.q))
        q = np.where(np.isfinite(q), q, 0.0)
    lost = None
    for mask, other in ((a.lost, right), (b.lost, left)):
        if mask is not None:
            ones = np.ones_like(other)
            spread = product(mask.astype(float), ones) if mask is a.lost else product(ones, mask.astype(float))
            lost = either(lost, spread > 0)
    return result(v, a, e, k=1.0 if terms else 0.0, q=q, lost=lost)
