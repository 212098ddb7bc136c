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
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice
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

#: Seconds that a chunk is meant to take at most.
_SECONDS = 4.0
#: Seconds that it is meant to take at least.
_SHORTEST = 0.25
#: Runs whose backends a worker has at a time.
_SEATS_OF_WORKER = 4
#: The most cases of a chunk.
_CASES = 1000
#: Chunks under way for each thread of a worker: one that runs, and one that waits.
_DEPTH = 2
#: The most workers that are started on this machine.
_MOST_NEW_WORKERS = 999
#: Seconds to wait for workers.
_PATIENCE = 60.0
#: Seconds between two looks at them.
_TICK = 0.5
#: Seconds between two looks at a single answer.
_GLANCE = 0.05
#: Seconds to wait for their last words in the end.
_FAREWELL = 10.0
#: The address of a backend, and how its processes ended: its idle deaths and unclean exits.
Ends: TypeAlias = tuple[str, Mapping[str, int], Sequence[str]]
#: Work other than judging cases. It may be ended after each item that it yields.
Job: TypeAlias = Callable[[], Iterable[Any]]


@cache
def software() -> dict[str, str]:
    """Return the versions that all machines must share: of opcheck with its suites, of packages."""
    here = environment()
    package = Path(opcheck.__path__[0])
    files = [
        *package.rglob("*.py"),
        *package.rglob("*.toml"),
        *shipped_folder("cases").rglob("*.yaml"),
        *SHIPPED_LEDGERS.glob("*.yaml"),
    ]
    packages = {name: version for name, version in here.packages.items() if name != "onnxruntime"}
    return {"opcheck": f"{here.opcheck} ({digest(files)})", **packages}


def _new_run() -> str:
    """Return a name that no other run has."""
    return uuid.uuid4().hex


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
    run: str = field(default_factory=_new_run)
    software: Mapping[str, str] = field(default_factory=software)
    rules: Rules = field(default_factory=Rules)
    #: The addresses of the run's backends.
    addresses: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Work:
    """What a worker sends back: the answers of its backends, the items of a job, or an error.

    Attributes:
        worker: The address of the worker.
        unfit: Why the worker cannot be used, with an empty message if it can.
        failure: A bug of opcheck, or an error in a job.
        infos: The worker's backends, as the order names them.
        answers: The judged answers.
        seconds: How long it took to judge them.
        ends: How processes of the run's backends have ended on this worker.
        items: What a job yields.
    """

    worker: str
    unfit: Failure = field(default_factory=partial(Failure, ""))
    failure: Failure | None = None
    infos: Mapping[Any, BackendInfo] = field(default_factory=dict)
    answers: Sequence[JudgedAnswer] = ()
    seconds: float = 0.0
    ends: Sequence[Ends] = ()
    items: Sequence[Any] = ()

    @property
    def why(self) -> str:
        """Why it is of no use, or ""."""
        failure = self.failure
        return failure.message.rstrip().rpartition("\n")[2] if failure else self.unfit.message


class _Seat:
    """The backends of a run on this worker, and its oracles, connected once they are needed."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(guarded_folder())
        self.pools: dict[int | str, Pool] = {}

    def pool(self, order: Order, which: int | str) -> Pool:
        """Return the backend of a number, or oracle of a name; raises as `Pool.connected` does."""
        if which not in self.pools:
            own = replace(order.settings[which], scratch=self._folder)
            (pool,) = self._stack.enter_context(workers.started([own], 1))
            pool.connected()
            self.pools[which] = pool
        return self.pools[which]

    def ends(self) -> list[Ends]:
        """Return how the backends' processes ended."""
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

    name = str(get_worker().address)
    unlike = _other_software(order)
    if unlike:
        return Work(name, Failure(unlike))
    with _LOCK:
        try:
            if job:
                return Work(name, items=_items(order, job))
            if not numbers or order.run in _ENDED:
                return Work(name)
            return _judge_here(order, numbers, cases, name)
        except OpcheckError as error:
            return Work(name, Failure(error.message, error.hint, isinstance(error, UsageError)))
        except Exception:  # sent as text: an exception that cannot be pickled would be lost
            return Work(name, failure=Failure(traceback.format_exc()))


def _other_software(order: Order) -> str:
    """Return how the software of this worker differs from that of the run, "" if it does not."""
    here = software()
    unlike = [name for name in here if here[name] != order.software.get(name)]
    if not unlike:
        return ""
    return f"it has {_listed(here, unlike)}, and this run {_listed(order.software, unlike)}"


