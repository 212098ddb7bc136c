"""JSON lines, one object a line, in ASCII, strictly JSON; and the stream of a run as such lines.

Files begin with a line that names their type and end with a footer. A reader reports the first
problem with its line, and reads at most `limit` bytes, also of a file packed by gzip.
docs/stored-runs.md has the lines of a run.
"""

import codecs
import dataclasses
import gzip
import json
import math
import re
import typing
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import cache, reduce
from io import BufferedReader
from operator import or_
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, Literal, NoReturn, TypeAlias, TypeVar, cast

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError

from opcheck import model, reading
from opcheck.errors import CaseFileError, Problem
from opcheck.reading.validation import shown
from opcheck.report.plain_text import one_line, op_record

#: Pydantic's type of error for text that is no JSON.
_NO_JSON = "json_invalid"
#: An escape of JSON; half of a surrogate pair is in no group.
_ESCAPE = re.compile(r"(\\[^u]|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
#: The beginning of a file packed by gzip, and of no JSON.
_GZIP = b"\x1f\x8b"
_PART = "if these are two files in one, part them"

Head = TypeVar("Head")
Line = TypeVar("Line")
Result = TypeVar("Result")
#: The names of a dataclass's fields.
_names = cache(lambda kind: [one.name for one in dataclasses.fields(kind)])
_OBJECT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
FORMAT = 3
#: The largest file and the longest line, in bytes: some 500,000 results, and 100 times the longest.
LIMIT, LONGEST = 1 << 30, 1 << 24
#: opcheck writes no blank lines; editors leave some.
MOST_BLANK = 1000
_Line: TypeAlias = model.Record | dict[str, Any]


def line(fields: dict[str, Any], plain: Callable[[Any], Any] | None = None) -> str:
    """`fields` as a line; half of a surrogate pair becomes �. Raises ValueError for NaN and inf.

    `plain` is called with what JSON does not know.
    """
    text = json.dumps(fields, allow_nan=False, separators=(",", ":"), default=plain)
    return text if "\\ud" not in text else _ESCAPE.sub(lambda found: found[1] or r"\ufffd", text)


def unpacked(stream: BufferedReader) -> BinaryIO:
    """Open a file, gzipped or not; reading raises OSError or EOFError if it is damaged."""
    packed = stream.peek(len(_GZIP)).startswith(_GZIP)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream


def stored(cls: type, make: Any = None, optional: str = "", /, **types: Any) -> Any:
    """The type of an object in a line, with the fields of `cls`; one may be `optional`.

    `types` replace the types of fields or add fields; None removes one. `make` is called with the
    fields that are there, without the `type` and `format` of the line.
    """
    fields: Any = {
        # The suffix keeps names of fields apart from the model's own.
        f"{name}_": (type_, Field(None if name == optional else ..., alias=name))
        for name, type_ in {**types, **typing.get_type_hints(cls), **types}.items()
        if type_ is not None
    }

    def made(read: pydantic.BaseModel) -> Any:
        names = read.model_fields_set - {"type_", "format_"}
        return (make or cls)(**{name[:-1]: getattr(read, name) for name in names})

    found = pydantic.create_model(cls.__name__, __config__=_OBJECT, **fields)
    return Annotated[found, AfterValidator(made)]


class _Format(pydantic.BaseModel):
    """Fields that all versions of a file format begin with."""

    type: str
    format: Annotated[int, Field(strict=True)]


class Reading(Generic[Head, Line, Result]):
    """Reads a file; each format is a subclass."""

    #: The content of a file, and how to make one.
    name: str
    hint: str
    format: int
    #: The most bytes of a file, and of a line.
    limit: int
    longest: int
    #: Or a last line that is cut short is an error.
    may_be_cut_short = False
    #: Returns the contents of the file; lines come with their numbers and are read on demand.
    use: Callable[[Head, Iterator[tuple[int, Line]]], Result]

    @staticmethod
    def types() -> Mapping[str, Any]:
        """Classes of the lines by type, that of the first line first; a footer is a mapping."""
        raise NotImplementedError

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.begins, *self.known = types = self.types()
        head, *others = types.values()
        any_of: Any = Annotated[reduce(or_, others), Field(discriminator="type_")]
        self.head: pydantic.TypeAdapter[Head] = pydantic.TypeAdapter(head)
        self.line: pydantic.TypeAdapter[Line] = pydantic.TypeAdapter(any_of)

    def read(self, stream: BinaryIO | None = None) -> Result:
        """Contents of the file, or of a stream; raises CaseFileError with the first problem."""
        with ExitStack() as stack:
            try:
                stream = stream or unpacked(stack.enter_context(Path(self.file).open("rb")))
            except (OSError, ValueError) as error:
                message = getattr(error, "strerror", None) or error
                self.fail(0, f"this file cannot be read: {message}")
            lines = self._lines(stream)
            number, data = next(lines, (0, b""))
            if not number:
                self.fail(0, "this file is empty", self.hint)
            return self.use(self._head(number, data), self._items(lines))

    def fail(self, number: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise CaseFileError for a line, or for the whole file if its number is 0."""
        raise CaseFileError([Problem(self.file, number, min(number, 1), message, hint)])

    def _lines(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers."""
        number = size = blank = 0
        try:
            while data := stream.readline(min(self.longest, self.limit - size) + 1):
                number, size = number + 1, size + len(data)
                if size > self.limit:
                    self.fail(0, f"the file is larger than {self.limit >> 20} MiB")
                if len(data) > self.longest:
                    self.fail(number, f"this line is longer than {self.longest >> 20} MiB")
                if number == 1:
                    data = data.removeprefix(codecs.BOM_UTF8)
                if data.strip():
                    yield number, data
                    continue
                blank += 1
                if blank > MOST_BLANK:  # a small packed file can have a billion
                    self.fail(number, f"more than {MOST_BLANK:,} blank lines")
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.fail(0, "this file cannot be unpacked: it is cut short, or damaged")
        except OSError as error:
            self.fail(0, f"this file cannot be read: {error.strerror or error}")

    def _head(self, number: int, data: bytes) -> Head:
        if reading.is_wide(data):
            self.fail(number, reading.WIDE, "save it as UTF-8, as `--report json=FILE` does")
        try:
            found = _Format.model_validate_json(data)
        except ValidationError:
            self.fail(number, f"this is no stored {self.name}", self.hint)
        if found.type != self.begins:
            hint = "`opcheck report` shows it" if found.type in ("header", "bench") else self.hint
            self.fail(number, f"this is no stored {self.name}", hint)
        if found.format != self.format:
            newer = "a newer opcheck reads it" if found.format > self.format else None
            message = f"this file has format {found.format}; this opcheck reads {self.format}"
            self.fail(number, message, newer)
        try:
            return self.head.validate_json(data)
        except ValidationError as error:
            self._refuse(number, error)

    def _items(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Line]]:
        is_over = False
        for number, data in lines:
            if is_over:
                self.fail(number, "nothing may follow the footer", _PART)
            try:
                item = self.line.validate_json(data.removesuffix(b"\n"), strict=True)
            except ValidationError as error:
                is_cut_short = not data.endswith(b"\n") and error.errors()[0]["type"] == _NO_JSON
                if is_cut_short and self.may_be_cut_short:
                    return
                self._refuse(number, error)
            is_over = isinstance(item, dict)
            yield number, item

    def _refuse(self, number: int, error: ValidationError) -> NoReturn:
        """Report the first problem of a line: others often follow from it."""
        finding = error.errors(include_url=False)[0]
        steps = [str(step) for step in finding["loc"] if step not in self.known]
        place = f"{'.'.join(steps)}: " if steps else ""
        message, value = finding["msg"].removeprefix("Value error, "), finding["input"]
        is_short = finding["type"] != _NO_JSON and not isinstance(value, list | dict)
        got = f", got {shown(value)}" if is_short else ""
        self.fail(number, one_line(f"{place}{message}{got}"))


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
_Cells = Annotated[str, pydantic.StringConstraints(pattern=r"^[.a-zA-Z]{1,64}$")]


def _header(**fields: Any) -> model.Header:
    header = model.Header(**fields)
    if len({backend.address for backend in header.backends}) < len(header.backends):
        raise ValueError("a backend must occur once")
    least = 0 if header.shard else header.suite.cases
    if not least <= header.cases <= header.suite.cases:
        raise ValueError("cases: must be all of the suite, or those of a shard")
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


def header(run: model.Header) -> str:
    """The first line."""
    return line({"type": "header", "format": FORMAT, **dataclasses.asdict(run)})


def record(result: model.Record) -> str:
    """The line of one result."""
    fields = {"type": "result", **_plain(result)}
    fields["self"] = fields.pop("self_check")
    fields |= {**op_record(result.op), "used": _number(result.used), "unjudged": result.unjudged}
    return line(fields, _plain)


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; `asdict` copies all that is in them too, which takes long."""
    fields = {name: getattr(value, name) for name in _names(value.__class__)}
    is_comparison = isinstance(value, model.ComparisonRecord)
    return fields | ({"used": _number(value.used)} if is_comparison else {})


def footer(
    results: Iterable[model.Record], ending: model.Ending, revised: Iterable[model.Record] = ()
) -> str:
    """The last line: totals, the run's end, and diagnoses `revised` after lines were written."""
    fields = {"type": "footer", "totals": totals(results), **dataclasses.asdict(ending)}
    for one in revised:
        diagnoses = [*map(dataclasses.asdict, one.diagnoses)]
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
    found: dict[str, dict[str, int]] = {}
    for (name, verdict), count in Counter((one.backend, one.verdict) for one in results).items():
        found.setdefault(name, {})[verdict.value] = count
    return found


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def read(path: Path, stream: BinaryIO | None = None) -> model.Run:
    """The run in a file, or in a stream of this name; raises CaseFileError."""
    return _RunReading(path).read(stream)


class _RunReading(Reading[model.Header, _Line, model.Run]):
    name = "run"
    hint = "`opcheck run --report json=FILE` writes one"
    format, limit, longest = FORMAT, LIMIT, LONGEST
    may_be_cut_short = True

    @staticmethod
    @cache
    def types() -> Mapping[str, Any]:
        begin = {"type": Literal["header"], "format": Literal[3]}
        header = stored(model.Header, _header, **begin, cases=_Count, started=_Time)
        drawn: dict[str, Any] = {
            "ulps": Annotated[tuple[tuple[_Bits, _Count], ...], Field(max_length=65)],
            "cells": Annotated[tuple[_Cells, ...], Field(max_length=64)],
        }
        shape = tuple[_Count, ...]
        picture = stored(model.Picture, _picture, shape=shape, unordered=_Count, **drawn)
        counts: dict[str, Any] = dict.fromkeys(("wrong", "total", "unjudged"), _Count)
        counts |= {"max_ulp": _Count | None, "used": _Share}
        comparison = stored(model.ComparisonRecord, **counts, picture=picture | None)
        result = stored(
            model.Record,
            _result,
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
        ended = {"type": Literal["footer"], "totals": dict[str, dict[str, int]]}
        ended["revised"] = tuple[revised, ...]  # type: ignore[valid-type]
        footer = stored(model.Ending, dict, "revised", seconds=_Seconds, **ended)
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
                self._add(number, fields)
                continue
            revised = {(one["case"], one["backend"]): one for one in fields.pop("revised", ())}
            counted = fields.pop("totals")
            ending = model.Ending(**fields)
            if counted != totals(self.records.values()):
                hint = "lines are missing, or were added"
                self.fail(number, "the footer's totals are not those of the results", hint)
            if revised.keys() - self.records:
                self.fail(number, "revised: there is no such result")
            if ending.complete and len(self.records) < header.results:
                there = f"{len(self.records):,} of {header.results:,} results are there"
                self.fail(number, f"the footer says that the run is complete; {there}")
            for pair in revised:
                diagnoses = revised[pair]["diagnoses"]
                self.records[pair] = dataclasses.replace(self.records[pair], diagnoses=diagnoses)
        return model.Run(header, tuple(self.records.values()), ending)

    def _add(self, number: int, record: model.Record) -> None:
        """Add a result, which must not contradict the header and earlier results."""
        case, about = record.case, (record.place, record.digest)
        if record.backend not in self.addresses:
            self.fail(number, f"the header knows no backend {shown(record.backend)}")
        if self.records.setdefault((case, record.backend), record) is not record:
            of = f"{shown(record.backend)} on {shown(case)}"
            self.fail(number, f"the result of {of} occurs twice")
        is_same = self.cases.setdefault(case, about) == about
        is_alone = self.places.setdefault(record.place, case) == case
        if not (is_same and is_alone and record.place < self.header.suite.cases):
            self.fail(number, f"{shown(case)} has another place or digest than other lines say")
        if len(self.cases) > self.header.cases:
            self.fail(number, f"more cases than the {self.header.cases:,} of the header")
