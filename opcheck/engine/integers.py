"""Sums and products of integers that their type does not hold.

No text of ONNX states what they become: hardware wraps around, or stays at the end of the range. A
result that the type does hold is defined, whatever partial sums do on the way.
"""

from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.operators import is_judging, leave_open
from opcheck.engine.readings import Ruling
from opcheck.numbers import Array, Tensor

#: A sum, difference or product of two tensors, which broadcast.
OfPair: TypeAlias = Callable[[Tensor, Tensor], Tensor]

OUTSIDE_THE_INTEGERS = Ruling(
    "outside-the-integers",
    "The text does not state what a sum, difference or product becomes that its type of integers "
    "does not hold.",
    ("wraps", "saturates"),
    by_element=True,
)


def in_type(function: OfPair) -> OfPair:
    """Return `function`, a sum, difference or product, that follows OUTSIDE_THE_INTEGERS.

    Where the type of integers does not hold an element of the result, it wraps around, or is the
    end of the range that it is beyond. Numbers of other kinds are computed by `function` itself.
    """

    @wraps(function)
    def of_pair(a: Array, b: Array) -> Array:
        y = function(a, b)
        if not _are_integers(a, b) or _holds_corners(function, a, b):
            return y
        exact: Any = np.asarray(function(_exactly(a), _exactly(b)), object)
        limits = np.iinfo(a.dtype)
        saturated = np.asarray(np.clip(exact, limits.min, limits.max), object)
        if np.all(saturated == exact) or OUTSIDE_THE_INTEGERS.reading() == "wraps":
            return y
        return saturated.astype(a.dtype)

    return of_pair


def check_in_type(function: Callable[..., Array], *operands: Array | None) -> None:
    """Raise NotSupported, while judging, where integers do not hold an element of `function`.

    function: sums and products of many elements, computed of the `operands` that are not None,
        which have one type. It takes float64 and Python's integers, as arrays of objects, too; of
        magnitudes, its result is at least the magnitude of each sum.

    Partial sums that saturate give many results, so that these are not listed. Operands that are
    not integers pass.
    """
    if not is_judging():
        return
    given = [x for x in operands if x is not None]
    if not _are_integers(*given):
        return
    limits = np.iinfo(given[0].dtype)
    magnitudes = (None if x is None else np.abs(x.astype(np.float64)) for x in operands)
    with np.errstate(over="ignore"):
        # Half the range leaves room for what float64 rounds.
        if np.all(function(*magnitudes) <= limits.max / 2):
            return
    exact = function(*(None if x is None else _exactly(x) for x in operands))
    if np.any(exact < limits.min) or np.any(exact > limits.max):
        leave_open("nothing is said of integers that the type does not hold")


def _are_integers(*operands: Any) -> bool:
    """Return True for plain tensors of integers, of which each has an element or more."""
    return all(
        isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "iu" and x.size > 0
        for x in operands
    )


def _holds_corners(function: OfPair, a: Array, b: Array) -> bool:
    """Return True if the type holds `function` of the extremes, and thus of all between them."""
    limits = np.iinfo(a.dtype)
    corners = product(_ends_of(a), _ends_of(b))
    return all(limits.min <= function(x, y) <= limits.max for x, y in corners)


def _ends_of(x: Array) -> tuple[Any, Any]:
    """Return the least and the largest element, as scalars of Python's integers."""
    return np.asarray(int(x.min()), object), np.asarray(int(x.max()), object)


def _exactly(x: Array) -> Array:
    """Return integers as Python's, in an array of objects, of rank 0 too."""
    return np.asarray(x).astype(object)
