"""The commands that show what there is: `list`, `schema`, `mutate`, `backends` and `support`."""

import json
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.cli.options import chosen_cases, declared, format_option, leave, output, print_records
from opcheck.errors import Exit, UsageError, did_you_mean, plural

#: The default of the seconds that a backend has to start.
PATIENCE = 20.0


@click.command(name="list")
@options.selection_options
@options.dim_option
@declared(
    """
    --clauses: The sentences of the specification instead, each with the cases that test it.
    --operators: All operators instead, with their versions and how many of their cells, a version
        with a type, the shipped suites judge; of other options it takes --op and --format.
    --save-questions into DIR: Write models and inputs, for a machine that has no opcheck.
    """
)
@format_option("json")
def command(clauses: bool, operators: bool, into: Path | None, form: str, **selection: Any) -> None:
    """Show the cases that files expand to, without running anything.

    \b
    opcheck list --op Hardmax --opset 13 -k 'ties and float32'
    opcheck list my.yaml && echo "my.yaml is well formed"
    opcheck list --operators              which operators are judged, and which not, and why
    opcheck list --clauses --op Hardmax   which sentences of its text are tested, and how
    opcheck list --clauses my.yaml        the same of any ONNX operator, for my cases
    opcheck list my.yaml --save-questions DIR && ./device DIR && opcheck run my.yaml -b saved:DIR

    Exits with 2 and every problem of every file if there is one, with 5 if no case matches.
    """
    from opcheck.clauses import check_files, survey
    from opcheck.report import listing
    from opcheck.suite import load

    if operators:
        if extra := options.given_besides("operators", "ops", "form"):
            raise UsageError(f"--operators takes no {extra[0]}", "it takes --op and --format")
        from opcheck.suite.load import shipped_coverage

        found = [*shipped_coverage(selection["ops"])]
        if form == "json":
            print_records(map(listing.coverage_record, found))
        else:
            listing.show_coverage(output(), found)
        return
    cases, said = chosen_cases(**selection)
    if clauses:
        # Files of clauses are about operators too that were not asked for.
        some = selection["paths"] or selection["ops"]
        check_files(cases, lambda op: load((), [op] if some else ()))
    surveys = survey(cases) if clauses else ()
    if form == "json":
        pages = (record for page in surveys for record in listing.clause_records(page))
        print_records(pages if clauses else map(listing.record, cases))
    elif clauses:
        listing.show_clauses(output(), surveys)
    else:
        listing.show(output(), cases)
    if into:
        from opcheck.execution.saving import write_questions

        options.tell(f"{write_questions(into, cases):,} questions in {into}")
    if not cases:
        options.tell(f"no case matches ({said})")
        leave(Exit.NOTHING_JUDGED)


@click.command(name="schema")
def schema() -> None:
    """Print the JSON Schema of case files, for editors.

    \b
    opcheck schema > opcheck.schema.json
    # then, as the first line of a case file:
    # yaml-language-server: $schema=opcheck.schema.json
    """
    from opcheck.suite.fields import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


