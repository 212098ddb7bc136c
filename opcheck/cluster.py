"""Judge cases on the workers of a dask.distributed cluster, in chunks that take some seconds.

A chunk is cases on one backend, or on all backends for cases that compare them. A worker has its
backends in processes of their own, as a run without a cluster has. It judges their answers, and
sends back what a report needs. The run itself orders the results, finds the causes and chooses the
exit code. A chunk may also be a job of another command, which needs no backend of a run.
"""

import atexit
import logging
import signal
import sys
import traceback
import uuid
import warnings
from asyncio import gather, to_thread, wait_for
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice, takewhile
from math import inf
from pathlib import Path
from queue import Empty, Queue
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

import opcheck
from opcheck import interrupt, own_memory
from opcheck.backends.address import DEFAULT
from opcheck.backends.base import Backend, Defect, Prepared, ProcessDied
from opcheck.backends.connect import digest
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.backends.isolation.wire import Failure
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError
from opcheck.execution import bench, support, workers
from opcheck.execution.scheduler import CaseJudge, JudgedAnswer, Scheduler
from opcheck.execution.workers import Counted, InProcess, environment
from opcheck.grouping import Found
from opcheck.known import SHIPPED_LEDGERS, Gate, Ledger
from opcheck.model import BackendInfo, Case, LiveResult, Record, Support, Task
from opcheck.model.timing import Bench, Rows, Timed
from opcheck.reading import shipped_folder
from opcheck.report import timings
from opcheck.report.formatting import Recorder

#: The longest and the shortest that a chunk is meant to take, in seconds.
_SECONDS = 4.0
_SHORTEST = 0.25
#: The most cases of a chunk.
_CASES = 1000
#: Chunks under way for each thread of a worker: one that runs, and one that waits.
_DEPTH = 2
#: Seconds to wait for workers.
_PATIENCE = 60.0
#: Seconds between two looks at them, and at a single answer.
_TICK = 0.5
_GLANCE = 0.05
#: Seconds to wait for their last words in the end.
_FAREWELL = 10.0
#: The address of a backend, and how its processes ended: its idle deaths and unclean exits.
Ends: TypeAlias = tuple[str, Mapping[str, int], Sequence[str]]
#: Work other than judging cases. It may be ended after each item that it yields.
Job: TypeAlias = Callable[[], Iterable[Any]]


@cache
def software() -> dict[str, str]:
    """The versions that all machines must share: of opcheck with its suites, and of packages."""
    here = environment()
    files = [*chain(*map(Path(opcheck.__path__[0]).rglob, ("*.py", "*.toml")))]
    files += shipped_folder("cases").rglob("*.yaml")
    files += SHIPPED_LEDGERS.glob("*.yaml")
    packages = {name: it for name, it in here.packages.items() if name != "onnxruntime"}
    return {"opcheck": f"{here.opcheck} ({digest(files)})", **packages}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a run judges: the fields of a `CaseJudge` that workers need, under the same names."""

    ledgers: Sequence[Ledger] = ()
    gate: Gate = field(default_factory=Gate)
    times: int = 1
    reproducible: bool = False


@dataclass(frozen=True)
class Order:
    """What workers need of a run: its backends by number, and its oracles by name."""

    settings: Mapping[Any, BackendSettings]
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    software: Mapping[str, str] = field(default_factory=software)
    rules: Rules = field(default_factory=Rules)
    #: The addresses of the run's backends.
    addresses: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Work:
    """The answers of a worker in so many `seconds`, or the reason why it is `unfit`."""

    worker: str
    unfit: Failure = field(default_factory=partial(Failure, ""))
    #: A bug of opcheck, or an error in a job.
    failure: Failure | None = None
    #: As the order names them.
    infos: Mapping[Any, BackendInfo] = field(default_factory=dict)
    answers: Sequence[JudgedAnswer] = ()
    seconds: float = 0.0
    #: How processes of the run's backends have ended on this worker.
    ends: Sequence[Ends] = ()
    #: What a job yields.
    found: Sequence[Any] = ()

    @property
    def why(self) -> str:
        """Why it is of no use, or ""."""
        failure = self.failure
        return failure.message.rstrip().rpartition("\n")[2] if failure else self.unfit.message


class _Seat:
    """The backends of a run on this worker, and its oracles, connected once they are needed."""

    def __init__(self) -> None:
        self._stack, self.lock = ExitStack(), Lock()
        self._folder = self._stack.enter_context(guarded_folder())
        self.pools: dict[int | str, Pool] = {}

    def pool(self, order: Order, which: int | str) -> Pool:
        """The backend of this number, or oracle of this name. Raises as `Pool.connected` does."""
        if which not in self.pools:
            own = replace(order.settings[which], scratch=self._folder)
            (pool,) = self._stack.enter_context(workers.started([own], 1))
            pool.connected()
            self.pools[which] = pool
        return self.pools[which]

    def ends(self) -> list[Ends]:
        """The ends of the backends' processes."""
        pools = self.pools.values()
        return [(pool.info.address, dict(pool.idle_deaths), pool.unclean_exits) for pool in pools]

    def close(self) -> list[Ends]:
        """End the backends; return how their processes ended."""
        with self.lock:
            self._stack.close()
            return self.ends()


