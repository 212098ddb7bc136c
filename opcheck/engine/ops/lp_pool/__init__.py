"""LpPool: the p-norm of every window, y = (Σ |x|^p)^(1/p)."""

from __future__ import annotations

from opcheck.engine.ops.lp_pool.exact import exact
from opcheck.engine.ops.lp_pool.kernels import lp_pool_1, lp_pool_2, lp_pool_18
from opcheck.engine.ops.lp_pool.native import native
from opcheck.engine.registry import FLOATS, Kernel, Operator

OPERATOR = Operator(
    domain="",
    name="LpPool",
    kernels={
        1: Kernel(lp_pool_1, FLOATS),
        2: Kernel(lp_pool_2, FLOATS),
        11: Kernel(lp_pool_2, FLOATS),
        18: Kernel(lp_pool_18, FLOATS),
        22: Kernel(lp_pool_18, ("bfloat16", *FLOATS)),
    },
    exact=exact,
    native=native,
    low=0.0,
    rounded=True,
)
