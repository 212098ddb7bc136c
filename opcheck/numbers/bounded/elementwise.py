"""Functions of bounded numbers, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck.numbers.bounded.array import (
    Bounded,
    Common,
    Floats,
    Mask,
    Reals,
    is_finite,
    pair,
    size_of,
)
from opcheck.numbers.bounded.real import real

Errors = Floats | None


def plus(*parts: Any) -> Any:
    """The sum of those parts that there are, None if there is none."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def either(*masks: Mask | None) -> Mask | None:
    """Where any of those masks that there are is set, None if there is none."""
    found = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else found | mask
    return found


def result(
    v: Reals,
    like: Bounded,
    e: Errors = None,
    *,
    k: float = 1.0,
    q: Errors = None,
    lost: Mask | None = None,
    common: Common | None = None,
) -> Bounded:
    """What an operation makes, rounded with an error of `k` unit roundoffs.

    Where results are stored in a narrower type, that rounding comes last.
    """
    arithmetic = like.arithmetic
    if arithmetic.stored is None:
        return Bounded(v, like.dtype, arithmetic, e, k=k, q=q, lost=lost, common=common)
    wide = Bounded(v, like.dtype, arithmetic, e, k=k, q=q, lost=lost).settled()
    return Bounded(
        v, like.dtype, arithmetic, wide.e, k=1.0, grid=arithmetic.stored, q=wide.q, lost=wide.lost,
        common=common,
    )  # fmt: skip


def vanished(v: Reals, e: Errors, where: Callable[[], Mask]) -> Errors:
    """The errors of `v`, also where it is 0 only because it was too small for its dtype.

    `where()` tells for what operands 0 is not the exact result.
    """
    zero = v == 0
    if not zero.any():
        return e
    return plus(e, np.where(zero & where(), _LEAST, 0.0))


_LEAST = 5e-324


# ── arithmetic ────────────────────────────────────────────────────────────────────────────────


def add(a: Any, b: Any) -> Bounded:
    """a + b, rounded once."""
    return _sum(a, b, 1)


def subtract(a: Any, b: Any) -> Bounded:
    """a − b, rounded once."""
    return _sum(a, b, -1)


def _sum(a: Any, b: Any, sign: int) -> Bounded:
    a, b = (x.settled() for x in pair(a, b))
    v = a.v + b.v if sign > 0 else a.v - b.v
    return result(v, a, plus(a.e, b.e), q=plus(a.q, b.q), lost=either(a.lost, b.lost))


def multiply(a: Any, b: Any) -> Bounded:
    """a·b, rounded once."""
    a, b = pair(a, b)
    a, b, shared = _sharing(a, b)
    v = a.v * b.v
    e = None
    if a.e is not None:
        e = size_of(b.v) * a.e
    if b.e is not None:
        e = plus(e, size_of(a.v) * b.e if a.e is None else (size_of(a.v) + a.e) * b.e)
    e = vanished(v, _certain(e, a, b), lambda: (a.v != 0) & (b.v != 0))
    q = None
    if a.arithmetic.scatters:
        q = plus(
            None if a.q is None else size_of(b.v) ** 2 * a.q,
            None if b.q is None else size_of(a.v) ** 2 * b.q,
        )
    return result(v, a, e, q=q, lost=either(a.lost, b.lost), common=shared)


def divide(a: Any, b: Any) -> Bounded:
    """a/b: a division, or a product with the reciprocal, which rounds twice."""
    a, b = pair(a, b)
    a, b, shared = _sharing(a, b, divides=True)
    v = a.v / b.v
    lost = a.lost
    e = None
    size = size_of(b.v)
    if b.e is None:
        e = None if a.e is None else a.e / size
    else:
        room = size - b.e
        e = plus(a.e, size_of(v) * b.e) / np.where(room > 0, room, 0.0)
        near_zero = (room <= 0) & (b.e > 0)
        if near_zero.any():
            lost = either(lost, np.broadcast_to(near_zero, v.shape))
            e = np.where(near_zero, np.inf, e)
    e = vanished(v, _certain(e, a, b), lambda: (a.v != 0) & is_finite(b.v))
    if b.lost is not None:
        # What is too large divides to 0.
        e = plus(e, np.where(b.lost, size_of(v), 0.0))
    q = None
    if a.arithmetic.scatters:
        q = plus(
            None if a.q is None else a.q / size**2,
            None if b.q is None else size_of(v) ** 2 * b.q / size**2,
        )
    return result(v, a, e, k=2.0, q=q, lost=lost, common=shared)


