"""What must come out of a case, and cases that contradict themselves or the engine."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from opcheck.backends import connect
from opcheck.dtypes import DTYPES, round_to
from opcheck.engine import evaluate
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import question, too_degenerate
from opcheck.graph import model_of
from opcheck.graph.test_data import invalid
from opcheck.model import Case, Fill, Rejected, TensorType, Values, Verdict
from opcheck.report import formatting
from tests.asking import UNANSWERED_ENDS_CROSSED, cases_in
from tests.execution.one import ENGINE, RIGHT, one, outputs, result_of
from tests.hardmax import Hardmax
from tests.inline import judged
from tests.miniatures import answering, refusing
from tests.wording import Wording

GOLDEN = "{name: made, expect: {golden: golden}}"


def test_a_model_that_the_engine_rejects_is_the_case_s_fault(
    tmp_path: Path, wording: Wording
) -> None:
    case = one(tmp_path, "{name: made, attrs: {axis: 2}}")
    for result in judged([case, case], [ENGINE, Hardmax(), refusing()]):
        assert result.verdict is Verdict.BAD_CASE
        assert result.reason == (wording)


def test_a_case_that_the_engine_contradicts_accuses_nobody(
    tmp_path: Path, wording: Wording
) -> None:
    literal = one(tmp_path, "{name: made, expect: {output: [[0, 1, 0], [1, 0, 0]]}}")
    result = result_of(literal, connect("onnxruntime"))
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == (wording)
    legal = "{rejected: so, legal: {attrs.axis: 0}}"
    refusal = one(tmp_path, f"{{name: made, expect: {legal}}}")
    result = result_of(refusal, connect("onnxruntime"))
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording
    right = one(tmp_path, "{name: made, expect: {output: [[1, 0, 0], [1, 0, 0]]}}")
    assert result_of(right, outputs(lambda out: 1 - out)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("op", "opset", "cases", "rank", "dtype"),
    [
        # ONNX infers nothing of axes that are fed.
        ("Squeeze", 13, "{name: made, inputs: {data: [[[1]]], axes: [1]}}", 2, "float32"),
        (
            "Squeeze",
            13,
            "{name: made, inputs: {data: [[[1]]], axes: [1]}, expect: {squeezed: [[1]]}}",
            2,
            "float32",
        ),
        (
            "Squeeze",
            13,
            "{name: made, inputs: {data: [[[1, 2]]], axes: [2]}, expect:"
            " {rejected: so, legal: {inputs.axes: [0]}}}",
            2,
            "float32",
        ),
        # The type of the twin is not that of the model that is to be refused.
        (
            "Cast",
            13,
            "{name: made, inputs: {input: [1]}, attrs: {to: 99}, expect:"
            " {rejected: so, legal: {attrs.to: 7}}}",
            1,
            None,
        ),
        (
            "Squeeze",
            13,
            "{name: made, rule: open, inputs: {data: [[[1]]], axes: [1]}, expect:"
            " {any_of: [{as: row, squeezed: [[1]]}, {as: flat, squeezed: [1]}]}}",
            None,
            "float32",
        ),
        # A twin of another rank says nothing.
        (
            "LpPool",
            1,
            "{name: made, inputs: {X: [[1]]}, attrs: {kernel_shape: [1]}, expect:"
            " {rejected: so, legal: {inputs.X: [[[1]]]}}}",
            None,
            "float32",
        ),
        (
            "Squeeze",
            13,
            "{name: made, inputs: {data: [[[1]]], axes: [1]}, tolerance: {ulp: 0},"
            " expect: {agree: true}}",
            2,
            "float32",
        ),
        # No memory holds the answer.
        (
            "ConstantOfShape",
            21,
            "{name: made, inputs: {input: {value: [60000, 60000, 60000]}}}",
            3,
            "float32",
        ),
        # Versions of which ONNX infers nothing at all.
        (
            "GroupNormalization",
            21,
            "{name: made, inputs: {X: [[[3, 1]]], scale: [1], bias: [2]}, attrs: {num_groups: 1}}",
            3,
            "float32",
        ),
        ("Cast", 1, "{name: made, inputs: {input: [[3, 1]]}, attrs: {to: FLOAT16}}", 2, "float16"),
        (
            "Concat",
            1,
            "{name: made, inputs: {inputs_0: [[3, 1]], inputs_1: [[3, 2]]}}",
            2,
            "float32",
        ),
        (
            "LpPool",
            1,
            "{name: made, inputs: {X: [[[3, 1]]]}, attrs: {kernel_shape: [1]}}",
            3,
            "float32",
        ),
        (
            "Reshape",
            1,
            "{name: made, inputs: {data: [3, 1]}, attrs: {shape: [2, 1, 1]}}",
            3,
            "float32",
        ),
    ],
)
def test_a_question_states_the_rank_of_each_right_answer(tmp_path, op, opset, cases, rank, dtype):
    """onnx's checker refuses an output without one."""
    text = f"{{op: {op}, opset: {opset}, dtype: float32, clause: as it says, cases: [{cases}]}}"
    (case,) = cases_in(tmp_path, text)
    (output,) = question(case).task.outputs
    assert (output.rank, output.dtype and output.dtype.name) == (rank, dtype)
    assert rank is None or dtype is None or invalid(model_of(question(case).task)) is None


