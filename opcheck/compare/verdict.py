"""The verdict on a backend's outcome, given a case's answers, or all backends' outcomes."""

from collections.abc import Collection, Mapping, Sequence
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


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and its evidence.

    `refused` marks a pass by refusal, `alternative` names the answer chosen of several, `against`
    the backends with which it was compared. `irreproducible`: a second run gave other right values.
    `inexpressible` and `beyond` are those of `Declined`.
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
    """The verdict on `outcome`; `tolerance` None means the bounds of the answers.

    `like` and `declared` are as in `compare`; `twin` is the outcome of a refused model's twin.
    """
    refusals = [one for one in admitted if isinstance(one, Refusal)]
    if isinstance(outcome, question.Crashed | question.OutOfMemory) and outcome.alone:
        alone = judge(rule, admitted, outcome.alone, tolerance, like, declared, twin)
        # That a process died first, in which others were asked before, excuses no wrong answer.
        if alone.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE):
            return replace(alone, reason=f"{alone.reason}; asked after others: {outcome.how}")
    match outcome, twin:
        case question.Declined(reason, inexpressible=False), question.Produced() if refusals:
            # Declining an invalid model is a refusal if its legal twin is supported.
            outcome = question.Raised("prepare", str(Verdict.UNSUPPORTED), reason, documented=True)
    if not depends(outcome):
        return by_itself(rule, outcome)
    if isinstance(outcome, question.Raised):
        return _judge_refusal(rule, refusals, outcome, twin)
    if not (answers := [answer for answer in admitted if isinstance(answer, Answer)]):
        reasons = "; ".join(refusal.reason for refusal in refusals)
        return lesser(rule, Verdict.FAIL, f"accepts an invalid model: {reasons}", "accepted")
    names = [str(answer.name) for answer in admitted]
    how = tolerance, like, declared

    def judged(outputs: Outputs) -> Judgement:
        attempts = [(compare_outputs(one.wants, outputs, *how), one.name) for one in answers]
        return _judge_outputs(rule, attempts, names)

    found = judged(outcome.outputs)
    if outcome.again is not None:
        later = judged(outcome.again)
        # Answers to the same data that differ are no contradiction if both are right.
        if any(one.failure not in (None, "precision") for one in (found, later)):
            return unstable(outcome.differs)
        pairs = outcome.outputs, outcome.again
        drifts = [said for one in answers if (said := drift(one.wants, *pairs))]
        if "precision" in (found.failure, later.failure) and len(drifts) == len(answers):
            return unstable(f"{outcome.differs}; {drifts[0]}")
        worse = later if found.verdict is Verdict.PASS else found
        reason = worse.reason or f"{IRREPRODUCIBLE}: {outcome.differs}"
        found = replace(worse, reason=reason, irreproducible=True)
    message = misdeclared(outcome, [want.name for want in answers[0].wants])
    return Judgement(Verdict.FAIL, message, "declared") if message and is_right(found) else found


def misdeclared(outcome: question.Produced, names: Sequence[str]) -> str:
    """Describe how the outputs contradict the backend's declaration, or ""."""
    if outcome.declared and len(outcome.declared) != len(outcome.outputs):
        return f"{len(outcome.declared)} outputs declared, {len(outcome.outputs)} returned"
    for name, said, output in zip(names, outcome.declared, outcome.outputs, strict=False):
        if isinstance(output, question.Foreign):
            continue
        dtype = of(output)
        sizes = said.shape or ()
        other = any(s not in (None, size) for s, size in zip(sizes, output.shape, strict=False))
        other |= said.shape is not None and len(sizes) != output.ndim
        other |= said.dtype is not None and dtype is not None and said.dtype != dtype.name
        if other:
            got = question.Declared(dtype.name if dtype else None, output.shape)
            return f"{name}: declared as {said}, returned as {got}"
    return ""


def without_own_text(
    outcome: question.Produced, stated: Sequence[question.Declared]
) -> question.Produced:
    """Return `outcome` without declarations that only repeat what the model states of its outputs.

    Those are sizes that the model states too, and a rank that is the model's and not the answer's.
    """
    if len(stated) != len(outcome.declared):
        return outcome
    declared = tuple(map(_beyond_the_text, outcome.declared, stated, outcome.outputs))
    return replace(outcome, declared=declared)


