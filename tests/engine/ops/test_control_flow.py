"""Operators that run graphs against Python's own loops, and what case files say of graphs."""

import numpy as np
import pytest
from onnx import checker

from opcheck.engine import rounded
from opcheck.engine.evaluate import each_answer, exactly
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import question
from opcheck.graph import model_of
from opcheck.model import OpVersion
from opcheck.suite import load

UNTIL = "(i, c, x) => (d, y, s) { y = Add(x, outer_0) d = Less(y, outer_1) s = Identity(i) }"
TRUE, FALSE = np.array(True), np.array(False)


def node(op, *inputs, since=21, opset=21, outputs=1, **attrs):
    return Node(OpVersion("", op, since), inputs, attrs, range(outputs), opset=opset)


def answer(op, *inputs, **options):
    return [*map(rounded, exactly(node(op, *inputs, **options)))]


@pytest.mark.parametrize("count", [None, -2, 0, 1, 3, 9])
@pytest.mark.parametrize("cond", [None, FALSE, TRUE])
def test_a_loop_ends_as_the_table_says(count, cond, wording):
    if count is None and cond is None:
        with pytest.raises(NotSupported) as raised:
            answer("Loop", None, None, *map(np.float32, (1, 2, 8)), body=UNTIL)
        assert raised.value == wording
        return
    x, keep, turns = 1.0, cond is None or bool(cond), []
    while (count is None or len(turns) < count) and keep:
        turns.append(len(turns))
        x += 2
        keep = cond is None or x < 8
    inputs = None if count is None else np.array(count), cond, *map(np.float32, (1, 2, 8))
    if not turns:
        with pytest.raises(NotSupported) as raised:
            answer("Loop", *inputs, body=UNTIL)
        assert raised.value == wording
        return
    final, seen = answer("Loop", *inputs, body=UNTIL, outputs=2)
    assert (final.item(), seen.tolist()) == (x, turns)


def test_a_graph_rounds_like_its_nodes_and_each_bound_grows():
    x, w = np.float32([[0.5, -1.25]]), np.float32([[0.3, -0.7], [1.1, 0.2]])
    body = "(i, c, h) => (d, n) { a = MatMul(h, outer_0) n = Tanh(a) d = Identity(c) }"
    right = x.astype(np.float64)
    last = 0.0
    for turns in (1, 4, 16):
        (found,) = exactly(node("Loop", np.array(turns), TRUE, x, w, body=body))
        right = x.astype(np.float64)
        for _ in range(turns):
            right = np.tanh(right @ w.astype(np.float64))
        room = found.room(found.tiers()[0]).own
        np.testing.assert_allclose(found.values, right, rtol=1e-12)
        assert (room > last).all()
        last = room.max()


def test_in_16_bits_each_tensor_of_a_graph_is_rounded():
    x = np.float16([1.0])
    body = "(i, c, h) => (d, n) { n = Add(h, outer_0) d = Identity(c) }"
    # 1 + 2^-11 rounds to 1 each time, which three times are before the last.
    step = np.float16([2.0**-11])
    assert node("Loop", np.array(4), TRUE, x, step, body=body).plain[0] == 1
    (found,) = exactly(node("Loop", np.array(4), TRUE, x, step, body=body))
    assert found.room(found.tiers()[0]).own >= 3 * 2.0**-11


def test_a_condition_that_rounding_decides_has_no_answer(wording):
    third = np.float32(1) / np.float32(3)
    graphs = {
        "then_branch": "() => (y) { y = Identity(outer_0) }",
        "else_branch": "() => (z) { z = Neg(outer_0) }",
    }
    body = "(i, c, x) => (d, y) { y = Mul(x, outer_0) d = Less(y, outer_1) }"
    assert answer("If", TRUE, third, **graphs)[0] == third
    with pytest.raises(NotSupported) as raised:
        answer("Loop", np.array(2), TRUE, third, third, third * third, body=body)
    assert raised.value == wording


@pytest.mark.parametrize("name", ["scan_input_axes", "scan_output_axes"])
def test_a_negative_axis_that_version_9_does_not_mention_is_refused_or_from_the_back(name):
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    attrs = {"num_scan_inputs": 1, "body": "(x) => (y) { y = Neg(x) }", name: [-1]}
    (later,) = answer("Scan", x, **attrs, since=11)
    np.testing.assert_array_equal(later, -x.T)
    refusal, from_the_back = (
        found.answer for found in each_answer(node("Scan", x, **attrs, since=9))
    )
    assert isinstance(refusal, InvalidNode)
    np.testing.assert_array_equal(rounded(from_the_back[0]), later)


@pytest.mark.parametrize(
    ("op", "since", "inputs", "attrs"),
    [
        ("Loop", 21, (2, True), {"body": "(i, c) => (d, y) { d = Identity(c) %s }"}),
        ("Scan", 8, (None, [[1, 2]]), {"body": "(x) => (y) { %s }", "num_scan_inputs": 1}),
        ("Scan", 9, ([1, 2],), {"body": "(x) => (y) { %s }", "num_scan_inputs": 1}),
        ("Scan", 21, ([1, 2],), {"body": "(x) => (y) { %s }", "num_scan_inputs": 1}),
    ],
)
def test_scan_outputs_that_are_sequences_are_not_supported(op, since, inputs, attrs):
    element = "i" if op == "Loop" else "x"
    attrs["body"] %= f"y = SequenceConstruct({element})"
    arrays = [None if x is None else np.array(x) for x in inputs]
    with pytest.raises(NotSupported):
        answer(op, *arrays, since=since, **attrs)


def test_graphs_see_what_is_around_them_and_no_more(wording):
    inner = (
        "b = If(c) <then_branch = t () => (u) { u = Add(a, outer_0) },"
        " else_branch = e () => (v) { v = Sub(a, i) }>"
    )
    body = f"(i, c, a) => (d, b) {{ d = Not(c) {inner} }}"
    # 10 + 5 while c is true, then 15 − 1.
    assert answer("Loop", np.array(2), None, *map(np.int64, (10, 5)), body=body)[0].item() == 14
    with pytest.raises(InvalidNode) as raised:
        answer(
            "Loop",
            np.array(2),
            None,
            *map(np.int64, (10, 5)),
            body=body.replace("d = Not(c)", "d = Not(u)"),
        )
    assert raised.value == wording


def test_models_of_graphs_are_valid_and_types_are_stated(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(
        "op: Loop\ncases:\n- name: one\n  opset: 21\n  dtype: float16\n"
        "  inputs: {M: 3, cond: {value: true, dtype: bool}, v_initial_0: [1, 2], outer_0: [3]}\n"
        '  attrs: {body: "(i, c, x) => (d, y) { y = Add(x, outer_0) d = Identity(c) }"}\n'
        "  expect: {v_final_and_scan_outputs_0: [10, 11]}\n"
    )
    (case,) = load([file])
    model = model_of(question(case).task)
    checker.check_model(model, full_check=True)
    (made,) = model.graph.node
    assert list(made.input) == ["M", "cond", "v_initial_0"]
    assert [one.type.tensor_type.elem_type for one in made.attribute[0].g.input] == [7, 9, 0]
