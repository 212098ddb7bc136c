"""Models of one node and their tests as fields of a case, and ONNX's own node tests."""

import importlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from opcheck import dtypes, opset
from opcheck.graph import ATTRIBUTE_PROTOS
from opcheck.graph.folders import array_of
from opcheck.graph.test_data import DataSet, FileMessages, ModelTest, read_test
from opcheck.model import Array, AttrValue, OpVersion, Value
from opcheck.opset import Schema, onnx_defs

#: Attributes that are no tensors, graphs or types.
PLAIN = (*ATTRIBUTE_PROTOS.values(),)
_RANDOM = re.compile("Bernoulli|Multinomial|Random(Normal|Uniform)(Like)?")
#: Dropout's third input decides if it drops anything.
_TRAINING_INPUT = 2
_PACKAGE = "onnx.backend.test.case.node"


@dataclass(frozen=True)
class Stated:
    """A node as a case states one; `plain` unless it has attributes that no case can state."""

    op: OpVersion
    opset: int
    attrs: dict[str, AttrValue]
    slots: tuple[str, ...]
    plain: bool


def stated(model: ModelProto) -> Stated | None:
    """The node that a model is; None where it is several or none, or one of its own functions."""
    if len(model.graph.node) != 1 or model.functions:
        return None
    node = model.graph.node[0]
    domain = domain_of(node.domain)
    version = opset_of(model, domain)
    schema = opset.describe(domain, node.op_type, version)
    op = schema.op if schema else OpVersion(domain, node.op_type, version)
    # A legal model, so that the node's attributes are of the types that they must be of.
    plain = all(proto.type in PLAIN for proto in node.attribute)
    return Stated(op, version, attributes(node), tuple(node.input), plain)


def domain_of(name: str) -> str:
    """A domain as opcheck calls it; ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def opset_of(model: ModelProto, domain: str = "") -> int:
    """The opset of a domain that a model imports, 0 if none."""
    imported = [one for one in model.opset_import if domain_of(one.domain) == domain]
    return max((one.version for one in imported), default=0)


def attributes(node: NodeProto) -> dict[str, AttrValue]:
    """The attributes of a node that a case can state."""
    plain = (proto for proto in node.attribute if proto.type in PLAIN)
    return {proto.name: onnx_defs.value_of(proto) for proto in plain}


@dataclass(frozen=True, eq=False)
class OneNode:
    """A node with its test, whose values are arrays; `inputs`, `outputs`: places of used slots."""

    schema: Schema
    opset: int
    attrs: dict[str, AttrValue]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    test: ModelTest


def read_one_node(folder: Path, problems: FileMessages) -> OneNode | None:
    """The node and the data in `folder`; None if it has problems, which are added to `problems`."""
    test = read_test(folder, folder.name, problems, check=_schema)
    for data in test.data_sets if test else ():
        for what, values in (("input", data.inputs), ("output", data.outputs)):
            for number, array in enumerate(cast(Sequence[Array], values)):
                if dtypes.of(array) is None:
                    path = folder / f"test_data_set_{data.number}" / f"{what}_{number}.pb"
                    problems.append((path, f"holds {array.dtype}, which no case can have"))
    if test is None or problems:
        return None
    schema, version = _schema(test.model)
    (node,) = test.model.graph.node
    inputs, outputs = _places(node.input), _places(node.output)
    return OneNode(schema, version, attributes(node), inputs, outputs, test)


def _schema(model: ModelProto) -> tuple[Schema, int]:
    """The operator of a model's only node, and its opset; raises ValueError if it is no case."""
    graph = model.graph
    most = Counter(node.op_type for node in graph.node).most_common(5)
    kinds = ", ".join(f"{count} × {kind}" for kind, count in most)
    found = []
    if len(graph.node) != 1:
        found.append(f"{len(graph.node)} nodes ({kinds})" if graph.node else "no node")
    found += [f"function {function.name!r}" for function in model.functions]
    found += [f"initializer {tensor.name!r}" for tensor in graph.initializer]
    found += [f"sparse initializer {one.values.name!r}" for one in graph.sparse_initializer]
    domains = sorted({domain_of(one.domain) for one in model.opset_import})
    if len(domains) > 1:
        found.append(f"operators of {' and '.join(map(_named, domains))}")
    called = {number: f"a {name.lower()}" for name, number in AttributeProto.AttributeType.items()}
    protos = [proto for node in graph.node for proto in node.attribute]
    odd = [proto for proto in protos if proto.type not in PLAIN]
    found += [f"attribute {one.name!r}, {called.get(one.type, 'nothing known')}" for one in odd]
    found += [
        f"attribute {proto.name!r}, which is no text in UTF-8"
        for proto in protos
        if any(text.decode(errors="ignore").encode() != text for text in (proto.s, *proto.strings))
    ]
    if found:
        raise ValueError(f"a case is one node on its inputs; this has {'; '.join(found)}")
    (node,) = graph.node
    domain = domain_of(node.domain)
    if not (version := opset_of(model, domain)):
        raise ValueError(f"it imports no opset of {_named(domain)}, whose {node.op_type} it uses")
    if (schema := opset.describe(domain, node.op_type, version)) is None:
        known = f"of {_named(domain)} at opset {version}"
        raise ValueError(f"opcheck knows no operator {node.op_type!r} {known}")
    gap = next((number for number, slot in enumerate(node.output) if not slot), None)
    if gap is not None:
        left = f"its node leaves out output {gap}, before one that is there"
        raise ValueError(f"{left}, which a case cannot state")
    _check_declared(graph.input, node.input, "input")
    _check_declared(graph.output, node.output, "output")
    return schema, version


