"""Softmax of what it is not defined for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.generic.making import integers_accepted, through_float32
from opcheck.engine.mistakes import Mistake, Node
from opcheck.errors import InvalidNode
from opcheck.model import Array


def _rank_0_is_a_row(node: Node) -> tuple[Array, ...]:
    (x,) = node.inputs
    if x.ndim:
        return node.right
    (out,) = replace(node, inputs=(x.reshape(1),), attrs={"axis": 0}).right
    return (out.reshape(()),)


def _bfloat16_always(node: Node) -> Sequence[Any]:
    return through_float32(node) if node.dtype == "bfloat16" else node.right


def _each_a_row(node: Node) -> tuple[Array, ...]:
    """1 for each element, where the axis alone is illegal."""
    try:
        return node.right
    except InvalidNode:
        rank = node.inputs[0].ndim
        if not rank or not isinstance(node.attrs.get("axis", 0), int):
            raise
        (out,) = replace(node, attrs={"axis": 0}).right
        return (np.ones_like(out),)


#: Mistakes about what has to be refused.
TYPES: tuple[Mistake, ...] = (
    Mistake(
        "rank_0_is_a_row",
        "a tensor of rank 0 was taken for a row of one element",
        _rank_0_is_a_row,
    ),
    Mistake(
        "bfloat16_always",
        "bfloat16 was accepted, though it came with version 13",
        _bfloat16_always,
        {"13": "version 13 has bfloat16"},
    ),
    Mistake(
        "integers_accepted",
        "integers were accepted, and the shares cut down to them",
        integers_accepted,
    ),
    Mistake(
        "out_of_range_is_no_axis",
        "an axis out of range made a row of every element",
        _each_a_row,
    ),
)
