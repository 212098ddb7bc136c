"""Options that several commands share, and how a command takes its options.

Each command takes one frozen dataclass. `takes` builds it from click's parameters by their names;
a field that is a dataclass itself is a group of options, such as `CaseOptions`:

    @click.command(name="locate")
    @options.model_options
    @click.option("-o", "--output", type=options.PATH, help="…")
    @options.takes(LocateOptions)
    def locate(given: LocateOptions) -> None: ...

The parameters of a command and the fields of its dataclass are the same; a test compares them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import Context, Parameter, ParameterSource

from opcheck import budget, interrupt, own_memory, reading
from opcheck.cli import values
from opcheck.cli.console import note
from opcheck.cli.files import OutputPath
from opcheck.errors import UsageError, did_you_mean, few, plural
from opcheck.report import plain_text

if TYPE_CHECKING:
    from opcheck.model import Case, Level
    from opcheck.suite import Selection
    from opcheck.suite.scope import Scope

#: The default of the seconds that a backend has to start.
PATIENCE = 20.0

Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options")
Decorator = Callable[[Function], Function]


class Amount(click.FloatRange):
    """Type of an option that is a finite number in a range, with or without its unit.

    `5` and `5s` are 5 seconds. With `in_one` 100, `5%` is 0.05. `what` names it in messages.
    """

    def __init__(self, what: str, unit: str, in_one: float = 1.0, **limits: Any) -> None:
        super().__init__(**limits)
        self.what = what
        self.unit = unit
        self.in_one = in_one

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number; fail if it is not finite, which click's ranges accept for NaN."""
        plain = str(value).strip()
        text = plain.removesuffix(self.unit)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if text != plain:
            number /= self.in_one
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a {self.what}.", param, ctx)
        return float(super().convert(number, param, ctx))


#: A duration, as `5` or `5s`.
SECONDS = Amount("number of seconds", "s", min=0, min_open=True)
#: A part of something: `5%` or `0.05`, at most 1000 %.
SHARE = Amount("share", "%", in_one=100, min=0, max=10)
COUNT = click.IntRange(min=1)
PATH = click.Path(path_type=Path)
#: The level of a run that names none.
DEFAULT_LEVEL = "core"
_LEVEL = click.Choice(["smoke", "core", "deep", "huge"], case_sensitive=False)
#: A size has at most so many digits, which fit into 64 bits.
_MAX_DIGITS = 18
#: The most files that a message names.
_FILES_SHOWN = 5
#: The most parts of a profile's scope that are named.
_PARTS_SHOWN = 3


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator that gives a command its parameters as one object of the type `kind`."""

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(command)
        def with_parameters(**parameters: Any) -> None:
            command(_built(kind, parameters))

        return with_parameters

    return decorate


def _built(kind: type[Options], parameters: Mapping[str, Any]) -> Options:
    """Build a dataclass from the parameters that its fields, and those of its groups, name."""
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass is not a type of its own
        if isinstance(field.type, type) and is_dataclass(field.type):
            values[field.name] = _built(field.type, parameters)
        else:
            values[field.name] = parameters[field.name]
    return kind(**values)


def compose(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return several options as one decorator; `--help` lists them in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def given_besides(*names: str) -> list[str]:
    """Return the options, and PATH, that this command line gives, but for those of these names."""
    context = click.get_current_context()
    given = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in names and source is ParameterSource.COMMANDLINE:
            given.append(parameter.opts[-1] if isinstance(parameter, click.Option) else "PATH")
    return given


@dataclass(frozen=True, kw_only=True)
class CaseOptions:
    """Files of cases, and which of their cases are meant."""

    paths: tuple[Path, ...]
    ids: tuple[str, ...]
    keywords: str
    ops: tuple[str, ...]
    opsets: tuple[int, ...]
    dtypes: tuple[str, ...]
    level: "Level"

    @property
    def selection(self) -> "Selection":
        """The conditions for a case to be selected; the files are not part of it."""
        from opcheck.suite import Selection

        return Selection(
            ids=self.ids,
            keywords=self.keywords,
            ops=self.ops,
            opsets=self.opsets,
            dtypes=self.dtypes,
            level=self.level,
        )


paths_argument = click.argument("paths", nargs=-1, type=PATH, metavar="[PATH]...")


def split_operators(ctx: Context, param: Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the names between commas."""
    names = [name.strip() for value in values for name in value.split(",")]
    if "" in names:
        raise click.BadParameter("write NAME or NAME,NAME", ctx, param)
    return tuple(names)


