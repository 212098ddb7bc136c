"""Setup of `opcheck bench`: cases, processes, progress and stored results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli import interrupt
from opcheck.cli.options import chosen_cases, leave
from opcheck.errors import Exit, Unwritable, UsageError
from opcheck.report.plain_text import alike

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.execution.bench import Benchmark
    from opcheck.model import Case
    from opcheck.model.timing import Bench, Timed

#: How many seconds of measuring may be lost if all is killed.
_MOMENT = 10.0


def chosen(sweep: str | None, *, paths: Sequence[Path], **selection: Any) -> list[Case]:
    """The cases that can be timed; tells of the others, and raises UsageError if there is none."""
    from opcheck.execution.bench.setup import why_not
    from opcheck.suite import load_bench, parse_sweep

    wanted = parse_sweep(sweep) if sweep else None
    cases, said = chosen_cases(paths, **selection, bench=True)
    if wanted:
        ids = {case.id for case in cases}
        cases = load_bench(paths, sizes=lambda concrete: wanted.of(concrete, ids))
    by_reason = alike(cases, why_not)
    found = by_reason.pop("", [])
    for reason, those in by_reason.items():
        more = f" and {len(those) - 1:,} more" if len(those) > 1 else ""
        click.echo(f"opcheck: not timed: {those[0].id}{more}: {reason}", err=True)
    if cases and not found:
        raise UsageError("none of the cases can be timed")
    if not cases:
        click.echo(f"opcheck: no case matches ({said})", err=True)
        leave(Exit.NOTHING_JUDGED)
    return found


def was_timed(rows: Sequence[Timed]) -> bool:
    """Return True if there is any time."""
    return any(timing.samples for row in rows for timing in row.timings)


class Keeping:
    """The file in which all samples are kept, if there is one, written anew now and then."""

    def __init__(self, path: Path | None, about: Bench) -> None:
        self._path, self._about = path, about
        self.now((), complete=False)
        self.check()

    def now(self, rows: Sequence[Timed], *, complete: bool) -> None:
        """Write what there is; where that fails it is still shown, and `check` tells."""
        self.written = monotonic()
        self._error: Unwritable | None = None
        if self._path:
            from opcheck.report.timing_store import write

            try:
                write(self._path, self._about, rows, complete=complete)
            except Unwritable as error:
                self._error = error

    def check(self) -> None:
        """Raise Unwritable if what there is was not written."""
        if self._error:
            raise self._error


def measured(session: Benchmark, keeping: Keeping) -> Sequence[Timed]:
    """Run a session, counting its visits in a progress bar."""
    from opcheck.cli.console import progress

    with progress(pausing=True) as bar:
        task = bar.add_task("timing", total=session.to_come)
        for done, case in enumerate(session.visits(interrupt.asked)):
            total = done + session.to_come
            bar.update(task, description=case, completed=done, total=total)
            if monotonic() - keeping.written > _MOMENT:
                keeping.now(session.rows(), complete=False)
    rows = session.rows()
    keeping.now(rows, complete=not interrupt.asked())
    return rows


def check_sweeps(sweeps: Iterable[str], plot: Path | None) -> None:
    """Raise UsageError where there will be nothing to draw, or no way to: before it is measured.

    `sweeps` are those that cases belong to, "" for none.
    """
    from opcheck.report.scaling import check_plot as check_plot

    if plot is None:
        return
    families = {*sweeps} - {""}
    if len(families) != 1:
        said = ", ".join(sorted(families)) or "none"
        hint = "choose one by --case, and its sizes by --sweep"
        raise UsageError(f"--plot draws one case in several sizes, and there is: {said}", hint)
    check_plot(plot)


def show_sweeps(
    console: Console, about: Bench, rows: Sequence[Timed], plot: Path | None = None
) -> None:
    """Print how times grow in each sweep, and draw it."""
    from opcheck.report import scaling

    for some in alike((row for row in rows if row.sweep), lambda row: row.sweep).values():
        console.print()
        scaling.show(console, about, some)
        if plot and was_timed(some):
            scaling.draw(plot, about, some)
