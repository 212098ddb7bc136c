"""Rewrite a user's ledger; the rest keeps its words, comments and order."""

import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, FoldedScalarString

from opcheck.errors import UsageError
from opcheck.reading import FileNode, Mark

#: The width of written text, where it can be broken.
_WIDTH = 96
#: No line of the user's own is broken anew.
_ENDLESS = 1 << 20

_NEW = """\
# What {backend} is known to fail: `opcheck run --known THIS_FILE` is green as long as
# just this fails, and in just this way. The causes are guesses from what the failures look like:
# say why it is so, and where it is worked on (link: https://…).
backend: {backend}
known: []
"""


@dataclass(frozen=True)
class Revision:
    """Changes to a ledger: entries to append, and the places, if any, that replace another."""

    added: Sequence[Mapping[str, Any]] = ()
    replaced: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced)


def new_ledger(backend: str) -> str:
    """A ledger in which nothing is listed yet."""
    (line,) = _dumped([backend if backend.isprintable() else DoubleQuotedScalarString(backend)])
    return _NEW.format(backend=line.removeprefix("- "))


def revised(text: str, node: FileNode, file: str, revision: Revision) -> str:
    """The text of a ledger, read as `node`, revised; raises UsageError for entries in brackets."""
    sheet = _Sheet(text.splitlines())
    entries = _items(node, "known")
    if entries and not all(map(sheet.is_item, entries)):
        message = f"{file}: the entries are written in brackets, and cannot be revised"
        raise UsageError(message, "write each with a '-' in lines of its own")
    gone = 0
    for number in sorted({entry for entry, _ in revision.replaced}):
        replaced = {p: new for (e, p), new in revision.replaced.items() if e == number}
        where = _items(node, "known", number, "where")
        if len(replaced) == len(where) and not any(replaced.values()):
            sheet.put(sheet.span(entries[number]), [])
            gone += 1
        elif all(map(sheet.is_item, where)):
            for place, others in replaced.items():
                sheet.put(sheet.span(where[place]), _dumped([*map(_place, others)]))
        else:
            sheet.put(sheet.span(entries[number]), sheet.rewritten(entries[number], replaced))
    key = node.keys["known"]
    if revision.added:
        last = sheet.span(entries[-1]) if entries else None
        dash = last.dash if last else key.column - 1
        end = last.end if last else key.line
        sheet.put(_Span(end, end, dash), _dumped([*map(_entry, revision.added)]))
    if bool(revision.added) > bool(entries) or gone == len(entries) > 0 == len(revision.added):
        sheet.mend(key, empty=not revision.added)
    return sheet.text()


@dataclass(frozen=True)
class _Span:
    """The lines of an item of a list, from 0, and the column of its dash, from 0."""

    begin: int
    end: int
    dash: int


class _Sheet:
    """The lines of a file, and the edits to make."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.edits: list[tuple[_Span, list[str]]] = []

    def is_item(self, mark: Mark) -> bool:
        """Return True if a dash precedes `mark` and begins its line."""
        return self.lines[mark.line - 1][: mark.column - 1].strip() == "-"

    def span(self, mark: Mark) -> _Span:
        """The lines of an item; comments below it belong to the next."""
        begin = mark.line - 1
        dash = self.lines[begin].index("-")
        end = begin + 1
        for number in range(begin + 1, len(self.lines)):
            line = self.lines[number]
            depth = len(line) - len(line.lstrip())
            is_content = bool(line.strip()) and (not line.lstrip().startswith("#") or depth > dash)
            if is_content and depth <= dash:
                break
            end = number + 1 if is_content else end
        return _Span(begin, end, dash)

    def put(self, span: _Span, lines: Sequence[str]) -> None:
        """Replace a span by lines that begin in the first column."""
        self.edits.append((span, [" " * span.dash + line for line in lines]))

    def rewritten(self, mark: Mark, replaced: dict[int, Sequence[Mapping[str, Any]]]) -> list[str]:
        """Return an entry whose places stand in brackets, with some of them replaced."""
        span = self.span(mark)
        own = [line[span.dash :] for line in self.lines[span.begin : span.end]]
        (entry,) = _round_trip().load("\n".join(own))
        where = entry["where"]
        for place in sorted(replaced, reverse=True):
            where[place : place + 1] = [*map(_place, replaced[place])]
        entry["where"] = [*where]
        return _dumped([entry])

    def mend(self, key: Mark, *, empty: bool) -> None:
        """Write the list of entries as empty, or no longer so."""
        line = self.lines[key.line - 1]
        head, colon, rest = line.partition(":")
        rest = re.sub(r"^\s*(\[\s*\]|~|null)", "", rest, flags=re.IGNORECASE)
        changed = f"{head}{colon}{' []' * empty}{rest}"
        self.edits.append((_Span(key.line - 1, key.line, 0), [changed]))

    def text(self) -> str:
        lines = [*self.lines]
        for span, others in sorted(self.edits, key=lambda edit: edit[0].begin, reverse=True):
            lines[span.begin : span.end] = others
        return "\n".join(lines) + "\n"


def _items(node: FileNode, *path: str | int) -> list[Mark]:
    """Return where the items of a list begin; empty for an empty list."""
    found = node.get(*path)
    return [item.mark for item in found.items] if found else []


def _round_trip() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _ENDLESS
    return yaml


def _dumped(items: Sequence[Any]) -> list[str]:
    file = io.StringIO()
    _round_trip().dump([*items], file)
    return file.getvalue().splitlines() if items else []


def _entry(new: Mapping[str, Any]) -> Any:
    made = {"cause": _folded(new["cause"]), "where": [*map(_place, new["where"])]}
    return CommentedMap({name: made.get(name, value) for name, value in new.items() if value})


def _folded(text: str) -> Any:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2 or " ".join(lines) != text:
        return text
    folded = FoldedScalarString(text)
    folded.fold_pos = [end - 1 for end in accumulate(len(line) + 1 for line in lines[:-1])]
    return folded


def _place(fields: Mapping[str, Any]) -> Any:
    """A place in one line or, if too long, a line for each field."""
    long = sum(len(str(item)) + 2 for pair in fields.items() for item in pair) > _WIDTH - 4
    place = CommentedMap(fields)
    for name, value in fields.items():
        if isinstance(value, list | dict):
            place[name] = CommentedSeq(value) if isinstance(value, list) else CommentedMap(value)
            # Each item of a long list has its own line, so that users can delete it.
            if not (long and isinstance(value, list) and len(str(value)) > _WIDTH // 2):
                place[name].fa.set_flow_style()
    if not long:
        place.fa.set_flow_style()
    return place
