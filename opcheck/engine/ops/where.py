"""Where (9, 16): each element of X where the condition holds, and of Y where it does not."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast
from opcheck.engine.operators import FLOATING, operator

OP = operator("Where", exact=True)


@OP.formula(9, 16)
def chosen(condition, X, Y):
    return xp.where(*broadcast(condition, X, Y))


@OP.mutant("the choice was computed as c * X + (1 - c) * Y", only=FLOATING)
def blended(condition, X, Y):
    condition, X, Y = broadcast(condition, X, Y)
    c = condition.astype(X.dtype)
    return c * X + (1 - c) * Y


@OP.mutant("X and Y were added, each with zeros where the other is chosen", only=FLOATING)
def added(condition, X, Y):
    condition, X, Y = broadcast(condition, X, Y)
    return xp.where(condition, X, X.dtype.type(0)) + xp.where(condition, Y.dtype.type(0), Y)


@OP.mutant("only the first element of the condition was read")
def first_for_all(condition, X, Y):
    condition, X, Y = broadcast(condition, X, Y)
    return xp.where(np.full_like(condition, condition.size and condition.flat[0]), X, Y)
