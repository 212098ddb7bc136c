"""Comparisons, selections and steps of bounded numbers, which need not be certain.

Where the error of an operand leaves more than one outcome, all of them are admitted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Kind, method, methods
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import Bounded, Errors, Mask, as_values, is_finite, pair, size_of
from opcheck.numbers.bounded.elementwise import either, plus, real

#: Deviations within which scatter may change which number is the extreme.
_FAR = 4.0


@dataclass(frozen=True, eq=False)
class Truth(Kind):
    """Booleans `v`; those that are `unsure` may be the other one too."""

    v: Mask
    unsure: Mask

    __and__, __rand__ = methods("logical_and")
    __or__, __ror__ = methods("logical_or")
    __xor__, __rxor__ = methods("logical_xor")
    __invert__ = method("logical_not")


def truth(v: Mask, unsure: Mask | None) -> Any:
    """A Truth, or plain booleans where all of them are sure."""
    return v if unsure is None or not unsure.any() else Truth(v, np.broadcast_to(unsure, v.shape))


def halves(x: Any) -> tuple[Mask, Mask]:
    """The booleans of `x`, and which of them are unsure."""
    if isinstance(x, Truth):
        return x.v, x.unsure
    v = np.asarray(x, np.bool_)
    return v, np.zeros(v.shape, np.bool_)


def logical_not(x: Any) -> Any:
    """Not x."""
    v, unsure = halves(x)
    return truth(~v, unsure)


def logical_and(a: Any, b: Any) -> Any:
    """A and b: unsure unless one of them is surely false."""
    (v, unsure), (w, other) = halves(a), halves(b)
    return truth(v & w, (unsure & (w | other)) | (other & (v | unsure)))


def logical_or(a: Any, b: Any) -> Any:
    """A or b: unsure unless one of them is surely true."""
    return logical_not(logical_and(logical_not(a), logical_not(b)))


def logical_xor(a: Any, b: Any) -> Any:
    """Either a or b."""
    (v, unsure), (w, other) = halves(a), halves(b)
    return truth(v ^ w, unsure | other)


def _compared(compare: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    a, b = (x.settled() for x in pair(a, b))
    v = np.asarray(compare(a.v, b.v), np.bool_)
    room = plus(a.e, b.e)
    if room is None:
        return v
    unsure = (size_of(a.v - b.v) <= room) & (room > 0)
    lost = either(a.lost, b.lost) if a.arithmetic.flushes else None
    return truth(v, unsure if lost is None else unsure | (lost > 0))


def less(a: Any, b: Any) -> Any:
    """Return a < b, unsure where the errors admit both."""
    return _compared(np.less, a, b)


def less_equal(a: Any, b: Any) -> Any:
    """Return a ≤ b, unsure where the errors admit both."""
    return _compared(np.less_equal, a, b)


def greater(a: Any, b: Any) -> Any:
    """Return a > b, unsure where the errors admit both."""
    return _compared(np.greater, a, b)


def greater_equal(a: Any, b: Any) -> Any:
    """Return a ≥ b, unsure where the errors admit both."""
    return _compared(np.greater_equal, a, b)


def equal(a: Any, b: Any) -> Any:
    """Return a = b, unsure where the errors admit both."""
    return _compared(np.equal, a, b)


def not_equal(a: Any, b: Any) -> Any:
    """Return a ≠ b, unsure where the errors admit both."""
    return _compared(np.not_equal, a, b)


def isnan(x: Bounded) -> Any:
    """Mask the elements whose value is NaN."""
    return x.v != x.v


def isfinite(x: Bounded) -> Any:
    """Mask the elements whose value is finite."""
    return is_finite(x.v)


def isinf(x: Bounded) -> Any:
    """Mask the elements whose value is infinite."""
    return ~is_finite(x.v) & (x.v == x.v)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition` holds, else `b`; where that is unsure, either."""
    if not isinstance(a, Bounded) and not isinstance(b, Bounded):
        raise TypeError("an unsure condition chooses between bounded numbers only")
    a, b = pair(a, b)
    chosen, unsure = halves(condition)
    v = np.where(chosen, a.v, b.v)
    if a.exact and b.exact and not unsure.any():
        return Bounded(v, a.dtype, a.arithmetic)
    alike = a.k == b.k and a.grid == b.grid and not (a.has_common or b.has_common or unsure.any())

    def errors() -> Errors:
        x, y = (a, b) if alike else (a.settled(), b.settled())
        e = _either(chosen, x.e, y.e)
        if unsure.any():
            ends = [size_of(one.v - v) + (0.0 if one.e is None else one.e) for one in (x, y)]
            e = np.where(unsure, np.maximum(*ends), 0.0 if e is None else e)
        lost = _either(chosen, x.lost, y.lost, 0)
        if lost is not None and unsure.any():
            lost = np.where(unsure, either(x.lost, y.lost), lost)
        return Errors(e, _either(chosen, x.q, y.q), lost)

    return a.beside(v, errors, alike, min(x.least if alike else x.sure for x in (a, b)))


def _either(chosen: Mask, a: Any, b: Any, default: Any = 0.0) -> Any:
    if a is None and b is None:
        return None
    return np.where(chosen, default if a is None else a, default if b is None else b)


