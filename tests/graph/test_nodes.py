import numpy as np
import pytest
from onnx import TensorProto, helper

from benchmarks.node_tests import node_tests
from opcheck.graph.test_data import ATOL, RTOL, random_outputs, read_tolerance, stated
from tests.expecting import error_of
from tests.models import model, tensor

RATIO = [tensor("r", shape=[]), tensor("t", TensorProto.BOOL, [])]


def outputs_of(*nodes):
    return random_outputs(model(nodes, [tensor("x"), *RATIO], [tensor("y"), tensor("z")]))


def test_what_follows_from_a_random_draw_is_random_and_nothing_else():
    draw = helper.make_node("RandomNormalLike", ["x"], ["a"], seed=1.0)
    after = helper.make_node("Relu", ["a"], ["y"])
    beside = helper.make_node("Relu", ["x"], ["z"])
    assert outputs_of(draw, after, beside) == {"y"}
    assert outputs_of(helper.make_node("Relu", ["x"], ["y"]), beside) == frozenset()


def test_dropout_draws_where_it_may_be_training():
    assert outputs_of(helper.make_node("Dropout", ["x", "r", "t"], ["y", "z"])) == {"y", "z"}
    assert outputs_of(helper.make_node("Dropout", ["x", "r"], ["y", "z"])) == frozenset()
    assert outputs_of(helper.make_node("Dropout", ["x", "r", ""], ["y", "z"])) == frozenset()


def test_a_draw_in_a_graph_within_or_before_it_is_one_of_the_node_around_it():
    draw = helper.make_node("Bernoulli", ["x"], ["a"])
    for op, read, before in (("Bernoulli", "x", []), ("Relu", "a", [draw])):
        branch = helper.make_graph([helper.make_node(op, [read], ["b"])], "b", [], [tensor("b")])
        node = helper.make_node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)
        assert outputs_of(*before, node) == {"y"}


def test_a_draw_in_a_function_of_the_model_is_one_of_its_node():
    body = [helper.make_node("Bernoulli", ["a"], ["b"])]
    function = helper.make_function("mine", "f", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    node = helper.make_node("f", ["x"], ["y"], domain="mine")
    proto = model([node], [tensor("x")], [tensor("y")])
    proto.functions.append(function)
    assert random_outputs(proto) == {"y"}


@pytest.mark.parametrize(("op", "number"), [("Hardmax", 7), ("Softmax", 7), ("LpPool", 8)])
def test_they_come_with_their_data_and_the_tolerance_of_onnx_s_runner(op, number):
    found = node_tests(op)
    assert len(found) == number
    assert {(test.rtol, test.atol) for test in found} == {(1e-3, 1e-7)}
    for test in found:
        assert test.name.startswith(f"test_{op.lower()}_")
        [data] = test.data_sets
        assert [array.dtype for array in (*data.inputs, *data.outputs)] == [np.float32] * 2


def test_attributes_are_those_of_the_node():
    found = {test.name: stated(test.model).attrs for test in node_tests("LpPool")}
    same_upper = {"kernel_shape": (2, 2), "p": 2, "auto_pad": "SAME_UPPER"}
    assert found["test_lppool_2d_same_upper"] == same_upper
    [test] = (test for test in node_tests("Hardmax") if test.name == "test_hardmax_axis_1")
    assert stated(test.model).attrs == {"axis": 1}


def test_operators_without_any_have_none():
    assert node_tests("DML_ACTIVATION_HARDMAX1") == ()
    assert node_tests("no_operator") == ()


def test_what_is_not_said_is_as_onnx_runner_has_it():
    assert read_tolerance(b"{}") == (RTOL, ATOL)
    assert read_tolerance(b'{"atol": 0, "more": 1}') == (RTOL, 0.0)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-1", "true", '"1"', "null", "1" + "0" * 400])
def test_no_other_number_is_a_tolerance(number, wording):
    assert error_of(ValueError, read_tolerance, b'{"rtol": %s}' % number.encode()) == wording


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"9" * 10_000, b'{"rtoll": 1}']
)
def test_what_is_no_object_is_told(data, wording):
    assert error_of(ValueError, read_tolerance, data) == wording


@pytest.mark.parametrize(
    "shown", [["Y"], ["Y", "Y_h"], ["Y_h"], ["Y_c"], ["Y", "Y_c"], ["Y_c", "Y_h"]]
)
def test_outputs_that_are_left_out_keep_their_places(shown):
    names = [name if name in shown else "" for name in ("Y", "Y_h", "Y_c")]
    node = helper.make_node("LSTM", ["X", "W", "R"], names, hidden_size=4)
    infos = [[helper.make_tensor_value_info(name, 1, None) for name in n] for n in ("XWR", shown)]
    model = helper.make_model(helper.make_graph([node], "one", *infos))
    assert stated(model).plain
    assert [*stated(model).output_slots] == names
