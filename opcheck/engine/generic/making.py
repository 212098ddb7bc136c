"""How mistakes are made of right answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.node import Node
from opcheck.engine.mistakes import Mistake
from opcheck.errors import InvalidNode
from opcheck.model import Array

#: Why a mistake about one type is none in the others.
OTHER_TYPE = "the mistake is about another type"
#: Why rounding cannot be mistaken where nothing is rounded.
EXACT = dict.fromkeys(
    ("Hardmax", "DML_ACTIVATION_HARDMAX1"), "its answers are 0 and 1, which every type holds"
)
NEVER_NAN = dict.fromkeys(EXACT, "its answers are 0 and 1, and never NaN")
#: Why nothing about vectors shows.
NO_VECTORS = {"LpPool": "its input has a batch axis and a channel axis before any that is pooled"}


def but(*dtypes_concerned: str) -> dict[str, str]:
    """`harmless` for all floating types but these."""
    floats = [name for name, dtype in dtypes.DTYPES.items() if dtype.kind == "float"]
    return {name: OTHER_TYPE for name in floats if name not in dtypes_concerned}


def of_output(
    name: str, text: str, change: Callable[[Array], Any], harmless: Mapping[str, str] | None = None
) -> Mistake:
    """Something is done to each right output."""

    def answer(node: Node) -> Sequence[Any]:
        right = node.right
        with np.errstate(all="ignore"):
            return [change(out) for out in right]

    return Mistake(name, text, answer, harmless or {})


def of_input(
    name: str,
    text: str,
    change: Callable[[Array], Array],
    harmless: Mapping[str, str] | None = None,
) -> Mistake:
    """The right answer to other inputs."""

    def answer(node: Node) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            inputs = tuple(change(array) for array in node.inputs)
        return replace(node, inputs=inputs).right

    return Mistake(name, text, answer, harmless or {})


def through_float32(node: Node) -> Sequence[Any]:
    """The right answer to the first input in float32, cut down to the type that it came in."""
    first, *others = node.inputs
    with np.errstate(all="ignore"):
        right = replace(node, inputs=(first.astype(np.float32), *others)).right
        return tuple(out.astype(first.dtype) for out in right)


def integers_accepted(node: Node) -> Sequence[Any]:
    """Integers and booleans are computed so; what is of another type is right."""
    return through_float32(node) if node.inputs[0].dtype.kind in "biu" else node.right


def refusing(
    name: str, text: str, when: Callable[[Node], bool], harmless: Mapping[str, str] | None = None
) -> Mistake:
    """The right answer, but for nodes that are refused though they are legal."""

    def answer(node: Node) -> Sequence[Any]:
        if when(node):
            raise InvalidNode(text)
        return node.right

    return Mistake(name, text, answer, harmless or {})


def floating(array: Array) -> dtypes.DType | None:
    """The dtype of `array` if it is a floating one of ours."""
    known = dtypes.of(array)
    return known if known and known.kind == "float" else None
