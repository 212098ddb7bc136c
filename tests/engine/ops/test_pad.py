"""Pad: what reflects where padding is longer than the axis. Its suite has all else."""

from typing import Any

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import by_reading


def reflections(data: list[int], pads: list[int], since: int) -> dict[str, Any]:
    """The outputs by the names of the readings; None for a refusal."""
    inputs = [np.array(data), np.array(pads)]
    answers = by_reading(OpVersion("", "Pad", since), inputs, {"mode": "reflect"})
    return {name: found and found[0].tolist() for name, found in answers.items()}


@pytest.mark.parametrize("since", [11, 13, 18, 25])
def test_padding_longer_than_the_axis_is_refused_or_goes_back_and_forth(since: int) -> None:
    assert reflections([1, 2, 3], [0, 7], since) == {
        "refused": None,
        "back_and_forth": [1, 2, 3, 2, 1, 2, 3, 2, 1, 2],
    }
    assert reflections([1, 2], [5, 0], since) == {
        "refused": None,
        "back_and_forth": [2, 1, 2, 1, 2, 1, 2],
    }
    assert reflections([7], [1, 1], since) == {"refused": None, "back_and_forth": [7, 7, 7]}


def test_padding_as_long_as_the_axis_has_one_answer() -> None:
    assert reflections([1, 2, 3], [3, 0], 25) == {"": [2, 3, 2, 1, 2, 3]}
