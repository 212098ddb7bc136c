"""One case: what is asked of each backend, one question after the other, and what it is worth."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from opcheck import opset
from opcheck.backends import same_answers
from opcheck.compare import Want, compare_outputs
from opcheck.compare.verdict import Judgement, judge, lost, unstable
from opcheck.engine import operator_of
from opcheck.model import (
    BackendInfo,
    Case,
    Computed,
    Crashed,
    NotRun,
    Outcome,
    OutOfMemory,
    Produced,
    Question,
    Raised,
    Reply,
    Result,
    TimedOut,
    Verdict,
)
from opcheck.run.oracle import Admission, WrongCase, admission, computed
from opcheck.run.question import question


@dataclass(frozen=True, eq=False)
class Judged:
    """A result, and where it is a failure, the question that was answered wrongly, with that."""

    result: Result
    failed: tuple[Question, Outcome] | None = None


#: Asks questions and is sent the replies; what it returns is the result.
Inquiry: TypeAlias = Generator[Question, Reply, Judged]


class Trial:
    """One case; its data and its admitted answers are made once for all backends."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def question(self) -> Question:
        """What every backend is asked."""
        return question(self.case)

    @cached_property
    def admission(self) -> Admission:
        """The answers admitted, and the legal twin of a model that is not."""
        return admission(self.case, self.question)

    @cached_property
    def wants_of_other_data(self) -> tuple[Want, ...] | None:
        """What the engine answers the other data, None where it does not know the operator."""
        case, asked = self.case, self.question
        if operator_of(case.op) is None:
            return None
        try:
            return computed(case, asked, asked.second)
        except WrongCase:
            return None

    def on(self, backend: BackendInfo) -> Inquiry:
        """The inquiry of one backend; a case that is itself wrong says so instead."""
        case = self.case
        try:
            admitted, asked = self.admission, self.question
        except ValueError as error:
            return Judged(Result(case, backend.address, Verdict.BAD_CASE, str(error)))
        except MemoryError:
            reason = "the case's data do not fit into memory"
            return Judged(Result(case, backend.address, Verdict.NOT_RUN, reason))
        reply = yield asked
        outcome, printed = reply.outcome, reply.printed
        twin: Outcome | None = None
        if admitted.twin and isinstance(outcome, Raised) and not outcome.unusable:
            answer = yield admitted.twin
            twin, printed = answer.outcome, printed + answer.printed
        judgement = judge(
            case.rule,
            admitted.answers,
            outcome,
            case.tolerance,
            like=asked.inputs[0] if asked.inputs else None,
            declared=backend.accumulate,
            twin=twin,
        )
        if judgement.verdict is Verdict.PASS and isinstance(outcome, Produced):
            contradiction = yield from self._contradiction(outcome, backend)
            if contradiction:
                judgement = unstable(contradiction)
        refused = judgement.failure == "raised" or judgement.verdict is Verdict.UNSUPPORTED
        if refused and not admitted.twin:
            judgement = yield from self._at_a_later_opset(judgement)
        result = Result(
            case=case,
            backend=backend.address,
            verdict=judgement.verdict,
            reason=judgement.reason or _unchecked(outcome),
            failure=judgement.failure,
            inexpressible=judgement.inexpressible,
            refused=judgement.refused,
            self_check=backend.engine and isinstance(case.expect, Computed),
            alternative=judgement.alternative,
            comparisons=judgement.comparisons,
            printed=printed,
            seconds=outcome.seconds if isinstance(outcome, Produced | TimedOut) else 0.0,
        )
        if judgement.failure is None:
            return Judged(result)
        return Judged(result, (admitted.twin, twin) if admitted.twin and twin else (asked, outcome))

    def _contradiction(
        self, outcome: Produced, backend: BackendInfo
    ) -> Generator[Question, Reply, str | None]:
        """How the answer to the other data contradicts the engine and the backend itself.

        Wrong alone is not enough: the case may be written for its own data only. A backend is
        unstable if it answers the other data differently when it sees them first, or with the
        old answer where the text decides.
        """
        case, wants = self.case, self.wants_of_other_data
        if wants is None or outcome.between is None:
            return None
        declared = backend.accumulate
        compared = compare_outputs(wants, outcome.between, case.tolerance, declared=declared)
        if all(c.problem in (None, "precision", "undecided") for c in compared):
            return None
        if outcome.stale and case.rule == "must":
            return "answered other data of the same shape with the first run's answer"
        fresh = (yield self.question.turned()).outcome
        if isinstance(fresh, NotRun):
            return None
        if isinstance(fresh, Produced) and same_answers(fresh.outputs, outcome.between):
            return None
        return "answered other data wrongly in its second run, and otherwise in a first run"

    def _at_a_later_opset(self, refused: Judgement) -> Generator[Question, Reply, Judgement]:
        """`refused`, unless it is only the opset's number that the backend does not like.

        An operator is the same at every opset from its version to the next.
        """
        case = self.case
        for number in opset.later(case.op, case.opset):
            task = replace(self.question.task, opset=number)
            reply = yield replace(self.question, task=task)
            if isinstance(reply.outcome, Crashed | TimedOut | OutOfMemory):
                told = lost(reply.outcome, f"; the same model at opset {number}: ").reason
                refused = replace(refused, reason=f"{refused.reason}{told}")
            if isinstance(reply.outcome, Produced):
                # In front, because what backends say may be long, and is cut.
                hint = f"takes the same model at opset {number}, where {case.op} is in force too"
                verdict = Verdict.WARN if case.rule == "should" else Verdict.ERROR
                reason = f"{hint}; at opset {case.opset}: {refused.reason}"
                return replace(refused, verdict=verdict, failure="raised", reason=reason)
        return refused


def _unchecked(outcome: Outcome) -> str:
    """What a pass does not show."""
    match outcome:
        case Produced(once=True):
            return "stability not checked: it is asked once"
        case Produced(between=None):
            return "stability on other data not checked: they were refused"
        case _:
            return ""
