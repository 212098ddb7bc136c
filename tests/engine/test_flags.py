"""A flag of another number than 0 and 1 is taken for either of them, or refused."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import ArrayLike

from opcheck.engine.rulings import FLAG_OF_ANOTHER_NUMBER
from opcheck.model import Array, OpVersion
from tests.computed import by_reading


@dataclass(frozen=True)
class Flagged:
    """An operator with a flag, and its outputs for both values, worked out by hand."""

    op: OpVersion
    flag: str
    inputs: list[Array | None]
    if_1: list[ArrayLike]
    if_0: list[ArrayLike]
    attrs: dict[str, int] = field(default_factory=dict)


def window(name, first):
    """Return a window of two points: of one period, the second is its middle."""
    op = OpVersion("", name, 17)
    size = np.array(2)
    return Flagged(op, "periodic", [size], if_1=[[first, 1]], if_0=[[first, first]])


FLAGGED = [
    Flagged(
        OpVersion("", "AffineGrid", 20),
        "align_corners",
        [np.float32([[[1, 0, 0], [0, 1, 0]]]), np.array([1, 1, 2, 2])],
        if_1=[[[[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]]]],
        if_0=[[[[[-0.5, -0.5], [0.5, -0.5]], [[-0.5, 0.5], [0.5, 0.5]]]]],
    ),
    # The location is three quarters of the way to the last pixel, or that pixel.
    Flagged(
        OpVersion("", "GridSample", 20),
        "align_corners",
        [np.float32([[[[2, 4]]]]), np.float32([[[[0.5, 0]]]])],
        if_1=[[[[[3.5]]]]],
        if_0=[[[[[4]]]]],
    ),
    window("HannWindow", 0),
    window("HammingWindow", 4 / 46),
    window("BlackmanWindow", 0),
    # As corners the second box is a quarter of the first; as centers they share 1 of 7.
    Flagged(
        OpVersion("", "NonMaxSuppression", 11),
        "center_point_box",
        [
            np.float32([[[0, 0, 2, 2], [1, 1, 2, 2]]]),
            np.float32([[[2, 1]]]),
            np.array(2),
            np.float32(0.2),
        ],
        if_1=[[[0, 0, 0], [0, 0, 1]]],
        if_0=[[[0, 0, 0]]],
    ),
    Flagged(
        OpVersion("", "Trilu", 14),
        "upper",
        [np.float32([[1, 2], [3, 4]])],
        if_1=[[[1, 2], [0, 4]]],
        if_0=[[[1, 0], [3, 4]]],
    ),
    Flagged(
        OpVersion("", "Reshape", 14),
        "allowzero",
        [np.zeros((2, 0), np.float32), np.array([0, 0])],
        if_1=[np.zeros((0, 0))],
        if_0=[np.zeros((2, 0))],
    ),
    Flagged(
        OpVersion("", "ConcatFromSequence", 11),
        "new_axis",
        [np.float32([1, 2]), np.float32([3, 4])],
        if_1=[[[1, 2], [3, 4]]],
        if_0=[[1, 2, 3, 4]],
        attrs={"axis": 0},
    ),
    # The first output is the number of parts.
    Flagged(
        OpVersion("", "SplitToSequence", 11),
        "keepdims",
        [np.float32([1, 2])],
        if_1=[2, [1], [2]],
        if_0=[2, 1, 2],
    ),
    Flagged(
        OpVersion("", "ArgMax", 13),
        "keepdims",
        [np.float32([1, 3])],
        if_1=[[1]],
        if_0=[1],
    ),
    Flagged(
        OpVersion("", "ArgMin", 13),
        "select_last_index",
        [np.float32([3, 3])],
        if_1=[[1]],
        if_0=[[0]],
    ),
    Flagged(
        OpVersion("", "IsInf", 20),
        "detect_negative",
        [np.float32([-np.inf, np.inf])],
        if_1=[[True, True]],
        if_0=[[False, True]],
    ),
    Flagged(
        OpVersion("", "IsInf", 20),
        "detect_positive",
        [np.float32([-np.inf, np.inf])],
        if_1=[[True, True]],
        if_0=[[True, False]],
    ),
]


@pytest.mark.parametrize("value", [2, -1])
@pytest.mark.parametrize("flagged", FLAGGED, ids=lambda flagged: flagged.flag)
def test_a_flag_of_another_number_counts_as_1_or_as_0_or_is_refused(flagged, value):
    attrs = {**flagged.attrs, flagged.flag: value}
    answers = by_reading(flagged.op, flagged.inputs, attrs)
    assert answers.keys() == {*FLAG_OF_ANOTHER_NUMBER.readings}
    assert answers["refused"] is None
    assert_are_close(answers["as_1"], flagged.if_1)
    assert_are_close(answers["as_0"], flagged.if_0)


def assert_are_close(outputs, expected):
    """Assert that outputs have these values and shapes; None, a refusal, fails."""
    assert outputs is not None
    for output, values in zip(outputs, expected, strict=True):
        assert output.shape == np.shape(values)
        assert output == pytest.approx(np.array(values), rel=0, abs=1e-6)
