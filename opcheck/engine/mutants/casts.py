"""Faults of `cast_to`, the conversion of one element type to another."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import BASIC, DTYPES, DType, limits
from opcheck.engine.mutants.arrays import BEYOND_FLOAT16, FLOATS, LONG, SIGNED
from opcheck.engine.mutants.elements import cut_off
from opcheck.engine.mutants.mutant import Mutant, faults
from opcheck.model import Array
from opcheck.numbers import FaultFunction

#: A wrong result, from a right cast, the array, the right result, and the dtype cast to.
CastChange: TypeAlias = Callable[[Callable[..., Array], Array, Array, DType], Any]

_INTEGERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
#: What float32 and float64 do not hold.
_BEYOND_FLOAT32 = ("float64", "int32", "int64", "uint32", "uint64")
_BEYOND_FLOAT64 = ("int64", "uint64")
_NAMED = ("+INF", "INF", "-INF", "NaN")


def _cast(change: CastChange) -> FaultFunction:
    def fault(original: Any, x: Array, dtype: DType) -> Array:
        own, right = dtypes.of(x), np.asarray(original(x, dtype))
        if own is None or dtype.name not in (*BASIC, "string") or own == dtype:
            return right
        return np.asarray(change(original, x, right, dtype)).astype(dtype.numpy)

    return fault


def _between(kinds: tuple[str, str], change: CastChange) -> CastChange:
    """The change of casts from and to such kinds alone; from any where the first is ""."""

    def between(cast: Any, x: Array, right: Array, dtype: DType) -> Any:
        own = dtypes.of(x)
        is_changed = own and kinds in ((own.kind, dtype.kind), ("", dtype.kind))
        return change(cast, x, right, dtype) if is_changed else right

    return between


def _through(name: str) -> CastChange:
    return lambda cast, x, right, dtype: cast(cast(x, DTYPES[name]), dtype)


def _ties_away(_: Any, x: Array, right: Array, dtype: DType) -> Any:
    wide, exact = right.astype(np.longdouble), x.astype(np.longdouble)
    farther = np.nextafter(right, np.copysign(np.inf, wide).astype(right.dtype))
    gap = farther.astype(np.longdouble) - wide
    tie = np.isfinite(wide) & (exact - wide == gap / 2) & (gap != 0)
    return np.where(tie, farther, right)


def _saturated(_: Any, x: Array, right: Array, dtype: DType) -> Any:
    """The nearest end of the type in place of the lowest bits."""
    low, high = limits(dtype)
    ends = [int(min(max(value, low), high)) for value in x.reshape(-1).tolist()]
    return np.array(ends, dtype.numpy).reshape(x.shape)


def _of_texts(change: Callable[[str], str]) -> CastChange:
    """The cast of other texts to floats."""
    changed = np.vectorize(change, otypes="O")
    return _between(("string", "float"), lambda cast, x, right, dtype: cast(changed(x), dtype))


_FLOATS, _INTS = ("float", "float"), ("int", "int")
_TO_FLOAT, _TO_INT, _TO_BOOL = ("", "float"), ("", "int"), ("", "bool")

FAULTS: tuple[Mutant, ...] = faults(
    "cast_to", _cast,
    ("cast_through_float32", "values were cast to float32 first, and rounded twice",
     _between(_TO_FLOAT, _through("float32")), (*_BEYOND_FLOAT32, "string")),
    ("cast_through_float64", "integers were cast to float64 first", _through("float64"),
     (*_BEYOND_FLOAT64, "string")),
    ("cast_to_integers_through_float32", "integers came by way of float32",
     _between(_TO_INT, _through("float32")), (*_BEYOND_FLOAT32, "string")),
    ("cast_to_texts_with_8_digits", "integers were written with 8 digits",
     _between(("int", "string"), lambda cast, x, *_: np.array(
         [f"{n:.8g}" for n in x.reshape(-1).tolist()], object).reshape(x.shape)),
     _BEYOND_FLOAT32[1:]),
    *((f"cast_from_texts_{name}", f"of texts {words}", _of_texts(change), ("string",))
      for name, words, change in (
          ("without_exponents", "exponents were ignored", lambda s: s.lower().partition("e")[0]),
          ("without_fractions", "fractions were ignored", lambda s: s.partition(".")[0]),
          ("without_signs", "signs were ignored", lambda s: s.lstrip("+-")),
          ("as_spelt", "other spellings of infinity and NaN than in the list became 0",
           lambda s: s if s in _NAMED or not s.strip("+-").isalpha() else "0"))),
    ("cast_through_int32", "integers came by way of int32", _between(_TO_INT, _through("int32")),
     ("float32", "float64", "int64", "uint64", "uint32")),
    *((f"cast_through_{name}", f"floats came by way of {name}",
       _between(_FLOATS, _through(name)), only) for name, only in (
           ("float16", BEYOND_FLOAT16), ("bfloat16", ("float16", *LONG)))),
    ("cast_towards_zero", "digits that the narrower type lacks were cut off",
     _between(_TO_FLOAT, lambda cast, x, right, dtype: cut_off(right, x)),
     ("float16", "float32", *_BEYOND_FLOAT32)),
    ("cast_ties_away", "a number halfway between two was rounded away from zero",
     _between(_TO_FLOAT, _ties_away), ("float16", "float32", *_BEYOND_FLOAT32)),
    ("cast_overflow_saturates", "a number out of range became the largest, not infinite",
     _between(_TO_FLOAT, lambda cast, x, right, dtype: np.where(
         np.isfinite(x.astype(np.float64)),
         np.clip(right, *np.array(limits(dtype), right.dtype)), right)),
     (*BEYOND_FLOAT16, "int32", "int64", "uint16", "uint32", "uint64")),
    ("cast_integers_saturate", "an integer out of range became the nearest end of the type",
     _between(_INTS, _saturated), _INTEGERS),
    *((f"cast_to_integers_by_{name}", f"floats were {words} to integers",
       _between(("float", "int"), partial(lambda function, cast, x, right, dtype: cast(
           function(x.astype(np.float64)), dtype), function)), FLOATS)
      for name, words, function in (
           ("rint", "rounded", np.rint), ("floor", "rounded down", np.floor),
           ("ceil", "rounded up", np.ceil))),
    ("cast_fractions_to_false", "numbers between -1 and 1 were cast to false",
     _between(_TO_BOOL, lambda cast, x, *_: np.trunc(x.astype(np.float64)) != 0), FLOATS),
    ("cast_nan_to_false", "NaN was cast to false",
     _between(_TO_BOOL, lambda cast, x, *_: (x != 0) & (x == x)), FLOATS),
    ("cast_negative_to_false", "negative numbers were cast to false",
     _between(_TO_BOOL, lambda cast, x, *_: x > 0), (*FLOATS, *SIGNED)),
    ("cast_to_bool_by_8_bits", "of an integer the lowest 8 bits were cast to bool",
     _between(_TO_BOOL, lambda cast, x, *_: (x & x.dtype.type(0xFF)) != 0), tuple(
         name for name in _INTEGERS if not name.endswith("t8"))),
    ("cast_to_bool_by_1_bit", "of an integer the lowest bit was cast to bool",
     _between(_TO_BOOL, lambda cast, x, *_: (x & x.dtype.type(1)) != 0), _INTEGERS),
    ("cast_of_the_other_sign", "signed integers were read as unsigned, and unsigned as signed",
     lambda cast, x, right, dtype: cast(
         x.view(f"{'i' if x.dtype.kind == 'u' else 'u'}{x.dtype.itemsize}"), dtype), _INTEGERS),
    ("cast_flushes_subnormals", "subnormal results became zero",
     _between(_FLOATS, lambda cast, x, right, dtype: np.where(
         np.abs(right) < math.ldexp(1.0, dtype.min_exponent + dtype.precision - 1), 0, right)),
     BEYOND_FLOAT16),
    ("cast_loses_signs_of_zeros", "-0 became +0",
     _between(_FLOATS, lambda cast, x, right, dtype: right + 0), FLOATS),
    ("cast_nan_to_zero", "NaN became zero", _between(
        _FLOATS, lambda cast, x, right, dtype: np.nan_to_num(
            right.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)), FLOATS),
    ("cast_true_to_minus_1", "true was cast to all bits set",
     lambda cast, x, right, dtype: right if dtype.kind == "bool" else -right, ("bool",)),
    ("cast_of_bits", "bits were kept as they are where both types have as many",
     lambda cast, x, right, dtype: (
         right if dtype.kind == "string" or x.dtype.itemsize != dtype.numpy.itemsize
         else x.view(dtype.numpy)),
     tuple(name for name, one in BASIC.items() if one.numpy.itemsize > 1)),
)  # fmt: skip
