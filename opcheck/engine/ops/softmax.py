"""e^x of each row in shares of their sum, their logarithms, losses by these, and the first maximum.

DirectML's operators whose names end in 1 have a row along several axes together. The joint index of
DML_ACTIVATION_HARDMAX1 runs over these in increasing dimension order, row-major; the first maximum
in that order (DML_AXIS_DIRECTION_INCREASING) gets the 1. Unsorted axes, which the text leaves open,
count as sorted.
"""

from functools import partial, reduce
from math import ceil, prod
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.errors import InvalidNode
from opcheck.opset import DML
from opcheck.opset.direct_ml import MAX_RANK, invalid_axes, invalid_sizes

NAMES = """DML_ACTIVATION_HARDMAX DML_ACTIVATION_HARDMAX1 DML_ACTIVATION_LOG_SOFTMAX
DML_ACTIVATION_LOG_SOFTMAX1 DML_ACTIVATION_SOFTMAX DML_ACTIVATION_SOFTMAX1 Hardmax LogSoftmax
NegativeLogLikelihoodLoss Softmax SoftmaxCrossEntropyLoss"""


def jointly(x, axes, of_rows):
    """Apply `of_rows(x, axis)` to rows along `axes`; the last axis runs fastest."""
    if not x.size:
        return x
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    moved = xp.permute_dims(x, order)
    rows = xp.reshape(moved, (prod(moved.shape[: x.ndim - len(axes)]), -1))
    return xp.permute_dims(xp.reshape(of_rows(rows, 1), moved.shape), np.argsort(order))


@formula_builder(1, options=["accepted", "begin"])
def along_the_last(of_rows, InputTensor, *, accepted=lambda rank: False, begin=-1):
    x = InputTensor
    if (problem := invalid_sizes(x.shape)) and not accepted(x.ndim):
        raise InvalidNode(problem)
    return jointly(x, [*range(x.ndim)][begin:], of_rows)


@formula_builder(1, options=["accepted", "read", "change", "joined"])
def over_axes(
    of_rows,
    InputTensor,
    *,
    Axes,
    accepted=lambda rank: False,
    read=lambda axes, rank: axes,
    change=lambda axes, rank: sorted(axes),
    joined=jointly,
):
    """Rows along Axes. Mutants `read` others, `change` legal ones, or have ranks `accepted`."""
    x, axes = InputTensor, read(Axes, InputTensor.ndim)
    if accepted(x.ndim):
        axes = {axis for axis in axes if 0 <= axis < x.ndim}
    elif problem := invalid_axes(axes, x.ndim):
        raise InvalidNode(problem)
    return joined(x, change(axes, x.ndim), of_rows)


def of_each_domain(name, dml_name, **options):
    """An operator of ONNX, and DirectML's two like it, with what makes their formulas."""
    of_dml = [operator(f"DML_ACTIVATION_{dml_name}{one}", DML, **options) for one in ("", "1")]
    ops = [operator(name, **options), *of_dml]
    return [*zip(ops, (by_rows, along_the_last, over_axes), strict=True)]


SOFTMAX = of_each_domain("Softmax", "SOFTMAX", low=0.0, high=1.0)
LOG_SOFTMAX = of_each_domain("LogSoftmax", "LOG_SOFTMAX")
HARDMAX = of_each_domain("Hardmax", "HARDMAX", low=0.0, high=1.0, exact=True)
NLL, CROSS_ENTROPY = map(operator, ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
RAW = "where the raw log-sum-exp is subtracted: not shift invariant"


def plain(x, axis):
    """e^(x − max) over its sum, as the function body of version 13 says."""
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def logarithms(x, axis):
    d = x - xp.max(x, axis=axis, keepdims=True)
    return d - xp.log(xp.sum(xp.exp(d), axis=axis, keepdims=True))


def without_maxima(x, axis):
    """e^x over its sum: to find maxima takes longer, and is needed for other sums than these."""
    e = np.exp(x)
    total = np.sum(e, axis=axis, keepdims=True)
    # Below, shares lose digits where e^x is subnormal; NaN is in no range.
    return e / total if total.min() >= 2.0**-20 and total.max() < np.inf else plain(x, axis)


def in_blocks(x, axis):
    """e^(x − m) below the maximum m of a block or so far, then brought down to the row's own.

    That takes each element another exponential and a product, and the sum what `rescaled` says.
    """
    _, e, total = terms_in_blocks(x, axis)
    return e / total


def terms_in_blocks(x, axis):
    d = x - xp.max(x, axis=axis, keepdims=True)
    e = xp.inexact(xp.exp(d), np.where(xp.values_of(d) < 0, EXP_AND_PRODUCT, 0.0))
    total = xp.sum(e, axis=axis, keepdims=True)
    lost = EXP_AND_PRODUCT * rescaled(xp.values_of(d), xp.values_of(xp.exp(d) / total), axis)
    return d, e, xp.inexact(total, lost)


def raw_logarithms(x, axis):
    """x − (max + ln s), in which the rounding of max + ln s stays."""
    top = xp.max(x, axis=axis, keepdims=True)
    return x - (top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)))


