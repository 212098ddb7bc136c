"""What the engine admits of Clip where its text is open."""

import numpy as np
import pytest

from opcheck.model import Array, Attrs, OpVersion
from tests.computed import by_reading

X = np.array([0, 3, 9], np.float32)
HIGH, LOW = np.float32(7), np.float32(2)


@pytest.mark.parametrize(
    ("since", "inputs", "attrs"),
    [(6, [X], {"min": 7.0, "max": 2.0}), (11, [X, HIGH, LOW], {}), (12, [X, HIGH, LOW], {})],
)
def test_a_min_above_max_gives_either_one_or_is_refused(
    since: int, inputs: list[Array | None], attrs: Attrs
) -> None:
    """An implementation applies either bound last, or compares with one after the other."""
    found = by_reading(OpVersion("", "Clip", since), inputs, attrs)
    outputs = {reading: answer and answer[0].tolist() for reading, answer in found.items()}
    assert outputs == {"max": [2, 2, 2], "min": [7, 7, 7], "refused": None}


def test_since_version_13_max_counts() -> None:
    found = by_reading(OpVersion("", "Clip", 13), [X, HIGH, LOW], {})
    outputs = {reading: answer and answer[0].tolist() for reading, answer in found.items()}
    assert outputs == {"": [2, 2, 2]}
