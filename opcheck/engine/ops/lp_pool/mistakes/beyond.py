"""LpPool that takes what its version does not have, or what no version has an answer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.lp_pool.axes import Read, planned
from opcheck.engine.ops.lp_pool.mistakes.making import NO_DILATIONS, accepting, sized
from opcheck.errors import InvalidNode

#: The version that brought ceil_mode and dilations, and that which brought bfloat16.
_NEW_ATTRIBUTES, _NEW_TYPE = 18, 22


def _as_version(since: int, node: Node) -> Sequence[Any]:
    return replace(node, op=replace(node.op, since=since)).right


def _new_attributes(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return _as_version(max(node.op.since, _NEW_ATTRIBUTES), node)


def _new_type(node: Node) -> Sequence[Any]:
    return _as_version(_NEW_TYPE, node) if node.dtype == "bfloat16" else node.right


def _integers(node: Node) -> Sequence[Any]:
    (x,) = node.inputs
    if x.dtype.kind not in "biu":
        return node.right
    return [out.astype(x.dtype) for out in replace(node, inputs=(x.astype(np.float32),)).right]


def _p_of_1(attrs: Read, rank: int) -> Read:
    return {**attrs, "p": 1}


def _undilated(attrs: Read, rank: int) -> Read:
    """Without dilations, if nothing is wrong with those themselves."""
    dilations = attrs.get("dilations", ())
    sound = len(dilations) == rank and min(dilations, default=0) > 0
    return {k: v for k, v in attrs.items() if k != "dilations"} if sound else attrs


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "later_attributes_accepted",
        "ceil_mode and dilations were taken before version 18, which brought them",
        _new_attributes,
        dict.fromkeys(("18", "22"), "they have these attributes"),
    ),
    Mistake(
        "later_type_accepted",
        "bfloat16 was taken before version 22, which brought it",
        _new_type,
        {"22": "it has this type"},
    ),
    Mistake("integers_accepted", "integers were taken, and the norms cut off to them", _integers),
    Mistake("p_clamped", "a p that has no norm was taken for 1", accepting(_p_of_1)),
    Mistake(
        "dilated_kernel_not_compared",
        "a dilated kernel larger than the input was accepted, and gave an empty output",
        accepting(_undilated, sized(lambda axis: True, lambda axis: max(0, planned(axis).size))),
        NO_DILATIONS,
    ),
)
