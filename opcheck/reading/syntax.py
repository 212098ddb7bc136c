"""The parser's errors in words that help, whichever of PyYAML's two parsers raised them."""

from __future__ import annotations

import re
from typing import Any, Final

from opcheck.reading.nodes import Mark, Unreadable

#: Message and hint for a directive that asks for another YAML.
WRONG_VERSION: Final = (
    "this file asks for another version of YAML",
    "files are read as YAML 1.2: remove the line '%YAML …'",
)

_INDENT: Final = (
    "check the indentation; text that begins with [ { ' or \" must be quoted as a whole"
)
_QUOTE: Final = "text that holds [ ] { } , or ': ' needs quotes"

#: Pattern of the parser's problem → message and hint. In a message {began} is where the thing
#: begun but not ended stands, {char} the character at the place of the error. The first that
#: matches holds.
_WORDS: Final[tuple[tuple[str, str, str | None], ...]] = (
    (r"tab character", "a tab stands where only spaces may indent", "indent with spaces"),
    (r"cannot start any token", "no text can begin with {char}", "put the text in quotes"),
    (r"expected ',' or '\]'", "want ',' or ']' in the list that begins at {began}", _QUOTE),
    (r"expected ',' or '\}'", "want ',' or '}}' in the mapping that begins at {began}", _QUOTE),
    (
        r"expected key|expected '-'|expected <block end>",
        "this does not continue the list or mapping that begins at {began}",
        _INDENT,
    ),
    (
        r"mapping values are not allowed",
        "a ':' stands where no key can end",
        "text that holds ': ' needs quotes; otherwise check the indentation",
    ),
    (r"sequence entries are not allowed", "a '-' stands where no list can begin", _INDENT),
    (r"expected (the )?node content", "want a value, not {char}", _QUOTE),
    (r"unexpected end of stream", "the quotes that open here are never closed", None),
    (
        r"expected ':'",
        "want 'key: value' here, or '- item'",
        "the space after ':' and '-' is needed; check the quotes before this line",
    ),
    (r"unexpected document", "'---' or '...' stands within the quotes of {began}", None),
    (
        r"expected '?<document start>",
        "this stands after the end of the document",
        "check indentation, quotes and brackets",
    ),
    (
        r"expected alphabetic",
        "a name must follow & and *",
        "text that begins with & or * needs quotes",
    ),
    (
        r"unknown escape character",
        "no such escape within double quotes",
        r"write \\ for a backslash, or use single quotes",
    ),
    # The second and third are Python's own words, from the pure Python parser.
    (r"invalid Unicode|^Python int too|^chr\(", "an escape here stands for no character", None),
    (r"undefined tag handle", "the tag here is not allowed", "text with ! needs quotes"),
    (r"incompatible YAML|long version number|^Exceeds the limit", *WRONG_VERSION),
)
#: Errors that are better shown where the thing began than where it went wrong.
_AT_BEGIN: Final = re.compile(r"unexpected end of stream|expected ':'")


def place(mark: Any) -> Mark:
    """A parser's mark, which counts from 0, as ours."""
    return Mark(mark.line + 1, mark.column + 1)


def unreadable(error: Exception, text: str, last: Mark) -> Unreadable:
    """What PyYAML raised, as a place, a message and a hint.

    `last` is the place to name where the parser gives none.
    """
    problem = str(getattr(error, "problem", None) or error)
    at = getattr(error, "problem_mark", None)
    began = getattr(error, "context_mark", None)
    mark = place(at) if at else last
    start = place(began) if began else mark
    for pattern, message, hint in _WORDS:
        if re.search(pattern, problem):
            char = text[at.index : at.index + 1] if at else ""
            if char == "\t":
                _, message, hint = _WORDS[0]
            shown = repr(char) if char.strip() else "the end of the line"
            where = f"line {start.line}, column {start.column}"
            message = message.format(began=where, char=shown)
            return Unreadable(start if _AT_BEGIN.search(problem) else mark, message, hint)
    return Unreadable(mark, f"no valid YAML: {problem[:120].splitlines()[0]}")
