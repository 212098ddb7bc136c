"""One result of several: of a case asked several times, and of backends compared with each other.

Each time a case is asked it is a fresh question, prepared anew, maybe in another process. One right
answer excuses no wrong one: a backend that fails some of the times fails.
"""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from opcheck.backends import same_answers
from opcheck.compare.agreement import Party, judge_among
from opcheck.compare.verdict import IRREPRODUCIBLE, Judgement, is_right
from opcheck.model import BackendInfo, Produced, Question, Reply, Result, Verdict
from opcheck.run.oracle import is_the_same
from opcheck.run.trial import Judged, Trial, judged_so

#: Asks questions and is sent the replies; what it returns is the result of each time.
Rounds: TypeAlias = Generator[Question, Reply, list[Judged]]


def repeated(trial: Trial, backend: BackendInfo, times: int) -> Rounds:
    """The inquiry of one backend, made so many times; of a case that is wrong, once."""
    judged: list[Judged] = []
    first: Produced | None = None
    for _ in range(times):
        one = yield from trial.on(backend)
        first, answer = first or one.answer, one.answer
        if first and answer and not trial.question.random:
            differs = not same_answers(first.outputs, answer.outputs)
            one = _marked(one) if differs else one
        judged.append(replace(one, answer=None))
        if judged[0].result.verdict is Verdict.BAD_CASE:
            break
    return judged


def _marked(judged: Judged) -> Judged:
    """What came of a question whose answer was another the first time."""
    reason = judged.result.reason or f"{IRREPRODUCIBLE}: another answer than the first time"
    return replace(judged, result=replace(judged.result, reason=reason, irreproducible=True))


def as_required(judged: Judged) -> Judged:
    """What a result is worth where answers have to be the same to the bit: else *unstable*."""
    result = judged.result
    if not result.irreproducible or not is_right(result):
        return judged
    failed = replace(result, verdict=Verdict.UNSTABLE, failure="unstable")
    if IRREPRODUCIBLE not in result.reason:
        failed = replace(failed, reason=f"{IRREPRODUCIBLE}; {result.reason}")
    return replace(judged, result=failed)


def together(judged: Sequence[Judged]) -> Judged:
    """One result of several on a case; where they contradict each other, it is *unstable*.

    Where an answer was not delivered, the others count, but if they are right they are too few.
    """
    if len(judged) == 1:
        return judged[0]
    verdicts = dict(Counter(one.result.verdict for one in judged))
    seconds = sum(one.result.seconds for one in judged)
    there = [one for one in judged if one.result.verdict is not Verdict.NOT_RUN]
    worst = max(there, key=lambda one: _badness(one.result), default=judged[0])
    if len({_answer(one.result) for one in there}) > 1:
        result = replace(
            worst.result,
            verdict=Verdict.UNSTABLE,
            failure="unstable",
            reason=_contradiction([one.result for one in there], len(judged)),
            refused=False,
            self_check=False,
        )
        return Judged(replace(result, verdicts=verdicts, seconds=seconds))
    if len(there) < len(judged) and worst.result.failure is None:
        worst = next(one for one in judged if one.result.verdict is Verdict.NOT_RUN)
    differs = any(one.result.irreproducible for one in judged)
    first, *others = [
        replace(
            one,
            result=replace(one.result, verdicts=verdicts, seconds=seconds, irreproducible=differs),
            open=None,
        )
        for one in (worst, *_unlike(worst, judged))
    ]
    return replace(first, others=tuple(others))


def _answer(result: Result) -> tuple[object, ...]:
    """What has to be alike each time: not the numbers, of which several may be right."""
    return (result.refused, *(() if is_right(result) else (result.verdict, result.failure)))


def _unlike(worst: Judged, judged: Sequence[Judged]) -> list[Judged]:
    """What came beside a failure that is worth the same: a ledger may list the one only."""
    found = [worst]
    for one in judged if worst.result.verdict is not Verdict.PASS else ():
        if not any(_is_the_same(one, other) for other in found):
            found.append(one)
    return found[1:]


def _is_the_same(one: Judged, other: Judged) -> bool:
    if (one.result.verdict, one.result.reason) != (other.result.verdict, other.result.reason):
        return False
    match one.failed, other.failed:
        case (_, Produced(outputs=some)), (_, Produced(outputs=those)):
            return same_answers(some, those)
    return True


def _badness(result: Result) -> tuple[bool, bool, bool]:
    """Failures come before what is not supported, that before passes; of equals, the first."""
    return result.failure is not None, result.verdict is not Verdict.PASS, result.irreproducible


def _contradiction(results: Sequence[Result], times: int) -> str:
    """`3 of 10: fail: output: 1 of 6 elements wrong; 7 of 10: pass`, the worst first."""
    kinds: dict[tuple[object, ...], list[Result]] = {}
    for result in sorted(results, key=_badness, reverse=True):
        kinds.setdefault(_answer(result), []).append(result)
    return "; ".join(f"{len(some)} of {times}: {_told(some[0])}" for some in kinds.values())


def _told(result: Result) -> str:
    said = result.alternative if result.verdict is Verdict.PASS else result.reason
    how = f"{result.verdict} by refusal" if result.refused else str(result.verdict)
    return f"{how}: {said}" if said else how


def settled(trial: Trial, told: Sequence[Judged], backends: Sequence[BackendInfo]) -> list[Judged]:
    """What all `backends` are worth where only each other's answers tell, in their order.

    Who agrees with nobody but itself by another name is marked so.
    """
    parties = [one for one in told if one.open]
    infos = {backend.address: backend for backend in backends}
    judgements = judge_among(
        trial.case.op,
        trial.case.rule,
        [Party(one.result.backend, one.open) for one in parties if one.open],
        trial.case.outputs,
        trial.case.tolerance,
        trial.like if parties else None,
    )
    found = dict(zip(parties, judgements, strict=True))
    return [_settled(one, found[one], infos) if one in found else one for one in told]


def _settled(one: Judged, judgement: Judgement, infos: Mapping[str, BackendInfo]) -> Judged:
    differs = one.open.differs if isinstance(one.open, Produced) else ""
    other = one.result.irreproducible or bool(differs)
    result = replace(judged_so(one.result, judgement), irreproducible=other)
    if judgement.verdict is Verdict.PASS:
        mine = infos[result.backend]
        itself = all(is_the_same(mine, infos[other]) for other in judgement.against)
        told = f"{IRREPRODUCIBLE}: {differs}" if differs else ""
        # Answers to other data are not compared.
        if not told and isinstance(one.open, Produced) and one.open.once:
            told = "stability not checked: it is asked once"
        reason = result.reason or told
        result = replace(result, self_check=itself, reason=reason)
    return replace(one, result=result)
