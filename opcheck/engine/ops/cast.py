"""Cast (1 to 28) and CastLike (15 to 25): the elements in another type."""

from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.engine.casting import cast_any
from opcheck.engine.operators import is_open, operator
from opcheck.model import Array
from opcheck.numbers.faulty import bare

NAMES = """
Cast CastLike
"""
OP = operator("Cast", exact=True)
LIKE = operator("CastLike", exact=True)


def _is_said(x: Array, dtype: DType, *, beyond: bool, zero: bool) -> Any:
    """Where the text says what numbers become.

    `beyond` whether it does so of infinities for what floats lack, and of the bits of what integers
    lack; `zero` whether float8e8m0 has NaN for 0.
    """
    own = dtypes.of(x)
    if own == dtype or own is None or "string" in (own.kind, dtype.kind) or dtype.kind == "bool":
        return True
    if beyond and (dtype.kind == "float" or (own.kind in ("int", "bool") and dtype.kind == "int")):
        return True
    low, high = dtypes.limits(dtype)
    if dtype.kind == "int" and own.kind in ("int", "bool"):
        x = x.astype(np.int8) if own.kind == "bool" else x
        return (x >= low) & (x <= high)
    x = x.astype(np.float64)
    if dtype.kind == "float":
        return ~np.isfinite(x) | (np.abs(x) <= high)
    if dtype.kind == "int":
        # One more than the largest number of 64 bits is one of float64.
        whole = np.trunc(x)
        return (whole >= low) & (whole < high + 1.0)
    if dtype.name == "float8e8m0":
        return ~np.signbit(x) & (zero | (x != 0))
    return (dtype.bits == 8) | ((x >= low) & (x <= high))


def _cast(input, dtype, saturate, round_mode, *, beyond=True):
    """Function bodies cast numbers with bounds too; what they make of others may have some."""
    assert dtype
    x, zero = bare(input), not saturate and round_mode == "nearest"
    if isinstance(x, np.ndarray) and not np.all(_is_said(x, dtype, beyond=beyond, zero=zero)):
        is_open(f"nothing is said of what some of these numbers become as {dtype}")
    return cast_any(input, dtype, saturate, round_mode)


@OP.formula(1, 6, 9)
def cast_1(input, *, to):
    return _cast(input, dtypes.named(to), 1, "up", beyond=False)


@OP.formula(13, 19, 21, 23, 24, 25, 28)
def cast(input, *, to, saturate=1, round_mode="up"):
    return _cast(input, dtypes.named(to), saturate, round_mode)


@LIKE.formula(15, 19, 21, 23, 24, 25)
def cast_like(input, target_type, *, saturate=1, round_mode="up"):
    return _cast(input, dtypes.of(np.empty(0, target_type.dtype)), saturate, round_mode)


_ALONE = "`to` alone is declared, and mandatory"
OP.equivalent("attributes_of_another_type_ignored", _ALONE, "1", "6", "9", "13")
OP.equivalent("attributes_converted", "no number becomes a word that names a type", "1")
OP.equivalent("later_attributes_accepted", "later versions take no word for `to`", "1")
OP.equivalent("cast_to_texts_with_8_digits", "texts came with version 9", "1", "6")
OP.equivalent("cast_integers_saturate", "nothing is said of integers out of range", "1", "6", "9")
for called in ("cast_ties_away", "cast_towards_zero"):
    OP.equivalent(called, "no type is narrower", "1 float16", "6 float16", "9 float16")

#: Types all of whose numbers lie within the range of each type of 8 bits.
_WITHIN = ("bool", "int2", "uint2", "int4", "uint4", "int8", "float4e2m1", "float6e2m3",
           "float6e3m2", "float8e4m3fnuz")  # fmt: skip
_POWERS = ("bool", "int2", "float8e8m0")
_OLDER = [f"{since} {name}" for since in (19, 21, 23) for name in _WITHIN]
for made in (OP, LIKE):
    made.equivalent(
        "subnormal_inputs_flushed",
        "subnormal numbers that are computed with may be flushed, but for those of float16",
        *("bfloat16", "float32", "float64"),
    )
    for called in ("default_saturate_2", "invalid_saturate_is_0_or_1", "saturate_in_32_bits"):
        made.equivalent(called, "nothing is said of other values than 0 and 1")
    made.equivalent("default_saturate_0", "no number is out of range", *_WITHIN)
    for called in ("saturate_ignored", "saturate_one_larger", "saturate_one_smaller"):
        made.equivalent(called, "no number is out of range", "bool", *_OLDER)
    made.equivalent("round_mode_ignored", "there are powers of two alone", *_POWERS)
