"""Images sampled: at locations, GridSample, and in the bins of regions, RoiAlign.

Of GridSample each axis of an image or a volume is from -1 to 1. Locations beyond the image are
reflected where -1 and 1 are: at the centers of the corner pixels, or at their corners. Undecided is
what lies half outside where zeros are beyond, and between pixels that are outside in part where
cubic. Implementations compute coordinates in float32: where that cannot tell which pixel is nearer,
either is right.

The text of RoiAlign says neither what lies outside an image, nor what a region without a size is,
nor whether the maximum is that of interpolated values or, as in ONNX's node tests, of their
weighted parts.
"""

from fractions import Fraction
from functools import partial
from math import ceil, floor, prod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.operators import (
    check_one_of,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.deform_conv import sampled
from opcheck.engine.ops.resampling import cubic, either, is_real, linear
from opcheck.errors import InvalidNode

NAMES = """GridSample RoiAlign"""
GRID_SAMPLE, ROI_ALIGN = map(operator, NAMES.split())
#: How far a term of a coordinate may be off: four roundings in float32.
_ROUNDINGS = 4
_OFF = _ROUNDINGS * 2.0**-24
#: Nearer to a pixel than this, a place may be taken for that pixel's.
_NEAR = 2.0**-8


def reflected(place, low, high):
    """A coordinate brought between two others by reflections, as often as it takes."""
    span = high - low
    turns = np.floor((xp.values_of(place) - low) / span) if span else np.zeros(place.shape)
    odd = turns % 2
    return place * (1 - 2 * odd) + np.where(odd, low + high + turns * span, -turns * span)


class Way(NamedTuple):
    """The attributes that choose pixels, where the first one begins, and which is nearest.

    `wide`: roundings of float32 in units of the arithmetic, where that is wider than a tensor.
    """

    mode: str
    padding: str
    corners: int
    wide: float
    first: Any = lambda corners: 0.0 if corners else -0.5
    reflected: Any = reflected
    rule: Any = np.rint
    a: float = -0.75


def placed(g, length, corners):
    """The terms whose sum is the coordinate of a location along an axis."""
    return g * ((length - corners) / 2), xp.real((length - 1) / 2)


def along(placed, since, way, g, length):
    """The coordinates along an axis; the least, the right and the greatest of nearest indices.

    Last, where the coordinates are exact in float32.
    """
    terms = placed(g, length, way.corners)
    place: Any = sum(xp.inexact(term, _ROUNDINGS * max(way.wide, 1.0)) for term in terms)
    g, at, steps = xp.values_of(g), xp.values_of(place), length - way.corners
    if way.padding == "reflection":
        first = way.first(way.corners)
        place = way.reflected(place, first, length - 1 - first)
    own, end, zeros = xp.values_of(place), length - 1, way.padding == "zeros"
    ends = (-3, length + 2) if zeros else (0, end)
    exact = np.all([np.float32(x) == x for x in (g, g + 1, g * steps, (g + 1) * steps, at)], 0)
    exact &= g + 1 - 1 == g  # else 1 is all that is left of the sum
    off = np.where(exact, 2.0**-30 * (since == 16), _OFF * (np.abs(g) + 1) * length)
    low, index, high = (np.clip(way.rule(own + side * off), *ends) for side in (-1, 0, 1))
    beyond = np.abs(g) > 1
    if way.mode == "nearest":
        ties = (own % 1 == 0.5) & beyond & (way.padding == "reflection")
        if (ties | (exact & (low != high))).any():
            leave_open("it is not said where such ties go")
        half = beyond == ((index >= 0) & (index <= end))
    elif way.mode == "linear":
        half = (at > -1) & (at < length) & ((at < 0) | (at > end) | beyond)
    else:
        half = beyond & (at > -2) & (at <= end)
        whole = exact & (own % 1 == 0) & (own >= 0) & (own <= end)
        inside, far = (own >= 1) & (own <= end - 1), (own <= -2) | (own > end + 2)
        if not (whole | inside | far).all():
            leave_open("nothing is said of cubic edges")
    if zeros and half.any():
        leave_open("nothing is said of what lies half outside")
    return xp.clip(place, *ends), [one.astype(np.int64) for one in (low, index, high)], exact


def nearest(X, at, held=True):
    """The pixels at the indices along each axis, either of two where unsure; 0 outside."""
    (batch, channels, *lengths), flat = X.shape, np.zeros(1, np.int64)
    for axis, (low, own, high) in enumerate(at):
        if not np.array_equal(low, high) and is_real(X):
            ends = (nearest(X, [*at[:axis], [end] * 3, *at[axis + 1 :]]) for end in (high, low))
            return xp.where(either(low, own, high, (batch, 1, -1)), *ends)
        if (low != high).any():
            leave_open("float32 cannot tell which pixel is nearer")
        flat = flat * lengths[axis] + np.clip(own, 0, lengths[axis] - 1)
        held = held & (own >= 0) & (own < lengths[axis])
    y = xp.take_along_axis(xp.reshape(X, (batch, channels, prod(lengths))), flat[:, None], axis=2)
    text = X.dtype == object
    if text and not held.all():
        leave_open("nothing is said of the 0 of texts")
    return xp.where(held[:, None], y, xp.full_like(y, "" if text else 0))


def averaged(X, places, way):
    """Averages of the pixels around each place."""
    if X.dtype.kind in "bcO":
        raise_unspecified("averages of what are no real numbers")
    reach, kernel = (1, linear) if way.mode == "linear" else (2, partial(cubic, way.a))
    places = [xp.reshape(place, (X.shape[0], 1, place.shape[1])) for place in places]
    values = [xp.values_of(place) for place in places]
    take = partial(sampled, pads=[(1, 1)] * len(places), reach=reach)
    if not is_real(X):
        y = take(X, values, share=lambda place, at: kernel(np.abs(place - at)))
        # Of small elements and such places, averages are not rounded.
        steps = 16 if reach == 1 else 2
        sharp = all((at * steps % 1 == 0).all() for at in values)
        sharp = sharp and np.array_equal(y, np.round(y)) and np.abs(X).max(initial=0) <= 2**12
        if not sharp:
            leave_open("no type tells how averages of integers are rounded")
        return y.astype(X.dtype)
    lost = ~np.isfinite(xp.values_of(X))
    finite = xp.where(lost, xp.zeros_like(X), X) if lost.any() else X
    y = take(finite, places, share=lambda x, at: xp.inexact(kernel(xp.abs(x - at)), 8 * way.wide))
    if lost.any():
        # Between NaN and anything is NaN, but not what may lie beside it.
        sure, may = (
            take(
                lost * 1.0, values, share=lambda place, at, near=near: np.abs(place - at) < 1 + near
            )
            for near in (-_NEAR, _NEAR)
        )
        decided = reach == 1 and not np.isinf(xp.values_of(X)).any()
        if not (decided and ((sure > 0) == (may > 0)).all()):
            leave_open("nothing is said of 0 times NaN")
        y = xp.where(may > 0, xp.full_like(y, np.nan), y)
    return xp.astype(y, X.dtype)


@formula_builder(each={16: 16, 20: 20, 22: 20}, options=["change", "read"])
def of_places(
    placed,
    since,
    X,
    grid,
    *,
    mode,
    padding_mode,
    align_corners,
    change=lambda *of: of,
    read=lambda lengths: lengths,
):
    """The formulas of all versions, from the terms of coordinates, and a change of all the rest."""
    both = ("bilinear", "bicubic") if since == 16 else ("linear", "cubic")
    check_one_of("mode", mode, "nearest", *both)
    check_one_of("padding_mode", padding_mode, "zeros", "border", "reflection")
    rank = X.ndim - 2
    if (rank != 2 if since == 16 else rank < 0) or grid.ndim != X.ndim:
        raise InvalidNode(f"X of rank {X.ndim} and grid of rank {grid.ndim}")
    if (grid.shape[0], grid.shape[-1]) != (X.shape[0], rank):
        raise InvalidNode(f"grid {list(grid.shape)} for X {list(X.shape)}")
    shape, count = (*X.shape[:2], *grid.shape[1:-1]), prod(grid.shape[1:-1])
    check_size(shape)
    if count and not (rank and prod(X.shape[2:])):
        raise_unspecified("images without an axis, or without a pixel")
    if align_corners not in (0, 1):
        raise_unspecified(f"align_corners {align_corners}")
    if not np.isfinite(xp.values_of(grid)).all():
        raise_unspecified("locations that are no numbers")
    # What is computed in float32 beside a tensor of float64 rounds so often in units of float64.
    wide = 2.0**29 * ((X.dtype == np.float64) != (grid.dtype == np.float64))
    way = Way(mode.removeprefix("bi"), padding_mode, align_corners, wide)
    X, grid, way = change(X, grid, way)
    grid = xp.reshape(grid, (X.shape[0], count, rank))
    # Coordinates are listed from the innermost axis to the outermost.
    found = [
        along(placed, since, way, grid[..., -1 - axis], length)
        for axis, length in enumerate(read(X.shape[2:]))
    ]
    places, chosen, exact = map(list, zip(*found, strict=True))
    if way.mode != "nearest" and not is_real(X) and not np.all(exact):
        leave_open("float32 cannot tell where to cut averages of integers off")
    y = nearest(X, chosen) if way.mode == "nearest" else averaged(X, places, way)
    return xp.reshape(y, shape)


GRID_SAMPLE.formula(build=of_places)(placed)
GRID_SAMPLE.mutant_table(
    {
        "from_0_to_1": (
            "locations ran from 0 to 1",
            lambda g, length, corners: placed(g * 2 - 1, length, corners),
        ),
        "in_pixels": ("locations were numbers of pixels", lambda g, length, corners: (g,)),
        "half_a_pixel_late": (
            "pixels began at whole numbers",
            lambda g, length, corners: (*placed(g, length, corners), 0.5 * (not corners)),
        ),
        "half_a_pixel_early": (
            "half a pixel was taken off at centers too",
            lambda g, length, corners: (*placed(g, length, corners), -0.5 * corners),
        ),
        "one_less_from_edges": (
            "the edges were a pixel nearer to each other",
            lambda g, length, corners: placed(g, length, 1),
        ),
    },
    build=of_places,
)
GRID_SAMPLE.mutant_table(
    {
        "y_before_x": (
            "coordinates came from the outermost axis on",
            lambda X, grid, way: (X, xp.flip(grid, axis=-1), way),
        ),
        "first_grid_for_all": (
            "the first grid served for the whole batch",
            lambda X, grid, way: (X, xp.broadcast_to(grid[:1], grid.shape), way),
        ),
        "first_image_for_all": (
            "the first image served for the whole batch",
            lambda X, grid, way: (xp.broadcast_to(X[:1], X.shape), grid, way),
        ),
        "first_channel_for_all": (
            "the first channel served for all",
            lambda X, grid, way: (xp.broadcast_to(X[:, :1], X.shape), grid, way),
        ),
        "kept_in_range": (
            "locations were limited to -1 to 1",
            lambda X, grid, way: (X, xp.clip(grid, -1.0, 1.0), way),
        ),
    },
    build=lambda change: of_places(placed, change=change),
)
GRID_SAMPLE.mutant_table(
    {
        "floor": ("the nearest pixel was that before", {"rule": np.floor}),
        "ceil": ("the nearest pixel was that after", {"rule": np.ceil}),
        "trunc": ("coordinates were cut off", {"rule": np.trunc}),
        "half_up": ("ties went up", {"rule": lambda x: np.floor(x + 0.5)}),
        "half_away": (
            "ties went away from 0",
            {"rule": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)},
        ),
        "coefficient_of_half": ("the cubic coefficient was -0.5", {"a": -0.5}),
        "reflected_at_centers": (
            "-1 and 1 were at the centers where it reflects",
            {"first": lambda corners: 0.0},
        ),
        "reflected_at_edges": (
            "-1 and 1 were at the edges where it reflects",
            {"first": lambda corners: -0.5},
        ),
        "reflected_once": (
            "it reflected once",
            {"reflected": lambda x, low, high: 2 * xp.clip(x, low, high) - x},
        ),
        "repeated": (
            "what is beyond began anew instead of being reflected",
            {
                "reflected": lambda x, low, high: (
                    x - (high - low) * ((x - low) // max(high - low, 1))
                )
            },
        ),
    },
    build=lambda changed: of_places(
        placed, change=lambda X, grid, way: (X, grid, way._replace(**changed))
    ),
)
GRID_SAMPLE.mutant_table(
    {
        f"{old}_is_{new}": (f"{old} was {new}", {old: new})
        for old, new in (
            ("zeros", "border"),
            ("border", "zeros"),
            ("border", "reflection"),
            ("reflection", "border"),
            ("linear", "nearest"),
            ("cubic", "linear"),
            ("nearest", "linear"),
        )
    },
    build=lambda names: of_places(
        placed,
        change=lambda X, grid, way: (
            X,
            grid,
            way._replace(
                mode=names.get(way.mode, way.mode), padding=names.get(way.padding, way.padding)
            ),
        ),
    ),
)
GRID_SAMPLE.mutant(
    "lengths were read from the last to the first",
    name="height_for_width",
    build=lambda step: of_places(step, read=lambda x: x[::-1]),
)(placed)


# RoiAlign: the mean, or the maximum, of places in the bins of regions of images.
def ends(low, high, scale, shift):
    """The start and the length of a region along an axis of its image."""
    low, high = low * scale - shift, high * scale - shift
    return low, high - low if shift else xp.maximum(high - low, 1)


def centers(bins, count):
    """The places, as fractions of the region: the middles of equal parts."""
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
    leave_open("the maximum may be of weighted parts")
    return xp.max(samples, axis=axes)


#: The steps that mutants change: of regions and their images first.
STEPS = {
    "read": lambda rois, batches: (rois, batches),
    "ends": ends,
    "count": lambda size, bins: ceil(size / bins),
    "centers": centers,
    "share": share,
    "average": average,
}


def count_of(low, high, bins, scale, shift, step, dtype):
    """The number of places of a bin along an axis, where every type of floats can tell."""
    low, high, scale, shift = map(Fraction, (low, high, scale, shift))
    products, u = [low * scale, high * scale], Fraction(1, 2 ** DTYPES[dtype.name].precision)
    moved, size = [x - shift for x in products], products[1] - products[0]
    exact = all(np.float64(float(x)).astype(dtype) == x for x in (*products, *moved, size))
    off = 0 if exact else 4 * u * (sum(map(abs, products)) + 1)
    # A quotient that is rounded once does not leave a whole number behind, but may come to one.
    quotients = (size - off) * (1 - u) / bins, (size + off) * (1 + u if off else 1) / bins
    if ceil(quotients[0]) != ceil(quotients[1]):
        leave_open("no type tells how many places a bin has")
    return max(1, step.count(Fraction(step.ends(low, high, scale, shift)[1]), bins))


@formula_builder(each={10: "output_half_pixel", 16: "half_pixel", 22: "half_pixel"})
def of_regions(
    changed,
    transform,
    X,
    rois,
    batch_indices,
    *,
    mode,
    output_height,
    output_width,
    sampling_ratio,
    spatial_scale,
    **asked,
):
    """All versions, from the steps that are not the text's, and how coordinates are meant."""
    transform = asked.get("coordinate_transformation_mode", transform)
    check_one_of("coordinate_transformation_mode", transform, "half_pixel", "output_half_pixel")
    check_one_of("mode", mode, "avg", "max")
    given = X.shape, rois.shape, batch_indices.shape
    if [*map(len, given)] != [4, 2, 1] or rois.shape != (*batch_indices.shape, 4):
        raise InvalidNode(
            f"X {list(X.shape)}, rois {list(rois.shape)}, batch_indices "
            f"{list(batch_indices.shape)}; allowed: rank 4, [n, 4], [n]"
        )
    if min(output_height, output_width) < 0:
        raise InvalidNode(f"an output of {output_height} by {output_width}; allowed: from 1 on")
    if 0 in (output_height, output_width) or sampling_ratio < 0:
        raise_unspecified("fewer than one bin or place")
    check_size(shape := (rois.shape[0], X.shape[1], output_height, output_width))
    step = SimpleNamespace(**{**STEPS, **changed})
    rois, batches = step.read(rois, elements_at(batch_indices, X.shape[0], back=False))
    for x in (X, rois):
        if not np.isfinite(xp.values_of(x)).all():
            raise_unspecified("what is no number")
    if not all(shape):
        return xp.astype(np.zeros(shape), X.dtype)
    if not X.size:
        raise_unspecified("images without elements")
    found, shift = [], 0.5 if transform == "half_pixel" else 0.0
    for number, image in enumerate(batches):
        plane, weights = X[int(image)], []
        for axis, bins in enumerate((output_height, output_width)):
            low, high = rois[number, 1 - axis], rois[number, 3 - axis]
            first, last = (float(xp.values_of(x)) for x in (low, high))
            span = (last - first) * spatial_scale
            if span < (not shift) or not span:
                leave_open("nothing is said of regions without a size")
            count = sampling_ratio or count_of(
                first, last, bins, spatial_scale, shift, step, X.dtype
            )
            check_size((*plane.shape[: 1 + axis], bins, count, 4))
            start, size = step.ends(low, high, spatial_scale, shift)
            place = xp.inexact(start + size * step.centers(bins, count), 4)
            at, length = xp.values_of(place), X.shape[2 + axis]
            # Rounding may bring what is nearly one element outside beyond that.
            if at.min() < -0.99 or at.max() > length - 0.01:
                leave_open("nothing is said of what lies outside the image")
            index = np.floor(np.clip(at, 0, length - 1))[:, None] + np.arange(-1.0, 3.0)
            part = step.share(xp.reshape(place, (-1, 1)), index, length)
            weights.append(xp.reshape(part, (bins, count, 4, *[1] * (3 - 3 * axis))))
            held = np.clip(index, 0, length - 1).astype(np.int64).reshape(-1)
            plane = xp.take(plane, held, axis=1 + axis)
        shares = weights[0] * weights[1]
        samples = xp.reshape(plane, (-1, *shares.shape)) * shares
        found.append((step.average if mode == "avg" else maximum)(samples))
    return xp.astype(xp.stack(found), X.dtype)


ROI_ALIGN.formula(build=lambda average: of_regions({"average": average}))(average)
ROI_ALIGN.mutant_table(
    {
        "y_before_x": (
            "y came before x",
            {"read": lambda rois, batches: (rois[:, [1, 0, 3, 2]], batches)},
        ),
        "ends_as_sizes": (
            "x2 and y2 were width and height",
            {"read": lambda rois, batches: (rois + np.pad(rois[:, :2], [(0, 0), (2, 0)]), batches)},
        ),
        "first_image_for_all": (
            "all regions were of the first image",
            {"read": lambda rois, batches: (rois, batches * 0)},
        ),
        "ends_held": (
            "regions held their ends, as pixels do",
            {"ends": lambda *of: tuple(map(sum, zip(ends(*of), (0, 1), strict=True)))},
        ),
        "ends_rounded": (
            "ends of regions were rounded to whole numbers, as those of MaxRoiPool",
            {
                "ends": lambda low, high, scale, shift: ends(
                    floor(low * scale + 0.5), floor(high * scale + 0.5), 1, shift
                )
            },
        ),
        "count_rounded_down": (
            "an adaptive number of places was rounded down",
            {"count": lambda size, bins: floor(size / bins)},
        ),
        "count_rounded": (
            "an adaptive number of places was rounded to the nearest",
            {"count": lambda size, bins: round(size / bins)},
        ),
        "count_of_regions": (
            "an adaptive number of places was that of the region",
            {"count": lambda size, bins: ceil(size)},
        ),
        "two_places": ("an adaptive number of places was 2", {"count": lambda size, bins: 2}),
        "first_corners": (
            "places were the first corners of their parts",
            {"centers": lambda bins, count: np.arange(bins * count) / (bins * count)},
        ),
        "nearest": (
            "the nearest element was taken",
            {"share": lambda place, at, n: 1.0 * (np.floor(np.clip(place, 0, n - 1) + 0.5) == at)},
        ),
        "shares_exchanged": (
            "the two elements beside a place had each other's share",
            {
                "share": lambda place, at, length: np.where(
                    (place - at < -1) | (place - at >= 1), 0.0, np.abs(place - at)
                )
            },
        ),
        "zeros_outside": (
            "what is outside an image was 0",
            {
                "share": lambda place, at, length: (
                    np.maximum(1 - np.abs(place - at), 0) * ((at >= 0) & (at < length))
                )
            },
        ),
        "places_outside_are_0": (
            "places outside an image were 0",
            {"share": lambda place, at, n: share(place, at, n) * ((place >= 0) & (place <= n - 1))},
        ),
        "added_up": (
            "places were added up, and not averaged",
            {"average": lambda samples: samples.sum(axis=(2, 3, 5, 6))},
        ),
        "bins_by_columns": (
            "bins came by columns",
            {"average": lambda samples: (y := average(samples)).swapaxes(1, 2).reshape(y.shape)},
        ),
    },
    build=of_regions,
)
ROI_ALIGN.mutant_table(
    {
        "never_shifted": (
            "half_pixel did not shift coordinates",
            {
                "ends": lambda low, high, scale, shift: (
                    low * scale,
                    ends(low, high, scale, shift)[1],
                )
            },
        ),
        "shifted_on": (
            "half_pixel shifted coordinates by +0.5",
            {"ends": lambda low, high, scale, shift: ends(low, high, scale, -shift)},
        ),
        "shifted_before_scaled": (
            "half_pixel shifted coordinates of the input image",
            {
                "ends": lambda low, high, scale, shift: (
                    (low - shift) * scale,
                    ends(low, high, scale, shift)[1],
                )
            },
        ),
        "one_long_at_least": (
            "every region was one element long at least",
            {
                "ends": lambda low, high, scale, shift: (
                    low * scale - shift,
                    ends(low, high, scale, 0)[1],
                )
            },
        ),
    },
    16,
    22,
    build=of_regions,
)
