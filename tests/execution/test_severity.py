"""A wrong answer is a warning where the text only suggests the right one, and no rule is stated."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

import opcheck
from opcheck.execution.golden import golden_tests
from opcheck.model import Case, Verdict
from opcheck.suite import load_all
from tests.asking import cases_in

POWERS = """
op: Pow
opset: 15
cases:
- name: powers
  RULE
  dtype: int32
  inputs: {X: [2, 3, 7], Y: [-1, 2, -1]}
"""
RIGHT = np.int32([0, 9, 0])
ROUNDED_UP = np.int32([1, 9, 1])
WRONG = np.int32([0, 8, 0])


def case_of(folder: Path, text: str = POWERS, rule: str = "") -> Case:
    stated = f"rule: {rule}" if rule else ""
    (case,) = cases_in(folder, text.replace("RULE", stated))
    return case


def verdict(case: Case, answer: Any) -> tuple[str, str | None]:
    def backend(*inputs: Any, **attrs: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer(*inputs) if callable(answer) else answer

    (result,) = opcheck.run([case], [backend])
    return result.verdict, result.failure


@pytest.mark.parametrize(
    ("rule", "answer", "expected"),
    [
        ("", RIGHT, (Verdict.PASS, None)),
        ("", ROUNDED_UP, (Verdict.WARN, "values")),
        ("should", ROUNDED_UP, (Verdict.WARN, "values")),
        ("must", ROUNDED_UP, (Verdict.FAIL, "values")),
        ("", WRONG, (Verdict.FAIL, "values")),
        ("", RIGHT[:2], (Verdict.FAIL, "shape")),
        ("", ValueError("no"), (Verdict.ERROR, "raised")),
    ],
)
def test_a_case_without_a_rule_warns_where_the_text_suggests(tmp_path, rule, answer, expected):
    assert verdict(case_of(tmp_path, rule=rule), answer) == expected


def test_a_stated_answer_must_come_out(tmp_path):
    case = case_of(tmp_path, f"{POWERS}  expect: {{Z: [0, 9, 0]}}\n")
    assert verdict(case, ROUNDED_UP) == (Verdict.FAIL, "values")


BLOCKS = """
op: SpaceToDepth
opset: 1
cases:
- name: blocks
  RULE
  dtype: float32
  attrs: {blocksize: 2}
  inputs: {input: {shape: [1, 1, 2, 4], integers: [1, 99]}}
"""


ZEROS = [np.zeros((1, 4, 1, 2), np.float32)]


def by_columns(x: Any, blocksize: int) -> Any:
    """Return one channel in depth, with the columns of a block before its rows."""
    rows, columns = (size // blocksize for size in x.shape[2:])
    split = x.reshape(1, rows, blocksize, columns, blocksize)
    return split.transpose(0, 4, 2, 1, 3).reshape(1, blocksize**2, rows, columns)


def test_a_node_that_is_suggested_as_a_whole_may_be_refused(tmp_path):
    case = case_of(tmp_path, BLOCKS)
    assert verdict(case, ValueError("no")) == (Verdict.WARN, "raised")
    assert verdict(case_of(tmp_path, BLOCKS, "must"), ValueError("no"))[0] is Verdict.ERROR


def test_a_node_that_is_suggested_as_a_whole_may_have_an_honest_answer(tmp_path):
    (result,) = opcheck.run([case_of(tmp_path, BLOCKS)], [by_columns])
    assert (result.verdict, result.failure) == (Verdict.WARN, "values")
    assert verdict(case_of(tmp_path, BLOCKS), ZEROS) == (Verdict.FAIL, "values")


CHANNELS = """
op: PRelu
opset: 6
cases:
- name: slopes
  dtype: float32
  inputs: {X: [[[-1, -2], [-3, -4]]], slope: [2, 10]}
"""
VECTOR = """
op: DequantizeLinear
opset: 19
cases:
- name: vector
  dtype: int8
  attrs: {axis: 0}
  inputs: {x: [1, 2], x_scale: {dtype: float32, value: [0.5, 3]}}
"""
EMPTY_VECTOR = """
op: DequantizeLinear
opset: 19
cases:
- name: empty
  dtype: int8
  attrs: {axis: 0}
  empty: it has no element
  inputs: {x: [], x_scale: {dtype: float32, value: []}}
"""
ODD_PADDING = """
op: ConvTranspose
opset: 1
cases:
- name: odd
  dtype: float32
  attrs: {output_shape: [2]}
  inputs: {X: [[[1, 10]]], W: [[[1, 3]]]}
"""
POSITIONS = """
op: RotaryEmbedding
opset: 23
cases:
- name: before_the_first
  dtype: float32
  inputs:
    X: [[[[1, 10]]]]
    cos_cache: [[2], [3]]
    sin_cache: [[1], [0.5]]
    position_ids: {dtype: int64, value: [[-1]]}
