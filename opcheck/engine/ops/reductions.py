"""Reductions over axes, in all their versions, and scans along one."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes, opset
from opcheck import numbers as xp
from opcheck.engine.axes import distinct, from_either_end, listed
from opcheck.engine.mutants.elements import BEYOND_FLOAT16, DOUBLE, FLOATS, LONG
from opcheck.engine.operators import by_step, is_open, operator, unsaid, with_parameters
from opcheck.errors import illegal
from opcheck.grouping import sure

NAMES = """
CumProd CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
ReduceProd ReduceSum ReduceSumSquare
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
        unsaid("means that are no integers, or of sums out of range")
    return total // max(n, 1)


def _extreme(choose, sign, x, *, axis, keepdims):
    """The extreme element; of none the other end of the type's range, and for floats infinity."""
    if all(x.shape[a] for a in axis):
        return choose(x, axis=axis, keepdims=keepdims)
    shape = [1 if a in axis else n for a, n in enumerate(x.shape) if keepdims or a not in axis]
    if x.dtype.kind in "iub":
        ends = (False, True) if x.dtype.kind == "b" else dtypes.limits(sure(dtypes.of(x)))
        return np.full(shape, ends[sign > 0], x.dtype)
    return xp.astype(np.full(shape, sign * np.inf), x.dtype)


#: What is made of the elements along the axes, by operator; after the text's others as honest.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "ReduceL1": (lambda x, **over: xp.sum(xp.abs(x), **over),),
    "ReduceL2": (lambda x, **over: xp.sqrt(xp.sum(x * x, **over)), _power_norm),
    "ReduceLogSum": (lambda x, **over: xp.log(xp.sum(x, **over)),),
    "ReduceLogSumExp": (_log_sum_exp, _stable_log_sum_exp),
    "ReduceMax": (partial(_extreme, xp.max, -1),),
    "ReduceMean": (_mean,),
    "ReduceMin": (partial(_extreme, xp.min, 1),),
    "ReduceProd": (xp.prod,),
    "ReduceSum": (xp.sum,),
    "ReduceSumSquare": (lambda x, **over: xp.sum(x * x, **over),),
}
#: Types of integers, in which logarithms and roots are seldom whole numbers.
_INTEGERS = ("int32", "int64", "uint32", "uint64")


def _reduced(schema, function, data, axes=None, *, keepdims, noop_with_empty_axes=0):
    x, noop = data, noop_with_empty_axes
    stated = () if axes is None else listed("axes", axes)
    along = distinct(stated, x.ndim) or (() if noop else tuple(range(x.ndim)))
    whole = x if along else xp.expand_dims(x, axis=0)
    made = function(whole, axis=along or (0,), keepdims=bool(along and keepdims))
    is_open("nothing is said of flags other than 0 and 1", not {keepdims, noop} <= {0, 1})
    negative = schema.op.since == 1 and min(stated, default=0) < 0
    if negative or ("axes" in schema.attributes and axes == ()):
        is_open("nothing is said of negative axes in version 1, nor of an empty list of them")
    said = "set of values yields" in schema.doc and schema.op.name != "ReduceMean"
    if made.size and not (said or all(x.shape[axis] for axis in along)):
        is_open("nothing is said of what is made of no values")
    if x.dtype.kind in "iu" and made.dtype.kind == "f":
        unsaid("how reals become integers", (made if "Log" in schema.op.name else made % 1).any())
        made = made.astype(x.dtype)
    return made


def _by_schema(name, function):
    return {since: with_parameters(partial(_reduced, schema, function), schema, schema.attributes)
            for since, schema in opset.versions("", name).items()}  # fmt: skip


for _name, (_function, *_others) in FUNCTIONS.items():
    _none, _by = _INTEGERS if "Log" in _name else (), partial(_by_schema, _name)
    _made = operator(_name, exact=_name in ("ReduceMax", "ReduceMin"), constant=_none)
    _made.formula(by=_by)(_function)
    for _other in _others:
        _made.also_honest("", by=_by)(_other)


def _along(scan, x, axis, *, exclusive, reverse):
    """The formula of all versions, from `scan(x, axis, exclusive, reverse)`."""
    illegal(f"axis of shape {list(axis.shape)}; allowed: a scalar", axis.size != 1)
    is_open("an axis is a scalar, and nothing is said of a list of one", axis.ndim)
    place = from_either_end(axis.item(), x.ndim)
    is_open("nothing is said of flags other than 0 and 1", not {exclusive, reverse} <= {0, 1})
    return scan(x, place, exclusive, reverse)


def _scan(accumulate, start, x, axis, exclusive, reverse):
    """From the last element on if `reverse`; what is `exclusive` begins at `start`."""
    y = accumulate(xp.flip(x, axis=axis) if reverse else x, axis=axis)
    if exclusive and y.size:
        first, others = (xp.take(y, np.arange(n), axis=axis) for n in (1, y.shape[axis] - 1))
        y = xp.concat([xp.full_like(first, start), others], axis=axis)
    return xp.flip(y, axis=axis) if reverse else y


def _in_blocks(width, scan, less, x, axis, exclusive, reverse):
    ends = range(x.shape[axis] % width if reverse else width, x.shape[axis], width)
    parts = (scan(part, axis, exclusive, reverse) for part in np.split(x, ends, axis))
    return np.concatenate([*parts], axis)


def _difference(scan, less, x, axis, exclusive, reverse):
    y = scan(x, axis, 0, 0)
    if reverse and y.size:
        y = less(np.take(y, [-1], axis), scan(x, axis, 1, 0))
    return less(y, x) if exclusive else y


#: Mutants: a text, the function, and its dtypes if not all.
_WRONG: dict[str, tuple[Any, ...]] = {
    **{f"starts_anew_after_{width}": (f"the scan started anew after each {width} elements",
           partial(_in_blocks, width)) for width in (4, 8, 16, 32, 64, 128, 256, 512, 1024)},
    "flattened": ("the whole tensor was scanned, in the order of memory",
        lambda scan, less, x, axis, *how: scan(x.reshape(-1), 0, *how).reshape(x.shape)),
    "first_axis_always": ("the first axis was taken",
        lambda scan, less, x, axis, *how: scan(x, 0, *how)),
    "last_axis_always": ("the last axis was taken",
        lambda scan, less, x, axis, *how: scan(x, x.ndim - 1, *how)),
    "exclusive_from_the_front": ("what is exclusive was moved to the back in reverse too",
        lambda scan, less, x, axis, *how: scan(x, axis, *how) if 0 in how else np.delete(
            np.insert(scan(x, axis, 0, 1), 0, scan.args[1], axis), -1, axis)),
    "by_difference": ("what is left out was taken away from a scan of more", _difference, *FLOATS),
    **{f"scanned_in_{np.dtype(kind).name}": (f"the scan was kept in {np.dtype(kind).name}",
           lambda scan, less, x, *how, kind=kind: scan(x.astype(kind), *how).astype(x.dtype), *only)
       for kind, *only in ((np.float32, *DOUBLE), (np.float16, *BEYOND_FLOAT16),
                           (ml_dtypes.bfloat16, "float16", *LONG))},
}  # fmt: skip

for _name, _accumulate, _start, _less in (
    ("CumProd", xp.cumulative_prod, 1, np.divide),
    ("CumSum", xp.cumulative_sum, 0, np.subtract),
):
    _made, _right = operator(_name), partial(_scan, _accumulate, _start)
    _all = by_step(*opset.versions("", _name))(_along)
    _made.formula(by=_all)(_right)
    _made.mutant_table(_WRONG, by=lambda way, of=_all, how=(_right, _less): of(partial(way, *how)))
