from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.backends import connect
from opcheck.backends.adapters import numpy as adapter
from opcheck.backends.base import Defect
from opcheck.engine.operators import find
from opcheck.errors import UsageError, WrongOperator
from opcheck.model import BackendInfo, Declined, Produced, Raised
from tests import asking
from tests.asking import dml_problem, output_of, task_of
from tests.expecting import of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
ENGINE = connect("numpy")


outcome_of = partial(asking.outcome_of, ENGINE)


def test_it_is_marked_as_opcheck_s_own() -> None:
    assert ENGINE.info == BackendInfo("numpy", "numpy", np.__version__, engine=True, threads=1)


def test_it_has_two_modes(wording: Wording) -> None:
    far_apart = np.float32([1e8, 1, -1e8])
    task = task_of("ReduceSum", 11, {}, far_apart)
    sums = [
        adapter.connect(None, options).prepare(task).run([far_apart])[0].item()
        for options in ({}, {"mode": "native"}, {"mode": "exact"})
    ]
    assert sums == [0, 0, 1]
    with pytest.raises(UsageError) as raised:
        adapter.connect("fast", {})
    assert raised.value == wording
    with pytest.raises(UsageError) as raised:
        adapter.connect(None, {"mode": "fast"})
    assert raised.value == wording


@pytest.mark.parametrize("options", [{}, {"mode": "exact"}])
def test_it_answers_alike_in_all_of_them(options: dict[str, str]) -> None:
    task = task_of("Hardmax", 13, {"axis": 0}, X)
    assert output_of(adapter.connect(None, options), task, X).tolist() == [[1, 1, 0], [0, 0, 1]]


CUBE = np.array([[[1, 5], [5, 2]], [[5, 7], [4, 6]]], np.float32)


@pytest.mark.parametrize(
    ("task", "inputs", "want"),
    [
        # An opset between versions means the older one.
        (task_of("Hardmax", 12, {}, CUBE), (CUBE,), [[[0, 1], [0, 0]], [[0, 1], [0, 0]]]),
        (task_of("Hardmax", 14, {}, CUBE), (CUBE,), [[[0, 1], [1, 0]], [[0, 1], [0, 1]]]),
        # An initializer is an input like any other.
        (task_of("Hardmax", 13, {"axis": 1}, X, initializer=True), (), [[1, 0, 0], [1, 0, 0]]),
        (dml_problem((0, 1), X), (X,), [[1, 0, 0], [0, 0, 0]]),
    ],
    ids=["opset_12", "opset_14", "initializer", "directml"],
)
def test_it_answers_with_the_engine(task, inputs, want):
    assert of_type(Produced, outcome_of(task, *inputs)).outputs[0].tolist() == want


def test_a_model_against_the_specification_is_refused_on_purpose() -> None:
    outcome = of_type(Raised, outcome_of(task_of("Hardmax", 13, {"axis": 7}, X), X))
    assert (outcome.stage, outcome.kind, outcome.documented) == ("run", "InvalidNode", True)
    assert "axis 7 is outside [-2, 1]" in outcome.detail
    missing = of_type(Raised, outcome_of(task_of("Hardmax", 13, {})))
    assert missing.detail == "Hardmax-13: 0 inputs; allowed: 1"


def test_an_operator_without_formula_is_declined() -> None:
    task = task_of("ZipMap", 1, {}, X, domain="ai.onnx.ml")
    assert outcome_of(task, X) == Declined("the engine has no formula for ZipMap-1")


@pytest.mark.parametrize("mode", ["native", "exact"])
@pytest.mark.parametrize("error", [AssertionError(), IndexError("x"), TypeError("y")])
def test_a_bug_of_the_engine_is_no_refusal(mode, error, monkeypatch):
    def broken(input: Any, *, axis: int) -> Any:
        raise error

    hardmax = find("", "Hardmax")
    assert hardmax
    monkeypatch.setitem(hardmax.formulas, 13, broken)
    monkeypatch.setitem(hardmax.native, 13, broken)
    with pytest.raises((Defect, WrongOperator), match=type(error).__name__) as caught:
        asking.outcome_of(connect(f"numpy?mode={mode}"), task_of("Hardmax", 13, {}, X), X)
    assert f"{Path(__file__).name}:" in str(caught.value)
