"""ONNX's operators, read from `onnx.defs`: nothing about them is listed by hand."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, product
from typing import Any, TypeAlias, TypeVar, cast, get_args

import onnx
from google.protobuf.message import Message
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, defs, helper
from onnx.inliner import inline_local_functions
from onnx.parser import ParseError, parse_graph

from opcheck import opset as opsets
from opcheck.dtypes import DType
from opcheck.model import Attrs, AttrValue, OpVersion
from opcheck.opset import Attribute, AttrType, Body, BodyNode, Parameter, Schema, weights

#: A kind of messages.
Kind = TypeVar("Kind", bound=Message)
#: The types and shapes of inputs.
Fed: TypeAlias = Sequence[tuple[DType, Sequence[int]] | None]
#: Nodes that the calls of a model's own functions may stand for.
MAX_EXPANDED = 1 << 20
_number = AttributeProto.AttributeType.Value
#: The types of attributes by their numbers in ONNX, without the last, "other".
TYPES: dict[Any, AttrType] = {_number(kind.upper()): kind for kind in get_args(AttrType)[:-1]}


def versions(domain: str, name: str) -> Iterator[Schema]:
    """Every version of one operator, the newest first; none where onnx does not know it."""
    opset = 1 << 20  # none is newer
    while opset > 0:
        try:
            found = defs.get_schema(opsets.plain(name), opset, domain)
        except defs.SchemaError:
            return
        schema = _schema(found, name)
        if name == found.name or schema.inputs[0].listed == opsets.form_of(name):
            yield schema
        opset = found.since_version - 1


def _schema(schema: Any, name: str) -> Schema:
    inputs = [_parameter(p, schema.min_input - n) for n, p in enumerate(schema.inputs)]
    outputs = [_parameter(p, schema.min_output - n) for n, p in enumerate(schema.outputs)]
    node_inputs: Sequence[Parameter] = inputs
    node_outputs: Sequence[Parameter] = outputs
    if schema.name == "SequenceMap":
        # It takes one sequence, with tensors beside it, and makes one.
        tensors = frozenset(type for type in inputs[1].types if type.startswith("tensor("))
        node_inputs = [inputs[0], replace(inputs[1], types=tensors)]
        node_outputs = [replace(outputs[0], option="single")]
    tensors_in, tensors_out = opsets.without_sequences(node_inputs, node_outputs, name)
    attributes = {name: _attribute(a) for name, a in sorted(schema.attributes.items())}
    has_graphs = any(one.type == "graph" for one in attributes.values())
    return Schema(
        op=OpVersion(schema.domain, name, schema.since_version),
        attributes=attributes,
        inputs=opsets.with_outer(tensors_in, tensors_out) if has_graphs else tensors_in,
        outputs=tensors_out,
        deprecated=schema.deprecated,
        doc=schema.doc or "",
        constraints={c.type_param_str: c.description for c in schema.type_constraints},
        bodies=tuple(sorted(schema.all_function_opset_versions)),
        formals=(inputs, outputs),
    )


def _attribute(attribute: Any) -> Attribute:
    kind = TYPES.get(attribute.type.value, "other")
    proto = attribute.default_value
    stated = kind not in ("graph", "other") and proto.type != AttributeProto.UNDEFINED
    default = value_of(proto) if stated else None
    if default is None and kind == "int" and not attribute.required:
        # Concat-1 and SequenceEmpty-11 state it in words alone.
        words = re.search(r"Default value is (-?[0-9]+)\.", attribute.description)
        named = "The default type is 'float'" in attribute.description
        if words:
            default = int(words[1])
        elif named:
            default = onnx.TensorProto.FLOAT
    return Attribute(attribute.name, kind, attribute.required, default, attribute.description)


def value_of(proto: Any) -> AttrValue:
    """The value of an attribute that is no graph or type; raises ValueError if it is sparse."""
    value = helper.get_attribute_value(proto)
    match proto.type:
        case AttributeProto.TENSOR:
            return cast(AttrValue, onnx.numpy_helper.to_array(value))
        case AttributeProto.STRING:
            return str(value.decode(errors="replace"))
        case AttributeProto.STRINGS:
            return tuple(item.decode(errors="replace") for item in value)
        case AttributeProto.INT | AttributeProto.FLOAT | AttributeProto.TYPE_PROTO:
            return cast(AttrValue, value)
        case AttributeProto.SPARSE_TENSOR:
            raise ValueError("a constant is sparse")
        case _:
            return tuple(value)


def _parameter(parameter: Any, least: int) -> Parameter:
    return Parameter(
        name=parameter.name,
        constraint=parameter.type_str,
        types=frozenset(parameter.types),
        option=parameter.option.name.lower(),
        description=parameter.description,
        least=max(0, least),
        homogeneous=parameter.is_homogeneous,
    )


def body(op: OpVersion, opset: int, attrs: Attrs, inputs: Fed, outputs: int) -> Body | None:
    """The function body of `op` at `opset`, if any; omitted `inputs` are None."""
    # onnx's type stubs lack the members used below.
    schema: Any = defs.get_schema(op.name, op.since, op.domain)
    names = [f"input_{n}" if given else "" for n, given in enumerate(inputs)]
    output_names = [f"output_{n}" for n in range(outputs)]
    stated = dict[str, Any](attrs)
    node: Any = helper.make_node(op.name, names, output_names, domain=op.domain, **stated)
    plain = [number for number in schema.function_opset_versions if number <= opset]
    contextual = [n for n in schema.context_dependent_function_opset_versions if n <= opset]
    if plain:
        data = schema.get_function_with_opset_version(max(plain))
    elif contextual:
        given = [(one[0].onnx, list(one[1])) if one else (0, None) for one in inputs]
        types = [helper.make_tensor_type_proto(*one).SerializeToString() for one in given]
        data = schema.get_context_dependent_function_with_opset_version(
            max(contextual), node.SerializeToString(), types
        )
    else:
        return None
    function = FunctionProto.FromString(data)
    imports = {one.domain: one.version for one in function.opset_import}
    # Of attributes that it has no body for, onnx makes an empty one.
    return _body(function, imports, opset) if function.node else None


def graph(text: str, name: str) -> onnx.GraphProto:
    """A graph in ONNX's syntax, `(x) => (y) { … }`; ValueError with the parser's message."""
    # A graph in that syntax has a name first, which means nothing.
    before = f"{name} " if text.lstrip().startswith("(") else ""
    try:
        return parse_graph(before + text)
    except ParseError as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        line, column = map(int, re.findall(r"line: (\d+) column: (\d+)", said)[0])
        column -= len(before) if line == 1 else 0
        raise ValueError(f"line {line}, column {column}: {said.splitlines()[-1]}") from None


@cache
def subgraph(text: str, opset: int) -> Body:
    """A graph in ONNX's syntax at an opset; ValueError for another text or an unknown operator."""
    try:
        return _body(graph(text, "graph"), {}, opset)
    except defs.SchemaError as error:
        raise ValueError(f"{str(error).rstrip('!').replace(' registered', '')}") from None


