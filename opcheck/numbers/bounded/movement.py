"""Movement of bounded numbers: elements are carried along with all that is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck.numbers.bounded.array import Bounded, pair, size_of
from opcheck.numbers.bounded.choice import Indices


def _movement(move: Callable[..., Any]) -> Callable[..., Bounded]:
    def moved(x: Bounded, *arguments: Any, **options: Any) -> Bounded:
        return x.moved(lambda part: move(part, *arguments, **options))

    moved.__name__ = moved.__qualname__ = move.__name__
    moved.__doc__ = f"NumPy's {move.__name__}."
    return moved


broadcast_to = _movement(np.broadcast_to)
expand_dims = _movement(np.expand_dims)
flip = _movement(np.flip)
permute_dims = _movement(np.permute_dims)
reshape = _movement(np.reshape)
squeeze = _movement(np.squeeze)
tile = _movement(np.tile)


def take(x: Bounded, index: Any, axis: int) -> Bounded:
    """The elements at `index` along `axis`; where an index may be another, any of those."""
    if not isinstance(index, Indices):
        return x.moved(lambda part: np.take(part, index, axis))
    place = axis % x.ndim + index.v.ndim
    chosen = x.moved(lambda part: np.take(part, index.v, axis))
    all_of_them = x.moved(lambda part: np.take(part, index.admitted, axis)).settled()
    return _hull(chosen, all_of_them, place)


def take_along_axis(x: Bounded, index: Any, axis: int) -> Bounded:
    """The element at each index along `axis`; where it may be another, any of those."""
    if not isinstance(index, Indices):
        return x.moved(lambda part: np.take_along_axis(part, index, axis))
    chosen = x.moved(lambda part: np.take_along_axis(part, index.v, axis))
    count = index.admitted.shape[-1]
    wide = x.moved(lambda part: np.repeat(part[..., None], count, -1))
    all_of_them = wide.moved(lambda part: np.take_along_axis(part, index.admitted, axis % x.ndim))
    return _hull(chosen, all_of_them.settled(), x.ndim)


def _hull(chosen: Bounded, admitted: Bounded, place: int) -> Bounded:
    """What was chosen, with an error that reaches all that may have been."""
    chosen = chosen.settled()
    room = 0.0 if admitted.e is None else admitted.e
    e = np.max(size_of(admitted.v - np.expand_dims(chosen.v, place)) + room, axis=place)
    lost = None if admitted.lost is None else admitted.lost.any(axis=place)
    return Bounded(chosen.v, chosen.dtype, chosen.arithmetic, e, q=chosen.q, lost=lost)


def _joined(join: Callable[..., Any]) -> Callable[..., Bounded]:
    def joined(arrays: Sequence[Any], axis: int = 0) -> Bounded:
        first = next(x for x in arrays if isinstance(x, Bounded))
        parts = [pair(x, first)[0] for x in arrays]
        alike = all(x.k == parts[0].k and x.grid == parts[0].grid for x in parts)
        if not alike or any(x.common is not None for x in parts):
            parts = [x.settled() for x in parts]

        def of(name: str, default: Any) -> Any:
            found = [getattr(x, name) for x in parts]
            if all(part is None for part in found):
                return None
            filled = [
                np.full(x.shape, default) if part is None else part
                for x, part in zip(parts, found, strict=True)
            ]
            return join(filled, axis=axis)

        return Bounded(
            join([x.v for x in parts], axis=axis),
            first.dtype,
            first.arithmetic,
            of("e", 0.0),
            k=parts[0].k,
            grid=parts[0].grid,
            q=of("q", 0.0),
            lost=of("lost", False),
        )

    joined.__name__ = joined.__qualname__ = join.__name__
    joined.__doc__ = f"NumPy's {join.__name__}."
    return joined


concat = _joined(np.concat)
stack = _joined(np.stack)


def pad(x: Bounded, widths: Any, constant_values: float = 0.0) -> Bounded:
    """Constants around the array, without any error."""
    def framed(part: Any, value: Any) -> Any:
        return None if part is None else np.pad(part, widths, constant_values=value)

    if x.common is not None:
        x = x.settled()
    return Bounded(
        framed(x.v, constant_values), x.dtype, x.arithmetic, framed(x.e, 0.0), k=x.k, grid=x.grid,
        q=framed(x.q, 0.0), lost=framed(x.lost, False),
    )  # fmt: skip


def full_like(x: Bounded, value: float) -> Bounded:
    """A constant in the shape of `x`."""
    return Bounded(np.full_like(x.v, value), x.dtype, x.arithmetic)


def zeros_like(x: Bounded) -> Bounded:
    """Zeros in the shape of `x`."""
    return full_like(x, 0)
