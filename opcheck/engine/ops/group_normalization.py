"""GroupNormalization (21): each group of channels is brought to mean 0 and variance 1.

Version 18, whose scale and bias were those of groups, is deprecated, and no model may have it.
"""

from math import prod

import ml_dtypes
import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode

OP = operator("GroupNormalization")

#: What stage one may be computed in, by its number in ONNX's TensorProto.
STASHES = {
    number: np.dtype(kind)
    for number, kind in ((1, "f4"), (10, "f2"), (11, "f8"), (16, ml_dtypes.bfloat16))
}


def by_groups(normalized):
    """Version 21, from `normalized(x, groups, epsilon)`, of which x has the shape (N, C, …)."""

    def formula(X, scale, bias, *, num_groups, epsilon, stash_type):
        if X.ndim < 2 or num_groups < 1 or X.shape[1] % num_groups:
            raise InvalidNode(f"X {list(X.shape)} has no {num_groups} equal groups of channels")
        for name, operand in (("scale", scale), ("bias", bias)):
            if tuple(operand.shape) != (X.shape[1],):
                raise InvalidNode(f"{name} of shape {list(operand.shape)}; allowed: [channels]")
        if stash_type not in STASHES:
            raise InvalidNode(f"stash_type {stash_type}; allowed: 1, 10, 11, 16, which are floats")
        x = xp.astype(X, STASHES[stash_type], computes=True)
        y = xp.astype(normalized(x, num_groups, epsilon), X.dtype)
        channels = (-1, *[1] * (X.ndim - 2))
        return y * xp.reshape(scale, channels) + xp.reshape(bias, channels)

    return {21: formula}


def rows(x, groups):
    """Each group as a row: (N, groups, elements)."""
    return xp.reshape(x, (x.shape[0], groups, prod(x.shape[1:]) // groups))


def variance(x):
    """The mean square of the deviations from the mean."""
    d = x - xp.mean(x, axis=2, keepdims=True)
    return xp.mean(d * d, axis=2, keepdims=True)


def with_root(root):
    """Normalized by `root(x, epsilon)`, where x is rows."""

    def normalized(x, groups, epsilon):
        x_ = rows(x, groups)
        d = x_ - xp.mean(x_, axis=2, keepdims=True)
        return xp.reshape(d / root(x_, epsilon), x.shape)

    return by_groups(normalized)


@OP.formula(by=with_root)
def two_pass(x, epsilon):
    return xp.sqrt(variance(x) + epsilon)


# The function body computes so, which cancels: nobody is warned of it.
@OP.also_honest("", by=with_root)
def one_pass(x, epsilon):
    mean = xp.mean(x, axis=2, keepdims=True)
    spread = xp.mean(x * x, axis=2, keepdims=True) - mean * mean
    return xp.sqrt(xp.maximum(spread, 0.0) + epsilon)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


@OP.mutant("epsilon was added after the root", by=with_root)
def epsilon_after_the_root(x, epsilon):
    return xp.sqrt(variance(x)) + epsilon


@OP.mutant("epsilon was the least that the variance could be", by=with_root)
def epsilon_as_floor(x, epsilon):
    return xp.sqrt(xp.maximum(variance(x), epsilon))


@OP.mutant("the variance was divided by one less than the number of elements", by=with_root)
def unbiased(x, epsilon):
    return xp.sqrt(variance(x) * (x.shape[2] / max(1, x.shape[2] - 1)) + epsilon)


@OP.mutant("the mean square stood for the variance", by=with_root)
def mean_square(x, epsilon):
    return xp.sqrt(xp.mean(x * x, axis=2, keepdims=True) + epsilon)


def with_groups(change):
    """Version 21, with other rows: `change(normalized, x, groups)`."""

    def changed(x, groups, epsilon):
        def normalized(x_):
            d = x_ - xp.mean(x_, axis=2, keepdims=True)
            return d / two_pass(x_, epsilon)

        return xp.reshape(change(normalized, x, groups), x.shape)

    return by_groups(changed)


@OP.mutant("the channels went to the groups in turns", by=with_groups)
def channels_in_turns(normalized, x, groups):
    parted = xp.reshape(x, (x.shape[0], x.shape[1] // groups, groups, prod(x.shape[2:])))
    turned = xp.permute_dims(parted, (0, 2, 1, 3))
    y = xp.reshape(normalized(rows(turned, groups)), turned.shape)
    return xp.permute_dims(y, (0, 2, 1, 3))


@OP.mutant("num_groups was taken for the number of channels in a group", by=with_groups)
def group_sizes(normalized, x, groups):
    return normalized(rows(x, x.shape[1] // groups))


@OP.mutant("each channel was a group", by=with_groups)
def instances(normalized, x, groups):
    return normalized(rows(x, x.shape[1] or 1))


@OP.mutant("the groups of all batches were one", by=with_groups)
def across_batches(normalized, x, groups):
    lined = xp.permute_dims(rows(x, groups), (1, 0, 2))
    y = xp.reshape(normalized(xp.reshape(lined, (1, groups, -1))), lined.shape)
    return xp.permute_dims(y, (1, 0, 2))


def by_operands(change):
    """Version 21, with another scale and bias."""

    def formula(X, scale, bias, *, num_groups, epsilon, stash_type):
        given = {"num_groups": num_groups, "epsilon": epsilon, "stash_type": stash_type}
        right = OP.formulas[21]
        right(X, scale, bias, **given)
        return right(X, change(scale, num_groups), change(bias, num_groups), **given)

    return {21: formula}


@OP.mutant("of each group the first channel's scale and bias served for all", by=by_operands)
def first_of_the_group(one, groups):
    return one[np.arange(one.shape[0]) // max(1, one.shape[0] // groups) * (one.shape[0] // groups)]


@OP.mutant("scale and bias were those of groups, as in version 18", by=by_operands)
def scale_of_groups(one, groups):
    return one[np.arange(one.shape[0]) // max(1, one.shape[0] // groups)]


# ── what no legal input shows ─────────────────────────────────────────────────────────────────

for called in ("refuses_rank_1", "vector_becomes_a_row"):
    OP.equivalent(called, "a batch axis comes before that of the channels")
OP.equivalent("invalid_epsilon_is_0_or_1", "no epsilon is invalid")
OP.equivalent(
    "subnormal_inputs_flushed",
    "what subnormal numbers add may be flushed, and the bound leaves it out too",
    *("bfloat16", "float32", "float64"),
)
