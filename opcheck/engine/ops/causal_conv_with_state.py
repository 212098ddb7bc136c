"""CausalConvWithState (27): each channel's sums of products of its last elements and a kernel."""

from functools import partial

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.ops.attention import stored
from opcheck.errors import InvalidNode
from opcheck.numbers import plain, primitive

OP = operator("CausalConvWithState")
matmul = primitive(plain.matmul)


def sigmoid(y):
    return 1 / (1 + xp.exp(-y))


def of_channels(convolution, keep=lambda x, dtype: x, activated=lambda y: y * sigmoid(y),
                state=lambda x, length: x[:, :, length:]):  # fmt: skip
    """Version 27, from `convolution(x, weight, bias)`, where x begins with the state."""

    def formula(input, weight, bias=None, past_state=None, *, activation):
        kernel = weight.shape[-1] if weight.ndim == 3 else 0
        channels = input.shape[1:2]
        if input.ndim != 3 or not kernel or weight.shape != (*channels, 1, kernel):
            raise InvalidNode(f"input {list(input.shape)} and weight {list(weight.shape)}")
        before = (*input.shape[:2], kernel - 1)
        for x, shape in ((bias, channels), (past_state, before)):
            if x is not None and x.shape != shape:
                raise InvalidNode(f"shape {list(x.shape)}; allowed: {list(shape)}")
        if activation not in ("silu", "swish", "none"):
            raise InvalidNode(f"activation {activation!r}; allowed: silu, swish, none")
        past = np.zeros(before, np.float32) if past_state is None else past_state
        x = xp.concat([xp.astype(past, input.dtype), input], axis=2)
        y = keep(convolution(x, weight, bias), input.dtype)
        return y if activation == "none" else activated(y), state(x, input.shape[2])

    return {27: formula}


@OP.formula(by=of_channels)
@OP.also_honest("", by=partial(of_channels, keep=stored))  # as in the function body
def by_windows(x, weight, bias):
    kernel = weight.shape[2]
    bias = None if bias is None else xp.expand_dims(bias, axis=1)
    return xp.bilinear(xp.permute_dims(weight, (0, 2, 1)), x, products, kernel, bias)


def products(weight, x):
    under = np.arange(weight.shape[1])
    first = np.arange(x.shape[2] + 1 - len(under)).reshape(-1, 1)
    return matmul(np.take(x, first + under, axis=2), weight)[..., 0]


def ahead(x, weight, bias):
    """With as many elements that follow as precede, and zeros behind the last."""
    half = weight.shape[2] // 2
    moved = np.concat([x[..., half:], np.zeros_like(x[..., :half])], axis=2)
    return by_windows(moved, weight, bias)


OP.mutant_table({
    "kernel_turned": ("the kernel was turned around, as in mathematics",
        lambda x, weight, bias: by_windows(x, weight[..., ::-1], bias)),
    "ahead": ("half of the kernel stood on elements that follow", ahead),
    "first_kernel_for_all": ("the first channel's kernel served for all",
        lambda x, weight, bias: by_windows(x, np.broadcast_to(weight[:1], weight.shape), bias)),
    "first_bias_for_all": ("of the bias the first element served for all",
        lambda x, weight, bias: by_windows(
            x, weight, None if bias is None else np.broadcast_to(bias[:1], bias.shape))),
}, by=of_channels)  # fmt: skip
for _name, _text, _steps in (
    ("sigmoid_alone", "the sigmoid did not multiply its argument", {"activated": sigmoid}),
    ("first_elements_kept", "the first elements became the state, not the last",
     {"state": lambda x, length: x[:, :, : x.shape[2] - length]}),
    ("zeros_before_short_inputs", "of inputs shorter than the state the past was not kept",
     {"state": lambda x, length: np.where(
         np.arange(x.shape[2]) < x.shape[2] - length, 0, x)[:, :, length:].astype(x.dtype)}),
):  # fmt: skip
    OP.mutant(_text, name=_name, by=partial(of_channels, **_steps))(by_windows)
