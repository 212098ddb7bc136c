"""Softmax, LogSoftmax and Hardmax of ONNX and DirectML, and ONNX's losses of class scores.

All of them compute with rows. What a row is depends on the operator: a line of the matrix to which
the first versions of ONNX coerce their input; the elements along one axis, in version 13; or those
along several axes together, in DirectML's operators whose names end in 1.

The parts of the file: rows; shares and their logarithms; the first maximum; losses. Each is
followed by its operators and their mutants. A function of rows takes a tensor and an axis, and
returns a tensor of the same shape: each row of it depends on that row of the input alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import ceil, inf, nan, prod
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, matrix_of
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
from opcheck.engine.rulings import NAN_IN_ORDER, extremes_beside_nan, has_nan
from opcheck.errors import InvalidNode
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen
from opcheck.opset import DML
from opcheck.opset.direct_ml import MAX_RANK, invalid_axes, invalid_sizes

NAMES = """DML_ACTIVATION_HARDMAX DML_ACTIVATION_HARDMAX1 DML_ACTIVATION_LOG_SOFTMAX
DML_ACTIVATION_LOG_SOFTMAX1 DML_ACTIVATION_SOFTMAX DML_ACTIVATION_SOFTMAX1 Hardmax LogSoftmax
NegativeLogLikelihoodLoss Softmax SoftmaxCrossEntropyLoss"""

#: Makes a tensor of the same shape, row by row, from a tensor and the axis of its rows.
RowFunction: TypeAlias = Callable[[Array, int], Array]
#: Wrong functions of rows by the name of the mutant, each with a text.
RowMutants: TypeAlias = NamedMutants[RowFunction]

AXIS_BEHIND_THE_LAST = Ruling(
    "axis-behind-the-last",
    "Version 1 states no range for an axis that equals the rank: no dimensions are left, and the "
    "matrix has rows of one element.",
    ("refused", "rows_of_one"),
)
INFINITE_SHARE = Ruling(
    "infinite-share",
    "The share of infinity is ∞ / ∞. The text does not state whether the other elements of the "
    "row are 0, or NaN as well.",
    ("all_nan", "nan_at_infinity"),
)
INFINITE_SHARE_OR_LIMIT = Ruling(
    "infinite-share-or-limit",
    "The text does not define the shares of a row with infinity: ∞ / ∞ is NaN, and in the limit "
    "infinity has it all.",
    ("all_nan", "nan_at_infinity", "it_has_all"),
)
NAN_IS_MARKED = Ruling(
    "nan-is-marked",
    "Where NaN is the maximum, the text does not state whether it has the one: NaN equals nothing.",
    ("first_nan", "no_one"),
)
UNSORTED_AXES = Ruling(
    "unsorted-axes",
    "The text does not state whether the joint index of Axes that do not increase runs through "
    "them in increasing order, or in the order in which they are listed.",
    ("as_sorted", "as_written"),
)
IGNORED_IN_THE_MEAN = Ruling(
    "ignored-in-the-mean",
    "The text has ignored samples in the mean, and the function body leaves them out.",
    ("left_out", "counted"),
)


# ── rows of ONNX ──────────────────────────────────────────────────────────────────────────────


def matrix_axis(since: int, axis: int, rank: int) -> int:
    """Return k of the matrix [a_0 * … * a_{k-1}, a_k * … * a_{n-1}], in [0, rank].

    Version 1 mentions no negative axis and no range: a negative axis is refused, or counts from the
    back, by NEGATIVE_AXIS; one that equals a rank above 0 is refused or taken, by
    AXIS_BEHIND_THE_LAST. Version 11 accepts [-r, r-1]. Raises InvalidNode for an axis out of range,
    and for what is refused.
    """
    if since > 1:
        return from_either_end(axis, rank)
    if 0 < rank == axis and AXIS_BEHIND_THE_LAST.reading() == "rows_of_one":
        return rank
    return from_the_front(axis, rank)


@formulas_of_versions(each={1: 1, 11: 11, 13: 13})
def by_rows(of_rows: RowFunction, since: int, input: Array, *, axis: int) -> Array:
    """Return `of_rows` of the input's rows, in the input's shape.

    Versions 1 and 11: "input will be coerced into a 2-dimensional tensor with dimensions [a_0 * … *
    a_{k-1}, a_k * … * a_{n-1}]", whose lines are the rows. Version 13: "The "axis" attribute
    indicates the dimension along which" the operator is performed. An input without elements is
    returned itself. since: the version.

    Raises InvalidNode for an axis outside [-r, r-1], in version 1 for one that NEGATIVE_AXIS or
    AXIS_BEHIND_THE_LAST refuses. Each version refuses an input of rank 0.
    """
    if since == 13:
        counted = from_either_end(axis, input.ndim)
        return of_rows(input, counted) if input.size else input
    matrix = matrix_of(input.shape, matrix_axis(since, axis, input.ndim))
    if not input.size:
        return input
    return xp.reshape(of_rows(xp.reshape(input, matrix), 1), input.shape)


# ── rows of DirectML ──────────────────────────────────────────────────────────────────────────


def jointly(x: Array, axes: Sequence[int], of_rows: RowFunction) -> Array:
    """Return `of_rows` of rows along several axes together, the last of which runs fastest.

    `axes` are distinct, counted from the front, in the order of the joint index. The result has the
    shape of `x`; `x` itself is returned if it has no elements.
    """
    if not x.size:
        return x
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*kept, *axes]
    moved = xp.permute_dims(x, order)
    rows = xp.reshape(moved, (prod(moved.shape[: len(kept)]), -1))
    return xp.permute_dims(xp.reshape(of_rows(rows, 1), moved.shape), np.argsort(order))


def no_other_rank(rank: int) -> bool:
    """Return False: no rank is accepted beyond those of the text."""
    return False


def as_listed(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Return the axes as they are."""
    return axes


