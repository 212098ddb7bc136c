"""Resize and Upsample: the values beside and between the elements of a tensor.

Both resize one axis after the other. Along an axis, an element of the output has a coordinate in
the input, x_original. Its value is that of the nearest element, or an average of those around it.

Coordinates follow from the scales as they are given. Implementations compute them in float32: where
that cannot tell on which side of a step a coordinate lies, either neighbor is right.

The parts of the file: axes, and how long they become; coordinate transformations; the nearest
element; averages; Resize and its mutants; Upsample and its mutants.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor, nan, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp, opset
from opcheck.dtypes import is_real
from opcheck.engine.axes import check_size, from_either_end
from opcheck.engine.interpolation import (
    CORNERS_OF_ONE_ELEMENT,
    FloatArray,
    IndexArray,
    Kernel,
    Neighbors,
    Rounding,
    cubic,
    linear,
    nearest_elements,
)
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    check_one_of,
    check_shape,
    leave_open,
    operator,
    raise_unspecified,
    with_parameters,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """Resize Upsample"""

#: A mask of elements.
Mask: TypeAlias = NDArray[np.bool_]
#: Where the part of an axis that counts begins and ends.
Part: TypeAlias = tuple[Fraction, Fraction]

#: Roundings in a term of a coordinate, those of a scale that is made anew among them.
_ROUNDINGS = 6
#: How far such a term may be off, relatively.
_OFF = _ROUNDINGS * 2.0**-24
#: Weights below this may be rounded to 0.
_NEAR_0 = 2.0**-10
#: The smallest number above 0 that a scale may be.
_LEAST_SCALE = 2.0**-149

SIZE_IN_FLOAT32 = Ruling(
    "size-in-float32",
    "The text does not state in which precision a size is computed that is then cut off.",
    ("exact", "float32"),
)
SCALED_PART = Ruling(
    "scaled-part",
    "The formula scales a part alone, and ONNX's shape inference its axis as a whole.",
    ("part_scaled", "axis_scaled"),
)
CUT_OFF_LENGTH = Ruling(
    "scale-of-a-cut-off-length",
    "The text calls scale what is given, and length_resized / length_original. They differ where a "
    "length is cut off or rounded, or is that of a part; and length_resized is that whole number, "
    "or the fraction before.",
    ("as_given", "of_lengths"),
)
CUT_OFF_WIDTH = Ruling(
    "width-of-a-cut-off-length",
    "The text does not state whether output_width is a whole number or a fraction where scale is "
    "that of the lengths.",
    ("fraction", "whole_number"),
)
EDGE_OF_A_PART = Ruling(
    "edge-of-a-part",
    "The text does not state in which precision a coordinate is computed that lies at an end of "
    "the input, or is outside.",
    ("exact", "the_other"),
    by_element=True,
)
WEIGHT_0_OF_NO_NUMBER = Ruling(
    "weight-0-of-no-number",
    "By the text an average is a sum of products, of which that of 0 and infinity is NaN. It does "
    "not state which elements have the weight 0, and which have none.",
    ("left_out", "nan"),
    by_element=True,
)
EMPTY_SCALES = Ruling(
    "empty-scales",
    "The text does not state whether scales are specified by an empty tensor, next to sizes.",
    ("left_out", "refused"),
)
NAMES_OF_LINEAR = Ruling(
    "names-of-linear",
    "Linear includes bilinear and trilinear. The text does not state whether these are names of "
    "modes.",
    ("accepted", "refused"),
)
UNSTATED_PLACES = Ruling(
    "unstated-places",
    "The text does not state where the elements of the output lie: corners are at the same place, "
    "or centers of half pixels, or the centers of the first and the last.",
    ("corners", "centers", "aligned_corners"),
)
UNSTATED_ROUNDING = Ruling(
    "unstated-rounding",
    "The text does not state which of two elements is the nearest to the place between them.",
    ("round_prefer_floor", "round_prefer_ceil"),
)


# ── axes ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Axis:
    """An axis of the input, and of the output.

    Attributes:
        length_original: Its length in the input.
        length_resized: Its length in the output, a whole number, also called output_width_int.
        scale: The scale as it is given, or that of the sizes.
        output_width: Its length in the output before that is cut off or rounded.
        start_x: Where the part begins that roi names: 0 at the first element, 1 at the last.
        end_x: Where that part ends.
    """

    length_original: int
    length_resized: int
    scale: Fraction
    output_width: Fraction
    start_x: Fraction = Fraction(0)
    end_x: Fraction = Fraction(1)


def unchanged_axis(length: int) -> Axis:
    """Return an axis that is as long in the output as in the input."""
    return Axis(length, length, Fraction(1), Fraction(length))


def scaled_axis(
    length: int,
    scale: float | Fraction,
    start_x: Fraction = Fraction(0),
    end_x: Fraction = Fraction(1),
) -> Axis:
    """Return an axis of floor(input_dimension * (roi_end - roi_start) * scale) elements.

    `scale` is finite and above 0. The product is exact, or that of float32: SIZE_IN_FLOAT32. Its
    output_width is exact either way.
    """
    part = end_x - start_x
    output_width = Fraction(scale) * length * part
    length_resized = floor(output_width)
    in_float32 = np.floor(np.float32(length) * np.float32(part) * np.float32(scale))
    is_open = np.isfinite(in_float32) and length_resized != in_float32
    if is_open and SIZE_IN_FLOAT32.reading() == "float32":
        length_resized = int(in_float32)
    return Axis(length, length_resized, Fraction(scale), output_width, start_x, end_x)


def by_lengths(axis: Axis) -> Axis:
    """Return the axis with scale = length_resized / length_original, both whole numbers above 0."""
    return replace(
        axis,
        scale=Fraction(axis.length_resized, axis.length_original),
        output_width=Fraction(axis.length_resized),
    )


def checked_scales(scales: Array, count: int, least: float) -> list[float]:
    """Return the scales as numbers.

    Raises InvalidNode unless there are `count` of them in a list, all from `least` on: "It takes
    value greater than 0", or "greater than or equal to 1". NaN is refused too. Raises MemoryError
    for infinity.
    """
    values = xp.values_of(scales)
    if values.shape != (count,) or not (values >= least).all():
        raise InvalidNode(f"scales {values.tolist()} for {count} axes; allowed: from {least:g} on")
    if np.isinf(values).any():
        raise MemoryError("an infinite output")
    return [float(scale) for scale in values]


def parts_of(roi: Array, count: int) -> list[Part]:
    """Return start and end of each axis, from "[start1, ..., startN, end1, ..., endN]".

    Without `roi` an axis counts as a whole, from 0 to 1. A part may end before it starts, or be
    outside of [0, 1]. Raises InvalidNode unless `roi` has the shape [2 * count], NotSupported for
    NaN and infinity.
    """
    if roi is None:
        return [(Fraction(0), Fraction(1))] * count
    values = xp.values_of(roi)
    check_shape("roi", values, (2 * count,))
    if not np.isfinite(values).all():
        raise_unspecified("a part without numbers")
    ends = [Fraction(float(value)) for value in values]
    return list(zip(ends[:count], ends[count:], strict=True))


def axes_by_scales(lengths: Sequence[int], parts: Sequence[Part], scales: Array) -> list[Axis]:
    """Return the axes by their scales and by the parts of them that count.

    A part is scaled alone, or its axis as a whole: SCALED_PART. Lengths are cut off from exact
    products, or from those of float32: SIZE_IN_FLOAT32. Raises InvalidNode unless there is a scale
    above 0 for each axis, MemoryError for an infinite one, NotSupported for a part that ends before
    it starts.
    """
    axes = []
    each_scale = checked_scales(scales, len(lengths), _LEAST_SCALE)
    for length, (start_x, end_x), scale in zip(lengths, parts, each_scale, strict=True):
        if end_x < start_x:
            raise_unspecified("a part that ends before it starts")
        axis = scaled_axis(length, scale, start_x, end_x)
        is_open = axis.output_width != Fraction(scale) * length
        if is_open and SCALED_PART.reading() == "axis_scaled":
            axis = replace(scaled_axis(length, scale), start_x=start_x, end_x=end_x)
        axes.append(axis)
    return axes


def round_int(x: Fraction) -> int:
    """Return the nearest integer, "rounding halfway cases up"."""
    return floor(x + Fraction(1, 2))


def axes_by_sizes(
    lengths: Sequence[int],
    parts: Sequence[Part],
    sizes: Array,
    keep_aspect_ratio_policy: str,
) -> list[Axis]:
    """Return the axes by their sizes.

    stretch: out_size[d] = sizes[i]; not_larger, not_smaller: scale = Min or Max(sizes[i] /
    in_size[d]), out_size[d] = round_int(scale * in_size[d]), which may be 0. The parts change no
    size.

    Raises InvalidNode unless `sizes` is a list of one number for each axis, none below 0. Raises
    NotSupported for a size of 0, in the input too.
    """
    wanted = [int(size) for size in sizes.reshape(-1)]
    if sizes.shape != (len(lengths),) or min(wanted, default=0) < 0:
        raise InvalidNode(f"sizes {wanted} for {len(lengths)} axes")
    if 0 in wanted or 0 in lengths:
        raise_unspecified("scales of no element")
    scales = [Fraction(size, length) for length, size in zip(lengths, wanted, strict=True)]
    if keep_aspect_ratio_policy != "stretch" and scales:
        smallest, largest = min(scales), max(scales)
        scale = smallest if keep_aspect_ratio_policy == "not_larger" else largest
        scales = [scale] * len(lengths)
        wanted = [round_int(scale * length) for length in lengths]
    axes = []
    for length, size, scale, part in zip(lengths, wanted, scales, parts, strict=True):
        start_x, end_x = part
        axes.append(Axis(length, size, scale, scale * length, start_x, end_x))
    return axes


# ── coordinate transformations ────────────────────────────────────────────────────────────────
#
# Each takes an axis and x_resized, and returns the terms whose sum is x_original. How often a term
# is rounded in float32 is bounded, whatever other term it cancels with.


def half_pixel(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = (x_resized + 0.5) / scale - 0.5."""
    return (x_resized + 0.5) / float(axis.scale), -0.5


