"""Rounds of samples, one of each process, in random order; and how many rounds."""

import gc
import hashlib
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from time import monotonic

import numpy as np

from opcheck.backends.isolation.answering import Repeated
from opcheck.backends.isolation.pool import Stopwatch, WorkerLost
from opcheck.backends.offers import about_kind
from opcheck.execution.machine import environment, machine
from opcheck.model import BackendInfo, Elapsed, Measure
from opcheck.model.timing import Bench, Sample
from opcheck.timing.ratios import LOOKS
from opcheck.timing.spread import loops_for, settled


@dataclass(frozen=True)
class Visit:
    """A case measured by one process of each backend, for at most `rounds` and `seconds`."""

    worker: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The amount of measuring.

    The processes of the backends visit all cases in turn. After each number of rounds in `looks`, a
    case whose ratios to `base` are all precise is done. A case takes at most `seconds`, one backend
    at most `share` of that, but each visit has one round at least. A process warms up for at most
    `warm` seconds. `flushed` is the number of bytes touched before every call.
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
    """The backends, the machine and the options of a benchmark."""
    here = environment()
    return Bench(
        opcheck=here.opcheck,
        python=here.python,
        packages=dict(here.packages),
        backends={info.address: info.version for info in infos},
        machine=machine(),
        threads=threads,
        included={info.address: i for info in infos if (i := about_kind(info.kind).included)},
        threads_of={info.address: info.threads for info in infos},
        workers=plan.processes,
        cold=plan.flushed > 0,
        baseline=plan.base,
        warm=plan.warm,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


class Here(Repeated):
    """A piece of work in this process, timed as workers time theirs."""

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time a call, as the mean of `loops` calls."""
        was_on = gc.isenabled()
        gc.disable()
        try:
            return self.elapsed(Measure(loops, flushed))
        finally:
            if was_on:
                gc.enable()


def copying(moved: int) -> Here:
    """A copy that moves so many bytes, half of them read and half written."""
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)
    return Here(lambda: np.copyto(target, source))


def yardstick() -> Here:
    """Do the same work in every run: a hash whose steps no release of a library changes."""
    data = bytes(range(256)) * 1024  # for some tenths of a millisecond
    return Here(lambda: hashlib.blake2b(data).digest())


@dataclass(eq=False)
class Contender:
    """One process that is timed; `lost` is why it ended before the others."""

    process: Stopwatch | Here
    worker: int = 0
    loops: int = 1
    samples: list[Sample] = field(default_factory=list)
    spent: float = 0.0
    lost: str = ""

    def warm_up(self, plan: Plan, first: float = 0.0) -> None:
        """Run until times change no more, and find out how many calls make a sample."""
        # After so long a call it is warm already.
        if first > plan.warm:
            return
        seen: list[float] = []
        loops, until = 1, monotonic() + plan.warm
        while not (settled(seen) or len(seen) == 50 or (seen and monotonic() > until)):
            seconds = self.process.measure(loops, plan.flushed).seconds
            # What was measured with fewer calls in one is not comparable.
            wanted = 1 if plan.flushed else loops_for(seconds)
            seen = [*seen, seconds] if wanted <= 2 * loops else []
            loops = max(loops, wanted)
        self.loops = 1 if plan.flushed else loops_for(min(seen))

    def sample(self, number: int, flushed: int) -> None:
        """Take the sample of a round."""
        start = monotonic()
        mean = self.process.measure(self.loops, flushed)
        self.spent += monotonic() - start
        self.samples.append(Sample(number, self.worker, self.loops, mean.seconds, mean.waited))


def interleave(
    contenders: Sequence[Contender],
    beside: Sequence[Contender],
    plan: Plan,
    visit: Visit,
    first: int,
    chance: random.Random,
    stop: Callable[[], bool],
) -> int:
    """Take the samples of a visit, unless `stop` ends it; the number of the next round.

    The rounds are counted from `first`; those `beside` take part in all of them. A lost process
    takes no further part, nor does one that had its share of the time.
    """
    start, over = monotonic(), 0.0
    active = [*contenders]
    for number in range(first, first + visit.rounds):
        order = [*active, *beside]
        chance.shuffle(order)
        for contender in order:
            try:
                contender.sample(number, plan.flushed)
            except WorkerLost as error:
                contender.lost = str(error)
        slow = [one for one in active if one.spent > plan.share * visit.seconds]
        over += sum(one.spent for one in slow)
        active = [one for one in active if one not in slow and not one.lost]
        if stop() or not active or monotonic() - start - over > visit.seconds:
            return number + 1
    return first + visit.rounds
