"""The stream of a run as JSON lines: a header, a record a result as it happens, a footer.

A stream without a footer, or with one whose `complete` is false, is that of a run cut short.
NaN, infinities and exact values are strings: the shortest spelling, and the bits beside it.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    model_validator,
)

from opcheck import model
from opcheck.reading.form import shown
from opcheck.report.json_lines import Fields, Form, Reading, line, whole

T = TypeVar("T")


def _finite_or_spelt(value: Any) -> Any:
    """Infinity as the store writes it; JSON itself has no such number."""
    if value == "inf":
        return math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("what is infinite must be spelt 'inf'")
    return value


def _time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


# Distances of float64 take 64 bits.
_Count = Annotated[int, Field(ge=0, lt=1 << 64)]
_Bits = Annotated[int, Field(ge=0, le=64)]
_Seconds = Annotated[float, Field(ge=0, le=1e12)]
_Share = Annotated[float, Field(ge=0, allow_inf_nan=True), BeforeValidator(_finite_or_spelt)]
_Cells = Annotated[str, StringConstraints(pattern=r"^[.a-zA-Z]{1,64}$")]


def _into(cls: type[T], fields: Fields, **others: Any) -> T:
    """The dataclass `cls`, of the fields of the same names and of `others`."""
    names = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: getattr(fields, name) for name in names - others.keys()}, **others)


class HeaderFields(Fields):
    """The first line."""

    type: Literal["header"]
    format: Literal[3]
    environment: model.Environment
    backends: tuple[model.BackendInfo, ...]
    selection: str
    cases: _Count
    suite: model.Suite
    level: model.Level
    paths: tuple[str, ...]
    known: bool
    ledgers: dict[str, str]
    strict: bool
    require_supported: bool
    named: bool
    options: dict[str, str]
    oracles: tuple[model.BackendInfo, ...] = ()
    started: Annotated[str, AfterValidator(_time)]
    shard: tuple[int, int] | None
    seed: int | None

    @model_validator(mode="after")
    def _sane(self) -> Self:
        if len({backend.address for backend in self.backends}) < len(self.backends):
            raise ValueError("a backend must occur once")
        if self.shard is None and self.cases != self.suite.cases:
            raise ValueError("a run that is no shard must have all cases of its suite")
        if self.cases > self.suite.cases:
            raise ValueError("a run cannot have more cases than its suite")
        if self.shard and not 1 <= self.shard[0] <= self.shard[1]:
            raise ValueError("shard: must be one of some, the first of which is [1, n]")
        return self

    def header(self) -> model.Header:
        """The same, as everything else knows it."""
        return _into(model.Header, self)


class _PictureFields(Fields):
    shape: tuple[_Count, ...]
    ulps: Annotated[tuple[tuple[_Bits, _Count], ...], Field(max_length=65)]
    unordered: _Count
    cells: Annotated[tuple[_Cells, ...], Field(max_length=64)]

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if len({len(row) for row in self.cells}) > 1:
            raise ValueError("cells: the rows must be of equal length")
        return self


class _ComparisonFields(Fields):
    output: str
    problem: model.Problem | None
    detail: str
    remark: str
    dtype: str | None
    tier: str | None
    wrong: _Count
    total: _Count
    unjudged: _Count
    max_ulp: _Count | None
    used: _Share
    where: str
    worst: tuple[model.ElementRecord, ...]
    picture: _PictureFields | None

    def comparison(self) -> model.ComparisonRecord:
        picture = self.picture and _into(model.Picture, self.picture)
        return _into(model.ComparisonRecord, self, picture=picture)


class ResultFields(Fields):
    """The line of one result."""

    type: Literal["result"]
    case: str
    backend: str
    verdict: model.Verdict
    self_check: Annotated[bool, Field(alias="self")]
    reason: str
    failure: model.Failure | None
    refused: bool
    inexpressible: bool
    irreproducible: bool = False
    beyond: bool = False
    printed: str
    alternative: str | None
    oracle: str = ""
    against: tuple[str, ...] = ()
    known: model.Known | None
    unexpected: bool
    found: model.Verdict | None
    diagnoses: tuple[model.Diagnosis, ...]
    op: str
    domain: str
    since: _Count
    opset: _Count
    dtype: str | None
    name: str
    row: str | None
    rule: model.Rule
    level: model.Level
    clause: str
    rulings: tuple[str, ...]
    source: model.Source
    place: _Count
    digest: str
    question: str
    repeat: str
    used: _Share | None
    unjudged: _Count
    comparisons: tuple[_ComparisonFields, ...]
    seconds: _Seconds
    verdicts: dict[model.Verdict, Annotated[int, Field(ge=1)]] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        used = max((one.used for one in self.comparisons), default=None)
        if (self.used, self.unjudged) != (used, sum(one.unjudged for one in self.comparisons)):
            raise ValueError("used and unjudged must be those of the comparisons")
        return self

    def record(self) -> model.Record:
        """The same, as everything else knows it."""
        op = model.OpVersion(self.domain, self.op, self.since)
        comparisons = tuple(one.comparison() for one in self.comparisons)
        return _into(model.Record, self, op=op, comparisons=comparisons)


class _RevisedFields(Fields):
    case: str
    backend: str
    diagnoses: tuple[model.Diagnosis, ...]


class FooterFields(Fields):
    """The last line."""

    type: Literal["footer"]
    complete: bool
    totals: dict[str, dict[str, _Count]]
    exit_code: int
    meaning: str
    seconds: _Seconds
    accidents: tuple[str, ...]
    partings: tuple[str, ...]
    revised: tuple[_RevisedFields, ...] = ()

    def ending(self) -> model.Ending:
        """The same, as everything else knows it, without what can be counted."""
        return _into(model.Ending, self)

    def revise(self, records: Iterable[model.Record]) -> list[model.Record]:
        """Return the records with the diagnoses that were revised after they were written."""
        later = {(one.case, one.backend): one.diagnoses for one in self.revised}
        return [
            dataclasses.replace(one, diagnoses=later.get((one.case, one.backend), one.diagnoses))
            for one in records
        ]


#: Any line but the first.
LINE: TypeAdapter[ResultFields | FooterFields] = TypeAdapter(
    Annotated[ResultFields | FooterFields, Field(discriminator="type")]
)


# History of the format:
#   1  header, result and footer; a result names its case in full
#   2  the header tells the whole suite, the part of it that a shard is, when the run began and
#      what else its verdicts depend on; a result has its case's place and digest, and its clause
#      as quoted for the case's version; failures have a picture; the footer tells duration,
#      accidents and partings
#   3  the verdicts "unexpected pass" and "differ"; the header tells the user's ledgers and names
#      oracles; a result whether a ledger has something else come, and what is known of it the
#      ledger's line; whom it is held against; how often each verdict came, if asked several times;
#      since then, whether the same question again gave other values; a diagnosis its counts; the
#      footer diagnoses that were revised
FORMAT = 3
#: The largest file that is read, and the longest line, in bytes: some 500,000 results, and a
#: hundred times what the longest result takes.
LIMIT, LONGEST = 1 << 30, 1 << 24
_Reading: TypeAlias = Reading[HeaderFields, ResultFields | FooterFields]
_FORM: Form[HeaderFields, ResultFields | FooterFields] = Form(
    name="run",
    begins="header",
    format=FORMAT,
    head=HeaderFields,
    lines=LINE,
    types=("result", "footer"),
    hint="`opcheck run --report json=FILE` writes one",
    limit=LIMIT,
    longest=LONGEST,
    may_be_cut_short=True,
)


def header(run: model.Header) -> str:
    """The first line."""
    return line({"type": "header", "format": FORMAT, **dataclasses.asdict(run)})


def record(result: model.Record) -> str:
    """The line of one result."""
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    del fields["self_check"]
    return line(
        {
            "type": "result",
            **fields,
            "self": result.self_check,
            "known": dataclasses.asdict(result.known) if result.known else None,
            "diagnoses": _diagnoses(result),
            "op": result.op.name,
            "domain": result.op.domain,
            "since": result.op.since,
            "source": dataclasses.asdict(result.source),
            "used": _number(result.used),
            "unjudged": result.unjudged,
            "comparisons": [
                {**dataclasses.asdict(one), "used": _number(one.used)} for one in result.comparisons
            ],
        }
    )


def footer(
    results: Iterable[model.Record], ending: model.Ending, revised: Iterable[model.Record] = ()
) -> str:
    """The last line: totals by backend and verdict, and how the run ended.

    And the diagnoses of results that were `revised` after their lines were written.
    """
    later = [
        {"case": one.case, "backend": one.backend, "diagnoses": _diagnoses(one)} for one in revised
    ]
    told = {"totals": totals(results), **dataclasses.asdict(ending)}
    return line({"type": "footer", **told, **({"revised": later} if later else {})})


def lines(run: model.Run) -> Iterator[str]:
    """The whole stream; without a footer where the run has no end."""
    yield header(run.header)
    yield from map(record, run.records)
    if run.ending is not None:
        yield footer(run.records, run.ending)


def totals(results: Iterable[model.Record]) -> dict[str, dict[str, int]]:
    """How many results of each verdict each backend has."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(result.backend, Counter())[result.verdict.value] += 1
    return {backend: dict(count) for backend, count in counts.items()}