def _one_expression(ctx: Context, param: Parameter, values: Sequence[str]) -> str:
    """Return the expression, "" without one; several could mean both or either."""
    if len(values) > 1:
        both = " and ".join(f"({value})" for value in values)
        raise click.BadParameter(f"write one expression, such as {both!r}", ctx, param)
    return values[0] if values else ""


op_option = click.option(
    "--op",
    "ops",
    metavar="NAME",
    multiple=True,
    callback=split_operators,
    shell_complete=values.operators,
    help="Only this operator, or those of a pattern: 'Softmax,Reduce*'.",
)
case_options = compose(
    paths_argument,
    click.option(
        "--case",
        "ids",
        metavar="ID",
        multiple=True,
        shell_complete=values.cases,
        help="Only this case, or those of a pattern such as 'Softmax/*'.",
    ),
    click.option(
        "-k",
        "keywords",
        metavar="EXPR",
        multiple=True,
        callback=_one_expression,
        help="Select by an expression, as in pytest: 'ties and not nan'.",
    ),
    op_option,
    click.option(
        "--opset",
        "opsets",
        metavar="INTEGER",
        type=int,
        multiple=True,
        help="Only this opset.",
    ),
    click.option(
        "--dtype",
        "dtypes",
        metavar="TEXT",
        multiple=True,
        shell_complete=values.dtypes,
        help="Only this element type.",
    ),
    click.option(
        "--level",
        type=_LEVEL,
        default=DEFAULT_LEVEL,
        show_default=True,
        help="Number of cases: smoke < core < deep. huge: tensors of over 2^31 elements alone.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Sizes and inputs of models, and limits on what opcheck computes of them.

    Attributes:
        dims: Sizes that a model leaves open, by name.
        inputs: A folder of files to feed a model.
        graph_elements: The most elements of a tensor, None for the default.
        graph_nodes: The most runs of nodes, None for the default.
        judge_memory: What opcheck's own processes may take, as `2GiB`, None for the default.
    """

    dims: dict[str, int]
    inputs: Path | None
    graph_elements: int | None
    graph_nodes: int | None
    judge_memory: str | None

    def apply_limits(self) -> None:
        """Set the limits for the rest of the command."""
        from opcheck.backends.address import memory

        limits = budget.limited(elements=self.graph_elements, nodes=self.graph_nodes)
        click.get_current_context().with_resource(limits)
        if self.judge_memory is not None:
            own_memory.change(memory(self.judge_memory))


def _sizes_by_name(ctx: Context, param: Parameter, values: Sequence[str]) -> dict[str, int]:
    """Return the sizes by name; those of a whole shape, such as x=1x3x8, as x[0], x[1] and x[2]."""
    sizes: dict[str, int] = {}
    for value in values:
        name, _, shape = value.rpartition("=")
        numbers = shape.split("x")
        if not name or not all(map(_is_size, numbers)):
            message = f"write NAME=N, or INPUT=NxNxN, not {value!r}"
            raise click.BadParameter(message, ctx, param)
        keys = [f"{name}[{axis}]" for axis in range(len(numbers))] if "x" in shape else [name]
        for key, number in zip(keys, numbers, strict=True):
            if sizes.setdefault(key, int(number)) != int(number):
                raise click.BadParameter(f"{key} is {sizes[key]} and {number}", ctx, param)
    return sizes


def _is_size(text: str) -> bool:
    """Return True for the digits of a size."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


dim_option = click.option(
    "--dim",
    "dims",
    metavar="NAME=N",
    multiple=True,
    callback=_sizes_by_name,
    help="Size that a .onnx model leaves open, by its name or as INPUT[AXIS]; or the shape of an"
    " input, such as x=1x3x48x192. Repeatable.",
)
inputs_option = click.option(
    "--inputs",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Feed a model these files, NAME.npy or input_0.pb …, instead of generated data.",
)


_limits_of_opcheck = compose(
    click.option(
        "--graph-elements",
        metavar="N",
        type=COUNT,
        help="The most elements of a tensor that opcheck computes in a model; all that it holds at"
        f" once may have four times as many.  [default: {budget.GraphLimits.elements}]",
    ),
    click.option(
        "--graph-nodes",
        metavar="N",
        type=COUNT,
        help="The most runs of nodes when opcheck computes a model, those in loops included."
        f"  [default: {budget.GraphLimits.nodes}]",
    ),
    click.option(
        "--judge-memory",
        metavar="SIZE",
        help="Memory limit of opcheck's own processes, all that judge together."
        "  [default: three quarters of the machine's]",
    ),
)
model_options = compose(dim_option, inputs_option, _limits_of_opcheck)


@dataclass(frozen=True, kw_only=True)
class BackendOptions:
    """Addresses of backends, and limits: `timeout` in seconds, `memory_limit` as `2GiB`.

    A command applies `config`, its settings file, by `use_config` before it reads any address.
    """

    addresses: tuple[str, ...]
    config: Path | None
    timeout: float | None
    memory_limit: str | None


def use_config(config: Path | None) -> None:
    """Use the settings file of the option --config, if any, for the rest of the command."""
    from opcheck.backends.trust import configured

    if config is not None:
        click.get_current_context().with_resource(configured(config))


config_option = click.option(
    "--config",
    metavar="FILE",
    type=PATH,
    help="Settings file, whose code you accept.  [default: the nearest opcheck.toml]",
)
backends_option = compose(
    click.option(
        "-b",
        "--backend",
        "addresses",
        metavar="ADDRESS",
        multiple=True,
        shell_complete=values.backends,
        help="Backend to test; repeatable (see `opcheck backends`).",
    ),
    config_option,
)
_one_backend_option = compose(
    click.option(
        "-b",
        "--backend",
        "addresses",
        metavar="ADDRESS",
        multiple=True,
        shell_complete=values.backends,
        required=True,
        help="The backend.",
    ),
    config_option,
)
_limit_options = compose(
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=SECONDS,
        help="Time limit of a case that states none of its own."
        "  [default: as the backend's profile says, or 30]",
    ),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory limit of each process of a backend, such as 2GiB, including opcheck's copies"
        " of the case's data.  [default: as the backend's profile says, or any]",
    ),
)
backend_options = compose(backends_option, _limit_options)
#: As `backend_options`, for a command that needs a backend; it checks that there is only one.
one_backend_options = compose(_one_backend_option, _limit_options)
#: Processes of opcheck itself, which change nothing but the time it takes.
processes_option = click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=COUNT,
    help="Number of processes.  [default: one per processor]",
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on the dask.distributed cluster at this address; local:4 starts four workers here.",
)


