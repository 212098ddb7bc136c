"""The error bound of a Softmax row as its documentation states it, in loops over plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opcheck.engine.bounds import Arithmetic


@dataclass(frozen=True)
class Errors:
    """E, C, and the logarithms of how far what a row has in common takes it down and up.

    With `wide`, to first order the larger of the two, it is said who is judged.
    """

    own: list[float]
    common: float
    down: float
    up: float
    wide: float


def errors(row: list[float], arithmetic: Arithmetic, *, shifts: bool = False) -> Errors:
    """The errors of a row of finite numbers; if it `shifts`, with those of the raw log-sum-exp."""
    u, f, n = arithmetic.u, arithmetic.library, len(row)
    top = max(row)
    gap = [top - x for x in row]
    terms = sorted(math.exp(-g) for g in gap)
    s = math.fsum(terms)
    y = [math.exp(-g) / s for g in gap]
    ln_s = math.log1p(math.fsum(terms[:-1]))

    own = []
    for g, share in zip(gap, y, strict=True):
        if share == 0:
            g = 0.0
        call = max(2 * f, f + ln_s) if g > 0 else f if ln_s > u else 0
        own.append(u * (3 * g + call + 4) + arithmetic.stored)

    seen = math.fsum(3 * y[j] * gap[j] + f * y[j] * (gap[j] > 0) for j in range(n))
    added = additions(y, u)
    ways = in_every_order(gap, y, added)
    adding = max(few + (f + 1) * mass for few, mass in ways)
    common = u * (seen + adding + 3 * ln_s) + arithmetic.stored

    up = -math.log1p(-common) if common < 1 else math.inf
    if common > 0.1:
        rescaling = (f + 1) * max(mass for _, mass in ways)
        rest = u * (seen + rescaling + 3 * ln_s) + arithmetic.stored
        left = math.exp(-rest / (1 - u * f - arithmetic.stored))
        up = min(up, -math.log(least(y, u, left)))
    rounding = u * abs(top) if shifts else 0.0
    risen = min(rounding, ln_s)
    # Where the rounding is so coarse, max + ln s is max.
    fallen = risen if rounding <= 2 * ln_s else 0.0
    return Errors(own, common, common + fallen, up + risen, common + risen)


def additions(y: list[float], u: float) -> float:
    """A."""
    n = len(y)
    rest = sorted(y)[:-1]
    terms = math.fsum(min(1.0, share / u) for share in rest)
    depth = math.ceil(math.log2(n)) + 8
    return min(n - 1, terms + depth * min(1.0, math.fsum(rest) / u))


def in_every_order(gap: list[float], y: list[float], most: float) -> list[tuple[float, float]]:
    """The additions, `most` at most, and the mass rescaled, for each number of lanes."""
    n = len(y)
    ways = [(most, max(rescaled([(gap, y)]), rescaled([(gap[::-1], y[::-1])])))]
    for lanes in (2**k for k in range(1, n.bit_length()) if 2**k <= n):
        each = math.ceil(n / lanes)
        fewer = min(each - 1 + lanes.bit_length() - 1, most)
        contiguous = [slice(i * each, (i + 1) * each) for i in range(lanes)]
        strided = [slice(i, n, lanes) for i in range(lanes)]
        for parts in (contiguous, strided):
            ways.append((fewer, rescaled([(gap[part], y[part]) for part in parts])))
    return ways


def rescaled(lanes: list[tuple[list[float], list[float]]]) -> float:
    """The mass that an online softmax multiplies at new maxima, in lanes and when they merge."""
    total, tops = 0.0, []
    for gap, y in lanes:
        mass, nearest = 0.0, math.inf
        for g, share in zip(gap, y, strict=True):
            total += mass if g < nearest else 0
            nearest, mass = min(nearest, g), mass + share
        tops.append((nearest, mass))
    while len(tops) > 1:
        pairs = list(zip(tops[::2], tops[1::2], strict=True))
        total += math.fsum(max(one, other)[1] for one, other in pairs if one[0] != other[0])
        tops = [(min(one[0], other[0]), one[1] + other[1]) for one, other in pairs]
    return total


def least(y: list[float], u: float, left: float) -> float:
    """M of M + Σ_{j≠top} min(u·M, y_j) = `left`: the smallest sum of terms that come to that.

    With the k largest of the others above u·M this is linear. There is one k that fits.
    """
    others = sorted(y, reverse=True)[1:]
    for k in range(len(others) + 1):
        m = (left - math.fsum(others[k:])) / (1 + k * u)
        if k == len(others) or others[k] <= u * m:
            return m
    raise AssertionError
