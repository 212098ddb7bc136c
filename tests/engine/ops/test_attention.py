"""What the engine admits of Attention where its text is open; see also `tests.blind`."""

import numpy as np

from opcheck.model import OpVersion
from tests.computed import by_reading

ATTENTION = OpVersion("", "Attention", 24)
QUERY = np.zeros((1, 1, 1, 1), np.float32)
#: Three keys like the query, so that a query without a mask gets the mean of the values.
KEYS = np.zeros((1, 1, 3, 1), np.float32)
VALUES = np.array([[[[3], [6], [9]]]], np.float32)


def test_numbers_of_heads_of_four_axes_are_ignored_or_refused() -> None:
    found = by_reading(ATTENTION, [QUERY, KEYS, VALUES], {"q_num_heads": 1, "kv_num_heads": 1})
    assert found.keys() == {"ignored", "refused"}
    assert found["refused"] is None
    assert found["ignored"] is not None
    assert found["ignored"][0] == 6


def test_a_mask_of_one_key_is_padded_or_broadcast() -> None:
    mask = np.array([[True]])
    found = by_reading(ATTENTION, [QUERY, KEYS, VALUES, mask], {})
    outputs = {reading: answer and answer[0].item() for reading, answer in found.items()}
    assert outputs == {"padded": 3, "broadcast": 6}


def test_a_mask_of_integers_is_added_or_refused_however_many_keys_it_has() -> None:
    for keys, mean in ((3, 6), (2, 4.5)):
        mask = np.zeros((1, keys), np.int32)
        found = by_reading(ATTENTION, [QUERY, KEYS, VALUES, mask], {})
        outputs = {reading: answer and answer[0].item() for reading, answer in found.items()}
        assert outputs == {"added": mean, "refused": None}


def test_a_past_without_a_present_is_taken_or_refused() -> None:
    """Of 0, past keys weigh as much as the others: the mean of 3, 6, 9 and 2."""
    past = np.zeros((1, 1, 1, 1), np.float32)
    inputs = [QUERY, KEYS, VALUES, None, past, np.full_like(past, 2)]
    found = by_reading(ATTENTION, inputs, {})
    assert found.keys() == {"apart", "refused"}
    assert found["refused"] is None
    assert found["apart"] is not None
    assert found["apart"][0] == 5
