"""Operators that take values between elements, and boxes of images."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.oracles import (
    Array,
    Random,
    Sample,
    chance,
    int64,
    normal,
    one_of,
    oracle,
    shape,
    sizes,
    wide,
)


class Along(NamedTuple):
    """How an axis is resized: its lengths, the scale, and what part of it counts."""

    length: int
    size: int
    scale: Fraction
    start: float = 0.0
    end: float = 1.0


def coordinate(mode: str, axis: Along, x: int) -> float:
    """The place in the input of a place in the output, by the formula of a mode."""
    last, scale = axis.length - 1, float(axis.scale)
    if mode == "align_corners":
        return x * last / (axis.size - 1)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_crop_and_resize":
        if axis.size == 1:
            return 0.5 * (axis.start + axis.end) * last
        return axis.start * last + x * (axis.end - axis.start) * last / (axis.size - 1)
    if mode == "pytorch_half_pixel" and axis.size == 1:
        return 0.0
    return (x + 0.5) / scale - 0.5


def nearest(how: str, at: float) -> int:
    """The element that is meant by a place between two."""
    found = {
        "round_prefer_floor": math.ceil(at - 0.5),
        "round_prefer_ceil": math.floor(at + 0.5),
        "floor": math.floor(at),
        "ceil": math.ceil(at),
    }
    return found[how]


def kernel(mode: str, distance: float, a: float) -> float:
    """The weight of an element at a distance."""
    d = abs(distance)
    if mode == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


class Options(NamedTuple):
    """The attributes of Resize."""

    mode: str
    transformation: str
    nearest: str
    a: float
    exclude: bool
    antialias: bool


def weights(options: Options, axis: Along, x: int) -> tuple[Array, float]:
    """The weight of each element of an axis for one in the output, and its place."""
    found, at = np.zeros(axis.length), coordinate(options.transformation, axis, x)
    last = axis.length - 1
    if options.transformation == "tf_crop_and_resize" and not 0 <= at <= last:
        return found, at  # The extrapolation value takes its place.
    if options.mode == "nearest":
        found[min(max(nearest(options.nearest, at), 0), last)] = 1
        return found, at
    shrink = min(1.0, float(axis.scale)) if options.antialias else 1.0
    reach = math.ceil({"linear": 1, "cubic": 2}[options.mode] / shrink) + 1
    places = range(math.floor(at) - reach, math.ceil(at) + reach + 1)
    each = {n: kernel(options.mode, (n - at) * shrink, options.a) for n in places}
    if options.exclude:
        each = {n: weight for n, weight in each.items() if 0 <= n <= last}
    total = math.fsum(each.values())
    for n, weight in each.items():
        is_divided = options.exclude or options.antialias
        found[min(max(n, 0), last)] += weight / total if is_divided else weight
    return found, at


def is_ambiguous(options: Options, at: float) -> bool:
    """True next to a step that float32 cannot tell from it."""
    if options.mode != "nearest":
        return False
    parts = 2 if options.nearest.startswith("round") else 1
    off = abs(at * parts - round(at * parts))
    return 0 < off < 1e-4


@oracle("Resize")
def resized(rng: Random) -> Sample | None:
    opset = one_of(rng, 13, 18, 19)
    x = normal(rng, shape(rng, (1, 3), most=5))
    mode = one_of(rng, "nearest", "linear", "cubic")
    transformations = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_crop_and_resize"]
    transformation = one_of(rng, *transformations, "align_corners")
    options = Options(
        mode,
        transformation,
        one_of(rng, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        -0.5 if chance(rng, 0.5) else -0.75,
        mode == "cubic" and chance(rng, 0.4),
        opset >= 18 and mode != "nearest" and chance(rng, 0.3),
    )
    attrs: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": transformation,
        "nearest_mode": options.nearest,
        "cubic_coeff_a": options.a,
        "exclude_outside": int(options.exclude),
        "extrapolation_value": 9.0,
    }
    attrs |= {"antialias": 1} if options.antialias else {}
    crops = transformation == "tf_crop_and_resize"
    roi = None
    parts = [(0.0, 1.0)] * x.ndim
    if crops:
        roi = np.array([[-0.25, 0.0, 0.25], [0.75, 1.0, 1.25]], np.float32)
        chosen = rng.integers(0, 3, x.ndim)
        roi = np.concatenate([roi[0, chosen], roi[1, chosen[::-1]]])
        parts = [(float(roi[n]), float(roi[n + x.ndim])) for n in range(x.ndim)]
    by_scales = chance(rng, 0.5)
    given = [Fraction(int(n), 2) for n in rng.integers(1, 6, x.ndim)]
    target = [max(1, math.floor(n * s)) for n, s in zip(x.shape, given, strict=True)]
    if by_scales and any(n * s < 1 for n, s in zip(x.shape, given, strict=True)):
        return None
    scales = given if by_scales else [Fraction(t, n) for t, n in zip(target, x.shape, strict=True)]
    axes = [
        Along(length, size, scale, *part)
        for length, size, scale, part in zip(x.shape, target, scales, parts, strict=True)
    ]
    y, outside = wide(x), np.zeros(target, bool)
    for n, axis in enumerate(axes):
        if transformation == "align_corners" and axis.size == 1:
            return None
        rows = [weights(options, axis, place) for place in range(axis.size)]
        if any(is_ambiguous(options, at) for _, at in rows):
            return None
        y = np.moveaxis(np.tensordot(np.array([row for row, _ in rows]), y, (1, n)), 0, n)
        gone = np.array([not 0 <= at <= axis.length - 1 for _, at in rows])
        outside |= gone.reshape([-1 if k == n else 1 for k in range(x.ndim)])
    y = np.where(outside, 9.0, y) if crops else y
    if by_scales:
        inputs: tuple[Any, ...] = (x, roi, np.array([float(s) for s in given], np.float32))
    else:
        inputs = (x, roi, None, int64(target))
    return Sample(opset, inputs, (y,), attrs)


@oracle("GridSample")
def grid_sampled(rng: Random) -> Sample:
    rank = one_of(rng, 2, 2, 3)
    mode = (
        one_of(rng, "linear", "nearest", "cubic") if rank == 2 else one_of(rng, "linear", "nearest")
    )
    x = normal(rng, (2, 2, *sizes(rng, rank, 1, 5)))
    grid = normal(rng, (2, *sizes(rng, rank), rank), one_of(rng, 0.5, 1, 3))
    padding, corners = one_of(rng, "zeros", "border", "reflection"), int(rng.integers(2))
    y = torch.nn.functional.grid_sample(
        torch.tensor(wide(x)),
        torch.tensor(wide(grid)),
        mode={"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}[mode],
        padding_mode=padding,
        align_corners=bool(corners),
    ).numpy()
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    return Sample(20, (x, grid), (y,), attrs)


@oracle("AffineGrid")
def affine_grid(rng: Random) -> Sample:
    rank, corners = one_of(rng, 2, 3), int(rng.integers(2))
    theta = normal(rng, (2, rank, rank + 1))
    dims = [2, 1, *sizes(rng, rank, 2, 5)]
    y = np.zeros((2, *dims[2:], rank))
    for n, *at in np.ndindex(2, *dims[2:]):
        place = []
        for index, length in zip(reversed(at), reversed(dims[2:]), strict=True):
            share = 2 * index / (length - 1) - 1 if corners else (2 * index + 1) / length - 1
            place.append(share)
        y[(n, *at)] = wide(theta)[n] @ np.array([*place, 1.0])
    return Sample(20, (theta, int64(dims)), (y,), {"align_corners": corners})


def corners_of(box: Array, centered: bool) -> tuple[float, float, float, float]:
    """The least and the greatest coordinates of a box."""
    a, b, c, d = (float(v) for v in box)
    if centered:
        return b - d / 2, a - c / 2, b + d / 2, a + c / 2
    return min(a, c), min(b, d), max(a, c), max(b, d)


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The intersection of two boxes over their union."""
    height = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    width = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    both = height * width
    return both / (areas - both) if areas > both else 0.0


