"""Where, all versions: each element of X where the condition holds, and of Y where it does not."""

from collections.abc import Callable
from typing import TypeAlias

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast
from opcheck.engine.operators import FLOATING, formulas_of_versions, operator
from opcheck.numbers import Array

OP = operator("Where", exact=True)


@OP.formula(9, 16)
def chosen(condition: Array, X: Array, Y: Array) -> Array:
    """Return elements "either from X or Y, depending on condition", which all broadcast.

    An element that is not chosen has no effect, NaN included. Raises InvalidNode if the three
    shapes do not broadcast.
    """
    return xp.where(*broadcast(condition, X, Y))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────

#: A wrong choice, from a condition, X and Y of one shape.
Choice: TypeAlias = Callable[[Array, Array, Array], Array]


@formulas_of_versions(9, 16)
def of_one_shape(choice: Choice, condition: Array, X: Array, Y: Array) -> Array:
    """Return `choice` of the three tensors broadcast to each other.

    Raises InvalidNode if their shapes do not broadcast.
    """
    return choice(*broadcast(condition, X, Y))


def blended(condition: Array, X: Array, Y: Array) -> Array:
    """Mutant: c * X + (1 - c) * Y, where infinity makes NaN."""
    return condition.astype(X.dtype) * X + (~condition).astype(X.dtype) * Y


def added(condition: Array, X: Array, Y: Array) -> Array:
    """Mutant: X and Y are added, each with zeros where the other one is chosen."""
    zero = X.dtype.type(0)
    return xp.where(condition, X, zero) + xp.where(condition, zero, Y)


def first_for_all(condition: Array, X: Array, Y: Array) -> Array:
    """Mutant: the first element of the condition is that of all."""
    return X if condition.size and condition.flat[0] else Y


OP.mutant_table(
    {
        "blended": ("the choice was computed as c * X + (1 - c) * Y", blended, *FLOATING),
        "added": (
            "X and Y were added, each with zeros where the other is chosen",
            added,
            *FLOATING,
        ),
        "first_for_all": ("only the first element of the condition was read", first_for_all),
    },
    build=of_one_shape,
)