"""
TYPES = """
op: BatchNormalization
opset: 15
cases:
- name: types
  dtype: float32
  inputs:
    X: [[1.0009765625, 2]]
    scale: [1, 1]
    B: [0.000244140625, 0]
    input_mean: {dtype: float16, value: [0, 0]}
    input_var: {dtype: float16, value: [1, 1]}
"""
#: Cases with the answer of another honest way, and one that is wrong either way.
OF_OTHER_NODES = [
    (CHANNELS, [[[-2, -20], [-6, -40]]], [[[-2, -20], [-6, -41]]]),
    (VECTOR, [0.5, 1], [1.5, 6]),
    (ODD_PADDING, [[[13, 30]]], [[[1, 30]]]),
    (POSITIONS, [[[[-8, 21]]]], [[[[0, 21]]]]),
    (POSITIONS, [[[[0, 0]]]], [[[[1, 10]]]]),
    (TYPES, [[1.0009765625, 2]], [[1.01, 2]]),
]


@pytest.mark.parametrize(("text", "honest", "garbage"), OF_OTHER_NODES)
def test_a_node_may_have_the_answer_of_another_one(tmp_path, text, honest, garbage):
    case = case_of(tmp_path, text)
    # One answer to all data is caught by the second run, as it is a warning on the first.
    assert verdict(case, np.float32(honest))[0] in (Verdict.WARN, Verdict.UNSTABLE)
    assert verdict(case, np.float32(garbage)) == (Verdict.FAIL, "values")


def test_a_vector_without_scales_has_no_first_one(tmp_path):
    case = case_of(tmp_path, EMPTY_VECTOR)
    assert verdict(case, np.float32([1])) == (Verdict.FAIL, "shape")


CAST = """
op: Cast
opset: 19
cases:
- name: cast
  RULE
  dtype: float32
  attrs: {to: 6}
  inputs: {input: [3.7, -2.2]}
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda x: np.floor(x + 0.5).astype(np.int32), (Verdict.WARN, "values")),
        # The same for other data is an old answer.
        (np.int32([4, -2]), (Verdict.UNSTABLE, "unstable")),
        (np.int32([100, -2]), (Verdict.FAIL, "values")),
        (np.int32([3, -2, 0]), (Verdict.FAIL, "shape")),
        (np.int64([3, -2]), (Verdict.FAIL, "dtype")),
        (ValueError("no"), (Verdict.ERROR, "raised")),
    ],
)
def test_where_all_elements_are_suggested_other_values_and_shapes_fail(tmp_path, answer, expected):
    assert verdict(case_of(tmp_path, CAST), answer) == expected


SUGGESTED = {
    "ArgMax": """
        op: ArgMax
        opset: 13
        cases:
        - {name: a, dtype: float32, inputs: {data: [0, 1.0e-40, 0]}, attrs: {axis: 0}}
        """,
    "Ceil": """
        op: Ceil
        opset: 13
        cases:
        - {name: a, dtype: float32, inputs: {X: [1.0e-40, 1.5]}}
        """,
    "Mul": """
        op: Mul
        opset: 14
        cases:
        - {name: a, dtype: float32, inputs: {A: [1.0e+30, 2], B: [1.0e+30, 3]}}
        """,
    "ReduceSumSquare": """
        op: ReduceSumSquare
        opset: 13
        cases:
        - {name: a, dtype: float32, attrs: {axes: [1]}, inputs: {data: [[3.0e+38], [2]]}}
        """,
    "Cast": """
        op: Cast
        opset: 13
        cases:
        - {name: a, attrs: {to: 8}, inputs: {input: {value: [10, 3], dtype: int64}}}
        """,
}
LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("op", "answer", "expected"),
    [
        ("ArgMax", np.int64([0]), Verdict.WARN),
        ("ArgMax", np.int64([77]), Verdict.FAIL),
        ("Ceil", np.float32([0, 2]), Verdict.WARN),
        ("Ceil", np.float32([55, 2]), Verdict.FAIL),
        ("Mul", np.float32([LARGEST, 6]), Verdict.WARN),
        ("Mul", np.float32([-LARGEST, 6]), Verdict.FAIL),
        ("Mul", np.float32([0, 6]), Verdict.FAIL),
        ("ReduceSumSquare", np.float32([[LARGEST], [4]]), Verdict.WARN),
        ("ReduceSumSquare", np.float32([[-LARGEST], [4]]), Verdict.FAIL),
        ("ReduceSumSquare", np.float32([[-np.inf], [4]]), Verdict.FAIL),
        ("Cast", np.array(["1e1", "3"], object), Verdict.WARN),
        ("Cast", np.array(["1_0", "3"], object), Verdict.FAIL),
    ],
)
def test_a_value_that_no_text_suggests_fails(tmp_path, op, answer, expected):
    (case,) = cases_in(tmp_path, SUGGESTED[op])
    # One answer to all data is caught by the second run where it is a warning on the first.
    allowed = {expected, Verdict.UNSTABLE} if expected is Verdict.WARN else {expected}
    assert verdict(case, answer)[0] in allowed


