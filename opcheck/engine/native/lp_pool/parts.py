"""Parts of a pooling: some windows along each axis, and the elements that they reach."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from opcheck.engine.windows import AxisWindows
from opcheck.model import Array


@dataclass(frozen=True)
class WindowPart:
    """Some of the windows of a tensor.

    `windows` and `elements` are where they and the elements that they reach stand, `axes` are they
    over nothing but these elements.
    """

    windows: tuple[slice, ...]
    elements: tuple[slice, ...]
    axes: tuple[AxisWindows, ...]

    @property
    def size(self) -> int:
        """The number of elements and of padding from the first window to the last."""
        return prod(axis.span for axis in self.axes)


def every(length: int) -> AxisWindows:
    """Each element of an axis is a window of its own, as along N and C."""
    return AxisWindows(length, 1, 1, 1, 0, length)


def some_of(axis: AxisWindows, windows: range) -> tuple[slice, AxisWindows]:
    """The elements that some windows reach, and these windows over those elements.

    Offsets at which there is nothing but padding are left out.
    """
    held = axis.cut(windows)
    offsets = held.offsets
    if not offsets:
        return slice(0, 0), replace(held, length=0, kernel=1, begin=0)
    at = offsets.start * axis.dilation - held.begin
    held = replace(held, kernel=len(offsets), begin=-at)
    if held.size == 1:
        return slice(at, at + held.width, axis.dilation), AxisWindows(
            held.kernel, held.kernel, 1, 1, 0, 1
        )
    rows = held.rows
    return rows, replace(held, length=rows.stop - rows.start, begin=rows.start - at)


def parts(
    axes: tuple[AxisWindows, ...], order: tuple[int, ...], most: int, box: tuple[range, ...] = ()
) -> Iterator[WindowPart]:
    """All windows, or those of a box, in parts of `most` elements or fewer.

    The axes are halved in this order. A part may be larger where its windows would overlap too much
    with those of the next.
    """
    box = box or tuple(range(axis.size) for axis in axes)
    elements, own = zip(*map(some_of, axes, box), strict=True)
    part = WindowPart(tuple(slice(some.start, some.stop) for some in box), elements, own)
    for n in order if part.size > most else ():
        half = len(box[n]) // 2
        # What two neighbours both read is to be no more than either's own.
        if half * axes[n].stride >= own[n].width:
            for some in (box[n][:half], box[n][half:]):
                yield from parts(axes, order, most, (*box[:n], some, *box[n + 1 :]))
            return
    yield part


#: The same for tensors as large as others before.
remembered_parts = lru_cache(maxsize=8)(lambda *given: tuple(parts(*given)))


def order_of(x: Array) -> tuple[int, ...]:
    """The axes of `x`, those first whose elements lie far apart."""
    return tuple(sorted(range(x.ndim), key=lambda n: -abs(x.strides[n])))
