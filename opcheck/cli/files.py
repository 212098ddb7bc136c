"""Files that commands read and write: stored runs, reports, and outputs of earlier commands.

An earlier output is stale as soon as a command that names it starts: a gate that goes on after a
refused command must not find last week's file. So it is renamed to `NAME.stale` first, which is
removed once there is a new one.
"""

import fcntl
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EBUSY
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import Context, Parameter
from click.shell_completion import CompletionItem

from opcheck.cli import values
from opcheck.cli.console import STANDARD, note
from opcheck.errors import CaseFileError, Problem, UsageError, did_you_mean, writing
from opcheck.report import FORMATS, why_no_report

if TYPE_CHECKING:
    from opcheck.model import Run

#: Type of an option, and its value.
TypedValue: TypeAlias = tuple[click.ParamType[Any], Any]
_STALE = ".stale"


def _is_file(path: Path, _words: Sequence[str]) -> bool:
    return path.is_file()


class OutputPath(click.Path):
    """Type of an option that names what the command writes."""

    def __init__(
        self, is_replaced: Callable[[Path, Sequence[str]], bool] = _is_file, **settings: Any
    ) -> None:
        super().__init__(path_type=Path, **settings)
        #: Called with the path and the words of the command line; returns True if the command
        #: replaces the output there, which is removed then. May raise UsageError instead of False.
        self.is_replaced = is_replaced


@dataclass(frozen=True)
class ReportTarget:
    """A format of reports, and the file to write in it."""

    form: str
    path: Path

    def __str__(self) -> str:
        return f"--report {self.form}={self.path}"


