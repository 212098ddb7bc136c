"""TfIdfVectorizer (9): how often each n-gram of a pool is in a sequence, times its weight."""

from collections import Counter
from functools import partial
from itertools import chain, combinations, pairwise

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported

OP = operator("TfIdfVectorizer", of_integers=True)


def _pooled(pool, starts, longest):
    """The n-grams of a pool, by length and then as they stand there."""
    ends = [*starts, len(pool)]
    if ends[0] or any(b < a or (b - a) % n for n, (a, b) in enumerate(pairwise(ends), 1)):
        raise InvalidNode(f"ngram_counts {[*starts]} for a pool of {len(pool)} items")
    if len(starts) < longest:
        is_open(f"the pool does not even have an empty collection of {longest}-grams")
    places = ((n, at) for n, pair in enumerate(pairwise(ends), 1) for at in range(*pair, n))
    return [tuple(pool[at : at + n]) for n, at in places]


def _grams(rows, at, lengths, skips):
    """Every n-gram of a row, whose items are equally far apart; a single one skips nothing."""
    row = rows[at]
    for n in lengths:
        for step in range(1, (skips if n > 1 else 0) + 2):
            ends = range((n - 1) * step, len(row))
            yield from (tuple(row[end - (n - 1) * step : end + 1 : step]) for end in ends)


#: By mode, if counts are truncated to 1, and if they are scaled by weights.
_SCALES = {"TF": (False, False), "IDF": (True, True), "TFIDF": (False, True)}


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


def _by_grams(grams, scaled=_scaled):
    """The formula from `grams(rows, at, …)` and `scaled(counts, …)`."""

    def formula(X, *, max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts,
                ngram_indexes, pool_int64s, pool_strings, weights):  # fmt: skip
        if X.ndim not in (1, 2) or mode not in _SCALES:
            raise InvalidNode(f"rank {X.ndim}, mode {mode!r}; allowed: 1, 2; TF, IDF, TFIDF")
        if (pool_int64s is None) != (X.dtype == object) or (pool_strings is None) == (
            X.dtype == object
        ):
            raise InvalidNode(f"X of {X.dtype}; allowed: that of the one pool that is set")
        if max_skip_count < 0 or not 1 <= min_gram_length <= max_gram_length:
            raise NotSupported("nothing is said of such numbers of skips and lengths")
        pool = pool_int64s if pool_strings is None else pool_strings
        known = _pooled(pool, ngram_counts, max_gram_length)
        sizes = {len(ngram_indexes), len(known) if weights is None else len(weights)}
        if sizes != {len(known)} or min(ngram_indexes, default=0) < 0:
            raise InvalidNode(f"{sizes} indexes and weights of {len(known)} n-grams")
        if not known or len({*known}) < len(known) or len({*ngram_indexes}) < len(known):
            raise NotSupported("nothing is said of no n-gram, or of one that is there twice")
        shape = (*X.shape[:-1], max(ngram_indexes) + 1)
        check_size(shape)
        counts, places = np.zeros(shape, np.int64), dict(zip(known, ngram_indexes, strict=True))
        rows, lengths = np.atleast_2d(X).tolist(), range(min_gram_length, max_gram_length + 1)
        for at, found in enumerate(np.atleast_2d(counts)):
            for gram, times in Counter(grams(rows, at, lengths, max_skip_count)).items():
                if gram in places:
                    found[places[gram]] = times
        return scaled(counts, weights, ngram_indexes, mode)

    return {9: formula}


def _by_weights(scaled):
    return _by_grams(_grams, scaled)


OP.formula(by=_by_grams)(_grams)
OP.also_honest("where a weight is added each time that an n-gram is found", by=_by_weights)(_added)
OP.mutant_table({
    "most_skipped_alone": ("always as many items were skipped as may be",
        lambda rows, at, lengths, skips: (
            tuple(rows[at][i : i + n * (skips + 1) : skips + 1]) for n in lengths
            for i in range(len(rows[at]) - (n - 1) * (skips + 1)))),
    "single_items_once_a_skip": ("single items were counted again for each skip",
        lambda rows, at, lengths, skips: chain(_grams(rows, at, lengths, skips), (
            (item,) for item in rows[at] * skips if 1 in lengths))),
    "skipped_in_any_gap": ("items of an n-gram were not equally far apart",
        lambda rows, at, lengths, skips: (
            tuple(rows[at][i] for i in places) for n in lengths
            for places in combinations(range(len(rows[at])), n)
            if all(b - a <= skips + 1 for a, b in pairwise(places)))),
    "each_gram_once": ("an n-gram was counted once", lambda *how: [*dict.fromkeys(_grams(*how))]),
    "across_rows": ("n-grams began in one row and ended in the next",
        lambda rows, at, lengths, skips: _grams([rows[at] + [*chain(*rows[at + 1 :])][
            : lengths[-1] - 1]], 0, lengths, skips)),
}, by=_by_grams)  # fmt: skip
OP.mutant_table({
    name: (text, partial(_scaled, scales={**_SCALES, mode: scale}))
    for name, text, mode, scale in (
        ("idf_unweighted", "IDF had no weights", "IDF", (True, False)),
        ("tfidf_unweighted", "TFIDF had no weights", "TFIDF", (False, False)),
        ("tf_weighted", "TF had weights", "TF", (False, True)),
        ("tf_is_binary", "TF said if an n-gram is there", "TF", (True, False)),
        ("idf_is_tfidf", "IDF was TFIDF", "IDF", (False, True)),
        ("tfidf_is_idf", "TFIDF was IDF", "TFIDF", (True, True)))
} | {
    "weights_by_coordinate": ("weights were those of coordinates in the output",
        lambda counts, weights, indexes, mode: _scaled(counts, weights, sorted(indexes), mode)),
}, by=_by_weights)  # fmt: skip
