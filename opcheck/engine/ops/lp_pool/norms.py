"""p-norms of windows, correctly rounded but for a few in ten thousand.

NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from opcheck.dtypes import DType, half_ulp
from opcheck.engine import wide
from opcheck.engine.blocks import slices
from opcheck.engine.bounds import Floats, Mask, Places
from opcheck.engine.ops.lp_pool.block_sums.parts import evenly, every, in_planes
from opcheck.engine.ops.lp_pool.block_sums.workspace import Workspace, kept_in_bounds
from opcheck.engine.ops.lp_pool.powers import values as values_of
from opcheck.engine.wide import Wide
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.model import Array

#: Between these, sums of powers in float64 lose nothing to its range: what is below its smallest
#: normal number is too little to matter beside the lower end.
_TINY, _HUGE = 2.0**-900, 2.0**1000
#: Roots of more than this would multiply float64's errors too far.
_LEAST_P = 2.0**-6
#: Below this, a ratio has fewer digits than float64 has, or none.
_SMALL = 2.0**-1022
#: Below this p, powers of such ratios still count beside 1.
_FAR_P = 0.1
#: Up to this p, sums of powers of narrower types than float64 are between those two, or 0.
_SAFE_P = 6
#: The elements of a block of planes, more or less; for so few as these nothing is laid down.
_BLOCK, _FEW = 1 << 17, 1 << 12


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
    values = (np.empty if x.size else np.zeros)(windows.shape)
    if x.size and values.size:
        x = in_planes(x)
        if x.ndim < values.ndim:
            x = x[:, None]
        n, c = x.shape[:2]
        y = values.reshape(n, c, *windows.shape[2:])
        planes = max(1, _BLOCK * n * c // x.size)
        with kept_in_bounds():
            for a in slices(n, evenly(n, max(1, planes // c))):
                for b in slices(c, evenly(c, planes)):
                    _planes_in_float64(x[a, b], y[a, b], dtype, p, windows.axes)
    return values


def _planes_in_float64(
    x: Array, y: Floats, dtype: DType, p: float, axes: tuple[AxisWindows, ...]
) -> None:
    """Put the norms of every window of the planes `x` into the contiguous `y`."""
    outer, space = x.shape[:2], Workspace.of_this_thread(y.dtype)
    windows, sums = Windows((outer[0], outer[1]), axes), None
    if x.size > _FEW:
        sums = space.sums((every(prod(outer)), *axes), ordered=True)
    numbers = values_of(x, space.buffers[1] if sums else np.empty(x.size))
    if p != 2:
        np.absolute(numbers, out=numbers)
    adds_up = p != 1 or _adds_up(numbers, dtype, windows.most)
    first_root = np.sqrt if p == 2 else np.absolute
    if sums:
        for index, place, how in sums.places:
            how(_raise, numbers.reshape(sums.layout)[:, index], p, place)
        sums.put(first_root, y)
    else:
        powers = np.empty(x.shape)
        _raise(numbers, p, powers)
        first_root(windows.sums(powers), out=y)
    again = None if _LEAST_P <= p <= _SAFE_P else _out_of_range(y, x, p)
    if p not in (1, 2):
        y **= 1 / p
    if again is not None:
        places: Places = np.flatnonzero(again)
        for portion, elements, _ in windows.gathered(x, places):
            y.flat[places[portion]], _ = _in_wide(elements, p)
    if not adds_up:
        places = np.flatnonzero(_near_a_tie(y, dtype))
        for portion, elements, _ in windows.gathered(x, places):
            y.flat[places[portion]] = _beside_the_tie(*_sums(np.abs(elements)))


def _out_of_range(sums: Floats, x: Array, p: float) -> Mask:
    """Where a sum of p-th powers of `x`, or one of the powers, may have left float64's range."""
    if p < _LEAST_P:
        return np.ones(sums.shape, np.bool_)
    again = np.asarray(sums > _HUGE)
    small = np.asarray(sums < _TINY)
    if small.any():
        magnitudes = np.abs(values_of(x, np.empty(x.size)))
        powers = np.empty_like(magnitudes)
        _raise(magnitudes, p, powers)
        if ((powers < _TINY) & (magnitudes > 0)).any():
            again |= small
    return again


def _raise(x: Floats, p: float, out: Floats) -> None:
    """Fill `out` with x^p."""
    if p != int(p) or p > 8:
        out[...] = x**p
    elif p == 1:
        np.copyto(out, x)
    else:
        np.multiply(x, x, out=out)
        for _ in range(int(p) - 2):
            np.multiply(out, x, out=out)


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
    if p < _FAR_P:
        gone = usual & ((scaled < _SMALL) & (magnitudes > 0)).any(axis=1)
        values[gone], rest[gone] = _far_apart(magnitudes[gone], p)
    # A pair of float64 becomes NaN where it is too large.
    values = np.where(usual, np.where(np.isnan(values), np.inf, values), top)
    return values, np.where(usual & np.isfinite(values), rest, 0.0)


def _far_apart(magnitudes: Floats, p: float) -> tuple[Floats, Floats]:
    """The same for rows with ratios that leave float64's range, but small powers of them do not."""
    top, upper = np.frexp(magnitudes.max(axis=1, initial=0.0))
    mantissas, exponents = np.frexp(magnitudes)
    # The power of a power of two is one times a number from 1 to 2; exactly, as p has 24 bits.
    exponent = p * (exponents - upper[:, None])
    whole = np.floor(exponent)
    between = (wide.widen(np.array(2.0)).log() * (exponent - whole)).exp()
    ratios = wide.widen(mantissas) / top[:, None]
    powers = _wide_power(ratios, p) * between * np.ldexp(1.0, whole.astype(np.intc))
    values, rest = (_root(powers.total()[:, 0], p) * top).split(upper)
    return values, rest


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
    bits = np.ascontiguousarray(magnitudes).view(np.uint64)
    # As integers these numbers compare alike, and 0 - 1 is the largest there is.
    least, most = (np.min(bits - np.uint64(1)) + np.uint64(1)).view(np.float64), magnitudes.max()
    if not np.isfinite(most):
        some = magnitudes[(magnitudes > 0) & np.isfinite(magnitudes)]
        least, most = some.min(initial=np.inf), some.max(initial=0.0)
    _, ends = np.frexp([least, most])
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