def test_a_rank_that_another_reading_does_not_have_is_not_declared(tmp_path: Path) -> None:
    written = """
        op: ArrayFeatureExtractor
        domain: ai.onnx.ml
        opset: 1
        dtype: float32
        cases:
        - name: of_one_axis
          inputs: {X: [3.0, 4.0, 5.0], Y: {value: [2, 0], dtype: int64}}
    """
    (case,) = cases_in(tmp_path, written)
    assert question(case).task.outputs[0].rank is None


def test_what_the_engine_cannot_compute_is_unsupported_by_opcheck(
    tmp_path: Path, wording: Wording
) -> None:
    written = """
        {op: BitCast, opset: 26, dtype: bool, inputs: {input: [true]}, cases: [
            {name: computed, attrs: {to: 2}},
            {name: refused, attrs: {to: 99}, expect: {rejected: so, legal: {attrs.to: 2}}}]}
    """
    for result in judged(cases_in(tmp_path, written), [ENGINE, refusing()]):
        assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)
        assert result.reason == wording


def test_a_node_whose_page_leaves_the_model_open_is_unsupported_by_opcheck(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, UNANSWERED_ENDS_CROSSED)
    assert question(case).task.outputs[0].rank is None
    [result] = judged([case], [ENGINE])
    assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)


def test_a_twin_that_the_engine_rejects_is_the_case_s_fault(tmp_path: Path) -> None:
    text = "{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 3}}}"
    result = result_of(one(tmp_path, text), refusing())
    assert result.verdict is Verdict.BAD_CASE
    assert "axis 3 is outside [-2, 1]" in result.reason


