"""GridSample: an image, or a volume, sampled at the locations of a grid.

Each axis of X runs from -1 to 1. A location along it is denormalized to a coordinate, in pixels;
the value there is that of the nearest pixel, or an average of those around. Locations beyond the
image are reflected where -1 and 1 are: at the centers of the corner pixels, or at their corners.

Implementations compute coordinates in float32: where that cannot tell which pixel is nearer, either
is right.

The parts of the file: coordinates; locations along one axis; the nearest pixel; averages; the
operator; its mutants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import is_real
from opcheck.engine.axes import check_size
from opcheck.engine.interpolation import (
    FloatArray,
    IndexArray,
    Kernel,
    Neighbors,
    Rounding,
    cubic,
    index_that_counts,
    linear,
)
from opcheck.engine.operators import (
    NamedMutants,
    check_one_of,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.deform_conv import sampled
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode
from opcheck.numbers import Array

GRID_SAMPLE = operator("GridSample")

#: A mask of elements.
Mask: TypeAlias = NDArray[np.bool_]
#: From locations along an axis, its length and align_corners to the terms of coordinates.
Denormalize: TypeAlias = Callable[[Array, int, bool], tuple[Any, ...]]
#: Brings coordinates between two others.
Reflect: TypeAlias = Callable[[Array, float, float], Array]

#: Roundings of float32 in a term of a coordinate.
_ROUNDINGS = 4
#: How far such a term may be off, relatively.
_OFF = _ROUNDINGS * 2.0**-24
#: Nearer to a pixel than this, a coordinate may be taken for that pixel's.
_NEAR = 2.0**-8
#: Pixels outside of each end of an axis that cubic averages may have a share of.
_PADDING = 6

#: Of locations beside which a pixel outside has a share: less than a pixel beyond the centers, of
#: cubic averages less than two. In mode nearest, "interpolated" has the nearest pixel, and it is of
#: those beyond -1 and 1 whose nearest pixel is inside, or the reverse. Other paddings have none.
HALF_OUTSIDE = Ruling(
    "half-outside",
    "The text has 0 for out-of-bound locations. Less than a pixel (of cubic averages, two) beyond "
    "the centers of the corner pixels, that is a pixel of 0 to interpolate with, or the value; and "
    "a location that is not beyond the image may be at its last pixel.",
    ("interpolated", "zero", "pixel"),
    by_element=True,
)
UNSTATED_TIES = Ruling(
    "unstated-ties",
    "Version 16 does not state which of two pixels is the nearest to a place between them. No text "
    "states whether a location beyond the image is rounded first, or reflected first.",
    ("nearest_even", "the_other"),
    by_element=True,
)
CUBIC_EDGES_OF_ZEROS = Ruling(
    "cubic-edges",
    "The text does not state what stands in place of pixels outside, next to which a location "
    "inside is averaged: 0, or the nearest pixel at the border.",
    ("zero", "border"),
    by_element=True,
)
CUBIC_EDGES_OF_BORDERS = Ruling(
    CUBIC_EDGES_OF_ZEROS.id,
    "The text brings locations to the border, and does not state if it is the location, or each of "
    "the pixels that are averaged.",
    ("location", "pixels"),
    by_element=True,
)
CUBIC_EDGES_OF_REFLECTIONS = Ruling(
    CUBIC_EDGES_OF_ZEROS.id,
    "The text reflects locations, and does not state if each of the pixels that are averaged is "
    "reflected, or is the nearest at the border, to which the location may be brought before.",
    ("pixels", "location", "border"),
    by_element=True,
)
#: By padding_mode: what stands in place of pixels outside.
CUBIC_EDGES = {
    "zeros": CUBIC_EDGES_OF_ZEROS,
    "border": CUBIC_EDGES_OF_BORDERS,
    "reflection": CUBIC_EDGES_OF_REFLECTIONS,
}
CAST_OF_AVERAGES = Ruling(
    "cast-of-averages",
    "The text has averages of integers cast to integer at the end, and does not state whether that "
    "cuts them off or rounds.",
    ("cut_off", "half_to_even", "half_away"),
)


# ── coordinates ───────────────────────────────────────────────────────────────────────────────


def denormalized(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Return the terms of the coordinates, in pixels, of locations along an axis of this length.

    They add up to the coordinate; the first has the shape of `g`, the second is a number. -1 and 1
    are "the center points of the input's corner pixels", 0 and length - 1; or, without
    align_corners, "the corner points", -0.5 and length - 0.5.
    """
    return g * ((length - align_corners) / 2), xp.real((length - 1) / 2)


