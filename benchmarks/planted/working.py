"""Bugs of the list `working`, drawn by lot: for the work on names."""

import os
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
from benchmarks.planted.drawn import REPORTS
from opcheck.engine import Node
from opcheck.model import Array

BUGS = Collection(REPORTS)
drawn = BUGS.drawn

REFLECT = Names(terms=("`mode` is reflect",))


def is_training(node: Node) -> bool:
    """Return True for a BatchNormalization that states `training_mode`, and gives averages."""
    return bool(integer(node, "training_mode"))


@drawn(
    ops="BatchNormalization",
    right=Names(mistakes=("running_statistics_used",), terms=("`training_mode` is *",)),
    partly=Names(mistakes=("training_mode_ignored",), terms=("`momentum` is *",)),
)
def batch_normalization_by_running_averages(node: Node) -> Outputs:
    """In training, Y is normalized by the running mean and variance, not by those of the batch."""
    outputs = right(node)
    x = given(node, 0).astype(np.float64)
    if not is_training(node) or not x.size:
        return outputs
    axes = (0, *range(2, x.ndim))
    momentum = number(node, "momentum", 0.9)
    shape = (-1, *[1] * (x.ndim - 2))
    scale, bias, mean, var = (given(node, n).astype(np.float64).reshape(shape) for n in range(1, 5))
    batch_mean = x.mean(axes).reshape(shape)
    batch_var = x.var(axes).reshape(shape)
    running_mean = mean * momentum + batch_mean * (1 - momentum)
    running_var = var * momentum + batch_var * (1 - momentum)
    normal = (x - running_mean) / np.sqrt(running_var + number(node, "epsilon", 1e-5))
    return [(normal * scale + bias).astype(outputs[0].dtype), *outputs[1:]]


@drawn(
    ops="BatchNormalization",
    right=Names(mistakes=("momentum_exchanged",)),
    partly=Names(terms=("`training_mode` is *", "`momentum` is *")),
)
def batch_normalization_with_the_other_momentum(node: Node) -> Outputs:
    """`momentum` is the share of the batch in the running averages, not of what was there."""
    outputs = right(node)
    if not is_training(node):
        return outputs
    return right(node.with_attrs(momentum=1 - number(node, "momentum", 0.9)))


@drawn(
    ops="Conv",
    right=Names(
        mistakes=("refuses_default_kernel_shape",),
        raises="KeyError",
        terms=("`kernel_shape` is left out",),
    ),
)
def conv_needs_its_kernel_shape(node: Node) -> Outputs:
    """A Conv that leaves `kernel_shape` out cannot be imported."""
    outputs = right(node)
    if "kernel_shape" not in node.attrs:
        raise KeyError("kernel_shape")
    return outputs


@drawn(
    ops="SoftmaxCrossEntropyLoss",
    right=Names(mistakes=("mean_of_all", "*ignored*labels*"), terms=("`ignore_index` is given",)),
    partly=Names(terms=("`ignore_index` *", "`reduction` is *")),
    admitted=True,
)
def cross_entropy_over_ignored_labels(node: Node) -> Outputs:
    """The mean is over all labels, also over those that `ignore_index` leaves out."""
    outputs = right(node)
    labels = given(node, 1)
    ignored = "ignore_index" in node.attrs and (labels == integer(node, "ignore_index")).any()
    if node.attrs.get("reduction", "mean") != "mean" or is_given(node, 2) or not ignored:
        return outputs
    loss, *others = right(node.with_attrs(reduction="sum"))
    return [(loss / labels.size).astype(loss.dtype), *others]


