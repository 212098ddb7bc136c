"""Where against its sentences: literals, and a loop over the indices."""

from itertools import product

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion


def where(condition, x, y, since=16):
    (output,) = evaluate(OpVersion("", "Where", since), [np.asarray(condition), x, y], {})
    return output


def by_loop(*arrays):
    """Each index of the output, with 0 along the axes of one element, which start at the last."""
    output = np.empty(np.broadcast_shapes(*(array.shape for array in arrays)), arrays[1].dtype)
    for index in product(*map(range, output.shape)):
        places = (zip(index[output.ndim - one.ndim :], one.shape, strict=True) for one in arrays)
        at = [tuple(i % n for i, n in place) for place in places]
        held, x, y = (one[place] for one, place in zip(arrays, at, strict=True))
        output[index] = x if held else y
    return output


@pytest.mark.parametrize("since", [9, 16])
def test_each_element_is_that_of_x_or_of_y(since):
    x, y = np.array([1, 2, 3], np.int8), np.array([7, 8, 9], np.int8)
    output = where([True, False, True], x, y, since)
    assert (output.dtype, output.tolist()) == (np.int8, [1, 8, 3])


@pytest.mark.parametrize(
    "shapes",
    [((), (), ()), ((3,), (2, 1), (1,)), ((4, 1, 1), (3, 1), (2,)), ((2, 0), (1,), (2, 1))],
)
def test_all_three_broadcast(shapes):
    rng = np.random.default_rng(1)
    condition, x, y = (rng.integers(-9, 9, shape) for shape in shapes)
    assert np.array_equal(where(condition > 0, x, y), by_loop(condition > 0, x, y))


def test_values_keep_all_their_bits():
    x, y = np.array([-0.0, 5e-324, 1]), np.array([2, 3, np.nan]).view(np.int64)
    y[2] += 7  # a payload
    output = where([True, True, False], x, y.view(np.float64))
    assert output.tobytes() == np.array([*x[:2], y.view(np.float64)[2]]).tobytes()


def test_only_the_version_that_has_bfloat16_takes_it():
    x = np.array([1, 2], "bfloat16")
    assert where([True, False], x, -x).tolist() == [1, -2]
    with pytest.raises(InvalidNode, match="X of type bfloat16"):
        where([True, False], x, x, since=9)
