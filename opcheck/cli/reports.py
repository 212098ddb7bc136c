"""The files that a run is written to, as it goes or at its end."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli.options import STANDARD, OutputPath, check_files, declared, lock
from opcheck.errors import Exit, Unwritable, did_you_mean
from opcheck.report.files import FORMATS, lines, why_no_report, write_text

if TYPE_CHECKING:
    from opcheck.model import Ending, Header, Record, Run


@dataclass(frozen=True)
class Target:
    """A format and the file to be written in it."""

    form: str
    path: Path

    def __str__(self) -> str:
        return f"--report {self.form}={self.path}"


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
        if stdout_is_stream:
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

    def open(self) -> None:
        """Open the file for this process alone, and empty it; raises Unwritable."""
        try:
            self.raw = io.FileIO(self.target.path, "a")
            lock(self.raw.fileno())
            if self.target.path.is_file():
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
    """Reports of a run: streams while it runs, everything else at its end."""

    def __init__(self, targets: Iterable[Target]) -> None:
        targets = list(targets)
        self._printed = [target for target in targets if target.path == STANDARD]
        files = [_File(target) for target in targets if target.path != STANDARD]
        self._streams = [one for one in files if one.target.form == "json"]
        self._others = [one for one in files if one.target.form != "json"]

    def begin(self, header: Header) -> None:
        """Empty all files, and begin the streams; raises Unwritable."""
        from opcheck.report import store

        for one in (*self._streams, *self._others):
            one.open()
        for one in self._streams:
            one.write(store.header(header))

    def take(self, result: Record) -> None:
        """Write a result to the streams, a whole line, so that a run cut short leaves it."""
        from opcheck.report import store

        line = store.record(result) if self._streams else ""
        for one in self._streams:
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
        for one in self._streams:
            one.write(store.footer(run.records, ending, revised))
            one.close()
            if revised and not one.error and one.target.path.is_file():
                text = "".join(f"{line}\n" for line in store.lines(replace(run, ending=ending)))
                try:
                    write_text(one.target.path, text)
                except Unwritable as error:
                    one.error = error.message
        return self._ended(run.ending, lacking)

    def _ended(self, ending: Ending, lacking: Sequence[str]) -> Ending:
        errors = (one.error for one in (*self._streams, *self._others))
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


report_options = declared(
    f"""
    --report targets FORMAT=PATH...: Write the run to a file too: {", ".join(FORMATS)}. Repeatable.
    """,
    targets={"type": _ReportFile()},
)
