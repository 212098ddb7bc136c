"""Attention (23, 24, 25): each query gets the mean of values, by how much their keys are like it.

The text's figure, for each head:

    scores = (Q * sqrt(scale)) @ (K * sqrt(scale))^T
    capped = softcap * tanh(scores / softcap), if softcap is not 0
    biased = capped + attn_mask, and -inf for keys that the query does not attend
    Y = Softmax(biased) @ V

The last output is scores, capped, biased or Softmax(biased), by `qk_matmul_output_mode`. With
`is_causal`, "query i attends key j iff j <= i + offset"; the mask, windows (25) and padding (24)
hide other keys. "A fully-masked query row produces a zero output row, not NaN".

The parts of the file: what the text leaves open; heads and masks; the computation; the formula; its
mutants.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import stretches
from opcheck.engine.operators import (
    Formula,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops import softmax
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import Array
from opcheck.numbers.arithmetic import Kind
from opcheck.numbers.faulty import bare

INTEGER_MASK = Ruling(
    "integer-mask",
    "Masks are booleans or of the queries' type by the text, and integers too by the schema.",
    ("added", "refused"),
)
NUMBERS_OF_HEADS = Ruling(
    "numbers-of-heads",
    "Numbers of heads must be used with tensors of three axes. The text does not state whether "
    "they may be given with four.",
    ("ignored", "refused"),
)
PAST_AND_PRESENT = Ruling(
    "past-and-present",
    'They "shall be used together, and not allowed to use only one of them": the text does not '
    "state whether that is said of past and present, or of keys and values.",
    ("apart", "refused"),
)
MASK_OF_ONE_KEY = Ruling(
    "mask-of-one-key",
    "A mask of one key is shorter than the keys, so that it is padded, and broadcasts to them.",
    ("padded", "broadcast"),
)


# ── heads and masks ───────────────────────────────────────────────────────────────────────────


def split_heads(x: Array, count: int | None) -> Array:
    """Return [batch, count, tokens, elements of a head] of [batch, tokens, all elements].

    A tensor of four axes is returned as it is, whatever `count` is. Of three axes, raises
    InvalidNode unless `count` is a number above 0 that divides the last axis.
    """
    if x.ndim == 4:
        return x
    if count is None or count < 1 or x.shape[2] % count:
        raise InvalidNode(f"{count} heads of {x.shape[2]} elements")
    apart = xp.reshape(x, (*x.shape[:2], count, x.shape[2] // count))
    return xp.permute_dims(apart, (0, 2, 1, 3))


def joined_heads(x: Array) -> Array:
    """Return [batch, tokens, all elements] of [batch, heads, tokens, elements of a head]."""
    apart = xp.permute_dims(x, (0, 2, 1, 3))
    return xp.reshape(apart, (*apart.shape[:2], math.prod(apart.shape[2:])))


@dataclass(frozen=True)
class Tensors:
    """The inputs of a node, each under the schema's name, None if it is left out."""

    Q: Array
    K: Array
    V: Array
    attn_mask: Array
    past_key: Array
    past_value: Array
    nonpad_kv_seqlen: Array = None


@dataclass(frozen=True)
class Attributes:
    """The attributes of a node, under the schema's names; those it lacks have the defaults here."""

    is_causal: bool
    kv_num_heads: int | None
    q_num_heads: int | None
    qk_matmul_output_mode: int
    scale: float | None
    softcap: float
    softmax_precision: int | None
    left_window_size: int = -1
    right_window_size: int = -1


@dataclass(frozen=True)
class Heads:
    """What the computation takes; heads of the keys serve neighboring heads of the queries.

    kv_num_heads divides q_num_heads, and there is a key or more.

    Attributes:
        q: [batch_size, q_num_heads, q_sequence_length, head_size].
        k: [batch_size, kv_num_heads, total_sequence_length, head_size].
        v: [batch_size, kv_num_heads, total_sequence_length, v_head_size].
        shown: A mask of the keys that attn_mask leaves each query; None without one.
        bias: What attn_mask adds to the scores, 0 for keys that it hides; None for nothing. Both
            broadcast to [batch_size, q_num_heads, q_sequence_length, total_sequence_length].
        offset: How many keys precede the queries: a number, or [batch_size, 1, 1, 1].
        lengths: How many keys are no padding, [batch_size, 1, 1, 1]; None for all.
        attributes: The attributes of the node.
    """

    q: Array
    k: Array
    v: Array
    shown: Array
    bias: Array
    offset: Any
    lengths: Any
    attributes: Attributes


