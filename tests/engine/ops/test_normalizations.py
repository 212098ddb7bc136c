"""Normalizations: answers worked out by hand, where engines go wrong."""

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate, exactly

BATCH = ([[1], [3], [5], [7]], [3], [1], [8], [13])
ANSWERS = [
    (
        "LRN",
        13,
        ([[1, 2, -3, 1]],),
        {"size": 2, "alpha": 2.0, "beta": 1.0},
        [[[1 / 6, 1 / 7, -3 / 11, 1 / 2]]],
    ),
    ("LpNormalization", 22, ([[3, -5], [0, 0]],), {"p": 1}, [[[0.375, -0.625], [0, 0]]]),
    (
        "BatchNormalization",
        15,
        BATCH,
        {"epsilon": 4.0, "momentum": 0.75, "training_mode": 1},
        [[[-2], [0], [2], [4]], [7], [11]],
    ),
]


@pytest.mark.parametrize(("name", "since", "inputs", "attrs", "want"), ANSWERS)
def test_answers_by_hand(name, since, inputs, attrs, want):
    given = [np.asarray(x, np.float64) for x in inputs]
    got = evaluate(OpVersion("", name, since), given, attrs, len(want))
    for one, right in zip(got, want, strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-15)


def test_without_training_batch_normalization_has_one_output():
    with pytest.raises(InvalidNode):
        evaluate(OpVersion("", "BatchNormalization", 15), [*map(np.float32, BATCH)], {}, 3)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9])
def test_a_normalization_by_the_text_is_as_right_as_one_by_the_function_body(epsilon):
    op = OpVersion("", "MeanVarianceNormalization", 13)
    x = np.random.default_rng(4).normal(2, 1, 90)
    want = computed_want(op, "Y", exactly(op, [x], {"axes": [0]})[0])
    for variance in (x.var(), (x * x).mean() - x.mean() ** 2):
        found = compare(want, (x - x.mean()) / (np.sqrt(variance) + epsilon))
        assert (found.problem, found.remark) == (None, "")
    assert compare(want, (x - x.mean()) / np.sqrt(x.var() + 1e-5)).problem == "values"


def test_equal_elements_are_normalized_to_nan_or_0_and_others_beside_them_are_judged():
    op = OpVersion("", "MeanVarianceNormalization", 13)
    x = np.float32([[2, 2], [1, 3], [5, 5]])
    with judging():
        found = by_reading(op, [x], {"axes": [1]})
    by_text, by_body = (found[reading][0] for reading in ("text", "body"))
    np.testing.assert_array_equal(by_text, [[np.nan, np.nan], [-1, 1], [np.nan, np.nan]])
    assert by_body.tolist() == [[0, 0], [-1, 1], [0, 0]]


def test_what_roundings_leave_of_equal_elements_is_not_judged():
    op = OpVersion("", "MeanVarianceNormalization", 13)
    x = np.float32([[0.1, 0.1, 0.1], [-3, 0, 3]])
    with judging():
        for reading in each_answer(Node(op, (x,), {"axes": [1]})):
            assert reading.undefined[0].tolist() == [[True] * 3, [False] * 3]
        with pytest.raises(NotSupported):
            each_answer(Node(op, (x[:1],), {"axes": [1]}))


def test_zeros_have_an_exact_mean_however_many_they_are():
    op = OpVersion("", "MeanVarianceNormalization", 13)
    x = np.float32([[0, 0, 0], [-3, 0, 3]])
    with judging():
        readings = each_answer(Node(op, (x,), {"axes": [1]}))
    assert [dict(reading.undefined) for reading in readings] == [{}, {}]


#: Mean 4 and variance 5, of a sample 20/3; with epsilon 4 the root of the variance is 3.
TRAINED = [np.float64(x) for x in ([[1], [3], [5], [7]], [3], [1], [8], [13])]
#: By reading, the running variance (13 * 0.75 + v * 0.25), and the saved one.
KEPT = {
    "population": (11, 5),
    "sample": (9.75 + 5 / 3, 5),
    "samples": (9.75 + 5 / 3, 20 / 3),
    "population_and_inverse": (11, 1 / 3),
    "sample_and_inverse": (9.75 + 5 / 3, 1 / 3),
}


def test_texts_before_14_admit_five_pairs_of_variances_in_training():
    op = OpVersion("", "BatchNormalization", 9)
    with judging():
        found = by_reading(op, TRAINED, {"epsilon": 4.0, "momentum": 0.75}, 5)
    assert list(found) == list(KEPT)
    for reading, (running, saved) in KEPT.items():
        y, mean, var, saved_mean, saved_var = found[reading]
        np.testing.assert_allclose(y[:, 0], [-2, 0, 2, 4], rtol=1e-15)
        got = [x.item() for x in (mean, var, saved_mean, saved_var)]
        np.testing.assert_allclose(got, [7, running, 4, saved], rtol=1e-15)


def test_in_test_mode_only_the_first_output_is_judged_or_the_others_are_refused():
    op = OpVersion("", "BatchNormalization", 6)
    attrs = {"epsilon": 3.0, "is_test": 1}
    with judging():
        anything, refused = each_answer(Node(op, tuple(TRAINED), attrs, range(5)))
    assert isinstance(refused.answer, InvalidNode)
    y, *_ = map(rounded, anything.answer)
    # (x - 8) / sqrt(13 + 3) * 3 + 1
    np.testing.assert_allclose(y[:, 0], [-4.25, -2.75, -1.25, 0.25], rtol=1e-15)
    assert {n: mask.tolist() for n, mask in anything.undefined.items()} == {
        n: [True] for n in (1, 2, 3, 4)
    }


def test_an_axis_below_minus_1_counts_from_the_back_or_is_refused():
    op = OpVersion("", "LpNormalization", 22)
    with judging():
        found = by_reading(op, [np.float64([[3, -5], [1, 5]])], {"p": 1, "axis": -2})
    assert found["refused"] is None
    assert found["from_the_back"][0].tolist() == [[0.75, -0.5], [0.25, 0.5]]
