"""Sizes that two readers of a text read differently are left open; others are decided."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion


def answer(op: str, since: int, inputs: list[Any], **attrs: Any) -> Any:
    node = Node(OpVersion("", op, since), tuple(np.asarray(x, np.float32) for x in inputs), attrs)
    with judging():
        return node.right[0].tolist()


def pooled(pads: tuple[int, int], **attrs: Any) -> Any:
    more = {"kernel_shape": (3,), "strides": (2,), "pads": pads, "p": 1, **attrs}
    return answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **more)


def admitted(op: str, since: int, x: Any, **attrs: Any) -> list[Any]:
    """Return each answer that the text admits, "refused" for a refusal."""
    node = Node(OpVersion("", op, since), (np.asarray(x, np.float32),), attrs)
    with judging():
        readings = [*each_answer(node)]
    return [
        "refused" if isinstance(one.answer, InvalidNode) else rounded(one.answer[0]).tolist()
        for one in readings
    ]


def test_a_last_window_of_lp_pool_in_the_padding_may_count_under_ceil_mode() -> None:
    attrs: dict[str, Any] = {"kernel_shape": (3,), "strides": (2,), "pads": (0, 2), "p": 1}
    found = admitted("LpPool", 22, [[[1, 2, 3, 4]]], **attrs, ceil_mode=1)
    assert found == [[[[6, 7, 0]]], [[[6, 7]]]]


def test_a_last_window_of_lp_pool_that_holds_a_value_counts() -> None:
    assert pooled((0, 1), ceil_mode=1) == [[[6, 7]]]
    assert pooled((0, 2)) == [[[6, 7]]]


def test_valid_sizes_of_lp_pool_are_open_under_ceil_mode_where_rounding_counts() -> None:
    valid: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "kernel_shape": (3,), "p": 1}
    assert answer("LpPool", 22, [[[[1, 2, 3, 4, 5]]]], **valid, strides=(2,)) == [[[6, 12]]]
    found = admitted("LpPool", 22, [[[1, 2, 3, 4]]], **valid, strides=(2,))
    assert found == [[[[6]]], [[[6, 7]]]]


@pytest.mark.parametrize(
    ("op", "since", "kernel", "stride", "right"),
    [
        # By the formula 0, and less than a stride is missing.
        ("LpPool", 22, 4, 2, [[[[]]], [[[6]]], "refused"]),
        ("LpPool", 22, 5, 2, [[[[]]], "refused"]),
        ("AveragePool", 22, 4, 2, [[[[]]], "refused"]),
        ("MaxPool", 22, 4, 1, [[[[]]], "refused"]),
        # Below 0: version 18 has a formula.
        ("LpPool", 11, 6, 2, ["refused", [[[]]]]),
    ],
)
def test_an_output_of_size_0_may_be_refused(
    op: str, since: int, kernel: int, stride: int, right: list[Any]
) -> None:
    attrs: dict[str, Any] = {"kernel_shape": (kernel,), "strides": (stride,)}
    if op == "LpPool":
        attrs["p"] = 1
    assert admitted(op, since, [[[1, 2, 3]]], **attrs) == right


def test_a_size_below_0_is_refused_where_the_text_has_a_formula() -> None:
    with pytest.raises(InvalidNode, match="output size -1"):
        answer("LpPool", 18, [[[[1, 2, 3]]]], kernel_shape=(6,), strides=(2,), p=1)


def test_same_matches_the_input_literally_or_by_strides_before_version_11() -> None:
    attrs: dict[str, Any] = {
        "auto_pad": "SAME_LOWER",
        "kernel_shape": (3,),
        "strides": (2,),
        "p": 1,
    }
    x = [[[1, 2, 4, 8, 16, 32]]]
    found = admitted("LpPool", 2, x, **attrs)
    assert found == [[[[3, 14, 56]]], [[[0, 1, 7, 28, 48, 0]]]]
    assert admitted("LpPool", 11, x, **attrs) == [[[[3, 14, 56]]]]


def test_a_part_with_scales_is_scaled_alone_or_as_its_axis_is() -> None:
    crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    x, roi, scales = np.float32([0, 40, 80, 120]), np.float32([0, 0.5]), np.float32([1.5])
    node = Node(OpVersion("", "Resize", 13), (x, roi, scales), crop)
    with judging():
        found = {one.chosen["scaled-part"]: rounded(one.answer[0]) for one in each_answer(node)}
    np.testing.assert_allclose(found["part_scaled"], [0, 30, 60])
    np.testing.assert_allclose(found["axis_scaled"], [0, 12, 24, 36, 48, 60], rtol=1e-6)


def test_a_part_as_large_as_its_axis_is_decided_unless_its_cut_off_size_decides() -> None:
    crop = {
        "mode": "nearest",
        "nearest_mode": "floor",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 9.0,
    }
    # The part from 1 to 3 of [0, 2]: places 1, 2 and 3, and 1.0, 1.4, 1.8 … for twice as many.
    assert answer("Resize", 13, [[5, 6, 7], [0.5, 1.5], [1]], **crop) == [6, 7, 9]
    assert answer("Resize", 13, [[5, 6, 7], [0.5, 1.5], [2]], **crop) == [6, 6, 6, 9, 9, 9]
    # 7 of 7.5: the last place is 2 by the whole number, and 1.8 by the fraction.
    with pytest.raises(NotSupported, match="which scale counts"):
        answer("Resize", 13, [[5, 6, 7], [0, 1], [2.5]], **crop)


def test_what_is_outside_is_open_where_a_cut_off_size_decides_it() -> None:
    """From −1 on, the fifth of 9.3 places is at 0 by the whole number 9, and outside by 9.3."""
    crop = {
        "mode": "nearest",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 9.0,
    }
    with pytest.raises(NotSupported, match="which scale counts"):
        answer("Resize", 13, [[5, 6, 7], [-1 / 2, 1 / 2], [3.1]], **crop)
