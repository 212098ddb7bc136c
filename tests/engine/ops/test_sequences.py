"""Operators of sequences against lists of Python's, and the models that backends get of them."""

import numpy as np
import onnxruntime
import pytest
from onnx import checker
from onnx.reference import ReferenceEvaluator

from opcheck.engine import Node
from opcheck.engine.evaluate import each_answer
from opcheck.engine.mutants import mutants_of
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotExpressible, NotSupported
from opcheck.execution.expected import question
from opcheck.graph import model_of
from opcheck.model import OpVersion
from opcheck.suite import load
from tests.computed import evaluate


def answer(op, *inputs, since=11, **attrs):
    return [array.tolist() for array in evaluate(OpVersion("", op, since), inputs, attrs)]


def scalars(*values):
    return [np.array(value, np.float32) for value in values]


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("place", range(-5, 6))
def test_positions_are_those_of_a_list(n, place):
    values, position = [*range(n)], np.array(place)
    inserted, erased = values.copy(), values.copy()
    within = -n <= place < n
    if within:
        assert answer("SequenceAt", position, *scalars(*values)) == [values[place]]
        del erased[place]
        assert answer("SequenceErase", position, *scalars(*values)) == [n - 1, *erased]
    else:
        for op in ("SequenceAt", "SequenceErase"):
            with pytest.raises(
                InvalidNode, match=rf"position {place} is outside \[{-n}, {n - 1}\]"
            ):
                answer(op, position, *scalars(*values))
    if within or place == n:
        inserted.insert(place, 9)
        found = answer("SequenceInsert", *scalars(9), position, *scalars(*values))
        assert found == [n + 1, *inserted]


def test_tensors_are_split_and_joined_again():
    x = np.arange(30, dtype=np.int16).reshape(2, 5, 3)
    for split, lengths in ((np.array(2), [2, 2, 1]), (np.array([1, 4]), [1, 4]), (None, [1] * 5)):
        length, *parts = answer("SplitToSequence", x, split, since=24, axis=-2)
        assert [length, *(len(part[0]) for part in parts)] == [len(lengths), *lengths]
        parts = [np.array(part, np.int16) for part in parts]
        assert answer("ConcatFromSequence", *parts, axis=1) == [x.tolist()]
    _, *rows = answer("SplitToSequence", x, axis=1, keepdims=0)
    rows = [np.array(row, np.int16) for row in rows]
    assert answer("ConcatFromSequence", *rows, axis=-2, new_axis=1) == [x.tolist()]


def asked_of(tmp_path, text):
    file = tmp_path / "a.yaml"
    file.write_text(text)
    (case,) = load([file])
    return question(case)


def test_a_model_makes_sequences_of_tensors_and_takes_them_apart(tmp_path):
    text = """{op: SequenceErase, opset: 11, dtype: float32, cases: [{name: a,
        inputs: {input_sequence: [[1, 2], 3, [[4]]], position: {value: 1, dtype: int64}},
        expect: {output_sequence: [[1, 2], [[4]]]}}]}"""
    asked = asked_of(tmp_path, text)
    model = model_of(asked.task)
    checker.check_model(model, full_check=True)
    nodes = ["SequenceConstruct", "SequenceErase", "SequenceLength", "SequenceAt", "SequenceAt"]
    assert [node.op_type for node in model.graph.node] == nodes
    outputs = ReferenceEvaluator(model).run(None, asked.task.feed(asked.inputs))
    assert [array.tolist() for array in outputs] == [2, [1, 2], [[4]]]


def test_no_model_takes_a_sequence_of_bfloat16_apart(tmp_path, wording):
    text = """{op: SplitToSequence, opset: 24, dtype: bfloat16, cases: [{name: a,
        inputs: {input: [1, 2]}, expect: {output_sequence: [[1], [2]]}}]}"""
    with pytest.raises(NotExpressible) as raised:
        model_of(asked_of(tmp_path, text).task)
    assert raised.value == wording


OPTIONALS = [
    (
        "Optional, inputs: {input: [1, 2]}, expect: {output: [[1, 2]]}",
        15,
        ["Optional", "OptionalHasElement", "Cast", "OptionalGetElement"],
        [1, [1, 2]],
    ),
    ("Optional, expect: {output: []}", 28, ["Optional", "OptionalHasElement", "Cast"], [0]),
    ("OptionalHasElement, inputs: {input: [0]}", 15, ["Optional", "OptionalHasElement"], [True]),
    ("OptionalHasElement, inputs: {input: []}", 18, ["Optional", "OptionalHasElement"], [False]),
    ("OptionalHasElement, inputs: {input_tensor: 0}", 18, ["OptionalHasElement"], [True]),
    ("OptionalHasElement, dtype: null", 18, ["OptionalHasElement"], [False]),
    ("OptionalGetElement, inputs: {input: [[3]]}", 15, ["Optional", "OptionalGetElement"], [[3]]),
    ("OptionalGetElement, inputs: {input_tensor: [3]}", 18, ["OptionalGetElement"], [[3]]),
]


@pytest.mark.parametrize(("text", "opset", "nodes", "answers"), OPTIONALS)
def test_a_model_makes_optionals_and_takes_them_apart(tmp_path, text, opset, nodes, answers):
    op, _, rest = text.partition(", ")
    dtype = "" if "dtype" in text else "dtype: float32, "
    asked = asked_of(tmp_path, f"{{op: {op}, opset: {opset}, {dtype}cases: [{{name: a, {rest}}}]}}")
    model = model_of(asked.task)
    checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == nodes
    assert {attribute.name for attribute in model.graph.node[0].attribute} == (
        set() if asked.inputs or dtype == "" else {"type"}
    )
    if opset < 28:
        session = onnxruntime.InferenceSession(model.SerializeToString())
        outputs = session.run(None, asked.task.feed(asked.inputs))
        assert [array.tolist() for array in outputs] == answers
    given = [None] * (opset > 15 and "input:" in text) + [*asked.inputs]
    assert answer(op, *given, since=opset)[: len(answers)] == answers


def test_nothing_is_said_of_the_element_of_an_empty_optional(wording):
    for since in (15, 18, 28):
        with pytest.raises(NotSupported) as raised:
            answer("OptionalGetElement", since=since)
        assert raised.value == wording


def test_parts_of_no_length_are_accepted_or_refused():
    inputs = (np.array([1, 2, 3]), np.array([0, 3, 0]))
    node = Node(OpVersion("", "SplitToSequence", 24), inputs, {})
    with judging():
        found = {one.chosen["parts-of-no-length"]: one.answer for one in each_answer(node)}
    assert isinstance(found["refused"], InvalidNode)
    length, *tensors = found["accepted"]
    assert length == 3
    assert [x.tolist() for x in tensors] == [[], [1, 2, 3], []]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((2, 3), (1, 3)), (2, 2, 3)),
        (((3,), (2, 1)), None),
        (((1, 3), (2, 3)), None),
    ],
)
def test_stacks_of_a_mutant_broadcast_to_the_first_shape(shapes, expected):
    op = OpVersion("", "ConcatFromSequence", 11)
    (mutant,) = (one for one in mutants_of(op) if one.name == "stack_broadcasts")
    node = Node(
        op, tuple(np.ones(shape, np.float32) for shape in shapes), {"new_axis": 1, "axis": 0}
    )
    stacked = mutant.made_on(node)
    if expected is None:
        assert isinstance(stacked, InvalidNode)
    else:
        assert stacked[0].shape == expected
