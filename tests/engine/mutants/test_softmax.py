"""Mutants of Softmax answer what their names say, worked out by hand."""

from math import e, exp, inf, log, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.engine.mutants import mutants_of
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Attrs, OpVersion

#: Those that concern a legal node of each version, by name.
CALLED = ("", "exp", "max", "sum", "divide by tensors", "matrix_of", "from_either_end")
BY_NAME = {
    since: {
        one.name: one
        for one in mutants_of(OpVersion("", "Softmax", since))
        if one.primitive in CALLED
    }
    for since in (1, 11, 13)
}


def node(values: Any, since: int = 13, dtype: str = "float64", **attrs: int) -> Node:
    return Node(OpVersion("", "Softmax", since), (np.array(values, dtype),), attrs)


def answer(name: str, asked: Node) -> Any:
    [out] = BY_NAME[asked.op.since][name].answer(asked)
    return out


PARTS: list[tuple[str, int, tuple[int, ...], Attrs, int]] = [
    ("version_13_always", 11, (2, 3, 4), {}, 4),
    ("version_11_always", 13, (2, 3, 4), {}, 12),
    ("default_axis_minus_1", 11, (2, 3, 4), {}, 4),
    ("default_axis_1", 13, (2, 3, 4), {}, 3),
    ("default_axis_0", 13, (2, 3, 4), {}, 2),
    ("axis_0_is_the_default", 13, (2, 3, 4), {"axis": 0}, 4),
    ("negative_axis_off_by_one", 13, (2, 3, 4), {"axis": -3}, 3),
    ("minus_sign_ignored", 13, (2, 3, 4), {"axis": -1}, 3),
    ("axis_wraps", 13, (2, 3, 4), {"axis": 3}, 2),
    ("axis_clamped", 13, (2, 3, 4), {"axis": -5}, 2),
    ("out_of_range_is_last", 13, (2, 3, 4), {"axis": -5}, 4),
    ("axis_in_32_bits", 13, (2, 3, 4), {"axis": 2**32 + 1}, 3),
    ("rank_5_coerced", 13, (2, 3, 2, 1, 4), {"axis": 1}, 24),
    ("rank_5_coerced", 13, (3, 2, 1, 4), {"axis": 1}, 2),
    ("axis_0_is_1_of_rank_5", 13, (2, 3, 2, 1, 4), {"axis": 0}, 3),
    ("first_two_of_more_than_4_axes_merged", 13, (2, 3, 2, 1, 4), {"axis": 0}, 6),
    ("first_two_of_more_than_4_axes_merged", 13, (2, 3, 2, 1, 4), {"axis": 2}, 2),
    ("first_two_of_more_than_5_axes_merged", 13, (2, 3, 2, 1, 4), {"axis": 0}, 2),
    ("first_two_of_more_than_5_axes_merged", 11, (2, 3, 2, 1, 1, 4), {"axis": 1}, 48),
    ("last_two_of_more_than_4_axes_merged", 13, (2, 3, 1, 2, 4), {"axis": 3}, 8),
    ("last_two_of_more_than_4_axes_merged", 13, (2, 3, 2, 4), {"axis": 3}, 4),
    ("last_two_of_more_than_5_axes_merged", 11, (2, 3, 1, 2, 2, 4), {"axis": 5}, 8),
    ("negative_axis_after_squeezing", 13, (4, 3, 1, 1), {"axis": -1}, 3),
    ("negative_axis_after_squeezing", 13, (4, 3, 1, 1), {"axis": -3}, 4),
    ("negative_axis_after_squeezing", 13, (4, 3, 1, 1), {"axis": 1}, 3),
    ("version_11_always", 13, (2, 3, 4), {"axis": 1}, 12),
    ("version_13_always", 11, (2, 3, 4), {"axis": 1}, 3),
    ("coercion_one_axis_short", 11, (2, 3, 4), {"axis": 1}, 4),
    ("coercion_one_axis_short", 11, (2, 3, 4), {"axis": 2}, 1),
    ("coercion_one_axis_long", 11, (2, 3, 4), {"axis": 2}, 12),
    ("axis_plus_1", 13, (2, 3, 4), {"axis": 1}, 4),
    ("axis_minus_1", 13, (2, 3, 4), {"axis": 1}, 2),
    ("axis_1_always", 13, (2, 3, 4), {"axis": 2}, 3),
    ("first_axis_always", 13, (2, 3, 4), {"axis": 2}, 2),
    ("last_axis_always", 13, (2, 3, 4), {"axis": 0}, 4),
    ("axis_mirrored", 13, (2, 3, 4), {"axis": 0}, 4),
    ("shape_reversed", 13, (2, 3, 4), {"axis": 0}, 4),
    ("whole_tensor", 13, (2, 3, 4), {"axis": 0}, 24),
]


