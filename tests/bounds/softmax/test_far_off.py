"""Answers that are far off fail, whatever the arithmetic, how long the row and how far from 0.

A warning is left to those that some arithmetic gives: the raw log-sum-exp far from 0, where
max + ln s rounds to max, and 16 bits on rows so long that their sum may stagnate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.model import Comparison
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import mistakes, rows
from tests.bounds.softmax.algorithms import shifted
from tests.bounds.softmax.judging import want

Wrong: TypeAlias = Callable[[Array, Array], Array]

LENGTHS = (8, 64, 300, 1024, 4096)
KINDS = {
    "equal": rows.LETTERS["E"],
    "random": rows.LETTERS["N"],
    "ascending": rows.AWKWARD["ascending"],
}
#: How far from 0, by dtype; from the last ones on, u·|max| is more than ln s.
NEAR = {"float16": (), "bfloat16": (1e4,), "float32": (-1e3, 1e7), "float64": (1e7,)}
FAR = {"float16": (), "bfloat16": (1e30,), "float32": (1e30, 1e38), "float64": (-1e30,)}
DECLARED = [(dtype, ()) for dtype in rows.FLOATS] + [
    (dtype, ("stored", dtype)) for dtype in ("float16", "bfloat16")
]


def _in_one_place(value: float) -> Wrong:
    return lambda x, y: np.where(np.arange(y.shape[-1]) == y.shape[-1] // 2, value, y)


def unnormalised(x: Array, y: Array) -> Array:
    return np.exp(shifted(x.astype(np.float64)))


def times(factor: float) -> Wrong:
    return lambda x, y: factor * y


NEVER: dict[str, Wrong] = {
    "zeros": lambda x, y: np.zeros_like(y),
    "one NaN": _in_one_place(np.nan),
    "one -1": _in_one_place(-1.0),
    "one infinity": _in_one_place(np.inf),
}


@cache
def asked(dtype: str, kind: str, offset: float, columns: int) -> tuple[Array, Want]:
    x = rows.rounded(offset + KINDS[kind](np.random.default_rng(columns), 1, columns), dtype)
    return x, want(x)


def everywhere(dtype: str, *, far: bool = False) -> Iterator[tuple[str, float, int]]:
    """Kinds, offsets and lengths of rows."""
    offsets = FAR[dtype] if far else NEAR[dtype]
    for columns in LENGTHS:
        yield from (("random", offset, columns) for offset in offsets)
        if not far:
            yield from ((kind, 0.0, columns) for kind in KINDS)


def judged(
    wrong: Wrong, dtype: str, row: tuple[str, float, int], declared: tuple[str, ...] = ()
) -> Comparison:
    x, right = asked(dtype, *row)
    with np.errstate(over="ignore"):
        got = wrong(x, right.values).astype(x.dtype)
    return compare(right, got, declared=declared)


@pytest.mark.parametrize(("dtype", "declared"), DECLARED)
@pytest.mark.parametrize("name", NEVER)
def test_no_arithmetic_gives_these(name: str, dtype: str, declared: tuple[str, ...]) -> None:
    for row in (*everywhere(dtype), *everywhere(dtype, far=True)):
        assert judged(NEVER[name], dtype, row, declared).problem == "values", row


@pytest.mark.parametrize(("dtype", "declared"), DECLARED)
def test_nor_a_row_that_was_not_divided_by_its_sum(dtype: str, declared: tuple[str, ...]) -> None:
    for row in everywhere(dtype):
        assert judged(unnormalised, dtype, row, declared).problem == "values", row


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_nor_one_that_is_wrong_by_a_factor_of_2(factor: float, dtype: str) -> None:
    for row in everywhere(dtype):
        assert judged(times(factor), dtype, row).problem == "values", row


# ── what the raw log-sum-exp gives ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_far_from_0_the_raw_log_sum_exp_does_not_divide_and_is_named(dtype: str) -> None:
    inside = np.float64 if dtype == "float64" else np.float32
    for row in everywhere(dtype, far=True):
        x, right = asked(dtype, *row)
        got = mistakes.raw_log_sum_exp(x.astype(inside))
        assert (got == 1).all()
        found = compare(right, got.astype(x.dtype))
        assert (found.problem, found.tier) == ("precision", "log-sum-exp"), row


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_it_loses_no_more_than_the_logarithm_of_the_sum(factor: float) -> None:
    # With one maximum ln s is 0, with three it is more than ln 2; it is lost, and nothing gained.
    for equal in (1, 3):
        x = np.full((1, 8), -1e30, np.float32)
        x[0, :equal] = 1e30
        right = want(x)
        problem = "precision" if equal == 3 and factor == 2 else "values"
        assert compare(right, (factor * right.values).astype(x.dtype)).problem == problem


def test_where_it_rounds_up_it_loses_almost_everything_but_not_all() -> None:
    # 2^-24 of 1e8 is 6: e^-6 of 1/4096 is left, less than what bfloat16 has in its last place.
    x = rows.rounded(np.full((1, 4096), 1e8), "bfloat16")
    assert compare(want(x), np.zeros_like(x)).problem == "values"


def test_nor_more_than_the_rounding_of_the_maximum() -> None:
    # 2^-24 of 1e7 is 0.6: e^0.6 is 1.8.
    x = rows.rounded(1e7 + rows.LETTERS["E"](np.random.default_rng(1), 1, 64), "float32")
    right = want(x)
    for factor, problem in ((1.7, "precision"), (1.9, "values"), (0.6, "precision")):
        assert compare(right, (factor * right.values).astype(x.dtype)).problem == problem


# ── what 16 bits give ─────────────────────────────────────────────────────────────────────────

#: On how long a row of equal numbers half and twice of the right answer are still told from it.
#: With N ones A is N - 1 as long as 1/N > u. Half: the sum may be too large by e^C at most, and
#: (N - 1 + 3·ln N + 6)·u has to stay below ln 2. Twice: too small by 1 + u·(N - 1) at most,
#: and by e^(3u·ln N + 6u) for the rest. The latter is near what a running sum does: it stagnates
#: at 1/u, and is half of what it should be at N = 2/u.
TOLD_APART = {"bfloat16": (150, 205), "float16": (1380, 1960)}
NOT_APART = {"bfloat16": (165, 225), "float16": (1410, 2020)}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("dtype", TOLD_APART)
def test_a_factor_of_2_is_seen_on_rows_that_16_bits_are_enough_for(
    dtype: str, declared: bool
) -> None:
    names = (dtype,) if declared else ()
    for factor, longest, too_long in zip(
        (0.5, 2.0), TOLD_APART[dtype], NOT_APART[dtype], strict=True
    ):
        for columns in {8, 64, longest // 2, longest // 2 + 9, longest}:
            row = ("equal", 0.0, columns)
            assert judged(times(factor), dtype, row, names).problem == "values", columns
        assert judged(times(factor), dtype, ("equal", 0.0, too_long), names).problem != "values"


@pytest.mark.parametrize(("dtype", "gaps"), [("bfloat16", (84, 88, 200)), ("float16", (690, 740))])
def test_an_element_far_below_the_maximum_is_not_anything(
    dtype: str, gaps: tuple[int, ...]
) -> None:
    # 3·gap·u is 1 at 86 or 683. That is a factor of e, and nothing near 1.
    for gap in gaps:
        x = rows.rounded(np.array([[0.0, -gap]]), dtype)
        got = np.ones_like(x)
        assert compare(want(x), got, declared=[dtype]).problem == "values", gap
