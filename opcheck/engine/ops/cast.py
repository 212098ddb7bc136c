"""Cast (1 to 28) and CastLike (15 to 25): the elements in another type, each value rounded once."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, NARROW, DType, limits, round_to
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array
from opcheck.numbers import primitive
from opcheck.numbers.faulty import bare

#: Every integer up to here is a number of float64.
_EXACT = 1 << 53


def check_castable(dtype: DType | None) -> None:
    """Raise NotSupported for complex numbers."""
    if dtype is None or dtype.kind == "complex":
        raise NotSupported(f"unsupported by opcheck: casts of {dtype}")


@primitive
def cast_to(x: Array, dtype: DType) -> Array:
    """`x` in another type.

    Floats are rounded to nearest, ties to even, and infinite where they are out of range. To
    integers they are cut off; where these cannot hold them, nothing is said of the result, and they
    come out as the nearest end, NaN as 0. Integers keep their lowest bits. Raises NotSupported for
    texts of which the standard says nothing.
    """
    check_castable(own := dtypes.of(x))
    check_castable(dtype)
    if own and own.kind == "string" and dtype != own:
        x = _read(x, dtype)
    if own and own.name in NARROW:
        x = x.astype(np.int8 if own.kind == "int" else np.float64)
    match dtype.kind:
        case "string":
            return x if x.dtype == object else _written(x)
        case "bool":
            return np.asarray(x != 0)
        case "int" if x.dtype.kind in "biu":
            return x.astype(dtype.numpy)
        case "int":
            # ONNX's node tests have the lowest bits of what types of 4 and 2 bits cannot hold.
            whole = _cut_off(x.astype(np.float64), DTYPES["int64"] if dtype.bits < 8 else dtype)
            return whole.astype(dtype.numpy)
        case _ if dtype.name == "float64" or x.dtype == dtype.numpy:
            return x.astype(dtype.numpy)
        case _:
            return round_to(_as_float64(x), dtype)


def to_minifloat(x: Array, dtype: DType, saturate: int, round_mode: str) -> Array:
    """Numbers of float64 in a type of 8 bits or less, rounded to nearest, ties to even.

    In float8e8m0, which has powers of two alone, as `round_mode` says. Out of range they come out
    as the nearest end where they `saturate`; nothing is said of types that are not of 8 bits.
    """
    low, high = limits(dtype)
    outside = (x < low) | (x > high)
    if saturate:
        x = np.clip(x, low, high)
    if dtype.name == "float8e8m0":
        part, exponent = np.frexp(x)
        up = {"up": part > 0.5, "down": part >= 1, "nearest": part >= 0.75}  # Of 0.5 to 1.
        if round_mode not in up:
            raise InvalidNode(f"round_mode {round_mode!r}; allowed: {', '.join(up)}")
        x = np.where(np.isnan(x), x, np.ldexp(1.0, exponent - 1 + up[round_mode]))
        x = x if saturate else np.where(outside, np.nan, x)
    return round_to(x, dtype)


def _as_float64(x: Array) -> Array:
    """`x` in float64; integers beyond 2^53 by rounding to odd, which a later rounding undoes.

    Of the two neighbors in float64, that one is taken whose last digit is odd: rounded again, to
    two digits less or fewer, it gives what the integer itself gives.
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    low = x & x.dtype.type(0x7FF)
    odd = (x - low) | ((low != 0).astype(x.dtype) << x.dtype.type(11))
    exact = (x <= _EXACT) & (x >= (-_EXACT if x.dtype.kind == "i" else 0))
    return np.where(exact, x, odd).astype(np.float64)


def _cut_off(x: Array, dtype: DType) -> Array:
    low, high = map(int, limits(dtype))
    values = np.trunc(np.where(np.isnan(x), 0.0, x))
    # The largest number of 64 bits is none of float64, but one more is.
    inside = (values >= low) & (values < high + 1)
    whole = np.where(inside, values, 0.0).astype(np.int64 if low else np.uint64)
    ends = np.where(values < 0, np.array(low, dtype.numpy), np.array(high, dtype.numpy))
    return np.where(inside, whole.astype(dtype.numpy), ends)


def cast_any(x: Any, dtype: DType, saturate: int = 1, round_mode: str = "up") -> Any:
    """`x`, of any kind of numbers, in another type."""
    plain = bare(x)
    if isinstance(plain, np.ndarray):
        if dtype.kind == "minifloat" and dtypes.of(plain) != dtype:
            check_castable(own := dtypes.of(plain))
            if own and own.kind == "string":
                plain = _read(plain, dtype)
            return to_minifloat(_as_float64(plain), dtype, saturate, round_mode)
        return xp.astype(cast_to(plain, dtype), dtype.numpy)
    check_castable(dtype)
    return xp.astype(x, dtype.numpy)


# Numbers as texts, by what Cast-9 and later say of them.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,15})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SPECIAL = {"+inf": np.inf, "inf": np.inf, "nan": np.nan}


def _each(function: Callable[[Any], Any], x: Array, dtype: Any) -> Array:
    """`function` of every element."""
    made = np.empty(x.size, dtype)
    made[:] = [function(value) for value in x.reshape(-1)]
    return made.reshape(x.shape)


def _read(x: Array, dtype: DType) -> Array:
    """The numbers that texts represent, such that rounding them to `dtype` rounds once.

    They are float64 for floating types, else `dtype`. Raises NotSupported for texts of which
    nothing is said: non-numerical ones, floating-point values on the way to an integer, integers
    out of range, and whatever a boolean should be made of.
    """
    if dtype.kind in ("float", "minifloat"):
        exact = dtype.name == "float64"
        return _each(lambda text: _floating(text, exact), x, np.float64)
    if dtype.kind == "bool":
        raise NotSupported("the text does not say which texts are true")
    return _each(lambda text: _integer(text, dtype), x, dtype.numpy)


@lru_cache(1 << 16)  # A case is evaluated on the same texts several times.
def _floating(text: str, nearest: bool) -> float:
    """The nearest float64 of a number, or of the two next to it the one whose last digit is odd."""
    if text == "-INF":  # It alone is said in capitals.
        return -np.inf
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if not _NUMBER.fullmatch(text):
        raise NotSupported(f"opcheck reads no number in {text!r}")
    value, exact = float(text), Decimal(text)
    if nearest or Decimal(value) == exact or np.float64(value).view(np.int64) & 1:
        return value
    return float(np.nextafter(value, np.inf if exact > Decimal(value) else -np.inf))


def _integer(text: str, dtype: DType) -> int:
    low, high = limits(dtype)
    if not _WHOLE.fullmatch(text) or not low <= (exact := Decimal(text)) <= high:
        raise NotSupported(f"nothing is said of converting {text!r} to {dtype}")
    return int(exact)


def _written(x: Array) -> Array:
    """Numbers as texts, of floats in some digits that tell them apart, without an exponent."""
    if x.dtype == np.bool_:
        raise NotSupported("the text does not say what texts booleans become")
    if x.dtype.kind in "iu":
        return _each(str, x, object)
    is_open("the text does not say how many digits a float's text has")
    return _each(_plain, x, object)


def _plain(value: Any) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, trim="-")


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
