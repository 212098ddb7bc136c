"""Numbers that lose something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import Expected, exactly
from opcheck.engine.generic.making import EXACT, NEVER_NAN, but, floating, of_input, of_output
from opcheck.engine.node import Node
from opcheck.engine.mistakes import Mistake
from opcheck.model import Array


def _through(name: str) -> Callable[[Array], Array]:
    """By way of a type that has fewer digits, or a narrower range."""
    narrow = dtypes.DTYPES[name]

    def change(array: Array) -> Array:
        own = floating(array)
        if own is None or own.numpy.itemsize < narrow.numpy.itemsize:
            return array
        with np.errstate(all="ignore"):
            return array.astype(narrow.numpy).astype(array.dtype)

    return change


def _truncated(node: Node) -> Sequence[Any]:
    """Cut off towards zero where the right answer is rounded away from it."""
    outputs: list[Any] = []
    for exact, right in zip(exactly(node), node.right, strict=True):
        if not isinstance(exact, Expected):
            outputs.append(right)
            continue
        with np.errstate(all="ignore"):
            wide = right.astype(np.float64)
            away = np.isfinite(wide) & (np.abs(wide) > np.abs(exact.values))
            outputs.append(np.where(away, np.nextafter(right, np.zeros_like(right)), right))
    return outputs


def _flushed(array: Array) -> Array:
    own = floating(array)
    if own is None:
        return array
    smallest_normal = math.ldexp(1.0, own.min_exponent + own.precision - 1)
    return np.where(np.abs(array) < smallest_normal, np.zeros_like(array), array)


def _clamped(array: Array) -> Array:
    own = floating(array)
    if own is None:
        return array
    low, high = (np.array(limit, array.dtype) for limit in dtypes.limits(own))
    return np.clip(array, low, high)


def _nan_as_zero(array: Array) -> Array:
    return (
        array if floating(array) is None else np.where(np.isnan(array), np.zeros_like(array), array)
    )


def _scaled(part: float) -> Callable[[Array], Array]:
    return lambda out: (out.astype(np.float64) * (1 + part)).astype(out.dtype)


def _rounded_back(part: float) -> dict[str, str]:
    """`harmless` for the types in which a number and the next lie more than 2 `part` apart.

    They lie a unit roundoff apart, in parts of the larger, or farther.
    """
    why = f"the nearest number to one that is too large by {part:g} is that number itself"
    floats = (dtype for dtype in dtypes.DTYPES.values() if dtype.kind == "float")
    return {dtype.name: why for dtype in floats if 2 * part < (1 - part) * math.ldexp(1.0, -dtype.precision)}


#: Which types lose something on the way through another; of those of 16 bits float16 has more
#: digits, and bfloat16 the wider range.
_NARROWED_TO = {
    "float32": ("float64",),
    "float16": ("bfloat16", "float32", "float64"),
    "bfloat16": ("float16", "float32", "float64"),
}
#: Types whose smallest normal number is that of what is computed in.
_AS_WIDE_AS_FLOAT32 = ("bfloat16", "float32", "float64")
_FLUSHING_IS_ALLOWED = "engines flush subnormal numbers, and every error bound allows for that"
_POWER_OF_SUBNORMALS = "e to a subnormal power differs from 1 by less than 2^-125 of it"
_EITHER_IS_RIGHT = (
    "the one is then at the first NaN or at the first maximum of the rest, and which of them is "
    "left open, for each row anew"
)
_TERMS_OF_SUBNORMALS = "what subnormal numbers add may be flushed, and the bound leaves it out too"
_BELOW_ONE_ULP = "less than one ULP is lost, and every error bound allows more in this type"

MISTAKES: tuple[Mistake, ...] = (
    of_output("negated", "every sign was turned", lambda out: -out),
    of_output("doubled", "every value was twice as large", lambda out: out + out),
    of_output("zeros", "nothing was computed, and all left zero", np.zeros_like),
    of_output("nan_everywhere", "every element was NaN", lambda out: np.full_like(out, np.nan)),
    Mistake(
        "truncated",
        "the result was cut off instead of rounded",
        _truncated,
        {**EXACT, **dict.fromkeys(("float32", "float64"), _BELOW_ONE_ULP)},
    ),
    *(
        of_output(
            f"result_through_{name}",
            f"the result went through {name}",
            _through(name),
            {**EXACT, **but(*others)},
        )
        for name, others in _NARROWED_TO.items()
    ),
    of_output(
        "subnormal_results_flushed",
        "subnormal results became zero",
        _flushed,
        {**EXACT, **dict.fromkeys(_AS_WIDE_AS_FLOAT32, _FLUSHING_IS_ALLOWED)},
    ),
    of_input(
        "subnormal_inputs_flushed",
        "subnormal elements of the input became zero",
        _flushed,
        {
            **{f"Softmax {name}": _POWER_OF_SUBNORMALS for name in _AS_WIDE_AS_FLOAT32},
            **{f"LpPool {name}": _TERMS_OF_SUBNORMALS for name in _AS_WIDE_AS_FLOAT32},
        },
    ),
    *(
        of_input(
            f"input_in_{name}", f"the input was narrowed to {name}", _through(name), but(*others)
        )
        for name, others in _NARROWED_TO.items()
    ),
    of_input("infinities_clamped", "infinities were taken for the largest number", _clamped),
    of_input(
        "nan_taken_for_zero",
        "NaN in the input was taken for zero",
        _nan_as_zero,
        dict.fromkeys(EXACT, _EITHER_IS_RIGHT),
    ),
    of_output("nan_becomes_zero", "NaN in the result became zero", _nan_as_zero, NEVER_NAN),
    *(
        of_output(
            f"too_large_by_{part:g}",
            f"every value was too large by {part:g}",
            _scaled(part),
            _rounded_back(part),
        )
        for part in (1e-2, 1e-3, 1e-4, 1e-5)
    ),
)
