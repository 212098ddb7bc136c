import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opcheck.compare import Want, compare
from opcheck.compare.elements import UNORDERED, Judge, check
from opcheck.dtypes import DTYPES
from opcheck.model import EXACT, Tolerance

FLOAT32, FLOAT64 = DTYPES["float32"], DTYPES["float64"]


def share(want, got, tolerance, dtype=FLOAT64, low=None, high=None):
    wanted = np.array([want], np.float64 if dtype.kind == "float" else dtype.numpy)
    shares, _ = Judge(dtype, tolerance, low, high).shares(wanted, np.array([got], dtype.numpy))
    return float(shares[0])


def mismatch(dtype, tolerance, want, got, low=None, high=None):
    [found] = compare(Want("y", dtype, want, low, high), got, tolerance).worst
    return found


@pytest.mark.parametrize(
    "tolerance",
    [
        Tolerance(ulp=-1),
        Tolerance(ulp=math.nan),  # type: ignore[arg-type]  # what a careless caller may pass
        Tolerance(ulp=UNORDERED),
        Tolerance(rtol=math.nan),
        Tolerance(atol=math.nan),
        Tolerance(rtol=math.inf),
        Tolerance(atol=math.inf),
        Tolerance(rtol=-1e-9),
        Tolerance(atol=-1e-9),
        Tolerance(ulp=1, rtol=1e-3),
        Tolerance(ulp=0, atol=1e-3),
        Tolerance(ulp=0, atol=math.nan),
    ],
    ids=str,
)
def test_a_tolerance_that_could_pass_anything_is_refused(tolerance: Tolerance) -> None:
    with pytest.raises(ValueError, match=r"ULP|rtol"):
        check(tolerance)


@pytest.mark.parametrize(
    "tolerance", [EXACT, Tolerance(), Tolerance(ulp=2**63), Tolerance(rtol=1e300, atol=1e300)]
)
def test_a_sound_tolerance_is_taken(tolerance: Tolerance) -> None:
    check(tolerance)


# ── an independent judge of one float32 or float64, in exact arithmetic ───────────────────────
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
        got = draw(st.sampled_from(near) | st.floats(width=width))
        return want, float(dtype(got))


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


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind == "float"], ids=str)
@pytest.mark.parametrize(
    "tolerance", [EXACT, Tolerance(ulp=UNORDERED - 1), Tolerance(rtol=1e300, atol=1e300)], ids=str
)
def test_no_tolerance_lets_a_nan_or_an_infinity_pass_for_another(dtype, tolerance):
    inf, nan = math.inf, math.nan
    for want, got in [
        (1, nan),
        (1, inf),
        (0, -inf),
        (inf, nan),
        (inf, -inf),
        (-inf, 1),
        (nan, inf),
    ]:
        assert share(want, got, tolerance, dtype) == math.inf, (want, got)
    for same in [inf, -inf, nan]:
        assert share(same, same, tolerance, dtype) == 0.0


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind == "float"], ids=str)
def test_every_nan_is_nan_signalling_ones_too(dtype: Any) -> None:
    size = dtype.numpy.itemsize
    sign = 1 << 8 * size - 1
    infinity = int(np.array([np.inf], dtype.numpy).view(f"u{size}")[0])
    nans = np.array([infinity + 1, infinity + 3 | sign, sign - 1], f"u{size}").view(dtype.numpy)
    judge = Judge(dtype, Tolerance(rtol=1.0), 0.0, 1.0)
    assert judge.shares(np.full(3, np.nan), nans)[0].tolist() == [0.0] * 3
    assert judge.shares(np.zeros(3), nans)[0].tolist() == [math.inf] * 3
    assert mismatch(dtype, Tolerance(rtol=1e-3), np.zeros(1), nans[:1]).ulp is None


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind == "float"], ids=str)
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


# ── integers and bool ─────────────────────────────────────────────────────────────────────────
INTEGERS = [dtype for dtype in DTYPES.values() if dtype.kind == "int"]


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


# ── what is said of a wrong element ───────────────────────────────────────────────────────────
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
    truth = mismatch(DTYPES["bool"], EXACT, np.array([True]), np.array([False]))
    assert truth.want is True
