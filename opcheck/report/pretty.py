"""A run in a terminal: failures in full as they come, tables at the end, and what it amounts to."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from opcheck.errors import Exit
from opcheck.model import Header, Record, Result, Run, Verdict
from opcheck.records.status import is_failure, outcome, reds_of
from opcheck.report import failure, summary, words


class Pretty:
    """Prints a run on a console: `quiet` without its failures, `verbose` with warnings among them.

    While the run lasts just as afterwards. So many of the `slowest` results are listed at the end.
    """

    def __init__(
        self,
        console: Console,
        header: Header,
        *,
        quiet: bool,
        verbose: bool,
        slowest: int | None = None,
    ) -> None:
        self._console = console
        self._header = header
        self._red = reds_of(header)
        self._quiet = quiet
        self._verbose = verbose
        self._slowest = slowest
        self._bad_cases: set[tuple[str, str]] = set()

    def is_in_full(self, result: Record | Result) -> bool:
        """Whether a result is told in full."""
        if self._quiet:
            return False
        if self._verbose and result.verdict in (Verdict.WARN, Verdict.KNOWN):
            return True
        return is_failure(result, self._red)

    def add(self, result: Record) -> None:
        """Print a result, if it is told in full."""
        if self.is_in_full(result) and not self._said_before(result):
            failure.show(self._console, result)

    def finish(self, results: Sequence[Record], complete: bool, code: Exit, meaning: str) -> None:
        """Print the summary, then what the exit code means."""
        summary.show(self._console, self._header, results, complete=complete, slowest=self._slowest)
        said = f"{meaning} ({self._header.selection})" if not results else meaning
        colour = "green" if code is Exit.CONFORMS else "red"
        ending = f"exit {int(code)}", f"bold {colour}"
        # How a process died is told in its own words.
        self._console.print(Text.assemble(ending, f": {words.one_line(said)}"), soft_wrap=True)

    def _said_before(self, result: Record) -> bool:
        """Whether another backend met the same mistake of the case, which is not its own."""
        if result.verdict is not Verdict.BAD_CASE:
            return False
        said = result.case, result.reason
        before = said in self._bad_cases
        self._bad_cases.add(said)
        return before


def show(
    console: Console,
    run: Run,
    *,
    quiet: bool = False,
    verbose: bool = False,
    slowest: int | None = None,
) -> None:
    """Print a stored run."""
    pretty = Pretty(console, run.header, quiet=quiet, verbose=verbose, slowest=slowest)
    for result in run.records:
        pretty.add(result)
    pretty.finish(run.records, run.complete, *outcome(run))
