"""The files that a run is written to, as it goes or at its end."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.errors import Exit, Unwritable, UsageError, did_you_mean
from opcheck.report.formats import FORMATS, lines

if TYPE_CHECKING:
    from opcheck.model import Header, Record, Run

#: The format that is written as the run goes.
_STREAM = "json"
_STDOUT = Path("-")


@dataclass(frozen=True)
class Target:
    """A format, and the file to be written in it, as the command line says it."""

    form: str
    path: Path
    said: str = ""

    def __str__(self) -> str:
        return self.said or f"--report {self.form}={self.path}"


def _parsed(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> list[Target]:
    targets = []
    for value in values:
        form, _, path = value.partition("=")
        if form not in FORMATS:
            hint = did_you_mean(form, FORMATS) or f"formats: {', '.join(FORMATS)}"
            raise click.BadParameter(f"no format {form!r} ({hint})", ctx, param)
        if not path:
            raise click.BadParameter(f"no file: write {form}=PATH", ctx, param)
        targets.append(Target(form, Path(path)))
    return targets


report_option = click.option(
    "--report",
    "targets",
    multiple=True,
    callback=_parsed,
    metavar="FORMAT=PATH",
    help=f"Write the run to a file too: {', '.join(FORMATS)}. Repeatable.",
)


def check_targets(
    targets: Sequence[Target], read_from: Iterable[Path], *, stdout_is_stream: bool
) -> None:
    """Raise UsageError with every file that cannot be written, before anything is."""
    wrong = []
    taken = list(read_from)
    for target in targets:
        told = why_not(target.path, taken)
        if target.path == _STDOUT:
            told = told or _why_not_printed(target.form, stdout_is_stream)
        if told:
            wrong.append(f"{target}: {told}")
        taken.append(target.path)
    if wrong:
        raise UsageError("\n".join(wrong))


def check_files(files: Mapping[str, Path | None], read_from: Iterable[Path | None] = ()) -> None:
    """Raise UsageError with every file, by the option that names it, that cannot be written."""
    wrong = []
    taken = [path for path in read_from if path]
    for option, path in files.items():
        if path:
            told = why_not(path, taken)
            wrong += [f"{option} {path}: {told}"] * bool(told)
            taken.append(path)
    if wrong:
        raise UsageError("\n".join(wrong))


def why_not(path: Path, taken: Iterable[Path]) -> str | None:
    """Why a file cannot be written, as far as can be told without touching it.

    Those that are `taken` are read or written by the same command. `-` is standard output.
    """
    try:
        if path.resolve() in [other.resolve() for other in taken]:
            return "the same command names this file twice"
        if path == _STDOUT:
            return None
        if path.is_dir():
            return "this is a folder"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            return "this may not be written (permission denied)"
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return None


def _why_not_printed(form: str, stdout_is_stream: bool) -> str | None:
    if stdout_is_stream:
        return "--format json has standard output to itself"
    if not FORMATS[form].read_from_logs:
        return f"standard output shows the run; `opcheck report RUN --format {form}` prints this"
    return None


@dataclass(eq=False)
class _File:
    """A file that is open for as long as the run lasts, or standard output."""

    target: Target
    raw: io.FileIO | None = None
    error: str | None = None

    def open(self, mode: str = "w") -> None:
        """Empty it: a report of another run must not be taken for that of this one."""
        if self.target.path != _STDOUT:
            try:
                self.raw = io.FileIO(self.target.path, mode)
            except OSError as error:
                raise Unwritable(self.target, error) from None

    def write(self, line: str) -> None:
        """Write a line now, and nothing more after the first that could not be written."""
        data = memoryview(f"{line}\n".encode(errors="replace"))
        try:
            while data and self.raw is not None:
                data = data[self.raw.write(data) :]
        except OSError as error:
            # Told at once: the run may last for hours.
            self.error = Unwritable(self.target, error).message
            click.echo(f"opcheck: {self.error}", err=True)
            self.close()

    def close(self) -> None:
        """Let go of the file."""
        raw, self.raw = self.raw, None
        if raw is not None:
            with suppress(OSError):
                raw.close()


class Reports:
    """What a run is written to: streams as it goes, everything else at its end.

    The file of a run that goes on, `resumed`, has at any time all results that there are: it is
    replaced as a whole, and then added to.
    """

    def __init__(self, targets: Iterable[Target], resumed: Target | None = None) -> None:
        files = [_File(target) for target in targets]
        self._streams = [one for one in files if one.target.form == _STREAM]
        self._others = [one for one in files if one.target.form != _STREAM]
        self._resumed = None if resumed is None else _File(resumed)
        self._has_new = self._is_unordered = False

    @property
    def _files(self) -> list[_File]:
        return [*self._streams, *([self._resumed] if self._resumed else []), *self._others]

    def begin(self, header: Header, kept: Iterable[Record] = ()) -> None:
        """Empty all files, and begin the streams; raises Unwritable.

        What is `kept` is in the resumed file from now on, and comes to the others in its turn.
        """
        from opcheck.report import store
        from opcheck.report.files import write_text

        if self._resumed:
            lines = (store.header(header), *map(store.record, kept))
            write_text(self._resumed.target.path, "".join(f"{line}\n" for line in lines))
        for one in self._files:
            one.open("a" if one is self._resumed else "w")
        for one in self._streams:
            one.write(store.header(header))

    def take(self, result: Record, *, is_kept: bool = False) -> None:
        """Write a result to the streams, a whole line, so that a run cut short leaves it."""
        from opcheck.report import store

        line = store.record(result)
        for one in self._streams:
            one.write(line)
        if self._resumed and not is_kept:
            self._resumed.write(line)
        self._is_unordered |= is_kept and self._has_new
        self._has_new |= not is_kept

    def finish(self, run: Run, revised: Sequence[Record] = ()) -> None:
        """Write the rest, but for what is to be printed.

        Files are written anew if results were `revised` after their lines were written; what went
        through a pipe has the footer only.
        """
        from opcheck.report import store

        for one in (*self._streams, *([self._resumed] if self._resumed else [])):
            if run.ending is not None:
                one.write(store.footer(run.records, run.ending, revised))
            one.close()
            unordered = one is self._resumed and self._is_unordered
            if (unordered or revised) and not one.error and one.target.path.is_file():
                self._put_in_order(one, run)
        for one in self._others:
            if one.target.path != _STDOUT:
                for line in lines(one.target.form, run):
                    one.write(line)
                one.close()

    def _put_in_order(self, file: _File, run: Run) -> None:
        from opcheck.report import store
        from opcheck.report.files import write_text

        try:
            write_text(file.target.path, "".join(f"{line}\n" for line in store.lines(run)))
        except Unwritable as error:
            file.error = error.message

    def show(self, run: Run) -> None:
        """Print what is to be printed, behind everything else."""
        for one in self._others:
            if one.target.path == _STDOUT:
                for line in lines(one.target.form, run):
                    click.echo(line)

    def judged(self, code: Exit, meaning: str) -> tuple[Exit, str]:
        """The exit code and what it means, unless a file could not be written: that comes first."""
        lacking = [one.error for one in self._files if one.error]
        if not lacking:
            return code, meaning
        first = code in (Exit.INTERRUPTED, Exit.USAGE)
        said = "; ".join([meaning, *lacking] if first else [*lacking, meaning])
        return (code if first else Exit.UNUSABLE), said
