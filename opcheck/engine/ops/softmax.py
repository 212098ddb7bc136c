"""Softmax (1, 11, 13): e^x of each row, in shares of their sum."""

from functools import partial
from math import ceil

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows, rows_apart
from opcheck.engine.operators import operator

OP = operator("Softmax", low=0.0, high=1.0, parts=rows_apart)


@OP.formula(by=by_rows)
def plain(x, axis):
    """e^(x − max) over its sum, as the function body of version 13 says."""
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def logarithms(x, axis):
    d = x - xp.max(x, axis=axis, keepdims=True)
    return d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True))


# One exponential for each element, and no division.
OP.also_honest("", by=by_rows)(lambda x, axis: xp.exp(logarithms(x, axis)))


@OP.also_honest("", by=by_rows)
def in_blocks(x, axis):
    """e^(x − m) below the maximum m of a block or so far, then brought down to the row's own.

    That takes each element another exponential and a product, and the sum what `rescaled` says.
    """
    _, e, total = terms_in_blocks(x, axis)
    return e / total


def terms_in_blocks(x, axis):
    d = x - xp.max(x, axis=axis, keepdims=True)
    e = xp.inexact(xp.exp(d), np.where(xp.values_of(d) < 0, EXP_AND_PRODUCT, 0.0))
    total = xp.sum(e, axis=axis, keepdims=True)
    shares = xp.exp(d) / total
    lost = EXP_AND_PRODUCT * rescaled(xp.values_of(d), xp.values_of(shares), axis)
    return d, e, xp.inexact(total, lost)


RAW = "where the raw log-sum-exp is subtracted: not shift invariant"


def raw_logarithms(x, axis):
    """x − (max + ln s), in which the rounding of max + ln s stays."""
    top = xp.max(x, axis=axis, keepdims=True)
    return x - (top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)))


OP.also_honest(RAW, by=by_rows)(lambda x, axis: xp.exp(raw_logarithms(x, axis)))


#: Unit roundoffs of another exponential and its product.
EXP_AND_PRODUCT = 9.0


def rescaled(d, y, axis):
    """The mass that an online algorithm multiplies by e^(old − new maximum), in shares of the sum.

    It does so at each new maximum, along a row or in L = 2, 4, 8, … lanes, strided or contiguous,
    and where lanes are merged in pairs: the largest of all of these.
    """
    d, y = (np.moveaxis(part, axis, -1) for part in (d, y))
    ways = [climbed(d, y), climbed(d[..., ::-1], y[..., ::-1])]
    for power in range(1, d.shape[-1].bit_length()):
        ways += [in_lanes(d, y, 2**power, strided) for strided in (False, True)]
    return np.moveaxis(np.maximum.reduce(ways), -1, axis)


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


def plainly(x, axis):
    """Shares without the subtraction of the maximum."""
    e = xp.exp(x)
    return e / xp.sum(e, axis=axis, keepdims=True)


def in_masked_rows(share):
    """The formula, where rows of -inf alone get a share of their own, from their length."""

    def shares(x, axis):
        masked = x.max(axis, keepdims=True) == -np.inf
        return np.where(masked, np.full_like(x, share(x.shape[axis])), plain(x, axis))

    return shares


def where_nan(x, then, y):
    return np.where(np.isnan(x), then, y).astype(x.dtype)


def nan_skipped(x, axis):
    e = np.exp(x - np.fmax.reduce(x, axis=axis, keepdims=True))
    return e / np.nansum(e, axis=axis, keepdims=True)


def so_far(x, axis):
    """The maximum of each element and those before it in its row."""
    return np.maximum.accumulate(x, axis=axis)


