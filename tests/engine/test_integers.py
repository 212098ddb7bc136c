"""Sums and products that a type of integers does not hold: no text states what they become."""

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.engine.ops.arithmetic import DIV
from opcheck.engine.undefined import marking
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate, first_outputs

ROW = np.int32([[2**30, 2**30]])
COLUMN = np.int32([[1], [1]])
#: Of 7/2, -7/0, the least number by -1, and 5/-3.
QUOTIENTS = [3, None, None, -1]


@pytest.mark.parametrize(
    ("name", "a", "b", "wrapped", "saturated"),
    [
        ("Add", np.int8([127, 3]), np.int8([1, 4]), [-128, 7], [127, 7]),
        ("Sub", np.uint8([3, 200]), np.uint8([5, 100]), [254, 100], [0, 100]),
        ("Mul", np.int64([2**62, 3]), np.int64([-5, -7]), [-(2**62), -21], [-(2**63), -21]),
        ("Mul", np.int32(-(2**31)), np.int32(-1), -(2**31), 2**31 - 1),
        ("Add", np.uint64(2**64 - 1), np.uint64(5), 4, 2**64 - 1),
        ("PRelu", np.int32([-(2**31), 5]), np.int32([2]), [0, 5], [-(2**31), 5]),
    ],
)
def test_each_element_of_two_operands_wraps_around_or_saturates(name, a, b, wrapped, saturated):
    since = {"PRelu": 16}.get(name, 14)
    found = by_reading(OpVersion("", name, since), [a, b], {})
    assert {reading: y.tolist() for reading, (y,) in found.items()} == {
        "wraps": wrapped,
        "saturates": saturated,
    }


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("CumSum-14", [np.int32([2**31 - 1, 1, -5]), np.int64(0)], {}),
        ("CumProd-26", [np.int64([2**62, 2]), np.int64(0)], {}),
        ("ReduceSum-13", [np.int64([2**63 - 1, 1])], {}),
        ("ReduceProd-13", [np.int32([65536, 65536])], {}),
        ("ReduceL1-13", [np.int32([-(2**31)])], {}),
        ("ReduceSumSquare-13", [np.int32([46341])], {}),
        ("ReduceLogSum-13", [np.uint32([2**32 - 1, 2])], {}),
        ("MatMul-13", [ROW, COLUMN], {}),
        ("Gemm-13", [ROW[:, :1], COLUMN[:1]], {"alpha": 2.0}),
        ("Gemm-13", [ROW[:, :1], COLUMN[:1], ROW[:, :1]], {}),
        ("Einsum-12", [np.int64([2**62, 2**62])], {"equation": "i->"}),
        ("Einsum-12", [ROW[0], np.int32([2, 1])], {"equation": "i,i->i"}),
    ],
)
def test_sums_and_products_of_many_are_open_outside_of_their_type(op, inputs, attrs):
    name, since = op.split("-")
    with judging(), pytest.raises(NotSupported):
        evaluate(OpVersion("", name, int(since)), inputs, attrs)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "want"),
    [
        ("CumSum-14", [np.int32([2**31 - 1, 1]), np.int64(0)], {"exclusive": 1}, [0, 2**31 - 1]),
        ("ReduceSum-13", [np.int64([2**63 - 1, 1, -5])], {"keepdims": 0}, 2**63 - 5),
        ("ReduceProd-13", [np.int32([65536, 65536, 0])], {"keepdims": 0}, 0),
        ("MatMul-13", [ROW - np.int32([0, 1]), COLUMN], {}, [[2**31 - 1]]),
        ("Gemm-13", [ROW[:, :1], COLUMN[:1], ROW[:, :1]], {"alpha": 2.0, "beta": -1.0}, [[2**30]]),
        ("Einsum-12", [np.int64([2**62, 2**62, -1])], {"equation": "i->"}, 2**63 - 1),
    ],
)
def test_a_result_that_the_type_holds_is_decided_whatever_comes_on_the_way(op, inputs, attrs, want):
    name, since = op.split("-")
    with judging():
        (y,) = evaluate(OpVersion("", name, int(since)), inputs, attrs)
    assert y.tolist() == want


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "want"),
    [
        (
            "CumSum-14",
            [np.int32([2**31 - 1, 1, -5]), np.int64(0)],
            {},
            [2**31 - 1, None, 2**31 - 5],
        ),
        ("ReduceSum-11", [np.int32([[2**30, 2**30], [3, 4]])], {"axes": [1]}, [[None], [7]]),
        ("ReduceMean-13", [np.int32([[1, 2], [3, 5]])], {"axes": [1]}, [[None], [4]]),
        ("ReduceL2-13", [np.int32([[3, 4], [1, 1]])], {"axes": [1]}, [[5], [None]]),
        ("MatMul-13", [np.int32([[2**30, 2**30], [1, 2]]), COLUMN], {}, [[None], [3]]),
        ("Gemm-13", [np.int32([[2**30], [3]]), COLUMN[:1]], {"alpha": 2.0}, [[None], [6]]),
        ("Einsum-12", [ROW[0], np.int32([2, 1])], {"equation": "i,i->i"}, [None, 2**30]),
        ("Div-14", [np.int32([7, -7, -(2**31), 5]), np.int32([2, 0, -1, -3])], {}, QUOTIENTS),
        ("Mod-13", [np.uint8([7, 9]), np.uint8([0, 4])], {"fmod": 0}, [None, 1]),
        ("Mod-10", [np.int64([0, -7]), np.int64([4, 4])], {"fmod": 0}, [None, 1]),
        ("BitShift-11", [np.uint8([3, 3]), np.uint8([8, 7])], {"direction": "LEFT"}, [None, 128]),
        ("Pow-15", [np.int32([2, 10, 9]), np.int32([31, 3, -1])], {}, [None, 1000, 0]),
    ],
)
def test_an_element_that_is_not_defined_is_left_out_and_others_are_judged(op, inputs, attrs, want):
    name, since = op.split("-")
    for y in first_outputs(Node(OpVersion("", name, int(since)), tuple(inputs), attrs)):
        assert y in (want, None)


@pytest.mark.parametrize(("name", "attrs"), [("Div", {}), ("Mod", {"fmod": 0})])
def test_a_division_by_0_may_be_refused(name, attrs):
    node = Node(OpVersion("", name, 13), (np.int32([1, 2]), np.int32([0, 1])), attrs)
    with judging():
        answers = {one.chosen["integers-without-quotient"]: one.answer for one in each_answer(node)}
    assert isinstance(answers["refused"], InvalidNode)
    assert [*map(np.shape, map(rounded, answers["anything"]))] == [(2,)]


def test_a_judged_graph_does_not_go_on_with_an_undefined_element():
    with judging(), pytest.raises(NotSupported), marking(allowed=False):
        DIV.formulas[14](np.int32([1, 2]), np.int32([0, 1]))
