"""GroupNormalization: sound ways to the variance pass, and mistakes with groups do not."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate, exactly

GROUP, GROUPS, EPSILON = OpVersion("", "GroupNormalization", 21), 3, 1e-3
SHAPES = ((4, 6, 5, 7), (6,), (6,))
INPUTS = [np.random.default_rng(of).normal(2, 1, of).astype(np.float32) for of in SHAPES]
WANT = computed_want(GROUP, "Y", exactly(GROUP, INPUTS, {"num_groups": 3, "epsilon": EPSILON})[0])


def normalized(root, dtype=np.float32, groups=GROUPS, order=range(6), scale=INPUTS[1]):
    x = INPUTS[0][:, list(order)].astype(dtype)
    rows = x.reshape(4, groups, -1)
    y = ((rows - rows.mean(2, keepdims=True)) / root(rows)).reshape(x.shape)
    return y[:, np.argsort(order)] * scale[:, None, None] + INPUTS[2][:, None, None]


def root(variance):
    return lambda x: np.sqrt(variance(x) + x.dtype.type(EPSILON))


def welford(x):
    mean = total = x.dtype.type(0)
    for n, one in enumerate(np.moveaxis(x[..., np.newaxis], 2, 0)):
        d, mean = one - mean, mean + (one - mean) / x.dtype.type(n + 1)
        total = total + d * (one - mean)
    return total / x.dtype.type(x.shape[2])


ROWS = {"axis": 2, "keepdims": True}
two_pass = root(lambda x: x.var(**ROWS))
one_pass = root(lambda x: (x * x).mean(**ROWS) - x.mean(**ROWS) ** 2)
SOUND = {f"sound {n}": normalized(way) for n, way in enumerate((two_pass, one_pass, root(welford)))}
WRONG = {
    "unbiased": normalized(lambda x: np.sqrt(x.var(2, keepdims=True, ddof=1) + EPSILON)),
    "epsilon after the root": normalized(lambda x: x.std(2, keepdims=True) + EPSILON),
    "two groups": normalized(two_pass, groups=2),
    "groups in turns": normalized(two_pass, order=(0, 3, 1, 4, 2, 5)),
    "scale of groups": normalized(two_pass, scale=np.repeat(INPUTS[1][:GROUPS], 2)),
    "in bfloat16": normalized(two_pass, ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", [*SOUND, *WRONG])
def test_sound_ways_pass_without_a_remark_and_mistakes_are_seen(name):
    found = compare(WANT, {**SOUND, **WRONG}[name].astype(np.float32))
    passed = (found.problem, found.remark, found.used < 1) == (None, "", True)
    assert passed if name in SOUND else found.problem == "values"


def test_the_deprecated_version_is_none_of_the_engine():
    with pytest.raises(NotSupported):
        evaluate(OpVersion("", "GroupNormalization", 18), INPUTS, {"num_groups": 3})


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 4, 0)])
def test_an_empty_tensor_stays_empty_or_is_refused(shape: tuple[int, ...]) -> None:
    ones = np.ones(4, np.float32)
    found = by_reading(GROUP, [np.ones(shape, np.float32), ones, ones], {"num_groups": 2})
    assert found.keys() == {"empty", "refused"}
    assert found["refused"] is None
    assert found["empty"] is not None
    assert found["empty"][0].shape == shape
