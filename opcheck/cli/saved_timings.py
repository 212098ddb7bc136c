"""Saved benchmarks that are looked at again: nothing is measured."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import NoReturn

import click
from click.core import ParameterSource

from opcheck.cli import scalings, timing_gate
from opcheck.cli.measuring import was_timed
from opcheck.cli.options import leave
from opcheck.cli.reports import check_files
from opcheck.errors import Exit, UsageError


def show(path: Path, pyperf: Path | None, plot: Path | None) -> NoReturn:
    """Print what `opcheck bench` printed when it was saved, and end.

    Raises UsageError where something was asked for that only matters to what is measured.
    """
    _nothing_beside("--show", ("shown", "pyperf", "plot"))
    from opcheck.cli.console import output
    from opcheck.report import timings
    from opcheck.report.pyperf import write
    from opcheck.report.timing_store import read

    check_files({"--pyperf": pyperf, "--plot": plot}, [path])
    stored = read(path)
    scalings.check([row.sweep for row in stored.rows], plot)
    console = output()
    timings.show(console, stored.bench, stored.rows, complete=stored.complete)
    scalings.show(console, stored.bench, stored.rows, plot)
    if pyperf and was_timed(stored.rows):
        write(pyperf, stored.bench, stored.rows)
    leave(Exit.CONFORMS if stored.complete else Exit.UNUSABLE)


def compare(old: Path, new: Path, most: float | None) -> NoReturn:
    """Show what changed from one saved benchmark to another, and end.

    Raises UsageError where something was asked for that only matters to what is measured.
    """
    _nothing_beside("--compare", ("compared", "most"))
    from opcheck.cli.console import output
    from opcheck.report.timing_store import read

    timing_gate.limit(most)
    one, other = read(old), read(new)
    timing_gate.tell_if_cut_short(old, one)
    timing_gate.tell_if_cut_short(new, other)
    runs = (one.bench, one.rows), (other.bench, other.rows)
    code, meaning = timing_gate.shown(output(), *runs, most)
    click.echo(f"exit {int(code or 0)}: {meaning}")
    leave(code or Exit.CONFORMS)


def _nothing_beside(option: str, allowed: Container[str]) -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if given and parameter.name not in allowed:
            name = parameter.opts[-1] if isinstance(parameter, click.Option) else "PATH"
            raise UsageError(f"{option} measures nothing: {name} has no place beside it")
