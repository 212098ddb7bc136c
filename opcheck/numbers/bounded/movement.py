"""Movement of bounded numbers: elements are carried along with all that is known of them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opcheck.numbers.bounded.array import NO_ERRORS, Bounded, Errors, pair, size_of
from opcheck.numbers.bounded.choice import Indices


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
    alike = alike and all(x.exact or x.errors.common is None for x in parts)
    found = parts if alike else [x.settled() for x in parts]

    def of(name: str, default: Any) -> Any:
        held = [getattr(x, name) for x in found]
        if all(part is None for part in held):
            return None
        pairs = zip(found, held, strict=True)
        filled = [np.full(x.shape, default) if part is None else part for x, part in pairs]
        return join(filled, axis=axis)

    joined = found[0].like(v, lambda: Errors(of("e", 0.0), of("q", 0.0), of("lost", 0)))
    joined.least = min(x.least for x in found)
    return joined


concat, stack = partial(_joined, np.concat), partial(_joined, np.stack)


def pad(x: Bounded, widths: Any, constant_values: float = 0.0) -> Bounded:
    """Constants around the array, without any error."""

    def framed(part: Any, value: Any) -> Any:
        return None if part is None else np.pad(part, widths, constant_values=value)

    if x.exact:
        return x.like(framed(x.v, constant_values), NO_ERRORS)
    # The last rounding is the array's own, and no constant's but 0.
    old = x if x.errors.common is None and not constant_values else x.settled()

    def errors() -> Errors:
        return Errors(framed(old.e, 0.0), framed(old.q, 0.0), framed(old.lost, 0))

    padded = old.like(framed(old.v, constant_values), errors)
    padded.least = 0.0
    return padded


def full_like(x: Bounded, value: float) -> Bounded:
    """A constant in the shape of `x`."""
    return Bounded(np.full_like(x.v, value), x.dtype, x.arithmetic)


zeros_like = partial(full_like, value=0)
