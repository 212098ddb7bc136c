"""A case that is asked several times: what is right now and then is wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.errors import NotSupported
from opcheck.execution import judge_all
from opcheck.execution.evaluation import EvaluatedCase, combine_repeats
from opcheck.model import LiveResult, Verdict
from tests.asking import cases_in
from tests.execution.one import RIGHT, TWO, one
from tests.inline import Inline
from tests.miniatures import Fake, Refused, in_turn
from tests.report.made import result

WRONG = 1 - RIGHT
CONSTANT = "inputs: {input: {value: [[3, 3, 1], [3, 0, 3]], initializer: true}}"
STATED = "expect: {output: [[1, 0, 0], [1, 0, 0]]}"


class Flaky:
    """Prepared anew, it gives the next of its answers, each time it is run."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.prepared = 0

    def __call__(self, task: Any) -> Any:
        if task.opset != 13:
            raise Refused("this opset never")
        answer = self.answers[self.prepared % len(self.answers)]
        self.prepared += 1

        def run(inputs: Sequence[Any]) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return [answer.copy()]

        return run


def asked(case: Any, *answers: Any, times: int | None = None, **options: Any) -> LiveResult:
    """What comes of a case that is asked as often as there are answers."""
    backend = Inline(Fake(Flaky(*answers)))
    (found,) = judge_all([case], [backend], times=times or len(answers), **options)
    return found


@pytest.fixture
def case(tmp_path: Path) -> Any:
    # The stability on other data is another matter, and a constant has no other data.
    return one(tmp_path, f"{{name: made, {CONSTANT}, {STATED}}}")


def test_who_is_right_each_time_is_right(case: Any) -> None:
    found = asked(case, *[RIGHT] * 4)
    assert (found.verdict, found.reason) == (Verdict.PASS, "")
    assert found.verdicts == {Verdict.PASS: 4}


def test_asked_once_nothing_is_counted(case: Any) -> None:
    assert asked(case, RIGHT).verdicts is None


@pytest.mark.parametrize("wrong", [(0,), (9,), (2, 5, 7)])
def test_who_is_wrong_now_and_then_is_unstable(case: Any, wrong: tuple[int, ...]) -> None:
    answers = [WRONG if number in wrong else RIGHT for number in range(10)]
    found = asked(case, *answers)
    assert (found.verdict, found.failure) == (Verdict.UNSTABLE, "unstable")
    assert found.verdicts == {Verdict.FAIL: len(wrong), Verdict.PASS: 10 - len(wrong)}
    assert found.reason == (
        f"{len(wrong)} of 10: fail: output: 6 of 6 elements wrong; {10 - len(wrong)} of 10: pass"
    )
    # What was wrong is shown, and not what was right.
    assert found.comparisons[0].wrong == 6


def test_who_is_wrong_each_time_fails_as_ever(case: Any) -> None:
    found = asked(case, WRONG, WRONG, WRONG)
    assert (found.verdict, found.failure) == (Verdict.FAIL, "values")
    assert found.verdicts == {Verdict.FAIL: 3}


def test_who_supports_it_now_and_then_is_unstable(case: Any) -> None:
    found = asked(case, RIGHT, NotSupported("no kernel"), RIGHT)
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason == "1 of 3: unsupported: no kernel; 2 of 3: pass"


def test_who_raises_now_and_then_is_unstable(case: Any) -> None:
    found = asked(case, RIGHT, Refused("busy"))
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason == "1 of 2: error: raised on a legal model: Refused: busy; 1 of 2: pass"


def test_who_fails_in_several_ways_is_unstable(case: Any) -> None:
    found = asked(case, WRONG, Refused("busy"), WRONG)
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason.startswith("2 of 3: fail: ")


def test_a_refusal_and_an_answer_contradict_each_other() -> None:
    answers = [EvaluatedCase(result(refused=refused)) for refused in (True, False, True)]
    found = combine_repeats(answers).result
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason == "2 of 3: pass by refusal; 1 of 3: pass"


