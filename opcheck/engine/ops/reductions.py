"""Reductions over axes, in all their versions: axes as an attribute, then as an input."""

from functools import partial

import numpy as np

from opcheck import dtypes, opset
from opcheck import numbers as xp
from opcheck.engine.axes import distinct, listed
from opcheck.engine.operators import operator
from opcheck.errors import NotSupported

NAMES = """
MeanVarianceNormalization ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
ReduceMin ReduceProd ReduceSum ReduceSumSquare
"""


def _stable_log_sum_exp(x, **over):
    top = xp.max(x, axis=over["axis"], keepdims=True)
    d = x - xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    rest = xp.log(xp.sum(xp.exp(d), **over))
    return rest + xp.reshape(top, rest.shape)


def _mean(x, **over):
    """Of integers only where all agree: no text says how it is rounded, or summed out of range."""
    if x.dtype.kind not in "iu":
        return xp.mean(x, **over)
    total, size = np.sum(x, **over), np.abs(np.sum(x, **over, dtype=np.float64))
    n = x.size // max(1, total.size)
    if not n or (total % n).any() or (size >= np.iinfo(x.dtype).max).any():
        raise NotSupported("nothing is said of means that are no integers, or of sums out of range")
    return total // n


def _extreme(choose, sign, x, *, axis, keepdims):
    """The extreme element; of none the other end of the type's range, and for floats infinity."""
    if all(x.shape[a] for a in axis):
        return choose(x, axis=axis, keepdims=keepdims)
    shape = [n for a, n in enumerate(x.shape) if keepdims or a not in axis]
    shape = [1 if keepdims and a in axis else n for a, n in enumerate(shape)]
    if x.dtype.kind in "iub":
        dtype = dtypes.of(x)
        assert dtype
        ends = (False, True) if x.dtype.kind == "b" else dtypes.limits(dtype)
        return np.full(shape, ends[sign > 0], x.dtype)
    return xp.astype(np.full(shape, sign * np.inf), x.dtype)


#: What is made of the elements along the axes, by operator.
FUNCTIONS = {
    "ReduceL1": lambda x, **over: xp.sum(xp.abs(x), **over),
    "ReduceL2": lambda x, **over: xp.sqrt(xp.sum(x * x, **over)),
    "ReduceLogSum": lambda x, **over: xp.log(xp.sum(x, **over)),
    "ReduceLogSumExp": lambda x, **over: xp.log(xp.sum(xp.exp(x), **over)),
    "ReduceMax": partial(_extreme, xp.max, -1),
    "ReduceMean": _mean,
    "ReduceMin": partial(_extreme, xp.min, 1),
    "ReduceProd": xp.prod,
    "ReduceSum": xp.sum,
    "ReduceSumSquare": lambda x, **over: xp.sum(x * x, **over),
}


def _reduced(function, x, axes, keepdims, noop=0):
    stated = () if axes is None else listed("axes", axes)
    found = distinct(stated, x.ndim)
    if noop and not found:
        x, found, keepdims = xp.expand_dims(x, axis=0), (0,), False
    made = function(x, axis=found or tuple(range(x.ndim)), keepdims=bool(keepdims))
    if x.dtype.kind in "iu" and made.dtype.kind == "f":
        raise NotSupported("nothing is said of how logarithms and roots are rounded to integers")
    return made


def _declare(name, function, *others):
    exact = name in ("ReduceMax", "ReduceMin")
    made = operator(name, exact=exact)

    def by_attribute(function, data, *, axes, keepdims):
        return _reduced(function, data, axes, keepdims)

    def by_input(function, data, axes=None, *, keepdims, noop_with_empty_axes):
        return _reduced(function, data, axes, keepdims, noop_with_empty_axes)

    for since, schema in opset.versions("", name).items():
        form = by_attribute if "axes" in schema.attributes else by_input
        made.formula(since)(partial(form, function))
        for remark, other in others:
            made.also_honest(remark, since)(partial(form, other))


for _name, _function in FUNCTIONS.items():
    stable = [("", _stable_log_sum_exp)] if _name == "ReduceLogSumExp" else []
    _declare(_name, _function, *stable)

MEAN_VARIANCE = operator("MeanVarianceNormalization")


@MEAN_VARIANCE.formula(9, 13)
def mean_variance(X, *, axes):
    """(X − E[X]) / √(E[X²] − E[X]² + 1e-9), as the function body has it."""
    over = {"axis": distinct(axes, X.ndim), "keepdims": True}
    mean = xp.mean(X, **over)
    variance = xp.mean(X * X, **over) - mean * mean
    return (X - mean) / (xp.sqrt(variance) + 1e-9)
