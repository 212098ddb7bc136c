"""JSON lines: one object a line, in ASCII, strictly JSON.

Files begin with a line that names their type and end with a footer. A reader reports every problem
with its place, and reads at most `limit` bytes, also of a file packed by gzip.
"""

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from io import BufferedReader
from operator import or_
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, TypeAlias, TypeVar, cast, get_type_hints

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from opcheck.reading import WIDE, Mark, Problems, is_wide, quoted
from opcheck.reading.validation import shown

_COLUMN = re.compile(r" at line \d+ column (\d+)$")
#: An escape of JSON; half of a surrogate pair is in no group.
_ESCAPE = re.compile(r"(\\[^u]|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
#: The beginning of a file packed by gzip, and of no JSON.
_GZIP = b"\x1f\x8b"
_PART = "if these are two files in one, part them"

Head = TypeVar("Head")
Line = TypeVar("Line")
Result = TypeVar("Result")


def line(fields: dict[str, Any], plain: Callable[[Any], Any] | None = None) -> str:
    """`fields` as a line; half of a surrogate pair becomes �. Raises ValueError for NaN and inf.

    `plain` is called with what JSON does not know.
    """
    text = json.dumps(fields, allow_nan=False, separators=(",", ":"), default=plain)
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
    """The type of an object in a line, with the fields of `cls`; those added `later` are optional.

    `types` replace the types of fields or add fields; None removes one. `make` is called with the
    fields that are there, without the `type` and `format` of the line.
    """
    fields: Any = {
        # The suffix keeps names of fields apart from the model's own.
        f"{name}_": (type_, Field(None if name in later else ..., alias=name))
        for name, type_ in {**types, **get_type_hints(cls), **types}.items()
        if type_ is not None
    }

    def made(read: BaseModel) -> Any:
        names = read.model_fields_set - {"type_", "format_"}
        return (make or cls)(**{name[:-1]: getattr(read, name) for name in names})

    return Annotated[
        pydantic.create_model(cls.__name__, __config__=_OBJECT, **fields), AfterValidator(made)
    ]


class _Format(BaseModel):
    """Fields that all versions of a file format begin with."""

    type: str
    format: Annotated[int, Field(strict=True)]


#: A line of the file: its number, its text, and True if it has its end.
_Raw: TypeAlias = tuple[int, bytes, bool]


class Reading(Generic[Head, Line, Result]):
    """Reads a file; each format is a subclass.

    `name` is the content of a file, `hint` how to make one. A file has at most `limit` bytes, and a
    line `longest`. A last line that is cut short is an error unless it `may_be_cut_short`.
    """

    name: str
    hint: str
    format: int
    limit: int
    longest: int
    may_be_cut_short = False

    @staticmethod
    def types() -> Mapping[str, Any]:
        """Classes of the lines by type, that of the first line first; a footer is a mapping."""
        raise NotImplementedError

    def use(self, head: Head, lines: Iterator[tuple[int, Line]]) -> Result:
        """Contents of the file; lines come with their numbers and are read on demand."""
        raise NotImplementedError

    def __init__(self, file: Path) -> None:
        self.file, self.problems = str(file), Problems()
        self.begins, *self.known = types = self.types()
        head, *others = types.values()
        any_of: Any = reduce(or_, others)
        self.head: TypeAdapter[Head] = TypeAdapter(head)
        self.line: TypeAdapter[Line] = TypeAdapter(Annotated[any_of, Field(discriminator="type_")])

    def read(self, stream: BinaryIO | None = None) -> Result:
        """Contents of the file, or of a stream; raises CaseFileError with every problem."""
        found = None
        with ExitStack() as stack:
            try:
                stream = stream or unpacked(stack.enter_context(Path(self.file).open("rb")))
            except (OSError, ValueError) as error:
                message = getattr(error, "strerror", None) or error
                self.add(0, f"this file cannot be read: {message}")
            else:
                lines = self._lines(stream)
                for number, data, has_end in lines:
                    if foreign := self._foreign(data, has_end):
                        self.add(number, *foreign)
                        break
                    try:
                        found = self.use(self.head.validate_json(data), self._items(lines))
                    except ValidationError as error:
                        self._refuse(number, error)
                    break
        self.problems.raise_if_any()
        assert found is not None
        return found

    def add(self, number: int, message: str, hint: str | None = None) -> None:
        """Report a problem of a line, or of the whole file if its number is 0."""
        self.problems.add(self.file, Mark(number, min(number, 1)), message, hint)

    def _lines(self, stream: BinaryIO) -> Iterator[_Raw]:
        number, size, blank = 0, 0, True
        try:
            while data := stream.readline(min(self.longest, self.limit - size) + 1):
                number, size = number + 1, size + len(data)
                if number == 1:
                    data = data.removeprefix(codecs.BOM_UTF8)
                if size > self.limit:
                    self.add(0, f"the file is larger than {self.limit >> 20} MiB")
                    return
                if len(data) > self.longest:
                    self.add(number, f"this line is longer than {self.longest >> 20} MiB")
                    return
                if len(self.problems) > 1000:
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
                self.add(0, "this file is empty", self.hint)

    def _foreign(self, data: bytes, has_end: bool) -> tuple[str, str | None] | None:
        """Return why a first line cannot be read, and a hint."""
        if is_wide(data):
            return WIDE, "save it as UTF-8, as `--report json=FILE` does"
        try:
            found = _Format.model_validate_json(data)
        except ValidationError as error:
            begins = f'{{"type":"{self.begins}"'.encode()
            if not has_end and _is_no_json(error) and data.startswith(begins):
                return "this line is cut short", "nothing can be made of the file"
            return f"this is no stored {self.name}", self.hint
        if found.type != self.begins:
            is_ours = found.type in ("header", "bench")
            hint = "`opcheck report` shows it" if is_ours else self.hint
            return f"this is no stored {self.name}", hint
        if found.format != self.format:
            newer = "a newer opcheck reads it" if found.format > self.format else None
            return f"this file has format {found.format}; this opcheck reads {self.format}", newer
        return None

    def _items(self, lines: Iterator[_Raw]) -> Iterator[tuple[int, Line]]:
        after_footer = "nothing may follow the footer", _PART
        is_over = False
        for number, data, has_end in lines:
            try:
                item = self.line.validate_json(data, strict=True)
            except ValidationError as error:
                if has_end or not _is_no_json(error):
                    self._refuse(number, error)
                elif is_over:
                    self.add(number, *after_footer)
                elif not self.may_be_cut_short:
                    self.add(number, "this line is cut short", "without it, the rest can be used")
                continue
            if is_over:
                self.add(number, *after_footer)
                return
            is_over = isinstance(item, dict)
            yield number, item

    def _refuse(self, number: int, error: ValidationError) -> None:
        """Report the first problem of a line: others often follow from it."""
        finding = error.errors(include_url=False)[0]
        message, context = str(finding["msg"]), finding.get("ctx", {})
        place = self._spelt(finding["loc"])
        match finding["type"]:
            case "json_invalid":
                at = _COLUMN.search(message)
                column = max(int(at[1]), 1) if at else 1
                message = _COLUMN.sub("", message).replace("Invalid JSON", "this is no JSON")
                self.problems.add(self.file, Mark(number, column), message)
            case "union_tag_invalid":
                known = f"known: {', '.join(map(repr, self.known))}"
                hint = _PART if context["tag"] == self.begins else known
                self.add(number, f"no line here is of type {shown(context['tag'])}", hint)
            case "union_tag_not_found":
                self.add(number, "this line has no type")
            case "value_error":
                self.add(number, f"{place}{context['error']}")
            case _:
                got = "" if isinstance(finding["input"], dict) else shown(finding["input"])
                message = f"{place}{message[0].lower()}{message[1:]}"
                self.add(number, f"{message}, got {got}" if got else message)

    def _spelt(self, place: Sequence[str | int]) -> str:
        """`timings[0].samples: `, or "" for the whole line."""
        steps = place[1:] if place[:1] and place[0] in self.known else place
        path = ""
        for one in steps:
            key = one if re.fullmatch(r"\w{1,60}", str(one)) else quoted(str(one))
            path += f"[{one}]" if isinstance(one, int) else f".{key}"
        return f"{path.removeprefix('.')}: " if path else ""


def _is_no_json(error: ValidationError) -> bool:
    return any(finding["type"] == "json_invalid" for finding in error.errors(include_url=False))
