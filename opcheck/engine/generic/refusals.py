"""What is accepted, refused, or no tensor at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opcheck.engine.generic.making import but, floating, refusing
from opcheck.engine.mistakes import Mistake, Node
from opcheck.errors import InvalidNode


def _whatever(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return [node.inputs[0].copy()]


def _zeros_whatever(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return [np.zeros_like(node.inputs[0])]


def _has_infinities(node: Node) -> bool:
    floats = [array for array in node.inputs if floating(array)]
    return any(bool(np.isinf(array.astype(np.float64)).any()) for array in floats)


def _refused_dtype(name: str) -> Mistake:
    return refusing(
        f"refuses_{name}", f"{name} was not supported", lambda n: n.dtype == name, but(name)
    )


MISTAKES: tuple[Mistake, ...] = (
    Mistake("invalid_is_copied", "an invalid model gave its input back", _whatever),
    Mistake("invalid_is_zero", "an invalid model gave zeros", _zeros_whatever),
    Mistake("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mistake("no_output", "there was no output", lambda node: []),
    Mistake("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing("refuses_rank_1", "vectors were not supported", lambda n: n.inputs[0].ndim == 1),
    refusing(
        "refuses_rank_5", "more than four axes were not supported", lambda n: n.inputs[0].ndim > 4
    ),
    refusing("refuses_empty", "empty tensors were not supported", lambda n: not n.inputs[0].size),
    refusing("refuses_infinities", "infinities were not supported", _has_infinities),
    refusing("refuses_constants", "initializers were not supported", lambda n: n.constant),
    *(_refused_dtype(name) for name in ("float16", "bfloat16", "float32", "float64")),
)
