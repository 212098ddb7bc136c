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


def hardmax(since: int, x: object, **attrs: object) -> Precise:
    answer = evaluate(OpVersion("", "Hardmax", since), [np.asarray(x)], attrs)  # type: ignore[arg-type]
    assert answer is not None
    return answer[0]


def test_the_examples_of_the_specification() -> None:
    x = np.float32([[3, 0, 1, 2], [2, 5, 1, 0], [0, 1, 3, 2], [0, 1, 2, 3]])
    want = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert hardmax(13, x).values.tolist() == want
    assert hardmax(13, np.float32([[3, 3, 3, 1]])).values.tolist() == [[1, 0, 0, 0]]


def test_versions_1_and_11_coerce_to_two_dimensions() -> None:
    x = np.float32([[[1, 5], [5, 2], [0, 4]], [[5, 7], [4, 6], [6, 1]]])
    want = [[[0, 1], [0, 0], [0, 0]], [[0, 1], [0, 0], [0, 0]]]
    assert hardmax(1, x).values.tolist() == want
    assert hardmax(11, x, axis=-2).values.tolist() == want
    assert hardmax(11, x, axis=0).values.tolist() == [[[0, 0]] * 3, [[0, 1], [0, 0], [0, 0]]]
    assert hardmax(13, x, axis=1).values.tolist() == [
        [[0, 1], [1, 0], [0, 0]],
        [[0, 1], [0, 0], [1, 0]],
    ]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(data=st.data())
def test_every_axis_against_loops(dtype: str, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=4, max_side=4))
    values = st.sampled_from([-np.inf, -2, -0.0, 0.0, 1, 6e-8, 3, np.inf])
    x = data.draw(arrays.arrays(dtype, shape, elements=values))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    counted = axis % len(shape)
    want = brute.hardmax(x, brute.along(shape, [counted]))
    assert hardmax(13, x, axis=axis).values.tobytes() == want.tobytes()
    want = brute.hardmax(x, brute.coerced(shape, counted))
    assert hardmax(11, x, axis=axis).values.tobytes() == want.tobytes()
    assert hardmax(1, x, axis=counted).values.tobytes() == want.tobytes()


def test_nothing_was_rounded() -> None:
    answer = hardmax(13, [[1.0, 1 + 1e-12]])
    assert answer.values.tolist() == [[0, 1]]
    assert answer.distance.tolist() == [[np.inf, np.inf]]
    assert answer.method == "exact"


def test_a_nan_leaves_it_open() -> None:
    with pytest.raises(Undecided, match=r"^Hardmax-13: .* NaN"):
        hardmax(13, [[1.0, np.nan], [1.0, 2.0]])


@pytest.mark.parametrize(("axis", "rank"), [(-1, 1), (-2, 2), (1, 1), (2, 2)])
def test_version_1_has_no_negative_axis_and_no_axis_behind_the_last(axis: int, rank: int) -> None:
    with pytest.raises(Undecided, match=f"axis {axis} of a tensor of rank {rank}"):
        hardmax(1, np.zeros([2] * rank), axis=axis)


@pytest.mark.parametrize(
    ("since", "axis", "rank"),
    [(1, 3, 2), (1, -3, 2), (11, 2, 2), (11, -3, 2), (13, 2**32, 2), (1, 0, 0), (1, 1, 0)],
)
def test_an_axis_outside_the_range_is_invalid(since: int, axis: int, rank: int) -> None:
    with pytest.raises(InvalidNode, match=f"axis {axis} "):
        hardmax(since, np.zeros([2] * rank), axis=axis)


def test_the_default_axis_of_a_vector() -> None:
    with pytest.raises(Undecided):
        hardmax(1, np.zeros(3))
    with pytest.raises(InvalidNode, match=r"axis 1 is outside \[-1, 0\]"):
        hardmax(11, np.zeros(3))
    assert hardmax(13, np.zeros(3)).values.tolist() == [1, 0, 0]


def test_an_axis_is_an_integer() -> None:
    with pytest.raises(InvalidNode, match=r"axis 1\.0 is no integer"):
        hardmax(13, np.zeros((2, 2)), axis=1.0)


@pytest.mark.parametrize(("since", "axis"), [(1, 1), (11, 0), (13, 0), (13, 1)])
def test_an_empty_tensor_stays_empty(since: int, axis: int) -> None:
    assert hardmax(since, np.zeros((2, 0), np.float16), axis=axis).values.shape == (2, 0)
