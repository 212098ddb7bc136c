"""A benchmark while it is measured: what is shown of it, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from opcheck.cli import interrupt
from opcheck.errors import Unwritable

if TYPE_CHECKING:
    from opcheck.model.timing import Bench, Timed
    from opcheck.run.bench import Session

#: How many seconds of measuring may be lost if all is killed.
_MOMENT = 10.0


def was_timed(rows: Sequence[Timed]) -> bool:
    """Whether there is any time."""
    return any(timing.samples for row in rows for timing in row.timings)


class Keeping:
    """The file in which all samples are kept, if there is one, written anew now and then."""

    def __init__(self, path: Path | None, about: Bench) -> None:
        self._path, self._about = path, about
        self._written = 0.0
        self._error: Unwritable | None = None
        self._write((), complete=False)

    def now_and_then(self, session: Session) -> None:
        """Write what there is so far, unless that was done a moment ago."""
        if self._path and monotonic() - self._written > _MOMENT:
            self.now(session.rows(), complete=False)

    def now(self, rows: Sequence[Timed], *, complete: bool) -> None:
        """Write what there is; where that fails it is still shown, and `check` tells."""
        try:
            self._write(rows, complete=complete)
            self._error = None
        except Unwritable as error:
            self._error = error

    def check(self) -> None:
        """Raise Unwritable if what there is was not written."""
        if self._error:
            raise self._error

    def _write(self, rows: Sequence[Timed], *, complete: bool) -> None:
        if self._path:
            from opcheck.report.timing_store import write

            self._written = monotonic()
            write(self._path, self._about, rows, complete=complete)


def measured(session: Session, keeping: Keeping) -> Sequence[Timed]:
    """What comes of a session, whose visits are counted in a bar."""
    from opcheck.cli.console import progress

    with progress(pausing=True) as bar:
        task = bar.add_task("timing", total=session.to_come)
        for done, case in enumerate(session.visits(interrupt.asked)):
            total = done + session.to_come
            bar.update(task, description=case, completed=done, total=total)
            keeping.now_and_then(session)
    rows = session.rows()
    keeping.now(rows, complete=not interrupt.asked())
    return rows
