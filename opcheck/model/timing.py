"""Timings: samples of all backends in the same rounds, and their baselines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

#: The name of a case that was made from a shipped one, to be timed.
DERIVED = "derived"


@dataclass(frozen=True)
class Sample:
    """The seconds of a call, the mean of `loops` calls, without those that it only `waited`.

    `round` and `worker` are counted from 0. In a round every backend takes one sample, in random
    order; of its W processes, number `round` mod W does.
    """

    round: int
    worker: int
    loops: int
    seconds: float
    waited: float = 0.0


@dataclass(frozen=True)
class Timing:
    """Times of one backend for one case."""

    backend: str
    samples: tuple[Sample, ...] = ()
    #: Seconds that each of its processes took to load and compile the model.
    prepared: tuple[float, ...] = ()
    #: Why there are no samples.
    why_not: str = ""
    #: The end of the output that a process printed during the samples, which is in their times.
    printed: str = ""


@dataclass(frozen=True)
class Timed:
    """One case, timed on all backends.

    `moved` are the bytes of all inputs and outputs, which must move at the least. `copy` are
    samples of moving as many; `yardstick` are samples of a fixed piece of work, by which stored
    runs are compared. Both were taken in the same rounds, in opcheck's own process. `digest` tells
    a case from others that had its id. `host` is the one of a cluster that timed it.
    """

    case: str
    op: str
    dtype: str
    shapes: str
    moved: int
    timings: tuple[Timing, ...]
    copy: tuple[Sample, ...]
    yardstick: tuple[Sample, ...]
    digest: str = ""
    host: str = ""

    @property
    def is_derived(self) -> bool:
        """True for a case that was made from a shipped one: none was written to be timed."""
        return self.case.partition("/")[2].partition("@")[0] == DERIVED

    def timing(self, backend: str) -> Timing | None:
        """The timing of a backend, None if it took no part."""
        return next((one for one in self.timings if one.backend == backend), None)


#: The rows of a benchmark, a case each.
Rows: TypeAlias = Sequence[Timed]


@dataclass(frozen=True)
class Machine:
    """The machine of a benchmark; "" if the system does not report it."""

    processor: str
    cores: int
    governor: str
    platform: str
    load: float
    memory: int


@dataclass(frozen=True)
class Bench:
    """Header of a benchmark: versions, machine, and options.

    `packages` are versions by distribution, `backends` versions by address. `threads` were asked
    for, `threads_of` are those that backends report, or None. `included` is what else is in the
    times of one. `cold`: caches were emptied before each call. `warm`: seconds of warm-up, at most.
    """

    opcheck: str
    python: str
    packages: dict[str, str]
    backends: dict[str, str]
    machine: Machine
    threads: int
    threads_of: dict[str, int | None]
    included: dict[str, str]
    workers: int
    cold: bool
    baseline: str
    started: str
    warm: float = 0.0
