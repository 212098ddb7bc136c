"""Normalizations: answers worked out by hand, where engines go wrong."""

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

BATCH = ([[1], [3], [5], [7]], [3], [1], [8], [13])
ANSWERS = [
    ("LRN", 13, ([[1, 2, -3, 1]],), {"size": 2, "alpha": 2.0, "beta": 1.0},
     [[[1 / 6, 1 / 7, -3 / 11, 1 / 2]]]),
    ("LpNormalization", 22, ([[3, -5], [0, 0]],), {"p": 1}, [[[0.375, -0.625], [0, 0]]]),
    ("BatchNormalization", 15, BATCH, {"epsilon": 4.0, "momentum": 0.75, "training_mode": 1},
     [[[-2], [0], [2], [4]], [7], [11]]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "since", "inputs", "attrs", "want"), ANSWERS)
def test_answers_by_hand(name, since, inputs, attrs, want):
    given = [np.asarray(x, np.float64) for x in inputs]
    got = evaluate(OpVersion("", name, since), given, attrs, len(want))
    for one, right in zip(got, want, strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-15)


def test_without_training_batch_normalization_has_one_output():
    with pytest.raises(InvalidNode):
        evaluate(OpVersion("", "BatchNormalization", 15), [*map(np.float32, BATCH)], {}, 3)
