"""Where (9, 16): each element of X where the condition holds, and of Y where it does not."""

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast
from opcheck.engine.operators import FLOATING, operator

OP = operator("Where", exact=True)


@OP.formula(9, 16)
def chosen(condition, X, Y):
    return xp.where(*broadcast(condition, X, Y))


OP.mutant_table(
    {
        "blended": (
            "the choice was computed as c * X + (1 - c) * Y",
            lambda c, X, Y: c.astype(X.dtype) * X + (~c).astype(X.dtype) * Y,
            *FLOATING,
        ),
        "added": (
            "X and Y were added, each with zeros where the other is chosen",
            lambda c, X, Y: xp.where(c, X, X.dtype.type(0)) + xp.where(c, Y.dtype.type(0), Y),
            *FLOATING,
        ),
        "first_for_all": (
            "only the first element of the condition was read",
            lambda c, X, Y: X if c.size and c.flat[0] else Y,
        ),
    },
    build=lambda mixed: dict.fromkeys(
        (9, 16), lambda condition, X, Y: mixed(*broadcast(condition, X, Y))
    ),
)
