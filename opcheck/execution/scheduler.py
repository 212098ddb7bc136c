"""Every case on every backend, judged: results in order; here, or in several judging processes.

A judge takes a few cases at a time, in their order, asks, judges, and sends back what a report
needs to know. It is forked, so that it has the cases without reading them.
"""

import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

from opcheck import interrupt, own_memory
from opcheck.backends import base
from opcheck.backends.isolation import cleanup
from opcheck.backends.isolation.pool import Pool
from opcheck.diagnose import Seen, Suspects, looks_like, settled
from opcheck.errors import BackendUnavailable
from opcheck.execution import evaluation as ev
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase, WrongAnswer, repeated
from opcheck.execution.expected import OracleAnswer
from opcheck.execution.workers import AskableBackend, Driver, Inquiry, once
from opcheck.known import Gate, Ledger, explain
from opcheck.model import Case, LiveResult, Record, Reply, Verdict

#: How far a backend may be ahead of the slowest, in cases, and how many bytes their data may have.
AHEAD = 512
_BYTES = 256 << 20
#: Returns the places of more cases to ask about: none for now, None if none are left.
Take: TypeAlias = Callable[[], Sequence[int] | None]
#: What a backend is asked about a case.
Rounds: TypeAlias = Inquiry[list[EvaluatedCase]]
#: Seconds that judges have to end their backends; and to say what these left, if all was judged.
_FAREWELL, _LAST_WORD = 5.0, 60.0


@lru_cache(2 * AHEAD)  # it is asked several times while a case is open
def _size(case: Case) -> int:
    return sum(spec.nbytes for spec in case.inputs)


@dataclass(frozen=True, eq=False)
class JudgedAnswer:
    """The result of the backend of this `number` on the case at this `place`.

    The result has its ledger's explanation. A `failed` answer and its oracle's are evidence.
    """

    place: int
    number: int
    result: LiveResult | Record
    failed: WrongAnswer | None
    oracle_answer: OracleAnswer | None
    #: What it was judged by, if it failed in this process.
    evaluation: CaseEvaluation | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "evaluation": None}


@dataclass(eq=False)
class _OpenCase:
    evaluation: CaseEvaluation
    #: How many backends' results are missing.
    missing: int
    #: The case's oracle has not answered yet; backends are `waiting` for that.
    unheard: bool
    waiting: list[int] = field(default_factory=list)
    #: Results that wait for the answers of all backends.
    unsettled: dict[int, list[EvaluatedCase]] = field(default_factory=dict)


