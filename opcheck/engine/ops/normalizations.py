"""Normalizations but that of layers, and what it shares with them: the variance, and its root."""

from functools import partial
from math import inf, prod, sqrt
from typing import Any

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import AxisWindows, Windows, distinct, from_either_end, stretches
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode
from opcheck.grouping import not_none

NAMES = """BatchNormalization GroupNormalization InstanceNormalization LRN LpNormalization
MeanVarianceNormalization RMSNormalization"""
BATCH, GROUP, INSTANCE, LRN, LP, MEAN_VARIANCE, RMS = map(operator, NAMES.split())
LP.low, LP.high = -1.0, 1.0
EMPTY_GROUPS = Ruling(
    "empty-groups",
    "The text of GroupNormalization has an output in the shape of X, and its function body cannot "
    "reshape an empty X.",
    ("empty", "refused"),
)
#: What a warning says of both.
FOLDED = "where it is folded into x·a + b, or the variance E[x²] − E[x]², which cancels"
#: Of tensors with a batch axis and a channel axis.
RANKS = range(2, 64)


def fits(X, ranks, shape, *operands):
    """Raise InvalidNode unless X has one of the ranks, and each operand the shape."""
    if X.ndim not in ranks or any(tuple(x.shape) != tuple(shape) for x in operands):
        raise InvalidNode(f"operands of shapes {[list(x.shape) for x in (X, *operands)]}")


def scaled(x, mean, inverse, scale, B):
    return (x - mean) * inverse * scale + B


def folded(x, mean, inverse, scale, B):
    """Normalize by one product and one sum."""
    return x * (inverse * scale) + (B - mean * (inverse * scale))


def stashed(x, stash_type, *allowed):
    """`x` in the type that stage one is computed in, by its number in ONNX's TensorProto."""
    check_one_of("stash_type", stash_type, *allowed)
    return xp.astype(x, not_none(dtypes.named(stash_type)).numpy, computes=True)


def mean_square(x, axes):
    return xp.mean(x * x, axis=axes, keepdims=True)


def variance(x, axes):
    """The mean square of the deviations from the mean."""
    return mean_square(x - xp.mean(x, axis=axes, keepdims=True), axes)


def cancelling(x, axes):
    """The variance as E[x²] − E[x]², which cancels, but not to less than 0."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    return xp.maximum(mean_square(x, axes) - mean * mean, 0.0)


def two_pass(x, axes, epsilon):
    """1 over the standard deviation, from the deviations from the mean, as the texts say."""
    return 1 / xp.sqrt(variance(x, axes) + epsilon)


def one_pass(x, axes, epsilon):
    """1 over the standard deviation, from E[x²] − E[x]², which cancels."""
    # No more than 1/√ε and its roundings, however far the spread may be off.
    most = 1.001 / sqrt(epsilon) if epsilon > 0 else inf
    return xp.clip(1 / xp.sqrt(cancelling(x, axes) + epsilon), 0.0, most)


def unbiased(x, axes, of=variance):
    """The variance `of`, divided by one less than the number of elements."""
    count = prod(x.shape[axis] for axis in axes)
    return of(x, axes) * (count / max(1, count - 1))


UNBIASED = "the variance was divided by one less than the number of elements"
#: From what makes the variance, whose place it takes.
MUTANTS = {
    "epsilon_after_the_root": (
        "epsilon was added after the root",
        lambda of, x, axes, epsilon: 1 / (xp.sqrt(of(x, axes)) + epsilon),
    ),
    "epsilon_as_floor": (
        "epsilon was the least that the variance could be",
        lambda of, x, axes, epsilon: 1 / xp.sqrt(xp.maximum(of(x, axes), epsilon)),
    ),
    "unbiased": (
        UNBIASED,
        lambda of, x, axes, epsilon: 1 / xp.sqrt(unbiased(x, axes, of) + epsilon),
    ),
    "mean_square": (
        "the mean square stood for the variance, as in RMSNormalization",
        lambda of, x, axes, epsilon: 1 / xp.sqrt(mean_square(x, axes) + epsilon),
    ),
}


def of_root(op, by, of, *without):
    """Declare mutants of `by`, as in `by_deviation`, where `of` makes the variance."""
    kept = {name: one for name, one in MUTANTS.items() if name not in without}
    op.mutant_table(
        {name: (text, partial(root, of)) for name, (text, root) in kept.items()}, build=by
    )


def by_deviation(op, by, remark):
    """Declare the formula, its mutants, and its honest alternatives, with this `remark`.

    `by` makes a formula of each version from `inverse(x, axes, epsilon)`: 1 over the standard
    deviation of `x` along `axes`, which it keeps, with `epsilon` added to the variance. Where it
    `computes`, stage two is computed in the type of X.
    """
    op.formula(build=by)(two_pass)
    literal = partial(by, computes=True)  # as the texts have it, also for types of 16 bits
    op.alternative("", build=literal)(two_pass)
    op.alternative(remark, build=literal)(one_pass)
    of_root(op, by, variance)


@formula_builder(each={1: range(4, 5), 6: RANKS, 22: RANKS}, options=["made"])
def of_instances(inverse_of, ranks, input, scale, B, *, epsilon, made=scaled):
    """All versions from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""
    fits(input, ranks, input.shape[1:2], scale, B)
    axes = tuple(range(2, input.ndim))
    mean = xp.mean(input, axis=axes, keepdims=True)
    channels = (xp.reshape(x, (-1, *[1] * len(axes))) for x in (scale, B))
    return made(input, mean, inverse_of(input, axes, epsilon), *channels)


