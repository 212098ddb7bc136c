"""ONNX's own tests of single nodes, which come with its package."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from opcheck.graph.nodes import attributes, is_plain
from opcheck.graph.test_data import DataSet, ModelTest
from opcheck.graph.values import array_of
from opcheck.model import Array, AttrValue, Value

_PACKAGE = "onnx.backend.test.case.node"
#: Of the graph that another operator is expanded to, which may be one node as well.
_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")


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
    if [(node.domain, node.op_type) for node in nodes] != [("", op)] or _EXPANDED.search(case.name):
        return
    if not is_plain(nodes[0]):
        return
    (opset,) = (one.version for one in case.model.opset_import if not one.domain)
    for inputs, outputs in case.data_sets:
        if _are_tensors(inputs, nodes[0].input) and _are_tensors(outputs, nodes[0].output):
            attrs = attributes(nodes[0])
            yield NodeTest(
                case.name, opset, attrs, tuple(inputs), tuple(outputs), case.rtol, case.atol
            )


def _are_tensors(data: Any, names: Sized) -> bool:
    return len(data) == len(names) and all(hasattr(array, "dtype") for array in data)


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
