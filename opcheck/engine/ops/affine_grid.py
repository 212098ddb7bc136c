"""AffineGrid: where an affine matrix takes the centers of an image's or a volume's elements.

The parts of the file: the places of elements along one axis; the grid; its mutants. A function of
places takes numbers of elements, the length of their axis and align_corners, and returns places.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, listed
from opcheck.engine.interpolation import CORNERS_OF_ONE_ELEMENT
from opcheck.engine.operators import NamedMutants, formulas_of_versions, leave_open, operator
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode
from opcheck.numbers import Array

AFFINE_GRID = operator("AffineGrid")

#: From numbers of elements, the length of their axis and align_corners to places on it.
Places: TypeAlias = Callable[[Array, int, bool], Array]

#: How far the readings of CORNERS_OF_ONE_ELEMENT lie from the first corner.
FROM_THE_FIRST_CORNER = {"first": 0, "middle": 1, "last": 2}


# ── places ────────────────────────────────────────────────────────────────────────────────────


def in_steps(number: Array, length: int, align_corners: bool) -> Array:
    """Return the places of elements from -1 to 1: that of the first one, plus so many steps.

    number: any of 0 to `length` - 1, as floats. With align_corners, "-1 and 1 refer to the centers
    of the corner pixels", else "to the outer edge of the corner pixels". The only element of an
    axis is at -1 with align_corners, and at 0 without.
    """
    if align_corners:
        return number * (xp.real(2.0) / max(length - 1, 1)) - 1
    return number * (xp.real(2.0) / max(length, 1)) + (xp.real(1.0) / max(length, 1) - 1)


def scaled(number: Array, length: int, align_corners: bool) -> Array:
    """Return the places of elements from -1 to 1 in another way, which rounds elsewhere.

    Without align_corners, they are those with it, times (length - 1) / length. An axis of length 0
    counts as 1 in the divisor.
    """
    aligned = in_steps(number, length, True)
    if align_corners:
        return aligned
    return aligned * (xp.real(length - 1.0) / max(length, 1))


def doubled(number: Array, length: int, align_corners: bool) -> Array:
    """Return the places of elements from -1 to 1, each as a whole number that is divided once.

    The only element of an axis is at -1 with align_corners, and at 0 without.
    """
    if align_corners:
        return number * 2 / max(length - 1, 1) - 1
    return (number * 2 + 1) / max(length, 1) - 1


# ── the grid ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Geometry:
    """What the grid is computed from.

    Attributes:
        theta: The matrices, (N, n, n + 1) for n axes.
        lengths: H and W, or D, H and W.
        axes: The axes of x, y and z: the last axis comes first.
    """

    theta: Array
    lengths: Sequence[int]
    axes: Sequence[int]


def unchanged(geometry: Geometry) -> Geometry:
    """Return `geometry` itself: the formula's own, where a mutant changes something."""
    return geometry


@dataclass(frozen=True)
class Grid:
    """AffineGrid; `change` is what mutants do otherwise.

    Attributes:
        places: The places of elements along an axis.
        change: Is applied to what the grid is computed from.
    """

    places: Places = in_steps
    change: Callable[[Geometry], Geometry] = unchanged


@formulas_of_versions(20)
def affine_grid(grid: Grid, theta: Array, size: Array, *, align_corners: int) -> Array:
    """Return the positions in the output space: theta times (x, y, z, 1) of each element.

    theta: (N, 2, 3) or (N, 3, 4); size: a list (N, C, H, W) or (N, C, D, H, W), in which C changes
    nothing and 0 makes an empty result. The result: (N, H, W, 2) or (N, D, H, W, 3), in theta's
    type. grid: the steps, which mutants change.

    Raises InvalidNode for a size that is not such a list or has a negative number, and for a theta
    of another shape. An align_corners other than 0 and 1 counts as either, or raises it:
    FLAG_OF_ANOTHER_NUMBER. With align_corners, the only element of an axis is at -1, 0 or 1:
    CORNERS_OF_ONE_ELEMENT. Raises NotSupported, while judging, if theta without its last column
    holds an infinity; MemoryError for a grid of more than 2^28 numbers.
    """
    stated = listed("size", size)
    n = len(stated) - 2
    if n not in (2, 3) or min(stated) < 0 or theta.shape != (stated[0], n, n + 1):
        raise InvalidNode(f"theta {list(theta.shape)} for size {stated}")
    lengths = stated[2:]
    shape = (stated[0], *lengths, n)
    check_size(shape)
    is_aligned = flag("align_corners", align_corners)
    if np.isinf(xp.values_of(theta)[..., :-1]).any():
        leave_open("infinity times what may round to 0 is infinite, or no number")
    geometry = grid.change(Geometry(theta, lengths, range(n)[::-1]))
    positions = homogeneous_positions(grid.places, geometry, is_aligned)
    moved = xp.permute_dims(xp.matmul(geometry.theta, positions), (0, 2, 1))
    return xp.astype(xp.reshape(moved, shape), theta.dtype)


