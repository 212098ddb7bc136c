"""What an output must be, by what a case states or the engine answers, in the operator's range."""

from __future__ import annotations

from dataclasses import replace

from opcheck.compare.tensors import Want
from opcheck.dtypes import DType, of
from opcheck.engine import Expected, operator_of
from opcheck.model import Array, OpVersion


def stated_want(op: OpVersion, name: str, values: Array, dtype: DType | None) -> Want:
    """These values; no `dtype` admits any that can hold them."""
    operator = operator_of(op)
    low, high = (operator.low, operator.high) if operator else (None, None)
    return Want(name, dtype, values, low, high)


def computed_want(op: OpVersion, name: str, answer: Array | Expected) -> Want:
    """What the engine's exact mode gives, with its error bound if it has one."""
    if not isinstance(answer, Expected):
        return stated_want(op, name, answer, of(answer))
    want = stated_want(op, name, answer.values, answer.dtype)
    return replace(want, bound=answer, rest=answer.rest)