#: The runs of this worker. One thread at a time works: the engine has state.
_SEATS: dict[str, _Seat] = {}
_LOCK = Lock()
#: How processes of runs ended whose seats were needed for others.
_PAST: dict[str, list[Ends]] = defaultdict(list)
#: The runs that have ended, whose jobs are to end, too.
_ENDED: set[str] = set()


def work(order: Order, numbers: Sequence[int], cases: Sequence[Case], job: Job | None) -> Work:
    """On a worker: do a job, or judge the cases on the backends of these numbers."""
    from distributed import get_worker

    name, mine = str(get_worker().address), software()
    if unlike := [name for name in mine if mine[name] != order.software.get(name)]:
        other, here = (_listed(it, unlike) for it in (mine, order.software))
        return Work(name, Failure(f"it has {other}, and this run {here}"))
    with _LOCK:
        try:
            if job:
                return Work(name, found=[*takewhile(lambda _: order.run not in _ENDED, job())])
            if not numbers or order.run in _ENDED:
                return Work(name)
            # A worker has backends of four runs: those of the first of more are started anew.
            while order.run not in _SEATS and len(_SEATS) >= 4:
                first = next(iter(_SEATS))
                _PAST[first] = _closed(first)
            if order.run not in _SEATS:
                atexit.register(_closed, order.run)
                _SEATS[order.run] = _Seat()
            seat = _SEATS[order.run]
            with seat.lock:
                pools = [seat.pool(order, number) for number in numbers]
                oracles = {it: seat.pool(order, it) for case in cases if (it := case.expect.oracle)}
                began = monotonic()
                run = CaseJudge(
                    cases=cases,
                    backends=pools,
                    oracles=oracles,
                    ledgers=order.rules.ledgers,
                    gate=order.rules.gate,
                    times=order.rules.times,
                    reproducible=order.rules.reproducible,
                )
                answers = judge_chunk(run, Recorder(cases, order.addresses))
                seconds = monotonic() - began
            infos = {which: pool.info for which, pool in seat.pools.items()}
            ends = [*_PAST[order.run], *seat.ends()]
            return Work(name, infos=infos, answers=answers, seconds=seconds, ends=ends)
        except OpcheckError as error:
            return Work(name, Failure(error.message, error.hint, isinstance(error, UsageError)))
        except Exception:  # sent as text: an exception that cannot be pickled would be lost
            return Work(name, failure=Failure(traceback.format_exc()))


async def end(run: str) -> list[Ends]:
    """On a worker: end the backends of a run; return how their processes ended."""
    _ENDED.add(run)
    # In a thread: the worker must go on sending its sign of life while this waits for its work.
    return await to_thread(_closed, run)


