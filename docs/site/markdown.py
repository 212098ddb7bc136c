"""Texts of the product as Markdown: escaped, in tables, and folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import cycle

#: Characters that may begin markup; a backslash before them shows them as they are.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>|$~#]")


def escaped(text: str) -> str:
    """Return a text in one line so that Markdown shows it literally, also in a table."""
    return _literal(" ".join(text.split()))


def _literal(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """Return a text of one line as code within a line, also in a table."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


def fenced(text: str, language: str = "text") -> Iterator[str]:
    """Yield the lines of a block of code, with an empty line around it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from ("", f"{fence}{language}", *text.rstrip("\n").split("\n"), fence, "")


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that a reader unfolds by a click on their title."""
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>", "")


def prose(text: str) -> str:
    """Return a text of the code as Markdown in one line: all is literal but code in backticks."""
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        code(piece[1:-1]) if is_code else _literal(piece)
        for piece, is_code in zip(pieces, cycle((False, True)), strict=False)
    )
