"""Choose few and cheap columns that together show all that is demanded: a weighted set cover.

Greedy, then pruned. Nothing is drawn and no time is measured, so that every machine chooses the
same columns for the same input.
"""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappushpop
from typing import Generic, TypeVar

Demand = TypeVar("Demand", bound=Hashable)


@dataclass(frozen=True)
class Column(Generic[Demand]):
    """Something that may be chosen, and what it shows.

    `cost` is at least 1. A `fixed` one is chosen whatever it costs; of two columns that show as
    much for as much, a `preferred` one is chosen.
    """

    shows: frozenset[Demand]
    cost: int
    fixed: bool = False
    preferred: bool = False


@dataclass(frozen=True)
class Group(Generic[Demand]):
    """Demands of which at least a `share` must be shown, from 0 to 1."""

    demands: frozenset[Demand]
    share: float = 1.0


def cover(columns: Sequence[Column[Demand]], groups: Sequence[Group[Demand]]) -> tuple[int, ...]:
    """Return the places, in order, of columns that show enough of each of the disjoint groups.

    What no column shows is not demanded.
    """
    reachable = frozenset[Demand]().union(*(column.shows for column in columns))
    demanded = [group.demands & reachable for group in groups]
    # Rounded first: 0.99 of 100 are 99, and not a hair more.
    allowed = [
        len(demands) - math.ceil(round(group.share * len(demands), 6))
        for demands, group in zip(demanded, groups, strict=True)
    ]
    chosen = _greedy(columns, demanded, allowed)
    return tuple(sorted(_pruned(columns, chosen, demanded, allowed)))


def alone(
    columns: Sequence[Column[Demand]], chosen: Collection[int]
) -> dict[int, frozenset[Demand]]:
    """Return, for each of the columns at `chosen` places, what none of the others there shows."""
    counts = Counter(demand for place in chosen for demand in columns[place].shows)
    return {
        place: frozenset(demand for demand in columns[place].shows if counts[demand] == 1)
        for place in chosen
    }


def _greedy(
    columns: Sequence[Column[Demand]], demanded: Sequence[frozenset[Demand]], allowed: Sequence[int]
) -> list[int]:
    """Return places of columns, each the one that showed most that was missing for its cost.

    It ends when at most so many demands of each group are missing as `allowed` says.
    """
    chosen = [place for place, column in enumerate(columns) if column.fixed]
    shown = frozenset[Demand]().union(*(columns[place].shows for place in chosen))

    def missing() -> frozenset[Demand]:
        """Return what is missing of groups of which too much is missing."""
        lists = (demands - shown for demands in demanded)
        short = (those for those, most in zip(lists, allowed, strict=True) if len(those) > most)
        return frozenset[Demand]().union(*short)

    def key(place: int) -> tuple[float, bool, int]:
        """Return a key that is least for the best column; it never becomes less."""
        column = columns[place]
        return -len(column.shows & wanted) / column.cost, not column.preferred, place

    wanted = missing()
    queue = [key(place) for place, column in enumerate(columns) if not column.fixed]
    heapify(queue)
    while wanted:
        first = queue[0]
        current = key(first[-1])
        # Others have only become worse as well.
        if current != first:
            heappushpop(queue, current)
            continue
        heappop(queue)
        chosen.append(first[-1])
        shown |= columns[first[-1]].shows
        wanted = missing()
    return chosen


def _pruned(
    columns: Sequence[Column[Demand]],
    chosen: Sequence[int],
    demanded: Sequence[frozenset[Demand]],
    allowed: Sequence[int],
) -> list[int]:
    """Return `chosen` without columns that later ones made superfluous, the dearest first."""
    counts = Counter(demand for place in chosen for demand in columns[place].shows)
    spare = [
        most - sum(not counts[demand] for demand in demands)
        for demands, most in zip(demanded, allowed, strict=True)
    ]
    kept = {*chosen}

    def key(place: int) -> tuple[int, bool, int]:
        """Return a key that is least for the column that should go first."""
        return -columns[place].cost, columns[place].preferred, -place

    for place in sorted((place for place in chosen if not columns[place].fixed), key=key):
        alone = {demand for demand in columns[place].shows if counts[demand] == 1}
        lost = [len(alone & demands) for demands in demanded]
        if any(many > few for many, few in zip(lost, spare, strict=True)):
            continue
        kept.discard(place)
        counts.subtract(columns[place].shows)
        spare = [few - many for many, few in zip(lost, spare, strict=True)]
    return [*kept]