def _closed(run: str) -> list[Ends]:
    seat = _SEATS.pop(run, None)
    return [*_PAST.pop(run, []), *(seat.close() if seat else ())]


def judge_chunk(run: CaseJudge, recorder: Recorder) -> list[JudgedAnswer]:
    """Judge all cases; return the answers as they are stored."""
    places = iter(range(len(run.cases)))
    found = chain(*run.answers(lambda: [*islice(places, 1)] or None))
    return [replace(one, result=recorder.record(cast(LiveResult, one.result))) for one in found]


def difference(first: BackendInfo, other: BackendInfo) -> str:
    """Return how the backend of a worker differs from the `first` one connected, "" if it does not.

    Digests of files that only one of them has are not compared.
    """
    if first != other:
        return f"{other.address} is {other}, and {first} elsewhere"
    common = first.made_of.keys() & other.made_of.keys()
    unlike = sorted(name for name in common if first.made_of[name] != other.made_of[name])
    if unlike:
        return f"{other.address} has other files than elsewhere: {', '.join(unlike)}"
    return ""


def remote(info: BackendInfo) -> InProcess:
    """Return a backend that is on workers; a case that is prepared here has ended its workers."""

    def prepare(task: Task) -> Prepared:
        raise ProcessDied("it ended each worker of the cluster that it was sent to alone")

    return InProcess(Backend(info, (), prepare))


