"""Stored runs that a command reads, and where what it makes of them goes."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli.outputs import STANDARD, Output, check_files
from opcheck.errors import CaseFileError, Problem, Unwritable, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.model import Run

_BENCHMARK = b'{"type":"bench"'

out_option = click.option(
    "-o",
    "--output",
    "out",
    type=Output(),
    metavar="PATH",
    help="A file to write to, in place of standard output.",
)


def read(*paths: Path) -> list[Run]:
    """The runs in files or, for a path `-`, on standard input.

    Raises CaseFileError with what is wrong with all of them, UsageError for a second `-`.
    """
    if paths.count(STANDARD) > 1:
        raise UsageError("only one run can be on standard input")
    runs: list[Run] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            runs.append(_read(path))
        except CaseFileError as error:
            problems += error.problems
    if problems:
        raise CaseFileError(problems, "nothing was done")
    return runs


def is_benchmark(path: Path) -> bool:
    """Whether a file, packed or not, begins as `opcheck bench --save` has it; one to be read."""
    import zlib

    from opcheck.report.json_lines import unpacked

    try:
        # Of a pipe, what is looked at is gone.
        if path == STANDARD or not path.is_file():
            return False
        with path.open("rb") as file:
            return unpacked(file).read(len(_BENCHMARK)) == _BENCHMARK
    except (OSError, ValueError, EOFError, zlib.error):
        return False


def _read(path: Path) -> Run:
    from opcheck.report import store

    if path != STANDARD:
        return store.read(path)
    if sys.stdin is None:  # closed, as by <&-
        raise UsageError("standard input is closed")
    return store.read_stream(sys.stdin.buffer, "<stdin>")


def check_output(out: Path | None, read_from: Sequence[Path]) -> None:
    """Raise UsageError if `out` cannot be written, or is also read."""
    check_files([(f"-o {out}", out)], read_from)


def write(out: Path | None, lines: Iterable[str]) -> None:
    """Write lines to a file or to standard output, in UTF-8; raises Unwritable."""
    data = (f"{line}\n".encode(errors="replace") for line in lines)
    if out is None or out == STANDARD:
        for line in data:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    try:
        with out.open("wb") as file:
            file.writelines(data)
    except OSError as error:
        raise Unwritable(out, error) from None


@contextmanager
def printed(out: Path | None) -> Iterator[Console]:
    """A console on standard output, or one whose text goes to a file; raises Unwritable."""
    from opcheck.cli.console import output, plain

    if out is None or out == STANDARD:
        yield output()
        return
    text = io.StringIO()
    yield plain(text)
    write(out, text.getvalue().removesuffix("\n").split("\n"))
