"""Timings: samples of all backends in the same rounds, and their baselines."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """The seconds of a call, the mean of `loops` calls one after the other.

    They are without those that it `waited` while other processes had the processors.

    `round` and `worker` are counted from 0. In a round everybody takes one sample, in random order,
    and of a backend with W processes it is number `round` mod W that does.
    """

    round: int
    worker: int
    loops: int
    seconds: float
    waited: float = 0.0


@dataclass(frozen=True)
class Timing:
    """Times of one backend for one case.

    `prepared` are the seconds that each of its processes took to load and compile the model.
    Without samples, `why_not` says why there are none. `printed` is the end of what one of the
    processes printed while samples were taken, which is in their times.
    """

    backend: str
    samples: tuple[Sample, ...] = ()
    prepared: tuple[float, ...] = ()
    why_not: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Timed:
    """One case, timed on all backends.

    `moved` are the bytes that must move at the least: all inputs are read, all outputs written.
    `copy` are samples of copying half as many, which moves as many; `yardstick` are samples of a
    fixed piece of work that is the same in every run, by which stored runs are compared. Both were
    taken in the same rounds, in opcheck's own process. Cases of one `sweep` over sizes have that in
    common, "" stands for a case of none. `digest` tells a case from others that had its id.
    """

    case: str
    op: str
    dtype: str
    shapes: str
    moved: int
    timings: tuple[Timing, ...]
    copy: tuple[Sample, ...]
    yardstick: tuple[Sample, ...]
    sweep: str = ""
    digest: str = ""

    def timing(self, backend: str) -> Timing | None:
        """Of the backend with this address, None where it took no part."""
        return next((one for one in self.timings if one.backend == backend), None)


@dataclass(frozen=True)
class Machine:
    """The machine of a benchmark; "" where the system does not say."""

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
    for, `threads_of` are those that backends say they have, None where one does not tell.
    `included` is what the times of a backend hold beside its own work. `cold` says whether caches
    were emptied before each call, `warm` for how many seconds processes were warmed up at the most.
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

    @property
    def other_threads(self) -> dict[str, int]:
        """The backends that say of their threads another number than they were asked for."""
        told = self.threads_of.items()
        return {one: count for one, count in told if count and count != self.threads}