@oracle("NonMaxSuppression")
def suppressed(rng: Random) -> Sample | None:
    batches, classes, count = *sizes(rng, 2, 1, 2), int(rng.integers(1, 8))
    boxes = rng.random((batches, count, 4)).astype(np.float32)
    scores = rng.permutation(batches * classes * count).reshape(batches, classes, count)
    scores = (scores / 10).astype(np.float32)
    centered, most = int(rng.integers(2)), int(rng.integers(0, 5))
    limit, least = one_of(rng, 0.1, 0.3, 0.5), one_of(rng, -1.0, 0.35, 0.55)
    found: list[list[int]] = []
    for batch, kind in np.ndindex(batches, classes):
        kept: list[tuple[float, ...]] = []
        for n in sorted(range(count), key=lambda n: -scores[batch, kind, n]):
            box = corners_of(boxes[batch, n], bool(centered))
            shares = [overlap(box, other) for other in kept]
            if any(abs(share - limit) < 1e-4 for share in shares):
                return None
            if (
                len(kept) < most
                and scores[batch, kind, n] > least
                and max(shares, default=0) <= limit
            ):
                kept.append(box)
                found.append([batch, kind, n])
    inputs = (boxes, scores, int64(most), np.float32(limit), np.float32(least))
    indices = int64(found).reshape(-1, 3)
    return Sample(11, inputs, (indices,), {"center_point_box": centered})


@oracle("Upsample")
def upsampled(rng: Random) -> Sample:
    x = normal(rng, (1, 1, *sizes(rng, 2)))
    scales = rng.integers(1, 4, 2)
    y = np.zeros((1, 1, x.shape[2] * scales[0], x.shape[3] * scales[1]))
    for index in np.ndindex(*y.shape):
        y[index] = x[0, 0, index[2] // scales[0], index[3] // scales[1]]
    stated = np.array([1, 1, *scales], np.float32)
    return Sample(9, (x, stated), (y,), {"mode": "nearest"})
