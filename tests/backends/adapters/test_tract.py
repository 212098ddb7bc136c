import tempfile
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.backends.adapters import tract as adapter
from opcheck.dtypes import DTYPES
from opcheck.errors import UsageError
from opcheck.model import BackendInfo, Declined, OutputSpec, Produced, Raised
from tests.asking import outcome_of, task_of
from tests.expecting import of_type
from tests.wording import Wording

# Only models here that it survives: it aborts the process over some that are legal.
tract = pytest.importorskip("tract", reason="not installed: tract")

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 0}, X)


@pytest.fixture(scope="module")
def backend() -> Any:
    return adapter.connect(None, {})


class Failing:
    """tract's loader, but for what it raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def load(self, _: str) -> Any:
        raise self.error


def test_it_has_no_variants(backend: Any, wording: Wording) -> None:
    assert backend.info == BackendInfo("tract", "tract", version("tract"), threads=1)
    with pytest.raises(UsageError) as raised:
        adapter.connect("gpu", {})
    assert raised.value == wording
    with pytest.raises(UsageError) as raised:
        adapter.connect(None, {"threads": "1"})
    assert raised.value == wording


def test_an_operator_it_lacks_is_declined(backend: Any) -> None:
    square = np.ones((2, 2), np.float32)
    outcome = outcome_of(backend, task_of("Det", 11, {}, square), square)
    assert outcome == Declined('Translating node #1 "Y" Unimplemented(Det) ToTypedTranslator')


def test_so_is_one_whose_outputs_it_cannot_even_count(backend: Any) -> None:
    x = np.array([2, 1, 1], np.float32)
    outputs = (OutputSpec("Y", DTYPES["float32"]), OutputSpec("indices", DTYPES["int64"]))
    outcome = outcome_of(backend, task_of("Unique", 11, {}, x, outputs=outputs), x)
    assert outcome == Declined('Failed analyse for node #1 "Y" Unimplemented(Unique)')


def test_a_type_it_lacks_is_declined(backend: Any) -> None:
    x = np.array([1, 2], ml_dtypes.bfloat16)
    outcome = outcome_of(backend, task_of("Abs", 13, {}, x), x)
    assert outcome == Declined("Unknown DatumType Bfloat16")


def test_a_type_that_an_operator_lacks_is_declined(backend: Any) -> None:
    whole = X.astype(np.int32)
    outcome = of_type(Declined, outcome_of(backend, task_of("Softmax", 13, {}, whole), whole))
    assert "softmax: input type I32" in outcome.reason
    double = np.array([1.0, 2.0])
    outcome = of_type(Declined, outcome_of(backend, task_of("Gelu", 20, {}, double), double))
    assert "not support F64" in outcome.reason


def test_it_declares_the_shapes_of_its_outputs(backend: Any) -> None:
    assert backend.prepare(HARDMAX).declared() == [(None, list(X.shape))]
    symbolic = adapter.Runnable(None, ["N,3,2*S,F32", "I64"])
    assert symbolic.declared() == [(None, [None, 3, None]), (None, [])]


def test_what_an_operator_asks_of_a_model_is_a_refusal_and_not_declined(backend: Any) -> None:
    # Of an operator that it has, an input that it wants to be constant is an error like any other.
    axis = np.array(0, np.int64)
    outcome = of_type(Raised, outcome_of(backend, task_of("CumSum", 14, {}, X, axis), X, axis))
    assert (outcome.stage, outcome.kind, outcome.documented) == ("prepare", "TractError", True)
    assert "be a const" in outcome.detail


def _loading_by(backend: Any, loader: Any) -> Any:
    return replace(backend, prepare=partial(adapter.prepared, loader, *backend.documented_errors))


@pytest.mark.parametrize("error", [AssertionError("x"), RuntimeError("Unimplemented(x)")])
def test_other_exceptions_are_accidents(backend: Any, error: Exception) -> None:
    outcome = outcome_of(_loading_by(backend, Failing(error)), HARDMAX, X)
    assert outcome == Raised("prepare", type(error).__name__, str(error), False)


def test_no_file_has_a_name_while_it_reads_a_model(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    class Watching:
        def load(self, path: str) -> Any:
            seen.append(list(tmp_path.iterdir()))
            return tract.onnx().load(path)

    assert isinstance(outcome_of(_loading_by(backend, Watching()), HARDMAX, X), Produced)
    assert seen == [[]]
