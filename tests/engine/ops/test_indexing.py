"""OneHot and Unique: what their texts leave open. Their suites have all else."""

from typing import Any

import numpy as np
import pytest

from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading
from tests.wording import Wording

NAN = np.nan


def readings(op: str, since: int, inputs: list[Any], **attrs: Any) -> dict[str, Any]:
    """The outputs by the names of the readings; None for a refusal."""
    answers = by_reading(OpVersion("", op, since), [*map(np.asarray, inputs)], attrs)
    return {
        name: found and [output.tolist() for output in found] for name, found in answers.items()
    }


def test_a_negative_class_of_version_9_is_refused_or_off_or_from_the_back() -> None:
    inputs = [[-1, 0, -4], 3, [2, 5]]
    assert readings("OneHot", 9, inputs) == {
        "refused": None,
        "off": [[[2, 2, 2], [5, 2, 2], [2, 2, 2]]],
        "from_the_back": [[[2, 2, 5], [5, 2, 2], [2, 2, 2]]],
    }
    assert readings("OneHot", 11, inputs) == {"": [[[2, 2, 5], [5, 2, 2], [2, 2, 2]]]}


def test_of_negative_axes_version_9_mentions_the_last_alone() -> None:
    inputs = [[1, 0], 3, [2, 5]]
    assert readings("OneHot", 9, inputs, axis=-2) == {
        "from_the_back": [[[2, 5], [5, 2], [2, 2]]],
        "refused": None,
    }
    assert readings("OneHot", 9, inputs, axis=-1) == {"": [[[2, 5, 2], [5, 2, 2]]]}


@pytest.mark.parametrize("since", [11, 28])
def test_nan_is_refused_or_is_unique_once_or_each_time(since: int) -> None:
    found = readings("Unique", since, [np.array([NAN, 1, NAN])], sorted=0)
    assert repr(found) == repr(
        {
            "refused": None,
            "once": [[NAN, 1.0], [0, 1], [0, 1, 0], [2, 1]],
            "each": [[NAN, 1.0, NAN], [0, 1, 2], [0, 1, 2], [1, 1, 1]],
        }
    )


def test_slices_with_nan_are_equal_in_the_same_reading() -> None:
    x = np.array([[1, NAN], [2, 3], [1, NAN], [1, 4]])
    found = readings("Unique", 11, [x], sorted=0, axis=0)
    counts = {name: outputs and outputs[3] for name, outputs in found.items()}
    assert counts == {"refused": None, "once": [2, 1, 1], "each": [1, 1, 1, 1]}


def test_the_order_of_nan_is_not_judged(wording: Wording) -> None:
    with pytest.raises(NotSupported) as raised:
        readings("Unique", 11, [np.array([NAN, 1])], sorted=1)
    assert raised.value == wording
