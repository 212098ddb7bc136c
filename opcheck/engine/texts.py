"""Numbers as texts, by what Cast-9 and later say of them."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from opcheck.dtypes import DType, limits
from opcheck.engine.operators import is_open
from opcheck.errors import NotSupported
from opcheck.model import Array

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,15})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SPECIAL = {"+inf": np.inf, "inf": np.inf, "nan": np.nan}


def each(function: Callable[[Any], Any], x: Array, dtype: Any) -> Array:
    """`function` of every element."""
    made = np.empty(x.size, dtype)
    made[:] = [function(value) for value in x.reshape(-1)]
    return made.reshape(x.shape)


def read(x: Array, dtype: DType) -> Array:
    """The numbers that texts represent, such that rounding them to `dtype` rounds once.

    They are float64 for floating types, else `dtype`. Raises NotSupported for texts of which
    nothing is said: non-numerical ones, floating-point values on the way to an integer, integers
    out of range, and whatever a boolean should be made of.
    """
    if dtype.kind in ("float", "minifloat"):
        exact = dtype.name == "float64"
        return each(lambda text: _floating(text, exact), x, np.float64)
    if dtype.kind == "bool":
        raise NotSupported("the text does not say which texts are true")
    return each(lambda text: _integer(text, dtype), x, dtype.numpy)


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


def written(x: Array) -> Array:
    """Numbers as texts, of floats in some digits that tell them apart, without an exponent."""
    if x.dtype == np.bool_:
        raise NotSupported("the text does not say what texts booleans become")
    if x.dtype.kind in "iu":
        return each(str, x, object)
    is_open("the text does not say how many digits a float's text has")
    return each(_plain, x, object)


def _plain(value: Any) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, trim="-")
