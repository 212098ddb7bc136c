"""LpPool in the input's dtype, float32 inside for the types of 16 bits."""

from __future__ import annotations

from opcheck.engine.ops.lp_pool.exact import exact
from opcheck.engine.ops.lp_pool.kernels import Pooling
from opcheck.model import Array


def native(plan: Pooling, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    return (exact(plan, X)[0].rounded(),)
