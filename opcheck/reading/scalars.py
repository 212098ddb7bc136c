"""YAML 1.2's core schema: which value a plain word is, and which tags there are.

https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import math
import re
from typing import Final

from opcheck.reading.nodes import Scalar, quoted

#: The longest number read. The exact decimal of every float64 fits (1,077 characters), and
#: Python can print every integer of that length (it stops at 4,300 digits).
NUMBER_LENGTH: Final = 2000

#: The plain words that are no numbers and yet no strings.
WORDS: Final[dict[str, Scalar]] = {
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


class BadScalar(Exception):
    """A scalar that is no value; the builder adds the place."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def resolve(text: str) -> Scalar:
    """The value of a plain (unquoted, untagged) scalar.

    Raises BadScalar for -0 and for a number beyond float64 or longer than NUMBER_LENGTH.
    """
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


def tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar under one of TAGS or "!" (the mark of a string).

    Raises BadScalar where the text is no such thing.
    """
    word = tag.removeprefix(_CORE)
    if word in ("!", "str"):
        return text
    value = resolve(f"{text}." if word == "float" and _DECIMAL.fullmatch(text) else text)
    if _KINDS[type(value)] != word:
        raise BadScalar(f"{quoted(text)} is no {shown(tag)}")
    return value


def named(value: object) -> str:
    """What a value that is no word is, in words."""
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
