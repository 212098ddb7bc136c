from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnx import defs

from opcheck.backends import Backend, attempt, connect
from opcheck.dtypes import DTYPES, DType
from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion, Produced
from tests import brute
from tests.asking import asking, task_of
from tests.node_tests import node_tests_of

NODE_TESTS = [*node_tests_of("Hardmax").values()]
BACKENDS = [connect(address) for address in ("numpy", "onnxruntime", "reference")]
DTYPES_OF = {
    1: ("float16", "float32", "float64"),
    11: ("float16", "float32", "float64"),
    13: ("bfloat16", "float16", "float32", "float64"),
}
VERSIONED = [(version, name) for version, names in DTYPES_OF.items() for name in names]


def hardmax(version: int, x: Any, axis: int | None = None) -> Any:
    attrs = {} if axis is None else {"axis": axis}
    (out,) = evaluate(OpVersion("", "Hardmax", version), [x], attrs)
    return out


def rows_of(version: int, shape: tuple[int, ...], axis: int) -> list[brute.Row]:
    """The rows of the specification, for an axis in the range of version 13."""
    axis = axis + len(shape) if axis < 0 else axis
    return brute.along(shape, [axis]) if version == 13 else brute.coerced(shape, axis)


def values(dtype: DType) -> st.SearchStrategy[float]:
    """Few of them, so that most rows have ties."""
    return st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf])


@st.composite
def tensors(draw: st.DrawFn, dtype: DType) -> Any:
    shape = draw(array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=4))
    return draw(arrays(np.float64, shape, elements=values(dtype))).astype(dtype.numpy)


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.astype(np.float64).tolist() == want.astype(np.float64).tolist()


# ── the sentences of the specification, in loops ──────────────────────────────────────────────


@pytest.mark.parametrize(("version", "name"), VERSIONED)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_one_is_at_the_first_maximum_of_every_row(
    version: int, name: str, data: st.DataObject
) -> None:
    x = data.draw(tensors(DTYPES[name]))
    axis = data.draw(st.integers(0 if version == 1 else -x.ndim, x.ndim - 1))
    same(hardmax(version, x, axis), brute.hardmax(x, rows_of(version, x.shape, axis)))


@pytest.mark.parametrize("version", [1, 11, 13])
def test_a_version_uses_its_own_default_axis(version: int) -> None:
    schema = defs.get_schema("Hardmax", version)
    default = schema.attributes["axis"].default_value.i
    # No two axes give the same answer for this tensor, coerced or not.
    x = np.array([[[1, 5], [5, 2], [0, 4]], [[5, 7], [4, 6], [6, 1]]], np.float32)
    same(hardmax(version, x), brute.hardmax(x, rows_of(version, x.shape, default)))


@pytest.mark.parametrize("version", [1, 11, 13])
def test_every_dtype_of_the_schema_has_an_answer_of_that_dtype(version: int) -> None:
    allowed = defs.get_schema("Hardmax", version).inputs[0].types
    assert {DTYPES[name].text for name in DTYPES_OF[version]} == set(allowed)
    for name in DTYPES_OF[version]:
        assert hardmax(version, np.ones((2, 2), DTYPES[name].numpy), 1).dtype == DTYPES[name].numpy


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_versions_agree_on_the_last_axis_of_a_matrix(data: st.DataObject) -> None:
    shape = data.draw(array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5))
    x = data.draw(arrays(np.float32, shape, elements=values(DTYPES["float32"])))
    same(hardmax(13, x, 1), hardmax(11, x, 1))
    same(hardmax(13, x, 1), hardmax(1, x, 1))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_coercion_is_a_reshape_to_two_dimensions(data: st.DataObject) -> None:
    x = data.draw(tensors(DTYPES["float32"]))
    axis = data.draw(st.integers(0, x.ndim - 1))
    matrix = np.reshape(x, (int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))))
    same(hardmax(11, x, axis), np.reshape(hardmax(13, matrix, 1), x.shape))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_every_row_has_exactly_one_one(data: st.DataObject) -> None:
    x = data.draw(tensors(DTYPES["float16"]))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    out = hardmax(13, x, axis)
    assert set(out.reshape(-1).tolist()) <= {0.0, 1.0}
    if x.size:
        assert (out.sum(axis=axis) == 1).all()


def test_zeros_of_either_sign_are_equal() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        x = np.array([[-0.0, 0.0], [0.0, -0.0]], dtype)
        assert hardmax(13, x, 1).astype(float).tolist() == [[1, 0], [1, 0]]


def test_zeros_of_the_output_are_positive() -> None:
    x = np.array([[-3, -0.0, -2], [-np.inf, -np.inf, -1]], np.float32)
    assert not np.signbit(hardmax(13, x, 1)).any()


