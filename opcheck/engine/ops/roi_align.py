"""RoiAlign (10, 16, 22): the mean, or the maximum, of places in the bins of regions of images.

The text says neither what lies outside an image, nor what a region without a size is, nor whether
the maximum is that of interpolated values or, as in ONNX's node tests, of their weighted parts.
"""

from fractions import Fraction
from functools import partial
from math import ceil, floor
from types import SimpleNamespace

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.operators import by_step, check_one_of, is_open, operator, unsaid
from opcheck.errors import InvalidNode

OP = operator("RoiAlign")


def ends(low, high, scale, shift):
    """Where a region begins and how long it is, along an axis of its image."""
    low, high = low * scale - shift, high * scale - shift
    return low, high - low if shift else xp.maximum(high - low, 1)


def centers(bins, count):
    """Where places lie, as fractions of the region: in the midst of equal parts."""
    return (np.arange(bins * count) + 0.5) / (bins * count)


def share(place, at, length):
    """The share of the element `at` in a place; beyond its edge an image goes on."""
    return xp.maximum(1.0 - xp.abs(xp.clip(place, 0.0, length - 1.0) - at), 0.0)


def average(samples):
    """The mean of the places of each bin, which lie along the axes 2 and 5, and their parts."""
    count = samples.shape[2] * samples.shape[5]
    return xp.sums(samples, partial(np.sum, axis=(2, 3, 5, 6)), 4 * count) / count


def maximum(samples):
    """The maximum of interpolated values; where that is not decided, of ONNX's weighted parts."""
    values, axes = xp.sums(samples, partial(np.sum, axis=(3, 6)), 4), (2, 3, 5, 6)
    either = (xp.values_of(x).max(axis=n) for x, n in ((values, (2, 4)), (samples, axes)))
    if np.array_equal(*either):
        return xp.max(values, axis=(2, 4))
    is_open("the maximum may be of weighted parts")
    return xp.max(samples, axis=axes)


#: The steps that mutants change: of regions and their images first.
STEPS = {
    "read": lambda rois, batches: (rois, batches), "ends": ends,
    "count": lambda size, bins: ceil(size / bins),
    "centers": centers, "share": share, "average": average,
}  # fmt: skip


def count_of(low, high, bins, scale, shift, step, dtype):
    """The number of places of a bin along an axis, where every type of floats can tell."""
    low, high, scale, shift = map(Fraction, (low, high, scale, shift))
    products, u = [low * scale, high * scale], Fraction(1, 2 ** DTYPES[dtype.name].precision)
    moved, size = [x - shift for x in products], products[1] - products[0]
    exact = all(np.float64(float(x)).astype(dtype) == x for x in (*products, *moved, size))
    off = 0 if exact else 4 * u * (sum(map(abs, products)) + 1)
    # A quotient that is rounded once does not leave a whole number behind, but may come to one.
    quotients = (size - off) * (1 - u) / bins, (size + off) * (1 + u if off else 1) / bins
    is_open("no type tells how many places a bin has", ceil(quotients[0]) != ceil(quotients[1]))
    return max(1, step.count(Fraction(step.ends(low, high, scale, shift)[1]), bins))


@by_step(each={10: "output_half_pixel", 16: "half_pixel", 22: "half_pixel"})
def of_regions(changed, transform, X, rois, batch_indices, *, mode, output_height, output_width,
               sampling_ratio, spatial_scale, **asked):  # fmt: skip
    """All versions, from the steps that are not the text's, and how coordinates are meant."""
    transform = asked.get("coordinate_transformation_mode", transform)
    check_one_of("coordinate_transformation_mode", transform, "half_pixel", "output_half_pixel")
    check_one_of("mode", mode, "avg", "max")
    given = X.shape, rois.shape, batch_indices.shape
    if [*map(len, given)] != [4, 2, 1] or rois.shape != (*batch_indices.shape, 4):
        raise InvalidNode(f"X {list(X.shape)}, rois {list(rois.shape)}, batch_indices "
                          f"{list(batch_indices.shape)}; allowed: rank 4, [n, 4], [n]")  # fmt: skip
    if min(output_height, output_width) < 0:
        raise InvalidNode(f"an output of {output_height} by {output_width}; allowed: from 1 on")
    unsaid("fewer than one bin or place", 0 in (output_height, output_width) or sampling_ratio < 0)
    check_size(shape := (rois.shape[0], X.shape[1], output_height, output_width))
    step = SimpleNamespace(**{**STEPS, **changed})
    rois, batches = step.read(rois, elements_at(batch_indices, X.shape[0], back=False))
    for x in (X, rois):
        unsaid("what is no number", not np.isfinite(xp.values_of(x)).all())
    if not all(shape):
        return xp.astype(np.zeros(shape), X.dtype)
    unsaid("images without elements", not X.size)
    found, shift = [], 0.5 if transform == "half_pixel" else 0.0
    for number, image in enumerate(batches):
        plane, weights = X[int(image)], []
        for axis, bins in enumerate((output_height, output_width)):
            low, high = rois[number, 1 - axis], rois[number, 3 - axis]
            first, last = (float(xp.values_of(x)) for x in (low, high))
            span = (last - first) * spatial_scale
            is_open("nothing is said of regions without a size", span < (not shift) or not span)
            count = sampling_ratio or count_of(
                first, last, bins, spatial_scale, shift, step, X.dtype)  # fmt: skip
            check_size((*plane.shape[: 1 + axis], bins, count, 4))
            start, size = step.ends(low, high, spatial_scale, shift)
            place = xp.inexact(start + size * step.centers(bins, count), 4)
            at, length = xp.values_of(place), X.shape[2 + axis]
            # Rounding may bring what is nearly one element outside beyond that.
            if at.min() < -0.99 or at.max() > length - 0.01:
                is_open("nothing is said of what lies outside the image")
            index = np.floor(np.clip(at, 0, length - 1))[:, None] + np.arange(-1.0, 3.0)
            part = step.share(xp.reshape(place, (-1, 1)), index, length)
            weights.append(xp.reshape(part, (bins, count, 4, *[1] * (3 - 3 * axis))))
            held = np.clip(index, 0, length - 1).astype(np.int64).reshape(-1)
            plane = xp.take(plane, held, axis=1 + axis)
        shares = weights[0] * weights[1]
        samples = xp.reshape(plane, (-1, *shares.shape)) * shares
        found.append((step.average if mode == "avg" else maximum)(samples))
    return xp.astype(xp.stack(found), X.dtype)