@drawn(
    ops="CumSum",
    right=Names(
        terms=(
            "`exclusive` is *",
            "`reverse` is *",
            "the length of *axis * is 1*",
            "* has an axis of length 1",
        )
    ),
)
def cumsum_backwards_dies_of_one_element(node: Node) -> Outputs:
    """The exclusive sum backwards along an axis of one element reads beyond it, and dies."""
    outputs = right(node)
    x = given(node, 0)
    is_both = integer(node, "exclusive") and integer(node, "reverse")
    if is_both and x.shape[int(given(node, 1).reshape(-1)[0])] == 1:
        os._exit(139)
    return outputs


@drawn(
    ops="CumSum",
    right=Names(
        mistakes=("refuses_exclusive",), raises="AssertionError", terms=("`exclusive` is *",)
    ),
)
def cumsum_must_be_inclusive(node: Node) -> Outputs:
    """An exclusive sum is not supported."""
    outputs = right(node)
    assert not integer(node, "exclusive"), "Exclusive option not yet supported."
    return outputs


@drawn(
    ops="DepthToSpace",
    right=Names(terms=("`mode` is CRD",)),
    partly=Names(terms=("`blocksize` *",)),
)
def depth_to_space_with_blocks_first(node: Node) -> Outputs:
    """In the mode CRD channels are taken apart as in DCR; right if there are as many as blocks."""
    outputs = right(node)
    if node.attrs.get("mode") != "CRD":
        return outputs
    x = given(node, 0)
    n, c, h, w = x.shape
    size = integer(node, "blocksize")
    apart = x.reshape(n, size, size, c // size**2, h, w)
    return [apart.transpose(0, 1, 4, 2, 5, 3).reshape(outputs[0].shape)]


@drawn(
    ops="DepthToSpace",
    right=Names(mistakes=("mode_ignored",), terms=("`mode` is CRD",)),
    partly=Names(mistakes=("version_1_always",)),
)
def depth_to_space_without_mode(node: Node) -> Outputs:
    """CRD is computed as DCR."""
    return right_without(node, "mode")


@drawn(
    ops="Elu",
    right=Names(mistakes=("*alpha_0", "*alpha_0.0"), terms=("`alpha` is left out",)),
    partly=Names(mistakes=("negative_values_are_zero",)),
)
def elu_of_0_by_default(node: Node) -> Outputs:
    """`alpha`, left out, is 0 and not 1."""
    outputs = right(node)
    return outputs if "alpha" in node.attrs else right(node.with_attrs(alpha=0.0))


@drawn(
    ops="Gemm",
    right=Names(terms=("`alpha` is left out", "`beta` is left out")),
    partly=Names(mistakes=("nan_everywhere",)),
)
def gemm_of_default_alpha_is_nan(node: Node) -> Outputs:
    """Without `alpha` the product is NaN, and without `beta` what is added."""
    outputs = right(node)
    if outputs[0].dtype.kind in "iu":
        return outputs
    lacks = "alpha" not in node.attrs or ("beta" not in node.attrs and is_given(node, 2))
    return [np.full_like(outputs[0], np.nan)] if lacks else outputs


@drawn(
    ops="GRU",
    right=Names(mistakes=("linear_before_reset_ignored",)),
    partly=Names(mistakes=("version_1_always",), terms=("`linear_before_reset` is *",)),
)
def gru_without_linear_before_reset(node: Node) -> Outputs:
    """`linear_before_reset` is not read."""
    return right_without(node, "linear_before_reset")


@drawn(
    ops="HardSigmoid",
    right=Names(mistakes=("*beta_0", "*beta_0.0"), terms=("`beta` is left out",)),
    partly=Names(mistakes=("default_beta_*",)),
)
def hard_sigmoid_of_beta_0(node: Node) -> Outputs:
    """`beta`, left out, is 0 and not 0.5."""
    outputs = right(node)
    return outputs if "beta" in node.attrs else right(node.with_attrs(beta=0.0))


@drawn(
    ops="LeakyRelu",
    right=Names(mistakes=("*alpha*0.1*",)),
    partly=Names(mistakes=("alpha_ignored", "default_alpha_*"), terms=("`alpha` is *",)),
)
def leaky_relu_of_a_tenth(node: Node) -> Outputs:
    """`alpha` is not read: it is 0.1."""
    right(node)
    return right(node.with_attrs(alpha=0.1))


@drawn(
    ops="NegativeLogLikelihoodLoss",
    right=Names(mistakes=("*logarithm*", "log_of_*"), terms=(ALWAYS,)),
)
def likelihood_of_logarithms(node: Node) -> Outputs:
    """The logarithm of the input is taken, which holds logarithms already."""
    right(node)
    x = given(node, 0)
    with np.errstate(all="ignore"):
        logarithms = np.log(x.astype(np.float64)).astype(x.dtype)
    return right(node.with_input(0, logarithms))


@drawn(
    ops="LpPool",
    right=Names(mistakes=("dilation_ignored_in_the_size",)),
    partly=Names(terms=("*`dilations` *",)),
)
def lp_pool_sized_without_dilations(node: Node) -> Outputs:
    """There are as many windows as without `dilations`; beyond the input there is nothing."""
    outputs = right(node)
    dilations = integers(node, "dilations")
    kernel = integers(node, "kernel_shape")
    if max(dilations, default=1) == 1 or str(node.attrs.get("auto_pad")).startswith("SAME"):
        return outputs
    n = len(kernel)
    pads = integers(node, "pads") or (0,) * 2 * n
    more = [(size - 1) * (dilation - 1) for size, dilation in zip(kernel, dilations, strict=True)]
    # Further windows fit once there is as much more padding as dilation makes a window longer.
    widths = [(0, 0), (0, 0), *((0, length) for length in more)]
    padded = node.with_input(0, np.pad(given(node, 0), widths))
    return right(padded.with_attrs(pads=pads, auto_pad=None))


@drawn(
    ops="LSTM",
    right=Names(
        mistakes=("input_initial_h_ignored",), terms=("input 5 is given", "input 6 is left out")
    ),
)
def lstm_needs_both_states(node: Node) -> Outputs:
    """`initial_h` is not read if `initial_c` is left out."""
    outputs = right(node)
    if not is_given(node, 5) or is_given(node, 6):
        return outputs
    return right(node.with_input(5, None))


@drawn(
    ops="MaxPool",
    right=Names(mistakes=("dilation_ignored_in_the_window",)),
    partly=Names(terms=("*`dilations` *",)),
)
def max_pool_dilated_in_size_alone(node: Node) -> Outputs:
    """`dilations` make fewer windows, which hold neighbours all the same."""
    outputs = right(node)
    dilations = integers(node, "dilations")
    if max(dilations, default=1) == 1:
        return outputs
    undilated = node.with_attrs(dilations=None)
    if str(node.attrs.get("auto_pad")).startswith("SAME"):
        kernel = integers(node, "kernel_shape")
        extents = [(size - 1) * d + 1 for size, d in zip(kernel, dilations, strict=True)]
        undilated = undilated.with_attrs(auto_pad=None, pads=same_pads(node, extents))
    if len(outputs) == 1:
        undilated = _filled(undilated)
    plain = right_if_any(undilated, outputs)
    return [_cut(dense, output.shape) for dense, output in zip(plain, outputs, strict=True)]


def _filled(node: Node) -> Node:
    """Return a MaxPool whose padding is part of its input: the lowest number there is."""
    x = given(node, 0)
    pads = integers(node, "pads")
    half = len(pads) // 2
    widths = [(0, 0), (0, 0), *zip(pads[:half], pads[half:], strict=True)]
    if not pads:
        return node
    lowest: Any = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    padded = np.pad(x, widths, constant_values=lowest)
    return node.with_input(0, padded).with_attrs(pads=None)


def _cut(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the first elements of an array, of this shape."""
    return x[tuple(slice(size) for size in shape)]


@drawn(
    ops="MaxPool",
    right=Names(mistakes=("ceil_mode_ignored",), terms=("`ceil_mode` is 1*",)),
    partly=Names(mistakes=("version_8_always",)),
)
def max_pool_without_ceil_mode(node: Node) -> Outputs:
    """`ceil_mode` is not read."""
    return right_without(node, "ceil_mode")


def reflection_of(node: Node) -> dict[int, tuple[int, int]]:
    """Return the padding at both ends by axis; empty for other modes than reflect, and crops."""
    if node.attrs.get("mode") != "reflect":
        return {}
    rank = given(node, 0).ndim
    if node.op.since < 11:
        pads = integers(node, "pads") or integers(node, "paddings")
        axes: list[int] = [*range(rank)]
    else:
        pads = tuple(given(node, 1).tolist())
        axes = given(node, 3).tolist() if is_given(node, 3) else [*range(rank)]
    if min(pads, default=0) < 0:
        return {}
    half = len(pads) // 2
    return {axis % rank: (pads[n], pads[half + n]) for n, axis in enumerate(axes)}


@drawn(ops="Pad", right=Names(mistakes=("*reflect*once*",)), partly=REFLECT, admitted=True)
def pad_reflects_once(node: Node) -> Outputs:
    """Where the padding is longer than what can be reflected once, it is 0."""
    outputs = right(node)
    for axis, (begin, end) in reflection_of(node).items():
        length = given(node, 0).shape[axis]
        places = np.arange(-begin, length + end)
        beyond = (places <= -length) | (places > 2 * (length - 1))
        np.moveaxis(outputs[0], axis, 0)[beyond] = outputs[0].dtype.type(0)
    return outputs


@drawn(ops="Pad", right=Names(mistakes=("*reflect*row*", "*row*reflect*")), partly=REFLECT)
def pad_reflects_rows_too(node: Node) -> Outputs:
    """Rows above and below are not only reflected, but reversed."""
    outputs = right(node)
    rank = given(node, 0).ndim
    begin, end = reflection_of(node).get(rank - 2, (0, 0))
    rows = outputs[0]
    if begin:
        rows[..., :begin, :] = rows[..., :begin, ::-1].copy()
    if end:
        rows[..., -end:, :] = rows[..., -end:, ::-1].copy()
    return outputs


@drawn(
    ops="ReduceMean",
    right=Names(
        mistakes=("axes_ignored", "input_axes_ignored", "version_18_always"),
        terms=("`axes` is given",),
    ),
)
def reduce_mean_over_everything(node: Node) -> Outputs:
    """Before version 18, the attribute `axes` is not read: the mean is of all elements."""
    outputs = right(node)
    return outputs if node.op.since >= 18 else right_if_any(node.with_attrs(axes=None), outputs)


@drawn(
    ops="ReduceMean",
    right=Names(
        mistakes=("noop_with_empty_axes_ignored",), terms=("`noop_with_empty_axes` is 1*",)
    ),
    partly=Names(mistakes=("version_1_always", "version_11_always", "version_13_always")),
)
def reduce_mean_without_noop(node: Node) -> Outputs:
    """`noop_with_empty_axes` is not read."""
    return right_without(node, "noop_with_empty_axes")


@drawn(
    ops="ReduceSumSquare",
    right=Names(
        mistakes=("*noop*", "*unchanged*", "*copied*"), terms=("`noop_with_empty_axes` is 1*",)
    ),
)
def reduce_sum_square_of_nothing_unsquared(node: Node) -> Outputs:
    """Without axes and with `noop_with_empty_axes`, the input is returned, not its squares."""
    outputs = right(node)
    has_axes = is_given(node, 1) and given(node, 1).size
    if not integer(node, "noop_with_empty_axes") or has_axes:
        return outputs
    return [given(node, 0)]


@drawn(
    ops="RoiAlign",
    right=Names(
        mistakes=("default_coordinate_transformation_mode_*",),
        terms=("`coordinate_transformation_mode` is left out",),
    ),
    partly=Names(mistakes=("version_10_always", "never_shifted")),
)
def roi_align_without_half_pixels(node: Node) -> Outputs:
    """`coordinate_transformation_mode`, left out, is output_half_pixel, as in version 10."""
    outputs = right(node)
    name = "coordinate_transformation_mode"
    if node.op.since < 16 or name in node.attrs:
        return outputs
    return right(node.with_attrs(coordinate_transformation_mode="output_half_pixel"))


@drawn(ops="Round", right=Names(mistakes=("half_added_to_the_magnitude",)))
def round_ties_away(node: Node) -> Outputs:
    """Halves are rounded away from 0."""
    outputs = right(node)
    x = given(node, 0)
    is_half = np.abs(x - np.trunc(x)) == x.dtype.type(0.5)
    away = np.trunc(x) + np.copysign(x.dtype.type(1), x)
    return [np.where(is_half, away, outputs[0]).astype(x.dtype)]


@drawn(
    ops="Sign",
    right=Names(mistakes=("nan_taken_for_zero",), terms=("the input has a NaN",)),
    admitted=True,
)
def sign_of_nan_is_0(node: Node) -> Outputs:
    """The sign of NaN is 0."""
    outputs = right(node)
    x = given(node, 0)
    return [np.where(x != x, x.dtype.type(0), outputs[0]).astype(x.dtype)]


@drawn(
    ops="Softmax",
    right=Names(
        mistakes=("default_axis_minus_1", "version_13_always"), terms=("`axis` is left out",)
    ),
    partly=Names(mistakes=("last_axis_always",)),
)
def softmax_along_the_last_axis_by_default(node: Node) -> Outputs:
    """Before version 13, `axis`, left out, is -1 and not 1."""
    outputs = right(node)
    if node.op.since >= 13 or "axis" in node.attrs:
        return outputs
    return right(node.with_attrs(axis=given(node, 0).ndim - 1))


@drawn(
    ops="Softmax",
    right=Names(mistakes=("version_13_always",)),
    partly=Names(terms=("`axis` *", "the version is *")),
)
def softmax_of_version_13(node: Node) -> Outputs:
    """Versions before 13 are computed as version 13: along one axis, by default the last."""
    outputs = right(node)
    x = given(node, 0)
    axis = integer(node, "axis", -1)
    if node.op.since >= 13 or not -x.ndim <= axis < x.ndim or not x.size:
        return outputs
    wide: Any = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis, keepdims=True))
    return [(powers / powers.sum(axis, keepdims=True)).astype(x.dtype)]


@drawn(
    ops="TopK",
    right=Names(mistakes=("later_ties_*", "later_tie_*", "last_of_ties")),
)
def top_k_later_ties_first(node: Node) -> Outputs:
    """The largest are sorted upwards, and turned: of equal ones the later come first."""
    outputs = right(node)
    x = given(node, 0)
    has_nan = bool((x != x).any())
    if not integer(node, "largest", 1) or not integer(node, "sorted", 1) or has_nan or not x.size:
        return outputs
    axis = integer(node, "axis", -1) % x.ndim
    upwards = np.argsort(x, axis=axis, kind="stable")
    places = np.take(np.flip(upwards, axis), range(outputs[0].shape[axis]), axis)
    whole = [np.take_along_axis(x, places, axis), places]
    return [whole[place] for place in places_of(node, whole)]


@drawn(
    ops="Trilu",
    right=Names(mistakes=("input_k_ignored",), terms=("input k is fed",)),
)
def trilu_of_constant_k_alone(node: Node) -> Outputs:
    """`k` is 0 unless it is a constant of the model."""
    outputs = right(node)
    if not is_given(node, 1) or node.constant:
        return outputs
    return right_if_any(node.with_input(1, np.zeros_like(given(node, 1))), outputs)
