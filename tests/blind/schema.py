"""What a node's schema alone forbids: types, and what is left out or too many."""

from collections.abc import Sequence

import numpy as np
import onnx.defs

from opcheck import dtypes
from opcheck.model import Case, Typed

_OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional


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
