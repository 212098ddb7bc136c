"""Sequences in case files: lists of tensors, which are the tensors of a case one by one."""

import pytest

from opcheck.errors import NotExpressible
from opcheck.execution.expected import question
from opcheck.graph import model_of
from opcheck.suite import materialize

HEAD = "op: SequenceInsert\nopset: 11\ndtype: float32\ncases:\n- name: a\n"
FINE = "  inputs: {input_sequence: [[1], 2], tensor: [3]}\n"


def test_a_list_is_its_tensors_and_what_comes_out_has_a_length(cases):
    items = "[[1, 2], 3, {shape: [0, 2], constant: 0}, {value: [4], initializer: true}]"
    text = f"  inputs: {{input_sequence: {items}, tensor: [5]}}\n"
    (case,) = cases(f"{HEAD}{text}  expect: {{output_sequence: [1, 2]}}\n")
    assert {spec.name: materialize(spec).tolist() for spec in case.inputs} == {
        "tensor": [5],
        **{f"input_sequence_{n}": one for n, one in enumerate([[1, 2], 3, [], [4]])},
    }
    assert [spec.initializer for spec in case.inputs] == [False] * 4 + [True]
    wants = {spec.name: materialize(spec).tolist() for spec in case.expect.outputs}
    assert wants == {"output_sequence_length": 2, "output_sequence_0": 1, "output_sequence_1": 2}


def test_999_tensors_are_allowed(cases):
    (case,) = cases(
        f"{HEAD}  inputs: {{input_sequence: {[0] * 999}, tensor: [3]}}\n"
        "  expect: {computed: [output_sequence_0]}\n"
    )
    assert len(case.inputs) == 1000


def test_tensors_before_one_that_is_asked_for_are_asked_for_too(cases):
    (case,) = cases(f"{HEAD}{FINE}  expect: {{computed: [output_sequence_1, output_sequence_3]}}\n")
    names = ["output_sequence_length", *(f"output_sequence_{n}" for n in range(4))]
    assert [output.name for output in case.outputs] == names


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "  inputs: {input_sequence: [[1]], input_sequence_0: [9], tensor: [3]}\n",
            "6:35",
        ),
        (
            "  inputs: {input_sequence: [[1], null], tensor: [3]}\n",
            "6:34",
        ),
        *(
            (
                f"  inputs: {{input_sequence: {wrong}, tensor: [3]}}\n",
                "6:28",
            )
            for wrong in ("{shape: [2], constant: 1}", [0] * 1000)
        ),
        ("  inputs: {tensor: [3]}\n", "5:3"),
        (
            "  inputs: {input_sequence: [{shap: [2], constant: 1}], tensor: [3]}\n",
            "6:30",
        ),
    ],
)
def test_a_wrong_input_is_told_with_its_place(problems, text, place, wording):
    (problem,) = problems(f"{HEAD}{text}  expect: {{output_sequence: [[1], [3]]}}\n")
    assert problem.startswith(f"{place}: ")
    assert problem == wording


@pytest.mark.parametrize(
    "expect",
    [
        "",
        "  expect: {output_sequence: [[1], 2, [3]], output_sequence_0: [1]}\n",
        "  expect: {output_sequence: 3}\n",
        "  rule: open\n  expect: {any_of: [{as: a, output_sequence: [[1], 2]}, "
        "{as: b, output_sequence: [2]}]}\n",
    ],
)
def test_a_wrong_output_is_told_with_its_place(problems, expect, wording):
    assert problems(HEAD + FINE + expect)[0] == wording


@pytest.mark.parametrize(
    "tensors",
    [
        "[]",
        "[[1]]",
    ],
)
def test_a_sequence_needs_a_dtype(problems, tensors, wording):
    text = "op: SequenceLength\nopset: 11\ncases:\n- name: a\n  expect: {length: 0}\n"
    assert problems(f"{text}  inputs: {{input_sequence: {tensors}}}\n") == [wording]


@pytest.mark.parametrize(
    "inputs",
    [
        "{input: [[1], [2]]}",
        "{input: [[1]], input_tensor: [1]}",
    ],
)
def test_an_optional_has_one_tensor_and_one_name(problems, inputs, wording):
    text = "op: OptionalHasElement\nopset: 18\ndtype: float32\ncases:\n- name: a\n"
    assert problems(f"{text}  inputs: {inputs}\n") == [wording]


@pytest.mark.parametrize(
    ("op", "nodes"),
    [
        (
            "Identity_of_sequences",
            "SequenceConstruct Identity SequenceLength SequenceAt SequenceAt",
        ),
        (
            "Identity_of_optional_sequences",
            "SequenceConstruct Optional Identity OptionalGetElement "
            "SequenceLength SequenceAt SequenceAt",
        ),
        (
            "Optional_of_sequences",
            "SequenceConstruct Optional OptionalGetElement SequenceLength SequenceAt SequenceAt",
        ),
        (
            "OptionalGetElement_of_optional_sequences",
            "SequenceConstruct Optional OptionalGetElement SequenceLength SequenceAt SequenceAt",
        ),
    ],
)
def test_an_operator_on_sequences_is_that_of_onnx_in_a_model(cases, op, nodes, wording):
    text = "inputs: {input: [[1], 2]}, expect: {output: [[1], 2]}"
    (case,) = cases(f"{{op: {op}, opset: 18, dtype: float32, cases: [{{name: a, {text}}}]}}")
    assert [node.op_type for node in model_of(question(case).task).graph.node] == nodes.split()
    (case,) = cases(
        f"{{op: {op}, opset: 18, dtype: float32, cases: [{{name: a, inputs: {{input: []}}, "
        "expect: {output: []}}]}"
    )
    if op == "Optional_of_sequences":
        with pytest.raises(NotExpressible) as raised:
            model_of(question(case).task)
        assert raised.value == wording
    else:
        held = {node.op_type for node in model_of(question(case).task).graph.node}
        assert "SequenceConstruct" not in held
        assert ("SequenceEmpty" in held) == (op == "Identity_of_sequences")


def test_a_version_before_the_form_has_none(problems):
    head = "op: Identity_of_optionals\nopset: 14\ndtype: float32\ncases:\n- name: a\n"
    assert problems(f"{head}  inputs: {{input: [[1]]}}\n")[0].startswith("2:8: ")
