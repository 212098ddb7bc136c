"""How an operator's file declares its formulas, and how these files are found.

    OP = operator("LayerNormalization")

    @OP.formula(17)
    def two_pass(X, Scale, B=None, *, axis, epsilon, stash_type): ...

A formula takes the inputs by position and the attributes by keyword, under the schema's names, or
by `**` those that it does not name. It returns the outputs. Defaults come from the schema. It is
written with the functions of `opcheck.numbers`, so that it can be evaluated on several kinds of
numbers.

What a formula does where the text gives no single answer:

- The text forbids the node, and the schema does not: `reject`, or raise InvalidNode.
- The text admits a few answers: follow a `Ruling` of `opcheck.engine.readings`.
- The text does not define single elements, which may be anything: `undefined.undefined_where`.
- The text admits other answers that cannot be listed: `leave_open`, then give one of them. It
  raises only while others are judged: docstrings say "while judging", see `judging`.
- The text defines no answer at all: `raise_unspecified`.
"""

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.errors import InvalidNode, NotSupported, WrongOperator, meant, reject
from opcheck.numbers import setting
from opcheck.opset import Parameter, Schema
from opcheck.opset.direct_ml import LOWERED

Formula: TypeAlias = Callable[..., Any]
#: Makes the formula of each version, by the opset since which it is in force.
FormulaBuilder: TypeAlias = Callable[..., Mapping[int, Formula]]
#: A formula, or whatever `build` makes the formulas from: a decorator returns it as it is.
Declared = TypeVar("Declared")
Variant = TypeVar("Variant")
#: Variants of a formula, or of one of its steps, by the names of mutants: what is wrong, in words
#: that fit after "likely cause:", and the variant.
NamedMutants: TypeAlias = Mapping[str, tuple[str, Variant]]
#: The keyword of a formula that receives the number of the node's outputs.
OUTPUTS = "outputs"
#: The keyword of a formula that receives the places of the outputs that are asked for.
USED = "used"
#: The keyword of a formula that receives the names of the attributes that the node states, which
#: may be what they are by default.
STATED = "stated"

_OPS = "opcheck.engine.ops"
#: The dtypes of real and complex floating numbers, for mutants that concern no others.
FLOATING = tuple(name for name, dtype in DTYPES.items() if dtype.kind in ("float", "complex"))
_is_judging: ContextVar[bool] = ContextVar("_is_judging", default=False)
#: Reasons of `leave_open`, and subjects of `undefined_where`, that another specification decides.
DECIDED = ContextVar[Collection[str]]("DECIDED", default=())


class Alternative(NamedTuple):
    """Another formulation than the text's that is as right, and rounds in other ways.

    An output that only it explains is a warning with this `remark`; none if that is "".
    """

    remark: str
    function: Formula
    since: int


class OwnMutant(NamedTuple):
    """A wrong formulation that somebody could ship; see `engine.mutants`.

    Attributes:
        name: In snake_case.
        text: Fits after "likely cause:".
        function: The formulation.
        since: The version that it is of.
        only: The dtypes in which it is wrong; None for all.
        of_validity: It is wrong about invalid nodes alone.
        is_asked: Suites are asked about it; else it only names causes of failures.
    """

    name: str
    text: str
    function: Formula
    since: int
    only: Sequence[str] | None
    of_validity: bool
    is_asked: bool = True


