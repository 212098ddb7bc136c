"""Read files and texts into `FileNode` trees; every way a file can be unusable is a problem.

A parser's events become one tree of nodes, within limits; what a file means is not known here.
`yaml` is imported on the first read only. Plain scalars are those of YAML 1.2's core schema:
https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import gc
import math
import re
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import opcheck
from opcheck.errors import CaseFileError, OpcheckError, Problem

#: The longest number read. The exact decimal of every float64 fits (1,077 characters), and
#: Python can print every integer of that length (it stops at 4,300 digits).
NUMBER_LENGTH: Final = 2000
#: The plain words that are neither numbers nor strings.
WORDS: Final[dict[str, PlainScalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{"-" + word: -math.inf for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}

_NUMBER: Final = re.compile(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES: Final = {"int": 10, "octal": 8, "hex": 16}
_SPELT: Final = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}
_CORE: Final = "tag:yaml.org,2002:"
#: The tags a file may state; `tagged` has the values that each admits.
TAGS: Final = frozenset(_CORE + word for word in (*_SPELT.values(), "seq", "map"))
#: Hints by their names in `parser_errors.txt`.
_HINTS: Final = {
    "INDENT": "check the indentation; text that begins with [ { ' or \" must be quoted as a whole",
    "QUOTE": "text that holds [ ] { } , or ': ' needs quotes",
}
#: Pattern of the parser's problem, some in Python's own words, message and perhaps a hint. In a
#: message {began} is where the thing begun but not ended stands, {char} the character at the place
#: of the error. The first that matches holds. A row goes on in lines that are indented.
_TABLE: Final = Path(__file__).with_name("parser_errors.txt").read_text("utf-8")
_WORDS: Final = [row.split(" → ") for row in _TABLE.replace("\n   ", "").strip().splitlines()]
#: Errors that are better shown where the thing began than where it went wrong.
_AT_BEGIN: Final = re.compile(r"unexpected end of stream|expected ':'")
#: How many lists and mappings may stand within each other.
DEPTH_LIMIT: Final = 64
#: How many values a file may hold; an alias counts as much as its target.
NODE_LIMIT: Final = 1_000_000
#: After so many problems in one file the rest of it is not read.
PROBLEM_LIMIT: Final = 1000

_NO_KEYS: Final[dict[str, Mark]] = {}
#: The largest file read, in bytes (for a text: in characters): larger ones take too long to parse.
FILE_LIMIT: Final = 2 * 2**20
#: How many %TAG directives a file may have: libyaml's time grows with the square of them.
DIRECTIVE_LIMIT: Final = 16

WIDE: Final = "this file is UTF-16 or UTF-32, not UTF-8"

#: https://yaml.org/spec/1.2.2/#51-character-set
_CONTROL: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
PlainScalar: TypeAlias = bool | int | float | str | None


class BadScalar(OpcheckError):
    """A scalar without a value; the builder adds the place."""


def resolve(text: str) -> PlainScalar:
    """Return a plain scalar's value.

    Raises BadScalar for -0, beyond float64, and over NUMBER_LENGTH.
    """
    if text in WORDS:
        return WORDS[text]
    match = _NUMBER.fullmatch(text) if text[0] in "+-.0123456789" else None
    if match is None or match.lastgroup is None:
        return text
    if len(text) > NUMBER_LENGTH:
        raise BadScalar(f"a number of {len(text)} characters; the limit is {NUMBER_LENGTH}")
    if re.fullmatch("-0+", text):
        raise BadScalar(f"{text} is the integer 0, without a sign", "write 0, or -0.0")
    if match.lastgroup != "float":
        return int(match[match.lastgroup], _BASES[match.lastgroup])
    number = float(text)
    if math.isinf(number):
        infinity = "-.inf" if number < 0 else ".inf"
        raise BadScalar(f"{quoted(text)} is outside float64", f"write {infinity} for infinity")
    return number


def tagged(tag: str, text: str) -> PlainScalar:
    """Return the value of a scalar under one of TAGS or "!", the mark of a string.

    Raises BadScalar.
    """
    word = tag.removeprefix(_CORE)
    if word in ("!", "str"):
        return text
    is_whole = word == "float" and re.fullmatch("[-+]?[0-9]+", text)
    value = resolve(f"{text}." if is_whole else text)
    if _SPELT[type(value)] != word:
        raise BadScalar(f"{quoted(text)} is not a {shown(tag)}")
    return value


def named(value: object) -> str:
    """Name the type of a value that is not a text."""
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    return "a truth value" if isinstance(value, bool) else "a number"


def shown(tag: str) -> str:
    """Return a tag as one writes it."""
    if tag.startswith(_CORE):
        return "!!" + quoted(tag.removeprefix(_CORE))[1:-1]
    return quoted(tag)[1:-1] if tag.startswith("!") else f"!<{quoted(tag)[1:-1]}>"


def place(mark: Any) -> Mark:
    """Return the place of a parser's mark, which counts from 0."""
    return Mark(mark.line + 1, mark.column + 1)


