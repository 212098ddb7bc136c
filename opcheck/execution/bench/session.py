"""All cases on all backends: each judged, then timed and judged again whenever a process visits it.

The processes of a row take turns throughout the run: what makes the machine slow for some seconds
then changes one of them, and not all alike (`timing.comparing` has the numbers).
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from opcheck.backends import same_answers
from opcheck.backends.execute import Outputs
from opcheck.backends.isolation.pool import Pool, Stopwatch, WorkerLost
from opcheck.compare import Want
from opcheck.compare.verdict import Admitted, Answer, is_right, judge, wants_of
from opcheck.execution.bench.rounds import Contender, Plan, Visit, copying, interleave, yardstick
from opcheck.execution.evaluation import CaseEvaluation, settle_by_agreement
from opcheck.execution.expected import OracleAnswer, OracleUnavailable, ask_oracle
from opcheck.execution.workers import Driver, Found, Inquiry
from opcheck.model import Case, Produced, Question, Released
from opcheck.model.timing import Sample, Timed, Timing
from opcheck.suite import case_digest
from opcheck.timing.ratios import precise, ratio

_ONCE = "it answers once, and not again and again: time it where it computes"
#: Data of all cases are kept between visits if they take no more than so many bytes.
_KEPT = 1 << 30
#: A backend: the process in which it is judged, and those in which it is timed.
Entrant: TypeAlias = tuple[Pool, Sequence[Stopwatch]]
#: Returns True once the benchmark is to end.
Stop: TypeAlias = Callable[[], bool]


class Stopped(Exception):
    """The benchmark is to end now."""


def _answers(pools: Sequence[Pool], inquiries: Sequence[Inquiry[Found]], stop: Stop) -> list[Found]:
    """Return the result of an inquiry of each backend; all run at once. Raises Stopped."""
    driver: Driver[int, Found] = Driver()
    for number, (pool, inquiry) in enumerate(zip(pools, inquiries, strict=True)):
        driver.start(pool, inquiry, number)
    found: dict[int, Found] = {}
    while driver.is_busy:
        if stop():
            raise Stopped
        found |= driver.collect()
    return [found[number] for number in range(len(pools))]


@dataclass(eq=False)
class _Rival:
    """State of one backend."""

    judged: Pool
    timed: Sequence[Stopwatch]
    why_not: str = ""
    samples: list[Sample] = field(default_factory=list)
    prepared: list[float] = field(default_factory=list)
    #: Digests of answers that were judged right.
    right: set[bytes] = field(default_factory=set)
    #: Its answer to other data when it was judged, until it is asked about them again.
    other: Outputs = ()
    printed: str = ""

    def timing(self) -> Timing:
        """The reported timing; empty for a backend that died or became wrong."""
        name, prepared = self.judged.info.address, tuple(self.prepared)
        if self.why_not or not self.samples:
            return Timing(name, (), prepared, self.why_not or "interrupted before its turn")
        return Timing(name, tuple(self.samples), prepared, printed=self.printed)


@dataclass(eq=False)
class OneCase:
    """A case and its measurements; its data and oracle's answer are made anew unless `is_kept`."""

    case: Case
    plan: Plan
    parts: list[_Rival]
    oracle: Pool | None
    is_kept: bool
    asked: Question | None = None
    oracle_answer: OracleAnswer | None = None
    #: The outputs that backends agreed on, if nothing else is known to be right.
    agreed: tuple[Want, ...] = ()
    copy: list[Sample] = field(default_factory=list)
    yardstick: list[Sample] = field(default_factory=list)
    moved: int = 0
    rounds: int = 0
    is_judged: bool = False

    def visit(self, visit: Visit, chance: Random, stop: Stop) -> None:
        """Time it in one process of each backend that is left, until `stop` returns True."""
        evaluation = CaseEvaluation(self.case, self.oracle_answer)
        try:
            if self.oracle and not self.oracle_answer and (asked := evaluation.for_the_oracle):
                inquiry = ask_oracle(self.oracle.info, asked)
                [evaluation.oracle_answer] = _answers([self.oracle], [inquiry], stop)
                self.oracle_answer = evaluation.oracle_answer if self.is_kept else None
            if not self.is_judged:
                self._judge(evaluation, stop)
            if self._left():
                self._time(evaluation, visit, chance, stop)
        except Stopped:
            return

    @property
    def is_precise(self) -> bool:
        """Return True if all ratios to the baseline are precise: more rounds are needless."""
        timings = [timing for part in self._left() if (timing := part.timing()).samples]
        base = next((one for one in timings if one.backend == self.plan.base), None)
        if base is None:
            return True
        others = [one for one in timings if one is not base]
        # Alone, it is timed for comparison with another run, by the fixed piece of work.
        ratios = [ratio(one, base) for one in others or [Timing("", tuple(self.yardstick))]]
        return all(found is None or precise(found) for found in ratios)

    def timed(self) -> Timed | None:
        """The measurements so far; None where the case had no turn yet."""
        if not self.is_judged or (self._left() and not self.rounds):
            return None
        case = self.case
        return Timed(
            case=case.id,
            op=str(case.op),
            dtype=", ".join(dict.fromkeys(spec.dtype.name for spec in case.inputs)),
            shapes=", ".join(f"{list(spec.shape)}" for spec in case.inputs),
            moved=self.moved,
            timings=tuple(part.timing() for part in self.parts),
            copy=tuple(self.copy),
            yardstick=tuple(self.yardstick),
            sweep=case.sweep,
            digest=case_digest(case),
        )

    def _left(self) -> list[_Rival]:
        return [part for part in self.parts if not part.why_not]

    def _judge(self, evaluation: CaseEvaluation, stop: Stop) -> None:
        """Judge each backend, as a run does."""
        pools = [part.judged for part in self.parts]
        infos = [pool.info for pool in pools]
        judged = _answers(pools, [evaluation.on(info) for info in infos], stop)
        if self.case.expect.compares_backends:
            judged = settle_by_agreement(evaluation, judged, infos)
        for part, found in zip(self.parts, judged, strict=True):
            result = found.result
            if not is_right(result):
                part.why_not = ": ".join(filter(None, (result.verdict, result.reason)))
                continue
            part.other = (found.answer and found.answer.between) or ()
            if isinstance(found.open, Produced):
                outputs = [one for one in found.open.outputs if isinstance(one, np.ndarray)]
                self.agreed = wants_of(self.case.op, outputs, self.case.outputs)
            if not part.judged.info.repeatable:
                part.why_not = _ONCE
        self.is_judged = True
        if self._left():
            self.moved = sum(array.nbytes for array in evaluation.question.inputs)
            answers = (one for one in self._answers(evaluation) if isinstance(one, Answer))
            for want in next((one.wants for one in answers), ()):
                dtype = want.dtype.numpy if want.dtype else want.values.dtype
                self.moved += want.values.size * dtype.itemsize

    def _answers(self, evaluation: CaseEvaluation) -> Sequence[Admitted]:
        return [Answer(self.agreed)] if self.agreed else evaluation.accepted_answers

    def _check(self, part: _Rival, outputs: Outputs, evaluation: CaseEvaluation) -> None:
        """Check that the last answer of a process is right; most often it is as before."""
        found = hashlib.blake2b(pickle.dumps(outputs)).digest()
        if found in part.right:
            return
        try:
            answers = self._answers(evaluation)
        except OracleUnavailable as silent:
            part.why_not = f"while it was timed: its answer changed, and {silent}"
            return
        case, produced, declared = self.case, Produced(outputs, 0.0), part.judged.info.accumulate
        judgement = judge(case.rule, answers, produced, case.tolerance, declared=declared)
        if is_right(judgement):
            part.right.add(found)
        else:
            part.why_not = f"while it was timed: its answer became wrong: {judgement.reason}"

    def _check_other(self, part: _Rival, released: Released, evaluation: CaseEvaluation) -> None:
        """Reject a time of looking up an answer, not of computing it."""
        (before, part.other), now, reason = (part.other, ()), released.other, ""
        if released.looked_up:
            reason = f"other data of the same shapes take {released.looked_up:,.3g} times as long"
        # An answer that was wrong before proves nothing now.
        right = partial(evaluation.is_right_on_other_data, part.judged.info)
        if not same_answers(now, before) and (
            same_answers(now, released.outputs) or (right(before) and not right(now))
        ):
            reason = "it answers other data in the same memory wrongly"
        part.why_not = reason and f"while it was timed: its answers are remembered: {reason}"

    def _time(self, evaluation: CaseEvaluation, visit: Visit, chance: Random, stop: Stop) -> None:
        # They need no other data than the case's.
        asked = self.asked or replace(evaluation.question, second=())
        self.asked = asked if self.is_kept else None
        prepared = [(one, self._prepared(one, visit.worker, asked, stop)) for one in self._left()]
        contenders = [(part, contender) for part, contender in prepared if contender]
        if not contenders:
            return
        rulers = [Contender(one, visit.worker) for one in (copying(self.moved), yardstick())]
        for ruler in rulers:
            ruler.warm_up(self.plan)
        timed = [one for _, one in contenders]
        self.rounds = interleave(timed, rulers, self.plan, visit, self.rounds, chance, stop)
        self.copy += rulers[0].samples
        self.yardstick += rulers[1].samples
        for part, contender in contenders:
            part.samples += contender.samples
            try:
                if contender.lost:
                    raise WorkerLost(contender.lost)
                released = part.timed[visit.worker].release(other=bool(part.other))
                part.printed = released.printed.strip() or part.printed
                self._check_other(part, released, evaluation)
                self._check(part, released.outputs, evaluation)
            except WorkerLost as error:
                part.why_not = f"while it was timed: {error}"

    def _prepared(self, part: _Rival, worker: int, asked: Question, stop: Stop) -> Contender | None:
        def look() -> None:
            if stop():
                raise Stopped

        look()
        watch = part.timed[worker]
        try:
            held = watch.hold(asked, look)
            part.prepared.append(held.prepared)
            contender = Contender(watch, worker)
            contender.warm_up(self.plan, held.first)
        except WorkerLost as error:
            part.why_not = f"when it was to be timed: {error}"
            return None
        return contender


