"""`opcheck mutate --levels`: which rows of cases level core needs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from opcheck import interrupt
from opcheck.cli import console
from opcheck.cli.console import exit_with, note, stdout_console
from opcheck.cli.options import CaseOptions, chosen_cases
from opcheck.errors import Exit, UsageError, plural

if TYPE_CHECKING:
    from opcheck.model import Case
    from opcheck.suite.levels import Proposal


def show_levels(given: CaseOptions, jobs: int | None, *, verbose: bool) -> NoReturn:
    """Print which rows core lacks and which it does not need, and exit.

    Raises UsageError for a selection of less than whole operators, and for a case that is wrong.
    """
    from opcheck.report import levels as report

    selection = given.selection
    if selection.ids or selection.keywords or selection.opsets or selection.dtypes:
        what = "--levels weighs all cases of an operator"
        raise UsageError(what, "select them by PATH and --op alone")
    cases, description = chosen_cases(given.paths, replace(selection, level="deep"))
    proposal, raised = _proposal(cases, jobs or interrupt.processors())
    if proposal is None:
        note(f"no case of an operator with known mutants ({description})")
        exit_with(Exit.NOTHING_JUDGED)
    report.show(stdout_console(), proposal, verbose=verbose)
    wrong = []
    if proposal.missing or proposal.idle:
        lacks = f"core lacks {plural(len(proposal.missing), 'row')}"
        wrong.append(f"{lacks}, and does not need {len(proposal.idle):,}")
    if raised:
        wrong.append(f"{plural(raised, 'mutant')} raised")
    if wrong:
        console.print_and_exit(Exit.NONCONFORMING, ", ".join(wrong))
    console.print_and_exit(Exit.CONFORMS, "core is as it is proposed")


def _proposal(cases: "Sequence[Case]", jobs: int) -> "tuple[Proposal | None, int]":
    """Return the proposal for some cases, and how many mutants raised, which are printed.

    The proposal is None if the operators of the cases have no mutants.
    """
    from opcheck.execution import conditioned, levels, mutate
    from opcheck.known import shipped_ledgers
    from opcheck.suite.levels import propose

    total = mutate.count(cases, mutate.MutationSettings())
    with console.counted("trying mutants", total) as each:
        sightings = [*each(mutate.sightings(cases, jobs))]
    if not sightings:
        return None, 0
    with console.counted("trying mutants in situations", None) as each:
        in_situations = [*each(conditioned.sightings(cases, jobs))]
    raised = console.note_mutants_that_raised(
        [
            *((one.mutant, one.raised) for one in sightings),
            *((one.mutant, one.raised) for one in in_situations),
        ]
    )
    shown = levels.demands(cases, sightings, in_situations, shipped_ledgers())
    return propose(cases, shown), raised
