import numpy as np
import pytest
from onnx import TensorProto, helper

from opcheck.errors import CaseFileError, UsageError
from opcheck.execution.expected import question
from opcheck.model import Agreement
from opcheck.suite import load_all
from tests.models import model, relu, sequence_of, tensor, typed


def at(path, proto):
    path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return path


def problem(path, **dims):
    with pytest.raises(CaseFileError) as caught:
        load_all([path], dims)
    (one,) = caught.value.problems
    assert one.file == str(path)
    return one.message


def test_inputs_are_made_up_and_backends_asked_to_agree(tmp_path):
    path = at(tmp_path / "m.onnx", relu(["batch", 3]))
    (case,) = load_all([path], {"batch": 4})
    assert isinstance(case.expect, Agreement)
    assert case.id == str(path)
    assert case.said == ("--dim=batch=4",)
    (x,) = question(case).inputs
    assert (x.dtype, x.shape) == (np.float32, (4, 3))
    assert np.unique(x).size == 12
    (again,) = load_all([path], {"batch": 4})
    assert question(again).inputs[0].tolist() == x.tolist()


def test_sizes_go_by_name_or_by_place(tmp_path):
    path = at(tmp_path / "m.onnx", relu([None, "n"]))
    assert problem(path, n=2) == "input 'x': nobody says how large axis 0 is: --dim 'x[0]'=N"
    assert problem(path, **{"x[0]": 2}) == "input 'x': nobody says how large axis 1 is: --dim n=N"
    (case,) = load_all([path], {"x[0]": 2, "x[1]": 5, "n": 7})
    assert case.inputs[0].shape == (2, 5)


def test_sizes_that_no_model_has_are_an_error(tmp_path):
    path = at(tmp_path / "m.onnx", relu(["batch", 3]))
    with pytest.raises(UsageError, match="--dim bach: no model here") as caught:
        load_all([path], {"bach": 4})
    assert caught.value.hint == "did you mean 'batch'?"


def test_integers_are_small_and_booleans_either(tmp_path):
    node = helper.make_node("Where", ["c", "i", "i"], ["y"])
    inputs = [tensor("c", TensorProto.BOOL, [99]), tensor("i", TensorProto.INT64, [99])]
    path = at(tmp_path / "m.onnx", model([node], inputs, [tensor("y", TensorProto.INT64, [99])]))
    (case,) = load_all([path])
    c, i = question(case).inputs
    assert {*c.tolist()} == {True, False}
    assert {*i.tolist()} == {0, 1, 2, 3}


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 20], [1 << 27], [-1], [-5, -5]])
def test_absurd_shapes_are_told_before_anything_is_made(tmp_path, shape):
    found = problem(at(tmp_path / "m.onnx", relu(shape)))
    assert "is declared as float32[" in found
    assert "0 to 67,108,864 elements are made up" in found


def test_shapes_that_are_not_declared_are_told(tmp_path):
    proto = relu()
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert problem(at(tmp_path / "m.onnx", proto)) == "input 'x' is declared without a shape"


@pytest.mark.parametrize("data", [b"", b"\xff" * 99, b"op: Relu"])
def test_what_is_no_model_is_told(tmp_path, data):
    assert problem(at(tmp_path / "m.onnx", data)).startswith("this is no ")


def test_a_missing_model_is_told(tmp_path):
    assert problem(tmp_path / "m.onnx").endswith("there is no such file")


def test_what_cannot_be_made_up_or_compared_is_counted_and_named(tmp_path):
    node = helper.make_node("SequenceLength", ["s"], ["y"])
    proto = model([node], [typed("s", sequence_of())], [tensor("y", TensorProto.INT64, [])])
    (case,) = load_all([at(tmp_path / "s.onnx", proto)])
    assert case.beyond == "no values are made up for a sequence or an optional (input 's')"
    node = helper.make_node("Bernoulli", ["x"], ["y"])
    proto = model([node], [tensor("x")], [tensor("y")])
    (case,) = load_all([at(tmp_path / "b.onnx", proto)])
    assert case.beyond == "outputs that are drawn at random: y"
    node = helper.make_node("Identity", ["x"], ["y"])
    words = TensorProto.STRING
    proto = model([node], [tensor("x", words)], [tensor("y", words)])
    (case,) = load_all([at(tmp_path / "w.onnx", proto)])
    assert case.beyond == "no values are made up for string (input 'x')"
