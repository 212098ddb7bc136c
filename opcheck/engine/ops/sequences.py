"""Sequences of tensors, which formulas take and give as lists."""

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import from_either_end, listed, scalar
from opcheck.engine.operators import by_step, operator, unsaid
from opcheck.engine.ops.movement import CONCAT, parts
from opcheck.errors import InvalidNode

NAMES = """
ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
SequenceLength SplitToSequence
"""
JOIN, AT, CONSTRUCT, EMPTY, ERASE, INSERT, LENGTH, SPLIT = (
    operator(name, exact=True, of_shapes=name == "SequenceLength") for name in NAMES.split()
)
EMPTY.constant = (*DTYPES,)
CONSTRUCT.formula(11)(lambda *inputs: [*inputs])
EMPTY.formula(11)(lambda *, dtype: [])
LENGTH.formula(11)(lambda *input_sequence: np.array(len(input_sequence)))


@by_step(11)
def at(counted, position, *input_sequence):
    n = len(input_sequence)
    return input_sequence[counted(position, -n, n - 1, None)]


@by_step(11)
def erase(counted, position=None, *input_sequence):
    n = len(input_sequence)
    unsaid("the last tensor of none", position is None and not n)
    place = counted(position, -n, n - 1, n - 1) % n
    return [*input_sequence[:place], *input_sequence[place + 1 :]]


@by_step(11)
def insert(counted, tensor, position=None, *input_sequence):
    n = len(input_sequence)
    place = counted(position, -n, n, n)
    return [*input_sequence[:place], tensor, *input_sequence[place:]]


@AT.formula(by=at)
@ERASE.formula(by=erase)
@INSERT.formula(by=insert)
def counted(position, low, high, default):
    """A position from `low` to `high`, as Python counts it from either end."""
    place = default if position is None else scalar("position", position)
    if not low <= place <= high:
        raise InvalidNode(f"position {place} is outside [{low}, {high}]")
    return place


@by_step(11)
def joined(function, *input_sequence, new_axis, axis):
    unsaid("a sequence of no tensors", not input_sequence)
    unsaid(f"new_axis {new_axis}", new_axis not in (0, 1))
    return function(input_sequence, axis, new_axis)


@JOIN.formula(by=joined)
def along(tensors, axis, new_axis):
    if not new_axis:
        return CONCAT.formulas[13](*tensors, axis=axis)
    shapes = [x.shape for x in tensors]
    if len({*shapes}) > 1:
        raise InvalidNode(f"shapes {shapes} differ")
    return xp.stack(tensors, axis=from_either_end(axis, len(shapes[0]) + 1))


@by_step(11, 24)
def split_to(lengths, input, split=None, *, axis, keepdims):
    axis = from_either_end(axis, input.ndim)
    length = input.shape[axis]
    if split is not None and split.ndim:
        sizes = listed("split", split)
    else:
        size = 1 if split is None else scalar("split", split)
        if size < 0:
            raise InvalidNode(f"split {size}")
        unsaid("parts of no length, or of nothing", not size * length)
        sizes = lengths(length, size)
    made = parts(input, axis, sizes)
    # "only positive numbers", says the text; ">= 0", its second input.
    unsaid("parts of no length", 0 in sizes)
    unsaid(f"keepdims {keepdims}", split is None and keepdims not in (0, 1))
    squeezed = split is None and not keepdims
    return [xp.take(one, 0, axis=axis) for one in made] if squeezed else made


@SPLIT.formula(by=split_to)
def lengths(length, size):
    """Those of chunks of one size, of which the last may be smaller."""
    return [min(size, length - begin) for begin in range(0, length, size)]
