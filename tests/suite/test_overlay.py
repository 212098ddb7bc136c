from typing import Any

import pytest
from hypothesis import given, strategies as st

from opcheck.reading import FileNode, Mark, Problems
from opcheck.suite import fields
from tests.reading.trees import read

HERE = Mark(1, 1)


def node(value: Any) -> FileNode:
    if isinstance(value, dict):
        return FileNode({k: node(v) for k, v in value.items()}, HERE, dict.fromkeys(value, HERE))
    return FileNode(tuple(map(node, value)) if isinstance(value, list) else value, HERE)


def laid(*cases: dict[str, Any]) -> Any:
    first, *others = map(node, cases)
    for other in others:
        first = fields.overlay(first, other)
    return first.plain()


names = st.sampled_from(["axis", "X", "Y", "value", "file"])
scalars = st.none() | st.integers(0, 9)
tensors = st.dictionaries(
    st.sampled_from(["shape", "seed", "dtype", "put", "constant", "arange", "value"]),
    st.integers(0, 9),
)
cases = st.fixed_dictionaries(
    {},
    optional={
        "opset": scalars,
        "expect": st.dictionaries(names, scalars),
        "attrs": st.dictionaries(names, scalars),
        "inputs": st.dictionaries(names, tensors),
    },
)
# The same with literals, null and other things in the place of mappings.
any_cases = cases | st.dictionaries(
    st.sampled_from(["attrs", "inputs", "tolerance"]),
    scalars | st.dictionaries(names, scalars | st.lists(scalars) | tensors),
)
paths = (
    st.sampled_from([("opset",), ("dtype",)])
    | st.tuples(st.sampled_from(["attrs", "inputs"]), names)
    | st.tuples(st.just("inputs"), names, st.sampled_from(["shape", *fields.CONTENTS]))
)


@given(any_cases)
def test_nothing_laid_over_a_case_changes_nothing(case: dict[str, Any]) -> None:
    assert laid(case, {}) == laid({}, case) == case


@given(cases, cases, cases)
def test_it_does_not_matter_which_two_of_three_are_laid_first(a: Any, b: Any, c: Any) -> None:
    assert laid(a, b, c) == laid(a, laid(b, c))


@given(any_cases, any_cases)
def test_what_the_nearer_case_says_holds(base: dict[str, Any], nearer: dict[str, Any]) -> None:
    def holds(got: Any, want: Any, depth: int) -> bool:
        if depth and isinstance(want, dict):
            return all(holds(got[key], value, depth - 1) for key, value in want.items())
        return bool(got == want)

    assert holds(laid(base, nearer), nearer, 3)


def test_an_attribute_called_like_a_content_is_an_attribute() -> None:
    found = laid({"attrs": {"value": 1}}, {"attrs": {"file": 2}})
    assert found == {"attrs": {"value": 1, "file": 2}}
    found = laid({"inputs": {"value": [1]}}, {"inputs": {"choice": [2]}})
    assert found == {"inputs": {"value": [1], "choice": [2]}}


def test_every_value_still_knows_where_it_was_written() -> None:
    base = read("attrs: {a: 1, b: 2}\nopset: 3")
    merged = fields.overlay(base, read("\n\nattrs: {b: 4}\n"))
    assert merged.at(["attrs", "a"]) == Mark(1, 12)
    assert merged.at(["attrs", "b"]) == Mark(3, 12)
    assert merged.at(["attrs", "b"], key=True) == Mark(3, 9)
    assert merged.at(["opset"], key=True) == Mark(2, 1)


def test_what_is_put_stands_where_its_value_does_and_the_rest_where_it_did() -> None:
    case, value = read("opset: 3\nattrs: {a: 1}"), FileNode(5, Mark(7, 7))
    for path, above in (
        (("opset",), None),
        (("attrs", "a"), Mark(2, 1)),
        (("inputs", "X"), Mark(7, 7)),
    ):
        placed = fields.put(case, path, value)
        assert placed is not None
        assert placed.at(path, key=True) == Mark(7, 7)
        assert above is None or placed.at(path[:1], key=True) == above


@pytest.mark.parametrize(
    "text",
    ["opset", "dtype", "attrs.axis", "attrs.a.b", "inputs.X", "inputs.X.shape", "inputs.X.value"],
)
def test_these_are_paths(text: str) -> None:
    assert fields.parse_path(text) == tuple(text.split("."))


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "axis", "level", "expect", "attrs", "attrs.", "attrs.a.b.c", "inputs"),
        *("inputs.X.a.b", "opset.x", ".opset", "opset ", "inputs..shape"),
    ],
)
def test_these_are_no_paths(text: str) -> None:
    assert fields.parse_path(text) is None


@given(any_cases, paths, scalars)
def test_what_is_put_is_found_there(case: Any, path: tuple[str, ...], value: Any) -> None:
    what = node(value)
    placed = fields.put(node(case), path, what)
    if placed is not None:
        assert placed.get(*path) is what
        assert fields.states(placed, path)
        again = node(value)
        assert (fields.put(placed, path, again) or placed).get(*path) is again


