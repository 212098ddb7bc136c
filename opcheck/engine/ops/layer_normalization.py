"""LayerNormalization (17): the axes from `axis` on are brought to mean 0 and variance 1.

The text's two stages, the first of which is computed in the type that `stash_type` names:

    Mean = ReduceMean<axes=normalized_axes>(X)
    D = Sub(X, Mean)
    Var = ReduceMean<axes=normalized_axes>(D * D)
    InvStdDev = Reciprocal(Sqrt(Var + epsilon))
    Normalized = D * InvStdDev

    Y = Normalized * Scale + B

How the variance is made, and 1 over its root, is shared with the other normalizations.

The parts of the file: the formula; its mutants.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, stretches
from opcheck.engine.operators import Formula, formulas_of_versions, operator
from opcheck.engine.ops.normalizations import (
    Axes,
    InvStdDevOf,
    declare_by_inv_std_dev,
    folded,
    stashed,
    two_pass,
)
from opcheck.engine.readings import Ruling
from opcheck.numbers import Tensor

STASH_TYPE_OF_NO_MEAN = Ruling(
    "stash-type-of-no-mean",
    "stash_type names the type of Mean and InvStdDev, float or bfloat16, and the precision of "
    "stage one. The text does not state whether it may be another where neither is asked for.",
    ("refused", "computed"),
)
#: The numbers of types that Mean and InvStdDev may have: float and bfloat16.
STASH_TYPES = (1, 16)
#: The numbers of other floating types: float16 and double.
OTHER_STASH_TYPES = (10, 11)


# ── the formula ───────────────────────────────────────────────────────────────────────────────


def axes_from(axis: int, rank: int) -> Axes:
    """Return the normalized axes: "[axis, ..., rank of X - 1]", counted from the front.

    Raises InvalidNode for an axis outside of [-rank, rank-1], as any is for rank 0.
    """
    return tuple(range(from_either_end(axis, rank), rank))


@formulas_of_versions(17, options=["normalized_axes", "computes", "folds"])
def layer_normalization(
    inv_std_dev: InvStdDevOf,
    X: Tensor,
    Scale: Tensor,
    B: Tensor | None = None,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    used: Collection[int] = (0,),
    normalized_axes: Callable[[int, int], Axes] = axes_from,
    computes: bool = False,
    folds: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return Y in the shape of X, and Mean and InvStdDev with the normalized axes of length 1.

    `inv_std_dev` makes 1 over the standard deviation, and `normalized_axes` the axes. Scale and B
    broadcast to X; B may be None. Y has the type of X, the others that of `stash_type`; of no
    elements they are NaN. With `computes`, stage two is computed in the type of X, also of 16 bits;
    one that `folds` is a product and a sum, in the type of `stash_type`.

    Raises InvalidNode where Scale or B does not broadcast to X, for an axis that X does not have,
    and for a `stash_type` other than float and bfloat16; float16 and double may be allowed where
    only Y is `used`: STASH_TYPE_OF_NO_MEAN.
    """
    axes = normalized_axes(axis, X.ndim)
    for name, operand in (("Scale", Scale), ("B", B)):
        if operand is not None:
            stretches(name, operand, X)
    x = stashed(X, stash_type, *stash_types(stash_type, used))
    mean = xp.mean(x, axis=axes, keepdims=True)
    inverse = inv_std_dev(x, axes, epsilon)
    if folds:
        wide_scale = xp.astype(Scale, x.dtype)
        wide_bias = 0 if B is None else xp.astype(B, x.dtype)
        y = xp.astype(folded(x, mean, inverse, wide_scale, wide_bias), X.dtype, computes=computes)
    else:
        y = xp.astype((x - mean) * inverse, X.dtype, computes=computes) * Scale
        y = y if B is None else y + B
    return y, xp.astype(mean, x.dtype), xp.astype(inverse, x.dtype)


def stash_types(stash_type: int, used: Collection[int]) -> tuple[int, ...]:
    """Return what stash_type may be, by the places of the outputs that are `used`.

    It is float or bfloat16. Where neither Mean nor InvStdDev is used, and it is float16 or double,
    these are allowed too, or not: STASH_TYPE_OF_NO_MEAN.
    """
    needs_only_y = not {1, 2}.intersection(used)
    is_open = needs_only_y and stash_type in OTHER_STASH_TYPES
    if is_open and STASH_TYPE_OF_NO_MEAN.reading() == "computed":
        return STASH_TYPES + OTHER_STASH_TYPES
    return STASH_TYPES


OP = operator("LayerNormalization")
declare_by_inv_std_dev(
    OP, layer_normalization, "where the variance is E[x²] − E[x]², which cancels"
)
OP.alternative(
    "where it is folded into x·a + b, which cancels",
    build=partial(layer_normalization, folds=True),
)(two_pass)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def first_axis_from(axis: int, rank: int) -> Axes:
    """Mutant: `axis` alone is normalized.

    Raises InvalidNode for an axis outside of [-rank, rank-1].
    """
    return axes_from(axis, rank)[:1]


OP.mutant(
    "`axis` alone was normalized, and not the axes after it",
    name="one_axis",
    build=partial(layer_normalization, normalized_axes=first_axis_from),
)(two_pass)


@OP.mutant("the variance was taken along the last axis alone", build=layer_normalization)
def last_axis_alone(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Mutant: the variance is that along the last axis."""
    return xp.broadcast_to(two_pass(x, axes[-1:], epsilon), x.shape)


#: Changes Y, Mean and InvStdDev; the last argument is the first of the normalized axes.
Change: TypeAlias = Callable[[Tensor, Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]]


def with_outputs_changed(change: Change) -> Mapping[int, Formula]:
    """Return a mutant's formula by version: `change` makes its outputs of the right ones.

    `change` takes Y, Mean, InvStdDev and the axis, counted from the front. The formula raises
    what the right one does.
    """

    def formula(
        X: Tensor, Scale: Tensor, B: Tensor | None = None, **attrs: Any
    ) -> tuple[Tensor, ...]:
        """Return the changed outputs.

        Raises InvalidNode for an axis out of range, and what version 17's formula does.
        """
        axis = from_either_end(attrs["axis"], X.ndim)
        y, mean, inverse = OP.formulas[17](X, Scale, B, **attrs)
        return change(y, mean, inverse, axis)

    return {17: formula}


def deviation_in_place_of_inverse(
    y: Tensor, mean: Tensor, inverse: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Mutant: InvStdDev is the standard deviation."""
    return y, mean, 1 / inverse


def variance_in_place_of_inverse(
    y: Tensor, mean: Tensor, inverse: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Mutant: InvStdDev is the variance."""
    return y, mean, 1 / (inverse * inverse)


def axes_dropped(
    y: Tensor, mean: Tensor, inverse: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Mutant: Mean and InvStdDev lose the normalized axes."""
    kept = mean.shape[:axis]
    return y, xp.reshape(mean, kept), xp.reshape(inverse, kept)


OP.mutant_table(
    {
        "deviation_in_place_of_inverse": (
            "InvStdDev held the standard deviation",
            deviation_in_place_of_inverse,
        ),
        "variance_in_place_of_inverse": (
            "InvStdDev held the variance",
            variance_in_place_of_inverse,
        ),
        "axes_dropped": (
            "Mean and InvStdDev lost the axes that were normalized",
            axes_dropped,
        ),
    },
    build=with_outputs_changed,
)
