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


def additions(slices: Sequence[Slice], out: Array) -> Iterator[Call]:
    """What fills `out`, (A, windows, B), with the sums."""
    # Those that all windows have come first, so that there need be no zeros.
    slices = sorted(slices, key=lambda some: some[0].start - some[0].stop)
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
