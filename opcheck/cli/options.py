"""Options that several commands share, their exit, output files, and the standard streams.

An earlier output is stale as soon as a command that names it starts: a gate that goes on after a
refused command must not find last week's file. So it is renamed to `NAME.stale` first, which is
removed once there is a new one.
"""

import codecs
import fcntl
import io
import json
import math
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from errno import EBUSY
from functools import reduce
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import click
from click.core import Context, Parameter, ParameterSource

from opcheck import interrupt
from opcheck.errors import CaseFileError, Exit, Problem, UsageError, few, plural, writing
from opcheck.grouping import Item
from opcheck.report import plain_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from opcheck.model import Case, Run


class Amount(click.FloatRange):
    """A finite number of a range, `what` it is, and its unit, which may follow it."""

    def __init__(self, what: str, unit: str, in_one: float = 1.0, **limits: Any) -> None:
        super().__init__(**limits)
        self.what, self.unit, self.in_one = what, unit, in_one

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Convert the number, with the unit in parts of one; to click NaN lies in any range."""
        plain = str(value).strip()
        text = plain.removesuffix(self.unit)
        try:
            number = float(text) / (self.in_one if text != plain else 1)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is no {self.what}.", param, ctx)
        return float(super().convert(number, param, ctx))


#: A duration, as `5` or `5s`, and a part of something: `5%` or `0.05`, at most 1000 %.
SECONDS = Amount("number of seconds", "s", min=0, min_open=True)
SHARE = Amount("share", "%", in_one=100, min=0, max=10)

Function = TypeVar("Function", bound=Callable[..., Any])
Fields = TypeVar("Fields")
#: In place of a file, standard output.
STANDARD = Path("-")
#: The type of an option, and its value.
TypedValue: TypeAlias = tuple[click.ParamType[Any], Any]
_STALE = ".stale"
#: The most files that a message names.
_NAMED = 5
PATH = click.Path(path_type=Path)

#: The types of values by the words that stand for them.
_TYPES = {"N": click.IntRange(min=1), "SECONDS": SECONDS, "FILE": PATH, "RUN": PATH, "DIR": PATH}
_LEVEL = click.Choice(["smoke", "core", "deep"], case_sensitive=False)


def together(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return several options as one decorator; `--help` lists them in this order."""
    return lambda function: reduce(lambda done, option: option(done), reversed(options), function)


