"""How much is measured, and what stands above it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from opcheck.backends.offers import included
from opcheck.model import BackendInfo
from opcheck.model.timing import Bench
from opcheck.run.machine import environment, machine
from opcheck.timing.ratios import LOOKS


@dataclass(frozen=True)
class Visit:
    """What one process of each backend does for a case before the next case has its turn.

    No more than `rounds` are measured, and none is begun after so many `seconds`.
    """

    worker: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Every process of the backends visits all cases, one process after the other. After so many
    rounds of a case as `looks` says it is looked whether all its ratios to `base` are precise;
    where one is not, the processes come once more. No more is measured of a case than takes
    `seconds`, of one backend no more than `share` of that, but each visit is of one round at the
    least. No process is warmed up for more than `warm` seconds. Where `flushed` is not 0, so many
    bytes are touched before every call.
    """

    base: str
    processes: int = 5
    looks: tuple[int, ...] = LOOKS
    seconds: float = 20.0
    share: float = 0.5
    warm: float = 0.5
    flushed: int = 0

    def tours(self) -> Iterator[tuple[Visit, ...]]:
        """The visits of a case between one look and the next."""
        for before, look in pairwise((0, *self.looks)):
            rounds = math.ceil((look - before) / self.processes)
            seconds = self.seconds * rounds / self.looks[-1]
            yield tuple(Visit(worker, rounds, seconds) for worker in range(self.processes))


def about(infos: Sequence[BackendInfo], plan: Plan, *, threads: int) -> Bench:
    """What runs, where, and how."""
    here = environment()
    return Bench(
        opcheck=here.opcheck,
        python=here.python,
        packages=dict(here.packages),
        backends={info.address: info.version for info in infos},
        machine=machine(),
        threads=threads,
        included={info.address: said for info in infos if (said := included(info.kind))},
        threads_of={info.address: info.threads for info in infos},
        workers=plan.processes,
        cold=plan.flushed > 0,
        baseline=plan.base,
        warm=plan.warm,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
