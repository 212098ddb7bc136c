"""TfIdfVectorizer, all versions: how often each n-gram of a pool is found in a row of items.

The text: "The output vector (denoted by Y) stores the count of each n-gram; Y[ngram_indexes[i]]
indicates the times that the i-th n-gram is found." By the mode, the counts are

    TF      as they are
    IDF     truncated to 1, times the weights
    TFIDF   times the weights

The items of an n-gram are equally far apart, with 0 to max_skip_count other items between two of
them. A single item has nothing to skip, and is found once.

The parts of the file: the pool; n-grams of a row; counts and weights; the formula; its mutants.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations, islice, pairwise
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_size
from opcheck.engine.operators import Formula, formulas_of_versions, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, decline, reject
from opcheck.numbers import Array

OP = operator("TfIdfVectorizer", of_integers=True)

MISSING_COLLECTION = Ruling(
    "missing-collection-of-n-grams",
    "The text does not define where the n-grams of a length begin that ngram_counts has none for.",
    ("empty", "refused"),
)
N_GRAM_TWICE = Ruling(
    "n-gram-twice-in-the-pool",
    "The text does not define which of two equal n-grams of the pool is counted.",
    ("both", "first", "last", "refused"),
)
SHARED_COORDINATE = Ruling(
    "n-grams-of-one-coordinate",
    "The text does not define the output of a coordinate that several n-grams have.",
    ("sum", "first", "last", "refused"),
)
LENGTH_BELOW_1 = Ruling(
    "n-gram-length-below-1",
    "The text does not define n-grams without items.",
    ("from_1", "refused"),
)
LONGEST_BELOW_SHORTEST = Ruling(
    "longest-n-gram-below-shortest",
    "The text does not define n-grams whose greatest length is below the least.",
    ("none", "refused"),
)
NEGATIVE_SKIPS = Ruling(
    "negative-skips",
    "The text does not define a negative maximum number of skips.",
    ("no_skips", "none", "refused"),
)

#: An item of a row, a text or a whole number.
Item: TypeAlias = Any
#: Consecutive items of the pool, or items of a row that are equally far apart.
Gram: TypeAlias = tuple[Item, ...]


# ── the pool ──────────────────────────────────────────────────────────────────────────────────


class Entry(NamedTuple):
    """An n-gram of the pool, and its coordinate in the output."""

    gram: Gram
    coordinate: int


def grams_of_pool(pool: Sequence[Item], ngram_counts: Sequence[int], longest: int) -> list[Gram]:
    """Return the n-grams of a pool in their order, "starting with the collections of all 1-grams".

    ngram_counts: "the starting indexes of 1-grams, 2-grams, and so on in pool". longest: the
    greatest length that is searched for; a pool without a place for it is accepted or refused, by
    MISSING_COLLECTION. Raises InvalidNode unless the indexes ascend from 0 to at most the pool's
    length in whole n-grams, and if that ruling refuses the pool.
    """
    grams: list[Gram] = []
    given = f"ngram_counts {list(ngram_counts)} for a pool of {len(pool)} items"
    boundaries = [*ngram_counts, len(pool)]
    reject(boundaries[0] != 0, given)
    for n, (start, end) in enumerate(pairwise(boundaries), 1):
        reject(end < start or (end - start) % n != 0, given)
        grams += [tuple(pool[place : place + n]) for place in range(start, end, n)]
    if len(ngram_counts) < longest and MISSING_COLLECTION.reading() == "refused":
        raise InvalidNode(f"{given} has no collection of {longest}-grams")
    return grams


def entries_of(grams: Sequence[Gram], ngram_indexes: Sequence[int], mode: str) -> list[Entry]:
    """Return the n-grams that are counted, each with its coordinate.

    grams and ngram_indexes are of one length. Of equal n-grams, and of those of one coordinate, all
    count, or the first, or the last: N_GRAM_TWICE, SHARED_COORDINATE. Raises InvalidNode for them
    if these rulings refuse them; NotSupported for a shared coordinate in a mode other than TF,
    where counts are truncated or have weights.
    """
    entries = [Entry(*pair) for pair in zip(grams, ngram_indexes, strict=True)]
    if len(set(grams)) < len(grams):
        reading = N_GRAM_TWICE.reading()
        reject(reading == "refused", "an n-gram is in the pool twice; allowed: once")
        entries = of_equals(entries, [entry.gram for entry in entries], reading)
    coordinates = [entry.coordinate for entry in entries]
    if len(set(coordinates)) < len(coordinates):
        if mode != "TF":
            raise_unspecified(f"the weights of n-grams of one coordinate, in mode {mode}")
        reading = SHARED_COORDINATE.reading()
        reject(reading == "refused", "two n-grams have one coordinate; allowed: one each")
        entries = of_equals(entries, coordinates, reading)
    return entries


def of_equals(entries: Sequence[Entry], keys: Sequence[Hashable], reading: str) -> list[Entry]:
    """Return the first or the last of the entries with equal keys, or all by other readings.

    `keys` has one for each entry.
    """
    pairs = list(zip(keys, entries, strict=True))
    if reading == "first":
        return list(dict(reversed(pairs)).values())
    if reading == "last":
        return list(dict(pairs).values())
    return list(entries)


# ── n-grams of a row ──────────────────────────────────────────────────────────────────────────

#: From all rows, the number of one, the lengths of n-grams that are counted, in order, and the most
#: skips: the n-grams of this row.
Grams: TypeAlias = Callable[[Sequence[list[Item]], int, Sequence[int], int], Iterable[Gram]]


def lengths_of(min_gram_length: int, max_gram_length: int) -> range:
    """Return the lengths of n-grams, from the least to the greatest.

    A least length below 1 is read as 1, or raises InvalidNode: LENGTH_BELOW_1. A greatest length
    below the least gives no lengths, or raises InvalidNode: LONGEST_BELOW_SHORTEST.
    """
    shortest = min_gram_length
    if shortest < 1:
        reading = LENGTH_BELOW_1.reading()
        reject(reading == "refused", f"min_gram_length {shortest}; allowed: 1 or more")
        shortest = 1
    if max_gram_length < shortest:
        reading = LONGEST_BELOW_SHORTEST.reading()
        given = f"max_gram_length {max_gram_length}"
        reject(reading == "refused", f"{given}; allowed: {shortest} or more")
    return range(shortest, max_gram_length + 1)


def is_nothing_found(max_skip_count: int) -> bool:
    """Return True if no n-gram is found because the number of skips is negative.

    By NEGATIVE_SKIPS such a number finds none, counts as 0, or raises InvalidNode. From 0 on it is
    False.
    """
    if max_skip_count >= 0:
        return False
    reading = NEGATIVE_SKIPS.reading()
    reject(reading == "refused", f"max_skip_count {max_skip_count}; allowed: 0 or more")
    return reading == "none"


def lengths_within(row: Sequence[Item], lengths: Sequence[int]) -> Sequence[int]:
    """Return the lengths of n-grams that a row has room for."""
    return [n for n in lengths if n <= len(row)]


def equally_far_apart(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterator[Gram]:
    """Yield every n-gram of the row of this number, as often as it is there.

    "We may consider all skips up to S when generating the n-grams." `lengths` are from 1 on. Single
    items have nothing to skip, and come once. A row that is too short has none.
    """
    row = rows[number]
    # Those with more skips go beyond the row.
    for n in lengths_within(row, lengths):
        longest_step = min(most_skips + 1, len(row)) if n > 1 else 1
        for step in range(1, longest_step + 1):
            reach = (n - 1) * step
            for first in range(len(row) - reach):
                yield tuple(row[first : first + reach + 1 : step])


# ── counts and weights ────────────────────────────────────────────────────────────────────────

Counts: TypeAlias = NDArray[np.int64]
#: From the counts of coordinates, the weights of n-grams, their coordinates and the mode: Y.
Scaled: TypeAlias = Callable[[Counts, Sequence[float] | None, Sequence[int], str], Array]


class Scale(NamedTuple):
    """What a mode does to counts."""

    is_truncated: bool
    is_weighted: bool


SCALES: Mapping[str, Scale] = {
    "TF": Scale(is_truncated=False, is_weighted=False),
    "IDF": Scale(is_truncated=True, is_weighted=True),
    "TFIDF": Scale(is_truncated=False, is_weighted=True),
}


def weights_by_coordinate(
    size: int, weights: Sequence[float] | None, ngram_indexes: Sequence[int]
) -> Array:
    """Return the weight of each of `size` coordinates, 1 for those that no n-gram has.

    "By default, weights is an all-one tensor": for None. Of several weights of one coordinate, the
    last counts.
    """
    by_coordinate = np.ones(size, np.float32)
    if weights is not None:
        by_coordinate[list(ngram_indexes)] = weights
    return by_coordinate


def scaled(
    counts: Counts,
    weights: Sequence[float] | None,
    ngram_indexes: Sequence[int],
    mode: str,
    scales: Mapping[str, Scale] = SCALES,
) -> Array:
    """Return Y from the counts of each row and coordinate: float32 in their shape.

    weights: one for each of ngram_indexes, None for 1; mode: a key of `scales`.
    """
    scale = scales[mode]
    times = xp.astype(np.minimum(counts, 1) if scale.is_truncated else counts, np.float32)
    if not scale.is_weighted:
        return times
    return times * weights_by_coordinate(counts.shape[-1], weights, ngram_indexes)


def weights_added(
    counts: Counts, weights: Sequence[float] | None, ngram_indexes: Sequence[int], mode: str
) -> Array:
    """Return Y where TFIDF adds up the weight of an n-gram, each time that it is found.

    TF leaves counts, IDF has the weight of what is found. Y is float32, in the shape of `counts`.
    """
    if mode != "TFIDF":
        return scaled(counts, weights, ngram_indexes, mode)
    is_found = np.arange(counts.max(initial=0)) < counts[..., None]
    by_coordinate = weights_by_coordinate(counts.shape[-1], weights, ngram_indexes)
    terms = np.where(is_found, by_coordinate[:, None], 0)
    return xp.sum(xp.astype(terms, np.float32), axis=-1)


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(9, options=["scaled"])
def tf_idf_vectorizer(
    grams: Grams,
    X: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None,
    pool_strings: Sequence[str] | None,
    weights: Sequence[float] | None,
    scaled: Scaled = scaled,
) -> Array:
    """Return Y, [max(ngram_indexes) + 1] for X of [C], [N, max(ngram_indexes) + 1] for [N, C].

    Y is float32. `grams` finds n-grams, and `scaled` makes Y of their counts. `pool_int64s` or
    `pool_strings` is the pool, by the type of X, and None the other; `weights` of None are 1. Odd
    attributes are read in one of several ways, or refused: MISSING_COLLECTION, N_GRAM_TWICE,
    SHARED_COORDINATE, LENGTH_BELOW_1, LONGEST_BELOW_SHORTEST, NEGATIVE_SKIPS.

    Raises InvalidNode for X of another rank, another mode, two pools, none or one of another type,
    ngram_counts that do not ascend from 0 in whole n-grams, another number of indexes or weights
    than of n-grams, a negative index, and what a ruling refuses. Raises NotSupported for a pool
    without n-grams, of which no indexes have a maximum, and for a coordinate of several n-grams in
    a mode other than TF; MemoryError for an output that is too large.
    """
    if X.ndim not in (1, 2) or mode not in SCALES:
        raise InvalidNode(f"rank {X.ndim}, mode {mode!r}; allowed: 1, 2; TF, IDF, TFIDF")
    pool = pool_for(X, pool_int64s, pool_strings)
    lengths = lengths_of(min_gram_length, max_gram_length)
    finds_nothing = is_nothing_found(max_skip_count)
    grams_in_pool = grams_of_pool(pool, ngram_counts, max_gram_length)
    check_parallel(len(grams_in_pool), ngram_indexes, weights)
    if not grams_in_pool:
        raise_unspecified("a pool without n-grams")
    entries = entries_of(grams_in_pool, ngram_indexes, mode)
    shape = (*X.shape[:-1], max(ngram_indexes) + 1)
    check_size(shape)
    counts = np.zeros(shape, np.int64)
    if not finds_nothing:
        rows = np.atleast_2d(X).tolist()
        lengths_in_pool = sorted({len(entry.gram) for entry in entries})
        # Attributes may allow lengths far beyond the pool.
        counted = [n for n in lengths_in_pool if n in lengths]
        for number, counts_of_row in enumerate(np.atleast_2d(counts)):
            times = Counter(grams(rows, number, counted, max(max_skip_count, 0)))
            for entry in entries:
                counts_of_row[entry.coordinate] += times[entry.gram]
    return scaled(counts, weights, ngram_indexes, mode)


def pool_for(
    X: Array, pool_int64s: Sequence[int] | None, pool_strings: Sequence[str] | None
) -> Sequence[Item]:
    """Return the pool of X, of which there has to be one, and one of X's type.

    "If pool_int64s is set, the input should be an integer tensor. If pool_strings is set, the input
    must be a string tensor." Raises InvalidNode otherwise: for both pools, none, or one of another
    type.
    """
    of_type = pool_strings if X.dtype == object else pool_int64s
    is_one = (pool_int64s is None) != (pool_strings is None)
    if of_type is None or not is_one:
        raise InvalidNode(f"X of {X.dtype}; allowed: that of the one pool that is set")
    return of_type


def check_parallel(
    count: int, ngram_indexes: Sequence[int], weights: Sequence[float] | None
) -> None:
    """Raise InvalidNode unless each of `count` n-grams has an index, and a weight if there are any.

    It is raised for a negative index, too.
    """
    sizes = {len(ngram_indexes), count if weights is None else len(weights)}
    if sizes != {count} or min(ngram_indexes, default=0) < 0:
        raise InvalidNode(f"{sizes} indexes and weights of {count} n-grams")


def by_scaled(scaled: Scaled) -> Mapping[int, Formula]:
    """Return the formula of each version that makes Y of counts by `scaled`."""
    return tf_idf_vectorizer(equally_far_apart, scaled=scaled)


OP.formula(build=tf_idf_vectorizer)(equally_far_apart)
OP.alternative("where a weight is added each time that an n-gram is found", build=by_scaled)(
    weights_added
)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


#: Combinations of the items of a row that a mutant goes through, which takes a second.
MOST_COMBINATIONS = 1_000_000


def most_skipped_alone(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterator[Gram]:
    """Mutant of `equally_far_apart`: always as many items are skipped as may be."""
    row = rows[number]
    step = most_skips + 1
    for n in lengths_within(row, lengths):
        for first in range(len(row) - (n - 1) * step):
            yield tuple(row[first : first + n * step : step])


def single_items_once_a_skip(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterator[Gram]:
    """Mutant of `equally_far_apart`: single items come again for each skip that has room."""
    row = rows[number]
    yield from equally_far_apart(rows, number, lengths, most_skips)
    if 1 in lengths:
        for item in row * min(most_skips, len(row)):
            yield (item,)


def skipped_in_any_gap(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterator[Gram]:
    """Mutant of `equally_far_apart`: each gap of an n-gram by itself skips 0 to `most_skips` items.

    Raises NotSupported for more than MOST_COMBINATIONS of items.
    """
    row = rows[number]
    left = MOST_COMBINATIONS
    for n in lengths_within(row, lengths):
        left -= comb(len(row), n)
        decline(left < 0, f"a row has more than {MOST_COMBINATIONS:,} combinations of items")
        for places in combinations(range(len(row)), n):
            if all(later - place <= most_skips + 1 for place, later in pairwise(places)):
                yield tuple(row[place] for place in places)


def each_gram_once(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterable[Gram]:
    """Mutant of `equally_far_apart`: an n-gram is counted once."""
    return list(dict.fromkeys(equally_far_apart(rows, number, lengths, most_skips)))


def across_rows(
    rows: Sequence[list[Item]], number: int, lengths: Sequence[int], most_skips: int
) -> Iterator[Gram]:
    """Mutant of `equally_far_apart`: n-grams begin in one row and end in the next."""
    longest = max(lengths, default=1)
    behind = islice(chain.from_iterable(rows[number + 1 :]), longest - 1)
    row = [*rows[number], *behind]
    return equally_far_apart([row], 0, lengths, most_skips)


def weights_sorted(
    counts: Counts, weights: Sequence[float] | None, ngram_indexes: Sequence[int], mode: str
) -> Array:
    """Mutant of `scaled`: the i-th weight is that of the output's i-th coordinate."""
    return scaled(counts, weights, sorted(ngram_indexes), mode)


