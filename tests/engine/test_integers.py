"""Sums and products that a type of integers does not hold: no text states what they become."""

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

ROW = np.int32([[2**30, 2**30]])
COLUMN = np.int32([[1], [1]])


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
