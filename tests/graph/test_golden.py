from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from opcheck.graph.model_files import (
    inferred_elements,
    invalid,
    model_bytes,
    other_model,
    read_model,
)
from tests.asking import task_of

X = np.zeros((2, 3), np.float32)
TASK = task_of("Softmax", 13, {"axis": 1}, X)
POOL = task_of("LpPool", 1, {"kernel_shape": (2,), "p": 2.0}, np.zeros((1, 1, 4), np.float32))


def test_a_model_that_is_written_states_its_task_and_is_valid(tmp_path: Path) -> None:
    for task in (TASK, POOL):
        path = tmp_path / "model.onnx"
        path.write_bytes(model_bytes(task, ()))
        model = read_model(path, valid=False, alone=True)
        assert other_model(model, task) is None
        assert invalid(model) is None


def test_a_rank_is_stated_where_onnx_cannot_infer_it() -> None:
    bare = task_of("Reshape", 1, {"shape": (2, 2, 1)}, np.zeros((1, 4), np.float32))
    assert "shape" in str(invalid(onnx.ModelProto.FromString(model_bytes(bare, ()))))
    model = onnx.ModelProto.FromString(model_bytes(bare, (3,)))
    assert len(model.graph.output[0].type.tensor_type.shape.dim) == 3
    assert "shape" not in str(invalid(model))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (task_of("Softmax", 13, {"axis": 0}, X), "graph"),
        (task_of("Softmax", 13, {}, X), "graph"),
        (task_of("Softmax", 13, {"axis": 1}, X.astype(np.float64)), "graph"),
        (task_of("Softmax", 13, {"axis": 1}, X[0]), "graph"),
        (task_of("Softmax", 21, {"axis": 1}, X), "opset"),
    ],
)
def test_another_model_is_told_by_what_differs(other, told) -> None:
    model = onnx.ModelProto.FromString(model_bytes(TASK, ()))
    assert f"another {told}" in str(other_model(model, other))


def test_outputs_are_counted_without_being_computed() -> None:
    attrs = {"kernel_shape": (1,), "pads": (0, 1 << 40)}
    x = np.zeros((1, 1, 4), np.float32)
    for at_opset in (1, 22):
        task = task_of("LpPool", at_opset, attrs, x)
        model = onnx.ModelProto.FromString(model_bytes(task, ()))
        assert inferred_elements(model) == (1 << 40) + 4


def test_no_file_beside_a_model_is_read(tmp_path: Path) -> None:
    model = onnx.ModelProto.FromString(model_bytes(TASK, ()))
    stored = TensorProto(name="c", data_type=1, data_location=TensorProto.EXTERNAL)
    stored.external_data.add(key="location", value="/etc/passwd")
    model.graph.initializer.append(stored)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="'c' is kept in another file"):
        read_model(path, valid=False, alone=True)


@pytest.mark.parametrize("data", [b"\xff", b"\x3a\xff\xff\xff\xff\x0f"])
def test_what_is_no_model_is_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="this is no readable model"):
        read_model(path, valid=False, alone=True)
