"""RegexFullMatch: patterns by RE2's page, what the engine declines, and a missing pattern."""

import numpy as np
import pytest

from opcheck.engine import regular
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

OP = OpVersion("", "RegexFullMatch", 20)


def matches(pattern, *texts):
    (matched,) = evaluate(OP, [np.array(texts, object)], {"pattern": pattern})
    return matched.tolist()


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"a$\n?", "a", ["a\n"]),
        (r"^*a", "a", ["aa"]),
        (r"(?:\b)+a\b*", "a", [""]),
        (r"\B", "", ["a"]),
        (r"[\s.]", "\f", ["\v"]),
        (r"[^\s]", "\v", ["\f"]),
        (r"\S", "\v", "\f"),
        (r"a{,2}", "a{,2}", ["a", "aa"]),
        (r"a{01}", "a{01}", ["a"]),
        (r"a{2", "a{2", ["aa"]),
        (r"[[a]&&b]", "a&&b]", ["b"]),
        (r"[a-z&&[b]]", "&]", ["b"]),
        (r"[a-]", "-", ["b"]),
        (r"\Qa.\E*", "a..", ["ab"]),
        (r"[[:word:].]\Q]", "_]", ["é]"]),
        (r"\x{1F642}[\x{e4}-\x{e9}]", "🙂é", ["🙂e"]),
        (r"\101\0[\07]", "A\0\a", ["A0"]),
        (r"(?P<n>a)(?P<n>b)", "ab", ["a"]),
        (r"(?i)k(?-i:k)", "Kk", ["KK"]),
        (r"(?s).", "\n", [""]),
        (r"\d\w\W", "1aé", ["٣aé", "1éé"]),
        (r"a|ab|abc", "abc", ["abcd"]),
        (r"(|a)*", "aaa", "b"),
    ],
)
def test_a_pattern_means_what_the_page_on_re2_says(pattern, matching, others):
    assert matches(pattern, matching, *others) == [True, *[False] * len(others)]


@pytest.mark.parametrize(
    ("error", "patterns"),
    [
        (
            InvalidNode,
            r"(?=a) (?<!a) (a)\1 (?P=n) (?>a) a++ a{2}+ a** *a \Z \N \u0061 (?#a) (a a) [a",
        ),
        (InvalidNode, r"a{1001} a{2,1} [b-a] \8 \18 [[:foo:] \x{110000} (?(1)a) [a-\x30]"),
        (NotSupported, r"\pL \p{Greek} [[:^alpha:]] \C a(?i)b (?m)a (?U)a (?<n>a) [\pL] [\d-z]"),
    ],
)
def test_other_patterns_are_refused_or_unsupported(error, patterns):
    for pattern in patterns.split(" "):
        with pytest.raises(error):
            matches(pattern, "a")
    for text, pattern in (("\u212a", "(?i)k"), ("k", r"(?i)\x{212a}")):
        with pytest.raises(NotSupported, match="letters beyond ASCII"):
            matches(pattern, text)
    with pytest.raises(NotSupported, match="repetitions of repetitions"):
        matches("(a{600}){2}", "a")


@pytest.mark.parametrize("pattern", ["(a+)+c", "(a|aa)*c", "(.*)*(.*)*(.*)*c", "(?i)(A+)+c"])
def test_a_pattern_that_backtracks_forever_in_python_takes_a_moment(pattern):
    assert matches(pattern, "a" * 5000, "a" * 5000 + "c") == [False, True]


def test_a_text_that_takes_too_many_steps_is_unsupported(monkeypatch):
    monkeypatch.setattr(regular, "MOST_STEPS", 1000)
    with pytest.raises(NotSupported, match="steps"):
        matches("(?:.?){100}", "a" * 100)


def test_the_texts_of_a_tensor_share_their_steps(monkeypatch):
    monkeypatch.setattr(regular, "MOST_STEPS", 1000)
    for _ in range(3):
        assert matches("a*", *["a" * 20] * 5) == [True] * 5
    with pytest.raises(NotSupported, match="steps"):
        matches("a*", *["a" * 20] * 50)


def test_a_count_of_thousands_of_digits_is_refused_and_beside_a_brace_it_is_text():
    digits = "9" * 5000
    with pytest.raises(InvalidNode):
        matches("a{" + digits + "}", "a")
    assert matches("(a){2}" + digits + "}", "aa" + digits + "}") == [True]


def test_groups_deep_within_each_other_are_unsupported():
    with pytest.raises(NotSupported, match="within each other"):
        matches("(" * 5000 + "a" + ")" * 5000, "a")


def test_a_missing_pattern_is_empty_or_matches_anything_or_is_refused():
    answers = by_reading(OP, [np.array(["", "a\n", "b"], object)], {})
    assert answers.pop("refused") is None
    assert {name: matched.tolist() for name, (matched,) in answers.items()} == {
        "empty": [True, False, False],
        "anything": [True, True, True],
    }
