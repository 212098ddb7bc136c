"""How much slower one backend is than another of the same run, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from opcheck.model.timing import Timing
from opcheck.timing.units import Pair, medians, pairs

Word = Literal["faster", "slower", "same", "unclear"]

#: A smaller difference is none: the order in which backends take their turn alone makes 0.5 %.
ZONE = 0.01
#: How narrow an interval is to be: plus and minus this.
LIMIT = 0.02
#: After how many rounds it is looked at whether intervals are narrow enough. Few and fixed: each
#: look is one more occasion to stop at an interval that is narrow by luck.
LOOKS = (30, 60, 120)


@dataclass(frozen=True)
class Ratio:
    """The seconds of one backend over those of another, with an interval of 95 %.

    `pairs` counts the rounds that both took part in, `workers` the processes they were spread over.
    """

    value: float
    low: float
    high: float
    pairs: int
    workers: int

    @property
    def half(self) -> float:
        """Half the width of the interval, as a part of the ratio."""
        return math.sqrt(self.high / self.low) - 1 if self.low else math.inf


def ratio(one: Timing, base: Timing) -> Ratio | None:
    """The median over rounds of `one` over `base`; None where they have no round in common.

    The interval is what two others cover together:

    - Student's t over the medians of the worker processes. It alone knows of what differs between
      processes, about which 200 samples of three processes say no more than three numbers do.
    - The sign test's over all rounds, which assumes nothing about the noise. With three processes
      Student's interval is narrow now and then only because three medians happen to agree. Stopping
      at what is narrow selects just these; noise that the rounds show must not vanish in them.

    Simulated with 3 and 5 processes that differ by 0, 0.5, 1 and 2 %, noise of 1, 2 and 5 %, and 5
    or 20 % of the samples up to three times as long, looked at after `LOOKS`, the interval covers
    the truth in 94–99 % of the runs, and misses a ratio of 1 by more than `ZONE` in 2 % at most.
    Student's alone covers 90–96 %, and of what stops as precise in noise of 5 % 43–70 % if there
    are three processes; a bootstrap over processes and rounds 92 % where three processes differ by
    2 %; Student's over rounds alone is two to four times as wide where samples are preempted, for
    means bear no outliers. Measured on a small virtual machine, one program against itself, this
    one covers 1 in 96 % of 320 rows.

    What remains: three processes that differ by 2 % agree by luck in 12 % of the runs, and what is
    called precise then is wrong nearly as often as right. More processes help, rounds do not.
    """
    found = _fewest(pairs(one.samples, base.samples), pairs(base.samples, one.samples))
    if not found:
        return None
    units, logs = [*medians(found).values()], [pair.log for pair in found]
    (low, high), (least, most) = _over_workers(units), _over_rounds(logs)
    low, high = min(low, least), max(high, most)
    return Ratio(math.exp(median(logs)), math.exp(low), math.exp(high), len(logs), len(units))


def words(ratio: Ratio) -> Word:
    """Faster or slower: all of the interval is, by more than `ZONE`.

    The same: it is not, and nor does the interval reach further than `LIMIT` beyond that zone. So
    an interval as narrow as it is to be and around 1 says the same, and none that admits 5 % does.
    Unclear: anything else.
    """
    if ratio.high < 1 / (1 + ZONE):
        return "faster"
    if ratio.low > 1 + ZONE:
        return "slower"
    near = 1 + ZONE + LIMIT
    return "same" if 1 / near <= ratio.low and ratio.high <= near else "unclear"


def precise(ratio: Ratio, limit: float = LIMIT) -> bool:
    """Whether more rounds are needless: to be asked after each of `LOOKS` only.

    More rounds do not help where processes differ: the limit may never be reached.
    """
    return ratio.half <= limit


def _fewest(mine: Sequence[Pair], theirs: Sequence[Pair]) -> Sequence[Pair]:
    """By the workers of the side that has fewer, should they differ: they are all there is."""
    swapped = [Pair(pair.round, pair.worker, -pair.log) for pair in theirs]
    return min(mine, swapped, key=lambda side: len({pair.worker for pair in side}))


def _over_workers(units: Sequence[float]) -> tuple[float, float]:
    if len(units) < 2:
        return -math.inf, math.inf
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(units) - 1) * stats.sem(units))
    middle = sum(units) / len(units)
    return middle - half, middle + half


def _over_rounds(logs: Sequence[float]) -> tuple[float, float]:
    from scipy import stats

    found = stats.quantile_test(logs, p=0.5).confidence_interval(0.95)
    low, high = float(found.low), float(found.high)
    if math.isnan(low):  # so few that not even all of them together make 95 %
        return -math.inf, math.inf
    return low, high
