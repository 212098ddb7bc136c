"""What changed between two runs at different times, and the gate against regressions.

Nothing pairs samples of two runs, and machines change between them. What was measured with one
build on a small virtual machine, 40 runs one after the other: whole rows move by 1–2 %, and by up
to 10 % for some seconds while neighbours use its memory or its wide vector units, all processes of
the row alike. A test over processes alone takes that for a change of the build. Hence:

- What counts is the slowness relative to two things timed in the same rounds: a fixed piece of
  work, which follows the speed of the processor, and a copy of as many bytes, which follows that
  of the memory. Slower is only what is slower than before relative to both; where they disagree,
  the one that shows less change has its say.
- A change has to be more than `DRIFT`. Welch's test asks for that and not for any change at all:
  no run is so good a copy of another that differences of 1 % mean something.
- A build that is slower altogether shows in the mean over all rows of a backend sooner than in any
  of them: of each process the mean of its rows is taken, and the processes of both runs are held
  against each other by the same test.
- P-values of all rows and means are adjusted together by Benjamini and Hochberg's method. Where
  nothing changed that keeps the chance of any false alarm in the whole run below 5 %, as Holm's
  does, and it finds more where many rows changed, as they do when a build is slow.

Of 141 pairs of those runs, each of 16 rows of 5 processes and 30 rounds, 14 show a false alarm if
held against the fixed work only, 10 if held against both, and 2 where the processes of a row take
turns throughout the run, so that each sees another state of the machine. A gate at 5 % closes in 6,
4 and 1 of them. A backend that is 10 % slower in all rows is found in 98–100 %. In simulations with
as much drift so is a single row of 40 in 31–46 of 50, with 60 rounds of 5 processes that differ by
up to 1 %; of 3 processes hardly ever. A gate needs 5.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from opcheck.model.timing import Timed, Timing
from opcheck.timing.ratios import Word
from opcheck.timing.units import medians, pairs

#: What two runs of the same build differ by without any reason in the build: each is 1–2 % off.
DRIFT = 0.03
#: How far an interval may reach for no change to be claimed: a usual gate.
SAME = 0.05
#: The chance of any false alarm in a run.
ALARM = 0.05


@dataclass(frozen=True)
class Change:
    """The seconds of a backend for a case in the new run over those in the old one.

    Of all cases together, as the geometric mean, where `case` is "". `ratio` is the one nearer to 1
    of two, relative to the fixed work and to the copy; `low` and `high` span the intervals of 95 %
    of both, for this row alone. `p`, adjusted for all rows, is how likely so much is if it changed
    by `DRIFT` at the most.
    """

    case: str
    backend: str
    ratio: float
    low: float
    high: float
    p: float
    verdict: Word = "unclear"


@dataclass(frozen=True)
class Missing:
    """A row that cannot be compared: `lacks` says in which run there is nothing, `why` what is so.

    `lacks` is "old", "new" or "both".
    """

    case: str
    backend: str
    lacks: str
    why: str


@dataclass(frozen=True)
class Compared:
    """Two runs: every row of either is in one of the first two, in the order of the new run.

    `together` are the changes of all cases of a backend, where it has several.
    """

    changes: tuple[Change, ...]
    missing: tuple[Missing, ...]
    together: tuple[Change, ...] = ()


def compare_runs(old: Sequence[Timed], new: Sequence[Timed]) -> Compared:
    """Each case on each backend, in the new run and in the old one."""
    before, after = _Run(old), _Run(new)
    rows = list(dict.fromkeys((*_rows(new), *_rows(old))))
    found = [_row(row, before, after) for row in rows]
    both = [one for one in found if isinstance(one, _Both)]
    several = _together(both)
    changes = _judged([_change(one) for one in (*both, *several)])
    missing = tuple(one for one in found if isinstance(one, Missing))
    return Compared(tuple(changes[: len(both)]), missing, tuple(changes[len(both) :]))


def regressions(changes: Iterable[Change], most: float) -> tuple[Change, ...]:
    """The changes to a significantly slower one, by more than `most`: 0.05 stands for 5 %."""
    return tuple(one for one in changes if one.verdict == "slower" and one.ratio > 1 + most)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────

#: The case with its type and shapes, without which a time means nothing, and the backend.
_Row = tuple[str, str, str, str]


class _Run:
    def __init__(self, run: Sequence[Timed]) -> None:
        self.timed = {(one.case, one.dtype, one.shapes): one for one in run}
        self.cases = {one.case for one in run}

    def has(self, row: _Row) -> tuple[Timed, Timing] | str:
        """What was timed of it, or why there is nothing."""
        case, backend = row[0], row[-1]
        timed = self.timed.get(row[:-1])
        if timed is None:
            return "of another type or shape" if case in self.cases else "no such case"
        timing = timed.timing(backend)
        if timing is None:
            return "no such backend"
        if not timing.samples:
            return timing.why_not or "no samples"
        if not pairs(timing.samples, timed.yardstick):
            return "nothing to hold it against"
        return timed, timing


def _rows(run: Iterable[Timed]) -> Iterator[_Row]:
    for one in run:
        for timing in one.timings:
            yield one.case, one.dtype, one.shapes, timing.backend


@dataclass(frozen=True)
class _Both:
    """A row in both runs: the logarithms of its processes relative to each thing they share."""

    case: str
    backend: str
    logs: tuple[tuple[dict[int, float], dict[int, float]], ...]


def _row(row: _Row, before: _Run, after: _Run) -> _Both | Missing:
    old, new = before.has(row), after.has(row)
    case, backend = row[0], row[-1]
    if isinstance(old, str) or isinstance(new, str):
        reasons = {"old": old, "new": new}
        lacks = {run: why for run, why in reasons.items() if isinstance(why, str)}
        why = "; ".join(dict.fromkeys(lacks.values()))
        return Missing(case, backend, "both" if len(lacks) == 2 else next(iter(lacks)), why)
    (then, was), (today, now) = old, new
    beside = (then.yardstick, today.yardstick), (then.copy, today.copy)
    logs = ((pairs(was.samples, one), pairs(now.samples, other)) for one, other in beside)
    return _Both(case, backend, tuple((medians(a), medians(b)) for a, b in logs if a and b))


def _together(rows: Sequence[_Both]) -> list[_Both]:
    """The means of all rows of a backend, of the processes that have a part in all of them."""
    found = []
    for backend in dict.fromkeys(row.backend for row in rows):
        mine = [row.logs for row in rows if row.backend == backend]
        things = min(map(len, mine))
        logs = tuple(
            (_mean([row[n][0] for row in mine]), _mean([row[n][1] for row in mine]))
            for n in range(things)
        )
        if len(mine) > 1 and all(old and new for old, new in logs):
            found.append(_Both("", backend, logs))
    return found


def _mean(rows: Sequence[dict[int, float]]) -> dict[int, float]:
    common = set.intersection(*map(set, rows))
    return {worker: fmean(row[worker] for row in rows) for worker in sorted(common)}


# ── the test ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Seen:
    """How much slower it is relative to one thing, as a logarithm with its interval.

    `slower` and `faster` are how likely so much more or less is if it changed by `DRIFT` at the
    most.
    """

    shift: float
    low: float = -math.inf
    high: float = math.inf
    slower: float = 1.0
    faster: float = 1.0


def _change(row: _Both) -> Change:
    seen = [_seen([*old.values()], [*new.values()]) for old, new in row.logs]
    p = min(max(one.slower for one in seen), max(one.faster for one in seen))
    low, high = min(one.low for one in seen), max(one.high for one in seen)
    least = math.exp(min((one.shift for one in seen), key=abs))
    return Change(row.case, row.backend, least, math.exp(low), math.exp(high), min(1.0, 2 * p))


def _seen(old: Sequence[float], new: Sequence[float]) -> _Seen:
    shift = fmean(new) - fmean(old)
    if min(len(old), len(new)) < 2:
        return _Seen(shift)
    import numpy as np
    from scipy import stats

    zone = math.log1p(DRIFT)
    # Welch's test of what is left of a change beyond the zone, at either end of it.
    beyond = np.array(new)[:, None] - [zone, -zone]
    with warnings.catch_warnings():
        # Without any noise what is seen is so, which is no reason to warn.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.ttest_ind(beyond, np.array(old)[:, None], equal_var=False)
        interval = found.confidence_interval(0.95)
        slower = stats.t.sf(found.statistic[0], found.df[0])
        faster = stats.t.cdf(found.statistic[1], found.df[1])
    low, high = interval.low[0] + zone, interval.high[0] + zone
    return _Seen(shift, float(low), float(high), float(slower), float(faster))


def _judged(changes: Sequence[Change]) -> list[Change]:
    """With p-values adjusted for there being so many, and what that means."""
    if not changes:
        return []
    from scipy import stats

    adjusted = stats.false_discovery_control([one.p for one in changes])
    return [_said(replace(one, p=float(p))) for one, p in zip(changes, adjusted, strict=True)]


def _said(change: Change) -> Change:
    if change.p <= ALARM:
        return replace(change, verdict="slower" if change.ratio > 1 else "faster")
    same = change.low >= 1 / (1 + SAME) and change.high <= 1 + SAME
    return replace(change, verdict="same" if same else "unclear")
