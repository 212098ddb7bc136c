"""Every number of 16 bits: its casts."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType, limits, widened
from tests.engine.ops.test_rows import LAYOUTS
from tests.examples import examples

SHORT = [DTYPES["float16"], DTYPES["bfloat16"]]
ALL_BITS = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
narrowed = np.errstate(invalid="ignore")(dtypes.narrowed)  # a NaN that signals may warn


def value(bits: int, dtype: DType) -> float:
    """What a number of 16 bits is worth, by the definition of its sign, exponent and digits."""
    digits = dtype.precision - 1
    sign, exponent, fraction = bits >> 15, (bits & 0x7FFF) >> digits, bits & ((1 << digits) - 1)
    if exponent == (1 << (15 - digits)) - 1:
        size = math.nan if fraction else math.inf
    else:
        hidden = (1 << digits) if exponent else 0
        size = math.ldexp(hidden + fraction, dtype.min_exponent + max(exponent, 1) - 1)
    return math.copysign(size, -1 if sign else 1)


def rounded(x: float, dtype: DType) -> float:
    """`x` in `dtype`, to nearest, ties to even, in fractions."""
    if not math.isfinite(x) or x == 0:
        return x
    exponent = max(math.frexp(x)[1] - dtype.precision, dtype.min_exponent)
    step = Fraction(2) ** exponent
    near = round(Fraction(x) / step) * step  # Python's round is to even
    result = math.inf if abs(near) > limits(dtype)[1] else abs(float(near))
    return math.copysign(result, x)


def singles(*numbers: float) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.array(numbers, np.float64).astype(np.float32)


def same(got: Any, want: Any) -> None:
    """The same numbers, NaN for NaN, with the same signs, also of zero and NaN."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def wide(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return x.astype(np.float32)


@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_every_number_is_widened_to_what_its_bits_are_worth_and_comes_back(dtype: DType) -> None:
    x = ALL_BITS.view(dtype.numpy)
    with np.errstate(all="raise"):
        got = widened(x)
    assert got.dtype == np.float32
    same(got, [value(bits, dtype) for bits in ALL_BITS.tolist()])
    back = narrowed(got, dtype.numpy)
    assert back.dtype == dtype.numpy
    same(wide(back), wide(x))


@pytest.mark.parametrize("dtype", SHORT, ids=str)
@examples(40)
@given(bits=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40))
@example(bits=[0x477FF000, 0x477FEFFF, 0x7F7F8000, 0x7F7F7FFF])  # half a step beyond the largest
def test_any_float32_is_rounded_to_nearest(dtype: DType, bits: list[int]) -> None:
    x = np.array(bits, np.uint32).view(np.float32)
    want = [rounded(float(each), dtype) for each in x]
    with np.errstate(all="raise"):
        got = narrowed(x, dtype.numpy)
    same(wide(got), want)


@pytest.mark.parametrize("layout", [*LAYOUTS, "empty"])
@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_layout_and_byte_order_do_not_matter(dtype: DType, layout: str) -> None:
    plain = ALL_BITS[:64256:251].reshape(8, 32).view(dtype.numpy)
    strange = LAYOUTS.get(layout, lambda x: x[:0])
    x = strange(plain)
    x.flags.writeable = False
    want, before = plain[: len(x)], x.tobytes()
    got = widened(x)
    assert got.tobytes() == widened(want).tobytes()
    assert got.flags.c_contiguous
    assert got.dtype.isnative
    assert not np.shares_memory(got, x)
    values = strange(widened(plain)) if layout not in ("swapped", "unaligned") else widened(x)
    given = values.tobytes()
    assert narrowed(values, dtype.numpy).tobytes() == narrowed(widened(want), dtype.numpy).tobytes()
    assert (x.tobytes(), values.tobytes()) == (before, given)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "bits",
    [
        ALL_BITS,
        ALL_BITS[(ALL_BITS & 0x7FFF) < 0x7C00],
        ALL_BITS[:0x7BFF],
    ],
    ids=["all", "finite", "positive"],
)
def test_many_numbers_of_float16_are_cast_as_few_are(bits: Any, transposed: bool) -> None:
    # Of each number its float32, the next ones, and those beside half a step.
    steps = np.array([0, 1, 0x0FFF, 0x1000, 0x1001], np.uint32)
    halves = bits.view(np.float16)
    singles = (wide(halves).view(np.uint32)[:, np.newaxis] + steps).view(np.float32)
    x, y = (singles.T, halves.reshape(1, -1).T) if transposed else (singles, halves)
    with np.errstate(invalid="ignore"):
        few = [
            np.concatenate([cast(row) for row in rows])
            for cast, rows in (
                (lambda row: narrowed(row, np.dtype(np.float16)), np.array_split(x.ravel(), 99)),
                (widened, np.array_split(y.ravel(), 99)),
            )
        ]
        got = narrowed(x, np.dtype(np.float16))
        assert got.flags.c_contiguous
        assert got.tobytes() == few[0].tobytes()
        same(widened(y).ravel(), few[1])
