"""What the product says of an answer to some windows, by its own path from exact value to verdict.

Windows of shape (n, K) go in as one channel of n·K elements, pooled with kernel and stride K.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from opcheck.compare import Want, compare
from opcheck.engine import Expected, Node
from opcheck.model import Comparison, OpVersion
from tests.bounds.arithmetic import BFLOAT16, Array
from tests.bounds.lp_pool.windows import DISTRIBUTIONS, in_range, windows
from tests.computed import exactly

FLOAT16, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
DTYPES = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)

#: How many windows of each distribution there are for each K.
SIZES = {1: 16, 2: 16, 4: 12, 9: 12, 49: 6, 1000: 2}
POWERS: dict[np.dtype, tuple[float, ...]] = {
    FLOAT32: (1, 2, 2.5, 3, 4, 5, 10),
    FLOAT64: (1, 2, 2.5, 3, 10),
    FLOAT16: (1, 2, 2.5),
    BFLOAT16: (1, 2, 10),
}


@dataclass(frozen=True, eq=False)
class Question:
    """Windows of shape (n, K), p, and the exact answer."""

    x: Array
    p: float
    exact: Expected

    def judge(self, got: Array, declared: Collection[str] = ()) -> Comparison:
        """What is said of the n norms `got`, with no tolerance but the operator's bound."""
        e = self.exact
        want = Want("Y", e.dtype, e.values, low=0.0, bound=e, rest=e.rest)
        return compare(want, got.reshape(1, 1, -1), declared=declared)

    def is_warned_of_range(self, found: Comparison) -> bool:
        """Return True if an answer is right in an arithmetic whose range was left."""
        remarks = {tier.remark for tier in self.exact.tiers() if tier.ranged} - {""}
        return any(found.remark.startswith(remark) for remark in remarks)

    def tiers_named(self, found: Comparison) -> set[str]:
        """Return the names of the arithmetics whose remark an answer has."""
        tiers = [tier for tier in self.exact.tiers() if tier.remark]
        return {tier.name for tier in tiers if tier.remark == found.remark}


def node(x: Array, p: float) -> Node:
    """The p-norms of the rows of `x`; a fractional p needs version 1."""
    n, size = x.shape
    whole = p == int(p)
    op = OpVersion("", "LpPool", 22 if whole else 1)
    attrs = {"kernel_shape": (size,), "strides": (size,), "p": int(p) if whole else p}
    return Node(op, (x.reshape(1, 1, n * size),), attrs)


def ask(x: Array, p: float) -> Question:
    """The question after the p-norms of the rows of `x`."""
    asked = node(x, p)
    (exact,) = exactly(asked.op, asked.inputs, asked.attrs)
    assert isinstance(exact, Expected)
    return Question(x, p, exact)


@cache
def owed(dtype: np.dtype) -> tuple[Question, ...]:
    """Questions whose answers every implementation has the range for."""
    return tuple(ask(x[held], p) for x, p in _windows(dtype) if (held := in_range(x, p)).any())


@cache
def out_of_range(dtype: np.dtype) -> tuple[Question, ...]:
    """Questions on windows whose sums of powers some implementation may not be able to hold."""
    some = ((x, p) for x, p in _windows(dtype) if x.shape[1] in (2, 9, 1000))
    return tuple(ask(x[lost], p) for x, p in some if (lost := ~in_range(x, p)).any())


def _windows(dtype: np.dtype) -> Iterator[tuple[Array, float]]:
    for size, count in SIZES.items():
        for p in POWERS[dtype]:
            made = [windows(name, (count, size), p, dtype) for name in DISTRIBUTIONS]
            yield np.concatenate(made), p