def _beyond_the_text(
    declared: question.Declared, stated: question.Declared, output: Array | question.Foreign
) -> question.Declared:
    if declared.shape is None or stated.shape is None or isinstance(output, question.Foreign):
        return declared
    if len(declared.shape) != len(stated.shape):
        return declared
    if len(declared.shape) != output.ndim:
        return replace(declared, shape=None)
    pairs = zip(declared.shape, stated.shape, strict=True)
    return replace(declared, shape=tuple(None if own == text else own for own, text in pairs))


def depends(outcome: question.Outcome) -> TypeGuard[question.Produced | question.Raised]:
    """Return True if the verdict depends on the expected answer: for answers and refusals."""
    match outcome:
        case question.Produced(unstable=contradiction):
            return contradiction is None
        case question.Raised(stage=stage, unusable=unusable):
            return not unusable and stage not in _LATER
        case _:
            return False


def by_itself(rule: Rule, outcome: question.Outcome) -> Judgement:
    """The verdict on an outcome that does not depend on the expected answer."""
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
            return lesser(rule, Verdict.ERROR, f"{UNUSABLE}: {outcome}", "raised")
        case question.Produced(unstable=contradiction):
            return unstable(str(contradiction))


def unanswered(rule: Rule, outcome: question.Outcome, why: str) -> Judgement:
    """Not run, for this reason `why`, unless the outcome fails whatever the answer is."""
    if depends(outcome) or isinstance(outcome, question.Declined):
        return Judgement(Verdict.NOT_RUN, why)
    return by_itself(rule, outcome)


def is_right(said: LiveResult | Judgement) -> bool:
    """Return True for a pass, and for a warning of poorer arithmetic only."""
    tolerated = said.verdict is Verdict.WARN and said.failure == "precision"
    return said.verdict is Verdict.PASS or tolerated


def unstable(contradiction: str) -> Judgement:
    """The verdict on runs that contradict each other, whatever the rule."""
    return Judgement(Verdict.UNSTABLE, contradiction, "unstable")


def _judge_outputs(
    rule: Rule, attempts: Sequence[tuple[Comparisons, str | None]], names: Sequence[str]
) -> Judgement:
    for comparisons, name in attempts:
        if not any(comparison.problem for comparison in comparisons):
            reason = "; ".join(f"{one.output}: {one.remark}" for one in comparisons if one.remark)
            return Judgement(Verdict.PASS, reason, alternative=name, comparisons=comparisons)
    comparisons, name = min(attempts, key=lambda attempt: _distance(attempt[0]))
    broken = [comparison for comparison in comparisons if comparison.problem]
    reason = "; ".join(map(what_is_wrong, broken))
    problems = {comparison.problem for comparison in broken}
    if problems <= {"undecided", "precision"} and "undecided" in problems:
        return Judgement(Verdict.BAD_CASE, reason, comparisons=comparisons)
    if all(comparison.problem == "precision" for comparison in broken):
        return Judgement(Verdict.WARN, reason, "precision", False, name, comparisons)
    if len(names) > 1:
        reason = f"none of the admitted answers ({', '.join(names)}); nearest {name}: {reason}"
    return lesser(rule, Verdict.FAIL, reason, failure(broken), comparisons)


def failure(broken: Sequence[Comparison]) -> Failure | None:
    """The first way in which outputs fail, other than by a poorer arithmetic."""
    problems = [c.problem for c in broken if c.problem not in (None, "precision", "undecided")]
    return cast(Failure, problems[0])


def _judge_refusal(
    rule: Rule, refusals: Sequence[Refusal], raised: question.Raised, twin: question.Outcome | None
) -> Judgement:
    if not refusals:
        return lesser(rule, Verdict.ERROR, f"raised on a legal model: {raised}", "raised")
    accident = "" if raised.documented else "refused by accident: "
    match twin:
        case None:  # a user's node that the text lets a backend refuse has no legal twin
            reason = f"{accident}{raised}"
            return Judgement(Verdict.PASS, reason, refused=True, alternative=refusals[0].name)
        case question.Declined(reason):
            return Judgement(Verdict.UNSUPPORTED, f"its legal twin is not implemented: {reason}")
        case question.Raised(stage=stage) if stage not in _LATER:
            return lesser(rule, Verdict.ERROR, f"refuses its legal twin too: {twin}", "raised")
        case question.Produced(unstable=None, outputs=outputs):
            wants = refusals[0].wants
            comparisons = compare_outputs(wants, outputs, EXACT) if wants else ()
            if broken := tuple(c for c in comparisons if _is_structural(c)):
                reason = f"its legal twin: {what_is_wrong(broken[0])}"
                return lesser(rule, Verdict.FAIL, reason, failure(broken), broken)
            reason = f"{accident}{raised}"
            return Judgement(Verdict.PASS, reason, refused=True, alternative=refusals[0].name)
        case _:
            found = by_itself(rule, twin)
            return replace(found, reason=f"its legal twin: {found.reason}")


