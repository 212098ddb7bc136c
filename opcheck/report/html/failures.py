"""The failures of a run, by backend and by what they look like, and which of them are in full."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from opcheck.model import Header, Record, Verdict
from opcheck.records.status import is_failure
from opcheck.report import tally


@dataclass
class Group:
    """Failures of a backend that look alike: what they look like, and in which operators.

    `shown` are the texts of those that are told in full, in their order.
    """

    backend: str
    title: str
    places: Sequence[str]
    failures: Sequence[Record]
    shown: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        """How many are not told in full."""
        return len(self.failures) - len(self.shown)


@dataclass(frozen=True)
class Broken:
    """A backend with failures: what is wrong with it in a few words, and its groups."""

    backend: str
    told: str
    groups: tuple[Group, ...]


def broken(header: Header, records: Sequence[Record], red: Collection[Verdict]) -> list[Broken]:
    """Each backend that fails anything, with its causes first, then what has none."""
    failures = [*_once(record for record in records if is_failure(record, red))]
    wrong = {one.backend: one for one in tally.wrong(header, failures)}
    found = []
    for backend in header.backends:
        mine = [record for record in failures if record.backend == backend.address]
        if not mine:
            continue
        address, groups = backend.address, []
        explained: set[int] = set()
        told = [wrong[address].told] if address in wrong else []
        for cause in wrong[address].causes if address in wrong else ():
            groups.append(Group(address, cause.looks, cause.places, cause.results))
            explained |= {id(record) for record in cause.results}
        rest: dict[Verdict, list[Record]] = {}
        for record in mine:
            if id(record) not in explained:
                rest.setdefault(record.verdict, []).append(record)
        for verdict, some in rest.items():
            places = dict.fromkeys(str(record.op) for record in sorted(some, key=lambda r: r.op))
            groups.append(Group(address, _TITLES.get(verdict, verdict.value), [*places], some))
            told.append(f"{len(some):,} {verdict.value}")
        found.append(Broken(address, ", ".join(told), tuple(groups)))
    return found


_TITLES = {
    Verdict.DIFFER: "backends that differ, of which nobody knows who is right",
    Verdict.UNEXPECTED_PASS: "right, where a ledger says that they fail",
    Verdict.UNSUPPORTED: "unsupported, which fails this run",
    Verdict.BAD_CASE: "the case itself is wrong",
}


def tell(groups: Sequence[Group], told: Callable[[Record], str], room: int) -> int:
    """Have failures told in full, the first of each group first, as long as there is `room`.

    Returns how many there was none for. `room` is in bytes.
    """
    left = 0
    for group, record in _in_turn(groups):
        if room > 0:
            text = told(record)
            room -= len(text.encode())
        if room > 0:
            group.shown.append(text)
        else:
            left += 1
    return left


def _in_turn(groups: Sequence[Group]) -> Iterator[tuple[Group, Record]]:
    """One of each group, then the second of each, and so on."""
    for row in zip_longest(*(group.failures for group in groups)):
        yield from (pair for pair in zip(groups, row, strict=True) if pair[1] is not None)


def _once(failures: Iterable[Record]) -> Iterator[Record]:
    """A case that is wrong is told once, though all backends meet it."""
    bad: set[tuple[str, str]] = set()
    for record in failures:
        key = record.case, record.reason
        if record.verdict is not Verdict.BAD_CASE or key not in bad:
            yield record
        if record.verdict is Verdict.BAD_CASE:
            bad.add(key)
