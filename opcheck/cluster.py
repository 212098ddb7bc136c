"""Cases judged by the workers of a cluster of dask.distributed, which take some seconds' at a time.

A chunk is cases on one backend, or on all where these are compared with each other. A worker has
its backends in processes of their own, as a run without a cluster has; it judges their answers, and
sends back what a report needs to know. Order, causes and the exit code are the run's.
"""

import atexit
import logging
import signal
import uuid
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from queue import Empty, Queue
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

import opcheck
from opcheck import interrupt
from opcheck.backends.base import Backend, Prepared, ProcessDied
from opcheck.backends.connect import digest
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError
from opcheck.execution import workers
from opcheck.execution.scheduler import Judge, JudgedAnswer, Scheduler
from opcheck.execution.workers import InProcess, Limits, environment
from opcheck.grouping import picked
from opcheck.model import BackendInfo, Case, LiveResult, Record, Task
from opcheck.reading import shipped_folder
from opcheck.report.formatting import Recorder

#: The longest and the shortest that a chunk is meant to take, in seconds, and its most cases.
_SECONDS, _SHORTEST, _CASES = 4.0, 0.25, 1000
#: Chunks under way for each thread of a worker: one that runs, and one that waits.
_DEPTH = 2
#: Seconds to wait for workers, and between two looks at them while nothing comes.
_PATIENCE, _TICK = 60.0, 0.5
#: A worker has backends of so many runs at most: the first of more has ended without a word.
_RUNS = 4
#: The folders of what ships with opcheck, installed and in a checkout.
_SHIPPED = {"_cases": "cases", "_clauses": "clauses", "_known": "reports/known"}
#: A backend, and how its processes ended, as `Pool` says it.
Ends: TypeAlias = tuple[str, Mapping[str, int], Sequence[str]]


@cache
def software() -> dict[str, str]:
    """The versions that all machines must share: of opcheck with its suites, and of packages."""
    here = environment()
    files = [*Path(opcheck.__path__[0]).rglob("*.py")]
    files += chain(*(shipped_folder(*one).rglob("*.yaml") for one in _SHIPPED.items()))
    packages = {name: it for name, it in here.packages.items() if name != "onnxruntime"}
    return {"opcheck": f"{here.opcheck} ({digest(files)})", **packages}


@dataclass(frozen=True)
class Order:
    """A run, as its workers know it. Any of `given`, which the user names, may be an oracle."""

    settings: Sequence[BackendSettings]
    given: Sequence[str]
    limits: Limits
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    software: Mapping[str, str] = field(default_factory=software)
    #: Fields of a `Judge`, and the addresses of its backends.
    rules: Mapping[str, Any] = field(default_factory=dict)
    addresses: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Work:
    """The answers of a worker in so many `seconds`, or the reason why it is `unfit`."""

    worker: str
    unfit: str = ""
    infos: Sequence[BackendInfo] = ()
    answers: Sequence[JudgedAnswer] = ()
    seconds: float = 0.0


class _Seat:
    """The backends of a run on this worker, and its oracles, connected once they are needed."""

    def __init__(self, order: Order) -> None:
        self._order, self._stack = order, ExitStack()
        self._folder = self._stack.enter_context(guarded_folder())
        self._pools: dict[int, Pool] = {}
        self._oracles: dict[str, Pool] = {}

    def pool(self, number: int) -> Pool:
        """The backend of this number. Raises BackendUnavailable and UsageError."""
        if number not in self._pools:
            settings = replace(self._order.settings[number], scratch=self._folder)
            (pool,) = self._stack.enter_context(workers.started([settings], 1))
            pool.connected()
            self._pools[number] = pool
        return self._pools[number]

    def oracles(self, cases: Sequence[Case]) -> Mapping[str, Pool]:
        """The oracles, those of `cases` among them. Raises BackendUnavailable and UsageError."""
        new = [case for case in cases if case.expect.oracle not in (None, *self._oracles)]
        if new:
            asked = new, self._order.given, self._folder, self._order.limits
            self._oracles |= self._stack.enter_context(workers.consulted(*asked))
        return self._oracles

    def close(self) -> list[Ends]:
        """End the backends; return how their processes ended."""
        self._stack.close()
        pools = [*self._pools.values(), *self._oracles.values()]
        return [(pool.info.address, dict(pool.accidents), pool.partings) for pool in pools]


