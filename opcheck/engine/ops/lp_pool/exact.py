"""The exact values of LpPool, with the bound of what correct implementations may make of them."""

from __future__ import annotations

import numpy as np

from opcheck import dtypes
from opcheck.engine.exact import Exact
from opcheck.engine.ops.lp_pool.bound import LpPoolBound
from opcheck.engine.ops.lp_pool.kernels import Pooling
from opcheck.engine.ops.lp_pool.norms import norms
from opcheck.model import Array


def exact(plan: Pooling, X: Array) -> tuple[Exact]:
    """The p-norm of every window, unrounded."""
    dtype = dtypes.of(X)
    assert dtype  # no other types come this far
    with np.errstate(all="ignore"):
        values, rest = norms(X, dtype, plan.p, plan.windows)
    return (Exact(values, dtype, LpPoolBound(dtype, X, plan.p, plan.windows), rest),)
