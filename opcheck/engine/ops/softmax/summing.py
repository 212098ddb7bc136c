"""What the sum of a row may lose to its additions and to rescaling: A + R of the error bound.

A sum of N terms is a tree of additions. One loses at most u times its result, which s bounds: in
whatever order, N − 1 in all. And it loses no more than its smaller operand, as the larger one is a
candidate for the result: a term costs its own size where that is below u·s. What lies beside the
maximum may be added up before, in a tree of ⌈log2 N⌉ levels and a few more in its leaves, and each
of them loses u of that much:

    A = min(N − 1, Σ_{j≠top} min(1, y_j/u) + (⌈log2 N⌉ + 8)·min(1, (1 − y_top)/u))

An online algorithm adds terms e^(x − m) below the maximum m so far. At each new maximum it
multiplies what it has by e^(old − new): f for the exponential and 1 for the product, on the mass
so far. (The steps between the maxima of a term add up to its gap, which is accounted for
elsewhere.) It may do so in L lanes, each of which makes N/L − 1 additions and meets the maxima of
its own part, strided or contiguous. In the end the lanes are merged in pairs: ⌈log2 L⌉ additions
more, and the side with the smaller maximum is rescaled. So

    A + R = the largest, over L = 1, 2, 4, …, of A_L + R_L
    A_L = min(⌈N/L⌉ − 1 + ⌈log2 L⌉, A)
    R_L = (f + 1)·(the mass rescaled at new maxima within lanes + that on the losing sides)

for L = 1 in both directions.

What a sum cannot fall below: all partial sums lie below the final one, M, so that an addition
loses at most u·M, and no more than its smaller operand. With terms in parts of s,

    M + Σ_{j≠top} min(u·M, y_j) ≥ 1

by induction over the tree: of two subtrees, one whose largest term is below u·M loses no more than
it holds. All other errors are factors of the terms, e^-r_j and no less; with them the right side is
Σ y_j·e^-r_j ≥ e^(−Σ y_j·r_j), as e^-r is convex, which is e^-(C − u·A) with R for its worst lanes.
"""

from __future__ import annotations

import math

import numpy as np

from opcheck.engine.bounds import Floats

#: An error that first order is good enough for.
SMALL = 0.1
#: Steps of the search for the least sum, which need not be found to many digits.
_HALVINGS = 30


def summing(
    d: Floats, y: Floats, below: Floats, others: Floats, u: float, f: float
) -> tuple[Floats, Floats]:
    """A + R, and the largest R of all numbers of lanes, in u and of shape (n, 1).

    From `d` = x - max and `y`, both (n, N) with N ≥ 1; of y, `below` is the mass below the maximum
    and `others` that beside one maximum, both (n, 1).
    """
    length = y.shape[1]
    top = y.max(axis=1, keepdims=True)
    small = np.minimum(1, y / u).sum(axis=1, keepdims=True) - np.minimum(1, top / u)
    depth = math.ceil(math.log2(length)) + 8
    most = np.minimum(length - 1, small + depth * np.minimum(1, others / u))

    rescaled = (f + 1) * np.maximum(_climbed(d, y), _climbed(d[:, ::-1], y[:, ::-1]))
    worst = most + rescaled
    lanes = 2
    while lanes <= length:
        each, levels = -(-length // lanes), lanes.bit_length() - 1
        additions = np.minimum(each - 1 + levels, most)
        # No term is rescaled more often than it is added to, and a maximum never.
        ceiling = (f + 1) * below * (each - 1 + levels)
        # R by itself is asked for where first order is not enough.
        apart = (ceiling > rescaled) & (u * worst > SMALL)
        if not ((additions + ceiling > worst) | apart).any():
            break
        for strided in (False, True):
            here = (f + 1) * _in_lanes(d, y, lanes, strided)
            rescaled, worst = np.maximum(rescaled, here), np.maximum(worst, additions + here)
        lanes *= 2
    return np.asarray(worst), np.asarray(rescaled)


def least_sum(y: Floats, u: float, left: Floats | float = 1.0) -> Floats:
    """The smallest that a sum of the terms `y`, (n, N), can come out as, in parts of it; (n, 1).

    `left`, (n, 1), is what other errors than those of the additions leave of the sum.
    """
    low, high = np.zeros((len(y), 1)), np.ones((len(y), 1)) * left
    top = y.max(axis=1, keepdims=True)
    for _ in range(_HALVINGS):
        sum_ = (low + high) / 2
        lost = np.minimum(u * sum_, y).sum(axis=1, keepdims=True) - np.minimum(u * sum_, top)
        short = sum_ + lost < left
        low, high = np.where(short, sum_, low), np.where(short, high, sum_)
    return low


def _climbed(d: Floats, y: Floats) -> Floats:
    """The mass that is rescaled on the way along the last axis; the axis is kept with size 1."""
    running = np.maximum.accumulate(d, axis=-1)
    higher = running[..., 1:] > running[..., :-1]
    mass = np.cumsum(y, axis=-1)[..., :-1]
    return np.asarray(np.where(higher, mass, 0.0).sum(axis=-1, keepdims=True))


def _in_lanes(d: Floats, y: Floats, lanes: int, strided: bool) -> Floats:
    """The mass that is rescaled within `lanes` lanes, a power of two, and when they are merged."""
    heights, masses = (
        _split(array, lanes, strided, fill) for array, fill in ((d, -np.inf), (y, 0))
    )
    total: Floats = _climbed(heights, masses).sum(axis=1)
    top, mass = heights.max(axis=2), masses.sum(axis=2)
    while top.shape[1] > 1:
        left, right = top[:, ::2], top[:, 1::2]
        losing = np.where(left < right, mass[:, ::2], 0) + np.where(right < left, mass[:, 1::2], 0)
        total = total + losing.sum(axis=1, keepdims=True)
        top, mass = np.maximum(left, right), mass[:, ::2] + mass[:, 1::2]
    return total


def _split(array: Floats, lanes: int, strided: bool, fill: float) -> Floats:
    """(n, N) as (n, lanes, ⌈N/lanes⌉), the last of it filled up."""
    n, length = array.shape
    each = -(-length // lanes)
    padded = np.full((n, lanes * each), fill, np.float64)
    padded[:, :length] = array
    if strided:
        return padded.reshape(n, each, lanes).swapaxes(1, 2)
    return padded.reshape(n, lanes, each)
