"""The verdict on a backend's outcome, given a case's answers, or all backends' outcomes.

An *outcome* is what a backend did: outputs, an exception, a crash. What a text *admits* are answers
and, of an invalid model, refusals; a refusal is right if the backend accepts the *legal twin*, the
same model made valid. Under the rule `should`, what would be a failure is a warning. Where no right
answer is known, backends are compared with each other. What asks for an operator raises
WrongOperator if the file that declares it is wrong.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, permutations, repeat
from typing import NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np

from opcheck.compare.elements import Want
from opcheck.compare.outputs import (
    Comparisons,
    Outputs,
    compare_outputs,
    drift,
    stated_want,
    too_wide,
)
from opcheck.dtypes import of
from opcheck.model import question
from opcheck.model.case import EXACT, Array, Case, OutputSpec, Rule, Tolerance
from opcheck.model.result import Comparison, Failure, LiveResult, Verdict

#: Beginning of the reason for an answer that is no tensor.
UNUSABLE = "its answer cannot be used"
#: The remark on answers that differ between runs, each right.
IRREPRODUCIBLE = "not reproducible to the bit"
#: The beginning of what a pass has judged of a model's outputs, where that is not all.
IN_PART = "judged in part"
ALONE = "no other backend answers, so there is nothing to compare its answer with"
_NO_TENSOR = np.empty(0)


class Answer(NamedTuple):
    """Right outputs; with a `name` if the text admits several answers."""

    wants: tuple[Want, ...]
    name: str | None = None


class Refusal(NamedTuple):
    """A refusal of the model is right, if its legal twin is accepted.

    `wants` are the twin's outputs, empty if nothing computes them.
    """

    reason: str
    wants: tuple[Want, ...]
    name: str | None = None


Admitted: TypeAlias = Answer | Refusal
#: The stages behind the first answer, and the data of their runs.
_LATER = {"second run": "other data of the same shapes", "third run": "the same data again"}


def first_answer(admitted: Iterable[Admitted]) -> Answer | None:
    """Return the first answer of several, refusals passed over; None without any."""
    return next((answer for answer in admitted if isinstance(answer, Answer)), None)


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and its evidence.

    Attributes:
        verdict: The verdict.
        reason: What decided, in words; "" for a pass of which there is nothing to say.
        failure: How it fails, or what a warning is about; None if it does not.
        refused: It passes by a refusal.
        alternative: The name of the answer chosen of several; None if it has no name.
        comparisons: The outputs compared with that answer.
        inexpressible: As of `Declined`: no model states the task, or opcheck cannot hand it on.
        beyond: As of `Declined`: the latter.
        against: The backends that it agrees with, or differs from, if no answer is known.
        irreproducible: A second run gave other right values.
    """

    verdict: Verdict
    reason: str = ""
    failure: Failure | None = None
    refused: bool = False
    alternative: str | None = None
    comparisons: Comparisons = ()
    inexpressible: bool = False
    beyond: bool = False
    against: tuple[str, ...] = ()
    irreproducible: bool = False


def judge(
    rule: Rule,
    admitted: Sequence[Admitted],
    outcome: question.Outcome,
    tolerance: Tolerance | None,
    like: Array | None = None,
    declared: Collection[str] = (),
    twin: question.Outcome | None = None,
) -> Judgement:
    """Return the verdict on `outcome`; `tolerance` None means the bounds of the answers.

    One answer or refusal of `admitted`, which is not empty, must be right. Under the rule `should`,
    a failure or error is a warning. `like` is an input to show next to wrong elements; `declared`
    names 16-bit types in which the backend says it computes. `twin` is the outcome of a refused
    model's legal twin, the same model made valid; None if it has none. A backend that declines a
    model refuses it, if that is admitted and it tries the twin. A process that died after other
    cases has the verdict on the same question asked `alone`, if that is a failure, an error or
    unstable.

    Raises ValueError for a tolerance that is negative, not finite or of both kinds, and for wanted
    values that the wanted dtype cannot hold. A bound that is computed for the first time raises
    what the operator's formula raises, such as NotSupported beyond a budget.
    """
    refusals = [answer for answer in admitted if isinstance(answer, Refusal)]
    if isinstance(outcome, question.Crashed | question.OutOfMemory) and outcome.alone:
        alone = judge(
            rule=rule,
            admitted=admitted,
            outcome=outcome.alone,
            tolerance=tolerance,
            like=like,
            declared=declared,
            twin=twin,
        )
        # That a process died first, which had answered other cases, does not excuse a wrong answer.
        if alone.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE):
            return replace(alone, reason=f"{alone.reason}; asked after others: {outcome.how}")
    match outcome:
        case question.Declined(reason, inexpressible=False) if refusals and _is_tried(twin):
            outcome = question.Raised("prepare", str(Verdict.UNSUPPORTED), reason, documented=True)
    if not needs_expected(outcome):
        return judge_without_expected(rule, outcome)
    if isinstance(outcome, question.Raised):
        return _judge_refusal(rule, refusals, outcome, twin)
    if len(refusals) == len(admitted):
        reasons = "; ".join(refusal.reason for refusal in refusals)
        message = f"accepts an invalid model: {reasons}"
        return downgrade_should(rule, Verdict.FAIL, message, "accepted")
    return _judge_answer(rule, admitted, outcome, tolerance, like, declared)


