"""ReduceSum, ReduceMean, ReduceMax, ReduceL2 and the other reductions over axes, all versions.

Axes are an attribute in the first versions, and an input in later ones. What an operator makes of
the elements along them is a `Reduction`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from math import inf, log, sqrt
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, numbers as xp, opset
from opcheck.engine.axes import from_either_end, listed
from opcheck.engine.integers import check_in_type, marked_in_type
from opcheck.engine.operators import Formula, leave_open, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NEGATIVE_AXIS, flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import reject
from opcheck.grouping import not_none
from opcheck.numbers import Array

NAMES = """ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
ReduceSum ReduceSumSquare"""

#: Makes one element of those along axes: from x, and the keywords `axis`, counted from the front,
#: and `keepdims`, by which these axes are kept with length 1.
Reduction: TypeAlias = Callable[..., Array]
#: Axes counted from the front.
Axes: TypeAlias = tuple[int, ...]

NEGATIVE_AXIS_OF_VERSION_1 = Ruling(
    NEGATIVE_AXIS.id, NEGATIVE_AXIS.text, ("from_the_back", "refused")
)
EMPTY_LIST_OF_AXES = Ruling(
    "empty-list-of-axes",
    "By default all dimensions are reduced. The text does not state what an attribute that is an "
    "empty list means.",
    ("all", "none", "refused"),
)
AXIS_NAMED_TWICE = Ruling(
    "axis-named-twice",
    "The text does not state whether an axis may be named twice.",
    ("once", "refused"),
)
RANGE_OF_THE_SUM = Ruling(
    "range-of-the-sum",
    "A sum of squares or exponentials may leave the range of the type where its root or logarithm "
    "does not. An implementation may scale the terms, or compute as the text has it.",
    ("scaled", "out_of_range"),
)


# ── reductions ────────────────────────────────────────────────────────────────────────────────


def marked_outside(reduction: Reduction) -> Reduction:
    """Return the reduction, a sum or product, whose integers outside of their type may be anything.

    reduction: takes float64 and Python's integers, as arrays of objects, too. The one returned
    raises NotSupported, while judging, if no integer of its result is in the type, and in graphs.
    """

    @wraps(reduction)
    def marked(x: Array, *, axis: Axes, keepdims: bool) -> Array:
        along_axes = partial(reduction, axis=axis, keepdims=keepdims)
        return marked_in_type(along_axes(x), along_axes, x)

    return marked


def checked_in_type(reduction: Reduction, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return what a reduction makes of `x`, where something else is computed of the result.

    Raises NotSupported, while judging, if an integer of it is outside of their type.
    """
    along_axes = partial(reduction, axis=axis, keepdims=keepdims)
    check_in_type(along_axes, x)
    return along_axes(x)