def unreadable(error: Exception, text: str, last: Mark) -> Unreadable:
    """Return PyYAML's error as place, message and hint; `last` is the place if it gives none."""
    problem = str(getattr(error, "problem", None) or error)
    at = getattr(error, "problem_mark", None)
    began = getattr(error, "context_mark", None)
    mark = place(at) if at else last
    start = place(began) if began else mark
    for pattern, message, *hints in _WORDS:
        if re.search(pattern, problem):
            char = text[at.index : at.index + 1] if at else ""
            if char == "\t":
                _, message, *hints = _WORDS[0]
            shown_char = repr(char) if char.strip() else "the end of the line"
            start_place = f"line {start.line}, column {start.column}"
            hint = _HINTS.get(hints[0], hints[0]) if hints else None
            return Unreadable(
                start if _AT_BEGIN.search(problem) else mark,
                message.format(began=start_place, char=shown_char),
                hint,
            )
    return Unreadable(mark, f"not valid YAML: {problem[:120].splitlines()[0]}")


class _Target(NamedTuple):
    """What an alias stands for: a value, its number of values, and its depth."""

    node: FileNode
    size: int
    depth: int


class Builder:
    """Builds the tree of one file. `last` is where the latest list or mapping begins."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.last = Mark(1, 1)
        self._file = file
        self._problems = problems
        self._problem_limit = len(problems) + PROBLEM_LIMIT
        #: Values that aliases may stand for; the event of one that is not finished.
        self._anchors: dict[str, Any] = {}
        #: Values of plain words, of which the same few come again and again.
        self._plain: dict[str, PlainScalar] = dict(WORDS)
        self._count = 0

    def build(self, parser: Any) -> FileNode:
        """Return the file's only document; raises Unreadable, and the parser's own errors."""
        from yaml import events

        self._next = parser.get_event
        self._events = events
        document: FileNode | None = None
        for event in iter(self._next, None):
            if type(event) is events.DocumentStartEvent:
                mark = place(event.start_mark)
                if document:
                    hint = "a file holds one document: nothing may follow a second '---'"
                    raise Unreadable(mark, "a second document begins here", hint)
                if event.version not in (None, (1, 2)):
                    raise Unreadable(mark, *_WORDS[-1][1:])
                document, _ = self._node(self._next(), 0)
        if not document:
            raise Unreadable(Mark(1, 1), "the file is empty")
        return document

    def _node(self, event: Any, depth: int) -> tuple[FileNode, int]:
        """Return the value that begins here, within so many lists and mappings; and its depth."""
        mark = place(event.start_mark)
        before = self._count
        if type(event) is self._events.AliasEvent:
            target = self._target(event, mark, depth)
            self._add(target.size, mark)
            return target.node, target.depth
        if event.anchor:
            self._anchors[event.anchor] = event
        if type(event) is self._events.ScalarEvent:
            node = FileNode(self._scalar(event, mark), mark, _NO_KEYS)
            height = 0
        else:
            node, height = self._collection(event, mark, depth)
        self._add(1, mark)
        # The same anchor may have been given again within.
        if event.anchor and self._anchors[event.anchor] is event:
            self._anchors[event.anchor] = _Target(node, self._count - before, height)
        return node, height

    def _add(self, size: int, mark: Mark) -> None:
        """Count values; raise Unreadable beyond NODE_LIMIT."""
        self._count += size
        if self._count > NODE_LIMIT:
            hint = "an alias counts as much as what it stands for" if self._anchors else None
            raise Unreadable(mark, f"more than {NODE_LIMIT:,} values", hint)

    def _collection(self, event: Any, mark: Mark, depth: int) -> tuple[FileNode, int]:
        """Return the list or mapping that begins here, and its own depth."""
        self._begin(event, mark, depth)
        end = self._events.CollectionEndEvent
        deepest = 0
        if type(event) is self._events.SequenceStartEvent:
            items: list[FileNode] = []
            while not isinstance(event := self._next(), end):
                item, height = self._node(event, depth + 1)
                items.append(item)
                deepest = max(deepest, height)
            return FileNode(tuple(items), mark, _NO_KEYS), deepest + 1
        entries: dict[str, FileNode] = {}
        keys: dict[str, Mark] = {}
        while not isinstance(event := self._next(), end):
            key = self._key(event, keys, depth + 1)
            value, height = self._node(self._next(), depth + 1)
            deepest = max(deepest, height)
            if key is not None:
                entries[key] = value
        return FileNode(entries, mark, keys), deepest + 1

    def _begin(self, event: Any, mark: Mark, depth: int) -> str:
        """Check the beginning of a list or a mapping; return which it is."""
        self.last = mark
        self._check_depth(mark, depth + 1)
        is_mapping = type(event) is self._events.MappingStartEvent
        kind = "mapping" if is_mapping else "list"
        own_end = ":map" if is_mapping else ":seq"
        tag = event.tag
        if tag and tag != "!" and self._tag_is_known(tag, mark) and not tag.endswith(own_end):
            self._problem(mark, f"a {kind} is not a {shown(tag)}")
        return kind

    def _scalar(self, event: Any, mark: Mark) -> PlainScalar:
        """Return the value of a scalar; 0 with its problem reported."""
        text: str = event.value
        if not (event.style or event.tag) and text in self._plain:
            return self._plain[text]
        # libyaml refuses these itself; nothing could ever print them.
        if event.style and not text.isascii() and re.search("[\ud800-\udfff]", text):
            self._problem(mark, f"{quoted(text)} holds half of a surrogate pair")
        try:
            if event.tag:
                is_known = event.tag == "!" or self._tag_is_known(event.tag, mark)
                return tagged(event.tag, text) if is_known else text
            return text if event.style else self._plain.setdefault(text, resolve(text))
        except BadScalar as bad:
            self._problem(mark, bad.message, bad.hint)
            return 0

    def _key(self, event: Any, keys: dict[str, Mark], depth: int) -> str | None:
        """Return the key that is read, added to those of its mapping; None if it is refused."""
        mark = place(event.start_mark)
        if type(event) is self._events.AliasEvent:
            value = self._target(event, mark, depth).node.value
            text = f"*{event.anchor}"
        elif type(event) is self._events.ScalarEvent:
            value = self._scalar(event, mark)
            text = event.value
            if event.anchor:
                self._anchors[event.anchor] = _Target(FileNode(value, mark), size=1, depth=0)
        else:
            kind = self._begin(event, mark, depth)
            # Nothing that follows can be trusted: this is often text that should be in quotes.
            quotes = "text that begins with [ or { needs quotes"
            raise Unreadable(mark, f"a key must be a word, not a {kind}", quotes)
        if text == "<<" and not event.style:
            message = "'<<' does not merge mappings"
            self._problem(mark, message, "YAML 1.2 has no such thing: write the keys out")
        elif not isinstance(value, str):
            hint = f"write {quoted(text)} in quotes if it is meant as a word" if text else None
            found = f"{quoted(text) if text else 'this'} is {named(value)}"
            self._problem(mark, f"a key must be a word; {found}", hint)
        elif value in keys:
            first = keys[value]
            where = f"line {first.line}, column {first.column}"
            self._problem(mark, f"the key {quoted(value)} stands here again, first at {where}")
        else:
            keys[value] = mark
            return value
        return None

    def _target(self, event: Any, mark: Mark, depth: int) -> _Target:
        """Return what an alias stands for; raises Unreadable if that is not known."""
        self.last = mark
        name = quoted(f"*{event.anchor}")
        if event.anchor not in self._anchors:
            hint = "text that begins with * needs quotes"
            raise Unreadable(mark, f"{name} stands for nothing named before it", hint)
        target = self._anchors[event.anchor]
        if not isinstance(target, _Target):
            raise Unreadable(mark, f"{name} stands within the very thing it names")
        self._check_depth(mark, depth + target.depth)
        return target

    def _check_depth(self, mark: Mark, depth: int) -> None:
        if depth > DEPTH_LIMIT:
            raise Unreadable(mark, f"more than {DEPTH_LIMIT} lists and mappings within each other")

    def _tag_is_known(self, tag: str, mark: Mark) -> bool:
        """Return True for one of TAGS; report any other."""
        if tag not in TAGS:
            hint = "case files are plain data: remove the tag"
            self._problem(mark, f"the tag {shown(tag)} is not allowed", hint)
        return tag in TAGS

    def _problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        if len(self._problems) >= self._problem_limit:
            raise Unreadable(mark, f"more than {PROBLEM_LIMIT:,} problems; reading ends here")
        self._problems.add(self._file, mark, message, hint)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector from searching the tree again and again: it has no cycles."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def read_file(path: Path, problems: Problems) -> FileNode | None:
    """Read one file, as far as it can be used; whatever is wrong with it goes to `problems`."""
    try:
        text = decoded(contents(path))
    except Unreadable as why:
        problems.add(str(path), why.mark, why.message, why.hint)
        return None
    return read_text(text, str(path), problems)


@uncollected()
def read_text(
    text: str, file: str, problems: Problems, *, in_python: bool = False
) -> FileNode | None:
    """Read a text that came from `file`, as `read_file` does; by libyaml, or all in Python."""
    import yaml

    known = len(problems)
    builder = Builder(file, problems)
    in_python = in_python or not yaml.__with_libyaml__
    loader = yaml.SafeLoader if in_python else yaml.CSafeLoader
    try:
        return builder.build(loader(_checked(text)))
    except Unreadable as error:
        stop = error
    # The pure Python parser lets ValueError and OverflowError out for absurd escapes and versions.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if "nesting depth" in str(error) and not in_python:
            # libyaml looks ahead, and has a limit of its own, far beyond the one with a place.
            del problems[known:]
            return read_text(text, file, problems, in_python=True)
        stop = unreadable(error, text, builder.last)
    problems.add(file, stop.mark, stop.message, stop.hint)
    return None


def contents(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises Unreadable."""
    start = Mark(1, 1)
    if "\0" in str(path):
        raise Unreadable(start, "no path holds a NUL character")
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable(start, "this is a folder, not a file")
        # Reading a pipe or a device might never end.
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(start, "this is no regular file")
        if status.st_size > FILE_LIMIT:
            raise _too_large(status.st_size)
        with path.open("rb") as file:
            return file.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        raise Unreadable(start, "there is no such file") from None
    except PermissionError:
        raise Unreadable(start, "this file may not be read (permission denied)") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unreadable(start, f"this file cannot be read: {reason}") from None


