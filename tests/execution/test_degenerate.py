import numpy as np
import pytest

from opcheck.dtypes import DTYPES, round_to
from opcheck.execution.expected import too_degenerate

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("values", "rounded", "said"),
    [
        ([0, 0, 1], True, "2 of 3"),
        ([0, NAN, 1], True, "2 of 3"),
        ([0, 1, INF, 1], True, None),
        ([2, NAN, INF], True, "2 of 3"),
        ([2, 1e39], True, None),
        ([1e39], True, "1 of 1"),
        ([-0.0, 0], True, "2 of 2"),
        ([], True, None),
        ([0, 0, 1], False, None),
        ([0, 0, NAN], False, "3 of 3"),
        ([], False, None),
    ],
)
def test_more_than_half_of_a_rounded_answer_must_tell_something(values, rounded, said):
    found = too_degenerate(np.array(values, np.float64), DTYPES["float32"], rounded=rounded)
    assert found == (said and f"{said} elements come out as 0, infinity or NaN")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_zero_is_what_the_dtype_rounds_to_zero(dtype):
    known = DTYPES[dtype]
    smallest = np.ldexp(1.0, known.min_exponent)
    assert too_degenerate(np.array([smallest]), known, rounded=True) is None
    assert too_degenerate(np.array([smallest / 2]), known, rounded=True)
    if dtype != "float64":
        above = np.nextafter(smallest / 2, 1)
        assert too_degenerate(np.array([above]), known, rounded=True) is None
        assert float(round_to(np.array([above]), known)[0]) == smallest


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_whole_numbers_and_truth_tell_something_if_they_are_not_zero(dtype):
    some = np.array([0, 1], DTYPES[dtype].numpy)
    assert too_degenerate(some, DTYPES[dtype], rounded=False) is None
    assert too_degenerate(some[:1], DTYPES[dtype], rounded=False)
