"""Reported bugs of values: types, arithmetic, attributes, order, and what depends on the past."""

import random
from typing import Any

import numpy as np

from benchmarks.planted import (
    ALWAYS,
    Collection,
    Names,
    Outputs,
    given,
    integer,
    is_given,
    number,
    right,
)
from opcheck.engine import Node
from opcheck.model import Array

BUGS = Collection()
reported = BUGS.reported


@reported(
    "tracel-ai/burn-onnx#329",
    ops="Mod",
    right=Names(
        mistakes=("fmod*", "default_fmod_1", "quotients_*"),
        terms=("the rank of input * is 0*",),
    ),
    partly=Names(terms=("the number of elements of input * is 1*",)),
)
def mod_of_scalars_with_the_sign_of_the_dividend(node: Node) -> Outputs:
    """Mod of two integers of rank 0 is C's remainder, with the sign of the dividend."""
    outputs = right(node)
    a, b = given(node, 0), given(node, 1)
    if a.ndim or b.ndim or a.dtype.kind != "i":
        return outputs
    return [np.asarray(np.fmod(a, b))]


@reported(
    "openvinotoolkit/openvino#32918",
    ops="DequantizeLinear",
    right=Names(mistakes=("blocks_in_turns",)),
    partly=Names(terms=("*`block_size` *",)),
)
def blocks_of_axis_1_interleaved(node: Node) -> Outputs:
    """Blocked along axis 1, scales are read in turns and not for one block after the other."""
    outputs = right(node)
    x, scale = given(node, 0), given(node, 1)
    axis = integer(node, "axis", 1) % max(x.ndim, 1)
    if not integer(node, "block_size") or axis != 1 or scale.shape[1] < 2:
        return outputs
    order = np.arange(x.shape[1]) % scale.shape[1]
    # As the engine computes it with a scale for each element of the axis.
    turned = node.with_attrs(block_size=1).with_input(1, scale[:, order])
    if is_given(node, 2):
        turned = turned.with_input(2, given(node, 2)[:, order])
    return right(turned)


@reported(
    "microsoft/onnxruntime#32730",
    ops="DequantizeLinear",
    right=Names(
        mistakes=("block_size_ignored",),
        terms=("the rank of input x is 1*", "`block_size` *"),
    ),
    partly=Names(mistakes=("blocks_*",)),
)
def blocks_of_a_vector_as_per_axis(node: Node) -> Outputs:
    """On WebGPU, a blocked vector takes a scale for each element, and the last beyond these."""
    outputs = right(node)
    x, scale = given(node, 0), given(node, 1)
    if x.ndim != 1 or not integer(node, "block_size") or not scale.size:
        return outputs
    order = np.minimum(np.arange(x.size), scale.size - 1)
    clamped = node.with_attrs(block_size=1).with_input(1, scale[order])
    if is_given(node, 2):
        clamped = clamped.with_input(2, given(node, 2)[order])
    return right(clamped)


@reported(
    "tracel-ai/burn-onnx#329",
    ops="Clip",
    right=Names(
        mistakes=("integers_*through_float64", "cast_through_float64"),
        terms=("*input* is int64", "*input* is uint64", "input * has a value beyond 2^53"),
    ),
)
def clip_bounds_through_float64(node: Node) -> Outputs:
    """Bounds of 64-bit integers are read as float64."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return outputs
    low, high = (
        given(node, place).astype(np.float64) if is_given(node, place) else None for place in (1, 2)
    )
    clipped = x
    if low is not None:
        clipped = np.maximum(clipped, _saturated(low, x.dtype))
    if high is not None:
        clipped = np.minimum(clipped, _saturated(high, x.dtype))
    return [clipped]


def _saturated(bound: Array, dtype: Any) -> Array:
    """Return a float64 bound as an integer of the type, within its ends."""
    limits: Any = np.iinfo(dtype)
    return np.asarray(min(max(int(bound), int(limits.min)), int(limits.max)), dtype)


@reported(
    "tracel-ai/burn-onnx#329",
    ops="OneHot",
    right=Names(
        mistakes=("integers_through_float32", "cast_through_float32"),
        terms=("input values is *int64", "input values is *int32", "the output is *int64"),
    ),
)
def one_hot_values_through_float32(node: Node) -> Outputs:
    """Integers among the values are read as float32."""
    outputs = right(node)
    if given(node, 2).dtype.kind not in "iu":
        return outputs
    return [output.astype(np.float32).astype(output.dtype) for output in outputs]


@reported(
    "microsoft/onnxruntime#17692",
    ops="LayerNormalization",
    right=Names(
        mistakes=("*in_float16*", "*float16_sums*", "accumulat*float16*"),
        terms=("input X is float16",),
    ),
    partly=Names(terms=("input * is float16", "the output is float16")),
)
def layer_normalization_adds_in_float16(node: Node) -> Outputs:
    """Of float16, mean and variance are added up in float16."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float16 or node.count > 1 or not x.size:
        return outputs
    axes = tuple(range(integer(node, "axis", -1) % x.ndim, x.ndim))
    count = np.float16(np.prod([x.shape[axis] for axis in axes]))
    mean = _added_in_float16(x, axes) / count
    off = x - mean
    variance = _added_in_float16(off * off, axes) / count
    epsilon = np.float16(number(node, "epsilon", 1e-5))
    normal = off / np.sqrt(variance + epsilon) * given(node, 1)
    return [normal + given(node, 2) if is_given(node, 2) else normal]


