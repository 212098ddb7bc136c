"""Statistics of timings: ratios between backends, with their certainty, and noise.

Only worker processes are independent of each other: samples of one process share its memory layout,
so many of them say no more about another process than a few. Samples of the same round are pairs:
they share the state of the machine, so their ratio is steadier than either. SciPy takes long to
import, so functions import it.

Then changes between two runs at different times, and the gate against regressions. Their samples
are not paired, and machines change between runs: on a small virtual machine all rows of a run are
off by 1–2 %, sometimes 3 %, and one row by 4 % or more in one of ten runs.

Rows are measured relative to two rulers timed in the same rounds: docs/timings.md has these and the
tests. By Benjamini and Hochberg's method, as by Holm's, the chance of any false alarm where nothing
changed stays below 5 %, and more slow rows are found.

`benchmarks/alarms.py` measures how often that is wrong. Backends of one run need none of this.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from opcheck.grouping import group_by
from opcheck.model.timing import Sample, Timed, Timing

#: A smaller difference is none: the order in which backends take their turn alone makes 0.5 %.
ZONE = 0.01
#: How narrow an interval is to be: plus and minus this, the least change within a run.
LIMIT = 0.02
#: Numbers of rounds after which measuring ends if intervals are narrow enough. Few and fixed: each
#: look is one more occasion to stop at an interval that is narrow by luck.
LOOKS = (30, 60, 120)
#: The logarithm of how much longer a backend may take in one process than in others by chance.
LUCK = math.log(2)
Word: TypeAlias = Literal["faster", "slower", "same", "unclear"]
#: A larger part of the time that processes wait for a processor means that others had it.
BUSY = 0.05
#: A larger 90th percentile of samples, over their median, means that the machine was too busy.
NOISY = 1.3
#: Calls before and after that decide if warm-up is over.
_CALLS = 7


def logs(one: Iterable[Sample], base: Iterable[Sample]) -> dict[int, dict[int, float]]:
    """Return logarithms of samples over those of the same rounds, by worker and round."""
    seconds = {sample.round: sample.seconds for sample in base}
    found: dict[int, dict[int, float]] = {}
    for sample in (sample for sample in one if sample.round in seconds):
        log = math.log(sample.seconds / seconds[sample.round])
        found.setdefault(sample.worker, {})[sample.round] = log
    return found


def medians(one: Iterable[Sample], base: Iterable[Sample]) -> dict[int, float]:
    """Return their medians by worker. No means: preempted samples take several times as long."""
    return {worker: median(rounds.values()) for worker, rounds in logs(one, base).items()}


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

    `benchmarks/simulated.py` measures how often it covers the truth. Three processes agree by luck
    in 12 % of runs: more processes help, rounds do not.
    """
    found = logs(one.samples, base.samples)
    if not found:
        return None
    from scipy import stats

    units = [median(rounds.values()) for rounds in found.values()]
    every = sorted(log for rounds in found.values() for log in rounds.values())
    mine, other = (median(one.seconds for one in timing.samples) for timing in (one, base))
    value = math.log(mine / other)
    out = max(0, int(stats.binom.ppf(0.025, len(every), 0.5)) - 1)
    low, high = -math.inf, math.inf
    if len(units) > 1:
        low, high = student(units)
        low, high = max(low, min(units) - LUCK), min(high, max(units) + LUCK)
    low, high = min(value, low, every[out]), max(value, high, every[-1 - out])
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
    """Return True if more rounds are needless; call it only after each of `LOOKS`."""
    # More rounds do not help where processes differ: the limit may never be reached.
    # Half the width of the interval, as a part of the ratio.
    return ratio.low > 0 and math.sqrt(ratio.high / ratio.low) - 1 <= LIMIT