def l1_norm(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the sum of |x| along `axis`: 0 of no values, NaN where one is.

    Plain integers are added up in 64 bits.
    """
    return xp.sum(xp.abs(x), axis=axis, keepdims=keepdims)


def sum_of_squares(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the sum of x * x along `axis`: 0 of no values, NaN where one is.

    Plain integers are added up in 64 bits.
    """
    return xp.sum(x * x, axis=axis, keepdims=keepdims)


def sum_of_elements(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the sum of x along `axis`: 0 of no values, NaN where one is.

    Plain integers are added up in 64 bits.
    """
    return xp.sum(x, axis=axis, keepdims=keepdims)


def product_of_elements(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the product of x along `axis`: 1 of no values, NaN where one is.

    Plain integers are multiplied in 64 bits.
    """
    return xp.prod(x, axis=axis, keepdims=keepdims)


def l2_norm(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the square root of the sum of x * x along `axis`, in the type of `x`; 0 of no values.

    Where a float's root is finite and its squares are not, it is the root or infinity:
    RANGE_OF_THE_SUM. NaN gives NaN. Roots of integers that are no whole numbers may be anything.
    Raises NotSupported, while judging, where a sum of squares leaves their type, if all roots may
    be anything, and in graphs if one may.
    """
    y = xp.sqrt(checked_in_type(sum_of_squares, x, axis=axis, keepdims=keepdims))
    return l2_norm_as_read(x, y)


def l2_norm_by_power(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the sum of x * x along `axis` to the power 0.5, in the type of `x`; 0 of no values.

    The power need not be rounded rightly, as a root is; integers take the root. NaN gives NaN.
    Where a float's root is finite and its squares are not, it is the root or infinity:
    RANGE_OF_THE_SUM. Roots of integers that are no whole numbers may be anything. Raises
    NotSupported, while judging, where a sum of squares leaves their type, if all roots may be
    anything, and in graphs if one may.
    """
    total = checked_in_type(sum_of_squares, x, axis=axis, keepdims=keepdims)
    y = xp.sqrt(total) if is_integer(x) else xp.pow(total, 0.5)
    return l2_norm_as_read(x, y)


def l2_norm_as_read(x: Array, y: Array) -> Array:
    """Return `y`, a norm of `x` in floats, in the type of `x`.

    A float stays, or by the other reading of RANGE_OF_THE_SUM becomes infinite where it is finite
    and its square is not. Of integers `x` elements where y is no whole number may be anything:
    raises NotSupported, while judging, if all may, and in graphs if one may.
    """
    if is_integer(x):
        return as_integers(x, y, y % 1 == 0)
    return as_range_is_read(x, y, -inf, sqrt(largest_of(x)))


def log_sum(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the natural logarithm of the sum along `axis`, in the type of `x`.

    It is −inf of no values and of a sum of 0, and NaN of a sum below 0. Of integers a logarithm
    other than 0 may be anything. Raises NotSupported, while judging, where a sum of integers leaves
    their type, if all logarithms may be anything, and in graphs if one may.
    """
    y = xp.log(checked_in_type(sum_of_elements, x, axis=axis, keepdims=keepdims))
    return as_integers(x, y, y == 0) if is_integer(x) else y


def log_sum_exp(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the natural logarithm of the sum of e^x along `axis`, in the type of `x`.

    It is −inf of no values, and NaN where one is. Where the sum leaves the range of a float and its
    logarithm does not, plain numbers give ±∞, and numbers of a wider range the logarithm, or ±∞:
    RANGE_OF_THE_SUM. Of integers a logarithm other than 0, as computed, may be anything: raises
    NotSupported, while judging, if all may, and in graphs if one may.
    """
    y = xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=keepdims))
    return log_sum_exp_as_read(x, y)


def log_sum_exp_of_shifted(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return ln(sum of e^(x − max)) + max along `axis`, in the type of `x`; −inf of no values.

    Where the maximum is infinite or NaN nothing is subtracted. Where the sum of e^x leaves the
    range of a float and its logarithm does not, it is the logarithm, or ±∞: RANGE_OF_THE_SUM.
    Of integers a logarithm other than 0 may be anything: raises NotSupported, while judging, if all
    may, and in graphs if one may.
    """
    if has_no_values(x, axis):
        return log_sum_exp(x, axis=axis, keepdims=keepdims)
    # A NaN makes the sum NaN, whatever is subtracted.
    top = xp.max(x, axis=axis, keepdims=True)
    return log_sum_exp_where_shifted(x, top, xp.isfinite(top), axis=axis, keepdims=keepdims)


def log_sum_exp_where_shifted(
    x: Array, top: Array, is_shifted: Any, *, axis: Axes, keepdims: bool
) -> Array:
    """Return ln(sum of e^(x − shift)) + top along `axis`, in the type of `x`.

    top: the maximum along `axis`, which is kept; is_shifted: a mask of where it is subtracted. It
    is added everywhere. Of floats a result whose sum of e^x leaves the type's range is that, or ±∞:
    RANGE_OF_THE_SUM. Of integers a result other than 0 may be anything: raises NotSupported, while
    judging, if all may, and in graphs if one may.
    """
    shift = xp.where(is_shifted, top, xp.zeros_like(top))
    logarithm = xp.log(xp.sum(xp.exp(x - shift), axis=axis, keepdims=keepdims))
    return log_sum_exp_as_read(x, logarithm + xp.reshape(top, logarithm.shape))


def log_sum_exp_as_read(x: Array, y: Array) -> Array:
    """Return `y`, the logarithm of a sum of e^x in floats, in the type of `x`.

    A float stays, or by the other reading of RANGE_OF_THE_SUM becomes ±∞ where it is finite and the
    sum is infinite or 0 in its type. Of integers `x` elements other than 0 may be anything: raises
    NotSupported, while judging, if all may, and in graphs if one may.
    """
    if is_integer(x):
        return as_integers(x, y, y == 0)
    return as_range_is_read(x, y, logarithm_of_half_the_smallest(x), log(largest_of(x)))


def mean(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the mean along `axis`; of no floats NaN. Means of integers have 64 bits.

    Of integers a mean may be anything that is not a whole number, or if the size of its sum is at
    least the type's largest number: the text does not state how such means are rounded, nor what a
    sum out of range makes. Raises NotSupported for integers of no values, and, while judging, if
    all may be anything, and in graphs.
    """
    if not is_integer(x):
        return xp.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(x, axis=axis, keepdims=keepdims)
    size = np.abs(np.sum(x, axis=axis, keepdims=keepdims, dtype=np.float64))
    count = x.size // max(1, total.size)
    if total.size > 0 and count == 0:
        raise_unspecified("means of no integers")
    divisor = max(1, count)
    is_undefined = (total % divisor != 0) | (size >= np.iinfo(x.dtype).max)
    subject = "means that are no integers, or of sums out of range"
    return undefined_where(total // divisor, is_undefined, subject)


def largest_element(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the largest element along `axis`; NaN where one is.

    Of no values it is "minus infinity (if supported by the datatype) or the minimum value of the
    data type otherwise", which is False of booleans.
    """
    if has_no_values(x, axis):
        least, _ = ends_of(x)
        x = one_element_along(x, axis, least)
    return xp.max(x, axis=axis, keepdims=keepdims)


def smallest_element(x: Array, *, axis: Axes, keepdims: bool) -> Array:
    """Return the smallest element along `axis`; NaN where one is.

    Of no values it is infinity, or the largest value of a type without infinities; True of
    booleans.
    """
    if has_no_values(x, axis):
        _, largest = ends_of(x)
        x = one_element_along(x, axis, largest)
    return xp.min(x, axis=axis, keepdims=keepdims)


# What these have in common.


def is_integer(x: Array) -> bool:
    """Return True for a tensor of integers, signed or not; False for booleans."""
    return bool(x.dtype.kind in "iu")


def has_no_values(x: Array, axis: Axes) -> bool:
    """Return True if one of the axes, counted from the front, has length 0; False for no axes."""
    return any(x.shape[a] == 0 for a in axis)


def largest_of(x: Array) -> float:
    """Return the largest finite number of a tensor's type, which is a number type of ONNX."""
    _, largest = dtypes.limits(not_none(dtypes.of(x)))
    return largest


def logarithm_of_half_the_smallest(x: Array) -> float:
    """Return the natural logarithm of half the smallest subnormal number of a floating type.

    That is the end of what the type rounds to 0.
    """
    return (not_none(dtypes.of(x)).min_exponent - 1) * log(2)


def ends_of(x: Array) -> tuple[float, float]:
    """Return the least and the largest value of a tensor's type.

    They are −inf and inf for floats, 0 and 1 for booleans.
    """
    if x.dtype.kind in "iub":
        return dtypes.limits(not_none(dtypes.of(x)))
    return -inf, inf


def one_element_along(x: Array, axis: Axes, value: float) -> Array:
    """Return a tensor of the type and shape of `x`, but of length 1 along `axis`: all `value`."""
    shape = [1 if a in axis else length for a, length in enumerate(x.shape)]
    return xp.astype(np.full(shape, value), x.dtype)


def as_integers(x: Array, y: Array, is_exact: Any) -> Array:
    """Return floats `y` in the integer type of `x`.

    `is_exact` is a mask, or a boolean for all, of the elements that are what the type needs. The
    text does not state how others are rounded: they may be anything. Raises NotSupported, while
    judging, if all are such, and in graphs if one is.
    """
    return undefined_where(y.astype(x.dtype), ~np.asarray(is_exact), "rounded reals")


def as_range_is_read(x: Array, y: Array, low: float, high: float) -> Array:
    """Return `y`, a function of a sum of terms of `x`, which may leave the type's range.

    That is so where `y` is finite in the type of `x` and not in [low, high]. There RANGE_OF_THE_SUM
    reads: `y` stays ("scaled"), or is +∞ above `high` and −∞ below `low` ("out_of_range"). NaN
    stays.
    """
    values = xp.values_of(y)
    is_above = (values > high) & (values <= largest_of(x))
    is_below = (values < low) & (values > -inf)
    is_open = is_above.any() or is_below.any()
    if not is_open or RANGE_OF_THE_SUM.reading() == "scaled":
        return y
    y = xp.where(is_above, xp.full_like(y, inf), y)
    return xp.where(is_below, xp.full_like(y, -inf), y)


# ── axes ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Version:
    """A version of a reduction.

    Attributes:
        since: The opset since which it is in force.
        reduction: What is made of the elements along the axes.
        defines_no_values: The text states what "Reduction over an empty set of values yields".
    """

    since: int
    reduction: Reduction
    defines_no_values: bool


def counted(axes: Sequence[int], rank: int) -> Axes:
    """Return axes counted from the front, each once, in their order.

    "Accepted range is [-r, r-1] where r = rank(data)." Raises InvalidNode for an axis outside of
    it. An axis named twice counts once, or raises InvalidNode: AXIS_NAMED_TWICE.
    """
    along = [from_either_end(axis, rank) for axis in axes]
    distinct = tuple(dict.fromkeys(along))
    if len(distinct) < len(along):
        reject(AXIS_NAMED_TWICE.reading() == "refused", f"an axis is twice in {list(axes)}")
    return distinct


def every_axis(x: Array) -> Axes:
    """Return all axes of a tensor, none for rank 0."""
    return tuple(range(x.ndim))


def reduced(version: Version, data: Array, along: Axes, keepdims: int) -> Array:
    """Return `data` reduced along these axes, which are kept with length 1 if `keepdims` is 1.

    `along` has distinct axes from the front. Along none each element is reduced alone:
    "composite-reduction operators will still perform the non-reduction steps".

    Raises NotSupported for a judge if the text does not define "Reduction over an empty set of
    values" and the output has such elements; what the reduction itself raises, NotSupported for
    means of no integers, and for a judge if all integers may be anything. `keepdims` other than 0
    and 1 is read as one of them, or raises InvalidNode: FLAG_OF_ANOTHER_NUMBER.
    """
    keeps = flag("keepdims", keepdims)
    if along:
        y = version.reduction(data, axis=along, keepdims=keeps)
    else:
        y = version.reduction(xp.expand_dims(data, axis=0), axis=(0,), keepdims=False)
    if y.size and not version.defines_no_values and has_no_values(data, along):
        leave_open("nothing is said of what is made of no values")
    return y


def with_axes_as_attribute(
    version: Version, data: Array, *, axes: Sequence[int] | None, keepdims: int
) -> Array:
    """Return `data` reduced along `axes`.

    None means all: "The default is to reduce over all the dimensions". An empty list means all
    axes, none, or InvalidNode: EMPTY_LIST_OF_AXES. In version 1 a negative axis counts from the
    back, or raises InvalidNode: NEGATIVE_AXIS_OF_VERSION_1.

    Raises InvalidNode for an axis outside [-r, r-1]; for one that is named twice, if
    AXIS_NAMED_TWICE refuses it; for a flag other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER does.
    Integers whose answer is inexact or outside of their type may be anything. Raises NotSupported
    for means of no integers; for a judge, also if all may be anything, in graphs if one may, and
    for answers of no values that the text does not define.
    """
    if axes is None:
        return reduced(version, data, every_axis(data), keepdims)
    if not axes:
        reading = EMPTY_LIST_OF_AXES.reading()
        reject(reading == "refused", "axes is an empty list")
        along = every_axis(data) if reading == "all" else ()
        return reduced(version, data, along, keepdims)
    along = counted(axes, data.ndim)
    if version.since == 1 and min(axes) < 0:
        refuses = NEGATIVE_AXIS_OF_VERSION_1.reading() == "refused"
        reject(refuses, f"axes {list(axes)}; allowed: none below 0")
    return reduced(version, data, along, keepdims)


def with_axes_as_input(
    version: Version, data: Array, axes: Array = None, *, keepdims: int, noop_with_empty_axes: int
) -> Array:
    """Return `data` reduced along `axes`; without any, along all or none by the flag.

    "reduction over all axes if 'noop_with_empty_axes' is false, and reduction over the empty set of
    axes when 'noop_with_empty_axes' is true." A missing input is as an empty list.

    Raises InvalidNode if `axes` is not of rank 1 or holds one outside [-r, r-1]; for one that is
    named twice, if AXIS_NAMED_TWICE refuses it; for flags other than 0 and 1, if
    FLAG_OF_ANOTHER_NUMBER does. Integers whose answer is inexact or outside of their type may be
    anything. Raises NotSupported for means of no integers; for a judge, also if all may be
    anything, in graphs if one may, and for answers of no values that the text does not define.
    """
    along = () if axes is None else counted(listed("axes", axes), data.ndim)
    is_noop = flag("noop_with_empty_axes", noop_with_empty_axes)
    if not along and not is_noop:
        along = every_axis(data)
    return reduced(version, data, along, keepdims)


def defines_no_values(doc: str) -> bool:
    """Return True if the text of a version, its `doc`, states what reducing no values gives.

    False for a text that does not mention an empty set: that of version 11 alone, of ReduceMax and
    ReduceMin that of version 12 alone; and for ReduceMean: "Reduction over an empty set of values
    yields undefined."
    """
    return "empty set of values yields" in doc and "values yields undefined" not in doc


def has_axes_as_input(name: str, since: int) -> bool:
    """Return True if a version of an operator has no attribute `axes`, and thus an input."""
    return "axes" not in opset.versions("", name)[since].attributes


def each_version(name: str, reduction: Reduction) -> Mapping[int, Formula]:
    """Return the formula of each version of an operator, by the opset since which it is in force.

    `reduction` makes one element of those along the axes. The formulas raise what
    `with_axes_as_input` does, or `with_axes_as_attribute` in versions whose axes are an attribute.
    """
    formulas: dict[int, Formula] = {}
    for since, schema in opset.versions("", name).items():
        version = Version(since, reduction, defines_no_values(schema.doc))
        if has_axes_as_input(name, since):
            formulas[since] = partial(with_axes_as_input, version)
        else:
            formulas[since] = partial(with_axes_as_attribute, version)
    return formulas


# ── the operators ─────────────────────────────────────────────────────────────────────────────

#: The formula of the text first, then others that are as right.
REDUCTIONS: Mapping[str, tuple[Reduction, ...]] = {
    "ReduceL1": (marked_outside(l1_norm),),
    "ReduceL2": (l2_norm, l2_norm_by_power),
    "ReduceLogSum": (log_sum,),
    "ReduceLogSumExp": (log_sum_exp, log_sum_exp_of_shifted),
    "ReduceMax": (largest_element,),
    "ReduceMean": (mean,),
    "ReduceMin": (smallest_element,),
    "ReduceProd": (marked_outside(product_of_elements),),
    "ReduceSum": (marked_outside(sum_of_elements),),
    "ReduceSumSquare": (marked_outside(sum_of_squares),),
}
#: Types in which logarithms are whole numbers only where they are 0: outputs hold one value.
WITHOUT_LOGARITHMS = ("int32", "int64", "uint32", "uint64")


# Mutants.


def first_alone(axes: Axes, rank: int) -> Axes:
    """Mutant: only the first of several axes."""
    return axes[:1]


def next_axes(axes: Axes, rank: int) -> Axes:
    """Mutant: the axis after each right one."""
    return tuple((axis + 1) % rank for axis in axes)


def along_other_axes(
    name: str, reduction: Reduction, change: Callable[[Axes, int], Axes]
) -> Mapping[int, Formula]:
    """Return the formulas with axes as an input, which reduce along what `change` makes of them.

    `change` takes the axes, counted from the front, and the rank. Versions with an attribute are
    left out.
    """

    def changed(x: Array, *, axis: Axes, keepdims: bool) -> Array:
        return reduction(x, axis=change(axis, x.ndim), keepdims=keepdims)

    formulas = each_version(name, changed)
    return {since: formulas[since] for since in formulas if has_axes_as_input(name, since)}


AXES_MUTANTS = {
    "first_of_the_axes_alone": ("only the first of several axes was reduced", first_alone),
    "next_axis_reduced": ("the axis after each right one was reduced", next_axes),
}


def log_sum_exp_of_shifted_by(
    infinities: Sequence[float], x: Array, *, axis: Axes, keepdims: bool
) -> Array:
    """Mutant: the largest number is subtracted also where it is one of these infinities.

    Of no values, which have no largest number, nothing changes.
    """
    if has_no_values(x, axis):
        return log_sum_exp(x, axis=axis, keepdims=keepdims)
    top = xp.max(x, axis=axis, keepdims=True)
    is_shifted = xp.isfinite(top)
    for infinity in infinities:
        is_shifted = is_shifted | (top == infinity)
    return log_sum_exp_where_shifted(x, top, is_shifted, axis=axis, keepdims=keepdims)


SHIFT_MUTANTS = {
    "shift_by_minus_infinity": (
        "the largest number was subtracted also where it is -inf, which gives NaN",
        partial(log_sum_exp_of_shifted_by, (-inf,)),
    ),
    "shift_by_infinities": (
        "the largest number was subtracted also where it is infinite, which gives NaN",
        partial(log_sum_exp_of_shifted_by, (-inf, inf)),
    ),
}


#: Sums of magnitudes and of squares, and their roots, which are never negative.
NORMS = ("ReduceL1", "ReduceL2", "ReduceSumSquare")


def declare(name: str, reductions: tuple[Reduction, ...]) -> None:
    """Declare an operator with its formulas and mutants, in the engine's table of operators.

    The first of `reductions` is the text's formula, and the others are as right. Raises
    WrongOperator for a name that ONNX does not have, and for a formula that contradicts its schema.
    """
    op = operator(
        name,
        module=__name__,
        exact=name in ("ReduceMax", "ReduceMin"),
        constant=WITHOUT_LOGARITHMS if "Log" in name else (),
        low=0.0 if name in NORMS else None,
    )
    op.formula_and_alternatives(partial(each_version, name), *reductions)
    op.mutant_table(AXES_MUTANTS, build=partial(along_other_axes, name, reductions[0]))
    if name == "ReduceLogSumExp":
        op.mutant_table(SHIFT_MUTANTS, build=partial(each_version, name), is_asked=False)


for _name, _reductions in REDUCTIONS.items():
    declare(_name, _reductions)