def reflected(place: Array, low: float, high: float) -> Array:
    """Return coordinates brought in bound by reflections: "it will keep being reflected".

    `low` and `high` are the borders; if they are equal, coordinates stay as they are.
    """
    span = high - low
    # How many borders are crossed: after an odd number of reflections a coordinate runs backwards.
    turns = np.floor((xp.values_of(place) - low) / span) if span else np.zeros(place.shape)
    is_mirrored = turns % 2
    offset = np.where(is_mirrored, low + high + turns * span, -turns * span)
    return place * (1 - 2 * is_mirrored) + offset


def first_border(align_corners: bool) -> float:
    """Return the coordinate of -1, where reflections have the first border: 0 or -0.5."""
    return 0.0 if align_corners else -0.5


@dataclass(frozen=True)
class Sampling:
    """The attributes of a node, and what follows from its types; the rest is what mutants change.

    Attributes:
        mode: nearest, linear or cubic.
        wide: How large a rounding of float32 is in unit roundoffs of the arithmetic, if that is
            float64 and one tensor is not; else 0.
        first_border: The first border of reflections, from align_corners.
        reflect: Brings coordinates in bound.
        rounding: Which pixel is the nearest; "nearest even", which version 16 does not state.
        cubic_coeff_a: The coefficient of ONNX's own example.
    """

    mode: str
    padding_mode: str
    align_corners: bool
    wide: float
    first_border: Callable[[bool], float] = first_border
    reflect: Reflect = reflected
    rounding: Rounding = np.rint
    cubic_coeff_a: float = -0.75


# ── locations along one axis ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class AxisLocations:
    """Locations along one axis of X, each field of shape [N, count].

    Attributes:
        last: The coordinate of the last pixel.
        place: The coordinates: brought within the image, or up to 3 pixels beyond it if there are
            zeros, or other pixels in place of those outside.
        neighbors: The nearest pixels, within the same limits.
        are_exact: Mask of those that float32 has exactly.
        are_beyond: Mask of those beyond -1 and 1.
        are_half_outside: Mask of those that HALF_OUTSIDE is about.
        pixels: The pixels in place of those from -_PADDING to last + _PADDING; None for zeros
            outside.
        are_outside: Mask of those about a pixel or more outside, which have zeros even so.
    """

    last: int
    place: Array
    neighbors: Neighbors
    are_exact: Mask
    are_beyond: Mask
    are_half_outside: Mask
    pixels: IndexArray | None = None
    are_outside: Mask | None = None

    def at_the_edge(self) -> "AxisLocations":
        """Return the locations, with those half outside at the edge, by the reading "pixel".

        They go to the first or the last pixel. Those beyond -1 and 1 stay: they are interpolated
        with 0, or in mode nearest have their nearest pixel.
        """
        mask = self.are_half_outside & ~self.are_beyond

        nearest = np.clip(self.neighbors.nearest, 0, self.last)
        return replace(
            self,
            place=xp.where(mask, xp.clip(self.place, 0, self.last), self.place),
            neighbors=self.neighbors.replaced(mask, nearest),
        )


def are_float32(*parts: FloatArray) -> Mask:
    """Return a mask of where float32 has all of some numbers exactly."""
    mask: Mask = np.all([np.float32(part) == part for part in parts], axis=0)
    return mask


