"""The row test: do the elements of a row agree about what they have in common?

The elements of a Softmax row are divided by one sum, whose error is the same relative error t of
all of them. Each element may add its own, so that

    |q_i − 1 − t| ≤ l_i   for all i,   and   −d ≤ t ≤ c

with the quotients q_i = got_i/y_i, the elements' own tolerances l_i and the ends of the common
error. The share that a row uses is the smallest factor λ for which some t satisfies this with all
l_i, d and c multiplied by λ. The row is right if λ ≤ 1. Otherwise the wrong elements are those too
far from the median.
"""

import numpy as np

from opcheck.compare.elements import Floats, Mask

#: The search for λ is Newton's on a convex function that consists of straight pieces. From the left
#: it climbs, and ends after as many steps as it meets pieces, in practice three or four.
_STEPS = 30


def shares(off: Floats, own: Floats, down: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return λ of each row, (n, 1), and each element's share of its own tolerance, (n, N).

    `off` = got/y − 1 and `own`, the elements' tolerances, infinite for those that take no part,
    have the shape (n, N). `down` and `up`, the limits of the common error below and above 0, have
    (n, 1) and may be infinite. Shares are at most λ in right rows; in others, one is above 1.
    """
    part = np.isfinite(own)
    off, own = np.where(part, off, 0.0), np.where(part, own, 0.0)
    # The limits of the common error are one more element: off by 0, with a tolerance on each side.
    above, below = _beside(off, own, part, down, -1), _beside(off, own, part, up, 1)
    scale = np.zeros(down.shape)
    for _ in range(_STEPS):
        most, (high, room_above) = _extreme(above, scale, -1)
        _, (low, room_below) = _extreme(below, scale, 1)
        room = room_above + room_below
        step = np.where(room > 0, (high - low) / np.where(room > 0, room, 1), 0)
        # A step back is rounding, next to the end.
        if np.all(step <= scale):
            break
        scale = np.maximum(scale, step)
    wrong = scale[:, 0] > 1
    if wrong.any():
        middle = np.nanmedian(np.where(part, off, np.nan)[wrong], axis=1, keepdims=True)
        most[wrong] = np.clip(middle, -down[wrong], up[wrong])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.abs(off - most) / own
    # The rounding of a large common error shows in small shares.
    each = np.where(wrong[:, None], each, np.minimum(each, scale))
    return scale, np.where(part & (own > 0), each, 0.0)


def _beside(off: Floats, own: Floats, part: Mask, limit: Floats, sign: int) -> tuple[Floats, ...]:
    """Add an element to `off` and `own`; and `off` again, out of the way for those without part."""
    bounded = np.isfinite(limit)
    off = np.concatenate([off, np.zeros(limit.shape)], axis=1)
    own = np.concatenate([own, np.where(bounded, limit, 0.0)], axis=1)
    return off, own, np.where(np.concatenate([part, bounded], axis=1), off, sign * np.inf)


def _extreme(
    side: tuple[Floats, ...], scale: Floats, sign: int
) -> tuple[Floats, tuple[Floats, Floats]]:
    """The largest off − λ·own for the sign −1, the smallest off + λ·own for 1; its off and own."""
    off, own, aside = side
    ends = aside + sign * scale * own
    place = np.arange(len(ends)), (ends.argmin if sign > 0 else ends.argmax)(axis=1)
    end = ends[place][:, None]
    return np.where(np.isfinite(end), end, 0.0), (off[place][:, None], own[place][:, None])
