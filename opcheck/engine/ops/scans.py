"""Scans, all versions: the sum or product of each element and those before it along an axis."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import numbers as xp
from opcheck import opset
from opcheck.engine.axes import from_either_end
from opcheck.engine.mutants.elements import BEYOND_FLOAT16, DOUBLE, FLOATS, LONG
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode

NAMES = """
CumProd CumSum
"""


def _place(axis, rank):
    """The axis, counted from the front, from a tensor of rank 0."""
    if axis.size != 1:
        raise InvalidNode(f"axis of shape {list(axis.shape)}; allowed: a scalar")
    if axis.ndim:
        is_open("an axis is a scalar, and nothing is said of a list of one")
    return from_either_end(axis.item(), rank)


def _by_axis(name, scan):
    """The formulas of all versions, from `scan(x, axis, exclusive, reverse)`."""

    def formula(x, axis, *, exclusive, reverse):
        place = _place(axis, x.ndim)
        if not {exclusive, reverse} <= {0, 1}:
            is_open("nothing is said of flags other than 0 and 1")
        return scan(x, place, exclusive, reverse)

    return dict.fromkeys(opset.versions("", name), formula)


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


def _by_difference(scan, less, x, axis, exclusive, reverse):
    y = scan(x, axis, 0, 0)
    if reverse and y.size:
        y = less(np.take(y, [-1], axis), scan(x, axis, 1, 0))
    return less(y, x) if exclusive else y


#: Mutants: a name, a text, the function, and its dtypes if not all.
_WRONG: tuple[tuple[Any, ...], ...] = (
    *((f"starts_anew_after_{width}", f"the scan started anew after each {width} elements",
       partial(_in_blocks, width)) for width in (4, 8, 16, 32, 64, 128, 256, 512, 1024)),
    ("flattened", "the whole tensor was scanned, in the order of memory",
     lambda scan, less, x, axis, *how: scan(x.reshape(-1), 0, *how).reshape(x.shape)),
    ("first_axis_always", "the first axis was taken",
     lambda scan, less, x, axis, *how: scan(x, 0, *how)),
    ("last_axis_always", "the last axis was taken",
     lambda scan, less, x, axis, *how: scan(x, x.ndim - 1, *how)),
    ("by_difference", "what is left out was taken away from a scan of more", _by_difference,
     *FLOATS),
    *((f"scanned_in_{np.dtype(dtype).name}", f"the scan was kept in {np.dtype(dtype).name}",
       partial(lambda dtype, scan, less, x, *how: scan(
           x.astype(dtype), *how).astype(x.dtype), dtype), *only)
      for dtype, *only in ((np.float32, *DOUBLE), (np.float16, *BEYOND_FLOAT16),
                           (ml_dtypes.bfloat16, "float16", *LONG))),
)  # fmt: skip

for _name, _accumulate, _start, _less in (
    ("CumProd", xp.cumulative_prod, 1, np.divide),
    ("CumSum", xp.cumulative_sum, 0, np.subtract),
):
    _made, _right = operator(_name), partial(_scan, _accumulate, _start)
    _by = partial(_by_axis, _name)
    _made.formula(by=_by)(_right)
    for _called, _text, _way, *_only in _WRONG:
        _made.mutant(_text, name=_called, by=_by, only=_only or None)(partial(_way, _right, _less))