def locations_along(
    number: int,
    g: Array,
    length: int,
    *,
    since: int,
    sampling: Sampling,
    denormalize: Denormalize,
) -> AxisLocations:
    """Return where the locations `g`, [N, count], are along axis `number`, which has this length.

    g: finite, from -1 to 1 within the image; denormalize: returns the terms whose sum is a
    coordinate in pixels; since: 16, or 20 for later versions. In mode nearest, halfway between two
    pixels the even one is the nearest; in version 16, and where a location beyond -1 and 1 is
    reflected, that or the other one: UNSTATED_TIES. In mode cubic, pixels outside follow
    CUBIC_EDGES.
    """
    terms = denormalize(g, length, sampling.align_corners)
    roundings = _ROUNDINGS * max(sampling.wide, 1.0)
    place: Array = sum(xp.inexact(term, roundings) for term in terms)
    g = xp.values_of(g)
    unbound = xp.values_of(place)
    last = length - 1
    if sampling.padding_mode == "reflection":
        first = sampling.first_border(sampling.align_corners)
        place = sampling.reflect(place, first, last - first)
    values = xp.values_of(place)
    # Exact is a coordinate if float32 has each intermediate result of either formula for it.
    steps = length - sampling.align_corners
    are_exact = are_float32(g, g + 1, g * steps, (g + 1) * steps, unbound)
    are_exact &= g + 1 - 1 == g  # else 1 is all that is left of the sum
    are_beyond = np.abs(g) > 1
    off = _OFF * (np.abs(g) + 1) * length
    has_zeros = sampling.padding_mode == "zeros"
    # With zeros, all locations from the third pixel beyond the image on have the value 0.
    low, high = (-3, length + 2) if has_zeros else (0, last)
    neighbors = nearest_pixels_of(
        values,
        error=np.where(are_exact, 0.0, off),
        rounding=sampling.rounding,
        limits=(low, high),
    )
    if sampling.mode == "nearest":
        is_open = are_exact if since == 16 else np.zeros_like(are_exact)
        if sampling.padding_mode == "reflection":
            is_open = is_open | are_beyond
        neighbors = with_unstated_ties(
            neighbors,
            is_open & (values % 1 == 0.5),
            values,
            number=number,
            limits=(low, high),
        )
    are_half_outside = half_outside(
        sampling.mode, unbound, neighbors=neighbors, are_beyond=are_beyond, last=last
    )
    locations = AxisLocations(
        last=last,
        place=xp.clip(place, low, high),
        neighbors=neighbors,
        are_exact=are_exact,
        are_beyond=are_beyond,
        are_half_outside=are_half_outside & has_zeros,
    )
    if sampling.mode == "cubic" and have_pixels_outside(values, last, are_exact):
        are_outside = (unbound < -1 - off) | (unbound > length + off)
        return by_cubic_edges(locations, place, are_outside & has_zeros, sampling)
    return locations


def half_outside(
    mode: str, unbound: FloatArray, *, neighbors: Neighbors, are_beyond: Mask, last: int
) -> Mask:
    """Return a mask of the locations along an axis that HALF_OUTSIDE is about with padding zeros.

    In mode nearest, those are locations beyond -1 and 1 (`are_beyond`) whose nearest pixel is
    inside, and others whose nearest pixel is outside. In linear, those less than a pixel beyond the
    center of pixel 0 or `last`, and in cubic less than two; with them those beyond -1 and 1 whose
    coordinates rounding makes 0 or `last`. unbound: the coordinates, not reflected, [N, count];
    neighbors: the nearest pixels.
    """
    if mode == "nearest":
        return np.asarray(are_beyond == neighbors.are_within(0, last), np.bool_)
    reach = 2 if mode == "cubic" else 1
    is_near = (unbound > -reach) & (unbound < last + reach)
    return is_near & ((unbound < 0) | (unbound > last) | are_beyond)


def by_cubic_edges(
    locations: AxisLocations, place: Array, are_outside: Mask, sampling: Sampling
) -> AxisLocations:
    """Return locations with the pixels that stand in place of those outside, by CUBIC_EDGES.

    By "zero" the locations are returned as they are. By "border", and "location", pixels outside
    are the nearest at the border; by "location" the coordinates are brought to the border before.
    By "pixels" the pixels of padding reflection are reflected, and those of padding border the
    nearest at the border.

    place: the coordinates, [N, count], not brought to the border; are_outside: a mask of those that
    have zeros by every reading.
    """
    last = locations.last
    reading = CUBIC_EDGES[sampling.padding_mode].reading()
    if reading == "zero":
        return locations
    around = np.arange(-_PADDING, last + _PADDING + 1)
    pixels = np.clip(around, 0, last)
    if reading == "location":
        place = xp.clip(place, 0, last)
    elif sampling.padding_mode == "reflection" and reading == "pixels":
        first = sampling.first_border(sampling.align_corners)
        mirrored = np.rint(sampling.reflect(around.astype(np.float64), first, last - first))
        pixels = np.clip(mirrored, 0, last).astype(np.int64)
    return replace(
        locations,
        place=xp.clip(place, -3, last + 3),
        pixels=pixels,
        are_outside=are_outside,
    )


def nearest_pixels_of(
    values: FloatArray, *, error: FloatArray, rounding: Rounding, limits: tuple[int, int]
) -> Neighbors:
    """Return the nearest pixels of coordinates, and of those off by `error`, as integers.

    `rounding` makes a coordinate a whole number; pixels stay within both `limits`.
    """
    low, high = limits

    def index(coordinates: FloatArray) -> IndexArray:
        """Return the pixels of coordinates."""
        return np.clip(rounding(coordinates), low, high).astype(np.int64)

    return Neighbors(
        lowest=index(values - error), nearest=index(values), highest=index(values + error)
    )


