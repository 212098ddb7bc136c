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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
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
#: Student's interval ends so far beyond the medians of processes.
T_INTERVAL_CAP = math.log(2)
#: The chance with which intervals miss the truth, and of any false alarm in a run.
_ERROR_RATE = 0.05
Word: TypeAlias = Literal["faster", "slower", "same", "unclear"]
#: A larger part of the time that processes wait for a processor means that others had it.
BUSY = 0.05
#: A larger 90th percentile of samples, over their median, means that the machine was too busy.
NOISY = 1.3
#: Calls before and after that decide if warm-up is over.
_CALLS = 7
#: Warm-up is over when these calls are not faster by more than this factor.
_GAIN = 1.03
#: Fewer cases have no mean: they are too few for an interval.
_FEWEST_CASES = 3
#: The logarithm of the widest interval that a mean is printed with.
_WIDEST = math.log(10)
#: The seconds that a sample takes at least, and at most.
_SHORTEST_SAMPLE = 0.5e-3
_LONGEST_SAMPLE = 1e-3


def logs(samples: Iterable[Sample], base: Iterable[Sample]) -> dict[int, dict[int, float]]:
    """Return logarithms of samples over those of the same rounds, by worker and round."""
    base_seconds = {sample.round: sample.seconds for sample in base}
    by_worker: dict[int, dict[int, float]] = {}
    for sample in samples:
        if sample.round in base_seconds:
            log = math.log(sample.seconds / base_seconds[sample.round])
            by_worker.setdefault(sample.worker, {})[sample.round] = log
    return by_worker


def medians(samples: Iterable[Sample], base: Iterable[Sample]) -> dict[int, float]:
    """Return the median of `logs` of each worker.

    A mean would not do: samples that were preempted take several times as long.
    """
    return {worker: median(rounds.values()) for worker, rounds in logs(samples, base).items()}


@dataclass(frozen=True)
class Ratio:
    """The seconds of one backend over those of another, with an interval of 95 %."""

    value: float
    low: float
    high: float


def ratio(timing: Timing, base: Timing) -> Ratio | None:
    """Return the median of `timing` over that of `base`; None without a round in common.

    So a ratio agrees with the medians next to it. Its interval joins two, of ratios within rounds:

    - Student's t over the medians of processes, which alone sees differences between processes.
      With three of them, one disturbed, it is boundless in practice; so it ends where every process
      would need worse luck than `T_INTERVAL_CAP`.
    - The sign test's over all rounds, or their range if fewer than six, which assumes nothing about
      noise. Three medians may agree by chance, and stopping at narrow intervals selects that.

    `benchmarks/simulated.py` measures how often it covers the truth. Three processes agree by luck
    in 12 % of runs: more processes help, rounds do not.
    """
    by_worker = logs(timing.samples, base.samples)
    if not by_worker:
        return None
    own_median = median(sample.seconds for sample in timing.samples)
    base_median = median(sample.seconds for sample in base.samples)
    value = math.log(own_median / base_median)
    of_processes = _interval_over_processes([median(one.values()) for one in by_worker.values()])
    of_rounds = _sign_interval([log for rounds in by_worker.values() for log in rounds.values()])
    low = min(value, of_processes[0], of_rounds[0])
    high = max(value, of_processes[1], of_rounds[1])
    return Ratio(value=math.exp(value), low=math.exp(low), high=math.exp(high))


