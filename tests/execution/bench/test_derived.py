"""Cases that are derived to be timed: which shipped case they are of, and how large."""

import math

import pytest

from opcheck.execution import derived, expected
from opcheck.execution.derived import ELEMENTS, LONGEST, derived_cases
from opcheck.suite import case_digest, load


def elements(case) -> int:
    return max(math.prod(spec.shape) for spec in case.inputs)


@pytest.mark.parametrize("op", ["Relu", "Add", "MatMul", "Gather", "Concat", "ReduceSum"])
def test_a_case_has_about_as_many_elements_as_all_others(op: str) -> None:
    [case] = derived_cases(op)
    assert ELEMENTS / 4 < elements(case) <= ELEMENTS
    assert case.op.name == op
    assert case.dtype is not None
    assert case.dtype.name == "float32"


@pytest.mark.parametrize("op", ["Relu", "Conv", "Gather", "TopK"])
def test_a_case_has_an_answer(op: str) -> None:
    [case] = derived_cases(op)
    assert expected.accepted_answers(case, expected.question(case))


def test_a_case_is_of_the_newest_version_and_says_that_it_is_derived() -> None:
    [case] = derived_cases("Relu")
    assert case.op.since == max(shipped.op.since for shipped in load(ops=["Relu"]))
    assert case.id == f"Relu/derived@opset={case.opset},dtype=float32"


def test_types_and_opsets_choose_the_shipped_case() -> None:
    cases = derived_cases("Relu", ["float64", "float16"], [13])
    assert [case.id for case in cases] == [
        "Relu/derived@opset=13,dtype=float64",
        "Relu/derived@opset=13,dtype=float16",
    ]
    assert derived_cases("Relu", ["string"]) == ()


def test_another_type_is_taken_where_there_is_no_float32() -> None:
    [case] = derived_cases("BitwiseAnd")
    assert case.dtype is not None
    assert case.dtype.kind == "int"


def test_the_same_case_is_derived_again() -> None:
    first, again = derived_cases("Gather"), derived_cases("Gather")
    assert [*map(case_digest, first)] == [*map(case_digest, again)]


def test_an_operator_without_shipped_cases_has_none() -> None:
    assert derived_cases("Nothing") == ()


def test_a_case_without_inputs_is_timed_as_it_is() -> None:
    [case] = derived_cases("Constant")
    assert case.inputs == ()
    assert case.id.startswith("Constant/derived@")


def test_cases_that_are_all_empty_are_timed_as_they_are(monkeypatch, tmp_path) -> None:
    file = tmp_path / "cases.yaml"
    inputs = "{X: {shape: [0, 2], constant: 1}}"
    file.write_text(f"op: Relu\ncases: [{{name: a, opset: 14, dtype: float32, inputs: {inputs}}}]")
    monkeypatch.setattr(derived, "load", lambda **_: load([file]))
    monkeypatch.setattr(derived, "_is_suitable", lambda *_: True)
    [case] = derived_cases("Relu")
    assert case.inputs[0].shape == (0, 2)


def test_no_axis_is_made_very_long() -> None:
    [case] = derived_cases("Cast")
    before = max(max(one.shape, default=0) for old in load(ops=["Cast"]) for one in old.inputs)
    assert max(case.inputs[0].shape) <= max(LONGEST, before)