def increasing(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Return the axes in increasing order."""
    return sorted(axes)


@dataclass(frozen=True)
class LastAxis:
    """An operator without Axes; the fields after the first are what mutants do otherwise.

    Attributes:
        of_rows: What is computed of the rows.
        accepts: Ranks that are accepted though the text forbids the tensor.
        first_axis: The first of the axes that compete, up to the last; counted from the end if
            negative.
    """

    of_rows: RowFunction
    accepts: Callable[[int], bool] = no_other_rank
    first_axis: int = -1


@dataclass(frozen=True)
class JointAxes:
    """An operator with Axes; the fields after `joined` are what mutants do otherwise.

    Attributes:
        of_rows: What is computed of the rows.
        joined: Computes that along several axes together; see `jointly`.
        order: The axes that compete, in the order of the joint index, from legal ones and the rank.
        read: The axes that are checked, from those of the node and the rank.
        accepts: Ranks that are accepted though the text forbids them.
    """

    of_rows: RowFunction
    joined: Callable[[Array, Sequence[int], RowFunction], Array] = jointly
    order: Callable[[Sequence[int], int], Sequence[int]] = increasing
    read: Callable[[Sequence[int], int], Sequence[int]] = as_listed
    accepts: Callable[[int], bool] = no_other_rank


@formulas_of_versions(1)
def over_the_last(rows: LastAxis, InputTensor: Array) -> Array:
    """Return OutputTensor, of rows along the last axis, in the shape of InputTensor.

    rows: what is computed of each row; its other fields are set by mutants alone, which accept more
    shapes, or have more axes compete.

    Raises InvalidNode unless InputTensor has 1 to 8 dimensions, all of size 1 but the last two.
    """
    rank = InputTensor.ndim
    problem = invalid_sizes(InputTensor.shape)
    if problem and not rows.accepts(rank):
        raise InvalidNode(problem)
    return jointly(InputTensor, range(rank)[rows.first_axis :], rows.of_rows)


@formulas_of_versions(1)
def over_axes(rows: JointAxes, InputTensor: Array, *, Axes: Sequence[int]) -> Array:
    """Return OutputTensor, of rows along Axes together, in the shape of InputTensor.

    rows: what is computed of each row, and in which order of the axes its elements come; its other
    fields are set by mutants alone, which read other axes or accept more ranks.

    Raises InvalidNode unless InputTensor has 1 to 8 dimensions, and Axes names one or more of them,
    each once and counted from the front.
    """
    rank = InputTensor.ndim
    axes = rows.read(Axes, rank)
    if rows.accepts(rank):
        # A mutant: of the axes it keeps those that the tensor has.
        axes = sorted({axis for axis in axes if 0 <= axis < rank})
    elif problem := invalid_axes(axes, rank):
        raise InvalidNode(problem)
    return rows.joined(InputTensor, rows.order(axes, rank), rows.of_rows)


def by_last_axis(of_rows: RowFunction) -> Mapping[int, Callable[..., Array]]:
    """Return the formulas of an operator without Axes, by version.

    They raise InvalidNode for what `over_the_last` refuses: more than 8 dimensions, or none, or
    sizes other than 1 before the last two.
    """
    return over_the_last(LastAxis(of_rows))


def by_joint_axes(of_rows: RowFunction) -> Mapping[int, Callable[..., Array]]:
    """Return the formulas of an operator with Axes, by version.

    Elements of a row come with Axes in increasing order, however these are listed. They raise
    InvalidNode for what `over_axes` refuses: more than 8 dimensions, or none, and Axes that are
    none, out of range or named twice.
    """
    return over_axes(JointAxes(of_rows))


# ── e^x of each row in shares of their sum, and the logarithms of these ───────────────────────


def softmax(x: Array, axis: int) -> Array:
    """Return e^(x − max) over its sum along `axis`, as the function body of version 13 does.

    A row is all NaN if it has NaN or +∞, or has −∞ alone. The axis has elements, as in all
    functions of rows.
    """
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def logarithms(x: Array, axis: int) -> Array:
    """Return (x − max) − ln(sum of e^(x − max)) along `axis`: no share vanishes.

    A row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    d = x - xp.max(x, axis=axis, keepdims=True)
    return d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True))


def exponentials_of_logarithms(x: Array, axis: int) -> Array:
    """Return the shares with one exponential more for each element, and without a division.

    A row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    return xp.exp(logarithms(x, axis))


def logarithms_of_shares(x: Array, axis: int) -> Array:
    """Return the logarithms by the text's own words: -inf where a share vanishes.

    A row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    return xp.log(softmax(x, axis))


#: How the alternative of subtracting max + ln(sum) computes.
RAW = "where the raw log-sum-exp is subtracted: not shift invariant"


def raw_logarithms(x: Array, axis: int) -> Array:
    """Return x − (max + ln(sum)), in which the rounding of max + ln(sum) stays.

    A row along `axis` is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    top = xp.max(x, axis=axis, keepdims=True)
    return x - (top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)))


def exponentials_of_raw_logarithms(x: Array, axis: int) -> Array:
    """Return e^(x − (max + ln(sum))) along `axis`.

    A row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    return xp.exp(raw_logarithms(x, axis))


def without_maxima(x: Array, axis: int) -> Array:
    """Return e^x over its sum along `axis`: softmax without the time that maxima take.

    x: a plain array. Unless the sum of every row is finite and 2^-20 or more, all rows are computed
    by `softmax`, which subtracts the maximum.
    """
    e = np.exp(x)
    total = np.sum(e, axis=axis, keepdims=True)
    # Where the sum is less, e^x may be subnormal and lose digits. NaN fails both comparisons.
    is_in_range = total.min() >= 2.0**-20 and total.max() < np.inf
    return e / total if is_in_range else softmax(x, axis)


# In blocks: an online algorithm takes e^(x − m) with the maximum m so far, or of a block, and
# multiplies it by e^(m − max) in the end. That product and its exponential round once more. The
# functions below compute as the formula does, and add the errors of these roundings to the bound.

#: Unit roundoffs of another exponential and its product.
EXP_AND_PRODUCT = 9.0