# ── right answers that differ ─────────────────────────────────────────────────────────────────
NEARLY = np.abs(RIGHT - np.float32(0.01))
LENIENT = f"{{name: made, tolerance: {{atol: 0.1}}, {CONSTANT}, {STATED}}}"
SAID = "not reproducible to the bit: another answer than the first time"


def test_right_answers_that_differ_are_a_remark(tmp_path: Path) -> None:
    case = one(tmp_path, LENIENT)
    found = asked(case, RIGHT, RIGHT, NEARLY)
    assert (found.verdict, found.irreproducible) == (Verdict.PASS, True)
    assert found.verdicts == {Verdict.PASS: 3}
    assert not asked(case, RIGHT, RIGHT, RIGHT).irreproducible
    assert asked(case, RIGHT, NEARLY, WRONG).verdict is Verdict.UNSTABLE


def test_they_are_red_where_that_is_asked_for(tmp_path: Path) -> None:
    case = one(tmp_path, LENIENT)
    found = asked(case, RIGHT, NEARLY, reproducible=True)
    assert (found.verdict, found.failure, found.reason) == (Verdict.UNSTABLE, "unstable", SAID)
    assert asked(case, RIGHT, RIGHT, reproducible=True).verdict is Verdict.PASS
    # A wrong answer is that, whatever it was before.
    assert asked(case, WRONG, 2 * WRONG, reproducible=True).verdict is Verdict.FAIL
    runs = in_turn(*([answer] for answer in (RIGHT, RIGHT, NEARLY)))
    for reproducible, verdict in ((False, Verdict.PASS), (True, Verdict.UNSTABLE)):
        (found,) = judge_all([case], [Inline(runs)], reproducible=reproducible)
        assert (found.verdict, found.irreproducible) == (verdict, True)


def test_what_was_not_delivered_leaves_too_few_answers_but_excuses_no_wrong_one() -> None:
    gone = EvaluatedCase(result(Verdict.NOT_RUN, reason="it is gone"))
    right, wrong = (
        EvaluatedCase(result()),
        EvaluatedCase(result(Verdict.FAIL, failure="values", reason="bad")),
    )
    found = [combine_repeats(all_).result for all_ in ([right, gone], [gone, wrong], [gone, gone])]
    assert [one.verdict for one in found] == [Verdict.NOT_RUN, Verdict.FAIL, Verdict.NOT_RUN]
    assert found[0].reason == "it is gone"
    assert combine_repeats([right, gone, wrong]).result.verdict is Verdict.UNSTABLE


def test_a_warning_each_time_is_one_and_now_and_then_a_contradiction(tmp_path: Path) -> None:
    case = one(tmp_path, f"{{name: made, rule: should, {CONSTANT}, {STATED}}}")
    assert asked(case, WRONG, WRONG).verdict is Verdict.WARN
    assert asked(case, RIGHT, WRONG).verdict is Verdict.UNSTABLE


def test_each_time_a_refusal_asks_for_its_legal_twin(tmp_path: Path) -> None:
    _, refused = cases_in(tmp_path, TWO)
    found = asked(refused, Refused("axis"), RIGHT, Refused("axis"), RIGHT, times=2)
    assert (found.verdict, found.verdicts) == (Verdict.PASS, {Verdict.PASS: 2})
    found = asked(refused, Refused("axis"), RIGHT, RIGHT, times=2)
    assert found.reason.startswith("1 of 2: fail: accepts an invalid model")
    assert found.reason.endswith("1 of 2: pass by refusal")


def test_a_case_that_is_wrong_is_not_asked_again(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, expect: {output: [[0, 1, 0], [1, 0, 0]]}}")
    found = asked(case, RIGHT, times=5)
    assert (found.verdict, found.verdicts) == (Verdict.BAD_CASE, None)
