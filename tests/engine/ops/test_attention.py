"""RotaryEmbedding and those of states against loops in plain Python; see also `tests.blind`."""

import cmath
import math

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import evaluate

RANDOM = np.random.default_rng(5)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_is_what_loops_make_of_it(rule):
    q, k, v = normal(2, 4, 2 * 2 * 3), normal(2, 4, 2 * 3), normal(2, 4, 2 * 2)
    state, decay, beta = normal(2, 2, 3, 2), -abs(normal(2, 4, 6)), abs(normal(2, 4, 2))
    gated, delta = rule.startswith("gated"), rule.endswith("delta")
    inputs = [q, k, v, state, decay if gated else None, beta if delta else None]
    attrs = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule, "scale": 0.5}
    y, now = evaluate(OpVersion("", "LinearAttention", 27), inputs, attrs, 2)
    for batch, head in np.ndindex(2, 2):
        s = state[batch, head].astype(float)
        for t in range(4):
            key, value = k[batch, t, 3 * head : 3 * head + 3], v[batch, t, 2 * head : 2 * head + 2]
            for i, j in np.ndindex(3, 2):
                s[i, j] *= math.exp(decay[batch, t, 3 * head + i]) if gated else 1
            known = [sum(s[i, j] * key[i] for i in range(3)) for j in range(2)]
            for i, j in np.ndindex(3, 2):
                more = beta[batch, t, head] * (value[j] - known[j]) if delta else value[j]
                s[i, j] += key[i] * more
            for other, j in np.ndindex(2, 2):
                of = 2 * head + other
                wanted = 0.5 * sum(q[batch, t, 3 * of + i] * s[i, j] for i in range(3))
                assert y[batch, t, 2 * of + j] == pytest.approx(wanted, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(now[batch, head], s, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("apart", [0, 1])
def test_rotary_embedding_multiplies_complex_numbers(apart):
    x, angles = normal(2, 3, 4, 6), normal(9, 2)
    positions = RANDOM.integers(0, 9, (2, 4))
    attrs = {"interleaved": apart, "rotary_embedding_dim": 4}
    inputs = [x, np.cos(angles), np.sin(angles), positions]
    (y,) = evaluate(OpVersion("", "RotaryEmbedding", 23), inputs, attrs)
    np.testing.assert_array_equal(y[..., 4:], x[..., 4:])
    for batch, head, token, pair in np.ndindex(2, 3, 4, 2):
        places = (2 * pair, 2 * pair + 1) if apart else (pair, pair + 2)
        a, b = (float(x[batch, head, token, place]) for place in places)
        turned = complex(a, b) * cmath.exp(1j * float(angles[positions[batch, token], pair]))
        got = [y[batch, head, token, place] for place in places]
        np.testing.assert_allclose(got, [turned.real, turned.imag], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["none", "silu"])
def test_a_causal_convolution_goes_on_where_it_ended(activation):
    """In one step, or in two with the state between."""
    x, weight, bias = normal(2, 3, 9), normal(3, 1, 4), normal(3)
    op, attrs = OpVersion("", "CausalConvWithState", 27), {"activation": activation}
    whole, last = evaluate(op, [x, weight, bias], attrs, 2)
    first, state = evaluate(op, [x[..., :2], weight, bias], attrs, 2)
    second, end = evaluate(op, [x[..., 2:], weight, bias, state], attrs, 2)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=2), whole)
    np.testing.assert_array_equal(end, last)
    for batch, channel, t in np.ndindex(whole.shape):
        held = [float(x[batch, channel, t - n]) if n <= t else 0.0 for n in range(4)]
        y = sum(w * e for w, e in zip(weight[channel, 0, ::-1].tolist(), held, strict=True))
        y += float(bias[channel])
        wanted = y / (1 + math.exp(-y)) if activation == "silu" else y
        assert whole[batch, channel, t] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
