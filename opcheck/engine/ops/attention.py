"""Attention, by shares or by a state, and the rotary embedding of what it compares."""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import stretches
from opcheck.engine.operators import (
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

OP = operator("Attention")
INTEGER_MASK = Ruling(
    "integer-mask",
    "Masks are booleans or of the queries' type by the text, and integers too by the schema.",
    ("added", "refused"),
)


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


def split_heads(x, count):
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


def of_heads(computed, split=split_heads):
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
    root = xp.sqrt(1 / xp.sqrt(real) if heads.scale is None else real)
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
        else split_heads(x, count)
        .swapaxes(1, 2)
        .reshape(*x.shape[:2], x.shape[2] // count, count)
        .transpose(0, 3, 1, 2)
    )
)