def student(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of 95 % for the mean of two values or more."""
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return fmean(values) - half, fmean(values) + half


@dataclass(frozen=True)
class Mean(Ratio):
    """The geometric mean of a backend's ratios to the baseline, over `cases` of all there were."""

    # The 95 % interval is for the choice of such cases, not for the precision of each; it is
    # boundless where it would span more than a factor of 10, and say nothing.

    backend: str
    cases: int
    of: int


def means(timed: Sequence[Timed], base: str) -> tuple[Mean, ...]:
    """Return a mean for each backend but `base`, over cases that all have times for.

    A backend without times has no mean, and takes none from others; fewer than 3 cases have none.
    """
    found: dict[str, dict[int, float]] = {}
    for number, one in enumerate(timed):
        baseline = one.timing(base)
        for timing in one.timings:
            if baseline and timing is not baseline and (seen := ratio(timing, baseline)):
                found.setdefault(timing.backend, {})[number] = math.log(seen.value)
    common = [n for n in range(len(timed)) if all(n in logs for logs in found.values())]
    if len(common) < 3:
        return ()
    averages = []
    for backend, logs in found.items():
        values = [logs[number] for number in common]
        # Student's: a handful of cases has no tails that a bootstrap could draw from.
        low, high = student(values)
        ends = (-math.inf, math.inf) if high - low > math.log(10) else (low, high)
        value, low, high = map(math.exp, (fmean(values), *ends))
        averages.append(Mean(value, low, high, backend, len(values), len(timed)))
    return tuple(averages)


class Spread(NamedTuple):
    """The median of samples, in seconds a call, with its quartiles."""

    median: float
    low: float
    high: float
    #: Their 90th percentile over the median.
    tail: float
    #: The part of all the time in which others had the processors; no sample holds any of it.
    waited: float = 0.0


def spread(samples: Sequence[Sample]) -> Spread | None:
    """Summarize samples of one backend; None without samples."""
    if not samples:
        return None
    seconds = [sample.seconds for sample in samples]
    low, middle, high, tail = map(float, np.percentile(seconds, (25, 50, 75, 90)))
    waited = sum(sample.loops * sample.waited for sample in samples)
    taken = waited + sum(sample.loops * sample.seconds for sample in samples)
    return Spread(middle, low, high, tail / middle, waited / taken)


def settled(seconds: Sequence[float]) -> bool:
    """Return True if warm-up is over: the last calls are no faster than those before them."""
    # Medians of seven calls each, and a gain of 3 % is none. With 5 % of noise and one of ten calls
    # preempted, that takes 15 calls; 0.1 % is left to gain if warm-up fades in 3 calls, 4 % in 10.
    last, before = seconds[-_CALLS:], seconds[-2 * _CALLS : -_CALLS]
    return len(before) == _CALLS and median(last) >= median(before) / 1.03


def loops_for(seconds: float) -> int:
    """Return how many calls of `seconds` each make a sample of 0.5 to 1 ms, at least one."""
    # Near the middle of both, so that calls may turn out somewhat faster or slower.
    return max(1, math.ceil(0.5e-3 / seconds), round(math.sqrt(0.5) * 1e-3 / seconds))


#: "not slower": it may be faster.
Verdict: TypeAlias = Literal[Word, "not slower"]
#: The default of the change that a gate allows.
USUAL = 0.05
#: The least such change between runs, which are 1–2 % off without any reason in the build.
FINEST = 0.03
#: The case with its type, shapes and digest, without which a time means nothing, and the backend.
_Row: TypeAlias = tuple[str, str, str, str, str]
#: Logarithms of what processes show, by their number: in the old run and in the new one.
_Logs: TypeAlias = Sequence[dict[int, float]]


@dataclass(frozen=True)
class TimingChange:
    """The seconds of a backend for a case in the new run over those in the old one."""

    #: "" stands for all cases, as a geometric mean.
    case: str
    backend: str
    #: Relative to the ruler that gives the one nearer to 1.
    ratio: float
    #: The 95 % intervals of both span from the one to the other.
    low: float
    high: float
    #: Adjusted for all rows: the chance of that if the change is within the limit; NaN in one run.
    p: float = math.nan
    #: "slower", "faster": surely changed by more than the limit; "same", "not slower": surely not.
    verdict: Verdict = "unclear"


class Missing(NamedTuple):
    """A row that cannot be compared, and `why`; `lost` if it had a time and has none now."""

    case: str
    backend: str
    why: str
    lost: bool = False


class Compared(NamedTuple):
    """Two runs, or backends of one: every row is in one of the first two, in the run's order."""

    changes: tuple[TimingChange, ...]
    missing: tuple[Missing, ...]
    #: The changes of all cases of a backend, where it has several.
    together: tuple[TimingChange, ...] = ()
    #: Verdicts are about a change by more than this: 0.05 stands for 5 %.
    beyond: float = USUAL

    @property
    def unclear(self) -> int:
        """Number of rows for which it is unclear if they are slower by more than `beyond`."""
        unclear = sum(change.verdict == "unclear" for change in self.changes)
        return unclear + sum(not one.lost for one in self.missing)


def compare_runs(old: Sequence[Timed], new: Sequence[Timed], beyond: float = USUAL) -> Compared:
    """Return changes by more than `beyond`, at least `FINEST`, of each case on each backend."""
    before, after = _rows(old), _rows(new)
    both: dict[tuple[str, str], Sequence[_Logs]] = {}
    missing = []
    for row in {**after, **before}:
        case, backend = row[0], row[-1]
        reasons = {"in the old run": _why_not(row, before), "in the new run": _why_not(row, after)}
        if any(reasons.values()):
            missing.append(_missing(case, backend, reasons))
        elif _company(before[row][0]) != _company(after[row][0]):
            missing.append(Missing(case, backend, "timed next to other backends"))
        else:
            both[case, backend] = _relative(before[row], after[row])
    changes = []
    for (case, backend), rulers in {**both, **_together(both)}.items():
        seen = [_welch([*was.values()], [*now.values()], math.log1p(beyond)) for was, now in rulers]
        shifts, lows, highs, slower, faster = zip(*seen, strict=True)
        p = min(1.0, 2 * min(max(slower), max(faster)))
        value, low, high = map(math.exp, (min(shifts, key=abs), min(lows), max(highs)))
        changes.append(TimingChange(case, backend, value, low, high, p))
    if changes:
        from scipy import stats

        adjusted = stats.false_discovery_control([one.p for one in changes])
        changes = [replace(one, p=float(p)) for one, p in zip(changes, adjusted, strict=True)]
    # The chance of any false alarm in a run.
    changes = [_called(one, beyond, is_clear=one.p <= 0.05) for one in changes]
    own, together = changes[: len(both)], changes[len(both) :]
    return Compared(tuple(own), tuple(missing), tuple(together), beyond)


def compare_backends(rows: Sequence[Timed], base: str, beyond: float = USUAL) -> Compared:
    """Compare each case on each backend but `base` with `base` in the same rounds."""
    # Rows are judged by the intervals of their ratios, backends by Student's over process means.
    changes: list[TimingChange] = []
    missing: list[Missing] = []
    by_backend: dict[str, list[dict[int, float]]] = {}
    for row in rows:
        old = row.timing(base)
        for new in row.timings:
            if old is None or new is old:
                continue
            if one := ratio(new, old):
                changes.append(TimingChange(row.case, new.backend, one.value, one.low, one.high))
                by_backend.setdefault(new.backend, []).append(medians(new.samples, old.samples))
            else:
                reasons = {f"of {base}": _untimed(old), "of the backend itself": _untimed(new)}
                missing.append(_missing(row.case, new.backend, reasons))
    several = len(changes)
    for backend, its in by_backend.items():
        mean = [*_mean(its).values()]
        if len(its) > 1 and len(mean) > 1:
            value, low, high = map(math.exp, (fmean(mean), *student(mean)))
            changes.append(TimingChange("", backend, value, low, high))
    low, high = 1 / (1 + beyond), 1 + beyond
    changes = [_called(one, beyond, is_clear=one.low > high or one.high < low) for one in changes]
    return Compared(tuple(changes[:several]), tuple(missing), tuple(changes[several:]), beyond)


def _rows(run: Iterable[Timed]) -> Mapping[_Row, tuple[Timed, Timing]]:
    pairs = ((row, one) for row in run for one in row.timings)
    return {(r.case, r.dtype, r.shapes, r.digest, one.backend): (r, one) for r, one in pairs}


def _untimed(timing: Timing) -> str:
    return "" if timing.samples else timing.why_not or "no samples"


def _why_not(row: _Row, run: Mapping[_Row, tuple[Timed, Timing]]) -> str:
    """Return why a row of a run cannot be compared, or ""."""
    if row not in run:
        return "no such case on this backend, or another one of that name"
    timed, timing = run[row]
    is_relative = logs(timing.samples, timed.yardstick)
    return _untimed(timing) or ("" if is_relative else "no fixed work in the same rounds")


def _company(timed: Timed) -> set[str]:
    return {one.backend for one in timed.timings if one.samples}


def _missing(case: str, backend: str, reasons: Mapping[str, str]) -> Missing:
    """Return the row with `reasons`, "" for none, why the old and the new one have no time."""
    said = [f"no time {where}: {reason}" for where, reason in reasons.items() if reason]
    old, new = reasons.values()
    why = "; ".join(said) or "no round in common"
    return Missing(case, backend, why, lost=bool(new and not old))


def _relative(*runs: tuple[Timed, Timing]) -> Sequence[_Logs]:
    work = [medians(timing.samples, timed.yardstick) for timed, timing in runs]
    copy = [medians(timing.samples, timed.copy) for timed, timing in runs]
    if not all(copy):
        return (work,)
    # Relative to a mix of both rulers, the copy weighted by its part.
    part = min(1.0, math.exp(-fmean(fmean(run.values()) for run in copy)))
    pairs = zip(work, copy, strict=True)
    mixed = [{n: (1 - part) * a[n] + part * b[n] for n in a if n in b} for a, b in pairs]
    return (work, mixed) if all(mixed) else (work,)


def _together(
    rows: Mapping[tuple[str, str], Sequence[_Logs]],
) -> dict[tuple[str, str], Sequence[_Logs]]:
    """Return the mean of all rows of each backend, over processes that are in all of them."""
    found: dict[tuple[str, str], Sequence[_Logs]] = {}
    for backend, its in group_by(rows, lambda row: row[1]).items():
        # Of each ruler that all of them have.
        rulers = zip(*(rows[row] for row in its), strict=False)
        averages = [[_mean(run) for run in zip(*ruler, strict=True)] for ruler in rulers]
        if len(its) > 1 and all(map(all, averages)):
            found["", backend] = averages
    return found


def _mean(rows: Sequence[dict[int, float]]) -> dict[int, float]:
    common = set.intersection(*map(set, rows))
    return {worker: fmean(row[worker] for row in rows) for worker in sorted(common)}


def _welch(old: Sequence[float], new: Sequence[float], zone: float) -> tuple[float, ...]:
    """Return the logarithm of a slowdown, its interval, and p-values of more than `zone`."""
    shift = fmean(new) - fmean(old)
    if min(len(old), len(new)) < 2:
        return shift, -math.inf, math.inf, 1.0, 1.0
    from scipy import stats

    # Welch's test of the part of a change beyond the zone, at either end of it.
    left = np.array(new)[:, None] - [zone, -zone]
    # SciPy warns of samples without any noise.
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        found = stats.ttest_ind(left, np.array(old)[:, None], equal_var=False)
        interval = found.confidence_interval(0.95)
        slower = stats.t.sf(found.statistic[0], found.df[0])
        faster = stats.t.cdf(found.statistic[1], found.df[1])
    return shift, interval.low[0] + zone, interval.high[0] + zone, float(slower), float(faster)


def _called(change: TimingChange, beyond: float, *, is_clear: bool) -> TimingChange:
    """Return the change with its verdict; it surely exceeds `beyond` where it `is_clear`."""
    verdict: Verdict = "same" if change.low >= 1 / (1 + beyond) else "not slower"
    if is_clear:
        verdict = "slower" if change.ratio > 1 else "faster"
    elif change.high > 1 + beyond:
        verdict = "unclear"
    return replace(change, verdict=verdict)
