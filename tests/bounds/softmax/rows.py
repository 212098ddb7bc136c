"""Rows on which implementations of Softmax are tried: random ones and the most awkward ones."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from opcheck.dtypes import DTYPES, limits, round_to
from tests.bounds.arithmetic import Array

Rng: TypeAlias = np.random.Generator
#: A generator, the number of rows and their length give rows in float64, to be rounded.
Fill: TypeAlias = Callable[[Rng, int, int], Array]

FLOATS = ("float32", "float64", "float16", "bfloat16")


def _dominated(rng: Rng, rows: int, columns: int) -> Array:
    x = rng.standard_normal((rows, columns))
    x[np.arange(rows), rng.integers(0, columns, rows)] += 20
    return x


def _one_above(rest: float, rng: Rng, rows: int, columns: int) -> Array:
    """0 in one random place, `rest` in all others."""
    x = np.full((rows, columns), rest)
    x[np.arange(rows), rng.integers(0, columns, rows)] = 0
    return x


#: The distributions that show mistakes, by the letters of the table of what is seen.
LETTERS: dict[str, Fill] = {
    "E": lambda rng, rows, columns: np.full((rows, columns), 0.5),
    "U": lambda rng, rows, columns: rng.uniform(-1, 1, (rows, columns)),
    "N": lambda rng, rows, columns: rng.standard_normal((rows, columns)),
    "1": lambda rng, rows, columns: 10 * rng.standard_normal((rows, columns)),
    "X": lambda rng, rows, columns: 100 * rng.standard_normal((rows, columns)),
    "D": _dominated,
    "S": lambda rng, rows, columns: 1000 + rng.standard_normal((rows, columns)),
    "T": partial(_one_above, float(np.log(0.1))),
}


def _ascending(step: float) -> Fill:
    return lambda rng, rows, columns: np.tile(step * np.arange(1.0 - columns, 1), (rows, 1))


def _first_then(fill: Fill, rng: Rng, rows: int, columns: int) -> Array:
    """The maximum comes first, so that no running maximum ever changes again."""
    x = fill(rng, rows, columns)
    x[:, 0] = x.max(axis=1) + 1e-3
    return x


def _last_then(fill: Fill) -> Fill:
    return lambda rng, rows, columns: _first_then(fill, rng, rows, columns)[:, ::-1]


def _after_zero(rest: float, rng: Rng, rows: int, columns: int) -> Array:
    x = np.full((rows, columns), rest)
    x[:, 0] = 0
    return x


def _before_zero(rest: float) -> Fill:
    return lambda rng, rows, columns: _after_zero(rest, rng, rows, columns)[:, ::-1]


def _saw(teeth: int, step: float, rng: Rng, rows: int, columns: int) -> Array:
    """Ascents side by side: each lane of an online softmax meets new maxima all the time."""
    tooth = -(-columns // teeth)
    return np.tile(step * (np.arange(columns) % tooth - tooth), (rows, 1))


def _down_to(depth: float) -> Fill:
    return lambda rng, rows, columns: -rng.uniform(0, depth, (rows, columns))


def _offset(shift: float) -> Fill:
    return lambda rng, rows, columns: shift + rng.standard_normal((rows, columns))


def _masked(value: float, rng: Rng, rows: int, columns: int) -> Array:
    """Half of the row hidden behind `value`, but never all of it."""
    x = rng.standard_normal((rows, columns))
    x[:, 1:][rng.random((rows, columns - 1)) < 0.5] = value
    return x


def _steps(size: float) -> Fill:
    """Few different values, so many ties."""
    return lambda rng, rows, columns: size * rng.integers(-3, 4, (rows, columns))


def _ends(low: float, high: float, rng: Rng, rows: int, columns: int) -> Array:
    """0 in front of elements that lie between `low` and `high` below it."""
    x = -rng.uniform(low, high, (rows, columns))
    x[:, 0] = 0
    return x


#: What makes an arithmetic err as much as it can, or a bound judge what it should leave alone.
AWKWARD: dict[str, Fill] = {
    "zeros": lambda rng, rows, columns: np.zeros((rows, columns)),
    "ascending slowly": _ascending(1e-6),
    "ascending": _ascending(0.003),
    "ascending steeply": _ascending(0.25),
    "descending": lambda rng, rows, columns: -_ascending(0.003)(rng, rows, columns),
    "the maximum, then ascending": partial(_first_then, _ascending(0.003)),
    "the maximum, then ascending slowly": partial(_first_then, _ascending(1e-4)),
    "descending, then the maximum": _last_then(_ascending(0.003)),
    "two ascents": partial(_saw, 2, 0.004),
    "four ascents": partial(_saw, 4, 0.01),
    "the maximum, then two ascents": partial(_first_then, partial(_saw, 2, 0.004)),
    # exp of these is just below 2^-24 or 2^-53: added one by one to 1 they vanish.
    "stagnation": partial(_after_zero, -16.65),
    "stagnation at the end": _before_zero(-16.65),
    "stagnation in float64": partial(_after_zero, -36.75),
    "tail": partial(_after_zero, float(np.log(0.1))),
    "light tail": partial(_after_zero, -7.7),
    "light head": _before_zero(-7.7),
    "wide": _down_to(30),
    "to the end of float32": _down_to(110),
    "at the end of float32": partial(_ends, 86.5, 104.5),
    "to the end of float64": _down_to(760),
    "at the end of float64": partial(_ends, 707.5, 746.0),
    "at the end of float16": partial(_ends, 9.0, 18.0),
    "a thousand": _offset(1e3),
    "minus a thousand": _offset(-1e3),
    "ten thousand": _offset(1e4),
    "beyond all differences": _offset(1e30),
    "far apart": lambda rng, rows, columns: 3e38 * rng.uniform(-1, 1, (rows, columns)),
    "ties": _steps(1.0),
    "near ties": _steps(1e-7),
    "masked": partial(_masked, -np.inf),
    "masked by a number": partial(_masked, -1e9),
    "masked by float16's lowest": partial(_masked, -65504.0),
    "heavy tails": lambda rng, rows, columns: rng.standard_cauchy((rows, columns)),
}


#: Those in which sums go wrong the more, the longer the row is; the worst of them first.
LONG = (
    "stagnation",
    "wide",
    "tail",
    "stagnation in float64",
    "light tail",
    "light head",
    "zeros",
    "ascending slowly",
    "the maximum, then ascending slowly",
)


@cache
def batch(dtype: str, columns: int) -> Array:
    """One row of every kind: shape (n, columns)."""
    return filled([*LETTERS.values(), *AWKWARD.values()], dtype, columns, 1)


def long(dtype: str, columns: int, kinds: int = len(LONG)) -> Array:
    """One row of each of the first of the kinds that long rows are for."""
    return filled([AWKWARD[name] for name in LONG[:kinds]], dtype, columns, 1)


def filled(fills: Iterable[Fill], dtype: str, columns: int, each: int) -> Array:
    """`each` rows of each kind: shape (n, columns)."""
    rng = np.random.default_rng([1, columns])
    return rounded(np.concatenate([fill(rng, each, columns) for fill in fills]), dtype)


def rounded(values: Array, dtype: str) -> Array:
    """`values` in `dtype`; what is finite stays so."""
    lowest, highest = limits(DTYPES[dtype])
    finite = np.clip(values, lowest, highest)
    return round_to(np.where(np.isinf(values), values, finite), DTYPES[dtype])
