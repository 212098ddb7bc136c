"""Normalizations other than those of layers and groups, in all their versions."""

from functools import partial
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine import normalizing as common
from opcheck.engine.axes import AxisWindows, Windows, distinct, from_either_end, stretches
from opcheck.engine.normalizing import MUTANTS, fits, mean_square, of_root, one_pass, two_pass
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
InstanceNormalization LRN LpNormalization MeanVarianceNormalization RMSNormalization
"""
INSTANCE = operator("InstanceNormalization", ignores=("consumed_inputs",))
LP = operator("LpNormalization", low=-1.0, high=1.0)
LRN = operator("LRN")
MEAN_VARIANCE = operator("MeanVarianceNormalization")
RMS = operator("RMSNormalization")


def of_instances(inverse_of, made=common.scaled):
    """All versions from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""

    def formula(ranks, input, scale, B, *, epsilon):
        fits(input, ranks, input.shape[1:2], scale, B)
        axes = tuple(range(2, input.ndim))
        mean = xp.mean(input, axis=axes, keepdims=True)
        channels = (xp.reshape(x, (-1, *[1] * len(axes))) for x in (scale, B))
        return made(input, mean, inverse_of(input, axes, epsilon), *channels)

    later = partial(formula, common.RANKS)
    return {1: partial(formula, (4,)), 6: later, 22: later}


INSTANCE.formula(by=of_instances)(two_pass)
INSTANCE.also_honest(common.FOLDED, by=partial(of_instances, made=common.folded))(one_pass)
of_root(INSTANCE, of_instances, common.variance)


def of_axes(inverse_of, epsilon=0.0):
    """Both versions from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""

    def formula(X, *, axes):
        over = {"axis": distinct(axes, X.ndim), "keepdims": True}
        values = bare(xp.values_of(X))
        if not axes:
            raise NotSupported("nothing is said of an empty list of axes")
        if X.size and (values.max(**over) == values.min(**over)).any():
            is_open("of equal elements the text makes 0/0, and the function body 0")
        return (X - xp.mean(X, **over)) * inverse_of(X, over["axis"], epsilon)

    return dict.fromkeys((9, 13), formula)


MEAN_VARIANCE.formula(by=of_axes)(two_pass)
#: The function body adds 1e-9 to the deviation, and takes E[X²] − E[X]² for the variance.
_literal = partial(of_axes, epsilon=1e-9)
MEAN_VARIANCE.also_honest("", by=_literal)(
    partial(MUTANTS["epsilon_after_the_root"][1], common.variance)
)
MEAN_VARIANCE.also_honest("", by=of_axes)(one_pass)
MEAN_VARIANCE.also_honest("", by=_literal)(
    lambda x, axes, epsilon: 1 / (1 / one_pass(x, axes, 0) + epsilon))  # fmt: skip
MEAN_VARIANCE.mutant("1e-9 was added under the root", name="under_the_root", by=_literal)(two_pass)
for _name in ("unbiased", "mean_square"):
    _text, _root = MUTANTS[_name]
    MEAN_VARIANCE.mutant(_text, name=_name, by=of_axes)(partial(_root, common.variance))


def of_slices(inverse_of, computes=False):
    """Version 23, from `inverse_of(x, axes, epsilon)`: 1 over the root of the mean square."""

    def formula(X, scale, *, axis, epsilon, stash_type):
        axes = tuple(range(from_either_end(axis, X.ndim), X.ndim))
        stretches("scale", scale, X)
        x = common.stashed(X, stash_type, 1, 10, 11, 16)
        y = xp.astype(x * inverse_of(x, axes, epsilon), X.dtype, computes=computes)
        return xp.astype(y, scale.dtype, computes=computes) * scale

    return {23: formula}


@RMS.formula(by=of_slices)
@RMS.also_honest("", by=partial(of_slices, computes=True))
def of_squares(x, axes, epsilon):
    return 1 / xp.sqrt(mean_square(x, axes) + epsilon)


of_root(RMS, of_slices, mean_square, "mean_square")
RMS.mutant("the mean was subtracted, as in LayerNormalization", name="variance", by=of_slices)(
    two_pass
)


def of_lines(divided):
    """Both versions from `divided(x, p, axis)`."""

    def formula(input, *, axis, p):
        if p not in (1, 2):
            raise InvalidNode(f"p {p}; allowed: 1, 2")
        if axis < -1:
            is_open("nothing is said of axes below -1")
        return divided(input, p, from_either_end(axis, input.ndim))

    return dict.fromkeys((1, 22), formula)


@LP.formula(by=of_lines)
def by_norm(x, p, axis):
    total = xp.sum(xp.abs(x) if p == 1 else x * x, axis=axis, keepdims=True)
    norm = total if p == 1 else xp.sqrt(total)
    zero = xp.equal(norm, 0)
    return xp.where(zero, xp.zeros_like(x), x / xp.where(zero, xp.zeros_like(norm) + 1, norm))


def of_regions(total):
    """Both versions from `total(squares, size)`, the sums of squares of each element's region."""

    def formula(X, *, alpha, beta, bias, size):
        fits(X, common.RANKS, ())
        if size < 1:
            raise NotSupported("nothing is said of regions of no channels")
        return X / xp.pow(bias + xp.real(alpha) / size * total(X * X, size), beta)

    return dict.fromkeys((1, 13), formula)


@LRN.formula(by=of_regions)
def across_channels(squares, size, before=None):
    """The region begins `before` channels before each, half of the others if that is not said."""
    batch, count, *lengths = squares.shape
    image = prod(lengths)
    channels = AxisWindows(count, size, 1, 1, (size - 1) // 2 if before is None else before, count)
    windows = Windows((batch, 1), (channels, AxisWindows(image, 1, 1, 1, 0, image)))
    lined = xp.reshape(squares, (batch, 1, count, image))
    return xp.reshape(xp.sums(lined, windows.sums, windows.terms), squares.shape)


# Its error is in proportion to what has left the region.
@LRN.also_honest("where each sum of squares is made of the one before it", by=of_regions)
def sliding(squares, size):
    at, before = np.arange(squares.shape[1]), (size - 1) // 2
    ends = [np.maximum(at - before, 0), np.minimum(at + min(size - before, len(at)), len(at))]
    edges = [(int(axis == 1), 0) for axis in range(squares.ndim)]
    totals = xp.cumulative_sum(xp.pad(squares, edges), axis=1)
    return xp.take(totals, ends[1], axis=1) - xp.take(totals, ends[0], axis=1)


LRN.mutant_table({
    "one_before_for_even_sizes": ("of an even size one more of the channels before was taken",
        lambda squares, size: across_channels(squares, size, size // 2)),
    "one_less_for_even_sizes": ("of an even size the region was one channel too short",
        lambda squares, size: across_channels(squares, (size - 1) // 2 * 2 + 1)),
    "mean_at_the_ends": ("sums were divided by the number of channels there, not by size",
        lambda squares, size: across_channels(squares, size) * size / across_channels(
            squares * 0 + 1, size)),
}, by=of_regions)  # fmt: skip
