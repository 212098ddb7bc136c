"""Softmax straight from its sentences, in loops over numbers of 80 digits."""

from __future__ import annotations

from typing import Any

import mpmath

from opcheck.dtypes import DType
from tests import brute

#: A context of its own, so that nobody else's precision is changed.
MP = mpmath.MPContext()
MP.dps = 80


def rows_of(version: int, shape: tuple[int, ...], axis: int) -> list[brute.Row]:
    """What is normalised together, as places in the flat tensor."""
    axis = axis + len(shape) if axis < 0 else axis
    return brute.along(shape, [axis]) if version == 13 else brute.coerced(shape, axis)


def softmax(x: Any, rows: list[brute.Row]) -> list[Any]:
    """exp of each element over the sum of its row, in the flat tensor's order; `x` is finite."""
    values = [MP.mpf(float(value)) for value in x.reshape(-1)]
    out = [MP.nan] * len(values)
    for row in rows:
        powers = {place: MP.exp(values[place]) for place in row}
        for place in row:
            out[place] = powers[place] / MP.fsum(powers.values())
    return out


def step(value: Any, dtype: DType) -> Any:
    """The distance of the numbers of `dtype` around `value`."""
    exponent = MP.frexp(value)[1] if value else dtype.min_exponent
    return MP.ldexp(1, max(exponent - dtype.precision, dtype.min_exponent))


def rounded(value: Any, dtype: DType) -> float:
    """`value` in `dtype`, to nearest, ties to even."""
    quantum = step(value, dtype)
    return float(MP.nint(value / quantum) * quantum)
