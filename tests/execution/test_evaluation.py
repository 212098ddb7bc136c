import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck import model, opset
from opcheck.backends import attempt, connect
from opcheck.errors import NotExpressible, NotSupported
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import question
from opcheck.execution.workers import run_here
from opcheck.model import Crashed, NotRun, Outcome, Produced, Raised, Reply, Task, TimedOut, Verdict
from tests import inline
from tests.asking import HARDMAX1, cases_in
from tests.execution.one import ENGINE, RIGHT, X, inquiry, one, outputs, result_of
from tests.hardmax import Hardmax
from tests.inline import judged
from tests.miniatures import Fake, Refused, answering, in_turn, refusing
from tests.wording import Wording

#: The right answer to X reversed, which is [[3, 0, 3], [1, 3, 3]].
HARDMAX_OF_OTHER = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
NEAR = "{name: near, tolerance: {atol: 0.1}}"
REJECTED = "{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 1}}}"


def test_a_pass_carries_its_evidence(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made}")
    result = result_of(case, Hardmax())
    assert (result.case, result.backend, result.verdict) == (case, "fake", Verdict.PASS)
    assert (result.reason, result.self_check, result.alternative) == ("", False, None)
    assert [(c.output, c.problem, c.total) for c in result.comparisons] == [("output", None, 6)]
    assert result.seconds > 0
    refused = result_of(case, refusing())
    assert (refused.verdict, refused.seconds) == (Verdict.ERROR, 0)


def test_a_failure_shows_the_input_beside_the_wrong_elements(
    tmp_path: Path, wording: Wording
) -> None:
    result = result_of(one(tmp_path, "{name: made}"), answering(lambda inputs: [1 - RIGHT]))
    assert (result.verdict, result.reason) == (Verdict.FAIL, wording)
    worst = result.comparisons[0].worst
    assert [element.input for element in worst] == [3, 3, 1, 3, 0, 3]
    assert [element.want for element in worst] == RIGHT.reshape(-1).tolist()


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


def test_a_tolerance_is_the_case_s_own_or_the_operator_s(tmp_path: Path) -> None:
    nearly = outputs(lambda out: out * np.float32(1 - 2**-24))
    assert result_of(one(tmp_path, "{name: made}"), nearly).verdict is Verdict.FAIL
    lenient = one(tmp_path, "{name: made, tolerance: {ulp: 1}}")
    assert result_of(lenient, nearly).verdict is Verdict.PASS


def test_a_value_outside_the_operator_s_range_is_wrong_whatever_the_tolerance(tmp_path):
    lenient = one(tmp_path, "{name: made, tolerance: {atol: 0.4}}")
    assert result_of(lenient, outputs(lambda out: out * 0.75)).verdict is Verdict.PASS
    assert result_of(lenient, outputs(lambda out: out * 0.75 - 0.25)).verdict is Verdict.FAIL
    assert result_of(lenient, outputs(lambda out: out * 1.25)).verdict is Verdict.FAIL


def test_an_initializer_is_no_input_and_is_not_shown(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, inputs: {input: {value: [[3, 3, 1]], initializer: true}}}")
    assert result_of(case, ENGINE).verdict is Verdict.PASS
    wrong = result_of(case, answering(lambda inputs: [np.zeros((1, 3), np.float32)]))
    assert [element.input for element in wrong.comparisons[0].worst] == [None]


def test_what_does_not_fit_into_memory_is_nobody_s_failure(tmp_path, monkeypatch, wording):
    def full(spec: Any) -> Any:
        raise MemoryError

    case = one(tmp_path, "{name: made}")
    monkeypatch.setitem(question.__globals__, "materialize", full)
    evaluation = CaseEvaluation(case)
    for backend in (ENGINE, Hardmax()):
        result = inline.result_of(evaluation, backend)
        assert result.verdict is Verdict.NOT_RUN
        assert result.reason == wording


