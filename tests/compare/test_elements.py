import math
import struct
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from opcheck.compare import Want, compare
from opcheck.compare.elements import (
    CHUNK,
    UNORDERED,
    ElementTolerance,
    check,
    chunks,
    distance,
    same as are_same,
    stepped,
)
from opcheck.dtypes import BASIC, DTYPES
from opcheck.model import EXACT, Tolerance
from tests.wording import Wording

FLOAT32, FLOAT64 = DTYPES["float32"], DTYPES["float64"]
INTEGERS = [dtype for dtype in BASIC.values() if dtype.kind == "int"]
FLOATS = [dtype for dtype in DTYPES.values() if dtype.kind == "float"]
ALL_16_BITS = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def share(want, got, tolerance, dtype=FLOAT64, low=None, high=None):
    wanted = np.array([want], np.float64 if dtype.kind == "float" else dtype.numpy)
    shares, _ = ElementTolerance(dtype, tolerance, low, high).shares(
        wanted, np.array([got], dtype.numpy)
    )
    return float(shares[0])


def mismatch(dtype, tolerance, want, got, low=None, high=None):
    [found] = compare(Want("y", dtype, want, low, high), got, tolerance).worst
    return found


@pytest.mark.parametrize(
    "tolerance",
    [
        Tolerance(ulp=-1),
        Tolerance(ulp=UNORDERED),
        Tolerance(ulp=math.nan),  # type: ignore[arg-type]  # what a careless caller may pass
        Tolerance(rtol=math.nan),
        Tolerance(rtol=math.inf),
        Tolerance(rtol=-1e-9),
        Tolerance(atol=math.nan),
        Tolerance(atol=math.inf),
        Tolerance(atol=-1e-9),
        Tolerance(ulp=1, rtol=1e-3),
        Tolerance(ulp=0, atol=1e-3),
        Tolerance(ulp=0, atol=math.nan),
    ],
    ids=str,
)
def test_a_tolerance_that_could_pass_anything_is_refused(
    tolerance: Tolerance, wording: Wording
) -> None:
    with pytest.raises(ValueError, match=r"ULP|rtol"):
        check(tolerance)
    with pytest.raises(ValueError, match=r"of -1 ULP is no") as raised:
        check(Tolerance(ulp=-1))
    assert raised.value == wording


@pytest.mark.parametrize(
    "tolerance", [EXACT, Tolerance(), Tolerance(ulp=2**63), Tolerance(rtol=1e300, atol=1e300)]
)
def test_a_sound_tolerance_is_taken(tolerance: Tolerance) -> None:
    check(tolerance)


def rank(value: float, double: bool) -> int:
    pack, unpack = ("<d", "<Q") if double else ("<f", "<I")
    bits = int(struct.unpack(unpack, struct.pack(pack, value))[0])
    sign = 1 << (63 if double else 31)
    return sign - bits if bits & sign else bits


def exact_share(want: float, got: float, tolerance: Tolerance, double: bool) -> Fraction | float:
    with np.errstate(over="ignore"):
        rounded = want if double else float(np.float32(want))
    if math.isnan(rounded) or math.isnan(got):
        return Fraction(0) if math.isnan(rounded) and math.isnan(got) else math.inf
    if rounded == got:
        flipped = got == 0 and math.copysign(1, got) != math.copysign(1, rounded)
        return math.inf if flipped and tolerance.signed_zeros else Fraction(0)
    if math.isinf(rounded) or math.isinf(got):
        return math.inf
    if tolerance.ulp is not None:
        error = Fraction(abs(rank(got, double) - rank(rounded, double)))
        allowed = Fraction(tolerance.ulp)
    else:
        error = abs(Fraction(got) - Fraction(want))
        allowed = Fraction(tolerance.atol) + Fraction(tolerance.rtol) * abs(Fraction(want))
    return error / allowed if allowed else math.inf


