"""Hardmax (1, 11, 13): 1 for the first maximum of each row, 0 for the rest."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, matrix_of
from opcheck.engine.operators import operator

OP = operator("Hardmax", low=0.0, high=1.0, exact=True)


@OP.formula(1)
def of_matrix_1(input, *, axis):
    """Rows of the matrix that the input is coerced to; version 1 documents no negative axis."""
    return coerced(input, from_the_front(axis, input.ndim))


@OP.formula(11)
def of_matrix_11(input, *, axis):
    """Rows of the matrix that the input is coerced to."""
    return coerced(input, from_either_end(axis, input.ndim))


@OP.formula(13)
def along_axis(input, *, axis):
    """Rows along one axis."""
    axis = from_either_end(axis, input.ndim)
    return one_hot(input, axis) if input.size else input


def coerced(x, axis):
    if not x.size:
        return x
    return xp.reshape(one_hot(xp.reshape(x, matrix_of(x.shape, axis)), 1), x.shape)


def one_hot(x, axis):
    """1 at the first maximum along `axis`, which is the first NaN where there is one."""
    first = xp.argmax(x, axis=axis, keepdims=True)
    places = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return xp.astype(xp.equal(places, first), x.dtype)