def lesser(
    rule: Rule, verdict: Verdict, reason: str, kind: Failure | None, comparisons: Comparisons = ()
) -> Judgement:
    """`verdict`, or a warning if the rule is `should`."""
    lesser = Verdict.WARN if rule == "should" else verdict
    return Judgement(lesser, reason, kind, comparisons=comparisons)


def _is_structural(comparison: Comparison) -> bool:
    return comparison.problem in ("count", "type", "dtype", "shape")


def _distance(comparisons: Sequence[Comparison]) -> tuple[int, int, int]:
    values = [comparison for comparison in comparisons if comparison.problem == "values"]
    structural = sum(map(_is_structural, comparisons))
    return structural, len(values), sum(comparison.wrong for comparison in comparisons)


def what_is_wrong(comparison: Comparison, how: str = "wrong") -> str:
    """Describe a mismatch in a few words; `how` elements of a wrong value are."""
    output, wrong, of = comparison.output, comparison.wrong, f"of {comparison.total} elements"
    if comparison.problem == "precision" or (comparison.problem, wrong) == ("values", 0):
        return f"{output}: {comparison.remark}" + f"; {wrong} {of} need it" * bool(wrong)
    counts = {"undecided": f"{comparison.unjudged} {of} unjudged", "values": f"{wrong} {of} {how}"}
    plain = f"{comparison.problem} {comparison.detail}".rstrip()
    said = counts.get(str(comparison.problem), plain)
    return ": ".join(filter(None, (output, said, comparison.remark)))


def judge_among(
    case: Case, outcomes: Mapping[str, question.Outcome], like: Array | None = None
) -> dict[str, Judgement]:
    """The verdict on each backend, by name, where the right answer is unknown.

    Agreement proves nothing about a backend, nor does a majority against the rest. So two answers
    merely differ; if more than half of the backends agree, the others differ from these.

    Two answers agree if each is within the case's tolerance of the other, None for exactly. Its
    outputs give the number of tensors and their dtypes, if known. To refuse what others answer is
    to differ; to refuse what nobody answers is an error. A single answer is not judged. `like` is
    as in `judge`.
    """
    rule, outputs, tolerance = case.rule, case.outputs, case.tolerance
    found: dict[str, Judgement] = {}
    answers: dict[str, tuple[Array, ...]] = {}
    refusals: dict[str, str] = {}
    for name, outcome in outcomes.items():
        if not depends(outcome):
            found[name] = by_itself(rule, outcome)
        elif isinstance(outcome, question.Raised):
            refusals[name] = str(outcome)
        elif wrong := misfit(outcome.outputs, outputs):
            said, kind = what_is_wrong(wrong), failure([wrong])
            found[name] = lesser(rule, Verdict.FAIL, said, kind, (wrong,))
        elif said := misdeclared(outcome, [output.name for output in outputs]):
            found[name] = Judgement(Verdict.FAIL, said, "declared")
        else:
            answers[name] = tuple(o for o in outcome.outputs if isinstance(o, np.ndarray))
    wants = {name: wants_of(case, answer) for name, answer in answers.items()}
    everybody = [name for name in outcomes if name not in found]
    pairs = permutations(answers, 2)
    compared = {(a, b): compare_outputs(wants[b], answers[a], tolerance, like) for a, b in pairs}
    meeting = _Meeting(case, everybody, refusals, wants, compared)
    return {name: found.get(name) or meeting.judgement(name) for name in outcomes}


def wants_of(case: Case, got: Sequence[Array]) -> tuple[Want, ...]:
    """Return a backend's outputs as the ones that others are expected to give."""
    pairs = zip(case.outputs, got, strict=True)
    return tuple(stated_want(case.op, out.name, one, of(one)) for out, one in pairs)


def steady(case: Case, outcome: question.Outcome) -> question.Outcome:
    """Return `outcome` as unstable if its answers to the same data differ beyond the tolerance."""
    if not isinstance(outcome, question.Produced) or outcome.again is None:
        return outcome
    if misfit(outcome.outputs, case.outputs):
        return outcome
    arrays = [one for one in outcome.outputs if isinstance(one, np.ndarray)]
    broken = _broken(compare_outputs(wants_of(case, arrays), outcome.again, case.tolerance))
    return replace(outcome, unstable=outcome.differs) if broken else outcome


