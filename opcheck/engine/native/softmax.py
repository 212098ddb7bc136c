"""Softmax in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

It is computed in blocks of whole rows, each in a few passes while it is in the cache; if the
input's dtype and layout allow, without memory beside that of the output. NumPy's warnings are left
to `native`'s `errstate`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.axes import parts_along, slices
from opcheck.engine.half import narrowed, widened
from opcheck.engine.native import as_laid_out, buffer_for, each, rows_of
from opcheck.engine.node import BoundNode
from opcheck.model import Array

RealArray: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
#: Bytes of a block; one of 16-bit numbers needs several times as much in between.
_BLOCK, _NARROW_BLOCK = 1 << 20, 1 << 18
#: So many rows side by side are computed as they lie, fewer are first put one after the other.
_WIDE = 16
#: The least rows side by side in a block, and the most elements of theirs that it may have.
_BESIDE, _WHOLE = 64, 1 << 19
#: The least if the block needs no other memory: more is gained by reading on in memory than by
#: staying in the cache.
_BESIDE_IN_OUTPUT = 1 << 14


def native(bound: BoundNode, input: Array, *, threads: int = 1) -> tuple[Array]:
    """Softmax over the rows of the input."""
    rows = rows_of(bound)
    out = np.empty(input.shape, input.dtype.newbyteorder("="))
    _, length, inner = rows
    half = out.itemsize == 2
    in_place = not as_laid_out(input)
    if in_place:
        # What has to be copied as a whole is copied to where the answer will be.
        out[...] = input
    x, y = (out if in_place else input).reshape(rows), out.reshape(rows)
    needs_memory = half or in_place or inner < _WIDE
    within = 1
    work: Callable[[Array, Array], None]
    if needs_memory and length * min(inner, _BESIDE) > _WHOLE:
        # As many as there are: with more, short rows behind one another would be one part.
        parts = [*parts_along((0, 2), rows, 1, min(_BESIDE, inner))]
        # Threads share either the parts or, where there are too few, each of them in turn.
        if len(parts) < threads:
            threads, within = 1, threads
        work = partial(_long_rows, threads=within)
    else:
        size = (_NARROW_BLOCK if half else _BLOCK) // out.itemsize
        beside = _BESIDE if needs_memory else _BESIDE_IN_OUTPUT
        parts = [*parts_along((0, 2), rows, size, beside)]
        work = partial(_whole, in_place=in_place)
    with np.errstate(all="ignore"):
        buffer_for(rows)
        each(lambda part: work(x[part], y[part]), parts, threads)
    return (out,)


def _whole(x: Array, y: Array, in_place: bool) -> None:
    """Softmax of a block (a, N, b) along N into `y`, which is the memory of `x` if `in_place`."""
    if in_place:
        x = x.copy()
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


#: If the sum of e^x is no less, then what lacks digits because e^x is subnormal is next to nothing.
_ENOUGH = 2.0**-20
#: Rows of fewer elements are divided by their sums only after these are written out.
_SHORT = 32
#: Rows of fewer are added up by products with ones, which BLAS computes in threads if larger.
_FEW, _PRODUCT = 256, 8192
#: The most numbers that are added one after the other.
_IN_ORDER = 512


def softmax(x: RealArray, y: RealArray) -> None:
    """Softmax into `y`, of a contiguous matrix's rows or along the middle axis of (a, N, b).

    `y` is no memory of `x`. It takes longer to find the maxima than to compute the exponentials, so
    that is not done until a sum without them turns out to be too large, or too small.
    """
    np.exp(x, out=y)
    sums = _sums(y)
    if not in_range(sums):
        np.subtract(x, _maxima(x), out=y)
        np.exp(y, out=y)
        sums = _sums(y)
    if y.ndim == 2 and y.shape[1] < _SHORT:
        # One loop over all, where broadcasting has one for each row.
        np.divide(y, np.repeat(sums, y.shape[1]).reshape(y.shape), out=y)
    else:
        np.divide(y, sums, out=y)


def in_range(sums: RealArray) -> bool:
    """Return True if these sums of e^x are good enough; NaN is not."""
    least, most = np.minimum.reduce(sums, axis=None), np.maximum.reduce(sums, axis=None)
    return bool(least >= _ENOUGH and most < np.inf)


def _maxima(x: RealArray) -> RealArray:
    """The maxima along axis 1, which is kept with size 1."""
    if x.ndim == 3:
        return np.asarray(x.max(axis=1, keepdims=True))
    # NumPy finds the place of the maximum several times faster than the maximum itself.
    return np.asarray(np.take_along_axis(x, x.argmax(axis=1, keepdims=True), axis=1))


def _sums(y: RealArray) -> RealArray:
    """The sums along axis 1, which is kept with size 1."""
    number, length = y.shape[:2]
    if y.ndim == 3:
        # NumPy adds number after number here, and the more of them, the more digits get lost.
        parts = (y[:, p].sum(axis=1, keepdims=True) for p in slices(length, _IN_ORDER))
        return np.asarray(sum(parts))
    if length >= _FEW:
        # Unlike `sum`, it has next to no overhead for each row.
        return np.asarray(np.einsum("ij->i", y))[:, np.newaxis]
    ones, sums = np.ones(length, y.dtype), np.empty((number, 1), y.dtype)
    at_once = _PRODUCT // length
    whole = number - number % at_once
    stacked = y[:whole].reshape(-1, at_once, length)
    np.matmul(stacked, ones, out=sums[:whole].reshape(-1, at_once))
    np.matmul(y[whole:], ones, out=sums[whole:, 0])
    return sums


#: Elements of a piece, and from so many rows side by side on they are read as they lie.
_PIECE, _WIDE_PIECE = 1 << 16, 64


def _long_rows(x: Array, y: Array, threads: int) -> None:
    """Softmax of a block (1, N, b) along N, into `y`, in pieces that `threads` threads share.

    `y` may be the memory of `x`. Where it cannot hold the exponentials in between, these are
    computed twice: for the sum and for the answer.
    """
    half, width = x.itemsize == 2, x.shape[2]
    axis = 0 if width >= _WIDE_PIECE else 1
    x, y = (x[0], y[0]) if axis == 0 else (x[0].T, y[0].T)
    held = not half and (axis == 0 or width == 1)
    places = slices(x.shape[axis], max(1, _PIECE // width))
    pieces = [(slice(None), place)[1 - axis :] for place in places]

    def joined(reduce: np.ufunc, elements: Callable[[Any], Array]) -> Array:
        """Reduce what `elements` makes of each piece, and then the results."""
        found = np.empty((len(pieces), *np.delete(x.shape, axis)), np.float32 if half else x.dtype)

        def find(number: int) -> None:
            found[number] = reduce.reduce(elements(pieces[number]), axis=axis)

        each(find, range(len(pieces)), threads)
        return np.expand_dims(reduce.reduce(found, axis=0), axis)

    def exponentials(p: Any) -> Array:
        source = _read(x[p])
        terms = y[p] if held else np.empty_like(source)
        return np.exp(source if top is None else np.subtract(source, top, out=terms), out=terms)

    def divide(p: Any) -> None:
        terms = y[p] if held else exponentials(p)
        np.divide(terms, total, out=terms)
        if half:
            narrowed(terms, y.dtype, y[p])
        elif not held:
            y[p] = terms

    def maxima() -> Array:
        return joined(np.maximum, lambda p: _read(x[p]))

    top = maxima() if held and np.may_share_memory(x, y) else None
    total = joined(np.add, exponentials)
    if top is None and not in_range(total):
        top = maxima()
        total = joined(np.add, exponentials)
    each(divide, pieces, threads)


def _read(x: Array) -> RealArray:
    return widened(x) if x.itemsize == 2 else np.ascontiguousarray(x)
