"""Mutants of Hardmax and DML_ACTIVATION_HARDMAX1 do what they say, shown on single rows."""

from typing import Any

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.engine.mutants import Mutant, mutants_of, places
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

VERSIONS = {since: OpVersion("", "Hardmax", since) for since in (1, 11, 13)}
DIRECTML = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
#: The functions that formulas call.
CALLED = ("", "argmax", "matrix_of", "from_either_end")


def mutants(op: OpVersion) -> dict[str, Mutant]:
    return {one.name: one for one in mutants_of(op) if one.primitive in CALLED}


HARDMAX = {since: mutants(op) for since, op in VERSIONS.items()}
HARDMAX1 = mutants(DIRECTML)
INF, NAN, LOWEST = np.inf, np.nan, float(np.finfo(np.float32).min)


def wrong(name: str, x: Any, since: int = 13, **attrs: Any) -> Any:
    """What comes of Hardmax of this mutant; None if it refuses."""
    return answer(HARDMAX[since][name], Node(VERSIONS[since], (np.asarray(x, np.float32),), attrs))


def wrong_dml(name: str, x: Any, *axes: int) -> Any:
    return answer(HARDMAX1[name], Node(DIRECTML, (np.asarray(x, np.float32),), {"Axes": axes}))


def answer(mutant: Mutant, node: Node) -> Any:
    made = mutant.made_on(node)
    return None if isinstance(made, InvalidNode) else made[0].tolist()


def row(length: int, **values: float) -> list[float]:
    """Of -2, but for the values at the places `at_<place>`."""
    made = [-2.0] * length
    for place, value in values.items():
        made[int(place.removeprefix("at_"))] = value
    return made


def one(length: int, *places: int) -> list[float]:
    return [float(place in places) for place in range(length)]


