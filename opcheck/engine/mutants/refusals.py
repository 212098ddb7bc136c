"""What is accepted, refused, or no tensor at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mutants.making import floating, refusing
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array


def _whatever(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return [node.given[0].copy()]


def _zeros_whatever(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return [np.zeros_like(node.given[0])]


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
    return lambda node: any(bool(strange(one).any()) for one in node.given if floating(one))


def _refused_dtype(name: str) -> Mutant:
    return refusing(
        f"refuses_{name}", f"{name} was not supported", lambda n: n.dtype == name, (name,)
    )


MUTANTS: tuple[Mutant, ...] = (
    Mutant("invalid_is_copied", "an invalid model gave its input back", _whatever),
    Mutant("invalid_is_zero", "an invalid model gave zeros", _zeros_whatever),
    Mutant(
        "invalid_attribute_ignored",
        "an attribute that made the model invalid was ignored",
        _without_the_attribute,
    ),
    Mutant("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mutant("no_output", "there was no output", lambda node: []),
    Mutant("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing("refuses_rank_1", "vectors were not supported", lambda n: n.rank == 1),
    refusing("refuses_rank_5", "more than four axes were not supported", lambda n: n.rank > 4),
    refusing("refuses_empty", "empty tensors were not supported", lambda n: not n.given[0].size),
    refusing("refuses_infinities", "infinities were not supported", _has(np.isinf)),
    refusing("refuses_nan", "NaN was not supported", _has(np.isnan)),
    refusing(
        "refuses_constants",
        "initializers were not supported",
        lambda n: n.constant,
    ),
    *(_refused_dtype(name) for name in ("float16", "bfloat16", "float32", "float64")),
)
