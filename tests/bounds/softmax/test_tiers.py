"""Poorer arithmetic is called by its name, and passes where it is declared."""

from functools import partial

import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.dtypes import DTYPES
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array, Sum
from tests.bounds.softmax import algorithms, honest, mutants, rows
from tests.bounds.softmax.algorithms import Exp, Softmax
from tests.bounds.softmax.judging import told, want, want_of_batch

SHORT = ("float16", "bfloat16")
LENGTHS = (1, 2, 3, 4, 8, 17, 33, 64, 257)


def stored(x: Array, exp: Exp = np.exp, add: Sum = ar.sequential, *, early: bool = True) -> Array:
    """float32 inside, but exp is kept in the dtype of `x`, and if `early` is summed from there."""
    e = exp(algorithms.shifted(x.astype(np.float32)))
    kept = ar.through(x.dtype)(e)
    return (kept / add(kept if early else e)).astype(x.dtype)


STORED: dict[str, Softmax] = {
    "sequential sum": stored,
    "pairwise sum": partial(stored, add=ar.pairwise),
    "summed before it is kept": partial(stored, early=False),
    "exp2 of the product": partial(stored, exp=algorithms.by_exp2),
    "exp 4 ULP": partial(stored, exp=ar.off_exp(ar.by_value)),
    "early flush to zero": partial(stored, exp=algorithms.flushed(np.exp, 2.0)),
}
#: Everything in the dtype of the input, as is the function body of version 13, run as it stands.
NARROW: dict[str, Softmax] = {
    "sequential sum": algorithms.quotient,
    "reversed sum": partial(algorithms.quotient, add=ar.backwards),
    "pairwise sum": partial(algorithms.quotient, add=ar.pairwise),
    "sum in 8 lanes": partial(algorithms.quotient, add=ar.lanes(8)),
    "reciprocal": algorithms.reciprocal,
    "exp2 of the product": partial(algorithms.quotient, exp=algorithms.by_exp2),
    "exp(d − ln s)": algorithms.by_log,
    "online": algorithms.online,
    "online in 4 lanes": partial(algorithms.online, lanes=4),
    "blocks of 8": partial(algorithms.blockwise, size=8),
}


WORDS = {
    "stored": "kept in {0} between operations; declare accumulate={0}",
    "arithmetic": "computed in {0}; declare accumulate={0}",
}


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize(
    ("word", "name"),
    [("stored", name) for name in STORED] + [("arithmetic", name) for name in NARROW],
)
def test_16_bits_pass_where_declared_and_are_named_elsewhere(word, name, dtype):
    named = set()
    for columns in LENGTHS:
        right, x = want_of_batch(dtype, columns), rows.batch(dtype, columns)
        with np.errstate(all="ignore"):
            got = (STORED if word == "stored" else NARROW)[name](x)
        assert got.dtype == x.dtype
        assert not told(compare(right, got, declared=[dtype])), columns
        found = compare(right, got)
        assert found.problem == ("precision" if columns > 1 else None), columns
        named |= {found.remark} - {""}
    stored, computed = (WORDS[tier].format(dtype) for tier in WORDS)
    # Short rows, and sums in few steps, may need no more than what is kept in 16 bits does.
    assert stored in named
    assert named == {stored} if word == "stored" else named <= {stored, computed}
    assert word == "stored" or "sum" in name or computed in named


@pytest.mark.parametrize("dtype", SHORT)
def test_what_is_worse_than_16_bits_fails_whatever_is_declared(dtype: str) -> None:
    x = rows.rounded(rows.LETTERS["N"](np.random.default_rng(1), 16, 16), dtype)
    # A sum that leaves out one element of sixteen is off by about u for bfloat16, so two are.
    e = np.exp(algorithms.shifted(x.astype(np.float32)))
    got = (e / e[:, 4:].sum(axis=1, keepdims=True)).astype(x.dtype)
    assert compare(want(x), got, declared=[dtype]).problem == "values"


@pytest.mark.parametrize("offset", [1e3, 1e4, -1e3])
def test_the_raw_log_sum_exp_is_named_where_its_rounding_shows(offset: float) -> None:
    x = rows.rounded(offset + np.random.default_rng(1).standard_normal((16, 8)), "float32")
    found = compare(want(x), mutants.raw_log_sum_exp(x))
    assert (found.problem, found.remark) == ("precision", mutants.RAW)


def test_on_rows_around_zero_it_is_as_good_as_any() -> None:
    x = rows.rounded(np.random.default_rng(1).standard_normal((64, 16)), "float32")
    assert not told(compare(want(x), mutants.raw_log_sum_exp(x)))


@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_who_computes_as_expected_needs_no_declaration_and_loses_nothing_by_one(dtype: str) -> None:
    right, x = want_of_batch(dtype, 64), rows.batch(dtype, 64)
    found = compare(right, honest.answer("sequential sum", x), declared=[dtype])
    assert not told(found)
    assert found.tier == ("float64" if dtype == "float64" else "float32")
    assert found.dtype == DTYPES[dtype]


IN_ORDER: dict[str, Softmax] = {
    name: NARROW[name]
    for name in ("sequential sum", "reversed sum", "exp(d − ln s)", "reciprocal", "online")
} | {"online in 16 lanes": partial(algorithms.online, lanes=16)}
LONG = ("zeros", "ascending", "two ascents", "tail", "wide")


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("name", IN_ORDER)
def test_a_long_row_whose_sum_stagnates_passes_where_declared_and_is_named_elsewhere(name, dtype):
    problems = set()
    for columns in (300, 1500):
        # Each row is judged by itself, so that none excuses another.
        for row in rows.filled([rows.AWKWARD[kind] for kind in LONG], dtype, columns, 1):
            right = want(row[np.newaxis])
            with np.errstate(all="ignore"):
                got = IN_ORDER[name](row[np.newaxis])
            assert not told(compare(right, got, declared=[dtype])), columns
            problems.add(compare(right, got).problem)
    assert {"precision"} <= problems <= {None, "precision"}


@pytest.mark.parametrize(
    ("dtype", "columns", "stops"), [("bfloat16", 2048, 256), ("float16", 8192, 2048)]
)
def test_equal_numbers_whose_sum_ends_early(dtype: str, columns: int, stops: int) -> None:
    x = np.zeros((1, columns), DTYPES[dtype].numpy)
    got = algorithms.quotient(x)
    assert (got == 1 / stops).all()
    assert not told(compare(want(x), got, declared=[dtype]))
    found = compare(want(x), got)
    assert (found.problem, found.tier) == ("precision", f"{dtype} arithmetic")