def in_blocks(x: Array, axis: int) -> Array:
    """Return the shares along `axis` with the errors that an online algorithm's rescaling adds.

    Values are those of `softmax`: a row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    _, e, total = terms_in_blocks(x, axis)
    return e / total


def logarithms_in_blocks(x: Array, axis: int) -> Array:
    """Return the logarithms along `axis` with the errors that an online algorithm's rescaling adds.

    Values are those of `logarithms`: a row is all NaN if it has NaN or +∞, or has −∞ alone.
    """
    d, _, total = terms_in_blocks(x, axis)
    return d - xp.log(total)


def terms_in_blocks(x: Array, axis: int) -> tuple[Array, Array, Array]:
    """Return d = x − max along `axis`, e^d, and the sum of e^d, as an online algorithm has them.

    d and e^d have the shape of `x`, the sum has length 1 along `axis`. Values are those of the
    formula; the error bounds of e^d and of the sum are larger by EXP_AND_PRODUCT unit roundoffs: of
    each element that is no maximum, and of the share of the sum that is rescaled.
    """
    d = x - xp.max(x, axis=axis, keepdims=True)
    e = xp.inexact(xp.exp(d), np.where(xp.values_of(d) < 0, EXP_AND_PRODUCT, 0.0))
    total = xp.sum(e, axis=axis, keepdims=True)
    shares = xp.values_of(xp.exp(d) / total)
    rescaled = most_rescaled(xp.values_of(d), shares, axis)
    return d, e, xp.inexact(total, EXP_AND_PRODUCT * rescaled)


def most_rescaled(d: Array, shares: Array, axis: int) -> Array:
    """Return how much of each row's sum an online algorithm rescales at the most, in shares of it.

    It multiplies the sum so far by e^(old − new maximum) at each new maximum: along the row from
    either end, or in 2, 4, 8, … lanes that are merged in pairs. The result is the largest of all of
    these; it may exceed 1, as a share counts each time that it is rescaled.

    d: x − max; shares: e^d over its sum, both plain and of one shape; the result has length 1 along
    `axis`.
    """
    d = np.moveaxis(d, axis, -1)
    shares = np.moveaxis(shares, axis, -1)
    rescaled = [
        rescaled_in_order(d, shares),
        rescaled_in_order(d[..., ::-1], shares[..., ::-1]),
    ]
    for power in range(1, d.shape[-1].bit_length()):
        rescaled.append(rescaled_in_lanes(d, shares, 2**power, strided=False))
        rescaled.append(rescaled_in_lanes(d, shares, 2**power, strided=True))
    return np.moveaxis(np.maximum.reduce(rescaled), -1, axis)


def rescaled_in_order(d: Array, shares: Array) -> Array:
    """Return the sum of the shares rescaled by one pass along the last axis, kept with length 1.

    At each new maximum of `d` all shares before it are rescaled: a share may count several
    times. `d` is x − max, `shares` has its shape.
    """
    running = np.maximum.accumulate(d, axis=-1)
    is_new_maximum = running[..., 1:] > running[..., :-1]
    so_far = np.cumsum(shares, axis=-1)[..., :-1]
    return np.where(is_new_maximum, so_far, 0.0).sum(axis=-1, keepdims=True)


def rescaled_in_lanes(d: Array, shares: Array, lanes: int, *, strided: bool) -> Array:
    """Return the sum of the shares rescaled within lanes, and where these are merged in pairs.

    Where two lanes are merged, the one with the lesser maximum is rescaled; of equal ones neither.
    d: x − max; shares: e^d over its sum, both (…, N); lanes: their number, a power of 2; strided:
    True deals the elements out to the lanes in turn, False gives each lane a contiguous part. The
    result is (…, 1).
    """
    d_of_lanes = cut_into_lanes(d, lanes, -np.inf, strided=strided)
    shares_of_lanes = cut_into_lanes(shares, lanes, 0.0, strided=strided)
    rescaled = rescaled_in_order(d_of_lanes, shares_of_lanes).sum(axis=-2)
    maxima = d_of_lanes.max(axis=-1)
    sums = shares_of_lanes.sum(axis=-1)
    while maxima.shape[-1] > 1:
        left, right = maxima[..., ::2], maxima[..., 1::2]
        of_left = np.where(left < right, sums[..., ::2], 0.0)
        of_right = np.where(right < left, sums[..., 1::2], 0.0)
        rescaled = rescaled + (of_left + of_right).sum(axis=-1, keepdims=True)
        maxima = np.maximum(left, right)
        sums = sums[..., ::2] + sums[..., 1::2]
    return rescaled


def cut_into_lanes(rows: Array, lanes: int, fill: float, *, strided: bool) -> Array:
    """Return rows (…, N) as (…, lanes, ⌈N/lanes⌉), with `fill` in the places after the N elements.

    `strided` deals a row out to the lanes in turn; otherwise each has a contiguous part of it.
    """
    *outer, length = rows.shape
    each = ceil(length / lanes)
    padded = np.full((*outer, lanes * each), fill)
    padded[..., :length] = rows
    if strided:
        return padded.reshape(*outer, each, lanes).swapaxes(-1, -2)
    return padded.reshape(*outer, lanes, each)


@dataclass(frozen=True)
class Ends:
    """What an element without any share has, and one that has it all."""

    nothing: float
    everything: float


OF_SHARES = Ends(nothing=0.0, everything=1.0)
OF_LOGARITHMS = Ends(nothing=-inf, everything=0.0)


def with_infinity(of_rows: RowFunction, ruling: Ruling, ends: Ends, x: Array, axis: int) -> Array:
    """Return `of_rows(x, axis)`, in the shape of `x`, but for rows with +∞ as `ruling` reads them.

    `ruling` is INFINITE_SHARE or INFINITE_SHARE_OR_LIMIT: all of the row is NaN; infinity is NaN
    and the others have nothing; or infinity has it all. `ends` are what nothing and all are. A row
    with NaN is NaN, whatever else is in it. Of several infinities none has it all; a row of them
    alone is NaN.
    """
    y = of_rows(x, axis)
    is_infinite = xp.isinf(x) & (xp.values_of(x) > 0)
    count = is_infinite.sum(axis=axis, keepdims=True)
    has_others = count < x.shape[axis]
    may_have_all = (count == 1) & ("it_has_all" in ruling.readings)
    is_row_of_numbers = ~xp.isnan(x).any(axis=axis, keepdims=True)
    is_open = (count > 0) & (has_others | may_have_all) & is_row_of_numbers
    if not is_open.any():
        return y
    reading = ruling.reading()
    if reading == "all_nan":
        return y
    of_infinity = xp.full_like(y, nan)
    if reading == "it_has_all":
        of_infinity = xp.where(count == 1, xp.full_like(y, ends.everything), of_infinity)
    of_others = xp.full_like(y, ends.nothing)
    return xp.where(is_open, xp.where(is_infinite, of_infinity, of_others), y)


# The operators.


@dataclass(frozen=True)
class RowOperators:
    """An operator of ONNX, and DirectML's two like it: without Axes, and with them."""

    onnx: Operator
    last: Operator
    joint: Operator

    @property
    def with_builders(self) -> tuple[tuple[Operator, FormulaBuilder], ...]:
        """Each operator with what makes its formulas of a function of rows."""
        return (self.onnx, by_rows), (self.last, by_last_axis), (self.joint, by_joint_axes)


def row_operators(name: str, dml_name: str, **options: Any) -> RowOperators:
    """Declare an operator of ONNX and DirectML's two like it; `options` are those of `operator`.

    DirectML's are named DML_ACTIVATION_ and `dml_name`, the second with a 1 behind it. Raises
    WrongOperator for a name that the schemas do not have, TypeError for an unknown option.
    """
    return RowOperators(
        onnx=operator(name, **options),
        last=operator(f"DML_ACTIVATION_{dml_name}", DML, **options),
        joint=operator(f"DML_ACTIVATION_{dml_name}1", DML, **options),
    )


@dataclass(frozen=True)
class RowFormulas:
    """A formula of rows and others that are as right, of which the `remarked` one is a warning."""

    formula: RowFunction
    alternatives: Sequence[RowFunction]
    remarked: RowFunction
    ends: Ends

    def declare(self, op: Operator, build: FormulaBuilder, ruling: Ruling) -> None:
        """Declare the formula and the alternatives of `op`; `ruling` reads rows with infinity.

        `build` makes the formulas of each version from a function of rows. Raises WrongOperator for
        one that contradicts its schema.
        """
        op.formula(build=build)(self.reading(self.formula, ruling))
        for alternative in self.alternatives:
            op.alternative("", build=build)(self.reading(alternative, ruling))
        op.alternative(RAW, build=build)(self.reading(self.remarked, ruling))

    def reading(self, of_rows: RowFunction, ruling: Ruling) -> RowFunction:
        """Return `of_rows`, in rows with infinity as `ruling` reads them; see `with_infinity`."""
        return partial(with_infinity, of_rows, ruling, self.ends)