def with_unstated_ties(
    neighbors: Neighbors,
    are_ties: Mask,
    values: FloatArray,
    *,
    number: int,
    limits: tuple[int, int],
) -> Neighbors:
    """Return the nearest pixels along axis `number`, those of ties as UNSTATED_TIES reads them.

    are_ties: a mask of `values`, which are coordinates. Each axis has a ruling of its own, so that
    a location may have any combination of pixels. Pixels stay within both `limits`.
    """
    low, high = limits
    before = np.clip(np.floor(values), low, high).astype(np.int64)
    behind = np.clip(np.ceil(values), low, high).astype(np.int64)
    the_other = np.where(neighbors.nearest == before, behind, before)
    are_ties = are_ties & (the_other != neighbors.nearest)
    along_this_axis = replace(UNSTATED_TIES, id=f"{UNSTATED_TIES.id}-along-axis-{number}")
    if not are_ties.any() or along_this_axis.reading() == "nearest_even":
        return neighbors
    return neighbors.replaced(are_ties, the_other)


def have_pixels_outside(values: FloatArray, last: int, are_exact: Mask) -> bool:
    """Return True if some cubic average has a share of a pixel outside of the image.

    values: coordinates along an axis, in pixels, reflected if the mode says so; last: the last
    pixel. An average is of four pixels. At a pixel itself (`are_exact`) no other has a share; and
    about 2 pixels or more outside of the image all four are outside: nothing is to be decided.
    """
    is_a_pixel = are_exact & (values % 1 == 0) & (values >= 0) & (values <= last)
    is_inside = (values >= 1) & (values <= last - 1)
    is_far = (values <= -2) | (values > last + 2)
    return not (is_a_pixel | is_inside | is_far).all()


# ── the nearest pixel ─────────────────────────────────────────────────────────────────────────


def nearest_pixels(X: Array, axes: Sequence[Neighbors]) -> Array:
    """Return the pixels at the nearest indices along each axis, [N, C, count]; 0 outside.

    X: [N, C, *lengths]; axes: the neighbors of [N, count] locations along each axis. Where the
    nearest index is not sure, floats admit either pixel, and others have the nearest or the other
    one by the reading of NEARER_NEIGHBOR. Texts are empty outside. Raises NotSupported, while
    judging, for texts outside.
    """
    batch, channels, *lengths = X.shape
    # Along the first axis that is not sure: either pixel, each with what later axes give.
    for number, neighbors in enumerate(axes):
        if is_real(X) and not neighbors.are_sure:
            before, behind = axes[:number], axes[number + 1 :]
            highest = Neighbors.all_sure(neighbors.highest)
            lowest = Neighbors.all_sure(neighbors.lowest)
            return xp.where(
                neighbors.is_highest((batch, 1, -1)),
                nearest_pixels(X, [*before, highest, *behind]),
                nearest_pixels(X, [*before, lowest, *behind]),
            )
    places: IndexArray = np.zeros(1, np.int64)
    is_held: Any = True
    for number, (neighbors, length) in enumerate(zip(axes, lengths, strict=True)):
        index = index_that_counts(neighbors, number)
        places = places * length + np.clip(index, 0, length - 1)
        is_held = is_held & (index >= 0) & (index < length)
    flat = xp.reshape(X, (batch, channels, prod(lengths)))
    Y = xp.take_along_axis(flat, places[:, np.newaxis], axis=2)
    is_text = X.dtype == object
    if is_text and not is_held.all():
        leave_open("nothing is said of the 0 of texts")
    return xp.where(is_held[:, np.newaxis], Y, xp.full_like(Y, "" if is_text else 0))


# ── averages ──────────────────────────────────────────────────────────────────────────────────


def weights(kernel: Kernel, place: FloatArray, at: FloatArray) -> FloatArray:
    """Return the weights of the pixels `at`, by their distance from `place`, in plain float64.

    place, at: coordinates along one axis, in pixels, which broadcast to each other.
    """
    exact: FloatArray = kernel(np.abs(place - at))
    return exact


def weights_in_float32(kernel: Kernel, wide: float, place: Array, at: Array) -> Array:
    """Return the weights of the pixels `at`, by their distance from `place`.

    wide: how large a rounding of float32 is in unit roundoffs of a wider arithmetic: the weights
    have errors of 8 of these; 0 if the arithmetic is no wider.
    """
    return xp.inexact(kernel(xp.abs(place - at)), 8 * wide)


def is_within(distance: float, place: FloatArray, at: FloatArray) -> Mask:
    """Return a mask of pixels `at` that are nearer than `distance` to `place`."""
    return np.abs(place - at) < distance


