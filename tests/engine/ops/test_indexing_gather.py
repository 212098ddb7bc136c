"""Gather: which indices are out of bounds. Its suite has all else."""

from typing import Any

import numpy as np
import pytest

from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.computed import evaluate
from tests.wording import Wording

VERSIONS = (1, 11, 13)


def gather(data: Any, indices: Any, since: int = 13, dtype: Any = np.int64, **attrs: Any) -> Any:
    tensors = [np.asarray(data), np.asarray(indices, dtype)]
    (output,) = evaluate(OpVersion("", "Gather", since), tensors, attrs)
    return output


@pytest.mark.parametrize("since", VERSIONS)
def test_what_is_out_of_bounds_is_an_error(since: int, wording: Wording) -> None:
    for index in (3, 4294967297, -4):
        with pytest.raises(InvalidNode, match=rf"index {index} is outside \[.*, 2\]"):
            gather([1, 2, 3], [0, index], since)
    with pytest.raises(InvalidNode) as raised:
        gather(np.empty((0, 2)), [0], since)
    assert raised.value == wording


def test_version_1_names_no_negative_index() -> None:
    with pytest.raises(InvalidNode, match=r"index -1 is outside \[0, 2\]"):
        gather([1, 2, 3], [-1], 1)
    assert gather([1, 2, 3], [-1, -3], 11).tolist() == [3, 1]
