import math
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from onnx import TensorProto, helper

from opcheck import dtypes
from opcheck.dtypes import BASIC, DTYPES, DType, half_ulp, nearest_integers, round_to
from tests.expecting import error_of
from tests.wording import Wording

FLOATS = [dtype for dtype in DTYPES.values() if dtype.kind == "float"]
OF_16_BITS = [DTYPES["float16"], DTYPES["bfloat16"]]
NARROW = [*OF_16_BITS, DTYPES["float32"]]


def values_of_16_bits(dtype: DType) -> list[Fraction]:
    """Every value from 0 on, by the definition of the format; the last is what infinity is of."""
    fraction_bits = {"float16": 10, "bfloat16": 7}[dtype.name]
    exponents = 2 ** (15 - fraction_bits) - 1
    bias = exponents // 2
    values = []
    for exponent in range(exponents + 1):
        for fraction in range(1 if exponent == exponents else 2**fraction_bits):
            hidden = (1 << fraction_bits) if exponent else 0
            scale = Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
            values.append((hidden + fraction) * scale)
    return values


def nearest(value: Fraction, precision: int, min_exponent: int, largest: Fraction) -> float:
    """`value` rounded to nearest, ties to even, in whole numbers."""
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = math.floor(math.log2(magnitude.numerator / magnitude.denominator))
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    quantum = Fraction(2) ** max(exponent - precision + 1, min_exponent)
    # Python rounds a Fraction to the even neighbour of two that are as near.
    rounded = round(magnitude / quantum) * quantum
    sign = 1 if value > 0 else -1
    return sign * (math.inf if rounded > largest else float(rounded))


@pytest.mark.parametrize("dtype", OF_16_BITS, ids=str)
def test_all_16_bit_values_and_all_midpoints_between_them_are_rounded_once(dtype: DType) -> None:
    values = values_of_16_bits(dtype)
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    assert all(Fraction(float(middle)) == middle for middle in middles), "float64 holds them all"
    exact = np.array([float(value) for value in values[:-1]])
    middle = np.array([float(value) for value in middles])
    patterns = np.arange(len(exact), dtype=np.uint16)

    for sign, bit in ((1.0, 0), (-1.0, 0x8000)):

        def bits(values: np.ndarray, sign: float = sign) -> np.ndarray:
            return round_to(sign * values, dtype).view(np.uint16)

        np.testing.assert_array_equal(bits(exact), patterns | bit)
        np.testing.assert_array_equal(bits(np.nextafter(middle, 0)), patterns | bit)
        np.testing.assert_array_equal(bits(np.nextafter(middle, np.inf)), (patterns + 1) | bit)
        even = patterns + patterns % 2
        np.testing.assert_array_equal(bits(middle), even | bit)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_infinities_nan_and_the_sign_of_zero_survive(dtype: DType) -> None:
    got = round_to(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0]), dtype)
    assert got.dtype == dtype.numpy
    got = got.astype(np.float64)
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.nan, 0.0, 0.0])
    np.testing.assert_array_equal(np.signbit(got[3:]), [False, True])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_limits_are_those_of_the_format(dtype: DType) -> None:
    info = ml_dtypes.finfo(dtype.numpy)
    assert dtypes.limits(dtype) == (float(info.min), float(info.max))
    assert 2.0**dtype.min_exponent == float(info.smallest_subnormal)
    assert 2.0 ** (1 - dtype.precision) == float(info.eps)


def test_a_value_just_above_a_midpoint_is_not_rounded_twice() -> None:
    # Through float32 the last term is lost, and the tie goes down to the even neighbour.
    above = np.array([1 + 2**-8 + 2**-40])
    assert round_to(above, DTYPES["bfloat16"]).astype(np.float64) == [1 + 2**-7]
    assert above.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64) == [1.0]
    below = np.array([1 + 2**-7 + 2**-8 - 2**-40])
    assert round_to(below, DTYPES["bfloat16"]).astype(np.float64) == [1 + 2**-7]
    half = np.array([1 + 2**-11 + 2**-40])
    assert round_to(half, DTYPES["float16"]).astype(np.float64) == [1 + 2**-10]


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(NARROW))
@example(2.0**-134, DTYPES["bfloat16"])
@example(3 * 2.0**-134, DTYPES["bfloat16"])
@example(2.0**-134 + 2.0**-180, DTYPES["bfloat16"])
@example(5e-324, DTYPES["bfloat16"])
@example(2.0**-150 + 2.0**-200, DTYPES["float32"])
@example(65519.99999999999, DTYPES["float16"])
@example(65520.0, DTYPES["float16"])
@example(3.3961775292304601e38, DTYPES["bfloat16"])
@example(1.7976931348623157e308, DTYPES["float32"])
@example(1.7976931348623157e308, DTYPES["bfloat16"])
def test_rounding_agrees_with_exact_rationals(value: float, dtype: DType) -> None:
    largest = Fraction(dtypes.limits(dtype)[1])
    want = nearest(Fraction(value), dtype.precision, dtype.min_exponent, largest)
    (got,) = round_to(np.array([value]), dtype).astype(np.float64)
    assert got == want
    assert np.signbit(got) == np.signbit(value)


@given(st.floats(width=16), st.floats(min_value=-1, max_value=1), st.sampled_from(OF_16_BITS))
def test_rounding_agrees_near_values_of_the_format(at: float, off: float, dtype: DType) -> None:
    value = at * (1 + off * 2.0**-7)
    if math.isfinite(value):
        largest = Fraction(dtypes.limits(dtype)[1])
        want = nearest(Fraction(value), dtype.precision, dtype.min_exponent, largest)
        assert round_to(np.array([value]), dtype).astype(np.float64) == [want]


