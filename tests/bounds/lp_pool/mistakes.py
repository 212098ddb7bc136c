"""LpPool with one mistake of a known size each, which a good bound has to see.

Like `implementations`, each takes windows of shape (n, K) and p and answers in their dtype. All
else is computed in float64, so that whatever is seen is the mistake.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opcheck.engine import generic
from opcheck.engine.ops.lp_pool import mistakes as products
from tests.bounds.arithmetic import Array
from tests.bounds.lp_pool.implementations import Implementation
from tests.bounds.lp_pool.judging import node
from tests.bounds.lp_pool.steps import power, root


def _changed(
    before: Callable[[Array], Array] = lambda x: x,
    total: Callable[[Array], Array] = lambda s: s,
    after: Callable[[Array], Array] = lambda y: y,
) -> Implementation:
    def run(x: Array, p: float) -> Array:
        s = power(np.abs(before(x.astype(np.float64))), p).sum(-1)
        y: Array = after(root(total(s), p)).astype(x.dtype)
        return y

    return run


def relative(error: float) -> Implementation:
    return _changed(after=lambda y: y * (1 + error))


def of_the_product(name: str) -> Implementation:
    """One of the product's own mistakes."""
    every = (*products.MISTAKES, *generic.MISTAKES)
    [mistake] = [mistake for mistake in every if mistake.name == name]
    return lambda x, p: mistake.answer(node(x, p))[0].reshape(-1)


def inputs_cut(bits: int) -> Implementation:
    """As hardware does that drops the low bits."""

    def cut(x: Array) -> Array:
        mantissa, exponent = np.frexp(x)
        return np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)

    return _changed(before=cut)


MISTAKES: dict[str, Implementation] = {
    "relative 1e-3": relative(1e-3),
    "relative 1e-4": relative(1e-4),
    "relative 1e-5": relative(1e-5),
    "relative 3e-6": relative(3e-6),
    "relative 1.5e-6": relative(1.5e-6),
    "sum + 1e-5": of_the_product("epsilon_of_1e_5"),
    "sum + 1e-6": _changed(total=lambda s: s + 1e-6),
    "sum + 1e-12": of_the_product("epsilon_of_1e_12"),
    "sum in float16": of_the_product("sums_in_float16"),
    "sum in bfloat16": of_the_product("sums_in_bfloat16"),
    "inputs in bfloat16": of_the_product("input_in_bfloat16"),
    "inputs in tf32": of_the_product("values_in_tf32"),
    "inputs cut to tf32": inputs_cut(11),
    "1/p in float16": of_the_product("inverse_of_p_in_float16"),
    "1/p to 6 decimals": of_the_product("inverse_of_p_of_6_digits"),
    "root good to 12 bits": of_the_product("root_of_12_bits"),
    "root good to 16 bits": of_the_product("root_of_16_bits"),
    "powers good to 12 bits": of_the_product("powers_of_12_bits"),
    "powers good to 16 bits": of_the_product("powers_of_16_bits"),
    "p truncated": of_the_product("p_cut"),
}
