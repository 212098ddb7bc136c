"""One case: the questions to each backend, one after the other, and the verdict.

Each time a case is asked it is a fresh question, prepared anew, maybe in another process. One right
answer excuses no wrong one: a backend that fails some of the times fails.

A question has the case's own data and *other data* of the same shapes, on which the task runs in
between (`Produced.between`). The *legal twin* of a model that may be refused is the same model made
valid. A *model* is a whole one, of several nodes; its answer may be *poorer*, right but for the
arithmetic. A function that returns `Questions` is a generator: it yields questions to one backend,
is sent the replies, and returns what its type states.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
computes a model or writes it out raises UsageError if a file of its weights has changed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from opcheck import grouping, model, opset, own_memory
from opcheck.backends import execute, same_answers, transport
from opcheck.compare import Want, are_plainly_right, compare_outputs, verdict
from opcheck.compare.outputs import Comparisons, Outputs
from opcheck.compare.verdict import Admitted, Answer, Refusal, judge_among, unstable_if_inconsistent
from opcheck.diagnose.evidence import Evidence
from opcheck.engine import Node, operator_of
from opcheck.errors import few
from opcheck.execution import expected, huge, parts_of_models
from opcheck.execution.severity import judge_case
from opcheck.execution.workers import Questions
from opcheck.graph import WholeModel
from opcheck.graph.test_data import output_declarations
from opcheck.model import Array, BackendInfo, Case, LiveResult, Outcome, Question, Verdict
from opcheck.suite.select import HUGE

_ONCE = "stability not checked: it is asked once"
_WRONG_IN_ITS_SECOND_RUN = (
    "answered other data wrongly in its second run, and otherwise in a first run"
)


class WrongAnswer(NamedTuple):
    """A wrong outcome, of the case itself or of its legal twin: the evidence for a diagnosis."""

    outcome: Outcome
    is_of_twin: bool


@dataclass(frozen=True, eq=False)
class EvaluatedCase:
    """The result of a backend on a case, with what only the judging process needs.

    `CaseEvaluation.judge` makes it. The scheduler, `locate`, `bench` and `mutate` read it.

    Attributes:
        result: The result before ledgers and diagnosis.
        wrong: The wrong answer, if there is one to diagnose.
        open: The outcome, if other backends' outcomes are to judge it.
        answer: The outputs as they came, where they are needed again.
        others: Other failures of a case that was asked several times.
        elsewhere: It fails only on other data than the case's own.
        is_too_large: The case takes more than opcheck computes, so that no backend was asked.
    """

    result: LiveResult
    wrong: WrongAnswer | None = None
    open: Outcome | None = None
    answer: model.Produced | None = None
    others: tuple["EvaluatedCase", ...] = ()
    elsewhere: bool = False
    is_too_large: bool = False

    def changed(self, **fields: Any) -> "EvaluatedCase":
        """Return a copy whose result has other values in these fields of LiveResult."""
        return replace(self, result=replace(self.result, **fields))


@dataclass(frozen=True, eq=False)
class _Expectation:
    """The `admitted` answers, or why there are none: no oracle or no formula gives one.

    Both reasons are "" if there are answers, and for a case that only compares backends.
    """

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
    """One case on any number of backends; what all of them share is made once and kept.

    `oracle_answer` is the answer of the oracle that the case names, None without one. The caller
    may set it later, but before `accepted_answers` and `judge` are used.
    """

    def __init__(self, case: Case, oracle_answer: expected.OracleAnswer | None = None) -> None:
        self.case = case
        self.oracle_answer = oracle_answer

    @property
    def for_the_oracle(self) -> Question | None:
        """The question for the case's oracle; None without one, or if its data cannot be made.

        Raises UsageError if a file of a model's weights has changed.
        """
        if self.case.expect.oracle is None:
            return None
        try:
            return self.question
        except (ValueError, MemoryError):
            return None  # `judge` reports it

    @cached_property
    def question(self) -> Question:
        """The question that every backend is asked: task, data, other data, legal twin; made once.

        Raises ValueError if the case's data cannot be made, MemoryError if they do not fit into
        memory, UsageError if a file of a model's weights has changed.
        """
        return expected.question(self.case)

    @cached_property
    def node(self) -> Node:
        """The node that the question asks about, for the engine; mutants compute it too. Made once.

        A whole model is one node. Raises ValueError if the case's data cannot be made, MemoryError
        if they do not fit into memory, UsageError if a file of a model's weights has changed.
        """
        return expected.node_of(self.question.task, self.question.inputs)

    @cached_property
    def accepted_answers(self) -> tuple[verdict.Admitted, ...]:
        """The answers and refusals that the case admits, made once; none if it only compares.

        Raises OracleUnavailable if the case's oracle has no usable answer, WrongCase if the case
        contradicts itself or the engine, Unsupported if the engine has no answer, TooLarge if that
        takes more than opcheck computes (these three are ValueErrors), ValueError if its data
        cannot be made, MemoryError if they do not fit into memory, NotSupported if the bound of a
        stated answer takes more than opcheck computes, and UsageError if a file of a model's
        weights has changed.
        """
        return expected.accepted_answers(self.case, self.question, self.oracle_answer)

    @cached_property
    def answers_to_other_data(self) -> tuple[tuple[Want, ...], ...] | None:
        """Outputs that are right for the other data, a tuple for each answer that the text admits.

        They are the oracle's if it was asked, else the engine's; refusals are left out, so that the
        outer tuple may be empty. None if neither answers: without an oracle and a formula, if the
        oracle refuses these data or the text forbids the node on them, and for too large a model.
        Raises ValueError if the case's data cannot be made, MemoryError if they do not fit into
        memory, UsageError if a file of a model's weights has changed.
        """
        case = self.case
        question = self.question
        try:
            if self.oracle_answer:
                return (self.oracle_answer.wants(case, other_data=True),)
            is_graph = case.op == model.GRAPH and isinstance(case.expect, model.Computed)
            if is_graph or operator_of(case.op):
                answers = expected.computed_answers(case, question, question.second)
                return tuple(answer.wants for answer in answers if isinstance(answer, Answer))
        except (expected.OracleUnavailable, expected.WrongCase, expected.Unsupported):
            pass
        return None

    def compared_on_other_data(
        self, backend: BackendInfo, answer: Outputs, *, is_off: bool = False
    ) -> Comparisons | None:
        """Return the comparisons of an answer to the other data, one for each output.

        Other data have the shapes of the case's own, and show if a backend computes at all.
        `answer` is compared with each answer that is right there, up to the first that it matches,
        poorer arithmetic included; if it matches none, the comparisons are with the last. An empty
        tuple means that it is plainly right, or that only refusals are; None that nothing states
        what is right. If the answer to the first data `is_off`, scatter is judged on these, too:
        the bound of a poorer arithmetic alone may allow anything. Raises what
        `answers_to_other_data` raises, and what the operator's formula raises for a bound, such as
        NotSupported beyond a budget.
        """
        answers = self.answers_to_other_data
        if answers is None:
            return None
        compared: Comparisons = ()
        for wants in answers:
            if are_plainly_right(wants, answer, self.case.tolerance):
                return ()
            if is_off and expected.has_random_data(self.case):
                wants = tuple(replace(want, of_random_data=True) for want in wants)
            compared = compare_outputs(
                wants, answer, self.case.tolerance, declared=backend.accumulate
            )
            if _are_right(compared):
                return compared
        return compared

    def is_right_on_other_data(self, backend: BackendInfo, answer: Outputs) -> bool | None:
        """Return True if an answer to the other data is right, poorer or undecided.

        None if nothing states what is right. Raises what `answers_to_other_data` raises, and what
        the operator's formula raises for a bound.
        """
        compared = self.compared_on_other_data(backend, answer)
        return None if compared is None else _are_right(compared)

    @property
    def is_computed_model(self) -> bool:
        """True for a model that the engine computes."""
        return self.case.model is not None and isinstance(self.case.expect, model.Computed)

    def judge(self, backend: BackendInfo) -> Questions[EvaluatedCase]:
        """Judge one backend on the case; a generator of as many questions as that takes.

        A case that judges no backend has its result without a question. Otherwise the backend
        answers it, and its answer is judged: on the case's own data, then on other data of the same
        shapes. If backends are to be compared, the result stays open. If opcheck cannot judge the
        answer, the case is unsupported, whatever the backend did. A backend that refuses the model
        is asked again at later opsets, where the operator is the same.

        Nothing is raised for a wrong case (`BAD_CASE`), for data that do not fit into memory
        (`NOT_RUN`), or for what the backend does. Raises UsageError if a file of a model's weights
        has changed, and what the operator's formula raises for a bound. A case of level huge raises
        as `_judge_in_blocks` does.
        """
        if self.case.level == HUGE:
            return (yield from self._judge_in_blocks(backend))
        expectation = self._expectation(backend)
        if isinstance(expectation, EvaluatedCase):
            return expectation
        if expectation.no_formula:
            return (yield from self._judge_by_survival(backend, expectation.no_formula))
        answer = yield from self._answer_of(backend)
        if self.case.expect.compares_backends:
            return self._to_be_compared(backend, answer)
        judgement = self._judge_answer(backend, answer, expectation)
        on_other_data = yield from self._judge_on_other_data(backend, answer, judgement)
        judgement = on_other_data or judgement
        reason = self._why_nothing_is_judged(judgement)
        if reason:
            return self._unsupported(backend, reason)
        if self._may_be_the_opset(judgement):
            judgement = yield from self._at_a_later_opset(judgement)
        return self._evaluated(backend, answer, judgement, elsewhere=on_other_data is not None)

    def _judge_in_blocks(self, backend: BackendInfo) -> Questions[EvaluatedCase]:
        """Judge a case of level huge, whose tensors are too large to be held, by a single run.

        Its data go through files, in `opcheck.execution.huge`. A program (`cmd:`), which no such
        tensors can be fed, is not asked: *unsupported* by opcheck. A case whose data cannot be made
        is a *bad case*. Generator of one question, or of none. Raises InvalidNode or NotSupported
        for a node without an answer, OSError if there is no folder for temporary files, and
        KeyboardInterrupt if the user interrupts it.
        """
        if backend.kind == "cmd":
            reason = "unsupported by opcheck: programs are fed no data of level huge"
            return self._unsupported(backend, reason)
        confirm = partial(confirmed, backend=backend)
        try:
            judgement, reply = yield from huge.judged(self.case, confirm)
        except ValueError as error:
            judgement = verdict.Judgement(Verdict.BAD_CASE, str(error))
            reply = None
        fields = vars(judgement) | {
            "printed": reply.printed if reply else "",
            "seconds": _seconds(reply.outcome) if reply else 0.0,
            "self_check": backend.engine,
        }
        result = LiveResult(self.case, backend.address, **fields)
        return EvaluatedCase(result)

    def _expectation(self, backend: BackendInfo) -> "_Expectation | EvaluatedCase":
        """Return the admitted answers, or the result of a case that does not judge this backend.

        The result is *unsupported* for a case beyond opcheck, for one that the engine has no answer
        to or that takes too much, and for an invalid model where the backend declares not to refuse
        these; *bad case* if the case contradicts itself or its data cannot be made; *not run* if
        the data do not fit into memory. An oracle without an answer, and a whole model that the
        engine cannot compute, give an expectation without answers, which has the reason. Raises
        UsageError if a file of a model's weights has changed, and NotSupported if the bound of a
        stated answer takes more than opcheck computes.
        """
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

    def _judge_by_survival(self, backend: BackendInfo, why: str) -> Questions[EvaluatedCase]:
        """Judge only if the backend survives a model whose answer is unknown, for the reason `why`.

        Generator of one question. An answer, a refusal and a lack of support are all *unsupported*
        by opcheck, except for an answer in which an output is wrong that depends on no node without
        an answer. A crash, a time limit, too little memory, an unusable answer, runs that
        contradict each other, and a question that was not run, have their own verdicts.
        """
        reply = yield self.question
        judgement = verdict.judge_without_oracle(self.case.rule, reply.outcome, why)
        if judgement == verdict.Judgement(Verdict.NOT_RUN, why):
            in_part = self._judge_in_part(backend, reply.outcome)
            if in_part is None:
                return self._unsupported(backend, why)
            if verdict.is_right(in_part):
                return self._unsupported(backend, f"{why}; {in_part.reason}")
            judgement = in_part
        return EvaluatedCase(LiveResult(self.case, backend.address, **vars(judgement)))

    def _judge_in_part(self, backend: BackendInfo, outcome: Outcome) -> verdict.Judgement | None:
        """Judge the outputs of a model that depend on no node without an answer.

        None if there are none, or no output came. The reason of right ones names them and what was
        judged of them; that of wrong ones, the nodes without an answer too. Outputs that the bound
        decides too little of count as not judged. Raises what a formula raises for a bound.
        """
        if not isinstance(outcome, model.Produced):
            return None
        part = self._known_part
        if self.case.model:
            outcome, _ = self._without_own_text(self.case.model, outcome)
        of_part = part.of(outcome) if part else None
        if part is None or of_part is None:
            return None
        judgement = verdict.judge(
            self.case.rule,
            part.answers,
            of_part,
            tolerance=self.case.tolerance,
            like=self.like,
            declared=backend.accumulate,
        )
        if judgement.verdict is Verdict.BAD_CASE:
            return None
        if verdict.is_right(judgement):
            names = few(part.names, most=3)
            how = judgement.reason or "right"
            return replace(judgement, reason=f"judged alone: {names}: {how}")
        return replace(judgement, reason=f"{judgement.reason}; {part.reason}")

    def _answer_of(self, backend: BackendInfo) -> Questions["_BackendAnswer"]:
        """Ask the backend; also about the legal twin, if there is one and the model is refused.

        Generator of one or two questions; returns what came of them. Claims of the backend's
        process that no model states the task are dropped where they are not true (`confirmed`).
        """
        question = self.question
        reply = yield question
        outcome = confirmed(reply.outcome, question.task, backend)
        printed = reply.printed
        twin: Outcome | None = None
        if question.twin and _may_refuse(outcome):
            reply = yield question.twin
            twin = confirmed(reply.outcome, question.twin.task, backend)
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

    @cached_property
    def _known_part(self) -> parts_of_models.PartOfModel | None:
        """What is known of a model in which nodes have no answer, made once; None for no output.

        Raises UsageError if a file of a model's weights has changed.
        """
        try:
            return parts_of_models.part_of_model(self.case, self.question)
        except (ValueError, MemoryError):
            return None

    def _without_own_text(self, data: bytes, outcome: model.Produced) -> tuple[model.Produced, str]:
        """Return a model's answer without declarations that only repeat the model's wrong text.

        A model, whose bytes are `data`, may declare other shapes of its outputs than they have, and
        the backend may repeat these; its answer is judged by its values then. The second item is
        what that text contradicts. If the backend declares nothing wrong, or something wrong of its
        own, the answer is returned as it was, with "".
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
        """Return an open result, which the answers of other backends will judge.

        It is *not run* until then; `open` has its outcome, which is unstable if two answers to the
        same data differ beyond the tolerance. Raises ValueError for a tolerance that makes no
        sense.
        """
        outcome = unstable_if_inconsistent(self.case, answer.outcome)
        result = LiveResult(
            self.case,
            backend.address,
            Verdict.NOT_RUN,
            printed=answer.printed,
            seconds=_seconds(outcome),
        )
        return EvaluatedCase(result, open=outcome, answer=answer.produced)

    def _judge_answer(
        self, backend: BackendInfo, answer: "_BackendAnswer", expectation: "_Expectation"
    ) -> verdict.Judgement:
        """Judge an answer to the case's own data, and to its legal twin, by the admitted answers.

        If the oracle gave no answer, the judgement is *not run*, unless the outcome is wrong
        whatever the right answer is, such as a crash. For a whole model, *bad case*, where the
        bound decides too little, becomes a warning if an output is of poorer arithmetic. Raises
        what the operator's formula raises for a bound.
        """
        case = self.case
        if expectation.no_oracle:
            outcome = unstable_if_inconsistent(case, answer.outcome)
            return verdict.judge_without_oracle(case.rule, outcome, expectation.no_oracle)
        judgement = judge_case(
            case,
            expectation.admitted,
            answer.outcome,
            lambda: self.node,
            like=self.like,
            declared=backend.accumulate,
            twin=answer.twin,
        )
        is_poorer = any(output.problem == "precision" for output in judgement.comparisons)
        if self.is_computed_model and judgement.verdict is Verdict.BAD_CASE and is_poorer:
            return replace(judgement, verdict=Verdict.WARN, failure="precision")
        return judgement

    def _judge_on_other_data(
        self, backend: BackendInfo, answer: "_BackendAnswer", judgement: verdict.Judgement
    ) -> Questions[verdict.Judgement | None]:
        """Judge the answer to other data; return None if it changes nothing about the `judgement`.

        It is judged only if outputs came and the first answer passed, has poorer arithmetic, or is
        off in what the text only suggests; of a model, also if that has undecided elements. Nothing
        changes if there is no answer to other data, or it is right; if it has poorer arithmetic, on
        a node or again; or if a fresh process repeats a node's wrong answer. Otherwise a node is
        *unstable*, and a model fails or has poorer arithmetic: see `_on_other_data`. Generator of
        no question or one: that asks for the answer in question again. Raises what the operator's
        formula raises for a bound.
        """
        is_pass = judgement.verdict is Verdict.PASS
        is_undecided = self.is_computed_model and judgement.verdict is Verdict.BAD_CASE
        # A warning about the first data does not excuse an old answer to other data.
        is_eased = judgement.verdict is Verdict.WARN and self.case.leaves_rule_to_engine
        is_tolerated = verdict.is_right(judgement) or is_undecided or is_eased
        if answer.produced is None or not is_tolerated:
            return None
        other = yield from self._on_other_data(answer.produced, backend, is_off=not is_pass)
        if other is None or (other.failure == "precision" and not is_pass):
            return None
        return other

    def _why_nothing_is_judged(self, judgement: verdict.Judgement) -> str:
        """Describe why a judgement shows nothing about the backend, or "" if it does.

        Then the case is *unsupported* by opcheck. It is so for a pass of a model whose outputs have
        no element or number, for a model that contradicts itself and is refused, or whose outputs
        the backend declares otherwise, and for a whole model with a bad case.
        """
        if judgement.verdict is Verdict.PASS:
            if self.is_computed_model and _is_open_everywhere(judgement):
                return f"unsupported by opcheck: {judgement.reason}"
            degenerate = self._degenerate_reason()
            if degenerate:
                return degenerate
        # No backend need take a model whose types contradict each other.
        if self.case.model and judgement.failure in ("raised", "declared"):
            contradiction = self._contradiction(self.case.model)
            if contradiction:
                return f"the model contradicts itself: {contradiction}"
        if judgement.verdict is Verdict.BAD_CASE and self.case.op == model.GRAPH:
            return f"unsupported by opcheck: {judgement.reason}"
        return ""

    def _contradiction(self, data: bytes) -> str:
        """Describe how a model contradicts itself, by onnx's inference or the engine; or "".

        `data` are the model's bytes. By onnx, a name or a type is wrong; by the engine, if that
        computes the model, a declared shape of an output does not fit the one computed from the
        case's data.
        """
        inferred = WholeModel(data, self.question.task.inputs).contradiction
        if inferred:
            return inferred
        if not self.is_computed_model:
            return ""
        answer = verdict.first_answer(self.accepted_answers)
        wants = answer.wants if answer else ()
        for stated, want in zip(output_declarations(data), wants, strict=False):
            if not stated.fits(want.values.shape):
                gives = f"its nodes give {[*want.values.shape]}"
                return f"{want.name} is declared as {stated}, and {gives}"
        return ""

    def _may_be_the_opset(self, judgement: verdict.Judgement) -> bool:
        """Return True if a node is refused or declined, maybe for the number of its opset alone.

        False for a whole model, and for a node that may be refused, which has a legal twin.
        """
        if self.question.twin or self.case.model is not None:
            return False
        return judgement.failure == "raised" or judgement.verdict is Verdict.UNSUPPORTED

    def _evaluated(
        self,
        backend: BackendInfo,
        answer: "_BackendAnswer",
        judgement: verdict.Judgement,
        *,
        elsewhere: bool,
    ) -> EvaluatedCase:
        """Return the result with its evidence; `elsewhere` if the case fails on other data only.

        Adds the oracle to the result, and what the backend printed. The evidence is the wrong
        outcome, or that of the legal twin if that was asked. The answer itself is kept for a pass,
        for poorer precision and for a wrong declaration.
        """
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
        if produced and (judgement.failure == "unstable" or elsewhere):
            outcome = replace(produced, unstable=judgement.reason)
        if answer.twin:
            wrong = WrongAnswer(answer.twin, is_of_twin=True)
        else:
            wrong = WrongAnswer(outcome, is_of_twin=False)
        kept = produced if judgement.failure == "precision" else None
        return EvaluatedCase(result, wrong, answer=kept, elsewhere=elsewhere)

    def _reason(self, answer: "_BackendAnswer", judgement: verdict.Judgement) -> str:
        """Return the reason of a judgement, with what it leaves unjudged or unchecked.

        Of a model that passes, and of a node with undefined elements, the part that was judged
        comes first. Without a reason of its own, it is what a model's own text contradicts, else
        what a pass does not show, such as stability.
        """
        reason = judgement.reason or answer.note
        part = ""
        if judgement.verdict is Verdict.PASS and (self.case.model or self._has_undefined_elements):
            part = _judged_part(judgement)
        if part:
            return f"{part}; {reason}" if reason else part
        return reason or _unchecked(self.case, answer.outcome)

    @property
    def _has_undefined_elements(self) -> bool:
        """True if some elements of a right answer may be anything.

        Raises what `accepted_answers` raises, which was computed before.
        """
        wants = [want for admitted in self.accepted_answers for want in admitted.wants]
        return any(want.undefined is not None for want in wants)

    def _degenerate_reason(self) -> str:
        """Describe why a right answer to a model shows nothing; "" if it shows something.

        No output has an element, or all elements are NaN. "" for a case that is not a model, or
        whose answer is stated. Raises what `accepted_answers` raises, which was computed before.
        """
        if not self.is_computed_model:
            return ""
        wants = [want for admitted in self.accepted_answers for want in admitted.wants]
        values = [want.values for want in wants if want.values.size]
        if not values:
            return "nothing is judged: no output has an element"
        if all(array.dtype.kind == "f" and np.isnan(array).all() for array in values):
            return "nothing is judged: no element of an output is a number"
        return ""

    def _unsupported(self, backend: BackendInfo, reason: str) -> EvaluatedCase:
        """Return the result *unsupported* by opcheck, of a case that it cannot judge."""
        result = LiveResult(self.case, backend.address, Verdict.UNSUPPORTED, reason)
        return EvaluatedCase(replace(result, inexpressible=True, beyond=True))

    @property
    def like(self) -> Array | None:
        """The first input, shown next to wrong elements; None for a case without inputs."""
        return self.question.inputs[0] if self.question.inputs else None

    def _on_other_data(
        self, outcome: model.Produced, backend: BackendInfo, *, is_off: bool
    ) -> Questions[verdict.Judgement | None]:
        """Return the verdict on the answer to other data; None if that is right or was not given.

        If the answer to the first data `is_off`, right but for its arithmetic, poorer arithmetic on
        other data is no news. A wrong answer that only repeats the first one is *unstable* under
        the rule `must`. Any other that is wrong or, of a model, poorer is asked for again, in a
        fresh process. A model that is wrong again fails on other data; a node is *unstable* if its
        fresh run differs, and is else let off; if the first answer `is_off`, the fresh run has to
        be right. Generator of no question or one. Raises what the operator's formula raises for a
        bound.
        """
        answer = outcome.between
        if answer is None:
            return None
        is_wrong, is_poorer = self._how_it_is_on_other_data(backend, answer, is_off=is_off)
        if not is_wrong and (is_off or not is_poorer):
            return None
        # Only a stale answer is enough against a node: its case may be written for its own data.
        if is_wrong and outcome.stale and self.case.rule == "must":
            message = "answered other data of the same shape with the first run's answer"
            return verdict.unstable(message)
        reply = yield self.question.turned()
        fresh = _in_fresh_process(reply.outcome)
        if self.is_computed_model:
            return self._on_other_data_twice(answer, fresh, backend)
        if is_off and not self._is_right_in(fresh, backend):
            return None
        difference = self._difference_of_fresh(outcome, answer, fresh, backend)
        if difference is None:
            return None
        return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {difference}")

    def _how_it_is_on_other_data(
        self, backend: BackendInfo, answer: Outputs, *, is_off: bool
    ) -> tuple[bool, bool]:
        """Return two answers: is it wrong on other data, and is it a model's of poorer arithmetic.

        Undecided elements are not wrong, nor is what is off in what the text only suggests. Both
        are False if nothing states what is right. `is_off` as in `compared_on_other_data`. Raises
        what the operator's formula raises for a bound.
        """
        compared = self.compared_on_other_data(backend, answer, is_off=is_off)
        if compared is None:
            return False, False
        is_poorer = any(output.problem == "precision" for output in compared)
        is_wrong = not _are_right(compared) and not self._is_suggested_on_other_data(
            backend, answer
        )
        return is_wrong, self.is_computed_model and is_poorer

    def _is_suggested_on_other_data(self, backend: BackendInfo, answer: Outputs) -> bool:
        """Return True if an answer to other data is off in nothing but what the text suggests.

        Raises what the operator's formula raises for a bound.
        """
        if not self.case.leaves_rule_to_engine:
            return False
        question = self.question
        admitted = [Answer(wants) for wants in self.answers_to_other_data or ()]
        if not admitted:
            return False
        outcome = model.Produced((*answer,), 0.0, once=True)
        judgement = judge_case(
            self.case,
            admitted,
            outcome,
            lambda: expected.node_of(question.task, question.second),
            declared=backend.accumulate,
        )
        # Poorer arithmetic is a warning too, of which the text suggests nothing.
        return judgement.verdict is Verdict.WARN and judgement.failure != "precision"

    def _is_right_in(self, fresh: Outcome, backend: BackendInfo) -> bool:
        """Return True if a `fresh` run gave outputs that are right for the other data.

        Raises what the operator's formula raises for a bound.
        """
        if not isinstance(fresh, model.Produced):
            return False
        return bool(self.is_right_on_other_data(backend, fresh.outputs))

    def _difference_of_fresh(
        self,
        outcome: model.Produced,
        answer: execute.Outputs,
        fresh: Outcome,
        backend: BackendInfo,
    ) -> str | None:
        """Describe how a `fresh` run on other data differs from a wrong second one, `answer`.

        A fresh run without outputs differs by what became of it. None if it does not differ, if it
        was not run, and if the fresh run is wrong too (or nothing states what is right) and two
        runs on the first data differed: then the backend is wrong whenever it runs. `outcome` is
        that of the run in question. Raises what the operator's formula raises for a bound.
        """
        if isinstance(fresh, model.NotRun):
            return None
        if not isinstance(fresh, model.Produced):
            return _without_outputs(fresh)
        is_right = self.is_right_on_other_data(backend, fresh.outputs)
        if outcome.again and not is_right:
            return None
        return execute.changed(fresh.outputs, answer, "the second")

    def _on_other_data_twice(
        self, answer: execute.Outputs, fresh: Outcome, backend: BackendInfo
    ) -> verdict.Judgement | None:
        """Judge a model's `answer` to other data, and its `fresh` one; None if both are right.

        A fresh run that gives no outputs is *unstable*, and so are two answers that contradict each
        other. If it was not run, `answer` alone counts. Otherwise the failure is "other_data", or
        "precision" for poorer arithmetic. Raises what the operator's formula raises for a bound.
        """
        outcome = model.Produced(answer, 0.0, once=True)
        if isinstance(fresh, model.Produced):
            differs = fresh.unstable or execute.changed(fresh.outputs, answer, "the second")
            outcome = replace(
                outcome,
                unstable=fresh.unstable,
                again=fresh.outputs if differs else None,
                differs=differs or "",
            )
        elif not isinstance(fresh, model.NotRun):
            return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {_without_outputs(fresh)}")
        judgement = verdict.judge(
            self.case.rule,
            [Answer(wants) for wants in self.answers_to_other_data or ((),)],
            outcome,
            tolerance=self.case.tolerance,
            declared=backend.accumulate,
        )
        if judgement.failure is None:
            return None
        if judgement.failure == "unstable":
            return verdict.unstable(f"{_WRONG_IN_ITS_SECOND_RUN}: {judgement.reason}")
        reason = f"on other data of the same shapes: {judgement.reason}"
        failure: model.Failure = "other_data"
        if judgement.failure == "precision":
            failure = "precision"
        return replace(judgement, reason=reason, failure=failure)

    def _at_a_later_opset(self, refused: verdict.Judgement) -> Questions[verdict.Judgement]:
        """Return the judgement `refused`, or one that says that only the opset's number is refused.

        Generator of a question for each of two later opsets at most at which the operator's version
        is in force, until one gives outputs: then it is an error, or a warning under the rule
        `should`, and its reason names that opset. The outputs are not judged. A crash, a time limit
        or too little memory on the way is added to the reason.
        """
        case = self.case
        # An operator is the same at every opset from its version to the next.
        for number in opset.later(case.op, case.opset):
            reply = yield replace(self.question, task=replace(self.question.task, opset=number))
            outcome = _in_fresh_process(reply.outcome)
            if isinstance(outcome, model.Crashed | model.TimedOut | model.OutOfMemory):
                message = verdict.judge_without_expected(case.rule, outcome).reason
                message = f"{refused.reason}; the same model at opset {number}: {message}"
                refused = replace(refused, reason=message)
            if isinstance(outcome, model.Produced):
                # In front, because messages of backends may be long, and are cut.
                hint = f"takes the same model at opset {number}, where {case.op} is in force too"
                reason = f"{hint}; at opset {case.opset}: {refused.reason}"
                severity = Verdict.WARN if case.rule == "should" else Verdict.ERROR
                return replace(refused, verdict=severity, failure="raised", reason=reason)
        return refused


