"""What readings of ONNX's text share: the shipped cases, and the comparison with the engine."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

import ml_dtypes
import numpy as np
import onnx.defs

import opcheck
from opcheck import dtypes
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question
from opcheck.model import Case, Typed

#: How cases of an operator came out the last time: agreed, forbidden, open by rule, unsupported.
counts: dict[str, Counter[str]] = {}
_RELATIVE = {
    "float64": 1e-10,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float16": 2e-3,
    "bfloat16": 2e-2,
}


class Open(Exception):
    """The text does not say it."""


class Forbidden(Exception):
    """The text forbids it."""


def check_types(case: Case, inputs: Sequence[np.ndarray | None]) -> None:
    """Raise Forbidden for a type, an input or an attribute that the operator does not have."""
    schema = onnx.defs.get_schema(case.op.name, case.op.since)
    for name, value in case.attrs.items():
        if name not in schema.attributes or isinstance(value, Typed):
            raise Forbidden(f"attribute {name}: {value!r}")
    if missing := [a for a, s in schema.attributes.items() if s.required and a not in case.attrs]:
        raise Forbidden(f"attributes {missing} are required")
    if len(inputs) > len(schema.inputs):
        raise Forbidden("too many inputs")
    bound: dict[str, str] = {}
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    padded = [*inputs, *[None] * (len(schema.inputs) - len(inputs))]
    for declared, array in zip(schema.inputs, padded, strict=True):
        if array is None:
            if declared.option != optional:
                raise Forbidden(f"{declared.name} is left out")
            continue
        dtype = dtypes.of(array)
        text = dtype.text if dtype else str(array.dtype)
        same = bound.setdefault(declared.type_str, text)
        if text not in declared.types or same != text:
            raise Forbidden(f"{declared.name} is {text}")


def differs(mine: np.ndarray, right: np.ndarray) -> str | None:
    """Return how an answer differs from the engine's, or None."""
    if mine.shape != right.shape:
        return f"shape {mine.shape}, the engine's {right.shape}"
    if mine.dtype not in (right.dtype, np.float64, np.complex128):
        return f"dtype {mine.dtype}, the engine's {right.dtype}"
    if (room := _RELATIVE.get(right.dtype.name)) is None:
        is_text = right.dtype.kind in "OUST"
        wrong = mine != right if is_text else _unlike(mine.astype(right.dtype), right)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            mine = mine.astype(right.dtype)
            a, b = (
                x.astype(np.complex128 if x.dtype.kind == "c" else float) for x in (mine, right)
            )
            least = float(ml_dtypes.finfo(right.dtype).smallest_subnormal)
            wrong = _unlike(a, b) & ~(abs(a - b) <= room * np.maximum(abs(a), abs(b)) + least)
    if not np.any(wrong):
        return None
    at = tuple(map(int, np.argwhere(wrong)[0]))
    return f"{np.sum(wrong)} of {right.size}, at {at} {mine[at]!r}, the engine {right[at]!r}"


def _unlike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a != b) & ~((a != a) & (b != b))


def difference(case: Case, function: Callable[..., Sequence[np.ndarray]]) -> str | None:
    """Return how the engine's answer to a case differs from `function`'s, or None."""
    asked = question(case)
    node, inputs = node_of(asked.task, asked.inputs), asked.task.operands(asked.inputs)
    seen = counts.setdefault(case.op.name, Counter())
    right: Sequence[np.ndarray] | Exception
    try:
        right = node.right
    except (InvalidNode, NotSupported) as error:
        right = error
    if isinstance(right, NotSupported):
        seen["unsupported"] += 1
        return None
    try:
        check_types(case, inputs)
        mine = function(case.op.since, inputs, dict(case.attrs), node.count)
    except Open as why:
        seen[f"open ({case.rule}): {why}"] += 1
        return None
    except Forbidden as why:
        if isinstance(right, InvalidNode):
            seen["forbidden"] += 1
            return None
        return f"forbidden: {why}; the engine has an answer"
    if isinstance(right, InvalidNode):
        return f"has an answer; the engine: {right}"
    found = [differs(mine[n], it) for n, it in zip(asked.task.places, right, strict=True)]
    seen["agreed"] += not any(found)
    return next(filter(None, found), None)


def differences(
    op: str, function: Callable[..., Sequence[np.ndarray]], every: int = 1
) -> list[str]:
    """Return a line for each core case of `op`, or each of so many, that differs."""
    counts.pop(op, None)
    cases = [case for case in opcheck.load(ops=[op]) if case.level == "core"]
    pairs = ((c, difference(c, function)) for c in islice(cases, 0, None, every))
    return [f"{case.id} ({case.op}, {case.rule}): {found}" for case, found in pairs if found]