def _diagnoses(result: model.Record) -> list[dict[str, Any]]:
    return [dataclasses.asdict(diagnosis) for diagnosis in result.diagnoses]


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def read(path: Path) -> model.Run:
    """The run in a file, incomplete where it was cut short.

    Raises CaseFileError with everything that is wrong with the file.
    """
    return whole(str(path), _FORM, lambda file: file.read_file(path, partial(_run, file)))


def read_stream(stream: BinaryIO, name: str) -> model.Run:
    """The same of a stream that is called so."""
    return whole(name, _FORM, lambda file: _run(file, stream))


def _run(reading: _Reading, stream: BinaryIO) -> model.Run | None:
    """What the lines say, None where the first is not ours."""
    found = reading.read(stream)
    if found is None:
        return None
    head, rest = found
    header = head.header()
    records = []
    ending: model.Ending | None = None
    check = _Check(reading, header)
    for number, fields in rest:
        if ending is not None:
            reading.nothing_may_follow(number)
            break
        if isinstance(fields, ResultFields):
            records.append(fields.record())
            check.result(number, records[-1])
        else:
            ending = fields.ending()
            if not reading.problems:
                check.footer(number, fields, records)
            records = fields.revise(records)
    if ending is not None and reading.cut:
        reading.nothing_may_follow(reading.cut)
    return model.Run(header, tuple(records), ending)


