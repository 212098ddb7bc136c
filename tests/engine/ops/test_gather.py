"""Gather against its sentences: literals, and the equations of its page in a loop."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

VERSIONS = (1, 11, 13)


def gather(data: Any, indices: Any, since: int = 13, dtype: Any = np.int64, **attrs: Any) -> Any:
    tensors = [np.asarray(data), np.asarray(indices, dtype)]
    (output,) = evaluate(OpVersion("", "Gather", since), tensors, attrs)
    return output


@pytest.mark.parametrize("since", VERSIONS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_examples_of_the_page(since: int, dtype: Any) -> None:
    data = [[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]]
    output = gather(data, [[0, 1], [1, 2]], since, dtype)
    assert output.tolist() == [[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]]
    data = [[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]]
    output = gather(data, [[0, 2]], since, dtype, axis=1)
    assert output.tolist() == [[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0,)])
def test_the_axes_of_the_indices_stand_in_place_of_the_axis(axis: int, shape: Any) -> None:
    data = np.arange(60).reshape(3, 4, 5)
    indices = np.random.default_rng(1).integers(-3, 3, shape)
    output, place = gather(data, indices, axis=axis), axis % 3
    assert output.shape == (*data.shape[:place], *shape, *data.shape[place + 1 :])
    for at in product(*map(range, output.shape)):
        inner = place + len(shape)
        assert output[at] == data[(*at[:place], indices[at[place:inner]], *at[inner:])]


@pytest.mark.parametrize("since", VERSIONS)
def test_what_is_out_of_bounds_is_an_error(since: int) -> None:
    for index in (3, 4294967297, -4):
        with pytest.raises(InvalidNode, match=rf"index {index} is outside \[.*, 2\]"):
            gather([1, 2, 3], [0, index], since)
    with pytest.raises(InvalidNode, match="an axis of length 0"):
        gather(np.empty((0, 2)), [0], since)


def test_version_1_names_no_negative_index() -> None:
    with pytest.raises(InvalidNode, match=r"index -1 is outside \[0, 2\]"):
        gather([1, 2, 3], [-1], 1)
    assert gather([1, 2, 3], [-1, -3], 11).tolist() == [3, 1]
