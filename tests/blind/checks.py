"""What a node's schema alone forbids, and how an answer differs from the engine's."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import onnx.defs

from opcheck import dtypes
from opcheck.model import Case, Typed

_OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional
_RELATIVE = {"float64": 1e-10, "float32": 1e-6, "complex64": 1e-6}
_RELATIVE |= {"float16": 2e-3, "bfloat16": 2e-2}


def forbids(case: Case, inputs: Sequence[np.ndarray | None]) -> str | None:
    """Return what the schema forbids about a case, or None."""
    schema = onnx.defs.get_schema(case.op.name, case.op.since)
    for name, value in case.attrs.items():
        if name not in schema.attributes or isinstance(value, Typed):
            return f"attribute {name}: {value!r}"
    if missing := [a for a, s in schema.attributes.items() if s.required and a not in case.attrs]:
        return f"attributes {missing} are required"
    if len(inputs) > len(schema.inputs):
        return "too many inputs"
    bound: dict[str, str] = {}
    padded = [*inputs, *[None] * (len(schema.inputs) - len(inputs))]
    for declared, array in zip(schema.inputs, padded, strict=True):
        if array is None:
            if declared.option != _OPTIONAL:
                return f"{declared.name} is left out"
            continue
        dtype = dtypes.of(array)
        text = dtype.text if dtype else str(array.dtype)
        if text not in declared.types or bound.setdefault(declared.type_str, text) != text:
            return f"{declared.name} is {text}"
    return None


def differs(mine: np.ndarray, right: np.ndarray) -> str | None:
    """Return how an answer, in float64 or the output's type, differs from the engine's."""
    is_text = right.dtype.kind in "OUST"
    same = is_text or mine.dtype in (right.dtype, np.float64, np.complex128)
    if mine.shape != right.shape or not same:
        return f"{mine.dtype} {mine.shape}, the engine's {right.dtype} {right.shape}"
    with np.errstate(over="ignore", invalid="ignore"):
        mine = mine if is_text else mine.astype(right.dtype)
        wrong = (mine != right) & ~((mine != mine) & (right != right))
        if (room := _RELATIVE.get(right.dtype.name)) is not None:
            a, b = (it.astype(complex if it.dtype.kind == "c" else float) for it in (mine, right))
            least = float(ml_dtypes.finfo(right.dtype).smallest_subnormal)
            wrong &= ~(abs(a - b) <= room * np.maximum(abs(a), abs(b)) + least)
    if not np.any(wrong):
        return None
    at = tuple(map(int, np.argwhere(wrong)[0]))
    return f"{np.sum(wrong)} of {right.size}, at {at} {mine[at]!r}, the engine {right[at]!r}"
