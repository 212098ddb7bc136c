"""Attribute values as YAML writes them, to the types that the schema declares."""

from __future__ import annotations

from typing import Any

from opcheck.model import AttrValue
from opcheck.opset import Attribute

_SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "string": (str,)}
_INT64 = range(-(2**63), 2**63)


def attribute_value(attribute: Attribute, value: Any) -> AttrValue:
    """`value` in the attribute's declared type; raises ValueError with what it must be."""
    if attribute.type == "other":
        raise ValueError("holds a tensor, graph or type, which case files cannot write")
    if attribute.type in _SCALARS:
        scalar: AttrValue = _scalar(attribute.type, value)
        return scalar
    if not isinstance(value, list):
        raise ValueError(f"must be a list of {attribute.type}, got {value!r}")
    return tuple(_scalar(attribute.type.removesuffix("s"), item) for item in value)


def _scalar(kind: str, value: Any) -> Any:
    if not isinstance(value, _SCALARS[kind]) or isinstance(value, bool):
        raise ValueError(f"must be of type {kind}, got {value!r}"[:120])
    if kind == "int" and value not in _INT64:
        raise ValueError(f"{value} does not fit in 64 bits")
    return float(value) if kind == "float" else value
