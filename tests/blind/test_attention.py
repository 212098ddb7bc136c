"""Attention as its text says, against the engine."""

import math
from typing import Any

import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences

Arrays = list[np.ndarray | None]


def by_heads(x: np.ndarray, heads: Any) -> np.ndarray:
    """(batch, heads, sequence, size) of a 4-D tensor, or of a 3-D one whose last has all heads."""
    if x.ndim == 4:
        return x.astype(np.float64)
    if heads is None:
        raise Forbidden("Number of heads. Must be used with 3D inputs of Q, K and V")
    if heads <= 0 or x.shape[2] % heads:
        raise Forbidden("q_hidden_size = q_num_heads * head_size")
    batch, length, hidden = x.shape
    split = x.astype(np.float64).reshape(batch, length, heads, hidden // heads)
    return split.transpose(0, 2, 1, 3)


def with_past(x: np.ndarray, past: np.ndarray | None) -> np.ndarray:
    """Past and incoming keys or values, one after the other."""
    if past is None:
        return x
    if past.ndim != 4 or past.shape[:2] != x.shape[:2] or past.shape[3] != x.shape[3]:
        raise Forbidden("(batch_size, kv_num_heads, past_sequence_length, head_size)")
    return np.concatenate([past.astype(np.float64), x], axis=2)


def mask_bias(mask: np.ndarray | None, q: np.ndarray, shape, since: int, needed: int) -> np.ndarray:
    """What a mask adds to the scores of the given shape."""
    if mask is None:
        return np.zeros(shape)
    if mask.dtype.kind in "iu":
        raise Open("Two types of masks are supported: boolean or float; but U lists integers too")
    if mask.dtype != bool and mask.dtype != q.dtype:
        raise Forbidden("a boolean mask, or a float mask of the same type as query, key, value")
    bias = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)
    if since >= 24 and bias.ndim and bias.shape[-1] < shape[-1]:
        if bias.shape[-1] == 1:
            raise Open("broadcastable, or the last dimension can also be shorter: one of length 1")
        if bias.shape[-1] < needed:
            raise Forbidden("at least as long as the maximum value of `nonpad_kv_seqlen`")
        more = np.full((*bias.shape[:-1], shape[-1] - bias.shape[-1]), -np.inf)
        bias = np.concatenate([bias, more], axis=-1)
    try:
        return np.broadcast_to(bias, shape)
    except ValueError:
        raise Forbidden("Shape must be broadcastable to 4D tensor") from None


def attended(i: int, j: int, offset: int, valid: int | None, attrs, since: int) -> bool:
    """Tell whether query i attends key j, whatever the mask says."""
    if attrs.get("is_causal", 0) and j > i + offset:
        return False
    left, right = attrs.get("left_window_size", -1), attrs.get("right_window_size", -1)
    if since >= 25 and left >= 0 and j < i + offset - left:
        return False
    if since >= 25 and right >= 0 and j > i + offset + right:
        return False
    return valid is None or j < valid


