"""Timings: each case on all backends in the same rounds, of those alone that answer it rightly.

Each case is judged, then timed and judged again whenever a process visits it. The processes of a
row take turns throughout the run: what makes the machine slow for some seconds then changes one of
them, and not all alike (`opcheck.timing` has the numbers).

A *round* takes one sample, the mean time of some calls, of every backend; a *visit* is some rounds
of a case in one process of each backend; a *tour* visits every case in each process. After a tour
comes a *look*: is the case precise enough? A `Pool` is the process that judges a backend, a
`Stopwatch` one that times it. Two rulers, a copy and a fixed piece of work, are timed like
backends.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong.
"""

import hashlib
import math
import pickle
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, pairwise
from random import Random
from time import monotonic
from typing import NamedTuple, TypeAlias

import numpy as np

from opcheck import backends, compare, errors, interrupt, reading, suite
from opcheck.backends import execute
from opcheck.backends.isolation import answering, cleanup
from opcheck.backends.isolation.pool import Pool, Stopwatch, WorkerLost
from opcheck.backends.isolation.process import BackendSettings
from opcheck.backends.offers import about_kind
from opcheck.compare.verdict import Admitted, Answer, first_answer, is_right, judge, wants_of
from opcheck.execution import expected, workers
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase, judge_by_agreement
from opcheck.execution.workers import beyond_caches, environment, machine
from opcheck.model import BackendInfo, Case, Elapsed, Measure, Produced, Question, Released
from opcheck.model.timing import Bench, Rows, Sample, Timed, Timing
from opcheck.timing import LOOKS, is_warm, loops_for, precise, ratio

#: Processes of a backend in a quick look.
_QUICK_WORKERS = 3
#: Data of all cases are kept between visits if they take no more than so many bytes.
_KEPT = 1 << 30
#: The most measurements of a process that does not get warm.
_MAX_WARM = 50
#: What an estimate assumes: seconds of starting a backend, of a sample at least, and of judging a
#: small case; and bytes per second that a call works on, opcheck judges, and processes hand over.
_START = 2.0
_SAMPLE = 1e-3
_JUDGING = 0.3
_CALL_RATE = 5e8
_JUDGE_RATE = 2e7
_HAND_OVER_RATE = 5e8
#: A quick look leaves out shipped cases whose inputs take more bytes, unless they are named.
QUICK_BYTES = 1 << 23
#: A backend: the process in which it is judged, and those in which it is timed.
Entrant: TypeAlias = tuple[Pool, Sequence[Stopwatch]]
#: Returns True once the benchmark is to end.
Stop: TypeAlias = Callable[[], bool]
#: Environment variables by which the usual libraries choose their number of threads.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Visit(NamedTuple):
    """A case measured by one process of each backend, for at most `rounds` and `seconds`."""

    worker: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The amount of measuring.

    The processes of the backends visit all cases in turn. After each number of rounds in `looks`, a
    case whose ratios to `base` are all precise is done. A case takes at most `seconds`, one backend
    at most `share` of that, but each visit has one round at least. A process warms up for at most
    `warm` seconds. `flushed` is the number of bytes touched before every call.
    """

    base: str
    processes: int = 5
    looks: tuple[int, ...] = LOOKS
    seconds: float = 20.0
    share: float = 0.5
    warm: float = 0.5
    flushed: int = 0

    def tours(self) -> Iterator[tuple[Visit, ...]]:
        """Yield the visits of a case from one look to the next: one by each process, from 0 on.

        A visit has its part of the rounds up to the look, rounded up, and of the seconds.
        """
        for before, look in pairwise((0, *self.looks)):
            rounds = math.ceil((look - before) / self.processes)
            seconds = self.seconds * rounds / self.looks[-1]
            yield tuple(Visit(worker, rounds, seconds) for worker in range(self.processes))


def header_of(infos: Sequence[BackendInfo], plan: Plan, *, threads: int) -> Bench:
    """Return the header of a benchmark: its backends, this machine and the options.

    Each backend has so many `threads`. The time of start is now, in UTC. `infos` are the backends
    as they connected.
    """
    here = environment()
    return Bench(
        opcheck=here.opcheck,
        python=here.python,
        packages=dict(here.packages),
        backends={info.address: info.version for info in infos},
        machine=machine(),
        threads=threads,
        included=_included(infos),
        threads_of={info.address: info.threads for info in infos},
        workers=plan.processes,
        cold=plan.flushed > 0,
        baseline=plan.base,
        warm=plan.warm,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _included(infos: Sequence[BackendInfo]) -> dict[str, str]:
    """Return the part of its times that is not a backend's own work, in words, by address.

    Backends without such a part are left out.
    """
    included = {info.address: about_kind(info.kind).included for info in infos}
    return {address: part for address, part in included.items() if part}


class Here(answering.Repeated):
    """A piece of work in this process, timed as workers time theirs."""

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Return the mean time of `loops` calls; `flushed` bytes are touched before each.

        Python's garbage collection is off meanwhile.
        """
        with reading.uncollected():
            return self.elapsed(Measure(loops, flushed))


