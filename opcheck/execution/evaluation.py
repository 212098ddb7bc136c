"""One case: the questions to each backend, one after the other, and the verdict.

Each time a case is asked it is a fresh question, prepared anew, maybe in another process. One right
answer excuses no wrong one: a backend that fails some of the times fails.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from opcheck import grouping, model, opset, own_memory
from opcheck.backends import execute, same_answers, transport
from opcheck.compare import Want, are_plainly_right, compare_outputs, verdict
from opcheck.compare.outputs import Comparisons, Outputs
from opcheck.compare.verdict import Admitted, Answer, Refusal, check_self_consistent, judge_among
from opcheck.diagnose.suspects import Evidence
from opcheck.engine import Node, operator_of
from opcheck.execution import expected
from opcheck.execution.workers import Inquiry
from opcheck.graph import WholeModel
from opcheck.graph.test_data import output_declarations
from opcheck.model import Array, BackendInfo, Case, LiveResult, Outcome, Question, Verdict

_ONCE = "stability not checked: it is asked once"
_WRONG_IN_ITS_SECOND_RUN = (
    "answered other data wrongly in its second run, and otherwise in a first run"
)
#: True for an answer to the case's legal twin, and the answer.
WrongAnswer: TypeAlias = tuple[bool, Outcome]


@dataclass(frozen=True, eq=False)
class EvaluatedCase:
    """The result of a backend on a case."""

    result: LiveResult
    failed: WrongAnswer | None = None
    #: The outcome, if it is to be judged by those of other backends.
    open: Outcome | None = None
    answer: model.Produced | None = None
    #: Other failures of a case that was asked several times.
    others: tuple["EvaluatedCase", ...] = ()
    #: It fails on other data than the case's own alone.
    elsewhere: bool = False
    #: The case takes more than opcheck computes, so that no backend was asked.
    is_too_large: bool = False

    def changed(self, **fields: Any) -> "EvaluatedCase":
        """Return a copy with other `fields` of the result."""
        return replace(self, result=replace(self.result, **fields))


@dataclass(frozen=True, eq=False)
class _Expectation:
    """The `admitted` answers, or why there are none: no oracle or no formula gives one."""

    admitted: tuple[Admitted, ...] = ()
    no_oracle: str = ""
    no_formula: str = ""


@dataclass(frozen=True, eq=False)
class _BackendAnswer:
    """What a backend answered to the case."""

    #: The outputs as they came, None if none did.
    produced: model.Produced | None
    #: The outcome to be judged: of a model, without declarations that repeat its own wrong text.
    outcome: Outcome
    #: What that text of the model contradicts, or "".
    note: str
    #: The outcome of the case's legal twin, if that was asked.
    twin: Outcome | None
    printed: str


class CaseEvaluation:
    """One case; its data and its answers, by the `oracle_answer` if any, are made once for all."""

    def __init__(self, case: Case, oracle_answer: expected.OracleAnswer | None = None) -> None:
        self.case, self.oracle_answer = case, oracle_answer

    @property
    def for_the_oracle(self) -> Question | None:
        """The question for the case's oracle; None where it has none, or none can be asked."""
        if self.case.expect.oracle is None:
            return None
        try:
            return self.question
        except (ValueError, MemoryError):
            return None  # `on` reports it

    @cached_property
    def question(self) -> Question:
        """The question that every backend is asked."""
        return expected.question(self.case)

    @cached_property
    def node(self) -> Node:
        """The node that the question asks about, which is computed right and wrong once for all."""
        return expected.node_of(self.question.task, self.question.inputs)

    @cached_property
    def accepted_answers(self) -> tuple[verdict.Admitted, ...]:
        """The answers admitted."""
        return expected.accepted_answers(self.case, self.question, self.oracle_answer)

    @cached_property
    def answers_to_other_data(self) -> tuple[tuple[Want, ...], ...] | None:
        """Outputs that are right for the other data, by oracle or engine; None if neither answers.

        The text may admit several.
        """
        case, asked = self.case, self.question
        try:
            if self.oracle_answer:
                return (self.oracle_answer.wants(case, other_data=True),)
            known = case.op == model.GRAPH and isinstance(case.expect, model.Computed)
            if known or operator_of(case.op):
                answers = expected.computed_answers(case, asked, asked.second)
                return tuple(it.wants for it in answers if isinstance(it, verdict.Answer))
        except (expected.OracleUnavailable, expected.WrongCase, expected.Unsupported):
            pass
        return None

    def compared_on_other_data(self, backend: BackendInfo, answer: Outputs) -> Comparisons | None:
        """The comparisons of an answer to the other data, None if nobody knows."""
        if (answers := self.answers_to_other_data) is None:
            return None
        compared: Comparisons = ()
        for wants in answers:
            if are_plainly_right(wants, answer, self.case.tolerance):
                return ()
            compared = compare_outputs(
                wants, answer, self.case.tolerance, declared=backend.accumulate
            )
            if _are_right(compared):
                return compared
        return compared

    def is_right_on_other_data(self, backend: BackendInfo, answer: Outputs) -> bool | None:
        """Return True if this answer to the other data is right, None if nobody knows."""
        compared = self.compared_on_other_data(backend, answer)
        return None if compared is None else _are_right(compared)

    @property
    def is_model(self) -> bool:
        """True for a model that the engine computes."""
        return self.case.model is not None and isinstance(self.case.expect, model.Computed)

    def on(self, backend: BackendInfo) -> Inquiry[EvaluatedCase]:
        """Judge one backend on the case, with as many questions as that takes.

        A case that judges no backend is settled without a question. Otherwise the backend answers
        it, and what it answers is judged: on the case's own data, then on other data of the same
        shapes. What opcheck itself cannot judge accuses nobody. A backend that refuses the model
        answers it again at later opsets, where the operator is the same.
        """
        expectation = self._expectation(backend)
        if isinstance(expectation, EvaluatedCase):
            return expectation
        if expectation.no_formula:
            return (yield from self._fate(backend, expectation.no_formula))
        answer = yield from self._answer_of(backend)
        if self.case.expect.compares_backends:
            return self._to_be_compared(backend, answer)
        judgement = self._judged(backend, answer, expectation)
        elsewhere = yield from self._elsewhere(backend, answer, judgement)
        judgement = elsewhere or judgement
        if why := self._why_nothing_is_judged(judgement):
            return self._unsupported(backend, why)
        if self._may_be_the_opset(judgement):
            judgement = yield from self._at_a_later_opset(judgement)
        return self._evaluated(backend, answer, judgement, is_elsewhere=elsewhere is not None)

    def _expectation(self, backend: BackendInfo) -> "_Expectation | EvaluatedCase":
        """Return the expectation, or the result of a case that judges this backend not at all."""
        case = self.case
        if case.beyond:
            return self._unsupported(backend, f"unsupported by opcheck: {case.beyond}")
        try:
            _ = self.question
            expectation = _Expectation(self.accepted_answers)
        except expected.OracleUnavailable as error:
            expectation = _Expectation(no_oracle=str(error))
        except expected.TooLarge as error:
            return replace(self._unsupported(backend, str(error)), is_too_large=True)
        except expected.Unsupported as error:
            if case.op != model.GRAPH:
                return self._unsupported(backend, str(error))
            return _Expectation(no_formula=f"{error}; opcheck locate judges each node")
        except ValueError as error:
            return EvaluatedCase(LiveResult(case, backend.address, Verdict.BAD_CASE, str(error)))
        except MemoryError:
            reason = f"the case's data do not fit into memory{own_memory.limit_in_words()}"
            return EvaluatedCase(LiveResult(case, backend.address, Verdict.NOT_RUN, reason))
        if isinstance(case.expect, model.Rejected) and not backend.refuses:
            reason = "it declares that it does not refuse invalid models (refuses=false)"
            return EvaluatedCase(LiveResult(case, backend.address, Verdict.UNSUPPORTED, reason))
        return expectation

    def _fate(self, backend: BackendInfo, why: str) -> Inquiry[EvaluatedCase]:
        """Judge whether a backend dies of a model of which nobody knows the answer."""
        fate = verdict.judge_without_oracle(self.case.rule, (yield self.question).outcome, why)
        if fate == verdict.Judgement(Verdict.NOT_RUN, why):
            return self._unsupported(backend, why)
        return EvaluatedCase(LiveResult(self.case, backend.address, **vars(fate)))

    def _answer_of(self, backend: BackendInfo) -> Inquiry["_BackendAnswer"]:
        """Ask the backend, and about the legal twin if it refuses a model that it may refuse."""
        asked = self.question
        reply = yield asked
        outcome, printed = confirmed(reply.outcome, asked.task, backend), reply.printed
        twin: Outcome | None = None
        if asked.twin and _may_refuse(outcome):
            reply = yield asked.twin
            twin = confirmed(reply.outcome, asked.twin.task, backend)
            printed += reply.printed
        produced: model.Produced | None = None
        note = ""
        if isinstance(outcome, model.Produced):
            produced = outcome
            if self.case.model:
                outcome, note = self._without_own_text(self.case.model, produced)
        return _BackendAnswer(
            produced=produced, outcome=outcome, note=note, twin=twin, printed=printed
        )

    def _without_own_text(self, data: bytes, outcome: model.Produced) -> tuple[model.Produced, str]:
        """The answer without declared outputs that only repeat a wrong text of the model.

        Then what that text contradicts, or "". Such a model is judged by its values.
        """
        names = [output.name for output in self.case.outputs]
        wrong = verdict.misdeclared(outcome, names)
        if not wrong:
            return outcome, ""
        without = verdict.without_own_text(outcome, output_declarations(data))
        if verdict.misdeclared(without, names):
            return outcome, ""
        return without, f"the model contradicts itself and is judged by its values: {wrong}"

    def _to_be_compared(self, backend: BackendInfo, answer: "_BackendAnswer") -> EvaluatedCase:
        """Return an open result, which the answers of other backends will judge."""
        outcome = check_self_consistent(self.case, answer.outcome)
        result = LiveResult(
            self.case,
            backend.address,
            Verdict.NOT_RUN,
            printed=answer.printed,
            seconds=_seconds(outcome),
        )
        return EvaluatedCase(result, open=outcome, answer=answer.produced)

    def _judged(
        self, backend: BackendInfo, answer: "_BackendAnswer", expectation: "_Expectation"
    ) -> verdict.Judgement:
        """Judge an answer to the case's own data."""
        case, outcome = self.case, answer.outcome
        if expectation.no_oracle:
            return verdict.judge_without_oracle(
                case.rule, check_self_consistent(case, outcome), expectation.no_oracle
            )
        judgement = verdict.judge(
            case.rule,
            expectation.admitted,
            outcome,
            case.tolerance,
            self.like,
            backend.accumulate,
            answer.twin,
        )
        is_poorer = any(one.problem == "precision" for one in judgement.comparisons)
        if self.is_model and judgement.verdict is Verdict.BAD_CASE and is_poorer:
            return replace(judgement, verdict=Verdict.WARN, failure="precision")
        return judgement

    def _elsewhere(
        self, backend: BackendInfo, answer: "_BackendAnswer", judgement: verdict.Judgement
    ) -> Inquiry[verdict.Judgement | None]:
        """Judge the answer to other data, None if it changes nothing about the judgement."""
        is_pass = judgement.verdict is Verdict.PASS
        # A model that is off, or of which nobody knows a part, is not wrong; it may be elsewhere.
        is_vague = judgement.verdict is Verdict.BAD_CASE or verdict.is_right(judgement)
        if answer.produced is None or not (is_pass or (self.is_model and is_vague)):
            return None
        found = yield from self._on_other_data(answer.produced, backend, is_off=not is_pass)
        if found is None or (found.failure == "precision" and not is_pass):
            return None
        return found

    def _why_nothing_is_judged(self, judgement: verdict.Judgement) -> str:
        """Describe why a judgement says nothing about the backend, or ""."""
        if judgement.verdict is Verdict.PASS and (why := self._says_nothing()):
            return why
        # No backend need take a model whose types contradict each other.
        data = self.case.model if judgement.failure in ("raised", "declared") else None
        if data and (why := self._contradiction(data)):
            return f"the model contradicts itself: {why}"
        if judgement.verdict is Verdict.BAD_CASE and self.case.op == model.GRAPH:
            return f"unsupported by opcheck: {judgement.reason}"
        return ""

    def _contradiction(self, data: bytes) -> str:
        """How a model contradicts itself, as onnx infers or as the engine computes; else ""."""
        if found := WholeModel(data, self.question.task.inputs).contradiction:
            return found
        if not self.is_model:
            return ""
        wants = next((one.wants for one in self.accepted_answers), ())
        for stated, want in zip(output_declarations(data), wants, strict=False):
            if not stated.fits(want.values.shape):
                gives = f"its nodes give {[*want.values.shape]}"
                return f"{want.name} is declared as {stated}, and {gives}"
        return ""

    def _may_be_the_opset(self, judgement: verdict.Judgement) -> bool:
        """Return True if a node is refused, maybe for the number of its opset alone."""
        if self.question.twin or self.case.model is not None:
            return False
        return judgement.failure == "raised" or judgement.verdict is Verdict.UNSUPPORTED

    def _evaluated(
        self,
        backend: BackendInfo,
        answer: "_BackendAnswer",
        judgement: verdict.Judgement,
        *,
        is_elsewhere: bool,
    ) -> EvaluatedCase:
        """Return the result, with what its diagnosis needs; `is_elsewhere`: by other data."""
        case = self.case
        outcome = answer.outcome
        produced = answer.produced
        fields = vars(judgement) | {
            "reason": self._reason(answer, judgement),
            "printed": answer.printed,
            "seconds": _seconds(outcome),
            # The expected answer may come from the backend itself.
            "self_check": backend.engine and isinstance(case.expect, model.Computed),
        }
        if self.oracle_answer:
            oracle = self.oracle_answer.oracle
            fields |= {
                "self_check": expected.is_the_same(backend, oracle),
                "oracle": str(oracle),
            }
            has_evidence = judgement.comparisons or judgement.failure == "raised"
            if judgement.failure and has_evidence:
                fields["reason"] = f"unlike oracle {oracle}: {fields['reason']}"
        result = LiveResult(case, backend.address, **fields)
        if judgement.failure in (None, "declared"):  # the values of the latter are right
            return EvaluatedCase(result, answer=produced)
        # One answer alone shows no mistake, nor does that to the case's own data.
        if produced and (judgement.failure == "unstable" or is_elsewhere):
            outcome = replace(produced, unstable=judgement.reason)
        failed = (True, answer.twin) if answer.twin else (False, outcome)
        kept = produced if judgement.failure == "precision" else None
        return EvaluatedCase(result, failed, answer=kept, elsewhere=is_elsewhere)

    def _reason(self, answer: "_BackendAnswer", judgement: verdict.Judgement) -> str:
        """Return the reason of a judgement, with what it leaves unjudged or unchecked."""
        reason = judgement.reason or answer.note
        part = ""
        if self.case.model and judgement.verdict is Verdict.PASS:
            part = _judged_part(judgement)
        if part:
            return f"{part}; {reason}" if reason else part
        return reason or _unchecked(self.case, answer.outcome)

    def _says_nothing(self) -> str:
        """Describe why a right answer to a model says nothing, or ""."""
        if not self.is_model:
            return ""
        values = [want.values for one in self.accepted_answers for want in one.wants]
        if not any(x.size for x in values):
            return "nothing is judged: no output has an element"
        if all(x.dtype.kind == "f" and np.isnan(x).all() for x in values if x.size):
            return "nothing is judged: no element of an output is a number"
        return ""

    def _unsupported(self, backend: BackendInfo, reason: str) -> EvaluatedCase:
        result = LiveResult(self.case, backend.address, Verdict.UNSUPPORTED, reason)
        return EvaluatedCase(replace(result, inexpressible=True, beyond=True))

    @property
    def like(self) -> Array | None:
        """The input shown next to wrong elements."""
        return self.question.inputs[0] if self.question.inputs else None

    def _on_other_data(
        self, outcome: model.Produced, backend: BackendInfo, *, is_off: bool
    ) -> Inquiry[verdict.Judgement | None]:
        """The verdict on the answer to other data; None where that is right.

        If the answer to the first data `is_off`, poorer arithmetic on other data is none more.
        """
        answer = outcome.between
        compared = None if answer is None else self.compared_on_other_data(backend, answer)
        if answer is None or compared is None:
            return None
        is_wrong = not _are_right(compared)
        is_poor = self.is_model and any(one.problem == "precision" for one in compared)
        if not is_wrong and (is_off or not is_poor):
            return None
        # Wrong alone is not enough for a case: it may be written for its own data only.
        if is_wrong and outcome.stale and self.case.rule == "must":
            said = "answered other data of the same shape with the first run's answer"
            return verdict.unstable(said)
        fresh = _of_itself((yield self.question.turned()).outcome)
        if self.is_model:
            return self._on_other_data_twice(answer, fresh, backend)
        if isinstance(fresh, model.NotRun):
            return None
        if isinstance(fresh, model.Produced):
            wrong = not self.is_right_on_other_data(backend, fresh.outputs)
            # Or its answers differ anyway, and here they are wrong whenever it is asked.
            how = execute.changed(fresh.outputs, answer, "the second")
            if not how or (outcome.again and wrong):
                return None
        else:
            how = verdict.judge_without_expected("must", fresh).reason
        return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {how}")

    def _on_other_data_twice(
        self, answer: execute.Outputs, fresh: Outcome, backend: BackendInfo
    ) -> verdict.Judgement | None:
        """The verdict on a model's `answer` to other data, and a `fresh` one; None if right."""
        how: str | None = None
        outcome = model.Produced(answer, 0.0, once=True)
        if isinstance(fresh, model.Produced):
            how = fresh.unstable or execute.changed(fresh.outputs, answer, "the second")
            again = fresh.outputs if how else None
            outcome = replace(outcome, unstable=fresh.unstable, again=again, differs=how or "")
        elif not isinstance(fresh, model.NotRun):
            how = verdict.judge_without_expected("must", fresh).reason
            return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {how}")
        wanted = [verdict.Answer(wants) for wants in self.answers_to_other_data or ((),)]
        found = verdict.judge(
            self.case.rule, wanted, outcome, self.case.tolerance, declared=backend.accumulate
        )
        if found.failure == "unstable":
            return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {found.reason}")
        if found.failure is None:
            return None
        reason = f"on other data of the same shapes: {found.reason}"
        kind: model.Failure = "precision" if found.failure == "precision" else "other_data"
        return replace(found, reason=reason, failure=kind)

    def _at_a_later_opset(self, refused: verdict.Judgement) -> Inquiry[verdict.Judgement]:
        """`refused`, unless the backend refuses only the number of the opset."""
        case = self.case
        # An operator is the same at every opset from its version to the next.
        for number in opset.later(case.op, case.opset):
            reply = yield replace(self.question, task=replace(self.question.task, opset=number))
            outcome = _of_itself(reply.outcome)
            if isinstance(outcome, model.Crashed | model.TimedOut | model.OutOfMemory):
                message = verdict.judge_without_expected(case.rule, outcome).reason
                message = f"{refused.reason}; the same model at opset {number}: {message}"
                refused = replace(refused, reason=message)
            if isinstance(outcome, model.Produced):
                # In front, because messages of backends may be long, and are cut.
                hint = f"takes the same model at opset {number}, where {case.op} is in force too"
                found = Verdict.WARN if case.rule == "should" else Verdict.ERROR
                reason = f"{hint}; at opset {case.opset}: {refused.reason}"
                return replace(refused, verdict=found, failure="raised", reason=reason)
        return refused


