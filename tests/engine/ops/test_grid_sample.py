"""GridSample beside loops in fractions, and beside float32 formulas of two kinds."""

from fractions import Fraction
from itertools import product
from math import floor, prod

import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.engine import evaluate, exactly
from opcheck.engine.operators import only_what_is_said
from opcheck.errors import NotSupported
from opcheck.model import OpVersion

GRID = OpVersion("", "GridSample", 20)
RNG = np.random.default_rng(1)


def keys(d):
    a = Fraction(-3, 4)
    near, far = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
    return near if d <= 1 else far if d <= 2 else 0


def weights(g, length, mode, padding, corners):
    """The weight of each pixel along an axis, in fractions."""
    g = Fraction(float(g))
    at = (g + 1) * (length - 1) / 2 if corners else ((g + 1) * length - 1) / 2
    low = Fraction(0 if corners else -1) / 2
    high = length - 1 - low
    while padding == "reflection" and not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    if padding != "zeros":
        at = min(max(at, Fraction(0)), Fraction(length - 1))
    if mode == "nearest":
        return {round(at): Fraction(1)}
    kernel = keys if mode == "cubic" else lambda d: max(1 - d, Fraction(0))
    return {n: kernel(abs(at - n)) for n in range(floor(at) - 2, floor(at) + 4)}


def looped(X, grid, mode, padding, corners):
    y = np.zeros((*X.shape[:2], *grid.shape[1:-1]), object)
    for n, c, *place in np.ndindex(y.shape):
        found = zip(grid[(n, *place)][::-1], X.shape[2:], strict=True)
        parts = [weights(g, length, mode, padding, corners).items() for g, length in found]
        for taps in product(*parts):
            at, shares = zip(*taps, strict=True)
            if all(0 <= i < length for i, length in zip(at, X.shape[2:], strict=True)):
                y[(n, c, *place)] += prod(shares) * Fraction(float(X[(n, c, *at)]))
    return y.astype(np.float64)


PADDINGS = ("zeros", "border", "reflection")
MODES = [*product(("linear", "nearest", "cubic"), PADDINGS, (0, 1))]


@pytest.mark.sampled(18, evenly=True)
@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
@pytest.mark.parametrize("lengths", [(5,), (4, 7), (5, 4, 4)])
def test_values_are_those_of_loops_in_fractions(lengths, mode, padding, corners):
    X = RNG.normal(size=(2, 2, *lengths)).astype(np.float32)
    scale = 0.3 if mode == "cubic" else 2.5 if padding != "zeros" else 1
    grid = RNG.uniform(-scale, scale, (2, *[2] * len(lengths), len(lengths))).astype(np.float32)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    (want,) = exactly(GRID, [X, grid], attrs)
    wanted = looped(X, grid, mode, padding, corners)
    assert np.allclose(want.values.astype(np.float64), wanted, rtol=1e-13, atol=1e-14)
    assert not compare(computed_want(GRID, "Y", want), wanted.astype(np.float32)).problem


def bilinear(X, grid, of_half):
    """Two formulas in float32, with weights as differences of corners or of fractions."""
    h, w = X.shape[2:]
    one = np.float32(1)
    y = np.zeros((*X.shape[:2], *grid.shape[1:3]), np.float32)
    for n, i, j in np.ndindex(y.shape[0], *y.shape[2:]):
        gx, gy = grid[n, i, j]
        if of_half:
            px, py = (
                gx * np.float32(w / 2) + np.float32((w - 1) / 2),
                (gy + one) * np.float32(h / 2) - np.float32(0.5),
            )
        else:
            px, py = (
                ((gx + one) * np.float32(w) - one) / np.float32(2),
                ((gy + one) * np.float32(h) - one) / np.float32(2),
            )
        px, py = np.clip(px, 0, np.float32(w - 1)), np.clip(py, 0, np.float32(h - 1))
        x0, y0 = int(px), int(py)
        x1, y1 = min(x0 + 1, w - 1), min(y0 + 1, h - 1)
        fx, fy = px - np.float32(x0), py - np.float32(y0)
        p = X[n, :, [y0, y0, y1, y1], [x0, x1, x0, x1]]
        if of_half:
            top, low = p[0] + fx * (p[1] - p[0]), p[2] + fx * (p[3] - p[2])
            y[n, :, i, j] = top + fy * (low - top)
        else:
            shares = [(one - fx) * (one - fy), fx * (one - fy), (one - fx) * fy, fx * fy]
            y[n, :, i, j] = sum(s * q for s, q in zip(shares, p, strict=True))
    return y


@pytest.mark.parametrize("size", [5, 64, 1001])
def test_float32_formulas_are_honest_and_half_a_pixel_is_seen(size):
    X = RNG.normal(size=(1, 2, size, 7)).astype(np.float32)
    grid = RNG.uniform(-1.2, 1.2, (1, 9, 9, 2)).astype(np.float32)
    (want,) = exactly(GRID, [X, grid], {"padding_mode": "border"})
    wanted = computed_want(GRID, "Y", want)
    assert not any(compare(wanted, bilinear(X, grid, half)).problem for half in (False, True))
    assert compare(wanted, bilinear(X, grid + np.float32(1 / 7), False)).problem


def test_either_pixel_is_right_where_float32_cannot_tell():
    X, g = np.float32([[[[1, 2, 3]]]]), np.float32([[[[1 / 3, 0], [-1 / 3, 0], [0.34, 0]]]])
    (want,) = exactly(GRID, [X, g], {"mode": "nearest"})
    wanted = computed_want(GRID, "Y", want)
    for answer, problem in ([2, 1, 3], False), ([3, 2, 3], False), ([2, 1, 2], True):
        assert bool(compare(wanted, np.float32([[[answer]]])).problem) is problem


@pytest.mark.parametrize(("g", "attrs"), [
    (-1.0, {}), (1.5, {"align_corners": 1}), (-1.25, {"align_corners": 1, "mode": "nearest"}),
    (1.0, {"mode": "nearest"}), (-1.5, {"mode": "nearest", "padding_mode": "reflection"}),
    (-0.5, {"mode": "cubic"}), (-1.0, {"mode": "cubic", "padding_mode": "border"}), (np.inf, {}),
])  # fmt: skip
def test_what_the_text_does_not_decide_is_open(g, attrs):
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    with only_what_is_said(), pytest.raises(NotSupported):
        evaluate(GRID, [x, np.float32([[[[g, 0]]]])], attrs)