def test_data_that_cannot_be_made_is_the_case_s_fault(tmp_path: Path, wording: Wording) -> None:
    case = one(tmp_path, "{name: made, dtype: float16}")
    # float16 holds every whole number to 2048 only: there are ties.
    spec = replace(case.inputs[0], shape=(1, 3000), content=Fill("permutation", (0, 1)))
    result = result_of(replace(case, inputs=(spec,)), ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


def test_after_a_wrong_case_the_others_are_judged_all_the_same(tmp_path: Path) -> None:
    wrong = one(tmp_path, "{name: made, attrs: {axis: 2}}")
    right = one(tmp_path, "{name: made}")
    verdicts = [result.verdict for result in judged([wrong, right], [ENGINE])]
    assert verdicts == [Verdict.BAD_CASE, Verdict.PASS]


POOL = """
    op: LpPool
    dtype: float16
    opset: 22
    attrs: {{kernel_shape: [1]}}
    cases:
    - {{name: made, inputs: {{X: {x}}}{more}}}
"""


def pool(folder: Path, x: str, more: str = "") -> Case:
    (case,) = cases_in(folder, POOL.format(x=x, more=more))
    return case


def test_an_answer_that_is_mostly_zero_is_the_case_s_fault(
    tmp_path: Path, wording: Wording
) -> None:
    case = pool(tmp_path, "[[[0, 0, 0, 1, 2]]]")
    for backend in (ENGINE, refusing()):
        result = result_of(case, backend)
        assert result.verdict is Verdict.BAD_CASE
        assert result.reason == (wording)


@pytest.mark.parametrize(
    ("x", "verdict"),
    [
        ("[[[0, 0, 0, 1, 1, 1]]]", Verdict.PASS),
        ("[[[.nan, .nan, 0, 1, 1]]]", Verdict.BAD_CASE),
        ("[[[.inf, .inf, .inf, 1, 2]]]", Verdict.BAD_CASE),
        ("[[[1.0e-7, 6.0e-8, 6.0e-8, 0, 0]]]", Verdict.PASS),
        ("{shape: [1, 0, 4], constant: 0}", Verdict.PASS),
    ],
    ids=["half", "NaN", "infinities", "subnormals", "empty"],
)
def test_half_of_it_may_be_zero_or_nan(tmp_path: Path, x: str, verdict: Verdict) -> None:
    assert result_of(pool(tmp_path, x), ENGINE).verdict is verdict


@pytest.mark.parametrize(
    "more",
    [
        ", empty: windows of nothing but zeros",
        ", expect: {Y: [[[0, 0, 0, 0]]]}",
        ", rule: open, expect: {any_of: [{as: computed}, {as: other, Y: [[[1, 1, 1, 1]]]}]}",
    ],
    ids=["meant", "written out", "open"],
)
def test_unless_somebody_says_so(tmp_path: Path, more: str) -> None:
    zeros = "[[[0, 0, 0, 0]]]"
    assert result_of(pool(tmp_path, zeros), ENGINE).verdict is Verdict.BAD_CASE
    assert result_of(pool(tmp_path, zeros, more), ENGINE).verdict is Verdict.PASS


def test_what_vanishes_in_the_dtype_counts_as_zero(tmp_path: Path) -> None:
    row = ", inputs: {input: [[0, -20, -20]]}"
    assert result_of(softmax(tmp_path, row, "float16"), ENGINE).verdict is Verdict.BAD_CASE
    assert result_of(softmax(tmp_path, row, "float32"), ENGINE).verdict is Verdict.PASS


def test_the_zeros_of_an_exact_answer_are_answers(tmp_path: Path) -> None:
    assert result_of(one(tmp_path, "{name: made}"), ENGINE).verdict is Verdict.PASS
    wide = "{name: made, inputs: {input: {shape: [1, 64], arange: [0, 1]}}}"
    assert result_of(one(tmp_path, wide), ENGINE).verdict is Verdict.PASS


def test_a_legal_twin_may_be_as_empty_as_it_likes(tmp_path: Path) -> None:
    rejected = "expect: {rejected: so, legal: {attrs.kernel_shape: [1]}}"
    case = pool(tmp_path, "[[[0, 0, 0]]]", f", attrs: {{kernel_shape: [0]}}, {rejected}")
    assert result_of(case, ENGINE).verdict is Verdict.PASS


def stored(folder: Path, *arrays: Any) -> Path:
    golden = folder / "golden"
    golden.mkdir()
    for number, array in enumerate(arrays):
        data = numpy_helper.from_array(array).SerializeToString()
        (golden / f"output_{number}.pb").write_bytes(data)
    return golden


def test_golden_outputs_are_what_must_come_out(tmp_path: Path, wording: Wording) -> None:
    stored(tmp_path, RIGHT)
    case = one(tmp_path, GOLDEN)
    assert result_of(case, Hardmax()).verdict is Verdict.PASS
    assert result_of(case, ENGINE).self_check is False
    wrong = result_of(case, answering(lambda inputs: [1 - RIGHT]))
    assert (wrong.verdict, wrong.reason) == (Verdict.FAIL, wording)
    assert result_of(case, answering(lambda i: [RIGHT[0]])).verdict is Verdict.FAIL
    double = result_of(case, answering(lambda inputs: [RIGHT.astype(np.float64)]))
    assert double.reason == "output: dtype float64, want float32"


def test_golden_outputs_that_the_engine_contradicts_are_a_bad_case(
    tmp_path: Path, wording: Wording
) -> None:
    stored(tmp_path, 1 - RIGHT)
    result = result_of(one(tmp_path, GOLDEN), Hardmax())
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


def test_golden_outputs_may_be_one_of_several_answers(tmp_path: Path) -> None:
    stored(tmp_path, 1 - RIGHT)
    answers = "[{as: stored, golden: golden}, {as: stated, output: [[1, 0, 0], [1, 0, 0]]}]"
    case = one(tmp_path, f"{{name: made, rule: open, expect: {{any_of: {answers}}}}}")
    assert result_of(case, Hardmax()).alternative == "stated"
    assert result_of(case, outputs(lambda out: 1 - out)).alternative == "stored"


def test_each_output_has_its_own_golden_file(tmp_path: Path, wording: Wording) -> None:
    values, places = np.array([3, 2], np.float32), np.array([2, 1])
    stored(tmp_path, values, places)
    text = """
        op: TopK
        opset: 11
        tolerance: {ulp: 0}
        cases:
        - name: made
          inputs: {X: {value: [1, 2, 3], dtype: float32}, K: {value: [2], dtype: int64}}
          expect: {golden: golden}
    """
    (case,) = cases_in(tmp_path, text)
    assert result_of(case, connect("reference")).verdict is Verdict.PASS
    wrong = result_of(case, answering(lambda inputs: [values, places[::-1]]))
    assert wrong.reason == wording


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"\x00" * 40,
        numpy_helper.from_array(RIGHT).SerializeToString()[:-5],
        numpy_helper.from_array(RIGHT.astype(np.float64)).SerializeToString(),
        numpy_helper.from_array(RIGHT.astype(np.complex64)).SerializeToString(),
        numpy_helper.from_array(np.array(["text"], object)).SerializeToString(),
    ],
    ids=["gone", "zeros", "cut short", "float64", "complex", "strings"],
)
def test_golden_outputs_that_cannot_be_are_the_case_s_fault(tmp_path, data, wording):
    golden = stored(tmp_path, RIGHT)
    case = one(tmp_path, GOLDEN)
    (golden / "output_0.pb").unlink()
    if data is not None:
        (golden / "output_0.pb").write_bytes(data)
    for backend in (ENGINE, Hardmax(), refusing()):
        result = result_of(case, backend)
        assert result.verdict is Verdict.BAD_CASE
        assert result.reason == wording