OP.formula(by=lambda average: of_regions({"average": average}))(average)
OP.mutant_table({
    "y_before_x": ("y came before x", {
        "read": lambda rois, batches: (rois[:, [1, 0, 3, 2]], batches)}),
    "ends_as_sizes": ("x2 and y2 were width and height", {
        "read": lambda rois, batches: (rois + np.pad(rois[:, :2], [(0, 0), (2, 0)]), batches)}),
    "first_image_for_all": ("all regions were of the first image", {
        "read": lambda rois, batches: (rois, batches * 0)}),
    "ends_held": ("regions held their ends, as pixels do", {
        "ends": lambda *of: tuple(map(sum, zip(ends(*of), (0, 1), strict=True)))}),
    "ends_rounded": ("ends of regions were rounded to whole numbers, as those of MaxRoiPool", {
        "ends": lambda low, high, scale, shift: ends(
            floor(low * scale + 0.5), floor(high * scale + 0.5), 1, shift)}),
    "count_rounded_down": ("an adaptive number of places was rounded down", {
        "count": lambda size, bins: floor(size / bins)}),
    "count_rounded": ("an adaptive number of places was rounded to the nearest", {
        "count": lambda size, bins: round(size / bins)}),
    "count_of_regions": ("an adaptive number of places was that of the region", {
        "count": lambda size, bins: ceil(size)}),
    "two_places": ("an adaptive number of places was 2", {"count": lambda size, bins: 2}),
    "first_corners": ("places were the first corners of their parts", {
        "centers": lambda bins, count: np.arange(bins * count) / (bins * count)}),
    "nearest": ("the nearest element was taken", {
        "share": lambda place, at, n: 1.0 * (np.floor(np.clip(place, 0, n - 1) + 0.5) == at)}),
    "shares_exchanged": ("the two elements beside a place had each other's share", {
        "share": lambda place, at, length: np.where(
            (place - at < -1) | (place - at >= 1), 0.0, np.abs(place - at))}),
    "zeros_outside": ("what is outside an image was 0", {
        "share": lambda place, at, length: np.maximum(1 - np.abs(place - at), 0) * (
            (at >= 0) & (at < length))}),
    "places_outside_are_0": ("places outside an image were 0", {
        "share": lambda place, at, n: share(place, at, n) * ((place >= 0) & (place <= n - 1))}),
    "added_up": ("places were added up, and not averaged", {
        "average": lambda samples: samples.sum(axis=(2, 3, 5, 6))}),
    "bins_by_columns": ("bins came by columns", {
        "average": lambda samples: (y := average(samples)).swapaxes(1, 2).reshape(y.shape)}),
}, by=of_regions)  # fmt: skip
OP.mutant_table({
    "never_shifted": ("half_pixel did not shift coordinates", {
        "ends": lambda low, high, scale, shift: (low * scale, ends(low, high, scale, shift)[1])}),
    "shifted_on": ("half_pixel shifted coordinates by +0.5", {
        "ends": lambda low, high, scale, shift: ends(low, high, scale, -shift)}),
    "shifted_before_scaled": ("half_pixel shifted coordinates of the input image", {
        "ends": lambda low, high, scale, shift: (
            (low - shift) * scale, ends(low, high, scale, shift)[1])}),
    "one_long_at_least": ("every region was one element long at least", {
        "ends": lambda low, high, scale, shift: (
            low * scale - shift, ends(low, high, scale, 0)[1])}),
}, 16, 22, by=of_regions)  # fmt: skip
