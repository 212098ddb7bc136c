"""The product's own judgement on what an implementation of Softmax makes of some rows."""

from functools import cache

from opcheck.compare import Want
from opcheck.engine import Expected, operator_of
from opcheck.model import Comparison, OpVersion
from tests.bounds.arithmetic import Array
from tests.bounds.softmax.rows import batch
from tests.computed import exactly

SOFTMAX = OpVersion("", "Softmax", 13)


def want(x: Array) -> Want:
    """What Softmax-13 has to make of the rows `x` (n, N)."""
    operator = operator_of(SOFTMAX)
    (exact,) = exactly(SOFTMAX, [x], {"axis": -1})
    assert operator is not None
    assert isinstance(exact, Expected)
    low, high = operator.low, operator.high
    return Want("y", exact.dtype, exact.values, low, high, exact, exact.rest)


@cache
def want_of_batch(dtype: str, columns: int) -> Want:
    return want(batch(dtype, columns))


def told(found: Comparison) -> str:
    """What is held against an implementation, for the message of a test; empty if nothing is."""
    if found.problem is None:
        return ""
    worst = f", e.g. {found.worst[0]}" if found.worst else ""
    return f"{found.problem} at {found.tier} {found.remark}: {found.detail} {found.where}{worst}"
