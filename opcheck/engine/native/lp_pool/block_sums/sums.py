"""Sums over windows, one axis after the other, in few passes over memory that stays in the cache.

What is to be done is laid down once for all blocks of one shape, as calls of NumPy on fixed memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias

from opcheck.engine.native.lp_pool.block_sums.along import Along, Piece, Place
from opcheck.engine.native.lp_pool.block_sums.calls import via
from opcheck.engine.native.lp_pool.block_sums.parts import every, is_plain, is_whole
from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: What a call takes in memory with its arguments, roughly.
_CALL = 1 << 10
#: An axis, and the block (A, L, B) there.
_Step: TypeAlias = tuple[AxisWindows, tuple[int, int, int]]


class BlockSums:
    """The sums of all windows of a block, of which no element is negative.

    The elements of x.reshape(`layout`)[:, index] have to be in the array that stands beside the
    index in `places`, a part of the first of three flat `buffers` of so many elements (`room`).
    What is laid down takes about `nbytes` beside them.
    """

    layout: tuple[int, int, int]
    places: list[Place]

    def __init__(self, axes: tuple[AxisWindows, ...], buffers: Sequence[Array]) -> None:
        block, spare, other = buffers
        self._calls: list[Callable[[], object]] = []
        self._pieces: list[Piece] = []
        self.nbytes = 0
        steps = _steps(axes)
        for n, (axis, layout) in enumerate(steps):
            there = n < len(steps) - 1
            along = Along(axis, layout, (block, spare, other), first=not n, there=there)
            self._calls += along.calls
            self._pieces = along.pieces
            self.nbytes += along.nbytes
            if not n:
                self.layout, self.places = layout, along.places
            block, other = other, block
        if not steps:
            flat = block[: prod(axis.size for axis in axes)]
            self._pieces = [(flat.shape, slice(None), flat, via())]
            self.layout = 1, flat.size, 1
            self.places = [(slice(None), flat.reshape(self.layout), via())]
        # One for the axes.
        laid_down = 1 + len(self._calls) + len(self._pieces) + len(self.places)
        self.nbytes += laid_down * _CALL

    def put(self, finish: Callable[..., object], out: Array) -> None:
        """Fill the contiguous `out` with the sums, of which `finish` makes what goes there."""
        for call in self._calls:
            call()
        for shape, index, found, how in self._pieces:
            how(finish, found, out=out.reshape(shape)[index])


def room(axes: tuple[AxisWindows, ...]) -> int:
    """How many elements there may be at once, before one axis and after another."""
    # The elements of an axis may be dealt out, one for each of as many stacks as a stride is long.
    dealt = (-(-axis.length // axis.stride) * min(axis.stride, axis.length) for axis in axes)
    return prod(map(max, dealt, (max(axis.length, axis.size) for axis in axes)))


@lru_cache(maxsize=256)
def _steps(axes: tuple[AxisWindows, ...]) -> tuple[_Step, ...]:
    """Where something is to be done along an axis; those that shrink most come first."""
    merged = list(_merged(axes))
    shape = [axis.length for axis in merged]
    steps = []
    order = [n for n, axis in enumerate(merged) if not is_plain(axis)]
    for n in sorted(order, key=lambda n: merged[n].size / merged[n].length):
        steps.append((merged[n], (prod(shape[:n]), shape[n], prod(shape[n + 1 :]))))
        shape[n] = merged[n].size
    return tuple(steps)


def _merged(axes: tuple[AxisWindows, ...]) -> Iterator[AxisWindows]:
    """Neighbours as one where each element is a window, or all of them are one."""
    before, *rest = axes
    for axis in rest:
        length = before.length * axis.length
        if is_plain(before) and is_plain(axis):
            before = every(length)
        elif is_whole(before) and is_whole(axis):
            before = AxisWindows(length, length, 1, 1, 0, 1)
        else:
            yield before
            before = axis
    yield before
