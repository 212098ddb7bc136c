"""A case's inputs, attributes and expected answer, against the operator's schema.

A variadic parameter `data` is written as data_0, data_1 … in case files. An expected answer is
values, golden files, a rejection, or one of several answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from opcheck import dtypes, model, opset
from opcheck.dtypes import DTYPES, DType, content
from opcheck.engine import operator_of
from opcheck.errors import did_you_mean
from opcheck.opset import Attribute, Parameter, Schema, directml
from opcheck.reading import Mark, quoted
from opcheck.reading.validation import Location, shown
from opcheck.suite import fields as f
from opcheck.suite.fields import PATHS_ARE, parse_path, put
from opcheck.suite.tensors import InvalidTensor, inside, materialize

if TYPE_CHECKING:
    from opcheck.suite.resolve import Resolver


def _answers(expect: object) -> list[tuple[Location, Any]]:
    """The answers that an expectation admits, each with its path."""
    if isinstance(expect, f.AnyOfField):
        return [(("expect", "any_of", k), answer) for k, answer in enumerate(expect.any_of)]
    return [(("expect",), expect)]


def admits_rejection(expect: object) -> bool:
    """Return True if the case may be an illegal model: an expected answer is a refusal."""
    return any(isinstance(answer, f.RejectedField) for _, answer in _answers(expect))


def output_names(expect: object) -> dict[str, Location]:
    """The outputs that an expectation names, each with the path at which it does so first."""
    if isinstance(expect, f.ComputedField):
        return {name: ("expect", "computed", n) for n, name in enumerate(expect.computed)}
    named: dict[str, Location] = {}
    for path, answer in _answers(expect):
        for name in _outputs(answer):
            named.setdefault(name, (*path, name))
        if isinstance(answer, f.RejectedField):
            for n, name in enumerate(answer.asked or ()):
                named.setdefault(name, (*path, "asked", n))
    return named


def resolve(resolver: Resolver, case: model.Case) -> model.Expectation:
    """The expectation of `case`; problems are reported through `resolver`."""
    expect = resolver.fields.expect
    if isinstance(expect, f.AnyOfField):
        found: list[model.Alternative] = []
        for path, answer in _answers(expect):
            if answer.name in (one.name for one in found):
                message = f"two answers are named {answer.name!r}"
                resolver.problem(resolver.node.at((*path, "as")), message)
            meant = _one(resolver, case, answer, path)
            if resolver.sound and _likeness(meant) in (_likeness(one.expect) for one in found):
                what = "are rejections" if isinstance(meant, model.Rejected) else "are the same"
                resolver.problem(resolver.node.at(path), f"two answers {what}")
            found.append(model.Alternative(answer.name, meant))
        if case.rule != "open":
            resolver.lacking(resolver.at("expect"), "any_of needs rule: open")
        return model.AnyOf(tuple(found))
    if case.rule == "open":
        message = "rule: open needs expect.any_of, the answers admitted"
        resolver.lacking(resolver.at("rule"), message)
    if isinstance(expect, f.OracleField | f.AgreeField):
        # Both answers may be rounded, so that no bound holds.
        exact = all(output.dtype and output.dtype.kind != "float" for output in case.outputs)
        if resolver.fields.tolerance is None and not (exact or is_exact(case)):
            message = "a backend's answer has errors of its own: tolerance must be stated"
            hint = "such as tolerance: {rtol: 1e-5, atol: 1e-6}; {ulp: 0} compares exactly"
            resolver.lacking(resolver.at("expect"), message, hint)
        if isinstance(expect, f.OracleField):
            return model.Oracle(expect.oracle)
        return model.Agreement()
    return _one(resolver, case, expect, ("expect",))


def stated(expect: model.Expectation) -> tuple[model.TensorSpec, ...]:
    """Every tensor that an expectation writes out."""
    if isinstance(expect, model.AnyOf):
        return tuple(spec for one in expect.alternatives for spec in stated(one.expect))
    return expect.outputs if isinstance(expect, model.Values) else ()


def _likeness(answer: model.OneAnswer) -> object:
    """Return a key that is equal for answers written alike, and for all refusals."""
    if isinstance(answer, model.Values):
        held = (s.content for s in answer.outputs)
        contents = [content(it.values) if isinstance(it, model.Given) else it for it in held]
        return contents, [(s.name, s.dtype, s.shape, s.put) for s in answer.outputs]
    return model.Rejected if isinstance(answer, model.Rejected) else answer


def _one(resolver: Resolver, case: model.Case, answer: object, path: Location) -> model.OneAnswer:
    if isinstance(answer, f.RejectedField):
        return _rejected(resolver, case, answer.rejected, path)
    if isinstance(answer, f.GoldenField):
        return _golden(resolver, case, answer.golden, path)
    if _outputs(answer):
        return _values(resolver, case, answer, path)
    if resolver.needs_answer and operator_of(case.op) is None:
        message = f"the engine has no kernel for {case.op}: expect must state the outputs"
        resolver.lacking(resolver.node.at(path), message)
    return model.Computed()


def _values(resolver: Resolver, case: model.Case, answer: object, path: Location) -> model.Values:
    tensors = _outputs(answer)
    specs: list[model.TensorSpec] = []
    known = {output.name for output in case.outputs}
    misspelt = [name for name in tensors if name not in known]
    for output in case.outputs:
        if output.name not in tensors:
            meant = [output.name, *f.FORMS]
            if output.name and not any(did_you_mean(name, meant) for name in misspelt):
                resolver.lacking(resolver.node.at(path), f"expect lacks output {output.name!r}")
            continue
        fields = tensors[output.name]
        place = (*path, output.name)
        if output.dtype is None and getattr(fields, "dtype", None) is None:
            # Problems of the inputs have been reported, and may be the reason.
            if resolver.sound:
                message = f"{output.name}: its dtype does not follow from the inputs"
                resolver.lacking(resolver.node.at(place), message, "{value: …, dtype: …} states it")
            continue
        spec = resolver.tensor(output.name, place, fields, output.dtype)
        if spec is None:
            continue
        if output.dtype and spec.dtype != output.dtype:
            message = f"{output.name}: {case.op} gives {output.dtype} here, not {spec.dtype}"
            resolver.problem(resolver.node.at((*place, "dtype")), message)
        specs.append(spec)
    if any(spec.dtype.kind == "float" for spec in specs):
        _check_bound(resolver, case)
    return model.Values(tuple(specs))


def is_exact(case: model.Case) -> bool:
    """Return True if floats are compared exactly where the case states no tolerance."""
    floats = any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs)
    return floats and operator_of(case.op) is None and opset.is_exact(case.op, case.attrs)


def _check_bound(resolver: Resolver, case: model.Case) -> None:
    unknown = operator_of(case.op) is None and not is_exact(case)
    if resolver.fields.tolerance is None and unknown:
        message = f"opcheck knows no error bound for {case.op}: tolerance must be stated"
        resolver.lacking(resolver.node.mark, message, "tolerance: {ulp: 0} compares exactly")


def _outputs(answer: object) -> dict[str, object]:
    if isinstance(answer, f.AlternativeOutputsField):
        return dict(answer.__pydantic_extra__ or {})
    return answer if isinstance(answer, dict) else {}


def _golden(resolver: Resolver, case: model.Case, name: str, path: Location) -> model.Golden:
    mark = resolver.node.at((*path, "golden"))
    try:
        folder = inside(resolver.file.path.parent, name, mark)
        for number in range(len(case.outputs)):
            inside(folder, f"output_{number}.pb", mark)
    except InvalidTensor as refused:
        resolver.problem(refused.mark, refused.message, refused.hint)
        return model.Golden(resolver.file.path.parent)
    if any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs):
        _check_bound(resolver, case)
    return model.Golden(folder)


def _rejected(resolver: Resolver, case: model.Case, why: str, path: Location) -> model.Rejected:
    legal = resolver.node.get(*path, "legal")
    assert legal  # validated before
    ((key, value),) = legal.entries.items()
    # What must come out of the legal twin does not matter, only that it runs.
    start, steps = resolver.node.without(("expect", "rule", "tolerance")), parse_path(key)
    if asked := resolver.node.get(*path, "asked"):
        start = f.put(start, ("expect", "computed"), asked) or start
    node = put(start, steps, value) if steps else None
    twin = None
    if not steps:
        resolver.problem(legal.keys[key], f"legal: {quoted(key)} is no path", PATHS_ARE)
    elif node is None:
        resolver.problem(legal.keys[key], f"legal: {quoted(key)} leads into a literal")
    elif node.plain() == start.plain():
        resolver.problem(resolver.node.at((*path, "legal"), key=True), "legal changes nothing")
    else:
        twin = resolver.twin(replace(resolver.concrete, id=f"{case.id}~legal", node=node))
    return model.Rejected(why, twin or case)


_COUNT = re.compile("0|[1-9][0-9]{0,3}")
_SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "string": (str,)}
_WORDS = {"int": "whole number", "float": "number", "string": "text"}
_LARGEST = dtypes.limits(dtypes.DTYPES["float32"])[1]


def place(parameters: Sequence[Parameter], name: str) -> tuple[int, int] | None:
    """Return the parameter that `name` means, and its tensor's number; None if none."""
    for number, parameter in enumerate(parameters):
        if parameter.option != "variadic":
            if name == parameter.name:
                return number, 0
            continue
        stem, _, count = name.rpartition("_")
        if stem == parameter.stem and _COUNT.fullmatch(count):
            return number, int(count)
    return None


