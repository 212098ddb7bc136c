"""Plain scalars by YAML 1.2's core schema, and helpful messages for the parser's errors.

https://yaml.org/spec/1.2.2/#103-core-schema
"""

import math
import re
from typing import Any, Final

from opcheck.errors import OpcheckError
from opcheck.reading.nodes import Mark, PlainScalar, Unreadable, quoted

#: The longest number read. The exact decimal of every float64 fits (1,077 characters), and
#: Python can print every integer of that length (it stops at 4,300 digits).
NUMBER_LENGTH: Final = 2000

#: The plain words that are no numbers and yet no strings.
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
_DECIMAL: Final = re.compile("[-+]?[0-9]+")
#: As an integer it loses the sign that its writer may have wanted.
_MINUS_ZERO: Final = re.compile("-0+")
_BASES: Final = {"int": 10, "octal": 8, "hex": 16}
_KINDS: Final = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}
_CORE: Final = "tag:yaml.org,2002:"
#: The tags a file may state; what each admits is decided by `tagged`.
TAGS: Final = frozenset(_CORE + word for word in (*_KINDS.values(), "seq", "map"))
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


class BadScalar(OpcheckError):
    """A scalar that is no value; the builder adds the place."""


def resolve(text: str) -> PlainScalar:
    """A plain scalar's value; raises BadScalar for -0, beyond float64, over NUMBER_LENGTH."""
    if text in WORDS:
        return WORDS[text]
    match = _NUMBER.fullmatch(text) if text[0] in "+-.0123456789" else None
    if match is None or match.lastgroup is None:
        return text
    if len(text) > NUMBER_LENGTH:
        raise BadScalar(f"a number of {len(text)} characters; the limit is {NUMBER_LENGTH}")
    if _MINUS_ZERO.fullmatch(text):
        raise BadScalar(f"{text} is the integer 0, without a sign", "write 0, or -0.0")
    if match.lastgroup != "float":
        return int(match[match.lastgroup], _BASES[match.lastgroup])
    number = float(text)
    if math.isinf(number):
        infinity = "-.inf" if number < 0 else ".inf"
        raise BadScalar(f"{quoted(text)} is outside float64", f"write {infinity} for infinity")
    return number


def tagged(tag: str, text: str) -> PlainScalar:
    """The value of a scalar under one of TAGS or "!", the mark of a string; raises BadScalar."""
    word = tag.removeprefix(_CORE)
    if word in ("!", "str"):
        return text
    value = resolve(f"{text}." if word == "float" and _DECIMAL.fullmatch(text) else text)
    if _KINDS[type(value)] != word:
        raise BadScalar(f"{quoted(text)} is no {shown(tag)}")
    return value


def named(value: object) -> str:
    """Name the type of a value that is no plain scalar."""
    if value is None:
        return "null"
    if isinstance(value, tuple | dict):
        return "a list" if isinstance(value, tuple) else "a mapping"
    return "a truth value" if isinstance(value, bool) else "a number"


def shown(tag: str) -> str:
    """A tag as one writes it."""
    if tag.startswith(_CORE):
        return "!!" + quoted(tag.removeprefix(_CORE))[1:-1]
    return quoted(tag)[1:-1] if tag.startswith("!") else f"!<{quoted(tag)[1:-1]}>"


def place(mark: Any) -> Mark:
    """A parser's mark, which counts from 0, as ours."""
    return Mark(mark.line + 1, mark.column + 1)


def unreadable(error: Exception, text: str, last: Mark) -> Unreadable:
    """PyYAML's error as place, message and hint; `last` is the place where it gives none."""
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
