"""StringConcat, StringSplit and StringNormalizer, all versions: texts joined, split and cleaned.

A text is a sequence of Unicode code points. The texts of the operators say little of characters
beyond ASCII: which of them are whitespace, and which are one letter in two cases. Rulings state
what is admitted.

The parts of the file: StringConcat; StringSplit; StringNormalizer. The mutants of an operator
follow it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from opcheck.engine.axes import broadcast, check_axes, check_size
from opcheck.engine.operators import formulas_of_versions, leave_open, operator
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """StringConcat StringNormalizer StringSplit"""

NEGATIVE_MAXSPLIT = Ruling(
    "negative-maxsplit",
    "The text does not define a negative maximum number of splits.",
    ("all_splits", "no_split", "refused"),
)
SHAPE_OF_NO_TEXTS = Ruling(
    "shape-of-no-texts",
    "The substrings of texts have one axis more than the texts, where the tensor is not empty.",
    ("one_axis_more", "same_shape", "room_for_one"),
)
WHITESPACE_AFTER_THE_LAST_SPLIT = Ruling(
    "whitespace-after-the-last-split",
    "Trailing whitespace is removed, and what follows the last split is added as it is.",
    ("kept", "removed"),
)
INFORMATION_SEPARATORS = Ruling(
    "information-separators",
    "The text does not define if the separators U+001C to U+001F are whitespace.",
    ("whitespace", "letter"),
)
NO_BREAK_SPACES = Ruling(
    "no-break-spaces",
    "The text does not define if spaces at which no line breaks are whitespace.",
    ("whitespace", "letter"),
)
SPACES_BEYOND_ASCII = Ruling(
    "spaces-beyond-ascii",
    "The text does not define if Unicode's other spaces are whitespace.",
    ("whitespace", "letter"),
)
NO_TEXTS = Ruling(
    "all-of-no-texts-dropped",
    "The text does not define if all texts are dropped where there are none.",
    ("all_are_dropped", "nothing", "refused"),
)
UNKNOWN_LOCALE = Ruling(
    "unknown-locale",
    "The environment decides if there is a locale of this name.",
    ("known", "refused"),
)
TURKIC_I = Ruling(
    "turkic-i",
    "The environment decides if a locale has the cases of I that Turkic languages have.",
    ("english", "turkic"),
)
CASE_BEYOND_ASCII = Ruling(
    "case-beyond-ascii",
    "The implementation decides on the cases of letters beyond ASCII: by all rules of Unicode, by "
    "those for single letters, with or without a capital sharp s, or letters stay.",
    ("full", "simple", "capital_sharp_s", "ascii"),
)
CASE_OF_COMPARISON = Ruling(
    "case-of-comparison",
    "The text does not define in which case texts are compared where case does not count.",
    ("lower", "upper"),
)


# ── StringConcat ──────────────────────────────────────────────────────────────────────────────

CONCAT = operator("StringConcat", exact=True)


@CONCAT.formula(20)
def string_concat(X: Array, Y: Array) -> Array:
    """Return each text of X followed by that of Y, "with NumPy-style broadcasting support".

    Raises InvalidNode if the shapes do not broadcast.
    """
    x, y = broadcast(X, Y)
    return np.add(x, y)


# ── StringSplit ───────────────────────────────────────────────────────────────────────────────

SPLIT = operator("StringSplit", exact=True)
#: From a text, the delimiter and the maximum number of splits, -1 for all: the substrings.
Split: TypeAlias = Callable[[str, str | None, int], Sequence[str]]

ASCII_WHITESPACE = " \t\n\v\f\r"
#: Other characters that may be whitespace: together with ASCII's, those of `str.isspace`.
OTHER_WHITESPACE: Mapping[str, Ruling] = {
    "\x1c\x1d\x1e\x1f": INFORMATION_SEPARATORS,
    "\u00a0\u2007\u202f": NO_BREAK_SPACES,
    "\u0085\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u2028\u2029\u205f"
    "\u3000": SPACES_BEYOND_ASCII,
}


@formulas_of_versions(20)
def string_split(
    split: Split, X: Array, *, delimiter: str | None, maxsplit: int | None
) -> tuple[Array, Array]:
    """Return Y, the substrings that `split` makes of each text, and Z, the number of them.

    Y: [*X.shape, n], where n is the largest number, perhaps 0; rows are padded by "empty strings".
    Z: int64, in the shape of X. For an X without texts Y has its shape, or one axis more of length
    0 or 1: SHAPE_OF_NO_TEXTS. A `delimiter` of None or "" is whitespace; a `maxsplit` of None is as
    many splits as there are.

    A negative `maxsplit` means all splits, none, or InvalidNode: NEGATIVE_MAXSPLIT. Raises
    MemoryError for an output that is too large, NotSupported for more axes than NumPy has.
    """
    most_splits = splits_allowed(maxsplit)
    check_axes(X.ndim + 1)
    if not X.size:
        return empty_texts(shape_of_no_texts(X.shape)), np.zeros(X.shape, np.int64)
    substrings = [split(text, delimiter, most_splits) for text in X.flat]
    counts = [len(row) for row in substrings]
    n = max(counts)
    check_size((X.size, n))
    padded = [[*row, *[""] * (n - len(row))] for row in substrings]
    Y = np.array(padded, object).reshape(*X.shape, n)
    Z = np.array(counts, np.int64).reshape(X.shape)
    return Y, Z


def splits_allowed(maxsplit: int | None) -> int:
    """Return the maximum number of splits, -1 for all: "If left unset … as many as possible".

    None is left unset. One below 0 means all splits or none, or raises InvalidNode:
    NEGATIVE_MAXSPLIT.
    """
    if maxsplit is None:
        return -1
    if maxsplit >= 0:
        return maxsplit
    reading = NEGATIVE_MAXSPLIT.reading()
    reject(reading == "refused", f"maxsplit {maxsplit}; allowed: 0 or more")
    return -1 if reading == "all_splits" else 0


def shape_of_no_texts(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of Y for an empty X of this shape.

    It has one axis more, of length 0 or 1, or it is the same: SHAPE_OF_NO_TEXTS.
    """
    reading = SHAPE_OF_NO_TEXTS.reading()
    if reading == "same_shape":
        return shape
    return (*shape, 1 if reading == "room_for_one" else 0)


