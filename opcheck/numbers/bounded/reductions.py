"""Sums, products and extremes of bounded numbers, in whatever order they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.numbers import plain
from opcheck.numbers.bounded.array import (
    Bounded,
    Errors,
    Floats,
    Mask,
    Reals,
    is_finite,
    pair,
    size_of,
)
from opcheck.numbers.bounded.elementwise import divide, either, plus, result

Axes: TypeAlias = int | Sequence[int] | None
#: What the products of error terms may add to a first-order bound.
_SECOND_ORDER = 1.01
_larger = max


def axes_of(axis: Axes, rank: int) -> tuple[int, ...]:
    """The axes that `axis` means, counted from the front; None means all."""
    if axis is None:
        return tuple(range(rank))
    return (axis % rank,) if isinstance(axis, int) else tuple(a % rank for a in axis)


def _counted(e: Floats, v: Any) -> Floats:
    """The bounds of results, without those of results that are no numbers."""
    return e if np.isfinite(e).all() else np.where(is_finite(np.asarray(v)), e, 0.0)


def _any(mask: Mask | None, axes: tuple[int, ...], keepdims: bool) -> Any:
    return None if mask is None else np.any(mask, axis=axes, keepdims=keepdims)


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
        total = add_up(size, True)
        digits = total * (_larger(count - 1, 0) * u)
        if count > 2:
            kept = np.minimum(size, total * u)
            most = np.max(kept, axis=axes, keepdims=True)
            digits = np.minimum(digits, add_up(kept, True) - most)
        e = digits.reshape(np.shape(v)) * _SECOND_ORDER
        if old.e is not None:
            e = e + add_up(old.e)
        q = None
        if old.arithmetic.scatters:
            walk = _walk(old.v, axes, u).reshape(np.shape(v))
            q = plus(walk, None if old.q is None else add_up(old.q))
        return Errors(_counted(e, v), q, _any(old.lost, axes, keepdims))

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
        total = add_up(size if old.e is None else size + old.e)
        e = total * (np.maximum(np.asarray(terms) - 1, 0) * u * _SECOND_ORDER)
        if old.e is not None:
            e = e + add_up(old.e)
        q = None
        if old.arithmetic.scatters:
            # The partial sums of terms of one sign grow evenly.
            evenly = total**2 * (np.asarray(terms) * u * u / 9)
            q = plus(evenly, None if old.q is None else add_up(old.q))
        lost = None if old.lost is None else np.asarray(add_up(old.lost.astype(np.float64)) > 0)
        return Errors(_counted(e, v), q, lost)

    return result(v, x, errors, k=0.0, least=x.sure)


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
        e = size * (_larger(count - 1, 0) * u * _SECOND_ORDER)
        if old.e is not None:
            grown = np.prod(size_of(old.v) + old.e, axis=axes, keepdims=keepdims)
            e = e + (grown - size) * (1 + count * u)
        q = None
        if old.arithmetic.scatters:
            q = (size * u) ** 2 * (count / 3)
            if old.q is not None:
                parts = old.q / size_of(old.v) ** 2
                q = q + size**2 * np.nansum(parts, axis=axes, keepdims=keepdims)
        return Errors(_counted(e, v), q, _any(old.lost, axes, keepdims))

    return result(v, x, errors, k=0.0)


def _extreme(
    choose: Callable[..., Any], x: Bounded, axis: Axes = None, keepdims: bool = False
) -> Bounded:
    """The largest or the smallest element; NaN if one is NaN."""
    axes = axes_of(axis, x.ndim)
    last = x.ndim - 1
    if axes == (last,) and x.shape[last] and x.v.dtype != object:
        # NumPy finds the place in a short row several times as fast as the number there.
        place = (np.argmax if choose is np.max else np.argmin)(x.v, axis=last, keepdims=True)
        v = np.take_along_axis(x.v, place, last)
        v = v if keepdims else v[..., 0]
    else:
        v = choose(x.v, axis=axes, keepdims=keepdims)
    if x.exact:
        return Bounded(v, x.dtype, x.arithmetic)

    def errors() -> Errors:
        old = x.settled()
        if old.e is None:
            return Errors()
        ends = [choose(end, axis=axes, keepdims=keepdims) for end in (x.v - old.e, x.v + old.e)]
        e = np.maximum(*(size_of(end - v) for end in ends))
        e = np.where(np.isfinite(e), e, 0.0)
        q = None if old.q is None else np.max(old.q, axis=axes, keepdims=keepdims)
        lost = None
        if old.lost is not None:
            chosen = x.v == choose(x.v, axis=axes, keepdims=True)
            lost = _any(old.lost & chosen, axes, keepdims)
        return Errors(e, q, lost)

    return Bounded(v, x.dtype, x.arithmetic, errors, least=x.sure)


max, min = partial(_extreme, np.max), partial(_extreme, np.min)


def cumulative_sum(x: Bounded, axis: int = 0) -> Bounded:
    """The running sums along `axis`, each in whatever order."""
    v = np.cumsum(x.v, axis=axis)

    def errors() -> Errors:
        old = x.settled()
        u, size = old.arithmetic.u, size_of(old.v)
        size = np.cumsum(size if old.e is None else size + old.e, axis=axis)
        lengths = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
        place = np.arange(x.shape[axis]).reshape(lengths)
        e = size * (place * u * _SECOND_ORDER)
        if old.e is not None:
            e = e + np.cumsum(old.e, axis=axis)
        q = None
        if old.arithmetic.scatters:
            steps = np.cumsum(np.where(place > 0, size_of(v), 0.0) ** 2, axis=axis)
            q = plus(steps * (u * u / 3), None if old.q is None else np.cumsum(old.q, axis=axis))
        lost = None if old.lost is None else np.logical_or.accumulate(old.lost, axis=axis)
        return Errors(_counted(e, v), q, lost)

    return result(v, x, errors, k=0.0)


def matmul(a: Any, b: Any) -> Bounded:
    """The matrix product, each element a sum of products in whatever order, fused or not."""
    return bilinear(a, b, plain.matmul, a.shape[-1])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Bounded:
    """The sum of products over `axes`, in whatever order, fused or not."""
    over = range(-axes, 0) if isinstance(axes, int) else axes[0]
    terms = math.prod(a.shape[axis] for axis in over)
    return bilinear(a, b, lambda x, y: np.tensordot(x, y, axes), terms)


def bilinear(a: Any, b: Any, product: Callable[[Any, Any], Any], terms: int) -> Bounded:
    """`product(a, b)`, each element of which is a sum of `terms` products, in whatever order."""
    a, b = pair(a, b)
    v = product(a.v, b.v)

    def errors() -> Errors:
        x, y = a.settled(), b.settled()
        u = x.arithmetic.u
        left, right = size_of(x.v), size_of(y.v)
        size = product(left, right)
        e = None if x.e is None else product(x.e, right)
        if y.e is not None:
            e = plus(e, product(left if x.e is None else left + x.e, y.e))
        # With one term there is the product's rounding alone.
        rounding = size if e is None else size + e
        e = plus(e, rounding * ((terms - 1) * u * _SECOND_ORDER) if terms > 1 else None)
        q = None
        if x.arithmetic.scatters:
            squares = product(left**2, right**2)
            # Partial sums are a walk of independent steps upon an even growth.
            walk = squares * (terms / 2) + size_of(np.asarray(v)) ** 2 * (terms / 3)
            q = (walk + squares) * (u * u / 3)
            q = plus(q, None if x.q is None else product(x.q, right**2))
            q = plus(q, None if y.q is None else product(left**2, y.q))
            q = np.where(np.isfinite(q), q, 0.0)
        lost = None
        if x.lost is not None:
            lost = product(x.lost.astype(np.float64), np.ones_like(right)) > 0
        if y.lost is not None:
            lost = either(lost, product(np.ones_like(left), y.lost.astype(np.float64)) > 0)
        return Errors(None if e is None else _counted(e, v), q, lost)

    return result(v, a, errors, k=1.0 if terms else 0.0, least=a.sure + b.sure)
