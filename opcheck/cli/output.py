"""Where the results of a run go while it lasts, and what is printed at its end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from rich.text import Text

from opcheck.cli.console import Lines, output, progress
from opcheck.errors import Exit
from opcheck.model import Header, Result, Verdict
from opcheck.report import diff, store, summary
from opcheck.run.status import is_red


def is_failure(result: Result, red: Collection[Verdict]) -> bool:
    """Whether a result is shown in full and counts for --max-fail: red, or a case that is wrong."""
    return result.verdict is Verdict.BAD_CASE or is_red(result, red)


class _Output:
    """What a run writes to: entered while results come, which a progress bar counts."""

    def __init__(self, header: Header, *, pausing: bool) -> None:
        self.bar = progress(pausing=pausing)
        self.task = self.bar.add_task("judging", total=header.cases * len(header.backends))

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.bar.stop()


class JsonOutput(_Output):
    """JSON lines on standard output."""

    def __init__(self, header: Header, red: Collection[Verdict]) -> None:
        super().__init__(header, pausing=False)
        self.red = red
        self.lines = Lines()
        self.lines.write(store.header(header))

    def add(self, result: Result) -> None:
        """Write the result's line now, so that a run cut short leaves what it had."""
        self.lines.write(store.record(result))
        self.bar.advance(self.task)

    def is_shown(self, result: Result) -> bool:
        """Whether a result is told in detail, and its failure worth a diagnosis."""
        return is_failure(result, self.red)

    def finish(self, results: Sequence[Result], complete: bool, code: Exit, meaning: str) -> None:
        """Write the footer."""
        self.lines.write(store.footer(results, complete, int(code), meaning))


class PrettyOutput(_Output):
    """Failures as they come, tables at the end."""

    def __init__(
        self, header: Header, red: Collection[Verdict], quiet: bool, verbose: bool
    ) -> None:
        super().__init__(header, pausing=True)
        self.header = header
        self.red = red
        self.quiet = quiet
        self.verbose = verbose
        self.console = output()
        self.bad_cases: set[tuple[str, str]] = set()

    def add(self, result: Result) -> None:
        """Print a failure in full, now: a run may be long, or end with the whole process."""
        if self._in_full(result) and not self._said_before(result):
            self.bar.stop()
            diff.show(self.console, result)
            self.bar.start()
        self.bar.advance(self.task)

    def finish(self, results: Sequence[Result], complete: bool, code: Exit, meaning: str) -> None:
        """Print the summary, then what the exit code means."""
        summary.show(self.console, self.header, results, complete=complete)
        said = f" ({self.header.selection})" if not results else ""
        colour = "green" if code is Exit.CONFORMS else "red"
        verdict = Text.assemble((f"exit {int(code)}", f"bold {colour}"), f": {meaning}{said}")
        self.console.print(verdict, soft_wrap=True)

    def _said_before(self, result: Result) -> bool:
        """Whether another backend met the same mistake of the case, which is not its own."""
        if result.verdict is not Verdict.BAD_CASE:
            return False
        said = result.case.id, result.reason
        before = said in self.bad_cases
        self.bad_cases.add(said)
        return before

    def is_shown(self, result: Result) -> bool:
        """Whether a result is told in detail, and its failure worth a diagnosis."""
        return self._in_full(result) or is_failure(result, self.red)

    def _in_full(self, result: Result) -> bool:
        if self.quiet:
            return False
        if self.verbose and result.verdict in (Verdict.WARN, Verdict.KNOWN):
            return True
        return is_failure(result, self.red)