def _are_right(compared: Comparisons) -> bool:
    """Return True unless an output is wrong; poorer arithmetic and undecided elements are right."""
    return all(output.problem in (None, "precision", "undecided") for output in compared)


def _in_fresh_process(outcome: Outcome) -> Outcome:
    """Return the outcome in a fresh process, if there is one; else the outcome itself.

    A crash and too little memory have one, where earlier questions may have done the damage and the
    fresh process, asked this question first, was not lost.
    """
    if isinstance(outcome, model.Crashed | model.OutOfMemory):
        return outcome.alone or outcome
    return outcome


def _without_outputs(outcome: Outcome) -> str:
    """Describe an outcome without outputs: a refusal by its own text, others by their reason."""
    if verdict.needs_expected(outcome):
        return f"raised {outcome}"
    return verdict.judge_without_expected("must", outcome).reason


def _may_refuse(outcome: Outcome) -> bool:
    """Return True if an outcome may be a refusal of an invalid model: raised, or unsupported.

    It is one if the backend takes the model's legal twin, which is asked next. An unusable answer
    and a task that no model states are none.
    """
    outcome = _in_fresh_process(outcome)
    if isinstance(outcome, model.Declined):
        return not outcome.inexpressible
    return isinstance(outcome, model.Raised) and not outcome.unusable


