"""Many numbers, rounded from double-doubles that are known up to a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opcheck.precise.answer import Bools, Floats, Ints
from opcheck.precise.double_double import DoubleDouble
from opcheck.precise.formats import Format

#: Exponents beyond these make 0, or overflow, of what they scale; they are cut there.
_FAR = 5000


@dataclass(frozen=True, eq=False)
class Rounded:
    """Numbers of a format as float64, their distances in ULP, and which of them are not sure."""

    values: Floats
    distance: Floats
    unsure: Bools


def rounded(
    y: DoubleDouble, scale: Ints, error: float, form: Format, exact: Bools | None = None
) -> Rounded:
    """The numbers of `form` nearest to y · 2^scale, for y >= 0 known up to `error` · y.

    y is 0 or in [2^-400, 2^400]. With u the ULP of y · 2^scale, an integer multiple of it or
    less, t = hi · 2^scale / u is at most 2^precision and n = rint(t) exact. So is f = t − n, which
    lies on t's own grid within [-1/2, 1/2]; and so |f| − 1/2. lo moves t by at most half a step of
    that grid. So it takes it past n ± 1/2 only if |f| = 1/2, or to it if f = 0. Hence
    |f| − 1/2 ± lo · 2^scale / u, rounded once, is the distance from the nearest midpoint, positive
    if that was passed. What lies nearer than `error` · t, with as much again for that rounding, is
    not sure; except where y is `exact`: at a distance of 0 that is a tie, else there is no doubt.
    """
    high, low = y
    digits, top = np.frexp(high)
    # The binade below, where hi is a power of two and lo takes from it.
    top = top.astype(np.int64) - ((digits == 0.5) & (low < 0)) + scale
    unit = np.where(high > 0, np.maximum(top - form.precision, form.least), form.least)
    shift = np.clip(scale - unit, -_FAR, _FAR)
    t, rest = np.ldexp(high, shift), np.ldexp(low, shift)
    n = np.rint(t)
    f = t - n
    side = np.sign(np.where(f == 0, rest, f))
    past = np.abs(f) - 0.5 + side * rest
    # At a tie rint has chosen the even of n ± 1/2, unless hi was rounded there already.
    moves = (past > 0) | ((past == 0) & (f == 0) & (np.fmod(n, 2.0) != 0))
    distance = np.abs(past)
    unsure = distance <= 2 * error * t
    if exact is not None:
        unsure &= ~exact
    values = np.ldexp(n + np.where(moves, side, 0.0), np.clip(unit, -_FAR, _FAR))
    return Rounded(values, distance, unsure)
