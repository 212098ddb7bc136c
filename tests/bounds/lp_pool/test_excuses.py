"""Answers that no arithmetic explains fail; those that a sum out of range explains are warnings.

Windows are of K equal elements, for which a running sum loses most.
"""

from functools import cache

import ml_dtypes
import numpy as np
import pytest

from tests.bounds.arithmetic import BFLOAT16, Array, unit
from tests.bounds.lp_pool.implementations import HONEST
from tests.bounds.lp_pool.judging import DTYPES, FLOAT16, FLOAT32, FLOAT64, Question, ask
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
    # Sums of 16-bit numbers are good to a factor of 2 while they are short.
    for size in [size for size in SIZES if size * unit(dtype) < 0.25]:
        question = equal(dtype, p, size, 1.25, 3)
        answers = question.exact.values.ravel()[1:-1] * [0, 0.5, 2]
        assert wrong(question, answers, dtype) == [(3, "values")] * 2, size


@pytest.mark.parametrize("exponent", [-46, -40, 40, 60])
def test_in_range_a_logarithm_in_bfloat16_is_no_excuse_to_lose_an_answer(exponent: int) -> None:
    answers = np.array([*LOST, -1.0, -1.25, 2.0 ** (2 * abs(exponent))])
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
    assert (named.problem, named.tier) == ("precision", f"{dtype.name} arithmetic")
    assert ask(x, 1).judge(got, declared=[dtype.name]).wrong == 0


def verdicts(dtype: np.dtype, p, size, y, declared=()) -> dict[str, set[str | None]]:
    """What is said of answers beside a norm whose sum of powers leaves the range inside."""
    question = equal(dtype, p, size, y, 1)
    right_one = float(right(question)[1])
    largest = float(ml_dtypes.finfo(computed_in(dtype)).max)
    answers = {
        "right": (right_one,),
        "zero": (0,),
        "lost": (np.inf, np.nan),
        "half": (right_one / 2,),
        "twice": (2 * right_one,),
        "saturated": (largest ** (1 / p),),
        "else": (-1, -right_one, -np.inf, 12345),
    }
    found: dict[str, set[str | None]] = {}
    for name, some in answers.items():
        for answer in some:
            got = right(question).copy()
            with np.errstate(over="ignore"):
                got[1] = answer
            judged = question.judge(got, declared)
            warned = judged.problem == "precision" and question.is_warned_of_range(judged)
            found.setdefault(name, set()).add("range" if warned else judged.problem)
    return found


#: The exponents of a sum that is too large and of one that is too small.
TOO_LARGE = {FLOAT16: 160, FLOAT32: 160, FLOAT64: 1200}
TOO_SMALL = {FLOAT16: -140, FLOAT32: -140, FLOAT64: -1060}
#: float16 has no numbers of which lower powers leave the range of float32.
SOME = [(dtype, p) for dtype in TOO_LARGE for p in (2, 3, 16) if dtype != FLOAT16 or p == 16]
WRONG, WARNED = {"values"}, {"range"}


@pytest.mark.parametrize(("dtype", "p"), SOME, ids=str)
@pytest.mark.parametrize(
    ("exponents", "warned", "wrong"),
    [(TOO_LARGE, ("lost", "zero"), 4), (TOO_SMALL, ("lost", "zero", "half", "twice"), 2)],
    ids=["too large", "too small, which may lose terms"],
)
def test_a_sum_out_of_range_is_right_or_lost_and_nothing_else(exponents, warned, wrong, dtype, p):
    for size in (1, 4, 49):
        found = verdicts(dtype, p, size, 2.0 ** (exponents[dtype] / p))
        assert found.pop("right") == {None}
        assert all(found.pop(name) == WARNED for name in warned), size
        assert list(found.values()) == [WRONG] * wrong, (size, found)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_a_sum_of_magnitudes_that_is_too_large_is_infinite(dtype: np.dtype) -> None:
    largest = float(ml_dtypes.finfo(dtype).max)
    for size in SIZES[1:]:
        x = np.full((3, size), 1 / size).astype(dtype)
        x[1] = largest
        question = ask(x, 1)
        found = {}
        for answer in (np.inf, np.nan, largest, largest / 2, -1, -largest, -np.inf, 12345):
            got = right(question).copy()
            got[1] = answer
            found[answer] = question.judge(got).problem
        assert [found.pop(np.inf), found.pop(np.nan)] == [None, "precision"]
        assert set(found.values()) == WRONG


def test_a_declared_float16_may_leave_its_range_and_flush_its_terms() -> None:
    for size in (1, 4, 49):
        found = verdicts(FLOAT16, 2, size, 400.0)
        assert found.pop("right") == {None}
        assert list(found.values()) == [WRONG] * 6
        found = verdicts(FLOAT16, 2, size, 400.0, ("float16",))
        # What saturates float32 is infinite in float16.
        assert [found.pop(name) for name in ("right", "lost", "saturated")] == [{None}] * 3
        assert list(found.values()) == [WRONG] * 4
    for p, y in ((2, 2.0**-8), (3, 2.0**-5), (16, 0.5)):
        found = verdicts(FLOAT16, p, 4, y, ("float16",))
        assert found["right"] == found["zero"] == found["half"] == {None}
        assert found["lost"] == found["else"] == WRONG


def test_a_large_output_that_saturates_is_judged_like_a_small_one() -> None:
    # 65536 is infinite in float16, and one step from the largest number.
    small = np.array([[1, 2], [32768, 32768], [65504, 15], [65504, 17]], FLOAT16)
    for repeated in (1, 20_000):
        question = ask(np.tile(small, (repeated, 1)), 1)
        got = right(question)
        assert got.tolist() == [3, np.inf, 65504, np.inf] * repeated
        assert question.judge(got).problem is None
        saturated = np.minimum(got, FLOAT16.type(65504))
        found = question.judge(saturated)
        assert (found.problem, found.tier) == ("precision", "float16 stored")
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