@pytest.mark.parametrize(("name", "since", "shape", "attrs", "parts"), PARTS)
def test_another_row_has_another_number_of_parts(name, since, shape, attrs, parts):
    asked = Node(OpVersion("", "Softmax", since), (np.zeros(shape, np.float32),), attrs)
    out = answer(name, asked)
    assert out.shape == shape
    np.testing.assert_allclose(out, 1 / parts, rtol=1e-6)


ROWS: list[tuple[str, list[list[float]], list[list[float]]]] = [
    ("rows_side_by_side", [[0, log(3)], [0, 0]], [[0.25, 0.75], [0.5, 0.5]]),
    ("row_of_one_element_kept", [[7], [9]], [[7], [9]]),
    ("row_of_one_element_kept", [[0, 0]], [[0.5, 0.5]]),
    ("last_row_missing", [[0, 0], [0, 0]], [[0.5, 0.5], [0, 0]]),
    # What is taken away, where it matters: beyond the range of float64.
    ("nothing_subtracted", [[1000, 0]], [[nan, 0]]),
    (
        "clamped_not_shifted",
        [[1000, 500, -1000], [0, log(3), -inf]],
        [[0.5, 0.5, 0], [0.25, 0.75, 0]],
    ),
    (
        "equal_maxima_counted_once",
        [[1, 1, 0, 1], [0, 1, 0, 1]],
        [[e / (e + 1)] * 2 + [1 / (e + 1)] + [e / (e + 1)], [1 / (e + 2), e / (e + 2)] * 2],
    ),
    ("shift_by_the_whole_maximum", [[1000, 0], [0, 0]], [[1, 0], [nan, nan]]),
    ("maximum_across_the_rows", [[0, 1000], [-2000, 1000]], [[0.5, 0.5], [0, 1]]),
    ("shift_by_the_first_element", [[0, 1000]], [[0, nan]]),
    ("shift_by_the_last_element", [[1000, 0]], [[nan, 0]]),
    ("shift_by_the_magnitude", [[-1000, -1000]], [[nan, nan]]),
    ("shift_by_the_mean", [[2000, 0]], [[nan, 0]]),
    ("shift_by_the_minimum", [[1000, 0]], [[nan, 0]]),
    ("shift_by_the_maximum_before", [[0, 0], [-1000, -1000]], [[0.5, 0.5], [nan, nan]]),
    ("shift_by_the_first_half", [[0, 0, 0, 1000]], [[0, 0, 0, nan]]),
    ("maximum_of_whole_vectors_of_4", [[0, 0, 0, 0, 1000]], [[0, 0, 0, 0, nan]]),
    ("maximum_of_whole_vectors_of_8", [[0, 0, 0, 0, 1000]], [[0, 0, 0, 0, 1]]),
    ("maximum_of_one_lane_of_4", [[0, 1000, 0, 0, 1000]], [[0, 0.5, 0, 0, 0.5]]),
    ("maximum_of_one_lane_of_4", [[0, 1000]], [[0, nan]]),
    ("maximum_of_the_bits", [[-1000, -2000]], [[nan, 0]]),
    ("maximum_starts_at_0", [[-1000, -1000]], [[nan, nan]]),
    ("maximum_starts_at_minus_1e4", [[-1000, -1000], [-2e4, -2e4]], [[0.5, 0.5], [nan, nan]]),
    ("new_maximum_does_not_rescale", [[0, log(2)]], [[0.25, 0.5]]),
    ("minus_infinity_less_minus_infinity", [[-inf, 0], [0, -inf]], [[nan, nan], [1, 0]]),
    ("first_block_of_8_masked_is_nan", [[-inf] * 8 + [0]], [[nan] * 9]),
    ("first_block_of_8_masked_is_nan", [[-inf] * 7 + [0, -inf]], [[0] * 7 + [1, 0]]),
    ("first_block_of_16_masked_is_nan", [[-inf] * 8 + [0]], [[0] * 8 + [1]]),
    # The exponential.
    ("base_2", [[0, 1]], [[1 / 3, 2 / 3]]),
    ("no_exponential", [[1, 3]], [[0.25, 0.75]]),
    ("sign_lost", [[-log(3), 0]], [[0.75, 0.25]]),
    ("sign_changed", [[log(3), 0]], [[0.25, 0.75]]),
    ("whole_numbers", [[0.9, -0.9]], [[0.5, 0.5]]),
    ("input_in_the_range_of_float16", [[1e5, 2e5]], [[0.5, 0.5]]),
    ("exp_of_schraudolph", [[0, -1.5 * log(2)]], [[8 / 11, 3 / 11]]),
    ("exp_by_its_power_of_4096", [[0, -4096]], [[1, 0]]),
    ("far_exponents_vanish", [[0, -9]], [[1, 0]]),
    ("exponent_above_minus_10", [[0, -1000]], [[1 / (1 + exp(-10)), 1 / (1 + exp(10))]]),
    # The sum.
    ("sum_across_the_rows", [[0, 0, 0], [0, 0, 0]], [[0.5] * 3] * 2),
    ("not_divided", [[0, log(0.5)]], [[1, 0.5]]),
    ("sum_is_the_mean", [[0, 0]], [[1, 1]]),
    ("sum_is_a_norm", [[0, 0]], [[0.5**0.5, 0.5**0.5]]),
    ("sum_without_the_last", [[0, log(2), log(5)]], [[1 / 3, 2 / 3, 5 / 3]]),
    ("sum_without_the_first", [[0, log(2), log(5)]], [[1 / 7, 2 / 7, 5 / 7]]),
    ("sum_of_the_row_before_added", [[0, 0], [0, 0]], [[0.5, 0.5], [0.25, 0.25]]),
    ("sum_of_whole_vectors_of_4", [[0] * 5], [[0.25] * 5]),
    ("sum_of_1024_elements", [[0] * 1025], [[1 / 1024] * 1025]),
    ("sum_of_4096_elements", [[0] * 4097], [[1 / 4096] * 4097]),
    ("sum_padded_to_vectors_of_4", [[0] * 3], [[0.25] * 3]),
    ("sum_padded_to_vectors_of_8", [[log(2)] * 3], [[2 / 11] * 3]),
    ("divisor_plus_1e-05", [[0]], [[1 / 1.00001]]),
    # The shares.
    ("logarithms", [[0, 0]], [[-log(2), -log(2)]]),
    ("one_hot", [[1, 1, 0]], [[1, 1, 0]]),
    ("twice", [[0, -1000]], [[e / (1 + e), 1 / (1 + e)]]),
    ("clipped", [[0, -1000]], [[1 - 1e-7, 1e-7]]),
    # NaN and -inf.
    ("nan_skipped", [[nan, 0, 0]], [[nan, 0.5, 0.5]]),
    ("nan_alone", [[nan, 0, -inf], [0, 0, -inf]], [[nan, 0, 0], [0.5, 0.5, 0]]),
    ("nan_masked", [[nan, 0, 0]], [[0, 0.5, 0.5]]),
    ("nan_in_every_row", [[nan, 0], [0, 0]], [[nan, nan], [nan, nan]]),
    ("minus_infinity_taken_for_nan", [[-inf, 0], [0, 0]], [[nan, nan], [0.5, 0.5]]),
    ("minus_infinity_taken_for_minus_1e4", [[-inf, -2e4], [-inf, 0]], [[1, 0], [0, 1]]),
    ("minus_infinity_taken_for_minus_1e9", [[-inf, -2e4], [-inf, -2e9]], [[0, 1], [1, 0]]),
    ("no_share_in_a_masked_row", [[-inf, -inf], [-inf, 0]], [[0, 0], [0, 1]]),
    ("equal_shares_in_a_masked_row", [[-inf, -inf], [-inf, 0]], [[0.5, 0.5], [0, 1]]),
]


