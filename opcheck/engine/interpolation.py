"""Interpolation: the nearest element, and the weights of elements, that several operators share.

Resize, Upsample and GridSample compute values of a tensor beside and between its elements.
Implementations compute coordinates in float32: where that cannot tell which of two neighbors is
nearer, either is right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import is_real
from opcheck.engine.readings import Ruling
from opcheck.numbers import Array

#: Coordinates along one axis, or what they are sums of.
FloatArray: TypeAlias = NDArray[np.float64]
#: Indices along one axis.
IndexArray: TypeAlias = NDArray[np.int64]
#: Rounds coordinates to whole numbers.
Rounding: TypeAlias = Callable[[FloatArray], FloatArray]
#: The weight of an element, from its distance.
Kernel: TypeAlias = Callable[[Array], Array]

CORNERS_OF_ONE_ELEMENT = Ruling(
    "corners-of-one-element",
    "The text does not state where the only element of an axis lies between corners: 0 / 0.",
    ("first", "middle", "last"),
)
NEARER_NEIGHBOR = Ruling(
    "nearer-neighbor",
    "The text does not state in which precision coordinates are computed, and float32 cannot tell "
    "which neighbor is nearer.",
    ("nearest", "the_other"),
    by_element=True,
)


@dataclass(frozen=True)
class Neighbors:
    """The index of the nearest element of each coordinate, and those that may be taken for it.

    Attributes:
        lowest: The index if the coordinate is as much smaller as rounding can make it.
        nearest: The index of the coordinate as it is.
        highest: The index if the coordinate is as much larger.
    """

    lowest: IndexArray
    nearest: IndexArray
    highest: IndexArray

    @classmethod
    def all_sure(cls, index: IndexArray) -> "Neighbors":
        """Return neighbors that are certain."""
        return cls(index, index, index)

    @property
    def are_sure(self) -> bool:
        """True if rounding decides nothing."""
        return np.array_equal(self.lowest, self.highest)

    def equal(self, other: "Neighbors") -> bool:
        """Return True if all indices are the same."""
        mine = self.lowest, self.nearest, self.highest
        return np.array_equal(mine, (other.lowest, other.nearest, other.highest))

    def are_within(self, low: int, high: int) -> NDArray[np.bool_]:
        """Return a mask of where the nearest index is from `low` to `high`."""
        return (self.nearest >= low) & (self.nearest <= high)

    def replaced(self, mask: NDArray[np.bool_], index: IndexArray) -> "Neighbors":
        """Return the same, with other indices where a mask is true, which are certain there."""
        return Neighbors(
            lowest=np.where(mask, index, self.lowest),
            nearest=np.where(mask, index, self.nearest),
            highest=np.where(mask, index, self.highest),
        )

    def the_other(self) -> IndexArray:
        """Return the index that may be taken for the nearest, and is not; or the nearest."""
        return np.where(self.nearest == self.highest, self.lowest, self.highest)

    def is_highest(self, shape: Sequence[int]) -> Array:
        """Return a mask, in this shape, of where the highest index is the nearest.

        Where the lowest may be taken for it too, the mask is unsure: it compares a number that is
        nearly 0 with 0, and an error that covers both signs goes with it.
        """
        side = np.where(self.nearest == self.highest, 1.0, -1.0)
        distance = np.where(self.lowest == self.highest, 1.0, 1e-30)
        one = xp.astype(np.ones(()), np.float64)
        unsure_zero = xp.inexact(one, 1) - 1.0
        return xp.greater(unsure_zero + (side * distance).reshape(shape), 0.0)


def index_that_counts(neighbors: Neighbors, number: int) -> IndexArray:
    """Return the nearest indices along axis `number`, or the others: NEARER_NEIGHBOR.

    Each axis has a ruling of its own, so that an element may have any combination of neighbors.
    """
    if neighbors.are_sure:
        return neighbors.nearest
    along_this_axis = replace(NEARER_NEIGHBOR, id=f"{NEARER_NEIGHBOR.id}-along-axis-{number}")
    if along_this_axis.reading() == "the_other":
        return neighbors.the_other()
    return neighbors.nearest


def nearest_elements(X: Array, number: int, neighbors: Neighbors) -> Array:
    """Return the nearest elements along axis `number`, or either of two where that is not sure.

    X: of any kind of numbers and type; the axis gets the length of `neighbors`. Of real floating
    numbers the answer is unsure; of others it is NEARER_NEIGHBOR's, for each axis by itself.
    """
    if neighbors.are_sure:
        return xp.take(X, neighbors.nearest, axis=number)
    if is_real(X):
        is_highest = neighbors.is_highest((-1, *[1] * (X.ndim - number - 1)))
        highest = xp.take(X, neighbors.highest, axis=number)
        lowest = xp.take(X, neighbors.lowest, axis=number)
        return xp.where(is_highest, highest, lowest)
    return xp.take(X, index_that_counts(neighbors, number), axis=number)


def linear(distance: Array) -> Array:
    """Return the weight of an element for linear interpolation: 1 - distance, at least 0."""
    return xp.maximum(1.0 - distance, 0.0)


def cubic(a: float, d: Array) -> Array:
    """Return the weight at distance `d`, 0 or more: Equation (4), with the coefficient `a`.

    (a + 2) d³ - (a + 3) d² + 1 below 1, and a d³ - 5 a d² + 8 a d - 4 a below 2; 0 from there on.
    It goes on smoothly where its parts meet.
    """
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return xp.where(xp.less(d, 1), near, xp.where(xp.less(d, 2), far, xp.zeros_like(d)))
