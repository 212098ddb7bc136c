"""LpPool in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

The windows are taken in parts whose elements stay in the cache: powers, sums along one axis after
the other, roots. Norms that may have suffered from the end of the range are computed once more.
Windows that reach farther than a part are taken one by one, if they are few.

Beside input and output that takes 16 MiB at most in each thread, but for many windows that reach
over some 100 KiB each: dozens over each element, or dilated. A part holds two of them along each
axis then, and some arrays as large.
"""

from collections.abc import Sequence

import numpy as np

from opcheck import dtypes
from opcheck.engine.native.blocks import each
from opcheck.engine.native.lp_pool import norms
from opcheck.engine.native.lp_pool.norms import Powers, WindowPart, every, some_of
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.lp_pool import by_windows
from opcheck.model import Array

#: The bytes of a block that is worked on, more or less: several fit into the caches together.
BLOCK = 1 << 20
#: What a window alone costs beside its elements, in elements, and all windows at once for each.
_WINDOW, _AT_ONCE = 1 << 15, 64


def native(bound: BoundNode, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    planned = by_windows(lambda X, p, windows: (p, windows))[bound.node.op.since]
    p, windows = planned(X, **bound.attrs)
    dtype = dtypes.of(X)
    assert dtype  # no other types come this far
    axes = (*map(every, X.shape[:2]), *windows.axes)
    out = np.empty(windows.shape, X.dtype.newbyteorder("="))
    if out.size:
        # The norm of one number is that number, whatever p is.
        powers = norms.powers_of(dtype, p if windows.most > 1 else 1.0, windows.most)
        todo = norms.remembered_parts(axes, norms.order_of(X), BLOCK // powers.held.numpy.itemsize)
        # Each thread has its own memory.
        shares = 1 if threads == 1 else 4 * threads
        with np.errstate(all="ignore"):
            each(lambda n: _pool(powers, todo[n::shares], X, out), range(shares), threads)
    return (out,)


def _pool(powers: Powers, some: Sequence[WindowPart], x: Array, y: Array) -> None:
    """Put the norms of some parts of `x` into `y`."""
    dtype = powers.held.numpy
    most = BLOCK // dtype.itemsize
    buffers = np.empty((3, 0), dtype)
    for part in some:
        elements, found = x[part.elements], y[part.windows]
        if not elements.size:
            found[...] = 0
        elif part.size > 2 * most and _one_by_one(powers, part, elements, found):
            for index in np.ndindex(found.shape):
                ranges = (range(i, i + 1) for i in index)
                own, _ = zip(*map(some_of, part.axes, ranges), strict=True)
                found[index] = norms.norm_of_all(elements[own], powers, most)
        else:
            if buffers.shape[1] < elements.size:
                buffers = np.empty((3, elements.size), dtype)
            norms.pool(powers, elements, part, found, [*buffers])


def _one_by_one(powers: Powers, part: WindowPart, x: Array, norms: Array) -> bool:
    """Return True if that is not much slower than all at once, or nearly all is padding."""
    few = norms.size * (powers.most + _WINDOW) <= _AT_ONCE * part.size
    return few or part.size > _AT_ONCE * (x.size + norms.size)