def _interval_over_processes(medians: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval, capped; boundless for the median of a single process."""
    if len(medians) == 1:
        return -math.inf, math.inf
    low, high = student(medians)
    return max(low, min(medians) - T_INTERVAL_CAP), min(high, max(medians) + T_INTERVAL_CAP)


def _sign_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the sign test's interval of 95 % for the median of values."""
    from scipy import stats

    ordered = sorted(values)
    left_out = max(0, int(stats.binom.ppf(_ERROR_RATE / 2, len(ordered), 0.5)) - 1)
    return ordered[left_out], ordered[-1 - left_out]


def words(ratio: Ratio) -> Word:
    """Return "faster" or "slower" if all of the interval is, by more than `ZONE`.

    "same" if not, and the interval ends within `LIMIT` beyond that zone; anything else is unclear.
    """
    if ratio.high < 1 / (1 + ZONE):
        return "faster"
    if ratio.low > 1 + ZONE:
        return "slower"
    near = 1 + ZONE + LIMIT
    if 1 / near <= ratio.low and ratio.high <= near:
        return "same"
    return "unclear"


def precise(ratio: Ratio) -> bool:
    """Return True if more rounds are needless; call it only after each of `LOOKS`."""
    # More rounds do not help where processes differ: the limit may never be reached.
    if ratio.low <= 0:
        return False
    half_width = math.sqrt(ratio.high / ratio.low) - 1  # as a part of the ratio
    return half_width <= LIMIT


def student(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of 95 % for the mean of two values or more."""
    from scipy import stats

    quantile = stats.t.ppf(1 - _ERROR_RATE / 2, len(values) - 1)
    half = float(quantile * stats.sem(values))
    mean = fmean(values)
    return mean - half, mean + half


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
    logs_of: dict[str, dict[int, float]] = {}
    for number, row in enumerate(timed):
        baseline = row.timing(base)
        if not baseline:
            continue
        for timing in row.timings:
            own_ratio = None if timing is baseline else ratio(timing, baseline)
            if own_ratio:
                logs_of.setdefault(timing.backend, {})[number] = math.log(own_ratio.value)
    common = [n for n in range(len(timed)) if all(n in logs for logs in logs_of.values())]
    if len(common) < _FEWEST_CASES:
        return ()
    return tuple(
        _mean_of(backend, [logs[number] for number in common], of=len(timed))
        for backend, logs in logs_of.items()
    )


def _mean_of(backend: str, values: Sequence[float], of: int) -> Mean:
    """Return the mean of a backend from the logarithms of its ratios."""
    # Student's: a handful of cases has no tails that a bootstrap could draw from.
    low, high = student(values)
    if high - low > _WIDEST:
        low, high = -math.inf, math.inf
    return Mean(
        value=math.exp(fmean(values)),
        low=math.exp(low),
        high=math.exp(high),
        backend=backend,
        cases=len(values),
        of=of,
    )


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
    return Spread(median=middle, low=low, high=high, tail=tail / middle, waited=waited / taken)


def is_warm(seconds: Sequence[float]) -> bool:
    """Return True if warm-up is over: the last calls are no faster than those before them."""
    # Medians of seven calls each, and a gain of 3 % is none. With 5 % of noise and one of ten calls
    # preempted, that takes 15 calls; 0.1 % is left to gain if warm-up fades in 3 calls, 4 % in 10.
    last = seconds[-_CALLS:]
    before = seconds[-2 * _CALLS : -_CALLS]
    return len(before) == _CALLS and median(last) >= median(before) / _GAIN


def loops_for(seconds: float) -> int:
    """Return how many calls of `seconds` each make a sample of 0.5 to 1 ms, at least one."""
    # Near the geometric middle of both, so that calls may turn out somewhat faster or slower.
    middle = math.sqrt(_SHORTEST_SAMPLE * _LONGEST_SAMPLE)
    return max(1, math.ceil(_SHORTEST_SAMPLE / seconds), round(middle / seconds))


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
    before = _rows(old)
    after = _rows(new)
    both: dict[tuple[str, str], Sequence[_Logs]] = {}
    missing = []
    for row in {**after, **before}:
        case, backend = row[0], row[-1]
        reasons = {"in the old run": _why_not(row, before), "in the new run": _why_not(row, after)}
        if any(reasons.values()):
            missing.append(_missing(case, backend, reasons))
        elif _timed_backends(before[row][0]) != _timed_backends(after[row][0]):
            missing.append(Missing(case, backend, "timed next to other backends"))
        else:
            both[case, backend] = _relative(before[row], after[row])
    changes = [
        _change_between_runs(case, backend, rulers, beyond)
        for (case, backend), rulers in {**both, **_together(both)}.items()
    ]
    if changes:
        from scipy import stats

        adjusted = stats.false_discovery_control([change.p for change in changes])
        changes = [replace(one, p=float(p)) for one, p in zip(changes, adjusted, strict=True)]
    changes = [_with_verdict(one, beyond, is_clear=one.p <= _ERROR_RATE) for one in changes]
    return Compared(
        changes=tuple(changes[: len(both)]),
        missing=tuple(missing),
        together=tuple(changes[len(both) :]),
        beyond=beyond,
    )


def _change_between_runs(
    case: str, backend: str, rulers: Sequence[_Logs], beyond: float
) -> TimingChange:
    """Return a change, with its chance, which is not adjusted yet, and without its verdict."""
    tests = [_welch([*old.values()], [*new.values()], math.log1p(beyond)) for old, new in rulers]
    slower = max(test.slower for test in tests)
    faster = max(test.faster for test in tests)
    nearest = min((test.shift for test in tests), key=abs)
    return TimingChange(
        case=case,
        backend=backend,
        ratio=math.exp(nearest),
        low=math.exp(min(test.low for test in tests)),
        high=math.exp(max(test.high for test in tests)),
        p=min(1.0, 2 * min(slower, faster)),
    )


def compare_backends(rows: Sequence[Timed], base: str, beyond: float = USUAL) -> Compared:
    """Compare each case on each backend but `base` with `base` in the same rounds."""
    # Rows are judged by the intervals of their ratios, backends by Student's over process means.
    changes: list[TimingChange] = []
    missing: list[Missing] = []
    by_backend: dict[str, list[dict[int, float]]] = {}
    for row in rows:
        old = row.timing(base)
        if old is None:
            continue
        for new in row.timings:
            if new is old:
                continue
            own_ratio = ratio(new, old)
            if own_ratio is None:
                reasons = {f"of {base}": _untimed(old), "of the backend itself": _untimed(new)}
                missing.append(_missing(row.case, new.backend, reasons))
                continue
            changes.append(_change_from(row.case, new.backend, own_ratio))
            by_backend.setdefault(new.backend, []).append(medians(new.samples, old.samples))
    changes = [_with_interval_verdict(change, beyond) for change in changes]
    together = [_with_interval_verdict(change, beyond) for change in _over_all_cases(by_backend)]
    return Compared(tuple(changes), tuple(missing), tuple(together), beyond)


def _over_all_cases(by_backend: Mapping[str, list[dict[int, float]]]) -> Iterator[TimingChange]:
    """Yield the mean change of each backend that has several cases and several processes."""
    for backend, of_cases in by_backend.items():
        means = [*_mean(of_cases).values()]
        if len(of_cases) > 1 and len(means) > 1:
            low, high = student(means)
            mean = Ratio(value=math.exp(fmean(means)), low=math.exp(low), high=math.exp(high))
            yield _change_from("", backend, mean)


def _change_from(case: str, backend: str, ratio: Ratio) -> TimingChange:
    return TimingChange(case, backend, ratio=ratio.value, low=ratio.low, high=ratio.high)


def _with_interval_verdict(change: TimingChange, beyond: float) -> TimingChange:
    """Return the change with its verdict by its interval alone."""
    is_clear = change.low > 1 + beyond or change.high < 1 / (1 + beyond)
    return _with_verdict(change, beyond, is_clear=is_clear)


def _rows(run: Iterable[Timed]) -> Mapping[_Row, tuple[Timed, Timing]]:
    return {
        (row.case, row.dtype, row.shapes, row.digest, timing.backend): (row, timing)
        for row in run
        for timing in row.timings
    }


def _untimed(timing: Timing) -> str:
    """Return why a backend has no time, or ""."""
    if timing.samples:
        return ""
    return timing.why_not or "no samples"


def _why_not(row: _Row, run: Mapping[_Row, tuple[Timed, Timing]]) -> str:
    """Return why a row of a run cannot be compared, or ""."""
    if row not in run:
        return "no such case on this backend, or another one of that name"
    timed, timing = run[row]
    if not timing.samples:
        return _untimed(timing)
    if not logs(timing.samples, timed.yardstick):
        return "no fixed work in the same rounds"
    return ""


def _timed_backends(timed: Timed) -> set[str]:
    return {timing.backend for timing in timed.timings if timing.samples}


def _missing(case: str, backend: str, reasons: Mapping[str, str]) -> Missing:
    """Return the row with `reasons`, "" for none, why the old and the new one have no time."""
    old, new = reasons.values()
    if old and old == new:
        why = f"no time on either side: {old}"
    else:
        stated = [f"no time {where}: {reason}" for where, reason in reasons.items() if reason]
        why = "; ".join(stated) or "no round in common"
    return Missing(case, backend, why, lost=bool(new and not old))


def _relative(*runs: tuple[Timed, Timing]) -> Sequence[_Logs]:
    """Return a row's medians in the old and the new run, relative to each ruler that both have.

    The first ruler is fixed work; the second a mix of that and of a copy in memory.
    """
    work = [medians(timing.samples, timed.yardstick) for timed, timing in runs]
    copy = [medians(timing.samples, timed.copy) for timed, timing in runs]
    if not all(copy):
        return (work,)
    # The copy is weighted by its part of the row's time.
    part = min(1.0, math.exp(-fmean(fmean(run.values()) for run in copy)))
    mixed = [
        {
            worker: (1 - part) * of_work[worker] + part * of_copy[worker]
            for worker in of_work
            if worker in of_copy
        }
        for of_work, of_copy in zip(work, copy, strict=True)
    ]
    return (work, mixed) if all(mixed) else (work,)


def _together(
    rows: Mapping[tuple[str, str], Sequence[_Logs]],
) -> dict[tuple[str, str], Sequence[_Logs]]:
    """Return the mean of all rows of each backend, over processes that are in all of them."""
    means: dict[tuple[str, str], Sequence[_Logs]] = {}
    for backend, own_rows in group_by(rows, itemgetter(1)).items():
        # Of each ruler that all of them have.
        rulers = zip(*(rows[row] for row in own_rows), strict=False)
        averages = [[_mean(run) for run in zip(*ruler, strict=True)] for ruler in rulers]
        if len(own_rows) > 1 and all(map(all, averages)):
            means["", backend] = averages
    return means


def _mean(rows: Sequence[dict[int, float]]) -> dict[int, float]:
    """Return the mean of several rows for each worker that all of them have."""
    common = set.intersection(*map(set, rows))
    return {worker: fmean(row[worker] for row in rows) for worker in sorted(common)}


class _WelchTest(NamedTuple):
    """The logarithm of a slowdown, its interval of 95 %, and two p-values.

    `slower` and `faster` are the chances of such samples if the slowdown is within the zone.
    """

    shift: float
    low: float = -math.inf
    high: float = math.inf
    slower: float = 1.0
    faster: float = 1.0


def _welch(old: Sequence[float], new: Sequence[float], zone: float) -> _WelchTest:
    """Test by Welch if new and old logarithms differ by more than `zone`."""
    shift = fmean(new) - fmean(old)
    if len(old) == 1 or len(new) == 1:
        return _WelchTest(shift)
    from scipy import stats

    # Welch's test of the part of a change beyond the zone, at either end of it.
    beyond = np.array(new)[:, None] - [zone, -zone]
    # SciPy warns of samples without any noise.
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        test = stats.ttest_ind(beyond, np.array(old)[:, None], equal_var=False)
        interval = test.confidence_interval(1 - _ERROR_RATE)
        slower = stats.t.sf(test.statistic[0], test.df[0])
        faster = stats.t.cdf(test.statistic[1], test.df[1])
    return _WelchTest(
        shift=shift,
        low=interval.low[0] + zone,
        high=interval.high[0] + zone,
        slower=float(slower),
        faster=float(faster),
    )


def _with_verdict(change: TimingChange, beyond: float, *, is_clear: bool) -> TimingChange:
    """Return the change with its verdict; it surely exceeds `beyond` where it `is_clear`."""
    verdict: Verdict
    if is_clear:
        verdict = "slower" if change.ratio > 1 else "faster"
    elif change.high > 1 + beyond:
        verdict = "unclear"
    elif change.low >= 1 / (1 + beyond):
        verdict = "same"
    else:
        verdict = "not slower"
    return replace(change, verdict=verdict)
