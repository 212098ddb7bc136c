"""JSON lines: one object a line, in ASCII, without anything that is no JSON.

Files of them begin with a line that says what they are and end with a footer. Whoever reads one
gets every problem with its place, and never more than `limit` bytes into memory. A file may be
packed by gzip: then that is said of what is in it.
"""

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, reduce
from io import BufferedReader
from operator import or_
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, TypeAlias, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)

from opcheck.reading import Mark, Problems, quoted
from opcheck.reading.reader import WIDE, is_wide
from opcheck.reading.validation import shown

_COLUMN = re.compile(r" at line \d+ column (\d+)$")
#: An escape of JSON; only what is no half of a surrogate pair is a group.
_ESCAPE = re.compile(r"(\\[^u]|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
#: What a file packed by gzip begins with; no JSON does.
_GZIP = b"\x1f\x8b"
_PART = "if these are two files in one, part them"
#: What shows a file that begins so.
_READERS = dict.fromkeys(("header", "bench"), "`opcheck report` shows it")
#: After so many problems a file is not read on.
_PROBLEMS = 1000

Head = TypeVar("Head")
Line = TypeVar("Line")
Result = TypeVar("Result")


def line(fields: dict[str, Any]) -> str:
    """`fields` as a line; half of a surrogate pair, which no text has, becomes �.

    Raises ValueError for NaN and infinities.
    """
    text = json.dumps(fields, allow_nan=False, separators=(",", ":"))
    if "\\ud" not in text:
        return text
    return _ESCAPE.sub(lambda found: found[1] or r"\ufffd", text)


def unpacked(stream: BufferedReader) -> BinaryIO:
    """Open a file, gzipped or not; reading raises OSError or EOFError if it is damaged."""
    packed = stream.peek(len(_GZIP)).startswith(_GZIP)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream


_OBJECT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def stored(
    cls: type, make: Callable[..., Any] | None = None, later: Collection[str] = (), **types: Any
) -> Any:
    """The type of an object in a line: the fields of `cls`, needed all but those that came `later`.

    `types` are those that differ in the file, or are only there; None is not there. What is read is
    what `make` makes of the fields that are there, beside the `type` and `format` of the line.
    """
    fields: Any = {
        # No name of a field can be one of the model's own.
        f"{name}_": (type_, Field(None if name in later else ..., alias=name))
        for name, type_ in {**types, **get_type_hints(cls), **types}.items()
        if type_ is not None
    }

    def made(read: BaseModel) -> Any:
        names = read.model_fields_set - {"type_", "format_"}
        return (make or cls)(**{name[:-1]: getattr(read, name) for name in names})

    return Annotated[create_model(cls.__name__, __config__=_OBJECT, **fields), AfterValidator(made)]


class _Format(BaseModel):
    """Fields that all versions of a file format begin with; all others may change."""

    type: str
    format: Annotated[int, Field(strict=True)]


@dataclass(frozen=True)
class Form(Generic[Head, Line]):
    """A file format; `name` is what it stores.

    The first line is a `head`, of the type `begins`, and has the format's number. All others are
    one of `lines`, by their types, and nothing follows a footer, which is read as a mapping. Where
    one is cut short because whoever wrote it was killed, that is a mistake unless it
    `may_be_cut_short`. `hint` says how to come by such a file. Neither the file nor a line may be
    longer, in bytes, than `limit` and `longest`.
    """

    name: str
    begins: str
    format: int
    head: TypeAdapter[Head]
    lines: Mapping[str, Any]
    hint: str
    limit: int
    longest: int
    may_be_cut_short: bool

    @cached_property
    def line(self) -> TypeAdapter[Line]:
        """Any line but the first."""
        any_of: Any = reduce(or_, self.lines.values())
        return TypeAdapter(Annotated[any_of, Field(discriminator="type_")])


#: A line as it stands in the file: its number, its text, and whether it has its end.
_Raw: TypeAlias = tuple[int, bytes, bool]


class Reading(Generic[Head, Line]):
    """A file that is being read; whatever is wrong with it goes to `problems`."""

    def __init__(self, file: Path, form: Form[Head, Line]) -> None:
        self.file, self.form, self.problems = str(file), form, Problems()

    def add(self, number: int, message: str, hint: str | None = None) -> None:
        """Tell what is wrong with a line, or with the file as a whole if its number is 0."""
        self.problems.add(self.file, Mark(number, min(number, 1)), message, hint)

    def lines(self, stream: BinaryIO) -> Iterator[_Raw]:
        """The lines that are not blank."""
        form, number, size, blank = self.form, 0, 0, True
        try:
            while data := stream.readline(min(form.longest, form.limit - size) + 1):
                number, size = number + 1, size + len(data)
                if number == 1:
                    data = data.removeprefix(codecs.BOM_UTF8)
                if size > form.limit:
                    self.add(0, f"the file is larger than {form.limit >> 20} MiB")
                    return
                if len(data) > form.longest:
                    self.add(number, f"this line is longer than {form.longest >> 20} MiB")
                    return
                if len(self.problems) > _PROBLEMS:
                    return
                if data.strip():
                    blank = False
                    yield number, data.removesuffix(b"\n"), data.endswith(b"\n")
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.add(0, "this file cannot be unpacked: it is cut short, or damaged")
        except OSError as error:
            self.add(0, f"this file cannot be read: {error.strerror or error}")
        else:
            if blank:
                self.add(0, "this file is empty", form.hint)

    def head(self, raw: _Raw) -> Head | None:
        """The first line, None where it is not ours."""
        number, data, _ = raw
        if (foreign := self._foreign(raw)) is None:
            try:
                return self.form.head.validate_json(data)
            except ValidationError as error:
                self._refuse(number, error)
        else:
            self.add(number, *foreign)
        return None

    def _foreign(self, raw: _Raw) -> tuple[str, str | None] | None:
        """Return why a first line begins no file that can be read, and a hint."""
        form, (_, data, has_end) = self.form, raw
        if is_wide(data):
            return WIDE, "save it as UTF-8, as `--report json=FILE` does"
        try:
            found = _Format.model_validate_json(data)
        except ValidationError as error:
            begins = f'{{"type":"{form.begins}"'.encode()
            if not has_end and _is_no_json(error) and data.startswith(begins):
                return "this line is cut short", "nothing can be made of the file"
            return f"this is no stored {form.name}", form.hint
        if found.type != form.begins:
            return f"this is no stored {form.name}", _READERS.get(found.type, form.hint)
        if found.format != form.format:
            newer = "a newer opcheck reads it" if found.format > form.format else None
            return f"this file has format {found.format}; this opcheck reads {form.format}", newer
        return None

    def items(self, lines: Iterator[_Raw]) -> Iterator[tuple[int, Line]]:
        """All lines but the first, with their numbers; damaged ones are left out."""
        after_footer = "nothing may follow the footer", _PART
        is_over = False
        for number, data, has_end in lines:
            try:
                item = self.form.line.validate_json(data, strict=True)
            except ValidationError as error:
                if has_end or not _is_no_json(error):
                    self._refuse(number, error)
                elif is_over:
                    self.add(number, *after_footer)
                elif not self.form.may_be_cut_short:
                    self.add(number, "this line is cut short", "without it, the rest can be used")
                continue
            if is_over:
                self.add(number, *after_footer)
                return
            is_over = isinstance(item, dict)
            yield number, item

    def _refuse(self, number: int, error: ValidationError) -> None:
        """Tell the first thing that is wrong with a line: the others are often due to it."""
        finding = error.errors(include_url=False)[0]
        told, context = str(finding["msg"]), finding.get("ctx", {})
        place = self._spelt(finding["loc"])
        match finding["type"]:
            case "json_invalid":
                at = _COLUMN.search(told)
                column = max(int(at[1]), 1) if at else 1
                told = _COLUMN.sub("", told).replace("Invalid JSON", "this is no JSON")
                self.problems.add(self.file, Mark(number, column), told)
            case "union_tag_invalid":
                known = f"known: {', '.join(map(repr, self.form.lines))}"
                hint = _PART if context["tag"] == self.form.begins else known
                self.add(number, f"no line here is of type {shown(context['tag'])}", hint)
            case "union_tag_not_found":
                self.add(number, "this line has no type")
            case "value_error":
                self.add(number, f"{place}{context['error']}")
            case _:
                got = "" if isinstance(finding["input"], dict) else shown(finding["input"])
                told = f"{place}{told[0].lower()}{told[1:]}"
                self.add(number, f"{told}, got {got}" if got else told)

    def _spelt(self, place: Sequence[str | int]) -> str:
        """`timings[0].samples: `, or nothing where the whole line is meant."""
        steps = place[1:] if place[:1] and place[0] in self.form.lines else place
        path = ""
        for one in steps:
            key = one if re.fullmatch(r"\w{1,60}", str(one)) else quoted(str(one))
            path += f"[{one}]" if isinstance(one, int) else f".{key}"
        return f"{path.removeprefix('.')}: " if path else ""


def whole(
    file: Path,
    form: Form[Head, Line],
    use: Callable[[Reading[Head, Line], Head, Iterator[tuple[int, Line]]], Result],
    stream: BinaryIO | None = None,
) -> Result:
    """What `use` makes of the lines of a file, or of a stream that is called so.

    Raises CaseFileError with everything that is wrong with it.
    """
    reading = Reading(file, form)
    found = None
    with ExitStack() as stack:
        try:
            stream = stream or unpacked(stack.enter_context(file.open("rb")))
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or error
            reading.add(0, f"this file cannot be read: {told}")
        else:
            lines = reading.lines(stream)
            first = next(lines, None)
            if first and (head := reading.head(first)) is not None:
                found = use(reading, head, reading.items(lines))
    reading.problems.raise_if_any()
    assert found is not None
    return found


def _is_no_json(error: ValidationError) -> bool:
    return any(finding["type"] == "json_invalid" for finding in error.errors(include_url=False))