def attended(heads: Heads) -> Array:
    """Return a mask of the keys that each query attends, [batch, head, query, key]; read-only.

    Query i is at key i + offset, which may be below 0. Hidden are keys after it if `is_causal`,
    those outside of its windows (-1 is no window), in the padding, and where attn_mask hides them.
    A query may have no key left.
    """
    attributes = heads.attributes
    queries = np.arange(heads.q.shape[2]).reshape(-1, 1)
    keys = np.arange(heads.k.shape[2])
    behind = queries + heads.offset - keys
    attends = (behind >= 0) | (not attributes.is_causal)
    # A window below 0 has no end.
    attends = attends & (
        (behind <= attributes.left_window_size) | (attributes.left_window_size < 0)
    )
    attends = attends & (
        (-behind <= attributes.right_window_size) | (attributes.right_window_size < 0)
    )
    if heads.lengths is not None:
        attends = attends & (keys < heads.lengths)
    if heads.shown is not None:
        attends = attends & heads.shown
    return np.broadcast_to(attends, (*heads.q.shape[:3], heads.k.shape[2]))


def masked(since: int, mask: Array, shape: tuple[int, ...], least: int) -> tuple[Array, Array]:
    """Return the keys that a mask shows, and what it adds to scores; None for either missing.

    A mask of booleans adds nothing: the second is None. Without a mask (None) both are None. In a
    mask of numbers -inf hides a key, where 0 is added, and others are added. shape: that of the
    scores, to which both results broadcast. least: the number of keys that are no padding, which a
    mask must have at least. Since version 24 a mask of fewer keys than the scores is padded with
    hidden ones; a mask of one key may be broadcast: MASK_OF_ONE_KEY.

    Raises InvalidNode for a mask that does not broadcast to the scores or ends before `least`,
    NotSupported for one that adds NaN or +infinity. Integers are added, or raise InvalidNode:
    INTEGER_MASK.
    """
    if mask is None:
        return None, None
    dtype = mask.dtype  # Padding with -inf makes floats of integers.
    if since > 23:
        mask = padded_mask(mask, shape[-1], least)
    stretches("attn_mask", mask, np.broadcast_to(0, shape))
    if mask.dtype == bool:
        return bare(mask), None
    if dtype.kind in "iu" and INTEGER_MASK.reading() == "refused":
        raise InvalidNode(f"attn_mask of {dtype}; allowed: booleans and floats")
    values = xp.values_of(mask)
    # NaN equals nothing, so that it is shown, and declined.
    shown = values != -np.inf
    if not np.isfinite(values).all(where=shown):
        raise_unspecified("adding infinity or NaN")
    return shown, xp.where(shown, mask, 0.0)


def padded_mask(mask: Array, keys: int, least: int) -> Array:
    """Return a mask of all keys: "padded to `total_sequence_length` with negative infinity".

    A mask of booleans is padded with False; one of integers becomes float64. One without axes or
    with `keys` keys or more is returned as it is, and so may be a mask of one key, which is then
    broadcast: MASK_OF_ONE_KEY.

    Raises InvalidNode for a mask to be padded that has fewer keys than `least`, which are no
    padding.
    """
    if not mask.ndim or mask.shape[-1] >= keys:
        return mask
    if mask.shape[-1] == 1 and MASK_OF_ONE_KEY.reading() == "broadcast":
        return mask
    if mask.shape[-1] < least:
        raise InvalidNode(f"attn_mask of {mask.shape[-1]} keys, and {least} are no padding")
    tail = np.zeros((*mask.shape[:-1], keys - mask.shape[-1]), mask.dtype)
    hidden = tail if tail.dtype == bool else tail - np.inf
    return xp.concat([mask, hidden], axis=-1)


# ── the computation ───────────────────────────────────────────────────────────────────────────

#: What is kept of a result until the next operation.
Keep: TypeAlias = Callable[[Array], Array]
#: Makes Y of [batch, head, query, element], and what qk_matmul_output_mode asks for.
Compute: TypeAlias = Callable[[Heads], tuple[Array, Array]]