def is_wide(data: bytes) -> bool:
    """Return True for text in UTF-16 or UTF-32: it has a mark, or NULs around ASCII."""
    return re.match(rb"\xff\xfe|\xfe\xff|([ -~]\0+){2}|(\0+[ -~]){2}", data) is not None


def decoded(data: bytes) -> str:
    """Return the text of a file. Raises Unreadable where it is not in UTF-8."""
    save = "save it as UTF-8"
    if is_wide(data):
        raise Unreadable(Mark(1, 1), WIDE, save)
    zero = data.find(b"\0")
    if zero >= 0:
        mark = _place(data[:zero].decode(errors="replace"))
        raise Unreadable(mark, "this is a binary file (it holds a NUL byte)")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        mark = _place(data[: error.start].decode())
        message = f"this file is not UTF-8 (byte 0x{data[error.start]:02x})"
        raise Unreadable(mark, message, save) from None


def _checked(text: str) -> str:
    """Return the text without its byte order mark; raises Unreadable if it cannot be parsed."""
    if len(text) > FILE_LIMIT:
        raise _too_large(len(text))
    text = text.removeprefix("\ufeff")
    control = _CONTROL.search(text)
    if control:
        mark = _place(text[: control.start()])
        code = ord(control[0])
        written = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        hint = f"write {written} within double quotes if it is meant"
        raise Unreadable(mark, f"the control character U+{code:04X} is not allowed", hint)
    tags = re.findall("^%TAG|[\n\r\x85\u2028\u2029]%TAG", text) if "%TAG" in text else ()
    if len(tags) > DIRECTIVE_LIMIT:
        raise Unreadable(Mark(1, 1), f"more than {DIRECTIVE_LIMIT} %TAG directives")
    return text


