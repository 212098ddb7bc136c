"""Softmax in steps, each of which can be taken wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.axes import coerced_to_2d
from opcheck.engine.axis_mistakes import stated_axis
from opcheck.engine.mistakes import Node
from opcheck.model import Array

Shape: TypeAlias = tuple[int, ...]
#: The input seen as (A, N, B): its rows are the A·B ones along the middle.
Layout: TypeAlias = tuple[int, int, int]
#: The rows, (A·B, N), in the type that is computed in, or one number for each, (A·B, 1).
Matrix: TypeAlias = Any

#: Elements of a vector register.
WIDTHS = (4, 8, 16, 32)


def along(shape: Shape, axis: int) -> Layout:
    """Rows along one axis."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def coerced(shape: Shape, axis: int) -> Layout:
    """The lines of the matrix that the input is coerced to."""
    return (*coerced_to_2d(shape, axis), 1)


def laid_out(since: int, shape: Shape, axis: int) -> Layout:
    """The rows of this version, for an axis counted from the front."""
    return along(shape, axis) if since >= 13 else coerced(shape, axis)


def axis_of(node: Node) -> int:
    """The axis of a legal node, counted from the front."""
    return stated_axis(node) % node.inputs[0].ndim


def wide(x: Array) -> Matrix:
    """In the type that is computed in."""
    return x if x.dtype == np.float64 else x.astype(np.float32)


def maximum(x: Matrix) -> Matrix:
    """Of each row."""
    return x.max(axis=1, keepdims=True)


def total(e: Matrix) -> Matrix:
    """Of each row."""
    return e.sum(axis=1, keepdims=True)


def exponential(d: Matrix) -> Matrix:
    """Of each element."""
    return np.exp(d)


def whole_vectors(matrix: Matrix, width: int) -> Matrix:
    """Without what remains after the last whole vector, if there is one."""
    return matrix[:, : matrix.shape[1] // width * width or matrix.shape[1]]


@dataclass(frozen=True)
class Steps:
    """What is done at each step of Softmax; the defaults are right.

    `layout` says what the rows are, of the version, the shape and the axis; `wide` makes the
    numbers computed with. In each row, `shift` is taken away, `exp` is taken of the rest and
    divided by its `sum`, unless `shares` does it all. `narrow` makes numbers of the output's dtype.
    """

    layout: Callable[[int, Shape, int], Layout] = laid_out
    wide: Callable[[Array], Matrix] = wide
    shift: Callable[[Matrix], Matrix] = maximum
    exp: Callable[[Matrix], Matrix] = exponential
    sum: Callable[[Matrix], Matrix] = total
    shares: Callable[[Steps, Matrix], Matrix] | None = None
    narrow: Callable[[Matrix, np.dtype[Any]], Array] = lambda y, dtype: y.astype(dtype)

    def __call__(self, node: Node) -> tuple[Array]:
        """The output; raises InvalidNode for what the specification forbids."""
        (right,) = node.right
        (x,) = node.inputs
        if not x.size:
            return (right,)
        outer, length, inner = self.layout(node.op.since, x.shape, axis_of(node))
        rows = x.reshape(outer, length, inner).swapaxes(1, 2).reshape(outer * inner, length)
        # A warning of NumPy's would be another mistake than the one meant.
        with np.errstate(all="ignore"):
            matrix = self.wide(rows)
            made = self.shares(self, matrix) if self.shares else self.normalised(matrix)
            y = self.narrow(made, x.dtype)
        return (y.reshape(outer, inner, length).swapaxes(1, 2).reshape(x.shape),)

    def normalised(self, matrix: Matrix) -> Matrix:
        """Exp(x - shift) / sum."""
        e = self.exp(matrix - self.shift(matrix))
        return e / self.sum(e)
