"""What the texts of Cast and of linear quantization leave open, and the answers that are right."""

from typing import Any

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion

ONE = np.float32(1)


def answers(op: str, since: int, inputs: list[Any], **attrs: Any) -> list[Any]:
    """Return each answer to a node, as the values of its first output, or "refused"."""
    node = Node(OpVersion("", op, since), tuple(map(np.asarray, inputs)), attrs)
    with judging():
        found = [reading.answer for reading in each_answer(node)]
    return [
        "refused"
        if isinstance(answer, InvalidNode)
        else rounded(answer[0]).astype(np.float64).tolist()
        for answer in found
    ]


def cast(since: int, x: Any, to: str, **attrs: Any) -> list[Any]:
    return answers("Cast", since, [x], to=DTYPES[to].onnx, **attrs)


def zero(dtype: str) -> Any:
    return np.zeros((), DTYPES[dtype].numpy)


@pytest.mark.parametrize("number", [-1, 999, DTYPES["int64"].onnx])
@pytest.mark.parametrize("zero_point", [[], [np.uint8(0)]])
def test_an_output_type_that_quantization_does_not_have_is_illegal(
    number: int, zero_point: list[Any]
) -> None:
    inputs = [np.ones(3, np.float32), ONE, *zero_point]
    with pytest.raises(InvalidNode):
        answers("QuantizeLinear", 28, inputs, output_dtype=number)


def test_integers_out_of_range_wrap_or_saturate_before_version_13() -> None:
    x = np.int16([200, -129, 5])
    assert cast(9, x, "int8") == [[-56, 127, 5], [127, -128, 5]]
    assert cast(9, np.int16([-1, 300]), "uint8") == [[255, 44], [0, 255]]
    assert cast(9, np.int16([5, -128]), "int8") == [[5, -128]]
    assert cast(13, x, "int8") == [[-56, 127, 5]]


@pytest.mark.parametrize(("to", "since"), [("int4", 21), ("int2", 25)])
def test_fractions_are_cut_off_or_rounded_to_4_and_2_bits(to: str, since: int) -> None:
    x = np.float32([0.75, -0.75, 0.5, -1.75])
    assert cast(since, x, to) == [[0, 0, 0, -1], [1, -1, 0, -2]]
    assert cast(since, np.float32([0.25, -0.5, 1]), to) == [[0, 0, 1]]
    assert cast(since, x, "int8") == [[0, 0, 0, -1]]


def test_a_fraction_that_is_rounded_out_of_range_is_undefined() -> None:
    assert cast(21, np.float32([7.25]), "int4") == [[7]]
    with pytest.raises(NotSupported):
        cast(21, np.float32([7.75]), "int4")


@pytest.mark.parametrize(("to", "largest"), [("float8e4m3fnuz", 240), ("float8e5m2fnuz", 57344)])
def test_version_24_decides_what_infinities_become_without_signed_zeros(
    to: str, largest: float
) -> None:
    x = np.float32([np.inf, -np.inf, 1e30, 1])
    right = [largest, -largest, largest, 1]
    open_answers = [right, [np.nan, np.nan, largest, 1]]
    np.testing.assert_array_equal(cast(23, x, to), open_answers)
    assert cast(24, x, to) == [right]
    np.testing.assert_array_equal(cast(23, x, to, saturate=0), [[np.nan] * 3 + [1]])
    quantized = answers("QuantizeLinear", 23, [x, ONE, zero(to)])
    np.testing.assert_array_equal(quantized, open_answers)
    assert answers("QuantizeLinear", 24, [x, ONE, zero(to)]) == [right]
    like = answers("CastLike", 19, [x, np.zeros(1, DTYPES[to].numpy)])
    np.testing.assert_array_equal(like, open_answers)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int4", "uint2", "float4e2m1", "float6e3m2"])
def test_nan_may_become_any_number_of_a_type_without_nan(dtype: str) -> None:
    inputs = (np.float32([np.nan, 1]), np.asarray(ONE), zero(dtype))
    with judging():
        (reading,) = each_answer(Node(OpVersion("", "QuantizeLinear", 28), inputs, {}))
    admitted = reading.answer[0].output.admitted.astype(np.float64)
    assert len({*map(str, admitted[0])}) == 1 << DTYPES[dtype].bits
    assert {*admitted[1]} == {1}


def test_nan_among_too_many_numbers_is_undefined() -> None:
    x = np.full(1 << 17, np.nan, np.float32)
    with pytest.raises(NotSupported, match="NaN"):
        answers("QuantizeLinear", 28, [x, ONE, zero("uint8")])


@pytest.mark.parametrize(
    ("x", "scale", "attrs", "right"),
    [
        ([[2, 4]], [2], {}, [[[1, 2]], "refused"]),
        ([[2, 4]], [2], {"axis": 0}, [[[1, 2]]]),
        ([[2, 4]], 2, {"axis": 1}, [[[1, 2]]]),
        ([[2, 4]], 2, {"axis": 2}, [[[1, 2]], "refused"]),
        ([2, 4], [2, 1], {}, [[1, 4], "refused"]),
        ([2, 4], [2, 1], {"axis": 0}, [[1, 4]]),
        ([[2, 4]], [2, 1], {"axis": 1, "block_size": 2}, [[[1, 4]], "refused"]),
        ([[2, 4]], [[2]], {"axis": 1, "block_size": 2}, [[[1, 2]]]),
    ],
)
def test_scales_that_the_text_does_not_place_are_taken_or_refused(
    x: Any, scale: Any, attrs: Any, right: Any
) -> None:
    inputs = [np.float32(x), np.float32(scale)]
    assert answers("QuantizeLinear", 21, inputs, **attrs) == right


@pytest.mark.parametrize(("x", "right"), [([2.0], [1.0]), ([2.0, 4.0], [1.0, 2.0])])
def test_before_axes_a_scale_of_one_element_is_a_scalar_or_refused(x: Any, right: Any) -> None:
    inputs = [np.float32(x), np.float32([2])]
    assert answers("QuantizeLinear", 10, inputs) == [right, "refused"]


def test_a_zero_point_of_int32_is_subtracted_or_ignored_or_refused() -> None:
    inputs = [np.int32([3, 5]), ONE, np.int32(1)]
    assert answers("DequantizeLinear", 13, inputs) == [[2, 4], [3, 5], "refused"]
    assert answers("DequantizeLinear", 13, [*inputs[:2], np.int32(0)]) == [[3, 5]]
