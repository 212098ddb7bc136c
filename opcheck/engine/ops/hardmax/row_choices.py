"""Choices in which the rows disturb each other, or some are left out."""

from __future__ import annotations

import numpy as np

from opcheck.engine.ops.hardmax.choices import Choice, Mask, Matrix, top, where


def first_row_only(m: Matrix) -> Mask:
    """The other rows stay empty."""
    return where((np.arange(len(m)) == 0)[:, None], m)


def of_rows_before(limit: int) -> Choice:
    """The rows from `limit` on stay empty."""
    return lambda m: where((np.arange(len(m)) < limit)[:, None], m)


def last_row_missing(m: Matrix) -> Mask:
    """The last row stays empty."""
    return where((np.arange(len(m)) < len(m) - 1)[:, None], m)


def carried_over(m: Matrix) -> Mask:
    """The running maximum does not start anew, so that only what exceeds it is found."""
    tops = top(m)[:, 0]
    before = np.concatenate([[-np.inf], np.fmax.accumulate(tops)[:-1]])
    fresh = ~(tops <= before)
    fresh[0] = True
    return where(fresh[:, None], m)


def global_maximum(m: Matrix) -> Mask:
    """Only rows that hold the largest value of all have a one."""
    return where(~(top(m) < np.fmax.reduce(m, axis=None)), m)
