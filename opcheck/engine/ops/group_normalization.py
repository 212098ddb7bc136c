"""GroupNormalization (21): each group of channels is brought to mean 0 and variance 1.

Version 18, whose scale and bias were those of groups, is deprecated, and no model may have it.
"""

from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.normalizing import by_deviation, stashed, two_pass
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode

OP = operator("GroupNormalization")


def by_groups(normalized, computes=False):
    """Version 21, from `normalized(x, groups, epsilon)`, where x has the shape (N, C, …)."""

    def formula(X, scale, bias, *, num_groups, epsilon, stash_type):
        if X.ndim < 2 or num_groups < 1 or X.shape[1] % num_groups:
            raise InvalidNode(f"X {list(X.shape)} has no {num_groups} equal groups of channels")
        for name, operand in (("scale", scale), ("bias", bias)):
            if tuple(operand.shape) != (X.shape[1],):
                raise InvalidNode(f"{name} of shape {list(operand.shape)}; allowed: [channels]")
        # Stage one, in float32, float16, float64 or bfloat16.
        x = stashed(X, stash_type, 1, 10, 11, 16)
        y = xp.astype(normalized(x, num_groups, epsilon), X.dtype, computes=computes)
        channels = (-1, *[1] * (X.ndim - 2))
        return y * xp.reshape(scale, channels) + xp.reshape(bias, channels)

    return {21: formula}


def rows(x, groups):
    """Each group as a row: (N, groups, elements)."""
    return xp.reshape(x, (x.shape[0], groups, prod(x.shape[1:]) // groups))


def by_row(lined, epsilon, inverse_of=two_pass):
    """Each row with mean 0 and variance 1, by 1 over its standard deviation."""
    d = lined - xp.mean(lined, axis=(2,), keepdims=True)
    return d * inverse_of(lined, (2,), epsilon)


def by_inverse(inverse_of, computes=False):
    """Version 21, from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""

    def normalized(x, groups, epsilon):
        return xp.reshape(by_row(rows(x, groups), epsilon, inverse_of), x.shape)

    return by_groups(normalized, computes)


# The function body computes in one pass: nobody is warned of it.
by_deviation(OP, by_inverse, "")


def with_groups(change):
    """Version 21, with other groups: `change(places, groups)` has the places of each in a row."""

    def changed(x, groups, epsilon):
        places = change(np.arange(x.size).reshape(x.shape), groups)
        y = xp.reshape(by_row(xp.reshape(x, (-1,))[places], epsilon), (-1,))
        return xp.reshape(y[np.argsort(places.reshape(-1))], x.shape)

    return by_groups(changed)


def channels_in_turns(places, groups):
    n, channels, *image = places.shape
    parted = places.reshape(n, channels // groups, groups, prod(image))
    return rows(parted.swapaxes(1, 2), groups)


OF_GROUPS = {
    "channels_in_turns": ("the channels went to the groups in turns", channels_in_turns),
    "group_sizes": ("num_groups was taken for the number of channels in a group",
                    lambda places, groups: rows(places, places.shape[1] // groups)),
    "instances": ("each channel was a group",
                  lambda places, groups: rows(places, places.shape[1] or 1)),
    "across_batches": ("the groups of all batches were one",
        lambda places, groups: rows(places, groups).swapaxes(0, 1).reshape(1, groups, -1)),
}  # fmt: skip
OP.mutant_table(OF_GROUPS, by=with_groups)


def with_operands(change):
    """Version 21, with another scale and bias, for X with so many channels a group."""

    def formula(X, scale, bias, *, num_groups, epsilon, stash_type):
        given = {"num_groups": num_groups, "epsilon": epsilon, "stash_type": stash_type}
        OP.formulas[21](X, scale, bias, **given)  # which refuses what is not legal
        channel = np.arange(scale.shape[0])
        index = change(channel, max(1, len(channel) // num_groups))
        return OP.formulas[21](X, scale[index], bias[index], **given)

    return {21: formula}


OF_OPERANDS = {
    "first_of_the_group": ("of each group the first channel's scale and bias served for all",
                           lambda channel, size: channel // size * size),
    "scale_of_groups": ("scale and bias were those of groups, as in version 18",
                        lambda channel, size: channel // size),
}  # fmt: skip
OP.mutant_table(OF_OPERANDS, by=with_operands)