def confirmed(outcome: Outcome, task: model.Task, backend: BackendInfo) -> Outcome:
    """Return an outcome without its claim that the task cannot be stated, unless that is true.

    The claim comes from the backend's process, where a backend could make it wherever it is wrong.
    It stands if no ONNX model states the task, and is marked `beyond` if opcheck's adapter cannot
    hand the task over. Else the outcome is the backend's own lack of support. Other outcomes are
    returned as they are.
    """
    if not isinstance(outcome, model.Declined) or not outcome.inexpressible:
        return outcome
    if transport.why_no_model(task):
        return outcome
    if transport.limit(task, backend.kind):
        return replace(outcome, beyond=True)
    return replace(outcome, inexpressible=False)


def _seconds(outcome: Outcome) -> float:
    """Return the seconds until an answer came or the time limit was over; 0 for all others."""
    if isinstance(outcome, model.Produced | model.TimedOut):
        return outcome.seconds
    return 0.0


def _is_open_everywhere(judgement: verdict.Judgement) -> bool:
    """Return True if the text leaves all elements of all outputs open, so that none is judged."""
    compared = judgement.comparisons
    is_open = any(output.has_open_elements for output in compared)
    return is_open and all(output.unjudged == output.total for output in compared)


def _judged_part(judgement: verdict.Judgement) -> str:
    """Describe how many elements of each output of a model a pass has judged, in words.

    "" if it has judged all, and if it has judged none.
    """
    compared = judgement.comparisons
    in_part = [output for output in compared if output.unjudged]
    if not in_part or all(output.unjudged == output.total for output in compared):
        return ""
    parts = []
    for output in in_part:
        judged_count = output.total - output.unjudged
        elements = f"{judged_count:,} of {output.total:,} elements"
        parts.append(f"{output.output}: {elements if judged_count else 'its type and shape'}")
    return f"{verdict.IN_PART}: {'; '.join(parts)}"


