"""The exact value of a row does not depend on where its elements lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opcheck.engine import Exact, exactly
from opcheck.model import OpVersion
from tests.bounds.softmax import rows

#: Around those at which NumPy adds up numbers in another order.
LENGTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 128, 129, 130, 137, 256, 300, 513, 2000)


def exact(x: Any, axis: int = -1) -> Exact:
    (out,) = exactly(OpVersion("", "Softmax", 13), [x], {"axis": axis})
    assert isinstance(out, Exact)
    return out


def plain(x: Any) -> Any:
    """Softmax of one row in float64."""
    row = x.astype(np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp(row - row.max())
        return powers / powers.sum()


def digits(values: Any) -> bytes:
    """All of them, but for numbers so small that every narrower type rounds them to 0."""
    return np.where(values < 2.0**-900, 0.0, values).tobytes()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_digit_is_that_of_the_plain_formula_wherever_a_row_lies(
    dtype: str, length: int
) -> None:
    x = rows.batch(dtype, length)
    want = digits(np.stack([plain(row) for row in x]))
    assert digits(exact(x).values) == want
    assert digits(exact(np.ascontiguousarray(x.T), 0).values.T) == want
    for beside in (2, 63, 64, 200):
        many = exact(np.stack([x] * beside, axis=2), 1)
        for place in (0, beside - 1):
            assert digits(many.values[:, :, place]) == want


#: Rows that lie beside another: with NaN or infinity, masked, with numbers that vanish.
NEIGHBOURS = {
    "nan": lambda length: np.where(np.arange(length) == length // 2, np.nan, 0.0),
    "infinity": lambda length: np.where(np.arange(length) == 0, np.inf, 0.0),
    "masked": lambda length: np.where(np.arange(length) < 1, 1.0, -np.inf),
    "masked throughout": lambda length: np.full(length, -np.inf),
    "masked by a number": lambda length: np.where(np.arange(length) < 1, 1.0, -3e38),
    "all of them": lambda length: np.resize([0.0, -np.inf, np.nan, np.inf, -750.0], length),
    "large": lambda length: np.full(length, 3e38),
}


@pytest.mark.parametrize("length", [2, 17, 100, 137])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_lies_beside_a_row_changes_no_bit_of_it(dtype: str, length: int) -> None:
    # Gaps of every size, most of all those whose powers are nearly nothing, or subnormal.
    random = np.random.default_rng(length)
    ends = ((5, 650), (650, 665), (650, 680), (650, 700), (690, 720), (740, 800))
    gaps = np.stack([random.uniform(*end, length) for end in ends])
    for row in np.concatenate([rows.batch(dtype, length), rows.rounded(-gaps, dtype)]):
        row = np.where(np.arange(length) == 0, row.dtype.type(0), row)
        alone = exact(row[np.newaxis]).values[0].tobytes()
        for name, neighbour in NEIGHBOURS.items():
            pair = np.stack([row, rows.rounded(neighbour(length), dtype)])
            assert exact(pair).values[0].tobytes() == alone, name
            beside = np.stack([pair[0], *[pair[1]] * 70], axis=1)
            assert exact(beside, 0).values[:, 0].tobytes() == alone, name


@pytest.mark.parametrize("far", [-math.inf, -1e9, -745.0, -700.0])
def test_what_is_masked_is_zero_and_changes_nothing_else(far: float) -> None:
    x = np.random.default_rng(0).standard_normal((40, 64), np.float32)
    masked = np.where(np.arange(64) < np.arange(40)[:, None] + 1, x, np.float32(far))
    values = exact(masked).values
    for number, row in enumerate(x):
        alone = plain(row[: number + 1])
        np.testing.assert_array_max_ulp(values[number, : number + 1], alone, 4)
        assert not values[number, number + 1 :].astype(np.float32).any()


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_so_are_the_maxima_that_the_bound_is_told(data: st.DataObject) -> None:
    numbers = st.floats(-100, 100, width=32) | st.sampled_from([math.nan, math.inf, -math.inf])
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 40), st.sampled_from([1, 3, 70])))
    x = data.draw(arrays(np.float32, shape, elements=numbers, fill=numbers))
    bound: Any = exact(x, 1).bound
    np.testing.assert_array_equal(bound.top, x.max(axis=1, keepdims=True))


def test_a_tensor_of_many_blocks_is_that_of_its_rows() -> None:
    x = 3 * np.random.default_rng(9).standard_normal((4, 500, 1500), dtype=np.float32)
    for axis in range(3):
        values = np.moveaxis(exact(x, axis).values, axis, -1)
        matrix = np.moveaxis(x, axis, -1)
        for index in ((0, 0), (1, 5), (3, 2), (-1, -1)):
            assert values[index].tolist() == plain(matrix[index]).tolist()
