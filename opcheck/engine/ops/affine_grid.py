"""AffineGrid (20): where an affine matrix takes the centers of a grid's elements."""

from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, listed
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

OP = operator("AffineGrid")


def in_steps(first, length, corners):
    """Of `length` places from -1 to 1 on, by their numbers."""
    if corners:
        return first * (xp.real(2.0) / max(length - 1, 1)) - 1
    return first * (xp.real(2.0) / max(length, 1)) + (xp.real(1.0) / max(length, 1) - 1)


def of_places(places=in_steps, change=lambda theta, lengths, axes: (theta, lengths, axes)):
    """The formula, from the places along an axis, and a change of the matrix, sizes and axes."""

    def formula(theta, size, *, align_corners):
        stated = listed("size", size)
        n = len(stated) - 2
        if n not in (2, 3) or min(stated) < 0 or theta.shape != (stated[0], n, n + 1):
            raise InvalidNode(f"theta {list(theta.shape)} for size {stated}")
        check_size((stated[0], *stated[2:], n))
        if align_corners not in (0, 1):
            raise NotSupported(f"nothing is said of align_corners {align_corners}")
        if align_corners and 1 in stated[2:]:
            is_open("nothing is said of where a single element has its corners")
        if np.isinf(bare(xp.values_of(theta))[..., :-1]).any():
            is_open("infinity times what may round to 0 is infinite, or no number")
        # The last axis comes first, as x of y, x or of z, y, x.
        theta, lengths, axes = change(theta, stated[2:], [*range(n)][::-1])
        kind = np.float64 if theta.dtype == np.float64 else np.float32
        rows = [xp.astype(np.ones(prod(lengths)), kind)]
        for axis in axes[::-1]:
            number = xp.astype(np.arange(lengths[axis]), kind)
            along = xp.reshape(places(number, lengths[axis], align_corners),
                               [-1 if a == axis else 1 for a in range(n)])  # fmt: skip
            rows.insert(0, xp.reshape(xp.broadcast_to(along, lengths), (-1,)))
        moved = xp.permute_dims(xp.matmul(theta, xp.stack(rows)), (0, 2, 1))
        return xp.astype(xp.reshape(moved, (stated[0], *stated[2:], n)), theta.dtype)

    return {20: formula}


OP.formula(by=of_places)(in_steps)


@OP.also_honest("", by=of_places)
def scaled(first, length, corners):
    """The places between corners, brought nearer to each other."""
    aligned = in_steps(first, length, True)
    return aligned if corners else aligned * (xp.real(length - 1.0) / max(length, 1))


@OP.also_honest("", by=of_places)
def doubled(first, length, corners):
    """Each place as a whole number, divided once."""
    whole, divisor = (first * 2, length - 1) if corners else (first * 2 + 1, length)
    return whole / max(divisor, 1) - 1


OP.mutant_table({
    "from_0_to_1": ("the places ran from 0 to 1",
                    lambda *of: (in_steps(*of) + 1) / 2),
    "upside_down": ("the places ran from 1 to -1", lambda *of: -in_steps(*of)),
    "from_the_first_edge": ("each place was the edge at which its element begins",
                            lambda first, length, corners: first * (2 / max(length, 1)) - 1),
}, by=of_places)  # fmt: skip
OP.mutant_table({
    "y_before_x": ("the first axis came first, as y of y, x", lambda theta, lengths, axes:
        (theta, lengths, axes[::-1])),
    "height_for_width": ("the sizes were read from the last to the first",
        lambda theta, lengths, axes: (theta, lengths[::-1], axes)),
    "translation_first": ("the translation was the first column",
        lambda theta, lengths, axes: (xp.concat([theta[..., 1:], theta[..., :1]], axis=2),
                                      lengths, axes)),
    "translation_ignored": ("the translation was ignored", lambda theta, lengths, axes:
        (xp.concat([theta[..., :-1], theta[..., -1:] * 0], axis=2), lengths, axes)),
    "matrix_transposed": ("the matrix stood before its translation, transposed",
        lambda theta, lengths, axes: (
            xp.concat([xp.permute_dims(theta[..., :-1], (0, 2, 1)), theta[..., -1:]], axis=2),
            lengths, axes)),
    "first_matrix_for_all": ("the first matrix served for the whole batch",
        lambda theta, lengths, axes: (xp.broadcast_to(theta[:1], theta.shape), lengths, axes)),
}, by=lambda change: of_places(change=change))  # fmt: skip
