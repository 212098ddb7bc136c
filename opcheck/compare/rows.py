"""The row test: do the elements of a row agree about what they have in common?

The elements of a Softmax row are divided by one sum, so whatever error that sum has, it is the
same relative error t of all of them. Each element may add its own, so that

    |q_i − 1 − t| ≤ l_i   for all i,   and   |t| ≤ c

with the quotients q_i = got_i/y_i, the elements' own tolerances l_i and the common one c. How much
of what is allowed a row uses is the smallest factor λ for which there is a t when all l_i and c are
multiplied by it. The row is right if λ ≤ 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: The search for λ is Newton's on a convex function that consists of straight pieces. From the left
#: it climbs, and ends after as many steps as it meets pieces, in practice three or four.
_STEPS = 30


def shares(off: Floats, own: Floats, common: Floats) -> tuple[Floats, Floats]:
    """λ of each row, and each element's share of its own tolerance beside the best common error.

    `off` = got/y − 1 and `own`, the elements' tolerances, have the shape (n, N); `common` has the
    shape (n, 1) and may be infinite. Elements that take no part have an infinite `own`. Returns
    shapes (n, 1) and (n, N). An element's share is at most λ.
    """
    # The common error's own limit is one more element: off by 0, with the tolerance c.
    off = np.concatenate([off, np.zeros(common.shape)], axis=1)
    own = np.concatenate([own, common], axis=1)
    part = np.isfinite(own)
    off, own = np.where(part, off, 0.0), np.where(part, own, 0.0)
    above, below = np.where(part, off, -np.inf), np.where(part, off, np.inf)
    scale = np.zeros(common.shape)
    for _ in range(_STEPS):
        most = np.argmax(above - scale * own, axis=1, keepdims=True)
        least = np.argmin(below + scale * own, axis=1, keepdims=True)
        apart = _at(off, most) - _at(off, least)
        room = _at(own, most) + _at(own, least)
        step = np.where(room > 0, apart / np.where(room > 0, room, 1), 0)
        # A step back is rounding, beside the end.
        if np.all(step <= scale):
            break
        scale = np.maximum(scale, step)
    shared = _at(off, most) - scale * _at(own, most)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.abs(off - shared) / own
    return scale, np.where(part & (own > 0), each, 0.0)[:, :-1]


def _at(values: Floats, place: NDArray[np.intp]) -> Floats:
    return np.take_along_axis(values, place, axis=1)
