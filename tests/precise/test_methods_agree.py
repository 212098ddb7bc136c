"""The two methods, which share only what they round to, give the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from opcheck.precise import DISTANCE_STEP, Precise
from tests.precise.asking import ask, by
from tests.precise.nearest import DTYPES

NAMES = sorted(DTYPES)


def both(operator: str, since: int, x: Any, **attrs: Any) -> Precise:
    """The answer, which is the same by both methods."""
    with by("mpmath"):
        one = ask(operator, since, x, **attrs)
    with by("double-double"):
        two = ask(operator, since, x, **attrs)
    assert (one.method, two.method) == ("mpmath", "double-double")
    assert one.values.dtype == two.values.dtype == x.dtype
    assert one.values.tobytes() == two.values.tobytes()
    finite = np.isfinite(one.distance)
    assert np.array_equal(finite, np.isfinite(two.distance))
    apart = np.abs(np.where(finite, one.distance, 0) - np.where(finite, two.distance, 0))
    assert apart.max(initial=0) <= DISTANCE_STEP
    return one


@st.composite
def tensors(draw: st.DrawFn, name: str, shape: tuple[int, ...]) -> Any:
    """Any bits; or of few binades, whose sums tie and cancel; or of all, subnormals included."""
    dtype, unsigned, _ = DTYPES[name]
    bits = 8 * dtype.itemsize
    anything = arrays.arrays(unsigned, shape, elements=st.integers(0, 2**bits - 1))
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[name]
    one = int(np.array([1]).astype(dtype).view(unsigned)[0])
    patterns = st.builds(
        lambda sign, binade, low, high: (
            (sign << (bits - 1)) + one + (binade << digits) + low + (high << (digits - 3))
        ),
        st.integers(0, 1),
        st.integers(-3, 3),
        st.integers(0, 3),
        st.integers(0, 7),
    )
    near = arrays.arrays(unsigned, shape, elements=patterns)
    small = arrays.arrays(unsigned, shape, elements=st.integers(0, 2 ** (digits + 1)))
    return draw(anything | near | small).view(dtype)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_softmax(name: str, data: st.DataObject) -> None:
    shape = (data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9)))
    x = data.draw(tensors(name, shape))
    # +inf beside numbers is open.
    both("Softmax", 13, np.where(x == np.inf, x.dtype.type(1), x))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lp_pool_of_whole_p(name: str, data: st.DataObject) -> None:
    x = data.draw(tensors(name, (1, 2, data.draw(st.integers(3, 9)))))
    p = data.draw(st.sampled_from([1, 1, 2, 2, 3, 4, 5, 17, 300]))
    kernel = data.draw(st.integers(1, 4))
    both("LpPool", 22, x, p=p, kernel_shape=(kernel,), pads=(1, 1))


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_lp_pool_of_any_p(name: str, data: st.DataObject) -> None:
    x = data.draw(tensors(name, (1, 1, data.draw(st.integers(3, 6)))))
    p = data.draw(st.floats(1, 8, width=32) | st.floats(1, 1000, width=32) | st.just(2.5))
    both("LpPool", 1, x, p=p, kernel_shape=(3,))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_every_count_of_equal_numbers(name: str, p: int) -> None:
    """n elements of 1 have the norm n^(1/p); some are whole, and of p = 1 many tie in 16 bits."""
    dtype = DTYPES[name][0]
    x = np.tril(np.ones((600, 600)))[:, None].astype(dtype)
    got = both("LpPool", 22, x[::6], p=p, kernel_shape=(600,))
    if p == 1 and name == "bfloat16":
        assert (got.distance == 0).sum() >= 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
def test_rows_of_many_lengths(name: str, n: int) -> None:
    x = np.random.default_rng(n).normal(size=(2, n)) * 9
    both("Softmax", 13, x.astype(DTYPES[name][0]))
    both("LpPool", 22, x.astype(DTYPES[name][0])[None], p=2, kernel_shape=(n,))
    both("LpPool", 22, x.astype(DTYPES[name][0])[None], p=3, kernel_shape=(n,))


def test_all_numbers_of_16_bits() -> None:
    """Each float16 beside 0, in one tensor: every answer that a row of these two can have."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = every[np.isfinite(every)][::13]
    both("Softmax", 13, np.stack([x, np.zeros_like(x)], axis=1))
    both("LpPool", 22, np.stack([x, np.full_like(x, 1.25)], axis=1)[None], p=2, kernel_shape=(2,))
