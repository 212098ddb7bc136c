"""Sums over windows along one axis of a block (A, L, B), put where (A, windows, B) is to be.

See `ways` for how it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from opcheck.engine.native.lp_pool.block_sums.calls import (
    Slice,
    Via,
    additions,
    in_place_first,
    laid_down,
    slices_of,
    via,
)
from opcheck.engine.native.lp_pool.block_sums.parts import every, inside, part, width
from opcheck.engine.native.lp_pool.block_sums.ways import MANY, crosses_rows, way
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.model import Array

#: A shape of contiguous memory, an index into that, an array of what is to be put there, and how.
Piece: TypeAlias = tuple[tuple[int, ...], Any, Array, Via]
#: Some elements along an axis, where to put them, and how.
SumPlace: TypeAlias = tuple[slice, Array, Via]


@lru_cache(maxsize=256)
def _ends(axis: AxisWindows) -> tuple[tuple[slice, slice, AxisWindows], ...]:
    """The windows with padding at either end: which, their elements, and they over these."""
    within = inside(axis)
    ends = range(within.start), range(within.stop, axis.size)
    return tuple((slice(some.start, some.stop), *part(axis, some)) for some in ends if some)


class Along:
    """What is to be done, laid down as calls of NumPy, and the pieces of the sums that it gives.

    The block has this `layout` and no negative elements, and `buffers` are three flat arrays: it
    is in the first one, each can hold it or the sums. Where the sums are to be `there`, in the
    third one, the calls put them there, and there are no pieces. If it is the `first` axis,
    `places` tells where which elements of the block have to be to begin with. What it takes beside
    the buffers is `nbytes`.
    """

    def __init__(
        self,
        axis: AxisWindows,
        layout: tuple[int, int, int],
        buffers: Sequence[Array],
        *,
        first: bool,
        there: bool,
    ) -> None:
        self.calls: list[Callable[[], object]] = []
        self.pieces: list[Piece] = []
        self.nbytes = 0
        self._axis = axis
        self._first, self._spare, self._other = buffers
        self._block = self._first[: prod(layout)].reshape(layout)
        self._shape = layout[0], axis.size, layout[2]
        self._target = self._other[: prod(self._shape)].reshape(self._shape)
        self.places: list[SumPlace] = [(slice(None), self._block, via())]
        self._there = there
        ways = {
            "whole": self._as_a_whole,
            "by offset": self._by_offset,
            "by phase": self._by_phase,
            "by doubling": self._by_doubling,
            "one by one": self._one_by_one,
            "in a loop": self._in_a_loop,
        }
        ways[way(axis, layout[0], layout[2], first, there)]()

    def _do(self, function: Callable[..., object], *inputs: Array, out: Array) -> None:
        self.calls.append(laid_down(function, *inputs, out=out))

    def _add_up(self, slices: list[Slice], out: Array) -> None:
        self.calls += additions(slices, out)

    def _new(self, *shape: int) -> Array:
        array = np.empty(shape, self._first.dtype)
        self.nbytes += array.nbytes
        return array

    def _found(self, sums: Array, windows: slice = slice(None)) -> None:
        if self._there:
            self._do(np.absolute, sums, out=self._target[:, windows])
        else:
            how = via(sums, self._target[:, windows])
            self.pieces.append((self._shape, (slice(None), windows), sums, how))

    def _as_a_whole(self) -> None:
        x, (a, length, b) = self._block, self._block.shape
        if b == 1:
            found = self._spare[:a]
            self.calls.append(partial(np.einsum, "al->a", x[:, :, 0], out=found))
            self._found(found.reshape(a, 1, 1))
            return
        # The last half is added to the first until one is left.
        while length > 1:
            half = length // 2
            self._do(np.add, x[:, :half], x[:, length - half : length], out=x[:, :half])
            length -= half
        self._found(x[:, :1])

    def _by_offset(self) -> None:
        self._add_up(slices_of(self._block, self._axis), self._target)
        if not self._there:
            self._found(self._target)

    def _by_phase(self) -> None:
        (a, length, b), stride = self._block.shape, self._axis.stride
        rows = -(-length // stride)
        by_phase = self._first[: stride * a * rows * b].reshape(stride, a, rows, b)
        self.places = []
        for phase in range(stride):
            index, count = slice(phase, None, stride), -(-(length - phase) // stride)
            place = by_phase[phase, :, :count]
            self.places.append((index, place, via(self._block[:, index], place)))
        slices = []
        for windows, elements in map(self._axis.reach, self._axis.offsets):
            row, phase = divmod(elements.start, stride)
            count = windows.stop - windows.start
            slices.append((windows, by_phase[phase, :, row : row + count]))
        self._add_up(slices, self._target)
        if not self._there:
            self._found(self._target)

    def _by_doubling(self) -> None:
        axis, block = self._axis, self._block.reshape(-1)
        sums, n, step, count = block, block.size, axis.dilation * self._shape[2], 1
        into, free = self._spare[:n], self._other[:n]
        if axis.kernel.bit_length() % 2:
            into, free = free, into  # so that the sums end in `spare`
        for bit in f"{axis.kernel:b}"[1:]:
            end = n - (2 * count - 1) * step
            self._do(np.add, sums[:end], sums[count * step :][:end], out=into[:end])
            sums, into, free, count = into, free, into, 2 * count
            if bit == "1":
                end = n - count * step
                self._do(np.add, sums[:end], block[count * step :], out=sums[:end])
                count += 1
        self._from_each_position(sums)
        self._at_the_ends()

    def _in_a_loop(self) -> None:
        self.calls.append(partial(_add_up_in_a_loop, self._axis, self._block, self._target))
        if not self._there:
            self._found(self._target)

    def _from_each_position(self, sums: Array) -> None:
        """The windows among the sums that begin at each position of the block, flat."""
        axis, b, within = self._axis, self._shape[2], inside(self._axis)
        if crosses_rows(axis, b):
            # Where they go to, one lies after the other too, across rows.
            size, before = prod(self._shape), axis.begin * b
            first = -(-before // axis.stride)
            sums = sums[first * axis.stride - before :: axis.stride][: size - first]
            if self._there:
                self._do(np.absolute, sums, out=self._other[first:size])
            else:
                self.pieces.append(((size,), slice(first, None), sums, via()))
        else:
            first = within.start * axis.stride - axis.begin
            starts = sums.reshape(self._block.shape)[:, first :: axis.stride]
            self._found(starts[:, : len(within)], slice(within.start, within.stop))

    def _one_by_one(self) -> None:
        axis, within, a = self._axis, inside(self._axis), self._shape[0]
        rows = self._block[:, within.start * axis.stride - axis.begin :, 0]
        windows = sliding_window_view(rows, width(axis), axis=1)
        windows = windows[:, :: axis.stride, :: axis.dilation][:, : len(within)]
        found = self._spare[: a * len(within)].reshape(a, -1)
        self.calls.append(partial(np.einsum, "awk->aw", windows, out=found))
        self._found(found[:, :, None], slice(within.start, within.stop))
        self._at_the_ends()

    def _at_the_ends(self) -> None:
        """The windows that hold padding, offset by offset."""
        a, _, b = self._shape
        for windows, reach, axis in _ends(self._axis):
            elements, target = self._block[:, reach], self._target[:, windows]
            many = len(axis.offsets) > MANY
            if b == 1 and axis.size > 1 and not many:
                # Columns are added faster once they lie in rows.
                rows, found = (self._new(1, n, a) for n in (axis.length, axis.size))
                self.calls.append(partial(np.copyto, rows[0], elements[:, :, 0].T))
                self._add_up(slices_of(rows, axis), found)
                columns = found.swapaxes(0, 2)
                if self._there:
                    self.calls.append(partial(np.copyto, target, columns))
                else:
                    index = slice(None), windows
                    self.pieces.append((self._shape, index, columns, in_place_first))
                continue
            found = target if self._there else self._new(a, axis.size, b)
            if many and axis.size > 1:
                self.calls.append(partial(_add_up_in_a_loop, axis, elements, found))
            elif axis.size > 1:
                self._add_up(slices_of(elements, axis), found)
            else:
                self.calls.append(partial(np.einsum, "alb->ab", elements, out=found[:, 0]))
            if not self._there:
                self._found(found, windows)


def _add_up_in_a_loop(axis: AxisWindows, block: Array, out: Array) -> None:
    """Fill `out` with the sums over windows along the axis (A, L, B) of a block."""
    a, _, b = block.shape
    out[...] = Windows((1, a), (axis, every(b))).sums(block[None])[0]
