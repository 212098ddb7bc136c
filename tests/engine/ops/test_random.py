"""What the texts of random operators leave open, and what they forbid."""

import numpy as np
import pytest

from opcheck.engine.evaluate import each_answer, evaluate
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion

DATA = np.float32([1, -2, 3])


def dropout(ratio, *training_mode, since=13):
    inputs = (DATA, np.array(ratio, np.float32), *training_mode)
    return Node(OpVersion("", "Dropout", since), inputs, {}, range(2), opset=since)


@pytest.mark.parametrize("training_mode", [(), (np.array(False),)])
@pytest.mark.parametrize("ratio", [1, -0.5, np.nan])
def test_a_ratio_beyond_its_range_is_not_judged_without_training(ratio, training_mode, wording):
    with pytest.raises(NotSupported) as raised:
        evaluate(dropout(ratio, *training_mode))
    assert raised.value == wording


@pytest.mark.parametrize("ratio", [1, -0.5, np.nan])
def test_a_ratio_beyond_its_range_is_refused_in_training(ratio, wording):
    with pytest.raises(InvalidNode) as raised:
        evaluate(dropout(ratio, np.array(True)))
    assert raised.value == wording


def test_a_ratio_in_its_range_is_ignored_without_training():
    (found,) = each_answer(dropout(0.75))
    np.testing.assert_array_equal(found.answer[0], DATA)


@pytest.mark.parametrize("classes", [0, 3])
def test_a_multinomial_of_no_batch_has_no_samples(classes):
    node = Node(OpVersion("", "Multinomial", 7), (np.empty((0, classes), np.float32),), {})
    (outcomes,) = evaluate(node)
    assert outcomes.shape == (0, 1)


@pytest.mark.parametrize("mean", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["RandomNormal", "RandomNormalLike"])
def test_a_normal_distribution_has_a_finite_mean(name, mean):
    attributes = {"mean": mean, "shape": [3]} if name == "RandomNormal" else {"mean": mean}
    inputs = () if name == "RandomNormal" else (DATA,)
    with pytest.raises(NotSupported):
        evaluate(Node(OpVersion("", name, 22), inputs, attributes))
