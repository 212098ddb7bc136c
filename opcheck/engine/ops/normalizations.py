"""InstanceNormalization, MeanVarianceNormalization, RMSNormalization and LpNormalization.

Each divides by a norm of elements: the root of their variance, that of their mean square, or their
Lp norm. What makes 1 over the root of a variance is shared with BatchNormalization,
GroupNormalization and LayerNormalization, which have files of their own.

The parts of the file: what normalizations share; each operator, with its mutants.
"""

from collections.abc import Callable
from functools import partial
from math import inf, nan, prod, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import distinct, from_either_end, stretches
from opcheck.engine.operators import (
    FormulaBuilder,
    NamedMutants,
    Operator,
    check_one_of,
    check_shape,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NEGATIVE_AXIS_BUT_THE_LAST
from opcheck.engine.undefined import undefined_where
from opcheck.errors import reject
from opcheck.grouping import not_none
from opcheck.numbers import Operand, Tensor

NAMES = """InstanceNormalization LpNormalization MeanVarianceNormalization RMSNormalization"""

Axes: TypeAlias = tuple[int, ...]
#: Makes the variance of a tensor along axes, which are kept with length 1.
VarianceOf: TypeAlias = Callable[[Tensor, Axes], Tensor]
#: Makes 1 over the standard deviation of a variance and epsilon.
InverseRoot: TypeAlias = Callable[[Tensor, float], Tensor]
#: Makes 1 over the standard deviation of a tensor along axes, which are kept, and of epsilon.
InvStdDevOf: TypeAlias = Callable[[Tensor, Axes, float], Tensor]
#: Makes the output of x, the mean, 1 over the standard deviation, scale and bias, which broadcast.
Scaling: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

#: The numbers of axes of a tensor with a batch axis and a channel axis.
RANKS = range(2, 64)
#: stash_type by ONNX's TensorProto: float, float16, double, bfloat16.
FLOATING_STASH_TYPES = (1, 10, 11, 16)
#: A remark that is about both `folded` and `one_pass`.
FOLDED = "where it is folded into x·a + b, or the variance E[x²] − E[x]², which cancels"


# ── what normalizations share ─────────────────────────────────────────────────────────────────


def check_rank(name: str, x: Tensor, ranks: range) -> None:
    """Raise InvalidNode unless the number of axes of a tensor is in this range.

    name: the tensor's, in the message.
    """
    allowed = f"{ranks.start}" if len(ranks) == 1 else f"{ranks.start} or more"
    reject(x.ndim not in ranks, f"{name} of {x.ndim} axes; allowed: {allowed}")


def per_channel(x: Tensor, rank: int) -> Tensor:
    """Return a vector of channels, [C], as [C, 1, …, 1], which broadcasts to (N, C, D1, …, Dn).

    rank: that of (N, C, D1, …, Dn), 2 or more.
    """
    return xp.reshape(x, (-1, *[1] * (rank - 2)))


def stashed(x: Tensor, stash_type: int, *allowed: int) -> Tensor:
    """Return `x` in the type that stage one is computed in, by its number in ONNX's TensorProto.

    allowed: the numbers of floating types that the text has. Raises InvalidNode for another number.
    """
    check_one_of("stash_type", stash_type, *allowed)
    return xp.astype(x, not_none(dtypes.named(stash_type)).numpy, computes=True)


def scaled(x: Tensor, mean: Tensor, inverse: Tensor, scale: Tensor, B: Tensor) -> Tensor:
    """Return (x - mean) / deviation * scale + B, where `inverse` is 1 over the deviation."""
    return (x - mean) * inverse * scale + B


def folded(x: Tensor, mean: Tensor, inverse: Tensor, scale: Tensor, B: Operand) -> Tensor:
    """Return (x - mean) / deviation * scale + B as x·a + b, which may cancel."""
    return x * (inverse * scale) + (B - mean * (inverse * scale))


def mean_square(x: Tensor, axes: Axes) -> Tensor:
    """Return the mean of the squares along axes, which are kept; NaN of no elements."""
    return xp.mean(x * x, axis=axes, keepdims=True)


def variance(x: Tensor, axes: Axes) -> Tensor:
    """Return the mean square of the deviations from the mean along axes, which are kept.

    It is divided by the number of elements. NaN of no elements.
    """
    return mean_square(x - xp.mean(x, axis=axes, keepdims=True), axes)


def cancelling_variance(x: Tensor, axes: Axes) -> Tensor:
    """Return the variance along axes, which are kept, as E[x²] − E[x]².

    That cancels, but a result below 0 counts as 0.
    """
    mean = xp.mean(x, axis=axes, keepdims=True)
    return xp.maximum(mean_square(x, axes) - mean * mean, 0.0)


def inverse_root(variance: Tensor, epsilon: float) -> Tensor:
    """Return 1 / sqrt(variance + epsilon): +∞ where the sum is 0, NaN where it is negative."""
    return 1 / xp.sqrt(variance + epsilon)


def two_pass(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Return 1 over the standard deviation, from the deviations from the mean, as texts state.

    The axes are kept with length 1; epsilon is added to the variance. +∞ where the sum is 0.
    """
    return inverse_root(variance(x, axes), epsilon)


def one_pass(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Return 1 over the standard deviation, from E[x²] − E[x]², which cancels.

    The axes are kept with length 1; epsilon is added to the variance, and 0 stands for a variance
    below 0. If epsilon is above 0, no result is above 1 / √ε but for its roundings; else a variance
    of 0 gives +∞.
    """
    # At most 1/√ε and its roundings, however far off the variance may be.
    most = 1.001 / sqrt(epsilon) if epsilon > 0 else inf
    return xp.clip(inverse_root(cancelling_variance(x, axes), epsilon), 0.0, most)


def declare_by_inv_std_dev(op: Operator, build: FormulaBuilder, remark: str) -> None:
    """Declare an operator's formula, two sound alternatives, and mutants of its standard deviation.

    Args:
        op: The operator, of which no version has a formula yet.
        build: Makes a formula of each version from an `InvStdDevOf`. With `computes`, stage two is
            computed in the type of X.
        remark: What a warning says of an answer that only the one-pass alternative explains; ""
            for no warning. The two-pass alternative is never warned of.

    Raises:
        WrongOperator: If a version has a formula already, or one contradicts its schema.
    """
    op.formula(build=build)(two_pass)
    literal = partial(build, computes=True)  # as the texts have it, also for types of 16 bits
    op.alternative("", build=literal)(two_pass)
    op.alternative(remark, build=literal)(one_pass)
    op.mutant_table({**mutants_of_epsilon(variance), **MUTANTS_OF_VARIANCE}, build=build)


# What can go wrong with a variance, and with its root.


def epsilon_after_the_root(variance: Tensor, epsilon: float) -> Tensor:
    """Mutant: 1 / (sqrt(variance) + epsilon)."""
    return 1 / (xp.sqrt(variance) + epsilon)


def epsilon_as_floor(variance: Tensor, epsilon: float) -> Tensor:
    """Mutant: 1 / sqrt(max(variance, epsilon))."""
    return 1 / xp.sqrt(xp.maximum(variance, epsilon))


def sample_variance(x: Tensor, axes: Axes) -> Tensor:
    """Mutant: the variance is divided by one less than the number of elements."""
    return of_sample(variance, x, axes)


def of_sample(variance_of: VarianceOf, x: Tensor, axes: Axes) -> Tensor:
    """Mutant: a mean of squares is divided by one less than the number of elements."""
    count = prod(x.shape[axis] for axis in axes)
    return variance_of(x, axes) * (count / max(1, count - 1))


def by_steps(
    variance_of: VarianceOf, root: InverseRoot, x: Tensor, axes: Axes, epsilon: float
) -> Tensor:
    """Return 1 over the standard deviation, from how its variance and its root are made.

    The axes are kept with length 1; epsilon is what `root` adds.
    """
    return root(variance_of(x, axes), epsilon)


EPSILON_AFTER_THE_ROOT = "epsilon was added after the root"
EPSILON_AS_FLOOR = "epsilon was the least that the variance could be"
UNBIASED = "the variance was divided by one less than the number of elements"

#: Mutants by name: a text, and what makes 1 over the standard deviation.
MutantsOfDeviation: TypeAlias = NamedMutants[InvStdDevOf]


def mutants_of_epsilon(variance_of: VarianceOf) -> MutantsOfDeviation:
    """Return two mutants of 1 over a standard deviation that add epsilon elsewhere, by name.

    variance_of: makes the variance, or mean square, which is right. Each has a text.
    """
    return {
        "epsilon_after_the_root": (
            EPSILON_AFTER_THE_ROOT,
            partial(by_steps, variance_of, epsilon_after_the_root),
        ),
        "epsilon_as_floor": (
            EPSILON_AS_FLOOR,
            partial(by_steps, variance_of, epsilon_as_floor),
        ),
    }


#: The mutants that take another variance.
MUTANTS_OF_VARIANCE: MutantsOfDeviation = {
    "unbiased": (UNBIASED, partial(by_steps, sample_variance, inverse_root)),
    "mean_square": (
        "the mean square stood for the variance, as in RMSNormalization",
        partial(by_steps, mean_square, inverse_root),
    ),
}


# ── InstanceNormalization ─────────────────────────────────────────────────────────────────────


@formulas_of_versions(each={1: range(4, 5), 6: RANKS, 22: RANKS}, options=["scaling"])
def instance_normalization(
    inv_std_dev: InvStdDevOf,
    ranks: range,
    input: Tensor,
    scale: Tensor,
    B: Tensor,
    *,
    epsilon: float,
    scaling: Scaling = scaled,
) -> Tensor:
    """Return y = scale * (x - mean) / sqrt(variance + epsilon) + B, in the shape of `input`.

    "mean and variance are computed per instance per channel". input: (N, C, D1, …, Dn), in version
    1 with n = 2; scale and B: (C). inv_std_dev: makes 1 over the root. scaling: makes y of it. An
    element alone in its channel gives B, if epsilon is above 0.

    Raises InvalidNode for another rank than the version has, `ranks`, and for scale and B of other
    shapes.
    """
    check_rank("input", input, ranks)
    check_shape("scale", scale, input.shape[1:2])
    check_shape("B", B, input.shape[1:2])
    axes = tuple(range(2, input.ndim))
    return scaling(
        input,
        xp.mean(input, axis=axes, keepdims=True),
        inv_std_dev(input, axes, epsilon),
        per_channel(scale, input.ndim),
        per_channel(B, input.ndim),
    )


INSTANCE = operator("InstanceNormalization")
INSTANCE.formula(build=instance_normalization)(two_pass)
INSTANCE.alternative(FOLDED, build=partial(instance_normalization, scaling=folded))(one_pass)
INSTANCE.mutant_table(
    {**mutants_of_epsilon(variance), **MUTANTS_OF_VARIANCE}, build=instance_normalization
)


# ── MeanVarianceNormalization ─────────────────────────────────────────────────────────────────

EQUAL_ELEMENTS = Ruling(
    "equal-elements",
    "Of elements that are all equal the text makes 0/0, and the function body 0.",
    ("text", "body"),
    by_element=True,
)
#: The function body adds it to the standard deviation; the text does not mention it.
EPSILON_OF_THE_BODY = 1e-9


@formulas_of_versions(9, 13, options=["epsilon"])
def mean_variance_normalization(
    inv_std_dev: InvStdDevOf, X: Tensor, *, axes: Axes, epsilon: float = 0.0
) -> Tensor:
    """Return (X-EX)/sqrt(E(X-EX)^2) in the shape of X, where E is the mean along `axes`.

    axes: negative ones count from the end. inv_std_dev: makes 1 over the root; epsilon is what it
    adds. If all elements along the axes are equal, as one alone is, they become NaN or 0:
    EQUAL_ELEMENTS. Where their mean may be rounded, they may become anything.

    Raises InvalidNode for an axis that X does not have; NotSupported for an empty list of axes and
    for an axis that is named twice. Raises NotSupported for equal elements with a rounded mean in a
    judged graph, and where they are all that is judged.
    """
    along = distinct(axes, X.ndim)
    if not axes:
        raise_unspecified("an empty list of axes")
    y = (X - xp.mean(X, axis=along, keepdims=True)) * inv_std_dev(X, along, epsilon)
    are_equal = hold_equal_elements(X, along)
    if not are_equal.any():
        return y
    of_equal = nan if EQUAL_ELEMENTS.reading() == "text" else 0.0
    y = xp.where(are_equal, xp.full_like(X, of_equal), y)
    is_rounded = are_equal & ~have_exact_mean(X, along)
    marked: Tensor = undefined_where(y, is_rounded, "what roundings leave of equal elements")
    return marked


def hold_equal_elements(X: Tensor, axes: Axes) -> NDArray[np.bool_]:
    """Return a mask of where all elements along the axes, which are kept, are equal finite numbers.

    One element is equal to itself. An empty X has no such place: the mask is False, of size 1.
    """
    values = np.asarray(xp.values_of(X))
    if not values.size:
        return np.zeros([1] * values.ndim, np.bool_)
    largest = values.max(axis=axes, keepdims=True)
    smallest = values.min(axis=axes, keepdims=True)
    return np.asarray((largest == smallest) & np.isfinite(largest.astype(np.float64)), np.bool_)


def have_exact_mean(X: Tensor, axes: Axes) -> NDArray[np.bool_]:
    """Return a mask of where the mean of equal elements along the axes is surely not rounded.

    X holds equal elements along the axes, one or more; in the mask these have length 1. The mean of
    zeros is exact, and that of one element. Others are if their number is a power of 2, and the
    type of X holds all multiples of the element up to the sum: then no order of adding rounds.
    """
    count = prod(X.shape[axis] for axis in axes)
    dtype = not_none(dtypes.of(np.empty(0, X.dtype)))
    values = np.asarray(xp.values_of(X)).max(axis=axes, keepdims=True).astype(np.float64)
    fraction, _ = np.frexp(values)
    # A whole number if the element's last digit is high enough for the sum to keep it.
    digits = np.ldexp(fraction, dtype.precision - count.bit_length())
    is_held = (digits == np.rint(digits)) & (np.abs(values) <= dtypes.limits(dtype)[1] / count)
    is_power_of_two = count & (count - 1) == 0
    is_plain = (values == 0) | (count == 1)
    return np.asarray(is_held & is_power_of_two | is_plain, np.bool_)


def two_pass_as_in_the_body(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Return 1 over the standard deviation plus epsilon, from the deviations from the mean.

    The axes are kept with length 1.
    """
    return epsilon_after_the_root(variance(x, axes), epsilon)


def one_pass_as_in_the_body(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Return 1 over the standard deviation plus epsilon, from E[X²] − E[X]²: the function body.

    The axes are kept with length 1.
    """
    return 1 / (1 / one_pass(x, axes, 0) + epsilon)


MEAN_VARIANCE = operator("MeanVarianceNormalization")
_by_the_body = partial(mean_variance_normalization, epsilon=EPSILON_OF_THE_BODY)
MEAN_VARIANCE.formula(build=mean_variance_normalization)(two_pass)
MEAN_VARIANCE.alternative("", build=_by_the_body)(two_pass_as_in_the_body)
MEAN_VARIANCE.alternative("", build=mean_variance_normalization)(one_pass)
MEAN_VARIANCE.alternative("", build=_by_the_body)(one_pass_as_in_the_body)
MEAN_VARIANCE.mutant("1e-9 was added under the root", name="under_the_root", build=_by_the_body)(
    two_pass
)
MEAN_VARIANCE.mutant_table(MUTANTS_OF_VARIANCE, build=mean_variance_normalization)


# ── RMSNormalization ──────────────────────────────────────────────────────────────────────────


@formulas_of_versions(23, options=["computes"])
def rms_normalization(
    inverse_rms: InvStdDevOf,
    X: Tensor,
    scale: Tensor,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    computes: bool = False,
) -> Tensor:
    """Return Normalized = Div(X, RMS), Y = Mul(Normalized, Scale), in the shape of X.

    RMS = Sqrt(mean of X² + epsilon), along the axes from `axis` on, which may count from the end.
    inverse_rms: makes 1 over it. scale: broadcasts to X, and has the output's type. stash_type: of
    RMS and Normalized. With `computes`, stage two is computed in the type of X, also of 16 bits.

    Raises InvalidNode for an axis that X does not have, where scale does not broadcast to X, and
    for a `stash_type` of no floating type of 16 bits or more.
    """
    normalized_axes = tuple(range(from_either_end(axis, X.ndim), X.ndim))
    stretches("scale", scale, X)
    x = stashed(X, stash_type, *FLOATING_STASH_TYPES)
    normalized = x * inverse_rms(x, normalized_axes, epsilon)
    y = xp.astype(normalized, X.dtype, computes=computes)
    return xp.astype(y, scale.dtype, computes=computes) * scale


RMS = operator("RMSNormalization")


@RMS.formula(build=rms_normalization)
@RMS.alternative("", build=partial(rms_normalization, computes=True))
def inverse_rms(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Return 1 over RMS = Sqrt(XSquaredMean + epsilon), along axes, which are kept."""
    return inverse_root(mean_square(x, axes), epsilon)


RMS.mutant_table(
    {
        **mutants_of_epsilon(mean_square),
        "unbiased": (UNBIASED, partial(by_steps, partial(of_sample, mean_square), inverse_root)),
    },
    build=rms_normalization,
)
RMS.mutant(
    "the mean was subtracted, as in LayerNormalization", name="variance", build=rms_normalization
)(two_pass)


@RMS.mutant(
    "`axis` alone was normalized, and not the axes after it",
    name="one_axis",
    build=rms_normalization,
)
def inverse_rms_of_one_axis(x: Tensor, axes: Axes, epsilon: float) -> Tensor:
    """Mutant: the mean square is that along `axis` alone."""
    return inverse_rms(x, axes[:1], epsilon)


# ── LpNormalization ───────────────────────────────────────────────────────────────────────────

LP = operator("LpNormalization", low=-1.0, high=1.0)


@LP.formula(1, 22)
def lp_normalization(input: Tensor, *, axis: int, p: int) -> Tensor:
    """Return output = input / Lp_norm(input, axis), in the shape of `input`.

    "When the Lp norm is zero (i.e., all elements along the axis are zero), the output is defined to
    be zero". An infinity gives NaN, and 0 for finite elements beside it; NaN gives NaN for all of
    them.

    Raises InvalidNode for another p than 1 and 2, and for an axis that is out of range. One below
    -1 counts from the end, or raises it: NEGATIVE_AXIS_BUT_THE_LAST.
    """
    check_one_of("p", p, 1, 2)
    is_refused = axis < -1 and NEGATIVE_AXIS_BUT_THE_LAST.reading() == "refused"
    reject(is_refused, f"axis {axis}; allowed: -1, and axes from the front")
    axis = from_either_end(axis, input.ndim)
    norm = lp_norm(input, axis, p)
    is_zero = xp.equal(norm, 0)
    divisor = xp.where(is_zero, xp.zeros_like(norm) + 1, norm)
    return xp.where(is_zero, xp.zeros_like(input), input / divisor)


def lp_norm(x: Tensor, axis: int, p: int) -> Tensor:
    """Return Σ |x| for p 1, or (Σ x²)^(1/2) for another p, along an axis, which is kept."""
    if p == 1:
        return xp.sum(xp.abs(x), axis=axis, keepdims=True)
    return xp.sqrt(xp.sum(x * x, axis=axis, keepdims=True))
