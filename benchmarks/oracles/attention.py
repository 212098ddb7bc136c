"""Attention and the rotary embedding of what it compares."""

import math
from typing import Any

import numpy as np

from benchmarks.oracles import (
    Array,
    Random,
    Sample,
    chance,
    int64,
    normal,
    one_of,
    oracle,
    sizes,
    trimmed,
    wide,
)


def as_tokens(x: Array) -> Array:
    """Heads as parts of each token: three axes in place of four."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attended(
    q: Array, k: Array, v: Array, allowed: Array, more: Array, scale: float, softcap: float
) -> Array:
    """The output of one head, from the keys that each query may see, and what is added."""
    y = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        scores = {}
        for j in range(len(k)):
            score = math.fsum(a * b for a, b in zip(q[i].tolist(), k[j].tolist(), strict=True))
            score *= scale
            score = softcap * math.tanh(score / softcap) if softcap else score
            if allowed[i, j]:
                scores[j] = score + float(more[i, j])
        top = max(scores.values(), default=0.0)
        shares = {j: math.exp(score - top) for j, score in scores.items()}
        for j, share in shares.items():
            y[i] += share / math.fsum(shares.values()) * v[j]
    return y


@oracle("Attention")
def attention(rng: Random) -> Sample:
    batch, heads, group = sizes(rng, 3, 1, 2)
    queries, keys, width, depth = sizes(rng, 4, 1, 4)
    opset = one_of(rng, 23, 24)
    q = normal(rng, (batch, heads * group, queries, width))
    k, v = normal(rng, (batch, heads, keys, width)), normal(rng, (batch, heads, keys, depth))
    past = int(rng.integers(1, 4)) if chance(rng, 0.35) else 0
    old_k, old_v = (
        normal(rng, (batch, heads, past, width)),
        normal(rng, (batch, heads, past, depth)),
    )
    total = past + keys
    scale = 1 / math.sqrt(width)
    causal = chance(rng, 0.5)
    attrs: dict[str, Any] = {"is_causal": 1} if causal else {}
    if chance(rng, 0.4):
        scale = attrs["scale"] = one_of(rng, 0.5, 2.0)
    softcap = one_of(rng, 0.5, 2.0) if chance(rng, 0.4) else 0.0
    attrs |= {"softcap": softcap} if softcap else {}
    mask = None
    full = (batch, heads * group, queries, total)
    allowed, more = np.ones(full, bool), np.zeros(full)
    if chance(rng, 0.6):
        dims = one_of(rng, (queries, total), (batch, 1, queries, total), full)
        if chance(rng, 0.5):
            mask = rng.random(dims) < 0.7
            allowed &= mask
        else:
            mask = normal(rng, dims)
            more = more + mask
    if causal:
        allowed &= np.arange(total) <= np.arange(queries)[:, None] + past
    keys_of = np.concatenate([wide(old_k), wide(k)], 2)
    values_of = np.concatenate([wide(old_v), wide(v)], 2)
    y = np.zeros((batch, heads * group, queries, depth))
    for n, head in np.ndindex(batch, heads * group):
        at = n, head // group
        y[n, head] = attended(
            wide(q)[n, head],
            keys_of[at],
            values_of[at],
            allowed[n, head],
            more[n, head],
            scale,
            softcap,
        )
    if chance(rng, 0.4):
        attrs |= {"q_num_heads": heads * group, "kv_num_heads": heads}
        q, k, v, y = map(as_tokens, (q, k, v, y))
    pasts = (old_k, old_v) if past else (None, None)
    outputs = (y, keys_of, values_of) if past else (y,)
    return Sample(opset, trimmed(q, k, v, mask, *pasts), outputs, attrs)


@oracle("RotaryEmbedding")
def rotated(rng: Random) -> Sample:
    batch, tokens, heads, half = sizes(rng, 4, 1, 3)
    x = normal(rng, (batch, heads, tokens, 2 * half))
    turned = one_of(rng, 0, 2) // 2 or half
    attrs = {"interleaved": int(rng.integers(2))}
    attrs |= {"rotary_embedding_dim": 2} if turned != half else {}
    positions = int64(rng.integers(0, 5, (batch, tokens))) if chance(rng, 0.6) else None
    dims = (batch, tokens, turned) if positions is None else (5, turned)
    cos, sin, y = normal(rng, dims), normal(rng, dims), wide(x)
    for n, head, t, j in np.ndindex(batch, heads, tokens, turned):
        at = (n, t, j) if positions is None else (int(positions[n, t]), j)
        first, second = (2 * j, 2 * j + 1) if attrs["interleaved"] else (j, j + turned)
        a, b = (float(x[n, head, t, place]) for place in (first, second))
        y[n, head, t, first] = float(cos[at]) * a - float(sin[at]) * b
        y[n, head, t, second] = float(sin[at]) * a + float(cos[at]) * b
    if chance(rng, 0.4):
        attrs["num_heads"] = heads
        x, y = as_tokens(x), as_tokens(y)
    return Sample(23, trimmed(x, cos, sin, positions), (y,), attrs)


@oracle("LinearAttention")
def linear_attention(rng: Random) -> Sample:
    batch, tokens, heads, group = sizes(rng, 4, 1, 3)
    width, depth = sizes(rng, 2, 1, 4)
    rule = one_of(rng, "linear", "gated", "delta", "gated_delta")
    has_decay, has_beta = "gated" in rule, "delta" in rule
    q = normal(rng, (batch, tokens, heads * group, width))
    k = normal(rng, (batch, tokens, heads, width))
    k /= np.sqrt((k**2).sum(axis=-1, keepdims=True))
    v = normal(rng, (batch, tokens, heads, depth))
    past = normal(rng, (batch, heads, width, depth)) if chance(rng, 0.5) else None
    decay = -rng.random((batch, tokens, heads, one_of(rng, 1, width))).astype(np.float32)
    beta = rng.random((batch, tokens, one_of(rng, 1, heads))).astype(np.float32)
    stated = one_of(rng, None, 0.0, 0.5)
    scale = stated or 1 / math.sqrt(width)
    y = np.zeros((batch, tokens, heads * group, depth))
    last = np.zeros((batch, heads, width, depth))
    for n, head in np.ndindex(batch, heads):
        state = np.zeros((width, depth)) if past is None else wide(past)[n, head]
        for t in range(tokens):
            key, value = wide(k)[n, t, head], wide(v)[n, t, head]
            if has_decay:
                state = np.exp(wide(decay)[n, t, head])[:, None] * state
            if has_beta:
                rate = float(beta[n, t, head % beta.shape[2]])
                value = rate * (value - state.T @ key)
            state = state + np.outer(key, value)
            for query in range(head * group, (head + 1) * group):
                y[n, t, query] = scale * (state.T @ wide(q)[n, t, query])
        last[n, head] = state
    attrs = {"q_num_heads": heads * group, "kv_num_heads": heads, "update_rule": rule}
    attrs |= {} if stated is None else {"scale": stated}
    packed = [x.reshape(batch, tokens, -1) for x in (q, k, v, decay, y)]
    inputs = (*packed[:3], past, packed[3] if has_decay else None, beta if has_beta else None)
    return Sample(27, trimmed(*inputs), (packed[4], last), attrs)
