"""Benchmarks against saved ones: what they need, what they show, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from opcheck.cli.options import end
from opcheck.errors import Exit, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.model import Case
    from opcheck.model.timing import Bench, Timed
    from opcheck.report.timing_store import Stored
    from opcheck.timing.comparing import Compared


def baseline(path: Path | None, most: float | None, *, threads: int, cold: bool) -> Stored | None:
    """The saved benchmark; raises UsageError where it cannot be held against what is asked for."""
    from opcheck.report.timing_store import read

    if path is None:
        if most is not None:
            raise UsageError("--max-regression needs a --baseline")
        return None
    _limit(most)
    stored = read(path)
    was = stored.bench
    if was.threads != threads:
        raise UsageError(
            f"{path} was taken with --threads {was.threads}, and {threads} is asked for",
            "what changed would be the threads",
        )
    if was.cold != cold:
        caches = "--cold" if was.cold else "warm caches"
        raise UsageError(f"{path} was taken with {caches}", "what changed would be the caches")
    _tell_if_cut_short(path, stored)
    return stored


def _limit(most: float | None) -> float:
    """How much slower is too slow; raises UsageError for less than two runs can tell."""
    from opcheck.timing.comparing import FINEST, USUAL

    if most is not None and most < FINEST:
        raise UsageError(
            f"--max-regression {100 * most:g}%: two runs of one build differ by as much;"
            f" {100 * FINEST:g}% is the least",
            "both builds in one run show less: -b old -b new",
        )
    return USUAL if most is None else most


def check_rows(
    path: Path | None, stored: Stored | None, cases: Sequence[Case], names: Sequence[str]
) -> None:
    """Raise UsageError where the saved benchmark lacks something that is asked for."""
    if stored is None:
        return
    known = {(row.case, one.backend) for row in stored.rows for one in row.timings if one.samples}
    asked = [(case.id, name) for case in cases for name in names]
    lacking = [pair for pair in asked if pair not in known]
    if lacking:
        case, backend = lacking[0]
        more = f", and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        hint = "leave it out by -k, or save a new baseline with `opcheck bench --save FILE`"
        raise UsageError(f"{path} has no time of {backend} for {case}{more}", hint)


def gate(
    console: Console, old: Stored | None, about: Bench, rows: Sequence[Timed], most: float | None
) -> tuple[Exit | None, str]:
    """Show what changed since the baseline; what that means for the exit code."""
    if old is None or not rows:
        return None, ""
    cases, backends = {row.case for row in rows}, {*about.backends}
    before = [
        replace(row, timings=tuple(one for one in row.timings if one.backend in backends))
        for row in old.rows
        if row.case in cases
    ]
    console.print()
    return _shown(console, (old.bench, before), (about, rows), most)


def _shown(
    console: Console,
    old: tuple[Bench, Sequence[Timed]],
    new: tuple[Bench, Sequence[Timed]],
    most: float | None,
) -> tuple[Exit | None, str]:
    """Print what changed; what that means for the exit code."""
    from opcheck.report import changes
    from opcheck.timing.comparing import compare_runs

    (before, was), (after, now) = old, new
    found = compare_runs(was, now, _limit(most))
    changes.show(console, before, after, found)
    return _verdict(found)


def _verdict(found: Compared) -> tuple[Exit | None, str]:
    slower = sum(one.verdict == "slower" for one in found.changes)
    together = any(one.verdict == "slower" for one in found.together)
    by = f"by more than {100 * found.beyond:g} %"
    said = []
    if lost := sum(one.lacks == "new" for one in found.missing):
        said.append(f"{lost:,} that had a time before have none now")
    if slower or together:
        mean = ", and so are all together" if together else ""
        said.append(f"{slower:,} slower than before {by}{mean}")
    if said:
        return Exit.UNUSABLE if lost else Exit.SLOWER, "; ".join(said)
    if not found.changes:
        return Exit.NOTHING_JUDGED, "nothing could be compared"
    unclear = sum(one.verdict == "unclear" for one in found.changes)
    told = f"; {unclear:,} of {len(found.changes):,} unclear" if unclear else ""
    return None, f"nothing is seen to be slower than before {by}{told}"


def _tell_if_cut_short(path: Path, stored: Stored) -> None:
    """Say on standard error that a saved benchmark is not whole, if so."""
    if not stored.complete:
        click.echo(f"opcheck: {path} is of a run that was cut short", err=True)


def compare(old: Path, new: Path, most: float | None) -> NoReturn:
    """Show what changed from one saved benchmark to another, and end.

    Raises UsageError where something was asked for that only matters to what is measured.
    """
    from click.core import ParameterSource

    from opcheck.cli.console import output
    from opcheck.report.timing_store import read

    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if given and parameter.name not in ("compared", "most"):
            name = parameter.opts[-1] if isinstance(parameter, click.Option) else "PATH"
            raise UsageError(f"--compare measures nothing: {name} has no place beside it")
    _limit(most)
    one, other = read(old), read(new)
    _tell_if_cut_short(old, one)
    _tell_if_cut_short(new, other)
    runs = (one.bench, one.rows), (other.bench, other.rows)
    code, meaning = _shown(output(), *runs, most)
    end(code or Exit.CONFORMS, meaning)
