"""How a verdict looks: a sign that reads without colour, and a tone that colours it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opcheck.model import Record, Verdict
from opcheck.records.status import is_red

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
