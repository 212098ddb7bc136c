"""Preparing features: what the texts leave open, where no case shows each answer."""

import numpy as np
import pytest

from opcheck.opset import ML, describe
from tests.computed import by_reading

ENCODER, NORMALIZER, LABELS = (
    describe(ML, name, since).op
    for name, since in (("OneHotEncoder", 1), ("Normalizer", 1), ("LabelEncoder", 4))
)
MAPPER = describe(ML, "CategoryMapper", 1).op


def test_halves_are_rounded_to_even_or_away_from_0() -> None:
    X = np.float32([2.5, -3.5, 0.25])
    found = by_reading(ENCODER, [X], {"cats_int64s": (2, 3, -3, -4, 0)})
    places = {
        name: None if answer is None else answer[0].argmax(axis=-1).tolist()
        for name, answer in found.items()
    }
    assert places == {"cut_off": [0, 2, 4], "to_even": [0, 3, 4], "away_from_0": [1, 3, 4]}


def test_the_largest_beside_nan_is_nan_or_a_number() -> None:
    X = np.float32([[1, np.nan, 4], [2, 1, 4]])
    found = by_reading(NORMALIZER, [X], {"norm": "MAX"})
    assert {*found} == {"nan", "number"}
    for name, row in (("nan", [np.nan] * 3), ("number", [0.25, np.nan, 1])):
        answer = found[name]
        assert answer is not None
        np.testing.assert_array_equal(answer[0], np.float32([row, [0.5, 0.25, 1]]))


@pytest.mark.parametrize("stated", [{}, {"default_int64": -1, "default_string": "_Unused"}])
def test_one_default_is_defined_even_if_as_it_would_be_anyway(stated: dict[str, object]) -> None:
    attrs = {"cats_strings": ("a",), "cats_int64s": (5,)}
    texts = np.array(["a", "b"], object)
    assert by_reading(MAPPER, [texts], attrs | stated).keys() == {"by_the_input", "refused"}
    one = {"default_int64": -1}
    ((name, answer),) = by_reading(MAPPER, [texts], attrs | one).items()
    assert name == ""
    assert answer is not None
    assert answer[0].tolist() == [5, -1]


def test_a_default_in_a_tensor_of_rank_0_counts_or_is_refused() -> None:
    attrs = {
        "keys_int64s": (1,),
        "values_tensor": np.array([7], np.int16),
        "default_tensor": np.array(9, np.int16),
    }
    found = by_reading(LABELS, [np.array([1, 2])], attrs)
    assert found.keys() == {"any", "refused"}
    assert found["refused"] is None
    assert found["any"] is not None
    assert found["any"][0].tolist() == [7, 9]