def with_ieee(narrow: Any, wide: Any, enough: bool) -> Any:
    """An output of mpmath's numbers, which know no −0, with IEEE's for zeros, infinities and NaN.

    If `narrow` values are precise `enough`, they stay wherever they did not run out.
    """
    if not isinstance(narrow, Bounded) or not isinstance(wide, Bounded):
        return wide
    v, zero = narrow.v, narrow.v == 0
    # Where IEEE has NaN, as of ∞ − ∞, a finite difference may well be 0.
    better = is_finite(wide.v) & (np.isnan(v) | np.asarray(wide.v != 0, np.bool_))
    if enough:
        better &= zero | ~(np.abs(v) <= arrays.CUT)
    if not better.any():
        return narrow
    with np.errstate(all="ignore"):
        # An object may be Python's −0.0 too.
        v = np.where(zero, v.astype(np.float64).astype(np.object_), as_values(v, wide.v.dtype))
        return where(better, wide, narrow.like(v, narrow._errors))


def extreme(
    choose: Callable[..., Any], join: Callable[[np.ufunc], Any], v: arrays.Reals, *operands: Bounded
) -> Bounded:
    """The extreme `v` = choose(*operands), NaN if one is; `join(how)` joins what all have."""
    first = operands[0]
    if first.v.dtype == np.object_:
        # To compare mpmath's numbers loses NaN.
        nan = join(np.logical_or)(*(np.asarray(x.v != x.v) for x in operands))
        v = np.where(nan, as_values(np.nan, first.v.dtype), v)
    if all(x.exact for x in operands):
        return Bounded(v, first.dtype, first.arithmetic)

    def errors() -> Errors:
        old = [x.settled() for x in operands]
        away = [
            np.maximum(*(size_of(choose(*each) - v) for each in zip(*ends, strict=True)))
            for ends in ([x.ends(far=far) for x in old] for far in (False, True))
        ]
        e = np.where(np.isnan(away[0]) | ~is_finite(np.asarray(v)), 0.0, away[0])
        # What others that lie far off would scatter to makes no difference.
        q = _spread(choose, v, *old)
        lost = None
        if any(x.lost is not None for x in old):
            lost = join(np.bitwise_or)(*(np.int8(0) if x.lost is None else x.lost for x in old))
            gone = ~np.isfinite(away[1]) | (lost > arrays.OVERFLOWED)
            if first.arithmetic.flushes:
                e = np.where(gone, e, np.maximum(*away))
            lost = np.where(gone, lost, 0)
        return Errors(e, q, lost)

    return Bounded(v, first.dtype, first.arithmetic, errors, least=min(x.sure for x in operands))


def _extreme(choose: np.ufunc, a: Any, b: Any) -> Bounded:
    a, b = pair(a, b)
    made = extreme(choose, lambda how: how, choose(a.v, b.v), a, b)
    made.squared = (any if choose is np.maximum else all)(x.never_negative() for x in (a, b))
    return made


def maximum(a: Any, b: Any) -> Bounded:
    """Return the larger element of two; NaN if one is."""
    return _extreme(np.maximum, a, b)


def minimum(a: Any, b: Any) -> Bounded:
    """Return the smaller element of two; NaN if one is."""
    return _extreme(np.minimum, a, b)


def clip(x: Bounded, low: Any, high: Any) -> Bounded:
    """X between `low` and `high`; `high` where they contradict each other."""
    operands = (x, pair(low, x)[0], pair(high, x)[0])
    v = np.minimum(np.maximum(x.v, operands[1].v), operands[2].v)
    return extreme(
        lambda x, low, high: np.minimum(np.maximum(x, low), high),
        lambda how: lambda *parts: how(how(*parts[:2]), parts[2]),
        v,
        *operands,
    )


def _step(function: Callable[[Any], Any], x: Bounded) -> Bounded:
    """A function that is constant but for steps; next to one, the middle of the admitted values."""
    x = x.settled()
    v = function(x.v)
    if x.e is None:
        return Bounded(v, x.dtype, x.arithmetic)
    low, high = function(x.v - x.e), function(x.v + x.e)
    unsure = np.asarray(low != high) & np.isfinite(x.e) & is_finite(v)
    if not unsure.any() and np.isfinite(x.e).all():
        return Bounded(v, x.dtype, x.arithmetic, Errors(lost=x.lost))
    e = np.where(unsure, size_of(high - low) / 2, np.where(np.isinf(x.e), np.inf, 0.0))
    # What scatters does so about the value.
    middle = v if x.arithmetic.scatters else np.where(unsure, (low + high) / 2, v)
    return Bounded(middle, x.dtype, x.arithmetic, Errors(e, _spread(function, v, x), x.lost))


def _spread(function: Callable[..., Any], v: Any, *operands: Bounded) -> arrays.Floats | None:
    """The variance of a function that may jump, whose operands scatter; None where none does."""
    if all(x.q is None for x in operands):
        return None
    far = [_FAR * np.sqrt(0.0 if x.q is None else x.q) for x in operands]
    ends = ([x.v + sign * by for x, by in zip(operands, far, strict=True)] for sign in (1, -1))
    off = np.maximum(*(size_of(function(*each) - v) for each in ends))
    return np.asarray(off / _FAR).astype(np.float64) ** 2


