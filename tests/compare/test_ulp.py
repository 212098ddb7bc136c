import math
import struct
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.compare.elements import CHUNK, UNORDERED, chunks, distance, stepped
from opcheck.dtypes import DTYPES

FLOATS = [dtype for dtype in DTYPES.values() if dtype.kind == "float"]
ALL_16_BITS = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def exact_value_of_16_bits(bits: int, fraction_bits: int) -> Fraction | float:
    """The value by the definition of the format, without any floating-point arithmetic."""
    exponent_bits = 15 - fraction_bits
    sign = -1 if bits >> 15 else 1
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * fraction * Fraction(2) ** (1 - bias - fraction_bits)
    return (
        sign * (fraction + (1 << fraction_bits)) * Fraction(2) ** (exponent - bias - fraction_bits)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("dtype", "fraction_bits"), [(np.float16, 10), (ml_dtypes.bfloat16, 7)])
def test_the_distance_is_the_difference_of_ranks_for_all_values_of_16_bits(dtype, fraction_bits):
    values = [exact_value_of_16_bits(bits, fraction_bits) for bits in range(1 << 16)]
    is_number = np.array([value == value for value in values])
    ordered = sorted({value for value in values if value == value})
    rank_of = {value: rank for rank, value in enumerate(ordered)}
    ranks = np.array([rank_of[value] for value in values if value == value], dtype=np.int64)
    numbers = ALL_16_BITS[is_number].view(dtype)

    one_step = np.argsort(ranks, kind="stable")
    neighbours = distance(numbers[one_step[:-1]], numbers[one_step[1:]])
    np.testing.assert_array_equal(neighbours, np.diff(ranks[one_step]))
    for anchor in [0, 1, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x8000, 0x8001, 0xFBFF]:
        anchors = np.full(numbers.shape, numbers[np.flatnonzero(is_number) == anchor][0])
        anchor_rank = rank_of[values[anchor]]
        np.testing.assert_array_equal(distance(anchors, numbers), np.abs(ranks - anchor_rank))
    shuffled = np.random.default_rng(0).permutation(len(numbers))
    same = np.testing.assert_array_equal
    same(distance(numbers, numbers[shuffled]), np.abs(ranks - ranks[shuffled]))
    each = numbers[np.unique(ranks, return_index=True)[1]]
    for steps in (1, 100):
        same(stepped(each, steps), [*each[steps:], *each[-1:].repeat(steps)])
        same(stepped(each, -steps), [*each[:1].repeat(steps), *each[:-steps]])


@pytest.mark.parametrize(
    ("dtype", "infinity"), [(np.float16, 0x7C00), (ml_dtypes.bfloat16, 0x7F80)]
)
def test_nan_is_0_from_every_nan_and_unordered_from_every_number(dtype: Any, infinity: int) -> None:
    everything = ALL_16_BITS.view(dtype)
    magnitude = ALL_16_BITS & 0x7FFF
    is_nan = magnitude > infinity
    nan = np.full(everything.shape, np.nan, dtype)

    expected = np.where(is_nan, 0, np.uint64(UNORDERED))
    np.testing.assert_array_equal(distance(nan, everything), expected)
    np.testing.assert_array_equal(distance(everything, nan), expected)
    assert is_nan.sum() > 100


def rank_by_struct(value: float, pack: str, unpack: str) -> int:
    bits = int(struct.unpack(unpack, struct.pack(pack, value))[0])
    sign = 1 << 8 * struct.calcsize(pack) - 1
    return sign - bits if bits & sign else bits