def root_of_scale(heads: Heads) -> Any:
    """Return sqrt(scale): a float, or a number with its error bound where formulas compute bounds.

    scale is the attribute, or "1/sqrt(head_size)" if that is None. It may be 0, of which the root
    is 0.
    """
    scale = heads.attributes.scale
    real = xp.real(heads.q.shape[3] if scale is None else scale)
    root: Array = xp.sqrt(1 / xp.sqrt(real) if scale is None else real)
    return root if isinstance(root, Kind) else float(root)


def all_digits(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return `x` as it is: nothing is rounded to `dtype` between two operations."""
    return x


def capped_by_tanh(scores: Array, softcap: float, keep: Keep) -> Array:
    """Return softcap * tanh(scores / softcap), each result as `keep` leaves it.

    `softcap` is not 0.
    """
    return keep(keep(xp.tanh(keep(scores / softcap))) * softcap)


def shares(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
    """Return Softmax(x) along the keys and its product with `v`; 0 for queries without a key.

    x: [batch, head, query, key]; is_empty: a mask of queries without a key, of the same shape but
    one key; v: [batch, head, key, element]. `keep` is what is kept of a result until the next
    operation.
    """
    p = xp.where(is_empty, 0.0, keep(softmax.softmax(x, -1)))
    return p, xp.matmul(xp.at_most_1(p), v)


def shares_in_blocks(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
    """Return Softmax(x) along the keys and its product with `v`; 0 for queries without a key.

    Both are divided at the end, as where keys come block by block. x: [batch, head, query, key];
    is_empty: a mask of queries without a key, of the same shape but one key; v: [batch, head, key,
    element]. `keep` is what is kept of a result until the next operation.
    """
    _, e, total = softmax.terms_in_blocks(x, -1)
    e = xp.where(is_empty, 0.0, e)
    return e / total, xp.matmul(keep(e), v) / total


@dataclass(frozen=True)
class Steps:
    """How the output is computed; alternatives and mutants do otherwise.

    Attributes:
        root: sqrt(scale).
        keep: What is kept of a result of this type until the next operation.
        cap: The scores that softcap leaves.
        shares: The shares of keys, and what they make of the values.
        softmax_in_type_of_q: Without softmax_precision, the softmax of a Q of 16 bits is computed
            in that type, and not in float32.
    """

    root: Callable[[Heads], Any] = root_of_scale
    keep: Callable[[Array, np.dtype[Any]], Array] = all_digits
    cap: Callable[[Array, float, Keep], Array] = capped_by_tanh
    shares: Callable[[Array, Array, Array, Keep], tuple[Array, Array]] = shares
    softmax_in_type_of_q: bool = False


def computed(heads: Heads, steps: Steps = Steps()) -> tuple[Array, Array]:
    """Return Y, [batch, head, query, element], and what qk_matmul_output_mode asks for.

    `steps` is what alternatives and mutants do otherwise. What the mode asks for is [batch, head,
    query, key]: by mode 0 the scores, 1 the capped ones, 2 with mask and -inf for keys that the
    query does not attend, 3 the shares. Both have the type of Q; the softmax is computed in that of
    softmax_precision, and without one as `steps` has it. A query without a key has zeros in Y and
    in the shares.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    attributes = heads.attributes
    dtype = heads.q.dtype

    def keep(x: Array) -> Array:
        """Return what is kept of a result."""
        return steps.keep(x, dtype)

    def keep_in_type(x: Array) -> Array:
        """Return what is kept of a result of the softmax, in the type of Q."""
        return keep(xp.astype(x, dtype))

    group = heads.q.shape[1] // heads.k.shape[1]
    serving = np.arange(heads.q.shape[1]) // group
    k = xp.take(heads.k, serving, axis=1)
    v = xp.take(heads.v, serving, axis=1)
    root = keep(steps.root(heads))
    k_transposed = xp.permute_dims(keep(k * root), (0, 1, 3, 2))
    scores = keep(xp.matmul(keep(heads.q * root), k_transposed))
    capped = steps.cap(scores, attributes.softcap, keep) if attributes.softcap else scores
    allowed = attended(heads)
    if not allowed.all() and not all(xp.isfinite(x).all() for x in (heads.q, k, v)):
        leave_open("nothing is said of what is masked and no number")
    with_bias = capped if heads.bias is None else keep(capped + heads.bias)
    biased = xp.where(allowed, with_bias, -np.inf)
    is_empty = ~allowed.any(axis=-1, keepdims=True)
    x = xp.where(is_empty, 0.0, biased)
    if attributes.softmax_precision is not None or steps.softmax_in_type_of_q:
        named = dtypes.named(attributes.softmax_precision)
        x = xp.astype(x, named.numpy if named else dtype, computes=True)
    p, y = steps.shares(x, is_empty, v, keep_in_type)
    qk = (scores, capped, biased, p)[attributes.qk_matmul_output_mode]
    return xp.astype(y, dtype), xp.astype(qk, dtype)


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: The numbers of types that softmax_precision may name: float, float16, double and bfloat16.
PRECISIONS = (None, 1, 10, 11, 16)
#: Makes heads of a tensor, by their number; see `split_heads`.
Split: TypeAlias = Callable[[Array, int | None], Array]


def run(
    compute: Compute,
    since: int,
    tensors: Tensors,
    attributes: Attributes,
    *,
    used: Collection[int],
    split: Split,
) -> tuple[Array, ...]:
    """Return Y, present_key, present_value and qk_matmul_output of a node.

    The outputs of the node are those `used`, by their places. Y has three axes if Q has. `since` is
    23, or 24 for later versions too: their masks may have fewer keys than the scores.

    Raises InvalidNode for
    - ranks that are not all 3 or all 4; with three axes numbers of heads that are left out or do
      not divide the last axis; a q_num_heads that kv_num_heads does not divide; shapes that
      contradict each other;
    - past_key or past_value alone; nonpad_kv_seqlen together with past or present, or of a shape
      other than [batch];
    - a mask that does not broadcast to the scores, or ends before the padding does begin;
    - a mode other than 0 to 3, a softmax_precision other than None, float, float16, double and
      bfloat16.

    Raises NotSupported for no keys at all, a head of no elements, float64 mixed with other types, a
    scale or softcap that is negative, infinite or NaN, a window below -1, lengths below 0 or beyond
    the keys, and a mask that adds NaN or +infinity; while judging, also for NaN or infinity in Q, K
    or V where a key is hidden.

    A mask of integers, numbers of heads with four axes, and past without present or the reverse are
    taken, or raise InvalidNode: INTEGER_MASK, NUMBERS_OF_HEADS, PAST_AND_PRESENT. A mask of one key
    is padded or stretched: MASK_OF_ONE_KEY.
    """
    Q = tensors.Q
    check_use(tensors, attributes, used)
    q, k, v = checked_heads(tensors, attributes, split)
    k, v = with_past(tensors, k, v)
    check_numbers(attributes)
    types = {str(x.dtype) for x in (q, v)}
    if not (k.shape[2] and q.shape[3]) or (len(types) > 1 and "float64" in types):
        raise NotSupported("nothing is said of no keys, or of mixing float64")
    check_limits(attributes)
    lengths = lengths_of(tensors.nonpad_kv_seqlen, q.shape[0], k.shape[2])
    least = 0
    offset: Any = 0 if tensors.past_key is None else tensors.past_key.shape[2]
    if lengths is not None:
        least = int(lengths.max(initial=0))
        lengths = lengths.reshape(-1, 1, 1, 1)
        offset = lengths - q.shape[2]
    shown, bias = masked(since, tensors.attn_mask, (*q.shape[:3], k.shape[2]), least)
    y, qk = compute(
        Heads(
            q=q,
            k=k,
            v=v,
            shown=shown,
            bias=bias,
            offset=offset,
            lengths=lengths,
            attributes=attributes,
        )
    )
    return joined_heads(y) if Q.ndim == 3 else y, k, v, qk


def check_use(tensors: Tensors, attributes: Attributes, used: Collection[int]) -> None:
    """Raise InvalidNode for ranks, or inputs and outputs together, that the text forbids.

    Those are ranks that differ or are not 3 or 4, past_key or past_value alone, and
    nonpad_kv_seqlen together with past or present. Numbers of heads with four axes are ignored, or
    raise InvalidNode: NUMBERS_OF_HEADS.

    One present output without the other, and past without present or the reverse, pass, or raise it
    too: PAST_AND_PRESENT.
    """
    Q, K, V = tensors.Q, tensors.K, tensors.V
    if not Q.ndim == K.ndim == V.ndim or Q.ndim not in (3, 4):
        raise InvalidNode(f"ranks {Q.ndim}, {K.ndim} and {V.ndim}; allowed: all 3 or 4")
    has_past = tensors.past_key is not None
    reject(has_past != (tensors.past_value is not None), "past_key or past_value alone")
    present = {1, 2}.intersection(used)
    if tensors.nonpad_kv_seqlen is not None and (has_past or present):
        raise InvalidNode("nonpad_kv_seqlen together with past or present")
    has_numbers = attributes.q_num_heads is not None or attributes.kv_num_heads is not None
    if Q.ndim == 4 and has_numbers and NUMBERS_OF_HEADS.reading() == "refused":
        raise InvalidNode("numbers of heads of tensors of four axes")
    are_apart = len(present) == 1 or bool(present) != has_past
    if are_apart and PAST_AND_PRESENT.reading() == "refused":
        raise InvalidNode("past without present, or the reverse")


def checked_heads(
    tensors: Tensors, attributes: Attributes, split: Split
) -> tuple[Array, Array, Array]:
    """Return the heads of queries, keys and values: [batch, heads, tokens, elements of a head].

    `split` makes them of tensors of three axes. Raises InvalidNode for numbers of heads that three
    axes lack, or that do not divide the last of them; unless K and V agree in batch, heads and
    tokens, and Q with K in batch and elements of a head; and unless q_num_heads is a multiple of
    kv_num_heads and both are above 0.
    """
    q = split(tensors.Q, attributes.q_num_heads)
    k = split(tensors.K, attributes.kv_num_heads)
    v = split(tensors.V, attributes.kv_num_heads)
    has_equal_axes = k.shape[:3] == v.shape[:3] and q.shape[::3] == k.shape[::3]
    has_groups = k.shape[1] and q.shape[1] % k.shape[1] == 0 < q.shape[1]
    if not has_equal_axes or not has_groups:
        raise InvalidNode(f"heads of the shapes {[list(x.shape) for x in (q, k, v)]}")
    return q, k, v


def with_past(tensors: Tensors, k: Array, v: Array) -> tuple[Array, Array]:
    """Return keys and values behind those of the past: present_key and present_value.

    Without past_key they are returned as they are. Raises InvalidNode for past tensors whose shape
    differs from k or v in more than the tokens, and for a past_key and past_value of different
    lengths.
    """
    past_key, past_value = tensors.past_key, tensors.past_value
    if past_key is None:
        return k, v
    for past, x in ((past_key, k), (past_value, v)):
        if past.ndim != 4 or past.shape[:2] + past.shape[3:] != x.shape[:2] + x.shape[3:]:
            raise InvalidNode(f"past of shape {list(past.shape)} before {list(x.shape)}")
    reject(past_key.shape[2] != past_value.shape[2], "past tensors of different lengths")
    return xp.concat([past_key, k], axis=2), xp.concat([past_value, v], axis=2)


def check_numbers(attributes: Attributes) -> None:
    """Raise InvalidNode for a mode other than 0 to 3, or a softmax_precision of another type.

    It may be None, or the code of float, float16, double or bfloat16.
    """
    mode = attributes.qk_matmul_output_mode
    precision = attributes.softmax_precision
    reject(
        mode not in range(4) or precision not in PRECISIONS, f"mode {mode}, precision {precision}"
    )


def check_limits(attributes: Attributes) -> None:
    """Raise NotSupported for numbers that the text gives no meaning.

    Those are a scale or softcap that is negative, infinite or NaN, and a window below -1. A scale
    of None or 0 passes, and so does a softcap of 0.
    """
    # A window of -1, which is none, passes as 0.
    limits = (
        attributes.scale or 0.0,
        attributes.softcap,
        attributes.left_window_size + 1,
        attributes.right_window_size + 1,
    )
    if not all(0 <= limit < math.inf for limit in limits):
        raise NotSupported("nothing is said of numbers below these")


def lengths_of(nonpad_kv_seqlen: Array, batch_size: int, keys: int) -> Array:
    """Return the number of keys that are no padding in each batch, [batch_size]; None if all are.

    nonpad_kv_seqlen: integers, [batch_size], or None. keys: how many there are. Raises InvalidNode
    for another shape than [batch_size], NotSupported for a length below 0 or above `keys`.
    """
    lengths = nonpad_kv_seqlen
    if lengths is None:
        return None
    reject(lengths.shape != (batch_size,), f"nonpad_kv_seqlen of shape {list(lengths.shape)}")
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= keys:
        raise NotSupported("nothing is said of lengths below 0 or beyond the keys")
    return lengths


@formulas_of_versions(23, options=["split"])
def attention_23(
    compute: Compute,
    Q: Array,
    K: Array,
    V: Array,
    attn_mask: Array = None,
    past_key: Array = None,
    past_value: Array = None,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
    used: Collection[int] = (0,),
    split: Split = split_heads,
) -> tuple[Array, ...]:
    """Return Y, present_key, present_value and qk_matmul_output of version 23.

    `compute` makes Y and qk_matmul_output of heads, which `split` makes of tensors of three axes.
    Q, K and V: [batch, heads, tokens, elements of a head], or [batch, tokens, all elements] with
    numbers of heads; Y as Q. attn_mask broadcasts to [batch, q_num_heads, queries, keys]; past
    tensors have four axes. None stands for what is left out; `used` are the places of the node's
    outputs.

    Raises InvalidNode for ranks, shapes and numbers of heads that do not fit each other, past_key
    or past_value alone, a mask that does not broadcast, a mode other than 0 to 3, and a
    softmax_precision other than None and the codes of float, float16, double and bfloat16. A mask
    of integers, numbers of heads with four axes, past without present or the reverse, and an
    is_causal other than 0 and 1 are taken or refused so: INTEGER_MASK, NUMBERS_OF_HEADS,
    PAST_AND_PRESENT, FLAG_OF_ANOTHER_NUMBER.

    Raises NotSupported for no keys, heads of no elements, float64 mixed with other types, a
    negative, infinite or NaN scale or softcap, and a mask that adds NaN or +infinity; while
    judging, also for NaN or infinity where keys are hidden.
    """
    tensors = Tensors(Q, K, V, attn_mask, past_key, past_value)
    attributes = Attributes(
        is_causal=flag("is_causal", is_causal),
        kv_num_heads=kv_num_heads,
        q_num_heads=q_num_heads,
        qk_matmul_output_mode=qk_matmul_output_mode,
        scale=scale,
        softcap=softcap,
        softmax_precision=softmax_precision,
    )
    return run(compute, 23, tensors, attributes, used=used, split=split)


@formulas_of_versions(24, 25, options=["split"])
def attention_24(
    compute: Compute,
    Q: Array,
    K: Array,
    V: Array,
    attn_mask: Array = None,
    past_key: Array = None,
    past_value: Array = None,
    nonpad_kv_seqlen: Array = None,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
    left_window_size: int = -1,
    right_window_size: int = -1,
    used: Collection[int] = (0,),
    split: Split = split_heads,
) -> tuple[Array, ...]:
    """Return Y, present_key, present_value and qk_matmul_output of versions 24 and 25.

    `compute` makes Y and qk_matmul_output of heads, which `split` makes of tensors of three axes.
    Q, K and V: [batch, heads, tokens, elements of a head], or [batch, tokens, all elements] with
    numbers of heads; Y as Q. attn_mask broadcasts to [batch, q_num_heads, queries, keys], or has
    fewer keys; past tensors have four axes; nonpad_kv_seqlen: [batch]. None stands for what is left
    out, -1 for no window, which version 25 alone has; `used` are the places of the node's outputs.

    Raises InvalidNode for ranks, shapes and numbers of heads that do not fit each other, past_key
    or past_value alone, nonpad_kv_seqlen together with past or present, a mask that does not
    broadcast or ends before the padding, a mode other than 0 to 3, and a softmax_precision other
    than None and the codes of float, float16, double and bfloat16. A mask of integers, numbers of
    heads with four axes, past without present or the reverse, and an is_causal other than 0 and 1
    are taken or refused so: INTEGER_MASK, NUMBERS_OF_HEADS, PAST_AND_PRESENT,
    FLAG_OF_ANOTHER_NUMBER. A mask of one key is padded or stretched: MASK_OF_ONE_KEY.

    Raises NotSupported for no keys, heads of no elements, float64 mixed with other types, a
    negative, infinite or NaN scale or softcap, windows below -1, lengths below 0 or beyond the
    keys, and a mask that adds NaN or +infinity; while judging, also for NaN or infinity where keys
    are hidden.
    """
    tensors = Tensors(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen)
    attributes = Attributes(
        is_causal=flag("is_causal", is_causal),
        kv_num_heads=kv_num_heads,
        q_num_heads=q_num_heads,
        qk_matmul_output_mode=qk_matmul_output_mode,
        scale=scale,
        softcap=softcap,
        softmax_precision=softmax_precision,
        left_window_size=left_window_size,
        right_window_size=right_window_size,
    )
    return run(compute, 24, tensors, attributes, used=used, split=split)


def attention(compute: Compute, split: Split = split_heads) -> Mapping[int, Formula]:
    """Return the formula of each version: 23, 24 and 25."""
    return {**attention_23(compute, split=split), **attention_24(compute, split=split)}


def stored(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a result rounded to `dtype` if it has 16 bits, else as it is.

    It is so kept between two operators.
    """
    # What is computed of such a type is in float32: a cast to its own type alone rounds nothing.
    return xp.astype(xp.astype(x, np.float32), dtype) if dtype.itemsize == 2 else x


def root_in_float32(heads: Heads) -> Any:
    """Return sqrt(scale) as the function body has it, in float32 also of tensors of float64.

    Without a scale (None) that is 1 / sqrt(head_size), whose head_size is not 0. For other tensors
    the root is that of `root_of_scale`, not rounded to float32.
    """
    if heads.q.dtype != np.float64:
        return root_of_scale(heads)
    scale = heads.attributes.scale
    default = 1 / np.sqrt(np.float32(heads.q.shape[3]))
    return float(np.sqrt(np.float32(default if scale is None else scale)))


#: The function body rounds what lies between operators, and takes the softmax in its precision.
FUNCTION_BODY = Steps(root=root_in_float32, keep=stored, softmax_in_type_of_q=True)
ATTENTION = operator("Attention")
ATTENTION.formula(build=attention)(computed)
ATTENTION.alternative("", build=attention)(partial(computed, steps=Steps(shares=shares_in_blocks)))
ATTENTION.alternative("", build=attention)(partial(computed, steps=FUNCTION_BODY))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def uncapped(scores: Array, softcap: float, keep: Keep) -> Array:
    """Mutant of a step: softcap is not applied."""
    return scores


def mask_before_limit(heads: Heads) -> tuple[Array, Array]:
    """Mutant: the mask is added before the softcap.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    softcap = heads.attributes.softcap

    def capped_shares(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
        """Apply the softcap, and then the softmax."""
        capped = capped_by_tanh(x, softcap, keep) if softcap else x
        return shares(capped, is_empty, v, keep)

    return computed(heads, Steps(cap=uncapped, shares=capped_shares))


def tangent_of_scores(scores: Array, softcap: float, keep: Keep) -> Array:
    """Mutant of a step: tanh(scores / softcap)."""
    return xp.tanh(scores / softcap)


def causal_from_the_first_key(heads: Heads) -> tuple[Array, Array]:
    """Mutant: query i stands at key i, though other keys precede the queries: the offset is 0.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, offset=heads.offset * 0))


def causal_to_the_last_key(heads: Heads) -> tuple[Array, Array]:
    """Mutant: the last query stands at the last key.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, offset=heads.k.shape[2] - heads.q.shape[2]))


def own_key_hidden(heads: Heads) -> tuple[Array, Array]:
    """Mutant: under is_causal a query does not attend its own key, only those with j < i + offset.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, offset=heads.offset - heads.attributes.is_causal))


def with_scale(heads: Heads, scale: Any) -> Heads:
    """Return the heads with another scale; None for the default."""
    return replace(heads, attributes=replace(heads.attributes, scale=scale))


def scaled_once(heads: Heads) -> tuple[Array, Array]:
    """Mutant: sqrt(scale) multiplies queries alone.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    # Queries and keys are multiplied by the root of this scale: together by sqrt(scale).
    return computed(with_scale(heads, root_of_scale(heads)))


def scale_of_values(heads: Heads) -> tuple[Array, Array]:
    """Mutant: the default of scale is 1/sqrt(v_head_size).

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    if heads.attributes.scale is not None:
        return computed(heads)
    return computed(with_scale(heads, (heads.v.shape[3] or 1) ** -0.5))


def heads_in_turns(heads: Heads) -> tuple[Array, Array]:
    """Mutant: head h of the queries is served by head h % kv_num_heads of the keys.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    serving = np.arange(heads.q.shape[1]) % heads.k.shape[1]
    k = np.take(heads.k, serving, axis=1)
    v = np.take(heads.v, serving, axis=1)
    return computed(replace(heads, k=k, v=v))


def first_head_for_all(heads: Heads) -> tuple[Array, Array]:
    """Mutant: the first head of the keys serves all.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, k=heads.k[:, :1], v=heads.v[:, :1]))


def shares_of_no_key(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
    """Mutant of a step: a query without a key gets the mean of all values."""
    return shares(x, np.False_, v, keep)


def nan_of_no_key(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
    """Mutant of a step: a query without a key gets NaN."""
    return shares(np.where(is_empty, x - np.inf, x), np.False_, v, keep)


def has_boolean_mask(heads: Heads) -> bool:
    """Return True if there is a mask, and it is one of booleans."""
    return heads.bias is None and heads.shown is not None


def mask_inverted(heads: Heads) -> tuple[Array, Array]:
    """Mutant: true hides a key.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, shown=~heads.shown) if has_boolean_mask(heads) else heads)


