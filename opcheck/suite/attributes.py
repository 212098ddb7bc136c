"""The values of attributes as a case file writes them, in the types that the schema declares."""

from dataclasses import replace
from functools import cache
from math import inf
from typing import Any, cast

from opcheck import dtypes, model, opset
from opcheck.opset import Attribute
from opcheck.reading.validation import shown

#: The Python types of the values of each type of attribute.
_SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "string": (str,)}
_WORDS = {"int": "whole number", "float": "number", "string": "text"}
_LARGEST = dtypes.limits(dtypes.DTYPES["float32"])[1]


def attribute_value(attribute: Attribute, value: Any) -> model.AttrValue:
    """Return `value`, as YAML has it, in the attribute's declared type; lists become tuples.

    Raises ValueError for a value of another type or out of its range, and for attributes that are
    tensors, graphs, types or sparse tensors, which are not written as plain values.
    """
    kind = attribute.type.removesuffix("s")
    if kind == "tensor":
        raise ValueError(f"must be a literal, or {{value: …, dtype: …}}; got {shown(value)}")
    if kind == "graph":
        raise ValueError(f"must be a graph as text; got {shown(value)}")
    if kind not in _SCALARS:
        raise ValueError("holds a type or sparse tensor, which case files cannot write")
    if kind == attribute.type:
        return cast(model.AttrValue, _scalar(kind, value))
    if not isinstance(value, list):
        raise ValueError(f"must be a list, each item a {_WORDS[kind]}; got {shown(value)}")
    return tuple(_scalar(kind, item) for item in value)


def typed_value(attribute: Attribute, value: Any) -> model.AttrValue | model.Typed:
    """Return the value of `{type: value}`: plain if the type is the declared one, else as `Typed`.

    `value` is that mapping. A tensor is stated as a number, or as a list for one of rank 1. Raises
    ValueError unless it has one key, a type of ATTRIBUTE_TYPES, and a value that fits it.
    """
    if len(value) != 1 or not value.keys() <= {*model.ATTRIBUTE_TYPES}:
        kinds = ", ".join(model.ATTRIBUTE_TYPES)
        raise ValueError(f"must be a value, or {{type: value}} with one of {kinds}")
    [(kind, stated)] = value.items()
    if kind == "tensor":
        plain = attribute_value(replace(attribute, type=_type_of_elements(stated)), stated)
        return model.Typed(kind, plain)
    plain = attribute_value(replace(attribute, type=kind), stated)
    return plain if kind == attribute.type else model.Typed(kind, plain)


def _type_of_elements(stated: Any) -> Any:
    """Return "int", "ints", "float" or "floats": how the elements of a tensor are stated.

    A list is of integers if all items are; an empty one is "ints".
    """
    items = stated if isinstance(stated, list) else [stated]
    kind = "int" if all(isinstance(item, int) for item in items) else "float"
    return f"{kind}s" if isinstance(stated, list) else kind


def _scalar(kind: str, value: Any) -> Any:
    """Return a number or text of an attribute, a whole number of a float attribute as a float.

    `kind` is int, float or string. Raises ValueError for another type, true and false among them,
    an integer beyond 64 bits, and a finite number beyond float32.
    """
    fits = isinstance(value, _SCALARS[kind]) and not isinstance(value, bool)
    if not fits:
        raise ValueError(f"must be a {_WORDS[kind]}, got {shown(value)}")
    if kind == "int" and not -(2**63) <= value < 2**63:
        raise ValueError(f"must fit in 64 bits, got {shown(value)}")
    if kind == "float" and _LARGEST < abs(value) < inf:
        raise ValueError(f"must fit in float32, got {shown(value)}")
    return float(value) if kind == "float" else value


@cache
def changed_defaults(op: model.OpVersion, opsets: frozenset[int]) -> tuple[str, ...]:
    """Return the attributes of a version whose default differs between versions.

    Versions are those at `opsets`, if there are any, else all. An attribute that a version lacks
    has no default there to differ. Results are cached.
    """
    versions = opset.versions(op.domain, op.name)
    at_opsets = [opset.describe(op.domain, op.name, number) for number in opsets]
    schemas = [schema for schema in at_opsets if schema] or [*versions.values()]
    changed = []
    for name, attribute in versions[op.since].attributes.items():
        defaults = {
            schema.attributes[name].default for schema in schemas if name in schema.attributes
        }
        if defaults - {attribute.default}:
            changed.append(name)
    return tuple(changed)
