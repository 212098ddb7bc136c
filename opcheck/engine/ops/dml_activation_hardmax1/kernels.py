"""The version of DML_ACTIVATION_HARDMAX1: which elements compete.

The joint index runs over the reduced axes in increasing dimension order, row-major; the first
maximum in that order (DML_AXIS_DIRECTION_INCREASING) gets the one.
"""

from __future__ import annotations

from dataclasses import dataclass

from opcheck.engine.axes import Rows, rows_coerced
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset.directml import invalid_axes, reduced_last


@dataclass(frozen=True)
class JointRows:
    """The dimensions in the order in which the rows of Hardmax lie one after the other."""

    order: tuple[int, ...]
    rows: Rows


def hardmax1(input_tensor: Array, *, Axes: tuple[int, ...]) -> JointRows:
    """Hardmax over `Axes` jointly; unsorted ones, which the text leaves open, count as sorted."""
    rank = input_tensor.ndim
    problem = invalid_axes(Axes, rank)
    if problem:
        raise InvalidNode(problem)
    order = tuple(reduced_last(Axes, rank))
    shape = [input_tensor.shape[axis] for axis in order]
    return JointRows(order, rows_coerced(shape, rank - len(Axes)))
