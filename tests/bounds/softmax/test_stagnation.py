"""A sum of 16 bits that stagnates is right where it is declared."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array
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
    assert (found.problem, found.tier) == ("precision", f"{dtype} arithmetic")
