"""Resize and Upsample where their texts admit several answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array, OpVersion
from tests.wording import Wording


def node(op: str, since: int, inputs: Sequence[Array | None], **attrs: Any) -> Node:
    return Node(OpVersion("", op, since), tuple(inputs), attrs)


def answers(asked: Node, ruling: str) -> dict[str, Any]:
    """Return the outputs by the reading of a ruling, "" where it does not come up."""
    with judging():
        readings = [*each_answer(asked)]
    found: dict[str, Any] = {}
    for reading in readings:
        if isinstance(reading.answer, InvalidNode):
            outputs: Any = "refused"
        else:
            outputs = rounded(reading.answer[0]).tolist()
        found.setdefault(reading.chosen.get(ruling, ""), []).append(outputs)
    return found


CROP = {
    "mode": "nearest",
    "nearest_mode": "floor",
    "coordinate_transformation_mode": "tf_crop_and_resize",
    "extrapolation_value": 9.0,
}


def cropped(x: Sequence[float], roi: Sequence[float], scale: float, **attrs: Any) -> Node:
    inputs = (np.float32(x), np.float32(roi), np.float32([scale]))
    return node("Resize", 13, inputs, **{**CROP, **attrs})


def test_a_part_with_scales_is_scaled_alone_or_as_its_axis_is() -> None:
    asked = cropped([0, 40, 80, 120], [0, 0.5], 1.5, mode="linear")
    found = answers(asked, "scaled-part")
    np.testing.assert_allclose(found["part_scaled"], [[0, 30, 60]])
    np.testing.assert_allclose(found["axis_scaled"], [[0, 12, 24, 36, 48, 60]], rtol=1e-6)


def test_a_part_as_large_as_its_axis_is_decided_with_whole_sizes() -> None:
    # The part from 1 to 3 of [0, 2]: places 1, 2 and 3, and 1.0, 1.4, 1.8 … for twice as many.
    once = cropped([5, 6, 7], [0.5, 1.5], 1)
    assert answers(once, "scale-of-a-cut-off-length") == {"": [[6, 7, 9]]}
    twice = cropped([5, 6, 7], [0.5, 1.5], 2)
    assert answers(twice, "scale-of-a-cut-off-length") == {"": [[6, 6, 6, 9, 9, 9]]}


def test_a_place_at_the_very_end_is_inside_or_outside_where_float32_lacks_its_step() -> None:
    """7 places lie 1/3 apart; a rounding takes the last one out of the input."""
    found = answers(cropped([5, 6, 7], [0, 1], 2.5), "edge-of-a-part")
    assert found["exact"] == [[5, 5, 5, 6, 6, 6, 7]]
    assert found["the_other"] == [[5, 5, 5, 6, 6, 6, 9]]


def test_beside_infinity_an_average_is_nan_or_leaves_out_what_has_no_weight() -> None:
    """Places 0, 1/2, 1, 3/2 and 2: infinity is half of two averages, and all of one."""
    x = np.float32([[1, np.inf, 3], [5, 6, 7]])
    sizes = np.array([2, 5])
    attrs = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    found = answers(node("Resize", 19, (x, None, None, sizes), **attrs), "weight-0-of-no-number")
    others = [5, 5.5, 6, 6.5, 7]
    assert found["left_out"] == [[[1, np.inf, np.inf, np.inf, 3], others]]
    (nan,) = found["nan"]
    assert np.isnan(nan[0]).all()
    assert nan[1] == others


def test_a_weight_that_rounding_may_make_0_leaves_infinity_open() -> None:
    """Place 1 of 7 places, 1/3 apart, may be a rounding after the infinity, or before it."""
    x = np.float32([0, np.inf, 2])
    attrs = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    with pytest.raises(NotSupported):
        answers(node("Resize", 19, (x, None, None, np.array([7])), **attrs), "")


def test_what_is_outside_is_by_the_fraction_or_by_the_whole_number() -> None:
    """From -1 on, the fifth of 9.3 places is at 0 by the whole number 9, and outside by 9.3."""
    asked = cropped([5, 6, 7], [-1 / 2, 1 / 2], 3.1, nearest_mode="round_prefer_floor")
    found = answers(asked, "scale-of-a-cut-off-length")
    assert found["as_given"] == [[9, 9, 9, 9, 9, 5, 5, 6, 6]]
    assert found["of_lengths"] == [[9, 9, 9, 9, 5, 5, 5, 6, 6]]


def test_a_product_that_float32_rounds_up_is_cut_off_before_or_after() -> None:
    """10 times the float32 next to 0.7 is less than 7, and 7 in float32."""
    inputs = (np.arange(10, dtype=np.float32), None, np.float32([0.7]))
    found = answers(node("Resize", 19, inputs), "size-in-float32")
    assert {reading: {*map(len, each)} for reading, each in found.items()} == {
        "exact": {6},
        "float32": {7},
    }


def test_scales_may_be_an_empty_tensor_next_to_sizes_or_not(wording: Wording) -> None:
    empty = np.zeros(0, np.float32)
    x = np.float32([1, 2])
    asked = node("Resize", 13, (x, None, empty, np.array([4])))
    assert answers(asked, "empty-scales") == {
        "left_out": [[1, 1, 2, 2]],
        "refused": ["refused"],
    }
    before = node("Resize", 11, (x, empty, empty, np.array([4])))
    assert answers(before, "empty-scales") == {"": [[1, 1, 2, 2]]}
    with judging(), pytest.raises(InvalidNode) as raised:
        [*each_answer(node("Resize", 13, (x, None, empty)))]
    assert raised.value == wording


def test_no_scales_belong_to_no_axes() -> None:
    asked = node("Resize", 18, (np.float32([1, 2]), None, np.zeros(0, np.float32)), axes=[])
    assert answers(asked, "") == {"": [[1, 2]]}


def test_integers_have_either_neighbor_that_float32_cannot_tell_apart() -> None:
    """Three times as long, the fourth element is at 1, or a rounding below."""
    attrs = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    asked = node("Resize", 19, (np.array([[1, 2], [3, 4]]), None, None, np.array([6, 6])), **attrs)
    with judging():
        readings = [*each_answer(asked)]
    found = {tuple(one.chosen.values()): rounded(one.answer[0]).tolist() for one in readings}
    at_1, below_1 = [1, 1, 1, 2, 2, 2], [1, 1, 1, 1, 2, 2]
    assert found == {
        (rows, columns): [[row * 2 - 2 + x for x in line] for row in of_rows]
        for rows, of_rows in (("nearest", at_1), ("the_other", below_1))
        for columns, line in (("nearest", at_1), ("the_other", below_1))
    }


def test_bilinear_is_linear_or_no_mode() -> None:
    inputs = (np.float32([[[[7]]]]), np.float32([1, 1, 2, 1]))
    asked = node("Upsample", 9, inputs, mode="bilinear")
    assert answers(asked, "names-of-linear") == {
        "accepted": [[[[[7], [7]]]]],
        "refused": ["refused"],
    }
