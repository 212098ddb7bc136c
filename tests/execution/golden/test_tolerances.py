import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from onnx.backend.test.runner import Runner

from opcheck.compare.elements import Want, stepped
from opcheck.execution.golden import Ends, as_rtol_and_atol, ends
from opcheck.model import Tolerance

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6)


def stated(written: np.ndarray, ulp: int, floor: float = 0.0) -> Ends:
    return ends(Want("y", None, written, floor=floor), written, Tolerance(ulp))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
@given(numbers=NUMBERS, ulp=st.integers(1, 1000))
def test_the_two_numbers_admit_the_ends_by_onnx_s_own_comparison(dtype, numbers, ulp):
    with np.errstate(all="ignore"):
        written = np.array(numbers).astype(dtype)
    allowed = stated(written, ulp)
    finite = np.isfinite(allowed.lowest.astype(float)) & np.isfinite(allowed.highest.astype(float))
    rtol, atol = as_rtol_and_atol([allowed])
    for got in (allowed.lowest, allowed.highest):
        with np.errstate(all="ignore"):
            Runner.assert_similar_outputs([written[finite]], [got[finite]], rtol, atol)


def test_what_is_exact_admits_nothing_else() -> None:
    assert as_rtol_and_atol([stated(np.float32([0, 1, 2]), 0)]) == (0, 0)
    assert as_rtol_and_atol([]) == (0, 0)


@pytest.mark.parametrize(
    "written",
    [
        np.array([5, -3, 0], np.int32),
        np.array([True, False]),
        np.array([1, 2], ml_dtypes.float8_e4m3fn),
        np.array([1 + 2j], np.complex64),
        np.array(["a"], object),
    ],
)
def test_outputs_without_ulp_are_exact_beside_floats_with_a_tolerance(written: np.ndarray) -> None:
    allowed = stated(written, 1)
    assert allowed.lowest is allowed.highest is allowed.written


@pytest.mark.parametrize("ulp", [0, 1])
def test_what_may_be_flushed_is_admitted_beside_a_tolerance(ulp: int) -> None:
    written = np.float32([0, 1])
    allowed = stated(written, ulp, floor=2.4e-38)
    assert allowed.highest[0] == -allowed.lowest[0] == np.float32(2.4e-38)
    assert allowed.highest[1] == stepped(written, ulp)[1]
    _, atol = as_rtol_and_atol([allowed])
    assert 2.4e-38 <= atol < (5e-38 if not ulp else 2e-7)


def test_a_relative_bound_is_found_as_such() -> None:
    written = np.float64([1e-9, 1.0, 1e9])
    rtol, atol = as_rtol_and_atol([Ends(written, written * (1 - 1e-6), written * (1 + 1e-6))])
    assert rtol == pytest.approx(1e-6, rel=0.02)
    assert atol < 1e-14


def test_ends_on_the_wrong_side_come_to_an_end() -> None:
    written = np.float32([0, 1, 1e-40])
    rtol, atol = as_rtol_and_atol([Ends(written, stepped(written, 512), stepped(written, -512))])
    assert np.isfinite([rtol, atol]).all()