def _are_right(compared: Comparisons) -> bool:
    return all(one.problem in (None, "precision", "undecided") for one in compared)


def _of_itself(outcome: Outcome) -> Outcome:
    """The answer of a fresh process, where earlier questions had done the damage."""
    if isinstance(outcome, model.Crashed | model.OutOfMemory):
        return outcome.alone or outcome
    return outcome


def _may_refuse(outcome: Outcome) -> bool:
    """Return True if an invalid model may have been refused, which its legal twin decides."""
    outcome = _of_itself(outcome)
    if isinstance(outcome, model.Declined):
        return not outcome.inexpressible
    return isinstance(outcome, model.Raised) and not outcome.unusable


def confirmed(outcome: Outcome, task: model.Task, backend: BackendInfo) -> Outcome:
    """Return an outcome whose claim that nothing could be asked is this process's own finding.

    The claim comes from the backend's process, where a backend could make it wherever it is wrong.
    It is dropped unless no ONNX model states the task, or opcheck's adapter cannot hand it over.
    """
    if not isinstance(outcome, model.Declined) or not outcome.inexpressible:
        return outcome
    if transport.why_no_model(task):
        return outcome
    if transport.limit(task, backend.kind):
        return replace(outcome, beyond=True)
    return replace(outcome, inexpressible=False)