for _op, _by in SOFTMAX:
    # One exponential for each element, and no division; and in blocks.
    _op.formula_and_alternatives(_by, plain, lambda x, axis: xp.exp(logarithms(x, axis)), in_blocks)
    _op.fast_path(build=_by)(without_maxima)
    _op.alternative(RAW, build=_by)(lambda x, axis: xp.exp(raw_logarithms(x, axis)))

#: Unit roundoffs of another exponential and its product.
EXP_AND_PRODUCT = 9.0


def rescaled(d, y, axis):
    """The mass that an online algorithm multiplies by e^(old − new maximum), in shares of the sum.

    It does so at each new maximum, along a row or in L = 2, 4, 8, … lanes, strided or contiguous,
    and where lanes are merged in pairs: the largest of all of these.
    """
    d, y = (np.moveaxis(part, axis, -1) for part in (d, y))
    ways = [climbed(d, y), climbed(d[..., ::-1], y[..., ::-1])]
    for power in range(1, d.shape[-1].bit_length()):
        ways += [in_lanes(d, y, 2**power, strided) for strided in (False, True)]
    return np.moveaxis(np.maximum.reduce(ways), -1, axis)


def climbed(d, y):
    """The mass rescaled on the way along the last axis, which is kept with size 1."""
    running = np.maximum.accumulate(d, axis=-1)
    higher = running[..., 1:] > running[..., :-1]
    return np.where(higher, np.cumsum(y, axis=-1)[..., :-1], 0.0).sum(axis=-1, keepdims=True)


def in_lanes(d, y, lanes, strided):
    """The mass rescaled within `lanes` lanes, a power of two, and when they are merged."""
    heights, masses = (cut(part, lanes, strided, fill) for part, fill in ((d, -np.inf), (y, 0.0)))
    total = climbed(heights, masses).sum(axis=-2)
    top, mass = heights.max(axis=-1), masses.sum(axis=-1)
    while top.shape[-1] > 1:
        left, right = top[..., ::2], top[..., 1::2]
        losing = np.where(left < right, mass[..., ::2], 0.0)
        losing += np.where(right < left, mass[..., 1::2], 0.0)
        total = total + losing.sum(axis=-1, keepdims=True)
        top, mass = np.maximum(left, right), mass[..., ::2] + mass[..., 1::2]
    return total


def cut(rows, lanes, strided, fill):
    """Rows (…, N) as (…, lanes, ⌈N/lanes⌉), the last of it filled up."""
    *others, length = rows.shape
    each = ceil(length / lanes)
    padded = np.full((*others, lanes * each), fill)
    padded[..., :length] = rows
    if strided:
        return padded.reshape(*others, each, lanes).swapaxes(-1, -2)
    return padded.reshape(*others, lanes, each)


def plainly(x, axis):
    e = xp.exp(x)
    return e / xp.sum(e, axis=axis, keepdims=True)


def in_masked_rows(share, x, axis):
    """The formula, where rows of -inf alone get a share of their own, from their length."""
    masked = x.max(axis, keepdims=True) == -np.inf
    return np.where(masked, np.full_like(x, share(x.shape[axis])), plain(x, axis))


