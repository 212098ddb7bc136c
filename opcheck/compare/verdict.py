"""The verdict on a backend's outcome, given a case's admitted answers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard, cast

from opcheck.compare.elements import Want
from opcheck.compare.outputs import compare_outputs
from opcheck.dtypes import of
from opcheck.model import question
from opcheck.model.case import EXACT, Array, Rule, Tolerance
from opcheck.model.result import Comparison, Failure, LiveResult, Verdict

#: Beginning of the reason for an answer that is no tensor.
UNUSABLE = "its answer cannot be used"
#: The remark on answers that differ between runs, each right.
IRREPRODUCIBLE = "not reproducible to the bit"


@dataclass(frozen=True, eq=False)
class Answer:
    """Right outputs; with a `name` if the text admits several answers."""

    wants: tuple[Want, ...]
    name: str | None = None


@dataclass(frozen=True)
class Refusal:
    """A refusal of the model is right, if its legal twin is accepted.

    `wants` are the twin's outputs, empty if nothing computes them; `twin` asks for them.
    """

    reason: str
    wants: tuple[Want, ...]
    name: str | None = None
    twin: question.Question | None = None


Admitted: TypeAlias = Answer | Refusal
Comparisons: TypeAlias = tuple[Comparison, ...]
#: Verdicts that an answer keeps though a process died first, in which others were asked before.
_WRONG = (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE)
#: The stages behind the first answer, and the data of their runs.
_LATER = {"second run": "other data of the same shapes", "third run": "the same data again"}


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and its evidence.

    `refused` marks a pass by refusal, `alternative` names the answer chosen of several, `against`
    the backends with which it was compared. `irreproducible`: a second run gave other right values.
    """

    verdict: Verdict
    reason: str = ""
    failure: Failure | None = None
    refused: bool = False
    alternative: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    inexpressible: bool = False
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
        if alone.verdict in _WRONG:
            return replace(alone, reason=f"{alone.reason}; asked after others: {outcome.how}")
    match outcome, twin:
        case question.Declined(reason, inexpressible=False), question.Produced() if refusals:
            # Declining an invalid model is a refusal if its legal twin is supported.
            outcome = question.Raised("prepare", str(Verdict.UNSUPPORTED), reason, documented=True)
    if not depends(outcome):
        return by_itself(rule, outcome)
    if isinstance(outcome, question.Raised):
        return _judge_refusal(rule, refusals, outcome, twin)
    answers = [answer for answer in admitted if isinstance(answer, Answer)]
    if not answers:
        reasons = "; ".join(refusal.reason for refusal in refusals)
        return lesser(rule, Verdict.FAIL, f"accepts an invalid model: {reasons}", "accepted")
    names = [str(answer.name) for answer in admitted]

    def judged(outputs: Sequence[Array | question.Foreign]) -> Judgement:
        attempts = [
            (compare_outputs(one.wants, outputs, tolerance, like, declared), one.name)
            for one in answers
        ]
        return _judge_outputs(rule, attempts, names)

    found = judged(outcome.outputs)
    if outcome.again is not None:
        found = _of_both(found, judged(outcome.again), outcome.differs)
    message = misdeclared(outcome, [want.name for want in answers[0].wants])
    if message and is_right(found):
        return Judgement(Verdict.FAIL, message, "declared")
    return found


def _of_both(first: Judgement, later: Judgement, differs: str) -> Judgement:
    """The verdict on answers to the same data that differ: no contradiction if both are right."""
    if any(one.failure not in (None, "precision") for one in (first, later)):
        return unstable(differs)
    worse = later if first.verdict is Verdict.PASS else first
    reason = worse.reason or f"{IRREPRODUCIBLE}: {differs}"
    return replace(worse, reason=reason, irreproducible=True)


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
        case question.Declined(reason, inexpressible):
            return Judgement(Verdict.UNSUPPORTED, reason, inexpressible=inexpressible)
        case question.Raised(stage=stage) if stage in _LATER:
            later = f"then raised on {_LATER[stage]}: {in_words(outcome)}"
            return unstable(f"answered its first run, {later}")
        case question.Raised():
            return lesser(rule, Verdict.ERROR, f"{UNUSABLE}: {in_words(outcome)}", "raised")
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
            return Judgement(Verdict.PASS, alternative=name, comparisons=comparisons)
    comparisons, name = min(attempts, key=lambda attempt: _distance(attempt[0]))
    broken = [comparison for comparison in comparisons if comparison.problem]
    reason = "; ".join(map(what_is_wrong, broken))
    if any(comparison.problem == "undecided" for comparison in broken):
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
        return lesser(rule, Verdict.ERROR, f"raised on a legal model: {in_words(raised)}", "raised")
    accident = "" if raised.documented else "refused by accident: "
    assert twin is not None
    match twin:
        case question.Declined(reason):
            return Judgement(Verdict.UNSUPPORTED, f"its legal twin is not implemented: {reason}")
        case question.Raised(stage=stage) if stage not in _LATER:
            reason = f"refuses its legal twin too: {in_words(twin)}"
            return lesser(rule, Verdict.ERROR, reason, "raised")
        case question.Produced(unstable=None, outputs=outputs):
            wants = refusals[0].wants
            comparisons = compare_outputs(wants, outputs, EXACT) if wants else ()
            broken = tuple(c for c in comparisons if _is_structural(c))
            if broken:
                reason = f"its legal twin: {what_is_wrong(broken[0])}"
                return lesser(rule, Verdict.FAIL, reason, failure(broken), broken)
            reason = f"{accident}{in_words(raised)}"
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


def what_is_wrong(comparison: Comparison) -> str:
    """Describe a mismatch in a few words."""
    said = f"{comparison.output}: {comparison.problem} {comparison.detail}".rstrip()
    if comparison.problem == "undecided":
        said = f"{comparison.output}: {comparison.unjudged} of {comparison.total} elements unjudged"
    if comparison.problem == "values":
        said = f"{comparison.output}: {comparison.wrong} of {comparison.total} elements wrong"
    if comparison.problem == "precision":
        said = f"{comparison.output}: {comparison.remark}"
        few = f"; {comparison.wrong} of {comparison.total} elements need it"
        return said + few * bool(comparison.wrong)
    return f"{said}: {comparison.remark}" if comparison.remark else said


def in_words(raised: question.Raised) -> str:
    """The kind and the message of an exception."""
    return f"{raised.kind}: {raised.detail}" if raised.detail else raised.kind
