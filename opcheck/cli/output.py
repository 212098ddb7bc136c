"""Output of a run: results while it lasts, and the reports at its end."""

import io
import os
import select
import sys
from collections.abc import Sequence
from typing import Any

from opcheck import interrupt
from opcheck.analysis import is_failure, reds_of
from opcheck.cli.options import output, progress
from opcheck.errors import Exit
from opcheck.model import Ending, Header, LiveResult, Record
from opcheck.report import store, summary


class _Output:
    """Output of a run; its `bar` counts results while they come."""

    def __init__(self, header: Header, *, pausing: bool) -> None:
        self.red = reds_of(header)
        self.bar = progress(pausing=pausing)
        self.task = self.bar.add_task("judging", total=header.results)

    def is_shown(self, result: LiveResult | Record) -> bool:
        return is_failure(result, self.red)


class JsonOutput(_Output):
    """JSON lines on standard output: the rest of an interrupted one is written before the next."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, pausing=False)
        self._rest = f"{store.header(header)}\n".encode()
        self._flush()

    def take(self, result: Record) -> None:
        """Take the result's line, to be written whatever happens."""
        self._rest += f"{store.record(result)}\n".encode()

    def show(self, result: Record) -> None:
        """Write the line now, so that a run cut short leaves what it had."""
        self._flush()

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Write the footer, with the results that were `revised` after they were written."""
        self._rest += f"{store.footer(results, ending, revised)}\n".encode()
        self._flush()

    def _flush(self) -> None:
        """Write the rest; may raise KeyboardInterrupt in the middle of it."""
        try:
            file = sys.stdout.fileno()
        except io.UnsupportedOperation:  # no file at all, as in tests
            sys.stdout.write(self._rest.decode())
            self._rest = b""
            return
        sys.stdout.flush()
        while self._rest:
            with interrupt.shielded() as is_urgent:
                # Wait for a reader that takes nothing, but notice an interruption in time.
                while self._rest and not is_urgent():
                    if select.select([], [file], [], 0.1)[1]:
                        written = os.write(file, self._rest[: select.PIPE_BUF])
                        self._rest = self._rest[written:]


class PrettyOutput(_Output):
    """Failures as they come, tables at the end."""

    def __init__(self, header: Header, **options: Any) -> None:
        super().__init__(header, pausing=True)
        self.pretty = summary.Pretty(output(), header, **options)

    def take(self, result: Record) -> None:
        """Do nothing: only `show` prints."""

    def show(self, result: Record) -> None:
        """Print a failure in full, now: a run may be long, or end with the whole process."""
        if self.pretty.is_due(result):
            self.bar.stop()
            summary.show_failure(self.pretty.console, result)
            self.bar.start()

    def is_shown(self, result: LiveResult | Record) -> bool:
        """Return True if a result is shown in detail and its failure is diagnosed."""
        return self.pretty.is_in_full(result) or super().is_shown(result)

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Print the summary, then what the exit code means."""
        self.pretty.finish(results, ending.complete, Exit(ending.exit_code), ending.meaning)
