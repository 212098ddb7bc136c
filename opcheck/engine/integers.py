"""Sums and products of integers that their type does not hold.

No text of ONNX states what they become: hardware wraps around, or stays at the end of the range. A
result that the type does hold is defined, whatever partial sums do on the way.
"""

from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.operators import is_judging, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.engine.undefined import undefined_where
from opcheck.numbers import Array, Tensor

#: A sum, difference or product of two tensors, which broadcast.
OfPair: TypeAlias = Callable[[Tensor, Tensor], Tensor]

#: What nothing is said of, where sums and products are of many elements.
OUTSIDE = "integers that the type does not hold"
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


def outside_of_type(
    function: Callable[..., Array], *operands: Array | None
) -> NDArray[np.bool_] | bool:
    """Return a mask, while judging, of where integers do not hold an element of `function`.

    function: sums and products of many elements, computed of the `operands` that are not None,
        which have one type. It takes float64 and Python's integers, as arrays of objects, too; of
        magnitudes, its result is at least the magnitude of each sum.

    Partial sums that saturate give many results, so that these are not listed. False where there
    are none, and for operands that are not integers.
    """
    if not is_judging():
        return False
    given = [x for x in operands if x is not None]
    if not _are_integers(*given):
        return False
    limits = np.iinfo(given[0].dtype)
    magnitudes = (None if x is None else np.abs(x.astype(np.float64)) for x in operands)
    with np.errstate(over="ignore"):
        # Half the range leaves room for what float64 rounds.
        if np.all(function(*magnitudes) <= limits.max / 2):
            return False
    exact = function(*(None if x is None else _exactly(x) for x in operands))
    return np.asarray((exact < limits.min) | (exact > limits.max), np.bool_)


def marked_in_type(y: Array, function: Callable[..., Array], *operands: Array | None) -> Any:
    """Return `y`, what `function` makes of operands, whose elements outside of their type are open.

    They may be anything; see `outside_of_type` for the arguments, and `undefined_where` for the
    result, which is that of a formula. Raises NotSupported, while judging, if there are no other
    elements, and in graphs.
    """
    return undefined_where(y, outside_of_type(function, *operands), OUTSIDE)


def check_in_type(function: Callable[..., Array], *operands: Array | None) -> None:
    """Raise NotSupported, while judging, where integers do not hold an element of `function`.

    See `outside_of_type` for the arguments.
    """
    if np.any(outside_of_type(function, *operands)):
        raise_unspecified(OUTSIDE)


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
