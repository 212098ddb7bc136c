"""What an output must be, by what a case states or the engine answers, in the operator's range."""

from __future__ import annotations

from dataclasses import replace

from opcheck.compare.tensors import Want
from opcheck.dtypes import DType, of, round_to
from opcheck.engine import Expected, operator_of
from opcheck.model import Array, OpVersion
from opcheck.numbers.arithmetic import expected


def stated_want(op: OpVersion, name: str, values: Array, dtype: DType | None) -> Want:
    """These values; no `dtype` admits any that can hold them.

    Where the operator's answers are rounded, its floor holds beside whatever tolerance is stated.
    """
    operator = operator_of(op)
    if operator is None:
        return Want(name, dtype, values)
    floored = not operator.exact and dtype is not None and dtype.kind == "float"
    floor = expected(dtype).floor if floored and dtype else 0.0
    return Want(name, dtype, values, operator.low, operator.high, floor=floor)


def in_its_dtype(want: Want) -> Array:
    """The values that are stated, rounded; raises ValueError where the dtype is not known."""
    dtype = want.dtype or of(want.values)
    if want.dtype is None and want.values.dtype == "float64":
        raise ValueError(f"{want.name}: only the backend's answer tells its dtype: state it")
    if dtype is not None and dtype.kind == "complex":
        return want.values.astype(dtype.numpy)
    if dtype is None or want.values.dtype == dtype.numpy or dtype.kind != "float":
        return want.values
    return round_to(want.values.astype("float64"), dtype)


def computed_want(op: OpVersion, name: str, answer: Array | Expected) -> Want:
    """What the engine's exact mode gives, with its error bound if it has one."""
    if not isinstance(answer, Expected):
        return stated_want(op, name, answer, of(answer))
    want = stated_want(op, name, answer.values, answer.dtype)
    return replace(want, bound=answer, rest=answer.rest)
