"""Shapes, and tensors under other shapes: nothing is computed."""

import math
from functools import wraps

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, distinct, from_either_end, from_the_front, listed
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
Constant ConstantOfShape Flatten Reshape Shape Size Slice Squeeze Transpose Unsqueeze
"""
OPS = {n: operator(n, exact=True, of_shapes=n in ("Shape", "Size")) for n in NAMES.split()}
OPS["Reshape"].ignores = ("consumed_inputs",)
#: The versions since which types alone were added.
_TYPES = (19, 21, 23, 24, 25)

OPS["Shape"].formula(1, 13)(lambda data: np.array(data.shape, np.int64))
# Ends beyond the rank are clamped to it, as the text says.
OPS["Shape"].formula(15, *_TYPES)(
    lambda data, *, start, end: np.array(data.shape[start:end], np.int64)
)
OPS["Size"].formula(1, 13, *_TYPES)(lambda data: np.array(math.prod(data.shape), np.int64))


@OPS["Reshape"].formula(5, 13, 14, *_TYPES)
def reshape(data, shape, *, allowzero=0):
    if allowzero not in (0, 1):
        raise NotSupported(f"nothing is said of allowzero={allowzero}")
    sizes = listed("shape", shape)
    if any(n < -1 for n in sizes) or sizes.count(-1) > 1:
        raise InvalidNode(f"shape {sizes}; allowed: sizes, and -1 once")
    if allowzero and 0 in sizes and -1 in sizes:
        raise InvalidNode(f"shape {sizes} has both 0 and -1, with allowzero")
    if not allowzero:
        if any(n == 0 and place >= data.ndim for place, n in enumerate(sizes)):
            raise InvalidNode(f"shape {sizes} copies a size beyond {list(data.shape)}")
        sizes = [data.shape[place] if n == 0 else n for place, n in enumerate(sizes)]
    others = math.prod(n for n in sizes if n != -1)
    if -1 in sizes and not others:
        raise NotSupported("any length would do beside nothing")
    fits = data.size == others if -1 not in sizes else data.size % others == 0
    if not fits:
        raise InvalidNode(f"{list(data.shape)} cannot become {sizes}")
    return xp.reshape(data, [data.size // others if n == -1 else n for n in sizes])


OPS["Reshape"].formula(1)(lambda data, *, shape: reshape(data, shape))


def _flat(input, axis, counted):
    if axis > input.ndim:
        raise InvalidNode(f"axis {axis} is beyond the rank {input.ndim}")
    front = axis if axis == input.ndim else counted(axis, input.ndim)
    return xp.reshape(input, (math.prod(input.shape[:front]), math.prod(input.shape[front:])))


OPS["Flatten"].formula(1, 9)(lambda input, *, axis: _flat(input, axis, from_the_front))
OPS["Flatten"].formula(11, 13, 21, 23, 24, 25)(
    lambda input, *, axis: _flat(input, axis, from_either_end)
)


@OPS["Transpose"].formula(1, 13, 21, 23, 24, 25)
def transpose(data, *, perm):
    order = tuple(range(data.ndim))[::-1] if perm is None else perm
    if sorted(order) != list(range(data.ndim)):
        raise InvalidNode(f"perm {list(order)}; allowed: each axis of {data.ndim} once")
    return xp.permute_dims(data, order)


def squeeze(data, axes, counted=from_either_end):
    if axes is None:
        found = tuple(axis for axis, n in enumerate(data.shape) if n == 1)
    else:
        found = distinct(listed("axes", axes), data.ndim, counted)
    if any(data.shape[axis] != 1 for axis in found):
        raise InvalidNode(f"axes {[*found]} of {list(data.shape)} are not all of size 1")
    return xp.reshape(data, [n for axis, n in enumerate(data.shape) if axis not in found])


#: Version 1 has a list of non-negative integers, here and in Unsqueeze, and is silent on repeats.
OPS["Squeeze"].formula(1)(lambda data, *, axes: squeeze(data, axes, from_the_front))
OPS["Squeeze"].formula(11)(lambda data, *, axes: squeeze(data, axes))
OPS["Squeeze"].formula(13, 21, 23, 24, 25)(lambda data, axes=None: squeeze(data, axes))


def unsqueeze(data, axes, counted=from_either_end):
    axes = listed("axes", axes)
    rank = data.ndim + len(axes)
    found = [counted(axis, rank) for axis in axes]
    if len({*found}) < len(found):
        kind = InvalidNode if counted is from_either_end else NotSupported
        raise kind(f"axes {axes} name one twice")
    sizes = iter(data.shape)
    return xp.reshape(data, [1 if axis in found else next(sizes) for axis in range(rank)])


OPS["Unsqueeze"].formula(1)(lambda data, *, axes: unsqueeze(data, axes, from_the_front))
OPS["Unsqueeze"].formula(11)(lambda data, *, axes: unsqueeze(data, axes))
OPS["Unsqueeze"].formula(13, 21, 23, 24, 25)(lambda data, axes: unsqueeze(data, axes))


@OPS["Slice"].formula(11, 13)
def slice_of(data, starts, ends, axes=None, steps=None):
    starts, ends = listed("starts", starts), listed("ends", ends)
    axes = distinct(range(len(starts)) if axes is None else listed("axes", axes), data.ndim)
    steps = [1] * len(starts) if steps is None else listed("steps", steps)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise InvalidNode("starts, ends, axes and steps have different lengths")
    if any(step == 0 for step in steps):
        raise InvalidNode("a step of 0")
    at = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        n = data.shape[axis]
        low, high = (0, n) if step > 0 else (-1, n - 1)
        first = min(max(start + n * (start < 0), max(low, 0)), high)
        last = min(max(end + n * (end < 0), low), n)
        at[axis] = slice(first, None if last < 0 else last, step)
    return data[tuple(at)]


@OPS["Slice"].formula(10)
def slice_10(data, starts, ends, axes=None, steps=None):
    if axes is not None and np.any(np.less(axes, 0)):
        raise NotSupported("nothing is said of negative axes")
    return slice_of(data, starts, ends, axes, steps)


OPS["Slice"].formula(1)(lambda data, *, starts, ends, axes: slice_10(data, starts, ends, axes))

OPS["Constant"].formula(1, 9)(lambda *, value: value)


@OPS["Constant"].formula(11, 12, 13, *_TYPES)
def constant_of_any_kind(
    *, value=None, sparse_value=None, value_float=None, value_floats=None, value_int=None,
    value_ints=None, value_string=None, value_strings=None,
):  # fmt: skip
    if sparse_value is not None:
        raise NotSupported("opcheck has no sparse tensors")
    held = {
        np.float32: (value_float, value_floats),
        np.int64: (value_int, value_ints),
        object: (value_string, value_strings),
    }
    found = [np.array(v, kind) for kind, pair in held.items() for v in pair if v is not None]
    found += [] if value is None else [value]
    if len(found) != 1:
        raise InvalidNode(f"{len(found)} values; allowed: exactly one")
    return found[0]


@OPS["Constant"].mutant(
    "a missing value was taken for 0", 11, 12, 13, *_TYPES, name="nothing_is_zero", of_validity=True
)
@wraps(constant_of_any_kind)
def nothing_is_zero(**attrs):
    nothing = all(value is None for value in attrs.values())
    return np.zeros(1, np.float32) if nothing else constant_of_any_kind(**attrs)


@OPS["ConstantOfShape"].formula(9, 20, 21, 23, 24, 25)
def constant_of_shape(input, *, value):
    sizes = listed("input", input)
    if any(n < 0 for n in sizes):
        raise InvalidNode(f"shape {sizes} has negative sizes")
    fill = np.zeros(1, np.float32) if value is None else value
    if fill.size != 1:
        raise InvalidNode(f"value holds {fill.size} elements; allowed: one")
    check_size(sizes)
    return np.full(sizes, fill.reshape(-1)[0], fill.dtype)


OPS["ConstantOfShape"].mutant(
    "sizes with any number of axes were taken for a list", name="sizes_of_any_rank",
    of_validity=True)(
    lambda input, *, value: constant_of_shape(np.reshape(input, -1), value=value))  # fmt: skip
