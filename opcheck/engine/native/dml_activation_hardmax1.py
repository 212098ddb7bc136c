"""DML_ACTIVATION_HARDMAX1 as Hardmax of the dimensions in another order, fast."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from opcheck.engine.axes import Rows, matrix_of, parts_along
from opcheck.engine.native import each
from opcheck.engine.native.hardmax import over_rows
from opcheck.engine.node import BoundNode
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset import invalid_axes, reduced_last

#: About how many elements are put into another order at a time.
_BLOCK = 1 << 18


def native(bound: BoundNode, input_tensor: Array, *, threads: int = 1) -> tuple[Array]:
    """One at the first maximum of every row, zero elsewhere; same shape and dtype."""
    axes, shape = bound.attrs["Axes"], input_tensor.shape
    if problem := invalid_axes(axes, len(shape)):
        raise InvalidNode(problem)
    order = reduced_last(axes, len(shape))
    kept = len(shape) - len(axes)
    before, length = matrix_of([shape[axis] for axis in order], kept)
    rows = _as_they_lie(shape, order[kept:], length)
    if not input_tensor.size or rows:
        return over_rows(rows or (before, length, 1), input_tensor, threads=threads)
    out = np.empty(shape, input_tensor.dtype.newbyteorder("="))
    x, y = input_tensor.transpose(order), out.transpose(order)

    def work(part: Any) -> None:
        block = x[part]
        (y[part],) = over_rows((block.size // length, length, 1), block)

    each(work, parts_along(range(kept), x.shape[:kept], _BLOCK // length, run=1), threads)
    return (out,)


def _as_they_lie(shape: Sequence[int], reduced: Sequence[int], length: int) -> Rows | None:
    """The rows in the dimensions' own order, unless others lie between the reduced ones."""
    longer = [axis for axis in reduced if shape[axis] > 1] or reduced[:1]
    first, last = longer[0], longer[-1]
    if prod(shape[first : last + 1]) != length:
        return None
    return prod(shape[:first]), length, prod(shape[last + 1 :])
