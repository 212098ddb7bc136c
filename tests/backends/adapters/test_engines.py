"""What is alike for all engines that take ONNX models: how tensors go in and come out."""

import importlib
from typing import Any

import numpy as np
import pytest

from opcheck.backends.base import Defect
from opcheck.dtypes import BASIC, DTYPES
from opcheck.model import Declined, OutputSpec
from tests.asking import dml_problem, outcome_of, output_of, outputs_of, task_of

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
BITS = np.array([0x0001, 0x8000, 0x7F80, 0x3F81, 0xFF7F, 0x7FC1], np.uint16)


@pytest.fixture(scope="module", params=["onnxruntime", "openvino", "reference", "tract"])
def adapter(request: pytest.FixtureRequest) -> Any:
    """The module of an adapter whose engine is installed."""
    name = "onnx" if request.param == "reference" else request.param
    pytest.importorskip(name, reason=f"not installed: {name}")
    return importlib.import_module(f"opcheck.backends.adapters.{request.param}")


@pytest.fixture(scope="module")
def backend(adapter: Any) -> Any:
    return adapter.connect(None, {})


def test_it_answers_at_old_opsets_and_for_directml(backend: Any) -> None:
    for at in (1, 5, 8, 11, 13):
        found = output_of(backend, task_of("Hardmax", at, {"axis": 1}, X), X)
        assert found.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert output_of(backend, dml_problem((0, 1), X), X).tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("at", [1, 13])
def test_an_initializer_is_an_input_like_any_other(backend: Any, at: int) -> None:
    constant = task_of("Hardmax", at, {"axis": 1}, X, initializer=True)
    assert output_of(backend, constant).tolist() == [[1, 0, 0], [1, 0, 0]]


def test_inputs_and_outputs_keep_their_order(backend: Any) -> None:
    y = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    assert output_of(backend, task_of("Sub", 14, {}, X, y), X, y).tolist() == (X - y).tolist()
    outputs = tuple(OutputSpec(name, DTYPES["float32"]) for name in ("outputs", "more"))
    split = task_of("Split", 11, {"axis": 1, "split": (1, 2)}, X, outputs=outputs)
    one, two = outputs_of(backend, split, X)
    assert (one.tolist(), two.tolist()) == ([[3], [3]], [[3, 1], [0, 3]])


@pytest.mark.sampled(52, evenly=True)
@pytest.mark.parametrize("name", BASIC)
@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (0, 3)])
def test_a_tensor_keeps_its_type_shape_and_bits(backend, name, shape):
    dtype = DTYPES[name].numpy
    values = BITS.view(dtype) if name == "bfloat16" else np.array([0, 1, 1, 1]).astype(dtype)
    x = np.resize(values, int(np.prod(shape))).reshape(shape)
    task = task_of("Identity", 13, {}, x)
    outcome = outcome_of(backend, task, x)
    if isinstance(outcome, Declined):
        assert outcome.reason == "Unknown DatumType Bfloat16"
        return
    out = output_of(backend, task, x)
    assert (out.dtype, out.shape, out.tobytes()) == (x.dtype, shape, x.tobytes())


def test_an_answer_outlives_the_next_run_and_the_model(backend: Any) -> None:
    x = np.array([1, 2, 3], np.float32)
    prepared = backend.prepare(task_of("Abs", 13, {}, x))
    (first,) = prepared.run([x])
    (second,) = prepared.run([x + x])
    del prepared
    assert (first.tolist(), second.tolist()) == ([1, 2, 3], [2, 4, 6])


def test_it_declares_what_it_returns_if_it_declares_anything(backend: Any) -> None:
    prepared = backend.prepare(task_of("Hardmax", 13, {"axis": 0}, X))
    assert hasattr(prepared, "declared") == (backend.info.kind != "reference")
    for dtype, shape in prepared.declared() if hasattr(prepared, "declared") else ():
        assert dtype in (None, "float32")
        assert shape == [2, 3]


@pytest.mark.parametrize(
    "error", [AssertionError(), NotImplementedError("x"), RuntimeError("No conversion rule found")]
)
def test_a_bug_in_building_the_model_is_no_refusal(adapter, backend, error, monkeypatch):
    def broken(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(adapter, "model_of", broken)
    with pytest.raises(Defect, match=type(error).__name__):
        outcome_of(backend, task_of("Hardmax", 13, {}, X), X)
