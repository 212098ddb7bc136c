"""Numbers that lose something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import exactly
from opcheck.engine.exact import Exact
from opcheck.engine.generic.making import EXACT, but, floating, of_input, of_output
from opcheck.engine.mistakes import Mistake, Node
from opcheck.model import Array


def _through(*narrower: str) -> Callable[[Array], Array]:
    """By way of the first of these types that has fewer digits, if there is one."""

    def change(array: Array) -> Array:
        own = floating(array)
        for name in narrower:
            if own and dtypes.DTYPES[name].precision < own.precision:
                with np.errstate(all="ignore"):
                    return array.astype(dtypes.DTYPES[name].numpy).astype(array.dtype)
        return array

    return change


def _other_16_bits(out: Array) -> Array:
    """bfloat16 has a wider range, float16 more digits: both lose something."""
    own = floating(out)
    if own is None or out.dtype.itemsize != 2:
        return out
    other = dtypes.DTYPES["bfloat16" if own.name == "float16" else "float16"]
    with np.errstate(all="ignore"):
        return out.astype(other.numpy).astype(out.dtype)


def _truncated(node: Node) -> Sequence[Any]:
    """Cut off towards zero where the right answer is rounded away from it."""
    outputs: list[Any] = []
    for exact, right in zip(exactly(node.op, node.inputs, node.attrs), node.right, strict=True):
        if not isinstance(exact, Exact):
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


MISTAKES: tuple[Mistake, ...] = (
    of_output("negated", "every sign was turned", lambda out: -out),
    of_output("doubled", "every value was twice as large", lambda out: out + out),
    of_output("zeros", "nothing was computed, and all left zero", np.zeros_like),
    Mistake("truncated", "the result was cut off instead of rounded", _truncated, EXACT),
    of_output(
        "through_the_other_16_bits",
        "the result went through the other type of 16 bits",
        _other_16_bits,
        {**EXACT, **but("float16", "bfloat16")},
    ),
    of_output(
        "result_through_float32",
        "the result went through float32",
        _through("float32"),
        {**EXACT, **but("float64")},
    ),
    of_output("subnormal_results_flushed", "subnormal results became zero", _flushed, EXACT),
    of_input("subnormal_inputs_flushed", "subnormal elements of the input became zero", _flushed),
    of_input(
        "input_in_float32",
        "the input was narrowed to float32",
        _through("float32"),
        but("float64"),
    ),
    of_input(
        "input_in_float16",
        "the input was narrowed to float16",
        _through("float16"),
        but("float32", "float64"),
    ),
    of_input(
        "input_in_bfloat16",
        "the input was narrowed to bfloat16",
        _through("bfloat16"),
        but("float16", "float32", "float64"),
    ),
    of_input("infinities_clamped", "infinities were taken for the largest number", _clamped),
    of_input("nan_taken_for_zero", "NaN in the input was taken for zero", _nan_as_zero),
    of_output("nan_becomes_zero", "NaN in the result became zero", _nan_as_zero),
    *(
        of_output(f"too_large_by_{part:g}", f"every value was too large by {part:g}", _scaled(part))
        for part in (1e-2, 1e-3, 1e-4, 1e-5)
    ),
)
