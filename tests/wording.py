"""Texts of the product, held in files beside the tests and not in the tests.

A test compares an exception's class, a code or a field by itself, and a text with the fixture
`wording`, which stands for what is stored of that test:

    def test_an_unknown_backend_is_named(wording):
        with pytest.raises(UsageError) as raised:
            connect("nunpy")
        assert raised.value == wording

Each comparison of a test has a text of its own, in the order in which they are made. All texts of
`tests/cli/test_run.py` are in `tests/cli/snapshots/test_run.txt`: a line with the test's name and
parameters, and the text below it, indented. `pytest --update-snapshots` writes what is new or
different.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path

from opcheck.errors import OpcheckError

#: Parameters of a test that are longer stand in the file as their number.
_LONGEST_PARAMETERS = 80
_INDENT = "    "
#: What onnx and Python say in a message of ours, which differs from release to release.
_OF_OTHERS = re.compile(
    r"(Error parsing message|No Op registered|The model does not have|'utf-8' codec|Exceeds the"
    r"|the magic string|Unable to extract tag|it has \w+ExecutionProvider).*"
)
#: An option that does not exist, which each release of click words and helps with in another way.
_NO_OPTION = re.compile(r"No such option:? '?(-[\w-]+)'?.*")
#: A backend of an installed package, with its version.
_RELEASE = re.compile(r"\b(numpy|onnxruntime|openvino|reference|torch|tract)(\?\S*)? \d+\.\d\S*")
_LINE = re.compile(r"((?:\{root\}|opcheck|tests)/[\w/]+\.py):\d+")
_HASH = re.compile(r"\b[0-9a-f]{12}…")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

Texts = dict[str, str]


def lines_with(text: str | Sequence[str], part: str) -> str:
    """Return the lines of a text, or of a list of lines, that have this part; at least one must."""
    lines = text.splitlines() if isinstance(text, str) else text
    found = [line for line in lines if part in line]
    assert found, f"no line has {part!r}:\n{text}"
    return "\n".join(found)


def without_times(text: str) -> str:
    """Return a text with `#` for how many times something is, in which machines differ."""
    return re.sub(r"\d[\d.,e+]* times", "# times", text)


def text_of(value: object) -> str:
    """Return a text, the lines of a list, or what a user sees of an exception."""
    if isinstance(value, OpcheckError):
        return "\n".join(value.lines())
    if isinstance(value, (list, tuple)):
        return "\n".join(text_of(item) for item in value)
    if value is None or isinstance(value, (str, Exception)):
        return str(value)
    raise TypeError(f"this is not a text: {value!r}")


def read(file: Path) -> Texts:
    """Return the texts of a file by their headings."""
    texts: dict[str, list[str]] = {}
    if not file.is_file():
        return {}
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith(_INDENT):
            lines = texts.setdefault(line, [])
        else:
            lines.append(line.removeprefix(_INDENT))
    return {heading: "\n".join(lines).strip() for heading, lines in texts.items()}


def write(file: Path, texts: Texts) -> None:
    """Write the texts in the order of their headings, without spaces at the ends of lines."""
    parts = []
    for heading, text in sorted(texts.items(), key=lambda item: _in_order(item[0])):
        lines = [heading, *(f"{_INDENT}{line}" for line in text.split("\n"))]
        parts.append("".join(f"{line.rstrip()}\n" for line in lines))
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(parts), encoding="utf-8", newline="\n")


def test_of(heading: str) -> str:
    """Return the name of the test that a heading belongs to."""
    return re.split(r"[ \[]", heading, maxsplit=1)[0]


def _in_order(heading: str) -> list[tuple[int, str]]:
    """Sort numbers in headings as numbers."""
    return [
        (int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", heading)
    ]


#: What a file holds, kept in this process for the next test of the same file.
_stored = cache(read)


class Wording:
    """The stored texts of one test: equal to the text that is compared with it next."""

    def __init__(
        self, file: Path, heading: str, places: Mapping[str, str], *, update: bool
    ) -> None:
        self._file = file
        self._heading = heading
        self._places = places
        self._update = update
        self._numbers = count(1)
        self._expected = "…"

    def __eq__(self, value: object) -> bool:
        number = next(self._numbers)
        heading = self._heading if number == 1 else f"{self._heading} ({number})"
        found = self._normal(text_of(value))
        texts = _stored(self._file)
        if self._update and texts.get(heading) != found:
            texts[heading] = found
            write(self._file, texts)
        self._expected = texts.get(heading, "nothing is stored: write it with --update-snapshots")
        return found == self._expected

    __hash__ = None  # type: ignore[assignment]  # a set would not compare

    def __repr__(self) -> str:
        """Return the text that was expected last, for the message of a failed assertion."""
        return repr(self._expected)

    def _normal(self, text: str) -> str:
        """Return a text without what differs from machine to machine, and with printable marks."""
        for place, name in self._places.items():
            text = text.replace(place, name)
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip()
        text = _OF_OTHERS.sub("{a text of others}", text)
        text = _NO_OPTION.sub(r"No such option '\1'", text)
        text = _RELEASE.sub(r"\1\2 {release}", text)
        text = _HASH.sub("{hash}…", text)
        text = _LINE.sub(r"\1:{line}", text)
        return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def heading_of(name: str, original: str, indices: Sequence[int]) -> str:
    """Return a test's name with its parameters, or with their numbers if those are long."""
    if len(name) - len(original) <= _LONGEST_PARAMETERS:
        return name
    return f"{original}[#{'-'.join(map(str, indices))}]"
