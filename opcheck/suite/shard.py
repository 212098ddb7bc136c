"""The cases that a shard takes: shares of a suite that take about equally long.

Which these are depends on the cases alone, and on the seconds of an earlier run where there are
some: every machine finds the same, and each case is in one shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

from opcheck.model import Case

#: What a case takes beside its elements is as long as so many elements take; and in microseconds.
_ELEMENTS, _OVERHEAD = 8192, 2000


def shard(
    cases: Sequence[Case], number: int, total: int, seconds: Mapping[str, float] | None = None
) -> tuple[Case, ...]:
    """The cases of the shard `number` of `total`, the first of which is 1, in their order.

    `seconds` tells how long cases took, by their ids; those it does not know count as much as the
    others do on average. Without any, the size of their inputs tells.
    """
    costs = _measured(cases, seconds) if seconds else [*map(_estimate, cases)]
    # The most expensive first, each to whoever has the least to do. In whole numbers, because sums
    # of others depend on their order.
    loads = [(0, index) for index in range(total)]
    heapify(loads)
    mine = []
    for place in sorted(range(len(cases)), key=lambda place: (-costs[place], place)):
        load, index = loads[0]
        heapreplace(loads, (load + costs[place], index))
        if index == number - 1:
            mine.append(place)
    return tuple(cases[place] for place in sorted(mine))


def _estimate(case: Case) -> int:
    """How long a case takes, in elements."""
    return _ELEMENTS + sum(spec.nbytes // spec.dtype.numpy.itemsize for spec in case.inputs)


def _measured(cases: Sequence[Case], seconds: Mapping[str, float]) -> list[int]:
    """How long cases take, in microseconds."""
    known = {case.id: round(seconds[case.id] * 1e6) for case in cases if case.id in seconds}
    average = sum(known.values()) // max(len(known), 1)
    return [_OVERHEAD + known.get(case.id, average) for case in cases]
