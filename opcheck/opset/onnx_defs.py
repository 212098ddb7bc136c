"""ONNX's operators, read from `onnx.defs`: nothing about them is listed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from onnx import AttributeProto, FunctionProto, defs, helper, numpy_helper

from opcheck.dtypes import DType
from opcheck.model import AttrValue, OpVersion
from opcheck.opset.schema import (
    Attribute,
    AttributeReference,
    AttrType,
    Body,
    BodyNode,
    Parameter,
    Schema,
)

_TYPES: dict[Any, AttrType] = {
    AttributeProto.AttributeType.Value(kind.upper()): kind
    for kind in get_args(AttrType)
    if kind != "other"
}
#: No opset of any domain is newer.
_NEWEST = 1 << 20


def versions(domain: str, name: str) -> Iterator[Schema]:
    """Every version of one operator, the newest first; none where onnx does not know it."""
    opset = _NEWEST
    while opset > 0:
        try:
            found = defs.get_schema(name, opset, domain)
        except defs.SchemaError:
            return
        yield _schema(found)
        opset = found.since_version - 1


def _schema(schema: Any) -> Schema:
    bodies = schema.all_function_opset_versions
    return Schema(
        op=OpVersion(schema.domain, schema.name, schema.since_version),
        attributes={name: _attribute(a) for name, a in sorted(schema.attributes.items())},
        inputs=tuple(_parameter(p, schema.min_input - n) for n, p in enumerate(schema.inputs)),
        outputs=tuple(_parameter(p, schema.min_output - n) for n, p in enumerate(schema.outputs)),
        deprecated=schema.deprecated,
        doc=schema.doc or "",
        constraints={c.type_param_str: c.description for c in schema.type_constraints},
        bodies=tuple(sorted(bodies)),
        infers_shapes=schema.has_type_and_shape_inference_function,
    )


def _attribute(attribute: Any) -> Attribute:
    kind = _TYPES.get(attribute.type.value, "other")
    proto = attribute.default_value
    stated = kind != "other" and proto.type != AttributeProto.UNDEFINED
    default = value_of(proto) if stated else None
    if default is None and kind == "int" and not attribute.required:
        # Concat-1 says so in words alone.
        words = re.search(r"Default value is (-?[0-9]+)\.", attribute.description)
        default = int(words[1]) if words else None
    return Attribute(attribute.name, kind, attribute.required, default, attribute.description)


def value_of(proto: Any) -> AttrValue:
    """The value of an attribute that is no graph, type or sparse tensor."""
    value = helper.get_attribute_value(proto)
    match proto.type:
        case AttributeProto.TENSOR:
            return cast(AttrValue, numpy_helper.to_array(value))
        case AttributeProto.STRING:
            return str(value.decode(errors="replace"))
        case AttributeProto.STRINGS:
            return tuple(item.decode(errors="replace") for item in value)
        case AttributeProto.INT | AttributeProto.FLOAT:
            return cast(AttrValue, value)
        case _:
            return tuple(value)


def _parameter(parameter: Any, least: int) -> Parameter:
    return Parameter(
        parameter.name,
        parameter.type_str,
        frozenset(parameter.types),
        parameter.option.name.lower(),
        parameter.description,
        max(0, least),
        parameter.is_homogeneous,
    )


def body(
    op: OpVersion,
    opset: int,
    attrs: Mapping[str, AttrValue],
    inputs: Sequence[tuple[DType, Sequence[int]] | None],
    outputs: int,
) -> Body | None:
    """The function body of `op` in force at `opset`; None where the specification states none.

    Some bodies depend on the attributes, on the types and shapes of the inputs, None for one that
    is left out, and on how many outputs are asked for.
    """
    # The types that onnx ships lack what is asked for below.
    schema: Any = defs.get_schema(op.name, op.since, op.domain)
    node: Any = helper.make_node(
        op.name,
        [f"input_{n}" if given else "" for n, given in enumerate(inputs)],
        [f"output_{n}" for n in range(outputs)],
        domain=op.domain,
        **dict[str, Any](attrs),
    )
    plain = [number for number in schema.function_opset_versions if number <= opset]
    if plain:
        found = schema.get_function_with_opset_version(max(plain))
        return _body(FunctionProto.FromString(found), opset)
    contextual = [n for n in schema.context_dependent_function_opset_versions if n <= opset]
    if not contextual:
        return None
    types = [
        helper.make_tensor_type_proto(*((given[0].onnx, list(given[1])) if given else (0, None)))
        for given in inputs
    ]
    made = schema.get_context_dependent_function_with_opset_version(
        max(contextual), node.SerializeToString(), [one.SerializeToString() for one in types]
    )
    function = FunctionProto.FromString(made)
    # Of attributes that it has no body for, onnx makes an empty one.
    return _body(function, opset) if function.node else None


def _body(function: FunctionProto, opset: int) -> Body:
    imports = {one.domain: one.version for one in function.opset_import}
    return Body(
        tuple(function.input), tuple(function.output), tuple(_nodes(function.node, imports, opset))
    )


def _nodes(nodes: Any, imports: Mapping[str, int], opset: int) -> Iterator[BodyNode]:
    for node in nodes:
        at = imports.get(node.domain, opset)
        schema = defs.get_schema(node.op_type, at, node.domain)
        attrs = {proto.name: _body_attribute(proto, imports, opset) for proto in node.attribute}
        op = OpVersion(node.domain, node.op_type, schema.since_version)
        yield BodyNode(op, attrs, tuple(node.input), tuple(node.output))


def _body_attribute(
    proto: Any, imports: Mapping[str, int], opset: int
) -> AttrValue | AttributeReference | Body:
    if proto.ref_attr_name:
        return AttributeReference(proto.ref_attr_name)
    if proto.type == AttributeProto.GRAPH:
        graph = proto.g
        return Body(
            tuple(one.name for one in graph.input),
            tuple(one.name for one in graph.output),
            tuple(_nodes(graph.node, imports, opset)),
        )
    return value_of(proto)
