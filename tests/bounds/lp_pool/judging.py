"""What the product says of an answer to some windows, by its own path from exact value to verdict.

Windows of shape (n, K) go in as one channel of n·K elements, pooled with kernel and stride K.
"""

from collections.abc import Collection
from dataclasses import dataclass

from opcheck.compare import Want, compare
from opcheck.engine import Expected, Node, exactly
from opcheck.model import Comparison, OpVersion
from tests.bounds.arithmetic import Array


@dataclass(frozen=True, eq=False)
class Question:
    """Windows of shape (n, K), p, and the exact answer."""

    x: Array
    p: float
    exact: Expected

    def judge(self, got: Array, declared: Collection[str] = ()) -> Comparison:
        """What is said of the n norms `got`, with no tolerance but the operator's bound."""
        want = Want(
            "Y",
            self.exact.dtype,
            self.exact.values,
            low=0.0,
            bound=self.exact,
            rest=self.exact.rest,
        )
        return compare(want, got.reshape(1, 1, -1), declared=declared)


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