def _seconds(outcome: Outcome) -> float:
    """Return how long an answer took, or how long it was waited for; 0 for a refusal."""
    return outcome.seconds if isinstance(outcome, model.Produced | model.TimedOut) else 0.0


def _judged_part(judgement: verdict.Judgement) -> str:
    """Describe how much of a model's outputs a pass has judged; "" for all, and for nothing."""
    compared = judgement.comparisons
    left = [one for one in compared if one.unjudged]
    if not left or all(one.unjudged == one.total for one in compared):
        return ""
    parts = [
        f"{one.output}: its type and shape"
        if one.unjudged == one.total
        else f"{one.output}: {one.total - one.unjudged:,} of {one.total:,} elements"
        for one in left
    ]
    return f"{verdict.IN_PART}: {'; '.join(parts)}"


def _unchecked(case: Case, outcome: Outcome) -> str:
    if case.expect.random and operator_of(case.op) is None:
        return "values that are drawn at random are not judged, only their type and shape"
    match outcome:
        case model.Produced(once=True):
            return _ONCE
        case model.Produced(between=None):
            return "stability on other data not checked: they were refused"
        case _:
            return ""


def repeated(case: CaseEvaluation, info: BackendInfo, times: int) -> Inquiry[list[EvaluatedCase]]:
    """The inquiry of one backend, made so many times; of a case that is wrong, once."""
    judged: list[EvaluatedCase] = []
    first: model.Produced | None = None
    for _ in range(times):
        one = yield from case.on(info)
        first, answer = first or one.answer, one.answer
        random = first and case.question.random
        if first and answer and not (random or same_answers(first.outputs, answer.outputs)):
            one = _differing(case, info, one, first, answer)
        judged.append(replace(one, answer=None))
        if judged[0].result.verdict is Verdict.BAD_CASE:
            break
    return judged


