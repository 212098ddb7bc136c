"""Faults of `cast_to`, the conversion of one element type to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine.mutants.mutant import FLOATS, Mutant, faults
from opcheck.model import Array
from opcheck.numbers import FaultFunction

#: What a cast makes, from the right cast, the array, its dtype and the one that it is cast to.
CastChange: TypeAlias = Callable[[Callable[..., Array], Array, DType, DType], Any]

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_INTEGERS = (*_SIGNED, *_UNSIGNED)
#: What float32 and float64 do not hold.
_BEYOND_FLOAT32 = ("float64", "int32", "int64", "uint32", "uint64")
_BEYOND_FLOAT64 = ("int64", "uint64")


def _cast(change: CastChange) -> FaultFunction:
    def fault(original: Any, x: Array, dtype: DType) -> Array:
        own = dtypes.of(x)
        if own is None or dtype.name not in DTYPES or own == dtype:
            return np.asarray(original(x, dtype))
        return np.asarray(change(original, x, own, dtype)).astype(dtype.numpy)

    return fault


def _between(kinds: tuple[str, str], change: CastChange) -> CastChange:
    """The change of casts from and to such kinds alone; from any where the first is ""."""
    return lambda cast, x, own, dtype: (
        change(cast, x, own, dtype)
        if (own.kind, dtype.kind) == (kinds[0] or own.kind, kinds[1])
        else cast(x, dtype)
    )


def _through(name: str) -> CastChange:
    return lambda cast, x, own, dtype: cast(cast(x, DTYPES[name]), dtype)


def _towards_zero(cast: Any, x: Array, own: DType, dtype: DType) -> Any:
    """The number next to the right one where that is farther from 0 than `x`."""
    right = cast(x, dtype)
    wide, exact = right.astype(np.longdouble), x.astype(np.longdouble)
    lower = np.nextafter(right, np.zeros_like(right))
    return np.where(np.isfinite(wide) & (np.abs(wide) > np.abs(exact)), lower, right)


def _ties_away(cast: Any, x: Array, own: DType, dtype: DType) -> Any:
    right = cast(x, dtype)
    wide, exact = right.astype(np.longdouble), x.astype(np.longdouble)
    farther = np.nextafter(right, np.copysign(np.inf, wide).astype(right.dtype))
    gap = farther.astype(np.longdouble) - wide
    tie = np.isfinite(wide) & (exact - wide == gap / 2) & (gap != 0)
    return np.where(tie, farther, right)


def _saturated(cast: Any, x: Array, own: DType, dtype: DType) -> Any:
    """The nearest end of the type in place of an infinity, or of the lowest bits."""
    low, high = limits(dtype)
    if dtype.kind == "float":
        right = cast(x, dtype)
        finite = np.isfinite(x.astype(np.float64))
        return np.where(finite, np.clip(right, *np.array([low, high], right.dtype)), right)
    ends = [int(min(max(value, low), high)) for value in x.reshape(-1).tolist()]
    return np.array(ends, dtype.numpy).reshape(x.shape)


def _rounding(function: Any) -> CastChange:
    return _between(("float", "int"), lambda cast, x, own, dtype: cast(
        function(x.astype(np.float64)), dtype))  # fmt: skip


def _of_truth(function: Callable[[Array], Any]) -> CastChange:
    return _between(("", "bool"), lambda cast, x, own, dtype: function(x))


def _flushed(cast: Any, x: Array, own: DType, dtype: DType) -> Any:
    right = cast(x, dtype)
    normal = np.ldexp(1.0, dtype.min_exponent + dtype.precision - 1)
    return np.where(np.abs(right.astype(np.float64)) < normal, np.zeros_like(right), right)


def _casts() -> Iterator[Mutant]:
    floats, integers = ("float", "float"), ("int", "int")
    to_float, to_int = ("", "float"), ("", "int")
    yield from faults(
        "cast_to",
        _cast,
        ("cast_through_float32", "values were cast to float32 first, and rounded twice",
         _between(to_float, _through("float32")),
         _BEYOND_FLOAT32),
        ("cast_through_float64", "integers were cast to float64 first", _through("float64"),
         _BEYOND_FLOAT64),
        ("cast_to_integers_through_float32", "integers came by way of float32",
         _between(to_int, _through("float32")),
         _BEYOND_FLOAT32),
        ("cast_through_int32", "integers came by way of int32",
         _between(to_int, _through("int32")),
         ("float32", "float64", "int64", "uint64", "uint32")),
        ("cast_through_float16", "floats came by way of float16", _between(floats, _through(
            "float16")), ("bfloat16", "float32", "float64")),
        ("cast_through_bfloat16", "floats came by way of bfloat16", _between(floats, _through(
            "bfloat16")), ("float16", "float32", "float64")),
        ("cast_towards_zero", "digits that the narrower type lacks were cut off",
         _between(to_float, _towards_zero),
         ("float16", "float32", *_BEYOND_FLOAT32)),
        ("cast_ties_away", "a number halfway between two was rounded away from zero",
         _between(to_float, _ties_away),
         ("float16", "float32", *_BEYOND_FLOAT32)),
        ("cast_overflow_saturates", "a number out of range became the largest, not infinite",
         _between(floats, _saturated), ("bfloat16", "float32", "float64")),
        ("cast_integers_saturate", "an integer out of range became the nearest end of the type",
         _between(integers, _saturated), _INTEGERS),
        *((f"cast_to_integers_by_{name}", f"floats were {words} to integers",
           _rounding(function), FLOATS) for name, words, function in (
               ("rint", "rounded", np.rint), ("floor", "rounded down", np.floor),
               ("ceil", "rounded up", np.ceil))),
        ("cast_fractions_to_false", "numbers between -1 and 1 were cast to false",
         _of_truth(lambda x: np.trunc(x.astype(np.float64)) != 0), FLOATS),
        ("cast_nan_to_false", "NaN was cast to false", _of_truth(lambda x: (x != 0) & (x == x)),
         FLOATS),
        ("cast_negative_to_false", "negative numbers were cast to false", _of_truth(
            lambda x: x > 0), (*FLOATS, *_SIGNED)),
        ("cast_to_bool_by_8_bits", "of an integer the lowest 8 bits were cast to bool",
         _of_truth(lambda x: (x & x.dtype.type(0xFF)) != 0), tuple(
             name for name in _INTEGERS if not name.endswith("t8"))),
        ("cast_to_bool_by_1_bit", "of an integer the lowest bit was cast to bool",
         _of_truth(lambda x: (x & x.dtype.type(1)) != 0), _INTEGERS),
        ("cast_of_the_other_sign", "signed integers were read as unsigned, and unsigned as signed",
         lambda cast, x, own, dtype: cast(
             x.view(f"{'i' if own.name.startswith('u') else 'u'}{x.dtype.itemsize}"), dtype),
         _INTEGERS),
        ("cast_flushes_subnormals", "subnormal results became zero", _between(floats, _flushed),
         ("bfloat16", "float32", "float64")),
        ("cast_loses_signs_of_zeros", "-0 became +0", _between(
            floats, lambda cast, x, own, dtype: cast(x, dtype) + 0), FLOATS),
        ("cast_nan_to_zero", "NaN became zero", _between(
            floats, lambda cast, x, own, dtype: np.nan_to_num(
                cast(x, dtype).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)),
         FLOATS),
        ("cast_true_to_minus_1", "true was cast to all bits set",
         lambda cast, x, own, dtype: cast(x, dtype) if dtype.kind == "bool" else -cast(x, dtype),
         ("bool",)),
        ("cast_of_bits", "bits were kept as they are where both types have as many",
         lambda cast, x, own, dtype: (
             x.view(dtype.numpy) if x.dtype.itemsize == dtype.numpy.itemsize else cast(x, dtype)),
         tuple(name for name, one in DTYPES.items() if one.numpy.itemsize > 1)),
    )  # fmt: skip


FAULTS: tuple[Mutant, ...] = tuple(_casts())
