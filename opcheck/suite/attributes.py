"""Attributes as a case writes them, to the types that the schema declares."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opcheck import dtypes, opset
from opcheck.errors import did_you_mean
from opcheck.model import ATTRIBUTE_TYPES, AttrValue, Typed
from opcheck.opset import Attribute, Schema
from opcheck.reading import quoted
from opcheck.reading.form import shown

if TYPE_CHECKING:
    from opcheck.suite.resolve import Resolver

_SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "string": (str,)}
_WORDS = {"int": "whole number", "float": "number", "string": "text"}
_LARGEST = dtypes.limits(dtypes.DTYPES["float32"])[1]


def resolve(resolver: Resolver, schema: Schema) -> dict[str, AttrValue | Typed]:
    """The attributes of a case; problems are reported through `resolver`."""
    stated = resolver.fields.attrs or {}
    unknown: list[str] = []
    found: dict[str, AttrValue | Typed] = {}
    for name, value in stated.items():
        attribute = schema.attributes.get(name)
        if attribute is None and (resolver.may_be_illegal or value is None):
            attribute = opset.attribute(schema.op, name)
        typed = resolver.may_be_illegal and isinstance(value, dict)
        if typed:
            attribute = attribute or Attribute(name, "other", False, None)
        if value is None and not resolver.needs_answer:
            continue  # A legal twin leaves out what is illegal.
        if attribute is None:
            unknown.append(name)
            has = f"has: {', '.join(schema.attributes) or 'none'}"
            message = f"{quoted(name)} is no attribute of {schema.op} ({has})"
            hint = did_you_mean(name, schema.attributes)
            resolver.problem(resolver.at("attrs", name), message, hint)
        elif value is not None:
            try:
                found[name] = (typed_value if typed else attribute_value)(attribute, value)
            except ValueError as error:
                resolver.problem(resolver.node.at(("attrs", name)), f"attribute {name} {error}")
    changed = {*changed_defaults(schema, resolver.file.opsets)}
    for name, attribute in schema.attributes.items():
        if any(did_you_mean(word, [name]) for word in unknown):
            continue
        if attribute.required and stated.get(name) is None and not resolver.may_be_illegal:
            resolver.lacking(resolver.node.mark, f"{schema.op} needs attribute {name!r}")
        elif name not in stated and name in changed:
            message = f"attrs.{name} must be stated: its default differs between the case's opsets"
            hint = f"attrs: {{{name}: null}} leaves it out"
            resolver.lacking(resolver.node.mark, message, hint)
    return found


def attribute_value(attribute: Attribute, value: Any) -> AttrValue:
    """`value` in the attribute's declared type; raises ValueError with what it must be."""
    if attribute.type == "other":
        raise ValueError("holds a tensor, graph or type, which case files cannot write")
    if attribute.type in _SCALARS:
        scalar: AttrValue = _scalar(attribute.type, value)
        return scalar
    kind = attribute.type.removesuffix("s")
    if not isinstance(value, list):
        raise ValueError(f"must be a list, each item a {_WORDS[kind]}; got {shown(value)}")
    return tuple(_scalar(kind, item) for item in value)


def typed_value(attribute: Attribute, value: Mapping[str, Any]) -> AttrValue | Typed:
    """The value of `{type: value}`; raises ValueError with what it must be."""
    if len(value) != 1 or not value.keys() <= {*ATTRIBUTE_TYPES}:
        kinds = ", ".join(ATTRIBUTE_TYPES)
        raise ValueError(f"must be a value, or {{type: value}} with one of {kinds}")
    [(kind, stated)] = value.items()
    items = stated if isinstance(stated, list) else [stated]
    held: Any = kind
    if kind == "tensor":
        whole = all(isinstance(item, int) for item in items)
        held = f"{'int' if whole else 'float'}{'s' if items is stated else ''}"
    plain = attribute_value(replace(attribute, type=held), stated)
    return plain if kind == attribute.type else Typed(kind, plain)


def _scalar(kind: str, value: Any) -> Any:
    fits = isinstance(value, _SCALARS[kind]) and not isinstance(value, bool)
    if not fits:
        raise ValueError(f"must be a {_WORDS[kind]}, got {shown(value)}")
    if kind == "int" and not -(2**63) <= value < 2**63:
        raise ValueError(f"must fit in 64 bits, got {shown(value)}")
    if kind != "float":
        return value
    finite = isinstance(value, int) or math.isfinite(value)
    if finite and not -_LARGEST <= value <= _LARGEST:
        raise ValueError(f"must fit in float32, got {shown(value)}")
    return float(value)


def changed_defaults(schema: Schema, opsets: Collection[int] = ()) -> Iterator[str]:
    """Yield the attributes whose default differs between versions, of those `opsets` if given."""
    domain, operator = schema.op.domain, schema.op.name
    others = [opset.describe(domain, operator, number) for number in opsets]
    schemas = [*filter(None, others)] or opset.versions(domain, operator).values()
    for name, attribute in schema.attributes.items():
        defaults = {o.attributes[name].default for o in schemas if name in o.attributes}
        if defaults - {attribute.default}:
            yield name
