"""GridSample and RoiAlign: averages of the elements around places that are computed from inputs.

Places are numbers like others, with errors of their own: float32 may tell neither which element is
the nearest, nor the last digits of a weight.
"""

from functools import partial
from math import ceil, prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, elements_at
from opcheck.engine.operators import is_open, operator
from opcheck.engine.ops.resampling import cubic, is_real, linear
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
GridSample RoiAlign
"""
GRID_SAMPLE, ROI_ALIGN = map(operator, NAMES.split())
#: How far float32 may be off, in all of its ways to compute a place, in parts of its terms.
_OFF = 2.0**-21
NO_ELEMENTS, NO_NUMBERS = "nothing is said of places between no elements", "or of 0 times infinity"


def values(x):
    return bare(xp.values_of(x)).astype(np.float64)


def fit(*parts):
    """Where all of them are numbers of float32."""
    return np.all([np.float32(part) == part for part in np.broadcast_arrays(*parts)], axis=0)


def around(X, places, taps, there, share=None):
    """The elements at some indices around each place, times their shares: N × C × taps × places.

    There are places of shape N × places for each axis. `there(index, length)` is where an index
    leads, outside to 0, and `share` makes weights of distances.
    """
    (batch, channels, *lengths), count = X.shape, places[0].shape[1]
    flat, held, shares, size = 0, np.True_, None, prod(lengths)
    for place, length in zip(places, lengths, strict=True):
        index = np.floor(values(place)).astype(np.int64)[:, None] + taps[:, None]
        if share:
            parts = share(xp.abs(xp.reshape(place, (batch, 1, count)) - index.astype(np.float64)))
            parts = xp.reshape(parts, (batch, 1, -1, count))
            shares = xp.reshape(parts if shares is None else shares * parts, (batch, -1, 1, count))
        index = there(index, length).astype(np.int64)[:, None]
        flat, held = flat * length + index, held & (index >= 0) & (index < length)
        flat, held = (x.reshape(batch, -1, 1, count) for x in (flat, held))
    planes = xp.reshape(X, (batch, channels, size))
    if not held.all():
        planes = xp.pad(planes, [(0, 0), (0, 0), (0, 1)])
    taken = np.where(held, flat, size).reshape(batch, 1, -1)
    under = xp.reshape(xp.take_along_axis(planes, taken, axis=2), (batch, channels, -1, count))
    return under if shares is None else under * xp.reshape(shares, (batch, 1, -1, count))


# GridSample: places from -1 to 1 along each axis of an image, or outside of it.
def denormalized(g, length, corners, of):
    """Places as numbers of elements; `of` gives its terms their errors, in any order of steps."""
    half = (length - corners) / 2
    return of(g * half) + of(half) - (1 - corners) / 2


def reflected(place, length, corners):
    """Places between the borders, which 1 and -1 are: the last elements, or their outer edges."""
    first, span = (corners - 1) / 2, length - corners
    if not span:
        return place * 0.0
    turns = np.floor((values(place) - first) / span)
    back = turns % 2
    return place * (1 - 2 * back) + np.where(back, 2 * first + (turns + 1) * span, -turns * span)


def kept(place, length, corners):
    return xp.clip(place, -5.0, length + 4.0)


def edge(index, length, corners=0):
    return np.clip(index, 0, length - 1)


#: What becomes of places, and of indices beside them.
PADDINGS = {
    "zeros": (kept, lambda index, length, corners: index),
    "border": (kept, edge),
    "reflection": (reflected, reflected),
}
#: How far from a place elements count, by the names of modes.
REACH = {"nearest": 0.5, "bilinear": 1, "linear": 1, "bicubic": 2, "cubic": 2}
MODES = {16: ("bilinear", "nearest", "bicubic"), 20: ("linear", "nearest", "cubic")}


def to_even(place, low):
    """Whether the element after `low` is the nearer one, or as near, and even."""
    return xp.greater(place, low + 0.5) | (xp.equal(place, low + 0.5) & (low % 2 == 1))


def of_grids(place=denormalized, paddings=PADDINGS, modes=REACH, a=-0.75, upper=to_even,
             read=lambda grid: xp.flip(grid, axis=2), whole=lambda y: y):  # fmt: skip
    """All versions, from what makes places of a grid, and elements of places."""

    def formula(since, X, grid, *, align_corners, mode, padding_mode):
        batch, lengths, n = X.shape[0], X.shape[2:], X.ndim - 2
        shape, nearest, real = (*X.shape[:2], *grid.shape[1:-1]), modes[mode] == 0.5, is_real(X)
        check_size(shape)
        if not prod(shape):
            return np.zeros(shape, X.dtype)
        if 0 in lengths or align_corners not in (0, 1):
            raise NotSupported(f"{NO_ELEMENTS}, or of other align_corners than 0 and 1")
        if not (
            real
            or X.dtype.kind in "iu"
            or (nearest and (X.dtype.kind, padding_mode) != ("O", "zeros"))
        ):
            raise NotSupported("nothing is said of averages, or 0, of what is no real number")
        if X.dtype.kind in "iu" and (np.abs(X.astype(np.float64)) > 2**24).any():
            is_open("it is not said in which type integers are computed")
        stated = np.moveaxis(values(read(xp.reshape(grid, (batch, -1, n)))), 2, 0)
        if np.isnan(stated).any() or (np.isinf(stated).any() and padding_mode == "reflection") or (
                real and not nearest and not np.isfinite(values(X)).all()):  # fmt: skip
            is_open(f"nothing is said of places that are no numbers, {NO_NUMBERS}")
        mixed = real and {X.dtype, grid.dtype} > {np.dtype(np.float64)}
        wide = 3 * (2.0**29 if mixed else 1)

        def of(x):
            return xp.inexact(xp.real(x) if isinstance(x, float) else x, wide)

        fold, there = (partial(one, corners=align_corners) for one in paddings[padding_mode])
        grid, near, places = read(xp.reshape(grid, (batch, -1, n))), True, []
        for axis, (g, length) in enumerate(zip(stated, lengths, strict=True)):
            g = np.nan_to_num(g, posinf=1e30, neginf=-1e30)
            at = place(g, length, align_corners, lambda x: x)
            folded, off = fold(at, length), _OFF * (np.abs(at) + length)
            exact = fit(g, g + 1, (g + 1) * (length - align_corners), g * length, at, at + 0.5,
                        at - length, folded) & ((g + 1) - 1 == g)  # fmt: skip
            close = (at > -modes[mode]) & (at < length - 1 + modes[mode])
            near = near & close
            turned = (padding_mode == "reflection") & ((at < 0) | (at > length - 1))
            if (turned & (off > 0.1)).any():
                is_open("float32 cannot tell where a reflection ends")
            if modes[mode] == 2 and padding_mode == "border" and (close & (np.abs(g) > 1)).any():
                is_open("it is not said whether places or elements beside them are the border's")
            tie, turned = np.abs(folded % 1 - 0.5), turned & (not align_corners)
            if nearest and (exact & (tie == 0) & (turned | (since < 20))).any():
                is_open("it is not said which of two elements is nearer")
            if nearest and not real and (~exact & (tie <= off)).any():
                is_open("float32 cannot tell which of two elements is nearer")
            if real or not nearest:
                told = fold(place(grid[:, :, axis], length, align_corners, of), length)
                folded = xp.where(exact, xp.astype(folded, np.float64), told)
            places.append(folded)
        if padding_mode == "zeros" and ((np.abs(stated) > 1).any(axis=0) & near).any():
            is_open("what lies beside the image is 0, or interpolated with 0")
        if nearest:
            y = around(X, places, np.arange(2), there)
            for one in places:
                one, half = xp.reshape(one, (batch, 1, 1, -1)), y.shape[2] // 2
                y = xp.where(upper(one, np.floor(values(one))), y[:, :, half:], y[:, :, :half])
            return xp.reshape(y, shape)
        reach, slack = modes[mode], of(1.0) - 1.0
        kernel = linear if reach == 1 else cubic(a)
        y = around(X if real else xp.astype(X, np.float64), places, np.arange(-reach, reach + 2),
                   there, (lambda d: kernel(d) + slack) if mixed else kernel)  # fmt: skip
        y = xp.sums(y, partial(np.sum, axis=2), (2 * reach) ** n)
        return xp.astype(xp.reshape(y if real else whole(y), shape), X.dtype)

    def checked(since, X, grid, *, align_corners, mode, padding_mode):
        n = X.ndim - 2
        fits = n > 0 and (grid.ndim, grid.shape[0], grid.shape[-1]) == (n + 2, X.shape[0], n)
        if not fits or (since < 20 and n != 2):
            raise InvalidNode(f"X {list(X.shape)}, grid {list(grid.shape)}")
        if mode not in MODES[since] or padding_mode not in PADDINGS:
            raise InvalidNode(f"mode {mode!r}, padding_mode {padding_mode!r}")
        return formula(
            since, X, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode
        )

    return {since: partial(checked, min(since, 20)) for since in (16, 20, 22)}


GRID_SAMPLE.formula(by=of_grids)(denormalized)


def _padded(old, new):
    return {"paddings": PADDINGS | {old: PADDINGS.get(new, new)}}


GRID_SAMPLE.mutant_table({
    f"{old}_as_{new}": (f"{old} padding was {new}", _padded(old, new)) for old, new in (
        ("zeros", "border"), ("border", "zeros"), ("border", "reflection"),
        ("reflection", "border"))
} | {
    f"reflected_at_{what}": (f"{what} of elements reflected, whatever align_corners",
        _padded("reflection", (lambda x, n, corners, own=own: reflected(x, n, own),) * 2))
    for own, what in enumerate(("edges", "centers"))
} | {
    "from_the_first_edge": ("an element's place was the edge at which it begins", {"place":
        lambda g, n, corners, of: denormalized(g, n, corners, of) + (1 - corners) / 2}),
    "other_corners": ("corners were edges for centers, and the other way round", {"place":
        lambda g, n, corners, of: denormalized(g, n, 1 - corners, of)}),
    "cubic_is_linear": ("cubic was linear", {"modes": REACH | {"cubic": 1, "bicubic": 1}}),
    "nearest_is_linear": ("nearest was linear", {"modes": REACH | {"nearest": 1}}),
    "cubic_of_a_half": ("the coefficient of cubic interpolation was -0.5", {"a": -0.5}),
    "ties_up": ("halves were rounded up", {"upper": lambda place, low: place >= low + 0.5}),
    "cut_off": ("the element before a place was the nearest", {"upper":
        lambda place, low: xp.greater(place, low + 1.0)}),
    "first_axis_first": ("the first axis came first, as y of y, x", {"read": lambda grid: grid}),
    "first_grid_for_all": ("the first grid served for the whole batch", {"read":
        lambda grid: xp.broadcast_to(xp.flip(grid[:1], axis=2), grid.shape)}),
    "rounded": ("averages were rounded to integers", {"whole": xp.round}),
}, by=lambda given: of_grids(**given))  # fmt: skip


# RoiAlign: the values at places spread over the bins of a region, averaged, or the largest.
def spread(first, last, places):
    """So many places: the middles of equal parts."""
    return first + xp.inexact((last - first) * (np.arange(places) * 2 + 1) / (2 * places), 4)


def average(terms, places):
    """Of terms of shape channels × taps × bins and places along each axis."""
    return xp.sums(terms, partial(np.sum, axis=(1, 3, 5)), 4 * places) / places


def largest(terms, places):
    """The largest term, as ONNX's node tests have it, where that is the largest value too."""
    found, sums = xp.max(terms, axis=(1, 3, 5)), xp.sums(terms, partial(np.sum, axis=1), 4)
    if (values(found) != values(xp.max(sums, axis=(2, 4)))).any():
        is_open("the maximum is of values at places, or of the parts of their sums")
    return found


