"""Texts joined, split, cleaned, matched by patterns of RE2, and n-grams counted in a pool."""

import re
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import chain, combinations, pairwise, zip_longest
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast, check_size
from opcheck.engine.operators import formula_builder, leave_open, operator, raise_unspecified
from opcheck.errors import InvalidNode, NotSupported, decline

NAMES = """RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"""
MATCH, CONCAT, NORMALIZER, SPLIT = (operator(name, exact=True) for name in NAMES.split()[:-1])
TF_IDF = operator("TfIdfVectorizer", of_integers=True)
CONCAT.formula(20)(lambda X, Y: np.add(*broadcast(X, Y)))
#: Changes of case, of all letters and of ASCII's alone.
_WIDE = {"LOWER": str.lower, "UPPER": str.upper}
_NARROW = {
    name: lambda s, of=of: getattr(s.encode(), of)().decode()
    for name, of in (("LOWER", "lower"), ("UPPER", "upper"))
}
#: By mode, if counts are truncated to 1, and if they are scaled by weights.
_SCALES = {"TF": (False, False), "IDF": (True, True), "TFIDF": (False, True)}


def _pieces(text, delimiter, maxsplit):
    if delimiter:
        return text.split(delimiter, maxsplit)
    found = text.split(None, maxsplit)
    if any(c.isspace() and c not in " \t\n\v\f\r" for c in text):
        leave_open("what else is whitespace")
    if len(found) > maxsplit >= 0 and found[-1] != found[-1].rstrip():
        leave_open("trailing whitespace is removed, and what follows the last split is added")
    return found


@formula_builder(20)
def _split(pieces, X, *, delimiter, maxsplit):
    """The formula from `pieces(text, delimiter, maxsplit)`, which has -1 for all splits."""
    if maxsplit is not None and maxsplit < 0:
        raise_unspecified(f"{maxsplit} splits")
    if not X.size:
        leave_open("which axes the substrings of no texts have")
    lists = [pieces(s, delimiter, -1 if maxsplit is None else maxsplit) for s in X.flat]
    counts = np.array([*map(len, lists)], np.int64).reshape(X.shape)
    check_size((X.size, most := counts.max(initial=0)))
    return np.array([*zip_longest(*lists, fillvalue="")], object).T.reshape(*X.shape, most), counts


SPLIT.formula(build=_split)(_pieces)


@SPLIT.mutant("the delimiter was a regular expression", build=_split)
def delimiter_is_a_pattern(text, delimiter, maxsplit):
    with suppress(re.error):
        if delimiter and maxsplit:
            return re.split(delimiter, text, maxsplit=max(maxsplit, 0))
    return _pieces(text, delimiter, maxsplit)


SPLIT.mutant_table(
    {
        "split_from_the_right": (
            "splits were counted from the right",
            lambda s, d, most: s.rsplit(d or None, most),
        ),
        "empty_pieces_dropped": (
            "empty substrings were left out",
            lambda s, d, most: [*filter(None, _pieces(s, d, most))],
        ),
        "empty_text_has_no_pieces": (
            "an empty text had no substrings",
            lambda s, d, most: s and _pieces(s, d, most),
        ),
        "spaces_alone": (
            "nothing but spaces was whitespace",
            lambda s, d, most: (
                s.split(d, most) if d else [*filter(None, s.strip(" ").split(" ", most))]
            ),
        ),
        "whitespace_not_grouped": (
            "each space delimited by itself",
            lambda s, d, most: s.split(d or " ", most),
        ),
        "rest_left_out": (
            "what follows the last split was left out",
            lambda s, d, most: _pieces(s, d, -1)[: most + 1 if most >= 0 else None],
        ),
        "empty_delimiter_is_characters": (
            "an empty delimiter split every character off",
            lambda s, d, most: [*s] if d == "" else _pieces(s, d, most),
        ),
    },
    build=_split,
)


def _cleaned(texts, words, key, change):
    dropped = {*map(key, words)}
    return [change(text) for text in texts if key(text) not in dropped] or [""]


