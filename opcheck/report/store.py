"""The stream of a run as JSON lines: a header, a record for each result, a footer.

Without a footer, or if its `complete` is false, the run was cut short. NaN, infinities and exact
values are strings: the shortest spelling, and the bits next to it.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from opcheck import model
from opcheck.reading.validation import shown
from opcheck.report.json_lines import Reading, line, stored
from opcheck.report.plain_text import alike, op_record


def _finite_or_spelt(value: Any) -> Any:
    """Read infinity, which JSON lacks, as the store writes it."""
    if value == "inf":
        return math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("infinity must be written as 'inf'")
    return value


# Distances of float64 take 64 bits.
_Count = Annotated[int, Field(ge=0, lt=1 << 64)]
_Bits = Annotated[int, Field(ge=0, le=64)]
_Seconds = Annotated[float, Field(ge=0, le=1e12)]
_Share = Annotated[float, Field(ge=0, allow_inf_nan=True), BeforeValidator(_finite_or_spelt)]
_Time = Annotated[str, AfterValidator(lambda text: datetime.fromisoformat(text) and text)]
_Cells = Annotated[str, StringConstraints(pattern=r"^[.a-zA-Z]{1,64}$")]


def _header(**fields: Any) -> model.Header:
    header = model.Header(**fields)
    if len({backend.address for backend in header.backends}) < len(header.backends):
        raise ValueError("a backend must occur once")
    if header.shard is None and header.cases != header.suite.cases:
        raise ValueError("a run that is no shard must have all cases of its suite")
    if header.cases > header.suite.cases:
        raise ValueError("a run cannot have more cases than its suite")
    if header.shard and not 1 <= header.shard[0] <= header.shard[1]:
        raise ValueError("shard: must be [i, n] with 1 <= i <= n")
    return header


def _picture(**fields: Any) -> model.Picture:
    if len({*map(len, fields["cells"])}) > 1:
        raise ValueError("cells: the rows must be of equal length")
    return model.Picture(**fields)


def _result(domain: str, op: str, since: int, used: Any, unjudged: int, **fields: Any) -> Any:
    version = model.OpVersion(domain, op, since)
    record = model.Record(op=version, self_check=fields.pop("self"), **fields)
    if (used, unjudged) != (record.used, record.unjudged):
        raise ValueError("used and unjudged must be those of the comparisons")
    return record


FORMAT = 3
#: The largest file and the longest line, in bytes: some 500,000 results, and 100 times the longest.
LIMIT, LONGEST = 1 << 30, 1 << 24


def header(run: model.Header) -> str:
    """The first line."""
    return line({"type": "header", "format": FORMAT, **asdict(run)})


def record(result: model.Record) -> str:
    """The line of one result."""
    fields = {"type": "result", **_plain(result)}
    fields["self"] = fields.pop("self_check")
    fields |= op_record(result.op)
    fields |= {"used": _number(result.used), "unjudged": result.unjudged}
    return line(fields, _plain)


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; `asdict` copies all that is in them too, which takes long."""
    fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    is_comparison = isinstance(value, model.ComparisonRecord)
    return fields | ({"used": _number(value.used)} if is_comparison else {})


def footer(
    results: Iterable[model.Record], ending: model.Ending, revised: Iterable[model.Record] = ()
) -> str:
    """The last line: totals, the run's end, and diagnoses `revised` after lines were written."""
    fields = {"type": "footer", "totals": totals(results), **asdict(ending)}
    for one in revised:
        diagnoses = [*map(asdict, one.diagnoses)]
        pair = {"case": one.case, "backend": one.backend, "diagnoses": diagnoses}
        fields.setdefault("revised", []).append(pair)
    return line(fields)


def lines(run: model.Run) -> Iterator[str]:
    """The whole stream; without a footer if the run has no ending."""
    yield header(run.header)
    yield from map(record, run.records)
    if run.ending is not None:
        yield footer(run.records, run.ending)


def totals(results: Iterable[model.Record]) -> dict[str, dict[str, int]]:
    """Return the number of results by backend and verdict."""
    found = alike(results, lambda result: result.backend)
    return {name: dict(Counter(r.verdict.value for r in some)) for name, some in found.items()}


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def read(path: Path, stream: BinaryIO | None = None) -> model.Run:
    """The run in a file, or in a stream of this name; raises CaseFileError with every problem."""
    return _RunReading(path).read(stream)