def scaled(x, scale, shift):
    return x * scale - shift


#: By how much a region's ends are moved.
SHIFTS = {"half_pixel": 0.5, "output_half_pixel": 0.0}
POOLS = {"avg": average, "max": largest}


def of_regions(spread=spread, read=lambda rois, images: (rois, images), shifts=SHIFTS, ends=scaled,
               enough=lambda size, whole: ceil(size), pools=POOLS):  # fmt: skip
    """All versions, from what makes places of regions, and a bin's value of values at places."""

    def formula(X, rois, batch_indices, *, coordinate_transformation_mode, mode, output_height,
                output_width, sampling_ratio, spatial_scale):  # fmt: skip
        shape = (*rois.shape[:1], *X.shape[1:2], output_height, output_width)
        if (X.ndim, rois.ndim, *rois.shape[1:]) != (4, 2, 4) or min(shape[2:]) < 1:
            raise InvalidNode(f"X {list(X.shape)}, rois {list(rois.shape)}, output {shape[2:]}")
        if mode not in POOLS or coordinate_transformation_mode not in SHIFTS or (
                batch_indices.shape != shape[:1]):  # fmt: skip
            given = f"{mode!r}, {coordinate_transformation_mode!r}, {list(batch_indices.shape)}"
            raise InvalidNode(f"{given} for {shape[0]} regions")
        images = elements_at(batch_indices, X.shape[0], back=False)
        check_size(shape)
        if not prod(shape):
            return np.zeros(shape, X.dtype)
        if 0 in X.shape or sampling_ratio < 0:
            raise NotSupported(f"{NO_ELEMENTS}, or of a sampling_ratio below 0")
        if not all(np.isfinite(values(x)).all() for x in (X, rois)):
            is_open(f"nothing is said of regions that are no numbers, {NO_NUMBERS}")
        rois, images = read(rois, images)
        shift = shifts[coordinate_transformation_mode]
        corners = ends(xp.inexact(rois, 2), spatial_scale, shift)
        stated, found = np.nan_to_num(ends(values(rois), spatial_scale, shift)), []
        for roi, image in enumerate(images):
            places, counts = [], list[int]()
            for first, bins, length in zip((1, 0), shape[2:], X.shape[2:], strict=True):
                low, high = stated[roi, first], stated[roi, first + 2]
                size, off = (high - low) / bins, _OFF * (abs(low) + abs(high) + 1)
                if high < low or (high - low < 1 and not shift):
                    is_open("nothing is said of regions without size, or of less than an element")
                exact = fit(low, high, low + shift, high + shift, high - low, size)
                if not sampling_ratio and abs(size - round(size)) <= off and not exact:
                    is_open("float32 cannot tell how many places a bin has")
                count = sampling_ratio or max(1, enough(size, high - low))
                if not (sampling_ratio or size):
                    is_open("nothing is said of an average of nothing")
                check_size((16, shape[1], bins * max(count, *counts, 1)))
                at = spread(low, high, bins * count)
                if ((at < -off) | (at > length - 1 + off)).any():
                    is_open("nothing is said of places outside of the image")
                at = spread(*(corners[roi, k : k + 1] for k in (first, first + 2)), bins * count)
                places.append(xp.clip(at, 0.0, length - 1.0))
                counts.append(count)
            lines = [one.shape[0] for one in places]
            check_size((16, shape[1], *lines))
            places = [xp.broadcast_to(xp.reshape(one, way), lines)
                      for one, way in zip(places, ((-1, 1), (1, -1)), strict=True)]  # fmt: skip
            terms = around(X[image : image + 1], [xp.reshape(one, (1, -1)) for one in places],
                           np.arange(-1, 3), edge, linear)  # fmt: skip
            terms = xp.reshape(terms, (shape[1], 16, shape[2], counts[0], shape[3], counts[1]))
            found.append(pools[mode](terms, prod(counts)))
        return xp.astype(xp.stack(found), X.dtype)

    first = partial(formula, coordinate_transformation_mode="output_half_pixel")
    return {10: first, 16: formula, 22: formula}


