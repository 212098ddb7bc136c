"""Lines of aligned cells that are printed one by one, before it is known what those to come hold.

Where a console has no Unicode, everything is spelt in ASCII.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from opcheck.report import words

_ASCII = str.maketrans(words.ASCII)
_NO_BREAK = "\xa0"


def together(text: str) -> str:
    """The text as words that a paragraph keeps in one line."""
    return text.replace(" ", _NO_BREAK)


@dataclass(frozen=True)
class Column:
    """What stands above cells, and how wide they are; numbers are flush right."""

    name: str
    width: int
    left: bool = False

    def cell(self, text: str) -> str:
        """The text with blanks on its left or right."""
        blanks = " " * (self.width - cell_len(text))
        return text + blanks if self.left else blanks + text


class Lines:
    """A console to print lines on; a part of one is a text with its style."""

    def __init__(self, console: Console) -> None:
        self.width = console.width
        self.ascii_only = console.options.ascii_only
        self._console = console

    def blank(self) -> None:
        """Print an empty line."""
        self._console.print()

    def put(self, *parts: tuple[str, str]) -> None:
        """Print a line, however wide."""
        line = Text.assemble(*((self._spelt(text), style) for text, style in parts))
        line.rstrip()
        self._console.print(line, soft_wrap=True)

    def fill(self, text: str, style: str = "") -> None:
        """Print a paragraph, broken at no space of `together`.

        Rich would leave blanks at the ends of its lines.
        """
        spelt = _NO_BREAK.join(map(self._spelt, text.split(_NO_BREAK)))
        for line in textwrap.wrap(
            spelt,
            self.width,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        ):
            self.put((line.replace(_NO_BREAK, " "), style))

    def head(self, columns: Sequence[Column], gap: str) -> None:
        """Print what stands above columns."""
        self.put((gap.join(column.cell(self._spelt(column.name)) for column in columns), "dim"))

    def row(self, columns: Sequence[Column], cells: Sequence[tuple[str, str]], gap: str) -> None:
        """Print a line of cells; a first that is too wide stands in a line of its own."""
        spelt = [(self._spelt(text), style) for text, style in cells]
        if cell_len(spelt[0][0]) > columns[0].width:
            self.put(spelt[0])
            spelt[0] = ("", "")
        parts: list[tuple[str, str]] = []
        for column, (text, style) in zip(columns, spelt, strict=True):
            parts += [(gap if parts else "", ""), (column.cell(text), style)]
        self.put(*parts)

    def _spelt(self, text: str) -> str:
        spelt = words.clean(text)
        if not self.ascii_only:
            return spelt
        return spelt.translate(_ASCII).encode("ascii", "replace").decode()
