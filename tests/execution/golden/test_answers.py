from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.engine.rounding import Unrounded
from opcheck.execution import golden
from opcheck.execution.golden import CaseTests, golden_tests
from opcheck.model import Case
from tests.asking import cases_in, shipped_cases
from tests.execution.golden.made import FOUR
from tests.wording import Wording


def made(folder: Path, text: str = FOUR) -> dict[str, CaseTests]:
    return {case.name: golden_tests(case) for case in cases_in(folder, text)}


def softmax(folder: Path, text: str) -> Case:
    head = "op: Softmax\nopset: 13\ndtype: float32\nattrs: {axis: -1}\ncases:\n- "
    (case,) = cases_in(folder, head + text)
    return case


def test_a_case_is_a_test_of_its_rule(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert {name: [(t.kind, t.name) for t in one.tests] for name, one in found.items()} == {
        "written_out": [("must", "Softmax/written_out")],
        "random": [("must", "Softmax/random")],
        "undecided": [
            ("open", "Softmax/undecided~by_the_formula"),
            ("open", "Softmax/undecided~by_the_body"),
        ],
        "out_of_range": [
            ("rejected", "Softmax/out_of_range"),
            ("must", "Softmax/out_of_range~legal"),
        ],
    }
    assert all(not one.left_out for one in found.values())


def test_a_case_of_rule_should_is_not_among_those_that_must_pass(tmp_path: Path) -> None:
    case = softmax(tmp_path, "{name: a, rule: should, inputs: {input: [0, 1]}, empty: it is}")
    assert [test.kind for test in golden_tests(case).tests] == ["should"]


def test_what_is_to_be_refused_has_a_reason_and_no_outputs(tmp_path: Path) -> None:
    refused, twin = made(tmp_path)["out_of_range"].tests
    assert refused.reason == "axis is outside [-2, 1]"
    assert refused.outputs == ()
    assert [one.rank for one in refused.task.outputs] == [2]
    assert twin.legal_twin
    assert twin.outputs[0].written.shape == (2, 3)


def test_a_literal_is_written_as_the_oracle_has_it(tmp_path: Path) -> None:
    text = "{name: a, inputs: {input: [0, 1]}, expect: {output: [0.268941, 0.731059]}}"
    case = softmax(tmp_path, text.replace("expect", "tolerance: {rtol: 1.e-5, atol: 0}, expect"))
    (output,) = golden_tests(case).tests[0].outputs
    assert output.written.tolist() == np.float32([0.26894143, 0.7310586]).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {input: [0, 1]}, expect: {output: [0.5, 0.5]}",
        "inputs: {input: [0, 1]}, expect: {rejected: no, legal: {attrs.axis: -1}},"
        " attrs: {axis: 0}",
    ],
)
def test_a_case_that_the_oracle_contradicts_is_left_out_as_wrong(tmp_path, text, wording):
    found = golden_tests(softmax(tmp_path, f"{{name: a, {text}}}"))
    assert found.tests == ()
    (left,) = found.left_out
    assert left.wrong
    assert left.reason == wording


ANY_ORDER = """
op: TopK
opset: 11
dtype: float32
inputs: {X: [[1, 3, 2]], K: {value: [2], dtype: int64}}
cases:
- {name: unsorted, attrs: {sorted: 0}}
- {name: sorted, expect: {Values: [[3, 2]], Indices: [[1, 2]]}}
- {name: refused, attrs: {sorted: 0, axis: 2}, expect: {rejected: no axis, legal: {attrs.axis: 1}}}
"""


def test_an_answer_that_may_come_in_any_order_is_left_out(tmp_path: Path) -> None:
    found = made(tmp_path, ANY_ORDER)
    kinds = {name: [test.kind for test in one.tests] for name, one in found.items()}
    assert kinds == {"unsorted": [], "sorted": ["must"], "refused": ["rejected"]}
    left = [one for name in found for one in found[name].left_out]
    assert [one.what for one in left] == ["the case", "its legal twin"]
    assert all("in any order" in one.reason and not one.wrong for one in left)


def test_what_is_not_certain_is_not_written(tmp_path, monkeypatch):
    def uncertain(*_: Any) -> Any:
        raise Unrounded("nobody knows")

    monkeypatch.setattr(golden, "correctly_rounded", uncertain)
    found = made(tmp_path)
    for name in ("written_out", "random"):
        (left,) = found[name].left_out
        assert left.wrong
        assert left.reason == "nobody knows"
        assert found[name].tests == ()


def test_a_computed_answer_to_an_open_question_is_correctly_rounded(tmp_path: Path) -> None:
    text = "{name: a, rule: open, inputs: {input: [0, 1]}, expect: {any_of: ["
    text += "{as: engine}, {as: none, output: [1, 0]}]}, tolerance: {ulp: 1}}"
    computed, stated = golden_tests(softmax(tmp_path, text)).tests
    assert computed.method == "bounded"
    assert computed.outputs[0].written.tolist() == np.float32([0.26894143, 0.7310586]).tolist()
    assert stated.method == "stated"


def test_an_operator_that_the_engine_lacks_is_written_as_stated(tmp_path: Path) -> None:
    text = """
        domain: ai.onnx.ml
        op: SVMRegressor
        opset: 1
        dtype: float32
        tolerance: {ulp: 0}
        cases:
        - {name: a, inputs: {X: [-1, 2]}, expect: {Y: [0, 2]}}
    """
    (case,) = cases_in(tmp_path, text)
    (test,) = golden_tests(case).tests
    assert test.method == "stated"
    assert test.outputs[0].written.tolist() == [0, 2]


def test_no_file_can_hold_what_is_drawn_at_random(tmp_path: Path, wording: Wording) -> None:
    text = "{op: RandomUniform, opset: 22, cases: [{name: a, attrs: {shape: [2]}}]}"
    (case,) = cases_in(tmp_path, text)
    (left,) = golden_tests(case).left_out
    assert left.reason == wording


@pytest.mark.gate
def test_the_shipped_cases_agree_with_their_precise_answers() -> None:
    smoke = [case for case in shipped_cases() if case.level == "smoke"]
    wrong = [one for case in smoke for one in golden_tests(case).left_out if one.wrong]
    assert len(smoke) > 800
    assert wrong == []