def test_a_tensor_of_rank_0_keeps_its_rank() -> None:
    for dtype in BASIC.values():
        got = round_to(np.array(1.0), dtype)
        assert (got.shape, got.dtype) == ((), dtype.numpy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("int8", 127.5),
        ("int8", 128.0),
        ("uint8", -1.0),
        ("bool", 2.0),
        ("bool", 0.5),
        ("int32", math.nan),
        ("int64", math.inf),
        ("int64", 2.0**63),
        ("uint64", 2.0**64),
        ("uint64", -1.0),
    ],
)
def test_what_an_integer_type_cannot_hold_is_refused(
    name: str, value: float, wording: Wording
) -> None:
    assert error_of(ValueError, round_to, np.array([0.0, value]), DTYPES[name]) == wording


@pytest.mark.parametrize(
    ("name", "value", "rest", "integer"),
    [
        ("int64", 2999999880.5, 0.0, 2999999880),
        ("int64", 2999999881.5, 0.0, 2999999882),
        ("int8", -2.75, 0.0, -3),
        ("uint8", 0.25, 0.5, 1),
        ("int64", 2.0**60, 1.0, 2**60 + 1),
        ("int64", 2.0**63, -5.0, 2**63 - 5),
        ("int64", 2.0**63, 0.0, 2**63 - 1),
        ("uint64", -1.0, 0.0, 0),
        ("uint64", math.inf, 0.0, 2**64 - 1),
        ("int4", -math.inf, 0.0, -8),
        ("int32", math.nan, 0.0, 0),
    ],
)
def test_the_nearest_integer_of_a_type(name: str, value: float, rest: float, integer: int) -> None:
    values = np.array([[value, 1.0]])
    integers = nearest_integers(values, np.array([[rest, 0.0]]), DTYPES[name])
    assert integers.dtype == DTYPES[name].numpy
    assert [int(number) for number in integers[0]] == [integer, 1]


def test_integer_types_hold_their_limits() -> None:
    for dtype in BASIC.values():
        if dtype.kind != "float" and dtype.numpy.itemsize < 8:
            low, high = dtypes.limits(dtype)
            got = round_to(np.array([low, high], np.float64), dtype)
            assert got.dtype == dtype.numpy
            assert [int(got[0]), int(got[1])] == [low, high]


def test_codes_and_spellings_are_those_of_onnx() -> None:
    for dtype in DTYPES.values():
        assert TensorProto.DataType.Name(dtype.onnx).lower() in (dtype.name, _OF_ONNX[dtype.name])
        assert helper.tensor_dtype_to_np_dtype(dtype.onnx) == dtype.numpy
        assert dtypes.BY_TEXT[dtype.text] is dtype


_OF_ONNX = {**dict.fromkeys(DTYPES, ""), "float32": "float", "float64": "double"}


def test_a_dtype_is_known_in_either_byte_order() -> None:
    assert dtypes.of(np.zeros(1, ">f4")) is DTYPES["float32"]
    assert dtypes.of(np.zeros(1, "<i8")) is DTYPES["int64"]
    assert dtypes.of(np.zeros(1, ml_dtypes.bfloat16)) is DTYPES["bfloat16"]
    assert dtypes.of(np.zeros(1, ">c8")) is DTYPES["complex64"]
    assert dtypes.of(np.array(["a"], object)) is DTYPES["string"]
    assert dtypes.of(np.array([1], object)) is None


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_half_an_ulp_is_half_of_numpy_s_spacing(name: str) -> None:
    kind = DTYPES[name].numpy.type
    info = np.finfo(kind)
    values = np.array(
        [0, info.smallest_subnormal, info.tiny, 0.1, 0.5, 1, 1.5, 3, 1000, info.max / 3], kind
    )
    want = [float(np.spacing(value)) / 2 for value in values]
    # Half of the smallest subnormal of float64 is no number.
    assert half_ulp(values.astype(np.float64), DTYPES[name]).tolist() == want
    assert half_ulp(-values.astype(np.float64), DTYPES[name]).tolist() == want


def test_half_an_ulp_beyond_the_largest_number_is_that_below_it() -> None:
    beyond = np.array([65504, 65519, 1e6, np.inf, np.nan])
    assert half_ulp(beyond, DTYPES["float16"]).tolist() == [16, 16, 16, 0, 0]
    found = half_ulp(np.array([1.0, 2.0**-126, 0]), DTYPES["bfloat16"])
    assert found.tolist() == [2.0**-8, 2.0**-134, 2.0**-134]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_subnormal_numbers_lie_between_0_and_the_smallest_normal_one(name: str) -> None:
    dtype = DTYPES[name]
    info = ml_dtypes.finfo(dtype.numpy)
    assert dtype.smallest_normal == float(info.smallest_normal)
    numbers = [0, info.smallest_subnormal, -info.smallest_subnormal, info.smallest_normal, np.nan]
    given = np.array(numbers, dtype.numpy)
    assert dtypes.are_subnormal(given).tolist() == [False, True, True, False, False]


def test_no_number_of_other_types_is_subnormal() -> None:
    assert not dtypes.are_subnormal(np.array([1, 0], np.int32)).any()
    assert not dtypes.are_subnormal(np.array(["a"], object)).any()
