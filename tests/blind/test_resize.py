"""Resize as ONNX's text says it, against the engine."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences
from tests.blind.checks import differs

_HALF = Fraction(1, 2)
_PLACES = "half_pixel pytorch_half_pixel align_corners asymmetric tf_crop_and_resize".split()
_NEAREST = {
    "round_prefer_floor": lambda x: math.ceil(x - _HALF),
    "round_prefer_ceil": lambda x: math.floor(x + _HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


def original(how, x, before, after, whole, scale, width, roi):
    """Return the coordinate in the original tensor."""
    match how:
        case "half_pixel":
            return (x + _HALF) / scale - _HALF
        case "half_pixel_symmetric":
            offset = Fraction(before, 2) * (1 - whole / width)
            return offset + (x + _HALF) / scale - _HALF
        case "pytorch_half_pixel":
            return (x + _HALF) / scale - _HALF if after > 1 else Fraction(0)
        case "align_corners":
            if after == 1 and before > 1:
                raise Open("x_resized * (length_original - 1) / 0")
            return Fraction(1) * x * (before - 1) / (after - 1) if after > 1 else Fraction(0)
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + _HALF) / scale
    start, end = roi
    if after > 1:
        return start * (before - 1) + x * (end - start) * (before - 1) / (after - 1)
    return _HALF * (start + end) * (before - 1)


def linear(s, _):
    return max(1 - abs(s), 0)


def cubic(s, a):
    s = abs(s)
    if s <= 1:
        return (a + 2) * s**3 - (a + 3) * s**2 + 1
    return a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a if s < 2 else 0


def taps(kernel, reach, x, length, stretch, excludes, a):
    """Return the weight of each element of an axis that the coordinate `x` needs."""
    found: dict[int, float] = {}
    for n in range(math.ceil(x - reach * stretch), math.floor(x + reach * stretch) + 1):
        weight = kernel(float((n - x) / stretch), a)
        if not (excludes and not 0 <= n < length):
            inside = min(max(n, 0), length - 1)
            found[inside] = found.get(inside, 0) + weight
    total = sum(found.values())
    if not total:
        raise Open("all weights are 0")
    return {n: weight / total for n, weight in found.items()}


def sizes_of(shape, axes, scales, sizes, crops, policy):
    """Return the output's lengths, and the lengths that they were rounded from."""
    exact = [Fraction(n) for n in shape]
    if scales is not None:
        for axis, scale in zip(axes, scales, strict=True):
            if not scale > 0 or math.isinf(scale):
                raise Forbidden("scales take values greater than 0")
            extent = Fraction(crops[axis][1]) - Fraction(crops[axis][0])
            exact[axis] = shape[axis] * extent * Fraction(float(scale))
            single = np.float32(shape[axis]) * np.float32(extent) * np.float32(scale)
            if math.floor(single) != math.floor(exact[axis]):
                raise Open("the precision of the product decides the length")
        return [math.floor(n) for n in exact], exact
    if any(n < 0 for n in sizes):
        raise Forbidden("no size is negative")
    if policy == "stretch":
        for axis, size in zip(axes, sizes, strict=True):
            exact[axis] = Fraction(int(size))
        return [int(n) for n in exact], exact
    if policy not in ("not_larger", "not_smaller"):
        raise Forbidden("keep_aspect_ratio_policy")
    if any(not shape[axis] for axis in axes):
        raise Open("sizes[i] / 0")
    choose = min if policy == "not_larger" else max
    scale = choose(Fraction(int(n), shape[axis]) for axis, n in zip(axes, sizes, strict=True))
    for axis in axes:
        exact[axis] = scale * shape[axis]
    return [math.floor(n + _HALF) for n in exact], exact


