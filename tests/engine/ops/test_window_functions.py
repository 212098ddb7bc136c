"""Windows of one symmetric point, whose period is 0."""

import math

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate


def points(name, attrs):
    found = by_reading(OpVersion("", name, 17), [np.array(1)], attrs)
    return {reading: out[0].tolist() for reading, out in found.items()}


@pytest.mark.parametrize(
    ("name", "first"), [("HannWindow", 0), ("HammingWindow", np.float32(4 / 46))]
)
def test_one_symmetric_point_is_the_first_of_all_windows_or_1_or_nan(name, first):
    found = points(name, {"periodic": 0})
    assert found == {"first": [first], "one": [1], "nan": found["nan"]}
    assert math.isnan(*found["nan"])
    assert points(name, {"periodic": 1}) == {"": [first]}


@pytest.mark.parametrize(
    ("name", "attrs"),
    [("HannWindow", {"periodic": 0, "output_datatype": 6}), ("BlackmanWindow", {"periodic": 0})],
    ids=["NaN as an integer", "shares that cancel"],
)
def test_one_symmetric_point_judges_nobody_where_no_number_is_left(name, attrs):
    op = OpVersion("", name, 17)
    assert len(evaluate(op, [np.array(1)], attrs)) == 1
    with judging(), pytest.raises(NotSupported):
        by_reading(op, [np.array(1)], attrs)
