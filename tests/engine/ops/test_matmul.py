"""Gemm where its text leaves something open."""

import math

import numpy as np
import pytest

from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

A = np.float32([[1, 2]])
B = np.float32([[3], [4]])


def readings(since, a, b, c, attrs):
    found = by_reading(OpVersion("", "Gemm", since), [a, b, c], attrs)
    return {name: out and out[0].tolist() for name, out in found.items()}


@pytest.mark.parametrize(
    ("a", "b", "c", "attrs", "left_out"),
    [
        (A, B, np.float32([[math.inf]]), {"beta": 0.0}, [[11]]),
        (A * np.float32(math.inf), B, np.float32([[5]]), {"alpha": 0.0}, [[5]]),
        (A, B * np.float32(math.inf), np.float32([[5]]), {"alpha": 0.0}, [[5]]),
    ],
    ids=["C", "A", "B"],
)
def test_0_times_infinity_is_nan_or_left_out(a, b, c, attrs, left_out):
    found = readings(13, a, b, c, attrs)
    assert found["left_out"] == left_out
    assert np.isnan(found["product"]).all()
    assert len(found) == 2


def test_0_times_a_number_has_one_answer():
    assert readings(13, A, B, np.float32([[5]]), {"alpha": 0.0, "beta": 0.0}) == {"": [[0]]}


@pytest.mark.parametrize("since", [1, 6])
def test_the_first_versions_may_stretch_a_column_or_refuse_it(since):
    a, column = np.float32([[1, 2], [3, 4]]), np.float32([[10], [20]])
    found = readings(since, a, np.eye(2, dtype=np.float32), column, {"broadcast": 1})
    assert found == {"stretched": [[11, 12], [23, 24]], "refused": None}
    row = readings(since, a, np.eye(2, dtype=np.float32), np.float32([10, 20]), {"broadcast": 1})
    assert row == {"": [[11, 22], [13, 24]]}


def test_without_broadcast_c_has_the_shape_of_y():
    with pytest.raises(InvalidNode, match="without broadcast"):
        evaluate(OpVersion("", "Gemm", 6), [A, B, np.float32([5])], {"broadcast": 0})
