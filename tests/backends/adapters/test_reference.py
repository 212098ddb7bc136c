import sys
from typing import Any

import numpy as np
import onnx.reference
import pytest
from onnx.reference.op_run import RuntimeImplementationError, RuntimeTypeError

from opcheck.backends import connect
from opcheck.backends.adapters import reference as adapter
from opcheck.errors import UsageError
from opcheck.model import BackendInfo, Declined, Produced, Raised
from tests.asking import dml_problem, outcome_of, task_of
from tests.expecting import of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
REFERENCE = connect("reference")


class Evaluator:
    """onnx.reference's evaluator, but for what it raises when it runs."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, *_: Any) -> Any:
        raise self.error


def test_it_is_the_installed_onnx_and_has_no_variants(wording: Wording) -> None:
    assert REFERENCE.info == BackendInfo("reference", "reference", onnx.__version__, threads=1)
    with pytest.raises(UsageError) as raised:
        adapter.connect("fast", {})
    assert raised.value == wording
    with pytest.raises(UsageError) as raised:
        adapter.connect(None, {"threads": "1"})
    assert raised.value == wording


def test_directml_is_lowered() -> None:
    outcome = of_type(Produced, outcome_of(REFERENCE, dml_problem((0, 1), X), X))
    assert outcome.outputs[0].tolist() == [[1, 0, 0], [0, 0, 0]]  # type: ignore[union-attr]
    assert isinstance(outcome_of(REFERENCE, dml_problem((7,), X), X), Declined)


def test_an_operator_it_lacks_is_declined() -> None:
    adagrad = task_of("Gradient", 1, {}, domain="ai.onnx.preview.training")
    assert "Gradient" in of_type(Declined, outcome_of(REFERENCE, adagrad)).reason


@pytest.mark.parametrize("kind", [NotImplementedError, RuntimeImplementationError])
def test_its_signal_for_not_implemented_is_heard_in_both_stages(kind, monkeypatch):
    task = task_of("Hardmax", 13, {}, X)
    monkeypatch.setattr(onnx.reference, "ReferenceEvaluator", lambda _: Evaluator(kind("not here")))
    assert outcome_of(REFERENCE, task, X) == Declined("not here")

    def unprepared(_: Any) -> Any:
        raise kind("nor here")

    monkeypatch.setattr(onnx.reference, "ReferenceEvaluator", unprepared)
    assert outcome_of(REFERENCE, task, X) == Declined("nor here")


def test_a_package_that_it_lacks_is_no_refusal_of_the_model(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    stream = np.frombuffer(b"P6 1 1 255 \7\b\t", np.uint8)
    outcome = outcome_of(REFERENCE, task_of("ImageDecoder", 20, {}, stream), stream)
    assert isinstance(outcome, Declined)
    assert "Pillow must be" in outcome.reason


def test_an_assertion_that_something_is_not_supported_is_declined() -> None:
    x = np.ones((1, 1, 6), np.float32)
    attrs = {"kernel_shape": (2,), "auto_pad": "SAME_UPPER", "ceil_mode": 1}
    outcome = outcome_of(REFERENCE, task_of("LpPool", 18, attrs, x), x)
    assert outcome == Declined("ceil_mode is not supported with auto_pad")


@pytest.mark.parametrize(
    ("error", "documented"),
    [
        (RuntimeTypeError("x"), True),
        (onnx.checker.ValidationError("x"), True),
        (ValueError("x"), False),
        (AssertionError("x"), False),
        (IndexError("x"), False),
    ],
)
def test_only_its_own_errors_are_documented(error, documented, monkeypatch):
    monkeypatch.setattr(onnx.reference, "ReferenceEvaluator", lambda _: Evaluator(error))
    outcome = outcome_of(REFERENCE, task_of("Hardmax", 13, {}, X), X)
    assert outcome == Raised("run", type(error).__name__, "x", documented)


def test_the_warnings_of_its_arithmetic_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    x = np.array([[1, np.inf]], np.float32)
    assert isinstance(outcome_of(REFERENCE, task_of("Softmax", 13, {}, x), x), Produced)
    assert not recwarn.list
