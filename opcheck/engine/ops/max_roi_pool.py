"""MaxRoiPool, both versions: maxima over the bins of regions of images.

The text states neither how coordinates are rounded, nor whether a region holds its end, nor where
its bins begin and end. No finite set of answers follows. An answer is decided where the maximum of
all that may lie in a bin is among what must lie in it.

The parts of the file: the bins of a region; the formula; its mutants.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.operators import formulas_of_versions, leave_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

MAX_ROI_POOL = operator("MaxRoiPool", exact=True)

#: Batch, x1, y1, x2 and y2 of each region.
Regions: TypeAlias = NDArray[np.float64]


# ── bins ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Bin:
    """The elements of a bin along one axis.

    Attributes:
        least: Those that lie in it however the text is read.
        most: Those that may lie in it.
        own: Those that do by whole coordinates, the end of a region included.
    """

    least: slice
    most: slice
    own: slice


def bins(a: float, b: float, count: int, length: int) -> Iterator[Bin]:
    """Yield the `count` bins of the region [a, b] along an axis of this length, from its start on.

    a, b: coordinates in elements, finite, fractions too. The text does not state how they become
    whole, if the end is included, and to which bin an element at a border belongs: what lies in a
    bin by every choice is its `least`, by any its `most`. Raises NotSupported, while judging, at
    the first bin of a region that reaches outside of the image; otherwise goes on.
    """
    if a < 0 or b > length:
        leave_open("nothing is said of what lies outside the image")
    # The start and the end of the region with the least ends, and with the largest ones.
    smallest = (floor(a), floor(b))
    largest = (ceil(a), ceil(b) + 1)
    # By rounded coordinates, the end included.
    start = floor(a + 0.5)
    size = max(1, floor(b + 0.5) + 1 - start)
    for i in range(count):
        yield Bin(
            least=from_0(
                up(border(largest, i, count), count),
                border(smallest, i + 1, count) // count,
            ),
            most=from_0(
                border(smallest, i, count) // count,
                up(border(largest, i + 1, count), count),
            ),
            own=from_0(start + i * size // count, start + up((i + 1) * size, count)),
        )


def border(region: tuple[int, int], i: int, count: int) -> int:
    """Return `count` times the border between bin i - 1 and bin i of a region of whole ends."""
    return region[0] * (count - i) + region[1] * i


def up(total: int, count: int) -> int:
    """Return total / count rounded up; count > 0."""
    return -(-total // count)


def from_0(start: int, end: int) -> slice:
    """Return the slice from `start` to before `end`, without places below 0."""
    return slice(max(0, start), max(0, end))


def maximum(image: Tensor, rows: Bin, columns: Bin) -> Tensor:
    """Return the maximum of each channel of an image, C×H×W, in one bin, [C]; 0 of an empty one.

    It is the maximum of the bin's `own` elements. Raises NotSupported, while judging, where the
    text does not decide it: if the bin may be empty, and if elements that may lie in it exceed
    those that must, NaN among them.
    """
    least = image[:, rows.least, columns.least]
    most = image[:, rows.most, columns.most]
    own = image[:, rows.own, columns.own]
    if not least.size:
        leave_open("nothing is said of bins that may hold nothing")
    elif (xp.max(least, axis=(1, 2)) != xp.max(most, axis=(1, 2))).any():
        # NaN in a bin is among these, as it equals nothing.
        leave_open("it is not said which elements lie in a bin")
    return xp.max(own, axis=(1, 2)) if own.size else np.zeros(image.shape[0], image.dtype)


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(1, 22)
def max_roi_pool(
    read: Callable[[Regions], Regions],
    X: Tensor,
    rois: Tensor,
    *,
    pooled_shape: Sequence[int],
    spatial_scale: float,
) -> Tensor:
    """Return the maxima of X over the bins of each region, [number of regions, C, *pooled_shape].

    X: N×C×H×W; rois: [number of regions, 5], each the batch, x1, y1, x2 and y2, which are
    multiplied by spatial_scale. read: makes the regions of `rois`. An output of size 0 reads no
    region.

    Raises InvalidNode for other shapes of X and rois, unless pooled_shape is two numbers from 1 on,
    and for a batch that X does not have. Raises NotSupported for a batch that is a fraction, and
    for regions with NaN or of which a number times spatial_scale is 2^31 or more in magnitude;
    while judging, also where a bin may be empty, or elements that may lie in it exceed those that
    must, and where a region reaches outside of the image. Raises MemoryError for an output of more
    than 2^28 elements.
    """
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
    batches = regions[:, 0]
    corners = regions[:, 1:] * spatial_scale
    is_near = np.abs(regions * spatial_scale) < 2.0**31
    if not is_near.all() or (batches % 1).any():
        raise NotSupported("nothing is said of what is no batch, or far from every image")
    images = elements_at(batches.astype(np.int64), X.shape[0], back=False)
    maxima = []
    for image, (x1, y1, x2, y2) in zip(images, corners, strict=True):
        rows = bins(y1, y2, pooled_shape[0], X.shape[2])
        columns = bins(x1, x2, pooled_shape[1], X.shape[3])
        maxima += [maximum(X[image], row, column) for row, column in product(rows, columns)]
    y = xp.reshape(xp.stack(maxima), (rois.shape[0], *pooled_shape, X.shape[1]))
    return xp.permute_dims(y, (0, 3, 1, 2))


def as_given(rois: Regions) -> Regions:
    """Return the regions as they are; mutants read them otherwise."""
    return rois


MAX_ROI_POOL.formula(build=max_roi_pool)(as_given)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def x_and_y_exchanged(rois: Regions) -> Regions:
    """Mutant: y comes before x."""
    return rois[:, [0, 2, 1, 4, 3]]


def first_image_for_all(rois: Regions) -> Regions:
    """Mutant: all regions are of the first image."""
    return rois * [0, 1, 1, 1, 1]


def images_in_turn(rois: Regions) -> Regions:
    """Mutant: the first region is of the first image, the second of the second, and so on."""
    return np.column_stack([np.arange(rois.shape[0]), rois[:, 1:]])


def ends_as_sizes(rois: Regions) -> Regions:
    """Mutant: x2 and y2 are width and height."""
    return rois + np.pad(rois[:, 1:3], [(0, 0), (3, 0)])


MAX_ROI_POOL.mutant_table(
    {
        "x_and_y_exchanged": ("y came before x", x_and_y_exchanged),
        "first_image_for_all": ("all regions were of the first image", first_image_for_all),
        "images_in_turn": ("each image had its own region, in order", images_in_turn),
        "ends_as_sizes": ("x2 and y2 were width and height", ends_as_sizes),
    },
    build=max_roi_pool,
)