NO = Raised("prepare", "Refused", "no", documented=True)
UNSUPPORTED = Verdict.UNSUPPORTED
NOT_HERE = model.Declined("no kernel")
LOST = [Crashed("killed by SIGSEGV"), TimedOut(30), model.OutOfMemory("took too much")]


def right(between: Any = None) -> Produced:
    return Produced((RIGHT,), 0.1, between=between)


@pytest.mark.parametrize("outcome", [right(), NotRun("gone"), *LOST])
def test_a_legal_twin_is_asked_about_only_after_a_refusal(tmp_path: Path, outcome: Outcome) -> None:
    case = one(tmp_path, REJECTED)
    asked, _ = inquiry(case, outcome)
    assert [question.task.case for question in asked] == [case.id]
    for refusal in (NO, NOT_HERE):
        asked, result = inquiry(case, refusal, right())
        assert [question.task.case for question in asked] == [case.id, f"{case.id}~legal"]
        assert [question.task.attrs["axis"] for question in asked] == [2, 1]
        assert (result.verdict, result.refused) == (Verdict.PASS, True)


CLAIMING = refusing(NotExpressible("no model states this"))
STRINGS = """
op: StringConcat
opset: 20
dtype: string
cases:
- {name: strings, inputs: {X: [a], Y: [b]}, expect: {Z: [ab]}}
"""
DESCRIPTOR = f"""
domain: com.microsoft.dml
op: {HARDMAX1}
opset: 1
dtype: float32
cases:
- name: no_axis
  attrs: {{Axes: []}}
  inputs: {{InputTensor: [[1.0]]}}
  expect: {{rejected: there is no axis, legal: {{attrs.Axes: [1]}}}}
"""


@pytest.mark.parametrize("text", ["{name: made}", REJECTED])
def test_a_backend_s_claim_that_no_model_states_a_task_is_dropped_where_one_does(tmp_path, text):
    result = result_of(one(tmp_path, text), CLAIMING)
    assert (result.verdict, result.inexpressible, result.beyond) == (UNSUPPORTED, False, False)


@pytest.mark.parametrize("backend", [CLAIMING, connect("reference")])
def test_what_no_model_states_is_unsupported_and_no_backend_s_lack(tmp_path, backend):
    (case,) = cases_in(tmp_path, DESCRIPTOR)
    result = result_of(case, backend)
    assert (result.verdict, result.inexpressible, result.beyond) == (UNSUPPORTED, True, False)


def test_what_opcheck_s_adapter_cannot_hand_over_is_unsupported_by_opcheck(tmp_path):
    pytest.importorskip("tract", reason="not installed: tract")
    (case,) = cases_in(tmp_path, STRINGS)
    limited = result_of(case, connect("tract"))
    assert (limited.verdict, limited.inexpressible, limited.beyond) == (UNSUPPORTED, True, True)
    # Another kind of backend is handed strings, and only claims the same.
    claimed = result_of(case, CLAIMING)
    assert (claimed.verdict, claimed.inexpressible, claimed.beyond) == (UNSUPPORTED, False, False)


@pytest.mark.parametrize(
    ("twin", "reason"), [(NOT_HERE, "no kernel"), (NO, "no kernel"), (NotRun("gone"), "no kernel")]
)
def test_who_does_not_support_the_twin_either_supports_nothing_of_it(tmp_path, twin, reason):
    _, result = inquiry(one(tmp_path, REJECTED), NOT_HERE, twin)
    assert (result.verdict, result.reason) == (Verdict.UNSUPPORTED, reason)


