"""Integers of a graph of which several are right: a float was rounded before it was cut off.

An If divides in float32 and casts to int64. Around 3e9 float32 has every 256th integer, so that a
sound implementation may be off by hundreds.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from opcheck.backends import Backend
from opcheck.backends.base import TaskCall
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.golden import golden_tests
from opcheck.model import BackendInfo, Case, LiveResult
from tests import inline
from tests.asking import cases_in

DIVIDENDS = (9.0e8, 7.0e8, 6.0e8, 1.0e8)
DIVISOR = 0.3
#: The quotients of the float32 inputs, cut off.
EXACT = [int(Fraction(x) / Fraction(float(np.float32(DIVISOR)))) for x in DIVIDENDS]
#: Further off than any rounding of float32.
FAR = 10_000


def quotients(folder: Path, tolerance: str = "", divisor: float = DIVISOR) -> Case:
    graph = '"() => (y) { d = Div(outer_0, outer_1) y = Cast<to = 7>(d) }"'
    text = f"""
    op: If
    opset: 16
    dtype: float32
    cases:
    - name: quotients
      {tolerance}
      attrs: {{then_branch: {graph}, else_branch: {graph}}}
      inputs: {{cond: {{value: true}}, outer_0: {[*DIVIDENDS]}, outer_1: {divisor}}}
    """
    (case,) = cases_in(folder, text)
    return case


def result_of(case: Case, answer: list[int]) -> LiveResult:
    outputs = [np.array(answer, np.int64)]
    info = BackendInfo("fixed", "fixed", "", repeatable=False)
    backend = Backend(info, (), lambda task: TaskCall(lambda inputs: outputs))
    return inline.result_of(CaseEvaluation(case), backend)


def off_by(steps: int) -> list[int]:
    return [number + steps for number in EXACT]


@pytest.mark.parametrize(
    ("tolerance", "steps", "verdict"),
    [
        ("", 3, "pass"),
        ("", FAR, "fail"),
        # Beyond the bound, which the tolerance replaces.
        ("tolerance: {rtol: 0.1, atol: 1}", FAR, "pass"),
        ("tolerance: {rtol: 1.0e-6}", FAR, "fail"),
        ("tolerance: {atol: 1}", 0, "pass"),
        ("tolerance: {atol: 1}", 3, "fail"),
        # Under a tolerance in ULP integers are exact.
        ("tolerance: {ulp: 4}", 3, "fail"),
    ],
)
def test_a_tolerance_is_about_an_integer_in_their_middle(
    tolerance: str, steps: int, verdict: str, tmp_path: Path
) -> None:
    result = result_of(quotients(tmp_path, tolerance), off_by(steps))
    assert result.verdict == verdict
    (comparison,) = result.comparisons
    for mismatch in comparison.worst:
        assert isinstance(mismatch.want, int)


def test_a_tolerance_that_admits_one_answer_for_all_is_refused(tmp_path: Path) -> None:
    case = quotients(tmp_path, "tolerance: {atol: 4.0e9}")
    assert result_of(case, EXACT).verdict == "bad case"


@pytest.mark.parametrize("tolerance", ["", "tolerance: {rtol: 0.1}", "tolerance: {ulp: 0}"])
def test_any_integer_is_right_where_the_type_does_not_hold_the_quotient(
    tolerance: str, tmp_path: Path
) -> None:
    case = quotients(tmp_path, tolerance, divisor=1.0e-11)
    for answer in ([0, 1, -1, 2**63 - 1], [-(2**63)] * 4):
        assert result_of(case, answer).verdict == "pass"


def test_a_golden_test_has_the_exact_integer_between_all_that_are_right(tmp_path: Path) -> None:
    (test,) = golden_tests(quotients(tmp_path)).tests
    (output,) = test.outputs
    assert output.written.tolist() == EXACT
    assert (np.array(off_by(-1000)) < output.lowest).all()
    assert (output.lowest < EXACT).all()
    assert (output.highest > EXACT).all()
    assert (output.highest < off_by(1000)).all()


def test_no_golden_test_states_an_integer_that_is_not_defined(tmp_path: Path) -> None:
    found = golden_tests(quotients(tmp_path, divisor=1.0e-11))
    assert not found.tests
    assert [left.wrong for left in found.left_out] == [True]
