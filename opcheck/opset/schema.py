"""An operator's specification: its text, attributes, inputs, outputs, types.

A variadic parameter `data` is written as data_0, data_1 … in case files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from opcheck.model import AttrValue, OpVersion

#: "other" is a graph, a type or a sparse tensor.
AttrType: TypeAlias = Literal[
    "int", "float", "string", "tensor", "ints", "floats", "strings", "tensors", "other"
]


@dataclass(frozen=True)
class Attribute:
    """An attribute as the schema declares it; `default` is None where the text states none."""

    name: str
    type: AttrType
    required: bool
    default: AttrValue | None
    description: str = ""


@dataclass(frozen=True)
class Parameter:
    """An input or output.

    `types` are ONNX's type texts, such as "tensor(float)". `constraint` is the type variable that
    they bind, or a type itself. A variadic parameter takes `least` tensors or more; where it is
    not `homogeneous`, each may be of another type.
    """

    name: str
    constraint: str
    types: frozenset[str]
    option: Literal["single", "optional", "variadic"]
    description: str = ""
    least: int = 1
    homogeneous: bool = True

    @property
    def stem(self) -> str:
        """The name of a variadic parameter, to which a number is added; schemas add 0, or dots."""
        return self.name.removesuffix("_0").removesuffix("...")


@dataclass(frozen=True)
class Schema:
    """One operator at one version.

    `doc` is the operator's text, `constraints` describe its type variables. `bodies` are the opsets
    for which the specification states the operator as a function of others. `infers_shapes`: onnx
    can tell the outputs' shapes.
    """

    op: OpVersion
    attributes: Mapping[str, Attribute]
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    deprecated: bool = False
    doc: str = ""
    constraints: Mapping[str, str] | None = None
    bodies: tuple[int, ...] = ()
    infers_shapes: bool = True

    @cached_property
    def lead(self) -> int:
        """The place of the first input that may be of several types, which kernels differ by."""
        return next((n for n, p in enumerate(self.inputs) if len(p.types) > 1), 0)

    @property
    def by_value(self) -> bool:
        """True if the output is of the type of an attribute `value`, which is a tensor."""
        return "value" in self.attributes and self.attributes["value"].type == "tensor"

    @cached_property
    def typed(self) -> Parameter:
        """The parameter whose type is that of a case: the leading input, or else an output."""
        return (*self.inputs[self.lead :][: not self.by_value], *self.outputs)[0]


@dataclass(frozen=True)
class AttributeReference:
    """An attribute of a body's node that is the function's own attribute of this name."""

    name: str


@dataclass(frozen=True, eq=False)
class BodyNode:
    """A node of a function body; its inputs and outputs are names, "" where one is left out."""

    op: OpVersion
    attrs: Mapping[str, AttrValue | AttributeReference | Body]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Body:
    """An operator as a graph of others: a function body, or a subgraph in an attribute."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[BodyNode, ...]


def place(parameters: Sequence[Parameter], name: str) -> tuple[int, int] | None:
    """Return the parameter that `name` means, and its tensor's number; None if none."""
    for number, parameter in enumerate(parameters):
        if parameter.option != "variadic":
            if name == parameter.name:
                return number, 0
            continue
        stem, _, count = name.rpartition("_")
        if stem == parameter.stem and re.fullmatch("0|[1-9][0-9]{0,3}", count):
            return number, int(count)
    return None


def name_at(parameters: Sequence[Parameter], number: int) -> tuple[str, Parameter]:
    """The tensor's name at a place of the node, and its parameter; raises ValueError if none."""
    for before, parameter in enumerate(parameters):
        if parameter.option == "variadic":
            return f"{parameter.stem}_{number - before}", parameter
        if before == number:
            return parameter.name, parameter
    raise ValueError(f"the operator has {len(parameters)}, and no number {number}")


def spelt(parameters: Iterable[Parameter]) -> list[str]:
    """The names a case file may use, for messages."""
    return [f"{p.stem}_0" if p.option == "variadic" else p.name for p in parameters]


def missing(parameters: Sequence[Parameter], names: Iterable[str]) -> Iterator[str]:
    """Yield mandatory parameters missing in `names`; a variadic one needs tensors from 0 on."""
    found = [place(parameters, name) for name in names]
    for number, parameter in enumerate(parameters):
        counts = sorted(place[1] for place in found if place and place[0] == number)
        if parameter.option == "single" and not counts:
            yield parameter.name
        elif parameter.option == "variadic" and counts != list(range(max(len(counts), 1))):
            gap = next(k for k in range(len(counts) + 1) if k not in counts)
            yield f"{parameter.stem}_{gap}"


def slots(parameters: Sequence[Parameter], names: Iterable[str]) -> tuple[str, ...]:
    """The names in the operator's order, "" for one left out before the last."""
    places = sorted((at, name) for name in names if (at := place(parameters, name)))
    ordered: list[str] = []
    for number, parameter in enumerate(parameters):
        tensors = [name for at, name in places if at[0] == number]
        ordered += tensors or ([""] if parameter.option != "variadic" else [])
    while ordered and not ordered[-1]:
        ordered.pop()
    return tuple(ordered)