@pytest.mark.parametrize(
    ("outcome", "verdict", "reason"),
    [
        (Crashed("exited with status 0"), Verdict.CRASH, "exited with status 0"),
        (TimedOut(30), Verdict.TIMEOUT, "no answer within 30 s"),
        (model.OutOfMemory("took too much"), Verdict.OOM, "took too much"),
    ],
)
@pytest.mark.parametrize("rule", ["must", "should"])
def test_a_lost_process_is_its_own_verdict_whatever_the_rule(
    tmp_path: Path, outcome: Outcome, verdict: Verdict, reason: str, rule: str, wording: Wording
) -> None:
    case = one(tmp_path, f"{{name: made, rule: {rule}}}")
    _, result = inquiry(case, Reply(outcome, "the last words"))
    assert (result.verdict, result.reason, result.failure) == (verdict, wording, verdict)
    assert result.printed == "the last words"
    assert result.seconds == (30 if isinstance(outcome, TimedOut) else 0)
    _, result = inquiry(one(tmp_path, REJECTED), Reply(NO, "no\n"), Reply(outcome, "last words"))
    assert (result.verdict, result.reason) == (verdict, f"its legal twin: {reason}")
    assert result.printed == "no\nlast words"


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_process_of_the_twin_is_its_own_verdict_if_the_model_is_declined(tmp_path, lost):
    _, refused = inquiry(one(tmp_path, REJECTED), NO, lost)
    _, declined = inquiry(one(tmp_path, REJECTED), NOT_HERE, lost)
    assert refused.verdict in (Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM)
    assert (declined.verdict, declined.reason) == (refused.verdict, refused.reason)


def test_what_was_printed_is_kept_of_a_pass_too(tmp_path: Path) -> None:
    _, result = inquiry(one(tmp_path, "{name: made}"), Reply(right(), "a warning"))
    assert (result.verdict, result.printed) == (Verdict.PASS, "a warning")


def test_a_pass_says_what_it_does_not_show(tmp_path: Path, wording: Wording) -> None:
    case = one(tmp_path, "{name: made}")
    _, result = inquiry(case, Produced((RIGHT,), 0.1, once=True))
    assert result.verdict is Verdict.PASS
    assert result.reason == wording
    _, result = inquiry(case, right(between=None))
    assert result.verdict is Verdict.PASS
    assert result.reason == wording
    _, result = inquiry(case, right(between=(HARDMAX_OF_OTHER,)))
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    _, result = inquiry(case, Produced((1 - RIGHT,), 0.1, once=True))
    assert (result.verdict, result.reason) == (Verdict.FAIL, wording)


@pytest.mark.parametrize("fresh", [NotRun("could not be started again"), right()])
def test_who_cannot_be_asked_again_is_not_accused_of_contradicting_itself(tmp_path, fresh):
    wrong = 1 - HARDMAX_OF_OTHER
    asked, result = inquiry(one(tmp_path, "{name: made}"), right(between=(wrong,)), fresh)
    assert [x.tolist() for x in asked[1].inputs] == [X[::-1, ::-1].tolist()]
    assert result.verdict is (Verdict.PASS if isinstance(fresh, NotRun) else Verdict.UNSTABLE)


def opsets(asked: list[model.Question]) -> list[int]:
    return [question.task.opset for question in asked]


@pytest.mark.parametrize(
    ("refusal", "told"),
    [(NO, "raised on a legal model: Refused: no"), (NOT_HERE, "no kernel")],
    ids=["raised", "unsupported"],
)
def test_who_takes_the_same_model_at_a_later_opset_makes_an_error(tmp_path, refusal, told):
    case = one(tmp_path, "{name: made}")
    halfway, last = opset.later(case.op, case.opset)
    asked, result = inquiry(case, Reply(refusal, "first"), Reply(right(), "second"))
    assert opsets(asked) == [13, halfway]
    first, second = asked
    assert vars(second.task) == vars(first.task) | {"opset": halfway}
    assert (second.inputs, second.second) == (first.inputs, first.second)
    assert (result.verdict, result.failure) == (Verdict.ERROR, "raised")
    hint = "takes the same model at opset {}, where Hardmax-13 is in force too"
    assert result.reason == f"{hint.format(halfway)}; at opset 13: {told}"
    assert result.printed == "first"
    asked, result = inquiry(case, refusal, NO, right())
    assert opsets(asked) == [13, halfway, last]
    assert result.verdict is Verdict.ERROR
    assert result.reason.startswith(hint.format(last))