@dataclass(eq=False)
class Judge:
    """Asks every backend about every case, and judges the answers.

    The user's `gate` decides about the cases that it lists, `ledgers` explain failures of others.
    `oracles` are by name. Each case is asked so many `times`; if `reproducible`, for the same bits.
    """

    cases: Sequence[Case]
    backends: Sequence[AskableBackend]
    ledgers: Sequence[Ledger] = ()
    #: True for failures whose causes are to be looked for.
    is_unexplained: Callable[[LiveResult | Record], bool] = lambda result: False
    oracles: Mapping[str, AskableBackend] = field(default_factory=dict)
    gate: Gate = field(default_factory=Gate)
    times: int = 1
    reproducible: bool = False
    #: Wraps each inquiry of a backend, to see its answers.
    observe: Callable[[Rounds], Rounds] | None = None

    def __post_init__(self) -> None:
        #: Places of the cases taken so far, and how many of them each backend was asked about.
        self._taken: list[int] = []
        self._asked = [0] * len(self.backends)
        self._open: dict[int, _OpenCase] = {}
        #: How many bytes the data of the open cases have.
        self._held = 0
        #: Inquiries by the case's place, and the backend's number, None for the oracle.
        self._driver: Driver[tuple[int, int | None], list[EvaluatedCase] | Reply] = Driver()

    def answers(self, take: Take) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come; none while `take` gives no case and none is open."""
        is_last = self._begin(take)
        while self._driver.is_busy or not is_last:
            answers: list[JudgedAnswer] = []
            if self._driver.is_busy:
                for found in self._driver.collect():
                    answers += self._end(*found)
            else:
                sleep(0.01)  # other judges are at work on the cases that come first
            # Backends are at work while these answers are looked at.
            is_last = self._begin(take)
            yield answers

    def _begin(self, take: Take) -> bool:
        """Ask backends that have room; return True if no cases are left."""
        is_last = True
        for number, backend in enumerate(self.backends):
            while backend.has_room:
                if self._asked[number] == len(self._taken):
                    more = take()
                    if not more:
                        is_last = is_last and more is None
                        break
                    self._taken.extend(more)
                if not self._may_begin(place := self._taken[self._asked[number]]):
                    break
                self._asked[number] += 1
                self._ask(place, number)
        return is_last

    def _may_begin(self, place: int) -> bool:
        if place in self._open:
            return True
        address = self.cases[place].expect.oracle
        if address and not self.oracles[address].has_room:
            return False
        return not self._open or self._held + _size(self.cases[place]) <= _BYTES

    def _ask(self, place: int, number: int) -> None:
        """Ask a backend about a case, once the case's oracle has answered."""
        if place not in self._open:
            case = self.cases[place]
            evaluation, address = CaseEvaluation(case), case.expect.oracle
            question = evaluation.for_the_oracle
            self._open[place] = _OpenCase(evaluation, len(self.backends), question is not None)
            self._held += _size(case)
            if address and question:
                self._driver.start(self.oracles[address], once(question), (place, None))
        opened, backend = self._open[place], self.backends[number]
        if opened.unheard:
            opened.waiting.append(number)
        else:
            inquiry = repeated(opened.evaluation, backend.info, self.times)
            if self.observe:
                inquiry = self.observe(inquiry)
            self._driver.start(backend, inquiry, (place, number))

    def _end(
        self, key: tuple[int, int | None], found: list[EvaluatedCase] | Reply
    ) -> Iterator[JudgedAnswer]:
        """Take what an inquiry found, which may have to wait for that of other backends."""
        (place, number), opened = key, self._open[key[0]]
        if isinstance(found, Reply) or number is None:
            oracle = self.oracles[str(opened.evaluation.case.expect.oracle)].info
            opened.evaluation.oracle_answer = OracleAnswer(oracle, cast(Reply, found).outcome)
            opened.unheard = False
            for waiting in opened.waiting:
                self._ask(place, waiting)
            return
        rounds = {number: found}
        if opened.evaluation.case.expect.compares_backends:
            opened.unsettled[number] = found
            rounds = self._settled(opened) if len(opened.unsettled) == len(self.backends) else {}
        for one, judged in rounds.items():
            opened.missing -= 1
            yield self._judged(place, one, opened.evaluation, judged)
        if not opened.missing:
            self._held -= _size(self._open.pop(place).evaluation.case)

    def _settled(self, opened: _OpenCase) -> dict[int, list[EvaluatedCase]]:
        """Compare backends: their first answers with each other, then second ones, and so on."""
        infos = [backend.info for backend in self.backends]
        by_round = zip(*(opened.unsettled[one] for one in range(len(infos))), strict=True)
        found = [ev.settle_by_agreement(opened.evaluation, some, infos) for some in by_round]
        return {one: [*judged] for one, judged in enumerate(zip(*found, strict=True))}

    def _judged(
        self, place: int, number: int, evaluation: CaseEvaluation, rounds: Sequence[EvaluatedCase]
    ) -> JudgedAnswer:
        """The result with its ledger's explanation; it is known if every repeat is."""
        info, judged = self.backends[number].info, ev.combine_repeats(rounds)
        if self.reproducible:
            judged = ev.as_required(judged)

        def known(one: EvaluatedCase) -> LiveResult:
            def looks(name: str) -> bool:
                seen = ev.evidence(evaluation, *one.failed) if one.failed else None
                return seen is not None and looks_like(name, seen)

            listed = self.gate.apply(one.result, info, looks)
            return listed or explain(self.ledgers, one.result, info)

        result, failed = known(judged), judged.failed
        for other in judged.others if result.verdict is Verdict.KNOWN else ():
            if (second := known(other)).verdict is not Verdict.KNOWN:
                result, failed = second, other.failed
                break
        judged_by = evaluation if failed else None
        return JudgedAnswer(place, number, result, failed, evaluation.oracle_answer, judged_by)


