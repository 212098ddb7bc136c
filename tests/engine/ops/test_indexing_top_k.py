"""TopK against plain loops, and literals from its text."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare import Want, compare_outputs
from opcheck.engine import any_order
from opcheck.model import OpVersion
from tests.computed import evaluate

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
