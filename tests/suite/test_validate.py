from typing import Any

from opcheck.reading import Problems
from opcheck.suite.fields import CaseEntry, CaseFields, HeadFields, OmittedFields, validate
from tests.reading.trees import read


def left(model: Any, text: str) -> tuple[Any, Any, OmittedFields, list[str]]:
    problems = Problems()
    found, rest, lost = validate(model, read(text), "f.yaml", problems)
    return found, rest.plain(), lost, [problem.message for problem in problems]


def test_a_sound_node_is_returned_as_it_is() -> None:
    node, problems = read("{name: a, opset: 13}"), Problems()
    found, rest, lost = validate(CaseEntry, node, "f.yaml", problems)
    assert found is not None
    assert (found.name, found.opset) == ("a", 13)
    assert rest is node
    assert lost is OmittedFields.NOTHING
    assert not problems


def test_a_field_at_fault_is_left_out_and_the_rest_kept() -> None:
    text = "{name: a, opset: x, levle: 1, tolerance: {ulps: 1}, attrs: {axis: 0}}"
    found, rest, lost, told = left(CaseEntry, text)
    assert rest == {"name": "a", "attrs": {"axis": 0}}
    assert found is not None
    assert found.attrs == {"axis": 0}
    assert lost is OmittedFields.SOMETHING
    assert len(told) == 3


def test_of_inputs_only_those_at_fault_are_left_out() -> None:
    text = "{inputs: {X: {shap: [1]}, Y: [1, 2], Z: {seed: -1, constant: 0}}}"
    found, rest, _, told = left(CaseFields, text)
    assert found is not None
    assert rest == {"inputs": {"Y": [1, 2]}}
    assert len(told) == 2


def test_of_rows_only_the_fields_at_fault_are_left_out() -> None:
    text = "{name: a, rows: [{opset: 1}, {opset: x, level: core}, 7, {inputs: {X: {a: 1}, Y: 2}}]}"
    found, rest, _, told = left(CaseEntry, text)
    assert found is not None
    assert rest["rows"] == [{"opset": 1}, {"level": "core"}, {"inputs": {"Y": 2}}]
    assert len(told) == 3


def test_it_is_told_when_the_expectation_was_lost() -> None:
    for text in ("{expect: {}}", "{expcet: 3}", "{name: a, rows: [{expect: {rejected: x}}]}"):
        assert left(CaseEntry, text)[2] is OmittedFields.EXPECTATION


def test_without_a_mandatory_field_nothing_is_made() -> None:
    assert left(CaseEntry, "{opset: 1}")[0] is None
    assert left(CaseEntry, "[1]")[0] is None
    found, _, _, told = left(HeadFields, "{op: 3, cases: [1], opset: x}")
    assert found is None
    assert len(told) == 2, "nothing is told twice"


def test_keys_are_suggested_from_where_the_unknown_one_stands() -> None:
    for text, hint in (
        ("{inputs: {put: {ptu: []}}}", "did you mean 'put'?"),
        ("{inputs: {X: {put: [{vale: 1, at: [0]}]}}}", "did you mean 'value'?"),
        ("{inputs: {tolerance: {ulpp: 1, sed: 1}}}", "did you mean 'seed'?"),
        ("{tolerance: {float16: {rtl: 1}}}", "did you mean 'rtol'?"),
        ("{expect: {rejected: x, legl: {}}}", "did you mean 'legal'?"),
        ("{expect: {output: {shpe: [1]}}}", "did you mean 'shape'?"),
        ("{levl: core}", "did you mean 'level'?"),
    ):
        problems = Problems()
        validate(CaseFields, read(text), "f.yaml", problems)
        assert hint in [problem.hint for problem in problems], text
