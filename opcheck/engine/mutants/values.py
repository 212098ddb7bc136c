"""Numbers that lose something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import Expected, exactly
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.mutants.mutant import (
    BEYOND_FLOAT16,
    COMPLEX,
    DOUBLE,
    FLOATS,
    LONG,
    NUMBERS,
    Mutant,
    blank,
    floating,
    of_input,
    of_output,
)
from opcheck.engine.node import Node
from opcheck.model import Array


def _if_floating(change: Callable[[Array, dtypes.DType], Any]) -> Callable[[Array], Any]:
    """Floating tensors, changed by a function of the array and its dtype."""
    return lambda array: array if (own := floating(array)) is None else change(array, own)


def _through(name: str) -> Callable[[Array], Array]:
    """By way of a type that has fewer digits, or a narrower range."""
    narrow = dtypes.DTYPES[name].numpy
    return _if_floating(
        lambda x, own: (
            x if own.numpy.itemsize < narrow.itemsize else x.astype(narrow).astype(x.dtype)
        )
    )


def _truncated(node: Node) -> Sequence[Any]:
    """Cut off towards zero where the right answer is rounded away from it."""
    outputs: list[Any] = []
    for exact, right in zip(exactly(node), node.right, strict=True):
        if not isinstance(exact, Expected):
            outputs.append(right)
            continue
        wide = right.astype(np.float64)
        away = np.isfinite(wide) & (np.abs(wide) > np.abs(exact.values))
        outputs.append(np.where(away, np.nextafter(right, np.zeros_like(right)), right))
    return outputs


@_if_floating
def _flushed(array: Array, own: dtypes.DType) -> Array:
    smallest_normal = math.ldexp(1.0, own.min_exponent + own.precision - 1)
    return np.where(np.abs(array) < smallest_normal, array * array.dtype.type(0), array)


@_if_floating
def _clamped(array: Array, own: dtypes.DType) -> Array:
    low, high = (np.array(limit, array.dtype) for limit in dtypes.limits(own))
    # NumPy clips numbers of its extensions in float32.
    return np.clip(array, low, high).astype(array.dtype)


def _saturated(node: Node) -> Sequence[Any]:
    right = node.right
    if not all(floating(array) is None or np.isfinite(array).all() for array in node.given):
        return right
    return [_clamped(out) for out in right]


def _narrowed(name: str) -> Callable[[Array], Array]:
    """Integers by way of a type that does not hold all of them."""
    narrow = dtypes.DTYPES[name].numpy
    return lambda x: x.astype(narrow).astype(x.dtype) if x.dtype.kind in "iu" else x


def _replaced(which: Callable[[Array], Any], value: float) -> Callable[[Array], Any]:
    """`value` in place of some elements."""
    return _if_floating(lambda x, _: np.where(which(x), x.dtype.type(value), x))


def _scaled(part: float) -> Callable[[Array], Array]:
    return lambda out: (out.astype(np.float64) * (1 + part)).astype(out.dtype)


def _not_rounded_back(part: float) -> tuple[str, ...]:
    """The types in which a number that is too large by `part` is another number.

    In the others the next number is more than twice as far away.
    """
    floats = (dtypes.DTYPES[name] for name in FLOATS)
    return tuple(d.name for d in floats if 2 * part >= (1 - part) * math.ldexp(1, -d.precision))


#: Which types lose something on the way through another; of those of 16 bits float16 has more
#: digits, and bfloat16 the wider range.
_NARROWED_TO = {
    "float32": DOUBLE,
    "float16": BEYOND_FLOAT16,
    "bfloat16": ("float16", *LONG),
}


def _of_texts(change: Callable[[str], str]) -> Callable[[Array], Array]:
    """Each text, changed."""
    change_all = np.frompyfunc(change, 1, 1)
    return lambda x: np.asarray(change_all(x), object) if x.dtype.hasobject else x


def _of_parts(change: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Complex numbers, changed."""
    return lambda x: change(x).astype(x.dtype) if x.dtype.kind == "c" else x


