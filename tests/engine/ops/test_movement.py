"""Slice: negative axes of versions that do not mention them. Its suite has all else."""

from typing import Any

import numpy as np
import pytest

from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.computed import by_reading

DATA = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def slices(since: int, axis: int) -> dict[str, Any]:
    """The outputs from 1 to 2 along `axis` by the names of the readings; None for a refusal."""
    given = {"starts": [1], "ends": [2], "axes": [axis]}
    if since == 1:
        inputs = [DATA]
        attrs = {name: tuple(value) for name, value in given.items()}
    else:
        inputs = [DATA, *map(np.array, given.values())]
        attrs = {}
    answers = by_reading(OpVersion("", "Slice", since), inputs, attrs)
    return {name: found and found[0].tolist() for name, found in answers.items()}


def test_first_versions_refuse_a_negative_axis_or_count_from_the_back() -> None:
    for since in (1, 10):
        assert slices(since, -1) == {"refused": None, "from_the_back": [[2], [5]]}
        with pytest.raises(InvalidNode):
            slices(since, -3)
        assert slices(since, 0) == {"": [[4, 5, 6]]}


def test_later_versions_count_from_the_back() -> None:
    assert slices(11, -1) == {"": [[2], [5]]}
