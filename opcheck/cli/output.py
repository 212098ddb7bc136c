"""Output of a run: results while it lasts, and the reports at its end."""

from collections.abc import Sequence
from typing import Any

from opcheck.analysis.status import is_failure, reds_of
from opcheck.cli.console import LineWriter, output, progress
from opcheck.errors import Exit
from opcheck.model import Ending, Header, LiveResult, Record
from opcheck.report import failure, store
from opcheck.report.summary import Pretty


class _Output:
    """Output of a run; its `bar` counts results while they come."""

    def __init__(self, header: Header, *, pausing: bool) -> None:
        self.red = reds_of(header)
        self.bar = progress(pausing=pausing)
        self.task = self.bar.add_task("judging", total=header.results)

    def is_shown(self, result: LiveResult | Record) -> bool:
        return is_failure(result, self.red)


class JsonOutput(_Output):
    """JSON lines on standard output."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, pausing=False)
        self.lines = LineWriter()
        self.lines.add(store.header(header))
        self.lines.flush()

    def take(self, result: Record) -> None:
        """Take the result's line, to be written whatever happens."""
        self.lines.add(store.record(result))

    def show(self, result: Record) -> None:
        """Write the line now, so that a run cut short leaves what it had."""
        self.lines.flush()

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Write the footer, with the results that were `revised` after they were written."""
        self.lines.add(store.footer(results, ending, revised))
        self.lines.flush()


class PrettyOutput(_Output):
    """Failures as they come, tables at the end."""

    def __init__(self, header: Header, **options: Any) -> None:
        super().__init__(header, pausing=True)
        self.pretty = Pretty(output(), header, **options)

    def take(self, result: Record) -> None:
        """Do nothing: only `show` prints."""

    def show(self, result: Record) -> None:
        """Print a failure in full, now: a run may be long, or end with the whole process."""
        if self.pretty.is_due(result):
            self.bar.stop()
            failure.show(self.pretty.console, result)
            self.bar.start()

    def is_shown(self, result: LiveResult | Record) -> bool:
        """Return True if a result is shown in detail and its failure is diagnosed."""
        return self.pretty.is_in_full(result) or super().is_shown(result)

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Print the summary, then what the exit code means."""
        self.pretty.finish(results, ending.complete, Exit(ending.exit_code), ending.meaning)