SHARES = RowFormulas(
    formula=softmax,
    alternatives=(exponentials_of_logarithms, in_blocks),
    remarked=exponentials_of_raw_logarithms,
    ends=OF_SHARES,
)
LOGARITHMS = RowFormulas(
    formula=logarithms,
    alternatives=(logarithms_of_shares, logarithms_in_blocks),
    remarked=raw_logarithms,
    ends=OF_LOGARITHMS,
)

SOFTMAX = row_operators("Softmax", "SOFTMAX", low=0.0, high=1.0)
LOG_SOFTMAX = row_operators("LogSoftmax", "LOG_SOFTMAX")
# "Exp(input) / ReduceSum(Exp(input))", by which infinity is NaN; DirectML's text has no such code.
SHARES.declare(SOFTMAX.onnx, by_rows, INFINITE_SHARE)
SHARES.declare(SOFTMAX.last, by_last_axis, INFINITE_SHARE_OR_LIMIT)
SHARES.declare(SOFTMAX.joint, by_joint_axes, INFINITE_SHARE_OR_LIMIT)
for _op, _build in SOFTMAX.with_builders:
    _op.fast_path(build=_build)(without_maxima)
for _op, _build in LOG_SOFTMAX.with_builders:
    LOGARITHMS.declare(_op, _build, INFINITE_SHARE_OR_LIMIT)


# Mutants of Softmax.


def shares_without_exponential(x: Array, axis: int) -> Array:
    """Mutant: the elements themselves are divided by their sum."""
    return x / xp.sum(x, axis=axis, keepdims=True)


def shares_without_maximum(x: Array, axis: int) -> Array:
    """Mutant: e^x over its sum, which overflows."""
    e = xp.exp(x)
    return e / xp.sum(e, axis=axis, keepdims=True)


def every_maximum(x: Array, axis: int) -> Array:
    """Mutant: each element equal to the maximum has a one."""
    return xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype)


def shares_of_shares(x: Array, axis: int) -> Array:
    """Mutant: Softmax is applied twice."""
    return softmax(softmax(x, axis), axis)


def clipped_shares(x: Array, axis: int) -> Array:
    """Mutant: the shares are clipped to [1e-7, 1 - 1e-7]."""
    return np.clip(softmax(x, axis), 1e-7, 1 - 1e-7)


def masked_rows_with(share: float, x: Array, axis: int) -> Array:
    """Mutant: each element of a row of -inf alone has this share."""
    is_masked = x.max(axis, keepdims=True) == -np.inf
    return np.where(is_masked, np.full_like(x, share), softmax(x, axis))


def masked_rows_empty(x: Array, axis: int) -> Array:
    """Mutant: a row of -inf alone has no share."""
    return masked_rows_with(0.0, x, axis)


def masked_rows_in_equal_shares(x: Array, axis: int) -> Array:
    """Mutant: a row of -inf alone has equal shares."""
    return masked_rows_with(1 / x.shape[axis], x, axis)


def where_nan(x: Array, of_nan: Any, y: Array) -> Array:
    """Return `of_nan` where `x` is NaN, else `y`, in the type of `x`."""
    return np.where(np.isnan(x), of_nan, y).astype(x.dtype)


def nan_beside_zeros(x: Array, axis: int) -> Array:
    """Mutant: NaN stays where it is, and the other elements of its row are 0."""
    has_nan_in_row = np.isnan(x).any(axis, keepdims=True)
    return where_nan(x, x, np.where(has_nan_in_row, 0, softmax(x, axis)))


def nan_as_minus_infinity(x: Array, axis: int) -> Array:
    """Mutant: NaN is -inf, and has no share."""
    return where_nan(x, 0, softmax(where_nan(x, -np.inf, x), axis))


def nan_left_out(x: Array, axis: int) -> Array:
    """Mutant: NaN is left out of the maximum and of the sum, and stays where it is."""
    e = np.exp(x - np.fmax.reduce(x, axis=axis, keepdims=True))
    return e / np.nansum(e, axis=axis, keepdims=True)


def shares_of_magnitudes(x: Array, axis: int) -> Array:
    """Mutant: the signs are lost."""
    return softmax(abs(x), axis)


def shares_of_negatives(x: Array, axis: int) -> Array:
    """Mutant: the signs are changed."""
    return softmax(-x, axis)


def single_elements_kept(x: Array, axis: int) -> Array:
    """Mutant: a row of one element stays as it is."""
    return x if x.shape[axis] == 1 else softmax(x, axis)


def shares_of_clamped(x: Array, axis: int) -> Array:
    """Mutant: the elements are clamped to [-88, 88], and no maximum is subtracted."""
    return shares_without_maximum(np.where(np.isinf(x), x, np.clip(x, -88, 88)), axis)


def running_maximum(x: Array, axis: int) -> Array:
    """Return the maximum of the elements up to each one along `axis`; NaN from the first NaN on."""
    return np.maximum.accumulate(x, axis)


def sum_not_rescaled(x: Array, axis: int) -> Array:
    """Mutant: the running sum is not rescaled at a new maximum."""
    total = np.exp(x - running_maximum(x, axis)).sum(axis, keepdims=True)
    return np.exp(x - x.max(axis, keepdims=True)) / total


def equal_maxima_counted_once(x: Array, axis: int) -> Array:
    """Mutant: an element equal to the running maximum is left out of the sum."""
    e = np.exp(x - x.max(axis, keepdims=True))
    added = np.moveaxis(e.copy(), axis, -1)
    before = np.moveaxis(running_maximum(x, axis), axis, -1)[..., :-1]
    added[..., 1:][np.moveaxis(x, axis, -1)[..., 1:] == before] = 0
    return e / np.moveaxis(added.sum(-1, keepdims=True), -1, axis)


def minus_infinity_less_minus_infinity(x: Array, axis: int) -> Array:
    """Mutant: -inf is subtracted from -inf at the start of a row, which is NaN."""
    top = x.max(axis, keepdims=True)
    before = running_maximum(x, axis)
    total = (np.exp(x - before) * np.exp(before - top)).sum(axis, keepdims=True)
    return np.exp(x - top) / total


def first_block_masked(width: int, x: Array, axis: int) -> Array:
    """Mutant: a longer row is NaN if its first `width` elements are all -inf."""
    first = np.take(x, range(min(width, x.shape[axis])), axis)
    is_masked = np.isneginf(first).all(axis, keepdims=True) & (x.shape[axis] > width)
    return np.where(is_masked, np.nan, softmax(x, axis)).astype(x.dtype)


def padded_with_zeros(width: int, x: Array, axis: int) -> Array:
    """Mutant: the last vector of `width` is filled up with zeros, which are added up too."""
    missing = -x.shape[axis] % width
    top = x.max(axis, keepdims=True)
    if missing:
        top = np.maximum(top, 0)
    e = np.exp(x - top)
    return e / (e.sum(axis, keepdims=True) + missing * np.exp(-top)).astype(x.dtype)


