"""Where the text admits several answers, a golden folder holds each of them."""

import numpy as np
import pytest

import opcheck
from opcheck.execution import golden
from opcheck.model import Verdict

RELU = "op: Relu\ncases: [{name: a, opset: 14, dtype: float32, inputs: {X: [.nan, 2, -3]}}]"
TOO_MANY_ACTIVATIONS = """
op: RNN
cases:
- name: a
  opset: 14
  dtype: float32
  attrs: {activations: [Relu, Sigmoid], hidden_size: 1}
  inputs: {X: [[[2]]], W: [[[1]]], R: [[[0]]]}
"""
SOFTSIGN_OF_NUMBERS = (
    "op: Softsign\ncases: [{name: a, opset: 1, dtype: float32, inputs: {input: [1, 3]}}]"
)


@pytest.fixture
def tests_of(tmp_path):
    def made(text):
        file = tmp_path / "case.yaml"
        file.write_text(text)
        (case,) = opcheck.load(file)
        return golden.golden_tests(case).tests

    return made


def test_each_answer_is_a_test_of_its_own(tests_of) -> None:
    found = {test.alternative: test.outputs[0].written.tolist() for test in tests_of(RELU)}
    assert found.keys() == {"nan", "number"}
    assert np.isnan(found["nan"][0])
    assert found["nan"][1:] == [2, 0]
    assert found["number"] == [0, 2, 0]
    assert {test.kind for test in tests_of(RELU)} == {"open"}


def test_a_refusal_that_is_admitted_is_a_test_without_outputs(tests_of) -> None:
    found = {test.alternative: test for test in tests_of(TOO_MANY_ACTIVATIONS)}
    assert found["refused"].reason
    assert found["refused"].outputs == ()
    assert found["first"].outputs[0].written.item() == 2


def test_where_nothing_is_open_there_is_one_test_of_the_case_s_rule(tests_of) -> None:
    (test,) = tests_of(SOFTSIGN_OF_NUMBERS)
    assert (test.kind, test.alternative) == ("must", "")


DIVISION_BY_0 = """
op: Div
cases:
- {name: a, opset: 14, dtype: int32, inputs: {A: [7, 8], B: [0, 2]}}
"""


def test_where_an_element_may_be_anything_no_file_is_written(tmp_path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(DIVISION_BY_0)
    (case,) = opcheck.load(file)
    found = golden.golden_tests(case)
    assert found.tests == ()
    assert [left.wrong for left in found.left_out] == [False]


def test_what_a_case_states_of_such_an_element_is_written_as_stated(tests_of) -> None:
    stated = DIVISION_BY_0.replace("}}", "}, expect: {C: [5, 4]}}")
    (test,) = tests_of(stated)
    assert (test.method, test.outputs[0].written.tolist()) == ("stated", [5, 4])


class MixedRelu:
    """Relu that makes 0 of the first NaN, and this number of the second."""

    def __init__(self, second: float) -> None:
        self.second = second

    def prepare(self, _task):
        return self

    def run(self, _inputs):
        return [np.float32([0, 2, self.second])]


@pytest.mark.parametrize(
    ("second", "expected"), [(np.nan, Verdict.PASS), (0, Verdict.PASS), (5, Verdict.FAIL)]
)
def test_elements_that_are_free_may_follow_answers_of_several_tests(tmp_path, second, expected):
    file = tmp_path / "case.yaml"
    file.write_text(RELU.replace("[.nan, 2, -3]", "[.nan, 2, .nan]"))
    golden.write(tmp_path / "golden", opcheck.load(file), "all")
    [result] = opcheck.run(opcheck.load(tmp_path / "golden"), MixedRelu(second))
    assert result.verdict is expected


NEGATIVE_AXIS = """
op: Slice
opset: 1
dtype: float32
cases:
- name: negative_axis
  rule: open
  attrs: {axes: [-1], starts: [0], ends: [2]}
  inputs: {data: [1, 2, 3]}
  expect: {any_of: [{as: formula}, {as: whole, output: [1, 2, 3]}]}
"""


def test_a_computed_alternative_has_a_test_for_each_reading(tests_of) -> None:
    found = {test.alternative: test for test in tests_of(NEGATIVE_AXIS)}
    assert found.keys() == {"formula, from_the_back", "formula, refused", "whole"}
    assert found["formula, from_the_back"].outputs[0].written.tolist() == [1, 2]
    assert found["formula, refused"].reason
    assert found["whole"].outputs[0].written.tolist() == [1, 2, 3]