def _unchecked(case: Case, outcome: Outcome) -> str:
    """Describe what a pass does not show, or "".

    That is the values of random outputs without a formula; stability, if the backend is asked once;
    and other data, if it refused these. `case` and `outcome` are what was asked and what came.
    """
    if case.expect.random and operator_of(case.op) is None:
        return "values that are drawn at random are not judged, only their type and shape"
    match outcome:
        case model.Produced(once=True):
            return _ONCE
        case model.Produced(between=None):
            return "stability on other data not checked: they were refused"
        case _:
            return ""


def repeated(
    evaluation: CaseEvaluation, backend: BackendInfo, times: int
) -> Questions[list[EvaluatedCase]]:
    """Judge one backend so many `times`, or once if the case is bad; return the results in order.

    Generator of the questions of all. A later result whose outputs differ in a bit from the first
    ones, which are kept from the first result that has any, is *unstable* or marked as
    irreproducible; not so if they are random. The results do not keep their answers. Raises what
    `CaseEvaluation.judge` raises.
    """
    repeats: list[EvaluatedCase] = []
    first: model.Produced | None = None
    for _ in range(times):
        evaluated = yield from evaluation.judge(backend)
        answer = evaluated.answer
        if first is None:
            first = answer
        elif answer and not evaluation.question.random and _differ(first, answer):
            evaluated = _differing(evaluation, backend, evaluated, first)
        repeats.append(replace(evaluated, answer=None))
        if repeats[0].result.verdict is Verdict.BAD_CASE:
            break
    return repeats