@dataclass(eq=False)
class Operator:
    """An operator and everything that its file declares about it.

    Attributes:
        exact: It moves elements about, or computes with other than floating numbers, so that its
            answers are exact and its inputs are used in their own type.
        low, high: The ends of its range, None where it has none.
        ignores: Attributes of the schema that change nothing, by default that of first versions.
        constant: Dtypes of the leading input whose outputs hold one value whatever it holds.
        any_order: The axis along which the outputs may come in any order, from the attributes; the
            last output states the order by whole numbers. Or "rows", which are each as a whole;
            None where the order is decided.
        of_shapes: It reads no elements of its inputs, only their shapes.
        of_integers: It computes with floating numbers even where no input has any.
        led: The arithmetic is that of its leading input's type, if a float, and not the widest's.
        random: Its outputs are drawn at random, by `opcheck.numbers.drawn`.
        related: Of one that computes with what it draws, on some nodes: from the inputs and all
            outputs, where the outputs contradict each other.
        of_scalars: Dtypes of inputs that are scalars, which are the same in each run.
        other: Other legal data in place of an input's, for a second run; None for the usual.
        formulas: The formula of each version implemented, by the opset since which it is in force.
            A version without one is unsupported, never another version's formula.
        native: What the `numpy` backend computes in place of a version's formula.
        alternatives: Other formulations that are as right.
        mutants: Wrong formulations.
    """

    domain: str
    name: str
    module: str
    exact: bool = False
    low: float | None = None
    high: float | None = None
    ignores: tuple[str, ...] = ("consumed_inputs",)
    any_order: Callable[[Mapping[str, Any]], int | Literal["rows"] | None] | None = None
    constant: tuple[str, ...] = ()
    of_shapes: bool = False
    of_integers: bool = False
    led: bool = False
    random: bool = False
    related: Callable[[Sequence[Any], Sequence[Any]], Any] | None = None
    of_scalars: tuple[str, ...] = ()
    other: Callable[[Any], Any] | None = None
    formulas: dict[int, Formula] = field(default_factory=dict)
    native: dict[int, Formula] = field(default_factory=dict)
    alternatives: list[Alternative] = field(default_factory=list)
    mutants: list[OwnMutant] = field(default_factory=list)

    def formula(
        self, *versions: int, build: FormulaBuilder | None = None
    ) -> Callable[[Declared], Declared]:
        """Declare the decorated function as the formula of these versions.

        `build` makes the formula of every version from the decorated function, and these are
        declared instead; of `versions` then only those that are named. So it is with the decorators
        below.

        Raises WrongOperator for a decorator without parentheses, versions that are not whole
        numbers, no version, one that the schema lacks or that has a formula already, and parameters
        that contradict the schema.
        """
        self._check_versions("formula", versions)

        def declare(function: Declared) -> Declared:
            for since, formula in self._by_version(function, versions, build, self.formulas):
                self.formulas[since] = formula
            return function

        return declare

    def fast_path(
        self, *versions: int, build: FormulaBuilder | None = None
    ) -> Callable[[Declared], Declared]:
        """Declare a faster or better formula for the `numpy` backend; no verdict depends on it.

        versions: by default all that have a formula; build: see `formula`. Raises WrongOperator for
        what `formula` does: a version that is unknown or declared already, or parameters that
        contradict it.
        """
        self._check_versions("fast_path", versions)

        def declare(function: Declared) -> Declared:
            for since, formula in self._by_version(function, versions, build, self.native):
                self.native[since] = formula
            return function

        return declare

    def alternative(
        self, remark: str, *versions: int, build: FormulaBuilder | None = None
    ) -> Callable[[Declared], Declared]:
        """Declare another right formulation; an output that only it explains is a warning.

        `remark` describes how it computes, and fits after "right only "; "" means no warning.
        versions: by default all that have a formula; build: see `formula`. Raises WrongOperator for
        a decorator without parentheses, a version that is unknown, or parameters that contradict
        the schema.
        """
        self._check_text("alternative", remark)
        self._check_versions("alternative", versions)

        def declare(function: Declared) -> Declared:
            for since, formula in self._by_version(function, versions, build):
                self.alternatives.append(Alternative(remark, formula, since))
            return function

        return declare

    def formula_and_alternatives(
        self, build: FormulaBuilder, function: Any, *alternatives: Any
    ) -> None:
        """Declare the formula, and others that are as right and bring no remark; see `formula`.

        `build` makes the formulas of all versions from each. Raises WrongOperator for a version
        that is declared already, or parameters that contradict the schema.
        """
        self.formula(build=build)(function)
        for alternative in alternatives:
            self.alternative("", build=build)(alternative)

    def mutant(
        self,
        text: str,
        *versions: int,
        build: FormulaBuilder | None = None,
        name: str = "",
        only: Sequence[str] | None = None,
        of_validity: bool = False,
        is_asked: bool = True,
    ) -> Callable[[Declared], Declared]:
        """Declare a wrong formulation that somebody could ship; `text` fits after "likely cause:".

        versions: by default all that have a formula; build: see `formula`. `only`: the dtypes in
        which it is wrong. `of_validity`: it is wrong about invalid nodes alone. Unless it
        `is_asked` of suites, it only names causes of failures. It replaces a general mutant of the
        same name, by default the function's.

        Raises WrongOperator for a decorator without parentheses, an unknown dtype, a version that
        is unknown or has a mutant of this name, and parameters that contradict the schema.
        """
        self._check_text("mutant", text)
        self._check_versions("mutant", versions)
        for word in sorted({*(only or ())} - {*DTYPES}):
            raise WrongOperator(f"{self.name}: {word!r} is not a dtype{meant(word, DTYPES)}")

        def declare(function: Declared) -> Declared:
            named: Any = function
            mutant_name = name or named.__name__
            declared = [mutant.since for mutant in self.mutants if mutant.name == mutant_name]
            for since, formula in self._by_version(function, versions, build, declared):
                mutant = OwnMutant(mutant_name, text, formula, since, only, of_validity, is_asked)
                self.mutants.append(mutant)
            return function

        return declare

    def mutant_table(
        self, table: Mapping[str, Sequence[Any]], *versions: int, **options: Any
    ) -> None:
        """Declare mutants by name: a text, what makes it, its dtypes if not all.

        versions, options: those of all of them; see `mutant`, which raises WrongOperator for what
        is wrong with one.
        """
        for name, (text, function, *only) in table.items():
            dtypes = only or options.get("only")
            self.mutant(text, *versions, name=name, **{**options, "only": dtypes})(function)

    def _check_text(self, decorator: str, text: object) -> None:
        """Raise WrongOperator for a function in place of a text: parentheses are missing."""
        if callable(text):
            raise WrongOperator(f"{self.name}: {decorator}: {_missing_parentheses(decorator)}")

    def _check_versions(self, decorator: str, versions: Sequence[object]) -> None:
        """Raise WrongOperator for other than whole numbers, as without parentheses."""
        for version in versions:
            if callable(version):
                raise WrongOperator(f"{self.name}: {decorator}: {_missing_parentheses(decorator)}")
            if not isinstance(version, int):
                problem = f"versions are whole numbers, not {version!r}"
                raise WrongOperator(f"{self.name}: {decorator}: {problem}")

    def _by_version(
        self,
        function: Any,
        versions: Sequence[int],
        build: FormulaBuilder | None,
        declared: Collection[int] = (),
    ) -> Iterator[tuple[int, Formula]]:
        """Yield the version and the formula of each of `versions`, by default of all.

        `build` makes the formulas of the function, else it is that of every version. Raises
        WrongOperator if there is no version, if one is `declared` already or is unknown, and for
        parameters that contradict the schema. Raises KeyError for a version that `build` does not
        make.
        """
        formulas: Mapping[int, Formula]
        if build:
            formulas = build(function)
        else:
            formulas = dict.fromkeys(versions or self.formulas, function)
        if not formulas:
            known = ", ".join(map(str, opset.versions(self.domain, self.name)))
            self._wrong(function, f"it names no version (of {known}), nor does one above it")
        for since in versions or formulas:
            self._check(formulas[since], since)
            if since in declared:
                self._wrong(function, f"version {since} of it is declared above already")
            yield since, formulas[since]

    def _check(self, function: Formula, since: int) -> None:
        """Raise WrongOperator where a function's signature contradicts the schema.

        The schema is that of version `since`; there may be none of it, which is an error too.
        """
        schema = opset.versions(self.domain, self.name).get(since)
        if schema is None:
            known = ", ".join(map(str, opset.versions(self.domain, self.name))) or "none"
            self._wrong(function, f"there is no version {since} (there are: {known})")
            return
        given = parameters_of(function)
        tensors = [p for p in given if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
        stated = {p.name: p for p in given if p.kind is p.KEYWORD_ONLY}
        ignored = schema.attributes if keywords(function)[1] else self.ignores
        problems = chain(
            _wrong_inputs(tensors, schema.inputs), _wrong_attributes(stated, schema, ignored)
        )
        self._wrong(function, *(f"version {since}: {problem}" for problem in problems))

    def _wrong(self, function: Formula, *problems: str) -> None:
        """Raise WrongOperator if there are problems with a function."""
        name = getattr(_unwrapped(function), "__name__", "?")
        if problems:
            raise WrongOperator("\n".join(f"{self.name}: {name}: {it}" for it in problems))


def _missing_parentheses(decorator: str) -> str:
    """Return the message for a decorator that was given a function."""
    return f"parentheses are missing (did you mean @OP.{decorator}(…)?)"


def _unwrapped(function: Any) -> Any:
    """Return the function behind partial applications."""
    while hasattr(function, "func"):
        function = function.func
    return function


def located(function: Formula | str, error: BaseException | None = None) -> str:
    """Return `file:line` of a function, or of what failed in its file, or in the file named so.

    error: a syntax error has a place of its own; of others the last line in that file counts.
    """
    code = getattr(_unwrapped(inspect.unwrap(_unwrapped(function))), "__code__", None)
    file = __file__
    line = 1
    if isinstance(function, str):
        file = function
    elif code is not None:
        file = code.co_filename
        line = code.co_firstlineno
    if isinstance(error, SyntaxError):
        return _place(error.filename or file, error.lineno or 1)
    for frame, line_of_frame in traceback.walk_tb(error.__traceback__ if error else None):
        if frame.f_code.co_filename == file:
            line = line_of_frame
    return _place(file, line)


def _place(file: str, line: int) -> str:
    """Return `file:line`, from the current folder if the file is below it."""
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{line}"


def explained(error: BaseException) -> str:
    """Return an exception that an operator's file raised, and what its author may have meant."""
    message = getattr(error, "msg", error)
    known = {"operator", *vars(Operator)}
    for declaration in (operator, Operator.mutant):
        known.update(inspect.signature(declaration).parameters)
    words = re.findall(r"(?:name|attribute|argument) '(\w+)'", str(message))
    suggestion = meant(words[-1], known) if words else ""
    return f"{type(error).__name__}: {message}{suggestion}"


@cache
def parameters_of(function: Formula) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a formula."""
    return tuple(inspect.signature(function).parameters.values())


@cache
def keywords(function: Formula) -> tuple[tuple[str, ...], bool]:
    """Return the keywords of a formula, and True if it takes all other attributes by `**`."""
    given = parameters_of(function)
    names = tuple(p.name for p in given if p.kind is p.KEYWORD_ONLY)
    return names, any(p.kind is p.VAR_KEYWORD for p in given)


def _wrong_inputs(tensors: list[inspect.Parameter], declared: Sequence[Parameter]) -> Iterator[str]:
    """Yield how the inputs of a formula contradict those that are declared."""
    declared = _taken_inputs(declared)
    if len(tensors) != len(declared):
        has = ", ".join(tensor.name for tensor in tensors) or "none"
        wants = ", ".join(parameter.name for parameter in declared) or "none"
        yield f"its inputs are {has}; the schema has {wants}"
        return
    for tensor, parameter in zip(tensors, declared, strict=True):
        if tensor.name.strip("_").lower() != parameter.name.lower():
            yield f"input {tensor.name!r} is {parameter.name!r} in the schema"
        elif _option_of(tensor) != parameter.option:
            yield f"input {tensor.name!r} is {parameter.option} in the schema"


def _taken_inputs(declared: Sequence[Parameter]) -> Sequence[Parameter]:
    """Return the declared inputs that a formula takes: of several variadic ones the first."""
    variadic = [place for place, one in enumerate(declared) if one.option == "variadic"]
    if len(variadic) > 1:
        declared = declared[: variadic[0] + 1]
    if declared and declared[-1].constraint == opset.OUTER:
        declared = declared[:-1]
    return declared


def _option_of(tensor: inspect.Parameter) -> str:
    """Return the option of a schema's input that a formula's parameter fits."""
    if tensor.kind is tensor.VAR_POSITIONAL:
        return "variadic"
    return "optional" if tensor.default is None else "single"


def _wrong_attributes(
    stated: Mapping[str, inspect.Parameter], schema: Schema, ignores: Collection[str]
) -> Iterator[str]:
    """Yield how the keywords of a formula contradict the attributes of a schema."""
    for name in schema.attributes:
        if name not in stated and name not in ignores:
            yield f"attribute {name!r} of the schema is missing"
    for name, parameter in stated.items():
        if name not in (OUTPUTS, USED, STATED):
            yield from _wrong_attribute(name, parameter, schema)


def _wrong_attribute(name: str, parameter: inspect.Parameter, schema: Schema) -> Iterator[str]:
    """Yield how a keyword of a formula contradicts the attribute of its name."""
    versions = opset.versions(schema.op.domain, schema.op.name).values()
    anywhere = {name for version in versions for name in version.attributes}
    attribute = schema.attributes.get(name)
    has_default = parameter.default is not parameter.empty
    if name not in anywhere:
        yield f"attribute {name!r} is in no version of the schema{meant(name, anywhere)}"
    elif attribute is None:
        if not has_default:
            yield f"attribute {name!r} needs a default, because this version lacks it"
    elif not has_default:
        return
    elif attribute.required and all(name in version.attributes for version in versions):
        yield f"attribute {name!r} is mandatory in the schema, and takes no default"
    elif attribute.default not in (None, parameter.default):
        yield f"attribute {name!r} defaults to {parameter.default!r}, not {attribute.default!r}"


_DECLARED: dict[tuple[str, str], Operator] = {}


def operator(name: str, domain: str = "", *, module: str = "", **options: Any) -> Operator:
    """Declare an operator; see `Operator`. Its `module` is the one that calls, if none is named.

    options: fields of `Operator`. It is found by its name from then on. Raises WrongOperator for an
    operator that no schema has, and for a `low` or `high` that is not a number; TypeError for an
    unknown option.
    """
    made = Operator(domain, name, module or sys._getframe(1).f_globals["__name__"], **options)
    if not opset.versions(domain, name):
        wrong = f"there is no operator {name!r} in domain {domain!r}"
        raise WrongOperator(wrong + meant(name, opset.operators(domain)))
    for end in (made.low, made.high):
        if not isinstance(end, int | float | None):
            raise WrongOperator(f"{name}: low and high are numbers, not {end!r}")
    _DECLARED[domain, name] = made
    return made


def family(functions: Mapping[str, Any], **options: Any) -> Mapping[str, Operator]:
    """Declare operators that differ in a function: each takes its inputs and, by name, attributes.

    functions: by the operators' names. After the text's formula a tuple has others that are as
    honest, and bring no remark. An attribute that the function does not take changes nothing, as
    `consumed_inputs` of version 1. Raises WrongOperator for an operator that no schema has.
    """
    module = sys._getframe(1).f_globals["__name__"]
    declared = {name: operator(name, module=module, **options) for name in functions}
    for name, stated in functions.items():
        function, *others = stated if isinstance(stated, tuple) else (stated,)
        made = declared[name]
        taken = {p.name for p in parameters_of(function) if p.kind is p.KEYWORD_ONLY}
        versions = opset.versions(made.domain, name)
        attributes = {attribute for schema in versions.values() for attribute in schema.attributes}
        made.ignores = tuple(sorted(attributes - taken))
        shared: dict[inspect.Signature, Formula] = {}
        for since, schema in versions.items():
            formula = with_parameters(function, schema, taken)
            # Versions of one formula have no mutant of each other.
            made.formulas[since] = shared.setdefault(inspect.signature(formula), formula)
            made.alternatives += (
                Alternative("", with_parameters(one, schema, taken), since) for one in others
            )
    return declared


def formulas_of_versions(
    *versions: int,
    each: Mapping[int, Any] | None = None,
    options: Collection[str] = (),
    alike: Sequence[int] = (),
) -> Callable[[Formula], Callable[..., Mapping[int, Formula]]]:
    """Make a function return the formulas of these versions, from the step that it takes first.

    `@formulas_of_versions(12, 28)` above `def einsum(read, *Inputs, equation)` makes `einsum(read)`
    {12: formula, 28: formula}, whose formula takes the Inputs and the equation.

    The function thus decorated is what `build` names in `Operator.formula` and other decorators. Of
    `each` version it may take something more, after the step. Its `options` are no attributes:
    whoever calls it may give others than the defaults. Versions that are `alike` differ in what
    their texts leave open, and in nothing else; see `without_readings`. The decorated function
    returns the formulas by version; it raises nothing itself.
    """

    def decorate(function: Formula) -> Callable[..., Mapping[int, Formula]]:
        def made(*first: Any, **chosen: Any) -> Formula:
            formula: Any = partial(function, *first, **chosen)
            taken = inspect.signature(formula).parameters.values()
            formula.__signature__ = inspect.Signature([p for p in taken if p.name not in options])
            return formula  # type: ignore[no-any-return]

        def by(step: Any, **chosen: Any) -> Mapping[int, Formula]:
            if each is None:
                return dict.fromkeys(versions, made(step, **chosen))
            # Versions of one formula have no mutant of each other.
            formulas = {more: made(step, more, **chosen) for more in {*each.values()}}
            for since in alike[1:]:
                formulas[each[since]].alike = formulas[each[alike[0]]]  # type: ignore[attr-defined]
            return {since: formulas[more] for since, more in each.items()}

        return by

    return decorate


def without_readings(formula: Formula) -> Formula:
    """Return the formula that stands for all that compute the same by the first readings."""
    found: Formula = getattr(formula, "alike", formula)
    return found


def with_parameters(function: Formula, schema: Schema, attributes: Collection[str]) -> Formula:
    """Return `function` under the names of a schema's inputs and attributes."""
    formula: Any = partial(function)
    names = [name for name in schema.attributes if name in attributes]
    formula.__signature__ = signature_of(schema, names)
    return formula  # type: ignore[no-any-return]


def signature_of(schema: Schema, attributes: Iterable[str]) -> inspect.Signature:
    """Return the parameters that a formula of this schema has."""
    parameters = []
    for declared in schema.inputs:
        parameter = inspect.Parameter(declared.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if declared.option == "variadic":
            parameter = parameter.replace(kind=inspect.Parameter.VAR_POSITIONAL)
        elif declared.option == "optional":
            parameter = parameter.replace(default=None)
        parameters.append(parameter)
    for name in attributes:
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
    return inspect.Signature(parameters)


@cache
def find(domain: str, name: str) -> Operator | None:
    """Return the operator, from the one file that declares it; None where there is none. Cached.

    It imports that file. Raises WrongOperator for whatever fails in it.
    """
    if (domain, name) not in _DECLARED:
        module = _modules().get(name) or snake(name)
        if module not in _files():
            return None
        _load(module)
    return _DECLARED.get((domain, name))


def every() -> Iterator[Operator]:
    """Return an iterator of every operator of the engine, by domain and name.

    It imports all their files at once. Raises WrongOperator for whatever fails in one.
    """
    for module in _files():
        _load(module)
    return iter(_DECLARED[key] for key in sorted(_DECLARED))


def _load(module: str) -> None:
    """Import a file of operators; what it declares is forgotten if it fails.

    Raises WrongOperator, with places, for whatever fails in it, a SystemExit too, and for operators
    that are declared wrongly; KeyboardInterrupt passes.
    """
    modules = _modules()
    loaded = f"{_OPS}.{module}"
    try:
        importlib.import_module(loaded)
        problems = list(_misdeclared(module, modules))
        if problems:
            raise WrongOperator("\n".join(problems))
    except BaseException as error:
        # Nothing that is half declared may be found the next time. A file that exits would end the
        # command as if all had been judged.
        sys.modules.pop(loaded, None)
        for key in [key for key, one in _DECLARED.items() if one.module not in sys.modules]:
            del _DECLARED[key]
        if isinstance(error, KeyboardInterrupt):
            raise
        text = str(error) if isinstance(error, WrongOperator) else explained(error)
        place = located(str(_files()[module]), error)
        raise WrongOperator("\n".join(f"{place}: {line}" for line in text.split("\n"))) from error


def _misdeclared(module: str, modules: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong about the operators that a file declares."""
    declared = [one for one in _DECLARED.values() if one.module == f"{_OPS}.{module}"]
    if not declared:
        yield f"{module}.py declares no operator{meant(module, opset.operators(''))}"
    for one in declared:
        home = modules.get(one.name, snake(one.name))
        if home != module:
            yield f"{one.name}: {module}.py declares it, but it is looked for in {home}.py"
        elif not one.formulas:
            yield f"{one.name}: it has no formula"


def judging() -> AbstractContextManager[None]:
    """Make formulas raise NotSupported where a text leaves open what cannot be listed.

    The engine answers that as a backend, but what others are judged by must be decided.
    """
    return setting(_is_judging, True)


def is_judging() -> bool:
    """Return True in `judging`; what is searched only for `leave_open` need not be elsewhere."""
    return _is_judging.get()


def leave_open(reason: str) -> None:
    """Raise NotSupported for a judge; a backend goes on, and gives one of many right answers.

    A judge is what runs in `judging`. It goes on too if DECIDED has this reason: another
    specification states the answer.
    """
    if _is_judging.get() and reason not in DECIDED.get():
        raise NotSupported(reason)


def raise_unspecified(subject: str) -> NoReturn:
    """Raise NotSupported, because the text defines no answer for this subject."""
    raise NotSupported(f"nothing is said of {subject}")


def check_one_of(name: str, value: Any, *allowed: Any) -> None:
    """Raise InvalidNode unless an attribute has one of the values that are allowed."""
    reject(value not in allowed, f"{name} {value!r}; allowed: {', '.join(map(str, allowed))}")


def check_shape(name: str, x: Any, shape: Sequence[int]) -> None:
    """Raise InvalidNode unless a tensor has this shape, or is left out."""
    if x is not None and tuple(x.shape) != tuple(shape):
        raise InvalidNode(f"{name} of shape {list(x.shape)}; allowed: {list(shape)}")


@cache
def _files() -> Mapping[str, Path]:
    """Return the files of operators, by the name of their module; cached."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "ops").glob("[!_]*.py"))}


@cache
def _modules() -> Mapping[str, str]:
    """Return the module of each operator that shares its file with its family; cached.

    Such a file lists its operators' names as NAMES. It is read and not imported, so that an
    operator of one family loads no other family. Raises WrongOperator for a name that two files
    have.
    """
    modules: dict[str, str] = dict.fromkeys(LOWERED, "direct_ml")  # which are listed there
    for module, path in _files().items():
        for name in _listed_names(path):
            others = {modules.get(name, module), snake(name)} & _files().keys() - {module}
            if others:
                place = _place(str(_files()[min(others)]), 1)
                raise WrongOperator(f"{place}: {name}: NAMES of {path.name} declares it too")
            modules[name] = module
    return modules


def _listed_names(path: Path) -> list[str]:
    """Return the operators that a file lists as NAMES, none if it has no such list."""
    listed = re.search(r'^NAMES = """(.*?)"""', path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return listed[1].split() if listed else []


def snake(name: str) -> str:
    """Return the name of an operator's file: layer_normalization of LayerNormalization."""
    return re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", name).lower()
