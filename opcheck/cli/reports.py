"""The files that a run is written to, as it goes or at its end."""

from __future__ import annotations

import io
import json
import os
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli import options
from opcheck.cli.options import STANDARD, OutputPath, check_files, declared, lock
from opcheck.errors import Exit, Unwritable, UsageError, did_you_mean
from opcheck.report.files import FORMATS, lines, why_no_report, write_text
from opcheck.report.plain_text import plural

if TYPE_CHECKING:
    from opcheck.model import Ending, Header, Record, Run
    from opcheck.session import LiveRun


@dataclass(frozen=True)
class Target:
    """A format and the file to be written in it; `said` is how the command line names it."""

    form: str
    path: Path
    said: str = ""

    def __str__(self) -> str:
        return self.said or f"--report {self.form}={self.path}"


class _ReportFile(OutputPath):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        form, _, path = str(value).partition("=")
        if form not in FORMATS:
            hint = f"formats: {', '.join(FORMATS)}; such as json={'run.jsonl' if path else value}"
            hint = (did_you_mean(form, FORMATS) if path else None) or hint
            self.fail(f"no format {form!r} ({hint})", param, ctx)
        if not path:
            self.fail(f"no file: write {form}=PATH", param, ctx)
        return Target(form, Path(path))


def check_targets(
    targets: Sequence[Target], read_from: Iterable[Path], *, stdout_is_stream: bool
) -> None:
    """Raise UsageError with every file that cannot be written, before anything is."""
    wrong = []
    for one in (one for one in targets if one.path == STANDARD):
        if one.said:
            wrong.append(f"{one}: only a file can be gone on with")
        elif stdout_is_stream:
            wrong.append(f"{one}: --format json has standard output to itself")
        elif one.form != "github":  # which is read from logs
            instead = f"`opcheck report RUN --format {one.form}` prints this"
            wrong.append(f"{one}: standard output shows the run; {instead}")
    for one in targets:
        if message := why_no_report(one.path):
            wrong.append(f"{one}: {message}")
    check_files([(target, target.path) for target in targets], read_from, wrong)


@dataclass(eq=False)
class _File:
    """A file that is open for as long as the run lasts."""

    target: Target
    raw: io.FileIO | None = None
    error: str | None = None
    #: How many bytes the file must have.
    size: int = 0

    def open(self, *, empty: bool = True) -> None:
        """Open the file for this process alone; raises Unwritable."""
        try:
            self.raw = io.FileIO(self.target.path, "a")
            lock(self.raw.fileno())
            if empty and self.target.path.is_file():
                self.raw.truncate(0)
            self.size = os.fstat(self.raw.fileno()).st_size
        except OSError as error:
            self._fail(error)
            raise Unwritable(self.target, error) from None

    def write(self, line: str) -> None:
        """Write a line now, and nothing more after the first that could not be written."""
        data = memoryview(f"{line}\n".encode(errors="replace"))
        try:
            while data and self.raw is not None:
                count = self.raw.write(data)
                self.size += count
                data = data[count:]
        except OSError as error:
            # Printed at once: the run may last for hours.
            self._fail(error)
            click.echo(f"opcheck: {self.error}", err=True)

    def close(self) -> None:
        """Close the file, which has to be the one at its path still, as it was written."""
        if self.raw is not None:
            try:
                stat = os.fstat(self.raw.fileno())
                if not os.path.samestat(stat, self.target.path.stat()):
                    raise OSError("another file was put in its place meanwhile")
                if S_ISREG(stat.st_mode) and stat.st_size != self.size:
                    raise OSError("somebody else changed it meanwhile")
                self.raw.close()
            except OSError as error:
                self._fail(error)
            self.raw = None

    def _fail(self, error: OSError) -> None:
        self.error = Unwritable(self.target, error).message
        if self.raw is not None:
            with suppress(OSError):
                self.raw.close()
        self.raw = None