@dataclass(frozen=True, kw_only=True)
class PrettyOptions:
    """How much of a run is printed; `verbose` counts the letters of -vv."""

    quiet: bool
    verbose: int


pretty_options = compose(
    click.option("-q", "--quiet", is_flag=True, help="Print only the summary."),
    click.option(
        "-v",
        "--verbose",
        count=True,
        help="Print every table in full; -vv: also every failure, warning and known failure.",
    ),
)
out_option = click.option(
    "-o",
    "--output",
    "out",
    metavar="PATH",
    type=OutputPath(),
    help="File to write to, instead of standard output.",
)


def format_option(
    *formats: str, help: str | None = None, show_default: bool = False
) -> Callable[[Function], Function]:
    """Return the option --format: `pretty`, which is the default, or one of `formats`."""
    return click.option(
        "--format",
        type=click.Choice(["pretty", *formats]),
        default="pretty",
        show_default=show_default,
        help=help,
    )


def chosen_cases(
    paths: Sequence[Path], selection: "Selection", dims: Mapping[str, int] | None = None
) -> "tuple[tuple[Case, ...], str]":
    """Return the selected cases of files, and a description.

    Without a selected case, the description is of the conditions that left none.

    Args:
        paths: Files of cases or models, and folders; the shipped suites if there is none.
        selection: The conditions for a case.
        dims: Sizes that models leave open.

    Raises:
        UsageError: a name of the selection that no case has.
        CaseFileError: with every problem of every file.
    """
    from opcheck.suite import load_all

    interrupt.safe_place()
    cases = load_all(paths, dims, selection)
    note_hidden_files(paths)
    return _chosen(cases, selection)