TOLERANCES = st.builds(
    Tolerance, ulp=st.sampled_from([0, 1, 3, 1000, 2**40, 2**63]), signed_zeros=st.booleans()
) | st.builds(
    Tolerance,
    rtol=st.sampled_from([0.0, 1e-12, 1e-6, 0.1, 1.0, 10.0]),
    atol=st.sampled_from([0.0, 1e-300, 1e-40, 1e-8, 1.0]),
    signed_zeros=st.booleans(),
)


@st.composite
def neighbours(draw: st.DrawFn, width: Any) -> tuple[float, float]:
    """A wanted float64 and an answer near it or anywhere."""
    want = draw(st.floats(width=64) | st.floats(width=width))
    dtype = np.float32 if width == 32 else np.float64
    near = [want, -want, 2 * want, want * (1 + 1e-6), want + 1e-8, math.inf, -math.inf, math.nan]
    with np.errstate(all="ignore"):
        near += [np.nextafter(dtype(want), dtype(end)) for end in (math.inf, -math.inf)]
        return want, float(dtype(draw(st.sampled_from(near) | st.floats(width=width))))


@pytest.mark.parametrize("width", [32, 64])
def test_every_share_agrees_with_exact_arithmetic(width: Any) -> None:
    dtype = FLOAT64 if width == 64 else FLOAT32

    @given(neighbours(width), TOLERANCES)
    @example((-0.0, 0.0), Tolerance(rtol=1.0, signed_zeros=True))
    @example((1e39, 3e38), Tolerance(rtol=10.0))
    def agrees(pair: tuple[float, float], tolerance: Tolerance) -> None:
        want, got = pair
        expected = exact_share(want, got, tolerance, double=width == 64)
        found = share(want, got, tolerance, dtype)
        if expected == 0 or isinstance(expected, float):
            assert found == expected
        elif abs(expected - 1) > 1e-12 and abs(got - want) < math.inf:
            assert (found <= 1) == (expected <= 1)
            # The share itself is a float64: it is close where what is allowed is a normal one.
            if tolerance.ulp or 1e-300 < tolerance.atol + tolerance.rtol * abs(want) < math.inf:
                assert min(found, 1e308) == pytest.approx(
                    float(min(expected, Fraction(10**308))), rel=1e-12
                )

    agrees()


def test_an_error_that_overflows_is_wrong_whatever_is_allowed() -> None:
    assert share(1.7e308, -1.7e308, Tolerance(rtol=1e300)) == math.inf


def test_a_share_at_the_limit_is_1_and_one_step_beyond_is_more() -> None:
    assert share(0.0, 0.25, Tolerance(atol=0.25)) == 1.0
    assert share(0.0, np.nextafter(0.25, 1), Tolerance(atol=0.25)) > 1.0
    assert share(1.0, 1 + 2 * 2**-52, Tolerance(ulp=2)) == 1.0
    assert share(1.0, 1 + 3 * 2**-52, Tolerance(ulp=2)) == 1.5
    assert share(1.0, 1 + 1 * 2**-52, Tolerance(ulp=2)) == 0.5


def test_many_steps_count_exactly_where_float64_could_not() -> None:
    far = np.array([2**60 + 1], np.uint64).view(np.float64)[0]
    assert share(0.0, far, Tolerance(ulp=2**60)) > 1.0
    assert share(0.0, far, Tolerance(ulp=2**60 + 1)) == 1.0


def test_the_rounded_reference_is_right_under_every_tolerance() -> None:
    third = np.float32(1 / 3)
    assert share(1 / 3, third, EXACT, FLOAT32) == 0.0
    assert share(1 / 3, third, Tolerance(rtol=1e-12), FLOAT32) == 0.0
    assert share(1 / 3, np.nextafter(third, np.float32(1)), Tolerance(rtol=1e-12), FLOAT32) > 1


