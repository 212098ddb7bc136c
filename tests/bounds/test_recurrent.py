"""The bounds of layers over 200 steps: plain float64, and honest arithmetic of float32."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from opcheck.compare.bounded import judge
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.model import OpVersion
from tests.computed import exactly

STEPS, BATCH, INPUT, HIDDEN = 200, 2, 4, 6
#: Torch's gates among ONNX's, and attributes: its GRU multiplies after the linear step.
LAYERS: dict[str, tuple[list[int], dict[str, int]]] = {
    "GRU": ([1, 0, 2], {"linear_before_reset": 1}),
    "LSTM": ([0, 2, 3, 1], {}),
    "RNN": ([0], {}),
}


def of_torch(name: str, x: Any, parts: list[Any]) -> Any:
    """Y of torch's layer in the precision of `x`, from ONNX's weights; skips without torch."""
    torch = pytest.importorskip("torch", reason="not installed: torch")
    order, _ = LAYERS[name]
    made = getattr(torch.nn, name)(INPUT, HIDDEN).to(torch.from_numpy(x).dtype)
    for parameter, part in zip(made.parameters(), parts, strict=True):
        block = part.reshape(len(order), HIDDEN, -1)[order].reshape(parameter.shape)
        parameter.data.copy_(torch.from_numpy(block.astype(x.dtype)))
    return made(torch.from_numpy(x))[0].detach().numpy()[:, np.newaxis]


def of_onnxruntime(name: str, inputs: list[Any], attrs: dict[str, int]) -> Any:
    names = ["X", "W", "R", "B"]
    node = onnx.helper.make_node(name, names, ["Y"], hidden_size=HIDDEN, **attrs)
    values = [
        onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    y = onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "layer", values, [y])
    opsets = [onnx.helper.make_opsetid("", 22)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


def in_blocks(x: Any, h: Any, W: Any, R: Any, b: Any, c: Any) -> Any:
    """Products of two terms at a time, the last ones first, and biases last."""
    pairs = [(y[:, k : k + 2], V[:, k : k + 2]) for y, V in ((h, R), (x, W)) for k in (4, 2, 0)]
    return sum(y @ V.T for y, V in pairs) + b + c


#: The sums before the activation, in the type of x.
SUMS: dict[str, Callable[..., Any]] = {
    "as written": lambda x, h, W, R, b, c: x @ W.T + h @ R.T + b + c,
    "biases first": lambda x, h, W, R, b, c: (b + c) + x @ W.T + h @ R.T,
    "fused": lambda x, h, W, R, b, c: (
        np.concatenate([x, h, np.ones_like(x[:, :2])], 1)
        @ np.concatenate([W, R, b[:, None], c[:, None]], 1).T
    ),
    "blocks": in_blocks,
    "one by one": lambda x, h, W, R, b, c: (
        b
        + c
        + np.cumsum(np.concatenate([x[:, None] * W, h[:, None] * R], 2), axis=2, dtype=x.dtype)[
            ..., -1
        ]
    ),
}


def stepped(name: str, total: Callable[..., Any], x: Any, parts: list[Any]) -> Any:
    """Y of a layer in the type of `x`, with such sums and by the equations of the text."""
    h, c, out = *np.zeros((2, BATCH, HIDDEN), x.dtype), []
    blocks = [part.astype(x.dtype).reshape(-1, HIDDEN, *part.shape[1:]) for part in parts]
    W, R, b, d = blocks
    f = lambda y: 1 / (1 + np.exp(-y))  # noqa: E731
    for one in x:
        gate = lambda k, one=one, h=h: total(one, h, W[k], R[k], b[k], d[k])  # noqa: E731
        if name == "RNN":
            h = np.tanh(gate(0))
        elif name == "LSTM":
            c = f(gate(2)) * c + f(gate(0)) * np.tanh(gate(3))
            h = f(gate(1)) * np.tanh(c)
        else:
            z, r = f(gate(0)), f(gate(1))
            hidden = r * (h @ R[2].T + d[2])
            h = (1 - z) * np.tanh(one @ W[2].T + hidden + b[2]) + z * h
        out.append(h)
    return np.stack(out)[:, np.newaxis]


@cache
def layer(name: str) -> tuple[Any, list[Any], list[Any], Any]:
    """X of float32, the weights and biases, all of it as ONNX's inputs, and what is expected."""
    order, attrs = LAYERS[name]
    rng, rows = np.random.default_rng(0), len(order) * HIDDEN
    x = rng.normal(size=(STEPS, BATCH, INPUT)).astype(np.float32)
    # Of larger recurrent weights errors may grow with each step, and the bound with them.
    widths = {(rows, INPUT): 0.3, (rows, HIDDEN): 0.1}
    parts = [rng.normal(0, width, shape).astype(np.float32) for shape, width in widths.items()]
    parts += [rng.normal(0, 0.3, rows).astype(np.float32) for _ in range(2)]
    W, R, *biases = parts
    inputs = [x, W[None], R[None], np.concatenate(biases)[None]]
    return x, parts, inputs, exactly(OpVersion("", name, 22), inputs, attrs)[0]


def check(name: str, made: Callable[[Any, list[Any]], Any], honest: dict[str, Any]) -> None:
    """Hold a layer against `made(x, parts)`: float64, honest as others are, coarse weights."""
    x, parts, _, expected = layer(name)
    wide = made(x.astype(np.float64), parts)
    np.testing.assert_allclose(expected.values, wide, rtol=1e-11, atol=1e-12)
    want = computed_want(OpVersion("", name, 22), "Y", expected)
    float32, tier = DTYPES["float32"], expected.tiers()[0]
    for key, got in {**honest, "made": made(x, parts)}.items():
        single = judge(want, got, float32, tier)
        assert single.shares.max() <= 1, key
        assert not single.unjudged.any(), key
    coarse = [part.view(np.uint32) & np.uint32(0xFFFF0000) for part in parts]  # as bfloat16
    cut = made(x, [part.view(np.float32) for part in coarse])
    assert judge(want, cut, float32, tier).shares.max() > 1


@pytest.mark.parametrize("name", LAYERS)
def test_the_bound_of_200_steps_holds_honest_arithmetic_and_no_coarser_weights(name: str) -> None:
    x, parts, inputs, _ = layer(name)
    honest = {key: stepped(name, total, x, parts) for key, total in SUMS.items()}
    honest["ONNX Runtime"] = of_onnxruntime(name, inputs, LAYERS[name][1])
    check(name, partial(stepped, name, SUMS["as written"]), honest)


@pytest.mark.parametrize("name", LAYERS)
def test_so_does_it_with_torch(name: str) -> None:
    check(name, partial(of_torch, name), {})
