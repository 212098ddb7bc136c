"""Memory to add up windows in, which each thread keeps from call to call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy as np

from opcheck.engine.native.lp_pool.block_sums.sums import BlockSums, room
from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: The bytes of a block that is worked on, more or less: several fit into the caches together.
BLOCK = 1 << 20
#: The most bytes that a thread keeps, and that what is laid down takes beside the arrays.
KEPT, _LAID_DOWN = 10 << 20, 2 << 20
_of_this_thread = local()


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
        """What it takes in memory."""
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