def where_nan(x, then, y):
    return np.where(np.isnan(x), then, y).astype(x.dtype)


so_far = np.maximum.accumulate


def equal_maxima_counted_once(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    added = np.moveaxis(e.copy(), axis, -1)
    x, before = np.moveaxis(x, axis, -1), np.moveaxis(so_far(x, axis), axis, -1)
    added[..., 1:][x[..., 1:] == before[..., :-1]] = 0
    return e / np.moveaxis(added.sum(-1, keepdims=True), -1, axis)


def minus_infinity_less_minus_infinity(x, axis):
    top, before = x.max(axis, keepdims=True), so_far(x, axis)
    total = (np.exp(x - before) * np.exp(before - top)).sum(axis, keepdims=True)
    return np.exp(x - top) / total


def first_block_masked(width, x, axis):
    first = np.take(x, range(min(width, x.shape[axis])), axis)
    masked = np.isneginf(first).all(axis, keepdims=True) & (x.shape[axis] > width)
    return np.where(masked, np.nan, plain(x, axis)).astype(x.dtype)


def padded_with_zeros(width, x, axis):
    missing = -x.shape[axis] % width
    top = np.maximum(x.max(axis, keepdims=True), 0) if missing else x.max(axis, keepdims=True)
    e = np.exp(x - top)
    return e / (e.sum(axis, keepdims=True) + missing * np.exp(-top)).astype(x.dtype)


MUTANTS = {
    "no_exponential": (
        "the elements themselves were divided by their sum, without an exponential",
        lambda x, axis: x / xp.sum(x, axis=axis, keepdims=True),
    ),
    "nothing_subtracted": ("e^x was taken without subtracting the maximum", plainly),
    "logarithms": ("LogSoftmax was computed", logarithms),
    "one_hot": (
        "the maxima were marked with 1, as Hardmax does",
        lambda x, axis: xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype),
    ),
    "twice": ("Softmax was applied twice", lambda x, axis: plain(plain(x, axis), axis)),
    "clipped": (
        "the shares were clipped to [1e-7, 1 - 1e-7]",
        lambda x, axis: np.clip(plain(x, axis), 1e-7, 1 - 1e-7),
    ),
    "no_share_in_a_masked_row": (
        "a row of -inf alone got no share",
        partial(in_masked_rows, lambda n: 0),
    ),
    "equal_shares_in_a_masked_row": (
        "a row of -inf alone got equal shares",
        partial(in_masked_rows, lambda n: 1 / n),
    ),
    "nan_alone": (
        "NaN stayed where it was, and made 0 of the other elements of its row",
        lambda x, axis: where_nan(
            x, x, np.where(np.isnan(x).any(axis, keepdims=True), 0, plain(x, axis))
        ),
    ),
    "nan_masked": (
        "NaN was taken for -inf, and got no share",
        lambda x, axis: where_nan(x, 0, plain(where_nan(x, -np.inf, x), axis)),
    ),
    "nan_skipped": (
        "NaN was left out of the maximum and the sum, and stayed where it was",
        lambda x, axis: (
            (e := np.exp(x - np.fmax.reduce(x, axis=axis, keepdims=True)))
            / np.nansum(e, axis=axis, keepdims=True)
        ),
    ),
    "sign_lost": ("the magnitudes of the elements were taken", lambda x, axis: plain(abs(x), axis)),
    "sign_changed": (
        "the signs were changed, and the smallest element got the largest share",
        lambda x, axis: plain(-x, axis),
    ),
    "row_of_one_element_kept": (
        "a row of one element was left as it was",
        lambda x, axis: x if x.shape[axis] == 1 else plain(x, axis),
    ),
    "clamped_not_shifted": (
        "the elements were clamped to [-88, 88], and nothing subtracted",
        lambda x, axis: plainly(np.where(np.isinf(x), x, np.clip(x, -88, 88)), axis),
    ),
    "new_maximum_does_not_rescale": (
        "the running sum was not rescaled at a new maximum",
        lambda x, axis: (
            np.exp(x - x.max(axis, keepdims=True))
            / np.exp(x - so_far(x, axis)).sum(axis, keepdims=True)
        ),
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
for _op, _by in SOFTMAX:
    _op.mutant_table(MUTANTS, build=_by)


def logarithms_in_blocks(x, axis):
    d, _, total = terms_in_blocks(x, axis)
    return d - xp.log(total)


LOG_MUTANTS: dict[str, Any] = {
    # The logarithm of wrong shares, which float64 holds where the tensor's type does not.
    **{
        name: (
            text,
            lambda x, axis, shares=shares: np.log(shares(x.astype(np.float64), axis)).astype(
                x.dtype
            ),
        )
        for name, (text, shares) in MUTANTS.items()
        if name not in ("no_exponential", "logarithms", "one_hot", "clamped_not_shifted")
    },
    "nothing_subtracted": (
        "e^x was taken without subtracting the maximum",
        lambda x, axis: x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True)),
    ),
    "shares": ("Softmax was computed, without a logarithm", plain),
    "maximum_lost": (
        "the maximum was subtracted in the sum, and not from the elements",
        lambda x, axis: logarithms(x, axis) + xp.max(x, axis=axis, keepdims=True),
    ),
    "base_10": (
        "the decimal logarithm was taken",
        lambda x, axis: logarithms(x, axis) / np.log(10.0, dtype=x.dtype),
    ),
}
for _op, _by in LOG_SOFTMAX:
    _op.mutant_table(LOG_MUTANTS, build=_by)