class ReportFile(OutputPath):
    """Type of the option --report, in one of these formats."""

    def __init__(self, formats: Collection[str] = tuple(FORMATS)) -> None:
        super().__init__()
        self._formats = formats

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> Any:
        """Convert `FORMAT=PATH` to a `ReportTarget`."""
        form, _, path = str(value).partition("=")
        formats = self._formats
        if form not in formats:
            example = f"{next(iter(formats))}={'run.jsonl' if path else value}"
            hint = f"formats: {', '.join(formats)}; such as {example}"
            if path:
                hint = did_you_mean(form, formats) or hint
            self.fail(f"no format {form!r} ({hint})", param, ctx)
        if not path:
            self.fail(f"no file: write {form}=PATH", param, ctx)
        return ReportTarget(form, Path(path))

    def shell_complete(
        self, ctx: Context, param: Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        """Complete the format, then the path."""
        return values.reports(incomplete, self._formats)


def check_report_targets(
    targets: Sequence[ReportTarget], read_from: Iterable[Path], *, as_json: bool = False
) -> None:
    """Raise UsageError with every report that cannot be written, before anything is.

    Args:
        targets: The reports to write.
        read_from: The files that the command reads.
        as_json: True if the run's JSON lines go to standard output.
    """
    problems = []
    for target in targets:
        if target.path != STANDARD:
            continue
        if as_json:
            problems.append(f"{target}: --format json has standard output to itself")
        elif target.form != "github":  # GitHub reads these lines from the log
            instead = f"`opcheck report RUN --format {target.form}` prints this"
            problems.append(f"{target}: standard output shows the run; {instead}")
    for target in targets:
        if reason := why_no_report(target.path):
            problems.append(f"{target}: {reason}")
    check_files([(target, target.path) for target in targets], read_from, problems)


class OutputCommand(click.Command):
    """A command that renames its earlier outputs before anything can go wrong with it."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse as click does; a wrong command line makes its outputs stale, too."""
        words = [*args]
        try:
            remaining = super().parse_args(ctx, args)
        except click.UsageError:
            _set_aside(ctx, words, self._named_in(ctx, words))
            _clean(ctx)
            raise
        _set_aside(
            ctx,
            words,
            ((parameter.type, ctx.params.get(str(parameter.name))) for parameter in self.params),
        )
        return remaining

    def invoke(self, ctx: Context) -> Any:
        """Run the command, then remove earlier outputs that it has replaced."""
        try:
            return super().invoke(ctx)
        finally:
            _clean(ctx)

    def _named_in(self, ctx: Context, words: Sequence[str]) -> Iterator[TypedValue]:
        """Yield the outputs that a wrong command line names, as far as they can be recognized."""
        for parameter in self.params:
            if not isinstance(parameter.type, OutputPath):
                continue
            for name in parameter.opts:
                glued = f"{name}=" if name.startswith("--") else name
                for word, following in pairwise([*words, ""]):
                    text = following if word == name else word.removeprefix(glued)
                    with suppress(click.UsageError):
                        if text and text != word:
                            yield parameter.type, parameter.type.convert(text, parameter, ctx)


def _set_aside(ctx: Context, words: Sequence[str], values: Iterable[TypedValue]) -> None:
    """Rename outputs that will be replaced, and keep a list of them for `_clean`."""
    if ctx.resilient_parsing:
        return
    for kind, value in values:
        if not isinstance(kind, OutputPath):
            continue
        for output in value if isinstance(value, list | tuple) else [value]:
            path = output.path if isinstance(output, ReportTarget) else output
            if path in (None, STANDARD) or "\0" in str(path):
                continue
            path = Path(os.path.realpath(path))
            stale = path.with_name(f"{path.name}{_STALE}")
            moved = _is_stale(path, kind, words) and _rename(path, stale, kind, words)
            ctx.meta.setdefault(_STALE, []).append((path, stale, moved))


def _clean(ctx: Context) -> None:
    """Remove earlier outputs that have been replaced; name the others."""
    for path, stale, moved in ctx.meta.pop(_STALE, ()):
        if stale.exists() and not path.exists():
            note(f"{path.name} of an earlier command is {stale.name} now")
        elif stale.is_file():
            stale.unlink()
        elif moved:
            shutil.rmtree(stale)


def _is_stale(path: Path, kind: OutputPath, words: Sequence[str]) -> bool:
    """Return True if the command replaces an existing output, and does not read it."""

    def is_mentioned(word: str) -> bool:
        # The word is the path, or ends in it after `=`, `:` or the letter of an option.
        ends = [word, *(word[match.end() :] for match in re.finditer("[=:]|^-[a-z]", word))]
        return any(end and os.path.realpath(end) == str(path) for end in ends)

    try:
        return kind.is_replaced(path, words) and sum(map(is_mentioned, words)) < 2
    except (OSError, ValueError, UsageError):
        return False


def _rename(path: Path, stale: Path, kind: OutputPath, words: Sequence[str]) -> bool:
    """Return True if the output has its other name now; raises Unwritable if another has it."""
    with suppress(PermissionError, IsADirectoryError), path.open("rb") as file, writing(path):
        lock(file.fileno())
    try:
        if stale.is_dir() and _is_stale(stale, kind, words):
            shutil.rmtree(stale)
        path.replace(stale)
        return True
    except OSError as error:
        try:
            # Some files can only be written into: a single one that is mounted, for example.
            path.write_bytes(b"")
        except OSError:
            note(f"{path.name} stays as it was: {error.strerror}")
        return False


def lock(file: int) -> None:
    """Keep an open file for this process until it is closed; raises OSError if another has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(EBUSY, "another command is writing it") from None
    except OSError:  # a file system, or a device, without locks
        return


def check_files(
    outputs: Iterable[tuple[object, Path | None]],
    read_from: Iterable[Path | None] = (),
    problems: Iterable[str] = (),
) -> None:
    """Raise UsageError with `problems`, and every file that cannot be written or is also read.

    Args:
        outputs: The option that names a file to write, as a message shows it, and the file.
        read_from: The files that the command reads.
        problems: Problems that are known already.
    """
    messages = [*problems]
    named = [path for path in read_from if path not in (None, STANDARD)]
    for option, path in outputs:
        if not path:
            continue
        if reason := _why_not_writable(path, named):
            messages.append(f"{option}: {reason}")
        named.append(path)
    if messages:
        raise UsageError("\n".join(messages))


def _why_not_writable(path: Path, named: Iterable[Path | None]) -> str | None:
    """Return why a file cannot be written, as far as known without touching it, else None."""
    if "\0" in str(path):
        return "no path holds a NUL character"
    try:
        if path.resolve() in [other.resolve() for other in named if other]:
            return "the same command names this file twice"
        if path == STANDARD:
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


def _read_run(path: Path) -> "Run":
    """Read a run from a file or standard input; note what this version of opcheck leaves out."""
    from opcheck.report import store

    if path == STANDARD:
        if sys.stdin is None:  # closed, as by <&-
            raise UsageError("standard input is closed")
        path = Path("<stdin>")
        run = store.read(path, sys.stdin.buffer)
    else:
        run = store.read(path)
    if message := store.left_out_note(path, run):
        note(message)
    return run


def read_runs(*paths: Path) -> "list[Run]":
    """Read runs from files or standard input, `-`; raise CaseFileError with all problems."""

    if paths.count(STANDARD) > 1:
        raise UsageError("only one run can be on standard input")
    runs: list[Run] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            runs.append(_read_run(path))
        except CaseFileError as error:
            problems += error.problems
    if problems:
        raise CaseFileError(problems, "nothing was done")
    return runs
