"""What wrong values have in common, and that nothing is guessed where they have nothing."""

from typing import Any

import numpy as np
import pytest

from opcheck.diagnose.patterns import _is_swapped, resemblance
from opcheck.engine import Node
from opcheck.model import Foreign, OpVersion, Tolerance
from tests.diagnose.wrong import HARDMAX, SOFTMAX, node, wrong
from tests.wording import Wording

ROW = node(SOFTMAX, [[0, 1, 2, 3, 5, 6, 7, 8]], {"axis": 1})
RIGHT = ROW.right[0]


@pytest.mark.parametrize(
    ("dtype", "factor", "offset"),
    [
        (np.float32, 3, 0),
        (np.float32, 1.0009765625, 0),
        (np.float32, -1, 0),
        (np.float16, 1.128, 0),
        (np.float64, 1 + 2e-7, 0),
        (np.float32, 1, -0.25),
        (np.float32, 1, 0.25),
    ],
)
def test_a_common_factor_or_offset_is_named(dtype, factor, offset, wording):
    given = node(SOFTMAX, ROW.inputs[0], {"axis": 1}, dtype)
    got = (given.right[0].astype(float) * factor + offset).astype(dtype)
    assert resemblance(wrong(given, [got])) == wording


@pytest.mark.parametrize("many", [2, 3])
def test_three_values_have_something_in_common(many: int, wording: Wording) -> None:
    got = RIGHT * np.float32([5] * many + [1] * (8 - many))
    pattern = resemblance(wrong(ROW, [got]))
    assert pattern == wording if many == 3 else pattern is None


def test_the_choice_of_another_of_equal_elements_is_named(wording: Wording) -> None:
    ties = node(HARDMAX, [[3, 1, 3, 2], [0, 5, 5, 5]], {"axis": 1})
    got = np.array([[0, 0, 1, 0], [0, 0, 1, 0]], np.float32)
    swapped = resemblance(wrong(ties, [got]))
    assert swapped == wording
    assert resemblance(wrong(ties, [np.roll(got, 1)])) != swapped


@pytest.mark.parametrize(("most", "is_named"), [(100, True), (4096, True), (4097, False)])
def test_the_tolerance_that_would_pass_is_named_up_to_half_of_the_digits(most, is_named, wording):
    steps = np.array([0, 40, -7, 0, 3, most, 1, 0], np.int32)
    got = (RIGHT.view(np.int32) + steps).view(np.float32)
    pattern = resemblance(wrong(ROW, [got]))
    assert pattern == wording if is_named else pattern is None


def test_a_factor_of_nearly_1_is_a_loss_of_precision(wording: Wording) -> None:
    got = (RIGHT.view(np.int32) + 4).view(np.float32)
    assert resemblance(wrong(ROW, [got], Tolerance(ulp=0))) == wording


#: One value has nothing in common with itself.
ONE_WRONG = RIGHT.copy()
ONE_WRONG[0, 3] *= 5


@pytest.mark.parametrize(
    "got",
    [
        [np.full_like(RIGHT, np.nan)],
        [RIGHT[0]],
        [RIGHT.astype(np.float64)],
        [np.zeros_like(RIGHT)],
        [Foreign("a list")],
        [ONE_WRONG],
        None,
        [],
        [3 * RIGHT, RIGHT],
    ],
    ids=["nan", "shape", "dtype", "zeros", "type", "one value", "refusal", "0", "2"],
)
def test_nothing_is_guessed(got: Any) -> None:
    assert resemblance(wrong(ROW, got)) is None


LAYER = Node(
    OpVersion("", "LayerNormalization", 17), (X := np.float32([[1, 2, 4], [0, 3, 9]]), X[0]), {}
)


@pytest.mark.parametrize(("values", "dtype"), [(["a", "b"], object), ([1j, 2], np.complex64)])
def test_numbers_have_nothing_in_common_with_what_is_no_real_number(
    values: Any, dtype: Any
) -> None:
    evidence = wrong(node(OpVersion("", "Identity", 13), values, {}, dtype), [np.float32([1, 2])])
    assert (evidence.nearest, evidence.farthest) == ([None], [(0, 0)])
    assert resemblance(evidence) is None


def test_outputs_that_are_right_have_no_say(wording: Wording) -> None:
    y, mean, inverse = LAYER.right
    assert resemblance(wrong(LAYER, [y, mean, 3 * inverse])) is None
    got = [3 * y, np.nextafter(mean, np.float32(9)), inverse]
    assert resemblance(wrong(LAYER, got)) == wording
    # One cause for both is said once, and none if one of the wrong ones has another.
    assert resemblance(wrong(LAYER, [3 * y, mean, np.float32([[1], [7]])])) is None


def test_of_several_outputs_each_pattern_names_its_own(wording: Wording) -> None:
    rows = np.float32([[1, 2, 4], [0, 3, 9], [5, 6, 8]])
    layer = Node(OpVersion("", "LayerNormalization", 17), (rows, rows[0]), {})
    y, mean, inverse = layer.right
    both = resemblance(wrong(layer, [3 * y, 3 * mean, inverse]))
    assert both == wording
    different = resemblance(wrong(layer, [3 * y, mean + 2, inverse]))
    assert different == wording


def test_the_sign_of_zeros_is_named_where_it_is_wrong(wording: Wording) -> None:
    zeros = node(OpVersion("", "Abs", 13), [[0, 1, np.nan]], {})
    got, strict = np.array([[-0.0, 1, np.nan]], np.float32), Tolerance(ulp=0, signed_zeros=True)
    assert resemblance(wrong(zeros, [got], strict)) == wording
    assert resemblance(wrong(zeros, [np.abs(got)], strict)) is None


def test_values_in_another_order_are_known(wording: Wording) -> None:
    assert resemblance(wrong(ROW, [RIGHT[:, ::-1]])) == wording


INTEGERS = Node(
    OpVersion("", "Add", 14),
    (np.int32([[1, 2, 3], [4, 5, 6]]), np.int32([[10, 20, 30], [40, 50, 60]])),
    {},
)


@pytest.mark.parametrize(
    ("got", "is_known"),
    [
        ([[11, 22, 33], [4, 5, 6]], True),
        ([[11, 22, 33], [0, 0, 0]], True),
        ([[11, 22, 33], [11, 22, 33]], True),
        ([[11, 22, 33], [1, 2, 9]], False),
        ([[11, 22, 33], [44, 55, 6]], False),
    ],
    ids=["input", "zero", "first", "anything", "a single value"],
)
def test_what_is_right_in_a_part_is_known(got: Any, is_known: bool, wording: Wording) -> None:
    pattern = resemblance(wrong(INTEGERS, [np.int32(got)]))
    assert pattern == wording if is_known else pattern is None


def test_an_input_that_a_part_of_the_tensor_keeps_is_known(wording: Wording) -> None:
    relu = Node(OpVersion("", "Relu", 14), (np.float32([-1, 2, -3, -4, -5]),), {})
    got = np.float32([0, 2, -3, -4, -5])
    assert resemblance(wrong(relu, [got])) == wording


def test_the_parts_of_complex_inputs_are_not_dropped() -> None:
    assert not _is_swapped(
        np.complex64([1, 1 + 1j, 2]), np.float32([1, 2, 3]), np.float32([2, 1, 3])
    )
    assert _is_swapped(np.float32([1, 1, 2]), np.float32([1, 2, 3]), np.float32([2, 1, 3]))