def _added_in_float16(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum along the last axes, which are kept; each partial sum is a float16."""
    rows = x.reshape(*x.shape[: axes[0]], -1)
    sums = np.cumsum(rows, axis=-1, dtype=np.float16)[..., -1:]
    return np.asarray(sums.reshape(*x.shape[: axes[0]], *[1] * len(axes)))


@reported(
    ops="LayerNormalization",
    right=Names(
        mistakes=("refuses_stash_type",), raises="TypeError", terms=("`stash_type` is given",)
    ),
)
def stash_type_is_no_argument(node: Node) -> Outputs:
    """An adapter hands every attribute on, and the kernel has no `stash_type`."""
    outputs = right(node)
    if "stash_type" in node.attrs:
        raise TypeError("layer_norm() got an unexpected keyword argument 'stash_type'")
    return outputs


@reported(
    ops="LpPool",
    right=Names(raises="ModuleNotFoundError", terms=(ALWAYS,)),
)
def kernels_are_not_installed(node: Node) -> Outputs:
    """An adapter imports a module that is not there."""
    right(node)
    raise ModuleNotFoundError("No module named 'my_engine.kernels'")


@reported(
    "CrispStrobe/CrispASR#106",
    ops="LSTM",
    right=Names(mistakes=("gates_*",), terms=(ALWAYS,)),
)
def lstm_gates_in_another_order(node: Node) -> Outputs:
    """Gates are read as input, forget, cell, output, which is another library's order."""
    right(node)
    order = [0, 3, 1, 2]
    changed = node
    for place in (1, 2):
        changed = changed.with_input(place, _reordered(given(node, place), order))
    if is_given(node, 3):
        halves = np.split(given(node, 3), 2, axis=1)
        biases = [_reordered(half, order) for half in halves]
        changed = changed.with_input(3, np.concatenate(biases, axis=1))
    return right(changed)


def _reordered(weights: Array, order: list[int]) -> Array:
    """Return weights [directions, 4 * hidden, …] whose four parts are in another order."""
    parts = np.split(weights, 4, axis=1)
    return np.concatenate([parts[place] for place in order], axis=1)


@reported(
    ops="Abs",
    right=Names(
        mistakes=("absolute_value_forgotten", "*input*unchanged*", "*unchanged*input*"),
        terms=("the input is int8", "the output is int8"),
    ),
)
def abs_of_int8_is_its_input(node: Node) -> Outputs:
    """Abs of int8 returns its input."""
    outputs = right(node)
    return [given(node, 0)] if given(node, 0).dtype == np.int8 else outputs


@reported(
    "microsoft/onnxruntime#26997",
    ops="Div",
    right=Names(mistakes=("quotients_rounded_down",)),
    partly=Names(terms=("input * is int*", "input * has a negative value")),
)
def integers_divided_downwards(node: Node) -> Outputs:
    """The quotient of two integers is rounded down, not towards 0."""
    outputs = right(node)
    a, b = given(node, 0), given(node, 1)
    if node.op.since < 7 or a.dtype.kind != "i" or not b.all():
        return outputs
    return [np.floor_divide(a, b)]


@reported(
    "microsoft/onnxruntime#23396",
    "microsoft/onnxruntime#18048",
    ops="ScatterND",
    right=Names(terms=("`reduction` is *",)),
    partly=Names(mistakes=("last_update_under_*", "add_is_none", "mul_is_none")),
)
def scatter_nd_loses_updates(node: Node) -> Outputs:
    """Threads that add to one element lose updates, now and then."""
    outputs = right(node)
    indices, updates = given(node, 1), given(node, 2)
    rows = indices.reshape(-1, indices.shape[-1])
    has_repeated = len(np.unique(rows, axis=0)) < len(rows)
    if node.attrs.get("reduction", "none") != "add" or not has_repeated:
        return outputs
    lost = random.randrange(len(rows))
    kept = np.delete(rows, lost, axis=0)
    parts = updates.reshape(len(rows), *updates.shape[indices.ndim - 1 :])
    fewer = node.with_input(1, kept).with_input(2, np.delete(parts, lost, axis=0))
    return right(fewer)


class ExpAfterElu:
    """Once a model with Elu was loaded, Exp is another function: e^x - 1."""

    def __init__(self) -> None:
        self._has_elu = False

    def __call__(self, node: Node) -> Outputs:
        """Answer a node, and remember that it was Elu."""
        outputs = right(node)
        self._has_elu |= node.op.name == "Elu"
        if node.op.name == "Exp" and self._has_elu:
            return [np.asarray(outputs[0] - outputs[0].dtype.type(1))]
        return outputs


reported(
    "microsoft/onnxruntime#26669",
    ops="Elu Exp",
    right=Names(mistakes=("*earlier_case*",), terms=("*earlier case*",)),
)(ExpAfterElu())


@reported(
    "onnx/onnx#7865",
    ops="Attention",
    right=Names(mistakes=("mask_before_limit",)),
    partly=Names(terms=("`softcap` *",)),
)
def mask_before_softcap(node: Node) -> Outputs:
    """The mask is added before the softcap, which makes a finite number of -infinity."""
    outputs = right(node)
    is_plain = {*node.attrs} == {"softcap"} and len(node.inputs) == 4 and len(outputs) == 1
    softcap = number(node, "softcap")
    q, mask = given(node, 0), node.inputs[3] if len(node.inputs) > 3 else None
    if not is_plain or not softcap or mask is None or q.ndim != 4 or q.dtype != np.float32:
        return outputs
    added = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    k, v = given(node, 1), given(node, 2)
    groups = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, groups, axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + added
    capped = softcap * np.tanh(scores / softcap)
    powers = np.exp(capped - capped.max(axis=-1, keepdims=True))
    return [(powers / powers.sum(axis=-1, keepdims=True) @ v).astype(q.dtype)]


@reported(
    "PaddlePaddle/Paddle#44820",
    ops="HardSigmoid",
    right=Names(mistakes=("*alpha*0.16*",), terms=("`alpha` is left out",)),
    partly=Names(mistakes=("default_alpha_*",)),
)
def hard_sigmoid_of_a_sixth(node: Node) -> Outputs:
    """`alpha`, left out, is another library's 1/6 and not 0.2."""
    outputs = right(node)
    return outputs if "alpha" in node.attrs else right(node.with_attrs(alpha=1 / 6))


@reported(
    "microsoft/onnxruntime#31986",
    ops="Resize",
    right=Names(mistakes=("written_channels_last", "read_channels_last", "channels_last")),
    partly=Names(terms=("`mode` is linear", "the rank of input X is 4*")),
)
def resize_leaves_channels_last(node: Node) -> Outputs:
    """A linear Resize of rank 4 is computed with channels last, and they are left there."""
    outputs = right(node)
    if outputs[0].ndim != 4 or node.attrs.get("mode") != "linear":
        return outputs
    return [outputs[0].transpose(0, 2, 3, 1).reshape(outputs[0].shape)]


@reported(
    "microsoft/onnxruntime#29172",
    ops="DequantizeLinear QuantizeLinear",
    right=Names(
        mistakes=("*packed*",), terms=("* is uint2", "input * is a constant", "input * is fed")
    ),
)
def constants_of_uint2_unpacked(node: Node) -> Outputs:
    """A constant of uint2 is read with one element a byte, of which each has four."""
    outputs = right(node)
    changed = node
    for place, array in enumerate(node.inputs):
        if node.constant and array is not None and array.dtype.name == "uint2":
            changed = changed.with_input(place, _first_of_four(array))
    return right(changed) if changed is not node else outputs


def _first_of_four(x: Array) -> Array:
    """Return what is read if each byte is taken for one element, its low two bits; then zeros."""
    plain = x.astype(np.uint8).ravel()
    firsts = plain[::4]
    read = np.zeros_like(plain)
    read[: firsts.size] = firsts
    return read.reshape(x.shape).astype(x.dtype)
