"""LpPool that takes what its version does not have, or what no version has an answer to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opcheck.engine.generic.making import integers_accepted
from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.lp_pool.axes import Read, planned
from opcheck.engine.ops.lp_pool.mistakes.making import NO_DILATIONS, accepting, sized
from opcheck.errors import InvalidNode

#: The version that brought ceil_mode and dilations, and that which brought bfloat16.
_NEW_ATTRIBUTES, _NEW_TYPE = 18, 22


def _new_attributes(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return node.at(max(node.op.since, _NEW_ATTRIBUTES)).right


def _new_type(node: Node) -> Sequence[Any]:
    return (node.at(_NEW_TYPE) if node.dtype == "bfloat16" else node).right


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
    Mistake(
        "integers_accepted", "integers were taken, and the norms cut off to them", integers_accepted
    ),
    Mistake("p_clamped", "a p that has no norm was taken for 1", accepting(_p_of_1)),
    Mistake(
        "dilated_kernel_not_compared",
        "a dilated kernel larger than the input was accepted, and gave an empty output",
        accepting(_undilated, sized(lambda axis: True, lambda axis: max(0, planned(axis).size))),
        NO_DILATIONS,
    ),
)
