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


def test_of_shares_that_cancel_one_symmetric_point_is_0_1_or_nan():
    op = OpVersion("", "BlackmanWindow", 17)
    with judging():
        found = by_reading(op, [np.array(1)], {"periodic": 0})
    assert {reading: y.tolist() for reading, (y,) in found.items()} == {
        "first": [0],
        "one": [1],
        "nan": [pytest.approx(math.nan, nan_ok=True)],
    }


def test_one_symmetric_point_judges_nobody_where_nan_is_an_integer():
    op = OpVersion("", "HannWindow", 17)
    attrs = {"periodic": 0, "output_datatype": 6}
    assert len(evaluate(op, [np.array(1)], attrs)) == 1
    with judging(), pytest.raises(NotSupported):
        by_reading(op, [np.array(1)], attrs)