def leads(op: model.OpVersion, name: str) -> bool:
    """True for an input of the leading input's type, if that may be of several types."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    found = place(schema.inputs, name) if schema else None
    if schema is None or found is None:
        return False
    lead = schema.inputs[schema.lead]
    return len(lead.types) > 1 and schema.inputs[found[0]].constraint == lead.constraint


def name_at(parameters: Sequence[Parameter], number: int) -> tuple[str, Parameter]:
    """The tensor's name at a place of the node, and its parameter; raises ValueError if none."""
    for before, parameter in enumerate(parameters):
        if parameter.option == "variadic":
            return f"{parameter.stem}_{number - before}", parameter
        if before == number:
            return parameter.name, parameter
    raise ValueError(f"the operator has {len(parameters)}, and no number {number}")


def spelt(parameters: Iterable[Parameter]) -> list[str]:
    """The names a case file may use, for messages."""
    return [f"{p.stem}_0" if p.option == "variadic" else p.name for p in parameters]


def missing(parameters: Sequence[Parameter], names: Iterable[str]) -> Iterator[str]:
    """Yield mandatory parameters missing in `names`; a variadic one needs tensors from 0 on."""
    found = [place(parameters, name) for name in names]
    for number, parameter in enumerate(parameters):
        counts = sorted(place[1] for place in found if place and place[0] == number)
        if parameter.option == "single" and not counts:
            yield parameter.name
        elif parameter.option == "variadic" and counts != list(range(max(len(counts), 1))):
            gap = next(k for k in range(len(counts) + 1) if k not in counts)
            yield f"{parameter.stem}_{gap}"


