"""Bugs of the list `held_out`, drawn by lot: no name is chosen by what is printed of them."""

from typing import Any

import numpy as np

from benchmarks.planted import (
    ALWAYS,
    Collection,
    Names,
    Outputs,
    given,
    has_uneven_pads,
    integer,
    integers,
    is_given,
    number,
    right,
    right_if_any,
    right_without,
)
from benchmarks.planted.drawn import REPORTS
from opcheck.engine import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array

BUGS = Collection(REPORTS)
drawn = BUGS.drawn

NEGATIVE_AXIS = ("`axis` is negative", "`axis` is -? or less")
NEGATIVE_STEP = ("input steps has a negative value",)


@drawn(
    ops="ArgMax",
    right=Names(mistakes=("select_last_index_ignored",), terms=("`select_last_index` is 1*",)),
    partly=Names(mistakes=("version_1_always", "version_11_always")),
)
def argmax_takes_the_first(node: Node) -> Outputs:
    """`select_last_index` is not read."""
    return right_without(node, "select_last_index")


@drawn(
    ops="AveragePool",
    right=Names(
        mistakes=("*pads_beginnings_for_both", "pads_ends_ignored"),
        terms=("`pads` differ at the ends of an axis", "`count_include_pad` *"),
    ),
    partly=Names(mistakes=("count_include_pad_ignored",), terms=("`pads` *",)),
)
def average_pool_begins_for_both_ends(node: Node) -> Outputs:
    """There is as much padding at the end of an axis as at its beginning; more is not counted."""
    outputs = right(node)
    if not integer(node, "count_include_pad") or not has_uneven_pads(node):
        return outputs
    x = given(node, 0)
    pads = integers(node, "pads")
    n = x.ndim - 2
    begins, ends = pads[:n], pads[n:]
    counted = [*map(min, begins, ends)]
    # Zeros of the input in place of the padding that is counted.
    padded = node.with_input(0, np.pad(x, [(0, 0), (0, 0), *zip(begins, counted, strict=True)]))
    rest = [end - both for end, both in zip(ends, counted, strict=True)]
    return right(padded.with_attrs(pads=(*[0] * n, *rest), count_include_pad=None))


@drawn(
    ops="BatchNormalization",
    right=Names(
        mistakes=("default_training_mode_1", "*batch_statistics*"),
        terms=("`training_mode` is left out", "`training_mode` is 0*", ALWAYS),
    ),
)
def batch_normalization_always_trains(node: Node) -> Outputs:
    """The batch's own mean and variance are used, in training or not."""
    outputs = right(node)
    x = given(node, 0)
    if len(outputs) > 1 or integer(node, "training_mode") or not x.size:
        return outputs
    axes = (0, *range(2, x.ndim))
    wide: Any = x.astype(np.float64)
    means = wide.mean(axes).astype(given(node, 3).dtype)
    variances = wide.var(axes).astype(given(node, 4).dtype)
    if means.shape != given(node, 3).shape:
        return outputs
    return right(node.with_input(3, means).with_input(4, variances))


@drawn(
    ops="BitShift",
    right=Names(mistakes=("shifted_modulo_the_width",)),
)
def bits_shifted_by_the_remainder(node: Node) -> Outputs:
    """A shift by the number of bits or more is one by the remainder."""
    outputs = right(node)
    x, shift = given(node, 0), given(node, 1)
    bits = 8 * x.dtype.itemsize
    if (shift < 0).any():
        return outputs
    return right(node.with_input(1, shift % shift.dtype.type(bits)))


@drawn(
    ops="ConvTranspose",
    right=Names(mistakes=("auto_pad_ignored",), terms=("`auto_pad` is given",)),
    partly=Names(mistakes=("same_ignored",), terms=("`auto_pad` *",)),
)
def conv_transpose_without_auto_pad(node: Node) -> Outputs:
    """`auto_pad` is not read."""
    return right_without(node, "auto_pad")


@drawn(
    ops="ConvTranspose",
    right=Names(mistakes=("output_padding_ignored",), terms=("`output_padding` is given",)),
    partly=Names(terms=("*`output_padding` *",)),
)
def conv_transpose_without_output_padding(node: Node) -> Outputs:
    """`output_padding` is not read."""
    return right_without(node, "output_padding")


