"""The kernel of DML_ACTIVATION_HARDMAX1.

The joint index runs over the reduced axes in increasing dimension order, row-major; the first
maximum in that order (DML_AXIS_DIRECTION_INCREASING) gets the one.
"""

from __future__ import annotations

import numpy as np

from opcheck.engine.axes import coerced_to_2d
from opcheck.engine.ops.hardmax.kernels import first_maximum
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset.directml import invalid_axes, reduced_last


def hardmax1(input_tensor: Array, *, Axes: tuple[int, ...]) -> tuple[Array]:
    """Hardmax over `Axes` jointly; unsorted ones, which the text leaves open, count as sorted."""
    rank = input_tensor.ndim
    problem = invalid_axes(Axes, rank)
    if problem:
        raise InvalidNode(problem)
    order = reduced_last(Axes, rank)
    moved = input_tensor.transpose(order)
    ones = first_maximum(moved.reshape(coerced_to_2d(moved.shape, rank - len(Axes))), axis=1)
    return (np.ascontiguousarray(ones.reshape(moved.shape).transpose(np.argsort(order))),)
