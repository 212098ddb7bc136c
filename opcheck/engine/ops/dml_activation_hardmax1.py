"""DML_ACTIVATION_HARDMAX1: 1 for the first maximum over several axes jointly, 0 for the rest.

The joint index runs over the axes in increasing dimension order, row-major; the first maximum in
that order (DML_AXIS_DIRECTION_INCREASING) gets the 1. Unsorted axes, which the text leaves open,
count as sorted.
"""

from functools import partial
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.ops import hardmax
from opcheck.errors import InvalidNode
from opcheck.opset import DML, MAX_RANK, invalid_axes

OP = operator("DML_ACTIVATION_HARDMAX1", DML, low=0.0, high=1.0, exact=True)


@OP.formula(1)
def over_axes(InputTensor, *, Axes):
    if problem := invalid_axes(Axes, InputTensor.ndim):
        raise InvalidNode(problem)
    return first_maxima(InputTensor, sorted(Axes))


def first_maxima(x, axes, of_rows=hardmax.one_hot):
    """1 for the first maximum over `axes`; the last axis runs fastest."""
    if not x.size:
        return x
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    moved = xp.permute_dims(x, order)
    rows = xp.reshape(moved, (prod(moved.shape[: x.ndim - len(axes)]), -1))
    return xp.permute_dims(xp.reshape(of_rows(rows, 1), moved.shape), np.argsort(order))


def legal(change):
    """Apply `change` to a legal input and its axes."""

    def formula(InputTensor, *, Axes):
        over_axes(InputTensor, Axes=Axes)
        return change(InputTensor, Axes)

    return formula


def over(change):
    """The formula over what `change` makes of legal axes, sorted, and the rank."""
    return legal(lambda x, axes: first_maxima(x, change(sorted(axes), x.ndim)))


def accepting(read):
    """The formula over what `read` makes of the axes as they are stated, and the rank."""
    return lambda InputTensor, *, Axes: over_axes(InputTensor, Axes=read(Axes, InputTensor.ndim))


def of_rank(accepted, InputTensor, *, Axes):
    """The formula for tensors of some more ranks, over the axes that there are."""
    x = InputTensor
    axes = sorted({axis for axis in Axes if 0 <= axis < x.ndim})
    return first_maxima(x, axes) if accepted(x.ndim) else over_axes(x, Axes=Axes)


def refusing_unsorted(InputTensor, *, Axes):
    if list(Axes) != sorted(Axes):
        raise InvalidNode("Axes are not sorted")
    return over_axes(InputTensor, Axes=Axes)


def one_after_another(x, axes):
    for axis in sorted(axes):
        x = first_maxima(x, [axis])
    return x


def wrong_rows(of_rows):
    """The formula with a mistake that ONNX's Hardmax may have too."""
    return legal(lambda x, axes: first_maxima(x, sorted(axes), of_rows))


MUTANTS = {
    "axes_in_the_order_stated": (
        "joint indices ran through the axes in the order in which they are stated",
        legal(first_maxima)),
    "nine_dimensions_accepted": ("more than 8 dimensions were accepted",
                                 partial(of_rank, lambda rank: rank > MAX_RANK)),
    "no_dimension_accepted": ("a tensor without dimensions was accepted",
                              partial(of_rank, lambda rank: rank < 1)),
    "refuses_unsorted_axes": ("axes that do not increase were refused", refusing_unsorted),
    "repeated_axes_counted_once": ("an axis that is listed twice was taken once",
                                   accepting(lambda axes, rank: sorted({*axes}))),
    "no_axes_are_all": ("no axes at all were taken for all of them",
                        accepting(lambda axes, rank: axes or range(rank))),
    "negative_axes_accepted": ("negative axes were counted from the back", accepting(
        lambda axes, rank: [a % rank if -rank <= a < 0 else a for a in axes])),
    "ties_in_column_major_order": ("the first of equal maxima was that of the transposed tensor",
                                   over(lambda axes, rank: axes[::-1])),
    "axes_between_too": ("all axes from the first to the last of those stated competed",
                         over(lambda axes, rank: [*range(axes[0], axes[-1] + 1)])),
    "axes_complemented": ("the axes stated were kept apart, and the others competed",
                          over(lambda axes, rank: [a for a in range(rank) if a not in axes])),
    "first_of_the_axes_only": ("only the first of the axes competed",
                               over(lambda axes, rank: axes[:1])),
    "last_of_the_axes_only": ("only the last of the axes competed",
                              over(lambda axes, rank: axes[-1:])),
    "coercion": ("all axes from the first stated competed, as in ONNX's Hardmax before 13",
                 over(lambda axes, rank: [*range(axes[0], rank)])),
    "one_axis_after_another": (
        "the operator was computed along one axis, and of that along the next",
        legal(one_after_another)),
    **{name: (text, wrong_rows(of_rows)) for name, (text, of_rows) in hardmax.MUTANTS.items()},
}  # fmt: skip
OP.mutant_table(MUTANTS, 1)
