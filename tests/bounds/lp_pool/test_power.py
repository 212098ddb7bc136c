"""Tight: mistakes of a known size are seen, and where a better bound could not see them, too."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from tests.bounds.arithmetic import BFLOAT16
from tests.bounds.lp_pool.judging import FLOAT16, FLOAT32, FLOAT64, Question, ask
from tests.bounds.lp_pool.mutants import MUTANTS, cut_off, relative, sum_in
from tests.bounds.lp_pool.windows import windows

UNIT = ("N(0,1)", "U(0,1)", "tenths")
LARGE, SMALL, TINY = "1e3", "1e-3", "1e-6"
EVERYWHERE = (*UNIT, LARGE, SMALL, TINY, "decades", "dominated")
#: K, and how many windows of each distribution.
SIZES = {1: 256, 4: 256, 9: 256, 49: 64, 1000: 24}
POWERS = (1, 2, 2.5, 3, 5)
WITH_A_ROOT = POWERS[1:]
#: Those of which 1/p is no power of two.
PARTS = POWERS[2:]


@dataclass(frozen=True)
class Seen:
    """A mistake is seen in windows of these distributions, up to this K, for these p."""

    mistake: str
    distributions: tuple[str, ...] = EVERYWHERE
    to: int = 1000
    powers: tuple[float, ...] = POWERS
    since: int = 1

    def __str__(self) -> str:
        return f"{self.mistake}, {' '.join(self.distributions)} to {self.to}"


TABLE = [
    Seen("relative 1e-3"),
    Seen("relative 1e-4"),
    Seen("relative 1e-5", (*UNIT, SMALL, "decades", "dominated"), to=49),
    Seen("relative 1e-5", (LARGE,), to=9),
    Seen("relative 1.25e-5", (TINY,), to=9),
    Seen("relative 3e-6", (*UNIT, "dominated"), to=9),
    Seen("relative 1.5e-6", ("dominated",), to=9, powers=PARTS),
    Seen("sum + 1e-5", UNIT, to=9),
    Seen("sum + 1e-5", (SMALL,), to=49),
    Seen("sum + 1e-5", (SMALL,), powers=WITH_A_ROOT),
    Seen("sum + 1e-5", (TINY,)),
    Seen("sum + 1e-6", UNIT, to=1),
    Seen("sum + 1e-6", UNIT, to=4, powers=(3, 5)),
    Seen("sum + 1e-6", (SMALL,), to=49),
    Seen("sum + 1e-6", (SMALL,), powers=WITH_A_ROOT),
    Seen("sum + 1e-6", (TINY,)),
    Seen("sum + 1e-12", (SMALL,), powers=(5,)),
    Seen("sum + 1e-12", (SMALL,), to=9, powers=(3, 5)),
    Seen("sum + 1e-12", (TINY,), powers=WITH_A_ROOT),
    # Windows of nothing but zeros.
    Seen("sum + 1e-12", ("sparse",), to=4),
    Seen("sum in float16"),
    Seen("sum in bfloat16"),
    Seen("inputs in bfloat16"),
    Seen("inputs in tf32", to=49),
    Seen("inputs cut to tf32"),
    Seen("1/p in float16", powers=PARTS),
    Seen("1/p to 6 decimals", (LARGE, TINY, "decades"), to=9, powers=(3,)),
    Seen("1/p to 6 decimals", (SMALL,), to=4, powers=(3,)),
    Seen("root good to 12 bits", powers=WITH_A_ROOT),
    Seen("root good to 16 bits", to=49, powers=WITH_A_ROOT),
    Seen("powers good to 12 bits", powers=WITH_A_ROOT, to=49),
    Seen("powers good to 16 bits", UNIT, powers=WITH_A_ROOT, to=9),
    Seen("p truncated", tuple(d for d in EVERYWHERE if d != "dominated"), powers=(2.5,), since=4),
]


@cache
def question(name: str, size: int, p: float, dtype: np.dtype = FLOAT32) -> Question:
    return ask(windows(name, (SIZES[size], size), p, dtype), p)


@pytest.mark.sampled(5, evenly=True)
@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_mistake_is_seen(row: Seen) -> None:
    sizes = [size for size in SIZES if row.since <= size <= row.to]
    missed = [
        (name, size, p)
        for name in row.distributions
        for size in sizes
        for p in row.powers
        for asked in [question(name, size, p)]
        if asked.judge(MUTANTS[row.mistake](asked.x, p)).problem != "values"
    ]
    assert not missed


@pytest.mark.parametrize("name", UNIT)
def test_float64_is_judged_by_its_own_roundoff(name: str) -> None:
    for size in (1, 4, 9):
        for p in POWERS:
            asked = question(name, size, p, FLOAT64)
            assert asked.judge(relative(3e-6 * 2.0**-29)(asked.x, p)).problem == "values"
            in_float32 = relative(0)(asked.x.astype(np.float32), p).astype(np.float64)
            assert asked.judge(in_float32).problem == "values"


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("name", UNIT)
def test_sixteen_bits_are_rounded_and_neither_cut_off_nor_summed_in(name, dtype):
    for size in (4, 9, 49, 1000):
        for p in (1, 2, 3, 5):
            asked = question(name, size, p, dtype)
            assert asked.judge(relative(0)(asked.x, p)).problem is None
            assert asked.judge(cut_off(asked.x, p)).problem is not None
            assert p == 5 or asked.judge(sum_in(dtype, asked.x, p)).problem is not None


def test_a_window_of_zeros_is_exactly_zero() -> None:
    asked = ask(np.zeros((1, 4), np.float32), 2)
    assert asked.judge(np.array([0], np.float32)).problem is None
    assert asked.judge(np.array([1e-45], np.float32)).problem == "values"


@pytest.mark.parametrize("p", [1, 5])
def test_large_outputs_are_judged_like_small_ones(p: float) -> None:
    x = windows("U(0,1)", (100_000, 4), p, FLOAT32)
    # So small that some elements show it and others do not.
    off = relative(1e-6 if p == 5 else 2e-6)(x, p)
    pieces = [
        ask(x[at : at + 10_000], p).judge(off[at : at + 10_000]) for at in range(0, 10**5, 10**4)
    ]
    whole = ask(x, p).judge(off)
    assert whole.wrong == sum(piece.wrong for piece in pieces)
    assert 0 < whole.wrong < whole.total
    assert whole.used == max(piece.used for piece in pieces)
