"""What commands print: notes, records, progress, and the line that explains the exit code."""

import codecs
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck import interrupt
from opcheck.errors import Exit, writing
from opcheck.grouping import Item
from opcheck.report import plain_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from opcheck.model import MutantId

#: In place of a file: standard input or standard output.
STANDARD = Path("-")
#: Columns of a table that goes to a pipe or a file.
_WIDE = 120
_ERROR_HANDLER = "opcheck.ascii"


def note(message: str) -> None:
    """Print a line about the command itself on standard error."""
    click.echo(plain_text.without_commands(f"opcheck: {message}"), err=True)


def note_mutants_that_raised(tried: "Iterable[tuple[MutantId, str]]") -> int:
    """Print what mutants raised, each mutant of a version once, and return how many did.

    `tried` are mutants, each with what it raised, "" for one that raised nothing.
    """
    raised: dict[tuple[str, str], str] = {}
    for mutant, message in tried:
        if message:
            raised.setdefault((str(mutant.op), mutant.name), message)
    for message in raised.values():
        note(f"a mistake of opcheck's own: {message}")
    return len(raised)


def print_and_exit(code: Exit, meaning: str, *, err: bool = False) -> NoReturn:
    """Print the exit code and what it means, and end the program with it."""
    click.echo(plain_text.without_commands(f"exit {code:d}: {meaning}"), err=err)
    exit_with(code)


def exit_with(code: Exit) -> NoReturn:
    """End the program with `code`."""
    sys.stdout.flush()
    raise SystemExit(int(code))


def print_records(records: Iterable[Mapping[str, Any]]) -> None:
    """Print each record as a line of JSON."""
    for record in records:
        click.echo(json.dumps(record))


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
def console_to(out: Path | None) -> "Iterator[Console]":
    """Give a console on standard output, or one whose text goes to a file; raises Unwritable."""
    if out is None or out == STANDARD:
        yield stdout_console()
        return
    text = io.StringIO()
    yield new_console(is_wide=True, file=text, color_system=None)
    write_lines(out, text.getvalue().removesuffix("\n").split("\n"))


def stdout_console() -> "Console":
    """Return a console on standard output: wide in a pipe, colors on a terminal without NO_COLOR.

    A character that the output's encoding does not have is replaced, at worst by `?`.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(_ERROR_HANDLER, _replace_by_ascii)
        sys.stdout.reconfigure(errors=_ERROR_HANDLER)
    from opcheck.report.style import THEME

    colors = None if os.environ.get("NO_COLOR") else "auto"
    return new_console(is_wide=not sys.stdout.isatty(), color_system=colors, theme=THEME)


def _replace_by_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding does not have; an error handler for `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(plain_text.ASCII.get(character, "?") for character in missing), error.end


def new_console(*, is_wide: bool, **settings: Any) -> "Console":
    """Return a console that prints text as it is; `is_wide` sets the width of a pipe.

    `settings` go to `rich.console.Console`.
    """
    from rich.console import Console

    class ConsoleWithoutPipe(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, which means that a backend does not conform.
            raise BrokenPipeError

        def _render_buffer(self, buffer: Iterable[Any]) -> str:
            # Lines are broken only here, and untrusted text must not begin one with a command.
            return plain_text.without_commands(super()._render_buffer(buffer))

    width = _WIDE if is_wide and "COLUMNS" not in os.environ else None
    return ConsoleWithoutPipe(highlight=False, markup=False, emoji=False, width=width, **settings)


#: The styles of counts and times in a progress bar.
_COUNTS = ("progress.download", "progress.elapsed", "progress.remaining")


def progress(*, pausing: bool) -> "Progress":
    """Return a bar on standard error, shown on a terminal that it has to itself.

    Each of its tasks has a field `remark`, a text behind the count.

    Args:
        pausing: The caller stops the bar while it prints, so that both can share a terminal.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.theme import Theme

    is_shown = sys.stderr.isatty() and pausing
    if sys.stderr.isatty() and not sys.stdout.isatty():
        # A program that reads standard output, such as a pager, may write to the same terminal.
        is_shown = not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[remark]}"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        # The terminal's own colour: Rich's yellow and cyan are hard to read on white.
        console=Console(stderr=True, theme=Theme(dict.fromkeys(_COUNTS, ""))),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not is_shown,
    )


@contextmanager
def counted(
    what: str, total: int | None, *, pausing: bool = True
) -> Iterator[Callable[[Iterable[Any]], Iterator[Any]]]:
    """Give a function that yields the items given to it, and counts them in a progress bar.

    Ctrl-C ends it between two items.
    """
    with progress(pausing=pausing) as bar:
        task = bar.add_task(what, total=total, remark="")

        def each(items: Iterable[Item]) -> Iterator[Item]:
            interrupt.safe_place()
            for item in items:
                yield item
                bar.advance(task)
                interrupt.safe_place()

        yield each