def one_hot(x, axis):
    """1 at the first maximum along `axis`, which is the first NaN where there is one."""
    places = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return xp.astype(xp.equal(places, xp.argmax(x, axis=axis, keepdims=True)), x.dtype)


def put(x, axis):
    y = np.zeros(x.shape, x.dtype)
    np.put_along_axis(y, xp.argmax(x, axis=axis, keepdims=True), 1, axis)
    return y


OF_ROWS = {
    "all_maxima": ("every maximum of a row had a one", MUTANTS["one_hot"][1]),
    "maximum_in_place_of_one": (
        "the maximum itself stood in place of a one",
        lambda x, axis: np.where(one_hot(x, axis) == 1, x, 0).astype(x.dtype),
    ),
    "nan_passed_on": (
        "NaN of the input was passed on to the output",
        lambda x, axis: np.where(np.isnan(x), x, one_hot(x, axis)),
    ),
    "rows_of_one_copied": (
        "rows of one element were left out as nothing to do, and the input copied",
        lambda x, axis: x if x.shape[axis] == 1 else one_hot(x, axis),
    ),
}
for _op, _by in HARDMAX:
    _op.formula(build=_by)(one_hot)
    _op.fast_path(build=_by)(put)
    _op.mutant_table(OF_ROWS, build=_by)


@formula_builder(each={1: 1, 11: 11})
def transposed(of_rows, since, input, *, axis):
    """Versions 1 and 11 of what competes in the order of the last axis first."""
    competing = range(axis % max(1, input.ndim), input.ndim)
    order = [*range(input.ndim - len(competing)), *reversed(competing)]
    return by_rows(of_rows)[since](input.transpose(order), axis=axis).transpose(np.argsort(order))


HARDMAX[0][0].mutant(
    "the first of equal maxima was that of the transposed tensor",
    build=transposed,
    name="ties_in_column_major_order",
)(one_hot)


