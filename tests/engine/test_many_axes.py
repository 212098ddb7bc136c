"""Tensors of as many axes as NumPy has, or more: computed, or unsupported by the engine."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.engine.evaluate import each_answer, evaluate
from opcheck.errors import NotSupported
from opcheck.model import Array, Attrs, OpVersion

#: NumPy's limit.
MOST = 64
INDEX = np.array([0])


def of_ones(axes: int, dtype: Any = np.float32) -> Array:
    return np.ones((1,) * axes, dtype)


def node(name: str, since: int, inputs: tuple[Array, ...], attrs: Attrs) -> Node:
    return Node(OpVersion("", name, since), inputs, attrs)


@pytest.mark.parametrize(
    "made",
    [
        node("Unsqueeze", 13, (of_ones(MOST), INDEX), {}),
        node("Unsqueeze", 13, (of_ones(MOST, np.int8), INDEX), {}),
        node("Reshape", 14, (of_ones(2), np.ones(MOST + 1, np.int64)), {}),
        node("Expand", 13, (of_ones(2), np.ones(MOST + 1, np.int64)), {}),
        node("ConstantOfShape", 9, (np.ones(MOST + 1, np.int64),), {}),
        node("ReduceSum", 13, (of_ones(MOST),), {"keepdims": 0}),
        node("TopK", 11, (of_ones(MOST), INDEX + 1), {"axis": 0}),
        node("Resize", 19, (of_ones(MOST), *[np.float32([])] * 2, np.ones(MOST, np.int64)), {}),
        node("StringSplit", 20, (np.full((1,) * MOST, "a b", object),), {"delimiter": " "}),
        node("GlobalLpPool", 2, (of_ones(MOST),), {"p": 2}),
        node("Gather", 13, (of_ones(40), of_ones(40, np.int64) * 0), {"axis": 0}),
        node("ConcatFromSequence", 11, (of_ones(MOST),), {"axis": 0, "new_axis": 1}),
    ],
    ids=lambda made: made.op.name,
)
def test_more_axes_than_numpy_has_are_unsupported(made: Node) -> None:
    with pytest.raises(NotSupported):
        each_answer(made)


@pytest.mark.parametrize(
    "made",
    [
        node("Neg", 13, (of_ones(MOST),), {}),
        node("Transpose", 13, (of_ones(MOST),), {}),
        node("Squeeze", 13, (of_ones(MOST), INDEX), {}),
        node("Reshape", 14, (of_ones(2), np.ones(MOST, np.int64)), {}),
        node("ReduceMax", 13, (of_ones(MOST),), {}),
    ],
    ids=lambda made: made.op.name,
)
def test_as_many_axes_as_numpy_has_are_computed_without_bounds(made: Node) -> None:
    (output,) = evaluate(made)
    assert output.size == 1
