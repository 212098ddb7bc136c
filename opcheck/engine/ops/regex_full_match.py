r"""RegexFullMatch, all versions: whether a pattern of RE2 matches a whole text.

"RE2 regex syntax is used": https://github.com/google/re2/wiki/Syntax. A pattern is checked by
Python's module `re`, as one that means the same there, and so are single characters; an automaton
matches, which takes as long as RE2 does: see `opcheck.engine.regular`. These parts of a pattern
differ in Python:

- Classes are of ASCII, and \s is [\t\n\f\r ] without the vertical tab.
- `$` without the flag m is \z, the very end of the text, which Python spells \Z.
- An empty match may be repeated, as in `^*`; there a group stands around it.
- Sets may hold named classes, [[:alpha:]].
- \Q...\E quotes, \x{10FFFF} has up to six digits.
- What the page marks NOT SUPPORTED, as (?=re) and \1, is no pattern, and nothing repeats more than
  1000 times.

The engine declines what Python has no like of: Unicode's classes, and flags that hold from the
middle of a pattern.

The parts of the file: the parts of a pattern; what they are in Python; the automaton; the formula;
its mutants.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.engine.operators import formulas_of_versions, operator
from opcheck.engine.readings import Ruling
from opcheck.engine.regular import (
    Assertion,
    Automaton,
    Choice,
    Expression,
    Repetition,
    Sequence,
    Test,
    counted_together,
)
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
MOST_DIGITS = 4

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

    A part that means the same in Python is returned as it is, and a named group loses its name.
    Raises InvalidNode for what RE2 does not support, for a repetition of a repetition, and for one
    of more than MOST_REPETITIONS. Raises NotSupported for what PART does not know: Unicode's
    classes, and flags from the middle of a pattern on.
    """
    unread = part.string[part.start() :]
    decline(part["unknown"], f"the engine does not read {unread!r}")
    # Python reads no number of thousands of digits.
    counts = re.findall("[0-9]+", part["times"] or "")
    is_too_often = any(len(n) > MOST_DIGITS or int(n) > MOST_REPETITIONS for n in counts)
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


MANY_GROUPS = "the engine does not read so many groups within each other"


def check_pattern(pattern: str) -> None:
    """Check a pattern of RE2, by Python's reading of one that means the same there.

    Raises InvalidNode for a pattern that RE2 does not have, or repeats more than MOST_REPETITIONS
    times, and for one that Python refuses, as of an open parenthesis. Raises NotSupported for
    Unicode's classes, flags from the middle of a pattern on, and some hundred groups within each
    other.
    """
    try:
        re.compile(PART.sub(in_python, pattern), re.ASCII)
    except re.error as error:
        raise InvalidNode(f"pattern {pattern!r}: {error}") from None
    except RecursionError:
        raise NotSupported(MANY_GROUPS) from None


def check_is_decided(pattern: str, texts: list[str]) -> None:
    """Raise NotSupported where Python may decide otherwise than RE2.

    That is a pattern with the flag i where it or a text has a character beyond ASCII, and a
    repeated group if the product of all counts of repetitions is above MOST_REPETITIONS.
    """
    is_of_ascii = "".join([pattern, *texts]).isascii() and r"\x{" not in pattern
    if re.search(r"\(\?[s-]*i", pattern) and not is_of_ascii:
        raise NotSupported("the engine does not know the cases of letters beyond ASCII")
    parts = PART.finditer(pattern)
    counts = [int(n) for part in parts for n in re.findall("[0-9]+", part["times"] or "")]
    if "){" in pattern and prod(counts) > MOST_REPETITIONS:
        raise NotSupported("the engine does not count the repetitions of repetitions")


# ── the automaton ─────────────────────────────────────────────────────────────────────────────

#: Parts that hold between characters.
ASSERTIONS: Mapping[str, Assertion] = {
    "^": "begin",
    r"\A": "begin",
    "$": "end",
    r"\z": "end",
    r"\b": "boundary",
    r"\B": "no boundary",
}


@dataclass
class Group:
    """A group that is being read, and the flags in it."""

    flags: re.RegexFlag
    options: list[list[Expression]] = field(default_factory=lambda: [[]])

    @property
    def items(self) -> list[Expression]:
        """What the option that is being read holds so far."""
        return self.options[-1]

    def expression(self) -> Expression:
        """Return what the group means."""
        return Choice(tuple(Sequence(tuple(items)) for items in self.options))


def flags_of(part: str, flags: re.RegexFlag) -> re.RegexFlag:
    """Return the flags after a part such as (?i) or (?s-i:, with `flags` before it."""
    on, _, off = part.strip("()?:").partition("-")
    for letters, is_on in ((on, True), (off, False)):
        for letter in letters:
            flag = re.RegexFlag[letter.upper()]
            flags = flags | flag if is_on else flags & ~flag
    return flags


def expression_of(pattern: str, flags: re.RegexFlag) -> Expression:
    """Return the expression of a pattern of RE2, as an `Automaton` takes it.

    pattern: one that `check_pattern` accepts, so that its groups are closed, and a repetition has
    something before it. flags: Python's, in force until the pattern changes them.
    """
    groups = [Group(flags)]
    for part in PART.finditer(pattern):
        text = part[0]
        group = groups[-1]
        if part["times"]:
            group.items.append(repeated(part, group.items.pop()))
        elif text == ")":
            # What the group means is an item of the group around it.
            groups.pop()
            groups[-1].items.append(group.expression())
        elif text == "|":
            group.options.append([])
        elif text.startswith("(?") and text.endswith(")"):
            # Flags in force until the group ends.
            group.flags = flags_of(text, group.flags)
        elif text.startswith("("):
            # A group, perhaps with flags; the letters of a name are none.
            stated = "" if part["name"] else text
            groups.append(Group(flags_of(stated, group.flags)))
        elif text in ASSERTIONS:
            group.items.append(ASSERTIONS[text])
        elif part["quoted"] is not None:
            letters = map(re.escape, part["quoted"])
            group.items.extend(character(letter, group.flags) for letter in letters)
        else:
            group.items.append(character(in_python(part), group.flags))
    return groups[0].expression()


