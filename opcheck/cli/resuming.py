"""A stored run that was cut short, and that goes on in its file."""

from __future__ import annotations

import json
import zlib
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import stored
from opcheck.cli.options import Duration
from opcheck.cli.outputs import STANDARD, Output
from opcheck.cli.reports import Target
from opcheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opcheck.model import Case, Header, Run
    from opcheck.records.merging import Kept
    from opcheck.report.recording import Recorder

#: How a result is counted in a footer that is missing all the same.
_MISSING = "not run"


def _is_finished(path: Path, words: Sequence[str]) -> bool:
    """Return True for a run with all of its results: nothing that is asked now could be added."""
    from opcheck.report.json_lines import unpacked

    try:
        # A device may have no end.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            (last,) = deque(unpacked(file), maxlen=1)
        footer = json.loads(last)
        counts = footer["totals"].values()
        return footer["complete"] is True and not any(_MISSING in count for count in counts)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return False


option = click.option(
    "--resume",
    "resumed",
    type=Output(_is_finished, kept=True),
    metavar="RUN",
    help="Go on with a stored run that was cut short, in its file, and ask only what is missing;"
    " without such a file, or where it is complete, begin anew.",
)
within_option = click.option(
    "--resume-within",
    "hours",
    type=Duration("hours"),
    default=12.0,  # as records.merging.APART
    show_default=True,
    metavar="HOURS",
    help="How long after it began --resume goes on with a run.",
)


def target(path: Path) -> Target:
    """The file as one that is written; raises UsageError for standard output."""
    if path == STANDARD:
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


def kept(
    path: Path, run: Run, now: Header, recorder: Recorder, cases: Sequence[Case], hours: float
) -> Kept:
    """What need not be asked again, which is told; raises UsageError where it is another run."""
    from opcheck.model import Agreement
    from opcheck.records.merging import Part, resumed
    from opcheck.report.words import plural

    compared = {case.id for case in cases if isinstance(case.expect, Agreement)}
    found = resumed(Part(str(path), run), now, recorder.digests, compared, hours)
    there = f"{len(found.records):,} of {plural(found.header.results, 'result')}"
    click.echo(f"opcheck: {path} has {there}; {found.missing:,} to come", err=True)
    return found
