from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck import opset as directml
from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests import brute
from tests.asking import HARDMAX1

VALUES = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, np.inf])


def hardmax1(x: Any, axes: tuple[int, ...]) -> Any:
    (out,) = evaluate(OpVersion(directml.DML, HARDMAX1, 1), [x], {"Axes": axes})
    return out


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_one_is_at_the_first_maximum_of_the_joint_index(dtype: Any, data: st.DataObject) -> None:
    shape = data.draw(array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=3))
    x = data.draw(arrays(dtype, shape, elements=VALUES.map(dtype)))
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)))
    shuffled = tuple(data.draw(st.permutations(axes)))
    want = brute.hardmax(x, brute.along(x.shape, axes))
    for written in (tuple(sorted(axes)), shuffled):
        got = hardmax1(x, written)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize(
    ("shape", "axes", "said"),
    [
        ((2, 3), (2,), "Axes [2] holds 2; allowed: 0 to 1"),
        ((2, 3), (0, 7), "Axes [0, 7] holds 7; allowed: 0 to 1"),
        ((2, 3), (-1,), "Axes [-1] holds -1; allowed: 0 to 1"),
        ((2, 3), (), "Axes is empty; allowed: 1 or more axes"),
        ((2, 3), (1, 1), "Axes [1, 1] repeats an axis; allowed: each axis once"),
        ((1,) * 9, (0,), "InputTensor has 9 dimensions; allowed: 1 to 8"),
        ((), (0,), "InputTensor has 0 dimensions; allowed: 1 to 8"),
    ],
)
def test_an_invalid_descriptor_names_operator_value_and_range(shape, axes, said):
    with pytest.raises(InvalidNode) as error:
        hardmax1(np.zeros(shape, np.float32), axes)
    assert str(error.value) == f"{HARDMAX1}-1: {said}"


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_only_float16_and_float32_are_data_types(dtype: Any) -> None:
    with pytest.raises(
        InvalidNode, match=f"{HARDMAX1}-1: InputTensor of type .*; allowed: float16, float32"
    ):
        hardmax1(np.zeros((2, 2), dtype), (0,))
