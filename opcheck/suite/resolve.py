"""From a concrete case's fields to a Case, checked against the operator's schema.

Reports, at its place, every attribute, input, output and type that the operator does not have.
A case that expects (or admits) a rejection may break the schema, since it tests just that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from math import inf, prod
from typing import Any, cast

from opcheck import dtypes, grouping, model, opset
from opcheck.dtypes import DTYPES, DType, content, limits
from opcheck.engine import operator_of
from opcheck.engine.operators import find
from opcheck.errors import did_you_mean
from opcheck.model import Array, Attrs, Case, OutputSpec, TensorSpec, Tolerance
from opcheck.opset import Attribute, Parameter, Schema, missing, place, slots, spelt
from opcheck.reading import FileNode, Mark, Problems, quoted
from opcheck.reading.validation import Location, shown
from opcheck.suite import fields as f
from opcheck.suite.expand import CaseFile, Concrete
from opcheck.suite.tensors import InvalidTensor, Lacking, excess, inside, materialize, read_tensor

#: The most tensors of a sequence.
_LONGEST = 999
#: The entries of a list in an attribute, which takes far more room than a tensor.
_LONGEST_LIST = 1 << 20
#: Longer ids would not fit into file names.
MAX_ID = 200
_SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "string": (str,)}
_WORDS = {"int": "whole number", "float": "number", "string": "text"}
_LARGEST = dtypes.limits(dtypes.DTYPES["float32"])[1]
# Cases share these, which makes them several times faster to unpack.
_COMPUTED = model.Computed()
_output, _source = lru_cache(1024)(OutputSpec), lru_cache(model.Source)


def resolve(file: CaseFile, concrete: Concrete, needs_answer: bool = True) -> Case | None:
    """`concrete` as a Case, or None with every problem reported, but an unknown operator."""
    fields, node, lost = f.validate_case(concrete.node, file.name, file.problems)
    if fields is None or not opset.versions(file.domain, file.op):
        return None
    if lost:
        concrete = replace(concrete, node=node, lost=max(concrete.lost, lost))
    resolver = Resolver(file, concrete, fields, needs_answer)
    case = resolver.case()
    return case if resolver.sound and not concrete.lost else None


@dataclass
class Resolver:
    """The resolution of one case; problems go to the file's collector."""

    file: CaseFile
    concrete: Concrete
    fields: f.CaseFields
    #: False for a legal twin, which only has to run.
    needs_answer: bool
    version: str = ""
    sound: bool = True
    schema: Schema = field(init=False)

    def __post_init__(self) -> None:
        self.node, expect = self.concrete.node, self.fields.expect
        unknown = self.concrete.lost is f.Omitted.EXPECTATION
        # An expected answer is a refusal.
        refused = any(isinstance(answer, f.RejectedField) for _, answer in _answers(expect))
        self.may_be_illegal = unknown or refused
        self.dtype = DTYPES[self.fields.dtype] if self.fields.dtype else None
        self.places: dict[str, FileNode] = {}

    def case(self) -> Case:
        """The case; at an opset that does not exist, by the nearest version."""
        self.schema = schema = self._schema()
        self.version = str(schema.op)
        mark = self.node.mark
        if self.needs_answer and len(self.concrete.id) > MAX_ID:
            message = f"id longer than {MAX_ID} characters: shorten name, label or matrix values"
            self.problem(mark, message)
        tensors = self.resolve_inputs(schema)
        attrs = self.resolve_attributes(schema)
        case = Case(
            **grouping.picked(self.concrete, "id name row level"),
            op=schema.op,
            opset=self.fields.opset or 0,
            dtype=self.dtype,
            attrs=attrs,
            inputs=tensors,
            slots=_ordered(schema.op, tuple(spec.name for spec in tensors)),
            outputs=tuple(self._outputs(self.bindings(schema, tensors), attrs)),
            expect=_COMPUTED,
            rule=self.fields.rule or "must",
            timeout=self.fields.timeout,
            clause=self.fields.clause or "",
            empty=self.fields.empty or "",
            source=_source(self.file.name, mark.line, mark.column, self.file.shipped),
        )
        expect = self.expectation_of(case)
        stated = expect.written
        specs = [*case.inputs, *stated]
        if too_much := excess(sum(prod(s.shape) for s in specs), sum(s.nbytes for s in specs)):
            mark = self.at("inputs") if case.inputs else mark
            self.problem(mark, f"the tensors of a case need {too_much} together")
        tolerance = self._tolerance(case, stated)
        if schema.graphs or any(one.listed for one in (*schema.inputs, *schema.outputs)):
            known = {spec.name: spec for spec in stated}
            outputs = [*case.outputs]
            for n, one in enumerate(outputs):
                if spec := known.get(one.name):
                    outputs[n] = replace(one, rank=len(spec.shape), dtype=one.dtype or spec.dtype)
            case = replace(case, outputs=tuple(outputs))
        return replace(case, expect=expect, tolerance=tolerance)

    def problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report one problem of this case, unless a case at another version showed it before."""
        self.sound = False
        self.file.report(mark, message, hint, self.version)

    def lacking(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report something missing, unless it may be a fault that was left out."""
        if not self.concrete.lost:
            self.problem(mark, message, hint)

    def at(self, *path: str) -> Mark:
        """Return where the key at `path` is written."""
        return self.node.at(path, key=True)

    def _schema(self) -> Schema:
        file, number = self.file, self.fields.opset
        newest, first = opset.newest(file.domain), min(opset.versions(file.domain, file.op))
        near = max(first, min(newest if number is None else number, newest))
        schema, message = grouping.sure(opset.describe(file.domain, file.op, near)), ""
        if number is None:
            self.lacking(self.node.mark, "opset is not stated", "opset: 13, or matrix: {opset: …}")
        elif number > newest:
            message = f"opset {shown(number)} is too new: the installed packages know {newest}"
        elif number < first:
            message = f"{file.op} exists since opset {first}, not at {number}"
        elif schema.deprecated:
            message = f"{file.op} is deprecated at opset {number}"
        if message:
            self.problem(self.node.at(["opset"]), message)
        elif number is None:  # what else is missing depends on it
            lost = max(self.concrete.lost, f.Omitted.SOMETHING)
            self.concrete = replace(self.concrete, lost=lost)
        return schema

    def tensors(
        self, parameters: Sequence[Parameter], stated: Mapping[str, Any], path: Location
    ) -> dict[str, tuple[Any, FileNode]]:
        """The tensors stated at `path`, by name; of a sequence its length, and one by one."""
        found: dict[str, tuple[Any, FileNode]] = {}
        for name, fields in stated.items():
            node = grouping.sure(self.node.get(*path, name))  # validated before
            found[name] = fields, node
            for one in (one for one in parameters if one.listed and one.name == name):
                if not isinstance(fields, list) or len(fields) > _LONGEST:
                    message = f"{name} must be a list of tensors, at most {_LONGEST:,}"
                    self.problem(node.mark, message, f"{name}: [[1, 2], [3]]")
                    continue
                if one.listed == "optional(" and len(fields) > 1:
                    message = f"{name} is an optional, which has one tensor or none"
                    self.problem(node.mark, f"{message}, got {len(fields)}")
                if any(p.constraint == opset.LENGTH for p in parameters):
                    found[f"{name}_length"] = len(fields), FileNode(len(fields), node.mark)
                for item in (item for item in node.items if item.value is None):
                    self.problem(item.mark, f"an item of {name} must be a tensor, got null")
                if one.option == "variadic":
                    del found[name]
                    items = [item for item in node.items if item.value is not None]
                    found |= {f"{name}_{n}": (self._item(it), it) for n, it in enumerate(items)}
        return found

    def _item(self, node: FileNode) -> Any:
        """An item of a list of tensors, with the problems of a mapping reported."""
        if not node.entries:
            return node.plain()
        found = Problems()
        fields, _, _ = f.validate(f.TensorFields, node, self.file.name, found)
        for problem in found:
            self.problem(Mark(problem.line, problem.column), problem.message, problem.hint)
        return f.TensorFields(shape=[], constant=0.0) if found else fields

    def tensor(
        self, name: str, node: FileNode, fields: object, dtype: DType | None
    ) -> TensorSpec | None:
        """The tensor written at `node`, or None with its problem reported."""
        try:
            stated = fields if isinstance(fields, f.TensorFields) else None
            return read_tensor(name, node, stated, dtype, self.file.path.parent)
        except InvalidTensor as refused:
            report = self.lacking if isinstance(refused, Lacking) else self.problem
            report(refused.mark, refused.message, refused.hint)
            return None

    def twin(self, concrete: Concrete) -> Case | None:
        """The legal twin of this case; None, with its problems reported as such."""
        if not self.sound:
            return None
        found = Problems()
        case = resolve(replace(self.file, problems=found, reported=set()), concrete, False)
        for problem in found:
            mark = Mark(problem.line, problem.column)
            self.problem(mark, f"the legal twin is not legal: {problem.message}", problem.hint)
        return case

    def _outputs(self, bound: dict[str, DType], attrs: Attrs) -> Iterator[OutputSpec]:
        schema, stated = self.schema, output_names(self.fields.expect)
        names: list[str] = []
        for name, path in stated.items():
            # Of sequences, their tensors are asked for one by one.
            asked = isinstance(path[-1], int) and place(schema.outputs, name)
            names += [name] if asked else []
            if not (asked or (name == path[-1] and opset.states(schema.outputs, name))):
                known = spelt(schema.outputs)
                has = f"has: {', '.join(known)}; or {', '.join(f.FORMS)}"
                message = f"{quoted(name)} is no output of {schema.op} ({has})"
                hint = did_you_mean(name, {*known, *f.FORMS} - {name})
                self.problem(self.node.at(path, key=True), message, hint)
        answers = _answers(self.fields.expect)
        for path, answer in answers:
            names += self.tensors(schema.outputs, _outputs(answer), path)
        listed = next((p.name for p in schema.outputs if p.listed and p.option == "variadic"), "")
        refused = answers and all(isinstance(one, f.RejectedField) for _, one in answers)
        if listed and self.needs_answer and not (names or refused):
            message = f"expect must say how many tensors {listed} has"
            hint = f"a list of them, or computed: [{listed}_0, {listed}_1]"
            self.lacking(self.node.at(["expect"]), message, hint)
        for at, name, output in _asked(schema.op, tuple(dict.fromkeys(names))):
            yield _output(name, opset.output_dtype(schema, output, bound, attrs), at)

    def _tolerance(self, case: Case, specs: Iterable[TensorSpec]) -> Tolerance | None:
        if self.fields.tolerance is None:
            return Tolerance(ulp=0) if is_exact(case) else None
        stated = [spec.dtype for spec in specs]
        # An output whose dtype is open has at most the steps of the widest.
        declared = [output.dtype or DTYPES["float64"] for output in case.outputs]
        try:
            return tolerance_of(self.fields.tolerance, self.dtype, [*declared, *stated])
        except ValueError as error:
            self.problem(self.at("tolerance"), f"tolerance: {error}")
            return None

    def expectation_of(self, case: model.Case) -> model.Expectation:
        """The expectation of `case`, or as much of it as is sound."""
        expect = self.fields.expect
        if isinstance(expect, f.AnyOfField):
            found: list[model.Alternative] = []
            for path, answer in _answers(expect):
                if answer.name in (one.name for one in found):
                    message = f"two answers are named {answer.name!r}"
                    self.problem(self.node.at((*path, "as")), message)
                meant = self._one(case, answer, path)
                if self.sound and _likeness(meant) in (_likeness(one.expect) for one in found):
                    what = "are rejections" if isinstance(meant, model.Rejected) else "are the same"
                    self.problem(self.node.at(path), f"two answers {what}")
                found.append(model.Alternative(answer.name, meant))
            if case.rule != "open":
                self.lacking(self.at("expect"), "any_of needs rule: open")
            return model.AnyOf(tuple(found))
        if case.rule == "open":
            self.lacking(self.at("rule"), "rule: open needs expect.any_of, the answers admitted")
        if isinstance(expect, f.OracleField | f.AgreeField):
            # Both answers may be rounded, so that no bound holds.
            exact = all(output.dtype and output.dtype.kind != "float" for output in case.outputs)
            if self.fields.tolerance is None and not (exact or is_exact(case)):
                message = "a backend's answer has errors of its own: tolerance must be stated"
                hint = "such as tolerance: {rtol: 1e-5, atol: 1e-6}; {ulp: 0} compares exactly"
                self.lacking(self.at("expect"), message, hint)
            if isinstance(expect, f.OracleField):
                return model.Oracle(expect.oracle)
            return model.Agreement()
        return self._one(case, expect, ("expect",))

    def _one(self, case: model.Case, answer: object, path: Location) -> model.OneAnswer:
        if isinstance(answer, f.RejectedField):
            return self._rejected(case, answer.rejected, path)
        if isinstance(answer, f.GoldenField):
            return self._golden(case, answer.golden, path)
        if _outputs(answer):
            return self._values(case, answer, path)
        if self.needs_answer and operator_of(case.op) is None:
            message = f"the engine has no kernel for {case.op}: expect must state the outputs"
            self.lacking(self.node.at(path), message)
        return _COMPUTED

    def _values(self, case: model.Case, answer: object, path: Location) -> model.Values:
        tensors = self.tensors(self.schema.outputs, _outputs(answer), path)
        specs: list[model.TensorSpec] = []
        known = {output.name for output in case.outputs}
        misspelt = [name for name in tensors if name not in known]
        for output in case.outputs:
            if output.name not in tensors:
                meant = [output.name, *f.FORMS]
                if output.name and not any(did_you_mean(name, meant) for name in misspelt):
                    self.lacking(self.node.at(path), f"expect lacks output {output.name!r}")
                continue
            fields, node = tensors[output.name]
            # Outputs of a graph, and of training, are of any type: mostly of that of the case.
            mixed = not all(one.homogeneous for one in self.schema.outputs)
            dtype = output.dtype or (self.dtype if mixed else None)
            if dtype is None and getattr(fields, "dtype", None) is None:
                # Problems of the inputs have been reported, and may be the reason.
                if self.sound:
                    message = f"{output.name}: its dtype does not follow from the inputs"
                    self.lacking(node.mark, message, "{value: …, dtype: …} states it")
                continue
            if (spec := self.tensor(output.name, node, fields, dtype)) is None:
                continue
            if output.dtype and spec.dtype != output.dtype:
                message = f"{output.name}: {case.op} gives {output.dtype} here, not {spec.dtype}"
                self.problem(node.at(["dtype"]), message)
            specs.append(spec)
        if any(spec.dtype.kind == "float" for spec in specs):
            self._check_bound(case)
        return model.Values(tuple(specs))

    def _check_bound(self, case: model.Case) -> None:
        if self.fields.tolerance is None and operator_of(case.op) is None and not is_exact(case):
            message = f"opcheck knows no error bound for {case.op}: tolerance must be stated"
            self.lacking(self.node.mark, message, "tolerance: {ulp: 0} compares exactly")

    def _golden(self, case: model.Case, name: str, path: Location) -> model.Golden:
        mark = self.node.at((*path, "golden"))
        try:
            folder = inside(self.file.path.parent, name, mark)
            for number in range(len(case.outputs)):
                inside(folder, f"output_{number}.pb", mark)
        except InvalidTensor as refused:
            self.problem(refused.mark, refused.message, refused.hint)
            return model.Golden(self.file.path.parent)
        if any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs):
            self._check_bound(case)
        return model.Golden(folder)

    def _rejected(self, case: model.Case, why: str, path: Location) -> model.Rejected:
        legal = grouping.sure(self.node.get(*path, "legal"))  # validated before
        ((key, value),) = legal.entries.items()
        # What must come out of the legal twin does not matter, only that it runs.
        start, steps = self.node.without(("expect", "rule", "tolerance")), f.parse_path(key)
        if asked := self.node.get(*path, "asked"):
            start = f.put(start, ("expect", "computed"), asked) or start
        node = f.put(start, steps, value) if steps else None
        twin = None
        if not steps:
            self.problem(legal.keys[key], f"legal: {quoted(key)} is no path", f.PATHS_ARE)
        elif node is None:
            self.problem(legal.keys[key], f"legal: {quoted(key)} leads into a literal")
        elif node.plain() == start.plain():
            self.problem(self.node.at((*path, "legal"), key=True), "legal changes nothing")
        else:
            twin = self.twin(replace(self.concrete, id=f"{case.id}~legal", node=node))
        return model.Rejected(why, twin or case)

    def resolve_inputs(self, schema: Schema) -> tuple[model.TensorSpec, ...]:
        """The inputs of the case, in the operator's order."""
        given = {n: v for n, v in (self.fields.inputs or {}).items() if v is not None}
        stated = self.tensors(schema.inputs, given, ("inputs",))
        specs: dict[str, model.TensorSpec] = {}
        unknown = [n for n in self.fields.inputs or {} if not opset.states(schema.inputs, n)]
        for name in unknown:
            known = spelt(schema.inputs)
            message = f"{quoted(name)} is no input of {schema.op} (has: {', '.join(known)})"
            self.problem(self.at("inputs", name), message, did_you_mean(name, known))
        if schema.in_place_of_optional and len(given.keys() - {*unknown}) > 1:
            message = f"{' and '.join(given)} are the same input of {schema.op}: state one"
            self.problem(self.at("inputs"), message)
        for name, (tensor, node) in stated.items():
            if name in unknown or not (parameter := _input(schema.op, name)):
                continue
            self.places[name] = node
            allowed = _allowed(parameter.types)
            # Another input than the leading one may have one dtype alone, such as K of TopK.
            only = len(allowed) == 1 and parameter is not schema.typed
            if spec := self.tensor(name, node, tensor, allowed[0] if only else self.dtype):
                specs[name] = spec
                if spec.dtype not in allowed and not self.may_be_illegal:
                    names = ", ".join(sorted(map(str, allowed)))
                    hint = f"allowed: {names or 'only types that no case can have'}"
                    message = f"{spec.name}: {schema.op} does not allow {spec.dtype}"
                    self.problem(self._dtype_mark(spec), message, hint)
        lists = [p.name for p in schema.inputs if p.listed and not schema.in_place_of_optional]
        if lists and not (stated or self.dtype):
            self.lacking(self.node.mark, "the dtype of an empty sequence is not stated")
        lacks = [name for name in lists if name not in given]
        if lacks or not self.may_be_illegal:
            for name in (*lacks, *missing(schema.inputs, stated)):
                if not any(did_you_mean(word, [name]) for word in unknown):
                    self.lacking(self.node.mark, f"{schema.op} needs input {name!r}")
        if self.file.domain == opset.DML and any(spec.initializer for spec in specs.values()):
            self.problem(self.at("inputs"), "DirectML's operators have no initializers")
        return tuple(specs[slot] for slot in _ordered(schema.op, tuple(specs)) if slot)

    def bindings(self, schema: Schema, inputs: tuple[model.TensorSpec, ...]) -> dict[str, DType]:
        """The dtype of each type constraint, by the first input with it."""
        bound: dict[str, DType] = {}
        for spec in inputs:
            parameter = grouping.sure(_input(schema.op, spec.name))
            if parameter.option == "variadic" and not parameter.homogeneous:
                continue
            first = bound.setdefault(parameter.constraint, spec.dtype)
            if first != spec.dtype and not self.may_be_illegal:
                message = f"{spec.name} is {spec.dtype}, but {schema.op} wants {first} as before it"
                self.problem(self._dtype_mark(spec), message)
        return bound

    def _dtype_mark(self, spec: model.TensorSpec) -> Mark:
        stated = self.places[spec.name].get("dtype") or self.node.get("dtype")
        return stated.mark if stated else self.at("inputs", spec.name)

    def resolve_attributes(self, schema: Schema) -> model.Attrs:
        """The attributes of the case, without those that are wrong."""
        stated = self.fields.attrs or {}
        unknown: list[str] = []
        found: dict[str, model.AttrValue | model.Typed] = {}
        for name, value in stated.items():
            attribute = schema.attributes.get(name)
            if name in schema.graphs and isinstance(value, str):
                if self._is_graph(schema, name, value):
                    found[name] = value
                continue
            if attribute is None and (self.may_be_illegal or value is None):
                attribute = opset.attribute(schema.op, name)
            is_tensor = isinstance(value, f.TensorFields)
            if isinstance(value, dict) and self.may_be_illegal:
                attribute = attribute or Attribute(name, "other", False, None)
            if value is None and not self.needs_answer:
                continue  # A legal twin omits an illegal attribute.
            if attribute is None:
                unknown.append(name)
                has = f"has: {', '.join(schema.attributes) or 'none'}"
                message = f"{quoted(name)} is no attribute of {schema.op} ({has})"
                self.problem(self.at("attrs", name), message, did_you_mean(name, schema.attributes))
            elif is_tensor or (attribute.type == "tensor" and not isinstance(value, dict | None)):
                if (array := self._attribute_tensor(attribute, value)) is not None:
                    found[name] = array
            elif value is not None:
                try:
                    typed = isinstance(value, dict) and self.may_be_illegal
                    found[name] = (typed_value if typed else attribute_value)(attribute, value)
                except ValueError as error:
                    self.problem(self.node.at(("attrs", name)), f"attribute {name} {error}")
        changed = changed_defaults(schema.op, self.file.opsets)
        for name, attribute in schema.attributes.items():
            if any(did_you_mean(word, [name]) for word in unknown):
                continue
            if attribute.required and stated.get(name) is None and not self.may_be_illegal:
                self.lacking(self.node.mark, f"{schema.op} needs attribute {name!r}")
            elif name not in stated and name in changed:
                what = f"attrs.{name} must be stated: its default differs"
                hint = f"attrs: {{{name}: null}} leaves it out"
                self.lacking(self.node.mark, f"{what} between the case's opsets", hint)
        return found

    def _is_graph(self, schema: Schema, name: str, text: str) -> bool:
        """Return True for a graph; report any other value, and tensors that are not there."""
        from opcheck.opset import onnx_defs

        given, mark = [*(self.fields.inputs or {})], self.node.at(("attrs", name))
        try:
            body = onnx_defs.subgraph(text, self.fields.opset or schema.op.since)
        except ValueError as error:
            self.problem(mark, f"attribute {name} is no graph: {error}", f.GRAPHS_ARE)
            return False
        outer = opset.outer(schema, given)
        for one in (one for one in body.outer if one not in outer and not self.may_be_illegal):
            message = f"{name}: {quoted(one)} is no tensor of the graph, and none from around it"
            self.problem(mark, message, did_you_mean(one, [*body.named, *outer]) or f.GRAPHS_ARE)
        for one in sorted(body.named & {*given, *spelt(schema.outputs)}):
            self.problem(mark, f"{name}: {quoted(one)} is the name of a tensor around the graph")
        return True

    def _attribute_tensor(self, attribute: Attribute, value: Any) -> Array | tuple[Any, ...] | None:
        """The tensor stated for an attribute, or its list; None with its problem reported."""
        node = grouping.sure(self.node.get("attrs", attribute.name))
        stated = value if isinstance(value, f.TensorFields) else None
        held = opset.held(attribute) if attribute.type in ("floats", "ints") else None
        wrong = "" if attribute.type == "tensor" or (stated and held) else "is no tensor"
        spec = None if wrong else self.tensor(attribute.name, node, stated, held or self.dtype)
        if spec and held and (len(spec.shape), spec.dtype) != (1, held):
            found = f"of rank {len(spec.shape)} and {spec.dtype}"
            wrong = f"is a list, of rank 1 and {held}, not {found}"
        elif spec and held and prod(spec.shape) > _LONGEST_LIST:
            wrong = f"is a list, of at most {_LONGEST_LIST:,} entries"
        elif spec and spec.initializer:
            wrong = "is no initializer"
        try:
            array = materialize(spec) if spec and not wrong else None
        except ValueError as error:
            wrong = str(error)
        if wrong:
            self.problem(node.mark, f"attribute {attribute.name} {wrong}")
        if wrong or array is None:
            return None
        array.flags.writeable = False
        return tuple(array.tolist()) if held else array


