"""RotaryEmbedding (23): pairs of elements of each head, turned by an angle of their token.

The text, of the first rotary_embedding_dim elements of a head, the others of which stay:

    real = cos_cache * x1 - sin_cache * x2
    imag = sin_cache * x1 + cos_cache * x2

The two elements of a pair, x1 and x2, lie half of these elements apart, or side by side if
`interleaved`. Their results, real and imag, take their places.

The parts of the file: pairs, and how they are turned; the formula; its mutants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import elements_at
from opcheck.engine.operators import formulas_of_versions, operator
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

#: Places of elements along an axis.
Places: TypeAlias = NDArray[np.intp]

# ── pairs ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Pairs:
    """The heads of all tokens, and the angles by which they are turned.

    Attributes:
        x: [batch_size, sequence_length, num_heads, head_size].
        cos, sin: [batch_size, sequence_length, 1, rotary_embedding_dim / 2].
        rotary_embedding_dim: The number of elements of a head that are turned.
        interleaved: The elements of a pair are neighbors.
    """

    x: Array
    cos: Array
    sin: Array
    rotary_embedding_dim: int
    interleaved: bool

    @property
    def order(self) -> Places:
        """The places in a head of x1 of all pairs, then of x2, then of elements that stay."""
        places = np.arange(self.x.shape[3])
        turned = places[: self.rotary_embedding_dim]
        pairs = turned.reshape((-1, 2)).T if self.interleaved else turned.reshape((2, -1))
        return np.concat([pairs.ravel(), places[self.rotary_embedding_dim :]])


#: Turns all pairs; returns a tensor of the shape of x.
Rotation: TypeAlias = Callable[[Pairs], Array]


def rotated(pairs: Pairs) -> Array:
    """Return x with real and imag in the places of x1 and x2, in the shape of x.

    real = cos * x1 - sin * x2, imag = sin * x1 + cos * x2. Elements of a head that are not turned
    stay.
    """
    order = pairs.order
    half = pairs.rotary_embedding_dim // 2
    of_x1, of_x2, of_others = np.split(order, (half, pairs.rotary_embedding_dim))
    x1 = xp.take(pairs.x, of_x1, axis=3)
    x2 = xp.take(pairs.x, of_x2, axis=3)
    others = xp.take(pairs.x, of_others, axis=3)
    real = pairs.cos * x1 - pairs.sin * x2
    imag = pairs.sin * x1 + pairs.cos * x2
    return xp.take(xp.concat([real, imag, others], axis=3), np.argsort(order), axis=3)


# ── the formula ───────────────────────────────────────────────────────────────────────────────


def as_given(position_ids: Array) -> Array:
    """Return the positions as they are."""
    return position_ids


@formulas_of_versions(23, options=["positions"])
def rotary_embedding(
    rotation: Rotation,
    X: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array = None,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
    positions: Callable[[Array], Array] = as_given,
) -> Array:
    """Return Y in the shape of X, with all pairs turned by `rotation`.

    X: [batch_size, num_heads, sequence_length, head_size], or [batch_size, sequence_length,
    num_heads * head_size], which needs `num_heads`. The caches: [max_position_id_plus_1,
    rotary_embedding_dim / 2] with `position_ids`, [batch_size, sequence_length], of which those
    below 0 count from the back; without them [batch_size, sequence_length, rotary_embedding_dim /
    2]. A rotary_embedding_dim of 0 turns all of a head. `positions` are those that count, from the
    ones given.

    Raises InvalidNode for other shapes, a number of heads that does not divide, a head_size or
    rotary_embedding_dim that is odd, one that a head does not have, and a position out of range;
    for an `interleaved` other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER refuses it.
    """
    x = heads_of_tokens(X, num_heads)
    has_neighbors = flag("interleaved", interleaved)
    size = rotated_size(x.shape[3], rotary_embedding_dim)
    ids = None if position_ids is None else positions(position_ids)
    cos, sin = rows_of_tokens([cos_cache, sin_cache], ids, x.shape[:2], size // 2)
    pairs = Pairs(x, cos, sin, size, has_neighbors)
    y = rotation(pairs)
    return tokens_and_heads_exchanged(y) if X.ndim == 4 else xp.reshape(y, X.shape)


def tokens_and_heads_exchanged(x: Array) -> Array:
    """Return a tensor of four axes with the second and the third exchanged."""
    return xp.permute_dims(x, axes=(0, 2, 1, 3))


def heads_of_tokens(X: Array, num_heads: int | None) -> Array:
    """Return X as [batch_size, sequence_length, num_heads, head_size].

    `num_heads` does not count where X has four axes. Raises InvalidNode unless X has four axes, or
    three and a number of heads of at least 1 that divides the last.
    """
    reject(X.ndim not in (3, 4), f"X of rank {X.ndim}; allowed: 3, 4")
    if X.ndim == 4:
        return tokens_and_heads_exchanged(X)
    if num_heads is None or num_heads < 1 or X.shape[2] % num_heads:
        raise InvalidNode(f"num_heads {num_heads} of X {list(X.shape)}")
    return xp.reshape(X, (*X.shape[:2], num_heads, X.shape[2] // num_heads))


def rotated_size(head_size: int, rotary_embedding_dim: int) -> int:
    """Return how many elements of a head are turned: all of them for 0.

    Raises InvalidNode if that or `head_size` is odd, and for a number below 0 or above `head_size`.
    """
    size = rotary_embedding_dim or head_size
    if head_size % 2 or size % 2 or not 0 <= size <= head_size:
        raise InvalidNode(f"{size} of {head_size} elements to be turned; allowed: even numbers")
    return size


def rows_of_tokens(
    caches: Sequence[Array], position_ids: Array, tokens: tuple[int, ...], length: int
) -> list[Array]:
    """Return the row of each cache for each token, [*tokens, 1, length].

    `tokens` is (batch_size, sequence_length). "cos_cache = cos_cache[ position_ids ]": positions
    below 0 count from the back, as in NumPy and in the function body. With `position_ids` of None
    each cache has the rows already, [*tokens, length].

    Raises InvalidNode if position_ids have another shape than `tokens`, or caches of theirs are not
    of rank 2; for rows of another length; and for positions out of range.
    """
    rows = list(caches)
    if position_ids is not None:
        if position_ids.shape != tokens or any(cache.ndim != 2 for cache in caches):
            raise InvalidNode(f"position_ids {list(position_ids.shape)} of {list(tokens)}")
        rows = [
            xp.take(cache, elements_at(position_ids, cache.shape[0], back=True), axis=0)
            for cache in caches
        ]
    if any(row.shape != (*tokens, length) for row in rows):
        raise InvalidNode(f"caches of the shapes {[list(row.shape) for row in rows]}")
    return [xp.expand_dims(row, axis=2) for row in rows]


ROTARY_EMBEDDING = operator("RotaryEmbedding")
ROTARY_EMBEDDING.formula(build=rotary_embedding)(rotated)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def with_pairs_exchanged(x: Array, pairs: Pairs) -> Array:
    """Return `x`, of the shape of `pairs.x`, with x1 and x2 of each pair exchanged."""
    places = np.arange(x.shape[3])
    turned = pairs.order[: pairs.rotary_embedding_dim]
    places[turned] = np.roll(turned, pairs.rotary_embedding_dim // 2)
    return np.take(x, places, axis=3)


def pairs_exchanged(pairs: Pairs) -> Array:
    """Mutant of `rotated`: x1 and x2 of each pair are exchanged."""
    return rotated(replace(pairs, x=with_pairs_exchanged(pairs.x, pairs)))


def results_exchanged(pairs: Pairs) -> Array:
    """Mutant of `rotated`: real and imag of each pair are exchanged."""
    return with_pairs_exchanged(rotated(pairs), pairs)


def turned_back(pairs: Pairs) -> Array:
    """Mutant of `rotated`: the sign of sin_cache is the other one."""
    return rotated(replace(pairs, sin=-pairs.sin))


def written_in_halves(pairs: Pairs) -> Array:
    """Mutant of `rotated`: all of real comes before all of imag, also for pairs of neighbors."""
    return np.take(rotated(pairs), pairs.order, axis=3)


def last_elements_turned(pairs: Pairs) -> Array:
    """Mutant of `rotated`: the last elements of a head are turned, not the first ones."""
    size = pairs.rotary_embedding_dim
    moved = np.roll(pairs.x, size, axis=3)
    return np.roll(rotated(replace(pairs, x=moved)), -size, axis=3)


def rest_zero(pairs: Pairs) -> Array:
    """Mutant of `rotated`: elements that stay become 0."""
    is_turned = np.arange(pairs.x.shape[3]) < pairs.rotary_embedding_dim
    return rotated(pairs) * is_turned.astype(pairs.x.dtype)


def first_token_for_all(pairs: Pairs) -> Array:
    """Mutant of `rotated`: the angles of the first token serve for all."""
    return rotated(replace(pairs, cos=pairs.cos[:, :1], sin=pairs.sin[:, :1]))


def first_batch_for_all_angles(pairs: Pairs) -> Array:
    """Mutant of `rotated`: the angles of the first batch serve for all."""
    return rotated(replace(pairs, cos=pairs.cos[:1], sin=pairs.sin[:1]))


def angles_of_heads(pairs: Pairs) -> Array:
    """Mutant of `rotated`: head number h of every token has the angle of token h.

    So it is with as many heads as tokens; otherwise it is right.
    """
    if pairs.x.shape[1] != pairs.x.shape[2]:
        return rotated(pairs)
    of_heads = replace(pairs, cos=pairs.cos.swapaxes(1, 2), sin=pairs.sin.swapaxes(1, 2))
    return rotated(of_heads)


def counted_from_0(position_ids: Array) -> Array:
    """Mutant: the position of a token is its number in its sequence, whatever `position_ids`."""
    return position_ids * 0 + np.arange(position_ids.shape[1])


ROTARY_EMBEDDING.mutant_table(
    {
        "pairs_exchanged": ("the two elements of each pair were exchanged", pairs_exchanged),
        "results_exchanged": ("the two results of each pair were exchanged", results_exchanged),
        "turned_back": ("angles were taken the other way round", turned_back),
        "written_in_halves": (
            "of neighbors that are a pair the results were written half apart",
            written_in_halves,
        ),
        "last_elements_turned": (
            "the last elements were turned where not all are",
            last_elements_turned,
        ),
        "rest_zero": ("elements that are not turned were left zero", rest_zero),
        "first_token_for_all": (
            "the angle of the first token served for all",
            first_token_for_all,
        ),
        "first_batch_for_all_angles": (
            "the angles of the first batch served for all",
            first_batch_for_all_angles,
        ),
        "angles_of_heads": (
            "the angle was that of the head's number, where there are as many tokens",
            angles_of_heads,
        ),
    },
    build=rotary_embedding,
)
ROTARY_EMBEDDING.mutant(
    "positions were ignored, and tokens counted from 0",
    name="places_in_order",
    build=partial(rotary_embedding, positions=counted_from_0),
)(rotated)