def test_rtol_is_about_the_unrounded_reference() -> None:
    # Rounded to float16 the reference is 2048; 2050 is 1.2 from the unrounded 2048.8.
    want, got = 2048.8, 2050.0
    assert share(want, got, Tolerance(atol=1.25), DTYPES["float16"]) == pytest.approx(1.2 / 1.25)
    assert share(want, got, Tolerance(atol=1.15), DTYPES["float16"]) > 1


def test_a_reference_that_rounds_to_infinity_is_infinite() -> None:
    largest = np.finfo(np.float32).max
    assert share(3.5e38, np.inf, EXACT, FLOAT32) == 0.0
    assert share(3.5e38, largest, Tolerance(ulp=1), FLOAT32) == math.inf
    assert share(float(largest), np.inf, Tolerance(ulp=1), FLOAT32) == math.inf
    assert share(float(largest), np.inf, Tolerance(rtol=1e300), FLOAT32) == math.inf


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "tolerance", [EXACT, Tolerance(ulp=UNORDERED - 1), Tolerance(rtol=1e300, atol=1e300)], ids=str
)
def test_no_tolerance_lets_a_nan_or_an_infinity_pass_for_another(dtype, tolerance):
    inf, nan = math.inf, math.nan
    others = [(1, nan), (1, inf), (0, -inf), (inf, nan), (inf, -inf), (-inf, 1), (nan, inf)]
    for want, got in others:
        assert share(want, got, tolerance, dtype) == math.inf, (want, got)
    for same in [inf, -inf, nan]:
        assert share(same, same, tolerance, dtype) == 0.0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_nan_is_nan_signalling_ones_too(dtype: Any) -> None:
    size = dtype.numpy.itemsize
    sign = 1 << 8 * size - 1
    infinity = int(np.array([np.inf], dtype.numpy).view(f"u{size}")[0])
    nans = np.array([infinity + 1, infinity + 3 | sign, sign - 1], f"u{size}").view(dtype.numpy)
    judge = ElementTolerance(dtype, Tolerance(rtol=1.0), 0.0, 1.0)
    assert judge.shares(np.full(3, np.nan), nans)[0].tolist() == [0.0] * 3
    assert judge.shares(np.zeros(3), nans)[0].tolist() == [math.inf] * 3
    assert mismatch(dtype, Tolerance(rtol=1e-3), np.zeros(1), nans[:1]).ulp is None


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_zeros_differ_only_when_signed_zeros_are_asked_for(dtype: Any) -> None:
    for one, other in [(0.0, -0.0), (-0.0, 0.0)]:
        assert share(one, other, EXACT, dtype) == 0.0
        for tolerance in [
            Tolerance(ulp=0, signed_zeros=True),
            Tolerance(ulp=9, signed_zeros=True),
            Tolerance(atol=1.0, signed_zeros=True),
        ]:
            assert share(one, other, tolerance, dtype) == math.inf
            assert share(one, one, tolerance, dtype) == 0.0
    # One that rounds to a zero is a zero of its sign.
    assert share(-1e-320, 0.0, Tolerance(ulp=0, signed_zeros=True), FLOAT32) == math.inf


@pytest.mark.parametrize("tolerance", [Tolerance(ulp=100), Tolerance(atol=1.0)], ids=str)
def test_a_value_outside_the_range_is_wrong_within_the_tolerance(tolerance: Tolerance) -> None:
    above, below = 1 + 2**-52, -5e-324
    assert share(1.0, above, tolerance) <= 1
    assert share(1.0, above, tolerance, high=1.0) == math.inf
    assert share(0.0, below, tolerance) <= 1
    assert share(0.0, below, tolerance, low=0.0) == math.inf
    assert share(1.0, 1 - 2**-53, tolerance, low=0.0, high=1.0) <= 1
    assert share(np.inf, np.inf, tolerance, low=0.0, high=1.0) == 0.0


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_agree_with_whole_numbers_of_any_size(dtype: Any) -> None:
    info = np.iinfo(dtype.numpy)
    low, high = int(info.min), int(info.max)
    number = st.integers(low, high) | st.sampled_from([low, high, low + 1, high - 1, 0])

    @given(number, number, st.sampled_from([0, 1, 2, 1000, 2**53, 2**62, 2**64]))
    def agrees(want: int, got: int, atol: int) -> None:
        assert (share(want, got, EXACT, dtype) == 0) == (want == got)
        assert (share(want, got, Tolerance(ulp=5), dtype) <= 1) == (want == got)
        found = share(want, got, Tolerance(atol=float(atol)), dtype)
        assert (found <= 1) == (abs(want - got) <= atol)

    agrees()


