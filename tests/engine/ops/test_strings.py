"""Texts: which answers are admitted where the texts of the operators leave something open."""

import sys
import unicodedata

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.engine.ops.strings import (
    ASCII_WHITESPACE,
    OTHER_WHITESPACE,
    simple_lower,
    simple_upper,
)
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

SPLIT = OpVersion("", "StringSplit", 20)
NORMALIZER = OpVersion("", "StringNormalizer", 10)


def answers(op, *texts, **attrs):
    """The first output by the names of readings; None for a refusal."""
    with judging():
        found = by_reading(op, [np.array(texts, object)], attrs)
    return {name: out and out[0].tolist() for name, out in found.items()}


# ── StringSplit ───────────────────────────────────────────────────────────────────────────────


def test_all_of_unicodes_whitespace_is_open_but_that_of_ascii():
    every = {chr(code) for code in range(sys.maxunicode + 1)}
    open_characters = "".join(OTHER_WHITESPACE)
    assert {*ASCII_WHITESPACE, *open_characters} == {c for c in every if c.isspace()}
    # A line does not break at those that are compatible with a space, but must not break.
    no_break = {c for c in open_characters if unicodedata.decomposition(c).startswith("<noBreak>")}
    assert {*list(OTHER_WHITESPACE)[1]} == no_break


def test_each_kind_of_spaces_is_whitespace_or_not():
    assert answers(SPLIT, "a\u2003b\u00a0c") == {
        "whitespace, whitespace": [["a", "b", "c"]],
        "whitespace, letter": [["a\u2003b", "c"]],
        "letter, whitespace": [["a", "b\u00a0c"]],
        "letter, letter": [["a\u2003b\u00a0c"]],
    }


def test_whitespace_behind_the_last_split_is_that_of_the_reading():
    assert answers(SPLIT, "a b\u00a0", maxsplit=1) == {
        "whitespace, kept": [["a", "b\u00a0"]],
        "whitespace, removed": [["a", "b"]],
        "letter": [["a", "b\u00a0"]],
    }
    assert answers(SPLIT, "a b ", maxsplit=0) == {"kept": [["a b "]], "removed": [["a b"]]}
    assert answers(SPLIT, " ", "a ", maxsplit=1) == {"": [[""], ["a"]]}


def test_a_split_at_whitespace_is_that_of_python():
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice([*"ab \t\n\v"], 9)) for _ in range(200)]
    for maxsplit in (-1, 0, 1, 2, 9):
        rows, counts = evaluate(SPLIT, [np.array(texts, object)], {"maxsplit": maxsplit})
        for text, row, count in zip(texts, rows.tolist(), counts.tolist(), strict=True):
            assert row[:count] == text.split(None, maxsplit), (text, maxsplit)


def test_a_delimiter_leaves_nothing_open():
    assert answers(SPLIT, "a\u2003 b ", delimiter="\u2003", maxsplit=1) == {"": [["a", " b "]]}


# ── StringNormalizer ──────────────────────────────────────────────────────────────────────────


def test_letters_beyond_ascii_are_no_matter_where_none_changes():
    words = ["Ä", "a"]
    assert answers(NORMALIZER, "日本", "A", "Ü", stopwords=words) == {"": ["日本", "Ü"]}


def test_stop_words_are_compared_in_either_case():
    # The long s is s in upper case, and no other letter in lower case.
    assert answers(NORMALIZER, "\u017f", stopwords=["s"]) == {
        "full, lower": ["\u017f"],
        "full, upper": [""],
        "simple, lower": ["\u017f"],
        "simple, upper": [""],
        "capital_sharp_s, lower": ["\u017f"],
        "capital_sharp_s, upper": [""],
        "ascii": ["\u017f"],
    }


@pytest.mark.parametrize(
    ("change", "text", "changed"),
    [
        (simple_upper, "ßé\u0149\u1fb3\u01c6\ufb01", "ßÉ\u0149\u1fbc\u01c4\ufb01"),
        (simple_lower, "\u0130É\u03a3", "ié\u03c3"),
    ],
)
def test_simple_cases_are_single_letters_by_unicodes_table(change, text, changed):
    assert change(text) == changed


def test_turkic_locales_may_have_another_i():
    given = {"locale": "tr_TR.UTF-8", "case_change_action": "LOWER"}
    assert answers(NORMALIZER, "KIT", **given) == {
        "known, english": ["kit"],
        "known, turkic": ["k\u0131t"],
        "refused": None,
    }
    assert answers(NORMALIZER, "KIT", **given | {"locale": "trv_TW"}).keys() == {"known", "refused"}


@pytest.mark.parametrize(
    ("texts", "attrs"),
    [
        (["ß"], {"case_change_action": "UPPER"}),
        (["I"], {"stopwords": ["i"]}),
    ],
)
def test_what_a_locale_does_to_others_is_not_decided(texts, attrs, wording):
    with pytest.raises(NotSupported) as raised:
        answers(NORMALIZER, *texts, locale="tr", **attrs)
    assert raised.value == wording
