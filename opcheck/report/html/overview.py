"""What a run amounts to, at a glance: totals, and a matrix of what was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opcheck.dtypes import DTYPES
from opcheck.model import BackendInfo, Header, OpVersion, Record, Verdict
from opcheck.records.status import is_red

#: The dtype of cases that have none, and a row's results of all dtypes.
NONE, ALL = "none", "all"
Tone: TypeAlias = Literal["bad", "red", "warn", "known", "pass", "self", "gap"]

#: The engine's passes against itself are counted apart, under this name.
SELF = "self"
SIGNS = {
    Verdict.BAD_CASE.value: "B",
    Verdict.CRASH.value: "C",
    Verdict.OOM.value: "M",
    Verdict.TIMEOUT.value: "T",
    Verdict.UNSTABLE.value: "S",
    Verdict.FAIL.value: "F",
    Verdict.DIFFER.value: "D",
    Verdict.ERROR.value: "E",
    Verdict.UNEXPECTED_PASS.value: "U",
    Verdict.NOT_RUN.value: "?",
    Verdict.WARN.value: "W",
    Verdict.KNOWN.value: "K",
    Verdict.PASS.value: "✓",
    SELF: "≡",
    Verdict.UNSUPPORTED.value: "–",
}
#: In the order of `SIGNS`, the worst first.
_RANKS = {name: rank for rank, name in enumerate(SIGNS)}
_TONES: dict[str, Tone] = {
    Verdict.BAD_CASE.value: "bad",
    Verdict.NOT_RUN.value: "gap",
    Verdict.WARN.value: "warn",
    Verdict.KNOWN.value: "known",
    Verdict.PASS.value: "pass",
    SELF: "self",
    Verdict.UNSUPPORTED.value: "gap",
}


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
class Cell:
    """The results of a backend on an operator version and dtype."""

    dtype: str
    counts: tuple[Count, ...]


@dataclass(frozen=True)
class Row:
    """A cell for all dtypes, and one for each; the first of its operator has `span` rows below."""

    op: OpVersion
    backend: str
    cells: tuple[Cell, ...]
    span: int


@dataclass(frozen=True)
class Matrix:
    """Operator version × backend, with the dtypes as columns."""

    dtypes: tuple[str, ...]
    rows: tuple[Row, ...]


def totals(header: Header, records: Iterable[Record], red: Collection[Verdict]) -> list[Total]:
    """For each backend."""
    found: dict[str, list[Record]] = {backend.address: [] for backend in header.backends}
    for record in records:
        found[record.backend].append(record)
    return [_total(backend, found[backend.address], red) for backend in header.backends]


def _total(backend: BackendInfo, records: Sequence[Record], red: Collection[Verdict]) -> Total:
    without = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)
    judged = [one for one in records if one.verdict not in without and not one.self_check]
    conforming = sum(record.verdict is Verdict.PASS for record in judged)
    return Total(backend, counted(records, red), conforming, len(judged))


def matrix(header: Header, records: Iterable[Record], red: Collection[Verdict]) -> Matrix:
    """By operator version, and the backends of each in their order."""
    found: dict[tuple[OpVersion, str], dict[str, list[Record]]] = {}
    for record in records:
        by_dtype = found.setdefault((record.op, record.backend), {})
        by_dtype.setdefault(record.dtype or NONE, []).append(record)
    there = {dtype for by_dtype in found.values() for dtype in by_dtype}
    dtypes = tuple(sorted(there, key=_place))
    order = {backend.address: number for number, backend in enumerate(header.backends)}
    keys = sorted(found, key=lambda key: (key[0], order[key[1]]))
    rows = []
    previous = None
    for op, backend in keys:
        mine = found[op, backend]
        whole = Cell(ALL, counted((one for some in mine.values() for one in some), red))
        cells = [whole, *(Cell(dtype, counted(mine.get(dtype, ()), red)) for dtype in dtypes)]
        span = 0 if op == previous else sum(key[0] == op for key in keys)
        rows.append(Row(op, backend, tuple(cells), span))
        previous = op
    return Matrix(dtypes, tuple(rows))


def _place(dtype: str) -> tuple[int, str]:
    """By width and kind; what a newer opcheck knows comes behind, and what has no dtype last."""
    known = list(DTYPES)
    if dtype == NONE:
        return len(known) + 1, ""
    return (known.index(dtype) if dtype in known else len(known)), dtype


@dataclass(frozen=True)
class Count:
    """How many results have a verdict."""

    name: str
    sign: str
    tone: Tone
    count: int


def name_of(record: Record) -> str:
    """The verdict as it is counted."""
    return SELF if record.self_check and record.verdict is Verdict.PASS else record.verdict.value


def counted(records: Iterable[Record], red: Collection[Verdict]) -> tuple[Count, ...]:
    """The verdicts that occur, the worst first; what fails the run is red, whatever it is."""
    found = Counter((name_of(record), _tone(record, red)) for record in records)
    counts = [Count(name, SIGNS[name], tone, n) for (name, tone), n in found.items()]
    return tuple(sorted(counts, key=lambda one: (one.tone != "red", _RANKS[one.name])))


def _tone(record: Record, red: Collection[Verdict]) -> Tone:
    return "red" if is_red(record, red) else _TONES.get(name_of(record), "red")
