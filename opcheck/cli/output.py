"""Where the results of a run go while it lasts, and what is printed at its end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from opcheck.cli.options import console
from opcheck.errors import Exit
from opcheck.model import Header, Result, Verdict
from opcheck.report import diff, store, summary
from opcheck.run.status import is_red


class Output(Protocol):
    """What a run writes to: entered while results come, finished once."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None: ...

    def add(self, result: Result) -> None:
        """Take one result as it happens."""
        ...

    def finish(self, results: Sequence[Result], complete: bool, code: Exit, meaning: str) -> None:
        """Say what it all amounts to."""
        ...


class JsonOutput:
    """JSON lines on standard output."""

    def __init__(self, header: Header) -> None:
        click.echo(store.header(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Nothing is open."""

    def add(self, result: Result) -> None:
        """Write the result's line now, so that a run cut short leaves what it had."""
        click.echo(store.record(result))

    def finish(self, results: Sequence[Result], complete: bool, code: Exit, meaning: str) -> None:
        """Write the footer."""
        click.echo(store.footer(results, complete, int(code), meaning))


class PrettyOutput:
    """Tables on standard output; on a terminal, a progress bar on standard error meanwhile."""

    def __init__(self, header: Header, quiet: bool, verbose: bool) -> None:
        self.header = header
        self.quiet = quiet
        self.verbose = verbose
        self.console = console()
        errors = Console(stderr=True)
        # Both must be terminals: a bar would garble a log, and a pipe's reader sees no bar.
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=errors,
            transient=True,
            disable=not (sys.stderr.isatty() and sys.stdout.isatty()),
        )
        self.task = self.bar.add_task("judging", total=header.cases * len(header.backends))

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.bar.stop()

    def add(self, result: Result) -> None:
        """Move the bar."""
        self.bar.advance(self.task)

    def finish(self, results: Sequence[Result], complete: bool, code: Exit, meaning: str) -> None:
        """Print every failure in full, then the summary, then what the exit code means."""
        for result in results:
            if self._in_full(result):
                diff.show(self.console, result)
        if results:
            summary.show(self.console, self.header, results, complete=complete)
        said = f" ({self.header.selection})" if not results else ""
        colour = "green" if code is Exit.CONFORMS else "red"
        verdict = Text.assemble((f"exit {int(code)}", f"bold {colour}"), f": {meaning}{said}")
        self.console.print(verdict, soft_wrap=True)

    def _in_full(self, result: Result) -> bool:
        if self.quiet:
            return False
        if self.verbose and result.verdict in (Verdict.WARN, Verdict.KNOWN):
            return True
        return result.verdict is Verdict.BAD_CASE or is_red(result, strict=self.header.strict)
