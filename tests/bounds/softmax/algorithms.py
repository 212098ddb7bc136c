"""Ways to compute Softmax, each open to an exp and an order of addition of one's choice.

All take rows (n, N), which hold neither NaN nor +inf and of which none is -inf throughout, and
compute in their dtype. exp(0) is 1 wherever partial sums are rescaled by it or a sum's logarithm is
its argument; elsewhere it may be off like any other value.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array, Sum

Softmax: TypeAlias = Callable[[Array], Array]
Exp: TypeAlias = Callable[[Array], Array]

LOG2E = np.longdouble("1.44269504088896340735992468100189214")
LN2 = np.longdouble("0.693147180559945309417232121458176568")


def by_exp2(x: Array) -> Array:
    """Two roundings that grow with x: that of log2(e) and that of the product."""
    return np.exp2(x * x.dtype.type(LOG2E))


def by_one_constant(x: Array) -> Array:
    """exp by 2^n · exp(x − n·ln 2), with ln 2 and the product rounded."""
    kind = x.dtype.type
    n = np.rint(np.maximum(x, kind(-1e4)) * kind(LOG2E))
    reduced = np.exp(np.maximum(x, kind(-1e4)) - n * kind(LN2))
    return np.ldexp(reduced, n.astype(np.int32))


def off_exp2(signs: ar.Signs) -> Exp:
    """exp2 that errs as far as a library call may, of a product that is rounded."""

    def exp(x: Array) -> Array:
        scaled = x * x.dtype.type(LOG2E)
        return ar.off(np.exp2(ar.wide(scaled)), x.dtype, ar.LIBRARY, signs(x))

    return exp


def anchored(exp: Exp) -> Exp:
    """`exp`, but with exp(0) = 1."""
    return lambda x: np.where(x == 0, x.dtype.type(1), exp(x))


def clamped(x: Array) -> Array:
    """exp that reads no argument below that of the smallest numbers, but -inf for what it is."""
    lowest = x.dtype.type(-88.376 if x.dtype == np.float32 else -708.0)
    return np.where(np.isneginf(x), x.dtype.type(0), np.exp(np.maximum(x, lowest)))


def flushed(exp: Exp, times: float = 1.0) -> Exp:
    return lambda x: ar.flush(exp(x), times)


def shifted(x: Array) -> Array:
    return x - x.max(axis=-1, keepdims=True)


def quotient(x: Array, exp: Exp = np.exp, add: Sum = ar.sequential) -> Array:
    """exp of the shifted row over its sum, as the function body of version 13 says."""
    e = exp(shifted(x))
    return e / add(e)


def reciprocal(x: Array, exp: Exp = np.exp, add: Sum = ar.sequential) -> Array:
    e = exp(shifted(x))
    return e * (x.dtype.type(1) / add(e))


def by_newton(x: Array) -> Array:
    """A reciprocal that the hardware only estimates, to 11 bits, and steps of Newton to mend it."""
    e = np.exp(shifted(x))
    s = ar.pairwise(e)
    one = x.dtype.type(1)
    guess = (one / s) * (one + x.dtype.type(2**-11))
    for _ in range(3):
        guess = guess + guess * (one - s * guess)
    return e * guess


def unshifted(x: Array, exp: Exp = np.exp) -> Array:
    e = exp(x)
    return e / ar.pairwise(e)


def by_log(x: Array, exp: Exp = np.exp, signs: ar.Signs | None = None) -> Array:
    """exp((x − m) − ln s); the logarithm errs as `signs` say, by as much as a library call may."""
    d = shifted(x)
    s = ar.sequential(exp(d))
    log = np.log(s) if signs is None else ar.off(np.log(ar.wide(s)), x.dtype, ar.LIBRARY, signs(s))
    return exp(d - log)


def by_log2(x: Array) -> Array:
    """exp2(d·log2 e − log2 s)."""
    d = shifted(x) * x.dtype.type(LOG2E)
    return np.exp2(d - np.log2(ar.pairwise(np.exp2(d))))


def prescaled(x: Array) -> Array:
    """x·log2 e is rounded before the maximum is taken off."""
    t = x * x.dtype.type(LOG2E)
    e = np.exp2(shifted(t))
    return e / ar.pairwise(e)


def fused(x: Array, add: Sum = ar.pairwise) -> Array:
    """exp2(x·c − m·c) by fused multiply-add: m·c is rounded once for the whole row, x·c never."""
    c = np.full_like(x, LOG2E)
    high, low = ar.product(x, c)
    low = np.where(np.isfinite(high), low, 0)
    shift = x.max(axis=-1, keepdims=True) * c[:, :1]
    e = np.exp2(((ar.wide(high) - ar.wide(shift)) + ar.wide(low)).astype(x.dtype))
    return e / add(e)


def in_double(x: Array) -> Array:
    """Wider than it need be, and rounded once."""
    e = np.exp(ar.wide(shifted(x)))
    return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)


def flushing(x: Array, times: float = 1.0, exp: Exp = np.exp) -> Array:
    """Neither exp nor the quotient knows numbers below `times` the smallest normal one."""
    e = ar.flush(exp(shifted(x)), times)
    return ar.flush(e / ar.sequential(e), times)


def online(x: Array, lanes: int = 1, exp: Exp = np.exp, chunked: bool = False) -> Array:
    """The running maximum and sum of each lane in one pass, then the lanes together, two by two.

    Their number is a power of two. A lane is every `lanes`-th element, or if `chunked` a run of
    neighbours.
    """
    exp = anchored(exp)
    rows = len(x)
    top, total = np.full((rows, lanes), -np.inf, x.dtype), np.zeros((rows, lanes), x.dtype)
    for piece in _dealt(x, lanes, chunked):
        higher = np.maximum(top, piece)
        total = total * exp(_below(top, higher)) + exp(_below(piece, higher))
        top = higher
    while top.shape[-1] > 1:
        one, other = top[:, ::2], top[:, 1::2]
        top = np.maximum(one, other)
        total = total[:, ::2] * exp(_below(one, top)) + total[:, 1::2] * exp(_below(other, top))
    return exp(x - top) / total


def blockwise(x: Array, size: int, exp: Exp = np.exp) -> Array:
    """exp by blocks, each under its own maximum; sums and elements are rescaled afterwards."""
    exp = anchored(exp)
    m = x.max(axis=-1, keepdims=True)
    total = np.zeros_like(m)
    pieces = []
    for start in range(0, x.shape[-1], size):
        block = x[:, start : start + size]
        top = block.max(axis=-1, keepdims=True)
        e, factor = exp(_below(block, top)), exp(_below(top, m))
        total = total + ar.pairwise(e) * factor
        pieces.append(e * factor)
    return np.concatenate(pieces, axis=-1) * (x.dtype.type(1) / total)


def _below(values: Array, top: Array) -> Array:
    """`values` − `top`, and 0 where both are -inf: what that leaves is later multiplied by 0."""
    return np.where(values == top, values.dtype.type(0), values - top)


def _dealt(x: Array, lanes: int, chunked: bool) -> Iterator[Array]:
    rows, count = x.shape
    filled = np.full((rows, -(-count // lanes) * lanes), -np.inf, x.dtype)
    filled[:, :count] = x
    if chunked:
        return iter(filled.reshape(rows, lanes, -1).transpose(2, 0, 1))
    return iter(filled.reshape(rows, -1, lanes).transpose(1, 0, 2))
