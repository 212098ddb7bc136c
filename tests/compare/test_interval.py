"""The ends between which an answer must lie, against the comparison that they stand for."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opcheck.compare.interval import interval, stepped

from opcheck.compare import compare
from opcheck.compare.wants import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import exactly, rounded
from opcheck.model import OpVersion

LP_POOL, SOFTMAX = OpVersion("", "LpPool", 22), OpVersion("", "Softmax", 13)
FLOATS = ("float16", "bfloat16", "float32", "float64")


@given(st.floats(width=32), st.sampled_from([1, -1]))
def test_a_step_is_the_next_number(value: float, direction: int) -> None:
    for dtype in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        with np.errstate(all="ignore"):
            x = np.array([value]).astype(dtype)
            after = np.nextafter(x, np.array([direction * np.inf]).astype(dtype))
        assert np.array_equal(stepped(x, direction).astype(float), after.astype(float), True)


@given(st.integers(-(2**40), 2**40))
def test_steps_there_and_back_lead_home_short_of_infinity(steps: int) -> None:
    x = np.array([0.0, 1.5, -2.25])
    assert np.array_equal(stepped(stepped(x, steps), -steps), x)
    assert np.isposinf(stepped(x[:2], 2**63 - 1)).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_an_end_is_admitted_and_the_number_beyond_it_is_not(dtype: str, p: int) -> None:
    draw = np.random.default_rng(p)
    x = draw.normal(size=(1, 2, 7)).astype(DTYPES[dtype].numpy)
    x[0, 0, :3] = 0
    (exact,) = exactly(LP_POOL, [x], {"kernel_shape": (3,), "p": p})
    want, written = computed_want(LP_POOL, "Y", exact), rounded(exact)
    ends = interval(want, written)
    assert ends[0][0, 0, 0] == ends[1][0, 0, 0] == 0
    for end, step in zip(ends, (-1, 1), strict=True):
        for place in np.ndindex(written.shape):
            got = written.copy()
            got[place] = end[place]
            # The ends are around what is written, half a step wider than around the exact value.
            inside = stepped(end, -step)
            got[place] = inside[place] if written[place] != end[place] else end[place]
            assert compare(want, got).problem is None, (place, got[place], written[place])
            got[place] = stepped(end, step)[place]
            assert compare(want, got).problem is not None, (place, got[place], written[place])


@pytest.mark.parametrize("dtype", FLOATS)
def test_ends_lie_around_what_is_written_and_in_the_operator_s_range(dtype: str) -> None:
    x = np.array([[0, 1, -50], [np.nan, 0, 0], [-np.inf, 0, 700]]).astype(DTYPES[dtype].numpy)
    (exact,) = exactly(SOFTMAX, [x], {})
    written = rounded(exact)
    low, high = interval(computed_want(SOFTMAX, "output", exact), written)
    low, at, high = (array.astype(float) for array in (low, written, high))
    assert np.isnan(low[1]).all()
    assert np.isnan(high[1]).all()
    kept = [0, 2]
    assert (low[kept] >= 0).all()
    assert (low[kept] <= at[kept]).all()
    assert (at[kept] <= high[kept]).all()
    # What is −inf becomes 0 whatever the arithmetic.
    assert low[2, 0] == high[2, 0] == 0
    assert low[0, 1] < at[0, 1] < high[0, 1]


def test_an_empty_output_has_no_ends() -> None:
    (exact,) = exactly(SOFTMAX, [np.zeros((0, 3), np.float32)], {})
    low, high = interval(computed_want(SOFTMAX, "output", exact), rounded(exact))
    assert low.shape == high.shape == (0, 3)
