"""Hardmax: one at the first maximum along an axis, zero elsewhere."""

from __future__ import annotations

from opcheck.engine.ops.hardmax.exact import exact
from opcheck.engine.ops.hardmax.kernels import hardmax_1, hardmax_11, hardmax_13
from opcheck.engine.ops.hardmax.native import native
from opcheck.engine.registry import FLOATS, Kernel, Operator

OPERATOR = Operator(
    domain="",
    name="Hardmax",
    kernels={
        1: Kernel(hardmax_1, FLOATS),
        11: Kernel(hardmax_11, FLOATS),
        13: Kernel(hardmax_13, ("bfloat16", *FLOATS)),
    },
    exact=exact,
    native=native,
    low=0.0,
    high=1.0,
)
