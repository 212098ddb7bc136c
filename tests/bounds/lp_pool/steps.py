"""Powers and roots, as exact and as inexact as libraries and hardware have them.

Each takes numbers ≥ 0 and p, and computes in the dtype of the numbers.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tests.bounds.arithmetic import LIBRARY, Array, Signs, off, upwards, wide

Step: TypeAlias = Callable[[Array, float], Array]

# ── powers ────────────────────────────────────────────────────────────────────────────────────


def power(a: Array, p: float) -> Array:
    return np.power(a, a.dtype.type(p))


def squarings(a: Array, p: float) -> Array:
    """The powers a, a², a⁴, … multiplied as the bits of a whole p say."""
    if p != int(p):
        return power(a, p)
    product, square = None, a
    for bit in reversed(f"{int(p):b}"):
        if bit == "1":
            product = square if product is None else product * square
        square = square * square
    assert product is not None
    return product


def factors(a: Array, p: float) -> Array:
    """a·a·a…, and pow where p is no whole number."""
    if p != int(p):
        return power(a, p)
    product = a
    for _ in range(int(p) - 1):
        product = product * a
    return product


def off_power(signs: Signs, roundoffs: float = LIBRARY) -> Step:
    """A pow, or any other function for the same, that is wrong by as much as it may be."""
    return lambda a, p: off(wide(a) ** p, a.dtype, roundoffs, signs(a))


def by_logarithm(
    towards: float = 0, ulps: float = 2, exp: Callable[[Array], Array] = np.exp
) -> Step:
    """exp(p·log a), as where there is no pow.

    The logarithm is wrong by as many `ulps`, always `towards` +1 or -1, so that its errors add up.
    """

    def raised(a: Array, p: float) -> Array:
        return exp(a.dtype.type(p) * off_log(a, towards, ulps))

    return raised


def off_log(a: Array, towards: float, ulps: float) -> Array:
    """log(a) off by `ulps`, one ULP being up to two unit roundoffs, upwards or downwards."""
    return off(np.log(wide(a)), a.dtype, 2 * ulps, towards * np.where(a < 1, -1.0, 1.0))


def by_base_two(a: Array, p: float) -> Array:
    """exp2(p·log2 a), as in shading languages."""
    return np.exp2(a.dtype.type(p) * np.log2(a))


# ── roots ─────────────────────────────────────────────────────────────────────────────────────


def root(s: Array, p: float) -> Array:
    """pow with 1/p, which is rounded."""
    return np.power(s, s.dtype.type(1) / s.dtype.type(p))


def special_root(s: Array, p: float) -> Array:
    """Nothing for p = 1, sqrt for 2, cbrt for 3."""
    if p == 1:
        return s
    return np.sqrt(s) if p == 2 else np.cbrt(s) if p == 3 else root(s, p)


def off_root(signs: Signs, roundoffs: float = LIBRARY) -> Step:
    def taken(s: Array, p: float) -> Array:
        part = wide(s.dtype.type(1) / np.full(1, p, s.dtype))
        return off(wide(s) ** part, s.dtype, roundoffs, signs(s))

    return taken


def logarithmic_root(
    towards: float = 0, ulps: float = 2, exp: Callable[[Array], Array] = np.exp
) -> Step:
    """exp(log(s)·(1/p)), the logarithm wrong as in `by_logarithm`."""

    def taken(s: Array, p: float) -> Array:
        return exp(off_log(s, towards, ulps) * (s.dtype.type(1) / s.dtype.type(p)))

    return taken


def dividing_root(s: Array, p: float) -> Array:
    """exp(log(s)/p)."""
    return np.exp(np.log(s) / s.dtype.type(p))


def root_of_base_two(s: Array, p: float) -> Array:
    return np.exp2(np.log2(s) * (s.dtype.type(1) / s.dtype.type(p)))


def reciprocal_root(s: Array, p: float) -> Array:
    """s·rsqrt(s) for p = 2, with the 2 ULP of a hardware rsqrt and its refinement."""
    if p != 2:
        return root(s, p)
    positive = np.where(s > 0, s, s.dtype.type(1))
    return np.where(s > 0, s * off(1 / np.sqrt(wide(positive)), s.dtype, 4, upwards(s)), s)
