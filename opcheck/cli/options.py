"""What several commands share: options, the console, and how errors leave the program."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from opcheck.errors import CaseFileError, Exit, OpcheckError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from opcheck.model import Case

Function = TypeVar("Function", bound=Callable[..., Any])

_SELECTION = (
    click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]..."),
    click.option("--case", "ids", multiple=True, metavar="ID", help="Exactly this case."),
    click.option("-k", "keywords", default="", metavar="EXPR", help="Words, and, or, not, ( )."),
    click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this operator."),
    click.option("--opset", "opsets", multiple=True, type=int, help="Only this opset."),
    click.option("--dtype", "dtypes", multiple=True, help="Only this element type."),
    click.option(
        "--level",
        type=click.Choice(["smoke", "core", "deep"]),
        default="core",
        show_default=True,
        help="How much: smoke is part of core, core of deep.",
    ),
)


def selection_options(function: Function) -> Function:
    """PATH, --case, -k, --op, --opset, --dtype, --level."""
    for option in reversed(_SELECTION):
        function = option(function)
    return function


def chosen_cases(
    paths: Sequence[Path],
    ids: tuple[str, ...],
    keywords: str,
    ops: tuple[str, ...],
    opsets: tuple[int, ...],
    dtypes: tuple[str, ...],
    level: Any,
) -> tuple[tuple[Case, ...], str]:
    """The selected cases, and the selection in words.

    Raises UsageError for a selection that names what does not exist.
    """
    from opcheck.dtypes import DTYPES
    from opcheck.suite import Selection, load, select

    for dtype in dtypes:
        if dtype not in DTYPES:
            raise UsageError(f"unknown dtype {dtype!r}", did_you_mean(dtype, DTYPES))
    selection = Selection(ids, keywords, ops, opsets, dtypes, level)
    cases = load(paths)
    missing = [wanted for wanted in ids if wanted not in {case.id for case in cases}]
    for wanted in missing:
        hint = did_you_mean(wanted, (case.id for case in cases))
        click.echo(f"opcheck: no case {wanted!r}{f' ({hint})' if hint else ''}", err=True)
    present = {case.op.name.lower(): case.op.name for case in cases}
    for op in ops:
        if op.lower() not in present:
            hint = did_you_mean(op, present.values())
            click.echo(
                f"opcheck: no case of operator {op!r}{f' ({hint})' if hint else ''}", err=True
            )
    return select(cases, selection), str(selection)


def reports_errors(function: Function) -> Function:
    """Let a command end with the message and exit code of an OpcheckError, and on Ctrl-C."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except OpcheckError as error:
            # Problems of files begin with their place, which editors and CI systems look for.
            prefix = "" if isinstance(error, CaseFileError) else "opcheck: "
            click.echo(prefix + "\n".join(error.lines()), err=True)
            leave(error.exit_code)
        except KeyboardInterrupt:
            click.echo("opcheck: interrupted", err=True)
            leave(Exit.INTERRUPTED)

    return wrapped  # type: ignore[return-value]  # functools.wraps keeps the signature


def leave(code: Exit) -> NoReturn:
    """End the program with `code`."""
    sys.stdout.flush()
    raise SystemExit(int(code))


def console() -> Console:
    """Standard output: colours on a terminal only, and never with NO_COLOR; wide in a pipe."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(
        no_color=plain, highlight=False, markup=False, emoji=False, width=width, soft_wrap=False
    )