SOFTMAX = """
    op: Softmax
    dtype: {dtype}
    opset: 13
    attrs: {{axis: -1}}
    inputs: {{input: [[1, 2, 3]]}}
    cases:
    - {{name: shares{more}}}
"""
#: e^-2, e^-1 and 1, divided by their sum.
SHARES = "[[0.09003057317038046, 0.24472847105479764, 0.66524095577482178]]"


def softmax(folder: Path, more: str = "", dtype: str = "float32") -> Case:
    (case,) = cases_in(folder, SOFTMAX.format(more=more, dtype=dtype))
    return case


@pytest.mark.parametrize("more", ["", f", expect: {{output: {SHARES}}}"])
def test_a_rounded_answer_is_judged_by_the_bound_of_the_operator(tmp_path: Path, more: str) -> None:
    case = softmax(tmp_path, more)
    assert result_of(case, ENGINE).verdict is Verdict.PASS
    for factor, verdict in [(1 + 1e-7, Verdict.PASS), (1 + 1e-5, Verdict.FAIL)]:
        backend = answering(lambda inputs, f=factor: [_softmax(inputs[0]) * np.float32(f)])
        result = result_of(case, backend)
        assert result.verdict is verdict
        assert result.comparisons[0].tier == "float32"


def _softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max())
    return (e / e.sum()).astype(x.dtype)