@formula_builder(10)
def _normal(clean, X, *, case_change_action, is_case_sensitive, locale, stopwords):
    """The formula from `clean(texts, words, key, change)`, where keys are compared with words'."""
    if case_change_action not in ("NONE", *_WIDE) or not X.ndim or X.shape[:-1] not in ((), (1,)):
        given = f"{case_change_action!r}, shape {list(X.shape)}"
        raise InvalidNode(f"{given}; allowed: NONE, LOWER, UPPER; [C], [1, C]")
    if is_case_sensitive not in (0, 1):
        raise_unspecified(f"is_case_sensitive {is_case_sensitive}")
    if not X.size or locale is not None:
        leave_open("which locales there are, and what comes of no texts")
    found, *others = (
        clean(
            X.reshape(-1).tolist(),
            stopwords or (),
            str if is_case_sensitive else of[key],
            of.get(case_change_action, str),
        )
        for of, key in ((_WIDE, "LOWER"), (_WIDE, "UPPER"), (_NARROW, "LOWER"))
    )
    if any(other != found for other in others):
        leave_open("the locale decides on letters beyond ASCII")
    return np.array(found, object).reshape(*X.shape[:-1], len(found))


NORMALIZER.formula(build=_normal)(_cleaned)
NORMALIZER.mutant_table(
    {
        "case_changed_first": (
            "the case was changed before stop words were looked for",
            lambda texts, words, key, change: _cleaned([*map(change, texts)], words, key, str),
        ),
        "stopwords_as_they_stand": (
            "the case of texts was ignored, and not that of stop words",
            lambda texts, words, key, change: (
                [change(s) for s in texts if key(s) not in words] or [""]
            ),
        ),
        "texts_as_they_stand": (
            "the case of stop words was ignored, and not that of texts",
            lambda texts, words, key, change: _cleaned(texts, [*map(key, words)], str, change),
        ),
        "parts_of_texts_dropped": (
            "texts that hold a stop word were removed",
            lambda texts, words, key, change: (
                [change(s) for s in texts if not any(key(w) in key(s) for w in words)] or [""]
            ),
        ),
        "nothing_left_is_nothing": (
            "nothing came out where all was removed",
            lambda texts, *how: [s for s in _cleaned(texts, *how) if s or "" in texts],
        ),
    },
    build=_normal,
)
#: What Python has for parts of a pattern that it reads otherwise, or does not repeat.
_INSTEAD = {
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
_IN_SET = {
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
_NAMED = "|".join(re.escape(name) for name in _IN_SET if len(name) > 2)
_TIMES = r"(?:[*+?]|\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})"
_CHAR = (
    r"\\[aftnrv]|\\x[0-9A-Fa-f]{2}|\\x\{[0-9A-Fa-f]{1,6}\}|\\0[0-7]{0,2}|\\[1-3][0-7]{2}"
    r"|\\[!-/:-@\[-^`{-~]"
)
#: A part of a pattern of RE2. All but the last two are Python's too, or have others there.
_PART = re.compile(
    rf"""\A\(\?[is]+\) | (?P<times>{_TIMES})\??(?P<again>{_TIMES})?
    | \((?:(?!\?) | \?(?:P(?P<name><[A-Za-z_][0-9A-Za-z_]*>) | (?:is?|si?|i-s|s-i|-is?|-si?)?:))
    | \[(?P<set>\^?+\]?+(?:(?:\\[dDwW]|(?<!-)\\s)(?!-[^]]) | {_CHAR} | --(?=\]) | (?!--)[^]\\[]
        | (?<!-)(?:{_NAMED})(?!-[^]]) | \[(?!:))*+\])
    | \\Q(?P<quoted>.*?)(?:\\E|\Z) | \\[dDwWsSAbBz] | {_CHAR} | [^\\(\[]
    | (?P<wrong>\\(?:[1-7](?![0-7])|[89ceg-moquyF-ORTUVX-Z]|\Z) | \(\?(?:[=!\#>|&(]|<[=!]|P[=>])
        | \[\^?+\]?+(?:\[:\^?\w+:\] | \\. | [^]\\])*+\Z)
    | (?P<unknown>.)""",
    re.S | re.X,
)


def _in_python(part):
    numbers = re.findall("[0-9]+", part["times"] or "")
    decline(part["unknown"], f"the engine does not read {part.string[part.start() :]!r}")
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


@formula_builder(20)
def _by_pattern(match, X, *, pattern):
    if pattern is None:
        raise_unspecified("no pattern")
    try:
        made = re.compile(_PART.sub(_in_python, pattern), re.ASCII)
    except re.error as error:
        raise InvalidNode(f"pattern {pattern!r}: {error}") from None
    texts = X.reshape(-1).tolist()
    of_ascii = "".join([pattern, *texts]).isascii() and r"\x{" not in pattern
    if re.search(r"\(\?[s-]*i", pattern) and not of_ascii:
        raise NotSupported("the engine does not know the cases of letters beyond ASCII")
    if "){" in pattern and prod(map(int, re.findall(r"[0-9]+(?=[0-9,]*\})", pattern))) > 1000:
        raise NotSupported("the engine does not count the repetitions of repetitions")
    return np.array([bool(match(made, s)) for s in texts], np.bool_).reshape(X.shape)


MATCH.formula(build=_by_pattern)(re.Pattern.fullmatch)
MATCH.mutant_table(
    {
        "matched_anywhere": ("the pattern had to match a part of the text", re.Pattern.search),
        "matched_at_the_beginning": ("the pattern had to match the beginning", re.Pattern.match),
        "first_match_alone": (
            "the first match at the beginning had to be the whole text",
            lambda made, s: (found := made.match(s)) and found.end() == len(s),
        ),
        "last_line_break_ignored": (
            "a line break at the end was ignored",
            lambda made, s: made.fullmatch(s.removesuffix("\n")),
        ),
        "pattern_is_a_text": ("the pattern was a text", lambda made, s: made.pattern == s),
        "vertical_tab_is_whitespace": (
            r"\\s held the vertical tab",
            lambda made, s: re.fullmatch(made.pattern.replace(r"\t\n\f\r ", r"\s"), s, re.A),
        ),
        **{
            name: (text, lambda made, s, flags=flags: re.compile(made.pattern, flags).fullmatch(s))
            for name, text, flags in (
                ("case_ignored", "the case of letters was ignored", re.A | re.I),
                ("dot_is_a_line_break_too", "a dot matched line breaks too", re.A | re.S),
                ("classes_of_unicode", "classes held letters and digits beyond ASCII", 0),
            )
        },
    },
    build=_by_pattern,
)


def _pooled(pool, starts, longest):
    """The n-grams of a pool, by length and then as they stand there."""
    ends = [*starts, len(pool)]
    if ends[0] or any(b < a or (b - a) % n for n, (a, b) in enumerate(pairwise(ends), 1)):
        raise InvalidNode(f"ngram_counts {[*starts]} for a pool of {len(pool)} items")
    if len(starts) < longest:
        leave_open(f"the pool has not even an empty list of {longest}-grams")
    places = ((n, at) for n, pair in enumerate(pairwise(ends), 1) for at in range(*pair, n))
    return [tuple(pool[at : at + n]) for n, at in places]


def _grams(rows, at, lengths, skips):
    """Every n-gram of a row, whose items are equally far apart; a single one skips nothing."""
    row = rows[at]
    for n in lengths:
        for step in range(1, (skips if n > 1 else 0) + 2):
            ends = range((n - 1) * step, len(row))
            yield from (tuple(row[end - (n - 1) * step : end + 1 : step]) for end in ends)


def _factors(counts, weights, indexes):
    factors = np.ones(counts.shape[-1], np.float32)
    factors[[*indexes]] = 1 if weights is None else weights
    return factors


def _scaled(counts, weights, indexes, mode, scales=_SCALES):
    is_truncated, is_weighted = scales[mode]
    times = xp.astype(np.minimum(counts, 1) if is_truncated else counts, np.float32)
    return times * _factors(counts, weights, indexes) if is_weighted else times


def _added(counts, weights, indexes, mode):
    if mode != "TFIDF":
        return _scaled(counts, weights, indexes, mode)
    each = np.arange(counts.max(initial=0)) < counts[..., None]
    factors = _factors(counts, weights, indexes)[:, None]
    return xp.sum(xp.astype(np.where(each, factors, 0), np.float32), axis=-1)


@formula_builder(9, options=["scaled"])
def _by_grams(
    grams,
    X,
    *,
    max_gram_length,
    max_skip_count,
    min_gram_length,
    mode,
    ngram_counts,
    ngram_indexes,
    pool_int64s,
    pool_strings,
    weights,
    scaled=_scaled,
):
    """The formula from `grams(rows, at, …)` and `scaled(counts, …)`."""
    if X.ndim not in (1, 2) or mode not in _SCALES:
        raise InvalidNode(f"rank {X.ndim}, mode {mode!r}; allowed: 1, 2; TF, IDF, TFIDF")
    texts = X.dtype == object
    if (pool_int64s is None, pool_strings is None) != (texts, not texts):
        raise InvalidNode(f"X of {X.dtype}; allowed: that of the one pool that is set")
    if max_skip_count < 0 or not 1 <= min_gram_length <= max_gram_length:
        raise_unspecified("such numbers of skips and lengths")
    pool = pool_int64s if pool_strings is None else pool_strings
    known = _pooled(pool, ngram_counts, max_gram_length)
    sizes = {len(ngram_indexes), len(known) if weights is None else len(weights)}
    if sizes != {len(known)} or min(ngram_indexes, default=0) < 0:
        raise InvalidNode(f"{sizes} indexes and weights of {len(known)} n-grams")
    if not known or len({*known}) < len(known) or len({*ngram_indexes}) < len(known):
        raise_unspecified("no n-gram, or of one that is there twice")
    check_size(shape := (*X.shape[:-1], max(ngram_indexes) + 1))
    counts, places = np.zeros(shape, np.int64), dict(zip(known, ngram_indexes, strict=True))
    rows, lengths = np.atleast_2d(X).tolist(), range(min_gram_length, max_gram_length + 1)
    for at, found in enumerate(np.atleast_2d(counts)):
        for gram, times in Counter(grams(rows, at, lengths, max_skip_count)).items():
            if gram in places:
                found[places[gram]] = times
    return scaled(counts, weights, ngram_indexes, mode)


def _weighed(scaled):
    return _by_grams(_grams, scaled=scaled)


TF_IDF.formula(build=_by_grams)(_grams)
TF_IDF.alternative("where a weight is added each time that an n-gram is found", build=_weighed)(
    _added
)
TF_IDF.mutant_table(
    {
        "most_skipped_alone": (
            "always as many items were skipped as may be",
            lambda rows, at, lengths, skips: (
                tuple(rows[at][i : i + n * (skips + 1) : skips + 1])
                for n in lengths
                for i in range(len(rows[at]) - (n - 1) * (skips + 1))
            ),
        ),
        "single_items_once_a_skip": (
            "single items were counted again for each skip",
            lambda rows, at, lengths, skips: chain(
                _grams(rows, at, lengths, skips),
                ((item,) for item in rows[at] * skips if 1 in lengths),
            ),
        ),
        "skipped_in_any_gap": (
            "items of an n-gram were not equally far apart",
            lambda rows, at, lengths, skips: (
                tuple(rows[at][i] for i in places)
                for n in lengths
                for places in combinations(range(len(rows[at])), n)
                if all(b - a <= skips + 1 for a, b in pairwise(places))
            ),
        ),
        "each_gram_once": (
            "an n-gram was counted once",
            lambda *how: [*dict.fromkeys(_grams(*how))],
        ),
        "across_rows": (
            "n-grams began in one row and ended in the next",
            lambda rows, at, lengths, skips: _grams(
                [rows[at] + [*chain(*rows[at + 1 :])][: lengths[-1] - 1]], 0, lengths, skips
            ),
        ),
    },
    build=_by_grams,
)
TF_IDF.mutant_table(
    {
        name: (text, partial(_scaled, scales={**_SCALES, mode: scale}))
        for name, text, mode, scale in (
            ("idf_unweighted", "IDF had no weights", "IDF", (True, False)),
            ("tfidf_unweighted", "TFIDF had no weights", "TFIDF", (False, False)),
            ("tf_weighted", "TF had weights", "TF", (False, True)),
            ("tf_is_binary", "TF said if an n-gram is there", "TF", (True, False)),
            ("idf_is_tfidf", "IDF was TFIDF", "IDF", (False, True)),
            ("tfidf_is_idf", "TFIDF was IDF", "TFIDF", (True, True)),
        )
    }
    | {
        "weights_by_coordinate": (
            "weights were those of coordinates in the output",
            lambda counts, weights, indexes, mode: _scaled(counts, weights, sorted(indexes), mode),
        ),
    },
    build=_weighed,
)
