"""Folders of tests in ONNX's layout, written with nothing of opcheck's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
X = np.array([[1.0, -2.0, 3.0]], np.float32)


def tensor(name: str, code: int = FLOAT, shape: Sequence[Any] | None = (1, 3)) -> Any:
    return helper.make_tensor_value_info(name, code, shape)


def typed(name: str, declared: TypeProto) -> Any:
    return helper.make_value_info(name, declared)


def sequence_of(code: int = FLOAT) -> TypeProto:
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(code, None))


def optional_of(inner: TypeProto) -> TypeProto:
    return helper.make_optional_type_proto(inner)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8, domain=""):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    imports = [helper.make_opsetid(domain, opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


def relu(shape: Sequence[Any] | None = (1, 3)) -> ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"])
    return model([node], [tensor("x", shape=shape)], [tensor("y", shape=shape)])


def write(folder, proto, inputs, outputs, data_set="test_data_set_0"):
    """A test in `folder`; values are arrays, lists of them, protos or bytes."""
    data = folder / data_set
    data.mkdir(parents=True, exist_ok=True)
    _put(folder / "model.onnx", proto)
    for what, values in (("input", inputs), ("output", outputs)):
        for number, value in enumerate(values):
            _put(data / f"{what}_{number}.pb", value)
    return folder


def _put(path: Path, value: Any) -> None:
    if isinstance(value, list):
        value = numpy_helper.from_list(value)
    if isinstance(value, np.ndarray):
        value = numpy_helper.from_array(value)
    path.write_bytes(value if isinstance(value, bytes) else value.SerializeToString())


class Negating:
    """A backend for `py:` that takes every model for a negation."""

    def prepare(self, task: Any) -> Any:
        class Prepared:
            def run(self, inputs: Sequence[Any]) -> list[Any]:
                return [-inputs[0]]

        return Prepared()