def sign(x: Bounded) -> Bounded:
    """Return −1, 0 or 1 by the sign of each element."""
    return _step(real("sign"), x)


def floor(x: Bounded) -> Bounded:
    """Return the largest integer not above each element."""
    return _step(real("floor"), x)


def ceil(x: Bounded) -> Bounded:
    """Return the smallest integer not below each element."""
    return _step(real("ceil"), x)


def trunc(x: Bounded) -> Bounded:
    """Return each element without its fraction."""
    return _step(real("trunc"), x)


def round(x: Bounded) -> Bounded:
    """Return the nearest integer, ties to even."""
    return _step(real("round"), x)


def _remainder(name: str, a: Any, b: Any) -> Bounded:
    """Return the remainder of a division, which is exact where the operands are."""
    a, b = (x.settled() for x in pair(a, b))
    v = real(name)(a.v, b.v)
    if a.e is None and b.e is None:
        return Bounded(v, a.dtype, a.arithmetic, k=1.0)
    # Next to a multiple of b the remainder jumps.
    e = np.broadcast_to(size_of(b.v) + plus(a.e, b.e), v.shape)
    errors = Errors(e, _spread(real(name), v, a, b), either(a.lost, b.lost))
    return Bounded(v, a.dtype, a.arithmetic, errors, k=1.0)


def remainder(a: Any, b: Any) -> Bounded:
    """Return the remainder of a/b with the sign of `b`."""
    return _remainder("remainder", a, b)


def fmod(a: Any, b: Any) -> Bounded:
    """Return the remainder of a/b with the sign of `a`."""
    return _remainder("fmod", a, b)


def _place(choose: Any, sign: int, x: Bounded, axis: int | None, keepdims: bool) -> Any:
    """The index of the first extreme, with every index that the errors admit."""
    x = x.settled()
    v = choose(x.v, axis=axis, keepdims=keepdims)
    if x.v.dtype == np.object_:  # of which NumPy does not find NaN
        nan = np.asarray(x.v != x.v, np.bool_)
        has_nan = nan.any(axis=axis, keepdims=keepdims)
        v = np.where(has_nan, np.argmax(nan, axis=axis, keepdims=keepdims), v)
    if x.e is None:
        return v
    low, high = x.ends(far=x.arithmetic.flushes)
    low, high = (low, high) if sign > 0 else (-high, -low)
    return indices(v, high >= low.max(axis=axis, keepdims=True), axis)


def argmax(x: Bounded, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first maximum, with every index that the errors admit."""
    return _place(np.argmax, 1, x, axis, keepdims)


def argmin(x: Bounded, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first minimum, with every index that the errors admit."""
    return _place(np.argmin, -1, x, axis, keepdims)


@dataclass(frozen=True, eq=False)
class Indices(Kind):
    """Indices `v`; `admitted` has an axis more, the last, with all that each of them may be."""

    v: NDArray[Any]
    admitted: NDArray[np.intp]


def indices(v: Any, possible: Mask, axis: int | None) -> Any:
    """Indices along `axis` with those that are `possible`; plain ones where there is one each."""
    lined = possible.reshape(1, -1) if axis is None else np.moveaxis(possible, axis, -1)
    counts = lined.sum(-1)
    most = int(counts.max(initial=0))
    if most <= 1:
        return v
    # The possible ones come first, in order; the rest repeats the chosen one.
    order = np.argsort(~lined, axis=-1, stable=True)[..., :most]
    flat = v.reshape(counts.shape if axis is not None else (1,))
    admitted = np.where(np.arange(most) < counts[..., None], order, flat[..., None])
    return Indices(v, admitted.reshape(*np.shape(v), most))


def top_k(x: Bounded, k: int, axis: int, largest: bool) -> tuple[Any, Any]:
    """The `k` largest or smallest elements in order, and their indices."""
    x = x.settled()
    values, order = plain.top_k(x.v, k, axis, largest)
    if x.exact:
        return Bounded(values, x.dtype, x.arithmetic), order
    lows, highs = (plain.top_k(end, k, axis, largest)[0] for end in x.ends())
    e = np.maximum(size_of(values - lows), size_of(highs - values))
    # An element may be in a place if its interval meets that of the place.
    own_low, own_high = (np.moveaxis(end, axis, -1)[..., None, :] for end in x.ends())
    there_low, there_high = (np.moveaxis(end, axis, -1)[..., :, None] for end in (lows, highs))
    possible = (own_high >= there_low) & (own_low <= there_high)
    found = indices(np.moveaxis(order, axis, -1), possible, possible.ndim - 1)
    q = _spread(lambda v: plain.top_k(v, k, axis, largest)[0], values, x)
    bounded = Bounded(values, x.dtype, x.arithmetic, Errors(e, q))
    if not isinstance(found, Indices):
        return bounded, order
    return bounded, Indices(order, np.moveaxis(found.admitted, -2, axis))
