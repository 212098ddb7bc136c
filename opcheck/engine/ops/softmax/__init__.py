"""Softmax: e^x of each element of a row, normalised by the row's sum of them."""

from __future__ import annotations

from opcheck.engine.ops.softmax.exact import exact
from opcheck.engine.ops.softmax.kernels import softmax_1, softmax_11, softmax_13
from opcheck.engine.ops.softmax.native import native
from opcheck.engine.registry import FLOATS, Kernel, Operator

OPERATOR = Operator(
    domain="",
    name="Softmax",
    kernels={
        1: Kernel(softmax_1, FLOATS),
        11: Kernel(softmax_11, FLOATS),
        13: Kernel(softmax_13, ("bfloat16", *FLOATS)),
    },
    exact=exact,
    native=native,
    low=0.0,
    high=1.0,
    rounded=True,
)