def _differing(
    case: CaseEvaluation,
    info: BackendInfo,
    one: EvaluatedCase,
    first: model.Produced,
    answer: model.Produced,
) -> EvaluatedCase:
    """`one` of several results, whose `answer` to the same data differs from the `first` one."""
    message = f"{verdict.IRREPRODUCIBLE}: another answer than the first time"
    if one.result.failure in (None, "precision") and not case.case.expect.compares_backends:
        both = replace(first, again=answer.outputs, differs="another answer than the first time")
        admitted, tolerance = case.accepted_answers, case.case.tolerance
        found = verdict.judge(case.case.rule, admitted, both, tolerance, declared=info.accumulate)
        if found.failure == "unstable":
            return one.changed(verdict=found.verdict, failure="unstable", reason=found.reason)
    return one.changed(reason=one.result.reason or message, irreproducible=True)


def as_required(judged: EvaluatedCase) -> EvaluatedCase:
    """Return the result as `--reproducible` judges it: bits that differ make it *unstable*."""
    result = judged.result
    if not result.irreproducible or not verdict.is_right(result):
        return judged
    known = verdict.IRREPRODUCIBLE in result.reason
    reason = result.reason if known else f"{verdict.IRREPRODUCIBLE}; {result.reason}"
    return judged.changed(verdict=Verdict.UNSTABLE, failure="unstable", reason=reason)


