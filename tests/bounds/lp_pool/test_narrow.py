"""Everything computed in float16 or bfloat16: tolerated, named, and right where it is declared."""

from functools import cache

import numpy as np
import pytest

from tests.bounds.arithmetic import BFLOAT16
from tests.bounds.lp_pool.implementations import HONEST
from tests.bounds.lp_pool.judging import FLOAT16, SIZES, Question, ask
from tests.bounds.lp_pool.mutants import relative
from tests.bounds.lp_pool.windows import DISTRIBUTIONS, in_range, windows

#: A library call in 16 bits is computed wider and rounded: it errs by less than 1 ULP.
NARROW = [name for name in HONEST if "4 ULP" not in name and not name.startswith("flushed")]
#: The sums stay this far, as a binary logarithm, below the largest number.
ROOM = 3


@cache
def questions(dtype: np.dtype) -> list[tuple[Question, Question]]:
    """Windows of all distributions, and those among them that are in the dtype's own range."""
    pairs = []
    for size in (1, 9, 49, 1000):
        for p in (1, 2, 10):
            shape = SIZES[size], size
            x = np.concatenate([windows(name, shape, p, dtype) for name in DISTRIBUTIONS])
            held = in_range(x, p) & in_range(x, p, dtype, ROOM)
            pairs.append((ask(x, p), ask(x[held], p)))
    return pairs


@pytest.mark.sampled(5, evenly=True)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("name", NARROW)
def test_arithmetic_in_sixteen_bits_is_named_and_passes_where_it_is_declared(name, dtype):
    named = set()
    for whole, held in questions(dtype):
        with np.errstate(all="ignore"):
            got, owed = (HONEST[name](asked.x, asked.p) for asked in (whole, held))
        declared = whole.judge(got, declared=[dtype.name])
        assert declared.problem is None, declared
        found = held.judge(owed)
        assert found.problem == ("precision" if found.remark else None), found
        tiers = held.tiers_named(found)
        assert bool(tiers) == bool(found.remark), found
        named |= tiers
    assert named
    assert named <= {f"{dtype.name} stored", f"{dtype.name} arithmetic"}


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_beyond_sixteen_bit_arithmetic_nothing_is_tolerated(dtype: np.dtype, p: float) -> None:
    error = {FLOAT16: 0.03, BFLOAT16: 0.24}[dtype]
    for size in (1, 4, 9):
        x = windows("U(0,1)", (32, size), p, dtype)
        for declared in [(), (dtype.name,)]:
            assert ask(x, p).judge(relative(error)(x, p), declared).problem == "values"


def test_a_sum_that_overflows_float16_fails_unless_float16_is_declared() -> None:
    asked = ask(np.array([[300, 300]], FLOAT16), 2)
    with np.errstate(over="ignore"):
        got = HONEST["sequential, pow"](asked.x, 2)
    assert np.isinf(got)
    assert asked.judge(got).problem == "values"
    assert asked.judge(got, declared=["float16"]).problem is None
    assert asked.judge(np.array([424.26], FLOAT16)).problem is None


def test_declaring_one_sixteen_bit_dtype_says_nothing_of_the_other() -> None:
    asked = ask(np.array([[300, 300]], FLOAT16), 2)
    assert asked.judge(np.array([np.inf], FLOAT16), declared=["bfloat16"]).problem == "values"