class Scheduler(Judge):
    """A run, which yields its results in the order of cases, once; then it knows their causes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Number of cases whose results were all yielded, and the place of the next to be asked.
        self.emitted = self._next = 0
        #: How many bytes the data of the cases have whose answers wait for their turn.
        self._waiting = 0
        self.suspects = [Suspects(ev.recall) for _ in self.backends]

    def settled(self, records: Sequence[Record]) -> dict[int, Record]:
        """Return, by number, the records whose diagnoses change once all, in order, are there."""
        found, count = dict[int, Record](), len(self.backends)
        for number in range(count):
            mine = records[number::count]
            unexplained = [*map(self.is_unexplained, mine)]
            seen = [*map(Seen, self.cases, mine, unexplained)] if any(unexplained) else []
            by_case = settled(seen, self.suspects[number])
            for place, one in enumerate(seen):
                old = one.record.diagnoses
                # Equal diagnoses may have other counts, which are spelt out.
                if [*map(str, new := by_case.get(one.case.id, old))] != [*map(str, old)]:
                    found[place * count + number] = replace(one.record, diagnoses=new)
        return found

    def __iter__(self) -> Iterator[LiveResult | Record]:
        return self.results(self.answers(self._take))

    def results(self, judged: Iterator[list[JudgedAnswer]]) -> Iterator[LiveResult | Record]:
        """Yield the results in order; `judged` are answers in any, those of early cases first."""
        there: dict[tuple[int, int], JudgedAnswer] = {}
        for place in range(len(self.cases)):
            for number in range(len(self.backends)):
                while (place, number) not in there:
                    if (more := next(judged, None)) is None:
                        raise base.Defect(f"{self.cases[place].id} was not judged")
                    for one in more:
                        there[one.place, one.number] = one
                        self._waiting += _size(self.cases[one.place])
                self._waiting -= _size(self.cases[place])
                yield self._diagnosed(there.pop((place, number)))
            self.emitted = place + 1

    def _take(self) -> Sequence[int] | None:
        """Return the place of the next case, but of none far ahead of those emitted."""
        if self._next == len(self.cases):
            return None
        if self._next >= self.emitted + AHEAD or self._waiting > _BYTES:
            return ()
        self._next += 1
        return (self._next - 1,)

    def _diagnosed(self, answer: JudgedAnswer) -> LiveResult | Record:
        """The result with its causes; made in its turn, because the order matters."""
        case, suspects = self.cases[answer.place], self.suspects[answer.number]
        # Whatever a ledger says of it.
        if answer.result.verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS):
            suspects.passed(case)
        if answer.failed is None or not self.is_unexplained(answer.result):
            return answer.result
        evaluation = answer.evaluation or CaseEvaluation(case, answer.oracle_answer)
        seen = ev.evidence(evaluation, *answer.failed)
        return replace(answer.result, diagnoses=suspects.diagnose(seen, case.id) if seen else ())


class Judges:
    """Processes that judge a run's cases: files go to `folder`, `record` makes what is stored."""

    def __init__(
        self, run: Scheduler, count: int, folder: Path, record: Callable[[LiveResult], Record]
    ) -> None:
        self._run, self._record, self._folder = run, record, folder
        self._pools = cast("list[Pool]", [*run.backends, *run.oracles.values()])
        # Judges must not keep these connections open.
        for pool in self._pools:
            pool.close()
        self._parent = os.getpid()
        context = multiprocessing.get_context("fork")
        #: Shared: the places of the next case and of the first not emitted; 1 if all is to end.
        with interrupt.safe_path():
            self._next = context.Value("q", 0)
        self._emitted = context.Value("q", 0, lock=False)
        self._stopped = context.Value("b", 0, lock=False)
        self._ends: dict[Connection[Any, Any], BaseProcess] = {}
        #: Those that have sent their last message.
        self._done: set[Connection[Any, Any]] = set()
        for _ in range(count):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self._work, args=(theirs, count), daemon=True)
            process.start()
            theirs.close()
            self._ends[ours] = process

    def answers(self) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come; raises as the judges do."""
        while working := self._ends.keys() - self._done:
            self._emitted.value = self._run.emitted
            found: list[JudgedAnswer] = []
            for end in cast("list[Connection[Any, Any]]", wait([*working])):
                match self._received(end):
                    case BaseException() as error:
                        raise error
                    case list() as answers:
                        found += answers
            yield found

    def _received(self, end: "Connection[Any, Any]") -> Any:
        """Return what a judge sends: answers, an error, or last what its backends left."""
        try:
            received = pickle.loads(end.recv_bytes())
        except (EOFError, OSError):  # The latter where it was killed in a message.
            process = self._ends[end]
            process.join(_FAREWELL)
            how = cleanup.how_it_ended(process.exitcode or 0)
            return BackendUnavailable(f"a process that judges ended before its cases: {how}")
        if isinstance(received, tuple):
            self._done.add(end)
            for pool, ends in zip(self._pools, received, strict=True):
                pool.add_ends(*ends)
        return received

    def close(self) -> None:
        """End the judges; BackendUnavailable if all was judged, and one's last word is missing."""
        self._stopped.value = 1
        complete = self._run.emitted == len(self._run.cases) and sys.exception() is None
        until = monotonic() + (_LAST_WORD if complete else _FAREWELL)
        for end, process in self._ends.items():
            # What they still send is read, or they could not end.
            while end not in self._done and end.poll(max(0.0, until - monotonic())):
                if isinstance(self._received(end), BaseException):
                    break
            end.close()
            process.join(max(0.0, until - monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        if any(process.exitcode for process in self._ends.values()):
            cleanup.kill_marked(lambda own: Path(own).parent == self._folder)
        lost = self._ends.keys() - self._done
        self._ends.clear()
        if lost and complete:
            raise BackendUnavailable("a process that judges ended before it said what was left")

    def _work(self, end: "Connection[Any, Any]", count: int) -> None:
        """Judge in this process, which is a copy of its parent and must not go on as that."""
        own_memory.share_among(count)
        # It ends with its parent, and its backends with it.
        interrupt.follow(self._parent)
        try:
            self._judge(lambda what: end.send_bytes(pickle.dumps(what, 5)))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            end.send_bytes(pickle.dumps(error))
        finally:
            os._exit(0)

    def _judge(self, send: Callable[[Any], None]) -> None:
        with ExitStack() as stack:
            pools = [stack.enter_context(closing(p.copy(self._folder))) for p in self._pools]
            oracles = dict(zip(self._run.oracles, pools[len(self._run.backends) :], strict=True))
            run = replace(self._run, backends=pools[: len(self._run.backends)], oracles=oracles)
            waiting, sent = list[JudgedAnswer](), monotonic()
            try:
                for answers in run.answers(self._take):
                    if self._stopped.value:
                        break
                    waiting += map(self._stored, answers)
                    # Not one by one: to wake the parent takes as long as small cases.
                    if waiting and (not answers or monotonic() - sent > 0.05):
                        send(waiting)
                        waiting, sent = [], monotonic()
            finally:
                if waiting and not self._stopped.value:
                    send(waiting)
        # Last, what is to be added to the parent's pools.
        send(tuple((dict(pool.idle_deaths), pool.unclean_exits) for pool in pools))

    def _take(self) -> Sequence[int] | None:
        """Take up to four cases that no other judge has; see `Take`."""
        with self._next.get_lock():
            place, end = self._next.value, len(self._run.cases)
            if place >= end:
                return None
            if place >= self._emitted.value + AHEAD:
                return ()
            self._next.value = min(place + 4, end)
            return range(place, self._next.value)

    def _stored(self, answer: JudgedAnswer) -> JudgedAnswer:
        """The answer as it is sent: without what nobody will look into."""
        record = self._record(cast(LiveResult, answer.result))
        if answer.failed and self._run.is_unexplained(record):
            return replace(answer, result=record)
        return replace(answer, result=record, failed=None, oracle_answer=None)
