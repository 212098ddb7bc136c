"""p-norms of windows, correctly rounded but for a few in ten thousand.

NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

import math

import numpy as np

from opcheck.dtypes import DType, half_ulp
from opcheck.engine import wide
from opcheck.engine.bounds import Floats, Mask, Places
from opcheck.engine.wide import Wide
from opcheck.engine.windows import Windows
from opcheck.model import Array

#: Between these, sums of powers in float64 lose nothing to its range: what is below its smallest
#: normal number is too little to matter beside the lower end.
_TINY, _HUGE = 2.0**-900, 2.0**1000
#: Roots of more than this would multiply float64's errors too far.
_LEAST_P = 2.0**-6


def norms(x: Array, dtype: DType, p: float, windows: Windows) -> tuple[Floats, Floats | None]:
    """(Σ |x|^p)^(1/p) over every window of `x`, and, for float64 only, what is left of it.

    0 where all is zero or padding, NaN for a window that holds a NaN, else inf for one that holds
    an infinity. Anything finite in `x` gives its answer, however far |x|^p leaves the range.
    """
    if dtype.name != "float64":
        return _in_float64(x, dtype, p, windows), None
    values, rest = np.empty(windows.shape), np.empty(windows.shape)
    places = np.arange(values.size)
    for portion, elements, _ in windows.gathered(x, places):
        values.flat[places[portion]], rest.flat[places[portion]] = _in_wide(elements, p)
    return values, rest


def _in_float64(x: Array, dtype: DType, p: float, windows: Windows) -> Floats:
    magnitudes = np.abs(x.astype(np.float64))
    powers = magnitudes if p == 1 else _power(magnitudes, p)
    sums = windows.sums(powers)
    if p < _LEAST_P:
        again = np.ones(sums.shape, np.bool_)
    else:
        again = sums > _HUGE
        if ((powers < _TINY) & (magnitudes > 0)).any():
            again |= sums < _TINY
    values = sums if p == 1 else np.sqrt(sums) if p == 2 else np.asarray(sums ** (1 / p))
    places: Places = np.flatnonzero(again)
    for portion, elements, _ in windows.gathered(x, places):
        values.flat[places[portion]], _ = _in_wide(elements, p)
    if p == 1 and not _adds_up(magnitudes, dtype, windows.most):
        places = np.flatnonzero(_near_a_tie(values, dtype))
        for portion, elements, _ in windows.gathered(x, places):
            values.flat[places[portion]] = _beside_the_tie(*_sums(np.abs(elements)))
    return values


def _power(x: Floats, p: float) -> Floats:
    if p != int(p) or p > 8:
        return np.asarray(x**p)
    result = x
    for _ in range(int(p) - 1):
        result = result * x
    return result


def _in_wide(elements: Floats, p: float) -> tuple[Floats, Floats]:
    """The p-norms of rows, as a float64 and what is left, both of shape (n,)."""
    magnitudes = np.abs(elements)
    top = magnitudes.max(axis=1)
    usual = np.isfinite(top) & (top > 0)
    mantissa, exponent = np.frexp(np.where(usual, top, 1.0))
    scaled = np.ldexp(np.where(usual[:, None], magnitudes, 1.0), -exponent[:, None])
    # For usual p a power of two brings the row near 1, exactly. But the 1000th power of 0.5 is
    # gone, and the 0.001st root of a sum near 1 blows up its error.
    by_maximum = not 1 <= p <= 64
    ratios = wide.widen(scaled)
    if by_maximum:
        ratios = ratios / mantissa[:, None]
    root = _root(_wide_power(ratios, p).total()[:, 0], p)
    if by_maximum:
        root = root * mantissa
    values, rest = root.split(exponent)
    if p == 1:
        values, rest = _decided(values, rest, magnitudes)
    values = np.where(usual, values, top)
    return values, np.where(usual & np.isfinite(values), rest, 0.0)


def _wide_power(w: Wide, p: float) -> Wide:
    if p == 1:
        return w
    return w * w if p == 2 else w.power(p)


def _root(w: Wide, p: float) -> Wide:
    """w^(1/p); by square roots as far as they go, because 1/p is hardly ever exact."""
    while p > 1 and p % 2 == 0:
        w, p = w.sqrt(), p / 2
    return w if p == 1 else (w.log() / p).exp()


# A sum of numbers far apart in size may be a tie of the output's dtype but for the last of them,
# which no wide number remembers. Roots of sums are hardly ever so near to a tie.


def _adds_up(magnitudes: Floats, dtype: DType, count: int) -> bool:
    """Whether float64 holds every sum of `count` of these values of `dtype` exactly."""
    some = magnitudes[(magnitudes > 0) & np.isfinite(magnitudes)]
    _, ends = np.frexp([some.min(initial=np.inf), some.max(initial=0.0)])
    return bool(ends[1] - ends[0] + dtype.precision + count.bit_length() <= 53)


def _near_a_tie(values: Floats, dtype: DType) -> Mask:
    """Where `values` lie about half way between two neighbours of `dtype`."""
    steps = values / (2 * half_ulp(values, dtype))
    return np.asarray(np.abs(steps - np.floor(steps) - 0.5) < 2.0**-20)


def _decided(values: Floats, rest: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """The sums of rows, given as float64 and what is left, and exactly where that is a tie."""
    step = values - np.nextafter(values, 0.0)  # the smaller one, beside a power of two
    hard = np.abs(rest) > 0.49 * step
    rows = rows[hard]
    # Scaled, lest a sum overflows on its way.
    _, exponent = np.frexp(rows.max(axis=1))
    down = np.maximum(exponent - 900, 0)
    sums, left = _sums(np.ldexp(rows, -down[:, None]))
    values[hard], rest[hard] = np.ldexp(sums, down), np.ldexp(left, down)
    return values, rest


def _sums(rows: Floats) -> tuple[Floats, Floats]:
    """The sums of finite rows as the nearest float64 and what is left, rounded, of any size."""
    values = [math.fsum(row) for row in rows.tolist()]
    rest = [math.fsum([*row, -value]) for row, value in zip(rows.tolist(), values, strict=True)]
    return np.array(values), np.array(rest)


def _beside_the_tie(values: Floats, rest: Floats) -> Floats:
    """`values` or, where something is left, a neighbour on that side."""
    return np.where(rest == 0, values, np.nextafter(values, np.copysign(np.inf, rest)))