def mask_added(heads: Heads) -> tuple[Array, Array]:
    """Mutant: a mask of booleans is added as 1 and 0.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    if not has_boolean_mask(heads):
        return computed(heads)
    return computed(replace(heads, shown=None, bias=heads.shown.astype(heads.q.dtype)))


def shares_of_queries(x: Array, is_empty: Array, v: Array, keep: Keep) -> tuple[Array, Array]:
    """Mutant of a step: the softmax is along the queries."""
    along_queries = softmax.softmax(x, 2) if x.size else x
    p = np.where(is_empty, 0, along_queries)
    return p, p @ v


def product_not_scaled(heads: Heads) -> tuple[Array, Array]:
    """Mutant: in mode 0, qk_matmul_output is Q @ K^T.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    y, qk = computed(heads)
    if heads.attributes.qk_matmul_output_mode == 0:
        _, qk = computed(with_scale(heads, 1.0))
    return y, qk


def padding_attended(heads: Heads) -> tuple[Array, Array]:
    """Mutant: keys beyond nonpad_kv_seqlen are attended.

    Raises NotSupported, while judging, if a key is hidden and Q, K or V holds NaN or infinity.
    """
    return computed(replace(heads, lengths=None))


def split_with_heads_last(x: Array, count: int | None) -> Array:
    """Mutant: the last axis has the heads' first elements, then their second ones, and so on.

    Of three axes, raises InvalidNode unless `count` is a number above 0 that divides the last axis.
    """
    if x.ndim == 4:
        return x
    batches, heads, tokens, size = split_heads(x, count).shape
    return x.reshape(batches, tokens, size, heads).transpose(0, 3, 1, 2)