def test_its_answer_there_need_not_be_right(tmp_path: Path) -> None:
    # That is for the cases at that opset to say.
    _, result = inquiry(one(tmp_path, "{name: made}"), NOT_HERE, Produced((), 0.1))
    assert result.verdict is Verdict.ERROR


def test_where_the_case_is_only_a_recommendation_it_is_a_warning(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, rule: should}")
    for refusal in (NO, NOT_HERE):
        _, result = inquiry(case, refusal, right())
        assert (result.verdict, result.failure) == (Verdict.WARN, "raised")


@pytest.mark.parametrize("later", [NO, NOT_HERE, NotRun("gone")])
def test_who_takes_it_at_no_later_opset_either_is_judged_by_its_own(tmp_path, later, wording):
    case = one(tmp_path, "{name: made}")
    _, result = inquiry(case, NOT_HERE, later, later)
    assert (result.verdict, result.reason) == (Verdict.UNSUPPORTED, "no kernel")
    _, result = inquiry(case, NO, later, later)
    assert result.reason == wording
    assert (result.verdict, result.failure) == (Verdict.ERROR, "raised")


@pytest.mark.parametrize("later", LOST)
def test_who_is_lost_at_a_later_opset_is_judged_by_its_own_and_that_is_told(tmp_path, later):
    _, result = inquiry(one(tmp_path, "{name: made}"), NOT_HERE, later, later)
    assert result.verdict is Verdict.UNSUPPORTED
    assert result.reason.startswith("no kernel; ")
    assert " at opset 21: " in result.reason


@pytest.mark.parametrize(
    "outcome",
    [
        right(),
        Produced((1 - RIGHT,), 0.1),
        Produced((RIGHT,), 0.1, unstable="so"),
        Raised("second run", "Refused", "no", True),
        NotRun("gone"),
        *LOST,
    ],
    ids=str,
)
def test_later_opsets_are_asked_about_after_refusals_alone(tmp_path, outcome):
    assert opsets(inquiry(one(tmp_path, "{name: made}"), outcome)[0]) == [13]


def test_nor_about_models_that_may_be_refused(tmp_path: Path) -> None:
    either = "[{as: no, rejected: why, legal: {attrs.axis: 0}}, {as: yes, output: [[1, 1, 1]]}]"
    admitted = f"{{name: made, attrs: {{axis: 2}}, rule: open, expect: {{any_of: {either}}}}}"
    for text in (REJECTED, admitted):
        for refusal in (NO, NOT_HERE):
            for twin in (NO, NOT_HERE):
                assert len(inquiry(one(tmp_path, text), refusal, twin)[0]) == 2


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        # The next version of Hardmax comes with opset 11.
        ("Hardmax", "opset: 10, attrs: {axis: 0}, inputs: {input: [1, 2]}"),
        (
            f"{HARDMAX1}\ndomain: com.microsoft.dml\nopset: 1",
            "attrs: {Axes: [0]}, inputs: {InputTensor: [1, 2]}",
        ),
    ],
    ids=["the last of its version", "DirectML"],
)
def test_where_there_is_no_later_opset_nothing_more_is_asked(tmp_path, op, fields):
    (case,) = cases_in(tmp_path, f"op: {op}\ndtype: float32\ncases:\n- {{name: made, {fields}}}")
    _, result = inquiry(case, NOT_HERE)
    assert result.verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize("error", [Refused("opset 13 is not here"), NotSupported("opset 13")])
def test_a_real_backend_is_asked_in_the_same_way(tmp_path: Path, error: Exception) -> None:
    seen = []

    def prepared(task: Task) -> Any:
        seen.append(task.opset)
        if task.opset == 13:
            raise error
        return Hardmax().prepared(task)

    (result,) = judged([one(tmp_path, "{name: made}")], [Fake(prepared)])
    assert result.verdict is Verdict.ERROR
    assert len(seen) == 2


def stale() -> Fake:
    return in_turn([RIGHT], [RIGHT], [RIGHT])


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


