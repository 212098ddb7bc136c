"""From a concrete case's fields to a Case, checked against the operator's schema.

Reports, at its place, every attribute, input, output and type that the operator does not have.
A case that expects (or admits) a rejection may break the schema, since it tests just that.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from math import prod
from typing import Any

from opcheck import grouping, model, opset
from opcheck.dtypes import DTYPES, DType, content
from opcheck.engine import operator_of
from opcheck.engine.operators import find
from opcheck.errors import InvalidNode, NotSupported, did_you_mean
from opcheck.model import Array, Attrs, Case, Computed, OutputSpec, TensorSpec, Tolerance
from opcheck.opset import Attribute, Parameter, Schema, missing, place, slots, spelt
from opcheck.reading import FileNode, Mark, Problems, quoted
from opcheck.reading.validation import Location, shown
from opcheck.suite import fields as f
from opcheck.suite.attributes import attribute_value, changed_defaults, typed_value
from opcheck.suite.expand import CaseFile, Concrete
from opcheck.suite.huge import huge_node
from opcheck.suite.select import HUGE
from opcheck.suite.tensors import InvalidTensor, Lacking, excess, inside, materialize, read_tensor
from opcheck.suite.tolerances import tolerance_of

#: The most tensors of a sequence.
_LONGEST = 999
#: The entries of a list in an attribute, which takes far more room than a tensor.
_LONGEST_LIST = 1 << 20
#: Longer ids would not fit into file names.
MAX_ID = 200
# Cases share these, which makes them several times faster to unpack.
_COMPUTED = model.Computed()
_output = lru_cache(1024)(OutputSpec)
_source = lru_cache(model.Source)


def resolve(file: CaseFile, concrete: Concrete, needs_answer: bool = True) -> Case | None:
    """Return `concrete` as a Case, or None with every problem reported.

    None, without a problem, for an operator that is not known, and one from which something
    malformed was left out before. A legal twin needs no answer. Problems go to those of the file;
    nothing is raised.
    """
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
        self.node = self.concrete.node
        unknown = self.concrete.lost is f.Omitted.EXPECTATION
        answers = _answers(self.fields.expect)
        refused = any(isinstance(answer, f.RejectedField) for _, answer in answers)
        #: An expected answer is a refusal, or may be one.
        self.may_be_illegal = unknown or refused
        self.dtype = DTYPES[self.fields.dtype] if self.fields.dtype else None
        #: Where the inputs are stated, by name.
        self.places: dict[str, FileNode] = {}

    def case(self) -> Case:
        """Return the case; at an opset that does not exist, by the nearest version.

        Of a case with problems, `sound` is False then, and the case is not to be used.
        """
        self.schema = self._schema()
        self.version = str(self.schema.op)
        mark = self.node.mark
        if self.needs_answer and len(self.concrete.id) > MAX_ID:
            message = f"id longer than {MAX_ID} characters: shorten name, label or matrix values"
            self.problem(mark, message)
        inputs = self._resolve_inputs()
        attrs = self._resolve_attributes()
        bound = self._bindings(inputs)
        case = Case(
            id=self.concrete.id,
            name=self.concrete.name,
            row=self.concrete.row,
            level=self.concrete.level,
            op=self.schema.op,
            opset=self.fields.opset or 0,
            dtype=self.dtype,
            attrs=attrs,
            inputs=inputs,
            slots=_ordered(self.schema.op, tuple(spec.name for spec in inputs)),
            outputs=tuple(self._outputs(bound, attrs)),
            expect=_COMPUTED,
            rule=self.fields.rule or "must",
            is_rule_stated=self.fields.rule is not None,
            timeout=self.fields.timeout,
            clause=self.fields.clause or "",
            empty=self.fields.empty or "",
            source=_source(self.file.name, mark.line, mark.column, self.file.shipped),
        )
        expect = self._expectation(case)
        answers = expect.written
        self._check_size(case.inputs, answers)
        if case.level == HUGE:
            self._check_huge(replace(case, expect=expect))
        tolerance = self._tolerance(case, answers)
        return replace(
            case, expect=expect, tolerance=tolerance, outputs=self._outputs_by(answers, case)
        )

    def _check_size(self, inputs: Sequence[TensorSpec], answers: Sequence[TensorSpec]) -> None:
        """Report tensors, inputs and answers, that are too large together."""
        elements = sum(prod(spec.shape) for spec in (*inputs, *answers))
        nbytes = sum(spec.nbytes for spec in (*inputs, *answers))
        too_much = excess(elements, nbytes, is_huge=self.concrete.level == HUGE)
        if too_much:
            mark = self.at("inputs") if inputs else self.node.mark
            self.problem(mark, f"the tensors of a case need {too_much} together")

    def _check_huge(self, case: Case) -> None:
        """Report a case of level huge that cannot be judged by position."""
        mark = self.at("level")
        if not isinstance(case.expect, Computed) or len(case.outputs) != 1:
            self.problem(mark, "level huge is for one computed output, without expect")
        if any(spec.initializer for spec in case.inputs):
            self.problem(mark, "level huge feeds all inputs: none may be an initializer")
        types = [spec.dtype for spec in case.inputs] + [output.dtype for output in case.outputs]
        if any(dtype is None or dtype.kind not in ("int", "bool") for dtype in types):
            self.problem(mark, "level huge is for integers and truth values, which are exact")
        if not self.sound:
            return
        try:
            _ = huge_node(case).shape
        except (InvalidNode, NotSupported, ValueError) as error:
            self.problem(mark, str(error))

    def _outputs_by(self, answers: Iterable[TensorSpec], case: Case) -> tuple[OutputSpec, ...]:
        """Return the outputs with the types and ranks of the answers where the schema has none.

        Those are the outputs of graphs, and of operators of sequences and optionals.
        """
        schema = self.schema
        has_lists = any(parameter.listed for parameter in (*schema.inputs, *schema.outputs))
        if not (schema.graphs or has_lists):
            return case.outputs
        by_name = {spec.name: spec for spec in answers}
        outputs = []
        for output in case.outputs:
            spec = by_name.get(output.name)
            if spec:
                dtype = output.dtype or spec.dtype
                output = replace(output, rank=len(spec.shape), dtype=dtype)
            outputs.append(output)
        return tuple(outputs)

    def problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report one problem of this case, unless a case at another version showed it before.

        The case is not sound from then on.
        """
        self.sound = False
        self.file.report(mark, message, hint, self.version)

    def lacking(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report something missing, unless it may be a fault that was left out."""
        if not self.concrete.lost:
            self.problem(mark, message, hint)

    def at(self, *path: str) -> Mark:
        """Return where the key at `path` is written; missing steps are skipped."""
        return self.node.at(path, key=True)

    def _schema(self) -> Schema:
        """Return the version at the case's opset, or the nearest, with the problem reported.

        Problems are an opset that is not stated, too new or too old, and a deprecated version.
        """
        domain = self.file.domain
        op = self.file.op
        number = self.fields.opset
        newest = opset.newest(domain)
        first = min(opset.versions(domain, op))
        nearest = max(first, min(newest if number is None else number, newest))
        schema = grouping.not_none(opset.describe(domain, op, nearest))
        if number is None:
            self.lacking(self.node.mark, "opset is not stated", "opset: 13, or matrix: {opset: …}")
            # What else is missing depends on it.
            lost = max(self.concrete.lost, f.Omitted.SOMETHING)
            self.concrete = replace(self.concrete, lost=lost)
            return schema
        if number > newest:
            wrong = f"opset {shown(number)} is too new: the installed packages know {newest}"
        elif number < first:
            wrong = f"{op} exists since opset {first}, not at {number}"
        elif schema.deprecated:
            wrong = f"{op} is deprecated at opset {number}"
        else:
            return schema
        self.problem(self.node.at(["opset"]), wrong)
        return schema

    def tensors(
        self, parameters: Sequence[Parameter], stated: Mapping[str, Any], path: Location
    ) -> dict[str, tuple[Any, FileNode]]:
        """Return the tensors stated at `path`, by name; of a sequence its length, and one by one.

        Each is what is stated, and where. A list that is none is reported, and returned as a
        tensor.
        """
        tensors: dict[str, tuple[Any, FileNode]] = {}
        lists = {parameter.name: parameter for parameter in parameters if parameter.listed}
        has_length = any(parameter.constraint == opset.LENGTH for parameter in parameters)
        for name, fields in stated.items():
            node = grouping.not_none(self.node.get(*path, name))  # validated before
            parameter = lists.get(name)
            if parameter is None or not self._is_list(parameter, fields, node):
                tensors[name] = fields, node
                continue
            if parameter.option != "variadic":
                tensors[name] = fields, node
            if has_length:
                tensors[f"{name}_length"] = len(fields), FileNode(len(fields), node.mark)
            if parameter.option == "variadic":
                items = [item for item in node.items if item.value is not None]
                tensors |= {f"{name}_{n}": (self._item(it), it) for n, it in enumerate(items)}
        return tensors

    def _is_list(self, parameter: Parameter, fields: object, node: FileNode) -> bool:
        """Return True for the list of tensors of a sequence or optional; report what is wrong.

        False for what is no list, or has more than 999 tensors. Null in it is reported, and so is a
        second tensor of an optional.
        """
        name = parameter.name
        if not isinstance(fields, list) or len(fields) > _LONGEST:
            message = f"{name} must be a list of tensors, at most {_LONGEST:,}"
            self.problem(node.mark, message, f"{name}: [[1, 2], [3]]")
            return False
        if parameter.listed == "optional(" and len(fields) > 1:
            message = f"{name} is an optional, which has one tensor or none"
            self.problem(node.mark, f"{message}, got {len(fields)}")
        for item in node.items:
            if item.value is None:
                self.problem(item.mark, f"an item of {name} must be a tensor, got null")
        return True

    def _item(self, node: FileNode) -> Any:
        """Return an item of a list of tensors: a literal, or the fields of a mapping.

        Problems of a mapping are reported, and a scalar 0 is returned in its place.
        """
        if not node.entries:
            return node.plain()
        problems = Problems()
        fields, _, _ = f.validate(f.TensorFields, node, self.file.name, problems)
        for problem in problems:
            self.problem(Mark(problem.line, problem.column), problem.message, problem.hint)
        return f.TensorFields(shape=[], constant=0.0) if problems else fields

    def tensor(
        self, name: str, node: FileNode, fields: object, dtype: DType | None
    ) -> TensorSpec | None:
        """Return the tensor written at `node`, or None with its problem reported.

        `fields` are those of a mapping; of anything else `node` is a literal.
        """
        stated = fields if isinstance(fields, f.TensorFields) else None
        try:
            is_huge = self.concrete.level == HUGE
            folder = self.file.path.parent
            return read_tensor(name, node, stated, dtype, folder, is_huge=is_huge)
        except Lacking as error:
            self.lacking(error.mark, error.message, error.hint)
        except InvalidTensor as error:
            self.problem(error.mark, error.message, error.hint)
        return None

    def twin(self, concrete: Concrete) -> Case | None:
        """Return the legal twin of this case; None, with its problems reported as such.

        None without problems if this case has some already.
        """
        if not self.sound:
            return None
        problems = Problems()
        case = resolve(replace(self.file, problems=problems, reported=set()), concrete, False)
        for problem in problems:
            mark = Mark(problem.line, problem.column)
            self.problem(mark, f"the legal twin is not legal: {problem.message}", problem.hint)
        return case

    def _outputs(self, bound: dict[str, DType], attrs: Attrs) -> Iterator[OutputSpec]:
        """Yield the outputs of the node, with their types where these follow from the inputs.

        Reported are outputs that do not exist, and a case that does not state how many tensors a
        sequence has.
        """
        schema = self.schema
        names = self._computed_names()
        answers = _answers(self.fields.expect)
        for path, answer in answers:
            names += self.tensors(schema.outputs, _outputs(answer), path)
        listed = [p.name for p in schema.outputs if p.listed and p.option == "variadic"]
        refused = answers and all(isinstance(answer, f.RejectedField) for _, answer in answers)
        if listed and self.needs_answer and not (names or refused):
            message = f"expect must state how many tensors {listed[0]} has"
            hint = f"a list of them, or computed: [{listed[0]}_0, {listed[0]}_1]"
            self.lacking(self.node.at(["expect"]), message, hint)
        for number, name, output in _asked(schema.op, tuple(dict.fromkeys(names))):
            yield _output(name, opset.output_dtype(schema, output, bound, attrs), number)

    def _computed_names(self) -> list[str]:
        """Return the outputs that are stated in a list of names; report those that do not exist."""
        outputs = self.schema.outputs
        names: list[str] = []
        for name, path in output_names(self.fields.expect).items():
            # Of sequences, their tensors are listed one by one.
            if isinstance(path[-1], int) and place(outputs, name):
                names.append(name)
            elif name != path[-1] or not opset.states(outputs, name):
                known = spelt(outputs)
                has = f"has: {', '.join(known)}; or {', '.join(f.FORMS)}"
                message = f"{quoted(name)} is not an output of {self.schema.op} ({has})"
                hint = did_you_mean(name, {*known, *f.FORMS} - {name})
                self.problem(self.node.at(path, key=True), message, hint)
        return names

    def _tolerance(self, case: Case, answers: Iterable[TensorSpec]) -> Tolerance | None:
        """Return the tolerance of the case; None for the operator's own error bound.

        None, too, for a tolerance that makes no sense, which is reported.
        """
        if self.fields.tolerance is None:
            return Tolerance(ulp=0) if is_exact(case) else None
        # An output whose dtype is open has at most the steps of the widest.
        declared = [output.dtype or DTYPES["float64"] for output in case.outputs]
        stated = [spec.dtype for spec in answers]
        try:
            return tolerance_of(self.fields.tolerance, self.dtype, [*declared, *stated])
        except ValueError as error:
            self.problem(self.at("tolerance"), f"tolerance: {error}")
            return None

    def _expectation(self, case: model.Case) -> model.Expectation:
        """Return the expectation of `case`, or as much of it as is sound.

        Reported are a rule that does not fit, and what the answers lack.
        """
        expect = self.fields.expect
        if isinstance(expect, f.AnyOfField):
            any_of = self._any_of(case, expect)
            if case.rule != "open":
                self.lacking(self.at("expect"), "any_of needs rule: open")
            return any_of
        if case.rule == "open":
            self.lacking(self.at("rule"), "rule: open needs expect.any_of, the answers admitted")
        if isinstance(expect, f.OracleField):
            self._check_tolerance_of_backends(case)
            return model.Oracle(expect.oracle)
        if isinstance(expect, f.AgreeField):
            self._check_tolerance_of_backends(case)
            return model.Agreement()
        return self._one(case, expect, ("expect",))

    def _any_of(self, case: model.Case, expect: f.AnyOfField) -> model.AnyOf:
        """Return the answers that are admitted; report those of one name or of one content."""
        alternatives: list[model.Alternative] = []
        for path, stated in _answers(expect):
            if stated.name in (other.name for other in alternatives):
                message = f"two answers are named {stated.name!r}"
                self.problem(self.node.at((*path, "as")), message)
            answer = self._one(case, stated, path)
            likenesses = [_likeness(other.expect) for other in alternatives]
            if self.sound and _likeness(answer) in likenesses:
                what = "are rejections" if isinstance(answer, model.Rejected) else "are the same"
                self.problem(self.node.at(path), f"two answers {what}")
            alternatives.append(model.Alternative(stated.name, answer))
        return model.AnyOf(tuple(alternatives))

    def _check_tolerance_of_backends(self, case: model.Case) -> None:
        """Report a missing tolerance: two answers of backends may be rounded; no bound holds."""
        floats = any(not output.dtype or output.dtype.kind == "float" for output in case.outputs)
        if self.fields.tolerance is None and floats and not is_exact(case):
            message = "a backend's answer has errors of its own: tolerance must be stated"
            hint = "such as tolerance: {rtol: 1e-5, atol: 1e-6}; {ulp: 0} compares exactly"
            self.lacking(self.at("expect"), message, hint)

    def _one(self, case: model.Case, answer: object, path: Location) -> model.OneAnswer:
        """Return an answer of one of the forms that a case may state alone.

        `path` is where it is stated. An answer without outputs is the engine's; one that the engine
        does not have is reported.
        """
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
        """Return the outputs that an answer states; report those that are missing or wrong.

        Wrong ones are left out.
        """
        tensors = self.tensors(self.schema.outputs, _outputs(answer), path)
        names = {output.name for output in case.outputs}
        misspelt = [name for name in tensors if name not in names]
        specs: list[model.TensorSpec] = []
        for output in case.outputs:
            if output.name in tensors:
                spec = self._value(case, output, *tensors[output.name])
                if spec is not None:
                    specs.append(spec)
                continue
            meant = [output.name, *f.FORMS]
            if output.name and not any(did_you_mean(name, meant) for name in misspelt):
                self.lacking(self.node.at(path), f"expect lacks output {output.name!r}")
        if any(spec.dtype.kind == "float" for spec in specs):
            self._check_bound(case)
        return model.Values(tuple(specs))

    def _value(
        self, case: model.Case, output: OutputSpec, fields: object, node: FileNode
    ) -> TensorSpec | None:
        """Return the answer for one output, or None with its problem reported.

        An answer of another dtype than the output's is reported, and returned.
        """
        dtype = output.dtype
        # Outputs of a graph, and of training, are of any type: mostly of that of the case.
        if dtype is None and not all(one.homogeneous for one in self.schema.outputs):
            dtype = self.dtype
        if dtype is None and getattr(fields, "dtype", None) is None:
            # Problems of the inputs have been reported, and may be the reason.
            if self.sound:
                message = f"{output.name}: its dtype does not follow from the inputs"
                self.lacking(node.mark, message, "{value: …, dtype: …} states it")
            return None
        spec = self.tensor(output.name, node, fields, dtype)
        if spec and output.dtype and spec.dtype != output.dtype:
            message = f"{output.name}: {case.op} gives {output.dtype} here, not {spec.dtype}"
            self.problem(node.at(["dtype"]), message)
        return spec

    def _check_bound(self, case: model.Case) -> None:
        """Report a missing tolerance for floats of an operator without an error bound."""
        if self.fields.tolerance is None and operator_of(case.op) is None and not is_exact(case):
            message = f"opcheck knows no error bound for {case.op}: tolerance must be stated"
            self.lacking(self.node.mark, message, "tolerance: {ulp: 0} compares exactly")

    def _golden(self, case: model.Case, name: str, path: Location) -> model.Golden:
        """Return the answer in a folder of this name; report missing files.

        The folder of the case file is in its place then.
        """
        mark = self.node.at((*path, "golden"))
        try:
            folder = inside(self.file.path.parent, name, mark)
            for number in range(len(case.outputs)):
                inside(folder, f"output_{number}.pb", mark)
        except InvalidTensor as error:
            self.problem(error.mark, error.message, error.hint)
            return model.Golden(self.file.path.parent)
        if any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs):
            self._check_bound(case)
        return model.Golden(folder)

    def _rejected(self, case: model.Case, why: str, path: Location) -> model.Rejected:
        """Return the refusal with the case's legal twin: the case with one value made legal.

        What must come out of the twin does not matter, only that it runs. A value that is at no
        path, or changes nothing, and a twin that is not legal are reported; `case` itself is the
        twin then.
        """
        legal = grouping.not_none(self.node.get(*path, "legal"))  # validated before
        ((key, value),) = legal.entries.items()
        steps = f.parse_path(key)
        if steps is None:
            self.problem(legal.keys[key], f"legal: {quoted(key)} is not a path", f.PATHS_ARE)
            return model.Rejected(why, case)
        illegal = self.node.without(("expect", "rule", "tolerance"))
        asked = self.node.get(*path, "asked")
        if asked:
            illegal = f.put(illegal, ("expect", "computed"), asked) or illegal
        node = f.put(illegal, steps, value)
        twin = None
        if node is None:
            self.problem(legal.keys[key], f"legal: {quoted(key)} leads into a literal")
        elif node.plain() == illegal.plain():
            self.problem(self.node.at((*path, "legal"), key=True), "legal changes nothing")
        else:
            twin = self.twin(replace(self.concrete, id=f"{case.id}~legal", node=node))
        return model.Rejected(why, twin or case)

    def _resolve_inputs(self) -> tuple[model.TensorSpec, ...]:
        """Return the inputs of the case, in the operator's order, without those that are wrong.

        Reported are unknown and missing inputs, two for one, wrong tensors, and types that are not
        allowed unless the case may be illegal.
        """
        schema = self.schema
        fields = self.fields.inputs or {}
        given = {name: value for name, value in fields.items() if value is not None}
        tensors = self.tensors(schema.inputs, given, ("inputs",))
        unknown = [name for name in fields if not opset.states(schema.inputs, name)]
        for name in unknown:
            known = spelt(schema.inputs)
            has = f"has: {', '.join(known)}"
            message = f"{quoted(name)} is not an input of {schema.op} ({has})"
            self.problem(self.at("inputs", name), message, did_you_mean(name, known))
        if schema.in_place_of_optional and len(given.keys() - {*unknown}) > 1:
            message = f"{' and '.join(given)} are the same input of {schema.op}: state one"
            self.problem(self.at("inputs"), message)
        specs: dict[str, model.TensorSpec] = {}
        for name, (tensor, node) in tensors.items():
            spec = None if name in unknown else self._input(name, tensor, node)
            if spec is not None:
                specs[name] = spec
        self._check_missing_inputs(given, tensors, unknown)
        if self.file.domain == opset.DML and any(spec.initializer for spec in specs.values()):
            self.problem(self.at("inputs"), "DirectML's operators have no initializers")
        return tuple(specs[slot] for slot in _ordered(schema.op, tuple(specs)) if slot)

    def _input(self, name: str, tensor: object, node: FileNode) -> TensorSpec | None:
        """Return an input, or None with its problem reported, or if the schema does not have it."""
        schema = self.schema
        parameter = _input(schema.op, name)
        if parameter is None:
            return None
        self.places[name] = node
        allowed = _allowed(parameter.types)
        # Another input than the leading one may have one dtype alone, such as K of TopK.
        has_one_dtype = len(allowed) == 1 and parameter is not schema.typed
        spec = self.tensor(name, node, tensor, allowed[0] if has_one_dtype else self.dtype)
        if spec and spec.dtype not in allowed and not self.may_be_illegal:
            names = ", ".join(sorted(map(str, allowed)))
            hint = f"allowed: {names or 'only types that no case can have'}"
            message = f"{spec.name}: {schema.op} does not allow {spec.dtype}"
            self.problem(self._dtype_mark(spec), message, hint)
        return spec

    def _check_missing_inputs(
        self, given: Collection[str], tensors: Collection[str], unknown: Sequence[str]
    ) -> None:
        """Report inputs that are not stated, unless an unknown name may mean them.

        A case that may be illegal may lack all but sequences. `given` are the names stated,
        `tensors` those of their tensors.
        """
        schema = self.schema
        lists = [
            parameter.name
            for parameter in schema.inputs
            if parameter.listed and not schema.in_place_of_optional
        ]
        if lists and not (tensors or self.dtype):
            self.lacking(self.node.mark, "the dtype of an empty sequence is not stated")
        names = [name for name in lists if name not in given]
        if names or not self.may_be_illegal:
            names += missing(schema.inputs, tensors)
        for name in names:
            if not any(did_you_mean(word, [name]) for word in unknown):
                self.lacking(self.node.mark, f"{schema.op} needs input {name!r}")

    def _bindings(self, inputs: tuple[model.TensorSpec, ...]) -> dict[str, DType]:
        """Return the dtype of each type constraint, by the first input with it.

        Other dtypes of it are reported, unless the case may be illegal.
        """
        op = self.schema.op
        bound: dict[str, DType] = {}
        for spec in inputs:
            parameter = grouping.not_none(_input(op, spec.name))
            if parameter.option == "variadic" and not parameter.homogeneous:
                continue
            first = bound.setdefault(parameter.constraint, spec.dtype)
            if first != spec.dtype and not self.may_be_illegal:
                message = f"{spec.name} is {spec.dtype}, but {op} wants {first} as before it"
                self.problem(self._dtype_mark(spec), message)
        return bound

    def _dtype_mark(self, spec: model.TensorSpec) -> Mark:
        """Return where the dtype of an input is stated."""
        stated = self.places[spec.name].get("dtype") or self.node.get("dtype")
        return stated.mark if stated else self.at("inputs", spec.name)

    def _resolve_attributes(self) -> model.Attrs:
        """Return the attributes of the case, without those that are wrong.

        Reported are unknown, missing and wrong ones. Null leaves an attribute out.
        """
        schema = self.schema
        stated = self.fields.attrs or {}
        unknown: list[str] = []
        attrs: dict[str, model.AttrValue | model.Typed] = {}
        for name, value in stated.items():
            if name in schema.graphs and isinstance(value, str):
                if self._is_graph(name, value):
                    attrs[name] = value
                continue
            if value is None and not self.needs_answer:
                continue  # A legal twin omits an illegal attribute.
            attribute = self._attribute(name, value)
            if attribute is None:
                unknown.append(name)
                has = f"has: {', '.join(schema.attributes) or 'none'}"
                message = f"{quoted(name)} is not an attribute of {schema.op} ({has})"
                self.problem(self.at("attrs", name), message, did_you_mean(name, schema.attributes))
            elif value is not None:
                resolved = self._attribute_value(attribute, value)
                if resolved is not None:
                    attrs[name] = resolved
        self._check_missing_attributes(stated, unknown)
        return attrs

    def _attribute(self, name: str, value: object) -> Attribute | None:
        """Return the attribute of this name; None where the operator has none.

        Null may omit one that another version has. Where the case may be illegal, `{type: value}`
        may state one that no version has.
        """
        attribute = self.schema.attributes.get(name)
        if attribute is None and (self.may_be_illegal or value is None):
            attribute = opset.attribute(self.schema.op, name)
        if attribute is None and self.may_be_illegal and isinstance(value, dict):
            return Attribute(name, "other", False, None)
        return attribute

    def _attribute_value(
        self, attribute: Attribute, value: object
    ) -> model.AttrValue | model.Typed | None:
        """Return the value of an attribute; None with its problem reported."""
        is_mapping = isinstance(value, dict)
        if isinstance(value, f.TensorFields) or (attribute.type == "tensor" and not is_mapping):
            return self._attribute_tensor(attribute, value)
        read = typed_value if is_mapping and self.may_be_illegal else attribute_value
        try:
            return read(attribute, value)
        except ValueError as error:
            mark = self.node.at(("attrs", attribute.name))
            self.problem(mark, f"attribute {attribute.name} {error}")
            return None

    def _check_missing_attributes(
        self, stated: Mapping[str, object], unknown: Sequence[str]
    ) -> None:
        """Report attributes that must be stated, unless an unknown name may mean them.

        Those are mandatory ones, unless the case may be illegal, and those whose default differs
        between the case's opsets.
        """
        schema = self.schema
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

    def _is_graph(self, name: str, text: str) -> bool:
        """Return True for a graph; report any other value, and tensors that are not there.

        Reported is a tensor in it, too, that has the name of one around it.
        """
        from opcheck.opset import onnx_defs

        given = [*(self.fields.inputs or {})]
        mark = self.node.at(("attrs", name))
        try:
            body = onnx_defs.subgraph(text, self.fields.opset or self.schema.op.since)
        except ValueError as error:
            self.problem(mark, f"attribute {name} is not a graph: {error}", f.GRAPHS_ARE)
            return False
        outer = opset.outer(self.schema, given)
        for tensor in body.outer:
            if tensor not in outer and not self.may_be_illegal:
                message = f"{name}: {quoted(tensor)} is not a tensor of the graph, nor around it"
                hint = did_you_mean(tensor, [*body.named, *outer]) or f.GRAPHS_ARE
                self.problem(mark, message, hint)
        for tensor in sorted(body.named & {*given, *spelt(self.schema.outputs)}):
            message = f"{name}: {quoted(tensor)} is the name of a tensor around the graph"
            self.problem(mark, message)
        return True

    def _attribute_tensor(self, attribute: Attribute, value: Any) -> Array | tuple[Any, ...] | None:
        """Return the tensor stated for an attribute, or its list; None with its problem reported.

        A list of numbers may be stated by a tensor of rank 1, such as a fill. An array cannot be
        written to.
        """
        node = grouping.not_none(self.node.get("attrs", attribute.name))
        fields = value if isinstance(value, f.TensorFields) else None
        is_list = fields is not None and attribute.type in ("floats", "ints")
        held = opset.held(attribute) if is_list else None
        if attribute.type != "tensor" and not held:
            self.problem(node.mark, f"attribute {attribute.name} is not a tensor")
            return None
        spec = self.tensor(attribute.name, node, fields, held or self.dtype)
        if spec is None:
            return None
        try:
            _check_for_attribute(spec, held)
            array = materialize(spec)
        except ValueError as error:
            self.problem(node.mark, f"attribute {attribute.name} {error}")
            return None
        array.flags.writeable = False
        return tuple(array.tolist()) if held else array


def _check_for_attribute(spec: TensorSpec, held: DType | None) -> None:
    """Raise ValueError where a tensor is not an attribute, or a list of the type `held`.

    That is an initializer; with `held`, a tensor of another rank than 1, another dtype, or too many
    entries. `held` of None asks for no list.
    """
    if held and (len(spec.shape), spec.dtype) != (1, held):
        found = f"of rank {len(spec.shape)} and {spec.dtype}"
        raise ValueError(f"is a list, of rank 1 and {held}, not {found}")
    if held and prod(spec.shape) > _LONGEST_LIST:
        raise ValueError(f"is a list, of at most {_LONGEST_LIST:,} entries")
    if spec.initializer:
        raise ValueError("is not an initializer")


def _answers(expect: object) -> list[tuple[Location, Any]]:
    """Return each answer that an expectation admits, with its path."""
    if isinstance(expect, f.AnyOfField):
        return [(("expect", "any_of", k), answer) for k, answer in enumerate(expect.any_of)]
    return [(("expect",), expect)]


def output_names(expect: object) -> dict[str, Location]:
    """Return the outputs that an expectation names, each with the path at which it does so first.

    The path ends in a number where they are a list of names.
    """
    if isinstance(expect, f.ComputedField):
        return {name: ("expect", "computed", n) for n, name in enumerate(expect.computed)}
    paths: dict[str, Location] = {}
    for path, answer in _answers(expect):
        for name in _outputs(answer):
            paths.setdefault(name, (*path, name))
        if isinstance(answer, f.RejectedField):
            for number, name in enumerate(answer.asked or ()):
                paths.setdefault(name, (*path, "asked", number))
    return paths


def _likeness(answer: model.OneAnswer) -> object:
    """Return a key that is equal for answers written alike, and for all refusals."""
    if isinstance(answer, model.Values):
        return [
            (spec.name, spec.dtype, spec.shape, spec.put, _comparable(spec.content))
            for spec in answer.outputs
        ]
    return model.Rejected if isinstance(answer, model.Rejected) else answer


def _comparable(written: object) -> object:
    """Return what a tensor holds, in a form that `==` compares."""
    return content(written.values) if isinstance(written, model.Given) else written


def is_exact(case: model.Case) -> bool:
    """Return True if floats are compared exactly where the case states no tolerance.

    That is for an operator that only moves elements, at a version that the engine does not have,
    with a floating output or one of an open type.
    """
    floats = any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs)
    operator = find(case.op.domain, case.op.name)
    return floats and operator_of(case.op) is None and operator is not None and operator.exact


def _outputs(answer: object) -> dict[str, object]:
    """Return the outputs that an answer states, by name; none for answers of other forms."""
    if isinstance(answer, f.AlternativeOutputsField):
        return dict(answer.__pydantic_extra__ or {})
    return answer if isinstance(answer, dict) else {}


# Of many cases in a row, the names are the same.
@lru_cache
def _input(op: model.OpVersion, name: str) -> Parameter | None:
    """Return the parameter of an input that a case names, None if the version does not have it."""
    inputs = opset.versions(op.domain, op.name)[op.since].inputs
    found = place(inputs, name)
    return inputs[found[0]] if found else None


@lru_cache
def _ordered(op: model.OpVersion, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the order of the version's inputs, "" for one that is left out."""
    return slots(opset.versions(op.domain, op.name)[op.since].inputs, names)


@lru_cache
def _asked(op: model.OpVersion, names: tuple[str, ...]) -> list[tuple[int, str, Parameter]]:
    """Return the outputs of a node of which these are requested, with their places and parameters.

    Without names they are all. Mandatory outputs, and those of a variadic one before one that is
    named, are among them.
    """
    outputs = opset.versions(op.domain, op.name)[op.since].outputs
    places = [place(outputs, name) for name in names]
    # Of a variadic output, all before one that is requested are requested too.
    count = max((found[1] for found in places if found), default=0)
    before = [f"{outputs[-1].stem}_{number}" for number in range(count)]
    requested = [*dict.fromkeys([*names, *before, *missing(outputs, names)])]
    # Without any, all are. An optional one may be left out before others.
    ordered = slots(outputs, requested or spelt(outputs))
    with_parameters = []
    for number, name in enumerate(ordered):
        found = place(outputs, name)
        if found:
            with_parameters.append((number, name, outputs[found[0]]))
    return with_parameters


@cache
def _allowed(types: frozenset[str]) -> tuple[DType, ...]:
    """Return the dtypes whose spellings in type constraints these are, in the order of DTYPES."""
    return tuple(dtype for dtype in DTYPES.values() if dtype.text in types)
