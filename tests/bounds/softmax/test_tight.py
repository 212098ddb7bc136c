"""The bound sees the mistakes that it is there to see.

A mistake is seen where the output does not pass: its values are wrong, or they would be right for
a poorer arithmetic only. The latter happens to small mistakes on rows far from zero, as what the
raw log-sum-exp loses there is a warning.
"""

from functools import cache

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.model import Comparison
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import algorithms, honest, mutants, rows
from tests.bounds.softmax.judging import told, want
from tests.bounds.softmax.mutants import LENGTHS, MUTANTS, SEEN, TINY

#: How many rows are tried; where nothing is seen in the first, the mistake is rare on such rows.
FEW = {2: 64, 4: 64, 16: 64, 64: 64, 512: 16, 4096: 4, 100_000: 1}
MANY = {2: 4096, 4: 4096, 16: 16384, 64: 4096, 512: 128, 4096: 32, 100_000: 4}


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


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_seen_and_near_zero_as_more_than_a_warning(name: str) -> None:
    for columns, letters in SEEN[name].items():
        found = {letter: judged(name, letter, columns).problem for letter in letters}
        assert set(found.values()) <= {"values", "precision"}, (columns, found)
        if name not in TINY:
            assert {found[letter] for letter in set(letters) & set("EUNT")} <= {"values"}, columns


@pytest.mark.parametrize("columns", [512, 4096, 100_000])
def test_a_ripple_is_told_from_a_wrong_sum(columns: int) -> None:
    found = judged("3e-06 alternating", "N", columns)
    assert found.problem == "values"
    assert found.remark == "the elements of a row disagree about its sum"
    assert not judged("0.001 on all", "1", columns).remark


@pytest.mark.parametrize("name", [name for name in MUTANTS if "exp" in name and "lse" not in name])
def test_rows_of_equal_numbers_hide_what_is_wrong_with_exp(name: str) -> None:
    # It cancels: the answers are right.
    for columns in LENGTHS[:4]:
        x, right = asked("E", columns, 4)
        with np.errstate(all="ignore"):
            assert not told(compare(right, MUTANTS[name](x)))


def test_an_error_of_one_roundoff_in_the_sum_is_below_what_any_bound_can_ask() -> None:
    for letter in rows.LETTERS:
        for columns in LENGTHS[:4]:
            x, right = asked(letter, columns, 64)
            e = np.exp(algorithms.shifted(x))
            assert not told(compare(right, e / (ar.pairwise(e) + np.float32(1e-7))))


# ── what is below what any bound can ask ──────────────────────────────────────────────────────


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


# ── 16 bits ───────────────────────────────────────────────────────────────────────────────────


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
