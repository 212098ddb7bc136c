import numpy as np
import pytest

from opcheck.graph.nodes import all_node_tests, node_tests


@pytest.mark.parametrize(("op", "number"), [("Hardmax", 7), ("Softmax", 7), ("LpPool", 8)])
def test_they_come_with_their_data_and_the_tolerance_of_onnx_s_runner(op, number):
    found = node_tests(op)
    assert len(found) == number
    assert {(test.rtol, test.atol) for test in found} == {(1e-3, 1e-7)}
    for test in found:
        assert test.name.startswith(f"test_{op.lower()}_")
        assert [array.dtype for array in (*test.inputs, *test.outputs)] == [np.float32] * 2


def test_attributes_are_those_of_the_node():
    found = {test.name: test.attrs for test in node_tests("LpPool")}
    assert found["test_lppool_2d_same_upper"] == {
        "kernel_shape": (2, 2),
        "p": 2,
        "auto_pad": "SAME_UPPER",
    }
    assert {test.name: test.attrs for test in node_tests("Hardmax")}["test_hardmax_axis_1"] == {
        "axis": 1
    }


def test_operators_without_any_have_none():
    assert node_tests("DML_ACTIVATION_HARDMAX1") == ()
    assert node_tests("no_operator") == ()


def test_what_no_case_can_state_is_left_out():
    all_node_tests()  # after which those of all operators are there
    assert [test.name for test in node_tests("Identity")] == ["test_identity"]  # not of sequences
    assert node_tests("Loop") == ()  # its attribute is a graph
    assert node_tests("SequenceInsert") == ()
    [pool] = [t for t in node_tests("MaxPool") if t.name == "test_maxpool_2d_uint8"]
    assert (pool.inputs[0].dtype, pool.attrs["pads"]) == (np.uint8, (2, 2, 2, 2))
