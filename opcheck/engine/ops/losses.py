"""Losses of classes by their log-probabilities, or by scores of which those are made."""

from functools import partial
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import is_open, operator
from opcheck.engine.ops import log_softmax, softmax
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss
"""
NLL, CROSS_ENTROPY = map(operator, NAMES.split())


def _loss(averaged, logs, target, weight, ignore_index, reduction, literal=False):
    """The loss, with means by `averaged(losses, applied, ignored, weights)`.

    Of ignored samples no weight is applied, though by the `literal` text it is in the mean.
    """
    classes = logs.shape[1] if logs.ndim > 1 else -1
    if logs.ndim < 2 or target.shape != (logs.shape[0], *logs.shape[2:]):
        raise InvalidNode(f"classes {list(target.shape)} of values {list(logs.shape)}")
    if weight is not None and weight.shape != (classes,):
        raise InvalidNode(f"weights of shape {list(weight.shape)}; allowed: [{classes}]")
    if reduction not in ("none", "sum", "mean"):
        raise InvalidNode(f"reduction {reduction!r}; allowed: none, sum, mean")
    inside = (target >= 0) & (target < classes)
    ignored = np.zeros(target.shape, bool) if ignore_index is None else target == ignore_index
    if (wrong := ~(inside | ignored)).any():
        raise InvalidNode(f"class {target[wrong][0]} is outside [0, {classes - 1}]")
    if reduction == "mean" and not target.size:
        raise NotSupported("nothing is said of means of nothing")
    if reduction == "mean" and literal and (ignored & (inside | (weight is None))).any():
        is_open("the text has ignored samples in the mean, and the function body leaves them out")
    # What is ignored is of one class more, of zeros.
    at, more = np.where(ignored, classes, target), [(0, int(n == 1)) for n in range(logs.ndim)]
    picked = xp.take_along_axis(xp.pad(logs, more), np.expand_dims(at, 1), axis=1)
    losses, applied = -xp.squeeze(picked, axis=1), None
    if weight is not None:
        applied = xp.take(xp.pad(weight, [(0, 1)]), at, axis=0)
        losses = losses * applied
    if reduction == "none":
        return losses
    return xp.sum(losses) if reduction == "sum" else averaged(losses, applied, ignored, weight)


def of_likelihood(averaged: Any, change: Any = lambda *of: of) -> Any:
    """All versions of the loss of log-probabilities; see `_loss`. `change` is of what it takes."""

    def formula(input, target, weight=None, *, ignore_index, reduction):
        steps = (*change(input, target, weight, ignore_index), reduction)
        return _loss(averaged, *steps)

    return dict.fromkeys((12, 13, 22), formula)


def of_scores(logarithms: Any, averaged: Any) -> Any:
    """Both versions of the loss of scores, from `logarithms(x, axis)` of their shares."""

    def formula(scores, labels, weights=None, *, ignore_index, reduction):
        empty = scores.ndim < 2 or not scores.size
        logs = scores if empty else logarithms(scores, 1)
        return _loss(averaged, logs, labels, weights, ignore_index, reduction, True), logs

    return dict.fromkeys((12, 13), formula)


def mean(losses, applied, ignored, weight):
    """Their sum, divided by that of the weights applied."""
    count = np.float64((~ignored).sum())
    total = xp.sum(losses) / (count if applied is None else xp.sum(applied))
    return xp.astype(total, losses.dtype)


NLL.formula(by=of_likelihood)(mean)
_by_scores = partial(of_scores, averaged=mean)
CROSS_ENTROPY.formula(by=_by_scores)(log_softmax.of_shares)
CROSS_ENTROPY.also_honest("", by=_by_scores)(softmax.logarithms)
CROSS_ENTROPY.also_honest("", by=_by_scores)(log_softmax.in_blocks)
CROSS_ENTROPY.also_honest(softmax.RAW, by=_by_scores)(softmax.raw_logarithms)

#: Wrong means, of either operator.
MEANS = {
    "mean_of_all": ("the sum was divided by the number of samples, though weighted or ignored",
        lambda losses, *of: xp.mean(losses)),
    "mean_of_batches": ("the sum was divided by the number of batches",
        lambda losses, *of: xp.sum(losses) / len(losses)),
    "mean_by_all_weights": ("the sum was divided by that of all weights, applied or not",
        lambda losses, applied, ignored, weight: mean(
            losses, applied if weight is None else weight, ignored, weight)),
    "mean_weighted_twice": ("the weights were applied twice before the mean",
        lambda losses, applied, *of: mean(
            losses if applied is None else losses * applied, applied, *of)),
    "mean_of_means": ("the mean of the means of all batches was taken",
        lambda losses, applied, ignored, weight: np.mean([np.sum(x) / np.sum(w) for x, w in zip(
            losses, ~ignored if applied is None else applied, strict=True)])),
}  # fmt: skip
NLL.mutant_table(MEANS, by=of_likelihood)
CROSS_ENTROPY.mutant_table(MEANS, by=partial(of_scores, softmax.logarithms))
NLL.mutant_table({
    "classes_last": ("the classes were taken along the last axis where it is as long",
        lambda x, *of: (x.swapaxes(1, -1) if () != x.shape[1:2] == x.shape[-1:] else x, *of)),
    "class_never_ignored": ("ignore_index was ignored where it is a class",
        lambda x, target, weight, i: (x, target, weight, None if i and i >= 0 else i)),
}, by=partial(of_likelihood, mean))  # fmt: skip
CROSS_ENTROPY.mutant_table({
    "shares_along_last_axis": ("the scores' last axis was that of their classes",
        lambda x, axis: softmax.logarithms(x, x.ndim - 1)),
    "shares_of_no_logarithm": ("the shares were taken without a logarithm", softmax.plain),
    "no_shares": ("the scores were log-probabilities already", lambda x, axis: x),
}, by=_by_scores)  # fmt: skip