def _certain(e: Errors, a: Bounded, b: Bounded) -> Errors:
    """Errors of a product or quotient, without those of operands that are infinite or 0."""
    if e is None:
        return None
    if not np.isfinite(e).all():
        infinite = ~(is_finite(a.v) & is_finite(b.v))
        exact = [np.zeros(x.shape, np.bool_) if x.e is None else x.e == 0 for x in (a, b)]
        e = np.where(infinite | (exact[0] & exact[1]), 0.0, e)
    return e


def _sharing(
    a: Bounded, b: Bounded, *, divides: bool = False
) -> tuple[Bounded, Bounded, Common | None]:
    """The operands of a product, and the relative error that groups of its elements share.

    That is the error of an operand that is spread over the other one, such as the sum that a row
    is divided by. It is no part of the operands any more.
    """
    shape = np.broadcast_shapes(a.shape, b.shape)
    for one, other in ((b, a), (a, b)) if not divides else ((b, a),):
        spread = one.size < other.size and one.size > 0 and other.shape == shape
        if spread and not one.exact and other.common is None:
            settled = one.settled()
            assert settled.e is not None
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = settled.e / size_of(settled.v)
                relative = relative / (1 - relative) if divides else relative
            relative = np.where(settled.e == 0, 0.0, relative)
            usable = (relative >= 0) & (relative < 0.5)
            if not usable.all():
                break
            lead = (1,) * (len(shape) - one.ndim)
            group = np.arange(one.size).reshape(lead + one.shape)
            common = Common(relative.reshape(lead + one.shape), group)
            plain = Bounded(one.v, one.dtype, one.arithmetic, q=settled.q, lost=settled.lost)
            parts = (other.settled(), plain) if one is b else (plain, other.settled())
            return *parts, common
    for one, other in ((a, b), (b, a)) if not divides else ((a, b),):
        if one.common is not None and one.shape == shape:
            plain = Bounded(
                one.v, one.dtype, one.arithmetic, one.e, k=one.k, grid=one.grid, q=one.q,
                lost=one.lost,
            ).settled()  # fmt: skip
            parts = (plain, other.settled()) if one is a else (other.settled(), plain)
            return *parts, one.common
    return a.settled(), b.settled(), None


def values_of(x: Bounded) -> Floats:
    """The values of `x` in float64."""
    return x.v.astype(np.float64)


def inexact(x: Bounded, roundoffs: Any) -> Bounded:
    """`x`, of which an implementation may be so many unit roundoffs off for its own reasons."""
    x = x.settled()
    more = size_of(x.v) * (np.asarray(roundoffs) * x.arithmetic.u)
    e = plus(x.e, np.where(np.isfinite(more), more, 0.0))
    return Bounded(x.v, x.dtype, x.arithmetic, e, q=x.q, lost=x.lost)


def negative(x: Bounded) -> Bounded:
    """−x, which rounds nothing."""
    return Bounded(
        -x.v, x.dtype, x.arithmetic, x.e, k=x.k, grid=x.grid, q=x.q, lost=x.lost, common=x.common
    )


def abs(x: Bounded) -> Bounded:
    """|x|, which rounds nothing."""
    return Bounded(
        np.abs(x.v), x.dtype, x.arithmetic, x.e, k=x.k, grid=x.grid, q=x.q, lost=x.lost,
        common=x.common,
    )  # fmt: skip


# ── library functions ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Shape:
    """How the error of its argument shows in a function's value.

    `slope` is the largest slope there is, where that is all that is used; None for a function that
    rises or falls between its `turns`, so that it takes its extremes at the ends of an interval or
    at a turn.
    """

    slope: float | None = None
    turns: tuple[float, ...] = ()


_RISING = Shape()
_SHAPES: Mapping[str, Shape] = {
    **dict.fromkeys(
        "exp expm1 log log1p sinh asinh tanh atanh atan asin acos acosh erf".split(), _RISING
    ),
    "sin": Shape(slope=1.0),
    "cos": Shape(slope=1.0),
    "tan": _RISING,
    "cosh": Shape(turns=(0.0,)),
}


def library(name: str, x: Bounded) -> Bounded:
    """A function of one argument, by a library that is as accurate as the arithmetic says."""
    x = x.settled()
    accuracy = x.arithmetic.accuracy(name)
    function = real(name)
    v = function(x.v)
    e = x.e
    if accuracy.argument:
        e = plus(e, size_of(x.v) * (accuracy.argument * x.arithmetic.u))
        e = None if e is None else np.where(is_finite(x.v), e, 0.0)
    e, lost = _through(function, x, v, e, _SHAPES[name])
    if name == "exp":
        e = vanished(v, e, lambda: is_finite(x.v))
    if accuracy.absolute:
        e = plus(e, np.full(v.shape, accuracy.absolute * x.arithmetic.u))
    q = _slope_squared(function, x.v, v, x.q)
    return result(v, x, e, k=2 * accuracy.ulp, q=q, lost=lost)


