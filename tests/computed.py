from collections.abc import Sequence
from typing import Any

import numpy as np

from opcheck.engine import Drawn, Expected, Node, rounded
from opcheck.engine.evaluate import each_answer, exactly as exactly_node
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode
from opcheck.model import Array, Attrs, OpVersion


def exactly(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array | Expected | Drawn, ...]:
    """The first `outputs` outputs of `op` on `inputs`, or all, unrounded and with error bounds."""
    return exactly_node(Node(op, tuple(inputs), attrs, None if outputs is None else range(outputs)))


def evaluate(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array, ...]:
    """The same outputs, each value rounded once to its type."""
    return tuple(map(rounded, exactly(op, inputs, attrs, outputs)))


def by_reading(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> dict[str, tuple[Array, ...] | None]:
    """The outputs by the names of the readings that they follow; None for a refusal."""
    asked = None if outputs is None else range(outputs)
    answers = each_answer(Node(op, tuple(inputs), attrs, asked))
    return {
        ", ".join(one.chosen.values()): None
        if isinstance(one.answer, InvalidNode)
        else tuple(map(rounded, one.answer))
        for one in answers
    }


def first_outputs(node: Node) -> list[Any]:
    """The first output of each answer that is judged, as a list; None for a refusal.

    An element that may be anything is None.
    """
    with judging():
        answers = each_answer(node)
    return [
        None
        if isinstance(one.answer, InvalidNode)
        else np.where(one.undefined.get(0, False), None, rounded(one.answer[0])).tolist()
        for one in answers
    ]
