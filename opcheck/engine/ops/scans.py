"""Scans, all versions: the sum or product of each element and those before it along an axis."""

from functools import partial

import ml_dtypes
import numpy as np

from opcheck import numbers as xp
from opcheck import opset
from opcheck.engine.axes import from_either_end
from opcheck.engine.mutants.types import BEYOND_FLOAT16, DOUBLE, FLOATS, LONG
from opcheck.engine.operators import FLUSHED, is_open, operator
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


def _by_axis(name, way, place=_place):
    """The formulas of all versions, from `way(x, axis, exclusive, reverse)`."""

    def formula(x, axis, *, exclusive, reverse):
        along = place(axis, x.ndim)
        if not {exclusive, reverse} <= {0, 1}:
            is_open("nothing is said of flags other than 0 and 1")
        return way(x, along, exclusive, reverse)

    return dict.fromkeys(opset.versions("", name), formula)


def _scan(accumulate, start, x, axis, exclusive, reverse):
    """From the last element on if `reverse`; what is `exclusive` begins at `start`."""
    y = accumulate(xp.flip(x, axis=axis) if reverse else x, axis=axis)
    if exclusive and y.size:
        first, others = (xp.take(y, np.arange(n), axis=axis) for n in (1, y.shape[axis] - 1))
        y = xp.concat([xp.full_like(first, start), others], axis=axis)
    return xp.flip(y, axis=axis) if reverse else y


def _in_blocks(width, right, less, x, axis, exclusive, reverse):
    parts = range(x.shape[axis] % width if reverse else width, x.shape[axis], width)
    made = [right(part, axis, exclusive, reverse) for part in np.split(x, parts, axis)]
    return np.concatenate(made, axis)


def _by_difference(right, less, x, axis, exclusive, reverse):
    y = right(x, axis, 0, 0)
    if reverse and y.size:
        y = less(np.take(y, [-1], axis), right(x, axis, 1, 0))
    return less(y, x) if exclusive else y


#: Mutants: a name, a text, the function, and its dtypes if not all.
_WRONG = (
    *((f"starts_anew_after_{width}", f"the scan started anew after each {width} elements",
       partial(_in_blocks, width)) for width in (4, 8, 16, 32, 64, 128, 256, 512, 1024)),
    ("flattened", "the whole tensor was scanned, in the order of memory",
     lambda right, less, x, axis, *how: right(x.reshape(-1), 0, *how).reshape(x.shape)),
    ("by_difference", "what is left out was taken away from a scan of more", _by_difference,
     *FLOATS),
    *((f"scanned_in_{np.dtype(dtype).name}", f"the scan was kept in {np.dtype(dtype).name}",
       partial(lambda dtype, right, less, x, *how: right(
           x.astype(dtype), *how).astype(x.dtype), dtype), *only)
      for dtype, *only in ((np.float32, *DOUBLE), (np.float16, *BEYOND_FLOAT16),
                           (ml_dtypes.bfloat16, "float16", *LONG))),
)  # fmt: skip
#: What is taken for an axis, from it and the rank; the last two where it is out of range.
_AXES = (
    ("first_axis_always", "the first axis was taken", lambda axis, rank: 0),
    ("last_axis_always", "the last axis was taken", lambda axis, rank: rank - 1),
    ("minus_sign_ignored", "the minus sign of a negative axis was ignored",
     lambda axis, rank: min(abs(axis), rank - 1)),
    ("axis_wraps", "an axis out of range was taken modulo the rank",
     lambda axis, rank: axis % rank),
    ("axis_clamped", "an axis out of range was clamped to the nearest",
     lambda axis, rank: min(max(axis, 0), rank - 1)),
)  # fmt: skip
_FLAGS = """
exclusive_in_32_bits invalid_attribute_ignored invalid_exclusive_is_0_or_1
invalid_reverse_is_0_or_1 reverse_in_32_bits
"""


def _misread(change, axis, rank):
    """Another axis; of a list the first."""
    if not (rank and axis.size):
        raise InvalidNode("there is no axis")
    return change(axis.reshape(-1)[0], rank)


def _declare(name, accumulate, start, less):
    made, right = operator(name), partial(_scan, accumulate, start)
    by = partial(_by_axis, name)
    made.formula(by=by)(right)
    for called, text, way, *only in _WRONG:
        made.mutant(text, name=called, by=by, only=only or None)(partial(way, right, less))
    for number, (called, text, change) in enumerate(_AXES):
        wrong = partial(by, place=partial(_misread, change))
        made.mutant(text, name=called, by=wrong, of_validity=number > 2)(right)
    made.equivalent(*FLUSHED)
    made.equivalent(_FLAGS, "flags are 0 or 1, and any other is open")


_declare("CumProd", xp.cumulative_prod, 1, np.divide)
_declare("CumSum", xp.cumulative_sum, 0, np.subtract)