def averages(X: Array, axes: Sequence[AxisLocations], sampling: Sampling) -> Array:
    """Return averages of the pixels around each location, [N, 1, C, count], in the type of X.

    X: [N, C, *lengths]; axes: [N, count] locations along each; sampling: its mode is linear or
    cubic. Pixels outside count as 0, or as the axis's `pixels` has them. Averages of integers are
    cut off, or rounded, halves to even or away from 0: CAST_OF_AVERAGES. Raises NotSupported for
    booleans, complex numbers and texts. Raises it while judging too, where an average of integers
    depends on roundings, and for NaN or infinity near a location, where the text does not say what
    a weight of 0 makes of them; else an average with a NaN or infinite pixel is NaN.
    """
    if X.dtype.kind in "bcO":
        raise_unspecified("averages of what are no real numbers")
    kernel = linear if sampling.mode == "linear" else partial(cubic, sampling.cubic_coeff_a)
    reach = 1 if sampling.mode == "linear" else 2
    places = [xp.reshape(axis.place, (X.shape[0], 1, axis.place.shape[1])) for axis in axes]
    for number, axis in enumerate(axes):
        if axis.pixels is not None:
            # X with its surroundings: pixel 0 is now number _PADDING.
            X = xp.take(X, axis.pixels, axis=2 + number)
            places[number] = places[number] + float(_PADDING)
    take = partial(sampled, pads=[(1, 1)] * len(places), reach=reach)
    if not is_real(X):
        values = [xp.values_of(place) for place in places]
        return cast_averages(X, take(X, values, share=partial(weights, kernel)), values, reach)
    lost = ~np.isfinite(xp.values_of(X))
    finite = xp.where(lost, xp.zeros_like(X), X) if lost.any() else X
    Y = take(finite, places, share=partial(weights_in_float32, kernel, sampling.wide))
    if lost.any():
        Y = with_nan(X, lost, Y, places, take=take, reach=reach)
    return xp.astype(Y, X.dtype)


def cast_averages(X: Array, Y: Array, values: Sequence[FloatArray], reach: int) -> Array:
    """Return averages Y of integers X "cast to integer at the end", in X's type.

    They are cut off, or rounded, halves to even or away from 0: CAST_OF_AVERAGES. values: the
    coordinates along each axis; reach: 1 of linear averages, 2 of cubic ones. Raises NotSupported,
    while judging, where float32 does not compute averages exactly, as a rounding decides.
    """
    # Averages are exact in float32 if elements are no larger than 2^12, and all coordinates are
    # multiples of 1/16, or of 1/2 for cubic weights, which are of the third degree.
    steps = 16 if reach == 1 else 2
    are_exact = all((place * steps % 1 == 0).all() for place in values)
    are_exact = are_exact and np.abs(X).max(initial=0) <= 2**12
    if not are_exact:
        leave_open("no type tells how averages of integers are rounded")
    elif not np.array_equal(Y, np.round(Y)):
        match CAST_OF_AVERAGES.reading():
            case "half_to_even":
                Y = np.round(Y)
            case "half_away":
                Y = np.copysign(np.floor(np.abs(Y) + 0.5), Y)
    return Y.astype(X.dtype)


def with_nan(
    X: Array,
    lost: Mask,
    Y: Array,
    places: Sequence[Array],
    *,
    take: Callable[..., Array],
    reach: int,
) -> Array:
    """Return averages Y, with NaN in each sample that a lost pixel of X has a share in.

    A pixel has a share in a sample that is less than 1 away from it along every axis, or as little
    more as rounding may hide.

    Args:
        X: The images.
        lost: A mask of X: pixels that are infinite or NaN, and were taken for 0 in Y.
        Y: The averages.
        places: The coordinates of the samples, in pixels, one tensor for each axis.
        take: Samples an image as the node does, with given shares.
        reach: Pixels on each side of a sample that its average is made of: 1 for linear ones.

    Raises:
        NotSupported: While judging, if X has an infinity, `reach` is not 1, or a lost pixel is
            about 1 away: the text does not say what a weight of 0 makes of them.
    """
    values = [xp.values_of(place) for place in places]
    surely_counts = take(lost * 1.0, values, share=partial(is_within, 1 - _NEAR)) > 0
    may_count = take(lost * 1.0, values, share=partial(is_within, 1 + _NEAR)) > 0
    is_decided = reach == 1 and not np.isinf(xp.values_of(X)).any()
    if not (is_decided and (surely_counts == may_count).all()):
        leave_open("nothing is said of 0 times NaN")
    return xp.where(may_count, xp.full_like(Y, np.nan), Y)


# ── the operator ──────────────────────────────────────────────────────────────────────────────


