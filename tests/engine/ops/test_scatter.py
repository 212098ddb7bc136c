"""Scatter and its like: negative indices of version 9, and NaN in a maximum or a minimum."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, first_outputs

NAN = np.nan


def scattered(op: str, since: int, inputs: list[Any], **attrs: Any) -> dict[str, Any]:
    """The outputs by the names of the readings; None for a refusal."""
    answers = by_reading(OpVersion("", op, since), [*map(np.asarray, inputs)], attrs)
    return {name: found and found[0].tolist() for name, found in answers.items()}


def test_version_9_refuses_a_negative_index_or_counts_from_the_back() -> None:
    inputs = [[1, 2, 3], [-1, 0], [7, 8]]
    assert scattered("Scatter", 9, inputs) == {"refused": None, "from_the_back": [8, 2, 7]}
    assert scattered("ScatterElements", 11, inputs) == {"": [8, 2, 7]}


@pytest.mark.parametrize(
    ("op", "since", "indices"),
    [
        ("Scatter", 9, [1, 2, 1]),
        ("ScatterElements", 18, [1, 2, 1]),
        ("ScatterND", 18, [[1], [2], [1]]),
    ],
)
def test_of_two_updates_of_one_element_either_counts(op: str, since: int, indices: Any) -> None:
    found = scattered(op, since, [[0, 0, 0], indices, [5, 6, 7]])
    assert found == {"last": [0, 7, 6], "first": [0, 5, 6], "refused": None}


def test_of_three_updates_of_one_element_none_is_decided() -> None:
    with judging(), pytest.raises(NotSupported):
        scattered("ScatterElements", 18, [[0], [0, 0, 0], [5, 6, 7]])


#: An element without an update, one with one, and one with several that order may decide.
@pytest.mark.parametrize(
    ("data", "updates", "reduction", "right"),
    [
        (np.float32([1, 2, 3]), np.float32([5, 6, 7, 8]), "none", [1, 5, None]),
        (np.float32([1, 2, 3]), np.float32([0.5, 0.1, 0.2, 0.3]), "add", [1, 2.5, None]),
        (np.float32([1, 2, 3]), np.float32([0.5, 1, 2, 3]), "add", [1, 2.5, 9]),
        (np.int8([1, 2, 3]), np.int8([5, 100, 100, -100]), "add", [1, 7, None]),
        (np.float32([1, 2, 3]), np.float32([5, 0.5, 6, 7]), "mul", [1, 10, None]),
    ],
)
def test_elements_beside_those_that_order_decides_are_judged(data, updates, reduction, right):
    inputs = (data, np.int64([1, 2, 2, 2]), updates)
    node = Node(OpVersion("", "ScatterElements", 18), inputs, {"reduction": reduction})
    for y in first_outputs(node):
        assert y in (right, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_the_extreme_of_nan_and_a_number_is_either_one(op: str, dtype: Any) -> None:
    data = np.array([1, NAN, 3, NAN], dtype)
    updates = np.array([NAN, 5, 4], dtype)
    indices = [0, 1, 2] if op == "ScatterElements" else [[0], [1], [2]]
    for reduction, of_numbers in (("max", 4.0), ("min", 3.0)):
        found = scattered(op, 18, [data, indices, updates], reduction=reduction)
        assert repr(found) == repr(
            {"nan": [NAN, NAN, of_numbers, NAN], "number": [1.0, 5.0, of_numbers, NAN]}
        )


def test_several_updates_of_one_element_may_have_nan() -> None:
    inputs = [np.float32([1]), [0, 0, 0], np.float32([2, NAN, 3])]
    found = scattered("ScatterElements", 18, inputs, reduction="max")
    assert repr(found) == repr({"nan": [NAN], "number": [3.0]})


def test_nan_that_meets_no_update_is_kept() -> None:
    inputs = [np.float32([NAN, 1]), [1], np.float32([2])]
    found = scattered("ScatterElements", 18, inputs, reduction="max")
    assert repr(found) == repr({"": [NAN, 2.0]})
