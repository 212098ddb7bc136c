"""NonMaxSuppression: each order of equal scores that selects other boxes is an answer."""

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading

OP = OpVersion("", "NonMaxSuppression", 11)


def selections(boxes, scores, most=9):
    """The boxes of each answer, of one class of one batch."""
    inputs = [np.float32([boxes]), np.float32([[scores]]), np.array(most), np.float32(0.25)]
    with judging():
        found = by_reading(OP, inputs, {"center_point_box": 0})
    return [rows[:, 2].tolist() for (rows,) in found.values()]


#: Intervals on a line: neighbors overlap by a third of their union, others not at all.
CHAIN = [[0, 0, 1, 2], [0, 1, 1, 3], [0, 2, 1, 4]]


def test_of_a_chain_of_equal_boxes_either_the_ends_or_the_middle_are_selected():
    assert selections(CHAIN, [1, 1, 1]) == [[0, 2], [1]]


def test_other_scores_decide():
    assert selections(CHAIN, [1, 2, 1]) == [[1]]
    assert selections(CHAIN, [2, 1, 1]) == [[0, 2]]


def test_without_room_for_all_any_of_the_equal_boxes_is_selected():
    apart = [[0, 2 * n, 1, 2 * n + 1] for n in range(3)]
    assert selections(apart, [1, 1, 1], most=1) == [[0], [1], [2]]


def test_equal_scores_of_boxes_that_are_all_selected_are_no_question():
    apart = [[0, 2 * n, 1, 2 * n + 1] for n in range(12)]
    assert selections(apart, [1] * 12, most=12) == [[*range(12)]]


def test_the_orders_of_many_equal_boxes_are_not_listed():
    with pytest.raises(NotSupported):
        selections(CHAIN * 2, [1] * 6)