def tolerance_of(stated: f.ToleranceField, dtype: DType | None, all_: Iterable[DType]) -> Tolerance:
    """Tolerance of a case of `dtype` as `stated`; raises ValueError if it makes no sense."""
    if isinstance(stated, f.ToleranceFields):
        found = _stated(stated)
    else:
        each = {name: _stated(fields) for name, fields in stated.items()}
        for name, tolerance in each.items():
            _check_tolerance(tolerance, DTYPES[name])
        if dtype is None or dtype.name not in each:
            raise ValueError(f"says nothing about {dtype or 'a case without dtype'}")
        found = each[dtype.name]
    for output in all_:
        _check_tolerance(found, output)
    return found


def _check_tolerance(tolerance: Tolerance, dtype: DType) -> None:
    """Raise ValueError if it admits answers that are wrong in every digit."""
    if tolerance.rtol >= 1:
        raise ValueError(f"rtol {tolerance.rtol:g} admits any value; it must be below 1")
    # That many steps double a value. Integers are exact unless rtol and atol are stated.
    doubled = 2 ** (dtype.precision - 1) if dtype.kind == "float" else None
    if tolerance.ulp and doubled and tolerance.ulp >= doubled:
        many = f"ulp {shown(tolerance.ulp)} is too many"
        raise ValueError(f"{many}: {doubled} steps double a {dtype}")
    if dtype.kind in ("bool", "string"):
        return
    largest = limits(dtype)[1]
    if tolerance.atol >= largest / 2:
        raise ValueError(f"atol {tolerance.atol:g} admits any value: {dtype} ends at {largest:g}")


