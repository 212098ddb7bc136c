r"""RegexFullMatch, all versions: whether a pattern of RE2 matches a whole text.

"RE2 regex syntax is used": https://github.com/google/re2/wiki/Syntax. Python's module `re` matches,
by a pattern that means the same there. These parts of a pattern differ:

- Classes are of ASCII, and \s is [\t\n\f\r ] without the vertical tab.
- `$` without the flag m is \z, the very end of the text, which Python spells \Z.
- An empty match may be repeated, as in `^*`; there a group stands around it.
- Sets may hold named classes, [[:alpha:]].
- \Q...\E quotes, \x{10FFFF} has up to six digits.
- What the page marks NOT SUPPORTED, as (?=re) and \1, is no pattern, and nothing repeats more than
  1000 times.

The engine declines what Python has no like of: Unicode's classes, and flags that hold from the
middle of a pattern.

The parts of the file: the parts of a pattern; what they are in Python; the formula; its mutants.
"""

import re
from collections.abc import Callable, Mapping
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.engine.operators import formula_builder, operator
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, NotSupported, decline
from opcheck.numbers import Array

OP = operator("RegexFullMatch", exact=True)

NO_PATTERN = Ruling(
    "no-pattern",
    "The pattern has no default, and is no mandatory attribute.",
    ("empty", "anything", "refused"),
)
#: RE2's largest number of repetitions.
MOST_REPETITIONS = 1000

# ── the parts of a pattern ────────────────────────────────────────────────────────────────────

#: What Python has for parts outside of sets that it reads otherwise, or does not repeat.
OUTSIDE_OF_SETS: Mapping[str, str] = {
    r"\s": r"[\t\n\f\r ]",
    r"\S": r"[^\t\n\f\r ]",
    r"\B": r"(?:(?!\b))",
    r"\b": r"(?:\b)",
    "$": r"(?:\Z)",
    r"\z": r"(?:\Z)",
    "^": "(?:^)",
    r"\A": r"(?:\A)",
    "{": r"\{",
}
#: The same within sets.
IN_SETS: Mapping[str, str] = {
    r"\s": r"\t\n\f\r ",
    "[": r"\[",
    "&": r"\&",
    "|": r"\|",
    "~": r"\~",
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:ascii:]": r"\0-\x7f",
    "[:blank:]": r"\t ",
    "[:cntrl:]": r"\0-\x1f\x7f",
    "[:digit:]": "0-9",
    "[:graph:]": "!-~",
    "[:lower:]": "a-z",
    "[:print:]": " -~",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\t\n\v\f\r ",
    "[:upper:]": "A-Z",
    "[:word:]": "0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}
CLASS_NAMES = "|".join(re.escape(name) for name in IN_SETS if name.startswith("[:"))
REPETITION = r"(?:[*+?]|\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})"
#: An escape that is one character: by a letter, by its number, or of punctuation.
CHARACTER = (
    r"\\[aftnrv]"
    r"|\\x[0-9A-Fa-f]{2}|\\x\{[0-9A-Fa-f]{1,6}\}|\\0[0-7]{0,2}|\\[1-3][0-7]{2}"
    r"|\\[!-/:-@\[-^`{-~]"
)
#: An item of a set. A class is no end of a range, and no range begins with a hyphen.
ITEM_OF_SET = rf"""
    (?:\\[dDwW] | (?<!-)\\s)(?!-[^]])
    | {CHARACTER}
    | --(?=\])
    | (?!--)[^]\\[]
    | (?<!-)(?:{CLASS_NAMES})(?!-[^]])
    | \[(?!:)
"""
#: What the page marks NOT SUPPORTED, or has not: escapes, lookaround and the like, sets without an
#: end.
NOT_OF_RE2 = r"""
    \\(?:[1-7](?![0-7]) | [89ceg-moquyF-ORTUVX-Z] | \Z)
    | \(\?(?:[=!\#>|&(] | <[=!] | P[=>])
    | \[\^?+\]?+(?:\[:\^?\w+:\] | \\. | [^]\\])*+\Z
"""
#: One part of a pattern. A part outside of the named groups is spelled alike in Python, or is a key
#: of OUTSIDE_OF_SETS.
PART = re.compile(
    rf"""
    \A\(\?[is]+\)
    | (?P<times>{REPETITION})\??(?P<again>{REPETITION})?
    | \((?:(?!\?) | \?(?:P(?P<name><[A-Za-z_][0-9A-Za-z_]*>) | (?:is?|si?|i-s|s-i|-is?|-si?)?:))
    | \[(?P<set>\^?+\]?+(?:{ITEM_OF_SET})*+\])
    | \\Q(?P<quoted>.*?)(?:\\E|\Z)
    | \\[dDwWsSAbBz]
    | {CHARACTER}
    | [^\\(\[]
    | (?P<wrong>{NOT_OF_RE2})
    | (?P<unknown>.)
    """,
    re.DOTALL | re.VERBOSE,
)
#: What of a set is not alike in Python.
OTHER_IN_SETS = re.compile(rf"\\x\{{\w+\}}|\\.|{CLASS_NAMES}|[\[&|~]")

