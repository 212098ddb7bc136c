"""Normalizations, and pools over whole planes or windows, but for LpPool."""

import math

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows, from_either_end
from opcheck.engine.operators import operator
from opcheck.engine.windows import windows_of
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
AveragePool BatchNormalization GlobalAveragePool GlobalLpPool GlobalMaxPool InstanceNormalization
LogSoftmax LpNormalization LRN
"""

LOG_SOFTMAX = operator("LogSoftmax", high=0.0)


@LOG_SOFTMAX.formula(by=by_rows)
def stable(x, axis):
    below = x - xp.max(x, axis=axis, keepdims=True)
    return below - xp.log(xp.sum(xp.exp(below), axis=axis, keepdims=True))


@LOG_SOFTMAX.also_honest("", by=by_rows)
def of_softmax(x, axis):
    powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return xp.log(powers / xp.sum(powers, axis=axis, keepdims=True))


def _spatial(X, least=1):
    if X.ndim < 2 + least:
        raise InvalidNode(f"input of rank {X.ndim}; allowed: {2 + least} or more, N×C×D1×…")
    return tuple(range(2, X.ndim))


GLOBAL_AVERAGE = operator("GlobalAveragePool")
GLOBAL_AVERAGE.formula(1, 22)(lambda X: xp.mean(X, axis=_spatial(X), keepdims=True))
GLOBAL_MAX = operator("GlobalMaxPool", exact=True)
GLOBAL_MAX.formula(1, 22)(lambda X: xp.max(X, axis=_spatial(X), keepdims=True))
GLOBAL_LP = operator("GlobalLpPool", low=0.0)


@GLOBAL_LP.formula(1, 2, 22)
def global_norm(X, *, p):
    if not 0 < p < math.inf:
        raise InvalidNode(f"p {p}; allowed: above 0")
    powers = xp.pow(xp.abs(X), float(p))
    return xp.pow(xp.sum(powers, axis=_spatial(X), keepdims=True), xp.real(1) / float(p))


AVERAGE = operator("AveragePool")


def _averages(X, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, padding_counts):
    windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if ceil_mode and any(a.last_start + a.width > a.length + a.begin for a in windows.axes):
        raise NotSupported("nothing is said of what a window beyond the padding is divided by")
    count = math.prod(kernel_shape) if padding_counts else windows.terms
    return xp.sums(X, windows.sums, windows.terms) / count


@AVERAGE.formula(1)
def average_1(X, *, kernel_shape, strides, pads, auto_pad):
    return _averages(X, kernel_shape, strides, None, pads, auto_pad, 0, False)


@AVERAGE.formula(7, 10, 11, 19, 22)
def average(X, *, kernel_shape, strides, pads, auto_pad, count_include_pad, dilations=None,
            ceil_mode=0):  # fmt: skip
    counts = bool(count_include_pad)
    return _averages(X, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, counts)


def _by_channel(X, *parameters):
    """1-D parameters of the channels, along the second axis."""
    channels = X.shape[1] if X.ndim > 1 else 1
    for one in parameters:
        if one.shape != (channels,):
            raise InvalidNode(f"parameter of shape {list(one.shape)}; allowed: [{channels}]")
    shape = (-1, *[1] * (X.ndim - 2)) if X.ndim > 1 else (-1,)
    return [xp.reshape(one, shape) for one in parameters]


BATCH = operator("BatchNormalization", ignores=("consumed_inputs", "momentum", "spatial"))


def _in_inference(X, scale, B, mean, var, epsilon):
    scale, B, mean, var = _by_channel(X, scale, B, mean, var)
    return (X - mean) / xp.sqrt(var + epsilon) * scale + B


def _folded(X, scale, B, mean, var, epsilon):
    scale, B, mean, var = _by_channel(X, scale, B, mean, var)
    factor = scale / xp.sqrt(var + epsilon)
    return X * factor + (B - mean * factor)


def _batch(made, function):
    @made(1, 6)
    def batch_1(X, scale, B, mean, var, *, epsilon, is_test):
        if not is_test:
            raise NotSupported("BatchNormalization in training")
        return function(X, scale, B, mean, var, epsilon)

    @made(7, 9)
    def batch_7(X, scale, B, mean, var, *, epsilon):
        return function(X, scale, B, mean, var, epsilon)

    @made(14, 15)
    def batch(X, scale, B, input_mean, input_var, *, epsilon, training_mode):
        if training_mode:
            raise NotSupported("BatchNormalization in training")
        return function(X, scale, B, input_mean, input_var, epsilon)


_batch(BATCH.formula, _in_inference)
_batch(lambda *versions: BATCH.also_honest("", *versions), _folded)

INSTANCE = operator("InstanceNormalization", ignores=("consumed_inputs",))


@INSTANCE.formula(1, 6, 22)
def by_instance(input, scale, B, *, epsilon):
    axes = _spatial(input)
    scale, B = _by_channel(input, scale, B)
    apart = input - xp.mean(input, axis=axes, keepdims=True)
    variance = xp.mean(apart * apart, axis=axes, keepdims=True)
    return apart / xp.sqrt(variance + epsilon) * scale + B


LP = operator("LpNormalization", low=-1.0, high=1.0)


@LP.formula(1, 22)
def by_norm(input, *, axis, p):
    if p not in (1, 2):
        raise InvalidNode(f"p {p}; allowed: 1, 2")
    axis = from_either_end(axis, input.ndim)
    size = xp.abs(input) if p == 1 else input * input
    norm = xp.sum(size, axis=axis, keepdims=True)
    norm = norm if p == 1 else xp.sqrt(norm)
    # "if the norm is zero, the output is zero" came with version 22.
    zero = xp.equal(norm, 0)
    return xp.where(zero, xp.zeros_like(input), input / xp.where(zero, xp.full_like(norm, 1), norm))


LOCAL = operator("LRN")


@LOCAL.formula(1, 13)
def local_response(X, *, alpha, beta, bias, size):
    if size < 1 or X.ndim < 2:
        raise InvalidNode(f"size {size} and rank {X.ndim}; allowed: 1 and 2 or more")
    channels = X.shape[1]
    before, after = (size - 1) // 2, size // 2
    squares, sums = X * X, []
    for c in range(channels):
        near = range(max(0, c - before), min(channels, c + after + 1))
        sums.append(xp.sum(xp.take(squares, near, axis=1), axis=1, keepdims=True))
    total = xp.concat(sums, axis=1) if sums else squares
    return X / xp.pow(bias + xp.real(alpha) / size * total, beta)
