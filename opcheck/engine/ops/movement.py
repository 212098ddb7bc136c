"""Operators that move, repeat, join, split or leave out elements, and change none.

Concat and Split; Slice; Expand and Tile; ReverseSequence; DepthToSpace and SpaceToDepth; Trilu. All
versions, but for the first one of Tile, whose text repeats elements in one place and tensors in
another.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import (
    check_size,
    distinct,
    from_either_end,
    from_the_front,
    listed,
    scalar,
)
from opcheck.engine.operators import (
    FLOATING,
    check_one_of,
    check_shape,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NEGATIVE_AXIS, flag
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.numbers import Array

NAMES = """Concat DepthToSpace Expand ReverseSequence Slice SpaceToDepth Split Tile Trilu"""

#: Counts an axis from the front; see `axes.from_either_end` and `axes.from_the_front`.
Counted: TypeAlias = Callable[[int, int], int]

FEWER_STARTS = Ruling(
    "fewer-starts-than-axes",
    "Axes that are left out are all, and there are fewer starts than that.",
    ("first_axes", "refused"),
)


# ── Concat ────────────────────────────────────────────────────────────────────────────────────

CONCAT = operator("Concat", exact=True)
#: From the inputs and an axis counted from the front, what they make together.
Join: TypeAlias = Callable[[Sequence[Array], int], Array]


@formulas_of_versions(
    each={1: from_the_front, 4: from_the_front, 11: from_either_end, 13: from_either_end}
)
def concat_by(join: Join, counted: Counted, *inputs: Array, axis: int) -> Array:
    """Return what `join` makes of the inputs along `axis`.

    counted: counts the axis from the front. Versions 1 and 4 document no negative axis: it is
    refused, or counts from the back, NEGATIVE_AXIS.

    Raises InvalidNode for an axis out of range, as every axis of scalars is, and unless "all input
    tensors … have the same shape, except for the dimension size of the axis".
    """
    place = counted(axis, inputs[0].ndim)
    if len({sizes_beyond(x, place) for x in inputs}) > 1:
        shapes = ", ".join(str(list(x.shape)) for x in inputs)
        raise InvalidNode(f"shapes {shapes} differ beyond axis {place}")
    return join(inputs, place)


def sizes_beyond(x: Array, axis: int) -> tuple[int, ...]:
    """Return the rank of `x`, and the sizes of all axes but `axis`, counted from the front."""
    return (x.ndim, *x.shape[:axis], *x.shape[axis + 1 :])


@CONCAT.formula(build=concat_by)
def joined(inputs: Sequence[Array], axis: int) -> Array:
    """Return the "list of tensors" concatenated "into a single tensor"."""
    return xp.concat(inputs, axis=axis)


# Mutants of Concat.


def empty_dropped(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: inputs without elements are left out, unless all are."""
    return joined([x for x in inputs if x.size] or inputs[:1], axis)