# ── the pattern in Python ─────────────────────────────────────────────────────────────────────


def in_python(part: re.Match[str]) -> str:
    """Return a part of a pattern as Python spells it; `part` is a match of PART.

    Raises InvalidNode for what RE2 does not support, for a repetition of a repetition, and for one
    of more than MOST_REPETITIONS. Raises NotSupported for what PART does not know: Unicode's
    classes, and flags from the middle of a pattern on.
    """
    unread = part.string[part.start() :]
    decline(part["unknown"], f"the engine does not read {unread!r}")
    numbers = re.findall("[0-9]+", part["times"] or "")
    is_too_often = any(int(number) > MOST_REPETITIONS for number in numbers)
    if part["wrong"] or part["again"] or is_too_often:
        raise InvalidNode(f"{part[0]!r} is no part of a pattern of RE2")
    if part["quoted"] is not None:
        return re.escape(part["quoted"])
    if part["set"]:
        return "[" + OTHER_IN_SETS.sub(in_python_set, part["set"])
    if part["name"]:
        # Names may be there twice, and nothing refers to them.
        return "("
    return character_in_python(part[0], OUTSIDE_OF_SETS)


def in_python_set(part: re.Match[str]) -> str:
    """Return a part of a set as Python spells it; `part` is a match of OTHER_IN_SETS."""
    return character_in_python(part[0], IN_SETS)