def test_large_integers_one_apart_are_not_equal() -> None:
    for dtype, value in [("int64", 2**63 - 2), ("int64", -(2**63)), ("uint64", 2**64 - 2)]:
        loose = Tolerance(atol=0.5)
        assert share(value, value + 1, EXACT, DTYPES[dtype]) == math.inf
        assert share(value, value + 1, loose, DTYPES[dtype]) > 1
        assert share(value, value, loose, DTYPES[dtype]) == 0
    assert share(0, 2**53 + 1, Tolerance(atol=2.0**53), DTYPES["int64"]) > 1
    assert share(0, 2**53 + 1, Tolerance(atol=2.0**53 + 2), DTYPES["int64"]) <= 1


def test_rtol_and_the_range_hold_for_integers() -> None:
    int32 = DTYPES["int32"]
    assert share(-1000, -990, Tolerance(rtol=0.01), int32) == 1.0
    assert share(-1000, -989, Tolerance(rtol=0.01), int32) > 1
    assert share(10, 11, Tolerance(atol=5.0), int32, high=10) == math.inf


def test_booleans_are_exact_whatever_the_tolerance() -> None:
    for tolerance in [EXACT, Tolerance(ulp=9), Tolerance(rtol=9.0, atol=9.0)]:
        assert share(True, False, tolerance, DTYPES["bool"]) == math.inf
        assert share(True, True, tolerance, DTYPES["bool"]) == 0.0


@pytest.mark.parametrize(
    ("want", "got", "tolerance", "allowed", "ulp"),
    [
        (1.0, 1 + 2**-52, EXACT, "exact", 1),
        (1.0, 2.0, Tolerance(), "exact", 2**52),
        (1.0, 1.5, Tolerance(ulp=2), "±2 ULP", 2**51),
        (2.0, 3.0, Tolerance(rtol=1e-3, atol=1e-3), "±0.003", 2**51),
        (2.0, np.nan, Tolerance(rtol=1e-3), "±0.002", None),
        (np.nan, 1.0, Tolerance(rtol=1e-3), "NaN", None),
        (np.inf, 1.0, Tolerance(rtol=1e-3), "exact", 0x7FF0000000000000 - 0x3FF0000000000000),
        (0.0, -0.0, Tolerance(ulp=1, signed_zeros=True), "+0", 0),
        (-0.0, 0.0, Tolerance(ulp=0, signed_zeros=True), "-0", 0),
        (1.0, 2.0, Tolerance(ulp=3, signed_zeros=True), "±3 ULP", 2**52),
    ],
)
def test_a_mismatch_says_what_was_allowed(want, got, tolerance, allowed, ulp):
    found = mismatch(FLOAT64, tolerance, np.array([[0, want]]), np.array([[0, got]]))
    assert (found.index, found.allowed, found.ulp) == ((0, 1), allowed, ulp)
    assert (str(found.want), str(found.got)) == (str(want), str(float(got)))
    assert type(found.want) is type(found.got) is float


@pytest.mark.parametrize(
    ("low", "high", "allowed"),
    [
        (0, 1, "within [0, 1]"),
        (None, 1.5, "at most 1.5"),
        (1, None, "±1 ULP"),
        (3, None, "at least 3"),
    ],
)
def test_a_mismatch_outside_the_range_names_the_range(low, high, allowed):
    found = mismatch(FLOAT64, Tolerance(ulp=1), np.array([1.0]), np.array([2.0]), low, high)
    assert found.allowed == allowed