def slots(parameters: Sequence[Parameter], names: Iterable[str]) -> tuple[str, ...]:
    """The names in the operator's order, "" for one left out before the last."""
    places = sorted((at, name) for name in names if (at := place(parameters, name)))
    ordered: list[str] = []
    for number, parameter in enumerate(parameters):
        tensors = [name for at, name in places if at[0] == number]
        ordered += tensors or ([""] if parameter.option != "variadic" else [])
    while ordered and not ordered[-1]:
        ordered.pop()
    return tuple(ordered)


def resolve_inputs(resolver: Resolver, schema: Schema) -> tuple[model.TensorSpec, ...]:
    """The inputs of a case, in the operator's order; problems go through `resolver`."""
    stated = {n: v for n, v in (resolver.fields.inputs or {}).items() if v is not None}
    specs: dict[str, model.TensorSpec] = {}
    known = spelt(schema.inputs)
    unknown = [n for n in resolver.fields.inputs or {} if not place(schema.inputs, n)]
    for name in unknown:
        message = f"{quoted(name)} is no input of {schema.op} (has: {', '.join(known)})"
        resolver.problem(resolver.at("inputs", name), message, did_you_mean(name, known))
    for name, tensor in stated.items():
        if not (found := place(schema.inputs, name)):
            continue
        allowed = _allowed(schema.inputs[found[0]].types)
        # Another input than the leading one may have one dtype alone, such as K of TopK.
        only = len(allowed) == 1 and schema.inputs[found[0]] is not schema.typed
        dtype = allowed[0] if only else resolver.dtype
        if spec := resolver.tensor(name, ("inputs", name), tensor, dtype):
            specs[name] = spec
            if spec.dtype not in allowed and not resolver.may_be_illegal:
                names = ", ".join(sorted(map(str, allowed))) or "only types that no case can have"
                message = f"{spec.name}: {schema.op} does not allow {spec.dtype}"
                resolver.problem(_dtype_mark(resolver, spec), message, f"allowed: {names}")
    if not resolver.may_be_illegal:
        for name in missing(schema.inputs, stated):
            if not any(did_you_mean(word, [name]) for word in unknown):
                resolver.lacking(resolver.node.mark, f"{schema.op} needs input {name!r}")
    if resolver.file.domain == directml.DOMAIN and any(spec.initializer for spec in specs.values()):
        resolver.problem(resolver.at("inputs"), "DirectML's operators have no initializers")
    return tuple(specs[slot] for slot in slots(schema.inputs, specs) if slot)


