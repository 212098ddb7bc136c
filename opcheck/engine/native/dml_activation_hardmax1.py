"""DML_ACTIVATION_HARDMAX1 as Hardmax of the dimensions in another order, fast."""

from collections.abc import Sequence
from math import prod

import numpy as np

from opcheck.engine.axes import Rows, matrix_of, parts_along
from opcheck.engine.native import each
from opcheck.engine.native.hardmax import joined_places, over_rows
from opcheck.engine.node import BoundNode
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset import invalid_axes, reduced_last

#: About how many elements are put into another order at a time.
_BLOCK = 1 << 18
#: The most rows side by side that are read together.
_BESIDE = 64


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
    # Rows that do not end the shape lie side by side in memory, and are best read together.
    beside = _BESIDE if order[-1] < len(shape) - 1 else 1
    is_long = length * beside > _BLOCK
    new, work = (np.zeros, _long_rows) if is_long else (np.empty, _whole_rows)
    number = beside if is_long else _BLOCK // length
    out = new(shape, input_tensor.dtype.newbyteorder("="))
    x, y = input_tensor.transpose(order), out.transpose(order)
    parts = parts_along(range(kept), x.shape[:kept], number, run=1)
    each(lambda part: work(x[part], y[part], kept), parts, threads)
    return (out,)


def _whole_rows(x: Array, y: Array, kept: int) -> None:
    """Answer a block into `y`, whose rows are all of its dimensions but the first `kept`."""
    number = prod(x.shape[:kept])
    (y[...],) = over_rows((number, x.size // number, 1), x)


def _long_rows(x: Array, y: Array, kept: int) -> None:
    """Handle rows that are too long for a copy, into zeros."""
    before, row = x.shape[:kept], x.shape[kept:]
    number = prod(before)
    parts = parts_along(range(len(row)), row, max(1, _BLOCK // number), run=1)
    pieces = (x[(slice(None),) * kept + part] for part in parts)
    native = (piece.astype(y.dtype, copy=False).reshape(number, -1) for piece in pieces)
    places = joined_places(native).reshape(number)
    y[(*np.unravel_index(np.arange(number), before), *np.unravel_index(places, row))] = 1


def _as_they_lie(shape: Sequence[int], reduced: Sequence[int], length: int) -> Rows | None:
    """The rows in the dimensions' own order, unless others lie between the reduced ones."""
    longer = [axis for axis in reduced if shape[axis] > 1] or reduced[:1]
    first, last = longer[0], longer[-1]
    if prod(shape[first : last + 1]) != length:
        return None
    return prod(shape[:first]), length, prod(shape[last + 1 :])
