"""LinearAttention (27): queries of a state, to which each token adds its key times its value."""

import math
from functools import partial
from typing import Any, cast

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported

OP = operator("LinearAttention", ignores=("chunk_size",))
GATED, DELTA = ("gated", "gated_delta"), ("delta", "gated_delta")


def split(x, count):
    """The heads of each token, as an axis before that of tokens."""
    if count < 1 or x.ndim != 3 or x.shape[2] % count:
        raise InvalidNode(f"{count} heads of {list(x.shape)}")
    shape = (*x.shape[:2], count, x.shape[2] // count)
    return xp.permute_dims(xp.reshape(x, shape), (0, 2, 1, 3))


def of_tokens(recurrence, split=split, order=lambda heads, count: np.arange(heads)):
    """Version 27, from `recurrence(q, k, v, state, g, beta)`: what queries get, and the state.

    Each has the axes batch, head, token, element; of `state`: batch, head, key, value. Queries have
    an axis more, behind that of heads, of those that share a key. `g` or `beta` may be None.
    """

    def formula(query, key, value, past_state=None, decay=None, beta=None, *, kv_num_heads,
                q_num_heads, scale, update_rule):  # fmt: skip
        if update_rule not in ("linear", *GATED, "delta"):
            raise InvalidNode(f"update_rule {update_rule!r}")
        q, k, v = split(query, q_num_heads), split(key, kv_num_heads), split(value, kv_num_heads)
        batches, heads, tokens, size = q.shape
        shape, state = (batches, kv_num_heads, tokens), (batches, kv_num_heads, size, v.shape[3])
        if heads % kv_num_heads or k.shape != (*shape, size) or v.shape[:3] != shape:
            raise InvalidNode(f"heads of the shapes {[list(x.shape) for x in (q, k, v)]}")
        if past_state is not None and past_state.shape != state:
            raise InvalidNode(f"past_state {list(past_state.shape)}; allowed: {list(state)}")
        parts = []
        for x, rules, lasts in ((decay, GATED, (kv_num_heads, kv_num_heads * size)),
                                (beta, DELTA, (kv_num_heads, 1))):  # fmt: skip
            if x is None and update_rule in rules:
                raise InvalidNode(f"update_rule {update_rule} without decay or beta")
            if x is not None and (x.shape[:2] != query.shape[:2] or x.shape[2:] not in [
                    (one,) for one in lasts]):  # fmt: skip
                raise InvalidNode(f"decay or beta of shape {list(x.shape)}")
            if x is not None and update_rule not in rules:
                is_open("nothing is said of decay or beta where the rule has none")
            parts.append(x if x is None or update_rule in rules else None)
        if not size or not math.isfinite(scale):
            raise NotSupported("nothing is said of keys of no elements, or of such scales")
        g, rate = (x if x is None else split(x, min(x.shape[2], kv_num_heads)) for x in parts)
        past = np.zeros(state, np.float32) if past_state is None else past_state
        group = (batches, kv_num_heads, heads // kv_num_heads, tokens, size)
        q = xp.reshape(xp.take(q, order(heads, kv_num_heads), axis=1), group)
        kind = query.dtype if past_state is None else past_state.dtype
        y, now = recurrence(q, k, v, xp.astype(past, kind), g, rate)
        y = y * (scale or 1 / xp.sqrt(xp.real(size)))
        y = xp.reshape(xp.permute_dims(y, (0, 3, 1, 2, 4)), (batches, tokens, heads, v.shape[3]))
        y = xp.take(y, np.argsort(order(heads, kv_num_heads)), axis=2)
        y = xp.reshape(y, (batches, tokens, heads * v.shape[3]))
        return xp.astype(y, query.dtype), xp.astype(now, kind)

    return {27: formula}


@OP.formula(by=of_tokens)
def by_token(q, k, v, state, g, beta, gate=xp.exp, early=False, undecayed=False):
    """One token after the other, as the text says."""
    states, errors = [state], []
    for t in range(k.shape[2]):
        old, column = state, xp.expand_dims(k[:, :, t], axis=3)
        state = state if g is None else state * gate(xp.expand_dims(g[:, :, t], axis=3))
        row = v[:, :, t : t + 1]
        if beta is not None:
            known = xp.matmul(k[:, :, t : t + 1], old if undecayed else state)
            row = beta[:, :, t : t + 1] * (row - known)
        state = state + column * row
        if beta is not None:
            state, error = xp.parted(state)
            errors.append(error)
        states.append(state)
    # One product for all tokens takes a fraction of the time of one for each.
    seen = xp.expand_dims(xp.stack(states, axis=2), axis=2)[:, :, :, (0 if early else 1) :]
    y = xp.squeeze(xp.matmul(xp.expand_dims(q, axis=4), seen[:, :, :, : k.shape[2]]), axis=4)
    if errors and errors[0] is not None:
        of_y, of_state = as_they_spread(errors, *(
            None if x is None else xp.values_of(x) for x in (q, k, g, beta)))  # fmt: skip
        return y + of_y, state + of_state
    return y, state


def as_they_spread(errors, q, k, g, beta):
    """The errors of answers and of the last state, from those that each token adds to the state.

    A delta rule multiplies the state by a matrix, which makes it smaller where keys have a length
    of 1: what a token adds is multiplied by the product of all later matrices.
    """
    batches, heads, group, tokens, size = q.shape
    # Rows that multiply the state: queries, one token after the other from the last, and the last.
    rows = np.zeros((batches, heads, tokens, group, size))
    last, total = np.broadcast_to(np.eye(size), (batches, heads, size, size)), cast(Any, 0.0)
    for t in reversed(range(tokens)):
        rows[:, :, t] = q[:, :, :, t]
        every = np.concat([rows.reshape(batches, heads, -1, size), last], axis=2)
        every = np.where(np.isfinite(every), every, 0.0)
        total = total + xp.matmul(every, errors[t])
        key = k[:, :, t, :, None]
        every = every - (every @ key) * (beta[:, :, t, :, None] * key.swapaxes(2, 3))
        every = every if g is None else every * np.exp(g[:, :, t, None])
        rows, last = every[:, :, :-size].reshape(rows.shape), every[:, :, -size:]
    of_y = xp.reshape(total[:, :, :-size], (batches, heads, tokens, group, total.shape[3]))
    return xp.permute_dims(of_y, (0, 1, 3, 2, 4)), total[:, :, -size:]


@OP.also_honest("", by=of_tokens)
def at_once(q, k, v, state, g, beta):
    """As chunks that are computed in parallel, without the states between."""
    if not k.shape[2]:
        return by_token(q, k, v, state, g, beta)
    none = np.zeros((1, 1, k.shape[2], 1), np.float32)
    total = none if g is None else xp.cumulative_sum(g, axis=2)
    gone = xp.exp(total)
    between = xp.expand_dims(total, axis=3) - xp.expand_dims(total, axis=2)
    lower = np.tril(np.ones((k.shape[2], k.shape[2], 1), bool))
    share = xp.where(lower, xp.exp(xp.where(lower, between, 0.0)), 0.0)
    spread = xp.expand_dims(k, axis=2) * share
    with_k = xp.sum(xp.expand_dims(k, axis=3) * spread, axis=-1)
    known, rows, errors = xp.matmul(k * gone, state), list[Any](), list[Any]()
    for t in range(0 if beta is None else k.shape[2]):
        row = v[:, :, t : t + 1] - known[:, :, t : t + 1]
        if rows:
            row = row - xp.matmul(with_k[:, :, t : t + 1, :t], xp.concat(rows, axis=2))
        row, error = xp.parted(beta[:, :, t : t + 1] * row)
        rows.append(row)
        errors.append(error)
    row = xp.concat(rows, axis=2) if rows else v
    if errors and errors[0] is not None:
        # Each row has those before it in it.
        inverse = np.linalg.inv(np.eye(k.shape[2]) + np.tril(
            xp.values_of(beta) * xp.values_of(with_k), -1))  # fmt: skip
        row = row + xp.matmul(inverse, xp.concat(errors, axis=2))
    with_q = xp.sum(xp.expand_dims(q, axis=4) * xp.expand_dims(spread, axis=2), axis=-1)
    y = xp.matmul(q * xp.expand_dims(gone, axis=2), xp.expand_dims(state, axis=2))
    last = xp.permute_dims(spread[:, :, -1], (0, 1, 3, 2))
    now = state * xp.permute_dims(gone[:, :, -1:], (0, 1, 3, 2)) + xp.matmul(last, row)
    return y + xp.matmul(with_q, xp.expand_dims(row, axis=2)), now


OP.mutant_table({
    "state_read_too_early": ("queries read the state before their own token was added",
        partial(by_token, early=True)),
    "error_of_the_old_state": ("delta rules compared values with the state before its decay",
        partial(by_token, undecayed=True)),
    "decay_not_exponential": ("the state was multiplied by the decay, not by e to its power",
        partial(by_token, gate=lambda g: g)),
    "rate_of_values_alone": ("beta multiplied values, and not what the state has of them",
        lambda q, k, v, state, g, beta: by_token(q, k, v if beta is None else v / beta, state, g,
                                                 beta)),
    "first_decay_for_all": ("the first decay of a head served for all of its keys",
        lambda q, k, v, state, g, beta: by_token(
            q, k, v, state, None if g is None else g[..., :1], beta)),
    "state_forgotten": ("the state was that of the first token alone",
        lambda q, k, v, state, g, beta: (by_token(q, k, v, state, g, beta)[0], by_token(
            q, k[:, :, :1], v[:, :, :1], state, None if g is None else g[:, :, :1],
            None if beta is None else beta[:, :, :1])[1])),
}, by=of_tokens)  # fmt: skip
OP.mutant("the heads of the keys served those of the queries in turns", name="heads_in_turns",
          by=partial(of_tokens, order=lambda heads, count: np.arange(heads).reshape(
              -1, count).T.ravel()))(by_token)  # fmt: skip
