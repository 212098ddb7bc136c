"""Concat against its sentences: literals, and a loop over the indices."""

from itertools import product

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

VERSIONS = (1, 4, 11, 13)


def concat(*tensors, since=13, **attrs):
    (output,) = evaluate(OpVersion("", "Concat", since), tensors, attrs)
    return output


def numbers(*shape, start=0):
    return np.arange(start, start + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("since", VERSIONS)
def test_tensors_come_one_after_the_other(since):
    x, y = numbers(2, 2), numbers(2, 1, start=10)
    output = concat(x, y, since=since, axis=1)
    assert (output.dtype, output.tolist()) == (np.float32, [[0, 1, 10], [2, 3, 11]])


def test_only_version_1_has_a_default():
    x = numbers(2, 2)
    assert concat(x, x, since=1).shape == (2, 4)
    for since in VERSIONS[1:]:
        with pytest.raises(InvalidNode, match="axis is mandatory"):
            concat(x, x, since=since)


@pytest.mark.parametrize("since", VERSIONS)
def test_negative_axes_came_with_version_11(since):
    x = numbers(2, 3)
    if since < 11:
        with pytest.raises(InvalidNode, match=r"axis -2 is outside \[0, 1\]"):
            concat(x, x, since=since, axis=-2)
    else:
        assert concat(x, x, since=since, axis=-2).tolist() == [*x.tolist(), *x.tolist()]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_element_comes_from_the_tensor_at_its_place(axis):
    shapes = [[*(2, 3, 4)[:axis], (n + 2) % 3, *(2, 3, 4)[axis + 1 :]] for n in range(3)]
    tensors = [numbers(*shape, start=100 * n) for n, shape in enumerate(shapes)]
    output = concat(*tensors, axis=axis)
    for index in product(*map(range, output.shape)):
        at, rest = 0, list(index)
        while rest[axis] >= shapes[at][axis]:
            rest[axis] -= shapes[at][axis]
            at += 1
        assert output[index] == tensors[at][tuple(rest)]
