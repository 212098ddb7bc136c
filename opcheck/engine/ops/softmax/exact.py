"""The exact values of Softmax: e^(x - max) / Σ e^(x - max), to more digits than the answer has.

Narrower types are computed in float64, float64 in numbers wider still. A row with NaN or +inf, and
one of -inf only, is NaN throughout, as inf/inf, 0/0 and NaN are; -inf beside a number gives 0.
"""

from __future__ import annotations

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine import wide
from opcheck.engine.axes import Rows
from opcheck.engine.blocks import blocks, buffer_for
from opcheck.engine.bounds import Floats
from opcheck.engine.exact import Exact
from opcheck.engine.half import widened
from opcheck.engine.ops.softmax.bound import SoftmaxBound
from opcheck.model import Array

#: Elements worked on at a time, so that what is in between stays in the processor's cache.
_BLOCK, _WIDE_BLOCK = 1 << 17, 1 << 13
#: The least rows side by side in a block, of 16-bit numbers, which are copied, and of float32: what
#: lies side by side in memory is read fastest.
_BESIDE, _FAR_BESIDE = 64, 1 << 14
#: So many rows side by side are computed as they lie, fewer are first put one after the other;
#: rows of fewer elements than `_SHORT` are put side by side.
_WIDE, _SHORT = 64, 32

#: An exponent below which e^x is made 0, and one from which on that would change no digit.
_LEAST, _ALL_DIGITS = -700.0, -660.0

#: Numerators are scaled by a power of two, lest the smallest of them lose digits to underflow.
_UP = 600


def exact(layout: Rows, input: Array) -> tuple[Exact]:
    """Softmax over the rows of the input, unrounded."""
    if not input.size:
        # However many rows of no element: there is nothing to normalise.
        layout = (0, 1, 1)
    x = input.reshape(layout)
    dtype, shape = DTYPES[x.dtype.name], input.shape
    values, top = np.empty(layout), np.empty((layout[0], 1, layout[2]))
    bound = SoftmaxBound(dtype, x, top)
    with np.errstate(all="ignore"):
        if dtype.name != "float64":
            buffer_for(layout)
            least = _BESIDE if x.itemsize == 2 else _FAR_BESIDE
            for part in blocks(layout, _BLOCK, least):
                _in_float64(x[part], values[part], top[part])
            return (Exact(values.reshape(shape), dtype, bound),)
        rest = np.empty(layout)
        for part in blocks(layout, _WIDE_BLOCK):
            rows = np.moveaxis(x[part], 1, 2).astype(np.float64, order="C")
            maximum = rows.max(axis=2, keepdims=True)
            digits, more = _in_wide(rows, maximum)
            values[part], rest[part] = np.moveaxis(digits, 2, 1), np.moveaxis(more, 2, 1)
            top[part] = np.moveaxis(maximum, 2, 1)
    return (Exact(values.reshape(shape), dtype, bound, rest.reshape(shape)),)


def _in_float64(x: Array, y: Floats, top: Floats) -> None:
    """Softmax of a block (a, N, b) along N into `y`, and the maxima of its rows into `top`.

    There is an error of about gap·2^-53 in the exponent. Wherever a row lies, and whatever lies
    beside it, its answer is the same bit for bit.
    """
    if x.itemsize == 2:
        x = widened(x)
    least = x.min()
    if x.shape[2] >= _WIDE:
        y[...] = x
        _in_place(y, top, 1, least)
        return
    axis = 0 if x.shape[1] < _SHORT else 2
    y = y.swapaxes(1, axis)
    moved = y if y.flags.c_contiguous else np.empty(y.shape)
    moved[...] = x.swapaxes(1, axis)
    _in_place(moved, top.swapaxes(1, axis), axis, least)
    if moved is not y:
        y[...] = moved


def _in_place(x: Floats, top: Floats, axis: int, least: float) -> None:
    if axis == 2:
        # NumPy finds the place of the maximum several times faster than the maximum itself.
        top[...] = np.take_along_axis(x, x.argmax(axis=2, keepdims=True), axis=2)
    else:
        np.maximum.reduce(x, axis=axis, keepdims=True, out=top)
    np.subtract(x, top, out=x)
    # Here both ways give the same digits, so that it does not matter to a row why its block takes
    # the other one: for another row, or for NaN, which compares with nothing.
    if least - top.max() >= _ALL_DIGITS:
        np.exp(x, out=x)
    else:
        _exp(x)
    np.divide(x, x.sum(axis=2, keepdims=True) if axis == 2 else _sum(x, axis), out=x)


def _exp(x: Floats) -> None:
    """e^x - e^-700 in place, or 0 where that is below, of x ≤ 0: narrower types see no difference.

    Near -708, where e^x becomes subnormal, NumPy begins to take several times as long.
    """
    # Between two numbers NumPy clips several times faster than above one.
    np.clip(x, _LEAST, 0.0, out=x)
    np.exp(x, out=x)
    np.subtract(x, np.exp(_LEAST), out=x)


def _sum(y: Floats, axis: int) -> Floats:
    """The sum along an axis, kept with size 1, added as NumPy adds up a contiguous row."""
    return np.moveaxis(_in_pairs(np.moveaxis(y, axis, 0)), 0, axis)


def _in_pairs(y: Floats) -> Floats:
    """The sum along axis 0 in NumPy's order: in eight lanes, and in halves if it is long."""
    if len(y) > 128:
        half = len(y) // 16 * 8
        return _in_pairs(y[:half]) + _in_pairs(y[half:])
    whole = len(y) // 8 * 8
    if not whole:
        return np.asarray(np.add.reduce(y, axis=0, keepdims=True))
    total: Floats = np.add.reduce(y[:whole].reshape(-1, 8, *y.shape[1:]), axis=0)
    while len(total) > 1:
        total = total[::2] + total[1::2]
    for row in y[whole:]:
        total += row
    return total


def _in_wide(x: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Softmax along the last axis, and what float64 has no room for."""
    terms = wide.exp_of_difference(x, top, _UP)
    return (terms / (terms.total() * 2.0**-_UP)).split(-_UP)
