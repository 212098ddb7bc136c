"""Honest LpPool: implementations as different as legal arithmetic allows.

Each takes windows of shape (n, K), one window a row, and p, computes in the dtype of the windows
and returns the n norms. Engines with 16-bit outputs and float32 inside are the same functions
between two conversions: `inside`. Powers and roots take numbers ≥ 0 and p, and compute in the dtype
of the numbers, as exact and as inexact as libraries and hardware have them.
"""

from collections.abc import Callable
from math import isqrt
from typing import TypeAlias

import numpy as np

from tests.bounds.arithmetic import (
    LIBRARY,
    Array,
    Signs,
    Sum,
    alternating,
    backwards,
    blocks,
    by_value,
    downwards,
    flush,
    kahan,
    lanes,
    off,
    off_exp,
    pairwise,
    sequential,
    upwards,
    wide,
)

Step: TypeAlias = Callable[[Array, float], Array]
Implementation: TypeAlias = Callable[[Array, float], Array]


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


def norm(power: Step, root: Step, total: Sum = sequential) -> Implementation:
    """The formula as it stands: powers, their sum, its root."""
    return lambda x, p: root(total(power(np.abs(x), p)), p)[..., 0]


def inside(implementation: Implementation, dtype: type) -> Implementation:
    """Computed in `dtype`; only the inputs and the answers are in the tensor's."""
    return lambda x, p: implementation(x.astype(dtype), p).astype(x.dtype)


def scaled(implementation: Implementation, reciprocal: bool = False) -> Implementation:
    """Divided by the window's maximum first, multiplied with it last: nothing overflows."""

    def run(x: Array, p: float) -> Array:
        a = np.abs(x)
        most = a.max(-1, keepdims=True)
        most = np.where(most == 0, a.dtype.type(1), most)
        shares = a * (a.dtype.type(1) / most) if reciprocal else a / most
        return implementation(shares, p) * most[..., 0]

    return run


def averaged(total: Sum, reciprocal: bool) -> Sum:
    """The mean of the window times its size, as built upon an average pool."""

    def run(terms: Array) -> Array:
        size = terms.dtype.type(terms.shape[-1])
        s = total(terms)
        return s * (terms.dtype.type(1) / size) * size if reciprocal else s / size * size

    return run


def in_rows(x: Array) -> Array:
    """The windows as if they had two dimensions: shape (n, rows, columns)."""
    size = x.shape[-1]
    rows = next(rows for rows in range(isqrt(size), 0, -1) if size % rows == 0)
    return x.reshape(-1, rows, size // rows)


def separable(terms: Array) -> Array:
    """The sums of the rows, then the sum of these."""
    return sequential(sequential(in_rows(terms))[..., 0])


def row_norms(x: Array, p: float) -> Array:
    """The norms of the rows, then the norm of these."""
    by_rows = norm(squarings, special_root)
    return by_rows(by_rows(in_rows(x), p), p)


def ascending(terms: Array) -> Array:
    return sequential(np.sort(terms, axis=-1))


def flushing(power: Step, root: Step, times: float) -> Implementation:
    """Inputs, terms and answers below `times` the smallest normal number become zero."""

    def run(x: Array, p: float) -> Array:
        terms = flush(power(flush(np.abs(x), times), p), times)
        return flush(root(sequential(terms), p), times)[..., 0]

    return run


def fused(x: Array, p: float) -> Array:
    """a^(p-1)·a is added with one rounding for both."""
    a = np.abs(x)
    heads = np.ones_like(a) if p == 1 else squarings(a, p - 1)
    total = np.zeros_like(a[..., 0])
    for place in range(a.shape[-1]):
        product = wide(heads[..., place]) * wide(a[..., place])
        total = (wide(total) + product).astype(a.dtype)
    return special_root(total, p)


HONEST: dict[str, Implementation] = {
    "sequential, pow": norm(power, root),
    "reversed, multiplied, sqrt and cbrt": norm(factors, special_root, backwards),
    "pairwise, squarings": norm(squarings, special_root, pairwise),
    "8 lanes": norm(squarings, special_root, lanes(8)),
    "blocks of 16": norm(power, root, blocks(16)),
    "ascending": norm(power, root, ascending),
    "Kahan": norm(squarings, special_root, kahan),
    "fused multiply-add": fused,
    "rows, then columns": norm(squarings, special_root, separable),
    "norms of rows, then of columns": row_norms,
    "pow 4 ULP up": norm(off_power(upwards), off_root(upwards)),
    "pow 4 ULP down": norm(off_power(downwards), off_root(downwards), backwards),
    "pow 4 ULP at random": norm(off_power(by_value), off_root(by_value), pairwise),
    "pow 4 ULP, alternating": norm(off_power(alternating), off_root(upwards), lanes(4)),
    "log 1 ULP up": norm(by_logarithm(+1, 1), logarithmic_root(+1, 1)),
    "log 1 ULP down": norm(by_logarithm(-1, 1), logarithmic_root(-1, 1)),
    "log 2 ULP up": norm(by_logarithm(+1, 2), logarithmic_root(+1, 2)),
    "log 2 ULP down": norm(by_logarithm(-1, 2), logarithmic_root(-1, 2), backwards),
    "log 2 ULP, exp 4 ULP up": norm(
        by_logarithm(+1, 2, off_exp(upwards)), logarithmic_root(+1, 2, off_exp(upwards))
    ),
    "log 2 ULP, exp 4 ULP down": norm(
        by_logarithm(-1, 2, off_exp(downwards)), logarithmic_root(-1, 2, off_exp(downwards))
    ),
    "exp2 of log2": norm(by_base_two, root_of_base_two),
    "exp of log, divided": norm(by_logarithm(0, 0), dividing_root, pairwise),
    "rsqrt": norm(squarings, reciprocal_root),
    "scaled": scaled(norm(squarings, special_root)),
    "scaled by the reciprocal, pow 4 ULP up": scaled(
        norm(off_power(upwards), off_root(upwards)), reciprocal=True
    ),
    "scaled, log 2 ULP up": scaled(norm(by_logarithm(+1, 2), logarithmic_root(+1, 2))),
    "average / K · K": norm(power, root, averaged(sequential, reciprocal=False)),
    "average · (1/K) · K, pow 4 ULP down": norm(
        off_power(downwards), off_root(downwards), averaged(sequential, reciprocal=True)
    ),
    "flushed": flushing(squarings, special_root, 1),
    "flushed early, pow 4 ULP down": flushing(off_power(downwards), off_root(downwards), 2),
}
