"""A sum of 16 bits that stagnates is right where it is declared, and there is a limit to it."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.engine.ops.softmax.summing import least_sum
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array, Sum
from tests.bounds.softmax import algorithms, rows
from tests.bounds.softmax.algorithms import Softmax
from tests.bounds.softmax.judging import told, want

SHORT = ("float16", "bfloat16")
IN_ORDER: dict[str, Softmax] = {
    "sequential sum": algorithms.quotient,
    "reversed sum": partial(algorithms.quotient, add=ar.backwards),
    "exp(d − ln s)": algorithms.by_log,
    "reciprocal": algorithms.reciprocal,
    "online": algorithms.online,
    "online in 2 chunks": partial(algorithms.online, lanes=2, chunked=True),
    "online in 16 lanes": partial(algorithms.online, lanes=16),
}
FILLS: dict[str, rows.Fill] = {
    **rows.AWKWARD,
    # exp of these is just below 2^-8: added one by one to 1 they vanish in bfloat16.
    "stagnation in 16 bits": lambda rng, count, columns: np.tile(
        np.where(np.arange(columns) == 0, 0.0, -5.6), (count, 1)
    ),
}
KINDS = ("zeros", "ascending", "two ascents", "tail", "stagnation in 16 bits", "wide")


@cache
def asked(dtype: str, columns: int) -> tuple[Array, list[Want]]:
    """One row of each kind; each is judged by itself, so that none excuses another."""
    x = rows.filled([FILLS[kind] for kind in KINDS], dtype, columns, 1)
    return x, [want(row[np.newaxis]) for row in x]


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("name", IN_ORDER)
def test_a_long_row_in_16_bits_passes_where_declared_and_is_named_elsewhere(
    name: str, dtype: str
) -> None:
    for columns in (300, 1500):
        x, wants = asked(dtype, columns)
        with np.errstate(all="ignore"):
            answers = IN_ORDER[name](x)
        problems = set()
        for kind, right, got in zip(KINDS, wants, answers, strict=True):
            found = compare(right, got[np.newaxis], declared=[dtype])
            assert not told(found), (kind, columns)
            problems.add(compare(right, got[np.newaxis]).problem)
        assert problems <= {None, "precision"}
        assert "precision" in problems


@pytest.mark.parametrize(
    ("dtype", "columns", "ends"), [("bfloat16", 2048, 256), ("float16", 8192, 2048)]
)
def test_equal_numbers_whose_sum_ends_early(dtype: str, columns: int, ends: int) -> None:
    x = np.zeros((1, columns), DTYPES[dtype].numpy)
    got = algorithms.quotient(x)
    assert (got == 1 / ends).all()
    right = want(x)
    assert not told(compare(right, got, declared=[dtype]))
    found = compare(right, got)
    assert (found.problem, found.tier) == ("precision", dtype)
    # No order of addition ends at half of that.
    assert compare(right, 2 * got, declared=[dtype]).problem == "values"


# ── the least sum ─────────────────────────────────────────────────────────────────────────────

ORDERS: dict[str, Sum] = {
    "sequential": ar.sequential,
    "reversed": ar.backwards,
    "pairwise": ar.pairwise,
    "in 4 lanes": ar.lanes(4),
    "in blocks of 16": ar.blocks(16),
    "small ones first": lambda terms: ar.sequential(np.sort(terms, axis=-1)),
    "large ones first": lambda terms: ar.backwards(np.sort(terms, axis=-1)),
}


def least_of(terms: Array) -> float:
    """The least sum of some terms, in parts of their exact sum."""
    y = terms.astype(np.float64)
    return float(least_sum(y / math.fsum(y[0]), ar.unit(terms.dtype))[0, 0])


def summed(terms: Array, add: Sum) -> float:
    """What comes out, in parts of the exact sum."""
    return float(add(terms)[0, 0]) / math.fsum(terms[0].astype(np.float64))


@st.composite
def terms_of(draw: st.DrawFn, dtype: str) -> Array:
    """A few numbers, each of them many times, beside each other or in turns."""
    few = draw(st.lists(st.floats(0, 12).map(lambda g: math.exp(-g)), min_size=1, max_size=8))
    values = rows.rounded(np.array(few), dtype)
    times = draw(st.sampled_from([1, 2, 5, 40, 300]))
    many = np.repeat(values, times) if draw(st.booleans()) else np.tile(values, times)
    first = rows.rounded(np.array([1.0] * draw(st.integers(0, 1))), dtype)
    return np.concatenate([first, many])[np.newaxis]


@pytest.mark.parametrize("dtype", SHORT)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_no_order_of_addition_gives_less(dtype: str, data: st.DataObject) -> None:
    terms = data.draw(terms_of(dtype))
    least = least_of(terms)
    for name, add in ORDERS.items():
        assert summed(terms, add) >= least * (1 - 1e-8), name


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("times", [1, 4, 20])
def test_a_row_that_stagnates_comes_near_it(dtype: str, times: int) -> None:
    u = ar.unit(DTYPES[dtype].numpy)
    count = round(times / u)
    # Each u beside 1 is lost: half of a step, and 1 is even.
    lost = np.full((1, 1 + count), u).astype(DTYPES[dtype].numpy)
    lost[0, 0] = 1
    assert summed(lost, ar.sequential) == pytest.approx(1 / (1 + times))
    assert least_of(lost) == pytest.approx(1 / (1 + times), rel=1e-6)
    # Ones end at 1/u.
    ones = np.ones_like(lost)
    assert least_of(ones) <= summed(ones, ar.sequential) < 2 * least_of(ones)


def test_the_least_sum_worked_out_by_hand() -> None:
    u = 2.0**-4
    y = np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]])
    # One term is the sum. Three of four equal ones lose u·M each. Small ones lose themselves.
    want = [1, 1 / (1 + 3 * u), 0.97]
    assert least_sum(y, u)[:, 0].tolist() == pytest.approx(want, rel=1e-7)