OLD = "answered other data of the same shape with the first run's answer"
AGAIN = "answered other data wrongly in its second run, and otherwise in a first run: "
WRONG = f"{AGAIN}the second differs from the first answer in output 0: 0.0 at [0, 0], first 1.0"


@pytest.mark.parametrize(
    ("fields", "backend", "reason"),
    [
        # Reversed, the input has its maxima elsewhere; one of equal numbers has them where it had.
        ("", stale, OLD),
        (", inputs: {input: {shape: [2, 3], constant: 1}}", stale, ""),
        (", inputs: {input: {shape: [2, 3], constant: 0}}", stale, ""),
        # The text does not decide.
        (", rule: should", stale, ""),
        ("", lambda: right_but(lambda run, _: run == 2), WRONG),
        # Whoever is wrong on other data in any run is left to other cases.
        ("", lambda: right_but(lambda _, x: not np.array_equal(x, X)), ""),
    ],
)
def test_who_answers_other_data_by_an_old_answer_is_unstable(tmp_path, fields, backend, reason):
    result = result_of(one(tmp_path, f"{{name: made{fields}}}"), backend())
    verdict = Verdict.UNSTABLE if reason else Verdict.PASS
    assert (result.verdict, result.reason) == (verdict, reason)


@pytest.mark.parametrize("lost", [Crashed, model.OutOfMemory])
def test_who_died_of_earlier_questions_is_held_to_what_came_of_other_data_alone(tmp_path, lost):
    backend = right_but(lambda _, x: not np.array_equal(x, X))

    def asked(survives: bool, question: model.Question) -> Outcome:
        outcome = attempt(backend, question)
        if np.array_equal(question.inputs[0], X):
            return outcome
        return lost("killed by SIGSEGV", outcome if survives else None)

    def judged_by(survives: bool) -> model.LiveResult:
        inquiry = CaseEvaluation(one(tmp_path, "{name: made}")).judge(backend.info)
        return run_here(inquiry, partial(asked, survives)).result

    assert judged_by(survives=True).verdict is Verdict.PASS
    found = judged_by(survives=False)
    assert (found.verdict, found.reason) == (Verdict.UNSTABLE, f"{AGAIN}killed by SIGSEGV")


def test_who_refuses_other_data_in_a_first_run_alone_is_unstable(
    tmp_path: Path, wording: Wording
) -> None:
    wrong = right_but(lambda _, x: not np.array_equal(x, X))

    def prepared(task: Task) -> Callable[[Any], Any]:
        run = wrong.prepare(task).run
        runs = itertools.count(1)

        def refuses(inputs: Any) -> Any:
            if next(runs) == 1 and not np.array_equal(inputs[0], X):
                raise Refused("not these data")
            return run(inputs)

        return refuses

    result = result_of(one(tmp_path, "{name: made}"), Fake(prepared))
    assert (result.verdict, result.failure) == (Verdict.UNSTABLE, "unstable")
    assert result.reason == wording


def drifting(*errors: float) -> Hardmax:
    """Hardmax, each run off by another error."""
    left = itertools.cycle(errors)
    return outputs(lambda out: np.abs(out - np.float32(next(left))))


def test_answers_that_differ_between_runs_and_are_right_pass_with_a_remark(
    tmp_path: Path, wording: Wording
) -> None:
    result = result_of(one(tmp_path, NEAR), drifting(0, 0, 0.05))
    assert (result.verdict, result.failure, result.irreproducible) == (Verdict.PASS, None, True)
    assert result.reason == wording
    assert not result_of(one(tmp_path, NEAR), drifting(0.05)).irreproducible


@pytest.mark.parametrize("errors", [(0, 0, 0.5), (0.5, 0, 0), (0.5, 0, 0.6)])
def test_if_one_of_them_is_wrong_the_backend_is_unstable(tmp_path, errors):
    (result,) = inline.diagnosed([one(tmp_path, NEAR)], drifting(*errors))
    assert (result.verdict, result.failure) == (Verdict.UNSTABLE, "unstable")
    # One answer alone, which may be right, shows no mistake.
    assert result.diagnoses == ()


