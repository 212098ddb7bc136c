"""Some rows at once, but for the elements that lie too near to a midpoint."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opcheck.precise import double_double as dd
from opcheck.precise.answer import Floats
from opcheck.precise.formats import Format
from opcheck.precise.ops.softmax.by_mpmath import row
from opcheck.precise.rounding import many

#: e^-1000 is nothing beside the maximum's 1, and as a number of any format.
_FAR = 1000.0


def some_rows(x: Floats, form: Format) -> tuple[Floats, Floats]:
    """The softmax of the rows of `x`, of which there is one or more: numbers, distances in ULP.

    The numbers of `x` are finite or −inf, at least one of each row is finite.
    """
    values, distance, unsure = np.empty(x.shape), np.empty(x.shape), np.empty(x.shape, np.bool_)
    for piece, answer in _columns(x.T, form):
        values[:, piece] = answer.values.T
        distance[:, piece] = answer.distance.T
        unsure[:, piece] = answer.unsure.T
    for i in np.flatnonzero(unsure.any(axis=1)):
        at = unsure[i]
        values[i, at], distance[i, at] = row(x[i], form, x[i, at])
    return values, distance


def _columns(x: Floats, form: Format) -> Iterator[tuple[slice, many.Rounded]]:
    """The softmax along the first axis of `x`, of shape [N, rows], in pieces of the first axis.

    The relative error is at most (40 + 4·levels(N)) · u². In u²: the difference of x from the
    maximum is exact; a power has 8, and the table of `exponential` another 2^-120 · 1443, below 1;
    their sum has 4 for each level, its terms 9; the quotient 16. That is 34 + 4·levels(N). The rest
    holds products of these errors, and terms of the sum that are dropped below e^-1000 or rounded
    to a subnormal, each less than 2^-1074 beside a sum of at least 1.
    """
    top = x.max(axis=0)
    # A difference that is too large for float64 is −inf here.
    near = x - top >= -_FAR
    difference = dd.two_sum(np.where(near, x, top), np.broadcast_to(-top, x.shape))
    power, low, exponent = np.empty(x.shape), np.empty(x.shape), np.empty(x.shape, np.int64)
    pieces = [slice(start, start + dd.PIECE) for start in range(0, len(x), dd.PIECE)]
    for piece in pieces:
        part, exponent[piece] = dd.exponential((difference[0][piece], difference[1][piece]))
        power[piece], low[piece] = (np.where(near[piece], number, 0.0) for number in part)
    sums = dd.total((np.ldexp(power, exponent), np.ldexp(low, exponent)))
    error = (40 + 4 * dd.levels(len(x))) * dd.U**2
    for piece in pieces:
        share = dd.divide((power[piece], low[piece]), sums)
        yield piece, many.rounded(share, exponent[piece], error, form)