def repeated(part: re.Match[str], item: Expression) -> Expression:
    """Return the repetition of an item that a part of a pattern, a match of PART, states.

    Those are *, +, ?, {n}, {n,} and {n,m}, each perhaps lazy by a ? behind it. Without an upper end
    the most is None.
    """
    times = part["times"]
    is_lazy = part[0].endswith("?") and part[0] != times
    if times in ("*", "+", "?"):
        least = 1 if times == "+" else 0
        return Repetition(item, least, 1 if times == "?" else None, is_lazy)
    first, comma, last = times.strip("{}").partition(",")
    most = int(last) if last else None if comma else int(first)
    return Repetition(item, int(first), most, is_lazy)


@lru_cache
def character(pattern: str, flags: re.RegexFlag) -> Test:
    """Return a test of single characters, by a pattern of Python for one character; cached."""
    return partial(is_match, re.compile(pattern, flags))


def is_match(program: re.Pattern[str], text: str) -> bool:
    """Return True if a pattern of Python matches the whole text."""
    return program.fullmatch(text) is not None


@lru_cache
def automaton(pattern: str, flags: re.RegexFlag = re.ASCII) -> Automaton:
    """Return the automaton of a pattern of RE2 that `check_pattern` accepts; cached.

    flags: Python's, in force until the pattern changes them. Raises NotSupported for too many
    states, and for hundreds of groups within each other.
    """
    try:
        is_of_word = character(r"\w", flags & ~re.IGNORECASE)
        return Automaton(expression_of(pattern, flags), is_of_word)
    except RecursionError:
        raise NotSupported(MANY_GROUPS) from None


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: Returns True if a pattern matches a text.
Match: TypeAlias = Callable[[str, str], bool]


@formulas_of_versions(20)
def regex_full_match(match: Match, X: Array, *, pattern: str | None) -> Array:
    """Return booleans in the shape of X: which texts `match` by the pattern.

    X has texts of any shape; without any there are no booleans. A pattern of None is read as the
    empty one, as one that matches anything, or raises InvalidNode: NO_PATTERN.

    Raises InvalidNode unless the pattern is "valid RE2 syntax", also where X is empty. Raises
    NotSupported for what the engine does not read: Unicode's classes, flags from the middle of a
    pattern on, cases of letters beyond ASCII, some hundred groups within each other, and
    repetitions of repetitions above MOST_REPETITIONS; for more states than the
    automaton has, and for more steps of all texts together.
    """
    if pattern is None:
        pattern = pattern_by_default()
    check_pattern(pattern)
    texts = X.reshape(-1).tolist()
    check_is_decided(pattern, texts)
    with counted_together():
        matched = [match(pattern, text) for text in texts]
    return np.array(matched, np.bool_).reshape(X.shape)


def pattern_by_default() -> str:
    """Return the pattern of a node without one.

    It is the empty one, or one that matches any text, by NO_PATTERN. Raises InvalidNode if the
    ruling refuses the node.
    """
    reading = NO_PATTERN.reading()
    if reading == "refused":
        raise InvalidNode("there is no pattern")
    return "" if reading == "empty" else "(?s).*"


def matched_fully(pattern: str, text: str) -> bool:
    """Return True if "an element fully matches the regex pattern".

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern).matches_fully(text)


OP.formula(build=regex_full_match)(matched_fully)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def matched_anywhere(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: the pattern matches a part of the text.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern).matches_anywhere(text)


def matched_at_the_beginning(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: the pattern matches the beginning.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern).matches_at_the_beginning(text)


def first_match_alone(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: only the first match at the beginning is tried.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern).end_of_preferred_match(text) == len(text)


def last_line_break_ignored(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: a line break at the end is ignored.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return matched_fully(pattern, text.removesuffix("\n"))


def pattern_is_a_text(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: the pattern is a text."""
    return pattern == text


#: What has the vertical tab too, outside of sets and within them.
WITH_VERTICAL_TAB = {r"\s": r"[\s\v]", r"\S": r"[^\s\v]"}


def with_vertical_tab(part: re.Match[str]) -> str:
    r"""Return a part of a pattern, a match of PART, with \v wherever it has \s."""
    if part["set"] is None:
        return WITH_VERTICAL_TAB.get(part[0], part[0])
    items = OTHER_IN_SETS.sub(lambda item: item[0] + r"\v" * (item[0] == r"\s"), part["set"])
    return f"[{items}"


def vertical_tab_is_whitespace(pattern: str, text: str) -> bool:
    r"""Mutant of `matched_fully`: \s holds the vertical tab.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(PART.sub(with_vertical_tab, pattern)).matches_fully(text)


def case_ignored(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: the case of letters is ignored.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern, re.ASCII | re.IGNORECASE).matches_fully(text)


def dot_is_a_line_break_too(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: a dot matches line breaks too.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern, re.ASCII | re.DOTALL).matches_fully(text)


def classes_of_unicode(pattern: str, text: str) -> bool:
    """Mutant of `matched_fully`: classes hold letters and digits beyond ASCII.

    Raises NotSupported for more states or steps than an automaton has, and for hundreds of groups
    within each other.
    """
    return automaton(pattern, re.UNICODE).matches_fully(text)


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
