"""ONNX's own tests of single nodes, which come with its package."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from typing import Any

from onnx import AttributeProto, helper

from opcheck.model import Array, AttrValue

_PACKAGE = "onnx.backend.test.case.node"
#: Attributes that are no tensors, graphs or types.
_PLAIN = (
    AttributeProto.INT,
    AttributeProto.FLOAT,
    AttributeProto.STRING,
    AttributeProto.INTS,
    AttributeProto.FLOATS,
    AttributeProto.STRINGS,
)


@dataclass(frozen=True, eq=False)
class NodeTest:
    """A node with its data, and how far ONNX's runner lets an answer lie off."""

    name: str
    opset: int
    attrs: dict[str, AttrValue]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    rtol: float
    atol: float


def node_tests(op: str) -> tuple[NodeTest, ...]:
    """Those of the operator `op` of ONNX's own domain, none where the package has none.

    Left out are those of the graphs that operators are expanded to, those whose data is not one
    tensor for each input and output, and those whose attributes no case can state.
    """
    try:
        # They are made when the module of their operator is imported, and kept in a list beside it.
        importlib.import_module(f"{_PACKAGE}.{op.lower()}")
    except ModuleNotFoundError as error:
        if error.name != f"{_PACKAGE}.{op.lower()}":
            raise
        return ()
    made = importlib.import_module(_PACKAGE)._NodeTestCases
    return tuple(test for case in made for test in _of_case(op, case))


def _of_case(op: str, case: Any) -> Iterator[NodeTest]:
    nodes = case.model.graph.node
    if [(node.domain, node.op_type) for node in nodes] != [("", op)]:
        return
    if any(proto.type not in _PLAIN for proto in nodes[0].attribute):
        return
    (opset,) = (one.version for one in case.model.opset_import if not one.domain)
    for inputs, outputs in case.data_sets:
        if _are_tensors(inputs, nodes[0].input) and _are_tensors(outputs, nodes[0].output):
            attrs = {proto.name: _value(proto) for proto in nodes[0].attribute}
            yield NodeTest(
                case.name, opset, attrs, tuple(inputs), tuple(outputs), case.rtol, case.atol
            )


def _are_tensors(data: Any, names: Sized) -> bool:
    return len(data) == len(names) and all(hasattr(array, "dtype") for array in data)


def _value(proto: Any) -> AttrValue:
    value = helper.get_attribute_value(proto)
    match value:
        case bytes():
            return value.decode()
        case list():
            return tuple(one.decode() if isinstance(one, bytes) else one for one in value)
        case _:
            assert isinstance(value, int | float)
            return value
