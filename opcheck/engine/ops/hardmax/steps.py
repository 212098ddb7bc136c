"""Hardmax in steps, each of which can be taken wrongly.

Every version, and DirectML's operator, is a matter of which axes compete for a one: their elements
make up a row, the first of those axes outermost, and each row has its one at its first maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.engine.axes import from_either_end, from_the_front
from opcheck.engine.axis_mistakes import stated_axis
from opcheck.engine.mistakes import Node
from opcheck.engine.ops.hardmax.choices import Choice, Mask, Matrix, first
from opcheck.engine.registry import FLOATS
from opcheck.errors import InvalidNode
from opcheck.model import Array

Axes: TypeAlias = tuple[int, ...]


def numbers(matrix: Array) -> Matrix:
    """What is compared: NumPy is slow with types of 16 bits, and float32 holds their values."""
    return matrix.astype(np.float32) if matrix.dtype.itemsize == 2 else matrix


def rows_apart(x: Array, order: Axes) -> Array:
    """The axes in this order, those that compete last."""
    return x.transpose(order)


def rows_back(ones: Mask, order: Axes) -> Mask:
    """The axes in their own order again."""
    return ones.transpose(np.argsort(order))


def as_numbers(ones: Mask, x: Array) -> Array:
    """Ones and zeros of the input's type."""
    # NumPy is slow to cast to types of 16 bits.
    short = x.dtype.itemsize == 2
    made = (ones * np.array(1, x.dtype).view(np.uint16)) if short else ones.astype(x.dtype)
    out: Array = made.view(x.dtype)
    return out


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What is done at each step; calling it answers a node.

    `dtype` refuses types, and `axes` the node's axes, which it else counts from the front. Of the
    node and them, `competing` makes the axes whose elements compete for a one. `apart` moves
    these to the end, so that the rows are those of a matrix, and `back` undoes that. `values` are
    compared, `choose` puts the ones, and `written` makes them the output, of the input's shape.
    """

    dtype: Callable[[Node], None]
    axes: Callable[[Node], Axes]
    competing: Callable[[Node, Axes], Axes]
    apart: Callable[[Array, Axes], Array] = rows_apart
    values: Callable[[Array], Matrix] = numbers
    choose: Choice = first
    back: Callable[[Mask, Axes], Mask] = rows_back
    written: Callable[[Mask, Array], Array] = as_numbers

    def __call__(self, node: Node) -> tuple[Array]:
        """The output; raises InvalidNode for what is refused."""
        self.dtype(node)
        x = node.inputs[0]
        competing = self.competing(node, self.axes(node))
        if not x.size:
            return (self.written(np.zeros(x.shape, np.bool_), x),)
        kept = [axis for axis in range(x.ndim) if axis not in competing]
        order = (*kept, *competing)
        # A warning of NumPy's would be another mistake than the one meant.
        with np.errstate(all="ignore"):
            apart = self.apart(x, order)
            matrix = apart.reshape(prod(apart.shape[: len(kept)]), -1)
            ones = self.choose(self.values(matrix)).reshape(apart.shape)
            return (self.written(self.back(ones, order).reshape(x.shape), x),)


def _dtype(node: Node) -> None:
    if node.dtype not in FLOATS and (node.dtype, node.op.since) != ("bfloat16", 13):
        raise InvalidNode(f"input of type {node.dtype}")


def _axes(node: Node) -> Axes:
    counted = from_the_front if node.op.since == 1 else from_either_end
    return (counted(stated_axis(node), node.inputs[0].ndim),)


def coerced(node: Node, axes: Axes) -> Axes:
    """All axes from the first of `axes` on."""
    return tuple(range(axes[0], node.inputs[0].ndim))


def _competing(node: Node, axes: Axes) -> Axes:
    return axes if node.op.since == 13 else coerced(node, axes)


#: Hardmax as it is meant.
RIGHT = Steps(dtype=_dtype, axes=_axes, competing=_competing)
