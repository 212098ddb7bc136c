"""AffineGrid's bound beside other ways to space places; NonMaxSuppression beside plain loops."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from opcheck.compare.outputs import compare, compare_outputs, computed_want
from opcheck.engine import any_order
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.operators import judging
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

GRID, BOXES = OpVersion("", "AffineGrid", 20), OpVersion("", "NonMaxSuppression", 11)
SIZES, f32 = (3, 1, 7, 23, 30), np.float32


def linspace(length, corners):
    """Torch's: from both ends to the middle, between corners, and then closer to each other."""
    step, i = f32(2) / f32(length - 1), np.arange(length, dtype=f32)
    x = np.where(i < length // 2, f32(-1) + i * step, f32(1) - i[::-1] * step)
    return x if corners else x * f32(length - 1) / f32(length)


def stepped(length, corners):
    step, i = f32(2) / f32(length - corners), np.arange(length, dtype=f32)
    return f32(-1) + (i if corners else i + f32(0.5)) * step


def divided(length, corners):
    return (2 * np.arange(length, dtype=f32) + (1 - corners)) / f32(length - corners) - f32(1)


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


def shared(one, other):
    """The exact intersection over union of y1, x1, y2, x2."""
    y, x = (max(0, min(one[k + 2], other[k + 2]) - max(one[k], other[k])) for k in (0, 1))
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return Fraction(int(y * x), int(sum(areas) - y * x))


@pytest.mark.parametrize("center", [0, 1])
def test_boxes_are_selected_as_plain_loops_select_them(center):
    rng, sizes = np.random.default_rng(5), set()
    for eighths, least, most in product((0, 2, 4, 6), (-1, 12), (3, 40)):
        low = rng.integers(0, 12, (2, 24, 2)) * 2
        boxes = np.concatenate([low, low + 2 * rng.integers(1, 6, low.shape)], axis=2)
        scores = np.stack([[rng.permutation(24) for _ in range(3)] for _ in range(2)])
        rows = []
        for n, c in np.ndindex(2, 3):
            chosen = []
            for box in np.argsort(-scores[n, c]):
                over = (shared(boxes[n, box], boxes[n, k]) > Fraction(eighths, 8) for k in chosen)
                if len(chosen) < most and scores[n, c, box] >= least and not any(over):
                    chosen.append(box)
            rows += [(n, c, box) for box in chosen]
        middles = np.concatenate([low + boxes[:, :, 2:], 2 * (boxes[:, :, 2:] - low)], axis=2) / 2
        given = middles[:, :, [1, 0, 3, 2]] if center else boxes[:, :, [2, 1, 0, 3]]
        limits = np.array(most), f32(eighths / 8), f32(least)
        inputs = [given.astype(f32), scores.astype(f32), *map(np.asarray, limits)]
        with judging():
            (got,) = evaluate(BOXES, inputs, {"center_point_box": center}, 1)
        np.testing.assert_array_equal(got, rows)
        sizes.add(len(rows))
    assert len(sizes) > 6


def test_rows_are_right_in_any_order_and_only_as_wholes():
    boxes = np.array([[[0, 0, 1, 1], [2, 0, 3, 1]]], f32)
    inputs = [boxes, np.array([[[1, 2], [2, 1]]], f32), np.array(2), np.array(0.5, f32)]
    (rows,) = evaluate(BOXES, inputs, {}, 1)
    want = computed_want(BOXES, "selected_indices", rows)
    want = replace(want, any_order=any_order(BOXES, {}))
    right = [rows, rows[::-1], rows[[2, 0, 3, 1]]]
    wrong = [rows[[0, 0, 2, 3]], np.array([[0, 0, 0], [0, 0, 0], [0, 1, 1], [0, 1, 1]])]
    found = [compare_outputs([want], [got])[0].problem for got in (*right, *wrong)]
    assert found == [None] * 3 + ["values"] * 2


RESIZE = OpVersion("", "Resize", 19)


def kernel(mode, d):
    a = f32(-0.75)
    if mode == "linear":
        return np.maximum(f32(1) - d, f32(0))
    near = ((a + f32(2)) * d - (a + f32(3))) * d * d + f32(1)
    far = ((a * d - f32(5) * a) * d + f32(8) * a) * d - f32(4) * a
    return np.where(d < 1, near, np.where(d < 2, far, f32(0)))


def weights(mode, length, size, narrow=lambda w: w):
    """The matrix of an axis, in float32, with half a pixel."""
    at = (np.arange(size, dtype=f32) + f32(0.5)) / f32(size / length) - f32(0.5)
    first, found = np.floor(at).astype(int), np.zeros((size, length), f32)
    for k in range(-1, 3):
        w = narrow(kernel(mode, np.abs(at - (first + k).astype(f32))))
        np.add.at(found, (np.arange(size), np.clip(first + k, 0, length - 1)), w)
    return found


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_may_average_along_one_axis_after_the_other_or_along_both(mode):
    x = np.random.default_rng(4).standard_normal((13, 23)).astype(f32)
    inputs, sizes = (x, None, None, np.array([31, 17])), (31, 17)
    want = computed_want(RESIZE, "Y", exactly(RESIZE, inputs, {"mode": mode})[0])
    rows, columns = (weights(mode, *both) for both in zip(x.shape, sizes, strict=True))
    both = np.einsum("ik,jl->ijkl", rows, columns).reshape(*sizes, -1)
    for y in ((rows @ x) @ columns.T, rows @ (x @ columns.T), both @ x.reshape(-1)):
        found = compare(want, y.astype(f32))
        assert (found.problem, found.used <= 1) == (None, True), found
    narrow = weights(mode, 13, 31, partial(cut_to_bits, bits=8))
    assert compare(want, (narrow @ x) @ columns.T).problem is not None
