"""DML_ACTIVATION_HARDMAX1: 1 for the first maximum over several axes jointly, 0 for the rest.

The joint index runs over the axes in increasing dimension order, row-major; the first maximum in
that order (DML_AXIS_DIRECTION_INCREASING) gets the 1. Unsorted axes, which the text leaves open,
count as sorted.
"""

from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.ops.hardmax import one_hot
from opcheck.errors import InvalidNode
from opcheck.opset.directml import DOMAIN, invalid_axes, reduced_last

OP = operator("DML_ACTIVATION_HARDMAX1", DOMAIN, low=0.0, high=1.0, exact=True)


@OP.formula(1)
def over_axes(InputTensor, *, Axes):
    if problem := invalid_axes(Axes, InputTensor.ndim):
        raise InvalidNode(problem)
    order = reduced_last(Axes, InputTensor.ndim)
    moved = xp.permute_dims(InputTensor, order)
    rows = xp.reshape(moved, (prod(moved.shape[: -len(Axes)]), -1)) if moved.size else moved
    ones = one_hot(rows, 1) if moved.size else moved
    return xp.permute_dims(xp.reshape(ones, moved.shape), np.argsort(order))
