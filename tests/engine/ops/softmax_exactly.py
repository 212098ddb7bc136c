"""Softmax straight from its sentences, in loops over numbers of 80 digits."""

from typing import Any

import mpmath

from opcheck.dtypes import DType
from tests import brute

#: A context of its own, so that nobody else's precision is changed.
MP = mpmath.MPContext()
MP.dps = 80


def softmax(x: Any, rows: list[brute.Row]) -> list[Any]:
    """exp of each element over the sum of its row, in the flat tensor's order; `x` is finite."""
    values = [MP.mpf(float(value)) for value in x.reshape(-1)]
    out = [MP.nan] * len(values)
    for row in rows:
        powers = {place: MP.exp(values[place]) for place in row}
        for place in row:
            out[place] = powers[place] / MP.fsum(powers.values())
    return out


def rounded(value: Any, dtype: DType) -> float:
    """`value` in `dtype`, to nearest, ties to even."""
    exponent = MP.frexp(value)[1] if value else dtype.min_exponent
    step = MP.ldexp(1, max(exponent - dtype.precision, dtype.min_exponent))
    return float(MP.nint(value / step) * step)