def combine_repeats(judged: Sequence[EvaluatedCase]) -> EvaluatedCase:
    """One result of several on a case; where they contradict each other, it is *unstable*."""
    if len(judged) == 1:
        return judged[0]
    verdicts = dict(Counter(one.result.verdict for one in judged))
    seconds = sum(one.result.seconds for one in judged)
    there = [one for one in judged if one.result.verdict is not Verdict.NOT_RUN]
    worst = max(there, key=lambda one: _badness(one.result), default=judged[0])
    if len({_answer(one.result) for one in there}) > 1:
        # `3 of 10: fail: output: 1 of 6 elements wrong; 7 of 10: pass`, the worst first.
        results = sorted((one.result for one in there), key=_badness, reverse=True)
        kinds = grouping.group_by(results, _answer).values()
        reason = "; ".join(f"{len(some)} of {len(judged)}: {_told(some[0])}" for some in kinds)
        found = replace(worst.result, verdict=Verdict.UNSTABLE, failure="unstable", reason=reason)
        found = replace(found, refused=False, self_check=False, verdicts=verdicts, seconds=seconds)
        return EvaluatedCase(found)
    # Right answers are too few if one is missing.
    if len(there) < len(judged) and worst.result.failure is None:
        worst = next(one for one in judged if one.result.verdict is Verdict.NOT_RUN)
    differs = any(one.result.irreproducible for one in judged)
    first, *others = (
        replace(one.changed(verdicts=verdicts, seconds=seconds, irreproducible=differs), open=None)
        for one in (worst, *_unlike(worst, judged))
    )
    return replace(first, others=tuple(others))