def one_after_the_other(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: inputs are written one after the other in memory."""
    return np.concat(inputs, axis=None).reshape(joined(inputs, axis).shape)


def as_long_as_the_first(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: of each input only as many elements are taken along the axis as the first has.

    Raises InvalidNode if one is shorter.
    """
    length = inputs[0].shape[axis]
    reject(any(x.shape[axis] < length for x in inputs), "an input is shorter than the first")
    return joined([xp.take(x, range(length), axis=axis) for x in inputs], axis)


def stacked(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: inputs of one element along the axis get a new axis."""
    if all(x.shape[axis] == 1 for x in inputs):
        return xp.stack(inputs, axis=axis)
    return joined(inputs, axis)


def eight_inputs(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: inputs after the eighth are left out."""
    return joined(inputs[:8], axis)


def zeros_without_sign(inputs: Sequence[Array], axis: int) -> Array:
    """Mutant: negative zeros become zeros."""
    return joined(inputs, axis) + 0


CONCAT.mutant_table(
    {
        "empty_dropped": (
            "empty inputs were dropped, and an empty one was given where all are",
            empty_dropped,
        ),
        "one_after_the_other": (
            "inputs were written one after the other in memory, whatever the axis",
            one_after_the_other,
        ),
        "as_long_as_the_first": (
            "every input was taken to be as long as the first",
            as_long_as_the_first,
        ),
        "stacked": (
            "inputs were stacked along an axis of their own where each has one element",
            stacked,
        ),
        "eight_inputs": (
            "of more than eight inputs only eight were written",
            eight_inputs,
            "float32",
        ),
        "zeros_without_sign": ("negative zeros became zeros", zeros_without_sign, *FLOATING),
    },
    build=concat_by,
)


# ── Split ─────────────────────────────────────────────────────────────────────────────────────

SPLIT = operator("Split", exact=True)


def parts(x: Array, axis: int, sizes: Sequence[int]) -> list[Array]:
    """Return the parts of `x` of these sizes, one behind the other along `axis`.

    A size of 0 makes an empty part. Raises InvalidNode for a negative size, and unless the sizes
    add up to the length of the axis.
    """
    if any(size < 0 for size in sizes) or sum(sizes) != x.shape[axis]:
        raise InvalidNode(f"parts of {sizes}, of {x.shape[axis]} elements")
    ends = np.cumsum([0, *sizes]).tolist()
    return [xp.take(x, range(start, end), axis=axis) for start, end in pairwise(ends)]


def parts_of_split(
    input: Array,
    axis: int,
    split: Array | None,
    outputs: int,
    counted: Counted = from_either_end,
) -> list[Array]:
    """Return one part for each of the node's `outputs`, along `axis`.

    split: the size of each part, an attribute's or a tensor's, or None: "Otherwise, the tensor is
    split to equal sized parts". counted: counts the axis from the front; `from_the_front` in
    versions that mention no negative axis, which it refuses or takes: NEGATIVE_AXIS.

    Raises InvalidNode for an axis out of range, if there are no equal parts, unless `split` is a
    list of one size for each output, for a negative size, and unless the sizes add up to the axis.
    """
    place = counted(axis, input.ndim)
    length = input.shape[place]
    if split is None:
        reject(length % outputs, f"{length} elements have no {outputs} equal parts")
        sizes = [length // outputs] * outputs
    else:
        sizes = listed("split", split)
        reject(outputs != len(sizes), f"split of {len(sizes)} parts, for {outputs} outputs")
    return parts(input, place, sizes)


@SPLIT.formula(1)
def split_1(
    input: Array,
    split_: Array | None = None,
    *,
    axis: int | None,
    split: Sequence[int] | None,
    outputs: int = 1,
) -> list[Array]:
    """Return one part for each output, by attributes; without `split` they are equal.

    A negative axis is refused, or counts from the back: NEGATIVE_AXIS. Raises InvalidNode for an
    axis out of range, without `split` for an axis that has no equal parts, and unless `split` has a
    size of 0 or more for each output, which add up to the axis. Raises NotSupported without an
    axis, which has no default, and for lengths that are an input, `split_`: the text has them as an
    attribute too.
    """
    if axis is None or split_ is not None:
        raise NotSupported("the text says neither which axis is meant, nor which lengths")
    return parts_of_split(input, axis, split, outputs, from_the_front)


@SPLIT.formula(2)
def split_2(
    input: Array, *, axis: int, split: Sequence[int] | None, outputs: int = 1
) -> list[Array]:
    """Return one part for each output, by attributes; without `split` they are equal.

    This version documents no negative axis: it is refused, or counts from the back, NEGATIVE_AXIS.
    Raises InvalidNode for an axis out of range, without `split` for an axis that has no equal
    parts, and unless `split` has a size of 0 or more for each output, which add up to the axis.
    """
    return parts_of_split(input, axis, split, outputs, from_the_front)


@SPLIT.formula(11)
def split_11(
    input: Array, *, axis: int, split: Sequence[int] | None, outputs: int = 1
) -> list[Array]:
    """Return one part for each output, by attributes; without `split` they are equal.

    The axis may be negative. Raises InvalidNode for an axis out of range, without `split` for an
    axis that has no equal parts, and unless `split` has a size of 0 or more for each output, which
    add up to the axis.
    """
    return parts_of_split(input, axis, split, outputs)


@SPLIT.formula(13)
def split_13(
    input: Array, split: Array | None = None, *, axis: int, outputs: int = 1
) -> list[Array]:
    """Return one part for each output, of lengths that are an input.

    split: [outputs]; without it (None) they are equal. The axis may be negative. Raises InvalidNode
    for an axis out of range; without `split` for an axis that has no equal parts; and unless
    `split` is a list of a size of 0 or more for each output, which add up to the axis.
    """
    return parts_of_split(input, axis, split, outputs)


@SPLIT.formula(18)
def split_18(
    input: Array,
    split: Array | None = None,
    *,
    axis: int,
    num_outputs: int | None,
    outputs: int = 1,
) -> list[Array]:
    """Return one part for each output, by lengths that are an input, `split`, or by their number.

    "If the tensor is not evenly splittable into `num_outputs`, the last chunk will be smaller."
    Parts of an axis of length 0 are all empty.

    Raises InvalidNode if both are given, if num_outputs is not the number of outputs, for an axis
    out of range, and unless `split` is a list of a size of 0 or more for each output, which add up
    to the axis. Raises NotSupported for neither, and where chunks of equal size leave the last one
    nothing, or less, of an axis that is not empty.
    """
    if split is None and num_outputs is None:
        raise_unspecified("neither split nor num_outputs")
    if num_outputs is None:
        return parts_of_split(input, axis, split, outputs)
    reject(split is not None, "split and num_outputs are both given")
    reject(num_outputs != outputs, f"num_outputs {num_outputs}, for {outputs} outputs")
    place = from_either_end(axis, input.ndim)
    length = input.shape[place]
    size = -(-length // num_outputs)
    last = length - size * (num_outputs - 1)
    if last < 0 or (last == 0 < length):
        raise_unspecified("parts that would be empty")
    return parts(input, place, [*[size] * (num_outputs - 1), last])


# ── Slice ─────────────────────────────────────────────────────────────────────────────────────

SLICE = operator("Slice", exact=True)


@SLICE.formula(11, 13)
def slice_of(
    data: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """Return a part of `data`: as in Python, from `starts` to `ends` by `steps` along `axes`.

    A start before the first element is clamped to it with a negative step too, where Python gives
    nothing. All other starts and ends beyond the axis are clamped as in Python; a part may be
    empty.

    All lists are tensors [n]; steps may be negative, and are 1 if they are left out. Negative axes
    count from the back. "If `axes` are omitted, they are set to [0, ..., r-1]"; with fewer starts
    than axes, they are for the first ones, or InvalidNode is raised: FEWER_STARTS.

    Raises InvalidNode for tensors that are not lists, for lists of different lengths, axes out of
    range and a step of 0; NotSupported for an axis that is named twice.
    """
    start_list = listed("starts", starts)
    end_list = listed("ends", ends)
    count = len(start_list)
    if axes is None and count < data.ndim and FEWER_STARTS.reading() == "refused":
        raise InvalidNode(f"{count} starts for {data.ndim} axes")
    places = distinct(range(count) if axes is None else listed("axes", axes), data.ndim)
    step_list = [1] * count if steps is None else listed("steps", steps)
    if not count == len(end_list) == len(places) == len(step_list):
        raise InvalidNode("starts, ends, axes and steps have different lengths")
    reject(any(step == 0 for step in step_list), "a step of 0")
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(places, start_list, end_list, step_list, strict=True):
        index[axis] = slice(max(start, -data.shape[axis]), end, step)
    return data[tuple(index)]


@SLICE.formula(10)
def slice_10(
    data: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """Return a part of `data`: as in Python, from `starts` to `ends` by `steps` along `axes`.

    All lists are tensors [n]. Steps may be negative; left out, they are 1, and `axes` the first
    ones. Starts and ends beyond the axis are clamped to it. This version mentions neither a
    negative axis nor, without `axes`, fewer starts than there are axes: either is taken or refused,
    NEGATIVE_AXIS, FEWER_STARTS.

    Raises InvalidNode where it is refused, for tensors that are not lists, lists of different
    lengths, axes out of range and a step of 0; NotSupported for an axis that is named twice.
    """
    if axes is not None and np.any(np.less(axes, 0)) and NEGATIVE_AXIS.reading() == "refused":
        raise InvalidNode("a negative axis")
    return slice_of(data, starts, ends, axes, steps)


@SLICE.formula(1)
def slice_1(
    data: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None
) -> Array:
    """Return a part of `data` by attributes: as in Python, from `starts` to `ends` along `axes`.

    Starts and ends beyond the axis are clamped to it, and negative ones count from its end. Without
    `axes`, these are all, from the first on; with fewer starts they are the first ones, or it is
    refused: FEWER_STARTS. A negative axis counts from the back, or is refused: NEGATIVE_AXIS.
    Raises InvalidNode where it is refused, for lists of different lengths and axes out of range;
    NotSupported for an axis that is named twice.
    """
    return slice_10(data, starts, ends, axes)


# ── Expand and Tile ───────────────────────────────────────────────────────────────────────────

EXPAND = operator("Expand", exact=True)
TILE = operator("Tile", exact=True)


@EXPAND.formula(8, 13)
def expand(input: Array, shape: Array) -> Array:
    """Return the input broadcast to `shape`, a tensor [n], aligned at the last axes.

    "Two corresponding dimensions must have the same value, or one of them is equal to 1", so that
    an axis of the input may stay longer than `shape` asks for, and an input may have more axes.

    Raises InvalidNode for sizes that do not fit, negative ones, and a shape that is not a list.
    Raises MemoryError for an output that is too large, NotSupported for one of more than 64 axes.
    """
    sizes = listed("shape", shape)
    own = list(input.shape)
    pairs = [*zip_longest(own[::-1], sizes[::-1], fillvalue=1)][::-1]
    fits = all(1 in (length, asked) or length == asked for length, asked in pairs)
    if not fits or any(size < 0 for size in sizes):
        raise InvalidNode(f"{own} and {sizes} do not broadcast")
    broadcast = [asked if length == 1 else length for length, asked in pairs]
    check_size(broadcast)
    return xp.broadcast_to(input, broadcast)


@TILE.formula(6, 13)
def tile(input: Array, repeats: Array) -> Array:
    """Return the input `repeats` times along each axis: "the same as function `tile` in Numpy".

    A repeat of 0 makes the output empty. Raises InvalidNode unless `repeats` is a list of "the same
    length as input's dimension number" without a negative number; MemoryError for an output that is
    too large.
    """
    counts = listed("repeats", repeats)
    if len(counts) != input.ndim or any(count < 0 for count in counts):
        raise InvalidNode(f"repeats {counts}; allowed: a number for each of {input.ndim} axes")
    check_size([size * count for size, count in zip(input.shape, counts, strict=True)])
    return xp.tile(input, counts)


# ── ReverseSequence ───────────────────────────────────────────────────────────────────────────

REVERSE_SEQUENCE = operator("ReverseSequence", exact=True)


@REVERSE_SEQUENCE.formula(10, 28)
def reverse_sequence(
    input: Array, sequence_lens: Array, *, batch_axis: int, time_axis: int
) -> Array:
    """Return the input with the first sequence_lens[i] elements of each sequence reversed.

    input: of rank 2 or more, with batch and time as its first two axes in either order;
    sequence_lens: [batch_size]. What lies behind a sequence's length stays in its place.

    Raises InvalidNode for another rank, axes other than 0 and 1, and sequence_lens of another
    shape; NotSupported for one axis that is both, and for a length below 0 or beyond the time axis.
    """
    if not {batch_axis, time_axis} <= {0, 1} or input.ndim < 2:
        raise InvalidNode(f"batch_axis {batch_axis} and time_axis {time_axis}; allowed: 0 and 1")
    if batch_axis == time_axis:
        raise_unspecified("a batch axis that is the time axis too")
    batch_size = input.shape[batch_axis]
    length = input.shape[time_axis]
    check_shape("sequence_lens", sequence_lens, (batch_size,))
    if ((sequence_lens < 0) | (sequence_lens > length)).any():
        raise_unspecified("lengths out of range")
    time = np.arange(length)
    lengths = sequence_lens[:, None]
    source = np.where(time < lengths, lengths - 1 - time, time)
    if time_axis == 0:
        source = source.T
    source = np.expand_dims(source, tuple(range(2, input.ndim)))
    return xp.take_along_axis(input, source, time_axis)


# ── DepthToSpace and SpaceToDepth ─────────────────────────────────────────────────────────────

DEPTH_TO_SPACE = operator("DepthToSpace", exact=True)
SPACE_TO_DEPTH = operator("SpaceToDepth", exact=True)


def check_blocks(x: Array, blocksize: int, mode: str) -> None:
    """Raise InvalidNode unless `x` has rank 4, blocksize is 1 or more, and mode DCR or CRD."""
    check_one_of("mode", mode, "DCR", "CRD")
    if x.ndim != 4 or blocksize < 1:
        raise InvalidNode(f"rank {x.ndim} and blocksize {blocksize}; allowed: 4, and 1 or more")


@DEPTH_TO_SPACE.formula(11, 13, 28)
def depth_to_space(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Return [N, C / blocksize², H * blocksize, W * blocksize], with depth moved into blocks.

    input: [N, C, H, W]. mode: DCR, where the place in a block comes before what remains of the
    depth, or CRD, where it comes behind. Raises InvalidNode for another rank than 4, a blocksize
    below 1, another mode, and a depth that is not a multiple of blocksize²; MemoryError for sizes
    beyond memory, which an empty input may have.
    """
    check_blocks(input, blocksize, mode)
    batches, channels, height, width = input.shape
    reject(channels % blocksize**2, f"depth {channels} is no multiple of {blocksize}²")
    depth = channels // blocksize**2
    shape: tuple[int, ...]
    order: tuple[int, ...]
    if mode == "DCR":
        shape = (batches, blocksize, blocksize, depth, height, width)
        order = (0, 3, 4, 1, 5, 2)
    else:
        shape = (batches, depth, blocksize, blocksize, height, width)
        order = (0, 1, 4, 2, 5, 3)
    check_size([max(1, size) for size in shape])
    moved = xp.permute_dims(xp.reshape(input, shape), order)
    return xp.reshape(moved, (batches, depth, height * blocksize, width * blocksize))


@SPACE_TO_DEPTH.formula(13, 28)
def space_to_depth(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Return [N, C * blocksize², H / blocksize, W / blocksize], with blocks moved into depth.

    input: [N, C, H, W]. mode: DCR, where the place in a block comes before the channel in the new
    depth, or CRD, where it comes behind. Raises InvalidNode for another rank than 4, a blocksize
    below 1, another mode, and a height or a width that is not a multiple of blocksize.
    """
    check_blocks(input, blocksize, mode)
    batches, channels, height, width = input.shape
    if height % blocksize or width % blocksize:
        raise InvalidNode(f"{height} and {width} are no multiples of blocksize {blocksize}")
    rows = height // blocksize
    columns = width // blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    split = xp.reshape(input, (batches, channels, rows, blocksize, columns, blocksize))
    moved = xp.permute_dims(split, order)
    return xp.reshape(moved, (batches, channels * blocksize**2, rows, columns))


def check_any_order(input: Array, output: Array, blocksize: int) -> None:
    """Raise NotSupported where an order matters that version 1 does not state.

    That is the order of blocks and channels: it decides nothing if blocks have one element, or if
    the input or the output has one channel.
    """
    channels = min(input.shape[1], output.shape[1])
    if 1 not in (channels, blocksize):
        raise NotSupported("the text does not say in which order blocks and channels come")


@DEPTH_TO_SPACE.formula(1)
def depth_to_space_1(input: Array, *, blocksize: int) -> Array:
    """Return [N, C / blocksize², H * blocksize, W * blocksize], with depth moved into blocks.

    input: [N, C, H, W]. Raises NotSupported unless the blocksize or the number of channels that
    remain is 1: version 1 does not state their order. Raises InvalidNode for another rank than 4, a
    blocksize below 1, and a depth that is not a multiple of blocksize²; MemoryError for sizes
    beyond memory.
    """
    output = depth_to_space(input, blocksize=blocksize)
    check_any_order(input, output, blocksize)
    return output


@SPACE_TO_DEPTH.formula(1)
def space_to_depth_1(input: Array, *, blocksize: int) -> Array:
    """Return [N, C * blocksize², H / blocksize, W / blocksize], with blocks moved into depth.

    input: [N, C, H, W]. Raises NotSupported unless the blocksize or C is 1: version 1 does not
    state in which order they come. Raises InvalidNode for another rank than 4, a blocksize below 1,
    and a height or a width that is not a multiple of blocksize.
    """
    output = space_to_depth(input, blocksize=blocksize)
    check_any_order(input, output, blocksize)
    return output


# ── Trilu ─────────────────────────────────────────────────────────────────────────────────────

TRILU = operator("Trilu", exact=True)


@TRILU.formula(14)
def trilu(input: Array, k: Array | None = None, *, upper: int) -> Array:
    """Return the upper or the lower triangles of matrices, in the shape and type of the input.

    input: [*, N, M]. The upper ones have the elements on and above diagonal `k`, the lower ones
    those on and below; "all other elements in the matrix are set to zero". k: a scalar, by default
    0, the main diagonal; positive ones lie above it. Raises InvalidNode for a rank below 2, for `k`
    of other than one element, or of rank 1 and more by ONE_ELEMENT_AS_A_SCALAR; an `upper` other
    than 0 and 1 counts as either or raises it: FLAG_OF_ANOTHER_NUMBER. Raises NotSupported for
    texts of which some would be zero, and for a `k` that rounding decides.
    """
    reject(input.ndim < 2, f"input of rank {input.ndim}; allowed: 2 or more")
    is_upper = flag("upper", upper)
    diagonal = 0 if k is None else scalar("k", k)
    rows, columns = np.ogrid[: input.shape[-2], : input.shape[-1]]
    offsets = columns - rows
    kept = offsets >= diagonal if is_upper else offsets <= diagonal
    decline(input.dtype == object and not kept.all(), "the others are zero, which is no text")
    return xp.where(kept, input, xp.zeros_like(input))