def _stated(stated: f.ToleranceFields) -> Tolerance:
    rules = {"signed_zeros": bool(stated.signed_zeros), "strict": bool(stated.strict)}
    absolute = stated.rtol is not None or stated.atol is not None
    if absolute and stated.ulp is not None:
        raise ValueError("ulp excludes rtol and atol")
    if absolute:
        return Tolerance(None, stated.rtol or 0.0, stated.atol or 0.0, **rules)
    if stated.ulp is None and not any(rules.values()):
        raise ValueError("states nothing: give ulp, or rtol and atol")
    return Tolerance(stated.ulp or 0, **rules)


def _answers(expect: object) -> list[tuple[Location, Any]]:
    if isinstance(expect, f.AnyOfField):
        return [(("expect", "any_of", k), answer) for k, answer in enumerate(expect.any_of)]
    return [(("expect",), expect)]


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


def _likeness(answer: model.OneAnswer) -> object:
    """Return a key that is equal for answers written alike, and for all refusals."""
    if isinstance(answer, model.Values):
        held = (s.content for s in answer.outputs)
        contents = [content(it.values) if isinstance(it, model.Given) else it for it in held]
        return contents, [(s.name, s.dtype, s.shape, s.put) for s in answer.outputs]
    return model.Rejected if isinstance(answer, model.Rejected) else answer