def copying(moved: int) -> Here:
    """Return a copy that moves so many bytes, half of them read and half written."""
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)
    return Here(partial(np.copyto, target, source))


def yardstick() -> Here:
    """Return the same work for every run: a hash whose steps no release of a library changes.

    One call takes some tenths of a millisecond.
    """
    data = bytes(range(256)) * 1024

    def digest() -> bytes:
        """Return the hash of the data."""
        return hashlib.blake2b(data).digest()

    return Here(digest)


@dataclass(eq=False)
class Contender:
    """One process that is timed; `lost` is why it ended before the others, "" while it is there.

    A sample is the mean of `loops` calls. `spent` are the seconds of all samples of this visit.
    `worker` is the number of the process among those of its backend.
    """

    process: Stopwatch | Here
    worker: int = 0
    loops: int = 1
    samples: list[Sample] = field(default_factory=list)
    spent: float = 0.0
    lost: str = ""

    def warm_up(self, plan: Plan, first: float = 0.0) -> None:
        """Run until times change no more, and set `loops`, the number of calls that make a sample.

        A sample of short calls takes 0.5 to 1 ms; it is one call if memory is flushed before. Ends
        after `plan.warm` seconds or 50 measurements at the latest. Nothing is run if the `first`
        call took longer than that, in seconds: one call makes a sample. Raises WorkerLost if the
        process is gone or too slow.
        """
        if first > plan.warm:
            return
        times: list[float] = []
        loops = 1
        until = monotonic() + plan.warm
        while not (is_warm(times) or len(times) == _MAX_WARM or (times and monotonic() > until)):
            seconds = self.process.measure(loops, plan.flushed).seconds
            wanted = 1 if plan.flushed else loops_for(seconds)
            if wanted <= 2 * loops:
                times.append(seconds)
            else:
                times = []  # times of far fewer calls in one are not comparable
            loops = max(loops, wanted)
        self.loops = 1 if plan.flushed else loops_for(min(times))

    def sample(self, number: int, flushed: int) -> None:
        """Take the sample of the round of this `number`, and add its seconds to `spent`.

        `flushed` bytes are touched before each call. Raises WorkerLost if the process is gone.
        """
        start = monotonic()
        mean = self.process.measure(self.loops, flushed)
        self.spent += monotonic() - start
        self.samples.append(Sample(number, self.worker, self.loops, mean.seconds, mean.waited))


def interleave(
    contenders: Sequence[Contender],
    beside: Sequence[Contender],
    plan: Plan,
    visit: Visit,
    first: int,
    chance: Random,
    stop: Callable[[], bool],
) -> int:
    """Take the samples of a visit in rounds of random order, and return the next round's number.

    At least one round is run. The visit ends after its rounds, when its time is over, when `stop`
    returns True, or when no contender is left.

    Args:
        contenders: Timed backends. One whose process is lost, noted in its `lost`, takes no further
            part, nor does one that had its share of the time, which then counts for no other.
        beside: Rulers, which take part in every round.
        plan: How samples are taken.
        visit: How many rounds, and seconds.
        first: The number of the first round.
        chance: The source of random orders.
        stop: Asked after each round.
    """
    start = monotonic()
    over = 0.0  # seconds of contenders that had their share
    active = [*contenders]
    for number in range(first, first + visit.rounds):
        order = [*active, *beside]
        chance.shuffle(order)
        for contender in order:
            try:
                contender.sample(number, plan.flushed)
            except WorkerLost as error:
                contender.lost = str(error)
        slow = [contender for contender in active if contender.spent > plan.share * visit.seconds]
        over += sum(contender.spent for contender in slow)
        active = [it for it in active if it not in slow and not it.lost]
        if stop() or not active or monotonic() - start - over > visit.seconds:
            return number + 1
    return first + visit.rounds