SOFTMAX_MUTANTS: RowMutants = {
    "no_exponential": (
        "the elements themselves were divided by their sum, without an exponential",
        shares_without_exponential,
    ),
    "nothing_subtracted": (
        "e^x was taken without subtracting the maximum",
        shares_without_maximum,
    ),
    "logarithms": ("LogSoftmax was computed", logarithms),
    "one_hot": ("the maxima were marked with 1, as Hardmax does", every_maximum),
    "twice": ("Softmax was applied twice", shares_of_shares),
    "clipped": ("the shares were clipped to [1e-7, 1 - 1e-7]", clipped_shares),
    "no_share_in_a_masked_row": ("a row of -inf alone got no share", masked_rows_empty),
    "equal_shares_in_a_masked_row": (
        "a row of -inf alone got equal shares",
        masked_rows_in_equal_shares,
    ),
    "nan_alone": (
        "NaN stayed where it was, and made 0 of the other elements of its row",
        nan_beside_zeros,
    ),
    "nan_masked": ("NaN was taken for -inf, and got no share", nan_as_minus_infinity),
    "nan_skipped": (
        "NaN was left out of the maximum and the sum, and stayed where it was",
        nan_left_out,
    ),
    "sign_lost": ("the magnitudes of the elements were taken", shares_of_magnitudes),
    "sign_changed": (
        "the signs were changed, and the smallest element got the largest share",
        shares_of_negatives,
    ),
    "row_of_one_element_kept": (
        "a row of one element was left as it was",
        single_elements_kept,
    ),
    "clamped_not_shifted": (
        "the elements were clamped to [-88, 88], and nothing subtracted",
        shares_of_clamped,
    ),
    "new_maximum_does_not_rescale": (
        "the running sum was not rescaled at a new maximum",
        sum_not_rescaled,
    ),
    "equal_maxima_counted_once": (
        "an element equal to the running maximum was left out of the sum",
        equal_maxima_counted_once,
    ),
    "minus_infinity_less_minus_infinity": (
        "-inf was subtracted from -inf at the start of a row",
        minus_infinity_less_minus_infinity,
    ),
    **{
        f"first_block_of_{width}_masked_is_nan": (
            f"-inf was subtracted from -inf where the first {width} elements of a row are all -inf",
            partial(first_block_masked, width),
        )
        for width in (8, 16, 32, 64, 128)
    },
    **{
        f"sum_padded_to_vectors_of_{width}": (
            f"the last vector of {width} was filled up with zeros, and they were added up too",
            partial(padded_with_zeros, width),
        )
        for width in (4, 8, 16, 32)
    },
}


# Mutants of LogSoftmax.


def logarithms_of(shares: RowFunction, x: Array, axis: int) -> Array:
    """Mutant: the logarithms of wrong shares, computed in float64, where small ones do not vanish.

    The result has the shape and type of `x`.
    """
    return np.log(shares(x.astype(np.float64), axis)).astype(x.dtype)


def logarithms_without_maximum(x: Array, axis: int) -> Array:
    """Mutant: x − ln(sum of e^x), which overflows."""
    return x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True))


def logarithms_and_maximum(x: Array, axis: int) -> Array:
    """Mutant: the maximum is subtracted in the sum, and not from the elements."""
    return logarithms(x, axis) + xp.max(x, axis=axis, keepdims=True)


def decimal_logarithms(x: Array, axis: int) -> Array:
    """Mutant: the logarithms are decimal."""
    return logarithms(x, axis) / np.log(10.0, dtype=x.dtype)


#: Mutants of Softmax whose logarithms are no mistake that LogSoftmax could have.
WITHOUT_LOGARITHM = ("no_exponential", "logarithms", "one_hot", "clamped_not_shifted")
LOG_SOFTMAX_MUTANTS: RowMutants = {
    **{
        name: (text, partial(logarithms_of, shares))
        for name, (text, shares) in SOFTMAX_MUTANTS.items()
        if name not in WITHOUT_LOGARITHM
    },
    "nothing_subtracted": (
        "e^x was taken without subtracting the maximum",
        logarithms_without_maximum,
    ),
    "shares": ("Softmax was computed, without a logarithm", softmax),
    "maximum_lost": (
        "the maximum was subtracted in the sum, and not from the elements",
        logarithms_and_maximum,
    ),
    "base_10": ("the decimal logarithm was taken", decimal_logarithms),
}
for _op, _build in SOFTMAX.with_builders:
    _op.mutant_table(SOFTMAX_MUTANTS, build=_build)
for _op, _build in LOG_SOFTMAX.with_builders:
    _op.mutant_table(LOG_SOFTMAX_MUTANTS, build=_build)


# ── the first maximum of each row ─────────────────────────────────────────────────────────────


def one_hot(x: Array, axis: int) -> Array:
    """Return "1 for the first maximum value, and 0 for all others" along `axis`.

    The result has the shape and type of `x`. NaN is the largest, the smallest, or is exceeded by no
    number and exceeds none, so that a row's first element stays if it is NaN: NAN_IN_ORDER. As the
    largest, the first NaN has the one, or no element has, by NAN_IS_MARKED.
    """
    y = one_at(x, xp.argmax(x, axis=axis, keepdims=True), axis)
    if not has_nan(x):
        return y
    reading = NAN_IN_ORDER.reading()
    if reading != "largest":
        is_maximum = extremes_beside_nan(x, axis, reading, largest=True)
        return one_at(x, is_maximum.argmax(axis=axis, keepdims=True), axis)
    if NAN_IS_MARKED.reading() == "no_one":
        return xp.where(xp.isnan(x).any(axis=axis, keepdims=True), xp.zeros_like(y), y)
    return y


def one_at(x: Array, place: Array, axis: int) -> Array:
    """Return 1 at `place` along `axis`, and 0 elsewhere, in the shape and type of `x`.

    `place` has the shape of `x`, but size 1 along `axis`.
    """
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = np.arange(x.shape[axis]).reshape(shape)
    return xp.astype(xp.equal(places, place), x.dtype)


def one_put(x: Array, axis: int) -> Array:
    """Return 1 at the first maximum along `axis`, and 0 elsewhere, in the shape and type of `x`.

    x: a plain array. In a row with NaN the first NaN is the maximum.
    """
    y = np.zeros(x.shape, x.dtype)
    np.put_along_axis(y, xp.argmax(x, axis=axis, keepdims=True), 1, axis)
    return y


def jointly_by_order(x: Array, axes: Sequence[int], of_rows: RowFunction) -> Array:
    """Return `of_rows` of rows along several axes together; their order decides between maxima.

    "axisDirection = DML_AXIS_DIRECTION_INCREASING": the joint index runs through the axes in
    increasing order. Where they do not increase, and that matters, it does so, or runs as they are
    written: UNSORTED_AXES.
    """
    y = jointly(x, sorted(axes), of_rows)
    if [*axes] == sorted(axes):
        return y
    as_written = jointly(x, axes, of_rows)
    if np.array_equal(seen(y), seen(as_written)) or UNSORTED_AXES.reading() == "as_sorted":
        return y
    return as_written


