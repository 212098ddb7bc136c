"""Numbers drawn at random, judged by their distribution.

By the quantiles of its distribution, each element falls into one of 256 bins that are as likely;
docs/verdicts.md has what is asked of these. Where few values can be drawn, as 0 and 1, one value
fills several bins, and the element is put into any of them. Of n elements a part of more or less
than p then lies in the first bins with a probability of at most exp(−n·D), where D is the relative
entropy of the part and p (Chernoff's inequality).
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from opcheck.compare.elements import Mask, stepped
from opcheck.dtypes import DType
from opcheck.engine import Drawn
from opcheck.model import Array

#: The probability that a right answer is accused by one group of elements, or of pairs.
ERROR_RATE = 1e-10
_BINS = 256
_LEVELS = np.arange(1, _BINS) / _BINS
#: Where a value fills several bins, this decides: the same in each run, and as nobody else draws.
_KEY = 0x6F70_6368_6563_6B
#: ULP by which an element may lie beyond all that can be drawn.
_BEYOND = 4


class Judged(NamedTuple):
    """The ends of the range, the elements outside, and how unlikely all together are.

    `used` is above 1 where that is no chance, and `text` says what is odd.
    """

    low: Array
    high: Array
    impossible: Mask
    used: float = 0.0
    text: str = ""


def judged(draw: Drawn, got: Array, dtype: DType) -> Judged:
    """Judge an output of the dtype and shape that `draw` has."""
    ends = draw.quantiles(0.0), draw.quantiles(math.nextafter(1.0, 0.0))
    low, high = np.minimum(*ends), np.maximum(*ends)
    least, most = low, high
    size: Callable[[Array], Array] = np.asarray
    if dtype.kind == "float":
        least, most = stepped(low, -_BEYOND), stepped(high, _BEYOND)
    impossible = ~((least <= got) & (got <= most))
    if draw.related and dtype.kind == "float":
        # What is computed of two numbers is rounded; 0 is 0.
        for end in (low, high):
            near = (stepped(end, -_BEYOND) <= got) & (got <= stepped(end, _BEYOND))
            got = np.where(near & (end != 0), end, got)
        # Of elements of either sign, all that are dropped are in the first bins.
        low, high, got, size = *np.sort(np.abs([low, high]), axis=0), np.abs(got), np.abs
    if (low == high).all():
        return Judged(least, most, impossible)
    before, last = np.zeros(got.shape, np.int64), np.zeros(got.shape, np.int64)
    of_two = np.ones(got.shape, np.bool_)
    profile = np.zeros(got.shape)
    for level in _LEVELS:
        quantile = size(draw.quantiles(level))
        before += quantile < got
        last += quantile <= got
        of_two &= (quantile == low) | (quantile == high)
        # Not the same of two distributions, but by a rare chance.
        profile += quantile * math.sqrt(level)
    impossible |= of_two & (got != low) & (got != high)
    within = np.random.Generator(np.random.Philox(key=_KEY)).random(got.shape)
    bins = (before + within * (last - before + 1)).astype(np.int64).reshape(-1)
    unsure = (last > before).reshape(-1)
    found = [_uneven(bins, unsure, "all")]
    profiles, sizes = np.unique(profile, return_counts=True)
    # Of the 64 distributions that most elements have.
    for one in profiles[np.argsort(-sizes)[:64]] if profiles.size > 1 else ():
        mine = profile.reshape(-1) == one
        found.append(_uneven(bins[mine], unsure[mine], "those of one distribution"))
    found += _pairs(bins >= _BINS // 2, got.shape)
    return Judged(least, most, impossible, *max(found))


def _uneven(bins: Array, unsure: Mask, whose: str) -> tuple[float, str]:
    """The part of elements in the first bins that is the farthest from what it should be."""
    parts = np.cumsum(np.bincount(bins, minlength=_BINS))[:-1] / bins.size
    # Those that were put into one of several bins may be off by one.
    room = float(unsure.mean()) / _BINS
    used = _used(parts, np.clip(parts, _LEVELS - room, _LEVELS + room), bins.size, _LEVELS.size)
    worst = int(used.argmax())
    text = f"of {whose}, {parts[worst]:.1%} lie below where {_LEVELS[worst]:.1%} should"
    return float(used[worst]), text


def _pairs(upper: Mask, shape: tuple[int, ...]) -> Iterator[tuple[float, str]]:
    """Count the pairs on one side of the middle; each is as likely to be there as not."""
    for lag in {1, shape[-1] if shape else 1, upper.size // 2}:
        if 0 < lag < upper.size:
            alike = np.mean(upper[lag:] == upper[:-lag], keepdims=True)
            text = f"of those {lag} apart, {alike[0]:.1%} lie on one side of the middle, not half"
            yield float(_used(alike, np.full(1, 0.5), upper.size - lag)[0]), text


def _used(parts: Array, likely: Array, count: int, questions: int = 1) -> Array:
    """The deviations of parts from `likely` ones, as shares of those allowed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = parts * np.log(parts / likely), (1 - parts) * np.log((1 - parts) / (1 - likely))
    entropy = np.nan_to_num(terms[0]) + np.nan_to_num(terms[1])
    found: Array = np.sqrt(count * entropy.clip(0) / math.log(2 * questions / ERROR_RATE))
    return found