_Line: TypeAlias = model.Record | dict[str, Any]


class _RunReading(Reading[model.Header, _Line, model.Run]):
    name = "run"
    hint = "`opcheck run --report json=FILE` writes one"
    format = FORMAT
    limit = LIMIT
    longest = LONGEST
    may_be_cut_short = True

    @staticmethod
    @cache
    def types() -> Mapping[str, Any]:
        """Classes of the lines by type."""
        header = stored(
            model.Header,
            _header,
            later=["oracles"],
            type=Literal["header"],
            format=Literal[3],
            cases=_Count,
            started=_Time,
        )
        picture = stored(
            model.Picture,
            _picture,
            shape=tuple[_Count, ...],
            ulps=Annotated[tuple[tuple[_Bits, _Count], ...], Field(max_length=65)],
            unordered=_Count,
            cells=Annotated[tuple[_Cells, ...], Field(max_length=64)],
        )
        comparison = stored(
            model.ComparisonRecord,
            wrong=_Count,
            total=_Count,
            unjudged=_Count,
            max_ulp=_Count | None,
            used=_Share,
            picture=picture | None,
        )
        result = stored(
            model.Record,
            _result,
            later=["irreproducible", "beyond", "oracle", "against", "verdicts"],
            type=Literal["result"],
            self=bool,
            self_check=None,
            **dict.fromkeys(("case", "op", "domain"), str),
            **dict.fromkeys(("since", "opset", "place", "unjudged"), _Count),
            used=_Share | None,
            comparisons=tuple[comparison, ...],  # type: ignore[valid-type]
            seconds=_Seconds,
            verdicts=dict[model.Verdict, Annotated[int, Field(ge=1)]] | None,
        )
        revised = stored(dict, case=str, backend=str, diagnoses=tuple[model.Diagnosis, ...])
        footer = stored(
            model.Ending,
            dict,
            later=["revised"],
            type=Literal["footer"],
            seconds=_Seconds,
            totals=dict[str, dict[str, int]],
            revised=tuple[revised, ...],  # type: ignore[valid-type]
        )
        return {"header": header, "result": result, "footer": footer}

    def use(self, header: model.Header, lines: Iterator[tuple[int, _Line]]) -> model.Run:
        """The run of these lines, which must not contradict each other."""
        self.header, self.addresses = header, {backend.address for backend in header.backends}
        self.records: dict[tuple[str, str], model.Record] = {}
        self.cases: dict[str, tuple[int, str]] = {}
        self.places: dict[int, str] = {}
        ending: model.Ending | None = None
        for number, fields in lines:
            if isinstance(fields, model.Record):
                for problem in self._added(fields):
                    self.add(number, problem)
                continue
            revised = {(one["case"], one["backend"]): one for one in fields.pop("revised", ())}
            counted = fields.pop("totals")
            ending = model.Ending(**fields)
            if not self.problems:
                if counted != totals(self.records.values()):
                    hint = "lines are missing, or were added"
                    self.add(number, "the footer's totals are not those of the results", hint)
                if revised.keys() - self.records:
                    self.add(number, "revised: there is no such result")
                if ending.complete and len(self.records) < header.results:
                    there = f"{len(self.records):,} of {header.results:,} results are there"
                    self.add(number, f"the footer says that the run is complete; {there}")
            for pair in revised.keys() & self.records:
                diagnoses = revised[pair]["diagnoses"]
                self.records[pair] = dataclasses.replace(self.records[pair], diagnoses=diagnoses)
        return model.Run(header, tuple(self.records.values()), ending)

    def _added(self, record: model.Record) -> Iterator[str]:
        """Add a result; yield contradictions with the header and earlier results."""
        case, about = record.case, (record.place, record.digest)
        if record.backend not in self.addresses:
            yield f"the header knows no backend {shown(record.backend)}"
        if self.records.setdefault((case, record.backend), record) is not record:
            yield f"the result of {shown(record.backend)} on {shown(case)} occurs twice"
        if record.place >= self.header.suite.cases:
            yield f"place: there are {self.header.suite.cases:,} cases, got {record.place:,}"
        if self.cases.setdefault(case, about) != about:
            yield f"another place or digest of {shown(case)} than before"
        if self.places.setdefault(record.place, case) != case:
            yield f"{shown(self.places[record.place])} has the place {record.place:,} too"
        elif len(self.cases) == self.header.cases + 1:
            yield f"more cases than the {self.header.cases:,} of the header"