def test_what_is_shown_is_the_reference_in_the_dtype_of_the_output() -> None:
    for name, shown in [("float16", 0.0999755859375), ("bfloat16", 0.10009765625)]:
        dtype = DTYPES[name]
        found = mismatch(dtype, EXACT, np.array([0.1]), np.array([0.5], dtype.numpy))
        assert (found.want, found.got) == (shown, 0.5)
        assert type(found.want) is float
    largest, one = np.array([2**64 - 1], np.uint64), np.array([1], np.uint64)
    big = mismatch(DTYPES["uint64"], Tolerance(rtol=0.1), largest, one)
    assert (big.want, big.got, big.ulp, big.allowed) == (2**64 - 1, 1, None, "±1.84e+18")
    for tolerance in (EXACT, Tolerance(rtol=0.1)):
        found = mismatch(DTYPES["bool"], tolerance, np.array([True]), np.array([False]))
        assert (found.want, found.allowed) == (True, "exact")


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
    for steps in (1, 100, 40_000):
        same(stepped(each, steps), [*each[steps:], *each[-1:].repeat(steps)])
        same(stepped(each, -steps), [*each[:1].repeat(steps), *each[:-steps]])


@pytest.mark.parametrize(
    ("dtype", "infinity"), [(np.float16, 0x7C00), (ml_dtypes.bfloat16, 0x7F80)]
)
def test_nan_is_0_from_every_nan_and_unordered_from_every_number(dtype: Any, infinity: int) -> None:
    everything = ALL_16_BITS.view(dtype)
    is_nan = infinity < (ALL_16_BITS & 0x7FFF)
    nan = np.full(everything.shape, np.nan, dtype)

    expected = np.where(is_nan, 0, np.uint64(UNORDERED))
    np.testing.assert_array_equal(distance(nan, everything), expected)
    np.testing.assert_array_equal(distance(everything, nan), expected)
    assert is_nan.sum() > 100


@pytest.mark.parametrize(("width", "dtype"), [(32, "f4"), (64, "f8")])
def test_distances_agree_with_whole_numbers_of_any_size(width, dtype):
    numbers = st.floats(width=width, allow_nan=False)

    @given(numbers, numbers)
    def check(a: float, b: float) -> None:
        expected = abs(rank(a, width == 64) - rank(b, width == 64))
        got = distance(np.array([a], dtype), np.array([b], dtype))
        assert got.dtype == np.uint64
        assert int(got[0]) == expected

    check()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_zeros_are_one_place_and_infinity_is_one_step_past_the_largest(dtype: Any) -> None:
    largest = ml_dtypes.finfo(dtype.numpy).max
    smallest = ml_dtypes.finfo(dtype.numpy).smallest_subnormal
    a = np.array([0.0, -0.0, largest, -largest, smallest, smallest, np.inf], dtype.numpy)
    b = np.array([-0.0, 0.0, np.inf, -np.inf, -smallest, -0.0, np.inf], dtype.numpy)
    assert distance(a, b).tolist() == [0, 0, 1, 1, 2, 1, 0]


def test_the_ends_of_float64_are_far_apart_without_overflow() -> None:
    assert int(distance(np.array([-np.inf]), np.array([np.inf]))[0]) == 2 * 0x7FF0000000000000
    assert not np.signbit(stepped(np.array([5e-324]), -1))


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


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_are_the_same_with_the_signs_of_zeros_and_nan_of_any_sign(dtype):
    nan = dtype(np.nan)
    left = np.array([0.0, 0.0, nan, nan, 1.0, np.inf], dtype)
    right = np.array([0.0, -0.0, -nan, 1.0, 1.0, -np.inf], dtype)
    assert np.signbit(right[2]) != np.signbit(left[2])
    assert are_same(left, right).tolist() == [True, False, True, False, True, False]
