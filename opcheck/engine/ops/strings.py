"""Texts joined, split, cleaned, and compared with a pattern of RE2, in the words of Python's."""

import re
from contextlib import suppress
from itertools import zip_longest
from math import prod

import numpy as np

from opcheck.engine.axes import broadcast, check_size
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
RegexFullMatch StringConcat StringNormalizer StringSplit
"""

CONCAT = operator("StringConcat", exact=True)
CONCAT.formula(20)(lambda X, Y: np.add(*broadcast(X, Y)))
SPLIT = operator("StringSplit", exact=True)


def _pieces(text, delimiter, maxsplit):
    if delimiter:
        return text.split(delimiter, maxsplit)
    found = text.split(None, maxsplit)
    if any(c.isspace() and c not in " \t\n\v\f\r" for c in text):
        is_open("which other characters are whitespace")
    if len(found) > maxsplit >= 0 and found[-1] != found[-1].rstrip():
        is_open("trailing whitespace is removed, and what follows the last split is added")
    return found


def _split(pieces):
    """The formula from `pieces(text, delimiter, maxsplit)`, which has -1 for all splits."""

    def formula(X, *, delimiter, maxsplit):
        if maxsplit is not None and maxsplit < 0:
            raise NotSupported(f"nothing is said of {maxsplit} splits")
        if not X.size:
            is_open("which axes the substrings of no texts have")
        lists = [pieces(s, delimiter, -1 if maxsplit is None else maxsplit) for s in X.flat]
        counts = np.array([*map(len, lists)], np.int64).reshape(X.shape)
        check_size((X.size, most := counts.max(initial=0)))
        columns = np.array([*zip_longest(*lists, fillvalue="")], object)
        return columns.T.reshape(*X.shape, most), counts

    return {20: formula}


SPLIT.formula(by=_split)(_pieces)


@SPLIT.mutant("the delimiter was a regular expression", by=_split)
def delimiter_is_a_pattern(text, delimiter, maxsplit):
    with suppress(re.error):
        if delimiter and maxsplit:
            return re.split(delimiter, text, maxsplit=max(maxsplit, 0))
    return _pieces(text, delimiter, maxsplit)


SPLIT.mutant_table({
    "split_from_the_right": ("splits were counted from the right",
        lambda s, d, most: s.rsplit(d or None, most)),
    "empty_pieces_dropped": ("empty substrings were left out",
        lambda s, d, most: [*filter(None, _pieces(s, d, most))]),
    "empty_text_has_no_pieces": ("an empty text had no substrings",
        lambda s, d, most: s and _pieces(s, d, most)),
    "spaces_alone": ("nothing but spaces was whitespace", lambda s, d, most: (
        s.split(d, most) if d else [*filter(None, s.strip(" ").split(" ", most))])),
    "whitespace_not_grouped": ("each space delimited by itself",
        lambda s, d, most: s.split(d or " ", most)),
    "rest_left_out": ("what follows the last split was left out",
        lambda s, d, most: _pieces(s, d, -1)[: most + 1 if most >= 0 else None]),
    "empty_delimiter_is_characters": ("an empty delimiter split every character off",
        lambda s, d, most: [*s] if d == "" else _pieces(s, d, most)),
}, by=_split)  # fmt: skip
NORMALIZER = operator("StringNormalizer", exact=True)


def _cleaned(texts, words, key, change):
    dropped = {*map(key, words)}
    return [change(text) for text in texts if key(text) not in dropped] or [""]


def _normal(clean):
    """The formula from `clean(texts, words, key, change)`, where keys are compared with words'."""
    wide = {"LOWER": str.lower, "UPPER": str.upper}
    narrow = {name: lambda s, of=of: getattr(s.encode(), of)().decode()
              for name, of in (("LOWER", "lower"), ("UPPER", "upper"))}  # fmt: skip

    def formula(X, *, case_change_action, is_case_sensitive, locale, stopwords):
        if (
            case_change_action not in ("NONE", *wide)
            or X.shape[:-1] not in ((), (1,))
            or not X.ndim
        ):
            given = f"{case_change_action!r}, shape {list(X.shape)}"
            raise InvalidNode(f"{given}; allowed: NONE, LOWER, UPPER; [C], [1, C]")
        if is_case_sensitive not in (0, 1):
            raise NotSupported(f"nothing is said of is_case_sensitive {is_case_sensitive}")
        if not X.size or locale is not None:
            is_open("which locales there are, and if all of no texts are dropped")
        found, *others = (
            clean(X.reshape(-1).tolist(), stopwords or (),
                  str if is_case_sensitive else of[key], of.get(case_change_action, str))
            for of, key in ((wide, "LOWER"), (wide, "UPPER"), (narrow, "LOWER")))  # fmt: skip
        if any(other != found for other in others):
            is_open("the locale decides on letters beyond ASCII")
        return np.array(found, object).reshape(*X.shape[:-1], len(found))

    return {10: formula}


