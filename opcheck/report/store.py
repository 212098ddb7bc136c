"""JSON lines, one object a line, in ASCII, strictly JSON; and the stream of a run as such lines.

Files begin with a line that names their type and end with a footer. A reader reports the first
problem with its line, and reads at most `limit` bytes, also of a file packed by gzip.
docs/stored-runs.md has the lines of a run, and what is promised about files of other formats.
"""

import codecs
import dataclasses
import gzip
import json
import math
import os
import re
import stat
import typing
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cache, reduce
from io import BufferedReader, FileIO
from operator import or_
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, Literal, NoReturn, TypeAlias, TypeVar, cast

import pydantic
import pydantic_core
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)

from opcheck import model, reading
from opcheck.errors import CaseFileError, Problem
from opcheck.reading.validation import shown
from opcheck.report.plain_text import one_line, op_record

#: Pydantic's type of error for text that is no JSON, and those for a field that is not known.
_NO_JSON = "json_invalid"
_UNKNOWN_FIELD = ("extra_forbidden", "unexpected_keyword_argument")
#: An escape of JSON; half of a surrogate pair is in no group.
_ESCAPE = re.compile(r"(\\[^u]|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
#: The beginning of a file packed by gzip, and of no JSON.
_GZIP = b"\x1f\x8b"
_DIVIDE = "if these are two files in one, divide them"

Head = TypeVar("Head")
Line = TypeVar("Line")
Result = TypeVar("Result")
_OBJECT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
#: Another number where a reader of the number before would misread a file.
FORMAT = 4
#: One more with each field that is added to the lines of a format.
MINOR = 2
#: Fields added in a minor format that decide nothing, such as "result.peak_memory", by their paths
#: below a line's type. The header names them, so that a reader of an earlier minor format leaves
#: them out. A file of that minor format lacks them: here they have their class's default.
NOT_DECIDING = (
    "header.environment.machine",
    "header.environment.remarks",
    "result.diagnoses.asked",
    "result.diagnoses.repeat",
    "footer.revised.diagnoses.asked",
    "footer.revised.diagnoses.repeat",
)
#: The paths of the kinds of objects in `ADDED`.
_PATHS = {
    "header": "header",
    "result": "result",
    "comparison": "result.comparisons",
    "picture": "result.comparisons.picture",
    "footer": "footer",
}
#: Fields of a run by the format from which they are required; earlier files lack them.
ADDED: Mapping[str, Mapping[int, str]] = {
    "header": {
        2: "level named options paths seed shard started suite",
        3: "ledgers",
        4: "oracles minor not_deciding",
    },
    "result": {
        2: "digest place rulings",
        3: "unexpected",
        4: "against beyond irreproducible oracle verdicts",
    },
    "comparison": {2: "picture"},
    "picture": {},
    "footer": {2: "accidents partings seconds"},
}
#: The time at which a run of format 1 began, which its file does not tell.
_UNKNOWN_TIME = "1970-01-01T00:00:00+00:00"
#: The place of a case in a file of format 1, which has none: cases are counted as they come.
_UNKNOWN_PLACE = -1
#: The largest file, in bytes: some 500,000 results.
LIMIT = 1 << 30
#: The longest line, in bytes: 100 times the longest that was seen.
LONGEST = 1 << 24
#: opcheck writes no blank lines; editors leave some.
MOST_BLANK = 1000
_Line: TypeAlias = model.Record | dict[str, Any]


def line(fields: dict[str, Any], plain: Callable[[Any], Any] | None = None) -> str:
    """`fields` as a line; half of a surrogate pair becomes �. Raises ValueError for NaN and inf.

    `plain` is called with what JSON does not know.
    """
    text = json.dumps(fields, allow_nan=False, separators=(",", ":"), default=plain)
    return _ESCAPE.sub(_whole_escape, text) if "\\ud" in text else text


def _whole_escape(match: re.Match[str]) -> str:
    """Return an escape as it is, but for half of a surrogate pair."""
    return match[1] or r"\ufffd"


class _NamedPipe(FileIO):
    """A named pipe, opened without waiting for a process that writes to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        #: True once a read has found no data and no process that could still write some.
        self.is_over = False

    def readinto(self, buffer: Any) -> int | None:
        """Read into the buffer; return the number of bytes, None if there are none yet."""
        size: int | None = super().readinto(buffer)
        self.is_over = size == 0
        return size


def opened(path: Path) -> "BufferedReader[Any]":
    """Open a file to read its bytes. Raises OSError, also for a named pipe without a writer."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    pipe = _NamedPipe(path)
    stream: BufferedReader[Any] = BufferedReader(pipe)
    stream.peek(1)  # keeps what it reads
    if pipe.is_over:
        stream.close()
        raise OSError("it is a pipe that no process writes to: start that process first")
    os.set_blocking(pipe.fileno(), True)
    return stream


def unpacked(stream: BufferedReader) -> BinaryIO:
    """Open a file, gzipped or not; reading raises OSError or EOFError if it is damaged."""
    packed = stream.peek(len(_GZIP)).startswith(_GZIP)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream


def stored(cls: type, make: Any = None, optional: Collection[str] = (), /, **types: Any) -> Any:
    """The type of an object in a line, with the fields of `cls`; some may be `optional`.

    `types` replace the types of fields or add fields; None removes one. `make` is called with the
    fields that are there, without those that only say how the file is read.
    """
    fields: Any = {
        # The suffix keeps names of fields apart from the model's own.
        f"{name}_": (type_, Field(None if name in optional else ..., alias=name))
        for name, type_ in {**types, **typing.get_type_hints(cls), **types}.items()
        if type_ is not None
    }

    def made(read: pydantic.BaseModel) -> Any:
        names = read.model_fields_set - {"type_", "format_", "minor_", "not_deciding_"}
        return (make or cls)(**{name[:-1]: getattr(read, name) for name in names})

    read_as = pydantic.create_model(cls.__name__, __config__=_OBJECT, **fields)
    return Annotated[read_as, AfterValidator(made)]


_FieldPath: TypeAlias = Annotated[str, pydantic.StringConstraints(pattern=r"^\w+(\.\w+)+$")]


class _Format(pydantic.BaseModel):
    """Fields that all versions of a file format begin with."""

    type: str
    format: Annotated[int, Field(strict=True)]
    minor: Annotated[int, Field(strict=True)] = 0
    #: Fields that decide nothing, as `result.peak_memory`.
    not_deciding: tuple[_FieldPath, ...] = ()


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
    def types(format: int) -> Mapping[str, Any]:
        """Classes of a format's lines by type, the first line's first; a footer is a mapping."""
        raise NotImplementedError

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.begins, *self.known = self.types(self.format)
        #: Fields that the file's header marks as not deciding.
        self.not_deciding: Collection[str] = ()
        #: Those of them that are in the file, that this reader does not know and leaves out.
        self.left_out: set[str] = set()

    def _use_format(self, format: int) -> None:
        head, *others = self.types(format).values()
        any_of: Any = Annotated[reduce(or_, others), Field(discriminator="type_")]
        self.head: pydantic.TypeAdapter[Head] = pydantic.TypeAdapter(head)
        self.line: pydantic.TypeAdapter[Line] = pydantic.TypeAdapter(any_of)

    def read(self, stream: BinaryIO | None = None) -> Result:
        """Contents of the file, or of a stream; raises CaseFileError with the first problem."""
        with ExitStack() as stack:
            try:
                stream = stream or unpacked(stack.enter_context(opened(Path(self.file))))
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
            first_fields = _Format.model_validate_json(data)
        except ValidationError:
            self.fail(number, f"this is no stored {self.name}", self.hint)
        if first_fields.type != self.begins:
            hint = (
                "`opcheck report` shows it"
                if first_fields.type in ("header", "bench")
                else self.hint
            )
            self.fail(number, f"this is no stored {self.name}", hint)
        if not 1 <= first_fields.format <= self.format:
            newer = "a newer opcheck reads it" if first_fields.format > self.format else None
            known = f"1 to {self.format}" if self.format > 1 else "1"
            message = f"this file has format {first_fields.format}; this opcheck reads {known}"
            self.fail(number, message, newer)
        self._use_format(first_fields.format)
        self.not_deciding = frozenset(first_fields.not_deciding)
        return cast(Head, self._validated(self.head, self.begins, number, data))

    def _items(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Line]]:
        is_over = False
        for number, data in lines:
            if is_over:
                self.fail(number, "nothing may follow the footer", _DIVIDE)
            if self.may_be_cut_short and _is_cut_short(data):
                return
            item = self._validated(self.line, "", number, data)
            is_over = isinstance(item, dict)
            yield number, item

    def _validated(
        self, adapter: pydantic.TypeAdapter[Any], begins: str, number: int, data: bytes
    ) -> Any:
        """A line as `adapter` reads it, without unknown fields that decide nothing.

        `begins` is the type of the line, "" if pydantic tells it; CaseFileError for another line.
        """
        data = data.removesuffix(b"\n")
        repeated = _repeated_field(data)
        if repeated is not None:
            self.fail(number, one_line(f"{repeated}: it is there twice"))
        if self.left_out:  # other lines of the file have these fields too
            data = _without(data, self.left_out)
        try:
            return adapter.validate_json(data, strict=True)
        except ValidationError as error:
            unknown = {
                ".".join(
                    step for step in (begins, *finding["loc"]) if step and isinstance(step, str)
                )
                for finding in error.errors(include_url=False)
                if finding["type"] in _UNKNOWN_FIELD
            } & {*self.not_deciding}
            if not unknown - self.left_out:
                self._refuse(number, error)
        self.left_out |= unknown
        try:
            return adapter.validate_json(_without(data, self.left_out), strict=True)
        except ValidationError as error:
            self._refuse(number, error)

    def _refuse(self, number: int, error: ValidationError) -> NoReturn:
        """Report the first problem of a line: others often follow from it."""
        finding = error.errors(include_url=False)[0]
        steps = [str(step) for step in finding["loc"] if step not in self.known]
        place = f"{'.'.join(steps)}: " if steps else ""
        message = finding["msg"].removeprefix("Value error, ")
        value = finding["input"]
        is_short = finding["type"] != _NO_JSON and not isinstance(value, list | dict)
        got = f", got {shown(value)}" if is_short else ""
        self.fail(number, one_line(f"{place}{message}{got}"))


