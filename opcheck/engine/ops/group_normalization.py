"""GroupNormalization (21): groups of channels are brought to mean 0 and variance 1.

    y = scale * (x - mean) / sqrt(variance + epsilon) + bias

"where the mean and variance are computed per instance per group of channels". Stage one
normalizes, in the type that `stash_type` names; stage two scales and shifts, in the type of X.

Version 18, whose scale and bias were those of groups, is deprecated, and no model may have it.

The parts of the file: the formula; its mutants.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import Formula, check_shape, formulas_of_versions, operator
from opcheck.engine.ops.normalizations import (
    FLOATING_STASH_TYPES,
    InvStdDevOf,
    declare_by_inv_std_dev,
    per_channel,
    stashed,
    two_pass,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import reject
from opcheck.numbers import Tensor

OP = operator("GroupNormalization")

#: Stage one, from a tensor of shape (N, C, D1, …, Dn), the number of groups, and epsilon.
StageOne: TypeAlias = Callable[[Tensor, int, float], Tensor]
#: Row-major places of elements, or numbers of channels.
Places: TypeAlias = NDArray[np.intp]

EMPTY_GROUPS = Ruling(
    "empty-groups",
    "The text of GroupNormalization has an output in the shape of X, and its function body cannot "
    "reshape an empty X.",
    ("empty", "refused"),
)


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(21, options=["computes"])
def group_normalization(
    stage_one: StageOne,
    X: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    num_groups: int,
    epsilon: float,
    stash_type: int,
    computes: bool = False,
) -> Tensor:
    """Return scale * (x - mean) / sqrt(variance + epsilon) + bias, in the shape of X.

    X: (N, C, D1, …, Dn), of rank 2 or more; scale and bias: (C). With `computes`, stage two is
    computed in the type of X, also of 16 bits. stage_one: normalizes X in groups.

    Raises InvalidNode for other shapes, for a num_groups below 1 or that does not divide C, and for
    a `stash_type` other than float (1), float16 (10), double (11) and bfloat16 (16). For an empty X
    the output is empty, or it is raised: EMPTY_GROUPS.
    """
    has_groups = X.ndim >= 2 and num_groups >= 1 and X.shape[1] % num_groups == 0
    reject(not has_groups, f"X {list(X.shape)} has no {num_groups} equal groups of channels")
    check_shape("scale", scale, X.shape[1:2])
    check_shape("bias", bias, X.shape[1:2])
    if not X.size:
        reject(EMPTY_GROUPS.reading() == "refused", f"X {list(X.shape)} is empty")
    x = stashed(X, stash_type, *FLOATING_STASH_TYPES)
    normalized = xp.astype(stage_one(x, num_groups, epsilon), X.dtype, computes=computes)
    return normalized * per_channel(scale, X.ndim) + per_channel(bias, X.ndim)


def shape_of_rows(shape: tuple[int, ...], groups: int) -> tuple[int, int, int]:
    """Return the shape of (N, C, D1, …, Dn) with a row for each group: (N, groups, elements)."""
    return shape[0], groups, prod(shape[1:]) // groups


def normalized_rows(rows: Tensor, epsilon: float, inv_std_dev: InvStdDevOf = two_pass) -> Tensor:
    """Return rows, (N, groups, elements), each with mean 0 and, but for `epsilon`, variance 1.

    inv_std_dev: makes 1 over the standard deviation, with `epsilon`. Equal elements give 0 if that
    is above 0, and NaN if it is 0.
    """
    deviations = rows - xp.mean(rows, axis=(2,), keepdims=True)
    return deviations * inv_std_dev(rows, (2,), epsilon)


def by_inv_std_dev(inv_std_dev: InvStdDevOf, *, computes: bool = False) -> Mapping[int, Formula]:
    """Return the formula of version 21, from what makes 1 over the standard deviation.

    With `computes`, stage two is computed in the type of X, also of 16 bits. The formula raises
    InvalidNode for what is not legal, and for an empty X by one reading of EMPTY_GROUPS.
    """

    def stage_one(x: Tensor, groups: int, epsilon: float) -> Tensor:
        rows = xp.reshape(x, shape_of_rows(x.shape, groups))
        return xp.reshape(normalized_rows(rows, epsilon, inv_std_dev), x.shape)

    return group_normalization(stage_one, computes=computes)


# The function body computes the variance in one pass, so that this brings no remark.
declare_by_inv_std_dev(OP, by_inv_std_dev, remark="")


# ── mutants ───────────────────────────────────────────────────────────────────────────────────

#: Makes a row for each group, (…, rows, places), of the places (N, C, D1, …, Dn) and the number of
#: groups.
Grouping: TypeAlias = Callable[[Places, int], Places]
#: The channel whose scale and bias each channel has, from its number and the size of a group.
ChannelOf: TypeAlias = Callable[[Places, int], Places]


def with_other_groups(grouping: Grouping) -> Mapping[int, Formula]:
    """Return the formula with other elements in each group."""
    return group_normalization(partial(normalized_in_groups, grouping))


def normalized_in_groups(grouping: Grouping, x: Tensor, groups: int, epsilon: float) -> Tensor:
    """Return `x`, (N, C, D1, …, Dn), normalized in other groups than the text's, for mutants.

    grouping: makes a row of places in `x` for each group, of the array of all places and the number
    of groups. Each element comes out at its own place.
    """
    places = grouping(np.arange(x.size).reshape(x.shape), groups)
    rows = normalized_rows(xp.reshape(x, (-1,))[places], epsilon)
    in_order = xp.reshape(rows, (-1,))[np.argsort(places.reshape(-1))]
    return xp.reshape(in_order, x.shape)


def channels_in_turns(places: Places, groups: int) -> Places:
    """Mutant: channel c belongs to group c modulo `groups`."""
    n, channels, *image = places.shape
    turns = places.reshape(n, channels // groups, groups, prod(image)).swapaxes(1, 2)
    return turns.reshape(shape_of_rows(places.shape, groups))


def group_sizes(places: Places, groups: int) -> Places:
    """Mutant: num_groups is the number of channels in a group."""
    return places.reshape(shape_of_rows(places.shape, places.shape[1] // groups))


def instances(places: Places, groups: int) -> Places:
    """Mutant: each channel is a group."""
    channels = places.shape[1] or 1
    return places.reshape(shape_of_rows(places.shape, channels))


def across_batches(places: Places, groups: int) -> Places:
    """Mutant: the groups of all instances are one."""
    rows = places.reshape(shape_of_rows(places.shape, groups))
    return rows.swapaxes(0, 1).reshape(1, groups, -1)


OP.mutant_table(
    {
        "channels_in_turns": ("the channels went to the groups in turns", channels_in_turns),
        "group_sizes": (
            "num_groups was taken for the number of channels in a group",
            group_sizes,
        ),
        "instances": ("each channel was a group", instances),
        "across_batches": ("the groups of all batches were one", across_batches),
    },
    build=with_other_groups,
)


@formulas_of_versions(21)
def with_other_operands(
    channel_of: ChannelOf, X: Tensor, scale: Tensor, bias: Tensor, **attrs: Any
) -> Tensor:
    """Return the output with scale and bias of other channels, for mutants.

    channel_of: makes the channels to take them from, of all channels' numbers and the size of a
    group. attrs: as of the formula. Raises InvalidNode for shapes and attributes that are not legal
    there.
    """
    formula = OP.formulas[21]
    formula(X, scale, bias, **attrs)  # Raises for what is not legal.
    channels = scale.shape[0]
    size_of_group = max(1, channels // attrs["num_groups"])
    place = channel_of(np.arange(channels), size_of_group)
    y: Tensor = formula(X, scale[place], bias[place], **attrs)
    return y


def first_of_the_group(channel: Places, size: int) -> Places:
    """Mutant: all channels of a group have the scale and bias of its first."""
    return channel // size * size


def scale_of_groups(channel: Places, size: int) -> Places:
    """Mutant: the channels of group g have the scale and bias at g, as in version 18."""
    return channel // size


OP.mutant_table(
    {
        "first_of_the_group": (
            "of each group the first channel's scale and bias served for all",
            first_of_the_group,
        ),
        "scale_of_groups": (
            "scale and bias were those of groups, as in version 18",
            scale_of_groups,
        ),
    },
    build=with_other_operands,
)
