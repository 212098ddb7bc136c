"""LpPool with one mistake of a known size each, which a good bound has to see.

Like `implementations`, each takes windows of shape (n, K) and p and answers in their dtype. All
else is computed in float64, so that whatever is seen is the mistake.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.bounds.arithmetic import (
    BFLOAT16,
    Array,
    by_value,
    keep_bits,
    sequential,
    through,
    truncated,
)
from tests.bounds.lp_pool.implementations import Implementation, norm
from tests.bounds.lp_pool.steps import power, root

FLOAT16 = np.dtype(np.float16)

_right = norm(power, root)


def _changed(
    before: Callable[[Array], Array] = lambda x: x,
    terms: Callable[[Array], Array] = lambda terms: terms,
    total: Callable[[Array], Array] = lambda terms: terms.sum(-1, keepdims=True),
    after: Callable[[Array], Array] = lambda y: y,
) -> Implementation:
    return lambda x, p: after(
        root(total(terms(power(np.abs(before(x.astype(np.float64))), p))), p)[..., 0]
    ).astype(x.dtype)


def relative(error: float) -> Implementation:
    return _changed(after=lambda y: y * (1 + error))


def sum_plus(epsilon: float) -> Implementation:
    return _changed(total=lambda terms: terms.sum(-1, keepdims=True) + epsilon)


def sum_in(dtype: np.dtype) -> Implementation:
    def total(terms: Array) -> Array:
        with np.errstate(over="ignore"):
            return sequential(terms.astype(dtype)).astype(np.float64)

    return _changed(total=total)


def inputs_of(bits: int) -> Implementation:
    return _changed(before=lambda x: keep_bits(x, bits))


def inputs_cut(bits: int) -> Implementation:
    """As hardware does that drops the low bits."""

    def cut(x: Array) -> Array:
        mantissa, exponent = np.frexp(x)
        return np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)

    return _changed(before=cut)


def good_to(bits: int) -> Callable[[Array], Array]:
    """As a table or a short polynomial: off by a part in 2^bits, one way or the other."""
    return lambda values: values * (1 + by_value(values) * 2.0**-bits)


def powers_good_to(bits: int) -> Implementation:
    return _changed(terms=good_to(bits))


def root_good_to(bits: int) -> Implementation:
    """p = 1 needs no root."""

    def run(x: Array, p: float) -> Array:
        return (_right if p == 1 else _changed(after=good_to(bits)))(x, p)

    return run


def part(rounding: Callable[[Array], Array]) -> Implementation:
    """1/p rounded as `rounding` does."""

    def run(x: Array, p: float) -> Array:
        s = power(np.abs(x.astype(np.float64)), p).sum(-1)
        return (s ** rounding(np.array(1 / p))).astype(x.dtype)

    return run


def whole_p(x: Array, p: float) -> Array:
    return _changed()(x, int(p))


def truncating(x: Array, p: float) -> Array:
    """The answer of a 16-bit dtype cut off instead of rounded."""
    return truncated(norm(power, root)(x.astype(np.float64), p), x.dtype)


MISTAKES: dict[str, Implementation] = {
    "relative 1e-3": relative(1e-3),
    "relative 1e-4": relative(1e-4),
    "relative 1e-5": relative(1e-5),
    "relative 3e-6": relative(3e-6),
    "relative 1.5e-6": relative(1.5e-6),
    "sum + 1e-5": sum_plus(1e-5),
    "sum + 1e-6": sum_plus(1e-6),
    "sum + 1e-12": sum_plus(1e-12),
    "sum in float16": sum_in(FLOAT16),
    "sum in bfloat16": sum_in(BFLOAT16),
    "inputs in bfloat16": inputs_of(8),
    "inputs in tf32": inputs_of(11),
    "inputs cut to tf32": inputs_cut(11),
    "1/p in float16": part(through(FLOAT16)),
    "1/p in bfloat16": part(through(BFLOAT16)),
    "1/p to 6 decimals": part(lambda q: np.round(q, 6)),
    "root good to 2^-12": root_good_to(12),
    "root good to 2^-16": root_good_to(16),
    "pow good to 2^-12": powers_good_to(12),
    "pow good to 2^-16": powers_good_to(16),
    "p truncated": whole_p,
}
