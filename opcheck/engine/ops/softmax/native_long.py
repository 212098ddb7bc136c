"""Softmax of rows too long for the cache, which are read piece by piece.

NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.blocks import BLOCK, each, slices
from opcheck.engine.bounds import Reals
from opcheck.engine.half import narrowed, widened
from opcheck.engine.ops.softmax.native_rows import in_range
from opcheck.model import Array

#: A piece's number, and where it is in a matrix.
_Piece: TypeAlias = tuple[int, tuple[slice, ...]]

#: From so many rows side by side on these are read as they lie.
_WIDE = 64


def long_rows(x: Array, y: Array, threads: int) -> None:
    """Softmax of a block (1, N, b) along N, into `y`, in pieces that `threads` threads share.

    `y` may be the memory of `x`. Where it cannot hold the exponentials in between, these are
    computed twice: for the sum and for the answer.
    """
    half, width = x.itemsize == 2, x.shape[2]
    axis = 0 if width >= _WIDE else 1
    x, y = (x[0], y[0]) if axis == 0 else (x[0].T, y[0].T)
    held = not half and (axis == 0 or width == 1)
    places = slices(x.shape[axis], max(1, BLOCK // width))
    pieces: list[_Piece] = [*enumerate((slice(None), p)[1 - axis :] for p in places)]
    found = np.empty((len(pieces), *np.delete(x.shape, axis)), np.float32 if half else x.dtype)

    def maxima() -> Any:
        def find(piece: _Piece) -> None:
            number, p = piece
            found[number] = _read(x[p]).max(axis=axis)

        each(find, pieces, threads)
        return np.expand_dims(found.max(axis=0), axis)

    def exponentials(p: tuple[slice, ...], top: Any) -> Any:
        source = _read(x[p])
        terms = y[p] if held else np.empty_like(source)
        if top is None:
            return np.exp(source, out=terms)
        np.subtract(source, top, out=terms)
        return np.exp(terms, out=terms)

    def sums(top: Any) -> Any:
        def add(piece: _Piece) -> None:
            number, p = piece
            found[number] = exponentials(p, top).sum(axis=axis)

        each(add, pieces, threads)
        return np.expand_dims(found.sum(axis=0), axis)

    top = maxima() if held and np.may_share_memory(x, y) else None
    total = sums(top)
    if top is None and not in_range(total):
        top = maxima()
        total = sums(top)

    def divide(piece: _Piece) -> None:
        _, p = piece
        terms = y[p] if held else exponentials(p, top)
        np.divide(terms, total, out=terms)
        if half:
            narrowed(terms, y.dtype, y[p])
        elif not held:
            y[p] = terms

    each(divide, pieces, threads)


def _read(x: Array) -> Reals:
    return widened(x) if x.itemsize == 2 else np.ascontiguousarray(x)