def is_exact(case: model.Case) -> bool:
    """Return True if floats are compared exactly where the case states no tolerance."""
    floats = any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs)
    operator = find(case.op.domain, case.op.name)
    return floats and operator_of(case.op) is None and operator is not None and operator.exact


def _outputs(answer: object) -> dict[str, object]:
    if isinstance(answer, f.AlternativeOutputsField):
        return dict(answer.__pydantic_extra__ or {})
    return answer if isinstance(answer, dict) else {}


# Of many cases in a row, the names are the same.
@lru_cache
def _input(op: model.OpVersion, name: str) -> Parameter | None:
    inputs = opset.versions(op.domain, op.name)[op.since].inputs
    found = place(inputs, name)
    return inputs[found[0]] if found else None


@lru_cache
def _ordered(op: model.OpVersion, names: tuple[str, ...]) -> tuple[str, ...]:
    return slots(opset.versions(op.domain, op.name)[op.since].inputs, names)


@lru_cache
def _asked(op: model.OpVersion, names: tuple[str, ...]) -> list[tuple[int, str, Parameter]]:
    """The outputs of a node that is asked for these, with their places."""
    outputs = opset.versions(op.domain, op.name)[op.since].outputs
    # A place is counted, so that whatever comes before one that is asked for is asked for too.
    counts = [found[1] for name in names if (found := place(outputs, name))]
    before = (f"{outputs[-1].stem}_{n}" for n in range(max(counts, default=0)))
    named = [*dict.fromkeys([*names, *before, *missing(outputs, names)])]
    # Nobody asks for nothing. An optional one may be left out before others.
    ordered = slots(outputs, named or spelt(outputs))
    places = ((at, name, place(outputs, name)) for at, name in enumerate(ordered))
    return [(at, name, outputs[found[0]]) for at, name, found in places if found]


