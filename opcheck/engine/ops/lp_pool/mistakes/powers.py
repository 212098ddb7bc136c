"""LpPool with another norm: other values, another p, another sum or root."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.bounds import Floats
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.mistakes.making import (
    WHOLE_P,
    default,
    shared,
    valued,
)
from opcheck.engine.ops.lp_pool.steps import Steps, Windows, power, root

#: Elements of a vector register or a warp.
WIDTHS = (4, 8, 16, 32)
#: A p above this may be taken for infinity.
_LARGE = 16
#: The distance from 1 to the next float32.
_EPSILON = 2.0**-23


def _kept(count: int, w: Windows) -> Windows:
    """Only the first elements of each window."""
    return w if count == w.size else replace(w, values=w.values[:, :, :count])


def _whole_vectors(width: int) -> Steps:
    return Steps(window=lambda w: _kept(w.size // width * width or w.size, w))


def _signed(w: Windows) -> Floats:
    """The sum of the powers, of which the odd ones keep the sign."""
    powers = np.abs(w.values) ** w.p
    return np.asarray((powers * np.sign(w.values) if w.p % 2 else powers).sum(axis=2))


def _signed_root(w: Windows) -> Floats:
    total = _signed(w)
    return np.asarray(np.sign(total) * np.abs(total) ** (1 / w.p))


def _maximum(w: Windows) -> Floats:
    return np.asarray(np.abs(w.values).max(axis=2))


def _plus(epsilon: float) -> Steps:
    """Added to the sum before the root."""
    return Steps(norm=lambda w: (w.norms**w.p + epsilon) ** (1 / w.p))


def _copied(w: Windows) -> Floats:
    return w.values[:, :, 0] if w.size == 1 else w.norms


def _squared(w: Windows) -> Floats:
    """The powers, not the root."""
    reached = 2.0 ** np.floor(np.log2(w.p)) if w.p > 4 else w.p
    if reached == w.p:
        return w.norms
    return np.asarray(root(power(np.abs(w.values), reached).sum(axis=2), w.p))


def _integer_division(w: Windows) -> Floats:
    return np.ones_like(w.norms) if w.p > 1 and w.p == int(w.p) else w.norms


def _without_nan(w: Windows) -> Floats:
    """Norms of the rest, scaled up to the whole window."""
    nan = np.isnan(w.values)
    if not nan.any():
        return w.norms
    rest = w.size - nan.sum(axis=2)
    norms = replace(w, values=np.where(nan, 0.0, w.values)).norms
    return np.asarray(norms * (w.size / rest) ** (1 / w.p))


def _where_infinite(instead: float) -> Steps:
    """Windows with an infinity, whatever else is in them."""
    return Steps(norm=lambda w: np.where(np.isinf(w.values).any(axis=2), instead, w.norms))


def _channels_added_up(out: Any) -> Any:
    total = out.astype(np.float64).sum(axis=1, keepdims=True)
    return np.broadcast_to(total, out.shape).astype(out.dtype)


_P: tuple[Mistake, ...] = (
    Mistake("p_defaults_to_1", "p, left out, was taken as 1", default("p", lambda attrs: 1)),
    Mistake("p_defaults_to_3", "p, left out, was taken as 3", default("p", lambda attrs: 3)),
    Mistake(
        "large_p_is_infinity",
        f"a p above {_LARGE} was taken for infinity, and the norm for the largest magnitude",
        Steps(norm=lambda w: _maximum(w) if w.p > _LARGE else w.norms),
    ),
    Mistake(
        "p_cut",
        "p was cut off to a whole number",
        Steps(p=lambda attrs: float(max(1, int(attrs.get("p", 2))))),
        WHOLE_P,
    ),
    Mistake(
        "p_rounded",
        "p was rounded to a whole number",
        Steps(p=lambda attrs: float(max(1, round(attrs.get("p", 2))))),
        WHOLE_P,
    ),
    Mistake(
        "p_in_64_bits",
        "p was taken as it is written, and not as the float32 that a model holds",
        Steps(p=lambda attrs: float(attrs.get("p", 2))),
        {
            **WHOLE_P,
            **dict.fromkeys(
                ("1 float16", "1 float32"),
                "p off by 2^-24 of itself moves the norm of K elements by less than 2^-24·ln K/p, "
                "which computing in float32 may lose too",
            ),
        },
    ),
    Mistake(
        "powers_by_squaring_alone",
        "powers above the fourth were made by squaring alone, which stops at a power of two",
        Steps(norm=_squared),
    ),
    Mistake("p_ignored", "p was ignored and taken as 2", Steps(p=lambda attrs: 2.0)),
    Mistake("p_is_1", "magnitudes were added up, whatever p", Steps(p=lambda attrs: 1.0)),
)

_ELEMENTS: tuple[Mistake, ...] = (
    Mistake(
        "infinity_beats_nan",
        "a window of an infinity and a NaN gave infinity",
        _where_infinite(np.inf),
    ),
    Mistake(
        "infinity_gives_nan",
        "a window with an infinity gave NaN, as where infinity is divided by itself",
        _where_infinite(np.nan),
    ),
    Mistake(
        "nan_dropped_and_rescaled",
        "NaN was dropped, and what is left of the window was scaled up to a whole one",
        Steps(norm=_without_nan),
    ),
    Mistake(
        "signs_kept_for_p_1",
        "values were added up with their signs where p is 1",
        Steps(norm=lambda w: w.values.sum(axis=2) if w.p == 1 else w.norms),
    ),
    Mistake(
        "absolute_value_forgotten",
        "the absolute value was forgotten, and the root of a negative sum was NaN",
        Steps(norm=lambda w: _signed(w) ** (1 / w.p)),
    ),
    Mistake(
        "signs_kept",
        "the absolute value was forgotten, and a negative sum had a negative root",
        Steps(norm=_signed_root),
    ),
    Mistake(
        "negative_values_are_zero",
        "negative values counted as 0",
        valued(lambda w: np.maximum(w.values, 0)),
    ),
    Mistake(
        "tiny_values_are_zero",
        "values below 2^-23, float32's epsilon, counted as 0",
        valued(lambda w: np.where(np.abs(w.values) < _EPSILON, 0, w.values)),
    ),
    *(
        Mistake(
            f"window_tail_of_{width}",
            f"what remained of a window after its last whole vector of {width} was left out",
            _whole_vectors(width),
        )
        for width in WIDTHS[::-1]
    ),
    Mistake(
        "last_element_of_a_window",
        "the last element of each window was left out",
        Steps(window=lambda w: _kept(max(1, w.size - 1), w)),
    ),
    Mistake(
        "windows_of_one_copied",
        "windows of one element were copied, and kept their signs",
        Steps(norm=_copied),
    ),
    Mistake(
        "channels_added_up",
        "the norms of all channels were added up",
        Steps(output=_channels_added_up),
    ),
)

_SUMS: tuple[Mistake, ...] = (
    Mistake(
        "zeros_give_nan",
        "a window of zeros gave NaN, as where 0 is divided by itself",
        Steps(norm=lambda w: np.where(w.norms == 0, np.nan, w.norms)),
    ),
    *(
        Mistake(
            f"epsilon_of_1e_{digits}",
            f"1e-{digits} was added to the sum before the root",
            _plus(10.0**-digits),
        )
        for digits in (30, 12, 5)
    ),
    Mistake(
        "at_least_1e_5",
        "norms below 1e-5 were raised to that",
        Steps(norm=lambda w: np.maximum(w.norms, 1e-5)),
    ),
    Mistake(
        "square_root_always",
        "the square root was taken whatever p",
        Steps(norm=lambda w: w.norms ** (w.p / 2)),
    ),
    Mistake(
        "integer_division",
        "1/p was an integer division, and every norm was 1, the sum to the power of 0",
        Steps(norm=_integer_division),
    ),
    Mistake("root_forgotten", "the root was forgotten", Steps(norm=lambda w: w.norms**w.p)),
    Mistake(
        "mean",
        "the mean of the powers was taken, padding included, not their sum",
        shared(lambda w: 1 / w.size),
    ),
    Mistake("maximum", "the largest magnitude was taken for the norm", Steps(norm=_maximum)),
)

MISTAKES: tuple[Mistake, ...] = (*_P, *_ELEMENTS, *_SUMS)
