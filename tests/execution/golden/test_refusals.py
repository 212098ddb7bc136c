"""A golden folder judges a refusal that the text admits as the case itself would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.model import Verdict
from opcheck.suite import load_all
from tests.execution.golden import made
from tests.execution.golden.made import rewrite
from tests.execution.one import result_of
from tests.miniatures import Fake, Refused

#: The author states both answers, and a legal twin: the axis as a scalar.
AXIS_IN_A_LIST = """
op: CumSum
cases:
- name: axis_in_a_list
  rule: open
  opset: 14
  dtype: float32
  inputs: {x: [1, 2], axis: {value: [0], dtype: int64}}
  expect:
    any_of:
    - {as: taken, y: [1, 3]}
    - {as: refused, rejected: it is no scalar, legal: {inputs.axis.value: 0}}
"""
#: The formula admits a refusal, and there is no legal twin.
TOO_MANY_ACTIVATIONS = """
op: RNN
cases:
- name: too_many
  opset: 14
  dtype: float32
  attrs: {activations: [Relu, Sigmoid], hidden_size: 1}
  inputs: {X: [[[2]]], W: [[[1]]], R: [[[0]]]}
"""


def summing(task: Any, change: Callable[[Any], Any]) -> Any:
    return lambda inputs: [change(np.cumsum(inputs[0], dtype=inputs[0].dtype))]


def right(task: Any) -> Any:
    return summing(task, lambda y: y)


def wrong(task: Any) -> Any:
    return summing(task, lambda y: y + 1)


def refuses_a_list(task: Any) -> Any:
    if task.inputs[1].shape != ():
        raise Refused("the axis is a list")
    return right(task)


def refuses_all(task: Any) -> Any:
    raise Refused("no CumSum here")


def refuses_a_list_and_is_wrong(task: Any) -> Any:
    refuses_a_list(task)
    return wrong(task)


def of_rnn(number: float) -> Callable[[Any], Any]:
    """A backend that gives this number as both outputs of the RNN."""
    y = np.full((1, 1, 1, 1), number, np.float32)
    return lambda task: lambda inputs: [y, y[0]][: len(task.outputs)]


BACKENDS = [
    (AXIS_IN_A_LIST, right, Verdict.PASS),
    (AXIS_IN_A_LIST, refuses_a_list, Verdict.PASS),
    (AXIS_IN_A_LIST, wrong, Verdict.FAIL),
    (AXIS_IN_A_LIST, refuses_all, Verdict.ERROR),
    # A legal twin shows that the operator is there; its values are judged by its own test.
    (AXIS_IN_A_LIST, refuses_a_list_and_is_wrong, Verdict.PASS),
    (TOO_MANY_ACTIVATIONS, of_rnn(2), Verdict.PASS),
    (TOO_MANY_ACTIVATIONS, refuses_all, Verdict.PASS),
    (TOO_MANY_ACTIVATIONS, of_rnn(3), Verdict.FAIL),
]


@pytest.mark.parametrize(("text", "backend", "verdict"), BACKENDS)
def test_a_verdict_is_that_of_the_case(
    text: str, backend: Callable[[Any], Any], verdict: Verdict, tmp_path: Path
) -> None:
    (case,) = made.cases_in(tmp_path, text)
    made.golden(tmp_path, text)
    (stored,) = [one for one in load_all([tmp_path / "golden"]) if one.rule == "open"]
    results = [result_of(one, Fake(backend)) for one in (case, stored)]
    assert [result.verdict for result in results] == [verdict, verdict]
    assert [result.refused for result in results] == [results[0].refused] * 2


def test_the_legal_twin_has_to_be_answered(tmp_path: Path) -> None:
    manifest = made.golden(tmp_path, AXIS_IN_A_LIST)
    (twin,) = [test for test in manifest.tests if test.legal_twin]
    assert twin.folder == "must/test_CumSum%2Faxis_in_a_list~legal"
    (case,) = load_all([tmp_path / "golden" / "must"])
    assert case.rule == "must"
    assert result_of(case, Fake(refuses_a_list)).verdict is Verdict.PASS
    assert result_of(case, Fake(wrong)).verdict is Verdict.FAIL


def test_without_its_legal_twin_it_is_not_judged(tmp_path: Path, wording) -> None:
    made.golden(tmp_path, AXIS_IN_A_LIST)
    (case,) = load_all([tmp_path / "golden" / "open"])
    assert case.beyond == wording


def test_a_twin_that_was_left_out_is_missing(tmp_path: Path, wording) -> None:
    made.golden(tmp_path, TOO_MANY_ACTIVATIONS)
    reason = "its outputs may come in any order"
    left_out = {"case": "RNN/too_many", "what": "its legal twin", "reason": reason}
    rewrite(tmp_path / "golden", lambda data: data["left_out"].append(left_out))
    (case,) = load_all([tmp_path / "golden"])
    assert case.beyond == wording


def test_format_4_holds_no_legal_twins(tmp_path: Path) -> None:
    made.golden(tmp_path, TOO_MANY_ACTIVATIONS)
    rewrite(tmp_path / "golden", lambda data: data.update(format=4))
    (case,) = load_all([tmp_path / "golden"])
    assert case.beyond.endswith("no legal twin")