#: A row, where its ones should be, and where they are.
CHOSEN: list[tuple[str, list[float], list[int], list[int]]] = [
    ("last_of_ties", [1, 3, 3, 0], [1], [2]),
    ("all_maxima", [1, 3, 0, 3], [1], [1, 3]),
    ("no_one_if_tied", [1, 3, 3], [1], []),
    ("no_one_if_tied", [1, 3, 2], [1], [1]),
    ("minimum", [1, 3, 0, 0], [1], [2]),
    ("always_first", [1, 3, 2], [1], [0]),
    ("always_last", [1, 3, 2], [1], [2]),
    ("last_element_forgotten", [1, 2, 3], [2], [1]),
    ("first_element_forgotten", [3, 1, 2], [0], [2]),
    ("nearly_equal", [1, 1.000001, 0], [1], [0]),
    ("nearly_equal", [1, 1.0001, 0], [1], [1]),
    ("magnitudes", [1, -3, 2], [2], [1]),
    ("bits", [-1, -3, -2], [0], [1]),
    ("bits", [-0.0, 0.0], [0], [1]),
    ("zeros_apart", [-0.0, 0.0], [0], [1]),
    ("whole_numbers", [1.25, 1.75, 0], [1], [0]),
    ("exponentials", [-2000, -1000], [1], [0]),
    ("exponentials", [1000, 2000], [1], [0]),
    ("softmax_first", [0, 1e-30], [1], [0]),
    ("softmax_first", [1000, 2000], [1], [1]),
    ("infinity_is_nothing", [1, INF], [1], [0]),
    ("minus_infinity_taken_for_minus_1e4", [-20000, -INF], [0], [1]),
    # Where the maximum starts.
    ("starts_at_minus_infinity", [-INF, -INF], [0], []),
    ("starts_at_the_lowest_float32", [LOWEST], [0], []),
    ("starts_at_the_lowest_float16", [-70000, -80000], [0], []),
    ("starts_at_minus_1000", [-2000, -1001], [1], []),
    ("starts_at_minus_1", [-1, -2], [0], []),
    ("starts_at_0", [-1, 0], [1], []),
    ("starts_at_0", [-1, 1], [1], [1]),
    ("starts_at_0_and_index_0", [-2, -1], [1], [0]),
    ("starts_at_0_and_index_0", [-2, 1], [1], [1]),
    ("starts_at_the_lowest_float32_and_index_0", [-INF, LOWEST], [1], [0]),
    ("starts_at_the_lowest_float32_and_index_0", [-INF, -3e38], [1], [1]),
    # NaN.
    ("nan_skipped", [1, NAN, 3], [1], [2]),
    ("nan_skipped", [NAN, NAN], [0], [0]),
    ("nan_leaves_its_row_empty", [1, NAN, 3], [1], []),
    ("nan_leaves_all_rows_empty", [1, NAN, 3], [1], []),
    ("last_nan", [NAN, 1, NAN, 3], [0], [2]),
    ("last_nan", [1, 3, 3], [1], [1]),
    ("starts_anew_behind_nan", [5, NAN, 1, 3], [1], [3]),
    ("starts_anew_behind_nan", [5, 1, NAN], [2], [2]),
    # Lanes, blocks, tails: of -2, with -1 for the maxima.
    ("last_of_ties_of_up_to_32", row(32, at_1=-1, at_4=-1), [1], [4]),
    ("last_of_ties_of_up_to_32", row(33, at_1=-1, at_4=-1), [1], [1]),
    ("last_of_ties_of_33_to_1024", row(32, at_1=-1, at_4=-1), [1], [1]),
    ("last_of_ties_of_33_to_1024", row(33, at_1=-1, at_4=-1), [1], [4]),
    ("last_of_ties_of_33_to_1024", row(1025, at_1=-1, at_4=-1), [1], [1]),
    ("last_of_ties_of_more_than_1024", row(1025, at_1=-1, at_4=-1), [1], [4]),
    ("last_of_ties_4_apart", row(9, at_1=-1, at_4=-1), [1], [1]),
    ("last_of_ties_4_apart", row(9, at_1=-1, at_5=-1), [1], [5]),
    ("last_of_ties_8_apart", row(9, at_0=-1, at_8=-1), [0], [8]),
    ("later_block_of_4", row(9, at_1=-1, at_5=-1, at_6=-1), [1], [5]),
    ("later_block_of_4", row(9, at_1=-1, at_3=-1), [1], [1]),
    ("later_half", row(5, at_1=-1, at_3=-1), [1], [3]),
    ("later_half", row(5, at_1=-1, at_2=-1), [1], [1]),
    ("lowest_of_4_lanes", row(9, at_1=-1, at_4=-1, at_8=-1), [1], [4]),
    ("lowest_of_4_lanes", row(9, at_1=-1, at_5=-1), [1], [1]),
    ("row_tail_of_4_ignored", row(6, at_5=-1), [5], [0]),
    ("row_tail_of_4_ignored", row(3, at_2=-1), [2], [2]),
    ("row_tail_of_4_zero", row(6, at_1=-1), [1], []),
    ("row_tail_of_4_zero", row(6, at_1=0), [1], [1]),
    ("row_tail_of_4_zero", row(8, at_1=-1), [1], [1]),
    ("row_stops_at_256", row(300, at_7=-1, at_256=0), [256], [7]),
    ("row_stops_at_1024", row(1030, at_7=-1, at_1024=0), [1024], [7]),
    ("argmax_in_4_bits", row(40, at_33=0), [33], [1]),
    ("argmax_in_8_bits_across_memory", row(300, at_257=0), [257], [257]),
    ("argmax_in_7_bits", row(300, at_130=0), [130], [2]),
    ("argmax_in_8_bits", row(300, at_257=0), [257], [1]),
    ("argmax_in_16_bits", row(65540, at_65538=0), [65538], [2]),
    ("argmax_in_float16", row(2100, at_2049=0), [2049], [2048]),
    ("argmax_in_float16", row(70_001, at_65519=0), [65_519], [65_504]),
    ("argmax_in_float16", row(70_001, at_69999=0), [69_999], [70_000]),
    ("argmax_in_bfloat16", row(300, at_257=0), [257], [256]),
    ("argmax_in_bfloat16", row(256, at_255=0), [255], [255]),
]