def _never() -> bool:
    """Return False: nothing ends the benchmark early."""
    return False


class Stopped(Exception):
    """Raised to end a benchmark at once."""


def _raise_if_stopped(stop: Stop) -> None:
    """Raise Stopped if the benchmark is to end."""
    if stop():
        raise Stopped


@dataclass(eq=False)
class _Rival:
    """One backend on one case: its judging process, its timed processes, and what they gave.

    `why_not` is why it is not timed, or no longer; "" while it is. `prepared` are seconds of
    preparation, one for each visit.
    """

    pool: Pool
    watches: Sequence[Stopwatch]
    why_not: str = ""
    samples: list[Sample] = field(default_factory=list)
    prepared: list[float] = field(default_factory=list)
    #: Digests of answers that were judged right.
    right: set[bytes] = field(default_factory=set)
    #: Its answer to other data when it was judged, until it is asked about them again.
    other: execute.Outputs = ()
    printed: str = ""

    def timing(self) -> Timing:
        """Return the reported timing.

        For a backend that died or became wrong it has the reason and no samples, and for one that
        has no sample yet, "interrupted before its turn".
        """
        name = self.pool.info.address
        prepared = tuple(self.prepared)
        if self.why_not or not self.samples:
            return Timing(name, (), prepared, self.why_not or "interrupted before its turn")
        return Timing(name, tuple(self.samples), prepared, printed=self.printed)


