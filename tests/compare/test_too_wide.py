"""A tolerance that nothing can fail is found before anybody is judged by it."""

import numpy as np
import pytest

from opcheck.compare import Want, compare, too_wide
from opcheck.dtypes import DTYPES
from opcheck.model import Tolerance

SHARES = [0.25, 0.25, 0.5]
THIRDS = [1 / 3] * 3


def want(values, dtype="float32", low=None, high=None):
    known = DTYPES[dtype]
    array = np.array(values, np.float64 if known.kind == "float" else known.numpy)
    return Want("y", known, array, low, high)


def wide(values, *, ulp=None, rtol=0.0, atol=0.0, dtype="float32", low=None, high=None):
    tolerance = Tolerance(ulp, rtol, atol)
    found = too_wide([want([np.nan]), want(values, dtype, low, high)], tolerance)
    return found and found.split(" admits ")[1].split(" for ")[0]


@pytest.mark.parametrize(
    ("values", "settings", "admitted"),
    [
        # The whole of the range of Softmax or Hardmax.
        (SHARES, {"atol": 0.6, "low": 0, "high": 1}, "0"),
        ([0, 0, 1], {"atol": 0.49}, None),
        ([0, 0, 1], {"atol": 0.5}, "0.5"),
        ([0, 0, 1], {"atol": 1}, "0"),
        # Nothing but 0 is asked for, and everything is right.
        ([0, 0], {"atol": 1, "low": 0, "high": 1}, "1"),
        ([0, 0], {"atol": 0.1, "low": 0, "high": 1}, None),
        ([0, 0], {"atol": 1e9, "low": 0}, None),
        # Nothing, or one and the same, for every element.
        ([3, 4], {"rtol": 1}, "0"),
        ([3, 4], {"rtol": 0.9, "atol": 0.4}, "0"),
        ([0.1, 0.2, 0.7], {"atol": 0.31}, "0.4"),
        (SHARES, {"atol": 0.2}, None),
        ([-1, 1], {"atol": 1}, "0"),
        ([1e-8, 2e-8], {"rtol": 1e-3, "atol": 1e-7}, "0"),
        ([1e-8, 1], {"rtol": 1e-3, "atol": 1e-7}, None),
        # What is one and the same is so by right.
        (THIRDS, {"atol": 0.3}, None),
        (THIRDS, {"atol": 0.4}, "0"),
        ([1, 1.1], {"rtol": 0.2}, None),
        ([1], {"rtol": 0.9}, None),
        # By steps of the type; the halves of the smallest numbers are few of them.
        ([0.1, 0.4], {"ulp": 12_000_000}, "0.25"),
        ([0.1, 0.4], {"ulp": 8_388_607}, None),
        ([3e-45], {"ulp": 2}, "0"),
        ([3e-45], {"ulp": 1}, None),
        ([0.1, 1], {"ulp": 330, "dtype": "bfloat16"}, "0.55"),
        # Whole numbers.
        ([0, 1, 2], {"atol": 1, "dtype": "int8"}, "1"),
        ([10, 11], {"atol": 1, "dtype": "uint8"}, None),
        ([10, 11], {"ulp": 100, "dtype": "uint8"}, None),
        # What is not finite has to come out.
        ([np.nan, 0.5], {"atol": 1}, None),
        ([np.inf, 0.5], {"atol": 1}, None),
        ([], {"atol": 1}, None),
        (SHARES, {"ulp": 0}, None),
    ],
)
def test_an_answer_that_ignores_the_input_is_named(values, settings, admitted):
    found = wide(values, **settings)
    assert (found and found[:5]) == (admitted and admitted[:5])


def test_what_is_named_passes_indeed_and_is_far_off():
    draw = np.random.default_rng(0)
    found = 0
    for _ in range(300):
        wanted = want(draw.normal(draw.choice([0, 3]), 1, draw.integers(1, 5)))
        tolerance = Tolerance(rtol=draw.choice([0, 0.1, 0.9]), atol=draw.choice([0, 0.5, 2]))
        said = too_wide([wanted], tolerance)
        if said:
            value = float(said.split(" admits ")[1].split(" for ")[0])
            # It is told in six digits.
            more = Tolerance(rtol=tolerance.rtol, atol=tolerance.atol + 1e-5)
            answer = np.full(wanted.values.shape, value, np.float32)
            assert compare(wanted, answer, more).problem is None
            assert np.abs(wanted.values - value).max() > 0.24 * np.abs(wanted.values).max()
            found += 1
    assert 30 < found < 250