#: The runs of this worker. One thread at a time works: the engine has state.
_SEATS: dict[str, _Seat] = {}
_LOCK = Lock()


def work(order: Order, numbers: Sequence[int], cases: Sequence[Case]) -> Work:
    """On a worker: judge the cases on the backends of these numbers."""
    from distributed import get_worker

    name, mine = str(get_worker().address), software()
    if unlike := [name for name in mine if mine[name] != order.software.get(name)]:
        other, here = (_listed(it, unlike) for it in (mine, order.software))
        return Work(name, f"it has {other}, and this run {here}")
    with _LOCK:
        try:
            while order.run not in _SEATS and len(_SEATS) >= _RUNS:
                _SEATS.pop(next(iter(_SEATS))).close()
            if order.run not in _SEATS:
                atexit.register(end, order.run)
                _SEATS[order.run] = _Seat(order)
            seat = _SEATS[order.run]
            pools, oracles = [*map(seat.pool, numbers)], seat.oracles(cases)
        except OpcheckError as error:
            return Work(name, error.message)
        began, run = monotonic(), Judge(cases, pools, oracles=oracles, **order.rules)
        answers = judged(run, Recorder(cases, order.addresses))
        return Work(name, "", [pool.info for pool in pools], answers, monotonic() - began)


def end(run: str) -> list[Ends]:
    """On a worker: end the backends of a run; return how their processes ended."""
    with _LOCK:
        return _SEATS.pop(run).close() if run in _SEATS else []


def judged(run: Judge, recorder: Recorder) -> list[JudgedAnswer]:
    """Judge all cases; return the answers as they are stored."""
    places = iter(range(len(run.cases)))
    found = chain(*run.answers(lambda: [*islice(places, 1)] or None))
    return [replace(one, result=recorder.record(cast(LiveResult, one.result))) for one in found]


def difference(first: BackendInfo, other: BackendInfo) -> str:
    """Say in what a backend on a worker is another than the `first` that was found, or nothing."""
    if first != other:
        return f"{other.address} is {other}, and {first} elsewhere"
    common = first.made_of.keys() & other.made_of.keys()
    unlike = sorted(name for name in common if first.made_of[name] != other.made_of[name])
    return f"{other.address} has other files than elsewhere: {', '.join(unlike)}" * bool(unlike)


def remote(info: BackendInfo) -> InProcess:
    """A backend on workers. What it is asked in this process has ended the workers it was sent."""

    def prepare(task: Task) -> Prepared:
        raise ProcessDied("the workers of the cluster that were asked it alone ended")

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
    lane: _Lane
    places: Sequence[int]