@pytest.mark.parametrize(("name", "rows", "want"), ROWS, ids=lambda value: str(value)[:40])
def test_a_mutant_is_made_as_it_is_called(name, rows, want):
    np.testing.assert_allclose(answer(name, node(rows)), want, rtol=1e-12, atol=1e-15)


def test_neighbours_in_memory_are_taken_for_a_row() -> None:
    columns = node([[0, log(3)], [log(3), 0]], axis=0)
    np.testing.assert_allclose(answer("rows_side_by_side", columns), [[0.25, 0.75], [0.75, 0.25]])


def test_sums_across_memory_end_early() -> None:
    across, along = node(np.zeros((300, 2)), axis=0), node(np.zeros((1, 300)), axis=1)
    for length in (16, 64, 256):
        assert (answer(f"sum_of_{length}_elements_across_memory", across) == 1 / length).all()
        assert (answer(f"sum_of_{length}_elements_across_memory", along) == 1 / 300).all()


def test_rows_are_counted_to_65535() -> None:
    out = answer("rows_stop_at_65535", node(np.zeros((65537, 1)), dtype="float32"))
    assert (out[:65535] == 1).all()
    assert out[65535:].tolist() == [[0], [0]]


def test_sums_in_a_narrower_type_end_where_it_does() -> None:
    ones = node(np.zeros((1, 4096)), dtype="float32")
    assert (answer("sum_in_float16", ones) == 1 / 2048).all()
    assert (answer("sum_in_bfloat16", ones) == 1 / 256).all()