def reading(since, inputs, attrs, fractional, keeps):
    """Return the output; `fractional`: which of scale and length are, `keeps`: weights of 0."""
    given = [inputs[0], None, inputs[1]] if since == 10 else inputs
    x, roi, scales, sizes = [*given, None, None, None][:4]
    how = attrs.get("coordinate_transformation_mode", "half_pixel")
    mode, rounds = attrs.get("mode", "nearest"), attrs.get("nearest_mode", "round_prefer_floor")
    if mode not in ("nearest", "linear", "cubic")[: 2 if since == 10 else 3]:
        raise Forbidden("modes")
    extra = {11: ["tf_half_pixel_for_nn"], 19: ["half_pixel_symmetric"]}.get(since, [])
    if how not in _PLACES + extra:
        raise Forbidden("coordinate_transformation_mode")
    if mode == "nearest" and rounds not in _NEAREST:
        raise Forbidden("nearest_mode")
    axes = [*attrs.get("axes", range(x.ndim))]
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise Forbidden("accepted range is [-r, r-1]")
    axes = [axis % x.ndim for axis in axes]
    if len({*axes}) < len(axes):
        raise Open("behavior is undefined if an axis is repeated")
    if sizes is not None and scales is not None and not scales.size and axes:
        scales = None
        if since > 11:
            raise Open("whether an empty tensor of scales is specified")
    if (scales is None) == (sizes is None):
        raise Forbidden("one of 'scales' and 'sizes' MUST be specified")
    if (sizes if scales is None else scales).shape != (len(axes),):
        raise Forbidden("the number of elements should be the same as the rank or axes")
    crops = [(Fraction(0), Fraction(1))] * x.ndim
    if how == "tf_crop_and_resize":
        if roi is None:
            raise Open("what roi is where it is left out")
        if roi.shape != (2 * len(axes),):
            raise Forbidden("roi is [start1, ..., startN, end1, ..., endN]")
        for n, axis in enumerate(axes):
            crops[axis] = Fraction(float(roi[n])), Fraction(float(roi[n + len(axes)]))
    policy = attrs.get("keep_aspect_ratio_policy", "stretch")
    after, exact = sizes_of(x.shape, axes, scales, sizes, crops, policy)
    if any(n < 0 for n in after):
        raise Forbidden("no length is negative")
    if 0 in x.shape and 0 not in after:
        raise Open("there is nothing to sample")
    y = x
    if mode != "nearest" and x.dtype.kind not in "OUSb":
        y = x.astype(complex if x.dtype.kind == "c" else float)
    outside = np.zeros(after, bool)
    for axis, (before, length) in enumerate(zip(x.shape, after, strict=True)):
        if not y.size or 0 in after:
            return [np.empty(after, x.dtype)]
        resized, scale = Fraction(length), Fraction(length, before)
        if "scale" in fractional:
            scale = exact[axis] / before
        if "length" in fractional:
            resized = exact[axis]
        if mode != "nearest" and x.dtype.kind in "OUSb" and length != before:
            raise Open("averages of what is no number")
        along = before, resized, length, scale, exact[axis], crops[axis]
        at = [original(how, n, *along) for n in range(length)]
        lines = []
        for n, place in enumerate(at):
            if how == "tf_crop_and_resize" and not 0 <= place <= before - 1:
                outside[(slice(None),) * axis + (n,)] = True
                place = Fraction(0)
            if mode == "nearest":
                index = min(max(_NEAREST[rounds](place), 0), before - 1)
                lines.append(y.take(index, axis))
                continue
            stretch = max(Fraction(1), 1 / scale) if attrs.get("antialias") else Fraction(1)
            kernel, reach = (linear, 1) if mode == "linear" else (cubic, 2)
            a = float(np.float32(attrs.get("cubic_coeff_a", -0.75)))
            excludes = attrs.get("exclude_outside", 0)
            weights = taps(kernel, reach, place, before, stretch, excludes, a)
            pairs = [(w, y.take(n, axis)) for n, w in weights.items() if w or keeps]
            lines.append(sum(weight * one for weight, one in pairs))
        y = np.stack(lines, axis)
    if outside.any():
        value = attrs.get("extrapolation_value", 0.0)
        if x.dtype.kind in "OUS" or (x.dtype.kind in "iub" and value != int(value)):
            raise Open("the extrapolation value in this type")
        y = y.copy()
        y[outside] = value
    if x.dtype.kind in "iu" and mode != "nearest" and (y != np.round(y)).any():
        raise Open("how averages of integers are rounded")
    return [y.astype(x.dtype) if x.dtype.kind in "iub" else y]


def resize(since, inputs, attrs, outputs):
    """Return what all readings have in common.

    `scale` may be that given; in version 10, places are from corners on, or centers.
    """
    ways = [attrs]
    if since == 10:
        places = ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")
        words = ("coordinate_transformation_mode", "nearest_mode")
        ways = [attrs | dict(zip(words, it, strict=True)) for it in places]
    found: list[np.ndarray] = []
    x = inputs[0]
    is_finite = x.dtype.kind in "OUS" or bool(np.isfinite(x).all())
    for way, fractional in product(ways, ("", "scale", "scale length")):
        for keeps in (False, True) if not is_finite else (False,):
            found.append(reading(since, inputs, way, fractional, keeps)[0])
    if any(differs(it, found[0].astype(inputs[0].dtype)) for it in found[1:]):
        raise Open("`scale` of a length cut off, places in version 10, or 0 times infinity")
    return found[:1]


def test_resize():
    assert differences("Resize", resize, every=7) == []
