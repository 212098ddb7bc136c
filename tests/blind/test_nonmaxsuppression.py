"""NonMaxSuppression as ONNX's text says it, against the engine."""

from fractions import Fraction

import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences


def corners(box, center_point_box):
    """Return least and greatest y, and least and greatest x."""
    if not np.isfinite(box).all():
        raise Open("a box without place")
    a, b, c, d = (Fraction(float(it)) for it in box)
    if not center_point_box:
        return min(a, c), max(a, c), min(b, d), max(b, d)
    if c < 0 or d < 0:
        raise Open("what a negative width is")
    return b - d / 2, b + d / 2, a - c / 2, a + c / 2


def overlap(one, other):
    """Return the intersection over the union of two boxes."""
    height = max(min(one[1], other[1]) - max(one[0], other[0]), 0)
    width = max(min(one[3], other[3]) - max(one[2], other[2]), 0)
    areas = [(it[1] - it[0]) * (it[3] - it[2]) for it in (one, other)]
    union = sum(areas) - height * width
    if not union:
        raise Open("0 / 0")
    return height * width / union


def suppress(since, inputs, attrs, outputs):
    boxes, scores, most, iou, least = [*inputs, None, None, None][:5]
    center = attrs.get("center_point_box", 0)
    if center not in (0, 1):
        raise Forbidden("0 or 1 is the format")
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[2] != 4:
        raise Forbidden("[num_batches, spatial_dimension, 4], [num_batches, num_classes, ...]")
    if boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2]:
        raise Forbidden("num_batches and spatial_dimension are the same")
    if any(it is not None and it.ndim for it in (most, iou, least)):
        raise Forbidden("it is a scalar")
    limit = 0 if most is None else int(most)
    threshold = 0.0 if iou is None else float(iou)
    if not 0 <= threshold <= 1:
        raise Forbidden("value range [0, 1]")
    if limit < 0:
        raise Open("a negative maximum")
    found = []
    for batch in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            row = scores[batch, label]
            if limit and np.isnan(row).any():
                raise Open("the order of NaN")
            order = sorted(range(len(row)), key=lambda n: (-row[n], n)) if limit else []
            kept: list[tuple[int, tuple[Fraction, ...]]] = []
            for n in order:
                if len(kept) == limit or (least is not None and row[n] < least):
                    continue
                here = corners(boxes[batch, n], center)
                if all(overlap(here, other) <= Fraction(threshold) for _, other in kept):
                    kept.append((n, here))
            found += [[batch, label, n] for n, _ in kept]
    return [np.array(found, np.int64).reshape(-1, 3)]


def test_nonmaxsuppression():
    found = differences("NonMaxSuppression", suppress, every=7)
    # The text says a scalar; ONNX's node tests have lists of one.
    assert [line for line in found if "/lists_of_one@" not in line] == []