def _is_tried(twin: question.Outcome | None) -> bool:
    """Return True if a backend supports a legal twin: it answered, or was lost on the way.

    False for one that raised: its message may say that it does not support the twin either.
    """
    lost = question.Crashed | question.TimedOut | question.OutOfMemory
    return isinstance(twin, question.Produced | lost)


def _judge_answer(
    rule: Rule,
    admitted: Sequence[Admitted],
    outcome: question.Produced,
    tolerance: Tolerance | None,
    like: Array | None,
    declared: Collection[str],
) -> Judgement:
    """Return the verdict on outputs, which must be those of one admitted answer.

    At least one of `admitted` is an `Answer`. `tolerance` is None for the bounds of the answers;
    `like` is an input to show next to wrong elements or None, and `declared` names 16-bit types
    that need no warning. A second answer to the same data is judged too. A right answer that
    contradicts the dtypes or shapes that the backend declared fails, whatever the rule. Raises
    ValueError for a bad tolerance and for wanted values that the wanted dtype cannot hold, and what
    a formula raises for a bound.
    """
    answers = [answer for answer in admitted if isinstance(answer, Answer)]
    names = [str(answer.name) for answer in admitted]

    def judge_one(outputs: Outputs) -> Judgement:
        """Return the verdict on the outputs of one of two runs, next to all admitted answers."""
        attempts = [
            (compare_outputs(answer.wants, outputs, tolerance, like, declared), answer.name)
            for answer in answers
        ]
        return _judge_outputs(rule, attempts, names)

    judgement = judge_one(outcome.outputs)
    if outcome.again is not None:
        judgement = _judge_both_runs(outcome, answers, judgement, judge_one(outcome.again))
        if judgement.verdict is Verdict.UNSTABLE:
            return judgement
    message = misdeclared(outcome, [want.name for want in answers[0].wants])
    if message and is_right(judgement):
        return Judgement(Verdict.FAIL, message, "declared")
    return judgement


def _judge_both_runs(
    outcome: question.Produced, answers: Sequence[Answer], first: Judgement, second: Judgement
) -> Judgement:
    """Return the verdict on two runs on the same data with other outputs, each judged by itself.

    The verdict is "unstable" if one run fails other than by a poorer arithmetic; or if one is of
    poorer arithmetic and the errors of both scatter too differently for a single one, next to each
    of the `answers`. Otherwise it is that on the first run, or on the second if the first passes,
    with `irreproducible`. Raises AssertionError if there is no second answer, and what a formula
    raises for a bound.
    """
    assert outcome.again is not None
    failures = (first.failure, second.failure)
    if any(failure not in (None, "precision") for failure in failures):
        return unstable(outcome.differs)
    if "precision" in failures:
        drifts = [drift(answer.wants, outcome.outputs, outcome.again) for answer in answers]
        if all(drifts):  # An empty text: no drift next to that answer.
            return unstable(f"{outcome.differs}; {drifts[0]}")
    worse = second if first.verdict is Verdict.PASS else first
    reason = worse.reason or f"{IRREPRODUCIBLE}: {outcome.differs}"
    return replace(worse, reason=reason, irreproducible=True)


