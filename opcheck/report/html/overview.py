"""Overview of a run: totals, and a matrix of judged results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opcheck.analysis.status import is_red
from opcheck.dtypes import DTYPES
from opcheck.model import BackendInfo, Header, OpVersion, Record, Verdict
from opcheck.report import plain_text
from opcheck.report.totals import SELF, name_of

#: The dtype of cases that have none, and a row's results of all dtypes.
NONE, ALL = "none", "all"
Tone: TypeAlias = Literal["bad", "red", "warn", "known", "pass", "self", "gap"]

#: The sign and the tone of each, the worst first; what fails the run is red, whatever it is.
SIGNS: Mapping[str, tuple[str, Tone]] = {
    Verdict.BAD_CASE: ("B", "bad"),
    Verdict.CRASH: ("C", "red"),
    Verdict.OOM: ("M", "red"),
    Verdict.TIMEOUT: ("T", "red"),
    Verdict.UNSTABLE: ("S", "red"),
    Verdict.FAIL: ("F", "red"),
    Verdict.DIFFER: ("D", "red"),
    Verdict.ERROR: ("E", "red"),
    Verdict.UNEXPECTED_PASS: ("U", "red"),
    Verdict.NOT_RUN: ("?", "gap"),
    Verdict.WARN: ("W", "warn"),
    Verdict.KNOWN: ("K", "known"),
    Verdict.PASS: ("✓", "pass"),
    SELF: ("≡", "self"),
    Verdict.UNSUPPORTED: ("–", "gap"),
}
_RANKS = {name: rank for rank, name in enumerate(SIGNS)}


@dataclass(frozen=True)
class Total:
    """All results of a backend; `conforming` of those that were `judged` are as they have to be.

    What the engine says of itself is in neither.
    """

    backend: BackendInfo
    counts: tuple[Count, ...]
    conforming: int
    judged: int


@dataclass(frozen=True)
class OverviewRow:
    """Counts of all dtypes, and of each; the first of its operator has `span` rows below."""

    op: OpVersion
    backend: str
    cells: Mapping[str, tuple[Count, ...]]
    span: int


def totals(header: Header, records: Iterable[Record], red: Collection[Verdict]) -> list[Total]:
    """For each backend."""
    by_backend = plain_text.alike(records, lambda record: record.backend)
    without = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)
    found = []
    for backend in header.backends:
        mine = by_backend.get(backend.address, [])
        judged = [one for one in mine if one.verdict not in without and not one.self_check]
        conforming = sum(record.verdict is Verdict.PASS for record in judged)
        found.append(Total(backend, counted(mine, red), conforming, len(judged)))
    return found


def matrix(
    header: Header, records: Sequence[Record], red: Collection[Verdict]
) -> tuple[tuple[str, ...], list[OverviewRow]]:
    """The dtypes, and rows by operator version, with the backends of each in their order."""
    found = plain_text.alike(records, lambda record: (record.op, record.backend))
    dtypes = tuple(sorted({record.dtype or NONE for record in records}, key=_place))
    order = [backend.address for backend in header.backends]
    spans = Counter(op for op, _ in found)
    rows = []
    for op, backend in sorted(found, key=lambda key: (key[0], order.index(key[1]))):
        mine = plain_text.alike(found[op, backend], lambda record: record.dtype or NONE)
        cells = {dtype: counted(mine.get(dtype, ()), red) for dtype in dtypes}
        all_ = counted(found[op, backend], red)
        rows.append(OverviewRow(op, backend, {ALL: all_, **cells}, spans.pop(op, 0)))
    return dtypes, rows


def _place(dtype: str) -> tuple[int, str]:
    """By width and kind; what a newer opcheck knows comes behind, and what has no dtype last."""
    known = list(DTYPES)
    if dtype == NONE:
        return len(known) + 1, ""
    return (known.index(dtype) if dtype in known else len(known)), dtype


@dataclass(frozen=True)
class Count:
    """Number of results with a verdict."""

    name: str
    sign: str
    tone: Tone
    count: int


def counted(records: Iterable[Record], red: Collection[Verdict]) -> tuple[Count, ...]:
    """The verdicts that occur, the worst first; what fails the run is red, whatever it is."""
    found = Counter((name_of(record), is_red(record, red)) for record in records)
    counts = [
        Count(name, SIGNS[name][0], "red" if fails else SIGNS[name][1], count)
        for (name, fails), count in found.items()
    ]
    return tuple(sorted(counts, key=lambda one: (one.tone != "red", _RANKS[one.name])))
