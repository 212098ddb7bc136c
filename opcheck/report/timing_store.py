"""A benchmark as JSON lines: a header, a line a case with all its samples, a footer.

A file without a footer, or with one whose `complete` is false, is that of a benchmark cut short.
Samples are stored as they were taken; every statistic is computed when they are read.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from opcheck.model.timing import Bench, Sample, Timed
from opcheck.reading import Mark, Problems
from opcheck.reading.form import shown
from opcheck.report.files import write_text
from opcheck.report.timing_fields import (
    LINE,
    FooterFields,
    FormatFields,
    HeaderFields,
    TimedFields,
)

# History of the format:
#   1  header, timed, footer; samples are columns of equal length
FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28
_HINT = "`opcheck bench --save FILE` writes one"
_PART = "if these are two files in one, part them"
_COLUMN = re.compile(r" at line \d+ column (\d+)$")


@dataclass(frozen=True)
class Stored:
    """A benchmark as a file holds it; not `complete` where it was cut short."""

    bench: Bench
    rows: tuple[Timed, ...]
    complete: bool


def header(bench: Bench) -> str:
    """The first line."""
    return _line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})


def record(row: Timed) -> str:
    """The line of one case."""
    fields = {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
    for name in ("copy", "yardstick"):
        fields[name] = _columns(fields[name])
    fields["timings"] = [
        {
            "backend": one.backend,
            "why_not": one.why_not,
            "prepared": one.prepared,
            "samples": _columns(one.samples),
        }
        for one in row.timings
    ]
    return _line({"type": "timed", **fields})


def footer(cases: int, *, complete: bool) -> str:
    """The last line."""
    return _line({"type": "footer", "cases": cases, "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a file that has all of it, or is as it was before; not `complete` where more will come.

    Raises UsageError where it cannot be written.
    """
    lines = [header(bench), *map(record, rows), footer(len(rows), complete=complete)]
    write_text(path, "".join(f"{line}\n" for line in lines))


def read(path: Path) -> Stored:
    """The benchmark in a file; raises CaseFileError with everything that is wrong with it."""
    problems = Problems()
    lines = _lines(path, problems)
    stored = _Reading(str(path), problems).stored(lines) if lines is not None else None
    problems.raise_if_any()
    assert stored is not None
    return stored


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {f.name: [getattr(one, f.name) for one in samples] for f in dataclasses.fields(Sample)}


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


# ── reading ───────────────────────────────────────────────────────────────────────────────────


def _lines(path: Path, problems: Problems) -> list[bytes] | None:
    """The lines of a file; the last is empty unless it was cut short."""
    start = Mark(0, 0)
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        problems.add(str(path), start, f"this file cannot be read: {told}")
        return None
    if not data.strip():
        problems.add(str(path), start, "this file is empty", _HINT)
        return None
    if len(data) > LIMIT:
        problems.add(str(path), start, f"the file is larger than {LIMIT >> 20} MiB")
        return None
    return data.split(b"\n")


@dataclass(frozen=True)
class _Reading:
    """A file as it is read."""

    file: str
    problems: Problems

    def stored(self, lines: Sequence[bytes]) -> Stored | None:
        """What the lines say, None where the first is not ours."""
        bench = self._bench(lines[0], is_last=len(lines) == 1)
        if bench is None:
            return None
        rows: dict[str, Timed] = {}
        end: FooterFields | None = None
        for number, fields in self._records(lines):
            if end is not None:
                self._add(number, "nothing may follow the footer", _PART)
                break
            if isinstance(fields, TimedFields):
                if fields.case in rows:
                    self._add(number, f"the case {shown(fields.case)} occurs twice")
                rows[fields.case] = fields.timed()
            else:
                end = fields
                if end.cases != len(rows) and not self.problems:
                    told = f"the footer counts {end.cases:,} cases; there are {len(rows):,}"
                    self._add(number, told, "lines are missing, or were added")
        return Stored(bench, tuple(rows.values()), complete=end is not None and end.complete)

    def _bench(self, line: bytes, *, is_last: bool) -> Bench | None:
        try:
            version = FormatFields.model_validate_json(line).format
        except ValidationError as error:
            if is_last and _is_no_json(error) and line.startswith(b'{"type":"bench"'):
                self._add(1, "this line is cut short", "nothing can be made of the file")
            else:
                self._add(1, "this is no stored benchmark", _HINT)
            return None
        if version != FORMAT:
            newer = "a newer opcheck reads it" if version > FORMAT else None
            told = f"this file has format {version}; this opcheck reads {FORMAT}"
            self._add(1, told, newer)
            return None
        try:
            return HeaderFields.model_validate_json(line).bench
        except ValidationError as error:
            self._refuse(1, error)
            return None

    def _records(self, lines: Sequence[bytes]) -> Iterator[tuple[int, TimedFields | FooterFields]]:
        """What all lines but the first hold, with their numbers."""
        for number, line in enumerate(lines[1:], start=2):
            if not line.strip():
                continue
            try:
                yield number, LINE.validate_json(line, strict=True)
            except ValidationError as error:
                if number == len(lines) and _is_no_json(error):
                    self._add(number, "this line is cut short", "without it, the rest can be used")
                else:
                    self._refuse(number, error)

    def _refuse(self, number: int, error: ValidationError) -> None:
        """Tell the first thing that is wrong with a line: the others are often due to it."""
        finding = error.errors(include_url=False)[0]
        told, context = str(finding["msg"]), finding.get("ctx", {})
        match finding["type"]:
            case "json_invalid":
                at = _COLUMN.search(told)
                column = int(at[1]) if at else 1
                told = _COLUMN.sub("", told).replace("Invalid JSON", "this is no JSON")
                self.problems.add(self.file, Mark(number, column), told)
            case "union_tag_invalid":
                hint = _PART if context["tag"] == "bench" else "known: 'timed', 'footer'"
                self._add(number, f"no line here is of type {shown(context['tag'])}", hint)
            case "union_tag_not_found":
                self._add(number, "this line has no type")
            case "value_error":
                self._add(number, f"{_spelt(finding['loc'])}{context['error']}")
            case _:
                got = "" if isinstance(finding["input"], dict) else shown(finding["input"])
                told = f"{_spelt(finding['loc'])}{told[0].lower()}{told[1:]}"
                self._add(number, f"{told}, got {got}" if got else told)

    def _add(self, number: int, message: str, hint: str | None = None) -> None:
        self.problems.add(self.file, Mark(number, 1), message, hint)


def _is_no_json(error: ValidationError) -> bool:
    return any(finding["type"] == "json_invalid" for finding in error.errors(include_url=False))


def _spelt(place: Sequence[str | int]) -> str:
    """`timings[0].samples: `, or nothing where the whole line is meant."""
    steps = place[1:] if place[:1] in (("timed",), ("footer",)) else place
    path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in steps)
    return f"{path.removeprefix('.')}: " if path else ""
