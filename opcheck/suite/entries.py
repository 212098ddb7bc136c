"""The text that a case is written in: its entry in a case file, and what the file's head adds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opcheck import reading
from opcheck.model import Source
from opcheck.suite.discovery import is_case_file

#: The lists of a case file. What stands above them holds for all their entries.
_LIST = re.compile(r"(?:cases|bench)\s*:")
_NO_CONTENT = re.compile(r"\s*(?:#.*)?$")


@dataclass(frozen=True)
class WrittenCase:
    """The text of a case: its entry in `file`, and the lines of the file's head.

    Of an entry with rows, a line each, only the row of the case is there, at `line`. Comments are
    left out of the head, and at the end of the entry.
    """

    file: Path
    line: int
    entry: tuple[str, ...]
    head: tuple[str, ...]


def written_case(source: Source) -> WrittenCase | None:
    """Return the text of a case, or None if it stands in no case file, as a model does not.

    Raises OSError if the file cannot be read any more.
    """
    file = Path(source.file)
    if source.shipped:
        file = reading.shipped_folder("cases") / Path(*file.parts[1:])
    if not source.line or not is_case_file(file):
        return None
    lines = file.read_text("utf-8", errors="replace").splitlines()
    row = source.line - 1
    start = _start_of_entry(lines, row)
    entry = _entry(lines, start)
    if row > start and _is_item(lines[row]):
        entry = _without_other_rows(entry, row - start)
    while _NO_CONTENT.match(entry[-1]):
        entry = entry[:-1]
    return WrittenCase(file, source.line, tuple(entry), _head(lines))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_item(line: str) -> bool:
    """Return True for a line that begins an item of a list."""
    return line.lstrip().startswith("- ")


def _start_of_entry(lines: Sequence[str], row: int) -> int:
    """Return the number of the line, from 0, that begins the entry around a row."""
    lists = [number for number in range(row) if _LIST.match(lines[number])]
    first = lists[-1] + 1 if lists else 0
    items = [number for number in range(first, row + 1) if _is_item(lines[number])]
    if not items:
        return row
    outer = min(_indent(lines[number]) for number in items)
    return max(number for number in items if _indent(lines[number]) == outer)


def _entry(lines: Sequence[str], start: int) -> list[str]:
    """Return the line that begins an entry, and those after it that are indented further."""
    entry = [lines[start]]
    for line in lines[start + 1 :]:
        if not _NO_CONTENT.match(line) and _indent(line) <= _indent(lines[start]):
            break
        entry.append(line)
    return entry


def _without_other_rows(entry: Sequence[str], row: int) -> list[str]:
    """Return an entry whose line `row` begins a row, without the rows beside it."""
    dash = _indent(entry[row])
    kept = []
    is_kept = True
    for number, line in enumerate(entry):
        if _is_item(line) and _indent(line) == dash:
            is_kept = number == row
        elif not _NO_CONTENT.match(line) and _indent(line) <= dash:
            is_kept = True
        if is_kept:
            kept.append(line)
    return kept


def _head(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines with content above the first list of cases."""
    head = []
    for line in lines:
        if _LIST.match(line):
            break
        if not _NO_CONTENT.match(line):
            head.append(line)
    return tuple(head)
