"""RoiAlign: the mean, or the maximum, of the values at places in the bins of regions of images.

Along each axis a region is divided into bins, and each bin holds some places: the centers of its
equal parts. A value is interpolated bilinearly between the elements beside its place. Less than one
element beyond its edge an image goes on as it ends.

The parts of the file: regions and their places; the pooling of a bin; the operator; its mutants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.interpolation import FloatArray
from opcheck.engine.operators import (
    NamedMutants,
    check_one_of,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode
from opcheck.numbers import Array

ROI_ALIGN = operator("RoiAlign")

#: From both ends of a region, spatial_scale and the shift to its start and its size.
Ends: TypeAlias = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
#: A batch index for each region.
Indices: TypeAlias = NDArray[np.int64]

#: Elements around a place that may have a share in it.
_AROUND = np.arange(-1.0, 3.0)

MAXIMUM = Ruling(
    "maximum-of-a-bin",
    "The text does not state whether the maximum is that of interpolated values or, as in ONNX's "
    "node tests, of their weighted parts.",
    ("of_weighted_parts", "of_interpolated_values"),
)
SMALL_REGION = Ruling(
    "region-below-one-element",
    "The text has regions as they are. Where nothing is shifted, implementations take one that is "
    "smaller than an element for an element.",
    ("one_element", "as_it_is"),
)


# ── regions and their places ──────────────────────────────────────────────────────────────────


def at_least_one(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Return the start and the size of a region; unshifted, of one element at least.

    `low` and `high` are its ends along an axis in the image's coordinates: times `scale`, less
    `shift`.
    """
    low = low * scale - shift
    high = high * scale - shift
    # The size is a number.
    return low, high - low if shift else xp.maximum(high - low, 1)