def softmax(scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The weights of a query's keys; all 0 where every key's bias is -inf."""
    if (bias == -np.inf).all():
        return np.zeros(len(scores))
    powers: np.ndarray = np.exp(scores - np.max(scores))
    weights: np.ndarray = powers / powers.sum()
    return weights


def checked(inputs: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, K and V by heads; what the text says of other inputs and attributes is checked too."""
    q, k, v, past_key, past_value, valid = *inputs[:3], *inputs[4:]
    assert q is not None
    assert k is not None
    assert v is not None
    if (q.ndim, k.ndim, v.ndim) not in ((3, 3, 3), (4, 4, 4)):
        raise Forbidden("4D tensor or 3D tensor")
    if q.ndim == 4 and {"q_num_heads", "kv_num_heads"} & {*attrs}:
        raise Open("Must be used with 3D inputs of Q, K and V")
    if (past_key is None) != (past_value is None):
        raise Forbidden("not allowed to use only one of them")
    if valid is not None and past_key is not None:
        raise Forbidden("should not be used together with `past_key` and `past_value`")
    queries = by_heads(q, attrs.get("q_num_heads"))
    keys, values = (by_heads(it, attrs.get("kv_num_heads")) for it in (k, v))
    if keys.shape[:3] != values.shape[:3] or queries.shape[0] != keys.shape[0]:
        raise Forbidden("(batch_size, kv_num_heads, kv_sequence_length, ...)")
    if queries.shape[3] != keys.shape[3]:
        raise Forbidden("head_size is that of Q and K")
    if not keys.shape[1] or queries.shape[1] % keys.shape[1]:
        raise Forbidden("q_num_heads % kv_num_heads == 0")
    if valid is not None:
        if valid.shape != (len(queries),):
            raise Forbidden("A vector of integers of shape `(batch_size,)`")
        if (valid < 0).any() or (valid > keys.shape[2]).any():
            raise Forbidden("the number of valid (ie, non-padding) tokens in each sample")
    if attrs.get("qk_matmul_output_mode", 0) not in (0, 1, 2, 3):
        raise Forbidden("qk_matmul_output_mode is 0, 1, 2 or 3")
    if attrs.get("softmax_precision", 1) not in (1, 10, 11, 16):
        raise Forbidden("The floating-point precision used in softmax computation")
    if attrs.get("is_causal", 0) not in (0, 1):
        raise Open("If set to `1`, causal masking is applied")
    if min(attrs.get("left_window_size", -1), attrs.get("right_window_size", -1)) < -1:
        raise Open("for each nonnegative bound; -1 leaves that side unbounded")
    if attrs.get("scale", 1.0) < 0 or attrs.get("softcap", 0.0) < 0:
        raise Open("scale `Q`, `K` by `sqrt(scale)`: of a negative number")
    return queries, keys, values


def attention(since: int, inputs: Arrays, attrs: dict[str, Any], outputs: int) -> list[np.ndarray]:
    inputs = [*inputs, *[None] * 7][:7]
    q, mask, past_key, past_value, valid = inputs[0], *inputs[3:]
    assert q is not None
    queries, keys, values = checked(inputs, attrs)
    past = 0 if past_key is None else past_key.shape[2]
    keys, values = with_past(keys, past_key), with_past(values, past_value)
    if keys.shape[2] != values.shape[2]:
        raise Forbidden("past_sequence_length is that of both")
    (batch, heads, length, size), total = queries.shape, keys.shape[2]
    if not size and "scale" not in attrs:
        raise Open("Default value is `1/sqrt(head_size)`: of no numbers")
    # Attributes of type float hold float32.
    scale = float(np.float32(attrs["scale"])) if "scale" in attrs else 1 / math.sqrt(size)
    softcap = float(np.float32(attrs.get("softcap", 0.0)))
    mode = attrs.get("qk_matmul_output_mode", 0)
    needed = 0 if valid is None else int(valid.max(initial=0))
    masked = mask_bias(mask, q, (batch, heads, length, total), since, needed)
    y: np.ndarray = np.zeros((batch, heads, length, values.shape[3]))
    qk = np.zeros((batch, heads, length, total))
    for b, h, i in np.ndindex(batch, heads, length):
        group = h // (heads // keys.shape[1])
        count = None if valid is None else int(valid[b])
        offset = past if count is None else count - length
        allowed = [attended(i, j, offset, count, attrs, since) for j in range(total)]
        bias = masked[b, h, i] + np.where(allowed, 0.0, -np.inf)
        products = [(queries[b, h, i] * keys[b, group, j]).sum() for j in range(total)]
        scores = np.array(products) * scale
        capped = softcap * np.tanh(scores / softcap) if softcap else scores
        weights = softmax(capped + bias, bias)
        qk[b, h, i] = (scores, capped, capped + bias, weights)[mode]
        if (bias != -np.inf).any():
            y[b, h, i] = weights @ values[b, group]
    if q.ndim == 3:
        y = y.transpose(0, 2, 1, 3).reshape(batch, length, -1)
    return [y, keys, values, qk]


def test_attention_is_what_its_text_says() -> None:
    assert differences("Attention", attention, every=13) == []