@dataclass(eq=False)
class OneCase:
    """A case and its measurements; its data and oracle's answer are made anew unless `is_kept`.

    `rivals` are the backends, `copy` and `yardstick` the samples of the rulers, `moved` the bytes
    that the case reads and writes, `rounds` the number of rounds so far.
    """

    case: Case
    plan: Plan
    rivals: list[_Rival]
    oracle: Pool | None
    is_kept: bool
    asked: Question | None = None
    oracle_answer: expected.OracleAnswer | None = None
    #: The outputs that backends agreed on, if nothing else is known to be right.
    agreed: tuple[compare.Want, ...] = ()
    copy: list[Sample] = field(default_factory=list)
    yardstick: list[Sample] = field(default_factory=list)
    moved: int = 0
    rounds: int = 0
    is_judged: bool = False

    def visit(self, visit: Visit, chance: Random, stop: Stop) -> None:
        """Time the case in one process of each backend that is left, until `stop` returns True.

        The first visit judges all backends before; one whose answer is not right is not timed. The
        orders of rounds come from `chance`. Raises UsageError if a file of a model's weights has
        changed, ValueError for a tolerance that makes no sense where backends are compared, Defect
        if opcheck's own part of an adapter fails, and what the operator's formula raises for a
        bound.
        """
        evaluation = CaseEvaluation(self.case, self.oracle_answer)
        check = partial(_raise_if_stopped, stop)
        with suppress(Stopped):
            if self.oracle and not self.oracle_answer:
                self._ask_oracle(self.oracle, evaluation, check)
            if not self.is_judged:
                self._judge(evaluation, check)
            if self._left():
                self._time(evaluation, visit, chance, stop)

    def _ask_oracle(
        self, oracle: Pool, evaluation: CaseEvaluation, check: Callable[[], None]
    ) -> None:
        """Give the evaluation its oracle's answer, which this object keeps if it `is_kept`.

        Nothing is asked, and none given, if the case's data cannot be made. `check` is called while
        the answer is awaited. Raises Stopped if that does, UsageError if a file of a model's
        weights has changed, and Defect if opcheck's own part of an adapter fails.
        """
        question = evaluation.for_the_oracle
        if question is None:
            return
        [reply] = workers.answers([(oracle, workers.ask_once(question))], check)
        evaluation.oracle_answer = expected.OracleAnswer(oracle.info, reply.outcome)
        if self.is_kept:
            self.oracle_answer = evaluation.oracle_answer

    @property
    def is_precise(self) -> bool:
        """True if all ratios of times to the baseline are precise, or there is none.

        Of a baseline alone, the ratio is that to the fixed piece of work. A backend that is not
        timed, or without a round in common with the baseline, does not count.
        """
        timings = [rival.timing() for rival in self._left()]
        timings = [timing for timing in timings if timing.samples]
        base = next((timing for timing in timings if timing.backend == self.plan.base), None)
        if base is None:
            return True
        others = [timing for timing in timings if timing is not base]
        if not others:
            # Alone, it is timed for comparison with another run, by the fixed piece of work.
            others = [Timing("", tuple(self.yardstick))]
        ratios = [ratio(timing, base) for timing in others]
        return all(it is None or precise(it) for it in ratios)

    def timed(self) -> Timed | None:
        """Return the measurements so far; None if the case had no turn yet.

        It had one once it was measured, or judged if no backend answers it rightly.
        """
        if not self.is_judged or (self._left() and not self.rounds):
            return None
        case = self.case
        return Timed(
            case=case.id,
            op=str(case.op),
            dtype=", ".join(dict.fromkeys(spec.dtype.name for spec in case.inputs)),
            shapes=", ".join(f"{list(spec.shape)}" for spec in case.inputs),
            moved=self.moved,
            timings=tuple(rival.timing() for rival in self.rivals),
            copy=tuple(self.copy),
            yardstick=tuple(self.yardstick),
            digest=suite.case_digest(case),
        )

    def _left(self) -> list[_Rival]:
        """Return the backends that are still timed, or to be timed."""
        return [rival for rival in self.rivals if not rival.why_not]

    def _judge(self, evaluation: CaseEvaluation, check: Callable[[], None]) -> None:
        """Judge the answer of each backend; one that is not right is not timed, noted in its rival.

        Sets `is_judged` and, if a backend is left, `moved`, the bytes that the case reads and
        writes. `check` is called while answers are awaited. Raises Stopped if that does, UsageError
        if a file of a model's weights has changed, ValueError for a tolerance that makes no sense
        where backends are compared, Defect if opcheck's own part of an adapter fails, and what the
        operator's formula raises for a bound.
        """
        asked = [(rival.pool, evaluation.judge(rival.pool.info)) for rival in self.rivals]
        evaluated = workers.answers(asked, check)
        if self.case.expect.compares_backends:
            evaluated = judge_by_agreement(evaluation, evaluated, [pool.info for pool, _ in asked])
        for rival, answer in zip(self.rivals, evaluated, strict=True):
            self._take_judged(rival, answer)
        self.is_judged = True
        if self._left():
            self.moved = self._bytes_moved(evaluation)

    def _take_judged(self, rival: _Rival, evaluated: EvaluatedCase) -> None:
        """Note in `rival` why it is not timed, or keep its answer to the other data there.

        A backend whose answer is not right is not timed; poorer arithmetic is right here. Nor is
        one that answers only once, whatever its answer. If the case compares backends, a right
        answer is kept in `self.agreed`, which others agreed with.
        """
        result = evaluated.result
        if not is_right(result):
            rival.why_not = ": ".join(filter(None, (result.verdict, result.reason)))
            return
        rival.other = (evaluated.answer and evaluated.answer.between) or ()
        if isinstance(evaluated.open, Produced):
            outputs = [
                output for output in evaluated.open.outputs if isinstance(output, np.ndarray)
            ]
            self.agreed = wants_of(self.case, outputs)
        if not rival.pool.info.repeatable:
            rival.why_not = "it answers once, and not again and again: time it where it computes"

    def _bytes_moved(self, evaluation: CaseEvaluation) -> int:
        """Return the bytes of the inputs and of the outputs of the first admitted answer.

        Constants are not counted. A backend answered rightly, so that there is an answer.
        """
        moved = sum(array.nbytes for array in evaluation.question.inputs)
        first = first_answer(self._answers(evaluation))
        if first is not None:
            for want in first.wants:
                dtype = want.dtype.numpy if want.dtype else want.values.dtype
                moved += want.values.size * dtype.itemsize
        return moved

    def _answers(self, evaluation: CaseEvaluation) -> Sequence[Admitted]:
        """Return what backends agreed on (`self.agreed`), else the answers that the case admits.

        Raises OracleUnavailable without its oracle's answer, and what `accepted_answers` raises for
        a wrong case.
        """
        return [Answer(self.agreed)] if self.agreed else evaluation.accepted_answers

    def _check(self, rival: _Rival, outputs: execute.Outputs, evaluation: CaseEvaluation) -> None:
        """Note in `rival` why it is not timed any more, if its last answer is not right.

        `outputs` are that answer. One with the bits of one that was right before is not judged
        again. Poorer arithmetic is right. Raises what the operator's formula raises for a bound.
        """
        digest = hashlib.blake2b(pickle.dumps(outputs)).digest()
        if digest in rival.right:
            return
        try:
            answers = self._answers(evaluation)
        except expected.OracleUnavailable as silent:
            rival.why_not = f"while it was timed: its answer changed, and {silent}"
            return
        judgement = judge(
            self.case.rule,
            answers,
            Produced(outputs, 0.0),
            tolerance=self.case.tolerance,
            declared=rival.pool.info.accumulate,
        )
        if is_right(judgement):
            rival.right.add(digest)
        else:
            rival.why_not = f"while it was timed: its answer became wrong: {judgement.reason}"

    def _check_other(self, rival: _Rival, released: Released, evaluation: CaseEvaluation) -> None:
        """Note in `rival` if its times are those of looking up an answer, and not of computing it.

        An answer was looked up if other data take longer, or if they are answered as the case's
        own, or wrongly and were answered rightly before. `released` has both answers. Clears what
        was kept of the answer before. Raises what the operator's formula raises for a bound.
        """
        before = rival.other
        rival.other = ()
        now = released.other
        reason = ""
        if released.looked_up:
            reason = f"other data of the same shapes take {released.looked_up:,.3g} times as long"
        if not backends.same_answers(now, before):
            # An answer that was wrong before proves nothing now.
            is_right = partial(evaluation.is_right_on_other_data, rival.pool.info)
            is_as_first = backends.same_answers(now, released.outputs)
            if is_as_first or (is_right(before) and not is_right(now)):
                reason = "it answers other data in the same memory wrongly"
        rival.why_not = reason and f"while it was timed: its answers are remembered: {reason}"

    def _time(self, evaluation: CaseEvaluation, visit: Visit, chance: Random, stop: Stop) -> None:
        """Take the samples of a visit, and check that the backends still answer rightly.

        What makes a backend leave is noted in its rival: a process that died or hung, a wrong
        answer, and one that is looked up. Raises Stopped if `stop` returns True before the first
        round.
        """
        asked = self.asked or evaluation.question
        self.asked = asked if self.is_kept else None
        contenders: list[tuple[_Rival, Contender]] = []
        for rival in self._left():
            contender = self._prepared(rival, visit.worker, asked, stop)
            if contender:
                contenders.append((rival, contender))
        if not contenders:
            return
        rulers = [
            Contender(copying(self.moved), visit.worker, samples=self.copy),
            Contender(yardstick(), visit.worker, samples=self.yardstick),
        ]
        for ruler in rulers:
            ruler.warm_up(self.plan)
        self.rounds = interleave(
            [contender for _, contender in contenders],
            rulers,
            self.plan,
            visit,
            first=self.rounds,
            chance=chance,
            stop=stop,
        )
        for rival, contender in contenders:
            try:
                if contender.lost:
                    raise WorkerLost(contender.lost)
                released = rival.watches[visit.worker].release(other=bool(rival.other))
                rival.printed = released.printed.strip() or rival.printed
                self._check_other(rival, released, evaluation)
                self._check(rival, released.outputs, evaluation)
            except WorkerLost as error:
                rival.why_not = f"while it was timed: {error}"

    def _prepared(
        self, rival: _Rival, worker: int, asked: Question, stop: Stop
    ) -> Contender | None:
        """Return a process that holds the task and is warm, ready for its samples.

        None, with the reason noted in `rival`, if it failed, died or hung. Adds the seconds of
        preparation to the rival's. Raises Stopped if `stop` returns True meanwhile.
        """
        check = partial(_raise_if_stopped, stop)
        watch = rival.watches[worker]
        check()
        try:
            held = watch.hold(asked, check)
            rival.prepared.append(held.prepared)
            contender = Contender(watch, worker, samples=rival.samples)
            contender.warm_up(self.plan, held.first)
        except WorkerLost as error:
            rival.why_not = f"when it was to be timed: {error}"
            return None
        return contender