def misdeclared(outcome: question.Produced, names: Sequence[str]) -> str:
    """Describe how the outputs contradict the backend's declaration, or "".

    A backend declares their number, dtypes and shapes, or nothing; a dtype, a shape or a size that
    it leaves out contradicts nothing. `names` are those of the outputs. Only the first
    contradiction is described. Outputs that are not tensors are left out, and so are returned
    dtypes that ONNX lacks.
    """
    if outcome.declared and len(outcome.declared) != len(outcome.outputs):
        return f"{len(outcome.declared)} outputs declared, {len(outcome.outputs)} returned"
    for name, declared, output in zip(names, outcome.declared, outcome.outputs, strict=False):
        if isinstance(output, question.Foreign):
            continue
        dtype = of(output)
        has_other_dtype = dtype is not None and declared.dtype not in (None, dtype.name)
        if has_other_dtype or not declared.fits(output.shape):
            got = question.Declared(dtype.name if dtype else None, output.shape)
            return f"{name}: declared as {declared}, returned as {got}"
    return ""


def without_own_text(
    outcome: question.Produced, stated: Sequence[question.Declared]
) -> question.Produced:
    """Return `outcome` without declarations that only repeat what the model states of its outputs.

    Left out are sizes that the model states too, and shapes whose rank is the model's and not the
    answer's; dtypes stay. `stated` is what the model's text has of each output. `outcome` itself if
    that has not as many outputs as were declared.
    """
    if len(stated) != len(outcome.declared):
        return outcome
    declared = tuple(map(_beyond_the_text, outcome.declared, stated, outcome.outputs))
    return replace(outcome, declared=declared)


def _beyond_the_text(
    declared: question.Declared, stated: question.Declared, output: Array | question.Foreign
) -> question.Declared:
    """Return what is declared of an output without what `stated`, the model's text, has of it.

    Equal sizes become None. The shape is left out if its rank is the model's but not the output's.
    `declared` itself is returned if it or `stated` has no shape, if their ranks differ, or if the
    output is not a tensor.
    """
    if declared.shape is None or stated.shape is None or isinstance(output, question.Foreign):
        return declared
    if len(declared.shape) != len(stated.shape):
        return declared
    if len(declared.shape) != output.ndim:
        return replace(declared, shape=None)
    pairs = zip(declared.shape, stated.shape, strict=True)
    return replace(declared, shape=tuple(None if own == text else own for own, text in pairs))


def needs_expected(outcome: question.Outcome) -> TypeGuard[question.Produced | question.Raised]:
    """Return True if the verdict depends on the expected answer: for answers and exceptions.

    It does not for an unstable or unusable answer, nor for an exception in a later run, on other
    data or on the same again.
    """
    match outcome:
        case question.Produced(unstable=contradiction):
            return contradiction is None
        case question.Raised(stage=stage, unusable=unusable):
            return not unusable and stage not in _LATER
        case _:
            return False


def judge_without_expected(rule: Rule, outcome: question.Outcome) -> Judgement:
    """Return the verdict on an outcome that does not depend on the expected answer.

    That is the verdict of the same name for an outcome that was not run, crashed, timed out, had
    too little memory, or was declined ("unsupported"). An exception after the first answer, and
    answers that contradict each other, are "unstable". An answer that cannot be used is an error,
    or a warning under the rule `should`. Outcomes for which `needs_expected` is True have no right
    verdict here.
    """
    match outcome:
        case question.NotRun(reason):
            return Judgement(Verdict.NOT_RUN, reason)
        case question.Crashed(how, alone):
            return Judgement(Verdict.CRASH, how, "stray_crash" if alone else "crash")
        case question.TimedOut(seconds):
            return Judgement(Verdict.TIMEOUT, f"no answer within {seconds:g} s", "timeout")
        case question.OutOfMemory(how):
            return Judgement(Verdict.OOM, how, "oom")
        case question.Declined(reason, inexpressible, beyond):
            return Judgement(
                Verdict.UNSUPPORTED, reason, inexpressible=inexpressible, beyond=beyond
            )
        case question.Raised(stage=stage) if stage in _LATER:
            later = f"then raised on {_LATER[stage]}: {outcome}"
            return unstable(f"answered its first run, {later}")
        case question.Raised():
            return downgrade_should(rule, Verdict.ERROR, f"{UNUSABLE}: {outcome}", "raised")
        case question.Produced(unstable=contradiction):
            return unstable(str(contradiction))