class _RepeatedField(Exception):
    """An object of JSON has a field twice."""


def _repeated_field(data: bytes) -> str | None:
    """Return a field that an object in a line of JSON has twice, of which a reader takes one.

    None without one, and for what is not JSON.
    """
    try:
        json.loads(data, object_pairs_hook=_check_fields)
    except _RepeatedField as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    return None


def _check_fields(pairs: list[tuple[str, Any]]) -> None:
    """Raise _RepeatedField for an object that has a field twice."""
    if len(dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedField(next(name for name in names if names.count(name) > 1))


def _is_cut_short(data: bytes) -> bool:
    """Return True if a line is the beginning of one."""
    if data.endswith(b"\n"):
        return False
    try:
        pydantic_core.from_json(data)
    except ValueError:
        return True
    return False


def _without(data: bytes, names: Iterable[str]) -> bytes:
    """Return a line of JSON without some fields, each named by its path below the line's type."""
    fields = json.loads(data)
    for name in names:
        kind, *path = name.split(".")
        if fields.get("type") == kind:
            _remove(fields, path)
    return json.dumps(fields).encode()


def _remove(value: Any, path: Sequence[str]) -> None:
    """Remove the field at `path` from an object, in each item of the lists on the way."""
    if isinstance(value, list):
        for item in value:
            _remove(item, path)
    elif isinstance(value, dict) and len(path) == 1:
        value.pop(path[0], None)
    elif isinstance(value, dict) and path[0] in value:
        _remove(value[path[0]], path[1:])


def _finite_or_spelt(value: Any) -> Any:
    """Read infinity, which JSON lacks, as the store writes it."""
    if value == "inf":
        return math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("infinity must be written as 'inf'")
    return value


def _time(text: str) -> str:
    """Return the text of a time; raise ValueError for another text."""
    datetime.fromisoformat(text)
    return text


# Distances of float64 take 64 bits.
_Count = Annotated[int, Field(ge=0, lt=1 << 64)]
_Bits = Annotated[int, Field(ge=0, le=64)]
_Seconds = Annotated[float, Field(ge=0, le=1e12)]
_Share = Annotated[
    float,
    Field(ge=0, allow_inf_nan=True),
    BeforeValidator(_finite_or_spelt),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"const": "inf"}]}),
]
_Time = Annotated[
    str,
    AfterValidator(_time),
    Field(json_schema_extra={"format": "date-time"}),
]
_Cells = Annotated[str, pydantic.StringConstraints(pattern=r"^[.a-zA-Z]{1,64}$")]


