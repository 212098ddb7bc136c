"""Models of one node and their tests as fields of a case, and ONNX's own node tests."""

import importlib
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto

from opcheck import opset
from opcheck.graph import ATTRIBUTE_PROTOS
from opcheck.graph.folders import array_of
from opcheck.graph.test_data import DataSet, ModelTest
from opcheck.model import Array, AttrValue, OpVersion, Value
from opcheck.opset import onnx_defs

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