@drawn(
    ops="GatherND",
    right=Names(terms=("`batch_dims` is [2-9]*",)),
    partly=Names(mistakes=("flattened",), terms=("`batch_dims` is *",)),
)
def gather_nd_merges_batches(node: Node) -> Outputs:
    """Of two or more `batch_dims`, the output has one axis for all."""
    outputs = right(node)
    count = integer(node, "batch_dims")
    if count < 2:
        return outputs
    shape = outputs[0].shape
    return [outputs[0].reshape(int(np.prod(shape[:count])), *shape[count:])]


@drawn(
    ops="Gelu",
    right=Names(terms=("`approximate` is none",)),
    partly=Names(mistakes=("tanh_always",)),
)
def gelu_of_none_is_approximate(node: Node) -> Outputs:
    """`approximate` of "none" is taken for tanh, since the default is spelt otherwise."""
    outputs = right(node)
    if node.attrs.get("approximate") != "none":
        return outputs
    return right(node.with_attrs(approximate="tanh"))


@drawn(
    ops="HardSigmoid",
    right=Names(mistakes=("alpha_ignored", "beta_ignored")),
    partly=Names(terms=("`alpha` *", "`beta` *")),
)
def hard_sigmoid_of_defaults_alone(node: Node) -> Outputs:
    """`alpha` and `beta` are not read."""
    return right_without(node, "alpha", "beta")


@drawn(
    ops="Hardmax",
    right=Names(mistakes=("refuses_negative_axes",), raises="InvalidNode", terms=NEGATIVE_AXIS),
)
def hardmax_refuses_negative_axes(node: Node) -> Outputs:
    """A negative axis is refused."""
    outputs = right(node)
    if integer(node, "axis") < 0:
        raise InvalidNode("axis_ >= 0 was false. Invalid axis provided.")
    return outputs


@drawn(
    ops="Hardmax",
    right=Names(mistakes=("last_of_ties",)),
)
def hardmax_takes_the_last(node: Node) -> Outputs:
    """The 1 is at the last of equal maxima."""
    outputs = right(node)
    x = given(node, 0)
    if node.op.since < 13 or not x.size or (x != x).any():
        return outputs
    axis = integer(node, "axis", -1)
    last = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    ones = np.zeros_like(x)
    np.put_along_axis(ones, np.expand_dims(last, axis), 1, axis)
    return [ones]


@drawn(
    ops="IsInf",
    right=Names(mistakes=("detect_negative_ignored", "detect_positive_ignored")),
    partly=Names(terms=("`detect_negative` *", "`detect_positive` *")),
)
def infinities_of_both_signs(node: Node) -> Outputs:
    """`detect_negative` and `detect_positive` are not read."""
    return right_without(node, "detect_negative", "detect_positive")


@drawn(
    ops="LRN",
    right=Names(mistakes=("*alpha*size*", "*undivided*", "*not_divided*"), terms=(ALWAYS,)),
    partly=Names(mistakes=("alpha_*",)),
)
def lrn_by_alpha_undivided(node: Node) -> Outputs:
    """`alpha` is not divided by the size."""
    right(node)
    alpha = number(node, "alpha", 1e-4) * integer(node, "size")
    return right(node.with_attrs(alpha=alpha))


@drawn(
    ops="LRN",
    right=Names(mistakes=("*batch*",)),
    partly=Names(terms=("the length of axis [01] of *",)),
)
def lrn_over_batches(node: Node) -> Outputs:
    """Only as many channels are normalized by their neighbours as there are images."""
    outputs = right(node)
    x = given(node, 0)
    bias = np.power(number(node, "bias", 1.0), number(node, "beta", 0.75))
    count = x.shape[0]
    outputs[0][:, count:] = (x[:, count:] / bias).astype(x.dtype)
    return outputs


@drawn(
    ops="Max",
    right=Names(mistakes=("nan_skipped",), terms=("input * has a NaN",)),
    admitted=True,
)
def max_skips_nan(node: Node) -> Outputs:
    """A NaN is no operand of a maximum."""
    outputs = right(node)
    if outputs[0].dtype.kind in "iu" or not outputs[0].size:
        return outputs
    largest: Any = node.given[0]
    for array in node.given[1:]:
        largest = np.fmax(largest, array)
    return [np.asarray(largest).reshape(outputs[0].shape).astype(outputs[0].dtype)]