NORMALIZER.formula(by=_normal)(_cleaned)
NORMALIZER.mutant_table({
    "case_changed_first": ("the case was changed before stop words were looked for",
        lambda texts, words, key, change: _cleaned([*map(change, texts)], words, key, str)),
    "stopwords_as_they_stand": ("the case of texts was ignored, and not that of stop words",
        lambda texts, words, key, change: [
            change(s) for s in texts if key(s) not in words] or [""]),
    "texts_as_they_stand": ("the case of stop words was ignored, and not that of texts",
        lambda texts, words, key, change: _cleaned(texts, [*map(key, words)], str, change)),
    "parts_of_texts_dropped": ("texts that hold a stop word were removed",
        lambda texts, words, key, change: [
            change(s) for s in texts if not any(key(w) in key(s) for w in words)] or [""]),
    "nothing_left_is_nothing": ("nothing came out where all was removed",
        lambda texts, *how: [s for s in _cleaned(texts, *how) if s or "" in texts]),
}, by=_normal)  # fmt: skip
MATCH = operator("RegexFullMatch", exact=True)
#: What Python has for parts of a pattern that it reads otherwise, or does not repeat.
_INSTEAD = {r"\s": r"[\t\n\f\r ]", r"\S": r"[^\t\n\f\r ]", r"\B": r"(?:(?!\b))", r"\b": r"(?:\b)",
            "$": r"(?:\Z)", r"\z": r"(?:\Z)", "^": "(?:^)", r"\A": r"(?:\A)",
            "{": r"\{"}  # fmt: skip
_IN_SET = {
    r"\s": r"\t\n\f\r ", "[": r"\[", "&": r"\&", "|": r"\|", "~": r"\~",
    "[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:ascii:]": r"\0-\x7f", "[:blank:]": r"\t ",
    "[:cntrl:]": r"\0-\x1f\x7f", "[:digit:]": "0-9", "[:graph:]": "!-~", "[:lower:]": "a-z",
    "[:print:]": " -~", "[:punct:]": r"!-/:-@\[-`{-~", "[:space:]": r"\t\n\v\f\r ",
    "[:upper:]": "A-Z", "[:word:]": "0-9A-Za-z_", "[:xdigit:]": "0-9A-Fa-f",
}  # fmt: skip
_NAMED = "|".join(re.escape(name) for name in _IN_SET if len(name) > 2)
_TIMES = r"(?:[*+?]|\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})"
_CHAR = (r"\\[aftnrv]|\\x[0-9A-Fa-f]{2}|\\x\{[0-9A-Fa-f]{1,6}\}|\\0[0-7]{0,2}|\\[1-3][0-7]{2}"
         r"|\\[!-/:-@\[-^`{-~]")  # fmt: skip
