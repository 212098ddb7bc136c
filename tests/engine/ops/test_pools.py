"""What the texts of pools leave open, as the engine admits it."""

import math
from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.computed import first_outputs

NAN, INF = math.nan, math.inf


def admitted(
    op: str, since: int, *inputs: Any, outputs: list[int] | None = None, **attrs: Any
) -> list[Any]:
    """Return the outputs by each combination of readings, "refused" for a refusal."""
    tensors = tuple(x if isinstance(x, np.ndarray) else np.float32(x) for x in inputs)
    node = Node(OpVersion("", op, since), tensors, attrs, outputs or [0])
    with judging():
        readings = [*each_answer(node)]
    return [
        "refused"
        if isinstance(one.answer, InvalidNode)
        else [rounded(output).ravel().tolist() for output in one.answer]
        for one in readings
    ]


def same(found: Any, right: Any) -> bool:
    """Return True for nested lists that are equal, NaN and NaN too."""
    return str(found) == str(right)


ROUNDED_UP: dict[str, Any] = {"ceil_mode": 1, "kernel_shape": (1,), "strides": (3,)}


def test_the_mean_of_a_last_window_without_elements_is_nan_or_0_if_it_counts() -> None:
    found = admitted("AveragePool", 19, [[[1, 2, 4, 8, 16]]], **ROUNDED_UP)
    assert same(found, [[[1.0, 8.0]], [[1.0, 8.0, NAN]], [[1.0, 8.0, 0.0]]])
    assert admitted("AveragePool", 22, [[[1, 2, 4, 8, 16]]], **ROUNDED_UP) == [[[1, 8]]]


def test_the_mean_of_a_first_window_without_elements_alone_is_not_judged() -> None:
    attrs = {"kernel_shape": (1,), "pads": (1, 0)}
    node = Node(OpVersion("", "AveragePool", 19), (np.float32([[[4, 8]]]),), attrs)
    assert first_outputs(node) == [[[[None, 4, 8]]]]


def test_a_window_in_the_padding_counts_or_not_without_ceil_mode() -> None:
    attrs = {"kernel_shape": (1,), "pads": (0, 1), "count_include_pad": 1}
    assert admitted("AveragePool", 22, [[[1, 2]]], **attrs) == [[[1, 2, 0]], [[1, 2]]]


@pytest.mark.parametrize(
    ("since", "sizes"), [(7, [[2, 5, 8]]), (11, [[2, 5, 8], [3, 7]]), (19, [[2, 5, 8]])]
)
def test_version_11_of_average_pool_may_round_down(since: int, sizes: list[Any]) -> None:
    attrs = {"auto_pad": "SAME_UPPER", "kernel_shape": (3,), "strides": (2,)}
    found = admitted("AveragePool", since, [[[1, 3, 5, 7, 9]]], **attrs)
    assert found == [[size] for size in sizes]


@pytest.mark.parametrize(("since", "count"), [(10, 2), (11, 2), (12, 1)])
def test_valid_and_ceil_mode_of_max_pool_are_open_before_12(since: int, count: int) -> None:
    attrs = {"auto_pad": "VALID", "ceil_mode": 1, "kernel_shape": (3,), "strides": (2,)}
    assert len(admitted("MaxPool", since, [[[1, 2, 3, 4, 5, 6]]], **attrs)) == count


def test_nan_may_be_a_maximum_or_be_passed_over() -> None:
    x = [[[1, NAN, 0, NAN, NAN]]]
    found = admitted("MaxPool", 22, x, kernel_shape=(2,))
    assert same(found, [[[NAN, NAN, NAN, NAN]], [[1.0, 0.0, 0.0, NAN]]])
    found = admitted("GlobalMaxPool", 22, [[[-1, NAN], [NAN, NAN]]])
    assert same(found, [[[NAN, NAN]], [[-1.0, NAN]]])


def test_the_index_of_nan_is_where_it_is() -> None:
    found = admitted("MaxPool", 22, [[[1, NAN, 0]]], outputs=[0, 1], kernel_shape=(3,))
    assert same(found, [[[NAN], [1]], [[1.0], [0]]])


def test_of_two_equal_elements_either_index_may_be_meant() -> None:
    found = admitted("MaxPool", 12, [[[5, 5, 1]]], outputs=[0, 1], kernel_shape=(2,))
    assert found == [[[5, 5], [0, 1]], [[5, 5], [1, 1]]]


def test_of_three_equal_elements_the_index_alone_is_not_judged() -> None:
    """The second window has two maxima, and padding that stands for one of them."""
    x = np.float32([[[5, 5, 5, 2, 7, 7]]])
    attrs = {"kernel_shape": (3,), "strides": (3,), "pads": (0, 1)}
    node = Node(OpVersion("", "MaxPool", 12), (x,), attrs, [0, 1])
    with judging():
        for reading in each_answer(node):
            y, index = map(rounded, reading.answer)
            assert y.tolist() == [[[5, 7]]]
            assert {n: mask.tolist() for n, mask in reading.undefined.items()} == {
                1: [[[True, False]]]
            }
            assert index[0, 0, 1] in (4, 5)


def test_directml_takes_the_first_of_equal_elements() -> None:
    """Its page states so, and that a window in the padding is left out."""
    op = OpVersion("com.microsoft.dml", "DML_MAX_POOLING2", 1)
    attrs = {
        "WindowSize": (1, 3),
        "Strides": (1, 1),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        "Dilations": (1, 1),
    }
    node = Node(op, (np.float32([[[[5, 5, 5]]]]),), attrs, [0, 1])
    with judging():
        (only,) = each_answer(node)
    assert [rounded(output).ravel().tolist() for output in only.answer] == [[5], [0]]


def test_column_major_indices_count_in_the_tensor_or_in_each_plane() -> None:
    x = [[[[1, 2], [7, 4]], [[5, 8], [0, 6]]]]
    attrs = {"kernel_shape": (2, 2), "storage_order": 1}
    found = admitted("MaxPool", 22, x, outputs=[0, 1], **attrs)
    assert found == [[[7, 8], [2, 5]], [[7, 8], [1, 6]]]


def test_a_p_below_1_and_no_kernel_shape_are_open_in_version_1() -> None:
    assert admitted("GlobalLpPool", 1, [[[[1, 4]]]], p=0.5) == [[[9]], "refused"]
    assert admitted("LpPool", 1, [[[3, 4]]]) == ["refused", [[5]]]
    assert admitted("LpPool", 1, [[[1, 4]]], p=0.5, kernel_shape=(2,)) == [[[9]], "refused"]


def test_indices_of_max_unpool_are_of_the_output_or_of_the_usual_shape() -> None:
    x, places = [[[1, 2]]], np.array([[[1, 3]]])
    attrs = {"kernel_shape": (2,), "strides": (2,)}
    # The usual shape is 4: no index is in another place of 5.
    found = admitted("MaxUnpool", 22, x, places, np.array([1, 1, 5]), **attrs)
    assert found == [[[0, 1, 0, 2, 0]]]
    x, places = [[[[1, 2]]]], np.array([[[[1, 4]]]])
    attrs = {"kernel_shape": (2, 2), "strides": (2, 2)}
    found = admitted("MaxUnpool", 22, x, places, np.array([1, 1, 2, 5]), **attrs)
    assert found == [[[0, 1, 0, 0, 0, 2, 0, 0, 0, 0]], [[0, 1, 0, 0, 2, 0, 0, 0, 0, 0]]]
