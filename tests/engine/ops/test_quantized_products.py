import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.model import OpVersion
from tests.computed import exactly

FLOAT = np.float32


def fixed(sums, a, b, y):
    """By a factor of 31 bits and a shift, as without floats."""
    factor, shift = np.frexp(np.float64(a) * b / y)
    return sums * np.rint(factor * 2.0**31) * 2.0 ** (int(shift) - 31)


#: What honest backends divide, from sums in int32, in float32 or from fixed points.
WAYS = {
    "one_factor": lambda x, w, a, b, y: FLOAT(x @ w) * (a * b / y),
    "factor_of_a_reciprocal": lambda x, w, a, b, y: FLOAT(x @ w) * (a * b * (FLOAT(1) / y)),
    "one_after_the_other": lambda x, w, a, b, y: FLOAT(x @ w) * a * b / y,
    "scale_of_w_first": lambda x, w, a, b, y: FLOAT(x @ w) * b * (a / y),
    "in_float64": lambda x, w, a, b, y: (x @ w) * (np.float64(a) * b / y),
    "fixed_points": lambda x, w, a, b, y: fixed(x @ w, a, b, y),
    "floats": lambda x, w, a, b, y: (FLOAT(x) * a) @ (FLOAT(w) * b) / y,
    "floats_backwards": lambda x, w, a, b, y: (FLOAT(x) * a)[:, ::-1] @ (FLOAT(w) * b)[::-1] / y,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["QLinearMatMul", "QLinearConv"])
def test_no_honest_order_of_scales_is_accused(op, way):
    random = np.random.default_rng(7)
    for terms in (1, 9, 300):
        x, w = (random.integers(0, 256, shape, np.uint8) for shape in ((600, terms), (terms, 8)))
        a, b = FLOAT(random.uniform(0.001, 0.1, 2))
        x_zero, w_zero, zero = random.integers(100, 150, 3, np.uint8)
        y = FLOAT(a * b * 150 * terms**0.5)
        q = WAYS[way](x.astype(np.int64) - x_zero, w.astype(np.int64) - w_zero, a, b, y)
        right = np.clip(np.rint(q) + zero, 0, 255).astype(np.uint8)
        if op == "QLinearConv":
            x, w, right = x.T[None], w.T[..., None], right.T[None]
        scaled = ((x, a, x_zero), (w, b, w_zero), (y, zero))
        fed = [np.asarray(one) for each in scaled for one in each]
        (want,) = exactly(OpVersion("", op, 10), fed, {})
        assert not compare(computed_want(OpVersion("", op, 10), "y", want), right).problem
