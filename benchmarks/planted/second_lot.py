"""Thirty further reports, drawn by lot out of 44: no name is chosen by what is printed of them.

The other lists have been worked with, and say little about bugs that nobody has seen. Seven of
these refuse legal nodes or end the process; the others answer wrongly.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.planted import (
    ALWAYS,
    Collection,
    Names,
    Outputs,
    given,
    integer,
    integers,
    is_given,
    number,
    places_of,
    right,
    right_if_any,
    right_without,
    same_pads,
)
from opcheck.engine import Node
from opcheck.model import Array

BUGS = Collection()
reported = BUGS.reported

#: The numbers of 16 bits.
INT16 = np.iinfo(np.int16)


# Nodes that are refused, or end the process.


@reported(
    "opencv/opencv#25470",
    ops="Add",
    right=Names(
        mistakes=("refuses_unequal_ranks", "refuses_*_ranks"),
        raises="RuntimeError",
        terms=("*unequal rank*", "*rank* differ*", "*different rank*", "*of other rank*"),
    ),
    partly=Names(mistakes=("refuses_broadcasting",), terms=("the rank of input * is *",)),
)
def add_of_other_ranks_refused(node: Node) -> Outputs:
    """Operands broadcast only if their ranks are equal; others are refused."""
    outputs = right(node)
    if given(node, 0).ndim != given(node, 1).ndim:
        raise RuntimeError("shape of weight does not match with given axis and shape of input")
    return outputs


@reported(
    "microsoft/onnxruntime#6482",
    ops="ArgMax",
    right=Names(
        raises="RuntimeError",
        terms=(
            "* has an axis of length 1",
            "* has length 1 along *",
            "the length * is 1",
            "the length * is 1 or less",
            "the length * is 1 or 0",
        ),
    ),
    partly=Names(terms=("the number of elements of * is 1*", "the length * is *")),
)
def arg_max_of_one_element_fails(node: Node) -> Outputs:
    """On CUDA, the largest along an axis of one element is not found: the kernel fails."""
    outputs = right(node)
    if given(node, 0).shape[integer(node, "axis")] == 1:
        raise RuntimeError("CUDNN_STATUS_BAD_PARAM")
    return outputs


@reported(
    "sonos/tract#1901",
    "sonos/tract#2444",
    ops="DFT",
    right=Names(mistakes=("refuses_onesided",), raises="RuntimeError", terms=("`onesided` is 1*",)),
    partly=Names(terms=("`onesided` *",)),
)
def dft_of_one_side_refused(node: Node) -> Outputs:
    """The output of `onesided` is expected as long as the input, and the model is refused."""
    outputs = right(node)
    if integer(node, "onesided"):
        raise RuntimeError("Impossible to unify Val(16) with Val(9).")
    return outputs


@reported(
    "microsoft/onnxruntime#27897",
    ops="MatMulInteger",
    right=Names(
        mistakes=("refuses_*a_zero_point*", "refuses_*rows*"),
        raises="RuntimeError",
        terms=(
            "the rank of input a_zero_point is *",
            "the length * of input a_zero_point is *",
            "the number of elements of input a_zero_point is *",
            "input a_zero_point has *",
        ),
    ),
    partly=Names(terms=("input a_zero_point is *", "input 2 is given")),
)
def matmul_integer_refuses_points_of_rows(node: Node) -> Outputs:
    """The zero point of A must be one number: one for each row is refused."""
    outputs = right(node)
    if is_given(node, 2) and (given(node, 2).ndim > 1 or given(node, 2).size != 1):
        raise RuntimeError("zero point must be a scalar or 1D tensor of size 1")
    return outputs


@reported(
    "apache/tvm#18751",
    ops="Split",
    right=Names(
        mistakes=("refuses_uneven*", "refuses_unequal*"),
        raises="RuntimeError",
        terms=("*not divi*", "*uneven*", "*unequal*", "outputs * differ*", "*divisible*"),
    ),
    partly=Names(
        mistakes=("refuses_num_outputs",),
        terms=("`num_outputs` *", "input split is *", "input 1 is left out"),
    ),
)
def split_must_be_even(node: Node) -> Outputs:
    """`num_outputs` that do not divide the length are refused; the last output is shorter."""
    outputs = right(node)
    count = integer(node, "num_outputs")
    if count and given(node, 0).shape[integer(node, "axis")] % count:
        raise RuntimeError("Error converting operator Split")
    return outputs


@reported(
    "microsoft/onnxruntime#187",
    ops="Tile",
    right=Names(
        mistakes=("refuses_empty",),
        terms=(
            "input repeats has a 0*",
            "input repeats has a zero*",
            "* is empty",
            "* has an axis of length 0",
            "* has length 0 along *",
            "the number of elements of * is 0*",
        ),
    ),
    partly=Names(terms=("input repeats *",)),
)
def tile_by_0_dies(node: Node) -> Outputs:
    """Among `repeats`, a 0 ends the process."""
    outputs = right(node)
    if not given(node, 1).all():
        os._exit(139)
    return outputs


@reported(
    "robertknight/rten#201",
    ops="Transpose",
    right=Names(
        mistakes=("refuses_default_perm",), raises="RuntimeError", terms=("`perm` is left out",)
    ),
)
def transpose_needs_its_permutation(node: Node) -> Outputs:
    """`perm`, left out, is an empty list, which is no permutation of the axes."""
    outputs = right(node)
    if "perm" not in node.attrs and given(node, 0).ndim:
        raise RuntimeError("Invalid permutation")
    return outputs


# Attributes and inputs that are not read.


@reported(
    "apache/tvm#11076",
    ops="ConvTranspose",
    right=Names(mistakes=("output_shape_ignored",), terms=("`output_shape` is given",)),
    partly=Names(terms=("`output_shape` *",)),
)
def conv_transpose_without_output_shape(node: Node) -> Outputs:
    """`output_shape` is not read: nothing is cut off if there are no `pads`."""
    outputs = right(node)
    return right_if_any(node.with_attrs(output_shape=None), outputs)


@reported(
    "sonos/tract#2751",
    ops="GRU",
    right=Names(
        mistakes=("activations_ignored", "clip_ignored"),
        terms=("`activations` is given", "`clip` is given"),
    ),
    partly=Names(
        mistakes=("activation_alpha_ignored", "activation_beta_ignored"),
        terms=("`activations` *", "`clip` *", "`activation_alpha` *", "`activation_beta` *"),
    ),
)
def gru_without_clip_and_activations(node: Node) -> Outputs:
    """`activations` and `clip` are not read."""
    return right_without(node, "activations", "activation_alpha", "activation_beta", "clip")


@reported(
    "microsoft/onnxruntime#4034",
    ops="RNN",
    right=Names(mistakes=("tanh_always", "activations_ignored"), terms=("`activations` is given",)),
    partly=Names(
        mistakes=("activation_alpha_ignored", "activation_beta_ignored"),
        terms=("`activations` *", "`activation_alpha` *", "`activation_beta` *"),
    ),
)
def rnn_is_always_tanh(node: Node) -> Outputs:
    """The activation is Tanh, whatever `activations` states."""
    return right_without(node, "activations", "activation_alpha", "activation_beta")


@reported(
    "iree-org/iree#24583",
    ops="MatMulInteger",
    right=Names(
        mistakes=("input_a_zero_point_ignored", "input_b_zero_point_ignored"),
        terms=(
            "input a_zero_point is given",
            "input b_zero_point is given",
            "input 2 is given",
            "input 3 is given",
        ),
    ),
    partly=Names(
        mistakes=("*zero_point*",), terms=("input a_zero_point *", "input b_zero_point *")
    ),
)
def matmul_integer_without_zero_points(node: Node) -> Outputs:
    """Zero points are not subtracted."""
    right(node)  # raises InvalidNode
    for place in (2, 3):
        if is_given(node, place):
            node = node.with_input(place, None)
    return right(node)


@reported(
    "apache/tvm#20050",
    "openvinotoolkit/openvino#20194",
    ops="Shape",
    right=Names(
        mistakes=("start_ignored", "end_ignored", "version_1_always"),
        terms=("`start` is given", "`end` is given"),
    ),
    partly=Names(terms=("`start` *", "`end` *")),
)
def shape_without_start_and_end(node: Node) -> Outputs:
    """`start` and `end` are not read: the output is the whole shape."""
    return right_without(node, "start", "end")


@reported(
    "apache/tvm#19966",
    ops="Squeeze",
    right=Names(
        mistakes=("axes_ignored", "version_13_always", "squeezed"), terms=("`axes` is given",)
    ),
    partly=Names(mistakes=("input_axes_ignored",), terms=("`axes` *", "the version is *")),
)
def squeeze_without_axes(node: Node) -> Outputs:
    """Before version 13, the attribute `axes` is not read: all axes of length 1 are dropped."""
    return right_without(node, "axes") if node.op.since < 13 else right(node)


@reported(
    "onnx/onnx#8424",
    ops="Unique",
    right=Names(
        mistakes=("sorted_ignored",),
        terms=("`sorted` is 0*", "*number of outputs* is 1*", "* output* Y alone", "*one output*"),
    ),
    partly=Names(terms=("`sorted` *", "output * is left out")),
)
def unique_always_sorted(node: Node) -> Outputs:
    """`sorted` is not read if Y is the only output."""
    return right_without(node, "sorted") if node.count == 1 else right(node)


# Types, and numbers out of range.


@reported(
    "openvinotoolkit/openvino#37957",
    ops="Clip",
    right=Names(
        mistakes=("integers_through_int32", "cast_through_int32", "*low_32*", "*input*in_int32*"),
        terms=(
            "*input is int64",
            "input input is int64",
            "the output is int64",
            "* has a value beyond 2^*",
            "* has a value below -2^*",
        ),
    ),
    partly=Names(terms=("input * is int64",)),
)
def clip_of_the_low_32_bits(node: Node) -> Outputs:
    """Of 64-bit integers the low 32 bits are taken, and clipped then."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.int64:
        return outputs
    return right(node.with_input(0, x.astype(np.int32).astype(np.int64)))


