"""Softmax (1, 11, 13): e^x of each row, in shares of their sum."""

from math import ceil

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows, rows_apart
from opcheck.engine.operators import operator

OP = operator("Softmax", low=0.0, high=1.0, batch=rows_apart)


@OP.formula(by=by_rows)
def plain(x, axis):
    """e^(x − max) over its sum, as the function body of version 13 says."""
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


# ── other sound ways ──────────────────────────────────────────────────────────────────────────


@OP.also_honest("", by=by_rows)
def by_logarithm(x, axis):
    """e^((x − max) − ln s): one exponential for each element, and no division."""
    d = x - xp.max(x, axis=axis, keepdims=True)
    return xp.exp(d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True)))


@OP.also_honest("", by=by_rows)
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


@OP.also_honest("where the raw log-sum-exp is subtracted: not shift invariant", by=by_rows)
def by_raw_logarithm(x, axis):
    """e^(x − (max + ln s)), in which the rounding of max + ln s stays."""
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.exp(x - (top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True))))


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


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


@OP.mutant("the elements themselves were divided by their sum, without an exponential", by=by_rows)
def no_exponential(x, axis):
    return x / xp.sum(x, axis=axis, keepdims=True)


@OP.mutant("e^x was taken without subtracting the maximum", by=by_rows)
def no_shift(x, axis):
    e = xp.exp(x)
    return e / xp.sum(e, axis=axis, keepdims=True)


@OP.mutant("LogSoftmax was computed", by=by_rows)
def logarithms(x, axis):
    d = x - xp.max(x, axis=axis, keepdims=True)
    return d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True))


@OP.mutant("the maxima were marked with 1, as Hardmax does", by=by_rows)
def one_hot(x, axis):
    return xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype)


@OP.mutant("Softmax was applied twice", by=by_rows)
def twice(x, axis):
    return plain(plain(x, axis), axis)


@OP.mutant("the shares were clipped to [1e-7, 1 - 1e-7]", by=by_rows)
def clipped(x, axis):
    return xp.clip(plain(x, axis), np.float32(1e-7), np.float32(1 - 1e-7))


@OP.mutant("a row of -inf alone got no share", by=by_rows)
def no_share_in_a_masked_row(x, axis):
    return xp.where(xp.max(x, axis=axis, keepdims=True) > -np.inf, plain(x, axis), xp.zeros_like(x))


@OP.mutant("a row of -inf alone got equal shares", by=by_rows)
def equal_shares_in_a_masked_row(x, axis):
    equal = xp.full_like(x, 1 / x.shape[axis])
    return xp.where(xp.max(x, axis=axis, keepdims=True) > -np.inf, plain(x, axis), equal)
