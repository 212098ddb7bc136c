"""What a schema itself says of a node: its inputs, its types and its attributes' types."""

from typing import Any

import numpy as np
import onnx.defs

from opcheck.dtypes import of as dtype_of
from opcheck.model import Typed
from tests.blind.by_the_text import Forbidden


def schema_of(op: str, since: int) -> onnx.defs.OpSchema:
    history = onnx.defs.get_all_schemas_with_history()
    return next(one for one in history if (one.name, one.since_version) == (op, since))


def keep_to_schema(
    op: str, since: int, inputs: list[np.ndarray | None], attrs: dict[str, Any]
) -> None:
    """Raise Forbidden where types, inputs or attributes are not those that the schema lists."""
    schema = schema_of(op, since)
    allowed = {one.type_param_str: one.allowed_type_strs for one in schema.type_constraints}
    bound: dict[str, str] = {}
    for formal, array in zip(schema.inputs, inputs, strict=False):
        if array is None:
            if formal.option == onnx.defs.OpSchema.FormalParameterOption.Single:
                raise Forbidden(f"{formal.name} is not optional")
            continue
        dtype = dtype_of(array)
        text = dtype.text if dtype else ""
        if text not in allowed.get(formal.type_str, [formal.type_str]):
            raise Forbidden(f"{formal.name} is of {text}")
        if bound.setdefault(formal.type_str, text) != text:
            raise Forbidden(f"{formal.type_str} is {bound[formal.type_str]} and {text}")
    if len(inputs) > len(schema.inputs):
        raise Forbidden("too many inputs")
    for formal in schema.inputs[len(inputs) :]:
        if formal.option == onnx.defs.OpSchema.FormalParameterOption.Single:
            raise Forbidden(f"{formal.name} is not optional")
    for name, value in attrs.items():
        if name not in schema.attributes:
            raise Forbidden(f"it has no attribute {name}")
        if isinstance(value, Typed):
            raise Forbidden(f"attribute {name} has type {value.type}")
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in attrs:
            raise Forbidden(f"attribute {name} is required")
