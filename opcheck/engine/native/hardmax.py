"""One at the first maximum of every row, as fast as NumPy allows.

Where it is quick to compare all elements with their row's maximum, that is the answer, unless a row
has several maxima or NaN. Elsewhere the place of the maximum is found, and the one put into zeros.
"""

from functools import partial

import numpy as np

from opcheck.engine.axes import parts_along
from opcheck.engine.half import ordered
from opcheck.engine.native import as_laid_out, each, rows_of
from opcheck.engine.node import BoundNode
from opcheck.model import Array

#: Rows of fewer elements are compared; of up to so many where some rows lie side by side; of up to
#: so many where many do.
_SHORT, _SOME, _TALL = 32, 16, 2048
#: Elements of a block of short rows, of others, and of one that is compared as it lies.
_BLOCK, _LARGER, _LARGEST = 1 << 16, 1 << 18, 1 << 20
#: The least rows side by side in a block.
_BESIDE = 64


def native(bound: BoundNode, input: Array, *, threads: int = 1) -> tuple[Array]:
    """One at the first maximum of every row, zero elsewhere; same shape and dtype."""
    _, length, inner = rows = rows_of(bound)
    short = length < _SHORT
    wide = length <= _TALL and inner >= (_SOME if short else _BESIDE)
    in_place = not as_laid_out(input)
    new = np.empty if wide or short or in_place else np.zeros
    out = new(input.shape, input.dtype.newbyteorder("="))
    if in_place:
        # What has to be copied as a whole is copied to where the answer will be.
        out[...] = input
    x, y, one = (out if in_place else input).reshape(rows), out.reshape(rows), 1
    if out.itemsize == 2:
        # NumPy is slow with these types, so their bits are written; those of 0 are 0.
        y, one = y.view(np.uint16), 0x3C00 if out.dtype == np.float16 else 0x3F80
    if wide or short:
        size, least = (_LARGEST, _BESIDE) if wide else (_BLOCK, 1)
        work = partial(_compared, wide=wide)
    else:
        size, least = _LARGER, _BESIDE
        work = partial(_found, is_zero=not in_place)
    each(lambda part: work(x[part], y[part], one), parts_along((0, 2), rows, size, least), threads)
    return (out,)


def _compared(x: Array, y: Array, one: int, wide: bool) -> None:
    """Compare a block (a, N, b) with its rows' maxima, as it lies where b is large, for small N."""
    if not wide:
        x, y = x.swapaxes(1, 2), y.swapaxes(1, 2)
    y[...] = _first_maxima(x if wide else x.reshape(-1, x.shape[2], 1)).reshape(x.shape)
    if y.itemsize == 2:
        np.multiply(y, one, out=y)


def _found(x: Array, y: Array, one: int, is_zero: bool) -> None:
    """Find the maxima of a block (a, N, b).

    `is_zero`: `y` shares no memory with `x` and is zero already.
    """
    _, length, width = x.shape
    places = _comparable(x.swapaxes(1, 2)).argmax(axis=-1, keepdims=True)
    if not is_zero:
        y[...] = 0
    if width == 1:
        y.reshape(-1)[places.reshape(-1) + np.arange(0, y.size, length)] = one
    else:
        np.put_along_axis(y, places.swapaxes(1, 2), one, axis=1)


def _comparable(x: Array) -> Array:
    """Numbers that NumPy compares fast; those of 16 bits as integers."""
    return ordered(x) if x.itemsize == 2 else x


def _first_maxima(x: Array) -> Array:
    """Mask the first maximum, or first NaN, of the rows along axis 1 of (a, N, b)."""
    numbers = _comparable(x)
    top = _maxima(numbers)
    maxima: Array = np.equal(numbers, top)
    nan = bool((top != top).any())
    if nan or np.count_nonzero(maxima) != top.size:
        if nan:
            maxima |= numbers != numbers
        places = maxima.argmax(axis=1, keepdims=True)
        maxima[...] = False
        np.put_along_axis(maxima, places, True, axis=1)
    return maxima


def _maxima(x: Array) -> Array:
    """The maxima along axis 1, which is kept with size 1."""
    if x.shape[2] > 1:
        return np.asarray(np.maximum.reduce(x, axis=1, keepdims=True))
    # NumPy would go row by row.
    top = x[:, :1]
    for column in range(1, x.shape[1]):
        top = np.maximum(top, x[:, column : column + 1])
    return top
