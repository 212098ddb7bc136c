"""How backends compare over all cases together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from opcheck.model.timing import Timed
from opcheck.timing.ratios import ratio, student

#: Fewer cases stand for no others.
LEAST = 3
#: The ends of an interval that says something are no further apart than this factor.
SPAN = 10


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a backend's ratios to the baseline.

    `cases` are those it is taken over, `of` all there were. The interval of 95 % is about cases
    like these: how far the mean moves with the choice of them, not how well each was measured. It
    is boundless where it would span more than a factor of `SPAN`, which says nothing.
    """

    backend: str
    value: float
    low: float
    high: float
    cases: int
    of: int


def means(timed: Sequence[Timed], base: str) -> tuple[Mean, ...]:
    """A mean for each backend but `base`, in order, over the cases that all of them have times for.

    Over others the means would be about different work. A backend without any time has no mean, and
    takes none from the others. Fewer than `LEAST` cases have none.
    """
    found = {backend: _logs(timed, backend, base) for backend in _backends(timed)}
    found = {backend: logs for backend, logs in found.items() if logs and backend != base}
    common = [
        number for number in range(len(timed)) if all(number in logs for logs in found.values())
    ]
    if len(common) < LEAST:
        return ()
    return tuple(
        _mean(backend, [logs[number] for number in common], len(timed))
        for backend, logs in found.items()
    )


def _backends(timed: Sequence[Timed]) -> list[str]:
    return list(dict.fromkeys(timing.backend for one in timed for timing in one.timings))


def _logs(timed: Sequence[Timed], backend: str, base: str) -> dict[int, float]:
    """The logarithms of its ratios, by the number of the case."""
    logs = {}
    for number, one in enumerate(timed):
        mine, other = one.timing(backend), one.timing(base)
        found = ratio(mine, other) if mine and other else None
        if found:
            logs[number] = math.log(found.value)
    return logs


def _mean(backend: str, logs: Sequence[float], of: int) -> Mean:
    # Student's: a handful of cases has no tails that a bootstrap could draw from.
    low, high = student(logs)
    if high - low > math.log(SPAN):
        low, high = -math.inf, math.inf
    return Mean(backend, math.exp(fmean(logs)), math.exp(low), math.exp(high), len(logs), of)
