"""ONNX's operators, read from `onnx.defs`: nothing about them is listed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnx import AttributeProto, defs, helper

from opcheck.model import AttrValue, OpVersion
from opcheck.opset.schema import Attribute, AttrType, Parameter, Schema

_TYPES: dict[Any, AttrType] = {
    AttributeProto.INT: "int",
    AttributeProto.FLOAT: "float",
    AttributeProto.STRING: "string",
    AttributeProto.INTS: "ints",
    AttributeProto.FLOATS: "floats",
    AttributeProto.STRINGS: "strings",
}


def newest() -> int:
    """The newest opset of ONNX's own domain in the installed onnx."""
    return defs.onnx_opset_version()


def schemas() -> Iterator[Schema]:
    """Every version of every operator the installed onnx knows."""
    for schema in defs.get_all_schemas_with_history():
        yield Schema(
            op=OpVersion(schema.domain, schema.name, schema.since_version),
            attributes={name: _attribute(a) for name, a in sorted(schema.attributes.items())},
            inputs=tuple(_parameter(p) for p in schema.inputs),
            outputs=tuple(_parameter(p) for p in schema.outputs),
            deprecated=schema.deprecated,
        )


def _attribute(attribute: Any) -> Attribute:
    kind = _TYPES.get(attribute.type.value, "other")
    return Attribute(attribute.name, kind, attribute.required, _default(attribute, kind))


def _default(attribute: Any, kind: AttrType) -> AttrValue | None:
    proto = attribute.default_value
    if kind == "other" or proto.type == AttributeProto.UNDEFINED:
        return None
    value = helper.get_attribute_value(proto)
    if kind == "string":
        return str(value.decode())
    if kind == "strings":
        return tuple(item.decode() for item in value)
    return tuple(value) if kind in ("ints", "floats") else value


def _parameter(parameter: Any) -> Parameter:
    option = parameter.option.name.lower()
    return Parameter(parameter.name, parameter.type_str, frozenset(parameter.types), option)
