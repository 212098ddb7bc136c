"""Ratios of one backend's times to another's in the same run, with their certainty.

Only worker processes are independent of each other: samples of one process share its memory layout,
so many of them say no more about another process than a few. Samples of the same round are pairs:
they share the state of the machine, so their ratio is steadier than either.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from opcheck.model.timing import Sample, Timed, Timing

#: A smaller difference is none: the order in which backends take their turn alone makes 0.5 %.
ZONE = 0.01
#: How narrow an interval is to be: plus and minus this.
LIMIT = 0.02
#: Numbers of rounds after which measuring ends if intervals are narrow enough. Few and fixed: each
#: look is one more occasion to stop at an interval that is narrow by luck.
LOOKS = (30, 60, 120)
#: The logarithm of how much longer a backend may take in one process than in others by chance.
LUCK = math.log(2)
#: The fewest cases that have a mean.
LEAST = 3
#: The largest factor between the ends of an interval that says something.
SPAN = 10
Word = Literal["faster", "slower", "same", "unclear"]


@dataclass(frozen=True)
class Pair:
    """The logarithm of one sample over another of the same round, and whose process took it."""

    round: int
    worker: int
    log: float


def pairs(one: Iterable[Sample], base: Iterable[Sample]) -> tuple[Pair, ...]:
    """Pair samples of the same round, by the workers of `one`, in the order of rounds."""
    beside = {sample.round: sample for sample in base}
    both = [(sample, beside[sample.round]) for sample in one if sample.round in beside]
    return tuple(
        Pair(sample.round, sample.worker, math.log(sample.seconds / other.seconds))
        for sample, other in sorted(both, key=lambda both: both[0].round)
    )


def by_worker(pairs: Sequence[Pair]) -> dict[int, tuple[Pair, ...]]:
    """Group pairs by worker."""
    workers = sorted({pair.worker for pair in pairs})
    return {w: tuple(pair for pair in pairs if pair.worker == w) for w in workers}


def medians(pairs: Sequence[Pair]) -> dict[int, float]:
    """Return medians by worker. No means: preempted samples take several times as long."""
    return {w: median(pair.log for pair in group) for w, group in by_worker(pairs).items()}


@dataclass(frozen=True)
class Ratio:
    """The seconds of one backend over those of another, with an interval of 95 %."""

    value: float
    low: float
    high: float


def ratio(one: Timing, base: Timing) -> Ratio | None:
    """Return the median of `one` over that of `base`; None without a round in common.

    So a ratio agrees with the medians next to it. Its interval joins two, of ratios within rounds:

    - Student's t over the medians of processes, which alone sees differences between processes.
      With three of them, one disturbed, it is boundless in practice; so it ends where every process
      would need worse luck than `LUCK`.
    - The sign test's over all rounds, or their range if fewer than six, which assumes nothing about
      noise. Three medians may agree by chance, and stopping at narrow intervals selects that.

    In `benchmarks/simulated.py`, with 9 rounds by 3 processes or 30 to 120 by 5, it covers the
    truth in 95–100 % of runs, and equal backends are called faster or slower in 0–2 %. Three
    processes agree by luck in 12 % of runs: more processes help, rounds do not.
    """
    theirs = pairs(base.samples, one.samples)
    swapped = tuple(Pair(pair.round, pair.worker, -pair.log) for pair in theirs)
    # By the workers of the side that has fewer, should they differ: they are all there is.
    sides = pairs(one.samples, base.samples), swapped
    found = min(sides, key=lambda side: len({pair.worker for pair in side}))
    if not found:
        return None
    from scipy import stats

    units, logs = [*medians(found).values()], sorted(pair.log for pair in found)
    mine, other = (median(one.seconds for one in timing.samples) for timing in (one, base))
    value = math.log(mine / other)
    out = max(0, int(stats.binom.ppf(0.025, len(logs), 0.5)) - 1)
    low, high = -math.inf, math.inf
    if len(units) > 1:
        low, high = student(units)
        low, high = max(low, min(units) - LUCK), min(high, max(units) + LUCK)
    low, high = min(value, low, logs[out]), max(value, high, logs[-1 - out])
    return Ratio(*map(math.exp, (value, low, high)))


def words(ratio: Ratio) -> Word:
    """Return "faster" or "slower" if all of the interval is, by more than `ZONE`.

    "same" if not, and the interval ends within `LIMIT` beyond that zone; anything else is unclear.
    """
    if ratio.high < 1 / (1 + ZONE):
        return "faster"
    if ratio.low > 1 + ZONE:
        return "slower"
    near = 1 + ZONE + LIMIT
    return "same" if 1 / near <= ratio.low and ratio.high <= near else "unclear"


def precise(ratio: Ratio) -> bool:
    """Return True if more rounds are needless; call it only after each of `LOOKS`.

    More rounds do not help where processes differ: the limit may never be reached.
    """
    # Half the width of the interval, as a part of the ratio.
    return ratio.low > 0 and math.sqrt(ratio.high / ratio.low) - 1 <= LIMIT


def student(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of 95 % for the mean of two values or more."""
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return fmean(values) - half, fmean(values) + half


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a backend's ratios to the baseline, over `cases` of all there were.

    The 95 % interval is for the choice of such cases, not for the precision of each; it is
    boundless where it would span more than a factor of `SPAN`.
    """

    backend: str
    value: float
    low: float
    high: float
    cases: int
    of: int


def means(timed: Sequence[Timed], base: str) -> tuple[Mean, ...]:
    """Return a mean for each backend but `base`, in order, over cases that all have times for.

    A backend without times has no mean, and takes none from others; < `LEAST` cases have none.
    """
    backends = dict.fromkeys(timing.backend for one in timed for timing in one.timings)
    found: dict[str, dict[int, float]] = {}
    for backend in backends:
        for number, one in enumerate(timed):
            mine, other = one.timing(backend), one.timing(base)
            if mine and other and backend != base and (seen := ratio(mine, other)):
                found.setdefault(backend, {})[number] = math.log(seen.value)
    common = [n for n in range(len(timed)) if all(n in logs for logs in found.values())]
    if len(common) < LEAST:
        return ()
    averages = []
    for backend, logs in found.items():
        values = [logs[number] for number in common]
        # Student's: a handful of cases has no tails that a bootstrap could draw from.
        low, high = student(values)
        if high - low > math.log(SPAN):
            low, high = -math.inf, math.inf
        value, low, high = map(math.exp, (fmean(values), low, high))
        averages.append(Mean(backend, value, low, high, len(values), len(timed)))
    return tuple(averages)