@reported(
    "microsoft/onnxruntime#24514",
    ops="InstanceNormalization",
    right=Names(
        mistakes=("*in_float16*", "*float16_sums*", "accumulat*float16*"),
        terms=("input input is float16",),
    ),
    partly=Names(terms=("input * is float16", "the output is float16")),
)
def instance_normalization_adds_in_float16(node: Node) -> Outputs:
    """Of float16, the sum and the sum of squares are float16, which overflow; the rest is not."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float16 or not x.size:
        return outputs
    rows = x.reshape(*x.shape[:2], -1)
    mean = added_in_float16(rows) / rows.shape[-1]
    variance = added_in_float16(rows * rows) / rows.shape[-1] - mean**2
    normal = (rows - mean) / np.sqrt(variance + np.float32(number(node, "epsilon", 1e-5)))
    scale, bias = (given(node, place).astype(np.float32)[:, None] for place in (1, 2))
    return [(normal * scale + bias).reshape(x.shape).astype(np.float16)]


def added_in_float16(rows: Array) -> Array:
    """Return sums along the last axis as float32, which is kept; partial sums are float16."""
    sums = np.cumsum(rows, axis=-1, dtype=np.float16)[..., -1:]
    return np.asarray(sums.astype(np.float32))


@reported(
    "rustnn/rustnn#43",
    ops="Relu",
    right=Names(
        mistakes=(
            "integers_computed_in_float32*",
            "integers_through_float32",
            "cast_through_float32",
        ),
        terms=(
            "*input is int32",
            "*input is int64",
            "the output is int32",
            "the output is int64",
            "* has a value beyond 2^*",
        ),
    ),
    partly=Names(terms=("*input is int*", "the output is int*")),
)
def relu_of_integers_through_float32(node: Node) -> Outputs:
    """Integers are made float32, and what is out of range then wraps around."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype.kind != "i":
        return outputs
    floats = np.maximum(x.astype(np.float32), np.float32(0)).astype(np.float64)
    limits = np.iinfo(np.int64)
    is_beyond = floats >= 2.0**63
    whole = np.where(is_beyond, 0, floats).astype(np.int64)
    return [np.where(is_beyond, limits.min, whole).astype(x.dtype)]