def chosen_benchmarks(
    paths: Sequence[Path], selection: "Selection"
) -> "tuple[tuple[Case, ...], str]":
    """Return the selected cases that are to be timed, and a description, as `chosen_cases` does.

    Of a selected operator without shipped bench cases it is one that is derived from the others.
    Raises UsageError for a name of the selection that no such case has, or for a path of models;
    CaseFileError with every problem of every file.
    """
    from opcheck.execution.derived import derived_cases
    from opcheck.suite import check_case_files, load_bench

    check_case_files(paths, "bench")
    interrupt.safe_place()
    cases = load_bench(paths, selection.operators)
    note_hidden_files(paths)
    with_case = {case.op.name.lower() for case in cases}
    for op in selection.operators:
        if op.lower() in with_case:
            continue
        derived = () if paths else derived_cases(op, selection.dtypes, selection.opsets)
        if not derived:
            timed = {case.op.name for case in load_bench(paths)}
            hint = _hint_at_timed(op, sorted(timed), is_file=bool(paths))
            raise UsageError(f"no bench case of operator {op!r}", hint)
        cases += derived
    return _chosen(cases, selection, "bench case")


def _hint_at_timed(op: str, timed: "Sequence[str]", *, is_file: bool) -> str:
    """Return a hint for an operator that is not among those that can be timed."""
    from opcheck.opset import operators

    known = timed if is_file else reading.shipped_operators()
    misspelt = None if op in operators("") else did_you_mean(op, known)
    others = "for another operator, pass a case file with a list `bench`"
    if is_file:
        return misspelt or f"there are bench cases of {', '.join(timed)}; {others}"
    return misspelt or f"no case of it ships for these types and opsets; {others}"


def scope_of(addresses: Sequence[str], *, cases_are_named: bool) -> "Scope | None":
    """Return what the backends are for, by their profiles; None if no profile states it.

    There is none either if the command line names its cases. A run asks each of its backends the
    same cases. Raises UsageError where they are for different operators, and for a part of a
    profile's `operators` that names nothing, also where no scope is taken.
    """
    from opcheck.suite.scope import Scope

    stated = _stated_operators(addresses)
    scopes = {parts: Scope(sorted(parts)) if parts else None for parts in stated.values()}
    if cases_are_named:
        return None
    if len(scopes) > 1:
        each = [
            f"{plain_text.one_line(address)} for {few(sorted(parts), _PARTS_SHOWN) or 'all'}"
            for address, parts in stated.items()
        ]
        hint = "run each by itself, or name what all of them are asked, by --op"
        raise UsageError(f"backends for different operators: {'; '.join(each)}", hint)
    [scope] = scopes.values()
    return scope


def _stated_operators(addresses: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return what the profile of each backend states as `operators`, nothing where none does."""
    from opcheck.backends.address import DEFAULT, profiles

    known = profiles(Path.cwd())
    return {
        address: frozenset(known[address].operators if address in known else ())
        for address in addresses or DEFAULT
    }


def within_scope(
    cases: "Sequence[Case]", scope: "Scope", addresses: Sequence[str]
) -> "tuple[Case, ...]":
    """Return the cases in the scope of the backends at `addresses`; print how many there are."""
    kept = scope.of(cases)
    names = plain_text.one_line(" or ".join(addresses))
    note(f"in the scope of {names}: {plural(len(kept), 'case')}; all others are left out")
    return kept


def note_hidden_files(paths: Sequence[Path]) -> None:
    """Print which case files in folders are left out because their names begin with a dot."""
    from opcheck.suite.discovery import hidden_case_files

    hidden = hidden_case_files(path for path in paths if path.is_dir())
    if hidden:
        names = few([plain_text.one_line(str(path)) for path in hidden], _FILES_SHOWN)
        files = plural(len(hidden), "hidden case file is", "hidden case files are")
        note(f"{files} left out: {names}")


def _chosen(
    cases: "Sequence[Case]", selection: "Selection", noun: str = "case"
) -> "tuple[tuple[Case, ...], str]":
    from opcheck.suite import choose

    interrupt.safe_place()
    chosen = choose(cases, selection, noun)
    return chosen, str(selection) if chosen else selection.why_empty(cases)