@lru_cache(maxsize=2)
def model_body(data: bytes) -> Body:
    """A model's graph, with the model's own functions expanded; its inputs have no values.

    An operator unknown to onnx has the imported version. Raises ValueError for a sparse constant.
    """
    model = without_functions(ModelProto.FromString(data))
    imports = {domain_of(one.domain): one.version for one in model.opset_import}
    found = _body(model.graph, imports, imports.get("", 1), known=False)
    read = {*found.outputs, *chain.from_iterable(node.reads for node in found.nodes)}
    inputs = tuple(n for n in found.inputs if n not in found.constants)
    nodes = tuple(replace(node, outputs=_read(node.outputs, read)) for node in found.nodes)
    return replace(found, inputs=inputs, nodes=nodes)


def optional_inputs(data: bytes) -> frozenset[str]:
    """The names of a model's inputs that are optionals."""
    inputs = ModelProto.FromString(data).graph.input
    return frozenset(one.name for one in inputs if one.type.HasField("optional_type"))


def _read(outputs: Sequence[str], read: Collection[str]) -> tuple[str, ...]:
    """The outputs without those that nobody reads; the first that has a name stays."""
    first = next(filter(None, outputs), "")
    return opsets.without_end([one if one in read or one == first else "" for one in outputs])


def without_functions(model: ModelProto) -> ModelProto:
    """Return the model with its own functions expanded, which changes `model`.

    A function stays whose operators are of other versions than in the model. Raises ValueError for
    functions whose calls, each counted, stand for more than `MAX_EXPANDED` nodes.
    """
    own = {(one.domain, one.name, one.overload): one for one in model.functions}
    if not own:
        return model
    _check_expanded(own)
    for function in own.values():
        _use_opsets_of_model(function, model, own)
    for node in [*messages(model, NodeProto)]:
        called = own.get(_key(node))
        if called:
            # Defaults, which onnx drops.
            stated = {attribute.name for attribute in node.attribute}
            node.attribute.extend(
                default for default in called.attribute_proto if default.name not in stated
            )
    return inline_local_functions(model)


