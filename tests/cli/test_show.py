"""`opcheck show`: one case with its text, model, inputs and right answers."""

from pathlib import Path
from textwrap import dedent

import pytest

from opcheck.execution import golden, show
from opcheck.execution.element import explained_element
from opcheck.suite import load
from tests.asking import ENDS_CROSSED

CASES = """\
op: [Relu, Softmax]
opset: 14
dtype: float32
clause: >-
  the rectified linear function, y = max(0, x), is applied to the tensor elementwise. (Relu-14);
  Softmax(input, axis) = Exp(input) / ReduceSum(Exp(input), axis=axis, keepdims=1) (Softmax-13)
cases:
- name: stated
  op: Relu
  inputs: {X: [-1, 2]}
  expect: {Y: [0, 2]}
- name: computed
  op: Relu
  dtype: float16
  inputs: {X: {shape: [40], uniform: [0, 1], seed: 1}}
- name: open
  op: Relu
  rule: open
  inputs: {X: [.nan]}
  expect: {any_of: [{as: nan, Y: [.nan]}, {as: zero, Y: [0]}]}
- name: not_known
  op: Relu
  inputs: {X: [-1, 2]}
  tolerance: {ulp: 0}
  expect: {oracle: onnxruntime}
- name: refused
  op: Softmax
  clause: 'Accepted range is [-r, r-1] where r = rank(input).'
  attrs: {axis: 2}
  inputs: {input: [1]}
  expect: {rejected: axis is outside the rank, legal: {attrs.axis: 0}}
"""
pytestmark = pytest.mark.usefixtures("cases")


@pytest.mark.parametrize("name", ["stated", "computed", "open", "not_known", "refused"])
def test_a_case_is_shown_with_all_that_decides_it(run, snapshot, name: str) -> None:
    snapshot(f"show_{name}", run("show", f"*/{name}", "cases.yaml", code=0).stdout)


def test_large_tensors_are_shown_whole_if_asked(run) -> None:
    short = run("show", "Relu/computed", "cases.yaml", code=0).stdout
    whole = run("show", "Relu/computed", "cases.yaml", "--full", code=0).stdout
    assert "8 more elements" in short
    assert "more elements" not in whole


def test_a_pattern_may_mean_several_cases(run) -> None:
    both = run("show", "Relu/*ed", "cases.yaml", code=0).stdout
    assert "Relu/stated\n" in both
    assert "Relu/computed\n" in both


def test_a_shipped_case_is_shown_from_the_file_that_ships(run) -> None:
    shown = run("show", "Gelu/by_hand@dtype=float32#default", code=0)
    assert "- name: by_hand" in shown.stdout


def test_a_case_is_shown_without_a_model_if_its_page_leaves_that_open(run, tmp_path) -> None:
    (tmp_path / "open.yaml").write_text(dedent(ENDS_CROSSED))
    shown = run("show", "*/ends_crossed", str(tmp_path / "open.yaml"), code=0)
    assert "model\n  none: " in shown.stdout


@pytest.mark.parametrize("words", [("Relu/nothing", "cases.yaml"), ("Softmax/*",), ()])
def test_too_few_and_too_many_are_errors(run, words) -> None:
    assert not run("show", *words, code=2).stdout


def test_an_answer_whose_ends_take_too_much_memory_is_a_problem(monkeypatch) -> None:
    def ends(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(golden, "ends", ends)
    case = next(case for case in load([Path("cases.yaml")]) if case.name == "stated")
    shown = show.shown(case)
    assert (shown.answers, "memory" in shown.problem) == ((), True)


#: No text defines the first quotient.
BY_ZERO = """\
op: Div
opset: 14
dtype: int32
cases: [{name: by_zero, inputs: {A: [8, 9], B: [0, 3]}}]
"""


def test_elements_that_may_be_anything_are_named(run, tmp_path) -> None:
    (tmp_path / "zero.yaml").write_text(BY_ZERO)
    (case,) = load([tmp_path / "zero.yaml"])
    (quotients,) = show.shown(case).answers[0].outputs
    assert quotients.undefined is not None
    assert quotients.undefined.tolist() == [True, False]
    assert "only at [0]" in run("show", case.id, "zero.yaml", code=0).stdout


@pytest.mark.parametrize(("place", "may_be_anything"), [(0, True), (1, False)])
def test_an_element_is_explained_with_all_that_may_come(tmp_path, place, may_be_anything) -> None:
    (tmp_path / "zero.yaml").write_text(BY_ZERO)
    (case,) = load([tmp_path / "zero.yaml"])
    explained = explained_element(show.shown(case), (place,))
    assert explained is not None
    assert explained.may_be_anything == may_be_anything
    # A backend may refuse to divide by 0.
    assert not explained.is_only_answer
