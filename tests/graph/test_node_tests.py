import numpy as np
import pytest

from opcheck.graph.nodes import node_tests, stated


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
    assert found["test_lppool_2d_same_upper"] == {
        "kernel_shape": (2, 2),
        "p": 2,
        "auto_pad": "SAME_UPPER",
    }
    [test] = (test for test in node_tests("Hardmax") if test.name == "test_hardmax_axis_1")
    assert stated(test.model).attrs == {"axis": 1}


def test_operators_without_any_have_none():
    assert node_tests("DML_ACTIVATION_HARDMAX1") == ()
    assert node_tests("no_operator") == ()
