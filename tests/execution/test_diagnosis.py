"""A run names what a backend does wrong: that of a lying one, first, and nothing of a right one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.analysis import causes
from opcheck.diagnose import Suspects
from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.execution import mutate
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase, evidence, evidence_of_pass
from opcheck.execution.expected import node_of
from opcheck.execution.workers import run_here
from opcheck.model import Cell, LiveResult, OpVersion, Question, Verdict
from tests.asking import cases_in, shipped_cases
from tests.hardmax import Hardmax
from tests.inline import diagnosed, lying
from tests.miniatures import answering, refusing
from tests.report.made import recorded
from tests.wording import Wording

HEAD = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\ncases:\n"
TIES = "- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}\n"
LEGAL = "expect: {rejected: why, legal: {inputs.input: [[3, 3, 1]]}}"
TWIN = f"- {{name: of_rank_1, inputs: {{input: [3, 3, 1]}}, {LEGAL}}}\n"
LONG, FIRST = [0, 3, *[1] * 37, 3], [0, 1, *[0] * 38]
FAR = f"- {{name: far, inputs: {{input: [{LONG}]}}, expect: {{output: [{FIRST}]}}}}\n"
#: Each mutant is made once on a node, whichever of the others is the backend's mistake.
made_on = lru_cache(1 << 16)(Mutant.made_on)
remembered = cache(evidence_of_pass)


def by_name(name: str) -> Mutant:
    return next(one for one in mutants_of(OpVersion("", "Hardmax", 13)) if one.name == name)


def test_a_failure_is_told_what_it_looks_like(tmp_path: Path, wording: Wording) -> None:
    results = diagnosed(cases_in(tmp_path, HEAD + TIES + FAR), lying(by_name("last_of_ties")))
    assert [result.verdict for result in results] == [Verdict.FAIL, Verdict.FAIL]
    (cause,) = causes(map(recorded, results))
    assert (cause.diagnosis.mistake, len(cause.results)) == ("last_of_ties", 2)
    assert cause.diagnosis.text == wording


def test_a_pass_is_told_nothing(tmp_path: Path) -> None:
    results = diagnosed(cases_in(tmp_path, HEAD + TIES), Hardmax())
    assert [(result.verdict, result.diagnoses) for result in results] == [(Verdict.PASS, ())]


@pytest.mark.parametrize("got", [["x"] * 3, [1j] * 3, [b"x"] * 3])
def test_an_answer_that_is_no_number_is_a_failure_like_any_other(tmp_path: Path, got: Any) -> None:
    answer = np.array([got], object if got == ["x"] * 3 else None)
    (result,) = diagnosed(cases_in(tmp_path, HEAD + TIES), answering(lambda inputs: [answer]))
    assert result.verdict is Verdict.FAIL


@pytest.mark.parametrize("text", [TIES, TWIN], ids=["case", "twin"])
def test_a_refused_legal_model_looks_like_what_is_not_supported(tmp_path: Path, text: str) -> None:
    (result,) = diagnosed(cases_in(tmp_path, HEAD + text), refusing())
    mistakes = {one.mistake for one in result.diagnoses}
    assert mistakes & {"refuses_rank_1", "refuses_float32"} == {"refuses_float32"}


def test_an_operator_that_nobody_knows_is_not_diagnosed(tmp_path: Path) -> None:
    text = "op: Abs\ndtype: float32\nopset: 13\ntolerance: {ulp: 0}\ncases:\n"
    text += "- {name: one, inputs: {X: [-1]}, expect: {Y: [1]}}\n"
    wrong = answering(lambda inputs: [np.array([7], np.float32)])
    (result,) = diagnosed(cases_in(tmp_path, text), wrong)
    assert (result.verdict, result.diagnoses) == (Verdict.FAIL, ())


#: Failures of each that are looked at, and every how manyth mistake is made.
FAILURES = 15
STEP = 10


@cache
def shown(op: OpVersion) -> list[CaseEvaluation]:
    core = [case for case in shipped_cases(op.name) if case.level != "deep"]
    return [CaseEvaluation(case) for case in mutate.cells(core)[Cell(op, "float32")]]


def answers(evaluation: CaseEvaluation, mutant: Mutant) -> EvaluatedCase | None:
    """What the backend is worth that makes `mutant`; None where it does not show."""

    def answer(asked: Question) -> mutate.OutputsOrRefusal:
        own = asked is evaluation.question
        return mutant.made_on(evaluation.node if own else node_of(asked.task, asked.inputs))

    if mutate.same_outputs(answer(evaluation.question), mutate.right_of(evaluation.node)):
        return None
    return run_here(
        evaluation.judge(mutate.CANNED), lambda question: mutate.canned_outcome(answer(question))
    )


def failures(op: OpVersion, mutant: Mutant) -> Iterator[LiveResult]:
    suspects = Suspects(remembered)
    for evaluation in shown(op):
        seen_in = answers(evaluation, mutant)
        if seen_in is None or seen_in.result.verdict is Verdict.PASS:
            suspects.passed(evaluation.case)
        elif seen_in.result.verdict in mutate.RED and seen_in.wrong:
            seen = evidence(evaluation, seen_in.wrong)
            assert seen is not None
            yield replace(seen_in.result, diagnoses=suspects.diagnose(seen))


@pytest.mark.seconds(15)
@pytest.mark.gate
@pytest.mark.parametrize(
    "op",
    [
        OpVersion("", "Hardmax", 13),
        OpVersion("", "LpPool", 22),
        OpVersion("", "Softmax", 13),
        OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1),
    ],
    ids=str,
)
def test_nine_lies_of_ten_are_named_first(op: OpVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mutant, "made_on", lambda *those: made_on(*those))
    lies, wrong = 0, {}
    for mutant in mutants_of(op)[::STEP]:
        found = [one for one, _ in zip(failures(op, mutant), range(FAILURES), strict=False)]
        if mutate.why_harmless(mutant, op, "float32") is not None or not found:
            continue
        lies += 1
        # The first of those that explain most failures, as a run says at its end.
        explained = Counter(one.mistake for failure in found for one in failure.diagnoses)
        first, _ = explained.most_common(1)[0]
        if first != mutant.name:
            wrong[mutant.name] = first
    assert lies > 15
    assert len(wrong) <= lies / 10, wrong