def _differ(first: model.Produced, later: model.Produced) -> bool:
    """Return True if two answers to the same data differ in a bit."""
    return not same_answers(first.outputs, later.outputs)


def _differing(
    evaluation: CaseEvaluation,
    backend: BackendInfo,
    evaluated: EvaluatedCase,
    first: model.Produced,
) -> EvaluatedCase:
    """Return a result whose answer to the same data differs from the `first` one.

    It is *unstable* if both cannot be right together, such as errors of unlike scatter; else it is
    marked as irreproducible, as are one that is wrong anyway and one that backends are compared by.
    Raises what the operator's formula raises for a bound.
    """
    result = evaluated.result
    case = evaluation.case
    differs = "another answer than the first time"
    if result.failure in (None, "precision") and not case.expect.compares_backends:
        again = evaluated.answer.outputs if evaluated.answer else None
        judgement = verdict.judge(
            case.rule,
            evaluation.accepted_answers,
            replace(first, again=again, differs=differs),
            tolerance=case.tolerance,
            declared=backend.accumulate,
        )
        if judgement.failure == "unstable":
            return evaluated.changed(
                verdict=judgement.verdict, failure="unstable", reason=judgement.reason
            )
    reason = result.reason or f"{verdict.IRREPRODUCIBLE}: {differs}"
    return evaluated.changed(reason=reason, irreproducible=True)