MUTANTS: tuple[Mutant, ...] = (
    *(of_input(f"texts_{name}", f"texts {text}", _of_texts(change), ("string",))
      for name, text, change in (
          ("as_ascii", "lost what is not ASCII", lambda s: s.encode("ascii", "ignore").decode()),
          ("cut_at_nul", "were cut at a NUL character", lambda s: s.partition("\0")[0]),
          ("cut_to_64_bytes", "were cut to 64 bytes",
           lambda s: s.encode()[:64].decode(errors="ignore")),
          ("stripped", "lost the spaces at their ends", str.strip),
          ("in_lower_case", "were turned to lower case", str.lower))),
    *(of_input(f"complex_{name}", text, _of_parts(change), COMPLEX) for name, text, change in (
        ("conjugated", "complex numbers were conjugated", np.conj),
        ("real_part_alone", "imaginary parts were dropped", np.real),
        ("parts_exchanged", "real and imaginary parts were exchanged",
         lambda x: x.imag + 1j * x.real))),
    of_input("complex_in_complex64", "complex numbers were narrowed to complex64",
             lambda x: x.astype(np.complex64).astype(x.dtype) if x.dtype.kind == "c" else x,
             ("complex128",)),
    of_output("negated", "every sign was turned",
              lambda out: out if out.dtype == np.bool_ else -out, NUMBERS),
    of_output("inverted", "every result was taken from 1",
              lambda out: out ^ True if out.dtype == np.bool_ else 1 - out, (*NUMBERS, "bool")),
    *(of_output(f"zeros_are_{word}", f"{text} stood in place of every zero",
                _replaced(lambda out: out == 0, value), FLOATS)
      for word, text, value in (("tiny", "1e-6", 1e-6), ("nan", "NaN", np.nan))),
    of_output("doubled", "every value was twice as large", lambda out: out + out, NUMBERS),
    of_output("zeros", "nothing was computed, and all left zero", blank),
    of_output("nan_everywhere", "every element was NaN", lambda out: np.full_like(out, np.nan),
              FLOATS),
    # In wider types less than one ULP is lost, and every error bound allows more.
    Mutant("truncated", "the result was cut off instead of rounded", _truncated,
           only=("float16", "bfloat16"), rounded=True),
    Mutant("overflow_saturates", "a result beyond the type's range became its largest number",
           _saturated, unbounded=True, rounded=True, only=FLOATS),
    *(of_output(f"result_through_{name}", f"the result went through {name}", _through(name), only,
                rounded=True) for name, only in _NARROWED_TO.items()),
    # Engines flush subnormal numbers of float32's range, and every error bound allows for that.
    of_output("subnormal_results_flushed", "subnormal results became zero", _flushed, ("float16",),
              rounded=True),
    of_input("subnormal_inputs_flushed", "subnormal elements of the input became zero", _flushed,
             FLOATS),
    *(of_input(f"input_in_{name}", f"the input was narrowed to {name}", _through(name), only)
      for name, only in _NARROWED_TO.items()),
    of_input("input_in_tf32", "the input was rounded to 11 bits, as in TF32",
             _if_floating(lambda x, _: cut_to_bits(x, 11)), LONG),
    of_input("infinities_clamped", "infinities were taken for the largest number", _clamped,
             FLOATS),
    *(of_input(f"minus_infinity_taken_for_{name}", f"-inf in the input was taken for {value:g}",
               _replaced(np.isneginf, value), only)
      for name, value, only in (
          ("minus_1e4", -1e4, FLOATS), ("minus_1e9", -1e9, BEYOND_FLOAT16),
          ("nan", np.nan, FLOATS))),
    of_input("input_in_the_range_of_float16",
             "finite numbers in the input were clamped to the range of float16",
             _if_floating(lambda x, _: np.where(
                 np.isinf(x), x, np.clip(x, -65504, 65504).astype(x.dtype))), BEYOND_FLOAT16),
    *(of_input(f"integers_through_{name}", f"integers went through {name}", _narrowed(name), only)
      for name, only in (
          ("float32", ("int32", "int64", "uint32", "uint64")), ("float64", ("int64", "uint64")),
          ("int32", ("int64", "uint64")))),
    of_input("whole_numbers", "the input was cut off to whole numbers",
             _if_floating(lambda x, _: np.trunc(x)), FLOATS),
    of_input("nan_taken_for_zero", "NaN in the input was taken for zero", _replaced(np.isnan, 0),
             FLOATS),
    of_output("nan_becomes_zero", "NaN in the result became zero", _replaced(np.isnan, 0),
              rounded=True),
    *(of_output(f"too_large_by_{part:g}", f"every value was too large by {part:g}", _scaled(part),
                _not_rounded_back(part), rounded=True) for part in (1e-2, 1e-3, 1e-4, 1e-5)),
)  # fmt: skip