INSTANCE.formula(build=of_instances)(two_pass)
INSTANCE.alternative(FOLDED, build=partial(of_instances, made=folded))(one_pass)
of_root(INSTANCE, of_instances, variance)


@formula_builder(9, 13, options=["epsilon"])
def of_axes(inverse_of, X, *, axes, epsilon=0.0):
    """Both versions from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""
    over: dict[str, Any] = {"axis": distinct(axes, X.ndim), "keepdims": True}
    values = xp.values_of(X)
    if not axes:
        raise_unspecified("an empty list of axes")
    if X.size and (values.max(**over) == values.min(**over)).any():
        leave_open("of equal elements the text makes 0/0, and the function body 0")
    return (X - xp.mean(X, **over)) * inverse_of(X, over["axis"], epsilon)


MEAN_VARIANCE.formula(build=of_axes)(two_pass)
#: The function body adds 1e-9 to the deviation, and takes E[X²] − E[X]² for the variance.
_literal = partial(of_axes, epsilon=1e-9)
MEAN_VARIANCE.alternative("", build=_literal)(
    partial(MUTANTS["epsilon_after_the_root"][1], variance)
)
MEAN_VARIANCE.alternative("", build=of_axes)(one_pass)
MEAN_VARIANCE.alternative("", build=_literal)(
    lambda x, axes, epsilon: 1 / (1 / one_pass(x, axes, 0) + epsilon)
)
MEAN_VARIANCE.mutant("1e-9 was added under the root", name="under_the_root", build=_literal)(
    two_pass
)
of_root(MEAN_VARIANCE, of_axes, variance, "epsilon_after_the_root", "epsilon_as_floor")


@formula_builder(23, options=["computes"])
def of_slices(inverse_of, X, scale, *, axis, epsilon, stash_type, computes=False):
    """Version 23, from `inverse_of(x, axes, epsilon)`: 1 over the root of the mean square."""
    axes = tuple(range(from_either_end(axis, X.ndim), X.ndim))
    stretches("scale", scale, X)
    x = stashed(X, stash_type, 1, 10, 11, 16)
    y = xp.astype(x * inverse_of(x, axes, epsilon), X.dtype, computes=computes)
    return xp.astype(y, scale.dtype, computes=computes) * scale


@RMS.formula(build=of_slices)
@RMS.alternative("", build=partial(of_slices, computes=True))
def of_squares(x, axes, epsilon):
    return 1 / xp.sqrt(mean_square(x, axes) + epsilon)


of_root(RMS, of_slices, mean_square, "mean_square")
RMS.mutant("the mean was subtracted, as in LayerNormalization", name="variance", build=of_slices)(
    two_pass
)
RMS.mutant(
    "`axis` alone was normalized, and not the axes after it", name="one_axis", build=of_slices
)(lambda x, axes, epsilon: of_squares(x, axes[:1], epsilon))


@LP.formula(1, 22)
def by_norm(input, *, axis, p):
    check_one_of("p", p, 1, 2)
    if axis < -1:
        leave_open("nothing is said of axes below -1")
    x, axis = input, from_either_end(axis, input.ndim)
    total = xp.sum(xp.abs(x) if p == 1 else x * x, axis=axis, keepdims=True)
    norm = total if p == 1 else xp.sqrt(total)
    zero = xp.equal(norm, 0)
    return xp.where(zero, xp.zeros_like(x), x / xp.where(zero, xp.zeros_like(norm) + 1, norm))


@formula_builder(1, 13)
def of_regions(total, X, *, alpha, beta, bias, size):
    """Both versions from `total(squares, size)`, the sums of squares of each element's region."""
    fits(X, RANKS, ())
    if size < 1:
        raise_unspecified("regions of no channels")
    return X / xp.pow(bias + xp.real(alpha) / size * total(X * X, size), beta)


