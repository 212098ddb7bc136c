"""The exact values of Softmax: e^(x - max) / Σ e^(x - max), to more digits than the answer has.

Narrower types are computed in float64, float64 in numbers wider still. A row with NaN or +inf, and
one of -inf only, is NaN throughout, as inf/inf, 0/0 and NaN are; -inf beside a number gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine import wide
from opcheck.engine.axes import Rows
from opcheck.engine.bounds import Floats
from opcheck.engine.exact import Exact
from opcheck.engine.ops.softmax.bound import SoftmaxBound
from opcheck.model import Array

#: Elements worked on at a time, so that what is in between stays in the processor's cache.
_BLOCK, _WIDE_BLOCK = 1 << 16, 1 << 13

#: Numerators are scaled by a power of two, lest the smallest of them lose digits to underflow.
_UP = 600


def exact(layout: Rows, input: Array) -> tuple[Exact]:
    """Softmax over the rows of the input, unrounded."""
    if not input.size:
        # However many rows of no element: there is nothing to normalise.
        layout = (0, 1, 1)
    x = input.reshape(layout)
    dtype = DTYPES[x.dtype.name]
    values, top = np.empty(layout), np.empty((layout[0], 1, layout[2]))
    rest = np.empty(layout) if dtype.name == "float64" else None
    with np.errstate(all="ignore"):
        for part in _blocks(layout, _BLOCK if rest is None else _WIDE_BLOCK):
            rows = np.moveaxis(x[part], 1, 2).astype(np.float64, order="C")
            maximum = rows.max(axis=2, keepdims=True)
            top[part] = np.moveaxis(maximum, 2, 1)
            if rest is None:
                values[part] = np.moveaxis(_in_float64(rows, maximum), 2, 1)
            else:
                digits, more = _in_wide(rows, maximum)
                values[part], rest[part] = np.moveaxis(digits, 2, 1), np.moveaxis(more, 2, 1)
    bound = SoftmaxBound(dtype, x, top)
    shape = input.shape
    more = None if rest is None else rest.reshape(shape)
    return (Exact(values.reshape(shape), dtype, bound, more),)


def _in_float64(x: Floats, top: Floats) -> Floats:
    """Softmax along the last axis, in place; an error of about gap·2^-53 in the exponent."""
    x -= top
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def _in_wide(x: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Softmax along the last axis, and what float64 has no room for."""
    terms = wide.exp_of_difference(x, top, _UP)
    return (terms / (terms.total() * 2.0**-_UP)).split(-_UP)


def _blocks(layout: Rows, size: int) -> Iterator[tuple[slice, slice, slice]]:
    """Parts [a, :, b] of the layout of about `size` elements, whole rows each."""
    outer, length, inner = layout
    if length * inner <= size:
        for a in _slices(outer, size // (length * inner)):
            yield a, slice(None), slice(None)
    else:
        # Neighbours in memory together, even where that is more than `size`.
        for number in range(outer):
            for b in _slices(inner, max(16, size // length)):
                yield slice(number, number + 1), slice(None), b


def _slices(count: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, count, step))