def require_reproducible(evaluated: EvaluatedCase) -> EvaluatedCase:
    """Return the result as `--reproducible` judges it: right bits that differ are *unstable*.

    A result whose bits do not differ, or that is wrong anyway, is returned as it is.
    """
    result = evaluated.result
    if not result.irreproducible or not verdict.is_right(result):
        return evaluated
    reason = result.reason
    if verdict.IRREPRODUCIBLE not in reason:
        reason = f"{verdict.IRREPRODUCIBLE}; {reason}"
    return evaluated.changed(verdict=Verdict.UNSTABLE, failure="unstable", reason=reason)


def combine_repeats(repeats: Sequence[EvaluatedCase]) -> EvaluatedCase:
    """Return one result of several on a case, of which there is at least one.

    If those that ran contradict each other, in verdict, kind of failure or by a refusal, it is
    *unstable*. Else it is the worst, with the others of another reason in `others`; if some were
    not run, a right answer does not count for all: it is *not run*. Each counts the verdicts and
    the seconds of all. A single one is returned as it is.
    """
    if len(repeats) == 1:
        return repeats[0]
    verdicts = dict(Counter(repeat.result.verdict for repeat in repeats))
    seconds = sum(repeat.result.seconds for repeat in repeats)
    ran = [repeat for repeat in repeats if repeat.result.verdict is not Verdict.NOT_RUN]
    if len({_what_must_agree(repeat.result) for repeat in ran}) > 1:
        return EvaluatedCase(
            replace(
                _contradicting([repeat.result for repeat in ran], len(repeats)),
                verdicts=verdicts,
                seconds=seconds,
            )
        )
    worst = max(ran, key=lambda repeat: _badness(repeat.result), default=repeats[0])
    # Right answers are too few if one is missing.
    if len(ran) < len(repeats) and worst.result.failure is None:
        worst = next(it for it in repeats if it.result.verdict is Verdict.NOT_RUN)
    is_irreproducible = any(repeat.result.irreproducible for repeat in repeats)
    combined, *others = (
        replace(
            failure.changed(verdicts=verdicts, seconds=seconds, irreproducible=is_irreproducible),
            open=None,
        )
        for failure in (worst, *_other_failures(worst, repeats))
    )
    return replace(combined, others=tuple(others))


