"""Reductions over axes, in all their versions: axes as an attribute, then as an input."""

from functools import partial

import numpy as np

from opcheck import dtypes, opset
from opcheck import numbers as xp
from opcheck.engine.axes import distinct, listed
from opcheck.engine.operators import is_open, operator
from opcheck.errors import NotSupported

NAMES = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare
"""


def _log_sum_exp(x, **over):
    return xp.log(xp.sum(xp.exp(x), **over))


def _stable_log_sum_exp(x, **over):
    if not all(x.shape[axis] for axis in over["axis"]):
        return _log_sum_exp(x, **over)
    top = xp.max(x, axis=over["axis"], keepdims=True)
    d = x - xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    rest = _log_sum_exp(d, **over)
    return rest + xp.reshape(top, rest.shape)


def _power_norm(x, **over):
    """By a power, or a library's root, which need not be rounded rightly."""
    total = xp.sum(x * x, **over)
    return xp.sqrt(total) if x.dtype.kind in "iu" else xp.pow(total, 0.5)


def _mean(x, **over):
    """Of integers only where all agree: no text says how it is rounded, or summed out of range."""
    if x.dtype.kind not in "iu":
        return xp.mean(x, **over)
    total, size = np.sum(x, **over), np.abs(np.sum(x, **over, dtype=np.float64))
    n = x.size // max(1, total.size)
    if (total.size and not n) or (total % max(n, 1)).any() or (size >= np.iinfo(x.dtype).max).any():
        raise NotSupported("nothing is said of means that are no integers, or of sums out of range")
    return total // max(n, 1)


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


#: What is made of the elements along the axes, by operator; after the text's others as honest.
FUNCTIONS = {
    "ReduceL1": lambda x, **over: xp.sum(xp.abs(x), **over),
    "ReduceL2": (lambda x, **over: xp.sqrt(xp.sum(x * x, **over)), _power_norm),
    "ReduceLogSum": lambda x, **over: xp.log(xp.sum(x, **over)),
    "ReduceLogSumExp": (_log_sum_exp, _stable_log_sum_exp),
    "ReduceMax": partial(_extreme, xp.max, -1),
    "ReduceMean": _mean,
    "ReduceMin": partial(_extreme, xp.min, 1),
    "ReduceProd": xp.prod,
    "ReduceSum": xp.sum,
    "ReduceSumSquare": lambda x, **over: xp.sum(x * x, **over),
}
#: Types of integers, in which logarithms and roots are seldom whole numbers.
_INTEGERS = ("int32", "int64", "uint32", "uint64")


def _reduced(schema, function, data, axes=None, *, keepdims, noop_with_empty_axes=0):
    x, noop = data, noop_with_empty_axes
    stated = () if axes is None else listed("axes", axes)
    along = distinct(stated, x.ndim) or (() if noop else tuple(range(x.ndim)))
    whole = x if along else xp.expand_dims(x, axis=0)
    made = function(whole, axis=along or (0,), keepdims=bool(along and keepdims))
    if not {keepdims, noop} <= {0, 1}:
        is_open("nothing is said of flags other than 0 and 1")
    negative = schema.op.since == 1 and min(stated, default=0) < 0
    if negative or ("axes" in schema.attributes and axes == ()):
        is_open("nothing is said of negative axes in version 1, nor of an empty list of them")
    said = "set of values yields" in schema.doc and schema.op.name != "ReduceMean"
    if made.size and not (said or all(x.shape[axis] for axis in along)):
        is_open("nothing is said of what is made of no values")
    if x.dtype.kind in "iu" and made.dtype.kind == "f":
        if (made if "Log" in schema.op.name else made % 1).any():
            raise NotSupported("nothing is said of how logarithms and roots become integers")
        made = made.astype(x.dtype)
    return made


def _by_attribute(schema, function, data, *, axes, keepdims):
    return _reduced(schema, function, data, axes, keepdims=keepdims)


def _declare(name, function, *others):
    exact, none = name in ("ReduceMax", "ReduceMin"), _INTEGERS if "Log" in name else ()
    made = operator(name, exact=exact, constant=none)
    versions = opset.versions("", name).items()
    for since, schema in versions:
        form = partial(_by_attribute if "axes" in schema.attributes else _reduced, schema)
        made.formula(since)(partial(form, function))
        for other in others:
            made.also_honest("", since)(partial(form, other))


for _name, _function in FUNCTIONS.items():
    _declare(_name, *(_function if isinstance(_function, tuple) else (_function,)))