def _library(name: str) -> Callable[[Bounded], Bounded]:
    def function(x: Bounded) -> Bounded:
        return library(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x), as accurate as the arithmetic's library."
    return function


exp, expm1, log, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh = (
    _library(name)
    for name in "exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh".split()
)
erf = _library("erf")


def sqrt(x: Bounded) -> Bounded:
    """The square root, rounded once."""
    x = x.settled()
    function = real("sqrt")
    v = function(x.v)
    e, lost = _through(function, x, v, x.e, _RISING, least=0.0)
    q = _slope_squared(function, x.v, v, x.q)
    return result(v, x, e, q=q, lost=lost)


def pow(x: Any, p: Any) -> Bounded:
    """x^p by a library function, or by exp(p·ln x), whose errors grow with |p·ln x|."""
    x, p = (each.settled() for each in pair(x, p))
    power = real("pow")
    v = power(x.v, p.v)
    accuracy = x.arithmetic.accuracy("pow")
    size, u = size_of(v), x.arithmetic.u
    logarithm = np.abs(np.log(size_of(x.v)))
    relative = np.where(np.isfinite(logarithm), logarithm, 0.0) * size_of(p.v)
    e = size * np.expm1(accuracy.argument * u * relative)
    lost = None
    if x.e is not None or p.e is not None:
        x_e, p_e = (np.zeros(()) if part is None else part for part in (x.e, p.e))
        ends = [power(a, b) for a in (x.v - x_e, x.v + x_e) for b in (p.v - p_e, p.v + p_e)]
        if (size_of(x.v) <= x_e).any() and (x.v >= 0).all():
            ends = [power(np.maximum(x.v - x_e, 0), p.v), *ends[2:]]
        spread = np.max([size_of(end - v) for end in ends], axis=0)
        e = e + spread
        unknown = np.isnan(spread) | (np.isfinite(size) & ~np.isfinite(spread))
        if unknown.any():
            lost = unknown & np.isfinite(size)
            e = np.where(unknown, np.inf, e)
    e = vanished(v, np.where(np.isfinite(size), e, 0.0), lambda: x.v != 0)
    q = None
    if x.arithmetic.scatters and x.q is not None:
        slope = np.where(x.v != 0, size_of(p.v) * size / size_of(x.v), 0.0)
        q = np.where(np.isfinite(slope), slope, 0.0) ** 2 * x.q
    return result(v, x, e, k=2 * accuracy.ulp, q=q, lost=either(x.lost, p.lost, lost))


def _through(
    function: Callable[[Reals], Reals],
    x: Bounded,
    v: Reals,
    e: Errors,
    shape: Shape,
    least: float = -np.inf,
) -> tuple[Errors, Mask | None]:
    """How far function(x ± e) may lie from v = function(x), and where that is unknown.

    Of an `x` that was lost in overflow, an implementation has an infinity.
    """
    if e is None:
        return None, None
    if shape.slope is not None:
        return e * shape.slope, x.lost
    low, high = x.v - e, x.v + e
    if x.lost is not None:
        low, high = (
            np.where(x.lost & (x.v * sign > 0), x.v * np.inf, end)
            for sign, end in ((-1, low), (1, high))
        )
    if least > -np.inf:
        low = np.where((low < least) & (x.v >= least), least, low)
    error = np.fmax(size_of(function(high) - v), size_of(function(low) - v))
    for turn in shape.turns:
        value = function(np.full((), turn, x.v.dtype))
        error = np.where((low <= turn) & (turn <= high), np.fmax(error, size_of(value - v)), error)
    certain = ((e == 0) & (x.lost is None or ~x.lost)) | ~is_finite(x.v)
    error = np.where(certain, 0.0, error)
    unknown = ~np.isfinite(error) | (~is_finite(v) & ~certain)
    if not unknown.any():
        return error, None
    return np.where(unknown, np.inf, error), unknown


def _slope_squared(
    function: Callable[[Reals], Reals], x: Reals, v: Reals, q: Errors
) -> Errors:
    """The variance of function(x), where x has the variance q: by the slope over a deviation."""
    if q is None:
        return None
    deviation = np.sqrt(q)
    ahead, behind = size_of(function(x + deviation) - v), size_of(function(x - deviation) - v)
    step = np.fmax(ahead, behind)
    return np.where(np.isfinite(step) & (q > 0), step, 0.0) ** 2
