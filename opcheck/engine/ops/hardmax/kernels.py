"""The versions of Hardmax: which elements make a row."""

from __future__ import annotations

from opcheck.engine.axes import Rows, from_either_end, from_the_front, rows_along, rows_coerced
from opcheck.model import Array


def hardmax_1(input: Array, *, axis: int = 1) -> Rows:
    """Hardmax-1: per row of the input coerced to 2-D; documents no negative axis."""
    return rows_coerced(input.shape, from_the_front(axis, input.ndim))


def hardmax_11(input: Array, *, axis: int = 1) -> Rows:
    """Hardmax-11: per row of the input coerced to 2-D, axis in [-r, r-1]."""
    return rows_coerced(input.shape, from_either_end(axis, input.ndim))


def hardmax_13(input: Array, *, axis: int = -1) -> Rows:
    """Hardmax-13: along one axis, in [-r, r-1]."""
    return rows_along(input.shape, from_either_end(axis, input.ndim))
