"""The windows along an axis added up offset by offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opcheck.engine.native.lp_pool.block_sums.calls import Call, laid_down
from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: Some windows, and an element of each, (A, windows, B).
Slice: TypeAlias = tuple[slice, Array]


def slices_of(block: Array, axis: AxisWindows) -> list[Slice]:
    """What there is to be added up in a block (A, L, B)."""
    return [(windows, block[:, elements]) for windows, elements in map(axis.reach, axis.offsets)]


def additions(slices: Sequence[Slice], out: Array, ordered: bool) -> Iterator[Call]:
    """What fills `out`, (A, windows, B), with the sums; `ordered` from the first slice on."""
    if not ordered:
        # Those that all windows have come first, so that there need be no zeros.
        yield from _added(sorted(slices, key=lambda some: some[0].start - some[0].stop), out)
        return
    # The windows that are in all slices are those from the last start to the first stop.
    size = out.shape[1]
    low = max((windows.start for windows, _ in slices), default=0)
    high = max(low, min((windows.stop for windows, _ in slices), default=0))
    for first, end in (0, low), (low, high), (high, size):
        if first < end:
            clipped = (_clipped(some, first, end) for some in slices)
            yield from _added([some for some in clipped if some[1].size], out[:, first:end])


def _added(slices: Sequence[Slice], out: Array) -> Iterator[Call]:
    """Add up slices, in this order."""
    everywhere = 0
    for windows, _ in slices[:2]:
        if windows.stop - windows.start < out.shape[1]:
            break
        everywhere += 1
    if everywhere == 2:
        yield laid_down(np.add, slices[0][1], slices[1][1], out=out)
    elif everywhere:
        yield laid_down(np.absolute, slices[0][1], out=out)
    else:
        yield partial(np.copyto, out, 0)
    for windows, elements in slices[everywhere:]:
        some = out[:, windows]
        yield laid_down(np.add, some, elements, out=some)


def _clipped(some: Slice, first: int, end: int) -> Slice:
    """What of a slice belongs to the windows from `first` to `end`, counted from there."""
    windows, elements = some
    low = max(windows.start, first)
    high = max(low, min(windows.stop, end))
    return slice(low - first, high - first), elements[:, low - windows.start : high - windows.start]