@drawn(
    ops="OneHot",
    right=Names(raises="InvalidNode", terms=("`axis` is -[2-9] or less",)),
    partly=Names(mistakes=("refuses_negative_axes",), terms=("`axis` *",)),
)
def one_hot_refuses_axis_minus_2(node: Node) -> Outputs:
    """A negative axis is refused, but for -1."""
    outputs = right(node)
    if integer(node, "axis", -1) < -1:
        raise InvalidNode("Value of axis is < -1")
    return outputs


def pads_of(node: Node) -> dict[int, tuple[int, int]]:
    """Return the padding of a Pad at both ends, by axis."""
    rank = given(node, 0).ndim
    axes: list[int] = [*range(rank)]
    if node.op.since < 11:
        pads = integers(node, "pads") or integers(node, "paddings")
    else:
        pads = tuple(given(node, 1).tolist())
        axes = given(node, 3).tolist() if is_given(node, 3) else axes
    half = len(pads) // 2
    return {axis % rank: (pads[n], pads[half + n]) for n, axis in enumerate(axes)}


@drawn(
    ops="Pad",
    right=Names(terms=("`pads` has a negative value", "input pads has a negative value")),
)
def pad_does_not_crop(node: Node) -> Outputs:
    """Negative padding makes the output smaller, and the data is read from its beginning."""
    outputs = right(node)
    x = given(node, 0)
    if not outputs[0].size or not x.size:
        return outputs
    moved = outputs[0]
    for axis, (begin, _) in pads_of(node).items():
        if begin < 0:
            places = np.arange(moved.shape[axis]) + begin
            moved = np.take(moved, places, axis, mode="wrap")
    return [moved]


@drawn(
    ops="PRelu",
    right=Names(mistakes=("*first*axis*", "broadcast_from_the_front", "*channel*")),
    partly=Names(terms=("the rank of input slope is 1*",)),
)
def prelu_along_channels(node: Node) -> Outputs:
    """Slopes of rank 1 are for the channels if they are as many, and not for the last axis."""
    outputs = right(node)
    x, slope = given(node, 0), given(node, 1)
    if slope.ndim != 1 or x.ndim < 2 or slope.size != x.shape[1] or slope.size == 1:
        return outputs
    return right_if_any(node.with_input(1, slope.reshape(-1, *[1] * (x.ndim - 2))), outputs)


def quantized(node: Node) -> Array | None:
    """Return the quotients of a QuantizeLinear of one scale in float64; None for others."""
    scale = given(node, 1)
    if scale.size != 1 or not given(node, 0).size:
        return None
    x = given(node, 0).astype(np.float64)
    return np.asarray(x / scale.astype(np.float64).reshape(()))


@drawn(
    ops="QuantizeLinear",
    right=Names(mistakes=("ties_down*",)),
    partly=Names(mistakes=("rounded_down_ints",)),
)
def quantized_halves_downwards(node: Node) -> Outputs:
    """Halves are rounded down, not to the nearest even number."""
    outputs = right(node)
    quotients = quantized(node)
    if quotients is None or outputs[0].dtype.kind not in "iu":
        return outputs
    limits = np.iinfo(outputs[0].dtype)
    zero = int(given(node, 2).reshape(())) if is_given(node, 2) else 0
    is_half = quotients - np.floor(quotients) == 0.5
    lower = np.clip(np.floor(quotients) + zero, limits.min, limits.max)
    return [np.where(is_half, lower, outputs[0]).astype(outputs[0].dtype)]


@drawn(
    ops="QuantizeLinear",
    right=Names(mistakes=("narrow_range",)),
    partly=Names(terms=("the output is int8", "input y_zero_point is int8")),
)
def quantized_int8_from_minus_127(node: Node) -> Outputs:
    """The least int8 is -127."""
    outputs = right(node)
    if outputs[0].dtype != np.int8:
        return outputs
    return [np.maximum(outputs[0], np.int8(-127))]


