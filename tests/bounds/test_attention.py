"""The bounds of Attention and its neighbors beside honest and beside poorer arithmetic."""

from functools import partial
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare.bounded import judge, scatter
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.model import OpVersion
from tests.computed import exactly

SINCE = {"Attention": 25, "RotaryEmbedding": 23, "CausalConvWithState": 27, "LinearAttention": 27}
LINEAR = {"q_num_heads": 1, "kv_num_heads": 1}


def dot(a, b, add=lambda total, a, b: total + a * b, order=list):
    """The products along the last axis, added up one after the other."""
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1], a.dtype)
    for n in order(range(a.shape[-1])):
        total = add(total, a[..., n], b[..., n]).astype(a.dtype)
    return total


def fused(total, a, b):
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return total.astype(wide) + a.astype(wide) * b.astype(wide)


def in_pairs(a, b):
    return np.add.reduce(a * b, axis=-1, dtype=a.dtype)


def in_blocks(a, b):
    parts = [in_pairs(a[..., n : n + 5], b[..., n : n + 5]) for n in range(0, a.shape[-1], 5)]
    return sum(parts[1:], parts[0])


DOTS = {
    "in turn": dot,
    "backwards": partial(dot, order=lambda at: [*at][::-1]),
    "fused": partial(dot, add=fused),
    "in pairs": in_pairs,
    "in blocks": in_blocks,
    "einsum": lambda a, b: np.einsum("...i,...i->...", a, b),
}


def attention(q, k, v, mask, dot=dot, exp=np.exp, late=False):
    root = q.dtype.type(q.shape[-1] ** -0.25)
    scores = dot((q if late else q * root)[:, :, :, None], (k if late else k * root)[:, :, None])
    scores = (scores * (root * root) if late else scores) + mask
    e = exp(scores - scores.max(axis=-1, keepdims=True)).astype(q.dtype)
    total = dot(e, np.ones_like(e))[..., None]
    return dot((e if late else e / total)[:, :, :, None], v.swapaxes(2, 3)[:, :, None]) / (
        total if late else 1
    )


def rotary(x, cos, sin, dot=dot, **no):
    (a, b), cos, sin = np.split(x, 2, axis=-1), cos[:, None], sin[:, None]
    pairs = ((a, -b), (cos, sin)), ((b, a), (cos, sin))
    return np.concat([dot(*(np.stack(p, -1) for p in both)) for both in pairs], -1)


def convolution(x, w, bias, past, dot=dot, exp=np.exp, **no):
    x = np.concat([past, x], axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2], 2)
    y = dot(windows, w) + bias[:, None]
    return y / (1 + exp(-y)).astype(x.dtype)


def linear(q, k, v, state, decay, beta, dot=dot, exp=np.exp, **no):
    out, s = [], state[:, 0]
    for t in range(q.shape[1]):
        s = s * exp(decay[:, t, :, None]).astype(q.dtype)
        known = dot(k[:, t, None], s.swapaxes(1, 2))
        s = s + k[:, t, :, None] * (beta[:, t] * (v[:, t] - known))[:, None]
        out.append(dot(q[:, t, None], s.swapaxes(1, 2)))
    return np.stack(out, axis=1) * q.dtype.type(q.shape[2] ** -0.5)


WAYS = {
    "Attention": attention,
    "RotaryEmbedding": rotary,
    "CausalConvWithState": convolution,
    "LinearAttention": linear,
}
ATTRS = {"CausalConvWithState": {"activation": "silu"}, "LinearAttention": LINEAR}
#: The mean and the deviation of the data.
DATA = {"normal": (0, 1), "wide": (0, 30), "offset": (50, 1), "small": (0, 1e-3)}


def inputs_of(op, seed, mean=0, deviation=1, dtype=np.float32, long=1):
    rng = np.random.default_rng(seed)

    def some(*shape):
        return (mean + deviation * rng.standard_normal(shape)).astype(dtype)

    def unit(*shape):
        return rng.uniform(0, 1, shape).astype(dtype)

    match op:
        case "Attention":
            mask = np.where(unit(1, 1, 12, 19 * long) < 0.2, -np.inf, 0).astype(dtype)
            q = (some(1, 2, 12, 16) - mean).astype(dtype)
            return q, some(1, 2, 19 * long, 16), some(1, 2, 19 * long, 9), mask
        case "RotaryEmbedding":
            angle = unit(2, 9, 8) * 6
            return some(2, 3, 9, 16), np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)
        case "CausalConvWithState":
            w = ((unit(5, 1, 23 * long) - dtype(0.5)) * dtype(0.3)).astype(dtype)
            return some(2, 5, 40), w, unit(5), some(2, 5, 23 * long - 1)
    k = unit(1, 21, 16) - dtype(0.5)
    k /= np.sqrt((k * k).sum(axis=2, keepdims=True))
    decay = -unit(1, 21, 16)
    return (
        some(1, 21, 16),
        k.astype(dtype),
        some(1, 21, 8),
        some(1, 1, 16, 8),
        decay,
        unit(1, 21, 1),
    )


