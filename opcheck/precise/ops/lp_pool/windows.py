"""Which elements of the input each output pools."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from opcheck.precise.answer import Ints


@dataclass(frozen=True)
class Axis:
    """One spatial axis: window o starts at o · stride − begin and takes `kernel` elements.

    They are `dilation` apart. `size` elements are real, and `outputs` windows are asked for.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    outputs: int

    @property
    def reach(self) -> int:
        """The most real elements that a window can hold, at least 1."""
        return max(1, min(self.kernel, -(-self.size // self.dilation)))

    def positions(self, o: Ints) -> Ints:
        """Where the elements of the windows `o` lie, shape [reach, len(o)]; −1 for no element."""
        start = o * self.stride - self.begin
        # From the first that is not before the input; division rounds downwards.
        tap = np.maximum(0, -(start // self.dilation)) + np.arange(self.reach)[:, None]
        position = start + tap * self.dilation
        return np.where((tap < self.kernel) & (position < self.size), position, -1)


@dataclass(frozen=True)
class Windows:
    """The windows over all spatial axes."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The spatial shape of the output."""
        return tuple(axis.outputs for axis in self.axes)

    @property
    def size(self) -> int:
        """How many elements the input has in space."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def reach(self) -> int:
        """The most real elements that a window can hold, at least 1."""
        return math.prod(axis.reach for axis in self.axes)

    def positions(self, outputs: Ints) -> Ints:
        """Where the elements of `outputs` lie in the flattened space, shape [reach, len(outputs)].

        `outputs` count in the flattened output; `self.size` stands for no element.
        """
        flat = np.zeros((1, len(outputs)), np.int64)
        real = np.ones((1, len(outputs)), np.bool_)
        for axis, o in zip(self.axes, np.unravel_index(outputs, self.shape), strict=True):
            position = axis.positions(o)
            flat = (flat[:, None] * axis.size + position).reshape(-1, len(outputs))
            real = (real[:, None] & (position >= 0)).reshape(-1, len(outputs))
        return np.where(real, flat, self.size)
