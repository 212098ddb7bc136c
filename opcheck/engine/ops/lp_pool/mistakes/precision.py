"""LpPool with less precision than it owes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes
from opcheck.engine.bounds import Floats
from opcheck.engine.fewer_bits import cut_to_bits, rounded_to_bits
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.mistakes.making import valued
from opcheck.engine.ops.lp_pool.steps import Steps, Windows, power, root

#: Why an error that is as small as this never fails in these types: `precision` warns of it.
_NARROW = dict.fromkeys(
    ("float16", "bfloat16"),
    "the error is smaller than that of arithmetic in the type itself, which is only warned of",
)


def _powers(w: Windows) -> Floats:
    return power(np.abs(w.values), w.p)


def _powers_in(dtype: Any) -> Steps:
    return Steps(norm=lambda w: root(_powers(w).astype(dtype).astype(float).sum(axis=2), w.p))


def _sums_in(dtype: Any) -> Steps:
    """A running sum."""

    def norm(w: Windows) -> Floats:
        sums = np.add.accumulate(_powers(w).astype(dtype), axis=2)[:, :, -1]
        return root(sums.astype(np.float64), w.p)

    return Steps(norm=norm)


def _powers_of(bits: int) -> Steps:
    """p = 1 needs no power."""
    return Steps(
        norm=lambda w: w.norms if w.p == 1 else root(cut_to_bits(_powers(w), bits).sum(axis=2), w.p)
    )


def _root_of(bits: int) -> Steps:
    """p = 1 needs no root."""
    return Steps(norm=lambda w: w.norms if w.p == 1 else cut_to_bits(w.norms, bits))


def _inverse(kept: Callable[[float], float]) -> Steps:
    """1/p is not exact."""

    def norm(w: Windows) -> Any:
        return w.norms if kept(1 / w.p) == 1 / w.p else w.norms ** (w.p * kept(1 / w.p))

    return Steps(norm=norm)


def _too_large(w: Windows) -> Floats:
    """By 4 ULP of what is computed in; p = 1 needs no root."""
    return w.norms if w.p == 1 else w.norms * (1 + 4 * float(np.finfo(_computed_in(w)).eps))


def _unscaled(w: Windows) -> Any:
    wide = _computed_in(w)
    powers = np.abs(w.values).astype(wide) ** wide(w.p)
    return powers.sum(axis=2, dtype=wide) ** wide(1 / w.p)


def _computed_in(w: Windows) -> Any:
    return np.float64 if w.dtype == np.float64 else np.float32


def _saturated(w: Windows) -> Floats:
    known = dtypes.of(np.empty(0, w.dtype))
    assert known
    finite = np.isfinite(w.values).all(axis=2)
    return np.where(finite, np.minimum(w.norms, dtypes.limits(known)[1]), w.norms)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "inverse_of_p_in_float32",
        "1/p was a float32",
        _inverse(lambda part: float(np.float32(part))),
        dict.fromkeys(("float16", "bfloat16", "float32"), "they are computed in float32"),
    ),
    Mistake(
        "inverse_of_p_of_6_digits",
        "1/p was cut off after six decimals",
        _inverse(lambda part: np.floor(part * 1e6) / 1e6),
        _NARROW,
    ),
    Mistake(
        "inverse_of_p_in_float16",
        "1/p was a float16, cut off",
        _inverse(lambda part: float(cut_to_bits(np.array(part), 11))),
        _NARROW,
    ),
    Mistake(
        "values_in_tf32",
        "the input was rounded to the 11 bits of TF32",
        valued(lambda w: rounded_to_bits(w.values, 11)),
        dict.fromkeys(("float16", "bfloat16"), "they have no more bits than TF32"),
    ),
    *(
        Mistake(
            f"root_of_{bits}_bits",
            f"the root was good to {bits} bits",
            _root_of(bits),
            _NARROW,
        )
        for bits in (16, 12)
    ),
    *(
        Mistake(
            f"powers_of_{bits}_bits",
            f"the powers were good to {bits} bits",
            _powers_of(bits),
            _NARROW,
        )
        for bits in (16, 12)
    ),
    Mistake("powers_in_float16", "the powers were kept in float16", _powers_in(np.float16)),
    Mistake("sums_in_float16", "the powers were added up in float16", _sums_in(np.float16)),
    Mistake(
        "sums_in_bfloat16",
        "the powers were added up in bfloat16",
        _sums_in(ml_dtypes.bfloat16),
        {"bfloat16": "arithmetic in the type of the tensor is only warned of"},
    ),
    Mistake(
        "powers_not_scaled",
        "powers were added up as they are, and their sum left the range of what is computed in",
        Steps(norm=_unscaled),
    ),
    Mistake(
        "overflow_saturates",
        "a norm beyond the type's range became its largest number",
        Steps(norm=_saturated),
    ),
    Mistake(
        "root_4_ulp_too_large",
        "the root came out 4 ULP too large, as by way of a power",
        Steps(norm=_too_large),
        dict.fromkeys(("float16", "bfloat16"), "4 ULP of float32 are less than all errors allowed"),
    ),
)