def half_pixel_symmetric(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = offset + (x_resized + 0.5) / scale - 0.5.

    adjustment = output_width_int / output_width, center = input_width / 2, offset = center * (1 -
    adjustment). It is half_pixel where output_width is a whole number, as with sizes of the policy
    stretch, and for an empty output.
    """
    if not axis.length_resized:
        return half_pixel(axis, x_resized)
    adjustment = axis.length_resized / axis.output_width
    center = axis.length_original / 2
    offset = center * float(1 - adjustment)
    return offset, (x_resized + 0.5) / float(axis.scale), -0.5


def pytorch_half_pixel(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = length_resized > 1 ? (x_resized + 0.5) / scale - 0.5 : 0."""
    if axis.length_resized > 1:
        return half_pixel(axis, x_resized)
    return (0 * x_resized,)


def step_between_corners(axis: Axis) -> Fraction:
    """Return (length_original - 1) / (length_resized - 1), 0 between corners of one element.

    Here length_resized is output_width: the whole number or, as ONNX's node tests take it, the
    fraction that is cut off, as CUT_OFF_LENGTH has decided before. The divisor is 1 at least.
    """
    return max(axis.length_original - 1, 0) / max(axis.output_width - 1, Fraction(1))


def align_corners(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = x_resized * (length_original - 1) / (length_resized - 1).

    For an output of one element that is 0 / 0: the first, the middle or the last place of the
    input, by CORNERS_OF_ONE_ELEMENT.
    """
    last = axis.length_original - 1
    if axis.length_resized == 1 and last > 0:
        match CORNERS_OF_ONE_ELEMENT.reading():
            case "middle":
                return (x_resized + last / 2,)
            case "last":
                return (x_resized + last,)
    return (x_resized * float(step_between_corners(axis)),)


def asymmetric(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = x_resized / scale."""
    return (x_resized / float(axis.scale),)


def tf_half_pixel_for_nn(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original = (x_resized + 0.5) / scale."""
    return ((x_resized + 0.5) / float(axis.scale),)


def step_within_a_part(axis: Axis) -> Fraction:
    """Return (end_x - start_x) * (length_original - 1) / (length_resized - 1).

    It is below 0 for a part that ends before it starts; 0 for an input of one element. The divisor
    is 1 at least.
    """
    return step_between_corners(axis) * (axis.end_x - axis.start_x)


def tf_crop_and_resize(axis: Axis, x_resized: FloatArray) -> tuple[Any, ...]:
    """Return the terms of x_original between the corners of a part of the input.

    x_original = start_x * (length_original - 1) + x_resized * (end_x - start_x) * (length_original
    - 1) / (length_resized - 1); for an output of one element, 0.5 * (start_x + end_x) *
    (length_original - 1).
    """
    last = axis.length_original - 1
    if axis.length_resized > 1:
        return float(axis.start_x * last), x_resized * float(step_within_a_part(axis))
    return (float((axis.start_x + axis.end_x) * last) / 2 + 0 * x_resized,)


def step_of_scale(axis: Axis) -> Fraction:
    """Return how far coordinates lie apart: 1 / scale."""
    return 1 / axis.scale


@dataclass(frozen=True)
class Transformation:
    """A coordinate transformation.

    Attributes:
        terms: Returns the terms of x_original, from an axis and x_resized.
        step: Returns how far neighboring coordinates lie apart.
        versions: The versions of Resize that name it.
    """

    terms: Callable[[Axis, FloatArray], tuple[Any, ...]]
    step: Callable[[Axis], Fraction] = step_of_scale
    versions: Sequence[int] = (11, 13, 18, 19)


TRANSFORMATIONS: Mapping[str, Transformation] = {
    "half_pixel": Transformation(half_pixel),
    "half_pixel_symmetric": Transformation(half_pixel_symmetric, versions=(19,)),
    "pytorch_half_pixel": Transformation(pytorch_half_pixel),
    "align_corners": Transformation(align_corners, step_between_corners),
    "asymmetric": Transformation(asymmetric),
    "tf_half_pixel_for_nn": Transformation(tf_half_pixel_for_nn, versions=(11,)),
    "tf_crop_and_resize": Transformation(tf_crop_and_resize, step_within_a_part),
}


@dataclass(frozen=True)
class Coordinates:
    """x_original of each element of the output along an axis, as sums of terms.

    Attributes:
        axis: The axis.
        terms: What x_original is the sum of, each of shape [length_resized].
        are_exact: float32 has all coordinates, and everything that they are made of, without
            rounding. Otherwise `error` says how far they may be off.
    """

    axis: Axis
    terms: tuple[FloatArray, ...]
    are_exact: bool

    @property
    def x_original(self) -> FloatArray:
        """The coordinates, of shape [length_resized]; they may be outside of the input."""
        return np.asarray(sum(self.terms))

    @property
    def error(self) -> FloatArray | float:
        """How far each coordinate may be off in float32; 0 where all are exact."""
        return 0.0 if self.are_exact else _OFF * sum(map(np.abs, self.terms))

    @property
    def copy_the_input(self) -> bool:
        """True if each element of the output is the one of the input at its own place."""
        return np.array_equal(self.x_original, np.arange(self.axis.length_original))

    def neighbors(self, rounding: Rounding) -> Neighbors:
        """Return the nearest elements; those outside of the input are the ones at its edge.

        They are indices of shape [length_resized]: of the coordinates, and of these less and plus
        what they may be off by. `rounding` makes whole numbers of coordinates.
        """
        last = self.axis.length_original - 1

        def index(x: FloatArray) -> IndexArray:
            return np.clip(rounding(x), 0, last).astype(np.int64)

        return Neighbors(
            lowest=index(self.x_original - self.error),
            nearest=index(self.x_original),
            highest=index(self.x_original + self.error),
        )

    def is_outside(self, error: FloatArray | float = 0.0) -> NDArray[np.bool_]:
        """Return a mask of coordinates more than `error` below 0 or above length_original - 1.

        It has the shape [length_resized].
        """
        last = self.axis.length_original - 1
        return (self.x_original < -error) | (self.x_original > last + error)

    def is_inside(self) -> NDArray[np.bool_]:
        """Return a mask of coordinates that are inside, whatever their error."""
        last = self.axis.length_original - 1
        return (self.x_original >= self.error) & (self.x_original <= last - self.error)


def is_float32(x: Any) -> bool:
    """Return True for a number that float32 has, or an array of such; NaN is none."""
    return np.array_equal(np.float32(x), np.asarray(x, np.float64))


def is_power_of_2(n: int) -> bool:
    """Return True for 1, 2, 4, and so on, from n = 1 on."""
    return n & (n - 1) == 0


def coordinates_along(axis: Axis, transformation: str) -> Coordinates:
    """Return the coordinates by the transformation of this name, a key of TRANSFORMATIONS.

    They are marked as exact if float32 has the step between them, each term and each sum, so that
    no order of computing in float32 can round. Of align_corners the only element of an output lies
    at the first, the middle or the last place of the input: CORNERS_OF_ONE_ELEMENT.
    """
    transform = TRANSFORMATIONS[transformation]
    x_resized = np.arange(axis.length_resized, dtype=np.float64)
    terms = tuple(np.broadcast_to(x, x_resized.shape) for x in transform.terms(axis, x_resized))
    step = transform.step(axis)
    are_exact = is_power_of_2(step.denominator) and is_float32(float(step))
    if transform.step is step_of_scale:
        # An implementation may divide by the scale, or multiply by 1 / scale: both are exact.
        are_exact = are_exact and is_power_of_2(axis.scale.denominator)
    are_exact = are_exact and all(map(is_float32, (*terms, sum(terms))))
    return Coordinates(axis, terms, are_exact)


# ── the nearest element ───────────────────────────────────────────────────────────────────────


def round_prefer_floor(x_original: FloatArray) -> FloatArray:
    """Return the nearest whole numbers, of halves the lower one."""
    return np.ceil(x_original - 0.5)


def round_prefer_ceil(x_original: FloatArray) -> FloatArray:
    """Return the nearest whole numbers, of halves the upper one."""
    return np.floor(x_original + 0.5)


NEAREST_MODES: Mapping[str, Rounding] = {
    "round_prefer_floor": round_prefer_floor,
    "round_prefer_ceil": round_prefer_ceil,
    "floor": np.floor,
    "ceil": np.ceil,
}


# ── averages ──────────────────────────────────────────────────────────────────────────────────


def normalized(weights: Array) -> Array:
    """Return weights divided by their sum along axis 1, so that those of each average add up to 1.

    Where their sum is 0 they become NaN or infinite.
    """
    return weights / xp.sum(weights, axis=1, keepdims=True)


@dataclass(frozen=True)
class Filter:
    """The weights of the elements around a coordinate.

    Attributes:
        kernel: The weight of an element, from its distance.
        reach: How many elements on either side may have a weight.
        stretch: The factor by which the kernel is wider; 1 without antialias.
        excludes_outside: Elements outside of the input have the weight 0. Otherwise they are those
            at its edge.
        normalize: Divides the weights of each average by their sum.
    """

    kernel: Kernel
    reach: int
    stretch: float = 1.0
    excludes_outside: bool = False
    normalize: Callable[[Array], Array] = normalized

    def weights(self, place: Array, index: IndexArray, length: int) -> Array:
        """Return the weights, [n, m], of the elements at `index`, [n, m], around places, [n].

        `length` is that of the input's axis; an index may be outside of it. The kernels' weights
        have the sum 1. Where outside elements are excluded, or the kernel is stretched, the sum
        need not be 1: `normalize` divides by it.
        """
        distance = xp.abs(xp.reshape(place, (-1, 1)) - index.astype(np.float64))
        weights = self.kernel(distance / self.stretch)
        if self.excludes_outside:
            weights = weights * ((index >= 0) & (index < length)).astype(np.float64)
        if self.excludes_outside or self.stretch != 1:
            weights = self.normalize(weights)
        return weights


def averages(X: Array, number: int, coordinates: Coordinates, filter: Filter, terms: int) -> Array:
    """Return weighted averages of the elements around each coordinate along axis `number` of X.

    The result has the shape of X, but length_resized along that axis; of a plain X it is float64.
    Elements beyond an edge are those at it, unless the filter excludes them. Averages next to
    infinities and NaN may be NaN: WEIGHT_0_OF_NO_NUMBER.

    `terms` is for the error bound: how many elements of the input an element of the output is made
    of, along all axes together. Coordinates that are not exact, and weights, have the errors of
    float32, for float64 tensors too, as implementations compute them in it.

    Raises NotSupported for other than real floating numbers; for a judge, also where rounding
    decides if the weight of an infinity or NaN is 0.
    """
    if not is_real(X):
        raise_unspecified("averages of what are no real numbers")
    length = coordinates.axis.length_original
    around = np.arange(-filter.reach, filter.reach + 2)
    index = np.floor(coordinates.x_original).astype(np.int64)[:, None] + around
    # One rounding of float32, in unit roundoffs of the tensor's type: 2^-24 over 2^-53, or 1.
    wide = 2.0**29 if X.dtype == np.float64 else 1.0
    in_float32 = partial(xp.inexact, roundoffs=_ROUNDINGS * wide)
    place: Array
    if coordinates.are_exact:
        place = xp.astype(coordinates.x_original, np.float64)
    else:
        place = sum(in_float32(xp.astype(np.array(x), np.float64)) for x in coordinates.terms)
    weights = filter.weights(place, index, length)
    if wide > 1:
        # Plus 0 with the errors of a 1 in float32: weights are computed in it too.
        weights = weights + (in_float32(xp.astype(np.ones(()), np.float64)) - 1.0)
    elements = xp.take(X, np.clip(index, 0, length - 1).reshape(-1), axis=number)
    elements = xp.reshape(elements, (*X.shape[:number], *index.shape, *X.shape[number + 1 :]))
    weights = xp.reshape(weights, (*index.shape, *[1] * (X.ndim - number - 1)))
    are_lost = ~np.isfinite(xp.values_of(elements))
    if are_lost.any():
        is_sure = coordinates.are_exact and filter.stretch == 1
        elements = without_weights_of_0(elements, weights, are_lost, is_sure)
    Y = xp.sums(elements * weights, partial(np.sum, axis=number + 1), terms)
    if are_lost.any() and WEIGHT_0_OF_NO_NUMBER.reading() == "nan":
        is_beside = ~np.isfinite(xp.values_of(X)).all(axis=number, keepdims=True)
        Y = xp.where(is_beside, xp.full_like(Y, nan), Y)
    return Y


def without_weights_of_0(elements: Array, weights: Array, are_lost: Mask, is_sure: bool) -> Array:
    """Return elements with 0 in place of an infinity or NaN that has the weight 0.

    are_lost: a mask of infinities and NaN, of the elements' shape; is_sure: no rounding can change
    whether a weight is 0. The weights broadcast to the elements. Raises NotSupported, while
    judging, where rounding decides if a weight is 0, and which sign it has.
    """
    magnitudes = np.broadcast_to(np.abs(xp.values_of(weights)), are_lost.shape)
    if not is_sure and np.any(are_lost & (magnitudes < _NEAR_0)):
        leave_open("float32 cannot tell which weights of infinities and NaN are 0")
    is_left_out = are_lost & (magnitudes == 0)
    return xp.where(is_left_out, xp.zeros_like(elements), elements)


# ── Resize ────────────────────────────────────────────────────────────────────────────────────

RESIZE = operator("Resize")
POLICIES = ("stretch", "not_larger", "not_smaller")
#: How many elements on either side a kernel takes.
REACH = {"nearest": 0, "linear": 1, "cubic": 2}


@dataclass(frozen=True)
class Interpolation:
    """The attributes that say how an axis is resized; the last two are what mutants do otherwise.

    Attributes:
        normalize: Divides the weights of each average by their sum, where that may not be 1.
        least_stretch: The least factor by which antialias makes a kernel wider.
    """

    mode: str
    coordinate_transformation_mode: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: bool
    antialias: bool
    normalize: Callable[[Array], Array] = normalized
    least_stretch: int = 1

    def coordinates(self, axis: Axis) -> Coordinates:
        """Return the coordinates along an axis, of all elements of the output.

        Of align_corners the only element lies at the first, the middle or the last place:
        CORNERS_OF_ONE_ELEMENT.
        """
        return coordinates_along(axis, self.coordinate_transformation_mode)

    def neighbors(self, axis: Axis) -> Neighbors:
        """Return the nearest elements along an axis, by `nearest_mode`.

        Of align_corners the only element lies at the first, the middle or the last place:
        CORNERS_OF_ONE_ELEMENT.
        """
        return self.coordinates(axis).neighbors(NEAREST_MODES[self.nearest_mode])

    def stretch(self, axis: Axis) -> float:
        """Return the factor by which a kernel is wider: max(1, 1 / scale) with antialias.

        It is 1 without, and for an empty output. `least_stretch` takes the place of the 1 in max.
        """
        if not self.antialias or not axis.length_resized:
            return 1.0
        return float(max(Fraction(self.least_stretch), 1 / axis.scale))

    def reach(self, axis: Axis) -> int:
        """Return how many elements on either side of a coordinate may count; 0 for mode nearest."""
        return ceil(REACH[self.mode] * self.stretch(axis))

    def filter(self, axis: Axis) -> Filter:
        """Return the weights of averages along an axis, in mode linear or cubic."""
        return Filter(
            kernel=linear if self.mode == "linear" else partial(cubic, self.cubic_coeff_a),
            reach=self.reach(axis),
            stretch=self.stretch(axis),
            excludes_outside=self.exclude_outside,
            normalize=self.normalize,
        )


def has_the_same_answer(interpolation: Interpolation, axis: Axis, rescaled: Axis) -> bool:
    """Return True if an axis, and the same with another scale, surely give the same output.

    In mode nearest, the nearest elements are the same; in others the coordinates, and the stretch
    of averages; with tf_crop_and_resize also what is outside of the input. Of align_corners the
    only element lies at the first, the middle or the last place: CORNERS_OF_ONE_ELEMENT.
    """
    coordinates = interpolation.coordinates(axis)
    others = interpolation.coordinates(rescaled)
    crops = interpolation.coordinate_transformation_mode == "tf_crop_and_resize"
    if crops and not np.array_equal(coordinates.is_outside(), others.is_outside()):
        return False
    if interpolation.mode == "nearest":
        return interpolation.neighbors(axis).equal(interpolation.neighbors(rescaled))
    same_places = np.array_equal(coordinates.x_original, others.x_original)
    return same_places and interpolation.stretch(axis) == interpolation.stretch(rescaled)


def with_the_scale_that_counts(interpolation: Interpolation, axis: Axis) -> Axis:
    """Return the axis with its scale as given, or that of its lengths: CUT_OFF_LENGTH.

    Where both have the same answer, nothing is open; nor for an empty output or one that copies the
    input. With the scale of the lengths, output_width of half_pixel_symmetric stays the fraction,
    or is the whole number too: CUT_OFF_WIDTH. Of align_corners CORNERS_OF_ONE_ELEMENT says where an
    only element lies.
    """
    if not axis.length_resized or interpolation.coordinates(axis).copy_the_input:
        return axis
    of_lengths = by_lengths(axis)
    if has_the_same_answer(interpolation, axis, of_lengths):
        return axis
    if CUT_OFF_LENGTH.reading() == "as_given":
        return axis
    has_width = interpolation.coordinate_transformation_mode == "half_pixel_symmetric"
    if has_width and CUT_OFF_WIDTH.reading() == "fraction":
        return replace(of_lengths, output_width=axis.output_width)
    return of_lengths


def resized_along(
    X: Array, number: int, axis: Axis, interpolation: Interpolation, terms: int
) -> Array:
    """Return X with axis `number` resized, to axis.length_resized elements.

    X itself is returned where nothing changes; averages of a plain X are float64. `terms` is for
    their error bound: how many elements averages along all axes together add up. Where float32
    cannot tell which of two elements is the nearest, either may be: for X of other than real
    numbers NEARER_NEIGHBOR says which. Of align_corners the only element of an output lies at the
    first, the middle or the last place: CORNERS_OF_ONE_ELEMENT.

    Where it averages, raises NotSupported unless X has real floating numbers; for a judge, also
    where rounding decides if the weight of an infinity or NaN is 0. Next to these an average may be
    NaN: WEIGHT_0_OF_NO_NUMBER.
    """
    coordinates = interpolation.coordinates(axis)
    if coordinates.copy_the_input:
        return X
    if interpolation.mode == "nearest":
        return nearest_elements(X, number, interpolation.neighbors(axis))
    return averages(X, number, coordinates, interpolation.filter(axis), terms)


def is_extrapolated(axis: Axis) -> NDArray[np.bool_]:
    """Return a mask of coordinates that are "outside the range [0, length_original - 1]".

    They are those of tf_crop_and_resize. One that is so near to an end that float32 cannot tell may
    be inside or outside: EDGE_OF_A_PART.
    """
    coordinates = coordinates_along(axis, "tf_crop_and_resize")
    is_outside = coordinates.is_outside()
    is_sure = coordinates.is_inside() | coordinates.is_outside(coordinates.error)
    if coordinates.are_exact or is_sure.all():
        return is_outside
    if EDGE_OF_A_PART.reading() == "the_other":
        return np.where(is_sure, is_outside, ~is_outside)
    return is_outside


def extrapolated(Y: Array, axes: Sequence[Axis], extrapolation_value: float) -> Array:
    """Return Y with a value wherever a coordinate is outside of the input along any axis.

    Where float32 cannot tell what is outside, either is right: EDGE_OF_A_PART. Raises NotSupported
    if there is such a place and Y has no real floating numbers.
    """
    for number, axis in enumerate(axes):
        mask = is_extrapolated(axis)
        if mask.any():
            if not is_real(Y):
                raise_unspecified("an extrapolation that is no real number")
            mask = mask.reshape(-1, *[1] * (Y.ndim - number - 1))
            Y = xp.where(mask, xp.full_like(Y, extrapolation_value), Y)
    return Y


def resized_axes(
    X: Array, axes: Sequence[int], roi: Array, scales: Array, sizes: Array, policy: str
) -> list[Axis]:
    """Return all axes of X; "Non-specified dimensions are interpreted as non-resizable".

    `scales` or `sizes` is None, and each has a number for each of `axes`, which may count from the
    back. `roi` of None is the whole; `policy` is for sizes. By scales a part is scaled alone or its
    whole axis, SCALED_PART, exactly or in float32, SIZE_IN_FLOAT32.

    Raises InvalidNode for an axis out of range, a `roi` of another shape than [2 * n], another
    number of scales or sizes, a scale that is not above 0, a negative size; MemoryError for an
    infinite scale. Raises NotSupported for a `roi` that is not finite, or with scales ends before
    it starts, for sizes of or from 0 elements, and for a judge if an axis is repeated.
    """
    all_axes = [unchanged_axis(length) for length in X.shape]
    numbers = [from_either_end(axis, X.ndim) for axis in axes]
    if len({*numbers}) < len(numbers):
        leave_open("undefined if an axis is repeated")
    parts = parts_of(roi, len(numbers))
    lengths = [X.shape[number] for number in numbers]
    if sizes is None:
        resized = axes_by_scales(lengths, parts, scales)
    else:
        resized = axes_by_sizes(lengths, parts, sizes, policy)
    for number, axis in zip(numbers, resized, strict=True):
        all_axes[number] = axis
    return all_axes


def as_stated(interpolation: Interpolation) -> Interpolation:
    """Return the attributes as they are."""
    return interpolation


def as_sized(axis: Axis, last: Axis) -> Axis:
    """Return the axis as it is."""
    return axis


@dataclass(frozen=True)
class Resizing:
    """Resize; its fields are what mutants do otherwise.

    Attributes:
        interpolation: What is made of the attributes.
        axis: What is made of each axis, from it and from the last one.
        extrapolate: Replaces what is outside of the input: see `extrapolated`.
    """

    interpolation: Callable[[Interpolation], Interpolation] = as_stated
    axis: Callable[[Axis, Axis], Axis] = as_sized
    extrapolate: Callable[[Array, Sequence[Axis], float], Array] = extrapolated


def scales_or_sizes(since: int, count: int, scales: Array, sizes: Array) -> tuple[Array, Array]:
    """Return scales and sizes as given, but with None for the one that does not count.

    since: the version; count: how many axes are resized. Version 11: "If 'size' is needed, the user
    must set 'scales' to an empty tensor." Later ones leave scales out, and do not say what an empty
    tensor is: left out, or InvalidNode, by EMPTY_SCALES. For no axes at all, empty scales without
    sizes are the scales of all axes.

    Raises InvalidNode if both are given, or none: "One of 'scales' and 'sizes' MUST be specified
    and it is an error if both are specified."
    """
    if scales is not None and not scales.size and (count or sizes is not None):
        is_open = since > 11 and sizes is not None
        if is_open and EMPTY_SCALES.reading() == "refused":
            raise InvalidNode("scales and sizes; allowed: one of them")
        scales = None
    reject((scales is None) == (sizes is None), "allowed: one of scales and sizes, not both")
    return scales, sizes


def resize(
    resizing: Resizing,
    since: int,
    X: Array,
    roi: Array = None,
    scales: Array = None,
    sizes: Array = None,
    *,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    mode: str,
    nearest_mode: str,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> Array:
    """Return Y: X with its axes resized, of any type in mode nearest. Version 11 and later.

    roi: [2 * n], scales and sizes: [n], for n axes: those named, or all. `roi` takes effect with
    tf_crop_and_resize alone. An attribute that is valid only in another mode changes nothing.
    resizing: the steps, which mutants change; since: the version whose text decides. Rulings
    decide: on sizes, SIZE_IN_FLOAT32, SCALED_PART; if the scale is the one given or that of cut-off
    lengths, CUT_OFF_LENGTH, CUT_OFF_WIDTH; on an only element, CORNERS_OF_ONE_ELEMENT; on the
    nearest, NEARER_NEIGHBOR; on what is outside of a part, EDGE_OF_A_PART; on averages next to
    infinities and NaN, WEIGHT_0_OF_NO_NUMBER.

    Raises InvalidNode for a value that an attribute does not have (a flag other than 0 and 1 if
    FLAG_OF_ANOTHER_NUMBER refuses it); for scales and sizes, or neither (EMPTY_SCALES: an empty one
    next to sizes); for no `roi` where it takes effect; for an axis out of range, a tensor of
    another length, a scale not above 0, a negative size.

    Raises NotSupported for averages of other than real floating numbers, sizes of or from 0
    elements, a part that is not finite or ends before it starts, an extrapolation of no real
    numbers, and more axes than NumPy has; for a judge, also for a repeated axis, and where rounding
    decides if an infinity or NaN has the weight 0. Raises MemoryError for an output that is too
    large.
    """
    transformations = [name for name, one in TRANSFORMATIONS.items() if since in one.versions]
    check_one_of("mode", mode, "nearest", "linear", "cubic")
    check_one_of("nearest_mode", nearest_mode, *NEAREST_MODES)
    check_one_of("coordinate_transformation_mode", coordinate_transformation_mode, *transformations)
    check_one_of("keep_aspect_ratio_policy", keep_aspect_ratio_policy, *POLICIES)
    axes = range(X.ndim) if axes is None else axes
    scales, sizes = scales_or_sizes(since, len(axes), scales, sizes)
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    reject(crops and roi is None, "no roi; allowed: a roi where it takes effect")
    interpolation = resizing.interpolation(
        Interpolation(
            mode=mode,
            coordinate_transformation_mode=coordinate_transformation_mode,
            nearest_mode=nearest_mode,
            cubic_coeff_a=cubic_coeff_a,
            exclude_outside=flag("exclude_outside", exclude_outside),
            antialias=flag("antialias", antialias),
        )
    )
    part = roi if crops else None
    of_X = resized_axes(X, axes, part, scales, sizes, keep_aspect_ratio_policy)
    of_X = [resizing.axis(axis, of_X[-1]) for axis in of_X]
    check_size([axis.length_resized for axis in of_X])
    of_X = [with_the_scale_that_counts(interpolation, axis) for axis in of_X]
    Y = X
    terms = prod(
        2 * interpolation.reach(axis)
        for axis in of_X
        if not interpolation.coordinates(axis).copy_the_input
    )
    for number, axis in enumerate(of_X):
        Y = resized_along(Y, number, axis, interpolation, terms)
    if is_real(X):
        Y = xp.astype(Y, X.dtype)
    return resizing.extrapolate(Y, of_X, extrapolation_value) if crops else Y


def resize_10(resizing: Resizing, X: Array, scales: Array, *, mode: str) -> Array:
    """Return Y of version 10, which is Upsample with scales below 1.

    scales: [r]. In mode nearest a whole scale repeats elements. Otherwise places are by corners,
    centers or aligned corners, UNSTATED_PLACES (of an only element: CORNERS_OF_ONE_ELEMENT); of two
    nearest elements either counts, UNSTATED_ROUNDING, NEARER_NEIGHBOR; next to infinities and NaN
    an average may be NaN, WEIGHT_0_OF_NO_NUMBER. Sizes are cut off from exact products or those of
    float32: SIZE_IN_FLOAT32. `resizing` is not used.

    Raises InvalidNode for a mode other than nearest and linear, and unless `scales` has a number
    above 0 for each axis; MemoryError for an output that is too large. In mode linear raises
    NotSupported for other than real floating numbers; for a judge, also where rounding decides if
    an infinity or NaN has the weight 0.
    """
    check_one_of("mode", mode, "nearest", "linear")
    return upsampled(X, checked_scales(scales, X.ndim, _LEAST_SCALE), mode)


def resize_versions(resizing: Resizing) -> Mapping[int, Formula]:
    """Return the formula of each version of Resize, by the opset since which it is in force.

    resizing: the steps, which mutants change. Before version 18 a formula does not take the
    attributes that came with it.
    """
    formulas: dict[int, Formula] = {}
    for since, schema in opset.versions("", "Resize").items():
        if since == 10:
            formulas[since] = partial(resize_10, resizing)
        else:
            formula = partial(resize, resizing, since)
            formulas[since] = with_parameters(formula, schema, schema.attributes)
    return formulas


RESIZE.formula(build=resize_versions)(Resizing())


# Mutants of Resize.


def renamed(old: str, new: str, interpolation: Interpolation) -> Interpolation:
    """Mutant: the mode, transformation or nearest mode `old` is taken for `new`."""
    names = ("mode", "coordinate_transformation_mode", "nearest_mode")
    changed: dict[str, Any] = {n: new for n in names if getattr(interpolation, n) == old}
    return replace(interpolation, **changed)


def as_they_are(weights: Array) -> Array:
    """Mutant: weights are not divided by their sum."""
    return weights


def not_normalized(interpolation: Interpolation) -> Interpolation:
    """Mutant: weights are not divided by their sum."""
    return replace(interpolation, normalize=as_they_are)


def zeros_outside(interpolation: Interpolation) -> Interpolation:
    """Mutant: elements outside of the input are 0."""
    if interpolation.exclude_outside:
        return interpolation
    return replace(interpolation, exclude_outside=True, normalize=as_they_are)


def narrowed(interpolation: Interpolation) -> Interpolation:
    """Mutant: an antialiasing filter becomes narrower where it scales up."""
    return replace(interpolation, least_stretch=0)


def rounded_up(axis: Axis, last: Axis) -> Axis:
    """Mutant: sizes are rounded up."""
    return replace(axis, length_resized=ceil(axis.output_width))


def rounded_to_even(axis: Axis, last: Axis) -> Axis:
    """Mutant: sizes are rounded to the nearest whole number, and halves to an even one."""
    return replace(axis, length_resized=round(axis.output_width))


def parts_not_counted(axis: Axis, last: Axis) -> Axis:
    """Mutant: sizes do not depend on the part of the input."""
    return replace(axis, length_resized=floor(axis.length_original * axis.scale))


def last_part_for_all(axis: Axis, last: Axis) -> Axis:
    """Mutant: all axes have the part of the last."""
    return replace(axis, start_x=last.start_x, end_x=last.end_x)


def not_extrapolated(Y: Array, axes: Sequence[Axis], extrapolation_value: float) -> Array:
    """Mutant: edges go on outside of the input."""
    return Y


#: Pairs of values of attributes of which the first is taken for the second.
CONFUSED = (
    ("half_pixel", "asymmetric"),
    ("half_pixel_symmetric", "half_pixel"),
    ("pytorch_half_pixel", "half_pixel"),
    ("align_corners", "asymmetric"),
    ("cubic", "linear"),
    ("round_prefer_floor", "round_prefer_ceil"),
    ("round_prefer_floor", "floor"),
)
RESIZE_MUTANTS: NamedMutants[Resizing] = {
    **{
        f"{old}_is_{new}": (f"{old} was {new}", Resizing(partial(renamed, old, new)))
        for old, new in CONFUSED
    },
    "not_normalized": ("weights were not divided by their sum", Resizing(not_normalized)),
    "zeros_outside": ("what is outside was 0", Resizing(zeros_outside)),
    "narrowed": ("a filter was narrowed where it scales up", Resizing(narrowed)),
    "rounded_up": ("sizes were rounded up", Resizing(axis=rounded_up)),
    "rounded_to_even": (
        "halves of sizes were rounded to even, and others to the nearest",
        Resizing(axis=rounded_to_even),
    ),
    "parts_not_counted": (
        "a size did not depend on the part of the input",
        Resizing(axis=parts_not_counted),
    ),
    "last_part_for_all": (
        "all axes had the part of the last",
        Resizing(axis=last_part_for_all),
    ),
    "not_extrapolated": (
        "edges went on outside of a part",
        Resizing(extrapolate=not_extrapolated),
    ),
}
RESIZE.mutant_table(RESIZE_MUTANTS, build=resize_versions)


# ── Upsample, and Resize-10 ───────────────────────────────────────────────────────────────────
#
# No sentence says where the elements of the output lie. A whole scale repeats elements, as the
# example of version 1 has it.

UPSAMPLE = operator("Upsample")
#: The transformation of each reading of UNSTATED_PLACES.
PLACES = {
    "corners": "asymmetric",
    "centers": "half_pixel",
    "aligned_corners": "align_corners",
}


def unstated_coordinates(axis: Axis) -> Coordinates:
    """Return the coordinates by corners, centers or aligned corners, as UNSTATED_PLACES has it.

    Of aligned corners an only element lies at the first, the middle or the last place:
    CORNERS_OF_ONE_ELEMENT.
    """
    reading = UNSTATED_PLACES.reading()
    if reading == "aligned_corners":
        axis = by_lengths(axis)
    return coordinates_along(axis, PLACES[reading])


def unstated_neighbors(axis: Axis) -> Neighbors:
    """Return the nearest elements at coordinates that the text does not state.

    By UNSTATED_PLACES they are those of corners, where x_resized / scale is cut off, of the centers
    of half pixels, or of aligned corners (of an only element: CORNERS_OF_ONE_ELEMENT); of centers
    and aligned corners halves are rounded down or up, UNSTATED_ROUNDING.
    """
    coordinates = unstated_coordinates(axis)
    if UNSTATED_PLACES.reading() == "corners":
        return coordinates.neighbors(np.floor)
    half_down = coordinates.neighbors(round_prefer_floor)
    half_up = coordinates.neighbors(round_prefer_ceil)
    if half_down.equal(half_up):
        return half_down
    return half_down if UNSTATED_ROUNDING.reading() == "round_prefer_floor" else half_up


def nearest_by_scale(axis: Axis) -> Neighbors:
    """Return the nearest elements along an axis, for mode nearest of Upsample and Resize-10.

    A whole scale repeats elements. For another scale the text does not state where elements lie; if
    corners and centers give the same ones, these are taken. Otherwise they lie by corners, centers
    or aligned corners, UNSTATED_PLACES (of an only element: CORNERS_OF_ONE_ELEMENT), with halves
    down or up, UNSTATED_ROUNDING. Where float32 cannot tell, `Neighbors` has both.
    """
    corners = coordinates_along(axis, "asymmetric")
    if axis.scale.denominator == 1:
        # Element k of the output is element floor(k / scale), however that is computed.
        return replace(corners, are_exact=True).neighbors(np.floor)
    by_corners = corners.neighbors(np.floor)
    centers = coordinates_along(axis, "half_pixel")
    by_centers = (
        centers.neighbors(round_prefer_floor).nearest,
        centers.neighbors(round_prefer_ceil).nearest,
    )
    if all(np.array_equal(by_corners.nearest, indices) for indices in by_centers):
        return by_corners
    return unstated_neighbors(axis)


def upsampled_along(X: Array, number: int, axis: Axis, mode: str) -> Array:
    """Return X with axis `number` scaled; the element of an axis of one is repeated in any mode.

    X itself is returned where nothing changes; averages of a plain X are float64. In mode nearest a
    whole scale repeats elements. Otherwise places are by corners, centers or aligned corners,
    UNSTATED_PLACES (of an only element: CORNERS_OF_ONE_ELEMENT); of two nearest elements either
    counts, UNSTATED_ROUNDING, NEARER_NEIGHBOR; next to infinities and NaN an average may be NaN,
    WEIGHT_0_OF_NO_NUMBER. Where it averages, raises NotSupported for other than real floating
    numbers; for a judge, also where rounding decides if an infinity or NaN has the weight 0.
    """
    if coordinates_along(axis, "asymmetric").copy_the_input:
        return X
    if mode == "nearest":
        return nearest_elements(X, number, nearest_by_scale(axis))
    if axis.length_original <= 1:
        return xp.take(X, np.zeros(axis.length_resized, np.int64), axis=number)
    coordinates = unstated_coordinates(axis)
    # Along each axis an average is of two elements.
    return averages(X, number, coordinates, Filter(linear, reach=1), terms=2**X.ndim)


def upsampled(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Return X with all axes scaled: output_dimension = floor(input_dimension * scale).

    `scales` has a finite number above 0 for each axis. "linear (including bilinear, trilinear,
    etc)": such a name is linear, or raises InvalidNode, by NAMES_OF_LINEAR. In mode nearest a whole
    scale repeats elements. Otherwise places are by corners, centers or aligned corners,
    UNSTATED_PLACES (of an only element: CORNERS_OF_ONE_ELEMENT); of two nearest elements either
    counts, UNSTATED_ROUNDING, NEARER_NEIGHBOR; next to infinities and NaN an average may be NaN,
    WEIGHT_0_OF_NO_NUMBER. Sizes are cut off from exact products or those of float32:
    SIZE_IN_FLOAT32.

    Raises InvalidNode for another mode, MemoryError for an output that is too large. Unless `mode`
    is nearest, raises NotSupported for other than real floating numbers; for a judge, also where
    rounding decides if an infinity or NaN has the weight 0.
    """
    if mode in ("bilinear", "trilinear"):
        reject(NAMES_OF_LINEAR.reading() == "refused", f"mode {mode!r}")
    else:
        check_one_of("mode", mode, "nearest", "linear")
    axes = [scaled_axis(length, scale) for length, scale in zip(X.shape, scales, strict=True)]
    check_size([axis.length_resized for axis in axes])
    Y = X
    for number, axis in enumerate(axes):
        Y = upsampled_along(Y, number, axis, mode)
    return xp.astype(Y, X.dtype) if is_real(X) else Y


@dataclass(frozen=True)
class Upsampling:
    """Upsample; its fields are what mutants do otherwise.

    Attributes:
        upsample: Returns the output, from X, the scales and the mode.
        least_scale: "It takes value greater than or equal to 1."
    """

    upsample: Callable[[Array, Sequence[float], str], Array] = upsampled
    least_scale: float = 1.0


def upsample_1(
    upsampling: Upsampling, X: Array, *, mode: str, height_scale: float, width_scale: float
) -> Array:
    """Return Y of version 1: X is [N, C, H, W], and mode nearest or bilinear.

    In mode nearest a whole scale repeats elements. Otherwise places are by corners, centers or
    aligned corners, UNSTATED_PLACES; of two nearest elements either counts, UNSTATED_ROUNDING,
    NEARER_NEIGHBOR; next to infinities and NaN an average may be NaN, WEIGHT_0_OF_NO_NUMBER. Sizes
    are exact or as float32 cuts them off, SIZE_IN_FLOAT32. upsampling: the steps, which mutants
    change.

    Raises InvalidNode for another rank or mode, or a scale below 1 or NaN; MemoryError for an
    output that is too large. In mode bilinear raises NotSupported for other than real floating
    numbers; for a judge, also where rounding decides if an infinity or NaN has the weight 0.
    """
    is_wrong = X.ndim != 4 or mode not in ("nearest", "bilinear")
    reject(is_wrong, f"rank {X.ndim}, mode {mode!r}")
    scales = [1, 1, height_scale, width_scale]
    return upsample_7(upsampling, X, mode=mode.removeprefix("bi"), scales=scales)


def upsample_7(upsampling: Upsampling, X: Array, *, mode: str, scales: Sequence[float]) -> Array:
    """Return Y of version 7: scales are an attribute, one for each axis of X.

    In mode nearest a whole scale repeats elements. Otherwise places are by corners, centers or
    aligned corners, UNSTATED_PLACES; of two nearest elements either counts, UNSTATED_ROUNDING,
    NEARER_NEIGHBOR; next to infinities and NaN an average may be NaN, WEIGHT_0_OF_NO_NUMBER. Sizes
    are exact or as float32 cuts them off, SIZE_IN_FLOAT32. upsampling: the steps, which mutants
    change.

    Raises InvalidNode for another number of them, one below 1 or NaN, and a mode other than nearest
    and linear (NAMES_OF_LINEAR: bilinear and trilinear); MemoryError for an output that is too
    large. In mode linear raises NotSupported for other than real floating numbers; for a judge,
    also where rounding decides if an infinity or NaN has the weight 0.
    """
    return upsample_9(upsampling, X, np.array(scales, np.float32), mode=mode)


def upsample_9(upsampling: Upsampling, X: Array, scales: Array, *, mode: str) -> Array:
    """Return Y of version 9: scales are an input, [r] for X of rank r.

    In mode nearest a whole scale repeats elements. Otherwise places are by corners, centers or
    aligned corners, UNSTATED_PLACES; of two nearest elements either counts, UNSTATED_ROUNDING,
    NEARER_NEIGHBOR; next to infinities and NaN an average may be NaN, WEIGHT_0_OF_NO_NUMBER. Sizes
    are exact or as float32 cuts them off, SIZE_IN_FLOAT32. upsampling: the steps, which mutants
    change.

    Raises InvalidNode for another shape of them, one below 1 or NaN, and a mode other than nearest
    and linear (NAMES_OF_LINEAR: bilinear and trilinear); MemoryError for an output that is too
    large. In mode linear raises NotSupported for other than real floating numbers; for a judge,
    also where rounding decides if an infinity or NaN has the weight 0.
    """
    return upsampling.upsample(X, checked_scales(scales, X.ndim, upsampling.least_scale), mode)


def upsample_versions(upsampling: Upsampling) -> Mapping[int, Formula]:
    """Return the formulas of Upsample, by the opset since which each is in force.

    There is none of version 10, which is deprecated: no model may have it. upsampling: the steps,
    which mutants change.
    """
    return {
        1: partial(upsample_1, upsampling),
        7: partial(upsample_7, upsampling),
        9: partial(upsample_9, upsampling),
    }


UPSAMPLE.formula(build=upsample_versions)(Upsampling())


# Mutants of Upsample.


def scales_reversed(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Mutant: scales are of the last axis to the first.

    Raises InvalidNode for a mode that ONNX does not have or NAMES_OF_LINEAR refuses, MemoryError
    for an output that is too large; unless `mode` is nearest, NotSupported for other than real
    floating numbers, while judging also where rounding decides if one that is not finite counts.
    """
    return upsampled(X, scales[::-1], mode)


def last_scale_for_all(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Mutant: the last two axes have the last scale.

    Raises InvalidNode for a mode that ONNX does not have or NAMES_OF_LINEAR refuses, MemoryError
    for an output that is too large; unless `mode` is nearest, NotSupported for other than real
    floating numbers, while judging also where rounding decides if one that is not finite counts.
    """
    last = [scales[-1] for _ in scales[-2:]]
    return upsampled(X, [*scales[:-2], *last], mode)


def last_two_alone(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Mutant: the last two axes alone are scaled.

    Raises InvalidNode for a mode that ONNX does not have or NAMES_OF_LINEAR refuses, MemoryError
    for an output that is too large; unless `mode` is nearest, NotSupported for other than real
    floating numbers, while judging also where rounding decides if one that is not finite counts.
    """
    others = [1.0 for _ in scales[:-2]]
    return upsampled(X, [*others, *scales[-2:]], mode)


def scales_rounded(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Mutant: scales are rounded to whole numbers.

    Raises InvalidNode for a mode that ONNX does not have or NAMES_OF_LINEAR refuses, MemoryError
    for an output that is too large; unless `mode` is nearest, NotSupported for other than real
    floating numbers, while judging also where rounding decides if one that is not finite counts.
    """
    return upsampled(X, [round(scale) for scale in scales], mode)


def tiled(X: Array, scales: Sequence[float], mode: str) -> Array:
    """Mutant: the input is repeated as a whole."""
    return xp.tile(X, [int(scale) for scale in scales])


UPSAMPLE_MUTANTS: NamedMutants[Upsampling] = {
    "scales_reversed": (
        "scales came from the last axis to the first",
        Upsampling(scales_reversed),
    ),
    "last_scale_for_all": (
        "the last two axes had the last scale",
        Upsampling(last_scale_for_all),
    ),
    "last_two_alone": ("the last two axes alone were scaled", Upsampling(last_two_alone)),
    "scales_rounded": ("scales were rounded to whole numbers", Upsampling(scales_rounded)),
    "tiled": ("the input was repeated as a whole", Upsampling(tiled)),
}
UPSAMPLE.mutant_table(UPSAMPLE_MUTANTS, build=upsample_versions)
UPSAMPLE.mutant(
    "scales below 1 were accepted",
    build=upsample_versions,
    name="scaled_down",
    of_validity=True,
)(Upsampling(least_scale=_LEAST_SCALE))
