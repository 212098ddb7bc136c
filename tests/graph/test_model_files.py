import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from opcheck.graph.model_files import read_model
from tests.models import model, relu, tensor

W = np.arange(3, dtype=np.float32)


def with_weights(where, **entries):
    """A model whose constant lies in another file."""
    kept = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3])
    kept.data_location = TensorProto.EXTERNAL
    for key, value in {"location": where, **entries}.items():
        kept.external_data.add(key=key, value=str(value))
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return model([node], [tensor("x")], [tensor("y")], [kept])


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
    found = read(
        tmp_path, model([node], [tensor("c", TensorProto.BOOL, [])], [tensor("y", shape=[3])])
    )
    kept = found.graph.node[0].attribute[0].g.initializer[0]
    assert numpy_helper.to_array(kept).tolist() == W.tolist()


@pytest.mark.parametrize("where", ["../secret", "/etc/passwd", "sub/../../secret", "link", ""])
def test_no_path_leads_out_of_the_folder(tmp_path, where):
    folder = tmp_path / "case"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(W.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match=r"data of 'w' in .*leads out of the model's folder"):
        read(folder, with_weights(where))


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"offset": 4}, "no valid model"),  # too few bytes are left for three numbers
        ({"offset": -4}, "bytes from -4 on"),
        ({"length": 1 << 50}, "bytes from 0 on, of 12"),
        ({"offset": "x"}, "is no number"),
    ],
)
def test_places_outside_the_file_are_errors(tmp_path, entries, told):
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    with pytest.raises(ValueError, match=told):
        read(tmp_path, with_weights("w.bin", **entries))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read(tmp_path, with_weights("w.bin"))


@pytest.mark.parametrize(
    "damage", [b"", b"\xff" * 40, b"PK\x03\x04", relu().SerializeToString()[:-9]]
)
def test_what_is_no_model_is_an_error(tmp_path, damage):
    (tmp_path / "model.onnx").write_bytes(damage)
    with pytest.raises(ValueError, match=r"this is no (readable|valid) model"):
        read_model(tmp_path / "model.onnx")


def test_an_invalid_model_is_one_only_where_it_may_be(tmp_path):
    proto = relu()
    proto.graph.node[0].op_type = "Rleu"
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ValueError, match=r"no valid model: No Op registered for Rleu"):
        read_model(tmp_path / "model.onnx")
    assert read_model(tmp_path / "model.onnx", valid=False) == proto


@pytest.mark.parametrize("valid", [True, False])
def test_names_that_are_no_texts_are_refused(tmp_path, valid):
    path = tmp_path / "model.onnx"
    for proto, name in ((relu(), b"Relu"), (with_weights("w.bin"), b"w.bin")):
        path.write_bytes(proto.SerializeToString().replace(name, b"\xff" + name[1:]))
        with pytest.raises(ValueError, match="a name in it is no text in UTF-8"):
            read_model(path, valid=valid)
