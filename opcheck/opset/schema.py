"""What a specification declares of an operator: attributes, inputs, outputs, types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opcheck.model import AttrValue, OpVersion

AttrType: TypeAlias = Literal["int", "float", "string", "ints", "floats", "strings", "other"]


@dataclass(frozen=True)
class Attribute:
    """An attribute as the schema declares it; `default` is None where the text states none."""

    name: str
    type: AttrType
    required: bool
    default: AttrValue | None


@dataclass(frozen=True)
class Parameter:
    """An input or output; `types` are ONNX type texts, `constraint` the variable they bind."""

    name: str
    constraint: str
    types: frozenset[str]
    option: Literal["single", "optional", "variadic"]


@dataclass(frozen=True)
class Schema:
    """One operator at one version."""

    op: OpVersion
    attributes: Mapping[str, Attribute]
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    deprecated: bool = False