def _contradicting(results: Sequence[LiveResult], count: int) -> LiveResult:
    """Return the result of a case whose results, of `count` repeats, contradict each other.

    Its reason is as in "3 of 10: fail: output: 1 of 6 elements wrong; 7 of 10: pass", the worst
    first.
    """
    worst_first = sorted(results, key=_badness, reverse=True)
    by_answer = grouping.group_by(worst_first, _what_must_agree).values()
    reason = "; ".join(f"{len(alike)} of {count}: {_in_words(alike[0])}" for alike in by_answer)
    return replace(
        worst_first[0],
        verdict=Verdict.UNSTABLE,
        failure="unstable",
        reason=reason,
        refused=False,
        self_check=False,
    )


def _what_must_agree(result: LiveResult) -> tuple[object, ...]:
    """Return the parts of a result that must agree each time; of several right answers none need.

    They are the refusal and, of a wrong result, verdict and kind of failure.
    """
    if verdict.is_right(result):
        return (result.refused,)
    return (result.refused, result.verdict, result.failure)


def _other_failures(worst: EvaluatedCase, repeats: Sequence[EvaluatedCase]) -> list[EvaluatedCase]:
    """Return the results of `repeats` that differ from `worst`, each once; none if that is a pass.

    A ledger may list only one of them. Results are equal if verdict, reason and wrong outputs are.
    """
    if worst.result.verdict is Verdict.PASS:
        return []
    different = [worst]
    for repeat in repeats:
        if not any(_is_same_failure(repeat, other) for other in different):
            different.append(repeat)
    return different[1:]


