"""Options that several commands share, and their exit."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from opcheck.cli import interrupt
from opcheck.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opcheck.model import Case


class Duration(click.FloatRange):
    """A duration: above 0, and finite."""

    def __init__(self, unit: str = "seconds") -> None:
        super().__init__(min=0, min_open=True)
        self.unit = unit

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert `5` or `5s`; click takes NaN and infinity for numbers of a range."""
        try:
            number = float(str(value).removesuffix("s"))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number of {self.unit}.", param, ctx)
        return float(super().convert(number, param, ctx))


class Share(click.FloatRange):
    """A part of something, as a percentage (5%) or a number (0.05); at most 1000 %."""

    def __init__(self) -> None:
        super().__init__(min=0, max=10)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As a number."""
        text = str(value).strip()
        plain: Any = text.removesuffix("%")
        number = click.FLOAT.convert(plain, param, ctx)
        share = float(super().convert(number / (100 if text.endswith("%") else 1), param, ctx))
        if math.isnan(share):
            self.fail(f"{text} is no share.", param, ctx)
        return share


Function = TypeVar("Function", bound=Callable[..., Any])
Fields = TypeVar("Fields")
#: The type of a path on the command line.
PATH = click.Path(path_type=Path)
#: --format of commands that print a table, or lines of JSON.
format_option = click.option(
    "--format", "form", type=click.Choice(["pretty", "json"]), default="pretty"
)


def together(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return several options as one decorator; `--help` lists them in this order."""

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


def taken(kind: type[Fields], given: dict[str, Any]) -> Fields:
    """Take the fields of a dataclass out of what is given to a command."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: given.pop(name) for name in names})


def _dims(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for value in values:
        name, _, size = value.rpartition("=")
        if not name or not (size.isascii() and size.isdecimal()) or len(size) > 18:
            raise click.BadParameter(f"write NAME=N, not {value!r}", ctx, param)
        if sizes.setdefault(name, int(size)) != int(size):
            raise click.BadParameter(f"{name} is {sizes[name]} and {size}", ctx, param)
    return sizes


_BACKEND = click.option(
    "-b", "--backend", "addresses", multiple=True, metavar="ADDRESS", help="Repeatable."
)
_LIMITS = (
    click.option(
        "--timeout",
        type=Duration(),
        metavar="SECONDS",
        help="How long a backend may take for a case that does not ask for more.  [default: as the"
        " backend's profile says, or 30]",
    ),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="How much memory a process of a backend may take, such as 2GiB; opcheck's copies of"
        " the case's data are part of it.  [default: as the"
        " backend's profile says, or any]",
    ),
)
_jobs = partial(click.option, "-j", "--jobs", type=click.IntRange(min=1), metavar="N")
backend_options = together(_BACKEND, *_LIMITS)
worker_options = together(
    _BACKEND, _jobs(default=1, show_default=True, help="Processes a backend."), *_LIMITS
)
#: Of opcheck's own processes, which change nothing but the time it takes.
processes_option = _jobs(help="Processes.  [default: one a processor]")
pretty_options = together(
    click.option("-q", "--quiet", is_flag=True, help="Only the summary, no failure in full."),
    click.option(
        "-v",
        "--verbose",
        count=True,
        help="Every table in full; -vv: every failure, warning and known failure too.",
    ),
    click.option(
        "--durations",
        "slowest",
        type=click.IntRange(min=1),
        metavar="N",
        help="List the N results that took longest, too.",
    ),
)
selection_options = together(
    click.argument("paths", nargs=-1, type=PATH, metavar="[PATH]..."),
    click.option("--case", "ids", multiple=True, metavar="ID", help="Exactly this case."),
    click.option("-k", "keywords", default="", metavar="EXPR", help="Words, and, or, not, ( )."),
    click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this operator."),
    click.option("--opset", "opsets", multiple=True, type=int, help="Only this opset."),
    click.option("--dtype", "dtypes", multiple=True, help="Only this element type."),
    click.option(
        "--level",
        type=click.Choice(["smoke", "core", "deep"], case_sensitive=False),
        default="core",
        show_default=True,
        help="How much: smoke is part of core, core of deep.",
    ),
)
dim_option = click.option(
    "--dim",
    "dims",
    multiple=True,
    callback=_dims,
    metavar="NAME=N",
    help="A size that a .onnx model leaves open, by its name or as INPUT[AXIS]. Repeatable.",
)


def chosen_cases(
    paths: Sequence[Path],
    dims: Mapping[str, int] | None = None,
    *,
    bench: bool = False,
    **selection: Any,
) -> tuple[tuple[Case, ...], str]:
    """The cases that `selection_options` select, or of `bench` those to time; and how, in words.

    Raises UsageError where they name what does not exist.
    """
    from opcheck.suite import Selection, check_case_files, choose, load_all, load_bench

    if bench:
        check_case_files(paths, "bench")
    chosen = Selection(**selection)
    about = chosen.operators
    cases = load_bench(paths, about) if bench else load_all(paths, dims, about)
    interrupt.safe_place()
    return choose(cases, chosen), str(chosen)


def end(code: Exit, meaning: str, *, err: bool = False) -> NoReturn:
    """Print the exit code and what it means, and end the program with it."""
    click.echo(f"exit {code:d}: {meaning}", err=err)
    leave(code)


def leave(code: Exit) -> NoReturn:
    """End the program with `code`."""
    sys.stdout.flush()
    raise SystemExit(int(code))
