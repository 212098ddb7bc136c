"""One case after the other: judged, prepared in all processes, timed, and judged once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait

from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.stopwatch import Lost, Stopwatch
from opcheck.compare.verdict import Answer, Judgement, judge
from opcheck.model import Case, Produced, Question, Result, Verdict
from opcheck.model.timing import Sample, Timed, Timing
from opcheck.run.bench.contenders import copying, yardstick
from opcheck.run.bench.plan import Plan
from opcheck.run.bench.rounds import Contender, interleave
from opcheck.run.trial import Trial
from opcheck.timing.ratios import precise, ratio

#: How often, in seconds, it is looked whether a worker still lives.
_TICK = 0.05


@dataclass(frozen=True, eq=False)
class Entrant:
    """A backend: the process in which it is judged, and those in which it is timed."""

    judged: Pool
    timed: tuple[Stopwatch, ...]

    @property
    def name(self) -> str:
        """Its address."""
        return self.judged.info.address


def time_cases(
    cases: Sequence[Case],
    entrants: Sequence[Entrant],
    plan: Plan,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Timed]:
    """Each case as it is timed; `stop` is asked after every round, and ends all of it."""
    for case in cases:
        if stop():
            return
        yield _OneCase(case, entrants, plan).timed(stop)


class _OneCase:
    def __init__(self, case: Case, entrants: Sequence[Entrant], plan: Plan) -> None:
        self.case = case
        self.entrants = entrants
        self.plan = plan
        self.trial = Trial(case)
        self.why_not: dict[str, str] = {}
        self.prepared: dict[str, tuple[float, ...]] = {}
        self.contenders: dict[str, Contender] = {}

    def timed(self, stop: Callable[[], bool]) -> Timed:
        """All of it."""
        for entrant in self.entrants:
            result = _judged(self.trial, entrant.judged)
            if not _is_right(result):
                self.why_not[entrant.name] = _told(result)
        for entrant in self.entrants:
            if entrant.name not in self.why_not:
                self._prepare(entrant, self.trial.question)
        if not self.contenders:
            return self._told(0, [], [])
        moved = self._moved()
        own = [Contender("", [copying(moved)]), Contender("", [yardstick()])]
        self._measure(own, stop)
        copies, strikes = ([*one.samples] for one in own)
        return self._told(moved, copies, strikes)

    def _prepare(self, entrant: Entrant, asked: Question) -> None:
        try:
            self.prepared[entrant.name] = tuple(one.hold(asked) for one in entrant.timed)
            contender = Contender(entrant.name, entrant.timed)
            contender.warm_up(self.plan)
        except Lost as error:
            self.why_not[entrant.name] = f"when it was to be timed: {error}"
        else:
            self.contenders[entrant.name] = contender

    def _measure(self, own: Sequence[Contender], stop: Callable[[], bool]) -> None:
        for one in own:
            one.warm_up(self.plan)
        interleave([*self.contenders.values(), *own], self.plan, self._is_enough, Lost, stop)
        for entrant in self.entrants:
            contender = self.contenders.get(entrant.name)
            if contender and not contender.lost:
                contender.lost = self._wrong_at_last(entrant)
            if contender and contender.lost:
                self.why_not[entrant.name] = f"while it was timed: {contender.lost}"

    def _is_enough(self) -> bool:
        timings = [Timing(name, (*one.samples,)) for name, one in self.contenders.items()]
        base = next((one for one in timings if one.backend == self.plan.base), None)
        others = [one for one in timings if one is not base and one.samples]
        if base is None or not base.samples:
            return True
        ratios = [ratio(one, base) for one in others]
        return all(found is None or precise(found) for found in ratios)

    def _wrong_at_last(self, entrant: Entrant) -> str:
        """What is wrong with the answers of its processes now, or nothing."""
        for watch in entrant.timed:
            try:
                outputs = watch.release()
            except Lost as error:
                return str(error)
            judgement = judge(
                self.case.rule,
                self.trial.admission.answers,
                Produced(outputs, 0.0),
                self.case.tolerance,
                declared=entrant.judged.info.accumulate,
            )
            if not _is_right(judgement):
                return f"its answer was wrong in the end: {judgement.reason}"
        return ""

    def _moved(self) -> int:
        """The bytes of all inputs and all outputs."""
        admitted = self.trial.admission.answers
        wants = next((one.wants for one in admitted if isinstance(one, Answer)), ())
        read = sum(array.nbytes for array in self.trial.question.inputs)
        types = [want.dtype.numpy if want.dtype else want.values.dtype for want in wants]
        written = zip(wants, types, strict=True)
        return read + sum(want.values.size * dtype.itemsize for want, dtype in written)

    def _told(self, moved: int, copies: list[Sample], strikes: list[Sample]) -> Timed:
        case = self.case
        shapes = ", ".join(f"{list(spec.shape)}" for spec in case.inputs)
        dtypes = dict.fromkeys(spec.dtype.name for spec in case.inputs)
        return Timed(
            case=case.id,
            op=str(case.op),
            dtype=", ".join(dtypes),
            shapes=shapes,
            moved=moved,
            timings=tuple(self._timing(entrant.name) for entrant in self.entrants),
            copy=tuple(copies),
            yardstick=tuple(strikes),
            sweep=case.sweep,
        )

    def _timing(self, name: str) -> Timing:
        prepared = self.prepared.get(name, ())
        if name in self.why_not:
            return Timing(name, prepared=prepared, why_not=self.why_not[name])
        return Timing(name, (*self.contenders[name].samples,), prepared)


def _judged(trial: Trial, pool: Pool) -> Result:
    """What a run would say of the backend."""
    inquiry, reply = trial.on(pool.info), None
    while True:
        try:
            question = next(inquiry) if reply is None else inquiry.send(reply)
        except StopIteration as end:
            result: Result = end.value.result
            return result
        ticket, reply = pool.ask(question), None
        while reply is None:
            readable = wait(pool.connections, _TICK)
            reply = dict(pool.replies(readable)).get(ticket)


def _is_right(said: Result | Judgement) -> bool:
    """A remark about accuracy stands in the report of a run, any other warning is of an error."""
    tolerated = said.verdict is Verdict.WARN and said.failure == "precision"
    return said.verdict is Verdict.PASS or tolerated


def _told(result: Result) -> str:
    """Why a backend that is judged so is not timed."""
    return f"{result.verdict}: {result.reason}" if result.reason else str(result.verdict)