@pytest.mark.parametrize(("name", "values", "right", "chosen"), CHOSEN)
def test_another_element_of_a_row_has_the_one(name, values, right, chosen):
    (out,) = Node(VERSIONS[13], (np.array(values, np.float32),), {}).right
    assert out.tolist() == one(len(values), *right)
    assert wrong(name, values) == one(len(values), *chosen)
    assert wrong_dml(name, values, 0) == one(len(values), *chosen)


def test_every_kind_of_choice_is_shown() -> None:
    def kind(name: str) -> str:
        return "".join(letter for letter in name if not letter.isdigit())

    about_rows = {"maximum_carried_over", "maximum_of_all_rows"}
    made = {kind(one.name) for one in places.PLACES}
    assert made - about_rows <= {kind(name) for name, *_ in CHOSEN}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("first_row_only_in_argmax", [[0, 1], [0, 0], [0, 0]]),
        ("last_row_missing_in_argmax", [[0, 1], [1, 0], [0, 0]]),
        ("maximum_carried_over", [[0, 1], [0, 0], [1, 0]]),
        ("maximum_of_all_rows", [[0, 0], [0, 0], [1, 0]]),
        ("nan_leaves_all_rows_empty", [[0, 1], [1, 0], [1, 0]]),
    ],
)
def test_rows_disturb_each_other(name: str, wanted: Any) -> None:
    assert wrong(name, [[1, 3], [2, 0], [5, 4]]) == wanted
    assert wrong("nan_leaves_all_rows_empty", [[1, 3], [NAN, 0]]) == [[0, 0], [0, 0]]


def test_rows_beyond_a_grid_stay_empty() -> None:
    for limit in (1024, 65535):
        made = np.array(wrong(f"rows_stop_at_{limit}_in_argmax", np.zeros((limit + 2, 2))))
        assert made.sum(axis=1).tolist() == [1.0] * limit + [0.0] * 2


def test_rows_of_one_element_hold_the_input() -> None:
    assert wrong("rows_of_one_copied", [[5], [-7]]) == [[5], [-7]]
    assert wrong("rows_of_one_copied", [[5], [-7]], 11, axis=0) == [[1], [0]]
    assert wrong_dml("rows_of_one_copied", [[[5]], [[7]]], 1, 2) == [[[5]], [[7]]]


def test_rows_across_memory_have_a_tail() -> None:
    x = np.zeros((2, 6))
    assert wrong("tail_of_4_across_memory_missing", x, axis=0) == [[1] * 4 + [0] * 2, [0] * 6]
    assert wrong("tail_of_8_across_memory_missing", x, axis=0) == [[1] * 6, [0] * 6]
    assert wrong("tail_of_4_across_memory_missing", x, axis=1) == [[1] + [0] * 5] * 2
    of_axes = wrong_dml("tail_of_4_across_memory_missing", x.reshape(2, 1, 6), 0, 1)
    assert of_axes == [[[1] * 4 + [0] * 2], [[0] * 6]]
    for beside, written in ((1024, 1024), (1025, 1024)):
        blocks: Any = wrong("tail_of_1024_across_memory_missing", np.zeros((2, beside)), axis=0)
        assert [sum(row) for row in blocks] == [written, 0]


def test_many_axes_are_different() -> None:
    assert wrong("last_of_ties_beyond_four_axes", [[[[[2, 2]]]]]) == [[[[[0, 1]]]]]
    assert wrong("last_of_ties_beyond_four_axes", [[[[2, 2]]]]) == [[[[1, 0]]]]
    four = np.reshape(CUBE, (1, 2, 2, 2))
    # Axis 1 is taken for axis 3, axis 2 for axis 1, and axis 3 for axis 2.
    for axis, wanted in ((1, ALONG_2), (2, ALONG_0), (3, ALONG_1)):
        assert wrong("axes_of_four_channels_last", four, axis=axis) == [wanted]


