"""What is accepted, refused, or no tensor at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.generic.making import NO_VECTORS, but, floating, refusing
from opcheck.engine.node import Node
from opcheck.engine.mistakes import Mistake
from opcheck.errors import InvalidNode
from opcheck.model import Array


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


def _without_the_attribute(node: Node) -> Sequence[Any]:
    """Without the first attribute that is to blame, if one alone is."""
    try:
        return node.right
    except InvalidNode:
        for name in node.attrs:
            rest = {other: value for other, value in node.attrs.items() if other != name}
            with suppress(InvalidNode):
                return replace(node, attrs=rest).right
        raise


def _has(strange: Callable[[Array], Any]) -> Callable[[Node], bool]:
    """Whether an input has such elements."""
    return lambda node: any(bool(strange(one).any()) for one in node.inputs if floating(one))


def _refused_dtype(name: str) -> Mistake:
    return refusing(
        f"refuses_{name}", f"{name} was not supported", lambda n: n.dtype == name, but(name)
    )


MISTAKES: tuple[Mistake, ...] = (
    Mistake("invalid_is_copied", "an invalid model gave its input back", _whatever),
    Mistake("invalid_is_zero", "an invalid model gave zeros", _zeros_whatever),
    Mistake(
        "invalid_attribute_ignored",
        "an attribute that made the model invalid was ignored",
        _without_the_attribute,
        {"DML_ACTIVATION_HARDMAX1": "its attributes are mandatory"},
    ),
    Mistake("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mistake("no_output", "there was no output", lambda node: []),
    Mistake("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing(
        "refuses_rank_1", "vectors were not supported", lambda n: n.inputs[0].ndim == 1, NO_VECTORS
    ),
    refusing(
        "refuses_rank_5", "more than four axes were not supported", lambda n: n.inputs[0].ndim > 4
    ),
    refusing("refuses_empty", "empty tensors were not supported", lambda n: not n.inputs[0].size),
    refusing("refuses_infinities", "infinities were not supported", _has(np.isinf)),
    refusing("refuses_nan", "NaN was not supported", _has(np.isnan)),
    refusing(
        "refuses_constants",
        "initializers were not supported",
        lambda n: n.constant,
        {"DML_ACTIVATION_HARDMAX1": "DirectML's operators have no initializers"},
    ),
    *(_refused_dtype(name) for name in ("float16", "bfloat16", "float32", "float64")),
)