def as_it_is(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Return the start and the size of a region, which may be below 0.

    `low` and `high` are its ends along an axis in the image's coordinates: times `scale`, less
    `shift`.
    """
    low = low * scale - shift
    high = high * scale - shift
    return low, high - low


def rounded_up(size: Fraction, bins: int) -> int:
    """Return the adaptive number of places of a bin: ceil(roi_width / output_width).

    It is 0 or less for a region without a size. `size` is in elements of X.
    """
    return ceil(size / bins)


def centers(bins: int, count: int) -> FloatArray:
    """Return the places of all bins along one axis, [bins * count], ascending.

    They are fractions of the region in (0, 1): the middles of equal parts, `count` in each bin.
    """
    return (np.arange(bins * count) + 0.5) / (bins * count)


def share(place: Array, at: Array, length: int) -> Array:
    """Return the share, from 0 to 1, that the elements at indices `at` have in a value at `place`.

    Both broadcast; `length` is that of the image's axis. The share is 1 less their distance, and 0
    from a distance of 1 on. A place outside of [0, length - 1] counts as the nearest end.
    """
    inside = xp.clip(place, 0.0, length - 1.0)
    # Shares are numbers.
    return xp.maximum(1.0 - xp.abs(inside - at), 0.0)


# ── pooling ───────────────────────────────────────────────────────────────────────────────────
#
# The samples of all bins have the shape [C, bins, count, 4, bins, count, 4]: each value in 4 × 4
# weighted parts.

#: The axes of samples that are the places of a bin, and those that are the parts of a value.
_OF_PLACES, _OF_PARTS = (2, 5), (3, 6)
_OF_BOTH = (2, 3, 5, 6)


def average(samples: Array) -> Array:
    """Return the mean of the values of each bin, [C, bins, bins].

    `samples` has weighted parts: [C, bins, count, 4, bins, count, 4].
    """
    count = samples.shape[2] * samples.shape[5]
    return xp.sums(samples, partial(np.sum, axis=_OF_BOTH), 4 * count) / count


def maximum(samples: Array) -> Array:
    """Return the maximum of the values of each bin, [C, bins, bins], or of their parts: MAXIMUM.

    `samples` has weighted parts: [C, bins, count, 4, bins, count, 4]. Where both are equal in all
    bins, nothing is open.
    """
    values = xp.sums(samples, partial(np.sum, axis=_OF_PARTS), 4)
    of_values = xp.values_of(values).max(axis=(2, 4))
    of_parts = xp.values_of(samples).max(axis=_OF_BOTH)
    is_open = not np.array_equal(of_values, of_parts)
    if is_open and MAXIMUM.reading() == "of_weighted_parts":
        return xp.max(samples, axis=_OF_BOTH)
    return xp.max(values, axis=(2, 4))


# ── the operator ──────────────────────────────────────────────────────────────────────────────


def as_given(rois: Array, batch_indices: Indices) -> tuple[Array, Indices]:
    """Return regions and the indices of their images as they are."""
    return rois, batch_indices


@dataclass(frozen=True)
class Aligning:
    """RoiAlign; its fields are what mutants do otherwise.

    Attributes:
        read: What is made of rois and batch_indices.
        ends: Returns the start and the size of a region.
        count: Returns the adaptive number of places of a bin, from the size and the bins.
        centers: Returns the places, as fractions of the region.
        share: Returns the share of an element in a place.
        average: Returns the mean of a bin.
    """

    read: Callable[[Array, Indices], tuple[Array, Indices]] = as_given
    ends: Ends = at_least_one
    count: Callable[[Fraction, int], int] = rounded_up
    centers: Callable[[int, int], FloatArray] = centers
    share: Callable[[Array, Array, int], Array] = share
    average: Callable[[Array], Array] = average


@dataclass(frozen=True)
class Pooling:
    """What all regions have in common.

    Attributes:
        bins: output_height and output_width.
        sampling_ratio: The places of a bin along an axis; 0 for an adaptive number.
        spatial_scale: The scale of X relative to the image that regions are in.
        shift: 0.5 for half_pixel, else 0.
        pool: Makes values of samples.
    """

    bins: tuple[int, int]
    sampling_ratio: int
    spatial_scale: float
    shift: float
    pool: Callable[[Array], Array]


def check_shapes(X: Array, rois: Array, batch_indices: Array) -> None:
    """Raise InvalidNode unless X is [N, C, H, W], rois [n, 4] and batch_indices [n]."""
    ranks = [X.ndim, rois.ndim, batch_indices.ndim]
    if ranks != [4, 2, 1] or rois.shape != (*batch_indices.shape, 4):
        raise InvalidNode(
            f"X {list(X.shape)}, rois {list(rois.shape)}, batch_indices "
            f"{list(batch_indices.shape)}; allowed: rank 4, [n, 4], [n]"
        )


@formulas_of_versions(each={10: "output_half_pixel", 16: "half_pixel", 22: "half_pixel"})
def roi_align(
    aligning: Aligning,
    default_mode: str,
    X: Array,
    rois: Array,
    batch_indices: Array,
    *,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    **attributes: str,
) -> Array:
    """Return Y, [num_rois, C, output_height, output_width], in the type of X.

    X: [N, C, H, W]; rois: [num_rois, 4], as x1, y1, x2, y2, which times spatial_scale are places in
    X; batch_indices: [num_rois], from 0 on. A sampling_ratio of 0 is an adaptive number.
    default_mode: the coordinate_transformation_mode of a node without one, as in version 10, which
    shifts nothing. Of mode max, the maximum is that of interpolated values, or of their weighted
    parts, MAXIMUM. Unshifted regions smaller than an element count as one element, or as they are,
    SMALL_REGION. aligning: the steps, which mutants change.

    Raises InvalidNode for other shapes, unknown modes, a negative output_height or output_width,
    and an index of no image. Raises NotSupported for an output_height or output_width of 0, a
    negative sampling_ratio, NaN or infinity in X or rois, and an output of images without elements;
    for a judge, also for a region without a size, a place an element or more outside of its image,
    and an adaptive number that floats do not tell. Raises MemoryError for an output or samples that
    are too large.
    """
    transformation = attributes.get("coordinate_transformation_mode", default_mode)
    check_one_of(
        "coordinate_transformation_mode", transformation, "half_pixel", "output_half_pixel"
    )
    check_one_of("mode", mode, "avg", "max")
    check_shapes(X, rois, batch_indices)
    if min(output_height, output_width) < 0:
        raise InvalidNode(f"an output of {output_height} by {output_width}; allowed: from 1 on")
    if 0 in (output_height, output_width) or sampling_ratio < 0:
        raise_unspecified("fewer than one bin or place")
    shape = (rois.shape[0], X.shape[1], output_height, output_width)
    check_size(shape)
    images = elements_at(batch_indices, X.shape[0], back=False)
    rois, images = aligning.read(rois, images)
    for tensor in (X, rois):
        if not np.isfinite(xp.values_of(tensor)).all():
            raise_unspecified("what is no number")
    if not all(shape):
        return xp.astype(np.zeros(shape), X.dtype)
    if not X.size:
        raise_unspecified("images without elements")
    pooling = Pooling(
        bins=(output_height, output_width),
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
        shift=0.5 if transformation == "half_pixel" else 0.0,
        pool=aligning.average if mode == "avg" else maximum,
    )
    regions = [
        pooled_region(aligning, pooling, X[int(image)], rois[number])
        for number, image in enumerate(images)
    ]
    return xp.astype(xp.stack(regions), X.dtype)


def pooled_region(aligning: Aligning, pooling: Pooling, image: Array, roi: Array) -> Array:
    """Return the values of a region's bins, [C, output_height, output_width].

    image: [C, H, W]; roi: [4], x1, y1, x2, y2; both finite. A small region is an element or as it
    is, SMALL_REGION; the maximum is that of values or of their parts, MAXIMUM. Raises MemoryError
    for samples that are too large; NotSupported for a judge if the region has no size, a place is
    an element or more outside of the image, or floats do not tell an adaptive number of places.
    """
    elements = image
    shares_of_axes = []
    for axis, bins in enumerate(pooling.bins):
        # Axis 0 is y, and roi has x first.
        low, high = roi[1 - axis], roi[3 - axis]
        first, last = float(xp.values_of(low)), float(xp.values_of(high))
        ends = ends_by_reading(aligning, pooling, first, last)
        count = pooling.sampling_ratio or adaptive_count(
            aligning, pooling, ends, first, last, bins, image.dtype
        )
        check_size((*elements.shape[: 1 + axis], bins, count, 4))
        start, size = ends(low, high, pooling.spatial_scale, pooling.shift)
        place = xp.inexact(start + size * aligning.centers(bins, count), 4)
        length = image.shape[1 + axis]
        check_places(xp.values_of(place), length)
        # Four elements around each place, [bins * count, 4]; those outside the image have no share.
        index = np.floor(np.clip(xp.values_of(place), 0, length - 1))[:, None] + _AROUND
        shares = aligning.share(xp.reshape(place, (-1, 1)), index, length)
        shares_of_axes.append(xp.reshape(shares, (bins, count, 4, *[1] * (3 - 3 * axis))))
        inside = np.clip(index, 0, length - 1).astype(np.int64).reshape(-1)
        elements = xp.take(elements, inside, axis=1 + axis)
    # [bins, count, 4, bins, count, 4]
    shares = shares_of_axes[0] * shares_of_axes[1]
    return pooling.pool(xp.reshape(elements, (-1, *shares.shape)) * shares)


def ends_by_reading(aligning: Aligning, pooling: Pooling, first: float, last: float) -> Ends:
    """Return the function that makes start and size of a region, from `first` to `last` on an axis.

    Where nothing is shifted, a region smaller than an element is taken for an element, or as it
    is, by `as_it_is`: SMALL_REGION. In all other cases it is `aligning.ends`. Raises NotSupported
    for a judge if the size is 0 or less.
    """
    span = (last - first) * pooling.spatial_scale
    if span <= 0:
        leave_open("nothing is said of regions without a size")
    elif not pooling.shift and span < 1 and SMALL_REGION.reading() == "as_it_is":
        return as_it_is
    return aligning.ends


def check_places(at: FloatArray, length: int) -> None:
    """Raise NotSupported for a judge if a place may be one element outside of an image, or more.

    `at` holds one place or more, and `length` is that of the image along the axis.
    """
    # Rounding may bring what is nearly one element outside beyond that.
    if at.min() < -0.99 or at.max() > length - 0.01:
        leave_open("nothing is said of what lies outside the image")


def adaptive_count(
    aligning: Aligning,
    pooling: Pooling,
    ends: Ends,
    first: float,
    last: float,
    bins: int,
    dtype: np.dtype[Any],
) -> int:
    """Return the number of places of a bin along an axis: ceil(size / bins), but 1 at least.

    `first` and `last` are its ends in the image's coordinates, with which exact fractions are
    computed; `ends` makes start and size of them. `dtype` is that of X: raises NotSupported for a
    judge if roundings in it may change the count.
    """
    low, high = Fraction(first), Fraction(last)
    scale, shift = Fraction(pooling.spatial_scale), Fraction(pooling.shift)
    scaled = [low * scale, high * scale]
    size = scaled[1] - scaled[0]
    steps = [*scaled, scaled[0] - shift, scaled[1] - shift, size]
    is_exact = all(np.float64(float(x)).astype(dtype) == x for x in steps)
    u = Fraction(1, 2 ** DTYPES[dtype.name].precision)
    error_of_size = 0 if is_exact else 4 * u * (sum(map(abs, scaled)) + 1)
    # A quotient that is rounded once never crosses a whole number, but may become one.
    least = (size - error_of_size) * (1 - u) / bins
    most = (size + error_of_size) * (1 + u if error_of_size else 1) / bins
    if ceil(least) != ceil(most):
        leave_open("no type tells how many places a bin has")
    _, size = ends(low, high, scale, shift)
    return max(1, aligning.count(Fraction(size), bins))


ROI_ALIGN.formula(build=roi_align)(Aligning())


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def y_before_x(rois: Array, images: Indices) -> tuple[Array, Indices]:
    """Mutant: regions are given as y1, x1, y2, x2."""
    return rois[:, [1, 0, 3, 2]], images


def ends_as_sizes(rois: Array, images: Indices) -> tuple[Array, Indices]:
    """Mutant: x2 and y2 are width and height."""
    return rois + np.pad(rois[:, :2], [(0, 0), (2, 0)]), images


def first_image_for_all(rois: Array, images: Indices) -> tuple[Array, Indices]:
    """Mutant: all regions are of the first image."""
    return rois, images * 0


def ends_held(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: a region is longer by 1, as if its end were a pixel of it."""
    start, size = at_least_one(low, high, scale, shift)
    return start, size + 1


def ends_rounded(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: ends are rounded to whole numbers, as MaxRoiPool does."""
    return at_least_one(floor(low * scale + 0.5), floor(high * scale + 0.5), 1, shift)


def never_shifted(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: half_pixel does not shift."""
    _, size = at_least_one(low, high, scale, shift)
    return low * scale, size


def shifted_on(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: half_pixel shifts by +0.5."""
    return at_least_one(low, high, scale, -shift)


def shifted_before_scaled(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: half_pixel shifts before it scales."""
    _, size = at_least_one(low, high, scale, shift)
    return (low - shift) * scale, size


def one_long_at_least(low: Any, high: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
    """Mutant of `at_least_one`: a shifted region is of one element at least."""
    _, size = at_least_one(low, high, scale, 0)
    return low * scale - shift, size


def count_rounded_down(size: Fraction, bins: int) -> int:
    """Mutant of `rounded_up`: the adaptive number of places is rounded down."""
    return floor(size / bins)


def count_rounded(size: Fraction, bins: int) -> int:
    """Mutant of `rounded_up`: the adaptive number of places is rounded to the nearest."""
    return round(size / bins)


def count_of_regions(size: Fraction, bins: int) -> int:
    """Mutant of `rounded_up`: a bin has as many places as its whole region has elements."""
    return ceil(size)


def two_places(size: Fraction, bins: int) -> int:
    """Mutant of `rounded_up`: the adaptive number of places is 2."""
    return 2


def first_corners(bins: int, count: int) -> FloatArray:
    """Mutant: places are the first corners of their parts."""
    return np.arange(bins * count) / (bins * count)


def nearest(place: Array, at: Array, length: int) -> Array:
    """Mutant of `share`: the nearest element has all of the share."""
    return 1.0 * (np.floor(np.clip(place, 0, length - 1) + 0.5) == at)


def shares_exchanged(place: Array, at: Array, length: int) -> Array:
    """Mutant of `share`: the two elements beside a place have each other's share."""
    is_beside = (place - at >= -1) & (place - at < 1)
    return np.where(is_beside, np.abs(place - at), 0.0)


def zeros_outside(place: Array, at: Array, length: int) -> Array:
    """Mutant of `share`: what is outside an image is 0."""
    return np.maximum(1 - np.abs(place - at), 0) * ((at >= 0) & (at < length))


def places_outside_are_0(place: Array, at: Array, length: int) -> Array:
    """Mutant of `share`: the value at a place outside an image is 0."""
    return share(place, at, length) * ((place >= 0) & (place <= length - 1))


def added_up(samples: Array) -> Array:
    """Mutant: values are added up, and not averaged."""
    return samples.sum(axis=_OF_BOTH)


def bins_by_columns(samples: Array) -> Array:
    """Mutant: bins come by columns."""
    Y = average(samples)
    return Y.swapaxes(1, 2).reshape(Y.shape)


MUTANTS: NamedMutants[Aligning] = {
    "y_before_x": ("y came before x", Aligning(read=y_before_x)),
    "ends_as_sizes": ("x2 and y2 were width and height", Aligning(read=ends_as_sizes)),
    "first_image_for_all": (
        "all regions were of the first image",
        Aligning(read=first_image_for_all),
    ),
    "ends_held": ("regions held their ends, as pixels do", Aligning(ends=ends_held)),
    "ends_rounded": (
        "ends of regions were rounded to whole numbers, as those of MaxRoiPool",
        Aligning(ends=ends_rounded),
    ),
    "count_rounded_down": (
        "an adaptive number of places was rounded down",
        Aligning(count=count_rounded_down),
    ),
    "count_rounded": (
        "an adaptive number of places was rounded to the nearest",
        Aligning(count=count_rounded),
    ),
    "count_of_regions": (
        "an adaptive number of places was that of the region",
        Aligning(count=count_of_regions),
    ),
    "two_places": ("an adaptive number of places was 2", Aligning(count=two_places)),
    "first_corners": (
        "places were the first corners of their parts",
        Aligning(centers=first_corners),
    ),
    "nearest": ("the nearest element was taken", Aligning(share=nearest)),
    "shares_exchanged": (
        "the two elements beside a place had each other's share",
        Aligning(share=shares_exchanged),
    ),
    "zeros_outside": ("what is outside an image was 0", Aligning(share=zeros_outside)),
    "places_outside_are_0": (
        "places outside an image were 0",
        Aligning(share=places_outside_are_0),
    ),
    "added_up": ("places were added up, and not averaged", Aligning(average=added_up)),
    "bins_by_columns": ("bins came by columns", Aligning(average=bins_by_columns)),
}
#: Mutants of what version 10 does not have.
MUTANTS_OF_SHIFTS: NamedMutants[Aligning] = {
    "never_shifted": ("half_pixel did not shift coordinates", Aligning(ends=never_shifted)),
    "shifted_on": ("half_pixel shifted coordinates by +0.5", Aligning(ends=shifted_on)),
    "shifted_before_scaled": (
        "half_pixel shifted coordinates of the input image",
        Aligning(ends=shifted_before_scaled),
    ),
    "one_long_at_least": (
        "every region was one element long at least",
        Aligning(ends=one_long_at_least),
    ),
}
ROI_ALIGN.mutant_table(MUTANTS, build=roi_align)
ROI_ALIGN.mutant_table(MUTANTS_OF_SHIFTS, 16, 22, build=roi_align)
