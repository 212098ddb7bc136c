"""How mutants are made of right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.mutants.mutant import Mutant, Only
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array

#: Every floating type.
FLOATS = tuple(name for name, dtype in dtypes.DTYPES.items() if dtype.kind == "float")
#: Every type of numbers.
REALS = tuple(n for n, d in dtypes.DTYPES.items() if d.kind in ("float", "int"))
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *COMPLEX)


def blank(array: Array) -> Array:
    """Zeros in the shape of `array`, or empty texts."""
    return np.full_like(array, "") if array.dtype.hasobject else np.zeros_like(array)


def of_output(
    name: str,
    text: str,
    change: Callable[[Array], Any],
    only: Only = None,
    **where: Any,
) -> Mutant:
    """Something is done to each right output."""
    return Mutant(name, text, lambda node: [*map(change, node.right)], only=only, **where)


def of_input(name: str, text: str, change: Callable[[Array], Array], only: Only = None) -> Mutant:
    """The right answer to other inputs."""

    def answer(node: Node) -> Sequence[Any]:
        changed = (None if array is None else change(array) for array in node.inputs)
        return replace(node, inputs=tuple(changed)).right

    return Mutant(name, text, answer, only=only)


def computed_in_float32(node: Node) -> Sequence[Any]:
    """The right answer to inputs cast to float32, cast to the type that they came in."""
    lead = node.lead
    assert lead is not None
    own = lead.dtype
    with np.errstate(all="ignore"):
        cast = (
            a.astype(np.float32) if a is not None and a.dtype == own else a for a in node.inputs
        )
        right = replace(node, inputs=tuple(cast)).right
        return tuple(out.astype(own) if out.dtype == np.float32 else out for out in right)


def refusing(name: str, text: str, when: Callable[[Node], bool], **where: Any) -> Mutant:
    """The right answer, but for nodes that are refused though they are legal."""

    def answer(node: Node) -> Sequence[Any]:
        right = node.right
        if when(node):
            raise InvalidNode(text)
        return right

    return Mutant(name, text, answer, **where)


def floating(array: Array) -> dtypes.DType | None:
    """The dtype of `array` if it is a floating one of ours."""
    known = dtypes.of(array)
    return known if known and known.kind == "float" else None