def empty_texts(shape: tuple[int, ...]) -> Array:
    """Return a tensor of texts of this shape, which has no elements."""
    return np.full(shape, "", object)


def substrings_of(text: str, delimiter: str | None, maxsplit: int) -> list[str]:
    """Return the substrings of a text between delimiters, or between whitespace without one.

    A delimiter of None or "" is whitespace. "Consecutive delimiters are not grouped together", and
    consecutive whitespace is; its substrings are not empty, so that there may be none. `maxsplit`
    is the most splits, -1 for all. After the last split, "the trailing suffix of input string after
    the final split point is also added". Whitespace at its end is kept or removed:
    WHITESPACE_AFTER_THE_LAST_SPLIT. Rulings decide which characters beyond ASCII are whitespace,
    see `whitespace_for`.
    """
    if delimiter:
        return text.split(delimiter, maxsplit)
    return split_at_whitespace(text, whitespace_for(text), maxsplit)


def whitespace_for(text: str) -> str:
    """Return the characters that are whitespace, of those that this text may hold.

    They are those of ASCII. By rulings U+001C to U+001F, INFORMATION_SEPARATORS, spaces at which no
    line breaks, NO_BREAK_SPACES, and Unicode's other spaces, SPACES_BEYOND_ASCII, are whitespace
    too, or letters.
    """
    whitespace = ASCII_WHITESPACE
    for characters, ruling in OTHER_WHITESPACE.items():
        is_in_text = any(character in text for character in characters)
        if is_in_text and ruling.reading() == "whitespace":
            whitespace += characters
    return whitespace


def split_at_whitespace(text: str, whitespace: str, maxsplit: int) -> list[str]:
    """Return the substrings of a text between these characters, without those at its ends.

    No substring is empty, and there may be none. `maxsplit` is the most splits, -1 for all; the
    substring after them is a rest, in which whitespace stays. At its end it is kept or removed:
    WHITESPACE_AFTER_THE_LAST_SPLIT.
    """
    text = text.lstrip(whitespace)
    if maxsplit == 0:
        pieces = [text]
    else:
        # 0 is all splits, here.
        pieces = re.split(f"[{re.escape(whitespace)}]+", text, maxsplit=max(maxsplit, 0))
    substrings = [piece for piece in pieces if piece]
    is_last_a_rest = len(substrings) > maxsplit >= 0
    if is_last_a_rest:
        rest = substrings[-1].rstrip(whitespace)
        if rest != substrings[-1] and WHITESPACE_AFTER_THE_LAST_SPLIT.reading() == "removed":
            substrings[-1] = rest
    return substrings


SPLIT.formula(build=string_split)(substrings_of)


# Mutants of StringSplit.


