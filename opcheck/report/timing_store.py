"""A benchmark in a file of JSON lines: a header, a line for each case, and a footer.

The line of a case has all its samples. Without a footer, or if its `complete` is false, the
benchmark was cut short. Statistics are computed from the samples when they are read.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from opcheck.model.timing import Bench, Machine, Sample, Timed, Timing
from opcheck.reading.validation import shown
from opcheck.report.files import write_text
from opcheck.report.store import Reading, line, stored

# Nothing takes less than a picosecond, or more than 30 years.
_Seconds = Annotated[float, Field(ge=1e-12, le=1e9)]
_Waited = Annotated[float, Field(ge=0, le=1e9)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]


def _samples(**columns: list[Any]) -> tuple[Sample, ...]:
    rounds = columns["round"]
    columns["waited"] = columns.get("waited") or [0.0] * len(rounds)
    if len({*map(len, columns.values())}) > 1:
        raise ValueError("the columns must be of equal length")
    if len(set(rounds)) < len(rounds):
        raise ValueError("a round must occur once")
    return tuple(map(Sample, *(columns[field.name] for field in dataclasses.fields(Sample))))


def _timed(sweep: str = "", **fields: Any) -> Timed:
    """A case of a file; `sweep` stands in those of earlier versions, and says nothing any more."""
    timed = Timed(**fields)
    if len({one.backend for one in timed.timings}) < len(timed.timings):
        raise ValueError("a backend must occur once")
    return timed


FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28


@dataclass(frozen=True)
class Stored:
    """A benchmark in a file; not `complete` if it was cut short."""

    bench: Bench
    rows: tuple[Timed, ...]
    complete: bool


def lines(bench: Bench, rows: Sequence[Timed], *, complete: bool) -> Iterator[str]:
    """The whole file, line by line; not `complete` if more will come."""
    yield line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})
    for row in rows:
        fields = vars(row) | {"copy": _columns(row.copy), "yardstick": _columns(row.yardstick)}
        fields["timings"] = [vars(one) | {"samples": _columns(one.samples)} for one in row.timings]
        yield line({"type": "timed", **fields})
    yield line({"type": "footer", "cases": len(rows), "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a whole file, or leave it as it was; raises Unwritable."""
    write_text(path, "".join(f"{one}\n" for one in lines(bench, rows, complete=complete)))


def read(path: Path) -> Stored:
    """The benchmark in a file; raises CaseFileError."""
    return _BenchReading(path).read()


_Line: TypeAlias = Timed | dict[str, Any]


class _BenchReading(Reading[Bench, _Line, Stored]):
    name = "benchmark"
    hint = "`opcheck bench --save FILE` writes one"
    format = FORMAT
    limit = longest = LIMIT

    @staticmethod
    @cache
    def types() -> Mapping[str, Any]:
        """Classes of the lines by type."""
        columns: dict[str, Any] = dict.fromkeys(("round", "worker"), list[_Count])
        columns |= {"loops": list[Annotated[_Count, Field(ge=1)]]}
        columns |= {"seconds": list[_Seconds], "waited": list[_Waited]}
        samples = stored(Sample, _samples, ["waited"], **columns)
        timing = stored(Timing, later=["printed"], prepared=tuple[_Waited, ...], samples=samples)
        row = {"type": Literal["timed"], "moved": _Count, "copy": samples, "yardstick": samples}
        row |= {"timings": tuple[timing, ...], "sweep": str}  # type: ignore[valid-type]
        machine = stored(Machine, cores=_Count, memory=_Count)
        bench = stored(Bench, later=["warm"], machine=machine, threads=_Count, workers=_Count)
        begin = {"type": Literal["bench"], "format": Literal[1], "bench": bench}
        return {
            "bench": stored(dict, lambda bench: bench, **begin),
            "timed": stored(Timed, _timed, ["sweep", "digest"], **row),
            "footer": stored(dict, type=Literal["footer"], cases=int, complete=bool),
        }

    def use(self, bench: Bench, lines: Iterator[tuple[int, _Line]]) -> Stored:
        """The benchmark of these lines."""
        rows: dict[str, Timed] = {}
        complete = False
        for number, fields in lines:
            if isinstance(fields, Timed):
                if fields.case in rows:
                    self.fail(number, f"the case {shown(fields.case)} occurs twice")
                rows[fields.case] = fields
                continue
            cases, complete = fields["cases"], fields["complete"]
            if cases != len(rows):
                message = f"the footer counts {cases:,} cases; there are {len(rows):,}"
                self.fail(number, message, "lines are missing, or were added")
        return Stored(bench, tuple(rows.values()), complete)


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {f.name: [getattr(one, f.name) for one in samples] for f in dataclasses.fields(Sample)}
