"""Setup of a benchmark: cases, amount of measuring, and processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from opcheck.backends.address import parse
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.pool import Stopwatch
from opcheck.backends.isolation.process import BackendSettings
from opcheck.backends.offers import about_kind
from opcheck.errors import UsageError, did_you_mean
from opcheck.execution import workers
from opcheck.execution.bench.rounds import Plan, about
from opcheck.execution.bench.session import Benchmark
from opcheck.execution.machine import beyond_caches
from opcheck.execution.workers import check_company, chosen_backends, connect, consulted, started
from opcheck.model import Case
from opcheck.model.timing import Bench

#: Environment variables by which the usual libraries choose their number of threads.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Processes of a backend in a quick look.
_QUICK_WORKERS = 3


def planned(workers: int | None, seconds: float | None, *, cold: bool, quick: bool) -> Plan:
    """Return how much is measured, by options of `opcheck bench`; None where one is left out."""
    plan = Plan("", workers or 5, flushed=beyond_caches() if cold else 0)
    if quick:
        plan = replace(
            plan, processes=workers or _QUICK_WORKERS, looks=(9,), seconds=0.7, warm=0.03
        )
    return replace(plan, seconds=seconds) if seconds else plan


def why_not(case: Case) -> str:
    """Return why a case cannot be timed, or ""."""
    if case.expect.rejection:
        return "it expects, or admits, a refusal"
    return "a tensor of it has no element" if any(0 in spec.shape for spec in case.inputs) else ""


def _with_threads(settings: BackendSettings, threads: int) -> BackendSettings:
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
    limits: workers.Limits,
    plan: Plan,
    threads: int,
    base: str | None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Bench, Benchmark]]:
    """A benchmark that can begin, with its header; all backends are connected.

    Each has so many `threads`. Ratios are relative to the backend `base`, the first by default.
    `meanwhile` is called now and then while they start, and may raise. Raises UsageError and
    BackendUnavailable with everything that is wrong with the backends.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(guarded_folder())
        chosen = chosen_backends(addresses, folder, limits)
        settings = [_with_threads(one, threads) for one in chosen]
        number = _base(base, addresses, [one.address for one in settings])
        check_company(cases, len(settings))
        oracles = stack.enter_context(consulted(cases, addresses, folder, limits, meanwhile))
        pools = stack.enter_context(started(settings, 1))
        connect(pools, meanwhile)
        watches = [[Stopwatch(one) for _ in range(plan.processes)] for one in settings]
        everybody = [watch for group in watches for watch in group]
        for watch in everybody:
            stack.callback(watch.close)
        for watch in everybody:
            watch.connected(meanwhile)
        infos = [pool.info for pool in pools]
        plan = replace(plan, base=infos[number].address)
        entrants = [*zip(pools, watches, strict=True)]
        yield about(infos, plan, threads=threads), Benchmark(cases, entrants, plan, oracles)


def _base(wanted: str | None, given: Sequence[str], addresses: Sequence[str]) -> int:
    """The index of the backend that ratios are relative to, by its name or address."""
    names = [*given, *addresses]
    if wanted is None:
        return 0
    if wanted in names:
        return names.index(wanted) % len(addresses)
    hint = did_you_mean(wanted, names) or f"backends: {', '.join(given or addresses)}"
    raise UsageError(f"--base {wanted}: no such backend takes part", hint)
