"""The versions of Softmax: which elements make a row.

The text has no maximum in it, and the value does not depend on it; it only keeps e^x within range.
"""

from __future__ import annotations

from opcheck.engine.axes import Rows, from_either_end, from_the_front, rows_along, rows_coerced
from opcheck.model import Array


def softmax_1(input: Array, *, axis: int = 1) -> Rows:
    """Softmax-1: per row of the input coerced to 2-D; documents no negative axis."""
    return rows_coerced(input.shape, from_the_front(axis, input.ndim))


def softmax_11(input: Array, *, axis: int = 1) -> Rows:
    """Softmax-11: per row of the input coerced to 2-D, axis in [-r, r-1]."""
    return rows_coerced(input.shape, from_either_end(axis, input.ndim))


def softmax_13(input: Array, *, axis: int = -1) -> Rows:
    """Softmax-13: along one axis, in [-r, r-1]."""
    return rows_along(input.shape, from_either_end(axis, input.ndim))
