"""Runs: backends in processes of their own, and cases judged on them, one result at a time."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from opcheck import budget, interrupt
from opcheck.analysis import ALLOWED, UNEXPECTED_PASSES, is_failure, reds_of, status
from opcheck.backends.address import DEFAULT
from opcheck.backends.connect import of_object
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.pool import Pool
from opcheck.diagnose import UNLIMITED, Allowance
from opcheck.errors import Exit, OpcheckError, UsageError
from opcheck.execution import scheduler, workers
from opcheck.execution.workers import AskableBackend, InProcess, Limits
from opcheck.grouping import Item, not_none
from opcheck.known import Gate, shipped_ledgers
from opcheck.model import BackendInfo, Case, Ending, Header, Level, LiveResult, Record, Records, Run
from opcheck.report.formatting import Recorder
from opcheck.suite import shard

if TYPE_CHECKING:
    from opcheck.cluster import Cluster


class Preparing(Protocol):
    """A backend object: `prepare(task)` returns an object with `run(inputs)`."""

    def prepare(self, task: Any) -> Any:
        """Make a task ready to run."""


#: A backend: its address, such as "onnxruntime", a backend object, or a function that computes an
#: operator of NumPy arrays, called with the inputs in the operator's order and its attributes by
#: name. Addresses get processes of their own; objects and functions work in this process.
BackendLike: TypeAlias = str | Preparing | Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Scope and strictness of a run; the rules are options of `opcheck run`."""

    #: The suite, of which a `shard` is only a part.
    cases: Sequence[Case]
    shard: tuple[int, int] | None = None
    #: Where the cases come from.
    selection: str = ""
    level: Level = "core"
    paths: tuple[str, ...] = ()
    repeat: int = 1
    strict: bool = False
    require_supported: bool = False
    require_reproducible: bool = False
    #: Why the cases are fewer than they should be; then the run is incomplete.
    too_few: Sequence[str] = ()
    #: Causes of failures are looked for as long as that takes.
    explain_fully: bool = False
    #: Without them, the known defects of public backends count like any other failure.
    shipped_ledgers: bool = True
    gate: Gate = field(default_factory=Gate)

    @cached_property
    def asked(self) -> Sequence[Case]:
        """The cases of this run."""
        return shard(self.cases, *self.shard) if self.shard else self.cases


