"""LpPool in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

The windows are taken in parts whose elements stay in the cache: powers, sums along one axis after
the other, roots. Norms that may have suffered from the end of the range are computed once more.
Windows that reach farther than a part are taken one by one, if they are few.

Beside input and output that takes 16 MiB at most in each thread, but for many windows that reach
over some 100 KiB each: dozens over each element, or dilated. A part holds two of them along each
axis then, and four arrays as large, since sums over large windows are made of those over smaller
ones for all positions at once. Sums that lose their first elements again would need less memory,
but lose digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.native.blocks import each
from opcheck.engine.native.lp_pool.block_sums.parts import (
    WindowPart,
    every,
    in_planes,
    part,
    parts,
    reaching,
)
from opcheck.engine.native.lp_pool.block_sums.sums import BLOCK, kept_in_bounds
from opcheck.engine.native.lp_pool.norms import Powers, norm_of_all, pool, powers_of
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.lp_pool import by_windows
from opcheck.engine.windows import Windows
from opcheck.errors import InvalidNode
from opcheck.model import Array

#: What a window alone costs beside its elements, in elements, and all windows at once for each.
_WINDOW, _AT_ONCE = 1 << 15, 64


def native(bound: BoundNode, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    try:
        p, windows = _planned(bound, X)
    except InvalidNode as error:
        raise InvalidNode(f"{bound.node.op}: {error}") from None
    dtype = dtypes.of(X)
    assert dtype  # no other types come this far
    x = in_planes(X)
    axes = (*map(every, x.shape[: -len(windows.axes)]), *windows.axes)
    filled = X.size and all(len(reaching(axis)) == axis.size for axis in axes)
    out = (np.empty if filled else np.zeros)(windows.shape, X.dtype.newbyteorder("="))
    if X.size and out.size:
        # The norm of one number is that number, whatever p is.
        powers = powers_of(dtype, p if windows.most > 1 else 1.0, windows.most)
        most = BLOCK // powers.held.numpy.itemsize
        todo, y = parts(axes, x, most), out.reshape([axis.size for axis in axes])
        # Each thread has its own memory.
        shares = 1 if threads == 1 else 4 * threads
        with np.errstate(all="ignore"):
            each(lambda n: _pool(powers, most, todo[n::shares], x, y), range(shares), threads)
    return (out,)


def _planned(bound: BoundNode, X: Array) -> tuple[float, Windows]:
    """The p and the windows that a version makes of its attributes."""
    versions: Any = by_windows(lambda X, p, windows: (p, windows))
    found: tuple[float, Windows] = versions[bound.node.op.since](X, **bound.attrs)
    return found


def _pool(powers: Powers, most: int, some: Sequence[WindowPart], x: Array, y: Array) -> None:
    """Put the norms of some parts of `x`, of about `most` elements each, into `y`."""
    with kept_in_bounds():
        for each_part in some:
            elements, norms = x[each_part.elements], y[each_part.windows]
            if not elements.size:
                norms[...] = 0
            elif elements.size > 2 * most and _few(powers, elements, norms):
                for index in np.ndindex(norms.shape):
                    ranges = (range(i, i + 1) for i in index)
                    own, _ = zip(*map(part, each_part.axes, ranges), strict=True)
                    norms[index] = norm_of_all(elements[own], powers, most)
            else:
                pool(powers, elements, each_part.axes, norms)


def _few(powers: Powers, x: Array, norms: Array) -> bool:
    """Return True if taking the windows of `x` one by one is not much slower than all at once."""
    return norms.size * (powers.most + _WINDOW) <= _AT_ONCE * x.size