def _named(domain: str) -> str:
    return f"domain {domain!r}" if domain else "ONNX's own domain"


def _check_declared(infos: Sequence[ValueInfoProto], slots: Sequence[str], what: str) -> None:
    """Raise ValueError unless the model's inputs or outputs are the node's, one by one."""
    names, used = [info.name for info in infos], [slot for slot in slots if slot]
    if names != used:
        mine, theirs = (", ".join(some) or "none" for some in (names, used))
        raise ValueError(f"its {what}s are {mine}, and those of its node {theirs}")
    if len({*used}) < len(used):
        raise ValueError(f"its node takes an {what} twice: {', '.join(used)}")
    for info in infos:
        if (kind := info.type.WhichOneof("value") or "nothing") != "tensor_type":
            raise ValueError(f"{what} {info.name!r} is no tensor: {kind}")


def _places(slots: Sequence[str]) -> tuple[int, ...]:
    return tuple(number for number, slot in enumerate(slots) if slot)


def random_outputs(model: ModelProto) -> frozenset[str]:
    """The outputs that depend on random numbers, with a seed too: no generator is specified."""
    functions = {(one.domain, one.name) for one in model.functions if any(map(_draws, one.node))}
    found: set[str] = set()
    for node in model.graph.node:
        drawn = _draws(node) or (node.domain, node.op_type) in functions
        if drawn or not found.isdisjoint(_read(node)):
            found.update(node.output)
    return frozenset(output.name for output in model.graph.output if output.name in found)


def _draws(node: NodeProto) -> bool:
    if not domain_of(node.domain):
        if _RANDOM.fullmatch(node.op_type):
            return True
        if node.op_type == "Dropout":
            return bool(node.input[_TRAINING_INPUT:] and node.input[_TRAINING_INPUT])
    return any(_draws(inner) for inner in _inner(node))


def _read(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node and its subgraphs read."""
    yield from node.input
    for inner in _inner(node):
        yield from _read(inner)


def _inner(node: NodeProto) -> Iterable[NodeProto]:
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield from graph.node


def node_tests(op: str) -> tuple[ModelTest, ...]:
    """ONNX's tests of one node of its operator `op`, not of graphs that operators expand to."""
    try:
        # Importing the module of an operator makes its tests, which the package keeps in a list.
        # NumPy warns of NaN, infinity and overflow in them.
        with warnings.catch_warnings(action="ignore"):
            importlib.import_module(f"{_PACKAGE}.{op.lower()}")
    except ModuleNotFoundError as error:
        if error.name != f"{_PACKAGE}.{op.lower()}":
            raise
        return ()
    return tuple(
        _whole(case)
        for case in importlib.import_module(_PACKAGE)._NodeTestCases
        if [(node.domain, node.op_type) for node in case.model.graph.node] == [("", op)]
        and not re.search(r"_expanded(_ver\d+)?$", case.name)
    )


def all_node_tests() -> tuple[ModelTest, ...]:
    """All node tests of ONNX, by name; making them takes some seconds."""
    package = importlib.import_module(_PACKAGE)
    with warnings.catch_warnings(action="ignore"):
        cases = package.collect_testcases(None)
    return tuple(map(_whole, sorted(cases, key=lambda case: str(case.name))))


def _whole(case: Any) -> ModelTest:
    data = tuple(
        DataSet(number, tuple(map(_plain, inputs)), tuple(map(_plain, outputs)))
        for number, (inputs, outputs) in enumerate(case.data_sets)
    )
    fed = tuple(case.model.graph.input)
    return ModelTest(case.name, case.model, fed, data, case.rtol, case.atol)


def _plain(value: Any) -> Value:
    """A value as its file holds it; it is given as a tensor, an array, or a number."""
    if value is None:
        return None
    if isinstance(value, list):
        return [*map(_array, value)]
    return array_of(value) if isinstance(value, TensorProto) else _array(value)


def _array(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind == "U" else array
