"""Sums over windows, one axis after the other, in few passes over memory that stays in the cache.

What is to be done is laid down once for all blocks of one shape, as calls of NumPy on fixed memory,
which each thread keeps from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from threading import local
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.native.lp_pool.block_sums.along import Along, Piece, SumPlace
from opcheck.engine.native.lp_pool.block_sums.calls import via
from opcheck.engine.native.lp_pool.block_sums.parts import every, is_plain, is_whole
from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: What a call takes in memory with its arguments, roughly.
_CALL = 1 << 10
#: The bytes of a block that is worked on, more or less: several fit into the caches together.
BLOCK = 1 << 20
#: The most bytes that a thread keeps, and that what is laid down takes beside the arrays.
KEPT, _LAID_DOWN = 10 << 20, 2 << 20
_of_this_thread = local()
#: An axis, and the block (A, L, B) there.
_Step: TypeAlias = tuple[AxisWindows, tuple[int, int, int]]


class BlockSums:
    """The sums of all windows of a block without negative elements.

    The elements of x.reshape(`layout`)[:, index] have to be in the array that stands beside the
    index in `places`, a part of the first of three flat `buffers` of so many elements (`room`).
    What is laid down takes about `nbytes` beside them.
    """

    layout: tuple[int, int, int]
    places: list[SumPlace]

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
        """Fill the contiguous `out` with `finish` of the sums."""
        for call in self._calls:
            call()
        for shape, index, found, how in self._pieces:
            how(finish, found, out=out.reshape(shape)[index])


def room(axes: tuple[AxisWindows, ...]) -> int:
    """Number of elements allowed at once, before one axis and after another."""
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


class Workspace:
    """Four arrays of one dtype, three of them for `BlockSums`, and what was laid down there."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.buffers: list[Array] = [np.empty(0, dtype)] * 4
        self._sums: dict[tuple[AxisWindows, ...], BlockSums] = {}

    @classmethod
    def of_this_thread(cls, dtype: np.dtype[Any]) -> Workspace:
        """The one for `dtype`; memory that is new is slow at first."""
        spaces: dict[str, Workspace] = _of_this_thread.__dict__
        # The last one used comes last.
        spaces[dtype.char] = spaces.pop(dtype.char) if dtype.char in spaces else cls(dtype)
        return spaces[dtype.char]

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in self.buffers) + self._laid_down

    @property
    def _laid_down(self) -> int:
        return sum(sums.nbytes for sums in self._sums.values())

    def sums(self, axes: tuple[AxisWindows, ...]) -> BlockSums:
        """What is to be done for a block with these axes."""
        if axes not in self._sums:
            most = room(axes)
            if most > self.buffers[0].size:
                self._sums.clear()
                self.buffers = [*np.empty((4, most), self.buffers[0].dtype)]
            elif self._laid_down > _LAID_DOWN:
                self._sums.clear()
            self._sums[axes] = BlockSums(axes, self.buffers[:3])
        return self._sums[axes]


@contextmanager
def kept_in_bounds() -> Iterator[None]:
    """Have this thread keep no more than a few MiB afterwards, whatever happens."""
    try:
        yield
    finally:
        spaces, left = _of_this_thread.__dict__, KEPT
        for name in reversed([*spaces]):
            if (nbytes := spaces[name].nbytes) > left:
                del spaces[name]
            else:
                left -= nbytes
