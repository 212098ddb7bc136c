"""What stands above a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from opcheck.model import BackendInfo
from opcheck.model.timing import Bench
from opcheck.run.bench.plan import Plan
from opcheck.run.environment import environment
from opcheck.run.machine import machine


def about(infos: Sequence[BackendInfo], plan: Plan, *, threads: int, workers: int) -> Bench:
    """What runs, where, and how."""
    here = environment()
    return Bench(
        opcheck=here.opcheck,
        python=here.python,
        packages=dict(here.packages),
        backends={info.address: info.version for info in infos},
        machine=machine(),
        threads=threads,
        workers=workers,
        cold=plan.flushed > 0,
        baseline=plan.base,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