def declared(text: str, **settings: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Return the options that a text declares, as `--help` lists them, as one decorator.

    An option is its spellings, its parameter if that has another name, a word for its value, with
    `...` if it is repeatable, and after a colon its help: `--op ops NAME...: Only this operator.`
    Without a value it is a flag, unless it has `settings` of click, which go by parameter.
    """
    options = []
    for entry in re.split(r"\n(?=-)", cleandoc(text)):
        head, about = entry.split(": ", 1)
        spellings = [word for word in head.split() if word.startswith("-")]
        words = head.split()[len(spellings) :]
        names = [words.pop(0)] if words and words[0].islower() else []
        name = names[0] if names else spellings[-1].strip("-").replace("-", "_")
        value = " ".join(words)
        kind = value.removesuffix("...")
        given: dict[str, Any] = {"type": _TYPES.get(kind), "metavar": kind or None}
        given |= {"multiple": value != kind, **settings.get(name, {})}
        if not value and name not in settings:
            given["is_flag"] = True
        # Two blanks set a default apart.
        lines = (line.strip() for line in about.splitlines())
        about = " ".join(lines).replace(" [default", "  [default")
        options.append(click.option(*spellings, *names, help=about, **given))
    return together(*options)


def format_option(*forms: str, **settings: Any) -> Callable[[Function], Function]:
    """Return the option --format, of `pretty` and other `forms`."""
    choice = click.Choice(["pretty", *forms])
    return click.option("--format", "form", type=choice, default="pretty", **settings)


def taken(kind: type[Fields], given: dict[str, Any]) -> Fields:
    """Move the fields of a dataclass from a command's parameters to a new object."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: given.pop(name) for name in names})


def _dims(ctx: Context, param: Parameter, values: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for value in values:
        name, _, size = value.rpartition("=")
        if not name or not (size.isascii() and size.isdecimal()) or len(size) > 18:
            raise click.BadParameter(f"write NAME=N, not {value!r}", ctx, param)
        if sizes.setdefault(name, int(size)) != int(size):
            raise click.BadParameter(f"{name} is {sizes[name]} and {size}", ctx, param)
    return sizes


_LIMITS = """
    --timeout SECONDS: How long a backend may take for a case that does not ask for more. [default:
        as the backend's profile says, or 30]
    --memory-limit SIZE: How much memory a process of a backend may take, such as 2GiB; opcheck's
        copies of the case's data are part of it. [default: as the backend's profile says, or any]
"""


def _use_config(ctx: Context, param: Parameter, value: Path | None) -> None:
    """Use the settings file that the user names until the command ends."""
    if value is not None:
        from opcheck.backends.trust import configured

        ctx.with_resource(configured(value))


config_option = declared(
    "--config FILE: The settings file, whose code you accept. [default: the nearest opcheck.toml]",
    config={"callback": _use_config, "expose_value": False},
)
backends_option = together(
    declared("-b --backend addresses ADDRESS...: Repeatable."), config_option
)
backend_options = together(backends_option, declared(_LIMITS))
one_backend_options = together(
    declared("-b --backend addresses ADDRESS...: The backend.", addresses={"required": True}),
    config_option,
    declared(_LIMITS),
)
#: Of opcheck's own processes, which change nothing but the time it takes.
processes_option = declared("-j --jobs N: Processes. [default: one a processor]")
cluster_option = declared(
    "--cluster ADDRESS: On the workers of dask.distributed there; local:4 starts four here."
)
pretty_options = declared(
    """
    -q --quiet: Only the summary, no failure in full.
    -v --verbose: Every table in full; -vv: every failure, warning and known failure too.
    """,
    verbose={"count": True},
)
selection_options = together(
    click.argument("paths", nargs=-1, type=PATH, metavar="[PATH]..."),
    declared(
        """
        --case ids ID...: Only this case, or those of a pattern such as 'Softmax/*'.
        -k keywords EXPR: Words, and, or, not, ( ).
        --op ops NAME...: Only this operator.
        --opset opsets INTEGER...: Only this opset.
        --dtype dtypes TEXT...: Only this element type.
        --level: How much: smoke is part of core, core of deep.
        """,
        keywords={"default": ""},
        opsets={"type": int},
        level={"type": _LEVEL, "default": "core", "show_default": True},
    ),
)
dim_option = declared(
    """
    --dim dims NAME=N...: A size that a .onnx model leaves open, by its name or as INPUT[AXIS].
        Repeatable.
    """,
    dims={"callback": _dims},
)
inputs_option = declared(
    "--inputs DIR: Feed a model these files, NAME.npy or input_0.pb …, and no numbers made up.",
    inputs={"type": click.Path(exists=True, file_okay=False, path_type=Path)},
)
model_options = together(dim_option, inputs_option)


def chosen_cases(
    paths: Sequence[Path], *, bench: bool = False, **selection: Any
) -> "tuple[tuple[Case, ...], str]":
    """Return the selected cases, of `bench` those to time, and a description; raise UsageError.

    Of no case, it says which options left none.
    """
    from opcheck.suite import Selection, check_case_files, choose, load_all, load_bench

    if bench:
        check_case_files(paths, "bench")
    dims = selection.pop("dims", None)
    chosen = Selection(**selection)
    interrupt.safe_place()
    cases = load_bench(paths, chosen.operators) if bench else load_all(paths, dims, chosen)
    name_hidden_files(paths)
    interrupt.safe_place()
    found = choose(cases, chosen)
    return found, str(chosen) if found else chosen.why_empty(cases)


def name_hidden_files(paths: Sequence[Path]) -> None:
    """Print which case files in folders are left out because their names begin with a dot."""
    from opcheck.suite.discovery import hidden_case_files

    if found := hidden_case_files(path for path in paths if path.is_dir()):
        names = few([plain_text.one_line(str(path)) for path in found], _NAMED)
        files = plural(len(found), "hidden case file is", "hidden case files are")
        tell(f"{files} left out: {names}")


def tell(said: str) -> None:
    """Print a line about the command itself on standard error."""
    click.echo(plain_text.without_commands(f"opcheck: {said}"), err=True)


def end(code: Exit, meaning: str, *, err: bool = False) -> NoReturn:
    """Print the exit code and what it means, and end the program with it."""
    click.echo(plain_text.without_commands(f"exit {code:d}: {meaning}"), err=err)
    leave(code)


def leave(code: Exit) -> NoReturn:
    """End the program with `code`."""
    sys.stdout.flush()
    raise SystemExit(int(code))


class OutputPath(click.Path):
    """The type of an option that names what the command writes."""

    def __init__(
        self,
        is_replaced: Callable[[Path, Sequence[str]], bool] = lambda path, words: path.is_file(),
        **settings: Any,
    ) -> None:
        super().__init__(path_type=Path, **settings)
        #: Called with the path and the words of the command line; returns True if the command
        #: replaces the output there, which is removed then. Or raises UsageError if not.
        self.is_replaced = is_replaced


class OutputCommand(click.Command):
    """A command that sets earlier outputs aside before anything can go wrong with it."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse as click does; a wrong command line makes its outputs stale, too."""
        words = [*args]
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError:
            _set_aside(ctx, words, self._named_in(ctx, words))
            _clean(ctx)
            raise
        _set_aside(ctx, words, ((one.type, ctx.params.get(str(one.name))) for one in self.params))
        return rest

    def invoke(self, ctx: Context) -> Any:
        """Run the command, then remove earlier outputs that it has replaced."""
        try:
            return super().invoke(ctx)
        finally:
            _clean(ctx)

    def _named_in(self, ctx: Context, words: Sequence[str]) -> Iterator[TypedValue]:
        """Yield the outputs that a wrong command line names, as far as they can be recognized."""
        for parameter in self.params:
            for name in parameter.opts if isinstance(parameter.type, OutputPath) else ():
                glued = f"{name}=" if name.startswith("--") else name
                for word, following in pairwise([*words, ""]):
                    text = following if word == name else word.removeprefix(glued)
                    with suppress(click.UsageError):
                        if text and text != word:
                            yield parameter.type, parameter.type.convert(text, parameter, ctx)


def _set_aside(ctx: Context, words: Sequence[str], values: Iterable[TypedValue]) -> None:
    """Rename outputs that will be replaced, and note them for `_clean`."""
    outputs = ((kind, value) for kind, value in values if isinstance(kind, OutputPath))
    for kind, value in () if ctx.resilient_parsing else outputs:
        for one in value if isinstance(value, list | tuple) else [value]:
            path = getattr(one, "path", one)
            if path in (None, STANDARD) or "\0" in str(path):
                continue
            path = Path(os.path.realpath(path))
            stale = path.with_name(f"{path.name}{_STALE}")
            moved = _is_stale(path, kind, words) and _rename(path, stale, kind, words)
            ctx.meta.setdefault(_STALE, []).append((path, stale, moved))


def _clean(ctx: Context) -> None:
    """Remove earlier outputs that have been replaced; name the others."""
    for path, stale, moved in ctx.meta.pop(_STALE, ()):
        if stale.exists() and not path.exists():
            tell(f"{path.name} of an earlier command is {stale.name} now")
        elif stale.is_file():
            stale.unlink()
        elif moved:
            shutil.rmtree(stale)


def _is_stale(path: Path, kind: OutputPath, words: Sequence[str]) -> bool:
    """Return True if the command replaces an existing output, and does not read it."""

    def mentions(word: str) -> bool:
        # It is the path, or ends in it behind `=`, `:` or the letter of an option.
        ends = [word, *(word[match.end() :] for match in re.finditer("[=:]|^-[a-z]", word))]
        return any(end and os.path.realpath(end) == str(path) for end in ends)

    try:
        return kind.is_replaced(path, words) and sum(map(mentions, words)) < 2
    except (OSError, ValueError, UsageError):
        return False


def _rename(path: Path, stale: Path, kind: OutputPath, words: Sequence[str]) -> bool:
    """Return True if the output has its other name now; raises Unwritable if another has it."""
    with suppress(PermissionError, IsADirectoryError), path.open("rb") as file, writing(path):
        lock(file.fileno())
    try:
        if stale.is_dir() and _is_stale(stale, kind, words):
            shutil.rmtree(stale)
        path.replace(stale)
        return True
    except OSError as error:
        try:
            # Some files can only be written into: a single one that is mounted, for example.
            path.write_bytes(b"")
        except OSError:
            tell(f"{path.name} stays as it was: {error.strerror}")
        return False


def lock(file: int) -> None:
    """Keep an open file for this process until it is closed; raises OSError if another has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(EBUSY, "another command is writing it") from None
    except OSError:  # a file system, or a device, without locks
        return


def check_files(
    files: Iterable[tuple[object, Path | None]],
    read_from: Iterable[Path | None] = (),
    wrong: Iterable[str] = (),
) -> None:
    """Raise UsageError with `wrong`, and every file that cannot be written or is also read."""
    found = [*wrong]
    taken = [path for path in read_from if path not in (None, STANDARD)]
    for said, path in ((said, path) for said, path in files if path):
        if message := _why_not(path, taken):
            found.append(f"{said}: {message}")
        taken.append(path)
    if found:
        raise UsageError("\n".join(found))


def _why_not(path: Path, taken: Iterable[Path | None]) -> str | None:
    """Return why a file cannot be written, as far as known without touching it."""
    try:
        if path.resolve() in [other.resolve() for other in taken if other]:
            return "the same command names this file twice"
        if path == STANDARD:
            return None
        if path.is_dir():
            return "this is a folder"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            return "this may not be written (permission denied)"
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return None


out_option = declared(
    "-o --output out PATH: A file to write to, in place of standard output.",
    out={"type": OutputPath()},
)


def given_besides(*names: str) -> list[str]:
    """Return the other options and PATH that this command line gives."""
    context = click.get_current_context()
    others = (param for param in context.command.params if param.name not in names)
    sources = ((param, context.get_parameter_source(str(param.name))) for param in others)
    given = (param for param, source in sources if source is ParameterSource.COMMANDLINE)
    return [param.opts[-1] if isinstance(param, click.Option) else "PATH" for param in given]


def read_runs(*paths: Path) -> "list[Run]":
    """Read runs from files or standard input, `-`; raise CaseFileError with all problems."""
    from opcheck.report import store

    if paths.count(STANDARD) > 1:
        raise UsageError("only one run can be on standard input")
    runs: list[Run] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            if path == STANDARD and sys.stdin is None:  # closed, as by <&-
                raise UsageError("standard input is closed")
            given = (Path("<stdin>"), sys.stdin.buffer) if path == STANDARD else (path,)
            runs.append(store.read(*given))
        except CaseFileError as error:
            problems += error.problems
    if problems:
        raise CaseFileError(problems, "nothing was done")
    return runs


def write_lines(out: Path | None, lines: Iterable[str]) -> None:
    """Write lines to a file or to standard output, in UTF-8; raises Unwritable."""
    data = (f"{line}\n".encode(errors="replace") for line in lines)
    if out is None or out == STANDARD:
        sys.stdout.buffer.writelines(data)
        sys.stdout.buffer.flush()
        return
    with writing(out), out.open("wb") as file:
        file.writelines(data)


@contextmanager
def printed(out: Path | None) -> "Iterator[Console]":
    """A console on standard output, or one whose text goes to a file; raises Unwritable."""
    if out is None or out == STANDARD:
        yield output()
        return
    text = io.StringIO()
    yield new_console(is_wide=True, file=text, color_system=None)
    write_lines(out, text.getvalue().removesuffix("\n").split("\n"))


def output() -> "Console":
    """Standard output: colours on a terminal only, and never with NO_COLOR; wide in a pipe."""
    # A character that its encoding lacks is replaced, at worst by a question mark.
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("opcheck.spelt", _spelt)
        sys.stdout.reconfigure(errors="opcheck.spelt")
    from opcheck.report.style import THEME

    colours = None if os.environ.get("NO_COLOR") else "auto"
    return new_console(is_wide=not sys.stdout.isatty(), color_system=colours, theme=THEME)


def print_records(records: Iterable[Mapping[str, Any]]) -> None:
    """Print records as JSON, one a line."""
    for record in records:
        click.echo(json.dumps(record))


def _spelt(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks, as `codecs.register_error` expects."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(plain_text.ASCII.get(character, "?") for character in lacking), error.end


def new_console(*, is_wide: bool, **settings: Any) -> "Console":
    """Return a console that marks nothing up, as wide as a pipe where it `is_wide`."""
    from rich.console import Console

    class WithoutPipe(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, which means that a backend does not conform.
            raise BrokenPipeError

        def _render_buffer(self, buffer: Iterable[Any]) -> str:
            # Here, where lines are broken already: a text from outside must not begin one.
            return plain_text.without_commands(super()._render_buffer(buffer))

    width = 120 if is_wide and "COLUMNS" not in os.environ else None
    return WithoutPipe(highlight=False, markup=False, emoji=False, width=width, **settings)


def progress(*, pausing: bool) -> "Progress":
    """Return a bar on standard error, shown on a terminal that it has to itself."""
    # Pausing: it is stopped while something is written, so that it can share the terminal.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = sys.stderr.isatty() and pausing
    if sys.stderr.isatty() and not sys.stdout.isatty():
        # A program that reads it, as a pager does, may write to the same terminal.
        shown = not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not shown,
    )


@contextmanager
def counted(what: str, total: int | None, *, pausing: bool = True) -> Iterator[Any]:
    """A function that yields items and counts them in a bar; Ctrl-C ends it between two items."""
    with progress(pausing=pausing) as bar:
        task = bar.add_task(what, total=total)

        def each(items: Iterable[Item]) -> Iterator[Item]:
            interrupt.safe_place()
            for item in items:
                yield item
                bar.advance(task)
                interrupt.safe_place()

        yield each
