"""LRN: Local Response Normalization, over a region of channels around each element.

The region of `X[n, c, d1, ..., dk]` is `{X[n, i, d1, ..., dk] | max(0, c - floor((size - 1) / 2))
<= i <= min(C - 1, c + ceil((size - 1) / 2))}`. It is a window of `size` channels, and zeros stand
for those before the first and behind the last.

The parts of the file: the formula; its mutants.
"""

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import AxisWindows, Windows
from opcheck.engine.operators import formulas_of_versions, operator, raise_unspecified
from opcheck.engine.ops.normalizations import RANKS, check_rank
from opcheck.numbers import Tensor

OP = operator("LRN")

#: Sums the squares, (N, C, D1, …, Dk), over each element's region, from the squares and its size.
SquareSum: TypeAlias = Callable[[Tensor, int], Tensor]


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(1, 13)
def local_response_normalization(
    square_sum: SquareSum, X: Tensor, *, alpha: float, beta: float, bias: float, size: int
) -> Tensor:
    """Return Y = X / (bias + alpha / size * square_sum) ^ beta, in the shape of X.

    X: (N, C, D1, …, Dk), where k may be 0. square_sum: sums X² over `size` channels around each
    one. A fractional power of a negative number, which an `alpha` or `bias` below 0 can make, is
    NaN.

    Raises InvalidNode if X has no axis of channels; NotSupported for a `size` below 1: the text
    does not define regions of no channels.
    """
    check_rank("X", X, RANKS)
    if size < 1:
        raise_unspecified("regions of no channels")
    return X / xp.pow(bias + xp.real(alpha) / size * square_sum(X * X, size), beta)


def channels_before(size: int) -> int:
    """Return floor((size - 1) / 2), how many channels of a region come before the element's."""
    return (size - 1) // 2


@OP.formula(build=local_response_normalization)
def sums_of_regions(squares: Tensor, size: int) -> Tensor:
    """Return the sums of squares over each element's region of `size` channels, in their shape."""
    return sums_of_windows(squares, size, channels_before(size))


def sums_of_windows(squares: Tensor, size: int, before: int) -> Tensor:
    """Return sums of squares over `size` channels around each element.

    The first of them lies `before` channels before the element's. squares: (N, C, D1, …, Dk), as
    the result. Channels that do not exist count as 0.
    """
    batch, count, *lengths = squares.shape
    image = prod(lengths)
    # Windows over an image of one channel, whose rows are the channels and whose columns the
    # pixels.
    channels = AxisWindows(
        length=count, kernel=size, stride=1, dilation=1, begin=before, size=count
    )
    pixels = AxisWindows(length=image, kernel=1, stride=1, dilation=1, begin=0, size=image)
    windows = Windows((batch, 1), (channels, pixels))
    lined = xp.reshape(squares, (batch, 1, count, image))
    return xp.reshape(xp.sums(lined, windows.sums, windows.terms), squares.shape)


# Its error is in proportion to what has left the region.
@OP.alternative(
    "where each sum of squares is made of the one before it", build=local_response_normalization
)
def sliding_sums(squares: Tensor, size: int) -> Tensor:
    """Return the sums of squares over each region as differences of running sums.

    squares: (N, C, D1, …, Dk), as the result. What has left a region leaves its rounding errors,
    and NaN or an infinity makes NaN of all regions behind it.
    """
    count = squares.shape[1]
    channel = np.arange(count)
    before = channels_before(size)
    first = np.maximum(channel - before, 0)
    end = np.minimum(channel + min(size - before, count), count)
    # The running sums of no channels, of one, of two, …
    edges = [(1 if axis == 1 else 0, 0) for axis in range(squares.ndim)]
    totals = xp.cumulative_sum(xp.pad(squares, edges), axis=1)
    return xp.take(totals, end, axis=1) - xp.take(totals, first, axis=1)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def one_before_for_even_sizes(squares: Tensor, size: int) -> Tensor:
    """Mutant: of an even size the odd channel comes before the element."""
    return sums_of_windows(squares, size, size // 2)


def one_less_for_even_sizes(squares: Tensor, size: int) -> Tensor:
    """Mutant: of an even size the region is one channel shorter."""
    return sums_of_regions(squares, 2 * channels_before(size) + 1)


def last_channel_missing(squares: Tensor, size: int) -> Tensor:
    """Mutant: the last channel of each region does not count."""
    last_of_all = squares.shape[1] - 1
    last = np.minimum(np.arange(squares.shape[1]) + size // 2, last_of_all)
    return sums_of_regions(squares, size) - xp.take(squares, last, axis=1)


def mean_at_the_ends(squares: Tensor, size: int) -> Tensor:
    """Mutant: alpha is divided by the number of channels in the region."""
    channels = sums_of_regions(squares * 0 + 1, size)
    return sums_of_regions(squares, size) * size / channels


def as_many_channels_as_batches(squares: Tensor, size: int) -> Tensor:
    """Mutant: the sums of as many channels are made as there are batches; the rest is 0."""
    channel = np.arange(squares.shape[1]).reshape(-1, *[1] * (squares.ndim - 2))
    sums = sums_of_regions(squares, size)
    return xp.where(channel < squares.shape[0], sums, xp.zeros_like(sums))


OP.mutant_table(
    {
        "sums_of_as_many_channels_as_batches": (
            "the sums of as many channels were made as there are batches; the rest stayed 0",
            as_many_channels_as_batches,
        )
    },
    build=local_response_normalization,
    is_asked=False,
)
OP.mutant_table(
    {
        "one_before_for_even_sizes": (
            "of an even size one more of the channels before was taken",
            one_before_for_even_sizes,
        ),
        "one_less_for_even_sizes": (
            "of an even size the region was one channel too short",
            one_less_for_even_sizes,
        ),
        "last_channel_missing": (
            "the last channel of each region was left out",
            last_channel_missing,
        ),
        "mean_at_the_ends": (
            "sums were divided by the number of channels there, not by size",
            mean_at_the_ends,
        ),
    },
    build=local_response_normalization,
)
