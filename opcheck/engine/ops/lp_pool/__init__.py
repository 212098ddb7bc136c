"""LpPool: the p-norm of every window, y = (Σ |x|^p)^(1/p)."""

from __future__ import annotations

from opcheck.engine.ops.lp_pool.kernels import lp_pool_1, lp_pool_2, lp_pool_18
from opcheck.engine.registry import Kernel, Operator

_FLOATS = ("float16", "float32", "float64")

OPERATOR = Operator(
    domain="",
    name="LpPool",
    kernels={
        1: Kernel(lp_pool_1, _FLOATS),
        2: Kernel(lp_pool_2, _FLOATS),
        11: Kernel(lp_pool_2, _FLOATS),
        18: Kernel(lp_pool_18, _FLOATS),
        22: Kernel(lp_pool_18, ("bfloat16", *_FLOATS)),
    },
    low=0.0,
    rounded=True,
)
