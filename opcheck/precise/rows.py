"""Which elements belong together: rows that run along some of a tensor's axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.precise.answer import Precise, Undecided, exact, reshaped


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


def coerced(x: Array, axis: object, since: int) -> list[int]:
    """The axes of one row where version 1 or 11 coerces `x` to two dimensions.

    "input will be coerced into a 2-dimensional tensor with dimensions [a_0 * … * a_{k-1},
    a_k * … * a_{n-1}]". Version 1 says nothing of negative axes nor where the axes end.
    """
    rank = x.ndim
    if since == 1 and rank and isinstance(axis, int) and (-rank <= axis < 0 or axis == rank):
        raise Undecided(f"version 1 does not say what axis {axis} of a tensor of rank {rank} is")
    return list(range(counted(x, axis), rank))


def counted(x: Array, axis: object) -> int:
    """`axis` as counted from the front: "Accepted range is [-r, r-1] where r = rank(input)"."""
    if not isinstance(axis, int):
        raise InvalidNode(f"axis {axis!r} is no integer")
    if not -x.ndim <= axis < x.ndim:
        place = f"is outside [{-x.ndim}, {x.ndim - 1}]" if x.ndim else "of a tensor of rank 0"
        raise InvalidNode(f"axis {axis} {place}")
    return axis % x.ndim
