"""The backends of a benchmark: one process each to be judged in, and some to be timed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from opcheck.cli import interrupt

if TYPE_CHECKING:
    from opcheck.backends.isolation.slot import Settings
    from opcheck.run.bench import Entrant

#: What tells the usual libraries how many threads to start.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def with_threads(settings: Settings, threads: int) -> Settings:
    """The backend with so many threads: by its own option if it has one, and by its environment."""
    from opcheck.backends.address import parse
    from opcheck.backends.offers import has_threads

    address = parse(settings.address)
    asked = dict(address.options)
    if threads > 1 and "threads" not in asked and has_threads(address.kind):
        asked["threads"] = str(threads)
        address = replace(address, options=tuple(sorted(asked.items())))
    count = asked.get("threads", str(threads))
    environment = {**dict.fromkeys(_THREADS, count), **settings.environment}
    return replace(settings, address=str(address), environment=environment)


@contextmanager
def entered(settings: Sequence[Settings], processes: int) -> Iterator[list[Entrant]]:
    """The backends, all of them connected."""
    from opcheck.backends.isolation.stopwatch import Stopwatch
    from opcheck.cli.workers import connect, started
    from opcheck.run.bench import Entrant

    with started(settings, 1) as pools, ExitStack() as stack:
        connect(pools)
        watches: list[list[Stopwatch]] = [[] for _ in settings]
        for one, group in zip(settings, watches, strict=True):
            for _ in range(processes):
                group.append(Stopwatch(one))
                stack.callback(group[-1].close)
        for watch in chain.from_iterable(watches):
            watch.connected(interrupt.safe_place)
        pairs = zip(pools, watches, strict=True)
        yield [Entrant(pool, tuple(group)) for pool, group in pairs]
