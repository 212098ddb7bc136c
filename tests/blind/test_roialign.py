"""RoiAlign as ONNX's text says it, against the engine."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences


def sample(plane, y, x):
    """Return the bilinear interpolation of a plane at a place.

    What is outside is not in the text: up to a pixel, it is read as the edge.
    """
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        raise Open("what a location far outside the feature map is worth")
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for row, column in product((top, top + 1), (left, left + 1)):
        weight = float(max(1 - abs(y - row), 0) * max(1 - abs(x - column), 0))
        if weight:
            total += weight * float(plane[row, column])
    return total


def align(since, inputs, attrs, outputs):
    x, rois, indices = inputs
    mode = attrs.get("mode", "avg")
    shift = attrs.get("coordinate_transformation_mode", "half_pixel")
    if mode not in ("avg", "max") or shift not in ("half_pixel", "output_half_pixel"):
        raise Forbidden("modes")
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or indices.shape != rois.shape[:1]:
        raise Forbidden("shapes")
    high, wide = attrs.get("output_height", 1), attrs.get("output_width", 1)
    ratio = attrs.get("sampling_ratio", 0)
    if min(high, wide, ratio) < 0:
        raise Forbidden("a number of points or bins is not negative")
    if any(not 0 <= n < x.shape[0] for n in indices):
        raise Forbidden("the index of the image in the batch")
    scale = Fraction(float(np.float32(attrs.get("spatial_scale", 1.0))))
    offset = Fraction(1, 2) if shift == "half_pixel" and since > 10 else 0
    result = np.empty((len(rois), x.shape[1], high, wide))
    for r, roi in enumerate(rois):
        if not np.isfinite(roi).all():
            raise Open("a roi without place")
        x1, y1, x2, y2 = (Fraction(float(c)) * scale - offset for c in roi)
        bins = (y2 - y1) / max(high, 1), (x2 - x1) / max(wide, 1)
        grid = [ratio or math.ceil(size) for size in bins]
        if min(grid) < 1:
            raise Open("a bin without points")
        ys, xs = (
            [
                [low + (n + (k + Fraction(1, 2)) / points) * size for k in range(points)]
                for n in range(count)
            ]
            for low, size, points, count in zip((y1, x1), bins, grid, (high, wide), strict=True)
        )
        for c, row, column in product(range(x.shape[1]), range(high), range(wide)):
            plane = x[indices[r], c]
            values = [sample(plane, y, x_) for y, x_ in product(ys[row], xs[column])]
            if any(v != v for v in values):
                result[r, c, row, column] = math.nan
            else:
                result[r, c, row, column] = (
                    max(values) if mode == "max" else sum(values) / len(values)
                )
    return [result]


def test_roialign():
    found = differences("RoiAlign", align, every=41)
    # The engine has the greatest of weighted parts, which the cases call open.
    assert [line for line in found if "/maximum_between@" not in line] == []
