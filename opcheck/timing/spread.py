"""Quality of one backend's samples, and how to sample: warm-up, loops."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from opcheck.model.timing import Sample
from opcheck.timing.ratios import by_worker, pairs

#: A larger part of the time that processes wait for a processor means that others had it.
BUSY = 0.05
#: Growth over a run that is called drift.
DRIFTS = 0.05
#: The fewest samples that can show drift.
_ENOUGH = 15
#: Calls before and after that decide if warm-up is over.
_CALLS = 7


@dataclass(frozen=True)
class Spread:
    """The median of samples, in seconds a call, with its quartiles.

    `tail` is their 90th percentile over the median. `drift` is how much longer they take at the end
    of their processes than at the beginning, as a part: 0 where none is shown. `waited` is the part
    of all the time in which other processes had the processors; no sample holds any of it.
    """

    median: float
    low: float
    high: float
    tail: float
    drift: float
    waited: float = 0.0

    @property
    def busy(self) -> bool:
        """Return True if processes waited for a processor."""
        return self.waited > BUSY

    @property
    def noisy(self) -> bool:
        """Return True if the machine was too busy for good timings."""
        return self.tail > 1.3


def spread(samples: Sequence[Sample], beside: Sequence[Sample]) -> Spread | None:
    """Summarize samples of one backend, next to the yardstick's `beside`; None without samples."""
    if not samples:
        return None
    import numpy as np

    seconds = [sample.seconds for sample in samples]
    low, middle, high, tail = map(float, np.percentile(seconds, (25, 50, 75, 90)))
    waited = sum(sample.loops * sample.waited for sample in samples)
    taken = waited + sum(sample.loops * sample.seconds for sample in samples)
    return Spread(middle, low, high, tail / middle, drift(samples, beside), waited / taken)


def drift(samples: Sequence[Sample], beside: Sequence[Sample]) -> float:
    """Return how much samples grow over a worker's life, relative to others of the same rounds.

    So neither a busy machine nor processes that differ are drift. Growth below `DRIFTS` by Theil's
    and Sen's slope, or not above none with 99.9 %, counts as 0.
    """
    found = pairs(samples, beside)
    if len(found) < _ENOUGH:
        return 0.0
    import numpy as np
    from scipy import stats

    rounds: list[float] = []
    logs: list[float] = []
    life = 0
    for group in by_worker(found).values():
        # Each about its own middle: what workers differ by is no growth.
        middle, level = median(p.round for p in group), median(p.log for p in group)
        rounds += [pair.round - middle for pair in group]
        logs += [pair.log - level for pair in group]
        life = max(life, group[-1].round - group[0].round)
    if not life:
        return 0.0
    with np.errstate(invalid="ignore"):  # where nearly all are equal, the result is NaN
        slope, _, least, _ = stats.theilslopes(logs, rounds, 0.999)
    growth = math.expm1(float(slope) * life)
    return growth if least > 0 and growth >= DRIFTS else 0.0


def settled(seconds: Sequence[float]) -> bool:
    """Return True if warm-up is over: the last calls are no faster than those before them.

    Medians of seven calls each, and a gain of 3 % is none. With 5 % of noise and one of ten calls
    preempted, that takes 15 calls; 0.1 % is left to gain if warm-up fades in 3 calls, 4 % in 10.
    """
    last, before = seconds[-_CALLS:], seconds[-2 * _CALLS : -_CALLS]
    return len(before) == _CALLS and median(last) >= median(before) / 1.03


def loops_for(seconds: float, least: float = 0.5e-3, most: float = 1e-3) -> int:
    """Return how many calls of `seconds` each make a sample of `least` to `most`, at least one.

    Near the middle of both, so that calls may turn out somewhat faster or slower.
    """
    loops = round(math.sqrt(least * most) / seconds)
    return max(1, math.ceil(least / seconds), loops)