def test_two_of_many_axes_are_one() -> None:
    five = np.reshape(CUBE, (2, 2, 1, 1, 2))
    assert flat(wrong("first_two_of_more_than_4_axes_merged", five, axis=1)) == flat(OF_0_AND_1)
    assert flat(wrong("first_two_of_more_than_5_axes_merged", five, axis=1)) == flat(ALONG_1)
    assert flat(wrong("first_two_of_more_than_5_axes_merged", five[None], axis=1)) == flat(ALONG_0)
    assert flat(wrong("last_two_of_more_than_4_axes_merged", five, axis=3)) == flat(ALONG_2)
    assert flat(wrong("last_two_of_more_than_4_axes_merged", five, axis=1)) == flat(ALONG_1)
    assert flat(wrong_dml("first_two_of_more_than_4_axes_merged", five, 1)) == flat(OF_0_AND_1)


def flat(x: Any) -> Any:
    return np.ravel(x).tolist()


def test_an_axis_is_counted_behind_those_that_are_left() -> None:
    column = [[[1], [2]], [[4], [3]]]
    assert wrong("negative_axis_after_squeezing", column, axis=-1) == [[[0], [1]], [[1], [0]]]
    assert wrong("negative_axis_after_squeezing", column, axis=-2) == [[[0], [0]], [[1], [1]]]
    assert wrong("negative_axis_after_squeezing", column, axis=1) == [[[0], [1]], [[1], [0]]]
    assert wrong("negative_axis_after_squeezing", CUBE, axis=-2) == ALONG_1
    assert wrong("negative_axis_after_squeezing", column, axis=-4) is None


def test_places_across_memory_wrap() -> None:
    x = np.zeros((300, 2))
    x[257, 0] = x[3, 1] = 1
    made = np.array(wrong("argmax_in_8_bits_across_memory", x, axis=0))
    assert np.argwhere(made).tolist() == [[1, 0], [3, 1]]