@LRN.formula(build=of_regions)
def across_channels(squares, size, before=None):
    """The region begins `before` channels before each, half of the others if that is not said."""
    batch, count, *lengths = squares.shape
    image = prod(lengths)
    channels = AxisWindows(count, size, 1, 1, (size - 1) // 2 if before is None else before, count)
    windows = Windows((batch, 1), (channels, AxisWindows(image, 1, 1, 1, 0, image)))
    lined = xp.reshape(squares, (batch, 1, count, image))
    return xp.reshape(xp.sums(lined, windows.sums, windows.terms), squares.shape)


# Its error is in proportion to what has left the region.
@LRN.alternative("where each sum of squares is made of the one before it", build=of_regions)
def sliding(squares, size):
    at, before = np.arange(squares.shape[1]), (size - 1) // 2
    ends = [np.maximum(at - before, 0), np.minimum(at + min(size - before, len(at)), len(at))]
    edges = [(int(axis == 1), 0) for axis in range(squares.ndim)]
    totals = xp.cumulative_sum(xp.pad(squares, edges), axis=1)
    return xp.take(totals, ends[1], axis=1) - xp.take(totals, ends[0], axis=1)


LRN.mutant_table(
    {
        "one_before_for_even_sizes": (
            "of an even size one more of the channels before was taken",
            lambda squares, size: across_channels(squares, size, size // 2),
        ),
        "one_less_for_even_sizes": (
            "of an even size the region was one channel too short",
            lambda squares, size: across_channels(squares, (size - 1) // 2 * 2 + 1),
        ),
        "last_channel_missing": (
            "the last channel of each region was left out",
            lambda squares, size: (
                across_channels(squares, size)
                - np.take(
                    squares,
                    np.minimum(np.arange(squares.shape[1]) + size // 2, squares.shape[1] - 1),
                    axis=1,
                )
            ),
        ),
        "mean_at_the_ends": (
            "sums were divided by the number of channels there, not by size",
            lambda x, size: across_channels(x, size) * size / across_channels(x * 0 + 1, size),
        ),
    },
    build=of_regions,
)


def updated(old, new, momentum, count):
    """The running statistics, from those before and of the batch, of `count` elements each."""
    return [a * momentum + b * (1 - xp.real(momentum)) for a, b in zip(old, new, strict=True)]


def moved(old, new, momentum, count):
    """The running statistics, from how far each moves."""
    return [a - (1 - xp.real(momentum)) * (a - b) for a, b in zip(old, new, strict=True)]


def of_batches(inverse, spread=variance, updated=updated, made=scaled, used=lambda old, new: new):
    """All versions from `inverse(variance, axes, epsilon)`: 1 over the standard deviation."""

    def formula(ranks, X, scale, B, old, training, momentum, epsilon, saved=0, apart=False):
        shape = X.shape[1:] if apart else X.shape[1:2] or (1,)
        fits(X, ranks, shape, scale, B, *old)
        types = {str(x.dtype) for x in (X, scale, *old)}
        if (len(types) > 1 and "float64" in types) or (training and not X.size):
            raise_unspecified("mixing float64, or of statistics of no elements")
        along = shape if apart else (-1, *[1] * (X.ndim - 2))
        scale, B, *old = (xp.reshape(x, along) for x in (scale, B, *old))
        now, outputs = old, []
        if training:
            axes = (0,) if apart else tuple(axis for axis in range(X.ndim) if axis != 1)
            new = [xp.mean(X, axis=axes, keepdims=True), spread(X, axes)]
            now = used(old, new)
            outputs = [*updated(old, new, momentum, X.size // prod(shape)), *new[:saved]]
        y = made(X, now[0], inverse(now[1], (), epsilon), scale, B)
        further = (xp.astype(xp.reshape(x, shape), old[0].dtype) for x in outputs)
        return xp.astype(y, X.dtype), *further

    def earlier(since, X, scale, B, mean, var, *, epsilon, momentum, outputs, is_test=0, spatial=1):
        training = outputs > 1 or (since < 7 and not is_test)
        if outputs not in (1, 5) or spatial not in (0, 1) or not (spatial or since > 6 or is_test):
            raise_unspecified("these outputs, or of this spatial")
        if outputs > 1:
            leave_open("nothing is said of which variance is kept")
        ranks = (4,) if since == 1 else RANKS if since < 9 else range(1, 64)
        apart, old = since > 6 and not spatial, (mean, var)
        return formula(ranks, X, scale, B, old, training, momentum, epsilon, 2, apart)

    def later(X, scale, B, input_mean, input_var, *, epsilon, momentum, outputs, training_mode):
        if training_mode not in (0, 1):
            leave_open("nothing is said of training_mode other than 0 and 1")
        if outputs > 1 and not training_mode:
            raise InvalidNode(f"{outputs} outputs without training_mode; allowed: 1")
        old = (input_mean, input_var)
        return formula(range(1, 64), X, scale, B, old, training_mode, momentum, epsilon)

    return {14: later, 15: later, **{since: partial(earlier, since) for since in (1, 6, 7, 9)}}


@BATCH.formula(build=of_batches)
@BATCH.alternative("", build=partial(of_batches, updated=moved))
@BATCH.alternative(FOLDED, build=partial(of_batches, spread=cancelling, made=folded))
def of_variance(spread, axes, epsilon):
    return 1 / xp.sqrt(spread + epsilon)


of_root(BATCH, of_batches, lambda spread, axes: spread, "mean_square", "unbiased")
for _name, _text, _steps, *_versions in (
    ("unbiased", UNBIASED, {"spread": unbiased}, 1, 6, 14, 15),
    (
        "running_statistics_used",
        "the running statistics normalized in training",
        {"used": lambda old, new: old},
        1,
        6,
        14,
        15,
    ),
    (
        "momentum_exchanged",
        "the momentum was that of the batch",
        {"updated": lambda old, new, *of: updated(new, old, *of)},
        14,
        15,
    ),
    (
        "unbiased_running_variance",
        "the running variance was that of a sample, not the population",
        {
            "updated": lambda old, new, momentum, count: updated(
                old, (new[0], new[1] * (count / max(1, count - 1))), momentum, count
            )
        },
        14,
        15,
    ),
):
    _by = partial(of_batches, **_steps)
    BATCH.mutant(_text, *_versions, name=_name, build=_by)(of_variance)


# Version 18, whose scale and bias were those of groups, is deprecated, and no model may have it.
@formula_builder(21, options=["computes"])
def by_groups(normalized, X, scale, bias, *, num_groups, epsilon, stash_type, computes=False):
    """Version 21, from `normalized(x, groups, epsilon)`, where x has the shape (N, C, …)."""
    if X.ndim < 2 or num_groups < 1 or X.shape[1] % num_groups:
        raise InvalidNode(f"X {list(X.shape)} has no {num_groups} equal groups of channels")
    check_shape("scale", scale, X.shape[1:2])
    check_shape("bias", bias, X.shape[1:2])
    if not X.size and EMPTY_GROUPS.reading() == "refused":
        raise InvalidNode(f"X {list(X.shape)} is empty")
    # Stage one, in float32, float16, float64 or bfloat16.
    x = stashed(X, stash_type, 1, 10, 11, 16)
    y = xp.astype(normalized(x, num_groups, epsilon), X.dtype, computes=computes)
    channels = (-1, *[1] * (X.ndim - 2))
    return y * xp.reshape(scale, channels) + xp.reshape(bias, channels)


def rows(x, groups):
    """Each group as a row: (N, groups, elements)."""
    return xp.reshape(x, (x.shape[0], groups, prod(x.shape[1:]) // groups))


def by_row(lined, epsilon, inverse_of=two_pass):
    """Each row with mean 0 and variance 1, by 1 over its standard deviation."""
    return (lined - xp.mean(lined, axis=(2,), keepdims=True)) * inverse_of(lined, (2,), epsilon)


def by_inverse(inverse_of, computes=False):
    """Version 21, from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""
    return by_groups(
        lambda x, groups, epsilon: xp.reshape(
            by_row(rows(x, groups), epsilon, inverse_of), x.shape
        ),
        computes=computes,
    )


# The function body computes in one pass: nobody is warned of it.
by_deviation(GROUP, by_inverse, "")


def in_other_groups(change, x, groups, epsilon):
    """Normalized, where `change(places, groups)` has the places of each group in a row."""
    places = change(np.arange(x.size).reshape(x.shape), groups)
    y = xp.reshape(by_row(xp.reshape(x, (-1,))[places], epsilon), (-1,))
    return xp.reshape(y[np.argsort(places.reshape(-1))], x.shape)


def channels_in_turns(places, groups):
    n, channels, *image = places.shape
    return rows(places.reshape(n, channels // groups, groups, prod(image)).swapaxes(1, 2), groups)


GROUP.mutant_table(
    {
        "channels_in_turns": ("the channels went to the groups in turns", channels_in_turns),
        "group_sizes": (
            "num_groups was taken for the number of channels in a group",
            lambda places, groups: rows(places, places.shape[1] // groups),
        ),
        "instances": (
            "each channel was a group",
            lambda places, _: rows(places, places.shape[1] or 1),
        ),
        "across_batches": (
            "the groups of all batches were one",
            lambda places, groups: rows(places, groups).swapaxes(0, 1).reshape(1, groups, -1),
        ),
    },
    build=lambda change: by_groups(partial(in_other_groups, change)),
)


@formula_builder(21)
def with_operands(change, X, scale, bias, **attrs):
    """Version 21, with another scale and bias, for X with so many channels a group."""
    GROUP.formulas[21](X, scale, bias, **attrs)  # which refuses what is not legal
    channel = np.arange(scale.shape[0])
    index = change(channel, max(1, len(channel) // attrs["num_groups"]))
    return GROUP.formulas[21](X, scale[index], bias[index], **attrs)


GROUP.mutant_table(
    {
        "first_of_the_group": (
            "of each group the first channel's scale and bias served for all",
            lambda channel, size: channel // size * size,
        ),
        "scale_of_groups": (
            "scale and bias were those of groups, as in version 18",
            lambda channel, size: channel // size,
        ),
    },
    build=with_operands,
)