def _items(order: Order, job: Job) -> list[Any]:
    """Return what a job yields until its run ends."""
    items = []
    for item in job():
        if order.run in _ENDED:
            break
        items.append(item)
    return items


def _judge_here(order: Order, numbers: Sequence[int], cases: Sequence[Case], name: str) -> Work:
    """On the worker of this `name`: judge the cases on the backends of these numbers."""
    seat = _seat_of(order.run)
    with seat.lock:
        pools = [seat.pool(order, number) for number in numbers]
        oracles: dict[str, Pool] = {}
        for case in cases:
            if case.expect.oracle:
                oracles[case.expect.oracle] = seat.pool(order, case.expect.oracle)
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
    return Work(
        name,
        infos={which: pool.info for which, pool in seat.pools.items()},
        answers=answers,
        seconds=seconds,
        ends=[*_PAST[order.run], *seat.ends()],
    )


def _seat_of(run: str) -> _Seat:
    """Return the seat of a run; if it is a new one, an earlier run may lose its own."""
    # Backends of a run that lost its seat are started anew.
    while run not in _SEATS and len(_SEATS) >= _SEATS_OF_WORKER:
        first = next(iter(_SEATS))
        _PAST[first] = _closed(first)
    if run not in _SEATS:
        atexit.register(_closed, run)
        _SEATS[run] = _Seat()
    return _SEATS[run]


async def end(run: str) -> list[Ends]:
    """On a worker: end the backends of a run; return how their processes ended."""
    _ENDED.add(run)
    # In a thread: the worker must go on sending its sign of life while this waits for its work.
    return await to_thread(_closed, run)


def _closed(run: str) -> list[Ends]:
    """End the backends of a run on this worker; return how all its processes ended."""
    seat = _SEATS.pop(run, None)
    ends = _PAST.pop(run, [])
    if seat:
        ends = [*ends, *seat.close()]
    return ends


