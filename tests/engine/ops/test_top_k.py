"""TopK, ArgMax and ArgMin against plain loops, and literals from their texts."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare import Want, compare_outputs
from opcheck.engine import Node, any_order
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate, first_outputs

NAN = np.nan
RNG = np.random.default_rng(11)


def top_k(x, k, since=24, **attrs):
    return evaluate(OpVersion("", "TopK", since), [x, np.array([k])], attrs)


def rows(x, axis):
    """The elements along `axis`, each row a list of Python numbers."""
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).tolist()


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint64])
def test_the_first_of_equal_elements_comes_first(dtype, axis, largest):
    x = RNG.integers(0, 5, (4, 5, 6)).astype(dtype)
    for k in (1, 3, 4):
        values, indices = top_k(x, k, axis=axis, largest=largest)
        for row, places in zip(rows(x, axis), rows(indices, axis), strict=True):
            # Python's sort is stable.
            order = sorted(range(len(row)), key=lambda n: -row[n] if largest else row[n])
            assert places == order[:k]
        assert np.array_equal(values, np.take_along_axis(x, indices, axis))
        assert (values.dtype, indices.dtype) == (x.dtype, np.int64)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_nan_comes_first_and_integers_differ_that_no_float_tells_apart(dtype):
    x = np.array([1, np.nan, 3, -0.0, 0, np.nan], dtype)
    assert top_k(x, 6)[1].tolist() == [1, 5, 2, 0, 3, 4]
    assert top_k(x, 6, largest=0)[1].tolist() == [3, 4, 0, 2, 1, 5]
    assert top_k(np.array([2**53, 2**53 + 1, 2**53]), 2)[1].tolist() == [1, 0]


def test_any_order_is_right_where_none_is_asked_for_but_no_other_elements_are():
    op, attrs = OpVersion("", "TopK", 24), {"sorted": 0, "axis": 0}
    assert (any_order(op, attrs), any_order(op, {"axis": 0})) == (0, None)
    x = np.array([[7, 1], [5, 4], [6, 4]])
    outputs = zip(("Values", "Indices"), top_k(x, 2, **attrs), strict=True)
    wants = [Want(name, None, part, any_order=0) for name, part in outputs]
    for values, indices, right in (
        ([[7, 4], [6, 4]], [[0, 1], [2, 2]], True),
        ([[6, 4], [7, 4]], [[2, 2], [0, 1]], True),
        ([[6, 4], [7, 4]], [[0, 2], [2, 1]], False),
        ([[7, 4], [5, 4]], [[0, 1], [1, 2]], False),
        ([[7, 4], [7, 4]], [[0, 1], [0, 1]], False),
    ):
        compared = compare_outputs(wants, [np.array(values), np.array(indices)])
        assert all(c.problem is None for c in compared) is right


def readings(op, since, inputs, **attrs):
    """The outputs of each reading as lists; None for a refusal."""
    found = by_reading(OpVersion("", op, since), inputs, attrs)
    return {
        name: None if outputs is None else [output.tolist() for output in outputs]
        for name, outputs in found.items()
    }


def selected(x, largest, **attrs):
    """The indices of all elements in order by each reading, after their values were compared."""
    x = np.array(x, np.float32)
    found = readings("TopK", 24, [x, np.array([len(x)])], largest=largest, axis=0, **attrs)
    for values, indices in found.values():
        assert np.array_equal(values, x[indices], equal_nan=True)
    return {name: indices for name, (_, indices) in found.items()}


def test_nan_comes_first_or_last_or_no_element_goes_past_it():
    x = [1, NAN, 3, 2, 3, NAN, -1, 5]
    assert selected(x, 1) == {
        "largest": [1, 5, 7, 2, 4, 3, 0, 6],
        "smallest": [7, 2, 4, 3, 0, 6, 1, 5],
        "never_exceeded": [0, 1, 2, 4, 3, 5, 7, 6],
    }
    assert selected(x, 0) == {
        "largest": [6, 0, 3, 2, 4, 7, 1, 5],
        "smallest": [1, 5, 6, 0, 3, 2, 4, 7],
        "never_exceeded": [0, 1, 3, 2, 4, 5, 6, 7],
    }


def test_no_element_of_version_1_is_an_empty_tensor_or_a_refusal():
    x = np.array([[3, 1, 2]], np.float32)
    assert readings("TopK", 1, [x], k=0, axis=1) == {"empty": [[[]], [[]]], "refused": None}


@pytest.mark.parametrize("since", [1, 10])
def test_first_versions_mention_no_negative_axis_but_the_last(since):
    x = np.array([[3, 1], [4, 6]], np.float32)
    inputs, attrs = ([x], {"k": 1}) if since == 1 else ([x, np.array([1])], {})
    assert readings("TopK", since, inputs, axis=-1, **attrs) == {"": [[[3], [6]], [[0], [1]]]}
    assert readings("TopK", since, inputs, axis=-2, **attrs) == {
        "from_the_back": [[[4, 6]], [[1, 1]]],
        "refused": None,
    }


@pytest.mark.parametrize("since", [11, 13])
@pytest.mark.parametrize(("op", "first_nan"), [("ArgMax", "largest"), ("ArgMin", "smallest")])
def test_nan_is_the_extreme_or_left_out_or_stays_where_it_comes_first(op, first_nan, since):
    x = np.array([[NAN, 2, 3], [3, NAN, 2], [1, 5, 3]], np.float32)
    x = x if op == "ArgMax" else -x
    left_out = "smallest" if op == "ArgMax" else "largest"
    found = readings(op, since, [x], axis=1, keepdims=0)
    assert found == {
        first_nan: [[0, 1, 1]],
        left_out: [[2, 0, 1]],
        "never_exceeded": [[0, 0, 1]],
    }


def test_the_last_of_equal_extremes_is_selected_beside_nan_too():
    x = np.array([[5, NAN, 5, NAN, 1], [NAN, 5, 5, NAN, 1]], np.float32)
    attrs = {"axis": 1, "keepdims": 0, "select_last_index": 1}
    assert readings("ArgMax", 13, [x], **attrs) == {
        "largest": [[3, 3]],
        "smallest": [[2, 2]],
        "never_exceeded": [[2, 0]],
    }


def test_before_version_12_any_of_equal_extremes_may_be_meant():
    x = np.array([[1, 3, 3, 3], [2, 1, 2, 0], [1, 0, 0, 0]], np.int32)
    assert readings("ArgMax", 11, [x], axis=1) == {
        "first": [[[1], [0], [0]]],
        "second": [[[2], [2], [0]]],
        "third": [[[3], [2], [0]]],
    }
    assert readings("ArgMax", 12, [x], axis=1) == {"": [[[1], [0], [0]]]}
    with judging(), pytest.raises(NotSupported):
        readings("ArgMax", 11, [np.zeros((1, 9), np.int32)], axis=1)


def test_before_12_a_row_of_many_equal_elements_is_not_judged_and_others_are() -> None:
    x = np.float32([[3] * 9, [*range(9)]])
    node = Node(OpVersion("", "ArgMax", 11), (x,), {"axis": 1, "keepdims": 0})
    assert first_outputs(node) == [[None, 8]]