@pytest.mark.parametrize(
    ("width", "dtype", "pack", "unpack"), [(32, "f4", "<f", "<I"), (64, "f8", "<d", "<Q")]
)
def test_distances_agree_with_whole_numbers_of_any_size(width, dtype, pack, unpack):
    numbers = st.floats(width=width, allow_nan=False)

    @given(numbers, numbers)
    def check(a: float, b: float) -> None:
        expected = abs(rank_by_struct(a, pack, unpack) - rank_by_struct(b, pack, unpack))
        got = distance(np.array([a], dtype), np.array([b], dtype))
        assert got.dtype == np.uint64
        assert int(got[0]) == expected

    check()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("start", [0.0, 1.0, -1.0, 65504.0, 6e-8, -6.1e-5, -65504.0])
def test_each_nextafter_is_one_step_further(dtype: Any, start: float) -> None:
    for end in [np.inf, -np.inf]:
        place = first = np.array(start, dtype)
        for step in range(1, 12):
            with np.errstate(over="ignore", under="ignore"):
                place = np.asarray(np.nextafter(place, dtype(end)))
            assert distance(first, place) == step
            if np.isinf(place):
                break


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_spacing_away_is_one_step_away(dtype: Any) -> None:
    values = np.random.default_rng(1).uniform(1e-3, 1e3, 1000).astype(dtype)
    assert (distance(values, values + np.spacing(values)) == 1).all()
    assert (distance(-values, values) > 1).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_zeros_are_one_place_and_infinity_is_one_step_past_the_largest(dtype: Any) -> None:
    largest = ml_dtypes.finfo(dtype.numpy).max
    smallest = ml_dtypes.finfo(dtype.numpy).smallest_subnormal
    a = np.array([0.0, -0.0, largest, -largest, smallest, smallest, np.inf], dtype.numpy)
    b = np.array([-0.0, 0.0, np.inf, -np.inf, -smallest, -0.0, np.inf], dtype.numpy)
    assert distance(a, b).tolist() == [0, 0, 1, 1, 2, 1, 0]


def test_the_ends_of_float64_are_far_apart_without_overflow() -> None:
    ends = distance(np.array([-np.inf]), np.array([np.inf]))
    assert int(ends[0]) == 2 * 0x7FF0000000000000


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_memory_layout_and_byte_order_do_not_matter(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(4, 6)).astype(dtype.numpy)
    b = rng.normal(size=(4, 6)).astype(dtype.numpy)
    expected = distance(a, b)
    assert (expected > 0).all()

    swapped = a.byteswap().view(a.dtype.newbyteorder("S"))
    np.testing.assert_array_equal(distance(swapped, b), expected)
    np.testing.assert_array_equal(distance(a.T, b.T), expected.T)
    np.testing.assert_array_equal(distance(a[::2, ::-3], b[::2, ::-3]), expected[::2, ::-3])
    np.testing.assert_array_equal(distance(np.asfortranarray(a), b), expected)
    a.flags.writeable = False
    np.testing.assert_array_equal(distance(a, b), expected)
    assert distance(a[1, 2, ...], b[1, 2, ...]).shape == ()
    assert distance(a[1, 2, ...], b[1, 2, ...]) == expected[1, 2]
    assert distance(a[:0], b[:0]).shape == (0, 6)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        (np.zeros(2, np.int32), np.zeros(2, np.int32)),
        (np.zeros(2, np.complex64), np.zeros(2, np.complex64)),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        (np.zeros(()), np.zeros(2)),
    ],
)
def test_what_has_no_distance_is_refused_and_never_broadcast(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match="no ULP distance between"):
        distance(a, b)


def test_chunks_visit_every_element_once_in_index_order() -> None:
    a = np.arange(3 * CHUNK // 2 * 2).reshape(2, -1)
    for array in [a, a.T, np.asfortranarray(a), a[:, ::-1], a.astype(">i8")]:
        pieces = list(chunks(array, array))
        assert [start for start, _ in pieces] == list(range(0, array.size, CHUNK))
        assert all(piece.dtype.isnative and piece.ndim == 1 for _, (piece, _) in pieces)
        joined = np.concatenate([piece for _, (piece, _) in pieces])
        np.testing.assert_array_equal(joined, array.ravel())
