"""What a benchmark measures, how much of it, and the processes in which it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from opcheck.backends.address import parse
from opcheck.backends.isolation.guard import guarded_folder
from opcheck.backends.isolation.slot import Settings
from opcheck.backends.isolation.stopwatch import Stopwatch
from opcheck.backends.offers import about_kind
from opcheck.errors import UsageError, did_you_mean
from opcheck.execution.bench.rounds import Plan, about
from opcheck.execution.bench.session import Benchmark, Entrant
from opcheck.execution.machine import beyond_caches
from opcheck.execution.workers import (
    Limits,
    check_company,
    chosen_backends,
    connect,
    consulted,
    started,
)
from opcheck.model import Case
from opcheck.model.timing import Bench

#: What tells the usual libraries how many threads to start.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: A quick look: at most so many seconds a case, so many rounds, and seconds of warming up.
_QUICK_SECONDS, _QUICK_ROUNDS, _QUICK_WARM = 0.7, 9, 0.03
#: Processes of a backend.
_WORKERS, _QUICK_WORKERS = 5, 3


@dataclass(frozen=True)
class Effort:
    """How much is measured: options of `opcheck bench`, None where they are left out.

    `base` is the address of the backend that ratios are relative to, the first by default.
    """

    base: str | None = None
    threads: int = 1
    workers: int | None = None
    seconds: float | None = None
    cold: bool = False
    quick: bool = False

    @property
    def processes(self) -> int:
        """Processes of each backend."""
        return self.workers or (_QUICK_WORKERS if self.quick else _WORKERS)

    def plan(self, base: str) -> Plan:
        """The plan, with ratios to the backend at this address."""
        plan = Plan(base, self.processes, flushed=beyond_caches() if self.cold else 0)
        if self.quick:
            plan = replace(plan, looks=(_QUICK_ROUNDS,), seconds=_QUICK_SECONDS, warm=_QUICK_WARM)
        return replace(plan, seconds=self.seconds) if self.seconds else plan


def why_not(case: Case) -> str:
    """Return why a case cannot be timed, or ""."""
    if case.expect.rejection:
        return "it expects, or admits, a refusal"
    return "a tensor of it has no element" if any(0 in spec.shape for spec in case.inputs) else ""


def with_threads(settings: Settings, threads: int) -> Settings:
    """The backend with so many threads: by its own option if it has one, and by its environment."""
    address = parse(settings.address)
    asked = dict(address.options)
    if threads > 1 and "threads" not in asked and about_kind(address.kind).threads:
        asked["threads"] = str(threads)
        address = replace(address, options=tuple(sorted(asked.items())))
    count = asked.get("threads", str(threads))
    environment = {**dict.fromkeys(_THREADS, count), **settings.environment}
    return replace(settings, address=str(address), environment=environment)


@contextmanager
def entered(
    addresses: Sequence[str],
    cases: Sequence[Case],
    limits: Limits,
    effort: Effort,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Bench, Benchmark]]:
    """A benchmark that can begin, and what stands above it; all backends are connected.

    `meanwhile` is called now and then while they start, and may raise. Raises UsageError and
    BackendUnavailable with everything that is wrong with the backends.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(guarded_folder())
        asked = chosen_backends(addresses, folder, limits)
        settings = [with_threads(one, effort.threads) for one in asked]
        number = _base(effort.base, addresses, [one.address for one in settings])
        check_company(cases, len(settings))
        oracles = stack.enter_context(consulted(cases, addresses, folder, limits, meanwhile))
        pools = stack.enter_context(started(settings, 1))
        connect(pools, meanwhile)
        watches = [[Stopwatch(one) for _ in range(effort.processes)] for one in settings]
        everybody = [watch for group in watches for watch in group]
        for watch in everybody:
            stack.callback(watch.close)
        for watch in everybody:
            watch.connected(meanwhile)
        pairs = zip(pools, watches, strict=True)
        entrants = [Entrant(pool, tuple(group)) for pool, group in pairs]
        plan = effort.plan(entrants[number].judged.info.address)
        infos = [one.judged.info for one in entrants]
        yield about(infos, plan, threads=effort.threads), Benchmark(cases, entrants, plan, oracles)


def _base(wanted: str | None, given: Sequence[str], addresses: Sequence[str]) -> int:
    """The number of the backend that ratios are to, called as the command line does, or in full."""
    names = [*given, *addresses]
    if wanted is None:
        return 0
    if wanted in names:
        return names.index(wanted) % len(addresses)
    hint = did_you_mean(wanted, names) or f"backends: {', '.join(given or addresses)}"
    raise UsageError(f"--base {wanted}: no such backend takes part", hint)
