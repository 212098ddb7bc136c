"""Answers that are far off fail, whatever the arithmetic, how long the row and how far from 0.

A warning is left to those that some arithmetic gives: the raw log-sum-exp far from 0, where
max + ln s rounds to max, and 16 bits on rows so long that their sum may stagnate.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.model import Comparison
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import mutants, rows
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
#: The longest rows on which 16 bits leave a sum that is good to a factor of 2.
LONGEST = {"bfloat16": 8, "float16": 64}
DECLARED = [(dtype, ()) for dtype in rows.FLOATS] + [
    (dtype, (dtype,)) for dtype in ("float16", "bfloat16")
]


def _in_one_place(value: float) -> Wrong:
    return lambda x, y: np.where(np.arange(y.shape[-1]) == y.shape[-1] // 2, value, y)


def zeros(x: Array, y: Array) -> Array:
    return np.zeros_like(y)


def unnormalised(x: Array, y: Array) -> Array:
    return np.exp(shifted(x.astype(np.float64)))


def times(factor: float) -> Wrong:
    return lambda x, y: factor * y


NEVER: dict[str, Wrong] = {
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


def judged(wrong: Wrong, dtype: str, row: tuple[str, float, int], declared=()) -> Comparison:
    x, right = asked(dtype, *row)
    with np.errstate(over="ignore"):
        got = wrong(x, right.values).astype(x.dtype)
    return compare(right, got, declared=declared)


@pytest.mark.sampled(3, evenly=True)
@pytest.mark.parametrize(("dtype", "declared"), DECLARED)
@pytest.mark.parametrize("name", NEVER)
def test_no_arithmetic_gives_these(name: str, dtype: str, declared: tuple[str, ...]) -> None:
    for row in (*everywhere(dtype), *everywhere(dtype, far=True)):
        assert judged(NEVER[name], dtype, row, declared).problem == "values", row


@pytest.mark.parametrize("dtype", rows.FLOATS)
@pytest.mark.parametrize("wrong", [zeros, unnormalised, times(0.5), times(2.0)])
def test_nor_these_on_rows_that_the_arithmetic_is_enough_for(wrong: Wrong, dtype: str) -> None:
    for row in everywhere(dtype):
        if row[2] <= LONGEST.get(dtype, row[2]):
            for declared in ((), (dtype,)):
                assert judged(wrong, dtype, row, declared).problem == "values", row


@pytest.mark.parametrize(("dtype", "longest"), [("bfloat16", 1024), ("float16", 4096)])
def test_nothing_is_no_row_of_equal_numbers_however_poor_the_arithmetic(dtype, longest):
    for columns in (8, 300, longest):
        for declared in ((), (dtype,)):
            found = judged(zeros, dtype, ("equal", 0.0, columns), declared)
            assert found.problem == "values", columns


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_far_from_0_the_raw_log_sum_exp_does_not_divide_and_is_named(dtype: str) -> None:
    inside = np.float64 if dtype == "float64" else np.float32
    for row in everywhere(dtype, far=True):
        x, right = asked(dtype, *row)
        got = mutants.raw_log_sum_exp(x.astype(inside))
        assert (got == 1).all()
        found = compare(right, got.astype(x.dtype))
        assert (found.problem, found.remark) == ("precision", mutants.RAW), row


def test_it_loses_no_more_than_the_rounding_of_the_maximum() -> None:
    # 2^-24 of 1e7 is 0.6: e^0.6 is 1.8.
    x = rows.rounded(1e7 + rows.LETTERS["E"](np.random.default_rng(1), 1, 64), "float32")
    right = want(x)
    for factor, problem in (
        (1.7, "precision"),
        (1.9, "values"),
        (0.6, "precision"),
        (0.5, "values"),
    ):
        assert compare(right, (factor * right.values).astype(x.dtype)).problem == problem


def test_an_element_far_below_the_maximum_is_not_anything_in_16_bits() -> None:
    for dtype, gaps in (("bfloat16", (84, 88, 200)), ("float16", (690, 740))):
        for gap in gaps:
            x = rows.rounded(np.array([[0.0, -gap]]), dtype)
            assert compare(want(x), np.ones_like(x), declared=[dtype]).problem == "values", gap