def _header(**fields: Any) -> model.Header:
    # A header of format 1 has neither.
    fields.setdefault("suite", model.Suite("", fields["cases"]))
    fields.setdefault("started", _UNKNOWN_TIME)
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
    # A result of format 1 has neither.
    fields.setdefault("place", _UNKNOWN_PLACE)
    fields.setdefault("digest", "")
    record = model.Record(op=version, self_check=fields.pop("self"), **fields)
    if (used, unjudged) != (record.used, record.unjudged):
        raise ValueError("used and unjudged must be those of the comparisons")
    return record


def header(run: model.Header) -> str:
    """The first line."""
    format = {"format": FORMAT, "minor": MINOR, "not_deciding": NOT_DECIDING}
    return line({"type": "header", **format, **dataclasses.asdict(run)})


def record(result: model.Record) -> str:
    """The line of one result."""
    fields = {"type": "result", **_plain(result)}
    fields["self"] = fields.pop("self_check")
    fields |= {**op_record(result.op), "used": _number(result.used), "unjudged": result.unjudged}
    return line(fields, _plain)


@cache
def _names(kind: type) -> list[str]:
    """Return the names of a dataclass's fields."""
    return [field.name for field in dataclasses.fields(kind)]


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, uncopied: `dataclasses.asdict` copies them, and is slow."""
    fields = {name: getattr(value, name) for name in _names(value.__class__)}
    is_comparison = isinstance(value, model.ComparisonRecord)
    return fields | ({"used": _number(value.used)} if is_comparison else {})


def footer(
    results: Iterable[model.Record], ending: model.Ending, revised: Iterable[model.Record] = ()
) -> str:
    """The last line: totals, the run's end, and diagnoses `revised` after lines were written."""
    fields = {"type": "footer", "totals": totals(results), **dataclasses.asdict(ending)}
    for result in revised:
        diagnoses = [*map(dataclasses.asdict, result.diagnoses)]
        pair = {"case": result.case, "backend": result.backend, "diagnoses": diagnoses}
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
    counts: dict[str, dict[str, int]] = {}
    for (name, verdict), count in Counter(
        (result.backend, result.verdict) for result in results
    ).items():
        counts.setdefault(name, {})[verdict.value] = count
    return counts


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def _missing(kind: str, format: int) -> frozenset[str]:
    """Return the fields of a kind in `ADDED` that files of a format may lack.

    These are the fields that a later format added, and those in `NOT_DECIDING`.
    """
    later = {
        name for since, names in ADDED[kind].items() if since > format for name in names.split()
    }
    paths = (path.rpartition(".") for path in NOT_DECIDING)
    return frozenset(later | {name for parent, _, name in paths if parent == _PATHS[kind]})


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a line of a stored run, in today's format."""
    any_of: Any = Annotated[
        reduce(or_, _RunReading.types(FORMAT).values()), Field(discriminator="type_")
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **pydantic.TypeAdapter(any_of).json_schema(),
        "title": f"A line of a stored run of opcheck, format {FORMAT}.{MINOR}",
        "description": "The first line is a header; results follow; the last is a footer.",
    }