#: A part of a pattern of RE2. All but the last two are Python's too, or have others there.
_PART = re.compile(
    rf"""\A\(\?[is]+\) | (?P<times>{_TIMES})\??(?P<again>{_TIMES})?
    | \((?:(?!\?) | \?(?:P(?P<name><[A-Za-z_][0-9A-Za-z_]*>) | (?:is?|si?|i-s|s-i|-is?|-si?)?:))
    | \[(?P<set>\^?+\]?+(?:(?:\\[dDwW]|(?<!-)\\s)(?!-[^]]) | {_CHAR} | --(?=\]) | (?!--)[^]\\[]
        | (?<!-)(?:{_NAMED})(?!-[^]]) | \[(?!:))*+\])
    | \\Q(?P<quoted>.*?)(?:\\E|\Z) | \\[dDwWsSAbBz] | {_CHAR} | [^\\(\[]
    | (?P<wrong>\\(?:[1-7](?![0-7])|[89ceg-moquyF-ORTUVX-Z]|\Z) | \(\?(?:[=!\#>|&(]|<[=!]|P[=>])
        | \[\^?+\]?+(?:\[:\^?\w+:\] | \\. | [^]\\])*+\Z)
    | (?P<unknown>.)""", re.S | re.X)  # fmt: skip


def _in_python(part):
    numbers = re.findall("[0-9]+", part["times"] or "")
    if part["unknown"]:
        raise NotSupported(f"the engine does not read {part.string[part.start() :]!r}")
    if part["wrong"] or part["again"] or any(int(number) > 1000 for number in numbers):
        raise InvalidNode(f"{part[0]!r} is no part of a pattern of RE2")
    if part["quoted"] is not None:
        return re.escape(part["quoted"])
    if part["set"]:
        named = re.compile(rf"\\x\{{\w+\}}|\\.|{_NAMED}|[\[&|~]")
        return "[" + named.sub(lambda one: _char(one[0], _IN_SET), part["set"])
    return "(" if part["name"] else _char(part[0], _INSTEAD)


def _char(text, instead):
    return rf"\U{int(text[3:-1], 16):08x}" if text[:3] == r"\x{" else instead.get(text, text)


def _by_pattern(match):
    """The formula from `match(pattern, text)`."""

    def formula(X, *, pattern):
        if pattern is None:
            raise NotSupported("nothing is said of no pattern")
        try:
            made = re.compile(_PART.sub(_in_python, pattern), re.ASCII)
        except re.error as error:
            raise InvalidNode(f"pattern {pattern!r}: {error}") from None
        texts = X.reshape(-1).tolist()
        of_ascii = "".join([pattern, *texts]).isascii() and r"\x{" not in pattern
        if re.search(r"\(\?[s-]*i", pattern) and not of_ascii:
            raise NotSupported("the engine does not know the cases of letters beyond ASCII")
        counts = map(int, re.findall(r"[0-9]+(?=[0-9,]*\})", pattern))
        if "){" in pattern and prod(counts) > 1000:
            raise NotSupported("the engine does not count the repetitions of repetitions")
        return np.array([bool(match(made, s)) for s in texts], np.bool_).reshape(X.shape)

    return {20: formula}


MATCH.formula(by=_by_pattern)(re.Pattern.fullmatch)
MATCH.mutant_table({
    "matched_anywhere": ("the pattern had to match a part of the text", re.Pattern.search),
    "matched_at_the_beginning": ("the pattern had to match the beginning", re.Pattern.match),
    "first_match_alone": ("the first match at the beginning had to be the whole text",
        lambda made, s: (found := made.match(s)) and found.end() == len(s)),
    "last_line_break_ignored": ("a line break at the end was ignored",
        lambda made, s: made.fullmatch(s.removesuffix("\n"))),
    "pattern_is_a_text": ("the pattern was a text", lambda made, s: made.pattern == s),
    "vertical_tab_is_whitespace": (r"\\s held the vertical tab", lambda made, s: re.fullmatch(
        made.pattern.replace(r"\t\n\f\r ", r"\s"), s, re.A)),
    **{name: (text, lambda made, s, flags=flags: re.compile(made.pattern, flags).fullmatch(s))
       for name, text, flags in (
           ("case_ignored", "the case of letters was ignored", re.A | re.I),
           ("dot_is_a_line_break_too", "a dot matched line breaks too", re.A | re.S),
           ("classes_of_unicode", "classes held letters and digits beyond ASCII", 0))},
}, by=_by_pattern)  # fmt: skip
