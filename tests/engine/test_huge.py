"""Elements of huge tensors, found by their positions, are those that the formulas compute."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.engine.evaluate import evaluate
from opcheck.engine.huge import RULES, HugeNode, Operand
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Attrs, OpVersion

SINCE = {"ArgMax": 13, "Cast": 13, "Concat": 13, "Expand": 13, "Gather": 13, "Identity": 14}
SINCE |= {"MatMulInteger": 10, "Pad": 18, "ReduceMax": 18, "ReduceMin": 18, "Reshape": 14}
SINCE |= {"ScatterElements": 18, "Slice": 13, "Tile": 13, "Transpose": 13, "Where": 16}
SINCE |= {"Abs": 13, "Add": 14, "Max": 13, "Min": 13, "Mul": 14, "Neg": 13, "Relu": 14, "Sub": 14}

DATA = (np.arange(5 * 7 * 3) % 11 - 5).astype(np.int8).reshape(5, 7, 3)
ROW = np.array([3, -2, 1], np.int8)
#: A row whose product with itself is 140,000·2¹⁴, which is more than 2³¹.
SUM_BEYOND_INT32 = np.full((1, 140_000), -128, np.int8)


def ints(*values: Any) -> Any:
    return np.array(values, np.int64)


def short(*values: Any) -> Any:
    return np.array(values, np.int32)


CASES: list[tuple[str, list[Any], Attrs]] = [
    ("Abs", [DATA], {}),
    ("Add", [DATA, ROW], {}),
    ("Add", [ROW, DATA], {}),
    ("Add", [DATA[:, :1], DATA[:1]], {}),
    ("ArgMax", [DATA], {"axis": 2}),
    ("ArgMax", [DATA], {"axis": -1, "keepdims": 1}),
    ("ArgMax", [DATA[:, 0, 0]], {}),
    ("Cast", [DATA], {"to": 9}),
    ("Concat", [DATA, DATA[:2], DATA[1:]], {"axis": 0}),
    ("Concat", [DATA, DATA[:, :4]], {"axis": -2}),
    ("Expand", [ROW, ints(4, 3)], {}),
    ("Expand", [DATA[:, :1], ints(5, 7, 1)], {}),
    ("Gather", [DATA, ints(4, 0, -1)], {}),
    ("Gather", [DATA, ints([1, -7], [6, 0])], {"axis": 1}),
    ("Gather", [DATA, np.array(2, np.int64)], {"axis": 2}),
    ("Gather", [DATA, short([1, -7], [6, 0])], {"axis": 1}),
    ("Gather", [DATA, short(4, -5)], {}),
    ("Identity", [DATA], {}),
    ("MatMulInteger", [DATA[0], DATA[1].T], {}),
    ("MatMulInteger", [SUM_BEYOND_INT32, SUM_BEYOND_INT32.T], {}),
    ("Max", [DATA, ROW], {}),
    ("Min", [DATA, ROW], {}),
    ("Mul", [DATA, ROW], {}),
    ("Neg", [DATA], {}),
    ("Pad", [DATA, ints(1, 0, 2, 0, 3, 1)], {}),
    ("Pad", [DATA, ints(0, 0, 2, 0, 0, 1), np.array(9, np.int8)], {}),
    ("ReduceMax", [DATA, ints(2)], {}),
    ("ReduceMax", [DATA, ints(-1)], {"keepdims": 1}),
    ("ReduceMax", [ROW], {}),
    ("ReduceMax", [ROW, ints()], {}),
    ("ReduceMin", [DATA, ints(2)], {}),
    ("ReduceMin", [ROW], {}),
    ("Relu", [DATA], {}),
    ("Reshape", [DATA, ints(3, -1)], {}),
    ("Reshape", [DATA, ints(0, 21)], {}),
    ("ScatterElements", [DATA[0, :, 0], ints(0, 6, -2), ROW], {}),
    ("ScatterElements", [DATA, ints([[1, 0]], [[-1, 2]]), DATA[:2, :1, :2]], {"axis": 2}),
    ("ScatterElements", [DATA[0, :, 0], short(0, 6, -2), ROW], {}),
    ("Slice", [DATA, ints(1), ints(4)], {}),
    ("Slice", [DATA, short(-1), short(-100), short(0), short(-2)], {}),
    ("Slice", [DATA, ints(-1, 5), ints(-100, 0), ints(0, 1), ints(-2, -3)], {}),
    ("Slice", [DATA, ints(0), ints(2**62), ints(-1), ints(2)], {}),
    ("Sub", [DATA, ROW], {}),
    ("Tile", [DATA, ints(2, 1, 3)], {}),
    ("Transpose", [DATA], {}),
    ("Transpose", [DATA], {"perm": (1, 2, 0)}),
    ("Where", [DATA > 0, DATA, np.array(7, np.int8)], {}),
    ("Where", [ROW > 0, DATA, DATA[:1]], {}),
]


def huge(name: str, inputs: list[Any], attrs: Attrs) -> HugeNode:
    def operand(array: Any) -> Operand:
        return Operand(array.shape, lambda positions: np.array(array.reshape(-1)[positions]))

    operands = tuple(map(operand, inputs))
    return HugeNode(OpVersion("", name, SINCE[name]), attrs, operands)


def test_each_operator_has_an_example() -> None:
    assert {name for name, _, _ in CASES} == RULES.keys()


@pytest.mark.parametrize("block", [4, 1000])
@pytest.mark.parametrize(("name", "inputs", "attrs"), CASES)
def test_blocks_by_position_are_the_formula_s_answer(
    name: str, inputs: list[Any], attrs: Attrs, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opcheck.engine.huge._BLOCK", block)
    (want,) = evaluate(Node(OpVersion("", name, SINCE[name]), tuple(inputs), attrs))
    node = huge(name, inputs, attrs)
    assert node.shape == want.shape
    for start in range(0, want.size, block):
        positions = np.arange(start, min(start + block, want.size))
        got = node.at(positions)
        assert got.dtype == want.dtype
        assert got.tolist() == want.reshape(-1)[positions].tolist()


@pytest.mark.parametrize(
    ("name", "inputs", "attrs"),
    [
        ("ArgMax", [DATA], {"axis": 0}),
        ("ArgMax", [DATA], {}),
        ("ArgMax", [DATA], {"axis": 2, "select_last_index": 1}),
        ("ReduceMax", [DATA, ints(0)], {}),
        ("ReduceMax", [DATA], {}),
        ("ReduceMin", [DATA, ints()], {}),
        ("ReduceMax", [DATA, ints(2)], {"keepdims": 0}),
        ("Pad", [DATA, ints(0, 0, 2, 0, 0, 1)], {"mode": "edge"}),
        ("MatMulInteger", [DATA, DATA], {}),
        ("ScatterElements", [DATA[0, :, 0], ints(0), ROW[:1]], {"reduction": "add"}),
        ("Reshape", [DATA, ints(105)], {"allowzero": 1}),
        ("Reshape", [DATA[:0], ints(0, -1)], {}),
    ],
)
def test_what_no_rule_states_is_not_judged(name: str, inputs: list[Any], attrs: Attrs) -> None:
    with pytest.raises(NotSupported):
        _ = huge(name, inputs, attrs).shape


@pytest.mark.parametrize(
    ("name", "inputs", "attrs"),
    [
        ("ArgMax", [DATA], {"axis": 3}),
        ("Gather", [DATA, ints(0, 5)], {}),
        ("Gather", [DATA, short(-6)], {}),
        ("Gather", [DATA, np.array(3, np.int64)], {"axis": 2}),
        ("MatMulInteger", [DATA[0], DATA[1]], {}),
        ("ReduceMax", [DATA, ints(3)], {}),
        ("Reshape", [DATA, ints(-1, -1, 3)], {}),
        ("Reshape", [DATA, ints(-2, 3)], {}),
        ("Reshape", [DATA, ints(4, -1)], {}),
        ("Reshape", [DATA, ints(106)], {}),
        ("Reshape", [DATA, ints(5, 7, 3, 0)], {}),
        ("ScatterElements", [DATA[0, :, 0], ints(7), ROW[:1]], {}),
        ("ScatterElements", [DATA[0, :, 0], short(0, -8), ROW[:2]], {}),
        ("ScatterElements", [DATA[0, :, 0], ints(0, 1), ROW], {}),
        ("ScatterElements", [DATA[0], ints(0), ROW[:1]], {}),
        ("ScatterElements", [DATA[0], np.zeros((1, 4), np.int64), DATA[:1, :4, 0]], {}),
    ],
)
def test_a_node_that_the_formula_refuses_is_invalid(
    name: str, inputs: list[Any], attrs: Attrs
) -> None:
    with pytest.raises(InvalidNode):
        evaluate(Node(OpVersion("", name, SINCE[name]), tuple(inputs), attrs))
    with pytest.raises(InvalidNode):
        _ = huge(name, inputs, attrs).shape


def test_an_operator_without_a_rule_is_refused() -> None:
    node = HugeNode(OpVersion("", "Softmax", 13), {}, (Operand((3,), ROW.__getitem__),))
    with pytest.raises(NotSupported):
        _ = node.shape


def test_positions_beyond_32_bits_are_exact() -> None:
    """A tensor of 3·2³¹ elements: no value is read but those asked for."""
    size = 3 * 2**31
    asked: list[int] = []

    def at(positions: Any) -> Any:
        asked.extend(positions.tolist())
        return (positions % 251).astype(np.uint8)

    data = Operand((3, 2**31), at)
    node = HugeNode(OpVersion("", "Transpose", 13), {}, (data,))
    positions = np.array([0, 1, 2, size - 2, size - 1])
    assert node.shape == (2**31, 3)
    got = node.at(positions)
    assert asked == [0, 2**31, 2**32, 2**32 - 1, size - 1]
    assert got.tolist() == [position % 251 for position in asked]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_negative_indices_count_from_the_end_of_an_axis_beyond_32_bits(dtype: Any) -> None:
    size = 3 * 10**9
    data = Operand((size,), lambda positions: (positions % 251).astype(np.uint8))
    indices = Operand((2,), np.array([-1, 7], dtype).__getitem__)
    node = HugeNode(OpVersion("", "Gather", 13), {}, (data, indices))
    assert node.at(np.arange(2)).tolist() == [(size - 1) % 251, 7]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_updates_go_to_the_end_of_an_axis_beyond_32_bits(dtype: Any) -> None:
    size = 3 * 10**9
    data = Operand((size,), lambda positions: (positions % 251).astype(np.uint8))
    indices = Operand((2,), np.array([-1, 7], dtype).__getitem__)
    updates = Operand((2,), np.array([252, 253], np.uint8).__getitem__)
    node = HugeNode(OpVersion("", "ScatterElements", 18), {}, (data, indices, updates))
    assert node.shape == (size,)
    assert node.at(np.array([6, 7])).tolist() == [6, 253]
    assert node.at(np.array([size - 2, size - 1])).tolist() == [(size - 2) % 251, 252]
