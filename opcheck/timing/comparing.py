"""Changes between two runs at different times, and the gate against regressions.

Samples of two runs are not paired, and machines change between runs: on a small virtual machine
all rows of a run are off by 1–2 %, sometimes 3 %, and one row by 4 % or more in one of ten runs.

- Rows are measured relative to two rulers timed in the same rounds: a fixed piece of work, which
  follows the processor's speed, and a mix of that and a copy of as many bytes, weighted by the part
  of the row's time that the copy takes, which bounds the influence of memory. (The copy alone moves
  by 10 % or more in one of ten runs.) The ruler that shows less change decides.
- Welch's test over processes asks if a row surely changed by more than a limit.
- A build that is slower altogether also shows in the mean of a backend's rows, by process.
- All p-values are adjusted together by Benjamini and Hochberg's method. Where nothing changed, the
  chance of any false alarm in a run stays below 5 %, as with Holm's, and more slow rows are found.

`benchmarks/alarms.py` measures how often that is wrong; docs/timings.md has the results. Backends
of one run are compared in the same rounds, and need none of this: see `compare_backends`.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from opcheck.model.timing import Sample, Timed, Timing
from opcheck.timing.ratios import LIMIT, Word, medians, pairs, ratio, student

#: "not slower": it may be faster.
Verdict = Literal[Word, "not slower"]
#: The default of the change that a gate allows.
USUAL = 0.05
#: The least such change between runs, which are 1–2 % off without any reason in the build.
FINEST = 0.03
#: The least within a run, whose ratios are measured to this precision.
FINEST_WITHIN = LIMIT
#: The chance of any false alarm in a run.
ALARM = 0.05
#: The case with its type, shapes and digest, without which a time means nothing, and the backend.
_Row = tuple[str, str, str, str, str]
#: Logarithms of what processes show, by their number: in the old run and in the new one.
_Logs = tuple[dict[int, float], dict[int, float]]


@dataclass(frozen=True)
class TimingChange:
    """The seconds of a backend for a case in the new run over those in the old one.

    `case` "" stands for all cases, as a geometric mean. `ratio` is relative to the ruler that gives
    the one nearer to 1; `low` and `high` span the 95 % intervals of both. `p`, adjusted for all
    rows, is the chance of that if the change is within the limit; NaN within one run. "slower" and
    "faster" surely changed by more than the limit, "same" and "not slower" surely did not.
    """

    case: str
    backend: str
    ratio: float
    low: float
    high: float
    p: float = math.nan
    verdict: Verdict = "unclear"


@dataclass(frozen=True)
class Missing:
    """A row that cannot be compared, and `why`; it `lacks` something in "old", "new" or "both"."""

    case: str
    backend: str
    lacks: str
    why: str


@dataclass(frozen=True)
class Compared:
    """Two runs, or backends of one: every row is in one of the first two, in the run's order.

    `together` are the changes of all cases of a backend, where it has several. Verdicts are about
    a change by more than `beyond`: 0.05 stands for 5 %.
    """

    changes: tuple[TimingChange, ...]
    missing: tuple[Missing, ...]
    together: tuple[TimingChange, ...] = ()
    beyond: float = USUAL

    @property
    def unclear(self) -> int:
        """Number of rows for which it is unclear if they are slower by more than `beyond`."""
        unclear = sum(change.verdict == "unclear" for change in self.changes)
        return unclear + sum(one.lacks != "new" for one in self.missing)

    @property
    def is_decided(self) -> bool:
        """Return True if something is known of one row, or of all of them together."""
        return any(one.verdict != "unclear" for one in (*self.changes, *self.together))


def compare_runs(old: Sequence[Timed], new: Sequence[Timed], beyond: float = USUAL) -> Compared:
    """Return changes by more than `beyond`, at least `FINEST`, of each case on each backend."""
    before, after = dict(_rows(old)), dict(_rows(new))
    found = [_row(row, before, after) for row in {**after, **before}]
    both = [one for one in found if isinstance(one, _Both)]
    several = _together(both)
    changes = [_change(one, beyond) for one in (*both, *several)]
    if changes:
        from scipy import stats

        adjusted = stats.false_discovery_control([one.p for one in changes])
        changes = [replace(one, p=float(p)) for one, p in zip(changes, adjusted, strict=True)]
        changes = [_called(one, beyond, is_clear=one.p <= ALARM) for one in changes]
    missing = tuple(one for one in found if isinstance(one, Missing))
    return Compared(tuple(changes[: len(both)]), missing, tuple(changes[len(both) :]), beyond)


def compare_backends(rows: Sequence[Timed], base: str, beyond: float = USUAL) -> Compared:
    """Compare each case on each backend but `base` with `base` in the same rounds.

    Rows are judged by the intervals of their ratios, backends by Student's over process means.
    """
    found: list[TimingChange] = []
    missing: list[Missing] = []
    logs: dict[str, list[dict[int, float]]] = {}
    for row in rows:
        old = row.timing(base)
        for new in row.timings:
            if old is None or new is old:
                continue
            if one := ratio(new, old):
                found.append(TimingChange(row.case, new.backend, one.value, one.low, one.high))
                logs.setdefault(new.backend, []).append(medians(pairs(new.samples, old.samples)))
            else:
                lacks = {(1, 0): "new", (0, 1): "old"}
                has = bool(old.samples), bool(new.samples)
                why = old.why_not or new.why_not or "no round in common"
                missing.append(Missing(row.case, new.backend, lacks.get(has, "both"), why))
    several = len(found)
    for backend, its in logs.items():
        mean = [*_mean(its).values()]
        if len(its) > 1 and len(mean) > 1:
            value, low, high = map(math.exp, (fmean(mean), *student(mean)))
            found.append(TimingChange("", backend, value, low, high))
    low, high = 1 / (1 + beyond), 1 + beyond
    found = [_called(one, beyond, is_clear=one.low > high or one.high < low) for one in found]
    return Compared(tuple(found[:several]), tuple(missing), tuple(found[several:]), beyond)


def _rows(run: Iterable[Timed]) -> Iterator[tuple[_Row, Timed]]:
    for one in run:
        for timing in one.timings:
            yield (one.case, one.dtype, one.shapes, one.digest, timing.backend), one


def _timing(row: _Row, run: Mapping[_Row, Timed]) -> tuple[Timed, Timing] | str:
    """Return the timing of a row in a run, or why there is none."""
    if row not in run:
        if any(other[:-1] == row[:-1] for other in run):
            return "no such backend"
        same = any(case == row[0] for case, *_ in run)
        return "of another type, shape or content" if same else "no such case"
    timed = run[row]
    timing = timed.timing(row[-1])
    assert timing
    if not timing.samples:
        return timing.why_not or "no samples"
    if not pairs(timing.samples, timed.yardstick):
        return "nothing to hold it against"
    return timed, timing


@dataclass(frozen=True)
class _Both:
    case: str
    backend: str
    logs: tuple[_Logs, ...]


def _row(row: _Row, before: Mapping[_Row, Timed], after: Mapping[_Row, Timed]) -> _Both | Missing:
    old, new = _timing(row, before), _timing(row, after)
    case, backend = row[0], row[-1]
    if isinstance(old, str) or isinstance(new, str):
        lacks = {run: why for run, why in (("old", old), ("new", new)) if isinstance(why, str)}
        why = "; ".join(dict.fromkeys(lacks.values()))
        return Missing(case, backend, "both" if len(lacks) == 2 else next(iter(lacks)), why)
    (then, was), (today, now) = old, new
    company = [{one.backend for one in row.timings if one.samples} for row in (then, today)]
    if company[0] != company[1]:
        return Missing(case, backend, "both", "timed next to other backends")
    work = _held(was, then.yardstick), _held(now, today.yardstick)
    copy = _held(was, then.copy), _held(now, today.copy)
    mixed = _mixed(work, copy) if all(copy) else copy
    return _Both(case, backend, (work, mixed) if all(mixed) else (work,))


def _held(timing: Timing, beside: Sequence[Sample]) -> dict[int, float]:
    return medians(pairs(timing.samples, beside))


def _mixed(work: _Logs, copy: _Logs) -> _Logs:
    """Return logarithms relative to a mix of both rulers, the copy weighted by its part."""
    part = min(1.0, math.exp(-fmean(fmean(run.values()) for run in copy)))
    old, new = (
        {one: (1 - part) * logs[one] + part * beside[one] for one in logs if one in beside}
        for logs, beside in zip(work, copy, strict=True)
    )
    return old, new


def _together(rows: Sequence[_Both]) -> list[_Both]:
    """Return the mean of all rows of each backend, over processes that are in all of them."""
    found = []
    for backend in dict.fromkeys(row.backend for row in rows):
        mine = [row.logs for row in rows if row.backend == backend]
        # Of each ruler that all of them have.
        pairs = (zip(*ruler, strict=True) for ruler in zip(*mine, strict=False))
        logs = tuple((_mean(old), _mean(new)) for old, new in pairs)
        if len(mine) > 1 and all(old and new for old, new in logs):
            found.append(_Both("", backend, logs))
    return found


def _mean(rows: Sequence[dict[int, float]]) -> dict[int, float]:
    common = set.intersection(*map(set, rows))
    return {worker: fmean(row[worker] for row in rows) for worker in sorted(common)}


def _change(row: _Both, beyond: float) -> TimingChange:
    zone = math.log1p(beyond)
    seen = [_welch([*old.values()], [*new.values()], zone) for old, new in row.logs]
    shifts, lows, highs, slower, faster = zip(*seen, strict=True)
    p = min(1.0, 2 * min(max(slower), max(faster)))
    value, low, high = map(math.exp, (min(shifts, key=abs), min(lows), max(highs)))
    return TimingChange(row.case, row.backend, value, low, high, p)


def _welch(old: Sequence[float], new: Sequence[float], zone: float) -> tuple[float, ...]:
    """Return the logarithm of a slowdown, its interval, and p-values of more than `zone`."""
    shift = fmean(new) - fmean(old)
    if min(len(old), len(new)) < 2:
        return shift, -math.inf, math.inf, 1.0, 1.0
    import numpy as np
    from scipy import stats

    # Welch's test of the part of a change beyond the zone, at either end of it.
    left = np.array(new)[:, None] - [zone, -zone]
    with warnings.catch_warnings():
        # SciPy warns of samples without any noise.
        warnings.simplefilter("ignore", RuntimeWarning)
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