@dataclass(eq=False)
class Benchmark:
    """A benchmark of `cases` on `entrants`; `to_come` is the number of visits that are left.

    `oracles` go by the names that cases have.
    """

    cases: Sequence[Case]
    entrants: Sequence[Entrant]
    plan: Plan
    oracles: Mapping[str, Pool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set up the cases; their data are kept if all inputs take at most 1 GiB."""
        is_kept = sum(spec.nbytes for case in self.cases for spec in case.inputs) <= _KEPT
        self._cases = []
        for case in self.cases:
            rivals = [_Rival(*entrant) for entrant in self.entrants]
            oracle = self.oracles.get(case.expect.oracle or "")
            self._cases.append(OneCase(case, self.plan, rivals, oracle, is_kept))
        self.to_come = len(self.cases) * self.plan.processes

    def visits(self, stop: Stop = _never) -> Iterator[str]:
        """Measure until all is done or `stop` returns True; yield each case's id before a visit.

        Each tour visits every case once in each process. A case whose ratios are precise, or that
        no backend is timed on any more, is left out of later tours. Sets `to_come`, the number of
        visits that are left in this tour. Raises what `OneCase.visit` raises.
        """
        chance = Random(0)
        cases = self._cases
        for tour in self.plan.tours():
            cases = [case for case in cases if not case.timed() or not case.is_precise]
            self.to_come = len(cases) * len(tour)
            for visit in tour:
                for case in cases:
                    if stop():
                        return
                    yield case.case.id
                    case.visit(visit, chance, stop)
                    self.to_come -= 1

    def rows(self) -> tuple[Timed, ...]:
        """Return the measurements so far, of the cases that had a turn."""
        rows = [case.timed() for case in self._cases]
        return tuple(row for row in rows if row)


def planned(workers: int | None, seconds: float | None, *, cold: bool, quick: bool) -> Plan:
    """Return how much is measured, by options of `opcheck bench`; its `base` is still to be set.

    `workers` are the processes of a backend, `seconds` the limit of a case; None is the default.
    `cold` empties the caches before each call, `quick` takes one look after 9 rounds, in 3
    processes and 0.7 seconds.
    """
    plan = Plan("", workers or 5, flushed=beyond_caches() if cold else 0)
    if quick:
        processes = workers or _QUICK_WORKERS
        plan = replace(plan, processes=processes, looks=(9,), seconds=0.7, warm=0.03)
    return replace(plan, seconds=seconds) if seconds else plan


def estimated_seconds(plan: Plan, cases: Sequence[Case], backends: int) -> float:
    """Return about how long a benchmark takes on a quiet machine, if its first look is enough.

    Args:
        plan: How much is measured.
        cases: The cases, of which the sizes of the inputs count.
        backends: The number of backends.
    """
    return _START * backends + sum(_estimated_seconds(plan, case, backends) for case in cases)


def _estimated_seconds(plan: Plan, case: Case, backends: int) -> float:
    """Return about how many seconds a case takes, to be judged and measured until its first look.

    It depends on the bytes of its inputs alone; `backends` is their number.
    """
    moved = sum(spec.nbytes for spec in case.inputs)
    call = max(_SAMPLE, moved / _CALL_RATE)
    # The copy and the fixed piece of work are measured like backends.
    contenders = backends + 2
    warm = contenders * min(plan.warm, 10 * call)
    hold = backends * moved / _HAND_OVER_RATE
    first = plan.looks[0]
    share = plan.seconds * first / plan.looks[-1]
    rounds = min(first * contenders * call, share + plan.processes * contenders * call)
    judging = _JUDGING + moved / _JUDGE_RATE
    return judging + plan.processes * (warm + hold) + rounds


def why_not(case: Case) -> str:
    """Return why a case cannot be timed, "" if it can.

    It expects or admits a refusal, or a tensor has no element.
    """
    if case.expect.rejection:
        return "it expects, or admits, a refusal"
    if any(0 in spec.shape for spec in case.inputs):
        return "a tensor of it has no element"
    return ""


def _with_threads(settings: BackendSettings, threads: int) -> BackendSettings:
    """Return the backend with so many threads, by its own option and by its environment.

    The option is set if the kind of backend has one and `threads` is above 1; variables of the
    usual libraries have that number. An option that the address states, and variables of its
    profile, stay. Raises UsageError for an unknown address.
    """
    address = backends.parse(settings.address)
    asked = dict(address.options)
    if threads > 1 and "threads" not in asked and about_kind(address.kind).threads:
        asked["threads"] = str(threads)
        address = replace(address, options=tuple(sorted(asked.items())))
    count = asked.get("threads", str(threads))
    environment = {**dict.fromkeys(_THREADS, count), **settings.environment}
    return replace(settings, address=str(address), environment=environment)


@dataclass(frozen=True, kw_only=True)
class BenchRequest:
    """What a benchmark measures, and how much.

    Each backend has so many `threads`. Ratios are relative to the backend `base`, the first by
    default. `settings` are those of the addresses, if they are known already, else empty.
    """

    addresses: Sequence[str]
    cases: Sequence[Case]
    limits: workers.Limits
    plan: Plan
    threads: int = 1
    base: str | None = None
    settings: Sequence[BackendSettings] = ()


@contextmanager
def entered(request: BenchRequest) -> Iterator[tuple[Bench, Benchmark]]:
    """Connect all backends and oracles; the context is a benchmark's header, and itself.

    All processes end with the context. `base` may be an address as the user wrote it, or as it is
    with its threads. Raises UsageError and BackendUnavailable with everything that is wrong with
    the backends, and UsageError for a `base` that does not take part, an oracle that may not be
    used, and cases that compare backends where there is only one. CaseFileError for a wrong
    opcheck.toml. KeyboardInterrupt if the user interrupts it.
    """
    addresses = request.addresses
    base = request.base
    with ExitStack() as stack:
        folder = stack.enter_context(cleanup.guarded_folder())
        chosen = [replace(of_backend, scratch=folder) for of_backend in request.settings]
        chosen = chosen or workers.chosen_backends(addresses, folder, request.limits)
        settings = [_with_threads(of_backend, request.threads) for of_backend in chosen]
        names = [*addresses, *(of_backend.address for of_backend in settings)]
        if base is not None and base not in names:
            hint = errors.did_you_mean(base, names) or f"backends: {', '.join(addresses or names)}"
            raise errors.UsageError(f"--base {base}: no such backend takes part", hint)
        workers.check_has_other_backends(request.cases, len(settings))
        consulted = workers.consulted(request.cases, addresses, folder, request.limits)
        oracles = stack.enter_context(consulted)
        pools = stack.enter_context(workers.started(settings, 1))
        workers.connect(pools)
        timers: list[list[Stopwatch]] = []
        for of_backend in settings:
            timers.append([])
            for _ in range(request.plan.processes):
                # Each is entered as it starts: the next may not start.
                timers[-1].append(stack.enter_context(closing(Stopwatch(of_backend))))
        for watch in chain(*timers):
            watch.connected(interrupt.safe_place)
        infos = [pool.info for pool in pools]
        number = 0 if base is None else names.index(base) % len(settings)
        plan = replace(request.plan, base=infos[number].address)
        entrants = [*zip(pools, timers, strict=True)]
        benchmark = Benchmark(request.cases, entrants, plan, oracles)
        yield header_of(infos, plan, threads=request.threads), benchmark


def at_a_host(request: BenchRequest) -> Iterator[str | tuple[Bench, Rows]]:
    """Run a whole benchmark; yield the case's id before each visit, and last header and rows.

    The rows bear this machine's name. Raises UsageError and BackendUnavailable for backends and
    oracles that cannot be used, CaseFileError for a wrong opcheck.toml, KeyboardInterrupt if the
    user interrupts the start, and what `OneCase.visit` raises.
    """
    with entered(request) as (bench, benchmark):
        yield from benchmark.visits()
        yield bench, [replace(row, host=platform.node()) for row in benchmark.rows()]
