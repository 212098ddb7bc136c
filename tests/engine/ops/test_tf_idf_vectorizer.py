"""TfIdfVectorizer: n-grams in plain loops, and what the text leaves open."""

from itertools import product

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, exactly

TF_IDF = OpVersion("", "TfIdfVectorizer", 9)


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


ONE_ITEM = {
    "mode": "TF",
    "max_skip_count": 0,
    "min_gram_length": 1,
    "max_gram_length": 1,
    "ngram_counts": (0,),
}


def answers(**attrs):
    with judging():
        found = by_reading(TF_IDF, [np.array([1, 2, 1, 3])], ONE_ITEM | attrs)
    return {name: out and out[0].tolist() for name, out in found.items()}


def test_an_n_gram_twice_in_the_pool_has_its_own_weights():
    found = answers(
        mode="TFIDF", pool_int64s=(1, 3, 1), ngram_indexes=(2, 0, 3), weights=(0.5, 2.0, 4.0)
    )
    assert found == {
        "both": [2, 0, 1, 8],
        "first": [2, 0, 1, 0],
        "last": [2, 0, 0, 8],
        "refused": None,
    }


def test_the_same_n_gram_at_the_same_coordinate_is_open_twice():
    assert answers(pool_int64s=(1, 3, 1), ngram_indexes=(0, 1, 0)) == {
        "both, sum": [4, 1],
        "both, first": [2, 1],
        "both, last": [2, 1],
        "both, refused": None,
        "first": [2, 1],
        "last": [2, 1],
        "refused": None,
    }


def test_weights_of_one_coordinate_are_not_decided(wording):
    with pytest.raises(NotSupported) as raised:
        answers(mode="IDF", pool_int64s=(1, 3), ngram_indexes=(0, 0))
    assert raised.value == wording


def test_lengths_below_1_and_out_of_order_are_two_questions():
    found = answers(pool_int64s=(1,), ngram_indexes=(0,), min_gram_length=-1, max_gram_length=0)
    assert found == {"from_1, none": [0], "from_1, refused": None, "refused": None}


def test_no_n_gram_at_all_has_no_answer(wording):
    with pytest.raises(NotSupported) as raised:
        answers(pool_int64s=(), ngram_indexes=())
    assert raised.value == wording


LENGTHS = ("min_gram_length", "max_gram_length", "max_skip_count")
HOSTILE = {
    "pool_int64s": (1, 2, 1, 1, 3),
    "ngram_counts": (0, 1),
    "ngram_indexes": (0, 1, 2),
    "max_skip_count": 2**62,
    "max_gram_length": 2**62,
}


def test_lengths_and_skips_beyond_a_row_take_no_time():
    # 1 and 3 are next to each other, and three steps apart.
    assert answers(**HOSTILE) == {"empty": [2, 1, 2], "refused": None}


def test_lengths_and_skips_beyond_a_row_take_no_time_in_mutants():
    row = np.arange(60) % 4
    node = Node(TF_IDF, (row,), HOSTILE | {"mode": "TF", "min_gram_length": 1})
    refused = [one.name for one in mutants_of(TF_IDF) if isinstance(one.made_on(node), Exception)]
    assert "single_items_once_a_skip" not in refused
    assert "most_skipped_alone" not in refused


def test_a_mutant_of_too_many_combinations_is_left_out():
    attrs = {"pool_int64s": (0,) * 30, "ngram_counts": (0,) * 30, "ngram_indexes": (0,)}
    node = Node(TF_IDF, (np.arange(60),), attrs | dict.fromkeys(LENGTHS, 30) | {"mode": "TF"})
    (mutant,) = (one for one in mutants_of(TF_IDF) if one.name == "skipped_in_any_gap")
    assert isinstance(mutant.made_on(node), InvalidNode)
