"""What a node of LpPool says about each axis, and the windows along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.bounds import Places
from opcheck.engine.windows import AxisWindows

#: A node's attributes, for those who know what type each has.
Read: TypeAlias = Mapping[str, Any]

#: The most elements of windows that are gathered.
GATHERED = 1 << 24
#: Positions stay below this, where 64 bits hold their sums.
_FAR = 1 << 62


@dataclass(frozen=True)
class Axis:
    """What a node says about one spatial axis of `length` elements."""

    length: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    auto_pad: str
    ceil: bool

    @property
    def width(self) -> int:
        """The elements from the first of a window to its last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def room(self) -> int:
        """How far a window can move."""
        return self.length + self.begin + self.end - self.width

    @property
    def same(self) -> bool:
        """Whether the padding follows from the output's size."""
        return self.auto_pad.startswith("SAME")

    @property
    def hangs(self) -> bool:
        """Whether a window may reach beyond the padding."""
        return self.ceil and self.auto_pad == "NOTSET"

    def padding(self, size: int) -> int:
        """What SAME pads in all for an output of this size."""
        return max(0, (size - 1) * self.stride + self.width - self.length)

    def split(self, padding: int) -> int:
        """The part of SAME's padding that comes before the input."""
        return padding // 2 if self.auto_pad == "SAME_UPPER" else padding - padding // 2

    def windows(self, size: int, begin: int) -> AxisWindows:
        """So many windows, the first of which begins so far before the input."""
        return AxisWindows(self.length, self.kernel, self.stride, self.dilation, begin, size)


def axes_of(attrs: Read, spatial: Sequence[int]) -> list[Axis]:
    """What the attributes, or their defaults, say about each spatial axis."""
    n = len(spatial)
    kernel, pads, ones = attrs["kernel_shape"], attrs.get("pads", [0] * 2 * n), [1] * n
    strides, dilations = attrs.get("strides", ones), attrs.get("dilations", ones)
    auto_pad, ceil = attrs.get("auto_pad", "NOTSET"), bool(attrs.get("ceil_mode", 0))
    return [
        Axis(length, kernel[i], strides[i], dilations[i], pads[i], pads[n + i], auto_pad, ceil)
        for i, length in enumerate(spatial)
    ]


def up(a: int, b: int) -> int:
    """a / b rounded up; b > 0."""
    return -(-a // b)


def towards_zero(a: int, b: int) -> int:
    """a / b without its fraction, as processors divide; b > 0."""
    return a // b if a >= 0 else -(-a // b)


def planned(axis: Axis) -> AxisWindows:
    """How many windows there are, and where they begin."""
    if axis.same:
        size = up(axis.length, axis.stride)
        return axis.windows(size, axis.split(axis.padding(size)))
    size = (up(axis.room, axis.stride) if axis.hangs else axis.room // axis.stride) + 1
    return axis.windows(size, axis.begin)


def taps(axis: Axis, plan: AxisWindows) -> Places:
    """The positions of the elements of each window, of shape (windows, kernel)."""
    far = plan.size * plan.stride + abs(plan.begin) + plan.kernel * abs(plan.dilation)
    if max(plan.size, 1) * plan.kernel > GATHERED or plan.size > GATHERED or far > _FAR:
        raise MemoryError("windows of too many elements")
    first = np.arange(plan.size)[:, None] * plan.stride - plan.begin
    return first + np.arange(plan.kernel) * plan.dilation
