"""Answers that no arithmetic explains fail; those that a sum out of range explains are warnings.

Windows are of K equal elements, for which a running sum loses most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from opcheck.model import Comparison
from tests.bounds.arithmetic import BFLOAT16, Array, unit
from tests.bounds.lp_pool.batches import DTYPES, FLOAT16, FLOAT32, FLOAT64
from tests.bounds.lp_pool.implementations import HONEST
from tests.bounds.lp_pool.judging import Question, ask
from tests.bounds.lp_pool.windows import computed_in

POWERS = (1, 2, 3, 16)
SIZES = (1, 4, 49, 300, 1000)
HALVES = (FLOAT16, BFLOAT16)

#: Never right beside y = 1.25, computed however.
LOST = (np.nan, np.inf, -np.inf)
ELSEWHERE = (-1.0, -1.25, 12345.0)


@cache
def equal(dtype: np.dtype, p: float, size: int, y: float, count: int) -> Question:
    """`count` windows of the norm `y`, or about, between two ordinary ones."""
    x = np.full((count + 2, size), y * size ** (-1 / p))
    x[[0, -1]] = size ** (-1 / p)
    return ask(x.astype(dtype), p)


def wrong(question: Question, answers: Array, dtype: np.dtype) -> list[tuple[int, str | None]]:
    """How many fail and what that is, by what is declared: nothing, and the dtype itself."""
    got = right(question).copy()
    got[1:-1] = answers.astype(dtype)
    found = [question.judge(got, declared) for declared in ((), (dtype.name,))]
    return [(each.wrong, each.problem) for each in found]


def right(question: Question) -> Array:
    return question.exact.rounded().ravel()


def sums_are_short(dtype: np.dtype, p: float, size: int) -> bool:
    """Whether arithmetic in a 16-bit `dtype` leaves more than half of y, with room to spare.

    Each addition may cost u·S, so that at least (1 − K·u)^(1/p) is left.
    """
    return size * unit(dtype) < 0.8 * (1 - 2.0**-p)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("p", POWERS)
def test_in_range_no_tier_lets_anything_pass_for_an_answer(p: float, dtype: np.dtype) -> None:
    answers = np.array([*LOST, *ELSEWHERE])
    for size in SIZES:
        question = equal(dtype, p, size, 1.25, answers.size)
        assert wrong(question, answers, dtype) == [(answers.size, "values")] * 2, size


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("p", POWERS)
def test_in_range_zero_and_half_and_twice_the_value_fail(p: float, dtype: np.dtype) -> None:
    for size in SIZES:
        question = equal(dtype, p, size, 1.25, 3)
        answers = question.exact.values.ravel()[1:-1] * [0, 0.5, 2]
        if dtype not in HALVES or p == 16 or sums_are_short(dtype, p, size):
            assert wrong(question, answers, dtype) == [(3, "values")] * 2, size
        else:
            assert question.judge(right(question)).problem is None
            undeclared, _ = wrong(question, answers, dtype)
            assert undeclared[1] == "values", size


@pytest.mark.parametrize("exponent", [-46, -40, 40, 60])
def test_in_range_a_logarithm_in_bfloat16_is_no_excuse_for_anything(exponent: int) -> None:
    answers = np.array([0, *LOST, *ELSEWHERE])
    for p in (1, 2):
        for size in (1, 4, 49):
            question = equal(BFLOAT16, p, size, 2.0**exponent, answers.size)
            assert wrong(question, answers, BFLOAT16) == [(answers.size, "values")] * 2, (p, size)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_where_sums_are_long_half_the_value_may_be_honest(dtype: np.dtype) -> None:
    size = {FLOAT16: 5000, BFLOAT16: 1000}[dtype]
    x = np.ones((1, size), dtype)
    got = HONEST["sequential, pow"](x, 1)
    assert 2 * got < size
    named = ask(x, 1).judge(got)
    assert (named.problem, named.tier) == ("precision", dtype.name)
    assert ask(x, 1).judge(got, declared=[dtype.name]).wrong == 0


# ── out of range ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Beyond:
    """A norm of which the sum of powers is out of the range that is computed in."""

    dtype: np.dtype
    p: float
    size: int
    y: float

    @property
    def saturated(self) -> float:
        """What is left of a sum that has become the largest number."""
        return float(float(ml_dtypes.finfo(computed_in(self.dtype)).max) ** (1 / self.p))

    def judge(self, answer: float, declared: tuple[str, ...] = ()) -> Comparison:
        question = equal(self.dtype, self.p, self.size, self.y, 1)
        got = right(question).copy()
        got[1] = answer
        return question.judge(got, declared)

    def fails(self, answer: float) -> bool:
        """Whatever is declared."""
        found = [self.judge(answer, declared) for declared in ((), (self.dtype.name,))]
        return {each.problem for each in found} == {"values"}

    def warns(self, answer: float) -> bool:
        """Of the range; where 16 bits are declared, their own range needs no warning."""
        found, declared = (self.judge(answer, names) for names in ((), (self.dtype.name,)))
        assert declared.problem in (None, "precision")
        return (found.problem, found.tier) == ("precision", "range")

    @property
    def right(self) -> float:
        return float(right(equal(self.dtype, self.p, self.size, self.y, 1))[1])


#: The exponents of a sum that is too large and of one that is too small.
TOO_LARGE = {FLOAT16: 160, BFLOAT16: 160, FLOAT32: 160, FLOAT64: 1200}
TOO_SMALL = {FLOAT16: -110, BFLOAT16: -110, FLOAT32: -110, FLOAT64: -1000}
#: float16 has no numbers of which lower powers leave the range of float32.
SOME = [(dtype, p) for dtype in DTYPES for p in POWERS if dtype != FLOAT16 or p == 16]


@pytest.mark.parametrize(("dtype", "p"), [each for each in SOME if each[1] > 1], ids=str)
def test_a_sum_that_is_too_large_may_be_lost_or_saturated_and_nothing_else(
    dtype: np.dtype, p: float
) -> None:
    for size in SIZES:
        case = Beyond(dtype, p, size, 2.0 ** (TOO_LARGE[dtype] / p))
        assert case.judge(case.right).problem is None
        for answer in (np.inf, np.nan):
            assert case.warns(answer), (size, answer)
        # In 16 bits it is rounded, and may look like 16-bit arithmetic.
        assert case.warns(case.saturated) or dtype in HALVES, size
        assert case.judge(case.saturated).problem == "precision"
        for answer in (-1, -case.right, -np.inf):
            assert case.fails(answer), (size, answer)
        for answer in (0, 12345):
            assert case.fails(answer), (size, answer)
        # Logarithms of such numbers are not much good in bfloat16, and long sums are less.
        assert case.fails(2 * case.right) or (dtype == BFLOAT16 and p < 16), size
        assert case.fails(case.right / 2) or dtype == BFLOAT16, size


@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT32, FLOAT64], ids=str)
def test_a_sum_of_magnitudes_that_is_too_large_is_infinite(dtype: np.dtype) -> None:
    largest = float(ml_dtypes.finfo(dtype).max)
    for size in SIZES[1:]:
        x = np.full((3, size), 1 / size).astype(dtype)
        x[1] = largest
        question = ask(x, 1)

        def told(answer: float, question: Question = question) -> str | None:
            got = right(question).copy()
            got[1] = answer
            return question.judge(got).problem

        assert told(np.inf) is None
        # What saturates, and what subtracts infinities.
        assert told(largest) == told(np.nan) == "precision"
        for answer in (-1, -largest, -np.inf):
            assert told(answer) == "values"
        if dtype != BFLOAT16:
            assert told(0) == told(12345) == told(largest / 2) == "values"


@pytest.mark.parametrize(("dtype", "p"), SOME, ids=str)
def test_a_sum_that_is_too_small_may_be_lost_or_lose_terms_and_nothing_else(
    dtype: np.dtype, p: float
) -> None:
    for size in SIZES:
        case = Beyond(dtype, p, size, 2.0 ** (TOO_SMALL[dtype] / p))
        assert case.judge(case.right).problem is None
        for answer in (0, case.right / 2, np.inf, np.nan):
            assert dtype == BFLOAT16 or case.warns(answer), (size, answer)
            assert case.judge(answer).problem == "precision"
        for answer in (-case.right, -1, -np.inf):
            assert case.fails(answer), (size, answer)
        assert case.fails(12345), size
        assert case.fails(2 * case.right) or (dtype == BFLOAT16 and p < 16), size


def test_a_sum_out_of_the_range_of_a_declared_float16_is_lost_or_saturated() -> None:
    for size in SIZES:
        case = Beyond(FLOAT16, 2, size, 400.0)
        assert case.judge(case.right).problem is None
        for answer in (np.inf, np.nan, 255.9):
            assert case.judge(answer).problem == "values"
            found = case.judge(answer, ("float16",))
            assert (found.problem, found.tier) == (None, "float16")
        for answer in (0, -1, 12345, 200, 300, 800, -np.inf):
            assert case.fails(answer) or (size == 1000 and answer in (200, 300)), (size, answer)


def test_terms_that_a_declared_float16_flushes_may_be_lost() -> None:
    for p, y in ((2, 2.0**-8), (3, 2.0**-5), (16, 0.5)):
        for size in SIZES[:2]:
            case = Beyond(FLOAT16, p, size, y)
            assert case.judge(case.right).problem is None
            for answer in (0, case.right / 2):
                assert case.judge(answer).problem == "values"
                assert case.judge(answer, ("float16",)).problem is None
            for answer in (np.nan, -1, -case.right, -np.inf):
                assert case.fails(answer), (size, answer)


# ── large outputs ─────────────────────────────────────────────────────────────────────────────


def test_a_large_output_that_saturates_is_judged_like_a_small_one() -> None:
    # 65536 is infinite in float16, and one step from the largest number.
    small = np.array([[1, 2], [32768, 32768], [65504, 15], [65504, 17]], FLOAT16)
    for repeated in (1, 20_000):
        x = np.tile(small, (repeated, 1))
        question = ask(x, 1)
        got = right(question)
        assert got.tolist() == [3, np.inf, 65504, np.inf] * repeated
        assert question.judge(got).problem is None
        saturated = np.minimum(got, FLOAT16.type(65504))
        found = question.judge(saturated)
        assert (found.problem, found.tier) == ("precision", "float16")
        assert (found.wrong, found.total) == (2 * repeated, 4 * repeated)
        assert question.judge(np.where(got == 65504, np.inf, got)).problem == "values"


@pytest.mark.parametrize("place", [0, 65_536, 99_999])
def test_one_saturated_element_of_a_large_output_is_found(place: int) -> None:
    x = np.ones((100_000, 2), FLOAT16)
    x[place] = 32768
    question = ask(x, 1)
    assert question.judge(right(question)).problem is None
    found = question.judge(np.minimum(right(question), FLOAT16.type(65504)))
    assert (found.problem, found.wrong) == ("precision", 1)
    x[place] = 65504
    question = ask(x, 1)
    found = question.judge(np.minimum(right(question), FLOAT16.type(65504)))
    assert (found.problem, found.wrong) == ("values", 1)