def _check_expanded(own: Mapping[tuple[str, str, str], FunctionProto]) -> None:
    """Raise ValueError where calls of these functions stand for too many nodes."""

    @cache
    def count(key: tuple[str, str, str]) -> int:
        if key not in own:
            return 1
        return sum(count(_key(node)) for node in messages(own[key], NodeProto))

    try:
        total = sum(count(key) for key in own)
    except RecursionError:
        raise ValueError("its functions call each other too deeply") from None
    if total > MAX_EXPANDED:
        raise ValueError(f"its functions stand for {total:,} nodes")


def _use_opsets_of_model(
    function: FunctionProto, model: ModelProto, own: Collection[tuple[str, str, str]]
) -> None:
    """Let a function import the model's opsets, where its operators have the same versions there.

    Where opsets differ, onnx expands nothing.
    """
    for import_, new in product(function.opset_import, model.opset_import):
        if import_.domain != new.domain:
            continue
        others = [
            node
            for node in messages(function, NodeProto)
            if node.domain == import_.domain and _key(node) not in own
        ]
        if all(_since(node, import_.version) == _since(node, new.version) for node in others):
            import_.version = new.version


def messages(message: Any, kind: type[Kind]) -> Iterator[Kind]:
    """Yield those of a message and all below it, in whatever attribute, that are of a kind."""
    if isinstance(message, kind):
        yield message
    for field, value in message.ListFields():
        if field.message_type:
            for one in (value,) if hasattr(value, "ListFields") else value:
                yield from messages(one, kind)


def _key(node: NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def _since(node: NodeProto, opset: int) -> int:
    """The version of a node's operator at an opset; the opset itself where onnx knows none."""
    where = node.op_type, opset, domain_of(node.domain)
    return defs.get_schema(*where).since_version if defs.has(*where) else opset


def domain_of(name: str) -> str:
    """A domain as opcheck calls it; ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def _body(graph: Any, imports: Mapping[str, int], opset: int, *, known: bool = True) -> Body:
    """A function, which names its inputs and outputs, or a graph, which declares them."""
    sparse = [tensor.values.name for tensor in getattr(graph, "sparse_initializer", ())]
    if sparse:
        raise ValueError(f"the constant {sparse[0]!r} is sparse")

    def value(proto: Any) -> AttrValue | opsets.AttributeReference | Body:
        if proto.ref_attr_name:
            return opsets.AttributeReference(proto.ref_attr_name)
        if proto.type == AttributeProto.GRAPH:
            return _body(proto.g, imports, opset, known=known)
        return value_of(proto)

    nodes = []
    for number, node in enumerate(graph.node):
        domain = domain_of(node.domain)
        since = imports.get(domain, opset)
        if known or defs.has(node.op_type, since, domain):
            since = defs.get_schema(node.op_type, since, domain).since_version
        attrs = {one.name: value(one) for one in node.attribute}
        op = OpVersion(domain, node.op_type, since)
        ends = tuple(node.input), tuple(node.output)
        nodes.append(BodyNode(op, attrs, *ends, name=node.name, number=number))
    of_graph = (graph.input, graph.output)
    inputs, outputs = (tuple(getattr(one, "name", one) for one in end) for end in of_graph)
    held = {one.name: weights.array(one) for one in getattr(graph, "initializer", ())}
    return Body(inputs, outputs, tuple(nodes), held)