OF_RANKS: dict[str, Any] = {
    "nine_dimensions_accepted": (
        "more than 8 dimensions were accepted",
        {"accepted": lambda rank: rank > MAX_RANK},
    ),
    "no_dimension_accepted": (
        "a tensor without dimensions was accepted",
        {"accepted": lambda rank: rank < 1},
    ),
}
OF_THE_LAST: dict[str, Any] = {
    **OF_RANKS,
    "any_effective_rank": (
        "more than two sizes other than 1 were accepted",
        {"accepted": lambda rank: 2 < rank <= MAX_RANK},
    ),
    "coercion": ("all axes but the first competed, as in ONNX before version 13", {"begin": 1}),
    "whole_tensor": ("all elements of the tensor competed", {"begin": 0}),
}
OF_AXES: dict[str, Any] = {
    **OF_RANKS,
    "refuses_unsorted_axes": (
        "axes that do not increase were refused",
        {"read": lambda axes, rank: axes if [*axes] == sorted(axes) else [rank]},
    ),
    "repeated_axes_counted_once": (
        "an axis that is listed twice was taken once",
        {"read": lambda axes, rank: sorted({*axes})},
    ),
    "no_axes_are_all": (
        "no axes at all were taken for all of them",
        {"read": lambda axes, rank: axes or range(rank)},
    ),
    "negative_axes_accepted": (
        "negative axes were counted from the back",
        {"read": lambda axes, rank: [a % rank if -rank <= a < 0 else a for a in axes]},
    ),
    "axes_between_too": (
        "all axes from the first to the last of those stated competed",
        {"change": lambda axes, rank: [*range(min(axes), max(axes) + 1)]},
    ),
    "axes_complemented": (
        "the axes stated were kept apart, and the others competed",
        {"change": lambda axes, rank: [*sorted({*range(rank)} - {*axes})]},
    ),
    "first_of_the_axes_only": (
        "only the first of the axes competed",
        {"change": lambda axes, rank: [min(axes)]},
    ),
    "last_of_the_axes_only": (
        "only the last of the axes competed",
        {"change": lambda axes, rank: [max(axes)]},
    ),
    "coercion": (
        "all axes from the first stated competed, as in ONNX before version 13",
        {"change": lambda axes, rank: [*range(min(axes), rank)]},
    ),
    "one_axis_after_another": (
        "the operator was computed along one axis, and of that along the next",
        {
            "joined": lambda x, axes, of_rows: reduce(
                lambda y, axis: jointly(y, [axis], of_rows), axes, x
            )
        },
    ),
}
OF_TIES: dict[str, Any] = {
    "axes_in_the_order_stated": (
        "joint indices ran through the axes in the order in which they are stated",
        {"change": lambda axes, rank: axes},
    ),
    "ties_in_column_major_order": (
        "the first of equal maxima was that of the transposed tensor",
        {"change": lambda axes, rank: sorted(axes)[::-1]},
    ),
}
for _ops, _of_rows, _more in (
    (SOFTMAX, plain, {}),
    (LOG_SOFTMAX, logarithms, {}),
    (HARDMAX, one_hot, OF_TIES),
):
    for (_op, _by), _table in zip(_ops[1:], (OF_THE_LAST, OF_AXES | _more), strict=True):
        _op.mutant_table(_table, build=lambda changed, by=_by, step=_of_rows: by(step, **changed))


def _loss(averaged, logs, target, weight, ignore_index, reduction, literal=False):
    """The loss, with means by `averaged(losses, applied, ignored, weights)`.

    Of ignored samples no weight is applied, though by the `literal` text it is in the mean.
    """
    classes = logs.shape[1] if logs.ndim > 1 else -1
    if logs.ndim < 2 or target.shape != (logs.shape[0], *logs.shape[2:]):
        raise InvalidNode(f"classes {list(target.shape)} of values {list(logs.shape)}")
    check_shape("weights", weight, (classes,))
    check_one_of("reduction", reduction, "none", "sum", "mean")
    inside = (target >= 0) & (target < classes)
    ignored = np.zeros(target.shape, bool) if ignore_index is None else target == ignore_index
    if (wrong := ~(inside | ignored)).any():
        raise InvalidNode(f"class {target[wrong][0]} is outside [0, {classes - 1}]")
    if reduction == "mean" and not target.size:
        raise_unspecified("means of nothing")
    if reduction == "mean" and literal and (ignored & (inside | (weight is None))).any():
        leave_open(
            "the text has ignored samples in the mean, and the function body leaves them out"
        )
    # Ignored elements are of one class more, of zeros.
    at, more = np.where(ignored, classes, target), [(0, int(n == 1)) for n in range(logs.ndim)]
    picked = xp.take_along_axis(xp.pad(logs, more), np.expand_dims(at, 1), axis=1)
    losses, applied = -xp.squeeze(picked, axis=1), None
    if weight is not None:
        applied = xp.take(xp.pad(weight, [(0, 1)]), at, axis=0)
        losses = losses * applied
    if reduction == "none":
        return losses
    return xp.sum(losses) if reduction == "sum" else averaged(losses, applied, ignored, weight)


