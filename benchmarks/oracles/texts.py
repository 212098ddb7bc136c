"""Operators of texts, categories and n-grams."""

import re
from typing import Any

import numpy as np

from benchmarks.oracles import (
    ONNX_ML,
    Array,
    Random,
    Sample,
    chance,
    int64,
    one_of,
    oracle,
    shape,
    whole,
)

WORDS = ("a", "bc", "", "d e", " x y ", "a,b,,c", "ab ab", ",", "été,x", "a  b")


def words(rng: Random, dims: list[int]) -> Array:
    return np.array(rng.choice(np.array(WORDS, object), dims), object).reshape(dims)


@oracle("StringSplit")
def split(rng: Random) -> Sample:
    x = words(rng, [int(rng.integers(1, 4))])
    delimiter, most = one_of(rng, None, "", ",", " ", "b"), one_of(rng, None, 0, 1, 2)
    at_spaces = not delimiter
    parts = []
    for text in x:
        found = text.split(None if at_spaces else delimiter, -1 if most is None else most)
        # The rest after the last split keeps what ends it.
        parts.append(found)
    width = max(map(len, parts))
    y = np.array([row + [""] * (width - len(row)) for row in parts], object)
    attrs = {} if delimiter is None else {"delimiter": delimiter}
    attrs |= {} if most is None else {"maxsplit": most}
    return Sample(20, (x,), (y.reshape(len(x), width), int64([len(row) for row in parts])), attrs)


PATTERNS = ("a.*", "[a-z]+", r"\d{2,3}", "(ab|c)*", "x?y", r"www\.[a-z]+\.com", "a|ab")
SUBJECTS = ("a", "ab", "", "12", "123", "1234", "abc", "xy", "www.x.com", "abab")


@oracle("RegexFullMatch")
def matched(rng: Random) -> Sample:
    pattern = one_of(rng, *PATTERNS)
    x = np.array([one_of(rng, *SUBJECTS) for _ in range(5)], object)
    y = np.array([re.fullmatch(pattern, text) is not None for text in x])
    return Sample(20, (x,), (y,), {"pattern": pattern})


@oracle("StringConcat")
def joined(rng: Random) -> Sample:
    dims = shape(rng, (1, 2))
    a, b = words(rng, dims), words(rng, dims[1:] if chance(rng, 0.5) else dims)
    y = np.empty(dims, object)
    for index in np.ndindex(*dims):
        y[index] = a[index] + (b[index] if b.ndim == a.ndim else b[index[1:]])
    return Sample(20, (a, b), (y,))


NAMES = ("Monday", "monday", "TUESDAY", "tuesday", "", "a b", "Wed.", "wed.", "42")
CASES = {"NONE": lambda text: text, "LOWER": str.lower, "UPPER": str.upper}


@oracle("StringNormalizer")
def normalized(rng: Random) -> Sample:
    x = [one_of(rng, *NAMES) for _ in range(int(rng.integers(1, 6)))]
    stopped = [one_of(rng, *NAMES) for _ in range(int(rng.integers(1, 4)))]
    stopped = stopped if chance(rng, 0.8) else []
    is_sensitive, action = chance(rng, 0.5), one_of(rng, *CASES)
    if is_sensitive:
        kept = [text for text in x if text not in stopped]
    else:
        lowered = [word.lower() for word in stopped]
        kept = [text for text in x if text.lower() not in lowered]
    y = np.array([CASES[action](text) for text in kept] or [""], object)
    attrs: dict[str, Any] = {"case_change_action": action, "is_case_sensitive": int(is_sensitive)}
    if stopped:
        attrs["stopwords"] = stopped
    has_row = chance(rng, 0.5)
    texts = np.array(x, object)
    if has_row:
        return Sample(10, (texts[None],), (y[None],), attrs)
    return Sample(10, (texts,), (y,), attrs)


@oracle("CategoryMapper")
def mapped(rng: Random) -> Sample:
    numbers = [int(n) for n in rng.permutation(9)[:4]]
    names = [str(name) for name in rng.permutation(NAMES)[:4]]
    dims = shape(rng, (1, 2))
    attrs: dict[str, Any] = {"cats_int64s": numbers, "cats_strings": names}
    if chance(rng, 0.5):
        x = np.array(rng.choice(np.array(NAMES, object), dims), object)
        to_numbers = dict(zip(names, numbers, strict=True))
        y = int64([to_numbers.get(text, -7) for text in x.flat]).reshape(dims)
        return Sample(1, (x,), (y,), {**attrs, "default_int64": -7}, domain=ONNX_ML)
    x = int64(rng.integers(0, 10, dims))
    to_names = dict(zip(numbers, names, strict=True))
    found = [to_names.get(int(n), "none") for n in x.flat]
    y = np.array(found, object).reshape(dims)
    return Sample(1, (x,), (y,), {**attrs, "default_string": "none"}, domain=ONNX_ML)


@oracle("TfIdfVectorizer")
def counted(rng: Random) -> Sample:
    least = int(rng.integers(1, 3))
    most, skips = int(rng.integers(least, 4)), int(rng.integers(0, 3))
    pool: list[int] = []
    starts, grams = [], []
    for n in range(1, most + 1):
        starts.append(len(pool))
        for gram in {tuple(rng.integers(0, 4, n).tolist()) for _ in range(3)}:
            pool += gram
            grams.append(gram)
    indexes = [int(n) for n in rng.permutation(len(grams))]
    weights = [float(n) for n in rng.random(len(grams)).astype(np.float32)]
    mode = one_of(rng, "TF", "IDF", "TFIDF")
    x = whole(rng, one_of(rng, (2, 6), (5,)), 0, 3, np.int64)
    rows = x.reshape(-1, x.shape[-1])
    y = np.zeros((len(rows), len(grams)))
    for number, row in enumerate(rows.tolist()):
        for gram, place, weight in zip(grams, indexes, weights, strict=True):
            count = _occurrences(gram, row, skips) if len(gram) >= least else 0
            factors = {"TF": count, "IDF": min(count, 1) * weight, "TFIDF": count * weight}
            y[number, place] = factors[mode]
    attrs = {
        "mode": mode,
        "min_gram_length": least,
        "max_gram_length": most,
        "max_skip_count": skips,
        "pool_int64s": pool,
        "ngram_counts": starts,
        "ngram_indexes": indexes,
        "weights": weights,
    }
    return Sample(9, (x,), (y if x.ndim > 1 else y[0],), attrs)


def _occurrences(gram: tuple[int, ...], row: list[int], skips: int) -> int:
    """How often a gram occurs, with the same number of elements left out between all its own."""
    found = 0
    for gap in [0] if len(gram) == 1 else range(skips + 1):
        for start in range(len(row) - (len(gram) - 1) * (gap + 1)):
            found += [*gram] == row[start :: gap + 1][: len(gram)]
    return found
