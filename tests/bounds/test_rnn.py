"""The bounds of an RNN over 200 steps: plain float64, and honest arithmetic of float32."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from opcheck.compare.bounded import judge
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import exactly
from opcheck.model import OpVersion

STEPS, BATCH, INPUT, HIDDEN = 200, 2, 4, 6


def of_torch(x: Any, parts: list[Any]) -> Any:
    """Y of torch's layer in the precision of `x`, from ONNX's weights; skips without torch."""
    torch = pytest.importorskip("torch", reason="not installed: torch")
    made = torch.nn.RNN(INPUT, HIDDEN).to(torch.from_numpy(x).dtype)
    for parameter, part in zip(made.parameters(), parts, strict=True):
        parameter.data.copy_(torch.from_numpy(part.astype(x.dtype)))
    return made(torch.from_numpy(x))[0].detach().numpy()[:, np.newaxis]


def of_onnxruntime(inputs: list[Any]) -> Any:
    names = ["X", "W", "R", "B"]
    node = onnx.helper.make_node("RNN", names, ["Y"], hidden_size=HIDDEN)
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


#: The sums before the activation, in float32.
SUMS: dict[str, Callable[..., Any]] = {
    "as written": lambda x, h, W, R, b, c: x @ W.T + h @ R.T + b + c,
    "biases first": lambda x, h, W, R, b, c: (b + c) + x @ W.T + h @ R.T,
    "fused": lambda x, h, W, R, b, c: (
        np.concatenate([x, h, np.ones_like(x[:, :2])], 1)
        @ np.concatenate([W, R, b[:, None], c[:, None]], 1).T
    ),
    "blocks": in_blocks,
    "one by one": lambda x, h, W, R, b, c: b + c + np.cumsum(
        np.concatenate([x[:, None] * W, h[:, None] * R], 2), axis=2, dtype=np.float32)[..., -1],
}  # fmt: skip


def stepped(total: Callable[..., Any], x: Any, parts: list[Any]) -> Any:
    """Y of a layer in the precision of `x` with such sums."""
    parts = [part.astype(x.dtype) for part in parts]
    h, out = np.zeros((BATCH, HIDDEN), x.dtype), []
    for one in x:
        h = np.tanh(total(one, h, *parts))
        out.append(h)
    return np.stack(out)[:, np.newaxis]


@cache
def layer() -> tuple[Any, list[Any], list[Any], Any]:
    """X of float32, the weights and biases, all of it as ONNX's inputs, and what is expected."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(STEPS, BATCH, INPUT)).astype(np.float32)
    # Of larger recurrent weights errors may grow with each step, and the bound with them.
    widths = {(HIDDEN, INPUT): 0.3, (HIDDEN, HIDDEN): 0.1}
    parts = [rng.normal(0, width, shape).astype(np.float32) for shape, width in widths.items()]
    parts += [rng.normal(0, 0.3, HIDDEN).astype(np.float32) for _ in range(2)]
    W, R, *biases = parts
    inputs = [x, W[None], R[None], np.concatenate(biases)[None]]
    return x, parts, inputs, exactly(OpVersion("", "RNN", 22), inputs, {})[0]


def check(made: Callable[[Any, list[Any]], Any], honest: dict[str, Any]) -> None:
    """Hold the layer against `made(x, parts)`: in float64, honest as others, with coarse weights."""
    x, parts, _, expected = layer()
    wide = made(x.astype(np.float64), parts)
    np.testing.assert_allclose(expected.values, wide, rtol=1e-11, atol=1e-12)
    want = computed_want(OpVersion("", "RNN", 22), "Y", expected)
    float32, tier = DTYPES["float32"], expected.tiers()[0]
    for key, got in {**honest, "made": made(x, parts)}.items():
        single = judge(want, got, float32, tier)
        assert single.shares.max() <= 1, key
        assert not single.unjudged, key
    coarse = [part.view(np.uint32) & np.uint32(0xFFFF0000) for part in parts]  # as bfloat16
    cut = made(x, [part.view(np.float32) for part in coarse])
    assert judge(want, cut, float32, tier).shares.max() > 1


def test_the_bound_of_200_steps_holds_honest_arithmetic_and_no_coarser_weights() -> None:
    x, parts, inputs, _ = layer()
    honest = {key: stepped(total, x, parts) for key, total in SUMS.items()}
    check(lambda *of: stepped(SUMS["as written"], *of), {**honest, "ORT": of_onnxruntime(inputs)})


def test_so_does_it_with_torch() -> None:
    check(of_torch, {})