@cache
def _allowed(types: frozenset[str]) -> tuple[DType, ...]:
    return tuple(dtype for dtype in DTYPES.values() if dtype.text in types)


def attribute_value(attribute: Attribute, value: Any) -> model.AttrValue:
    """`value` in the attribute's declared type; raises ValueError for any other."""
    if (kind := attribute.type.removesuffix("s")) == "tensor":
        raise ValueError(f"must be a literal, or {{value: …, dtype: …}}; got {shown(value)}")
    if kind == "graph":
        raise ValueError(f"must be a graph as text; got {shown(value)}")
    if kind not in _SCALARS:
        raise ValueError("holds a type or sparse tensor, which case files cannot write")
    if kind == attribute.type:
        return cast(model.AttrValue, _scalar(kind, value))
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
    if kind == "float" and _LARGEST < abs(value) < inf:
        raise ValueError(f"must fit in float32, got {shown(value)}")
    return float(value) if kind == "float" else value


@cache
def changed_defaults(op: model.OpVersion, opsets: frozenset[int]) -> tuple[str, ...]:
    """The attributes whose default differs between versions, of those `opsets` if there are any."""
    versions = opset.versions(op.domain, op.name)
    others = [opset.describe(op.domain, op.name, number) for number in opsets]
    declared = [schema.attributes for schema in [*filter(None, others)] or versions.values()]
    own = {name: one.default for name, one in versions[op.since].attributes.items()}
    known = {name: {one[name].default for one in declared if name in one} for name in own}
    return tuple(name for name in own if known[name] - {own[name]})
