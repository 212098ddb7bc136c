"""LinearAttention (27): queries of a state, to which each token adds its key times its value.

The text's update rules, of which "linear" has neither decay g nor rate β:

    gated_delta: S_t = exp(g_t) * S_{t-1} + β_t * k_t ⊗ (v_t - exp(g_t) * S_{t-1}^T k_t)
    gated:       S_t = exp(g_t) * S_{t-1} + k_t ⊗ v_t
    delta:       S_t = S_{t-1} + β_t * k_t ⊗ (v_t - S_{t-1}^T k_t)
    linear:      S_t = S_{t-1} + k_t ⊗ v_t

and o_t = scale * q_t^T S_t. "Equivalent to running the recurrent update sequentially for each
token, but may be implemented using chunk-parallel algorithms".

The parts of the file: token by token; all tokens at once; the formula; its mutants.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.attention import split_heads
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.grouping import not_none
from opcheck.numbers import Array, Tensor

#: Rules that have a decay, and rules that have a rate.
GATED = ("gated", "gated_delta")
DELTA = ("delta", "gated_delta")

UNUSED_GATE = Ruling(
    "unused-gate",
    "The text does not state whether decay or beta may be given to a rule that has none.",
    ("ignored", "refused"),
)


@dataclass(frozen=True)
class Tokens:
    """What the recurrence computes with; H is kv_num_heads, T the number of tokens.

    Attributes:
        q: [B, H, q_num_heads / H, T, d_k]: the queries that share a head of the keys.
        k: [B, H, T, d_k].
        v: [B, H, T, d_v].
        S_0: The past state, [B, H, d_k, d_v].
        g: The decay, [B, H, T, d_k] or [B, H, T, 1]; None if the rule has none.
        beta: The rate, [B, H, T, 1] or [B, 1, T, 1]; None if the rule has none.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    S_0: Tensor
    g: Tensor | None
    beta: Tensor | None

    @property
    def count(self) -> int:
        """T, the number of tokens."""
        return int(self.k.shape[2])


#: Makes q_t^T S_t of all queries, [B, H, q_num_heads / H, T, d_v], and the last state.
Recurrence: TypeAlias = Callable[[Tokens], tuple[Tensor, Tensor]]


# ── token by token ────────────────────────────────────────────────────────────────────────────