def misfit(answer: Outputs, outputs: Sequence[OutputSpec]) -> Comparison | None:
    """Return a mistake in the number, types or known dtypes of outputs, None if there is none."""
    given = chain(answer, repeat(_NO_TENSOR))
    tensors = (one if isinstance(one, np.ndarray) else _NO_TENSOR for one in given)
    wants = [Want(it.name, it.dtype, one) for it, one in zip(outputs, tensors, strict=False)]
    return next((found for found in compare_outputs(wants, answer) if found.problem), None)


@dataclass(eq=False)
class _Meeting:
    """Backends by name: `refusals`, answers as `wants` for the others, and all pairs `compared`."""

    case: Case
    everybody: Sequence[str]
    refusals: Mapping[str, str]
    wants: Mapping[str, tuple[Want, ...]]
    compared: Mapping[tuple[str, str], Comparisons]

    def judgement(self, name: str) -> Judgement:
        if not self.wants:
            reason = f"raised, and nobody answers: {self.refusals[name]}"
            return lesser(self.case.rule, Verdict.ERROR, reason, "raised")
        if len(self.everybody) == 1:
            return Judgement(Verdict.NOT_RUN, ALONE)
        group = self.majority or tuple(self.wants)
        if name in self.refusals:
            reason = f"refuses what {_names(group)} {_verb('answer', group)}: {self.refusals[name]}"
            return replace(lesser(self.case.rule, Verdict.DIFFER, reason, "raised"), against=group)
        others = tuple(other for other in group if other != name)
        unlike = tuple(other for other in others if not self._agree(name, other))
        if unlike or (self.refusals and not self.majority):
            return self._differing(name, others, unlike)
        rest = [other for other in self.everybody if other not in (name, *others)]
        said = f"{_names(rest)} {_verb('differ', rest)}" if rest else ""
        if not self.majority and len(others) > 1:
            said = f"{_names(others)} differ from each other"
        if wide := too_wide(self.wants[name], self.case.tolerance):
            return Judgement(Verdict.BAD_CASE, wide)
        compared = self.compared[name, others[0]]
        return Judgement(Verdict.PASS, said, comparisons=compared, against=others)

    @cached_property
    def majority(self) -> tuple[str, ...]:
        """The largest group that agrees with each other, if it is more than half and unique."""
        # Larger ones than of twelve are not searched for, which would take too long.
        for size in range(min(len(self.wants), 12), len(self.everybody) // 2, -1):
            of_size = combinations(self.wants, size)
            groups = [g for g in of_size if all(self._agree(*two) for two in combinations(g, 2))]
            if groups:
                return groups[0] if len(groups) == 1 else ()
        return ()

    def _agree(self, one: str, other: str) -> bool:
        return not _broken(self.compared[one, other]) and not _broken(self.compared[other, one])

    def _differing(self, name: str, others: Sequence[str], unlike: tuple[str, ...]) -> Judgement:
        """The verdict on an answer that some of the `others` do not share or refuse to give."""
        reasons = []
        compared: Comparisons = ()
        kind: Failure | None = "accepted"
        if unlike:
            compared = self.compared[name, unlike[0]]
            broken = _broken(compared) or _broken(self.compared[unlike[0], name])
            kind = failure(broken)
            which = ", which agree" if self.majority and len(others) > 1 else ""
            whose = f"{unlike[0]}: " if len(unlike) > 1 else ""
            what = "; ".join(what_is_wrong(one, "differ") for one in broken)
            reasons.append(f"differs from {_names(unlike)}{which}: {whose}{what}")
        if alike := [other for other in others if other not in unlike]:
            reasons.append(f"agrees with {_names(alike)}")
        if refusing := tuple(self.refusals):
            reasons.append(f"{_names(refusing)} {_verb('refuse', refusing)} what it answers")
        found = lesser(self.case.rule, Verdict.DIFFER, "; ".join(reasons), kind, compared)
        return replace(found, against=unlike or refusing)


def _broken(comparisons: Comparisons) -> list[Comparison]:
    return [comparison for comparison in comparisons if comparison.problem]


def _names(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _verb(verb: str, names: Sequence[str]) -> str:
    return f"{verb}s" if len(names) == 1 else verb
