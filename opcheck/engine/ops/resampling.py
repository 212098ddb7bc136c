"""Values beside and between elements of the input, along one axis after the other, and grids.

Coordinates follow from the scales as they are given. Implementations compute them in float32: where
that cannot tell on which side of a step a coordinate lies, either neighbor is right.
"""

from fractions import Fraction
from functools import partial
from math import ceil, floor, prod
from typing import Any, NamedTuple

import numpy as np

from opcheck import numbers as xp, opset
from opcheck.engine import operators
from opcheck.engine.axes import check_size, from_either_end, listed
from opcheck.engine.operators import check_one_of, leave_open, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, decline, reject

NAMES = """AffineGrid Resize Upsample"""
AFFINE_GRID, RESIZE, UPSAMPLE = map(operators.operator, NAMES.split())

#: How far a term of a coordinate may be off: six roundings, those of a scale made anew among them.
_ROUNDINGS = 6
_OFF = _ROUNDINGS * 2.0**-24
#: Which element is meant, from coordinates.
NEAREST = {
    "round_prefer_floor": lambda c: np.ceil(c - 0.5),
    "round_prefer_ceil": lambda c: np.floor(c + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
PART_OR_WHOLE = Ruling(
    "scaled-part",
    "The formula scales a part alone, and ONNX's shape inference its axis as a whole.",
    ("part_scaled", "axis_scaled"),
)
POLICIES = ("stretch", "not_larger", "not_smaller")


class Axis(NamedTuple):
    """An axis: its lengths before, after and uncut, the scale as given, and what part counts."""

    length: int
    size: int
    scale: Fraction
    width: Fraction
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)


#: The terms whose sum is the coordinate in the input of one in the output, and by what the latter
#: is multiplied or divided.
TRANSFORMS = {
    "half_pixel": lambda a, x, s: ((x + 0.5) / s, -0.5),
    "asymmetric": lambda a, x, s: (x / s,),
    "align_corners": lambda a, x, s: (x * float(_between_corners(a)),),
    "pytorch_half_pixel": lambda a, x, s: ((x + 0.5) / s, -0.5) if a.size > 1 else (0 * x,),
    "half_pixel_symmetric": lambda a, x, s: (
        a.length / 2 * float(1 - a.size / a.width),
        (x + 0.5) / s,
        -0.5,
    ),
    "tf_half_pixel_for_nn": lambda a, x, s: ((x + 0.5) / s,),
    "tf_crop_and_resize": lambda a, x, s: (
        (float(a.start * (a.length - 1)), x * float(_between_corners(a) * (a.end - a.start)))
        if a.size > 1
        else (float((a.start + a.end) * (a.length - 1)) / 2 + 0 * x,)
    ),
}


def _between_corners(axis):
    return max(axis.length - 1, 0) / max(axis.width - 1, Fraction(1))


#: How far elements lie apart, where that does not follow from the scale.
STEPS = {
    "align_corners": _between_corners,
    "tf_crop_and_resize": lambda a: _between_corners(a) * (a.end - a.start),
}


class Places(NamedTuple):
    """Coordinates in the input, for each in the output along an axis: the sums of terms.

    If they are `exact`, float32 has them, and everything that they are made of. Otherwise float64
    rounds far less than they may be off.
    """

    axis: Axis
    terms: tuple[Any, ...]
    exact: bool

    @property
    def at(self):
        """The coordinates."""
        return sum(self.terms)

    @property
    def copied(self):
        """True if each element is the one at its place."""
        return np.array_equal(self.at, np.arange(self.axis.length))

    def nearest(self, rule):
        """The least, the right and the greatest index of each."""
        off = 0 if self.exact else _OFF * sum(map(np.abs, self.terms))
        ends = [rule(self.at + way * off) for way in (-1, 0, 1)]
        return np.clip(ends, 0, self.axis.length - 1).astype(np.int64)


def _fits(x):
    """True for a float32 number, and an array of such."""
    return np.array_equal(np.float32(x), np.asarray(x, np.float64))


def places(mode, axis):
    """The coordinates of a transformation."""
    step = STEPS.get(mode, lambda a: 1 / a.scale)(axis)
    x = np.arange(axis.size, dtype=np.float64)
    terms = TRANSFORMS[mode](axis, x, float(axis.scale))
    terms = tuple(np.broadcast_to(term, x.shape) for term in terms)
    exact = step.denominator & (step.denominator - 1) == 0 and _fits(float(step))
    if mode not in STEPS:
        exact = exact and axis.scale.denominator & (axis.scale.denominator - 1) == 0
    return Places(axis, terms, exact and all(map(_fits, (*terms, sum(terms)))))


def is_real(X):
    return X.dtype.kind in "fV"


def chosen(X, axis, at, rule):
    """The nearest element along an axis; either of two where float32 cannot tell."""
    low, own, high = at.nearest(rule)
    if (low == high).all():
        return xp.take(X, own, axis=axis)
    if not is_real(X):
        leave_open("float32 cannot tell which neighbor is nearer")
        return xp.take(X, own, axis=axis)
    is_high = either(low, own, high, (-1, *[1] * (X.ndim - axis - 1)))
    return xp.where(is_high, *(xp.take(X, end, axis=axis) for end in (high, low)))


def either(low, own, high, shape):
    """True where an index is the greatest, and unsure where it may be the least as well."""
    up = np.where(own == high, 1.0, -1.0) * np.where(low == high, 1.0, 1e-30)
    one = xp.astype(np.ones(()), np.float64)
    return xp.greater(xp.inexact(one, 1) - 1.0 + up.reshape(shape), 0.0)


def linear(distance):
    return xp.maximum(1.0 - distance, 0.0)


def cubic(a, d):
    """The kernel of Keys with the coefficient `a`, which goes on smoothly where its parts meet."""
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((d - 5) * d + 8) * d * a - 4 * a
    return xp.where(xp.less(d, 1), near, xp.where(xp.less(d, 2), far, xp.zeros_like(d)))


def normal(weights):
    return weights / xp.sum(weights, axis=1, keepdims=True)


def averaged(X, axis, at, kernel, reach, terms, stretch=1.0, inside=False, normal=normal):
    """A weighted average of the elements around each place along an axis; edges go on outside.

    The kernel, stretched, ends at `reach`, and over all axes adds up so many terms. Only elements
    `inside` may count.
    """
    index = np.floor(at.at).astype(np.int64)[:, None] + np.arange(-reach, reach + 2)
    # What is computed in float32 also of float64 tensors rounds so often in units of theirs.
    wide = 2.0**29 if X.dtype == np.float64 else 1.0
    of_float32 = partial(xp.inexact, roundoffs=_ROUNDINGS * wide)
    lift = partial(xp.astype, dtype=np.float64)
    place: Any = lift(at.at)
    if not at.exact:
        place = sum(of_float32(lift(np.array(term))) for term in at.terms)
    weights = kernel(xp.abs(xp.reshape(place, (-1, 1)) - index.astype(np.float64)) / stretch)
    if inside:
        weights = weights * ((index >= 0) & (index < at.axis.length)).astype(np.float64)
    if inside or stretch != 1:
        weights = normal(weights)
    if wide > 1:
        weights = weights + (of_float32(lift(np.ones(()))) - 1.0)
    under = xp.take(X, np.clip(index, 0, at.axis.length - 1).reshape(-1), axis=axis)
    shape = (*X.shape[:axis], *index.shape, *X.shape[axis + 1 :])
    weights = xp.reshape(weights, (*index.shape, *[1] * (X.ndim - axis - 1)))
    return xp.sums(xp.reshape(under, shape) * weights, partial(np.sum, axis=axis + 1), terms)


def axis_of(length, scale, part=Fraction(1)):
    """An axis of a length, or a part of it, times a scale, cut off."""
    exact = Fraction(scale) * length * part
    if floor(exact) != np.floor(np.float32(length) * np.float32(part) * np.float32(scale)):
        leave_open("float32 cannot tell a size from the next")
    return Axis(length, floor(exact), Fraction(scale), exact)


def checked_scales(scales, rank, least):
    """Scales as numbers; InvalidNode unless there is one for each axis, from `least` on."""
    values = xp.values_of(scales)
    if values.shape != (rank,) or not (values >= least).all():
        raise InvalidNode(f"scales {values.tolist()} for {rank} axes; allowed: from {least:g} on")
    if np.isinf(values).any():
        raise MemoryError("an infinite output")
    return [float(one) for one in values]


def upsampled(X, scales, mode):
    """Upsample, which does not say where its elements lie: it is decided where all readings agree.

    A whole scale repeats elements, as the example has it.
    """
    if mode in ("bilinear", "trilinear"):
        leave_open("linear includes bilinear, but it is not said that this is a mode's name")
    else:
        check_one_of("mode", mode, "nearest", "linear")
    axes = [axis_of(*both) for both in zip(X.shape, scales, strict=True)]
    check_size([axis.size for axis in axes])
    y = X
    for number, axis in enumerate(axes):
        first, half = (places(name, axis) for name in ("asymmetric", "half_pixel"))
        if first.copied:
            continue
        if mode == "nearest":
            whole = axis.scale.denominator == 1
            first = first._replace(exact=first.exact or whole)
            ways = [half.nearest(NEAREST[f"round_prefer_{way}"])[1] for way in ("floor", "ceil")]
            if not whole and any((first.nearest(np.floor) != way).any() for way in ways):
                leave_open("it is not said where elements lie")
            y = chosen(y, number, first, np.floor)
        elif axis.length <= 1:
            y = xp.take(y, np.zeros(axis.size, np.int64), axis=number)
        else:
            leave_open("it is not said where elements lie")
            decline(not is_real(X), "averages are of real numbers")
            y = averaged(y, number, first, linear, 1, 2**X.ndim)
    return xp.astype(y, X.dtype) if is_real(X) else y


class Way(NamedTuple):
    """The attributes by which Resize makes an axis of another."""

    mode: str
    transform: str
    nearest: str
    a: float
    inside: bool
    antialias: bool
    normal: Any = normal
    narrowest: int = 1

    def stretch(self, axis):
        """The factor by which a kernel is made wider."""
        return float(max(self.narrowest, 1 / axis.scale)) if self.antialias and axis.size else 1.0

    def reach(self, axis):
        """The number of elements that a kernel takes on either side of a place."""
        return ceil({"linear": 1, "cubic": 2}.get(self.mode, 0) * self.stretch(axis))


def by_lengths(axis):
    """The axis with the scale of its lengths in place of the scale as it is given."""
    return axis._replace(scale=Fraction(axis.size, axis.length), width=Fraction(axis.size))


def along(X, number, axis, way, terms):
    """X with an axis resized, by averages of so many terms over all axes."""
    at = places(way.transform, axis)
    if at.copied:
        return X
    if not axis.length:
        raise_unspecified("what is between no elements")
    if axis.size == 1 and way.transform == "align_corners":
        leave_open("which corners one element has")
    # It is not said whether the scale is that of the lengths, or as it is given.
    lengths = by_lengths(axis)
    other = at if axis.width == axis.size or not axis.size else places(way.transform, lengths)
    if way.mode == "nearest":
        rule = NEAREST[way.nearest]
        if not np.array_equal(at.nearest(rule), other.nearest(rule)):
            leave_open("it is not said which scale counts")
        return chosen(X, number, at, rule)
    if other is not at or way.stretch(lengths) != way.stretch(axis):
        leave_open("it is not said which scale counts")
    if not is_real(X):
        raise_unspecified("averages of what are no real numbers")
    if not np.isfinite(xp.values_of(X)).all():
        leave_open("nothing is said of products of 0 and infinity")
    kernel = linear if way.mode == "linear" else partial(cubic, way.a)
    return averaged(
        X, number, at, kernel, way.reach(axis), terms, way.stretch(axis), way.inside, way.normal
    )


def lost_places(axis):
    """True for each place along an axis whose coordinate is outside of the input."""
    at = places("tf_crop_and_resize", axis)
    off = 0 if at.exact else _OFF * sum(map(np.abs, at.terms))
    last = axis.length - 1
    lost, sure = ((at.at < -way) | (at.at > last + way) for way in (0, off))
    kept = (at.at < off) | (at.at > last - off)
    if not at.exact and (kept & ~sure).any():
        leave_open("float32 cannot tell what is outside")
    return lost


def outside(X, y, axes, value):
    """`y` with a value where a coordinate is outside of the input."""
    for number, axis in enumerate(axes):
        lost = lost_places(axis)
        is_cut_off = axis.width != axis.size and axis.size
        if is_cut_off and not np.array_equal(lost, lost_places(by_lengths(axis))):
            leave_open("it is not said which scale counts")
        if lost.any():
            if not is_real(X):
                raise_unspecified("an extrapolation that is no real number")
            shape = (-1, *[1] * (y.ndim - number - 1))
            y = xp.where(lost.reshape(shape), xp.full_like(y, value), y)
    return y


def sized(X, axes, roi, scales, sizes, policy):
    """The axes of the output; those that are not named stay as they are."""
    found = [axis_of(length, 1) for length in X.shape]
    numbers = [from_either_end(axis, X.ndim) for axis in axes]
    if len({*numbers}) < len(numbers):
        leave_open("undefined if an axis is repeated")
    parts = [(Fraction(0), Fraction(1))] * len(numbers)
    if roi is not None:
        ends = xp.values_of(roi)
        operators.check_shape("roi", ends, (2 * len(numbers),))
        if not np.isfinite(ends).all():
            raise_unspecified("a part without numbers")
        parts = [*zip(*np.vectorize(Fraction, [object])(ends).reshape(2, -1), strict=True)]
    if sizes is None:
        given = checked_scales(scales, len(numbers), 2.0**-149)
        for n, (start, end), scale in zip(numbers, parts, given, strict=True):
            if end < start:
                raise_unspecified("a part that ends before it starts")
            whole = axis_of(found[n].length, scale)
            found[n] = axis_of(found[n].length, scale, end - start)._replace(start=start, end=end)
            if found[n].width != whole.width and PART_OR_WHOLE.reading() == "axis_scaled":
                found[n] = whole._replace(start=start, end=end)
        return found
    wanted = [int(size) for size in sizes.reshape(-1)]
    if sizes.shape != (len(numbers),) or min(wanted, default=0) < 0:
        raise InvalidNode(f"sizes {wanted} for {len(numbers)} axes")
    if 0 in wanted or any(X.shape[n] == 0 for n in numbers):
        raise_unspecified("scales of no element")
    each = [Fraction(size, X.shape[n]) for n, size in zip(numbers, wanted, strict=True)]
    if policy != "stretch" and each:
        each = [min(each) if policy == "not_larger" else max(each)] * len(each)
        exact = [s * X.shape[n] for n, s in zip(numbers, each, strict=True)]
        wanted = [floor(size + Fraction(1, 2)) for size in exact]
    for n, (start, end), size, scale in zip(numbers, parts, wanted, each, strict=True):
        found[n] = Axis(X.shape[n], size, scale, scale * X.shape[n], start, end)
    return found


def of_resize(along, sized=sized, outside=outside):
    """All versions of Resize, from what makes an axis of another."""
    schemas = opset.versions("", "Resize")

    def formula(
        since,
        X,
        roi=None,
        scales=None,
        sizes=None,
        *,
        coordinate_transformation_mode,
        cubic_coeff_a,
        exclude_outside,
        extrapolation_value,
        mode,
        nearest_mode,
        antialias=0,
        axes=None,
        keep_aspect_ratio_policy="stretch",
    ):
        known = {*TRANSFORMS} - {"half_pixel_symmetric" if since < 19 else ""}
        known -= {"tf_half_pixel_for_nn" if since > 11 else ""}
        check_one_of("mode", mode, "nearest", "linear", "cubic")
        check_one_of("nearest_mode", nearest_mode, *NEAREST)
        check_one_of("coordinate_transformation_mode", coordinate_transformation_mode, *known)
        check_one_of("keep_aspect_ratio_policy", keep_aspect_ratio_policy, *POLICIES)
        if scales is not None and not scales.size and (X.ndim or sizes is not None):
            if since > 11:
                leave_open("nothing is said of an empty tensor of scales")
            scales = None
        crops = coordinate_transformation_mode == "tf_crop_and_resize"
        wrong = (scales is None) == (sizes is None) or (crops and roi is None)
        reject(wrong, "allowed: one of scales and sizes, not both, and a roi where it counts")
        axes = range(X.ndim) if axes is None else axes
        found = sized(X, axes, roi if crops else None, scales, sizes, keep_aspect_ratio_policy)
        check_size([axis.size for axis in found])
        way = Way(
            mode,
            coordinate_transformation_mode,
            nearest_mode,
            cubic_coeff_a,
            bool(exclude_outside),
            bool(antialias),
        )
        y, made = X, [axis for axis in found if not places(way.transform, axis).copied]
        terms = prod(2 * way.reach(axis) for axis in made)
        for number, axis in enumerate(found):
            y = along(y, number, axis, way, terms)
        y = xp.astype(y, X.dtype) if is_real(X) else y
        return outside(X, y, found, extrapolation_value) if crops else y

    def first(X, scales, *, mode):
        check_one_of("mode", mode, "nearest", "linear")
        return upsampled(X, checked_scales(scales, X.ndim, 2.0**-149), mode)

    return {10: first} | {
        since: operators.with_parameters(partial(formula, since), schema, schema.attributes)
        for since, schema in schemas.items()
        if since > 10
    }


RESIZE.formula(build=of_resize)(along)
RESIZE.mutant_table(
    {
        f"{old}_is_{new}": (
            f"{old} was {new}",
            lambda way, old=old, new=new: way._replace(
                **{n: new for n in ("mode", "transform", "nearest") if getattr(way, n) == old}
            ),
        )
        for old, new in (
            ("half_pixel", "asymmetric"),
            ("half_pixel_symmetric", "half_pixel"),
            ("pytorch_half_pixel", "half_pixel"),
            ("align_corners", "asymmetric"),
            ("cubic", "linear"),
            ("round_prefer_floor", "round_prefer_ceil"),
            ("round_prefer_floor", "floor"),
        )
    }
    | {
        "not_normalized": (
            "weights were not divided by their sum",
            lambda way: way._replace(normal=lambda weights: weights),
        ),
        "zeros_outside": (
            "what is outside was 0",
            lambda way: (
                way if way.inside else way._replace(inside=True, normal=lambda weights: weights)
            ),
        ),
        "narrowed": (
            "a filter was narrowed where it scales up",
            lambda way: way._replace(narrowest=0),
        ),
    },
    build=lambda change: of_resize(
        lambda X, number, axis, way, terms: along(X, number, axis, change(way), terms)
    ),
)
RESIZE.mutant_table(
    {
        "rounded_up": ("sizes were rounded up", lambda a, _: a._replace(size=ceil(a.width))),
        "rounded_to_even": (
            "halves of sizes were rounded to even, and others to the nearest",
            lambda a, _: a._replace(size=round(a.width)),
        ),
        "parts_not_counted": (
            "a size did not depend on the part of the input",
            lambda a, _: a._replace(size=floor(a.length * a.scale)),
        ),
        "last_part_for_all": (
            "all axes had the part of the last",
            lambda a, last: a._replace(start=last.start, end=last.end),
        ),
    },
    build=lambda changed: of_resize(
        along,
        sized=lambda *given: [changed(axis, axes[-1]) for axes in [sized(*given)] for axis in axes],
    ),
)
RESIZE.mutant(
    "edges went on outside of a part",
    name="not_extrapolated",
    build=lambda outside: of_resize(along, outside=outside),
)(lambda X, y, axes, value: y)


def of_upsampled(function=upsampled, least=1):
    """All versions of Upsample but 10, which is deprecated, and no model may have it."""

    def first(X, *, mode, height_scale, width_scale):
        reject(X.ndim != 4 or mode not in ("nearest", "bilinear"), f"rank {X.ndim}, mode {mode!r}")
        return stated(X, mode=mode.removeprefix("bi"), scales=[1, 1, height_scale, width_scale])

    def stated(X, *, mode, scales):
        return fed(X, np.array(scales, np.float32), mode=mode)

    def fed(X, scales, *, mode):
        return function(X, checked_scales(scales, X.ndim, least), mode)

    return {1: first, 7: stated, 9: fed}


UPSAMPLE.formula(build=of_upsampled)(upsampled)
UPSAMPLE.mutant_table(
    {
        "scales_reversed": ("scales came from the last axis to the first", lambda s: s[::-1]),
        "last_scale_for_all": (
            "the last two axes had the last scale",
            lambda s: [*s[:-2], *s[-1:] * len(s[-2:])],
        ),
        "last_two_alone": (
            "the last two axes alone were scaled",
            lambda s: [1] * len(s[:-2]) + s[-2:],
        ),
        "scales_rounded": ("scales were rounded to whole numbers", lambda s: [*map(round, s)]),
    },
    build=lambda change: of_upsampled(lambda X, scales, mode: upsampled(X, change(scales), mode)),
)
UPSAMPLE.mutant("the input was repeated as a whole", name="tiled", build=of_upsampled)(
    lambda X, scales, mode: xp.tile(X, [*map(int, scales)])
)
UPSAMPLE.mutant(
    "scales below 1 were accepted",
    name="scaled_down",
    of_validity=True,
    build=lambda function: of_upsampled(function, 2.0**-149),
)(upsampled)


# AffineGrid: where an affine matrix takes the centers of a grid's elements.
def in_steps(first, length, corners):
    """Of `length` places from -1 to 1 on, by their numbers."""
    if corners:
        return first * (xp.real(2.0) / max(length - 1, 1)) - 1
    return first * (xp.real(2.0) / max(length, 1)) + (xp.real(1.0) / max(length, 1) - 1)


@operators.formula_builder(20, options=["change"])
def of_places(places, theta, size, *, align_corners, change=lambda *of: of):
    """The formula, from the places along an axis, and a change of the matrix, sizes and axes."""
    stated = listed("size", size)
    n = len(stated) - 2
    if n not in (2, 3) or min(stated) < 0 or theta.shape != (stated[0], n, n + 1):
        raise InvalidNode(f"theta {list(theta.shape)} for size {stated}")
    check_size((stated[0], *stated[2:], n))
    if align_corners not in (0, 1):
        raise_unspecified(f"align_corners {align_corners}")
    if align_corners and 1 in stated[2:]:
        leave_open("which corners one element has")
    if np.isinf(xp.values_of(theta)[..., :-1]).any():
        leave_open("infinity times what may round to 0 is infinite, or no number")
    # The last axis comes first, as x of y, x or of z, y, x.
    theta, lengths, axes = change(theta, stated[2:], [*range(n)][::-1])
    kind = np.float64 if theta.dtype == np.float64 else np.float32
    rows = [xp.astype(np.ones(prod(lengths)), kind)]
    for axis in axes[::-1]:
        number = xp.astype(np.arange(lengths[axis]), kind)
        along = xp.reshape(
            places(number, lengths[axis], align_corners), [-1 if a == axis else 1 for a in range(n)]
        )
        rows.insert(0, xp.reshape(xp.broadcast_to(along, lengths), (-1,)))
    moved = xp.permute_dims(xp.matmul(theta, xp.stack(rows)), (0, 2, 1))
    return xp.astype(xp.reshape(moved, (stated[0], *stated[2:], n)), theta.dtype)


AFFINE_GRID.formula(build=of_places)(in_steps)


@AFFINE_GRID.alternative("", build=of_places)
def scaled(first, length, corners):
    """The places between corners, brought nearer to each other."""
    aligned = in_steps(first, length, True)
    return aligned if corners else aligned * (xp.real(length - 1.0) / max(length, 1))


@AFFINE_GRID.alternative("", build=of_places)
def doubled(first, length, corners):
    """Each place as a whole number, divided once."""
    whole, divisor = (first * 2, length - 1) if corners else (first * 2 + 1, length)
    return whole / max(divisor, 1) - 1


AFFINE_GRID.mutant_table(
    {
        "from_0_to_1": ("the places ran from 0 to 1", lambda *of: (in_steps(*of) + 1) / 2),
        "upside_down": ("the places ran from 1 to -1", lambda *of: -in_steps(*of)),
        "from_the_first_edge": (
            "each place was the edge at which its element begins",
            lambda first, length, corners: first * (2 / max(length, 1)) - 1,
        ),
    },
    build=of_places,
)
AFFINE_GRID.mutant_table(
    {
        "y_before_x": (
            "the first axis came first, as y of y, x",
            lambda theta, lengths, axes: (theta, lengths, axes[::-1]),
        ),
        "height_for_width": (
            "the sizes were read from the last to the first",
            lambda theta, lengths, axes: (theta, lengths[::-1], axes),
        ),
        "translation_first": (
            "the translation was the first column",
            lambda theta, *of: (xp.concat([theta[..., 1:], theta[..., :1]], axis=2), *of),
        ),
        "translation_ignored": (
            "the translation was ignored",
            lambda theta, *of: (xp.concat([theta[..., :-1], theta[..., -1:] * 0], axis=2), *of),
        ),
        "matrix_transposed": (
            "the matrix stood before its translation, transposed",
            lambda theta, *of: (
                xp.concat([xp.permute_dims(theta[..., :-1], (0, 2, 1)), theta[..., -1:]], axis=2),
                *of,
            ),
        ),
        "first_matrix_for_all": (
            "the first matrix served for the whole batch",
            lambda theta, *of: (xp.broadcast_to(theta[:1], theta.shape), *of),
        ),
    },
    build=lambda change: of_places(in_steps, change=change),
)
