"""From a concrete case's fields to a Case, checked against the operator's schema.

Reports, at its place, every attribute, input, output and type that the operator does not have.
A case that expects (or admits) a rejection may break the schema, since it tests just that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from opcheck import opset
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.errors import did_you_mean
from opcheck.model import Attrs, Case, Computed, OutputSpec, Source, TensorSpec, Tolerance
from opcheck.opset import Schema
from opcheck.reading import Mark, Problems, quoted
from opcheck.reading.validation import Location, shown
from opcheck.suite import expectation
from opcheck.suite import fields as f
from opcheck.suite.expand import CaseFile, Concrete
from opcheck.suite.fields import Omitted, ToleranceField, ToleranceFields, validate
from opcheck.suite.tensors import InvalidTensor, Lacking, excess, read_tensor

#: Longer ids would not fit into file names.
MAX_ID = 200


def resolve(file: CaseFile, concrete: Concrete, needs_answer: bool = True) -> Case | None:
    """`concrete` as a Case, or None with every problem reported."""
    fields, node, lost = validate(f.CaseFields, concrete.node, file.name, file.problems)
    if fields is None:
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

    def __post_init__(self) -> None:
        self.node, expect = self.concrete.node, self.fields.expect
        unknown = expect is None and self.concrete.lost is Omitted.EXPECTATION
        self.may_be_illegal = unknown or expectation.admits_rejection(expect)
        self.dtype = DTYPES[self.fields.dtype] if self.fields.dtype else None

    def case(self) -> Case | None:
        """The case; None where there is no operator to check it against."""
        schema = self._schema()
        if schema is None:
            return None
        self.version = str(schema.op)
        mark = self.node.mark
        if self.needs_answer and len(self.concrete.id) > MAX_ID:
            message = f"id longer than {MAX_ID} characters: shorten name, label or matrix values"
            self.problem(mark, message)
        tensors = expectation.resolve_inputs(self, schema)
        attrs = expectation.resolve_attributes(self, schema)
        bound = expectation.bindings(self, schema, tensors)
        case = Case(
            id=self.concrete.id,
            name=self.concrete.name,
            row=self.concrete.row,
            op=schema.op,
            opset=self.fields.opset or 0,
            dtype=self.dtype,
            attrs=attrs,
            inputs=tensors,
            slots=expectation.slots(schema.inputs, [spec.name for spec in tensors]),
            outputs=tuple(self._outputs(schema, bound, attrs)),
            expect=Computed(),
            rule=self.fields.rule or "must",
            level=self.concrete.level,
            timeout=self.fields.timeout,
            clause=self.fields.clause or "",
            empty=self.fields.empty or "",
            sweep=self.concrete.sweep,
            source=Source(self.file.name, mark.line, mark.column, self.file.shipped),
        )
        expect = expectation.resolve(self, case)
        stated = expectation.stated(expect)
        specs = [*case.inputs, *stated]
        too_much = excess(sum(prod(s.shape) for s in specs), sum(s.nbytes for s in specs))
        if too_much:
            mark = self.at("inputs") if case.inputs else mark
            self.problem(mark, f"the tensors of a case need {too_much} together")
        return replace(case, expect=expect, tolerance=self._tolerance(case, stated))

    def problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report one problem of this case, unless a case at another version showed it before."""
        self.sound = False
        problem = mark, message.replace(self.version, "") if self.version else message
        if problem not in self.file.reported:
            self.file.reported.add(problem)
            self.file.problems.add(self.file.name, mark, message, hint)

    def lacking(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Report something missing, unless it may be a fault that was left out."""
        if not self.concrete.lost:
            self.problem(mark, message, hint)

    def at(self, *path: str) -> Mark:
        """Return where the key at `path` is written."""
        return self.node.at(path, key=True)

    def _schema(self) -> Schema | None:
        file, number = self.file, self.fields.opset
        if number is None:
            self.lacking(self.node.mark, "opset is not stated", "opset: 13, or matrix: {opset: …}")
            return None
        newest = opset.newest(file.domain)
        schema = opset.describe(file.domain, file.op, number) if number <= newest else None
        if number > newest:
            message = f"opset {shown(number)} is too new: the installed packages know {newest}"
        elif schema is None:
            first = min(opset.versions(file.domain, file.op))
            message = f"{file.op} exists since opset {first}, not at {number}"
        elif schema.deprecated:
            message = f"{file.op} is deprecated at opset {number}"
        else:
            return schema
        self.problem(self.node.at(["opset"]), message)
        return schema

    def tensor(
        self, name: str, path: Location, fields: object, dtype: DType | None
    ) -> TensorSpec | None:
        """The tensor written at `path`, or None with its problem reported."""
        node = self.node.get(*path)
        assert node  # validated before
        try:
            return read_tensor(name, node, fields, dtype, self.file.path.parent)
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

    def _outputs(
        self, schema: Schema, bound: dict[str, DType], attrs: Attrs
    ) -> Iterator[OutputSpec]:
        stated = expectation.output_names(self.fields.expect)
        known = expectation.spelt(schema.outputs)
        has = f"has: {', '.join(known)}; or {', '.join(f.FORMS)}"
        for name, path in stated.items():
            if expectation.place(schema.outputs, name) is None:
                message = f"{quoted(name)} is no output of {schema.op} ({has})"
                hint = did_you_mean(name, [*known, *f.FORMS])
                self.problem(self.node.at(path, key=True), message, hint)
        names = [*stated]
        names += [name for name in expectation.missing(schema.outputs, names) if name not in names]
        slots = expectation.slots(schema.outputs, names)
        for slot, parameter in zip(slots, schema.outputs, strict=False):
            if not slot:
                message = f"expect must state output {parameter.name!r} too, as a later one is"
                self.lacking(self.at("expect"), message)
        for name in slots:
            place = expectation.place(schema.outputs, name)
            output = schema.outputs[place[0]] if place else None
            dtype = opset.output_dtype(schema, output, bound, attrs) if output else None
            yield OutputSpec(name, dtype)

    def _tolerance(self, case: Case, specs: Iterable[TensorSpec]) -> Tolerance | None:
        if self.fields.tolerance is None:
            return Tolerance(ulp=0) if expectation.is_exact(case) else None
        stated = [spec.dtype for spec in specs]
        # An output whose dtype is open has at most the steps of the widest.
        declared = [output.dtype or DTYPES["float64"] for output in case.outputs]
        try:
            return tolerance_of(self.fields.tolerance, self.dtype, [*declared, *stated])
        except ValueError as error:
            self.problem(self.at("tolerance"), f"tolerance: {error}")
            return None


def tolerance_of(stated: ToleranceField, dtype: DType | None, dtypes: Iterable[DType]) -> Tolerance:
    """Tolerance of a case of `dtype` as `stated`; raises ValueError if it makes no sense."""
    if isinstance(stated, ToleranceFields):
        found = _stated(stated)
    else:
        each = {name: _stated(fields) for name, fields in stated.items()}
        for name, tolerance in each.items():
            _check_tolerance(tolerance, DTYPES[name])
        if dtype is None or dtype.name not in each:
            raise ValueError(f"says nothing about {dtype or 'a case without dtype'}")
        found = each[dtype.name]
    for output in dtypes:
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


def _stated(stated: ToleranceFields) -> Tolerance:
    rules = {"signed_zeros": bool(stated.signed_zeros), "strict": bool(stated.strict)}
    absolute = stated.rtol is not None or stated.atol is not None
    if absolute and stated.ulp is not None:
        raise ValueError("ulp excludes rtol and atol")
    if absolute:
        return Tolerance(None, stated.rtol or 0.0, stated.atol or 0.0, **rules)
    if stated.ulp is None and not any(rules.values()):
        raise ValueError("states nothing: give ulp, or rtol and atol")
    return Tolerance(stated.ulp or 0, **rules)
