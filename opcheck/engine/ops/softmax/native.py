"""Softmax in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

It is computed in blocks of whole rows, each in a few passes while it is in the cache; if the
input's dtype and layout allow, without memory beside that of the output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from opcheck.engine.axes import Rows
from opcheck.engine.blocks import as_laid_out, blocks, buffer_for, each
from opcheck.engine.half import narrowed, widened
from opcheck.engine.ops.softmax.native_long import long_rows
from opcheck.engine.ops.softmax.native_rows import softmax
from opcheck.model import Array

#: Bytes of a block; one of 16-bit numbers needs several times as much in between.
_BLOCK, _NARROW_BLOCK = 1 << 20, 1 << 18
#: So many rows side by side are computed as they lie, fewer are first put one after the other.
_WIDE = 16
#: The least rows side by side in a block, and the most elements of theirs that it may have.
_BESIDE, _WHOLE = 64, 1 << 19
#: The least if the block needs no other memory: more is gained by reading on in memory than by
#: staying in the cache.
_BESIDE_IN_OUTPUT = 1 << 14


def native(rows: Rows, input: Array, *, threads: int = 1) -> tuple[Array]:
    """Softmax over the rows of the input."""
    out = np.empty(input.shape, input.dtype.newbyteorder("="))
    _, length, inner = rows
    half = out.itemsize == 2
    in_place = not as_laid_out(input)
    if in_place:
        # What has to be copied as a whole is copied to where the answer will be.
        out[...] = input
    x, y = (out if in_place else input).reshape(rows), out.reshape(rows)
    needs_memory = half or in_place or inner < _WIDE
    work: Callable[[Array, Array], None]
    if needs_memory and length * min(inner, _BESIDE) > _WHOLE:
        parts = [*blocks(rows, 1, _BESIDE)]
        # Threads share either the parts or, where there are too few, each of them in turn.
        threads, within = (1, threads) if len(parts) < threads else (threads, 1)
        work = partial(long_rows, threads=within)
    else:
        size = (_NARROW_BLOCK if half else _BLOCK) // out.itemsize
        parts = [*blocks(rows, size, _BESIDE if needs_memory else _BESIDE_IN_OUTPUT)]
        work = _whole_in_place if in_place else _whole
    with np.errstate(all="ignore"):
        buffer_for(rows)
        each(lambda part: work(x[part], y[part]), parts, threads)
    return (out,)


def _whole_in_place(x: Array, y: Array) -> None:
    _whole(x.copy(), y)


def _whole(x: Array, y: Array) -> None:
    """Softmax of a block (a, N, b) along N into `y`, other memory."""
    half, matrix = x.itemsize == 2, x.shape[2] < _WIDE
    if matrix:
        x, y = x.swapaxes(1, 2), y.swapaxes(1, 2)
    source = widened(x) if half else np.ascontiguousarray(x) if matrix else x
    in_output = not half and (y.flags.c_contiguous or not matrix)
    target = y if in_output else np.empty(y.shape, source.dtype)
    shape = (-1, x.shape[2]) if matrix else x.shape
    softmax(source.reshape(shape), target.reshape(shape))
    if half:
        narrowed(target, y.dtype, y)
    elif not in_output:
        y[...] = target