def _too_large(size: int) -> Unreadable:
    message = f"the file has {size / 2**20:.1f} MiB, more than {FILE_LIMIT >> 20} MiB"
    return Unreadable(Mark(1, 1), message, "large tensors are made by fills, or lie in .npy files")


def _place(before: str) -> Mark:
    """Return the place that follows `before`, which begins the file."""
    before = before.removeprefix("\ufeff")
    breaks = list(re.finditer("\r\n|[\n\r\x85\u2028\u2029]", before))
    line_start = breaks[-1].end() if breaks else 0
    return Mark(len(breaks) + 1, len(before) - line_start + 1)


def shipped_folder(name: str) -> Path:
    """Return a folder of what ships with opcheck.

    It is inside the package or, in a checkout, next to it.
    """
    package = Path(opcheck.__file__).parent
    inside = package / f"_{Path(name).name}"
    return inside if inside.is_dir() else package.parent / name


class Kind(StrEnum):
    """What a YAML file of a family of operators holds; the end of its name states which."""

    CASES = ".yaml"
    #: Rulings on sentences of a specification, and the cases that test them.
    CLAUSES = ".clauses.yaml"
    #: Cases of level huge, which no other level reads.
    HUGE = ".huge.yaml"
    #: Arguments that mutants are equivalent to the formula.
    EQUIVALENT = ".equivalent.yaml"