@cache
def _allowed(types: frozenset[str]) -> tuple[DType, ...]:
    return tuple(dtype for dtype in DTYPES.values() if dtype.text in types)


def bindings(
    resolver: Resolver, schema: Schema, inputs: tuple[model.TensorSpec, ...]
) -> dict[str, DType]:
    """The dtype of each type constraint, by the first input with it."""
    bound: dict[str, DType] = {}
    for spec in inputs:
        found = place(schema.inputs, spec.name)
        assert found is not None
        first = bound.setdefault(schema.inputs[found[0]].constraint, spec.dtype)
        if first != spec.dtype and not resolver.may_be_illegal:
            message = f"{spec.name} is {spec.dtype}, but {schema.op} wants {first} as before it"
            resolver.problem(_dtype_mark(resolver, spec), message)
    return bound


def _dtype_mark(resolver: Resolver, spec: model.TensorSpec) -> Mark:
    stated = resolver.node.get("inputs", spec.name, "dtype") or resolver.node.get("dtype")
    return stated.mark if stated else resolver.at("inputs", spec.name)


def resolve_attributes(resolver: Resolver, schema: Schema) -> model.Attrs:
    """The attributes of a case; problems are reported through `resolver`."""
    stated = resolver.fields.attrs or {}
    unknown: list[str] = []
    found: dict[str, model.AttrValue | model.Typed] = {}
    for name, value in stated.items():
        attribute = schema.attributes.get(name)
        if attribute is None and (resolver.may_be_illegal or value is None):
            attribute = opset.attribute(schema.op, name)
        is_tensor = isinstance(value, f.AttributeTensorFields)
        if isinstance(value, dict) and resolver.may_be_illegal:
            attribute = attribute or Attribute(name, "other", False, None)
        if value is None and not resolver.needs_answer:
            continue  # A legal twin omits an illegal attribute.
        if attribute is None:
            unknown.append(name)
            has = f"has: {', '.join(schema.attributes) or 'none'}"
            message = f"{quoted(name)} is no attribute of {schema.op} ({has})"
            hint = did_you_mean(name, schema.attributes)
            resolver.problem(resolver.at("attrs", name), message, hint)
        elif is_tensor or (attribute.type == "tensor" and not isinstance(value, dict | None)):
            if (array := _attribute_tensor(resolver, attribute, value)) is not None:
                found[name] = array
        elif value is not None:
            try:
                typed = isinstance(value, dict) and resolver.may_be_illegal
                found[name] = (typed_value if typed else attribute_value)(attribute, value)
            except ValueError as error:
                resolver.problem(resolver.node.at(("attrs", name)), f"attribute {name} {error}")
    changed = changed_defaults(schema.op, resolver.file.opsets)
    for name, attribute in schema.attributes.items():
        if any(did_you_mean(word, [name]) for word in unknown):
            continue
        if attribute.required and stated.get(name) is None and not resolver.may_be_illegal:
            resolver.lacking(resolver.node.mark, f"{schema.op} needs attribute {name!r}")
        elif name not in stated and name in changed:
            message = f"attrs.{name} must be stated: its default differs between the case's opsets"
            hint = f"attrs: {{{name}: null}} leaves it out"
            resolver.lacking(resolver.node.mark, message, hint)
    return found