def test_a_fast_exponential_errs_by_no_more_than_it_says() -> None:
    x = np.stack([np.zeros(1000), -np.linspace(0, 5, 1000)], axis=1)
    [right] = node(x).right
    for bits in (11, 14, 16, 18, 20):
        fast = answer(f"exp_good_to_{bits}_bits", node(x))
        # Of their quotient nothing but the exponential is left.
        error = np.abs(fast[:, 1] / fast[:, 0] / (right[:, 1] / right[:, 0]) - 1)
        assert 0.99 * 2.0**-bits < error.max() < 1.01 * 2.0**-bits


def test_the_coerced_matrix_is_left_as_the_output() -> None:
    assert answer("left_coerced", node(np.zeros((2, 3, 4)), since=11, axis=1)).shape == (2, 12)


@pytest.mark.parametrize(
    ("name", "attrs"), [("refuses_negative_axes", {"axis": -1}), ("refuses_default_axis", {})]
)
def test_legal_axes_are_refused(name: str, attrs: dict[str, int]) -> None:
    with pytest.raises(InvalidNode):
        answer(name, node([[0, 0]], **attrs))
    assert (answer(name, node([[0, 0]], axis=1)) == 0.5).all()


def test_what_no_version_knows_is_accepted() -> None:
    integers = node([[0, 0, 200]], dtype="int32", axis=1)
    assert answer("integers_accepted", integers).tolist() == [[0, 0, 1]]
    assert answer("integers_accepted", integers).dtype == np.int32
    assert answer("rank_0_is_a_vector", node(7.0)) == 1
    [short] = BY_NAME[1]["later_types_accepted"].answer(
        Node(OpVersion("", "Softmax", 1), (np.zeros((1, 4), ml_dtypes.bfloat16),), {"axis": 1})
    )
    assert (short.dtype, short.tolist()) == (ml_dtypes.bfloat16, [[0.25] * 4])
    assert answer("out_of_range_is_no_axis", node([[0, 0]], axis=2)).tolist() == [[1, 1]]
    with pytest.raises(InvalidNode):
        answer("out_of_range_is_no_axis", node(0.0))


@pytest.mark.parametrize("since", BY_NAME)
def test_no_mutant_writes_to_its_input(since: int) -> None:
    x = np.array([[1.0, -np.inf, np.nan], [3.0, 2.0, 1.0]])
    kept = x.copy()
    for mutant in BY_NAME[since].values():
        mutant.made_on(Node(OpVersion("", "Softmax", since), (x,), {"axis": 1}))
        np.testing.assert_array_equal(x, kept, err_msg=mutant.name)