@given(any_cases, paths, scalars)
def test_putting_changes_nothing_else(case: Any, path: tuple[str, ...], value: Any) -> None:
    placed = fields.put(node(case), path, node(value))
    if placed is not None:
        for key, kept in case.items():
            if key != path[0]:
                assert placed.plain()[key] == kept
            elif len(path) > 1 and isinstance(kept, dict):
                others = {name: one for name, one in kept.items() if name != path[1]}
                assert others.items() <= placed.plain()[key].items()


def test_a_content_put_into_a_tensor_replaces_the_one_there() -> None:
    case = node({"inputs": {"X": {"shape": [2], "constant": 0}}})
    placed = fields.put(case, ("inputs", "X", "arange"), node([0, 1]))
    assert placed is not None
    assert placed.plain() == {"inputs": {"X": {"shape": [2], "arange": [0, 1]}}}


def test_an_input_or_attribute_called_like_a_content_replaces_no_other() -> None:
    for field in ("attrs", "inputs"):
        placed = fields.put(node({field: {"value": 1}}), (field, "file"), node(2))
        assert placed is not None
        assert placed.plain() == {field: {"value": 1, "file": 2}}


def test_nothing_can_be_put_into_a_literal_but_into_nothing_it_can() -> None:
    path = ("inputs", "X", "shape")
    assert fields.put(node({"inputs": {"X": [1, 2]}}), path, node([2])) is None
    assert fields.put(node({"inputs": 7}), path, node([2])) is None
    for nothing in ({}, {"inputs": None}, {"inputs": {"X": None}}):
        placed = fields.put(node(nothing), path, node([2]))
        assert placed is not None
        assert placed.plain() == {"inputs": {"X": {"shape": [2]}}}


@pytest.mark.parametrize(
    ("case", "path", "want"),
    [
        ({"opset": None}, "opset", True),
        ({"attrs": {"axis": None}}, "attrs.axis", True),
        ({"attrs": {"axis": 1}}, "attrs.other", False),
        ({"attrs": None}, "attrs.axis", True),
        ({"inputs": {"X": [1]}}, "inputs.X.shape", True),
        ({"inputs": {"X": {"shape": [1]}}}, "inputs.X", True),
        ({"inputs": {"X": {"shape": [1]}}}, "inputs.X.dtype", False),
        ({"inputs": {"X": {"constant": 1}}}, "inputs.X.arange", True),
        ({"inputs": {"constant": {"shape": [1]}}}, "inputs.arange", False),
        ({"attrs": {"value": 1}}, "attrs.file", False),
        ({}, "dtype", False),
    ],
)
def test_a_case_states_a_path_there_on_the_way_or_by_another_content(case, path, want):
    parsed = fields.parse_path(path)
    assert parsed is not None
    assert fields.states(node(case), parsed) is want


def left(model: Any, text: str) -> tuple[Any, Any, fields.Omitted, list[str]]:
    problems = Problems()
    found, rest, lost = fields.validate(model, read(text), "f.yaml", problems)
    return found, rest.plain(), lost, [problem.message for problem in problems]


def test_a_sound_node_is_returned_as_it_is() -> None:
    node, problems = read("{name: a, opset: 13}"), Problems()
    found, rest, lost = fields.validate(fields.CaseEntry, node, "f.yaml", problems)
    assert found is not None
    assert (found.name, found.opset) == ("a", 13)
    assert rest is node
    assert lost is fields.Omitted.NOTHING
    assert not problems


@pytest.mark.parametrize(
    ("text", "kept", "count"),
    [
        ("opset: x, levle: 1, tolerance: {ulps: 1}, attrs: {axis: 0}", {"attrs": {"axis": 0}}, 3),
        (
            "inputs: {X: {shap: [1]}, Y: [1, 2], Z: {seed: -1, constant: 0}}",
            {"inputs": {"Y": [1, 2]}},
            2,
        ),
        (
            "rows: [{opset: 1}, {opset: x, level: core}, 7, {inputs: {X: {a: 1}, Y: 2}}]",
            {"rows": [{"opset": 1}, {"level": "core"}, {"inputs": {"Y": 2}}]},
            3,
        ),
    ],
    ids=["fields", "inputs", "rows"],
)
def test_what_is_at_fault_is_left_out_and_the_rest_kept(text: str, kept: Any, count: int) -> None:
    found, rest, lost, told = left(fields.CaseEntry, f"{{name: a, {text}}}")
    assert rest == {"name": "a", **kept}
    assert found is not None
    assert found.attrs == kept.get("attrs")
    assert lost is fields.Omitted.SOMETHING
    assert len(told) == count


def test_it_is_told_when_the_expectation_was_lost() -> None:
    for text in ("{expect: {}}", "{expcet: 3}", "{name: a, rows: [{expect: {rejected: x}}]}"):
        assert left(fields.CaseEntry, text)[2] is fields.Omitted.EXPECTATION


def test_without_a_mandatory_field_nothing_is_made() -> None:
    assert left(fields.CaseEntry, "{opset: 1}")[0] is None
    assert left(fields.CaseEntry, "[1]")[0] is None
    found, _, _, told = left(fields.HeadFields, "{op: 3, cases: [1], opset: x}")
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
        fields.validate(fields.CaseFields, read(text), "f.yaml", problems)
        assert hint in [problem.hint for problem in problems], text