RANK_3 = """
op: LpNormalization
opset: 22
cases:
- name: a_rank_that_is_not_mentioned
  RULE
  dtype: float32
  inputs: {input: [[[3, 4]]]}
"""


def test_a_rank_that_is_not_mentioned_may_be_refused_and_not_answered_wrongly(tmp_path):
    case = case_of(tmp_path, RANK_3)
    assert verdict(case, ValueError("no")) == (Verdict.WARN, "raised")
    assert verdict(case, np.float32([[[3, 4]]])) == (Verdict.FAIL, "values")
    assert verdict(case, np.float32([0.6, 0.8])) == (Verdict.FAIL, "shape")


def test_a_stated_tolerance_must_be_kept(tmp_path):
    case = case_of(tmp_path, f"{POWERS}  tolerance: {{ulp: 0}}\n")
    assert verdict(case, ROUNDED_UP) == (Verdict.FAIL, "values")


def test_a_reason_names_the_suggestion(tmp_path, wording):
    (result,) = opcheck.run([case_of(tmp_path)], [lambda x, y: ROUNDED_UP])
    assert result.reason == wording


OF_TWO_SUGGESTIONS = """
op: Mul
opset: 14
cases:
- {name: both, dtype: float32, inputs: {A: [1.0e+30, 1.0e-40, 2], B: [1.0e+30, 1, 3]}}
"""


def test_a_reason_names_no_suggestion_that_is_not_needed(tmp_path):
    def saturated(a: Any, b: Any) -> Any:
        return np.clip(np.float64(a) * b, -LARGEST, LARGEST).astype(np.float32)

    (result,) = opcheck.run([case_of(tmp_path, OF_TWO_SUGGESTIONS)], [saturated])
    assert (result.verdict, result.failure) == (Verdict.WARN, "values")
    assert "(overflow)" in result.reason
    assert "(subnormals)" not in result.reason


def test_golden_files_have_the_rule_of_the_engine(tmp_path):
    (blocks,) = golden_tests(case_of(tmp_path, BLOCKS)).tests
    (powers,) = golden_tests(case_of(tmp_path)).tests
    (stated,) = golden_tests(case_of(tmp_path, BLOCKS, "must")).tests
    assert (blocks.kind, powers.kind, stated.kind) == ("should", "must", "must")


def test_a_model_of_one_node_has_the_rule_of_the_engine(tmp_path):
    text = """<ir_version: 3, opset_import: ["" : 1]>
    net (float[1, 1, 2, 4] x) => (float[1, 4, 1, 2] y) { y = SpaceToDepth <blocksize = 2> (x) }"""
    onnx.save(parse_model(text), tmp_path / "net.onnx")
    (case,) = load_all([tmp_path / "net.onnx"])
    (result,) = opcheck.run([case], [by_columns])
    assert (result.verdict, result.failure) == (Verdict.WARN, "values")
    assert verdict(case, ZEROS) == (Verdict.FAIL, "values")


def test_shipped_cases_state_their_own_rule():
    cases = opcheck.load(ops=["Pow"])
    assert not any(case.leaves_rule_to_engine for case in cases)


def test_garbage_fails_in_a_shipped_case_that_is_only_suggested():
    cases = opcheck.load(ops=["Pow"])
    (case,) = [it for it in cases if it.id == "Pow/beyond_the_range@opset=15,dtype=float32#float"]
    assert case.rule == "should"

    def right(x: Any, y: Any) -> Any:
        with np.errstate(over="ignore"):
            return np.power(x, y)

    def saturated(x: Any, y: Any) -> Any:
        return np.clip(right(x, y), -LARGEST, LARGEST)

    assert verdict(case, right) == (Verdict.PASS, None)
    assert verdict(case, saturated) == (Verdict.WARN, "values")
    assert verdict(case, lambda x, y: saturated(x, y) / 2) == (Verdict.FAIL, "values")
    assert verdict(case, lambda x, y: right(x, y)[:1]) == (Verdict.FAIL, "shape")


def test_garbage_is_a_warning_in_a_case_of_ones_own_that_says_should(tmp_path):
    assert verdict(case_of(tmp_path, rule="should"), WRONG) == (Verdict.WARN, "values")
