"""Named wrong readings of operators: what a lying backend answers, and what a failing one is told.

A mistake is one that somebody could ship. It serves three times: it names the cause of a failure,
it measures what a suite of cases sees, and it is a lying backend in tests.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import evaluate, operator_of
from opcheck.engine.registry import module_of
from opcheck.errors import InvalidNode
from opcheck.model import Array, Attrs, OpVersion, Typed


@dataclass(frozen=True, eq=False)
class Node:
    """A node with its data: what a mistake is made on.

    `inputs` are in the operator's order, without what is left out; `constant` tells whether one
    of them is an initializer of the model.
    """

    op: OpVersion
    inputs: tuple[Array, ...]
    attrs: Attrs
    constant: bool = False

    @cached_property
    def right(self) -> tuple[Array, ...]:
        """What the engine answers; raises InvalidNode where the specification forbids the node."""
        return evaluate(self.op, self.inputs, self.attrs)

    @property
    def malformed(self) -> bool:
        """True where an attribute has another type than declared, or is not declared at all."""
        return any(isinstance(value, Typed) for value in self.attrs.values())

    @property
    def rank(self) -> int:
        """The rank of the first input."""
        return self.inputs[0].ndim

    def at(self, since: int) -> Node:
        """The same node in another version."""
        return replace(self, op=replace(self.op, since=since))

    @property
    def dtype(self) -> str:
        """The dtype of the first input, by its name."""
        known = dtypes.of(self.inputs[0])
        return known.name if known else str(self.inputs[0].dtype)


#: The outputs that come of a mistake. It raises InvalidNode for what it refuses; what it leaves
#: alone is right, which `Node.right` has.
Answer: TypeAlias = Callable[[Node], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Mistake:
    """One wrong reading.

    `name` is in snake_case. `text` is a sentence without its full stop that a kernel engineer
    recognises, and that fits after "as if": "the last of equal maxima won". `harmless` says where
    no legal input separates it from the right reading, and why: by operator ("Hardmax"), version
    ("13"), both ("Hardmax-13"), dtype ("float32"), or one of the former and a dtype ("13 float32").
    Only mistakes `of_form` are made on malformed nodes, which others refuse.
    """

    name: str
    text: str
    answer: Answer
    harmless: Mapping[str, str] = field(default_factory=dict)
    of_form: bool = False

    def made_on(self, node: Node) -> Sequence[Any] | InvalidNode:
        """What comes of it, or why the node is refused by who makes it."""
        try:
            with np.errstate(all="ignore"):
                return self.answer(node) if self.of_form or not node.malformed else node.right
        except InvalidNode as error:
            return error
        except Exception as error:
            error.add_note(f"in the mistake {self.name}, made on {node.op} {node.attrs}")
            raise

    def why_harmless(self, op: OpVersion, dtype: str | None) -> str | None:
        """The argument that this is no mistake for this version and dtype; None if it is one."""
        places = (op.name, str(op.since), str(op))
        keys = (*places, str(dtype), *(f"{place} {dtype}" for place in places))
        return next((self.harmless[key] for key in keys if key in self.harmless), None)


@cache
def mistakes_of(op: OpVersion) -> tuple[Mistake, ...]:
    """What is wrongly read of this operator, the most specific first, then what is wrong anywhere.

    Empty where the engine does not know the operator.
    """
    operator = operator_of(op)
    if operator is None:
        return ()
    own = importlib.import_module(f"{module_of(operator)}.mistakes").MISTAKES
    generic = importlib.import_module("opcheck.engine.generic")
    return (*own, *generic.MISTAKES, *generic.of_attributes(op))