def judge_chunk(run: CaseJudge, recorder: Recorder) -> list[JudgedAnswer]:
    """Judge all cases; return the answers as they are stored."""
    places = iter(range(len(run.cases)))

    def take() -> Sequence[int] | None:
        """Return the place of the next case, None after the last."""
        return [*islice(places, 1)] or None

    answers = chain.from_iterable(run.answers(take))
    return [
        replace(answer, result=recorder.record(cast(LiveResult, answer.result)))
        for answer in answers
    ]


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
        self._dask: Any = distributed
        self._order = order
        self.settings = [*order.settings.values()]
        self.address = address
        #: The number of workers to start here, 0 if they are elsewhere.
        self._new = self._parse_address()
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        settings = {
            "logging.distributed": "critical",
            "distributed.scheduler.allowed-failures": 1,
            # Its logs of messages would keep the last 1000 chunks, cases and all.
            "distributed.admin.low-level-log-length": 0,
        }
        with ExitStack() as stack, dask.config.set(settings):
            scheduler = stack.enter_context(self._started()) if self._new else address
            try:
                client = self._dask.Client(scheduler, timeout=10, set_as_default=False)
            except (OSError, ValueError) as error:
                message = f"no scheduler of dask.distributed at {address!r}: {error}"
                raise BackendUnavailable(message, "start one: dask scheduler") from error
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
        #: When the workers were last listed.
        self._looked = 0.0
        #: When there last were workers that can go on.
        self._seen = monotonic()
        #: When the last sign of life of each worker came; infinite once its silence was reported.
        self._heard: dict[tuple[str, float], float] = {}
        #: The first question to each worker: its software and backends. It answers while the run is
        #: prepared.
        self._greeted: dict[str, dict[tuple[int, ...], Any]] = {}
        self._greet()

    def _parse_address(self) -> int:
        """Return the number of workers to start here, 0 if there are some; raises UsageError."""
        hint = "write local:4, for four workers here, or tcp://HOST:PORT"
        kind, _, count = self.address.partition(":")
        if kind == "local" and not (
            count.isascii() and count.isdecimal() and 0 < int(count) <= _MOST_NEW_WORKERS
        ):
            raise UsageError(f"no cluster: {self.address!r}", hint)
        comm = self._dask.comm
        try:
            comm.registry.get_backend(comm.addressing.parse_address(self.address)[0])
            comm.addressing.parse_host_port(self.address)
        except ValueError as error:
            raise UsageError(f"no cluster: {self.address!r}: {error}", hint) from error
        return int(count) if kind == "local" else 0

    def _started(self) -> Any:
        """Start workers on this machine, whose processes leave Ctrl-C to this one."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with own_memory.lifted():  # backends on the workers inherit what these have
                return self._dask.LocalCluster(
                    n_workers=self._new,
                    threads_per_worker=1,
                    memory_limit=0,
                    # Without an address, its server warns if another one here has the usual port.
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
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
        errors: list[OpcheckError] = [*self._unfit_workers(infos)]
        missing = [n for n in range(len(self.settings)) if n not in infos]
        if missing and not errors:
            errors.append(self._without_worker(self.settings[missing[0]]))
        if errors:
            raise workers.as_one(errors)
        self.infos = [infos[number] for number in range(len(self.settings))]
        return [*map(remote, self.infos)]

    def _unfit_workers(self, infos: dict[Any, BackendInfo]) -> Iterator[OpcheckError]:
        """Yield why first workers are unfit, and add the backends that they have to `infos`."""
        for work in self._first_answers():
            for which, info in work.infos.items():
                unlike = difference(infos.setdefault(which, info), info)
                work = replace(work, unfit=Failure(unlike))
            why = work.why
            if why:
                kind = UsageError if work.unfit.usage else BackendUnavailable
                yield kind(f"worker {work.worker}: {why}", work.unfit.hint)

    def _without_worker(self, settings: BackendSettings) -> BackendUnavailable:
        """Return the error of a backend that no worker has."""
        name = settings.name or settings.address
        needs = _listed(settings.resources, settings.resources) or "all ended"
        return BackendUnavailable(f"no worker for {name}: {needs}")

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
                    yield Work(worker, Failure(_in_words(error))) if error else future.result()

    def _greet(self) -> None:
        """Ask each new worker for the backends that it has resources for."""
        for worker in self._threads({}).keys() - self._greeted:
            questions: list[tuple[int, ...]] = [
                (number,)
                for number, settings in enumerate(self.settings)
                if worker in self._threads(settings.resources)
            ]
            if not self.settings:
                questions = [()]  # without a backend, its software alone matters
            self._greeted[worker] = {
                numbers: self._submit(numbers, (), workers=[worker]) for numbers in questions
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
        order_settings: dict[Any, BackendSettings] = {**self._order.settings}
        #: The backends by number, and the oracles by name.
        self._known: dict[Any, BackendInfo] = dict(enumerate(self.infos))
        for name, oracle in run.oracles.items():
            order_settings[name] = cast(Pool, oracle).settings
            self._known[name] = oracle.info
        self._order = replace(
            self._order, settings=order_settings, addresses=addresses, rules=rules
        )
        self._run = run
        self._recorder = recorder
        self._drop()
        self._numbers = numbers or range(len(self.infos))
        cases = run.cases
        settings = {number: self.settings[number] for number in self._numbers}
        compared = [place for place, case in enumerate(cases) if case.expect.compares_backends]
        others = sorted({*range(len(cases))} - {*compared})
        alone = [
            _Lane((number,), others, of_backend.resources)
            for number, of_backend in settings.items()
        ]
        together = _Lane(self._numbers, compared, _joint_resources(settings.values()))
        self._lanes = [*alone, together]
        missing = len(cases) * len(settings)
        while missing:
            self._begin()
            answers = self._next_done(self._answers_of) or []
            missing -= len(answers)
            yield answers

    def run_jobs(
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
        lane = _Lane((), range(len(jobs)), resources or {})
        self._lanes = [lane]
        workers_of_jobs = at or [""] * len(jobs)
        self._drop()
        missing = len(jobs)
        while missing:
            room = len(jobs) if at else _DEPTH * sum(self._threads(lane.resources).values())
            while not self._asks_alone() and lane.begun < len(jobs) and len(self._running) < room:
                number = lane.begun
                lane.begun += 1
                job = partial(function, jobs[number])
                self._send(_Chunk(lane, [number], job, workers_of_jobs[number]))
            done = self._next_done(self._reply)
            if done:
                if not done.worker:
                    message = "a job ended each worker of the cluster that it was sent to"
                    raise BackendUnavailable(message)
                missing -= 1
                yield from done.items

    def threads(self) -> int:
        """Return how many jobs the workers do at a time."""
        return sum(self._threads({}).values())

    def of_hosts(self, resources: Mapping[str, float]) -> list[str]:
        """Return one worker of each host that has the resources, always the same one."""
        fit = sorted(self._threads(resources).keys() & {*self._first}, reverse=True)
        by_host = {self._there[worker]["host"]: worker for worker in fit}
        return [*by_host.values()]

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
        lanes = [lane for lane in self._lanes if lane.begun < len(lane.places)]
        while lanes:
            lane = min(lanes, key=lambda lane: lane.places[lane.begun])
            room = _DEPTH * sum(self._threads(lane.resources).values())
            ahead = lane.places[lane.begun] - self._run.emitted
            if len(self._running) >= room or ahead > _DEPTH * room * _CASES:
                return
            # Of some seconds at the pace of those before; of less in the end.
            left = lane.places[lane.begun :]
            seconds = min(_SECONDS, max(_SHORTEST, lane.pace * len(left) / room))
            count = min(_CASES, max(1, int(seconds / lane.pace)))
            chunk = _Chunk(lane, left[:count])
            lane.begun += len(chunk.places)
            self._send(chunk)
            lanes = [lane for lane in self._lanes if lane.begun < len(lane.places)]

    def _send(self, chunk: _Chunk) -> None:
        """Submit a chunk to the workers that may do it."""
        lane = chunk.lane
        job = chunk.job
        cases = [] if job else [self._run.cases[place] for place in chunk.places]
        # If any worker may take a task, dask itself keeps track of the workers that the task ended.
        only: list[str] = []
        if chunk.worker:
            only = [chunk.worker]
        elif self._unfit:
            only = [*self._threads(lane.resources)]
        future = self._submit(
            lane.numbers,
            cases,
            job,
            workers=only or None,
            resources=dict(lane.resources) or None,
        )
        self._running[chunk] = future, frozenset(only)

        def put(done: Any) -> None:
            self._done.put((chunk, done))

        future.add_done_callback(put)

    def _submit(
        self,
        numbers: Sequence[int],
        cases: Sequence[Case],
        job: Job | None = None,
        *,
        workers: Sequence[str] | None,
        resources: Mapping[str, float] | None = None,
    ) -> Any:
        """Submit `work` to these workers, None for any with the resources; return its future."""
        # Dask warns that a large model should be sent otherwise.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            return self._client.submit(
                work,
                self._order,
                numbers,
                cases,
                job,
                pure=False,
                workers=workers,
                resources=resources,
            )

    def _next_done(self, read: Callable[[_Chunk, Any], Found | None]) -> Found | None:
        """Return what `read` returns of the next chunk that is done; None after a short wait."""
        try:
            result = read(*self._done.get(timeout=_TICK))
            self._seen = monotonic()
            return result
        except Empty:
            self._look_after()
            return None

    def _reply(self, chunk: _Chunk, future: Any) -> Work | None:
        """Return the work of a worker; None if the chunk is sent again.

        Work without the name of a worker means that the chunk ended each worker.

        Raises as the worker did.
        """
        running = self._running.get(chunk)
        if running is None or running[0] is not future:  # the chunk was sent again meanwhile
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
            raise BackendUnavailable(f"a worker of the cluster: {_in_words(error)}")
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
        self._alone.extend(
            replace(chunk, places=[place], alone=True, again=chunk.alone) for place in chunk.places
        )

    def _answers_of(self, chunk: _Chunk, future: Any) -> list[JudgedAnswer]:
        """Return the answers of a chunk; none if it is sent again. Raises as the worker did."""
        done = self._reply(chunk, future)
        if done is None:
            return []
        if not done.worker:
            remotes = [remote(self.infos[number]) for number in chunk.lane.numbers]
            case = self._run.cases[chunk.places[0]]
            run = replace(self._run, cases=[case], backends=remotes)
            return [*self._placed(chunk, judge_chunk(run, self._recorder))]
        answers = [*self._placed(chunk, done.answers)]
        for answer in answers:
            record = cast(Record, answer.result)
            if self._recorder.digests[record.case][1] != record.digest:
                message = f"worker {done.worker}: it has other data for {record.case}"
                raise BackendUnavailable(message)
        chunk.lane.pace = done.seconds / len(chunk.places)
        return answers

    def _placed(self, chunk: _Chunk, answers: Iterable[JudgedAnswer]) -> Iterator[JudgedAnswer]:
        """Yield the answers of a chunk with their places and numbers in the whole run."""
        for answer in answers:
            place = chunk.places[answer.place]
            number = self._numbers.index(chunk.lane.numbers[answer.number])
            result = replace(cast(Record, answer.result), place=place)
            yield replace(answer, place=place, number=number, result=result)

    def _look_after(self) -> None:
        """Raise BackendUnavailable if there is no worker for a minute, and as Ctrl-C does."""
        interrupt.safe_place()
        self._send_stranded_again()
        self._report_silent_workers()
        needed: list[Mapping[str, float]] = [{}]
        needed += [lane.resources for lane in self._lanes if lane.begun < len(lane.places)]
        needed += [chunk.lane.resources for chunk in (*self._running, *self._alone)]
        if all(map(self._threads, needed)):
            self._seen = monotonic()
        elif monotonic() - self._seen > _PATIENCE:
            lines = [f"the cluster at {self.address} has no worker", *self._unfit.values()]
            raise BackendUnavailable("\n".join(lines))

    def _send_stranded_again(self) -> None:
        """Send chunks again whose only workers are gone: dask would wait for them."""
        for chunk, (future, only) in [*self._running.items()]:
            if not only or not only.isdisjoint(self._threads({})):
                continue
            if chunk.worker:
                raise BackendUnavailable(f"worker {chunk.worker} has ended")
            del self._running[chunk]
            future.cancel()
            if chunk.again:
                self._running[chunk] = None, frozenset()
                self._done.put((chunk, None))
            else:
                self._part(chunk)

    def _report_silent_workers(self) -> None:
        """Print each worker that gives no sign of life for a minute, once."""
        for sign, since in self._heard.items():
            if monotonic() - since > _PATIENCE:
                worker, _ = sign
                print(f"opcheck: worker {worker} is silent; dask waits for it", file=sys.stderr)
                self._heard[sign] = inf

    def _threads(self, resources: Mapping[str, float]) -> dict[str, int]:
        """Return the threads of each worker that has the resources, and is not unfit."""
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
            and all(about["resources"].get(name, 0) >= need for name, need in resources.items())
        }

    def _drop(self) -> None:
        """Give up the chunks under way, as those of a run that was left early."""
        self._client.cancel([future for future, _ in self._running.values() if future])
        self._done = Queue()
        self._running = {}
        self._alone = deque()

    def close(self) -> None:
        """End the run's backends on the workers; standard error names those that do not answer."""

        async def end_worker(worker: str) -> None:
            ends = self._client.run(end, self._order.run, workers=[worker], on_error="ignore")
            try:
                self.ends |= await wait_for(ends, _FAREWELL)
            except TimeoutError:
                print(f"opcheck: worker {worker} does not answer at the end", file=sys.stderr)

        def end_all() -> Awaitable[Any]:
            return gather(*map(end_worker, self._there))

        with suppress(OSError, self._dask.TimeoutError):
            self._drop()
            self._threads({})
            # One call a worker: dask returns no answer before all workers have answered.
            self._client.sync(end_all)
        self._stack.close()


