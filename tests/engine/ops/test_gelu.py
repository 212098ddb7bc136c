"""Gelu: what is nearer to the exact value than its formula is right, and what is farther is not."""

import math

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.engine import Expected
from opcheck.model import Array, Attrs, Comparison, OpVersion
from tests.computed import exactly

GELU = OpVersion("", "Gelu", 20)
X = np.linspace(-8, 8, 1001, dtype=np.float32)
NONE, TANH = {"approximate": "none"}, {"approximate": "tanh"}


def of(function):
    """A function of Python's in float64, rounded once."""
    return np.array([function(float(x)) for x in X])


def by_formula(dtype):
    x = X.astype(dtype)
    part = of(lambda x: math.erf(x / math.sqrt(2))).astype(dtype)
    return (dtype(0.5) * x * (dtype(1) + part)).astype(np.float32)


def by_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def logistic(x):
    return x / (1 + np.exp(-math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)))


RIGHT = {
    "the formula": (NONE, by_formula(np.float32)),
    "erfc, which does not cancel": (NONE, of(lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)))),
    "tanh where it is asked for": (TANH, by_tanh(X.astype(np.float64))),
    "tanh in float32": (TANH, by_tanh(X)),
    "a logistic function for tanh": (TANH, logistic(X.astype(np.float64))),
}
WRONG = {
    "tanh for erf": (NONE, by_tanh(X.astype(np.float64))),
    "erf for tanh": (TANH, by_formula(np.float64)),
    "in float16": (NONE, by_formula(np.float16)),
    "no tail": (NONE, np.where(X < -4, 0, by_formula(np.float64))),
}


def compared(attrs: Attrs, y: Array) -> Comparison:
    """Compare the output of a Gelu of `X` with its exact value."""
    (exact,) = exactly(GELU, [X], attrs)
    assert isinstance(exact, Expected)
    want = Want("Y", exact.dtype, exact.values, bound=exact, rest=exact.rest)
    return compare(want, y.astype(np.float32))


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(("attrs", "y"), RIGHT.values(), ids=RIGHT)
def test_whatever_is_nearer_than_the_formula_is_right(attrs: Attrs, y: Array) -> None:
    found = compared(attrs, y)
    assert (found.problem, found.remark) == (None, "")
    assert found.used < 1


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(("attrs", "y"), WRONG.values(), ids=WRONG)
def test_other_functions_and_fewer_digits_are_wrong(attrs: Attrs, y: Array) -> None:
    assert compared(attrs, y).problem == "values"
