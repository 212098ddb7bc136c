"""The form of the lines of a stored run, and what they say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    model_validator,
)

from opcheck.model import (
    BackendInfo,
    ComparisonRecord,
    Diagnosis,
    ElementRecord,
    Ending,
    Environment,
    Failure,
    Header,
    Known,
    Level,
    OpVersion,
    Picture,
    Problem,
    Record,
    Rule,
    Source,
    Suite,
    Verdict,
)
from opcheck.report.json_lines import Fields

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
    environment: Environment
    backends: tuple[BackendInfo, ...]
    selection: str
    cases: _Count
    suite: Suite
    level: Level
    paths: tuple[str, ...]
    known: bool
    ledgers: dict[str, str]
    strict: bool
    require_supported: bool
    named: bool
    options: dict[str, str]
    oracles: tuple[BackendInfo, ...] = ()
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

    def header(self) -> Header:
        """The same, as everything else knows it."""
        return _into(Header, self)


class _ElementFields(Fields):
    index: tuple[_Count, ...]
    input: str
    want: str
    want_bits: str
    got: str
    got_bits: str
    ulp: _Count | None
    allowed: str


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
    problem: Problem | None
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
    worst: tuple[_ElementFields, ...]
    picture: _PictureFields | None

    def comparison(self) -> ComparisonRecord:
        worst = tuple(_into(ElementRecord, element) for element in self.worst)
        picture = self.picture and _into(Picture, self.picture)
        return _into(ComparisonRecord, self, worst=worst, picture=picture)


class ResultFields(Fields):
    """The line of one result."""

    type: Literal["result"]
    case: str
    backend: str
    verdict: Verdict
    self_check: Annotated[bool, Field(alias="self")]
    reason: str
    failure: Failure | None
    refused: bool
    inexpressible: bool
    irreproducible: bool = False
    beyond: bool = False
    printed: str
    alternative: str | None
    oracle: str = ""
    against: tuple[str, ...] = ()
    known: Known | None
    unexpected: bool
    found: Verdict | None
    diagnoses: tuple[Diagnosis, ...]
    op: str
    domain: str
    since: _Count
    opset: _Count
    dtype: str | None
    name: str
    row: str | None
    rule: Rule
    level: Level
    clause: str
    rulings: tuple[str, ...]
    source: Source
    place: _Count
    digest: str
    question: str
    repeat: str
    used: _Share | None
    unjudged: _Count
    comparisons: tuple[_ComparisonFields, ...]
    seconds: _Seconds
    verdicts: dict[Verdict, Annotated[int, Field(ge=1)]] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        used = max((one.used for one in self.comparisons), default=None)
        if (self.used, self.unjudged) != (used, sum(one.unjudged for one in self.comparisons)):
            raise ValueError("used and unjudged must be those of the comparisons")
        return self

    def record(self) -> Record:
        """The same, as everything else knows it."""
        op = OpVersion(self.domain, self.op, self.since)
        comparisons = tuple(one.comparison() for one in self.comparisons)
        return _into(Record, self, op=op, comparisons=comparisons)


class _RevisedFields(Fields):
    case: str
    backend: str
    diagnoses: tuple[Diagnosis, ...]


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

    def ending(self) -> Ending:
        """The same, as everything else knows it, without what can be counted."""
        return _into(Ending, self)

    def revise(self, records: Iterable[Record]) -> list[Record]:
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
