"""Memory to add up windows in, which each thread keeps from call to call."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from opcheck.engine.ops.lp_pool.block_sums.sums import BlockSums, room
from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: The bytes of a block that is worked on, more or less: several fit into the caches together.
BLOCK = 1 << 20
#: Arrays of at most so many bytes are kept, and what is to be done for so many kinds of blocks.
_KEPT, _KINDS = BLOCK * 3 // 2, 32
_of_this_thread = local()


class Bench:
    """Four arrays of one dtype, three of them for `BlockSums`, and what was laid down there."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.buffers: list[Array] = [np.empty(0, dtype)] * 4
        self._sums: dict[tuple[tuple[AxisWindows, ...], bool], BlockSums] = {}

    @classmethod
    def of_this_thread(cls, dtype: np.dtype[Any]) -> Bench:
        """The one for `dtype`; memory that is new is slow at first."""
        benches: dict[str, Bench] = _of_this_thread.__dict__
        if dtype.char not in benches:
            benches[dtype.char] = cls(dtype)
        return benches[dtype.char]

    def sums(self, axes: tuple[AxisWindows, ...], *, ordered: bool = False) -> BlockSums:
        """What is to be done for a block with these axes."""
        kind = axes, ordered
        if kind not in self._sums:
            most = room(axes)
            if most > self.buffers[0].size or len(self._sums) == _KINDS:
                self._sums.clear()
            if most > self.buffers[0].size:
                self.buffers = [*np.empty((4, most), self.buffers[0].dtype)]
            self._sums[kind] = BlockSums(axes, self.buffers[:3], ordered=ordered)
        return self._sums[kind]

    @staticmethod
    def leave() -> None:
        """Keep nothing in this thread that takes much memory."""
        benches = _of_this_thread.__dict__
        for name in [name for name, bench in benches.items() if bench.buffers[0].nbytes > _KEPT]:
            del benches[name]
