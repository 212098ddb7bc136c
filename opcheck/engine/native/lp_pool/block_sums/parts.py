"""Parts of a pooling: some windows along an axis, and as many of a tensor as fit the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TypeAlias

from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: The numbers of some windows along each axis of a tensor.
_Box: TypeAlias = tuple[range, ...]


@dataclass(frozen=True)
class WindowPart:
    """Some of the windows of a tensor.

    `windows` and `elements` are where they and the elements that they reach stand, `axes` are they
    over nothing but these elements.
    """

    windows: tuple[slice, ...]
    elements: tuple[slice, ...]
    axes: tuple[AxisWindows, ...]


def in_planes(x: Array) -> Array:
    """N×C×D1×… as (N·C)×D1×… where that needs no copy."""
    try:
        return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:], copy=False)
    except ValueError:
        return x


def every(length: int) -> AxisWindows:
    """Each element of an axis is a window of its own, as along N and C."""
    return AxisWindows(length, 1, 1, 1, 0, length)


def is_plain(axis: AxisWindows) -> bool:
    """True if each element is a window of its own."""
    return axis.kernel == axis.stride == 1 and not axis.begin and axis.size == axis.length


def is_whole(axis: AxisWindows) -> bool:
    """True if there is one window, and it holds all elements."""
    return axis.size == axis.dilation == 1 and not axis.begin and axis.kernel == axis.length


def width(axis: AxisWindows) -> int:
    """The elements from the first of a window to its last, both included."""
    return (axis.kernel - 1) * axis.dilation + 1


def inside(axis: AxisWindows) -> range:
    """The windows that hold no padding."""
    low = min(axis.size, max(0, -(-axis.begin // axis.stride)))
    high = (axis.length - width(axis) + axis.begin) // axis.stride + 1
    return range(low, max(low, min(axis.size, high)))


@lru_cache(maxsize=256)
def reaching(axis: AxisWindows) -> range:
    """The windows from the first to the last that may hold an element."""
    low = min(axis.size, max(0, -(-(axis.begin - width(axis) + 1) // axis.stride)))
    high = (axis.length - 1 + axis.begin) // axis.stride + 1
    return range(low, max(low, min(axis.size, high)))


def part(axis: AxisWindows, windows: range) -> tuple[slice, AxisWindows]:
    """The elements that some windows reach, and these windows over those elements.

    Of a single window the elements are nothing but its own.
    """
    at = windows.start * axis.stride - axis.begin
    if len(windows) == 1:
        low = max(0, -(at // axis.dilation))
        high = min(axis.kernel, (axis.length - 1 - at) // axis.dilation + 1)
        count, first = max(0, high - low), at + low * axis.dilation
        own = slice(first, first + count * axis.dilation, axis.dilation) if count else slice(0, 0)
        return own, AxisWindows(count, max(1, count), 1, 1, 0, 1)
    first = min(max(at, 0), axis.length)
    end = max(first, min(axis.length, at + (len(windows) - 1) * axis.stride + width(axis)))
    held = replace(axis, length=end - first, begin=first - at, size=len(windows))
    return slice(first, end), held


def parts(axes: tuple[AxisWindows, ...], x: Array, most: int) -> tuple[WindowPart, ...]:
    """All windows over `x` that reach an element, in parts of about `most` elements.

    There may be more in one, where its windows would overlap too much with those of the next. What
    is found is remembered, which `fresh_parts` does not do.
    """
    return _parts(axes, _order(x), most)


def fresh_parts(axes: tuple[AxisWindows, ...], x: Array, most: int) -> Iterator[WindowPart]:
    """The same where few are found, and others are to stay remembered."""
    return _found(axes, _order(x), most)


def _order(x: Array) -> tuple[int, ...]:
    """What lies far apart is parted first."""
    return tuple(sorted(range(x.ndim), key=lambda n: -abs(x.strides[n])))


@lru_cache(maxsize=8)
def _parts(
    axes: tuple[AxisWindows, ...], order: tuple[int, ...], most: int
) -> tuple[WindowPart, ...]:
    return tuple(_found(axes, order, most))


def _found(
    axes: tuple[AxisWindows, ...], order: tuple[int, ...], most: int
) -> Iterator[WindowPart]:
    everything = tuple(map(reaching, axes))
    for box in _divided(axes, order, everything, most) if all(everything) else ():
        elements, inner = zip(*map(part, axes, box), strict=True)
        yield WindowPart(tuple(slice(some.start, some.stop) for some in box), elements, inner)


def _divided(
    axes: tuple[AxisWindows, ...], order: tuple[int, ...], box: _Box, most: int
) -> Iterator[_Box]:
    extents = [*map(_extent, axes, box)]
    size = prod(extents)
    for n in order if size > most else ():
        axis, windows, span = axes[n], box[n], width(axes[n])
        room = most * extents[n] // size
        # What two neighbours both read is to be no more than either's own.
        step = max((room - span) // axis.stride + 1, -(-span // axis.stride))
        if step < len(windows):
            step = evenly(len(windows), step)
            for low in range(0, len(windows), step):
                some = windows[low : low + step]
                yield from _divided(axes, order, (*box[:n], some, *box[n + 1 :]), most)
            return
    yield box


def _extent(axis: AxisWindows, windows: range) -> int:
    span = (len(windows) - 1) * axis.stride + width(axis)
    return max(len(windows), min(axis.length, span))


def evenly(count: int, step: int) -> int:
    """This step or one somewhat shorter: one that leaves no rest of `count`, if there is one."""
    if step >= count:
        return count
    shorter = range(step, step - min(step // 4, 1000) - 1, -1)
    return next((n for n in shorter if count % n == 0), step)