def by_ordered_axes(of_rows: RowFunction) -> Mapping[int, Callable[..., Array]]:
    """Return the formulas of an operator with Axes, which decide what is first of equal maxima.

    Axes that do not increase count as sorted or as written: UNSORTED_AXES. They are by version, and
    raise InvalidNode for what `over_axes` refuses: more than 8 dimensions, or none, and Axes that
    are none, out of range or named twice.
    """
    return over_axes(JointAxes(of_rows, joined=jointly_by_order, order=as_listed))


HARDMAX = row_operators("Hardmax", "HARDMAX", low=0.0, high=1.0, exact=True)
HARDMAX_BUILDERS: Sequence[tuple[Operator, FormulaBuilder]] = (
    (HARDMAX.onnx, by_rows),
    (HARDMAX.last, by_last_axis),
    (HARDMAX.joint, by_ordered_axes),
)
for _op, _build in HARDMAX_BUILDERS:
    _op.formula(build=_build)(one_hot)
    _op.fast_path(build=_build)(one_put)


# Mutants of Hardmax.


def maximum_itself(x: Array, axis: int) -> Array:
    """Mutant: the maximum itself stands in place of a one."""
    return np.where(one_hot(x, axis) == 1, x, 0).astype(x.dtype)


def nan_passed_on(x: Array, axis: int) -> Array:
    """Mutant: NaN of the input comes out."""
    return np.where(np.isnan(x), x, one_hot(x, axis))


def single_elements_copied(x: Array, axis: int) -> Array:
    """Mutant: rows of one element are the input's."""
    return x if x.shape[axis] == 1 else one_hot(x, axis)


HARDMAX_MUTANTS: RowMutants = {
    "all_maxima": ("every maximum of a row had a one", every_maximum),
    "maximum_in_place_of_one": ("the maximum itself stood in place of a one", maximum_itself),
    "nan_passed_on": ("NaN of the input was passed on to the output", nan_passed_on),
    "rows_of_one_copied": (
        "rows of one element were left out as nothing to do, and the input copied",
        single_elements_copied,
    ),
}
for _op, _build in HARDMAX_BUILDERS:
    _op.mutant_table(HARDMAX_MUTANTS, build=_build)


@formulas_of_versions(each={1: 1, 11: 11})
def by_transposed_rows(of_rows: RowFunction, since: int, input: Array, *, axis: int) -> Array:
    """Mutant of versions 1 and 11: the axes of a row are in the reverse order, last axis first.

    of_rows: as in `by_rows`; since: the version.

    Raises InvalidNode for an axis outside [-r, r-1], and in version 1 for one that NEGATIVE_AXIS or
    AXIS_BEHIND_THE_LAST refuses; for an input of rank 0 too.
    """
    rank = input.ndim
    competing = range(axis % max(1, rank), rank)
    order = [*range(rank - len(competing)), *reversed(competing)]
    of_version = by_rows(of_rows)[since]
    return of_version(input.transpose(order), axis=axis).transpose(np.argsort(order))


HARDMAX.onnx.mutant(
    "the first of equal maxima was that of the transposed tensor",
    build=by_transposed_rows,
    name="ties_in_column_major_order",
)(one_hot)


# ── mutants of DirectML's rows ────────────────────────────────────────────────────────────────


def above_the_most(rank: int) -> bool:
    """Mutant: more than 8 dimensions are accepted."""
    return rank > MAX_RANK


def without_dimensions(rank: int) -> bool:
    """Mutant: a tensor without dimensions is accepted."""
    return rank < 1


def any_effective_rank(rank: int) -> bool:
    """Mutant: more than two sizes other than 1 are accepted."""
    return 2 < rank <= MAX_RANK


def last_axis_mutants(rows: LastAxis) -> NamedMutants[LastAxis]:
    """Return the mutants of an operator without Axes, by name, each with a text.

    rows: the right operator, of which each mutant changes a field.
    """
    return {
        "nine_dimensions_accepted": (
            "more than 8 dimensions were accepted",
            replace(rows, accepts=above_the_most),
        ),
        "no_dimension_accepted": (
            "a tensor without dimensions was accepted",
            replace(rows, accepts=without_dimensions),
        ),
        "any_effective_rank": (
            "more than two sizes other than 1 were accepted",
            replace(rows, accepts=any_effective_rank),
        ),
        "coercion": (
            "all axes but the first competed, as in ONNX before version 13",
            replace(rows, first_axis=1),
        ),
        "whole_tensor": ("all elements of the tensor competed", replace(rows, first_axis=0)),
    }


