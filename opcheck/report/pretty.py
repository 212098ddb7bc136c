"""A run in a terminal: failures in full as they come, tables at the end, and what it amounts to."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from opcheck.analysis.status import is_failure, outcome, reds_of
from opcheck.errors import Exit
from opcheck.model import Header, LiveResult, Record, Run, Verdict
from opcheck.report import failure, plain_text
from opcheck.report.style import put_exit
from opcheck.report.summary import Summary

#: How many failures of a backend that look alike are shown in full: with and without a diagnosis.
_EXPLAINED, _UNEXPLAINED = 1, 3
#: The level of verbosity at which every failure is shown in full.
_EVERYTHING = 2


@dataclass(eq=False)
class Pretty:
    """Prints a run on a console, while it lasts just as afterwards.

    Of failures that look alike the first few are shown in full, and the others counted. `quiet`
    shows none of them; `verbose` 1 shows every table in full, and 2 also every failure, warning and
    known failure. So many of the `slowest` results are listed at the end.
    """

    console: Console
    header: Header
    quiet: bool = False
    verbose: int = 0
    slowest: int | None = None
    _bad_cases: set[tuple[str, str]] = field(default_factory=set, init=False)
    _alike: Counter[Hashable] = field(default_factory=Counter, init=False)
    _left_out: int = field(default=0, init=False)

    def is_in_full(self, result: Record | LiveResult) -> bool:
        """Return True if a result is of a kind that is shown in full."""
        if self.quiet:
            return result.verdict is Verdict.BAD_CASE
        if self.verbose >= _EVERYTHING and result.verdict in (Verdict.WARN, Verdict.KNOWN):
            return True
        return is_failure(result, reds_of(self.header))

    def is_due(self, result: Record) -> bool:
        """Return True if a result is to be shown now; call once for each, in order."""
        if not self.is_in_full(result):
            return False
        if result.verdict is Verdict.BAD_CASE:
            # Another backend may have met the same mistake of the case, which is not its own.
            said = result.case, result.reason
            if said in self._bad_cases:
                return False
            self._bad_cases.add(said)
        likeness = _likeness(result)
        self._alike[likeness] += 1
        most = _EXPLAINED if result.diagnoses else _UNEXPLAINED
        if self.verbose >= _EVERYTHING or self._alike[likeness] <= most:
            return True
        self._left_out += 1
        return False

    def finish(self, results: Sequence[Record], complete: bool, code: Exit, meaning: str) -> None:
        """Print the summary, then what the exit code means."""
        if self._left_out:
            more = plain_text.plural(self._left_out, "more failure")
            like = "is like" if self._left_out == 1 else "are each like"
            message = f"… and {more}, which {like} one of those above: -vv shows all in full"
            self.console.print(Text(message, "bold"))
            self.console.print()
        options = complete, self.verbose > 0, self.slowest
        Summary(self.console, self.header, results, *options).show()
        said = f"{meaning} ({self.header.selection})" if not results else meaning
        # How a process died is told in its own words.
        put_exit(self.console, code, plain_text.one_line(said))


def _likeness(result: Record) -> Hashable:
    """Return a key that similar failures share: backend, operator, and kind of failure."""
    looks = result.diagnoses[0] if result.diagnoses else plain_text.kind(result.reason)
    # Where a user's ledger has something else come, each of its lines is to be mended.
    line = failure.ledger_place(result.known) if result.unexpected and result.known else None
    return result.backend, result.op.name, result.verdict, result.failure, looks, line


def show(console: Console, run: Run, **options: Any) -> None:
    """Print a stored run; `options` are those of `Pretty`."""
    pretty = Pretty(console, run.header, **options)
    for result in run.records:
        if pretty.is_due(result):
            failure.show(console, result)
    pretty.finish(run.records, run.complete, *outcome(run))
