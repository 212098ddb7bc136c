"""Sound: no implementation that is honest is accused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck.model import Comparison
from tests.bounds.arithmetic import BFLOAT16, Array, unit
from tests.bounds.lp_pool.implementations import HONEST, Implementation, inside
from tests.bounds.lp_pool.judging import DTYPES, FLOAT16, FLOAT32, Question, ask, out_of_range, owed
from tests.bounds.lp_pool.windows import Wanted, in_range
from tests.examples import examples


def answer(implementation: Implementation, x: Array, p: float) -> Array:
    """With float32 inside for 16-bit windows. Overflow is what NumPy would warn of."""
    with np.errstate(all="ignore"):
        narrow = x.dtype.itemsize == 2
        return (inside(implementation, np.float32) if narrow else implementation)(x, p)


def told(question: Question, found: Comparison) -> str:
    worst = [(question.x[mismatch.index[-1]], mismatch) for mismatch in found.worst[:1]]
    return f"{question.x.dtype} K={question.x.shape[1]} p={question.p}: {found.remark} {worst}"


def assert_owed(name: str, question: Question) -> None:
    found = question.judge(answer(HONEST[name], question.x, question.p))
    assert (found.problem, found.remark) == (None, ""), (name, told(question, found))
    assert found.used <= 1


def assert_warned_of_at_worst(name: str, question: Question) -> None:
    """Of its range, where sums of powers leave it."""
    found = question.judge(answer(HONEST[name], question.x, question.p))
    warned = found.problem == "precision" and question.is_warned_of_range(found)
    assert found.problem is None or warned, (name, told(question, found))


@pytest.mark.sampled(31, evenly=True)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_implementation_is_never_accused(name: str, dtype: np.dtype) -> None:
    for question in owed(dtype):
        assert_owed(name, question)
    for question in out_of_range(dtype):
        assert_warned_of_at_worst(name, question)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Array, float]:
    """Some windows, and p: ordinary numbers, numbers with powers all over the range, and any."""
    dtype = draw(st.sampled_from(DTYPES))
    powers = (1, 2, 3, 4, 5, 7, 10, 64, 1.5, 2.5, 3.7)
    # A node's attribute is a binary32 number.
    p = float(np.float32(draw(st.sampled_from(powers[: 8 if dtype == BFLOAT16 else 11]))))
    want = Wanted((draw(st.integers(1, 4)), draw(st.integers(1, 40))), p, dtype)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ordinary = draw(st.lists(st.floats(-4, 4), min_size=1, max_size=6))
    exponents = st.floats(want.range.least - 2, want.range.most)
    powers_of = want.with_powers(np.array(draw(st.lists(exponents, min_size=1, max_size=6))))
    any_ = draw(st.lists(st.floats(-want.largest, want.largest), min_size=1, max_size=3))
    pool = draw(st.sampled_from([ordinary, [*powers_of], any_, [*ordinary, *any_, 0.0]]))
    with np.errstate(under="ignore"):
        return rng.choice(np.clip(pool, -want.largest, want.largest), want.shape).astype(dtype), p


@examples(40)
@given(questions())
def test_nor_on_any_windows_whatever(question: tuple[Array, float]) -> None:
    x, p = question
    held = in_range(x, p)
    for part, check in ((x[held], assert_owed), (x[~held], assert_warned_of_at_worst)):
        if len(part):
            asked = ask(part, p)
            for name in HONEST:
                check(name, asked)


@pytest.mark.parametrize(
    ("dtype", "size", "p"),
    [(FLOAT32, 300_000, 1), (FLOAT32, 300_000, 10), (FLOAT16, 2000, 10), (BFLOAT16, 1000, 10)],
    ids=str,
)
def test_a_running_sum_that_never_gets_past_its_first_term_is_honest(dtype, size, p):
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
    question = ask(x, 2)
    assert question.is_warned_of_range(question.judge(flushed))


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