@dataclass(eq=False)
class _Lane:
    """The cases at these `places`, for the backends of these `numbers`."""

    numbers: Sequence[int]
    places: Sequence[int]
    resources: Mapping[str, float]
    begun: int = 0
    #: The seconds that each case of the last chunk took; a guess at first.
    pace: float = 0.5


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Cases, or a job, under way on a worker. A chunk that is sent again is a new object."""

    lane: _Lane
    places: Sequence[int]
    job: Job | None = None
    #: The only worker that may do it, "" for any.
    worker: str = ""
    #: A single case or job, sent while no other is: a worker that ends then ends because of it.
    alone: bool = False
    #: All workers that got it alone have ended once.
    again: bool = False


class Cluster:
    """The workers at an address, or new ones here for `local:N`, which have a run's backends.

    Raises UsageError, and BackendUnavailable for a scheduler that does not answer.
    """

    def __init__(self, address: str, order: Order) -> None:
        try:
            import dask
            import distributed
        except ModuleNotFoundError as error:
            hint = "install it: pip install 'opcheck[cluster]'"
            raise BackendUnavailable(f"dask.distributed is not installed: {error}", hint) from error
        count, is_local = address.removeprefix("local:"), address.partition(":")[0] == "local"
        hint, comm = "write local:4, for four workers here, or tcp://HOST:PORT", distributed.comm
        if is_local and not (count.isascii() and count.isdecimal() and 0 < int(count) < 1000):
            raise UsageError(f"no cluster: {address!r}", hint)
        try:
            comm.registry.get_backend(comm.addressing.parse_address(address)[0])
            comm.addressing.parse_host_port(address)
        except ValueError as error:
            raise UsageError(f"no cluster: {address!r}: {error}", hint) from error
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._dask: Any = distributed
        self._order, self.settings = order, [*order.settings.values()]
        self.address, self._new = address, int(count) if is_local else 0
        # Its logs of messages keep the last 1000 chunks, cases and all.
        quiet = {"logging.distributed": "critical", "distributed.scheduler.allowed-failures": 1}
        quiet |= {"distributed.admin.low-level-log-length": 0}
        with ExitStack() as stack, dask.config.set(quiet):
            where = stack.enter_context(self._started()) if is_local else address
            try:
                client = self._dask.Client(where, timeout=10, set_as_default=False)
            except (OSError, ValueError) as error:
                said = f"no scheduler of dask.distributed at {address!r}: {error}"
                raise BackendUnavailable(said, "start one: dask scheduler") from error
            self._client = stack.enter_context(client)
            self._stack = stack.pop_all()
        self.infos: list[BackendInfo] = []
        self._done: Queue[tuple[_Chunk, Any]] = Queue()
        #: The parts under way, each with the only workers that may do it, if some may not.
        self._running: dict[_Chunk, tuple[Any, frozenset[str]]] = {}
        self._lanes: Sequence[_Lane] = ()
        #: Chunks to send first, each alone: what waited on a worker that ended is not at fault.
        self._alone: deque[_Chunk] = deque()
        #: The workers as the scheduler last listed them.
        self._there: dict[str, Any] = {}
        #: The workers at the start, and those that came later and are not used, with the reason.
        self._first: Sequence[str] = ()
        self._unfit: dict[str, str] = {}
        #: How the run's processes ended, by worker, as far as that is known.
        self.ends: dict[str, Sequence[Ends]] = {}
        self._looked, self._seen = 0.0, monotonic()
        #: When the last sign of life of each worker came; infinite once its silence was reported.
        self._heard: dict[tuple[str, float], float] = {}
        #: The first question to each worker: its software and backends. It answers while the run is
        #: prepared.
        self._greeted: dict[str, dict[tuple[int, ...], Any]] = {}
        self._greet()

    def _started(self) -> Any:
        """Start workers on this machine, whose processes leave Ctrl-C to this one."""
        # Without an address, its server warns where another cluster here has the usual port.
        limits = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
        limits |= {"n_workers": self._new, "silence_logs": logging.CRITICAL}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with own_memory.lifted():  # Backends on the workers inherit what these have.
                return self._dask.LocalCluster(**limits)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def connect(self) -> list[InProcess]:
        """Wait for the workers; return the backends.

        Raises BackendUnavailable with every worker that is unfit, and backends that none has.
        """
        threads = self._threads({})
        while len(threads) < max(1, self._new):
            sleep(_TICK)
            self._look_after()
            threads = self._threads({})
        self._greet()
        self._first = [*threads]
        infos: dict[Any, BackendInfo] = {}
        wrong: list[OpcheckError] = []
        for work in self._first_answers():
            for which, info in work.infos.items():
                unlike = difference(infos.setdefault(which, info), info)
                work = replace(work, unfit=Failure(unlike))
            why = work.why
            if why:
                kind = UsageError if work.unfit.usage else BackendUnavailable
                wrong.append(kind(f"worker {work.worker}: {why}", work.unfit.hint))
        for number, settings in enumerate(self.settings):
            if number not in infos and not wrong:
                name = settings.name or settings.address
                needs = _listed(settings.resources, settings.resources) or "all ended"
                wrong.append(BackendUnavailable(f"no worker for {name}: {needs}"))
        if wrong:
            raise workers.as_one(wrong)
        self.infos = [infos[number] for number in range(len(self.settings))]
        return [*map(remote, self.infos)]

    def _first_answers(self) -> Iterator[Work]:
        """Yield what the first workers answer to the first questions, which may take a while.

        A worker that ends meanwhile has no answer: it is started again.
        """
        began = monotonic()
        for worker in self._first:
            for future in self._greeted[worker].values():
                while not future.done() and worker in self._threads({}):
                    interrupt.safe_place()
                    sleep(_GLANCE)
                    if monotonic() - began > _PATIENCE / 2:
                        message = f"opcheck: waiting for worker {worker}, which is busy"
                        print(message, file=sys.stderr)
                        began = inf
                if worker in self._threads({}):
                    error = future.exception()
                    yield Work(worker, Failure(_said(error))) if error else future.result()

    def _greet(self) -> None:
        """Ask each new worker for the backends that it has resources for."""
        for worker in self._threads({}).keys() - self._greeted:
            fit = [worker in self._threads(one.resources) for one in self.settings]
            # Without a backend, its software alone matters.
            some = [(number,) for number, is_fit in enumerate(fit) if is_fit] if fit else [()]
            self._greeted[worker] = {
                numbers: self._submit(numbers, (), workers=[worker]) for numbers in some
            }

    def answers(
        self, run: Scheduler, recorder: Recorder, numbers: Sequence[int] = ()
    ) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers of the run's backends, which are those of `numbers` or all.

        Raises BackendUnavailable where the scheduler is lost, or no worker is there for a minute.
        """
        addresses = [info.address for info in self.infos]
        rules = Rules(
            ledgers=run.ledgers,
            gate=run.gate,
            times=run.times,
            reproducible=run.reproducible,
        )
        asked, self._known = {**self._order.settings}, dict[Any, BackendInfo](enumerate(self.infos))
        for name, oracle in run.oracles.items():
            asked[name], self._known[name] = cast(Pool, oracle).settings, oracle.info
        self._order = replace(self._order, settings=asked, addresses=addresses, rules=rules)
        self._run, self._recorder = run, recorder
        self._drop()
        self._numbers = numbers or range(len(self.infos))
        cases = run.cases
        settings = {number: self.settings[number] for number in self._numbers}
        compared = [place for place, case in enumerate(cases) if case.expect.compares_backends]
        others = sorted({*range(len(cases))} - {*compared})
        lanes = [_Lane((number,), others, one.resources) for number, one in settings.items()]
        every = _Lane(self._numbers, compared, _together(settings.values()))
        self._lanes, left = [*lanes, every], len(cases) * len(settings)
        while left:
            self._begin()
            found = self._waited(self._taken) or []
            left -= len(found)
            yield found

    def found(
        self,
        function: Callable[[Any], Iterable[Any]],
        jobs: Sequence[Any],
        resources: Mapping[str, float] | None = None,
        *,
        at: Sequence[str] = (),
    ) -> Iterator[Any]:
        """Yield what `function` yields for each of `jobs`, as it comes; each `at` a worker, if any.

        Raises UsageError as the function does, Defect for its other exceptions, and as `answers`;
        and BackendUnavailable for a job that ends each worker, or for which none is fit.
        """
        lane, left = _Lane((), range(len(jobs)), resources or {}), len(jobs)
        self._lanes, where = [lane], at or [""] * len(jobs)
        self._drop()
        while left:
            room = len(jobs) if at else _DEPTH * sum(self._threads(lane.resources).values())
            while not self._asks_alone() and lane.begun < len(jobs) and len(self._running) < room:
                n, lane.begun = lane.begun, lane.begun + 1
                self._send(_Chunk(lane, [n], partial(function, jobs[n]), where[n]))
            if done := self._waited(self._reply):
                if not done.worker:
                    said = "a job ended each worker of the cluster that it was sent to"
                    raise BackendUnavailable(said)
                left -= 1
                yield from done.found

    def threads(self) -> int:
        """Return how many jobs the workers do at a time."""
        return sum(self._threads({}).values())

    def of_hosts(self, resources: Mapping[str, float]) -> list[str]:
        """One worker of each host that has the resources, always the same one."""
        there = sorted(self._threads(resources).keys() & {*self._first}, reverse=True)
        return [*{self._there[worker]["host"]: worker for worker in there}.values()]

    def _asks_alone(self) -> bool:
        """Return True while chunks have to be sent one at a time; send the next one."""
        if self._alone and not self._running and self._threads(self._alone[0].lane.resources):
            self._send(self._alone.popleft())
            return True
        return bool(self._alone) or any(chunk.alone for chunk in self._running)

    def _begin(self) -> None:
        """Submit chunks while workers have room, of the lane that is behind first."""
        if self._asks_alone():
            return
        while some := [lane for lane in self._lanes if lane.begun < len(lane.places)]:
            lane = min(some, key=lambda one: one.places[one.begun])
            room = _DEPTH * sum(self._threads(lane.resources).values())
            ahead = lane.places[lane.begun] - self._run.emitted
            if len(self._running) >= room or ahead > _DEPTH * room * _CASES:
                return
            # Of some seconds at the pace of those before; of less in the end.
            rest = lane.places[lane.begun :]
            most = min(_SECONDS, max(_SHORTEST, lane.pace * len(rest) / room))
            chunk = _Chunk(lane, rest[: min(_CASES, max(1, int(most / lane.pace)))])
            lane.begun += len(chunk.places)
            self._send(chunk)

    def _send(self, chunk: _Chunk) -> None:
        lane, job = chunk.lane, chunk.job
        cases = [] if job else [self._run.cases[place] for place in chunk.places]
        # If any worker may take a task, dask itself keeps track of the workers that the task ended.
        only = [chunk.worker] if chunk.worker else [*self._threads(lane.resources)]
        only = only if self._unfit or chunk.worker else []
        where: dict[str, Any] = {"workers": only or None, "resources": dict(lane.resources) or None}
        future = self._submit(lane.numbers, cases, job, **where)
        self._running[chunk] = future, frozenset(only)
        future.add_done_callback(lambda done: self._done.put((chunk, done)))

    def _submit(
        self, numbers: Sequence[int], cases: Sequence[Case], job: Job | None = None, **where: Any
    ) -> Any:
        # Dask warns that a large model should be sent otherwise.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            return self._client.submit(work, self._order, numbers, cases, job, pure=False, **where)

    def _waited(self, take: Callable[[_Chunk, Any], Found | None]) -> Found | None:
        """The outcome of a chunk that is done; None where none was for a while."""
        try:
            found = take(*self._done.get(timeout=_TICK))
            self._seen = monotonic()
            return found
        except Empty:
            self._look_after()
            return None

    def _reply(self, chunk: _Chunk, future: Any) -> Work | None:
        """Return the work of a worker; None if the chunk is sent again.

        Work without the name of a worker means that the chunk ended each worker.

        Raises as the worker did.
        """
        asked: Any = self._running.get(chunk, (None,))[0]
        if asked is not future:  # the chunk was sent again meanwhile
            return None
        del self._running[chunk]
        if future is None:
            return Work("")
        if future.status == "cancelled":
            raise BackendUnavailable(f"the scheduler at {self.address} was lost")
        if future.status not in ("finished", "error"):  # the worker ended, its answers with it
            self._alone.append(replace(chunk))
            return None
        error = future.exception()
        if isinstance(error, self._dask.KilledWorker):
            # Two workers have ended: send the cases one by one. A case that was alone has crashed.
            if chunk.alone:
                return Work("")
            self._part(chunk)
            return None
        if error:
            raise BackendUnavailable(f"a worker of the cluster: {_said(error)}")
        work = cast(Work, future.result())
        if self._is_usable(chunk, work):
            self.ends[work.worker] = work.ends or self.ends.get(work.worker, ())
            return work
        self._alone.append(replace(chunk))
        return None

    def _is_usable(self, chunk: _Chunk, work: Work) -> bool:
        """Return True unless the worker is unfit, which is printed once, and is then not used.

        Raises what would happen on any worker, and what is wrong with one of the first.
        """
        is_first = bool(chunk.worker) or work.worker in self._first
        if chunk.job and work.unfit.usage:  # no matter on which worker
            raise UsageError(work.unfit.message, work.unfit.hint)
        if work.failure and (is_first or chunk.job):
            raise Defect(work.failure.message)
        unlike = [difference(self._known[which], info) for which, info in work.infos.items()]
        why = next(filter(None, [work.why, *unlike]), "")
        if not why:
            return True
        message = f"worker {work.worker}: {why}"
        if is_first:
            raise BackendUnavailable(message, work.unfit.hint)
        if work.worker not in self._unfit:
            print(f"opcheck: {message}; it is not used", file=sys.stderr)
        self._unfit[work.worker] = message
        return False

    def _part(self, chunk: _Chunk) -> None:
        """Send the cases of a chunk again, one by one: its workers have ended."""
        one = replace(chunk, alone=True, again=chunk.alone)
        self._alone.extend(replace(one, places=[place]) for place in chunk.places)

    def _taken(self, chunk: _Chunk, future: Any) -> list[JudgedAnswer]:
        """Return the answers of a chunk; none if it is sent again. Raises as the worker did."""
        lane, done = chunk.lane, self._reply(chunk, future)
        if done is None:
            return []
        if not done.worker:
            remotes = [remote(self.infos[number]) for number in lane.numbers]
            about = replace(self._run, cases=[self._run.cases[chunk.places[0]]], backends=remotes)
            return [*self._placed(chunk, judge_chunk(about, self._recorder))]
        answers = [*self._placed(chunk, done.answers)]
        for one in (cast(Record, answer.result) for answer in answers):
            if self._recorder.digests[one.case][1] != one.digest:
                raise BackendUnavailable(f"worker {done.worker}: it has other data for {one.case}")
        lane.pace = done.seconds / len(chunk.places)
        return answers

    def _placed(self, chunk: _Chunk, answers: Iterable[JudgedAnswer]) -> Iterator[JudgedAnswer]:
        for one in answers:
            place = chunk.places[one.place]
            number = self._numbers.index(chunk.lane.numbers[one.number])
            result = replace(cast(Record, one.result), place=place)
            yield replace(one, place=place, number=number, result=result)

    def _look_after(self) -> None:
        """Raise BackendUnavailable if there is no worker for a minute, and as Ctrl-C does."""
        interrupt.safe_place()
        for chunk, (future, only) in [*self._running.items()]:
            if only and only.isdisjoint(self._threads({})):  # dask would wait for them
                if chunk.worker:
                    raise BackendUnavailable(f"worker {chunk.worker} has ended")
                del self._running[chunk]
                future.cancel()
                if chunk.again:
                    self._running[chunk] = None, frozenset()
                    self._done.put((chunk, None))
                else:
                    self._part(chunk)
        for sign in [one for one, since in self._heard.items() if monotonic() - since > _PATIENCE]:
            print(f"opcheck: worker {sign[0]} is silent; dask waits for it", file=sys.stderr)
            self._heard[sign] = inf
        lanes = [lane for lane in self._lanes if lane.begun < len(lane.places)]
        lanes += [chunk.lane for chunk in (*self._running, *self._alone)]
        if all(map(self._threads, [{}, *(lane.resources for lane in lanes)])):
            self._seen = monotonic()
        elif monotonic() - self._seen > _PATIENCE:
            lines = [f"the cluster at {self.address} has no worker", *self._unfit.values()]
            raise BackendUnavailable("\n".join(lines))

    def _threads(self, resources: Mapping[str, float]) -> dict[str, int]:
        """The threads of each worker that has the resources, and is not left aside."""
        if monotonic() > self._looked + _TICK:
            with suppress(OSError):
                self._there = self._client.scheduler_info(n_workers=-1)["workers"]
            signs = [(worker, about["last_seen"]) for worker, about in self._there.items()]
            self._heard = {sign: self._heard.get(sign, monotonic()) for sign in signs}
            self._looked = monotonic()
        return {
            worker: about["nthreads"]
            for worker, about in self._there.items()
            if worker not in self._unfit
            and all(about["resources"].get(name, 0) >= it for name, it in resources.items())
        }

    def _drop(self) -> None:
        """Give up the chunks under way, as those of a run that was left early."""
        self._client.cancel([future for future, _ in self._running.values() if future])
        self._done, self._running, self._alone = Queue(), {}, deque()

    def close(self) -> None:
        """End the run's backends on the workers; standard error names those that do not answer."""

        async def ended(worker: str) -> None:
            asked = self._client.run(end, self._order.run, workers=[worker], on_error="ignore")
            try:
                self.ends |= await wait_for(asked, _FAREWELL)
            except TimeoutError:
                print(f"opcheck: worker {worker} does not answer at the end", file=sys.stderr)

        with suppress(OSError, self._dask.TimeoutError):
            self._drop()
            self._threads({})
            # One call a worker: dask returns no answer before all workers have answered.
            self._client.sync(lambda: gather(*map(ended, self._there)))
        self._stack.close()


