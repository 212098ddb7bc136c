"""A benchmark as JSON lines: a header, a line a case with all its samples, a footer.

A file without a footer, or with one whose `complete` is false, is that of a benchmark cut short.
Samples are stored as they were taken; every statistic is computed when they are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias

from opcheck.model.timing import Bench, Sample, Timed
from opcheck.reading import Problems
from opcheck.reading.form import shown
from opcheck.report.files import write_text
from opcheck.report.json_lines import Form, Reading, line
from opcheck.report.timing_fields import LINE, FooterFields, HeaderFields, TimedFields

# History of the format:
#   1  header, timed, footer; samples are columns of equal length
FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28
_Reading: TypeAlias = Reading[HeaderFields, TimedFields | FooterFields]
_FORM: Form[HeaderFields, TimedFields | FooterFields] = Form(
    name="benchmark",
    begins="bench",
    format=FORMAT,
    head=HeaderFields,
    lines=LINE,
    types=("timed", "footer"),
    hint="`opcheck bench --save FILE` writes one",
    limit=LIMIT,
    longest=LIMIT,
    may_be_cut_short=False,
)


@dataclass(frozen=True)
class Stored:
    """A benchmark as a file holds it; not `complete` where it was cut short."""

    bench: Bench
    rows: tuple[Timed, ...]
    complete: bool


def header(bench: Bench) -> str:
    """The first line."""
    return line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})


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
            "printed": one.printed,
            "samples": _columns(one.samples),
        }
        for one in row.timings
    ]
    return line({"type": "timed", **fields})


def footer(cases: int, *, complete: bool) -> str:
    """The last line."""
    return line({"type": "footer", "cases": cases, "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a file that has all of it, or is as it was before; not `complete` where more will come.

    Raises Unwritable.
    """
    lines = [header(bench), *map(record, rows), footer(len(rows), complete=complete)]
    write_text(path, "".join(f"{one}\n" for one in lines))


def read(path: Path) -> Stored:
    """The benchmark in a file; raises CaseFileError with everything that is wrong with it."""
    problems = Problems()
    reading = Reading(str(path), replace(_FORM, limit=LIMIT, longest=LIMIT), problems)
    stored = reading.read_file(path, lambda stream: _stored(reading, stream))
    problems.raise_if_any()
    assert stored is not None
    return stored


def _stored(
    reading: Reading[HeaderFields, TimedFields | FooterFields], stream: BinaryIO
) -> Stored | None:
    """What the lines say, None where the first is not ours."""
    found = reading.read(stream)
    if found is None:
        return None
    head, lines = found
    rows: dict[str, Timed] = {}
    end: FooterFields | None = None
    for number, fields in lines:
        if end is not None:
            reading.nothing_may_follow(number)
            break
        if isinstance(fields, TimedFields):
            if fields.case in rows:
                reading.add(number, f"the case {shown(fields.case)} occurs twice")
            rows[fields.case] = fields.timed()
        else:
            end = fields
            if end.cases != len(rows) and not reading.problems:
                told = f"the footer counts {end.cases:,} cases; there are {len(rows):,}"
                reading.add(number, told, "lines are missing, or were added")
    return Stored(head.bench, tuple(rows.values()), complete=end is not None and end.complete)


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {f.name: [getattr(one, f.name) for one in samples] for f in dataclasses.fields(Sample)}
