"""Sweeps over sizes, once they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opcheck.cli.bench_setup import was_timed
from opcheck.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.model.timing import Bench, Timed


def check(sweeps: Iterable[str], plot: Path | None) -> None:
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


def show(console: Console, about: Bench, rows: Sequence[Timed], plot: Path | None = None) -> None:
    """Print how times grow in each sweep, and draw it."""
    from opcheck.report import scaling

    families: dict[str, list[Timed]] = {}
    for row in rows:
        if row.sweep:
            families.setdefault(row.sweep, []).append(row)
    for some in families.values():
        console.print()
        scaling.show(console, about, some)
        if plot and was_timed(some):
            scaling.draw(plot, about, some)