def _together(settings: Iterable[BackendSettings]) -> dict[str, float]:
    """The resources of a worker that has all these backends."""
    found: dict[str, float] = {}
    for name, amount in chain(*(one.resources.items() for one in settings)):
        found[name] = max(amount, found.get(name, 0))
    return found


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _listed(values: Mapping[str, object], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {values.get(name) or 'none'}" for name in names)


def supported(
    cluster: Cluster, number: int, asked: support.Asked, counted: Counted[Any]
) -> list[Support]:
    """Probe each cell of the order's backend of this number, as `support.probed` does."""
    info = cluster.infos[number]
    run = Scheduler([*chain(*asked.values())], [remote(info)])
    recorder = Recorder(run.cases, [info.address])
    results = [*counted(run.results(cluster.answers(run, recorder, [number])))]
    settings = cluster.settings[number]
    first = {cell: cases[:1] for cell, cases in asked.items()}
    [declared] = cluster.found(partial(support.declared_by, settings), [first], settings.resources)
    return support.support(asked, results, declared)


class Hosts:
    """A benchmark like `bench.Benchmark`, on hosts that are alike: each times a share.

    A case is timed with all backends on one host, by the one worker there that times. Raises as
    `bench.entered` does, and BackendUnavailable for hosts whose times cannot be compared.
    """

    def __init__(self, cluster: Cluster, request: bench.BenchRequest) -> None:
        self.oracles: Mapping[str, Pool] = {}
        self._cluster = cluster
        self._request = request
        self._cases = request.cases
        needed = _together(request.settings)
        self._at = cluster.of_hosts(needed)[: len(self._cases)]
        if not self._at:
            raise BackendUnavailable(f"no worker for all backends: {_listed(needed, needed)}")
        self.to_come = len(self._at)
        self._rows: dict[str, Timed] = {}
        headers = [header for header, _ in self._timed([()] * len(self._at))]
        self.header, *others = headers
        unlike = chain(*(timings.differences(self.header, header) for header in others))
        # Hosts may differ in these: each round times the same fixed work on each host.
        if differing := {*unlike} - {"load", "memory", "platform"}:
            kinds = [_listed(timings.settings(one), sorted(differing)) for one in headers]
            message = f"hosts whose times cannot be compared: {'; '.join(dict.fromkeys(kinds))}"
            hint = "give like hosts a resource, and name it in `resources` of a profile"
            raise BackendUnavailable(message, hint)

    def _timed(self, shares: Sequence[Sequence[Case]]) -> Iterator[tuple[Bench, Rows]]:
        """Time each share of the cases on its host; yield the header and the rows of each."""
        jobs = [replace(self._request, cases=share) for share in shares]
        found = self._cluster.found(bench.at_a_host, jobs, at=self._at)
        return (one for one in found if isinstance(one, tuple))  # others are visits

    def visits(self, stop: bench.Stop) -> Iterator[str]:
        """Measure until `stop` returns True; yield as often as a host ends."""
        count = len(self._at)
        try:
            for _, rows in self._timed([self._cases[n::count] for n in range(count)]):
                self._rows |= {row.case: row for row in rows}
                self.to_come -= 1
                yield rows[0].host
        except KeyboardInterrupt:
            if not stop():
                raise

    def rows(self) -> Rows:
        """The measurements of the hosts that have finished."""
        return [self._rows[case.id] for case in self._cases if case.id in self._rows]


@contextmanager
def timed(where: str, request: bench.BenchRequest) -> Iterator[tuple[Bench, Hosts]]:
    """A benchmark on the hosts of the cluster there, as `bench.entered` gives one here."""
    addresses = request.addresses
    workers.check_has_other_backends(request.cases, len(addresses) or len(DEFAULT))
    settings = workers.chosen_backends(addresses, Path(), request.limits)
    with hired(where) as cluster:
        hosts = Hosts(cluster, replace(request, settings=settings))
        yield hosts.header, hosts


@contextmanager
def hired(address: str, settings: Sequence[BackendSettings] = ()) -> Iterator[Cluster]:
    """The workers at an address, all of them fit, for a command that keeps no run."""
    with closing(Cluster(address, Order(dict(enumerate(settings))))) as cluster:
        cluster.connect()
        yield cluster