def unchanged(x: Any) -> Any:
    """Return a tensor, attributes or a list as they are, where a mutant changes them."""
    return x


@dataclass(frozen=True)
class GridSampling:
    """GridSample; its fields are what mutants do otherwise.

    Attributes:
        denormalize: Returns the terms of coordinates.
        X: What is made of X.
        grid: What is made of the grid.
        sampling: What is made of the attributes.
        lengths: What is made of the lengths of the axes.
    """

    denormalize: Denormalize = denormalized
    X: Callable[[Array], Array] = unchanged
    grid: Callable[[Array], Array] = unchanged
    sampling: Callable[[Sampling], Sampling] = unchanged
    lengths: Callable[[Sequence[int]], Sequence[int]] = unchanged


def check_grid(since: int, X: Array, grid: Array) -> None:
    """Raise InvalidNode unless X is [N, C, D1, …, Dr] and the grid [N, …, r], of one rank.

    In version 16 r is 2; `since` is 16, or 20 for later versions, where r is 0 or more.
    """
    r = X.ndim - 2
    has_no_such_rank = r != 2 if since == 16 else r < 0
    if has_no_such_rank or grid.ndim != X.ndim:
        raise InvalidNode(f"X of rank {X.ndim} and grid of rank {grid.ndim}")
    if (grid.shape[0], grid.shape[-1]) != (X.shape[0], r):
        raise InvalidNode(f"grid {list(grid.shape)} for X {list(X.shape)}")


@formulas_of_versions(each={16: 16, 20: 20, 22: 20})
def grid_sample(
    sampler: GridSampling,
    since: int,
    X: Array,
    grid: Array,
    *,
    mode: str,
    padding_mode: str,
    align_corners: int,
) -> Array:
    """Return Y, [N, C, D1_out, …, Dr_out], in the type of X.

    X: [N, C, D1, …, Dr]; grid: [N, D1_out, …, Dr_out, r], whose coordinates "are listed from the
    innermost tensor dimension to the outermost". r is 2 in version 16. With padding zeros, less
    than a pixel outside of X (in cubic two) a location is interpolated with 0, is 0, or the last
    pixel: HALF_OUTSIDE. Of ties, and where float32 cannot tell, either pixel is the nearest:
    UNSTATED_TIES, NEARER_NEIGHBOR. Cubic averages at edges follow CUBIC_EDGES. Averages of integers
    are cut off or rounded: CAST_OF_AVERAGES. sampler: the steps, which mutants change; since: 16,
    or 20 for later versions.

    Raises InvalidNode for an unknown mode or padding_mode, and for other shapes. An align_corners
    other than 0 and 1 counts as either, or raises it: FLAG_OF_ANOTHER_NUMBER.

    At a location with infinity or NaN the value may be anything. Raises NotSupported for an X
    without spatial axes or pixels, unless nothing is sampled, and averages of booleans, complex
    numbers and texts. While judging, also for averages of integers that depend on roundings,
    averages near NaN or infinity, texts outside, and where every location has infinity or NaN (in
    graphs any). Raises MemoryError for a Y of more than 2^28 elements.
    """
    names = ("bilinear", "bicubic") if since == 16 else ("linear", "cubic")
    check_one_of("mode", mode, "nearest", *names)
    check_one_of("padding_mode", padding_mode, "zeros", "border", "reflection")
    check_grid(since, X, grid)
    sizes = grid.shape[1:-1]
    shape = (*X.shape[:2], *sizes)
    check_size(shape)
    if prod(sizes) and not (X.ndim > 2 and prod(X.shape[2:])):
        raise_unspecified("images without an axis, or without a pixel")
    is_aligned = flag("align_corners", align_corners)
    are_none = ~np.isfinite(xp.values_of(grid))
    if are_none.any():
        grid = xp.where(are_none, xp.zeros_like(grid), grid)
    # If only one of the tensors is of float64, the other's float32 rounds by this many unit
    # roundoffs of float64; 0 if the types do not differ so.
    wide = 2.0**29 * ((X.dtype == np.float64) != (grid.dtype == np.float64))
    sampling = sampler.sampling(Sampling(mode.removeprefix("bi"), padding_mode, is_aligned, wide))
    X = sampler.X(X)
    grid = xp.reshape(sampler.grid(grid), (X.shape[0], prod(sizes), X.ndim - 2))
    axes = [
        locations_along(
            number,
            grid[..., -1 - number],
            length,
            since=since,
            sampling=sampling,
            denormalize=sampler.denormalize,
        )
        for number, length in enumerate(sampler.lengths(X.shape[2:]))
    ]
    Y = xp.reshape(values_at(X, axes, sampling), shape)
    is_none = np.expand_dims(are_none.any(axis=-1), 1)
    return undefined_where(Y, is_none, "locations that are no numbers")