#: The maxima of its axes: 0 with [[1, 3], [0, 2]], 1 with [[0, 2], [3, 1]].
CUBE = [[[4, 6], [1, 7]], [[2, 5], [3, 0]]]
ALL, NONE = [[[1, 1], [1, 1]], [[1, 1], [1, 1]]], [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
ALONG_0 = [[[1, 1], [0, 1]], [[0, 0], [1, 0]]]
ALONG_1 = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
ALONG_2 = [[[0, 1], [0, 1]], [[0, 1], [1, 0]]]
FROM_0 = [[[0, 0], [0, 1]], [[0, 0], [0, 0]]]
FROM_1 = [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]
OF_0_AND_2 = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
OF_0_AND_1 = [[[1, 0], [0, 1]], [[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("name", "since", "attrs", "wanted"),
    [
        ("version_13_always", 11, {"axis": 1}, ALONG_1),
        ("version_11_always", 13, {"axis": 1}, FROM_1),
        ("coercion_one_axis_short", 11, {"axis": 1}, ALONG_2),
        ("coercion_one_axis_short", 11, {"axis": 2}, ALL),
        ("coercion_one_axis_long", 11, {"axis": 1}, FROM_0),
        ("coercion_one_axis_long", 1, {"axis": 0}, FROM_0),
        ("coercion_without_the_last_axis", 11, {"axis": 0}, OF_0_AND_1),
        ("coercion_without_the_last_axis", 11, {"axis": 2}, ALONG_2),
        ("version_13_always", 1, {}, ALONG_2),
        ("version_11_always", 13, {}, FROM_1),
        ("default_axis_0", 13, {}, ALONG_0),
        ("axis_plus_1", 13, {"axis": 0}, ALONG_1),
        ("axis_plus_1", 13, {"axis": 2}, ALONG_0),
        ("axis_minus_1", 13, {"axis": 0}, ALONG_2),
        ("axis_mirrored", 13, {"axis": 0}, ALONG_2),
        ("axis_1_always", 13, {"axis": 0}, ALONG_1),
        ("first_axis_always", 13, {"axis": 1}, ALONG_0),
        ("last_axis_always", 13, {"axis": 1}, ALONG_2),
        ("whole_tensor", 13, {"axis": 1}, FROM_0),
        ("rows_side_by_side", 13, {"axis": 0}, ALONG_2),
        ("not_transposed_back", 13, {"axis": 2}, ALONG_2),
        ("out_of_range_is_no_axis", 11, {"axis": 3}, ALL),
        ("out_of_range_is_no_axis", 13, {"axis": 3}, ALL),
        ("out_of_range_is_no_axis", 13, {"axis": 4}, ALL),
        ("axes_of_four_channels_last", 13, {"axis": 1}, ALONG_1),
        ("last_of_ties_beyond_four_axes", 13, {"axis": 1}, ALONG_1),
        ("rows_of_one_copied", 13, {"axis": 1}, ALONG_1),
    ],
)
def test_other_elements_of_a_tensor_compete(name, since, attrs, wanted):
    assert wrong(name, CUBE, since, **attrs) == wanted


@pytest.mark.parametrize(
    ("name", "axes", "wanted"),
    [
        ("first_of_the_axes_only", (0, 2), ALONG_0),
        ("last_of_the_axes_only", (0, 2), ALONG_2),
        ("axes_between_too", (0, 2), FROM_0),
        ("axes_between_too", (0, 1), OF_0_AND_1),
        ("coercion", (1,), FROM_1),
        ("axes_complemented", (1,), OF_0_AND_2),
        ("axis_wraps", (3,), ALONG_0),
        ("axis_wraps", (-1,), ALONG_2),
        ("axis_clamped", (3,), ALONG_2),
        ("axis_clamped", (-1,), ALONG_0),
        ("negative_axes_accepted", (-1,), ALONG_2),
        ("negative_axes_accepted", (3,), None),
        ("nine_dimensions_accepted", (3,), None),
        ("no_dimension_accepted", (3,), None),
        ("refuses_unsorted_axes", (0, 2), OF_0_AND_2),
        ("refuses_unsorted_axes", (2, 0), None),
        ("repeated_axes_counted_once", (2, 0, 2), OF_0_AND_2),
        ("repeated_axes_counted_once", (3, 3), None),
        ("no_axes_are_all", (), FROM_0),
        ("no_axes_are_all", (1,), ALONG_1),
    ],
)
def test_other_elements_compete_in_directml_s(name, axes, wanted):
    assert wrong_dml(name, CUBE, *axes) == wanted


def test_one_axis_after_another_leaves_several_ones_in_a_group() -> None:
    assert wrong_dml("one_axis_after_another", [[5, 4], [3, 6]], 0, 1) == [[1, 0], [0, 1]]


def test_nine_dimensions_or_none_are_accepted() -> None:
    ninth = np.array([1, 3, 2], np.float32).reshape(1, 1, 1, 3, 1, 1, 1, 1, 1)
    nine = wrong_dml("nine_dimensions_accepted", ninth, 3)
    assert np.array(nine).reshape(-1).tolist() == [0, 1, 0]
    assert wrong_dml("nine_dimensions_accepted", 2, 0) is None
    assert wrong_dml("no_dimension_accepted", 2, 0) == 1
    assert wrong_dml("no_dimension_accepted", ninth, 3) is None


def test_other_types_are_computed() -> None:
    def of(name: str, dtype: str, since: int) -> Any:
        x = np.array([1, 3, 2]).astype(DTYPES[dtype].numpy)
        return answer(HARDMAX[since][name], Node(VERSIONS[since], (x,), {"axis": 0}))

    assert of("later_types_accepted", "bfloat16", 1) == [0, 1, 0]
    assert of("later_types_accepted", "int32", 1) is None
    assert of("integers_accepted", "int16", 13) == [0, 1, 0]
    assert of("integers_accepted", "bool", 13) == [True, False, False]
    assert of("integers_accepted", "bfloat16", 11) is None
    double = Node(DIRECTML, (np.array([1.0, 3.0]),), {"Axes": (0,)})
    assert answer(HARDMAX1["other_floats_accepted"], double) == [0, 1]
    assert answer(HARDMAX1["no_axes_are_all"], double) is None


def test_a_missing_attribute_is_refused_whatever_else_is_wrong() -> None:
    for name in ("axis_wraps", "no_axes_are_all", "Axes_of_any_length", "nine_dimensions_accepted"):
        assert answer(HARDMAX1[name], Node(DIRECTML, (np.zeros((2, 2), np.float32),), {})) is None


def test_an_axis_is_in_range_that_is_not() -> None:
    vector = [1, 3, 2]
    assert wrong("default_axis_kept_in_range", vector, 11) == [0, 1, 0]
    assert wrong("default_axis_kept_in_range", vector, 11, axis=1) is None
    assert wrong("default_axis_kept_in_range", CUBE, 11) == FROM_1
    assert wrong("axis_of_vector_as_of_a_matrix", vector, axis=-2) == [0, 1, 0]
    assert wrong("axis_of_vector_as_of_a_matrix", vector, axis=2) is None
    assert wrong("axis_of_vector_as_of_a_matrix", CUBE, axis=3) is None
    assert wrong("rank_0_is_a_vector", 5) == 1
    assert wrong("rank_0_is_a_vector", 5, 11) == 1
    assert wrong("rank_0_is_a_vector", 5, 11, axis=1) is None
    assert wrong("rank_0_is_a_vector", 5, 11, axis=0) == 1
    assert wrong("axis_of_empty_tensor_unchecked", [[]], axis=7) == [[]]
    assert wrong("axis_of_empty_tensor_unchecked", vector, axis=7) is None


def test_ties_are_counted_in_another_order() -> None:
    tied = [[0, 7], [7, 0]]
    assert wrong("ties_in_column_major_order", tied, 11, axis=0) == [[0, 0], [1, 0]]
    assert wrong_dml("ties_in_column_major_order", tied, 0, 1) == [[0, 0], [1, 0]]
    assert wrong_dml("axes_in_the_order_stated", tied, 1, 0) == [[0, 0], [1, 0]]
    assert wrong_dml("axes_in_the_order_stated", tied, 0, 1) == [[0, 1], [0, 0]]


def test_elements_are_where_they_would_be_without_moving_axes() -> None:
    x = [[5, 1, 2], [4, 0, 3]]
    # With axis 0 last: (5, 4), (1, 0), (2, 3), which is 10 10 01.
    assert wrong("not_transposed_back", x, axis=0) == [[1, 0, 1], [0, 0, 1]]
    # Side by side: (5, 1), (2, 4), (0, 3).
    assert wrong("rows_side_by_side", x, axis=0) == [[1, 0, 0], [1, 0, 1]]
    # As [[5, 1], [2, 4], [0, 3]]: (5, 2, 0), (1, 4, 3).
    assert wrong("shape_reversed", x, axis=0) == [[1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("name", "wanted", "dtype"),
    [
        ("maximum_in_place_of_one", [0, 3], "float32"),
        ("zeros_are_tiny", [np.float32(1e-6), 1], "float32"),
        ("inverted", [1, 0], "float32"),
        ("output_as_bool", [False, True], "bool"),
        ("output_as_int64", [0, 1], "int64"),
    ],
)
def test_something_else_is_written(name: str, wanted: Any, dtype: str) -> None:
    (out,) = HARDMAX[13][name].made_on(Node(VERSIONS[13], (np.array([1, 3], np.float32),), {}))
    assert (out.tolist(), out.dtype) == (wanted, dtype)


def test_nan_is_written() -> None:
    np.testing.assert_equal(wrong("zeros_are_nan", [1, 3]), [NAN, 1])
    np.testing.assert_equal(wrong("nan_passed_on", [1, NAN, 3]), [0, NAN, 0])
    assert wrong("nan_passed_on", [1, 3]) == [0, 1]
