"""Flatten, Reshape, Shape, Size, Squeeze, Transpose and Unsqueeze, all versions.

The elements of a tensor under another shape, in another order of its axes, or its shape itself.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, listed
from opcheck.engine.operators import operator
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """Flatten Reshape Shape Size Squeeze Transpose Unsqueeze"""

#: Counts an axis from the front; see `axes.from_either_end` and `axes.from_the_front`.
Counted: TypeAlias = Callable[[int, int], int]
#: Versions that differ from the one before in their types alone.
OF_MORE_TYPES = (21, 23, 24, 25)

AXES_NAMED_TWICE = Ruling(
    "axes-named-twice",
    "The text does not state whether an axis may be named twice.",
    ("refused", "once"),
)
LENGTH_BESIDE_NOTHING = Ruling(
    "length-beside-nothing",
    "Beside an axis of length 0, any length in place of -1 gives the right number of elements.",
    ("refused", "as_it_was", "nothing", "one"),
)
#: Unsqueeze inserts an axis for each entry.
INSERTED_TWICE = Ruling(
    AXES_NAMED_TWICE.id,
    AXES_NAMED_TWICE.text,
    (*AXES_NAMED_TWICE.readings, "one_after_another"),
)


# ── Shape and Size ────────────────────────────────────────────────────────────────────────────

SHAPE = operator("Shape", exact=True, of_shapes=True)
SIZE = operator("Size", exact=True, of_shapes=True)


@SHAPE.formula(1, 13)
def shape_of(data: Array) -> Array:
    """Return "an 1D int64 tensor containing the shape of the input tensor", empty for rank 0."""
    return np.array(data.shape, np.int64)


@SHAPE.formula(15, 19, *OF_MORE_TYPES)
def part_of_shape(data: Array, *, start: int, end: int | None) -> Array:
    """Return the shape from axis `start` to before axis `end`, as a slice in Python; int64.

    Negative axes count from the back, and the text clamps those out of range. An `end` of None is
    the rank. No axis is refused; the result is empty where `start` is not before `end`.
    """
    return np.array(data.shape[start:end], np.int64)


@SIZE.formula(1, 13, 19, *OF_MORE_TYPES)
def size_of(data: Array) -> Array:
    """Return "the total number of elements of the input tensor", an int64 scalar."""
    return np.array(math.prod(data.shape), np.int64)


# ── Reshape ───────────────────────────────────────────────────────────────────────────────────

RESHAPE = operator("Reshape", exact=True)


@RESHAPE.formula(5, 13, 14, 19, *OF_MORE_TYPES)
def reshape(data: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """Return `data` under another shape, with the elements in the same order.

    "At most one dimension of the new shape can be -1", which is then inferred. "A dimension could
    also be 0, in which case the actual dimension value is unchanged", unless `allowzero` is 1,
    where it is a size of 0. An empty list is a scalar's.

    Raises InvalidNode for a shape of another rank than 1; with a size below -1, or -1 twice; with 0
    and -1 under `allowzero`; with a 0 where `data` has no such axis; of another number of elements;
    and for an `allowzero` other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER refuses it. A -1 next to an
    axis of 0, where any size would do, is refused too, or is the size that it was, 0 or 1:
    LENGTH_BESIDE_NOTHING.
    """
    allows_zero = flag("allowzero", allowzero)
    sizes = listed("shape", shape)
    if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise InvalidNode(f"shape {sizes}; allowed: sizes, and -1 once")
    reject(allows_zero and {0, -1} <= {*sizes}, f"shape {sizes} has both 0 and -1, with allowzero")
    if not allows_zero:
        sizes = with_copied_sizes(sizes, data.shape)
    known_size = math.prod(size for size in sizes if size != -1)
    if -1 in sizes and not known_size:
        sizes = with_length_beside_nothing(sizes, data.shape)
    elif -1 in sizes:
        reject(data.size % known_size != 0, f"{list(data.shape)} cannot become {sizes}")
    else:
        reject(data.size != known_size, f"{list(data.shape)} cannot become {sizes}")
    return xp.reshape(data, sizes)


def with_length_beside_nothing(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return `sizes`, of which one is 0, with a length in place of -1, by LENGTH_BESIDE_NOTHING.

    That is the length of the same axis in `shape`, the data's (0 beyond its rank), or 0 or 1.
    Raises InvalidNode if the ruling refuses the -1.
    """
    axis = [*sizes].index(-1)
    reading = LENGTH_BESIDE_NOTHING.reading()
    reject(reading == "refused", f"{[*sizes]}, where any length would do beside nothing")
    as_it_was = shape[axis] if axis < len(shape) else 0
    length = {"as_it_was": as_it_was, "nothing": 0, "one": 1}[reading]
    return [*sizes[:axis], length, *sizes[axis + 1 :]]