def values_at(X: Array, axes: Sequence[AxisLocations], sampling: Sampling) -> Array:
    """Return the values of X at locations along all axes, [N, C, count].

    X: [N, C, *lengths]; axes: [N, count] locations along each. With padding zeros, a value less
    than a pixel outside of X (in cubic two) is interpolated with 0 (in nearest, that of the nearest
    pixel), is 0 (of texts: empty), or that of the last pixel: HALF_OUTSIDE. In nearest, what is no
    float has the nearest pixel or the other, where float32 cannot tell: NEARER_NEIGHBOR. Averages
    of integers are cut off or rounded: CAST_OF_AVERAGES. Unless the mode is nearest, raises
    NotSupported for booleans, complex numbers and texts, and, while judging, for integers whose
    averages depend on roundings, and for NaN or infinity near a location; in nearest while judging
    for texts outside.
    """
    is_half_outside = np.any([axis.are_half_outside for axis in axes], axis=0)
    is_zero = np.zeros_like(is_half_outside)
    if is_half_outside.any():
        match HALF_OUTSIDE.reading():
            case "zero":
                is_zero = is_half_outside
            case "pixel":
                axes = [axis.at_the_edge() for axis in axes]
    if sampling.mode == "nearest":
        Y = nearest_pixels(X, [axis.neighbors for axis in axes])
    else:
        if not is_real(X) and not all(axis.are_exact.all() for axis in axes):
            leave_open("float32 cannot tell where to cut averages of integers off")
        Y = padded_averages(X, axes, sampling)
    if is_zero.any():
        is_text = isinstance(Y, np.ndarray) and Y.dtype.hasobject
        zeros = np.full_like(Y, "") if is_text else xp.zeros_like(Y)
        Y = xp.where(is_zero[:, np.newaxis], zeros, Y)
    return Y


def padded_averages(X: Array, axes: Sequence[AxisLocations], sampling: Sampling) -> Array:
    """Return `averages`, [N, C, count], with zeros outside of locations that are far outside.

    Those are about a pixel or more outside along any axis, `are_outside`; around others the axis's
    `pixels` stand for pixels outside, if it has some. Averages of integers are cut off or rounded:
    CAST_OF_AVERAGES. Raises NotSupported as `averages` does.
    """
    shape = (*X.shape[:2], axes[0].place.shape[1])
    Y = xp.reshape(averages(X, axes, sampling), shape)
    masks = [axis.are_outside for axis in axes if axis.are_outside is not None]
    are_outside = np.any(masks, axis=0) if masks else np.zeros(1, np.bool_)
    if not are_outside.any():
        return Y
    unpadded = [replace(axis, pixels=None, are_outside=None) for axis in axes]
    zeros_outside = xp.reshape(averages(X, unpadded, sampling), shape)
    return xp.where(are_outside[:, np.newaxis], zeros_outside, Y)


