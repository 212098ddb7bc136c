"""Movement and casts of bounded numbers, whose elements take along all that is known of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.numbers.arithmetic import FLOAT32, Arithmetic, expected, grid, narrow
from opcheck.numbers.bounded import array as arrays
from opcheck.numbers.bounded.array import NO_ERRORS, Bounded, Errors, as_values, pair, size_of
from opcheck.numbers.bounded.choice import Indices, trunc, truth
from opcheck.numbers.bounded.elementwise import either


def _movement(move: Callable[..., Any], x: Bounded, *arguments: Any, **options: Any) -> Bounded:
    """NumPy's function of this name."""
    return x.moved(lambda part: move(part, *arguments, **options))


broadcast_to, expand_dims, flip, permute_dims, reshape, squeeze, tile = (
    partial(_movement, getattr(np, name))
    for name in "broadcast_to expand_dims flip permute_dims reshape squeeze tile".split()
)


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
    count = index.admitted.shape[-1]
    wide = x.moved(lambda part: np.repeat(part[..., None], count, -1))
    admitted = wide.moved(lambda part: np.take_along_axis(part, index.admitted, axis % x.ndim))
    chosen = x.moved(lambda part: np.take_along_axis(part, index.v, axis))
    return _hull(chosen, admitted, x.ndim)


def _hull(chosen: Bounded, admitted: Bounded, place: int) -> Bounded:
    """Return the choice, with an error that reaches all possible choices."""
    chosen, admitted = chosen.settled(), admitted.settled()
    room = 0.0 if admitted.e is None else admitted.e
    e = np.max(size_of(admitted.v - np.expand_dims(chosen.v, place)) + room, axis=place)
    lost = admitted.lost
    lost = None if lost is None else np.asarray(np.bitwise_or.reduce(lost, axis=place))
    return Bounded(chosen.v, chosen.dtype, chosen.arithmetic, Errors(e, chosen.q, lost))


def _joined(join: Callable[..., Any], arrays: Sequence[Any], axis: int = 0) -> Bounded:
    """NumPy's function of this name."""
    first = next(x for x in arrays if isinstance(x, Bounded))
    parts = [pair(x, first)[0] for x in arrays]
    v = join([x.v for x in parts], axis=axis)
    if all(x.exact for x in parts):
        return first.like(v, NO_ERRORS)
    alike = all(x.k == parts[0].k and x.grid == parts[0].grid for x in parts)
    alike = alike and not any(x.has_common for x in parts)

    def of(name: str, default: Any) -> Any:
        held = [getattr(x if alike else x.settled(), name) for x in parts]
        if all(part is None for part in held):
            return None
        pairs = zip(parts, held, strict=True)
        filled = [np.full(x.shape, default) if part is None else part for x, part in pairs]
        return join(filled, axis=axis)

    def errors() -> Errors:
        return Errors(of("e", 0.0), of("q", 0.0), of("lost", 0))

    joined = _laid_out(parts[0], v, errors, alike)
    joined.least = min(x.least if alike else x.sure for x in parts)
    return joined


def _laid_out(x: Bounded, v: Any, errors: Callable[[], Errors], keeps: bool) -> Bounded:
    """Values among which are those of `x`, which `keeps` its last rounding apart, or does not."""
    if keeps:
        made = x.like(v, errors)
        made.shares = False
        return made
    return Bounded(v, x.dtype, x.arithmetic, errors, grid=x.grid if x.exact else None)


concat, stack = partial(_joined, np.concat), partial(_joined, np.stack)


def pad(x: Bounded, widths: Any, constant_values: float = 0.0) -> Bounded:
    """Constants around the array, without any error."""

    def framed(part: Any, value: Any) -> Any:
        return None if part is None else np.pad(part, widths, constant_values=value)

    if x.exact:
        return x.like(framed(x.v, constant_values), NO_ERRORS)
    # The last rounding is the array's own, and no constant's but 0.
    keeps = not constant_values and not x.has_common

    def errors() -> Errors:
        old = x if keeps else x.settled()
        return Errors(framed(old.e, 0.0), framed(old.q, 0.0), framed(old.lost, 0))

    padded = _laid_out(x, framed(x.v, constant_values), errors, keeps)
    padded.least = 0.0
    return padded


def full_like(x: Bounded, value: float) -> Bounded:
    """A constant in the shape of `x`."""
    return Bounded(np.full_like(x.v, value), x.dtype, x.arithmetic)


zeros_like = partial(full_like, value=0)


def astype(x: Bounded, dtype: Any, *, computes: bool = False) -> Any:
    """`x` in another type: a narrower float rounds, an integer cuts the fraction off.

    Arithmetic goes on in what is expected of that type. A value that an integer type cannot hold
    is lost: no specification says what becomes of it.
    """
    wanted = np.dtype(dtype)
    if wanted.kind == "b":
        room = x.settled().e
        return truth(np.asarray(x.v != 0), None if room is None else size_of(x.v) <= room)
    kind = dtypes.of(np.empty(0, wanted))
    if kind is None or kind.kind not in ("float", "int"):
        raise TypeError(f"no bounded numbers of type {wanted}")
    return (
        _to_integer(x, kind)
        if kind.kind == "int"
        else _to_float(x, kind, _arithmetic(x.arithmetic, kind, computes))
    )


def _to_float(x: Bounded, dtype: DType, arithmetic: Arithmetic) -> Bounded:
    if x.dtype == dtype.numpy:
        return Bounded(
            x.v, x.dtype, arithmetic, x._errors, k=x.k, grid=x.grid, least=x.least, shares=x.shares
        )
    v = as_values(x.v, arrays.VALUES()[arithmetic.values])
    rounds = grid(dtype).u > _u(x.dtype)
    if x.exact and not rounds:
        # Every number of the old type is one of the new.
        return Bounded(v, dtype.numpy, arithmetic)
    return Bounded(
        v,
        dtype.numpy,
        arithmetic,
        lambda: x.settled().errors,
        k=1.0 if rounds else 0.0,
        grid=grid(dtype) if rounds else None,
        least=x.sure,
    )


def _u(dtype: np.dtype[Any]) -> float:
    known = dtypes.of(np.empty(0, dtype))
    return grid(known).u if known is not None and known.kind == "float" else 0.0


def _arithmetic(old: Arithmetic, dtype: DType, computes: bool) -> Arithmetic:
    """The arithmetic of what follows a cast to `dtype`."""
    # Results that are rounded to a type of 16 bits, or stored in one.
    is_half = old.stored is not None or old.grid.dtype.numpy.itemsize == 2
    half = old.half or (old if is_half else None)
    if dtype.numpy.itemsize > 2:
        new = expected(dtype)
    else:
        new = narrow(dtype) if computes else half or FLOAT32
    values = max(new.values, old.values)
    return replace(new, flushes=old.flushes, scatters=old.scatters, values=values, half=half)


def _to_integer(x: Bounded, dtype: DType) -> Bounded:
    low, high = dtypes.limits(dtype)
    cut = trunc(x)
    size = cut.v.astype(np.float64)
    outside = ~((size >= low) & (size <= high))
    lost = either(cut.lost, outside if outside.any() else None)
    return Bounded(cut.v, dtype.numpy, x.arithmetic, Errors(cut.e, lost=lost))
