"""Softmax that forgets the rules of NaN and -inf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.softmax.steps import Matrix, Steps, maximum, wide
from opcheck.model import Array


def _masked_by(value: float) -> Steps:
    """A number in place of -inf."""

    def masked(x: Array) -> Matrix:
        matrix = wide(x)
        return np.where(np.isneginf(matrix), matrix.dtype.type(value), matrix)

    return Steps(wide=masked)


def _nan_skipped(steps: Steps, x: Matrix) -> Matrix:
    e = np.exp(x - np.fmax.reduce(x, axis=1, keepdims=True))
    return e / np.nansum(e, axis=1, keepdims=True)


def _nan_masked(steps: Steps, x: Matrix) -> Matrix:
    nan = np.isnan(x)
    y = steps.normalised(np.where(nan, x.dtype.type(-np.inf), x))
    return np.where(nan, x.dtype.type(0), y)


def _nan_alone(steps: Steps, x: Matrix) -> Matrix:
    nan = np.isnan(x)
    y = np.where(nan.any(axis=1, keepdims=True), x.dtype.type(0), steps.normalised(x))
    return np.where(nan, x, y)


def _nan_in_every_row(steps: Steps, x: Matrix) -> Matrix:
    y = steps.normalised(x)
    return np.full_like(y, np.nan) if np.isnan(x).any() else y


def _row_of_minus_infinity(share: Callable[[int], float]) -> Steps:
    """What each of so many elements gets where all of a row are -inf."""

    def shares(steps: Steps, x: Matrix) -> Matrix:
        y = steps.normalised(x)
        return np.where(np.isneginf(maximum(x)), y.dtype.type(share(x.shape[1])), y)

    return Steps(shares=shares)


#: Mistakes about what is no finite number.
INFINITIES: tuple[Mistake, ...] = (
    Mistake(
        "no_share_in_a_masked_row",
        "a row of -inf alone got no share",
        _row_of_minus_infinity(lambda length: 0.0),
    ),
    Mistake(
        "equal_shares_in_a_masked_row",
        "a row of -inf alone got equal shares",
        _row_of_minus_infinity(lambda length: 1 / length),
    ),
    Mistake(
        "mask_of_minus_1e9",
        "-inf was taken for -1e9",
        _masked_by(-1e9),
        {"float16": "it shows in a row of -inf alone, where NaN is no more than `should`"},
    ),
    Mistake(
        "mask_of_minus_1e4",
        "-inf was taken for -1e4",
        _masked_by(-1e4),
    ),
    Mistake(
        "nan_in_every_row",
        "one NaN made NaN of all rows",
        Steps(shares=_nan_in_every_row),
    ),
    Mistake(
        "nan_alone",
        "NaN stayed where it was, and made 0 of the other elements of its row",
        Steps(shares=_nan_alone),
    ),
    Mistake("nan_masked", "NaN was taken for -inf, and got no share", Steps(shares=_nan_masked)),
    Mistake(
        "nan_skipped",
        "NaN was left out of the maximum and the sum, and stayed where it was",
        Steps(shares=_nan_skipped),
    ),
    Mistake(
        "minus_infinity_is_nan",
        "-inf was taken for NaN",
        _masked_by(np.nan),
    ),
)
