from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from opcheck.backends import Backend, connect
from opcheck.model import Case, Fill, Result, Task, Verdict
from opcheck.run import conduct
from opcheck.run.question import question
from opcheck.suite import materialize
from tests.asking import cases_in
from tests.miniatures import Fake, Refused, answering, in_turn, refusing
from tests.mistakes import Hardmax, Mistake

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
RIGHT = np.array([[1, 0, 0], [1, 0, 0]], np.float32)
ENGINE = connect("numpy")

THREE = """
    op: Hardmax
    dtype: float32
    opset: 13
    inputs: {input: [[3, 3, 1], [3, 0, 3]]}
    cases:
    - {name: computed, attrs: {axis: 1}}
    - {name: stated, attrs: {axis: 1}, expect: {output: [[1, 0, 0], [1, 0, 0]]}}
    - name: refused
      attrs: {axis: 2}
      expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
"""


def one(folder: Path, text: str) -> Case:
    """The case of a file about Hardmax-13 on a float32 matrix, axis 1."""
    head = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\n"
    values = "inputs: {input: [[3, 3, 1], [3, 0, 3]]}\n"
    (case,) = cases_in(folder, f"{head}{'' if 'inputs' in text else values}cases:\n- {text}")
    return case


def result_of(case: Case, backend: Backend) -> Result:
    (result,) = conduct([case], [backend])
    return result


def outputs(change: Callable[[Any], Any]) -> Hardmax:
    """A right backend but for what `change` does to its output."""
    return Hardmax(mistake=Mistake(output=lambda out: [change(out).astype(out.dtype)]))


def stored(folder: Path, *arrays: Any) -> Path:
    golden = folder / "golden"
    golden.mkdir()
    for number, array in enumerate(arrays):
        data = numpy_helper.from_array(array).SerializeToString()
        (golden / f"output_{number}.pb").write_bytes(data)
    return golden


# ── the stream of results ─────────────────────────────────────────────────────────────────────


