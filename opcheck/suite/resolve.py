"""From a concrete case's fields to a Case, checked against the operator's schema.

Reports, at its place, every attribute, input, output and type that the operator does not have.
A case that expects (or admits) a rejection may break the schema: that is what it tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opcheck import opset
from opcheck.dtypes import DTYPES, DType
from opcheck.errors import did_you_mean
from opcheck.model import AttrValue, Case, Computed, OutputSpec, Source, TensorSpec, Tolerance
from opcheck.opset import Schema, directml
from opcheck.reading import Mark, Node, Problems
from opcheck.suite import expectation, signature
from opcheck.suite import fields as f
from opcheck.suite.attributes import attribute_value
from opcheck.suite.expand import Concrete
from opcheck.suite.overlay import get
from opcheck.suite.tensors import Refused, read_tensor
from opcheck.suite.validate import validate

#: Longer ids would not fit into file names.
MAX_ID = 200


@dataclass(frozen=True)
class CaseFile:
    """What all cases of one file share; `name` is how messages call it."""

    name: str
    path: Path
    shipped: bool
    domain: str
    op: str
    problems: Problems


def resolve(file: CaseFile, concrete: Concrete, needs_answer: bool = True) -> Case | None:
    """`concrete` as a Case, or None with every problem reported."""
    known = len(file.problems)
    fields = validate(f.CaseFields, concrete.node, file.name, file.problems)
    case = Resolver(file, concrete, fields, needs_answer).case() if fields else None
    return case if len(file.problems) == known else None


class Resolver:
    """The resolution of one case; problems go to the file's collector."""

    def __init__(
        self, file: CaseFile, concrete: Concrete, fields: f.CaseFields, needs_answer: bool
    ) -> None:
        self.file = file
        #: False for a legal twin, of which nothing is asked but that it runs.
        self.needs_answer = needs_answer
        self.concrete = concrete
        self.node = concrete.node
        self.fields = fields
        self.may_be_illegal = expectation.admits_rejection(fields.expect)
        self.dtype = DTYPES[fields.dtype] if fields.dtype else None

    def case(self) -> Case | None:
        """The case; None where there is no operator to check it against."""
        schema = self._schema()
        if schema is None:
            return None
        attrs = self._attrs(schema)
        inputs = self._inputs(schema)
        source = Source(
            self.file.name, self.node.mark.line, self.node.mark.column, self.file.shipped
        )
        if len(self.concrete.id) > MAX_ID:
            self.problem(
                self.node.mark, f"id longer than {MAX_ID} characters: shorten name or label"
            )
        case = Case(
            id=self.concrete.id,
            name=self.concrete.name,
            row=self.concrete.row,
            op=schema.op,
            opset=self.fields.opset or 0,
            dtype=self.dtype,
            attrs=attrs,
            inputs=inputs,
            slots=signature.slots(schema.inputs, [spec.name for spec in inputs]),
            outputs=self._outputs(schema, inputs),
            expect=Computed(),
            tolerance=self._tolerance(),
            rule=self.fields.rule or "must",
            level=self.fields.level or "core",
            clause=self.fields.clause or "",
            source=source,
        )
        return replace(case, expect=expectation.resolve(self, case))

    def problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report one problem of this case."""
        self.file.problems.add(self.file.name, mark, message, hint)

    def at(self, *path: str) -> Mark:
        """Where the key at `path` is written."""
        return self.node.at(path, key=True)

    def _schema(self) -> Schema | None:
        file, number = self.file, self.fields.opset
        if number is None:
            self.problem(self.node.mark, "opset is not stated", "opset: 13, or matrix: {opset: …}")
            return None
        newest = opset.newest(file.domain)
        if number > newest:
            message = f"opset {number} is newer than the installed packages know ({newest})"
            self.problem(self.at("opset"), message)
            return None
        schema = opset.describe(file.domain, file.op, number)
        if schema is None:
            first = min(opset.versions(file.domain, file.op))
            self.problem(self.at("opset"), f"{file.op} exists since opset {first}, not at {number}")
        elif schema.deprecated:
            self.problem(self.at("opset"), f"{file.op} is deprecated at opset {number}")
        return schema

    def _attrs(self, schema: Schema) -> dict[str, AttrValue]:
        stated = self.fields.attrs or {}
        found: dict[str, AttrValue] = {}
        for name, value in stated.items():
            attribute = schema.attributes.get(name)
            if attribute is None:
                elsewhere = opset.attribute(schema.op, name)
                if elsewhere is None or not (self.may_be_illegal or value is None):
                    hint = did_you_mean(name, schema.attributes)
                    has = f"has: {', '.join(schema.attributes) or 'none'}"
                    message = f"{name!r} is no attribute of {schema.op} ({has})"
                    self.problem(self.at("attrs", name), message, hint)
                    continue
                attribute = elsewhere
            if value is None:
                continue
            try:
                found[name] = attribute_value(attribute, value)
            except ValueError as error:
                self.problem(self.node.at(("attrs", name)), f"attribute {name} {error}")
        for name, attribute in schema.attributes.items():
            if attribute.required and name not in found and not self.may_be_illegal:
                self.problem(self.node.mark, f"{schema.op} needs attribute {name!r}")
        for name in _changed_defaults(schema):
            if name not in stated:
                message = f"attrs.{name} must be stated: its default differs between versions"
                self.problem(self.node.mark, message, f"attrs: {{{name}: null}} leaves it out")
        return found

    def _inputs(self, schema: Schema) -> tuple[TensorSpec, ...]:
        stated = {n: v for n, v in (self.fields.inputs or {}).items() if v is not None}
        specs: dict[str, TensorSpec] = {}
        for name, tensor in stated.items():
            place = signature.place(schema.inputs, name)
            if place is None:
                known = signature.spelt(schema.inputs)
                message = f"{name!r} is no input of {schema.op} (has: {', '.join(known)})"
                self.problem(self.at("inputs", name), message, did_you_mean(name, known))
                continue
            spec = self.tensor(name, ("inputs", name), tensor, self.dtype)
            if spec is not None:
                specs[name] = spec
                self._check_type(schema, place[0], spec)
        if not self.may_be_illegal:
            for name in signature.missing(schema.inputs, stated):
                self.problem(self.node.mark, f"{schema.op} needs input {name!r}")
        if self.file.domain == directml.DOMAIN and any(spec.initializer for spec in specs.values()):
            self.problem(self.at("inputs"), "DirectML's operators have no initializers")
        return tuple(specs[slot] for slot in signature.slots(schema.inputs, specs) if slot)

    def tensor(
        self, name: str, path: tuple[str | int, ...], fields: object, dtype: DType | None
    ) -> TensorSpec | None:
        """The tensor written at `path`, or None with its problem reported."""
        node = self.node_at(path)
        try:
            return read_tensor(name, node, fields, dtype, self.file.path.parent)
        except Refused as refused:
            self.problem(refused.mark, refused.message, refused.hint)
            return None

    def twin(self, concrete: Concrete) -> Case | None:
        """The legal twin of this case."""
        return resolve(self.file, concrete, needs_answer=False)

    def node_at(self, path: tuple[str | int, ...]) -> Node:
        """The node at a path that validation has shown to exist."""
        node = self.node
        for step in path:
            below = node.value[step]  # type: ignore[index]  # validated before
            assert isinstance(below, Node)
            node = below
        return node

    def _check_type(self, schema: Schema, number: int, spec: TensorSpec) -> None:
        parameter = schema.inputs[number]
        if spec.dtype.text not in parameter.types and not self.may_be_illegal:
            allowed = sorted(
                dtype.name for dtype in DTYPES.values() if dtype.text in parameter.types
            )
            others = "" if len(allowed) == len(parameter.types) else " and types of no use here"
            message = f"{spec.name}: {schema.op} does not allow {spec.dtype}"
            self.problem(self._dtype_mark(spec), message, f"allowed: {', '.join(allowed)}{others}")

    def _dtype_mark(self, spec: TensorSpec) -> Mark:
        own = get(self.node, ("inputs", spec.name, "dtype"))
        case = get(self.node, ("dtype",))
        return own.mark if own else case.mark if case else self.at("inputs", spec.name)

    def _outputs(self, schema: Schema, inputs: tuple[TensorSpec, ...]) -> tuple[OutputSpec, ...]:
        bound = self._bindings(schema, inputs)
        names = list(expectation.output_names(self.fields.expect))
        for name in names:
            if signature.place(schema.outputs, name) is None:
                known = [*signature.spelt(schema.outputs), *expectation.FORMS]
                message = f"{name!r} is no output of {schema.op} (has: {', '.join(known)})"
                self.problem(self.at("expect", name), message, did_you_mean(name, known))
        names += [name for name in signature.missing(schema.outputs, names) if name not in names]
        found = []
        for name in signature.slots(schema.outputs, names):
            place = signature.place(schema.outputs, name)
            dtype = signature.dtype_of(schema.outputs[place[0]], bound) if place else None
            found.append(OutputSpec(name, dtype))
        return tuple(found)

    def _bindings(self, schema: Schema, inputs: tuple[TensorSpec, ...]) -> dict[str, DType]:
        bound: dict[str, DType] = {}
        for spec in inputs:
            place = signature.place(schema.inputs, spec.name)
            assert place is not None
            constraint = schema.inputs[place[0]].constraint
            first = bound.setdefault(constraint, spec.dtype)
            if first != spec.dtype and not self.may_be_illegal:
                message = f"{spec.name} is {spec.dtype}, but {schema.op} wants {first} as before it"
                self.problem(self._dtype_mark(spec), message)
        return bound

    def _tolerance(self) -> Tolerance | None:
        stated = self.fields.tolerance
        if isinstance(stated, dict):
            if self.dtype is None or self.dtype.name not in stated:
                message = f"tolerance says nothing about {self.dtype or 'a case without dtype'}"
                self.problem(self.at("tolerance"), message)
                return None
            stated = stated[self.dtype.name]
        if stated is None:
            return None
        zeros = bool(stated.signed_zeros)
        absolute = stated.rtol is not None or stated.atol is not None
        if absolute and stated.ulp is not None:
            self.problem(self.at("tolerance"), "tolerance: ulp excludes rtol and atol")
        elif not absolute and stated.ulp is None and not zeros:
            self.problem(self.at("tolerance"), "tolerance states nothing", "ulp, or rtol and atol")
        if absolute:
            return Tolerance(None, stated.rtol or 0.0, stated.atol or 0.0, zeros)
        return Tolerance(stated.ulp or 0, signed_zeros=zeros)


def _changed_defaults(schema: Schema) -> Iterator[str]:
    """The attributes of this version whose default another version of the operator changed."""
    others = opset.versions(schema.op.domain, schema.op.name).values()
    for name, attribute in schema.attributes.items():
        defaults = {o.attributes[name].default for o in others if name in o.attributes}
        if defaults != {attribute.default}:
            yield name