def by_token(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Return q_t^T S_t of all queries and the last state, one token after the other.

    Without tokens, the first is empty and the state the past one.
    """
    return by_token_with(tokens)


def by_token_with(
    tokens: Tokens,
    *,
    gate: Callable[[Tensor], Tensor] = xp.exp,
    reads_the_old_state: bool = False,
    compares_the_old_state: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return q_t^T S_t of all queries and the last state, one token after the other.

    They are [B, H, q_num_heads / H, T, d_v] and [B, H, d_k, d_v]. The options are what mutants do
    otherwise: `gate` is applied to the decay; a query `reads_the_old_state`, before its token is
    added; a delta rule `compares_the_old_state`, before its decay. Without tokens, the first is
    empty and the state the past one. The rounding errors of a delta rule (a beta) are followed
    apart from the state, which later tokens make smaller, and added at the end.
    """
    S = tokens.S_0
    states = [S]
    errors: list[Tensor | None] = []
    for t in range(tokens.count):
        S_before = S
        if tokens.g is not None:
            S = S * gate(xp.expand_dims(tokens.g[:, :, t], axis=3))
        k_t = xp.expand_dims(tokens.k[:, :, t], axis=3)
        # What the token adds to the state under its key, a row [d_v].
        row = tokens.v[:, :, t : t + 1]
        if tokens.beta is not None:
            compared = S_before if compares_the_old_state else S
            value_in_state = xp.matmul(tokens.k[:, :, t : t + 1], compared)
            row = tokens.beta[:, :, t : t + 1] * (row - value_in_state)
        S = S + k_t * row
        if tokens.beta is not None:
            # S goes on without its rounding errors, which are None for numbers that have none.
            S, error = xp.parted(S)
            errors.append(error)
        states.append(S)
    y = read(tokens.q, states[:-1] if reads_the_old_state else states[1:], S)
    if errors and errors[0] is not None:
        of_y, of_state = spread_errors(errors, tokens)
        return y + of_y, S + of_state
    return y, S


def read(q: Tensor, states: Sequence[Tensor], last: Tensor) -> Tensor:
    """Return q_t^T S_t of all queries, [B, H, q_num_heads / H, T, d_v].

    q: [B, H, q_num_heads / H, T, d_k]; states: the one that each token sees, [B, H, d_k, d_v]. One
    product for all tokens takes a fraction of the time of one for each. last: a state too, which
    has the size of one if there are no tokens.
    """
    stacked = xp.stack([*states, last], axis=2)[:, :, : len(states)]
    seen = xp.expand_dims(stacked, axis=2)
    return xp.squeeze(xp.matmul(xp.expand_dims(q, axis=4), seen), axis=4)


def spread_errors(errors: Sequence[Tensor | None], tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Return the errors of q_t^T S_t and of the last state, from those that each token adds.

    errors: of the state, one for each token, none of them None; the rule has a beta. A delta rule
    multiplies the state by a matrix, which makes it smaller where keys have a length of 1: what a
    token adds is multiplied by the product of all later matrices.
    """
    q = xp.values_of(tokens.q)
    k = xp.values_of(tokens.k)
    beta = xp.values_of(not_none(tokens.beta))
    decays = None if tokens.g is None else np.exp(xp.values_of(tokens.g))
    batches, heads, group, count, size = q.shape
    # From the last token to the first: the rows that multiply what a token adds to the state. They
    # are the queries that come later, and for the last state a unit matrix, times all later
    # matrices.
    rows = np.zeros((batches, heads, count, group, size))
    last: NDArray[Any] = np.broadcast_to(np.eye(size), (batches, heads, size, size))
    total: Array = 0.0
    for t in reversed(range(count)):
        rows[:, :, t] = q[:, :, :, t]
        all_rows = np.concat([rows.reshape(batches, heads, -1, size), last], axis=2)
        # Where a row is infinite or NaN so is the answer, whatever the errors.
        all_rows = np.where(np.isfinite(all_rows), all_rows, 0.0)
        total = total + xp.matmul(all_rows, not_none(errors[t]))
        key = k[:, :, t, :, None]
        all_rows = all_rows - (all_rows @ key) * (beta[:, :, t, :, None] * key.swapaxes(2, 3))
        if decays is not None:
            all_rows = all_rows * decays[:, :, t, None]
        rows = all_rows[:, :, :-size].reshape(rows.shape)
        last = all_rows[:, :, -size:]
    of_y = xp.reshape(total[:, :, :-size], (batches, heads, count, group, total.shape[3]))
    return xp.permute_dims(of_y, (0, 1, 3, 2, 4)), total[:, :, -size:]


# ── all tokens at once ────────────────────────────────────────────────────────────────────────


def at_once(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Return q_t^T S_t of all queries and the last state, without the states between.

    With G_t = g_1 + … + g_t, and row_s, which token s adds to the state under its key k_s: v_s, or
    by a delta rule that of `rows_by_delta`,

        q_t^T S_t = (q_t * exp(G_t))^T S_0 + Σ_{s ≤ t} (q_t^T (k_s * exp(G_t - G_s))) row_s

    Without tokens, the first is empty and the state the past one.
    """
    if not tokens.count:
        return by_token(tokens)
    G = summed_decays(tokens)
    decay_since_the_past = xp.exp(G)
    decayed_keys = xp.expand_dims(tokens.k, axis=2) * decays_between(G)
    rows = tokens.v
    if tokens.beta is not None:
        rows = rows_by_delta(tokens, decay_since_the_past, decayed_keys)
    of_keys = xp.expand_dims(decayed_keys, axis=2)
    with_q = xp.sum(xp.expand_dims(tokens.q, axis=4) * of_keys, axis=-1)
    of_past = tokens.q * xp.expand_dims(decay_since_the_past, axis=2)
    y = xp.matmul(of_past, xp.expand_dims(tokens.S_0, axis=2))
    last_keys = xp.permute_dims(decayed_keys[:, :, -1], (0, 1, 3, 2))
    last_of_past = xp.permute_dims(decay_since_the_past[:, :, -1:], (0, 1, 3, 2))
    S = tokens.S_0 * last_of_past + xp.matmul(last_keys, rows)
    return y + xp.matmul(with_q, xp.expand_dims(rows, axis=2)), S


def summed_decays(tokens: Tokens) -> Tensor:
    """Return G_t of each token, in the shape of g; [1, 1, T, 1] without decay."""
    if tokens.g is None:
        return np.zeros((1, 1, tokens.count, 1), np.float32)
    return xp.cumulative_sum(tokens.g, axis=2)


def decays_between(G: Tensor) -> Tensor:
    """Return exp(G_t - G_s) for s up to t, and 0 for later s, [B, H, t, s, elements].

    G: [B, H, T, elements].
    """
    count = G.shape[2]
    between = xp.expand_dims(G, axis=3) - xp.expand_dims(G, axis=2)
    is_before = np.tril(np.ones((count, count, 1), bool))
    return xp.where(is_before, xp.exp(xp.where(is_before, between, 0.0)), 0.0)


def rows_by_delta(tokens: Tokens, decay_since_the_past: Tensor, decayed_keys: Tensor) -> Tensor:
    """Return what each token adds by a delta rule: β_t (v_t - what the state has of k_t).

    decay_since_the_past: exp(G_t); decayed_keys: k_s * exp(G_t - G_s), [B, H, t, s, d_k]. There is
    a token or more, and a beta. The result: [B, H, T, d_v].
    """
    with_k = xp.sum(xp.expand_dims(tokens.k, axis=3) * decayed_keys, axis=-1)
    value_in_past = xp.matmul(tokens.k * decay_since_the_past, tokens.S_0)
    beta = not_none(tokens.beta)
    rows: list[Tensor] = []
    errors: list[Tensor | None] = []
    for t in range(tokens.count):
        row = tokens.v[:, :, t : t + 1] - value_in_past[:, :, t : t + 1]
        if rows:
            row = row - xp.matmul(with_k[:, :, t : t + 1, :t], xp.concat(rows, axis=2))
        row, error = xp.parted(beta[:, :, t : t + 1] * row)
        rows.append(row)
        errors.append(error)
    joined = xp.concat(rows, axis=2)
    if errors[0] is None:
        return joined
    # Each row is made of those before it, and so are their errors: a triangular system of
    # equations.
    before = np.tril(xp.values_of(beta) * xp.values_of(with_k), -1)
    inverse = np.linalg.inv(np.eye(tokens.count) + before)
    return joined + xp.matmul(inverse, xp.concat([not_none(error) for error in errors], axis=2))


# ── the formula ───────────────────────────────────────────────────────────────────────────────


def heads_in_order(q_num_heads: int, kv_num_heads: int) -> NDArray[np.intp]:
    """Return the numbers of the queries' heads, in the order of the keys' heads that serve them.

    The first q_num_heads / kv_num_heads are those of the first head of the keys, and so on: here
    they are neighbors.
    """
    return np.arange(q_num_heads)


@formulas_of_versions(27, options=["order"])
def linear_attention(
    recurrence: Recurrence,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past_state: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
    order: Callable[[int, int], NDArray[np.intp]] = heads_in_order,
) -> tuple[Tensor, Tensor]:
    """Return output, [B, T, q_num_heads * d_v], and present_state, in the shape of past_state.

    They have the types of query and past_state; without past_state both have that of query.

    `recurrence` makes what queries get, and the last state, of `Tokens`. query: [B, T, q_num_heads
    * d_k]; key: [B, T, kv_num_heads * d_k]; value: [B, T, kv_num_heads * d_v]; past_state: [B,
    kv_num_heads, d_k, d_v], "defaults to zeros"; decay: [B, T, kv_num_heads or kv_num_heads * d_k];
    beta: [B, T, kv_num_heads or 1]. A `scale` of 0 stands for 1 / sqrt(d_k). `order` lists the
    heads of the queries by those of the keys that serve them.

    Raises InvalidNode for shapes that contradict each other, for a q_num_heads that is not a
    positive multiple of kv_num_heads, for another rule, and for a rule without its decay or beta;
    one that the rule does not have is ignored, or refused so: UNUSED_GATE. Raises NotSupported for
    keys of no elements and a scale that is NaN or infinite.
    """
    check_one_of("update_rule", update_rule, "linear", *GATED, "delta")
    q, k, v = unpacked(query, key, value, q_num_heads=q_num_heads, kv_num_heads=kv_num_heads)
    B, _, T, d_k = q.shape
    d_v = v.shape[3]
    state_shape = (B, kv_num_heads, d_k, d_v)
    check_shape("past_state", past_state, state_shape)
    if (update_rule in GATED and decay is None) or (update_rule in DELTA and beta is None):
        raise InvalidNode(f"rule {update_rule} without decay or beta")
    g = gate_of(decay, update_rule in GATED, (B, T), (kv_num_heads, kv_num_heads * d_k))
    rate = gate_of(beta, update_rule in DELTA, (B, T), (kv_num_heads, 1))
    if not d_k or not math.isfinite(scale):
        raise_unspecified("keys of no elements, or of such scales")
    S_0 = np.zeros(state_shape, np.float32) if past_state is None else past_state
    state_dtype = query.dtype if past_state is None else past_state.dtype
    tokens = Tokens(
        q=xp.reshape(
            xp.take(q, order(q_num_heads, kv_num_heads), axis=1),
            (B, kv_num_heads, q_num_heads // kv_num_heads, T, d_k),
        ),
        k=k,
        v=v,
        S_0=xp.astype(S_0, state_dtype),
        g=by_heads(g, kv_num_heads),
        beta=by_heads(rate, kv_num_heads),
    )
    y, S = recurrence(tokens)
    y = y * (scale or 1 / xp.sqrt(xp.real(d_k)))
    y = xp.reshape(xp.permute_dims(y, (0, 3, 1, 2, 4)), (B, T, q_num_heads, d_v))
    y = xp.take(y, np.argsort(order(q_num_heads, kv_num_heads)), axis=2)
    y = xp.reshape(y, (B, T, q_num_heads * d_v))
    return xp.astype(y, query.dtype), xp.astype(S, state_dtype)


def unpacked(
    query: Tensor, key: Tensor, value: Tensor, *, q_num_heads: int, kv_num_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v, each [B, heads, T, elements of a head], of [B, T, heads * elements].

    Raises InvalidNode for ranks other than 3, unless "q_num_heads must be a positive multiple of
    kv_num_heads", for numbers of heads that do not divide the last axes, and where shapes
    contradict each other.
    """
    if not query.ndim == key.ndim == value.ndim == 3:
        raise InvalidNode(f"ranks {query.ndim}, {key.ndim} and {value.ndim}; allowed: 3")
    q = split_heads(query, q_num_heads)
    k = split_heads(key, kv_num_heads)
    v = split_heads(value, kv_num_heads)
    B, _, T, d_k = q.shape
    has_equal_axes = k.shape == (B, kv_num_heads, T, d_k) and v.shape[:3] == (B, kv_num_heads, T)
    if q_num_heads % kv_num_heads or not has_equal_axes:
        raise InvalidNode(f"heads of the shapes {[list(x.shape) for x in (q, k, v)]}")
    return q, k, v


def gate_of(
    x: Tensor | None, is_used: bool, tokens: tuple[int, int], lasts: Collection[int]
) -> Tensor | None:
    """Return decay or beta, [*tokens, one of `lasts`]; None without one, or if the rule has none.

    Raises InvalidNode for another shape. One that is given to a rule without it is ignored, or
    raises that: UNUSED_GATE.
    """
    if x is None:
        return None
    if x.shape[:2] != tokens or x.shape[2:] not in [(last,) for last in lasts]:
        raise InvalidNode(f"decay or beta of shape {list(x.shape)}")
    if not is_used:
        reject(UNUSED_GATE.reading() == "refused", "decay or beta for a rule that has none")
        return None
    return x


def by_heads(x: Tensor | None, kv_num_heads: int) -> Tensor | None:
    """Return decay or beta as [B, heads, T, elements of each]; None of None.

    heads: kv_num_heads, or 1 if there is one element for all. Raises InvalidNode if there are none,
    or if heads do not share them evenly.
    """
    return None if x is None else split_heads(x, min(x.shape[2], kv_num_heads))


LINEAR_ATTENTION = operator("LinearAttention")
LINEAR_ATTENTION.ignores = ("chunk_size",)
LINEAR_ATTENTION.formula(build=linear_attention)(by_token)
LINEAR_ATTENTION.alternative("", build=linear_attention)(at_once)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def linear_gate(g: Tensor) -> Tensor:
    """Mutant: the state is multiplied by the decay itself."""
    return g


def rate_of_values_alone(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Mutant: β multiplies v_t alone, and not what the state has of it."""
    if tokens.beta is None:
        return by_token(tokens)
    return by_token(replace(tokens, v=tokens.v / tokens.beta))


def first_decay_for_all(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Mutant: the first decay of a head serves for all of its elements."""
    if tokens.g is None:
        return by_token(tokens)
    return by_token(replace(tokens, g=tokens.g[..., :1]))


def state_forgotten(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """Mutant: the last state is that after the first token; without tokens it is the past one."""
    y, _ = by_token(tokens)
    first = replace(
        tokens,
        k=tokens.k[:, :, :1],
        v=tokens.v[:, :, :1],
        g=None if tokens.g is None else tokens.g[:, :, :1],
        beta=None if tokens.beta is None else tokens.beta[:, :, :1],
    )
    _, S = by_token(first)
    return y, S


def heads_in_turns(q_num_heads: int, kv_num_heads: int) -> NDArray[np.intp]:
    """Mutant: the heads of the keys serve those of the queries in turns."""
    return np.arange(q_num_heads).reshape(-1, kv_num_heads).T.ravel()


LINEAR_ATTENTION.mutant_table(
    {
        "state_read_too_early": (
            "queries read the state before their own token was added",
            partial(by_token_with, reads_the_old_state=True),
        ),
        "error_of_the_old_state": (
            "delta rules compared values with the state before its decay",
            partial(by_token_with, compares_the_old_state=True),
        ),
        "decay_not_exponential": (
            "the state was multiplied by the decay, not by e to its power",
            partial(by_token_with, gate=linear_gate),
        ),
        "rate_of_values_alone": (
            "beta multiplied values, and not what the state has of them",
            rate_of_values_alone,
        ),
        "first_decay_for_all": (
            "the first decay of a head served for all of its keys",
            first_decay_for_all,
        ),
        "state_forgotten": ("the state was that of the first token alone", state_forgotten),
    },
    build=linear_attention,
)
LINEAR_ATTENTION.mutant(
    "the heads of the keys served those of the queries in turns",
    name="heads_in_turns",
    build=partial(linear_attention, order=heads_in_turns),
)(by_token)
