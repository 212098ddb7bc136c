"""Operators, versions, attributes and types that exist; the only reader of `onnx.defs`.

`describe` answers for one operator at one opset, `versions` and `operators` list what there is.
DirectML's operators stand beside ONNX's and are read the same way.
"""

from collections.abc import Mapping
from functools import cache
from operator import or_

import numpy as np

from opcheck.dtypes import BY_TEXT, DTYPES, DType, named, of
from opcheck.model import Attrs, AttrValue, OpVersion, Typed
from opcheck.opset import directml
from opcheck.opset.schema import (
    Attribute,
    AttributeReference,
    Body,
    BodyNode,
    Parameter,
    Schema,
    place,
)

#: Operators that take no strings, and yet round nothing.
_EXACT = (
    *("Abs", "Ceil", "Clip", "EyeLike", "Floor", "GlobalMaxPool", "Max", "MaxPool", "Min", "Neg"),
    *("ReduceMax", "ReduceMin", "Relu", "Round", "Sign", "TopK"),
)
#: Operators that take strings, and compute if an attribute has another value than this.
_MOVE_WITH = {
    "GridSample": ("mode", "nearest"),
    "Resize": ("mode", "nearest"),
    "ScatterElements": ("reduction", "none"),
    "ScatterND": ("reduction", "none"),
    "Upsample": ("mode", "nearest"),
}
#: Attributes that name the dtype of an output.
NAMING = ("to", "dtype", "output_dtype", "output_datatype")
#: The dtypes of attributes that are no tensors.
_HOLDS = {"int": "int64", "float": "float32", "string": "string"}


@cache
def versions(domain: str, name: str) -> Mapping[int, Schema]:
    """Every version of one operator, read alone, by the opset that begins it; empty if unknown."""
    if domain == directml.DOMAIN:
        return {schema.op.since: schema for schema in directml.SCHEMAS if schema.op.name == name}
    from opcheck.opset import onnx_defs

    return {schema.op.since: schema for schema in reversed([*onnx_defs.versions(domain, name)])}


@cache
def describe(domain: str, name: str, opset: int) -> Schema | None:
    """The version of the operator in force at `opset`, or None if there is none yet."""
    found = versions(domain, name)
    return found.get(max((since for since in found if since <= opset), default=0))


def attribute(op: OpVersion, name: str) -> Attribute | None:
    """The attribute as `op` declares it, else as the nearest other version of the operator does."""
    schemas = [s for s in versions(op.domain, op.name).values() if name in s.attributes]
    schemas.sort(key=lambda schema: abs(schema.op.since - op.since))
    return schemas[0].attributes[name] if schemas else None


def is_exact(op: OpVersion, attrs: Attrs) -> bool:
    """Return True if an operator, at any version, rounds nothing: it moves or selects elements."""
    schemas = versions(op.domain, op.name)
    # Operators that take strings, and compute with other inputs, or run another graph.
    if op.domain or op.name in {"CastLike", "Col2Im", "Loop", "Scan", "SequenceMap"}:
        return False
    name, value = _MOVE_WITH.get(op.name, ("", ""))
    declared = schemas[op.since].attributes.get(name)
    if declared and attrs.get(name, declared.default) != value:
        return False
    return op.name in _EXACT or any(map(_moves, schemas.values()))


def _moves(schema: Schema) -> bool:
    # An operator that returns strings, as it takes them, cannot compute with its elements.
    taken = {parameter.constraint for parameter in schema.inputs}
    moved = [o.constraint in taken and "tensor(string)" in o.types for o in schema.outputs]
    whole = [not any("float" in t or "double" in t for t in o.types) for o in schema.outputs]
    return any(moved) and all(map(or_, moved, whole))


def naming(schema: Schema) -> Attribute | None:
    """The attribute that names the dtype of an output: Cast's `to`, EyeLike's `dtype`."""
    found = (schema.attributes.get(name) for name in NAMING)
    return next((one for one in found if one and one.type in ("int", "string")), None)


def output_dtype(
    schema: Schema, output: Parameter, bound: Mapping[str, DType], attrs: Attrs
) -> DType | None:
    """The dtype of an output by type variables that inputs `bound`, or an attribute, if known."""
    if output.constraint in bound:
        return bound[output.constraint]
    if len(output.types) == 1:
        return BY_TEXT.get(next(iter(output.types)))
    if schema.by_value:
        return _dtype_of_value(schema, attrs)
    attribute = naming(schema)
    stated = attrs.get(attribute.name, attribute.default) if attribute else None
    if attribute and stated is None and not attribute.required and schema.inputs:
        return bound.get(schema.inputs[0].constraint)  # as EyeLike and RandomNormalLike say
    found = named(stated)
    # Of a state that is left out, the function body of LinearAttention takes the leading type.
    left_out = (one.constraint for one in schema.inputs if one.option == "optional")
    if output.constraint in left_out:
        found = bound.get(schema.inputs[schema.lead].constraint)
    return found if found and found.text in output.types else None


def _dtype_of_value(schema: Schema, attrs: Attrs) -> DType | None:
    """The dtype of what an attribute holds; a tensor is of float32 where none is stated."""
    # Formulas are given None for what is not stated.
    if not (stated := [name for name in schema.attributes if attrs.get(name) is not None]):
        return DTYPES["float32"]
    value = attrs[stated[0]]
    if len(stated) > 1 or isinstance(value, Typed):
        return None
    return of(value) if isinstance(value, np.ndarray) else held(schema.attributes[stated[0]])


def held(attribute: Attribute) -> DType | None:
    """The dtype of numbers or texts that an attribute holds."""
    return DTYPES.get(_HOLDS.get(attribute.type.removesuffix("s"), ""))


def operators(domain: str) -> tuple[str, ...]:
    """The operators of a domain, by name."""
    return tuple(sorted(name for known, name in _names() if known == domain))


def domains() -> tuple[str, ...]:
    """Every domain that has operators; ONNX's own is ""."""
    return tuple(sorted({domain for domain, _ in _names()}))


def leads(op: OpVersion, name: str) -> bool:
    """True for an input of the leading input's type, if that may be of several types."""
    schema = versions(op.domain, op.name).get(op.since)
    found = place(schema.inputs, name) if schema else None
    if schema is None or found is None:
        return False
    lead = schema.inputs[schema.lead]
    return len(lead.types) > 1 and schema.inputs[found[0]].constraint == lead.constraint


def later(op: OpVersion, opset: int) -> tuple[int, ...]:
    """Two later opsets at which `op` is in force, halfway and last; fewer if there are not two."""
    next_ones = [since for since in versions(op.domain, op.name) if since > op.since]
    last = min(next_ones) - 1 if next_ones else newest(op.domain)
    return tuple(sorted({number for number in ((opset + last + 1) // 2, last) if number > opset}))


@cache
def newest(domain: str) -> int:
    """The newest opset of `domain` that the installed packages know."""
    if domain == "":
        from onnx import defs

        return defs.onnx_opset_version()
    names = [name for known, name in _names() if known == domain]
    return max((since for name in names for since in versions(domain, name)), default=0)


@cache
def _names() -> tuple[tuple[str, str], ...]:
    from onnx import defs

    ours = ((schema.op.domain, schema.op.name) for schema in directml.SCHEMAS)
    return (*((schema.domain, schema.name) for schema in defs.get_all_schemas()), *ours)
