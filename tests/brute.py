"""Hardmax straight from the sentences of its specifications, in loops over plain Python lists.

Slow, and without an array operation that could be wrong in the way the engine's are.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

#: The elements that compete for a one, as places in the flat tensor, in the order that decides
#: which of them is the first.
Row: TypeAlias = list[int]


def coerced(shape: Sequence[int], axis: int) -> list[Row]:
    """Versions 1 and 11: "a 2-dimensional tensor with dimensions
    [a_0 * … * a_{k-1}, a_k * … * a_{n-1}]", a row being a line of it.
    """
    width = prod(shape[axis:])
    return [[line * width + place for place in range(width)] for line in range(prod(shape[:axis]))]


def along(shape: Sequence[int], axes: Sequence[int]) -> list[Row]:
    """Version 13, with one axis, and DirectML, with several: the elements whose other coordinates
    agree, in row-major order.
    """
    rows: dict[tuple[int, ...], Row] = {}
    for place, index in enumerate(product(*map(range, shape))):
        others = tuple(i for dimension, i in enumerate(index) if dimension not in axes)
        rows.setdefault(others, []).append(place)
    return list(rows.values())


def first_maximum(values: Sequence[float]) -> int:
    """The place of the first element that nothing before it reaches and nothing after it beats."""
    (place,) = (
        place
        for place, value in enumerate(values)
        if all(value > before for before in values[:place])
        and all(value >= after for after in values[place + 1 :])
    )
    return place


def hardmax(
    x: Any, rows: list[Row], choose: Callable[[Sequence[float]], int] = first_maximum
) -> Any:
    """`x` with a one at the first maximum of each row and zeros elsewhere."""
    values = [float(value) for value in x.reshape(-1)]
    out = np.zeros(len(values))
    for row in rows:
        if row:
            out[row[choose([values[place] for place in row])]] = 1
    return out.reshape(x.shape).astype(x.dtype)
