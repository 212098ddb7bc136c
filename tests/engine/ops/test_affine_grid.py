"""AffineGrid where its text leaves something open."""

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion

AFFINE_GRID = OpVersion("", "AffineGrid", 20)
IDENTITY = np.float32([[[1, 0, 0], [0, 1, 0]]])


def grid_node(theta, size):
    return Node(AFFINE_GRID, (theta, np.array(size)), {"align_corners": 1})


def test_the_only_element_between_corners_may_lie_at_either_of_them_or_between():
    """Of one row and two columns, y is -1, 0 or 1, and x is -1 and 1."""
    with judging():
        readings = [*each_answer(grid_node(IDENTITY, [1, 1, 1, 2]))]
    found = {r.chosen["corners-of-one-element"]: rounded(r.answer[0]).tolist() for r in readings}
    assert found == {
        "first": [[[[-1, -1], [1, -1]]]],
        "middle": [[[[-1, 0], [1, 0]]]],
        "last": [[[[-1, 1], [1, 1]]]],
    }


def test_infinity_times_a_place_that_may_round_to_0_is_not_decided():
    theta = np.where(IDENTITY == 1, np.float32(np.inf), IDENTITY)
    with judging(), pytest.raises(NotSupported, match="may round to 0"):
        [*each_answer(grid_node(theta, [1, 1, 3, 3]))]
