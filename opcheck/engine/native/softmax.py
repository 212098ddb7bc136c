"""Softmax, and one at the first maximum of every row, as fast as NumPy allows.

Softmax is computed in the input's dtype, float32 inside for the types of 16 bits, in blocks of
whole rows, each in a few passes while it is in the cache; if the input's dtype and layout allow,
without memory beside that of the output. NumPy's warnings are left to `softmax_of`'s `errstate`.
Hardmax finds the place of the maximum, and puts the one into zeros.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import narrowed, ordered, widened
from opcheck.engine.axes import by_rows, parts_along, slices
from opcheck.engine.native import as_laid_out, each, rows_of
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.softmax import logarithms, mean, of_scores
from opcheck.model import Array

# No share vanishes in logarithms as the function bodies have them, (x − max) − ln s.
FORMULAS = {
    "LogSoftmax": by_rows(logarithms),
    "SoftmaxCrossEntropyLoss": of_scores(logarithms, averaged=mean),
}

RealArray: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
#: Bytes of a block; one of 16-bit numbers needs several times as much in between.
_BLOCK, _NARROW_BLOCK = 1 << 20, 1 << 18
#: So many rows side by side are computed as they lie, fewer are first put one after the other.
_WIDE = 16
#: The least rows side by side in a block.
_BESIDE = 64
#: The least if the block needs no other memory: more is gained by reading on in memory than by
#: staying in the cache.
_BESIDE_IN_OUTPUT = 1 << 14


def softmax_of(bound: BoundNode, input: Array, *, threads: int = 1) -> tuple[Array]:
    """Softmax over the rows of the input."""
    rows = rows_of(bound)
    out = np.empty(input.shape, input.dtype.newbyteorder("="))
    inner = rows[2]
    half = out.itemsize == 2
    in_place = not as_laid_out(input)
    if in_place:
        # What has to be copied as a whole is copied to where the answer will be.
        out[...] = input
    x, y = (out if in_place else input).reshape(rows), out.reshape(rows)
    needs_memory = half or in_place or inner < _WIDE
    size = (_NARROW_BLOCK if half else _BLOCK) // out.itemsize
    parts = parts_along((0, 2), rows, size, _BESIDE if needs_memory else _BESIDE_IN_OUTPUT)
    with np.errstate(all="ignore"):
        each(lambda part: _whole(x[part], y[part], in_place), parts, threads)
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
    if y.ndim == 3:
        # NumPy adds number after number here, and the more of them, the more digits get lost.
        parts = (y[:, p].sum(axis=1, keepdims=True) for p in slices(y.shape[1], _IN_ORDER))
        return np.asarray(sum(parts))
    # Unlike `sum`, it has next to no overhead for each row.
    return np.asarray(np.einsum("ij->i", y))[:, np.newaxis]


#: About how many elements of a block of Hardmax there are.
_HARD_BLOCK = 1 << 18


def hardmax_of(bound: BoundNode, input: Array, *, threads: int = 1) -> tuple[Array]:
    """One at the first maximum of every row, zero elsewhere; same shape and dtype."""
    rows = rows_of(bound)
    in_place = not as_laid_out(input)
    out = (np.empty if in_place else np.zeros)(input.shape, input.dtype.newbyteorder("="))
    if in_place:
        # What has to be copied as a whole is copied to where the answer will be.
        out[...] = input
    x, y = (out if in_place else input).reshape(rows), out.reshape(rows)

    def work(part: tuple[slice, ...]) -> None:
        # NumPy is slow with types of 16 bits.
        numbers = ordered(x[part]) if x.itemsize == 2 else x[part]
        places = numbers.argmax(axis=1, keepdims=True)
        if in_place:
            y[part] = 0
        np.put_along_axis(y[part], places, 1, axis=1)

    each(work, parts_along((0, 2), rows, _HARD_BLOCK, _BESIDE), threads)
    return (out,)


KERNELS = {"Hardmax": hardmax_of, "Softmax": softmax_of}