GRID_SAMPLE.formula(build=grid_sample)(GridSampling())


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def from_0_to_1(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Mutant: locations run from 0 to 1."""
    return denormalized(g * 2 - 1, length, align_corners)


def in_pixels(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Mutant: locations are numbers of pixels."""
    return (g,)


def half_a_pixel_late(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Mutant: pixels begin at whole numbers."""
    return *denormalized(g, length, align_corners), 0.5 * (not align_corners)


def half_a_pixel_early(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Mutant: half a pixel is taken off at centers too."""
    return *denormalized(g, length, align_corners), -0.5 * align_corners


def one_less_from_edges(g: Array, length: int, align_corners: bool) -> tuple[Any, ...]:
    """Mutant: -1 and 1 are at the centers of the corner pixels, whatever align_corners is."""
    return denormalized(g, length, True)


def y_before_x(grid: Array) -> Array:
    """Mutant: coordinates are listed from the outermost axis on."""
    return xp.flip(grid, axis=-1)


def first_of_batch(x: Array) -> Array:
    """Mutant: the first of the batch serves for all."""
    return xp.broadcast_to(x[:1], x.shape)


def first_channel(X: Array) -> Array:
    """Mutant: the first channel serves for all."""
    return xp.broadcast_to(X[:, :1], X.shape)


def kept_in_range(grid: Array) -> Array:
    """Mutant: locations are limited to -1 to 1."""
    return xp.clip(grid, -1.0, 1.0)


def half_up(x: FloatArray) -> FloatArray:
    """Mutant of a rounding: ties go up."""
    return np.floor(x + 0.5)


def half_away(x: FloatArray) -> FloatArray:
    """Mutant of a rounding: ties go away from 0."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def border_at_centers(align_corners: bool) -> float:
    """Mutant: -1 is at the center of the first pixel where it reflects."""
    return 0.0


def border_at_edges(align_corners: bool) -> float:
    """Mutant: -1 is at the edge of the first pixel where it reflects."""
    return -0.5


def reflected_once(place: Array, low: float, high: float) -> Array:
    """Mutant: it reflects once."""
    return 2 * xp.clip(place, low, high) - place


def repeated(place: Array, low: float, high: float) -> Array:
    """Mutant: the image begins anew beyond its borders."""
    span = high - low
    return place - span * ((place - low) // max(span, 1))


def lengths_reversed(lengths: Sequence[int]) -> Sequence[int]:
    """Mutant: lengths are read from the last to the first."""
    return lengths[::-1]


def changed(sampling: Sampling, **fields: Any) -> Sampling:
    """Mutant: some attributes are others."""
    return replace(sampling, **fields)


def renamed(old: str, new: str, sampling: Sampling) -> Sampling:
    """Mutant: the mode or padding mode `old` is taken for `new`; other attributes stay."""
    return replace(
        sampling,
        mode=new if sampling.mode == old else sampling.mode,
        padding_mode=new if sampling.padding_mode == old else sampling.padding_mode,
    )


def with_attributes(**fields: Any) -> GridSampling:
    """Return the mutant of which some attributes are others, whatever the node has."""
    return GridSampling(sampling=partial(changed, **fields))


#: Pairs of modes of which the first is taken for the second.
CONFUSED = (
    ("zeros", "border"),
    ("border", "zeros"),
    ("border", "reflection"),
    ("reflection", "border"),
    ("linear", "nearest"),
    ("cubic", "linear"),
    ("nearest", "linear"),
)
MUTANTS: NamedMutants[GridSampling] = {
    "from_0_to_1": ("locations ran from 0 to 1", GridSampling(from_0_to_1)),
    "in_pixels": ("locations were numbers of pixels", GridSampling(in_pixels)),
    "half_a_pixel_late": ("pixels began at whole numbers", GridSampling(half_a_pixel_late)),
    "half_a_pixel_early": (
        "half a pixel was taken off at centers too",
        GridSampling(half_a_pixel_early),
    ),
    "one_less_from_edges": (
        "the edges were a pixel nearer to each other",
        GridSampling(one_less_from_edges),
    ),
    "y_before_x": (
        "coordinates came from the outermost axis on",
        GridSampling(grid=y_before_x),
    ),
    "first_grid_for_all": (
        "the first grid served for the whole batch",
        GridSampling(grid=first_of_batch),
    ),
    "first_image_for_all": (
        "the first image served for the whole batch",
        GridSampling(X=first_of_batch),
    ),
    "first_channel_for_all": (
        "the first channel served for all",
        GridSampling(X=first_channel),
    ),
    "kept_in_range": ("locations were limited to -1 to 1", GridSampling(grid=kept_in_range)),
    "floor": ("the nearest pixel was that before", with_attributes(rounding=np.floor)),
    "ceil": ("the nearest pixel was that after", with_attributes(rounding=np.ceil)),
    "trunc": ("coordinates were cut off", with_attributes(rounding=np.trunc)),
    "half_up": ("ties went up", with_attributes(rounding=half_up)),
    "half_away": ("ties went away from 0", with_attributes(rounding=half_away)),
    "coefficient_of_half": (
        "the cubic coefficient was -0.5",
        with_attributes(cubic_coeff_a=-0.5),
    ),
    "reflected_at_centers": (
        "-1 and 1 were at the centers where it reflects",
        with_attributes(first_border=border_at_centers),
    ),
    "reflected_at_edges": (
        "-1 and 1 were at the edges where it reflects",
        with_attributes(first_border=border_at_edges),
    ),
    "reflected_once": ("it reflected once", with_attributes(reflect=reflected_once)),
    "repeated": (
        "what is beyond began anew instead of being reflected",
        with_attributes(reflect=repeated),
    ),
    **{
        f"{old}_is_{new}": (
            f"{old} was {new}",
            GridSampling(sampling=partial(renamed, old, new)),
        )
        for old, new in CONFUSED
    },
    "height_for_width": (
        "lengths were read from the last to the first",
        GridSampling(lengths=lengths_reversed),
    ),
}
GRID_SAMPLE.mutant_table(MUTANTS, build=grid_sample)