class Cluster:
    """The workers at an address, or new ones here for `local:N`, which have a run's backends.

    Raises UsageError, and BackendUnavailable for a scheduler that does not answer.
    """

    def __init__(self, address: str, order: Order) -> None:
        try:
            import distributed
        except ModuleNotFoundError as error:
            hint = "install it: pip install 'opcheck[cluster]'"
            raise BackendUnavailable(f"dask.distributed is not installed: {error}", hint) from error
        count, is_local = address.removeprefix("local:"), address.partition(":")[0] == "local"
        if is_local and not (count.isascii() and count.isdecimal() and 0 < int(count) < 1000):
            raise UsageError(f"no cluster: {address!r}", "write local:4, for four workers here")
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._dask: Any = distributed
        self._order = order
        self.address, self._new = address, int(count) if is_local else 0
        with ExitStack() as stack:
            where = stack.enter_context(self._started()) if is_local else address
            try:
                client = self._dask.Client(where, timeout=10, set_as_default=False)
            except (OSError, ValueError) as error:
                said = f"no scheduler of dask.distributed at {address!r}: {error}"
                raise BackendUnavailable(said, "start one: dask scheduler") from error
            self._client = stack.enter_context(client)
            self._stack = stack.pop_all()
        self._infos: list[BackendInfo] = []
        self._done: Queue[tuple[_Chunk, Any]] = Queue()
        self._running: dict[_Chunk, Any] = {}
        #: Chunks to be asked first: a worker that ends is no fault of what waits there with others.
        self._alone: deque[_Chunk] = deque()
        #: What the scheduler says of its workers, when it said so, and when there were some.
        self._there: dict[str, Any] = {}
        self._looked, self._seen, self._is_closed = 0.0, monotonic(), False

    def _started(self) -> Any:
        """New workers on this machine, whose processes leave Ctrl-C to this one."""
        import dask

        quiet = {"logging.distributed": "critical", "distributed.scheduler.allowed-failures": 1}
        limits = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
        limits |= {"n_workers": self._new, "silence_logs": logging.CRITICAL}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with dask.config.set(quiet):
                return self._dask.LocalCluster(**limits)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def connect(self) -> list[InProcess]:
        """Wait for the workers; return the backends.

        Raises BackendUnavailable with every worker that is unfit, and backends that none has.
        """
        while len(found := self._threads({})) < max(1, self._new):
            sleep(_TICK)
            self._look_after()
        settings, wrong = self._order.settings, list[str]()
        infos: dict[int, BackendInfo] = {}
        asked = [
            (worker, number, self._submit((number,), (), workers=[worker]))
            for worker in found
            for number, one in enumerate(settings)
            if worker in self._threads(one.resources)
        ]
        for worker, number, future in asked:
            while not future.done() and worker in self._threads({}):
                interrupt.safe_place()
                sleep(0.05)
            if worker not in self._threads({}):  # it has ended meanwhile, or is started again
                continue
            done = future.result()
            for info in done.infos:
                done = replace(done, unfit=difference(infos.setdefault(number, info), info))
            if done.unfit:
                wrong.append(f"worker {done.worker}: {done.unfit}")
        for number, one in enumerate(settings):
            if number not in infos and not wrong:
                needs = _listed(one.resources, one.resources)
                wrong.append(f"no worker for {one.name or one.address}: {needs or 'all ended'}")
        if wrong:
            raise BackendUnavailable("\n".join(dict.fromkeys(wrong)))
        self._infos = [infos[number] for number in range(len(settings))]
        return [*map(remote, self._infos)]

    def answers(self, run: Scheduler, recorder: Recorder) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come.

        Raises BackendUnavailable where the scheduler is lost, or no worker is there for a minute.
        """
        addresses = [info.address for info in self._infos]
        rules = picked(run, "ledgers gate times reproducible")
        self._order = replace(self._order, addresses=addresses, rules=rules)
        self._run, self._recorder = run, recorder
        cases, settings = run.cases, self._order.settings
        compared = [place for place, case in enumerate(cases) if case.expect.compares_backends]
        others = sorted({*range(len(cases))} - {*compared})
        lanes = [_Lane((number,), others, one.resources) for number, one in enumerate(settings)]
        every = dict(chain(*(one.resources.items() for one in settings)))
        lanes.append(_Lane(range(len(settings)), compared, every))
        left = len(cases) * len(self._infos)
        while left:
            self._begin(lanes)
            found: list[JudgedAnswer] = []
            try:
                found = self._taken(*self._done.get(timeout=_TICK))
                self._seen = monotonic()
            except Empty:
                self._look_after()
            left -= len(found)
            yield found

    def _begin(self, lanes: Sequence[_Lane]) -> None:
        """Submit chunks while workers have room, of the lane that is behind first."""
        if self._alone:
            if not self._running:
                self._send(self._alone.popleft())
            return
        while some := [lane for lane in lanes if lane.begun < len(lane.places)]:
            lane = min(some, key=lambda one: one.places[one.begun])
            room = _DEPTH * max(1, sum(self._threads(lane.resources).values()))
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
        lane, cases = chunk.lane, [self._run.cases[place] for place in chunk.places]
        future = self._submit(lane.numbers, cases, resources=dict(lane.resources) or None)
        self._running[chunk] = future
        future.add_done_callback(lambda done: self._done.put((chunk, done)))

    def _submit(self, numbers: Sequence[int], cases: Sequence[Case], **where: Any) -> Any:
        with warnings.catch_warnings():
            # That a large model should be sent otherwise.
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(work, self._order, numbers, cases, pure=False, **where)

    def _taken(self, chunk: _Chunk, future: Any) -> list[JudgedAnswer]:
        """The answers of a chunk; none where it is asked again. Raises as the worker did."""
        del self._running[chunk]
        if future.status == "cancelled":
            raise BackendUnavailable(f"the scheduler at {self.address} was lost")
        if future.status not in ("finished", "error"):  # the worker ended, its answers with it
            self._alone.append(chunk)
            return []
        lane, error = chunk.lane, future.exception()
        if isinstance(error, self._dask.KilledWorker):
            # Two workers have ended: its cases are asked one by one, and one alone has crashed.
            if len(chunk.places) > 1:
                self._alone.extend(_Chunk(lane, [place]) for place in chunk.places)
                return []
            remotes = [remote(self._infos[number]) for number in lane.numbers]
            case = self._run.cases[chunk.places[0]]
            about = replace(self._run, cases=[case], backends=remotes)
            return [*self._placed(chunk, judged(about, self._recorder))]
        if error:
            raise error
        done = future.result()
        infos = [self._infos[number] for number in lane.numbers] if done.infos else []
        unlike = [done.unfit, *map(difference, infos, done.infos)]
        answers = [*self._placed(chunk, done.answers)]
        for one in (cast(Record, answer.result) for answer in answers):
            if self._recorder.digests[one.case][1] != one.digest:
                unlike.append(f"it has other data for {one.case}")
        for why in filter(None, unlike):
            raise BackendUnavailable(f"worker {done.worker}: {why}")
        lane.pace = done.seconds / len(chunk.places)
        return answers

    def _placed(self, chunk: _Chunk, answers: Iterable[JudgedAnswer]) -> Iterator[JudgedAnswer]:
        for one in answers:
            place, number = chunk.places[one.place], chunk.lane.numbers[one.number]
            result = replace(cast(Record, one.result), place=place)
            yield replace(one, place=place, number=number, result=result)

    def _look_after(self) -> None:
        """Raise BackendUnavailable if there is no worker for a minute, and as Ctrl-C does."""
        interrupt.safe_place()
        if self._threads({}):
            self._seen = monotonic()
        elif monotonic() - self._seen > _PATIENCE:
            raise BackendUnavailable(f"the cluster at {self.address} has no worker")

    def _threads(self, resources: Mapping[str, float]) -> dict[str, int]:
        """The threads of each worker that has the resources."""
        if monotonic() > self._looked + _TICK:
            with suppress(OSError):
                self._there = self._client.scheduler_info(n_workers=-1)["workers"]
            self._looked = monotonic()
        return {
            worker: about["nthreads"]
            for worker, about in self._there.items()
            if all(about["resources"].get(name, 0) >= it for name, it in resources.items())
        }

    def close(self) -> list[Ends]:
        """End the run's backends on the workers; return how their processes ended."""
        found: list[Ends] = []
        if not self._is_closed:
            self._is_closed = True
            with suppress(OSError, self._dask.TimeoutError):
                self._client.cancel([*self._running.values()])
                found += chain(*self._client.run(end, self._order.run).values())
            self._stack.close()
        return found


def _listed(values: Mapping[str, object], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {values.get(name, 'none')}" for name in names)