def _joint_resources(settings: Iterable[BackendSettings]) -> dict[str, float]:
    """Return the resources of a worker that has all these backends."""
    resources: dict[str, float] = {}
    for of_backend in settings:
        for name, amount in of_backend.resources.items():
            resources[name] = max(amount, resources.get(name, 0))
    return resources


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _listed(values: Mapping[str, object], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {values.get(name) or 'none'}" for name in names)


def supported(
    cluster: Cluster, number: int, asked: support.Asked, counted: Counted[Any]
) -> list[Support]:
    """Probe each cell of an order's backend, by its number, as `probe_in_processes` does."""
    info = cluster.infos[number]
    run = Scheduler([*chain(*asked.values())], [remote(info)])
    recorder = Recorder(run.cases, [info.address])
    results = [*counted(run.results(cluster.answers(run, recorder, [number])))]
    settings = cluster.settings[number]
    first = {cell: cases[:1] for cell, cases in asked.items()}
    [declared] = cluster.run_jobs(
        partial(support.declared_in_processes, settings), [first], settings.resources
    )
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
        needed = _joint_resources(request.settings)
        self._at = cluster.of_hosts(needed)[: len(self._cases)]
        if not self._at:
            raise BackendUnavailable(f"no worker for all backends: {_listed(needed, needed)}")
        self.to_come = len(self._at)
        self._rows: dict[str, Timed] = {}
        headers = [header for header, _ in self._timed([()] * len(self._at))]
        self.header, *others = headers
        unlike = chain(*(timings.differences(self.header, header) for header in others))
        # Hosts may differ in these: each round times the same fixed work on each host.
        differing = {*unlike} - {"load", "memory", "platform"}
        if differing:
            kinds = [_listed(timings.settings(header), sorted(differing)) for header in headers]
            message = f"hosts whose times cannot be compared: {'; '.join(dict.fromkeys(kinds))}"
            hint = "give like hosts a resource, and name it in `resources` of a profile"
            raise BackendUnavailable(message, hint)

    def _timed(self, shares: Sequence[Sequence[Case]]) -> Iterator[tuple[Bench, Rows]]:
        """Time each share of the cases on its host; yield the header and the rows of each."""
        jobs = [replace(self._request, cases=share) for share in shares]
        items = self._cluster.run_jobs(bench.at_a_host, jobs, at=self._at)
        return (item for item in items if isinstance(item, tuple))  # others are visits

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
