"""A stored run that was cut short, and that goes on in its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import stored
from opcheck.cli.reports import Target
from opcheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opcheck.model import Case, Header, Run
    from opcheck.records.resuming import Kept
    from opcheck.report.recording import Recorder

option = click.option(
    "--resume",
    "resumed",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Go on with a stored run that was cut short, in its file, and ask only what is missing;"
    " without such a file, begin it.",
)


def target(path: Path) -> Target:
    """The file as one that is written; raises UsageError for standard output."""
    if path == stored.STANDARD:
        raise UsageError(f"--resume {path}: only a file can be gone on with")
    return Target("json", path, said=f"--resume {path}")


def earlier(path: Path | None) -> Run | None:
    """The run in the file, None where there is none yet. Raises CaseFileError, UsageError.

    That it can be written has to be known.
    """
    if path is None:
        return None
    if path.exists() and not path.is_file():
        raise UsageError(f"--resume {path}: only a file can be gone on with")
    # Who was killed at once has left an empty one.
    if not path.exists() or not path.stat().st_size:
        click.echo(f"opcheck: {path} has no run to go on with: it begins here", err=True)
        return None
    return stored.read(path)[0]


def kept(path: Path, run: Run, now: Header, recorder: Recorder, cases: Sequence[Case]) -> Kept:
    """What need not be asked again, which is told; raises UsageError where it is another run."""
    from opcheck.model import Agreement
    from opcheck.records.merging import Part
    from opcheck.records.resuming import resumed
    from opcheck.report.words import plural

    compared = {case.id for case in cases if isinstance(case.expect, Agreement)}
    found = resumed(Part(str(path), run), now, recorder.digests, compared)
    there = f"{len(found.records):,} of {plural(found.header.results, 'result')}"
    click.echo(f"opcheck: {path} has {there}; {found.missing:,} to come", err=True)
    return found