@formula_builder(12, 13, 22, options=["change"])
def of_likelihood(
    averaged, input, target, weight=None, *, ignore_index, reduction, change=lambda *of: of
):
    """All versions of the loss of log-probabilities; see `_loss`. `change` is of what it takes."""
    logs, target, weight, ignore_index = change(input, target, weight, ignore_index)
    return _loss(averaged, logs, target, weight, ignore_index, reduction)


@formula_builder(12, 13, options=["averaged"])
def of_scores(logarithms, scores, labels, weights=None, *, ignore_index, reduction, averaged):
    """Both versions of the loss of scores, from `logarithms(x, axis)` of their shares."""
    logs = scores if scores.ndim < 2 or not scores.size else logarithms(scores, 1)
    return _loss(averaged, logs, labels, weights, ignore_index, reduction, True), logs


def mean(losses, applied, ignored, weight):
    """Their sum, divided by that of the weights applied."""
    count = np.float64((~ignored).sum())
    return xp.astype(xp.sum(losses) / (count if applied is None else xp.sum(applied)), losses.dtype)


NLL.formula(build=of_likelihood)(mean)
_by_scores = partial(of_scores, averaged=mean)
for _op, _by in (*LOG_SOFTMAX, (CROSS_ENTROPY, _by_scores)):
    # As the function bodies say: so no share vanishes. By the text's own words -inf may come of one
    # that does, of which one is warned.
    _op.formula_and_alternatives(
        _by, logarithms, lambda x, axis: xp.log(plain(x, axis)), logarithms_in_blocks
    )
    _op.alternative(RAW, build=_by)(raw_logarithms)

#: Wrong means, of either operator.
MEANS = {
    "mean_of_all": (
        "the sum was divided by the number of samples, though weighted or ignored",
        lambda losses, *of: xp.mean(losses),
    ),
    "mean_of_batches": (
        "the sum was divided by the number of batches",
        lambda losses, *of: xp.sum(losses) / len(losses),
    ),
    "mean_by_all_weights": (
        "the sum was divided by that of all weights, applied or not",
        lambda losses, applied, ignored, weight: mean(losses, weight, ignored, weight),
    ),
    "mean_weighted_twice": (
        "the weights were applied twice before the mean",
        lambda x, applied, *of: mean(x if applied is None else x * applied, applied, *of),
    ),
    "mean_of_means": (
        "the mean of the means of all batches was taken",
        lambda losses, applied, ignored, weight: np.mean(
            [
                np.sum(x) / np.sum(w)
                for x, w in zip(losses, ~ignored if applied is None else applied, strict=True)
            ]
        ),
    ),
}
NLL.mutant_table(MEANS, build=of_likelihood)
CROSS_ENTROPY.mutant_table(MEANS, build=lambda averaged: of_scores(logarithms, averaged=averaged))
NLL.mutant_table(
    {
        "classes_last": (
            "the classes were taken along the last axis where it is as long",
            lambda x, *of: (x.swapaxes(1, -1) if () != x.shape[1:2] == x.shape[-1:] else x, *of),
        ),
        "class_never_ignored": (
            "ignore_index was ignored where it is a class",
            lambda x, target, weight, i: (x, target, weight, None if i and i >= 0 else i),
        ),
    },
    build=lambda change: of_likelihood(mean, change=change),
)
CROSS_ENTROPY.mutant_table(
    {
        "shares_along_last_axis": (
            "the scores' last axis was that of their classes",
            lambda x, axis: logarithms(x, x.ndim - 1),
        ),
        "shares_of_no_logarithm": ("the shares were taken without a logarithm", plain),
        "no_shares": ("the scores were log-probabilities already", lambda x, axis: x),
    },
    build=_by_scores,
)
