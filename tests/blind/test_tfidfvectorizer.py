"""TfIdfVectorizer as its text says, against the engine."""

from typing import Any

import numpy as np

from opcheck.dtypes import of as dtype_of
from tests.blind.by_the_text import Forbidden, Open, differences


def pooled(attrs: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The n-grams of the pool, in its order: all of length 1, then of length 2, and so on."""
    pools = [attrs[name] for name in ("pool_int64s", "pool_strings") if name in attrs]
    if len(pools) != 1:
        raise Forbidden("Only one of pool_strings and pool_int64s can be set")
    pool, starts = [*pools[0]], [*attrs["ngram_counts"]]
    if not starts:
        raise Open("The starting indexes of 1-grams, 2-grams, and so on: there are none")
    if starts[0] != 0:
        raise Forbidden("starting with the collections of all 1-grams")
    ends = [*starts[1:], len(pool)]
    grams: list[tuple[Any, ...]] = []
    for n, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        if end < start or (end - start) % n:
            raise Forbidden("the boundary between two consecutive collections of n-grams")
        grams += [tuple(pool[k : k + n]) for k in range(start, end, n)]
    return grams


def times_found(row: list[Any], gram: tuple[Any, ...], max_skip: int) -> int:
    """How often an n-gram is found with any number of skips; nothing is skipped within one item."""
    found = 0
    for skips in range(max_skip + 1) if len(gram) > 1 else [0]:
        for start in range(len(row)):
            at = [start + k * (skips + 1) for k in range(len(gram))]
            found += at[-1] < len(row) and tuple(row[k] for k in at) == gram
    return found


def tfidf(since: int, inputs: list[np.ndarray | None], attrs, outputs) -> list[np.ndarray]:
    (x,) = inputs
    assert x is not None
    mode, indexes = attrs["mode"], [*attrs["ngram_indexes"]]
    if mode not in ("TF", "IDF", "TFIDF"):
        raise Forbidden('one of "TF", "IDF" and "TFIDF"')
    if x.ndim not in (1, 2):
        raise Forbidden("Input can be either a 1-D or 2-D tensor")
    dtype = dtype_of(x)
    if ("pool_strings" in attrs) != (dtype is not None and dtype.kind == "string"):
        raise Forbidden("If pool_strings is set, the input must be a string tensor")
    least, most = attrs["min_gram_length"], attrs["max_gram_length"]
    if least < 1 or most < least or attrs["max_skip_count"] < 0:
        raise Open("Minimum, maximum n-gram length, maximum number of items to be skipped")
    grams = pooled(attrs)
    if len(grams) != len(indexes):
        raise Forbidden("This list is parallel to the specified 'pool_*' attribute")
    if not indexes:
        raise Open("max(ngram_indexes) of none")
    if min(indexes) < 0:
        raise Forbidden("the coordinate of the i-th n-gram in the output tensor")
    weights = [*attrs.get("weights", [1.0] * len(indexes))]
    if len(weights) != len(indexes):
        raise Forbidden("Its length equals to the size of ngram_indexes")
    if len(set(indexes)) < len(indexes):
        raise Open("Y[ngram_indexes[i]] indicates the times that the i-th n-gram is found: of two")
    if most > len(attrs["ngram_counts"]):
        raise Open("The starting indexes of 1-grams, 2-grams, and so on: not of the longest")
    rows = x[None] if x.ndim == 1 else x
    y = np.zeros((len(rows), max(indexes) + 1))
    for n, row in enumerate(rows):
        for gram, index, weight in zip(grams, indexes, weights, strict=True):
            if not least <= len(gram) <= most:
                continue
            count = times_found(row.tolist(), gram, attrs["max_skip_count"])
            if mode == "IDF":
                count = min(count, 1)
            y[n, index] = count if mode == "TF" else count * np.float64(weight)
    return [y.astype(np.float32).reshape(*x.shape[:-1], max(indexes) + 1)]


def test_tfidfvectorizer_is_what_its_text_says() -> None:
    assert differences("TfIdfVectorizer", tfidf, every=5) == []
