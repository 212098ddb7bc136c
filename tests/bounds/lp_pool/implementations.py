"""Honest LpPool: implementations as different as legal arithmetic allows.

Each takes windows of shape (n, K), one window a row, and p, computes in the dtype of the windows
and returns the n norms. Engines with 16-bit outputs and float32 inside are the same functions
between two conversions: `inside`. Powers and roots take numbers ≥ 0 and p, and compute in the dtype
of the numbers, as exact and as inexact as libraries and hardware have them.
"""

from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import TypeAlias

import numpy as np

from tests.bounds import arithmetic as ar

Step: TypeAlias = Callable[[ar.Array, float], ar.Array]
Implementation: TypeAlias = Callable[[ar.Array, float], ar.Array]


def power(a: ar.Array, p: float) -> ar.Array:
    return np.power(a, a.dtype.type(p))


def squarings(a: ar.Array, p: float) -> ar.Array:
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


def factors(a: ar.Array, p: float) -> ar.Array:
    """a·a·a…, and pow where p is no whole number."""
    if p != int(p):
        return power(a, p)
    product = a
    for _ in range(int(p) - 1):
        product = product * a
    return product


def off_power(signs: ar.Signs, roundoffs: float = ar.LIBRARY) -> Step:
    """A pow, or any other function for the same, that is wrong by as much as it may be."""
    return lambda a, p: ar.off(ar.wide(a) ** p, a.dtype, roundoffs, signs(a))


def by_logarithm(
    towards: float = 0, ulps: float = 2, exp: Callable[[ar.Array], ar.Array] = np.exp
) -> Step:
    """exp(p·log a), as where there is no pow.

    The logarithm is wrong by as many `ulps`, always `towards` +1 or -1, so that its errors add up.
    """
    return lambda a, p: exp(a.dtype.type(p) * off_log(a, towards, ulps))


def off_log(a: ar.Array, towards: float, ulps: float) -> ar.Array:
    """log(a) off by `ulps`, one ULP being up to two unit roundoffs, upwards or downwards."""
    return ar.off(np.log(ar.wide(a)), a.dtype, 2 * ulps, towards * np.where(a < 1, -1.0, 1.0))


def by_base_two(a: ar.Array, p: float) -> ar.Array:
    """exp2(p·log2 a), as in shading languages."""
    return np.exp2(a.dtype.type(p) * np.log2(a))


def root(s: ar.Array, p: float) -> ar.Array:
    """pow with 1/p, which is rounded."""
    return np.power(s, s.dtype.type(1) / s.dtype.type(p))


def special_root(s: ar.Array, p: float) -> ar.Array:
    """Nothing for p = 1, sqrt for 2, cbrt for 3."""
    if p == 1:
        return s
    return np.sqrt(s) if p == 2 else np.cbrt(s) if p == 3 else root(s, p)


def off_root(signs: ar.Signs, roundoffs: float = ar.LIBRARY) -> Step:
    def taken(s: ar.Array, p: float) -> ar.Array:
        part = ar.wide(s.dtype.type(1) / np.full(1, p, s.dtype))
        return ar.off(ar.wide(s) ** part, s.dtype, roundoffs, signs(s))

    return taken


def logarithmic_root(
    towards: float = 0, ulps: float = 2, exp: Callable[[ar.Array], ar.Array] = np.exp
) -> Step:
    """exp(log(s)·(1/p)), the logarithm wrong as in `by_logarithm`."""
    return lambda s, p: exp(off_log(s, towards, ulps) * (s.dtype.type(1) / s.dtype.type(p)))


def dividing_root(s: ar.Array, p: float) -> ar.Array:
    """exp(log(s)/p)."""
    return np.exp(np.log(s) / s.dtype.type(p))


def root_of_base_two(s: ar.Array, p: float) -> ar.Array:
    return np.exp2(np.log2(s) * (s.dtype.type(1) / s.dtype.type(p)))


def reciprocal_root(s: ar.Array, p: float) -> ar.Array:
    """s·rsqrt(s) for p = 2, with the 2 ULP of a hardware rsqrt and its refinement."""
    if p != 2:
        return root(s, p)
    positive = np.where(s > 0, s, s.dtype.type(1))
    return np.where(s > 0, s * ar.off(1 / np.sqrt(ar.wide(positive)), s.dtype, 4, ar.upwards(s)), s)


def norm(power: Step, root: Step, total: ar.Sum = ar.sequential) -> Implementation:
    """The formula as it stands: powers, their sum, its root."""
    return lambda x, p: root(total(power(np.abs(x), p)), p)[..., 0]


def inside(implementation: Implementation, dtype: type) -> Implementation:
    """Computed in `dtype`; only the inputs and the answers are in the tensor's."""
    return lambda x, p: implementation(x.astype(dtype), p).astype(x.dtype)


def scaled(implementation: Implementation, reciprocal: bool = False) -> Implementation:
    """Divided by the window's maximum first, multiplied with it last: nothing overflows."""

    def run(x: ar.Array, p: float) -> ar.Array:
        a = np.abs(x)
        most = a.max(-1, keepdims=True)
        most = np.where(most == 0, a.dtype.type(1), most)
        shares = a * (a.dtype.type(1) / most) if reciprocal else a / most
        return implementation(shares, p) * most[..., 0]

    return run