def with_scale(mode: str, *, is_truncated: bool, is_weighted: bool) -> Scaled:
    """Mutants: return what makes Y of counts if a mode does something else to them."""
    scales = {**SCALES, mode: Scale(is_truncated, is_weighted)}
    return partial(scaled, scales=scales)


OP.mutant_table(
    {
        "most_skipped_alone": (
            "always as many items were skipped as may be",
            most_skipped_alone,
        ),
        "single_items_once_a_skip": (
            "single items were counted again for each skip",
            single_items_once_a_skip,
        ),
        "skipped_in_any_gap": (
            "items of an n-gram were not equally far apart",
            skipped_in_any_gap,
        ),
        "each_gram_once": ("an n-gram was counted once", each_gram_once),
        "across_rows": ("n-grams began in one row and ended in the next", across_rows),
    },
    build=tf_idf_vectorizer,
)
OP.mutant_table(
    {
        "idf_unweighted": (
            "IDF had no weights",
            with_scale("IDF", is_truncated=True, is_weighted=False),
        ),
        "tfidf_unweighted": (
            "TFIDF had no weights",
            with_scale("TFIDF", is_truncated=False, is_weighted=False),
        ),
        "tf_weighted": (
            "TF had weights",
            with_scale("TF", is_truncated=False, is_weighted=True),
        ),
        "tf_is_binary": (
            "TF said if an n-gram is there",
            with_scale("TF", is_truncated=True, is_weighted=False),
        ),
        "idf_is_tfidf": (
            "IDF was TFIDF",
            with_scale("IDF", is_truncated=False, is_weighted=True),
        ),
        "tfidf_is_idf": (
            "TFIDF was IDF",
            with_scale("TFIDF", is_truncated=True, is_weighted=True),
        ),
        "weights_by_coordinate": (
            "weights were those of coordinates in the output",
            weights_sorted,
        ),
    },
    build=by_scaled,
)
