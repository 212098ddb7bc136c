"""Which elements belong together: rows that run along some of a tensor's axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.precise.answer import Precise, Undecided, exact, reshaped
from opcheck.precise.registry import Version


def along(x: Array, axes: Sequence[int], compute: Callable[[Array], Precise]) -> Precise:
    """`compute` of the rows of `x`, in its shape.

    A row holds what differs in `axes` only, the last of them running fastest. `compute` is given
    them as a matrix with one element or more, and keeps its shape.
    """
    if x.size == 0:
        return exact(np.empty(x.shape, x.dtype))
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    turned = x.transpose(order)
    length = math.prod(x.shape[axis] for axis in axes)
    back = sorted(range(x.ndim), key=order.__getitem__)
    answer = compute(turned.reshape(-1, length))
    return reshaped(answer, lambda a: a.reshape(turned.shape).transpose(back))


def versions(compute: Callable[[Array], Precise]) -> Mapping[int, Version]:
    """Versions 1, 11 and 13 of an operator that does `compute` to rows of floating numbers.

    Up to 11 the input is coerced to a matrix of rows, since 13 a row runs along one axis.
    """

    def version_1(x: Array, *, axis: int = 1) -> Precise:
        return along(x, _coerced(x, axis, since=1), compute)

    def version_11(x: Array, *, axis: int = 1) -> Precise:
        return along(x, _coerced(x, axis, since=11), compute)

    def version_13(x: Array, *, axis: int = -1) -> Precise:
        return along(x, [_counted(x, axis)], compute)

    floats = ("float16", "float32", "float64")
    return {
        1: Version(floats, version_1),
        11: Version(floats, version_11),
        13: Version((*floats, "bfloat16"), version_13),
    }


def _coerced(x: Array, axis: object, since: int) -> list[int]:
    """The axes of one row where version 1 or 11 coerces `x` to two dimensions.

    "input will be coerced into a 2-dimensional tensor with dimensions [a_0 * … * a_{k-1},
    a_k * … * a_{n-1}]". Version 1 says nothing of negative axes nor where the axes end.
    """
    rank = x.ndim
    if since == 1 and rank and isinstance(axis, int) and (-rank <= axis < 0 or axis == rank):
        raise Undecided(f"version 1 does not say what axis {axis} of a tensor of rank {rank} is")
    return list(range(_counted(x, axis), rank))


def _counted(x: Array, axis: object) -> int:
    """`axis` as counted from the front: "Accepted range is [-r, r-1] where r = rank(input)"."""
    if not isinstance(axis, int):
        raise InvalidNode(f"axis {axis!r} is no integer")
    if not -x.ndim <= axis < x.ndim:
        place = f"is outside [{-x.ndim}, {x.ndim - 1}]" if x.ndim else "of a tensor of rank 0"
        raise InvalidNode(f"axis {axis} {place}")
    return axis % x.ndim
