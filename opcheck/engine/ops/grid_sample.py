"""GridSample: what lies at locations in an image or a volume, of which each axis is from -1 to 1.

Locations beyond the image are reflected where -1 and 1 are: at the centers of the corner pixels, or
at their corners. Undecided is what lies half outside where zeros are beyond, and between pixels of
which some are outside where cubic. Implementations compute coordinates in float32: where that
cannot tell which pixel is nearer, either is right.
"""

from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size
from opcheck.engine.operators import by_step, check_one_of, is_open, operator, unsaid
from opcheck.engine.ops.conv import sampled
from opcheck.engine.ops.resampling import cubic, either, is_real, linear
from opcheck.errors import InvalidNode

OP = operator("GridSample")

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
    """How pixels are taken: the attributes, where the first one begins, and which is nearest.

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
    place = sum(xp.inexact(term, _ROUNDINGS * max(way.wide, 1.0)) for term in terms)
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
        is_open("it is not said where such ties go", (ties | (exact & (low != high))).any())
        half = beyond == ((index >= 0) & (index <= end))
    elif way.mode == "linear":
        half = (at > -1) & (at < length) & ((at < 0) | (at > end) | beyond)
    else:
        half = beyond & (at > -2) & (at <= end)
        whole = exact & (own % 1 == 0) & (own >= 0) & (own <= end)
        inside, far = (own >= 1) & (own <= end - 1), (own <= -2) | (own > end + 2)
        is_open("nothing is said of cubic edges", not (whole | inside | far).all())
    is_open("nothing is said of what lies half outside", zeros and half.any())
    return xp.clip(place, *ends), [one.astype(np.int64) for one in (low, index, high)], exact


def nearest(X, at, held=True):
    """The pixels at the indices along each axis, either of two where unsure; 0 outside."""
    (batch, channels, *lengths), flat = X.shape, np.zeros(1, np.int64)
    for axis, (low, own, high) in enumerate(at):
        if not np.array_equal(low, high) and is_real(X):
            ends = (nearest(X, [*at[:axis], [end] * 3, *at[axis + 1 :]]) for end in (high, low))
            return xp.where(either(low, own, high, (batch, 1, -1)), *ends)
        is_open("float32 cannot tell which pixel is nearer", (low != high).any())
        flat = flat * lengths[axis] + np.clip(own, 0, lengths[axis] - 1)
        held = held & (own >= 0) & (own < lengths[axis])
    y = xp.take_along_axis(xp.reshape(X, (batch, channels, prod(lengths))), flat[:, None], axis=2)
    text = X.dtype == object
    is_open("nothing is said of the 0 of texts", text and not held.all())
    return xp.where(held[:, None], y, xp.full_like(y, "" if text else 0))


def averaged(X, places, way):
    """Averages of the pixels around each place."""
    unsaid("averages of what are no real numbers", X.dtype.kind in "bcO")
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
        is_open("no type tells how averages of integers are rounded", not sharp)
        return y.astype(X.dtype)
    lost = ~np.isfinite(xp.values_of(X))
    finite = xp.where(lost, xp.zeros_like(X), X) if lost.any() else X
    y = take(finite, places, share=lambda x, at: xp.inexact(kernel(xp.abs(x - at)), 8 * way.wide))
    if lost.any():
        # Between NaN and anything is NaN, but not what may lie beside it.
        sure, may = (take(lost * 1.0, values, share=lambda place, at, near=near: (
            np.abs(place - at) < 1 + near)) for near in (-_NEAR, _NEAR))  # fmt: skip
        decided = reach == 1 and not np.isinf(xp.values_of(X)).any()
        is_open("nothing is said of 0 times NaN", not (decided and ((sure > 0) == (may > 0)).all()))
        y = xp.where(may > 0, xp.full_like(y, np.nan), y)
    return xp.astype(y, X.dtype)


@by_step(each={16: 16, 20: 20, 22: 20}, options=["change", "read"])
def of_places(placed, since, X, grid, *, mode, padding_mode, align_corners,
              change=lambda *of: of, read=lambda lengths: lengths):  # fmt: skip
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
    unsaid("images without an axis, or without a pixel", count and not (rank and prod(X.shape[2:])))
    unsaid(f"align_corners {align_corners}", align_corners not in (0, 1))
    unsaid("locations that are no numbers", not np.isfinite(xp.values_of(grid)).all())
    # What is computed in float32 beside a tensor of float64 rounds so often in units of float64.
    wide = 2.0**29 * ((X.dtype == np.float64) != (grid.dtype == np.float64))
    way = Way(mode.removeprefix("bi"), padding_mode, align_corners, wide)
    X, grid, way = change(X, grid, way)
    grid = xp.reshape(grid, (X.shape[0], count, rank))
    # Coordinates are listed from the innermost axis to the outermost.
    found = [along(placed, since, way, grid[..., -1 - axis], length)
             for axis, length in enumerate(read(X.shape[2:]))]  # fmt: skip
    places, chosen, exact = map(list, zip(*found, strict=True))
    if way.mode != "nearest" and not is_real(X):
        is_open("float32 cannot tell where to cut averages of integers off", not np.all(exact))
    y = nearest(X, chosen) if way.mode == "nearest" else averaged(X, places, way)
    return xp.reshape(y, shape)


OP.formula(by=of_places)(placed)
OP.mutant_table({
    "from_0_to_1": ("locations ran from 0 to 1",
        lambda g, length, corners: placed(g * 2 - 1, length, corners)),
    "in_pixels": ("locations were numbers of pixels", lambda g, length, corners: (g,)),
    "half_a_pixel_late": ("pixels began at whole numbers",
        lambda g, length, corners: (*placed(g, length, corners), 0.5 * (not corners))),
    "half_a_pixel_early": ("half a pixel was taken off at centers too",
        lambda g, length, corners: (*placed(g, length, corners), -0.5 * corners)),
    "one_less_from_edges": ("the edges were a pixel nearer to each other",
        lambda g, length, corners: placed(g, length, 1)),
}, by=of_places)  # fmt: skip
OP.mutant_table({
    "y_before_x": ("coordinates came from the outermost axis on",
        lambda X, grid, way: (X, xp.flip(grid, axis=-1), way)),
    "first_grid_for_all": ("the first grid served for the whole batch",
        lambda X, grid, way: (X, xp.broadcast_to(grid[:1], grid.shape), way)),
    "first_image_for_all": ("the first image served for the whole batch",
        lambda X, grid, way: (xp.broadcast_to(X[:1], X.shape), grid, way)),
    "first_channel_for_all": ("the first channel served for all",
        lambda X, grid, way: (xp.broadcast_to(X[:, :1], X.shape), grid, way)),
    "kept_in_range": ("locations were limited to -1 to 1",
        lambda X, grid, way: (X, xp.clip(grid, -1.0, 1.0), way)),
}, by=lambda change: of_places(placed, change=change))  # fmt: skip
OP.mutant_table({
    "floor": ("the nearest pixel was that before", {"rule": np.floor}),
    "ceil": ("the nearest pixel was that after", {"rule": np.ceil}),
    "trunc": ("coordinates were cut off", {"rule": np.trunc}),
    "half_up": ("ties went up", {"rule": lambda x: np.floor(x + 0.5)}),
    "half_away": ("ties went away from 0",
        {"rule": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)}),
    "coefficient_of_half": ("the cubic coefficient was -0.5", {"a": -0.5}),
    "reflected_at_centers": ("-1 and 1 were at the centers where it reflects",
        {"first": lambda corners: 0.0}),
    "reflected_at_edges": ("-1 and 1 were at the edges where it reflects",
        {"first": lambda corners: -0.5}),
    "reflected_once": ("it reflected once",
        {"reflected": lambda x, low, high: 2 * xp.clip(x, low, high) - x}),
    "repeated": ("what is beyond began anew instead of being reflected",
        {"reflected": lambda x, low, high: x - (high - low) * ((x - low) // max(high - low, 1))}),
}, by=lambda changed: of_places(
    placed, change=lambda X, grid, way: (X, grid, way._replace(**changed))))  # fmt: skip
OP.mutant_table({
    f"{old}_is_{new}": (f"{old} was {new}", {old: new}) for old, new in (
        ("zeros", "border"), ("border", "zeros"), ("border", "reflection"),
        ("reflection", "border"), ("linear", "nearest"), ("cubic", "linear"), ("nearest", "linear"))
}, by=lambda names: of_places(placed, change=lambda X, grid, way: (X, grid, way._replace(
    mode=names.get(way.mode, way.mode), padding=names.get(way.padding, way.padding)))))  # fmt: skip
OP.mutant("lengths were read from the last to the first", name="height_for_width",
          by=lambda step: of_places(step, read=lambda x: x[::-1]))(placed)  # fmt: skip