class Reports:
    """Reports of a run: streams while it runs, everything else at its end.

    The file of a `resumed` run has all results at any time: it is replaced as a whole, and then
    grows.
    """

    def __init__(self, targets: Iterable[Target], resumed: Target | None = None) -> None:
        targets = list(targets)
        self._printed = [target for target in targets if target.path == STANDARD]
        files = [_File(target) for target in targets if target.path != STANDARD]
        self._streams = [one for one in files if one.target.form == "json"]
        self._others = [one for one in files if one.target.form != "json"]
        self._resumed = None if resumed is None else _File(resumed)
        #: What lines are added to.
        self._growing = [*self._streams, *filter(None, [self._resumed])]

    def begin(self, header: Header, kept: Sequence[Record] = ()) -> None:
        """Empty all files, put `kept` in the resumed one, begin the streams; raises Unwritable."""
        from opcheck.report import store

        #: New results stand behind those that were kept, wherever they belong.
        self._is_unordered = bool(kept)
        if self._resumed:
            # Nobody else may be going on with it, before and after it is replaced.
            self._resumed.open(empty=False)
            with self._resumed.raw or nullcontext():
                lines = (store.header(header), *map(store.record, kept))
                write_text(self._resumed.target.path, "".join(f"{line}\n" for line in lines))
                self._resumed.open(empty=False)
        for one in (*self._streams, *self._others):
            one.open()
        for one in self._streams:
            one.write(store.header(header))

    def take(self, result: Record, *, is_kept: bool = False) -> None:
        """Write a result to the streams, a whole line, so that a run cut short leaves it."""
        from opcheck.report import store

        files = self._streams if is_kept else self._growing
        line = store.record(result) if files else ""
        for one in files:
            one.write(line)

    def finish(self, run: Run, lacking: Sequence[str], revised: Sequence[Record] = ()) -> Ending:
        """Write the rest of all files; return the ending, which files that failed change.

        `lacking` are messages about other files that failed. Files are written anew if results were
        `revised` after their lines were written.
        """
        from opcheck.report import store

        assert run.ending
        for one in self._others:
            for line in lines(one.target.form, run):
                one.write(line)
            one.close()
        ending = self._ended(run.ending, lacking)
        for one in self._growing:
            one.write(store.footer(run.records, ending, revised))
            one.close()
            is_unordered = one is self._resumed and self._is_unordered
            if (is_unordered or revised) and not one.error and one.target.path.is_file():
                text = "".join(f"{line}\n" for line in store.lines(replace(run, ending=ending)))
                try:
                    write_text(one.target.path, text)
                except Unwritable as error:
                    one.error = error.message
        return self._ended(run.ending, lacking)

    def _ended(self, ending: Ending, lacking: Sequence[str]) -> Ending:
        errors = (one.error for one in (*self._growing, *self._others))
        lacking = [*lacking, *filter(None, errors)]
        if not lacking:
            return ending
        first = ending.exit_code in (Exit.INTERRUPTED, Exit.USAGE)
        said = [ending.meaning, *lacking] if first else [*lacking, ending.meaning]
        code = ending.exit_code if first else int(Exit.UNUSABLE)
        return replace(ending, exit_code=code, meaning="; ".join(said))

    def show(self, run: Run) -> None:
        """Print the reports that go to standard output, after everything else."""
        for target in self._printed:
            for line in lines(target.form, run):
                click.echo(line)


def _is_finished(path: Path, words: Sequence[str]) -> bool:
    """Return True for a run with all of its results: nothing that is asked now could be added."""
    from opcheck.report.store import unpacked

    try:
        # A device may have no end.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            (last,) = deque(unpacked(file), maxlen=1)
        footer = json.loads(last)
        counts = footer["totals"].values()
        return footer["complete"] is True and not any("not run" in count for count in counts)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return False


report_options = declared(
    f"""
    --report targets FORMAT=PATH...: Write the run to a file too: {", ".join(FORMATS)}. Repeatable.
    --resume resumed RUN: Go on with a stored run that began within 12 hours and was cut short, in
        its file, and ask only what is missing; without such a file, or where it is complete, begin
        anew.
    """,
    targets={"type": _ReportFile()},
    resumed={"type": OutputPath(_is_finished, kept=True)},
)


def earlier_run(path: Path | None) -> Run | None:
    """Return the run in a writable file, None without one; raise CaseFileError and UsageError."""
    if path is None:
        return None
    if path.exists() and not path.is_file():
        raise UsageError(f"--resume {path}: only a file can be gone on with")
    # A run that was killed at once has left an empty file.
    if not path.exists() or not path.stat().st_size:
        click.echo(f"opcheck: {path} has no run to go on with: it begins here", err=True)
        return None
    return options.read_runs(path)[0]


def kept_results(path: Path, earlier: Run, now: LiveRun) -> Run:
    """Return and announce the reusable results; raises UsageError where the run differs."""
    from opcheck.analysis import RunPart, resumed

    compared = {case.id for case in now.request.cases if case.expect.compares_backends}
    part = RunPart(str(path), earlier)
    found = resumed(part, now.header, now.recorder.digests, compared)
    count, total = len(found.records), found.header.results
    there = f"{count:,} of {plural(total, 'result')}; {total - count:,} to come"
    click.echo(f"opcheck: {path} has {there}", err=True)
    return found
