"""What stands above a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from opcheck.backends.offers import included
from opcheck.model import BackendInfo
from opcheck.model.timing import Bench
from opcheck.run.bench.plan import Plan
from opcheck.run.environment import environment
from opcheck.run.machine import machine


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
