from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from opcheck.precise import Precise, Undecided, evaluate
from tests import brute

X = np.float32([[[12, 0], [-101, 11]], [[3, 234], [0, -101]]])


def hardmax1(x: object, *axes: int) -> Precise:
    op = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
    answer = evaluate(op, [np.asarray(x)], {"Axes": axes})
    assert answer is not None
    return answer[0]


def test_the_examples_of_the_page() -> None:
    assert hardmax1(X, 1).values.tolist() == [[[1, 0], [0, 1]], [[1, 1], [0, 0]]]
    assert hardmax1(X, 0).values.tolist() == [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    assert hardmax1(X, 0, 2).values.tolist() == [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]


@given(data=st.data())
def test_all_axes_against_loops(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=5, max_side=3))
    x = data.draw(arrays.arrays(np.float16, shape, elements=st.sampled_from([-1, 0, -0.0, 2])))
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted))
    want = brute.hardmax(x, brute.along(shape, axes))
    assert hardmax1(x, *axes).values.tobytes() == want.tobytes()


def test_unsorted_axes_are_open_where_their_order_matters() -> None:
    assert hardmax1(X, 2, 0).values.tolist() == [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]
    ties = np.float32([[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    with pytest.raises(Undecided, match=r"Axes \[2, 0\]"):
        hardmax1(ties, 2, 0)


def test_a_nan_leaves_it_open() -> None:
    with pytest.raises(Undecided):
        hardmax1(np.float32([[1, np.nan]]), 1)


@pytest.mark.parametrize(
    ("shape", "axes", "reason"),
    [
        ((), (0,), "0 dimensions"),
        ((1,) * 9, (0,), "9 dimensions"),
        ((2, 2), (), "Axes are empty"),
        ((2, 2), (2,), r"axis 2 is outside \[0, 1\]"),
        ((2, 2), (-1,), r"axis -1 is outside \[0, 1\]"),
        ((2, 2), (1, 1), r"Axes \[1, 1\] repeat an axis"),
        ((2, 2), (0.0,), "no integers"),
    ],
)
def test_what_is_invalid(shape: tuple[int, ...], axes: tuple[int, ...], reason: str) -> None:
    with pytest.raises(InvalidNode, match=reason):
        hardmax1(np.zeros(shape, np.float32), *axes)


def test_axes_have_no_default_and_float64_no_place() -> None:
    op = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
    with pytest.raises(InvalidNode, match="no integers"):
        evaluate(op, [X], {})
    with pytest.raises(InvalidNode, match="float64 is none of float16, float32"):
        evaluate(op, [X.astype(np.float64)], {"Axes": (0,)})