def _attribute_tensor(resolver: Resolver, attribute: Attribute, value: Any) -> model.Array | None:
    """The tensor stated for an attribute; None with its problem reported."""
    path: tuple[str, ...] = ("attrs", attribute.name)
    dtype = resolver.dtype
    if isinstance(value, f.AttributeTensorFields):
        dtype = dtypes.DTYPES[value.dtype] if value.dtype else dtype
        path = (*path, "value")
    if attribute.type != "tensor":
        resolver.problem(resolver.node.at(path[:2]), f"attribute {attribute.name} is no tensor")
    elif spec := resolver.tensor(attribute.name, path, None, dtype):
        try:
            array = materialize(spec)
            array.flags.writeable = False
            return array
        except ValueError as error:
            resolver.problem(resolver.node.at(path), str(error))
    return None


def attribute_value(attribute: Attribute, value: Any) -> model.AttrValue:
    """`value` in the attribute's declared type; raises ValueError for any other."""
    kind = attribute.type.removesuffix("s")
    if kind == "tensor":
        raise ValueError(f"must be a literal, or {{value: …, dtype: …}}; got {shown(value)}")
    if kind not in _SCALARS:
        raise ValueError("holds a graph, type or sparse tensor, which case files cannot write")
    if kind == attribute.type:
        scalar: model.AttrValue = _scalar(kind, value)
        return scalar
    if not isinstance(value, list):
        raise ValueError(f"must be a list, each item a {_WORDS[kind]}; got {shown(value)}")
    return tuple(_scalar(kind, item) for item in value)


def typed_value(attribute: Attribute, value: Any) -> model.AttrValue | model.Typed:
    """The value of `{type: value}`; raises ValueError for anything else."""
    if len(value) != 1 or not value.keys() <= {*model.ATTRIBUTE_TYPES}:
        kinds = ", ".join(model.ATTRIBUTE_TYPES)
        raise ValueError(f"must be a value, or {{type: value}} with one of {kinds}")
    [(kind, stated)] = value.items()
    items = stated if isinstance(stated, list) else [stated]
    held: Any = kind
    if kind == "tensor":
        whole = all(isinstance(item, int) for item in items)
        held = f"{'int' if whole else 'float'}{'s' if items is stated else ''}"
    plain = attribute_value(replace(attribute, type=held), stated)
    return plain if kind == attribute.type != "tensor" else model.Typed(kind, plain)


def _scalar(kind: str, value: Any) -> Any:
    fits = isinstance(value, _SCALARS[kind]) and not isinstance(value, bool)
    if not fits:
        raise ValueError(f"must be a {_WORDS[kind]}, got {shown(value)}")
    if kind == "int" and not -(2**63) <= value < 2**63:
        raise ValueError(f"must fit in 64 bits, got {shown(value)}")
    if kind == "float" and _LARGEST < abs(value) < math.inf:
        raise ValueError(f"must fit in float32, got {shown(value)}")
    return float(value) if kind == "float" else value


@cache
def changed_defaults(op: model.OpVersion, opsets: frozenset[int] = frozenset()) -> tuple[str, ...]:
    """The attributes whose default differs between versions, of those `opsets` if given."""
    versions = opset.versions(op.domain, op.name)
    others = [opset.describe(op.domain, op.name, number) for number in opsets]
    declared = [schema.attributes for schema in [*filter(None, others)] or versions.values()]
    return tuple(
        name
        for name, attribute in versions[op.since].attributes.items()
        if {those[name].default for those in declared if name in those} - {attribute.default}
    )
