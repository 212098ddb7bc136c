"""RotaryEmbedding (23): pairs of elements of each head turned by an angle of the token's place."""

from functools import partial

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import elements_at
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode

OP = operator("RotaryEmbedding")


def of_heads(turned, at=lambda positions: positions):
    """Version 23, from `turned(x, cos, sin, size, apart)` of the heads of each token."""

    def formula(X, cos_cache, sin_cache, position_ids=None, *, interleaved, num_heads,
                rotary_embedding_dim):  # fmt: skip
        if X.ndim not in (3, 4):
            raise InvalidNode(f"X of rank {X.ndim}; allowed: 3, 4")
        if X.ndim == 3 and (num_heads is None or num_heads < 1 or X.shape[2] % num_heads):
            raise InvalidNode(f"num_heads {num_heads} of X {list(X.shape)}")
        if interleaved not in (0, 1):
            is_open("nothing is said of flags other than 0 and 1")
        whole = X.shape[2] // num_heads if X.ndim == 3 else X.shape[3]
        size = rotary_embedding_dim or whole
        if whole % 2 or size % 2 or not 0 <= size <= whole:
            raise InvalidNode(f"{size} of {whole} elements to be turned; allowed: even numbers")
        swapped = partial(xp.permute_dims, axes=(0, 2, 1, 3))
        x = swapped(X) if X.ndim == 4 else xp.reshape(X, (*X.shape[:2], num_heads, whole))
        tables, first = (cos_cache, sin_cache), x.shape[:2]
        if position_ids is not None:
            if position_ids.shape != first or any(t.ndim != 2 for t in tables):
                raise InvalidNode(f"position_ids {list(position_ids.shape)} of {list(first)}")
            tables = tuple(
                xp.take(t, elements_at(at(position_ids), t.shape[0], back=True), axis=0)
                for t in tables
            )
        if any(t.shape != (*first, size // 2) for t in tables):
            raise InvalidNode(f"caches of the shapes {[list(t.shape) for t in tables]}")
        y = turned(x, *(xp.expand_dims(t, axis=2) for t in tables), size, interleaved)
        return swapped(y) if X.ndim == 4 else xp.reshape(y, X.shape)

    return {23: formula}


@OP.formula(by=of_heads)
def turned(x, cos, sin, size, apart):
    """The first `size` elements turned: neighbors are a pair, or else what is half of it apart."""
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


OP.mutant_table({
    "pairs_exchanged": ("the two elements of each pair were exchanged",
        lambda x, cos, sin, *rest: turned(exchanged(x, *rest), cos, sin, *rest)),
    "results_exchanged": ("the two results of each pair were exchanged",
        lambda x, cos, sin, *rest: exchanged(turned(x, cos, sin, *rest), *rest)),
    "turned_back": ("angles were taken the other way round",
        lambda x, cos, sin, *rest: turned(x, cos, -sin, *rest)),
    "written_in_halves": ("of neighbors that are a pair the results were written half apart",
        lambda x, cos, sin, *rest: np.take(turned(x, cos, sin, *rest), ordered(x, *rest), axis=3)),
    "last_elements_turned": ("the last elements were turned where not all are",
        lambda x, cos, sin, size, apart: np.roll(turned(
            np.roll(x, size, axis=3), cos, sin, size, apart), -size, axis=3)),
    "rest_zero": ("elements that are not turned were left zero",
        lambda x, cos, sin, size, apart: turned(x, cos, sin, size, apart) * (
            np.arange(x.shape[3]) < size).astype(x.dtype)),
    "first_token_for_all": ("the angle of the first token served for all",
        lambda x, cos, sin, *rest: turned(x, cos[:, :1], sin[:, :1], *rest)),
    "first_batch_for_all_angles": ("the angles of the first batch served for all",
        lambda x, cos, sin, *rest: turned(x, cos[:1], sin[:1], *rest)),
    "angles_of_heads": ("the angle was that of the head's number, where there are as many tokens",
        lambda x, cos, sin, *rest: turned(x, *(
            t.swapaxes(1, 2) if x.shape[1] == x.shape[2] else t for t in (cos, sin)), *rest)),
}, by=of_heads)  # fmt: skip
OP.mutant(
    "positions were ignored, and tokens counted from 0",
    name="places_in_order",
    by=partial(of_heads, at=lambda positions: positions * 0 + np.arange(positions.shape[1])),
)(turned)