def averaged(reciprocal: bool, terms: ar.Array) -> ar.Array:
    """The mean of the window times its size, as built upon an average pool."""
    size, s = terms.dtype.type(terms.shape[-1]), ar.sequential(terms)
    return s * (terms.dtype.type(1) / size) * size if reciprocal else s / size * size


def in_rows(x: ar.Array) -> ar.Array:
    """The windows as if they had two dimensions: shape (n, rows, columns)."""
    size = x.shape[-1]
    rows = next(rows for rows in range(isqrt(size), 0, -1) if size % rows == 0)
    return x.reshape(-1, rows, size // rows)


def separable(terms: ar.Array) -> ar.Array:
    """The sums of the rows, then the sum of these."""
    return ar.sequential(ar.sequential(in_rows(terms))[..., 0])


def row_norms(x: ar.Array, p: float) -> ar.Array:
    """The norms of the rows, then the norm of these."""
    by_rows = norm(squarings, special_root)
    return by_rows(by_rows(in_rows(x), p), p)


def ascending(terms: ar.Array) -> ar.Array:
    return ar.sequential(np.sort(terms, axis=-1))


def flushing(power: Step, root: Step, times: float, x: ar.Array, p: float) -> ar.Array:
    """Inputs, terms and answers below `times` the smallest normal number become zero."""
    terms = ar.flush(power(ar.flush(np.abs(x), times), p), times)
    return ar.flush(root(ar.sequential(terms), p), times)[..., 0]


def fused(x: ar.Array, p: float) -> ar.Array:
    """a^(p-1)·a is added with one rounding for both."""
    a = np.abs(x)
    heads = np.ones_like(a) if p == 1 else squarings(a, p - 1)
    total = np.zeros_like(a[..., 0])
    for place in range(a.shape[-1]):
        product = ar.wide(heads[..., place]) * ar.wide(a[..., place])
        total = (ar.wide(total) + product).astype(a.dtype)
    return special_root(total, p)


HONEST: dict[str, Implementation] = {
    "sequential, pow": norm(power, root),
    "reversed, multiplied, sqrt and cbrt": norm(factors, special_root, ar.backwards),
    "pairwise, squarings": norm(squarings, special_root, ar.pairwise),
    "8 lanes": norm(squarings, special_root, ar.lanes(8)),
    "blocks of 16": norm(power, root, ar.blocks(16)),
    "ascending": norm(power, root, ascending),
    "Kahan": norm(squarings, special_root, ar.kahan),
    "fused multiply-add": fused,
    "rows, then columns": norm(squarings, special_root, separable),
    "norms of rows, then of columns": row_norms,
    "pow 4 ULP up": norm(off_power(ar.upwards), off_root(ar.upwards)),
    "pow 4 ULP down": norm(off_power(ar.downwards), off_root(ar.downwards), ar.backwards),
    "pow 4 ULP at random": norm(off_power(ar.by_value), off_root(ar.by_value), ar.pairwise),
    "pow 4 ULP, alternating": norm(off_power(ar.alternating), off_root(ar.upwards), ar.lanes(4)),
    "log 1 ULP up": norm(by_logarithm(+1, 1), logarithmic_root(+1, 1)),
    "log 1 ULP down": norm(by_logarithm(-1, 1), logarithmic_root(-1, 1)),
    "log 2 ULP up": norm(by_logarithm(+1, 2), logarithmic_root(+1, 2)),
    "log 2 ULP down": norm(by_logarithm(-1, 2), logarithmic_root(-1, 2), ar.backwards),
    "log 2 ULP, exp 4 ULP up": norm(
        by_logarithm(+1, 2, ar.off_exp(ar.upwards)), logarithmic_root(+1, 2, ar.off_exp(ar.upwards))
    ),
    "log 2 ULP, exp 4 ULP down": norm(
        by_logarithm(-1, 2, ar.off_exp(ar.downwards)),
        logarithmic_root(-1, 2, ar.off_exp(ar.downwards)),
    ),
    "exp2 of log2": norm(by_base_two, root_of_base_two),
    "exp of log, divided": norm(by_logarithm(0, 0), dividing_root, ar.pairwise),
    "rsqrt": norm(squarings, reciprocal_root),
    "scaled": scaled(norm(squarings, special_root)),
    "scaled by the reciprocal, pow 4 ULP up": scaled(
        norm(off_power(ar.upwards), off_root(ar.upwards)), reciprocal=True
    ),
    "scaled, log 2 ULP up": scaled(norm(by_logarithm(+1, 2), logarithmic_root(+1, 2))),
    "average / K · K": norm(power, root, partial(averaged, False)),
    "average · (1/K) · K, pow 4 ULP down": norm(
        off_power(ar.downwards), off_root(ar.downwards), partial(averaged, True)
    ),
    "flushed": partial(flushing, squarings, special_root, 1),
    "flushed early, pow 4 ULP down": partial(
        flushing, off_power(ar.downwards), off_root(ar.downwards), 2
    ),
}
