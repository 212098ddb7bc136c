"""Faults of casts: between all types but those of 8 bits or less, and to those of 8 bits or less.

A fault of `cast_to` is a `CastChange`; one of `to_minifloat` is a rule that makes whole numbers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.engine.mutants.elements import (
    BEYOND_FLOAT16,
    BEYOND_FLOAT32,
    BEYOND_FLOAT64,
    FLOATS,
    LONG,
    SIGNED,
    UNSIGNED,
    cut_off,
)
from opcheck.engine.mutants.mutant import Mutant, faults
from opcheck.numbers import Array

#: A right cast: of an array to a type of `dtypes`.
Cast: TypeAlias = Callable[..., Array]
#: A wrong result, from a right cast, the array, the right result, and the dtype cast to.
CastChange: TypeAlias = Callable[[Cast, Array, Array, dtypes.DType], Array]
#: The kinds of types that are cast from, or "" for all, and to.
Kinds: TypeAlias = tuple[str, str]

_FLOATS, _INTS = ("float", "float"), ("int", "int")
_TO_FLOAT, _TO_INT, _TO_BOOL = ("", "float"), ("", "int"), ("", "bool")
_FROM_TEXTS, _TO_TEXTS = ("string", "float"), ("int", "string")
_FLOATS_TO_INTS = ("float", "int")

_INTEGERS = (*SIGNED, *UNSIGNED)
#: Spellings in the text's list of those that are no number.
_NAMED = ("+INF", "INF", "-INF", "NaN")


def cast_changed(change: CastChange, original: Cast, x: Array, dtype: dtypes.DType) -> Array:
    """Fault: casts between different types are changed, but for those to unusual types."""
    own = dtypes.of(x)
    right = np.asarray(original(x, dtype))
    if own is None or dtype.name not in (*dtypes.BASIC, "string") or own == dtype:
        return right
    return np.asarray(change(original, x, right, dtype)).astype(dtype.numpy)


def of_kinds(
    kinds: Kinds, change: CastChange, cast: Cast, x: Array, right: Array, dtype: dtypes.DType
) -> Array:
    """Return the changed result of casts from and to such kinds; of any kind if the first is "".

    Other casts, and those from unknown types, give `right`.
    """
    own = dtypes.of(x)
    if own is None or kinds not in ((own.kind, dtype.kind), ("", dtype.kind)):
        return right
    return change(cast, x, right, dtype)


def _between(kinds: Kinds, change: CastChange) -> CastChange:
    """Return the change of casts between such kinds alone."""
    return partial(of_kinds, kinds, change)


# ── by way of another type ────────────────────────────────────────────────────────────────────


def cast_through(name: str, cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: the type `name` lies between."""
    return cast(cast(x, dtypes.DTYPES[name]), dtype)