def equal_maxima_counted_once(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    added = np.moveaxis(e.copy(), axis, -1)
    x, before = np.moveaxis(x, axis, -1), np.moveaxis(so_far(x, axis), axis, -1)
    added[..., 1:][x[..., 1:] == before[..., :-1]] = 0
    return e / np.moveaxis(added.sum(-1, keepdims=True), -1, axis)


def minus_infinity_less_minus_infinity(x, axis):
    top, before = x.max(axis, keepdims=True), so_far(x, axis)
    total = (np.exp(x - before) * np.exp(before - top)).sum(axis, keepdims=True)
    return np.exp(x - top) / total


def first_block_masked(width, x, axis):
    first = np.take(x, range(min(width, x.shape[axis])), axis)
    masked = np.isneginf(first).all(axis, keepdims=True) & (x.shape[axis] > width)
    return np.where(masked, np.nan, plain(x, axis)).astype(x.dtype)


def padded_with_zeros(width, x, axis):
    missing = -x.shape[axis] % width
    top = np.maximum(x.max(axis, keepdims=True), 0) if missing else x.max(axis, keepdims=True)
    e = np.exp(x - top)
    return e / (e.sum(axis, keepdims=True) + missing * np.exp(-top)).astype(x.dtype)


MUTANTS = {
    "no_exponential": (
        "the elements themselves were divided by their sum, without an exponential",
        lambda x, axis: x / xp.sum(x, axis=axis, keepdims=True)),
    "nothing_subtracted": ("e^x was taken without subtracting the maximum", plainly),
    "logarithms": ("LogSoftmax was computed", logarithms),
    "one_hot": ("the maxima were marked with 1, as Hardmax does",
        lambda x, axis: xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype)),
    "twice": ("Softmax was applied twice", lambda x, axis: plain(plain(x, axis), axis)),
    "clipped": ("the shares were clipped to [1e-7, 1 - 1e-7]",
                lambda x, axis: np.clip(plain(x, axis), 1e-7, 1 - 1e-7)),
    "no_share_in_a_masked_row": ("a row of -inf alone got no share", in_masked_rows(lambda n: 0)),
    "equal_shares_in_a_masked_row": ("a row of -inf alone got equal shares",
                                     in_masked_rows(lambda n: 1 / n)),
    "nan_alone": ("NaN stayed where it was, and made 0 of the other elements of its row",
        lambda x, axis: where_nan(
            x, x, np.where(np.isnan(x).any(axis, keepdims=True), 0, plain(x, axis)))),
    "nan_masked": ("NaN was taken for -inf, and got no share",
                   lambda x, axis: where_nan(x, 0, plain(where_nan(x, -np.inf, x), axis))),
    "nan_skipped": ("NaN was left out of the maximum and the sum, and stayed where it was",
                    nan_skipped),
    "sign_lost": ("the magnitudes of the elements were taken",
                  lambda x, axis: plain(np.abs(x), axis)),
    "sign_changed": ("the signs were changed, and the smallest element got the largest share",
                     lambda x, axis: plain(-x, axis)),
    "row_of_one_element_kept": ("a row of one element was left as it was",
                                lambda x, axis: x if x.shape[axis] == 1 else plain(x, axis)),
    "clamped_not_shifted": ("the elements were clamped to [-88, 88], and nothing subtracted",
        lambda x, axis: plainly(
            np.where(np.isinf(x), x, np.clip(x, -88, 88)).astype(x.dtype), axis)),
    "new_maximum_does_not_rescale": ("the running sum was not rescaled at a new maximum",
        lambda x, axis: np.exp(x - x.max(axis, keepdims=True))
        / np.exp(x - so_far(x, axis)).sum(axis, keepdims=True)),
    "equal_maxima_counted_once": (
        "an element equal to the running maximum was left out of the sum",
        equal_maxima_counted_once),
    "minus_infinity_less_minus_infinity": (
        "-inf was subtracted from -inf at the start of a row", minus_infinity_less_minus_infinity),
    **{f"first_block_of_{width}_masked_is_nan": (
           f"-inf was subtracted from -inf where the first {width} elements of a row are all -inf",
           partial(first_block_masked, width)) for width in (8, 16, 32, 64, 128)},
    **{f"sum_padded_to_vectors_of_{width}": (
           f"the last vector of {width} was filled up with zeros, and they were added up too",
           partial(padded_with_zeros, width)) for width in (4, 8, 16, 32)},
}  # fmt: skip
OP.mutant_table(MUTANTS, by=by_rows)
