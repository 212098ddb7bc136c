"""Sound: no implementation that is honest is accused."""

from __future__ import annotations

import numpy as np
import pytest

from opcheck.model import Comparison
from tests.bounds.arithmetic import BFLOAT16, Array, unit
from tests.bounds.lp_pool.batches import DTYPES, FLOAT16, FLOAT32, out_of_range, owed
from tests.bounds.lp_pool.implementations import HONEST, Implementation, inside
from tests.bounds.lp_pool.judging import Question, ask

OUT_OF_RANGE = "right but where an intermediate result left the range of"


def answer(implementation: Implementation, x: Array, p: float) -> Array:
    """With float32 inside for 16-bit windows. Overflow is what NumPy would warn of."""
    with np.errstate(all="ignore"):
        narrow = x.dtype.itemsize == 2
        return (inside(implementation, np.float32) if narrow else implementation)(x, p)


def told(question: Question, found: Comparison) -> str:
    worst = [(question.x[mismatch.index[-1]], mismatch) for mismatch in found.worst[:1]]
    return f"{question.x.dtype} K={question.x.shape[1]} p={question.p}: {found.remark} {worst}"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_implementation_is_never_accused(name: str, dtype: np.dtype) -> None:
    for question in owed(dtype):
        found = question.judge(answer(HONEST[name], question.x, question.p))
        assert (found.problem, found.remark) == (None, ""), told(question, found)
        assert found.unjudged == 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", HONEST)
def test_where_sums_leave_the_range_the_worst_is_a_warning(name: str, dtype: np.dtype) -> None:
    for question in out_of_range(dtype):
        found = question.judge(answer(HONEST[name], question.x, question.p))
        warned = found.problem == "precision" and found.remark.startswith(OUT_OF_RANGE)
        assert found.problem is None or warned, told(question, found)


@pytest.mark.parametrize(
    ("dtype", "size", "p"),
    [(FLOAT32, 300_000, 1), (FLOAT32, 300_000, 10), (FLOAT16, 2000, 10), (BFLOAT16, 1000, 10)],
    ids=str,
)
def test_a_running_sum_that_never_gets_past_its_first_term_is_honest(
    dtype: np.dtype, size: int, p: float
) -> None:
    # A good part of the sum is lost, so that the root is no straight line any more.
    x = np.full((1, size), (0.99 * unit(dtype)) ** (1 / p)).astype(dtype)
    x[0, 0] = 1
    got = HONEST["sequential, pow"](x, p)
    assert got == 1
    assert ask(x, p).judge(got, declared=[dtype.name]).problem is None


def test_a_flushed_answer_is_right_but_in_float16_whose_numbers_are_all_normal_in_float32() -> None:
    zero = np.zeros(1)
    small = ask(np.array([[1e-40]], np.float32), 1)
    assert small.judge(zero.astype(np.float32)).problem is None
    small = ask(np.array([[6e-8]], FLOAT16), 1)
    assert small.judge(zero.astype(FLOAT16)).problem is not None


def test_a_flushed_term_is_excused_only_where_the_sum_is_as_small() -> None:
    x = np.array([[2.0**-60, 2.0**-63.2]], np.float32)
    # The smaller square, 2^-126.4, is a hundredth of the sum.
    flushed = answer(HONEST["flushed"], x, 2)
    assert flushed == x[0, 0]
    assert ask(x, 2).judge(flushed).remark.startswith(OUT_OF_RANGE)


def test_an_answer_too_large_for_float16_is_infinite() -> None:
    question = ask(np.array([[65504, 65504]], FLOAT16), 1)
    assert question.judge(np.array([np.inf], FLOAT16)).problem is None
    assert question.judge(np.array([65504], FLOAT16)).problem == "values"


def test_beside_the_largest_number_infinity_may_be_right_and_may_be_wrong() -> None:
    largest, infinite = np.array([65504], FLOAT16), np.array([np.inf], FLOAT16)
    # From 65520 on numbers round to infinity, which 65519.984375 is close enough to.
    question = ask(np.array([[65504, 15.984375]], FLOAT16), 1)
    assert question.judge(largest).problem is None
    assert question.judge(infinite).problem is None
    question = ask(np.array([[40000, 15]], FLOAT16), 1)
    assert question.judge(infinite).problem == "values"