def homogeneous_positions(places: Places, geometry: Geometry, align_corners: bool) -> Array:
    """Return a row of x, one of y, … and one of ones, with a column for each element.

    `places` makes the places of elements along one axis of `geometry`. The elements are in
    row-major order. The shape is (n + 1, elements); the type float64 if theta has it, else float32.
    With align_corners, the only element of an axis is at -1, 0 or 1: CORNERS_OF_ONE_ELEMENT.
    """
    lengths = geometry.lengths
    computed_in = np.float64 if geometry.theta.dtype == np.float64 else np.float32
    rows = []
    for axis in geometry.axes:
        length = lengths[axis]
        along = places(xp.astype(np.arange(length), computed_in), length, align_corners)
        if align_corners and length == 1:
            offset = FROM_THE_FIRST_CORNER[CORNERS_OF_ONE_ELEMENT.reading()]
            # Nothing is added for the first, so that nothing is rounded.
            along = along + offset if offset else along
        shape = [1] * len(lengths)
        shape[axis] = -1
        spread = xp.broadcast_to(xp.reshape(along, shape), lengths)
        rows.append(xp.reshape(spread, (-1,)))
    ones = xp.astype(np.ones(prod(lengths)), computed_in)
    return xp.stack([*rows, ones])


AFFINE_GRID.formula(build=affine_grid)(Grid())
AFFINE_GRID.alternative("", build=affine_grid)(Grid(scaled))
AFFINE_GRID.alternative("", build=affine_grid)(Grid(doubled))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def from_0_to_1(number: Array, length: int, align_corners: bool) -> Array:
    """Mutant of `in_steps`: the places run from 0 to 1."""
    return (in_steps(number, length, align_corners) + 1) / 2


def upside_down(number: Array, length: int, align_corners: bool) -> Array:
    """Mutant of `in_steps`: the places run from 1 to -1."""
    return -in_steps(number, length, align_corners)


def from_the_first_edge(number: Array, length: int, align_corners: bool) -> Array:
    """Mutant of `in_steps`: each place is the edge at which its element begins."""
    return number * (2 / max(length, 1)) - 1


def y_before_x(geometry: Geometry) -> Geometry:
    """Mutant: the first axis comes first, as y of (y, x)."""
    return replace(geometry, axes=geometry.axes[::-1])


def height_for_width(geometry: Geometry) -> Geometry:
    """Mutant: the sizes are read from the last to the first."""
    return replace(geometry, lengths=geometry.lengths[::-1])


def translation_first(geometry: Geometry) -> Geometry:
    """Mutant: the translation is the first column."""
    theta = geometry.theta
    return replace(geometry, theta=xp.concat([theta[..., 1:], theta[..., :1]], axis=2))


def translation_ignored(geometry: Geometry) -> Geometry:
    """Mutant: the translation is 0."""
    theta = geometry.theta
    return replace(geometry, theta=xp.concat([theta[..., :-1], theta[..., -1:] * 0], axis=2))


def matrix_transposed(geometry: Geometry) -> Geometry:
    """Mutant: the matrix in front of the translation is transposed."""
    theta = geometry.theta
    transposed = xp.permute_dims(theta[..., :-1], (0, 2, 1))
    return replace(geometry, theta=xp.concat([transposed, theta[..., -1:]], axis=2))


def first_matrix_for_all(geometry: Geometry) -> Geometry:
    """Mutant: the first matrix serves for the whole batch."""
    theta = geometry.theta
    return replace(geometry, theta=xp.broadcast_to(theta[:1], theta.shape))


MUTANTS: NamedMutants[Grid] = {
    "from_0_to_1": ("the places ran from 0 to 1", Grid(from_0_to_1)),
    "upside_down": ("the places ran from 1 to -1", Grid(upside_down)),
    "from_the_first_edge": (
        "each place was the edge at which its element begins",
        Grid(from_the_first_edge),
    ),
    "y_before_x": ("the first axis came first, as y of y, x", Grid(change=y_before_x)),
    "height_for_width": (
        "the sizes were read from the last to the first",
        Grid(change=height_for_width),
    ),
    "translation_first": ("the translation was the first column", Grid(change=translation_first)),
    "translation_ignored": ("the translation was ignored", Grid(change=translation_ignored)),
    "matrix_transposed": (
        "the matrix stood before its translation, transposed",
        Grid(change=matrix_transposed),
    ),
    "first_matrix_for_all": (
        "the first matrix served for the whole batch",
        Grid(change=first_matrix_for_all),
    ),
}
AFFINE_GRID.mutant_table(MUTANTS, build=affine_grid)