def judge_without_oracle(rule: Rule, outcome: question.Outcome, why: str) -> Judgement:
    """Return "not run", for this reason `why`, unless the outcome fails whatever the answer is.

    It is "not run" too if the backend declined the case. A crash, a time limit, too little memory,
    contradictions and an unusable answer keep their verdicts.
    """
    if needs_expected(outcome) or isinstance(outcome, question.Declined):
        return Judgement(Verdict.NOT_RUN, why)
    return judge_without_expected(rule, outcome)


def is_right(result: LiveResult | Judgement) -> bool:
    """Return True for a pass, and for a warning of poorer arithmetic only."""
    tolerated = result.verdict is Verdict.WARN and result.failure == "precision"
    return result.verdict is Verdict.PASS or tolerated


def unstable(contradiction: str) -> Judgement:
    """Return the verdict "unstable" on runs that contradict each other, whatever the rule."""
    return Judgement(Verdict.UNSTABLE, contradiction, "unstable")


def _judge_outputs(
    rule: Rule, attempts: Sequence[tuple[Comparisons, str | None]], names: Sequence[str]
) -> Judgement:
    """Return the verdict on outputs, compared with each admitted answer, which may have a name.

    If no output has a problem next to an answer, that is a pass by the first such. Otherwise the
    nearest answer counts, the one with the fewest outputs of a wrong form, then of wrong values: a
    "bad case" if outputs are undecided and all other problems are of the arithmetic, a warning if
    all are of the arithmetic, else a failure, or a warning under the rule `should`. `names` are
    those of all answers and refusals that are admitted. There is at least one attempt.
    """
    for comparisons, name in attempts:
        if not _broken(comparisons):
            remarked = [comparison for comparison in comparisons if comparison.remark]
            reason = "; ".join(f"{it.output}: {it.remark}" for it in remarked)
            return Judgement(Verdict.PASS, reason, alternative=name, comparisons=comparisons)
    comparisons, name = min(attempts, key=_distance_of_attempt)
    broken = _broken(comparisons)
    reason = "; ".join(map(what_is_wrong, broken))
    problems = {comparison.problem for comparison in broken}
    if problems <= {"undecided", "precision"} and "undecided" in problems:
        return Judgement(Verdict.BAD_CASE, reason, comparisons=comparisons)
    if all(comparison.problem == "precision" for comparison in broken):
        return Judgement(
            Verdict.WARN, reason, "precision", alternative=name, comparisons=comparisons
        )
    if len(names) > 1:
        reason = f"none of the admitted answers ({', '.join(names)}); nearest {name}: {reason}"
    return downgrade_should(rule, Verdict.FAIL, reason, failure(broken), comparisons)


def failure(broken: Sequence[Comparison]) -> Failure:
    """Return the first problem of outputs that is a failure.

    No problem, "precision" (a poorer arithmetic) and "undecided" are skipped. Raises IndexError if
    there is no other.
    """
    problems = [c.problem for c in broken if c.problem not in (None, "precision", "undecided")]
    return cast(Failure, problems[0])


def _judge_refusal(
    rule: Rule, refusals: Sequence[Refusal], raised: question.Raised, twin: question.Outcome | None
) -> Judgement:
    """Return the verdict on a refusal, which must spare the model's legal twin.

    The twin is the same model made valid; `twin` is its outcome, None if it has none: then a
    refusal that the backend documents is a pass, and any other exception unsupported, as nothing
    shows that the backend takes other nodes. It is an error if no refusal is admitted, or if the
    twin is refused too; a failure if the twin's outputs are wrong in number, type, dtype or shape,
    and unsupported if the backend declined it. A twin whose verdict needs no expected answer, such
    as one that crashes or is unstable, lends it that verdict. The twin's values are not judged, and
    nothing of it if the first refusal has no `wants`. Under the rule `should`, an error or a
    failure is a warning.

    Raises ValueError for values wanted of the twin that their dtype cannot hold. A bound of the
    twin that is computed for the first time raises what the operator's formula raises, such as
    NotSupported beyond a budget.
    """
    if not refusals:
        message = f"raised on a legal model: {raised}"
        return downgrade_should(rule, Verdict.ERROR, message, "raised")
    accident = "" if raised.documented else "refused by accident: "
    match twin:
        case None if accident:
            reason = f"{accident}{raised}; opcheck has no legal twin of this node"
            return Judgement(Verdict.UNSUPPORTED, reason)
        case None:  # a node that the text lets a backend refuse whatever its data are
            return Judgement(Verdict.PASS, str(raised), refused=True, alternative=refusals[0].name)
        case question.Declined(reason):
            return Judgement(Verdict.UNSUPPORTED, f"its legal twin is not implemented: {reason}")
        case question.Raised(stage=stage) if stage not in _LATER:
            message = f"refuses its legal twin too: {twin}"
            return downgrade_should(rule, Verdict.ERROR, message, "raised")
        case question.Produced(unstable=None, outputs=outputs):
            wants = refusals[0].wants
            comparisons = compare_outputs(wants, outputs, EXACT) if wants else ()
            broken = tuple(filter(_is_structural, comparisons))
            if broken:
                reason = f"its legal twin: {what_is_wrong(broken[0])}"
                return downgrade_should(rule, Verdict.FAIL, reason, failure(broken), broken)
            reason = f"{accident}{raised}"
            return Judgement(Verdict.PASS, reason, refused=True, alternative=refusals[0].name)
        case _:
            judgement = judge_without_expected(rule, twin)
            return replace(judgement, reason=f"its legal twin: {judgement.reason}")