def left_out_note(path: Path, run: model.Run) -> str:
    """Name the fields of a run's file that were left out as unknown, "" without any."""
    if not run.left_out:
        return ""
    names = ", ".join(run.left_out)
    return f"{path}: fields of a newer opcheck are ignored, as they decide nothing: {names}"


def read(path: Path, stream: BinaryIO | None = None) -> model.Run:
    """The run in a file, or in a stream of this name; raises CaseFileError."""
    return _RunReading(path).read(stream)


class _RunReading(Reading[model.Header, _Line, model.Run]):
    name = "run"
    hint = "`opcheck run --report json=FILE` writes one"
    format = FORMAT
    limit = LIMIT
    longest = LONGEST
    may_be_cut_short = True

    @staticmethod
    @cache
    def types(format: int) -> Mapping[str, Any]:
        missing = {kind: _missing(kind, format) for kind in ADDED}
        begin: dict[str, Any] = {"type": Literal["header"], "format": Literal[format]}
        if format >= 4:
            begin |= {"minor": _Count, "not_deciding": tuple[str, ...]}
        header = stored(
            model.Header, _header, missing["header"], **begin, cases=_Count, started=_Time
        )
        drawn: dict[str, Any] = {
            "ulps": Annotated[tuple[tuple[_Bits, _Count], ...], Field(max_length=65)],
            "cells": Annotated[tuple[_Cells, ...], Field(max_length=64)],
        }
        shape = tuple[_Count, ...]
        picture = stored(
            model.Picture, _picture, missing["picture"], shape=shape, unordered=_Count, **drawn
        )
        counts: dict[str, Any] = dict.fromkeys(("wrong", "total", "unjudged"), _Count)
        counts |= {"max_ulp": _Count | None, "used": _Share}
        comparison = stored(
            model.ComparisonRecord, None, missing["comparison"], **counts, picture=picture | None
        )
        result = stored(
            model.Record,
            _result,
            missing["result"],
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
        optional = {"revised", *missing["footer"]}
        footer = stored(model.Ending, dict, optional, seconds=_Seconds, **ended)
        return {"header": header, "result": result, "footer": footer}

    def use(self, header: model.Header, lines: Iterator[tuple[int, _Line]]) -> model.Run:
        """The run of these lines, which must not contradict each other."""
        self.header = header
        self.addresses = {backend.address for backend in header.backends}
        self.records: dict[tuple[str, str], model.Record] = {}
        self.cases: dict[str, tuple[int, str]] = {}
        self.places: dict[int, str] = {}
        ending: model.Ending | None = None
        for number, fields in lines:
            if isinstance(fields, model.Record):
                self._add(number, fields)
                continue
            revised = {
                (revision["case"], revision["backend"]): revision
                for revision in fields.pop("revised", ())
            }
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
        return model.Run(header, tuple(self.records.values()), ending, tuple(sorted(self.left_out)))

    def _add(self, number: int, record: model.Record) -> None:
        """Add a result, which must not contradict the header and earlier results."""
        if record.place == _UNKNOWN_PLACE:
            place, _ = self.cases.get(record.case, (len(self.cases), ""))
            record = dataclasses.replace(record, place=place)
        case = record.case
        about = (record.place, record.digest)
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