class _Check:
    """Whether lines that are sound by themselves contradict each other."""

    def __init__(self, reading: _Reading, header: model.Header) -> None:
        self.reading, self.header = reading, header
        self.addresses = {backend.address for backend in header.backends}
        self.seen: set[tuple[str, str]] = set()
        self.cases: dict[str, tuple[int, str]] = {}
        self.places: dict[int, str] = {}

    def result(self, number: int, record: model.Record) -> None:
        """Check a result against the header and all results before it."""
        for told in self._wrong(record):
            self.reading.add(number, told)
        self.seen.add((record.case, record.backend))

    def _wrong(self, record: model.Record) -> Iterator[str]:
        case, about = record.case, (record.place, record.digest)
        if record.backend not in self.addresses:
            yield f"the header knows no backend {shown(record.backend)}"
        if (case, record.backend) in self.seen:
            yield f"the result of {shown(record.backend)} on {shown(case)} occurs twice"
        if record.place >= self.header.suite.cases:
            yield f"place: there are {self.header.suite.cases:,} cases, got {record.place:,}"
        if self.cases.setdefault(case, about) != about:
            yield f"another place or digest of {shown(case)} than before"
        if self.places.setdefault(record.place, case) != case:
            yield f"{shown(self.places[record.place])} has the place {record.place:,} too"
        elif len(self.cases) == self.header.cases + 1:
            yield f"more cases than the {self.header.cases:,} of the header"

    def footer(self, number: int, fields: FooterFields, records: list[model.Record]) -> None:
        if fields.totals != totals(records):
            hint = "lines are missing, or were added"
            self.reading.add(number, "the footer's totals are not those of the results", hint)
        if any((one.case, one.backend) not in self.seen for one in fields.revised):
            self.reading.add(number, "revised: there is no such result")
        if fields.complete and len(records) < self.header.results:
            there = f"{len(records):,} of {self.header.results:,} results are there"
            self.reading.add(number, f"the footer says that the run is complete; {there}")