def downgrade_should(
    rule: Rule, verdict: Verdict, reason: str, kind: Failure | None, comparisons: Comparisons = ()
) -> Judgement:
    """Return a judgement of `verdict` for a `reason`; under the rule `should`, a warning instead.

    `kind` is its `failure`, how it fails; None for no failure.
    """
    if rule == "should":
        verdict = Verdict.WARN
    return Judgement(verdict, reason, kind, comparisons=comparisons)


def _is_structural(comparison: Comparison) -> bool:
    """Return True for a problem with the number, type, dtype or shape of outputs."""
    return comparison.problem in ("count", "type", "dtype", "shape")


def _distance_of_attempt(attempt: tuple[Comparisons, str | None]) -> tuple[int, int, int]:
    """Return how far outputs are from an answer, as a key: the nearest one is the least.

    That is how many outputs have a wrong number, type, dtype or shape, how many have wrong values,
    and how many elements are wrong. Problems of the arithmetic count by their wrong elements alone.
    """
    comparisons, _ = attempt
    values = [comparison for comparison in comparisons if comparison.problem == "values"]
    structural = sum(map(_is_structural, comparisons))
    return structural, len(values), sum(comparison.wrong for comparison in comparisons)


def what_is_wrong(comparison: Comparison, how: str = "wrong") -> str:
    """Describe a problem of an output in a few words, after the output's name.

    Wrong elements are called `how`, such as "differ". The comparison has a problem; one of the
    arithmetic, or of values of which no single one is wrong, is described by its remark.
    """
    problem = comparison.problem
    wrong = comparison.wrong
    total = f"of {comparison.total} elements"
    if problem == "precision" or (problem == "values" and not wrong):
        message = f"{comparison.output}: {comparison.remark}"
        if wrong:
            message += f"; {wrong} {total} need it"
        return message
    if problem == "undecided":
        description = f"{comparison.unjudged} {total} unjudged"
    elif problem == "values":
        description = f"{wrong} {total} {how}"
    else:
        description = f"{problem} {comparison.detail}".rstrip()
    return ": ".join(filter(None, (comparison.output, description, comparison.remark)))


def judge_among(
    case: Case, outcomes: Mapping[str, question.Outcome], like: Array | None = None
) -> dict[str, Judgement]:
    """Return the verdict on each backend, by name, where the right answer is unknown.

    Agreement proves nothing about a backend, nor does a majority against the rest. So two answers
    merely "differ"; if more than half of the backends agree, the others differ from these. Outcomes
    whose verdict needs no expected answer, and answers of wrong types or other than declared, are
    judged by themselves and take no part.

    Two answers agree if each is within the case's tolerance of the other, None for exactly. The
    case's outputs give the number of tensors and their dtypes, if known. To refuse what others
    answer is to differ; to refuse what no backend answers is an error. Under the rule `should`,
    either is a warning. A single answer is not judged. `like` is an input to show next to elements
    that differ, or None.

    Raises ValueError for a tolerance that is negative, not finite or of both kinds, WrongOperator
    if the file of the operator's formula is wrong.
    """
    judgements: dict[str, Judgement] = {}
    answers: dict[str, tuple[Array, ...]] = {}
    refusals: dict[str, str] = {}
    for name, outcome in outcomes.items():
        if not needs_expected(outcome):
            judgements[name] = judge_without_expected(case.rule, outcome)
        elif isinstance(outcome, question.Raised):
            refusals[name] = str(outcome)
        else:
            by_form = _judge_form(case, outcome)
            if by_form:
                judgements[name] = by_form
            else:
                answers[name] = tuple(o for o in outcome.outputs if isinstance(o, np.ndarray))
    wants = {name: wants_of(case, answer) for name, answer in answers.items()}
    compared = {
        (name, peer): compare_outputs(wants[peer], answers[name], case.tolerance, like)
        for name, peer in permutations(answers, 2)
    }
    others = [name for name in outcomes if name not in judgements]
    meeting = _Meeting(case, others, refusals, wants, compared)
    return {name: judgements.get(name) or meeting.judgement(name) for name in outcomes}


