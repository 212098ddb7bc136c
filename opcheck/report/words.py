"""Texts as all reports show them: harmless where they come from outside, and not too long."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What steers a terminal, reorders its text, or shows as nothing; newline and tab are not in it.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
#: How a character is spelt where there is no Unicode; whatever else is not ASCII is a "?".
ASCII = {
    "·": ".",
    "×": "x",
    "±": "+-",
    "–": "-",
    "−": "-",
    "…": "...",
    "“": '"',
    "”": '"',
    "→": "->",
    "µ": "u",
    "√": "sqrt ",
    "Σ": "sum ",
    "≥": ">=",
    "≤": "<=",
}
#: What differs between reasons of one kind: numbers, and lists of them.
_PARTICULARS = re.compile(r"\[[-\d, ]*\]|-?\d+")
#: How much of a backend's message is shown: lines in the report of a failure, characters in a list.
_LINES = 20
_LENGTH = 200


def clean(text: str) -> str:
    """Text from outside, harmless to a terminal, in lines of its own."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def block(text: str) -> str:
    """Text from outside as a report of a failure shows it: harmless, and not too many lines."""
    lines = clean(text).split("\n")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"… and {plural(len(lines) - _LINES, 'more line')}"]
    return "\n".join(lines)


def ending(text: str) -> str:
    """The last lines of what a program printed: what it died of stands there."""
    lines = clean(text.lstrip("\r\n").rstrip()).split("\n")
    if len(lines) > _LINES:
        left = len(lines) - _LINES + 1
        lines[:left] = [f"… {plural(left, 'line')} before"]
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Text from outside, harmless and in one line."""
    return " ".join(clean(text).split())


def brief(text: str) -> str:
    """Text from outside as a list shows it: harmless, in one line, and short."""
    line = one_line(text)
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 2]} …"


def kind(reason: str) -> str:
    """A reason without what differs between those of one kind."""
    return _PARTICULARS.sub("#", reason)


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `1,031 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def index(place: Sequence[int]) -> str:
    """An element's index: `[0, 2]`."""
    return f"[{', '.join(map(str, place))}]"