def character_in_python(part: str, spellings: Mapping[str, str]) -> str:
    r"""Return a part as Python spells it: by these spellings, and \x{…} in eight digits.

    A part that has no spelling there is returned as it is.
    """
    if part.startswith(r"\x{"):
        number = int(part[3:-1], 16)
        return rf"\U{number:08x}"
    return spellings.get(part, part)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of RE2 as one of Python, whose classes are of ASCII.

    Raises InvalidNode for a pattern that RE2 does not have, or repeats more than MOST_REPETITIONS
    times, and for one that Python refuses, as of an open parenthesis. Raises NotSupported for
    Unicode's classes, flags from the middle of a pattern on, and some hundred groups within each
    other.
    """
    try:
        return re.compile(PART.sub(in_python, pattern), re.ASCII)
    except re.error as error:
        raise InvalidNode(f"pattern {pattern!r}: {error}") from None
    except RecursionError:
        raise NotSupported("the engine does not read so many groups within each other") from None


def check_is_decided(pattern: str, texts: list[str]) -> None:
    """Raise NotSupported where Python may decide otherwise than RE2.

    That is a pattern with the flag i where it or a text has a character beyond ASCII, and a
    repeated group if the product of all counts of repetitions is above MOST_REPETITIONS.
    """
    is_of_ascii = "".join([pattern, *texts]).isascii() and r"\x{" not in pattern
    if re.search(r"\(\?[s-]*i", pattern) and not is_of_ascii:
        raise NotSupported("the engine does not know the cases of letters beyond ASCII")
    repetitions = map(int, re.findall(r"[0-9]+(?=[0-9,]*\})", pattern))
    if "){" in pattern and prod(repetitions) > MOST_REPETITIONS:
        raise NotSupported("the engine does not count the repetitions of repetitions")


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: Returns something true if a pattern matches a text.
Match: TypeAlias = Callable[[re.Pattern[str], str], object]


@formula_builder(20)
def regex_full_match(match: Match, X: Array, *, pattern: str | None) -> Array:
    """Return booleans in the shape of X: which texts `match` by the pattern.

    X has texts of any shape; without any there are no booleans. A pattern of None is read as the
    empty one, as one that matches anything, or raises InvalidNode: NO_PATTERN.

    Raises InvalidNode unless the pattern is "valid RE2 syntax", also where X is empty. Raises
    NotSupported for what the engine does not read: Unicode's classes, flags from the middle of a
    pattern on, cases of letters beyond ASCII, some hundred groups within each other, and
    repetitions of repetitions above MOST_REPETITIONS.
    """
    if pattern is None:
        pattern = pattern_by_default()
    program = compiled(pattern)
    texts = X.reshape(-1).tolist()
    check_is_decided(pattern, texts)
    return np.array([bool(match(program, text)) for text in texts], np.bool_).reshape(X.shape)


def pattern_by_default() -> str:
    """Return the pattern of a node without one: NO_PATTERN.

    It is the empty one, or one that matches any text. Raises InvalidNode if the ruling refuses the
    node.
    """
    reading = NO_PATTERN.reading()
    if reading == "refused":
        raise InvalidNode("there is no pattern")
    return "" if reading == "empty" else "(?s).*"


def matched_fully(program: re.Pattern[str], text: str) -> bool:
    """Return True if "an element fully matches the regex pattern"."""
    return program.fullmatch(text) is not None


OP.formula(build=regex_full_match)(matched_fully)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def matched_anywhere(program: re.Pattern[str], text: str) -> bool:
    """Mutant: the pattern matches a part of the text."""
    return program.search(text) is not None


def matched_at_the_beginning(program: re.Pattern[str], text: str) -> bool:
    """Mutant: the pattern matches the beginning."""
    return program.match(text) is not None


def first_match_alone(program: re.Pattern[str], text: str) -> bool:
    """Mutant: only the first match at the beginning is tried."""
    first = program.match(text)
    return first is not None and first.end() == len(text)


def last_line_break_ignored(program: re.Pattern[str], text: str) -> bool:
    """Mutant: a line break at the end is ignored."""
    return matched_fully(program, text.removesuffix("\n"))


def pattern_is_a_text(program: re.Pattern[str], text: str) -> bool:
    """Mutant: the pattern is a text."""
    return program.pattern == text


def vertical_tab_is_whitespace(program: re.Pattern[str], text: str) -> bool:
    r"""Mutant: \s holds the vertical tab."""
    pattern = program.pattern.replace(r"\t\n\f\r ", r"\s")
    return re.fullmatch(pattern, text, re.ASCII) is not None


def case_ignored(program: re.Pattern[str], text: str) -> bool:
    """Mutant: the case of letters is ignored."""
    return re.fullmatch(program.pattern, text, re.ASCII | re.IGNORECASE) is not None


def dot_is_a_line_break_too(program: re.Pattern[str], text: str) -> bool:
    """Mutant: a dot matches line breaks too."""
    return re.fullmatch(program.pattern, text, re.ASCII | re.DOTALL) is not None


def classes_of_unicode(program: re.Pattern[str], text: str) -> bool:
    """Mutant: classes hold letters and digits beyond ASCII."""
    return re.fullmatch(program.pattern, text) is not None


OP.mutant_table(
    {
        "matched_anywhere": ("the pattern had to match a part of the text", matched_anywhere),
        "matched_at_the_beginning": (
            "the pattern had to match the beginning",
            matched_at_the_beginning,
        ),
        "first_match_alone": (
            "the first match at the beginning had to be the whole text",
            first_match_alone,
        ),
        "last_line_break_ignored": (
            "a line break at the end was ignored",
            last_line_break_ignored,
        ),
        "pattern_is_a_text": ("the pattern was a text", pattern_is_a_text),
        "vertical_tab_is_whitespace": (
            r"\\s held the vertical tab",
            vertical_tab_is_whitespace,
        ),
        "case_ignored": ("the case of letters was ignored", case_ignored),
        "dot_is_a_line_break_too": ("a dot matched line breaks too", dot_is_a_line_break_too),
        "classes_of_unicode": (
            "classes held letters and digits beyond ASCII",
            classes_of_unicode,
        ),
    },
    build=regex_full_match,
)
