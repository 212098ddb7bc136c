"""All elements of an output of which some are wrong, in little space, for pages that draw them.

It is drawn where somebody looks at a comparison that failed, and looks at every element again.
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.compare.elements import Floats, Places
from opcheck.compare.ulp import UNORDERED, chunks, distance
from opcheck.dtypes import DType, round_to
from opcheck.model import Array, Picture

#: The most cells in a row and in a column.
SIDE = 64
#: Gives elements by their places in the flat array, and their shares, of one shape.
Shares: TypeAlias = Callable[[], Iterable[tuple[Places, Floats]]]

_POWERS = 1 << np.arange(64, dtype=np.uint64)
_UP_TO_ALL = "abcdefghijklmnopqrstuvwxyz"


def picture(want: Array, got: Array, dtype: DType, shares: Shares) -> Picture:
    """The picture of `got`, in `dtype`, beside `want`, as in `Want.values`.

    Of the `shares` of elements only the largest in each cell is kept.
    """
    cells = _Cells(got.shape)
    for places, some in shares():
        cells.add(places, some)
    counts, unordered = _ulps(want, got, dtype) if dtype.kind == "float" else ((), 0)
    return Picture(got.shape, counts, unordered, cells.letters())


class _Cells:
    """A map of an output: the last axis to the right, all others downwards."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.columns = shape[-1] if shape else 1
        self.rows = prod(shape[:-1])
        self.across, self.down = min(self.columns, SIDE), min(self.rows, SIDE)
        self.most = np.zeros(self.down * self.across)

    def add(self, places: Places, shares: Floats) -> None:
        row, column = np.divmod(places.reshape(-1), self.columns)
        cell = row * self.down // self.rows * self.across + column * self.across // self.columns
        np.maximum.at(self.most, cell, shares.reshape(-1))

    def letters(self) -> tuple[str, ...]:
        rows = self.most.reshape(self.down, self.across).tolist()
        return tuple("".join(map(_letter, row)) for row in rows)


def _letter(share: float) -> str:
    if share == 0:
        return "."
    if share == np.inf:
        return "Z"
    fraction, exponent = np.frexp(share)
    # The smallest whole number that is not below the logarithm.
    doublings = int(exponent) - (fraction == 0.5)
    if doublings <= 0:
        return _UP_TO_ALL[max(25 + doublings, 0)]
    return _UP_TO_ALL[min(doublings, 25) - 1].upper()


def _ulps(want: Array, got: Array, dtype: DType) -> tuple[tuple[tuple[int, int], ...], int]:
    """How many elements lie how many steps off, by powers of two, and how many are unordered."""
    counts = np.zeros(66, np.int64)
    for _, (wanted, actual) in chunks(want, got):
        if wanted.dtype != dtype.numpy:
            wanted = round_to(wanted.astype(np.float64), dtype)
        steps = distance(wanted, actual)
        # As many powers as are not above it: the bits it takes.
        bits = np.searchsorted(_POWERS, steps, side="right")
        bits[steps == UNORDERED] = 65
        counts += np.bincount(bits, minlength=66)
    *ordered, unordered = counts.tolist()
    return tuple((bits, count) for bits, count in enumerate(ordered) if count), unordered