ATTENTION.mutant_table(
    {
        "mask_before_limit": ("the mask was added before the softcap", mask_before_limit),
        "tangent_alone": (
            "the softcap did not multiply the hyperbolic tangent",
            partial(computed, steps=Steps(cap=tangent_of_scores)),
        ),
        "causal_from_the_first_key": (
            "tokens before the queries were not counted for is_causal",
            causal_from_the_first_key,
        ),
        "causal_to_the_last_key": (
            "for is_causal the last query stood at the last key",
            causal_to_the_last_key,
        ),
        "own_key_hidden": ("under is_causal a query did not attend its own key", own_key_hidden),
        "scaled_once": ("the root of the scale multiplied queries alone", scaled_once),
        "scale_of_values": (
            "the default of scale was made of the values' size",
            scale_of_values,
        ),
        "heads_in_turns": (
            "the heads of the keys served those of the queries in turns",
            heads_in_turns,
        ),
        "first_head_for_all": ("the first head of the keys served all", first_head_for_all),
        "masked_rows_uniform": (
            "a query without a key got the mean of all values",
            partial(computed, steps=Steps(shares=shares_of_no_key)),
        ),
        "masked_rows_nan": (
            "a query without a key got NaN",
            partial(computed, steps=Steps(shares=nan_of_no_key)),
        ),
        "mask_inverted": ("true hid a key", mask_inverted),
        "mask_added": ("a mask of booleans was added as 1 and 0", mask_added),
        "over_queries": (
            "shares were those of the queries, not of the keys",
            partial(computed, steps=Steps(shares=shares_of_queries)),
        ),
        "product_not_scaled": (
            "qk_matmul_output in mode 0 was not scaled",
            product_not_scaled,
        ),
    },
    build=attention,
)
ATTENTION.mutant(
    "keys beyond nonpad_kv_seqlen were attended", 24, 25, name="padding_attended", build=attention
)(padding_attended)
ATTENTION.mutant(
    "the heads' first elements came first, then their second ones, and so on",
    name="heads_last",
    build=partial(attention, computed),
)(split_with_heads_last)
