"""Sizes that two readers of a text read differently are left open; others are decided."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion


def answer(op: str, since: int, inputs: list[Any], **attrs: Any) -> Any:
    node = Node(OpVersion("", op, since), tuple(np.asarray(x, np.float32) for x in inputs), attrs)
    with judging():
        return node.right[0].tolist()


def pooled(pads: tuple[int, int], **attrs: Any) -> Any:
    more = {"kernel_shape": (3,), "strides": (2,), "pads": pads, "p": 1, **attrs}
    return answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **more)


def test_a_last_window_of_lp_pool_in_the_padding_is_open_under_ceil_mode() -> None:
    with pytest.raises(NotSupported, match="start in the padding"):
        pooled((0, 2), ceil_mode=1)


def test_a_last_window_of_lp_pool_that_holds_a_value_counts() -> None:
    assert pooled((0, 1), ceil_mode=1) == [[[6, 7]]]
    assert pooled((0, 2)) == [[[6, 7]]]


def test_valid_sizes_of_lp_pool_are_open_under_ceil_mode_where_rounding_counts() -> None:
    valid: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "kernel_shape": (3,), "p": 1}
    assert answer("LpPool", 22, [[[[1, 2, 3, 4, 5]]]], **valid, strides=(2,)) == [[[6, 12]]]
    with pytest.raises(NotSupported, match="VALID"):
        answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **valid, strides=(2,))


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