def with_copied_sizes(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return `sizes` with each 0 replaced by the size of that axis in `shape`.

    Raises InvalidNode if `shape` has no such axis.
    """
    rank = len(shape)
    if any(size == 0 for size in sizes[rank:]):
        raise InvalidNode(f"shape {[*sizes]} copies a size beyond {list(shape)}")
    return [shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]


@RESHAPE.formula(1)
def reshape_1(data: Array, *, shape: Sequence[int]) -> Array:
    """Return `data` under the shape of the attribute: 0 copies a size, and one -1 is inferred.

    Raises InvalidNode for a size below -1, a second -1, a 0 where `data` has no such axis, and
    another number of elements. A -1 next to an empty axis is refused, or is the size that it was, 0
    or 1: LENGTH_BESIDE_NOTHING.
    """
    return reshape(data, shape)


# ── Flatten ───────────────────────────────────────────────────────────────────────────────────

FLATTEN = operator("Flatten", exact=True)


def flatten(counted: Counted, input: Array, *, axis: int) -> Array:
    """Return a matrix of shape (d_0 X d_1 … d_(axis-1), d_axis X d_(axis+1) … X dn).

    axis: at most the rank, which gives a single column; 0 gives a single row. `counted` is the
    version's count of axes: in versions 1 and 9 a negative axis is refused, or counts from the
    back, by NEGATIVE_AXIS; later from the back. Raises InvalidNode for an axis out of range, or
    refused.
    """
    rank = input.ndim
    reject(axis > rank, f"axis {axis} is beyond the rank {rank}")
    front = axis if axis == rank else counted(axis, rank)
    return xp.reshape(input, (math.prod(input.shape[:front]), math.prod(input.shape[front:])))


FLATTEN.formula(1, 9)(partial(flatten, from_the_front))
FLATTEN.formula(11, 13, *OF_MORE_TYPES)(partial(flatten, from_either_end))


# ── Transpose ─────────────────────────────────────────────────────────────────────────────────

TRANSPOSE = operator("Transpose", exact=True)


@TRANSPOSE.formula(1, 13, *OF_MORE_TYPES)
def transpose(data: Array, *, perm: Sequence[int] | None) -> Array:
    """Return `data` with its axes in the order `perm`: "By default, reverse the dimensions".

    None is the default. Raises InvalidNode unless `perm` names each axis once, counted from the
    front.
    """
    order = tuple(range(data.ndim))[::-1] if perm is None else perm
    if sorted(order) != list(range(data.ndim)):
        raise InvalidNode(f"perm {list(order)}; allowed: each axis of {data.ndim} once")
    return xp.permute_dims(data, order)


# ── Squeeze ───────────────────────────────────────────────────────────────────────────────────

SQUEEZE = operator("Squeeze", exact=True)


def squeeze(data: Array, axes: Array | None, counted: Counted = from_either_end) -> Array:
    """Return `data` without the axes named; for `axes` of None, without all axes of one element.

    An empty list names none. `counted` counts an axis from the front.

    "If an axis is selected with shape entry not equal to one, an error is raised": InvalidNode.
    Raises it also for `axes` of another rank than 1 and for an axis out of range; for one that is
    named twice, if AXES_NAMED_TWICE refuses it; for a negative one in version 1, if NEGATIVE_AXIS
    does.
    """
    if axes is None:
        places = tuple(axis for axis, size in enumerate(data.shape) if size == 1)
    else:
        places = tuple(counted(axis, data.ndim) for axis in listed("axes", axes))
    if len({*places}) < len(places):
        if AXES_NAMED_TWICE.reading() == "refused":
            raise InvalidNode(f"axes {[*places]} name one twice")
        places = tuple(dict.fromkeys(places))
    if any(data.shape[axis] != 1 for axis in places):
        raise InvalidNode(f"axes {[*places]} of {list(data.shape)} are not all of size 1")
    return xp.squeeze(data, axis=places)


@SQUEEZE.formula(1)
def squeeze_1(data: Array, *, axes: Sequence[int] | None) -> Array:
    """Return `data` without the axes of an attribute, a "list of non-negative integers".

    None means all axes of one element. Raises InvalidNode for an axis out of range or whose length
    is not 1; for one that is negative or named twice, if NEGATIVE_AXIS or AXES_NAMED_TWICE refuses
    it.
    """
    return squeeze(data, axes, from_the_front)


@SQUEEZE.formula(11)
def squeeze_11(data: Array, *, axes: Sequence[int] | None) -> Array:
    """Return `data` without the axes of an attribute, which may be negative.

    None means all axes of one element, and an empty list none. Raises InvalidNode for an axis out
    of range or whose length is not 1; for one that is named twice, if AXES_NAMED_TWICE refuses it.
    """
    return squeeze(data, axes)


@SQUEEZE.formula(13, *OF_MORE_TYPES)
def squeeze_13(data: Array, axes: Array | None = None) -> Array:
    """Return `data` without the axes of an input, which may be negative.

    Without it, all axes of one element go; an empty list names none. Raises InvalidNode for `axes`
    of another rank than 1, for an axis out of range or whose length is not 1; for one that is named
    twice, if AXES_NAMED_TWICE refuses it.
    """
    return squeeze(data, axes)


# ── Unsqueeze ─────────────────────────────────────────────────────────────────────────────────

UNSQUEEZE = operator("Unsqueeze", exact=True)


def unsqueeze(data: Array, axes: Array) -> Array:
    """Return `data` with an axis of one element at each of `axes` of the output.

    "Each value in `axes` should be within the (inclusive) range [-output_rank , output_rank - 1]".
    Raises InvalidNode for others, for an axis named twice, and for `axes` of another rank than 1.
    """
    listed_axes = listed("axes", axes)
    rank = data.ndim + len(listed_axes)
    places = tuple(from_either_end(axis, rank) for axis in listed_axes)
    reject(len({*places}) < len(places), f"axes {listed_axes} name one twice")
    return xp.expand_dims(data, axis=places)


@UNSQUEEZE.formula(1)
def unsqueeze_1(data: Array, *, axes: Sequence[int]) -> Array:
    """Return `data` with an axis of one element at each of `axes` of the output.

    `axes` is an attribute, a "list of non-negative integers": a negative one is refused, or counts
    from the back, by NEGATIVE_AXIS. This version does not mention an axis named twice, which is
    refused, counts once, or is inserted one after another: INSERTED_TWICE. Raises InvalidNode for
    an axis out of range, and for one that a ruling refuses.
    """
    listed_axes = listed("axes", axes)
    rank = data.ndim + len(listed_axes)
    places = tuple(from_the_front(axis, rank) for axis in listed_axes)
    if len({*places}) == len(places):
        return xp.expand_dims(data, axis=places)
    reading = INSERTED_TWICE.reading()
    if reading == "refused":
        raise InvalidNode(f"axes {listed_axes} name one twice")
    if reading == "once":
        return unsqueeze_1(data, axes=tuple(dict.fromkeys(listed_axes)))
    for axis in listed_axes:
        data = xp.expand_dims(data, axis=(from_the_front(axis, data.ndim + 1),))
    return data


@UNSQUEEZE.formula(11)
def unsqueeze_11(data: Array, *, axes: Sequence[int]) -> Array:
    """Return `data` with an axis of one element at each of `axes` of the output, an attribute.

    Axes are in [-output_rank, output_rank - 1]. Raises InvalidNode for others, and for an axis
    named twice.
    """
    return unsqueeze(data, axes)


@UNSQUEEZE.formula(13, *OF_MORE_TYPES)
def unsqueeze_13(data: Array, axes: Array) -> Array:
    """Return `data` with an axis of one element at each of `axes` of the output, an input.

    Axes are in [-output_rank, output_rank - 1]. Raises InvalidNode for others, for an axis named
    twice, and for `axes` of another rank than 1.
    """
    return unsqueeze(data, axes)
