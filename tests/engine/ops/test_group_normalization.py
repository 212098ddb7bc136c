"""GroupNormalization: sound ways to the variance pass, and mistakes with groups do not."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.engine import Expected, evaluate, exactly
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.asking import dtype_of

GROUP = OpVersion("", "GroupNormalization", 21)
RNG = np.random.default_rng(1)
GROUPS, EPSILON = 3, 1e-3
INPUTS = [RNG.normal(2, 1, of).astype(np.float32) for of in ((4, 6, 5, 7), (6,), (6,))]


def judged(y):
    attrs = {"num_groups": GROUPS, "epsilon": EPSILON}
    (exact,) = exactly(GROUP, INPUTS, attrs)
    assert isinstance(exact, Expected)
    want = Want("Y", dtype_of(INPUTS[0]), exact.values, bound=exact, rest=exact.rest)
    return compare(want, y.astype(np.float32))


def normalized(root, dtype=np.float32, groups=GROUPS, order=range(6), scale=INPUTS[1]):
    x = INPUTS[0][:, list(order)].astype(dtype)
    rows = x.reshape(4, groups, -1)
    y = ((rows - rows.mean(2, keepdims=True)) / root(rows)).reshape(x.shape)
    return y[:, np.argsort(order)] * scale[:, None, None] + INPUTS[2][:, None, None]


def two_pass(x):
    return np.sqrt(x.var(2, keepdims=True) + x.dtype.type(EPSILON))


def one_pass(x):
    mean = x.mean(2, keepdims=True)
    return np.sqrt((x * x).mean(2, keepdims=True) - mean * mean + x.dtype.type(EPSILON))


def welford(x):
    mean = total = np.zeros((*x.shape[:2], 1), x.dtype)
    for n in range(x.shape[2]):
        d = x[:, :, n : n + 1] - mean
        mean = mean + d / x.dtype.type(n + 1)
        total = total + d * (x[:, :, n : n + 1] - mean)
    return np.sqrt(total / x.dtype.type(x.shape[2]) + x.dtype.type(EPSILON))


@pytest.mark.parametrize("root", [two_pass, one_pass, welford])
def test_every_sound_way_to_the_variance_passes_without_a_remark(root):
    found = judged(normalized(root))
    assert (found.problem, found.remark) == (None, ""), found
    assert found.used < 1


WRONG = {
    "unbiased": normalized(lambda x: np.sqrt(x.var(2, keepdims=True, ddof=1) + EPSILON)),
    "epsilon after the root": normalized(lambda x: x.std(2, keepdims=True) + EPSILON),
    "two groups": normalized(two_pass, groups=2),
    "groups in turns": normalized(two_pass, order=(0, 3, 1, 4, 2, 5)),
    "scale of groups": normalized(two_pass, scale=np.repeat(INPUTS[1][:GROUPS], 2)),
    "in bfloat16": normalized(two_pass, ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_seen(name):
    assert judged(WRONG[name]).problem == "values"


def test_the_deprecated_version_is_none_of_the_engine():
    with pytest.raises(NotSupported):
        evaluate(OpVersion("", "GroupNormalization", 18), INPUTS, {"num_groups": 3})