@drawn(
    ops="ReduceL1",
    right=Names(
        raises="RuntimeError", terms=("`noop_with_empty_axes` is 1*", "input 1 is left out")
    ),
    partly=Names(mistakes=("refuses_noop_with_empty_axes",)),
)
def reduce_l1_needs_axes(node: Node) -> Outputs:
    """With `noop_with_empty_axes` and without axes, the kernel fails."""
    outputs = right(node)
    if integer(node, "noop_with_empty_axes") and not is_given(node, 1):
        raise RuntimeError("Reduction on all axes, output size should be 1.")
    return outputs


@drawn(
    ops="ReduceMax",
    right=Names(mistakes=("noop_with_empty_axes_ignored",), terms=("`keepdims` is 0*",)),
    partly=Names(terms=("`noop_with_empty_axes` *", "`keepdims` *")),
)
def reduce_max_of_nothing_drops_axes(node: Node) -> Outputs:
    """Without `keepdims`, all axes are reduced, though `noop_with_empty_axes` says none."""
    outputs = right(node)
    has_axes = is_given(node, 1) and given(node, 1).size
    is_noop = integer(node, "noop_with_empty_axes") and not has_axes
    if not is_noop or integer(node, "keepdims", 1):
        return outputs
    return right(node.with_attrs(noop_with_empty_axes=None))


@drawn(
    ops="Reshape",
    right=Names(mistakes=("allowzero_ignored",), terms=("`allowzero` is *",)),
    partly=Names(mistakes=("version_5_always",)),
)
def reshape_without_allowzero(node: Node) -> Outputs:
    """`allowzero` is not read: a 0 is the input's length."""
    outputs = right(node)
    shape = given(node, 1) if len(node.inputs) > 1 else np.zeros(0)
    if not integer(node, "allowzero") or (shape != 0).all():
        return outputs
    return right(node.with_attrs(allowzero=None))


def half_pixel_scales(node: Node) -> list[float]:
    """Return the scale of each axis of a Resize to the nearest of half pixels; [] for others."""
    mode = node.attrs.get("mode", "nearest")
    places = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    is_stretched = node.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    if node.op.since < 11 or mode != "nearest" or places != "half_pixel" or not is_stretched:
        return []
    shape = given(node, 0).shape
    if is_given(node, 2) and given(node, 2).size == len(shape):
        return [*given(node, 2).tolist()]
    if is_given(node, 3) and given(node, 3).size == len(shape) and 0 not in shape:
        return [*(given(node, 3) / np.array(shape))]
    return []


@drawn(
    ops="Resize",
    right=Names(
        mistakes=("*not_clamped*", "*unclamped*"),
        terms=("`nearest_mode` is floor", "`coordinate_transformation_mode` is half_pixel"),
    ),
)
def resize_floors_towards_zero(node: Node) -> Outputs:
    """Half pixels rounded down: a place of -1 is not held, and reads what lies in front."""
    outputs = right(node)
    x = given(node, 0)
    scales = half_pixel_scales(node)
    if not scales or node.attrs.get("nearest_mode") != "floor" or not x.size:
        return outputs
    flat = np.zeros(outputs[0].shape, np.int64)
    for axis, scale in enumerate(scales):
        shape = [1] * x.ndim
        shape[axis] = -1
        places = np.floor((np.arange(outputs[0].shape[axis]) + 0.5) / scale - 0.5)
        held = np.minimum(places, x.shape[axis] - 1).astype(np.int64)
        flat += held.reshape(shape) * int(np.prod(x.shape[axis + 1 :]))
    return [x.reshape(-1)[flat % x.size]]


@drawn(
    ops="Resize",
    right=Names(mistakes=("nearest_mode_ignored",), terms=("`nearest_mode` is round_prefer_ceil",)),
)
def resize_ties_to_the_floor(node: Node) -> Outputs:
    """A tie of round_prefer_ceil goes to the lower place, if places are half pixels."""
    outputs = right(node)
    places = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    is_ceil = node.attrs.get("nearest_mode") == "round_prefer_ceil"
    if places != "half_pixel" or not is_ceil or node.op.since < 11:
        return outputs
    return right(node.with_attrs(nearest_mode="round_prefer_floor"))