def _is_same_failure(repeat: EvaluatedCase, other: EvaluatedCase) -> bool:
    """Return True for results of one verdict and reason, whose wrong outputs are equal bit for bit.

    Results without evidence, or with a refusal, are compared by verdict and reason alone.
    """
    if (repeat.result.verdict, repeat.result.reason) != (other.result.verdict, other.result.reason):
        return False
    if repeat.wrong is None or other.wrong is None:
        return True
    match repeat.wrong.outcome, other.wrong.outcome:
        case model.Produced(outputs=some), model.Produced(outputs=those):
            return same_answers(some, those)
    return True


def _badness(result: LiveResult) -> tuple[bool, bool, bool]:
    """Return the key by which results are ordered: passes first, failures last.

    Between them are results that neither pass nor fail, such as *unsupported*. Of equal ones, one
    whose bits differed from time to time is worse.
    """
    return result.failure is not None, result.verdict is not Verdict.PASS, result.irreproducible


def _in_words(result: LiveResult) -> str:
    """Return the verdict and its reason; for a pass, the name of the answer that was given."""
    reason = result.alternative if result.verdict is Verdict.PASS else result.reason
    how = f"{result.verdict} by refusal" if result.refused else str(result.verdict)
    return f"{how}: {reason}" if reason else how


def judge_by_agreement(
    evaluation: CaseEvaluation, evaluated: Sequence[EvaluatedCase], backends: Sequence[BackendInfo]
) -> list[EvaluatedCase]:
    """Judge backends by each other's answers; return the results in the order of `evaluated`.

    Only open results are judged, those whose outcome is kept for this; others, such as those of a
    wrong case, stay as they are. `backends` has the backend of each result, in any order. Raises
    ValueError for a tolerance that makes no sense.
    """
    infos = {backend.address: backend for backend in backends}
    outcomes = {it.result.backend: it.open for it in evaluated if it.open}
    like = evaluation.like if outcomes else None
    judgements = judge_among(evaluation.case, outcomes, like)
    return [
        _with_judgement(it, it.open, judgements[it.result.backend], infos) if it.open else it
        for it in evaluated
    ]


def _with_judgement(
    evaluated: EvaluatedCase,
    outcome: Outcome,
    judgement: verdict.Judgement,
    infos: Mapping[str, BackendInfo],
) -> EvaluatedCase:
    """Return an open result with the judgement that the comparison of all backends gives.

    `outcome` is what the backend answered, and `infos` are the backends by address. A pass is a
    self-check if all that it agrees with are the same implementation.
    """
    differs = outcome.differs if isinstance(outcome, model.Produced) else ""
    is_irreproducible = evaluated.result.irreproducible or bool(differs)
    fields = vars(judgement) | {"irreproducible": is_irreproducible}
    result = replace(evaluated.result, **fields)
    if judgement.verdict is not Verdict.PASS:
        return replace(evaluated, result=result)
    backend = infos[result.backend]
    note = ""
    if differs:
        note = f"{verdict.IRREPRODUCIBLE}: {differs}"
    elif isinstance(outcome, model.Produced) and outcome.once:
        note = _ONCE  # answers to other data are not compared
    result = replace(
        result,
        self_check=all(expected.is_the_same(backend, infos[it]) for it in judgement.against),
        reason=result.reason or note,
    )
    return replace(evaluated, result=result)


def evidence(evaluation: CaseEvaluation, wrong: WrongAnswer) -> Evidence | None:
    """Return the evidence in a wrong answer, for its diagnosis: a refusal or outputs, and the node.

    With it come the answers that are right; for the answer to a legal twin, the twin is the node.
    None for unknown operators, and for outcomes without evidence: outputs that contradict each
    other, crashes, time limits, unusable answers, and refusals in a later run. Of a whole model
    that the engine computes, the model is the node. Raises what `CaseEvaluation.accepted_answers`
    raises, unless it was computed before: WrongCase, ValueError, MemoryError, OracleUnavailable,
    NotSupported, UsageError.
    """
    is_whole_model = evaluation.case.op == model.GRAPH and evaluation.is_computed_model
    if operator_of(evaluation.case.op) is None and not is_whole_model:
        return None
    match wrong.outcome:
        case model.Raised(unusable=False, stage="prepare" | "run"):
            got: Outputs | None = None
        case model.Produced(unstable=None, outputs=outputs):
            got = outputs
        case _:
            return None
    twin = evaluation.question.twin if wrong.is_of_twin else None
    return _evidence(evaluation, twin or evaluation.question, got, Refusal if twin else Answer)


def evidence_of_pass(case: Case) -> Evidence | None:
    """Return the evidence of a pass: the node and its only right answer, without outputs.

    Of a model that must be refused, it is the invalid node, without an answer. None where no single
    answer is known to be right: for unknown operators, cases that a backend decides, several
    admitted answers, and a case that is wrong itself. Raises MemoryError if the data do not fit
    into memory, NotSupported if the bound of a stated answer takes more than opcheck computes.
    """
    if not case.expect.is_stated or operator_of(case.op) is None:
        return None
    evaluation = CaseEvaluation(case)
    # The legal twin of an invalid model need not be a good case itself.
    with suppress(ValueError):
        if len(evaluation.accepted_answers) == 1:
            return _evidence(evaluation, evaluation.question, None, Answer)
    return None


def _evidence(
    evaluation: CaseEvaluation, question: Question, got: Outputs | None, kind: type[Admitted]
) -> Evidence:
    """Return the evidence of outputs, None for a refusal, with the admitted answers of `kind`.

    Of a legal twin, whose `kind` is `Refusal`, these are the outputs that the refusal holds. Raises
    what `CaseEvaluation.accepted_answers` raises, unless it was computed before: WrongCase,
    ValueError, MemoryError, OracleUnavailable, NotSupported, UsageError.
    """
    admitted = [answer.wants for answer in evaluation.accepted_answers if isinstance(answer, kind)]
    if kind is Answer:
        node = evaluation.node
    else:
        node = expected.node_of(question.task, question.inputs)
    return Evidence(node, got, admitted, evaluation.case.tolerance)
