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


OP.formula(1, 6, 9)(lambda input, *, to: _cast(input, dtypes.named(to), 1, "up", beyond=False))
OP.formula(13, 19, 21, 23, 24, 25, 28)(lambda input, *, to, saturate=1, round_mode="up": _cast(
    input, dtypes.named(to), saturate, round_mode))  # fmt: skip
LIKE.formula(15, 19, 21, 23, 24, 25)(lambda input, target_type, *, saturate=1, round_mode="up": (
    _cast(input, dtypes.of(np.empty(0, target_type.dtype)), saturate, round_mode)))  # fmt: skip