class Benchmark:
    """A benchmark; `to_come` visits are planned; `oracles` go by the names that cases have."""

    def __init__(
        self,
        cases: Sequence[Case],
        entrants: Sequence[Entrant],
        plan: Plan,
        oracles: Mapping[str, Pool] = MappingProxyType({}),
    ) -> None:
        is_kept = sum(spec.nbytes for case in cases for spec in case.inputs) <= _KEPT
        self._cases = []
        for case in cases:
            parts = [_Rival(*entrant) for entrant in entrants]
            oracle = oracles.get(case.expect.oracle or "")
            self._cases.append(OneCase(case, plan, parts, oracle, is_kept))
        self.plan, self.oracles = plan, oracles
        self.to_come = len(cases) * plan.processes

    def visits(self, stop: Stop = lambda: False) -> Iterator[str]:
        """Measure until `stop` returns True; each visit is announced by its case's id."""
        chance = Random(0)
        left = self._cases
        for tour in self.plan.tours():
            left = [one for one in left if not one.timed() or not one.is_precise]
            self.to_come = len(left) * len(tour)
            for visit in tour:
                for one in left:
                    if stop():
                        return
                    yield one.case.id
                    one.visit(visit, chance, stop)
                    self.to_come -= 1

    def rows(self) -> tuple[Timed, ...]:
        """The measurements so far, of the cases that had a turn."""
        return tuple(row for one in self._cases if (row := one.timed()))
