"""The run itself: every case on every backend, judged, one result at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from opcheck.backends import Backend, same_answers
from opcheck.compare import Want, compare_outputs
from opcheck.compare.verdict import judge, unstable
from opcheck.engine import operator_of
from opcheck.known import Ledger, explain
from opcheck.model import Array, Case, Computed, Produced, Result, Verdict
from opcheck.run.oracle import ForBackend, WrongCase, admitted, computed
from opcheck.run.question import Question, question


def conduct(
    cases: Iterable[Case], backends: Sequence[Backend], ledgers: Sequence[Ledger] = ()
) -> Iterator[Result]:
    """Every case on every backend, case by case, in the given order; `ledgers` explain failures."""
    for case in cases:
        trial = Trial(case)
        for backend in backends:
            yield explain(ledgers, trial.on(backend), backend.info)


class Trial:
    """One case; its data and its admitted answers are made once for all backends."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def question(self) -> Question:
        """What every backend is asked."""
        return question(self.case)

    @cached_property
    def admitted(self) -> ForBackend:
        """The answers admitted."""
        return admitted(self.case, self.question)

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

    def on(self, backend: Backend) -> Result:
        """The result of one backend; a case that is itself wrong says so instead."""
        case = self.case
        try:
            answers = self.admitted(backend)
            outcome = self.question.ask(backend)
        except ValueError as error:
            return Result(case, backend.info.address, Verdict.BAD_CASE, str(error))
        except MemoryError:
            reason = "the case's data do not fit into memory"
            return Result(case, backend.info.address, Verdict.NOT_RUN, reason)
        judgement = judge(
            case.rule, answers, outcome, case.tolerance, self._like(), backend.info.accumulate
        )
        if judgement.verdict is Verdict.PASS and isinstance(outcome, Produced):
            contradiction = self._contradiction(outcome, backend)
            if contradiction:
                judgement = unstable(contradiction)
        unchecked = isinstance(outcome, Produced) and outcome.between is None
        remark = "stability on other data not checked: they were refused" if unchecked else ""
        return Result(
            case=case,
            backend=backend.info.address,
            verdict=judgement.verdict,
            reason=judgement.reason or remark,
            failure=judgement.failure,
            refused=judgement.refused,
            self_check=backend.is_engine and isinstance(case.expect, Computed),
            alternative=judgement.alternative,
            comparisons=judgement.comparisons,
            seconds=outcome.seconds if isinstance(outcome, Produced) else 0.0,
        )

    def _like(self) -> Array | None:
        return self.question.inputs[0] if self.question.inputs else None

    def _contradiction(self, outcome: Produced, backend: Backend) -> str | None:
        """How the answer to the other data contradicts the engine and the backend itself.

        Wrong alone is not enough: the case may be written for its own data only. A backend is
        unstable if it answers the other data differently when it sees them first, or with the
        old answer where the text decides.
        """
        case, wants = self.case, self.wants_of_other_data
        if wants is None or outcome.between is None:
            return None
        declared = backend.info.accumulate
        compared = compare_outputs(wants, outcome.between, case.tolerance, declared=declared)
        if all(c.problem in (None, "precision", "undecided") for c in compared):
            return None
        if outcome.stale and case.rule == "must":
            return "answered other data of the same shape with the first run's answer"
        fresh = self.question.turned().ask(backend)
        if isinstance(fresh, Produced) and same_answers(fresh.outputs, outcome.between):
            return None
        return "answered other data wrongly in its second run, and otherwise in a first run"
