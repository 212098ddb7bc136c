"""What a model of one node says of it in the words of a case."""

import importlib
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto

from opcheck import opset
from opcheck.graph.build import ATTRIBUTE_PROTOS
from opcheck.graph.tensors import array_of
from opcheck.graph.test_data import DataSet, ModelTest
from opcheck.model import Array, AttrValue, OpVersion, Value
from opcheck.opset import onnx_defs

#: Attributes that are no tensors, graphs or types.
PLAIN = (*ATTRIBUTE_PROTOS.values(),)
_RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
#: Where Dropout's third input, and where its attribute `is_test`, tells whether it drops anything.
_TRAINING_INPUT = 2
_PACKAGE = "onnx.backend.test.case.node"
#: Of the graph that another operator is expanded to, which may be one node as well.
_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")


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
    return Stated(op, version, attributes(node), tuple(node.input), is_plain(node))


def domain_of(name: str) -> str:
    """A domain as opcheck calls it; ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def opset_of(model: ModelProto, domain: str = "") -> int:
    """The opset of a domain that a model imports, 0 if none."""
    imported = [one for one in model.opset_import if domain_of(one.domain) == domain]
    return max((one.version for one in imported), default=0)


def is_plain(node: NodeProto) -> bool:
    """Whether a case can state all attributes of a node."""
    return all(proto.type in PLAIN for proto in node.attribute)


def attributes(node: NodeProto) -> dict[str, AttrValue]:
    """The attributes of a node that a case can state."""
    plain = (proto for proto in node.attribute if proto.type in PLAIN)
    return {proto.name: onnx_defs.value_of(proto) for proto in plain}


def random_outputs(model: ModelProto) -> frozenset[str]:
    """The outputs of `model` that depend on what is drawn at random.

    A seed settles nothing: which generator it starts is not specified.
    """
    functions = {
        (function.domain, function.name)
        for function in model.functions
        if any(map(_draws, function.node))
    }
    found: set[str] = set()
    for node in model.graph.node:
        drawn = _draws(node) or (node.domain, node.op_type) in functions
        if drawn or not found.isdisjoint(_read(node)):
            found.update(node.output)
    return frozenset(output.name for output in model.graph.output if output.name in found)


def _draws(node: NodeProto) -> bool:
    if not domain_of(node.domain):
        if node.op_type in _RANDOM:
            return True
        if node.op_type == "Dropout":
            return bool(node.input[_TRAINING_INPUT:] and node.input[_TRAINING_INPUT])
    return any(_draws(inner) for inner in _inner(node))


def _read(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that its graphs read of the graph around it."""
    yield from node.input
    for inner in _inner(node):
        yield from _read(inner)


def _inner(node: NodeProto) -> Iterable[NodeProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from attribute.g.node
        elif attribute.type == AttributeProto.GRAPHS:
            for graph in attribute.graphs:
                yield from graph.node


def node_tests(op: str) -> tuple[ModelTest, ...]:
    """Those whose model is one node of the operator `op` of ONNX's own domain.

    Left out are those of the graphs that operators are expanded to.
    """
    try:
        # They are made when the module of their operator is imported, and kept in a list beside it.
        importlib.import_module(f"{_PACKAGE}.{op.lower()}")
    except ModuleNotFoundError as error:
        if error.name != f"{_PACKAGE}.{op.lower()}":
            raise
        return ()
    return tuple(
        _whole(case)
        for case in importlib.import_module(_PACKAGE)._NodeTestCases
        if [(node.domain, node.op_type) for node in case.model.graph.node] == [("", op)]
        and not _EXPANDED.search(case.name)
    )


def all_node_tests() -> tuple[ModelTest, ...]:
    """All of them, as they are, by name; making them takes some seconds."""
    package = importlib.import_module(_PACKAGE)
    with warnings.catch_warnings(action="ignore"):  # of NumPy, about NaN, infinity and 0
        cases = package.collect_testcases(None)
    return tuple(map(_whole, sorted(cases, key=lambda case: str(case.name))))


def _whole(case: Any) -> ModelTest:
    data = tuple(
        DataSet(number, tuple(map(_plain, inputs)), tuple(map(_plain, outputs)))
        for number, (inputs, outputs) in enumerate(case.data_sets)
    )
    return ModelTest(
        case.name, case.model, tuple(case.model.graph.input), data, case.rtol, case.atol
    )


def _plain(value: Any) -> Value:
    """A value as its file holds it: a tensor is given as one, as an array, or as a number."""
    if value is None:
        return None
    if isinstance(value, list):
        return [*map(_array, value)]
    return array_of(value) if isinstance(value, TensorProto) else _array(value)


def _array(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind == "U" else array
