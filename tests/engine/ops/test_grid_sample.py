"""GridSample beside float32 formulas of two kinds; see also `tests.blind`."""

import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, exactly, first_outputs

GRID = OpVersion("", "GridSample", 20)
RNG = np.random.default_rng(1)


def bilinear(X, grid, of_half):
    """Two formulas in float32, with weights as differences of corners or of fractions."""
    h, w = X.shape[2:]
    one = np.float32(1)
    y = np.zeros((*X.shape[:2], *grid.shape[1:3]), np.float32)
    for n, i, j in np.ndindex(y.shape[0], *y.shape[2:]):
        gx, gy = grid[n, i, j]
        if of_half:
            px = gx * np.float32(w / 2) + np.float32((w - 1) / 2)
            py = (gy + one) * np.float32(h / 2) - np.float32(0.5)
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


def test_beside_locations_that_are_no_numbers_others_are_judged():
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 1, 4)
    grid = np.float32([[[[np.inf, 0], [-0.25, 0], [0, np.nan]]]])
    assert first_outputs(Node(GRID, (x, grid), {})) == [[[[[None, 1, None]], [[None, 5, None]]]]]
    with pytest.raises(NotSupported):
        first_outputs(Node(GRID, (x, grid[:, :, :1]), {}))


@pytest.mark.parametrize(
    ("g", "padding_mode", "admitted"),
    [
        # Column 0.5 has the weights -3/32, 19/32, 19/32 and -3/32, and -0.5 those of one before.
        (-0.5, "zeros", {"zero": 48, "border": 45}),
        (-1.0, "border", {"location": 32, "pixels": 29}),
        (-1.0, "reflection", {"pixels": 26, "location": 32, "border": 29}),
        # Columns 1 and 1.5, and column -4.
        (-0.25, "zeros", {"": 64}),
        (0.0, "border", {"": 80}),
        (-2.25, "zeros", {"": 0}),
    ],
)
def test_of_cubic_averages_the_pixels_outside_have_several_values(g, padding_mode, admitted):
    x = np.float32([32, 64, 96, 128]).reshape(1, 1, 1, 4)
    attrs = {"mode": "cubic", "padding_mode": padding_mode}
    with judging():
        found = by_reading(GRID, [x, np.float32([[[[g, 0]]]])], attrs)
    assert {reading: y.item() for reading, (y,) in found.items()} == pytest.approx(admitted)


def test_more_than_a_pixel_outside_cubic_averages_have_zeros_whatever_stands_at_the_border():
    """Column -1.5 has the weight -3/32 of the first pixel, and those of three outside."""
    x = np.float32([32, 64, 96, 128]).reshape(1, 1, 1, 4)
    with judging():
        found = by_reading(GRID, [x, np.float32([[[[-1.5, 0]]]])], {"mode": "cubic"})
    assert {round(y.item(), 4) for (y,) in found.values()} == {-3, 0}


@pytest.mark.parametrize(
    ("g", "attrs", "admitted"),
    [
        # At -0.5, 4, -0.875 and 3.5 of [5, 6, 7, 8], and at 0.5 after a reflection of -1.5.
        (-1.0, {}, {2.5, 0, 5}),
        (5 / 3, {"align_corners": 1, "mode": "nearest"}, {0}),
        (-1.25, {"align_corners": 1}, {3.125, 0}),
        (-1.25, {"align_corners": 1, "mode": "nearest"}, {5, 0}),
        (1.0, {"mode": "nearest"}, {0, 8}),
        (-1.5, {"mode": "nearest", "padding_mode": "reflection"}, {5, 6}),
    ],
)
def test_every_answer_that_the_text_admits_is_right(g, attrs, admitted):
    x = np.float32([[[[5, 6, 7, 8]]]])
    node = Node(GRID, (x, np.float32([[[[g, 0]]]])), attrs)
    with judging():
        readings = [*each_answer(node)]
    assert {rounded(reading.answer[0]).item() for reading in readings} == admitted


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_version_16_does_not_round_ties_along_either_axis(dtype):
    x = np.array([[[[1, 2], [3, 4]]]], dtype)
    inputs = (x, np.zeros((1, 1, 1, 2), np.float32))
    node = Node(OpVersion("", "GridSample", 16), inputs, {"mode": "nearest"})
    with judging():
        readings = [*each_answer(node)]
    assert sorted(rounded(reading.answer[0]).item() for reading in readings) == [1, 2, 3, 4]


def test_averages_of_integers_are_cut_off_or_rounded():
    x = np.array([[[[-1, 0, 3]]]])
    node = Node(GRID, (x, np.float32([[[[-1 / 2, 0], [1 / 4, 0]]]])), {"align_corners": 1})
    with judging():
        readings = [*each_answer(node)]
    found = {one.chosen["cast-of-averages"]: rounded(one.answer[0]).tolist() for one in readings}
    # -1/2 and 3/4.
    assert found == {
        "cut_off": [[[[0, 0]]]],
        "half_to_even": [[[[0, 1]]]],
        "half_away": [[[[-1, 1]]]],
    }


def test_a_location_half_outside_is_0_in_its_own_image_of_several():
    """Two images of two channels: in the first alone, -1 lies half a pixel outside."""
    x = np.float32([[[[4, 8]], [[2, 6]]], [[[1, 3]], [[5, 7]]]])
    grid = np.float32([[[[-1, 0]]], [[[0, 0]]]])
    with judging():
        readings = [*each_answer(Node(GRID, (x, grid), {}))]
    found = {one.chosen["half-outside"]: rounded(one.answer[0]).tolist() for one in readings}
    inside = [[[2]], [[6]]]
    assert found["zero"] == [[[[0]], [[0]]], inside]
    assert [[[[2]], [[1]]], inside] in found.values()


def test_a_text_half_outside_is_empty_or_the_nearest():
    """Beyond the last column by 0.2 of a pixel: no number 0 stands among texts."""
    x = np.array([[[["a", "b"], ["c", "d"]]]], object)
    grid = np.float32([[[[1.2, 0.9]]]])
    attrs = {"align_corners": 1, "mode": "nearest"}
    with judging():
        readings = [*each_answer(Node(GRID, (x, grid), attrs))]
    assert {rounded(one.answer[0]).item() for one in readings} <= {"", "d"}