def delimiter_is_a_pattern(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: the delimiter is a regular expression, if it is a valid one."""
    if delimiter and maxsplit:
        with suppress(re.error):
            return re.split(delimiter, text, maxsplit=max(maxsplit, 0))
    return substrings_of(text, delimiter, maxsplit)


def split_from_the_right(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: splits are counted from the right."""
    return text.rsplit(delimiter or None, maxsplit)


def empty_pieces_dropped(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: empty substrings are left out."""
    return [piece for piece in substrings_of(text, delimiter, maxsplit) if piece]


def empty_text_has_no_pieces(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: an empty text has no substrings."""
    return substrings_of(text, delimiter, maxsplit) if text else []


def spaces_alone(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: nothing but spaces is whitespace."""
    if delimiter:
        return text.split(delimiter, maxsplit)
    return [piece for piece in text.strip(" ").split(" ", maxsplit) if piece]


def whitespace_not_grouped(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: each space delimits by itself."""
    return text.split(delimiter or " ", maxsplit)


def rest_left_out(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: what follows the last split is left out."""
    every = substrings_of(text, delimiter, -1)
    return every[: maxsplit + 1] if maxsplit >= 0 else every


def empty_delimiter_is_characters(text: str, delimiter: str | None, maxsplit: int) -> Sequence[str]:
    """Mutant of `substrings_of`: an empty delimiter splits every character off."""
    return [*text] if delimiter == "" else substrings_of(text, delimiter, maxsplit)


SPLIT.mutant_table(
    {
        "delimiter_is_a_pattern": (
            "the delimiter was a regular expression",
            delimiter_is_a_pattern,
        ),
        "split_from_the_right": ("splits were counted from the right", split_from_the_right),
        "empty_pieces_dropped": ("empty substrings were left out", empty_pieces_dropped),
        "empty_text_has_no_pieces": ("an empty text had no substrings", empty_text_has_no_pieces),
        "spaces_alone": ("nothing but spaces was whitespace", spaces_alone),
        "whitespace_not_grouped": ("each space delimited by itself", whitespace_not_grouped),
        "rest_left_out": ("what follows the last split was left out", rest_left_out),
        "empty_delimiter_is_characters": (
            "an empty delimiter split every character off",
            empty_delimiter_is_characters,
        ),
    },
    build=string_split,
)


# ── cases of letters ──────────────────────────────────────────────────────────────────────────

#: Changes the case of a text, or leaves it.
Change: TypeAlias = Callable[[str], str]
#: The change that each case_change_action is.
Cases: TypeAlias = Mapping[str, Change]


def unchanged(text: str) -> str:
    """Return the text."""
    return text


def simple_lower(text: str) -> str:
    """Return the text with each letter's simple lower case, which is a single letter."""
    return "".join(letter.lower()[0] for letter in text)


def simple_upper(text: str) -> str:
    """Return the text with each letter's simple upper case, which is a single letter."""
    return "".join(simple_upper_of(letter) for letter in text)


def simple_upper_of(letter: str) -> str:
    """Return the simple upper case of a letter, itself if it has none.

    Unicode's full rules make several letters of some; one of the iota subscript has a single one,
    as at the beginning of a word.
    """
    for changed in (letter.upper(), letter.title()):
        if len(changed) == 1:
            return changed
    return letter


def upper_with_capital_sharp_s(text: str) -> str:
    """Return the text in simple upper case, and a capital sharp s of a small one."""
    return simple_upper(text).replace("ß", "\u1e9e")


def ascii_lower(text: str) -> str:
    """Return the text with ASCII's letters in lower case; others stay."""
    return text.encode().lower().decode()


def ascii_upper(text: str) -> str:
    """Return the text with ASCII's letters in upper case; others stay."""
    return text.encode().upper().decode()


def turkic_lower(text: str) -> str:
    """Return the text in lower case, with a dotless i of I, and i of one with a dot."""
    return text.replace("I", "\u0131").replace("\u0130", "i").lower()


def turkic_upper(text: str) -> str:
    """Return the text in upper case, with a dot on the I of i, and none on that of a dotless i."""
    return text.replace("i", "\u0130").upper()


FULL_CASES: Cases = {"NONE": unchanged, "LOWER": str.lower, "UPPER": str.upper}
TURKIC_CASES: Cases = {"NONE": unchanged, "LOWER": turkic_lower, "UPPER": turkic_upper}
#: By the reading of CASE_BEYOND_ASCII.
CASES: Mapping[str, Cases] = {
    "full": FULL_CASES,
    "simple": {"NONE": unchanged, "LOWER": simple_lower, "UPPER": simple_upper},
    "capital_sharp_s": {
        "NONE": unchanged,
        "LOWER": simple_lower,
        "UPPER": upper_with_capital_sharp_s,
    },
    "ascii": {"NONE": unchanged, "LOWER": ascii_lower, "UPPER": ascii_upper},
}
#: Beginnings of names of locales of Turkic languages.
TURKIC = re.compile(r"(?:az|crh|ku|tr|tt|azerbaijani|turkish)(?![a-z])", re.IGNORECASE)


# ── StringNormalizer ──────────────────────────────────────────────────────────────────────────

NORMALIZER = operator("StringNormalizer", exact=True)
#: From texts, stop words, the change of both before they are compared, and that of what remains:
#: the texts that remain, one empty text if none does.
Clean: TypeAlias = Callable[[Sequence[str], Sequence[str], Change, Change], list[str]]


@dataclass(frozen=True)
class Cleaning:
    """The texts of a node, and its attributes.

    Attributes:
        clean: The formula.
        texts: The elements of X.
        stopwords: The attribute; () if it is not set.
        action: NONE, LOWER or UPPER.
        is_case_sensitive: Stop words are compared as they stand.
    """

    clean: Clean
    texts: Sequence[str]
    stopwords: Sequence[str]
    action: str
    is_case_sensitive: bool

    @property
    def is_of_ascii(self) -> bool:
        """True if all texts and stop words are of ASCII's characters."""
        return all(text.isascii() for text in (*self.texts, *self.stopwords))

    def remaining(self, of_comparison: Change, of_output: Cases) -> list[str]:
        """Return the texts that remain if texts are compared after this change.

        They are in the case of the action by `of_output`, and one empty text if none remains. If
        case counts, `of_comparison` does not.
        """
        key = unchanged if self.is_case_sensitive else of_comparison
        return self.clean(self.texts, self.stopwords, key, of_output[self.action])

    def remaining_by_case(self, cases: Cases) -> tuple[list[str], list[str]]:
        """Return the texts that remain if comparisons are in lower case, and if in upper case.

        Both are changed by `cases`, in comparisons and in the output.
        """
        return self.remaining(cases["LOWER"], cases), self.remaining(cases["UPPER"], cases)


@formulas_of_versions(10)
def string_normalizer(
    clean: Clean,
    X: Array,
    *,
    case_change_action: str,
    is_case_sensitive: int,
    locale: str | None,
    stopwords: Sequence[str] | None,
) -> Array:
    """Return Y, the texts that `clean` leaves of X without stop words, in another case.

    X: "only accepts [C]- and [1, C]-tensor"; Y has as many axes, and one empty text if none is
    left. `stopwords` of None are none; a `locale` of None is the implementation's. If X has no
    texts, Y is one empty text or none, or InvalidNode is raised: NO_TEXTS. Rulings decide how
    letters beyond ASCII change, CASE_BEYOND_ASCII, in which case stop words are compared,
    CASE_OF_COMPARISON, and if I is Turkic's, TURKIC_I.

    Raises InvalidNode for other shapes and other names of changes; for a locale, if UNKNOWN_LOCALE
    refuses it; for an is_case_sensitive other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER does. Raises
    NotSupported for a judge where a locale decides on letters beyond ASCII, or on stop words.
    """
    is_list = X.ndim >= 1 and X.shape[:-1] in ((), (1,))
    if not is_list or case_change_action not in FULL_CASES:
        given = f"{case_change_action!r}, shape {list(X.shape)}"
        raise InvalidNode(f"{given}; allowed: NONE, LOWER, UPPER; [C], [1, C]")
    cleaning = Cleaning(
        clean=clean,
        texts=X.reshape(-1).tolist(),
        stopwords=() if stopwords is None else stopwords,
        action=case_change_action,
        is_case_sensitive=flag("is_case_sensitive", is_case_sensitive),
    )
    if not cleaning.texts and not is_dropping_no_texts():
        return empty_texts(X.shape)
    if locale is None:
        remaining = remaining_by_default(cleaning)
    else:
        remaining = remaining_in_locale(cleaning, locale)
    return np.array(remaining, object).reshape(*X.shape[:-1], len(remaining))


def is_dropping_no_texts() -> bool:
    """Return True if all of no texts are dropped, which leaves an empty text.

    False if nothing is left of them. Raises InvalidNode if NO_TEXTS refuses such a node.
    """
    reading = NO_TEXTS.reading()
    reject(reading == "refused", "X has no texts; allowed: one or more")
    return reading == "all_are_dropped"


def remaining_by_default(cleaning: Cleaning) -> list[str]:
    """Return the texts that remain in the locale of the implementation, or one empty text.

    Letters beyond ASCII change by full or simple rules of Unicode, those with a capital sharp s, or
    not at all, CASE_BEYOND_ASCII. Stop words are compared in lower or in upper case,
    CASE_OF_COMPARISON.
    """
    if cleaning.is_of_ascii:
        return cleaning.remaining(str.lower, FULL_CASES)
    results = {name: cleaning.remaining_by_case(cases) for name, cases in CASES.items()}
    reading = "full"
    if any(result != results["full"] for result in results.values()):
        reading = CASE_BEYOND_ASCII.reading()
    by_lower, by_upper = results[reading]
    if by_lower == by_upper:
        return by_lower
    return by_lower if CASE_OF_COMPARISON.reading() == "lower" else by_upper


def remaining_in_locale(cleaning: Cleaning, locale: str) -> list[str]:
    """Return the texts that remain in a locale, or one empty text.

    Letters of ASCII change as in English, or in Turkic languages: TURKIC_I. Raises InvalidNode if
    UNKNOWN_LOCALE refuses the locale; NotSupported for a judge if the answer depends on letters
    beyond ASCII, or in a Turkic locale on the case in which stop words are compared.
    """
    reject(UNKNOWN_LOCALE.reading() == "refused", f"locale {locale!r} is unknown")
    english = cleaning.remaining(str.lower, FULL_CASES)
    if not cleaning.is_of_ascii:
        every = [
            results for cases in CASES.values() for results in cleaning.remaining_by_case(cases)
        ]
        if any(other != english for other in every):
            leave_open("the locale decides on letters beyond ASCII")
    if not TURKIC.match(locale):
        return english
    turkic = cleaning.remaining(str.lower, TURKIC_CASES)
    if turkic != cleaning.remaining(turkic_lower, TURKIC_CASES):
        leave_open("the locale may decide which texts are stop words")
    if turkic != english and TURKIC_I.reading() == "turkic":
        return turkic
    return english


def cleaned(
    texts: Sequence[str], stopwords: Iterable[str], key: Change, change: Change
) -> list[str]:
    """Return the texts without stop words, changed, and an empty text if none is left.

    Texts and stop words are compared as `key` changes them, and what remains is as `change` does.
    """
    dropped = {key(word) for word in stopwords}
    return [change(text) for text in texts if key(text) not in dropped] or [""]


NORMALIZER.formula(build=string_normalizer)(cleaned)


# Mutants of StringNormalizer. They take what `cleaned` takes, and return all texts that are left.


def case_changed_first(
    texts: Sequence[str], stopwords: Sequence[str], key: Change, change: Change
) -> list[str]:
    """Mutant of `cleaned`: the case is changed before stop words are looked for."""
    changed = [change(text) for text in texts]
    return cleaned(changed, stopwords, key, unchanged)


def stopwords_as_they_stand(
    texts: Sequence[str], stopwords: Sequence[str], key: Change, change: Change
) -> list[str]:
    """Mutant of `cleaned`: the case of texts is ignored, and not that of stop words."""
    return [change(text) for text in texts if key(text) not in stopwords] or [""]


def texts_as_they_stand(
    texts: Sequence[str], stopwords: Sequence[str], key: Change, change: Change
) -> list[str]:
    """Mutant of `cleaned`: the case of stop words is ignored, and not that of texts."""
    keys = [key(word) for word in stopwords]
    return cleaned(texts, keys, unchanged, change)


def parts_of_texts_dropped(
    texts: Sequence[str], stopwords: Sequence[str], key: Change, change: Change
) -> list[str]:
    """Mutant of `cleaned`: texts are removed that contain a stop word, and need not equal one."""
    keys = [key(word) for word in stopwords]
    kept = [text for text in texts if not any(part in key(text) for part in keys)]
    return [change(text) for text in kept] or [""]


def nothing_left_is_nothing(
    texts: Sequence[str], stopwords: Sequence[str], key: Change, change: Change
) -> list[str]:
    """Mutant of `cleaned`: where all texts are removed none is returned, not one empty text."""
    remaining = cleaned(texts, stopwords, key, change)
    return [text for text in remaining if text or "" in texts]


NORMALIZER.mutant_table(
    {
        "case_changed_first": (
            "the case was changed before stop words were looked for",
            case_changed_first,
        ),
        "stopwords_as_they_stand": (
            "the case of texts was ignored, and not that of stop words",
            stopwords_as_they_stand,
        ),
        "texts_as_they_stand": (
            "the case of stop words was ignored, and not that of texts",
            texts_as_they_stand,
        ),
        "parts_of_texts_dropped": (
            "texts that hold a stop word were removed",
            parts_of_texts_dropped,
        ),
        "nothing_left_is_nothing": (
            "nothing came out where all was removed",
            nothing_left_is_nothing,
        ),
    },
    build=string_normalizer,
)
