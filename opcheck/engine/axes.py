"""Axis arithmetic shared by the operators: ranges, negative axes, coercion to two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from opcheck.errors import InvalidNode

#: A tensor seen as (outer, length, inner): its rows run along the axis in the middle.
Rows: TypeAlias = tuple[int, int, int]


def from_either_end(axis: int, rank: int) -> int:
    """`axis` counted from the front: "Accepted range is [-r, r-1] where r = rank(input)"."""
    if not -rank <= axis < rank:
        raise InvalidNode(f"axis {axis} is outside {_range(-rank, rank)}")
    return axis % rank


def from_the_front(axis: int, rank: int) -> int:
    """`axis` where the text documents no negative values: in [0, r-1]."""
    if not 0 <= axis < rank:
        raise InvalidNode(f"axis {axis} is outside {_range(0, rank)}")
    return axis


def matrix_of(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """The matrix [a_0 * … * a_{k-1}, a_k * … * a_{n-1}] that versions 1 and 11 work on."""
    return prod(shape[:axis]), prod(shape[axis:])


def rows_along(shape: Sequence[int], axis: int) -> Rows:
    """Each row runs along one axis, as in version 13."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def rows_coerced(shape: Sequence[int], axis: int) -> Rows:
    """Each row is one of the matrix to which versions 1 and 11 coerce their input."""
    return (*matrix_of(shape, axis), 1)


def _range(low: int, end: int) -> str:
    return f"[{low}, {end - 1}]" if low < end else f"the empty range of a rank-{end} tensor"