@click.command(name="mutate")
@options.selection_options
@declared("--mutant names NAME...: Only this mutant.")
@options.processes_option
@options.cluster_option
@declared("-v --verbose: Also what kills each, and every argument.")
def mutate(
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
    from opcheck.execution import mutate as work
    from opcheck.model import Fate, Power
    from opcheck.report import listing

    cases, said = chosen_cases(**selection)
    left = [case for case in cases if operator_of(case.op) and not case.expect.is_stated]
    if left:
        message = f"{plural(len(left), 'case')} left out, such as {left[0].id}"
        options.tell(f"{message}: what must come out is what backends answer")
    known = {one.name for op in {case.op for case in cases} for one in work.all_mutants(op)}
    known |= {one.name for one in STATEFUL}
    for name in (name for name in names if name not in known):
        raise UsageError(f"no mutant {name!r}", did_you_mean(name, known))
    settings = work.MutationSettings(names)
    if cluster and jobs:
        raise UsageError("no jobs on a cluster", "start as many workers as there shall be")
    processes, spread = jobs or interrupt.processors(), None
    with ExitStack() as stack:
        if cluster is not None:
            from opcheck.cluster import hired

            there = stack.enter_context(hired(cluster))
            processes, spread = max(1, there.threads()), there.found
        with options.counted("trying mutants", work.count(cases, settings)) as each:
            found = tuple(each(work.mutations(cases, settings, processes, spread)))
        if not found:
            options.tell(f"no case of an operator with known mutants ({said})")
            leave(Exit.NOTHING_JUDGED)
        survivors = sorted(one.mutant for one in found if one.fate is Fate.SURVIVED)
        power = Power(found, dict(work.killed_elsewhere(survivors, cases, processes, spread)))
    contradictions = sum(one.contradicts for one in found)
    wrong = [f"{len(survivors):,} survived"] * bool(survivors)
    wrong += [f"{contradictions:,} not as harmless as argued"] * bool(contradictions)
    code = Exit.NONCONFORMING if wrong else Exit.CONFORMS
    listing.show_power(output(), power, verbose=verbose)
    options.end(code, ", ".join(wrong) or "no mutant survives")


@click.command(name="backends")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@options.config_option
@declared(f"--timeout SECONDS: How long a backend may take to start. [default: {PATIENCE:g}]")
@format_option("json")
def backends(addresses: tuple[str, ...], timeout: float | None, form: str) -> None:
    """Show the backends there are, or those at ADDRESS: which can be used here, and what the
    others need.

    \b
    opcheck backends                        built in, offered by installed packages, and profiles
    opcheck backends openvino:GPU           whether this one can be used
    opcheck backends --format json          a line of JSON for each backend

    Each is started in a process of its own, as for a run. `opcheck support` shows which operators
    they have.

    Exit codes: 0 all is shown, 2 wrong usage, 4 a backend at an ADDRESS cannot be used.
    """
    from opcheck.backends.address import profiles, resolve
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import offer, offers, tried
    from opcheck.execution.workers import each
    from opcheck.report import support as report

    known = profiles(Path.cwd())
    named = each(lambda text: offer(resolve(text, known)), addresses)
    chosen, problems = (named, []) if addresses else offers(known)
    console = None if form == "json" else output()
    with guarded_folder() as folder:
        found = tried(chosen, folder, timeout or PATIENCE)
        if console:
            report.show_backends(console, found, problems)
        else:
            print_records(map(report.backend_record, found))
            messages = ("\n".join(one.lines()) for one in problems)
            print_records({"type": "problem", "message": message} for message in messages)
    codes = [one.error.exit_code for one in found if one.error] if addresses else []
    leave(min(codes, key=list(Exit).index, default=Exit.CONFORMS))


@click.command(name="support")
@click.argument("paths", nargs=-1, type=options.PATH, metavar="[PATH]...")
@options.backends_option
@declared(
    f"""
    --op ops NAME...: Only this operator.
    --require required CELLS: What must be right, if with a warning, as 'Conv, MatMul@13+,
        *:float32': of an operator or all, the version in force at an opset (or the later ones too),
        with a type.
    --timeout SECONDS: How long a backend may take to start, and for a model. [default:
        {PATIENCE:g}, for a model also as the backend's profile says]
    """
)
@options.cluster_option
@format_option("html", "json")
def support(paths: tuple[Path, ...], addresses: tuple[str, ...], form: str, **given: Any) -> None:
    """Show which operators backends have, in every version and type, and which of them are right.

    \b
    opcheck support -b onnxruntime                   cells that are not right, and why
    opcheck support -b npu:0 -b onnxruntime          one beside the other
    opcheck support -b npu:0 --require '*@13+:float32'   a gate
    opcheck support -b npu:0 --format html > npu.html    every cell
    opcheck support net -b npu:0                     what the cases in a folder use

    A few small models of the shipped suites are asked of each cell, or the cases of PATH but those
    with an oracle; with --require only of the operators that it names, unless --op says others. No
    ledger excuses a wrong answer. Without -b: the backends of `opcheck run`.

    Exit codes: 0 all that is required is right, 1 some is not, 2 wrong usage, 4 a backend or the
    cluster could not be used.
    """
    from opcheck.backends.address import DEFAULT, profiles, resolve
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import offer, tried
    from opcheck.execution.support import cells_of, floors, matrix, named_in, probed, settings_of
    from opcheck.execution.workers import each
    from opcheck.model import Verdict
    from opcheck.report import support as report
    from opcheck.suite import check_case_files

    known, timeout, cluster = profiles(Path.cwd()), given["timeout"], given["cluster"]
    offered = each(lambda text: offer(resolve(text, known)), addresses or DEFAULT)
    check_case_files(paths, "support")
    required = given["required"]
    ops = given["ops"] or (() if required is None else named_in(required))
    cases = chosen_cases(paths, ops=ops)[0]
    asked = cells_of(cases) if paths else matrix(cases)
    wanted = floors(required, asked) if required is not None else []
    found = []
    with guarded_folder() as folder, ExitStack() as stack:
        limits = [timeout or one.profile.timeout or PATIENCE for one in offered]
        settings = [settings_of(one, folder, it) for one, it in zip(offered, limits, strict=True)]
        if cluster is not None:
            from opcheck.cluster import hired, supported

            there = stack.enter_context(hired(cluster, settings))
            infos = zip(offered, there.infos, strict=True)
            named = [replace(one, info=info) for one, info in infos]
            probes = [partial(supported, there, number, asked) for number in range(len(named))]
        else:
            named = tried(offered, folder, timeout or PATIENCE)
            probes = [partial(probed, one, asked) for one in settings]
        if unusable := [one for one in named if one.error]:
            report.show_backends(options.new_console(is_wide=False, stderr=True), unusable)
            leave(min((one.error.exit_code for one in unusable if one.error), key=list(Exit).index))
        total = len(named) * sum(map(len, asked.values()))
        with options.counted("asking", total, pausing=False) as counted:
            for one, probe in zip(named, probes, strict=True):
                cells, info = probe(counted), one.info
                title = str(info) if info and one.name == info.address else f"{one.name}: {info}"
                found.append(report.Matrix(one.name, title, one.about.declares, cells))
    if form == "json":
        print_records(report.record(one.address, cell) for one in found for cell in one.cells)
    elif form == "pretty":
        report.show(output(), found)
    else:
        options.write_lines(None, report.html_lines(found))
    missed = [*filter(None, (report.missed(floor, one) for one in found for floor in wanted))]
    for line in missed:
        options.tell(line)
    if wanted and not missed:
        options.tell("all that is required is right")
    needed = {cell for floor in wanted for cell in floor.cells}
    cells = [cell for one in found for cell in one.cells if cell.cell in needed]
    if any(cell.verdict is Verdict.NOT_RUN for cell in cells):
        leave(Exit.UNUSABLE)
    leave(Exit.NONCONFORMING if missed else Exit.CONFORMS)
