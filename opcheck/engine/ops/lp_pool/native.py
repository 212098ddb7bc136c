"""LpPool in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

The windows are taken in parts whose elements stay in the cache: powers, sums along one axis after
the other, roots. Norms that may have suffered from the end of the range are computed once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opcheck import dtypes
from opcheck.engine.blocks import each
from opcheck.engine.ops.lp_pool.block_sums.bench import BLOCK, Bench
from opcheck.engine.ops.lp_pool.block_sums.parts import Part, every, in_planes, parts, reaching
from opcheck.engine.ops.lp_pool.block_sums.ways import many_slices
from opcheck.engine.ops.lp_pool.exact import exact
from opcheck.engine.ops.lp_pool.kernels import Pooling
from opcheck.engine.ops.lp_pool.native_norms import norm_of_all, pool
from opcheck.engine.ops.lp_pool.powers import Powers, powers_of
from opcheck.model import Array


def native(plan: Pooling, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    dtype, windows = dtypes.of(X), plan.windows
    assert dtype  # no other types come this far
    if any(map(many_slices, windows.axes)):
        # Next to nothing but padding, or next to no elements.
        return (exact(plan, X)[0].rounded(),)
    x = in_planes(X)
    axes = (*map(every, x.shape[: -len(windows.axes)]), *windows.axes)
    filled = X.size and all(len(reaching(axis)) == axis.size for axis in axes)
    out = (np.empty if filled else np.zeros)(windows.shape, X.dtype.newbyteorder("="))
    if X.size and out.size:
        # The norm of one number is that number, whatever p is.
        powers = powers_of(dtype, plan.p if windows.most > 1 else 1.0, windows.most)
        most = BLOCK // powers.held.numpy.itemsize
        todo, y = parts(axes, x, most), out.reshape([axis.size for axis in axes])
        # Each thread has its own memory.
        shares = 1 if threads == 1 else 4 * threads
        with np.errstate(all="ignore"):
            each(lambda n: _pool(powers, most, todo[n::shares], x, y), range(shares), threads)
    return (out,)


def _pool(powers: Powers, most: int, some: Sequence[Part], x: Array, y: Array) -> None:
    """Put the norms of some parts of `x`, of about `most` elements each, into `y`."""
    for part in some:
        elements, norms = x[part.elements], y[part.windows]
        if not elements.size:
            norms[...] = 0
        elif norms.size == 1 and elements.size > 2 * most:
            norms[...] = norm_of_all(elements, powers, most)
        else:
            pool(powers, elements, part.axes, norms)
    Bench.leave()
