"""A whole model in which a node has no answer: the outputs that do not depend on it are judged."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

import opcheck
from opcheck.model import Case, Verdict
from opcheck.suite import load_all
from tests.miniatures import Fake, answering

HEAD = """<ir_version: 10, opset_import: ["" : 21]> net (float[3] x) => """
#: No text defines the range of a step of 0.
RANGE = "zero = Constant <value_float = 0.0> () [steps] a = Range (zero, zero, zero)"
#: `z` depends on the range, and `y` does not.
TWO = f"{HEAD} (float[3] y, float[n] z) {{ y = Neg (x) {RANGE} z = Abs (a) }}"
#: No output needs the range.
UNREAD = f"{HEAD} (float[3] y) {{ {RANGE} b = Abs (a) y = Neg (x) }}"
#: The one output depends on the range.
ONE = f"{HEAD} (float[n] z) {{ y = Neg (x) {RANGE} z = Concat <axis = 0> (a, y) }}"


def case_of(folder: Path, text: str) -> Case:
    path = folder / "net.onnx"
    onnx.save(parse_model(text), path)
    (case,) = load_all([path])
    return case


def result_of(case: Case, answer: Any) -> Any:
    (result,) = opcheck.run([case], [backend(answer)])
    return result


def backend(answer: Any) -> Any:
    """Return a backend whose outputs are those of a function of x."""
    return answering(lambda inputs: answer(inputs[0]))


def right(x: Any) -> Any:
    return -x, x


def only(x: Any) -> Any:
    return (-x,)


def test_an_output_that_does_not_depend_on_it_fails_if_it_is_wrong(tmp_path, wording):
    case = case_of(tmp_path, TWO)
    result = result_of(case, lambda x: (x + 1, x))
    assert (result.verdict, result.failure) == (Verdict.FAIL, "values")
    assert [comparison.output for comparison in result.comparisons] == ["y"]
    assert result.reason == wording


def test_a_model_that_is_right_in_part_is_not_a_pass(tmp_path, wording):
    result = result_of(case_of(tmp_path, TWO), right)
    assert (result.verdict, result.failure) == (Verdict.UNSUPPORTED, None)
    assert result.reason == wording


def test_outputs_that_depend_on_it_may_be_anything(tmp_path):
    case = case_of(tmp_path, TWO)
    assert result_of(case, lambda x: (-x, x * np.nan)).verdict is Verdict.UNSUPPORTED
    assert result_of(case, lambda x: (-x, x[:1])).verdict is Verdict.UNSUPPORTED


def losing(kept: slice) -> Any:
    """Return a right backend that gives only the `kept` outputs in its third run."""

    def prepared(_: Any) -> Any:
        counter = itertools.count(1)

        def run(inputs: Any) -> Any:
            outputs = right(inputs[0])
            return outputs[kept] if next(counter) == 3 else outputs

        return run

    return Fake(prepared)


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [(slice(0), Verdict.UNSTABLE), (slice(1), Verdict.UNSTABLE), (slice(2), Verdict.UNSUPPORTED)],
)
def test_a_third_run_that_lacks_an_output_is_unstable(tmp_path, kept, verdict):
    (result,) = opcheck.run([case_of(tmp_path, TWO)], [losing(kept)])
    assert result.verdict is verdict


def test_nodes_that_no_output_needs_need_no_answer(tmp_path):
    case = case_of(tmp_path, UNREAD)
    assert result_of(case, only).verdict is Verdict.PASS
    assert result_of(case, lambda x: (x,)).verdict is Verdict.FAIL


def test_the_node_is_named_by_number_name_operator_and_reason(tmp_path, wording):
    result = result_of(case_of(tmp_path, ONE), only)
    assert result.verdict is Verdict.UNSUPPORTED
    assert result.reason == wording


@pytest.mark.parametrize("text", [TWO, ONE])
def test_a_gate_is_not_green_if_an_output_depends_on_it(tmp_path, text):
    results = opcheck.run([case_of(tmp_path, text)], [backend(right if text is TWO else only)])
    assert [*results]
    assert opcheck.status(results).code == 5