def _answer(result: LiveResult) -> tuple[object, ...]:
    """Return the parts that must agree each time; numbers need not: several may be right."""
    return (result.refused, *(() if verdict.is_right(result) else (result.verdict, result.failure)))


def _unlike(worst: EvaluatedCase, judged: Sequence[EvaluatedCase]) -> list[EvaluatedCase]:
    """Return other failures next to `worst`; a ledger may list only one of them."""
    found = [worst]
    for one in judged if worst.result.verdict is not Verdict.PASS else ():
        if not any(_is_the_same(one, other) for other in found):
            found.append(one)
    return found[1:]


def _is_the_same(one: EvaluatedCase, other: EvaluatedCase) -> bool:
    if (one.result.verdict, one.result.reason) != (other.result.verdict, other.result.reason):
        return False
    match one.failed, other.failed:
        case (_, model.Produced(outputs=some)), (_, model.Produced(outputs=those)):
            return same_answers(some, those)
    return True


def _badness(result: LiveResult) -> tuple[bool, bool, bool]:
    """The order of results: failures, unsupported, passes."""
    return result.failure is not None, result.verdict is not Verdict.PASS, result.irreproducible


def _told(result: LiveResult) -> str:
    reason = result.alternative if result.verdict is Verdict.PASS else result.reason
    how = f"{result.verdict} by refusal" if result.refused else str(result.verdict)
    return f"{how}: {reason}" if reason else how


