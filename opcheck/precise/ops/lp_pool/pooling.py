"""The norms of all windows, by whichever method their number calls for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from opcheck.model import Array
from opcheck.precise import double_double as dd
from opcheck.precise.answer import Ints, Precise, exact, quantized, reshaped
from opcheck.precise.formats import FORMATS
from opcheck.precise.ops.lp_pool.by_double_double import ByDoubleDouble
from opcheck.precise.ops.lp_pool.by_mpmath import norm
from opcheck.precise.ops.lp_pool.windows import Windows
from opcheck.precise.rounding.many import Rounded

#: What is left to mpmath takes no longer there than `_LITTLE` elements, each of one window, where p
#: is an integer. Where it is not, they take `_FRACTIONAL` times as long; a window takes besides
#: as long as `_OVERHEAD` of them. Double-double is 10 to 60 times as fast on large tensors.
_LITTLE, _FRACTIONAL, _OVERHEAD = 1 << 14, 3, 8
#: From here on double-double has no proof, and mpmath computes all.
_LARGE = 1 << 16


def pooled(x: Array, windows: Windows, p: Fraction) -> Precise:
    """The norms of the windows over `x` of shape [N, C, *space], p >= 1.

    A NaN in a window makes it NaN, else an infinity makes it infinite.
    """
    shape = (*x.shape[:2], *windows.shape)
    if 0 in shape:
        return exact(np.empty(shape, x.dtype))
    form = FORMATS[x.dtype.name]
    channels = math.prod(x.shape[:2])
    # Space first, and behind it a zero that stands for all padding. float64 holds every number of
    # the other types.
    numbers = np.zeros((windows.size + 1, channels))
    numbers[:-1] = np.abs(x.reshape(channels, windows.size).T, dtype=np.float64)
    little = _is_little(windows, p, channels)
    by_double_double = None if little else ByDoubleDouble(numbers, float(p), form)
    values = np.empty((math.prod(windows.shape), channels), form.dtype)
    distance = np.empty(values.shape)
    for outputs, some in _blocks(windows, channels):
        at = windows.positions(outputs)
        # A maximum with a NaN is NaN.
        largest = numbers[at, some].max(axis=0)
        endless = ~np.isfinite(largest)
        if by_double_double:
            block = by_double_double.norms(at, some)
        else:
            block = Rounded(np.empty(largest.shape), np.empty(largest.shape), ~endless)
        for o, channel in np.argwhere(block.unsure & ~endless):
            window = numbers[at[:, o], some][:, channel]
            block.values[o, channel], block.distance[o, channel] = norm(window, p, form)
        # Not every NaN has the same bits.
        block.values[endless] = np.where(np.isnan(largest), np.nan, largest)[endless]
        block.distance[endless] = np.inf
        values[outputs, some] = block.values.astype(form.dtype)
        distance[outputs, some] = quantized(block.distance)
    answer = Precise(values, distance, "mpmath" if little else "double-double")
    return reshaped(answer, lambda a: a.T.reshape(shape))


def _is_little(windows: Windows, p: Fraction, channels: int) -> bool:
    cost = math.prod(windows.shape) * channels * (windows.reach + _OVERHEAD)
    return p >= _LARGE or cost * (1 if p.denominator == 1 else _FRACTIONAL) <= _LITTLE


def _blocks(windows: Windows, channels: int) -> Iterator[tuple[Ints, slice]]:
    """Some of the flattened outputs, and some of the channels, so that few elements are at work."""
    wide = max(1, dd.PIECE // windows.reach)
    high = max(1, dd.PIECE // (windows.reach * min(wide, channels)))
    count = math.prod(windows.shape)
    for start in range(0, count, high):
        outputs = np.arange(start, min(start + high, count))
        for first in range(0, channels, wide):
            yield outputs, slice(first, first + wide)
