"""Softmax (1, 11, 13): e^x of each row, in shares of their sum."""

from math import ceil

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, matrix_of
from opcheck.engine.operators import operator



def other_axes(since, rank, attrs):
    """The axes along which rows lie next to each other."""
    axis = attrs["axis"] % rank
    return range(axis) if since < 13 else [other for other in range(rank) if other != axis]


OP = operator("Softmax", low=0.0, high=1.0, batch=other_axes)


def by_version(shares):
    """The formulas of all versions, from `shares(x, axis)` of the rows along an axis."""

    def of_matrix(count):
        def formula(input, *, axis):
            axis = count(axis, input.ndim)
            if not input.size:
                return input
            rows = xp.reshape(input, matrix_of(input.shape, axis))
            return xp.reshape(shares(rows, 1), input.shape)

        return formula

    def along_axis(input, *, axis):
        axis = from_either_end(axis, input.ndim)
        return shares(input, axis) if input.size else input

    # Version 1 documents no negative axis.
    return {1: of_matrix(from_the_front), 11: of_matrix(from_either_end), 13: along_axis}


def plain(x, axis):
    """e^(x − max) over its sum, as the function body of version 13 says."""
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


for version, formula in by_version(plain).items():
    OP.formula(version)(formula)


# ── other sound ways ──────────────────────────────────────────────────────────────────────────


def by_logarithm(x, axis):
    """e^((x − max) − ln s): one exponential for each element, and no division."""
    d = x - xp.max(x, axis=axis, keepdims=True)
    return xp.exp(d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True)))


def in_blocks(x, axis):
    """e^(x − m) below the maximum m of a block or so far, then brought down to the row's own.

    That takes each element another exponential and a product, and the sum what `rescaled` says.
    """
    d = x - xp.max(x, axis=axis, keepdims=True)
    e = xp.inexact(xp.exp(d), np.where(xp.values_of(d) < 0, EXP_AND_PRODUCT, 0.0))
    total = xp.sum(e, axis=axis, keepdims=True)
    shares = xp.exp(d) / total
    lost = EXP_AND_PRODUCT * rescaled(xp.values_of(d), xp.values_of(shares), axis)
    return e / xp.inexact(total, lost)


def by_raw_logarithm(x, axis):
    """e^(x − (max + ln s)), in which the rounding of max + ln s stays."""
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.exp(x - (top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True))))


for remark, shares in (
    ("", by_logarithm),
    ("", in_blocks),
    ("where the raw log-sum-exp is subtracted: not shift invariant", by_raw_logarithm),
):
    for version, formula in by_version(shares).items():
        OP.also_honest(remark, version)(formula)

#: Unit roundoffs of another exponential and its product.
EXP_AND_PRODUCT = 9.0


def rescaled(d, y, axis):
    """The mass that an online algorithm multiplies by e^(old − new maximum), in shares of the sum.

    It does so at each new maximum, along a row or in L = 2, 4, 8, … lanes, strided or contiguous,
    and where lanes are merged in pairs: the largest of all of these.
    """
    d, y = (np.moveaxis(part, axis, -1) for part in (d, y))
    length = d.shape[-1]
    worst = np.maximum(climbed(d, y), climbed(d[..., ::-1], y[..., ::-1]))
    lanes = 2
    while lanes <= length:
        for strided in (False, True):
            worst = np.maximum(worst, in_lanes(d, y, lanes, strided))
        lanes *= 2
    return np.moveaxis(worst, -1, axis)


def climbed(d, y):
    """The mass rescaled on the way along the last axis, which is kept with size 1."""
    running = np.maximum.accumulate(d, axis=-1)
    higher = running[..., 1:] > running[..., :-1]
    mass = np.cumsum(y, axis=-1)[..., :-1]
    return np.where(higher, mass, 0.0).sum(axis=-1, keepdims=True)


def in_lanes(d, y, lanes, strided):
    """The mass rescaled within `lanes` lanes, a power of two, and when they are merged."""
    heights, masses = (cut(part, lanes, strided, fill) for part, fill in ((d, -np.inf), (y, 0.0)))
    total = climbed(heights, masses).sum(axis=-2)
    top, mass = heights.max(axis=-1), masses.sum(axis=-1)
    while top.shape[-1] > 1:
        left, right = top[..., ::2], top[..., 1::2]
        losing = np.where(left < right, mass[..., ::2], 0.0)
        losing += np.where(right < left, mass[..., 1::2], 0.0)
        total = total + losing.sum(axis=-1, keepdims=True)
        top, mass = np.maximum(left, right), mass[..., ::2] + mass[..., 1::2]
    return total


def cut(rows, lanes, strided, fill):
    """Rows (…, N) as (…, lanes, ⌈N/lanes⌉), the last of it filled up."""
    *others, length = rows.shape
    each = ceil(length / lanes)
    padded = np.full((*others, lanes * each), fill)
    padded[..., :length] = rows
    if strided:
        return padded.reshape(*others, each, lanes).swapaxes(-1, -2)
    return padded.reshape(*others, lanes, each)
