"""Standard output and standard error. What they need takes long to import."""

from __future__ import annotations

import codecs
import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opcheck.cli import interrupt
from opcheck.report import plain_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


Item = TypeVar("Item")


def output() -> Console:
    """Standard output: colours on a terminal only, and never with NO_COLOR; wide in a pipe.

    A character that its encoding lacks is replaced, at worst by a question mark.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("opcheck.spelt", _spelt)
        sys.stdout.reconfigure(errors="opcheck.spelt")
    from opcheck.report.style import THEME

    is_plain = bool(os.environ.get("NO_COLOR"))
    return new_console(
        is_wide=not sys.stdout.isatty(), color_system=None if is_plain else "auto", theme=THEME
    )


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


def new_console(*, is_wide: bool, **settings: Any) -> Console:
    """Return a console that marks nothing up, as wide as a pipe where it `is_wide`."""
    from rich.console import Console

    class WithoutPipe(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, which means that a backend does not conform.
            raise BrokenPipeError

    width = 120 if is_wide and "COLUMNS" not in os.environ else None
    return WithoutPipe(highlight=False, markup=False, emoji=False, width=width, **settings)


def progress(*, pausing: bool) -> Progress:
    """Return a bar on standard error, shown on a terminal that it has to itself.

    `pausing`: it is stopped while something is written, so that it can share the terminal.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = sys.stderr.isatty() and pausing
    if sys.stderr.isatty() and not sys.stdout.isatty():
        # A program that reads it, as a pager does, may write to the same terminal.
        shown = not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not shown,
    )


@contextmanager
def counted(what: str, total: int | None) -> Iterator[Any]:
    """A function that yields items and counts them in a bar; Ctrl-C ends it between two items."""
    with progress(pausing=True) as bar:
        task = bar.add_task(what, total=total)

        def each(items: Iterable[Item]) -> Iterator[Item]:
            interrupt.safe_place()
            for item in items:
                yield item
                bar.advance(task)
                interrupt.safe_place()

        yield each
