"""The bounds of recurrent layers over 200 steps, replayed step by step in two precisions."""

from typing import Any

import numpy as np
import pytest
import torch

from opcheck.compare.bounded import judge
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import exactly
from opcheck.model import OpVersion

STEPS, BATCH, INPUT, HIDDEN = 200, 2, 4, 6
#: Torch's gates among ONNX's, and torch's layers; its GRU multiplies after the linear step.
LAYERS: dict[str, tuple[list[int], Any, dict[str, int]]] = {
    "LSTM": ([0, 2, 3, 1], torch.nn.LSTM, {}),
    "GRU": ([1, 0, 2], torch.nn.GRU, {"linear_before_reset": 1}),
    "RNN": ([0], torch.nn.RNN, {}),
}


def replayed(layer: Any, x: Any, parts: list[Any], order: list[int]) -> Any:
    """Y of a layer of torch in the precision of `x`, from ONNX's weights."""
    made = layer(INPUT, HIDDEN).to(torch.from_numpy(x).dtype)
    blocks = [part.reshape(len(order), HIDDEN, -1)[order] for part in parts]
    for parameter, block in zip(made.parameters(), blocks, strict=True):
        shaped = torch.from_numpy(block.astype(x.dtype)).reshape(parameter.shape)
        parameter.data.copy_(shaped)
    return made(torch.from_numpy(x))[0].detach().numpy()[:, np.newaxis]


@pytest.mark.parametrize("name", LAYERS)
def test_the_bound_of_200_steps_holds_a_replay_and_no_coarser_weights(name: str) -> None:
    order, layer, attrs = LAYERS[name]
    rng, rows = np.random.default_rng(0), len(order) * HIDDEN
    x = rng.normal(size=(STEPS, BATCH, INPUT)).astype(np.float32)
    shapes = (rows, INPUT), (rows, HIDDEN), (rows,), (rows,)
    # Of larger recurrent weights errors may grow with each step, and the bound with them.
    widths = (0.3, 0.1, 0.3, 0.3)
    parts = [rng.normal(0, *one).astype(np.float32) for one in zip(widths, shapes, strict=True)]
    W, R, *biases = parts
    op = OpVersion("", name, 22)
    expected = exactly(op, [x, W[None], R[None], np.concat(biases)[None]], attrs)[0]
    wide = replayed(layer, x.astype(np.float64), parts, order)
    np.testing.assert_allclose(expected.values, wide, rtol=1e-11, atol=1e-12)
    want, float32 = computed_want(op, "Y", expected), DTYPES["float32"]
    tier = expected.tiers()[0]
    single = judge(want, replayed(layer, x, parts, order), float32, tier)
    assert single.shares.max() <= 1
    assert not single.unjudged
    coarse = [part.view(np.uint32) & np.uint32(0xFFFF0000) for part in parts]  # as bfloat16
    cut = replayed(layer, x, [part.view(np.float32) for part in coarse], order)
    assert judge(want, cut, float32, tier).shares.max() > 1
