"""Each family of situations, on cases that are written here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from opcheck import opset
from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations import (
    attributes,
    axes,
    broadcasting,
    coefficients,
    equations,
    indexing,
    integers,
    quantization,
    ranges,
    windows,
)
from opcheck.suite import load

Write = Callable[[str], Case]


@pytest.fixture
def case_of(tmp_path: Path) -> Write:
    """Return the only case of a file with these fields."""

    def write(fields: str) -> Case:
        path = tmp_path / "case.yaml"
        op, rest = fields.split(", ", 1)
        path.write_text(f"{op}\ncases: [{{name: one, {rest}}}]", "utf-8")
        (case,) = load([path])
        return case

    return write


def schema(op: str) -> Schema:
    found = opset.describe("", op, 28)
    assert found is not None
    return found


def test_pairs_of_shapes_are_counted_by_hand() -> None:
    # Of one axis: equal, 1 on either side, missing on either side. Of two: nine without a missing
    # axis, and on each side three where one is missing and one where both are. And rank 0.
    assert len([*broadcasting.situations(schema("MatMul"))]) == 1 + 5 + 9 + 2 * (3 + 1)
    # Of three: 27, and on each side nine, three and one.
    assert len([*broadcasting.situations(schema("Add"))]) == 23 + 27 + 2 * (9 + 3 + 1)
    assert [*broadcasting.situations(schema("Relu"))] == []


@pytest.mark.parametrize(
    ("first", "second", "situation"),
    [
        ([], [], "[] with []"),
        ([3, 4], [1, 4], "[m,n] with [1,n]"),
        ([3, 4], [3, 1], "[m,n] with [m,1]"),
        ([4], [3, 4], "[n] with [m,n]"),
        ([2, 1, 4], [3, 1], "[k,1,n] with [m,1]"),
    ],
)
def test_a_pair_of_shapes_has_a_name(
    first: list[int], second: list[int], situation: str, case_of: Write
) -> None:
    case = case_of(
        f"op: Add, opset: 14, dtype: float32, inputs: {{A: {{shape: {first}, permutation: [1, 1]}},"
        f" B: {{shape: {second}, permutation: [1, 1]}}}}"
    )
    assert [*broadcasting.found_in(case)] == [situation]


@pytest.mark.parametrize("shape", [[1, 1], [0, 4], [2, 2, 3, 4]])
def test_other_pairs_are_in_no_situation(shape: list[int], case_of: Write) -> None:
    case = case_of(
        f"op: Add, opset: 14, dtype: float32, inputs: {{A: {{shape: {shape}, arange: [1, 1]}},"
        " B: {shape: [1, 4], arange: [1, 1]}}"
    )
    assert [*broadcasting.found_in(case)] == []


def test_equal_elements_do_not_show_how_they_are_stretched(case_of: Write) -> None:
    case = case_of(
        "op: Add, opset: 14, dtype: float32, inputs: {A: {shape: [3, 4], arange: [1, 1]},"
        " B: {shape: [1, 4], constant: 1}}"
    )
    assert [*broadcasting.found_in(case)] == []


def test_a_shape_of_expand_is_the_value_of_its_input(case_of: Write) -> None:
    case = case_of(
        "op: Expand, opset: 13, dtype: float32,"
        " inputs: {input: {shape: [1, 4], arange: [1, 1]}, shape: [3, 1]}"
    )
    assert [*broadcasting.found_in(case)] == ["[1,n] with [m,1]"]


@pytest.mark.parametrize(
    ("equation", "situation"),
    [
        ("ij->ji", "ab->ba"),
        ("xyz -> zx", "abc->ca"),
        ("ij,jk->ik", "ab,bc->ac"),
        ("iij->j", "aab->b"),
    ],
)
def test_equations_of_other_letters_are_one_situation(
    equation: str, situation: str, case_of: Write
) -> None:
    terms = equation.split("->")[0].replace(" ", "").split(",")
    shapes = ", ".join(
        f"Inputs_{place}: {{shape: {[2] * len(term)}, arange: [1, 1]}}"
        for place, term in enumerate(terms)
    )
    case = case_of(
        f'op: Einsum, opset: 28, dtype: float32, attrs: {{equation: "{equation}"}},'
        f" inputs: {{{shapes}}}"
    )
    assert [*equations.found_in(case)] == [situation]
    assert situation in equations.situations(schema("Einsum"))


@pytest.mark.parametrize("equation", ["bij,bjk->bik", "bjk,bij->bik"])
def test_three_axes_are_told_apart_by_the_roles_of_letters(
    equation: str, case_of: Write, wording
) -> None:
    case = case_of(
        f'op: Einsum, opset: 28, dtype: float32, attrs: {{equation: "{equation}"}}, inputs:'
        " {Inputs_0: {shape: [2, 2, 2], arange: [1, 1]},"
        " Inputs_1: {shape: [2, 2, 2], arange: [1, 1]}}"
    )
    assert [*equations.found_in(case)] == wording


def test_integers_are_told_apart_by_sign_and_by_ends(case_of: Write) -> None:
    case = case_of("op: Mod, opset: 28, dtype: int8, inputs: {A: [-7, 0, 127], B: [3, -2, -128]}")
    assert {*integers.found_in(case)} == {
        "fmod=0, int8: negative with positive",
        "fmod=0, int8: zero with negative",
        "fmod=0, int8: positive with negative",
        "fmod=0, int8: first is greatest",
        "fmod=0, int8: second is least",
    }


@pytest.mark.parametrize(
    ("dtype", "exponent", "ends"),
    [
        ("int64", "[0, 2147483647]", []),
        ("uint8", "[0, 255]", ["greatest", "least"]),
        ("float32", "[0, -2147483648]", []),
    ],
)
def test_ends_of_an_exponent_are_those_of_its_own_type(
    dtype: str, exponent: str, ends: list[str], case_of: Write
) -> None:
    case = case_of(
        "op: Pow, opset: 15, inputs: {X: {value: [1, 1], dtype: int32},"
        f" Y: {{value: {exponent}, dtype: {dtype}}}}}"
    )
    found = sorted(one for one in integers.found_in(case) if " is " in one)
    assert found == [f"int32: second is {end}" for end in ends]


def test_a_scalar_is_a_situation_of_its_own(case_of: Write, wording) -> None:
    case = case_of("op: Mod, opset: 28, dtype: int64, attrs: {fmod: 1}, inputs: {A: -7, B: 3}")
    assert [*integers.found_in(case)] == wording


def test_unsigned_integers_have_no_negative_ones() -> None:
    assert {*integers.situations(schema("Abs"))} >= {"uint8: zero", "uint8: greatest"}
    assert "uint8: negative" not in {*integers.situations(schema("Abs"))}


@pytest.mark.parametrize(
    ("attrs", "situation"),
    [
        ("", "one axis: no pads"),
        ("strides: [2], pads: [0, 1]", "one axis: stride, pads at the end"),
        ("dilations: [2], pads: [1, 2]", "one axis: dilation, unequal pads"),
        ("strides: [3], ceil_mode: 1", "one axis: stride, no pads, ceil_mode"),
        ("ceil_mode: 1", "one axis: no pads"),
    ],
)
def test_a_window_along_one_axis(attrs: str, situation: str, case_of: Write) -> None:
    case = case_of(
        f"op: MaxPool, opset: 22, dtype: float32, attrs: {{kernel_shape: [3], {attrs}}},"
        " inputs: {X: {shape: [1, 1, 9], arange: [1, 1]}}"
    )
    assert [*windows.found_in(case)] == [situation]


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        ("strides: [2, 1]", ["two axes: stride of axis 0"]),
        ("pads: [0, 0, 0, 1]", ["two axes: pad after axis 1"]),
        ("pads: [0, 2, 1, 3]", ["two axes: four unequal pads"]),
        ("pads: [1, 1, 1, 1]", []),
    ],
)
def test_a_window_along_two_axes(attrs: str, found: list[str], case_of: Write) -> None:
    case = case_of(
        f"op: Conv, opset: 22, dtype: float32, attrs: {{{attrs}}}, inputs:"
        " {X: {shape: [1, 1, 5, 5], arange: [1, 1]}, W: {shape: [1, 1, 4, 4], arange: [1, 1]}}"
    )
    assert [*windows.found_in(case)] == found


def test_indices_are_told_apart_by_place_and_by_shorter_axes(case_of: Write) -> None:
    case = case_of(
        "op: GatherElements, opset: 13, dtype: float32, attrs: {axis: 1},"
        " inputs: {data: {shape: [3, 4], arange: [1, 1]},"
        " indices: {value: [[0, -1, 3, -4]], dtype: int64}}"
    )
    assert [*indexing.found_in(case)] == [
        *("first", "last", "negative", "first from the back", "last from the back"),
        *("axis 1 of 2", "axis 1 of 2, shorter along 0"),
    ]


@pytest.mark.parametrize(
    ("attrs", "indices", "found"),
    [
        ("", "[[0, 1]]", ["first"]),
        ("", "[[1, 0]]", ["last"]),
        ("", "[[-2, -1]]", ["negative", "first from the back"]),
        ("batch_dims: 1", "[[0], [2]]", ["first", "last"]),
    ],
)
def test_of_tuples_the_first_index_counts(
    attrs: str, indices: str, found: list[str], case_of: Write
) -> None:
    case = case_of(
        f"op: GatherND, opset: 13, dtype: float32, attrs: {{{attrs}}}, inputs:"
        f" {{data: {{shape: [2, 3], arange: [1, 1]}}, indices: {{value: {indices}, dtype: int64}}}}"
    )
    assert [*indexing.found_in(case)] == found


@pytest.mark.parametrize(
    ("attrs", "scale", "found"),
    [
        ("", [], ["one scale of rank 2"]),
        ("axis: 0", [6], ["a scale for each index of axis 0 of 2"]),
        (
            "axis: -1",
            [8],
            [
                "a scale for each index of axis 1 of 2",
                "a scale for each index of axis 1 of 2, from the back",
            ],
        ),
        ("axis: 0, block_size: 2", [3, 8], ["blocks along axis 0 of 2"]),
        ("axis: 0, block_size: 4", [2, 8], ["a last block that is shorter along axis 0 of 2"]),
        ("axis: 1, block_size: 8", [6, 1], ["one block along axis 1 of 2"]),
    ],
)
def test_scales_are_told_apart_by_axis_and_block(
    attrs: str, scale: list[int], found: list[str], case_of: Write
) -> None:
    case = case_of(
        f"op: QuantizeLinear, opset: 28, attrs: {{{attrs}}}, inputs:"
        " {x: {shape: [6, 8], dtype: float32, arange: [0, 1]},"
        f" y_scale: {{shape: {scale}, dtype: float32, constant: 1}},"
        f" y_zero_point: {{shape: {scale}, dtype: int8, constant: 1}}}}"
    )
    assert [*quantization.found_in(case)] == found


def test_values_of_attributes_are_counted_by_hand() -> None:
    # Two flags: each left out and of two values, four pairs, and these along one or more elements.
    assert len([*attributes.situations(schema("CumSum"))]) == 2 * 3 + 4 + 4 * 2
    assert {*attributes.situations(schema("Gelu"))} == {
        "approximate left out",
        "approximate=none",
        "approximate=tanh",
    }
    assert [*attributes.situations(schema("Relu"))] == []


def test_an_attribute_that_is_left_out_counts_as_its_default_in_pairs(case_of: Write) -> None:
    case = case_of(
        "op: CumSum, opset: 14, dtype: float32, attrs: {reverse: 1},"
        " inputs: {x: {shape: [3, 1], arange: [1, 1]}, axis: {value: -1, dtype: int64}}"
    )
    assert [*attributes.found_in(case)] == [
        *("exclusive left out", "reverse=1", "exclusive=0, reverse=1"),
        "exclusive=0, reverse=1, an axis of one element",
    ]


@pytest.mark.parametrize(
    ("channels", "found"),
    [
        (4, "fewer channels"),
        (8, "as many channels as a block is long"),
        (12, "more channels"),
    ],
)
def test_blocks_are_told_apart_by_the_channels_beside_them(
    channels: int, found: str, case_of: Write
) -> None:
    case = case_of(
        "op: DepthToSpace, opset: 13, dtype: float32, attrs: {blocksize: 2, mode: CRD},"
        f" inputs: {{input: {{shape: [1, {channels}, 2, 3], arange: [1, 1]}}}}"
    )
    assert f"mode=CRD, {found}" in [*attributes.found_in(case)]


def test_axes_are_counted_from_the_front_and_from_the_back() -> None:
    assert len([*axes.situations(schema("Softmax"))]) == 2 + 4 + 6
    assert [*axes.situations(schema("Gather"))] == []


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("op: Softmax, opset: 13, attrs: {axis: -2}, inputs: {input", ["axis -2 of 3"]),
        ("op: Softmax, opset: 13, inputs: {input", ["axis -1 of 3"]),
        ("op: ReduceSum, opset: 13, inputs: {axes: [1], data", ["axis 1 of 3"]),
        ("op: ReduceSum, opset: 13, inputs: {axes: [-1, 0], data", ["axes 0, 2 of 3"]),
        ("op: Unsqueeze, opset: 13, inputs: {axes: [0, 1], data", []),
        ("op: Unsqueeze, opset: 13, inputs: {axes: [1], data", []),
    ],
)
def test_an_axis_is_told_apart_by_place(fields: str, found: list[str], case_of: Write) -> None:
    case = case_of(f"{fields}: {{shape: [2, 3, 4], arange: [1, 1], dtype: float32}}}}")
    assert [*axes.found_in(case)] == found


def test_coefficients_are_counted_by_hand() -> None:
    # Two of five sorts each, data on either side of 0, and the pairs of sorts.
    assert len([*coefficients.situations(schema("Selu"))]) == 2 * 5 * 2 + 5 * 5
    assert [*coefficients.situations(schema("Relu"))] == []


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (
            "op: Elu, opset: 22, attrs: {alpha: -2}, inputs: {X: [-3, 0]",
            ["alpha negative, data below 0"],
        ),
        ("op: Elu, opset: 22, inputs: {X: [3, .nan]", ["alpha 1, data above 0"]),
        (
            "op: ThresholdedRelu, opset: 22, attrs: {alpha: 0.5}, inputs: {X: [0.5, 1]",
            [
                "alpha a fraction, data up to the threshold",
                "alpha a fraction, data above the threshold",
            ],
        ),
        (
            "op: RMSNormalization, opset: 23, attrs: {epsilon: 4},"
            " inputs: {scale: [1], X: [[2], [3]]",
            [
                "epsilon above 1, mean square up to epsilon",
                "epsilon above 1, mean square above epsilon",
            ],
        ),
        (
            "op: LayerNormalization, opset: 17, attrs: {epsilon: 0, axis: 0},"
            " inputs: {Scale: [1, 1], X: [1, 2]",
            ["epsilon 0, variance above epsilon"],
        ),
        (
            "op: BatchNormalization, opset: 15, attrs: {training_mode: 1, momentum: 0},"
            " inputs: {scale: [1], B: [1], input_mean: [1], input_var: [1], X: [[1]]",
            ["momentum 0"],
        ),
    ],
)
def test_a_coefficient_is_told_apart_by_sort_and_by_side(
    fields: str, found: list[str], case_of: Write
) -> None:
    case = case_of(f"{fields}}}, dtype: float32")
    assert [*coefficients.found_in(case)] == found


def test_coefficients_of_an_activation_are_its_own(case_of: Write) -> None:
    case = case_of(
        "op: RNN, opset: 22, dtype: float32,"
        " attrs: {activations: [Affine], activation_alpha: [0.5], activation_beta: [2]},"
        " inputs: {X: [[[1]]], W: [[[1]]], R: [[[1]]]}"
    )
    assert [*coefficients.found_in(case)] == [
        "Affine, activation_alpha a fraction",
        "Affine, activation_beta above 1",
    ]


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        (
            "lambd: 1, bias: -1",
            ["lambd 1, data below -lambd", "lambd 1, data between", "lambd 1, data above lambd"],
        ),
        (
            "lambd: -1, bias: -1",
            ["lambd negative, data below -lambd", "lambd negative, data above lambd"],
        ),
    ],
)
def test_shrink_has_three_sides(attrs: str, found: list[str], case_of: Write) -> None:
    case = case_of(
        f"op: Shrink, opset: 9, dtype: float32, attrs: {{{attrs}}}, inputs: {{input: [-2, 0, 2]}}"
    )
    assert [
        one for one in coefficients.found_in(case) if one.startswith("lambd") and "data" in one
    ] == found


def test_ranges_are_counted_by_hand() -> None:
    # Six places for a start and an end, and two ways in which both lie inside, by six steps.
    assert len([*ranges.situations(schema("Slice"))]) == (6 * 6 + 2) * 6
    # 0, 1 or 2 repeats along each of up to three axes.
    assert len([*ranges.situations(schema("Tile"))]) == 3 + 9 + 27
    # Of one axis, the only one, along it or all. Of two: either, or both, of which three choices.
    assert len([*ranges.situations(schema("Squeeze"))]) == 2 + (2 * 2 + 4) + (3 * 2 + 3 * 4 + 8)
    assert [*ranges.situations(schema("Relu"))] == []


def data(*shape: int) -> str:
    return f"{{shape: {[*shape]}, permutation: [1, 1], dtype: float32}}"


def whole(*numbers: int) -> str:
    return f"{{value: {[*numbers]}, dtype: int64}}"


@pytest.mark.parametrize(
    ("start", "end", "step", "found"),
    [
        (0, 5, 1, ["from first to the end, step 1"]),
        (2, 4, 3, ["from inside to inside, step 2"]),
        (-9, 9, 6, ["from before the first to beyond, step longer than the axis"]),
        (
            *(3, -2, -1),
            ["from inside to inside from the back, step -1", "start equals end, step -1"],
        ),
        (
            *(-1, 1, -2),
            ["from inside from the back to inside, step -2", "start lies behind end, step -2"],
        ),
    ],
)
def test_a_slice_is_told_apart_by_places_and_step(
    start: int, end: int, step: int, found: list[str], case_of: Write
) -> None:
    case = case_of(
        f"op: Slice, opset: 13, inputs: {{data: {data(2, 5)}, starts: {whole(start)},"
        f" ends: {whole(end)}, axes: {whole(-1)}, steps: {whole(step)}}}"
    )
    assert [*ranges.found_in(case)] == found


def test_slices_along_two_axes_are_in_no_situation(case_of: Write) -> None:
    case = case_of(
        f"op: Slice, opset: 13, inputs: {{data: {data(5, 5)}, starts: {whole(0, 1)},"
        f" ends: {whole(1, 2)}}}"
    )
    assert [*ranges.found_in(case)] == []


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ("start: -2, limit: 2, delta: 2", "positive delta, above 1, the limit is a multiple"),
        ("start: -2, limit: 2, delta: 1.5", "positive delta, above 1, the limit is no multiple"),
        ("start: -2, limit: 2, delta: 4", "positive delta, above 1, one number"),
        ("start: -2, limit: 2, delta: -0.5", "negative delta, a fraction, delta leads away"),
        ("start: -2, limit: -2, delta: -1", "negative delta, 1, start equals limit"),
    ],
)
def test_a_range_is_told_apart_by_how_its_limit_is_met(
    numbers: str, found: str, case_of: Write
) -> None:
    case = case_of(f"op: Range, opset: 27, dtype: float32, inputs: {{{numbers}}}")
    assert next(ranges.found_in(case)) == f"float32: {found}"


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (
            f"op: Shape, opset: 25, attrs: {{end: -1}}, inputs: {{data: {data(2, 3, 4)}",
            ["from the default to inside from the back"],
        ),
        (
            f"op: Split, opset: 18, attrs: {{num_outputs: 2}}, inputs: {{input: {data(5, 2, 3)}",
            ["axis 0: a shorter last part"],
        ),
        (
            "op: Split, opset: 18, attrs: {axis: -1},"
            f" inputs: {{input: {data(5, 2, 3)}, split: {whole(2, 0, 1)}",
            ["axis 2: a length of 0 between"],
        ),
        (
            f"op: Tile, opset: 13, inputs: {{input: {data(2, 3)}, repeats: {whole(0, 2)}",
            ["repeats 0, 2"],
        ),
        (
            "op: ReverseSequence, opset: 28,"
            f" inputs: {{input: {data(3, 2)}, sequence_lens: {whole(1, 3)}",
            ["time first, 2 axes, length 1", "time first, 2 axes, length all"],
        ),
        (
            "op: Pad, opset: 25, attrs: {mode: edge},"
            f" inputs: {{data: {data(2, 3)}, pads: {whole(0, 3, 0, 2)}",
            ["edge: begin padded by the length or more, end padded"],
        ),
        (
            f"op: Pad, opset: 25, inputs: {{data: {data(2, 3)}, pads: {whole(-1, 1, 0, 0)}",
            [],
        ),
        (
            f"op: CenterCropPad, opset: 18, inputs: {{input_data: {data(5)}, shape: {whole(2)}",
            ["cropped by an odd number"],
        ),
        (
            f"op: Squeeze, opset: 25, inputs: {{data: {data(1, 3, 1)}, axes: {whole(-1, 0)}",
            ["[1,n,1] along 0, 2"],
        ),
        (f"op: Squeeze, opset: 25, inputs: {{data: {data(1, 3)}", ["[1,n] along all"]),
        (
            f"op: Unsqueeze, opset: 25, inputs: {{data: {data(2, 3)}, axes: {whole(-2)}",
            ["2 axes, and new ones at 1"],
        ),
        (
            f"op: Reshape, opset: 25, inputs: {{data: {data(2, 3)}, shape: {whole(0, -1)}",
            ["to [0,-1]"],
        ),
        (
            f"op: EyeLike, opset: 22, attrs: {{k: -1}}, inputs: {{input: {data(2, 3)}",
            ["wide, the lowest corner"],
        ),
        (
            "op: Trilu, opset: 14, attrs: {upper: 0},"
            f" inputs: {{input: {data(3, 3)}, k: {{value: 5, dtype: int64}}",
            ["upper=0, square, above the matrix"],
        ),
    ],
)
def test_numbers_are_told_apart_by_place(fields: str, found: list[str], case_of: Write) -> None:
    assert [*ranges.found_in(case_of(f"{fields}}}"))] == found
