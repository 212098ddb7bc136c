"""Shapes, and tensors under other shapes: nothing is computed."""

import math
from functools import wraps

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import check_size, distinct, from_either_end, from_the_front, listed
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
Constant ConstantOfShape Flatten Reshape Shape Size Slice Squeeze Transpose Unsqueeze
"""
#: The versions since which types alone were added.
_TYPES = (19, 21, 23, 24, 25)

SHAPE = operator("Shape", exact=True, of_shapes=True)


@SHAPE.formula(1, 13)
def shape(data):
    return np.array(data.shape, np.int64)


@SHAPE.formula(15, *_TYPES)
def part_of_shape(data, *, start, end):
    """Ends beyond the rank are clamped to it, as the text says."""
    return np.array(data.shape[start:end], np.int64)


SIZE = operator("Size", exact=True, of_shapes=True)


@SIZE.formula(1, 13, *_TYPES)
def size(data):
    return np.array(math.prod(data.shape), np.int64)


RESHAPE = operator("Reshape", exact=True, ignores=("consumed_inputs",))


@RESHAPE.formula(5, 13, 14, *_TYPES)
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


RESHAPE.formula(1)(lambda data, *, shape: reshape(data, shape))
RESHAPE.equivalent("refuses_default_shape", "no node of version 1 is legal without a shape", "1")
RESHAPE.equivalent("later_attributes_accepted", "shape is no attribute where allowzero is", "1")
_UNSAID = "nothing is said of allowzero but 0 and 1"
RESHAPE.equivalent("allowzero_in_32_bits", _UNSAID, *map(str, (14, *_TYPES)))


FLATTEN = operator("Flatten", exact=True)


def _flat(input, axis, counted):
    if axis > input.ndim:
        raise InvalidNode(f"axis {axis} is beyond the rank {input.ndim}")
    front = axis if axis == input.ndim else counted(axis, input.ndim)
    return xp.reshape(input, (math.prod(input.shape[:front]), math.prod(input.shape[front:])))


FLATTEN.formula(1, 9)(lambda input, *, axis: _flat(input, axis, from_the_front))
FLATTEN.formula(11, 13, 21, 23, 24, 25)(lambda input, *, axis: _flat(input, axis, from_either_end))

TRANSPOSE = operator("Transpose", exact=True)


@TRANSPOSE.formula(1, 13, 21, 23, 24, 25)
def transpose(data, *, perm):
    order = tuple(range(data.ndim))[::-1] if perm is None else perm
    if sorted(order) != list(range(data.ndim)):
        raise InvalidNode(f"perm {list(order)}; allowed: each axis of {data.ndim} once")
    return xp.permute_dims(data, order)


TRANSPOSE.equivalent("perm_repeated", "no permutation has an entry twice")
for _ops, _why, _names in (
    ((SHAPE, SIZE), "the output has at most one axis, and few elements", """
        axes_of_rank_5_exchanged batches_and_channels_exchanged channels_last column_major
        index_in_8_bits last_two_axes_exchanged rows_left_over_by_four_threads tail_of_32_repeats
        transposed written_channels_last"""),
    ((SHAPE, SIZE), "the output is of integers of that type", """
        output_as_int64 zeros_are_nan zeros_are_tiny"""),
    ((SHAPE,), "the output has one axis, and few elements", """
        first_channel_only flattened row_tail_of_32_untouched"""),
    ((SHAPE,), "every number is clamped into the range", """
        invalid_attribute_ignored invalid_end_is_0_or_1 invalid_start_is_0_or_1"""),
    ((SIZE,), "the output is one element", """
        always_a_matrix empty_becomes_one first_batch_for_all shifted squeezed tail_of_4_repeats
        tail_of_8_repeats tail_of_16_repeats vector_becomes_a_row"""),
    ((FLATTEN,), "the output has two axes", """
        always_a_matrix axes_of_rank_5_exchanged channels_last vector_becomes_a_row
        written_channels_last"""),
    ((FLATTEN,), "elements keep their order, in whatever shape they are read", """
        first_two_of_more_than_4_axes_merged first_two_of_more_than_5_axes_merged
        last_two_of_more_than_4_axes_merged last_two_of_more_than_5_axes_merged
        not_transposed_back rank_5_coerced rows_side_by_side shape_reversed whole_tensor"""),
    ((FLATTEN,), "the default is out of range of scalars alone", "default_axis_kept_in_range"),
):  # fmt: skip
    for _op in _ops:
        _op.equivalent(_names, _why)
for _op in (SHAPE, SIZE):
    for _called in ("invalid_is_copied", "invalid_is_zero"):
        _op.equivalent(_called, "nothing that is of its form is invalid", "25")


SQUEEZE = operator("Squeeze", exact=True)


def squeeze(data, axes, counted=from_either_end):
    if axes is None:
        found = tuple(axis for axis, n in enumerate(data.shape) if n == 1)
    else:
        found = distinct(listed("axes", axes), data.ndim, counted)
    if any(data.shape[axis] != 1 for axis in found):
        raise InvalidNode(f"axes {[*found]} of {list(data.shape)} are not all of size 1")
    return xp.reshape(data, [n for axis, n in enumerate(data.shape) if axis not in found])


#: Version 1 has a list of non-negative integers, here and in Unsqueeze, and is silent on repeats.
SQUEEZE.formula(1)(lambda data, *, axes: squeeze(data, axes, from_the_front))
SQUEEZE.formula(11)(lambda data, *, axes: squeeze(data, axes))
SQUEEZE.formula(13, 21, 23, 24, 25)(lambda data, axes=None: squeeze(data, axes))
for mutant, why in (
    ("axes_reversed", "the order of the axes does not matter"),
    ("rows_side_by_side", "axes of one element alone are legal"),
    ("wrong_where_axes_long", "axes of one element alone are legal"),
    ("not_transposed_back", "an output of as many axes lacks none"),
):
    SQUEEZE.equivalent(mutant, why, "1", "11")
UNSQUEEZE = operator("Unsqueeze", exact=True)


def unsqueeze(data, axes, counted=from_either_end):
    axes = listed("axes", axes)
    rank = data.ndim + len(axes)
    found = [counted(axis, rank) for axis in axes]
    if len({*found}) < len(found):
        kind = InvalidNode if counted is from_either_end else NotSupported
        raise kind(f"axes {axes} name one twice")
    sizes = iter(data.shape)
    return xp.reshape(data, [1 if axis in found else next(sizes) for axis in range(rank)])


UNSQUEEZE.formula(1)(lambda data, *, axes: unsqueeze(data, axes, from_the_front))
UNSQUEEZE.formula(11)(lambda data, *, axes: unsqueeze(data, axes))
UNSQUEEZE.formula(13, 21, 23, 24, 25)(lambda data, axes: unsqueeze(data, axes))
UNSQUEEZE.equivalent("axes_reversed", "the order of the axes does not matter", "1", "11")
UNSQUEEZE.equivalent("not_transposed_back", "an output of as many axes got none", "1", "11")
for mutant in (
    *("rows_side_by_side", "shape_reversed", "whole_tensor"),
    *(f"{end}_two_of_more_than_{n}_axes_merged" for end in ("first", "last") for n in (4, 5)),
):
    UNSQUEEZE.equivalent(mutant, "elements in order are the same under any shape", "1", "11")
SLICE = operator("Slice", exact=True)


@SLICE.formula(11, 13)
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


@SLICE.formula(10)
def slice_10(data, starts, ends, axes=None, steps=None):
    if axes is not None and np.any(np.less(axes, 0)):
        raise NotSupported("nothing is said of negative axes")
    return slice_of(data, starts, ends, axes, steps)


SLICE.formula(1)(lambda data, *, starts, ends, axes: slice_10(data, starts, ends, axes))
SLICE.equivalent("version_11_always", "version 10 says nothing of negative axes", "10")
SLICE.equivalent("starts_clamped ends_clamped", "none is too small to be legal", "1")

CONSTANT = operator("Constant", exact=True)


@CONSTANT.formula(1, 9)
def constant(*, value):
    return value


@CONSTANT.formula(11, 12, 13, *_TYPES)
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


@CONSTANT.mutant("a missing value was taken for 0", 11, 12, 13, *_TYPES, name="nothing_is_zero",
                 of_validity=True)  # fmt: skip
@wraps(constant_of_any_kind)
def nothing_is_zero(**attrs):
    nothing = all(value is None for value in attrs.values())
    return np.zeros(1, np.float32) if nothing else constant_of_any_kind(**attrs)


for mutant in ("value_ints_clamped", "value_ints_of_any_length", "value_ints_repeated"):
    CONSTANT.equivalent(mutant, "every list of integers is legal")
for mutant in ("value_float", "value_int"):
    CONSTANT.equivalent(f"invalid_{mutant}_is_0_or_1", "every number is legal")
CONSTANT.equivalent("value_string_in_any_case", "every text is legal")
for mutant in ("sparse_value_ignored", "refuses_sparse_value", "wrong_where_sparse_value"):
    CONSTANT.equivalent(mutant, "case files have no sparse tensors")
CONSTANT.equivalent("invalid_attribute_ignored", "case files have no sparse tensors", "11")
CONSTANT.equivalent("refuses_constants", "there are no inputs")
for axis in ("0", "1", "minus_1"):
    CONSTANT.equivalent(f"axis_{axis}_read_up_to_1024", "there are no inputs")
for name in (name for name in DTYPES if name != "float32"):
    CONSTANT.equivalent("index_in_16_bits", "bytes are copied alike in each type", name)
    CONSTANT.equivalent("version_11_always", "version 11 adds sparse tensors alone", f"9 {name}")
    if name in ("float16", "float64"):
        CONSTANT.equivalent("version_1_always", "version 1 has such tensors too", name)
    where = f"11 {name}" if name in ("int64", "string") else name
    CONSTANT.equivalent("refuses_default_value", "only a tensor is of this type", where)
for mutant in ("value_float", "value_int", "value_string"):
    CONSTANT.equivalent(f"wrong_where_many_elements_and_{mutant}", "it is one element")

CONSTANT_OF_SHAPE = operator("ConstantOfShape", exact=True)


@CONSTANT_OF_SHAPE.formula(9, 20, 21, 23, 24, 25)
def constant_of_shape(input, *, value):
    sizes = listed("input", input)
    if any(n < 0 for n in sizes):
        raise InvalidNode(f"shape {sizes} has negative sizes")
    fill = np.zeros(1, np.float32) if value is None else value
    if fill.size != 1:
        raise InvalidNode(f"value holds {fill.size} elements; allowed: one")
    check_size(sizes)
    return np.full(sizes, fill.reshape(-1)[0], fill.dtype)


@CONSTANT_OF_SHAPE.mutant("sizes with any number of axes were taken for a list", of_validity=True)
def sizes_of_any_rank(input, *, value):
    return constant_of_shape(np.reshape(input, -1), value=value)


for mutant in (
    *("axes_of_rank_5_exchanged", "batches_and_channels_exchanged", "column_major"),
    *("first_batch_for_all", "index_in_8_bits", "index_in_16_bits", "last_two_axes_exchanged"),
    *("read_channels_last", "read_column_major", "shifted", "written_channels_last"),
    *(f"tail_of_{width}_repeats" for width in (4, 8, 16, 32)),
    *(f"axis_{axis}_read_up_to_1024" for axis in ("0", "1", "minus_1")),
):
    CONSTANT_OF_SHAPE.equivalent(mutant, "all elements are alike, and sizes are few")
CONSTANT_OF_SHAPE.equivalent(
    "refuses_default_value",
    "without a value the output is of float32",
    *(name for name in DTYPES if name != "float32"),
)
