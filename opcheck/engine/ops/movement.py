"""Shapes, and elements moved, repeated, left out or padded: only Range computes anything."""

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise, zip_longest

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine import axes as ax
from opcheck.engine.axes import check_size, distinct, from_either_end, from_the_front, listed
from opcheck.engine.operators import (
    FLOATING,
    check_one_of,
    check_shape,
    formula_builder,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.numbers.faulty import bare

FEWER_STARTS = Ruling(
    "fewer-starts-than-axes",
    "Axes that are left out are all, and there are fewer starts than that.",
    ("first_axes", "refused"),
)

NAMES = """CenterCropPad Concat DepthToSpace Expand EyeLike Pad Range ReverseSequence SpaceToDepth
Split Tile Trilu

Constant ConstantOfShape Flatten Reshape Shape Size Slice Squeeze Transpose Unsqueeze"""
_MOVING, _SHAPING = NAMES.split("\n\n")
_MODES = ("constant", "reflect", "edge")
CENTER, CONCAT, DEPTH, EXPAND, EYE, PAD, RANGE, REVERSE, SPACE, SPLIT, TILE, TRILU = (
    operator(name, exact=name != "Range") for name in _MOVING.split()
)
EYE.of_shapes, RANGE.of_scalars = True, ("int16", "int32", "int64")


def parts(x, axis, sizes):
    if any(n < 0 for n in sizes) or sum(sizes) != x.shape[axis]:
        raise InvalidNode(f"parts of {sizes}, of {x.shape[axis]} elements")
    ends = np.cumsum([0, *sizes]).tolist()
    return [xp.take(x, range(*pair), axis=axis) for pair in pairwise(ends)]


@SPLIT.formula(1)
def split_1(input, split_=None, *, axis, split, outputs=1):
    if axis is None or split_ is not None:
        raise NotSupported("the text says neither which axis is meant, nor which lengths")
    return _split(input, axis, split, outputs, from_the_front)


SPLIT.formula(2)(
    lambda input, *, axis, split, outputs=1: _split(input, axis, split, outputs, from_the_front)
)
SPLIT.formula(11)(lambda input, *, axis, split, outputs=1: _split(input, axis, split, outputs))
SPLIT.formula(13)(lambda input, split=None, *, axis, outputs=1: _split(input, axis, split, outputs))


def _split(x, axis, split, outputs, counted=from_either_end):
    axis = counted(axis, x.ndim)
    size, rest = divmod(x.shape[axis], outputs)
    reject(split is None and rest, f"{x.shape[axis]} elements have no {outputs} equal parts")
    sizes = [size] * outputs if split is None else listed("split", split)
    reject(outputs != len(sizes), f"split of {len(sizes)} parts, for {outputs} outputs")
    return parts(x, axis, sizes)


@SPLIT.formula(18)
def split_18(input, split=None, *, axis, num_outputs, outputs=1):
    if split is None and num_outputs is None:
        raise_unspecified("neither split nor num_outputs")
    reject(split is not None and num_outputs is not None, "split and num_outputs are both given")
    if split is not None:
        return _split(input, axis, split, outputs)
    reject(num_outputs != outputs, f"num_outputs {num_outputs}, for {outputs} outputs")
    axis = from_either_end(axis, input.ndim)
    length = input.shape[axis]
    size = -(-length // num_outputs)
    last = length - size * (num_outputs - 1)
    if last < 0 or (last == 0 < length):
        raise_unspecified("parts that would be empty")
    return parts(input, axis, [*[size] * (num_outputs - 1), last])


@EXPAND.formula(8, 13)
def expand(input, shape):
    sizes, own = listed("shape", shape), list(input.shape)
    pairs = [*zip_longest(own[::-1], sizes[::-1], fillvalue=1)][::-1]
    if any(1 not in (a, b) and a != b for a, b in pairs) or any(n < 0 for n in sizes):
        raise InvalidNode(f"{own} and {sizes} do not broadcast")
    found = [b if a == 1 else a for a, b in pairs]
    check_size(found)
    return xp.broadcast_to(input, found)


# In version 1 elements or tensors are repeated: the text says both.
@TILE.formula(6, 13)
def tile(input, repeats):
    counts = listed("repeats", repeats)
    if len(counts) != input.ndim or any(n < 0 for n in counts):
        raise InvalidNode(f"repeats {counts}; allowed: a number for each of {input.ndim} axes")
    check_size([n * count for n, count in zip(input.shape, counts, strict=True)])
    return xp.tile(input, counts)


def _places(length, begin, end, mode):
    """The place that each element of a padded axis comes from; -1 for the constant."""
    places = np.arange(-begin, max(length + end, -begin))
    outside = (places < 0) | (places >= length)
    if mode == "constant" or not outside.any():
        return np.where(outside, -1, places)
    # An example of the text reflects as much as the axis is long.
    reach = length * (length > 1) if mode == "reflect" else math.inf
    if not length or max(begin, end) > reach or min(begin, end) < 0:
        raise_unspecified(f"{mode} padding of {begin} and {end} on {length}")
    if mode == "reflect":
        return xp.called(
            "reflected", lambda at, end: np.abs(end - np.abs(end - np.abs(at))), places, length - 1
        )
    clipped = np.clip(places, 0, length - 1)
    return clipped if mode == "edge" else xp.called("wrapped_around", np.mod, places, length)


def _padded(x, pads, axes, mode, fill):
    reject(len(pads) != 2 * len(axes), f"{len(pads)} pads for {len(axes)} axes; allowed: 2 each")
    ends = [*zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True)]
    if any(x.shape[axis] + begin + end < 0 for axis, begin, end in ends):
        raise InvalidNode(f"pads {pads} leave less than nothing of shape {x.shape}")
    if any(-min(pair) > x.shape[axis] for axis, *pair in ends):
        raise_unspecified("removing more than there is")
    more = {axis: begin + end for axis, begin, end in ends}
    # Places are counted along an axis, though the tensor be empty.
    check_size([max(1, n) + max(0, more.get(axis, 0)) for axis, n in enumerate(x.shape)])
    for axis, begin, end in ends:
        places = _places(x.shape[axis], begin, end, mode)
        constant = (places < 0).reshape(-1, *[1] * (x.ndim - 1 - axis))
        if not x.shape[axis]:
            x = np.full((*x.shape[:axis], len(places), *x.shape[axis + 1 :]), bare(fill), x.dtype)
        else:
            x = xp.take(x, np.maximum(places, 0), axis=axis)
            x = xp.where(constant, fill, x) if constant.any() else x
    return x


@PAD.formula(1)
def pad_1(data, *, mode, paddings, value):
    ends = np.reshape(paddings, (2, -1)) if len(paddings) == 2 * data.ndim else np.zeros((2, 0))
    # The example has both ends of an axis side by side, and the attribute's text all beginnings.
    if (ends < 0).any() or (ends.T.reshape(-1) != ends.reshape(-1)).any():
        raise NotSupported("the text contradicts itself about the order of paddings")
    return pad_2(data, mode=mode, pads=paddings, value=value)


@PAD.formula(2)
def pad_2(data, *, mode, pads, value):
    check_one_of("mode", mode, *_MODES)
    return _padded(data, listed("pads", pads), range(data.ndim), mode, data.dtype.type(value))


def _named(axes, rank):
    """The axes of an attribute or a tensor, counted from the front; all if it is left out."""
    return range(rank) if axes is None else distinct(listed("axes", axes), rank)


def _pad(modes, data, pads, constant_value=None, axes=None, *, mode):
    check_one_of("mode", mode, *modes)
    x, axes = data, _named(axes, data.ndim)
    fill = "" if x.dtype == object else np.zeros((), x.dtype)
    if mode == "constant" and constant_value is not None:
        ax.check_scalar("constant_value", constant_value)
        fill = xp.reshape(constant_value, ())
    elif mode == "constant" and x.dtype != object and fill != 0:
        raise NotSupported(f"the padding value is zero, which {x.dtype} has none of")
    return _padded(x, listed("pads", pads), axes, mode, fill)


PAD.formula(11, 13)(
    lambda data, pads, constant_value=None, *, mode: _pad(
        _MODES, data, pads, constant_value, mode=mode
    )
)
PAD.formula(18)(partial(_pad, _MODES))
PAD.formula(19, 21, 23, 24, 25)(partial(_pad, (*_MODES, "wrap")))


@CENTER.formula(18)
def center_crop_pad(input_data, shape, *, axes):
    sizes, axes = listed("shape", shape), _named(axes, input_data.ndim)
    if len(sizes) != len(axes) or any(n < 0 for n in sizes):
        raise InvalidNode(f"shape {sizes}; allowed: a size for each of {len(axes)} axes")
    lengths = [input_data.shape[axis] for axis in axes]
    if input_data.dtype == object and any(a > b for a, b in zip(sizes, lengths, strict=True)):
        raise NotSupported("the padding value is zero, which is no text")
    # Half of the padding comes before, half of a surplus goes there, rounded down.
    missing = [size - length for size, length in zip(sizes, lengths, strict=True)]
    begins = [n // 2 if n > 0 else -(-n // 2) for n in missing]
    ends = [n - begin for n, begin in zip(missing, begins, strict=True)]
    return _padded(input_data, [*begins, *ends], axes, "constant", np.zeros((), input_data.dtype))


@EYE.formula(9, 22)
def eye_like(input, *, dtype, k):
    reject(input.ndim != 2, f"input of rank {input.ndim}; allowed: 2")
    named = dtypes.of(np.empty(0, input.dtype)) if dtype is None else dtypes.named(dtype)
    assert named
    return np.eye(input.shape[0], input.shape[1], k, named.numpy)


@TRILU.formula(14)
def trilu(input, k=None, *, upper):
    reject(input.ndim < 2, f"input of rank {input.ndim}; allowed: 2 or more")
    if upper not in (0, 1):
        raise_unspecified(f"upper {upper}, which is a boolean")
    diagonal = 0 if k is None else ax.scalar("k", k)
    rows, columns = np.ogrid[: input.shape[-2], : input.shape[-1]]
    kept = columns - rows >= diagonal if upper else columns - rows <= diagonal
    decline(input.dtype == object and not kept.all(), "the others are zero, which is no text")
    return xp.where(kept, input, xp.zeros_like(input))


def _blocks(x, blocksize, mode):
    check_one_of("mode", mode, "DCR", "CRD")
    if x.ndim != 4 or blocksize < 1:
        raise InvalidNode(f"rank {x.ndim} and blocksize {blocksize}; allowed: 4, and 1 or more")


DEPTH.formula(1)(lambda input, *, blocksize: _in_any_order(DEPTH.formulas[11], input, blocksize))


def _in_any_order(formula, x, blocksize):
    moved = formula(x, blocksize=blocksize)
    if 1 not in (min(x.shape[1], moved.shape[1]), blocksize):
        raise NotSupported("the text does not say in which order blocks and channels come")
    return moved


@DEPTH.formula(11, 13, 28)
def depth_to_space(input, *, blocksize, mode="DCR"):
    _blocks(input, blocksize, mode)
    n, depth, height, width = input.shape
    reject(depth % blocksize**2, f"depth {depth} is no multiple of {blocksize}²")
    c, b = depth // blocksize**2, blocksize
    shape = (n, b, b, c, height, width) if mode == "DCR" else (n, c, b, b, height, width)
    check_size([max(1, length) for length in shape])
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    moved = xp.permute_dims(xp.reshape(input, shape), order)
    return xp.reshape(moved, (n, c, height * b, width * b))


SPACE.formula(1)(lambda input, *, blocksize: _in_any_order(SPACE.formulas[13], input, blocksize))


@SPACE.formula(13, 28)
def space_to_depth(input, *, blocksize, mode="DCR"):
    _blocks(input, blocksize, mode)
    n, channels, height, width = input.shape
    b = blocksize
    reject(height % b or width % b, f"{height} and {width} are no multiples of blocksize {b}")
    split = xp.reshape(input, (n, channels, height // b, b, width // b, b))
    moved = xp.permute_dims(split, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return xp.reshape(moved, (n, channels * b * b, height // b, width // b))


@REVERSE.formula(10, 28)
def reverse_sequence(input, sequence_lens, *, batch_axis, time_axis):
    if not {batch_axis, time_axis} <= {0, 1} or input.ndim < 2:
        raise InvalidNode(f"batch_axis {batch_axis} and time_axis {time_axis}; allowed: 0 and 1")
    if batch_axis == time_axis:
        raise_unspecified("a batch axis that is the time axis too")
    count, length = input.shape[batch_axis], input.shape[time_axis]
    check_shape("sequence_lens", sequence_lens, (count,))
    if ((sequence_lens < 0) | (sequence_lens > length)).any():
        raise_unspecified("lengths out of range")
    time, lens = np.arange(length), sequence_lens[:, None]
    place = np.where(time < lens, lens - 1 - time, time)
    place = np.expand_dims(place if time_axis else place.T, tuple(range(2, input.ndim)))
    return xp.take_along_axis(input, place, time_axis)


def _count(start, limit, delta):
    """The numbers of a range of floats, which must not depend on how their quotient is rounded."""
    ends = [float(xp.values_of(x)) for x in (start, limit, delta)]
    if not all(map(math.isfinite, ends)) or not ends[2]:
        raise_unspecified("such ends and steps")
    first, last, step = map(Fraction, ends)
    exact = (last - first) / step
    # The function body casts the difference and the step to float32, and divides them there.
    sizes = [last - first, step]
    with np.errstate(over="ignore"):
        held = exact == round(exact) and sizes == [float(np.float32(float(n))) for n in sizes]
    if not held and abs(exact - round(exact)) <= abs(exact) * Fraction(1, 1 << 10):
        raise NotSupported("how many numbers there are depends on how their quotient is rounded")
    count = max(0, math.ceil(exact))
    check_size((count,))
    return count


@formula_builder(11, 27)
def by_steps(function, start, limit, delta, *, stash_type=1):
    """Both versions, from `function(start, delta, count)` of floats."""
    reject(any(x.ndim for x in (start, limit, delta)), "start, limit and delta are scalars")
    if start.dtype.kind in "iu":
        first, last, step = (int(x) for x in (start, limit, delta))
        if not step:
            raise_unspecified("a delta of 0")
        count = max(0, -((first - last) // step))
        check_size((count,))
        # Modulo 2^64, so that none of the steps overflows.
        at, by = (np.uint64(n % (1 << 64)) for n in (first, step))  # two's complement
        return (at + np.arange(count, dtype=np.uint64) * by).astype(start.dtype)
    decline(stash_type != 1 and start.dtype.itemsize == 2, f"stash_type {stash_type}")
    own, count = start.dtype, _count(start, limit, delta)
    if own.itemsize == 2:
        start, delta = (xp.astype(x, np.float32, computes=True) for x in (start, delta))
    return xp.astype(function(start, delta, count), own)


@RANGE.formula(build=by_steps)
def of_products(start, delta, count):
    return start + xp.astype(np.arange(count), start.dtype) * delta


@RANGE.alternative("", build=by_steps)
def of_running_sums(start, delta, count):
    if not count:
        return of_products(start, delta, count)
    steps = xp.broadcast_to(xp.reshape(delta, (1,)), (count - 1,))
    return xp.cumulative_sum(xp.concat([xp.reshape(start, (1,)), steps], axis=0), axis=0)


@formula_builder(
    each={1: from_the_front, 4: from_the_front, 11: from_either_end, 13: from_either_end}
)
def along(function, counted, *inputs, axis):
    """All versions, from `function(inputs, axis)`; 1 and 4 document no negative axis."""
    place = counted(axis, inputs[0].ndim)
    if len({(x.ndim, *x.shape[:place], *x.shape[place + 1 :]) for x in inputs}) > 1:
        shapes = ", ".join(str(list(x.shape)) for x in inputs)
        raise InvalidNode(f"shapes {shapes} differ beyond axis {place}")
    return function(inputs, place)


@CONCAT.formula(build=along)
def joined(inputs, axis):
    return xp.concat(inputs, axis=axis)


def as_long_as_the_first(inputs, axis):
    length = inputs[0].shape[axis]
    reject(any(x.shape[axis] < length for x in inputs), "an input is shorter than the first")
    return joined([xp.take(x, range(length), axis=axis) for x in inputs], axis)


CONCAT.mutant_table(
    {
        "empty_dropped": (
            "empty inputs were dropped, and an empty one was given where all are",
            lambda inputs, axis: joined([x for x in inputs if x.size] or inputs[:1], axis),
        ),
        "one_after_the_other": (
            "inputs were written one after the other in memory, whatever the axis",
            lambda inputs, axis: np.concat(inputs, axis=None).reshape(joined(inputs, axis).shape),
        ),
        "as_long_as_the_first": (
            "every input was taken to be as long as the first",
            as_long_as_the_first,
        ),
        "stacked": (
            "inputs were stacked along an axis of their own where each has one element",
            lambda inputs, axis: (
                xp.stack(inputs, axis=axis)
                if all(x.shape[axis] == 1 for x in inputs)
                else joined(inputs, axis)
            ),
        ),
        "eight_inputs": (
            "of more than eight inputs only eight were written",
            lambda inputs, axis: joined(inputs[:8], axis),
            "float32",
        ),
        "zeros_without_sign": (
            "negative zeros became zeros",
            lambda inputs, axis: joined(inputs, axis) + 0,
            *FLOATING,
        ),
    },
    build=along,
)


# Shapes, and tensors under other shapes.
SHAPES = {n: operator(n, exact=True, of_shapes=n in ("Shape", "Size")) for n in _SHAPING.split()}
#: The versions since which types alone were added.
_TYPES = (19, 21, 23, 24, 25)

SHAPES["Shape"].formula(1, 13)(lambda data: np.array(data.shape, np.int64))
# Ends beyond the rank are clamped to it, as the text says.
SHAPES["Shape"].formula(15, *_TYPES)(
    lambda data, *, start, end: np.array(data.shape[start:end], np.int64)
)
SHAPES["Size"].formula(1, 13, *_TYPES)(lambda data: np.array(math.prod(data.shape), np.int64))


@SHAPES["Reshape"].formula(5, 13, 14, *_TYPES)
def reshape(data, shape, *, allowzero=0):
    if allowzero not in (0, 1):
        raise_unspecified(f"allowzero={allowzero}")
    sizes = listed("shape", shape)
    if any(n < -1 for n in sizes) or sizes.count(-1) > 1:
        raise InvalidNode(f"shape {sizes}; allowed: sizes, and -1 once")
    reject(allowzero and {0, -1} <= {*sizes}, f"shape {sizes} has both 0 and -1, with allowzero")
    if not allowzero:
        if any(n == 0 and place >= data.ndim for place, n in enumerate(sizes)):
            raise InvalidNode(f"shape {sizes} copies a size beyond {list(data.shape)}")
        sizes = [data.shape[place] if n == 0 else n for place, n in enumerate(sizes)]
    others = math.prod(n for n in sizes if n != -1)
    decline(-1 in sizes and not others, "any length would do beside nothing")
    fits = data.size == others if -1 not in sizes else data.size % others == 0
    reject(not fits, f"{list(data.shape)} cannot become {sizes}")
    return xp.reshape(data, sizes)


SHAPES["Reshape"].formula(1)(lambda data, *, shape: reshape(data, shape))


def _flat(counted, input, *, axis):
    reject(axis > input.ndim, f"axis {axis} is beyond the rank {input.ndim}")
    front = axis if axis == input.ndim else counted(axis, input.ndim)
    return xp.reshape(input, (math.prod(input.shape[:front]), math.prod(input.shape[front:])))


SHAPES["Flatten"].formula(1, 9)(partial(_flat, from_the_front))
SHAPES["Flatten"].formula(11, 13, 21, 23, 24, 25)(partial(_flat, from_either_end))


@SHAPES["Transpose"].formula(1, 13, 21, 23, 24, 25)
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
    return xp.squeeze(data, axis=found)


#: Version 1 has a list of non-negative integers, here and in Unsqueeze, and is silent on repeats.
SHAPES["Squeeze"].formula(1)(lambda data, *, axes: squeeze(data, axes, from_the_front))
SHAPES["Squeeze"].formula(11)(lambda data, *, axes: squeeze(data, axes))
SHAPES["Squeeze"].formula(13, 21, 23, 24, 25)(lambda data, axes=None: squeeze(data, axes))


def unsqueeze(data, axes, counted=from_either_end):
    axes = listed("axes", axes)
    rank = data.ndim + len(axes)
    found = [counted(axis, rank) for axis in axes]
    if len({*found}) < len(found):
        kind = InvalidNode if counted is from_either_end else NotSupported
        raise kind(f"axes {axes} name one twice")
    return xp.expand_dims(data, axis=tuple(found))


SHAPES["Unsqueeze"].formula(1)(lambda data, *, axes: unsqueeze(data, axes, from_the_front))
SHAPES["Unsqueeze"].formula(11)(lambda data, *, axes: unsqueeze(data, axes))
SHAPES["Unsqueeze"].formula(13, 21, 23, 24, 25)(lambda data, axes: unsqueeze(data, axes))


@SHAPES["Slice"].formula(11, 13)
def slice_of(data, starts, ends, axes=None, steps=None):
    """Return a part of `data`: as in Python, from `starts` to `ends` by `steps` along `axes`."""
    starts = listed("starts", starts)
    ends = listed("ends", ends)
    if axes is None and len(starts) < data.ndim and FEWER_STARTS.reading() == "refused":
        raise InvalidNode(f"{len(starts)} starts for {data.ndim} axes")
    axes = distinct(range(len(starts)) if axes is None else listed("axes", axes), data.ndim)
    steps = [1] * len(starts) if steps is None else listed("steps", steps)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise InvalidNode("starts, ends, axes and steps have different lengths")
    reject(any(step == 0 for step in steps), "a step of 0")
    at = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # As in Python, but that a start before the first element is clamped to it backward too.
        at[axis] = slice(max(start, -data.shape[axis]), end, step)
    return data[tuple(at)]


@SHAPES["Slice"].formula(10)
def slice_10(data, starts, ends, axes=None, steps=None):
    if axes is not None and np.any(np.less(axes, 0)):
        raise_unspecified("negative axes")
    return slice_of(data, starts, ends, axes, steps)


SHAPES["Slice"].formula(1)(lambda data, *, starts, ends, axes: slice_10(data, starts, ends, axes))

SHAPES["Constant"].formula(1, 9)(lambda *, value: value)


@SHAPES["Constant"].formula(11, 12, 13, *_TYPES)
def constant_of_any_kind(**values):
    decline(values["sparse_value"] is not None, "opcheck has no sparse tensors")
    kinds = {"value_float": np.float32, "value_int": np.int64, "value_string": object}
    found = [
        v if name == "value" else np.array(v, kinds[name.removesuffix("s")])
        for name, v in values.items()
        if v is not None
    ]
    reject(len(found) != 1, f"{len(found)} values; allowed: exactly one")
    return found[0]


@SHAPES["Constant"].mutant("a missing value was taken for 0", 11, 12, 13, *_TYPES, of_validity=True)
def nothing_is_zero(**attrs):
    nothing = all(value is None for value in attrs.values())
    return np.zeros(1, np.float32) if nothing else constant_of_any_kind(**attrs)


@SHAPES["ConstantOfShape"].formula(9, 20, 21, 23, 24, 25)
def constant_of_shape(input, *, value):
    sizes = listed("input", input)
    reject(any(n < 0 for n in sizes), f"shape {sizes} has negative sizes")
    fill = np.zeros(1, np.float32) if value is None else value
    reject(fill.size != 1, f"value holds {fill.size} elements; allowed: one")
    check_size(sizes)
    return np.full(sizes, fill.reshape(-1)[0], fill.dtype)


SHAPES["ConstantOfShape"].mutant(
    "sizes with any number of axes were taken for a list",
    name="sizes_of_any_rank",
    of_validity=True,
)(lambda input, *, value: constant_of_shape(np.reshape(input, -1), value=value))
