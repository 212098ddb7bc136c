"""MaxRoiPool (1, 22): maxima over the bins of regions of images.

The text says neither how coordinates are rounded, nor whether a region holds its end, nor where its
bins begin and end. An answer is decided where the maximum of all that may lie in a bin is among
what must lie in it.
"""

from itertools import product
from math import ceil, floor

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

OP = operator("MaxRoiPool", exact=True)


def of_regions(read):
    """Both versions, from `read(rois)`, the batch, x1, y1, x2 and y2 of each region."""

    def formula(X, rois, *, pooled_shape, spatial_scale):
        if X.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
            wrong = f"X {list(X.shape)}, rois {list(rois.shape)}"
            raise InvalidNode(f"{wrong}; allowed: rank 4, [*, 5]")
        if len(pooled_shape) != 2 or min(pooled_shape) < 1:
            raise InvalidNode(f"pooled_shape {list(pooled_shape)}; allowed: two numbers from 1 on")
        shape = (rois.shape[0], X.shape[1], *pooled_shape)
        check_size(shape)
        if not all(shape):
            return np.zeros(shape, X.dtype)
        regions = read(bare(rois).astype(np.float64))
        batches, corners = regions[:, 0], regions[:, 1:] * spatial_scale
        if not (np.abs(regions * spatial_scale) < 2.0**31).all() or (batches % 1).any():
            raise NotSupported("nothing is said of what is no batch, or far from every image")
        found, images = [], elements_at(batches.astype(np.int64), X.shape[0], back=False)
        for batch, (x1, y1, x2, y2) in zip(images, corners, strict=True):
            rows = bins(y1, y2, pooled_shape[0], X.shape[2])
            columns = bins(x1, x2, pooled_shape[1], X.shape[3])
            for both in product(rows, columns):
                found.append(_maximum(X[batch], *zip(*both, strict=True)))
        y = xp.reshape(xp.stack(found), (rois.shape[0], *pooled_shape, X.shape[1]))
        return xp.permute_dims(y, (0, 3, 1, 2))

    return {1: formula, 22: formula}


def bins(a, b, count, length):
    """Of each bin of [a, b]: what must lie in it, what may, and what does by whole coordinates."""
    if a < 0 or b > length:
        is_open("nothing is said of what lies outside the image")
    low, high = (floor(a), floor(b)), (ceil(a), ceil(b) + 1)
    start = floor(a + 0.5)
    size = max(1, floor(b + 0.5) + 1 - start)

    def cut(ends, i, up):
        total = ends[0] * (count - i) + ends[1] * i
        return max(0, -(-total // count) if up else total // count)

    for i in range(count):
        whole = start + i * size // count, start - (-(i + 1) * size // count)
        yield (slice(cut(high, i, True), cut(low, i + 1, False)),
               slice(cut(low, i, False), cut(high, i + 1, True)),
               slice(*(max(0, end) for end in whole)))  # fmt: skip


def _maximum(image, sure, possible, own):
    """The maximum of each channel of one bin, from its rows and columns; 0 of an empty one."""
    least, most, found = (image[:, *part] for part in (sure, possible, own))
    if not least.size:
        is_open("nothing is said of bins that may hold nothing")
    elif (xp.max(least, axis=(1, 2)) != xp.max(most, axis=(1, 2))).any():
        is_open("it is not said which elements lie in a bin")
    return xp.max(found, axis=(1, 2)) if found.size else np.zeros(image.shape[0], image.dtype)


@OP.formula(by=of_regions)
def as_they_stand(rois):
    return rois


OP.mutant_table({
    "x_and_y_exchanged": ("y came before x", lambda rois: rois[:, [0, 2, 1, 4, 3]]),
    "first_image_for_all": ("all regions were of the first image",
                            lambda rois: rois * [0, 1, 1, 1, 1]),
    "images_in_turn": ("each image had its own region, in order",
        lambda rois: np.column_stack([np.arange(rois.shape[0]), rois[:, 1:]])),
    "ends_as_sizes": ("x2 and y2 were width and height",
        lambda rois: rois + np.pad(rois[:, 1:3], [(0, 0), (3, 0)])),
}, by=of_regions)  # fmt: skip
