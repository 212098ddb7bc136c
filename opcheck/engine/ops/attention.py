"""Attention, by shares or by a state, and the rotary embedding of what it compares."""

import math
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import elements_at, stretches
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops import softmax
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers.arithmetic import Kind
from opcheck.numbers.faulty import bare

NAMES = """Attention LinearAttention RotaryEmbedding"""
OP, LINEAR, ROTARY = map(operator, NAMES.split())
INTEGER_MASK = Ruling(
    "integer-mask",
    "Masks are booleans or of the queries' type by the text, and integers too by the schema.",
    ("added", "refused"),
)
LINEAR.ignores = ("chunk_size",)


class Heads(NamedTuple):
    """The tensors of the computation, each of four axes: batch, head, token, element.

    `shown` has the keys that the mask leaves, `more` what it adds. Query i stands at i + `offset`.
    """

    q: Any
    k: Any
    v: Any
    shown: Any
    more: Any
    offset: Any
    valid: Any
    causal: int
    left: int
    right: int
    scale: float | None
    softcap: float
    precision: int | None
    mode: int


def split(x, count):
    """The heads of each token, as an axis before that of tokens."""
    if x.ndim == 4:
        return x
    reject(not count or count < 1 or x.shape[2] % count, f"{count} heads of {x.shape[2]} elements")
    return xp.permute_dims(xp.reshape(x, (*x.shape[:2], count, x.shape[2] // count)), (0, 2, 1, 3))


def masked(since, mask, shape, least):
    """The elements whose mask is not -inf, or true, and its addends; None for either missing."""
    if mask is None:
        return None, None
    if mask.ndim and mask.shape[-1] < shape[-1] and since > 23:
        if mask.shape[-1] == 1:
            raise_unspecified("whether one element is padded or broadcast")
        if mask.shape[-1] < least:
            raise InvalidNode(f"attn_mask of {mask.shape[-1]} keys, and {least} are no padding")
        tail = np.zeros((*mask.shape[:-1], shape[-1] - mask.shape[-1]), mask.dtype)
        mask = xp.concat([mask, tail if tail.dtype == bool else tail - np.inf], axis=-1)
    stretches("attn_mask", mask, np.broadcast_to(0, shape))
    if mask.dtype == bool:
        return bare(mask), None
    if mask.dtype.kind in "iu" and INTEGER_MASK.reading() == "refused":
        raise InvalidNode(f"attn_mask of {mask.dtype}; allowed: booleans and floats")
    values = xp.values_of(mask)
    if not np.isfinite(values).all(where=values != -np.inf):
        raise_unspecified("adding infinity or NaN")
    return values != -np.inf, xp.where(values != -np.inf, mask, 0.0)


def of_heads(computed, split=split):
    """All versions, from `computed(heads)`: the output, and what `qk_matmul_output_mode` asks."""

    def formula(
        since,
        Q,
        K,
        V,
        attn_mask=None,
        past_key=None,
        past_value=None,
        nonpad_kv_seqlen=None,
        *,
        is_causal,
        kv_num_heads,
        q_num_heads,
        qk_matmul_output_mode,
        scale,
        softcap,
        softmax_precision,
        left_window_size=-1,
        right_window_size=-1,
        used=(0,),
    ):
        past, valid = (past_key, past_value), nonpad_kv_seqlen
        if not Q.ndim == K.ndim == V.ndim or Q.ndim not in (3, 4):
            raise InvalidNode(f"ranks {Q.ndim}, {K.ndim} and {V.ndim}; allowed: all 3 or 4")
        reject((past_key is None) != (past_value is None), "past_key or past_value alone")
        present = {1, 2}.intersection(used)
        if valid is not None and (past_key is not None or present):
            raise InvalidNode("nonpad_kv_seqlen together with past or present")
        if Q.ndim == 4 and (q_num_heads is not None or kv_num_heads is not None):
            leave_open("nothing is said of numbers of heads of tensors of four axes")
        if len(present) == 1 or (not present) != (past_key is None):
            leave_open("it is not said whether past may be used without present, or the reverse")
        q, k, v = split(Q, q_num_heads), split(K, kv_num_heads), split(V, kv_num_heads)
        if (
            k.shape[:3] != v.shape[:3]
            or q.shape[::3] != k.shape[::3]
            or not (k.shape[1] and q.shape[1] % k.shape[1] == 0 < q.shape[1])
        ):
            raise InvalidNode(f"heads of the shapes {[list(x.shape) for x in (q, k, v)]}")
        if past_key is not None:
            for old, new in zip(past, (k, v), strict=True):
                if old.ndim != 4 or old.shape[:2] + old.shape[3:] != new.shape[:2] + new.shape[3:]:
                    raise InvalidNode(f"past of shape {list(old.shape)} before {list(new.shape)}")
            reject(past_key.shape[2] != past_value.shape[2], "past tensors of different lengths")
            k, v = (xp.concat([old, new], axis=2) for old, new in zip(past, (k, v), strict=True))
        if qk_matmul_output_mode not in range(4) or softmax_precision not in (None, 1, 10, 11, 16):
            raise InvalidNode(f"mode {qk_matmul_output_mode}, precision {softmax_precision}")
        types = {str(x.dtype) for x in (q, v)}
        if not (k.shape[2] and q.shape[3]) or (len(types) > 1 and "float64" in types):
            raise NotSupported("nothing is said of no keys, or of mixing float64")
        windows = (left_window_size + 1, right_window_size + 1)
        numbers = (scale or 0.0, softcap, *windows, is_causal, 1 - is_causal)
        if not all(0 <= one < math.inf for one in numbers):
            raise NotSupported("nothing is said of numbers below these, or of other flags")
        least, offset = 0, past_key.shape[2] if past_key is not None else 0
        if valid is not None:
            reject(valid.shape != q.shape[:1], f"nonpad_kv_seqlen of shape {list(valid.shape)}")
            if valid.size and not 0 <= valid.min() <= valid.max() <= k.shape[2]:
                raise NotSupported("nothing is said of lengths below 0 or beyond the keys")
            least, valid = int(valid.max(initial=0)), valid.reshape(-1, 1, 1, 1)
            offset = valid - q.shape[2]
        shown, more = masked(since, attn_mask, (*q.shape[:3], k.shape[2]), least)
        y, qk = computed(
            Heads(
                q,
                k,
                v,
                shown,
                more,
                offset,
                valid,
                is_causal,
                left_window_size,
                right_window_size,
                scale,
                softcap,
                softmax_precision,
                qk_matmul_output_mode,
            )
        )
        if Q.ndim == 3:
            y = xp.permute_dims(y, (0, 2, 1, 3))
            y = xp.reshape(y, (*y.shape[:2], math.prod(y.shape[2:])))
        return y, k, v, qk

    new = ("nonpad_kv_seqlen", "left_window_size", "right_window_size")
    return {**formula_builder(23, options=new)(formula)(23), **formula_builder(24, 25)(formula)(24)}


def attended(heads):
    """The keys that each query attends, of the shape batch, head, query, key."""
    behind = np.arange(heads.q.shape[2]).reshape(-1, 1) + heads.offset - np.arange(heads.k.shape[2])
    found = (behind >= 0) | (not heads.causal)
    for window, far in ((heads.left, behind), (heads.right, -behind)):
        found = found & ((far <= window) | (window < 0))
    if heads.valid is not None:
        found = found & (np.arange(heads.k.shape[2]) < heads.valid)
    if heads.shown is not None:
        found = found & heads.shown
    return np.broadcast_to(found, (*heads.q.shape[:3], heads.k.shape[2]))


def root_of(heads):
    """The root of the scale, by which queries and keys are multiplied."""
    real = xp.real(heads.q.shape[3] if heads.scale is None else heads.scale)
    root: Any = xp.sqrt(1 / xp.sqrt(real) if heads.scale is None else real)
    return root if isinstance(root, Kind) else float(root)


def shares(x, none, v, kept):
    """The shares of the keys, and what they make of the values."""
    p = xp.where(none, 0.0, kept(softmax.plain(x, -1)))
    return p, xp.matmul(xp.at_most_1(p), v)


def shares_in_blocks(x, none, v, kept):
    """Divide at the end, as where blocks of keys come one after the other."""
    _, e, total = softmax.terms_in_blocks(x, -1)
    e = xp.where(none, 0.0, e)
    return e / total, xp.matmul(kept(e), v) / total


def limited(scores, softcap, kept):
    return kept(kept(xp.tanh(kept(scores / softcap))) * softcap)


def computed(
    heads, root=root_of, keep=lambda x, dtype: x, shares=shares, limited=limited, computes=False
):
    """The output; and the scores, those limited, those with the mask, or the shares."""
    dtype, group = heads.q.dtype, heads.q.shape[1] // heads.k.shape[1]
    kept = partial(keep, dtype=dtype)
    k, v = (xp.take(x, np.arange(heads.q.shape[1]) // group, axis=1) for x in (heads.k, heads.v))
    scale = kept(root(heads))
    turned = xp.permute_dims(kept(k * scale), (0, 1, 3, 2))
    scores = kept(xp.matmul(kept(heads.q * scale), turned))
    capped = limited(scores, heads.softcap, kept) if heads.softcap else scores
    allowed = attended(heads)
    finite = (xp.isfinite(x).all() for x in (heads.q, k, v))
    if not (allowed.all() or all(finite)):
        leave_open("nothing is said of what is masked and no number")
    more = capped if heads.more is None else kept(capped + heads.more)
    biased = xp.where(allowed, more, -np.inf)
    none = ~allowed.any(axis=-1, keepdims=True)
    x = xp.where(none, 0.0, biased)
    if heads.precision is not None or computes:
        named = dtypes.named(heads.precision)
        x = xp.astype(x, named.numpy if named else dtype, computes=True)
    p, y = shares(x, none, v, lambda x: kept(xp.astype(x, dtype)))
    return xp.astype(y, dtype), xp.astype((scores, capped, biased, p)[heads.mode], dtype)


def stored(x, dtype):
    return xp.astype(xp.astype(x, np.float32), dtype) if dtype.itemsize == 2 else x


def root_in_float32(heads):
    """The root as the function body has it, in float32 also of tensors of float64."""
    if heads.q.dtype != np.float64:
        return root_of(heads)
    default = 1 / np.sqrt(np.float32(heads.q.shape[3]))
    return float(np.sqrt(np.float32(default if heads.scale is None else heads.scale)))


OP.formula(build=of_heads)(computed)
OP.alternative("", build=of_heads)(partial(computed, shares=shares_in_blocks))
# The function body rounds what lies between operators, and takes the softmax in the same precision.
OP.alternative("", build=of_heads)(
    partial(computed, root=root_in_float32, keep=stored, computes=True)
)


def changed(change):
    return lambda heads: computed(heads._replace(**change(heads)))


OP.mutant_table(
    {
        "mask_before_limit": (
            "the mask was added before the softcap",
            lambda h: computed(
                h,
                limited=lambda scores, *_: scores,
                shares=lambda x, none, v, kept: shares(
                    limited(x, h.softcap, kept) if h.softcap else x, none, v, kept
                ),
            ),
        ),
        "tangent_alone": (
            "the softcap did not multiply the hyperbolic tangent",
            partial(computed, limited=lambda scores, softcap, kept: xp.tanh(scores / softcap)),
        ),
        "causal_from_the_first_key": (
            "tokens before the queries were not counted for is_causal",
            changed(lambda h: {"offset": h.offset * 0}),
        ),
        "causal_to_the_last_key": (
            "for is_causal the last query stood at the last key",
            changed(lambda h: {"offset": h.k.shape[2] - h.q.shape[2]}),
        ),
        "own_key_hidden": (
            "under is_causal a query did not attend its own key",
            changed(lambda h: {"offset": h.offset - h.causal}),
        ),
        "scaled_once": (
            "the root of the scale multiplied queries alone",
            changed(lambda h: {"scale": root_of(h)}),
        ),
        "scale_of_values": (
            "the default of scale was made of the values' size",
            changed(lambda h: {"scale": (h.v.shape[3] or 1) ** -0.5} if h.scale is None else {}),
        ),
        "heads_in_turns": (
            "the heads of the keys served those of the queries in turns",
            changed(
                lambda h: {
                    name: np.take(x, np.arange(h.q.shape[1]) % x.shape[1], axis=1)
                    for name, x in (("k", h.k), ("v", h.v))
                }
            ),
        ),
        "first_head_for_all": (
            "the first head of the keys served all",
            changed(lambda h: {"k": h.k[:, :1], "v": h.v[:, :1]}),
        ),
        "masked_rows_uniform": (
            "a query without a key got the mean of all values",
            partial(computed, shares=lambda x, none, v, kept: shares(x, False, v, kept)),
        ),
        "masked_rows_nan": (
            "a query without a key got NaN",
            partial(
                computed,
                shares=lambda x, none, v, kept: shares(
                    np.where(none, x - np.inf, x), False, v, kept
                ),
            ),
        ),
        "mask_inverted": (
            "true hid a key",
            changed(
                lambda h: {"shown": ~h.shown} if h.more is None and h.shown is not None else {}
            ),
        ),
        "mask_added": (
            "a mask of booleans was added as 1 and 0",
            changed(
                lambda h: (
                    {"shown": None, "more": h.shown.astype(h.q.dtype)}
                    if h.more is None and h.shown is not None
                    else {}
                )
            ),
        ),
        "over_queries": (
            "shares were those of the queries, not of the keys",
            partial(
                computed,
                shares=lambda x, none, v, kept: (
                    p := np.where(none, 0, softmax.plain(x, 2) if x.size else x),
                    p @ v,
                ),
            ),
        ),
        "product_not_scaled": (
            "qk_matmul_output in mode 0 was not scaled",
            lambda h: (computed(h)[0], computed(h._replace(scale=1.0) if h.mode == 0 else h)[1]),
        ),
    },
    build=of_heads,
)
OP.mutant(
    "keys beyond nonpad_kv_seqlen were attended", 24, 25, name="padding_attended", build=of_heads
)(changed(lambda h: {"valid": None}))
OP.mutant(
    "the heads' first elements came first, then their second ones, and so on",
    name="heads_last",
    build=lambda split: of_heads(computed, split),
)(
    lambda x, count: (
        x
        if x.ndim == 4
        else split(x, count)
        .swapaxes(1, 2)
        .reshape(*x.shape[:2], x.shape[2] // count, count)
        .transpose(0, 3, 1, 2)
    )
)


# LinearAttention: queries of a state, to which each token adds its key times its value.
GATED, DELTA = ("gated", "gated_delta"), ("delta", "gated_delta")


@formula_builder(27, options=["order"])
def of_tokens(
    recurrence,
    query,
    key,
    value,
    past_state=None,
    decay=None,
    beta=None,
    *,
    kv_num_heads,
    q_num_heads,
    scale,
    update_rule,
    order=lambda heads, count: np.arange(heads),
):
    """Version 27, from `recurrence(q, k, v, state, g, beta)`: what queries get, and the state.

    Each has the axes batch, head, token, element; of `state`: batch, head, key, value. Queries have
    an axis more, behind that of heads, of those that share a key. `g` or `beta` may be None.
    """
    check_one_of("update_rule", update_rule, "linear", *GATED, "delta")
    if not query.ndim == key.ndim == value.ndim == 3:
        raise InvalidNode(f"ranks {query.ndim}, {key.ndim} and {value.ndim}; allowed: 3")
    q, k, v = split(query, q_num_heads), split(key, kv_num_heads), split(value, kv_num_heads)
    batches, heads, tokens, size = q.shape
    shape, state = (batches, kv_num_heads, tokens), (batches, kv_num_heads, size, v.shape[3])
    if heads % kv_num_heads or k.shape != (*shape, size) or v.shape[:3] != shape:
        raise InvalidNode(f"heads of the shapes {[list(x.shape) for x in (q, k, v)]}")
    check_shape("past_state", past_state, state)
    parts = []
    for x, rules, lasts in (
        (decay, GATED, [(kv_num_heads,), (kv_num_heads * size,)]),
        (beta, DELTA, [(kv_num_heads,), (1,)]),
    ):
        reject(x is None and update_rule in rules, f"rule {update_rule} without decay or beta")
        if x is not None and (x.shape[:2] != query.shape[:2] or x.shape[2:] not in lasts):
            raise InvalidNode(f"decay or beta of shape {list(x.shape)}")
        if x is not None and update_rule not in rules:
            leave_open("nothing is said of decay or beta where the rule has none")
        parts.append(x if x is None or update_rule in rules else None)
    if not size or not math.isfinite(scale):
        raise_unspecified("keys of no elements, or of such scales")
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


@LINEAR.formula(build=of_tokens)
def by_token(q, k, v, state, g, beta, gate=xp.exp, early=False, undecayed=False):
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
        of_y, of_state = as_they_spread(
            errors, *(None if x is None else xp.values_of(x) for x in (q, k, g, beta))
        )
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


@LINEAR.alternative("", build=of_tokens)
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
        inverse = np.linalg.inv(
            np.eye(k.shape[2]) + np.tril(xp.values_of(beta) * xp.values_of(with_k), -1)
        )
        row = row + xp.matmul(inverse, xp.concat(errors, axis=2))
    with_q = xp.sum(xp.expand_dims(q, axis=4) * xp.expand_dims(spread, axis=2), axis=-1)
    y = xp.matmul(q * xp.expand_dims(gone, axis=2), xp.expand_dims(state, axis=2))
    last = xp.permute_dims(spread[:, :, -1], (0, 1, 3, 2))
    now = state * xp.permute_dims(gone[:, :, -1:], (0, 1, 3, 2)) + xp.matmul(last, row)
    return y + xp.matmul(with_q, xp.expand_dims(row, axis=2)), now


LINEAR.mutant_table(
    {
        "state_read_too_early": (
            "queries read the state before their own token was added",
            partial(by_token, early=True),
        ),
        "error_of_the_old_state": (
            "delta rules compared values with the state before its decay",
            partial(by_token, undecayed=True),
        ),
        "decay_not_exponential": (
            "the state was multiplied by the decay, not by e to its power",
            partial(by_token, gate=lambda g: g),
        ),
        "rate_of_values_alone": (
            "beta multiplied values, and not what the state has of them",
            lambda q, k, v, s, g, beta: by_token(q, k, v if beta is None else v / beta, s, g, beta),
        ),
        "first_decay_for_all": (
            "the first decay of a head served for all of its keys",
            lambda q, k, v, s, g, beta: by_token(q, k, v, s, g if g is None else g[..., :1], beta),
        ),
        "state_forgotten": (
            "the state was that of the first token alone",
            lambda q, k, v, state, g, beta: (
                by_token(q, k, v, state, g, beta)[0],
                by_token(
                    q,
                    k[:, :, :1],
                    v[:, :, :1],
                    state,
                    None if g is None else g[:, :, :1],
                    None if beta is None else beta[:, :, :1],
                )[1],
            ),
        ),
    },
    build=of_tokens,
)
LINEAR.mutant(
    "the heads of the keys served those of the queries in turns",
    name="heads_in_turns",
    build=partial(
        of_tokens, order=lambda heads, count: np.arange(heads).reshape(-1, count).T.ravel()
    ),
)(by_token)


# RotaryEmbedding: pairs of elements of each head turned by an angle of the token's place.
@formula_builder(23, options=["at"])
def of_pairs(
    turned,
    X,
    cos_cache,
    sin_cache,
    position_ids=None,
    *,
    interleaved,
    num_heads,
    rotary_embedding_dim,
    at=lambda positions: positions,
):
    """Version 23, from `turned(x, cos, sin, size, apart)` of the heads of each token."""
    reject(X.ndim not in (3, 4), f"X of rank {X.ndim}; allowed: 3, 4")
    if X.ndim == 3 and (num_heads is None or num_heads < 1 or X.shape[2] % num_heads):
        raise InvalidNode(f"num_heads {num_heads} of X {list(X.shape)}")
    if interleaved not in (0, 1):
        leave_open("nothing is said of flags other than 0 and 1")
    whole = X.shape[2] // num_heads if X.ndim == 3 else X.shape[3]
    size = rotary_embedding_dim or whole
    if whole % 2 or size % 2 or not 0 <= size <= whole:
        raise InvalidNode(f"{size} of {whole} elements to be turned; allowed: even numbers")
    swapped = partial(xp.permute_dims, axes=(0, 2, 1, 3))
    x = swapped(X) if X.ndim == 4 else xp.reshape(X, (*X.shape[:2], num_heads, whole))
    tables: tuple[Any, ...] = (cos_cache, sin_cache)
    first = x.shape[:2]
    if position_ids is not None:
        if position_ids.shape != first or any(t.ndim != 2 for t in tables):
            raise InvalidNode(f"position_ids {list(position_ids.shape)} of {list(first)}")
        ids = at(position_ids)
        tables = tuple(xp.take(t, elements_at(ids, t.shape[0], back=True), axis=0) for t in tables)
    if any(t.shape != (*first, size // 2) for t in tables):
        raise InvalidNode(f"caches of the shapes {[list(t.shape) for t in tables]}")
    y = turned(x, *(xp.expand_dims(t, axis=2) for t in tables), size, interleaved)
    return swapped(y) if X.ndim == 4 else xp.reshape(y, X.shape)


@ROTARY.formula(build=of_pairs)
def turned(x, cos, sin, size, apart):
    """The first `size` elements turned: a pair is neighbors, or else elements half of it apart."""
    order = ordered(x, size, apart)
    a, b, rest = (xp.take(x, one, axis=3) for one in np.split(order, (size // 2, size)))
    y = xp.concat([cos * a - sin * b, sin * a + cos * b, rest], axis=3)
    return xp.take(y, np.argsort(order), axis=3)


def ordered(x, size, apart):
    """The places of the first of each pair, then those of the second, then those of the rest."""
    places = np.arange(x.shape[3])
    pairs = places[:size].reshape((-1, 2) if apart else (2, -1))
    return np.concat([(pairs.T if apart else pairs).ravel(), places[size:]])


def exchanged(x, size, apart):
    """The two of each pair in each other's place."""
    order, places = ordered(x, size, apart), np.arange(x.shape[3])
    places[order[:size]] = np.roll(order[:size], size // 2)
    return np.take(x, places, axis=3)


ROTARY.mutant_table(
    {
        "pairs_exchanged": (
            "the two elements of each pair were exchanged",
            lambda x, cos, sin, *rest: turned(exchanged(x, *rest), cos, sin, *rest),
        ),
        "results_exchanged": (
            "the two results of each pair were exchanged",
            lambda x, cos, sin, *rest: exchanged(turned(x, cos, sin, *rest), *rest),
        ),
        "turned_back": (
            "angles were taken the other way round",
            lambda x, cos, sin, *rest: turned(x, cos, -sin, *rest),
        ),
        "written_in_halves": (
            "of neighbors that are a pair the results were written half apart",
            lambda x, cos, sin, *rest: np.take(
                turned(x, cos, sin, *rest), ordered(x, *rest), axis=3
            ),
        ),
        "last_elements_turned": (
            "the last elements were turned where not all are",
            lambda x, cos, sin, size, apart: np.roll(
                turned(np.roll(x, size, axis=3), cos, sin, size, apart), -size, axis=3
            ),
        ),
        "rest_zero": (
            "elements that are not turned were left zero",
            lambda x, cos, sin, size, apart: (
                turned(x, cos, sin, size, apart) * (np.arange(x.shape[3]) < size).astype(x.dtype)
            ),
        ),
        "first_token_for_all": (
            "the angle of the first token served for all",
            lambda x, cos, sin, *rest: turned(x, cos[:, :1], sin[:, :1], *rest),
        ),
        "first_batch_for_all_angles": (
            "the angles of the first batch served for all",
            lambda x, cos, sin, *rest: turned(x, cos[:1], sin[:1], *rest),
        ),
        "angles_of_heads": (
            "the angle was that of the head's number, where there are as many tokens",
            lambda x, cos, sin, *rest: turned(
                x, *(t.swapaxes(1, 2) if x.shape[1] == x.shape[2] else t for t in (cos, sin)), *rest
            ),
        ),
    },
    build=of_pairs,
)
ROTARY.mutant(
    "positions were ignored, and tokens counted from 0",
    name="places_in_order",
    build=partial(of_pairs, at=lambda x: x * 0 + np.arange(x.shape[1])),
)(turned)
