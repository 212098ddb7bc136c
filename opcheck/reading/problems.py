"""Collecting what is wrong with files, so that a user sees all of it at once."""

from __future__ import annotations

from collections.abc import Iterator

from opcheck.errors import CaseFileError, Problem
from opcheck.reading.nodes import Mark


class Problems:
    """Problems in the order they were found; false while there is none."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, file: str, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note one problem at one place of one file."""
        self._found.append(Problem(file, mark.line, mark.column, message, hint))

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def raise_if_any(self) -> None:
        """Raise `CaseFileError` with every problem, if there is one."""
        if self._found:
            raise CaseFileError(self._found)


class Unreadable(Exception):
    """Reading cannot go on after this; everything but the file's name."""

    def __init__(self, mark: Mark, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.mark = mark
        self.message = message
        self.hint = hint


def quoted(text: str, length: int = 60) -> str:
    """A file's text for use in a message: in quotes, shortened, and harmless to a terminal."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")
