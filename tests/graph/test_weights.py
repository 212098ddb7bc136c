"""Large weights stay in their file, and no backend and no digest can tell."""

import hashlib
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opcheck.errors import UsageError
from opcheck.graph import test_data
from opcheck.opset import onnx_defs, weights

WIDE = 200  # 160,000 bytes of float32


def net(dtype: type = np.float32, *, name: str = "w") -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    large = numpy_helper.from_array(rng.standard_normal((WIDE, WIDE)).astype(dtype), name)
    small = numpy_helper.from_array(np.arange(WIDE).astype(dtype), "b")
    nodes = [helper.make_node("Gemm", ["x", name, "b"], ["y"], name="one")]
    x, y = (helper.make_tensor_value_info(n, code, [2, WIDE]) for n in "xy")
    graph = helper.make_graph(nodes, "net", [x], [y], [large, small])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def written(model: onnx.ModelProto, folder: Path, **options: object) -> Path:
    path = folder / "net.onnx"
    onnx.save(model, path, **options)
    return path


def held(path: Path) -> bytes:
    data: bytes = test_data.read_model(path).SerializeToString(deterministic=True)
    return data


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8])
def test_a_model_is_held_without_its_large_weights_and_whole_again(dtype, tmp_path):
    model = net(dtype)
    if dtype == np.int8:  # no Gemm takes it
        model.graph.node[0].CopyFrom(helper.make_node("MatMulInteger", ["x", "w"], ["y"]))
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
        model.graph.initializer.pop()
        model.graph.initializer[0].raw_data *= 2
        model.graph.initializer[0].dims[1] *= 2
    data = held(written(model, tmp_path))
    assert len(data) < 2000
    assert onnx.ModelProto.FromString(b"".join(weights.pieces(data))) == model
    body = onnx_defs.model_body(data)
    for tensor in model.graph.initializer:
        np.testing.assert_array_equal(body.constants[tensor.name], numpy_helper.to_array(tensor))


@pytest.mark.parametrize("form", ["plain", "doc_string", "data_location", "elsewhere"])
def test_the_digest_is_that_of_the_whole_model_wherever_it_lies(form, tmp_path):
    model = net()
    if form == "doc_string":
        model.graph.initializer[0].doc_string = "a field after the data"
    if form in ("data_location", "elsewhere"):
        model.graph.initializer[0].data_location = TensorProto.DEFAULT
    whole = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
    elsewhere = {"save_as_external_data": True, "size_threshold": 1024}
    found = held(written(model, tmp_path, **(elsewhere if form == "elsewhere" else {})))
    assert len(found) < 2000
    assert weights.digest(found) == whole


def test_a_file_that_has_changed_is_told_from_the_one_that_was_read(tmp_path, wording):
    path = written(net(), tmp_path)
    data = held(path)
    body = onnx_defs.model_body(data)
    other = net()
    other.graph.initializer[0].raw_data = other.graph.initializer[0].raw_data[::-1]
    written(other, tmp_path.parent).replace(path)
    with pytest.raises(UsageError) as raised:
        weights.digest(data)
    assert raised.value == wording
    again = held(path)
    assert not np.array_equal(onnx_defs.model_body(again).constants["w"], body.constants["w"])
    path.unlink()
    with pytest.raises(UsageError) as raised:
        weights.are_outside(again)
    assert raised.value == wording


def test_weights_in_a_file_of_their_own_stay_there(tmp_path):
    path = written(net(), tmp_path, save_as_external_data=True, size_threshold=1024)
    assert path.stat().st_size < 2000
    data = held(path)
    (own,) = (one for one in tmp_path.iterdir() if one != path)
    assert str(own) in data.decode(errors="replace")
    whole = onnx.ModelProto.FromString(b"".join(weights.pieces(data)))
    assert whole.graph.initializer[0].raw_data == net().graph.initializer[0].raw_data


def test_a_graph_in_two_parts_is_one(tmp_path):
    """Protobuf joins what is written one after the other."""
    more = onnx.ModelProto()
    more.graph.node.add().CopyFrom(helper.make_node("Gemm", ["x", "v"], ["z"], name="two"))
    more.graph.initializer.add().CopyFrom(net(name="v").graph.initializer[0])
    more.graph.output.add().CopyFrom(net().graph.output[0])
    more.graph.output[0].name = "z"
    path = tmp_path / "net.onnx"
    path.write_bytes(net().SerializeToString() + more.SerializeToString())
    data = held(path)
    assert len(data) < 2000
    whole = onnx.ModelProto.FromString(b"".join(weights.pieces(data)))
    assert whole == onnx.ModelProto.FromString(path.read_bytes())


@pytest.mark.parametrize("keep", [WIDE, 1000, 100_000, -1])
def test_a_file_that_is_cut_off_is_no_model(keep, tmp_path, wording):
    path = written(net(), tmp_path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="not a readable") as raised:
        test_data.read_model(path)
    assert raised.value == wording


REFUSED = {
    "a row less": lambda model: model.graph.initializer[0].dims.__setitem__(0, WIDE - 1),
    "a row more": lambda model: model.graph.initializer[0].dims.__setitem__(0, WIDE + 1),
    "a size below 0": lambda model: model.graph.initializer[0].dims.__setitem__(0, -WIDE),
    "a name that is taken": lambda model: model.graph.initializer.append(
        model.graph.initializer[0]
    ),
    "two values": lambda model: model.graph.initializer[0].float_data.append(1),
    "no input at IR version 3": lambda model: setattr(model, "ir_version", 3),
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_onnx_refuses_of_an_initializer_is_no_valid_model_wherever_it_lies(change, tmp_path):
    model = net()
    REFUSED[change](model)
    with pytest.raises(ValueError, match="not a valid"):
        test_data.read_model(written(model, tmp_path))


def test_a_model_beyond_two_gib_is_told(tmp_path, wording):
    """Protobuf has no larger ones; the files here are sparse."""
    path = written(net(), tmp_path, save_as_external_data=True, size_threshold=1024)
    (own,) = (one for one in tmp_path.iterdir() if one != path)
    model = onnx.load(path, load_external_data=False)
    entries = {one.key: one for one in model.graph.initializer[0].external_data}
    entries["length"].value = str(2**31)
    model.graph.initializer[0].dims[0] = 2**31 // (4 * WIDE)
    path.write_bytes(model.SerializeToString())
    with own.open("r+b") as file:
        file.truncate(2**31)
    with pytest.raises(ValueError, match=own.name) as raised:
        test_data.read_model(path)
    assert str(raised.value).replace(own.name, "NAME") == wording
    with path.open("r+b") as file:
        file.truncate(2**31)
    with pytest.raises(ValueError, match="it is larger") as raised:
        test_data.read_model(path)
    assert raised.value == wording


@pytest.mark.parametrize("large", [False, True])
def test_weights_of_a_type_that_is_none_are_no_valid_model(large, tmp_path, wording):
    path = written(net(), tmp_path, save_as_external_data=large, size_threshold=1024)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].data_type = 77
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="not a valid") as raised:
        test_data.read_model(path)
    assert raised.value == wording


def test_a_field_that_nobody_knows_is_left_to_protobuf(tmp_path):
    path = tmp_path / "net.onnx"
    group = bytes([0xA3, 0x06, 0xA4, 0x06])  # number 100, begins and ends
    path.write_bytes(net().SerializeToString() + group)
    assert test_data.read_model(path).graph.initializer[0].raw_data