def test_a_row_with_nan_has_its_one_at_the_first_nan_and_no_warning() -> None:
    for dtype, bits, signalling in (
        (np.float16, np.uint16, 0x7C01),
        (ml_dtypes.bfloat16, np.uint16, 0x7F81),
        (np.float32, np.uint32, 0x7F800001),
        (np.float64, np.uint64, 0x7FF0000000000001),
    ):
        for nan in (np.array(signalling, bits).view(dtype), np.array(np.nan, dtype)):
            x = np.array([[1, np.inf, 0, 0], [3, 3, 1, 0]], dtype)
            x[0, 2:] = nan
            assert hardmax(13, x, 1).astype(float).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]


def test_float64_is_not_narrowed() -> None:
    assert hardmax(13, np.array([1, 1 + 1e-12])).tolist() == [0, 1]
    assert hardmax(1, np.array([[1, 1 + 1e-12]])).tolist() == [[0, 1]]


def test_subnormals_are_compared_as_they_are() -> None:
    assert hardmax(13, np.array([1e-40, 3e-40, 2e-40], np.float32)).tolist() == [0, 1, 0]
    assert hardmax(13, np.array([0, 5e-324])).tolist() == [0, 1]


@pytest.mark.parametrize(("dtype", "length"), [(np.float16, 2051), (ml_dtypes.bfloat16, 259)])
def test_the_index_may_exceed_what_the_dtype_can_count(dtype: Any, length: int) -> None:
    for place in (length - 1, length - 2, length - 3):
        x = np.zeros((1, length), dtype)
        x[0, place] = 1
        assert np.flatnonzero(hardmax(13, x, 1)).tolist() == [place]


# ── the worked examples of the specification, and ONNX's own node tests ───────────────────────


@pytest.mark.parametrize("version", [1, 11, 13])
def test_the_worked_examples(version: int) -> None:
    x = np.array([[3, 0, 1, 2], [2, 5, 1, 0], [0, 1, 3, 2], [0, 1, 2, 3]], np.float32)
    want = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert hardmax(version, x).tolist() == want
    assert hardmax(version, np.array([[3, 3, 3, 1]], np.float32)).tolist() == [[1, 0, 0, 0]]


def test_onnx_has_the_node_tests_that_the_suites_quote() -> None:
    assert [test.name.removeprefix("test_hardmax_") for test in NODE_TESTS] == [
        "example",
        "one_hot",
        "axis_0",
        "axis_1",
        "axis_2",
        "negative_axis",
        "default_axis",
    ]


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize("test", NODE_TESTS, ids=lambda test: test.name)
def test_every_backend_passes_onnx_node_tests(test: Any, backend: Backend) -> None:
    (node,) = test.model.graph.node
    attrs = {attribute.name: int(attribute.i) for attribute in node.attribute}
    ((x,), (want,)) = test.data_sets[0]
    outcome = attempt(backend, asking(task_of("Hardmax", 13, attrs, x), x))
    assert isinstance(outcome, Produced)
    assert not outcome.unstable
    assert isinstance(outcome.outputs[0], np.ndarray)
    same(outcome.outputs[0], want)


# ── what the specification forbids ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "shape", "axis", "allowed"),
    [
        (1, (2, 3), 2, "[0, 1]"),
        (1, (2, 3), -1, "[0, 1]"),
        (1, (4,), None, "[0, 0]"),
        (11, (2, 3), 2, "[-2, 1]"),
        (11, (2, 3), -3, "[-2, 1]"),
        (11, (4,), None, "[-1, 0]"),
        (13, (2, 3), 2, "[-2, 1]"),
        (13, (2, 3), -3, "[-2, 1]"),
        (13, (0, 3), 2**32 + 1, "[-2, 1]"),
        (13, (2, 1, 1), 3, "[-3, 2]"),
        (1, (), None, "rank-0"),
        (11, (), 0, "rank-0"),
        (13, (), None, "rank-0"),
    ],
)
def test_an_axis_out_of_range_names_operator_value_and_range(
    version: int, shape: tuple[int, ...], axis: int | None, allowed: str
) -> None:
    with pytest.raises(InvalidNode) as error:
        hardmax(version, np.zeros(shape, np.float32), axis)
    default = -1 if version == 13 else 1
    assert str(error.value).startswith(
        f"Hardmax-{version}: axis {default if axis is None else axis} "
    )
    assert allowed in str(error.value)


@pytest.mark.parametrize(
    ("version", "dtype"),
    [(1, ml_dtypes.bfloat16), (11, ml_dtypes.bfloat16), (13, np.int32), (13, np.complex64)],
)
def test_a_dtype_outside_the_constraint_names_operator_value_and_choice(
    version: int, dtype: Any
) -> None:
    with pytest.raises(InvalidNode) as error:
        hardmax(version, np.ones((2, 2), dtype), 1)
    assert f"Hardmax-{version}: input of type {np.dtype(dtype)}" in str(error.value)
    assert f"allowed: {', '.join(DTYPES_OF[version])}" in str(error.value)
