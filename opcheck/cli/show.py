"""`opcheck show`: one case with its text, model, data and right answers."""

from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from opcheck.cli import kept, options, values
from opcheck.cli.console import note, stdout_console
from opcheck.cli.options import chosen_cases
from opcheck.errors import UsageError, few
from opcheck.report.plain_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from opcheck.model import Case
    from opcheck.model.shown import ShownCase
    from opcheck.suite import Selection

#: The most cases that a pattern may mean.
_MOST = 20
#: What parts the name of a case from its version, types and row, and what makes a pattern.
_BEHIND_NAME = "@#*?"


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Options of `opcheck show`."""

    case: str
    paths: tuple[Path, ...]
    full: bool
    dims: dict[str, int]


@click.command(name="show")
@click.argument("case", shell_complete=values.cases)
@options.paths_argument
@options.dim_option
@click.option("--full", is_flag=True, help="Show large tensors and long texts whole.")
@options.takes(ShowOptions)
def command(given: ShowOptions) -> None:
    """Show one case: its text, its model, its inputs, and which answers are right.

    CASE is the id that reports print, or a pattern with * of a few cases. Of a name without
    version and types, the first case is shown. Cases are looked up in the files at PATH; without
    PATH in the shipped suites, then in the files of the last runs in this folder. No backend is
    started.

    \b
    opcheck show 'Softmax/worked_example@opset=13,dtype=float32'
    opcheck show 'Hardmax/*ties*' my.yaml
    opcheck list --case ID --save-questions DIR     write the model and its inputs as files

    Exit codes: 0 shown, 2 there is no such case, or a case file is invalid.
    """
    show_cases(given)


def _cases_here(given: ShowOptions, selection: "Selection") -> "tuple[Case, ...]":
    """Return the cases that are meant: shipped ones, those of PATH, or of the last runs here.

    Raises UsageError for none.
    """
    try:
        return chosen_cases(given.paths, selection, given.dims)[0]
    except UsageError:
        cases = () if given.paths else _cases_of_last_runs(given, selection)
        if not cases:
            raise
        return cases


def _first_of_name(name: str) -> "tuple[Case, ...]":
    """Return the first shipped case of a name without its version, types and row, if there is one.

    Tables and warnings name cases so. A note says how many others there are.
    """
    from opcheck.suite import Selection, load, select

    if any(mark in name for mark in _BEHIND_NAME):
        return ()
    selection = Selection(ids=(f"{name}@*", f"{name}#*"))
    cases = select(load((), selection.operators), selection)
    if len(cases) > 1:
        others = quote(f"{name}*")
        note(f"the first of {len(cases):,} cases of this name: opcheck list --case {others}")
    return cases[:1]


def _cases_of_last_runs(given: ShowOptions, selection: "Selection") -> "tuple[Case, ...]":
    """Return the cases that are meant of the last run here whose files have some; or else none.

    Runs may have named copies of one file, so that each is looked up by itself. Files that are
    invalid by now have none, and a note says so.
    """
    from opcheck.suite import load_all, select

    for files in kept.case_files():
        try:
            cases = select(load_all(files, given.dims), selection)
        except UsageError:
            named = one_line(few([str(path) for path in files], 3))
            note(f"cases of an earlier run here cannot be read: {named}")
            continue
        if cases:
            return cases
    return ()


def show_cases(
    given: ShowOptions, show_more: "Callable[[Console, ShownCase], None] | None" = None
) -> None:
    """Print the cases that are meant, each with what `show_more` prints of it.

    Raises UsageError for none, or for too many, and what `show_more` raises.
    """
    from opcheck.execution.show import shown
    from opcheck.report import shown as report
    from opcheck.suite import Selection, load, select
    from opcheck.suite.entries import written_case
    from opcheck.suite.select import HUGE

    selection = Selection(ids=(given.case,))
    cases: tuple[Case, ...] = ()
    if not given.paths:
        cases = select(load(levels=(HUGE,)), replace(selection, level=HUGE))
    if not cases:
        cases = _first_of_name(given.case)
    if not cases:
        cases = _cases_here(given, selection)
    if len(cases) > _MOST:
        names = few([case.id for case in cases], 3)
        raise UsageError(f"{len(cases):,} cases are {given.case!r}: {names}", "name one of them")
    console = stdout_console()
    for number, case in enumerate(cases):
        if number:
            console.print()
        answered = shown(case)
        report.show(console, answered, written_case(case.source), full=given.full)
        if show_more:
            show_more(console, answered)
    if len(cases) > 1:
        note(f"{len(cases)} cases")
