"""Texts: patterns of RE2 by its page, what the texts leave open, and n-grams in plain loops."""

from itertools import product

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

TF_IDF = OpVersion("", "TfIdfVectorizer", 9)


def found(op, since, *texts, **attrs):
    return evaluate(OpVersion("", op, since), [np.array(texts, object)], attrs)


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
    (matched,) = found("RegexFullMatch", 20, matching, *others, pattern=pattern)
    assert matched.tolist() == [True, *[False] * len(others)]


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
            found("RegexFullMatch", 20, "a", pattern=pattern)
    for text, pattern in (("\u212a", "(?i)k"), ("k", r"(?i)\x{212a}")):
        with pytest.raises(NotSupported, match="letters beyond ASCII"):
            found("RegexFullMatch", 20, text, pattern=pattern)
    with pytest.raises(NotSupported, match="repetitions of repetitions"):
        found("RegexFullMatch", 20, "a", pattern="(a{600}){2}")


@pytest.mark.parametrize(
    ("op", "since", "texts", "attrs"),
    [
        ("StringSplit", 20, ["a\u2003b"], {}),
        ("StringSplit", 20, ["a b "], {"maxsplit": 1}),
        ("StringSplit", 20, [], {}),
        ("StringNormalizer", 10, [], {}),
        ("StringNormalizer", 10, ["a"], {"locale": "C"}),
        ("StringNormalizer", 10, ["ß"], {"case_change_action": "UPPER"}),
        ("StringNormalizer", 10, ["\u017f"], {"stopwords": ["s"]}),
    ],
)
def test_what_the_texts_leave_open_is_not_said(op, since, texts, attrs):
    assert found(op, since, *texts, **attrs)
    with judging(), pytest.raises(NotSupported):
        found(op, since, *texts, **attrs)


def test_letters_beyond_ascii_are_no_matter_where_none_changes():
    with judging():
        (out,) = found("StringNormalizer", 10, "日本", "A", "Ü", stopwords=["Ä", "a"])
    assert out.tolist() == ["日本", "Ü"]


@pytest.mark.parametrize(("mode", "skips"), [*product(["TF", "IDF", "TFIDF"], [0, 1, 3])])
def test_n_grams_are_counted_as_plain_loops_count_them(mode, skips):
    rng = np.random.default_rng(7)
    x, weights = rng.integers(0, 3, (4, 40)), np.float32(rng.uniform(0.1, 2, 6))
    pool, places = [(1,), (2,), (0, 1), (1, 1), (2, 1), (0, 1, 2)], [3, 0, 6, 1, 5, 2]
    wanted = np.zeros((4, 7), np.float32)
    for gram, place, weight in zip(pool, places, weights, strict=True):
        for row in range(4):
            steps = range(1, 2 + (skips if len(gram) > 1 else 0))
            starts = [[x[row, i : i + len(gram) * s : s] for i in range(40)] for s in steps]
            count = sum(tuple(one) == gram for some in starts for one in some)
            times = min(count, 1) if mode == "IDF" else count
            wanted[row, place] = np.float32(times) * (1 if mode == "TF" else weight)
    attrs = {"mode": mode, "max_skip_count": skips, "min_gram_length": 1, "max_gram_length": 3}
    attrs |= {"ngram_counts": (0, 2, 8), "pool_int64s": tuple(sum(pool, ()))}
    attrs |= {"ngram_indexes": tuple(places), "weights": tuple(map(float, weights))}
    want = computed_want(TF_IDF, "Y", exactly(TF_IDF, (x,), attrs)[0])
    right = compare(want, wanted)
    assert (right.problem, right.used <= 1) == (None, True)
    assert compare(want, np.nextafter(wanted, np.float32(9)) + (mode == "TF")).problem == "values"