class Session:
    """Backends for any number of runs; a context manager that ends their processes.

    `backends` are opcheck's default ones if there is none. Each has `jobs` processes, `timeout`
    seconds for a case, and a `memory_limit` of each process, such as "2GiB". With `cluster`, they
    are on the workers of dask.distributed at that address, or on new ones here, as "local:4".
    opcheck computes models with tensors of at most `graph_elements` elements, and `graph_nodes`
    runs of nodes.
    """

    def __init__(
        self,
        backends: Sequence[BackendLike] = (),
        *,
        jobs: int = 1,
        timeout: float | None = None,
        memory_limit: str | None = None,
        cluster: str | None = None,
        graph_elements: int | None = None,
        graph_nodes: int | None = None,
    ) -> None:
        self._given = backends
        self._jobs = jobs
        self._cluster_address = cluster
        self.addresses = tuple(backend for backend in backends if isinstance(backend, str))
        #: False for opcheck's default backends, of which one judged on something is enough.
        self.is_named = bool(backends)
        self._cluster: Cluster | None = None
        self.limits = Limits(timeout, memory_limit)
        if backends == []:
            raise UsageError("no backend", "leave it out for opcheck's default ones")
        self._check_limits()
        with budget.limited(graph_elements, graph_nodes):
            self.graph_limits = budget.limits()
        if cluster and self.graph_limits != budget.GraphLimits():
            raise UsageError(
                "no limits of graphs on a cluster", "its workers have the default ones"
            )
        self.oracles: dict[str, Pool] = {}
        self.backends: list[AskableBackend] = []
        self._is_connected = False
        #: Why the backends cannot be used, once that is known.
        self._failure: OpcheckError | None = None
        #: Looks after backends that start, until they are connected.
        self._starting = ExitStack()
        #: Where processes put files, once there are any.
        self._folder: Path | None = None

    def _check_limits(self) -> None:
        """Raise UsageError for limits and jobs that make no sense, or not for these backends."""
        timeout = self.limits.timeout
        if self._jobs < 1:
            raise UsageError(f"jobs is a whole number from 1, got {self._jobs}")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout is a number of seconds above 0, got {timeout:g}")
        if self._cluster_address and self._jobs > 1:
            raise UsageError("no jobs on a cluster", "start as many workers as there shall be")
        is_limited = self._jobs > 1 or self.limits != Limits()
        if self._cluster_address:
            has_object = len(self.addresses) < len(self._given)
        else:
            has_object = is_limited and bool(self._given) and not self.addresses
        if has_object:
            hint = "write it as an address, such as py:my_backend:Class"
            raise UsageError("no limits and jobs for a backend in this process", hint)

    def __enter__(self) -> Self:
        """Start the backends, and wait for none; raises UsageError for all wrong addresses.

        Until they are connected, safe places raise the errors of backends that cannot start.
        """
        with ExitStack() as stack:
            here = [
                InProcess(of_object(backend))
                for backend in self._given
                if not isinstance(backend, str)
            ]
            settings = []
            if self.addresses or not here:
                self._folder = stack.enter_context(guarded_folder())
                settings = workers.chosen_backends(self.addresses, self._folder, self.limits)
            if self._cluster_address is not None:
                from opcheck.cluster import Cluster, Order

                self._cluster = Cluster(self._cluster_address, Order(dict(enumerate(settings))))
                stack.callback(self._cluster.close)
                settings = []
            self._pools = stack.enter_context(workers.started(settings, self._jobs))
            self.backends = [*self._pools]
            if self._given and not self._cluster:
                # In the order in which they were given.
                pools = iter(self._pools)
                in_process = iter(here)
                self.backends = [
                    next(pools) if isinstance(backend, str) else next(in_process)
                    for backend in self._given
                ]
            stack.enter_context(self._starting)
            self._starting.enter_context(interrupt.checking(self._check_starting))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _check_starting(self) -> None:
        """Raise the errors of all backends if one of them is known not to start."""
        try:
            for pool in self._pools:
                pool.look()
        except OpcheckError:
            workers.connect(self._pools)
            raise

    @property
    def infos(self) -> list[BackendInfo]:
        """The backends, once they are connected."""
        return [backend.info for backend in self.backends]

    @property
    def is_on_cluster(self) -> bool:
        """True if the backends are on a cluster's workers."""
        return self._cluster_address is not None

    def connect(self, cases: Sequence[Case] = ()) -> None:
        """Wait for the backends, and for the oracles of `cases`; raise all their errors as one."""
        # Backends that failed once stay unusable; wrong cases concern this call only.
        if self._failure:
            raise self._failure
        if not self.backends and not self._cluster:
            raise UsageError("the session is not open", "with opcheck.Session(…) as session: …")
        workers.check_has_other_backends(cases, len(self._given) or len(DEFAULT))
        new = [case for case in cases if case.expect.oracle not in (None, *self.oracles)]
        if new:
            self._folder = self._folder or self._stack.enter_context(guarded_folder())
            oracles = workers.consulted(
                new, self.addresses, folder=self._folder, limits=self.limits, workers=self._jobs
            )
            self.oracles |= self._stack.enter_context(oracles)
        if self._is_connected:
            return
        self._starting.close()
        try:
            workers.connect(self._pools)
            if self._cluster:
                self.backends = [*self._cluster.connect()]
            counts = Counter(info.address for info in self.infos)
            wrong = sorted(address for address, count in counts.items() if count > 1)
            if wrong:
                hint = "a function is called by its __name__, which may be changed"
                raise UsageError(f"several backends are called {', '.join(wrong)}", hint)
        except OpcheckError as error:
            self._failure = error
            raise
        self._is_connected = True

    def iter_results(
        self, run: scheduler.Scheduler, recorder: Recorder
    ) -> Iterator[LiveResult | Record]:
        """Begin to judge, in `jobs` processes where backends have as many; return the results."""
        with self.within_graph_limits():
            results = self._results(run, recorder)
        return self._each_within_graph_limits(results)

    def within_graph_limits(self) -> AbstractContextManager[None]:
        """Compute models within the session's limits meanwhile."""
        return budget.limited(self.graph_limits.elements, self.graph_limits.nodes)

    def _each_within_graph_limits(self, results: Iterator[Item]) -> Iterator[Item]:
        """Yield results, each computed within the limits, which are not those of the caller."""
        while True:
            with self.within_graph_limits():
                try:
                    result = next(results)
                except StopIteration:
                    return
            yield result

    def _results(
        self, run: scheduler.Scheduler, recorder: Recorder
    ) -> Iterator[LiveResult | Record]:
        """Return the results of a run: on the cluster, here, or in processes that judge."""
        for backend in (*self.backends, *self.oracles.values()):
            backend.forget()  # an earlier run of this session may have been left early
        if self._cluster:
            return run.results(self._cluster.answers(run, recorder))
        if self._jobs == 1 or not interrupt.CAN_FORK or run.observe:
            return iter(run)
        judges = scheduler.JudgePool(run, self._jobs, not_none(self._folder), recorder.record)
        self._stack.callback(judges.close)
        return run.results(judges.answers())

    def close_and_collect_deaths(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """End all processes; return which died while they were idle, and which at their end."""
        self._stack.close()
        return self.deaths()

    def deaths(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return which processes died so far while they were idle, and which at their end."""
        pools = {pool.info.address: pool for pool in self._pools}
        pools |= {f"oracle {address}": pool for address, pool in self.oracles.items()}
        ends: list[tuple[str, Mapping[str, int], Sequence[str]]] = []
        for name, pool in pools.items():
            ends.append((name, pool.idle_deaths, pool.unclean_exits))
        if self._cluster:
            ends += chain.from_iterable(self._cluster.ends.values())
        deaths: list[str] = []
        unclean: list[str] = []
        for name, idle_deaths, unclean_exits in ends:
            for how, count in idle_deaths.items():
                times = f" (×{count})" if count > 1 else ""
                deaths.append(f"{name}: {how}{times}")
            unclean += [f"{name}: when its process was to leave, it {how}" for how in unclean_exits]
        return tuple(deaths), tuple(unclean)


class LiveRun:
    """A run while it lasts, on connected backends."""

    def __init__(self, session: Session, request: Request) -> None:
        self.request = request
        self._session = session
        #: Wraps the questions to a backend, to see its answers.
        self.observe: Callable[[scheduler.Rounds], scheduler.Rounds] | None = None
        self.recorder = Recorder(request.cases, [info.address for info in session.infos])
        limits = session.limits
        # Those that can change a verdict.
        options = {
            "timeout": f"{limits.timeout:g} s" if limits.timeout else None,
            "memory-limit": limits.memory,
            "repeat": str(request.repeat) if request.repeat > 1 else None,
            "require-reproducible": "yes" if request.require_reproducible else None,
            UNEXPECTED_PASSES: ALLOWED if request.gate.lenient else None,
        }
        graphs = session.graph_limits
        usual = budget.GraphLimits()
        if graphs.elements != usual.elements:
            options["graph-elements"] = str(graphs.elements)
        if graphs.nodes != usual.nodes:
            options["graph-nodes"] = str(graphs.nodes)
        oracles = {pool.info.address: pool.info for pool in session.oracles.values()}
        self.header = Header(
            environment=workers.environment(
                kinds={info.kind for info in session.infos},
                operators={case.op.name for case in request.asked},
            ),
            backends=tuple(session.infos),
            suite=self.recorder.suite,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            cases=len(request.asked),
            known=request.shipped_ledgers,
            ledgers={ledger.file: ledger.digest for ledger in request.gate.ledgers},
            shard=request.shard,
            selection=request.selection,
            level=request.level,
            paths=request.paths,
            strict=request.strict,
            require_supported=request.require_supported,
            named=session.is_named,
            options={name: value for name, value in options.items() if value},
            oracles=tuple(oracles.values()),
        )

    def results(
        self, is_shown: Callable[[LiveResult | Record], bool] | None = None
    ) -> Iterator[Record]:
        """Begin, and return all results in order.

        Args:
            is_shown: True for a result whose cause is to be found; by default for failures.
        """
        request = self.request
        session = self._session
        red = reds_of(self.header)

        def is_red(result: LiveResult | Record) -> bool:
            return is_failure(result, red)

        self._began = time.monotonic()
        has_shipped_cases = any(case.source.shipped for case in request.asked)
        self._judging = scheduler.Scheduler(
            cases=request.asked,
            backends=session.backends,
            ledgers=shipped_ledgers() if request.shipped_ledgers and has_shipped_cases else (),
            is_unexplained=is_shown or is_red,
            oracles=session.oracles,
            gate=request.gate,
            times=request.repeat,
            reproducible=request.require_reproducible,
            allowance=Allowance(UNLIMITED) if request.explain_fully else Allowance(),
            observe=self.observe,
            asks_again=not session.is_on_cluster,
        )
        # Not a generator: judging begins now.
        results = session.iter_results(self._judging, self.recorder)
        return (
            result if isinstance(result, Record) else self.recorder.record(result)
            for result in results
        )

    def end(
        self,
        records: Records,
        *,
        stopped: bool = False,
        searched: Callable[[], None] = lambda: None,
    ) -> tuple[Run, list[Record]]:
        """End the session; return the run, and the results whose causes changed at its end.

        Args:
            records: The results, in order.
            stopped: True if the user stopped the run.
            searched: Called twice for each failure while causes are looked for.
        """
        every = records.light
        revised: dict[int, Record] = {}
        try:
            if not stopped:  # the causes that need all results take a while
                revised = self._judging.with_causes(every, searched)
        except KeyboardInterrupt:
            stopped = True
        for number, record in revised.items():
            every[number] = record
        deaths, unclean_exits = self._session.close_and_collect_deaths()
        has_all = len(records) == self.header.results
        ending = Ending(
            complete=has_all and not self.request.too_few,
            seconds=round(time.monotonic() - self._began, 3),
            accidents=deaths,
            partings=unclean_exits,
        )
        code, meaning = status(
            self.header,
            every,
            ending,
            interrupted=stopped and not has_all,
            too_few=self.request.too_few,
        )
        if stopped and has_all and code:
            meaning += "; interrupted before all causes were found"
        elif code and not stopped:
            meaning += "".join(f"; {limit}" for limit in self._limits_of_causes())
        ending = replace(ending, exit_code=int(code), meaning=meaning)
        return Run(self.header, records, ending), [revised[number] for number in sorted(revised)]

    def _limits_of_causes(self) -> Iterator[str]:
        """Yield what likely causes do not rest on: mistakes not tried, backends not asked again."""
        count = self._judging.untried
        if count:
            failures = f"{count:,} failure{'' if count == 1 else 's'}"
            yield f"no time to compare {failures} with every known mistake (--explain full does)"
        if self._judging.not_asked:
            names = ", ".join(self._judging.not_asked)
            yield f"not asked about its likely causes: {names} has answers to these cases only"

    def status(self, records: Records) -> tuple[Exit, str]:
        """Return the exit code that these results mean so far, and its meaning."""
        deaths, unclean_exits = self._session.deaths()
        is_cut_short = len(records) < self.header.results
        ending = Ending(not is_cut_short, accidents=deaths, partings=unclean_exits)
        return status(self.header, records.light, ending, cut_short=is_cut_short)
