"""A benchmark as JSON lines: a header, a line a case with all its samples, a footer.

A file without a footer, or with one whose `complete` is false, is that of a benchmark cut short.
Samples are stored as they were taken; every statistic is computed when they are read.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from opcheck.model.timing import Bench, Sample, Timed, Timing
from opcheck.reading.validation import shown
from opcheck.report.files import write_text
from opcheck.report.json_lines import Form, LineFields, Reading, line, made, stored, whole

# Nothing takes less than a picosecond, or more than 30 years.
_Seconds = Annotated[float, Field(ge=1e-12, le=1e9)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class _HeaderFields(LineFields):
    type: Literal["bench"]
    format: Literal[1]
    bench: Bench

    @model_validator(mode="after")
    def _sane(self) -> Self:
        machine = self.bench.machine
        for count in (machine.cores, machine.memory, self.bench.threads, self.bench.workers):
            if not 0 <= count < 1 << 53:
                raise ValueError("cores, memory, threads and workers must be counts")
        return self


class _SamplesFields(LineFields):
    round: list[_Count]
    worker: list[_Count]
    loops: list[Annotated[_Count, Field(ge=1)]]
    seconds: list[_Seconds]
    # Absent from files written before it was measured.
    waited: list[Annotated[float, Field(ge=0, le=1e9)]] = Field(default=[])


def _samples(read: _SamplesFields) -> tuple[Sample, ...]:
    waited = read.waited or [0.0] * len(read.round)
    columns: tuple[list[Any], ...] = read.round, read.worker, read.loops, read.seconds, waited
    if len({*map(len, columns)}) > 1:
        raise ValueError("the columns must be of equal length")
    if len(set(read.round)) < len(read.round):
        raise ValueError("a round must occur once")
    return tuple(map(Sample, *columns))


@dataclass(frozen=True)
class _TimingFooter:
    cases: _Count
    complete: bool


def _timed(fields: Any) -> Timed:
    timed = made(Timed, fields)
    if len({one.backend for one in timed.timings}) < len(timed.timings):
        raise ValueError("a backend must occur once")
    return timed


_SAMPLES = Annotated[_SamplesFields, AfterValidator(_samples)]
_TIMING = stored(
    Timing,
    later=["printed"],
    prepared=tuple[Annotated[float, Field(ge=0, le=1e9)], ...],
    samples=_SAMPLES,
)
_TIMED = stored(
    Timed,
    _timed,
    later=["sweep", "digest"],
    type=Literal["timed"],
    moved=_Count,
    timings=tuple[_TIMING, ...],  # type: ignore[valid-type]
    copy=_SAMPLES,
    yardstick=_SAMPLES,
)


# History of the format:
#   1  header, timed, footer; samples are columns of equal length
FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28
_TimingReading: TypeAlias = Reading[_HeaderFields, Timed | _TimingFooter]
_FORM: Form[_HeaderFields, Timed | _TimingFooter] = Form(
    name="benchmark",
    begins="bench",
    format=FORMAT,
    head=TypeAdapter(_HeaderFields),
    lines={"timed": _TIMED, "footer": stored(_TimingFooter, type=Literal["footer"])},
    footer=_TimingFooter,
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


def lines(bench: Bench, rows: Sequence[Timed], *, complete: bool) -> Iterator[str]:
    """The whole file, line by line; not `complete` where more will come."""
    yield line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})
    for row in rows:
        fields = vars(row) | {"copy": _columns(row.copy), "yardstick": _columns(row.yardstick)}
        fields["timings"] = [vars(one) | {"samples": _columns(one.samples)} for one in row.timings]
        yield line({"type": "timed", **fields})
    yield line({"type": "footer", "cases": len(rows), "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a file that has all of it, or is as it was before; raises Unwritable."""
    write_text(path, "".join(f"{one}\n" for one in lines(bench, rows, complete=complete)))


def read(path: Path) -> Stored:
    """The benchmark in a file; raises CaseFileError with everything that is wrong with it."""
    return whole(path, replace(_FORM, limit=LIMIT, longest=LIMIT), _stored)


def _stored(reading: _TimingReading, stream: BinaryIO) -> Stored | None:
    found = reading.read(stream)
    if found is None:
        return None
    head, lines = found
    rows: dict[str, Timed] = {}
    complete = False
    for number, fields in lines:
        if isinstance(fields, Timed):
            if fields.case in rows:
                reading.add(number, f"the case {shown(fields.case)} occurs twice")
            rows[fields.case] = fields
        else:
            complete = fields.complete
            if fields.cases != len(rows) and not reading.problems:
                told = f"the footer counts {fields.cases:,} cases; there are {len(rows):,}"
                reading.add(number, told, "lines are missing, or were added")
    return Stored(head.bench, tuple(rows.values()), complete)


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {f.name: [getattr(one, f.name) for one in samples] for f in dataclasses.fields(Sample)}