def refused_if_unsorted(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: axes that do not increase are refused; here, for an axis that no tensor has."""
    return axes if [*axes] == sorted(axes) else [rank]


def without_repetition(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: an axis that is listed twice is taken once."""
    return sorted({*axes})


def all_if_empty(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: no axes are all axes."""
    return axes or range(rank)


def counted_from_the_back(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: negative axes count from the back."""
    return [axis + rank if -rank <= axis < 0 else axis for axis in axes]


def with_axes_between(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: the axes between the first and the last compete too."""
    return range(min(axes), max(axes) + 1)


def complement(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: the other axes compete."""
    return sorted({*range(rank)} - {*axes})


def first_alone(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: only the first of the axes competes."""
    return [min(axes)]


def last_alone(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: only the last of the axes competes."""
    return [max(axes)]


def from_the_first_on(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: all axes from the first one compete."""
    return range(min(axes), rank)


def decreasing(axes: Sequence[int], rank: int) -> Sequence[int]:
    """Mutant: the joint index runs through the axes in decreasing order."""
    return sorted(axes, reverse=True)


def one_after_another(x: Array, axes: Sequence[int], of_rows: RowFunction) -> Array:
    """Mutant: the operator is computed along one axis, and of that along the next."""
    return reduce(lambda y, axis: jointly(y, [axis], of_rows), sorted(axes), x)


def joint_axes_mutants(rows: JointAxes) -> NamedMutants[JointAxes]:
    """Return the mutants that all operators with Axes have, by name, each with a text.

    rows: the right operator, of which each mutant changes a field.
    """
    # `jointly` keeps the order that a mutant gives the axes; the joined function of Hardmax sorts.
    in_order = replace(rows, joined=jointly)
    return {
        "nine_dimensions_accepted": (
            "more than 8 dimensions were accepted",
            replace(rows, accepts=above_the_most),
        ),
        "no_dimension_accepted": (
            "a tensor without dimensions was accepted",
            replace(rows, accepts=without_dimensions),
        ),
        "refuses_unsorted_axes": (
            "axes that do not increase were refused",
            replace(rows, read=refused_if_unsorted),
        ),
        "repeated_axes_counted_once": (
            "an axis that is listed twice was taken once",
            replace(rows, read=without_repetition),
        ),
        "no_axes_are_all": (
            "no axes at all were taken for all of them",
            replace(rows, read=all_if_empty),
        ),
        "negative_axes_accepted": (
            "negative axes were counted from the back",
            replace(rows, read=counted_from_the_back),
        ),
        "axes_between_too": (
            "all axes from the first to the last of those stated competed",
            replace(in_order, order=with_axes_between),
        ),
        "axes_complemented": (
            "the axes stated were kept apart, and the others competed",
            replace(in_order, order=complement),
        ),
        "first_of_the_axes_only": (
            "only the first of the axes competed",
            replace(in_order, order=first_alone),
        ),
        "last_of_the_axes_only": (
            "only the last of the axes competed",
            replace(in_order, order=last_alone),
        ),
        "coercion": (
            "all axes from the first stated competed, as in ONNX before version 13",
            replace(in_order, order=from_the_first_on),
        ),
        "one_axis_after_another": (
            "the operator was computed along one axis, and of that along the next",
            replace(rows, joined=one_after_another),
        ),
    }


def tie_mutants(rows: JointAxes) -> NamedMutants[JointAxes]:
    """Return the mutants where the order of the axes decides which maximum is the first.

    They are by name, each with a text.
    """
    return {
        "axes_in_the_order_stated": (
            "joint indices ran through the axes in the order in which they are stated",
            replace(rows, joined=jointly, order=as_listed),
        ),
        "ties_in_column_major_order": (
            "the first of equal maxima was that of the transposed tensor",
            replace(rows, joined=jointly, order=decreasing),
        ),
    }


for _operators, _of_rows in ((SOFTMAX, softmax), (LOG_SOFTMAX, logarithms), (HARDMAX, one_hot)):
    _operators.last.mutant_table(last_axis_mutants(LastAxis(_of_rows)), build=over_the_last)
    _operators.joint.mutant_table(joint_axes_mutants(JointAxes(_of_rows)), build=over_axes)
HARDMAX.joint.mutant_table(tie_mutants(JointAxes(one_hot)), build=over_axes)


# ── losses of class scores ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Samples:
    """What a loss is taken of.

    Attributes:
        logs: The log-probabilities of the classes, [N, C] or [N, C, d1, …].
        target: The class of each sample, [N] or [N, d1, …].
        weight: The weight of each class, [C]; None if it is left out.
        ignore_index: The target of samples that are left out; None for none.
    """

    logs: Array
    target: Array
    weight: Array
    ignore_index: int | None

    @property
    def classes(self) -> int:
        """C, the number of classes."""
        return int(self.logs.shape[1])

    @property
    def is_class(self) -> Array:
        """A mask of the samples whose target is in [0, C - 1]."""
        return (self.target >= 0) & (self.target < self.classes)

    @property
    def is_ignored(self) -> Array:
        """A mask of the samples whose target is ignore_index, which need not be a class."""
        if self.ignore_index is None:
            return np.zeros(self.target.shape, bool)
        return self.target == self.ignore_index


def check_samples(samples: Samples) -> None:
    """Raise InvalidNode for shapes that do not fit, and for a target outside of the classes.

    logs: [N, C, …], target: [N, …], weight: [C] or None. A target that is ignored may be any
    number.
    """
    logs, target = samples.logs, samples.target
    if logs.ndim < 2 or target.shape != (logs.shape[0], *logs.shape[2:]):
        raise InvalidNode(f"classes {list(target.shape)} of values {list(logs.shape)}")
    check_shape("weights", samples.weight, (samples.classes,))
    is_wrong = ~(samples.is_class | samples.is_ignored)
    if is_wrong.any():
        wrong = target[is_wrong][0]
        raise InvalidNode(f"class {wrong} is outside [0, {samples.classes - 1}]")


@dataclass(frozen=True)
class Losses:
    """The losses of samples, and by what their mean divides.

    Attributes:
        each: The loss of each sample, in the target's shape; 0 if it is ignored.
        applied: The weight of each sample, 0 if it is left out of the mean; None without weights.
        is_left_out: A mask of the samples that are left out of the mean.
        weight: The weight of each class, [C]; None if it is left out.
    """

    each: Array
    applied: Array
    is_left_out: Array
    weight: Array


#: Makes one number of losses, by their weights.
Mean: TypeAlias = Callable[[Losses], Array]


def losses_of(samples: Samples) -> Losses:
    """Return "-weight[c] * log(p)[c]" of each sample of class c, 0 of one that is ignored.

    The weight is 1 where none are given. Targets that are not ignored are classes.
    """
    is_ignored = samples.is_ignored
    # Ignored samples are of class C, which has the log-probability and the weight 0.
    class_of_each = np.where(is_ignored, samples.classes, samples.target)
    padding = [(0, 0)] * samples.logs.ndim
    padding[1] = (0, 1)
    logs = xp.pad(samples.logs, padding)
    of_class = xp.take_along_axis(logs, np.expand_dims(class_of_each, 1), axis=1)
    each = -xp.squeeze(of_class, axis=1)
    if samples.weight is None:
        return Losses(each, None, is_ignored, None)
    applied = xp.take(xp.pad(samples.weight, [(0, 1)]), class_of_each, axis=0)
    return Losses(each * applied, applied, is_ignored, samples.weight)


def with_ignored_counted(samples: Samples, losses: Losses) -> Losses:
    """Return the losses with no sample left out of the mean.

    Ignored samples have the weight of their target then, which must be a class if there are
    weights.
    """
    applied = losses.applied
    if applied is not None:
        applied = xp.take(samples.weight, samples.target, axis=0)
    return replace(losses, applied=applied, is_left_out=np.zeros(samples.target.shape, bool))


def mean(losses: Losses) -> Array:
    """Return the sum of the losses, divided by that of the weights applied, in their type.

    Without weights it is divided by the number of samples that are not left out; by 0 it is NaN.
    """
    if losses.applied is None:
        divisor: Array = np.float64((~losses.is_left_out).sum())
    else:
        divisor = xp.sum(losses.applied)
    return xp.astype(xp.sum(losses.each) / divisor, losses.each.dtype)


def reduced(
    samples: Samples, reduction: str, mean_of: Mean, *, may_count_ignored: bool = False
) -> Array:
    """Return the losses, their sum or their mean: by `reduction` none, sum or mean.

    A loss has the shape of the target, a sum or mean rank 0. mean_of: makes the mean.
    `may_count_ignored`: the mean leaves out ignored samples, or counts those that have a weight, by
    IGNORED_IN_THE_MEAN; otherwise it leaves them out.

    Raises InvalidNode for another reduction, for shapes that do not fit, and for a target that is
    neither a class nor ignored; NotSupported for a mean of no samples.
    """
    check_one_of("reduction", reduction, "none", "sum", "mean")
    check_samples(samples)
    if reduction == "mean" and not samples.target.size:
        raise_unspecified("means of nothing")
    losses = losses_of(samples)
    if reduction == "none":
        return losses.each
    if reduction == "sum":
        return xp.sum(losses.each)
    # With weights, an ignored target that is no class has none, and cannot be counted.
    is_countable = samples.is_ignored & (samples.is_class | (samples.weight is None))
    is_open = may_count_ignored and is_countable.any()
    if is_open and IGNORED_IN_THE_MEAN.reading() == "counted":
        losses = with_ignored_counted(samples, losses)
    return mean_of(losses)


def as_given(samples: Samples) -> Samples:
    """Return the samples as they are."""
    return samples


@dataclass(frozen=True)
class LikelihoodLoss:
    """How NegativeLogLikelihoodLoss is computed; mutants do otherwise.

    Attributes:
        mean: Makes one number of the losses.
        taken: The samples that are computed with.
    """

    mean: Mean = mean
    taken: Callable[[Samples], Samples] = as_given


@formulas_of_versions(12, 13, 22)
def of_likelihoods(
    loss: LikelihoodLoss,
    input: Array,
    target: Array,
    weight: Array = None,
    *,
    ignore_index: int | None,
    reduction: str,
) -> Array:
    """Return the loss of log-probabilities: each, or their sum or mean, by `reduction`.

    input: [N, C] or [N, C, d1, …]; target: [N] or [N, d1, …], classes or ignore_index; weight: [C],
    all 1 if it is left out. An ignored sample has the loss 0 and is left out of the mean, which is
    NaN if all are. loss: the steps, which mutants change.

    Raises InvalidNode for other shapes, another reduction, and a target that is neither a class nor
    ignored; NotSupported for a mean of no samples.
    """
    samples = loss.taken(Samples(input, target, weight, ignore_index))
    return reduced(samples, reduction, loss.mean)


@dataclass(frozen=True)
class ScoreLoss:
    """How SoftmaxCrossEntropyLoss is computed; mutants do otherwise.

    Attributes:
        logarithms: Makes log-probabilities of the scores of each sample.
        mean: Makes one number of the losses.
    """

    logarithms: RowFunction
    mean: Mean = mean


@formulas_of_versions(12, 13)
def of_scores(
    loss: ScoreLoss,
    scores: Array,
    labels: Array,
    weights: Array = None,
    *,
    ignore_index: int | None,
    reduction: str,
) -> tuple[Array, Array]:
    """Return the loss of scores, and their log-probabilities along axis 1.

    scores: [N, C] or [N, C, d1, …]; labels: [N] or [N, d1, …], classes or ignore_index; weights:
    [C], all 1 if left out. The loss is that of each sample, or the sum or mean, by `reduction`. An
    ignored sample has the loss 0; the mean leaves it out, or may count it: IGNORED_IN_THE_MEAN. A
    mean that leaves out all samples is NaN. loss: the steps, which mutants change.

    Raises InvalidNode for other shapes, another reduction, and a label that is neither a class nor
    ignored; NotSupported for a mean of no samples.
    """
    has_rows = scores.ndim > 1 and scores.size
    log_prob = loss.logarithms(scores, 1) if has_rows else scores
    samples = Samples(log_prob, labels, weights, ignore_index)
    return reduced(samples, reduction, loss.mean, may_count_ignored=True), log_prob


def by_logarithms(function: RowFunction) -> Mapping[int, Callable[..., Any]]:
    """Return the formulas of SoftmaxCrossEntropyLoss from what makes log-probabilities, by version.

    They raise InvalidNode for shapes, reductions and labels that do not fit, NotSupported for a
    mean of no samples; the mean leaves ignored samples out or counts them: IGNORED_IN_THE_MEAN.
    """
    return of_scores(ScoreLoss(function))


NLL = operator("NegativeLogLikelihoodLoss")
CROSS_ENTROPY = operator("SoftmaxCrossEntropyLoss")
NLL.formula(build=of_likelihoods)(LikelihoodLoss())
LOGARITHMS.declare(CROSS_ENTROPY, by_logarithms, INFINITE_SHARE_OR_LIMIT)


# Mutants of losses.


def mean_of_all(losses: Losses) -> Array:
    """Mutant: the sum is divided by the number of samples, though weighted or ignored."""
    return xp.mean(losses.each)


def mean_of_batches(losses: Losses) -> Array:
    """Mutant: the sum is divided by the number of batches."""
    return xp.sum(losses.each) / len(losses.each)


def mean_by_all_weights(losses: Losses) -> Array:
    """Mutant: the sum is divided by that of all weights, applied or not."""
    return mean(replace(losses, applied=losses.weight))


def mean_weighted_twice(losses: Losses) -> Array:
    """Mutant: the weights are applied twice."""
    if losses.applied is None:
        return mean(losses)
    return mean(replace(losses, each=losses.each * losses.applied))


def mean_of_means(losses: Losses) -> Array:
    """Mutant: the mean of the means of all batches."""
    weights = ~losses.is_left_out if losses.applied is None else losses.applied
    pairs = zip(losses.each, weights, strict=True)
    return np.mean([np.sum(loss) / np.sum(weight) for loss, weight in pairs])


def classes_last(samples: Samples) -> Samples:
    """Mutant: the classes are along the last axis if it is as long as axis 1."""
    shape = samples.logs.shape
    is_ambiguous = len(shape) > 1 and shape[1] == shape[-1]
    return replace(samples, logs=samples.logs.swapaxes(1, -1)) if is_ambiguous else samples


def classes_never_ignored(samples: Samples) -> Samples:
    """Mutant: ignore_index is ignored where it is a class other than 0."""
    is_class = samples.ignore_index is not None and samples.ignore_index > 0
    return replace(samples, ignore_index=None) if is_class else samples


def logarithms_along_the_last(x: Array, axis: int) -> Array:
    """Mutant: the classes are along the last axis."""
    return logarithms(x, x.ndim - 1)


def scores_themselves(x: Array, axis: int) -> Array:
    """Mutant: the scores are log-probabilities already."""
    return x


MEANS: NamedMutants[Mean] = {
    "mean_of_all": (
        "the sum was divided by the number of samples, though weighted or ignored",
        mean_of_all,
    ),
    "mean_of_batches": ("the sum was divided by the number of batches", mean_of_batches),
    "mean_by_all_weights": (
        "the sum was divided by that of all weights, applied or not",
        mean_by_all_weights,
    ),
    "mean_weighted_twice": (
        "the weights were applied twice before the mean",
        mean_weighted_twice,
    ),
    "mean_of_means": ("the mean of the means of all batches was taken", mean_of_means),
}
NLL.mutant_table(
    {
        **{name: (text, LikelihoodLoss(mean=wrong)) for name, (text, wrong) in MEANS.items()},
        "classes_last": (
            "the classes were taken along the last axis where it is as long",
            LikelihoodLoss(taken=classes_last),
        ),
        "class_never_ignored": (
            "ignore_index was ignored where it is a class",
            LikelihoodLoss(taken=classes_never_ignored),
        ),
    },
    build=of_likelihoods,
)
CROSS_ENTROPY.mutant_table(
    {
        **{name: (text, ScoreLoss(logarithms, wrong)) for name, (text, wrong) in MEANS.items()},
        "shares_along_last_axis": (
            "the scores' last axis was that of their classes",
            ScoreLoss(logarithms_along_the_last),
        ),
        "shares_of_no_logarithm": ("the shares were taken without a logarithm", ScoreLoss(softmax)),
        "no_shares": ("the scores were log-probabilities already", ScoreLoss(scores_themselves)),
    },
    build=of_scores,
)