def test_who_drifts_and_is_wrong_on_other_data_in_any_run_is_not_unstable(tmp_path: Path) -> None:
    wrong = right_but(lambda _, x: not np.array_equal(x, X))
    drift = itertools.count()

    def prepared(task: Task) -> Callable[[Any], Any]:
        run = wrong.prepare(task).run

        def drifts(inputs: Any) -> Any:
            return [np.abs(run(inputs)[0] - np.float32(0.01 * next(drift) % 0.1))]

        return drifts

    result = result_of(one(tmp_path, NEAR), Fake(prepared))
    assert (result.verdict, result.irreproducible) == (Verdict.PASS, True)


def test_other_data_that_nobody_calls_legal_may_be_refused(
    tmp_path: Path, wording: Wording
) -> None:
    # No other ratio is legal in every mode, so it stays, and who refuses other data is not accused.
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
    assert result.reason == wording


def test_a_wrong_answer_is_a_failure_before_it_is_an_old_one(tmp_path: Path) -> None:
    wrong = in_turn([1 - RIGHT], [1 - RIGHT], [1 - RIGHT])
    assert result_of(one(tmp_path, "{name: made}"), wrong).verdict is Verdict.FAIL


def test_an_operator_without_kernel_is_judged_by_its_expectation_alone(tmp_path: Path) -> None:
    text = """
        domain: ai.onnx.ml
        op: SVMRegressor
        dtype: float32
        opset: 1
        inputs: {X: [1]}
        cases:
        - {name: made, tolerance: {ulp: 0}, expect: {Y: [1]}}
    """
    (case,) = cases_in(tmp_path, text)
    out = np.ones(1, np.float32)
    assert result_of(case, answering(lambda inputs: [np.copy(out)])).verdict is Verdict.PASS
    assert result_of(case, in_turn([out], [out], [out])).verdict is Verdict.PASS
    assert result_of(case, ENGINE).verdict is Verdict.UNSUPPORTED


def test_what_is_drawn_at_random_is_judged_by_its_distribution(
    tmp_path: Path, wording: Wording
) -> None:
    text = """
        op: RandomNormal
        opset: 22
        cases:
        - {name: made, attrs: {shape: [20, 1000], scale: 4}}
    """
    (case,) = cases_in(tmp_path, text)
    rng = np.random.default_rng(3)

    def normal(scale: float) -> Callable[[Any], list[Any]]:
        return lambda inputs: [rng.normal(0, scale, (20, 1000)).astype(np.float32)]

    right = result_of(case, answering(normal(4)))
    assert (right.verdict, right.reason, right.irreproducible) == (Verdict.PASS, "", False)
    wrong = result_of(case, answering(normal(2)))
    assert (wrong.verdict, wrong.failure) == (Verdict.FAIL, "distribution")
    assert wrong.reason == wording
    zeros = [np.zeros((20, 1000), np.float32)]
    assert result_of(case, in_turn(zeros, zeros, zeros)).verdict is Verdict.FAIL


def test_a_rejection_passes_if_the_twin_is_accepted(tmp_path: Path) -> None:
    case = one(tmp_path, REJECTED)
    assert result_of(case, Hardmax()).verdict is Verdict.PASS
    assert result_of(case, refusing()).verdict is Verdict.ERROR
    assert result_of(case, answering(lambda inputs: [RIGHT])).verdict is Verdict.FAIL


# How else it may not look is in tests/compare/test_verdict.py.
@pytest.mark.parametrize(
    ("answer", "verdict"), [([RIGHT], Verdict.PASS), ([RIGHT[:1]], Verdict.FAIL)]
)
def test_the_twin_s_answer_must_look_like_one(tmp_path, answer, verdict):
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

    list(judged([one(tmp_path, REJECTED)], [backend("one"), backend("two")]))
    for name in ("one", "two"):
        assert [axis for who, axis in asked if who == name] == [2, 1]


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