def _judge_form(case: Case, outcome: question.Produced) -> Judgement | None:
    """Return the verdict on an answer with wrong types or declarations, None if they are right.

    The case has the number of outputs, and some of their dtypes. A wrong number, what is not a
    tensor and a wrong dtype are a failure, or a warning under the rule `should`. An answer that
    contradicts what the backend declares of it is a failure, whatever the rule.
    """
    wrong = schema_violation(outcome.outputs, case.outputs)
    if wrong:
        reason = what_is_wrong(wrong)
        return downgrade_should(case.rule, Verdict.FAIL, reason, failure([wrong]), (wrong,))
    reason = misdeclared(outcome, [output.name for output in case.outputs])
    if reason:
        return Judgement(Verdict.FAIL, reason, "declared")
    return None


def wants_of(case: Case, got: Sequence[Array]) -> tuple[Want, ...]:
    """Return a backend's outputs as the ones that others are expected to give, in their dtypes.

    Raises ValueError if there are not as many as the case has, WrongOperator if the file of the
    operator's formula is wrong.
    """
    pairs = zip(case.outputs, got, strict=True)
    return tuple(stated_want(case.op, out.name, array, of(array)) for out, array in pairs)


def unstable_if_inconsistent(case: Case, outcome: question.Outcome) -> question.Outcome:
    """Return `outcome` as unstable if its answers to the same data differ beyond the tolerance.

    The tolerance is the case's, None for exactly. An outcome without outputs or a second answer,
    and outputs of a wrong number or type, are returned as they are. Raises ValueError for a
    tolerance that is negative, not finite or of both kinds, WrongOperator if the file of the
    operator's formula is wrong.
    """
    if not isinstance(outcome, question.Produced) or outcome.again is None:
        return outcome
    if schema_violation(outcome.outputs, case.outputs):
        return outcome
    arrays = [output for output in outcome.outputs if isinstance(output, np.ndarray)]
    broken = _broken(compare_outputs(wants_of(case, arrays), outcome.again, case.tolerance))
    return replace(outcome, unstable=outcome.differs) if broken else outcome


def schema_violation(answer: Outputs, outputs: Sequence[OutputSpec]) -> Comparison | None:
    """Return the first mistake in the number, types or known dtypes of outputs, None without any.

    Outputs that are not tensors are mistakes. Shapes and values are not looked at.
    """
    given = chain(answer, repeat(_NO_TENSOR))
    tensors = (array if isinstance(array, np.ndarray) else _NO_TENSOR for array in given)
    # Each output is compared with its own values, so that nothing else can be wrong.
    wants = [
        Want(output.name, output.dtype, array)
        for output, array in zip(outputs, tensors, strict=False)
    ]
    broken = _broken(compare_outputs(wants, answer))
    return broken[0] if broken else None


#: Larger groups of backends that agree are not searched for, which would take too long.
_MOST_AGREEING = 12