def test_a_literal_that_the_bound_does_not_allow_is_the_case_s_fault(
    tmp_path: Path, wording: Wording
) -> None:
    result = result_of(softmax(tmp_path, ", expect: {output: [[0.0900, 0.2447, 0.6652]]}"), ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [("reference", Verdict.WARN), ("reference?accumulate=float16", Verdict.PASS)],
)
def test_arithmetic_in_a_16_bit_type_is_warned_of_unless_it_is_declared(tmp_path, backend, verdict):
    fill = ", inputs: {input: {shape: [8, 32], normal: [0, 1]}}"
    result = result_of(softmax(tmp_path, fill, "float16"), connect(backend))
    assert result.verdict is verdict
    assert result.comparisons[0].tier == "float16 stored"
    assert result.backend == backend


def test_an_answer_that_the_engine_does_not_give_needs_a_tolerance(
    tmp_path: Path, wording: Wording
) -> None:
    other = "{as: other, output: [[0.5, 0.5]]}, {as: right, output: " + SHARES + "}"
    result = result_of(softmax(tmp_path, f", rule: open, expect: {{any_of: [{other}]}}"), ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == (wording)
    stated = f", rule: open, tolerance: {{ulp: 1}}, expect: {{any_of: [{other}]}}"
    assert result_of(softmax(tmp_path, stated), ENGINE).alternative == "right"


def test_an_output_beyond_the_engine_s_needs_a_tolerance(tmp_path: Path, wording: Wording) -> None:
    case = softmax(tmp_path, f", expect: {{output: {SHARES}}}")
    assert isinstance(case.expect, Values)
    (stated,) = case.expect.outputs
    two = replace(case.expect, outputs=(stated, replace(stated, name="another")))
    result = result_of(replace(case, expect=two), ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


FROM_THE_BACK = """\
    op: Softmax
    dtype: float32
    opset: 1
    cases:
    - name: from_the_back
      rule: open
      attrs: {{axis: -1}}
      inputs: {{input: [[1000, 1001, 1003], [0, 1, 3]]}}
      expect:
        any_of:
        - {{as: back, output: {output}}}
        - {{as: no, rejected: why, legal: {{attrs.axis: {axis}}}}}
"""
ROWS = "[[0.042010066, 0.114195199, 0.843794735], [0.042010066, 0.114195199, 0.843794735]]"


def lse(inputs: Any) -> Any:
    (x,) = inputs
    top = x.max(1, keepdims=True)
    log = top + np.log(np.exp(x - top).sum(1, keepdims=True))
    return [np.exp(x - log.astype(np.float32))]


def test_an_answer_that_only_the_twin_s_engine_gives_is_judged_by_its_bound(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, FROM_THE_BACK.format(output=ROWS, axis=1))
    for run, verdict in (
        (lambda inputs: [np.array(json.loads(ROWS), np.float32)], "pass"),
        (lse, "warn"),
        (lambda inputs: [np.abs(lse(inputs)[0] - np.float32(0.01))], "fail"),
    ):
        result = result_of(case, answering(run))
        assert (result.verdict, result.comparisons[0].tier) == (verdict, "float32")
        assert (verdict == "warn") == ("log-sum-exp" in result.reason)
    assert result_of(case, answering(lse)).alternative == "back"


@pytest.mark.parametrize(
    ("output", "axis"), [("[[1, 0, 0], [0, 0, 1]]", 1), (ROWS, 0)], ids=["values", "twin"]
)
def test_a_twin_that_has_another_answer_is_no_measure(tmp_path, output, axis, wording):
    (case,) = cases_in(tmp_path, FROM_THE_BACK.format(output=output, axis=axis))
    result = result_of(case, ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


@pytest.mark.parametrize("strict", ["", ", strict: true"])
@pytest.mark.parametrize(
    "more",
    [
        ", expect: {output: [[0, 0, 1]]}",
        "",
        ", rule: open, expect: {any_of: [{as: a, output: [[0, 0, 1]]}, {as: b, output: [1]}]}",
    ],
    ids=["literal", "computed", "alternative"],
)
def test_a_tolerance_leaves_the_operator_its_floor_unless_it_is_strict(tmp_path, more, strict):
    inputs = ", inputs: {input: {value: [[-1000, -500, 0]], initializer: true}}, empty: so"
    case = softmax(tmp_path, f"{inputs}, tolerance: {{ulp: 1{strict}}}{more}")
    verdict = Verdict.FAIL if strict else Verdict.PASS
    for small, wanted in ((2.3e-38, verdict), (2.4e-38, Verdict.FAIL), (0.0, Verdict.PASS)):
        backend = answering(lambda _, s=small: [np.array([[s, 0, 1]], np.float32)])
        assert result_of(case, backend).verdict is wanted


CONV = """
    op: Conv
    opset: 13
    dtype: float32
    tolerance: {ulp: 4}
    cases:
    - name: made
      inputs:
        X: {shape: [1, 1, 3, 3], arange: [0, 1]}
        W: {shape: [1, 1, 2, 2], constant: 1, initializer: true}
      expect: {Y: [[[[8, 12], [20, 24]]]]}
"""


def test_inputs_are_fed_and_initializers_are_part_of_the_model(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, CONV)
    asked = question(case)
    task = asked.task
    assert task.inputs == (TensorType("X", case.inputs[0].dtype, (1, 1, 3, 3)),)
    assert list(task.initializers) == ["W"]
    assert task.slots == ("X", "W")
    assert [x.reshape(-1).tolist() for x in asked.inputs] == [list(range(9))]
    assert [x.reshape(-1).tolist() for x in asked.second] == [list(range(9))[::-1]]
    assert (task.case, task.op, task.opset, task.attrs) == (case.id, case.op, 13, {})
    assert task.outputs == (replace(case.outputs[0], rank=4),)
    assert [x.shape for x in asked.task.operands(asked.second)] == [(1, 1, 3, 3), (1, 1, 2, 2)]
    assert asked.timeout is None  # that of the run
    turned = asked.turned()
    assert (turned.inputs, turned.second) == (asked.second, asked.inputs)
    assert turned.task is asked.task


def test_arrays_are_in_the_operator_s_order(tmp_path: Path) -> None:
    text = CONV.replace("initializer: true", "initializer: false").replace(
        "arange: [0, 1]}", "arange: [0, 1], initializer: true}"
    )
    (case,) = cases_in(tmp_path, text)
    asked = question(case)
    assert [tensor.name for tensor in asked.task.inputs] == ["W"]
    assert [x.shape for x in asked.task.operands(asked.inputs)] == [(1, 1, 3, 3), (1, 1, 2, 2)]


def test_the_legal_twin_has_a_name_of_its_own_and_the_case_s_time(tmp_path: Path) -> None:
    legal = "{rejected: why, legal: {attrs.axis: 0}}"
    case = one(tmp_path, f"{{name: made, timeout: 90, expect: {legal}}}")
    assert isinstance(case.expect, Rejected)
    asked, twin = question(case), question(case.expect.legal)
    assert (asked.task.case, twin.task.case) == ("Hardmax/made", "Hardmax/made~legal")
    assert (asked.timeout, twin.timeout) == (90, 90)


def test_whether_other_data_are_legal_is_known_of_the_engine_s_operators_alone(tmp_path):
    text = (
        "{domain: ai.onnx.ml, op: SVMRegressor, opset: 1, dtype: float32, tolerance: {ulp: 0}, "
        "cases: [{name: made, inputs: {X: [1, 1]}, expect: {Y: [1, 1]}}]}"
    )
    (foreign,) = cases_in(tmp_path, text)
    hardmax = one(tmp_path, "{name: made, attrs: {axis: 0}, inputs: {input: [1, 1]}}")
    assert not question(foreign).second_is_legal
    assert question(hardmax).second_is_legal
    # What reads the same backwards is negated only where that is surely legal.
    assert question(foreign).second[0].tolist() == [1, 1]
    assert question(hardmax).second[0].tolist() == [-1, -1]


def test_a_parameter_that_must_not_be_negated_is_not(tmp_path):
    text = """
        op: OneHot
        dtype: float32
        opset: 11
        cases:
        - name: made
          inputs:
            indices: [1, 2]
            depth: {value: 3, dtype: float32}
            values: {value: [0, 1], dtype: float32}
    """
    (one_hot,) = cases_in(tmp_path, text)
    asked = question(one_hot)
    assert [x.tolist() for x in asked.second] == [[2, 1], 3, [1, 0]]
    assert not asked.second_is_legal


def test_attributes_and_what_is_put_are_told_as_the_model_has_them(
    tmp_path: Path, wording: Wording
) -> None:
    text = """
        op: LeakyRelu
        opset: 16
        tolerance: {ulp: 0}
        dtype: float32
        cases:
        - name: made
          attrs: {alpha: 0.1}
          inputs: {X: {shape: [8], constant: 0, put: [{at: [5], value: -1}]}}
          expect: {Y: [0, 0, 0, 0, 0, -0.1, 0, 0]}
    """
    (case,) = cases_in(tmp_path, text)
    # A model has no other floats; a backend in Python must not be given more digits.
    assert question(case).task.attrs == {"alpha": float(np.float32(0.1))}
    assert formatting.tensor(case.inputs[0]) == wording
    others = replace(case.inputs[0], put=case.inputs[0].put * 3)
    assert formatting.tensor(others) == wording


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("values", "rounded", "said"),
    [
        ([0, 0, 1], True, "2 of 3"),
        ([0, NAN, 1], True, "2 of 3"),
        ([0, 1, INF, 1], True, None),
        ([2, NAN, INF], True, "2 of 3"),
        ([2, 1e39], True, None),
        ([1e39], True, "1 of 1"),
        ([-0.0, 0], True, "2 of 2"),
        ([], True, None),
        ([0, 0, 1], False, None),
        ([0, 0, NAN], False, "3 of 3"),
        ([], False, None),
    ],
)
def test_more_than_half_of_a_rounded_answer_must_tell_something(values, rounded, said, wording):
    found = too_degenerate(np.array(values, np.float64), DTYPES["float32"], rounded=rounded)
    if said is None:
        assert found is None
    else:
        assert str(found).startswith(f"{said} ")
        assert found == wording


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_zero_is_what_the_dtype_rounds_to_zero(dtype):
    known = DTYPES[dtype]
    smallest = np.ldexp(1.0, known.min_exponent)
    assert too_degenerate(np.array([smallest]), known, rounded=True) is None
    assert too_degenerate(np.array([smallest / 2]), known, rounded=True)
    if dtype != "float64":
        above = np.nextafter(smallest / 2, 1)
        assert too_degenerate(np.array([above]), known, rounded=True) is None
        assert float(round_to(np.array([above]), known)[0]) == smallest


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_whole_numbers_and_truth_tell_something_if_they_are_not_zero(dtype):
    some = np.array([0, 1], DTYPES[dtype].numpy)
    assert too_degenerate(some, DTYPES[dtype], rounded=False) is None
    assert too_degenerate(some[:1], DTYPES[dtype], rounded=False)


def test_an_answer_is_computed_once_for_its_rank_and_for_the_verdict(tmp_path, monkeypatch):
    case = one(tmp_path, "{name: made}")
    calls = []
    each_answer = evaluate.each_answer

    def counted(node):
        calls.append(node)
        return each_answer(node)

    monkeypatch.setattr(evaluate, "each_answer", counted)
    evaluation = CaseEvaluation(case)
    (output,) = evaluation.question.task.outputs
    (answer,) = evaluation.accepted_answers
    (want,) = answer.wants
    assert output.rank == want.values.ndim
    assert len(calls) == 1
