"""Whole models with a node that the text leaves open: what is judged, and by which answers."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.parser import parse_model

from opcheck.compare import verdict
from opcheck.execution import expected
from opcheck.model import Case, Produced, Verdict
from opcheck.suite import load_all
from tests.execution.one import inquiry

NAN = np.nan


def net(folder: Path, text: str, **constants: Any) -> Case:
    proto = parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net {text}')
    for name, values in constants.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
    onnx.save(proto, folder / "net.onnx")
    (case,) = load_all([folder / "net.onnx"])
    return case


def judged(case: Case, *outputs: Any, declared: Collection[str] = ()) -> verdict.Judgement:
    """Judge outputs of a model on its own data, of a backend that has `declared` 16-bit types."""
    question = expected.question(case)
    admitted = expected.accepted_answers(case, question)
    answer = Produced(outputs, 0.0, once=True)
    return verdict.judge("must", admitted, answer, tolerance=None, declared=declared)


def x_of(case: Case) -> Any:
    (x,) = expected.question(case).inputs
    return x


#: One open element, of two readings, becomes a scalar that each element of y depends on.
SCALAR = """(float[4] x) => (float[4] y, float[4] z) {
    r = Relu (c)
    m = ReduceSum <keepdims = 0> (r)
    y = Mul (x, m)
    z = Neg (x)
}"""


@pytest.mark.parametrize(("scalar", "right"), [(NAN, True), (6, True), (7, False), (0, False)])
def test_a_scalar_of_two_answers_is_judged_by_both(scalar, right, tmp_path):
    case = net(tmp_path, SCALAR, c=np.float32([NAN, 1, 2, 3]))
    x = x_of(case)
    judgement = judged(case, x * np.float32(scalar), -x)
    assert (judgement.verdict is Verdict.PASS) == right
    assert all(output.unjudged == 0 for output in judgement.comparisons)


def test_outputs_of_two_answers_are_wrong_together(tmp_path):
    text = SCALAR.replace("z = Neg (x)", "z = Add (x, m)")
    case = net(tmp_path, text, c=np.float32([NAN, 1, 2, 3]))
    x = x_of(case)
    assert judged(case, x * 6, x + 6).verdict is Verdict.PASS
    assert judged(case, x * 6, x * NAN).verdict is Verdict.FAIL


TWO_NODES = """(float[4] x) => (float[4] y, float[4] z) {
    r = Relu (c)
    s = Relu (c)
    t = Sub (r, s)
    m = ReduceSum <keepdims = 0> (t)
    y = Mul (x, m)
    z = Neg (x)
}"""
#: Models that may have more answers than the readings give: several elements, or several nodes.
MORE_ANSWERS = {
    "elements": (SCALAR, [NAN, NAN, 2, 3]),
    "nodes": (TWO_NODES, [NAN, 1, 2, 3]),
}


@pytest.mark.parametrize("name", MORE_ANSWERS)
def test_what_does_not_depend_on_an_open_node_is_judged(name, tmp_path):
    text, c = MORE_ANSWERS[name]
    case = net(tmp_path, text, c=np.float32(c))
    x = x_of(case)
    judgement = judged(case, x * 99, -x)
    assert judgement.verdict is Verdict.PASS
    assert [output.unjudged for output in judgement.comparisons] == [4, 0]
    assert judged(case, x * 99, x).verdict is Verdict.FAIL


def test_a_pass_says_how_much_was_judged_and_which_node_is_open(tmp_path, wording):
    case = net(tmp_path, SCALAR, c=np.float32([NAN, NAN, 2, 3]))
    x = x_of(case)
    _, result = inquiry(case, Produced((x * 99, -x), 0.0, once=True))
    assert result.verdict is Verdict.PASS
    assert result.reason == wording


def test_a_model_of_which_nothing_is_judged_is_unsupported_and_names_the_node(tmp_path, wording):
    text = SCALAR.replace(", float[4] z", "").replace("z = Neg (x)", "")
    case = net(tmp_path, text, c=np.float32([NAN, NAN, 2, 3]))
    _, result = inquiry(case, Produced((x_of(case),), 0.0, once=True))
    assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)
    assert result.reason == wording


#: The branch is known in float32; in float16 alone, rounding decides the sum.
BRANCH = """(float16[16] x) => (float16[16] y, float16[16] z) {
    s = ReduceSum <keepdims = 0> (a)
    c = Greater (s, b)
    y = If (c) <
      then_branch = t () => (float16[16] p) { p = Neg (x) },
      else_branch = f () => (float16[16] q) { q = Identity (x) }
    >
    z = Exp (x)
}"""


@pytest.mark.parametrize(("factor", "right"), [(1, True), (1.4, False)])
def test_an_arithmetic_in_which_rounding_decides_a_branch_is_left_out(factor, right, tmp_path):
    a = np.full(500, 0.1, np.float16)
    case = net(tmp_path, BRANCH, a=a, b=np.float16(49.5))
    x = x_of(case)
    z = (np.exp(x.astype(np.float32)) * factor).astype(np.float16)
    judgement = judged(case, -x, z)
    assert (judgement.verdict is Verdict.PASS) == right
    assert judgement.verdict in (Verdict.PASS, Verdict.FAIL)


def test_a_branch_that_rounding_decides_in_a_declared_arithmetic_is_undecided(tmp_path):
    a = np.full(500, 0.1, np.float16)
    case = net(tmp_path, BRANCH, a=a, b=np.float16(49.5))
    x = x_of(case)
    other_branch = x
    z = np.exp(x.astype(np.float32)).astype(np.float16)
    half = ("float16",)
    assert judged(case, -x, z, declared=half).verdict is Verdict.PASS
    assert judged(case, other_branch, z, declared=half).verdict is Verdict.BAD_CASE
    assert judged(case, other_branch, z).verdict is Verdict.FAIL
