"""Wrong answers to small nodes, as evidence."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opcheck.compare.outputs import computed_want
from opcheck.diagnose import Evidence
from opcheck.engine import Node
from opcheck.engine.evaluate import exactly
from opcheck.engine.mutants import Mutant
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

HARDMAX = OpVersion("", "Hardmax", 13)
SOFTMAX = OpVersion("", "Softmax", 13)


def node(op: OpVersion, values: Any, attrs: Mapping[str, Any], dtype: Any = np.float32) -> Node:
    return Node(op, (np.array(values, dtype),), attrs)


def wrong(made_on: Node, got: Any, tolerance: Any = None) -> Evidence:
    """`got`, None for a refusal, where the engine's answer is right."""
    try:
        answers = exactly(made_on)
    except InvalidNode:
        return Evidence(made_on, got, (), tolerance)
    wants = tuple(
        computed_want(made_on.op, f"output_{number}", answer)
        for number, answer in enumerate(answers)
    )
    return Evidence(made_on, got, (wants,), tolerance)


def mutant(answer: Callable[[Node], Any], name: str = "made_up") -> Mutant:
    return Mutant(name, "it was made up", answer)


def refuse(made_on: Node) -> Any:
    raise InvalidNode("never")
