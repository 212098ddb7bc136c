"""Mistakes derived from a call: what they answer, by hand."""

from typing import Any

import numpy as np
import pytest

from opcheck import dtypes, opset
from opcheck.engine import Node
from opcheck.engine.mutants import causes_of, mutants_of
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion


def node(name: str, since: int, *inputs: Any, outputs: Any = None, **attrs: Any) -> Node:
    arrays = tuple(None if x is None else np.asarray(x) for x in inputs)
    return Node(OpVersion("", name, since), arrays, attrs, outputs)


def made(name: str, on: Node) -> Any:
    """What the cause of this name makes of a node, as lists; the text of a refusal."""
    (cause,) = (one for one in causes_of(on.op) if one.name == name)
    outputs = cause.made_on(on)
    return str(outputs) if isinstance(outputs, InvalidNode) else [x.tolist() for x in outputs]


A = np.float32([[1, 2], [3, 4]])
ROW = np.float32([[10, 20]])
CUBE = np.float32([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
TIES = np.float32([[1, 2, 3], [4, 5, 6]])

MADE = [
    pytest.param(
        "alpha_and_beta_exchanged",
        node("Gemm", 13, A, A, A, alpha=2.0),
        [[[7 + 2, 10 + 4], [15 + 6, 22 + 8]]],
        id="a missing attribute is exchanged too",
    ),
    pytest.param(
        "absent_inputs_shifted",
        node("Clip", 13, np.float32([1, 5]), None, np.float32(3)),
        [[3, 5]],
        id="a maximum in place of the omitted minimum",
    ),
    pytest.param(
        "negative_axis_is_0",
        node("Softmax", 13, np.float32([[0, 0], [0, 0]]), axis=-1),
        [[[0.5, 0.5], [0.5, 0.5]]],
        id="axis",
    ),
    pytest.param(
        "axis_clamped_to_the_last",
        node("Flatten", 13, A, axis=2),
        [[[1, 2], [3, 4]]],
        id="an axis that is the rank",
    ),
    pytest.param(
        "negative_axes_counted_in_the_input",
        node("Unsqueeze", 13, np.float32([1, 2]), np.int64([-1])),
        [[[1, 2]]],
        id="axes of an input, of the output",
    ),
    pytest.param(
        "negative_axes_counted_in_the_input",
        node("Unsqueeze", 11, np.float32([1, 2]), axes=(-1,)),
        [[[1, 2]]],
        id="axes of an attribute, of the output",
    ),
    pytest.param(
        "as_many_columns_as_rows",
        node("Neg", 13, np.float32([[1, 2, 3], [4, 5, 6]])),
        [[[-1, -2, 0], [-4, -5, 0]]],
        id="columns up to the number of rows",
    ),
    pytest.param(
        "as_many_batches_as_channels_rest_unchanged",
        node("Neg", 13, np.float32([[[1]], [[2]], [[3]]])),
        [[[[-1]], [[2]], [[3]]]],
        id="batches up to the number of channels",
    ),
    pytest.param(
        "as_many_rows_as_columns",
        node("Neg", 13, np.float32([[1, 2, 3], [4, 5, 6]])),
        [[[-1, -2, -3], [-4, -5, -6]]],
        id="fewer rows than columns are all there",
    ),
    pytest.param(
        "as_many_batches_as_channels",
        node("Neg", 13, np.float32([[1], [2], [3]])),
        [[[-1], [-2], [-3]]],
        id="a matrix has rows and no batches",
    ),
    pytest.param(
        "only_whole_vectors_of_4_rest_unchanged",
        node("Neg", 13, np.float32([1, 2, 3, 4, 5])),
        [[-1, -2, -3, -4, 5]],
        id="behind a whole vector is the input",
    ),
    pytest.param(
        "only_whole_vectors_of_4_rest_unchanged",
        node("Neg", 13, np.float32([1, 2, 3])),
        [[1, 2, 3]],
        id="a tensor shorter than a vector is the input",
    ),
    pytest.param(
        "only_whole_vectors_of_4",
        node("Equal", 13, np.float32([1, 2]), np.float32([1, 2])),
        [[False, False]],
        id="a tensor shorter than a vector is left false",
    ),
    pytest.param(
        "sums_of_as_many_channels_as_batches",
        node("LRN", 13, np.float32([[[3], [4]]]), size=1, alpha=1.0, beta=1.0, bias=1.0),
        [[[[3 / 10], [4]]]],
        id="no sum for the second channel of one batch",
    ),
    pytest.param(
        "shift_by_minus_infinity",
        node("ReduceLogSumExp", 18, np.float32([-np.inf, -np.inf]), keepdims=0),
        [np.nan],
        id="-inf less -inf",
    ),
    pytest.param(
        "shift_by_minus_infinity",
        node("ReduceLogSumExp", 18, np.float32([np.inf, 0]), keepdims=0),
        [np.inf],
        id="infinity is not subtracted",
    ),
    pytest.param(
        "shift_by_infinities",
        node("ReduceLogSumExp", 18, np.float32([np.inf, 0]), keepdims=0),
        [np.nan],
        id="infinity less infinity",
    ),
    pytest.param(
        "results_wrap_in_int16",
        node("Add", 14, np.int32([32767, 5]), np.int32([1, 1])),
        [[-32768, 6]],
        id="int16 wraps around",
    ),
    pytest.param(
        "results_end_in_int16",
        node("Add", 14, np.int32([32767, 5]), np.int32([1, 1])),
        [[32767, 6]],
        id="int16 ends",
    ),
    pytest.param(
        "results_end_in_int16",
        node("Add", 14, np.uint32([0, 40000]), np.uint32([1, 1])),
        [[1, 32767]],
        id="no unsigned number is negative",
    ),
    pytest.param(
        "results_wrap_in_int16",
        node("Add", 14, np.int16([32767]), np.int16([0])),
        [[32767]],
        id="int16 is no wider than itself",
    ),
    pytest.param(
        "unsigned_read_as_signed",
        node("Less", 13, np.uint8([200, 1]), np.uint8([100, 2])),
        [[True, True]],
        id="200 is -56",
    ),
    pytest.param(
        "unsigned_read_as_signed",
        node("Max", 13, np.uint8([200, 1]), np.uint8([100, 2])),
        [[100, 2]],
        id="outputs have their own sign",
    ),
    pytest.param(
        "first_of_B_for_all_along_axis_0",
        node("MatMul", 13, A, A),
        [[[1 + 2, 2 + 4], [3 + 4, 6 + 8]]],
        id="the first row of an input",
    ),
    pytest.param(
        "inputs_behind_the_second_ignored",
        node("Sum", 13, A, A, 2 * A),
        [[[2, 4], [6, 8]]],
        id="a third input is not added",
    ),
    pytest.param(
        "inputs_behind_the_first_ignored",
        node("Sum", 13, ROW, A),
        [[[10, 20], [10, 20]]],
        id="one input in the shape of all",
    ),
    pytest.param(
        "moved_axes_3_and_5_exchanged",
        node("DepthToSpace", 13, np.arange(4.0).reshape(1, 4, 1, 1), blocksize=2),
        [[[[[0, 2], [1, 3]]]]],
        id="columns of blocks before rows",
    ),
    pytest.param(
        "low_32_bits_of_the_first_input",
        node("Clip", 13, np.int64([2**32 + 7]), None, np.int64(2**32)),
        [[7]],
        id="the low bits of the first input alone",
    ),
    pytest.param(
        "low_32_bits_of_integers",
        node("Clip", 13, np.int64([2**32 + 7]), None, np.int64(2**32)),
        [[0]],
        id="the low bits of all inputs",
    ),
    pytest.param(
        "perm_inverted",
        node("Transpose", 21, np.float32([[[1, 2]], [[3, 4]]]), perm=(1, 2, 0)),
        [[[[1], [3]], [[2], [4]]]],
        id="the inverse order of axes",
    ),
    pytest.param(
        "outputs_reversed",
        node("Split", 18, np.float32([1, 2, 3, 4]), axis=0, num_outputs=2, outputs=(0, 1)),
        [[3, 4], [1, 2]],
        id="outputs",
    ),
    pytest.param(
        "first_output_for_all",
        node("Split", 18, np.float32([1, 2, 3, 4]), axis=0, num_outputs=2, outputs=(0, 1)),
        [[1, 2], [1, 2]],
        id="first output",
    ),
    pytest.param(
        "stretched_to_the_first_row_alone",
        node("Add", 14, A, ROW),
        [[[11, 22], [3, 4]]],
        id="a row added to row 0 alone",
    ),
    pytest.param(
        "stretched_to_the_first_row_alone_and_else_zeros",
        node("Add", 14, A, ROW),
        [[[11, 22], [0, 0]]],
        id="a row added to row 0, and nothing else written",
    ),
    pytest.param(
        "stretched_along_channels",
        node("Add", 14, CUBE, np.float32([10, 20])),
        [[[[11, 12], [23, 24]], [[15, 16], [27, 28]]]],
        id="a vector along axis 1",
    ),
    pytest.param(
        "stretched_from_one_element",
        node("Add", 14, A, ROW),
        [[[11, 12], [13, 14]]],
        id="one element for all",
    ),
    pytest.param(
        "integers_computed_in_float32",
        node("Div", 14, np.int32([2**24 + 1, 7]), np.int32([1, -2])),
        [[2**24, -3]],
        id="quotients in float32",
    ),
    pytest.param(
        "integers_computed_in_float64_unclamped",
        node("Clip", 13, np.int64([2**63 - 1, 5]), np.int64(0)),
        [[-(2**63), 5]],
        id="beyond the range",
    ),
    pytest.param(
        "integers_computed_in_float64_unclamped",
        node("Clip", 13, np.array(2**63 - 1), np.int64(0)),
        [np.int64(-(2**63))],
        id="a scalar beyond the range",
    ),
    pytest.param(
        "integers_through_float32",
        node("OneHot", 11, np.float32([1]), np.float32(2), np.int64([0, 2**24 + 1])),
        [[[0, 2**24]]],
        id="integers of another input than the leading one",
    ),
    pytest.param(
        "steps_overflow",
        node("Asinh", 22, np.float16([60000, 0, np.inf, -np.inf])),
        [[np.inf, 0, np.inf, -np.inf]],
        id="a square beyond the range of float16",
    ),
    pytest.param(
        "steps_overflow",
        node("Tanh", 13, np.float32([45, -45, 0])),
        [[np.nan, -1, 0]],
        id="a quotient of two infinities",
    ),
    pytest.param(
        "steps_overflow",
        node("Elu", 22, np.float16([12, -12, 0]), alpha=0.0),
        [[np.nan, 0, 0]],
        id="infinity of the other branch times 0",
    ),
    pytest.param(
        "steps_in_float16",
        node("ReduceMean", 18, np.float16([60000, 60000])),
        [[np.inf]],
        id="a sum beyond the range of float16",
    ),
    pytest.param(
        "first_product_left_out",
        node("Celu", 12, np.float32([-np.inf, 1]), alpha=2.0),
        [[-1, 1]],
        id="the factor before the exponential",
    ),
    pytest.param(
        "product_with_alpha_left_out",
        node("Celu", 12, np.float32([-np.inf, 1]), alpha=2.0),
        [[-1, 1]],
        id="the same factor, by its name",
    ),
    pytest.param(
        "sum_with_B_left_out",
        node("InstanceNormalization", 22, A[None], np.float32([1, 0]), np.float32([5, 6])),
        [[[[-1, 1], [0, 0]]]],
        id="a bias",
    ),
    pytest.param(
        "ties_down",
        node("Round", 22, np.float32([0.5, 1.5, -0.5, 2.4])),
        [[0, 1, -1, 2]],
        id="the lower of two whole numbers",
    ),
    pytest.param(
        "ties_towards_0",
        node("QuantizeLinear", 21, np.float32([1.5, -1.5, 2.6]), np.float32(1), np.int8(0)),
        [[1, -1, 3]],
        id="the one nearer to 0",
    ),
    *(
        pytest.param(
            f"counted_pads_{name}",
            node(
                "AveragePool",
                19,
                np.float32([[[6, 6]]]),
                kernel_shape=(5,),
                pads=(1, 2),
                count_include_pad=1,
            ),
            [[[[12 / count]]]],
            id=f"the padding that counts: {name}",
        )
        for name, count in (
            ("ends_ignored", 3),
            ("beginnings_ignored", 4),
            ("beginnings_for_both", 4),
            ("ends_for_both", 5),
        )
    ),
    pytest.param(
        "input_in_int8",
        node("Relu", 14, np.float32([127, 0.6, -0.6])),
        [[127, 1, 0]],
        id="activations of 8 bits",
    ),
    pytest.param(
        "inputs_in_uint8",
        node("Neg", 13, np.float32([255, 0.6, 0])),
        [[-255, -1, 0]],
        id="activations of 8 bits without sign",
    ),
    pytest.param(
        "fmod_ignored",
        node("Mod", 13, np.float32([-7]), np.float32([3]), fmod=1),
        [[2]],
        id="what is illegal here is answered as in a version where it is legal",
    ),
    pytest.param(
        "sign_of_the_dividend",
        node("Mod", 28, np.int32([-7]), np.int32([3])),
        [[-1]],
        id="a mistake of version 13 in version 28",
    ),
    pytest.param(
        "batch_statistics_always",
        node(
            "BatchNormalization",
            9,
            np.float32([[1, 5], [3, 9]]),
            *(np.float32([value] * 2) for value in (1, 0, 7, 7)),
            epsilon=0.0,
        ),
        [[[-1, -1], [1, 1]]],
        id="inference by the batch's own statistics",
    ),
]

FIVE = np.float32([0, 1, 2, 3, 4])


def part(start: int, end: int, step: int = 1) -> Node:
    """A Slice of the numbers 0 to 4."""
    lists = (np.int64([value]) for value in (start, end, 0, step))
    return node("Slice", 13, FIVE, *lists)


#: Of slices along one axis: the mistake, the slice, and what it gives.
SLICED = [
    ("slices_begin_one_late", part(1, 4), [2, 3]),
    ("slices_begin_one_late", part(3, 0, -1), [2, 1]),
    ("slices_begin_one_early", part(0, 2), [0, 1]),
    ("slices_end_one_late", part(1, 4), [1, 2, 3, 4]),
    ("slices_end_one_early", part(1, 4), [1, 2]),
    ("backward_slices_end_one_early", part(4, 1, -1), [4, 3]),
    ("backward_slices_end_one_early", part(1, 4), [1, 2, 3]),
    ("forward_slices_end_one_late", part(4, 1, -1), [4, 3, 2]),
    ("negative_ends_one_late", part(0, -1), FIVE.tolist()),
    ("negative_ends_one_late", part(0, 3), [0, 1, 2]),
    ("negative_ends_one_early", part(0, -1), [0, 1, 2]),
    ("negative_ends_ignored", part(1, -3), [1, 2, 3, 4]),
    ("negative_ends_ignored", part(3, -4, -1), [3, 2, 1, 0]),
    ("negative_starts_are_0", part(-2, 4), [0, 1, 2, 3]),
    ("negative_starts_without_sign", part(-2, 5), [2, 3, 4]),
    ("ends_in_32_bits", part(1, 2**63 - 1), [1, 2, 3]),
    ("ends_clamped_to_the_last", part(1, 99), [1, 2, 3]),
    ("starts_beyond_the_axis_wrap", part(7, 4), [2, 3]),
    ("backward_ends_clamped_to_the_first", part(2, -99, -1), [2, 1]),
    ("backward_starts_before_the_first_give_nothing", part(-99, -99, -1), []),
    ("negative_backward_ends_before_the_first", part(4, -3, -1), [4, 3, 2, 1, 0]),
    ("backward_slices_in_forward_order", part(4, 1, -1), [2, 3, 4]),
    ("backward_slices_of_the_reversed_axis", part(1, 4, -1), [3, 2, 1]),
    ("backward_slices_reverse_the_forward_one", part(4, 1, -1), [3, 2, 1]),
    ("steps_without_sign", part(4, 1, -1), []),
    ("length_in_whole_steps", part(0, 5, 2), [0, 2]),
    ("negative_starts_read_in_front", part(-2, 5), [0, 0]),
    ("slices_end_one_late", node("Slice", 1, FIVE, starts=(1,), ends=(3,)), [1, 2, 3]),
    ("negative_ends_one_late", node("Shape", 15, TIES, end=-1), [2, 3]),
]


@pytest.mark.parametrize(("name", "on", "taken"), SLICED)
def test_a_mistake_of_slices_takes_these_elements(name: str, on: Node, taken: Any) -> None:
    assert made(name, on) == [taken]


def test_a_slice_reads_in_front_of_its_row() -> None:
    lists = (np.int64([value]) for value in (-1, 3, 1))
    on = node("Slice", 13, TIES, *lists)
    assert made("negative_starts_read_in_front", on) == [[[0], [3]]]


#: What is computed in place of an attribute of 0.5, next to another of 3.
SCALED = [
    ("alpha_times_size", 1.5),
    ("alpha_over_size", 0.5 / 3),
    ("alpha_doubled", 1),
    ("alpha_halved", 0.25),
    ("alpha_squared", 0.25),
    ("alpha_is_its_root", 0.5**0.5),
    ("alpha_is_its_reciprocal", 2),
    ("alpha_taken_from_1", 0.5),
    ("alpha_negated", -0.5),
]


@pytest.mark.parametrize(("name", "alpha"), SCALED)
def test_a_mistake_of_a_number_computes_with_another(name: str, alpha: float) -> None:
    def of(number: float) -> Node:
        return node("LRN", 13, np.float32([[1, 2, 3, 4]]), alpha=number, size=3)

    np.testing.assert_equal(made(name, of(0.5)), [of(alpha).right[0].tolist()])


@pytest.mark.parametrize(("name", "on", "outputs"), MADE)
def test_a_mistake_gives_this_answer(name: str, on: Node, outputs: Any) -> None:
    np.testing.assert_allclose(made(name, on), outputs, atol=1e-4)


def test_a_sum_of_elements_and_their_zero_point_is_left_out() -> None:
    on = node("DynamicQuantizeLinear", 11, np.float32([-51, 204]))
    assert made("second_sum_left_out", on) == [[0, 204], 1, 51]


def test_activations_are_exchanged_in_each_direction() -> None:
    from opcheck.engine.mutants.calls import entries_exchanged

    two = ("Sigmoid", "Tanh", "Relu", "Affine", "Elu", "Softsign")
    swapped = ["Sigmoid", "Relu", "Tanh", "Affine", "Softsign", "Elu"]
    assert entries_exchanged(3, 1, 2, two) == swapped
    assert entries_exchanged(3, 1, 2, two[:2]) == two[:2]


def test_an_axis_is_not_exchanged_with_a_flag() -> None:
    names = {cause.name for cause in causes_of(OpVersion("", "QuantizeLinear", 25))}
    assert not {name for name in names if name.startswith("axis_and_")}


def test_suites_are_not_asked_about_them() -> None:
    op = OpVersion("", "Conv", 22)
    asked = {mutant.name for mutant in mutants_of(op)}
    causes = {mutant.name for mutant in causes_of(op)}
    derived = {"dilations_and_strides_exchanged", "steps_in_float16", "input_in_int8"}
    assert derived <= causes - asked


@pytest.mark.parametrize("name", ["Conv", "Split", "LSTM", "LayerNormalization", "Mod", "Einsum"])
def test_each_cause_has_a_name_of_its_own(name: str) -> None:
    for version in opset.versions("", name).values():
        names = [cause.name for cause in causes_of(version.op)]
        assert len(names) == len({*names})


def test_a_negative_index_reads_what_lies_in_front_in_memory() -> None:
    data = np.int32([[1, 2, 3], [4, 5, 6]])
    gather = node("Gather", 13, data, np.int64([-1]), axis=1)
    assert made("negative_index_into_memory", gather) == [[[6], [3]]]
    elements = node("GatherElements", 13, data, np.int64([[0, 0, 0], [-1, 0, 0]]), axis=1)
    assert made("negative_index_into_memory", elements) == [[[1, 1, 1], [3, 4, 4]]]


def test_a_negative_class_is_off() -> None:
    on = node("OneHot", 11, np.int64([-1, 0]), np.int64(2), np.float32([0, 1]))
    assert made("negative_index_ignored", on) == [[[0, 0], [1, 0]]]


def test_each_byte_of_packed_elements_is_read_as_one() -> None:
    x = np.arange(8).astype(dtypes.DTYPES["uint4"].numpy)
    on = node("DequantizeLinear", 21, x, np.float32(1))
    assert made("packed_elements_read_one_a_byte", on) == [[0, 2, 4, 6, 0, 0, 0, 0]]


def test_a_sequence_repeats_its_first_tensor() -> None:
    on = node("SplitToSequence", 11, np.float32([1, 2, 3]), outputs=(0, 1, 2, 3))
    assert made("first_output_for_all", on) == [3, [1], [1], [1]]


def test_a_gate_of_an_lstm_reads_the_slice_of_another() -> None:
    W, R = np.float32([[[1], [2], [3], [4]]]), np.float32([[[5], [6], [7], [8]]])
    X = np.float32([[[1]], [[2]]])
    on = node("LSTM", 14, X, W, R, hidden_size=1)
    read = node("LSTM", 14, X, W[:, [0, 1, 0, 3]], R[:, [0, 1, 0, 3]], hidden_size=1)
    cause = made("forget_gate_reads_input_in_W_and_R", on)
    assert cause == [output.tolist() for output in read.right]


def test_axes_moved_to_where_the_formula_cannot_go_on_are_refused() -> None:
    """A recurrence whose batches and lengths change places has weights of other shapes."""
    weights = np.ones((1, 2, 3), np.float32)
    on = node("RNN", 14, np.ones((4, 1, 3), np.float32), weights, weights[..., :2], hidden_size=2)
    assert on.is_legal
    (cause,) = (one for one in causes_of(on.op) if one.name == "moved_axes_0_and_1_exchanged")
    assert isinstance(cause.made_on(on), InvalidNode)
