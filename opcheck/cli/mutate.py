"""`opcheck mutate`."""

from contextlib import ExitStack
from typing import Any

import click

from opcheck.cli import options
from opcheck.errors import Exit, UsageError, did_you_mean, plural


@click.command(name="mutate")
@options.selection_options
@options.declared("--mutant names NAME...: Only this mutant.")
@options.processes_option
@options.cluster_option
@options.declared("-v --verbose: Also what kills each, and every argument.")
def command(
    names: tuple[str, ...], jobs: int | None, cluster: str | None, verbose: bool, **selection: Any
) -> None:
    """Show which mutants the cases kill, and which survive.

    Everything that somebody could get wrong about an operator is made a backend, once for each
    version and element type that the cases are about; once for each version if it accepts what is
    invalid and leaves the rest alone. A mutant is killed if a case of rule `must` fails because
    of it. For one that survives your cases, a shipped case that kills it is named. Operators that
    opcheck's engine does not know have no mutants.

    \b
    opcheck mutate                               the shipped suites
    opcheck mutate my.yaml -v                    my cases, with what kills each mutant
    opcheck mutate --op Hardmax --opset 13 --mutant last_of_ties

    Exit codes: 0 no mutant survives, 1 some survive, or are argued to be harmless and are not, 2
    wrong usage or case file, 4 the cluster could not be used, 5 no case of an operator that
    opcheck's engine knows.
    """
    from opcheck.engine import operator_of
    from opcheck.engine.mutants.mutant import STATEFUL
    from opcheck.execution import mutate
    from opcheck.execution.workers import processors
    from opcheck.model.mutation import Fate, Power
    from opcheck.report import mutation as report

    cases, said = options.chosen_cases(**selection)
    left = [case for case in cases if operator_of(case.op) and not case.expect.is_stated]
    if left:
        message = f"{plural(len(left), 'case')} left out, such as {left[0].id}"
        click.echo(f"opcheck: {message}: what must come out is what backends answer", err=True)
    known = {one.name for op in {case.op for case in cases} for one in mutate.all_mutants(op)}
    known |= {one.name for one in STATEFUL}
    for name in names:
        if name not in known:
            raise UsageError(f"no mutant {name!r}", did_you_mean(name, known))
    settings = mutate.MutationSettings(names)
    if cluster and jobs:
        raise UsageError("no jobs on a cluster", "start as many workers as there shall be")
    processes, spread = jobs or processors(), None
    with ExitStack() as stack:
        if cluster:
            from opcheck.cluster import hired

            there = stack.enter_context(hired(cluster))
            processes, spread = max(1, there.threads()), there.found
        with options.counted("trying mutants", mutate.count(cases, settings)) as each:
            found = tuple(each(mutate.mutations(cases, settings, processes, spread)))
        if not found:
            click.echo(f"opcheck: no case of an operator with known mutants ({said})", err=True)
            options.leave(Exit.NOTHING_JUDGED)
        survivors = sorted(one.mutant for one in found if one.fate is Fate.SURVIVED)
        power = Power(found, dict(mutate.killed_elsewhere(survivors, cases, processes, spread)))
    contradictions = sum(one.contradicts for one in found)
    wrong = [f"{len(survivors):,} survived"] * bool(survivors)
    wrong += [f"{contradictions:,} not as harmless as argued"] * bool(contradictions)
    code = Exit.NONCONFORMING if wrong else Exit.CONFORMS
    report.show(options.output(), power, verbose=verbose)
    options.end(code, ", ".join(wrong) or "no mutant survives")
