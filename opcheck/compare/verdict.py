"""From a case's admitted answers and a backend's outcome to a verdict that explains itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from opcheck.compare.tensors import Want, compare_outputs
from opcheck.model import (
    EXACT,
    Array,
    Comparison,
    Declined,
    Failure,
    NotRun,
    Outcome,
    Produced,
    Raised,
    Rule,
    Tolerance,
    Verdict,
)


@dataclass(frozen=True, eq=False)
class Answer:
    """Outputs that are right; `name` where the text admits several answers."""

    wants: tuple[Want, ...]
    name: str | None = None


@dataclass(frozen=True)
class Refusal:
    """Refusing the model is right, provided that its legal twin is accepted.

    `twin` asks the backend about the legal twin and tells what came of it.
    """

    reason: str
    twin: Callable[[], Twin]
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Twin:
    """What a backend did with a legal twin; `wants` is empty where nothing computes its outputs."""

    outcome: Outcome
    wants: tuple[Want, ...]


Admitted: TypeAlias = Answer | Refusal
Comparisons: TypeAlias = tuple[Comparison, ...]


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and its evidence.

    `failure` is in what way the backend fails, `refused` marks a pass by refusal, `alternative`
    names the answer chosen where several were admitted.
    """

    verdict: Verdict
    reason: str = ""
    failure: Failure | None = None
    refused: bool = False
    alternative: str | None = None
    comparisons: tuple[Comparison, ...] = ()


def judge(
    rule: Rule,
    admitted: Sequence[Admitted],
    outcome: Outcome,
    tolerance: Tolerance | None,
    like: Array | None,
    declared: Collection[str] = (),
) -> Judgement:
    """The verdict on `outcome`, by the table of rules and outcomes.

    `tolerance` None means the bounds of the answers. `like` is the input that wrong elements are
    shown beside where it has the output's shape. Arithmetic that the backend has `declared` needs
    no warning.
    """
    match outcome:
        case NotRun(reason):
            return Judgement(Verdict.NOT_RUN, reason)
        case Declined(reason):
            return Judgement(Verdict.UNSUPPORTED, reason)
        case Raised(stage="second run" | "third run"):
            return unstable(_raised_later(outcome))
        case Raised():
            return _judge_refusal(rule, admitted, outcome)
        case Produced(unstable=str(contradiction)):
            return unstable(contradiction)
        case Produced(outputs=outputs):
            answers = [answer for answer in admitted if isinstance(answer, Answer)]
            if answers:
                names = [str(answer.name) for answer in admitted]
                attempts = [
                    (compare_outputs(answer.wants, outputs, tolerance, like, declared), answer.name)
                    for answer in answers
                ]
                return _judge_outputs(rule, attempts, names)
            reason = f"accepts an invalid model: {_reasons(admitted)}"
            return _lesser(rule, Verdict.FAIL, reason, "accepted")


def unstable(contradiction: str) -> Judgement:
    """The verdict on a backend whose runs contradict each other, whatever the rule."""
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
    return _lesser(rule, Verdict.FAIL, reason, _failure(broken), comparisons)


def _failure(broken: Sequence[Comparison]) -> Failure | None:
    """In what way an output fails: a poorer arithmetic is less than anything else."""
    problems = [c.problem for c in broken if c.problem not in (None, "precision", "undecided")]
    return cast(Failure, problems[0])


def _judge_refusal(rule: Rule, admitted: Sequence[Admitted], raised: Raised) -> Judgement:
    refusal = next((one for one in admitted if isinstance(one, Refusal)), None)
    if refusal is None:
        reason = f"raised on a legal model: {_told(raised)}"
        return _lesser(rule, Verdict.ERROR, reason, "raised")
    accident = "" if raised.documented else "refused by accident: "
    twin = refusal.twin()
    match twin.outcome:
        case NotRun(reason):
            return Judgement(Verdict.NOT_RUN, f"its legal twin: {reason}")
        case Declined(reason):
            return Judgement(Verdict.UNSUPPORTED, f"its legal twin is not implemented: {reason}")
        case Raised(stage="second run" | "third run"):
            return unstable(f"its legal twin: {_raised_later(twin.outcome)}")
        case Raised():
            reason = f"refuses its legal twin too: {_told(twin.outcome)}"
            return _lesser(rule, Verdict.ERROR, reason, "raised")
        case Produced(unstable=str(contradiction)):
            return unstable(f"its legal twin: {contradiction}")
        case Produced(outputs=outputs):
            comparisons = compare_outputs(twin.wants, outputs, EXACT) if twin.wants else ()
            broken = tuple(c for c in comparisons if _is_structural(c))
            if broken:
                reason = f"its legal twin: {what_is_wrong(broken[0])}"
                return _lesser(rule, Verdict.FAIL, reason, _failure(broken), broken)
            reason = f"{accident}{_told(raised)}"
            return Judgement(Verdict.PASS, reason, refused=True, alternative=refusal.name)


def _lesser(
    rule: Rule,
    verdict: Verdict,
    reason: str,
    failure: Failure | None,
    comparisons: tuple[Comparison, ...] = (),
) -> Judgement:
    """`verdict`, but a warning where the rule is only `should`."""
    lesser = Verdict.WARN if rule == "should" else verdict
    return Judgement(lesser, reason, failure, comparisons=comparisons)


def _is_structural(comparison: Comparison) -> bool:
    return comparison.problem in ("count", "type", "dtype", "shape")


def _distance(comparisons: Sequence[Comparison]) -> tuple[int, int, int]:
    values = [comparison for comparison in comparisons if comparison.problem == "values"]
    structural = sum(map(_is_structural, comparisons))
    return structural, len(values), sum(comparison.wrong for comparison in comparisons)


def what_is_wrong(comparison: Comparison) -> str:
    """A comparison that does not match, in a few words."""
    said = f"{comparison.output}: {comparison.problem} {comparison.detail}".rstrip()
    if comparison.problem == "undecided":
        said = f"{comparison.output}: {comparison.unjudged} of {comparison.total} elements unjudged"
    if comparison.problem == "values":
        said = f"{comparison.output}: {comparison.wrong} of {comparison.total} elements wrong"
    if comparison.problem == "precision":
        said = f"{comparison.output}: {comparison.remark}"
        return f"{said}; {comparison.wrong} of {comparison.total} elements need it"
    return f"{said}: {comparison.remark}" if comparison.remark else said


def _reasons(admitted: Sequence[Admitted]) -> str:
    return "; ".join(refusal.reason for refusal in admitted if isinstance(refusal, Refusal))


def _raised_later(raised: Raised) -> str:
    data = (
        "other data of the same shapes" if raised.stage == "second run" else "the same data again"
    )
    return f"answered its first run, then raised on {data}: {_told(raised)}"


def _told(raised: Raised) -> str:
    return f"{raised.kind}: {raised.detail}" if raised.detail else raised.kind