@dataclass(eq=False)
class _Meeting:
    """Backends that answer or refuse a case whose right answer is unknown, by name.

    Attributes:
        case: The case.
        everybody: Their names.
        refusals: The exceptions of those that refuse, in words.
        wants: The answers of the rest, as what is expected of the others.
        compared: For each two of these, in either order, the outputs of the first, compared with
            the wants of the second.
    """

    case: Case
    everybody: Sequence[str]
    refusals: Mapping[str, str]
    wants: Mapping[str, tuple[Want, ...]]
    compared: Mapping[tuple[str, str], Comparisons]

    def judgement(self, name: str) -> Judgement:
        """Return the verdict on one backend of the meeting, by its name.

        An error if it refuses and no backend answers; not run if it is alone. A pass, or a bad case
        where the tolerance admits a constant, if it agrees with all of the majority; without one,
        if it agrees with all others and none refuses. Otherwise it differs. Under the rule
        `should`, an error or a difference is a warning. Raises ValueError and WrongOperator as
        `judge_among` does.
        """
        if not self.wants:
            reason = f"raised, and nobody answers: {self.refusals[name]}"
            return downgrade_should(self.case.rule, Verdict.ERROR, reason, "raised")
        if len(self.everybody) == 1:
            return Judgement(Verdict.NOT_RUN, ALONE)
        group = self.majority or tuple(self.wants)
        if name in self.refusals:
            reason = f"refuses what {_names(group)} {_verb('answer', group)}: {self.refusals[name]}"
            judgement = downgrade_should(self.case.rule, Verdict.DIFFER, reason, "raised")
            return replace(judgement, against=group)
        others = tuple(other for other in group if other != name)
        unlike = tuple(other for other in others if not self._agree(name, other))
        if unlike or (self.refusals and not self.majority):
            return self._differing(name, others, unlike)
        problem = too_wide(self.wants[name], self.case.tolerance)
        if problem:
            return Judgement(Verdict.BAD_CASE, problem)
        outside = [other for other in self.everybody if other not in (name, *others)]
        reason = ""
        if not self.majority and len(others) > 1:
            reason = f"{_names(others)} differ from each other"
        elif outside:
            reason = f"{_names(outside)} {_verb('differ', outside)}"
        compared = self.compared[name, others[0]]
        return Judgement(Verdict.PASS, reason, comparisons=compared, against=others)

    @cached_property
    def majority(self) -> tuple[str, ...]:
        """The largest group of which any two agree, if it is more than half and unique.

        Empty otherwise. Half is that of everybody, of whom some may refuse. Groups of more than 12
        are not looked for.
        """
        for size in range(min(len(self.wants), _MOST_AGREEING), len(self.everybody) // 2, -1):
            groups = [
                group
                for group in combinations(self.wants, size)
                if all(self._agree(one, other) for one, other in combinations(group, 2))
            ]
            if groups:
                return groups[0] if len(groups) == 1 else ()
        return ()

    def _agree(self, one: str, other: str) -> bool:
        """Return True if each of two answers is right where the other is expected."""
        return not _broken(self.compared[one, other]) and not _broken(self.compared[other, one])

    def _differing(self, name: str, others: Sequence[str], unlike: tuple[str, ...]) -> Judgement:
        """Return the verdict on an answer that some `others` do not share or refuse to give.

        `others` are the rest of the majority, or without one of all that answer; `unlike` are those
        of them that answer otherwise, empty if only a refusal differs. The verdict is "differ", or
        a warning under the rule `should`; its failure is the first problem with an answer that is
        unlike, else "accepted". It is against those, else against the ones that refuse.
        """
        reasons = []
        compared: Comparisons = ()
        kind: Failure | None = "accepted"
        if unlike:
            compared = self.compared[name, unlike[0]]
            broken = _broken(compared) or _broken(self.compared[unlike[0], name])
            kind = failure(broken)
            which = ", which agree" if self.majority and len(others) > 1 else ""
            whose = f"{unlike[0]}: " if len(unlike) > 1 else ""
            what = "; ".join(what_is_wrong(comparison, "differ") for comparison in broken)
            reasons.append(f"differs from {_names(unlike)}{which}: {whose}{what}")
        alike = [other for other in others if other not in unlike]
        if alike:
            reasons.append(f"agrees with {_names(alike)}")
        refusing = tuple(self.refusals)
        if refusing:
            reasons.append(f"{_names(refusing)} {_verb('refuse', refusing)} what it answers")
        reason = "; ".join(reasons)
        judgement = downgrade_should(self.case.rule, Verdict.DIFFER, reason, kind, compared)
        return replace(judgement, against=unlike or refusing)


def _broken(comparisons: Comparisons) -> list[Comparison]:
    """Return the comparisons that have a problem."""
    return [comparison for comparison in comparisons if comparison.problem]


def _names(names: Sequence[str]) -> str:
    """Join names in a sentence, such as "a, b and c"; there is at least one."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _verb(verb: str, names: Sequence[str]) -> str:
    """Return a verb for as many subjects: "differs" for one, "differ" for several."""
    return f"{verb}s" if len(names) == 1 else verb