def wanted(op, inputs):
    version = OpVersion("", op, SINCE[op])
    return computed_want(version, "y", exactly(version, [*inputs], ATTRS.get(op, {}))[0])


def found(want, got):
    """The share of its bound that the worst element uses, and the scatter."""
    got = got.astype(want.dtype.numpy)  # 16 bits are rounded from float32 last
    sound = [tier for tier in want.bound.tiers() if not tier.remark]
    shares = [judge(want, got, want.dtype, tier).shares.max() for tier in sound]
    return min(shares), scatter(want, got) or 0.0


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    ("op", "dtype"),
    [*product(WAYS, (np.float16, ml_dtypes.bfloat16, np.float32)), ("Attention", np.float64)],
)
def test_no_honest_arithmetic_leaves_the_bound(op, dtype, data):
    inputs = inputs_of(op, 3, *DATA[data], dtype)
    want = wanted(op, inputs)
    wide = [x.astype(dtype if dtype == np.float64 else np.float32) for x in inputs]
    for late in (False, True) if op == "Attention" else (False,):
        for way in DOTS.values():
            share, scattered = found(want, WAYS[op](*wide, dot=way, late=late))
            assert share <= 1
            assert scattered < 20


def off(by, x):
    return np.exp(x) * (1 + by * np.sign(np.sin(1e4 * np.maximum(x, -100))))


def narrow(bits, total, a, b):
    return cut_to_bits((total + a * b).astype(np.float32), bits)


#: What is poorer, by the bits of inputs and by what it changes. An exp off by 1e-6 is not seen: a
#: library's may be off by 5e-7.
POORER = {
    "TF32 or float16": (11, {}),
    "bfloat16": (8, {}),
    "added up in bfloat16": (24, {"dot": partial(dot, add=partial(narrow, 8))}),
    "added up in float16": (24, {"dot": partial(dot, add=partial(narrow, 11))}),
    "exp off by 1e-4": (24, {"exp": partial(off, 1e-4)}),
    "last product missing": (24, {"dot": lambda a, b: dot(a[..., :-1], b[..., :-1])}),
}


@pytest.mark.parametrize(
    ("op", "poorer"),
    [
        each
        for each in product(WAYS, POORER)
        if each[0] != "RotaryEmbedding" or "exp" not in each[1]
    ],
)
def test_poorer_arithmetic_leaves_the_bound_or_scatters(op, poorer):
    inputs = inputs_of(op, 4)
    bits, changed = POORER[poorer]
    given = [cut_to_bits(x, bits) for x in inputs]
    share, scattered = found(wanted(op, inputs), WAYS[op](*given, **{"dot": dot, **changed}))
    assert share > 1 or scattered > 60


def in_chunks(size, q, k, v, state, decay, beta):
    """Answers and the last state of chunks of tokens at once, by the inverse of a triangle."""
    s, out = state[0, 0], []
    for start in range(0, q.shape[1], size):
        q_, k_, v_, g, b = (x[0, start : start + size] for x in (q, k, v, decay, beta))
        total = np.cumsum(g, axis=0)
        before, after = np.exp(total), k_ * np.exp(-total)
        inverse = np.linalg.inv(
            np.eye(len(q_), dtype=q.dtype) + np.tril(k_ * before @ after.T * b, -1)
        )
        rows = inverse @ (b * (v_ - k_ * before @ s))
        out.append(q_ * before @ s + np.tril(q_ * before @ after.T) @ rows)
        s = before[-1][:, None] * (s + after.T @ rows)
    return np.concat(out)[None] * q.dtype.type(q.shape[2] ** -0.5), s[None, None]


@pytest.mark.parametrize("gated", [False, True])
def test_errors_of_many_tokens_do_not_grow_beyond_what_keys_of_length_1_make_of_them(gated):
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((1, 96, 16)).astype(np.float32) for _ in range(3))
    k /= np.linalg.norm(k, axis=2, keepdims=True)
    decay, beta = -rng.random((1, 96, 16)) * 0.3 * gated, rng.random((1, 96, 1))
    state = rng.standard_normal((1, 1, 16, 16))
    given = [q, k, v, *(x.astype(np.float32) for x in (state, decay, beta))]
    version = OpVersion("", "LinearAttention", 27)
    wants = [computed_want(version, "y", one) for one in exactly(version, given, LINEAR, 2)]
    for size in (1, 8, 32):
        for want, got in zip(wants, in_chunks(size, *given), strict=True):
            share, scattered = found(want, got)
            assert share <= 1
            assert scattered < 20
            assert found(want, got * np.float32(1.01))[0] > 1


def test_shares_are_at_most_1_however_poor_the_scores_are():
    """Scores of 400 in float16 are a quarter off, so that no key is known to be the nearest."""
    version = OpVersion("", "Attention", 23)
    q = np.array([[[[20, 0], [20, 0], [0, 20]]]], np.float16)
    v = np.array([[[[1, 2], [4, 8], [2, 2]]]], np.float16)
    expected = exactly(version, [q, q, v], {})[0]
    want = computed_want(version, "Y", expected)
    for tier in expected.tiers():
        if not tier.remark:
            assert judge(want, np.full_like(v, 123), DTYPES["float16"], tier).shares.max() > 1
