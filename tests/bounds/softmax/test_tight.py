"""The bound sees the mistakes that it is there to see.

A mistake is seen where the output does not pass: its values are wrong, or they would be right for
a poorer arithmetic only. The latter happens to small mistakes on rows far from zero, as what the
raw log-sum-exp loses there is a warning.
"""

from functools import cache, partial

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.model import Comparison
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array, Sum
from tests.bounds.softmax import algorithms, honest, mutants, rows
from tests.bounds.softmax.algorithms import Exp, Softmax
from tests.bounds.softmax.judging import told, want, want_of_batch
from tests.bounds.softmax.mutants import MUTANTS, SEEN, TINY
from tests.wording import Wording

#: How many rows are tried; where nothing is seen in the first, the mistake is rare on such rows.
FEW = {2: 64, 4: 64, 16: 64, 64: 64, 512: 16, 4096: 4, 100_000: 1}
MANY = {2: 4096, 4: 4096, 16: 16384, 64: 4096, 512: 128, 4096: 32, 100_000: 4}
SHORT = ("float16", "bfloat16")
LENGTHS = (1, 2, 3, 4, 8, 17, 33, 64, 257)


@cache
def asked(letter: str, columns: int, count: int, dtype: str = "float32") -> tuple[Array, Want]:
    x = rows.LETTERS[letter](np.random.default_rng([7, columns]), count, columns)
    return rows.rounded(x, dtype), want(rows.rounded(x, dtype))


def judged(name: str, letter: str, columns: int) -> Comparison:
    """The verdict on a few rows or, if they pass, on many."""
    for count in (FEW[columns], MANY[columns]):
        x, right = asked(letter, columns, count)
        with np.errstate(all="ignore"):
            found = compare(right, MUTANTS[name](x))
        if found.problem:
            break
    return found


@pytest.mark.sampled(3, evenly=True)
@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_seen_and_near_zero_as_more_than_a_warning(name: str) -> None:
    for columns, letters in SEEN[name].items():
        found = {letter: judged(name, letter, columns).problem for letter in letters}
        assert set(found.values()) <= {"values", "precision"}, (columns, found)
        if name not in TINY:
            assert {found[letter] for letter in set(letters) & set("EUNT")} <= {"values"}, columns


@pytest.mark.parametrize("columns", [512, 4096, 100_000])
def test_a_ripple_is_told_from_a_wrong_sum(columns: int, wording: Wording) -> None:
    found = judged("3e-06 alternating", "N", columns)
    assert found.problem == "values"
    assert found.remark == wording
    assert not judged("0.001 on all", "1", columns).remark


@pytest.mark.parametrize("name", [name for name in MUTANTS if "exp" in name and "lse" not in name])
def test_rows_of_equal_numbers_hide_what_is_wrong_with_exp(name: str) -> None:
    # It cancels: the answers are right.
    for columns in mutants.LENGTHS[:4]:
        x, right = asked("E", columns, 4)
        with np.errstate(all="ignore"):
            assert not told(compare(right, MUTANTS[name](x)))


def test_an_error_of_one_roundoff_in_the_sum_is_below_what_any_bound_can_ask() -> None:
    for letter in rows.LETTERS:
        for columns in mutants.LENGTHS[:4]:
            x, right = asked(letter, columns, 64)
            e = np.exp(algorithms.shifted(x))
            assert not told(compare(right, e / (ar.pairwise(e) + np.float32(1e-7))))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_exponential_good_to_20_bits_is_admitted_where_its_error_is_largest(dtype: str) -> None:
    answer = mutants.with_exp(mutants.rippling)
    rng = np.random.default_rng(2)
    for columns in (2, 3, 5, 9):
        # There the error turns from one sign to the other.
        crests = (rng.integers(0, 8, (4000, columns)) + 0.5) * np.pi / 37
        x = np.where(np.arange(columns) < columns // 2, 0.0, -crests)
        x = rows.rounded(x, dtype)
        got = answer(x.astype(np.float32)).astype(x.dtype)
        assert not told(compare(want(x), got)), columns


def _inside(x: Array) -> tuple[Array, Array]:
    e = np.exp(algorithms.shifted(x.astype(np.float32)))
    return e, ar.pairwise(e)


def truncating(x: Array) -> Array:
    e, s = _inside(x)
    return ar.truncated(e / s, x.dtype)


def keeping_exp(x: Array) -> Array:
    kept = ar.through(x.dtype)(_inside(x)[0])
    return (kept / ar.pairwise(kept)).astype(x.dtype)


def summing(x: Array) -> Array:
    e, _ = _inside(x)
    return (e / ar.sequential(e.astype(x.dtype)).astype(np.float32)).astype(x.dtype)


def off_by_a_thousandth(x: Array) -> Array:
    e, s = _inside(x)
    return (e / s * np.float32(1.001)).astype(x.dtype)


@pytest.mark.sampled(4, evenly=True)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("letter", "UN1")
@pytest.mark.parametrize(
    "mistake", [truncating, keeping_exp, summing, off_by_a_thousandth, algorithms.quotient]
)
def test_16_bit_mistakes_are_seen_on_random_rows(mistake, letter: str, dtype: str) -> None:
    for columns, count in {2: 64, 4: 64, 16: 64, 64: 16, 512: 4, 4096: 4}.items():
        x, right = asked(letter, columns, count, dtype)
        with np.errstate(all="ignore"):
            assert compare(right, mistake(x)).problem, columns


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_truncation_is_seen_on_every_other_element(dtype: str) -> None:
    x, right = asked("N", 64, 16, dtype)
    found = compare(right, truncating(x))
    assert 0.4 < found.wrong / found.total < 0.6
    assert not told(compare(right, honest.answer("pairwise sum", x)))


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


@pytest.mark.sampled(4, evenly=True)
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


@pytest.mark.sampled(4)
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
