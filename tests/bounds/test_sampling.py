"""AffineGrid's bound beside other ways to space places evenly, and other orders of its sums."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine import exactly
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.model import OpVersion

GRID, SIZES = OpVersion("", "AffineGrid", 20), (3, 1, 7, 23, 30)
f32 = np.float32


def linspace(length, corners):
    """Torch's: from both ends to the middle, between corners, and then closer to each other."""
    step, i = f32(2) / f32(length - 1), np.arange(length, dtype=f32)
    x = np.where(i < length // 2, f32(-1) + i * step, f32(1) - i[::-1] * step)
    return x if corners else x * f32(length - 1) / f32(length)


def stepped(length, corners):
    step, i = f32(2) / f32(length - corners), np.arange(length, dtype=f32)
    return f32(-1) + (i if corners else i + f32(0.5)) * step


def divided(length, corners):
    i = 2 * np.arange(length, dtype=f32) + (1 - corners)
    return i / f32(length - corners) - f32(1)


def moved(theta, places, order):
    z, y, x = np.meshgrid(*places, indexing="ij")
    terms = [x, y, z, np.ones_like(x)]
    total = f32(0)
    for k in order:
        total = total + theta[:, None, None, None, :, k] * terms[k][None, ..., None]
    return total


@pytest.mark.parametrize("corners", [0, 1])
def test_affine_grid_may_space_places_and_add_up_in_any_way(corners):
    theta = np.random.default_rng(3).standard_normal((3, 3, 4)).astype(f32)
    inputs = (theta, np.array(SIZES))
    want = computed_want(GRID, "grid", exactly(GRID, inputs, {"align_corners": corners})[0])
    for spaced, order in product((linspace, stepped, divided), ([0, 1, 2, 3], [3, 2, 1, 0])):
        places = [spaced(length, corners) for length in SIZES[2:]]
        found = compare(want, moved(theta, places, order))
        assert (found.problem, found.used <= 1) == (None, True), (spaced, order, found)
    for narrow in (partial(cut_to_bits, bits=11), partial(cut_to_bits, bits=8)):
        assert compare(want, moved(narrow(theta), places, order)).problem == "values"
        assert compare(want, moved(theta, map(narrow, places), order)).problem == "values"
