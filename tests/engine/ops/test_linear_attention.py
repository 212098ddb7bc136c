"""LinearAttention against loops in plain Python; see also `tests.blind`."""

import math

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_is_what_loops_make_of_it(rule: str) -> None:
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


@pytest.mark.parametrize(("rule", "unused"), [("linear", 4), ("linear", 5), ("delta", 4)])
def test_a_decay_or_rate_that_the_rule_does_not_have_is_ignored_or_refused(
    rule: str, unused: int
) -> None:
    tokens, ones = normal(1, 2, 3), np.ones((1, 2, 1), np.float32)
    rate = ones if rule == "delta" else None
    inputs = [tokens, tokens, tokens, None, None, rate]
    version = OpVersion("", "LinearAttention", 27)
    attrs = {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": rule}
    (without,) = by_reading(version, inputs, attrs).values()
    inputs[unused] = -ones
    found = by_reading(version, inputs, attrs)
    assert found.keys() == {"ignored", "refused"}
    assert found["refused"] is None
    np.testing.assert_array_equal(found["ignored"][0], without[0])