def settle_by_agreement(
    evaluation: CaseEvaluation, judged: Sequence[EvaluatedCase], backends: Sequence[BackendInfo]
) -> list[EvaluatedCase]:
    """Judge all `backends` by each other's answers, in their order."""
    infos = {backend.address: backend for backend in backends}
    outcomes = {one.result.backend: one.open for one in judged if one.open}
    case, like = evaluation.case, evaluation.like if outcomes else None
    found = judge_among(case, outcomes, like)
    return [_settled(e, found[e.result.backend], infos) if e.open else e for e in judged]


def _settled(
    one: EvaluatedCase, judgement: verdict.Judgement, infos: Mapping[str, BackendInfo]
) -> EvaluatedCase:
    differs = one.open.differs if isinstance(one.open, model.Produced) else ""
    other = one.result.irreproducible or bool(differs)
    result = replace(one.result, **{**vars(judgement), "irreproducible": other})
    if judgement.verdict is Verdict.PASS:
        mine = infos[result.backend]
        itself = all(expected.is_the_same(mine, infos[other]) for other in judgement.against)
        message = f"{verdict.IRREPRODUCIBLE}: {differs}" if differs else ""
        # Answers to other data are not compared.
        if not message and isinstance(one.open, model.Produced) and one.open.once:
            message = _ONCE
        result = replace(result, self_check=itself, reason=result.reason or message)
    return replace(one, result=result)


def evidence(evaluation: CaseEvaluation, is_twin: bool, outcome: Outcome) -> Evidence | None:
    """The evidence in a wrong `outcome`, to the twin if `is_twin`; None for unknown operators."""
    if operator_of(evaluation.case.op) is None:
        return None
    match outcome:
        case model.Raised(unusable=False, stage="prepare" | "run"):
            got: Outputs | None = None
        case model.Produced(unstable=None, outputs=outputs):
            got = outputs
        case _:
            return None
    twin = evaluation.question.twin if is_twin else None
    return _evidence(evaluation, twin or evaluation.question, got, Refusal if twin else Answer)


def recall(case: Case) -> Evidence | None:
    """Return the evidence of a pass; None where no single answer is known to be right."""
    if not case.expect.is_stated or operator_of(case.op) is None:
        return None
    evaluation = CaseEvaluation(case)
    # The legal twin of an invalid model need not be a good case itself.
    with suppress(ValueError):
        if len(evaluation.accepted_answers) == 1:
            return _evidence(evaluation, evaluation.question, None, Answer)
    return None


def _evidence(
    evaluation: CaseEvaluation, asked: Question, got: Outputs | None, kind: type[Admitted]
) -> Evidence:
    admitted = [one.wants for one in evaluation.accepted_answers if isinstance(one, kind)]
    node = evaluation.node if kind is Answer else expected.node_of(asked.task, asked.inputs)
    return Evidence(node, got, admitted, evaluation.case.tolerance)
