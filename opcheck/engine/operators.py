"""Declarations of an operator's file, and how the files are found.

    OP = operator("LayerNormalization")

    @OP.formula(17)
    def two_pass(X, Scale, B=None, *, axis, epsilon, stash_type): ...

A formula takes the inputs by position and the attributes by keyword, under the schema's names, or
by `**` those that it does not name. It returns the outputs. Defaults come from the schema. It is
written with the functions of `opcheck.numbers`, so that it can be put through several kinds of
numbers. It raises `InvalidNode` for what the specification forbids, and the schema does not; it
calls `is_open` before it gives one of several answers that are allowed, `unsaid` where none is.
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
from typing import Any, Literal, NamedTuple, TypeAlias

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.errors import InvalidNode, WrongOperator, illegal, meant, unsupported
from opcheck.numbers import setting
from opcheck.opset import Parameter, Schema
from opcheck.opset.direct_ml import LOWERED

Formula: TypeAlias = Callable[..., Any]
#: Makes the formula of each version from what they have in common.
Versions: TypeAlias = Callable[[Formula], Mapping[int, Formula]]
Decorator: TypeAlias = Callable[[Formula], Formula]
#: The keywords of a formula that ask how many outputs the node has, and which.
OUTPUTS, USED = "outputs", "used"

_OPS = "opcheck.engine.ops"
#: The dtypes of real and complex floating numbers, for mutants that are about no others.
FLOATING = tuple(name for name, dtype in DTYPES.items() if dtype.kind in ("float", "complex"))
_only_said = ContextVar("_only_said", default=False)
#: Why something is open in ONNX's text that is not in that of another specification.
DECIDED = ContextVar[Collection[str]]("DECIDED", default=())


class Sound(NamedTuple):
    """Another formulation than the text's that is as sound, and errs in other ways.

    An output that only it explains is a warning with this `remark`; none if that is "".
    """

    remark: str
    function: Formula
    since: int


class OwnMutant(NamedTuple):
    """A wrong formulation that somebody could ship; see `engine.mutants`."""

    name: str
    text: str
    function: Formula
    since: int
    only: Sequence[str] | None
    of_validity: bool


@dataclass(eq=False)
class Operator:
    """An operator and everything that its file says of it.

    Attributes:
        exact: It moves elements about, or computes with other than floating numbers, so that its
            answers are exact and its inputs are used in their own type.
        low, high: The ends of its range, None where it has none.
        ignores: Attributes of the schema that change nothing, by default that of first versions.
        constant: Dtypes of the leading input whose outputs hold one value whatever it holds.
        any_order: The axis along which the outputs may come in any order, from the attributes; the
            last output says by whole numbers which is which. Or "rows", which are each as a whole;
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
    sound: list[Sound] = field(default_factory=list)
    mutants: list[OwnMutant] = field(default_factory=list)

    def formula(self, *versions: int, by: Versions | None = None) -> Decorator:
        """Declare the decorated function as the formula of these versions.

        With `by`, which makes a formula of every version from a function that they share, declare
        those. So it is with the two decorators below.
        """
        return self._declaring("formula", versions, by, self.formulas.__setitem__, self.formulas)

    def natively(self, *versions: int, by: Versions | None = None) -> Decorator:
        """Declare a faster or better formula for the `numpy` backend; no verdict depends on it."""
        return self._declaring("natively", versions, by, self.native.__setitem__, self.native)

    def also_honest(self, remark: str, *versions: int, by: Versions | None = None) -> Decorator:
        """Declare another sound formulation; an output that only it explains is warned of.

        `remark` says how it computes, and fits after "right only "; "" means no warning.
        """

        def keep(since: int, made: Formula) -> None:
            self.sound.append(Sound(remark, made, since))

        return self._declaring("also_honest", versions, by, keep, text=remark)

    def ways(self, by: Versions, function: Formula, *others: Formula) -> None:
        """Declare the formula, and others that are as honest and bring no remark; see `formula`."""
        self.formula(by=by)(function)
        for other in others:
            self.also_honest("", by=by)(other)

    def _declaring(
        self,
        decorator: str,
        versions: Sequence[int],
        by: Versions | None,
        keep: Callable[[int, Formula], None],
        taken: Collection[int] = (),
        text: object = "",
    ) -> Decorator:
        self._check_call(decorator, *filter(callable, [text]), *versions)

        def declare(function: Formula) -> Formula:
            for since, made in self._by_version(function, versions, by, taken):
                keep(since, made)
            return function

        return declare

    def mutant(
        self,
        text: str,
        *versions: int,
        by: Versions | None = None,
        name: str = "",
        only: Sequence[str] | None = None,
        of_validity: bool = False,
    ) -> Decorator:
        """Declare a wrong formulation that somebody could ship; `text` fits after "as if".

        `only`: the dtypes in which it is wrong. `of_validity`: it is wrong about invalid nodes
        alone. It replaces a general mutant so named.
        """
        self._check_call("mutant", *filter(callable, [text]), *versions)
        for word in sorted({*(only or ())} - {*DTYPES}):
            raise WrongOperator(f"{self.name}: {word!r} is no dtype{meant(word, DTYPES)}")

        def declare(function: Formula) -> Formula:
            called = name or function.__name__
            taken = [one.since for one in self.mutants if one.name == called]
            for since, made in self._by_version(function, versions, by, taken):
                self.mutants.append(OwnMutant(called, text, made, since, only, of_validity))
            return function

        return declare

    def mutant_table(self, table: Mapping[str, Sequence[Any]], *versions: int, **how: Any) -> None:
        """Declare mutants by name: a text, what makes it, its dtypes if not all; see `mutant`."""
        for name, (text, function, *only) in table.items():
            of_all = {**how, "only": only or how.get("only")}
            self.mutant(text, *versions, name=name, **of_all)(function)

    def _check_call(self, decorator: str, *given: Any) -> None:
        for one in (one for one in given if not isinstance(one, int)):
            lacking = f"parentheses are missing (did you mean @OP.{decorator}(…)?)"
            wrong = lacking if callable(one) else f"versions are whole numbers, not {one!r}"
            raise WrongOperator(f"{self.name}: {decorator}: {wrong}")

    def _by_version(
        self, function: Formula, versions: Sequence[int], by: Versions | None, taken: Any = ()
    ) -> Iterator[tuple[int, Formula]]:
        made = by(function) if by else dict.fromkeys(versions or self.formulas, function)
        if not made:
            there = ", ".join(map(str, opset.versions(self.domain, self.name)))
            self._wrong(function, f"it names no version (of {there}), nor does one above it")
        for since in versions or made:
            self._check(made[since], since)
            if since in taken:
                self._wrong(function, f"version {since} of it is declared above already")
            yield since, made[since]

    def _check(self, function: Formula, since: int) -> None:
        """Raise WrongOperator where a function's signature contradicts the schema."""
        schema = opset.versions(self.domain, self.name).get(since)
        if schema is None:
            known = ", ".join(map(str, opset.versions(self.domain, self.name))) or "none"
            self._wrong(function, f"there is no version {since} (there are: {known})")
            return
        given = parameters_of(function)
        tensors = [p for p in given if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
        stated = {p.name: p for p in given if p.kind is p.KEYWORD_ONLY}
        rest = schema.attributes if keywords(function)[1] else self.ignores
        problems = _wrong_inputs(tensors, schema.inputs)
        problems = chain(problems, _wrong_attributes(stated, schema, rest))
        self._wrong(function, *(f"version {since}: {problem}" for problem in problems))

    def _wrong(self, function: Formula, *problems: str) -> None:
        name = getattr(_plain(function), "__name__", "?")
        if problems:
            raise WrongOperator("\n".join(f"{self.name}: {name}: {one}" for one in problems))


def _plain(function: Any) -> Any:
    while hasattr(function, "func"):
        function = function.func
    return function


def located(function: Formula | str, error: BaseException | None = None) -> str:
    """`file:line` of a function, or of what failed in its file, or in the file of that name."""
    code = getattr(_plain(inspect.unwrap(_plain(function))), "__code__", None)
    file = function if isinstance(function, str) else code.co_filename if code else __file__
    if isinstance(error, SyntaxError):
        return _place(error.filename or file, error.lineno or 1)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return _place(file, lines[-1] if lines else code.co_firstlineno if code else 1)


def _place(file: str, line: int) -> str:
    """`file:line`, from the current folder if the file is below it."""
    path = Path(file)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{line}"


def explained(error: BaseException) -> str:
    """An exception that an operator's file raised, and what its author may have meant."""
    said, known = getattr(error, "msg", error), {"operator", *vars(Operator)}
    known.update(*(inspect.signature(one).parameters for one in (operator, Operator.mutant)))
    words = re.findall(r"(?:name|attribute|argument) '(\w+)'", str(said))[-1:]
    return f"{type(error).__name__}: {said}{''.join(meant(word, known) for word in words)}"


@cache
def parameters_of(function: Formula) -> tuple[inspect.Parameter, ...]:
    """The parameters of a formula."""
    return tuple(inspect.signature(function).parameters.values())


@cache
def keywords(function: Formula) -> tuple[tuple[str, ...], bool]:
    """The keywords of a formula, and True if it takes all other attributes by `**`."""
    given = parameters_of(function)
    names = tuple(p.name for p in given if p.kind is p.KEYWORD_ONLY)
    return names, any(p.kind is p.VAR_KEYWORD for p in given)


def _wrong_inputs(tensors: list[inspect.Parameter], declared: Sequence[Parameter]) -> Iterator[str]:
    # Of several variadic inputs a formula has one.
    several = [n for n, one in enumerate(declared) if one.option == "variadic"]
    declared = declared[: several[0] + 1] if len(several) > 1 else declared
    if declared and declared[-1].constraint == opset.OUTER:
        declared = declared[:-1]
    if len(tensors) != len(declared):
        has, wants = (", ".join(p.name for p in some) or "none" for some in (tensors, declared))
        yield f"its inputs are {has}; the schema has {wants}"
        return
    for tensor, parameter in zip(tensors, declared, strict=True):
        alone = "optional" if tensor.default is None else "single"
        option = "variadic" if tensor.kind is tensor.VAR_POSITIONAL else alone
        if tensor.name.strip("_").lower() != parameter.name.lower():
            yield f"input {tensor.name!r} is {parameter.name!r} in the schema"
        elif option != parameter.option:
            yield f"input {tensor.name!r} is {parameter.option} in the schema"


def _wrong_attributes(
    stated: Mapping[str, inspect.Parameter], schema: Schema, ignores: Collection[str]
) -> Iterator[str]:
    versions = opset.versions(schema.op.domain, schema.op.name).values()
    anywhere = {name for one in versions for name in one.attributes}
    for name in (name for name in schema.attributes if name not in stated and name not in ignores):
        yield f"attribute {name!r} of the schema is missing"
    for name, parameter in ((n, it) for n, it in stated.items() if n not in (OUTPUTS, USED)):
        attribute = schema.attributes.get(name)
        has_default = parameter.default is not parameter.empty
        if name not in anywhere:
            yield f"attribute {name!r} is in no version of the schema{meant(name, anywhere)}"
        elif attribute is None:
            if not has_default:
                yield f"attribute {name!r} needs a default, because this version lacks it"
        elif has_default and attribute.required and all(name in v.attributes for v in versions):
            yield f"attribute {name!r} is mandatory in the schema, and takes no default"
        elif has_default and attribute.default not in (None, parameter.default):
            yield f"attribute {name!r} defaults to {parameter.default!r}, not {attribute.default!r}"


_DECLARED: dict[tuple[str, str], Operator] = {}


def operator(name: str, domain: str = "", *, module: str = "", **options: Any) -> Operator:
    """Declare an operator; see `Operator`. Its `module` is the one that calls, if none is named."""
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

    After the text's formula a tuple has others that are as honest, and bring no remark. An
    attribute that the function does not take changes nothing, as `consumed_inputs` of version 1.
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
            made.sound += (Sound("", with_parameters(one, schema, taken), since) for one in others)
    return declared


def by_step(
    *versions: int, each: Mapping[int, Any] | None = None, options: Collection[str] = ()
) -> Callable[[Formula], Callable[..., Mapping[int, Formula]]]:
    """Make formulas of these versions of a function, from the step that it takes first.

    The function thus decorated is what `by` names in `Operator.formula` and other decorators. Of
    `each` version it may take something more, after the step. Its `options` are no attributes:
    whoever calls it may give others than the defaults.
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
            return {since: formulas[more] for since, more in each.items()}

        return by

    return decorate


def with_parameters(function: Formula, schema: Schema, attributes: Collection[str]) -> Formula:
    """`function` under the names of a schema's inputs and attributes."""
    formula: Any = partial(function)
    names = [name for name in schema.attributes if name in attributes]
    formula.__signature__ = signature_of(schema, names)
    return formula  # type: ignore[no-any-return]


def signature_of(schema: Schema, attributes: Iterable[str]) -> inspect.Signature:
    """The parameters that a formula of this schema has."""
    made, declared = inspect.Parameter, [(p.name, p.option) for p in schema.inputs]
    kinds, defaults = {"variadic": made.VAR_POSITIONAL}, {"optional": None}
    plain, none = made.POSITIONAL_OR_KEYWORD, made.empty
    inputs = [made(n, kinds.get(o, plain), default=defaults.get(o, none)) for n, o in declared]
    return inspect.Signature([*inputs, *(made(name, made.KEYWORD_ONLY) for name in attributes)])


@cache
def find(domain: str, name: str) -> Operator | None:
    """The operator, from the one file that declares it; None where there is none."""
    if (domain, name) not in _DECLARED:
        module = _modules().get(name) or snake(name)
        if module not in _files():
            return None
        _load(module)
    return _DECLARED.get((domain, name))


def every() -> Iterator[Operator]:
    """Every operator of the engine, by domain and name."""
    for module in _files():
        _load(module)
    return iter(_DECLARED[key] for key in sorted(_DECLARED))


def _load(module: str) -> None:
    """Import a file; raise WrongOperator for whatever fails in it."""
    modules, loaded = _modules(), f"{_OPS}.{module}"
    try:
        importlib.import_module(loaded)
        if wrong := "\n".join(_misdeclared(module, modules)):
            raise WrongOperator(wrong)
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
    found = [one for one in _DECLARED.values() if one.module == f"{_OPS}.{module}"]
    if not found:
        yield f"{module}.py declares no operator{meant(module, opset.operators(''))}"
    for one in found:
        if (home := modules.get(one.name, snake(one.name))) != module:
            yield f"{one.name}: {module}.py declares it, but it is looked for in {home}.py"
        elif not one.formulas:
            yield f"{one.name}: it has no formula"


def only_what_is_said() -> AbstractContextManager[None]:
    """Let formulas raise NotSupported for what the specification leaves open.

    The engine answers that as a backend, but what others are judged by must be decided.
    """
    return setting(_only_said, True)


def is_open(why: str, when: Any = True) -> None:
    """Raise NotSupported, `when` that holds, if none but decided answers are asked for."""
    unsupported(why, when and _only_said.get() and why not in DECIDED.get())


def unsaid(what: str, when: Any = True) -> None:
    """Raise NotSupported, `when` that holds, for what has no answer, decided or not."""
    unsupported(f"nothing is said of {what}", when)


def check_one_of(name: str, value: Any, *allowed: Any) -> None:
    """Raise InvalidNode unless an attribute has one of the values that are allowed."""
    illegal(f"{name} {value!r}; allowed: {', '.join(map(str, allowed))}", value not in allowed)


def check_shape(name: str, x: Any, shape: Sequence[int]) -> None:
    """Raise InvalidNode unless a tensor has this shape, or is left out."""
    if x is not None and tuple(x.shape) != tuple(shape):
        raise InvalidNode(f"{name} of shape {list(x.shape)}; allowed: {list(shape)}")


@cache
def _files() -> Mapping[str, Path]:
    return {path.stem: path for path in sorted((Path(__file__).parent / "ops").glob("[!_]*.py"))}


@cache
def _modules() -> Mapping[str, str]:
    """The module of each operator that shares its file with its family.

    Such a file lists its operators' names as NAMES. It is read and not imported, so that an
    operator of one family loads no other family.
    """
    found: dict[str, str] = dict.fromkeys(LOWERED, "direct_ml")  # which are listed there
    for module, path in _files().items():
        listed = re.search(r'^NAMES = """(.*?)"""', path.read_text("utf-8"), re.M | re.S)
        for name in listed[1].split() if listed else ():
            for other in {found.get(name, module), snake(name)} & _files().keys() - {module}:
                place = _place(str(_files()[other]), 1)
                raise WrongOperator(f"{place}: {name}: NAMES of {path.name} declares it too")
            found[name] = module
    return found


def snake(name: str) -> str:
    """The name of an operator's file: Where is in where.py, LayerNormalization in its words."""
    return re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", name).lower()
