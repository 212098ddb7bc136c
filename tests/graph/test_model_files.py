import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opcheck.dtypes import DTYPES
from opcheck.graph import model_of, substance
from opcheck.graph.test_data import invalid, read_model
from opcheck.model import OutputSpec
from tests.asking import task_of
from tests.expecting import error_of
from tests.models import model, relu, tensor
from tests.wording import Wording

W = np.arange(3, dtype=np.float32)
X = np.zeros((2, 3), np.float32)
TASK = task_of("Softmax", 13, {"axis": 1}, X)
RANKED = (OutputSpec("Y", DTYPES["float32"], rank=3),)
IMAGE = np.zeros((1, 1, 4), np.float32)
POOL = task_of("LpPool", 1, {"kernel_shape": (2,), "p": 2.0}, IMAGE, outputs=RANKED)


def with_weights(where, **entries):
    """A model whose constant lies in another file."""
    kept = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3])
    kept.data_location = TensorProto.EXTERNAL
    for key, value in {"location": where, **entries}.items():
        kept.external_data.add(key=key, value=str(value))
    return model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x")], [tensor("y")], [kept])


def read(folder, proto):
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    return read_model(folder / "model.onnx")


def test_data_in_a_file_beside_the_model_is_read_into_it(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(8) + W.tobytes() + bytes(8))
    found = read(tmp_path, with_weights("w.bin", offset=8, length=12))
    assert numpy_helper.to_array(found.graph.initializer[0]).tolist() == W.tolist()


def test_data_of_constants_in_graphs_within_graphs_too(tmp_path):
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    inner = with_weights("w.bin").graph
    branch = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["z"])], "b", [], [tensor("z", shape=[3])]
    )
    branch.initializer.extend(inner.initializer)
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    truth = tensor("c", TensorProto.BOOL, [])
    found = read(tmp_path, model([node], [truth], [tensor("y", shape=[3])]))
    kept = found.graph.node[0].attribute[0].g.initializer[0]
    assert numpy_helper.to_array(kept).tolist() == W.tolist()


@pytest.mark.parametrize("where", ["../secret", "/etc/passwd", "sub/../../secret", "link", ""])
def test_no_path_leads_out_of_the_folder(tmp_path, where, wording):
    folder = tmp_path / "case"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(W.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="data of 'w'") as raised:
        read(folder, with_weights(where))
    assert raised.value == wording


@pytest.mark.parametrize(
    "entries",
    [
        {"offset": 4},  # too few bytes are left for three numbers
        {"offset": -4},
        {"length": 1 << 50},
        {"offset": "x"},
    ],
)
def test_places_outside_the_file_are_errors(tmp_path, entries, wording):
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    error = error_of(ValueError, read, tmp_path, with_weights("w.bin", **entries))
    # How a tensor is damaged is said in NumPy's words.
    assert str(error).partition(" is damaged: ")[0] == wording


def test_a_missing_file_is_an_error(tmp_path, wording):
    with pytest.raises(ValueError, match="there is no") as raised:
        read(tmp_path, with_weights("w.bin"))
    assert raised.value == wording


def test_an_invalid_model_is_one_only_where_it_may_be(tmp_path, wording):
    misspelt, empty, path = relu(), ModelProto(), tmp_path / "model.onnx"
    misspelt.graph.node[0].op_type = "Rleu"
    for proto, why in ((misspelt, "Rleu"), (empty, "ir_version")):
        path.write_bytes(proto.SerializeToString())
        with pytest.raises(ValueError, match=why) as raised:
            read_model(path)
        assert raised.value == wording
        assert read_model(path, valid=False) == proto


@pytest.mark.parametrize("valid", [True, False])
def test_names_that_are_no_texts_are_refused(tmp_path, valid, wording):
    path = tmp_path / "model.onnx"
    for proto, name in ((relu(), b"Relu"), (with_weights("w.bin"), b"w.bin")):
        path.write_bytes(proto.SerializeToString().replace(name, b"\xff" + name[1:]))
        with pytest.raises(ValueError, match="a name in") as raised:
            read_model(path, valid=valid)
        assert raised.value == wording


def test_a_model_that_is_written_states_its_task_and_is_valid(tmp_path: Path) -> None:
    for task in (TASK, POOL, task_of("ThresholdedRelu", 10, {"alpha": math.nan}, X)):
        path = tmp_path / "model.onnx"
        path.write_bytes(model_of(task).SerializeToString())
        model = read_model(path, valid=False)
        assert substance(model) == substance(model_of(task))
        assert invalid(model) is None


def test_a_rank_is_stated_where_onnx_cannot_infer_it() -> None:
    bare = task_of("Reshape", 1, {"shape": (2, 2, 1)}, np.zeros((1, 4), np.float32))
    assert "shape" in str(invalid(model_of(bare)))
    model = model_of(replace(bare, outputs=RANKED))
    assert len(model.graph.output[0].type.tensor_type.shape.dim) == 3
    assert invalid(model) is None


@pytest.mark.parametrize(
    "other",
    [
        task_of("Softmax", 13, {"axis": 0}, X),
        task_of("Softmax", 13, {}, X),
        task_of("Softmax", 13, {"axis": 1}, X.astype(np.float64)),
        task_of("Softmax", 13, {"axis": 1}, X[0]),
        task_of("Softmax", 21, {"axis": 1}, X),
    ],
)
def test_models_of_different_tasks_differ(other) -> None:
    assert substance(model_of(TASK)) != substance(model_of(other))


@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize(
    "data",
    [
        *(b"\xff", b"\x3a\xff\xff\xff\xff\x0f", b"\xff" * 40, b"PK\x03\x04"),
        relu().SerializeToString()[:-9],
        # As large as what weights are looked for in.
        *(b"\xff" * 100_000, bytes(100_000), b"\x3a\xff\xff\xff\x7f" * 20_000),
    ],
)
def test_what_is_no_model_is_told(
    tmp_path: Path, data: bytes, valid: bool, wording: Wording
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="this is not") as raised:
        read_model(path, valid=valid)
    assert raised.value == wording