def test_results_come_case_by_case_in_the_given_order(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    backends = [ENGINE, answering(lambda inputs: [RIGHT])]
    found = [(result.case.name, result.backend) for result in conduct(cases[::-1], backends)]
    names = [case.name for case in cases[::-1]]
    assert found == [(name, backend.info.address) for name in names for backend in backends]


def test_results_come_one_at_a_time(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    asked = []

    def prepared(task: Task) -> Any:
        asked.append(task.attrs["axis"])
        return lambda inputs: [RIGHT]

    stream = conduct(cases, [Fake(prepared)])
    assert asked == []
    next(stream)
    assert asked == [1]


def test_nothing_comes_of_nothing(tmp_path: Path) -> None:
    assert list(conduct([], [ENGINE])) == []
    assert list(conduct(cases_in(tmp_path, THREE), [])) == []


def test_the_data_of_a_case_is_made_once_for_all_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(spec: Any) -> Any:
        made.append(spec.name)
        return materialize(spec)

    monkeypatch.setitem(question.__globals__, "materialize", counted)
    cases = cases_in(tmp_path, THREE)
    backends = [ENGINE, ENGINE, Hardmax(), refusing()]
    assert len(list(conduct(cases, backends))) == 12
    # Once for each case, and once for the legal twin of the last.
    assert made == ["input"] * 4


def test_every_backend_gets_the_same_bits(tmp_path: Path) -> None:
    seen = []

    def run(inputs: Any) -> Any:
        seen.append(inputs[0].tobytes())
        inputs[0][...] = 0
        return [RIGHT]

    case = one(tmp_path, "{name: made}")
    list(conduct([case], [answering(run), answering(run)]))
    assert seen[:3] == seen[3:]
    assert seen[0] == X.tobytes()


# ── what is in a result ───────────────────────────────────────────────────────────────────────


def test_a_pass_carries_its_evidence(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made}")
    result = result_of(case, Hardmax())
    assert (result.case, result.backend, result.verdict) == (case, "fake", Verdict.PASS)
    assert (result.reason, result.self_check, result.alternative) == ("", False, None)
    assert [(c.output, c.problem, c.total) for c in result.comparisons] == [("output", None, 6)]
    assert result.seconds > 0


def test_a_failure_shows_the_input_beside_the_wrong_elements(tmp_path: Path) -> None:
    result = result_of(one(tmp_path, "{name: made}"), answering(lambda inputs: [1 - RIGHT]))
    assert (result.verdict, result.reason) == (Verdict.FAIL, "output: 6 of 6 elements wrong")
    worst = result.comparisons[0].worst
    assert [element.input for element in worst] == [3, 3, 1, 3, 0, 3]
    assert [element.want for element in worst] == RIGHT.reshape(-1).tolist()


def test_a_refused_legal_model_is_an_error_without_time(tmp_path: Path) -> None:
    result = result_of(one(tmp_path, "{name: made}"), refusing())
    assert (result.verdict, result.seconds) == (Verdict.ERROR, 0)


@pytest.mark.parametrize(
    ("text", "self_check"),
    [
        ("{name: made}", True),
        ("{name: made, expect: {output: [[1, 0, 0], [1, 0, 0]]}}", False),
        ("{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 1}}}", False),
    ],
)
def test_the_engine_against_itself_is_marked(tmp_path: Path, text: str, self_check: bool) -> None:
    case = one(tmp_path, text)
    assert result_of(case, ENGINE).verdict is Verdict.PASS
    assert result_of(case, ENGINE).self_check is self_check
    assert result_of(case, Hardmax()).self_check is False


def test_the_answer_chosen_is_named(tmp_path: Path) -> None:
    answers = "[{as: first_nan, output: [[1, 0, 0]]}, {as: skips_nan, output: [[0, 0, 1]]}]"
    values = "{input: [[.nan, 1, 2]]}"
    text = f"{{name: made, rule: open, inputs: {values}, expect: {{any_of: {answers}}}}}"
    result = result_of(one(tmp_path, text), Hardmax())
    assert (result.verdict, result.alternative) == (Verdict.PASS, "first_nan")


def test_a_tolerance_is_the_case_s_own_or_the_operator_s(tmp_path: Path) -> None:
    nearly = outputs(lambda out: out * np.float32(1 - 2**-24))
    assert result_of(one(tmp_path, "{name: made}"), nearly).verdict is Verdict.FAIL
    lenient = one(tmp_path, "{name: made, tolerance: {ulp: 1}}")
    assert result_of(lenient, nearly).verdict is Verdict.PASS


def test_a_value_outside_the_operator_s_range_is_wrong_whatever_the_tolerance(
    tmp_path: Path,
) -> None:
    lenient = one(tmp_path, "{name: made, tolerance: {atol: 0.5}}")
    assert result_of(lenient, outputs(lambda out: out * 0.75)).verdict is Verdict.PASS
    assert result_of(lenient, outputs(lambda out: out * 0.75 - 0.25)).verdict is Verdict.FAIL
    assert result_of(lenient, outputs(lambda out: out * 1.25)).verdict is Verdict.FAIL


def test_an_initializer_is_no_input_and_is_not_shown(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, inputs: {input: {value: [[3, 3, 1]], initializer: true}}}")
    assert result_of(case, ENGINE).verdict is Verdict.PASS
    wrong = result_of(case, answering(lambda inputs: [np.zeros((1, 3), np.float32)]))
    assert [element.input for element in wrong.comparisons[0].worst] == [None]


# ── answers to old data ───────────────────────────────────────────────────────────────────────


def stale() -> Fake:
    return in_turn([RIGHT], [RIGHT], [RIGHT])


def test_the_answer_to_old_data_is_unstable_where_the_text_decides(tmp_path: Path) -> None:
    result = result_of(one(tmp_path, "{name: made}"), stale())
    # Reversed, the input has its maxima elsewhere.
    assert result.verdict is Verdict.UNSTABLE
    assert result.reason == "answered other data of the same shape with the first run's answer"


def test_an_answer_that_happens_to_fit_the_other_data_is_not(tmp_path: Path) -> None:
    same = one(tmp_path, "{name: made, inputs: {input: {shape: [2, 3], constant: 1}}}")
    assert result_of(same, stale()).verdict is Verdict.PASS
    zero = one(tmp_path, "{name: made, inputs: {input: {shape: [2, 3], constant: 0}}}")
    assert result_of(zero, stale()).verdict is Verdict.PASS


def test_nobody_is_accused_where_the_text_does_not_decide(tmp_path: Path) -> None:
    lenient = one(tmp_path, "{name: made, rule: should}")
    assert result_of(lenient, stale()).verdict is Verdict.PASS


def right_but(wrong: Callable[[int, Any], bool]) -> Fake:
    """Hardmax along axis 1, turned into its opposite where `wrong` says so of (run, input)."""

    def prepared(_: Task) -> Callable[[Any], Any]:
        runs = itertools.count(1)

        def run(inputs: Any) -> Any:
            (x,) = inputs
            out = np.zeros_like(x)
            out[np.arange(len(x)), [list(row).index(max(row)) for row in x]] = 1
            return [1 - out if wrong(next(runs), x) else out]

        return run

    return Fake(prepared)


def test_a_second_run_that_is_wrong_on_other_data_is_unstable(tmp_path: Path) -> None:
    result = result_of(one(tmp_path, "{name: made}"), right_but(lambda run, _: run == 2))
    assert result.verdict is Verdict.UNSTABLE
    reason = "answered other data wrongly in its second run, and otherwise in a first run"
    assert result.reason == reason


def test_whoever_is_wrong_on_other_data_in_any_run_is_left_to_other_cases(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made}")
    backend = right_but(lambda _, x: not np.array_equal(x, X))
    assert result_of(case, backend).verdict is Verdict.PASS


def test_other_data_of_an_unknown_operator_may_be_refused(tmp_path: Path) -> None:
    # Nobody but the operator's own text knows which ratios are legal.
    text = """
        op: Dropout
        dtype: float32
        opset: 13
        tolerance: {ulp: 0}
        cases:
        - {name: made, inputs: {data: [1, 2], ratio: 0.5}, expect: {output: [1, 2]}}
    """
    (case,) = cases_in(tmp_path, text)
    for address in ("onnxruntime", "reference"):
        assert result_of(case, connect(address)).verdict is Verdict.PASS
    one_time = in_turn([np.array([1, 2], np.float32)], Refused("no"), Refused("not again"))
    result = result_of(case, one_time)
    assert result.verdict is Verdict.UNSTABLE
    told = "answered its first run, then raised on the same data again: Refused: not again"
    assert result.reason == told


def test_a_case_that_the_engine_contradicts_accuses_nobody(tmp_path: Path) -> None:
    literal = one(tmp_path, "{name: made, expect: {output: [[0, 1, 0], [1, 0, 0]]}}")
    result = result_of(literal, connect("onnxruntime"))
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == (
        "the case and opcheck's engine contradict each other: output: "
        "2 of 6 elements differ, exactly where axis 0 is 0 and axis 1 < 2; at [0, 0] the case says"
        " 0.0, the engine 1.0 (allowed: exact)"
    )
    legal = "{rejected: so, legal: {attrs.axis: 0}}"
    refusal = one(tmp_path, f"{{name: made, expect: {legal}}}")
    result = result_of(refusal, connect("onnxruntime"))
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == ("the case takes this model for invalid, opcheck's engine accepts it")
    right = one(tmp_path, "{name: made, expect: {output: [[1, 0, 0], [1, 0, 0]]}}")
    assert result_of(right, outputs(lambda out: 1 - out)).verdict is Verdict.FAIL


def test_what_does_not_fit_into_memory_is_nobody_s_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise MemoryError

    # By its name, the package has the function of the same name.
    monkeypatch.setattr(importlib.import_module("opcheck.backends.attempt"), "_copies", full)
    result = result_of(one(tmp_path, "{name: made}"), Hardmax())
    assert result.verdict is Verdict.NOT_RUN
    assert result.reason == "the case's data do not fit into memory"


def test_a_wrong_answer_is_a_failure_before_it_is_an_old_one(tmp_path: Path) -> None:
    wrong = in_turn([1 - RIGHT], [1 - RIGHT], [1 - RIGHT])
    assert result_of(one(tmp_path, "{name: made}"), wrong).verdict is Verdict.FAIL


def test_an_operator_without_kernel_is_judged_by_its_expectation_alone(tmp_path: Path) -> None:
    text = """
        op: Neg
        dtype: float32
        opset: 13
        cases:
        - {name: made, tolerance: {ulp: 0}, inputs: {X: [1, 2]}, expect: {Y: [-1, -2]}}
    """
    (case,) = cases_in(tmp_path, text)
    out = np.array([-1, -2], np.float32)
    assert result_of(case, answering(lambda inputs: [-inputs[0]])).verdict is Verdict.PASS
    assert result_of(case, in_turn([out], [out], [out])).verdict is Verdict.PASS
    assert result_of(case, ENGINE).verdict is Verdict.UNSUPPORTED


# ── cases that are themselves wrong ───────────────────────────────────────────────────────────


def test_a_model_that_the_engine_rejects_is_the_case_s_fault(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, attrs: {axis: 2}}")
    for result in conduct([case, case], [ENGINE, Hardmax(), refusing()]):
        assert result.verdict is Verdict.BAD_CASE
        assert result.reason == (
            "the case takes this model for legal, the engine does not: "
            "Hardmax-13: axis 2 is outside [-2, 1]"
        )


def test_a_twin_that_the_engine_rejects_is_the_case_s_fault(tmp_path: Path) -> None:
    text = "{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 3}}}"
    result = result_of(one(tmp_path, text), refusing())
    assert result.verdict is Verdict.BAD_CASE
    assert "axis 3 is outside [-2, 1]" in result.reason


def test_data_that_cannot_be_made_is_the_case_s_fault(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, dtype: float16}")
    # float16 holds every whole number to 2048 only: there are ties.
    fill = Fill("permutation", (0, 1))
    spec = replace(case.inputs[0], shape=(1, 3000), content=fill)
    result = result_of(replace(case, inputs=(spec,)), ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert "a permutation of 3000 has no ties" in result.reason


def test_a_file_that_is_gone_since_is_the_case_s_fault(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    case = one(tmp_path, "{name: made, inputs: {input: {file: x.npy}}}")
    assert result_of(case, ENGINE).verdict is Verdict.PASS
    (tmp_path / "x.npy").unlink()
    result = result_of(case, ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason


def test_after_a_wrong_case_the_others_are_judged_all_the_same(tmp_path: Path) -> None:
    wrong = one(tmp_path, "{name: made, attrs: {axis: 2}}")
    right = one(tmp_path, "{name: made}")
    verdicts = [result.verdict for result in conduct([wrong, right], [ENGINE])]
    assert verdicts == [Verdict.BAD_CASE, Verdict.PASS]


# ── golden files ──────────────────────────────────────────────────────────────────────────────

GOLDEN = "{name: made, expect: {golden: golden}}"


def test_golden_outputs_are_what_must_come_out(tmp_path: Path) -> None:
    stored(tmp_path, RIGHT)
    case = one(tmp_path, GOLDEN)
    assert result_of(case, Hardmax()).verdict is Verdict.PASS
    assert result_of(case, ENGINE).self_check is False
    wrong = result_of(case, answering(lambda inputs: [1 - RIGHT]))
    assert (wrong.verdict, wrong.reason) == (Verdict.FAIL, "output: 6 of 6 elements wrong")
    assert result_of(case, answering(lambda i: [RIGHT[0]])).verdict is Verdict.FAIL
    double = result_of(case, answering(lambda inputs: [RIGHT.astype(np.float64)]))
    assert double.reason == "output: dtype float64, want float32"


def test_golden_outputs_that_the_engine_contradicts_are_a_bad_case(tmp_path: Path) -> None:
    stored(tmp_path, 1 - RIGHT)
    result = result_of(one(tmp_path, GOLDEN), Hardmax())
    assert result.verdict is Verdict.BAD_CASE
    told = "the case and opcheck's engine contradict each other: output: 6 of 6 elements"
    assert result.reason.startswith(told)


def test_golden_outputs_may_be_one_of_several_answers(tmp_path: Path) -> None:
    stored(tmp_path, 1 - RIGHT)
    answers = "[{as: stored, golden: golden}, {as: stated, output: [[1, 0, 0], [1, 0, 0]]}]"
    case = one(tmp_path, f"{{name: made, rule: open, expect: {{any_of: {answers}}}}}")
    assert result_of(case, Hardmax()).alternative == "stated"
    assert result_of(case, outputs(lambda out: 1 - out)).alternative == "stored"


def test_each_output_has_its_own_golden_file(tmp_path: Path) -> None:
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
    assert wrong.reason == "Indices: 2 of 2 elements wrong"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x00" * 40, "output_0.pb is no readable tensor"),
        (numpy_helper.from_array(RIGHT).SerializeToString()[:-5], "output_0.pb is no readable"),
        (
            numpy_helper.from_array(RIGHT.astype(np.float64)).SerializeToString(),
            "output_0.pb holds float64; Hardmax-13 gives float32 here",
        ),
        (
            numpy_helper.from_array(RIGHT.astype(np.complex64)).SerializeToString(),
            "output_0.pb holds complex64; Hardmax-13 gives float32 here",
        ),
        (
            numpy_helper.from_array(np.array(["text"], object)).SerializeToString(),
            "output_0.pb holds object; Hardmax-13 gives float32 here",
        ),
    ],
    ids=["zeros", "cut short", "float64", "complex", "strings"],
)
def test_golden_outputs_that_cannot_be_are_the_case_s_fault(
    tmp_path: Path, data: bytes, said: str
) -> None:
    golden = stored(tmp_path, RIGHT)
    case = one(tmp_path, GOLDEN)
    (golden / "output_0.pb").write_bytes(data)
    for backend in (ENGINE, Hardmax(), refusing()):
        result = result_of(case, backend)
        assert result.verdict is Verdict.BAD_CASE
        assert result.reason.startswith(said)


def test_a_golden_file_that_is_gone_since_is_the_case_s_fault(tmp_path: Path) -> None:
    golden = stored(tmp_path, RIGHT)
    case = one(tmp_path, GOLDEN)
    (golden / "output_0.pb").unlink()
    assert result_of(case, Hardmax()).verdict is Verdict.BAD_CASE


# ── rejections ────────────────────────────────────────────────────────────────────────────────

REJECTED = "{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 1}}}"


def test_a_rejection_passes_if_the_twin_is_accepted(tmp_path: Path) -> None:
    case = one(tmp_path, REJECTED)
    assert result_of(case, Hardmax()).verdict is Verdict.PASS
    assert result_of(case, refusing()).verdict is Verdict.ERROR
    assert result_of(case, answering(lambda inputs: [RIGHT])).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ([RIGHT], Verdict.PASS),
        ([RIGHT[:1]], Verdict.FAIL),
        ([RIGHT.astype(np.float64)], Verdict.FAIL),
        ([RIGHT, RIGHT], Verdict.FAIL),
        ([], Verdict.FAIL),
        (None, Verdict.FAIL),
    ],
    ids=["right", "shape", "dtype", "two", "none", "None"],
)
def test_the_twin_s_answer_must_look_like_one(
    tmp_path: Path, answer: Any, verdict: Verdict
) -> None:
    def prepared(task: Task) -> Any:
        if task.attrs["axis"] == 2:
            raise Refused("axis 2")
        return lambda inputs: answer

    assert result_of(one(tmp_path, REJECTED), Fake(prepared)).verdict is verdict


def test_a_rejection_may_be_one_of_several_answers(tmp_path: Path) -> None:
    rejected = "{as: rejected, rejected: why, legal: {attrs.axis: 0}}"
    answers = f"[{rejected}, {{as: answered, output: [[1, 1, 1], [1, 1, 1]]}}]"
    case = one(
        tmp_path, f"{{name: made, attrs: {{axis: 2}}, rule: open, expect: {{any_of: {answers}}}}}"
    )
    assert result_of(case, Hardmax()).alternative == "rejected"
    ones = answering(lambda inputs: [np.ones((2, 3), np.float32)])
    assert result_of(case, ones).alternative == "answered"
    assert result_of(case, refusing()).verdict is Verdict.ERROR


def test_the_twin_is_put_to_the_backend_that_refused(tmp_path: Path) -> None:
    asked: list[tuple[str, Any]] = []

    def backend(name: str) -> Fake:
        def prepared(task: Task) -> Any:
            asked.append((name, task.attrs["axis"]))
            raise Refused("no")

        return Fake(prepared, name)

    list(conduct([one(tmp_path, REJECTED)], [backend("one"), backend("two")]))
    assert asked == [("one", 2), ("one", 1), ("two", 2), ("two", 1)]


def test_a_twin_of_another_shape_and_dtype_has_its_own_data(tmp_path: Path) -> None:
    legal = "{inputs.input: {value: [[1.5, 2.5]], dtype: float16}}"
    text = f"{{name: made, dtype: int32, expect: {{rejected: why, legal: {legal}}}}}"
    seen = []

    def prepared(task: Task) -> Any:
        if task.inputs[0].dtype.kind != "float":
            raise Refused("no float")
        seen.append((task.inputs[0].dtype.name, task.inputs[0].shape))
        return lambda inputs: [np.array([[0, 1]], np.float16)]

    assert result_of(one(tmp_path, text), Fake(prepared)).verdict is Verdict.PASS
    assert seen == [("float16", (1, 2))]


# ── error bounds ──────────────────────────────────────────────────────────────────────────────

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


def test_a_literal_that_the_bound_does_not_allow_is_the_case_s_fault(tmp_path: Path) -> None:
    case = softmax(tmp_path, ", expect: {output: [[0.0900, 0.2447, 0.6652]]}")
    result = result_of(case, ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert "the case and opcheck's engine contradict each other" in result.reason


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [("reference", Verdict.WARN), ("reference?accumulate=float16", Verdict.PASS)],
)
def test_arithmetic_in_a_16_bit_type_is_warned_of_unless_it_is_declared(
    tmp_path: Path, backend: str, verdict: Verdict
) -> None:
    fill = ", inputs: {input: {shape: [8, 32], normal: [0, 1]}}"
    result = result_of(softmax(tmp_path, fill, "float16"), connect(backend))
    assert result.verdict is verdict
    assert result.comparisons[0].tier == "float16"
    assert result.backend == backend


def test_an_answer_that_the_engine_does_not_give_needs_a_tolerance(tmp_path: Path) -> None:
    other = "{as: other, output: [[0.5, 0.5]]}, {as: right, output: " + SHARES + "}"
    case = softmax(tmp_path, f", rule: open, expect: {{any_of: [{other}]}}")
    result = result_of(case, ENGINE)
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == (
        "output: tolerance must be stated: opcheck's engine gives the shape (1, 3), so it has no"
        " error bound for this answer"
    )
    stated = f", rule: open, tolerance: {{ulp: 1}}, expect: {{any_of: [{other}]}}"
    assert result_of(softmax(tmp_path, stated), ENGINE).alternative == "right"
