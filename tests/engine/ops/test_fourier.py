"""DFT where its text leaves a flag open."""

import numpy as np

from opcheck.model import OpVersion
from tests.computed import by_reading


def test_an_inverse_other_than_0_and_1_is_taken_for_either_or_refused():
    x = np.float32([[[2], [0]]])
    found = by_reading(OpVersion("", "DFT", 20), [x], {"inverse": 2})
    assert found.keys() == {"as_1", "as_0", "refused"}
    assert found["as_1"][0].tolist() == [[[1, 0], [1, 0]]]
    assert found["as_0"][0].tolist() == [[[2, 0], [2, 0]]]
    assert found["refused"] is None