ROI_ALIGN.formula(by=of_regions)(spread)
ROI_ALIGN.mutant_table({
    "x_and_y_exchanged": ("y came before x", {"read": lambda rois, images: (
        xp.take(rois, np.array([1, 0, 3, 2]), axis=1), images)}),
    "ends_as_sizes": ("x2 and y2 were width and height", {"read": lambda rois, images: (
        xp.concat([rois[:, :2], rois[:, :2] + rois[:, 2:]], axis=1), images)}),
    "first_image_for_all": ("all regions were of the first image", {"read": lambda rois, images: (
        rois, images * 0)}),
    **{f"shifted_by_{by}": (f"{by} was subtracted in both modes", {"shifts":
        dict.fromkeys(SHIFTS, by)}) for by in (0.0, 0.5)},
    "shifted_before_scaled": ("regions were shifted before they were scaled", {"ends":
        lambda x, scale, shift: (x - shift) * scale}),
    "at_least_one_element": ("regions were an element wide and high at least", {"spread":
        lambda first, last, n: spread(first, xp.maximum(last, first + 1.0), n)}),
    "from_the_first_edge": ("places lay where their parts of a bin begin", {"spread":
        lambda first, last, n: first + (last - first) * np.arange(n) / n}),
    "places_rounded_down": ("the number of places was rounded down", {"enough":
        lambda size, whole: max(1, int(size))}),
    "places_of_the_region": ("each bin had as many places as its region has elements", {"enough":
        lambda size, whole: ceil(whole)}),
    "avg_is_max": ("the maximum was taken for the average", {"pools": POOLS | {"avg": largest}}),
    "max_is_avg": ("the average was taken for the maximum", {"pools": POOLS | {"max": average}}),
}, by=lambda given: of_regions(**given))  # fmt: skip
