"""Where (9, 16): each element of X where the condition holds, and of Y where it does not."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast
from opcheck.engine.operators import FLOATING, operator

OP = operator("Where", exact=True)


def stretched(function):
    """Both versions, from `function(condition, X, Y)` of tensors of one shape."""
    return dict.fromkeys((9, 16), lambda condition, X, Y: function(*broadcast(condition, X, Y)))


def blended(condition, X, Y):
    c = condition.astype(X.dtype)
    return c * X + (1 - c) * Y


OP.formula(by=stretched)(xp.where)
OP.mutant_table({
    "blended": ("the choice was computed as c * X + (1 - c) * Y", blended),
    "added": ("X and Y were added, each with zeros where the other is chosen",
        lambda c, X, Y: xp.where(c, X, X.dtype.type(0)) + xp.where(c, Y.dtype.type(0), Y)),
}, by=stretched, only=FLOATING)  # fmt: skip
OP.mutant("only the first element of the condition was read", name="first_for_all", by=stretched)(
    lambda condition, X, Y: xp.where(
        np.full_like(condition, condition.size and condition.flat[0]), X, Y)
)  # fmt: skip