def kind_of(file: Path) -> Kind:
    """Return what a file holds by the end of its name (`.yml` too); any other name is of cases."""
    # Two empty ones in front, for names with fewer suffixes.
    suffixes = ["", "", *map(str.lower, file.suffixes)]
    inner, outer = suffixes[-2:]
    if outer not in (".yaml", ".yml"):
        return Kind.CASES
    others = {
        ".clauses": Kind.CLAUSES,
        ".huge": Kind.HUGE,
        ".equivalent": Kind.EQUIVALENT,
    }
    return others.get(inner, Kind.CASES)


def shipped_files(kind: Kind, domain: str = "") -> list[Path]:
    """Return the shipped files of a kind in order, of all domains or of one folder of `cases`."""
    folder = shipped_folder("cases")
    folders = [folder / domain] if domain else [path for path in folder.iterdir() if path.is_dir()]
    files = (file for one in folders for file in one.glob("*.yaml"))
    return sorted(file for file in files if kind_of(file) is kind)


def shipped_name(file: Path) -> str:
    """Return the name that messages show of a shipped file: its place in the repository."""
    return f"cases/{file.parent.name}/{file.name}"


@cache
def operators_in(shipped: Path) -> tuple[str, ...]:
    """Return the operators that the head of a shipped file names; the rest is not looked at."""
    stated = re.search(r"^op: *(?:\[([^]]+)\]|(\S+))", shipped.read_text("utf-8"), re.MULTILINE)
    return tuple((stated[1] or stated[2]).replace(",", " ").split()) if stated else ()


