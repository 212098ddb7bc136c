"""p-norms to any number of digits, and windows by loops: what the engine is tested against."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine import Expected
from opcheck.model import OpVersion
from tests.computed import exactly

#: The types of each version, from the text.
TYPES = {
    1: ("float16", "float32", "float64"),
    2: ("float16", "float32", "float64"),
    11: ("float16", "float32", "float64"),
    18: ("float16", "float32", "float64"),
    22: ("bfloat16", "float16", "float32", "float64"),
}
VERSIONED = [(version, name) for version, names in TYPES.items() for name in names]


def pooled(version: int, x: Any, **attrs: Any) -> Expected:
    """What the engine answers, unrounded."""
    (out,) = exactly(OpVersion("", "LpPool", version), [x], attrs)
    assert isinstance(out, Expected)
    return out


def tensor(values: Any, name: str = "float32") -> Any:
    """A tensor 1×1×D of these values."""
    return np.array(values, np.float64).astype(DTYPES[name].numpy).reshape(1, 1, -1)


def rows(values: Any, p: float) -> Expected:
    """The norms of rows, (n, K), by the version that admits this p and dtype."""
    version = 22 if p == int(p) else 1
    count, length = values.shape
    attrs = {"kernel_shape": (length,), "strides": (length,), "p": p if version == 1 else int(p)}
    return pooled(version, values.reshape(1, 1, count * length), **attrs)


def norm(values: Iterable[float], p: float) -> Fraction:
    """(Σ |x|^p)^(1/p) to 60 digits, and exactly for p = 1."""
    magnitudes = [Fraction(abs(value)) for value in values if value]
    if p == 1:
        return sum(magnitudes, Fraction(0))
    if not magnitudes:
        return Fraction(0)
    with mpmath.workdps(60):
        exponent = mpmath.mpf(p)
        powers = (mpmath.power(mpmath.mpf(float(value)), exponent) for value in magnitudes)
        root = mpmath.power(mpmath.fsum(powers), 1 / exponent)
        _, mantissa, power, _ = root._mpf_
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


def step(exact: Fraction, dtype: DType) -> Fraction:
    """The distance between the numbers of `dtype` around a positive number."""
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    return Fraction(2) ** max(exponent - dtype.precision + 1, dtype.min_exponent)


def rounded(exact: Fraction, dtype: DType) -> float:
    """A number ≥ 0 in `dtype`, rounded to nearest, ties to even; in Python's integers."""
    if not exact:
        return 0.0
    unit = step(exact, dtype)
    number = round(exact / unit) * unit
    return float(number) if number <= Fraction(limits(dtype)[1]) else math.inf
