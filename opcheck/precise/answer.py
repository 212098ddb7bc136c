"""What the oracle answers, and what it raises where there is no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.errors import Exit, NodeError, OpcheckError
from opcheck.model import Array

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

#: Distances are rounded to multiples of this, in ULP.
DISTANCE_STEP = 2.0**-32


class Undecided(NodeError):
    """The specification leaves open what comes out; the message says which sentence or case."""


class UnsoundArithmetic(OpcheckError):
    """The arithmetic of this process is not that of IEEE 754."""

    exit_code = Exit.UNUSABLE


@dataclass(frozen=True, eq=False)
class Precise:
    """One output, correctly rounded: once, to nearest, ties to even, beyond the largest to inf.

    `values` are in the output's dtype, C-contiguous and of native byte order; NaN is positive and
    quiet.

    `distance` (float64, of the same shape) tells for each element how far its exact value lies
    from the midpoint of the two numbers of the output's dtype that enclose it, in units of the
    distance of these two (ULP), as if exponents had no upper end: 0 for a tie, 0.5 for a number of
    the dtype, within `DISTANCE_STEP` of the truth. A second computation with an error of ε < 1/4
    ULP rounds otherwise only where `distance` ≤ ε + DISTANCE_STEP. Infinite where no real number
    was rounded: Hardmax, NaN, and an infinity that was asked for.

    `method` is how it was computed: "exact" (nothing was rounded), "mpmath", or "double-double",
    which leaves elements next to a midpoint to mpmath.
    """

    values: Array
    distance: Floats
    method: str


def exact(values: Array) -> Precise:
    """`values` as an answer of which nothing had to be rounded."""
    return Precise(values, np.full(values.shape, np.inf), "exact")


def quantized(distance: Floats) -> Floats:
    """`distance` as a multiple of DISTANCE_STEP: last bits of working precision are not told."""
    return np.asarray(np.rint(distance / DISTANCE_STEP) * DISTANCE_STEP)


def reshaped(answer: Precise, change: Callable[[Array], Array]) -> Precise:
    """`answer` with `change` made to where its elements stand."""
    values, distance = (np.ascontiguousarray(change(a)) for a in (answer.values, answer.distance))
    return Precise(values, distance, answer.method)