def shipped_operators() -> list[str]:
    """Return the operators that the heads of the shipped case files name, in order."""
    return sorted({name for file in shipped_files(Kind.CASES) for name in operators_in(file)})


class Mark(NamedTuple):
    """A place in a file: line and column (in characters), both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class FileNode:
    """One value: a scalar, a sequence (tuple) or a mapping (dict, never to be changed)."""

    #: An alias is the node it names: a tree may share nodes, but has no cycle.
    value: PlainScalar | tuple[FileNode, ...] | dict[str, FileNode]
    #: Where the value begins, and a mapping's keys. A key whose value was refused is in neither.
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)

    def plain(self) -> Any:
        """Return the value as fresh lists, dicts and scalars; recursive, as files are not deep."""
        value = self.value
        # Most items are scalars, which are returned without a call.
        if isinstance(value, tuple):
            return [n.plain() if type(n.value) in (tuple, dict) else n.value for n in value]
        if isinstance(value, dict):
            return {key: item.plain() for key, item in value.items()}
        return value

    @property
    def entries(self) -> dict[str, FileNode]:
        """Values of a mapping by key; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[FileNode, ...]:
        """Items of a list; empty for anything else."""
        return self.value if isinstance(self.value, tuple) else ()

    def get(self, *path: str | int) -> FileNode | None:
        """Return the value at a path; None where that leads nowhere."""
        node: FileNode | None = self
        for step in path:
            if node is None:
                return None
            if isinstance(step, str):
                node = node.value.get(step) if isinstance(node.value, dict) else None
            else:
                node = node.items[step] if 0 <= step < len(node.items) else None
        return node

    def without(self, keys: Collection[str]) -> FileNode:
        """Return the mapping without some of its keys."""
        kept = {key: value for key, value in self.entries.items() if key not in keys}
        return FileNode(kept, self.mark, self.keys)

    def at(self, path: Sequence[str | int], *, key: bool = False) -> Mark:
        """Return the start of `path`, or with `key` of its last key; missing steps are skipped."""
        node = self
        mark = self.mark
        for number, step in enumerate(path, 1):
            below = node.get(step)
            if below is None:
                continue
            if key and number == len(path) and isinstance(step, str):
                mark = node.keys.get(step, node.mark)
            else:
                mark = below.mark
            node = below
        return mark


class Problems(list[Problem]):
    """Problems in the order they were found."""

    def add(self, file: str, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note one problem at one place of one file."""
        self.append(Problem(file, mark.line, mark.column, message, hint))

    def raise_if_any(self) -> None:
        """Raise `CaseFileError` with every problem, if there is one."""
        if self:
            raise CaseFileError(self)


class Unreadable(OpcheckError):
    """Reading cannot go on after this; everything but the file's name."""

    def __init__(self, mark: Mark, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.mark = mark


def quoted(text: str) -> str:
    """Return a file's text for use in a message: in quotes, shortened, harmless to a terminal."""
    return repr(text if len(text) <= 60 else text[:59] + "…")