def of_the_other_sign(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: bits of signed integers are read as unsigned ones, and the reverse."""
    other = "i" if x.dtype.kind == "u" else "u"
    return cast(x.view(f"{other}{x.dtype.itemsize}"), dtype)


def of_bits(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: bits stay as they are where both types have as many."""
    if dtype.kind == "string" or x.dtype.itemsize != dtype.numpy.itemsize:
        return right
    return x.view(dtype.numpy)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────


def to_texts_with_8_digits(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: integers are written with 8 digits."""
    texts = [f"{number:.8g}" for number in x.reshape(-1).tolist()]
    return np.array(texts, object).reshape(x.shape)


def of_other_texts(
    change: Callable[[str], str], cast: Cast, x: Array, right: Array, dtype: dtypes.DType
) -> Array:
    """Mutant: each text is changed before it is cast."""
    return cast(np.vectorize(change, otypes="O")(x), dtype)


def without_exponent(text: str) -> str:
    """Mutant: what follows `e` is not read."""
    return text.lower().partition("e")[0]


def without_fraction(text: str) -> str:
    """Mutant: what follows the point is not read."""
    return text.partition(".")[0]


def without_sign(text: str) -> str:
    """Mutant: signs are not read."""
    return text.lstrip("+-")


def zero_unless_spelt_so(text: str) -> str:
    """Mutant: words that are not in the text's list are 0."""
    return text if text in _NAMED or not text.strip("+-").isalpha() else "0"


# ── to floating types ─────────────────────────────────────────────────────────────────────────


def towards_zero(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: digits that the type lacks are cut off."""
    return cut_off(right, x)


def ties_away(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: a number halfway between two becomes the one that is farther from 0."""
    wide = right.astype(np.longdouble)
    exact = x.astype(np.longdouble)
    farther = np.nextafter(right, np.copysign(np.inf, wide).astype(right.dtype))
    gap = farther.astype(np.longdouble) - wide
    return np.where(np.isfinite(wide) & (exact - wide == gap / 2) & (gap != 0), farther, right)


def overflow_saturates(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: a finite number out of range becomes the largest."""
    low, high = np.array(dtypes.limits(dtype), right.dtype)
    return np.where(np.isfinite(x.astype(np.float64)), np.clip(right, low, high), right)


def subnormals_flushed(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: results below the smallest normal number are 0."""
    return np.where(np.abs(right) < dtype.smallest_normal, 0, right)


def signs_of_zeros_lost(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: -0 becomes +0, as it does in a sum with 0."""
    return right + 0


def nan_to_zero(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: NaN becomes 0."""
    return np.nan_to_num(right.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)


# ── to integers ───────────────────────────────────────────────────────────────────────────────


def integers_saturate(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: an integer out of range becomes the nearest end of the type."""
    low, high = dtypes.limits(dtype)
    ends = [int(min(max(value, low), high)) for value in x.reshape(-1).tolist()]
    return np.array(ends, dtype.numpy).reshape(x.shape)


def to_integers_by(
    rounding: Callable[[Array], Array], cast: Cast, x: Array, right: Array, dtype: dtypes.DType
) -> Array:
    """Mutant: floats are not cut off, but rounded in another way."""
    return cast(rounding(x.astype(np.float64)), dtype)


# ── from and to booleans ──────────────────────────────────────────────────────────────────────


def fractions_to_false(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: numbers between -1 and 1 are false."""
    return np.trunc(x.astype(np.float64)) != 0


def nan_to_false(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: NaN is false."""
    return (x != 0) & (x == x)


def negative_to_false(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: negative numbers are false."""
    return x > 0


def to_bool_by_8_bits(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: an integer is false where its lowest 8 bits are 0."""
    return (x & x.dtype.type(0xFF)) != 0


def true_to_minus_1(cast: Cast, x: Array, right: Array, dtype: dtypes.DType) -> Array:
    """Mutant: true has all bits set."""
    return right if dtype.kind == "bool" else -right


# ── to types of 8 bits or less ────────────────────────────────────────────────────────────────


def to_minifloat_by(
    rule: Callable[[Array], Array], cast: Cast, x: Array, dtype: dtypes.DType, *how: Any
) -> Array:
    """Fault: `rule` makes whole multiples of the step between numbers of `dtype`.

    A `dtype` of powers of two is cast right. `how` are further arguments of the right cast.
    """
    if dtype.precision < 2:  # a power of two, as `round_mode` says
        return cast(x, dtype, *how)
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - dtype.precision, dtype.min_exponent))
    return cast(rule(x / step) * step, dtype, *how)


def rounded_half_away(q: Array) -> Array:
    """Return whole numbers; of two that are as near, the one that is farther from 0. NaN stays."""
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


CASTS: tuple[Mutant, ...] = faults(
    "cast_to",
    cast_changed,
    (
        "cast_through_float32",
        "values were cast to float32 first, and rounded twice",
        _between(_TO_FLOAT, partial(cast_through, "float32")),
        (*BEYOND_FLOAT32, "string"),
    ),
    (
        "cast_through_float64",
        "integers were cast to float64 first",
        partial(cast_through, "float64"),
        (*BEYOND_FLOAT64, "string"),
    ),
    (
        "cast_to_integers_through_float32",
        "integers came by way of float32",
        _between(_TO_INT, partial(cast_through, "float32")),
        (*BEYOND_FLOAT32, "string"),
    ),
    (
        "cast_to_texts_with_8_digits",
        "integers were written with 8 digits",
        _between(_TO_TEXTS, to_texts_with_8_digits),
        BEYOND_FLOAT32[1:],
    ),
    *(
        (
            f"cast_from_texts_{name}",
            f"of texts {words}",
            _between(_FROM_TEXTS, partial(of_other_texts, change)),
            ("string",),
        )
        for name, words, change in (
            ("without_exponents", "exponents were ignored", without_exponent),
            ("without_fractions", "fractions were ignored", without_fraction),
            ("without_signs", "signs were ignored", without_sign),
            (
                "as_spelt",
                "other spellings of infinity and NaN than in the list became 0",
                zero_unless_spelt_so,
            ),
        )
    ),
    (
        "cast_through_int32",
        "integers came by way of int32",
        _between(_TO_INT, partial(cast_through, "int32")),
        ("float32", "float64", "int64", "uint64", "uint32"),
    ),
    *(
        (
            f"cast_through_{name}",
            f"floats came by way of {name}",
            _between(_FLOATS, partial(cast_through, name)),
            only,
        )
        for name, only in (("float16", BEYOND_FLOAT16), ("bfloat16", ("float16", *LONG)))
    ),
    (
        "cast_towards_zero",
        "digits that the narrower type lacks were cut off",
        _between(_TO_FLOAT, towards_zero),
        ("float16", "float32", *BEYOND_FLOAT32),
    ),
    (
        "cast_ties_away",
        "a number halfway between two was rounded away from zero",
        _between(_TO_FLOAT, ties_away),
        ("float16", "float32", *BEYOND_FLOAT32),
    ),
    (
        "cast_overflow_saturates",
        "a number out of range became the largest, not infinite",
        _between(_TO_FLOAT, overflow_saturates),
        (*BEYOND_FLOAT16, "int32", "int64", "uint16", "uint32", "uint64"),
    ),
    (
        "cast_integers_saturate",
        "an integer out of range became the nearest end of the type",
        _between(_INTS, integers_saturate),
        _INTEGERS,
    ),
    *(
        (
            f"cast_to_integers_by_{name}",
            f"floats were {words} to integers",
            _between(_FLOATS_TO_INTS, partial(to_integers_by, rounding)),
            FLOATS,
        )
        for name, words, rounding in (
            ("rint", "rounded", np.rint),
            ("floor", "rounded down", np.floor),
            ("ceil", "rounded up", np.ceil),
        )
    ),
    (
        "cast_fractions_to_false",
        "numbers between -1 and 1 were cast to false",
        _between(_TO_BOOL, fractions_to_false),
        FLOATS,
    ),
    (
        "cast_nan_to_false",
        "NaN was cast to false",
        _between(_TO_BOOL, nan_to_false),
        FLOATS,
    ),
    (
        "cast_negative_to_false",
        "negative numbers were cast to false",
        _between(_TO_BOOL, negative_to_false),
        (*FLOATS, *SIGNED),
    ),
    (
        "cast_to_bool_by_8_bits",
        "of an integer the lowest 8 bits were cast to bool",
        _between(_TO_BOOL, to_bool_by_8_bits),
        tuple(name for name in _INTEGERS if not name.endswith("t8")),
    ),
    (
        "cast_of_the_other_sign",
        "signed integers were read as unsigned, and unsigned as signed",
        of_the_other_sign,
        _INTEGERS,
    ),
    (
        "cast_flushes_subnormals",
        "subnormal results became zero",
        _between(_FLOATS, subnormals_flushed),
        BEYOND_FLOAT16,
    ),
    (
        "cast_loses_signs_of_zeros",
        "-0 became +0",
        _between(_FLOATS, signs_of_zeros_lost),
        FLOATS,
    ),
    (
        "cast_nan_to_zero",
        "NaN became zero",
        _between(_FLOATS, nan_to_zero),
        FLOATS,
    ),
    (
        "cast_true_to_minus_1",
        "true was cast to all bits set",
        true_to_minus_1,
        ("bool",),
    ),
    (
        "cast_of_bits",
        "bits were kept as they are where both types have as many",
        of_bits,
        tuple(name for name, dtype in dtypes.BASIC.items() if dtype.numpy.itemsize > 1),
    ),
) + faults(
    "to_minifloat",
    to_minifloat_by,
    (
        "cast_to_8_bits_towards_zero",
        "digits that a float of 8 bits or less lacks were cut off",
        np.trunc,
        FLOATS,
    ),
    (
        "cast_to_8_bits_ties_away",
        "halfway between two floats of 8 bits or less it was rounded away",
        rounded_half_away,
        FLOATS,
    ),
    # QuantizeLinear has its own.
    unless=("divide",),
)
