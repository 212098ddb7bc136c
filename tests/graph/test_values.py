import numpy as np
import pytest
from onnx import OptionalProto, SequenceProto, TensorProto, helper, numpy_helper

from opcheck.dtypes import ELEMENT_TYPES
from opcheck.graph.tensors import BeyondOpcheck, element, read_value, tensor_type, value_bytes
from tests.models import FLOAT, X, optional_of, sequence_of

TENSOR = helper.make_tensor_type_proto(FLOAT, None)


def stored(tmp_path, data):
    path = tmp_path / "input_0.pb"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("dtype", ELEMENT_TYPES.values(), ids=str)
def test_tensors_of_every_type_come_back_as_onnx_reads_them(tmp_path, dtype):
    words = np.array(["a", "", "ü", "0"], object)
    values = words if dtype.kind == "string" else np.array([1, 0, 1, 1]).astype(dtype.numpy)
    array = values.reshape(2, 2)
    declared = helper.make_tensor_type_proto(dtype.onnx, None)
    data = value_bytes(array, declared, "x")
    theirs = numpy_helper.to_array(TensorProto.FromString(data))
    ours = read_value(stored(tmp_path, data), declared)
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == theirs.dtype == dtype.numpy
    assert repr(ours.tolist()) == repr(theirs.tolist()) == repr(array.tolist())


def test_sequences_and_optionals_come_back(tmp_path):
    declared = sequence_of()
    found = read_value(stored(tmp_path, value_bytes([X, X + 1], declared, "x")), declared)
    assert isinstance(found, list)
    assert [one.tolist() for one in found] == [X.tolist(), (X + 1).tolist()]
    assert read_value(stored(tmp_path, value_bytes([], declared, "x")), declared) == []
    for inner, value in ((TENSOR, X), (sequence_of(), [X])):
        declared = optional_of(inner)
        found = read_value(stored(tmp_path, value_bytes(value, declared, "x")), declared)
        assert np.array_equal(np.asarray(found), np.asarray(value))
        assert read_value(stored(tmp_path, value_bytes(None, declared, "x")), declared) is None


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (helper.make_map_type_proto(TensorProto.STRING, TENSOR), "map values"),
        (helper.make_sequence_type_proto(helper.make_map_type_proto(7, TENSOR)), "map values"),
        (helper.make_sparse_tensor_type_proto(FLOAT, None), "sparse tensors"),
        (helper.make_sequence_type_proto(sequence_of()), "sequences of sequences"),
    ],
)
def test_what_is_neither_fed_nor_judged_is_refused_by_name(declared, name):
    with pytest.raises(BeyondOpcheck, match=name):
        tensor_type(declared)


def test_element_types_that_onnx_does_not_have_are_an_error():
    for code in (0, 999):
        with pytest.raises(ValueError, match=f"no element type has the number {code}"):
            element(code)


def _raw(dims, size=4, **more):
    return TensorProto(data_type=FLOAT, dims=dims, raw_data=bytes(size), **more)


@pytest.mark.parametrize(
    ("proto", "told"),
    [
        (_raw([1 << 40, 1 << 40]), "a tensor of shape"),
        (_raw([-1]), "a tensor of shape"),
        (_raw([2]), "holds no readable value"),
        (_raw([1], data_location=TensorProto.EXTERNAL), "keeps its data in another file"),
        (TensorProto(data_type=999, dims=[1], raw_data=bytes(4)), "no element type"),
        (TensorProto(), "no element type"),
        (
            TensorProto(data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]),
            "holds no readable value",
        ),
        (TensorProto(data_type=TensorProto.INT4, dims=[9], raw_data=b"\0"), "no readable value"),
    ],
)
def test_damaged_tensors_are_errors_that_name_the_file(tmp_path, proto, told):
    with pytest.raises(ValueError, match=rf"input_0\.pb.*{told}"):
        read_value(stored(tmp_path, proto.SerializeToString()), TENSOR)


def test_other_values_than_declared_are_errors(tmp_path):
    maps = SequenceProto(elem_type=SequenceProto.MAP).SerializeToString()
    with pytest.raises(ValueError, match="a sequence of MAP, not of tensors"):
        read_value(stored(tmp_path, maps), sequence_of())
    maps = OptionalProto(elem_type=OptionalProto.MAP).SerializeToString()
    with pytest.raises(ValueError, match="an optional of something else"):
        read_value(stored(tmp_path, maps), optional_of(TENSOR))
    with pytest.raises(ValueError, match="no readable value"):
        read_value(stored(tmp_path, b"\xff" * 9), TENSOR)
    with pytest.raises(ValueError, match="no such file"):
        read_value(tmp_path / "input_1.pb", TENSOR)