def slices_of(node: Node) -> dict[int, slice]:
    """Return what a Slice takes, by axis, as Python has it; an end of None is the beginning."""
    x = given(node, 0)
    if node.op.since < 10:
        starts, ends = integers(node, "starts"), integers(node, "ends")
        axes = integers(node, "axes")
        steps: tuple[int, ...] = ()
    else:
        starts, ends = (tuple(given(node, place).tolist()) for place in (1, 2))
        axes, steps = (
            tuple(given(node, place).tolist()) if is_given(node, place) else () for place in (3, 4)
        )
    axes = axes or tuple(range(len(starts)))
    steps = steps or (1,) * len(starts)
    slices = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        length = x.shape[axis]
        is_to_the_beginning = step < 0 and end < -length
        slices[axis % x.ndim] = slice(start, None if is_to_the_beginning else end, step)
    return slices


@drawn(
    ops="Slice",
    right=Names(mistakes=("*backwards*", "*reverse*"), terms=NEGATIVE_STEP),
    partly=Names(mistakes=("negative_index_off_by_one",)),
)
def slice_backwards_by_one_less(node: Node) -> Outputs:
    """Backwards, as many elements as lie between are taken from the beginning of the data."""
    outputs = right(node)
    x = given(node, 0)
    for axis, taken in slices_of(node).items():
        start, end, step = taken.indices(x.shape[axis])
        if step >= 0:
            x = np.moveaxis(np.moveaxis(x, axis, 0)[taken], 0, axis)
        else:
            front = np.moveaxis(x, axis, 0)[: max(0, start - end)]
            x = np.moveaxis(front[::step], 0, axis)
    return [np.array(x)] if x.shape == outputs[0].shape else outputs


@drawn(
    ops="Slice",
    right=Names(
        mistakes=("negative_index_off_by_one", "*negative_ends_one_late"),
        terms=("input ends has a negative value", "`ends` has a negative value"),
    ),
)
def slice_ends_one_late(node: Node) -> Outputs:
    """A negative end is counted from one behind the end."""
    outputs = right(node)
    x = given(node, 0)
    for axis, taken in slices_of(node).items():
        if taken.step < 0:
            return outputs
        is_counted = taken.stop is not None and -x.shape[axis] <= taken.stop < 0
        end = x.shape[axis] + taken.stop + 1 if is_counted else taken.stop
        x = np.moveaxis(np.moveaxis(x, axis, 0)[taken.start : end : taken.step], 0, axis)
    return [np.array(x)]


@drawn(
    ops="Slice",
    right=Names(
        mistakes=("refuses_empty",),
        raises="RuntimeError",
        terms=(*NEGATIVE_STEP, "* output * is empty", "the output is empty"),
    ),
)
def slice_of_nothing_backwards_refused(node: Node) -> Outputs:
    """A slice backwards of no element is refused."""
    outputs = right(node)
    for axis, taken in slices_of(node).items():
        if taken.step < 0 and not outputs[0].shape[axis]:
            end = taken.stop
            raise RuntimeError(f"Input [Begin={taken.start}, End={end}] is invalid for axis={axis}")
    return outputs


@drawn(
    ops="Slice",
    right=Names(terms=("input starts has a negative value", "input starts is fed")),
    partly=Names(mistakes=("zeros",)),
)
def slice_starts_before_the_data(node: Node) -> Outputs:
    """A negative start that is no constant reads in front of the data, where zeros are."""
    outputs = right(node)
    is_fed = node.op.since >= 10 and not node.constant
    if not is_fed or (given(node, 1) >= 0).all() or outputs[0].dtype == object:
        return outputs
    return [np.zeros_like(outputs[0])]


@drawn(
    ops="NonMaxSuppression",
    right=Names(
        mistakes=("input_max_output_boxes_per_class_ignored", "*boxes_per_class_100*"),
        terms=("input 2 is left out", "input max_output_boxes_per_class is 0"),
    ),
)
def suppression_of_a_hundred_boxes(node: Node) -> Outputs:
    """`max_output_boxes_per_class` that is left out or 0 is 100."""
    outputs = right(node)
    if is_given(node, 2) and given(node, 2).any():
        return outputs
    return right(node.with_input(2, np.array([100], np.int64)))