@reported(
    "openvinotoolkit/openvino#33518",
    ops="Sub",
    right=Names(
        mistakes=("overflow_saturates", "*integers_saturate*", "*differences_saturate*"),
        terms=("the output is uint8", "input * is uint8", "both inputs are uint8"),
    ),
)
def sub_of_uint8_saturates(node: Node) -> Outputs:
    """Differences of uint8 below 0 are 0; they do not wrap around."""
    outputs = right(node)
    if outputs[0].dtype != np.uint8:
        return outputs
    a, b = given(node, 0), given(node, 1)
    return [np.asarray(np.where(a > b, a - b, np.uint8(0)))]


@reported(
    "apache/tvm#19972",
    ops="TopK",
    right=Names(
        mistakes=("output*int32*", "*ndices*int32*", "*laces*int32*"),
        terms=("*Indices*int32*", "*output*int32*", "*int32*output*", ALWAYS),
    ),
)
def top_k_places_are_int32(node: Node) -> Outputs:
    """Indices are int32, and not int64."""
    outputs = right(node)
    return [
        output.astype(np.int32) if place == 1 else output
        for place, output in zip(places_of(node, outputs), outputs, strict=True)
    ]


@reported(
    "openvinotoolkit/openvino#37728",
    ops="Softplus",
    right=Names(
        mistakes=("exp_in_float32", "exp*_overflow*", "*exponential*overflow*"),
        terms=("* has a value beyond *", "* has a value above *", "* has a large *"),
    ),
    partly=Names(terms=("*input is float32", "input X is float32", "the output is float32")),
    admitted=True,
)
def softplus_of_large_numbers_is_infinite(node: Node) -> Outputs:
    """The exponential of a large float32 is infinite, and so is the logarithm of it and 1."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    return [np.where(np.isinf(np.exp(x)), np.float32(np.inf), outputs[0])]


@reported(
    "microsoft/onnxruntime#28461",
    ops="ReduceLogSumExp",
    right=Names(
        mistakes=("shift*infinit*", "*infinities_subtracted*", "*all_infinit*"),
        terms=(
            "* has an infinity",
            "* has -inf*",
            "* has a -inf*",
            "* has a negative infinity",
            "* is -inf*",
        ),
    ),
    partly=Names(mistakes=("minus_infinity_taken_for_nan",)),
)
def log_sum_exp_of_minus_infinities(node: Node) -> Outputs:
    """The largest is subtracted, which is NaN if all numbers are -infinity."""
    outputs = right(node)
    has_axes = bool(integers(node, "axes")) or (is_given(node, 1) and given(node, 1).size > 0)
    is_noop = integer(node, "noop_with_empty_axes") and not has_axes
    if is_noop or not given(node, 0).size or outputs[0].dtype.kind in "iu":
        return outputs
    is_lost = outputs[0] == outputs[0].dtype.type(-np.inf)
    return [np.where(is_lost, outputs[0].dtype.type(np.nan), outputs[0])]


@reported(
    "microsoft/onnxruntime#10726",
    "onnx/onnx#4081",
    ops="Selu",
    right=Names(
        mistakes=("*clipped_at_0*", "*min*0*"),
        terms=("`alpha` is negative", "`alpha` is -*", "`alpha` is 0 or less", "`alpha` is below*"),
    ),
    partly=Names(terms=("`alpha` *",)),
)
def selu_of_negative_alpha(node: Node) -> Outputs:
    """Both branches are added, each cut off at 0, which is wrong if `alpha` is negative."""
    outputs = right(node)
    alpha = number(node, "alpha", 1.67326)
    if alpha >= 0:
        return outputs
    gamma = number(node, "gamma", 1.0507)
    x = given(node, 0).astype(np.float64)
    branches = np.maximum(x, 0) + np.minimum(alpha * np.expm1(x), 0)
    return [(gamma * branches).astype(outputs[0].dtype)]


# Integer products.


@reported(
    "emmtrix/emx-onnx-cgen#374",
    ops="QLinearMatMul",
    right=Names(mistakes=("wraps_around", "*wrap_around*"), terms=("*out of range*",)),
)
def qlinear_matmul_wraps(node: Node) -> Outputs:
    """Results out of the range of 8 bits wrap around, and do not saturate."""
    outputs = right(node)
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (given(node, n) for n in range(8))
    parameters = (a_scale, a_zero, b_scale, b_zero, y_scale, y_zero)
    is_of_integers = {a.dtype.kind, b.dtype.kind, y_zero.dtype.kind} <= {*"iu"}
    if not is_of_integers or any(array.size != 1 for array in parameters):
        return outputs
    sums = (a.astype(np.int64) - int(a_zero.item())) @ (b.astype(np.int64) - int(b_zero.item()))
    factor = float(a_scale.item()) * float(b_scale.item()) / float(y_scale.item())
    whole = np.rint(sums * factor) + float(y_zero.item())
    limits = np.iinfo(y_zero.dtype)
    is_beyond = (whole < limits.min) | (whole > limits.max)
    wrapped = np.mod(np.where(is_beyond, whole, 0), 256).astype(np.int64).astype(y_zero.dtype)
    return [np.where(is_beyond, wrapped, outputs[0]).reshape(outputs[0].shape)]


def columns_of(node: Node, x: Array, fill: int, sizes: Sequence[int]) -> Array:
    """Return what each element of a kernel meets: [batch, element, channel, *sizes].

    x: The input of a convolution, padded here with `fill`; sizes: those of the output's spatial
    axes.
    """
    kernel = given(node, 3).shape[2:]
    strides = integers(node, "strides") or (1,) * len(kernel)
    dilations = integers(node, "dilations") or (1,) * len(kernel)
    pads = integers(node, "pads") or (0,) * 2 * len(kernel)
    if str(node.attrs.get("auto_pad")).startswith("SAME"):
        pads = same_pads(node, [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)])
    widths = [(0, 0), (0, 0), *zip(pads[: len(kernel)], pads[len(kernel) :], strict=True)]
    padded = np.pad(x, widths, constant_values=fill)
    columns = []
    for element in product(*map(range, kernel)):
        starts = [place * dilation for place, dilation in zip(element, dilations, strict=True)]
        taken = (
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, sizes, strides, strict=True)
        )
        columns.append(padded[(slice(None), slice(None), *taken)])
    return np.stack(columns, axis=1)


@reported(
    "microsoft/onnxruntime#16105",
    "microsoft/onnxruntime#9365",
    ops="QLinearConv",
    right=Names(mistakes=("pairs_saturate",)),
    partly=Names(terms=("input x is uint8", "input w is int8")),
)
def qlinear_conv_saturates_pairs(node: Node) -> Outputs:
    """Two products of uint8 and int8 are added in 16 bits, where they saturate."""
    outputs = right(node)
    x, w = given(node, 0), given(node, 3)
    if x.dtype != np.uint8 or w.dtype != np.int8 or not outputs[0].size:
        return outputs
    groups = integer(node, "group", 1)
    x_zero = int(given(node, 2).item())
    columns = columns_of(node, x, x_zero, outputs[0].shape[2:]).astype(np.int64)
    lost, sums = [], []
    for patches, filters in zip(
        np.split(columns, groups, axis=2), np.split(w, groups), strict=True
    ):
        flat = patches.reshape(len(x), 1, -1, *outputs[0].shape[2:])
        taps = np.moveaxis(filters.astype(np.int64), 1, -1).reshape(len(filters), -1)
        taps = taps.reshape(*taps.shape, *[1] * (x.ndim - 2))
        lost.append(lost_by_pairs(flat * taps))
        sums.append((flat, taps))
    return [requantized(node, np.concatenate(lost, axis=1), sums, outputs[0])]


def lost_by_pairs(products: Array) -> Array:
    """Return what is lost if neighbors along axis 2 are added in 16 bits: sums without axis 2."""
    if products.shape[2] % 2:
        widths = [(0, 1) if axis == 2 else (0, 0) for axis in range(products.ndim)]
        products = np.pad(products, widths)
    pairs = products[:, :, ::2] + products[:, :, 1::2]
    return np.asarray((np.clip(pairs, INT16.min, INT16.max) - pairs).sum(axis=2))


def requantized(node: Node, lost: Array, sums: Sequence[tuple[Array, Array]], y: Array) -> Array:
    """Return the output of a QLinearConv whose sums lack `lost`; `y` where nothing is lost.

    sums: For each group, columns [batch, 1, taps, …] and filters [channels, taps, …].
    """
    x_scale, x_zero, w_scale, w_zero, y_scale, y_zero = (
        given(node, place).astype(np.float64) for place in (1, 2, 4, 5, 6, 7)
    )
    of_channels = (-1, *[1] * (y.ndim - 2))
    w_zeros = np.broadcast_to(w_zero.reshape(-1), (y.shape[1],))
    parts = np.split(w_zeros, len(sums))
    exact = [
        ((flat - x_zero) * (taps - zeros.reshape(-1, 1, *of_channels[1:]))).sum(axis=2)
        for (flat, taps), zeros in zip(sums, parts, strict=True)
    ]
    bias = given(node, 8).reshape(of_channels) if is_given(node, 8) else 0
    factor = x_scale * w_scale.reshape(of_channels if w_scale.size > 1 else ()) / y_scale
    whole = np.rint((np.concatenate(exact, axis=1) + lost + bias) * factor) + y_zero
    limits = np.iinfo(y.dtype)
    held = np.clip(whole, limits.min, limits.max).astype(y.dtype)
    return np.asarray(np.where(lost != 0, held, y))


# Axes, places and lengths.


@reported(
    "microsoft/onnxruntime#29020",
    ops="Attention",
    right=Names(
        mistakes=("causal_to_the_last_key",),
        terms=(
            "`is_causal` is 1*",
            "`is_causal` is given",
            "*Q is shorter than *K*",
            "*K is longer than *Q*",
            "input past_key is left out",
            "input 4 is left out",
        ),
    ),
    partly=Names(
        mistakes=("is_causal_*",), terms=("`is_causal` *", "the length * of input [QKV] *")
    ),
)
def causal_mask_from_the_bottom_right(node: Node) -> Outputs:
    """Of fewer queries than keys without a past, the last query is at the last key."""
    outputs = right(node)
    queries, keys = given(node, 0).shape[-2], given(node, 1).shape[-2]
    has_past = is_given(node, 4) or is_given(node, 6)
    if not integer(node, "is_causal") or has_past or queries >= keys:
        return outputs
    shown = np.tri(queries, keys, keys - queries, dtype=bool)
    if is_given(node, 3):
        mask = given(node, 3)
        if mask.dtype.kind in "iu" or mask.shape[-1] != keys:
            return outputs
        hidden: Any = False if mask.dtype == bool else mask.dtype.type(-np.inf)
        shown = np.where(shown, mask, hidden)
    inputs = (*node.inputs[:3], shown, *node.inputs[4:])
    return right(replace(node, inputs=inputs).with_attrs(is_causal=None))


@reported(
    "onnx/onnx#7682",
    ops="GlobalMaxPool",
    right=Names(
        mistakes=("*over_the_last_two*", "*two_axes_alone*"),
        terms=(
            "the rank of the input is [35]*",
            "the rank of input X is [35]*",
            "the rank of the output is [35]*",
            "the number of spatial axes is [13]*",
            "the number of axes is [35]*",
        ),
    ),
    partly=Names(terms=("the rank of *", "the number of spatial axes *")),
)
def global_max_pool_of_two_axes(node: Node) -> Outputs:
    """The maximum is over the last two axes, whatever the rank, and as many axes are added."""
    outputs = right(node)
    x = given(node, 0)
    added = x.ndim - 2
    if added < 1 or not x.size:
        return outputs
    largest = x.max(axis=(added, added + 1))
    return [largest.reshape(*largest.shape, *[1] * added)]


@reported(
    "NVIDIA/TensorRT#4756",
    ops="GroupNormalization",
    right=Names(mistakes=("instances",), terms=("`num_groups` is 1*",)),
    partly=Names(terms=("`num_groups` *",)),
)
def one_group_for_each_channel(node: Node) -> Outputs:
    """With one group, each channel is normalized by itself."""
    outputs = right(node)
    if integer(node, "num_groups") != 1:
        return outputs
    return right_if_any(node.with_attrs(num_groups=given(node, 0).shape[1]), outputs)


@reported(
    "tracel-ai/burn-onnx#235",
    ops="Range",
    right=Names(
        mistakes=("*negative_delta*", "*negative_step*", "*descending*"),
        terms=(
            "input delta has a negative value",
            "input delta is negative",
            "the output is int*",
            "input * is int*",
        ),
    ),
    partly=Names(terms=("input delta *",)),
)
def range_backwards_is_empty(node: Node) -> Outputs:
    """A negative `delta` of integers is a large positive one: nothing lies below the start."""
    outputs = right(node)
    start, limit, delta = (given(node, place) for place in range(3))
    if start.dtype.kind != "i" or delta.item() >= 0:
        return outputs
    return [start.reshape(-1)[: int(limit.item() > start.item())]]


@reported(
    "tracel-ai/burn#5195",
    ops="ScatterND",
    right=Names(
        mistakes=("*updates*stride*", "*stride*updates*"),
        terms=(
            "the rank of input indices is [3-9]*",
            "the rank of input updates is [3-9]*",
        ),
    ),
    partly=Names(terms=("the rank of input *", "the length * of input updates *")),
)
def scatter_nd_reads_updates_apart(node: Node) -> Outputs:
    """The next update is looked for a whole row of axis 0 further, though rows hold many."""
    outputs = right(node)
    data, indices, updates = (given(node, place) for place in range(3))
    axes_of_rows = indices.ndim - 1
    if axes_of_rows < 2 or not updates.size:
        return outputs
    rest = data.shape[indices.shape[-1] :]
    steps = [int(np.prod(updates.shape[axis + 1 :])) for axis in range(updates.ndim)]
    places = np.arange(np.prod(updates.shape[:axes_of_rows])) * steps[0]
    places = places.reshape(-1, *[1] * len(rest))
    for axis, length in enumerate(rest):
        along = [1] * (len(rest) + 1)
        along[axis + 1] = length
        places = places + np.arange(length).reshape(along) * steps[axis + 1]
    # What lies behind the updates is any memory: here they begin anew.
    read = updates.reshape(-1)[places % updates.size].reshape(updates.shape)
    return right(node.with_input(2, read))


@reported(
    "openvinotoolkit/openvino#32673",
    "openvinotoolkit/openvino#20872",
    ops="ReverseSequence",
    right=Names(
        mistakes=("*length_0*", "*empty_sequence*"),
        terms=(
            "input sequence_lens has a 0*",
            "input sequence_lens has a zero*",
            "* of input sequence_lens is 0*",
            "* sequence_lens is 0 or less",
        ),
    ),
    partly=Names(mistakes=("zeros",), terms=("input sequence_lens *",)),
)
def sequences_of_length_0_are_zeros(node: Node) -> Outputs:
    """A sequence of length 0 is skipped, and zeros stand where it should be as it was."""
    outputs = right(node)
    y = outputs[0]
    if y.dtype == object or not y.size:
        return outputs
    batches = np.moveaxis(y, integer(node, "batch_axis", 1), 0)
    batches[given(node, 1) == 0] = y.dtype.type(0)
    return [y]
