"""The inputs of a case, checked against the operator's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opcheck.dtypes import DTYPES, DType
from opcheck.errors import did_you_mean
from opcheck.model import TensorSpec
from opcheck.opset import Schema, directml
from opcheck.reading import Mark, quoted
from opcheck.suite import signature
from opcheck.suite.overlay import get

if TYPE_CHECKING:
    from opcheck.suite.resolve import Resolver


def resolve(resolver: Resolver, schema: Schema) -> tuple[TensorSpec, ...]:
    """The inputs of a case, in the operator's order; problems go through `resolver`."""
    stated = {n: v for n, v in (resolver.fields.inputs or {}).items() if v is not None}
    specs: dict[str, TensorSpec] = {}
    known = signature.spelt(schema.inputs)
    unknown = [n for n in resolver.fields.inputs or {} if not signature.place(schema.inputs, n)]
    for name in unknown:
        message = f"{quoted(name)} is no input of {schema.op} (has: {', '.join(known)})"
        resolver.problem(resolver.at("inputs", name), message, did_you_mean(name, known))
    for name, tensor in stated.items():
        place = signature.place(schema.inputs, name)
        spec = resolver.tensor(name, ("inputs", name), tensor, resolver.dtype) if place else None
        if place and spec:
            specs[name] = spec
            _check_type(resolver, schema, place[0], spec)
    if not resolver.may_be_illegal:
        for name in signature.missing(schema.inputs, stated):
            if not any(did_you_mean(word, [name]) for word in unknown):
                resolver.lacking(resolver.node.mark, f"{schema.op} needs input {name!r}")
    if resolver.file.domain == directml.DOMAIN and any(spec.initializer for spec in specs.values()):
        resolver.problem(resolver.at("inputs"), "DirectML's operators have no initializers")
    return tuple(specs[slot] for slot in signature.slots(schema.inputs, specs) if slot)


def bindings(
    resolver: Resolver, schema: Schema, inputs: tuple[TensorSpec, ...]
) -> dict[str, DType]:
    """The dtype of each type constraint, as the first input with it says."""
    bound: dict[str, DType] = {}
    for spec in inputs:
        place = signature.place(schema.inputs, spec.name)
        assert place is not None
        constraint = schema.inputs[place[0]].constraint
        first = bound.setdefault(constraint, spec.dtype)
        if first != spec.dtype and not resolver.may_be_illegal:
            message = f"{spec.name} is {spec.dtype}, but {schema.op} wants {first} as before it"
            resolver.problem(_dtype_mark(resolver, spec), message)
    return bound


def _check_type(resolver: Resolver, schema: Schema, number: int, spec: TensorSpec) -> None:
    parameter = schema.inputs[number]
    if spec.dtype.text not in parameter.types and not resolver.may_be_illegal:
        allowed = sorted(dtype.name for dtype in DTYPES.values() if dtype.text in parameter.types)
        hint = f"allowed: {', '.join(allowed) or 'only types that no case can have'}"
        message = f"{spec.name}: {schema.op} does not allow {spec.dtype}"
        resolver.problem(_dtype_mark(resolver, spec), message, hint)


def _dtype_mark(resolver: Resolver, spec: TensorSpec) -> Mark:
    own = get(resolver.node, ("inputs", spec.name, "dtype"))
    case = get(resolver.node, ("dtype",))
    return own.mark if own else case.mark if case else resolver.at("inputs", spec.name)
