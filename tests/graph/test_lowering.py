from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck.backends import Backend, attempt, connect
from opcheck.graph import NotExpressible, model_of
from opcheck.model import Declined, Produced
from tests import brute
from tests.asking import asking, dml_problem

BACKENDS = [connect("onnxruntime"), connect("reference")]
VALUES = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, np.inf])


def lowered(backend: Backend, x: Any, axes: tuple[int, ...]) -> Any:
    outcome = attempt(backend, asking(dml_problem(axes, x), x))
    assert isinstance(outcome, Produced)
    assert outcome.unstable is None
    return outcome.outputs[0]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_graph_means_what_the_page_says(backend: Backend, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.float16, np.float32]))
    shape = data.draw(array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=3))
    x = data.draw(arrays(dtype, shape, elements=VALUES.map(dtype)))
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)))
    written = tuple(data.draw(st.permutations(axes)))
    want = brute.hardmax(x, brute.along(x.shape, axes))
    got = lowered(backend, x, written)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 0, 3)])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_empty_tensors_keep_their_shape(backend, shape, axes):
    assert lowered(backend, np.zeros(shape, np.float32), axes).shape == shape


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
def test_unsorted_axes_count_as_sorted(backend: Backend) -> None:
    # Each group has its maximum twice, and the order of the axes decides which is the first.
    x = np.array([[[1, 5], [0, 7]], [[5, 2], [7, 3]]], np.float32)
    want = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
    assert lowered(backend, x, (0, 2)).tolist() == want
    assert lowered(backend, x, (2, 0)).tolist() == want


def test_the_graph_is_transpose_reshape_hardmax_and_back() -> None:
    model = model_of(dml_problem((2, 0), np.ones((2, 3, 4), np.float32)))
    assert [node.op_type for node in model.graph.node] == [
        "Transpose",
        "Reshape",
        "Hardmax",
        "Reshape",
        "Transpose",
    ]


@pytest.mark.parametrize(
    ("x", "axes", "said"),
    [
        (np.ones((2, 3), np.float32), (2,), "Axes [2] holds 2"),
        (np.ones((2, 3), np.float32), (-1,), "Axes [-1] holds -1"),
        (np.ones((2, 3), np.float32), (), "Axes is empty"),
        (np.ones((2, 3), np.float32), (0, 0), "repeats an axis"),
        (np.ones((1,) * 9, np.float32), (0,), "9 dimensions"),
        (np.array(1, np.float32), (0,), "0 dimensions"),
        (np.ones((2, 3)), (0,), "float64 is no data type of DML_ACTIVATION_HARDMAX1"),
        (np.ones((2, 3), np.int32), (0,), "int32 is no data type of DML_ACTIVATION_HARDMAX1"),
    ],
)
def test_an_invalid_descriptor_is_not_expressible(x: Any, axes: tuple[int, ...], said: str) -> None:
    with pytest.raises(NotExpressible) as error:
        model_of(dml_problem(axes, x))
    assert str(error.value).startswith("not expressible as an ONNX graph: ")
    assert said in str(error.value)
    for backend in BACKENDS:
        assert isinstance(attempt(backend, asking(dml_problem(axes, x), x)), Declined)


def test_missing_axes_are_not_expressible_either() -> None:
    problem = dml_problem((0,), np.ones((2, 3), np.float32))
    with pytest.raises(NotExpressible, match="Axes is empty"):
        model_of(type(problem)(**{**vars(problem), "attrs": {}}))
