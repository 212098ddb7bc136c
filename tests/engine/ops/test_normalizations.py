"""Normalizations: answers worked out by hand, where engines go wrong."""

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

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
    with pytest.raises(NotSupported), judging():
        evaluate(op, [np.ones(4)], {"axes": [0]})
